//! What foreign keys do when a row is inserted, changed or deleted.

use std::ops::ControlFlow;

use access::{Error, ForeignKeyViolation, KeyBytesRange, Updated, Utc};
use store::{LockMode, Locked, Transaction};
use types::Cell;
use types::vector::BytesColumn;

use super::CASCADE_DEPTH_MAX;
use super::link::{Action, Child, ForeignKeys, Parent, Target};
use crate::codec::row::{RowView, version_of};
use crate::error::{WriteError, from_store};
use crate::index::{EntryBytes, scan_range};
use crate::large::ReadFrom;
use crate::materialized::Materialized;
use crate::table::{Table, is_null};
use crate::write::WriteContext;

/// One change under way: the rows between the statement's own and the one being worked on, outermost first.
struct Cascade<'a> {
    transaction: &'a mut Transaction,
    context: WriteContext<'a>,
    above: Vec<(usize, Vec<u8>)>,
    key: Vec<u8>,
}

/// A row's columns as they are before the change.
struct OldRow<'a> {
    table: &'a Table,
    view: RowView<'a>,
    memory: &'a Materialized,
    context: WriteContext<'a>,
}

impl OldRow<'_> {
    fn cell(&self, ordinal: usize) -> Cell<'_> {
        self.memory.cell(self.table, &self.view, ordinal, self.context.zone)
    }

    fn any_null(&self, columns: &[usize]) -> bool {
        columns.iter().any(|&column| is_null(self.cell(column)))
    }
}

