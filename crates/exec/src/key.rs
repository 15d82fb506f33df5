//! Keys: values as bytes that compare and hash as the values do, and values of expressions as ends of index ranges.

use std::sync::LazyLock;

use access::{KeyBound, KeyBytes, KeyBytesRange, KeyRange, TimestampZone, next_prefix};
use catalog::{ColumnDefinition, IndexPart, TableDefinition};
use plan::physical::{KeyValue, RangeEnd, RangePlan};
use types::collation::LikePattern;
use types::planted::{self, Plant};
use types::temporal::DateTime;
use types::temporal::parse::{DateMode, parse_datetime, parse_time_with};
use types::vector::Cell;
use types::{Column, DataType, Decimal, TypeKind, Value};

/// Appends `cell` so that the bytes of a whole key compare as the values do: NULL first, or last when `descending`.
pub(crate) fn append_key(cell: Cell<'_>, data_type: &DataType, descending: bool, out: &mut Vec<u8>) {
    let start = out.len();
    match cell {
        Cell::Null => out.push(0),
        Cell::Int(value) => {
            out.push(1);
            let bits = if data_type.unsigned { value as u64 } else { value as u64 ^ 1 << 63 };
            out.extend_from_slice(&bits.to_be_bytes());
        }
        Cell::Double(value) => {
            out.push(1);
            let bits = if value == 0.0 { 0 } else { value.to_bits() };
            let bits = if bits >> 63 == 1 { !bits } else { bits ^ 1 << 63 };
            out.extend_from_slice(&bits.to_be_bytes());
        }
        Cell::Decimal(value) => {
            out.push(1);
            value.write_key(65, 30, out);
            if DECIMAL_LIMITS.iter().any(|limit| out.ends_with(limit)) {
                append_large_decimal(value, out);
            }
        }
        Cell::Bytes(bytes) if data_type.kind == TypeKind::Json => {
            out.push(1);
            types::json::sort_key(bytes, out);
        }
        Cell::Bytes(bytes) => {
            out.push(1);
            data_type.collation.sort_key(bytes, out);
        }
    }
    if descending {
        for byte in &mut out[start..] {
            *byte = !*byte;
        }
    }
}

/// Appends the key of an integer that is compared with integers of the other signedness: equal numbers have equal keys.
pub(crate) fn append_mixed_integer_key(cell: Cell<'_>, is_unsigned: bool, out: &mut Vec<u8>) {
    let Cell::Int(value) = cell else {
        out.push(0);
        return;
    };
    // Negative numbers and those from 2^63 on have the same bits.
    out.push(if value < 0 && !is_unsigned { 2 } else { 1 });
    out.extend_from_slice(&value.to_be_bytes());
}

/// Keys of the largest and the smallest decimal of 65 digits with 30 of them behind the point: larger ones end there too.
static DECIMAL_LIMITS: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    [false, true].map(|negative| {
        let mut key = Vec::new();
        Decimal::limit(65, 30, negative).write_key(65, 30, &mut key);
        key
    })
});

/// Distinguishes what lies beyond the limit: integer and fraction, each by itself.
#[cold]
fn append_large_decimal(value: &Decimal, out: &mut Vec<u8>) {
    let floor = value.floor();
    floor.write_key(65, 0, out);
    value.sub(&floor).unwrap_or(Decimal::ZERO).write_key(65, 30, out);
}

/// Appends a key that distinguishes any two values that an expression could distinguish, those that compare as equal too.
pub(crate) fn append_exact_key(cell: Cell<'_>, data_type: &DataType, out: &mut Vec<u8>) {
    match cell {
        Cell::Bytes(bytes) => {
            out.push(1);
            out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
            out.extend_from_slice(bytes);
        }
        Cell::Double(value) => {
            out.push(1);
            out.extend_from_slice(&value.to_bits().to_be_bytes());
        }
        Cell::Decimal(value) => {
            out.push(value.scale());
            append_key(cell, data_type, false, out);
        }
        Cell::Null | Cell::Int(_) => append_key(cell, data_type, false, out),
    }
}

