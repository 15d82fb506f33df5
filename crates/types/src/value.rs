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

    /// NULL?
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}
