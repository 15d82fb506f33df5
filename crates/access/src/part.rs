//! Parts of large columns: what a read can give of a value without reading the whole of it.
//!
//! A row knows of a large value whether it is NULL, its length, and its first bytes; further bytes cost the chunks that
//! hold them. A read asks by ordinal: the table's columns, and behind them the parts it has named. Which bytes decide a
//! comparison only its [`Predicate`] knows, so it gets more of the value until it has seen enough.

use std::sync::Arc;

use types::Column;

use crate::large::{LargeReference, REFERENCE_BYTES};

/// What a predicate says of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PredicateResult {
    /// It takes more of the value.
    More,
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Is(bool),
}

/// A condition on a value, of which it sees as much as it needs.
pub trait Predicate: std::fmt::Debug + Send + Sync {
    /// Whether a value of `length` bytes that begins with `start` meets it; never `More` of a whole one.
    fn evaluate(&self, start: &[u8], length: u64) -> PredicateResult;
}

/// A part of a column.
#[derive(Clone, Debug)]
pub struct Part {
    /// Ordinal of the column, which is a string or a JSON document (of which only `Bytes` of none make sense).
    pub column: usize,
    /// Which part. It is NULL where the column is.
    pub kind: PartKind,
}

/// Which part of a column.
#[derive(Clone, Debug)]
pub enum PartKind {
    /// NULL, whatever the column is: an argument that says which bytes is NULL.
    Null,
    /// An integer: the column's bytes, times this.
    Length {
        /// 1, or 8 for bits.
        times: u8,
    },
    /// What SUBSTRING gives of the bytes.
    Bytes {
        /// The first byte, from 1; a negative one counts from the end; 0: nothing.
        position: i64,
        /// How many; fewer if the value ends before.
        count: u64,
    },
    /// All of the value, or where it lies: what [`MaybeLarge::read`] reads.
    Whole {
        /// A large value is not read, only referred to, by a reference that names its table by this number; `None`: read.
        out_of_line: Option<u32>,
    },
    /// An integer, 1 or 0: what the predicate says. A large value is read in pieces until it says something.
    Predicate(Arc<dyn Predicate>),
}

/// A value as a part of kind `Whole` gives it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MaybeLarge<'a> {
    /// The value.
    Inline(&'a [u8]),
    /// It is stored out of line.
    OutOfLine(OutOfLine<'a>),
}

/// Where a value is that is stored out of line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OutOfLine<'a> {
    /// The number that the read gave the table.
    pub table: u32,
    /// Where it is there.
    pub reference: LargeReference,
    /// Its first bytes.
    pub prefix: &'a [u8],
}

/// Bytes of a table's number.
const TABLE_BYTES: usize = 4;

impl<'a> MaybeLarge<'a> {
    /// The first byte of one that is inline; the value follows.
    pub const INLINE: u8 = 0;
    const OUT_OF_LINE: u8 = 1;

    /// Reads the bytes of a part.
    #[must_use]
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Self {
        match bytes.split_first() {
            Some((&Self::OUT_OF_LINE, rest)) => {
                let place = rest.split_first_chunk::<TABLE_BYTES>().and_then(|(table, rest)| {
                    let reference = LargeReference::read(rest)?;
                    let table = u32::from_le_bytes(*table);
                    Some(OutOfLine { table, reference, prefix: &rest[REFERENCE_BYTES..] })
                });
                place.map_or(Self::Inline(&[]), Self::OutOfLine)
            }
            Some((_, rest)) => Self::Inline(rest),
            None => Self::Inline(&[]),
        }
    }
}

impl OutOfLine<'_> {
    /// Appends the bytes of a part.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(MaybeLarge::OUT_OF_LINE);
        out.extend_from_slice(&self.table.to_le_bytes());
        self.reference.write(out);
        out.extend_from_slice(self.prefix);
    }
}

impl PartKind {
    /// The bytes wanted of a value with `length` bytes: offset and count.
    #[must_use]
    pub fn range(&self, length: u64) -> (u64, u64) {
        let &Self::Bytes { position, count } = self else { return (0, 0) };
        let start = match position {
            0 => None,
            1.. => Some(position.unsigned_abs() - 1),
            _ => length.checked_sub(position.unsigned_abs()),
        };
        match start.filter(|&start| start < length) {
            Some(start) => (start, count.min(length - start)),
            None => (0, 0),
        }
    }
}

