//! Values between types: as text, as JSON, as [`Value`], and into a column ([`store`]).
//!
//! Storing never fails: it yields the value the column gets, and an [`Issue`] when that is not what was given. The
//! caller asks [`Issue::report`] what MySQL says to it: an error in strict mode, a warning or a note else.

use crate::charset::{Charset, convert_strict};
use crate::collation::CollationId;
use crate::data_type::{DataType, Physical, SCALE_NOT_FIXED, TypeKind};
use crate::decimal::{Clipped, Decimal};
use crate::json::{self, Json};
use crate::number;
use crate::temporal::parse::{self, DateMode, TemporalError};
use crate::temporal::zone::{TIMESTAMP_MICROS_MAX, TIMESTAMP_MICROS_MIN, TimeZone};
use crate::temporal::{DateTime, Time, round_micros, truncate_micros};
use crate::value::Value;
use crate::vector::{Cell, Column};

/// Appends a value as text, in its column's character set (ASCII for what is no text).
pub fn write_text(cell: Cell<'_>, data_type: &DataType, out: &mut Vec<u8>) {
    match (cell, data_type.kind) {
        (Cell::Null, _) => {}
        (Cell::Int(packed), TypeKind::Date) => DateTime::unpack(packed).write_date(out),
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            DateTime::unpack(packed).write_datetime(data_type.scale, out);
        }
        (Cell::Int(micros), TypeKind::Time) => Time { micros }.write_text(data_type.scale, out),
        (Cell::Int(year), TypeKind::Year) => {
            let year = year.clamp(0, 9999);
            out.extend_from_slice(&[
                b'0' + (year / 1000) as u8,
                b'0' + (year / 100 % 10) as u8,
                b'0' + (year / 10 % 10) as u8,
                b'0' + (year % 10) as u8,
            ]);
        }
        (Cell::Int(bits), TypeKind::Bit) => {
            let bytes = data_type.length.div_ceil(8).clamp(1, 8) as usize;
            out.extend_from_slice(&bits.to_be_bytes()[8 - bytes..]);
        }
        (Cell::Int(index), TypeKind::Enum) => {
            if let Some(members) = &data_type.members {
                out.extend_from_slice(members.enum_text(index));
            }
        }
        (Cell::Int(bits), TypeKind::Set) => {
            if let Some(members) = &data_type.members {
                members.set_text(bits as u64, out);
            }
        }
        (Cell::Int(value), _) => {
            let start = out.len();
            if data_type.unsigned {
                number::write_u64(value as u64, out);
            } else {
                number::write_i64(value, out);
            }
            pad_zeros(data_type, start, out);
        }
        (Cell::Double(value), kind) => {
            let start = out.len();
            if data_type.scale != SCALE_NOT_FIXED {
                number::write_fixed(value, data_type.scale, out);
            } else if kind == TypeKind::Float {
                number::write_float_within(value, number::FLOAT_TEXT_WIDTH, out);
            } else {
                number::write_double_within(value, number::DOUBLE_TEXT_WIDTH, out);
            }
            pad_zeros(data_type, start, out);
        }
        (Cell::Decimal(value), _) => {
            let start = out.len();
            value.write_text(out);
            pad_zeros(data_type, start, out);
        }
        (Cell::Bytes(document), TypeKind::Json) => json::print(document, out),
        (Cell::Bytes(text), _) => out.extend_from_slice(text),
    }
}

/// ZEROFILL: zeros before the number up to its display width.
fn pad_zeros(data_type: &DataType, start: usize, out: &mut Vec<u8>) {
    if !data_type.zerofill {
        return;
    }
    let point = u32::from(data_type.kind == TypeKind::Decimal && data_type.scale > 0);
    let missing = ((data_type.length + point) as usize).saturating_sub(out.len() - start);
    out.splice(start..start, std::iter::repeat_n(b'0', missing));
}

/// Appends a value as JSON: numbers as numbers, texts as strings, documents as they are. NULL is `null`.
pub fn write_json_value(cell: Cell<'_>, data_type: &DataType, out: &mut Vec<u8>) {
    if let (Cell::Bytes(document), TypeKind::Json) = (cell, data_type.kind) {
        out.extend_from_slice(document);
        return;
    }
    json_value(cell, data_type).encode(out);
}

/// A value as a JSON tree; see [`write_json_value`].
#[must_use]
pub fn json_value(cell: Cell<'_>, data_type: &DataType) -> Json {
    match (cell, data_type.kind) {
        (Cell::Null, _) => Json::Null,
        (Cell::Int(packed), TypeKind::Date) => Json::Date(DateTime::unpack(packed)),
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            Json::DateTime(DateTime::unpack(packed))
        }
        (Cell::Int(micros), TypeKind::Time) => Json::Time(Time { micros }),
        (Cell::Int(_), TypeKind::Bit) => {
            let mut bytes = Vec::new();
            write_text(cell, data_type, &mut bytes);
            Json::Opaque(16, bytes)
        }
        (Cell::Int(_), TypeKind::Enum | TypeKind::Set) => {
            let mut text = Vec::new();
            write_text(cell, data_type, &mut text);
            Json::String(to_utf8(text, data_type.collation.charset()))
        }
        (Cell::Int(value), _) if data_type.unsigned => Json::UInt(value as u64),
        // Comparisons, logic, TRUE and FALSE: one digit and no sign.
        (Cell::Int(value), TypeKind::BigInt) if data_type.length == 1 => Json::Bool(value != 0),
        (Cell::Int(value), _) => Json::Int(value),
        (Cell::Double(value), _) => Json::Double(value),
        (Cell::Decimal(value), _) => Json::Decimal(*value),
        (Cell::Bytes(document), TypeKind::Json) => json::View::new(document).tree(),
        (Cell::Bytes(bytes), _) if data_type.is_binary_string() => {
            // The type's number as it is stored, not as it is sent.
            let kind = match data_type.kind {
                TypeKind::Char => 254,
                TypeKind::TinyText => 249,
                TypeKind::Text => 252,
                TypeKind::MediumText => 250,
                TypeKind::LongText => 251,
                _ => 15,
            };
            Json::Opaque(kind, bytes.to_vec())
        }
        (Cell::Bytes(text), _) => Json::String(to_utf8(text.to_vec(), data_type.collation.charset())),
    }
}

