//! Values as text, as JSON, and as [`Value`].

use crate::charset::Charset;
use crate::data_type::{DataType, SCALE_NOT_FIXED, TypeKind};
use crate::json::{self, Json};
use crate::number;
use crate::temporal::{DateTime, Time};
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
        (Cell::Int(year), TypeKind::Year) if data_type.zerofill => {
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
                members.set_text(bits as u64, &data_type.collation.charset().of_ascii(b","), out);
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
pub(super) fn pad_zeros(data_type: &DataType, start: usize, out: &mut Vec<u8>) {
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

pub(super) fn to_utf8(text: Vec<u8>, charset: Charset) -> Vec<u8> {
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
