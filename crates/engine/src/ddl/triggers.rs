//! CREATE and DROP TRIGGER: changes of the table's definition that touch no row.

use std::sync::Arc;

use catalog::{TableEntry, TableKind, TriggerDefinition};
use service::error as e;
use session::backend::NewTrigger;

use super::tables::{find_table, lock_all};
use super::{Context, Outcome, Result};

/// CREATE TRIGGER, whose body has been compiled.
///
/// # Errors
/// MySQL's: 1146, 1347, 1359, 1361, 3011, 4100, 1205. Nothing has changed then.
pub(crate) fn create_trigger(context: &mut Context<'_>, new: &NewTrigger) -> Result<Outcome> {
    let (schema, table) = (&*new.schema, &*new.table);
    let entry = find_table(&context.definitions.catalog().load(), schema, table)?;
    let _locks = lock_all(std::slice::from_ref(&entry), context)?;
    let mut change = context.definitions.begin();
    let entry = find_table(&change.catalog, schema, table)?;
    if entry.definition.kind != TableKind::Base {
        return Err(e::ER_TRG_ON_VIEW_OR_TEMP_TABLE.with(&[&table]));
    }
    let name = &*new.trigger.name;
    let others = change.catalog.schema(schema).into_iter().flat_map(|schema| schema.tables());
    let taken = others.map(|other| &other.definition).find(|other| other.trigger(name).is_some());
    if let Some(taken) = taken {
        if !new.if_not_exists {
            return Err(e::ER_TRG_ALREADY_EXISTS.bare());
        }
        if taken.id != entry.definition.id {
            return Err(e::ER_IF_NOT_EXISTS_UNSUPPORTED_TRG_EXISTS_ON_DIFFERENT_TABLE.with(&[&schema, &name]));
        }
        let note = e::ER_WARN_TRG_ALREADY_EXISTS.note(&[&name, &schema, &table]);
        context.warnings.push(note);
        return Ok(Outcome::default());
    }
    let mut definition = (*entry.definition).clone();
    let trigger = Arc::new(new.trigger.clone());
    let triggers = &mut definition.triggers;
    match &new.order {
        None => triggers.push(trigger),
        Some((follows, other)) => {
            let is_it = |candidate: &Arc<TriggerDefinition>| {
                candidate.is_named(other)
                    && candidate.event == trigger.event
                    && candidate.timing == trigger.timing
            };
            let Some(at) = triggers.iter().position(is_it) else {
                return Err(e::ER_REFERENCED_TRG_DOES_NOT_EXIST.with(&[other]));
            };
            triggers.insert(at + usize::from(*follows), trigger);
        }
    }
    change.put_altered(Arc::new(definition), &entry)?;
    let (position, _) = change.commit()?;
    Ok(Outcome { position, ..Outcome::default() })
}

/// DROP TRIGGER.
///
/// # Errors
/// 1360, 1205. Nothing has changed then.
pub(crate) fn drop_trigger(context: &Context<'_>, schema: &str, table: &str, name: &str) -> Result<Outcome> {
    let entry = find_table(&context.definitions.catalog().load(), schema, table)?;
    let _locks = lock_all(std::slice::from_ref(&entry), context)?;
    let mut change = context.definitions.begin();
    let found = change.catalog.table(schema, table).cloned();
    let has_it = |entry: &Arc<TableEntry>| entry.definition.trigger(name).is_some();
    let entry = found.filter(has_it).ok_or_else(|| e::ER_TRG_DOES_NOT_EXIST.bare())?;
    let mut definition = (*entry.definition).clone();
    definition.triggers.retain(|trigger| !trigger.is_named(name));
    change.put_altered(Arc::new(definition), &entry)?;
    let (position, _) = change.commit()?;
    Ok(Outcome { position, ..Outcome::default() })
}
