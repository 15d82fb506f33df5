//! LOCK TABLES, UNLOCK TABLES, FLUSH TABLES ... WITH READ LOCK, LOCK INSTANCE FOR BACKUP.
//!
//! LOCK TABLES takes the metadata locks of all its tables together, for reading only or alone, and until UNLOCK TABLES the
//! session may use these tables and no others, each reference by a lock of its own (MySQL's rule: a statement that names a
//! table twice needs two locks, one by an alias). Statements inside take no metadata locks: the session has them.
//!
//! What ends it: UNLOCK TABLES (commits first), another LOCK TABLES, START TRANSACTION, COM_RESET_CONNECTION, the end of the
//! connection. COMMIT and ROLLBACK do not. The global read lock outlives START TRANSACTION, as dump tools rely on.
//!
//! What a session keeps of them, and the locks of the statements inside: [`super::locks`].

use std::sync::Arc;
use std::sync::atomic::Ordering;

use access::{MetadataMode, MetadataWait};
use catalog::TableEntry;
use plan::PhysicalPlan;
use service::error::{ER_LOCK_DEADLOCK, ER_LOCK_OR_ACTIVE_TRANSACTION, ER_NONUNIQ_TABLE};
use service::{Outcome, Reply, SqlError};
use syntax::ast::{LockTable, ObjectName, Statement, TableLock};

use super::Session;
use super::attempt::{Attempt, Stop};
use super::locks::LockedTable;
use super::names::{Names, name_text};
use crate::backend::Backend;
use crate::core::Core;
use crate::processes::ProcessEntry;
use crate::status::StatementKind;
use crate::variables::definition::known;

fn alias_of<'a>(table: &LockTable<'a>) -> &'a [u8] {
    table.alias.map_or(table.name.name.text, |alias| alias.text)
}

/// The statement has ended: it changes nothing any longer.
#[inline]
pub(super) fn leave_change(core: &Core, process: &ProcessEntry) {
    if process.changing.statement.load(Ordering::Relaxed) {
        core.read_lock.leave(&process.changing.statement);
    }
}

impl<B: Backend> Session<B> {
    /// How long this session waits for metadata locks: `lock_wait_timeout`, or until it is killed.
    fn with_lock_wait<R>(&self, may_requeue: bool, run: impl FnOnce(MetadataWait<'_>) -> R) -> R {
        let control = &self.control;
        run(MetadataWait { time: self.variables.lock_wait(), killed: &|| control.is_killed(), may_requeue })
    }

    /// Says that the running statement changes rows or definitions, or commits; waits while another session holds the
    /// global read lock. Ends with the statement.
    ///
    /// # Errors
    /// 1223 if this session holds it, 1205, 1317.
    pub(crate) fn enter_change(&mut self, may_requeue: bool) -> Outcome {
        let (changing, is_open) = (&self.process.changing, self.transaction.is_open());
        self.with_lock_wait(may_requeue, |lock_wait| {
            self.locks.enter_change(&self.core, changing, is_open, lock_wait)
        })
    }

    /// As [`Self::enter_change`], for a commit: what is open when the session itself takes the lock is committed before.
    ///
    /// # Errors
    /// 1205, 1317.
    pub(crate) fn enter_commit(&mut self) -> Outcome {
        if self.locks.has_read_lock() { Ok(()) } else { self.enter_change(false) }
    }

    /// The statement has ended.
    pub(crate) fn leave_change(&mut self) {
        leave_change(&self.core, &self.process);
    }

    /// Whether a read may do without metadata locks. To be asked after the read's snapshot is taken: then no change that was
    /// made under a lock is in the snapshot unless this says so.
    pub(crate) fn reads_unlocked(&self) -> bool {
        self.core.table_locks.load(Ordering::SeqCst) == 0
    }

    /// Takes the metadata locks of a plan's tables for the rest of the transaction; under LOCK TABLES, looks whether they
    /// are among those locked. What the statement took goes back if it fails.
    ///
    /// # Errors
    /// 1205 after `lock_wait_timeout`; 1213 when others wait for the transaction, which is rolled back then; 1317; 1099, 1100. [`Stop::Replan`] if a table
    /// is not what it was when the plan was made.
    pub(crate) fn lock_metadata(&mut self, plan: &PhysicalPlan) -> Attempt<()> {
        let mark = self.transaction.table_mark();
        let control = &self.control;
        let killed = || control.is_killed();
        let may_requeue = self.transaction.may_requeue();
        let lock_wait = MetadataWait { time: self.variables.lock_wait(), killed: &killed, may_requeue };
        let follows_references =
            plan.foreign_keys.is_some() && self.variables.boolean(known::foreign_key_checks());
        let locked =
            self.locks.lock_plan(plan, follows_references, &self.core, &mut self.transaction, lock_wait);
        if let Err(stop) = &locked {
            self.transaction.release_tables_to(mark);
            self.transaction.forget_statement();
            if matches!(&**stop, Stop::Failed(error) if error.number == ER_LOCK_DEADLOCK.number) {
                self.rollback_transaction()?;
            }
        }
        locked
    }

    /// Takes the metadata lock of one table for the rest of the transaction; under LOCK TABLES, looks whether it is locked.
    ///
    /// # Errors
    /// As [`Session::lock_metadata`], but for a changed table, which the caller looks for.
    pub(super) fn lock_entry(&mut self, entry: &TableEntry, mode: MetadataMode) -> Outcome {
        if self.locks.has_tables() {
            let definition = &entry.definition;
            return self.require_locked_table(
                &definition.schema,
                &definition.name,
                mode != MetadataMode::Read,
            );
        }
        let control = &self.control;
        let killed = || control.is_killed();
        let lock_wait =
            MetadataWait { time: self.variables.lock_wait(), killed: &killed, may_requeue: false };
        let locked = self.transaction.lock_table(entry, mode, lock_wait);
        if let Err(error) = &locked
            && error.number == ER_LOCK_DEADLOCK.number
        {
            self.rollback_transaction()?;
        }
        locked
    }

    /// Under LOCK TABLES: refuses a statement that defines or maintains a table that is not locked for writing.
    ///
    /// # Errors
    /// 1099, 1100.
    pub(super) fn require_locked_table(&self, schema: &str, name: &str, write: bool) -> Outcome {
        if self.temporary.get(schema, name).is_some() {
            return Ok(());
        }
        self.locks.require_table(schema, name, write)
    }

    /// Whether this session holds the global read lock.
    pub(crate) fn holds_read_lock(&self) -> bool {
        self.locks.has_read_lock()
    }

    /// Under LOCK TABLES: refuses statements that change accounts, which are rows of tables nobody locked.
    ///
    /// # Errors
    /// 1100.
    pub(crate) fn require_account_tables(&self) -> Outcome {
        self.locks.refuse_system_table("user")
    }

    /// START TRANSACTION ends LOCK TABLES. The caller has committed what was open.
    pub(super) fn unlock_for_transaction(&mut self) {
        release_locked_tables(self);
    }

    /// Runs a statement that changes definitions or accounts; waits while another session has locked the instance. The
    /// session that has may go on itself.
    ///
    /// # Errors
    /// 1205, 1317, and `run`'s.
    pub(crate) fn with_backup_lock<R, E: From<Box<SqlError>>>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<R, E>,
    ) -> Result<R, E> {
        let backend = Arc::clone(&self.backend);
        let _under_way =
            self.with_lock_wait(false, |lock_wait| self.locks.begin_change(&backend, lock_wait))?;
        run(self)
    }
}