/// Appends the key of row `row` of `columns`.
pub(crate) fn append_row_key(columns: &[Column], types: &[DataType], row: usize, out: &mut Vec<u8>) {
    for (column, data_type) in columns.iter().zip(types) {
        append_key(column.cell(row), data_type, false, out);
    }
}

/// A value on its way into an index key.
enum Converted {
    /// NULL.
    Null,
    /// A value of the column's type that equals it.
    Exact(Value),
    /// Between this value and the next larger one the column can hold.
    Above(Value),
    /// Smaller than every value of the column.
    BelowAll,
    /// Larger than every value of the column.
    AboveAll,
    /// Equal to no value of the column, and without a place in its order.
    Nowhere,
    /// Cannot be told: the range must not narrow.
    Unknown,
}

/// Parts of an index of a table whose rows a backend keeps, as ranges need them.
#[derive(Clone, Copy)]
pub(crate) struct IndexKeys<'a> {
    pub(crate) definition: &'a TableDefinition,
    pub(crate) parts: &'a [IndexPart],
    pub(crate) zone: &'a dyn TimestampZone,
    pub(crate) mode: DateMode,
}

impl<'a> IndexKeys<'a> {
    fn part(&self, number: usize) -> (&'a IndexPart, &'a ColumnDefinition) {
        let part = &self.parts[number];
        (part, &self.definition.columns[part.column])
    }
}

/// The range of keys that a range plan means, as bytes; `None` if it is empty. `values` are its expressions' values in row
/// `row`: the equal ones, then the lower and the upper end.
pub(crate) fn bytes_range(
    keys: IndexKeys<'_>,
    bytes: &dyn KeyBytes,
    range: &RangePlan,
    values: &[Column],
    row: usize,
) -> Option<KeyBytesRange> {
    let key = match equal_parts(keys, bytes, range, values, row) {
        EqualParts::Known(key) => key,
        EqualParts::KnownTo(key) => return Some(KeyBytesRange::prefix(key)),
        EqualParts::Nothing => return None,
    };
    let number = range.equal.len();
    if range.lower.is_none() && range.upper.is_none() {
        return Some(KeyBytesRange::prefix(key));
    }
    let zone = keys.zone;
    let (part, column) = keys.part(number);
    let [first, last] = edges(keys, range, &values[number..], row)?;
    let with = |edge: &Edge| -> Option<Vec<u8>> {
        let mut key = key.clone();
        match edge {
            Edge::Open => return None,
            Edge::At(value, _) => write_value(bytes, number, value, zone, &mut key),
            Edge::Prefix(prefix) => bytes.write_beginning(number, prefix, &mut key),
        }
        Some(key)
    };
    let null_key = || {
        let mut key = key.clone();
        bytes.write_part(number, Cell::Null, zone, &mut key);
        key
    };
    let lower = match (with(&first), &first) {
        (Some(mut key), Edge::At(_, false)) => {
            if !next_prefix(&mut key) {
                return None;
            }
            key
        }
        (Some(key), _) => key,
        // NULL is in no range: it comes first, or last if the part goes down.
        (None, _) if column.nullable && !part.descending => {
            let mut key = null_key();
            next_prefix(&mut key);
            key
        }
        (None, _) => key.clone(),
    };
    let upper = match (with(&last), &last) {
        (Some(key), Edge::At(_, false)) => Some(key),
        (Some(mut key), _) => next_prefix(&mut key).then_some(key),
        (None, _) if column.nullable && part.descending => Some(null_key()),
        (None, _) => {
            let mut key = key.clone();
            if key.is_empty() { None } else { next_prefix(&mut key).then_some(key) }
        }
    };
    let range = KeyBytesRange { lower, upper };
    if range.is_empty() { None } else { Some(range) }
}

