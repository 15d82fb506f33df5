//! ORDER BY: normalised keys compared byte by byte by a [`Sorter`]; a heap for the first rows, while they fit into memory. Where
//! keys are large values stored out of line, prefixes of them are compared first, see `refine`.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use plan::Expr;
use plan::physical::{Node, PhysicalPlan};
use types::vector::batch_rows_max;
use types::{Batch, Physical};

use super::refine::{Least, Refine};
use super::sort_keys::SortKeys;
use super::sorter::Sorter;
use super::{Operator, RowLimit, Source};
use crate::context::ExecContext;
use crate::expr::SqlResult;
use crate::programs::Programs;
use crate::row_buffer::RowBuffer;
use crate::status_counts::StatusKind;

/// Rows up to which a LIMIT is answered with a heap instead of a whole sort.
const HEAP_ROWS_MAX: u64 = 100_000;

pub(super) struct Sort<'p> {
    input: Source<'p>,
    keys: SortKeys,
    count: Option<RowLimit>,
    offset: Option<RowLimit>,
    shapes: Vec<Physical>,

    done: bool,
    sorter: Sorter,
    /// The rows are on disk.
    merged: bool,
    /// Keys may be stored out of line: the sorted rows come from here.
    refine: Option<Refine>,
    /// The first rows, found with a heap: the rows, and their numbers in order.
    first: Option<(RowBuffer, Vec<u32>)>,
    next: usize,
    end: usize,
}

/// A row of the heap.
struct Best {
    key: Vec<u8>,
    arrival: u64,
    row: u32,
}

/// Bytes a row of the heap takes beside its key.
const BEST_BYTES: usize = size_of::<Best>() + 16;

