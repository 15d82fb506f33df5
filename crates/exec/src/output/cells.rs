//! One value at a time, from its physical form to the protocol's.

use service::{Reply, RowFormat};
use types::charset::Charset;
use types::data_type::SCALE_NOT_FIXED;
use types::temporal::{DateTime, Time};
use types::vector::{Batch, Cell};
use types::{DataType, Decimal, TypeKind};
use wire::row;
use wire::row::{DateTimeFields, TimeFields};

use super::large_columns::{LargeColumns, LargeValue, ResultCell};
use crate::expr::SqlResult;

/// Bytes of a large value that are read at a time to be sent.
const PIECE_BYTES: u64 = 256 << 10;

/// How the values of one column are written. `scratch` of its methods is memory to use again, whatever it holds.
#[derive(Clone, Debug)]
pub struct CellEncoder {
    data_type: DataType,
    /// Text changes from the first set to the second.
    convert: Option<(Charset, Charset)>,
}

#[allow(clippy::cast_sign_loss, reason = "an unsigned column keeps the bits of its u64 in an i64")]
const fn bits(value: i64) -> u64 {
    value as u64
}

#[allow(clippy::cast_possible_truncation, reason = "the column's type bounds the value")]
const fn low32(value: i64) -> i32 {
    value as i32
}

fn datetime_fields(packed: i64) -> DateTimeFields {
    let value = DateTime::unpack(packed);
    DateTimeFields {
        year: value.year,
        month: value.month,
        day: value.day,
        hour: value.hour,
        minute: value.minute,
        second: value.second,
        micros: value.micros,
    }
}

fn time_fields(micros: i64) -> TimeFields {
    let time = Time { micros };
    let (hours, minute, second, micros) = time.fields();
    TimeFields { negative: time.is_negative(), hours, minute, second, micros }
}

impl CellEncoder {
    /// The encoder of a column whose text is sent in `results` (`None`: as it is).
    #[must_use]
    pub fn new(data_type: &DataType, results: Option<Charset>) -> Self {
        let own =
            if data_type.kind == TypeKind::Json { Charset::Utf8mb4 } else { data_type.collation.charset() };
        let convert = results.filter(|&to| {
            let same = own == to || (own == Charset::Ascii && to.extends_ascii());
            let widened = own == Charset::Utf8mb3 && to == Charset::Utf8mb4;
            !(same || widened || own == Charset::Binary || to == Charset::Binary)
        });
        Self { data_type: data_type.clone(), convert: convert.map(|to| (own, to)) }
    }

    /// A value of a column whose physical form is an integer, as text.
    pub(crate) fn put_int_text(&self, value: i64, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        let data_type = &self.data_type;
        match data_type.kind {
            TypeKind::Date => row::put_text_date(out, datetime_fields(value)),
            TypeKind::DateTime | TypeKind::Timestamp => {
                row::put_text_datetime(out, datetime_fields(value), data_type.scale);
            }
            TypeKind::Time => row::put_text_time(out, time_fields(value), data_type.scale),
            TypeKind::Enum => {
                let text = data_type.members.as_ref().map_or(&b""[..], |members| members.enum_text(value));
                self.put_converted(text, scratch, out);
            }
            TypeKind::Set => self.put_set(value, scratch, out),
            TypeKind::Bit => row::put_text_bytes(out, self.bit_bytes(&bits(value).to_be_bytes())),
            TypeKind::Year if data_type.zerofill => {
                let text = [0, 1, 2, 3]
                    .map(|place| b'0' + (value / [1000, 100, 10, 1][place] % 10).unsigned_abs() as u8);
                row::put_text_bytes(out, &text);
            }
            _ if data_type.zerofill => {
                let digits = bits(value).to_string();
                let width = data_type.length as usize;
                scratch.clear();
                scratch.resize(width.saturating_sub(digits.len()), b'0');
                scratch.extend_from_slice(digits.as_bytes());
                row::put_text_bytes(out, scratch);
            }
            _ if data_type.unsigned => row::put_text_u64(out, bits(value)),
            _ => row::put_text_i64(out, value),
        }
    }

    /// The same in binary form.
    pub(crate) fn put_int_binary(&self, value: i64, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        match self.data_type.kind {
            TypeKind::TinyInt => out.push(bits(value) as u8),
            TypeKind::SmallInt | TypeKind::Year => out.extend_from_slice(&(bits(value) as u16).to_le_bytes()),
            TypeKind::MediumInt | TypeKind::Int => row::put_binary_i32(out, low32(value)),
            TypeKind::Date => row::put_binary_date(out, datetime_fields(value)),
            TypeKind::DateTime | TypeKind::Timestamp => row::put_binary_datetime(out, datetime_fields(value)),
            TypeKind::Time => row::put_binary_time(out, time_fields(value)),
            TypeKind::Enum | TypeKind::Set | TypeKind::Bit => self.put_int_text(value, scratch, out),
            _ => row::put_binary_i64(out, value),
        }
    }

