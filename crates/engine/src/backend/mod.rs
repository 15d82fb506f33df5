//! What a session asks of whoever keeps its tables: traits only.
//!
//! ```text
//! session ── SessionTransaction ──> begin, savepoint, commit, roll back, snapshots, metadata locks until the end
//!         ── Definitions ─────────> CREATE, ALTER, DROP and their kin, accounts, routines, ANALYZE and CHECK TABLE
//!         ── TableLocks ──────────> metadata locks until they are released: LOCK TABLES
//! exec    ── access::Transaction ─> rows, while a statement runs ([`SessionTransaction::start_access`])
//! ```
//!
//! [`crate::local`] implements them over the local store. Sessions are generic over nothing: they name the implementation in one place,
//! so that no call here is virtual.
//!
//! Invariants, for every backend:
//! 1. What a statement did since its savepoint can be undone alone ([`SessionTransaction::roll_back_to`]).
//! 2. After `commit` and `roll_back` the transaction holds no row lock, no metadata lock and no snapshot, whether or not they fail.
//! 3. Errors are what the client gets.

mod definitions;
mod locks;
mod transaction;

pub(crate) use definitions::{
    CheckDepth, Defined, Definition, DefinitionContext, Definitions, SelectedColumn,
};
pub(crate) use locks::TableLocks;
pub(crate) use transaction::{Access, LockWaits, Reads, SessionTransaction, StatementStart};
