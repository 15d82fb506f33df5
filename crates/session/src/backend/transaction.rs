//! A session's transaction at whoever keeps the tables.
//!
//! A session always has one. It costs nothing until it reads by a snapshot, locks or writes, and after each end it is a new one.
//! What MySQL means by a transaction (autocommit, isolation levels, named savepoints) is the session's.

use access::{MetadataMode, MetadataWait};
use catalog::TableEntry;
use service::{ConnectionControl, Outcome, SqlError};
use types::ValueRef;

use super::Xid;
use super::point::{PointMemory, PointOutcome, PointProgram, PointRead};

/// How a statement begins in a transaction.
pub struct StatementStart<'a> {
    /// The connection whose statement it is.
    pub control: &'a ConnectionControl,
    /// Scans that lock rows lock the ranges of keys they walk, too.
    pub locks_ranges: bool,
    /// It reads by the snapshot that is there; else it takes one.
    pub keeps_snapshot: bool,
    /// To lock or write a row that changed after that snapshot fails with 1020.
    pub refuses_newer_rows: bool,
    /// It is requeued if it must not wait.
    pub may_requeue: bool,
}

/// What a read by itself sees.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reads {
    /// The snapshot alone: of a transaction that has changed nothing.
    Snapshot,
    /// The snapshot, and what the transaction has changed.
    Own,
    /// The newest versions, committed or not.
    Uncommitted,
}

/// What the lock waits of a transaction and its statement tell each other.
pub trait LockWaits {
    /// The statement leaves a trace that a rollback does not remove: it cannot be requeued any more.
    fn forbid_requeue(&self);
}

/// The rows of all tables while a statement runs.
pub struct Access<Rows, Snapshot, Waits> {
    /// Reads, locks and writes.
    pub rows: Rows,
    /// What consistent reads see.
    pub snapshot: Snapshot,
    /// Its lock waits.
    pub waits: Waits,
}

/// A session's transaction.
pub trait SessionTransaction: Send {
    /// Where the transaction was.
    type Savepoint: Send;
    /// Its rows while a statement runs.
    type Rows<'a>: access::Transaction
    where
        Self: 'a;
    /// Its snapshot while a statement runs.
    type Snapshot<'a>: access::Snapshot
    where
        Self: 'a;
    /// Its lock waits.
    type Waits: LockWaits;
    /// A SELECT of one row by a whole unique key, ready to run without operators.
    type PointProgram: PointProgram;

    /// Lets a KILL of the connection end its lock waits.
    fn set_control(&self, control: &ConnectionControl);

    /// A statement begins that reads or writes tables.
    ///
    /// # Errors
    /// The backend's; no statement has begun then.
    fn begin_statement(&mut self, start: StatementStart<'_>) -> Outcome;
    /// Whether the running statement can be requeued if it must not wait.
    fn may_requeue(&self) -> bool;
    /// How long it waited for row locks since [`SessionTransaction::reset_lock_wait`], in microseconds.
    fn lock_wait_micros(&self) -> u64;
    /// Counts the time of lock waits from zero.
    fn reset_lock_wait(&self);

    /// Whether there is a snapshot.
    fn has_snapshot(&self) -> bool;
    /// Takes a snapshot of now, in place of the one that is there.
    ///
    /// # Errors
    /// The backend's; there is no snapshot then.
    fn take_snapshot(&mut self) -> Outcome;
    /// Keeps no snapshot any longer.
    ///
    /// # Errors
    /// The backend's; there is no snapshot all the same.
    fn release_snapshot(&mut self) -> Outcome;

    /// The rows as the running statement uses them; none without a snapshot.
    fn start_access(&mut self) -> Option<Access<Self::Rows<'_>, Self::Snapshot<'_>, &Self::Waits>>;
    /// Runs a point program and writes its row's payload to `memory.row`; `memory` is as it was lent.
    ///
    /// # Errors
    /// The backend's.
    fn read_point(
        &self,
        program: &Self::PointProgram,
        values: &[ValueRef<'_>],
        read: PointRead<'_>,
        memory: &mut PointMemory,
    ) -> Result<PointOutcome, Box<SqlError>>;

    /// Whether it has written or locked anything.
    fn has_begun(&self) -> bool;
    /// Whether it has changed rows.
    fn has_changes(&self) -> bool;

    /// Where it is now.
    ///
    /// # Errors
    /// The backend's; what is done from here on cannot be undone alone then.
    fn savepoint(&mut self) -> Result<Self::Savepoint, Box<SqlError>>;
    /// Undoes what was done since a savepoint, which stays.
    ///
    /// # Errors
    /// The backend has stopped.
    fn roll_back_to(&mut self, savepoint: &Self::Savepoint) -> Outcome;
    /// Commits what it has done, and answers how far the log must be durable before the statement is acknowledged; `None`: nothing to wait for.
    ///
    /// # Errors
    /// The backend has stopped.
    fn commit(&mut self) -> Result<Option<u64>, Box<SqlError>>;
    /// Prepares what it has done under a name ([`super::PreparedTransactions`]): it is durable then, keeps its row locks, and can always be
    /// committed. The session's transaction is a new one. Answers how far the log must be durable before it counts.
    ///
    /// # Errors
    /// 1235 from a backend that cannot keep it across a crash; 1440 if the name is taken; the backend's. Nothing has changed then.
    fn prepare(&mut self, xid: &Xid) -> Result<Option<u64>, Box<SqlError>>;
    /// Undoes what it has done.
    ///
    /// # Errors
    /// The backend has stopped.
    fn roll_back(&mut self) -> Outcome;

    /// Takes the metadata lock of a table until the transaction ends, unless it has it already.
    ///
    /// # Errors
    /// 1205, 1213, 1317; [`SqlError::refused_wait`].
    fn lock_table(&mut self, entry: &TableEntry, mode: MetadataMode, lock_wait: MetadataWait<'_>) -> Outcome;
    /// How many metadata locks it has.
    fn table_lock_count(&self) -> usize;
    /// Releases all but the first `count` metadata locks.
    fn release_table_locks_to(&mut self, count: usize);
}
