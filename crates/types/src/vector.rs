//! Rows as columns: what scans produce, expressions compute on and operators pass along.
//!
//! A [`Batch`] holds at most [`BATCH_ROWS_MAX`] rows. Its columns are kept and refilled between batches, so a
//! warm pipeline allocates nothing. Which of the four shapes a column has follows from its
//! [`crate::Physical`].
//!
//! Invariants:
//! 1. All columns of a batch have `row_count` entries, NULL rows included (their data is 0 or empty).
//! 2. In [`Nulls`], bits past `len` are 0, and `any` is true exactly if a bit is set.
//! 3. In [`BytesColumn`], `ends` ascends and its last entry is `data.len()`.

use crate::data_type::Physical;
use crate::decimal::Decimal;

/// Most rows of a batch; see [`batch_rows_max`].
pub const BATCH_ROWS_MAX: usize = 1024;

/// Most rows of a batch of this process: [`BATCH_ROWS_MAX`].
#[cfg(not(feature = "small-batches"))]
#[inline(always)]
#[must_use]
pub const fn batch_rows_max() -> usize {
    BATCH_ROWS_MAX
}

/// Most rows of a batch of this process: [`BATCH_ROWS_MAX`], or fewer in tests.
#[cfg(feature = "small-batches")]
#[must_use]
pub fn batch_rows_max() -> usize {
    BATCH_ROWS.load(std::sync::atomic::Ordering::Relaxed)
}

#[cfg(feature = "small-batches")]
static BATCH_ROWS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(BATCH_ROWS_MAX);

/// Makes batches smaller, before the first one is made: what holds for many rows must hold for each number of rows in a batch.
#[cfg(feature = "small-batches")]
pub fn set_batch_rows_max(rows: usize) {
    BATCH_ROWS.store(rows.clamp(1, BATCH_ROWS_MAX), std::sync::atomic::Ordering::Relaxed);
}

/// A producer ends a batch early when one of its byte columns has grown past this many bytes.
pub const BATCH_BYTES_TARGET: usize = 4 << 20;

/// Which rows of a column are NULL: one bit a row, 1 = NULL.
///
/// Words behind the last NULL may be missing and mean "not NULL": a column without NULLs takes no memory for them, which is one
/// allocation less for each column of each statement.
#[derive(Clone, Debug, Default)]
pub struct Nulls {
    words: Vec<u64>,
    len: usize,
    any: bool,
}

impl PartialEq for Nulls {
    fn eq(&self, other: &Nulls) -> bool {
        let (short, long) = if self.words.len() <= other.words.len() { (self, other) } else { (other, self) };
        let (common, rest) = long.words.split_at(short.words.len());
        self.len == other.len && *common == *short.words && rest.iter().all(|&word| word == 0)
    }
}

impl Eq for Nulls {}

impl Nulls {
    /// No rows.
    #[must_use]
    pub const fn new() -> Nulls {
        Nulls { words: Vec::new(), len: 0, any: false }
    }

    /// Rows covered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Covers no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Is any row NULL? Kernels take their fast path on `false`.
    #[inline]
    #[must_use]
    pub fn any(&self) -> bool {
        self.any
    }

    /// Is this row NULL?
    #[inline]
    #[must_use]
    pub fn is_null(&self, row: usize) -> bool {
        self.any && self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// How many rows are NULL.
    #[must_use]
    pub fn count(&self) -> usize {
        if self.any { self.words.iter().map(|word| word.count_ones() as usize).sum() } else { 0 }
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, null: bool) {
        self.len += 1;
        if null {
            self.mark(self.len - 1);
        }
    }

    fn mark(&mut self, row: usize) {
        if self.words.len() <= row / 64 {
            self.words.resize(row / 64 + 1, 0);
        }
        self.words[row / 64] |= 1 << (row % 64);
        self.any = true;
    }

    /// Appends rows that are all NULL, or all not.
    pub fn extend(&mut self, count: usize, null: bool) {
        if null {
            for _ in 0..count {
                self.push(true);
            }
        } else {
            self.len += count;
        }
    }

    /// Marks a row NULL.
    #[inline]
    pub fn set_null(&mut self, row: usize) {
        assert!(row < self.len);
        self.mark(row);
    }

    /// No rows; the memory stays.
    pub fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
        self.any = false;
    }

