//! What a column, an expression or a parameter is: MySQL's types with their attributes, and how their values
//! lie in memory ([`Physical`]).
//!
//! A `DataType` says nothing about NULL: the owner of the type (a column definition, a bound expression) keeps
//! `nullable` beside it. Sources: MySQL manual, "Data Types" and "Protocol::ColumnDefinition41".

use crate::collation::CollationId;
use std::borrow::Cow;
use std::sync::Arc;

/// The scale of a FLOAT or DOUBLE that was declared without digits: as many as the value needs. The wire
/// protocol sends this number as the column's `decimals`.
pub const SCALE_NOT_FIXED: u8 = 31;
/// Most digits of a DECIMAL, on both sides of the point.
pub const DECIMAL_PRECISION_MAX: u32 = 65;
/// Most digits of a DECIMAL after the point.
pub const DECIMAL_SCALE_MAX: u8 = 30;
/// Most digits of a fraction of a second.
pub const FRACTION_DIGITS_MAX: u8 = 6;
/// Most characters of a CHAR.
pub const CHAR_LENGTH_MAX: u32 = 255;
/// Most bytes of a VARCHAR.
pub const VARCHAR_BYTES_MAX: u32 = 65_535;

/// Which of MySQL's types. A string kind whose collation is `binary` is BINARY, VARBINARY or a BLOB.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(missing_docs, reason = "the names are MySQL's type names")]
pub enum TypeKind {
    Null,
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Bit,
    Float,
    Double,
    Decimal,
    Year,
    Date,
    Time,
    DateTime,
    Timestamp,
    Char,
    VarChar,
    TinyText,
    Text,
    MediumText,
    LongText,
    Enum,
    Set,
    Json,
}

/// How a value lies in a vector, a register or a decoded row.
///
/// | physical | kinds | shape |
/// | --- | --- | --- |
/// | `Int` | integers, YEAR | `i64`; the bits of a `u64` when unsigned |
/// | `Int` | BIT, SET | the bits of a `u64` |
/// | `Int` | ENUM | 1-based index; 0 is the error value `''` |
/// | `Int` | DATE, DATETIME, TIMESTAMP | packed fields, [`crate::temporal::DateTime::pack`]; a TIMESTAMP already in the session's time zone |
/// | `Int` | TIME | signed microseconds |
/// | `Double` | FLOAT (already rounded to `f32`), DOUBLE | `f64` |
/// | `Decimal` | DECIMAL | [`crate::Decimal`] |
/// | `Bytes` | strings | bytes in the column's character set |
/// | `Bytes` | JSON | our binary document, [`crate::json`] |
///
/// NULL's own kind is `Int` (every row NULL).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(missing_docs, reason = "the table above says it")]
pub enum Physical {
    Int,
    Double,
    Decimal,
    Bytes,
}

/// The members of an ENUM or SET, in their declared order, as bytes in the column's character set.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Members {
    names: Vec<Box<[u8]>>,
}

impl Members {
    /// Members in declared order; the caller has checked count and duplicates.
    #[must_use]
    pub fn new(names: Vec<Box<[u8]>>) -> Members {
        Members { names }
    }

    /// How many members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// No member at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The text of the `index`-th member, counted from 0.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.names.get(index).map(AsRef::as_ref)
    }

    /// All members in declared order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// The 0-based position of the member equal to `name` under `collation`, if any.
    #[must_use]
    pub fn position(&self, name: &[u8], collation: CollationId) -> Option<usize> {
        self.names.iter().position(|member| collation.compare(member, name).is_eq())
    }

    /// The text of an ENUM value: index 0 is the empty error value.
    #[must_use]
    pub fn enum_text(&self, index: i64) -> &[u8] {
        usize::try_from(index).ok().and_then(|i| i.checked_sub(1)).and_then(|i| self.get(i)).unwrap_or(b"")
    }

    /// Appends the text of a SET value: the members of its bits, between them a comma of their character set.
    pub fn set_text(&self, bits: u64, comma: &[u8], out: &mut Vec<u8>) {
        let mut first = true;
        for (i, name) in self.names.iter().enumerate().take(64) {
            if bits >> i & 1 == 1 {
                if !first {
                    out.extend_from_slice(comma);
                }
                first = false;
                out.extend_from_slice(name);
            }
        }
    }
}

