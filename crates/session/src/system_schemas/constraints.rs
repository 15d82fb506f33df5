//! TABLE_CONSTRAINTS, KEY_COLUMN_USAGE, REFERENTIAL_CONSTRAINTS, CHECK_CONSTRAINTS.

use catalog::{ForeignKeyAction, VirtualContext, VirtualScan};

use super::rows::{Cell, Rows};
use super::tables::{each_table, wanted};

/// TABLE_CONSTRAINTS.
pub(crate) fn table_constraints(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    each_table(context, wanted(scan, 3), wanted(scan, 4), |entry| {
        let table = &entry.definition;
        let mut row = |name: &str, kind: &str, enforced: bool| {
            rows.push(&[
                Cell::Text("def"),
                Cell::Text(&table.schema),
                Cell::Text(name),
                Cell::Text(&table.schema),
                Cell::Text(&table.name),
                Cell::Text(kind),
                Cell::yes_no(enforced),
            ]);
        };
        for index in table.indexes.iter().filter(|index| index.is_unique()) {
            row(&index.name, if index.is_primary() { "PRIMARY KEY" } else { "UNIQUE" }, true);
        }
        for key in &table.foreign_keys {
            row(&key.name, "FOREIGN KEY", true);
        }
        for check in &table.checks {
            row(&check.name, "CHECK", check.enforced);
        }
    });
}

/// KEY_COLUMN_USAGE.
pub(crate) fn key_column_usage(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    let reader = crate::session_context::SessionContext::of(context);
    each_table(context, wanted(scan, 4), wanted(scan, 5), |entry| {
        let table = &entry.definition;
        let mut row = |name: &str, column: usize, position: usize, parent: [Cell<'_>; 4]| {
            if reader.column_privileges_text(table, &table.columns[column].name).is_none() {
                return;
            }
            rows.push(&[
                Cell::Text("def"),
                Cell::Text(&table.schema),
                Cell::Text(name),
                Cell::Text("def"),
                Cell::Text(&table.schema),
                Cell::Text(&table.name),
                Cell::Text(&table.columns[column].name),
                Cell::UInt(position as u64 + 1),
                parent[0],
                parent[1],
                parent[2],
                parent[3],
            ]);
        };
        for index in table.indexes.iter().filter(|index| index.is_unique()) {
            let columns = index.parts.iter().enumerate();
            for (position, part) in columns.filter(|(_, part)| !table.columns[part.column].is_hidden()) {
                row(&index.name, part.column, position, [Cell::Null; 4]);
            }
        }
        for key in &table.foreign_keys {
            for (position, (&column, parent_column)) in
                key.columns.iter().zip(&key.parent_columns).enumerate()
            {
                let parent = [
                    Cell::UInt(position as u64 + 1),
                    Cell::Text(&key.parent_schema),
                    Cell::Text(&key.parent_table),
                    Cell::Text(parent_column),
                ];
                row(&key.name, column, position, parent);
            }
        }
    });
}

fn action_text(action: ForeignKeyAction) -> &'static str {
    match action {
        ForeignKeyAction::NoAction => "NO ACTION",
        ForeignKeyAction::Restrict => "RESTRICT",
        ForeignKeyAction::Cascade => "CASCADE",
        ForeignKeyAction::SetNull => "SET NULL",
        ForeignKeyAction::SetDefault => "SET DEFAULT",
    }
}

/// REFERENTIAL_CONSTRAINTS.
pub(crate) fn referential_constraints(
    context: &VirtualContext<'_>,
    scan: &VirtualScan<'_>,
    rows: &mut Rows<'_>,
) {
    each_table(context, wanted(scan, 1), wanted(scan, 9), |entry| {
        let table = &entry.definition;
        for key in &table.foreign_keys {
            // The key referred to: the first unique index that begins with the columns named.
            let parent = context.catalog.table(&key.parent_schema, &key.parent_table);
            let unique =
                parent.and_then(|parent| {
                    let parent = &parent.definition;
                    parent.indexes.iter().find(|index| {
                        index.is_unique()
                            && index.parts.len() >= key.parent_columns.len()
                            && index.parts.iter().zip(&key.parent_columns).all(|(part, name)| {
                                catalog::names_equal(&parent.columns[part.column].name, name)
                            })
                    })
                });
            rows.push(&[
                Cell::Text("def"),
                Cell::Text(&table.schema),
                Cell::Text(&key.name),
                Cell::Text("def"),
                Cell::Text(&key.parent_schema),
                Cell::text_or_null(unique.map(|index| &*index.name)),
                Cell::Text("NONE"),
                Cell::Text(action_text(key.on_update)),
                Cell::Text(action_text(key.on_delete)),
                Cell::Text(&table.name),
                Cell::Text(&key.parent_table),
            ]);
        }
    });
}

/// CHECK_CONSTRAINTS.
pub fn check_constraints(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    each_table(context, wanted(scan, 1), None, |entry| {
        for check in &entry.definition.checks {
            rows.push(&[
                Cell::Text("def"),
                Cell::Text(&entry.definition.schema),
                Cell::Text(&check.name),
                Cell::Text(&catalog::escaped_expression(&check.expression)),
            ]);
        }
    });
}
