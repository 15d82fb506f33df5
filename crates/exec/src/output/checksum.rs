//! Rows on their way into the number that CHECKSUM TABLE shows.
//!
//! The number of a row is the CRC-32 of MySQL's record of it; the number of a table is the sum of its rows' numbers, so that the order of the
//! rows has no part in it.
//!
//! | part of a record | bytes |
//! | --- | --- |
//! | flags | one bit for each column that may be NULL, 1: it is, those of VIRTUAL columns behind all others; before them one that is 1, unless a column has values of varying length or the table was made with ROW_FORMAT=DYNAMIC; rest of the last byte: 1 |
//! | VARCHAR, TEXT, BLOB | the value without its length |
//! | JSON | the document's text |
//! | CHAR, BINARY | padded to the most bytes that it may have |
//! | BIT | big-endian |
//! | integers, FLOAT, DOUBLE, ENUM, SET, DATE | little-endian |
//! | DECIMAL, TIME, DATETIME, TIMESTAMP | MySQL's packed forms, big-endian |
//!
//! NULL has the bytes of the column's literal default; without one those of zero or of an empty text, in JSON those of `null`.
//!
//! Invariants:
//! 1. Memory is bounded by one JSON document or one piece of a large value.
//! 2. TIMESTAMPs are those of UTC: the query runs in that time zone.

use catalog::{ColumnDefault, ColumnDefinition, StoredValue, TableDefinition};
use types::charset::Charset;
use types::temporal::zone::TimeZone;
use types::temporal::{DateTime, MICROS_PER_SECOND, Time};
use types::vector::{Batch, Cell};
use types::{DataType, Decimal, TypeKind};

use super::large_columns::{LargeColumns, ResultCell};
use super::sink::RowSink;
use crate::expr::SqlResult;

/// Bytes of a large value that are read at a time.
const PIECE_BYTES: u64 = 256 << 10;

/// A column of the record.
#[derive(Debug)]
struct RecordColumn {
    /// Which column of the rows it is.
    at: usize,
    data_type: DataType,
    is_nullable: bool,
    is_virtual: bool,
    /// The bytes of NULL.
    null: Box<[u8]>,
}

impl RecordColumn {
    fn new(at: usize, column: &ColumnDefinition) -> Self {
        let mut made = Self {
            at,
            data_type: column.data_type.clone(),
            is_nullable: column.nullable,
            is_virtual: column.is_virtual() || column.is_hidden(),
            null: Box::default(),
        };
        let mut null = Vec::new();
        match &column.default {
            ColumnDefault::Literal { value: StoredValue::Int(micros), .. }
                if column.data_type.kind == TypeKind::Timestamp =>
            {
                put_timestamp(*micros, column.data_type.scale, &mut null);
            }
            ColumnDefault::Literal { value: StoredValue::Int(number), .. } => {
                made.put(Cell::Int(*number), &mut null);
            }
            ColumnDefault::Literal { value: StoredValue::Double(number), .. } => {
                made.put(Cell::Double(*number), &mut null);
            }
            ColumnDefault::Literal { value: StoredValue::Decimal(number), .. } => {
                made.put(Cell::Decimal(number), &mut null);
            }
            ColumnDefault::Literal { value: StoredValue::Bytes(bytes), .. } => {
                made.put(Cell::Bytes(bytes), &mut null);
            }
            _ if made.data_type.kind == TypeKind::Json => null.extend_from_slice(b"null"),
            _ => made.put(made.zero(), &mut null),
        }
        made.null = null.into();
        made
    }

    /// Whether its values take as many bytes as they have.
    fn is_varying(&self) -> bool {
        use TypeKind as K;
        matches!(
            self.data_type.kind,
            K::VarChar | K::TinyText | K::Text | K::MediumText | K::LongText | K::Json
        )
    }

