//! Compiled expressions and how they run over a batch.

use super::arith::Arith;
use super::compare::{self, Comparison, TimeComparison};
use super::context::{EvalContext, SqlResult};
use super::convert::{self, Target};
use super::shared::Shared;
use super::vector::{Operand, Pool, Rows, View, union_nulls};
use crate::error::internal;
use plan::expr::{CallOption, Expr};
use service::error::ER_OUT_OF_RESOURCES;
use std::any::Any;
use std::sync::Arc;
use types::vector::{BATCH_BYTES_TARGET, BATCH_ROWS_MAX};
use types::{Batch, Column, DataType, Physical, Value};

/// Expressions compiled together; see the module.
#[derive(Debug)]
pub struct Program {
    nodes: Vec<Node>,
    slot_count: usize,
    /// A user variable is set or a stored function called: each row must see what the row before left, so rows go one by one.
    row_by_row: bool,
    /// Evaluated again it gives the same, and leaves no trace that the first time has not left.
    is_repeatable: bool,
    /// Something in it makes values that may be so long that a batch of them is too much.
    is_wide: bool,
}

/// Functions whose results may be longer than this are computed for few rows at a time.
const WIDE_BYTES: u32 = 64 << 10;
/// Bytes of a column that is kept for the next execution of an expression that is computed alone.
const KEPT_BYTES_MAX: usize = 1 << 10;
/// Bytes of results between two looks whether the statement must end.
const LOOK_BYTES: usize = 1 << 20;
/// Values computed between two such looks, by expressions of many parts.
const LOOK_VALUES: usize = 64 << 10;
/// Parts of an expression whose computing takes less time than a check of the progress.
const FEW_PARTS: usize = 8;
/// The most bytes of a column: no batch may come near 4 GiB.
const COLUMN_BYTES_MAX: usize = 2 << 30;

/// What a program keeps between the batches of one execution: constants, prepared patterns, memory.
#[derive(Default)]
pub struct Scratch {
    pub(super) pool: Pool,
    pub(super) slots: Vec<Slot>,
    next_rows: Vec<u32>,
    /// The most bytes that a function's results had since [`Scratch::rows_next`] asked.
    wide_bytes: usize,
    /// Rows that a wide program takes at a time.
    rows_max: usize,
    /// Which evaluation of an expression that reads an operand several times runs now, and the last that began.
    pub(super) shared_evaluation: u64,
    last_shared_evaluation: u64,
    /// Values of expressions of many parts computed since the last check whether the statement must end.
    values_since_look: usize,
    /// What is wrong with the row after those that [`Program::filter_to_error`] gave.
    failure: Option<Box<service::SqlError>>,
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").field("slots", &self.slots.len()).finish_non_exhaustive()
    }
}

impl Scratch {
    /// Forgets what depended on parameters and outer rows.
    pub fn reset(&mut self) {
        for slot in &mut self.slots {
            *slot = Slot::default();
        }
        self.rows_max = 1;
        self.failure = None;
    }

    /// The error of the row after those that [`Program::filter_to_error`] gave last.
    ///
    /// # Errors
    /// There is one.
    pub(crate) fn check_failure(&mut self) -> SqlResult<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Gives back what is too much to be kept for the next execution.
    pub(crate) fn trim(&mut self) {
        self.pool.trim(KEPT_BYTES_MAX);
        if self.next_rows.capacity() > KEPT_BYTES_MAX / size_of::<u32>() {
            self.next_rows = Vec::new();
        }
    }

    /// How many rows the next batch should have for a wide program whose last one had `rows`: at first one, then as many as stay below
    /// [`BATCH_BYTES_TARGET`], judged by those before.
    pub(crate) fn rows_next(&mut self, rows: usize, out: &[Column]) -> usize {
        let given = out.iter().map(Column::byte_count).sum();
        let bytes = std::mem::take(&mut self.wide_bytes).max(given).max(1);
        let fits = rows.max(1).saturating_mul(BATCH_BYTES_TARGET) / bytes;
        self.rows_max = fits.clamp(1, (rows.max(1) * 8).min(BATCH_ROWS_MAX));
        self.rows_max
    }
}

/// State of one node for one execution.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) constant: Option<Arc<Column>>,
    pub(super) state: Option<Box<dyn Any + Send>>,
}

/// One row of a call of a function kernel.
pub(super) struct Row<'a, 'c> {
    pub(super) args: &'a [View<'a>],
    pub(super) row: usize,
    pub(super) call: &'a RowCall,
    pub(super) ctx: &'a mut EvalContext<'c>,
    pub(super) state: &'a mut Option<Box<dyn Any + Send>>,
    pub(super) out: &'a mut Column,
}

/// Computes one row: pushes exactly one value to `out`.
pub(super) type Kernel = fn(&mut Row<'_, '_>) -> SqlResult<()>;

/// A call computed row by row.
pub(super) struct RowCall {
    pub(super) kernel: Kernel,
    pub(super) args: Vec<Node>,
    /// The arguments' types before conversion.
    pub(super) types: Vec<DataType>,
    pub(super) result: DataType,
    pub(super) option: CallOption,
    /// NULL if any argument is NULL, without calling the kernel.
    pub(super) null_propagates: bool,
    /// An argument is not computed for rows where one before it is NULL.
    pub(super) stops_at_null: bool,
    pub(super) name: &'static str,
    /// The call as error 6527 shows it, of functions that may end with it.
    pub(super) shown: Option<Box<str>>,
    pub(super) slot: usize,
}