/// As [`bytes_range`], as values. A range of texts that begin alike is left to the filter, which checks them again.
pub(crate) fn value_range(
    keys: IndexKeys<'_>,
    range: &RangePlan,
    values: &[Column],
    row: usize,
) -> Option<KeyRange> {
    let key = match equal_values(keys, range, values, row) {
        EqualParts::Known(key) => key,
        EqualParts::KnownTo(key) => return Some(KeyRange::equal(key)),
        EqualParts::Nothing => return None,
    };
    let number = range.equal.len();
    if range.lower.is_none() && range.upper.is_none() {
        return Some(KeyRange::equal(key));
    }
    let (part, column) = keys.part(number);
    let bound = |edge: Edge, null_lies_here: bool| {
        let mut key = key.clone();
        match edge {
            Edge::At(value, is_inside) => {
                key.push(value);
                if is_inside { KeyBound::Inclusive(key) } else { KeyBound::Exclusive(key) }
            }
            // NULL is in no range.
            Edge::Open | Edge::Prefix(_) if column.nullable && null_lies_here => {
                key.push(Value::Null);
                KeyBound::Exclusive(key)
            }
            Edge::Open | Edge::Prefix(_) if key.is_empty() => KeyBound::Unbounded,
            Edge::Open | Edge::Prefix(_) => KeyBound::Inclusive(key),
        }
    };
    let [first, last] = edges(keys, range, &values[number..], row)?;
    Some(KeyRange { lower: bound(first, !part.descending), upper: bound(last, part.descending) })
}

/// The first and the last end of a range behind its equal parts, in the order of the index; `None` if it is empty.
fn edges(keys: IndexKeys<'_>, range: &RangePlan, values: &[Column], row: usize) -> Option<[Edge; 2]> {
    let (part, column) = keys.part(range.equal.len());
    let stored = &column.data_type;
    let mut ends = values.iter();
    let mut edge_of = |end: Option<&RangeEnd>, is_lower| match end {
        None => Some(Edge::Open),
        Some(end) => {
            let cell = ends.next().map_or(Cell::Null, |column| column.cell(row));
            edge(end, cell, stored, is_lower, keys)
        }
    };
    let mut from = edge_of(range.lower.as_ref(), true)?;
    let mut to = edge_of(range.upper.as_ref(), false)?;
    // A part that holds the beginnings of values has the same key for the value and for those on both sides of it.
    if part.prefix_length.is_some() {
        for edge in [&mut from, &mut to] {
            if let Edge::At(_, is_inside) = edge {
                *is_inside = true;
            }
        }
    }
    // In a descending part the larger value comes first.
    Some(if part.descending { [to, from] } else { [from, to] })
}

/// The key of a range's parts that are compared with `=` or `<=>`.
pub(crate) enum EqualParts<K> {
    /// The whole of it.
    Known(K),
    /// Up to a value of which the column's equal cannot be told.
    KnownTo(K),
    /// No row has such values.
    Nothing,
}

/// As [`bytes_range`], without the ends.
pub(crate) fn equal_parts(
    keys: IndexKeys<'_>,
    bytes: &dyn KeyBytes,
    range: &RangePlan,
    values: &[Column],
    row: usize,
) -> EqualParts<Vec<u8>> {
    let zone = keys.zone;
    let mut key = Vec::with_capacity(32);
    for (number, equal) in range.equal.iter().enumerate() {
        let (_, column) = keys.part(number);
        let stored = &column.data_type;
        let cell = values[number].cell(row);
        // The usual case without a detour: the same shape, and nothing to convert.
        if let Cell::Int(value) = cell
            && plain_integer(stored)
            && plain_integer(&equal.expr.data_type)
            && fits(value, equal.expr.data_type.unsigned, stored)
        {
            bytes.write_part(number, cell, zone, &mut key);
            continue;
        }
        if let Cell::Bytes(_) = cell
            && stored.is_string()
        {
            bytes.write_part(number, cell, zone, &mut key);
            continue;
        }
        match equal_part(column, equal, cell, keys.mode) {
            EqualParts::Known(value) => write_value(bytes, number, &value, zone, &mut key),
            EqualParts::KnownTo(_) => return EqualParts::KnownTo(key),
            EqualParts::Nothing => return EqualParts::Nothing,
        }
    }
    EqualParts::Known(key)
}

