//! Rows in the order of their keys: sorted in memory, above the limit as sorted runs on disk that are merged.
//!
//! Rows are kept in batches; what is sorted is an array of (start of the key, row number) with the first eight bytes of the
//! key beside it. Rows with equal keys keep their order of arrival. More runs than can be read at a time within the limit
//! are merged in passes, neighbours with neighbours.

use std::cmp::Ordering;
use std::sync::Arc;

use types::vector::{BytesColumn, batch_rows_max};
use types::{Batch, Physical};

use crate::context::ExecContext;
use crate::expr::SqlResult;
use crate::row_buffer::RowBuffer;
use crate::spill::{LIMIT_BYTES_MAX, SpillReader, SpillRows, SpillWriter, block_bytes};

/// Fewest and most runs merged at a time.
const FAN_IN: std::ops::RangeInclusive<usize> = 4..=128;

/// A row to sort: the beginning of its key, and its number.
#[derive(Clone, Copy)]
struct Entry {
    head: u64,
    row: u32,
}

fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let count = key.len().min(8);
    bytes[..count].copy_from_slice(&key[..count]);
    u64::from_be_bytes(bytes)
}

/// Takes rows with their keys, then gives them in order.
pub(super) struct Sorter {
    shapes: Arc<[Physical]>,
    rows: RowBuffer,
    keys: BytesColumn,
    order: Vec<Entry>,
    runs: Vec<Arc<SpillRows>>,
    merge: Option<Merge>,
    next: usize,
}

impl Sorter {
    /// For rows of these shapes.
    pub(super) fn new(shapes: &[Physical]) -> Sorter {
        Sorter {
            shapes: shapes.into(),
            rows: RowBuffer::default(),
            keys: BytesColumn::new(),
            order: Vec::new(),
            runs: Vec::new(),
            merge: None,
            next: 0,
        }
    }

