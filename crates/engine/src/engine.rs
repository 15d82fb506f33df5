//! The server over local tables: opens the data folder, answers as a [`Service`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::{Account, AccountTls, AuthPlugin, Privileges};
use env::Env;
use service::{
    ClientHost, ConnectRequest, ConnectionControl, ConnectionEvent, DurableListener, Limits, Outcome,
    Service, SqlError,
};
use store::wal::{LogError, LogListener, Lsn};
use store::{Options, Store};

use crate::ddl::Definitions;
use crate::events::Scheduler;
use crate::local::LocalBackend;
use crate::recalculation::Recalculation;
use session::backend::Definitions as _;
use session::core::{Core, Storage};
use session::log::{GeneralEvent, LogHeader, QueryLogs};
use session::plans::shared::SharedPlans;
use session::privilege::{self, SessionAccount};
use session::variables::definition::known;
use session::variables::{Setting, Variables, assign, by_name};
use session::{Server, Session};

/// The version clients see first: the MySQL version whose behaviour this server follows, then our own.
pub(crate) const SERVER_VERSION: &str = concat!("9.7.4-invar-", env!("CARGO_PKG_VERSION"));

/// Why a server could not start. One line for the administrator.
#[derive(Debug)]
pub enum StartError {
    /// The data folder could not be opened.
    Store(store::OpenError),
    /// The definitions in it could not be read.
    Dictionary(String),
    /// An option is wrong.
    Option(String),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(error) => error.fmt(formatter),
            Self::Dictionary(why) => write!(formatter, "the data dictionary cannot be read: {why}"),
            Self::Option(why) => formatter.write_str(why),
        }
    }
}

impl std::error::Error for StartError {}

/// What a server is started with.
#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    /// Where data is; made if missing.
    pub data_folder: PathBuf,
    /// System variables given at start, by name with any mix of `-` and `_`.
    pub variables: Vec<(String, String)>,
    /// `INVAR_ROOT_PASSWORD`: set for root when the folder is new, or when root has none.
    pub root_password: Option<String>,
    /// The program's path, for the head of log files.
    pub program: String,
}

/// A server over local tables.
#[derive(Clone, Debug)]
pub struct Engine {
    core: Arc<Core>,
    backend: Arc<LocalBackend>,
    plans: Arc<SharedPlans<LocalBackend>>,
    recalculation: Arc<Recalculation>,
    events: Arc<Scheduler>,
}

/// The value of an option as MySQL's option files write it: `128M`, `ON`, a bare name.
fn option_value(text: &str) -> types::Value {
    let trimmed = text.trim();
    let (digits, factor) = match trimmed.as_bytes().last() {
        Some(b'k' | b'K') => (&trimmed[..trimmed.len() - 1], 1i64 << 10),
        Some(b'm' | b'M') => (&trimmed[..trimmed.len() - 1], 1 << 20),
        Some(b'g' | b'G') => (&trimmed[..trimmed.len() - 1], 1 << 30),
        _ => (trimmed, 1),
    };
    match digits.parse::<i64>() {
        Ok(number) => types::Value::Int(number.saturating_mul(factor)),
        Err(_) => match trimmed.parse::<f64>() {
            Ok(number) => types::Value::Double(number),
            Err(_) => types::Value::string(trimmed, types::CollationId::UTF8MB4_0900_AI_CI),
        },
    }
}

