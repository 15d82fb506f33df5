//! COLUMNS and STATISTICS.

use catalog::{
    ColumnDefault, ColumnDefinition, GeneratedKind, IndexKind, StoredValue, TableDefinition, ViewDefinition,
    VirtualContext, VirtualScan,
};
use types::TypeKind;

use super::rows::{Cell, Rows};
use super::tables::{each_table, wanted};

/// `DATA_TYPE`: the type's name without arguments; `COLUMN_TYPE` has them.
#[must_use]
pub(crate) fn type_texts(column: &ColumnDefinition) -> (String, String) {
    let mut full = Vec::new();
    column.data_type.print_sql(&mut full);
    let full = String::from_utf8_lossy(&full).into_owned();
    let name = full.split(['(', ' ']).next().unwrap_or(&full).to_owned();
    (name, full)
}

/// `COLUMN_KEY`: PRI, UNI or MUL, whichever comes first.
#[must_use]
pub(crate) fn column_key(table: &TableDefinition, ordinal: usize) -> &'static str {
    let mut key = "";
    for (position, index) in table.indexes.iter().enumerate() {
        if !index.parts.iter().any(|part| part.column == ordinal) {
            continue;
        }
        // A table without a primary key shows its clustered unique key as one.
        if index.kind == IndexKind::Primary || table.clustered == Some(position) {
            return "PRI";
        }
        let first = index.parts[0].column == ordinal;
        if first && index.kind == IndexKind::Unique && index.parts.len() == 1 {
            key = "UNI";
        } else if first && key.is_empty() {
            key = "MUL";
        }
    }
    key
}

/// `COLUMN_DEFAULT` as text; `None` for NULL and for no default.
#[must_use]
pub(crate) fn default_text(column: &ColumnDefinition) -> Option<Vec<u8>> {
    match &column.default {
        ColumnDefault::None | ColumnDefault::Null => None,
        ColumnDefault::Literal { value: StoredValue::Null, .. } => None,
        ColumnDefault::Literal { text, .. } => Some(text.to_vec()),
        ColumnDefault::CurrentTimestamp => Some(current_timestamp(column).into_bytes()),
        ColumnDefault::Expression(text) => Some(catalog::escaped_expression(text).into_bytes()),
    }
}

fn current_timestamp(column: &ColumnDefinition) -> String {
    match column.data_type.scale {
        0 => "CURRENT_TIMESTAMP".to_owned(),
        digits => format!("CURRENT_TIMESTAMP({digits})"),
    }
}

