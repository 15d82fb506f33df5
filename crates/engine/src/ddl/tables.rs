//! CREATE, DROP, TRUNCATE and RENAME TABLE.

use std::sync::Arc;

use access::MetadataMode;
use catalog::{
    Catalog, NameMap, SchemaId, TableDefinition, TableEntry, TableId, TableKind, TableOptions, TreeNumber,
};
use service::error as e;
use syntax::ast;
use table::{MetadataLock, Table};

use super::builder::{TableBuilder, check_name_is_free};
use super::definitions::trees_of;
use super::foreign_key::{self, Renamed};
use super::{Context, Outcome, Result};
use crate::metadata::{MetadataLocks, lock_of};
use session::backend::SelectedColumn;
use session::references::references_of_elements;

/// Locks tables exclusively, all together: nothing is held while one is waited for, since a statement at work may wait for
/// one of them by a foreign key while it holds another. Those that the session has locked with LOCK TABLES are left as they
/// are. Dropping what is answered gives the locks back.
///
/// # Errors
/// 1205, 1317.
pub(super) fn lock_all(tables: &[Arc<TableEntry>], context: &Context<'_>) -> Result<MetadataLocks> {
    let mut sorted: Vec<_> = tables.iter().collect();
    sorted.sort_unstable_by_key(|entry| entry.definition.id);
    sorted.dedup_by_key(|entry| entry.definition.id);
    let wanted: Vec<(Arc<MetadataLock>, MetadataMode)> = sorted
        .into_iter()
        .filter_map(|entry| lock_of(entry))
        .filter(|lock| !context.locked_tables.holds(lock))
        .map(|lock| (Arc::clone(lock), MetadataMode::Exclusive))
        .collect();
    let mut held = MetadataLocks::default();
    held.lock_together(&wanted, context.session.lock_wait)?;
    Ok(held)
}

