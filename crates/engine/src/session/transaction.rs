//! Transactions: BEGIN to COMMIT, autocommit, savepoints, snapshots by isolation level.
//!
//! The store's transaction costs nothing until it writes or locks, so a session always has one. What this module adds is
//! MySQL's meaning: when a snapshot is taken and how long it is kept, what a failed statement takes back, which statements
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

use std::sync::Arc;

use exec::StatusKind;
use plan::physical::{PhysicalPlan, PlanKind, PlanTable};
use service::error::{
    ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_SP_DOES_NOT_EXIST,
    ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_CREATED_TEMP_TABLE,
    ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_DROPPED_TEMP_TABLE,
};
use service::{ConnectionControl, Outcome, Reply, SqlError};
use store::{CommitPosition, Interrupt, ReadView, Savepoint, Transaction};
use syntax::ast::Completion;

use super::LocalSession;
use super::plans::CachedPlan;
use super::settings::Isolation;
use crate::core::Core;
use crate::metadata::MetadataLocks;
use crate::processes::TransactionNote;
use crate::status::StatementKind;

/// Characteristics of the next transaction alone: SET TRANSACTION without a scope.
#[derive(Clone, Copy, Debug, Default)]
struct NextTransaction {
    isolation: Option<Isolation>,
    read_only: Option<bool>,
}

/// The transaction of a session.
pub struct TransactionState {
    /// The store's side; begun anew after each end.
    pub(crate) store: Transaction,
    /// Ends its lock waits: a KILL raises it.
    interrupt: Arc<Interrupt>,
    /// The snapshot while one is kept, else parked. One a session: making one touches the store's shared count.
    view: ReadView,
    /// BEGIN was said, or autocommit is off and a statement has run.
    open: bool,
    /// What SET TRANSACTION said of the next one.
    next: NextTransaction,
    /// How this transaction sees others.
    pub(crate) isolation: Isolation,
    /// The running statement reads by the snapshot, so the transaction keeps it. Statements that only lock leave it to a later
    /// one.
    keeps_view: bool,
    /// The snapshot was there before the running statement.
    view_is_older: bool,
    /// It may not write.
    pub(crate) read_only: bool,
    /// It made a temporary table, or dropped one: neither is rolled back.
    created_temporary: bool,
    dropped_temporary: bool,
    /// Each with how many metadata locks were held.
    savepoints: Vec<(String, Savepoint, usize)>,
    /// Tables whose definitions this transaction uses: DDL waits for it.
    pub(super) metadata: MetadataLocks,
    /// Where the newest commit of this session ends in the log; its reply waits for that.
    pub(crate) committed: Option<CommitPosition>,
    /// Rows the running statement examined, for the slow log.
    pub(crate) rows_examined: u64,
    /// How long the running statement waited for locks.
    pub(crate) lock_wait_micros: u64,
}

impl std::fmt::Debug for TransactionState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("TransactionState")
            .field("open", &self.open)
            .field("isolation", &self.isolation)
            .finish_non_exhaustive()
    }
}

impl TransactionState {
    /// No transaction.
    #[must_use]
    pub fn new(core: &Arc<Core>) -> Self {
        let interrupt = Interrupt::new();
        Self {
            store: begin_store(core, &interrupt),
            interrupt,
            view: core.store.parked_view(),
            open: false,
            next: NextTransaction::default(),
            isolation: Isolation::default(),
            keeps_view: true,
            view_is_older: false,
            read_only: false,
            created_temporary: false,
            dropped_temporary: false,
            savepoints: Vec::new(),
            metadata: MetadataLocks::default(),
            committed: None,
            rows_examined: 0,
            lock_wait_micros: 0,
        }
    }

    /// Whether one is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Lets a KILL of the session end its lock waits at once.
    pub(super) fn obey(&self, control: &ConnectionControl) {
        let interrupt = Arc::clone(&self.interrupt);
        control.set_waiter(Some(Box::new(move || interrupt.raise())));
    }