impl Part {
    /// Appends the part of a value that is at hand whole; `None`: NULL. For tables without large values.
    pub fn push_of(&self, value: Option<&[u8]>, column: &mut Column) {
        match value {
            Some(value) => self.push_of_value(value, column),
            None => column.push_null(),
        }
    }

    fn push_of_value(&self, value: &[u8], column: &mut Column) {
        match &self.kind {
            PartKind::Null => column.push_null(),
            PartKind::Length { times } => {
                column.push_int((value.len() as u64).cast_signed() * i64::from(*times));
            }
            PartKind::Bytes { .. } => {
                let (offset, count) = self.kind.range(value.len() as u64);
                column.push_bytes(&value[offset as usize..(offset + count) as usize]);
            }
            PartKind::Whole { .. } => column.push_bytes_with(|out| {
                out.push(MaybeLarge::INLINE);
                out.extend_from_slice(value);
            }),
            PartKind::Predicate(predicate) => {
                predicate.evaluate(value, value.len() as u64).push_to(column);
            }
        }
    }
}

impl PredicateResult {
    /// Appends what SQL says: NULL, 0 or 1.
    pub fn push_to(self, column: &mut Column) {
        match self {
            Self::Is(holds) => column.push_int(i64::from(holds)),
            Self::Null | Self::More => column.push_null(),
        }
    }
}

/// What a read gives of each row, in the order of the batch's columns.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// Ordinals: below the number of the table's columns a column, from there on a part.
    pub ordinals: &'a [usize],
    /// The parts that they may name.
    pub parts: &'a [Part],
    /// The table's columns.
    width: usize,
}

impl<'a> Columns<'a> {
    /// These columns and parts of a table of `width` columns.
    #[must_use]
    #[inline]
    pub fn new(width: usize, ordinals: &'a [usize], parts: &'a [Part]) -> Self {
        Self { ordinals, parts, width }
    }

    /// These columns, each whole.
    #[must_use]
    pub fn whole(ordinals: &'a [usize]) -> Self {
        Self { ordinals, parts: &[], width: usize::MAX }
    }

    /// The part at an ordinal, if it is one.
    #[must_use]
    #[inline]
    pub fn part(&self, ordinal: usize) -> Option<&'a Part> {
        self.parts.get(ordinal.checked_sub(self.width)?)
    }

    /// The columns that they are, or are parts of.
    pub fn columns(self) -> impl Iterator<Item = usize> + 'a {
        self.ordinals.iter().map(move |&ordinal| self.part(ordinal).map_or(ordinal, |part| part.column))
    }
}

#[cfg(test)]
mod tests {
    use types::{Cell, Column, Physical};

    use super::{MaybeLarge, Part, PartKind};

    #[test]
    fn parts_of_a_value_at_hand_are_those_of_one_in_a_row() {
        let part = |kind, value| {
            let mut column = Column::new(match kind {
                PartKind::Length { .. } => Physical::Int,
                _ => Physical::Bytes,
            });
            Part { column: 0, kind }.push_of(value, &mut column);
            column
        };
        let text = Some(&b"abcdefgh"[..]);
        assert_eq!(part(PartKind::Length { times: 8 }, text).cell(0), Cell::Int(64));
        assert_eq!(part(PartKind::Bytes { position: -3, count: 2 }, text).cell(0), Cell::Bytes(b"fg"));
        assert_eq!(part(PartKind::Null, text).cell(0), Cell::Null);
        assert_eq!(part(PartKind::Length { times: 1 }, None).cell(0), Cell::Null);
        let whole = part(PartKind::Whole { out_of_line: Some(1) }, text);
        let Cell::Bytes(bytes) = whole.cell(0) else { panic!("bytes were expected") };
        assert_eq!(MaybeLarge::read(bytes), MaybeLarge::Inline(b"abcdefgh"));
    }

    #[test]
    fn bytes_are_those_of_substring() {
        let text = "abcdefgh";
        for (position, count, expected) in [
            (1, 3, "abc"),
            (1, 0, ""),
            (3, 100, "cdefgh"),
            (8, 1, "h"),
            (9, 1, ""),
            (0, 5, ""),
            (-1, 5, "h"),
            (-8, 2, "ab"),
            (-9, 2, ""),
            (i64::MIN, u64::MAX, ""),
            (i64::MAX, u64::MAX, ""),
            (2, u64::MAX, "bcdefgh"),
        ] {
            let (offset, bytes) = PartKind::Bytes { position, count }.range(text.len() as u64);
            let given = &text[offset as usize..(offset + bytes) as usize];
            assert_eq!(given, expected, "{position}, {count}");
        }
    }
}
