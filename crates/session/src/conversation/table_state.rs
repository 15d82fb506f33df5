//! What a session has of the tables: its transaction, what it has locked, its temporary tables; and what ends together of them.
//!
//! Each of the three owns its state ([`super::transaction`], [`super::locks`], [`crate::temporary`]). What needs more than one of them is
//! here: a commit also drops the rows of temporary tables that are gone, a statement's metadata locks go into the transaction unless
//! LOCK TABLES has them.

use access::MetadataMode;
use catalog::{TableEntry, TableKind};
use exec::StatusKind;
use plan::PhysicalPlan;
use plan::physical::PlanTable;
use service::error::{ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_LOCK_DEADLOCK};
use service::{ConnectionControl, Outcome, Reply, SqlError};

use super::attempt::{Attempt, Stop};
use super::branch::wrong_state;
use super::current_account::CurrentAccount;
use super::locks::SessionLocks;
use super::session_variables::SessionVariables;
use super::shared::Shared;
use super::transaction::{Beginning, TransactionState};
use crate::backend::{Backend, SessionTransaction, TableLocks};
use crate::core::Core;
use crate::plans::CachedPlan;
use crate::temporary::TemporaryTables;
use crate::variables::definition::known;
use crate::variables::settings::Settings;

/// What a session has of the tables.
pub(super) struct TableState<B: Backend> {
    pub(super) transaction: TransactionState<B::Transaction>,
    /// LOCK TABLES, FLUSH TABLES WITH READ LOCK, LOCK INSTANCE FOR BACKUP.
    pub(super) locks: SessionLocks<B>,
    /// CREATE TEMPORARY TABLE.
    pub(super) temporary: TemporaryTables,
}

impl<B: Backend> TableState<B> {
    /// Nothing is open, locked or created.
    pub(super) fn new(work: B::Transaction) -> Self {
        Self {
            transaction: TransactionState::new(work),
            locks: SessionLocks::default(),
            temporary: TemporaryTables::default(),
        }
    }

    /// Readies the transaction for a statement that reads or writes tables. `may_requeue`: it is requeued if it must not wait.
    ///
    /// # Errors
    /// The backend's.
    #[inline]
    pub(super) fn begin_statement(
        &mut self,
        shared: &Shared<B>,
        settings: &Settings,
        may_requeue: bool,
    ) -> Outcome {
        let (control, process) = (&*shared.control, &*shared.process);
        self.transaction.begin_statement(Beginning { settings, control, process, may_requeue })
    }

    /// Ends a statement that went well: an autocommit statement commits.
    ///
    /// # Errors
    /// The backend has stopped.
    pub(super) fn end_statement(&mut self, shared: &Shared<B>) -> Outcome {
        shared.process.counts.status.add(StatusKind::Commit, 1);
        self.transaction.end_statement()
    }

    /// Ends a statement that failed: rolls back what it did, and the whole transaction where MySQL does.
    ///
    /// # Errors
    /// The backend has stopped.
    pub(super) fn fail_statement(
        &mut self,
        shared: &Shared<B>,
        before: &<B::Transaction as SessionTransaction>::Savepoint,
        error: &SqlError,
    ) -> Outcome {
        shared.process.counts.status.add(StatusKind::Rollback, 1);
        if self.transaction.fail_statement(before, error)? { Ok(()) } else { self.roll_back(shared) }
    }

    /// Refuses a writing statement in a read-only transaction.
    ///
    /// # Errors
    /// 1792.
    pub(super) fn require_writable(&self, shared: &Shared<B>, account: &CurrentAccount) -> Outcome {
        if self.transaction.is_read_only() || shared.core.is_read_only(account) {
            return Err(ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.bare());
        }
        Ok(())
    }

    /// Refuses a statement that has committed what was open, and defines or locks for writing, where the session's transactions are read-only.
    /// What SET TRANSACTION said of the next one is over by that commit.
    ///
    /// # Errors
    /// 1792.
    pub(super) fn require_writable_definitions(
        &mut self,
        shared: &Shared<B>,
        variables: &SessionVariables,
        account: &CurrentAccount,
    ) -> Outcome {
        self.transaction.ready_access_mode(variables.settings());
        self.require_writable(shared, account)
    }

    /// As [`TableState::require_writable_definitions`], of the session alone.
    ///
    /// # Errors
    /// 1792.
    pub(super) fn require_write_access(&mut self, variables: &SessionVariables) -> Outcome {
        self.transaction.ready_access_mode(variables.settings());
        if self.transaction.is_read_only() {
            return Err(ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.bare());
        }
        Ok(())
    }

