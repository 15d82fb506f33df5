//! Rows on their way into a file of the server: SELECT ... INTO OUTFILE and INTO DUMPFILE.
//!
//! Invariants:
//! 1. Memory is bounded by one value and one buffer ([`FileWriter`]), however many rows there are.
//! 2. What LOAD DATA reads with the same clauses, escape character and character set is what was written. (Not so: rows of fixed size,
//!    which it does not read; clauses of which MySQL warns with 1475; texts in `ucs2` and its kin, in which nothing is escaped.)

use std::sync::Arc;

use env::disk::File;
use service::error::{EE_WRITE, ER_TOO_MANY_ROWS, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD};
use service::{ConnectionControl, Diagnostic, SqlError};
use types::charset::{Charset, convert_lossy, convert_strict};
use types::convert::escaped;
use types::vector::{Batch, Cell};
use types::{DataType, TypeKind};
use wire::codec::Reader;

use super::{CellEncoder, LargeColumns, ResultCell, RowSink};
use crate::expr::SqlResult;

/// Characters that mean something behind an escape character: MySQL does not escape them as separators beside columns of text.
const ESCAPE_LETTERS: &[u8] = b"ntrb0ZN\0";
/// Characters of numbers: MySQL does not escape them as the end of fields beside columns of numbers.
const NUMBER_CHARACTERS: &[u8] = b".0123456789e+-\0";
/// Width in bytes from which a column is not padded, nor are the other columns of its query.
const FIXED_BYTES_MAX: usize = 1 << 24;
/// Rows that DUMPFILE takes: MySQL notices the third.
const DUMPED_ROWS_MAX: u64 = 2;
/// At most this many conditions of a statement can be shown (`max_error_count`).
const WARNINGS_MAX: usize = u16::MAX as usize;

/// `FIELDS`, `LINES` and `CHARACTER SET` of INTO OUTFILE.
#[derive(Clone, Debug)]
pub struct LineFormat {
    /// `FIELDS TERMINATED BY`.
    pub field_end: Vec<u8>,
    /// `ENCLOSED BY`: a character, or nothing.
    pub enclosed: Vec<u8>,
    /// `OPTIONALLY`: only texts are enclosed.
    pub is_optional: bool,
    /// `ESCAPED BY`.
    pub escaped: Option<u8>,
    /// `LINES STARTING BY`.
    pub line_start: Vec<u8>,
    /// `LINES TERMINATED BY`.
    pub line_end: Vec<u8>,
    /// `None`: texts are written as they are.
    pub charset: Option<Charset>,
}

impl LineFormat {
    /// Whether fields have neither an end nor quotes: each is as wide as its column, unless one is too wide for that.
    fn is_without_separators(&self) -> bool {
        self.field_end.is_empty() && self.enclosed.is_empty()
    }

    /// Whether a reader cannot tell the end of a field (1475).
    #[must_use]
    pub fn is_ambiguous<'t>(&self, mut columns: impl Iterator<Item = &'t DataType> + Clone) -> bool {
        let Some(first) = self.field_end.first() else { return false };
        (self.enclosed.is_empty() || self.is_optional)
            && (ESCAPE_LETTERS.contains(first) && columns.clone().any(is_text)
                || NUMBER_CHARACTERS.contains(first) && columns.any(|column| !is_text(column)))
    }

    /// Whether a separator is none of ASCII (1638).
    #[must_use]
    pub fn has_wide_separator(&self) -> bool {
        let texts = [&self.field_end, &self.enclosed, &self.line_start, &self.line_end];
        texts.iter().any(|text| !text.is_ascii()) || self.escaped.is_some_and(|byte| !byte.is_ascii())
    }
}

/// Whether values count as text in a file.
fn is_text(data_type: &DataType) -> bool {
    use TypeKind as K;
    !matches!(
        data_type.kind,
        K::TinyInt
            | K::SmallInt
            | K::MediumInt
            | K::Int
            | K::BigInt
            | K::Decimal
            | K::Float
            | K::Double
            | K::Year
    )
}

/// How rows are put into a file.
#[derive(Clone, Debug)]
pub enum FileShape {
    /// INTO OUTFILE.
    Lines(LineFormat),
    /// INTO DUMPFILE: values without anything between, of few rows.
    Dump,
}

/// Appends to a new file, through a buffer.
#[derive(Debug)]
pub struct FileWriter {
    file: Arc<dyn File>,
    /// Looked at with each buffer: a row may be long.
    control: Arc<ConnectionControl>,
    /// The path, for messages.
    shown: String,
    offset: u64,
    buffer: Vec<u8>,
    buffer_bytes: usize,
    /// Each buffer is made durable (`select_into_disk_sync`).
    is_synced: bool,
}

