//! ALTER TABLE, CREATE INDEX, DROP INDEX.
//!
//! The statement's actions edit a draft of the table; the finished definition is compared with the old one:
//!
//! - rows of the old definition can be read as rows of the new one (`instant`): the trees stay, no row is touched; new
//!   indexes are built from a scan; dropped ones lose their tree;
//! - anything else: the rows are copied, converted, into new trees (`copy`).
//!
//! All of it happens in the statement's one transaction, under the table's exclusive metadata lock.

mod copy;
mod edit;
mod index;
mod instant;
mod request;

use std::sync::Arc;

use catalog::{TableDefinition, TableEntry, TableKind};
use service::error as e;
use service::error::Level;
use syntax::ast;
use syntax::ast::AlterAction as A;
use table::Table;

use self::copy::copy;
use self::edit::{Edited, edit};
use self::index::{build_indexes, keep_trees};
use self::instant::{instant_layout, kept_indexes};
use self::request::{Algorithm, Needs, Reason, Request};
use super::foreign_key;
use super::tables::{find, lock_all, rename_generated_constraints};
use super::{Context, Outcome, Result};

/// ALTER TABLE.
///
/// # Errors
/// MySQL's; the table is as before then.
pub fn alter_table(context: &mut Context<'_>, statement: &ast::AlterTable<'_>) -> Result<Outcome> {
    alter(context, &statement.table, statement.actions, statement.algorithm, statement.lock)
}

/// CREATE INDEX.
///
/// # Errors
/// As [`alter_table`].
pub fn create_index(context: &mut Context<'_>, statement: &ast::CreateIndex<'_>) -> Result<Outcome> {
    alter(context, &statement.table, &[A::AddKey(&statement.key)], statement.algorithm, statement.lock)
}

/// DROP INDEX.
///
/// # Errors
/// As [`alter_table`].
pub fn drop_index(context: &mut Context<'_>, statement: &ast::DropIndex<'_>) -> Result<Outcome> {
    let action = if statement.name.is("primary") { A::DropPrimaryKey } else { A::DropIndex(statement.name) };
    alter(context, &statement.table, &[action], statement.algorithm, statement.lock)
}