fn to_utf8(text: Vec<u8>, charset: Charset) -> Vec<u8> {
    if charset.needs_conversion() {
        let mut out = Vec::with_capacity(text.len() + text.len() / 2);
        crate::charset::convert_lossy(charset, &text, Charset::Utf8mb4, &mut out);
        return out;
    }
    match String::from_utf8(text) {
        Ok(text) => text.into_bytes(),
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned().into_bytes(),
    }
}

/// A cell as a value of its own class.
#[must_use]
pub fn cell_value(cell: Cell<'_>, data_type: &DataType) -> Value {
    match (cell, data_type.kind) {
        (Cell::Null, _) => Value::Null,
        (Cell::Int(packed), TypeKind::Date) => Value::Date(DateTime::unpack(packed)),
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            Value::DateTime(DateTime::unpack(packed))
        }
        (Cell::Int(micros), TypeKind::Time) => Value::Time(Time { micros }),
        (Cell::Int(_), TypeKind::Enum | TypeKind::Set) => {
            let mut bytes = Vec::new();
            write_text(cell, data_type, &mut bytes);
            Value::Bytes { bytes, collation: data_type.collation }
        }
        (Cell::Int(value), _) if data_type.unsigned => Value::UInt(value as u64),
        (Cell::Int(value), _) => Value::Int(value),
        (Cell::Double(value), _) => Value::Double(value),
        (Cell::Decimal(value), _) => Value::Decimal(*value),
        (Cell::Bytes(document), TypeKind::Json) => Value::Json(document.to_vec()),
        (Cell::Bytes(bytes), _) => Value::Bytes { bytes: bytes.to_vec(), collation: data_type.collation },
    }
}

/// A value with the type it has by itself, as a column of one row.
#[must_use]
pub fn value_column(value: &Value) -> (DataType, Column) {
    let data_type = match value {
        Value::Null => DataType::NULL,
        Value::Int(_) => DataType::BIGINT,
        Value::UInt(_) => DataType::BIGINT_UNSIGNED,
        Value::Double(_) => DataType::DOUBLE,
        Value::Decimal(value) => DataType::decimal(65, value.scale()),
        Value::Date(_) => DataType::DATE,
        Value::DateTime(_) => DataType::datetime(6),
        Value::Time(_) => DataType::time(6),
        Value::Bytes { bytes, collation } => DataType::varchar(bytes.len() as u32, *collation),
        Value::Json(_) => DataType::JSON,
    };
    let mut column = Column::new(data_type.physical());
    match value {
        Value::Null => column.push_null(),
        Value::Int(value) => column.push_int(*value),
        Value::UInt(value) => column.push_int(*value as i64),
        Value::Double(value) => column.push_double(*value),
        Value::Decimal(value) => column.push_decimal(*value),
        Value::Date(value) | Value::DateTime(value) => column.push_int(value.pack()),
        Value::Time(value) => column.push_int(value.micros),
        Value::Bytes { bytes, .. } => column.push_bytes(bytes),
        Value::Json(document) => column.push_bytes(document),
    }
    (data_type, column)
}

/// What storing depends on.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions<'a> {
    /// Which dates the mode accepts.
    pub date_mode: DateMode,
    /// TIME_TRUNCATE_FRACTIONAL: fractions are cut, not rounded.
    pub truncate_fraction: bool,
    /// The session's time zone: a TIMESTAMP's range is checked in UTC.
    pub time_zone: &'a TimeZone,
    /// Today in that zone, for a TIME stored into a date.
    pub today: DateTime,
}

/// Why a column did not get the value given.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Issue {
    kind: IssueKind,
    /// The value given, for messages that show it.
    shown: Vec<u8>,
}

