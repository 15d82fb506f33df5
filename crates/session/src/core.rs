//! What all sessions of a server share, whoever keeps its tables.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use catalog::{Account, Catalog, CatalogHandle, Privileges};
use env::Env;
use env::clock::Monotonic;
use parking_lot::Mutex;
use service::{ConnectionControl, SqlError};

use crate::backend::Xids;
use crate::deadlines::Deadlines;
use crate::event_scheduler::EventScheduler;
use crate::failed_logins::FailedLogins;
use crate::log::QueryLogs;
use crate::processes::ProcessList;
use crate::read_lock::ReadLock;
use crate::status::Counters;
use crate::user_locks::UserLocks;
use crate::variables::definition::known;
use crate::variables::{Setting, VariableId, Variables};

/// What the server asks of whoever keeps its tables, beside what its sessions ask ([`crate::backend`]).
pub trait Storage: Send + Sync {
    /// Follows the global variables that say how rows are kept.
    fn follow(&self, globals: &Variables);
    /// Adds its status values.
    fn add_status(&self, all: &mut Vec<(&'static str, String)>);
    /// What SHOW ENGINE INNODB STATUS says of transactions and their locks, as `catalog` names tables.
    ///
    /// # Errors
    /// The backend has stopped.
    fn describe_transactions(&self, core: &Core, catalog: &Catalog) -> Result<String, Box<SqlError>>;
}

/// The shared state of a server. Every part synchronises itself; there is no lock around the whole.
pub struct Core {
    /// Disk, clock, randomness, threads.
    pub env: Env,
    /// Whoever keeps the tables.
    storage: Arc<dyn Storage>,
    catalog: Arc<CatalogHandle>,
    /// FLUSH TABLES WITH READ LOCK.
    pub read_lock: ReadLock,
    /// How many sessions are in LOCK TABLES.
    pub table_locks: AtomicU64,
    /// GET_LOCK.
    pub user_locks: UserLocks,
    /// XA START.
    pub xids: Xids,
    /// Global variables; replaced as a whole by [`Core::change_globals`].
    globals: ArcSwap<Variables>,
    globals_change: Mutex<()>,
    /// General and slow log.
    pub logs: QueryLogs,
    /// Connections.
    pub processes: ProcessList,
    /// SHOW STATUS.
    pub counters: Counters,
    /// FAILED_LOGIN_ATTEMPTS.
    pub failed_logins: FailedLogins,
    /// What events and `event_scheduler` say to who runs events.
    pub event_scheduler: EventScheduler,
    /// `max_execution_time`.
    pub deadlines: Deadlines,
    /// When the server started.
    pub started: Monotonic,
    /// Made by the first statement that could need it, not by each.
    spill: OnceLock<Option<Arc<dyn env::disk::Folder>>>,
    /// SHUTDOWN was said.
    shutdown: AtomicBool,
    /// `@@version`.
    version: String,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Core").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Core {
    /// Everything together.
    #[must_use]
    pub fn new(
        env: Env,
        storage: Arc<dyn Storage>,
        catalog: Arc<CatalogHandle>,
        globals: Variables,
        logs: QueryLogs,
    ) -> Self {
        Self {
            started: env.clock.now(),
            version: globals.text(known::version()).to_owned(),
            env,
            storage,
            catalog,
            read_lock: ReadLock::default(),
            table_locks: AtomicU64::new(0),
            user_locks: UserLocks::default(),
            xids: Xids::default(),
            globals: ArcSwap::from_pointee(globals),
            globals_change: Mutex::new(()),
            logs,
            processes: ProcessList::default(),
            counters: Counters::default(),
            failed_logins: FailedLogins::default(),
            event_scheduler: EventScheduler::default(),
            deadlines: Deadlines::default(),
            spill: OnceLock::new(),
            shutdown: AtomicBool::new(false),
        }
    }

    /// Where the current snapshot of all definitions is found.
    #[must_use]
    #[inline]
    pub fn catalog(&self) -> &CatalogHandle {
        &self.catalog
    }

    /// Whoever keeps the tables, as the server sees them.
    #[must_use]
    pub fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    /// `@@version`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The global variables now.
    #[must_use]
    #[inline]
    pub fn globals(&self) -> Arc<Variables> {
        self.globals.load_full()
    }

    /// Changes global variables; sessions started from now on see them.
    pub(crate) fn change_globals(&self, change: impl FnOnce(&mut Variables)) {
        let _alone = self.globals_change.lock();
        let mut globals = Variables::clone(&self.globals.load());
        change(&mut globals);
        self.globals.store(Arc::new(globals));
    }

    /// SET GLOBAL, and what follows from it at once.
    pub(crate) fn set_global(&self, id: VariableId, setting: Setting) {
        self.change_globals(|globals| globals.set(id, setting));
        self.apply_globals();
    }

    /// Brings logs and storage in line with the global variables.
    pub fn apply_globals(&self) {
        let globals = self.globals();
        self.logs.general_file().set_path(std::path::Path::new(globals.text(known::general_log_file())));
        self.logs.slow_file().set_path(std::path::Path::new(globals.text(known::slow_query_log_file())));
        self.logs.set_statement_bytes_max(globals.unsigned(known::log_statement_max_bytes()));
        self.logs.switch_general(globals.boolean(known::general_log()));
        self.logs.switch_slow(globals.boolean(known::slow_query_log()));
        env::memory::set_all_statements_max(match globals.unsigned(known::global_statement_memory_limit()) {
            0 => env::memory::UNLIMITED,
            bytes => bytes,
        });
        self.event_scheduler.notify();
        self.storage.follow(&globals);
    }

    /// A caching_sha2_password digest of a new password, with a fresh salt.
    #[must_use]
    pub fn hash_sha2_password(&self, password: &[u8]) -> Box<[u8]> {
        let mut salt = [0; wire::auth::SALT_BYTES];
        self.fill_random(&mut salt);
        // The stored form is text in which `$` separates and no zero may stand.
        for byte in &mut salt {
            *byte = 0x21 + *byte % 0x5d;
            if *byte == b'$' {
                *byte = b'%';
            }
        }
        wire::auth::sha2_stored(password, &salt).into()
    }

    /// Where operators put what does not fit into memory (`tmpdir`), without what an earlier process left there; `None` if the
    /// folder cannot be made: a statement that needs it fails with 1114.
    #[must_use]
    pub(crate) fn spill_folder(&self) -> Option<Arc<dyn env::disk::Folder>> {
        let folder = self.spill.get_or_init(|| {
            let globals = self.globals.load();
            let folder =
                self.env.disk.folder(std::path::Path::new(globals.text(known::tmpdir())), true).ok()?;
            // What cannot be removed is in nobody's way.
            let _ = exec::remove_left_over(&*folder);
            Some(folder)
        });
        folder.clone()
    }

    /// Random bytes good enough for salts and keys.
    ///
    /// # Panics
    /// If the operating system has none to give: a password must not be salted with anything else.
    pub(crate) fn fill_random(&self, bytes: &mut [u8]) {
        self.env.random.fill(bytes).expect("the operating system gives random bytes");
    }

    /// Whether an account's password has expired, and what becomes of clients that do not know of that.
    #[must_use]
    pub fn password_expiry(&self, account: &Account) -> service::PasswordExpiry {
        let globals = self.globals.load();
        let lifetime_days = globals.unsigned(known::default_password_lifetime());
        if !account.is_password_expired(self.env.clock.wall_micros(), lifetime_days) {
            return service::PasswordExpiry::Valid;
        }
        service::PasswordExpiry::Expired {
            disconnects: globals.boolean(known::disconnect_on_expired_password()),
        }
    }

    /// Random bits for a session's RAND().
    #[must_use]
    pub(crate) fn random_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_random(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Whether this account may not write because `read_only` is on.
    #[must_use]
    #[inline]
    pub(crate) fn is_read_only(&self, account: &Account) -> bool {
        self.globals.load().boolean(known::read_only()) && !account.global.contains(Privileges::SUPER)
    }

    /// SLEEP: waits in pieces, so that KILL is heard. True if it was.
    #[must_use]
    pub fn sleep(&self, control: &ConnectionControl, micros: u64) -> bool {
        /// A sleeper looks so often whether it was killed.
        const PIECE: Duration = Duration::from_millis(50);
        let end = self.env.clock.now().after(Duration::from_micros(micros));
        let _waiting = env::blocking::enter();
        loop {
            if control.is_killed() {
                return true;
            }
            let left = end.since(self.env.clock.now());
            if left.is_zero() {
                return false;
            }
            self.env.clock.sleep(left.min(PIECE));
        }
    }

    /// Asks the server to stop.
    pub(crate) fn request_shutdown(&self) {
        self.shutdown.store(true, Ordering::Release);
    }

    /// Whether SHUTDOWN was said.
    #[must_use]
    pub fn shutdown_requested(&self) -> bool {
        self.shutdown.load(Ordering::Acquire)
    }

    /// Status values, unsorted.
    #[must_use]
    pub fn status(&self) -> Vec<(&'static str, String)> {
        let mut all: Vec<(&'static str, String)> =
            (self.counters.all().into_iter().chain(self.processes.count_sums().values()))
                .map(|(name, number)| (name, number.to_string()))
                .collect();
        let uptime = self.env.clock.now().since(self.started).as_secs().to_string();
        all.push(("Threads_connected", self.processes.count().to_string()));
        all.push(("Threads_running", self.processes.running_count().to_string()));
        all.push(("Uptime_since_flush_status", uptime.clone()));
        all.push(("Uptime", uptime));
        crate::status::add_memory_status(&mut all);
        self.storage.add_status(&mut all);
        all
    }
}
