//! Operators that keep little: rows from nowhere, filter, projection, limit, union, distinct, recursion.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use plan::physical::SetOp;
use plan::{Expr, ExprKind};
use types::vector::BATCH_ROWS_MAX;
use types::{Batch, Column, DataType};

use super::kept::columns;
use super::{BoxOperator, Kept, Operator, Source, limit_value, no_input};
use crate::context::{ExecContext, coded};
use crate::expr::{Program, Scratch, SqlResult};
use crate::key::append_row_key;
use crate::prepare::Programs;

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
        while out.row_count < BATCH_ROWS_MAX && self.next < self.rows.len() {
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

/// The rows of the last step of a recursive CTE.
pub(super) struct WorkingTable {
    pub(super) recursion: usize,
    pub(super) next: usize,
}

impl Operator for WorkingTable {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.next = 0;
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        let Some(batch) = ctx.working[self.recursion].get(self.next) else { return Ok(false) };
        out.extend_from(batch);
        self.next += 1;
        Ok(out.row_count > 0)
    }
}

/// What a recursive CTE with UNION DISTINCT has given: types of its columns, keys of its rows.
type Given = (Vec<DataType>, HashMap<Vec<u8>, (), foldhash::fast::FixedState>);

/// A recursive CTE: all rows are made at the start of a pull and handed out step by step.
pub(super) struct Recursive<'p> {
    recursion: usize,
    seed: Source<'p>,
    step: Source<'p>,
    distinct: Option<Given>,
    pending: VecDeque<Batch>,
    steps: u64,
    seeded: bool,
}

impl<'p> Recursive<'p> {
    pub(super) fn new(
        recursion: usize,
        seed: Source<'p>,
        step: Source<'p>,
        distinct: Option<Vec<DataType>>,
    ) -> Recursive<'p> {
        let distinct = distinct.map(|types| (types, HashMap::default()));
        Recursive { recursion, seed, step, distinct, pending: VecDeque::new(), steps: 0, seeded: false }
    }

    /// The rows of `batch` that are new.
    fn fresh(distinct: &mut Option<Given>, batch: &Batch) -> Batch {
        let mut rows = Vec::with_capacity(batch.row_count);
        for row in 0..batch.row_count {
            if let Some((types, seen)) = distinct {
                let mut key = Vec::new();
                append_row_key(&batch.columns, types, row, &mut key);
                if seen.insert(key, ()).is_some() {
                    continue;
                }
            }
            rows.push(row as u32);
        }
        let mut fresh = Batch::new(batch.columns.iter().map(Column::physical));
        fresh.gather_from(batch, &rows);
        fresh
    }
}

impl Operator for Recursive<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.pending.clear();
        self.steps = 0;
        self.seeded = false;
        if let Some((_, seen)) = &mut self.distinct {
            seen.clear();
        }
        ctx.working[self.recursion].clear();
        self.seed.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        loop {
            if let Some(batch) = self.pending.pop_front() {
                if batch.row_count == 0 {
                    continue;
                }
                out.extend_from(&batch);
                return Ok(true);
            }
            let mut made = Vec::new();
            if self.seeded {
                if ctx.working[self.recursion].is_empty() {
                    return Ok(false);
                }
                self.steps += 1;
                if self.steps > ctx.limits.recursion_depth_max {
                    return Err(coded(
                        3636,
                        &format!(
                            "Recursive query aborted after {} iterations. Try increasing \
                             @@cte_max_recursion_depth to a larger value.",
                            self.steps
                        ),
                    ));
                }
                self.step.start(ctx)?;
                while self.step.next(ctx)? {
                    made.push(Self::fresh(&mut self.distinct, &self.step.batch));
                    ctx.check()?;
                }
            } else {
                self.seeded = true;
                while self.seed.next(ctx)? {
                    made.push(Self::fresh(&mut self.distinct, &self.seed.batch));
                }
            }
            made.retain(|batch| batch.row_count > 0);
            if made.is_empty() {
                ctx.working[self.recursion].clear();
                return Ok(false);
            }
            ctx.working[self.recursion].clone_from(&made);
            self.pending.extend(made);
        }
    }
}

pub(super) struct Filter<'p> {
    input: Source<'p>,
    program: Arc<Program>,
    scratch: Scratch,
    selected: Vec<u32>,
}

impl<'p> Filter<'p> {
    pub(super) fn new(input: Source<'p>, program: Arc<Program>) -> Filter<'p> {
        let scratch = program.scratch();
        Filter { input, program, scratch, selected: Vec::new() }
    }
}

impl Operator for Filter<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.scratch.reset();
        self.input.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        while self.input.next(ctx)? {
            let batch = &mut self.input.batch;
            self.program.filter(&mut self.scratch, batch, &mut ctx.eval, &mut self.selected)?;
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
        let mut moves = Vec::new();
        for expr in exprs {
            match expr.kind {
                ExprKind::Input(position) if !moves.contains(&(position as usize)) => {
                    moves.push(position as usize);
                }
                _ => break,
            }
        }
        let scratch = program.scratch();
        let moves = (moves.len() == exprs.len()).then_some(moves);
        Project { input, program, scratch, moves }
    }
}

