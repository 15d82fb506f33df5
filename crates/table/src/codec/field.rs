//! One column's value as bytes: the fixed-width forms that rows and keys share.
//!
//! Every fixed-width form is memcomparable: unsigned big-endian, a sign turned into a bias. So the same bytes serve in
//! a row and in a key, and a covering read takes a number straight out of a key.
//!
//! | kind | bytes |
//! | --- | --- |
//! | integers, ENUM (2), SET (8), BIT (n/8), YEAR (2) | big-endian, highest bit flipped if signed |
//! | DATE | 3: packed year, month, day |
//! | DATETIME | 5, or 8 with a fraction: packed fields |
//! | TIME | 6: signed microseconds |
//! | TIMESTAMP | 4: seconds UTC, or 7: microseconds UTC; 0 is the zero value |
//! | FLOAT, DOUBLE | 4, 8: IEEE-754, sign bit flipped, negative numbers inverted |
//! | DECIMAL | `Decimal::write_key` |

use access::TimestampZone;
use types::collation::CollationId;
use types::temporal::{DateTime, MICROS_PER_SECOND};
use types::{Cell, DataType, Decimal, Physical, TypeKind};

/// A column's type, boiled down to what encoding needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Field {
    /// An integer, or something packed into one: `value >> shift`, biased if signed, in `width` bytes.
    Int {
        /// 1 to 8.
        width: u8,
        /// Whether negative values exist.
        signed: bool,
        /// Low bits that are always 0 and left out.
        shift: u8,
    },
    /// TIMESTAMP: seconds or microseconds UTC.
    Timestamp {
        /// Has digits after the second: 7 bytes, else 4.
        fraction: bool,
    },
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// DECIMAL(precision, scale).
    Decimal {
        /// Digits.
        precision: u8,
        /// Of them after the point.
        scale: u8,
    },
    /// A string of any length, or a JSON document (collation `binary`).
    Bytes {
        /// Orders it.
        collation: CollationId,
    },
}

impl Field {
    /// Of a column's type.
    #[must_use]
    pub fn of(data_type: &DataType) -> Self {
        let int = |width: u8, signed: bool, shift: u8| Self::Int { width, signed, shift };
        match data_type.kind {
            TypeKind::TinyInt => int(1, !data_type.unsigned, 0),
            TypeKind::SmallInt => int(2, !data_type.unsigned, 0),
            TypeKind::MediumInt => int(3, !data_type.unsigned, 0),
            TypeKind::Int => int(4, !data_type.unsigned, 0),
            TypeKind::BigInt => int(8, !data_type.unsigned, 0),
            TypeKind::Null => int(1, false, 0),
            TypeKind::Bit => int(data_type.length.clamp(1, 64).div_ceil(8) as u8, false, 0),
            TypeKind::Year | TypeKind::Enum => int(2, false, 0),
            TypeKind::Set => int(8, false, 0),
            TypeKind::Date => int(3, false, 41),
            TypeKind::DateTime if data_type.scale == 0 => int(5, false, 24),
            TypeKind::DateTime => int(8, false, 0),
            TypeKind::Time => int(6, true, 0),
            TypeKind::Timestamp => Self::Timestamp { fraction: data_type.scale > 0 },
            TypeKind::Float => Self::Float,
            TypeKind::Double => Self::Double,
            TypeKind::Decimal => Self::Decimal { precision: data_type.length as u8, scale: data_type.scale },
            TypeKind::Char
            | TypeKind::VarChar
            | TypeKind::TinyText
            | TypeKind::Text
            | TypeKind::MediumText
            | TypeKind::LongText => Self::Bytes { collation: data_type.collation },
            TypeKind::Json => Self::Bytes { collation: CollationId::BINARY },
        }
    }

    /// Bytes of the fixed-width form; `None` for strings.
    #[must_use]
    pub fn width(self) -> Option<usize> {
        Some(match self {
            Self::Int { width, .. } => usize::from(width),
            Self::Timestamp { fraction } => {
                if fraction {
                    7
                } else {
                    4
                }
            }
            Self::Float => 4,
            Self::Double => 8,
            Self::Decimal { precision, .. } => Decimal::key_bytes(u32::from(precision)),
            Self::Bytes { .. } => return None,
        })
    }

    /// The shape of its values in memory.
    #[must_use]
    pub fn physical(self) -> Physical {
        match self {
            Self::Int { .. } | Self::Timestamp { .. } => Physical::Int,
            Self::Float | Self::Double => Physical::Double,
            Self::Decimal { .. } => Physical::Decimal,
            Self::Bytes { .. } => Physical::Bytes,
        }
    }

