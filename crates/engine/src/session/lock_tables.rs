//! LOCK TABLES, UNLOCK TABLES, FLUSH TABLES ... WITH READ LOCK, LOCK INSTANCE FOR BACKUP.
//!
//! LOCK TABLES takes the metadata locks of all its tables together, for reading only or alone, and until UNLOCK TABLES the
//! session may use these tables and no others, each reference by a lock of its own (MySQL's rule: a statement that names a
//! table twice needs two locks, one by an alias). Statements inside take no metadata locks: the session has them.
//!
//! What ends it: UNLOCK TABLES (commits first), another LOCK TABLES, START TRANSACTION, COM_RESET_CONNECTION, the end of the
//! connection. COMMIT and ROLLBACK do not. The global read lock outlives START TRANSACTION, as dump tools rely on.
//!
//! Invariants:
//! 1. `locks` is empty unless `active`; every table in `tables` that is no temporary or system table has its lock in `locks`.
//! 2. While any session has locks, [`Core::table_locks`] is above 0: reads that take no metadata lock look at it.
//!
//! [`Core::table_locks`]: crate::core::Core::table_locks

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use access::{MetadataMode, MetadataWait};
use catalog::{TableEntry, TableKind};
use plan::PhysicalPlan;
use plan::logical::TableIndex;
use service::error::{
    ER_CANT_UPDATE_WITH_READLOCK, ER_LOCK_DEADLOCK, ER_LOCK_OR_ACTIVE_TRANSACTION, ER_NO_SUCH_TABLE,
    ER_NONUNIQ_TABLE, ER_TABLE_NOT_LOCKED, ER_TABLE_NOT_LOCKED_FOR_WRITE,
};
use service::{Outcome, Reply, SqlError};
use syntax::ast::{LockTable, ObjectName, Statement, TableLock};

use super::LocalSession;
use super::attempt::{Attempt, Stop};
use super::names::name_text;
use super::transaction::TransactionState;
use crate::backend::{SessionTransaction, TableLocks};
use crate::core::Core;
use crate::local::LocalTableLocks;
use crate::metadata::lock_error;
use crate::status::StatementKind;
use crate::variables::definition::known;

/// The metadata lock of a table.
type MetadataLock = <LocalTableLocks as TableLocks>::Lock;

/// A table as LOCK TABLES named it.
#[derive(Debug)]
struct LockedTable {
    schema: String,
    name: String,
    /// By which statements must call it: its alias, or its name.
    alias: String,
    write: bool,
}

/// What a session has locked explicitly.
#[derive(Debug, Default)]
pub(crate) struct SessionLocks {
    /// LOCK TABLES was said.
    active: bool,
    tables: Vec<LockedTable>,
    locks: LocalTableLocks,
    /// FLUSH TABLES WITH READ LOCK.
    read_lock: bool,
    /// LOCK INSTANCE FOR BACKUP.
    backup: bool,
}

impl SessionLocks {
    /// Whether it holds any from one statement to the next.
    pub(super) fn any_held(&self) -> bool {
        self.active || self.read_lock
    }

    /// The metadata locks of LOCK TABLES.
    pub(super) fn kept(&self) -> &LocalTableLocks {
        &self.locks
    }

    /// Finds the lock of a table by any alias, the strongest first.
    fn find(&self, schema: &str, name: &str) -> Option<&LockedTable> {
        let mut found = self.tables.iter().filter(|table| table.schema == schema && table.name == name);
        let first = found.next()?;
        if first.write { Some(first) } else { found.find(|table| table.write).or(Some(first)) }
    }

    /// Under LOCK TABLES: refuses to touch a table that is not locked, or not for writing. Temporary tables are no concern of it.
    ///
    /// # Errors
    /// 1099, 1100.
    pub(super) fn require_table(&self, schema: &str, name: &str, write: bool) -> Outcome {
        if !self.active {
            return Ok(());
        }
        match self.find(schema, name) {
            None => Err(not_locked(name)),
            Some(locked) if write && !locked.write => Err(not_for_write(name)),
            Some(_) => Ok(()),
        }
    }