impl Operator for Project<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.scratch.reset();
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
        Ok(true)
    }
}

pub(super) struct Limit<'p> {
    input: Source<'p>,
    count: Option<Arc<Program>>,
    offset: Option<Arc<Program>>,
    left: u64,
    skip: u64,
}

impl<'p> Limit<'p> {
    pub(super) fn new(
        input: Source<'p>,
        count: Option<Arc<Program>>,
        offset: Option<Arc<Program>>,
    ) -> Limit<'p> {
        Limit { input, count, offset, left: 0, skip: 0 }
    }
}

impl Operator for Limit<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.left = match &self.count {
            Some(count) => limit_value(count, ctx)?,
            None => u64::MAX,
        };
        self.skip = match &self.offset {
            Some(offset) => limit_value(offset, ctx)?,
            None => 0,
        };
        if self.left > 0 {
            self.input.start(ctx)?;
        }
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        while self.left > 0 && self.input.next(ctx)? {
            let batch = &mut self.input.batch;
            let rows = batch.row_count as u64;
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

type KeySet<V> = HashMap<Box<[u8]>, V, foldhash::fast::FixedState>;

pub(super) struct Distinct<'p> {
    input: Source<'p>,
    types: Vec<DataType>,
    seen: KeySet<()>,
    bytes: usize,
}

impl<'p> Distinct<'p> {
    pub(super) fn new(input: Source<'p>, types: Vec<DataType>) -> Distinct<'p> {
        Distinct { input, types, seen: HashMap::default(), bytes: 0 }
    }
}

impl Operator for Distinct<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.seen.clear();
        self.bytes = 0;
        self.input.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        let mut rows = Vec::new();
        let mut key = Vec::new();
        while self.input.next(ctx)? {
            rows.clear();
            for row in 0..self.input.batch.row_count {
                key.clear();
                append_row_key(&self.input.batch.columns, &self.types, row, &mut key);
                if !self.seen.contains_key(&key[..]) {
                    self.bytes += key.len() + 48;
                    self.seen.insert(key.clone().into_boxed_slice(), ());
                    rows.push(row as u32);
                }
            }
            if !rows.is_empty() {
                out.gather_from(&self.input.batch, &rows);
                return Ok(true);
            }
            ctx.check()?;
        }
        Ok(false)
    }
}

/// EXCEPT and INTERSECT: the right side is counted by key, the left side asks.
pub(super) struct SetOperation<'p> {
    op: SetOp,
    all: bool,
    left: Source<'p>,
    right: Source<'p>,
    types: Vec<DataType>,
    counts: KeySet<u64>,
    given: KeySet<()>,
    counted: bool,
}

impl<'p> SetOperation<'p> {
    pub(super) fn new(
        op: SetOp,
        all: bool,
        left: Source<'p>,
        right: Source<'p>,
        types: Vec<DataType>,
    ) -> SetOperation<'p> {
        SetOperation {
            op,
            all,
            left,
            right,
            types,
            counts: HashMap::default(),
            given: HashMap::default(),
            counted: false,
        }
    }
}

impl Operator for SetOperation<'_> {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.counts.clear();
        self.given.clear();
        self.counted = false;
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        let mut key = Vec::new();
        if !std::mem::replace(&mut self.counted, true) {
            self.right.start(ctx)?;
            while self.right.next(ctx)? {
                for row in 0..self.right.batch.row_count {
                    key.clear();
                    append_row_key(&self.right.batch.columns, &self.types, row, &mut key);
                    *self.counts.entry(key.clone().into_boxed_slice()).or_insert(0) += 1;
                }
                ctx.check()?;
            }
            self.left.start(ctx)?;
        }
        let mut rows = Vec::new();
        while self.left.next(ctx)? {
            rows.clear();
            for row in 0..self.left.batch.row_count {
                key.clear();
                append_row_key(&self.left.batch.columns, &self.types, row, &mut key);
                let count = self.counts.get_mut(&key[..]);
                let found = count.as_ref().is_some_and(|count| **count > 0);
                if self.all
                    && found
                    && let Some(count) = count
                {
                    *count -= 1;
                }
                let wanted = found == (self.op == SetOp::Intersect);
                if wanted && (self.all || self.given.insert(key.clone().into_boxed_slice(), ()).is_none()) {
                    rows.push(row as u32);
                }
            }
            if !rows.is_empty() {
                out.gather_from(&self.left.batch, &rows);
                return Ok(true);
            }
            ctx.check()?;
        }
        Ok(false)
    }
}

/// Everything an operator gives, kept.
pub(super) fn keep_all(source: &mut Source<'_>, ctx: &mut ExecContext<'_>, kept: &mut Kept) -> SqlResult<()> {
    source.start(ctx)?;
    while source.next(ctx)? {
        kept.push(&source.batch);
        ctx.check()?;
    }
    Ok(())
}
