//! The indexes of an open table: their trees, their keys, and the records of their entries.

use access::{KeyBytesRange, TimestampZone};
use catalog::{TableDefinition, TreeNumber};
use store::{Direction, ScanRange, Store, StoreError, Tree, TreeId};
use types::Cell;

use crate::codec::key::KeyCodec;
use crate::codec::row::BytesRef;
use crate::entry::EntryCodec;

/// An index of an open table.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) tree: Tree,
    pub(crate) keys: KeyCodec,
    /// `None` for the clustered index, whose records are the rows.
    pub(crate) entries: Option<EntryCodec>,
}

/// These indexes of a definition.
pub(crate) fn open_indexes(
    store: &Store,
    definition: &TableDefinition,
    ordinals: impl Iterator<Item = usize>,
) -> Result<Vec<Index>, StoreError> {
    let clustered =
        definition.clustered.map(|index| KeyCodec::new(definition, &definition.indexes[index].parts));
    ordinals
        .map(|ordinal| {
            let index = &definition.indexes[ordinal];
            let keys = KeyCodec::new(definition, &index.parts);
            let entries = (definition.clustered != Some(ordinal))
                .then(|| EntryCodec::new(definition, ordinal, &keys, clustered.as_ref()));
            Ok(Index { tree: store.tree(tree_id(index.tree))?, keys, entries })
        })
        .collect()
}

/// The records between the ends of a range of keys.
pub(crate) fn scan_range(range: &KeyBytesRange, reverse: bool) -> ScanRange<'_> {
    use std::ops::Bound;
    ScanRange {
        lower: if range.lower.is_empty() { Bound::Unbounded } else { Bound::Included(&range.lower) },
        upper: range.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
        direction: if reverse { Direction::Backward } else { Direction::Forward },
    }
}

pub(crate) fn tree_id(tree: TreeNumber) -> TreeId {
    TreeId(tree.0)
}

/// Space that is reserved at once for the key of an entry, beside the locator.
const ENTRY_KEY_RESERVE_BYTES: usize = 56;

/// An index entry's record.
#[derive(Debug, Default)]
pub(crate) struct EntryBytes {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

impl EntryBytes {
    /// The record's value.
    pub(crate) fn value(&self) -> &[u8] {
        &self.value
    }

    /// Becomes the entry of `index` for the row with these cells.
    pub(crate) fn write<'a>(
        &mut self,
        index: &Index,
        cell: impl Fn(usize) -> Cell<'a>,
        locator: &[u8],
        zone: &dyn TimestampZone,
    ) {
        self.key.clear();
        self.value.clear();
        let Some(entries) = &index.entries else { return };
        self.key.reserve(locator.len() + ENTRY_KEY_RESERVE_BYTES);
        let any_null = index.keys.write(&cell, zone, &mut self.key);
        entries.write_locator(&mut self.key, &mut self.value, locator, any_null);
        let layout = entries.layout();
        if !layout.is_empty() {
            layout.write(
                &cell,
                |number| match cell(layout.variable_columns()[number] as usize) {
                    Cell::Bytes(bytes) => BytesRef::Inline(bytes),
                    _ => BytesRef::Inline(&[]),
                },
                zone,
                &mut self.value,
            );
        }
    }
}