    /// Takes a table out that is gone.
    fn forget(&mut self, schema: &str, name: &str) {
        self.tables.retain(|table| table.schema != schema || table.name != name);
    }

    /// Takes the metadata locks of a plan's tables for `transaction`; under LOCK TABLES, looks whether they are among those locked.
    ///
    /// # Errors
    /// As [`LocalSession::lock_metadata`]; what was taken before stays.
    fn lock_plan(
        &self,
        plan: &PhysicalPlan,
        follows_references: bool,
        core: &Core,
        transaction: &mut TransactionState<impl SessionTransaction>,
        lock_wait: MetadataWait<'_>,
    ) -> Attempt<()> {
        let writes = |index: usize| {
            matches!(plan.tables[index].lock, Some((true, _))) || plan.needs.changes(TableIndex(index as u32))
        };
        if self.active {
            self.require_plan(plan, writes)?;
        } else {
            for (index, table) in plan.tables.iter().enumerate() {
                let mode = if writes(index) { MetadataMode::Write } else { MetadataMode::Read };
                transaction.lock_table(&table.entry, mode, lock_wait)?;
            }
        }
        if follows_references {
            self.lock_related(plan, transaction, lock_wait)?;
        }
        if self.active || core.catalog().version() == plan.catalog_version || is_as_planned(plan, core) {
            Ok(())
        } else {
            Stop::replan()
        }
    }

    /// Takes the metadata locks of the tables that foreign keys lead the statement to.
    fn lock_related(
        &self,
        plan: &PhysicalPlan,
        transaction: &mut TransactionState<impl SessionTransaction>,
        lock_wait: MetadataWait<'_>,
    ) -> Outcome {
        for node in plan.foreign_keys.iter().flat_map(|graph| &graph.nodes) {
            if self.locks.holds(&node.table) {
                continue;
            }
            let mode = if node.written { MetadataMode::Write } else { MetadataMode::Read };
            transaction.lock_table(&node.table, mode, lock_wait)?;
        }
        Ok(())
    }

    /// Every reference to a table must find a lock of its own that has its alias.
    #[cold]
    fn require_plan(&self, plan: &PhysicalPlan, writes: impl Fn(usize) -> bool) -> Outcome {
        let mut used = vec![false; self.tables.len()];
        for (index, reference) in plan.tables.iter().enumerate() {
            let table = &reference.entry.definition;
            if table.kind != TableKind::Base {
                continue;
            }
            let found = self.tables.iter().enumerate().position(|(at, locked)| {
                !used[at]
                    && locked.alias == *reference.alias
                    && locked.name == *table.name
                    && locked.schema == *table.schema
            });
            let Some(at) = found else { return Err(not_locked(&reference.alias)) };
            if writes(index) && !self.tables[at].write {
                return Err(not_for_write(&reference.alias));
            }
            used[at] = true;
        }
        Ok(())
    }

    fn release_tables(&mut self, core: &Core, changing: &crate::processes::Changing) {
        if self.active {
            self.active = false;
            self.tables.clear();
            self.locks.release_all();
            core.table_locks.fetch_sub(1, Ordering::SeqCst);
            core.read_lock.leave(&changing.locked_tables);
        }
    }

    /// Releases everything: the connection ends, or goes on as after a login.
    pub(crate) fn release_all(&mut self, core: &Core, changing: &crate::processes::Changing) {
        self.release_tables(core, changing);
        core.read_lock.leave(&changing.statement);
        if std::mem::take(&mut self.read_lock) {
            core.read_lock.release();
        }
        if std::mem::take(&mut self.backup) {
            core.backup_lock.release();
        }
    }
}

fn alias_of<'a>(table: &LockTable<'a>) -> &'a [u8] {
    table.alias.map_or(table.name.name.text, |alias| alias.text)
}

fn not_locked(name: &str) -> Box<SqlError> {
    ER_TABLE_NOT_LOCKED.with(&[&name])
}

fn not_for_write(name: &str) -> Box<SqlError> {
    ER_TABLE_NOT_LOCKED_FOR_WRITE.with(&[&name])
}