    fn bit_bytes<'b>(&self, bytes: &'b [u8; 8]) -> &'b [u8] {
        let count = (self.data_type.length as usize).div_ceil(8).clamp(1, 8);
        &bytes[8 - count..]
    }

    fn put_set(&self, value: i64, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        let mut text = Vec::new();
        if let Some(members) = &self.data_type.members {
            members.set_text(bits(value), &self.data_type.collation.charset().of_ascii(b","), &mut text);
        }
        self.put_converted(&text, scratch, out);
    }

    /// A FLOAT or DOUBLE as text.
    pub(crate) fn put_double_text(&self, value: f64, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a FLOAT column's value was rounded to f32 before"
        )]
        match (self.data_type.kind, self.data_type.scale) {
            (TypeKind::Float, SCALE_NOT_FIXED) => row::put_text_f32(out, value as f32),
            (_, SCALE_NOT_FIXED) => row::put_text_f64(out, value),
            (_, scale) => {
                scratch.clear();
                types::number::write_fixed(value, scale, scratch);
                row::put_text_bytes(out, scratch);
            }
        }
    }

    /// A FLOAT or DOUBLE in binary form.
    pub(crate) fn put_double_binary(&self, value: f64, out: &mut Vec<u8>) {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a FLOAT column's value was rounded to f32 before"
        )]
        if self.data_type.kind == TypeKind::Float {
            row::put_binary_f32(out, value as f32);
        } else {
            row::put_binary_f64(out, value);
        }
    }

    /// A DECIMAL, the same in both forms.
    pub(crate) fn put_decimal(&self, value: &Decimal, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        scratch.clear();
        value.write_text(scratch);
        if self.data_type.zerofill {
            let width = self.data_type.length as usize + usize::from(self.data_type.scale > 0);
            let missing = width.saturating_sub(scratch.len());
            scratch.splice(0..0, std::iter::repeat_n(b'0', missing));
        }
        row::put_text_bytes(out, scratch);
    }

    /// A string or JSON document, the same in both forms.
    pub fn put_bytes(&self, value: &[u8], scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        if self.data_type.kind == TypeKind::Json {
            let mut text = std::mem::take(scratch);
            text.clear();
            types::json::print(value, &mut text);
            self.put_converted(&text, &mut Vec::new(), out);
            *scratch = text;
        } else if self.convert.is_none() {
            row::put_text_bytes(out, value);
        } else {
            self.put_converted(value, scratch, out);
        }
    }

    /// A large value, in pieces if it is sent as it is stored.
    fn put_large(
        &self,
        value: &LargeValue<'_>,
        scratch: &mut Vec<u8>,
        reply: &mut Reply<'_>,
    ) -> SqlResult<()> {
        if self.data_type.kind == TypeKind::Json || self.convert.is_some() {
            let mut whole = Vec::new();
            value.read(&mut whole)?;
            self.put_bytes(&whole, scratch, reply.row());
            return reply.continue_row();
        }
        wire::codec::put_lenenc_int(reply.row(), value.len());
        let mut offset = 0;
        while offset < value.len() {
            value.read_piece(offset, PIECE_BYTES, reply.row())?;
            reply.continue_row()?;
            offset += PIECE_BYTES;
        }
        Ok(())
    }

    fn put_converted(&self, text: &[u8], scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        let Some((from, to)) = self.convert else { return row::put_text_bytes(out, text) };
        scratch.clear();
        // What the client's set lacks becomes '?', as in MySQL.
        let _ = types::charset::convert_lossy(from, text, to, scratch);
        row::put_text_bytes(out, scratch);
    }

    /// A value as text, from wherever it lies.
    #[inline]
    pub fn put_cell_text(&self, cell: Cell<'_>, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        match cell {
            Cell::Null => row::put_text_null(out),
            Cell::Int(value) => self.put_int_text(value, scratch, out),
            Cell::Double(value) => self.put_double_text(value, scratch, out),
            Cell::Decimal(value) => self.put_decimal(value, scratch, out),
            Cell::Bytes(value) => self.put_bytes(value, scratch, out),
        }
    }

    /// A value in binary form; false for NULL, which only the row's bitmap shows.
    #[inline]
    pub fn put_cell_binary(&self, cell: Cell<'_>, scratch: &mut Vec<u8>, out: &mut Vec<u8>) -> bool {
        match cell {
            Cell::Null => return false,
            Cell::Int(value) => self.put_int_binary(value, scratch, out),
            Cell::Double(value) => self.put_double_binary(value, out),
            Cell::Decimal(value) => self.put_decimal(value, scratch, out),
            Cell::Bytes(value) => self.put_bytes(value, scratch, out),
        }
        true
    }
}