/// Kinds of issues.
#[derive(Clone, Debug, Eq, PartialEq)]
enum IssueKind {
    /// 1264.
    OutOfRange,
    /// 1265.
    Truncated,
    /// A note in every mode: 1265.
    Note,
    /// 1366: no number at all, or bytes that are no characters. `partly`: lenient modes only note 1265.
    Incorrect { what: &'static str, partly: bool },
    /// 1292 in strict mode; 1265, or 1264 for what is out of range, else.
    Temporal { what: &'static str, out_of_range: bool },
    /// A note: 1292 in strict mode, 1265 else.
    TemporalNote { what: &'static str },
    /// 1406 in strict mode, 1265 else.
    TooLong,
    /// BIT: 1406 in strict mode, 1264 else.
    TooManyBits,
    /// 3140 in every mode.
    Json { message: &'static str, position: usize },
    /// 3157 in every mode.
    JsonDepth,
}

/// How serious a report is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the levels of SHOW WARNINGS")]
pub enum Severity {
    Note,
    Warning,
    Error,
}

/// What MySQL says to an issue.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report {
    /// How serious.
    pub severity: Severity,
    /// MySQL's number.
    pub number: u16,
    /// MySQL's text.
    pub message: String,
}

impl Issue {
    #[cold]
    fn new(kind: IssueKind) -> Option<Issue> {
        Some(Issue { kind, shown: Vec::new() })
    }

    #[cold]
    fn showing(kind: IssueKind, cell: Cell<'_>, from: &DataType) -> Option<Issue> {
        let mut shown = Vec::new();
        write_text(cell, from, &mut shown);
        Some(Issue { kind, shown })
    }

    /// What to tell the client. `strict`: strict mode and no IGNORE. `row` counts from 1.
    #[cold]
    #[must_use]
    pub fn report(&self, strict: bool, table: &str, column: &str, row: u64) -> Report {
        let level = if strict { Severity::Error } else { Severity::Warning };
        let mut shown = String::from_utf8_lossy(&self.shown).into_owned();
        if shown.len() > 128 {
            let mut end = 128;
            while !shown.is_char_boundary(end) {
                end -= 1;
            }
            shown.truncate(end);
        }
        let at = format!("for column '{column}' at row {row}");
        let truncated = || format!("Data truncated {at}");
        let out_of_range = || format!("Out of range value {at}");
        let too_long = || format!("Data too long {at}");
        let incorrect = |what: &str| format!("Incorrect {what} value: '{shown}' {at}");
        let (severity, number, message) = match &self.kind {
            IssueKind::OutOfRange => (level, 1264, out_of_range()),
            IssueKind::Truncated => (level, 1265, truncated()),
            IssueKind::Note => (Severity::Note, 1265, truncated()),
            IssueKind::Incorrect { partly: true, .. } if !strict => (Severity::Note, 1265, truncated()),
            IssueKind::Incorrect { what, .. } => (level, 1366, incorrect(what)),
            IssueKind::Temporal { what, .. } if strict => (level, 1292, incorrect(what)),
            IssueKind::Temporal { out_of_range: true, .. } => (level, 1264, out_of_range()),
            IssueKind::Temporal { .. } => (level, 1265, truncated()),
            IssueKind::TemporalNote { what } if strict => (Severity::Note, 1292, incorrect(what)),
            IssueKind::TemporalNote { .. } => (Severity::Note, 1265, truncated()),
            IssueKind::TooLong if strict => (level, 1406, too_long()),
            IssueKind::TooLong => (level, 1265, truncated()),
            IssueKind::TooManyBits if strict => (level, 1406, too_long()),
            IssueKind::TooManyBits => (level, 1264, out_of_range()),
            IssueKind::Json { message, position } => (
                Severity::Error,
                3140,
                format!(
                    "Invalid JSON text: \"{message}\" at position {position} in value for column '{table}.{column}'."
                ),
            ),
            IssueKind::JsonDepth => {
                (Severity::Error, 3157, "The JSON document exceeds the maximum depth.".to_owned())
            }
        };
        Report { severity, number, message }
    }

    /// Wrong in every mode: the statement fails even where warnings would do.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        matches!(self.kind, IssueKind::Json { .. } | IssueKind::JsonDepth)
    }
}

/// Smallest and largest value of an integer kind.
#[must_use]
pub fn integer_range(data_type: &DataType) -> (i128, i128) {
    let bits = u32::from(data_type.integer_bytes().unwrap_or(8)) * 8;
    if data_type.unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

/// Stores a value: pushes what the column gets to `out`, which has the target's shape. A NULL is pushed as NULL.
pub fn store(
    cell: Cell<'_>,
    from: &DataType,
    to: &DataType,
    options: &StoreOptions<'_>,
    out: &mut Column,
) -> Option<Issue> {
    if matches!(cell, Cell::Null) || from.kind == TypeKind::Null {
        out.push_null();
        return None;
    }
    match to.kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            store_integer(cell, from, to, out)
        }
        TypeKind::Decimal => store_decimal(cell, from, to, out),
        TypeKind::Float | TypeKind::Double => store_double(cell, from, to, out),
        TypeKind::Year => store_year(cell, from, options, out),
        TypeKind::Bit => store_bit(cell, from, to, out),
        TypeKind::Enum => store_enum(cell, from, to, out),
        TypeKind::Set => store_set(cell, from, to, out),
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => {
            store_datetime(cell, from, to, options, out)
        }
        TypeKind::Time => store_time(cell, from, to, options, out),
        TypeKind::Json => store_json(cell, from, out),
        TypeKind::Null => {
            out.push_null();
            None
        }
        _ => store_text(cell, from, to, out),
    }
}

/// Whether [`store`] would put exactly these bytes into a column of type `to`, without an issue: then they need not pass
/// through it. `false` decides nothing.
#[inline]
#[must_use]
pub fn stores_as_is(text: &[u8], from: CollationId, to: &DataType) -> bool {
    let target = to.collation.charset();
    let kept_whole = match to.kind {
        TypeKind::VarChar => true,
        // Trailing spaces are cut off, binary ones are filled up.
        TypeKind::Char => to.collation != CollationId::BINARY && text.last() != Some(&b' '),
        _ => to.is_text_or_blob(),
    };
    // No character is longer than its bytes, and ASCII is the same in all character sets.
    kept_whole
        && text.len() <= to.length as usize
        && (target == Charset::Binary
            || text.is_ascii()
            || (from.charset() == target && target.validate(text).is_ok()))
}

/// Stores a [`Value`]; see [`store`].
pub fn store_value(
    value: &Value,
    to: &DataType,
    options: &StoreOptions<'_>,
    out: &mut Column,
) -> Option<Issue> {
    let (from, column) = value_column(value);
    store(column.cell(0), &from, to, options, out)
}

/// Stores a whole column: appends its rows to `out` and calls `issue` for each row (from 0) that has one. Columns of
/// one type are copied without a look at their values.
pub fn store_column(
    source: &Column,
    from: &DataType,
    to: &DataType,
    options: &StoreOptions<'_>,
    out: &mut Column,
    issue: &mut dyn FnMut(usize, Issue),
) {
    let fits = from.kind == to.kind
        && from.unsigned == to.unsigned
        && from.members == to.members
        && match to.physical() {
            Physical::Bytes => {
                to.kind == TypeKind::Json
                    || (from.collation.charset() == to.collation.charset()
                        && from.length <= to.length
                        && to.kind != TypeKind::Char)
            }
            _ => from.scale == to.scale && (to.kind != TypeKind::Decimal || from.length <= to.length),
        };
    // Dates are always looked at: the mode may refuse what another column holds.
    if fits && !to.has_date() {
        out.extend_from(source);
        return;
    }
    for row in 0..source.len() {
        if let Some(found) = store(source.cell(row), from, to, options, out) {
            issue(row, found);
        }
    }
}

fn push_clipped(value: i128, to: &DataType, out: &mut Column) -> Option<Issue> {
    let (min, max) = integer_range(to);
    let clipped = value.clamp(min, max);
    out.push_int(clipped as i64);
    if clipped == value { None } else { Issue::new(IssueKind::OutOfRange) }
}

/// The number a value is, for kinds that are numbers without reading text.
fn whole_number(cell: Cell<'_>, from: &DataType) -> Option<i128> {
    Some(match (cell, from.kind) {
        (Cell::Int(packed), TypeKind::Date) => i128::from(DateTime::unpack(packed).date_number()),
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            i128::from(DateTime::unpack(packed).round(0)?.datetime_number())
        }
        (Cell::Int(micros), TypeKind::Time) => i128::from(Time { micros: round_micros(micros, 0) }.number()),
        (Cell::Int(value), _) if from.unsigned => i128::from(value as u64),
        (Cell::Int(value), _) => i128::from(value),
        (Cell::Double(value), _) => {
            // Saturates; NaN is 0.
            number::round_double(value) as i128
        }
        (Cell::Decimal(value), _) => {
            value.to_units(0).unwrap_or(if value.is_negative() { i128::MIN } else { i128::MAX })
        }
        (Cell::Bytes(document), TypeKind::Json) => json::to_integer(document)?,
        (Cell::Bytes(bytes), _) if from.is_hex_literal() => {
            i128::from(bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte)))
        }
        _ => return None,
    })
}

