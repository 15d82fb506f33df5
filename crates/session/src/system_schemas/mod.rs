//! `information_schema`, `performance_schema` and `sys`: tables whose rows are made while they are read.
//!
//! Which tables and columns there are is data (`columns.tsv`, as MySQL 9.7 answers); what their rows are is one
//! function a table, which gets the statement's catalog snapshot and the reading session. A table of which this
//! server has nothing to tell (FILES ...) is there and empty, because clients join it.
//!
//! Invariants:
//! 1. A function emits the columns of its table in order, all of them; [`rows::Rows`] drops what the query does
//!    not need.
//! 2. What the reader has no privilege on is not shown, as in MySQL.
//!
//! Read next: [`definition`] (columns.tsv to table definitions), [`rows`], then one file a family of tables.

pub mod columns;
pub mod constraints;
pub mod definition;
pub(crate) mod events;
pub mod privileges;
pub mod routines;
pub mod rows;
pub mod server;
pub mod statistics;
pub mod tables;
mod triggers;
pub mod views;

use std::any::Any;
use std::sync::Arc;

use catalog::{
    KeyRange, Schema, SchemaId, TableDefinition, TableEntry, TableSource, TableStatistics, VirtualContext,
    VirtualError, VirtualScan, VirtualTable,
};
use types::collation::CollationId;
use types::vector::Batch;

use crate::schema_names::{MYSQL_SCHEMA, SYS_SCHEMA};
use rows::Rows;

/// What a function that makes rows gets.
pub type Fill = Arc<dyn Fn(&VirtualContext<'_>, &VirtualScan<'_>, &mut Rows<'_>) + Send + Sync>;

/// One that needs nothing but the reading session.
type Filler = fn(&VirtualContext<'_>, &VirtualScan<'_>, &mut Rows<'_>);

/// The function for each table that has rows; a table of `columns.tsv` that is not here, nor given to [`schemas`], is empty.
const FILLS: &[(&str, Filler)] = &[
    ("information_schema.CHARACTER_SETS", server::character_sets),
    ("information_schema.CHECK_CONSTRAINTS", constraints::check_constraints),
    ("information_schema.COLLATIONS", server::collations),
    (
        "information_schema.COLLATION_CHARACTER_SET_APPLICABILITY",
        server::collation_character_set_applicability,
    ),
    ("information_schema.COLUMNS", columns::columns),
    ("information_schema.COLUMN_PRIVILEGES", privileges::column_privileges),
    ("information_schema.COLUMN_STATISTICS", statistics::column_statistics),
    ("information_schema.ENGINES", server::engines),
    ("information_schema.EVENTS", events::events),
    ("information_schema.KEY_COLUMN_USAGE", constraints::key_column_usage),
    ("information_schema.OPTIMIZER_TRACE", server::optimizer_trace),
    ("information_schema.PARAMETERS", routines::parameters),
    ("information_schema.PARTITIONS", tables::partitions),
    ("information_schema.PROCESSLIST", server::processlist),
    ("information_schema.REFERENTIAL_CONSTRAINTS", constraints::referential_constraints),
    ("information_schema.ROUTINES", routines::routines),
    ("information_schema.TRIGGERS", triggers::triggers),
    ("information_schema.SCHEMATA", tables::schemata),
    ("information_schema.SCHEMA_PRIVILEGES", privileges::schema_privileges),
    ("information_schema.STATISTICS", columns::statistics),
    ("information_schema.TABLES", tables::tables),
    ("information_schema.TABLE_CONSTRAINTS", constraints::table_constraints),
    ("information_schema.TABLE_PRIVILEGES", privileges::table_privileges),
    ("information_schema.USER_ATTRIBUTES", privileges::user_attributes),
    ("information_schema.USER_PRIVILEGES", privileges::user_privileges),
    ("information_schema.VIEWS", views::views),
    ("information_schema.VIEW_TABLE_USAGE", views::view_table_usage),
    ("mysql.innodb_index_stats", statistics::innodb_index_stats),
    ("mysql.innodb_table_stats", statistics::innodb_table_stats),
    ("performance_schema.global_status", server::global_status),
    ("performance_schema.global_variables", server::global_variables),
    ("performance_schema.persisted_variables", server::persisted_variables),
    ("performance_schema.processlist", server::performance_schema_processlist),
    ("performance_schema.session_account_connect_attrs", server::session_account_connect_attrs),
    ("performance_schema.session_connect_attrs", server::session_connect_attrs),
    ("performance_schema.session_status", server::session_status),
    ("performance_schema.session_variables", server::session_variables),
];

/// One virtual table.
pub struct SystemTable {
    definition: Arc<TableDefinition>,
    fill: Option<Fill>,
}

impl std::fmt::Debug for SystemTable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SystemTable").field("name", &self.definition.name).finish_non_exhaustive()
    }
}