impl ForeignKeys {
    /// Checks that the row about to be inserted into `node` has its parents: a cell per column of the table. `key` is memory
    /// that may be used from row to row.
    ///
    /// # Errors
    /// `ForeignKey`; locks; the store's.
    pub(crate) fn check_insert(
        &self,
        node: usize,
        transaction: &mut Transaction,
        cells: &[Cell<'_>],
        context: WriteContext<'_>,
        key: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        for parent in &self.nodes[node].parents {
            require_parent(parent, transaction, |column| cells[column], true, context, key)?;
        }
        Ok(())
    }

    /// Checks a row that is in the table already, as this transaction sees it, while nobody else can use the tables: nothing
    /// is locked.
    ///
    /// # Errors
    /// `ForeignKey`; the store's.
    pub fn check_existing(
        &self,
        node: usize,
        transaction: &Transaction,
        cells: &[Cell<'_>],
        key: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        for parent in &self.nodes[node].parents {
            if parent.columns.iter().any(|&column| is_null(cells[column])) {
                continue;
            }
            let Some(target) = &parent.target else { return Err(parent.violated()) };
            let values = parent.columns.iter().map(|&column| cells[column]);
            if !target.write_key(values, &Utc, key) || !exists(target, transaction, key)? {
                return Err(parent.violated());
            }
        }
        Ok(())
    }

    /// [`Table::update`] with what foreign keys say to it.
    ///
    /// # Errors
    /// `ForeignKey`, and as [`Table::update`]; nothing has changed then.
    pub fn update(
        &self,
        node: usize,
        transaction: &mut Transaction,
        locator: &[u8],
        changes: &[(usize, Cell<'_>)],
        context: WriteContext<'_>,
    ) -> Result<Updated, WriteError> {
        if !self.concerns(node, changes) {
            return self.nodes[node].table.update(transaction, locator, changes, context);
        }
        self.undone_on_error(transaction, context, |this, cascade| {
            this.update_row(node, cascade, locator, changes, None)
        })
    }

    /// [`Table::delete`] with what foreign keys say to it.
    ///
    /// # Errors
    /// `ForeignKey`, and as [`Table::delete`]; nothing has changed then.
    pub fn delete(
        &self,
        node: usize,
        transaction: &mut Transaction,
        locator: &[u8],
        context: WriteContext<'_>,
    ) -> Result<bool, WriteError> {
        if self.nodes[node].children.is_empty() {
            return self.nodes[node].table.delete(transaction, locator, context);
        }
        self.undone_on_error(transaction, context, |this, cascade| {
            this.delete_row(node, cascade, locator, None)
        })
    }

    /// As [`ForeignKeys::delete`] of a row whose place this new one takes: children of a key that both have stay.
    ///
    /// # Errors
    /// As [`ForeignKeys::delete`].
    pub(crate) fn delete_replaced(
        &self,
        node: usize,
        transaction: &mut Transaction,
        locator: &[u8],
        new: &[Cell<'_>],
        context: WriteContext<'_>,
    ) -> Result<bool, WriteError> {
        self.undone_on_error(transaction, context, |this, cascade| {
            this.delete_row(node, cascade, locator, Some(new))
        })
    }

    fn concerns(&self, node: usize, changes: &[(usize, Cell<'_>)]) -> bool {
        let node = &self.nodes[node];
        let touches = |columns: &[usize]| changes.iter().any(|change| columns.contains(&change.0));
        node.parents.iter().any(|parent| touches(&parent.columns))
            || node.children.iter().any(|child| touches(&child.columns))
    }

    fn undone_on_error<'a, R>(
        &self,
        transaction: &'a mut Transaction,
        context: WriteContext<'a>,
        change: impl FnOnce(&Self, &mut Cascade<'a>) -> Result<R, WriteError>,
    ) -> Result<R, WriteError> {
        let savepoint = transaction.savepoint();
        let mut cascade = Cascade { transaction, context, above: Vec::new(), key: Vec::new() };
        let result = change(self, &mut cascade);
        if result.is_err() {
            cascade.transaction.rollback_to(&savepoint)?;
        }
        result
    }

    /// Calls `look` with the row as it is now; `None` if there is none. `wanted`: the columns that will be asked for.
    fn with_row<R>(
        &self,
        node: usize,
        cascade: &mut Cascade<'_>,
        locator: &[u8],
        look: impl FnOnce(&Self, &mut Cascade<'_>, &OldRow<'_>) -> Result<R, WriteError>,
    ) -> Result<Option<R>, WriteError> {
        let node = &self.nodes[node];
        let table = &*node.table;
        let Some(stored) = cascade.transaction.get_current(&table.rows, locator, <[u8]>::to_vec)? else {
            return Ok(None);
        };
        let body = table.whole_body(ReadFrom::Current(cascade.transaction), stored)?;
        let view = RowView::new(table.layout(version_of(&body)), locator, locator, &body);
        let wanted = |ordinal: usize| {
            node.children.iter().any(|child| child.columns.contains(&ordinal))
                || node.parents.iter().any(|parent| parent.columns.contains(&ordinal))
        };
        let memory = Materialized::read(table, &view, ReadFrom::Current(cascade.transaction), wanted)?;
        let old = OldRow { table, view, memory: &memory, context: cascade.context };
        look(self, cascade, &old).map(Some)
    }

    /// Changes a row. `through`: the foreign key that made a cascade come here, whose parent is on its way.
    fn update_row(
        &self,
        node: usize,
        cascade: &mut Cascade<'_>,
        locator: &[u8],
        changes: &[(usize, Cell<'_>)],
        through: Option<usize>,
    ) -> Result<Updated, WriteError> {
        let this = &self.nodes[node];
        if self.concerns(node, changes) {
            let found = self.with_row(node, cascade, locator, |keys, cascade, old| {
                let new = |column: usize| {
                    let change = changes.iter().rev().find(|change| change.0 == column);
                    change.map_or_else(|| old.cell(column), |change| change.1)
                };
                let differs =
                    |columns: &[usize]| columns.iter().any(|&column| new(column) != old.cell(column));
                let concerned = |child: &&Child| differs(&child.columns) && !old.any_null(&child.columns);
                lock_entries(this.children.iter().filter(concerned), &this.table, cascade, old, locator)?;
                for child in this.children.iter().filter(concerned) {
                    if child.on_update == Action::Restrict {
                        forbid_children(child, cascade, old)?;
                    }
                }
                for child in this.children.iter().filter(concerned) {
                    let value = |number: usize| match child.on_update {
                        Action::SetNull => Cell::Null,
                        _ => new(child.columns[number]),
                    };
                    if child.on_update != Action::Restrict {
                        keys.update_children(child, cascade, old, (node, locator), value)?;
                    }
                }
                for parent in &this.parents {
                    if through != Some(parent.key()) && differs(&parent.columns) {
                        let Cascade { transaction, context, key, .. } = cascade;
                        require_parent(parent, transaction, new, false, *context, key)?;
                    }
                }
                Ok(())
            })?;
            if found.is_none() {
                return Ok(Updated::Absent);
            }
        }
        this.table.update(cascade.transaction, locator, changes, cascade.context)
    }

    fn delete_row(
        &self,
        node: usize,
        cascade: &mut Cascade<'_>,
        locator: &[u8],
        replaced_by: Option<&[Cell<'_>]>,
    ) -> Result<bool, WriteError> {
        let this = &self.nodes[node];
        if !this.children.is_empty() {
            let found = self.with_row(node, cascade, locator, |keys, cascade, old| {
                let concerned = |child: &&Child| {
                    let stays = |new: &[Cell<'_>]| {
                        child.columns.iter().all(|&column| new[column] == old.cell(column))
                    };
                    !old.any_null(&child.columns) && !replaced_by.is_some_and(stays)
                };
                lock_entries(this.children.iter().filter(concerned), &this.table, cascade, old, locator)?;
                for child in this.children.iter().filter(concerned) {
                    if child.on_delete == Action::Restrict {
                        forbid_children(child, cascade, old)?;
                    }
                }
                for child in this.children.iter().filter(concerned) {
                    match child.on_delete {
                        Action::Restrict => {}
                        Action::Cascade => {
                            keys.each_child(
                                child,
                                cascade,
                                old,
                                (node, locator),
                                |keys, cascade, locator| {
                                    keys.delete_row(child.node, cascade, locator, None).map(|_| ())
                                },
                            )?;
                        }
                        Action::SetNull => {
                            keys.update_children(child, cascade, old, (node, locator), |_| Cell::Null)?;
                        }
                    }
                }
                Ok(())
            })?;
            if found.is_none() {
                return Ok(false);
            }
        }
        this.table.delete(cascade.transaction, locator, cascade.context)
    }

    /// Gives the children of a row other values: `value(number)` for each column of the key.
    fn update_children<'v>(
        &self,
        child: &Child,
        cascade: &mut Cascade<'_>,
        old: &OldRow<'_>,
        row: (usize, &[u8]),
        value: impl Fn(usize) -> Cell<'v>,
    ) -> Result<(), WriteError> {
        let numbers = 0..child.child_columns.len();
        let changes: Vec<(usize, Cell<'v>)> =
            numbers.clone().map(|number| (child.child_columns[number], value(number))).collect();
        let fits = numbers.zip(&changes).all(|(number, change)| child.can_hold(number, change.1));
        self.each_child(child, cascade, old, row, |keys, cascade, locator| {
            if !fits {
                return Err(child.violated());
            }
            let through = Some(child.reference.key);
            match keys.update_row(child.node, cascade, locator, &changes, through) {
                Err(WriteError::Access(Error::DuplicateKey(duplicate))) => {
                    let table = child.target.table.definition();
                    Err(Error::from(ForeignKeyViolation::DuplicateInChild {
                        parent: child.reference.definition().parent_table.to_string(),
                        key: table.indexes[duplicate.index].name.to_string(),
                        child: table.name.to_string(),
                        record: duplicate.value,
                    })
                    .into())
                }
                result => result.map(|_| ()),
            }
        })
    }

    /// Does something to each child of a row, one level deeper. The children are locked.
    fn each_child(
        &self,
        child: &Child,
        cascade: &mut Cascade<'_>,
        old: &OldRow<'_>,
        (node, locator): (usize, &[u8]),
        mut each: impl FnMut(&Self, &mut Cascade<'_>, &[u8]) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let children = lock_children(child, cascade, old)?;
        if children.is_empty() {
            return Ok(());
        }
        cascade.above.push((node, locator.to_vec()));
        for locator in children.iter() {
            if cascade.above.iter().any(|above| above.0 == child.node && *above.1 == *locator) {
                continue;
            }
            if cascade.above.len() >= CASCADE_DEPTH_MAX {
                return Err(
                    Error::from(ForeignKeyViolation::TooDeep { levels_max: CASCADE_DEPTH_MAX }).into()
                );
            }
            each(self, cascade, locator)?;
        }
        cascade.above.pop();
        Ok(())
    }
}

/// Checks that a row has the parent it names, and keeps it there. `inserted`: the row may be its own parent.
fn require_parent<'c>(
    parent: &Parent,
    transaction: &mut Transaction,
    cell: impl Fn(usize) -> Cell<'c>,
    inserted: bool,
    context: WriteContext<'_>,
    key: &mut Vec<u8>,
) -> Result<(), WriteError> {
    if parent.columns.iter().any(|&column| is_null(cell(column))) {
        return Ok(());
    }
    let Some(target) = &parent.target else { return Err(parent.violated()) };
    let values = parent.columns.iter().map(|&column| cell(column));
    if !target.write_key(values, context.zone, key) {
        return Err(parent.violated());
    }
    if let Some(own) = parent.own_columns.as_ref().filter(|_| inserted) {
        let mut itself = Vec::with_capacity(key.len());
        let codec = target.table.key_codec(target.index);
        for (number, &column) in own.iter().enumerate() {
            codec.write_part(number, cell(column), context.zone, &mut itself);
        }
        if itself == *key {
            return Ok(());
        }
    }
    if is_there(target, transaction, key, context)? { Ok(()) } else { Err(parent.violated()) }
}

/// Whether a live row has this key, locked shared if so.
fn is_there(
    target: &Target,
    transaction: &mut Transaction,
    key: &[u8],
    context: WriteContext<'_>,
) -> Result<bool, WriteError> {
    let tree = &target.table.indexes[target.index].tree;
    let failed = from_store;
    if target.exact {
        let locked = transaction.lock_current(tree, key, LockMode::Shared, context.wait, |_| ());
        return Ok(matches!(locked.map_err(failed)?, Locked::Row(())));
    }
    let range = KeyBytesRange::prefix(key.to_vec());
    let mut scan = transaction.lock_scan(tree, &scan_range(&range, false), LockMode::Shared, context.wait);
    Ok(scan.next(transaction).map_err(failed)?.is_some())
}

/// Whether a live row has this key, without locking it.
fn exists(target: &Target, transaction: &Transaction, key: &[u8]) -> Result<bool, WriteError> {
    let tree = &target.table.indexes[target.index].tree;
    if target.exact {
        return Ok(transaction.get_current(tree, key, |_| ())?.is_some());
    }
    let range = KeyBytesRange::prefix(key.to_vec());
    let view = target.table.store.read_view();
    let mut found = false;
    target.table.store.scan(tree, &scan_range(&range, false)).for_each(
        transaction.reader(&view),
        |_, _| {
            found = true;
            ControlFlow::Break(())
        },
    )?;
    Ok(found)
}

/// RESTRICT.
fn forbid_children(child: &Child, cascade: &mut Cascade<'_>, old: &OldRow<'_>) -> Result<(), WriteError> {
    let Cascade { transaction, context, key, .. } = cascade;
    let values = child.columns.iter().map(|&column| old.cell(column));
    if child.target.write_key(values, context.zone, key)
        && is_there(&child.target, transaction, key, *context)?
    {
        return Err(child.violated());
    }
    Ok(())
}

/// Locks the children of a row and answers their locators.
fn lock_children(
    child: &Child,
    cascade: &mut Cascade<'_>,
    old: &OldRow<'_>,
) -> Result<BytesColumn, WriteError> {
    let mut locators = BytesColumn::new();
    let Cascade { transaction, context, key, .. } = cascade;
    let values = child.columns.iter().map(|&column| old.cell(column));
    if !child.target.write_key(values, context.zone, key) {
        return Ok(locators);
    }
    let (table, number) = (&child.target.table, child.target.index);
    let index = &table.indexes[number];
    let failed = from_store;
    let range = KeyBytesRange::prefix(key.clone());
    let mode = LockMode::Exclusive;
    let mut scan = transaction.lock_scan(&index.tree, &scan_range(&range, false), mode, context.wait);
    while let Some((key, value)) = scan.next(transaction).map_err(failed)? {
        locators.push(index.entries.as_ref().map_or(key, |entries| entries.split(key, value).0));
    }
    if index.entries.is_some() {
        for locator in locators.iter() {
            transaction.lock_current(&table.rows, locator, mode, context.wait, |_| ()).map_err(failed)?;
        }
    }
    Ok(locators)
}

/// Locks the entries by which children look a row up (invariant 2); the row itself is locked by whoever found it.
fn lock_entries<'c>(
    children: impl Iterator<Item = &'c Child>,
    table: &Table,
    cascade: &mut Cascade<'_>,
    old: &OldRow<'_>,
    locator: &[u8],
) -> Result<(), WriteError> {
    let mut locked: Option<usize> = None;
    for child in children {
        let Some(index) = child.locked_index.filter(|&index| locked != Some(index)) else { continue };
        locked = Some(index);
        let mut entry = EntryBytes::default();
        entry.write(&table.indexes[index], |ordinal| old.cell(ordinal), locator, cascade.context.zone);
        cascade
            .transaction
            .lock_current(
                &table.indexes[index].tree,
                &entry.key,
                LockMode::Exclusive,
                cascade.context.wait,
                |_| (),
            )
            .map_err(from_store)?;
    }
    Ok(())
}
