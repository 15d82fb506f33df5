//! SCHEMATA, TABLES, PARTITIONS.

use catalog::{TableEntry, TableKind, VirtualContext, VirtualScan};
use types::Value;

use super::rows::{Cell, Rows};
use crate::session_context::SessionContext;

/// What a query asks for by `column = 'text'`, to make fewer rows; the query filters again.
#[must_use]
pub fn wanted<'a>(scan: &VirtualScan<'a>, column: usize) -> Option<&'a str> {
    scan.equal.iter().find(|(candidate, _)| *candidate == column).and_then(|(_, value)| match value {
        Value::Bytes { bytes, .. } => std::str::from_utf8(bytes).ok(),
        _ => None,
    })
}

/// Calls `each` for every table the reader may see, by schema and name, system tables included.
pub(crate) fn each_table(
    context: &VirtualContext<'_>,
    schema_wanted: Option<&str>,
    table_wanted: Option<&str>,
    mut each: impl FnMut(&TableEntry),
) {
    let reader = SessionContext::of(context);
    for schema in context.catalog.schemas_sorted() {
        if schema_wanted.is_some_and(|name| !catalog::names_equal(name, &schema.name)) {
            continue;
        }
        for entry in schema.tables_sorted() {
            let name = &entry.definition.name;
            if table_wanted.is_some_and(|wanted| !catalog::names_equal(wanted, name)) {
                continue;
            }
            if schema.system || reader.sees_table(&schema.name, name) {
                each(entry);
            }
        }
    }
}

/// SCHEMATA.
pub(crate) fn schemata(context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    let reader = SessionContext::of(context);
    for schema in context.catalog.schemas_sorted() {
        if !schema.system && !reader.sees_schema(&schema.name) {
            continue;
        }
        rows.push(&[
            Cell::Text("def"),
            Cell::Text(&schema.name),
            Cell::Text(schema.collation.charset().name()),
            Cell::Text(schema.collation.name()),
            Cell::Null,
            Cell::Text("NO"),
        ]);
    }
}

/// The text of `create_options`.
fn create_options(entry: &TableEntry) -> String {
    let options = &entry.definition.options;
    let mut parts = Vec::new();
    if let Some(row_format) = options.row_format {
        parts.push(format!("row_format={}", format!("{row_format:?}").to_uppercase()));
    }
    let number = |name: &str, value: Option<u64>| value.map(|value| format!("{name}={value}"));
    parts.extend(number("max_rows", options.max_rows));
    parts.extend(number("min_rows", options.min_rows));
    parts.extend(number("avg_row_length", options.avg_row_length));
    parts.extend(number("KEY_BLOCK_SIZE", options.key_block_size));
    parts.extend(options.stats_persistent.map(|on| format!("stats_persistent={}", u8::from(on))));
    parts.join(" ")
}

/// `TABLE_TYPE` of a table in a system schema.
#[must_use]
pub(crate) fn system_table_kind(schema: &str) -> &'static str {
    match schema {
        "information_schema" => "SYSTEM VIEW",
        super::SYS_SCHEMA => "VIEW",
        _ => "BASE TABLE",
    }
}

/// TABLES.
pub fn tables(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    each_table(context, wanted(scan, 1), wanted(scan, 2), |entry| {
        let definition = &entry.definition;
        let head = [Cell::Text("def"), Cell::Text(&definition.schema), Cell::Text(&definition.name)];
        if definition.kind == TableKind::System {
            let mut cells = [Cell::Null; 21];
            cells[..3].copy_from_slice(&head);
            cells[3] = Cell::Text(system_table_kind(&definition.schema));
            if &*definition.schema == super::MYSQL_SCHEMA {
                cells[4] = Cell::Text("CSV");
            }
            cells[5] = Cell::UInt(10);
            for cell in &mut cells[7..13] {
                *cell = Cell::UInt(0);
            }
            cells[14] = Cell::Micros(definition.created_micros);
            cells[19] = Cell::Text("");
            cells[20] = Cell::Text("");
            rows.push(&cells);
            return;
        }
        if let Some(view) = &definition.view {
            let comment = super::views::comment(context.catalog, definition, view);
            let mut cells = [Cell::Null; 21];
            cells[..3].copy_from_slice(&head);
            cells[3] = Cell::Text("VIEW");
            cells[14] = Cell::Micros(definition.created_micros);
            cells[20] = Cell::Text(&comment);
            rows.push(&cells);
            return;
        }
        let options = create_options(entry);
        let kind = [Cell::Text("BASE TABLE")];
        let tail = [Cell::Text(&options), Cell::Text(&definition.comment)];
        rows.push(&[&head[..], &kind, &base_table_cells(entry), &tail].concat());
    });
}

/// From the engine to the checksum: what TABLES and SHOW TABLE STATUS say of a base table.
pub(crate) fn base_table_cells(entry: &TableEntry) -> [Cell<'_>; 15] {
    let statistics = entry.source.statistics();
    let (row_count, data_bytes) = (statistics.shown_row_count(), statistics.data_bytes());
    [
        Cell::Text("InnoDB"),
        Cell::UInt(10),
        Cell::Text("Dynamic"),
        Cell::UInt(row_count),
        Cell::UInt(data_bytes.checked_div(row_count).unwrap_or(0)),
        Cell::UInt(data_bytes),
        Cell::UInt(0),
        Cell::UInt(statistics.index_bytes()),
        Cell::UInt(0),
        Cell::uint_or_null(entry.source.auto_increment_next()),
        Cell::Micros(entry.definition.created_micros),
        Cell::Null,
        Cell::Null,
        Cell::Text(entry.definition.collation.name()),
        Cell::Null,
    ]
}

/// PARTITIONS: one row for each table, none of which is partitioned.
pub fn partitions(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    each_table(context, wanted(scan, 1), wanted(scan, 2), |entry| {
        let definition = &entry.definition;
        if matches!(definition.kind, TableKind::System | TableKind::View) {
            return;
        }
        let statistics = entry.source.statistics();
        let mut cells = [Cell::Null; 26];
        cells[0] = Cell::Text("def");
        cells[1] = Cell::Text(&definition.schema);
        cells[2] = Cell::Text(&definition.name);
        let (row_count, data_bytes) = (statistics.shown_row_count(), statistics.data_bytes());
        cells[12] = Cell::UInt(row_count);
        cells[13] = Cell::UInt(data_bytes.checked_div(row_count).unwrap_or(0));
        cells[14] = Cell::UInt(data_bytes);
        cells[15] = Cell::UInt(0);
        cells[16] = Cell::UInt(statistics.index_bytes());
        cells[17] = Cell::UInt(0);
        cells[18] = Cell::Micros(definition.created_micros);
        cells[22] = Cell::Text("");
        cells[23] = Cell::Text("");
        rows.push(&cells);
    });
}
