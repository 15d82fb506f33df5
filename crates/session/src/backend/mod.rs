//! What a session asks of whoever keeps its tables: traits only.
//!
//! ```text
//! session ── SessionTransaction ──> begin, savepoint, commit, roll back, snapshots, metadata locks until the end
//!         ── Definitions ─────────> CREATE, ALTER, DROP and their kin, accounts, routines, ANALYZE and CHECK TABLE
//!         ── TableLocks ──────────> metadata locks until they are released: LOCK TABLES
//!         ── PreparedTransactions > those prepared for a commit over several participants
//!         ── PointProgram ────────> one row by a whole unique key, without operators
//! exec    ── access::Transaction ─> rows, while a statement runs ([`SessionTransaction::start_access`])
//! ```
//!
//! A [`Backend`] brings them together. Sessions are generic over it, so that no call here is virtual. `engine::local` implements them over the
//! local store.
//!
//! Invariants, for every backend:
//! 1. What a statement did since its savepoint can be undone alone ([`SessionTransaction::roll_back_to`]).
//! 2. After `commit` and `roll_back` the transaction holds no row lock, no metadata lock and no snapshot, whether or not they fail.
//! 3. Errors are what the client gets. What speaks to whoever keeps the tables can fail by its type: a backend has no error to hide.

use service::SqlError;

mod definitions;
mod locks;
mod point;
mod transaction;
mod two_phase;

pub use definitions::{
    CheckDepth, Defined, Definition, DefinitionContext, DefinitionSession, Definitions, HistogramChange,
    HistogramOutcome, NewTrigger, NewView, SelectedColumn,
};
pub use locks::TableLocks;
pub use point::{PointMemory, PointOutcome, PointProgram, PointRead};
pub use transaction::{Access, LockWaits, Reads, SessionTransaction, StatementStart};
pub use two_phase::{PreparedTransactions, Xid, XidInUse, Xids};

/// Whoever keeps the tables of a server.
pub trait Backend: Definitions + PreparedTransactions + std::fmt::Debug + Send + Sync + 'static {
    /// A session's transaction.
    type Transaction: SessionTransaction<PointProgram = Self::PointProgram>;
    /// A SELECT of one row by a whole unique key.
    type PointProgram: PointProgram;

    /// The transaction of a session that begins.
    ///
    /// # Errors
    /// The backend's: another server does not answer.
    fn new_transaction(&self) -> Result<Self::Transaction, Box<SqlError>>;
}