    /// Exactly `len` rows, none NULL.
    pub fn reset(&mut self, len: usize) {
        self.clear();
        self.len = len;
    }

    /// Keeps the first `len` rows.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.len = len;
        self.words.truncate(len.div_ceil(64));
        if !len.is_multiple_of(64)
            && let Some(last) = self.words.get_mut(len / 64)
        {
            *last &= (1 << (len % 64)) - 1;
        }
        self.any = self.words.iter().any(|&word| word != 0);
    }

    /// Marks every row NULL that is NULL in `other`.
    pub fn union_with(&mut self, other: &Nulls) {
        assert!(self.len == other.len);
        if other.any {
            if self.words.len() < other.words.len() {
                self.words.resize(other.words.len(), 0);
            }
            for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
                *mine |= theirs;
            }
            self.any = true;
        }
    }

    /// Becomes a copy of `other`, keeping its own memory.
    pub fn copy_from(&mut self, other: &Nulls) {
        self.words.clear();
        if other.any {
            self.words.extend_from_slice(&other.words);
        }
        self.len = other.len;
        self.any = other.any;
    }
}

/// Strings of a column: all bytes in one run, each string's end beside.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct BytesColumn {
    ends: Vec<u32>,
    data: Vec<u8>,
}

impl BytesColumn {
    /// No rows.
    #[must_use]
    pub const fn new() -> BytesColumn {
        BytesColumn { ends: Vec::new(), data: Vec::new() }
    }

    /// Rows held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// No rows?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all rows together.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        self.data.len()
    }

    /// Bytes of memory held, spare room included.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.data.capacity() + self.ends.capacity() * size_of::<u32>()
    }

    /// Bytes of the longest row.
    #[must_use]
    pub fn longest(&self) -> usize {
        let mut start = 0;
        self.ends.iter().map(|&end| (end - std::mem::replace(&mut start, end)) as usize).max().unwrap_or(0)
    }

    /// The bytes of one row.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.data[start..self.ends[row] as usize]
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
        self.finish();
    }

    /// Appends a row that `write` writes at the end of the buffer it is given.
    #[inline]
    pub fn push_with<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let start = self.data.len();
        let result = write(&mut self.data);
        assert!(self.data.len() >= start); // A writer only appends.
        self.finish();
        result
    }

    /// Appends a row of several pieces: bytes are appended here, then [`BytesColumn::finish`] ends the row.
    pub fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.data
    }

    /// Ends the row whose bytes were appended through [`BytesColumn::tail`].
    #[inline]
    pub fn finish(&mut self) {
        // Producers end a batch at BATCH_BYTES_TARGET and one value has at most 1 GiB.
        let end = u32::try_from(self.data.len()).expect("a column of a batch stays under 4 GiB");
        self.ends.push(end);
    }

    /// No rows; the memory stays, unless it is much more than usual.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.data.clear();
        if self.data.capacity() > 2 * BATCH_BYTES_TARGET {
            self.data = Vec::new();
        }
    }

    /// Keeps the first `len` rows.
    pub fn truncate(&mut self, len: usize) {
        if len < self.ends.len() {
            self.ends.truncate(len);
            self.data.truncate(self.ends.last().map_or(0, |&end| end as usize));
        }
    }

    /// All rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Appends all rows of `other`.
    pub fn extend_from(&mut self, other: &BytesColumn) {
        let base = u32::try_from(self.data.len()).expect("a column of a batch stays under 4 GiB");
        self.data.extend_from_slice(&other.data);
        self.ends.extend(other.ends.iter().map(|&end| base + end));
    }
}

