//! One connection as others see it: who it is, whether it must stop, and how to wake it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// How the client came in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transport {
    /// TCP without encryption.
    Tcp,
    /// TCP with TLS.
    Tls,
    /// A Unix socket; as safe as TLS for passwords.
    Unix,
    /// A Unix socket with TLS on it.
    UnixTls,
}

impl Transport {
    /// Whether the connection is encrypted or local, so that nobody else can read what is sent.
    #[must_use]
    pub fn is_secure(self) -> bool {
        !matches!(self, Transport::Tcp)
    }

    /// Whether TLS is spoken.
    #[must_use]
    pub fn is_tls(self) -> bool {
        matches!(self, Transport::Tls | Transport::UnixTls)
    }
}

/// What a KILL asks for. Ordered: the stronger replaces the weaker.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Kill {
    /// Nothing: go on.
    None = 0,
    /// KILL QUERY: the running statement ends with 1317.
    Query = 1,
    /// A statement's own time is over (`max_execution_time`): it ends with 3024.
    Timeout = 2,
    /// KILL CONNECTION: the statement ends with 1317 and the connection is closed.
    Connection = 3,
}

type Wake = Box<dyn Fn() + Send + Sync>;

/// The part of a connection that other threads may touch. The server makes one per connection; the engine keeps it in its
/// process list.
pub struct ConnectionControl {
    /// CONNECTION_ID().
    pub connection_id: u64,
    /// The client's address; `None` on a Unix socket.
    pub peer: Option<SocketAddr>,
    kill: AtomicU8,
    wake_server: OnceLock<Wake>,
    wake_waiter: Mutex<Option<Wake>>,
}

impl fmt::Debug for ConnectionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionControl")
            .field("connection_id", &self.connection_id)
            .field("peer", &self.peer)
            .field("kill", &self.kill)
            .finish_non_exhaustive()
    }
}

impl ConnectionControl {
    /// A connection that has not been killed.
    #[must_use]
    pub fn new(connection_id: u64, peer: Option<SocketAddr>) -> ConnectionControl {
        ConnectionControl {
            connection_id,
            peer,
            kill: AtomicU8::new(Kill::None as u8),
            wake_server: OnceLock::new(),
            wake_waiter: Mutex::new(None),
        }
    }

    /// What is asked of this connection. One relaxed load: loops look at it once a batch.
    #[inline]
    #[must_use]
    pub fn kill_state(&self) -> Kill {
        match self.kill.load(Ordering::Relaxed) {
            0 => Kill::None,
            1 => Kill::Query,
            2 => Kill::Timeout,
            _ => Kill::Connection,
        }
    }

    /// Whether the running statement must stop.
    #[inline]
    #[must_use]
    pub fn is_killed(&self) -> bool {
        self.kill.load(Ordering::Relaxed) != Kill::None as u8
    }

    /// The error with which a killed statement ends; `Ok` if it was not killed.
    ///
    /// # Errors
    /// 1317, or 3024 if its own time is over.
    #[inline]
    pub fn check(&self) -> crate::reply::Outcome {
        if self.is_killed() { self.killed() } else { Ok(()) }
    }

    #[cold]
    fn killed(&self) -> crate::reply::Outcome {
        Err(match self.kill_state() {
            Kill::Timeout => crate::error::ER_QUERY_TIMEOUT.bare(),
            _ => crate::error::ER_QUERY_INTERRUPTED.bare(),
        })
    }

    /// Asks the connection to stop, and wakes it wherever it waits.
    pub fn kill(&self, kill: Kill) {
        self.kill.fetch_max(kill as u8, Ordering::AcqRel);
        if let Some(wake) = self.wake_waiter.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            wake();
        }
        // For KILL QUERY, too: a statement may wait in the server before it begins.
        if let Some(wake) = self.wake_server.get() {
            wake();
        }
    }

    /// Forgets a KILL QUERY that came too late for its statement; a KILL CONNECTION stays. Called by the server before each
    /// command.
    #[inline]
    pub fn start_statement(&self) {
        let state = self.kill.load(Ordering::Relaxed);
        if state != Kill::None as u8 && state != Kill::Connection as u8 {
            let _ = self.kill.compare_exchange(state, Kill::None as u8, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// The statement whose time is over has ended.
    pub fn forget_timeout(&self) {
        let (timeout, none) = (Kill::Timeout as u8, Kill::None as u8);
        let _ = self.kill.compare_exchange(timeout, none, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Sets how the statement that now starts to wait is woken by a KILL; `None` when the wait is over. If a KILL came
    /// before, `wake` is called at once.
    pub fn set_waiter(&self, wake: Option<Wake>) {
        let mut waiter = self.wake_waiter.lock().unwrap_or_else(PoisonError::into_inner);
        *waiter = wake;
        if self.is_killed()
            && let Some(wake) = waiter.as_ref()
        {
            wake();
        }
    }

    /// Sets how an idle connection is woken, once, by the server that owns its socket.
    pub fn set_server_wake(&self, wake: Wake) {
        let _ = self.wake_server.set(wake); // Set twice: the first stays; both wake the same worker.
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_kill_wakes_the_waiter_and_a_query_kill_is_forgotten_by_the_next_statement() {
        let control = ConnectionControl::new(1, None);
        let woken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&woken);
        control.set_waiter(Some(Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        })));
        control.kill(Kill::Query);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        assert_eq!(control.check().unwrap_err().number, 1317);
        control.start_statement();
        assert!(control.check().is_ok());
        control.kill(Kill::Connection);
        control.kill(Kill::Query);
        control.start_statement();
        assert_eq!(control.kill_state(), Kill::Connection);
    }
}
