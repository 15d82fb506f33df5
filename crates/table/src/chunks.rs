//! Records of tables that are longer than a record of the store: cut into chunks, in a tree of their own. A key is the table's number (8 bytes,
//! big-endian) and the chunk's (4 bytes, big-endian).

use std::ops::ControlFlow;

use catalog::TableId;
use store::{ScanRange, Store, StoreError, Transaction, Tree, TreeId};

use crate::WAIT_INTERNAL;
use crate::error::{WriteError, from_store};

/// The tree of statistics.
pub(crate) const STATISTICS_TREE: TreeId = TreeId(3);
/// The tree of histograms.
pub(crate) const HISTOGRAMS_TREE: TreeId = TreeId(4);
/// Bytes of a chunk.
const CHUNK_BYTES: usize = 3500;

fn key(table: TableId, chunk: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&table.0.to_be_bytes());
    key[8..].copy_from_slice(&chunk.to_be_bytes());
    key
}

/// The record of a table, if there is one.
pub(crate) fn read(store: &Store, tree: TreeId, table: TableId) -> Result<Option<Vec<u8>>, StoreError> {
    let tree = store.tree(tree)?;
    let view = store.read_view();
    let mut record = Vec::new();
    let (first, end) = (key(table, 0), key(table, u32::MAX));
    store.scan(&tree, &ScanRange::between(&first, &end)).for_each(view.reader(), |_, chunk| {
        record.extend_from_slice(chunk);
        ControlFlow::Continue(())
    })?;
    Ok((!record.is_empty()).then_some(record))
}

/// Replaces the record of a table; an empty one is none.
pub(crate) fn write(
    tree: &Tree,
    transaction: &mut Transaction,
    table: TableId,
    record: &[u8],
) -> Result<(), WriteError> {
    let mut count = 0;
    for chunk in record.chunks(CHUNK_BYTES) {
        transaction.put(tree, &key(table, count), chunk, WAIT_INTERNAL).map_err(from_store)?;
        count += 1;
    }
    while transaction.delete(tree, &key(table, count), WAIT_INTERNAL).map_err(from_store)? {
        count += 1;
    }
    Ok(())
}