/// The values of a column in one of the four physical shapes.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnData {
    /// Integers, packed temporals, BIT, ENUM, SET.
    Int(Vec<i64>),
    /// FLOAT, DOUBLE.
    Double(Vec<f64>),
    /// DECIMAL.
    Decimal(Vec<Decimal>),
    /// Strings, JSON documents.
    Bytes(BytesColumn),
}

/// One value of a column, borrowed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the shapes of ColumnData, and NULL")]
pub enum Cell<'a> {
    Null,
    Int(i64),
    Double(f64),
    Decimal(&'a Decimal),
    Bytes(&'a [u8]),
}

/// A column of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The values; those of NULL rows are 0 or empty.
    pub data: ColumnData,
    /// Which rows are NULL.
    pub nulls: Nulls,
}

impl Column {
    /// An empty column of this shape.
    #[must_use]
    pub fn new(physical: Physical) -> Column {
        let data = match physical {
            Physical::Int => ColumnData::Int(Vec::new()),
            Physical::Double => ColumnData::Double(Vec::new()),
            Physical::Decimal => ColumnData::Decimal(Vec::new()),
            Physical::Bytes => ColumnData::Bytes(BytesColumn::new()),
        };
        Column { data, nulls: Nulls::new() }
    }

    /// The shape.
    #[must_use]
    pub fn physical(&self) -> Physical {
        match self.data {
            ColumnData::Int(_) => Physical::Int,
            ColumnData::Double(_) => Physical::Double,
            ColumnData::Decimal(_) => Physical::Decimal,
            ColumnData::Bytes(_) => Physical::Bytes,
        }
    }

