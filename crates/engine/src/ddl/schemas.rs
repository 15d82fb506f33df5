//! CREATE, ALTER and DROP DATABASE.

use std::sync::Arc;

use catalog::Schema;
use service::error as e;
use syntax::ast;
use types::CollationId;

use super::tables::{check_not_parent, lock_all};
use super::{Context, Outcome, Result, check_name, text_of};
use session::column_type::{charset_warning, collation_warning, resolve_collation};

fn collation_of(
    options: &[ast::DatabaseOption<'_>],
    context: &mut Context<'_>,
) -> Result<Option<CollationId>> {
    let (mut charset, mut collation) = (None, None);
    let mut default_asked = false;
    for option in options {
        match *option {
            ast::DatabaseOption::Charset(Some(name)) => {
                charset_warning(name, context.warnings);
                charset = Some(name);
            }
            ast::DatabaseOption::Charset(None) => default_asked = true,
            ast::DatabaseOption::Collate(name) => {
                name.into_iter().for_each(|name| collation_warning(name, context.warnings));
                collation = name;
            }
            ast::DatabaseOption::Encryption(value) if value.eq_ignore_ascii_case(b"N") => {}
            ast::DatabaseOption::Encryption(_) => {
                return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"schema encryption"]));
            }
            ast::DatabaseOption::ReadOnly(Some(1)) => {
                return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"READ ONLY schemas"]));
            }
            ast::DatabaseOption::ReadOnly(_) => {}
        }
    }
    let found = resolve_collation(charset, collation)?;
    Ok(found.or_else(|| default_asked.then_some(context.session.server_collation)))
}

/// CREATE DATABASE.
///
/// # Errors
/// MySQL's: 1007, 1102, 1115...
pub fn create_schema(context: &mut Context<'_>, statement: &ast::CreateDatabase<'_>) -> Result<Outcome> {
    let name = text_of(statement.name.text)?;
    check_name(name)?;
    if name.is_empty() || name.ends_with(' ') {
        return Err(e::ER_WRONG_DB_NAME.with(&[&name]));
    }
    let collation = collation_of(statement.options, context)?.unwrap_or(context.session.server_collation);
    let mut change = context.definitions.begin();
    if change.catalog.schema(name).is_some() {
        if statement.if_not_exists {
            context.warnings.push(e::ER_DB_CREATE_EXISTS.note(&[&name]));
            return Ok(Outcome { affected_rows: 1, ..Outcome::default() });
        }
        return Err(e::ER_DB_CREATE_EXISTS.with(&[&name]));
    }
    let id = change.dictionary().new_schema_id();
    let schema = Schema::new(id, name, collation, false);
    context
        .definitions
        .dictionary()
        .put_schema(&mut change.transaction, &schema)
        .map_err(exec::access_error)?;
    change.catalog.insert_schema(Arc::new(schema));
    let (position, _) = change.commit()?;
    Ok(Outcome { affected_rows: 1, position, ..Outcome::default() })
}

/// ALTER DATABASE.
///
/// # Errors
/// MySQL's: 1049, 1046, 1115...
pub fn alter_schema(context: &mut Context<'_>, statement: &ast::AlterDatabase<'_>) -> Result<Outcome> {
    let name = match statement.name {
        Some(name) => text_of(name.text)?.to_owned(),
        None => context.session.database.ok_or_else(|| e::ER_NO_DB_ERROR.bare())?.to_owned(),
    };
    let collation = collation_of(statement.options, context)?;
    let mut change = context.definitions.begin();
    let Some(schema) = change.catalog.schema_mut(&name).filter(|schema| !schema.system) else {
        return Err(e::ER_BAD_DB_ERROR.with(&[&name]));
    };
    if let Some(collation) = collation {
        schema.collation = collation;
    }
    let schema = schema.clone();
    context
        .definitions
        .dictionary()
        .put_schema(&mut change.transaction, &schema)
        .map_err(exec::access_error)?;
    let (position, _) = change.commit()?;
    Ok(Outcome { affected_rows: 1, position, ..Outcome::default() })
}

/// DROP DATABASE. Affected rows are the tables that were in it.
///
/// # Errors
/// MySQL's: 1008, 1205.
pub fn drop_schema(context: &mut Context<'_>, name: &ast::Ident<'_>, if_exists: bool) -> Result<Outcome> {
    let name = text_of(name.text)?;
    let current = context.definitions.catalog().load();
    let Some(schema) = current.schema(name) else {
        if if_exists {
            context.warnings.push(e::ER_DB_DROP_EXISTS.note(&[&name]));
            return Ok(Outcome::default());
        }
        check_name(name)?;
        return Err(e::ER_DB_DROP_EXISTS.with(&[&name]));
    };
    if schema.system {
        return Err(system_schema_error(name));
    }
    let tables: Vec<_> = schema.tables_sorted().into_iter().cloned().collect();
    let _locks = lock_all(&tables, context)?;
    let mut change = context.definitions.begin();
    // What was there when the locks were taken is what goes; a table made meanwhile makes the statement start over.
    let unchanged = change.catalog.schema(name).is_some_and(|now| now.table_count() == tables.len());
    if !unchanged {
        return Err(e::ER_LOCK_WAIT_TIMEOUT.bare());
    }
    if context.session.foreign_key_checks {
        for table in &tables {
            check_not_parent(&change.catalog, &table.definition, &tables)?;
        }
    }
    let id = schema.id;
    for table in &tables {
        change.delete(&table.definition)?;
    }
    let routines: Vec<_> = change
        .catalog
        .routines
        .sorted()
        .into_iter()
        .filter(|routine| *routine.schema == *name)
        .cloned()
        .collect();
    for routine in &routines {
        let dictionary = context.definitions.dictionary();
        dictionary.delete_routine(&mut change.transaction, routine.id).map_err(exec::access_error)?;
        Arc::make_mut(&mut change.catalog.routines).remove(routine);
    }
    let events: Vec<_> =
        change.catalog.events.iter().filter(|event| *event.schema == *name).cloned().collect();
    for event in &events {
        let dictionary = context.definitions.dictionary();
        dictionary.delete_event(&mut change.transaction, event.id).map_err(exec::access_error)?;
        Arc::make_mut(&mut change.catalog.events).remove(event);
    }
    context
        .definitions
        .dictionary()
        .delete_schema(&mut change.transaction, id)
        .map_err(exec::access_error)?;
    change.catalog.remove_schema(name);
    let (position, _) = change.commit()?;
    Ok(Outcome { affected_rows: tables.len() as u64, position, ..Outcome::default() })
}

/// Nobody defines anything in a system schema.
#[cold]
pub(super) fn system_schema_error(name: &str) -> Box<service::SqlError> {
    if name == session::schema_names::MYSQL_SCHEMA {
        return e::ER_NO_SYSTEM_SCHEMA_ACCESS.with(&[&name]);
    }
    e::ER_DBACCESS_DENIED_ERROR.with(&[&"", &"", &name])
}