fn only_spaces(text: &[u8]) -> bool {
    text.iter().all(|&byte| number::is_space(byte))
}

fn store_integer(cell: Cell<'_>, from: &DataType, to: &DataType, out: &mut Column) -> Option<Issue> {
    // A literal in hex or bits is a number here.
    if let Some(value) = whole_number(cell, from) {
        let below_zero = to.unsigned
            && match cell {
                Cell::Double(value) => value < 0.0,
                Cell::Decimal(value) => value.is_negative(),
                _ => false,
            };
        let issue = push_clipped(value, to, out);
        return if below_zero { Issue::new(IssueKind::OutOfRange) } else { issue };
    }
    let Cell::Bytes(text) = cell else {
        out.push_int(0);
        return Issue::showing(IssueKind::Incorrect { what: "integer", partly: false }, cell, from);
    };
    if from.kind == TypeKind::Json {
        out.push_int(0);
        return Issue::showing(IssueKind::Incorrect { what: "integer", partly: false }, cell, from);
    }
    let parsed = number::parse_integer_rounded(text);
    if parsed.consumed == 0 {
        out.push_int(0);
        return Issue::showing(IssueKind::Incorrect { what: "integer", partly: false }, cell, from);
    }
    let issue = push_clipped(parsed.value, to, out);
    if issue.is_none() && !only_spaces(&text[parsed.consumed..]) {
        return Issue::new(IssueKind::Truncated);
    }
    issue
}

fn store_decimal(cell: Cell<'_>, from: &DataType, to: &DataType, out: &mut Column) -> Option<Issue> {
    let mut early = None;
    let value = match (cell, from.kind) {
        (Cell::Decimal(value), _) => *value,
        (Cell::Double(value), _) => match Decimal::from_f64(value) {
            Ok(value) | Err(Clipped(value)) => value,
        },
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            DateTime::unpack(packed).datetime_decimal(from.scale)
        }
        (Cell::Int(micros), TypeKind::Time) => Time { micros }.decimal(from.scale),
        (Cell::Int(_), _) => whole_number(cell, from).map_or(Decimal::ZERO, Decimal::from_i128),
        (Cell::Bytes(text), kind) => {
            let scalar;
            let text = if kind == TypeKind::Json {
                scalar = json::scalar_text(text).unwrap_or_default();
                &scalar
            } else {
                text
            };
            let parsed = Decimal::parse(text);
            if parsed.consumed == 0 {
                early = Issue::showing(IssueKind::Incorrect { what: "decimal", partly: false }, cell, from);
            } else if !only_spaces(&text[parsed.consumed..]) {
                early = Issue::showing(IssueKind::Incorrect { what: "decimal", partly: true }, cell, from);
            }
            parsed.value
        }
        (Cell::Null, _) => Decimal::ZERO,
    };
    if to.unsigned && value.is_negative() {
        out.push_decimal(Decimal::ZERO.round(to.scale));
        return early.or_else(|| Issue::new(IssueKind::OutOfRange));
    }
    match value.fit(to.length, to.scale) {
        Ok((value, lossy)) => {
            out.push_decimal(value);
            early.or_else(|| if lossy { Issue::new(IssueKind::Note) } else { None })
        }
        Err(Clipped(limit)) => {
            out.push_decimal(limit);
            early.or_else(|| Issue::new(IssueKind::OutOfRange))
        }
    }
}

fn store_double(cell: Cell<'_>, from: &DataType, to: &DataType, out: &mut Column) -> Option<Issue> {
    let mut issue = None;
    let mut value = match (cell, from.kind) {
        (Cell::Double(value), _) => value,
        (Cell::Decimal(value), _) => value.to_f64(),
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            DateTime::unpack(packed).datetime_decimal(from.scale).to_f64()
        }
        (Cell::Int(micros), TypeKind::Time) => Time { micros }.decimal(from.scale).to_f64(),
        (Cell::Int(_), _) => whole_number(cell, from).unwrap_or(0) as f64,
        (Cell::Bytes(document), TypeKind::Json) => json::to_double(document).unwrap_or_else(|| {
            issue = Issue::showing(IssueKind::Incorrect { what: "DOUBLE", partly: false }, cell, from);
            0.0
        }),
        (Cell::Bytes(text), _) => {
            let parsed = number::parse_double(text);
            if parsed.consumed == 0 || !only_spaces(&text[parsed.consumed..]) {
                let what = if to.kind == TypeKind::Float { "FLOAT" } else { "DOUBLE" };
                issue = Issue::showing(IssueKind::Incorrect { what, partly: false }, cell, from);
            } else if parsed.overflow {
                issue = Issue::new(IssueKind::OutOfRange);
            }
            parsed.value
        }
        (Cell::Null, _) => 0.0,
    };
    if to.unsigned && value < 0.0 {
        value = 0.0;
        issue = issue.or_else(|| Issue::new(IssueKind::OutOfRange));
    }
    let mut limit = if to.kind == TypeKind::Float { f64::from(f32::MAX) } else { f64::MAX };
    if to.scale != SCALE_NOT_FIXED {
        let power = 10f64.powi(i32::from(to.scale));
        limit = limit.min(10f64.powi(to.length as i32 - i32::from(to.scale)) - 1.0 / power);
        if (value * power).is_finite() {
            value = number::round_double(value * power) / power;
        }
    }
    if value.abs() > limit || value.is_nan() {
        value = if value.is_nan() { 0.0 } else { limit.copysign(value) };
        issue = issue.or_else(|| Issue::new(IssueKind::OutOfRange));
    }
    out.push_double(if to.kind == TypeKind::Float { f64::from(value as f32) } else { value });
    issue
}

