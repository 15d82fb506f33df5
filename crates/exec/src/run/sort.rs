//! ORDER BY: normalised keys compared byte by byte; runs on disk above the memory limit; a heap for the first rows.
//!
//! Rows are kept in batches; what is sorted is an array of (start of the key, row number) with the first eight bytes
//! of the key beside it. Rows with equal keys keep their order of arrival.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use plan::Expr;
use plan::physical::{Node, PhysicalPlan};
use types::vector::{BATCH_ROWS_MAX, BytesColumn};
use types::{Batch, Column, DataType, Physical};

use super::kept::columns;
use super::{Kept, Operator, Source, limit_value};
use crate::context::ExecContext;
use crate::expr::{Program, Scratch, SqlResult};
use crate::key::append_key;
use crate::prepare::Programs;
use crate::run::spill::{RunReader, RunWriter};

/// Rows up to which a LIMIT is answered with a heap instead of a whole sort.
const HEAP_ROWS_MAX: u64 = 100_000;

pub(super) struct Sort<'p> {
    input: Source<'p>,
    program: Arc<Program>,
    scratch: Scratch,
    values: Vec<Column>,
    types: Vec<(DataType, bool)>,
    count: Option<Arc<Program>>,
    offset: Option<Arc<Program>>,
    shapes: Vec<Physical>,

    done: bool,
    kept: Kept,
    keys: BytesColumn,
    order: Vec<Entry>,
    runs: Vec<RunReader>,
    next: usize,
    end: usize,
}

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

