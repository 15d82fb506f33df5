//! The tables of a plan whose rows a backend keeps.

use std::sync::Arc;

use access::Table;
use catalog::TableDefinition;
use plan::logical::TableIndex;
use plan::physical::PhysicalPlan;

use crate::error::internal;
use crate::expr::SqlResult;

/// A table of a plan whose rows a backend keeps.
#[derive(Clone)]
pub(crate) struct StoredTable<'p> {
    pub(crate) definition: &'p TableDefinition,
    pub(crate) rows: Arc<dyn Table>,
}

/// The table behind a plan's table.
pub(crate) fn stored_table(plan: &PhysicalPlan, table: TableIndex) -> SqlResult<StoredTable<'_>> {
    let entry = &plan.tables[table.0 as usize].entry;
    match Arc::clone(&entry.source).stored() {
        Some(rows) => Ok(StoredTable { definition: &entry.definition, rows }),
        None => Err(internal("a table whose rows are kept was expected")),
    }
}
