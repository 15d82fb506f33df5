//! VIEWS and VIEW_TABLE_USAGE.

use std::sync::Arc;

use catalog::{Catalog, TableDefinition, TableId, ViewDefinition, VirtualContext, VirtualScan};

use super::rows::{Cell, Rows};
use super::tables::{each_table, wanted};
use crate::session_context::SessionContext;

/// Whether all tables are there that a view reads, those of views below it too.
pub(crate) fn has_its_tables(catalog: &Catalog, view: &ViewDefinition) -> bool {
    let mut seen: Vec<TableId> = Vec::new();
    let mut waiting: Vec<&(Arc<str>, Arc<str>)> = view.tables.iter().collect();
    while let Some((schema, name)) = waiting.pop() {
        let Some(entry) = catalog.table(schema, name) else { return false };
        if !seen.contains(&entry.definition.id) {
            seen.push(entry.definition.id);
            waiting.extend(entry.definition.view.iter().flat_map(|view| &view.tables));
        }
    }
    true
}

/// What TABLES and SHOW TABLE STATUS say of a view.
pub(crate) fn comment(catalog: &Catalog, definition: &TableDefinition, view: &ViewDefinition) -> String {
    if has_its_tables(catalog, view) {
        return "VIEW".to_owned();
    }
    service::error::ER_VIEW_INVALID.message(&[&definition.schema, &definition.name])
}

/// VIEWS.
pub(crate) fn views(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    let facts = SessionContext::of(context);
    each_table(context, wanted(scan, 1), wanted(scan, 2), |entry| {
        let definition = &entry.definition;
        let Some(view) = &definition.view else { return };
        // The text is for those who may see how the view is made.
        let text = if facts.shows_view(&definition.schema, &definition.name) { &*view.query } else { "" };
        rows.push(&[
            Cell::Text("def"),
            Cell::Text(&definition.schema),
            Cell::Text(&definition.name),
            Cell::Text(text),
            Cell::Text(view.check_option.word()),
            Cell::yes_no(view.updatable),
            Cell::Text(&format!("{}@{}", view.definer.0, view.definer.1)),
            Cell::Text(if view.invoker { "INVOKER" } else { "DEFINER" }),
            Cell::Text(view.client_charset.name()),
            Cell::Text(view.connection_collation.name()),
        ]);
    });
}

/// VIEW_TABLE_USAGE: the tables and views that each view names, of those that the reader sees.
pub(crate) fn view_table_usage(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    let facts = SessionContext::of(context);
    each_table(context, wanted(scan, 1), wanted(scan, 2), |entry| {
        let definition = &entry.definition;
        let Some(view) = &definition.view else { return };
        for (schema, table) in &view.tables {
            let is_system = context.catalog.schema(schema).is_some_and(|schema| schema.system);
            if is_system || !facts.sees_table(schema, table) {
                continue;
            }
            rows.push(&[
                Cell::Text("def"),
                Cell::Text(&definition.schema),
                Cell::Text(&definition.name),
                Cell::Text("def"),
                Cell::Text(schema),
                Cell::Text(table),
            ]);
        }
    });
}