/// Sets variables from options of the command line and option files.
fn start_variables(options: &StartOptions, host_name: &str) -> Result<Variables, StartError> {
    let mut variables = Variables::defaults();
    let mut set = |name: &str, text: &str| -> Result<(), StartError> {
        let name = name.replace('-', "_");
        let id = by_name(name.as_bytes())
            .ok_or_else(|| StartError::Option(format!("unknown variable '{name}={text}'")))?;
        let mut warnings = Vec::new();
        let definition = id.definition();
        let mut value = option_value(text);
        if definition.kind.is_text() || (definition.kind.is_named() && text.parse::<i64>().is_err()) {
            value = types::Value::string(text, types::CollationId::UTF8MB4_0900_AI_CI);
        }
        if definition.kind == session::variables::Kind::Boolean {
            match text.to_ascii_lowercase().as_str() {
                "" | "true" => value = types::Value::Int(1),
                "false" => value = types::Value::Int(0),
                _ => {}
            }
        }
        let setting = assign::setting_of(definition, variables.get(id), &value, &mut warnings)
            .map_err(|error| StartError::Option(format!("{name}: {}", error.message)))?;
        variables.set(id, setting);
        Ok(())
    };
    let data = options.data_folder.display();
    set("version", SERVER_VERSION)?;
    set("version_with_update", SERVER_VERSION)?;
    set("innodb_version", SERVER_VERSION.split('-').next().unwrap_or(SERVER_VERSION))?;
    // A folder `bin` with the program is that of an installation.
    let program = Path::new(&options.program).parent().unwrap_or(Path::new("/"));
    let base = if program.ends_with("bin") { program.parent().unwrap_or(program) } else { program };
    set("basedir", &format!("{}/", base.display().to_string().trim_end_matches('/')))?;
    set("hostname", host_name)?;
    set("datadir", &format!("{data}/"))?;
    set("tmpdir", &format!("{data}/#spill"))?;
    set("general_log_file", &format!("{data}/{host_name}.log"))?;
    set("slow_query_log_file", &format!("{data}/{host_name}-slow.log"))?;
    for (name, text) in &options.variables {
        set(name, text)?;
    }
    Ok(variables)
}

impl Engine {
    /// Opens the data folder (makes it if it is not there), recovers it, reads the definitions.
    ///
    /// # Errors
    /// One line that says why not; nothing was changed then.
    pub fn open(env: &Env, options: &StartOptions) -> Result<Self, StartError> {
        let mut variables = start_variables(options, &host_name(env))?;
        let error_log = variables.text(known::log_error());
        if !matches!(error_log, "" | "stderr") {
            session::error_log::open(env, &options.data_folder.join(error_log));
        }
        let store_options = Options {
            buffer_pool_bytes: variables.unsigned(known::innodb_buffer_pool_size()),
            ..Options::default()
        };
        let store = Store::open(env, &options.data_folder, store_options).map_err(StartError::Store)?;
        // It may lie in the data folder, which is there only now.
        session::error_log::check().map_err(|error| {
            StartError::Option(format!("Could not open file '{error_log}' for error logging: {error}"))
        })?;
        let hears = env.clone();
        store.on_damage(Box::new(move |error| session::error_log::error(&hears, &damage_text(error))));
        let definitions =
            Definitions::open(&store, session::system_schemas::schemas(&crate::lock_schemas::fills(&store)))
                .map_err(|error| StartError::Dictionary(error.to_string()))?;
        let catalog = definitions.catalog().load();
        for (name, text) in catalog.persisted_variables.iter() {
            let Some(id) = by_name(name.as_bytes()) else { continue };
            let given = options.variables.iter().any(|(option, _)| option.replace('-', "_") == **name);
            // That of names is fixed when the data folder is made.
            if given || !id.definition().is_persistable || **name == *"lower_case_table_names" {
                continue;
            }
            let mut warnings = Vec::new();
            match assign::setting_of(id.definition(), variables.get(id), &option_value(text), &mut warnings) {
                Ok(setting) => variables.set(id, setting),
                // SET PERSIST_ONLY checks no more than the type.
                Err(error) => session::error_log::error(
                    env,
                    &format!("The persisted value of '{name}' is not used: {}", error.message),
                ),
            }
        }
        // No transaction here has an identifier of its own: what was executed is what dumps brought along.
        let purged = variables.get(known::gtid_purged()).clone();
        variables.set(known::gtid_executed(), purged);
        let uuid = server_uuid(env).map_err(|error| StartError::Option(error.to_string()))?;
        variables.set(known::server_uuid(), Setting::text(&uuid));
        if let Some(machine_bytes) = env::memory::machine_bytes() {
            let pool_bytes = variables.unsigned(known::innodb_buffer_pool_size());
            let (all, one) = session::limits::default_limits(machine_bytes, pool_bytes);
            for (id, bytes) in
                [(known::global_statement_memory_limit(), all), (known::statement_memory_limit(), one)]
            {
                if variables.unsigned(id) == 0 {
                    variables.set(id, Setting::Integer(i128::from(bytes)));
                }
            }
        }
        let header = LogHeader {
            program: options.program.clone(),
            version: SERVER_VERSION.to_owned(),
            version_comment: variables.text(known::version_comment()).to_owned(),
            port: u16::try_from(variables.unsigned(known::port())).unwrap_or(0),
            socket: variables.text(known::socket()).to_owned(),
        };
        let logs = QueryLogs::new(env, &header);
        let new_folder = catalog.accounts.list.is_empty();
        let handle = Arc::clone(definitions.catalog());
        let backend = LocalBackend::new(store, definitions);
        let backend = Arc::new(backend.map_err(|error| StartError::Dictionary(error.message))?);
        let storage = Arc::clone(&backend) as Arc<dyn Storage>;
        let core = Arc::new(Core::new(env.clone(), storage, handle, variables, logs));
        let weak = Arc::downgrade(&core);
        backend.store().describe_owners_by(move |connection| {
            let process = weak.upgrade().and_then(|core| core.processes.get(connection));
            process.map_or_else(Vec::new, |process| process.statement())
        });
        core.apply_globals();
        let engine = Self {
            core,
            backend,
            plans: Arc::default(),
            recalculation: Arc::default(),
            events: Arc::default(),
        };
        if new_folder {
            engine.make_first_accounts().map_err(|error| StartError::Dictionary(error.message))?;
        }
        engine.upgrade_administrators().map_err(|error| StartError::Dictionary(error.message))?;
        if let Some(password) = &options.root_password {
            engine.set_root_password(password).map_err(|error| StartError::Dictionary(error.message))?;
        }
        engine.recalculation.start(env, &engine.core, &engine.backend);
        engine.events.start(engine.server());
        Ok(engine)
    }