impl std::fmt::Debug for RowCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowCall").field("name", &self.name).field("args", &self.args).finish_non_exhaustive()
    }
}

/// A step of a program.
#[derive(Debug)]
pub(super) enum Node {
    Input(usize),
    Outer(usize),
    Const(Column),
    Param {
        index: usize,
        data_type: DataType,
        slot: usize,
    },
    /// Constant while the statement runs: computed on first use.
    Once {
        slot: usize,
        node: Box<Node>,
    },
    UserVariable {
        name: Arc<str>,
        data_type: DataType,
    },
    SetUserVariable {
        name: Arc<str>,
        data_type: DataType,
        node: Box<Node>,
    },
    Arith(Box<Arith>),
    Compare(Box<Comparison>),
    CompareTime(Box<TimeComparison>),
    Between {
        low: Box<Comparison>,
        high: Box<Comparison>,
    },
    In {
        value: Box<Node>,
        items: Vec<(compare::How, Node)>,
        slot: Option<usize>,
    },
    And(Vec<Node>),
    Or(Vec<Node>),
    Xor(Box<Node>, Box<Node>),
    Not(Box<Node>),
    IsNull(Box<Node>),
    /// IS TRUE, IS FALSE of a truth value.
    Is {
        node: Box<Node>,
        wanted: bool,
    },
    /// A number as truth value 0 or 1.
    Truth(Box<Node>),
    Case {
        whens: Vec<(Node, Node)>,
        otherwise: Option<Box<Node>>,
        physical: Physical,
    },
    /// The first value that is not NULL.
    Coalesce {
        items: Vec<Node>,
        physical: Physical,
    },
    /// How many bounds are NULL or not above the value before the first one that is above it; -1 for NULL. All are DOUBLE or
    /// DECIMAL; beside a bound that is DOUBLE the value is one.
    Interval {
        value: Box<Node>,
        bounds: Vec<Node>,
        /// Constant bounds are computed before all else.
        is_early: bool,
        /// All bounds are constants and many: unless one is NULL they are searched by halves, as if they were in order.
        are_searched: bool,
    },
    Convert {
        node: Box<Node>,
        from: DataType,
        to: Target,
    },
    Call(Box<RowCall>),
    /// An operand that several nodes read.
    Shared(Arc<Shared>),
    /// What reads such operands: their values last as long as it is evaluated.
    Sharing(Box<Node>),
}

/// One row without columns: the input of constant expressions.
pub(crate) fn no_input() -> Batch {
    Batch { columns: Vec::new(), row_count: 1 }
}

impl Program {
    /// Compiles expressions of a physical plan.
    ///
    /// # Errors
    /// 1815 for what no physical plan holds, 1235 for functions that do not run yet.
    pub fn compile(exprs: &[Expr]) -> SqlResult<Program> {
        Program::compiled(exprs, super::compile::Compiler::default())
    }

    /// Compiles constants that are computed for their errors before a row is read.
    pub(crate) fn of_checks(exprs: &[Expr]) -> SqlResult<Program> {
        Program::compiled(exprs, super::compile::Compiler::of_checks())
    }

    fn compiled(exprs: &[Expr], mut compiler: super::compile::Compiler) -> SqlResult<Program> {
        let nodes = exprs.iter().map(|expr| compiler.compile(expr)).collect::<SqlResult<Vec<Node>>>()?;
        let sets =
            |expr: &Expr| expr.any(&mut |node| matches!(node.kind, plan::ExprKind::UserVarAssign { .. }));
        let is_wide = exprs.iter().any(|expr| expr.any(&mut makes_long_values));
        let row_by_row = exprs.iter().any(|expr| sets(expr) || plan::rewrite::calls_functions(expr));
        let is_repeatable = exprs.iter().all(plan::rewrite::is_repeatable);
        Ok(Program { nodes, slot_count: compiler.slot_count(), row_by_row, is_repeatable, is_wide })
    }

    /// Whether it should be given few rows at a time; see [`Scratch::rows_next`].
    pub(crate) fn is_wide(&self) -> bool {
        self.is_wide
    }

    /// State for one execution.
    #[must_use]
    pub fn scratch(&self) -> Scratch {
        let mut scratch = Scratch::default();
        scratch.slots.resize_with(self.slot_count, Slot::default);
        scratch
    }

    /// How many expressions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// No expression?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether it is one expression that [`Program::single_value`] may give the value of.
    pub(crate) fn is_single(&self) -> bool {
        !self.is_wide && !self.row_by_row && matches!(&self.nodes[..], [node] if node.is_single())
    }

    /// The value of its one expression, which reads no row, of this type; `None`: it must be evaluated.
    pub(crate) fn single_value(&self, parameters: &[Value], data_type: &DataType) -> Option<Value> {
        self.nodes.first()?.single_value(parameters, data_type)
    }

    /// Evaluates every expression for every row of `input`: `out[i]` becomes expression `i`.
    ///
    /// # Errors
    /// The client's error of the first row that has one.
    pub fn eval(
        &self,
        scratch: &mut Scratch,
        input: &Batch,
        ctx: &mut EvalContext<'_>,
        out: &mut [Column],
    ) -> SqlResult<()> {
        assert!(out.len() == self.nodes.len());
        let count = input.row_count;
        if count == 0 {
            out.iter_mut().for_each(Column::clear);
            return Ok(()); // Constants are not evaluated for no row.
        }
        if self.row_by_row {
            return self.eval_rows(scratch, input, ctx, out);
        }
        if self.is_wide && count > scratch.rows_max.max(1) {
            return self.eval_in_pieces(scratch, input, ctx, out);
        }
        self.eval_for(Rows::All(count), scratch, input, ctx, out)
    }

