//! Conversions between classes, a column at a time: what MySQL does implicitly and what CAST does.

use std::borrow::Cow;
use std::sync::Arc;

use super::context::{EvalContext, SqlResult, sql_mode};
use super::program::Run;
use super::vector::Operand;
use crate::error::internal;
use service::error::{
    ER_DATA_OUT_OF_RANGE, ER_DATA_TOO_LONG, ER_TRUNCATED_WRONG_VALUE, ER_WARN_DATA_OUT_OF_RANGE,
    ER_WRONG_VALUE,
};
use types::charset::{Charset, convert_lossy, convert_strict};
use types::convert as conv;
use types::data_type::{DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX, FRACTION_DIGITS_MAX};
use types::temporal::parse::{self, DateMode};
use types::temporal::{DateTime, MICROS_PER_DAY, Time};
use types::{
    Cell, CollationId, Column, DataType, Decimal, Physical, TypeKind, Value, ValueRef, json, number,
};

/// What a value is converted to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Target {
    /// A number for arithmetic or a function's integer argument.
    Int,
    Double,
    Decimal,
    /// One of the numbers above from a text: read as far as it goes, without a warning.
    Quiet(Box<Target>),
    /// A number from the text of a date or time: that of its digits.
    Digits(Box<Target>),
    /// The integer that a DOUBLE is rounded to; beyond BIGINT error 1690 of this expression.
    IntInRange(Arc<str>),
    /// As above of a column, which is cut to the range of BIGINT with warning 1292.
    IntOfColumn,
    /// Text in the character set of this collation.
    Text(CollationId),
    /// Text of a TIME in UTF-8, without a fraction that is zero, or with six digits.
    ShortTime,
    /// As above, up to bytes that are no character.
    WellFormed(CollationId),
    /// Text in the character set; what that does not hold is error 3854.
    Lossless(CollationId),
    /// As above, of a parameter: bytes behind its last character are left out.
    ParameterText(CollationId),
    /// Text as CONVERT gives it: NULL for bytes that are none.
    Characters(CollationId),
    /// Packed fields.
    DateTime,
    /// Packed fields, zero for what is no date.
    DateTimeOrZero,
    /// Packed fields, NULL for the zero date.
    DateUnlessZero,
    /// Packed fields of which only the date is wanted.
    Date,
    /// Packed fields of which some may be zero; `days`: a number may be a day alone.
    DateParts {
        days: bool,
    },
    /// As above, of a value that IF or CASE chooses beside a date: a day alone only where the session's mode has partial dates.
    /// `is_day`: without its time of day.
    ChosenDate {
        is_day: bool,
    },
    /// CAST to this temporal type; a date that the session's mode does not have is NULL.
    Checked(DataType),
    /// As above of a parameter, with warning 1292 for such a date.
    CheckedParameter(DataType),
    /// Packed fields of a constant that is compared with a temporal of this name: a bad text is error 1525.
    ComparedDate(&'static str),
    /// Packed fields of a text that is compared with a date or datetime, as the name says: zero if it is none.
    ComparedText(&'static str),
    /// As above without a time of day: what is no constant is compared with a DATE that is none as the DATE it is.
    ComparedDay,
    /// As above for a constant that bounds a range (BETWEEN).
    Bound(&'static str),
    /// As above for one of several constants in a list (IN): equal to no date if it is none.
    Listed(&'static str),
    /// Microseconds of a constant that is compared with a TIME: zero if it is none.
    ComparedTime {
        scale: u8,
    },
    /// Microseconds of a constant text that is compared with a TIME column of this fractional seconds precision, as the column would keep it;
    /// NULL if the text is not wholly such a time.
    WholeTime(u8),
    /// Microseconds of a text of a list that is compared with a TIME: equal to none if it is none.
    ListedTime,
    /// Microseconds.
    Time,
    /// A document: a JSON value as it is, text as a JSON string, numbers as numbers.
    JsonValue,
    /// As above, of a number: a BIT is one.
    JsonNumber,
    /// As above, of the number that COALESCE and its like make of BIT values: its text, as bits.
    JsonBits,
    /// As above, of a DECIMAL that an operator gives: zero has no digits after the point.
    JsonResult,
    /// A document: text is parsed. The number is the argument's, the name the function's, for messages.
    JsonDocument {
        argument: usize,
        function: &'static str,
    },
    /// UTF-8 text among documents: bytes are error 3144.
    JsonText,
    /// Characters of this collation that the bytes are: error 3854 if they are none.
    ValidCharacters(CollationId),
    /// The year that a constant is beside a YEAR column.
    BesideYear,
    /// The document that a constant document is beside a BIGINT column.
    BesideBigInt {
        unsigned: bool,
    },
    /// What a column of this type gets: a text, or the date of a text.
    Stored(DataType),
    /// CAST to this type.
    Cast(DataType),
    /// CAST of a text to this type, of the number that it begins with, without a warning: a DECIMAL of the whole number alone.
    CastQuietly(DataType),
}

impl Target {
    pub(super) fn physical(&self) -> Physical {
        match self {
            Target::Int
            | Target::IntInRange(_)
            | Target::IntOfColumn
            | Target::DateTime
            | Target::Date
            | Target::DateParts { .. }
            | Target::ChosenDate { .. }
            | Target::Checked(_)
            | Target::CheckedParameter(_)
            | Target::ComparedDate(_)
            | Target::ComparedText(_)
            | Target::ComparedDay
            | Target::Bound(_)
            | Target::Listed(_)
            | Target::DateTimeOrZero
            | Target::DateUnlessZero
            | Target::ComparedTime { .. }
            | Target::BesideYear
            | Target::ListedTime
            | Target::WholeTime(_)
            | Target::Time => Physical::Int,
            Target::Double => Physical::Double,
            Target::Decimal => Physical::Decimal,
            Target::Quiet(number) | Target::Digits(number) => number.physical(),
            Target::Text(_)
            | Target::ShortTime
            | Target::WellFormed(_)
            | Target::Lossless(_)
            | Target::ParameterText(_)
            | Target::Characters(_)
            | Target::ValidCharacters(_)
            | Target::JsonText
            | Target::JsonValue
            | Target::JsonNumber
            | Target::JsonBits
            | Target::JsonResult
            | Target::BesideBigInt { .. }
            | Target::JsonDocument { .. } => Physical::Bytes,
            Target::Cast(data_type) | Target::Stored(data_type) | Target::CastQuietly(data_type) => {
                data_type.physical()
            }
        }
    }

    /// What CASE, IF and NULLIF of this type ask the value that they choose for, instead of the type of all first: a number or a date
    /// of an ENUM, a TIME, a BIT among texts is its own, and so is the text of a number. CAST to an integer reads a text.
    pub(super) fn asked_of_chosen(&self, from: &DataType) -> Option<Target> {
        match self {
            Target::Int
            | Target::Double
            | Target::Decimal
            | Target::DateTime
            | Target::DateTimeOrZero
            | Target::Date
            | Target::DateParts { .. }
            | Target::ChosenDate { .. }
            | Target::Time
            | Target::Checked(_) => Some(self.clone()),
            Target::ComparedText("date") => Some(Target::ChosenDate { is_day: false }),
            Target::ComparedDay => Some(Target::ChosenDate { is_day: true }),
            Target::ComparedText(_) => Some(Target::DateTime),
            // Among DOUBLE values an integer is one, too.
            Target::JsonValue | Target::JsonNumber
                if matches!(from.kind, TypeKind::Float | TypeKind::Double) =>
            {
                None
            }
            Target::Text(_) | Target::Characters(_) | Target::JsonValue | Target::JsonNumber
                if from.is_numeric() =>
            {
                Some(self.clone())
            }
            Target::Cast(to) if to.is_integer() && from.is_string() => None,
            Target::Cast(to) if to.is_numeric() || to.is_temporal() => Some(self.clone()),
            Target::Cast(to) if to.is_string() && from.is_numeric() => Some(self.clone()),
            _ => None,
        }
    }

    /// A date or time, whatever the value is.
    pub(super) fn is_temporal(&self) -> bool {
        match self {
            Target::DateTime
            | Target::DateTimeOrZero
            | Target::Date
            | Target::DateParts { .. }
            | Target::ChosenDate { .. }
            | Target::Time
            | Target::Checked(_) => true,
            Target::Cast(to) => to.is_temporal(),
            _ => false,
        }
    }

    /// A text, whatever the value is.
    pub(super) fn is_text(&self) -> bool {
        match self {
            Target::Text(_)
            | Target::Characters(_)
            | Target::Lossless(_)
            | Target::ParameterText(_)
            | Target::WellFormed(_) => true,
            Target::Cast(to) => to.is_string(),
            _ => false,
        }
    }

    /// A value of a document.
    pub(super) fn is_document(&self) -> bool {
        match self {
            Target::JsonValue | Target::JsonNumber | Target::JsonBits | Target::JsonResult => true,
            Target::Cast(to) => to.kind == TypeKind::Json,
            _ => false,
        }
    }

    /// A number, whatever the value is.
    pub(super) fn is_number(&self) -> bool {
        match self {
            Target::Int | Target::Double | Target::Decimal | Target::Quiet(_) => true,
            Target::Cast(to) | Target::CastQuietly(to) => to.is_numeric(),
            _ => false,
        }
    }

    /// A number for which MySQL asks a date or time that it has made as a text.
    pub(super) fn reads_digits(&self) -> bool {
        match self {
            Target::Int | Target::Double | Target::Decimal => true,
            Target::Cast(to) => matches!(to.kind, TypeKind::Float | TypeKind::Double | TypeKind::Decimal),
            _ => false,
        }
    }

    /// Values of this type need no conversion.
    pub(super) fn is_identity(&self, from: &DataType) -> bool {
        match self {
            Target::Int => from.is_integer() || matches!(from.kind, TypeKind::Enum | TypeKind::Set),
            Target::Double => matches!(from.kind, TypeKind::Float | TypeKind::Double),
            Target::Decimal => from.kind == TypeKind::Decimal,
            Target::Quiet(_) | Target::Digits(_) | Target::WellFormed(_) | Target::CastQuietly(_) => false,
            Target::Text(to) => {
                from.is_string()
                    && (from.collation.charset() == to.charset()
                        || from.is_binary_string()
                        || *to == CollationId::BINARY)
            }
            // Bytes may be no characters.
            Target::Characters(to) | Target::Lossless(to) | Target::ParameterText(to) => {
                from.is_string() && (from.collation.charset() == to.charset() || *to == CollationId::BINARY)
            }
            Target::DateTime
            | Target::DateTimeOrZero
            | Target::Date
            | Target::DateParts { .. }
            | Target::ChosenDate { is_day: false }
            | Target::ComparedDate(_)
            | Target::ComparedText(_)
            | Target::Bound(_)
            | Target::Listed(_) => from.has_date(),
            Target::ChosenDate { is_day: true } | Target::ComparedDay => from.kind == TypeKind::Date,
            Target::Checked(_)
            | Target::CheckedParameter(_)
            | Target::ShortTime
            | Target::DateUnlessZero
            | Target::IntInRange(_)
            | Target::IntOfColumn
            | Target::ValidCharacters(_)
            | Target::BesideYear
            | Target::BesideBigInt { .. }
            | Target::ListedTime
            | Target::WholeTime(_) => false,
            Target::JsonText => {
                from.is_string() && !from.is_binary_string() && from.collation.charset() == Charset::Utf8mb4
            }
            Target::Time | Target::ComparedTime { .. } => from.kind == TypeKind::Time,
            Target::JsonValue
            | Target::JsonNumber
            | Target::JsonBits
            | Target::JsonResult
            | Target::JsonDocument { .. } => from.kind == TypeKind::Json,
            Target::Cast(to) | Target::Stored(to) => to == from,
        }
    }
}

/// Converts every row of an operand.
pub(super) fn eval<'b>(
    operand: Operand<'b>,
    from: &DataType,
    to: &Target,
    run: &mut Run<'_, '_>,
    count: usize,
) -> SqlResult<Operand<'b>> {
    let mut out = run.scratch.pool.take(to.physical());
    let constant = operand.is_constant() && count > 0;
    let rows = if constant { 1 } else { count };
    // A type that is none of a document's is refused whatever the value is.
    let refused = match to {
        Target::JsonDocument { argument, function } if !may_be_document(from) => Some((argument, function)),
        _ => None,
    };
    {
        let view = operand.view();
        for row in 0..rows {
            if let Some((argument, function)) = refused {
                return Err(service::error::ER_INVALID_TYPE_FOR_JSON.with(&[argument, function]));
            }
            if from.kind == TypeKind::Null || view.is_null(row) {
                out.push_null();
            } else {
                cell(view.cell(row), from, to, run.ctx, &mut out)?;
            }
        }
    }
    run.scratch.pool.release(operand);
    Ok(if constant { Operand::owned_constant(out) } else { Operand::owned(out) })
}

fn may_be_document(data_type: &DataType) -> bool {
    data_type.is_string()
        || data_type.members.is_some()
        || matches!(data_type.kind, TypeKind::Json | TypeKind::Null)
}

/// A value with fewer digits of its fraction: rounded, or cut if the session says so. `None` past the year 9999.
fn rounded(value: DateTime, digits: u8, ctx: &EvalContext<'_>) -> Option<DateTime> {
    if ctx.settings.has(sql_mode::TIME_TRUNCATE_FRACTIONAL) {
        Some(value.truncate(digits))
    } else {
        value.round(digits)
    }
}

fn rounded_micros(micros: i64, digits: u8, ctx: &EvalContext<'_>) -> i64 {
    if ctx.settings.has(sql_mode::TIME_TRUNCATE_FRACTIONAL) {
        types::temporal::truncate_micros(micros, digits)
    } else {
        types::temporal::round_micros(micros, digits)
    }
}

/// A text for a message: cut, printable.
fn shown(text: &[u8], from: &DataType) -> String {
    let text = &text[..text.len().min(512)];
    if !from.is_binary_string() {
        return service::error::in_message(&String::from_utf8_lossy(&as_utf8(text, from)));
    }
    let mut shown = String::with_capacity(text.len());
    for &byte in text {
        match byte {
            b' '..=b'~' => shown.push(char::from(byte)),
            _ => shown += &format!("\\x{byte:02X}"),
        }
    }
    shown
}

#[cold]
pub(super) fn truncated(
    kind: &str,
    text: &[u8],
    from: &DataType,
    ctx: &mut EvalContext<'_>,
) -> SqlResult<()> {
    ctx.warn_or_fail(ER_TRUNCATED_WRONG_VALUE, &[&kind, &shown(text, from)])
}

#[cold]
fn incorrect(kind: &str, text: &[u8], from: &DataType, ctx: &mut EvalContext<'_>) -> SqlResult<()> {
    // "Incorrect datetime value" has the number 1292 and another text than the table's.
    let message = format!("Incorrect {kind} value: '{}'", shown(text, from));
    let error = ER_TRUNCATED_WRONG_VALUE.saying(message);
    if ctx.settings.strict_dml {
        return Err(error);
    }
    let mut entry = error.diagnostic();
    entry.level = service::Level::Warning;
    ctx.warnings.push(entry);
    Ok(())
}

/// The value as text, appended.
pub(super) fn write_text(cell: Cell<'_>, from: &DataType, out: &mut Vec<u8>) {
    conv::write_text(cell, from, out);
}

fn text_of(cell: Cell<'_>, from: &DataType) -> Vec<u8> {
    let mut text = Vec::new();
    write_text(cell, from, &mut text);
    text
}

fn to_double(cell: Cell<'_>, from: &DataType, ctx: &mut EvalContext<'_>) -> SqlResult<f64> {
    Ok(match (cell, from.kind) {
        (Cell::Int(packed), TypeKind::Date) => DateTime::unpack(packed).date_number() as f64,
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            let value = DateTime::unpack(packed);
            value.datetime_number() as f64 + f64::from(value.micros) / 1e6
        }
        (Cell::Int(micros), TypeKind::Time) => Time { micros }.decimal(6).to_f64(),
        (Cell::Int(value), _) if from.unsigned => value as u64 as f64,
        (Cell::Int(value), _) => value as f64,
        (Cell::Double(value), _) => value,
        (Cell::Decimal(value), _) => value.to_f64(),
        (Cell::Bytes(document), TypeKind::Json) => {
            let value = json::to_double(document);
            if value.is_none() || !conv::is_double_document(document) {
                ctx.warn_or_fail(service::error::ER_INVALID_JSON_VALUE_FOR_CAST, &[&"DOUBLE", &"", &1])?;
            }
            value.unwrap_or(0.0)
        }
        (Cell::Bytes(bytes), _) if from.is_hex_literal() => hex_literal(bytes) as f64,
        (Cell::Bytes(own), _) => {
            let text = &*from.collation.charset().readable(own);
            let parsed = number::parse_double(text);
            // Nothing but spaces is 0 without a warning, unlike for an integer or decimal.
            let rest = &text[parsed.consumed..];
            if parsed.overflow || rest.iter().any(|&byte| !number::is_space(byte)) {
                truncated("DOUBLE", own, from, ctx)?;
            }
            parsed.value
        }
        (Cell::Null, _) => 0.0,
    })
}

