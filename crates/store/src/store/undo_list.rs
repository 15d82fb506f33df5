//! The undo of running transactions that a checkpoint saves.
//!
//! It lies in chains of blocks, the newest first. A chain has some transactions' entries, each transaction's newest
//! first:
//!
//! `(txn u64 | (entry bytes u32, its pointer u64, entry)... | 0 u32)...`
//!
//! A head, written again by each checkpoint, leads to them:
//!
//! ```text
//! magic | tree count u32 | (tree u64, records i64)... | undone u64 |
//! chain count u32 | (first block u32, offset u64, bytes u64, transaction count u32 | (txn u64)...)...
//! ```
//!
//! Only those transactions of a chain are rolled back that the head names, from the newest chain to the oldest: two
//! that ran at the same time changed no common record, so only the order within each of them counts.
//!
//! What a checkpoint wrote of a transaction is left where it is by the next one, which adds the entries since: else a
//! transaction that changes a hundred times what the pool holds would have its undo written a hundred times. A
//! transaction's entries never change and their pointers mean nothing else while it runs, so it is enough to meet the
//! pointer of the newest entry of an earlier chain on the way down. What was rolled back to a savepoint is not met. A
//! small chain is written again rather than kept, and so is the rest of a chain that is mostly of ended transactions.
//!
//! What was rolled back before the cut is no longer among a transaction's entries; what is rolled back from then on is
//! in the pages as they were at the cut. Recovery may need a checkpoint while it rolls back, if the pool is smaller
//! than what it rolls back: the chains then stay as they are, and `undone` entries of them are not to be rolled back
//! again.

use super::checkpoint::{Chain, ChainWriter, Cut, State};
use crate::error::StoreError;
use crate::ids::TxnId;
use crate::mvcc::undo;
use crate::pager::image::Kind;
use crate::planted::{self, Plant};
use crate::store::Inner;
use hashbrown::HashMap;
use std::sync::Arc;

/// How the head begins.
pub(crate) const UNDO_MAGIC: u64 = u64::from_le_bytes(*b"INVUNDO3");
/// Behind it: how many changes of the commit after the checkpoint's position the pages contain.
pub(crate) const UNDO_MAGIC_4: u64 = u64::from_le_bytes(*b"INVUNDO4");
/// In place of a count of transactions: all that the chain has.
pub(crate) const ALL_TRANSACTIONS: u32 = u32::MAX;

/// What the last durable checkpoint saved.
#[derive(Clone, Debug, Default)]
pub(crate) struct UndoList {
    /// What the head says of the chains.
    pub(crate) encoded: Vec<u8>,
    /// Newest first.
    pub(crate) chains: Vec<UndoChain>,
}

#[derive(Clone, Debug)]
pub(crate) struct UndoChain {
    pub(crate) head: u32,
    /// Bytes of the chain that are something else.
    pub(crate) offset: u64,
    /// Bytes of the chain, these included.
    pub(crate) bytes: u64,
    pub(crate) blocks: Arc<Vec<u32>>,
    /// Which of its transactions count. None are known of a chain that an earlier opening wrote.
    txns: Vec<Saved>,
}

/// Entries of one transaction in one chain.
#[derive(Clone, Copy, Debug)]
struct Saved {
    txn: TxnId,
    /// The newest of them.
    newest: u64,
    /// The one behind the oldest of them: the newest of another chain, or none.
    next: u64,
    bytes: u64,
}

impl UndoChain {
    pub(crate) fn found(head: u32, offset: u64, bytes: u64, blocks: Arc<Vec<u32>>) -> UndoChain {
        UndoChain { head, offset, bytes, blocks, txns: Vec::new() }
    }

    /// What the head says of it before its transactions.
    pub(crate) fn encode(&self, txn_count: u32, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.head.to_le_bytes());
        bytes.extend_from_slice(&self.offset.to_le_bytes());
        bytes.extend_from_slice(&self.bytes.to_le_bytes());
        bytes.extend_from_slice(&txn_count.to_le_bytes());
    }
}

impl UndoList {
    pub(crate) fn block_count(&self) -> usize {
        self.chains.iter().map(|chain| chain.blocks.len()).sum()
    }

    fn new(chains: Vec<UndoChain>) -> UndoList {
        let mut encoded = (chains.len() as u32).to_le_bytes().to_vec();
        for chain in &chains {
            chain.encode(chain.txns.len() as u32, &mut encoded);
            chain.txns.iter().for_each(|saved| encoded.extend_from_slice(&saved.txn.0.to_le_bytes()));
        }
        UndoList { encoded, chains }
    }

    /// What may stay where it is, by transaction and newest entry, with the number of its chain. Where something may stay, so may all
    /// older entries of its transaction.
    fn reusable(&self, running: &[(TxnId, u64)], bytes_min: u64) -> HashMap<(TxnId, u64), (usize, Saved)> {
        let running: HashMap<TxnId, u64> = running.iter().copied().collect();
        let mut reusable = HashMap::new();
        for (index, chain) in self.chains.iter().enumerate().rev() {
            let worth = |saved: &&Saved| saved.bytes >= bytes_min && running.contains_key(&saved.txn);
            let kept_bytes: u64 = chain.txns.iter().filter(worth).map(|saved| saved.bytes).sum();
            if 2 * kept_bytes < chain.bytes {
                continue;
            }
            for &saved in chain.txns.iter().filter(worth) {
                if saved.next == undo::NONE || reusable.contains_key(&(saved.txn, saved.next)) {
                    reusable.insert((saved.txn, saved.newest), (index, saved));
                }
            }
        }
        reusable
    }
}

