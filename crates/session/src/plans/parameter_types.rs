//! Which values a parameter of a prepared statement takes without being typed again.
//!
//! A parameter gets a type from its context (`plan::function::derive`). NULL and texts fit every type and are converted; a number
//! fits a type that holds more than its own, and any date. Where one value does not fit, numbers, times and texts that read as
//! neither are of their own types, and the statement is bound again with them, as in MySQL.

use types::charset::{Charset, convert_strict};
use types::collation::CollationId;
use types::data_type::{DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX, FRACTION_DIGITS_MAX};
use types::temporal::parse::{DateMode, datetime_from_number, parse_datetime};
use types::{DataType, Decimal, TypeKind, ValueRef};

/// Width of an integer whose digits are not known.
const INTEGER_WIDTH: u32 = 21;

/// What binding looks at in a parameter's value: its class, not the value.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum ParameterClass {
    Null,
    Int,
    UInt,
    Double,
    Decimal(u8),
    Date,
    DateTime,
    Time,
    Text(CollationId),
    /// A text of the first collation that the character set of the second holds, where such a text is wanted.
    Held(CollationId, CollationId),
    Json,
    /// A text where a number or date is wanted.
    Converted(CollationId, Reading),
    /// A number or text of which the time of day is read.
    Timed(Plain, IsDate),
}

/// Whether a value can be read as a date.
type IsDate = bool;

/// A class without regard to what a value holds.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Plain {
    Int,
    UInt,
    Double,
    Decimal,
    Text(CollationId),
}

/// A number or text, and whether it can be read as a date; `None` for other values.
fn timed(value: &ValueRef<'_>) -> Option<(Plain, IsDate)> {
    let lenient = DateMode { allow_invalid: true, ..DateMode::default() };
    let is_date = |number: i64| datetime_from_number(number, lenient).is_ok_and(|(date, _)| date.month != 0);
    Some(match value {
        ValueRef::Int(number) => (Plain::Int, is_date(*number)),
        ValueRef::UInt(number) => (Plain::UInt, i64::try_from(*number).is_ok_and(is_date)),
        #[allow(clippy::cast_possible_truncation, reason = "what lies beyond is no date")]
        ValueRef::Double(number) => (Plain::Double, is_date(*number as i64)),
        ValueRef::Decimal(number) => (Plain::Decimal, number.to_i64().is_ok_and(is_date)),
        ValueRef::Bytes { bytes, collation } if *collation != CollationId::BINARY => {
            (Plain::Text(*collation), parse_datetime(bytes, lenient).is_ok_and(|date| !date.truncated))
        }
        _ => return None,
    })
}

/// How a text reads that is converted to a number or date.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Reading {
    /// A whole number.
    Integer,
    /// Another number: a context of integers takes it for a DECIMAL.
    Decimal,
    /// A date.
    Date,
    /// A date with a time of day: a context of dates takes it for a DATETIME.
    DateTime,
    /// Where a number is wanted, none: what it begins with is one. It is a text if the statement is bound again.
    NoNumber,
    /// Where a date is wanted, none.
    NoDate,
}

impl Reading {
    fn of_number(bytes: &[u8]) -> Reading {
        let bytes = bytes.trim_ascii();
        let is_whole = std::str::from_utf8(bytes)
            .is_ok_and(|text| !text.starts_with(['+', '-']) && text.parse::<i64>().is_ok());
        if is_whole {
            Reading::Integer
        } else if !bytes.is_empty() && Decimal::parse(bytes).consumed == bytes.len() {
            Reading::Decimal
        } else {
            Reading::NoNumber
        }
    }

    fn of_date(bytes: &[u8]) -> Reading {
        let lenient = DateMode { allow_invalid: true, ..DateMode::default() };
        match parse_datetime(bytes, lenient) {
            Ok(date) => {
                let time = (date.value.hour, date.value.minute, date.value.second, date.value.micros);
                if time == (0, 0, 0, 0) { Reading::Date } else { Reading::DateTime }
            }
            Err(_) => Reading::NoDate,
        }
    }