fn to_decimal(cell: Cell<'_>, from: &DataType, ctx: &mut EvalContext<'_>) -> SqlResult<Decimal> {
    Ok(match (cell, from.kind) {
        (Cell::Int(packed), TypeKind::Date) => Decimal::from_i64(DateTime::unpack(packed).date_number()),
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            DateTime::unpack(packed).datetime_decimal(from.scale)
        }
        (Cell::Int(micros), TypeKind::Time) => Time { micros }.decimal(from.scale),
        (Cell::Int(value), _) if from.unsigned => Decimal::from_u64(value as u64),
        (Cell::Int(value), _) => Decimal::from_i64(value),
        (Cell::Double(value), _) => match Decimal::from_f64(value) {
            Ok(value) => value,
            Err(clipped) => {
                truncated("DECIMAL", &text_of(cell, from), from, ctx)?;
                clipped.0
            }
        },
        (Cell::Decimal(value), _) => *value,
        (Cell::Bytes(document), TypeKind::Json) => {
            // MySQL takes its bits for a signed number.
            if let json::Json::UInt(number) = json::View::new(document).tree() {
                return Ok(Decimal::from_i64(number.cast_signed()));
            }
            if json::is_boolean(document) {
                return Ok(Decimal::from_i64(i64::from(json::to_integer(document) == Some(1))));
            }
            // Dates have no number, though they have a text.
            let has_number = json::is_number(document) || json::string(document).is_some();
            let text = json::scalar_text(document).filter(|_| has_number).unwrap_or_default();
            let parsed = Decimal::parse(&text);
            if parsed.overflow {
                truncated("DECIMAL", &text, &DataType::varchar(0, CollationId::UTF8MB4_BIN), ctx)?;
            } else if parsed.consumed == 0
                || text[parsed.consumed..].iter().any(|&byte| !number::is_space(byte))
            {
                let error = service::error::ER_INVALID_JSON_VALUE_FOR_CAST;
                ctx.warn_or_fail(error, &[&"DECIMAL", &"cast_as_json", &1])?;
            }
            return Ok(parsed.value);
        }
        (Cell::Bytes(bytes), _) if from.is_hex_literal() => Decimal::from_u64(hex_literal(bytes)),
        (Cell::Bytes(own), _) => {
            let text = &*from.collation.charset().readable(own);
            let parsed = Decimal::parse(text);
            let rest = &text[parsed.consumed..];
            if parsed.overflow || parsed.consumed == 0 || rest.iter().any(|&byte| !number::is_space(byte)) {
                truncated("DECIMAL", own, from, ctx)?;
            }
            parsed.value
        }
        (Cell::Null, _) => Decimal::ZERO,
    })
}

