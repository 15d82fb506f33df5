//! Into numbers: integers, DECIMAL, DOUBLE, YEAR, BIT.

use super::integer_range;
use super::issue::{Given, Issue, IssueKind, Origin, StoreOptions};
use super::show::write_text;
use crate::data_type::{DataType, SCALE_NOT_FIXED, TypeKind};
use crate::decimal::{Clipped, Decimal};
use crate::json::{self};
use crate::number;
use crate::temporal::{DateTime, Time, round_micros};
use crate::vector::{Cell, Column};

pub(super) fn push_clipped(value: i128, to: &DataType, out: &mut Column) -> Option<Issue> {
    let (min, max) = integer_range(to);
    let clipped = value.clamp(min, max);
    out.push_int(clipped as i64);
    if clipped == value { None } else { Issue::new(IssueKind::OutOfRange) }
}

/// The number a value is, for kinds that are numbers without reading text.
pub(super) fn whole_number(cell: Cell<'_>, from: &DataType) -> Option<i128> {
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
        (Cell::Bytes(bytes), _) if from.is_hex_literal() => {
            i128::from(bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte)))
        }
        _ => return None,
    })
}

/// Whether a number of this many bytes, spaces before it included, is all of a text.
fn is_all(text: &[u8], consumed: usize) -> bool {
    consumed == text.len() && !text.first().is_some_and(|&byte| number::is_space(byte))
}

/// Whether a document that is a text is an integer, and nothing else; another document is.
#[must_use]
pub fn is_integer_document(document: &[u8]) -> bool {
    json::string(document).is_none_or(|text| is_all(text, number::parse_integer_prefix(text).consumed))
}

/// Whether a document that is a text is a number, and nothing else but spaces before it; another document is. An empty text is 0.
#[must_use]
pub fn is_double_document(document: &[u8]) -> bool {
    json::string(document).is_none_or(|text| number::parse_double(text).consumed == text.len())
}

/// What is to be said of a document that was stored as the integer `value`.
fn json_integer_issue(document: &[u8], value: Option<i128>, origin: Origin<'_>) -> Option<Issue> {
    match value {
        Some(value) if is_integer_document(document) => {
            let fits = (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value);
            if fits { None } else { Issue::json(IssueKind::JsonRange { to: "INTEGER" }, origin) }
        }
        _ => Issue::json(IssueKind::JsonValue { to: "INTEGER" }, origin),
    }
}

pub(super) fn only_spaces(text: &[u8]) -> bool {
    text.iter().all(|&byte| number::is_space(byte))
}