    /// No rows.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.keys.clear();
        self.order.clear();
        self.runs.clear();
        self.merge = None;
        self.next = 0;
    }

    /// The key of the next row; [`Sorter::push_rows`] follows with the rows.
    #[inline]
    pub(super) fn push_key(&mut self, key: &[u8]) {
        let row = self.keys.len() as u32;
        self.order.push(Entry { head: head(key), row });
        self.keys.push(key);
    }

    /// The rows whose keys were pushed. `limit`: bytes of memory.
    pub(super) fn push_rows(
        &mut self,
        batch: &Batch,
        limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        self.rows.push(batch);
        let entries = self.order.capacity() * size_of::<Entry>();
        if self.rows.bytes() + self.keys.memory_bytes() + entries > limit.min(LIMIT_BYTES_MAX) {
            self.write_run(limit, ctx)?;
        }
        Ok(())
    }

    fn compare(keys: &BytesColumn, a: &Entry, b: &Entry) -> Ordering {
        a.head
            .cmp(&b.head)
            .then_with(|| keys.get(a.row as usize).cmp(keys.get(b.row as usize)))
            .then_with(|| a.row.cmp(&b.row))
    }

    fn sort_rows(&mut self) {
        let keys = &self.keys;
        self.order.sort_unstable_by(|a, b| Self::compare(keys, a, b));
    }

    fn write_run(&mut self, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.sort_rows();
        let mut writer = SpillWriter::new(&ctx.spill_file()?, &self.shapes, block_bytes(limit));
        for entry in &self.order {
            let (batch, row) = self.rows.at(entry.row);
            writer.push_row(self.keys.get(entry.row as usize), &batch.columns, row)?;
        }
        self.runs.push(Arc::new(writer.finish()?));
        ctx.count_sort_run();
        self.order = Vec::new();
        self.keys = BytesColumn::new();
        self.rows = RowBuffer::default();
        Ok(())
    }

    /// All rows are there. True: they are on disk and only [`Sorter::next_merged`] gives them.
    pub(super) fn finish(&mut self, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        if self.runs.is_empty() {
            self.sort_rows();
            return Ok(false);
        }
        if !self.order.is_empty() {
            self.write_run(limit, ctx)?;
        }
        let block_bytes = block_bytes(limit);
        let fan_in = (limit / (2 * block_bytes)).clamp(*FAN_IN.start(), *FAN_IN.end());
        let mut batch = Batch::new(self.shapes.iter().copied());
        let mut keys = BytesColumn::new();
        while self.runs.len() > fan_in {
            ctx.spilled.sort_merge_passes += 1;
            let runs = std::mem::take(&mut self.runs);
            for runs in runs.chunks(fan_in) {
                let mut merge = Merge::new(runs)?;
                let mut writer = SpillWriter::new(&ctx.spill_file()?, &self.shapes, block_bytes);
                loop {
                    batch.clear();
                    keys.clear();
                    if !merge.next(&mut batch, Some(&mut keys))? {
                        break;
                    }
                    for (row, key) in keys.iter().enumerate() {
                        writer.push_row(key, &batch.columns, row)?;
                    }
                    ctx.check()?;
                }
                self.runs.push(Arc::new(writer.finish()?));
            }
        }
        ctx.spilled.sort_merge_passes += 1;
        self.merge = Some(Merge::new(&self.runs)?);
        Ok(true)
    }

    /// Rows in memory, once finished.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Appends the row at this place of the order, of those in memory.
    #[inline]
    pub(super) fn append_row(&self, place: usize, out: &mut Batch) {
        self.rows.append_row(self.order[place].row, &mut out.columns);
        out.row_count += 1;
    }

    /// Appends the next rows of all runs together; false if there were none.
    pub(super) fn next_merged(&mut self, out: &mut Batch) -> SqlResult<bool> {
        match &mut self.merge {
            Some(merge) => merge.next(out, None),
            None => Ok(false),
        }
    }

    /// As [`Sorter::next`], with their keys.
    pub(super) fn next_with_keys(&mut self, out: &mut Batch, keys: &mut BytesColumn) -> SqlResult<bool> {
        if let Some(merge) = &mut self.merge {
            return merge.next(out, Some(keys));
        }
        while self.next < self.order.len() && out.row_count < batch_rows_max() && !out.is_full() {
            keys.push(self.keys.get(self.order[self.next].row as usize));
            self.append_row(self.next, out);
            self.next += 1;
        }
        Ok(out.row_count > 0)
    }

    /// Appends the next rows, wherever they are; false if there were none.
    pub(super) fn next(&mut self, out: &mut Batch) -> SqlResult<bool> {
        if self.merge.is_some() {
            return self.next_merged(out);
        }
        while self.next < self.order.len() && !out.is_full() {
            self.append_row(self.next, out);
            self.next += 1;
        }
        Ok(out.row_count > 0)
    }
}

/// Runs under way, merged by a heap of those that have rows.
struct Merge {
    runs: Vec<SpillReader>,
    /// Numbers of runs: the least key on top, of equal ones the earliest run's.
    heap: Vec<u32>,
}

impl Merge {
    fn new(runs: &[Arc<SpillRows>]) -> SqlResult<Merge> {
        let runs = runs.iter().map(SpillRows::reader).collect::<SqlResult<Vec<_>>>()?;
        let heap = (0..runs.len() as u32).filter(|&run| runs[run as usize].key().is_some()).collect();
        let mut merge = Merge { runs, heap };
        for place in (0..merge.heap.len() / 2).rev() {
            merge.sink(place);
        }
        Ok(merge)
    }

    fn before(&self, a: u32, b: u32) -> bool {
        let (left, right) = (self.runs[a as usize].key(), self.runs[b as usize].key());
        left.cmp(&right).then(a.cmp(&b)).is_lt()
    }

    /// Moves the run at `place` down until both below it come later.
    fn sink(&mut self, mut place: usize) {
        loop {
            let mut least = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.heap.len() && self.before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == place {
                return;
            }
            self.heap.swap(place, least);
            place = least;
        }
    }

    fn next(&mut self, out: &mut Batch, mut keys: Option<&mut BytesColumn>) -> SqlResult<bool> {
        while out.row_count < batch_rows_max() && !out.is_full() {
            let Some(&run) = self.heap.first() else { break };
            let reader = &mut self.runs[run as usize];
            if let (Some(keys), Some(key)) = (&mut keys, reader.key()) {
                keys.push(key);
            }
            reader.take(&mut out.columns)?;
            out.row_count += 1;
            if reader.key().is_none() {
                self.heap.swap_remove(0);
            }
            self.sink(0);
        }
        Ok(out.row_count > 0)
    }
}