/// A definition with nothing in it yet.
pub(super) fn template(
    id: TableId,
    schema_id: SchemaId,
    kind: TableKind,
    now_micros: i64,
) -> TableDefinition {
    TableDefinition {
        id,
        name: "".into(),
        schema_id,
        schema: "".into(),
        kind,
        columns: Vec::new(),
        indexes: Vec::new(),
        clustered: None,
        rows_tree: TreeNumber(0),
        large_values_tree: TreeNumber(0),
        row_version: 0,
        dropped_columns: Vec::new(),
        collation: types::CollationId::UTF8MB4_0900_AI_CI,
        comment: "".into(),
        created_micros: now_micros,
        options: TableOptions::default(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
        triggers: Vec::new(),
        view: None,
        column_names: NameMap::default(),
    }
}

/// CREATE TABLE. `selected` are the columns of the query of AS SELECT, whose rows are the caller's to insert afterwards.
/// Answers also whether a table was made: not if IF NOT EXISTS found one.
///
/// # Errors
/// MySQL's.
pub fn create_table(
    context: &mut Context<'_>,
    statement: &ast::CreateTable<'_>,
    selected: &[SelectedColumn],
) -> Result<(Outcome, bool)> {
    let (schema_name, name) = context.resolve(&statement.name)?;
    if statement.partitioning.is_some() {
        return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"PARTITION BY"]));
    }
    let _locks = lock_all(&parents_of_new(context, statement, &schema_name)?, context)?;
    let mut change = context.definitions.begin();
    let base = Arc::new(change.catalog.clone());
    let Some(schema) = base.schema(&schema_name) else {
        return Err(e::ER_BAD_DB_ERROR.with(&[&schema_name]));
    };
    let exists = if statement.temporary {
        context.temporary.get(&schema_name, &name).is_some()
    } else {
        schema.table(&name).is_some()
    };
    let catalog = context.temporary.overlay(&base);
    let like = match &statement.like {
        Some(like) => {
            let (schema, name) = context.resolve(like)?;
            Some(find_table(&catalog, &schema, &name)?)
        }
        None => None,
    };
    if exists && statement.if_not_exists {
        context.warnings.push(e::ER_TABLE_EXISTS_ERROR.note(&[&name]));
        return Ok((Outcome::default(), false));
    }
    if schema.system {
        return Err(super::schemas::system_schema_error(&schema_name));
    }
    if statement.temporary && !exists {
        context.temporary.check_room(&name)?;
    }
    let kind = if statement.temporary { TableKind::Temporary } else { TableKind::Base };
    let id = change.dictionary().new_table_id();
    let template = template(id, schema.id, kind, context.session.now_micros);
    let (mut table, auto_increment) = if let Some(other) = &like {
        let mut builder = TableBuilder::of(&other.definition);
        builder.schema = schema_name.as_str().into();
        builder.name = name.as_str().into();
        builder.foreign_keys.clear(); // MySQL leaves them out too.
        for check in &mut builder.checks {
            check.name = None;
            check.existing = false;
        }
        let mut warnings = Vec::new();
        (builder.finish(template, &context.settings(&catalog), &mut warnings)?, None)
    } else {
        let mut builder = TableBuilder::new(&schema_name, &name, schema.collation);
        let mut warnings = std::mem::take(context.warnings);
        let settings = context.settings(&catalog);
        let built = (|| {
            builder.apply_options(statement.options, &settings, &mut warnings)?;
            for element in statement.elements {
                builder.add_element(element, &settings, &mut warnings)?;
            }
            if !selected.is_empty() && !builder.foreign_keys.is_empty() {
                return Err(e::ER_FOREIGN_KEY_WITH_ATOMIC_CREATE_SELECT.bare());
            }
            for column in selected {
                if builder.column_position(&column.name).is_none() {
                    super::check_column_name(&column.name)?;
                    builder.add_selected_column(column, &settings);
                }
            }
            builder
                .put_selected_last(&selected.iter().map(|column| column.name.as_str()).collect::<Vec<_>>());
            if exists {
                return Err(e::ER_TABLE_EXISTS_ERROR.with(&[&name]));
            }
            builder.finish(template, &settings, &mut warnings)
        })();
        *context.warnings = warnings;
        (built?, builder.auto_increment)
    };
    if exists {
        return Err(e::ER_TABLE_EXISTS_ERROR.with(&[&name]));
    }
    foreign_key::check_awaited(&base, &table, &context.settings(&base), true)?;
    table.begin_layout();
    change.create_missing_trees(&mut table)?;
    let table = Arc::new(table);
    change.put_new(Arc::clone(&table))?;
    let (position, temporary) = change.commit()?;
    for entry in temporary {
        context.temporary.put(entry);
    }
    if let Some(next) = auto_increment.filter(|&next| next > 1)
        && table.auto_increment_column().is_some()
    {
        let catalog = context.temporary.overlay(&context.definitions.catalog().load());
        if let Some(entry) = catalog.table(&schema_name, &name)
            && let Some(opened) = entry.source.as_any().downcast_ref::<Table>()
        {
            opened.auto_increment().set(context.definitions.store(), next).map_err(exec::access_error)?;
        }
    }
    Ok((Outcome { position, ..Outcome::default() }, true))
}

/// The parents of the foreign keys of a new table. Nobody may be at work on their rows who does not know of the key.
fn parents_of_new(
    context: &Context<'_>,
    statement: &ast::CreateTable<'_>,
    schema: &str,
) -> Result<Vec<Arc<TableEntry>>> {
    let mut tables = Vec::new();
    if statement.temporary {
        return Ok(tables);
    }
    let catalog = context.definitions.catalog().load();
    for references in references_of_elements(statement.elements) {
        tables.extend(foreign_key::parent_of(&catalog, schema, references)?);
    }
    Ok(tables)
}