const NEGATIVE_AS_UNSIGNED: &str = "Cast to unsigned converted negative integer to its positive complement";

/// The number a literal in hex or bits is, where a number is wanted.
fn hex_literal(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The number that a date or time is, from its text: `-01:02:03.5` is -10203.5.
fn digits_of_temporal(text: &[u8]) -> Decimal {
    let is_kept =
        |(at, byte): (usize, &u8)| byte.is_ascii_digit() || *byte == b'.' || at == 0 && *byte == b'-';
    let digits: Vec<u8> = text.iter().enumerate().filter(|of| is_kept(*of)).map(|(_, byte)| *byte).collect();
    Decimal::parse(&digits).value
}

/// A DOUBLE that is rounded to an integer of BIGINT's range, or another value.
fn is_in_bigint(cell: &Cell<'_>) -> bool {
    /// 2 to the power of 63, the least DOUBLE above the range.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match cell {
        Cell::Double(value) => (-LIMIT..LIMIT).contains(&number::round_double(*value)),
        _ => true,
    }
}

/// An integer argument: numbers rounded, texts by their leading digits. `unsigned`: the bits of a `u64`.
fn to_int(
    cell: Cell<'_>,
    from: &DataType,
    unsigned: bool,
    cast: bool,
    ctx: &mut EvalContext<'_>,
) -> SqlResult<i64> {
    let clip = |value: i128| -> (i64, bool) {
        if unsigned {
            let wrapped =
                if value < 0 { value.max(i128::from(i64::MIN)) } else { value.min(i128::from(u64::MAX)) };
            (wrapped as i64, value > i128::from(u64::MAX) || value < i128::from(i64::MIN))
        } else {
            let clipped = value.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
            (clipped as i64, clipped != value)
        }
    };
    Ok(match (cell, from.kind) {
        (Cell::Int(packed), TypeKind::Date) => DateTime::unpack(packed).date_number(),
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            // Past the last second of the year 9999 the time of day is.
            let value = DateTime::unpack(packed);
            rounded(value, 0, ctx).unwrap_or(value.date_part()).datetime_number()
        }
        (Cell::Int(micros), TypeKind::Time) => Time { micros: rounded_micros(micros, 0, ctx) }.number(),
        (Cell::Int(value), _) => value,
        (Cell::Double(value), _) => {
            let rounded = number::round_double(value);
            // MySQL takes a FLOAT that is too large for the least number, and cuts others to BIGINT, whatever is asked.
            if from.kind == TypeKind::Float && !is_in_bigint(&cell) { i64::MIN } else { rounded as i64 }
        }
        (Cell::Decimal(value), _) => {
            let whole = value.to_units(0).unwrap_or(if value.is_negative() { i128::MIN } else { i128::MAX });
            let (result, clipped) = clip(whole);
            if clipped {
                truncated("DECIMAL", &text_of(cell, from), from, ctx)?;
            }
            result
        }
        (Cell::Bytes(document), TypeKind::Json) => {
            let value = json::to_integer(document);
            if value.is_none() || !conv::is_integer_document(document) {
                ctx.warn_or_fail(service::error::ER_INVALID_JSON_VALUE_FOR_CAST, &[&"INTEGER", &"", &1])?;
            }
            value.map_or(0, |value| clip(value).0)
        }
        (Cell::Bytes(bytes), _) if from.is_hex_literal() => hex_literal(bytes) as i64,
        (Cell::Bytes(own), _) => {
            let text = &*from.collation.charset().readable(own);
            let parsed = number::parse_integer_prefix(text);
            let rest = &text[parsed.consumed..];
            // Digits beyond a BIGINT are read as an unsigned number, whose bits stay.
            let clipped = !(i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&parsed.value);
            let result = parsed.value.clamp(i128::from(i64::MIN), i128::from(u64::MAX)) as i64;
            if cast && unsigned && parsed.value < 0 {
                let mut entry = service::error::ER_UNKNOWN_ERROR.saying(NEGATIVE_AS_UNSIGNED).diagnostic();
                entry.level = service::Level::Warning;
                ctx.warnings.push(entry);
            }
            if clipped || parsed.consumed == 0 || rest.iter().any(|&byte| !number::is_space(byte)) {
                truncated("INTEGER", own, from, ctx)?;
            }
            result
        }
        (Cell::Null, _) => 0,
    })
}