    /// Appends a value.
    fn put(&self, cell: Cell<'_>, out: &mut Vec<u8>) {
        match cell {
            Cell::Null => out.extend_from_slice(&self.null),
            Cell::Int(number) => self.put_int(number, out),
            Cell::Double(number) if self.data_type.kind == TypeKind::Float => {
                #[allow(
                    clippy::cast_possible_truncation,
                    reason = "values of FLOAT columns are rounded already"
                )]
                out.extend_from_slice(&(number as f32).to_le_bytes());
            }
            Cell::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
            Cell::Decimal(number) => put_decimal(number, self.data_type.length, self.data_type.scale, out),
            Cell::Bytes(document) if self.data_type.kind == TypeKind::Json => {
                types::json::print(document, out);
            }
            Cell::Bytes(bytes) => {
                let start = out.len();
                out.extend_from_slice(bytes);
                if self.data_type.kind == TypeKind::Char {
                    pad(&self.data_type, start, out);
                }
            }
        }
    }

    /// The value without a default.
    fn zero(&self) -> Cell<'static> {
        match self.data_type.physical() {
            types::Physical::Int => Cell::Int(0),
            types::Physical::Double => Cell::Double(0.0),
            types::Physical::Decimal => Cell::Decimal(&Decimal::ZERO),
            types::Physical::Bytes => Cell::Bytes(b""),
        }
    }

    fn put_int(&self, number: i64, out: &mut Vec<u8>) {
        use TypeKind as K;
        let mut little = |bytes: usize| out.extend_from_slice(&number.to_le_bytes()[..bytes]);
        match self.data_type.kind {
            K::TinyInt => little(1),
            K::SmallInt => little(2),
            K::MediumInt => little(3),
            K::Int => little(4),
            K::Bit => {
                let bytes = self.data_type.length.div_ceil(8) as usize;
                out.extend_from_slice(&number.to_be_bytes()[8 - bytes..]);
            }
            K::Enum => little(if self.member_count() < 256 { 1 } else { 2 }),
            K::Set => little(match self.member_count().div_ceil(8) {
                bytes @ 0..=4 => bytes.max(1),
                _ => 8,
            }),
            K::Year => out.extend_from_slice(&[u8::try_from(number - 1900).unwrap_or(0)]),
            K::Date => {
                let date = DateTime::unpack(number);
                let packed = i64::from(date.year) << 9 | i64::from(date.month) << 5 | i64::from(date.day);
                out.extend_from_slice(&packed.to_le_bytes()[..3]);
            }
            K::DateTime => {
                put_big(number >> 24 | 1 << 39, 5, out);
                put_fraction(number & 0xff_ffff, self.data_type.scale, out);
            }
            K::Timestamp => {
                // The zero value is no time of any zone.
                let micros = if number == 0 { 0 } else { TimeZone::UTC.to_utc(DateTime::unpack(number)) };
                put_timestamp(micros, self.data_type.scale, out);
            }
            K::Time => put_time(number, self.data_type.scale, out),
            _ => little(8),
        }
    }

    fn member_count(&self) -> usize {
        self.data_type.members.as_ref().map_or(0, |members| members.len())
    }
}

/// Appends the lowest `bytes` bytes, highest first.
fn put_big(number: i64, bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_be_bytes()[8 - bytes..]);
}

/// Microseconds of one unit of a fraction with this number of digits, and the bytes that it takes.
fn fraction_unit(scale: u8) -> (i64, usize) {
    match scale {
        0 => (MICROS_PER_SECOND, 0),
        1 | 2 => (10_000, 1),
        3 | 4 => (100, 2),
        _ => (1, 3),
    }
}

fn put_fraction(micros: i64, scale: u8, out: &mut Vec<u8>) {
    let (unit, bytes) = fraction_unit(scale);
    put_big(micros / unit, bytes, out);
}

fn put_timestamp(utc_micros: i64, scale: u8, out: &mut Vec<u8>) {
    put_big(utc_micros.div_euclid(MICROS_PER_SECOND), 4, out);
    put_fraction(utc_micros.rem_euclid(MICROS_PER_SECOND), scale, out);
}

/// A time is one number with its fraction, moved so that none is negative.
fn put_time(micros: i64, scale: u8, out: &mut Vec<u8>) {
    let time = Time { micros };
    let (hours, minutes, seconds, fraction) = time.fields();
    let (unit, bytes) = fraction_unit(scale);
    let fields = i64::from(hours) << 12 | i64::from(minutes) << 6 | i64::from(seconds);
    let packed = (fields << (8 * bytes)) + i64::from(fraction) / unit;
    let packed = if time.is_negative() { -packed } else { packed };
    let bytes = bytes + 3;
    put_big(packed + (1 << (8 * bytes - 1)), bytes, out);
}

/// Nine digits in four bytes, the rest of the whole part before them and that of the fraction behind them in as few as hold them; the
/// highest bit is the sign's, and all bits of a negative number are inverted.
fn put_decimal(number: &Decimal, precision: u32, scale: u8, out: &mut Vec<u8>) {
    /// Most digits of a column.
    const DIGITS_MAX: usize = 65;
    /// Bytes of fewer than nine digits.
    const REST_BYTES: [usize; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    let number = match number.fit(precision, scale) {
        Ok((number, _)) => number,
        Err(limit) => limit.0,
    };
    let text = number.to_string();
    let text = text.trim_start_matches('-').as_bytes();
    let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &text[text.len()..]),
    };
    let whole_digits = precision as usize - usize::from(scale);
    // As many digits as the column has: zeros before the number.
    let mut digits = [b'0'; DIGITS_MAX];
    let whole = &whole[whole.len().saturating_sub(whole_digits)..];
    digits[whole_digits - whole.len()..whole_digits].copy_from_slice(whole);
    digits[whole_digits..whole_digits + fraction.len()].copy_from_slice(fraction);
    let (whole, fraction) = digits[..whole_digits + usize::from(scale)].split_at(whole_digits);
    let start = out.len();
    let mut put = |digits: &[u8]| {
        let bytes = if digits.len() == 9 { 4 } else { REST_BYTES[digits.len()] };
        let number = digits.iter().fold(0i64, |number, digit| number * 10 + i64::from(digit - b'0'));
        put_big(number, bytes, out);
    };
    let (rest, nines) = whole.split_at(whole.len() % 9);
    put(rest);
    nines.chunks(9).for_each(&mut put);
    fraction.chunks(9).for_each(&mut put);
    let bytes = &mut out[start..];
    if number.is_negative() {
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
    }
    if let Some(first) = bytes.first_mut() {
        *first ^= 0x80;
    }
}