impl PartialEq for Best {
    fn eq(&self, other: &Best) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Best {}

impl PartialOrd for Best {
    fn partial_cmp(&self, other: &Best) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Best {
    fn cmp(&self, other: &Best) -> Ordering {
        self.key.cmp(&other.key).then(self.arrival.cmp(&other.arrival))
    }
}

impl<'p> Sort<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        input: &'p Node,
        keys: &'p [(Expr, bool)],
        limit: Option<(&'p Expr, Option<&'p Expr>)>,
        programs: &mut Programs<'_>,
    ) -> SqlResult<Sort<'p>> {
        let shapes = input.shapes();
        let node = input;
        let input = Source::new(plan, node, programs)?;
        let keys = SortKeys::new(plan, node, keys, programs)?;
        let mut one = |expr: Option<&Expr>| expr.map(|expr| RowLimit::new(expr, programs)).transpose();
        let count = one(limit.map(|(count, _)| count))?;
        let offset = one(limit.and_then(|(_, offset)| offset))?;
        Ok(Sort {
            input,
            keys,
            count,
            offset,
            sorter: Sorter::new(&shapes),
            shapes,
            done: false,
            merged: false,
            refine: None,
            first: None,
            next: 0,
            end: 0,
        })
    }

    fn fill(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let offset = match &self.offset {
            Some(limit) => limit.value(ctx)?,
            None => 0,
        };
        let count = match &self.count {
            Some(limit) => limit.value(ctx)?,
            None => u64::MAX,
        };
        let wanted = count.saturating_add(offset);
        self.next = usize::try_from(offset).unwrap_or(usize::MAX);
        self.end = usize::try_from(wanted).unwrap_or(usize::MAX);
        if count == 0 {
            return Ok(());
        }
        ctx.status.add(StatusKind::SortScan, 1);
        self.input.start(ctx)?;
        if self.keys.have_references() {
            let wanted = usize::try_from(wanted).ok().filter(|&wanted| wanted as u64 <= HEAP_ROWS_MAX);
            return self.fill_by_prefixes(ctx, wanted);
        }
        if wanted <= HEAP_ROWS_MAX { self.fill_heap(ctx, wanted as usize) } else { self.fill_all(ctx, None) }
    }

    /// All rows, or those that may be among the first `wanted`, with as much of their keys as lies in the rows.
    fn fill_by_prefixes(&mut self, ctx: &mut ExecContext<'_>, wanted: Option<usize>) -> SqlResult<()> {
        let limit = ctx.limits.sort_bytes;
        let mut least = wanted.map(Least::new);
        let mut row_count = 0;
        let mut sorter = Sorter::new(&self.shapes);
        let mut key = Vec::new();
        let mut rows = Vec::new();
        while self.input.next(ctx)? {
            self.keys.evaluate(&self.input.batch, ctx)?;
            rows.clear();
            for row in 0..self.input.batch.row_count {
                key.clear();
                let open = self.keys.append_to_depth(row, 0, ctx, &mut key)?;
                if least.as_mut().is_none_or(|least| least.admits(&key, open)) {
                    rows.push(row as u32);
                    sorter.push_key(&key);
                }
            }
            if rows.len() < self.input.batch.row_count {
                super::scan::keep_rows(&mut self.input.batch, &rows);
            }
            if !rows.is_empty() {
                sorter.push_rows(&self.input.batch, limit, ctx)?;
            }
            row_count += rows.len();
            // So many, or so large, that all had better be sorted.
            least = least.filter(|least| least.bytes() <= limit);
            ctx.check()?;
        }
        sorter.finish(limit, ctx)?;
        ctx.status.add(StatusKind::SortRows, row_count.min(wanted.unwrap_or(usize::MAX)) as u64);
        self.refine = Some(Refine::new(sorter, &self.shapes));
        Ok(())
    }

    /// All rows; those whose key is not below `least` cannot be among the first rows.
    fn fill_all(&mut self, ctx: &mut ExecContext<'_>, least: Option<&[u8]>) -> SqlResult<()> {
        let limit = ctx.limits.sort_bytes;
        let mut key = Vec::new();
        let mut rows = Vec::new();
        while self.input.next(ctx)? {
            self.keys.evaluate(&self.input.batch, ctx)?;
            rows.clear();
            for row in 0..self.input.batch.row_count {
                key.clear();
                self.keys.append(row, ctx, &mut key);
                if least.is_some_and(|least| *key >= *least) {
                    continue;
                }
                if least.is_some() {
                    rows.push(row as u32);
                }
                self.sorter.push_key(&key);
            }
            if least.is_some() && rows.len() < self.input.batch.row_count {
                super::scan::keep_rows(&mut self.input.batch, &rows);
            }
            ctx.status.add(StatusKind::SortRows, self.input.batch.row_count as u64);
            self.sorter.push_rows(&self.input.batch, limit, ctx)?;
            ctx.check()?;
        }
        self.merged = self.sorter.finish(limit, ctx)?;
        Ok(())
    }

    /// The first `wanted` rows: a heap of the best so far, its worst on top. Where they do not fit into memory all is
    /// sorted instead.
    fn fill_heap(&mut self, ctx: &mut ExecContext<'_>, wanted: usize) -> SqlResult<()> {
        let limit = ctx.limits.sort_bytes;
        let mut kept = RowBuffer::default();
        let mut heap: BinaryHeap<Best> = BinaryHeap::with_capacity(wanted.min(4096));
        let mut key_bytes = 0;
        let mut arrival = 0;
        let mut key = Vec::new();
        let mut rows = Vec::new();
        while self.input.next(ctx)? {
            self.keys.evaluate(&self.input.batch, ctx)?;
            rows.clear();
            for row in 0..self.input.batch.row_count {
                key.clear();
                self.keys.append(row, ctx, &mut key);
                arrival += 1;
                let number = (kept.len() + rows.len()) as u32;
                if heap.len() < wanted {
                    key_bytes += key.len() + BEST_BYTES;
                    heap.push(Best { key: key.clone(), arrival, row: number });
                } else if let Some(mut worst) = heap.peek_mut()
                    && key < worst.key
                {
                    key_bytes = key_bytes + key.len() - worst.key.len();
                    worst.key.clone_from(&key);
                    worst.arrival = arrival;
                    worst.row = number;
                } else {
                    continue;
                }
                rows.push(row as u32);
            }
            if !rows.is_empty() {
                super::scan::keep_rows(&mut self.input.batch, &rows);
                kept.push(&self.input.batch);
            }
            // Rows that fell out of the heap are dropped when they are many, or large.
            let is_large = kept.bytes() + key_bytes > limit;
            if kept.len() > 4 * wanted + 4096 || (is_large && kept.len() > 2 * heap.len()) {
                let mut best = heap.into_vec();
                kept = self.only(&kept, &mut best);
                heap = BinaryHeap::from(best);
            }
            if is_large && kept.bytes() + key_bytes > limit {
                let least =
                    if heap.len() == wanted { heap.peek().map(|worst| worst.key.clone()) } else { None };
                self.sort_best(&kept, heap.into_sorted_vec(), ctx)?;
                return self.fill_all(ctx, least.as_deref());
            }
            ctx.check()?;
        }
        ctx.status.add(StatusKind::SortRows, heap.len() as u64);
        self.first = Some((kept, heap.into_sorted_vec().into_iter().map(|best| best.row).collect()));
        Ok(())
    }

    /// The rows of the heap alone; their numbers follow.
    fn only(&self, kept: &RowBuffer, best: &mut [Best]) -> RowBuffer {
        let mut only = RowBuffer::default();
        let mut batch = Batch::new(self.shapes.iter().copied());
        for (number, best) in best.iter_mut().enumerate() {
            kept.append_row(best.row, &mut batch.columns);
            batch.row_count += 1;
            best.row = number as u32;
            if batch.is_full() {
                only.push(&batch);
                batch.clear();
            }
        }
        only.push(&batch);
        only
    }

    /// The heap's rows go to the sorter, before all that come after them.
    fn sort_best(&mut self, kept: &RowBuffer, best: Vec<Best>, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let mut batch = Batch::new(self.shapes.iter().copied());
        let limit = ctx.limits.sort_bytes;
        for best in best {
            self.sorter.push_key(&best.key);
            kept.append_row(best.row, &mut batch.columns);
            batch.row_count += 1;
            if batch.is_full() {
                self.sorter.push_rows(&batch, limit, ctx)?;
                batch.clear();
            }
        }
        self.sorter.push_rows(&batch, limit, ctx)
    }
}