/// A type with its attributes. Cheap to clone.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct DataType {
    /// Which of MySQL's types.
    pub kind: TypeKind,
    /// UNSIGNED; always true for BIT, SET, ENUM and YEAR.
    pub unsigned: bool,
    /// ZEROFILL: printed padded with zeros to `length`.
    pub zerofill: bool,
    /// Digits after the point of a DECIMAL; fraction digits of a temporal; [`SCALE_NOT_FIXED`] for FLOAT and
    /// DOUBLE without digits; 0 else.
    pub scale: u8,
    /// Characters of CHAR and VARCHAR; most bytes of a TEXT or BLOB; precision of a DECIMAL; display width of
    /// an integer, FLOAT, DOUBLE and of a temporal as text; bits of a BIT; longest text in characters of an
    /// ENUM or SET.
    pub length: u32,
    /// Of strings, ENUM and SET; `binary` for everything else.
    pub collation: CollationId,
    /// Of ENUM and SET only.
    pub members: Option<Arc<Members>>,
}

/// Flags of a column definition packet that follow from the type alone.
pub mod column_flag {
    #![allow(missing_docs, reason = "the names are the protocol's")]
    pub const NOT_NULL: u16 = 1;
    pub const PRIMARY_KEY: u16 = 2;
    pub const UNIQUE_KEY: u16 = 4;
    pub const MULTIPLE_KEY: u16 = 8;
    pub const BLOB: u16 = 16;
    pub const UNSIGNED: u16 = 32;
    pub const ZEROFILL: u16 = 64;
    pub const BINARY: u16 = 128;
    pub const ENUM: u16 = 256;
    pub const AUTO_INCREMENT: u16 = 512;
    pub const TIMESTAMP: u16 = 1024;
    pub const SET: u16 = 2048;
    pub const NO_DEFAULT_VALUE: u16 = 4096;
    pub const ON_UPDATE_NOW: u16 = 8192;
    pub const PART_KEY: u16 = 16384;
    pub const NUM: u16 = 32768;
}

impl DataType {
    const fn plain(kind: TypeKind, length: u32, scale: u8, unsigned: bool) -> DataType {
        DataType {
            kind,
            unsigned,
            zerofill: false,
            scale,
            length,
            collation: CollationId::BINARY,
            members: None,
        }
    }

    /// The type of a bare NULL.
    pub const NULL: DataType = DataType::plain(TypeKind::Null, 0, 0, false);
    /// BIGINT.
    pub const BIGINT: DataType = DataType::plain(TypeKind::BigInt, 20, 0, false);
    /// BIGINT UNSIGNED.
    pub const BIGINT_UNSIGNED: DataType = DataType::plain(TypeKind::BigInt, 20, 0, true);
    /// What comparisons and logic yield: 0 or 1, INT with one digit shown.
    pub const BOOL: DataType = DataType::plain(TypeKind::BigInt, 1, 0, false);
    /// DOUBLE.
    pub const DOUBLE: DataType = DataType::plain(TypeKind::Double, 23, SCALE_NOT_FIXED, false);
    /// FLOAT.
    pub const FLOAT: DataType = DataType::plain(TypeKind::Float, 12, SCALE_NOT_FIXED, false);
    /// DATE.
    pub const DATE: DataType = DataType::plain(TypeKind::Date, 10, 0, false);
    /// YEAR that is computed: MySQL shows it without zeros before it.
    pub const COMPUTED_YEAR: DataType = DataType::plain(TypeKind::Year, 4, 0, true);
    /// YEAR.
    pub const YEAR: DataType = {
        let mut year = DataType::plain(TypeKind::Year, 4, 0, true);
        year.zerofill = true;
        year
    };
    /// JSON.
    pub const JSON: DataType = DataType::plain(TypeKind::Json, u32::MAX, 0, false);

