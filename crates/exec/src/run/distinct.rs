//! DISTINCT: each different row once, given as soon as it is new.

use plan::physical::Node;
use types::planted::{self, Plant};
use types::vector::BytesColumn;
use types::{Batch, Column};

use super::{DistinctKeys, Operator, RowKeys, Source};
use crate::context::ExecContext;
use crate::expr::SqlResult;
use crate::status_counts::StatusKind;

pub(super) struct Distinct<'p> {
    input: Source<'p>,
    keys: RowKeys,
    distinct_keys: DistinctKeys,
    /// The input has ended; rows come from those spilled.
    ended: bool,
    spilled: Batch,
    spilled_keys: BytesColumn,
}

impl<'p> Distinct<'p> {
    pub(super) fn new(input: Source<'p>, keys: RowKeys, node: &Node) -> Distinct<'p> {
        let (distinct_keys, spilled) = (DistinctKeys::new(node.shapes(), &keys), Batch::new(node.shapes()));
        Distinct { input, keys, distinct_keys, ended: false, spilled, spilled_keys: BytesColumn::new() }
    }
}

impl Operator for Distinct<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.distinct_keys.reset();
        self.ended = false;
        ctx.status.add(StatusKind::TmpTables, 1);
        ctx.status.add(StatusKind::ReadRndNext, 1);
        self.input.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        let limit = ctx.limits.temporary_bytes;
        let mut rows = Vec::new();
        let mut key = Vec::new();
        while !self.ended {
            if !self.input.next(ctx)? {
                self.ended = true;
                break;
            }
            if planted::is(Plant::ForgetSeen) {
                self.distinct_keys.reset();
            }
            ctx.status.add(StatusKind::Write, self.input.batch.row_count as u64);
            let columns: &[Column] = &self.input.batch.columns;
            rows.clear();
            for row in 0..self.input.batch.row_count {
                key.clear();
                self.keys.append(&[], columns, row, ctx, &mut key)?;
                let cells = columns.iter().map(|column| column.cell(row));
                if self.distinct_keys.is_new(&key, cells, &self.keys, limit, ctx)? {
                    rows.push(row as u32);
                }
            }
            if !rows.is_empty() {
                out.gather_from(&self.input.batch, &rows);
                ctx.status.add(StatusKind::ReadRndNext, rows.len() as u64);
                return Ok(true);
            }
            ctx.check()?;
        }
        loop {
            self.spilled.clear();
            self.spilled_keys.clear();
            if !self.distinct_keys.next_spilled(&mut self.spilled, &mut self.spilled_keys)? {
                return Ok(false);
            }
            rows.clear();
            for (row, key) in self.spilled_keys.iter().enumerate() {
                let cells = self.spilled.columns.iter().map(|column| column.cell(row));
                if self.distinct_keys.is_new(key, cells, &self.keys, limit, ctx)? {
                    rows.push(row as u32);
                }
            }
            if !rows.is_empty() {
                out.gather_from(&self.spilled, &rows);
                ctx.status.add(StatusKind::ReadRndNext, rows.len() as u64);
                return Ok(true);
            }
            ctx.check()?;
        }
    }
}