impl FileWriter {
    /// A writer of an empty file, through a buffer of `buffer_bytes`, for a connection.
    #[must_use]
    pub fn new(
        file: Arc<dyn File>,
        control: Arc<ConnectionControl>,
        shown: String,
        buffer_bytes: usize,
        is_synced: bool,
    ) -> Self {
        Self { file, control, shown, offset: 0, buffer: Vec::new(), buffer_bytes, is_synced }
    }

    fn put(&mut self, bytes: &[u8]) -> SqlResult<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < self.buffer_bytes {
            return Ok(());
        }
        self.control.check()?;
        self.flush()
    }

    fn put_spaces(&mut self, count: usize) -> SqlResult<()> {
        const SPACES: &[u8; 256] = &[b' '; 256];
        let mut left = count;
        while left > 0 {
            let now = left.min(SPACES.len());
            self.put(&SPACES[..now])?;
            left -= now;
        }
        Ok(())
    }

    fn flush(&mut self) -> SqlResult<()> {
        let written = env::blocking::around(|| {
            self.file.write_at(self.offset, &self.buffer)?;
            if self.is_synced { self.file.sync() } else { Ok(()) }
        });
        written.map_err(|error| self.failed(&error))?;
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    #[cold]
    fn failed(&self, error: &std::io::Error) -> Box<SqlError> {
        EE_WRITE.with(&[&self.shown, &error.raw_os_error().unwrap_or(5), &env::disk::error_text(error)])
    }
}

/// A column of the rows.
#[derive(Debug)]
struct FileColumn {
    /// Makes text of values, in their own character set.
    encoder: CellEncoder,
    /// The character set of the values' text.
    charset: Charset,
    /// That of the text in the file.
    written: Charset,
    name: String,
    is_enclosed: bool,
    is_escaped: bool,
    /// Where its value lies in a batch.
    place: usize,
    /// Bytes in a row of fixed size.
    width: usize,
}

/// Writes rows into a file.
#[derive(Debug)]
pub struct FileSink {
    writer: FileWriter,
    shape: FileShape,
    columns: Vec<FileColumn>,
    /// Each field is as wide as its column.
    is_fixed: bool,
    /// What is written before a separator inside of a field.
    before_separator: Option<u8>,
    row_count: u64,
    rows_max: u64,
    warnings: Vec<Diagnostic>,
    /// Memory to use again: a value as the protocol has it, in the file's set, escaped.
    cell: Vec<u8>,
    converted: Vec<u8>,
    escaped: Vec<u8>,
}

impl FileSink {
    /// Writes rows into the file, at most `rows_max`. Of each column: its type, the type in the description of the result, and its name.
    /// `texts`: as of [`super::RowEncoder::with_texts`].
    #[must_use]
    pub fn new<'c>(
        writer: FileWriter,
        shape: FileShape,
        columns: impl Iterator<Item = (&'c DataType, &'c DataType, &'c str)> + Clone,
        texts: &[(usize, usize)],
        rows_max: u64,
    ) -> Self {
        let has_text = columns.clone().any(|(data_type, ..)| is_text(data_type));
        let has_number = columns.clone().any(|(data_type, ..)| !is_text(data_type));
        let before_separator = match &shape {
            FileShape::Dump => None,
            FileShape::Lines(format) => {
                let is_letter = |first: &u8| ESCAPE_LETTERS.contains(first) && has_text;
                match (format.enclosed.first(), format.field_end.first()) {
                    // Doubled: behind the escape character it would be another one.
                    (Some(quote), _) if is_letter(quote) => Some(*quote),
                    (None, Some(end)) if is_letter(end) || NUMBER_CHARACTERS.contains(end) && has_number => {
                        None
                    }
                    _ => format.escaped,
                }
            }
        };
        let columns = columns.enumerate().map(|(ordinal, (data_type, described, name))| {
            let place =
                texts.iter().find(|(column, _)| *column == ordinal).map_or(ordinal, |(_, text)| *text);
            FileColumn::new(data_type, described, name, place, &shape)
        });
        let columns: Vec<FileColumn> = columns.collect();
        let is_fixed = matches!(&shape, FileShape::Lines(format) if format.is_without_separators())
            && columns.iter().all(|column| column.width < FIXED_BYTES_MAX);
        Self {
            columns,
            is_fixed,
            writer,
            shape,
            before_separator,
            row_count: 0,
            rows_max,
            warnings: Vec::new(),
            cell: Vec::new(),
            converted: Vec::new(),
            escaped: Vec::new(),
        }
    }

