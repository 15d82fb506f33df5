//! ALTER TABLE, CREATE INDEX, DROP INDEX.
//!
//! The statement's actions edit the builder of its definition; the finished definition is compared with the old one:
//!
//! - rows of the old definition can be read as rows of the new one (`instant`): the trees stay, no row is touched; new
//!   indexes are built (`in_place`), dropped ones lose their tree;
//! - anything else: the rows are copied, converted, into new trees (`copy`);
//! - a CHECK that is new looks at all rows (`check`).
//!
//! What has to do with all rows is done while others read and write (`online`).
//!
//! What takes long happens before the statement's transaction, in trees that no definition names. That transaction changes the
//! definition and drops trees, alone on the table (`locks`): a crash leaves the table as it was before, or as it is after.

mod check;
mod computed;
mod copy;
mod dates;
mod depend;
mod edit;
mod follow;
mod in_place;
mod instant;
mod locks;
mod online;
mod request;

use std::sync::Arc;

use catalog::{TableDefinition, TableEntry, TableKind};
use service::error as e;
use service::error::{Diagnostic, Level, SqlError};
use syntax::ast;
use syntax::ast::AlterAction as A;
use table::{Others, Table};

use self::check::{RowChecker, added_checks};
use self::copy::{Copied, CopyRequest, copy, numbered_column};
use self::dates::{StoredDateCheck, retained_date_columns};
use self::edit::{Edited, edit};
use self::in_place::{Built, InPlaceRequest, keep_trees};
use self::instant::{instant_layout, is_computed, is_stored_recomputed, kept_indexes, zero_date};
use self::locks::AlterLocks;
use self::request::{Algorithm, Lock, Needs, Reason, Request};
use super::builder::check_name_is_free;
use super::definitions::trees_of;
use super::foreign_key;
use super::generated::recomputed;
use super::tables::{find, find_table, rename_generated_constraints, require_same_schema};
use super::{Context, Outcome, Result, sql_mode_bits};
use session::references::references_of_actions;

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
    let (mut locks, several, base, catalog, entry) = loop {
        let catalog = context.temporary.overlay(&context.definitions.catalog().load());
        let entry = find_table(&catalog, &schema, &name)?;
        let tables = concerned(&catalog, &entry, actions)?;
        let locks = AlterLocks::take(&tables, context)?;
        let base = context.definitions.catalog().load();
        let catalog = context.temporary.overlay(&base);
        let now = find_table(&catalog, &schema, &name)?;
        if now.definition.id == entry.definition.id {
            break (locks, tables.len() > 1, base, catalog, now);
        }
        // Another table got the name while this one was waited for.
    };
    let old = Arc::clone(&entry.definition);

    let mut warnings = std::mem::take(context.warnings);
    let result = edit(context, &catalog, &old, actions, &mut warnings);
    *context.warnings = warnings;
    let Edited { builder, mut table, rebuild_asked, rename } = result?;
    let mapping: Vec<Option<usize>> = builder.columns.iter().map(|column| column.origin).collect();
    table.triggers.clone_from(&old.triggers);
    if old.kind == TableKind::Base {
        foreign_key::check_altered(&old, &table, &mapping, &context.settings(&base))?;
    }
    let recomputed = recomputed(&old, &table, &mapping, &context.settings(&catalog))?;
    // A key whose columns get other values is checked like one that is new.
    let changes_keys =
        table.foreign_keys.iter().any(|key| key.columns.iter().any(|&column| recomputed[column]));
    let adds_keys = foreign_key::adds_keys(&old, &table) || changes_keys;
    let checks_rows = context.session.foreign_key_checks && adds_keys;
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
    let added_checks = added_checks(&old, &table);
    if let Some((new_schema, new_name)) = &rename {
        require_same_schema(&old, new_schema)?;
        table.schema_id = check_new_name(&catalog, &old, new_schema, new_name)?;
        table.schema = new_schema.as_str().into();
        table.name = new_name.as_str().into();
        rename_generated_constraints(&mut table, &old.name);
    }

    let mapping: Vec<Option<usize>> = builder.columns.iter().map(|column| column.origin).collect();
    let kept = kept_indexes(&builder, &old, &table, &mapping);
    let clustered_stays = match (old.clustered, table.clustered) {
        (None, None) => true,
        (Some(before), Some(after)) => kept[after] == Some(before),
        _ => false,
    };
    // MySQL copies rows for these; dates that it would not write are looked for, or written as it does.
    let dates = match !added_checks.is_empty() || checks_rows {
        true => retained_date_columns(&table, &mapping),
        false => Vec::new(),
    };
    let in_place = !rebuild_asked
        && (dates.is_empty() || context.is_strict())
        && algorithm != Algorithm::Copy
        && old.kind == TableKind::Base
        && clustered_stays
        && instant_layout(&old, &mut table, &mapping, &recomputed, context);
    // Where MySQL computes VIRTUAL columns when they are read, it touches no row.
    let recomputes_stored =
        (0..mapping.len()).any(|ordinal| is_stored_recomputed(&table, &recomputed, ordinal));
    let in_place_in_mysql = in_place
        || (recomputed.contains(&true)
            && !recomputes_stored
            && !rebuild_asked
            && old.kind == TableKind::Base
            && clustered_stays
            && instant_layout(&old, &mut table.clone(), &mapping, &vec![false; mapping.len()], context));
    let builds_index = kept.contains(&None);
    let reason = Reason::of(&old, &table, &mapping, context);
    let zero_date = zero_date(&table, &mapping);
    let computes =
        recomputes_stored || (0..mapping.len()).any(|ordinal| is_computed(&table, &mapping, ordinal));
    request.check(&Needs {
        in_place: in_place_in_mysql,
        builds_index,
        adds_checks: !added_checks.is_empty(),
        computes,
        zero_date: zero_date.is_some(),
        online: !checks_rows && !several,
        renames: rename.is_some(),
        temporary: old.kind == TableKind::Temporary,
        reason,
    })?;
    let source = Table::of(&entry.source).ok_or_else(|| e::ER_NO_SUCH_TABLE.with(&[&schema, &name]))?;
    if let Some(error) = zero_date.filter(|_| context.session.sql_mode & sql_mode_bits::NO_ZERO_DATE != 0)
        && !source.is_empty().map_err(crate::store_error)?
    {
        tell_zero_date(error, context)?;
    }
    let others = match request.lock {
        Lock::Exclusive => None,
        Lock::Shared => Some(Others::Read),
        // Rows get numbers in their order.
        _ if numbered_column(&old, &table, &mapping).is_some() => Some(Others::Read),
        Lock::Any | Lock::None => Some(Others::Write),
    };
    // What takes long, while others go on.
    let dates = (in_place && !dates.is_empty()).then(|| StoredDateCheck::new(context, &table, &dates));
    let checker = RowChecker::new(context, &entry, &table, &mapping, &added_checks, dates)?;
    let mut built: Option<Built<'_>> = None;
    let mut copied: Option<Copied<'_>> = None;
    if !in_place {
        let keys_stay = clustered_stays;
        let copies_in_mysql = algorithm == Algorithm::Copy
            || reason.is_some_and(|reason| reason != Reason::AutoIncrement)
            || !added_checks.is_empty()
            || checks_rows
            || computes
            || old.kind == TableKind::Temporary;
        let request = CopyRequest {
            entry: &entry,
            source: &source,
            mapping: &mapping,
            recomputed: &recomputed,
            keys_stay,
            copies_in_mysql,
            others,
        };
        copied = Some(copy(context, &mut locks, &request, &mut table, checker)?);
    } else if builds_index || checker.is_some() {
        let (table, kept, mapping) = (&table, &kept[..], &mapping[..]);
        let request = InPlaceRequest { entry: &entry, source: &source, table, kept, mapping, others };
        built = Some(Built::run(context, &mut locks, &request, checker)?);
    }

    // What must be whole.
    let mut change = context.definitions.begin();
    let base = Arc::new(change.catalog.clone());
    let catalog = context.temporary.overlay(&base);
    let entry = find(&catalog, &old.schema, &old.name)?;
    if let Some((new_schema, new_name)) = &rename {
        check_new_name(&catalog, &old, new_schema, new_name)?;
    }
    match &copied {
        None => {
            let trees = built.as_ref().map_or(&[][..], Built::trees);
            keep_trees(&mut change, &old, &mut table, &kept, trees)?;
        }
        Some(copied) => {
            change.drop_trees(&trees_of(&old))?;
            change.drop_trees(copied.places.as_slice())?;
            if let Some(next) = copied.counter.filter(|_| table.kind == TableKind::Base) {
                let dictionary = context.definitions.dictionary();
                dictionary
                    .put_counter(&mut change.transaction, table.id, next)
                    .map_err(exec::access_error)?;
            }
        }
    }

    if rename.is_some() && old.kind == TableKind::Base {
        if let Some(from) = change.catalog.schema_mut(&old.schema) {
            from.remove(&old.name);
        }
        foreign_key::check_awaited(&base, &table, &context.settings(&base), false)?;
        for key in &table.foreign_keys {
            foreign_key::check_name_is_free(&base, &table, &key.name)?;
        }
        for check in &table.checks {
            check_name_is_free(&base, &table, &check.name)?;
        }
    }
    if old.kind == TableKind::Base {
        foreign_key::follow_altered(&mut change, &old, &mut table, &mapping)?;
    }
    let mut checked = None;
    if checks_rows {
        checked = Some(foreign_key::check_rows(context, &mut change, &Arc::new(table.clone()), &old)?);
    }
    let table = Arc::new(table);
    if in_place {
        change.put_altered(Arc::clone(&table), &entry)?;
    } else {
        change.put_rebuilt(Arc::clone(&table), &entry)?;
    }
    let committed = change.commit();
    // A commit without room in the log did not happen. If it failed otherwise the store has stopped, and nobody may drop what may
    // be named in the log.
    let is_refused = committed.as_ref().is_err_and(|error| error.number == e::ER_DISK_FULL.number);
    let (copied, counter) = copied.filter(|_| !is_refused).map_or((0, None), Copied::keep);
    let checked = built.as_ref().and_then(|built| built.checked).or(checked);
    if let Some(built) = built.filter(|_| !is_refused) {
        built.keep();
    }
    let (position, temporary) = committed?;
    if rename.is_some() {
        context.temporary.remove(&old.schema, &old.name);
    }
    for entry in temporary {
        context.temporary.put(entry);
    }
    // MySQL counts the rows it copies, not those it moves while it rebuilds a table in place.
    let counted = matches!(reason, Some(Reason::ColumnType | Reason::NoPrimaryKey | Reason::SilentNulls))
        || !added_checks.is_empty()
        || computes
        || algorithm == Algorithm::Copy
        || old.kind == TableKind::Temporary;
    let affected_rows = checked.unwrap_or(if counted { copied } else { 0 });
    // A temporary table's counter is in no tree.
    let counter = counter.filter(|_| table.kind == TableKind::Temporary);
    if let Some(next) = builder.auto_increment.or(counter) {
        raise_counter(context, &table, next)?;
    }
    let warning_count = context.warnings.len();
    let only_renames = old.kind != TableKind::Temporary
        && !actions.is_empty()
        && actions.iter().all(|action| matches!(action, A::RenameTable(_)));
    let info = match only_renames {
        true => String::new(),
        false => format!("Records: {affected_rows}  Duplicates: 0  Warnings: {warning_count}"),
    };
    Ok(Outcome { affected_rows, info, position })
}