/// A date with time of day; `None` with a warning if there is none.
fn to_datetime(
    cell: Cell<'_>,
    from: &DataType,
    mode: DateMode,
    kind: &str,
    ctx: &mut EvalContext<'_>,
) -> SqlResult<Option<DateTime>> {
    // ENUM, SET and BIT are read as texts.
    if (from.members.is_some() || from.kind == TypeKind::Bit) && matches!(cell, Cell::Int(_)) {
        let text = text_of(cell, from);
        return to_datetime(Cell::Bytes(&text), &DataType::varchar(0, from.collation), mode, kind, ctx);
    }
    let of_number = |number: i64, micros: u32, ctx: &mut EvalContext<'_>| -> SqlResult<Option<DateTime>> {
        match parse::datetime_from_number(number, mode) {
            // A date alone has no fraction of a second.
            Ok((value, false)) if number != 0 => Ok(Some(value)),
            Ok((value, _)) => Ok(Some(DateTime { micros, ..value })),
            Err(_) => {
                incorrect("datetime", &text_of(cell, from), from, ctx)?;
                Ok(None)
            }
        }
    };
    Ok(match (cell, from.kind) {
        (Cell::Int(packed), TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp) => {
            Some(DateTime::unpack(packed))
        }
        // A time of day counts from the statement's day.
        (Cell::Int(micros), TypeKind::Time) => {
            let today = ctx.settings.time_zone.from_utc(ctx.settings.now_utc_micros).date_part();
            DateTime::from_linear_micros(today.linear_micros() + micros)
        }
        // A year is its first day.
        (Cell::Int(year), TypeKind::Year) => {
            Some(DateTime::date(u16::try_from(year).unwrap_or_default(), 1, 1))
        }
        (Cell::Int(value), _) => of_number(value, 0, ctx)?,
        (Cell::Double(_) | Cell::Decimal(_), _) => {
            let value = to_decimal(cell, from, ctx)?;
            let micros = value.to_units(6).unwrap_or(-1);
            if micros < 0 {
                incorrect(kind, &text_of(cell, from), from, ctx)?;
                return Ok(None);
            }
            let number = i64::try_from(micros / 1_000_000).unwrap_or(i64::MAX);
            of_number(number, (micros % 1_000_000) as u32, ctx)?
        }
        (Cell::Bytes(document), TypeKind::Json) => match json::to_datetime(document) {
            Some(value) => Some(value),
            // Numbers are no dates, texts if they are whole ones.
            None => {
                let is_whole =
                    |text: &&[u8]| parse::parse_datetime(text, mode).is_ok_and(|parsed| !parsed.truncated);
                if let Some(text) = json::string(document).filter(is_whole) {
                    let from = DataType::varchar(0, CollationId::UTF8MB4_BIN);
                    return to_datetime(Cell::Bytes(text), &from, mode, kind, ctx);
                }
                let to = if kind == "date" { "DATE" } else { "DATETIME/TIMESTAMP" };
                let error = service::error::ER_INVALID_JSON_VALUE_FOR_CAST;
                ctx.warn_or_fail(error, &[&to, &"cast_as_json", &1])?;
                None
            }
        },
        (Cell::Bytes(text), _) => match parse::parse_datetime(&from.collation.charset().readable(text), mode)
        {
            Ok(parsed) => {
                if parsed.truncated {
                    truncated(if parsed.has_time { "datetime" } else { "date" }, text, from, ctx)?;
                }
                let value = parsed.rounded(6);
                match (value, parsed.offset_minutes) {
                    (Some(value), Some(minutes)) => {
                        let utc = types::temporal::zone::TimeZone::Offset(minutes).to_utc(value);
                        Some(ctx.settings.time_zone.from_utc(utc))
                    }
                    (value, _) => value,
                }
            }
            Err(_) => {
                if kind == "date" {
                    truncated(kind, text, from, ctx)?;
                } else {
                    incorrect(kind, text, from, ctx)?;
                }
                None
            }
        },
        (Cell::Null, _) => None,
    })
}

/// As [`to_datetime`], but only the date is wanted.
fn to_date(
    cell: Cell<'_>,
    from: &DataType,
    mode: DateMode,
    ctx: &mut EvalContext<'_>,
) -> SqlResult<Option<DateTime>> {
    match cell {
        // MySQL adds a time that is no time of day to the moment, and not to the day.
        Cell::Int(micros) if from.kind == TypeKind::Time && !(0..MICROS_PER_DAY).contains(&micros) => {
            let now = ctx.settings.time_zone.from_utc(ctx.settings.now_utc_micros);
            Ok(DateTime::from_linear_micros(now.linear_micros() + micros))
        }
        _ => to_datetime(cell, from, mode, "date", ctx),
    }
}

/// A number below 101 as MySQL reads it where it wants a date: a day of no month of the year 2000.
fn day_of_number(cell: Cell<'_>, from: &DataType, ctx: &mut EvalContext<'_>) -> SqlResult<Option<DateTime>> {
    if !from.is_numeric() || matches!(from.kind, TypeKind::Year | TypeKind::Bit) {
        return Ok(None);
    }
    let units = to_decimal(cell, from, ctx)?.truncate(0).to_units(0);
    Ok(match units {
        Some(day @ 0..=31) => Some(DateTime { year: 2000, day: day as u8, ..DateTime::ZERO }),
        Some(100) => Some(DateTime { year: 2000, month: 1, ..DateTime::ZERO }),
        _ => None,
    })
}

/// A date of which parts may be zero. `days`: numbers of a day alone are read too.
fn to_date_parts(
    cell: Cell<'_>,
    from: &DataType,
    days: bool,
    ctx: &mut EvalContext<'_>,
) -> SqlResult<Option<DateTime>> {
    match day_of_number(cell, from, ctx)? {
        Some(day) if days => Ok(Some(day)),
        Some(day) if day.month == 0 && day.day == 0 => Ok(Some(DateTime::ZERO)),
        _ => to_date(cell, from, query_dates(ctx), ctx),
    }
}

/// A value that IF or CASE chooses, as it is compared with a date.
fn chosen_date(cell: Cell<'_>, from: &DataType, ctx: &mut EvalContext<'_>) -> SqlResult<Option<DateTime>> {
    let mode = ctx.settings.date_mode();
    if !mode.no_zero_in_date || !from.is_numeric() || matches!(from.kind, TypeKind::Year | TypeKind::Bit) {
        return to_date_parts(cell, from, true, ctx);
    }
    match day_of_number(cell, from, ctx)? {
        Some(_) => {
            let name = if matches!(cell, Cell::Int(_)) { "datetime" } else { "date" };
            incorrect(name, &text_of(cell, from), from, ctx)?;
            Ok(None)
        }
        None => to_date(cell, from, mode, ctx),
    }
}

/// A value that GREATEST or LEAST compares with dates.
pub(super) fn date_beside(
    cell: Cell<'_>,
    from: &DataType,
    ctx: &mut EvalContext<'_>,
) -> SqlResult<Option<DateTime>> {
    to_date_parts(cell, from, true, ctx)
}

/// A value that GREATEST or LEAST compares with dates with time of day.
pub(super) fn datetime_beside(
    cell: Cell<'_>,
    from: &DataType,
    ctx: &mut EvalContext<'_>,
) -> SqlResult<Option<DateTime>> {
    to_datetime(cell, from, query_dates(ctx), "datetime", ctx)
}

/// What a TIME column of this fractional seconds precision keeps of a text. `None`, with a warning, if it would not keep all of it; without one for
/// spaces.
fn whole_time(
    text: &[u8],
    from: &DataType,
    digits: u8,
    ctx: &mut EvalContext<'_>,
) -> SqlResult<Option<Time>> {
    // A number with an exponent is no time either, and the column says nothing of it.
    if text.iter().all(|&byte| number::is_space(byte)) || parse::has_exponent(text) {
        return Ok(None);
    }
    let truncates_fraction = ctx.settings.has(sql_mode::TIME_TRUNCATE_FRACTIONAL);
    let parsed = parse::parse_time_with(text, truncates_fraction).ok();
    let parsed = parsed.filter(|parsed| !parsed.truncated && !parsed.out_of_range);
    let time = parsed.map(|parsed| Time { micros: rounded_micros(parsed.value.micros, digits, ctx) });
    let time = time.filter(|time| time.in_range());
    if time.is_none() {
        incorrect("time", text, from, ctx)?;
    }
    Ok(time)
}

