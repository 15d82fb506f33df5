//! Who sees what becomes of transactions, at their commit and at rollbacks: a binary log, a change stream.

use crate::ids::{CommitPosition, TxnId};

/// Sees the transactions that change something, each at its commit, in the order of their commits: in the order in which snapshots see
/// them and recovery repeats them.
///
/// ```text
/// changes       each in its statement, under the transaction's number       (above the store)
/// committed     its record is in the log's memory: not durable, not seen by others, not answered
/// acknowledged  the log is durable up to the position, as `innodb_flush_log_at_trx_commit` has it: see [`crate::wal::LogListener`]
/// answer        the client hears of the commit
/// ```
///
/// A transaction that is rolled back, or whose commit fails, is not seen as committed. After a crash some that were seen are gone: those whose position
/// was not durable.
pub trait CommitObserver: Send + Sync {
    /// A transaction commits at this position. Called under the mutex of the log: it must be short, must not wait and must not call the
    /// store.
    fn committed(&self, transaction: TxnId, position: CommitPosition);

    /// Of what the transaction has changed only its first `kept` changes are left, as [`crate::Transaction::change_count`] counts them: it
    /// was rolled back to a savepoint, a statement of it failed, or (0) it ends without a commit. Called on the transaction's thread
    /// once they are undone, and only if there were more; it must not call the store.
    fn rolled_back(&self, transaction: TxnId, kept: u64);
}