    /// Forgets a KILL QUERY of an earlier statement.
    fn ready_interrupt(&self, control: &ConnectionControl) {
        if self.interrupt.is_raised() {
            self.interrupt.reset();
            // One of this statement may have come meanwhile.
            if control.is_killed() {
                self.interrupt.raise();
            }
        }
    }

    /// The isolation level of the next or the running transaction.
    pub(crate) fn isolation_now(&self, settings: &super::settings::Settings) -> Isolation {
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
    /// The store has stopped.
    pub(super) fn rollback(&mut self, core: &Core, note: &TransactionNote) -> Outcome {
        self.open = false;
        note.set_began(0);
        self.savepoints.clear();
        self.view.park();
        let rolled_back = if self.has_begun() {
            let next = begin_store(core, &self.interrupt);
            let ended = std::mem::replace(&mut self.store, next);
            ended.rollback().map_err(exec::store_error)
        } else {
            Ok(())
        };
        self.metadata.release_all();
        rolled_back
    }

    /// As after a login. The transaction itself has been rolled back.
    pub(super) fn reset(&mut self) {
        self.next = NextTransaction::default();
    }

    /// Whether the store's side wrote or locked anything; if not, it can go on as the next transaction.
    pub(super) fn has_begun(&self) -> bool {
        self.store.id() != store::TxnId(0)
    }

    pub(crate) fn has_view(&self) -> bool {
        !self.view.is_parked()
    }

    /// The writing side, the snapshot, and what is said of lock waits, to be borrowed at the same time.
    pub(crate) fn parts(&mut self) -> (&mut Transaction, Option<&ReadView>, &Interrupt) {
        (&mut self.store, (!self.view.is_parked()).then_some(&self.view), &self.interrupt)
    }

    /// Whether the running statement can be requeued if it must not wait.
    pub(super) fn may_requeue(&self) -> bool {
        self.interrupt.may_requeue()
    }

    /// Takes a snapshot of now for one read that belongs to no transaction; the caller gives it back by
    /// [`TransactionState::park`].
    #[inline]
    pub(crate) fn view_now(&mut self) {
        self.view.refresh();
    }

    /// Keeps no snapshot any longer.
    #[inline]
    pub(crate) fn park(&mut self) {
        self.view.park();
    }

    /// The running statement goes on after [`TransactionState::forget_statement`].
    pub(super) fn ensure_view(&mut self) {
        if self.view.is_parked() {
            self.view.refresh();
        }
    }

    /// A statement ends before it has read or written anything.
    pub(super) fn forget_statement(&mut self) {
        // A snapshot of its own would miss what it waited for, such as the rows of a table that was copied.
        if !self.open || !self.view_is_older {
            self.view.park();
        }
    }

    /// A statement of an open transaction ends.
    pub(super) fn end_statement(&mut self) {
        if self.isolation < Isolation::RepeatableRead || !self.keeps_view {
            self.view.park();
        }
    }
}

/// A transaction of the store whose lock waits `interrupt` ends.
fn begin_store(core: &Core, interrupt: &Arc<Interrupt>) -> Transaction {
    let mut store = core.store.begin();
    store.set_interrupt(Some(Arc::clone(interrupt)));
    store
}

impl LocalSession {
    /// Opens a transaction with the characteristics SET TRANSACTION asked for.
    fn open_transaction(&mut self, read_only: Option<bool>) {
        let state = &mut self.transaction;
        state.open = true;
        state.created_temporary = false;
        state.dropped_temporary = false;
        let settings = self.variables.settings();
        let next = std::mem::take(&mut state.next);
        state.isolation = next.isolation.unwrap_or(settings.isolation);
        state.read_only = read_only.or(next.read_only).unwrap_or(settings.read_only);
    }

