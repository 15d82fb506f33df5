//! Operators that keep nothing: rows from nowhere, filter, projection, limit, UNION ALL.

use std::sync::Arc;

use plan::{Expr, ExprKind};
use smallvec::SmallVec;
use types::{Batch, Column};

use super::{BoxOperator, Operator, RowLimit, Source};
use crate::context::ExecContext;
use crate::expr::no_input;
use crate::expr::{Program, Scratch, SqlResult};
use crate::programs::Programs;
use crate::row_buffer::columns;

pub(super) struct OneRow {
    pub(super) done: bool,
}

impl Operator for OneRow {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.done = false;
        Ok(())
    }

    fn next(&mut self, _ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(false);
        }
        out.row_count = 1;
        Ok(true)
    }
}

pub(super) struct Empty;

impl Operator for Empty {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        Ok(())
    }

    fn next(&mut self, _ctx: &mut ExecContext<'_>, _out: &mut Batch) -> SqlResult<bool> {
        Ok(false)
    }
}

/// Rows written out.
pub(super) struct Values {
    rows: Vec<(Arc<Program>, Scratch)>,
    next: usize,
}

impl Values {
    pub(super) fn new(rows: &[Vec<Expr>], programs: &mut Programs<'_>) -> SqlResult<Values> {
        let mut compiled = Vec::with_capacity(rows.len());
        for row in rows {
            let program = programs.take(row)?;
            let scratch = program.scratch();
            compiled.push((program, scratch));
        }
        Ok(Values { rows: compiled, next: 0 })
    }
}

impl Operator for Values {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.next = 0;
        self.rows.iter_mut().for_each(|(_, scratch)| scratch.reset());
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        let mut cells = columns(out.columns.iter().map(Column::physical));
        while !out.is_full() && self.next < self.rows.len() {
            let (program, scratch) = &mut self.rows[self.next];
            program.eval(scratch, &no_input(), &mut ctx.eval, &mut cells)?;
            for (target, cell) in out.columns.iter_mut().zip(&cells) {
                target.push_cell(cell.cell(0));
            }
            out.row_count += 1;
            self.next += 1;
        }
        Ok(out.row_count > 0)
    }
}

pub(super) struct Filter<'p> {
    input: Source<'p>,
    program: Arc<Program>,
    scratch: Scratch,
    selected: Vec<u32>,
    /// The conditions read no row: they are evaluated once, before the input starts.
    is_constant: bool,
    /// They are not true.
    is_empty: bool,
}

impl<'p> Filter<'p> {
    pub(super) fn new(input: Source<'p>, program: Arc<Program>, is_constant: bool) -> Filter<'p> {
        let scratch = program.scratch();
        Filter { input, program, scratch, selected: Vec::new(), is_constant, is_empty: false }
    }
}

impl Operator for Filter<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.scratch.reset();
        if self.is_constant {
            self.program.filter(&mut self.scratch, &no_input(), &mut ctx.eval, &mut self.selected)?;
            self.is_empty = self.selected.is_empty();
            return if self.is_empty { Ok(()) } else { self.input.start(ctx) };
        }
        if self.program.is_wide() {
            self.input.limit_rows(1);
        }
        self.input.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if self.is_constant {
            if self.is_empty || !self.input.next(ctx)? {
                return Ok(false);
            }
            std::mem::swap(out, &mut self.input.batch);
            return Ok(true);
        }
        self.scratch.check_failure()?;
        while self.input.next(ctx)? {
            let batch = &mut self.input.batch;
            self.program.filter_to_error(&mut self.scratch, batch, &mut ctx.eval, &mut self.selected)?;
            if self.program.is_wide() {
                let rows = batch.row_count;
                self.input.limit_rows(self.scratch.rows_next(rows, &[]));
            }
            let batch = &mut self.input.batch;
            if self.selected.len() == batch.row_count {
                std::mem::swap(out, batch);
                return Ok(true);
            }
            if !self.selected.is_empty() {
                out.gather_from(batch, &self.selected);
                return Ok(true);
            }
            ctx.check()?;
        }
        Ok(false)
    }
}

pub(super) struct Project<'p> {
    input: Source<'p>,
    program: Arc<Program>,
    scratch: Scratch,
    /// Every expression is an input column, none twice: columns are moved instead of computed.
    moves: Option<Vec<usize>>,
}

