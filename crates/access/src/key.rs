//! Keys of indexes: ranges and points, as values or as the bytes in which a table keeps them.

use types::vector::BytesColumn;
use types::{Cell, Value};

use crate::zone::TimestampZone;

/// One end of a range of an index: values of its first parts, already converted to the columns' types
/// (NULL is `Value::Null` and sorts before everything).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum KeyBound {
    /// No end on this side.
    #[default]
    Unbounded,
    /// Keys that start with these values are in.
    Inclusive(Vec<Value>),
    /// Keys that start with these values are out.
    Exclusive(Vec<Value>),
}

/// A range of an index in the index's own order (a DESC part turns its direction).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyRange {
    /// Where it starts.
    pub lower: KeyBound,
    /// Where it ends.
    pub upper: KeyBound,
}

impl KeyRange {
    /// All keys that start with `values`.
    #[must_use]
    pub fn equal(values: Vec<Value>) -> Self {
        Self { lower: KeyBound::Inclusive(values.clone()), upper: KeyBound::Inclusive(values) }
    }
}

/// A half-open range of encoded keys.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct KeyBytesRange {
    /// First key inside; empty: from the start.
    pub lower: Vec<u8>,
    /// First key behind; `None`: to the end.
    pub upper: Option<Vec<u8>>,
}

impl KeyBytesRange {
    /// Everything.
    pub const ALL: Self = Self { lower: Vec::new(), upper: None };
    /// Nothing.
    pub const EMPTY: Self = Self { lower: Vec::new(), upper: Some(Vec::new()) };

    /// All keys that begin with `prefix`.
    #[must_use]
    pub fn prefix(prefix: Vec<u8>) -> Self {
        let mut upper = prefix.clone();
        let bounded = next_prefix(&mut upper);
        Self { lower: prefix, upper: bounded.then_some(upper) }
    }

    /// Whether no key can be inside.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.upper.as_ref().is_some_and(|upper| *upper <= self.lower)
    }

    /// Whether it means all keys that begin with `lower`.
    #[must_use]
    pub fn is_prefix(&self) -> bool {
        !self.lower.is_empty()
            && self.upper.as_ref().is_some_and(|upper| {
                // The upper end is the lower one up to a byte that is larger by one; what is behind it was 0xff.
                let Some((last, start)) = upper.split_last() else { return false };
                let (head, rest) = self.lower.split_at(upper.len().min(self.lower.len()));
                let grown = head
                    .split_last()
                    .is_some_and(|(byte, before)| before == start && byte.checked_add(1) == Some(*last));
                head.len() == upper.len() && grown && rest.iter().all(|&byte| byte == u8::MAX)
            })
    }
}

/// Turns the bytes of a prefix into the first bytes behind all keys with that prefix: the next byte string of the same
/// length. Answers false if there is none (all bytes are 0xFF): then the range has no end.
pub fn next_prefix(key: &mut Vec<u8>) -> bool {
    while let Some(last) = key.pop() {
        if last < u8::MAX {
            key.push(last + 1);
            return true;
        }
    }
    false
}

/// The ranges of an index that a scan reads, in the form that the index takes ([`KeyForm`]).
#[derive(Clone, Debug)]
pub enum KeyRanges {
    /// All rows.
    All,
    /// Ascending and not overlapping.
    Bytes(Vec<KeyBytesRange>),
    /// In any order; a row that lies in several of them is given once.
    Values(Vec<KeyRange>),
}

impl KeyRanges {
    /// How many ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::All => 1,
            Self::Bytes(ranges) => ranges.len(),
            Self::Values(ranges) => ranges.len(),
        }
    }

    /// Whether there is none, and so no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of them have no lower end.
    #[must_use]
    pub fn open_below(&self) -> usize {
        match self {
            Self::All => 1,
            Self::Bytes(ranges) => ranges.iter().filter(|range| range.lower.is_empty()).count(),
            Self::Values(ranges) => ranges.iter().filter(|range| range.lower == KeyBound::Unbounded).count(),
        }
    }

    /// How many of them have no upper end.
    #[must_use]
    pub fn open_above(&self) -> usize {
        match self {
            Self::All => 1,
            Self::Bytes(ranges) => ranges.iter().filter(|range| range.upper.is_none()).count(),
            Self::Values(ranges) => ranges.iter().filter(|range| range.upper == KeyBound::Unbounded).count(),
        }
    }
}

/// Whole keys of a unique index, in the form that the index takes ([`KeyForm`]).
#[derive(Clone, Debug)]
pub enum PointKeys {
    /// Encoded.
    Bytes(BytesColumn),
    /// A value per part of the index; none is NULL.
    Values(Vec<Vec<Value>>),
}

/// How an index takes its keys.
#[derive(Clone, Copy)]
pub enum KeyForm<'a> {
    /// As bytes that compare as the keys do.
    Bytes(&'a dyn KeyBytes),
    /// As values of the columns' types.
    Values,
}

/// How the keys of an index are written as bytes.
///
/// For two keys, the bytes compare as the parts compare in SQL, NULL first, DESC parts turned; the bytes of the first `n`
/// parts of a key are a prefix of it, and no key of other `n` parts has that prefix. A part that may be NULL starts with a byte: 0
/// for NULL, else 1. A string is its collation's sort key, cut to the prefix length first.
pub trait KeyBytes {
    /// Appends part `number` holding `cell`.
    fn write_part(&self, number: usize, cell: Cell<'_>, zone: &dyn TimestampZone, out: &mut Vec<u8>);
    /// Appends bytes with which part `number` begins in the keys of all texts that begin with `beginning`, and of some that do not.
    fn write_beginning(&self, number: usize, beginning: &[u8], out: &mut Vec<u8>);
}
