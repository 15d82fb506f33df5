//! What a checkpoint saved of the transactions that ran, read back a block at a time.

use super::{ChainDamage, chain_blocks, read_piece};
use crate::error::StoreError;
use crate::ids::{TreeId, TxnId};
use crate::mvcc::undo;
use crate::pager::image::{Block, Kind};
use crate::planted::{self, Plant};
use crate::store::Inner;
use crate::store::checkpoint::{CHAIN_BYTES, zero_block};
use crate::store::space::Purpose;
use crate::store::superblock::Superblock;
use crate::store::undo_list::{ALL_TRANSACTIONS, UNDO_MAGIC, UNDO_MAGIC_4, UndoChain, UndoList};
use crate::txn::rollback::{UndoOutcome, merge_after_removal, restore};
use env::disk::File;
use hashbrown::HashSet;
use std::sync::Arc;

/// Format 2.
const UNDO_MAGIC_2: u64 = u64::from_le_bytes(*b"INVUNDO2");

/// Where the list's bytes come from.
struct Source<'f> {
    file: &'f dyn File,
    blocks: std::vec::IntoIter<u32>,
    block: Box<Block>,
    piece: Vec<u8>,
    /// What of the piece was taken.
    taken: usize,
    /// Bytes of the list not taken yet.
    left: u64,
}

fn damaged() -> StoreError {
    StoreError::corrupt("data file", "the list of what to undo is cut off")
}

impl<'f> Source<'f> {
    fn new(file: &'f dyn File, blocks: Vec<u32>, bytes: u64) -> Source<'f> {
        let (blocks, block) = (blocks.into_iter(), zero_block());
        Source { file, blocks, block, piece: Vec::new(), taken: 0, left: bytes }
    }

    fn skip(&mut self, mut bytes: u64) -> Result<(), StoreError> {
        let mut skipped = Vec::new();
        while bytes > 0 {
            let now = bytes.min(CHAIN_BYTES as u64);
            self.take(now as usize, &mut skipped)?;
            bytes -= now;
        }
        Ok(())
    }

    fn take(&mut self, len: usize, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        bytes.clear();
        self.left = self.left.checked_sub(len as u64).ok_or_else(damaged)?;
        while bytes.len() < len {
            if self.taken == self.piece.len() {
                let number = self.blocks.next().ok_or_else(damaged)?;
                let (piece, _) = read_piece(self.file, Kind::Undo, number, &mut self.block)?;
                self.piece.clear();
                self.piece.extend_from_slice(piece);
                self.taken = 0;
            }
            let rest = &self.piece[self.taken..];
            let now = rest.len().min(len - bytes.len());
            bytes.extend_from_slice(&rest[..now]);
            self.taken += now;
        }
        Ok(())
    }

    fn u64(&mut self) -> Result<u64, StoreError> {
        let mut bytes = Vec::with_capacity(8);
        self.take(8, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("8 bytes")))
    }

    fn u32(&mut self) -> Result<u32, StoreError> {
        let mut bytes = Vec::with_capacity(4);
        self.take(4, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes.try_into().expect("4 bytes")))
    }
}

/// See `undo_list`.
pub(super) struct UndoImage<'f> {
    /// Each tree's number of records.
    pub(super) records: Vec<(TreeId, i64)>,
    /// Blocks of the head that are not also a chain's.
    pub(super) head_blocks: Vec<u32>,
    pub(super) list: UndoList,
    /// Which transactions of each chain are to be rolled back; `None`: all.
    wanted: Vec<Option<HashSet<TxnId>>>,
    /// Entries that were rolled back before the checkpoint.
    undone: u64,
    /// Changes of the commit after the checkpoint's position that the pages contain.
    pub(super) replayed_changes: u64,
    file: &'f dyn File,
}

