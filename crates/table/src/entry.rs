//! Index entries: what stands in a record of a secondary index beside its key.
//!
//! The key of an entry is the index's columns; the entry must also name its row, by the row's *locator* (the key of its
//! record in the tree of rows).
//!
//! | index | record's key | record's value |
//! | --- | --- | --- |
//! | not unique | columns, locator | body (`u16` length of the columns before it, unless all are fixed-width) |
//! | unique, no column may be NULL | columns | locator (`u16` length before it unless fixed-width), body |
//! | unique, a column may be NULL | columns; with a NULL also the locator | `u8` tag, `u16` length, as above |
//!
//! The body, in the format of `codec::row`, holds the covered columns that cannot be read from key or locator: strings
//! (a sort key does not give the string back) and what stands behind them. Columns of more than
//! [`COVERED_BYTES_MAX`] bytes together are not covered.

use catalog::TableDefinition;

use crate::codec::key::KeyCodec;
use crate::codec::row::{KeyPlace, Layout, RowView, says_the_same};

/// Most bytes of strings that an entry repeats so that a read needs no row.
pub const COVERED_BYTES_MAX: u64 = 2000;

/// How an entry names its row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Shape {
    /// The locator ends the key, behind this many bytes of columns.
    Tail(usize),
    /// The same; the value starts with the length.
    TailVariable,
    /// The value starts with a locator of this many bytes.
    Value(usize),
    /// The value starts with the locator's length.
    ValueVariable,
    /// The value starts with a tag: 0 as `ValueVariable`, 1 as `TailVariable`.
    Tagged,
}

/// How entries of one secondary index are written and read.
#[derive(Clone, Debug)]
pub(crate) struct EntryCodec {
    shape: Shape,
    layout: Layout,
}

impl EntryCodec {
    /// Of index `index` of `table`, whose rows have locators written by `clustered` (`None`: hidden row numbers).
    pub(crate) fn new(
        table: &TableDefinition,
        index: usize,
        keys: &KeyCodec,
        clustered: Option<&KeyCodec>,
    ) -> Self {
        let definition = &table.indexes[index];
        let locator_bytes = match clustered {
            None => Some(8),
            Some(codec) => codec.fixed_bytes(),
        };
        let nullable = keys.parts().iter().any(|part| part.nullable);
        let shape = match (definition.is_unique(), nullable) {
            (false, _) => keys.fixed_bytes().map_or(Shape::TailVariable, Shape::Tail),
            (true, true) => Shape::Tagged,
            (true, false) => locator_bytes.map_or(Shape::ValueVariable, Shape::Value),
        };
        let place = |ordinal: usize| -> Option<KeyPlace> {
            let in_key = keys.place_of(ordinal);
            in_key.or_else(|| {
                clustered
                    .and_then(|codec| codec.place_of(ordinal))
                    .map(|place| KeyPlace { in_locator: true, ..place })
            })
        };
        let whole = |ordinal: usize| {
            let in_index = definition.parts.iter().any(|p| p.column == ordinal && p.prefix_length.is_none());
            let in_locator = clustered.is_some_and(|codec| {
                codec.parts().iter().any(|part| part.column == ordinal && part.prefix_length.is_none())
            });
            in_index || in_locator
        };
        let string_bytes: u64 = (0..table.columns.len())
            .filter(|&ordinal| whole(ordinal) && place(ordinal).is_none())
            .map(|ordinal| table.columns[ordinal].data_type.bytes_max())
            .sum();
        let included = |ordinal: usize| {
            whole(ordinal) && (place(ordinal).is_some() || string_bytes <= COVERED_BYTES_MAX)
        };
        let layout = Layout::new(&table.columns, table.row_version, place, included);
        Self { shape, layout }
    }

    /// Whether column `ordinal` can be read from an entry.
    pub(crate) fn covers(&self, ordinal: usize) -> bool {
        self.layout.has(ordinal)
    }

    /// Where the covered columns stand.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Completes a key that holds the columns (`columns_bytes` of them) and appends what precedes the body to `value`.
    pub(crate) fn write_locator(
        &self,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
        locator: &[u8],
        any_null: bool,
    ) {
        let columns_bytes = key.len() as u16;
        match self.shape {
            Shape::Tail(_) => key.extend_from_slice(locator),
            Shape::TailVariable => {
                value.extend_from_slice(&columns_bytes.to_le_bytes());
                key.extend_from_slice(locator);
            }
            Shape::Value(_) => value.extend_from_slice(locator),
            Shape::ValueVariable => write_prefixed(value, locator),
            Shape::Tagged => {
                value.push(u8::from(any_null));
                if any_null {
                    value.extend_from_slice(&columns_bytes.to_le_bytes());
                    key.extend_from_slice(locator);
                } else {
                    write_prefixed(value, locator);
                }
            }
        }
    }

    /// How many bytes of an entry's key are its columns.
    pub(crate) fn columns_bytes(&self, key: &[u8], value: &[u8]) -> usize {
        match self.shape {
            Shape::Tail(bytes) => bytes,
            Shape::TailVariable => key.len() - self.split(key, value).0.len(),
            Shape::Tagged if value.first() == Some(&1) => key.len() - self.split(key, value).0.len(),
            Shape::Value(_) | Shape::ValueVariable | Shape::Tagged => key.len(),
        }
    }

    /// An entry's locator and body.
    pub(crate) fn split<'a>(&self, key: &'a [u8], value: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let length = |at: usize| match value.get(at..at + 2) {
            Some(bytes) => usize::from(u16::from_le_bytes([bytes[0], bytes[1]])),
            None => 0,
        };
        let tail = |from: usize| key.get(from..).unwrap_or(&[]);
        let behind = |from: usize| value.get(from..).unwrap_or(&[]);
        let prefixed = |at: usize| {
            let end = at + 2 + length(at);
            (value.get(at + 2..end).unwrap_or(&[]), behind(end))
        };
        match self.shape {
            Shape::Tail(columns_bytes) => (tail(columns_bytes), value),
            Shape::TailVariable => (tail(length(0)), behind(2)),
            Shape::Value(bytes) => (value.get(..bytes).unwrap_or(&[]), behind(bytes)),
            Shape::ValueVariable => prefixed(0),
            Shape::Tagged if value.first() == Some(&1) => (tail(length(1)), behind(3)),
            Shape::Tagged => prefixed(1),
        }
    }

    /// Whether two values of the entry with this key say the same: their bodies may name different versions of the table, as no instant
    /// change alters what an entry holds.
    pub(crate) fn is_same(&self, key: &[u8], stored: &[u8], expected: &[u8]) -> bool {
        let (_, body) = self.split(key, stored);
        let (before, body) = stored.split_at(stored.len() - body.len());
        expected.strip_prefix(before).is_some_and(|expected| says_the_same(body, expected))
    }

    /// An entry as a row of its covered columns.
    pub(crate) fn view<'a>(&'a self, key: &'a [u8], value: &'a [u8]) -> RowView<'a> {
        let (locator, body) = self.split(key, value);
        RowView::new(&self.layout, key, locator, body)
    }
}

fn write_prefixed(value: &mut Vec<u8>, locator: &[u8]) {
    value.extend_from_slice(&(locator.len() as u16).to_le_bytes());
    value.extend_from_slice(locator);
}