    /// Readies the transaction for a statement that reads or writes tables. `may_requeue`: it is requeued if it must not wait.
    pub(crate) fn begin_table_statement(&mut self, may_requeue: bool) {
        if !self.transaction.open {
            if self.variables.settings().autocommit {
                let settings = self.variables.settings();
                let state = &mut self.transaction;
                let next = std::mem::take(&mut state.next);
                state.isolation = next.isolation.unwrap_or(settings.isolation);
                state.read_only = next.read_only.unwrap_or(settings.read_only);
            } else {
                self.open_transaction(None);
            }
        }
        let state = &mut self.transaction;
        state.ready_interrupt(&self.control);
        state.interrupt.set_may_requeue(may_requeue);
        state.rows_examined = 0;
        state.lock_wait_micros = 0;
        let repeatable = state.isolation >= Isolation::RepeatableRead;
        let keeps = state.open && repeatable && !state.view.is_parked();
        state.store.set_owner(self.control.connection_id);
        state.store.set_range_locks(repeatable);
        let note = &self.process.transaction;
        note.write(state.isolation, state.read_only, self.variables.settings().foreign_key_checks);
        if state.open {
            note.set_began(self.process.activity().1);
        }
        let first_updater_wins = keeps && self.variables.settings().snapshot_isolation;
        state.store.set_first_updater_wins(first_updater_wins.then(|| state.view.csn()));
        state.keeps_view = true;
        state.view_is_older = keeps;
        if !keeps {
            state.view.refresh();
        }
    }

    /// Notes, after [`LocalSession::begin_table_statement`], whether the statement reads anything without locking it.
    pub(crate) fn note_reads(&mut self, plan: &PhysicalPlan) {
        let locks = self.locks_reads(plan);
        let state = &mut self.transaction;
        let by_snapshot =
            |table: &PlanTable| table.lock.is_none() && table.entry.source.as_virtual().is_none();
        state.keeps_view = state.view_is_older || (!locks && plan.tables.iter().any(by_snapshot));
    }

    /// Whether reads of this plan that ask for no lock take one all the same.
    pub(crate) fn locks_reads(&self, plan: &PhysicalPlan) -> bool {
        let state = &self.transaction;
        match plan.kind {
            PlanKind::Query(_) | PlanKind::Do(_) => state.open && state.isolation == Isolation::Serializable,
            _ => state.isolation >= Isolation::RepeatableRead,
        }
    }

    /// Ends a statement that went well: an autocommit statement commits.
    pub(crate) fn end_table_statement(&mut self) -> Outcome {
        self.process.counts.status.add(StatusKind::Commit, 1);
        if self.transaction.open {
            self.transaction.end_statement();
            return Ok(());
        }
        let committed = self.commit_store();
        self.transaction.metadata.release_all();
        committed
    }

    /// Ends a statement that failed: takes back what it did, and the whole transaction where MySQL does.
    pub(crate) fn fail_table_statement(&mut self, before: &Savepoint, error: &SqlError) -> Outcome {
        let whole = [service::error::ER_LOCK_DEADLOCK.number, service::error::ER_CHECKREAD.number];
        self.process.counts.status.add(StatusKind::Rollback, 1);
        if !self.transaction.open || whole.contains(&error.number) {
            return self.rollback_transaction();
        }
        self.transaction.store.rollback_to(before).map_err(exec::store_error)?;
        self.transaction.end_statement();
        Ok(())
    }

    /// Outside a transaction, what the session says of the next one counts for a definition too.
    pub(crate) fn ready_access_mode(&mut self) {
        if !self.transaction.open {
            self.transaction.read_only =
                self.transaction.next.read_only.unwrap_or(self.variables.settings().read_only);
        }
    }

    /// Refuses a writing statement in a read-only transaction.
    pub(crate) fn require_writable(&self) -> Outcome {
        if self.transaction.read_only || self.core.is_read_only(&self.account) {
            return Err(ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.bare());
        }
        Ok(())
    }

    /// Refuses to lock other sessions' rows FOR UPDATE in a read-only transaction.
    pub(crate) fn require_no_row_locks(&self, plan: &CachedPlan) -> Outcome {
        if self.transaction.read_only && plan.locks_shared_rows() {
            return Err(ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.bare());
        }
        Ok(())
    }