fn to_time(cell: Cell<'_>, from: &DataType, ctx: &mut EvalContext<'_>) -> SqlResult<Option<Time>> {
    if (from.members.is_some() || from.kind == TypeKind::Bit) && matches!(cell, Cell::Int(_)) {
        let text = text_of(cell, from);
        return to_time(Cell::Bytes(&text), &DataType::varchar(0, from.collation), ctx);
    }
    let finish =
        |parsed: parse::ParsedTime, text: &[u8], ctx: &mut EvalContext<'_>| -> SqlResult<Option<Time>> {
            if parsed.truncated || parsed.out_of_range {
                truncated("time", text, from, ctx)?;
            }
            Ok(Some(parsed.value))
        };
    Ok(match (cell, from.kind) {
        (Cell::Int(_), TypeKind::Date) => Some(Time { micros: 0 }),
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            Some(DateTime::unpack(packed).time_part())
        }
        (Cell::Int(micros), TypeKind::Time) => Some(Time { micros }),
        (Cell::Int(_), TypeKind::Year) => Some(Time { micros: 0 }),
        // Texts are clipped to the range of TIME; a number beyond it is none.
        (Cell::Int(value), _) => match parse::time_from_number(value) {
            Ok(parsed) if !parsed.out_of_range => finish(parsed, &text_of(cell, from), ctx)?,
            Ok(_) | Err(_) => {
                truncated("time", &text_of(cell, from), from, ctx)?;
                None
            }
        },
        (Cell::Double(_) | Cell::Decimal(_), _) => {
            let value = to_decimal(cell, from, ctx)?;
            let micros = value.to_units(6).unwrap_or(i128::MAX);
            let number = i64::try_from(micros / 1_000_000).unwrap_or(i64::MAX);
            match parse::time_from_number(number) {
                Ok(parsed) if !parsed.out_of_range => {
                    let rest = (micros % 1_000_000) as i64;
                    let time = finish(parsed, &text_of(cell, from), ctx)?;
                    time.map(|time| Time { micros: time.micros + rest }.clipped())
                }
                Ok(_) | Err(_) => {
                    truncated("time", &text_of(cell, from), from, ctx)?;
                    None
                }
            }
        }
        (Cell::Bytes(document), TypeKind::Json) => match json::to_time(document) {
            Some(value) => Some(value),
            // Numbers are no times, texts if they are whole ones.
            None => {
                let parsed = json::string(document).and_then(|text| parse::parse_time(text).ok());
                match parsed.filter(|parsed| !parsed.truncated && !parsed.out_of_range) {
                    Some(parsed) => Some(parsed.value),
                    None => {
                        let message = "Invalid JSON value for CAST to TIME from column cast_as_json at row 1";
                        let error = service::error::ER_INVALID_JSON_VALUE_FOR_CAST.saying(message);
                        if ctx.settings.strict_dml {
                            return Err(error);
                        }
                        let mut entry = error.diagnostic();
                        entry.level = service::Level::Warning;
                        ctx.warnings.push(entry);
                        None
                    }
                }
            }
        },
        (Cell::Bytes(text), _) => {
            let readable = from.collation.charset().readable(text);
            match parse::parse_time_with(&readable, ctx.settings.has(sql_mode::TIME_TRUNCATE_FRACTIONAL)) {
                Ok(parsed) => finish(parsed, text, ctx)?,
                Err(_) => {
                    truncated("time", text, from, ctx)?;
                    None
                }
            }
        }
        (Cell::Null, _) => None,
    })
}

fn names_no_date(text: &[u8], from: &DataType, mode: DateMode) -> bool {
    parse::parse_datetime(&from.collation.charset().readable(text), mode).is_err()
}

fn query_dates(ctx: &EvalContext<'_>) -> DateMode {
    // A text may name a partial date here whatever the mode; days that do not exist are refused, and the zero date
    // where NO_ZERO_DATE refuses it.
    DateMode { no_zero_in_date: false, ..ctx.settings.date_mode() }
}

/// Which dates the text of a parameter may name.
fn client_dates(ctx: &EvalContext<'_>) -> DateMode {
    let truncates_fraction = ctx.settings.has(sql_mode::TIME_TRUNCATE_FRACTIONAL);
    DateMode { allow_invalid: true, truncates_fraction, ..DateMode::default() }
}