fn store_year(
    cell: Cell<'_>,
    from: &DataType,
    options: &StoreOptions<'_>,
    out: &mut Column,
) -> Option<Issue> {
    let mut issue = None;
    let (number, text_zero) = match (cell, from.kind) {
        (Cell::Int(packed), TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp) => {
            out.push_int(i64::from(DateTime::unpack(packed).year));
            return None;
        }
        (Cell::Int(_), TypeKind::Time) => (i128::from(options.today.year), false),
        (Cell::Bytes(text), kind) if kind != TypeKind::Json => {
            let parsed = number::parse_integer_rounded(text);
            if parsed.consumed == 0 {
                out.push_int(0);
                return Issue::showing(IssueKind::Incorrect { what: "integer", partly: false }, cell, from);
            }
            if !only_spaces(&text[parsed.consumed..]) {
                issue = Issue::new(IssueKind::Truncated);
            }
            let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
            (parsed.value, digits < 4)
        }
        _ => (whole_number(cell, from).unwrap_or(-1), false),
    };
    let year = match number {
        0 if text_zero => 2000,
        0 | 1901..=2155 => number,
        1..=69 => number + 2000,
        70..=99 => number + 1900,
        _ => {
            out.push_int(0);
            return Issue::new(IssueKind::OutOfRange);
        }
    };
    out.push_int(year as i64);
    issue
}

fn store_bit(cell: Cell<'_>, from: &DataType, to: &DataType, out: &mut Column) -> Option<Issue> {
    let all = if to.length >= 64 { u64::MAX } else { (1 << to.length) - 1 };
    let bits = match cell {
        Cell::Bytes(bytes) if from.kind != TypeKind::Json => {
            let significant = &bytes[bytes.iter().take_while(|&&byte| byte == 0).count()..];
            if significant.len() > 8 {
                None
            } else {
                Some(significant.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte)))
            }
        }
        Cell::Int(value) if !from.is_temporal() => Some(value as u64),
        _ => whole_number(cell, from).and_then(|value| {
            u64::try_from(value).ok().or_else(|| i64::try_from(value).ok().map(|value| value as u64))
        }),
    };
    match bits {
        Some(bits) if bits <= all => {
            out.push_int(bits as i64);
            None
        }
        _ => {
            out.push_int(all as i64);
            Issue::new(IssueKind::TooManyBits)
        }
    }
}

/// A text in the target's character set, trailing spaces removed.
fn member_text(text: &[u8], from: &DataType, to: &DataType) -> Vec<u8> {
    let (source, target) = (from.collation.charset(), to.collation.charset());
    let mut out = Vec::with_capacity(text.len());
    if source == target || source == Charset::Binary || target == Charset::Binary {
        out.extend_from_slice(text);
    } else {
        crate::charset::convert_lossy(source, text, target, &mut out);
    }
    while out.last() == Some(&b' ') {
        out.pop();
    }
    out
}

fn store_enum(cell: Cell<'_>, from: &DataType, to: &DataType, out: &mut Column) -> Option<Issue> {
    let empty = |out: &mut Column| {
        out.push_int(0);
        Issue::new(IssueKind::Truncated)
    };
    let Some(members) = &to.members else {
        return empty(out);
    };
    let text = match (cell, from.kind) {
        (Cell::Int(_), TypeKind::Enum | TypeKind::Set) => {
            let mut text = Vec::new();
            write_text(cell, from, &mut text);
            Some(text)
        }
        (Cell::Bytes(text), kind) if kind != TypeKind::Json => Some(member_text(text, from, to)),
        (Cell::Int(_), _) if from.is_temporal() => {
            let mut text = Vec::new();
            write_text(cell, from, &mut text);
            Some(text)
        }
        _ => None,
    };
    let index = match text {
        Some(text) => match members.position(&text, to.collation) {
            Some(position) => position as i128 + 1,
            // A number as text counts as the number.
            None => match std::str::from_utf8(&text).ok().and_then(|digits| digits.parse::<u32>().ok()) {
                Some(index) if index >= 1 && index as usize <= members.len() => i128::from(index),
                _ if text.is_empty() && matches!(cell, Cell::Int(0)) => 0,
                _ => return empty(out),
            },
        },
        None => match cell {
            Cell::Double(value) => value as i128,
            Cell::Decimal(value) => value.truncate(0).to_units(0).unwrap_or(0),
            _ => whole_number(cell, from).unwrap_or(0),
        },
    };
    if index < 1 || index > members.len() as i128 {
        return empty(out);
    }
    out.push_int(index as i64);
    None
}

fn store_set(cell: Cell<'_>, from: &DataType, to: &DataType, out: &mut Column) -> Option<Issue> {
    let Some(members) = &to.members else {
        out.push_int(0);
        return Issue::new(IssueKind::Truncated);
    };
    let all = if members.len() >= 64 { u64::MAX } else { (1u64 << members.len()) - 1 };
    let text = match (cell, from.kind) {
        (Cell::Int(_), TypeKind::Enum | TypeKind::Set) => {
            let mut text = Vec::new();
            write_text(cell, from, &mut text);
            Some(text)
        }
        (Cell::Bytes(text), kind) if kind != TypeKind::Json => Some(member_text(text, from, to)),
        _ => None,
    };
    let (bits, bad) = match text {
        Some(text) if text.is_empty() => (0, false),
        Some(text) => {
            let mut bits = 0u64;
            let mut bad = false;
            for part in text.split(|&byte| byte == b',') {
                match members.position(part, to.collation) {
                    Some(position) => bits |= 1 << position,
                    None => bad = true,
                }
            }
            if bad
                && bits == 0
                && let Some(number) =
                    std::str::from_utf8(&text).ok().and_then(|digits| digits.parse::<u64>().ok())
            {
                (number & all, number & !all != 0)
            } else {
                (bits, bad)
            }
        }
        None => {
            let number = whole_number(cell, from).unwrap_or(0);
            let bits = number as u64;
            (bits & all, bits & !all != 0)
        }
    };
    out.push_int(bits as i64);
    if bad { Issue::new(IssueKind::Truncated) } else { None }
}

