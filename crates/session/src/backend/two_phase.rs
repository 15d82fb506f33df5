//! Commits over several participants: a transaction is prepared under a name, and then committed or rolled back by that name.
//!
//! ```text
//! coordinator ── SessionTransaction::prepare(xid) ──> each participant: durable, locks kept
//!             ── its own decision, durable
//!             ── commit_prepared(xid), or roll_back_prepared(xid), by any session, also after a crash of either side
//! ```
//!
//! MySQL's XA statements are the same steps, said by a client: XA PREPARE, XA COMMIT, XA ROLLBACK, XA RECOVER.

use service::{Outcome, SqlError};

/// The name of a prepared transaction, as XA statements write it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Xid {
    /// `gtrid`: the whole transaction, at most 64 bytes.
    pub transaction: Vec<u8>,
    /// `bqual`: the participant's branch of it, at most 64 bytes.
    pub branch: Vec<u8>,
    /// `formatID`: who gave the name.
    pub format: u32,
}

/// The prepared transactions of a backend, whichever session prepared them.
pub trait PreparedTransactions {
    /// Their names.
    ///
    /// # Errors
    /// The backend's.
    fn prepared(&self) -> Result<Vec<Xid>, Box<SqlError>>;

    /// Commits one, and answers how far the log must be durable before that is acknowledged. It stays prepared if that fails.
    ///
    /// # Errors
    /// 1397 if there is none of this name; the backend's.
    fn commit_prepared(&self, xid: &Xid) -> Result<Option<u64>, Box<SqlError>>;

    /// Rolls one back. It stays prepared if that fails.
    ///
    /// # Errors
    /// 1397 if there is none of this name; the backend's.
    fn roll_back_prepared(&self, xid: &Xid) -> Outcome;
}
