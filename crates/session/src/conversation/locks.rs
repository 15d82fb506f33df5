//! What a session keeps locked from one statement to the next: LOCK TABLES, FLUSH TABLES WITH READ LOCK, LOCK INSTANCE FOR BACKUP. The
//! statements themselves: [`super::lock_tables`].
//!
//! Invariants:
//! 1. `kept` is empty unless `active`; every table in `tables` that is no temporary or system table has its lock in `kept`.
//! 2. While any session has locks, [`Core::table_locks`] is above 0: reads that take no metadata lock look at it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use access::{MetadataMode, MetadataWait};
use catalog::{Catalog, TableKind};
use plan::PhysicalPlan;
use plan::logical::TableIndex;
use service::error::{
    ER_CANT_UPDATE_WITH_READLOCK, ER_LOCK_DEADLOCK, ER_NO_SUCH_TABLE, ER_TABLE_NOT_LOCKED,
    ER_TABLE_NOT_LOCKED_FOR_WRITE, ER_TOO_LONG_IDENT,
};
use service::{Outcome, SqlError};

use super::attempt::{Attempt, Stop};
use super::transaction::TransactionState;
use crate::backend::{Backend, Definitions, SessionTransaction, TableLocks};
use crate::core::Core;
use crate::processes::Changing;

/// The metadata locks that a session of a backend keeps.
type CachedExecution<B> = <B as Definitions>::Locks;
/// The metadata lock of a table.
type MetadataLock<B> = <CachedExecution<B> as TableLocks>::Lock;

/// A table as LOCK TABLES named it.
#[derive(Debug)]
pub(super) struct LockedTable {
    pub(super) schema: String,
    pub(super) name: String,
    /// By which statements must call it: its alias, or its name.
    pub(super) alias: String,
    pub(super) write: bool,
}

/// What a session has locked explicitly.
pub(crate) struct SessionLocks<B: Backend> {
    /// LOCK TABLES was said.
    active: bool,
    tables: Vec<LockedTable>,
    kept: CachedExecution<B>,
    /// FLUSH TABLES WITH READ LOCK.
    read_lock: bool,
    /// LOCK INSTANCE FOR BACKUP.
    backup: bool,
}

impl<B: Backend> Default for SessionLocks<B> {
    fn default() -> Self {
        Self {
            active: false,
            tables: Vec::new(),
            kept: CachedExecution::<B>::default(),
            read_lock: false,
            backup: false,
        }
    }
}

impl<B: Backend> SessionLocks<B> {
    /// Whether it holds any from one statement to the next.
    pub(super) fn any_held(&self) -> bool {
        self.active || self.read_lock
    }

    /// Whether LOCK TABLES was said.
    #[inline]
    pub(super) fn has_tables(&self) -> bool {
        self.active
    }

    /// Whether none of its tables is left.
    pub(super) fn is_without_tables(&self) -> bool {
        self.tables.is_empty()
    }

    /// Whether the session holds the global read lock.
    #[inline]
    pub(super) fn has_read_lock(&self) -> bool {
        self.read_lock
    }