    fn commit_store(&mut self) -> Outcome {
        self.transaction.view.park();
        if !self.transaction.has_begun() {
            return Ok(());
        }
        let next = begin_store(&self.core, &self.transaction.interrupt);
        let ended = std::mem::replace(&mut self.transaction.store, next);
        if let Some(position) = ended.commit().map_err(exec::store_error)? {
            self.transaction.committed = Some(position);
        }
        Ok(())
    }

    /// Commits what is open, if anything.
    ///
    /// # Errors
    /// The store has stopped; another session's global read lock stays too long (1205) or the wait is killed (1317), and
    /// then the transaction stays open.
    pub(crate) fn commit_transaction(&mut self) -> Outcome {
        if self.transaction.store.has_changes() {
            self.enter_commit()?;
        }
        self.transaction.open = false;
        self.process.transaction.set_began(0);
        self.transaction.savepoints.clear();
        let committed = self.commit_store();
        self.transaction.metadata.release_all();
        self.drop_temporary_trees();
        committed
    }

    /// Takes back what is open, if anything.
    ///
    /// # Errors
    /// The store has stopped.
    pub(crate) fn rollback_transaction(&mut self) -> Outcome {
        let rolled_back = self.transaction.rollback(&self.core, &self.process.transaction);
        self.drop_temporary_trees();
        rolled_back
    }

    /// Drops the trees of temporary tables that the session has dropped. Its transaction, which may have changed them, has ended or
    /// not begun.
    pub(super) fn drop_temporary_trees(&mut self) {
        if self.temporary.has_dropped_trees() {
            let dropped = self.temporary.drop_trees(&self.core.definitions);
            super::warn_of_trees_left(&self.core, &self.control, dropped);
        }
    }

    /// Answers OK once everything this session committed is durable.
    pub(crate) fn wait_for_commit(&mut self, reply: &mut Reply<'_>) {
        if let Some(position) = self.transaction.committed.take() {
            reply.wait_for(position.0);
        }
    }

