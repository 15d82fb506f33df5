//! CREATE, DROP, TRUNCATE and RENAME TABLE.

use std::sync::Arc;

use catalog::{
    Catalog, NameMap, SchemaId, TableDefinition, TableEntry, TableId, TableKind, TableOptions, TreeNumber,
};
use service::error as e;
use syntax::ast;
use table::{MetadataLock, MetadataMode, Table};
use types::DataType;

use super::definitions::trees_of;
use super::draft::Draft;
use super::{Context, Outcome, Result};
use crate::metadata::{lock_error, lock_of};

/// A column of the query of CREATE TABLE ... AS SELECT.
#[derive(Clone, Debug)]
pub struct SelectedColumn {
    /// Its name in the result.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Whether it can be NULL.
    pub nullable: bool,
}

/// Metadata locks held exclusively; given back when dropped.
pub(super) struct ExclusiveLocks(Vec<Arc<MetadataLock>>);

impl Drop for ExclusiveLocks {
    fn drop(&mut self) {
        for lock in &self.0 {
            lock.unlock(MetadataMode::Alone);
        }
    }
}

/// Locks tables exclusively, in the order of their numbers, so that two statements cannot wait for each other. Those that
/// the session has locked with LOCK TABLES are left as they are.
///
/// # Errors
/// 1205, 1317.
pub(super) fn lock_all(tables: &[Arc<TableEntry>], context: &Context<'_>) -> Result<ExclusiveLocks> {
    let mut sorted: Vec<_> = tables.iter().collect();
    sorted.sort_unstable_by_key(|entry| entry.definition.id);
    sorted.dedup_by_key(|entry| entry.definition.id);
    let mut held = ExclusiveLocks(Vec::with_capacity(sorted.len()));
    for entry in sorted {
        let Some(lock) = lock_of(entry) else { continue };
        if context.locked_tables.holds_alone(lock) {
            continue;
        }
        lock.lock(MetadataMode::Alone, context.patience).map_err(lock_error)?;
        held.0.push(Arc::clone(lock));
    }
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
        collation: types::CollationId::UTF8MB4_0900_AI_CI,
        comment: "".into(),
        created_micros: now_micros,
        options: TableOptions::default(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
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
    if exists && statement.if_not_exists {
        context.warnings.push(e::ER_TABLE_EXISTS_ERROR.note(&[&name]));
        return Ok((Outcome::default(), false));
    }
    if schema.system {
        return Err(super::schemas::system_schema_error(&schema_name));
    }
    let kind = if statement.temporary { TableKind::Temporary } else { TableKind::Base };
    let id = change.dictionary().new_table_id();
    let template = template(id, schema.id, kind, context.now_micros);
    let catalog = context.temporary.overlay(&base);
    let (mut table, auto_increment) = if let Some(like) = &statement.like {
        let (other_schema, other_name) = context.resolve(like)?;
        let other = find(&catalog, &other_schema, &other_name)?;
        let mut draft = Draft::of(&other.definition);
        draft.schema = schema_name.as_str().into();
        draft.name = name.as_str().into();
        draft.foreign_keys.clear(); // MySQL leaves them out too.
        for check in &mut draft.checks {
            check.name = None;
        }
        let mut warnings = Vec::new();
        (draft.finish(template, &context.settings(&catalog), &mut warnings)?, None)
    } else {
        let mut draft = Draft::new(&schema_name, &name, schema.collation);
        let mut warnings = std::mem::take(context.warnings);
        let settings = context.settings(&catalog);
        let built = (|| {
            draft.apply_options(statement.options, &settings, &mut warnings)?;
            for element in statement.elements {
                draft.add_element(element, &settings, &mut warnings)?;
            }
            for column in selected {
                if draft.column_position(&column.name).is_none() {
                    super::check_column_name(&column.name)?;
                    draft.add_selected_column(&column.name, column.data_type.clone(), column.nullable);
                }
            }
            draft.put_selected_last(&selected.iter().map(|column| column.name.as_str()).collect::<Vec<_>>());
            if exists {
                return Err(e::ER_TABLE_EXISTS_ERROR.with(&[&name]));
            }
            draft.finish(template, &settings, &mut warnings)
        })();
        *context.warnings = warnings;
        (built?, draft.auto_increment)
    };
    if exists {
        return Err(e::ER_TABLE_EXISTS_ERROR.with(&[&name]));
    }
    // Rows of a new table are all of its first layout.
    table.row_version = 0;
    for column in &mut table.columns {
        column.since_version = 0;
        column.instant_default = catalog::StoredValue::Null;
    }
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
            opened.auto_increment().set(context.definitions.store(), next).map_err(exec::write_error)?;
        }
    }
    Ok((Outcome { position, ..Outcome::default() }, true))
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
        } else if let Some(entry) = catalog.table(&schema, &table).filter(|_| !statement.temporary) {
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
    if context.foreign_key_checks {
        for entry in &base {
            check_not_parent(&catalog, &entry.definition, &base)?;
        }
    }
    if base.is_empty() && temporary.is_empty() {
        return Ok(Outcome::default());
    }
    let _locks = lock_all(&base, context)?;
    let mut change = context.definitions.begin();
    for entry in &base {
        let now = find(&change.catalog, &entry.definition.schema, &entry.definition.name)
            .map_err(|_| e::ER_BAD_TABLE_ERROR.with(&[&qualified(&entry.definition)]))?;
        change.delete(&now.definition)?;
    }
    for (schema, table) in &temporary {
        if let Some(entry) = context.temporary.remove(schema, table) {
            change.delete(&entry.definition)?;
        }
    }
    let (position, _) = change.commit()?;
    Ok(Outcome { position, ..Outcome::default() })
}

