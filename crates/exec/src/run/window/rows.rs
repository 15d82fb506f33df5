//! Rows in the order in which they came, for readers that only move forward: in memory, above a limit on disk.
//!
//! Invariants:
//! 1. Rows are known by their numbers, from 0 since the start. A row that was dropped is not read again.
//! 2. A batch that comes while the limit is exceeded goes to disk at once; those before it stay, since they are read first.

use std::collections::VecDeque;
use std::sync::Arc;

use types::vector::BytesColumn;
use types::{Batch, Physical};

use crate::context::ExecContext;
use crate::error::internal;
use crate::expr::SqlResult;
use crate::spill::{SpillRows, SpillWriter, block_bytes};

/// A batch of the queue.
struct Slot {
    first: u64,
    row_count: usize,
    rows: Rows,
}

enum Rows {
    Memory(Arc<Batch>),
    Disk(Arc<SpillRows>),
}

/// The rows that may still be read.
pub(super) struct RowQueue {
    shapes: Arc<[Physical]>,
    slots: VecDeque<Slot>,
    /// Number of the row that comes next.
    next: u64,
    /// Of those in memory.
    bytes: usize,
}

/// The batch that a reader stands in.
#[derive(Default)]
pub(super) struct Reader {
    first: u64,
    end: u64,
    batch: Option<Arc<Batch>>,
}

impl Reader {
    /// The batch and the row in it of row `row` of `queue`.
    #[inline]
    pub(super) fn at<'r>(&'r mut self, queue: &RowQueue, row: u64) -> SqlResult<(&'r Batch, usize)> {
        if row < self.first || row >= self.end {
            self.move_to(queue, row)?;
        }
        match &self.batch {
            Some(batch) => Ok((batch, (row - self.first) as usize)),
            None => Err(internal("a window without rows")),
        }
    }

    #[inline(never)]
    fn move_to(&mut self, queue: &RowQueue, row: u64) -> SqlResult<()> {
        self.batch = None;
        let slot = queue.slot(row)?;
        self.batch = Some(queue.load(slot)?);
        self.first = slot.first;
        self.end = slot.first + slot.row_count as u64;
        Ok(())
    }

    /// Lets go of the batch.
    pub(super) fn reset(&mut self) {
        *self = Reader::default();
    }
}

impl RowQueue {
    pub(super) fn new(shapes: impl IntoIterator<Item = Physical>) -> RowQueue {
        RowQueue { shapes: shapes.into_iter().collect(), slots: VecDeque::new(), next: 0, bytes: 0 }
    }

    /// No rows; numbers begin again.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.next = 0;
        self.bytes = 0;
    }

    /// Bytes of the rows in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// An empty batch for it.
    pub(super) fn batch(&self) -> Batch {
        Batch::new(self.shapes.iter().copied())
    }

    /// Appends a batch; to disk if `is_full`. `limit`: bytes of memory of the operator.
    pub(super) fn push(
        &mut self,
        batch: Batch,
        is_full: bool,
        limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let row_count = batch.row_count;
        let rows = if is_full && !self.slots.is_empty() {
            let mut writer = SpillWriter::new(&ctx.spill_file()?, &self.shapes, block_bytes(limit));
            for row in 0..row_count {
                writer.push_row(&[], &batch.columns, row)?;
            }
            Rows::Disk(Arc::new(writer.finish()?))
        } else {
            self.bytes += batch.memory_bytes();
            Rows::Memory(Arc::new(batch))
        };
        self.slots.push_back(Slot { first: self.next, row_count, rows });
        self.next += row_count as u64;
        Ok(())
    }

    fn slot(&self, row: u64) -> SqlResult<&Slot> {
        let at = self.slots.partition_point(|slot| slot.first + slot.row_count as u64 <= row);
        self.slots.get(at).filter(|slot| slot.first <= row).ok_or_else(|| internal("a row of a window"))
    }

    fn load(&self, slot: &Slot) -> SqlResult<Arc<Batch>> {
        Ok(match &slot.rows {
            Rows::Memory(batch) => Arc::clone(batch),
            Rows::Disk(rows) => {
                let mut batch = self.batch();
                let mut keys = BytesColumn::new();
                let mut reader = rows.reader()?;
                while reader.key().is_some() {
                    if let Some(key) = reader.key() {
                        keys.push(key);
                    }
                    reader.take(&mut batch.columns)?;
                    batch.row_count += 1;
                }
                Arc::new(batch)
            }
        })
    }

    /// Rows of the first batch; nothing if there is none.
    pub(super) fn first_count(&self) -> Option<usize> {
        self.slots.front().map(|slot| slot.row_count)
    }

    /// Takes the first batch away.
    pub(super) fn pop(&mut self) -> SqlResult<Batch> {
        let Some(slot) = self.slots.pop_front() else { return Err(internal("a window without rows")) };
        let batch = self.load(&slot)?;
        if let Rows::Memory(batch) = &slot.rows {
            self.bytes -= batch.memory_bytes();
        }
        drop(slot);
        Ok(Arc::try_unwrap(batch).unwrap_or_else(|shared| (*shared).clone()))
    }

    /// Drops batches whose rows all come before `row`.
    pub(super) fn drop_before(&mut self, row: u64) {
        while let Some(slot) = self.slots.front() {
            if slot.first + slot.row_count as u64 > row {
                return;
            }
            if let Rows::Memory(batch) = &slot.rows {
                self.bytes -= batch.memory_bytes();
            }
            self.slots.pop_front();
        }
    }
}
