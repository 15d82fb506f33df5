//! Which trees an altered table keeps, and indexes filled from the rows.

use std::sync::Arc;

use catalog::{TableDefinition, TreeNumber};
use store::LockWait;
use table::{Table, Utc, WriteContext};

use super::copy::for_each_row;
use crate::ddl::definitions::trees_of;
use crate::ddl::{Change, Context, Result};

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

/// Fills the indexes `new` from the rows, in the transaction of the change.
pub(super) fn build_indexes(
    context: &Context<'_>,
    change: &mut Change<'_>,
    source: &Arc<Table>,
    table: &TableDefinition,
    new: &[usize],
) -> Result<()> {
    let store = context.definitions.store();
    let target = Table::open(store, Arc::new(table.clone())).map_err(exec::store_error)?;
    // Rows as the new definition reads them, new columns included; the trees of rows are the same.
    let reading = Table::open_from(store, Arc::new(table.clone()), source).map_err(exec::store_error)?;
    let write = WriteContext { zone: &Utc, wait: LockWait::Timeout(context.patience.time) };
    for_each_row(&reading, &mut |_, cells, locator| {
        for &index in new {
            target
                .insert_index_entry(&mut change.transaction, index, cells, locator, write)
                .map_err(exec::write_error)?;
        }
        Ok(())
    })
}
