//! The transaction of a session: begin, savepoint, commit, rollback, and snapshots by isolation level. The statements that a client says of
//! it: [`super::transaction_statements`].
//!
//! What reads, locks and writes is a [`SessionTransaction`], at whoever keeps the tables. What this module adds is
//! MySQL's meaning: when a snapshot is taken and how long it is kept, what a failed statement rolls back, which statements
//! commit by themselves.
//!
//! | level | snapshot |
//! | --- | --- |
//! | READ UNCOMMITTED | the newest versions, committed or not |
//! | READ COMMITTED | one a statement |
//! | REPEATABLE READ, SERIALIZABLE | one a transaction, taken by its first read without locks (or WITH CONSISTENT SNAPSHOT) |
//!
//! From REPEATABLE READ on scans that lock rows lock the intervals of keys they walk, too, and what a change reads beside its own
//! tables is locked shared. In a SERIALIZABLE transaction every read is. `innodb_snapshot_isolation` (MariaDB's, off by
//! default) refuses with 1020 to lock or write a row that changed after the transaction's snapshot, and rolls back.
//!
//! Invariants:
//! 1. Outside an open transaction nothing is held between statements: no snapshot, no lock.
//! 2. A commit's reply waits for its log position; the session itself never waits for the disk.

use access::{MetadataMode, MetadataWait};
use catalog::TableEntry;
use plan::physical::{PhysicalPlan, PlanKind, PlanTable};
use service::error::{ER_CHECKREAD, ER_LOCK_DEADLOCK, ER_SP_DOES_NOT_EXIST};
use service::{ConnectionControl, Outcome, SqlError};
use types::ValueRef;

use super::branch::{Branch, BranchState};
use crate::backend::{Access, PointMemory, PointOutcome, PointRead, SessionTransaction, StatementStart};
use crate::processes::{ProcessEntry, TransactionNote};
use crate::variables::isolation::Isolation;
use crate::variables::settings::Settings;

/// What SET TRANSACTION says of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Characteristics {
    isolation: Isolation,
    read_only: bool,
}

/// Characteristics of the next transaction alone: SET TRANSACTION without a scope.
#[derive(Clone, Copy, Debug, Default)]
struct NextTransaction {
    isolation: Option<Isolation>,
    read_only: Option<bool>,
}

/// What a statement that begins in the transaction has of its session.
#[derive(Clone, Copy)]
pub(super) struct Beginning<'a> {
    pub(super) settings: &'a Settings,
    pub(super) control: &'a ConnectionControl,
    pub(super) process: &'a ProcessEntry,
    /// It is requeued if it must not wait.
    pub(super) may_requeue: bool,
}

/// The transaction of a session, as a client sees it.
pub(crate) struct TransactionState<T: SessionTransaction> {
    /// What reads, locks and writes.
    work: T,
    /// One that has done nothing, for statements that fire triggers.
    spare: Option<T>,
    /// BEGIN was said, or autocommit is off and a statement has run.
    open: bool,
    /// What SET TRANSACTION said of the next one.
    next: NextTransaction,
    /// How this transaction sees others.
    isolation: Isolation,
    /// The running statement reads by the snapshot, so the transaction keeps it. Statements that only lock leave it to a later
    /// one.
    keeps_view: bool,
    /// The snapshot was there before the running statement.
    view_is_older: bool,
    /// It may not write.
    read_only: bool,
    /// The branch of a distributed transaction that it is.
    branch: Option<Box<Branch>>,
    /// It made a temporary table, or dropped one: neither is rolled back.
    created_temporary: bool,
    dropped_temporary: bool,
    /// Each with how many metadata locks were held.
    savepoints: Vec<(String, T::Savepoint, usize)>,
    /// How far the log must be durable for the newest commit of this session; its reply waits for that.
    committed: Option<u64>,
    /// Rows the running statement examined, for the slow log.
    rows_examined: u64,
}

impl<T: SessionTransaction> std::fmt::Debug for TransactionState<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("TransactionState")
            .field("open", &self.open)
            .field("isolation", &self.isolation)
            .finish_non_exhaustive()
    }
}