impl Operator for Sort<'_> {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.done = false;
        self.sorter.clear();
        self.merged = false;
        self.refine = None;
        self.first = None;
        self.next = 0;
        self.end = 0;
        self.keys.reset();
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if !std::mem::replace(&mut self.done, true) {
            self.fill(ctx)?;
        }
        if self.merged || self.refine.is_some() {
            // A LIMIT too large for the heap: count rows while merging.
            loop {
                if self.end == 0 {
                    return Ok(false);
                }
                let more = match &mut self.refine {
                    Some(refine) => refine.next(self.end, &mut self.keys, ctx, out)?,
                    None => self.sorter.next_merged(out)?,
                };
                if !more {
                    return Ok(false);
                }
                let rows = out.row_count;
                let skip = self.next.min(rows);
                self.next -= skip;
                let give = rows.min(self.end);
                self.end -= give;
                if skip >= give {
                    out.clear();
                    continue;
                }
                let chosen: Vec<u32> = (skip as u32..give as u32).collect();
                super::scan::keep_rows(out, &chosen);
                return Ok(true);
            }
        }
        if let Some((kept, order)) = &self.first {
            let end = self.end.min(order.len());
            while self.next < end && !out.is_full() {
                kept.append_row(order[self.next], &mut out.columns);
                out.row_count += 1;
                self.next += 1;
            }
            return Ok(out.row_count > 0);
        }
        let end = self.end.min(self.sorter.len());
        while self.next < end && out.row_count < batch_rows_max() && !out.is_full() {
            self.sorter.append_row(self.next, out);
            self.next += 1;
        }
        Ok(out.row_count > 0)
    }
}