fn temporal_name(kind: TypeKind) -> &'static str {
    match kind {
        TypeKind::Date => "date",
        TypeKind::Time => "time",
        _ => "datetime",
    }
}

fn store_datetime(
    cell: Cell<'_>,
    from: &DataType,
    to: &DataType,
    options: &StoreOptions<'_>,
    out: &mut Column,
) -> Option<Issue> {
    let what = temporal_name(to.kind);
    let wrong = |out_of_range: bool, out: &mut Column| {
        out.push_int(DateTime::ZERO.pack());
        Issue::showing(IssueKind::Temporal { what, out_of_range }, cell, from)
    };
    let mut issue = None;
    let mut from_text = false;
    let parsed: Result<Option<DateTime>, TemporalError> = match (cell, from.kind) {
        (Cell::Int(packed), TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp) => {
            let value = DateTime::unpack(packed);
            options.date_mode.check(value).map(|()| Some(value))
        }
        (Cell::Int(micros), TypeKind::Time) => {
            Ok(DateTime::from_linear_micros(options.today.date_part().linear_micros() + micros))
        }
        (Cell::Int(year), TypeKind::Year) => {
            parse::datetime_from_number(year * 10_000, options.date_mode).map(|(value, _)| Some(value))
        }
        (Cell::Bytes(document), TypeKind::Json) => match json::to_datetime(document) {
            Some(value) => Ok(Some(value)),
            None => Err(TemporalError::Invalid),
        },
        (Cell::Bytes(text), _) => {
            from_text = true;
            match parse::parse_datetime(text, options.date_mode) {
                Ok(parsed) => {
                    if parsed.truncated {
                        issue = Issue::showing(IssueKind::Temporal { what, out_of_range: false }, cell, from);
                    }
                    let value = parsed.rounded(6);
                    Ok(match (value, parsed.offset_minutes) {
                        (Some(value), Some(minutes)) => {
                            Some(options.time_zone.from_utc(TimeZone::Offset(minutes).to_utc(value)))
                        }
                        (value, _) => value,
                    })
                }
                Err(error) => Err(error),
            }
        }
        _ => {
            let (number, micros) = match cell {
                Cell::Decimal(_) | Cell::Double(_) => {
                    let value = match cell {
                        Cell::Decimal(value) => *value,
                        Cell::Double(value) => match Decimal::from_f64(value) {
                            Ok(value) | Err(Clipped(value)) => value,
                        },
                        _ => Decimal::ZERO,
                    };
                    let micros = value.to_units(6).unwrap_or(-1);
                    (i64::try_from(micros / 1_000_000).unwrap_or(-1), (micros % 1_000_000).max(0) as u32)
                }
                _ => (whole_number(cell, from).and_then(|n| i64::try_from(n).ok()).unwrap_or(-1), 0),
            };
            parse::datetime_from_number(number, options.date_mode)
                .map(|(value, _)| Some(DateTime { micros, ..value }))
        }
    };
    let value = match parsed {
        Ok(Some(value)) => value,
        Ok(None) => return wrong(true, out),
        // A day that does not exist is out of range, anything else is no date.
        Err(TemporalError::Invalid) => {
            let day_only = match cell {
                Cell::Bytes(text) => {
                    parse::parse_datetime(text, DateMode { allow_invalid: true, ..DateMode::default() })
                        .is_ok()
                }
                _ => false,
            };
            return wrong(day_only, out);
        }
        Err(TemporalError::Zero) => return wrong(false, out),
    };
    let fitted = match to.kind {
        TypeKind::Date => {
            let rounded = if from_text || options.truncate_fraction { Some(value) } else { value.round(0) };
            let Some(rounded) = rounded else {
                return wrong(true, out);
            };
            let lost = rounded.time_part().micros != 0;
            if lost && issue.is_none() && (from_text || from.kind == TypeKind::Time) {
                issue = Issue::showing(IssueKind::TemporalNote { what }, cell, from);
            }
            Some(rounded.date_part())
        }
        _ if options.truncate_fraction => Some(value.truncate(to.scale)),
        _ => value.round(to.scale),
    };
    let Some(fitted) = fitted else {
        return wrong(true, out);
    };
    if to.kind == TypeKind::Timestamp && fitted != DateTime::ZERO {
        let utc = options.time_zone.to_utc(fitted);
        if fitted.has_zero_part() || !(TIMESTAMP_MICROS_MIN..=TIMESTAMP_MICROS_MAX).contains(&utc) {
            return wrong(true, out);
        }
    }
    out.push_int(fitted.pack());
    issue
}