    /// `root`@`localhost` with all privileges and no password, and MySQL's empty schemas.
    fn make_first_accounts(&self) -> Outcome {
        self.backend.change_accounts(|accounts, next_id| {
            let mut root = Account::new(next_id(), "root", "localhost");
            grant_everything(&mut root);
            accounts.list.push(Arc::new(root));
            Ok(())
        })
    }

    /// Folders of earlier versions have accounts with all static privileges and no dynamic ones, which then counted as held. As
    /// long as nobody holds SYSTEM_USER, those get all of them: somebody must be able to administer.
    fn upgrade_administrators(&self) -> Outcome {
        let all = Privileges::GLOBAL | Privileges::GRANT_OPTION;
        let catalog = self.core.catalog().load();
        let list = &catalog.accounts.list;
        if list.iter().any(|account| privilege::has_dynamic(account, "SYSTEM_USER"))
            || !list.iter().any(|account| account.global.contains(all))
        {
            return Ok(());
        }
        self.backend.change_accounts(|accounts, _| {
            for account in accounts.list.iter_mut().filter(|account| account.global.contains(all)) {
                grant_everything(Arc::make_mut(account));
            }
            Ok(())
        })
    }

    /// Gives root a password and lets it in from anywhere, if it has none yet.
    fn set_root_password(&self, password: &str) -> Outcome {
        let digest = self.core.hash_sha2_password(password.as_bytes());
        self.backend.change_accounts(|accounts, next_id| {
            for account in &mut accounts.list {
                if &*account.user == "root" && account.auth_string.is_empty() {
                    let account = Arc::make_mut(account);
                    account.plugin = AuthPlugin::CachingSha2;
                    account.auth_string = digest.clone();
                }
            }
            if accounts.find("root", "%").is_none() {
                let mut root = Account::new(next_id(), "root", "%");
                grant_everything(&mut root);
                root.auth_string = digest.clone();
                accounts.list.push(Arc::new(root));
            }
            Ok(())
        })
    }

    /// An account that lets anybody in without a password, if there is one.
    #[must_use]
    pub fn account_without_password(&self) -> Option<String> {
        let catalog = self.core.catalog().load();
        let open =
            catalog.accounts.list.iter().find(|account| !account.locked && account.auth_string.is_empty());
        open.map(|account| format!("'{}'@'{}'", account.user, account.host))
    }

