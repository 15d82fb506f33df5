//! Parts of large columns: what a read can give of a value without reading the whole of it.
//!
//! A row knows of a large value whether it is NULL, its length, and its first bytes; further bytes cost the chunks that
//! hold them. A read asks by ordinal: the table's columns, and behind them the parts it has named. Which bytes decide a
//! comparison only its [`Judge`] knows, so it gets more of the value until it has seen enough.

use std::sync::Arc;

use catalog::TableDefinition;

use crate::codec::row::{LargeReference, REFERENCE_BYTES};

/// What can be said of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It takes more of the value.
    More,
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Is(bool),
}

/// Says something of a value of which it sees as much as it needs.
pub trait Judge: std::fmt::Debug + Send + Sync {
    /// What is so of a value of `length` bytes that begins with `start`, never `More` of a whole one.
    fn judge(&self, start: &[u8], length: u64) -> Verdict;
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
    /// All of the value, or where it lies: what [`Whole::read`] reads.
    Whole {
        /// A large value is not read, only referred to, by a reference that names its table by this number; `None`: read.
        apart: Option<u32>,
    },
    /// An integer, 1 or 0: what the judge says. A large value is read in pieces until it says something.
    Judged(Arc<dyn Judge>),
}

/// A value as a part of kind `Whole` gives it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Whole<'a> {
    /// The value.
    Here(&'a [u8]),
    /// It lies apart.
    Apart(LargePlace<'a>),
}

/// Where a value lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LargePlace<'a> {
    /// The number that the read gave the table.
    pub table: u32,
    /// Where it is there, for [`crate::Table::fetch_large_piece`].
    pub reference: LargeReference,
    /// Its first bytes.
    pub prefix: &'a [u8],
}

/// Bytes of a table's number.
const TABLE_BYTES: usize = 4;

impl<'a> Whole<'a> {
    pub(crate) const HERE: u8 = 0;
    pub(crate) const APART: u8 = 1;

    /// Reads the bytes of a part.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Self {
        match bytes.split_first() {
            Some((&Self::APART, rest)) => {
                let place = rest.split_first_chunk::<TABLE_BYTES>().and_then(|(table, rest)| {
                    let reference = LargeReference::read(rest)?;
                    let table = u32::from_le_bytes(*table);
                    Some(LargePlace { table, reference, prefix: &rest[REFERENCE_BYTES..] })
                });
                place.map_or(Self::Here(&[]), Self::Apart)
            }
            Some((_, rest)) => Self::Here(rest),
            None => Self::Here(&[]),
        }
    }
}

impl LargePlace<'_> {
    /// Appends the bytes of a part.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.push(Whole::APART);
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

/// What a read gives of each row, in the order of the batch's columns.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// Ordinals: below the number of the table's columns a column, from there on a part.
    pub(crate) ordinals: &'a [usize],
    pub(crate) parts: &'a [Part],
    /// The table's columns.
    whole: usize,
}

impl<'a> Columns<'a> {
    /// These columns and parts of a table.
    #[must_use]
    pub fn new(table: &TableDefinition, ordinals: &'a [usize], parts: &'a [Part]) -> Self {
        Self { ordinals, parts, whole: table.columns.len() }
    }

    /// These columns, each whole.
    #[must_use]
    pub fn whole(ordinals: &'a [usize]) -> Self {
        Self { ordinals, parts: &[], whole: usize::MAX }
    }

    /// The part at an ordinal, if it is one.
    #[inline]
    pub(crate) fn part(&self, ordinal: usize) -> Option<&'a Part> {
        self.parts.get(ordinal.checked_sub(self.whole)?)
    }

    /// The columns that they are, or are parts of.
    pub(crate) fn columns(self) -> impl Iterator<Item = usize> + 'a {
        self.ordinals.iter().map(move |&ordinal| self.part(ordinal).map_or(ordinal, |part| part.column))
    }
}

#[cfg(test)]
mod tests {
    use super::PartKind;

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
