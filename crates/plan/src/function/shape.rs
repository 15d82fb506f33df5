//! How wide a value may be: characters, digits and scale of each type, as MySQL counts them.

use types::charset::Charset;
use types::data_type::{DECIMAL_SCALE_MAX, SCALE_NOT_FIXED, VARCHAR_BYTES_MAX};
use types::{CollationId, DataType, TypeKind};

use crate::expr::Expr;

/// Width MySQL gives an integer expression of unknown size: 20 digits and a sign.
pub(super) const INT_WIDTH: u32 = 21;
/// Bytes of the longest text that most functions say they give, and characters of one of unknown length.
pub(super) const UNKNOWN_CHARS: u32 = 16_777_216;

/// Most characters of a DOUBLE as text.
const DOUBLE_CHARS: u32 = 22;

pub(super) fn int(length: u32) -> DataType {
    DataType { length, ..DataType::BIGINT }
}

pub(super) fn uint(length: u32) -> DataType {
    DataType { length, ..DataType::BIGINT_UNSIGNED }
}

/// A string of at most this many characters: VARCHAR while it fits one, else a TEXT.
pub(super) fn string_type(chars: u32, collation: CollationId) -> DataType {
    let bytes = u64::from(chars) * collation.charset().max_bytes_per_char() as u64;
    match bytes {
        0..=65_535 => DataType::varchar(chars, collation),
        65_536..=16_777_215 => {
            DataType { length: bytes as u32, ..DataType::text(TypeKind::MediumText, collation) }
        }
        _ => {
            let length = u32::try_from(bytes).unwrap_or(u32::MAX);
            DataType { length, ..DataType::text(TypeKind::LongText, collation) }
        }
    }
}

/// Room that a value needs as text.
pub(super) struct Width {
    chars: u32,
    bytes: u32,
}

impl Width {
    pub(super) fn of(data_type: &DataType) -> Width {
        let chars = text_chars(data_type);
        let char_bytes = match data_type.kind {
            TypeKind::Json => 4,
            _ if super::collate::is_text(data_type) => {
                data_type.collation.charset().max_bytes_per_char() as u32
            }
            _ => 1,
        };
        let bytes = match data_type.kind {
            // As bytes a number has room for all that it says of itself.
            TypeKind::Double => data_type.length,
            _ => chars.saturating_mul(char_bytes),
        };
        Width { chars, bytes }
    }

    /// Of a parameter that is a text beside one of this character set: the longest text of that.
    pub(super) fn of_parameter(charset: Charset) -> Width {
        let char_bytes = charset.max_bytes_per_char() as u32;
        let chars = VARCHAR_BYTES_MAX / char_bytes;
        Width { chars, bytes: chars * char_bytes }
    }

    /// Of one that is bytes beside NULL, before it becomes a text.
    pub(super) fn of_parameter_beside_null() -> Width {
        const CHAR_BYTES_MAX: u32 = 4;
        Width { chars: VARCHAR_BYTES_MAX * CHAR_BYTES_MAX, bytes: VARCHAR_BYTES_MAX }
    }

    /// Of one beside bytes.
    pub(super) fn of_parameter_of_bytes(data_type: &DataType) -> Width {
        Width { bytes: VARCHAR_BYTES_MAX, ..Width::of(data_type) }
    }

    /// Characters in a text of this collation: a text among bytes has room for its widest characters.
    pub(super) fn chars_in(&self, collation: CollationId) -> u32 {
        if collation == CollationId::BINARY { self.bytes } else { self.chars }
    }
}

/// Most characters a value has as text.
pub(crate) fn text_chars(data_type: &DataType) -> u32 {
    match data_type.kind {
        // Of a table's column each byte may be a character; a computed text has room for its widest characters.
        TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText
            if data_type.length != DataType::text(data_type.kind, data_type.collation).length =>
        {
            data_type.length / data_type.collation.charset().max_bytes_per_char() as u32
        }
        TypeKind::Decimal => {
            data_type.length + u32::from(data_type.scale > 0) + u32::from(!data_type.unsigned)
        }
        TypeKind::Json => 1 << 30,
        // A number that is computed has room for one more digit than its text.
        TypeKind::Double => DOUBLE_CHARS,
        _ => data_type.length,
    }
}