/// Fills a CHAR with blanks, and a BINARY with zeros.
fn pad(data_type: &DataType, start: usize, out: &mut Vec<u8>) {
    let charset = data_type.collation.charset();
    let blank = if charset == Charset::Binary { b"\0".as_slice().into() } else { charset.of_ascii(b" ") };
    let end = start + usize::try_from(data_type.bytes_max()).unwrap_or(0);
    while out.len() + blank.len() <= end {
        out.extend_from_slice(&blank);
    }
}

/// Sums up the rows of a whole table.
#[derive(Debug)]
pub struct ChecksumSink {
    columns: Vec<RecordColumn>,
    /// Columns of the rows that may be NULL, in the order of their flags.
    nullable: Vec<usize>,
    /// The flags of a row without NULLs.
    flags: Vec<u8>,
    /// The bit of the first column that may be NULL.
    first_flag: usize,
    crc: flate2::Crc,
    sum: u32,
    /// The parts of a row.
    record: Vec<u8>,
}

impl ChecksumSink {
    /// For rows with all columns of a table, in their order.
    #[must_use]
    pub fn new(definition: &TableDefinition) -> Self {
        // Functional key parts stand behind all other columns, in MySQL's record by the names of their keys.
        let mut ordinals: Vec<usize> = (0..definition.columns.len()).collect();
        ordinals.sort_by_key(|&at| {
            let column = &definition.columns[at];
            column.is_hidden().then(|| catalog::fold_name(&column.name))
        });
        let columns: Vec<RecordColumn> =
            ordinals.into_iter().map(|at| RecordColumn::new(at, &definition.columns[at])).collect();
        let is_dynamic = definition.options.row_format == Some(catalog::RowFormatOption::Dynamic);
        let first_flag = usize::from(!is_dynamic && !columns.iter().any(RecordColumn::is_varying));
        let bits = first_flag + columns.iter().filter(|column| column.is_nullable).count();
        let mut flags = vec![0; bits.div_ceil(8)];
        if let Some(last) = flags.last_mut() {
            // A byte that is used up is all ones, too.
            *last = 0xff << (bits % 8);
        }
        if let (Some(first), 1) = (flags.first_mut(), first_flag) {
            *first |= 1;
        }
        let mut nullable: Vec<usize> = (0..columns.len()).filter(|&at| columns[at].is_nullable).collect();
        nullable.sort_by_key(|&at| columns[at].is_virtual);
        let nullable = nullable.into_iter().map(|at| columns[at].at).collect();
        Self { columns, nullable, flags, first_flag, crc: flate2::Crc::new(), sum: 0, record: Vec::new() }
    }

    /// The number of the rows so far.
    #[must_use]
    pub fn sum(&self) -> u32 {
        self.sum
    }

    fn put_flags(&mut self, batch: &Batch, row: usize) {
        self.record.clear();
        self.record.extend_from_slice(&self.flags);
        for (flag, &column) in (self.first_flag..).zip(&self.nullable) {
            if matches!(batch.columns[column].cell(row), Cell::Null) {
                self.record[flag / 8] |= 1 << (flag % 8);
            }
        }
        self.crc.reset();
        self.crc.update(&self.record);
    }

    fn put_cell(&mut self, column: usize, cell: Cell<'_>) {
        self.record.clear();
        self.columns[column].put(cell, &mut self.record);
        self.crc.update(&self.record);
    }

    fn end_row(&mut self) {
        self.sum = self.sum.wrapping_add(self.crc.sum());
    }
}

impl RowSink for ChecksumSink {
    fn batch(&mut self, batch: &Batch) -> SqlResult<bool> {
        for row in 0..batch.row_count {
            self.put_flags(batch, row);
            for column in 0..self.columns.len() {
                self.put_cell(column, batch.columns[self.columns[column].at].cell(row));
            }
            self.end_row();
        }
        Ok(true)
    }

    fn batch_with_references(&mut self, batch: &Batch, large: &LargeColumns<'_>) -> SqlResult<bool> {
        for row in 0..batch.row_count {
            self.put_flags(batch, row);
            for column in 0..self.columns.len() {
                match large.cell(batch, self.columns[column].at, row)? {
                    ResultCell::Inline(cell) => self.put_cell(column, cell),
                    ResultCell::OutOfLine(value) if self.columns[column].data_type.kind == TypeKind::Json => {
                        let mut document = Vec::new();
                        value.read(&mut document)?;
                        self.put_cell(column, Cell::Bytes(&document));
                    }
                    ResultCell::OutOfLine(value) => {
                        for offset in (0..value.len()).step_by(PIECE_BYTES as usize) {
                            self.record.clear();
                            value.read_piece(offset, PIECE_BYTES, &mut self.record)?;
                            self.crc.update(&self.record);
                        }
                    }
                }
            }
            self.end_row();
        }
        Ok(true)
    }
}
