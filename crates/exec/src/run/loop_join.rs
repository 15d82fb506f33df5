//! Nested loop: each left row with each right row, which are kept; those that do not fit into memory are read from disk again
//! for each left batch.

use plan::Expr;
use plan::logical::JoinKind;
use plan::physical::{Node, PhysicalPlan};
use types::Batch;

use super::join::{PairFilter, Pairs};
use super::{Operator, Source};
use crate::context::{ExecContext, MaterializedCursor, MaterializedRows};
use crate::expr::SqlResult;
use crate::programs::Programs;
use crate::row_buffer::columns;

pub(super) struct LoopJoin<'p> {
    left: Source<'p>,
    right: Source<'p>,
    pairs: Pairs,
    keep: MaterializedRows,
    built: bool,
    /// There is no right row, and each left row needs one: the left side is not read.
    hopeless: bool,
    active: bool,
    cursor: MaterializedCursor,
    /// The right rows that meet the left batch now, and how far: the left row, and the next right row.
    batch: Batch,
    row: usize,
    right_row: usize,
    pairs_max: usize,
}

impl<'p> LoopJoin<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        kind: JoinKind,
        left: &'p Node,
        right: &'p Node,
        conditions: &[Expr],
        programs: &mut Programs<'_>,
    ) -> SqlResult<LoopJoin<'p>> {
        let (left_shapes, right_shapes) = (left.shapes(), right.shapes());
        Ok(LoopJoin {
            left: Source::new(plan, left, programs)?,
            right: Source::new(plan, right, programs)?,
            batch: Batch::new(right_shapes.iter().copied()),
            pairs: Pairs::new(kind, PairFilter::new(conditions, programs)?, &left_shapes, right_shapes),
            keep: MaterializedRows::default(),
            built: false,
            hopeless: false,
            active: false,
            cursor: MaterializedCursor::default(),
            row: 0,
            right_row: 0,
            pairs_max: 0,
        })
    }

    /// The next right rows for the left batch. False: it has met all.
    fn next_right(&mut self) -> SqlResult<bool> {
        self.batch.clear();
        self.row = 0;
        self.right_row = 0;
        match self.cursor.next(&self.keep)? {
            Some(batch) => {
                self.batch.extend_from(batch);
                self.pairs_max = Pairs::count_max(&self.left.batch, self.batch.longest_row());
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

impl Operator for LoopJoin<'_> {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.built = false;
        self.keep = MaterializedRows::default();
        self.active = false;
        self.pairs.filter.scratch.reset();
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if !self.built {
            self.built = true;
            // Where any right row is a partner, the first one decides.
            let is_first_enough = !self.pairs.emits_pairs() && !self.pairs.filter.has_conditions();
            let keep = if is_first_enough { MaterializedRows::first } else { MaterializedRows::all };
            self.keep = keep(&mut self.right, ctx.limits.join_bytes, ctx)?;
            self.hopeless = self.pairs.needs_partner() && self.keep.is_empty();
            if !self.hopeless {
                self.left.start(ctx)?;
            }
        }
        if self.hopeless {
            return Ok(false);
        }
        loop {
            if !self.active {
                if !self.left.next(ctx)? {
                    return Ok(false);
                }
                self.active = true;
                self.pairs.begin(self.left.batch.row_count);
                self.cursor = MaterializedCursor::default();
                self.next_right()?;
            }
            // Every left row with the right batch, and then with the next one.
            let (lefts, rights) = (self.left.batch.row_count, self.batch.row_count);
            let mut right = columns(self.batch.columns.iter().map(types::Column::physical));
            while self.row < lefts && rights > 0 && self.pairs.left_rows.len() < self.pairs_max {
                let room = self.pairs_max - self.pairs.left_rows.len();
                let end = (self.right_row + room).min(rights);
                if self.right_row == 0 && end == rights {
                    for (target, column) in right.iter_mut().zip(&self.batch.columns) {
                        target.extend_from(column);
                    }
                } else {
                    let rows: Vec<u32> = (self.right_row as u32..end as u32).collect();
                    for (target, column) in right.iter_mut().zip(&self.batch.columns) {
                        target.gather_from(column, &rows);
                    }
                }
                self.pairs.left_rows.extend(std::iter::repeat_n(self.row as u32, end - self.right_row));
                self.right_row = end;
                if end == rights {
                    self.right_row = 0;
                    self.row += 1;
                }
            }
            self.pairs.check(&self.left.batch, &mut right, ctx, out)?;
            if (self.row >= lefts || rights == 0) && !self.next_right()? {
                self.pairs.finish(&self.left.batch, out);
                self.active = false;
            }
            if out.row_count > 0 {
                return Ok(true);
            }
            ctx.check()?;
        }
    }
}
