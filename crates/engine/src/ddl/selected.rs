//! CREATE TABLE ... SELECT: the types and defaults of the columns that the query makes.
//!
//! A column that shows a table's column has its type and default. Of a computed one, MySQL chooses the type by how it is computed:
//! integers by how many characters their text may have, texts by how many bytes.

use catalog::{ColumnDefault, ColumnDefinition, StoredValue};
use plan::logical::Created;
use session::backend::SelectedColumn;
use types::{Cell, CollationId, DataType, TypeKind};

use super::defaults::{text, zero_decimal};

/// Characters of the longest VARCHAR made of a computed text.
const VARCHAR_CHARS_MAX: u32 = 512;
/// Characters, sign included, of the longest INT made of a function, and of anything else that is computed.
const INT_FUNCTION_CHARS_MAX: u32 = 11;
const INT_CHARS_MAX: u32 = 9;

/// The column of a table that the query itself shows.
pub(super) fn direct(selected: &SelectedColumn) -> Option<&ColumnDefinition> {
    selected.source.as_ref().filter(|(_, is_direct)| *is_direct).map(|(source, _)| source)
}

/// The type of the new column.
pub(super) fn stored_type(selected: &SelectedColumn) -> DataType {
    let mut own = selected.data_type.clone();
    match (selected.created, own.kind) {
        (_, TypeKind::Null) => DataType::varchar(0, CollationId::BINARY),
        (Created::Column, TypeKind::Year) => DataType::YEAR,
        (Created::Column, kind) if is_text(kind) => smallest_text(&own, u64::from(own.length)),
        (Created::Column, TypeKind::Char | TypeKind::VarChar) => {
            // Texts of a set operation, of GROUP_CONCAT.
            const VARCHAR_BYTES_MAX: u64 = 65_532;
            own.unsigned = false;
            own.scale = 0;
            if own.bytes_max() > VARCHAR_BYTES_MAX { smallest_text(&own, own.bytes_max()) } else { own }
        }
        (Created::Column, _) | (Created::IfNull, TypeKind::Enum | TypeKind::Set) => own,
        (_, TypeKind::Char | TypeKind::VarChar | TypeKind::Enum | TypeKind::Set) => {
            let bytes = own.bytes_max();
            match selected.created {
                Created::Value if own.length > VARCHAR_CHARS_MAX => smallest_text(&own, bytes),
                _ if bytes > 0xffff => DataType::text(TypeKind::LongText, own.collation),
                _ if own.length > VARCHAR_CHARS_MAX => smallest_text(&own, bytes),
                _ => DataType::varchar(own.length, own.collation),
            }
        }
        (Created::Value, kind) if is_text(kind) => {
            let per_char = own.collation.charset().max_bytes_per_char() as u64;
            smallest_text(&own, u64::from(own.length) * per_char)
        }
        (_, kind) if is_text(kind) => DataType::text(TypeKind::LongText, own.collation),
        (Created::Function, TypeKind::Bit) => integer(own.length <= INT_FUNCTION_CHARS_MAX, true),
        (Created::Function, TypeKind::Year) => DataType::YEAR,
        (Created::Function, _) if own.is_integer() => {
            integer(own.length <= INT_FUNCTION_CHARS_MAX, own.unsigned)
        }
        (Created::Value, kind) if own.is_integer() && kind != TypeKind::Bit => {
            integer(own.length <= INT_CHARS_MAX, own.unsigned)
        }
        (_, TypeKind::Year) => DataType::YEAR,
        _ => own,
    }
}

/// The default of the new column: that of the table's column it shows. `zero_dates`: a date may be zero.
pub(super) fn default(selected: &SelectedColumn, data_type: &DataType, zero_dates: bool) -> ColumnDefault {
    match &selected.source {
        Some((column, true)) if column.auto_increment => implicit(data_type, false, zero_dates),
        // A column that an outer join made nullable keeps its default or the lack of one.
        Some((column, true)) if column.generated.is_some() => match column.nullable {
            true => ColumnDefault::Null,
            false => ColumnDefault::None,
        },
        Some((column, true)) => match &column.default {
            _ if data_type.kind == TypeKind::Bit => implicit(data_type, selected.nullable, zero_dates),
            default => default.clone(),
        },
        Some((column, false)) => match &column.default {
            ColumnDefault::Literal { .. } if data_type.kind == TypeKind::Enum => column.default.clone(),
            ColumnDefault::None if !column.nullable && data_type.kind != TypeKind::Bit => ColumnDefault::None,
            _ => implicit(data_type, selected.nullable, zero_dates),
        },
        None => implicit(data_type, selected.nullable, zero_dates),
    }
}

fn is_text(kind: TypeKind) -> bool {
    matches!(kind, TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText)
}

fn integer(is_int: bool, unsigned: bool) -> DataType {
    DataType::integer(if is_int { TypeKind::Int } else { TypeKind::BigInt }, unsigned)
}

/// The smallest TEXT or BLOB for this many bytes.
fn smallest_text(own: &DataType, bytes: u64) -> DataType {
    let kind = match bytes {
        0..0x100 => TypeKind::TinyText,
        0x100..0x1_0000 => TypeKind::Text,
        0x1_0000..0x100_0000 => TypeKind::MediumText,
        _ => TypeKind::LongText,
    };
    DataType::text(kind, own.collation)
}

/// The default of a computed column.
pub(super) fn implicit(data_type: &DataType, nullable: bool, zero_dates: bool) -> ColumnDefault {
    if nullable {
        return ColumnDefault::Null;
    }
    let literal =
        |value: StoredValue, cell: Cell<'_>| ColumnDefault::Literal { text: text(cell, data_type), value };
    match data_type.kind {
        _ if data_type.is_text_or_blob() => ColumnDefault::None,
        TypeKind::Char | TypeKind::VarChar => literal(StoredValue::Bytes(Box::default()), Cell::Bytes(b"")),
        TypeKind::Float | TypeKind::Double => literal(StoredValue::Double(0.0), Cell::Double(0.0)),
        TypeKind::Decimal => {
            let zero = zero_decimal(data_type);
            literal(StoredValue::Decimal(zero), Cell::Decimal(&zero))
        }
        TypeKind::Time => literal(StoredValue::Int(0), Cell::Int(0)),
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp if zero_dates => {
            literal(StoredValue::Int(0), Cell::Int(0))
        }
        _ if data_type.is_integer() => literal(StoredValue::Int(0), Cell::Int(0)),
        _ => ColumnDefault::None,
    }
}