    /// Writes what is still in the buffer. Returns the number of rows.
    ///
    /// # Errors
    /// The file's (3).
    pub fn finish(&mut self) -> SqlResult<u64> {
        self.writer.flush()?;
        Ok(self.row_count)
    }

    /// What is to be warned of: values that the file's character set lacks.
    pub fn take_warnings(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.warnings)
    }

    /// Begins a row; false: no more are wanted.
    fn begin_row(&mut self) -> SqlResult<bool> {
        if self.row_count == self.rows_max {
            return Ok(false);
        }
        if let FileShape::Lines(format) = &self.shape {
            self.writer.put(&format.line_start)?;
        } else if self.row_count == DUMPED_ROWS_MAX {
            return Err(ER_TOO_MANY_ROWS.bare());
        }
        self.row_count += 1;
        Ok(true)
    }

    fn end_row(&mut self) -> SqlResult<()> {
        let FileShape::Lines(format) = &self.shape else { return Ok(()) };
        self.writer.put(if format.line_end.is_empty() { &format.field_end } else { &format.line_end })
    }

    fn put_value(&mut self, ordinal: usize, cell: Cell<'_>) -> SqlResult<()> {
        let FileShape::Lines(format) = &self.shape else {
            return match cell {
                Cell::Null => self.writer.put(&[0]),
                cell => {
                    let text = self.columns[ordinal].text(cell, &mut self.cell, &mut self.converted);
                    self.writer.put(text)
                }
            };
        };
        if ordinal > 0 {
            self.writer.put(&format.field_end)?;
        }
        let column = &self.columns[ordinal];
        if matches!(cell, Cell::Null) {
            return match format.escaped {
                _ if self.is_fixed => self.writer.put_spaces(column.width),
                Some(escape) => self.writer.put(&[escape, b'N']),
                None => self.writer.put(b"NULL"),
            };
        }
        let text = column.text(cell, &mut self.cell, &mut self.escaped);
        let mut text = if column.written == column.charset {
            text
        } else {
            self.converted.clear();
            if let Some(bad) = convert(column, text, &mut self.converted)
                && self.warnings.len() < WARNINGS_MAX
            {
                let shown = escaped(&text[bad..]);
                self.warnings.push(ER_TRUNCATED_WRONG_VALUE_FOR_FIELD.warning(&[
                    &"string",
                    &String::from_utf8_lossy(&shown),
                    &column.name,
                    &self.row_count,
                ]));
            }
            &self.converted
        };
        if self.is_fixed {
            text = &text[..text.len().min(column.width)];
        }
        let text_bytes = text.len();
        if let Some(escape) = format.escaped.filter(|_| column.is_escaped) {
            self.escaped.clear();
            let marks =
                Marks { escape, separator: separator(format), before_separator: self.before_separator };
            marks.escape(text, column.written, format.line_end.first(), &mut self.escaped);
            text = &self.escaped;
        }
        if column.is_enclosed {
            self.writer.put(&format.enclosed)?;
        }
        self.writer.put(text)?;
        if column.is_enclosed {
            self.writer.put(&format.enclosed)?;
        }
        if self.is_fixed { self.writer.put_spaces(column.width - text_bytes) } else { Ok(()) }
    }
}

impl RowSink for FileSink {
    fn batch(&mut self, batch: &Batch) -> SqlResult<bool> {
        for row in 0..batch.row_count {
            if !self.begin_row()? {
                return Ok(false);
            }
            for ordinal in 0..self.columns.len() {
                let place = self.columns[ordinal].place;
                self.put_value(ordinal, batch.columns[place].cell(row))?;
            }
            self.end_row()?;
        }
        Ok(true)
    }

    fn batch_with_references(&mut self, batch: &Batch, large: &LargeColumns<'_>) -> SqlResult<bool> {
        let mut whole = Vec::new();
        for row in 0..batch.row_count {
            if !self.begin_row()? {
                return Ok(false);
            }
            for ordinal in 0..self.columns.len() {
                match large.cell(batch, self.columns[ordinal].place, row)? {
                    ResultCell::Inline(cell) => self.put_value(ordinal, cell)?,
                    ResultCell::OutOfLine(value) => {
                        whole.clear();
                        value.read(&mut whole)?;
                        self.put_value(ordinal, Cell::Bytes(&whole))?;
                    }
                }
            }
            self.end_row()?;
        }
        Ok(true)
    }
}

