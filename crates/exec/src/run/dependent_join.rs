//! Nested loop whose right side reads the left row: it runs again for each of them.
//!
//! An outer join's condition may hold a subquery over both sides. What it gives for a pair of rows is computed on the
//! right side, where the left row's columns are those of an enclosing query.

use plan::Expr;
use plan::logical::JoinKind;
use plan::physical::{Node, PhysicalPlan};
use types::{Batch, Column, Physical};

use super::join::{PairFilter, Pairs};
use super::{Operator, Source};
use crate::context::ExecContext;
use crate::expr::SqlResult;
use crate::programs::Programs;

pub(super) struct DependentJoin<'p> {
    left: Source<'p>,
    right: Source<'p>,
    right_shapes: Vec<Physical>,
    pairs: Pairs,
    /// Slots of outer values that the right side reads, and the column of the left row each is filled from.
    outer: &'p [(u32, u32)],
    /// There is a left batch, and `row` is the row of it whose right rows are read.
    active: bool,
    row: usize,
    started: bool,
}

impl<'p> DependentJoin<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        kind: JoinKind,
        (left, right): (&'p Node, &'p Node),
        conditions: &[Expr],
        outer: &'p [(u32, u32)],
        programs: &mut Programs<'_>,
    ) -> SqlResult<DependentJoin<'p>> {
        let (left_shapes, right_shapes) = (left.shapes(), right.shapes());
        Ok(DependentJoin {
            left: Source::new(plan, left, programs)?,
            right: Source::new(plan, right, programs)?,
            pairs: Pairs::new(
                kind,
                PairFilter::new(conditions, programs)?,
                &left_shapes,
                right_shapes.clone(),
            ),
            right_shapes,
            outer,
            active: false,
            row: 0,
            started: false,
        })
    }

    /// Begins the right side for the current left row.
    fn start_right(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        for &(slot, position) in self.outer {
            let column = &self.left.batch.columns[position as usize];
            let mut value = Column::new(column.physical());
            value.push_cell(column.cell(self.row));
            ctx.eval.outer[slot as usize] = value;
        }
        self.started = true;
        self.right.start(ctx)
    }
}

impl Operator for DependentJoin<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.active = false;
        self.pairs.filter.scratch.reset();
        self.left.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        loop {
            if !self.active {
                if !self.left.next(ctx)? {
                    return Ok(false);
                }
                self.active = true;
                self.row = 0;
                self.started = false;
                self.pairs.begin(self.left.batch.row_count);
            }
            while self.row < self.left.batch.row_count && out.row_count == 0 {
                if !self.started {
                    self.start_right(ctx)?;
                }
                if self.right.next(ctx)? {
                    let empty = Batch::new(self.right_shapes.iter().copied());
                    let mut right = std::mem::replace(&mut self.right.batch, empty);
                    self.pairs.left_rows.extend(std::iter::repeat_n(self.row as u32, right.row_count));
                    self.pairs.check(&self.left.batch, &mut right.columns, ctx, out)?;
                } else {
                    self.row += 1;
                    self.started = false;
                }
                ctx.check()?;
            }
            if self.row >= self.left.batch.row_count {
                self.pairs.finish(&self.left.batch, out);
                self.active = false;
            }
            if out.row_count > 0 {
                return Ok(true);
            }
        }
    }
}