impl TableSource for SystemTable {
    fn statistics(&self) -> &dyn TableStatistics {
        self
    }

    fn as_virtual(&self) -> Option<&dyn VirtualTable> {
        Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What the optimizer assumes of a table that nobody has counted.
const SYSTEM_TABLE_ROWS_GUESS: u64 = 1_000;

impl TableStatistics for SystemTable {
    fn row_count(&self) -> u64 {
        SYSTEM_TABLE_ROWS_GUESS
    }

    fn distinct_count(&self, _index: usize, _part_count: usize) -> u64 {
        1
    }

    fn estimate_rows(&self, _index: usize, _range: &KeyRange) -> u64 {
        SYSTEM_TABLE_ROWS_GUESS
    }

    fn data_bytes(&self) -> u64 {
        0
    }

    fn index_bytes(&self) -> u64 {
        0
    }
}

impl VirtualTable for SystemTable {
    fn scan(
        &self,
        context: &VirtualContext<'_>,
        scan: &VirtualScan<'_>,
        emit: &mut dyn FnMut(&mut Batch) -> bool,
    ) -> Result<(), VirtualError> {
        let Some(fill) = &self.fill else { return Ok(()) };
        let mut rows = Rows::new(&self.definition, scan.columns, emit);
        fill(context, scan, &mut rows);
        rows.finish()
    }
}

/// Number of `information_schema`; system schemas count down from it.
pub(crate) const INFORMATION_SCHEMA_ID: SchemaId = SchemaId(u32::MAX);
/// Number of `performance_schema`.
pub(crate) const PERFORMANCE_SCHEMA_ID: SchemaId = SchemaId(u32::MAX - 1);

/// Number of `mysql`. (`conversation::listing::LISTING_SCHEMA` has the one between.)
pub(crate) const MYSQL_SCHEMA_ID: SchemaId = SchemaId(u32::MAX - 3);
/// Number of `sys`.
pub(crate) const SYS_SCHEMA_ID: SchemaId = SchemaId(u32::MAX - 4);

/// The system schemas. `others`: tables by their full names whose rows somebody else makes, the backend first of all.
///
/// # Panics
/// If one of them is not in `columns.tsv`.
#[must_use]
pub fn schemas(others: &[(&str, Fill)]) -> Vec<Arc<Schema>> {
    let utf8mb3 = CollationId::UTF8MB3_GENERAL_CI;
    let mut information = Schema::new(INFORMATION_SCHEMA_ID, "information_schema", utf8mb3, true);
    let mut performance =
        Schema::new(PERFORMANCE_SCHEMA_ID, "performance_schema", CollationId::UTF8MB4_0900_AI_CI, true);
    let mut sys = Schema::new(SYS_SCHEMA_ID, SYS_SCHEMA, CollationId::UTF8MB4_0900_AI_CI, true);
    let mut mysql = Schema::new(MYSQL_SCHEMA_ID, MYSQL_SCHEMA, CollationId::UTF8MB4_0900_AI_CI, true);
    for definition in definition::all() {
        let definition = Arc::new(definition);
        let full_name = format!("{}.{}", definition.schema, definition.name);
        let own = FILLS.iter().find(|(name, _)| *name == full_name).map(|(_, fill)| Arc::new(*fill) as Fill);
        let fill = own.or_else(|| {
            let other = others.iter().find(|(name, _)| *name == full_name);
            other.map(|(_, fill)| Arc::clone(fill))
        });
        let source = Arc::new(SystemTable { definition: Arc::clone(&definition), fill });
        let schema = match definition.schema_id {
            INFORMATION_SCHEMA_ID => &mut information,
            MYSQL_SCHEMA_ID => &mut mysql,
            SYS_SCHEMA_ID => &mut sys,
            _ => &mut performance,
        };
        schema.insert(Arc::new(TableEntry { definition, source }));
    }
    vec![Arc::new(information), Arc::new(performance), Arc::new(mysql), Arc::new(sys)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_its_table() {
        let names: Vec<String> =
            definition::all().map(|table| format!("{}.{}", table.schema, table.name)).collect();
        for (name, _) in FILLS {
            assert!(names.iter().any(|candidate| candidate == name), "{name} is not in columns.tsv");
        }
    }
}
