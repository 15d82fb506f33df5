//! What changes without touching a row.
//!
//! A row names the version of the layout it was written in (`table::codec::row`), and a definition describes all versions
//! there may be rows of. So these are instant: columns added and dropped at any place, moved, renamed; other defaults; NULL
//! allowed; wider integers and strings; more members of ENUM and SET; indexes dropped, renamed, hidden. Index entries have no
//! versions: a column that an index holds, and the clustered key above all, keeps its form, or that index is built again.

use std::collections::BTreeSet;

use catalog::{
    ColumnDefault, ColumnDefinition, DroppedColumn, EarlierForm, IndexDefinition, IndexPart, StoredValue,
    TableDefinition, names_equal,
};
use service::error as e;
use service::error::SqlError;
use table::codec::field::Field;
use table::codec::row::VERSIONS_MAX;
use types::{Physical, TypeKind};

use crate::ddl::Context;
use crate::ddl::builder::TableBuilder;
use crate::ddl::defaults::zero_decimal;

/// For each index of the new table the old index whose entries are the same, if any.
pub(super) fn kept_indexes(
    builder: &TableBuilder,
    old: &TableDefinition,
    table: &TableDefinition,
    mapping: &[Option<usize>],
) -> Vec<Option<usize>> {
    table
        .indexes
        .iter()
        .map(|index| {
            let origin = builder.keys.iter().find_map(|key| {
                let same_name = key.name.as_deref().is_some_and(|name| names_equal(name, &index.name));
                key.origin.filter(|_| same_name)
            })?;
            let before = &old.indexes[origin];
            let parts: Option<Vec<IndexPart>> = index
                .parts
                .iter()
                .map(|part| Some(IndexPart { column: mapping[part.column]?, ..*part }))
                .collect();
            let same_columns =
                before.parts.iter().zip(&index.parts).all(|(before, after)| {
                    same_form(&old.columns[before.column], &table.columns[after.column])
                });
            let same = parts.as_ref() == Some(&before.parts) && before.is_unique() == index.is_unique();
            (same && same_columns && covers_alike((old, before), (table, index))).then_some(origin)
        })
        .collect()
}

/// Whether entries of an index certainly repeat the same columns in both tables: which ones depends on how long these may be.
fn covers_alike(
    before: (&TableDefinition, &IndexDefinition),
    after: (&TableDefinition, &IndexDefinition),
) -> bool {
    let bytes_max = |(table, index): (&TableDefinition, &IndexDefinition)| -> u64 {
        let primary = table.indexes.iter().filter(|index| index.is_primary());
        let columns: BTreeSet<usize> =
            primary.chain([index]).flat_map(|index| &index.parts).map(|part| part.column).collect();
        columns.iter().map(|&column| table.columns[column].data_type.bytes_max()).sum()
    };
    let (before, after) = (bytes_max(before), bytes_max(after));
    before == after || before.max(after) <= table::COVERED_BYTES_MAX
}

/// Whether rows of the old table can be read as rows of the new one; then describes, in the new definition, how the rows that
/// there are hold its columns.
pub(super) fn instant_layout(
    old: &TableDefinition,
    table: &mut TableDefinition,
    mapping: &[Option<usize>],
    recomputed: &[bool],
    context: &Context<'_>,
) -> bool {
    if recomputed.contains(&true) {
        return false;
    }
    let clustered = old.clustered.map_or(&[][..], |index| &old.indexes[index].parts);
    for (column, origin) in table.columns.iter().zip(mapping) {
        let Some(origin) = *origin else {
            if column.auto_increment || matches!(column.default, ColumnDefault::Expression(_)) {
                return false; // Each row has a value of its own.
            }
            continue;
        };
        let before = &old.columns[origin];
        let in_key = clustered.iter().any(|part| part.column == origin);
        if !rows_serve(before, column) || (in_key && !same_form(before, column)) {
            return false;
        }
    }
    let mut next_order = old
        .columns
        .iter()
        .chain(old.dropped_columns.iter().map(|dropped| &dropped.column))
        .map(|column| column.stored_order + 1)
        .max()
        .unwrap_or(0);
    let mut new_version = false;
    for (ordinal, origin) in mapping.iter().enumerate() {
        let column = &mut table.columns[ordinal];
        if let Some(before) = origin.map(|origin| &old.columns[origin]) {
            if Field::of(&before.data_type) != Field::of(&column.data_type)
                || before.nullable != column.nullable
            {
                new_version = true;
                column.earlier_forms.push(EarlierForm {
                    until_version: old.row_version,
                    data_type: before.data_type.clone(),
                    nullable: before.nullable,
                });
            }
            continue;
        }
        new_version = true;
        column.since_version = old.row_version + 1;
        column.stored_order = next_order;
        next_order += 1;
        column.instant_default = default_value(column, context).unwrap_or(StoredValue::Null);
    }
    for (ordinal, column) in old.columns.iter().enumerate() {
        if !mapping.contains(&Some(ordinal)) {
            new_version = true;
            let dropped = DroppedColumn { column: column.clone(), until_version: old.row_version };
            table.dropped_columns.push(dropped);
        }
    }
    if new_version && old.row_version >= VERSIONS_MAX {
        return false;
    }
    table.row_version = old.row_version + u32::from(new_version);
    true
}