    /// An integer kind with its usual display width.
    #[must_use]
    pub fn integer(kind: TypeKind, unsigned: bool) -> DataType {
        let length = match (kind, unsigned) {
            (TypeKind::TinyInt, false) => 4,
            (TypeKind::TinyInt, true) => 3,
            (TypeKind::SmallInt, false) => 6,
            (TypeKind::SmallInt, true) => 5,
            (TypeKind::MediumInt, false) => 9,
            (TypeKind::MediumInt, true) => 8,
            (TypeKind::Int, false) => 11,
            (TypeKind::Int, true) => 10,
            _ => 20,
        };
        DataType::plain(kind, length, 0, unsigned)
    }

    /// DECIMAL(precision, scale), clipped to (65, 30).
    #[must_use]
    pub fn decimal(precision: u32, scale: u8) -> DataType {
        let scale = scale.min(DECIMAL_SCALE_MAX);
        let precision = precision.clamp(u32::from(scale).max(1), DECIMAL_PRECISION_MAX);
        DataType::plain(TypeKind::Decimal, precision, scale, false)
    }

    /// BIT(bits).
    #[must_use]
    pub fn bit(bits: u32) -> DataType {
        DataType::plain(TypeKind::Bit, bits.clamp(1, 64), 0, true)
    }

    /// TIME(fraction digits).
    #[must_use]
    pub fn time(scale: u8) -> DataType {
        DataType::temporal(TypeKind::Time, scale)
    }

    /// DATETIME(fraction digits).
    #[must_use]
    pub fn datetime(scale: u8) -> DataType {
        DataType::temporal(TypeKind::DateTime, scale)
    }

    /// TIMESTAMP(fraction digits).
    #[must_use]
    pub fn timestamp(scale: u8) -> DataType {
        DataType::temporal(TypeKind::Timestamp, scale)
    }

    /// A temporal kind with fraction digits, its length as printed.
    #[must_use]
    pub fn temporal(kind: TypeKind, scale: u8) -> DataType {
        let scale = scale.min(FRACTION_DIGITS_MAX);
        let base = match kind {
            TypeKind::Date | TypeKind::Time => 10,
            _ => 19,
        };
        let fraction = if scale > 0 { 1 + u32::from(scale) } else { 0 };
        DataType::plain(kind, base + fraction, scale, false)
    }

    /// CHAR(length) or BINARY(length).
    #[must_use]
    pub fn char(length: u32, collation: CollationId) -> DataType {
        DataType { collation, ..DataType::plain(TypeKind::Char, length, 0, false) }
    }

    /// VARCHAR(length) or VARBINARY(length); also the usual type of a string expression, whatever its length.
    #[must_use]
    pub fn varchar(length: u32, collation: CollationId) -> DataType {
        DataType { collation, ..DataType::plain(TypeKind::VarChar, length, 0, false) }
    }

    /// A TEXT or BLOB kind with the most bytes it holds.
    #[must_use]
    pub fn text(kind: TypeKind, collation: CollationId) -> DataType {
        let length = match kind {
            TypeKind::TinyText => 255,
            TypeKind::Text => 65_535,
            TypeKind::MediumText => 16_777_215,
            _ => u32::MAX,
        };
        DataType { collation, ..DataType::plain(kind, length, 0, false) }
    }

