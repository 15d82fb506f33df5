//! What the loops share: the budget of connections, tickets, clients by number, counters.
//!
//! Invariants:
//! 1. `open` counts each connection to the backend from before it is made until after it is closed.
//! 2. A client waits in one loop; each loop publishes its oldest ticket, and a loop with a free connection serves the oldest of all.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use mio::Waker;
use server::Arrival;
use wire::Capabilities;

use crate::Config;
use crate::client::Pins;
use crate::entry::{Digest, DigestKey, Entry};
use crate::settings::Profile;
use crate::upstream::{Opened, Upstream};

/// Nobody waits.
pub(crate) const NOBODY: u64 = u64::MAX;

/// Locks a mutex also after a panic under it: what it protects is whole between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the threads of the connector do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Job {
    /// Makes a connection for the loop of this number.
    Open { key: Capabilities, mailbox: usize },
    /// Ends a statement of the backend, or a connection.
    Kill { thread: u32, connection: bool },
}

/// What others tell a loop.
pub(crate) enum Message {
    /// A client has logged in.
    Arrived(Box<Arrival>),
    /// A connection was made, or not.
    Opened(Result<Opened, Failure>),
    /// An idle connection of another loop.
    Given(Box<Upstream>),
    /// A client or its statement is to end.
    Kill { slot: usize, client: u64, connection: bool },
}

/// Why a connection was not made.
#[derive(Clone, Debug)]
pub(crate) struct Failure(pub(crate) String);

/// A loop as the others see it.
pub(crate) struct Mailbox {
    waker: Waker,
    is_awake: AtomicBool,
    messages: Mutex<Vec<Message>>,
    /// The oldest ticket that waits here.
    pub(crate) oldest: AtomicU64,
    /// Idle connections here.
    pub(crate) idle: AtomicUsize,
    pub(crate) clients: AtomicUsize,
}

impl Mailbox {
    pub(crate) fn new(waker: Waker) -> Mailbox {
        Mailbox {
            waker,
            is_awake: AtomicBool::new(false),
            messages: Mutex::default(),
            oldest: AtomicU64::new(NOBODY),
            idle: AtomicUsize::new(0),
            clients: AtomicUsize::new(0),
        }
    }

    pub(crate) fn wake(&self) {
        if !self.is_awake.swap(true, Ordering::SeqCst) {
            let _ = self.waker.wake(); // Fails only if the counter is full, and then it is awake.
        }
    }

    pub(crate) fn send(&self, message: Message) {
        lock(&self.messages).push(message);
        self.wake();
    }

    pub(crate) fn take(&self) -> Vec<Message> {
        self.is_awake.store(false, Ordering::SeqCst);
        std::mem::take(&mut *lock(&self.messages))
    }
}

macro_rules! counters {
    ($($field:ident $name:literal)*) => {
        /// Counted since the start.
        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $field: AtomicU64,)* }
        impl Counters {
    /// Counts the reasons that have come for keeping a connection.
    pub(crate) fn count_pins(&self, before: Pins, now: Pins) {
        if before == now {
            return;
        }
        for (pin, counter) in [
            (Pins::TRANSACTION, &self.pinned_transaction),
            (Pins::SESSION, &self.pinned_session),
            (Pins::LOCK_TABLES, &self.pinned_locks),
            (Pins::CURSOR, &self.pinned_cursor),
            (Pins::LONG_DATA, &self.pinned_long_data),
            (Pins::WARNINGS, &self.pinned_warnings),
            (Pins::FOUND_ROWS, &self.pinned_found_rows),
        ] {
            if now.has(pin) && !before.has(pin) {
                Counters::add(counter);
            }
        }
    }

            pub(crate) fn list(&self) -> Vec<(&'static str, u64)> {
                vec![$(($name, self.$field.load(Ordering::Relaxed)),)*]
            }
        }
    };
}