/// As [`value_range`], without the ends.
pub(crate) fn equal_values(
    keys: IndexKeys<'_>,
    range: &RangePlan,
    values: &[Column],
    row: usize,
) -> EqualParts<Vec<Value>> {
    let mut key = Vec::with_capacity(range.equal.len());
    for (number, equal) in range.equal.iter().enumerate() {
        let (_, column) = keys.part(number);
        match equal_part(column, equal, values[number].cell(row), keys.mode) {
            EqualParts::Known(value) => key.push(value),
            EqualParts::KnownTo(_) => return EqualParts::KnownTo(key),
            EqualParts::Nothing => return EqualParts::Nothing,
        }
    }
    EqualParts::Known(key)
}

/// The value that one part equals.
fn equal_part(
    column: &ColumnDefinition,
    equal: &KeyValue,
    cell: Cell<'_>,
    mode: DateMode,
) -> EqualParts<Value> {
    let stored = &column.data_type;
    match convert(cell, &equal.expr.data_type, stored, mode) {
        Converted::Exact(value) => EqualParts::Known(value),
        Converted::Null
            if equal.null_safe
                && !column.nullable
                && stored.is_integer()
                && planted::is(Plant::NullIsSmallest) =>
        {
            let (least, _) = limits(stored);
            EqualParts::Known(integer_value(least, stored))
        }
        // A part that is never NULL has no key for it: no row matches.
        Converted::Null if equal.null_safe && column.nullable => EqualParts::Known(Value::Null),
        Converted::Unknown => EqualParts::KnownTo(Value::Null),
        _ => EqualParts::Nothing,
    }
}

/// An end of a range in the column's own values.
enum Edge {
    Open,
    /// The value, and whether keys that start with it are in.
    At(Value, bool),
    /// Every text that begins so is in.
    Prefix(Vec<u8>),
}

/// `None`: the range is empty.
fn edge(end: &RangeEnd, cell: Cell<'_>, stored: &DataType, lower: bool, keys: IndexKeys<'_>) -> Option<Edge> {
    if end.like_prefix {
        let Cell::Bytes(pattern) = cell else { return None };
        let pattern = LikePattern::new(stored.collation, pattern, Some(u32::from(b'\\')));
        let (prefix, _) = pattern.literal_prefix();
        return Some(if prefix.is_empty() { Edge::Open } else { Edge::Prefix(prefix.to_vec()) });
    }
    Some(match convert(cell, &end.expr.data_type, stored, keys.mode) {
        Converted::Null | Converted::Nowhere => return None,
        // Of the keys of TIMESTAMP only the zero date's lies before 1970.
        Converted::Exact(Value::DateTime(value)) | Converted::Above(Value::DateTime(value))
            if stored.kind == TypeKind::Timestamp
                && value != DateTime::ZERO
                && keys.zone.utc_micros(value) <= 0 =>
        {
            Edge::At(Value::DateTime(DateTime::ZERO), !lower)
        }
        Converted::Exact(value) => Edge::At(value, end.inclusive),
        // `> 5.5` starts behind 5; `< 5.5` ends with 5.
        Converted::Above(value) => Edge::At(value, !lower),
        Converted::BelowAll if lower => Edge::Open,
        Converted::AboveAll if !lower => Edge::Open,
        Converted::BelowAll | Converted::AboveAll => return None,
        Converted::Unknown => Edge::Open,
    })
}

fn write_value(
    bytes: &dyn KeyBytes,
    number: usize,
    value: &Value,
    zone: &dyn TimestampZone,
    key: &mut Vec<u8>,
) {
    access::with_cell(value, |cell| bytes.write_part(number, cell, zone, key));
}

fn plain_integer(data_type: &DataType) -> bool {
    data_type.is_integer()
}

/// Smallest and largest value of an integer column.
fn limits(stored: &DataType) -> (i128, i128) {
    let bits = match stored.kind {
        TypeKind::Bit => return (0, (1i128 << stored.length.clamp(1, 64)) - 1),
        TypeKind::Year => return (0, 2155),
        _ => u32::from(stored.integer_bytes().unwrap_or(8)) * 8,
    };
    if stored.unsigned {
        (0, (1i128 << bits) - 1)
    } else {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    }
}