/// Whether the tables of a plan whose locks are held are still what they were when it was made. Another version of the catalog may differ in
/// other tables alone.
fn is_as_planned(plan: &PhysicalPlan, core: &Core) -> bool {
    let catalog = core.catalog().peek();
    let changes = plan.kind.changed_tables().next().is_some();
    if changes && !Arc::ptr_eq(catalog.references(), &plan.references) {
        return false;
    }
    plan.tables.iter().filter(|table| LocalTableLocks::lock_of(&table.entry).is_some()).all(|table| {
        let definition = &table.entry.definition;
        let now = catalog.table(&definition.schema, &definition.name);
        now.is_some_and(|now| Arc::ptr_eq(&now.definition, definition))
    })
}

impl LocalSession {
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
        if self.locks.read_lock {
            return Err(ER_CANT_UPDATE_WITH_READLOCK.bare());
        }
        if self.process.changing.statement.load(Ordering::Relaxed) {
            return Ok(());
        }
        let polite = !self.transaction.is_open() && !self.locks.active;
        let changing = &self.process.changing.statement;
        self.with_lock_wait(may_requeue, |lock_wait| self.core.read_lock.enter(changing, polite, lock_wait))
            .map_err(lock_error)
    }

    /// As [`Self::enter_change`], for a commit: what is open when the session itself takes the lock is committed before.
    ///
    /// # Errors
    /// 1205, 1317.
    pub(crate) fn enter_commit(&mut self) -> Outcome {
        if self.locks.read_lock { Ok(()) } else { self.enter_change(false) }
    }

    /// The statement has ended.
    pub(crate) fn leave_change(&mut self) {
        if self.process.changing.statement.load(Ordering::Relaxed) {
            self.core.read_lock.leave(&self.process.changing.statement);
        }
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
    /// As [`LocalSession::lock_metadata`], but for a changed table, which the caller looks for.
    pub(super) fn lock_entry(&mut self, entry: &TableEntry, mode: MetadataMode) -> Outcome {
        if self.locks.active {
            return self.require_locked_table(
                &entry.definition.schema,
                &entry.definition.name,
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
        self.locks.read_lock
    }

    /// Under LOCK TABLES: refuses statements that change accounts, which are rows of tables nobody locked.
    ///
    /// # Errors
    /// 1100.
    pub(crate) fn require_account_tables(&self) -> Outcome {
        if self.locks.active { Err(not_locked("user")) } else { Ok(()) }
    }

    /// Under LOCK TABLES: what a definition may touch.
    ///
    /// # Errors
    /// 1099, 1100, 1192.
    pub(crate) fn require_locked_definition(&self, statement: &Statement<'_>) -> Outcome {
        if !self.locks.active {
            return Ok(());
        }
        let locked = |name: &ObjectName<'_>| {
            let (schema, table) = self.names().table(name)?;
            self.require_locked_table(&schema, &table, true)
        };
        match statement {
            Statement::CreateDatabase(_) | Statement::AlterDatabase(_) | Statement::DropDatabase { .. } => {
                Err(ER_LOCK_OR_ACTIVE_TRANSACTION.bare())
            }
            Statement::CreateTable(create) if create.temporary => Ok(()),
            Statement::CreateTable(create) => {
                let (schema, table) = self.names().table(&create.name)?;
                self.require_locked_table(&schema, &table, false)
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
    pub(crate) fn follow_definition(&mut self, statement: &Statement<'_>) -> Outcome {
        if !self.locks.active {
            return Ok(());
        }
        let mut renamed: Vec<((String, String), (String, String))> = Vec::new();
        match statement {
            Statement::DropTable(drop) if !drop.temporary => {
                for name in drop.names {
                    let (schema, table) = self.names().table(name)?;
                    self.locks.forget(&schema, &table);
                }
            }
            Statement::RenameTable(pairs) => {
                for (from, to) in *pairs {
                    renamed.push((self.names().table(from)?, self.names().table(to)?));
                }
            }
            Statement::AlterTable(alter) => {
                for action in alter.actions {
                    if let syntax::ast::AlterAction::RenameTable(to) = action {
                        renamed.push((self.names().table(&alter.table)?, self.names().table(to)?));
                    }
                }
            }
            _ => {}
        }
        for ((schema, name), to) in renamed {
            for table in &mut self.locks.tables {
                if table.schema == schema && table.name == name {
                    if table.alias == table.name {
                        table.alias.clone_from(&to.1);
                    }
                    (table.schema, table.name) = to.clone();
                }
            }
        }
        if self.locks.tables.is_empty() {
            self.release_locked_tables();
        }
        Ok(())
    }

    fn release_locked_tables(&mut self) {
        self.locks.release_tables(&self.core, &self.process.changing);
    }

    /// LOCK TABLES.
    pub(super) fn lock_tables(&mut self, wanted: &[LockTable<'_>], reply: &mut Reply<'_>) -> Outcome {
        self.count(StatementKind::LockTables);
        for (index, table) in wanted.iter().enumerate() {
            if wanted[..index].iter().any(|before| alias_of(before) == alias_of(table)) {
                return Err(ER_NONUNIQ_TABLE.with(&[&name_text(alias_of(table))]));
            }
        }
        let tables = wanted.iter().map(|table| {
            let write = table.mode == TableLock::Write;
            (table.name, table.alias.map(|alias| name_text(alias.text)), write)
        });
        self.lock_named(tables.collect(), reply)
    }

    fn lock_named(
        &mut self,
        wanted: Vec<(ObjectName<'_>, Option<String>, bool)>,
        reply: &mut Reply<'_>,
    ) -> Outcome {
        let mut tables = Vec::with_capacity(wanted.len());
        for (name, alias, write) in wanted {
            let (schema, name) = self.names().table(&name)?;
            let alias = alias.unwrap_or_else(|| name.clone());
            tables.push(LockedTable { schema, name, alias, write });
        }
        // What was locked before and what is open ends here, whether or not the new tables can be had.
        self.commit_transaction()?;
        self.wait_for_commit(reply);
        // What the commit said of this session is over: others may wait for what it is going to wait for.
        self.leave_change();
        self.release_locked_tables();
        let writes = tables.iter().any(|table| table.write);
        if writes && self.locks.read_lock {
            return Err(ER_CANT_UPDATE_WITH_READLOCK.bare());
        }
        self.core.table_locks.fetch_add(1, Ordering::SeqCst);
        self.locks.active = true;
        let locked = self.take_tables(&tables, writes);
        if locked.is_err() {
            self.release_locked_tables();
            return locked;
        }
        self.locks.tables = tables;
        self.send_ok(reply)
    }

    /// Takes the metadata locks of `tables` as their definitions are now.
    fn take_tables(&mut self, tables: &[LockedTable], writes: bool) -> Outcome {
        let control = Arc::clone(&self.control);
        let killed = || control.is_killed();
        let lock_wait =
            MetadataWait { time: self.variables.lock_wait(), killed: &killed, may_requeue: false };
        // FLUSH TABLES WITH READ LOCK waits for locked tables too; those locked for reading need not wait for it.
        let changing = &self.process.changing.locked_tables;
        if writes {
            self.core.read_lock.enter(changing, true, lock_wait).map_err(lock_error)?;
        } else {
            changing.store(true, Ordering::SeqCst);
        }
        loop {
            let wanted = self.wanted_locks(tables)?;
            if self.locks.read_lock {
                // Who keeps the table may wait for this session's read lock.
                let at_once = MetadataWait::up_to(Duration::ZERO);
                let locked = self.locks.locks.lock_together(&wanted, at_once);
                locked.map_err(|_| ER_LOCK_DEADLOCK.bare())?;
            } else {
                self.locks.locks.lock_together(&wanted, lock_wait)?;
            }
            // While we waited a name may have come to mean another table.
            let now = self.wanted_locks(tables)?;
            let same = wanted.len() == now.len()
                && wanted.iter().zip(&now).all(|((before, _), (after, _))| before == after);
            if same {
                return Ok(());
            }
            self.locks.locks.release_all();
        }
    }

    /// The locks of `tables`, each once, in the strongest mode asked for.
    fn wanted_locks(
        &self,
        tables: &[LockedTable],
    ) -> Result<Vec<(MetadataLock, MetadataMode)>, Box<SqlError>> {
        let catalog = self.catalog();
        let mut wanted: Vec<(MetadataLock, MetadataMode)> = Vec::with_capacity(tables.len());
        for table in tables {
            let Some(entry) = catalog.table(&table.schema, &table.name) else {
                if plan::bind::is_too_long(&table.name) {
                    return Err(service::error::ER_TOO_LONG_IDENT.with(&[&table.name]));
                }
                return Err(ER_NO_SUCH_TABLE.with(&[&table.schema, &table.name]));
            };
            let Some(lock) = LocalTableLocks::lock_of(entry) else { continue };
            let mode = if table.write { MetadataMode::Exclusive } else { MetadataMode::ReadOnly };
            match wanted.iter_mut().find(|(known, _)| *known == lock) {
                Some((_, known)) if mode == MetadataMode::Exclusive => *known = mode,
                Some(_) => {}
                None => wanted.push((lock, mode)),
            }
        }
        Ok(wanted)
    }

    /// UNLOCK TABLES: releases what LOCK TABLES and FLUSH TABLES WITH READ LOCK took.
    pub(super) fn unlock_tables(&mut self, reply: &mut Reply<'_>) -> Outcome {
        self.count(StatementKind::UnlockTables);
        if self.locks.active {
            self.commit_transaction()?;
            self.wait_for_commit(reply);
            self.release_locked_tables();
        }
        if std::mem::take(&mut self.locks.read_lock) {
            self.core.read_lock.release();
        }
        self.send_ok(reply)
    }

    /// START TRANSACTION ends LOCK TABLES. The caller has committed what was open.
    pub(super) fn unlock_for_transaction(&mut self) {
        self.release_locked_tables();
    }

    /// FLUSH TABLES [names] [WITH READ LOCK].
    pub(super) fn flush_tables(
        &mut self,
        names: &[ObjectName<'_>],
        read_lock: bool,
        reply: &mut Reply<'_>,
    ) -> Outcome {
        if read_lock && self.locks.active {
            return Err(ER_LOCK_OR_ACTIVE_TRANSACTION.bare());
        }
        match (names, read_lock) {
            ([], true) => self.flush_with_read_lock(reply),
            (names, true) => self.lock_named(names.iter().map(|name| (*name, None, false)).collect(), reply),
            // Nothing is cached that a flush would close. Under LOCK TABLES only what is locked for writing is flushed.
            (names, false) => {
                if self.locks.active
                    && names.is_empty()
                    && let Some(table) = self.locks.tables.iter().find(|table| !table.write)
                {
                    return Err(not_for_write(&table.name));
                }
                for name in names {
                    let (schema, table) = self.names().table(name)?;
                    self.require_locked_table(&schema, &table, true)?;
                }
                self.commit_transaction()?;
                self.wait_for_commit(reply);
                self.send_ok(reply)
            }
        }
    }

    fn flush_with_read_lock(&mut self, reply: &mut Reply<'_>) -> Outcome {
        self.commit_transaction()?;
        self.wait_for_commit(reply);
        self.leave_change();
        if !self.locks.read_lock {
            let id = self.control.connection_id;
            self.with_lock_wait(false, |lock_wait| {
                self.core.read_lock.acquire(&self.core.processes, id, lock_wait)
            })
            .map_err(lock_error)?;
            self.locks.read_lock = true;
        }
        self.send_ok(reply)
    }

    /// LOCK INSTANCE FOR BACKUP: no definition changes until UNLOCK INSTANCE.
    pub(super) fn lock_instance(&mut self, reply: &mut Reply<'_>) -> Outcome {
        if !self.locks.backup {
            self.with_lock_wait(false, |lock_wait| self.core.backup_lock.hold(lock_wait))?;
            self.locks.backup = true;
        }
        self.send_ok(reply)
    }

    /// UNLOCK INSTANCE.
    pub(super) fn unlock_instance(&mut self, reply: &mut Reply<'_>) -> Outcome {
        if std::mem::take(&mut self.locks.backup) {
            self.core.backup_lock.release();
        }
        self.send_ok(reply)
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
        if self.locks.backup {
            return run(self);
        }
        let core = Arc::clone(&self.core);
        let _under_way = self.with_lock_wait(false, |lock_wait| core.backup_lock.begin_change(lock_wait))?;
        run(self)
    }
}