/// The table `schema.name`.
///
/// # Errors
/// 1146; 1044 for a system table.
pub(super) fn find(catalog: &Catalog, schema: &str, name: &str) -> Result<Arc<TableEntry>> {
    let Some(entry) = catalog.table(schema, name) else {
        if catalog.schema(schema).is_none() {
            return Err(e::ER_BAD_DB_ERROR.with(&[&schema]));
        }
        return Err(e::ER_NO_SUCH_TABLE.with(&[&schema, &name]));
    };
    if entry.definition.kind == TableKind::System {
        return Err(e::ER_DBACCESS_DENIED_ERROR.with(&[&"", &"", &schema]));
    }
    Ok(Arc::clone(entry))
}

/// The table `schema.name`, which is no view.
///
/// # Errors
/// As [`find`]; 1347 for a view.
pub(super) fn find_table(catalog: &Catalog, schema: &str, name: &str) -> Result<Arc<TableEntry>> {
    let entry = find(catalog, schema, name)?;
    if entry.definition.kind == TableKind::View {
        return Err(e::ER_WRONG_OBJECT.with(&[&schema, &name, &"BASE TABLE"]));
    }
    Ok(entry)
}

/// DROP TABLE.
///
/// # Errors
/// MySQL's: 1051, 3730, 1205. Nothing is dropped then.
pub fn drop_tables(context: &mut Context<'_>, statement: &ast::DropTable<'_>) -> Result<Outcome> {
    let catalog = context.definitions.catalog().load();
    let mut unknown = Vec::new();
    let mut base: Vec<Arc<TableEntry>> = Vec::new();
    let mut temporary: Vec<(String, String)> = Vec::new();
    for name in statement.names {
        let (schema, table) = context.resolve(name)?;
        if context.temporary.get(&schema, &table).is_some() {
            temporary.push((schema, table));
        } else if let Some(entry) = catalog
            .table(&schema, &table)
            .filter(|entry| !statement.temporary && entry.definition.kind != TableKind::View)
        {
            if entry.definition.kind == TableKind::System {
                return Err(e::ER_DBACCESS_DENIED_ERROR.with(&[&"", &"", &schema]));
            }
            if base.iter().any(|other| other.definition.id == entry.definition.id) {
                return Err(e::ER_NONUNIQ_TABLE.with(&[&table]));
            }
            base.push(Arc::clone(entry));
        } else {
            unknown.push(format!("{schema}.{table}"));
        }
    }
    if !unknown.is_empty() && !statement.if_exists {
        return Err(e::ER_BAD_TABLE_ERROR.with(&[&unknown.join(",")]));
    }
    for name in &unknown {
        context.warnings.push(e::ER_BAD_TABLE_ERROR.note(&[name]));
    }
    if base.is_empty() && temporary.is_empty() {
        return Ok(Outcome::default());
    }
    let _locks = lock_all(&base, context)?;
    let mut change = context.definitions.begin();
    if context.session.foreign_key_checks {
        for entry in &base {
            check_not_parent(&change.catalog, &entry.definition, &base)?;
        }
    }
    for entry in &base {
        let now = find(&change.catalog, &entry.definition.schema, &entry.definition.name)
            .map_err(|_| e::ER_BAD_TABLE_ERROR.with(&[&qualified(&entry.definition)]))?;
        change.delete(&now.definition)?;
    }
    let (position, _) = change.commit()?;
    for (schema, table) in &temporary {
        context.temporary.drop_table(schema, table);
    }
    Ok(Outcome { position, ..Outcome::default() })
}

fn qualified(table: &TableDefinition) -> String {
    format!("{}.{}", table.schema, table.name)
}

