//! Index keys: bytes that compare as the columns do.
//!
//! A key is its parts one after the other. A part is, for a nullable column, a marker (0 = NULL, 1 = a value follows),
//! then the value: the fixed-width form of [`super::field`], or the collation's sort key of a string (which ends
//! itself, see `types::collation`), cut to the prefix length first. A NULL fixed-width part is filled with zeros, so
//! that the parts behind it keep their offset. A DESC part has all its bits inverted, marker included.
//!
//! Invariants:
//! 1. For two rows, the bytes of their keys compare as the parts compare in SQL, NULL first, DESC parts turned.
//! 2. The bytes of the first `n` parts of a key are a prefix of it, and no key of other `n` parts has that prefix.

use access::TimestampZone;
pub use access::next_prefix;
use catalog::{IndexPart, TableDefinition};
use types::Cell;
use types::charset::Charset;
use types::collation::CollationId;

use super::field::Field;
use super::row::KeyPlace;

/// One part of an index, boiled down to what encoding needs.
#[derive(Clone, Copy, Debug)]
pub struct KeyPart {
    /// Ordinal of the column in the table.
    pub column: usize,
    /// Its form.
    pub field: Field,
    /// Whether a null marker stands before the value.
    pub nullable: bool,
    /// All bits inverted.
    pub descending: bool,
    /// Characters (bytes of a binary string) that the key holds at most.
    pub prefix_length: Option<u32>,
}

/// How keys of one index are written.
#[derive(Clone, Debug)]
pub struct KeyCodec {
    parts: Vec<KeyPart>,
    /// Bytes of every key, if all parts are fixed-width.
    fixed_bytes: Option<usize>,
}

impl KeyCodec {
    /// Of an index over `parts` of `table`.
    #[must_use]
    pub fn new(table: &TableDefinition, parts: &[IndexPart]) -> Self {
        let parts: Vec<_> = parts
            .iter()
            .map(|part| {
                let column = &table.columns[part.column];
                KeyPart {
                    column: part.column,
                    field: Field::of(&column.data_type),
                    nullable: column.nullable,
                    descending: part.descending,
                    prefix_length: part.prefix_length,
                }
            })
            .collect();
        let fixed_bytes =
            parts.iter().map(|part| Some(part.field.width()? + usize::from(part.nullable))).sum();
        Self { parts, fixed_bytes }
    }

    /// The parts in order.
    #[must_use]
    pub fn parts(&self) -> &[KeyPart] {
        &self.parts
    }

    /// Bytes of every key, if all parts are fixed-width.
    #[must_use]
    pub fn fixed_bytes(&self) -> Option<usize> {
        self.fixed_bytes
    }

    /// Where column `ordinal` stands in every key, if at a constant place and whole.
    #[must_use]
    pub fn place_of(&self, ordinal: usize) -> Option<KeyPlace> {
        let mut offset = 0;
        for part in &self.parts {
            let width = part.field.width()?;
            offset += usize::from(part.nullable);
            if part.column == ordinal {
                return Some(KeyPlace {
                    offset,
                    inverted: part.descending,
                    null_marker: part.nullable,
                    in_locator: false,
                });
            }
            offset += width;
        }
        None
    }

    /// Appends part `number` holding `cell`.
    #[inline]
    pub fn write_part(&self, number: usize, cell: Cell<'_>, zone: &dyn TimestampZone, out: &mut Vec<u8>) {
        let part = &self.parts[number];
        let start = out.len();
        if part.nullable {
            out.push(u8::from(cell != Cell::Null));
        }
        match (part.field, cell) {
            (Field::Bytes { collation }, Cell::Bytes(bytes)) => {
                collation.sort_key(cut(bytes, collation, part.prefix_length), out);
            }
            (Field::Bytes { .. }, _) => {}
            // 0.0 and -0.0 are equal in SQL.
            (Field::Float | Field::Double, Cell::Double(0.0)) => {
                part.field.write_fixed(Cell::Double(0.0), zone, out);
            }
            (field, cell) => field.write_fixed(cell, zone, out),
        }
        if part.descending {
            for byte in &mut out[start..] {
                *byte = !*byte;
            }
        }
    }

    /// Appends bytes with which part `number` begins in the keys of all texts that begin with `beginning`. A prefix key holds no more of a
    /// text than its length, and so no more of its beginning.
    pub fn write_beginning(&self, number: usize, beginning: &[u8], out: &mut Vec<u8>) {
        let part = &self.parts[number];
        let start = out.len();
        if part.nullable {
            out.push(1);
        }
        if let Field::Bytes { collation } = part.field {
            collation.sort_key_prefix(cut(beginning, collation, part.prefix_length), out);
        }
        if part.descending {
            for byte in &mut out[start..] {
                *byte = !*byte;
            }
        }
    }

    /// Appends all parts; `cell(ordinal)` gives the table's columns. Answers whether any part is NULL.
    #[inline]
    pub fn write<'a>(
        &self,
        cell: impl Fn(usize) -> Cell<'a>,
        zone: &dyn TimestampZone,
        out: &mut Vec<u8>,
    ) -> bool {
        let mut any_null = false;
        for (number, part) in self.parts.iter().enumerate() {
            let value = cell(part.column);
            any_null |= value == Cell::Null;
            self.write_part(number, value, zone, out);
        }
        any_null
    }

    /// Appends the bytes with which the keys begin whose first parts equal `cells` (fewer than or as many as parts).
    pub fn write_prefix(&self, cells: &[Cell<'_>], zone: &dyn TimestampZone, out: &mut Vec<u8>) {
        for (number, &cell) in cells.iter().take(self.parts.len()).enumerate() {
            self.write_part(number, cell, zone, out);
        }
    }
}

/// The part of a string that a prefix key holds.
fn cut(bytes: &[u8], collation: CollationId, prefix_length: Option<u32>) -> &[u8] {
    let Some(length) = prefix_length else { return bytes };
    let length = length as usize;
    if bytes.len() <= length {
        return bytes;
    }
    let charset = collation.charset();
    let end = if charset == Charset::Binary { length } else { charset.prefix_bytes(bytes, length) };
    &bytes[..end.min(bytes.len())]
}