    /// As [`Program::eval`], a few rows at a time, so that only the results are long, and not all that leads to them.
    fn eval_in_pieces(
        &self,
        scratch: &mut Scratch,
        input: &Batch,
        ctx: &mut EvalContext<'_>,
        out: &mut [Column],
    ) -> SqlResult<()> {
        let mut piece: Vec<Column> = out.iter().map(|column| Column::new(column.physical())).collect();
        let mut first = 0;
        while first < input.row_count {
            let end = input.row_count.min(first + scratch.rows_max.max(1));
            let rows: Vec<u32> = (first as u32..end as u32).collect();
            self.eval_for(Rows::Some(&rows), scratch, input, ctx, &mut piece)?;
            for (out, piece) in out.iter_mut().zip(&piece) {
                if first == 0 {
                    out.reset(piece.physical());
                }
                require_column_size(out.byte_count() + piece.byte_count())?;
                require_column_room(piece.byte_count(), ctx)?;
                out.extend_from(piece);
            }
            env::blocking::pause();
            ctx.session.check_killed()?;
            scratch.rows_next(rows.len(), &piece);
            first = end;
        }
        Ok(())
    }

    fn eval_for(
        &self,
        rows: Rows<'_>,
        scratch: &mut Scratch,
        input: &Batch,
        ctx: &mut EvalContext<'_>,
        out: &mut [Column],
    ) -> SqlResult<()> {
        let count = rows.len();
        for (node, out) in self.nodes.iter().zip(out) {
            let operand = node.eval(input, &mut Run { scratch, ctx }, rows)?;
            if self.is_wide {
                // Thousands of columns, perhaps of megabytes each: one row may take seconds.
                ctx.session.check_killed()?;
            }
            if operand.is_constant() {
                out.reset(operand.column().physical());
                require_column_room(operand.column().byte_count().saturating_mul(count), ctx)?;
                let view = operand.view();
                for row in 0..count {
                    out.push_cell(view.cell(row));
                }
                scratch.pool.release(operand);
            } else {
                match operand.into_owned_or_borrowed() {
                    Ok(mut column) => {
                        std::mem::swap(out, &mut column);
                        scratch.pool.release_column(column);
                    }
                    Err(operand) => out.copy_from(operand.column()),
                }
            }
        }
        Ok(())
    }

    /// As [`Program::eval`], every expression for one row before the next row.
    fn eval_rows(
        &self,
        scratch: &mut Scratch,
        input: &Batch,
        ctx: &mut EvalContext<'_>,
        out: &mut [Column],
    ) -> SqlResult<()> {
        for row in 0..input.row_count as u32 {
            for (node, out) in self.nodes.iter().zip(out.iter_mut()) {
                let operand = node.eval(input, &mut Run { scratch, ctx }, Rows::Some(&[row]))?;
                if row == 0 {
                    out.reset(operand.column().physical());
                }
                out.push_cell(operand.view().cell(0));
                scratch.pool.release(operand);
            }
        }
        if input.row_count == 0 {
            out.iter_mut().for_each(Column::clear);
        }
        Ok(())
    }

    /// As [`Program::filter`]; an error of a row counts only once the rows before it have been given: `selected` holds these, and
    /// [`Scratch::check_failure`] the error. So what is done with them, which may end the statement or fail itself, comes first, as if rows
    /// went one by one.
    ///
    /// # Errors
    /// As [`Program::eval`], if no row comes before it.
    pub(crate) fn filter_to_error(
        &self,
        scratch: &mut Scratch,
        input: &Batch,
        ctx: &mut EvalContext<'_>,
        selected: &mut Vec<u32>,
    ) -> SqlResult<()> {
        let warnings = ctx.warnings.total();
        let Err(error) = self.filter(scratch, input, ctx, selected) else { return Ok(()) };
        // What takes a named lock, sleeps, draws a random number or sets a variable has done so.
        if !self.is_repeatable || input.row_count < 2 {
            return Err(error);
        }
        ctx.warnings.truncate(warnings);
        let mut given = Vec::new();
        for row in 0..input.row_count as u32 {
            ctx.session.check_killed()?;
            let mut one = vec![row];
            if let Err(error) = self.filter_rows(scratch, input, ctx, &mut one) {
                *selected = given;
                if selected.is_empty() {
                    return Err(error);
                }
                scratch.failure = Some(error);
                return Ok(());
            }
            given.extend(one);
        }
        Err(error)
    }