/// A table that others refer to cannot go unless they go too.
pub(super) fn check_not_parent(
    catalog: &Catalog,
    table: &TableDefinition,
    going: &[Arc<TableEntry>],
) -> Result<()> {
    let stays = |child: &TableDefinition| !going.iter().any(|entry| entry.definition.id == child.id);
    match catalog.references().of_parent(table.id).find(|reference| stays(&reference.child.definition)) {
        Some(reference) => Err(e::ER_FK_CANNOT_DROP_PARENT.with(&[
            &table.name,
            &reference.definition().name,
            &reference.child.definition.name,
        ])),
        None => Ok(()),
    }
}

/// A table that others refer to cannot be emptied at a stroke.
fn check_no_children(catalog: &Catalog, table: &TableDefinition) -> Result<()> {
    let mut references = catalog.references().of_parent(table.id);
    let Some(reference) = references.find(|reference| reference.child.definition.id != table.id) else {
        return Ok(());
    };
    let child = &reference.child.definition;
    let key = &reference.definition().name;
    let text = format!("`{}`.`{}`, CONSTRAINT `{key}`", child.schema, child.name);
    Err(e::ER_TRUNCATE_ILLEGAL_FK.with(&[&text]))
}

/// TRUNCATE TABLE: new empty trees in place of the old ones.
///
/// # Errors
/// MySQL's: 1146, 1701, 1205.
pub fn truncate_table(context: &mut Context<'_>, name: &ast::ObjectName<'_>) -> Result<Outcome> {
    let (schema, name) = context.resolve(name)?;
    let catalog = context.temporary.overlay(&context.definitions.catalog().load());
    if schema == "performance_schema" && catalog.table(&schema, &name).is_some() {
        // MySQL counts from the beginning there; nothing is kept here that would.
        return Ok(Outcome::default());
    }
    let entry = find(&catalog, &schema, &name)?;
    if entry.definition.kind == TableKind::View {
        return Err(e::ER_NO_SUCH_TABLE.with(&[&schema, &name]));
    }
    let _locks = lock_all(std::slice::from_ref(&entry), context)?;
    let mut change = context.definitions.begin();
    let overlaid = context.temporary.overlay(&Arc::new(change.catalog.clone()));
    let entry = find(&overlaid, &schema, &name)?;
    if context.session.foreign_key_checks {
        check_no_children(&change.catalog, &entry.definition)?;
    }
    let mut table = (*entry.definition).clone();
    change.drop_trees(&trees_of(&table))?;
    table.rows_tree = TreeNumber(0);
    table.large_values_tree = TreeNumber(0);
    for index in &mut table.indexes {
        index.tree = TreeNumber(0);
    }
    table.begin_layout();
    change.create_missing_trees(&mut table)?;
    context
        .definitions
        .dictionary()
        .reset_counter(&mut change.transaction, table.id)
        .map_err(exec::access_error)?;
    change.put_rebuilt(Arc::new(table), &entry)?;
    let (position, temporary) = change.commit()?;
    for entry in temporary {
        context.temporary.put(entry);
    }
    Ok(Outcome { position, ..Outcome::default() })
}

