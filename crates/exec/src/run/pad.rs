//! sql_mode PAD_CHAR_TO_FULL_LENGTH: values of CHAR columns have the length of their column once they are read.
//!
//! They are stored without the spaces at their end. What reads rows of a table pads them, so that everything above sees the same
//! values; what reads a row that is not written yet ([`crate::change`]) pads them where an expression reads them.

use catalog::TableDefinition;
use types::{Column, DataType, TypeKind};

use crate::expr::{EvalSettings, sql_mode};

/// Whether CHAR values are padded.
#[inline]
pub(crate) fn pads(settings: &EvalSettings) -> bool {
    settings.has(sql_mode::PAD_CHAR_TO_FULL_LENGTH)
}

/// Whether the mode changes values of this type.
pub(crate) fn is_padded(data_type: &DataType) -> bool {
    data_type.kind == TypeKind::Char
}

/// Pads the columns `ordinals` of a table, just read into `columns`.
#[cold]
pub(crate) fn pad_columns(definition: &TableDefinition, ordinals: &[usize], columns: &mut [Column]) {
    for (&ordinal, column) in ordinals.iter().zip(columns) {
        // Parts of large columns have ordinals behind those of the columns.
        if let Some(defined) = definition.columns.get(ordinal)
            && is_padded(&defined.data_type)
        {
            pad(column, &defined.data_type);
        }
    }
}

/// Pads the values of one column with spaces to the characters of its type.
pub(crate) fn pad(column: &mut Column, data_type: &DataType) {
    let charset = data_type.collation.charset();
    let mut padded = Column::new(column.physical());
    for row in 0..column.len() {
        match column.cell(row) {
            types::Cell::Bytes(text) => padded.push_bytes_with(|out| {
                let missing = (data_type.length as usize).saturating_sub(charset.char_count(text));
                out.extend_from_slice(text);
                let space = charset.of_ascii(b" ");
                out.extend(space.iter().copied().cycle().take(missing * space.len()));
            }),
            other => padded.push_cell(other),
        }
    }
    *column = padded;
}
