//! The front door before one MySQL-protocol server: clients log in here, and their commands pass to a connection that they share.
//!
//! ```text
//! server::Server      greeting, TLS, identity, max_connections; then the socket is handed over
//! reactor             loops: a client's command, its connection, the answer; nothing is parsed but words and headers
//! connector           threads that log in to the backend and send KILL
//! ```
//!
//! A client keeps a connection while it leaves something in the session that cannot be made elsewhere: a transaction, temporary
//! tables, locks, variables. What can be made elsewhere is: settings ([`settings`]) and prepared statements.
//!
//! Invariants:
//! 1. Bytes of one client's answer never reach another: a connection has one owner from a command's first byte to its answer's last.
//! 2. What a client left in a session is not seen by the next: it is reset, or was never there ([`scan`]).
//! 3. No loop waits: for a client, for the backend, for a disk.
//! 4. Whoever waits for a connection gets one in the order of its ticket, or an error in bounded time.

mod answer;
mod client;
mod connector;
mod entry;
mod reactor;
mod scan;
mod settings;
mod shared;
mod status;
mod upstream;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use ::client::Options;
use server::{Arrival, Handover};
use wire::Capabilities;

use reactor::Reactor;
use shared::{Mailbox, Message, Shared, lock};

/// How a front door relays.
#[derive(Clone, Debug)]
pub struct Config {
    /// The backend, and the account that all connections to it have.
    pub backend: Options,
    /// The backend in messages, such as `127.0.0.1:3306`.
    pub name: String,
    /// Connections to it at most.
    pub connections_max: usize,
    /// How long a client waits for one.
    pub wait_max: Duration,
    /// How long a client may take nothing of what it is sent.
    pub write_timeout: Duration,
    /// Loops; 0 for one per CPU.
    pub loops: usize,
    /// The longest command taken, bytes.
    pub packet_bytes_max: usize,
    /// The version of the greeting while the backend was never reached.
    pub version: String,
}

/// A front door that serves clients.
pub struct Relay {
    shared: Arc<Shared>,
    next: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("backend", &self.shared.config.name).finish_non_exhaustive()
    }
}

impl Relay {
    /// Starts the loops. The backend is asked what it is; if it is not there, the first client's command asks again.
    ///
    /// # Errors
    /// The system has no poller or no thread to give.
    pub fn start(mut config: Config) -> std::io::Result<Arc<Relay>> {
        let loops = match config.loops {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            loops => loops,
        };
        config.backend.query_attributes = false;
        config.backend.compress = false;
        config.backend.get_server_public_key = true;
        let connector::Queues { jobs, kills, receivers } = connector::queues();
        let shared = Arc::new(Shared::new(config, jobs, kills));
        let mut polls = Vec::new();
        let mut mailboxes = Vec::new();
        for _ in 0..loops {
            let (poll, waker) = Reactor::poll()?;
            mailboxes.push(Arc::new(Mailbox::new(waker)));
            polls.push(poll);
        }
        shared.loops.set(mailboxes.clone()).unwrap_or_else(|_| unreachable!("set once"));
        connector::start(&shared, receivers)?;
        let _ = connector::probe(&shared); // Asked again when somebody needs it, who then hears why.
        let mut threads = Vec::new();
        for (at, (poll, mailbox)) in polls.into_iter().zip(mailboxes).enumerate() {
            let reactor_shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new()
                .name(format!("relay-{at}"))
                .spawn(move || Reactor::new(at, reactor_shared, mailbox, poll).run())?;
            threads.push(thread);
        }
        Ok(Arc::new(Relay { shared, next: AtomicUsize::new(0), threads: Mutex::new(threads) }))
    }

    /// Ends idle clients at once and the others after some seconds; returns when the loops have ended.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        for mailbox in self.shared.mailboxes() {
            mailbox.wake();
        }
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            let _ = thread.join(); // A loop that panicked has said so.
        }
    }
}

impl Handover for Relay {
    fn server_version(&self) -> String {
        self.shared.known().map_or_else(|| self.shared.config.version.clone(), |known| known.version)
    }

    fn offered(&self, capabilities: Capabilities) -> Capabilities {
        let not_here = Capabilities::QUERY_ATTRIBUTES | Capabilities::IGNORE_SPACE | Capabilities::NO_SCHEMA;
        let eof = self.shared.known().is_none_or(|known| known.capabilities.has(Capabilities::DEPRECATE_EOF));
        capabilities
            .without(not_here)
            .set(Capabilities::DEPRECATE_EOF, eof && capabilities.has(Capabilities::DEPRECATE_EOF))
    }

    fn take(&self, arrival: Box<Arrival>) {
        let mailboxes = self.shared.mailboxes();
        let at = self.next.fetch_add(1, Ordering::Relaxed) % mailboxes.len();
        mailboxes[at].send(Message::Arrived(arrival));
    }
}