fn fits(value: i64, unsigned: bool, stored: &DataType) -> bool {
    let value = if unsigned { i128::from(value as u64) } else { i128::from(value) };
    let (least, largest) = limits(stored);
    (least..=largest).contains(&value)
}

fn convert(cell: Cell<'_>, from: &DataType, stored: &DataType, mode: DateMode) -> Converted {
    if cell == Cell::Null {
        return Converted::Null;
    }
    if stored.is_integer() {
        return to_integer(cell, from, stored);
    }
    match stored.kind {
        TypeKind::Decimal => to_decimal(cell, from, stored),
        TypeKind::Double => match cell {
            Cell::Double(value) => Converted::Exact(Value::Double(value)),
            Cell::Int(value) if from.unsigned => Converted::Exact(Value::Double(value as u64 as f64)),
            Cell::Int(value) => Converted::Exact(Value::Double(value as f64)),
            Cell::Decimal(value) => Converted::Exact(Value::Double(value.to_f64())),
            _ => Converted::Unknown,
        },
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => {
            let value = match cell {
                Cell::Int(packed) if from.has_date() => DateTime::unpack(packed),
                Cell::Bytes(text) => match parse_datetime(&from.collation.charset().readable(text), mode) {
                    Ok(parsed) => parsed.value,
                    Err(_) => return Converted::Unknown,
                },
                _ => return Converted::Unknown,
            };
            let floor = if stored.kind == TypeKind::Date {
                value.date_part()
            } else {
                let micros = types::temporal::truncate_micros(i64::from(value.micros), stored.scale);
                DateTime { micros: micros as u32, ..value }
            };
            let wrapped =
                if stored.kind == TypeKind::Date { Value::Date(floor) } else { Value::DateTime(floor) };
            if floor == value { Converted::Exact(wrapped) } else { Converted::Above(wrapped) }
        }
        TypeKind::Time => match cell {
            Cell::Int(micros) if from.kind == TypeKind::Time => {
                let step = 10i64.pow(6 - u32::from(stored.scale.min(6)));
                let floor = micros.div_euclid(step) * step;
                let time = types::temporal::Time { micros: floor };
                if floor == micros {
                    Converted::Exact(Value::Time(time))
                } else {
                    Converted::Above(Value::Time(time))
                }
            }
            Cell::Bytes(text) => {
                match parse_time_with(&from.collation.charset().readable(text), mode.truncates_fraction) {
                    // What the column would not keep as it is, rounded or compared as a text, is left to the condition.
                    Ok(parsed)
                        if !parsed.truncated
                            && !parsed.out_of_range
                            && types::temporal::truncate_micros(parsed.value.micros, stored.scale)
                                == parsed.value.micros =>
                    {
                        Converted::Exact(Value::Time(parsed.value))
                    }
                    Ok(_) | Err(_) => Converted::Unknown,
                }
            }
            _ => Converted::Unknown,
        },
        TypeKind::Enum => match (cell, &stored.members) {
            (Cell::Bytes(text), Some(members)) => match members.position(text, stored.collation) {
                Some(position) => Converted::Exact(Value::UInt(position as u64 + 1)),
                // '' is the value of index 0, which no member has.
                None if stored.collation.charset().trim_trailing_spaces(text).is_empty() => {
                    Converted::Unknown
                }
                None => Converted::Nowhere,
            },
            (Cell::Int(index), _) => Converted::Exact(Value::UInt(index as u64)),
            _ => Converted::Unknown,
        },
        _ if stored.is_string() => match cell {
            Cell::Bytes(bytes) => Converted::Exact(Value::string(bytes, stored.collation)),
            _ => Converted::Unknown,
        },
        _ => Converted::Unknown,
    }
}

fn integer_value(value: i128, stored: &DataType) -> Value {
    if stored.unsigned { Value::UInt(value as u64) } else { Value::Int(value as i64) }
}

