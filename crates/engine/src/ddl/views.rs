//! CREATE, ALTER and DROP VIEW.

use std::sync::Arc;

use catalog::{ColumnDefault, ColumnDefinition, NameMap, TableDefinition, TableEntry, TableKind};
use plan::logical::Created;
use service::error as e;
use session::backend::{NewView, SelectedColumn};
use syntax::ast;
use types::TypeKind;

use super::tables::{lock_all, template};
use super::{Context, Outcome, Result, selected};

/// The view `schema.name`.
///
/// # Errors
/// 1347 for a table.
fn view_of(catalog: &catalog::Catalog, schema: &str, name: &str) -> Result<Option<Arc<TableEntry>>> {
    match catalog.table(schema, name) {
        Some(entry) if entry.definition.kind != TableKind::View => {
            Err(e::ER_WRONG_OBJECT.with(&[&schema, &name, &"VIEW"]))
        }
        found => Ok(found.cloned()),
    }
}

/// CREATE VIEW and ALTER VIEW, whose query has been bound. Answers whether a view was made or changed: not if IF NOT EXISTS found something.
///
/// # Errors
/// MySQL's: 1049, 1050, 1146, 1347, 1205.
pub(crate) fn create_view(context: &mut Context<'_>, new: &NewView) -> Result<Outcome> {
    let (schema_name, name) = (&*new.schema, &*new.name);
    let replaces = new.or_replace || new.is_altered;
    let earlier = context.definitions.catalog().load().table(schema_name, name).cloned();
    let _locks = match &earlier {
        Some(entry) if replaces => lock_all(std::slice::from_ref(entry), context)?,
        _ => crate::metadata::MetadataLocks::default(),
    };
    let mut change = context.definitions.begin();
    let Some(schema) = change.catalog.schema(schema_name) else {
        return Err(e::ER_BAD_DB_ERROR.with(&[&schema_name]));
    };
    if schema.system {
        return Err(super::schemas::system_schema_error(schema_name));
    }
    let (schema_id, schema_name) = (schema.id, Arc::clone(&schema.name));
    let exists = schema.table(name).is_some();
    if exists && new.if_not_exists {
        context.warnings.push(e::ER_TABLE_EXISTS_ERROR.note(&[&name]));
        return Ok(Outcome::default());
    }
    if exists && !replaces {
        return Err(e::ER_TABLE_EXISTS_ERROR.with(&[&name]));
    }
    let found = view_of(&change.catalog, &schema_name, name)?;
    if found.is_none() && new.is_altered {
        return Err(e::ER_NO_SUCH_TABLE.with(&[&schema_name, &name]));
    }
    let is_as_locked = |now: &Arc<TableEntry>| {
        earlier.as_ref().is_some_and(|earlier| earlier.definition.id == now.definition.id)
    };
    if found.as_ref().is_some_and(|now| !is_as_locked(now)) {
        // Another one has come while the lock was waited for.
        return Err(e::ER_LOCK_WAIT_TIMEOUT.bare());
    }
    let id = match &found {
        Some(entry) => entry.definition.id,
        None => change.dictionary().new_table_id(),
    };
    let definition = TableDefinition {
        name: name.into(),
        schema: schema_name,
        columns: new.columns.iter().map(column_of).collect(),
        column_names: NameMap::new(new.columns.iter().map(|column| column.name.as_str())),
        view: Some(Arc::new(new.view.clone())),
        ..template(id, schema_id, TableKind::View, context.session.now_micros)
    };
    change.put_view(Arc::new(definition), found.as_deref())?;
    let (position, _) = change.commit()?;
    Ok(Outcome { position, ..Outcome::default() })
}

/// A column of a view, which shows the default of the table's column it is.
fn column_of(selected: &SelectedColumn) -> ColumnDefinition {
    let mut selected = selected.clone();
    let is_plain = selected.data_type.is_integer() && selected.data_type.kind != TypeKind::Year;
    if is_plain && selected.created == Created::Function {
        // An integer that is computed is no INT unless it is short.
        selected.created = Created::Value;
    }
    let selected = &selected;
    let data_type = selected::stored_type(selected);
    let implicit = || selected::implicit(&data_type, selected.nullable, true);
    let default = match &selected.source {
        None => implicit(),
        Some((column, _)) if column.auto_increment => implicit(),
        Some((column, _)) if column.data_type.kind == TypeKind::Bit => match column.nullable {
            true => ColumnDefault::Null,
            false => ColumnDefault::None,
        },
        Some((column, false)) if column.default == ColumnDefault::CurrentTimestamp => ColumnDefault::Null,
        Some((column, _)) => column.default.clone(),
    };
    let direct = selected::direct(selected);
    let mut column = ColumnDefinition::new(&selected.name, data_type, selected.nullable);
    column.default = default;
    column.on_update_now = direct.is_some_and(|source| source.on_update_now);
    if let Some((source, _)) = &selected.source {
        column.comment = Arc::clone(&source.comment);
    }
    column
}

/// DROP VIEW.
///
/// # Errors
/// MySQL's: 1051, 1347, 1205. Nothing is dropped then.
pub(crate) fn drop_views(
    context: &mut Context<'_>,
    names: &[ast::ObjectName<'_>],
    if_exists: bool,
) -> Result<Outcome> {
    let catalog = context.definitions.catalog().load();
    let mut unknown = Vec::new();
    let mut views: Vec<Arc<TableEntry>> = Vec::new();
    for name in names {
        let (schema, view) = context.resolve(name)?;
        let found = match view_of(&catalog, &schema, &view) {
            Err(_) if if_exists => {
                context.warnings.push(e::ER_WRONG_OBJECT.note(&[&schema, &view, &"VIEW"]));
                continue;
            }
            found => found?,
        };
        match found {
            Some(entry) if views.iter().any(|other| other.definition.id == entry.definition.id) => {
                return Err(e::ER_NONUNIQ_TABLE.with(&[&view]));
            }
            Some(entry) => views.push(entry),
            None => unknown.push(format!("{schema}.{view}")),
        }
    }
    if !unknown.is_empty() && !if_exists {
        return Err(e::ER_BAD_TABLE_ERROR.with(&[&unknown.join(",")]));
    }
    for name in &unknown {
        context.warnings.push(e::ER_BAD_TABLE_ERROR.note(&[name]));
    }
    if views.is_empty() {
        return Ok(Outcome::default());
    }
    let _locks = lock_all(&views, context)?;
    let mut change = context.definitions.begin();
    for entry in &views {
        let (schema, name) = (&entry.definition.schema, &entry.definition.name);
        let Some(now) = view_of(&change.catalog, schema, name)? else {
            return Err(e::ER_BAD_TABLE_ERROR.with(&[&format!("{schema}.{name}")]));
        };
        change.delete(&now.definition)?;
    }
    let (position, _) = change.commit()?;
    Ok(Outcome { position, ..Outcome::default() })
}