/// Converts one value that is not NULL and pushes the result.
pub(super) fn cell(
    cell: Cell<'_>,
    from: &DataType,
    to: &Target,
    ctx: &mut EvalContext<'_>,
    out: &mut Column,
) -> SqlResult<()> {
    match to {
        Target::Int => out.push_int(to_int(cell, from, from.unsigned, false, ctx)?),
        Target::IntInRange(text) => {
            if !is_in_bigint(&cell) {
                return Err(ER_DATA_OUT_OF_RANGE.with(&[&"BIGINT", text]));
            }
            out.push_int(to_int(cell, from, false, false, ctx)?);
        }
        Target::IntOfColumn => {
            if !is_in_bigint(&cell) {
                truncated("INTEGER", &text_of(cell, from), from, ctx)?;
            }
            out.push_int(to_int(cell, from, false, false, ctx)?);
        }
        Target::Double => out.push_double(to_double(cell, from, ctx)?),
        Target::Decimal => out.push_decimal(to_decimal(cell, from, ctx)?),
        Target::Quiet(number) => {
            let Cell::Bytes(text) = cell else { return Err(internal("a text column without texts")) };
            let text = &*from.collation.charset().readable(text);
            match **number {
                Target::Decimal => out.push_decimal(Decimal::parse(text).value),
                Target::Int => {
                    let value = number::parse_integer_prefix(text).value;
                    out.push_int(value.clamp(i64::MIN.into(), u64::MAX.into()) as i64);
                }
                _ => out.push_double(number::parse_double(text).value),
            }
        }
        Target::CastQuietly(to) => {
            let Cell::Bytes(text) = cell else { return Err(internal("a text without its bytes")) };
            let text = &*from.collation.charset().readable(text);
            if to.kind == TypeKind::Decimal {
                let whole = number::parse_integer_prefix(text).value;
                let whole = whole.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                return cast(Cell::Int(whole), &DataType::BIGINT, to, ctx, out);
            }
            return cast(Cell::Double(number::parse_double(text).value), &DataType::DOUBLE, to, ctx, out);
        }
        Target::Digits(number) => {
            let Cell::Bytes(text) = cell else { return Err(internal("a date or time without its text")) };
            let text = &*from.collation.charset().readable(text);
            let value = digits_of_temporal(text);
            let from = DataType::decimal(DECIMAL_PRECISION_MAX, FRACTION_DIGITS_MAX);
            return self::cell(Cell::Decimal(&value), &from, number, ctx, out);
        }
        Target::Text(collation) => push_text(cell, from, *collation, out),
        Target::ShortTime => {
            let Cell::Int(micros) = cell else { return Err(internal("a time without its microseconds")) };
            let digits = if micros % 1_000_000 == 0 { 0 } else { FRACTION_DIGITS_MAX };
            Time { micros }.write_text(digits, out.bytes_mut().tail());
            out.bytes_mut().finish();
            out.nulls.push(false);
        }
        Target::WellFormed(collation) => push_well_formed(cell, from, *collation, out),
        Target::Lossless(collation) => push_lossless(cell, from, *collation, out)?,
        Target::ParameterText(collation) => {
            let characters = match cell {
                Cell::Bytes(text) if from.is_string() => {
                    let valid = from
                        .collation
                        .charset()
                        .validate(text)
                        .map_or_else(|bad| bad.position, |()| text.len());
                    Cell::Bytes(&text[..valid])
                }
                other => other,
            };
            push_lossless(characters, from, *collation, out)?;
        }
        Target::Characters(collation) => push_characters(cell, from, *collation, ctx, out),
        Target::ComparedDate(name) => {
            let mode = ctx.settings.date_mode();
            if let Cell::Bytes(text) = cell
                && from.kind != TypeKind::Json
                && names_no_date(text, from, mode)
            {
                // In strict data changes the warning before that error is the error.
                if ctx.settings.strict_dml {
                    incorrect(if *name == "DATE" { "date" } else { "datetime" }, text, from, ctx)?;
                }
                return Err(ER_WRONG_VALUE.with(&[name, &shown(text, from)]));
            }
            let value = to_datetime(cell, from, query_dates(ctx), "datetime", ctx)?;
            push_packed(value, out);
        }
        Target::ComparedText(name) => {
            let value = compared_text(cell, from, name, ctx)?;
            push_packed(Some(value), out);
        }
        Target::ComparedDay => {
            let value = compared_text(cell, from, "date", ctx)?;
            push_packed(Some(value.date_part()), out);
        }
        Target::Bound(name) => {
            let mode = ctx.settings.date_mode();
            let value = match cell {
                Cell::Bytes(text) if names_no_date(text, from, mode) => {
                    incorrect(name, text, from, ctx)?;
                    None
                }
                _ => to_datetime(cell, from, query_dates(ctx), name, ctx)?,
            };
            push_packed(Some(value.unwrap_or(DateTime::ZERO)), out);
        }
        Target::Listed(name) => {
            let mode = query_dates(ctx);
            let value = match cell {
                Cell::Bytes(text) if names_no_date(text, from, mode) => {
                    truncated(name, text, from, ctx)?;
                    None
                }
                _ => to_datetime(cell, from, mode, name, ctx)?,
            };
            out.push_int(value.map_or(NO_DATE, DateTime::pack));
        }
        Target::ComparedTime { scale } => {
            let value = match cell {
                Cell::Bytes(text)
                    if from.collation.charset().readable(text).iter().all(|&byte| number::is_space(byte)) =>
                {
                    None
                }
                Cell::Bytes(text) if parse::parse_time(&from.collation.charset().readable(text)).is_err() => {
                    incorrect("time", text, from, ctx)?;
                    None
                }
                _ => to_time(cell, from, ctx)?,
            };
            let micros = value.map_or(0, |time| time.micros);
            out.push_int(rounded_micros(micros, *scale, ctx));
        }
        Target::WholeTime(digits) => match whole_time(&text_of(cell, from), from, *digits, ctx)? {
            Some(time) => out.push_int(time.micros),
            None => out.push_null(),
        },
        Target::DateTimeOrZero => {
            let value = to_datetime(cell, from, query_dates(ctx), "datetime", ctx)?;
            push_packed(Some(value.unwrap_or(DateTime::ZERO)), out);
        }
        Target::DateTime => {
            let value = to_datetime(cell, from, query_dates(ctx), "datetime", ctx)?;
            push_packed(value, out);
        }
        Target::Date => {
            let value = to_date(cell, from, query_dates(ctx), ctx)?;
            push_packed(value, out);
        }
        Target::DateParts { days } => {
            let value = to_date_parts(cell, from, *days, ctx)?;
            push_packed(value, out);
        }
        Target::ChosenDate { is_day } => {
            let value = chosen_date(cell, from, ctx)?;
            push_packed(value.map(|value| if *is_day { value.date_part() } else { value }), out);
        }
        Target::Checked(data_type) | Target::CheckedParameter(data_type) => {
            let mode = ctx.settings.date_mode();
            if let Cell::Int(packed) = cell
                && from.has_date()
                && mode.check(DateTime::unpack(packed)).is_err()
            {
                if matches!(to, Target::CheckedParameter(_)) {
                    truncated("date", &text_of(cell, from), from, ctx)?;
                }
                out.push_null();
                return Ok(());
            }
            cast(cell, from, data_type, ctx, out)?;
        }
        Target::DateUnlessZero => match cell {
            Cell::Int(packed) if DateTime::unpack(packed).date_part() != DateTime::ZERO => {
                out.push_int(packed);
            }
            _ => out.push_null(),
        },
        Target::ListedTime => {
            out.push_int(to_time(cell, from, ctx)?.map_or(NO_DATE, |time| time.micros));
        }
        Target::Time => match to_time(cell, from, ctx)? {
            Some(time) => out.push_int(time.micros),
            None => out.push_null(),
        },
        Target::JsonBits => {
            const BIT: u8 = 16;
            json::Json::Opaque(BIT, text_of(cell, from)).encode(out.bytes_mut().tail());
            out.bytes_mut().finish();
            out.nulls.push(false);
        }
        Target::JsonResult if matches!(cell, Cell::Decimal(zero) if zero.is_zero()) => {
            conv::write_json_value(Cell::Decimal(&Decimal::ZERO), from, out.bytes_mut().tail());
            out.bytes_mut().finish();
            out.nulls.push(false);
        }
        Target::JsonValue | Target::JsonNumber | Target::JsonResult => {
            let is_number = from.kind == TypeKind::Bit && matches!(to, Target::JsonNumber);
            let from = if is_number { &DataType::BIGINT_UNSIGNED } else { from };
            let tail = out.bytes_mut().tail();
            conv::write_json_value(cell, from, tail);
            out.bytes_mut().finish();
            out.nulls.push(false);
        }
        Target::JsonDocument { argument, function } => {
            json_document(cell, from, (*argument, function), ctx, out)?;
        }
        Target::JsonText => {
            check_characters(from)?;
            push_text(cell, from, CollationId::UTF8MB4_BIN, out);
        }
        Target::ValidCharacters(collation) => push_valid(cell, from, *collation, out)?,
        Target::BesideYear => out.push_int(year_beside(cell, from, ctx)?),
        Target::BesideBigInt { unsigned } => {
            if let Cell::Bytes(document) = cell {
                push_document_beside_bigint(document, *unsigned, out);
            }
        }
        Target::Stored(to) if to.has_date() => {
            let value = to_datetime(cell, from, ctx.settings.date_mode(), "datetime", ctx)?;
            push_packed(value.and_then(|value| rounded(value, to.scale, ctx)).or(Some(DateTime::ZERO)), out);
        }
        // The type has room for each of the values.
        Target::Stored(to) => drop(conv::store_text(cell, from, to, out)),
        Target::Cast(to) => cast(cell, from, to, ctx, out)?,
    }
    Ok(())
}

/// A text or year that is compared with a date or datetime, as the name says: the zero date if it is none.
fn compared_text(
    cell: Cell<'_>,
    from: &DataType,
    name: &str,
    ctx: &mut EvalContext<'_>,
) -> SqlResult<DateTime> {
    let value = match cell {
        Cell::Bytes(text) if names_no_date(text, from, ctx.settings.date_mode()) => {
            truncated(name, text, from, ctx)?;
            None
        }
        // Beside a date a year has neither month nor day.
        Cell::Int(year) if from.kind == TypeKind::Year => {
            Some(DateTime { year: u16::try_from(year).unwrap_or_default(), ..DateTime::ZERO })
        }
        _ => to_datetime(cell, from, query_dates(ctx), name, ctx)?,
    };
    Ok(value.unwrap_or(DateTime::ZERO))
}

/// What no date is packed to, and no time.
const NO_DATE: i64 = i64::MIN;

fn push_packed(value: Option<DateTime>, out: &mut Column) {
    match value {
        Some(value) => out.push_int(value.pack()),
        None => out.push_null(),
    }
}

pub(super) fn push_text(cell: Cell<'_>, from: &DataType, collation: CollationId, out: &mut Column) {
    let to = collation.charset();
    let source = match from.kind {
        TypeKind::Bit => Charset::Binary,
        _ if from.is_string() || from.members.is_some() => from.collation.charset(),
        _ => Charset::Utf8mb4,
    };
    let is_kept = source == Charset::Ascii && to.extends_ascii();
    if source == Charset::Binary && to.min_bytes_per_char() > 1 {
        out.bytes_mut().tail().extend_from_slice(&to.whole_units(&text_of(cell, from)));
    } else if source == to || source == Charset::Binary || to == Charset::Binary || is_kept {
        write_text(cell, from, out.bytes_mut().tail());
    } else if let Cell::Bytes(text) = cell
        && from.is_string()
    {
        convert_lossy(source, text, to, out.bytes_mut().tail());
    } else {
        let text = text_of(cell, from);
        convert_lossy(source, &text, to, out.bytes_mut().tail());
    }
    out.bytes_mut().finish();
    out.nulls.push(false);
}

/// As [`push_text`], up to bytes that are no character.
fn push_well_formed(cell: Cell<'_>, from: &DataType, collation: CollationId, out: &mut Column) {
    if let Cell::Bytes(text) = cell
        && from.is_string()
        && from.collation.charset() == collation.charset()
        && let Err(bad) = collation.charset().validate(text)
    {
        out.bytes_mut().tail().extend_from_slice(&text[..bad.position]);
        out.bytes_mut().finish();
        out.nulls.push(false);
        return;
    }
    push_text(cell, from, collation, out);
}

