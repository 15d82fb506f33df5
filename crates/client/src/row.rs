//! Columns and rows as they arrived, and typed access to their cells.

use wire::client::{binary_cells, text_cells};
use wire::parameter::ParameterValue;
use wire::{ColumnDefinition, ColumnFlags, ColumnType, Malformed};

/// One column of a result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Column<'a> {
    /// Database; empty for an expression.
    pub schema: &'a [u8],
    /// Alias of the table.
    pub table: &'a [u8],
    /// The table's own name.
    pub org_table: &'a [u8],
    /// Alias of the column.
    pub name: &'a [u8],
    /// The column's own name.
    pub org_name: &'a [u8],
    /// Collation number.
    pub collation: u16,
    /// The most bytes a value takes as text.
    pub length: u32,
    /// Type.
    pub column_type: ColumnType,
    /// What kind of column it is.
    pub flags: ColumnFlags,
    /// Digits after the point; 31 where not fixed.
    pub decimals: u8,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stored {
    /// Where each of the five names ends in `names`.
    ends: [u32; 5],
    collation: u16,
    length: u32,
    column_type: ColumnType,
    flags: ColumnFlags,
    decimals: u8,
}

/// The columns of a result, in two vectors that are used again for the next.
#[derive(Debug, Default)]
pub struct Columns {
    names: Vec<u8>,
    stored: Vec<Stored>,
    /// What reading a binary row needs.
    types: Vec<(ColumnType, ColumnFlags)>,
}

impl Clone for Columns {
    fn clone(&self) -> Columns {
        Columns { names: self.names.clone(), stored: self.stored.clone(), types: self.types.clone() }
    }

    /// Keeps the memory of `self`.
    fn clone_from(&mut self, source: &Columns) {
        self.names.clone_from(&source.names);
        self.stored.clone_from(&source.stored);
        self.types.clone_from(&source.types);
    }
}

impl Columns {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stored.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// The column at `index`, from 0.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn get(&self, index: usize) -> Column<'_> {
        let stored = &self.stored[index];
        let mut start = if index == 0 { 0 } else { self.stored[index - 1].ends[4] };
        let [schema, table, org_table, name, org_name] = stored.ends.map(|end| {
            let text = &self.names[start as usize..end as usize];
            start = end;
            text
        });
        Column {
            schema,
            table,
            org_table,
            name,
            org_name,
            collation: stored.collation,
            length: stored.length,
            column_type: stored.column_type,
            flags: stored.flags,
            decimals: stored.decimals,
        }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Column<'_>> {
        (0..self.len()).map(|index| self.get(index))
    }

    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.stored.clear();
        self.types.clear();
    }

    pub(crate) fn push(&mut self, column: &ColumnDefinition<'_>) -> Result<(), Malformed> {
        let mut ends = [0; 5];
        for (end, name) in
            ends.iter_mut().zip([column.schema, column.table, column.org_table, column.name, column.org_name])
        {
            self.names.extend_from_slice(name);
            *end = u32::try_from(self.names.len()).map_err(|_| Malformed { what: "names of 4 GB" })?;
        }
        self.stored.push(Stored {
            ends,
            collation: column.collation,
            length: column.length,
            column_type: column.column_type,
            flags: column.flags,
            decimals: column.decimals,
        });
        self.types.push((column.column_type, column.flags));
        Ok(())
    }
}

/// Where the cells of a row lie, used again for each row.
pub(crate) type CellStarts = Vec<u32>;

/// One row, in the connection's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    payload: &'a [u8],
    columns: &'a Columns,
    /// Where each cell starts.
    starts: &'a [u32],
    is_binary: bool,
}

impl<'a> Row<'a> {
    /// Finds the cells of `payload` and checks that they are whole, for [`found`](Self::found).
    #[inline]
    pub(crate) fn find(
        payload: &[u8],
        columns: &Columns,
        is_binary: bool,
        starts: &mut CellStarts,
    ) -> Result<(), Malformed> {
        starts.clear();
        let push = |at: usize| starts.push(at as u32); // A packet is at most 1 GB.
        if is_binary {
            binary_cells(payload, &columns.types, push)
        } else {
            text_cells(payload, columns.len(), push)
        }
    }

