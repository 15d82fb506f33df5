//! A protocol tap: it stands between a client and a server, hands every byte on unchanged, and notes when each command and its
//! answer began and ended.
//!
//! ```text
//! client --> [ tap: relay -> conversation -> phases ] --> server (TCP or Unix socket)
//!
//!    answer of before    command              answer
//!    ---------------|    |======|             |=========|
//!                   think  upload   server      download
//! ```
//!
//! Times are taken on the client's side of the tap, so a delay the tap itself adds (`Config`) counts as the server's part: that
//! is what a slow link looks like from an application. Two taps, one before a proxy and one behind it, tell what the proxy adds.
//!
//! Invariants:
//! 1. Bytes are handed on as they came, in order; what the tap cannot read it still hands on.
//! 2. What it holds for one connection is bounded ([`QUEUE_BYTES_MAX`] each way, and [`conversation`] keeps heads of packets only).
//! 3. Inside TLS or compression it sees no commands, only bursts of bytes, and says so: their times stand under the name of what
//!    hid them.
//!
//! Read next: [`phases`] (what comes out), [`around`] (two taps and a proxy), [`conversation`] (the protocol), [`watch`] (how a run uses it), `relay` (sockets).

pub mod around;
pub mod conversation;
pub mod path;
pub mod phases;
mod relay;
pub mod watch;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::{Address, Options, Tls};

pub use around::Around;
pub use phases::{Phases, Totals};
#[cfg(test)]
use relay::QUEUE_BYTES_MAX;
pub use watch::Watch;

/// Where a tap listens, where it forwards to, and what it does to the link on the way.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The server.
    pub target: Address,
    /// Added to everything that goes to the server.
    pub delay_up: Duration,
    /// Added to everything that comes from it.
    pub delay_down: Duration,
    /// Bytes per second each way, for each connection.
    pub bytes_per_s: Option<u64>,
}

impl Config {
    /// A tap on a free local port that changes nothing.
    #[must_use]
    pub fn new(target: Address) -> Config {
        Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            target,
            delay_up: Duration::ZERO,
            delay_down: Duration::ZERO,
            bytes_per_s: None,
        }
    }
}

/// What the tap's thread and its owner share.
#[derive(Debug)]
struct Shared {
    origin: Instant,
    phases: Mutex<Phases>,
    is_ending: AtomicBool,
}

impl Shared {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// A thread that panicked while it held the lock left plain numbers behind: they stay usable.
    fn phases(&self) -> std::sync::MutexGuard<'_, Phases> {
        self.phases.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A running tap; it ends, with its connections, when this is dropped.
#[derive(Debug)]
pub struct Tap {
    address: SocketAddr,
    shared: Arc<Shared>,
    waker: Arc<mio::Waker>,
    thread: Option<std::thread::JoinHandle<io::Result<()>>>,
}

impl Tap {
    /// Listens and forwards from a thread of its own.
    ///
    /// # Errors
    /// The port is taken, the server's name is unknown, or the machine refuses sockets. A server that does not answer is found
    /// out later: its client loses the connection, and [`Phases::refused`] says why.
    pub fn start(config: &Config) -> io::Result<Tap> {
        let shared = Arc::new(Shared {
            origin: Instant::now(),
            phases: Mutex::new(Phases::default()),
            is_ending: AtomicBool::new(false),
        });
        let mut relay = relay::Relay::open(config, Arc::clone(&shared))?;
        let (address, waker) = (relay.address()?, relay.waker());
        let thread = std::thread::Builder::new().name("tap".to_owned()).spawn(move || relay.run())?;
        Ok(Tap { address, shared, waker, thread: Some(thread) })
    }

    /// Where clients connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same account and database by way of the tap, without TLS and compression: neither can be looked into.
    #[must_use]
    pub fn options(&self, of: &Options) -> Options {
        let mut options = of.clone();
        options.address = Address::Tcp { host: self.address.ip().to_string(), port: self.address.port() };
        options.tls = Tls::Off;
        options.compress = false;
        options
    }

    /// What was seen since the last call (or the start), and starts again. A command in flight counts to the next.
    #[must_use]
    pub fn take(&self) -> Phases {
        let now_ns = self.shared.now_ns();
        self.shared.phases().take(now_ns)
    }

    /// Whether the tap's thread still runs; it ends by itself only if the machine refuses to poll sockets.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::Release);
        // If the waker fails the thread is gone already.
        let _ = self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