    /// Finds the rows for which every expression is true: `selected` becomes their numbers, ascending. Later
    /// expressions are evaluated only for rows that are still in.
    ///
    /// # Errors
    /// As [`Program::eval`].
    pub fn filter(
        &self,
        scratch: &mut Scratch,
        input: &Batch,
        ctx: &mut EvalContext<'_>,
        selected: &mut Vec<u32>,
    ) -> SqlResult<()> {
        selected.clear();
        if input.row_count == 0 {
            return Ok(()); // Constants are not evaluated for no row.
        }
        if self.row_by_row {
            for row in 0..input.row_count as u32 {
                let mut all = true;
                for node in &self.nodes {
                    let truth = node.eval(input, &mut Run { scratch, ctx }, Rows::Some(&[row]))?;
                    all = !truth.view().is_null(0) && is_true(truth.view(), 0);
                    scratch.pool.release(truth);
                    if !all {
                        break;
                    }
                }
                if all {
                    selected.push(row);
                }
            }
            return Ok(());
        }
        if self.is_wide && input.row_count > scratch.rows_max.max(1) {
            let mut first = 0;
            while first < input.row_count {
                let end = input.row_count.min(first + scratch.rows_max.max(1));
                let mut piece: Vec<u32> = (first as u32..end as u32).collect();
                self.filter_rows(scratch, input, ctx, &mut piece)?;
                selected.extend_from_slice(&piece);
                env::blocking::pause();
                ctx.session.check_killed()?;
                scratch.rows_next(end - first, &[]);
                first = end;
            }
            return Ok(());
        }
        let mut first = true;
        for node in &self.nodes {
            let mut next = std::mem::take(&mut scratch.next_rows);
            next.clear();
            {
                let rows = if first { Rows::All(input.row_count) } else { Rows::Some(selected) };
                let truth = node.eval(input, &mut Run { scratch, ctx }, rows)?;
                let view = truth.view();
                for i in 0..rows.len() {
                    if !view.is_null(i) && is_true(view, i) {
                        next.push(rows.input_row(i));
                    }
                }
                scratch.pool.release(truth);
            }
            std::mem::swap(selected, &mut next);
            scratch.next_rows = next;
            first = false;
            if selected.is_empty() {
                return Ok(());
            }
        }
        if first {
            selected.extend(0..input.row_count as u32);
        }
        Ok(())
    }
}

/// A function, a conversion or a CASE whose value may be very long. Columns and literals are in memory already.
fn makes_long_values(expr: &Expr) -> bool {
    let is_made = !matches!(
        expr.kind,
        plan::ExprKind::Column(_)
            | plan::ExprKind::Input(_)
            | plan::ExprKind::Outer(_)
            | plan::ExprKind::Literal(_)
    );
    is_made && expr.data_type.physical() == Physical::Bytes && expr.data_type.length > WIDE_BYTES
}

/// Checks the size of a batch's column, in bytes.
fn require_column_size(bytes: usize) -> SqlResult<()> {
    if bytes > COLUMN_BYTES_MAX { Err(ER_OUT_OF_RESOURCES.bare()) } else { Ok(()) }
}

/// Checks that the statement may allocate `bytes` more for a batch's column.
fn require_column_room(bytes: usize, ctx: &mut EvalContext<'_>) -> SqlResult<()> {
    if bytes < LOOK_BYTES {
        return Ok(());
    }
    require_column_size(bytes)?;
    if env::memory::may_take(bytes) { Ok(()) } else { ctx.session.check_killed() }
}

impl Program {
    /// Keeps of `selected` the rows for which every expression is true.
    fn filter_rows(
        &self,
        scratch: &mut Scratch,
        input: &Batch,
        ctx: &mut EvalContext<'_>,
        selected: &mut Vec<u32>,
    ) -> SqlResult<()> {
        for node in &self.nodes {
            if selected.is_empty() {
                break;
            }
            let truth = node.eval(input, &mut Run { scratch, ctx }, Rows::Some(selected))?;
            let view = truth.view();
            let mut at = 0;
            selected.retain(|_| {
                let is_kept = !view.is_null(at) && is_true(view, at);
                at += 1;
                is_kept
            });
            scratch.pool.release(truth);
        }
        Ok(())
    }
}

fn is_true(view: View<'_>, row: usize) -> bool {
    match view.column().physical() {
        Physical::Int => view.int(row) != 0,
        Physical::Double => view.double(row) != 0.0,
        Physical::Decimal => !view.decimal(row).is_zero(),
        Physical::Bytes => types::number::parse_double(view.bytes(row)).value != 0.0,
    }
}

/// What evaluation carries along.
pub(super) struct Run<'s, 'x> {
    pub(super) scratch: &'s mut Scratch,
    pub(super) ctx: &'s mut EvalContext<'x>,
}

impl Run<'_, '_> {
    /// Called before each of `parts` parts of an expression is computed for `values` rows, or for each row of a call: one row or one
    /// batch of many thousand parts may be a long work, and what it takes is looked at in between.
    #[inline]
    pub(super) fn check_progress(&mut self, parts: usize, values: usize) -> SqlResult<()> {
        if parts <= FEW_PARTS {
            return Ok(());
        }
        self.count_values(values)
    }

    /// Called before `values` values are computed whose expression may be computed very often for one row.
    pub(super) fn count_values(&mut self, values: usize) -> SqlResult<()> {
        self.scratch.values_since_look += values;
        if self.scratch.values_since_look < LOOK_VALUES {
            return Ok(());
        }
        self.scratch.values_since_look = 0;
        env::blocking::pause();
        self.ctx.session.check_killed()
    }
}

impl Node {
    /// Evaluating it cannot be noticed and costs little: no error, no warning, no effect.
    pub(super) fn is_harmless(&self) -> bool {
        match self {
            Node::Input(_) | Node::Outer(_) | Node::Const(_) | Node::Param { .. } => true,
            Node::Compare(c) => c.left.is_harmless() && c.right.is_harmless() && !c.how.can_fail(),
            Node::Between { low, high } => {
                [low, high].iter().all(|c| c.left.is_harmless() && c.right.is_harmless() && !c.how.can_fail())
            }
            Node::In { value, items, slot: _ } => {
                value.is_harmless() && items.iter().all(|(how, item)| !how.can_fail() && item.is_harmless())
            }
            Node::And(nodes) | Node::Or(nodes) => nodes.iter().all(Node::is_harmless),
            Node::Xor(a, b) => a.is_harmless() && b.is_harmless(),
            Node::Not(node) | Node::IsNull(node) | Node::Is { node, .. } | Node::Truth(node) => {
                node.is_harmless()
            }
            _ => false,
        }
    }

