//! A table that keeps its trees: which, and what is done with the rows where they stay: indexes built, constraints checked.

use std::sync::Arc;

use catalog::{TableDefinition, TableEntry, TreeNumber};
use store::Transaction;
use table::{ChangeLog, ChangedRow, ColumnOrigin, IndexBuild, LoggedChange, NewIndexes, Others, Table};

use super::check::{RowCheck, RowChecker};
use super::copy::fill;
use super::locks::AlterLocks;
use super::online::{Online, Round, RowWork};
use crate::ddl::definitions::trees_of;
use crate::ddl::{Change, Context, Result};

/// What is done with rows that stay.
pub(super) struct InPlaceRequest<'r> {
    /// The table as the catalog has it.
    pub(super) entry: &'r Arc<TableEntry>,
    pub(super) source: &'r Arc<Table>,
    /// The table as it will be.
    pub(super) table: &'r TableDefinition,
    /// For each of its indexes the old one that it is, if any.
    pub(super) kept: &'r [Option<usize>],
    /// Where the old table has each of its columns.
    pub(super) mapping: &'r [Option<usize>],
    /// What others may do meanwhile.
    pub(super) others: Option<Others>,
}

/// Indexes that were built, rows that were checked. Dropping it takes the indexes back.
pub(super) struct Built<'a> {
    online: Online<'a>,
    /// Per new index: its ordinal, its tree.
    trees: Vec<(usize, TreeNumber)>,
    /// How many rows were checked.
    pub(super) checked: Option<u64>,
}

impl<'a> Built<'a> {
    /// Builds the indexes that are new, and checks the rows.
    ///
    /// # Errors
    /// 1062, 1205, 1317, 1799, 3819; nothing is left of the indexes then.
    pub(super) fn run(
        context: &mut Context<'a>,
        locks: &mut AlterLocks,
        request: &InPlaceRequest<'_>,
        checker: Option<RowChecker>,
    ) -> Result<Self> {
        let InPlaceRequest { entry, source, mapping, .. } = *request;
        let (definitions, old) = (context.definitions, &entry.definition);
        let mut change = definitions.begin();
        let mut table = request.table.clone();
        let mut trees = Vec::new();
        table.rows_tree = old.rows_tree;
        table.large_values_tree = old.large_values_tree;
        for (ordinal, origin) in request.kept.iter().enumerate() {
            table.indexes[ordinal].tree = match origin {
                Some(origin) => old.indexes[*origin].tree,
                None => {
                    let tree = change.create_tree()?;
                    trees.push((ordinal, tree));
                    tree
                }
            };
        }
        change.commit_trees()?;
        let made = trees.iter().map(|(_, tree)| tree.0).collect();
        let table = Arc::new(table);
        let store = definitions.store();
        let ordinals = trees.iter().map(|(ordinal, _)| *ordinal).collect();
        let origins = mapping.iter().zip(&table.columns).map(|(origin, column)| match origin {
            Some(origin) => ColumnOrigin::Column(*origin),
            None => ColumnOrigin::Fill(fill(column, &column.instant_default)),
        });
        let indexes = NewIndexes::new(store, Arc::clone(&table), ordinals, origins.collect());
        let indexes = indexes.map_err(|error| crate::store_error(&error))?;
        let logged = (!trees.is_empty()).then(|| Arc::clone(&indexes));
        let changes = ChangeLog::new(logged, checker.is_some(), definitions.change_log_bytes_max());
        let mut online = Online::new(definitions, made, changes);
        // Rows as the new definition reads them; the trees of rows are the same.
        let reading = Table::open_from(store, table, source).map_err(crate::store_error)?;
        let mut build = IndexBuild::new(indexes, Arc::clone(&reading));
        let mut check = checker.map(|checker| RowCheck::new(checker, Arc::clone(&reading)));
        let mut works: Vec<&mut dyn RowWork> = Vec::new();
        if let Some(check) = &mut check {
            works.push(check);
        }
        if !trees.is_empty() {
            works.push(&mut build);
        }
        let ran = online.run(context, locks, request.others, entry, &reading, &mut works);
        let checked = check.as_ref().map(|check| check.row_count);
        context.warnings.extend(check.into_iter().flat_map(RowCheck::into_warnings));
        ran?;
        Ok(Self { online, trees, checked })
    }

    /// The new indexes' trees, by ordinal.
    pub(super) fn trees(&self) -> &[(usize, TreeNumber)] {
        &self.trees
    }

    /// A definition that names the trees is being committed.
    pub(super) fn keep(self) {
        self.online.keep();
    }
}

impl RowWork for IndexBuild {
    fn columns(&self) -> &[usize] {
        IndexBuild::columns(self)
    }

    fn read_part(&mut self, _changes: &ChangeLog) -> Result<bool> {
        IndexBuild::read_part(self).map_err(exec::access_error)
    }

    fn apply(
        &mut self,
        transaction: &mut Transaction,
        change: &LoggedChange<'_>,
        row: Option<ChangedRow<'_>>,
        round: Round,
    ) -> Result<bool> {
        IndexBuild::apply(self, transaction, change, row, round.wait).map_err(exec::access_error)
    }
}

/// Gives the new definition the old trees where they serve, and drops those that nobody needs.
pub(super) fn keep_trees(
    change: &mut Change<'_>,
    old: &TableDefinition,
    table: &mut TableDefinition,
    kept: &[Option<usize>],
    built: &[(usize, TreeNumber)],
) -> Result<()> {
    table.rows_tree = old.rows_tree;
    table.large_values_tree = old.large_values_tree;
    for (index, origin) in table.indexes.iter_mut().zip(kept) {
        index.tree = origin.map_or(TreeNumber(0), |origin| old.indexes[origin].tree);
    }
    for &(index, tree) in built {
        table.indexes[index].tree = tree;
    }
    change.create_missing_trees(table)?;
    let still = trees_of(table);
    let gone: Vec<u64> = trees_of(old).into_iter().filter(|tree| !still.contains(tree)).collect();
    change.drop_trees(&gone)
}