    /// Rows held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nulls.len()
    }

    /// No rows?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nulls.is_empty()
    }

    /// Bytes of all its strings; 0 for a column of numbers.
    #[inline]
    #[must_use]
    pub fn byte_count(&self) -> usize {
        if let ColumnData::Bytes(data) = &self.data { data.byte_count() } else { 0 }
    }

    /// Bytes of memory held, spare room included.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let data = match &self.data {
            ColumnData::Int(data) => data.capacity() * size_of::<i64>(),
            ColumnData::Double(data) => data.capacity() * size_of::<f64>(),
            ColumnData::Decimal(data) => data.capacity() * size_of::<Decimal>(),
            ColumnData::Bytes(data) => data.memory_bytes(),
        };
        data + self.nulls.words.capacity() * size_of::<u64>()
    }

    /// No rows; shape and memory stay.
    pub fn clear(&mut self) {
        match &mut self.data {
            ColumnData::Int(data) => data.clear(),
            ColumnData::Double(data) => data.clear(),
            ColumnData::Decimal(data) => data.clear(),
            ColumnData::Bytes(data) => data.clear(),
        }
        self.nulls.clear();
    }

    /// No rows, and this shape; the memory stays if the shape was the same.
    pub fn reset(&mut self, physical: Physical) {
        if self.physical() == physical {
            self.clear();
        } else {
            *self = Column::new(physical);
        }
    }

    /// Keeps the first `len` rows.
    pub fn truncate(&mut self, len: usize) {
        match &mut self.data {
            ColumnData::Int(data) => data.truncate(len),
            ColumnData::Double(data) => data.truncate(len),
            ColumnData::Decimal(data) => data.truncate(len),
            ColumnData::Bytes(data) => data.truncate(len),
        }
        self.nulls.truncate(len);
    }

    /// Appends a NULL.
    #[inline]
    pub fn push_null(&mut self) {
        match &mut self.data {
            ColumnData::Int(data) => data.push(0),
            ColumnData::Double(data) => data.push(0.0),
            ColumnData::Decimal(data) => data.push(Decimal::ZERO),
            ColumnData::Bytes(data) => data.push(b""),
        }
        self.nulls.push(true);
    }

    /// Appends an integer. Panics on another shape.
    #[inline]
    pub fn push_int(&mut self, value: i64) {
        self.ints_mut().push(value);
        self.nulls.push(false);
    }

    /// Appends a double. Panics on another shape.
    #[inline]
    pub fn push_double(&mut self, value: f64) {
        self.doubles_mut().push(value);
        self.nulls.push(false);
    }

    /// Appends a decimal. Panics on another shape.
    #[inline]
    pub fn push_decimal(&mut self, value: Decimal) {
        self.decimals_mut().push(value);
        self.nulls.push(false);
    }

    /// Appends a string or document. Panics on another shape.
    #[inline]
    pub fn push_bytes(&mut self, value: &[u8]) {
        self.bytes_mut().push(value);
        self.nulls.push(false);
    }

    /// Appends a string that `write` appends to the vector it is given.
    #[inline]
    pub fn push_bytes_with<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let result = self.bytes_mut().push_with(write);
        self.nulls.push(false);
        result
    }

    /// Appends a cell of the same shape, or NULL.
    #[inline]
    pub fn push_cell(&mut self, cell: Cell<'_>) {
        match cell {
            Cell::Null => self.push_null(),
            Cell::Int(value) => self.push_int(value),
            Cell::Double(value) => self.push_double(value),
            Cell::Decimal(value) => self.push_decimal(*value),
            Cell::Bytes(value) => self.push_bytes(value),
        }
    }

    /// One row.
    #[inline]
    #[must_use]
    pub fn cell(&self, row: usize) -> Cell<'_> {
        if self.nulls.is_null(row) {
            return Cell::Null;
        }
        match &self.data {
            ColumnData::Int(data) => Cell::Int(data[row]),
            ColumnData::Double(data) => Cell::Double(data[row]),
            ColumnData::Decimal(data) => Cell::Decimal(&data[row]),
            ColumnData::Bytes(data) => Cell::Bytes(data.get(row)),
        }
    }

    /// Is this row NULL?
    #[inline]
    #[must_use]
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.is_null(row)
    }

    /// The integers. Panics on another shape: a plan that mixes shapes is a broken invariant.
    #[inline]
    #[must_use]
    pub fn ints(&self) -> &[i64] {
        match &self.data {
            ColumnData::Int(data) => data,
            other => wrong_shape("Int", other),
        }
    }

    /// The integers, to append to or change; `nulls` is the caller's to keep in step.
    #[inline]
    pub(crate) fn ints_mut(&mut self) -> &mut Vec<i64> {
        match &mut self.data {
            ColumnData::Int(data) => data,
            other => wrong_shape("Int", other),
        }
    }

    /// The doubles. Panics on another shape.
    #[inline]
    #[must_use]
    pub fn doubles(&self) -> &[f64] {
        match &self.data {
            ColumnData::Double(data) => data,
            other => wrong_shape("Double", other),
        }
    }

    /// The doubles, to append to or change.
    #[inline]
    pub(crate) fn doubles_mut(&mut self) -> &mut Vec<f64> {
        match &mut self.data {
            ColumnData::Double(data) => data,
            other => wrong_shape("Double", other),
        }
    }

    /// The decimals. Panics on another shape.
    #[inline]
    #[must_use]
    pub fn decimals(&self) -> &[Decimal] {
        match &self.data {
            ColumnData::Decimal(data) => data,
            other => wrong_shape("Decimal", other),
        }
    }

    /// The decimals, to append to or change.
    #[inline]
    pub(crate) fn decimals_mut(&mut self) -> &mut Vec<Decimal> {
        match &mut self.data {
            ColumnData::Decimal(data) => data,
            other => wrong_shape("Decimal", other),
        }
    }

    /// The strings. Panics on another shape.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &BytesColumn {
        match &self.data {
            ColumnData::Bytes(data) => data,
            other => wrong_shape("Bytes", other),
        }
    }

    /// The strings, to append to.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut BytesColumn {
        match &mut self.data {
            ColumnData::Bytes(data) => data,
            other => wrong_shape("Bytes", other),
        }
    }

    /// Appends the rows of `source` that `rows` names, in that order. Both have the same shape.
    pub fn gather_from(&mut self, source: &Column, rows: &[u32]) {
        match (&mut self.data, &source.data) {
            (ColumnData::Int(to), ColumnData::Int(from)) => to.extend(rows.iter().map(|&r| from[r as usize])),
            (ColumnData::Double(to), ColumnData::Double(from)) => {
                to.extend(rows.iter().map(|&r| from[r as usize]));
            }
            (ColumnData::Decimal(to), ColumnData::Decimal(from)) => {
                to.extend(rows.iter().map(|&r| from[r as usize]));
            }
            (ColumnData::Bytes(to), ColumnData::Bytes(from)) => {
                for &r in rows {
                    to.push(from.get(r as usize));
                }
            }
            (to, _) => wrong_shape("the same as the source", to),
        }
        if source.nulls.any() {
            for &r in rows {
                self.nulls.push(source.nulls.is_null(r as usize));
            }
        } else {
            self.nulls.extend(rows.len(), false);
        }
    }

    /// Appends all rows of `source`, which has the same shape.
    pub fn extend_from(&mut self, source: &Column) {
        match (&mut self.data, &source.data) {
            (ColumnData::Int(to), ColumnData::Int(from)) => to.extend_from_slice(from),
            (ColumnData::Double(to), ColumnData::Double(from)) => to.extend_from_slice(from),
            (ColumnData::Decimal(to), ColumnData::Decimal(from)) => to.extend_from_slice(from),
            (ColumnData::Bytes(to), ColumnData::Bytes(from)) => to.extend_from(from),
            (to, _) => wrong_shape("the same as the source", to),
        }
        if source.nulls.any() {
            for row in 0..source.len() {
                self.nulls.push(source.nulls.is_null(row));
            }
        } else {
            self.nulls.extend(source.len(), false);
        }
    }

    /// Becomes a copy of `source`, keeping its own memory.
    pub fn copy_from(&mut self, source: &Column) {
        self.reset(source.physical());
        self.extend_from(source);
    }
}