fn to_integer(cell: Cell<'_>, from: &DataType, stored: &DataType) -> Converted {
    let (least, largest) = limits(stored);
    let place = |floor: i128, exact: bool| {
        if floor < least {
            Converted::BelowAll
        } else if floor > largest {
            Converted::AboveAll
        } else if exact {
            Converted::Exact(integer_value(floor, stored))
        } else {
            Converted::Above(integer_value(floor, stored))
        }
    };
    let of_double = |value: f64| {
        let floor = value.floor();
        if floor < -1e30 {
            Converted::BelowAll
        } else if floor > 1e30 {
            Converted::AboveAll
        } else if floor.abs() >= 9.007_199_254_740_992e15 {
            // Many integers compare equal to such a double.
            Converted::Unknown
        } else {
            place(floor as i128, floor == value)
        }
    };
    match cell {
        Cell::Int(value) if from.unsigned => place(i128::from(value as u64), true),
        Cell::Int(value) => place(i128::from(value), true),
        Cell::Double(value) => of_double(value),
        Cell::Decimal(value) => {
            let floor = value.floor();
            match floor.to_units(0) {
                Some(units) => {
                    place(units, floor == *value || floor.sub(value).is_some_and(|rest| rest.is_zero()))
                }
                None if value.is_negative() => Converted::BelowAll,
                None => Converted::AboveAll,
            }
        }
        // A literal in hex or bits is a number.
        Cell::Bytes(bytes) if from.is_hex_literal() => match bytes.len() {
            0..=8 => place(bytes.iter().fold(0, |number, &byte| number << 8 | i128::from(byte)), true),
            _ => Converted::Unknown,
        },
        Cell::Bytes(text) => {
            of_double(types::number::parse_double(&from.collation.charset().readable(text)).value)
        }
        Cell::Null => Converted::Null,
    }
}

fn to_decimal(cell: Cell<'_>, from: &DataType, stored: &DataType) -> Converted {
    let value = match cell {
        Cell::Int(value) if from.unsigned => Decimal::from_u64(value as u64),
        Cell::Int(value) => Decimal::from_i64(value),
        Cell::Decimal(value) => *value,
        _ => return Converted::Unknown,
    };
    match value.fit(stored.length, stored.scale) {
        Ok((fitted, _)) => match fitted.sub(&value) {
            Some(rest) if rest.is_zero() => Converted::Exact(Value::Decimal(fitted)),
            // Rounded up: the value lies below it.
            Some(rest) if !rest.is_negative() => match fitted.sub(&Decimal::from_units(1, stored.scale)) {
                Some(floor) => Converted::Above(Value::Decimal(floor)),
                None => Converted::Unknown,
            },
            Some(_) => Converted::Above(Value::Decimal(fitted)),
            None => Converted::Unknown,
        },
        Err(_) if value.is_negative() => Converted::BelowAll,
        Err(_) => Converted::AboveAll,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A DECIMAL(65,0) has more digits before the point than the usual key has room for.
    #[test]
    fn keys_of_large_decimals_compare_as_they_do() {
        let texts = [
            &format!("-{}", "9".repeat(65)),
            "-10000000000000000000000000000000000000000000001",
            "-10000000000000000000000000000000000000000000000.5",
            "-10000000000000000000000000000000000000000000000",
            "-99999999999999999999999999999999999.9",
            "-1",
            "0",
            "0.5",
            "99999999999999999999999999999999999",
            "99999999999999999999999999999999999.999999999999999999999999999999",
            "100000000000000000000000000000000000",
            "100000000000000000000000000000000000.25",
            &"9".repeat(64),
            &"9".repeat(65),
        ];
        let key = |text: &str, descending| {
            let value = Decimal::parse(text.as_bytes()).value;
            let mut key = Vec::new();
            append_key(Cell::Decimal(&value), &DataType::decimal(65, 30), descending, &mut key);
            // What follows in the row's key must not matter.
            append_key(Cell::Int(0), &DataType::BOOL, descending, &mut key);
            key
        };
        for pair in texts.windows(2) {
            assert!(key(pair[0], false) < key(pair[1], false), "{pair:?}");
            assert!(key(pair[0], true) > key(pair[1], true), "{pair:?} descending");
        }
    }
}