    /// How a text reads where this type is wanted; `None`: any text is taken.
    fn at(wanted: &DataType, bytes: &[u8]) -> Option<Reading> {
        match wanted.kind {
            TypeKind::Decimal | TypeKind::Double => Some(Reading::of_number(bytes)),
            _ if wanted.is_integer() => Some(Reading::of_number(bytes)),
            TypeKind::Date | TypeKind::DateTime => Some(Reading::of_date(bytes)),
            _ => None,
        }
    }

    /// Whether another text reads so, too.
    fn is_of(self, bytes: &[u8]) -> bool {
        match self {
            Reading::Integer | Reading::Decimal | Reading::NoNumber => Reading::of_number(bytes) == self,
            Reading::Date | Reading::DateTime | Reading::NoDate => Reading::of_date(bytes) == self,
        }
    }

    /// Whether the value has another type than the expected one, so that the statement is bound again.
    fn is_wider(self, wanted: &DataType) -> bool {
        match self {
            Reading::Decimal => wanted.is_integer() && wanted.kind != TypeKind::Year,
            Reading::DateTime => wanted.kind == TypeKind::Date,
            Reading::Integer | Reading::Date | Reading::NoNumber | Reading::NoDate => false,
        }
    }
}

impl ParameterClass {
    pub(crate) fn of(value: &ValueRef<'_>) -> ParameterClass {
        match value {
            ValueRef::Null => ParameterClass::Null,
            ValueRef::Int(_) => ParameterClass::Int,
            ValueRef::UInt(_) => ParameterClass::UInt,
            ValueRef::Double(_) => ParameterClass::Double,
            ValueRef::Decimal(number) => ParameterClass::Decimal(number.scale()),
            ValueRef::Date(_) => ParameterClass::Date,
            ValueRef::DateTime(_) => ParameterClass::DateTime,
            ValueRef::Time(_) => ParameterClass::Time,
            ValueRef::Bytes { collation, .. } => ParameterClass::Text(*collation),
            ValueRef::Json(_) => ParameterClass::Json,
        }
    }

    /// The class of a value where this type is wanted; `reads_time`: there a function reads its time of day.
    pub(crate) fn at(value: &ValueRef<'_>, wanted: &DataType, reads_time: bool) -> ParameterClass {
        if reads_time && let Some((plain, is_date)) = timed(value) {
            return ParameterClass::Timed(plain, is_date);
        }
        match value {
            ValueRef::Bytes { bytes, collation } if *collation != CollationId::BINARY => {
                match Reading::at(wanted, bytes) {
                    Some(reading) => ParameterClass::Converted(*collation, reading),
                    None => ParameterClass::Text(*collation),
                }
            }
            _ => ParameterClass::of(value),
        }
    }

    /// Whether another value has this class, too, by what it holds if need be.
    pub(crate) fn is_of(self, value: &ValueRef<'_>) -> bool {
        match (self, value) {
            (ParameterClass::Converted(of, reading), ValueRef::Bytes { bytes, collation }) => {
                of == *collation && reading.is_of(bytes)
            }
            (ParameterClass::Held(of, holder), ValueRef::Bytes { bytes, collation }) => {
                of == *collation && is_held(bytes, of, holder)
            }
            (ParameterClass::Timed(plain, is_date), value) => timed(value) == Some((plain, is_date)),
            _ => self == ParameterClass::of(value),
        }
    }
}

/// Whether the character set of `holder` has all characters of a text. Bytes are taken as they are, also those of a text of the same
/// character set; in another one a text ends before a character that is cut off.
pub(crate) fn is_held(bytes: &[u8], from: CollationId, holder: CollationId) -> bool {
    let (from, to) = (from.charset(), holder.charset());
    from == Charset::Binary
        || convert_strict(from, bytes, to, &mut Vec::new()).is_ok()
        || from.validate(bytes).is_err_and(|bad| {
            let (characters, rest) = bytes.split_at(bad.position);
            from == to || is_cut_off(rest) && convert_strict(from, characters, to, &mut Vec::new()).is_ok()
        })
}