    /// The value of what is the same for all rows: a column of one.
    pub(super) fn constant(&self, input: &Batch, run: &mut Run<'_, '_>) -> SqlResult<Arc<Column>> {
        let operand = self.eval(input, run, Rows::Some(&[0]))?;
        let mut column = Column::new(operand.column().physical());
        column.push_cell(operand.view().cell(0));
        run.scratch.pool.release(operand);
        Ok(Arc::new(column))
    }

    /// Evaluates for `rows` of `input`.
    pub(super) fn eval<'b>(
        &'b self,
        input: &'b Batch,
        run: &mut Run<'_, '_>,
        rows: Rows<'_>,
    ) -> SqlResult<Operand<'b>> {
        let count = rows.len();
        match self {
            Node::Input(index) => {
                let column = input.columns.get(*index).ok_or_else(|| internal("no such input column"))?;
                match rows {
                    Rows::All(_) => Ok(Operand::borrowed(column)),
                    Rows::Some(rows) => {
                        let mut out = run.scratch.pool.take(column.physical());
                        out.gather_from(column, rows);
                        Ok(Operand::owned(out))
                    }
                }
            }
            Node::Const(column) => Ok(Operand::constant(column)),
            Node::Outer(index) => {
                let column = run.ctx.outer.get(*index).ok_or_else(|| internal("no such outer value"))?;
                let mut out = run.scratch.pool.take(column.physical());
                out.push_cell(column.cell(0));
                Ok(Operand::owned_constant(out))
            }
            Node::Param { index, data_type, slot } => {
                if let Some(constant) = &run.scratch.slots[*slot].constant {
                    return Ok(Operand::shared(Arc::clone(constant)));
                }
                let value = run.ctx.params.get(*index).ok_or_else(|| internal("no such parameter"))?;
                let column = Arc::new(convert::value_column(*value, data_type, run.ctx)?);
                run.scratch.slots[*slot].constant = Some(Arc::clone(&column));
                Ok(Operand::shared(column))
            }
            Node::Once { slot, node } => {
                if let Some(constant) = &run.scratch.slots[*slot].constant {
                    return Ok(Operand::shared(Arc::clone(constant)));
                }
                let column = node.constant(input, run)?;
                run.scratch.slots[*slot].constant = Some(Arc::clone(&column));
                Ok(Operand::shared(column))
            }
            Node::UserVariable { name, data_type } => {
                let value = run.ctx.session.user_variable(name).unwrap_or(Value::Null);
                Ok(Operand::owned_constant(convert::value_column((&value).into(), data_type, run.ctx)?))
            }
            Node::SetUserVariable { name, data_type, node } => {
                let operand = node.eval(input, run, rows)?;
                // Each row sets it; the last one stays.
                for row in 0..count {
                    let value = convert::cell_value(operand.view().cell(row), data_type);
                    run.ctx.session.set_user_variable(name, value);
                }
                Ok(operand)
            }
            Node::Arith(arith) => arith.eval(input, run, rows),
            Node::Compare(comparison) => comparison.eval(input, run, rows),
            Node::CompareTime(comparison) => comparison.eval(input, run, rows),
            Node::Between { low, high } => {
                let low = low.eval(input, run, rows)?;
                let high = high.eval(input, run, rows)?;
                let mut out = run.scratch.pool.take(Physical::Int);
                let (a, b) = (low.view(), high.view());
                for i in 0..count {
                    push_tri(&mut out, and3(tri(a, i), tri(b, i)));
                }
                run.scratch.pool.release(low);
                run.scratch.pool.release(high);
                Ok(Operand::owned(out))
            }
            Node::In { value, items, slot } => compare::eval_in(value, items, *slot, input, run, rows),
            Node::And(nodes) => eval_logic(nodes, false, input, run, rows),
            Node::Or(nodes) => eval_logic(nodes, true, input, run, rows),
            Node::Xor(left, right) => {
                let left = left.eval(input, run, rows)?;
                let right = right.eval_beside(&left, input, run, rows)?;
                let mut out = run.scratch.pool.take(Physical::Int);
                let (a, b) = (left.view(), right.view());
                for i in 0..count {
                    push_tri(&mut out, tri(a, i).zip(tri(b, i)).map(|(a, b)| a != b));
                }
                run.scratch.pool.release(left);
                run.scratch.pool.release(right);
                Ok(Operand::owned(out))
            }
            Node::Not(node) => map_bool(node, input, run, rows, |value| value.map(|value| !value)),
            Node::Is { node, wanted } => {
                map_bool(node, input, run, rows, |value| Some(value == Some(*wanted)))
            }
            Node::IsNull(node) => {
                let operand = node.eval(input, run, rows)?;
                let mut out = run.scratch.pool.take(Physical::Int);
                let view = operand.view();
                for i in 0..count {
                    out.push_int(i64::from(view.is_null(i)));
                }
                run.scratch.pool.release(operand);
                Ok(Operand::owned(out))
            }
            Node::Truth(node) => {
                let operand = node.eval(input, run, rows)?;
                let mut out = run.scratch.pool.take(Physical::Int);
                let view = operand.view();
                let distinct = if view.is_constant() { count.min(1) } else { count };
                for i in 0..distinct {
                    if view.is_null(i) {
                        out.push_null();
                    } else {
                        out.push_int(i64::from(is_true(view, i)));
                    }
                }
                let constant = view.is_constant() && count > 0;
                run.scratch.pool.release(operand);
                Ok(if constant { Operand::owned_constant(out) } else { Operand::owned(out) })
            }
            Node::Case { whens, otherwise, physical } => {
                eval_case(whens, otherwise.as_deref(), *physical, input, run, rows)
            }
            Node::Coalesce { items, physical } => eval_coalesce(items, *physical, input, run, rows),
            Node::Interval { value, bounds, is_early, are_searched } => {
                if *is_early {
                    for constant in bounds.iter().filter(|bound| matches!(bound, Node::Once { .. })) {
                        run.check_progress(bounds.len(), 1)?;
                        let operand = constant.eval(input, run, rows)?;
                        run.scratch.pool.release(operand);
                    }
                }
                if *are_searched && count > 0 {
                    search_interval(value, bounds, input, run, rows)
                } else {
                    eval_interval(value, bounds, input, run, rows)
                }
            }
            Node::Convert { node, from, to } => {
                let operand = node.eval(input, run, rows)?;
                convert::eval(operand, from, to, run, count)
            }
            Node::Call(call) => eval_call(call, input, run, rows),
            Node::Shared(shared) => shared.eval(input, run, rows),
            Node::Sharing(node) => {
                run.scratch.last_shared_evaluation += 1;
                let outer = run.scratch.shared_evaluation;
                run.scratch.shared_evaluation = run.scratch.last_shared_evaluation;
                let operand = node.eval(input, run, rows);
                run.scratch.shared_evaluation = outer;
                operand
            }
        }
    }
}