/// Digits before the point of a number, or of what a value is as a number.
pub(super) fn integer_digits(data_type: &DataType) -> u32 {
    match data_type.kind {
        TypeKind::Decimal => data_type.length - u32::from(data_type.scale),
        TypeKind::Bit => data_type.length,
        TypeKind::Date => 8,
        TypeKind::Time => 7,
        TypeKind::DateTime | TypeKind::Timestamp => 14,
        TypeKind::Null => 0,
        _ if data_type.is_hex_literal() => (data_type.length * 3).min(20),
        _ if data_type.is_integer() => (data_type.length - u32::from(!data_type.unsigned)).max(1),
        _ => 65,
    }
}

/// How a value takes part in arithmetic.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Numeric {
    Int,
    Decimal,
    Double,
}

pub(super) fn numeric(data_type: &DataType) -> Numeric {
    match data_type.kind {
        TypeKind::Decimal => Numeric::Decimal,
        TypeKind::Date => Numeric::Int,
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => {
            if data_type.scale > 0 {
                Numeric::Decimal
            } else {
                Numeric::Int
            }
        }
        _ if data_type.is_integer() || data_type.is_hex_literal() => Numeric::Int,
        _ => Numeric::Double,
    }
}

pub(super) fn scale(data_type: &DataType) -> u32 {
    match numeric(data_type) {
        Numeric::Int => 0,
        _ => u32::from(data_type.scale),
    }
}

pub(super) fn precision(data_type: &DataType) -> u32 {
    integer_digits(data_type) + scale(data_type).min(30)
}

pub(super) fn decimal(integer: u32, scale: u32) -> DataType {
    let scale = scale.min(u32::from(DECIMAL_SCALE_MAX));
    DataType::decimal((integer + scale).max(1), scale as u8)
}

/// Digits after the point where their number is fixed.
pub(super) fn fixed_scale(data_type: &DataType) -> Option<u32> {
    match numeric(data_type) {
        // NULL that a table keeps is a text.
        _ if data_type.kind == TypeKind::Null => (data_type.scale < SCALE_NOT_FIXED).then_some(0),
        Numeric::Double if data_type.scale >= SCALE_NOT_FIXED || !data_type.is_numeric() => None,
        _ => Some(scale(data_type)),
    }
}

/// The DOUBLE that an operator gives: with the largest scale and `more` digits where those of all operands are fixed.
pub(super) fn double_of(args: &[Expr], more: u32) -> DataType {
    let mut scales = args.iter().map(|arg| fixed_scale(&arg.data_type));
    let largest = scales.try_fold(0, |most, scale| scale.map(|scale: u32| most.max(scale)));
    let Some(scale) = largest.map(|scale| scale + more).filter(|scale| *scale < u32::from(SCALE_NOT_FIXED))
    else {
        return DataType::DOUBLE;
    };
    let whole = args.iter().map(|arg| whole_chars(&arg.data_type));
    DataType { scale: scale as u8, length: whole.max().unwrap_or(0) + scale, ..DataType::DOUBLE }
}

/// The DOUBLE that a division gives: as many characters before the point as the dividend has.
pub(super) fn quotient(args: &[Expr], more: u32) -> DataType {
    let double = double_of(args, more);
    if double.scale >= SCALE_NOT_FIXED {
        return double;
    }
    DataType { length: whole_chars(&args[0].data_type) + u32::from(double.scale), ..double }
}

/// Characters before the point of a number whose digits after it are fixed.
pub(super) fn whole_chars(data_type: &DataType) -> u32 {
    let chars = match data_type.kind {
        TypeKind::Null => 0,
        TypeKind::Double => data_type.length,
        _ => text_chars(data_type),
    };
    chars.saturating_sub(fixed_scale(data_type).unwrap_or(0))
}
