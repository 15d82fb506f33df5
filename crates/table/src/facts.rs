//! Facts about tables in the store: kept across restarts, and read when they are first asked for.
//!
//! A record names the columns and indexes it speaks of with all that decides how their values are written; what has another form now, or lies in
//! rows since another layout, is left out. So no change of a definition has to look after it. Facts of another tree of rows are not read: a table that was
//! emptied or built again has none. What cannot be read is as if it were not there: statistics are found again.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use access::TableFacts;
use catalog::{TableId, TableKind};
use store::{ScanRange, Store, StoreError, Transaction, Tree, TreeId};

use crate::WAIT_INTERNAL;
use crate::encoding::{decode_facts, encode_facts};
use crate::error::{WriteError, from_store};
use crate::table::Table;

/// The tree of facts: table number (8 bytes, big-endian) and chunk number (4 bytes, big-endian) to a part of a record.
pub(crate) const FACTS_TREE: TreeId = TreeId(3);
/// Bytes of a chunk.
const CHUNK_BYTES: usize = 3500;

impl Table {
    /// What is known about the rows, if anything is.
    pub(crate) fn gathered(&self) -> Option<Arc<TableFacts>> {
        self.known.get(|| {
            let facts = self.read_facts()?;
            self.counters().statistics.version.fetch_max(facts.version, Ordering::Relaxed);
            Some(facts)
        })
    }

    fn read_facts(&self) -> Option<TableFacts> {
        if self.definition.kind != TableKind::Base {
            return None;
        }
        let record = read(&self.store, self.definition.id).ok()??;
        decode_facts(&record, &self.definition)
    }

    /// Makes facts those that plans are made from, also after the next start.
    ///
    /// # Errors
    /// The store's.
    pub fn adopt(&self, facts: &Arc<TableFacts>) -> Result<(), WriteError> {
        if self.definition.kind == TableKind::Base {
            let mut transaction = self.store.begin();
            let record = encode_facts(facts, &self.definition);
            match write(&self.store, &mut transaction, self.definition.id, &record) {
                Ok(()) => transaction.commit()?,
                Err(error) => {
                    transaction.rollback()?;
                    return Err(error);
                }
            };
        }
        self.known.set(Arc::clone(facts));
        self.counters().statistics.version.store(facts.version, Ordering::Relaxed);
        Ok(())
    }
}

fn key(table: TableId, chunk: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&table.0.to_be_bytes());
    key[8..].copy_from_slice(&chunk.to_be_bytes());
    key
}

fn read(store: &Store, table: TableId) -> Result<Option<Vec<u8>>, StoreError> {
    let tree = store.tree(FACTS_TREE)?;
    let view = store.read_view();
    let mut record = Vec::new();
    let (first, end) = (key(table, 0), key(table, u32::MAX));
    store.scan(&tree, &ScanRange::between(&first, &end)).for_each(view.reader(), |_, chunk| {
        record.extend_from_slice(chunk);
        ControlFlow::Continue(())
    })?;
    Ok((!record.is_empty()).then_some(record))
}

fn write(
    store: &Store,
    transaction: &mut Transaction,
    table: TableId,
    record: &[u8],
) -> Result<(), WriteError> {
    let tree = store.tree(FACTS_TREE)?;
    let mut count = 0;
    for chunk in record.chunks(CHUNK_BYTES) {
        transaction.put(&tree, &key(table, count), chunk, WAIT_INTERNAL).map_err(from_store)?;
        count += 1;
    }
    delete_from(&tree, transaction, table, count)
}

/// Deletes what is known about a table.
pub(crate) fn delete(facts: &Tree, transaction: &mut Transaction, table: TableId) -> Result<(), WriteError> {
    delete_from(facts, transaction, table, 0)
}

/// Deletes the chunks of a record from `first` on.
fn delete_from(
    tree: &Tree,
    transaction: &mut Transaction,
    table: TableId,
    first: u32,
) -> Result<(), WriteError> {
    let mut chunk = first;
    while transaction.delete(tree, &key(table, chunk), WAIT_INTERNAL).map_err(from_store)? {
        chunk += 1;
    }
    Ok(())
}