    /// Account management: commits what is open before it runs.
    pub(crate) fn implicit_commit_then(
        &mut self,
        reply: &mut Reply<'_>,
        run: impl FnOnce(&mut Self, &mut Reply<'_>) -> Outcome,
    ) -> Outcome {
        self.require_account_tables()?;
        if self.transaction.open {
            self.commit_transaction()?;
        }
        self.wait_for_commit(reply);
        self.enter_change(false)?;
        self.with_backup_lock(|session| run(session, reply))
    }

    pub(super) fn start_transaction(
        &mut self,
        consistent_snapshot: bool,
        read_only: Option<bool>,
        reply: &mut Reply<'_>,
    ) -> Outcome {
        self.count(StatementKind::Begin);
        if self.transaction.open {
            self.commit_transaction()?;
        }
        self.wait_for_commit(reply);
        self.unlock_for_transaction();
        self.open_transaction(read_only);
        if consistent_snapshot && self.transaction.isolation >= Isolation::RepeatableRead {
            self.transaction.view.refresh();
            let note = &self.process.transaction;
            note.write(
                self.transaction.isolation,
                self.transaction.read_only,
                self.variables.settings().foreign_key_checks,
            );
            note.set_began(self.process.activity().1);
        }
        self.send_ok(reply)
    }

    /// Counts the end of a transaction that a client asks for, if it has read or written anything.
    fn count_end(&self, kind: StatusKind) {
        if self.process.transaction.read().began_micros != 0 {
            self.process.counts.status.add(kind, 1);
        }
    }

    pub(super) fn commit(&mut self, completion: Completion, reply: &mut Reply<'_>) -> Outcome {
        self.count(StatementKind::Commit);
        self.count_end(StatusKind::Commit);
        self.finish_with(completion, reply, Self::commit_transaction)
    }

    /// CREATE TEMPORARY TABLE or DROP TEMPORARY TABLE has run, which a rollback of the open transaction leaves as it is.
    pub(super) fn note_temporary_definition(&mut self, created: bool) {
        let state = &mut self.transaction;
        state.created_temporary |= state.open && created;
        state.dropped_temporary |= state.open && !created;
    }

    /// Warns of what a rollback leaves as it is.
    fn warn_of_temporary_tables(&mut self) {
        let TransactionState { open, created_temporary, dropped_temporary, .. } = self.transaction;
        let created = ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_CREATED_TEMP_TABLE;
        let dropped = ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_DROPPED_TEMP_TABLE;
        for (applies, code) in [(created_temporary, created), (dropped_temporary, dropped)] {
            if open && applies {
                self.diagnostics.push(code.warning(&[]), self.variables.settings().diagnostics);
            }
        }
    }

    pub(super) fn rollback(&mut self, completion: Completion, reply: &mut Reply<'_>) -> Outcome {
        self.count(StatementKind::Rollback);
        self.count_end(StatusKind::Rollback);
        self.warn_of_temporary_tables();
        self.finish_with(completion, reply, Self::rollback_transaction)
    }

    fn finish_with(
        &mut self,
        completion: Completion,
        reply: &mut Reply<'_>,
        finish: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        let (isolation, read_only) = (self.transaction.isolation, self.transaction.read_only);
        let was_open = self.transaction.open;
        finish(self)?;
        self.wait_for_commit(reply);
        if completion.chain == Some(true) {
            self.open_transaction(None);
            if was_open {
                self.transaction.isolation = isolation;
                self.transaction.read_only = read_only;
            }
        }
        if completion.release == Some(true) {
            self.control.kill(service::Kill::Connection);
        }
        self.send_ok(reply)
    }

    pub(super) fn savepoint(&mut self, name: &str, reply: &mut Reply<'_>) -> Outcome {
        self.count(StatementKind::Savepoint);
        if !self.transaction.open && !self.variables.settings().autocommit {
            self.open_transaction(None);
        }
        // With autocommit and no transaction a savepoint ends with its own statement.
        if self.transaction.open {
            self.process.counts.status.add(StatusKind::Savepoint, 1);
            let savepoint = self.transaction.store.savepoint();
            let savepoints = &mut self.transaction.savepoints;
            savepoints.retain(|(candidate, ..)| !candidate.eq_ignore_ascii_case(name));
            savepoints.push((name.to_owned(), savepoint, self.transaction.metadata.len()));
        }
        self.send_ok(reply)
    }

    fn find_savepoint(&self, name: &str) -> Result<usize, Box<SqlError>> {
        self.transaction
            .savepoints
            .iter()
            .position(|(candidate, ..)| candidate.eq_ignore_ascii_case(name))
            .ok_or_else(|| ER_SP_DOES_NOT_EXIST.with(&[&"SAVEPOINT", &name]))
    }

    pub(super) fn rollback_to(&mut self, name: &str, reply: &mut Reply<'_>) -> Outcome {
        self.count(StatementKind::RollbackToSavepoint);
        let at = self.find_savepoint(name)?;
        self.warn_of_temporary_tables();
        self.transaction.savepoints.truncate(at + 1);
        self.process.counts.status.add(StatusKind::SavepointRollback, 1);
        let (_, savepoint, metadata_mark) = &self.transaction.savepoints[at];
        self.transaction.store.rollback_to(savepoint).map_err(exec::store_error)?;
        // Who has locked rows keeps their tables as they are, wherever the rows are.
        if !self.transaction.has_begun() {
            self.transaction.metadata.release_to(*metadata_mark);
        }
        self.send_ok(reply)
    }

    pub(super) fn release_savepoint(&mut self, name: &str, reply: &mut Reply<'_>) -> Outcome {
        self.count(StatementKind::ReleaseSavepoint);
        let at = self.find_savepoint(name)?;
        self.transaction.savepoints.truncate(at);
        self.send_ok(reply)
    }
}