/// How a row is put together.
#[derive(Clone, Copy, Debug)]
enum RowForm {
    Text,
    Binary,
    /// Some values are texts that lie behind the result's columns.
    WithTexts,
}

/// How the rows of one result are written.
#[derive(Clone, Debug)]
pub struct RowEncoder {
    cells: Vec<CellEncoder>,
    format: RowFormat,
    /// How rows are put together.
    form: RowForm,
    /// Columns that are written as the text in another column of the rows.
    texts: Vec<(usize, usize)>,
    scratch: Vec<u8>,
}

impl RowEncoder {
    /// The encoder of rows with these columns.
    #[must_use]
    pub fn new<'a>(
        columns: impl Iterator<Item = &'a DataType>,
        results: Option<Charset>,
        format: RowFormat,
    ) -> Self {
        let cells = columns.map(|data_type| CellEncoder::new(data_type, results)).collect();
        let form = match format {
            RowFormat::Text => RowForm::Text,
            RowFormat::Binary => RowForm::Binary,
        };
        Self { cells, format, form, texts: Vec::new(), scratch: Vec::new() }
    }

    /// Columns of the result that are decimals are written as the texts that lie behind its columns: (column, place of its text).
    #[must_use]
    pub fn with_texts(self, texts: Vec<(usize, usize)>) -> Self {
        let form = if texts.is_empty() { self.form } else { RowForm::WithTexts };
        Self { form, texts, ..self }
    }

    /// Where the value lies that is written for this column.
    fn place(&self, column: usize) -> usize {
        self.texts.iter().find(|(of, _)| *of == column).map_or(column, |(_, text)| *text)
    }

    /// Appends row `row` of `batch`, whose first columns are the result's.
    pub fn put_row(&mut self, batch: &Batch, row: usize, out: &mut Vec<u8>) {
        match self.form {
            RowForm::WithTexts => self.put_row_with_texts(batch, row, out),
            RowForm::Text => {
                for (cell, column) in self.cells.iter().zip(&batch.columns) {
                    cell.put_cell_text(column.cell(row), &mut self.scratch, out);
                }
            }
            RowForm::Binary => {
                let bitmap = row::begin_binary(out, self.cells.len());
                for (index, (cell, column)) in self.cells.iter().zip(&batch.columns).enumerate() {
                    if !cell.put_cell_binary(column.cell(row), &mut self.scratch, out) {
                        row::set_binary_null(out, bitmap, index);
                    }
                }
            }
        }
    }

    fn put_row_with_texts(&mut self, batch: &Batch, row: usize, out: &mut Vec<u8>) {
        let is_binary = self.format == RowFormat::Binary;
        let bitmap = is_binary.then(|| row::begin_binary(out, self.cells.len()));
        for index in 0..self.cells.len() {
            let cell = batch.columns[self.place(index)].cell(row);
            match bitmap {
                None => self.cells[index].put_cell_text(cell, &mut self.scratch, out),
                Some(bitmap) => {
                    if !self.cells[index].put_cell_binary(cell, &mut self.scratch, out) {
                        row::set_binary_null(out, bitmap, index);
                    }
                }
            }
        }
    }

    /// Sends row `row` of `batch`, whose large values are stored out of line: these are sent a piece at a time.
    ///
    /// # Errors
    /// The store's; the client is gone.
    pub(crate) fn put_row_with_references(
        &mut self,
        batch: &Batch,
        row: usize,
        large: &LargeColumns<'_>,
        reply: &mut Reply<'_>,
    ) -> SqlResult<()> {
        let out = reply.begin_row();
        if self.format == RowFormat::Binary {
            // The bitmap may leave before the last value is there.
            let bitmap = row::begin_binary(out, self.cells.len());
            for (index, column) in batch.columns.iter().enumerate().take(self.cells.len()) {
                if column.nulls.is_null(row) {
                    row::set_binary_null(out, bitmap, index);
                }
            }
        }
        for (index, encoder) in self.cells.iter().enumerate() {
            match large.cell(batch, self.place(index), row)? {
                ResultCell::OutOfLine(value) => encoder.put_large(&value, &mut self.scratch, reply)?,
                ResultCell::Inline(cell) => match self.format {
                    RowFormat::Text => encoder.put_cell_text(cell, &mut self.scratch, reply.row()),
                    RowFormat::Binary => {
                        encoder.put_cell_binary(cell, &mut self.scratch, reply.row());
                    }
                },
            }
        }
        reply.end_row()
    }
}