fn store_time(
    cell: Cell<'_>,
    from: &DataType,
    to: &DataType,
    options: &StoreOptions<'_>,
    out: &mut Column,
) -> Option<Issue> {
    let wrong =
        |out_of_range: bool| Issue::showing(IssueKind::Temporal { what: "time", out_of_range }, cell, from);
    let mut issue = None;
    let mut extra = 0;
    let parsed = match (cell, from.kind) {
        (Cell::Int(_), TypeKind::Date) => {
            out.push_int(0);
            return None;
        }
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            Ok(DateTime::unpack(packed).time_part())
        }
        (Cell::Int(micros), TypeKind::Time) => Ok(Time { micros }),
        (Cell::Bytes(document), TypeKind::Json) => json::to_time(document).ok_or(false),
        (Cell::Bytes(text), _) => {
            if only_spaces(text) {
                out.push_int(0);
                return None;
            }
            match parse::parse_time(text) {
                Ok(parsed) => {
                    if parsed.out_of_range {
                        issue = wrong(true);
                    } else if parsed.truncated {
                        issue = wrong(false);
                    } else if parsed.from_datetime {
                        issue = Issue::showing(IssueKind::TemporalNote { what: "time" }, cell, from);
                    }
                    Ok(parsed.value)
                }
                Err(_) => Err(text.contains(&b':')),
            }
        }
        _ => {
            let number = match cell {
                Cell::Decimal(_) | Cell::Double(_) => {
                    let value = match cell {
                        Cell::Decimal(value) => *value,
                        Cell::Double(value) => match Decimal::from_f64(value) {
                            Ok(value) | Err(Clipped(value)) => value,
                        },
                        _ => Decimal::ZERO,
                    };
                    let micros = value.to_units(6).unwrap_or(i128::MAX);
                    extra = (micros % 1_000_000) as i64;
                    i64::try_from(micros / 1_000_000).unwrap_or(i64::MAX)
                }
                _ => whole_number(cell, from).and_then(|n| i64::try_from(n).ok()).unwrap_or(i64::MAX),
            };
            match parse::time_from_number(number) {
                Ok(parsed) => {
                    if parsed.out_of_range {
                        issue = wrong(true);
                        extra = 0;
                    }
                    Ok(parsed.value)
                }
                Err(_) => Err(true),
            }
        }
    };
    match parsed {
        Ok(time) => {
            let micros = time.micros + extra;
            let micros = if options.truncate_fraction {
                truncate_micros(micros, to.scale)
            } else {
                round_micros(micros, to.scale)
            };
            let time = Time { micros };
            if !time.in_range() && issue.is_none() {
                issue = wrong(true);
            }
            out.push_int(time.clipped().micros);
            issue
        }
        Err(out_of_range) => {
            out.push_int(0);
            wrong(out_of_range)
        }
    }
}

fn store_json(cell: Cell<'_>, from: &DataType, out: &mut Column) -> Option<Issue> {
    let problem = match cell {
        Cell::Bytes(document) if from.kind == TypeKind::Json => {
            out.push_bytes(document);
            return None;
        }
        Cell::Bytes(text) => {
            let utf8 = to_utf8(text.to_vec(), from.collation.charset());
            match json::parse(&utf8, out.bytes_mut().tail()) {
                Ok(()) => {
                    out.bytes_mut().finish();
                    out.nulls.push(false);
                    return None;
                }
                Err(error) if error.too_deep => IssueKind::JsonDepth,
                Err(error) => IssueKind::Json { message: error.message, position: error.position },
            }
        }
        _ => IssueKind::Json { message: "not a JSON text, may need CAST", position: 0 },
    };
    out.push_null();
    Issue::new(problem)
}

/// Bytes that are no characters, as error 1366 shows them: `\xFF`, at most six and then dots.
fn escaped(bytes: &[u8]) -> Vec<u8> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Vec::new();
    for &byte in bytes.iter().take(6) {
        if (0x20..0x7f).contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(b"\\x");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        }
    }
    if bytes.len() > 6 {
        out.extend_from_slice(b"...");
    }
    out
}

fn store_text(cell: Cell<'_>, from: &DataType, to: &DataType, out: &mut Column) -> Option<Issue> {
    let target = to.collation.charset();
    let mut issue = None;
    let owned;
    let text: &[u8] = match cell {
        Cell::Bytes(text) if from.is_string() => {
            let source = from.collation.charset();
            if source == target || target == Charset::Binary {
                // A column of the same character set holds only valid text; literals and parameters were checked.
                if source == Charset::Binary || target == Charset::Binary || target.validate(text).is_ok() {
                    text
                } else {
                    owned = keep_valid(text, target, &mut issue);
                    &owned
                }
            } else if source == Charset::Binary {
                if target.validate(text).is_ok() {
                    text
                } else {
                    owned = keep_valid(text, target, &mut issue);
                    &owned
                }
            } else {
                let mut converted = Vec::with_capacity(text.len());
                if convert_strict(source, text, target, &mut converted).is_err() {
                    converted.clear();
                    crate::charset::convert_lossy(source, text, target, &mut converted);
                    issue = Some(Issue {
                        kind: IssueKind::Incorrect { what: "string", partly: false },
                        shown: escaped(&text[text.iter().take_while(|byte| byte.is_ascii()).count()..]),
                    });
                }
                owned = converted;
                &owned
            }
        }
        Cell::Double(value) => {
            owned = double_text(value, from, to.length as usize);
            &owned
        }
        _ => {
            let mut text = Vec::new();
            write_text(cell, from, &mut text);
            owned = text;
            &owned
        }
    };
    let kept = if to.is_text_or_blob() {
        let limit = to.length as usize;
        if text.len() <= limit {
            text.len()
        } else {
            // Whole characters only.
            let mut end = limit;
            if !target.is_single_byte() {
                while end > 0 && text[end] & 0xc0 == 0x80 {
                    end -= 1;
                }
            }
            end
        }
    } else if text.len() <= to.length as usize {
        text.len()
    } else {
        target.prefix_bytes(text, to.length as usize)
    };
    if kept < text.len() {
        let blanks = target != Charset::Binary && text[kept..].iter().all(|&byte| byte == b' ');
        if !blanks {
            issue = issue.or_else(|| Issue::new(IssueKind::TooLong));
        } else if to.kind != TypeKind::Char {
            issue = issue.or_else(|| Issue::new(IssueKind::Note));
        }
    }
    let mut text = &text[..kept];
    if to.kind == TypeKind::Char && to.collation != CollationId::BINARY {
        text = target.trim_trailing_spaces(text);
    }
    let tail = out.bytes_mut().tail();
    let start = tail.len();
    tail.extend_from_slice(text);
    if to.kind == TypeKind::Char && to.collation == CollationId::BINARY {
        tail.resize(start + to.length as usize, 0);
    }
    out.bytes_mut().finish();
    out.nulls.push(false);
    issue
}