impl FileColumn {
    fn new(data_type: &DataType, described: &DataType, name: &str, place: usize, shape: &FileShape) -> Self {
        let is_text = is_text(data_type);
        let charset = match data_type.kind {
            TypeKind::Bit => Charset::Binary,
            TypeKind::Json => Charset::Utf8mb4,
            _ if data_type.is_string() || matches!(data_type.kind, TypeKind::Enum | TypeKind::Set) => {
                data_type.collation.charset()
            }
            // Digits.
            _ => Charset::Ascii,
        };
        let mut column = Self {
            encoder: CellEncoder::new(data_type, None),
            charset,
            written: charset,
            name: name.to_owned(),
            is_enclosed: false,
            is_escaped: false,
            place,
            width: width_of(described),
        };
        if let FileShape::Lines(format) = shape {
            let is_always_enclosed = !format.enclosed.is_empty() && !format.is_optional;
            // Every set but the wide ones has the digits where ASCII has them.
            column.written = match format.charset {
                Some(Charset::Binary) | None => charset,
                Some(to) if charset == Charset::Ascii && to.extends_ascii() && !is_string(data_type) => {
                    charset
                }
                Some(to) => to,
            };
            column.is_enclosed = !format.enclosed.is_empty() && (is_text || !format.is_optional);
            column.is_escaped = column.written.min_bytes_per_char() == 1
                && (is_text
                    || is_always_enclosed
                        && format.enclosed.first().is_some_and(|first| NUMBER_CHARACTERS.contains(first)));
        }
        column
    }

    /// The text of a value, in the column's character set.
    fn text<'t>(&self, cell: Cell<'t>, packet: &'t mut Vec<u8>, scratch: &mut Vec<u8>) -> &'t [u8] {
        packet.clear();
        self.encoder.put_cell_text(cell, scratch, packet);
        Reader::new(packet).lenenc_bytes().unwrap_or_default()
    }
}

/// Bytes of a column in a row of fixed size.
fn width_of(data_type: &DataType) -> usize {
    // ZEROFILL gives a column another width for clients only.
    let width = match data_type.kind {
        TypeKind::TinyInt if data_type.zerofill => 3,
        TypeKind::SmallInt if data_type.zerofill => 5,
        TypeKind::MediumInt if data_type.zerofill => 8,
        TypeKind::Int if data_type.zerofill => 10,
        TypeKind::BigInt if data_type.zerofill => 20,
        _ => 0,
    };
    let char_bytes = u32::try_from(data_type.collation.charset().max_bytes_per_char()).unwrap_or(4);
    width.max(data_type.protocol_length(char_bytes) as usize)
}

fn is_string(data_type: &DataType) -> bool {
    data_type.is_string() || matches!(data_type.kind, TypeKind::Enum | TypeKind::Set | TypeKind::Json)
}

/// Appends a text in the file's character set. Returns where it begins to be another: what is no character of the set ends bytes there
/// and is `?` in a text.
fn convert(column: &FileColumn, text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let bad = convert_strict(column.charset, text, column.written, out).err()?.position;
    if column.charset == Charset::Binary {
        out.extend_from_slice(&text[..bad]);
    } else {
        let _ = convert_lossy(column.charset, text, column.written, out);
    }
    Some(bad)
}

/// What stands around a field, as far as it is looked for inside.
fn separator(format: &LineFormat) -> Option<u8> {
    format.enclosed.first().or(format.field_end.first()).copied()
}

/// The characters that are escaped.
#[derive(Clone, Copy)]
struct Marks {
    escape: u8,
    separator: Option<u8>,
    /// What is written before that one.
    before_separator: Option<u8>,
}

impl Marks {
    fn escape(self, text: &[u8], charset: Charset, line_end: Option<&u8>, out: &mut Vec<u8>) {
        let is_wide = charset.max_bytes_per_char() > 1;
        let mut rest = text;
        while let Some(&byte) = rest.first() {
            if is_wide && !byte.is_ascii() {
                let count = charset.decode(rest).byte_count();
                if count > 1 {
                    out.extend_from_slice(&rest[..count]);
                    rest = &rest[count..];
                    continue;
                }
            }
            let before = if Some(byte) == self.separator {
                self.before_separator
            } else if byte == self.escape || Some(&byte) == line_end || byte == 0 {
                Some(self.escape)
            } else {
                None
            };
            out.extend(before);
            out.push(if byte == 0 && before == Some(self.escape) { b'0' } else { byte });
            rest = &rest[1..];
        }
    }
}