    /// The metadata locks of LOCK TABLES.
    pub(super) fn kept(&self) -> &CachedExecution<B> {
        &self.kept
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

    /// Under LOCK TABLES: refuses a statement that uses a system table `name`, which nobody locks.
    ///
    /// # Errors
    /// 1100.
    pub(super) fn refuse_system_table(&self, name: &str) -> Outcome {
        if self.active { Err(not_locked(name)) } else { Ok(()) }
    }

    /// Under LOCK TABLES: refuses a statement that needs all its tables for writing.
    ///
    /// # Errors
    /// 1099.
    pub(super) fn require_all_for_write(&self) -> Outcome {
        match self.tables.iter().find(|table| !table.write) {
            Some(table) if self.active => Err(not_for_write(&table.name)),
            _ => Ok(()),
        }
    }

    /// Takes a table out that is gone.
    pub(super) fn forget(&mut self, schema: &str, name: &str) {
        self.tables.retain(|table| table.schema != schema || table.name != name);
    }

    /// Follows a table, given by schema and name, to its new name.
    pub(super) fn rename(&mut self, from: &(String, String), to: &(String, String)) {
        for table in &mut self.tables {
            if table.schema == from.0 && table.name == from.1 {
                if table.alias == table.name {
                    table.alias.clone_from(&to.1);
                }
                (table.schema, table.name) = to.clone();
            }
        }
    }

    /// Takes the metadata locks of a plan's tables for `transaction`; under LOCK TABLES, looks whether they are among those locked.
    ///
    /// # Errors
    /// As [`super::table_state::TableState::lock_plan`]; what was taken before stays.
    pub(super) fn lock_plan(
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
        if self.active || core.catalog().version() == plan.catalog_version || is_as_planned::<B>(plan, core) {
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
            if self.kept.holds(&node.table) {
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
            let of_view =
                |need: &&plan::logical::TableNeed| need.table.0 as usize == index && need.view.is_some();
            if !matches!(table.kind, TableKind::Base | TableKind::View)
                || plan.needs.reads_views && plan.needs.tables.iter().any(|need| of_view(&need))
            {
                // What a view reads is locked with it; a change goes to a table of a view that is locked for writing.
                let mut needs = plan.needs.tables.iter().filter(of_view);
                let view = needs.find_map(|need| need.view).map(|view| &plan.tables[view.0 as usize]);
                let is_for_write = |view: &plan::physical::PlanTable| {
                    let definition = &view.entry.definition;
                    self.tables.iter().any(|locked| {
                        locked.write && locked.name == *definition.name && locked.schema == *definition.schema
                    })
                };
                if writes(index) && view.is_some_and(|view| !is_for_write(view)) {
                    return Err(not_for_write(&table.name));
                }
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

    /// Says in `changing` that the running statement changes something; waits while others hold the global read lock.
    ///
    /// # Errors
    /// 1223 if this session holds it, 1205, 1317.
    #[inline]
    pub(super) fn enter_change(
        &self,
        core: &Core,
        changing: &Changing,
        is_in_transaction: bool,
        lock_wait: MetadataWait<'_>,
    ) -> Outcome {
        if self.read_lock {
            return Err(ER_CANT_UPDATE_WITH_READLOCK.bare());
        }
        if changing.statement.load(Ordering::Relaxed) {
            return Ok(());
        }
        let polite = !is_in_transaction && !self.active;
        core.read_lock.enter(&changing.statement, polite, lock_wait)
    }

    /// LOCK TABLES: takes the metadata locks of `tables`, as `catalog` has them, in place of what was released before.
    ///
    /// # Errors
    /// 1146, 1223, 1205, 1213, 1317; nothing is locked then.
    pub(super) fn lock_tables(
        &mut self,
        tables: Vec<LockedTable>,
        catalog: impl Fn() -> Arc<Catalog>,
        core: &Core,
        changing: &Changing,
        lock_wait: MetadataWait<'_>,
    ) -> Outcome {
        let writes = tables.iter().any(|table| table.write);
        if writes && self.read_lock {
            return Err(ER_CANT_UPDATE_WITH_READLOCK.bare());
        }
        core.table_locks.fetch_add(1, Ordering::SeqCst);
        self.active = true;
        let mut taking = Taking { locks: self, core, changing, is_done: false };
        taking.locks.take_tables(&tables, writes, &catalog, core, changing, lock_wait)?;
        taking.locks.tables = with_tables_of_views(tables, &catalog());
        taking.is_done = true;
        Ok(())
    }

    /// Takes the metadata locks of `tables` as their definitions are now.
    fn take_tables(
        &mut self,
        tables: &[LockedTable],
        writes: bool,
        catalog: &impl Fn() -> Arc<Catalog>,
        core: &Core,
        changing: &Changing,
        lock_wait: MetadataWait<'_>,
    ) -> Outcome {
        // FLUSH TABLES WITH READ LOCK waits for locked tables too; those locked for reading need not wait for it.
        if writes {
            core.read_lock.enter(&changing.locked_tables, true, lock_wait)?;
        } else {
            changing.locked_tables.store(true, Ordering::SeqCst);
        }
        loop {
            let wanted = wanted_locks::<B>(tables, &catalog())?;
            if self.read_lock {
                // Who keeps the table may wait for this session's read lock.
                let at_once = MetadataWait::up_to(Duration::ZERO);
                let locked = self.kept.lock_together(&wanted, at_once);
                locked.map_err(|_| ER_LOCK_DEADLOCK.bare())?;
            } else {
                self.kept.lock_together(&wanted, lock_wait)?;
            }
            // While we waited a name may have come to mean another table.
            let now = wanted_locks::<B>(tables, &catalog())?;
            let same = wanted.len() == now.len()
                && wanted.iter().zip(&now).all(|((before, _), (after, _))| before == after);
            if same {
                return Ok(());
            }
            self.kept.release_all();
        }
    }

    /// Releases what LOCK TABLES took.
    pub(super) fn release_tables(&mut self, core: &Core, changing: &Changing) {
        if self.active {
            self.active = false;
            self.tables.clear();
            self.kept.release_all();
            core.table_locks.fetch_sub(1, Ordering::SeqCst);
            core.read_lock.leave(&changing.locked_tables);
        }
    }

    /// FLUSH TABLES WITH READ LOCK, for the session of this connection.
    ///
    /// # Errors
    /// 1205, 1317.
    pub(super) fn hold_read_lock(
        &mut self,
        core: &Core,
        connection_id: u64,
        lock_wait: MetadataWait<'_>,
    ) -> Outcome {
        if !self.read_lock {
            core.read_lock.acquire(&core.processes, connection_id, lock_wait)?;
            self.read_lock = true;
        }
        Ok(())
    }

    /// Releases the global read lock, if the session holds it.
    pub(super) fn release_read_lock(&mut self, core: &Core) {
        if std::mem::take(&mut self.read_lock) {
            core.read_lock.release();
        }
    }

    /// LOCK INSTANCE FOR BACKUP.
    ///
    /// # Errors
    /// 1205, 1317.
    pub(super) fn hold_backup_lock(&mut self, backend: &B, lock_wait: MetadataWait<'_>) -> Outcome {
        if !self.backup {
            backend.hold_for_backup(lock_wait)?;
            self.backup = true;
        }
        Ok(())
    }

    /// UNLOCK INSTANCE.
    pub(super) fn release_backup_lock(&mut self, backend: &B) {
        if std::mem::take(&mut self.backup) {
            backend.release_backup();
        }
    }

    /// A change of definitions or accounts begins: waits while another session has locked the instance. None if this session has: it
    /// may go on itself.
    ///
    /// # Errors
    /// 1205, 1317.
    pub(super) fn begin_change<'c>(
        &self,
        backend: &'c B,
        lock_wait: MetadataWait<'_>,
    ) -> Result<Option<B::ChangeUnderWay<'c>>, Box<SqlError>> {
        if self.backup { Ok(None) } else { backend.begin_change(lock_wait).map(Some) }
    }

    /// Releases everything: the connection ends, or goes on as after a login.
    pub(super) fn release_all(&mut self, core: &Core, backend: &B, changing: &Changing) {
        self.release_tables(core, changing);
        core.read_lock.leave(&changing.statement);
        self.release_read_lock(core);
        self.release_backup_lock(backend);
    }
}

/// LOCK TABLES is under way: if it ends before it has all its tables, by an error or a panic, nothing stays locked.
struct Taking<'a, B: Backend> {
    locks: &'a mut SessionLocks<B>,
    core: &'a Core,
    changing: &'a Changing,
    is_done: bool,
}

impl<B: Backend> Drop for Taking<'_, B> {
    fn drop(&mut self) {
        if !self.is_done {
            self.locks.release_tables(self.core, self.changing);
        }
    }
}

fn not_locked(name: &str) -> Box<SqlError> {
    ER_TABLE_NOT_LOCKED.with(&[&name])
}

fn not_for_write(name: &str) -> Box<SqlError> {
    ER_TABLE_NOT_LOCKED_FOR_WRITE.with(&[&name])
}

/// Whether the tables of a plan whose locks are held are still what they were when it was made. Another version of the catalog may differ in
/// other tables alone.
fn is_as_planned<B: Backend>(plan: &PhysicalPlan, core: &Core) -> bool {
    let catalog = core.catalog().peek();
    let changes = plan.kind.changed_tables().next().is_some();
    if changes && !Arc::ptr_eq(catalog.references(), &plan.references) {
        return false;
    }
    plan.tables.iter().filter(|table| CachedExecution::<B>::lock_of(&table.entry).is_some()).all(|table| {
        let definition = &table.entry.definition;
        let now = catalog.table(&definition.schema, &definition.name);
        now.is_some_and(|now| Arc::ptr_eq(&now.definition, definition))
    })
}

/// The locks of `tables`, each once, in the strongest mode asked for.
///
/// # Errors
/// 1059, 1146.
fn wanted_locks<B: Backend>(
    tables: &[LockedTable],
    catalog: &Catalog,
) -> Result<Vec<(MetadataLock<B>, MetadataMode)>, Box<SqlError>> {
    let mut wanted: Vec<(MetadataLock<B>, MetadataMode)> = Vec::with_capacity(tables.len());
    for table in tables {
        let Some(entry) = catalog.table(&table.schema, &table.name) else {
            if plan::bind::is_too_long(&table.name) {
                return Err(ER_TOO_LONG_IDENT.with(&[&table.name]));
            }
            return Err(ER_NO_SUCH_TABLE.with(&[&table.schema, &table.name]));
        };
        let mode = if table.write { MetadataMode::Exclusive } else { MetadataMode::ReadOnly };
        want_lock::<B>(entry, mode, catalog, &mut wanted);
    }
    Ok(wanted)
}

/// Locked tables with those that locked views read, which are locked under their own names: for writing where rows can be changed through
/// the view.
fn with_tables_of_views(mut tables: Vec<LockedTable>, catalog: &Catalog) -> Vec<LockedTable> {
    let mut at = 0;
    while let Some(locked) = tables.get(at) {
        at += 1;
        let Some(entry) = catalog.table(&locked.schema, &locked.name) else { continue };
        let Some(view) = &entry.definition.view else { continue };
        let write = locked.write && view.updatable;
        for (schema, name) in &view.tables {
            let is_known = |other: &LockedTable| {
                other.schema == **schema
                    && other.name == **name
                    && other.alias == **name
                    && (other.write || !write)
            };
            if catalog.table(schema, name).is_some() && !tables.iter().any(is_known) {
                let name = name.to_string();
                tables.push(LockedTable { schema: schema.to_string(), alias: name.clone(), name, write });
            }
        }
    }
    tables
}

/// Adds the lock of a table; of a view also those of the tables and views that it reads, each once.
fn want_lock<B: Backend>(
    entry: &catalog::TableEntry,
    mode: MetadataMode,
    catalog: &Catalog,
    wanted: &mut Vec<(MetadataLock<B>, MetadataMode)>,
) {
    let mut waiting = vec![(entry, mode)];
    while let Some((entry, mode)) = waiting.pop() {
        let Some(lock) = CachedExecution::<B>::lock_of(entry) else { continue };
        match wanted.iter_mut().find(|(known, _)| *known == lock) {
            Some((_, known)) if mode == MetadataMode::Exclusive && *known != mode => *known = mode,
            Some(_) => continue,
            None => wanted.push((lock, mode)),
        }
        let tables = entry.definition.view.iter().flat_map(|view| &view.tables);
        waiting.extend(tables.filter_map(|(schema, name)| Some((&**catalog.table(schema, name)?, mode))));
    }
}
