//! Values as SQL writes them, and back.

use std::fmt::Write as _;

use access::Error;
use types::temporal::parse::{DateMode, parse_datetime, parse_time};
use types::{Cell, Column, DataType, Decimal, TypeKind, Value};

/// A name between backticks.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Whether values of the type go and come as the number behind them.
pub(super) fn is_number(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::Enum | TypeKind::Set | TypeKind::Bit)
}

/// Appends a value of this type as a literal.
pub(super) fn write_cell(cell: Cell<'_>, data_type: &DataType, out: &mut String) {
    let hex = |bytes: &[u8], out: &mut String| {
        out.push_str("x'");
        for byte in bytes {
            let _ = write!(out, "{byte:02x}");
        }
        out.push('\'');
    };
    let text = || {
        let mut text = Vec::new();
        types::convert::write_text(cell, data_type, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    let _ = match cell {
        Cell::Null => write!(out, "NULL"),
        Cell::Int(value) if is_number(data_type) => write!(out, "{}", value.cast_unsigned()),
        Cell::Int(_) if data_type.has_date() || data_type.kind == TypeKind::Time => {
            write!(out, "'{}'", text())
        }
        Cell::Int(value) if data_type.unsigned => write!(out, "{}", value.cast_unsigned()),
        Cell::Int(value) => write!(out, "{value}"),
        Cell::Double(value) => write!(out, "{value:e}"),
        Cell::Decimal(_) => write!(out, "{}", text()),
        Cell::Bytes(_) if data_type.kind == TypeKind::Json => {
            out.push_str("CAST(_utf8mb4 ");
            hex(text().as_bytes(), out);
            write!(out, " AS JSON)")
        }
        Cell::Bytes(bytes) => {
            let charset = data_type.collation.charset();
            if charset != types::charset::Charset::Binary {
                let _ = write!(out, "_{} ", charset.name());
            }
            hex(bytes, out);
            Ok(())
        }
    };
}

/// Appends a value as a literal.
pub(super) fn write_value(value: &Value, out: &mut String) {
    let (data_type, column) = types::convert::value_column(value);
    write_cell(column.cell(0), &data_type, out);
}

/// Appends to `column` the value of this type that a row of text holds.
pub(super) fn push_text(text: Option<&[u8]>, data_type: &DataType, column: &mut Column) -> Result<(), Error> {
    let wrong = || Error::Storage("the other server sent a value that is none of its column".into());
    let Some(text) = text else {
        column.push_null();
        return Ok(());
    };
    let ascii = || std::str::from_utf8(text).map_err(|_| wrong());
    let mode = DateMode { allow_invalid: true, ..DateMode::default() };
    match data_type.kind {
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => {
            column.push_int(parse_datetime(text, mode).map_err(|_| wrong())?.value.pack());
        }
        TypeKind::Time => column.push_int(parse_time(text).map_err(|_| wrong())?.value.micros),
        TypeKind::Json => {
            let mut document = Vec::new();
            types::json::parse(text, &mut document).map_err(|_| wrong())?;
            column.push_bytes(&document);
        }
        TypeKind::Decimal => column.push_decimal(Decimal::parse(text).value),
        _ => match column.physical() {
            types::Physical::Int if data_type.unsigned || is_number(data_type) => {
                column.push_int(ascii()?.parse::<u64>().map_err(|_| wrong())?.cast_signed());
            }
            types::Physical::Int => column.push_int(ascii()?.parse().map_err(|_| wrong())?),
            types::Physical::Double => column.push_double(ascii()?.parse().map_err(|_| wrong())?),
            _ => column.push_bytes(text),
        },
    }
    Ok(())
}