    /// Appends the fixed-width form of `cell`. NULL, and a cell of another shape, gives zeros.
    #[inline]
    pub fn write_fixed(self, cell: Cell<'_>, zone: &dyn TimestampZone, out: &mut Vec<u8>) {
        match (self, cell) {
            (Self::Int { width, signed, shift }, Cell::Int(value)) => {
                let width = usize::from(width);
                let mut bits = if signed { (value >> shift) as u64 } else { (value as u64) >> shift };
                if signed {
                    bits ^= 1 << (8 * width - 1);
                }
                out.extend_from_slice(&bits.to_be_bytes()[8 - width..]);
            }
            (Self::Timestamp { fraction }, Cell::Int(packed)) => {
                let micros = if packed == 0 { 0 } else { zone.utc_micros(DateTime::unpack(packed)) };
                write_timestamp(micros, fraction, out);
            }
            (Self::Float, Cell::Double(value)) => {
                let bits = (value as f32).to_bits();
                let bits = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
                out.extend_from_slice(&bits.to_be_bytes());
            }
            (Self::Double, Cell::Double(value)) => {
                let bits = value.to_bits();
                let bits = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
                out.extend_from_slice(&bits.to_be_bytes());
            }
            (Self::Decimal { precision, scale }, Cell::Decimal(value)) => {
                value.write_key(u32::from(precision), scale, out);
            }
            (field, _) => out.resize(out.len() + field.width().unwrap_or(0), 0),
        }
    }

    /// Reads back an integer or packed temporal; a TIMESTAMP in `zone`.
    #[inline]
    #[must_use]
    pub(crate) fn read_int(self, bytes: &[u8], zone: &dyn TimestampZone) -> i64 {
        match self {
            Self::Int { width, signed, shift } => {
                let bits = load(bytes);
                if signed {
                    let unused = 64 - 8 * u32::from(width);
                    // Flip the bias back, then spread the sign over the unused high bits.
                    let value = (((bits ^ (1 << (8 * u32::from(width) - 1))) << unused) as i64) >> unused;
                    value << shift
                } else {
                    (bits << shift) as i64
                }
            }
            Self::Timestamp { fraction } => {
                let micros = read_timestamp(bytes, fraction);
                if micros == 0 { 0 } else { zone.local(micros).pack() }
            }
            _ => 0,
        }
    }

    /// Reads back a FLOAT or DOUBLE.
    #[inline]
    #[must_use]
    pub(crate) fn read_double(self, bytes: &[u8]) -> f64 {
        self.double_of(load(bytes))
    }

    /// Of the bytes as a number.
    #[inline]
    #[must_use]
    pub(crate) fn double_of(self, bits: u64) -> f64 {
        if self == Self::Float {
            let bits = bits as u32;
            let bits = if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits };
            return f64::from(f32::from_bits(bits));
        }
        f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
    }

    /// Reads back a DECIMAL.
    #[inline]
    #[must_use]
    pub(crate) fn read_decimal(self, bytes: &[u8]) -> Decimal {
        match self {
            Self::Decimal { precision, scale } => {
                Decimal::read_key(u32::from(precision), scale, bytes).unwrap_or(Decimal::ZERO)
            }
            _ => Decimal::ZERO,
        }
    }
}

/// Appends a TIMESTAMP's UTC microseconds.
pub fn write_timestamp(micros: i64, fraction: bool, out: &mut Vec<u8>) {
    if fraction {
        out.extend_from_slice(&(micros as u64).to_be_bytes()[1..]);
    } else {
        out.extend_from_slice(&((micros / MICROS_PER_SECOND) as u32).to_be_bytes());
    }
}

fn read_timestamp(bytes: &[u8], fraction: bool) -> i64 {
    let stored = load(bytes) as i64;
    if fraction { stored } else { stored * MICROS_PER_SECOND }
}

/// Up to 8 bytes, big-endian.
#[inline]
pub(super) fn load(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_be_bytes([a, b])),
        [a, b, c] => u64::from(u32::from_be_bytes([0, a, b, c])),
        [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])),
        [a, b, c, d, e] => u64::from_be_bytes([0, 0, 0, a, b, c, d, e]),
        [a, b, c, d, e, f] => u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
        [a, b, c, d, e, f, g] => u64::from_be_bytes([0, a, b, c, d, e, f, g]),
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => bytes.iter().take(8).fold(0, |bits, &byte| bits << 8 | u64::from(byte)),
    }
}