    /// ENUM or SET with its members.
    #[must_use]
    pub fn with_members(kind: TypeKind, members: Arc<Members>, collation: CollationId) -> DataType {
        let chars = |name: &[u8]| collation.charset().char_count(name) as u32;
        let length = if kind == TypeKind::Enum {
            members.iter().map(chars).max().unwrap_or(0)
        } else {
            members.iter().map(chars).sum::<u32>() + (members.len() as u32).saturating_sub(1)
        };
        DataType { collation, members: Some(members), ..DataType::plain(kind, length, 0, true) }
    }

    /// How values of this type lie in memory.
    #[must_use]
    pub fn physical(&self) -> Physical {
        self.kind.physical()
    }

    /// A character or byte string kind: CHAR, VARCHAR and the TEXT family (not ENUM, SET, JSON).
    #[must_use]
    pub fn is_string(&self) -> bool {
        self.kind.is_string()
    }

    /// A string kind with the `binary` collation: BINARY, VARBINARY, BLOB.
    #[must_use]
    pub fn is_binary_string(&self) -> bool {
        self.is_string() && self.collation == CollationId::BINARY
    }

    /// The type of `0x41`, `X'41'` or `b'1000001'` as written: a byte string that is a number where one is wanted.
    /// Only literals have it: a byte string marked unsigned.
    #[must_use]
    pub fn is_hex_literal(&self) -> bool {
        self.unsigned && self.kind == TypeKind::VarChar
    }

    /// TEXT or BLOB of any size.
    #[must_use]
    pub fn is_text_or_blob(&self) -> bool {
        matches!(self.kind, TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText)
    }