impl<'p> Project<'p> {
    pub(super) fn new(input: Source<'p>, exprs: &[Expr], program: Arc<Program>) -> Project<'p> {
        let mut moves = Vec::with_capacity(exprs.len());
        // One bit for each column of the input: a row may be thousands of columns wide.
        let mut taken = SmallVec::<[u64; 4]>::new();
        for expr in exprs {
            let ExprKind::Input(position) = expr.kind else { break };
            let (word, bit) = (position as usize / 64, 1 << (position % 64));
            if taken.len() <= word {
                taken.resize(word + 1, 0);
            }
            if taken[word] & bit != 0 {
                break;
            }
            taken[word] |= bit;
            moves.push(position as usize);
        }
        let scratch = program.scratch();
        let moves = (moves.len() == exprs.len()).then_some(moves);
        Project { input, program, scratch, moves }
    }
}

impl Operator for Project<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.scratch.reset();
        if self.program.is_wide() {
            self.input.limit_rows(1);
        }
        self.input.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if !self.input.next(ctx)? {
            return Ok(false);
        }
        let batch = &mut self.input.batch;
        match &self.moves {
            Some(moves) => {
                for (target, &position) in out.columns.iter_mut().zip(moves) {
                    std::mem::swap(target, &mut batch.columns[position]);
                }
            }
            None => self.program.eval(&mut self.scratch, batch, &mut ctx.eval, &mut out.columns)?,
        }
        out.row_count = batch.row_count;
        if self.program.is_wide() {
            self.input.limit_rows(self.scratch.rows_next(out.row_count, &out.columns));
        }
        Ok(true)
    }
}

pub(super) struct Limit<'p> {
    input: Source<'p>,
    count: Option<RowLimit>,
    offset: Option<RowLimit>,
    left: u64,
    skip: u64,
    /// Reads all rows, and tells how many there were.
    counts_all: bool,
    found: u64,
}

impl<'p> Limit<'p> {
    pub(super) fn new(
        input: Source<'p>,
        count: Option<RowLimit>,
        offset: Option<RowLimit>,
        counts_all: bool,
    ) -> Limit<'p> {
        Limit { input, count, offset, left: 0, skip: 0, counts_all, found: 0 }
    }
}

impl Operator for Limit<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.left = match &self.count {
            Some(count) => count.value(ctx)?,
            None => u64::MAX,
        };
        self.skip = match &self.offset {
            Some(offset) => offset.value(ctx)?,
            None => 0,
        };
        if self.counts_all {
            self.found = 0;
            return self.input.start(ctx);
        }
        if self.left > 0 {
            let wanted = self.left.saturating_add(self.skip);
            let outer =
                std::mem::replace(&mut ctx.rows_wanted, usize::try_from(wanted).unwrap_or(usize::MAX));
            let started = self.input.start(ctx);
            ctx.rows_wanted = outer;
            started?;
        }
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        while self.left > 0 && self.input.next(ctx)? {
            let batch = &mut self.input.batch;
            let rows = batch.row_count as u64;
            self.found += rows;
            if self.skip >= rows {
                self.skip -= rows;
                continue;
            }
            let first = std::mem::take(&mut self.skip);
            let count = (rows - first).min(self.left);
            self.left -= count;
            if first == 0 {
                std::mem::swap(out, batch);
                out.truncate(count as usize);
            } else {
                let rows: Vec<u32> = (first as u32..(first + count) as u32).collect();
                out.gather_from(batch, &rows);
            }
            return Ok(true);
        }
        if self.counts_all {
            while self.input.next(ctx)? {
                self.found += self.input.batch.row_count as u64;
                ctx.check()?;
            }
            ctx.rows_found = Some(self.found);
        }
        Ok(false)
    }
}

/// UNION ALL.
pub(super) struct Append<'p> {
    left: BoxOperator<'p>,
    right: BoxOperator<'p>,
    on_right: bool,
}

impl<'p> Append<'p> {
    pub(super) fn new(left: BoxOperator<'p>, right: BoxOperator<'p>) -> Append<'p> {
        Append { left, right, on_right: false }
    }
}

impl Operator for Append<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.on_right = false;
        self.left.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if !self.on_right {
            if self.left.next(ctx, out)? {
                return Ok(true);
            }
            self.on_right = true;
            self.right.start(ctx)?;
            out.clear();
        }
        self.right.next(ctx, out)
    }
}