    /// What a session is started with.
    fn server(&self) -> Server<LocalBackend> {
        Server {
            core: Arc::clone(&self.core),
            backend: Arc::clone(&self.backend),
            plans: Arc::clone(&self.plans),
        }
    }

    /// What keeps the tables.
    #[must_use]
    pub fn backend(&self) -> &LocalBackend {
        &self.backend
    }

    /// What all sessions share.
    #[must_use]
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// A global variable as text, for whoever wires the server.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        by_name(name.as_bytes()).map(|id| self.core.globals().get(id).shown())
    }

    /// Ends cleanly: the next start needs no recovery.
    ///
    /// # Errors
    /// The store could not write its last checkpoint; nothing acknowledged is lost.
    pub fn close(&self) -> Result<(), store::StoreError> {
        self.events.stop();
        self.recalculation.stop();
        if let Err(error) = self.backend.save_counters() {
            // The counters on disk run ahead of those in use, so nothing is lost; a gap is left.
            session::error_log::warning(
                &self.core.env,
                &format!("AUTO_INCREMENT counters were not saved: {error}"),
            );
        }
        self.backend.store().close()
    }

    /// Runs the events that are due, one after the other in this thread, whatever thread there is for them: in a world without threads they
    /// run only so. Answers how many ran.
    pub fn run_due_events(&self) -> usize {
        self.events.run_due()
    }

    /// The data folder.
    #[must_use]
    pub fn data_folder(&self) -> PathBuf {
        Path::new(self.core.globals().text(known::datadir())).to_owned()
    }
}

/// What the error log says of a damaged page.
fn damage_text(error: &store::StoreError) -> String {
    let of = match error {
        store::StoreError::Corrupt { place: Some(place), .. } => match &*place.names {
            [schema, table] => format!(" (table {schema}.{table}, tree {})", place.tree),
            [schema, table, index, ..] => {
                format!(" (table {schema}.{table}, index {index}, tree {})", place.tree)
            }
            _ => format!(" (tree {})", place.tree),
        },
        _ => String::new(),
    };
    format!("{error}{of}; statements that need the page fail, all others go on. See invar check.")
}

fn host_name(env: &Env) -> String {
    let read = || {
        let folder = env.disk.folder(Path::new("/proc/sys/kernel"), false).ok()?;
        let file = folder.open("hostname", env::disk::FileOptions::read_only()).ok()?;
        let mut name = Vec::new();
        let mut byte = [0];
        // The kernel's file has no length; it is read until it ends.
        while name.len() < 64 && file.read_at(name.len() as u64, &mut byte).is_ok() {
            name.push(byte[0]);
        }
        String::from_utf8(name).ok().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
    };
    read().unwrap_or_else(|| "localhost".to_owned())
}

