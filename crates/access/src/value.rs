//! Boundary values as cells.

use types::{Cell, Value};

/// Calls `use_cell` with the value in its physical form. The value has the column's type already.
pub fn with_cell<R>(value: &Value, use_cell: impl FnOnce(Cell<'_>) -> R) -> R {
    match value {
        Value::Null => use_cell(Cell::Null),
        Value::Int(number) => use_cell(Cell::Int(*number)),
        Value::UInt(number) => use_cell(Cell::Int(*number as i64)),
        Value::Double(number) => use_cell(Cell::Double(*number)),
        Value::Decimal(number) => use_cell(Cell::Decimal(number)),
        Value::Date(date) | Value::DateTime(date) => use_cell(Cell::Int(date.pack())),
        Value::Time(time) => use_cell(Cell::Int(time.micros)),
        Value::Bytes { bytes, .. } | Value::Json(bytes) => use_cell(Cell::Bytes(bytes)),
    }
}
