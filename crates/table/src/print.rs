//! Values as error messages print them.

use types::temporal::{DateTime, Time};
use types::{Cell, DataType, TypeKind, number};

/// Appends `cell`, a value of `data_type`, as text in UTF-8 (bytes of other character sets stay as they are).
pub fn print_cell(cell: Cell<'_>, data_type: &DataType, out: &mut Vec<u8>) {
    match cell {
        Cell::Null => out.extend_from_slice(b"NULL"),
        Cell::Int(value) => match data_type.kind {
            TypeKind::Date => DateTime::unpack(value).write_date(out),
            TypeKind::DateTime | TypeKind::Timestamp => {
                DateTime::unpack(value).write_datetime(data_type.scale, out);
            }
            TypeKind::Time => Time { micros: value }.write_text(data_type.scale, out),
            TypeKind::Enum => {
                out.extend_from_slice(data_type.members.as_ref().map_or(b"", |m| m.enum_text(value)));
            }
            TypeKind::Set => {
                if let Some(members) = &data_type.members {
                    members.set_text(value as u64, &data_type.collation.charset().of_ascii(b","), out);
                }
            }
            TypeKind::Bit => {
                let width = (data_type.length as usize).clamp(1, 64).div_ceil(8);
                print_binary(&value.to_be_bytes()[8 - width..], out);
            }
            TypeKind::Year => out.extend_from_slice(format!("{value:04}").as_bytes()),
            _ => {
                let start = out.len();
                if data_type.unsigned {
                    number::write_u64(value as u64, out);
                } else {
                    number::write_i64(value, out);
                }
                if data_type.zerofill {
                    let missing = (data_type.length as usize).saturating_sub(out.len() - start);
                    out.splice(start..start, std::iter::repeat_n(b'0', missing));
                }
            }
        },
        Cell::Double(value) if data_type.scale != types::data_type::SCALE_NOT_FIXED => {
            number::write_fixed(value, data_type.scale, out);
        }
        Cell::Double(value) if data_type.kind == TypeKind::Float => number::write_float(value, out),
        Cell::Double(value) => number::write_double(value, out),
        Cell::Decimal(value) => value.round(data_type.scale).write_text(out),
        Cell::Bytes(bytes) if data_type.is_binary_string() => print_binary(bytes, out),
        Cell::Bytes(bytes) => out.extend_from_slice(bytes),
    }
}

/// Bytes outside printable ASCII as `\xNN`, as MySQL shows binary keys.
fn print_binary(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        if (0x20..0x7f).contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("\\x{byte:02X}").as_bytes());
        }
    }
}
