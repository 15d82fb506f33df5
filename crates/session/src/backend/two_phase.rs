//! Commits over several participants: a transaction is prepared under a name, and then committed or rolled back by that name.
//!
//! ```text
//! coordinator ── SessionTransaction::prepare(xid) ──> each participant: durable, locks kept
//!             ── its own decision, durable
//!             ── commit_prepared(xid), or roll_back_prepared(xid), by any session, also after a crash of either side
//! ```
//!
//! MySQL's XA statements are the same steps, said by a client: XA PREPARE, XA COMMIT, XA ROLLBACK, XA RECOVER.

use std::sync::Arc;

use hashbrown::HashSet;
use parking_lot::Mutex;
use service::SqlError;

/// The name of a prepared transaction, as XA statements write it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Xid {
    /// `gtrid`: the whole transaction, at most 64 bytes.
    pub transaction: Vec<u8>,
    /// `bqual`: the participant's branch of it, at most 64 bytes.
    pub branch: Vec<u8>,
    /// `formatID`: who gave the name.
    pub format: u64,
}

impl Xid {
    /// What tells branches of a server from each other: as in MySQL two may not differ in `formatID` alone, though who ends one names it too.
    #[must_use]
    pub fn parts(&self) -> (&[u8], &[u8]) {
        (&self.transaction, &self.branch)
    }

    fn owned_parts(&self) -> Parts {
        (self.transaction.clone(), self.branch.clone())
    }
}

/// `gtrid` and `bqual`.
type Parts = (Vec<u8>, Vec<u8>);

/// The names of branches that sessions are working on.
#[derive(Clone, Debug, Default)]
pub struct Xids(Arc<Mutex<HashSet<Parts>>>);

impl Xids {
    /// Takes a name until what is answered is dropped; none if a session has it.
    #[must_use]
    pub fn take(&self, xid: Xid) -> Option<XidInUse> {
        let is_new = self.0.lock().insert(xid.owned_parts());
        is_new.then(|| XidInUse { xid, all: self.clone() })
    }

    /// Whether a session has it.
    #[must_use]
    pub fn has(&self, xid: &Xid) -> bool {
        self.0.lock().contains(&xid.owned_parts())
    }
}

/// A name that a session works under.
#[derive(Debug)]
pub struct XidInUse {
    xid: Xid,
    all: Xids,
}

impl XidInUse {
    /// The name.
    #[must_use]
    pub fn xid(&self) -> &Xid {
        &self.xid
    }
}

impl Drop for XidInUse {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.xid.owned_parts());
    }
}

/// The prepared transactions of a backend, whichever session prepared them.
pub trait PreparedTransactions {
    /// Their names.
    ///
    /// # Errors
    /// The backend's.
    fn prepared(&self) -> Result<Vec<Xid>, Box<SqlError>>;

    /// Whether one has this name, whatever its `formatID`.
    ///
    /// # Errors
    /// The backend's.
    fn is_prepared(&self, xid: &Xid) -> Result<bool, Box<SqlError>>;

    /// Commits one, and answers how far the log must be durable before that is acknowledged. It stays prepared if that fails.
    ///
    /// # Errors
    /// 1397 if there is none of this name; the backend's.
    fn commit_prepared(&self, xid: &Xid) -> Result<Option<u64>, Box<SqlError>>;

    /// Rolls one back, and answers how far the log must be durable before that is acknowledged. It stays prepared if that fails.
    ///
    /// # Errors
    /// 1397 if there is none of this name; the backend's.
    fn roll_back_prepared(&self, xid: &Xid) -> Result<Option<u64>, Box<SqlError>>;
}