pub(super) fn store_integer(
    cell: Cell<'_>,
    given: Given<'_>,
    to: &DataType,
    out: &mut Column,
) -> Option<Issue> {
    let Given { data_type: from, origin } = given;
    if let (Cell::Bytes(document), TypeKind::Json) = (cell, from.kind) {
        let value = json::to_integer(document);
        let clipped = push_clipped(value.unwrap_or(0), to, out);
        return json_integer_issue(document, value, origin).or(clipped);
    }
    // A literal in hex or bits is a number here.
    if let Some(value) = whole_number(cell, from) {
        // A DOUBLE is rounded before its sign counts, a DECIMAL is not.
        let below_zero = to.unsigned && matches!(cell, Cell::Decimal(value) if value.is_negative());
        let issue = push_clipped(value, to, out);
        return if below_zero { Issue::new(IssueKind::OutOfRange) } else { issue };
    }
    let Cell::Bytes(text) = cell else {
        out.push_int(0);
        return Issue::showing(IssueKind::Incorrect { what: "integer", partly: false }, cell, from);
    };
    let text = &*from.collation.charset().readable(text);
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

pub(super) fn store_decimal(
    cell: Cell<'_>,
    given: Given<'_>,
    to: &DataType,
    out: &mut Column,
) -> Option<Issue> {
    let Given { data_type: from, origin } = given;
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
        (Cell::Bytes(_), _) if from.is_hex_literal() => {
            whole_number(cell, from).map_or(Decimal::ZERO, Decimal::from_i128)
        }
        (Cell::Bytes(document), TypeKind::Json) => match json::to_integer(document) {
            // Booleans are 1 and 0.
            Some(value) if json::is_boolean(document) => Decimal::from_i128(value),
            _ => {
                // Dates have no number, though they have a text.
                let has_number = json::is_number(document) || json::string(document).is_some();
                let text = json::scalar_text(document).filter(|_| has_number).unwrap_or_default();
                let parsed = Decimal::parse(&text);
                if parsed.consumed == 0 || !only_spaces(&text[parsed.consumed..]) {
                    early = Issue::json(IssueKind::JsonValue { to: "DECIMAL" }, origin);
                }
                parsed.value
            }
        },
        (Cell::Bytes(text), _) => {
            let text = &*from.collation.charset().readable(text);
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

pub(super) fn store_double(
    cell: Cell<'_>,
    given: Given<'_>,
    to: &DataType,
    out: &mut Column,
) -> Option<Issue> {
    let Given { data_type: from, origin } = given;
    let mut issue = None;
    let mut value = match (cell, from.kind) {
        (Cell::Double(value), _) => value,
        (Cell::Decimal(value), _) => value.to_f64(),
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            DateTime::unpack(packed).datetime_decimal(from.scale).to_f64()
        }
        (Cell::Int(micros), TypeKind::Time) => Time { micros }.decimal(from.scale).to_f64(),
        (Cell::Int(_), _) => whole_number(cell, from).unwrap_or(0) as f64,
        (Cell::Bytes(_), _) if from.is_hex_literal() => whole_number(cell, from).unwrap_or(0) as f64,
        (Cell::Bytes(document), TypeKind::Json) => {
            let value = json::to_double(document);
            if value.is_none() || !is_double_document(document) {
                issue = Issue::json(IssueKind::JsonValue { to: "DOUBLE" }, origin);
            }
            value.unwrap_or(0.0)
        }
        (Cell::Bytes(text), _) => {
            let text = &*from.collation.charset().readable(text);
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

pub(super) fn store_year(
    cell: Cell<'_>,
    given: Given<'_>,
    options: &StoreOptions<'_>,
    out: &mut Column,
) -> Option<Issue> {
    let Given { data_type: from, origin } = given;
    let mut issue = None;
    let (number, text_zero) = match (cell, from.kind) {
        (Cell::Int(packed), TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp) => {
            // Of a column the number is taken, of which a date's is its year.
            if from.kind != TypeKind::Date && matches!(origin, Origin::Column(_)) {
                out.push_int(0);
                return Issue::new(IssueKind::OutOfRange);
            }
            (i128::from(DateTime::unpack(packed).year), false)
        }
        (Cell::Int(_), TypeKind::Time) if matches!(origin, Origin::Computed(_)) => {
            (i128::from(options.today().year), false)
        }
        // A document that an expression gives goes as its text, with its quotes.
        (Cell::Bytes(document), TypeKind::Json) => {
            let value = json::to_integer(document);
            if matches!(origin, Origin::Computed(_)) && (value.is_none() || !json::is_number(document)) {
                out.push_int(0);
                return Issue::showing(IssueKind::Incorrect { what: "integer", partly: false }, cell, from);
            }
            issue = json_integer_issue(document, value, origin);
            // Its text, where an expression gives it.
            (value.unwrap_or(0), matches!(origin, Origin::Computed(_)))
        }
        (Cell::Bytes(text), _) if !from.is_hex_literal() => {
            let text = &*from.collation.charset().readable(text);
            let parsed = number::parse_integer_rounded(text);
            if parsed.consumed == 0 {
                out.push_int(0);
                return Issue::showing(IssueKind::Incorrect { what: "integer", partly: false }, cell, from);
            }
            if !only_spaces(&text[parsed.consumed..]) {
                issue = Issue::new(IssueKind::Truncated);
            }
            (parsed.value, text.len() != 4)
        }
        // Of a DOUBLE the fraction is cut off, of a DECIMAL it is rounded.
        (Cell::Double(value), _) if (0.0..=2155.0).contains(&value) => (value as i128, false),
        (Cell::Double(_), _) => (-1, false),
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

/// The number whose bytes these are, if 64 bits hold it.
fn bits_of(bytes: &[u8]) -> Option<u64> {
    let significant = &bytes[bytes.iter().take_while(|&&byte| byte == 0).count()..];
    (significant.len() <= 8).then(|| significant.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte)))
}

pub(super) fn store_bit(cell: Cell<'_>, given: Given<'_>, to: &DataType, out: &mut Column) -> Option<Issue> {
    let Given { data_type: from, origin } = given;
    let all = if to.length >= 64 { u64::MAX } else { (1 << to.length) - 1 };
    let bits = match cell {
        Cell::Bytes(bytes) if from.kind != TypeKind::Json => bits_of(bytes),
        // The text of a document or a date, and of a datetime or time that is computed.
        Cell::Bytes(_) | Cell::Int(_)
            if matches!(from.kind, TypeKind::Json | TypeKind::Date)
                || (from.is_temporal() && matches!(origin, Origin::Computed(_))) =>
        {
            let mut text = Vec::new();
            write_text(cell, from, &mut text);
            bits_of(&text)
        }
        Cell::Int(value) if !from.is_temporal() => Some(value as u64),
        // Saturates; NaN is 0.
        Cell::Double(value) => Some(value as i64 as u64),
        Cell::Decimal(value) => {
            let units = value.to_units(0).unwrap_or(if value.is_negative() { -1 } else { i128::MAX });
            if units > u64::MAX.into() || units < 0 {
                out.push_int(if units < 0 { 0 } else { all as i64 });
                return Issue::new(IssueKind::OutOfRange);
            }
            Some(units as u64)
        }
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