/// A random UUID; another each start, as no replication is distinguished by it.
fn server_uuid(env: &Env) -> std::io::Result<String> {
    let mut bytes = [0u8; 16];
    env.random.fill(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// All privileges WITH GRANT OPTION.
fn grant_everything(account: &mut Account) {
    account.global = Privileges::GLOBAL | Privileges::GRANT_OPTION;
    account.dynamic =
        session::conversation::accounts::DYNAMIC.iter().map(|name| ((*name).into(), true)).collect();
    account.dynamic.sort();
}

/// How well a host pattern fits; `None` if it does not. The greater, the more specific.
fn host_fit(pattern: &str, host: &ClientHost) -> Option<usize> {
    let matches = |name: &str| {
        if let Some((network, mask)) = pattern.split_once('/') {
            return netmask_matches(network, mask, name);
        }
        privilege::schema_pattern_matches(pattern, &name.to_ascii_lowercase())
    };
    let local_name = pattern == "localhost" && host.name == "localhost";
    let fits = local_name || matches(&host.name) || host.address.as_deref().is_some_and(matches);
    let literal = pattern.find(['%', '_']).unwrap_or(usize::MAX);
    fits.then_some(literal)
}

fn netmask_matches(network: &str, mask: &str, name: &str) -> bool {
    let parse = |text: &str| text.parse::<std::net::Ipv4Addr>().ok().map(u32::from);
    let mask = parse(mask).or_else(|| {
        let bits = mask.parse::<u32>().ok().filter(|bits| *bits <= 32)?;
        Some(u32::MAX.checked_shl(32 - bits).unwrap_or(0))
    });
    match (parse(network), mask, parse(name)) {
        (Some(network), Some(mask), Some(address)) => address & mask == network,
        _ => false,
    }
}

/// Whether an account may come in beside `max_connections` others.
fn is_connection_admin(accounts: &catalog::Accounts, account: &Arc<Account>) -> bool {
    let account = SessionAccount::at_login(accounts, account, "");
    account.global.contains(Privileges::SUPER) || privilege::has_dynamic(&account, "CONNECTION_ADMIN")
}

/// Passes the store's news on to the server's listener.
struct Listener(DurableListener);

impl LogListener for Listener {
    fn acknowledged(&self, _position: Lsn) {
        (self.0)();
    }

    fn stopped(&self, _why: &LogError) {
        (self.0)();
    }
}

impl Service for Engine {
    fn server_version(&self) -> String {
        SERVER_VERSION.to_owned()
    }

    fn find_account(&self, user: &str, host: &ClientHost) -> Option<service::Account> {
        let catalog = self.core.catalog().load();
        let best = catalog
            .accounts
            .list
            .iter()
            .filter(|account| *account.user == *user || account.user.is_empty())
            .filter_map(|account| Some((host_fit(&account.host, host)?, !account.user.is_empty(), account)))
            .max_by_key(|(fit, named, _)| (*fit, *named))?;
        let account = best.2;
        Some(service::Account {
            user: account.user.to_string(),
            host: account.host.to_string(),
            plugin: match account.plugin {
                AuthPlugin::CachingSha2 => service::AuthPlugin::CachingSha2,
                AuthPlugin::Native => service::AuthPlugin::Native,
            },
            stored: account.auth_string.to_vec(),
            second_stored: account.second_auth_string.to_vec(),
            password: self.core.password_expiry(account),
            require_tls: account.tls != AccountTls::None,
            locked: account.locked,
            connection_admin: is_connection_admin(&catalog.accounts, account),
        })
    }

    fn login_attempt(
        &self,
        account: &service::Account,
        user: &str,
        host: &ClientHost,
        right: bool,
    ) -> Outcome {
        let catalog = self.core.catalog().load();
        let Some(account) = catalog.accounts.find(&account.user, &account.host) else { return Ok(()) };
        let now = self.core.env.clock.wall_micros();
        let locking = account.password_locking;
        let Some(blocked) = self.core.failed_logins.attempt(account.id, locking, right, now) else {
            return Ok(());
        };
        let (days, remaining) = match blocked.days {
            Some((days, remaining)) => (days.to_string(), remaining.to_string()),
            None => ("unlimited".to_owned(), "unlimited".to_owned()),
        };
        let failed = locking.failed_attempts_max;
        let code = service::error::ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK;
        Err(code.with(&[&user, &host.name, &days, &remaining, &failed]))
    }

    fn connect(&self, request: ConnectRequest) -> Result<Box<dyn service::Session>, Box<SqlError>> {
        Ok(Box::new(Session::start(self.server(), request)?))
    }

    fn login_denied(&self, control: &ConnectionControl, error: &SqlError) {
        if self.core.logs.general_is_on() {
            let event = GeneralEvent {
                wall_micros: self.core.env.clock.wall_micros(),
                connection_id: control.connection_id,
                command: "Connect",
            };
            self.core.logs.general(&event, &error.message.as_bytes());
        }
    }

    fn limits(&self) -> Limits {
        let globals = self.core.globals();
        let number = |id| u32::try_from(globals.unsigned(id)).unwrap_or(u32::MAX);
        Limits {
            max_connections: number(known::max_connections()),
            connect_timeout_s: number(known::connect_timeout()),
            max_allowed_packet: number(known::max_allowed_packet()),
            net_read_timeout_s: number(known::net_read_timeout()),
            net_write_timeout_s: number(known::net_write_timeout()),
            require_secure_transport: globals.boolean(known::require_secure_transport()),
            thread_concurrency: number(known::innodb_thread_concurrency()),
            thread_cache_size: number(known::thread_cache_size()),
            failed_connections_threshold: number(known::connection_control_failed_connections_threshold()),
            min_connection_delay_ms: number(known::connection_control_min_connection_delay()),
            max_connection_delay_ms: number(known::connection_control_max_connection_delay()),
        }
    }

    fn note(&self, event: ConnectionEvent) {
        let counters = &self.core.counters;
        match event {
            ConnectionEvent::Accepted => counters.connections.increment(),
            ConnectionEvent::RefusedTooMany => counters.connection_errors_max_connections.increment(),
            ConnectionEvent::AbortedConnect => counters.aborted_connects.increment(),
            ConnectionEvent::LoginDelayed => counters.connection_control_delay_generated.increment(),
            ConnectionEvent::AbortedClient => counters.aborted_clients.increment(),
            ConnectionEvent::Closed => {}
            ConnectionEvent::ThreadStarted => counters.threads_created.increment(),
            ConnectionEvent::StatementQueued => counters.statements_queued.increment(),
            ConnectionEvent::StatementRequeued => counters.statements_requeued.increment(),
            ConnectionEvent::Traffic { received_bytes, sent_bytes } => {
                self.core.processes.add_traffic(received_bytes, sent_bytes);
            }
        }
    }

    fn durable_position(&self) -> u64 {
        self.backend.store().durable_position().0
    }

    fn sync_inline(&self, position: u64) -> Outcome {
        self.backend.store().sync_to(store::Csn(position)).map_err(crate::store_error)
    }

    fn try_sync_inline(&self, position: u64) -> Result<bool, Box<SqlError>> {
        self.backend.store().try_sync_to(store::Csn(position)).map_err(crate::store_error)
    }

    fn request_sync(&self, position: u64) {
        self.backend.store().request_sync(store::Csn(position));
    }

    fn on_durable(&self, listener: DurableListener) {
        self.backend.store().on_durable(Arc::new(Listener(listener)));
    }

    fn log_failure(&self) -> Option<Box<SqlError>> {
        self.backend.store().stopped().map(|why| service::error::ER_GET_ERRNO.with(&[&168, &why]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, address: &str) -> ClientHost {
        ClientHost { name: name.to_owned(), address: Some(address.to_owned()) }
    }

    #[test]
    fn the_more_specific_host_wins() {
        let client = host("10.1.2.3", "10.1.2.3");
        let exact = host_fit("10.1.2.3", &client).unwrap();
        let pattern = host_fit("10.1.%", &client).unwrap();
        let any = host_fit("%", &client).unwrap();
        assert!(exact > pattern && pattern > any);
        assert!(host_fit("10.2.%", &client).is_none());
        assert!(host_fit("10.1.0.0/255.255.0.0", &client).is_some());
        assert!(host_fit("10.2.0.0/16", &client).is_none());
        assert!(host_fit("localhost", &host("localhost", "127.0.0.1")).is_some());
    }

    #[test]
    fn options_are_read_as_option_files_write_them() {
        assert_eq!(option_value("128M"), types::Value::Int(128 << 20));
        assert_eq!(option_value("1.5"), types::Value::Double(1.5));
        let options = StartOptions {
            data_folder: "/data".into(),
            variables: vec![
                ("innodb-buffer-pool-size".into(), "1G".into()),
                ("slow_query_log".into(), "1".into()),
            ],
            ..StartOptions::default()
        };
        let variables = start_variables(&options, "h").unwrap();
        assert_eq!(variables.unsigned(known::innodb_buffer_pool_size()), 1 << 30);
        assert!(variables.boolean(known::slow_query_log()));
        let wrong =
            StartOptions { variables: vec![("nonsense".into(), "1".into())], ..StartOptions::default() };
        assert_eq!(start_variables(&wrong, "h").unwrap_err().to_string(), "unknown variable 'nonsense=1'");
    }
}