/// `EXTRA`.
#[must_use]
pub fn extra(column: &ColumnDefinition) -> String {
    let mut parts = Vec::new();
    if column.auto_increment {
        parts.push("auto_increment".to_owned());
    }
    if matches!(column.default, ColumnDefault::CurrentTimestamp | ColumnDefault::Expression(_)) {
        parts.push("DEFAULT_GENERATED".to_owned());
    }
    if column.on_update_now {
        parts.push(format!("on update {}", current_timestamp(column)));
    }
    if let Some(generated) = &column.generated {
        let stored = generated.kind == GeneratedKind::Stored;
        parts.push(if stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" }.to_owned());
    }
    if column.invisible {
        parts.push("INVISIBLE".to_owned());
    }
    parts.join(" ")
}

/// COLUMNS.
pub fn columns(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    let reader = crate::session_context::SessionContext::of(context);
    each_table(context, wanted(scan, 1), wanted(scan, 2), |entry| {
        let table = &entry.definition;
        let is_valid = |view: &ViewDefinition| super::views::has_its_tables(context.catalog, view);
        if table.view.as_ref().is_some_and(|view| !is_valid(view)) {
            return;
        }
        for (ordinal, column) in table.seen_columns().enumerate() {
            let Some(privileges) = reader.column_privileges_text(table, &column.name) else { continue };
            let data_type = &column.data_type;
            let (type_name, column_type) = type_texts(column);
            let [characters_max, octets_max, precision, scale, fraction, charset, collation] =
                type_cells(data_type);
            let default = default_text(column);
            let generated = column.generated.as_ref();
            let expression = generated.map(|generated| catalog::escaped_expression(&generated.expression));
            rows.push(&[
                Cell::Text("def"),
                Cell::Text(&table.schema),
                Cell::Text(&table.name),
                Cell::Text(&column.name),
                Cell::UInt(ordinal as u64 + 1),
                default.as_deref().map_or(Cell::Null, Cell::Bytes),
                Cell::yes_no(column.nullable),
                Cell::Text(&type_name),
                characters_max,
                octets_max,
                precision,
                scale,
                fraction,
                charset,
                collation,
                Cell::Text(&column_type),
                Cell::Text(column_key(table, ordinal)),
                Cell::Text(&extra(column)),
                Cell::Text(&privileges),
                Cell::Text(&column.comment),
                Cell::Text(expression.as_deref().unwrap_or_default()),
                Cell::Null,
            ]);
        }
    });
}

/// `CHARACTER_MAXIMUM_LENGTH` to `COLLATION_NAME` of a type.
pub(super) fn type_cells(data_type: &types::DataType) -> [Cell<'static>; 7] {
    let has_characters = data_type.is_string() || matches!(data_type.kind, TypeKind::Enum | TypeKind::Set);
    let characters = has_characters && !data_type.is_binary_string();
    let char_bytes = data_type.collation.charset().max_bytes_per_char() as u64;
    let length = u64::from(data_type.length);
    let (characters_max, octets_max) = match data_type.kind {
        _ if !has_characters => (None, None),
        _ if data_type.is_text_or_blob() => {
            (Some(length / data_type.collation.charset().min_bytes_per_char() as u64), Some(length))
        }
        _ if !characters => (Some(length), Some(length)),
        _ => (Some(length), Some(length * char_bytes)),
    };
    let (precision, scale) = numeric_digits(data_type);
    let fraction = data_type.is_temporal().then(|| u64::from(data_type.scale));
    let fraction = fraction.filter(|_| data_type.kind != TypeKind::Date);
    [
        Cell::uint_or_null(characters_max),
        Cell::uint_or_null(octets_max),
        Cell::uint_or_null(precision),
        Cell::uint_or_null(scale),
        Cell::uint_or_null(fraction),
        if characters { Cell::Text(data_type.collation.charset().name()) } else { Cell::Null },
        if characters { Cell::Text(data_type.collation.name()) } else { Cell::Null },
    ]
}

/// `NUMERIC_PRECISION` and `NUMERIC_SCALE`.
fn numeric_digits(data_type: &types::DataType) -> (Option<u64>, Option<u64>) {
    let unsigned = data_type.unsigned;
    let fixed_scale =
        (data_type.scale != types::data_type::SCALE_NOT_FIXED).then(|| u64::from(data_type.scale));
    match data_type.kind {
        TypeKind::TinyInt => (Some(3), Some(0)),
        TypeKind::SmallInt => (Some(5), Some(0)),
        TypeKind::MediumInt => (Some(7), Some(0)),
        TypeKind::Int => (Some(10), Some(0)),
        TypeKind::BigInt => (Some(if unsigned { 20 } else { 19 }), Some(0)),
        TypeKind::Bit => (Some(u64::from(data_type.length)), None),
        TypeKind::Decimal => (Some(u64::from(data_type.length)), Some(u64::from(data_type.scale))),
        TypeKind::Float => (Some(fixed_scale.map_or(12, |_| u64::from(data_type.length))), fixed_scale),
        TypeKind::Double => (Some(fixed_scale.map_or(22, |_| u64::from(data_type.length))), fixed_scale),
        _ => (None, None),
    }
}

/// CARDINALITY of the first `part_count` parts of an index.
#[must_use]
pub fn cardinality(entry: &catalog::TableEntry, index: usize, part_count: usize) -> u64 {
    let statistics = entry.source.statistics();
    match statistics.shown_row_count() {
        0 => 0,
        _ => statistics.distinct_count(index, part_count),
    }
}

/// STATISTICS.
pub fn statistics(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    each_table(context, wanted(scan, 1), wanted(scan, 2), |entry| {
        let table = &entry.definition;
        for (number, index) in table.indexes.iter().enumerate() {
            for position in 0..index.parts.len() {
                let head = [
                    Cell::Text("def"),
                    Cell::Text(&table.schema),
                    Cell::Text(&table.name),
                    Cell::UInt(u64::from(!index.is_unique())),
                    Cell::Text(&table.schema),
                ];
                let expression = part_expression(table, number, position);
                rows.push(&[&head[..], &index_part_cells(entry, number, position, &expression)].concat());
            }
        }
    });
}

/// From the index's name on: what STATISTICS and SHOW INDEX say of a part of an index.
///
/// `expression`: what [`part_expression`] gives.
pub(crate) fn index_part_cells<'a>(
    entry: &'a catalog::TableEntry,
    number: usize,
    position: usize,
    expression: &'a Option<String>,
) -> [Cell<'a>; 13] {
    let index = &entry.definition.indexes[number];
    let part = &index.parts[position];
    let column = &entry.definition.columns[part.column];
    [
        Cell::Text(&index.name),
        Cell::UInt(position as u64 + 1),
        Cell::text_or_null(expression.is_none().then_some(&*column.name)),
        Cell::Text(if part.descending { "D" } else { "A" }),
        Cell::UInt(cardinality(entry, number, position + 1)),
        Cell::uint_or_null(part.prefix_length.map(u64::from)),
        Cell::Null,
        Cell::Text(if column.nullable { "YES" } else { "" }),
        Cell::Text("BTREE"),
        Cell::Text(""),
        Cell::Text(&index.comment),
        Cell::yes_no(index.visible),
        Cell::text_or_null(expression.as_deref()),
    ]
}

/// The expression of a part of an index, as it is listed; `None` for a column.
pub(crate) fn part_expression(table: &TableDefinition, number: usize, position: usize) -> Option<String> {
    let expression = table.part_expression(&table.indexes[number].parts[position])?;
    Some(catalog::escaped_expression(expression))
}
