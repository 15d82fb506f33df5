//! Transactions as clients speak of them: START TRANSACTION, COMMIT, ROLLBACK, SAVEPOINT, and the implicit commits and rollbacks of other
//! statements.

use exec::StatusKind;
use service::error::{
    ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_CREATED_TEMP_TABLE,
    ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_DROPPED_TEMP_TABLE,
};
use service::{Outcome, Reply, SqlError};
use syntax::ast::Completion;

use super::Session;
use super::lifetime::drop_rows_of;
use super::transaction::Beginning;
use crate::backend::{Backend, SessionTransaction};
use crate::plans::CachedPlan;
use crate::status::StatementKind;

impl<B: Backend> Session<B> {
    /// Readies the transaction for a statement that reads or writes tables. `may_requeue`: it is requeued if it must not wait.
    #[inline]
    pub(super) fn begin_table_statement(&mut self, may_requeue: bool) {
        let (settings, control, process) = (self.variables.settings(), &*self.control, &*self.process);
        self.transaction.begin_statement(Beginning { settings, control, process, may_requeue });
    }

    /// Ends a statement that went well: an autocommit statement commits.
    pub(super) fn end_table_statement(&mut self) -> Outcome {
        self.process.counts.status.add(StatusKind::Commit, 1);
        self.transaction.end_statement()
    }

    /// Ends a statement that failed: rolls back what it did, and the whole transaction where MySQL does.
    pub(super) fn fail_table_statement(
        &mut self,
        before: &<B::Transaction as SessionTransaction>::Savepoint,
        error: &SqlError,
    ) -> Outcome {
        self.process.counts.status.add(StatusKind::Rollback, 1);
        if self.transaction.fail_statement(before, error)? { Ok(()) } else { self.rollback_transaction() }
    }

    /// Outside a transaction, what the session says of the next one counts for a definition too.
    pub(super) fn ready_access_mode(&mut self) {
        self.transaction.ready_access_mode(self.variables.settings());
    }

    /// Refuses a writing statement in a read-only transaction.
    pub(super) fn require_writable(&self) -> Outcome {
        if self.transaction.is_read_only() || self.core.is_read_only(&self.account) {
            return Err(ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.bare());
        }
        Ok(())
    }

    /// Refuses to lock other sessions' rows FOR UPDATE in a read-only transaction.
    pub(super) fn require_no_row_locks(&self, plan: &CachedPlan<B>) -> Outcome {
        if self.transaction.is_read_only() && plan.locks_shared_rows() {
            return Err(ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.bare());
        }
        Ok(())
    }

    /// Commits what is open, if anything.
    ///
    /// # Errors
    /// The store has stopped; another session's global read lock stays too long (1205) or the wait is killed (1317), and
    /// then the transaction stays open.
    #[inline]
    pub(super) fn commit_transaction(&mut self) -> Outcome {
        if self.transaction.has_changes() {
            self.enter_commit()?;
        }
        let committed = self.transaction.commit(&self.process.transaction);
        self.drop_temporary_rows();
        committed
    }

    /// Rolls back what is open, if anything.
    ///
    /// # Errors
    /// The store has stopped.
    pub(super) fn rollback_transaction(&mut self) -> Outcome {
        let rolled_back = self.transaction.rollback(&self.process.transaction);
        self.drop_temporary_rows();
        rolled_back
    }

    /// Drops the trees of temporary tables that the session has dropped. Its transaction, which may have changed them, has ended or
    /// not begun.
    #[inline]
    pub(super) fn drop_temporary_rows(&mut self) {
        if self.temporary.has_dropped() {
            drop_rows_of(&mut self.temporary, &*self.backend, &self.core, &self.control);
        }
    }

    /// Answers once everything this session committed is durable.
    #[inline]
    pub(super) fn wait_for_commit(&mut self, reply: &mut Reply<'_>) {
        if let Some(position) = self.transaction.take_committed() {
            reply.wait_for(position);
        }
    }

    /// Account management: commits what is open before it runs.
    pub(super) fn implicit_commit_then(
        &mut self,
        reply: &mut Reply<'_>,
        run: impl FnOnce(&mut Self, &mut Reply<'_>) -> Outcome,
    ) -> Outcome {
        self.require_account_tables()?;
        if self.in_transaction() {
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
        if self.in_transaction() {
            self.commit_transaction()?;
        }
        self.wait_for_commit(reply);
        self.unlock_for_transaction();
        let settings = self.variables.settings();
        self.transaction.open(settings, read_only);
        if consistent_snapshot {
            self.transaction.take_consistent_snapshot(settings, &self.process);
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

    /// Warns of what a rollback leaves as it is.
    fn warn_of_temporary_tables(&mut self) {
        let (created, dropped) = self.transaction.temporary_definitions();
        for (applies, code) in [
            (created, ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_CREATED_TEMP_TABLE),
            (dropped, ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_DROPPED_TEMP_TABLE),
        ] {
            if applies {
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
        let before = self.transaction.characteristics();
        finish(self)?;
        self.wait_for_commit(reply);
        if completion.chain == Some(true) {
            self.transaction.open_chained(self.variables.settings(), before);
        }
        if completion.release == Some(true) {
            self.control.kill(service::Kill::Connection);
        }
        self.send_ok(reply)
    }

    pub(super) fn savepoint(&mut self, name: &str, reply: &mut Reply<'_>) -> Outcome {
        self.count(StatementKind::Savepoint);
        let settings = self.variables.settings();
        if !self.transaction.is_open() && !settings.autocommit {
            self.transaction.open(settings, None);
        }
        // With autocommit and no transaction a savepoint ends with its own statement.
        if self.transaction.is_open() {
            self.process.counts.status.add(StatusKind::Savepoint, 1);
            self.transaction.add_named_savepoint(name);
        }
        self.send_ok(reply)
    }

    pub(super) fn rollback_to(&mut self, name: &str, reply: &mut Reply<'_>) -> Outcome {
        self.count(StatementKind::RollbackToSavepoint);
        let at = self.transaction.find_named_savepoint(name)?;
        self.warn_of_temporary_tables();
        self.process.counts.status.add(StatusKind::SavepointRollback, 1);
        self.transaction.roll_back_to_named_savepoint(at)?;
        self.send_ok(reply)
    }

    pub(super) fn release_savepoint(&mut self, name: &str, reply: &mut Reply<'_>) -> Outcome {
        self.count(StatementKind::ReleaseSavepoint);
        let at = self.transaction.find_named_savepoint(name)?;
        self.transaction.release_named_savepoint(at);
        self.send_ok(reply)
    }
}