    /// An integer kind, YEAR and BIT included.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        matches!(
            self.kind,
            TypeKind::TinyInt
                | TypeKind::SmallInt
                | TypeKind::MediumInt
                | TypeKind::Int
                | TypeKind::BigInt
                | TypeKind::Year
                | TypeKind::Bit
        )
    }

    /// A number: an integer kind, DECIMAL, FLOAT or DOUBLE.
    #[must_use]
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || matches!(self.kind, TypeKind::Decimal | TypeKind::Float | TypeKind::Double)
    }

    /// A number that is compared and computed with as it is: YEAR makes a year of a constant, and the bits of BIT are a text to some.
    #[must_use]
    pub fn is_plain_number(&self) -> bool {
        self.is_numeric() && !matches!(self.kind, TypeKind::Year | TypeKind::Bit)
    }

    /// DATE, TIME, DATETIME or TIMESTAMP (not YEAR).
    #[must_use]
    pub fn is_temporal(&self) -> bool {
        matches!(self.kind, TypeKind::Date | TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp)
    }

    /// DATE, DATETIME or TIMESTAMP: values are packed fields.
    #[must_use]
    pub fn has_date(&self) -> bool {
        matches!(self.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp)
    }

    /// Bytes an integer kind takes on disk; the value range follows from it. `None` for other kinds.
    #[must_use]
    pub fn integer_bytes(&self) -> Option<u8> {
        Some(match self.kind {
            TypeKind::TinyInt => 1,
            TypeKind::SmallInt => 2,
            TypeKind::MediumInt => 3,
            TypeKind::Int => 4,
            TypeKind::BigInt => 8,
            _ => return None,
        })
    }

    /// Longest value in bytes: a string's characters times the bytes of its widest character.
    #[must_use]
    pub fn bytes_max(&self) -> u64 {
        match self.kind {
            TypeKind::Char | TypeKind::VarChar | TypeKind::Enum | TypeKind::Set => {
                u64::from(self.length) * self.collation.charset().max_bytes_per_char() as u64
            }
            _ => u64::from(self.length),
        }
    }

    /// The `type` byte of a column definition packet. TEXT and BLOB of every size are BLOB (252) there, ENUM
    /// and SET are STRING (254) with a flag.
    #[must_use]
    pub fn protocol_type(&self) -> u8 {
        match self.kind {
            TypeKind::Null => 6,
            TypeKind::TinyInt => 1,
            TypeKind::SmallInt => 2,
            TypeKind::MediumInt => 9,
            TypeKind::Int => 3,
            TypeKind::BigInt => 8,
            TypeKind::Bit => 16,
            TypeKind::Float => 4,
            TypeKind::Double => 5,
            TypeKind::Decimal => 246,
            TypeKind::Year => 13,
            TypeKind::Date => 10,
            TypeKind::Time => 11,
            TypeKind::DateTime => 12,
            TypeKind::Timestamp => 7,
            TypeKind::Char | TypeKind::Enum | TypeKind::Set => 254,
            TypeKind::VarChar => 253,
            TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText => 252,
            TypeKind::Json => 245,
        }
    }

    /// The flags of a column definition packet that follow from the type; key and NULL flags are the column's.
    #[must_use]
    pub fn protocol_flags(&self) -> u16 {
        use column_flag as f;
        let mut flags = 0;
        if self.unsigned && self.kind != TypeKind::Enum && self.kind != TypeKind::Set {
            flags |= f::UNSIGNED;
        }
        if self.zerofill {
            flags |= f::ZEROFILL;
        }
        match self.kind {
            TypeKind::Enum => flags |= f::ENUM,
            TypeKind::Set => flags |= f::SET,
            TypeKind::Json => flags |= f::BLOB | f::BINARY,
            TypeKind::Date | TypeKind::Time | TypeKind::DateTime => flags |= f::BINARY,
            TypeKind::Timestamp => flags |= f::BINARY,
            _ => {}
        }
        if self.is_text_or_blob() {
            flags |= f::BLOB;
        }
        if (self.is_string() || self.members.is_some()) && is_binary_sort(self.collation) {
            flags |= f::BINARY;
        }
        flags
    }

    /// The `column_length` of a column definition packet, in bytes of the client's character set whose widest
    /// character takes `client_bytes_per_char` bytes.
    #[must_use]
    pub fn protocol_length(&self, client_bytes_per_char: u32) -> u32 {
        match self.kind {
            TypeKind::Char | TypeKind::VarChar | TypeKind::Enum | TypeKind::Set
                if self.collation != CollationId::BINARY =>
            {
                self.length.saturating_mul(client_bytes_per_char)
            }
            // A TEXT's bytes can each be a character of the least bytes, each as wide as the client's widest.
            TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText
                if self.collation != CollationId::BINARY =>
            {
                let least = self.collation.charset().min_bytes_per_char() as u32;
                (self.length / least).saturating_mul(client_bytes_per_char)
            }
            TypeKind::Decimal => self.length + u32::from(self.scale > 0) + u32::from(!self.unsigned),
            _ => self.length,
        }
    }

    /// The bare type name of `information_schema.COLUMNS.DATA_TYPE`: `int`, `varchar`, `longblob`...
    #[must_use]
    pub fn name(&self) -> &'static str {
        let binary = self.collation == CollationId::BINARY;
        match self.kind {
            TypeKind::Null => "null",
            TypeKind::TinyInt => "tinyint",
            TypeKind::SmallInt => "smallint",
            TypeKind::MediumInt => "mediumint",
            TypeKind::Int => "int",
            TypeKind::BigInt => "bigint",
            TypeKind::Bit => "bit",
            TypeKind::Float => "float",
            TypeKind::Double => "double",
            TypeKind::Decimal => "decimal",
            TypeKind::Year => "year",
            TypeKind::Date => "date",
            TypeKind::Time => "time",
            TypeKind::DateTime => "datetime",
            TypeKind::Timestamp => "timestamp",
            TypeKind::Char if binary => "binary",
            TypeKind::Char => "char",
            TypeKind::VarChar if binary => "varbinary",
            TypeKind::VarChar => "varchar",
            TypeKind::TinyText if binary => "tinyblob",
            TypeKind::TinyText => "tinytext",
            TypeKind::Text if binary => "blob",
            TypeKind::Text => "text",
            TypeKind::MediumText if binary => "mediumblob",
            TypeKind::MediumText => "mediumtext",
            TypeKind::LongText if binary => "longblob",
            TypeKind::LongText => "longtext",
            TypeKind::Enum => "enum",
            TypeKind::Set => "set",
            TypeKind::Json => "json",
        }
    }

    /// Appends the type as SHOW CREATE TABLE and `COLUMN_TYPE` print it, without character set and collation:
    /// `int unsigned`, `tinyint(1)`, `decimal(10,2)`, `enum('a','b')`, `datetime(6)`.
    pub fn print_sql(&self, out: &mut Vec<u8>) {
        let number =
            |out: &mut Vec<u8>, n: u32| out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
        out.extend_from_slice(self.name().as_bytes());
        match self.kind {
            // Integer widths are printed only where they still mean something: BOOL and ZEROFILL.
            TypeKind::TinyInt
            | TypeKind::SmallInt
            | TypeKind::MediumInt
            | TypeKind::Int
            | TypeKind::BigInt
                if (self.zerofill
                    || (self.kind == TypeKind::TinyInt && self.length == 1 && !self.unsigned)) =>
            {
                out.push(b'(');
                number(out, self.length);
                out.push(b')');
            }
            TypeKind::Bit | TypeKind::Char | TypeKind::VarChar => {
                out.push(b'(');
                number(out, self.length);
                out.push(b')');
            }
            TypeKind::Decimal => {
                out.push(b'(');
                number(out, self.length);
                out.push(b',');
                number(out, u32::from(self.scale));
                out.push(b')');
            }
            TypeKind::Float | TypeKind::Double if self.scale != SCALE_NOT_FIXED => {
                out.push(b'(');
                number(out, self.length);
                out.push(b',');
                number(out, u32::from(self.scale));
                out.push(b')');
            }
            TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp if self.scale > 0 => {
                out.push(b'(');
                number(out, u32::from(self.scale));
                out.push(b')');
            }
            TypeKind::Enum | TypeKind::Set => {
                out.push(b'(');
                // They lie in the column's character set and are shown in UTF-8.
                let charset = self.collation.charset();
                for (i, name) in self.members.iter().flat_map(|m| m.iter()).enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    out.push(b'\'');
                    let shown = match charset.needs_conversion() {
                        true => Cow::Owned(charset.in_utf8(name)),
                        false => Cow::Borrowed(name),
                    };
                    for &byte in &*shown {
                        if byte == b'\'' {
                            out.push(b'\'');
                        }
                        out.push(byte);
                    }
                    out.push(b'\'');
                }
                out.push(b')');
            }
            _ => {}
        }
        let signed_kind =
            !matches!(self.kind, TypeKind::Bit | TypeKind::Year | TypeKind::Enum | TypeKind::Set);
        if self.unsigned && signed_kind {
            out.extend_from_slice(b" unsigned");
        }
        if self.zerofill && signed_kind {
            out.extend_from_slice(b" zerofill");
        }
    }
}

impl TypeKind {
    /// How values of this kind lie in memory.
    #[must_use]
    pub fn physical(self) -> Physical {
        match self {
            TypeKind::Float | TypeKind::Double => Physical::Double,
            TypeKind::Decimal => Physical::Decimal,
            TypeKind::Char
            | TypeKind::VarChar
            | TypeKind::TinyText
            | TypeKind::Text
            | TypeKind::MediumText
            | TypeKind::LongText
            | TypeKind::Json => Physical::Bytes,
            _ => Physical::Int,
        }
    }

    /// CHAR, VARCHAR and the TEXT family.
    #[must_use]
    pub fn is_string(self) -> bool {
        self.physical() == Physical::Bytes && self != TypeKind::Json
    }
}

/// The collation orders by code: `binary` and every `_bin`.
fn is_binary_sort(collation: CollationId) -> bool {
    collation == CollationId::BINARY || collation.name().ends_with("_bin")
}
