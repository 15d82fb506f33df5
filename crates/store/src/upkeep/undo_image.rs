//! What a checkpoint saved of the transactions that ran, read back a block at a time.

use super::checkpoint::{UNDO_MAGIC, zero_block};
use super::recover::read_piece;
use crate::error::StoreError;
use crate::ids::{TreeId, TxnId};
use crate::mvcc::undo;
use crate::pager::image::{Block, Kind};
use crate::planted::{self, Plant};
use crate::store::Inner;
use crate::txn::rollback::restore;
use env::disk::File;
use std::sync::Arc;

/// Where the list's bytes come from.
struct Source {
    file: Arc<dyn File>,
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

impl Source {
    fn take(&mut self, len: usize, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        bytes.clear();
        self.left = self.left.checked_sub(len as u64).ok_or_else(damaged)?;
        while bytes.len() < len {
            if self.taken == self.piece.len() {
                let number = self.blocks.next().ok_or_else(damaged)?;
                let (piece, _) = read_piece(&*self.file, Kind::Undo, number, &mut self.block)?;
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

/// See [`Inner::write_undo`](crate::upkeep::checkpoint).
pub(super) struct UndoImage {
    /// Each tree's number of records.
    pub(super) records: Vec<(TreeId, i64)>,
    transactions: u32,
    source: Source,
}

impl UndoImage {
    /// Reads the beginning of the list.
    pub(super) fn open(file: &Arc<dyn File>, blocks: Vec<u32>, bytes: u64) -> Result<UndoImage, StoreError> {
        let (blocks, block) = (blocks.into_iter(), zero_block());
        let (piece, file) = (Vec::new(), Arc::clone(file));
        let mut source = Source { file, blocks, block, piece, taken: 0, left: bytes };
        let magic = source.u64()?;
        let mut records = Vec::new();
        for _ in 0..source.u32()? {
            records.push((TreeId(source.u64()?), source.u64()? as i64));
        }
        let transactions = source.u32()?;
        if magic != UNDO_MAGIC && transactions > 0 {
            // Format 1 had another order of entries here.
            let why =
                "it was not closed by the version that wrote it; open and close it once with that version";
            return Err(StoreError::corrupt("data file", why));
        }
        Ok(UndoImage { records, transactions, source })
    }

    /// Takes back what transactions running at the checkpoint had changed.
    pub(super) fn undo(&mut self, inner: &Inner) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        for _ in 0..self.transactions {
            let txn = TxnId(self.source.u64()?);
            loop {
                let len = self.source.u32()? as usize;
                if len == 0 {
                    break;
                }
                let at = self.source.u64()?;
                self.source.take(len, &mut bytes)?;
                let entry = undo::read(&bytes, 0)?;
                if planted::is(Plant::ForgetRunning) && entry.key.len() % 5 == 0 {
                    continue;
                }
                inner.with_room(|| {
                    let _inside = inner.gate.enter();
                    restore(inner, &entry, at, txn).map(drop)
                })?;
            }
        }
        if self.source.left != 0 {
            return Err(damaged());
        }
        Ok(())
    }
}