/// Rows get a date that the session may not write: an error in strict mode, a warning otherwise.
fn tell_zero_date(error: Box<SqlError>, context: &mut Context<'_>) -> Result<()> {
    if context.is_strict() {
        return Err(error);
    }
    let SqlError { number, state, message, .. } = *error;
    context.warnings.push(Diagnostic { level: Level::Warning, number, state, message });
    Ok(())
}

/// Whether the table can have this name. Answers the number of its schema.
///
/// # Errors
/// 1049, 1050.
fn check_new_name(
    catalog: &catalog::Catalog,
    old: &TableDefinition,
    schema: &str,
    name: &str,
) -> Result<catalog::SchemaId> {
    let target = catalog.schema(schema).ok_or_else(|| e::ER_BAD_DB_ERROR.with(&[&schema]))?;
    if (schema, name) != (&*old.schema, &*old.name) && target.table(name).is_some() {
        return Err(e::ER_TABLE_EXISTS_ERROR.with(&[&name]));
    }
    Ok(target.id)
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
    let redefines = |action: &A<'_>| matches!(action, A::ChangeColumn(..) | A::ModifyColumn(..));
    let is_made = |column: &usize| entry.definition.columns[*column].generated.is_some();
    if actions.iter().any(redefines) {
        for key in entry.definition.foreign_keys.iter().filter(|key| key.columns.iter().any(is_made)) {
            tables.extend(foreign_key::base_table(catalog, &key.parent_schema, &key.parent_table).cloned());
        }
    }
    if actions.iter().any(renames) {
        tables.extend(foreign_key::children(catalog, &entry.definition));
    }
    for references in references_of_actions(actions) {
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
    let largest = opened.largest_value(column).map_err(crate::store_error)?;
    let wanted = next.max(largest.saturating_add(1)).max(1);
    opened.auto_increment().set(context.definitions.store(), wanted).map_err(exec::access_error)
}