/// Under LOCK TABLES: what a definition may touch.
///
/// # Errors
/// 1099, 1100, 1192.
pub(crate) fn require_locked_definition<B: Backend>(
    session: &Session<B>,
    statement: &Statement<'_>,
) -> Outcome {
    if !session.locks.has_tables() {
        return Ok(());
    }
    let locked = |name: &ObjectName<'_>| {
        let (schema, table) = session.names().table(name)?;
        session.require_locked_table(&schema, &table, true)
    };
    match statement {
        Statement::CreateDatabase(_) | Statement::AlterDatabase(_) | Statement::DropDatabase { .. } => {
            Err(ER_LOCK_OR_ACTIVE_TRANSACTION.bare())
        }
        Statement::CreateTable(create) if create.temporary => Ok(()),
        Statement::CreateTable(create) => {
            let (schema, table) = session.names().table(&create.name)?;
            session.require_locked_table(&schema, &table, false)
        }
        Statement::AlterTable(alter) => locked(&alter.table),
        Statement::DropTable(drop) if drop.temporary => Ok(()),
        Statement::DropTable(drop) => drop.names.iter().try_for_each(locked),
        Statement::Truncate(name) => locked(name),
        Statement::RenameTable(pairs) => pairs.iter().try_for_each(|(from, _)| locked(from)),
        Statement::CreateIndex(create) => locked(&create.table),
        Statement::DropIndex(drop) => locked(&drop.table),
        _ => Ok(()),
    }
}

/// Under LOCK TABLES: follows the names of what a definition dropped or renamed.
pub(crate) fn follow_definition<B: Backend>(session: &mut Session<B>, statement: &Statement<'_>) -> Outcome {
    if !session.locks.has_tables() {
        return Ok(());
    }
    let mut renamed: Vec<((String, String), (String, String))> = Vec::new();
    match statement {
        Statement::DropTable(drop) if !drop.temporary => {
            for name in drop.names {
                let (schema, table) = session.names().table(name)?;
                session.locks.forget(&schema, &table);
            }
        }
        Statement::RenameTable(pairs) => {
            for (from, to) in *pairs {
                renamed.push((session.names().table(from)?, session.names().table(to)?));
            }
        }
        Statement::AlterTable(alter) => {
            for action in alter.actions {
                if let syntax::ast::AlterAction::RenameTable(to) = action {
                    renamed.push((session.names().table(&alter.table)?, session.names().table(to)?));
                }
            }
        }
        _ => {}
    }
    for (from, to) in &renamed {
        session.locks.rename(from, to);
    }
    if session.locks.is_without_tables() {
        release_locked_tables(session);
    }
    Ok(())
}

