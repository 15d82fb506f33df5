//! The branch of a distributed transaction that a session works on: between XA START and the decision, or XA PREPARE.
//!
//! ```text
//! none ── START ──> active ── END ──> idle ── PREPARE ──> (detached, or prepared) ── COMMIT, ROLLBACK ──> none
//!                     ^                 │
//!                     └──── RESUME ─────┤── COMMIT ... ONE PHASE, ROLLBACK ──> none
//! active, idle ── a deadlock rolled it back ──> rollback only ── COMMIT (1614), ROLLBACK ──> none
//! ```
//!
//! Invariants:
//! 1. While a session has a branch its transaction is open.
//! 2. A name belongs to one session at a time ([`Xids`](crate::backend::Xids)), until its branch is detached or ends.

use service::SqlError;
use service::error::{ER_XA_RBDEADLOCK, ER_XA_TEMP_TABLE, ER_XAER_RMFAIL};

use crate::backend::{Xid, XidInUse};

/// Where a branch stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BranchState {
    /// Statements belong to it.
    Active,
    /// XA END was said.
    Idle,
    /// XA PREPARE was said, and the session keeps it (`xa_detach_on_prepare` is off).
    Prepared,
    /// A deadlock has rolled it back, and the client knows.
    RollbackOnly,
}

/// The branch of a session.
#[derive(Debug)]
pub(super) struct Branch {
    name: XidInUse,
    state: BranchState,
    /// A deadlock has rolled back what it did; the next statement that needs it learns that.
    is_rolled_back: bool,
    /// It will be detached when it is prepared, so it has nothing of the session's own: no temporary tables.
    detaches: bool,
}

/// The error of a statement that cannot run in this state of the session's branch.
#[cold]
pub(super) fn wrong_state(branch: Option<&Branch>) -> Box<SqlError> {
    let name = match branch.map(|branch| branch.state) {
        None => "NON-EXISTING",
        Some(BranchState::Active) => "ACTIVE",
        Some(BranchState::Idle) => "IDLE",
        Some(BranchState::Prepared) => "PREPARED",
        Some(BranchState::RollbackOnly) => "ROLLBACK ONLY",
    };
    ER_XAER_RMFAIL.with(&[&name])
}

impl Branch {
    /// XA START.
    pub(super) fn start(name: XidInUse, detaches: bool) -> Branch {
        Branch { name, state: BranchState::Active, is_rolled_back: false, detaches }
    }

    pub(super) fn xid(&self) -> &Xid {
        self.name.xid()
    }

    pub(super) fn state(&self) -> BranchState {
        self.state
    }

    pub(super) fn set_state(&mut self, state: BranchState) {
        self.state = state;
    }

    pub(super) fn detaches(&self) -> bool {
        self.detaches
    }

    /// A deadlock has rolled its work back.
    pub(super) fn note_rollback(&mut self) {
        self.is_rolled_back = true;
    }

    /// Where it stands, after a deadlock too.
    pub(super) fn settle(&mut self) -> BranchState {
        if self.is_rolled_back {
            self.state = BranchState::RollbackOnly;
        }
        self.state
    }

    /// Refuses a statement that uses tables, unless the branch is active and they are not the session's own.
    ///
    /// # Errors
    /// 1399, 1614, 4091.
    #[cold]
    pub(super) fn require_tables(
        &mut self,
        are_temporary: impl FnOnce() -> bool,
    ) -> Result<(), Box<SqlError>> {
        if self.detaches && are_temporary() {
            return Err(ER_XA_TEMP_TABLE.bare());
        }
        self.require_active()
    }

    /// Refuses a statement that belongs to no branch but an active one.
    ///
    /// # Errors
    /// 1399, 1614.
    #[cold]
    pub(super) fn require_active(&mut self) -> Result<(), Box<SqlError>> {
        match self.settle() {
            BranchState::Active => Ok(()),
            BranchState::RollbackOnly => Err(ER_XA_RBDEADLOCK.bare()),
            BranchState::Idle | BranchState::Prepared => Err(wrong_state(Some(self))),
        }
    }
}
