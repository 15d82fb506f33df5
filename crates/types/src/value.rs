//! One value at a boundary: a literal, a statement parameter, a user variable, a default. Rows travel in
//! [`crate::vector`] columns instead.

use crate::collation::CollationId;
use crate::decimal::Decimal;
use crate::temporal::{DateTime, Time};

/// One value with its own type class.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer; also BIT and YEAR values.
    UInt(u64),
    /// FLOAT and DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// DATE; the time fields are zero.
    Date(DateTime),
    /// DATETIME, or a TIMESTAMP in the session's time zone.
    DateTime(DateTime),
    /// TIME.
    Time(Time),
    /// A string in the collation's character set; `binary` for byte strings.
    Bytes {
        /// The bytes.
        bytes: Vec<u8>,
        /// Their collation, and with it their character set.
        collation: CollationId,
    },
    /// A JSON document in binary form.
    Json(Vec<u8>),
}

impl Value {
    /// A string value.
    #[must_use]
    pub fn string(bytes: impl Into<Vec<u8>>, collation: CollationId) -> Value {
        Value::Bytes { bytes: bytes.into(), collation }
    }

    /// A string as a statement writes it: `text` is UTF-8, as statements are, the value is in the character set of
    /// `collation`. What that set does not have becomes `?`.
    #[must_use]
    pub fn string_literal(text: &[u8], collation: CollationId) -> Value {
        let charset = collation.charset();
        if !charset.needs_conversion() || charset.is_ascii_text(text) {
            return Value::string(text, collation);
        }
        let mut bytes = Vec::with_capacity(text.len());
        crate::charset::convert_lossy(crate::charset::Charset::Utf8mb4, text, charset, &mut bytes);
        Value::Bytes { bytes, collation }
    }

    /// NULL?
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

/// A [`Value`] whose bytes stand elsewhere: in the packet that brought a parameter, in a statement's text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// NULL.
    Null,
    /// As [`Value::Int`].
    Int(i64),
    /// As [`Value::UInt`].
    UInt(u64),
    /// As [`Value::Double`].
    Double(f64),
    /// As [`Value::Decimal`].
    Decimal(Decimal),
    /// As [`Value::Date`].
    Date(DateTime),
    /// As [`Value::DateTime`].
    DateTime(DateTime),
    /// As [`Value::Time`].
    Time(Time),
    /// As [`Value::Bytes`].
    Bytes {
        /// The bytes.
        bytes: &'a [u8],
        /// Their collation, and with it their character set.
        collation: CollationId,
    },
    /// As [`Value::Json`].
    Json(&'a [u8]),
}

impl ValueRef<'_> {
    /// The same with bytes of its own.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Int(value) => Value::Int(value),
            ValueRef::UInt(value) => Value::UInt(value),
            ValueRef::Double(value) => Value::Double(value),
            ValueRef::Decimal(value) => Value::Decimal(value),
            ValueRef::Date(value) => Value::Date(value),
            ValueRef::DateTime(value) => Value::DateTime(value),
            ValueRef::Time(value) => Value::Time(value),
            ValueRef::Bytes { bytes, collation } => Value::Bytes { bytes: bytes.to_vec(), collation },
            ValueRef::Json(document) => Value::Json(document.to_vec()),
        }
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> ValueRef<'a> {
        match value {
            Value::Null => ValueRef::Null,
            Value::Int(value) => ValueRef::Int(*value),
            Value::UInt(value) => ValueRef::UInt(*value),
            Value::Double(value) => ValueRef::Double(*value),
            Value::Decimal(value) => ValueRef::Decimal(*value),
            Value::Date(value) => ValueRef::Date(*value),
            Value::DateTime(value) => ValueRef::DateTime(*value),
            Value::Time(value) => ValueRef::Time(*value),
            Value::Bytes { bytes, collation } => ValueRef::Bytes { bytes, collation: *collation },
            Value::Json(document) => ValueRef::Json(document),
        }
    }
}