/// What a checkpoint has written, until its superblock is.
pub(crate) struct UndoSaved {
    pub(crate) head: Chain,
    /// In place of the one there is.
    list: Option<UndoList>,
    /// Blocks that the list has more than the one before, and less.
    added: Vec<Arc<Vec<u32>>>,
    dropped: Vec<Arc<Vec<u32>>>,
}

impl UndoSaved {
    /// The superblock is written next.
    pub(crate) fn keep(self, state: &mut State) {
        let old = std::mem::replace(&mut state.undo_blocks, self.head.blocks);
        state.free(&old);
        self.dropped.iter().for_each(|blocks| state.free(blocks));
        if let Some(list) = self.list {
            state.undo_list = list;
        }
    }

    /// The superblock there is counts on.
    pub(crate) fn discard(self, state: &mut State) {
        state.free(&self.head.blocks);
        self.added.iter().for_each(|blocks| state.free(blocks));
    }
}

impl Inner {
    /// Saves the undo of the transactions that ran at the cut, or nothing.
    pub(crate) fn write_undo(
        &self,
        state: &mut State,
        number: u64,
        cut: &Cut,
    ) -> Result<UndoSaved, StoreError> {
        // Not to be borrowed from `state` meanwhile; nothing there changes it.
        let before = std::mem::take(&mut state.undo_list);
        let (mut added, mut dropped) = (Vec::new(), Vec::new());
        let list = match cut.undone {
            Some(_) => Ok(None),
            None => self.write_undo_chain(state, number, cut, &before, &mut added, &mut dropped).map(Some),
        };
        let head = list.and_then(|list| {
            let mut bytes = match cut.replayed_changes {
                0 => UNDO_MAGIC.to_le_bytes().to_vec(),
                changes => [UNDO_MAGIC_4.to_le_bytes(), changes.to_le_bytes()].concat(),
            };
            bytes.extend_from_slice(&(cut.records.len() as u32).to_le_bytes());
            for (tree, records) in &cut.records {
                bytes.extend_from_slice(&tree.0.to_le_bytes());
                bytes.extend_from_slice(&records.to_le_bytes());
            }
            bytes.extend_from_slice(&cut.undone.unwrap_or(0).to_le_bytes());
            bytes.extend_from_slice(&list.as_ref().unwrap_or(&before).encoded);
            let head = self.write_chain(state, Kind::Undo, number, |head, state| head.put(state, &bytes))?;
            Ok((head, list))
        });
        state.undo_list = before;
        match head {
            Ok((head, list)) => Ok(UndoSaved { head, list, added, dropped }),
            Err(error) => {
                added.iter().for_each(|blocks: &Arc<Vec<u32>>| state.free(blocks));
                Err(error)
            }
        }
    }

    /// Writes the entries that the chains there are do not have, and says what is to be kept of these.
    fn write_undo_chain(
        &self,
        state: &mut State,
        number: u64,
        cut: &Cut,
        before: &UndoList,
        added: &mut Vec<Arc<Vec<u32>>>,
        dropped: &mut Vec<Arc<Vec<u32>>>,
    ) -> Result<UndoList, StoreError> {
        let reusable = before.reusable(&cut.running, self.options.undo_segment_bytes as u64);
        let mut kept: Vec<Vec<Saved>> = vec![Vec::new(); before.chains.len()];
        let mut chains = Vec::new();
        // Where what is kept of a transaction begins.
        let mut nexts: Vec<u64> = cut.running.iter().map(|&(_, last)| last).collect();
        if cut.running.iter().any(|running| !reusable.contains_key(running)) {
            let mut txns = Vec::new();
            let chain = self.write_chain(state, Kind::Undo, number, |chain, state| {
                for (&(txn, last), next) in cut.running.iter().zip(&mut nexts) {
                    if !reusable.contains_key(&(txn, last)) {
                        let began_at = chain.bytes;
                        *next = self.write_entries(chain, state, txn, last, &reusable)?;
                        txns.push(Saved { txn, newest: last, next: *next, bytes: chain.bytes - began_at });
                    }
                }
                Ok(())
            })?;
            let blocks = Arc::new(chain.blocks);
            added.push(Arc::clone(&blocks));
            chains.push(UndoChain { txns, ..UndoChain::found(blocks[0], 0, chain.bytes, blocks) });
        }
        for (&(txn, _), mut next) in cut.running.iter().zip(nexts) {
            while let Some(&(index, saved)) = reusable.get(&(txn, next)) {
                kept[index].push(saved);
                next = saved.next;
            }
        }
        for (chain, kept) in before.chains.iter().zip(kept) {
            if kept.is_empty() || planted::is(Plant::ForgetChain) {
                dropped.push(Arc::clone(&chain.blocks));
            } else {
                self.counters.undo_bytes_kept.add(kept.iter().map(|saved| saved.bytes).sum());
                chains.push(UndoChain { txns: kept, ..chain.clone() });
            }
        }
        Ok(UndoList::new(chains))
    }

    /// Writes a transaction's entries from its newest to the first that may stay where it is, which is returned.
    fn write_entries(
        &self,
        chain: &mut ChainWriter<'_>,
        state: &mut State,
        txn: TxnId,
        last: u64,
        reusable: &HashMap<(TxnId, u64), (usize, Saved)>,
    ) -> Result<u64, StoreError> {
        let mut entry = Vec::new();
        let mut at = last;
        chain.put(state, &txn.0.to_le_bytes())?;
        while at != undo::NONE && !reusable.contains_key(&(txn, at)) {
            self.undo.copy(at, &mut entry)?;
            chain.put(state, &(entry.len() as u32).to_le_bytes())?;
            chain.put(state, &at.to_le_bytes())?;
            chain.put(state, &entry)?;
            at = undo::read(&entry, 0)?.before;
        }
        chain.put(state, &0u32.to_le_bytes())?;
        Ok(at)
    }
}