    /// Refuses to lock other sessions' rows FOR UPDATE in a read-only transaction.
    ///
    /// # Errors
    /// 1792.
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
    /// then the transaction stays open; 1399 if it is a branch.
    #[inline]
    pub(super) fn commit(&mut self, shared: &Shared<B>, variables: &SessionVariables) -> Outcome {
        self.require_no_branch()?;
        self.commit_open(shared, variables)
    }

    /// Refuses what ends the transaction, or needs it to have ended, while it is a branch: that is its coordinator's decision.
    ///
    /// # Errors
    /// 1399.
    #[inline]
    pub(super) fn require_no_branch(&self) -> Outcome {
        match self.transaction.branch() {
            None => Ok(()),
            branch => Err(wrong_state(branch)),
        }
    }

    /// As [`TableState::commit`], of a branch too.
    ///
    /// # Errors
    /// As [`TableState::commit`], but for 1399.
    #[inline]
    pub(super) fn commit_open(&mut self, shared: &Shared<B>, variables: &SessionVariables) -> Outcome {
        self.enter_commit(shared, variables)?;
        let committed = self.transaction.commit(&shared.process.transaction);
        self.drop_temporary_rows(shared);
        committed
    }

    /// Waits, if the transaction has changed anything, while another session holds the global read lock.
    ///
    /// # Errors
    /// 1205, 1317.
    #[inline]
    pub(super) fn enter_commit(&self, shared: &Shared<B>, variables: &SessionVariables) -> Outcome {
        // What is open when the session itself takes the global read lock is committed before.
        if self.transaction.has_changes() && !self.locks.has_read_lock() {
            self.enter_change(shared, variables, false)?;
        }
        Ok(())
    }

    /// Rolls back what is open, if anything.
    ///
    /// # Errors
    /// The store has stopped.
    pub(super) fn roll_back(&mut self, shared: &Shared<B>) -> Outcome {
        let rolled_back = self.transaction.rollback(&shared.process.transaction);
        self.transaction.keep_rolled_back_branch();
        self.drop_temporary_rows(shared);
        rolled_back
    }

    /// Drops the trees of temporary tables that the session has dropped. Its transaction, which may have changed them, has ended or
    /// not begun.
    #[inline]
    pub(super) fn drop_temporary_rows(&mut self, shared: &Shared<B>) {
        if self.temporary.has_dropped() {
            drop_rows_of(&mut self.temporary, &*shared.backend, &shared.core, &shared.control);
        }
    }

    /// Answers once everything this session committed is durable.
    #[inline]
    pub(super) fn wait_for_commit(&mut self, reply: &mut Reply<'_>) {
        if let Some(position) = self.transaction.take_committed() {
            reply.wait_for(position);
        }
    }

    /// Says that the running statement changes rows or definitions, or commits; waits while another session holds the
    /// global read lock. Ends with the statement.
    ///
    /// # Errors
    /// 1223 if this session holds it, 1205, 1317.
    #[inline(never)]
    pub(super) fn enter_change(
        &self,
        shared: &Shared<B>,
        variables: &SessionVariables,
        may_requeue: bool,
    ) -> Outcome {
        let (changing, is_open) = (&shared.process.changing, self.transaction.is_open());
        shared.with_lock_wait(variables, may_requeue, |lock_wait| {
            self.locks.enter_change(&shared.core, changing, is_open, lock_wait)
        })
    }

    /// Refuses a plan with tables that the session's branch does not take now.
    ///
    /// # Errors
    /// 1399, 1614, 4091.
    #[inline]
    pub(super) fn require_branch_takes(&mut self, plan: &PhysicalPlan) -> Outcome {
        match self.transaction.branch_mut() {
            Some(branch) if !plan.tables.is_empty() => {
                branch.require_tables(|| plan.tables.iter().any(PlanTable::is_temporary))
            }
            _ => Ok(()),
        }
    }