impl<T: SessionTransaction> TransactionState<T> {
    /// No transaction: `work` has done nothing.
    pub(super) fn new(work: T) -> Self {
        Self {
            work,
            spare: None,
            open: false,
            next: NextTransaction::default(),
            isolation: Isolation::default(),
            keeps_view: true,
            view_is_older: false,
            read_only: false,
            branch: None,
            created_temporary: false,
            dropped_temporary: false,
            savepoints: Vec::new(),
            committed: None,
            rows_examined: 0,
        }
    }

    /// Whether one is open.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Lets a KILL of the session end its lock waits at once.
    pub(super) fn set_control(&self, control: &ConnectionControl) {
        self.work.set_control(control);
    }

    /// The isolation level of the next or the running transaction.
    pub(crate) fn isolation_now(&self, settings: &Settings) -> Isolation {
        if self.open { self.isolation } else { self.next.isolation.unwrap_or(settings.isolation) }
    }

    /// SET TRANSACTION ISOLATION LEVEL without a scope.
    pub(super) fn set_next_isolation(&mut self, isolation: Isolation) {
        self.next.isolation = Some(isolation);
    }

    /// SET TRANSACTION READ ONLY, or READ WRITE, without a scope.
    pub(super) fn set_next_read_only(&mut self, read_only: bool) {
        self.next.read_only = Some(read_only);
    }

    /// Whether something was said of the next transaction alone.
    #[inline]
    pub(super) fn has_next(&self) -> bool {
        self.next.isolation.is_some() || self.next.read_only.is_some()
    }

    /// Rolls back what is open, if anything, and releases its locks. `note`: what lists of transactions say of it.
    ///
    /// # Errors
    /// The backend has stopped.
    pub(super) fn rollback(&mut self, note: &TransactionNote) -> Outcome {
        self.open = false;
        self.next = NextTransaction::default();
        note.set_began(0);
        self.savepoints.clear();
        self.work.roll_back()
    }

    /// As after a login. The transaction itself has been rolled back.
    pub(super) fn reset(&mut self) {
        self.next = NextTransaction::default();
        self.branch = None;
    }

    /// The branch that the session works on.
    #[inline]
    pub(super) fn branch(&self) -> Option<&Branch> {
        self.branch.as_deref()
    }

    pub(super) fn branch_mut(&mut self) -> Option<&mut Branch> {
        self.branch.as_deref_mut()
    }

    /// XA START: opens a transaction that is a branch.
    pub(super) fn open_branch(&mut self, settings: &Settings, branch: Branch) {
        self.open(settings);
        self.branch = Some(Box::new(branch));
    }

    /// The session works on no branch any longer; its transaction has ended.
    pub(super) fn close_branch(&mut self) {
        self.branch = None;
        self.open = false;
    }

    /// What was open has been rolled back for a deadlock: a branch stays, for its coordinator to roll back.
    pub(super) fn keep_rolled_back_branch(&mut self) {
        if let Some(branch) = &mut self.branch {
            branch.note_rollback();
            self.open = true;
        }
    }

    /// Prepares what is open under the branch's name. The session's next transaction has done nothing.
    ///
    /// # Errors
    /// The backend's; nothing has changed then.
    pub(super) fn prepare_branch(&mut self, note: &TransactionNote) -> Outcome {
        let Some(branch) = &mut self.branch else { return Ok(()) };
        let position = self.work.prepare(branch.xid())?;
        branch.set_state(BranchState::Prepared);
        self.savepoints.clear();
        note.set_began(0);
        self.note_committed(position);
        Ok(())
    }

    /// What the next reply waits for.
    pub(super) fn note_committed(&mut self, position: Option<u64>) {
        self.committed = position.or(self.committed);
    }

    /// Whether it has written or locked anything.
    pub(super) fn has_begun(&self) -> bool {
        self.work.has_begun()
    }

    pub(crate) fn has_view(&self) -> bool {
        self.work.has_snapshot()
    }

    /// The rows of all tables, while a statement runs; none without a snapshot.
    pub(super) fn start_access(&mut self) -> Option<Access<T::Rows<'_>, T::Snapshot<'_>, &T::Waits>> {
        self.work.start_access()
    }

    /// Gives what reads, locks and writes to a statement that fires triggers; another one that has done nothing is there meanwhile.
    ///
    /// # Errors
    /// `new`'s.
    pub(super) fn lend_work(
        &mut self,
        new: impl FnOnce() -> Result<T, Box<SqlError>>,
    ) -> Result<T, Box<SqlError>> {
        let spare = match self.spare.take() {
            Some(spare) => spare,
            None => new()?,
        };
        Ok(std::mem::replace(&mut self.work, spare))
    }