impl Node {
    /// Evaluates the right side of an operator: NULL, without being evaluated, where the left side is NULL. Both sides are of one
    /// physical type.
    pub(super) fn eval_beside<'b>(
        &'b self,
        left: &Operand<'b>,
        input: &'b Batch,
        run: &mut Run<'_, '_>,
        rows: Rows<'_>,
    ) -> SqlResult<Operand<'b>> {
        eval_without_nulls(self, std::slice::from_ref(left), left.column().physical(), input, run, rows)
    }
}

/// Evaluates `node` for the rows where none of `before` is NULL. It is NULL for the others, unless evaluating it for them cannot be
/// noticed. `physical`: of the result where no row is left.
fn eval_without_nulls<'b>(
    node: &'b Node,
    before: &[Operand<'b>],
    physical: Physical,
    input: &'b Batch,
    run: &mut Run<'_, '_>,
    rows: Rows<'_>,
) -> SqlResult<Operand<'b>> {
    if !before.iter().any(|operand| operand.view().may_be_null()) || node.is_harmless() {
        return node.eval(input, run, rows);
    }
    let has_no_null = |row: usize| !before.iter().any(|operand| operand.view().is_null(row));
    let positions: Vec<u32> = (0..rows.len() as u32).filter(|&i| has_no_null(i as usize)).collect();
    let mut pieces = Pieces::new(rows.len());
    let mut physical = physical;
    if !positions.is_empty() {
        let input_rows: Vec<u32> = positions.iter().map(|&i| rows.input_row(i as usize)).collect();
        let value = node.eval(input, run, Rows::Some(&input_rows))?;
        physical = value.column().physical();
        pieces.add(value, &positions);
    }
    Ok(pieces.assemble(physical, run))
}

/// Three-valued truth: `None` is NULL.
type Tri = Option<bool>;

#[inline]
fn tri(view: View<'_>, row: usize) -> Tri {
    if view.is_null(row) { None } else { Some(view.int(row) != 0) }
}

#[inline]
pub(super) fn push_tri(out: &mut Column, value: Tri) {
    match value {
        Some(value) => out.push_int(i64::from(value)),
        None => out.push_null(),
    }
}

#[inline]
pub(super) fn and3(a: Tri, b: Tri) -> Tri {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn map_bool<'b>(
    node: &'b Node,
    input: &'b Batch,
    run: &mut Run<'_, '_>,
    rows: Rows<'_>,
    map: impl Fn(Tri) -> Tri,
) -> SqlResult<Operand<'b>> {
    let operand = node.eval(input, run, rows)?;
    let mut out = run.scratch.pool.take(Physical::Int);
    let view = operand.view();
    for i in 0..rows.len() {
        push_tri(&mut out, map(tri(view, i)));
    }
    run.scratch.pool.release(operand);
    Ok(Operand::owned(out))
}

/// AND (`decides` false) and OR (`decides` true): a row is done with the first operand that decides it.
fn eval_logic<'b>(
    nodes: &'b [Node],
    decides: bool,
    input: &'b Batch,
    run: &mut Run<'_, '_>,
    rows: Rows<'_>,
) -> SqlResult<Operand<'b>> {
    let count = rows.len();
    let mut result: Vec<Tri> = vec![Some(!decides); count];
    // Positions still open, and the input rows they stand for.
    let mut open: Vec<u32> = (0..count as u32).collect();
    let mut open_rows: Vec<u32> = Vec::new();
    for node in nodes {
        run.check_progress(nodes.len(), open.len())?;
        let all = open.len() == count || node.is_harmless();
        let operand = if all {
            node.eval(input, run, rows)?
        } else {
            open_rows.clear();
            open_rows.extend(open.iter().map(|&i| rows.input_row(i as usize)));
            node.eval(input, run, Rows::Some(&open_rows))?
        };
        let view = operand.view();
        let mut at = 0;
        let whole = all;
        open.retain(|&position| {
            let i = if whole { position as usize } else { at };
            at += 1;
            match tri(view, i) {
                Some(value) if value == decides => {
                    result[position as usize] = Some(decides);
                    false
                }
                Some(_) => true,
                None => {
                    result[position as usize] = None;
                    true
                }
            }
        });
        run.scratch.pool.release(operand);
        if open.is_empty() {
            break;
        }
    }
    let mut out = run.scratch.pool.take(Physical::Int);
    for value in result {
        push_tri(&mut out, value);
    }
    Ok(Operand::owned(out))
}

