//! Rows and index entries, as damaged pages could show them if a checksum ever missed the damage.

use catalog::{ColumnDefault, ColumnDefinition};
use table::Utc;
use table::codec::row::{BytesRef, Layout, RowView, spilled_reference, version_of};
use types::{Cell, CollationId, DataType, Decimal, TypeKind};

fn columns() -> Vec<ColumnDefinition> {
    let text = CollationId::UTF8MB4_0900_AI_CI;
    let types = [
        (DataType::integer(TypeKind::Int, false), false),
        (DataType::integer(TypeKind::BigInt, true), true),
        (DataType::varchar(100, text), true),
        (DataType::decimal(30, 10), true),
        (DataType::DOUBLE, true),
        (DataType::text(TypeKind::Text, text), true),
        (DataType::datetime(6), true),
        (DataType::timestamp(3), false),
        (DataType::char(20, text), false),
        (DataType::bit(9), true),
        (DataType::varchar(50, CollationId::BINARY), true),
    ];
    types
        .into_iter()
        .enumerate()
        .map(|(number, (data_type, nullable))| ColumnDefinition {
            default: ColumnDefault::Null,
            since_version: u32::from(number == 10),
            ..ColumnDefinition::new(&format!("c{number}"), data_type, nullable)
        })
        .collect()
}

/// Reads `input` as a row of two layouts, every column of it. No value is right or wrong; nothing may panic.
pub fn rows(input: &[u8]) {
    let columns = columns();
    let _version = version_of(input);
    let _reference = spilled_reference(input);
    for version in [0, 1] {
        let layout = Layout::new(&columns, version, |_| None, |_| true);
        if input.len() < layout.data_start() {
            continue; // Refused before: a body has at least its fixed part.
        }
        let row = RowView::new(&layout, b"", b"", input);
        for (ordinal, column) in columns.iter().enumerate() {
            let mut values = types::Column::new(column.data_type.physical());
            row.push_to(ordinal, &Utc, &mut values);
            let _is_external = row.column_is_external(ordinal);
            if let BytesRef::External { prefix, .. } = row.bytes(ordinal) {
                assert!(prefix.len() <= input.len());
            }
        }
    }
}

/// Well-formed inputs for [`rows`].
#[must_use]
pub fn row_samples() -> Vec<Vec<u8>> {
    let columns = columns();
    let decimal = Decimal::ZERO;
    let mut samples = Vec::new();
    for version in [0, 1] {
        let layout = Layout::new(&columns, version, |_| None, |_| true);
        for nulls in [0_usize, 0b101_0101_0101, 0b111_1111_1111] {
            let text = b"some text of a row";
            let cell = |ordinal: usize| {
                let column = &columns[ordinal];
                if column.nullable && nulls >> ordinal & 1 == 1 {
                    return Cell::Null;
                }
                match ordinal {
                    0 | 1 | 6 | 7 | 9 => Cell::Int(7),
                    3 => Cell::Decimal(&decimal),
                    4 => Cell::Double(1.5),
                    _ => Cell::Bytes(text),
                }
            };
            let mut out = Vec::new();
            layout.write(cell, |_| BytesRef::Inline(text), &Utc, &mut out);
            samples.push(out);
        }
    }
    samples
}