    /// The statement gives it back.
    pub(super) fn return_work(&mut self, work: T) {
        self.spare = Some(std::mem::replace(&mut self.work, work));
    }

    /// Reads single rows; none without a snapshot.
    #[inline]
    pub(super) fn read_point(
        &self,
        program: &T::PointProgram,
        values: &[ValueRef<'_>],
        read: PointRead<'_>,
        memory: &mut PointMemory,
    ) -> Result<PointOutcome, Box<SqlError>> {
        self.work.read_point(program, values, read, memory)
    }

    /// Whether the running statement can be requeued if it must not wait.
    pub(super) fn may_requeue(&self) -> bool {
        self.work.may_requeue()
    }

    /// Takes a snapshot of now for one read that belongs to no transaction; the caller gives it back by
    /// [`TransactionState::park`].
    ///
    /// # Errors
    /// The backend's.
    #[inline]
    pub(crate) fn view_now(&mut self) -> Outcome {
        self.work.take_snapshot()
    }

    /// Keeps no snapshot any longer.
    ///
    /// # Errors
    /// The backend's.
    #[inline]
    pub(crate) fn park(&mut self) -> Outcome {
        self.work.release_snapshot()
    }

    /// The running statement goes on after [`TransactionState::forget_statement`].
    ///
    /// # Errors
    /// The backend's.
    pub(super) fn ensure_view(&mut self) -> Outcome {
        if self.work.has_snapshot() { Ok(()) } else { self.work.take_snapshot() }
    }

    /// A statement that is a transaction of its own has its tables: what SET TRANSACTION said is over. One that was refused leaves it to
    /// the next one.
    #[inline]
    pub(super) fn spend_next(&mut self) {
        if !self.open {
            self.next = NextTransaction::default();
        }
    }

    /// A statement ends before it has read or written anything.
    ///
    /// # Errors
    /// The backend's.
    pub(super) fn forget_statement(&mut self) -> Outcome {
        // A snapshot of its own would miss what it waited for, such as the rows of a table that was copied.
        if self.open && self.view_is_older { Ok(()) } else { self.work.release_snapshot() }
    }

    /// A statement of an open transaction ends, or one that only read.
    ///
    /// # Errors
    /// The backend's.
    pub(super) fn keep_view(&mut self) -> Outcome {
        if self.isolation < Isolation::RepeatableRead || !self.keeps_view {
            return self.work.release_snapshot();
        }
        Ok(())
    }

    /// Opens a transaction with the characteristics SET TRANSACTION asked for.
    pub(super) fn open(&mut self, settings: &Settings) {
        self.open = true;
        self.created_temporary = false;
        self.dropped_temporary = false;
        self.follow_next(settings);
        self.next = NextTransaction::default();
    }

    /// Opens one as the one before was, for AND CHAIN and a BEGIN inside of it.
    pub(super) fn open_chained(&mut self, settings: &Settings, before: Option<Characteristics>) {
        self.open(settings);
        if let Some(before) = before {
            self.isolation = before.isolation;
            self.read_only = before.read_only;
        }
    }

    /// Isolation level and access mode of the open transaction, or of the next one.
    pub(super) fn characteristics(&self, settings: &Settings) -> Characteristics {
        Characteristics {
            isolation: self.isolation_now(settings),
            read_only: if self.open {
                self.read_only
            } else {
                self.next.read_only.unwrap_or(settings.read_only)
            },
        }
    }

    fn follow_next(&mut self, settings: &Settings) {
        self.isolation = self.next.isolation.unwrap_or(settings.isolation);
        self.read_only = self.next.read_only.unwrap_or(settings.read_only);
    }

    /// Takes the transaction's snapshot now (WITH CONSISTENT SNAPSHOT), where it keeps one.
    ///
    /// # Errors
    /// The backend's.
    pub(super) fn take_consistent_snapshot(
        &mut self,
        settings: &Settings,
        process: &ProcessEntry,
    ) -> Outcome {
        if self.isolation >= Isolation::RepeatableRead {
            self.work.take_snapshot()?;
            self.write_note(settings, process);
        }
        Ok(())
    }

    /// Says in the process list's note what the transaction is.
    fn write_note(&self, settings: &Settings, process: &ProcessEntry) {
        let note = &process.transaction;
        note.write(self.isolation, self.read_only, settings.foreign_key_checks);
        if self.open {
            note.set_began(process.activity().1);
        }
    }

    /// Outside a transaction, what the session says of the next one counts for a definition too.
    pub(super) fn ready_access_mode(&mut self, settings: &Settings) {
        if !self.open {
            self.read_only = self.next.read_only.unwrap_or(settings.read_only);
        }
    }

    /// A statement that reads or writes tables begins. Without autocommit it opens a transaction.
    ///
    /// # Errors
    /// The backend's.
    #[inline]
    pub(super) fn begin_statement(&mut self, begin: Beginning<'_>) -> Outcome {
        let Beginning { settings, control, process, may_requeue } = begin;
        if !self.open {
            if settings.autocommit {
                self.follow_next(settings);
            } else {
                self.open(settings);
            }
        }
        self.rows_examined = 0;
        let repeatable = self.isolation >= Isolation::RepeatableRead;
        let keeps = self.open && repeatable && self.work.has_snapshot();
        self.write_note(settings, process);
        self.keeps_view = true;
        self.view_is_older = keeps;
        self.work.begin_statement(StatementStart {
            control,
            locks_ranges: repeatable,
            keeps_snapshot: keeps,
            refuses_newer_rows: keeps && settings.snapshot_isolation,
            may_requeue,
        })
    }

    /// Notes, after [`TransactionState::begin_statement`], whether the statement reads anything without locking it.
    pub(super) fn note_reads(&mut self, plan: &PhysicalPlan) {
        let locks = self.locks_reads(plan);
        let by_snapshot = |table: &PlanTable| table.lock.is_none() && table.is_stored();
        self.keeps_view = self.view_is_older || (!locks && plan.tables.iter().any(by_snapshot));
    }

    /// Whether reads of this plan that ask for no lock take one all the same.
    pub(super) fn locks_reads(&self, plan: &PhysicalPlan) -> bool {
        match plan.kind {
            PlanKind::Query(_) | PlanKind::Do(_) => self.open && self.isolation == Isolation::Serializable,
            _ => self.isolation >= Isolation::RepeatableRead,
        }
    }

    /// Whether it reads what others have not committed.
    pub(super) fn reads_uncommitted(&self) -> bool {
        self.isolation == Isolation::ReadUncommitted
    }

    /// The access mode that START TRANSACTION names.
    pub(super) fn set_read_only(&mut self, read_only: bool) {
        self.read_only = read_only;
    }

    /// Whether it may not write.
    pub(super) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether it has changed rows.
    pub(super) fn has_changes(&self) -> bool {
        self.work.has_changes()
    }

    /// Where the transaction is now.
    ///
    /// # Errors
    /// The backend's.
    #[inline]
    pub(super) fn savepoint(&mut self) -> Result<T::Savepoint, Box<SqlError>> {
        self.work.savepoint()
    }

    /// Ends a statement that went well: an autocommit statement commits.
    ///
    /// # Errors
    /// The backend has stopped.
    pub(super) fn end_statement(&mut self) -> Outcome {
        if self.open { self.keep_view() } else { self.commit_work() }
    }

    /// Ends a statement that failed: rolls back to where it began. False, and nothing is done: the whole transaction has to be rolled back.
    ///
    /// # Errors
    /// The backend has stopped.
    pub(super) fn fail_statement(
        &mut self,
        before: &T::Savepoint,
        error: &SqlError,
    ) -> Result<bool, Box<SqlError>> {
        if !self.open || error.is(ER_LOCK_DEADLOCK) || error.is(ER_CHECKREAD) {
            return Ok(false);
        }
        self.work.roll_back_to(before)?;
        self.keep_view()?;
        Ok(true)
    }

    #[inline]
    fn commit_work(&mut self) -> Outcome {
        let position = self.work.commit()?;
        self.note_committed(position);
        Ok(())
    }

    /// Commits what is open, if anything, and releases its locks. `note`: what lists of transactions say of it.
    ///
    /// # Errors
    /// The backend has stopped.
    pub(super) fn commit(&mut self, note: &TransactionNote) -> Outcome {
        self.open = false;
        self.next = NextTransaction::default();
        note.set_began(0);
        self.savepoints.clear();
        self.commit_work()
    }

    /// The position of the newest commit, for whoever answers next: the reply waits for it.
    #[inline]
    pub(super) fn take_committed(&mut self) -> Option<u64> {
        self.committed.take()
    }

    /// CREATE TEMPORARY TABLE or DROP TEMPORARY TABLE has run, which a rollback of the open transaction leaves as it is.
    pub(super) fn note_temporary_definition(&mut self, created: bool) {
        self.created_temporary |= self.open && created;
        self.dropped_temporary |= self.open && !created;
    }

    /// What a rollback leaves as it is: whether temporary tables were created, and whether some were dropped.
    pub(super) fn temporary_definitions(&self) -> (bool, bool) {
        (self.open && self.created_temporary, self.open && self.dropped_temporary)
    }

    /// SAVEPOINT in the open transaction.
    ///
    /// # Errors
    /// The backend's.
    pub(super) fn add_named_savepoint(&mut self, name: &str) -> Outcome {
        let savepoint = self.work.savepoint()?;
        self.savepoints.retain(|(candidate, ..)| !candidate.eq_ignore_ascii_case(name));
        self.savepoints.push((name.to_owned(), savepoint, self.work.table_lock_count()));
        Ok(())
    }

    /// The position of a savepoint.
    ///
    /// # Errors
    /// 1305.
    pub(super) fn find_named_savepoint(&self, name: &str) -> Result<usize, Box<SqlError>> {
        let is_it = |(candidate, ..): &(String, T::Savepoint, usize)| candidate.eq_ignore_ascii_case(name);
        let at = self.savepoints.iter().position(is_it);
        at.ok_or_else(|| ER_SP_DOES_NOT_EXIST.with(&[&"SAVEPOINT", &name]))
    }

    /// Rolls back to the savepoint at this place, which stays.
    ///
    /// # Errors
    /// The backend has stopped.
    pub(super) fn roll_back_to_named_savepoint(&mut self, at: usize) -> Outcome {
        self.savepoints.truncate(at + 1);
        let (_, savepoint, metadata_mark) = &self.savepoints[at];
        self.work.roll_back_to(savepoint)?;
        // A transaction that has locked rows keeps their tables as they are, wherever the rows are.
        if !self.has_begun() {
            self.work.release_table_locks_to(*metadata_mark);
        }
        Ok(())
    }

    /// Forgets the savepoint at this place and those after it.
    pub(super) fn release_named_savepoint(&mut self, at: usize) {
        self.savepoints.truncate(at);
    }

    /// Takes the metadata lock of a table until the transaction ends.
    ///
    /// # Errors
    /// As [`SessionTransaction::lock_table`].
    #[inline]
    pub(super) fn lock_table(
        &mut self,
        entry: &TableEntry,
        mode: MetadataMode,
        lock_wait: MetadataWait<'_>,
    ) -> Outcome {
        self.work.lock_table(entry, mode, lock_wait)
    }

    /// How many metadata locks are held: a mark for [`TransactionState::release_tables_to`].
    #[inline]
    pub(super) fn table_mark(&self) -> usize {
        self.work.table_lock_count()
    }

    /// Releases the metadata locks taken since `mark`.
    pub(super) fn release_tables_to(&mut self, mark: usize) {
        self.work.release_table_locks_to(mark);
    }

    /// Rows that the running statement has examined.
    pub(super) fn rows_examined(&self) -> u64 {
        self.rows_examined
    }

    /// Counts rows examined by a statement that has not begun in the transaction.
    #[inline]
    pub(super) fn set_rows_examined(&mut self, rows: u64) {
        self.rows_examined = rows;
    }

    /// Adds to the rows that the running statement has examined.
    #[inline]
    pub(super) fn add_rows_examined(&mut self, rows: u64) {
        self.rows_examined += rows;
    }

    /// How long the running statement waited for row locks.
    pub(super) fn lock_wait_micros(&self) -> u64 {
        self.work.lock_wait_micros()
    }

    /// A statement begins that the slow log may show, whether or not it will use the transaction.
    pub(super) fn reset_counts(&mut self) {
        self.rows_examined = 0;
        self.work.reset_lock_wait();
    }
}