    /// The row whose cells were found.
    #[inline]
    pub(crate) fn found(
        payload: &'a [u8],
        columns: &'a Columns,
        is_binary: bool,
        starts: &'a [u32],
    ) -> Row<'a> {
        Row { payload, columns, starts, is_binary }
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &'a Columns {
        self.columns
    }

    /// How many cells.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether it has no cell; no server sends such a row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The bytes of the row as the server sent them.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The cell of the column at `index`, from 0.
    ///
    /// # Panics
    /// If there is no such column.
    #[inline]
    #[must_use]
    pub fn cell(&self, index: usize) -> Cell<'a> {
        let rest = &self.payload[self.starts[index] as usize..];
        let value = if self.is_binary {
            let (column_type, flags) = self.columns.types[index];
            let bitmap_byte = self.payload[1 + (index + 2) / 8];
            if bitmap_byte & 1 << ((index + 2) % 8) != 0 {
                ParameterValue::Null
            } else {
                wire::client::binary_cell(rest, column_type, flags)
            }
        } else {
            wire::client::text_cell(rest)
        };
        Cell(value)
    }

    /// All cells, in order.
    pub fn cells(&self) -> impl Iterator<Item = Cell<'a>> + use<'a> {
        let row = *self;
        (0..row.len()).map(move |index| row.cell(index))
    }
}

/// One value: text in the answer to a query, its own form in the answer to a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell<'a>(pub ParameterValue<'a>);

impl<'a> Cell<'a> {
    /// Whether it is NULL.
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self.0, ParameterValue::Null)
    }

    /// The bytes, if it is text, a string or a decimal.
    #[must_use]
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        match self.0 {
            ParameterValue::Bytes(bytes) | ParameterValue::Decimal(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The text, if it is text and UTF-8.
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        self.as_bytes().and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// The integer, if it is one or the text of one, and fits.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self.0 {
            ParameterValue::Int(value) => Some(value),
            ParameterValue::UInt(value) => i64::try_from(value).ok(),
            _ => self.as_str()?.parse().ok(),
        }
    }

    /// The integer without sign, if it is one or the text of one, and fits.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        match self.0 {
            ParameterValue::Int(value) => u64::try_from(value).ok(),
            ParameterValue::UInt(value) => Some(value),
            _ => self.as_str()?.parse().ok(),
        }
    }

    /// The number, if it is one or the text of one.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        match self.0 {
            ParameterValue::Int(value) => Some(value as f64),
            ParameterValue::UInt(value) => Some(value as f64),
            ParameterValue::Float(value) => Some(f64::from(value)),
            ParameterValue::Double(value) => Some(value),
            _ => self.as_str()?.parse().ok(),
        }
    }

    /// Appends the text that the answer to a query would hold for a column of this kind; `false` and nothing for NULL.
    /// DOUBLE and FLOAT are printed shortest; a ZEROFILL column gets its zeros.
    pub fn write_text(self, column: &Column<'_>, out: &mut Vec<u8>) -> bool {
        let digits = if column.decimals > 6 { 0 } else { column.decimals };
        let start = out.len();
        match self.0 {
            ParameterValue::Null | ParameterValue::LongData => return false,
            ParameterValue::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
            ParameterValue::UInt(value) if column.column_type == ColumnType::Year => {
                out.extend_from_slice(format!("{value:04}").as_bytes());
            }
            ParameterValue::UInt(value) => out.extend_from_slice(value.to_string().as_bytes()),
            ParameterValue::Float(value) if column.decimals < 31 => {
                out.extend_from_slice(format!("{value:.*}", usize::from(column.decimals)).as_bytes());
            }
            ParameterValue::Double(value) if column.decimals < 31 => {
                out.extend_from_slice(format!("{value:.*}", usize::from(column.decimals)).as_bytes());
            }
            ParameterValue::Float(value) => wire::float_text::write_f32(out, value),
            ParameterValue::Double(value) => wire::float_text::write_f64(out, value),
            ParameterValue::Decimal(bytes) | ParameterValue::Bytes(bytes) => out.extend_from_slice(bytes),
            ParameterValue::Date(fields) => wire::row::write_date(out, fields),
            ParameterValue::DateTime(fields) => wire::row::write_datetime(out, fields, digits),
            ParameterValue::Time(fields) => wire::row::write_time(out, fields, digits),
        }
        if column.flags.has(ColumnFlags::ZEROFILL) {
            let width = (column.length as usize).min(255);
            let missing = width.saturating_sub(out.len() - start);
            out.splice(start..start, std::iter::repeat_n(b'0', missing));
        }
        true
    }
}