/// As [`push_text`]; a character that the set does not hold is error 3854.
fn push_lossless(cell: Cell<'_>, from: &DataType, collation: CollationId, out: &mut Column) -> SqlResult<()> {
    let (source, to) = (from.collation.charset(), collation.charset());
    let text = match cell {
        Cell::Bytes(text) if from.is_string() => Cow::Borrowed(text),
        _ => Cow::Owned(text_of(cell, from)),
    };
    if convert_strict(source, &text, to, out.bytes_mut().tail()).is_err() {
        let shown = types::convert::escaped(&text);
        let shown = String::from_utf8_lossy(&shown);
        return Err(service::error::ER_CANNOT_CONVERT_STRING.with(&[&shown, &source.name(), &to.name()]));
    }
    out.bytes_mut().finish();
    out.nulls.push(false);
    Ok(())
}

/// As [`push_text`]; bytes that are no characters of the text's character set are NULL, with warning 1300.
fn push_characters(
    cell: Cell<'_>,
    from: &DataType,
    collation: CollationId,
    ctx: &mut EvalContext<'_>,
    out: &mut Column,
) {
    let to = collation.charset();
    if (from.is_binary_string() || from.kind == TypeKind::Bit) && !to.is_single_byte() {
        let bytes = to.whole_units(&text_of(cell, from)).into_owned();
        if let Err(bad) = to.validate(&bytes) {
            let shown: String = bytes[bad.position..]
                .iter()
                .take(INVALID_BYTES_MAX)
                .map(|byte| format!("{byte:02X}"))
                .collect();
            ctx.warn(service::error::ER_INVALID_CHARACTER_STRING, &[&to.name(), &shown]);
            if ctx.settings.has(sql_mode::STRICT) {
                out.push_null();
            } else {
                // The text ends there.
                out.push_bytes(&bytes[..bad.position]);
            }
            return;
        }
    }
    push_text(cell, from, collation, out);
}

/// As [`push_text`]; bytes that are no characters are error 3854.
fn push_valid(cell: Cell<'_>, from: &DataType, collation: CollationId, out: &mut Column) -> SqlResult<()> {
    let charset = collation.charset();
    let text = text_of(cell, from);
    // MySQL fills up what is half a unit, but not what is less than one of UTF-32.
    let bytes =
        if charset.min_bytes_per_char() == 2 { charset.whole_units(&text) } else { Cow::Borrowed(&text[..]) };
    if charset.validate(&bytes).is_err() {
        let mut shown = String::new();
        for &byte in &bytes[..bytes.len().min(SHOWN_BYTES_MAX)] {
            match byte {
                b' '..=b'~' => shown.push(char::from(byte)),
                _ => shown += &format!("\\x{byte:02X}"),
            }
        }
        if bytes.len() > SHOWN_BYTES_MAX {
            shown.push_str("...");
        }
        let error = service::error::ER_CANNOT_CONVERT_STRING;
        return Err(error.with(&[&shown, &"binary", &charset.name()]));
    }
    out.push_bytes(&bytes);
    Ok(())
}

/// 3144 for bytes among documents.
fn check_characters(from: &DataType) -> SqlResult<()> {
    if from.is_binary_string() || from.kind == TypeKind::Bit {
        return Err(service::error::ER_INVALID_JSON_CHARSET.with(&[&"binary"]));
    }
    Ok(())
}

/// The year that a constant is beside a YEAR column: numbers of two digits are years of two centuries; what is no year stays.
fn year_beside(cell: Cell<'_>, from: &DataType, ctx: &mut EvalContext<'_>) -> SqlResult<i64> {
    // The digits of a DOUBLE are cut off.
    let is_double = matches!(from.kind, TypeKind::Float | TypeKind::Double);
    let (number, is_zero_text) = match (cell, from.kind) {
        (Cell::Int(packed), TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp) => {
            return Ok(i64::from(DateTime::unpack(packed).year));
        }
        (Cell::Bytes(text), _) if !from.is_hex_literal() => {
            let parsed = number::parse_double(&from.collation.charset().readable(text));
            (parsed.value, parsed.consumed > 0 && parsed.value == 0.0)
        }
        _ => (to_double(cell, from, ctx)?, false),
    };
    let number = if is_double { number.trunc() } else { number.round() };
    Ok(match number as i64 {
        0 if is_zero_text => 2000,
        year @ 1..=69 => 2000 + year,
        year @ 70..=99 => 1900 + year,
        year @ 1901..=2155 => year,
        year => {
            // Only a text that begins with no year is compared as a number.
            to_double(cell, from, ctx)?;
            year
        }
    })
}

/// A document as it is compared with a BIGINT column: the integer that the column stores for it, if that is the document's number. A
/// number is compared as it is; of a text the digits before any other character are read; whatever has no number is 0.
fn push_document_beside_bigint(document: &[u8], unsigned: bool, out: &mut Column) {
    let stored = match json::string(document) {
        Some(text) => {
            let whole = number::parse_integer_prefix(text).value;
            let is_its_number = whole as f64 == number::parse_double(text).value;
            i64::try_from(whole).ok().filter(|whole| is_its_number && (!unsigned || *whole >= 0))
        }
        None if json::is_number(document) => None,
        None => Some(i64::from(json::is_boolean(document) && json::to_integer(document) == Some(1))),
    };
    match stored {
        Some(whole) => {
            conv::write_json_value(Cell::Int(whole), &DataType::BIGINT, out.bytes_mut().tail());
            out.bytes_mut().finish();
            out.nulls.push(false);
        }
        None => out.push_bytes(document),
    }
}

/// Bytes that are no character which warning 1300 shows.
const INVALID_BYTES_MAX: usize = 3;

/// Bytes of an invalid text that a warning shows.
const SHOWN_BYTES_MAX: usize = 6;

/// A value that is not NULL as a document.
///
/// # Errors
/// 3141, 3144: it is no document.
pub(crate) fn json_document(
    cell: Cell<'_>,
    from: &DataType,
    (argument, function): (usize, &'static str),
    ctx: &mut EvalContext<'_>,
    out: &mut Column,
) -> SqlResult<()> {
    match cell {
        Cell::Bytes(document) if from.kind == TypeKind::Json => out.push_bytes(document),
        Cell::Bytes(text) => {
            check_characters(from)?;
            let utf8 = as_utf8(text, from);
            match json::parse(&utf8, out.bytes_mut().tail()) {
                Ok(()) => {
                    out.bytes_mut().finish();
                    out.nulls.push(false);
                }
                Err(error) => {
                    ctx.session.check_killed()?;
                    return Err(service::error::ER_INVALID_JSON_TEXT_IN_PARAM.with(&[
                        &argument,
                        &function,
                        &error.message,
                        &error.position,
                    ]));
                }
            }
        }
        _ => {
            return Err(service::error::ER_INVALID_TYPE_FOR_JSON.with(&[&argument, &function]));
        }
    }
    Ok(())
}

/// A text as UTF-8.
pub(super) fn as_utf8<'t>(text: &'t [u8], from: &DataType) -> Cow<'t, [u8]> {
    let charset = from.collation.charset();
    if charset.needs_conversion() && !charset.is_ascii_text(text) {
        let mut out = Vec::with_capacity(text.len() * 2);
        convert_lossy(charset, text, Charset::Utf8mb4, &mut out);
        return out.into();
    }
    text.into()
}