/// Puts the results of several parts, each for some positions, into one column.
struct Pieces<'b> {
    operands: Vec<Operand<'b>>,
    /// For each position: which operand and which row of it; `u32::MAX`: NULL.
    choice: Vec<(u32, u32)>,
}

impl<'b> Pieces<'b> {
    fn new(count: usize) -> Pieces<'b> {
        Pieces { operands: Vec::new(), choice: vec![(u32::MAX, 0); count] }
    }

    fn add(&mut self, operand: Operand<'b>, positions: &[u32]) {
        let part = self.operands.len() as u32;
        for (row, &position) in positions.iter().enumerate() {
            self.choice[position as usize] = (part, row as u32);
        }
        self.operands.push(operand);
    }

    fn assemble(self, physical: Physical, run: &mut Run<'_, '_>) -> Operand<'b> {
        let mut out = run.scratch.pool.take(physical);
        // A bare NULL has another shape.
        let of_shape = |operand: &Operand<'b>| operand.column().physical() == physical;
        let views: smallvec::SmallVec<[Option<View<'_>>; 4]> =
            self.operands.iter().map(|operand| of_shape(operand).then(|| operand.view())).collect();
        for &(part, row) in &self.choice {
            match views.get(part as usize) {
                Some(Some(view)) => out.push_cell(view.cell(row as usize)),
                // Such a NULL, or no arm.
                _ => out.push_null(),
            }
        }
        drop(views);
        for operand in self.operands {
            run.scratch.pool.release(operand);
        }
        Operand::owned(out)
    }
}

fn eval_case<'b>(
    whens: &'b [(Node, Node)],
    otherwise: Option<&'b Node>,
    physical: Physical,
    input: &'b Batch,
    run: &mut Run<'_, '_>,
    rows: Rows<'_>,
) -> SqlResult<Operand<'b>> {
    let mut pieces = Pieces::new(rows.len());
    let mut open: Vec<u32> = (0..rows.len() as u32).collect();
    let mut input_rows: Vec<u32> = Vec::new();
    let mut hits: Vec<u32> = Vec::new();
    for (when, then) in whens {
        if open.is_empty() {
            break;
        }
        run.check_progress(whens.len(), open.len())?;
        input_rows.clear();
        input_rows.extend(open.iter().map(|&i| rows.input_row(i as usize)));
        let truth = when.eval(input, run, Rows::Some(&input_rows))?;
        let view = truth.view();
        hits.clear();
        let mut at = 0;
        open.retain(|&position| {
            let hit = tri(view, at) == Some(true);
            at += 1;
            if hit {
                hits.push(position);
            }
            !hit
        });
        run.scratch.pool.release(truth);
        if !hits.is_empty() {
            input_rows.clear();
            input_rows.extend(hits.iter().map(|&i| rows.input_row(i as usize)));
            let value = then.eval(input, run, Rows::Some(&input_rows))?;
            pieces.add(value, &hits);
        }
    }
    if let Some(otherwise) = otherwise
        && !open.is_empty()
    {
        input_rows.clear();
        input_rows.extend(open.iter().map(|&i| rows.input_row(i as usize)));
        let value = otherwise.eval(input, run, Rows::Some(&input_rows))?;
        pieces.add(value, &open);
    }
    Ok(pieces.assemble(physical, run))
}

fn eval_coalesce<'b>(
    items: &'b [Node],
    physical: Physical,
    input: &'b Batch,
    run: &mut Run<'_, '_>,
    rows: Rows<'_>,
) -> SqlResult<Operand<'b>> {
    let mut pieces = Pieces::new(rows.len());
    let mut open: Vec<u32> = (0..rows.len() as u32).collect();
    let mut input_rows: Vec<u32> = Vec::new();
    for item in items {
        if open.is_empty() {
            break;
        }
        run.check_progress(items.len(), open.len())?;
        input_rows.clear();
        input_rows.extend(open.iter().map(|&i| rows.input_row(i as usize)));
        let value = item.eval(input, run, Rows::Some(&input_rows))?;
        let view = value.view();
        let still: Vec<u32> = open
            .iter()
            .enumerate()
            .filter(|&(i, _)| view.is_null(i))
            .map(|(_, &position)| position)
            .collect();
        pieces.add(value, &open);
        open = still;
    }
    Ok(pieces.assemble(physical, run))
}

/// Whether the bound is above the value of INTERVAL(). Neither is NULL.
fn is_bound_above(bound: View<'_>, at: usize, value: View<'_>, row: usize) -> bool {
    match (bound.column().physical(), value.column().physical()) {
        (Physical::Decimal, Physical::Decimal) => bound.decimal(at) > value.decimal(row),
        (_, Physical::Decimal) => bound.double(at) > value.decimal(row).to_f64(),
        _ => bound.double(at) > value.double(row),
    }
}