/// What a new column holds in rows that are there already; `None` for an expression.
pub(super) fn default_value(column: &ColumnDefinition, context: &Context<'_>) -> Option<StoredValue> {
    Some(match &column.default {
        ColumnDefault::Null => StoredValue::Null,
        ColumnDefault::Literal { value, .. } => value.clone(),
        ColumnDefault::CurrentTimestamp => {
            let unit = 10_i64.pow(6 - u32::from(column.data_type.scale.min(6)));
            let micros = context.session.now_micros / unit * unit;
            match column.data_type.kind {
                TypeKind::Timestamp => StoredValue::Int(micros),
                _ => StoredValue::Int(context.session.zone.from_utc(micros).pack()),
            }
        }
        ColumnDefault::Expression(_) => return None,
        // NOT NULL without default: the type's zero.
        ColumnDefault::None if column.nullable => StoredValue::Null,
        ColumnDefault::None => match column.data_type.physical() {
            Physical::Int if column.data_type.kind == TypeKind::Enum => StoredValue::Int(1),
            Physical::Int => StoredValue::Int(0),
            Physical::Double => StoredValue::Double(0.0),
            Physical::Decimal => StoredValue::Decimal(zero_decimal(&column.data_type)),
            Physical::Bytes if column.data_type.kind == TypeKind::Json => {
                let mut document = Vec::new();
                types::json::Json::Null.encode(&mut document);
                StoredValue::Bytes(document.into())
            }
            Physical::Bytes
                if column.data_type.is_binary_string() && column.data_type.kind == TypeKind::Char =>
            {
                StoredValue::Bytes(vec![0; column.data_type.length as usize].into())
            }
            Physical::Bytes => StoredValue::Bytes(Box::default()),
        },
    })
}

/// 1292 for the rows that are there, if a column that is new would hold a zero date in them: a DATE or DATETIME without default.
pub(super) fn zero_date(table: &TableDefinition, mapping: &[Option<usize>]) -> Option<Box<SqlError>> {
    let is_zero = |column: &ColumnDefinition| {
        matches!(column.data_type.kind, TypeKind::Date | TypeKind::DateTime)
            && !column.nullable
            && column.default == ColumnDefault::None
            && column.generated.is_none()
    };
    let mut added = mapping.iter().zip(&table.columns).filter(|(origin, _)| origin.is_none());
    let (_, column) = added.find(|(_, column)| is_zero(column))?;
    let value = match column.data_type.kind {
        TypeKind::Date => "date value: '0000-00-00'",
        _ => "datetime value: '0000-00-00 00:00:00'",
    };
    let text = format!("Incorrect {value} for column '{}' at row 1", column.name);
    Some(e::ER_TRUNCATED_WRONG_VALUE.saying(text))
}

/// Whether the column at `ordinal` is new and has an expression as default.
pub(super) fn is_computed(table: &TableDefinition, mapping: &[Option<usize>], ordinal: usize) -> bool {
    mapping[ordinal].is_none() && matches!(table.columns[ordinal].default, ColumnDefault::Expression(_))
}

/// Whether the STORED column at `ordinal` is one that MySQL computes for the rows that are there.
pub(super) fn is_stored_recomputed(table: &TableDefinition, recomputed: &[bool], ordinal: usize) -> bool {
    recomputed[ordinal] && table.columns[ordinal].is_stored_generated()
}

/// Whether a column of the same name has another type, NULL and NOT NULL not counted: such a change copies the rows in MySQL
/// unless it only widens.
pub(super) fn is_other_type(before: &ColumnDefinition, after: &ColumnDefinition) -> bool {
    let before = ColumnDefinition { nullable: after.nullable, ..before.clone() };
    !same_bytes(&before, after)
}

/// Whether values of `before`, as rows hold them, can be read as values of `after`.
fn rows_serve(before: &ColumnDefinition, after: &ColumnDefinition) -> bool {
    if before.nullable && !after.nullable {
        return false; // Somebody has to look for NULLs.
    }
    if !before.auto_increment && after.auto_increment {
        return false; // Zeros and NULLs in it would have to be numbered.
    }
    same_bytes(before, after) || widens(before, after)
}

/// Whether the column looks the same in index entries.
pub(super) fn same_form(before: &ColumnDefinition, after: &ColumnDefinition) -> bool {
    before.nullable == after.nullable
        && before.auto_increment == after.auto_increment
        && same_bytes(before, after)
        && (!before.data_type.is_string() || before.data_type.length == after.data_type.length)
}

/// An integer type with more bytes that holds all values of the earlier one.
fn widens(before: &ColumnDefinition, after: &ColumnDefinition) -> bool {
    let integer = |column: &ColumnDefinition| {
        use TypeKind as K;
        matches!(column.data_type.kind, K::TinyInt | K::SmallInt | K::MediumInt | K::Int | K::BigInt)
    };
    let width = |column: &ColumnDefinition| Field::of(&column.data_type).width();
    let (before_unsigned, after_unsigned) = (before.data_type.unsigned, after.data_type.unsigned);
    integer(before)
        && integer(after)
        && width(before) < width(after)
        && (before_unsigned == after_unsigned || before_unsigned)
}

/// Whether a column's values have the same bytes in rows under both definitions, and mean the same.
fn same_bytes(before: &ColumnDefinition, after: &ColumnDefinition) -> bool {
    let (one, two) = (&before.data_type, &after.data_type);
    if one.kind != two.kind || one.unsigned != two.unsigned {
        return false;
    }
    match one.kind {
        TypeKind::Decimal | TypeKind::Bit => one.length == two.length && one.scale == two.scale,
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => one.scale == two.scale,
        TypeKind::Float | TypeKind::Double => one.scale == two.scale && one.length == two.length,
        TypeKind::Enum | TypeKind::Set => {
            // Members may be added behind the others.
            one.collation == two.collation
                && match (&one.members, &two.members) {
                    (Some(one), Some(two)) => {
                        one.len() <= two.len()
                            && one.iter().zip(two.iter()).all(|(left, right)| left == right)
                    }
                    _ => false,
                }
        }
        TypeKind::VarChar => one.collation == two.collation && one.length <= two.length,
        _ if one.is_string() => one.collation == two.collation && one.length == two.length,
        _ => true,
    }
}