#[cold]
#[inline(never)]
fn wrong_shape(wanted: &str, found: &ColumnData) -> ! {
    let found = match found {
        ColumnData::Int(_) => "Int",
        ColumnData::Double(_) => "Double",
        ColumnData::Decimal(_) => "Decimal",
        ColumnData::Bytes(_) => "Bytes",
    };
    panic!("a column of shape {found} was used as {wanted}");
}

/// Rows as columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// One entry a column, each `row_count` long.
    pub columns: Vec<Column>,
    /// Rows; a batch without columns can have rows too.
    pub row_count: usize,
}

impl Batch {
    /// Empty columns of these shapes.
    #[must_use]
    pub fn new(shapes: impl IntoIterator<Item = Physical>) -> Batch {
        Batch { columns: shapes.into_iter().map(Column::new).collect(), row_count: 0 }
    }

    /// No rows; columns and memory stay.
    pub fn clear(&mut self) {
        for column in &mut self.columns {
            column.clear();
        }
        self.row_count = 0;
    }

    /// Bytes of memory held by its columns, spare room included.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.columns.iter().map(Column::memory_bytes).sum()
    }

    /// Bytes of the longest strings of all columns together: no row has more.
    #[must_use]
    pub fn longest_row(&self) -> usize {
        self.columns
            .iter()
            .map(|column| if let ColumnData::Bytes(b) = &column.data { b.longest() } else { 8 })
            .sum()
    }

    /// No more rows should be added: [`batch_rows_max`] or [`BATCH_BYTES_TARGET`] is reached.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.row_count >= batch_rows_max()
            || self.columns.iter().any(
                |column| matches!(&column.data, ColumnData::Bytes(b) if b.byte_count() >= BATCH_BYTES_TARGET),
            )
    }

    /// Appends the named rows of `source`, which has the same shapes.
    pub fn gather_from(&mut self, source: &Batch, rows: &[u32]) {
        assert!(self.columns.len() == source.columns.len());
        for (to, from) in self.columns.iter_mut().zip(&source.columns) {
            to.gather_from(from, rows);
        }
        self.row_count += rows.len();
    }

    /// Appends all rows of `source`, which has the same shapes.
    pub fn extend_from(&mut self, source: &Batch) {
        assert!(self.columns.len() == source.columns.len());
        for (to, from) in self.columns.iter_mut().zip(&source.columns) {
            to.extend_from(from);
        }
        self.row_count += source.row_count;
    }

    /// Keeps the first `row_count` rows.
    pub fn truncate(&mut self, row_count: usize) {
        for column in &mut self.columns {
            column.truncate(row_count);
        }
        self.row_count = self.row_count.min(row_count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_keep_their_invariants_over_push_truncate_and_union() {
        let mut nulls = Nulls::new();
        for row in 0..200 {
            nulls.push(row % 67 == 3);
        }
        assert_eq!(
            (nulls.count(), nulls.is_null(3), nulls.is_null(4), nulls.is_null(70)),
            (3, true, false, true)
        );
        nulls.truncate(70);
        assert_eq!((nulls.len(), nulls.count(), nulls.any()), (70, 1, true));
        nulls.extend(10, true);
        assert_eq!(nulls.count(), 11);
        let mut other = Nulls::new();
        other.extend(80, false);
        other.union_with(&nulls);
        assert_eq!(other.count(), 11);
        nulls.truncate(3);
        assert!(!nulls.any());
    }

    #[test]
    fn nulls_are_what_a_list_of_flags_is() {
        let mut random = env::random::Rng::new(1);
        let mut below = |end: usize| random.index(end);
        for _ in 0..300 {
            let (mut nulls, mut flags) = (Nulls::new(), Vec::new());
            for _ in 0..40 {
                match below(8) {
                    0 => {
                        let (count, null) = (below(150), below(4) == 0);
                        nulls.extend(count, null);
                        flags.resize(flags.len() + count, null);
                    }
                    1 => {
                        let len = below(flags.len() + 20);
                        nulls.truncate(len);
                        flags.truncate(len);
                    }
                    2 if !flags.is_empty() => {
                        let row = below(flags.len());
                        nulls.set_null(row);
                        flags[row] = true;
                    }
                    3 => {
                        let (mut other, mut others) = (Nulls::new(), Vec::new());
                        for _ in 0..flags.len() {
                            others.push(below(100) == 0);
                            other.push(others[others.len() - 1]);
                        }
                        nulls.union_with(&other);
                        flags.iter_mut().zip(&others).for_each(|(flag, &other)| *flag |= other);
                    }
                    _ => {
                        let null = below(3) == 0;
                        nulls.push(null);
                        flags.push(null);
                    }
                }
                let mut again = Nulls::new();
                flags.iter().for_each(|&null| again.push(null));
                assert_eq!(nulls, again);
                assert!((0..flags.len()).all(|row| nulls.is_null(row) == flags[row]));
                assert_eq!(
                    (nulls.len(), nulls.count()),
                    (flags.len(), flags.iter().filter(|&&null| null).count())
                );
                assert_eq!(nulls.any(), nulls.count() > 0);
                let mut copy = Nulls::new();
                copy.push(true);
                copy.copy_from(&nulls);
                assert_eq!(copy, nulls);
            }
        }
    }

    #[test]
    fn gather_keeps_order_and_nulls() {
        let mut column = Column::new(Physical::Bytes);
        column.push_bytes(b"a");
        column.push_null();
        column.push_bytes(b"ccc");
        let mut out = Column::new(Physical::Bytes);
        out.gather_from(&column, &[2, 1, 0, 2]);
        let cells: Vec<_> = (0..4).map(|row| out.cell(row)).collect();
        assert_eq!(cells, [Cell::Bytes(b"ccc"), Cell::Null, Cell::Bytes(b"a"), Cell::Bytes(b"ccc")]);
        out.truncate(1);
        assert_eq!((out.len(), out.bytes().byte_count(), out.nulls.any()), (1, 3, false));
    }
}