/// INTERVAL() of constant bounds, searched by halves: what bounds out of order give depends on where the search looks.
fn search_interval<'b>(
    value: &'b Node,
    bounds: &'b [Node],
    input: &'b Batch,
    run: &mut Run<'_, '_>,
    rows: Rows<'_>,
) -> SqlResult<Operand<'b>> {
    let mut operands = Vec::with_capacity(bounds.len());
    for bound in bounds {
        run.check_progress(bounds.len(), 1)?;
        operands.push(bound.eval(input, run, Rows::Some(&[0]))?);
    }
    if operands.iter().any(|bound| bound.view().is_null(0)) {
        return eval_interval(value, bounds, input, run, rows);
    }
    let value = value.eval(input, run, rows)?;
    let values = value.view();
    let mut out = run.scratch.pool.take(Physical::Int);
    for row in 0..rows.len() {
        if values.is_null(row) {
            out.push_int(-1);
        } else {
            let is_above =
                |at: usize| operands.get(at).is_none_or(|bound| is_bound_above(bound.view(), 0, values, row));
            // The last bound that the search has found not above the value, or the first one.
            let (mut found, mut last) = (0, operands.len().saturating_sub(1));
            while found < last {
                let middle = (found + last).div_ceil(2);
                if is_above(middle) {
                    last = middle - 1;
                } else {
                    found = middle;
                }
            }
            out.push_int(if is_above(found) { 0 } else { found as i64 + 1 });
        }
    }
    for operand in operands {
        run.scratch.pool.release(operand);
    }
    run.scratch.pool.release(value);
    Ok(Operand::owned(out))
}

/// INTERVAL() bound by bound: a row is done with the first bound above its value.
fn eval_interval<'b>(
    value: &'b Node,
    bounds: &'b [Node],
    input: &'b Batch,
    run: &mut Run<'_, '_>,
    rows: Rows<'_>,
) -> SqlResult<Operand<'b>> {
    let value = value.eval(input, run, rows)?;
    let values = value.view();
    let mut result: Vec<i64> =
        (0..rows.len()).map(|row| if values.is_null(row) { -1 } else { bounds.len() as i64 }).collect();
    let mut open: Vec<u32> = (0..rows.len() as u32).filter(|&i| !values.is_null(i as usize)).collect();
    let mut input_rows: Vec<u32> = Vec::new();
    for (below, bound) in (0..).zip(bounds) {
        if open.is_empty() {
            break;
        }
        run.check_progress(bounds.len(), open.len())?;
        input_rows.clear();
        input_rows.extend(open.iter().map(|&i| rows.input_row(i as usize)));
        let bound = bound.eval(input, run, Rows::Some(&input_rows))?;
        let view = bound.view();
        let mut at = 0;
        open.retain(|&position| {
            let is_above = !view.is_null(at) && is_bound_above(view, at, values, position as usize);
            at += 1;
            if is_above {
                result[position as usize] = below;
            }
            !is_above
        });
        run.scratch.pool.release(bound);
    }
    run.scratch.pool.release(value);
    let mut out = run.scratch.pool.take(Physical::Int);
    result.into_iter().for_each(|value| out.push_int(value));
    Ok(Operand::owned(out))
}

fn eval_call<'b>(
    call: &'b RowCall,
    input: &'b Batch,
    run: &mut Run<'_, '_>,
    rows: Rows<'_>,
) -> SqlResult<Operand<'b>> {
    let count = rows.len();
    let mut operands = smallvec::SmallVec::<[Operand<'b>; 4]>::new();
    for arg in &call.args {
        run.check_progress(call.args.len(), count)?;
        let operand = if call.stops_at_null {
            eval_without_nulls(arg, &operands, call.result.physical(), input, run, rows)?
        } else {
            arg.eval(input, run, rows)?
        };
        operands.push(operand);
    }
    let mut out = run.scratch.pool.take(call.result.physical());
    let mut state = run.scratch.slots[call.slot].state.take();
    {
        let views: smallvec::SmallVec<[View<'_>; 4]> = operands.iter().map(Operand::view).collect();
        let is_long = out.physical() == Physical::Bytes && call.result.length > WIDE_BYTES;
        let mut looked_at = 0;
        let any_null = call.null_propagates && views.iter().any(|view| view.may_be_null());
        for row in 0..count {
            if any_null && views.iter().any(|view| view.is_null(row)) {
                out.push_null();
                continue;
            }
            run.check_progress(views.len(), views.len())?;
            (call.kernel)(&mut Row {
                args: &views,
                row,
                call,
                ctx: run.ctx,
                state: &mut state,
                out: &mut out,
            })?;
            debug_assert!(out.len() == row + 1, "{} pushes one value a row", call.name);
            if is_long && out.byte_count() - looked_at >= LOOK_BYTES {
                looked_at = out.byte_count();
                env::blocking::pause();
                run.ctx.session.check_killed()?;
                require_column_size(looked_at)?;
            }
        }
        if is_long {
            run.scratch.wide_bytes = run.scratch.wide_bytes.max(out.byte_count());
        }
    }
    run.scratch.slots[call.slot].state = state;
    for operand in operands {
        run.scratch.pool.release(operand);
    }
    Ok(Operand::owned(out))
}

/// Applies a function to two integer-like columns; used by arithmetic and comparison kernels.
pub(super) fn prepare_nulls(views: &[View<'_>], count: usize, out: &mut Column) {
    union_nulls(views, count, out);
}

#[cfg(test)]
mod tests;