    /// Takes the metadata locks of a plan's tables for the rest of the transaction; under LOCK TABLES, looks whether they
    /// are among those locked. What the statement took goes back if it fails.
    ///
    /// # Errors
    /// 1205 after `lock_wait_timeout`; 1213 when others wait for the transaction, which is rolled back then; 1317; 1099, 1100.
    /// [`Stop::Replan`] if a table is not what it was when the plan was made.
    pub(super) fn lock_plan(
        &mut self,
        shared: &Shared<B>,
        variables: &SessionVariables,
        plan: &PhysicalPlan,
    ) -> Attempt<()> {
        if let Err(refused) = self.require_branch_takes(plan) {
            self.transaction.forget_statement()?;
            return Err(refused.into());
        }
        let mark = self.transaction.table_mark();
        let may_requeue = self.transaction.may_requeue();
        let follows_references =
            plan.foreign_keys.is_some() && variables.boolean(known::foreign_key_checks());
        let locked = shared.with_lock_wait(variables, may_requeue, |lock_wait| {
            self.locks.lock_plan(plan, follows_references, &shared.core, &mut self.transaction, lock_wait)
        });
        if let Err(stop) = &locked {
            self.transaction.release_tables_to(mark);
            let is_deadlock =
                matches!(&**stop, Stop::Failed(error) if error.number == ER_LOCK_DEADLOCK.number);
            self.forget_unlocked(shared, is_deadlock)?;
        }
        locked
    }

    /// Ends a statement that did not get its metadata locks; a deadlock rolls the transaction back.
    fn forget_unlocked(&mut self, shared: &Shared<B>, is_deadlock: bool) -> Outcome {
        let forgotten = self.transaction.forget_statement();
        if is_deadlock {
            self.roll_back(shared)?;
        }
        forgotten
    }

    /// Takes the metadata lock of a table that a statement uses by its triggers, for the rest of the transaction.
    ///
    /// # Errors
    /// As [`TableState::lock_plan`].
    pub(super) fn lock_below(
        &mut self,
        shared: &Shared<B>,
        variables: &SessionVariables,
        entry: &TableEntry,
        mode: MetadataMode,
    ) -> Outcome {
        if self.locks.kept().holds(entry) {
            return Ok(());
        }
        let locked = shared.with_lock_wait(variables, false, |lock_wait| {
            self.transaction.lock_table(entry, mode, lock_wait)
        });
        if let Err(error) = &locked {
            self.forget_unlocked(shared, error.number == ER_LOCK_DEADLOCK.number)?;
        }
        locked
    }

    /// Takes the metadata lock of one table for the rest of the transaction; under LOCK TABLES, looks whether it is locked.
    ///
    /// # Errors
    /// As [`TableState::lock_plan`], but for a changed table, which the caller looks for.
    pub(super) fn lock_entry(
        &mut self,
        shared: &Shared<B>,
        variables: &SessionVariables,
        entry: &TableEntry,
        mode: MetadataMode,
    ) -> Outcome {
        if let Some(branch) = self.transaction.branch_mut() {
            branch.require_tables(|| entry.definition.kind == TableKind::Temporary)?;
        }
        if self.locks.has_tables() {
            let definition = &entry.definition;
            return self.require_locked(&definition.schema, &definition.name, mode != MetadataMode::Read);
        }
        let locked = shared.with_lock_wait(variables, false, |lock_wait| {
            self.transaction.lock_table(entry, mode, lock_wait)
        });
        if let Err(error) = &locked
            && error.number == ER_LOCK_DEADLOCK.number
        {
            self.roll_back(shared)?;
        }
        locked
    }

    /// Under LOCK TABLES: refuses a statement that defines or maintains a table that is not locked for writing.
    ///
    /// # Errors
    /// 1099, 1100.
    pub(super) fn require_locked(&self, schema: &str, name: &str, write: bool) -> Outcome {
        if self.temporary.get(schema, name).is_some() {
            return Ok(());
        }
        self.locks.require_table(schema, name, write)
    }

    /// Releases what LOCK TABLES took.
    pub(super) fn release_locked(&mut self, shared: &Shared<B>) {
        self.locks.release_tables(&shared.core, &shared.process.changing);
    }
}

/// Drops the rows of temporary tables that the session has dropped.
#[cold]
pub(super) fn drop_rows_of<B: Backend>(
    temporary: &mut TemporaryTables,
    backend: &B,
    core: &Core,
    control: &ConnectionControl,
) {
    if let Err(error) = backend.drop_temporary(&temporary.take_dropped()) {
        // That is no failure of who dropped the tables.
        let (connection, why) = (control.connection_id, &error.message);
        let text = format!("The space of connection {connection}'s temporary tables is freed later: {why}");
        crate::error_log::warning(&core.env, &text);
    }
}