impl<'f> UndoImage<'f> {
    /// Reads the head, and which blocks the chains take.
    pub(super) fn open(file: &'f dyn File, superblock: &Superblock) -> Result<UndoImage<'f>, ChainDamage> {
        let blocks = chain_blocks(file, Kind::Undo, superblock.undo_head)?;
        let mut head = Source::new(file, blocks.clone(), superblock.undo_bytes);
        let magic = head.u64()?;
        let replayed_changes = if magic == UNDO_MAGIC_4 { head.u64()? } else { 0 };
        let mut records = Vec::new();
        for _ in 0..head.u32()? {
            records.push((TreeId(head.u64()?), head.u64()? as i64));
        }
        let (head_blocks, list, wanted) = (blocks, UndoList::default(), Vec::new());
        let mut image = UndoImage { records, head_blocks, list, wanted, undone: 0, replayed_changes, file };
        match magic {
            UNDO_MAGIC | UNDO_MAGIC_4 => image.find_chains(&mut head)?,
            UNDO_MAGIC_2 => {
                // Head and chain were one, with a count of transactions between.
                let counted = head.u32()?;
                let blocks = std::mem::take(&mut image.head_blocks);
                let (bytes, offset) = (superblock.undo_bytes, superblock.undo_bytes - head.left);
                let chain = UndoChain::found(superblock.undo_head, offset, bytes, Arc::new(blocks));
                image.list.encoded.extend_from_slice(&1u32.to_le_bytes());
                chain.encode(ALL_TRANSACTIONS, &mut image.list.encoded);
                image.list.chains.push(chain);
                image.wanted.push(if counted == 0 { Some(HashSet::new()) } else { None });
            }
            _ if head.u32()? > 0 => {
                // Format 1 had another order of entries here.
                let why = "it was not closed by the version that wrote it; open and close it once with that version";
                return Err(StoreError::corrupt("data file", why).into());
            }
            _ => {}
        }
        Ok(image)
    }

    fn find_chains(&mut self, head: &mut Source<'_>) -> Result<(), ChainDamage> {
        self.undone = head.u64()?;
        let count = head.u32()?;
        self.list.encoded.extend_from_slice(&count.to_le_bytes());
        for _ in 0..count {
            let (first, offset, bytes) = (head.u32()?, head.u64()?, head.u64()?);
            let blocks = chain_blocks(self.file, Kind::Undo, first)?;
            let chain = UndoChain::found(first, offset, bytes, Arc::new(blocks));
            let txn_count = head.u32()?;
            chain.encode(txn_count, &mut self.list.encoded);
            self.list.chains.push(chain);
            self.wanted.push(None);
            if txn_count == ALL_TRANSACTIONS {
                continue;
            }
            let mut wanted = HashSet::new();
            for _ in 0..txn_count {
                let txn = head.u64()?;
                self.list.encoded.extend_from_slice(&txn.to_le_bytes());
                wanted.insert(TxnId(txn));
            }
            self.wanted.pop();
            self.wanted.push(Some(wanted));
        }
        if head.left == 0 { Ok(()) } else { Err(damaged().into()) }
    }

    /// Rolls back what transactions running at the checkpoint had changed.
    pub(super) fn undo(&self, inner: &Inner) -> Result<(), StoreError> {
        inner.checkpointer.set_undone(Some(self.undone));
        let mut entries = 0;
        for (chain, wanted) in self.list.chains.iter().zip(&self.wanted) {
            let mut source = Source::new(self.file, chain.blocks.to_vec(), chain.bytes);
            source.skip(chain.offset)?;
            while source.left > 0 {
                let txn = TxnId(source.u64()?);
                let is_wanted = wanted.as_ref().is_none_or(|wanted| wanted.contains(&txn));
                self.undo_one(inner, &mut source, txn, is_wanted, &mut entries)?;
            }
        }
        inner.checkpointer.set_undone(None);
        Ok(())
    }

    /// Rolls back one transaction's entries of a chain, or only passes them.
    fn undo_one(
        &self,
        inner: &Inner,
        source: &mut Source<'_>,
        txn: TxnId,
        is_wanted: bool,
        entries: &mut u64,
    ) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        loop {
            let len = source.u32()? as usize;
            if len == 0 {
                return Ok(());
            }
            let at = source.u64()?;
            source.take(len, &mut bytes)?;
            *entries += u64::from(is_wanted);
            if !is_wanted || *entries <= self.undone {
                continue;
            }
            let entry = undo::read(&bytes, 0)?;
            if planted::is(Plant::ForgetRunning) && entry.key.len() % 5 == 0 {
                continue;
            }
            // Not reserved: the transactions that ran when the disk became full may have changed more pages than there
            // are blocks.
            inner.reserve_blocks_if_possible(Purpose::Restore)?;
            let restored = inner.retry_misses(|| {
                let _section = inner.checkpoint_latch.shared();
                let restored = restore(inner, &entry, at, txn)?;
                inner.checkpointer.set_undone(Some(*entries));
                Ok(restored)
            })?;
            if let UndoOutcome::Restored(merge) = restored {
                merge_after_removal(inner, &entry, merge);
            }
        }
    }
}
