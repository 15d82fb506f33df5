//! Clients that are served elsewhere once they have logged in: a relay takes their sockets.
//!
//! Invariants:
//! 1. A client is given away after its identity is proven and before its login is answered.
//! 2. It takes one of the `max_connections` until its [`Stay`] is dropped.

use std::fmt;
use std::sync::Arc;

use service::{Account, Capabilities, ClientHost, ConnectionControl, ConnectionEvent};

use crate::Shared;
use crate::io::Io;

/// Whoever takes clients once they have logged in.
pub trait Handover: Send + Sync + fmt::Debug {
    /// The version of the greeting.
    fn server_version(&self) -> String;

    /// Which of the server's capabilities the greeting offers.
    fn offered(&self, capabilities: Capabilities) -> Capabilities;

    /// Takes a client. Called by a thread that polls for others: it must not wait.
    fn take(&self, arrival: Box<Arrival>);
}

/// A client whose identity is proven. Its login is not answered yet.
#[derive(Debug)]
pub struct Arrival {
    /// Its socket.
    pub io: Io,
    /// Its number, and whether it was killed.
    pub control: Arc<ConnectionControl>,
    /// The account it proved to be.
    pub account: Account,
    /// The user name as the client gave it.
    pub user: String,
    /// Where it comes from.
    pub host: ClientHost,
    /// Default database, if it named one.
    pub database: Option<Vec<u8>>,
    /// What both sides can do.
    pub capabilities: Capabilities,
    /// Collation number that it asked for.
    pub collation: u16,
    /// The number of the packet that answers the login.
    pub sequence: u8,
    /// Its place.
    pub stay: Stay,
}

/// A client's place among the `max_connections`; dropped when the client is gone.
pub struct Stay(Arc<Shared>);

impl Stay {
    pub(crate) fn new(shared: &Arc<Shared>) -> Stay {
        Stay(Arc::clone(shared))
    }
}

impl fmt::Debug for Stay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stay")
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.leave_place();
        self.0.connection_closed();
        self.0.service.note(ConnectionEvent::Closed);
    }
}