fn alter(
    context: &mut Context<'_>,
    name: &ast::ObjectName<'_>,
    actions: &[A<'_>],
    algorithm: Option<&[u8]>,
    lock: Option<&[u8]>,
) -> Result<Outcome> {
    let request = Request::parse(algorithm, lock)?;
    let algorithm = request.algorithm;
    let (schema, name) = context.resolve(name)?;
    let catalog = context.temporary.overlay(&context.definitions.catalog().load());
    let entry = find(&catalog, &schema, &name)?;
    let _locks = lock_all(&concerned(&catalog, &entry, actions)?, context)?;
    let mut change = context.definitions.begin();
    let base = Arc::new(change.catalog.clone());
    let catalog = context.temporary.overlay(&base);
    let entry = find(&catalog, &schema, &name)?;
    let old = Arc::clone(&entry.definition);

    let mut warnings = std::mem::take(context.warnings);
    let result = edit(context, &catalog, &old, actions, &mut warnings);
    *context.warnings = warnings;
    let Edited { draft, mut table, rebuild_asked, rename } = result?;
    if old.kind == TableKind::Base {
        let mapping: Vec<Option<usize>> = draft.columns.iter().map(|column| column.origin).collect();
        foreign_key::check_altered(&old, &table, &mapping, &context.settings(&base))?;
    }
    let adds_keys = foreign_key::adds_keys(&old, &table);
    let checks_rows = context.foreign_key_checks && adds_keys;
    let asked = match algorithm {
        Algorithm::Instant => Some(("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE")),
        Algorithm::Inplace if checks_rows => Some(("ALGORITHM=INPLACE", "ALGORITHM=COPY")),
        _ => None,
    };
    if let Some((asked, instead)) = asked.filter(|_| adds_keys) {
        if checks_rows {
            let reason = "Adding foreign keys needs foreign_key_checks=OFF";
            return Err(e::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON.with(&[&asked, &reason, &instead]));
        }
        return Err(e::ER_ALTER_OPERATION_NOT_SUPPORTED.with(&[&asked, &instead]));
    }
    if let Some((new_schema, new_name)) = &rename {
        let target = catalog.schema(new_schema).ok_or_else(|| e::ER_BAD_DB_ERROR.with(&[new_schema]))?;
        if (new_schema.as_str(), new_name.as_str()) != (&*old.schema, &*old.name)
            && target.table(new_name).is_some()
        {
            return Err(e::ER_TABLE_EXISTS_ERROR.with(&[new_name]));
        }
        table.schema_id = target.id;
        table.schema = new_schema.as_str().into();
        table.name = new_name.as_str().into();
        rename_generated_constraints(&mut table, &old.name);
    }

    let mapping: Vec<Option<usize>> = draft.columns.iter().map(|column| column.origin).collect();
    let kept = kept_indexes(&draft, &old, &table, &mapping);
    let clustered_stays = match (old.clustered, table.clustered) {
        (None, None) => true,
        (Some(before), Some(after)) => kept[after] == Some(before),
        _ => false,
    };
    let in_place = !rebuild_asked
        && algorithm != Algorithm::Copy
        && old.kind == TableKind::Base
        && clustered_stays
        && instant_layout(&old, &mut table, &mapping, context)?;
    let builds_index = kept.iter().any(Option::is_none);
    let reason = Reason::of(&old, &table, &mapping);
    request.check(&Needs { in_place, builds_index, renames: rename.is_some(), reason })?;
    let source = Table::of(&entry.source).ok_or_else(|| e::ER_NO_SUCH_TABLE.with(&[&schema, &name]))?;
    let copied_rows = if in_place {
        keep_trees(&mut change, &old, &mut table, &kept)?;
        build_indexes(context, &mut change, &source, &table, &kept)?;
        None
    } else {
        Some(copy(context, &mut change, &source, &mut table, &mapping)?)
    };

    let mut checked = None;
    if checks_rows {
        checked = Some(foreign_key::check_rows(context, &mut change, &Arc::new(table.clone()), &old)?);
    }
    if rename.is_some() && old.kind == TableKind::Base {
        if let Some(from) = change.catalog.schema_mut(&old.schema) {
            from.remove(&old.name);
        }
        foreign_key::check_awaited(&base, &table, &context.settings(&base), false)?;
        for key in &table.foreign_keys {
            foreign_key::check_name_is_free(&base, &table, &key.name)?;
        }
    }
    if old.kind == TableKind::Base {
        foreign_key::follow_altered(&mut change, &old, &mut table, &mapping)?;
    }
    let table = Arc::new(table);
    if in_place {
        change.put_altered(Arc::clone(&table), &entry)?;
    } else {
        change.put_rebuilt(Arc::clone(&table), &entry)?;
    }
    let (position, temporary) = change.commit()?;
    if rename.is_some() {
        context.temporary.remove(&old.schema, &old.name);
    }
    for entry in temporary {
        context.temporary.put(entry);
    }
    let (copied, counter) = copied_rows.unwrap_or((0, None));
    // MySQL counts the rows it copies, not those it moves while it rebuilds a table in place.
    let counted = matches!(reason, Some(Reason::ColumnType | Reason::NoPrimaryKey))
        || algorithm == Algorithm::Copy
        || old.kind == TableKind::Temporary;
    let affected_rows = if counted { copied } else { checked.unwrap_or(0) };
    // A temporary table's counter is in no tree.
    let counter = counter.filter(|_| table.kind == TableKind::Temporary);
    if let Some(next) = draft.auto_increment.or(counter) {
        raise_counter(context, &table, next)?;
    }
    let warning_count = context.warnings.iter().filter(|warning| warning.level != Level::Note).count();
    Ok(Outcome {
        affected_rows,
        info: format!("Records: {affected_rows}  Duplicates: 0  Warnings: {warning_count}"),
        position,
    })
}

/// The tables that nobody else may be at work on: the table, the parents of new foreign keys, and the children whose keys
/// follow a new name.
fn concerned(
    catalog: &catalog::Catalog,
    entry: &Arc<TableEntry>,
    actions: &[A<'_>],
) -> Result<Vec<Arc<TableEntry>>> {
    let mut tables = vec![Arc::clone(entry)];
    if entry.definition.kind != TableKind::Base {
        return Ok(tables);
    }
    let renames =
        |action: &A<'_>| matches!(action, A::ChangeColumn(..) | A::RenameColumn(..) | A::RenameTable(_));
    if actions.iter().any(renames) {
        tables.extend(foreign_key::children(catalog, &entry.definition));
    }
    for references in foreign_key::references_of_actions(actions) {
        tables.extend(foreign_key::parent_of(catalog, &entry.definition.schema, references)?);
    }
    Ok(tables)
}

/// AUTO_INCREMENT=: the counter goes up, never below what the rows hold.
fn raise_counter(context: &Context<'_>, table: &TableDefinition, next: u64) -> Result<()> {
    let Some(column) = table.auto_increment_column() else { return Ok(()) };
    let catalog = context.definitions.catalog().load();
    let entry: Option<Arc<TableEntry>> = match table.kind {
        TableKind::Temporary => context.temporary.get(&table.schema, &table.name).cloned(),
        _ => catalog.table(&table.schema, &table.name).cloned(),
    };
    let Some(opened) = entry.as_ref().and_then(|entry| Table::of(&entry.source)) else { return Ok(()) };
    let largest = opened.largest_value(column).map_err(exec::store_error)?;
    let wanted = next.max(largest.saturating_add(1)).max(1);
    opened.auto_increment().set(context.definitions.store(), wanted).map_err(exec::write_error)
}
