//! Keys of an altered table and its columns, whose names may have been given around: a key stays with its columns, not with
//! their names.

use std::sync::Arc;

use catalog::{ColumnDefinition, IndexPart, TableDefinition, names_equal};
use service::error as e;

use crate::ddl::Result;
use crate::ddl::builder::{
    ColumnBuilder, ForeignKeyBuilder, KeyBuilder, KeyPartBuilder, TableBuilder, part_bytes,
};

/// Gives the keys that were there the names their columns have now. Parts whose column is gone go, and keys without parts.
///
/// # Errors
/// 1828: a foreign key's column is gone.
pub(super) fn follow_columns(builder: &mut TableBuilder, old: &TableDefinition) -> Result<()> {
    let TableBuilder { columns, keys, foreign_keys, .. } = builder;
    for key in keys.iter_mut() {
        follow_key(key, columns, old);
    }
    keys.retain(|key| !key.parts.is_empty());
    for key in foreign_keys.iter_mut().filter(|key| key.existing) {
        follow_foreign_key(key, columns, old)?;
    }
    Ok(())
}

/// Keys that stand in the statement use the new names already.
fn follow_key(key: &mut KeyBuilder, columns: &[ColumnBuilder], old: &TableDefinition) {
    let Some(before) = key.origin.map(|origin| &old.indexes[origin]) else { return };
    let parts = key.parts.iter().zip(&before.parts).filter_map(|(part, was)| {
        if part.expression.is_some() {
            return Some(part.clone());
        }
        let column = successor(columns, old, was.column)?;
        Some(KeyPartBuilder {
            column: Arc::clone(&column.definition.name),
            prefix_length: prefix_length(column, &old.columns[was.column], was),
            ..part.clone()
        })
    });
    let parts: Vec<KeyPartBuilder> = parts.collect();
    if parts.len() != key.parts.len() {
        key.origin = None;
    }
    key.parts = parts;
}

/// The column that an old one's keys are over: itself, or a new one of its name, whichever comes first.
fn successor<'d>(
    columns: &'d [ColumnBuilder],
    old: &TableDefinition,
    ordinal: usize,
) -> Option<&'d ColumnBuilder> {
    columns.iter().find(|column| match column.origin {
        Some(origin) => origin == ordinal,
        None => names_equal(&column.definition.name, &old.columns[ordinal].name),
    })
}

/// How much of the column the part is over. A column that is shorter than its part was is in it as a whole; of a new column
/// MySQL takes as much as the part had of the old one.
fn prefix_length(column: &ColumnBuilder, before: &ColumnDefinition, part: &IndexPart) -> Option<u64> {
    let data_type = &column.definition.data_type;
    if column.origin.is_some() {
        let shortens = |length: &u64| data_type.is_text_or_blob() || *length < u64::from(data_type.length);
        return part.prefix_length.map(u64::from).filter(|length| data_type.is_string() && shortens(length));
    }
    let whole = IndexPart { prefix_length: None, ..*part };
    let unit = match before.data_type.is_string() {
        true => before.data_type.collation.charset().max_bytes_per_char() as u64,
        false => 1,
    };
    let length = part_bytes(before, part) / unit;
    let is_whole = !data_type.is_string() && part_bytes(&column.definition, &whole) == length;
    (!is_whole).then_some(length)
}

fn follow_foreign_key(
    key: &mut ForeignKeyBuilder,
    columns: &[ColumnBuilder],
    old: &TableDefinition,
) -> Result<()> {
    for name in &mut key.columns {
        let was_it = |column: &&ColumnBuilder| {
            column.origin.is_some_and(|origin| names_equal(&old.columns[origin].name, name))
        };
        let Some(column) = columns.iter().find(was_it) else {
            let key = key.name.as_deref().unwrap_or_default();
            return Err(e::ER_FK_COLUMN_CANNOT_DROP.with(&[name, &key]));
        };
        *name = Arc::clone(&column.definition.name);
    }
    Ok(())
}