fn release_locked_tables<B: Backend>(session: &mut Session<B>) {
    session.locks.release_tables(&session.core, &session.process.changing);
}

/// LOCK TABLES.
pub(super) fn lock_tables<B: Backend>(
    session: &mut Session<B>,
    wanted: &[LockTable<'_>],
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::LockTables);
    for (index, table) in wanted.iter().enumerate() {
        if wanted[..index].iter().any(|before| alias_of(before) == alias_of(table)) {
            return Err(ER_NONUNIQ_TABLE.with(&[&name_text(alias_of(table))]));
        }
    }
    let tables = wanted.iter().map(|table| {
        let write = table.mode == TableLock::Write;
        (table.name, table.alias.map(|alias| name_text(alias.text)), write)
    });
    lock_named(session, tables.collect(), reply)
}

fn lock_named<B: Backend>(
    session: &mut Session<B>,
    wanted: Vec<(ObjectName<'_>, Option<String>, bool)>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let mut tables = Vec::with_capacity(wanted.len());
    for (name, alias, write) in wanted {
        let (schema, name) = session.names().table(&name)?;
        let alias = alias.unwrap_or_else(|| name.clone());
        tables.push(LockedTable { schema, name, alias, write });
    }
    // What was locked before and what is open ends here, whether or not the new tables can be had.
    session.commit_transaction()?;
    session.wait_for_commit(reply);
    // What the commit said of this session is over: others may wait for what it is going to wait for.
    session.leave_change();
    release_locked_tables(session);
    let control = &session.control;
    let killed = || control.is_killed();
    let lock_wait = MetadataWait { time: session.variables.lock_wait(), killed: &killed, may_requeue: false };
    let names =
        Names { core: &session.core, database: session.database.as_ref(), temporary: &session.temporary };
    let changing = &session.process.changing;
    session.locks.lock_tables(tables, || names.catalog(), &session.core, changing, lock_wait)?;
    session.send_ok(reply)
}

/// UNLOCK TABLES: releases what LOCK TABLES and FLUSH TABLES WITH READ LOCK took.
pub(super) fn unlock_tables<B: Backend>(session: &mut Session<B>, reply: &mut Reply<'_>) -> Outcome {
    session.count(StatementKind::UnlockTables);
    if session.locks.has_tables() {
        session.commit_transaction()?;
        session.wait_for_commit(reply);
        release_locked_tables(session);
    }
    session.locks.release_read_lock(&session.core);
    session.send_ok(reply)
}

/// `FLUSH TABLES [names] [WITH READ LOCK]`.
pub(super) fn flush_tables<B: Backend>(
    session: &mut Session<B>,
    names: &[ObjectName<'_>],
    read_lock: bool,
    reply: &mut Reply<'_>,
) -> Outcome {
    if read_lock && session.locks.has_tables() {
        return Err(ER_LOCK_OR_ACTIVE_TRANSACTION.bare());
    }
    match (names, read_lock) {
        ([], true) => flush_with_read_lock(session, reply),
        (names, true) => lock_named(session, names.iter().map(|name| (*name, None, false)).collect(), reply),
        // Nothing is cached that a flush would close. Under LOCK TABLES only what is locked for writing is flushed.
        (names, false) => {
            if names.is_empty() {
                session.locks.require_all_for_write()?;
            }
            for name in names {
                let (schema, table) = session.names().table(name)?;
                session.require_locked_table(&schema, &table, true)?;
            }
            session.commit_transaction()?;
            session.wait_for_commit(reply);
            session.send_ok(reply)
        }
    }
}

fn flush_with_read_lock<B: Backend>(session: &mut Session<B>, reply: &mut Reply<'_>) -> Outcome {
    session.commit_transaction()?;
    session.wait_for_commit(reply);
    session.leave_change();
    let control = &session.control;
    let killed = || control.is_killed();
    let lock_wait = MetadataWait { time: session.variables.lock_wait(), killed: &killed, may_requeue: false };
    session.locks.hold_read_lock(&session.core, control.connection_id, lock_wait)?;
    session.send_ok(reply)
}

/// LOCK INSTANCE FOR BACKUP: no definition changes until UNLOCK INSTANCE.
pub(super) fn lock_instance<B: Backend>(session: &mut Session<B>, reply: &mut Reply<'_>) -> Outcome {
    let control = &session.control;
    let killed = || control.is_killed();
    let lock_wait = MetadataWait { time: session.variables.lock_wait(), killed: &killed, may_requeue: false };
    session.locks.hold_backup_lock(&session.backend, lock_wait)?;
    session.send_ok(reply)
}

/// UNLOCK INSTANCE.
pub(super) fn unlock_instance<B: Backend>(session: &mut Session<B>, reply: &mut Reply<'_>) -> Outcome {
    session.locks.release_backup_lock(&session.backend);
    session.send_ok(reply)
}