/// CAST of a value that is not NULL.
fn cast(
    cell: Cell<'_>,
    from: &DataType,
    to: &DataType,
    ctx: &mut EvalContext<'_>,
    out: &mut Column,
) -> SqlResult<()> {
    match to.kind {
        TypeKind::Decimal => {
            let value = to_decimal(cell, from, ctx)?;
            match value.fit(to.length, to.scale) {
                Ok((value, _)) => out.push_decimal(value),
                Err(clipped) => {
                    ctx.warn_or_fail(ER_WARN_DATA_OUT_OF_RANGE, &[&"CAST()", &1])?;
                    out.push_decimal(clipped.0);
                }
            }
        }
        TypeKind::Double => out.push_double(to_double(cell, from, ctx)?),
        TypeKind::Float => {
            let value = to_double(cell, from, ctx)? as f32;
            if !value.is_finite() {
                return Err(ER_DATA_OUT_OF_RANGE.with(&[&"FLOAT", &"CAST()"]));
            }
            out.push_double(f64::from(value));
        }
        TypeKind::Date => {
            let mode = ctx.settings.date_mode();
            let value = match day_of_number(cell, from, ctx)? {
                Some(day) if mode.check(day).is_ok() => Some(day),
                _ => to_date(cell, from, mode, ctx)?,
            };
            push_packed(value.map(DateTime::date_part), out);
        }
        TypeKind::DateTime | TypeKind::Timestamp => {
            let value = to_datetime(cell, from, ctx.settings.date_mode(), "datetime", ctx)?;
            push_packed(value.and_then(|value| rounded(value, to.scale, ctx)), out);
        }
        TypeKind::Time => match to_time(cell, from, ctx)? {
            Some(time) => {
                out.push_int(rounded_micros(time.micros, to.scale, ctx));
            }
            None => out.push_null(),
        },
        TypeKind::Year => cast_year(cell, from, ctx, out)?,
        // A text that MIN or MAX gives of such values: it names one, but for '', number 0.
        TypeKind::Enum | TypeKind::Set => conv::push_members(cell, from, to, out),
        TypeKind::Json => match cell {
            Cell::Bytes(text) if from.is_string() && !from.is_binary_string() => {
                let utf8 = as_utf8(text, from);
                match json::parse(&utf8, out.bytes_mut().tail()) {
                    Ok(()) => {
                        out.bytes_mut().finish();
                        out.nulls.push(false);
                    }
                    Err(error) => {
                        ctx.session.check_killed()?;
                        return Err(service::error::ER_INVALID_JSON_TEXT_IN_PARAM.with(&[
                            &1,
                            &"cast_as_json",
                            &error.message,
                            &error.position,
                        ]));
                    }
                }
            }
            _ => {
                conv::write_json_value(cell, from, out.bytes_mut().tail());
                out.bytes_mut().finish();
                out.nulls.push(false);
            }
        },
        _ if to.is_string() => cast_text(cell, from, to, ctx, out)?,
        _ if to.is_integer() => {
            let value = to_int(cell, from, to.unsigned, true, ctx)?;
            out.push_int(value);
        }
        _ => return Err(internal("a cast to a type no cast names")),
    }
    Ok(())
}

fn cast_year(cell: Cell<'_>, from: &DataType, ctx: &mut EvalContext<'_>, out: &mut Column) -> SqlResult<()> {
    let year = match (cell, from.kind) {
        (Cell::Int(packed), TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp) => {
            let year = i64::from(DateTime::unpack(packed).year);
            if year != 0 && !(1901..=2155).contains(&year) {
                truncated("YEAR", &text_of(cell, from), from, ctx)?;
                out.push_null();
                return Ok(());
            }
            year
        }
        (Cell::Int(_), TypeKind::Time) => {
            i64::from(ctx.settings.time_zone.from_utc(ctx.settings.now_utc_micros).year)
        }
        _ => {
            let number = to_int(cell, from, false, true, ctx)?;
            let text_zero = from.is_string() && number == 0;
            let charset = from.collation.charset();
            let is_none = |text: &[u8]| number::parse_integer_prefix(&charset.readable(text)).consumed == 0;
            match number {
                _ if matches!(cell, Cell::Bytes(text) if from.is_string() && is_none(text)) => {
                    out.push_null();
                    return Ok(());
                }
                0 if text_zero => 2000,
                0 | 1901..=2155 => number,
                1..=69 => number + 2000,
                70..=99 => number + 1900,
                _ => {
                    // Of a number the whole one that it is rounded to.
                    let shown = match from.is_string() {
                        true => text_of(cell, from),
                        false => number.to_string().into_bytes(),
                    };
                    truncated("YEAR", &shown, from, ctx)?;
                    out.push_null();
                    return Ok(());
                }
            }
        }
    };
    out.push_int(year);
    Ok(())
}

fn cast_text(
    cell: Cell<'_>,
    from: &DataType,
    to: &DataType,
    ctx: &mut EvalContext<'_>,
    out: &mut Column,
) -> SqlResult<()> {
    push_characters(cell, from, to.collation, ctx, out);
    let row = out.len() - 1;
    if out.nulls.is_null(row) {
        return Ok(());
    }
    // CHAR(n) cuts, BINARY(n) also fills with zero bytes.
    if !matches!(to.kind, TypeKind::Char | TypeKind::VarChar) || to.length == 0 {
        return Ok(());
    }
    let charset = to.collation.charset();
    let text = out.bytes().get(row);
    let kept = charset.prefix_bytes(text, to.length as usize);
    if kept < text.len() {
        let cut = text.to_vec();
        let kind = if charset == Charset::Binary { "BINARY" } else { "CHAR" };
        out.truncate(row);
        out.push_bytes(&cut[..kept]);
        let name = format!("{kind}({})", to.length);
        truncated(&name, &cut, from, ctx)?;
    } else if to.kind == TypeKind::Char && charset == Charset::Binary && kept < to.length as usize {
        let mut filled = text.to_vec();
        if to.length as usize > ctx.settings.max_allowed_packet {
            return Err(ER_DATA_TOO_LONG.with(&[&"CAST()", &1]));
        }
        filled.resize(to.length as usize, 0);
        out.truncate(row);
        out.push_bytes(&filled);
    }
    Ok(())
}

/// A value as a column of one row of `data_type`.
pub(super) fn value_column(
    value: ValueRef<'_>,
    data_type: &DataType,
    ctx: &mut EvalContext<'_>,
) -> SqlResult<Column> {
    let mut out = Column::new(data_type.physical());
    let Some((from, source)) = value_as_column(value) else {
        out.push_null();
        return Ok(out);
    };
    let same_class = match (from.kind, data_type.kind) {
        (TypeKind::Json, TypeKind::Json) => true,
        (TypeKind::Json, _) | (_, TypeKind::Json) => false,
        _ => {
            from.physical() == data_type.physical()
                && from.is_temporal() == data_type.is_temporal()
                && (from.kind == TypeKind::Time) == (data_type.kind == TypeKind::Time)
        }
    };
    if data_type.kind == TypeKind::Null {
        out.push_null();
    } else if same_class && !(from.is_string() && from.collation.charset() != data_type.collation.charset()) {
        match source.cell(0) {
            Cell::Decimal(value) => out.push_decimal(at_scale(value, data_type)),
            cell => out.push_cell(cell),
        }
    } else if data_type.is_string() {
        push_text(source.cell(0), &from, data_type.collation, &mut out);
    } else if data_type.has_date() && from.is_string() {
        // What a client says is a date is one whatever the mode: the function around it may check it.
        let value = to_datetime(source.cell(0), &from, client_dates(ctx), "datetime", ctx)?;
        push_packed(value.and_then(|value| rounded(value, data_type.scale, ctx)), &mut out);
    } else if data_type.kind == TypeKind::Decimal && data_type.scale > DECIMAL_SCALE_MAX {
        out.push_decimal(to_decimal(source.cell(0), &from, ctx)?);
    } else {
        cell(source.cell(0), &from, &Target::Cast(data_type.clone()), ctx, &mut out)?;
    }
    Ok(out)
}

/// The value with the digits of its type's fraction; as it is if it has no room for them, or if its type fixes no scale.
fn at_scale(value: &Decimal, data_type: &DataType) -> Decimal {
    if data_type.scale <= DECIMAL_SCALE_MAX && value.scale() < data_type.scale {
        value.fit(data_type.length, data_type.scale).map_or(*value, |(fitting, _)| fitting)
    } else {
        *value
    }
}

/// A value as a column with the type it has by itself; `None` for NULL.
fn value_as_column(value: ValueRef<'_>) -> Option<(DataType, Column)> {
    let data_type = plan::expr::literal_type(value);
    let mut column = Column::new(data_type.physical());
    match value {
        ValueRef::Null => return None,
        ValueRef::Int(value) => column.push_int(value),
        ValueRef::UInt(value) => column.push_int(value as i64),
        ValueRef::Double(value) => column.push_double(value),
        ValueRef::Decimal(value) => column.push_decimal(value),
        ValueRef::Date(value) | ValueRef::DateTime(value) => column.push_int(value.pack()),
        ValueRef::Time(value) => column.push_int(value.micros),
        ValueRef::Bytes { bytes, .. } => column.push_bytes(bytes),
        ValueRef::Json(document) => column.push_bytes(document),
    }
    Some((data_type, column))
}

/// A cell as a value with its own class.
pub(super) fn cell_value(cell: Cell<'_>, data_type: &DataType) -> Value {
    conv::cell_value(cell, data_type)
}