fn qualified(table: &TableDefinition) -> String {
    format!("{}.{}", table.schema, table.name)
}

/// A table that others refer to cannot go unless they go too.
fn check_not_parent(catalog: &Catalog, table: &TableDefinition, going: &[Arc<TableEntry>]) -> Result<()> {
    for child in catalog.base_tables() {
        if going.iter().any(|entry| entry.definition.id == child.definition.id) {
            continue;
        }
        for key in &child.definition.foreign_keys {
            if key.parent_schema == table.schema && key.parent_table == table.name {
                return Err(e::ER_FK_CANNOT_DROP_PARENT.with(&[
                    &table.name,
                    &key.name,
                    &child.definition.name,
                ]));
            }
        }
    }
    Ok(())
}

/// TRUNCATE TABLE: new empty trees in place of the old ones.
///
/// # Errors
/// MySQL's: 1146, 1701, 1205.
pub fn truncate_table(context: &mut Context<'_>, name: &ast::ObjectName<'_>) -> Result<Outcome> {
    let (schema, name) = context.resolve(name)?;
    let catalog = context.temporary.overlay(&context.definitions.catalog().load());
    if schema == "performance_schema" && catalog.table(&schema, &name).is_some() {
        // What is counted there begins anew in MySQL; nothing is kept here that would.
        return Ok(Outcome::default());
    }
    let entry = find(&catalog, &schema, &name)?;
    if context.foreign_key_checks
        && let Some((child, key)) = catalog.base_tables().find_map(|child| {
            let key = child.definition.foreign_keys.iter().find(|key| {
                *key.parent_schema == *schema
                    && *key.parent_table == *name
                    && child.definition.id != entry.definition.id
            })?;
            Some((Arc::clone(child), key.clone()))
        })
    {
        let text =
            format!("`{}`.`{}`, CONSTRAINT `{}`", child.definition.schema, child.definition.name, key.name);
        return Err(e::ER_TRUNCATE_ILLEGAL_FK.with(&[&text]));
    }
    let _locks = lock_all(std::slice::from_ref(&entry), context)?;
    let mut change = context.definitions.begin();
    let overlaid = context.temporary.overlay(&Arc::new(change.catalog.clone()));
    let entry = find(&overlaid, &schema, &name)?;
    let mut table = (*entry.definition).clone();
    change.drop_trees(&trees_of(&table))?;
    table.rows_tree = TreeNumber(0);
    table.large_values_tree = TreeNumber(0);
    for index in &mut table.indexes {
        index.tree = TreeNumber(0);
    }
    change.create_missing_trees(&mut table)?;
    context
        .definitions
        .dictionary()
        .reset_counter(&mut change.transaction, table.id)
        .map_err(exec::write_error)?;
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
    let concerned: Vec<Arc<TableEntry>> =
        names.iter().filter_map(|((schema, name), _)| catalog.table(schema, name).cloned()).collect();
    let _locks = lock_all(&concerned, context)?;
    let mut change = context.definitions.begin();
    // Pair after pair over the names alone, as the statement's later pairs may use names the earlier ones freed.
    let mut moved: Vec<(Arc<TableEntry>, String, String)> = Vec::new();
    for ((schema, name), (new_schema, new_name)) in &names {
        if schema == new_schema && name == new_name {
            find(&change.catalog, schema, name)?;
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
        let Some(target) = change.catalog.schema(new_schema) else {
            return Err(e::ER_BAD_DB_ERROR.with(&[new_schema]));
        };
        if target.table(new_name).is_some() || moved.iter().any(|(_, s, n)| s == new_schema && n == new_name)
        {
            return Err(e::ER_TABLE_EXISTS_ERROR.with(&[new_name]));
        }
        moved.push((entry, new_schema.clone(), new_name.clone()));
    }
    for (entry, schema, name) in moved {
        let mut table = (*entry.definition).clone();
        let (old_schema, old_name) = (Arc::clone(&table.schema), Arc::clone(&table.name));
        table.schema_id = change.catalog.schema(&schema).map_or(table.schema_id, |schema| schema.id);
        table.schema = schema.as_str().into();
        table.name = name.as_str().into();
        rename_generated_constraints(&mut table, &old_name);
        let renamed = Arc::new(table);
        change.put_altered(Arc::clone(&renamed), &entry)?;
        follow_rename(&mut change, &old_schema, &old_name, &renamed)?;
    }
    let (position, _) = change.commit()?;
    Ok(Outcome { position, ..Outcome::default() })
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

/// Foreign keys of other tables follow the table they refer to.
pub(super) fn follow_rename(
    change: &mut super::Change<'_>,
    old_schema: &str,
    old_name: &str,
    renamed: &TableDefinition,
) -> Result<()> {
    let children: Vec<Arc<TableEntry>> = change
        .catalog
        .base_tables()
        .filter(|child| {
            child.definition.id != renamed.id
                && child
                    .definition
                    .foreign_keys
                    .iter()
                    .any(|key| *key.parent_schema == *old_schema && *key.parent_table == *old_name)
        })
        .cloned()
        .collect();
    for child in children {
        let mut table = (*child.definition).clone();
        for key in &mut table.foreign_keys {
            if *key.parent_schema == *old_schema && *key.parent_table == *old_name {
                key.parent_schema = Arc::clone(&renamed.schema);
                key.parent_table = Arc::clone(&renamed.name);
            }
        }
        change.put_altered(Arc::new(table), &child)?;
    }
    Ok(())
}