/// RENAME TABLE.
///
/// # Errors
/// MySQL's: 1146, 1050, 1049, 1205. Nothing is renamed then.
pub fn rename_tables(
    context: &mut Context<'_>,
    pairs: &[(ast::ObjectName<'_>, ast::ObjectName<'_>)],
) -> Result<Outcome> {
    let mut names = Vec::with_capacity(pairs.len());
    for (from, to) in pairs {
        names.push((context.resolve(from)?, context.resolve(to)?));
    }
    let catalog = context.definitions.catalog().load();
    let mut concerned: Vec<Arc<TableEntry>> =
        names.iter().filter_map(|((schema, name), _)| catalog.table(schema, name).cloned()).collect();
    for ((schema, name), _) in &names {
        if let Some(entry) = catalog.table(schema, name) {
            concerned.extend(foreign_key::children(&catalog, &entry.definition));
        }
    }
    let _locks = lock_all(&concerned, context)?;
    let mut change = context.definitions.begin();
    // Pair after pair over the names alone, as the statement's later pairs may use names the earlier ones freed.
    let mut moved: Vec<(Arc<TableEntry>, String, String)> = Vec::new();
    for ((schema, name), (new_schema, new_name)) in &names {
        let Some(target) = change.catalog.schema(new_schema) else {
            return Err(e::ER_BAD_DB_ERROR.with(&[new_schema]));
        };
        if target.table(new_name).is_some() || moved.iter().any(|(_, s, n)| s == new_schema && n == new_name)
        {
            return Err(e::ER_TABLE_EXISTS_ERROR.with(&[new_name]));
        }
        let earlier = moved.iter().position(|(_, s, n)| s == schema && n == name);
        let entry = match earlier {
            Some(position) => moved.remove(position).0,
            None => {
                let entry = find(&change.catalog, schema, name)?;
                if let Some(from) = change.catalog.schema_mut(schema) {
                    from.remove(name);
                }
                entry
            }
        };
        if entry.definition.kind == TableKind::View && *entry.definition.schema != **new_schema {
            return Err(e::ER_FORBID_SCHEMA_CHANGE.with(&[&entry.definition.schema, new_schema]));
        }
        require_same_schema(&entry.definition, new_schema)?;
        moved.push((entry, new_schema.clone(), new_name.clone()));
    }
    let renamed: Vec<Renamed> = moved
        .iter()
        .map(|(entry, schema, name)| Renamed {
            from: (Arc::clone(&entry.definition.schema), Arc::clone(&entry.definition.name)),
            to: (schema.as_str().into(), name.as_str().into()),
        })
        .collect();
    let ids: Vec<TableId> = moved.iter().map(|(entry, ..)| entry.definition.id).collect();
    for (entry, schema, name) in moved {
        let mut table = (*entry.definition).clone();
        let old_name = Arc::clone(&table.name);
        table.schema_id = change.catalog.schema(&schema).map_or(table.schema_id, |schema| schema.id);
        table.schema = schema.as_str().into();
        table.name = name.as_str().into();
        if table.kind == TableKind::View {
            change.put_view(Arc::new(table), Some(&*entry))?;
            continue;
        }
        rename_generated_constraints(&mut table, &old_name);
        foreign_key::follow_names(&mut table, &renamed);
        for key in &table.foreign_keys {
            foreign_key::check_name_is_free(&change.catalog, &table, &key.name)?;
        }
        for check in &table.checks {
            check_name_is_free(&change.catalog, &table, &check.name)?;
        }
        foreign_key::check_awaited(&change.catalog, &table, &context.settings(&change.catalog), false)?;
        change.put_altered(Arc::new(table), &entry)?;
    }
    foreign_key::follow_rename(&mut change, &renamed, &ids)?;
    let (position, _) = change.commit()?;
    Ok(Outcome { position, ..Outcome::default() })
}

/// A table with triggers stays in its schema, in which their names are.
///
/// # Errors
/// 1435.
pub(super) fn require_same_schema(table: &TableDefinition, schema: &str) -> Result<()> {
    let moves = *table.schema != *schema;
    if moves && !table.triggers.is_empty() { Err(e::ER_TRG_IN_WRONG_SCHEMA.bare()) } else { Ok(()) }
}

/// Constraints that got their name from the table follow its new name.
pub(super) fn rename_generated_constraints(table: &mut TableDefinition, old_name: &str) {
    let renamed = |name: &Arc<str>, infix: &str, new: &str| -> Option<Arc<str>> {
        let number = name.strip_prefix(old_name)?.strip_prefix(infix)?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!("{new}{infix}{number}").into())
    };
    let new = Arc::clone(&table.name);
    for key in &mut table.foreign_keys {
        if let Some(name) = renamed(&key.name, "_ibfk_", &new) {
            key.name = name;
        }
    }
    for check in &mut table.checks {
        if let Some(name) = renamed(&check.name, "_chk_", &new) {
            check.name = name;
        }
    }
}