/// Whether a text in UTF-8 ends within what may be a character: MySQL leaves that out where it converts a parameter.
fn is_cut_off(rest: &[u8]) -> bool {
    let length = match rest.first() {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc2..) => 2,
        _ => 1,
    };
    rest.len() < length
}

/// Whether a text reads as a number where one is wanted; other values do.
pub(crate) fn reads_as_number(value: &ValueRef<'_>, wanted: &DataType) -> bool {
    match value {
        ValueRef::Bytes { bytes, collation } if *collation != CollationId::BINARY => {
            Reading::at(wanted, bytes) != Some(Reading::NoNumber)
        }
        _ => true,
    }
}

/// Whether a parameter of this type takes a value; `is_limit`: it stands in LIMIT.
pub(crate) fn fits(wanted: &DataType, value: &ValueRef<'_>, reads_time: bool, is_limit: bool) -> bool {
    let number = match ParameterClass::at(value, wanted, reads_time) {
        ParameterClass::Timed(_, is_date) => return is_date,
        ParameterClass::Null | ParameterClass::Text(_) | ParameterClass::Held(..) => return true,
        ParameterClass::Converted(_, reading) => return !reading.is_wider(wanted),
        ParameterClass::Json => return wanted.kind == TypeKind::Json,
        ParameterClass::Date => {
            return matches!(wanted.kind, TypeKind::Date | TypeKind::DateTime);
        }
        ParameterClass::DateTime => return matches!(wanted.kind, TypeKind::DateTime | TypeKind::Time),
        ParameterClass::Time => {
            return wanted.kind == TypeKind::Time || wanted.kind == TypeKind::DateTime && !reads_time;
        }
        number => number,
    };
    match wanted.kind {
        TypeKind::Year => matches!(number, ParameterClass::Int | ParameterClass::UInt),
        _ if wanted.is_integer() => match number {
            // A signed number fits LIMIT, but does not fit beside an unsigned one.
            ParameterClass::Int => !wanted.unsigned || is_limit,
            ParameterClass::UInt => wanted.unsigned,
            _ => false,
        },
        TypeKind::Decimal => number != ParameterClass::Double,
        TypeKind::Double | TypeKind::Date | TypeKind::Time | TypeKind::DateTime => true,
        _ => false,
    }
}

/// The type of a parameter by its value; `None`: NULL and texts have that of their context. `first` is the type that the context
/// gave the parameter before any value was known.
pub(crate) fn own_type(value: &ValueRef<'_>, first: Option<&DataType>, reads_time: bool) -> Option<DataType> {
    let decimal = || DataType::decimal(DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX);
    match value {
        ValueRef::Null => None,
        ValueRef::Bytes { bytes, collation } if *collation != CollationId::BINARY => {
            if reads_time && timed(value).is_some_and(|(_, is_date)| !is_date) {
                return Some(plan::expr::literal_type(*value));
            }
            // A text that nothing wanted otherwise is one, whatever comes beside it.
            let Some(first) = first.filter(|first| !first.is_string()) else {
                return Some(plan::function::sent_text(*collation));
            };
            match Reading::at(first, bytes)? {
                // A text, but not the type from which its context would make another.
                Reading::NoNumber | Reading::NoDate => Some(plan::function::unfit(*collation)),
                reading if !reading.is_wider(first) => None,
                Reading::Decimal => Some(decimal()),
                _ => Some(DataType::datetime(FRACTION_DIGITS_MAX)),
            }
        }
        ValueRef::Int(_) => Some(DataType { length: INTEGER_WIDTH, ..DataType::BIGINT }),
        ValueRef::UInt(_) => Some(DataType { length: INTEGER_WIDTH, ..DataType::BIGINT_UNSIGNED }),
        ValueRef::Decimal(_) => Some(decimal()),
        ValueRef::DateTime(_) => Some(DataType::datetime(FRACTION_DIGITS_MAX)),
        ValueRef::Time(_) => Some(DataType::time(FRACTION_DIGITS_MAX)),
        other => Some(plan::expr::literal_type(*other)),
    }
}