counters! {
    commands "Relay_commands"
    opened "Relay_backend_connections_opened"
    failed "Relay_backend_connections_failed"
    lost "Relay_backend_connections_lost"
    reused "Relay_backend_connections_reused"
    shared_with "Relay_backend_connections_shared"
    resets "Relay_backend_resets"
    settings "Relay_settings_applied"
    prepared "Relay_statements_prepared_again"
    waits "Relay_waits"
    wait_timeouts "Relay_wait_timeouts"
    kills "Relay_kills"
    pinned_transaction "Relay_pins_transaction"
    pinned_session "Relay_pins_session"
    pinned_locks "Relay_pins_lock_tables"
    pinned_cursor "Relay_pins_cursor"
    pinned_long_data "Relay_pins_long_data"
    pinned_warnings "Relay_pins_warnings"
    pinned_found_rows "Relay_pins_found_rows"
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// What is known of the backend.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) version: String,
    pub(crate) capabilities: Capabilities,
    /// What stands behind SET NAMES for the number of a collation.
    pub(crate) collations: HashMap<u16, String>,
}

pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) known: RwLock<Option<Known>>,
    pub(crate) open: AtomicUsize,
    pub(crate) tickets: AtomicU64,
    pub(crate) loops: OnceLock<Vec<Arc<Mailbox>>>,
    pub(crate) clients: Mutex<HashMap<u64, Arc<Entry>>>,
    /// Clients by the number that their connection has in the backend, once they asked for it.
    pub(crate) threads: Mutex<HashMap<u64, u64>>,
    digests: Mutex<HashMap<Arc<DigestKey>, Weak<Digest>>>,
    digest_ids: AtomicU64,
    pub(crate) counters: Counters,
    pub(crate) jobs: Mutex<Sender<Job>>,
    pub(crate) kills: Mutex<Sender<Job>>,
    pub(crate) stopping: AtomicBool,
}

impl Shared {
    pub(crate) fn new(config: Config, jobs: Sender<Job>, kills: Sender<Job>) -> Shared {
        Shared {
            config,
            known: RwLock::default(),
            open: AtomicUsize::new(0),
            tickets: AtomicU64::new(0),
            loops: OnceLock::new(),
            clients: Mutex::default(),
            threads: Mutex::default(),
            digests: Mutex::default(),
            digest_ids: AtomicU64::new(0),
            counters: Counters::default(),
            jobs: Mutex::new(jobs),
            kills: Mutex::new(kills),
            stopping: AtomicBool::new(false),
        }
    }

    pub(crate) fn mailboxes(&self) -> &[Arc<Mailbox>] {
        self.loops.get().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn known(&self) -> Option<Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What stands behind SET NAMES for a client's collation.
    pub(crate) fn names(&self, collation: u16) -> String {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let names = known.as_ref().and_then(|known| known.collations.get(&collation));
        names.map_or_else(|| "utf8mb4".to_owned(), Clone::clone)
    }

    /// Takes one connection of the budget.
    pub(crate) fn take_budget(&self) -> bool {
        let most = self.config.connections_max;
        let take = |open: usize| (open < most).then_some(open + 1);
        self.open.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
    }

    pub(crate) fn give_budget(&self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
        // Somebody elsewhere may wait for it.
        for mailbox in self.mailboxes() {
            if mailbox.oldest.load(Ordering::SeqCst) != NOBODY {
                mailbox.wake();
            }
        }
    }

    /// The number of a text under its settings. `alone`: one that nobody else gets.
    pub(crate) fn digest(&self, text: &[u8], profile: &Arc<Profile>, alone: bool) -> Arc<Digest> {
        let key = Arc::new(DigestKey { text: text.into(), profile: Arc::clone(profile) });
        let mut digests = lock(&self.digests);
        if !alone && let Some(digest) = digests.get(&key).and_then(Weak::upgrade) {
            return digest;
        }
        let id = self.digest_ids.fetch_add(1, Ordering::Relaxed);
        let digest = Arc::new(Digest { id, key: Arc::clone(&key) });
        if !alone {
            if digests.len() >= 1024 && digests.len() == digests.capacity() {
                digests.retain(|_, digest| digest.strong_count() > 0);
            }
            digests.insert(key, Arc::downgrade(&digest));
        }
        digest
    }

    pub(crate) fn wait_max(&self) -> Duration {
        self.config.wait_max
    }
}