#[cold]
fn keep_valid(text: &[u8], target: Charset, issue: &mut Option<Issue>) -> Vec<u8> {
    let mut end = 0;
    // The valid beginning stays.
    while end < text.len() {
        let length = target.prefix_bytes(&text[end..], 1);
        if length == 0 || target.validate(&text[end..end + length]).is_err() {
            break;
        }
        end += length;
    }
    *issue = Some(Issue {
        kind: IssueKind::Incorrect { what: "string", partly: false },
        shown: escaped(&text[end..]),
    });
    text[..end].to_vec()
}

/// A double as text of at most `width` characters, giving up digits where it must.
fn double_text(value: f64, from: &DataType, width: usize) -> Vec<u8> {
    let mut text = Vec::new();
    write_text(Cell::Double(value), from, &mut text);
    let mut digits = 16;
    while text.len() > width && digits > 0 {
        let shorter: f64 = format!("{value:.*e}", digits - 1).parse().unwrap_or(value);
        text.clear();
        number::write_double_within(shorter, width, &mut text);
        digits -= 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::Members;
    use std::sync::Arc;

    fn stored(text: &str, to: &DataType) -> String {
        stored_value(&Value::string(text, CollationId::UTF8MB4_0900_AI_CI), to)
    }

    /// What the column gets and what strict mode says.
    fn stored_value(value: &Value, to: &DataType) -> String {
        let zone = TimeZone::UTC;
        let options = StoreOptions {
            date_mode: DateMode { no_zero_date: true, no_zero_in_date: true, allow_invalid: false },
            truncate_fraction: false,
            time_zone: &zone,
            today: DateTime::date(2024, 5, 6),
        };
        let mut out = Column::new(to.physical());
        let issue = store_value(value, to, &options, &mut out);
        let mut shown = Vec::new();
        write_text(out.cell(0), to, &mut shown);
        let mut shown = String::from_utf8_lossy(&shown).into_owned();
        if let Some(issue) = issue {
            let report = issue.report(true, "t", "c", 1);
            shown.push_str(&format!(" {:?} {} {}", report.severity, report.number, report.message));
        }
        shown
    }

    #[test]
    fn strict_mode_answers_as_the_reference() {
        let tiny = DataType::integer(TypeKind::TinyInt, false);
        let money = DataType::decimal(5, 2);
        let varchar = DataType::varchar(3, CollationId::UTF8MB4_0900_AI_CI);
        let char3 = DataType::char(3, CollationId::UTF8MB4_0900_AI_CI);
        let letters = Arc::new(Members::new(vec![(*b"a").into(), (*b"b").into()]));
        let letter =
            DataType::with_members(TypeKind::Enum, Arc::clone(&letters), CollationId::UTF8MB4_0900_AI_CI);
        let set = DataType::with_members(TypeKind::Set, letters, CollationId::UTF8MB4_0900_AI_CI);
        for (text, to, shown) in [
            ("12", &tiny, "12"),
            ("12abc", &tiny, "12 Error 1265 Data truncated for column 'c' at row 1"),
            ("abc", &tiny, "0 Error 1366 Incorrect integer value: 'abc' for column 'c' at row 1"),
            ("1.5", &tiny, "2"),
            ("300", &tiny, "127 Error 1264 Out of range value for column 'c' at row 1"),
            ("1.234", &money, "1.23 Note 1265 Data truncated for column 'c' at row 1"),
            ("1234.5", &money, "999.99 Error 1264 Out of range value for column 'c' at row 1"),
            ("12abc", &money, "12.00 Error 1366 Incorrect decimal value: '12abc' for column 'c' at row 1"),
            ("abc", &DataType::DOUBLE, "0 Error 1366 Incorrect DOUBLE value: 'abc' for column 'c' at row 1"),
            ("abcd", &varchar, "abc Error 1406 Data too long for column 'c' at row 1"),
            ("abc  ", &varchar, "abc Note 1265 Data truncated for column 'c' at row 1"),
            ("ab ", &char3, "ab"),
            (
                "abc",
                &DataType::DATE,
                "0000-00-00 Error 1292 Incorrect date value: 'abc' for column 'c' at row 1",
            ),
            (
                "2024-01-01 10:11:12",
                &DataType::DATE,
                "2024-01-01 Note 1292 Incorrect date value: '2024-01-01 10:11:12' for column 'c' at row 1",
            ),
            ("2024-01-01 10:11:12.6", &DataType::datetime(0), "2024-01-01 10:11:13"),
            ("2024-01-01 10:11:12+02:00", &DataType::datetime(0), "2024-01-01 08:11:12"),
            (
                "1969-12-31 10:00:00",
                &DataType::timestamp(0),
                "0000-00-00 00:00:00 Error 1292 Incorrect datetime value: '1969-12-31 10:00:00' for column 'c' at row 1",
            ),
            (
                "839:00:00",
                &DataType::time(0),
                "838:59:59 Error 1292 Incorrect time value: '839:00:00' for column 'c' at row 1",
            ),
            ("24", &DataType::YEAR, "2024"),
            ("0", &DataType::YEAR, "2000"),
            ("B", &letter, "b"),
            ("c", &letter, " Error 1265 Data truncated for column 'c' at row 1"),
            ("2", &letter, "b"),
            ("a,b", &set, "a,b"),
            ("a,c", &set, "a Error 1265 Data truncated for column 'c' at row 1"),
            (
                "[1",
                &DataType::JSON,
                " Error 3140 Invalid JSON text: \"Missing a comma or ']' after an array element.\" at position 2 in value for column 't.c'.",
            ),
        ] {
            assert_eq!(stored(text, to), shown, "{text}");
        }
        assert_eq!(
            stored_value(&Value::Int(16), &DataType::bit(4)),
            "\u{f} Error 1406 Data too long for column 'c' at row 1"
        );
        assert_eq!(stored_value(&Value::Double(1.0 / 3.0), &varchar), "0.3");
        assert_eq!(stored_value(&Value::Int(20_240_131), &DataType::DATE), "2024-01-31");
        assert_eq!(
            stored_value(&Value::Bytes { bytes: vec![b'a', 0xff], collation: CollationId::BINARY }, &varchar),
            "a Error 1366 Incorrect string value: '\\xFF' for column 'c' at row 1"
        );
    }
}