impl<'p> Sort<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        input: &'p Node,
        keys: &'p [(Expr, bool)],
        limit: Option<(&'p Expr, Option<&'p Expr>)>,
        programs: &mut Programs<'_>,
    ) -> SqlResult<Sort<'p>> {
        let shapes = input.shapes();
        let input = Source::new(plan, input, programs)?;
        let exprs: Vec<Expr> = keys.iter().map(|(expr, _)| expr.clone()).collect();
        let program = programs.take(&exprs)?;
        let scratch = program.scratch();
        let types: Vec<(DataType, bool)> =
            keys.iter().map(|(expr, descending)| (expr.data_type.clone(), *descending)).collect();
        let values = columns(types.iter().map(|(data_type, _)| data_type.physical()));
        let mut one =
            |expr: Option<&Expr>| expr.map(|expr| programs.take(std::slice::from_ref(expr))).transpose();
        let count = one(limit.map(|(count, _)| count))?;
        let offset = one(limit.and_then(|(_, offset)| offset))?;
        Ok(Sort {
            input,
            program,
            scratch,
            values,
            types,
            count,
            offset,
            shapes,
            done: false,
            kept: Kept::default(),
            keys: BytesColumn::default(),
            order: Vec::new(),
            runs: Vec::new(),
            next: 0,
            end: 0,
        })
    }

    fn append_key(&self, row: usize, out: &mut Vec<u8>) {
        for (column, (data_type, descending)) in self.values.iter().zip(&self.types) {
            append_key(column.cell(row), data_type, *descending, out);
        }
    }

    fn compare(keys: &BytesColumn, a: &Entry, b: &Entry) -> Ordering {
        a.head
            .cmp(&b.head)
            .then_with(|| keys.get(a.row as usize).cmp(keys.get(b.row as usize)))
            .then_with(|| a.row.cmp(&b.row))
    }

    fn fill(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let offset = match &self.offset {
            Some(program) => limit_value(program, ctx)?,
            None => 0,
        };
        let count = match &self.count {
            Some(program) => limit_value(program, ctx)?,
            None => u64::MAX,
        };
        let wanted = count.saturating_add(offset);
        self.next = usize::try_from(offset).unwrap_or(usize::MAX);
        self.end = usize::try_from(wanted).unwrap_or(usize::MAX);
        if count == 0 {
            return Ok(());
        }
        self.input.start(ctx)?;
        if wanted <= HEAP_ROWS_MAX { self.fill_heap(ctx, wanted as usize) } else { self.fill_all(ctx) }
    }

    /// All rows; what does not fit into memory goes to disk as sorted runs.
    fn fill_all(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let mut key = Vec::new();
        while self.input.next(ctx)? {
            self.program.eval(&mut self.scratch, &self.input.batch, &mut ctx.eval, &mut self.values)?;
            for row in 0..self.input.batch.row_count {
                key.clear();
                self.append_key(row, &mut key);
                let number = self.keys.len() as u32;
                self.order.push(Entry { head: head(&key), row: number });
                self.keys.push(&key);
            }
            self.kept.push(&self.input.batch);
            let bytes = self.kept.bytes() + self.keys.byte_count() + self.order.len() * size_of::<Entry>();
            if bytes > ctx.limits.sort_bytes.max(1 << 16) && ctx.spill.is_some() {
                self.sort_kept();
                self.write_run(ctx)?;
            }
            ctx.check()?;
        }
        self.sort_kept();
        if !self.runs.is_empty() && !self.order.is_empty() {
            self.write_run(ctx)?;
        }
        Ok(())
    }

    fn sort_kept(&mut self) {
        let keys = &self.keys;
        self.order.sort_unstable_by(|a, b| Self::compare(keys, a, b));
    }

    fn write_run(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let Some(folder) = &ctx.spill else { return Ok(()) };
        let mut writer = RunWriter::create(folder, &self.shapes)?;
        for entry in &self.order {
            let (batch, row) = self.kept.at(entry.row);
            writer.push(self.keys.get(entry.row as usize), batch, row)?;
        }
        self.runs.push(writer.finish()?);
        self.order.clear();
        self.keys.clear();
        self.kept.clear();
        Ok(())
    }

    /// The first `wanted` rows: a heap of the best so far, its worst on top.
    fn fill_heap(&mut self, ctx: &mut ExecContext<'_>, wanted: usize) -> SqlResult<()> {
        struct Best {
            key: Vec<u8>,
            arrival: u64,
            row: u32,
        }
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
        let mut heap: BinaryHeap<Best> = BinaryHeap::with_capacity(wanted.min(4096));
        let mut arrival = 0;
        let mut key = Vec::new();
        let mut rows = Vec::new();
        while self.input.next(ctx)? {
            self.program.eval(&mut self.scratch, &self.input.batch, &mut ctx.eval, &mut self.values)?;
            rows.clear();
            for row in 0..self.input.batch.row_count {
                key.clear();
                self.append_key(row, &mut key);
                arrival += 1;
                let number = (self.kept.len() + rows.len()) as u32;
                if heap.len() < wanted {
                    heap.push(Best { key: key.clone(), arrival, row: number });
                } else if let Some(mut worst) = heap.peek_mut()
                    && key < worst.key
                {
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
                self.kept.push(&self.input.batch);
            }
            // Rows that fell out of the heap are dropped when they are many.
            if self.kept.len() > 4 * wanted + 4096 {
                let mut kept = Kept::default();
                let mut best: Vec<Best> = heap.into_vec();
                let mut batch = Batch::new(self.shapes.iter().copied());
                for (number, best) in best.iter_mut().enumerate() {
                    self.kept.append_row(best.row, &mut batch.columns);
                    batch.row_count += 1;
                    best.row = number as u32;
                    if batch.is_full() {
                        kept.push(&batch);
                        batch.clear();
                    }
                }
                kept.push(&batch);
                self.kept = kept;
                heap = BinaryHeap::from(best);
            }
            ctx.check()?;
        }
        self.order =
            heap.into_sorted_vec().into_iter().map(|best| Entry { head: 0, row: best.row }).collect();
        Ok(())
    }

    /// The next rows of all runs together.
    fn merge(&mut self, out: &mut Batch) -> SqlResult<bool> {
        while out.row_count < BATCH_ROWS_MAX {
            let mut least: Option<usize> = None;
            for (number, run) in self.runs.iter().enumerate() {
                let Some(key) = run.key() else { continue };
                if least.is_none_or(|least| self.runs[least].key().is_none_or(|other| key < other)) {
                    least = Some(number);
                }
            }
            let Some(least) = least else { break };
            self.runs[least].take(out)?;
        }
        Ok(out.row_count > 0)
    }
}

impl Operator for Sort<'_> {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.done = false;
        self.kept.clear();
        self.keys.clear();
        self.order.clear();
        self.runs.clear();
        self.scratch.reset();
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if !std::mem::replace(&mut self.done, true) {
            self.fill(ctx)?;
        }
        if !self.runs.is_empty() {
            // A LIMIT too large for the heap: count rows while merging.
            loop {
                if self.end == 0 || !self.merge(out)? {
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
        let end = self.end.min(self.order.len());
        while self.next < end && out.row_count < BATCH_ROWS_MAX {
            self.kept.append_row(self.order[self.next].row, &mut out.columns);
            out.row_count += 1;
            self.next += 1;
        }
        Ok(out.row_count > 0)
    }
}
