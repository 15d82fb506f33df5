//! The operators: each pulls batches from its inputs and fills the batch it is given.

mod aggregate;
mod apply;
mod dependent_join;
mod distinct;
mod distinct_keys;
mod hash_join;
mod join;
mod join_keys;
mod json_table;
mod loop_join;
mod members;
pub(crate) mod pad;
mod partition;
mod parts;
mod recursive;
mod refine;
mod row_keys;
mod row_query;
pub(crate) mod scan;
mod set_operation;
mod simple;
mod sort;
mod sort_keys;
mod sorter;
mod text_predicate;
mod window;

use std::sync::Arc;

use plan::physical::{Node, Op, PhysicalPlan};
use service::error::{Code, Diagnostic, Level};
use types::{Batch, Column, Value};

use crate::context::{ExecContext, MaterializedRows};
use crate::error::stack_overrun;
use crate::expr::{Program, SqlResult};
use crate::programs::Programs;

pub(crate) use distinct_keys::DistinctKeys;
pub(crate) use row_keys::RowKeys;
pub(crate) use row_query::RowQueries;

/// An operator under way.
///
/// `start` (re)winds it to before the first row: outer values, parameters of a new run are read from then on. `next`
/// fills `out`, whose columns have the node's shapes, with the next rows and answers whether there are any; after
/// `false` it is not called again until the next `start`.
pub(crate) trait Operator {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()>;
    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool>;
}

pub(crate) type BoxOperator<'p> = Box<dyn Operator + 'p>;

/// An operator with a batch for its rows.
pub(crate) struct Source<'p> {
    pub(crate) operator: BoxOperator<'p>,
    pub(crate) batch: Batch,
    number: u32,
    /// Rows that are wanted at a time; see [`Source::limit_rows`].
    rows_max: usize,
    /// A batch that is given in pieces, and its next row.
    pieces: Option<Box<(Batch, usize)>>,
}

impl<'p> Source<'p> {
    pub(crate) fn new(
        plan: &'p PhysicalPlan,
        node: &'p Node,
        programs: &mut Programs<'_>,
    ) -> SqlResult<Source<'p>> {
        let operator = build(plan, node, programs)?;
        let batch = Batch::new(node.shapes());
        Ok(Source { operator, batch, number: node.number, rows_max: usize::MAX, pieces: None })
    }

    /// Limits later batches to `rows_max` rows, because values computed from them may be long.
    pub(crate) fn limit_rows(&mut self, rows_max: usize) {
        self.rows_max = rows_max;
    }

    /// Gives the next rows of a batch that is given in pieces.
    #[cold]
    fn next_piece(&mut self) {
        let Some(pieces) = &mut self.pieces else { return };
        let (whole, first) = &mut **pieces;
        let end = whole.row_count.min(*first + self.rows_max);
        let rows: Vec<u32> = (*first as u32..end as u32).collect();
        self.batch.gather_from(whole, &rows);
        *first = end;
        if end == whole.row_count {
            self.pieces = None;
        }
    }

    /// The batch that was just read has more rows than are wanted.
    #[cold]
    fn begin_pieces(&mut self) {
        let empty = Batch::new(self.batch.columns.iter().map(Column::physical));
        let whole = std::mem::replace(&mut self.batch, empty);
        self.pieces = Some(Box::new((whole, 0)));
        self.next_piece();
    }

    pub(crate) fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.pieces = None;
        if ctx.node_counters.is_empty() {
            return self.operator.start(ctx);
        }
        if let Some(counter) = ctx.node_counters.get_mut(self.number as usize) {
            counter.loops += 1;
            counter.waits_since = Some(counter.micros);
        }
        self.measured(ctx, |source, ctx| source.operator.start(ctx))
    }

    /// Fills `batch` with the next rows.
    pub(crate) fn next(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        if env::stack::is_deep() {
            return Err(stack_overrun());
        }
        self.batch.clear();
        if self.pieces.is_some() {
            self.next_piece();
            return Ok(true);
        }
        let more = self.next_whole(ctx)?;
        if self.batch.row_count > self.rows_max {
            self.begin_pieces();
        }
        Ok(more)
    }

    fn next_whole(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        if ctx.node_counters.is_empty() {
            return self.operator.next(ctx, &mut self.batch);
        }
        let more = self.measured(ctx, |source, ctx| source.operator.next(ctx, &mut source.batch))?;
        if let Some(counter) = ctx.node_counters.get_mut(self.number as usize) {
            counter.rows += self.batch.row_count as u64;
            counter.ends += u64::from(!more);
            if let Some(since) = counter.waits_since.take() {
                counter.first_micros += counter.micros - since;
            }
        }
        Ok(more)
    }

    /// Runs a part of the operator and counts what it takes, if that is asked for (EXPLAIN ANALYZE).
    fn measured<R>(
        &mut self,
        ctx: &mut ExecContext<'_>,
        run: impl FnOnce(&mut Self, &mut ExecContext<'_>) -> SqlResult<R>,
    ) -> SqlResult<R> {
        if !ctx.times_nodes {
            return run(self, ctx);
        }
        let before = ctx.eval.session.clock_utc_micros();
        let examined = ctx.rows_examined;
        let above = std::mem::take(&mut ctx.node_spilled);
        let result = run(self, ctx)?;
        let spilled = std::mem::replace(&mut ctx.node_spilled, above);
        let after = ctx.eval.session.clock_utc_micros();
        if let Some(counter) = ctx.node_counters.get_mut(self.number as usize) {
            counter.spilled |= spilled;
            counter.micros += (after - before).max(0) as u64;
            counter.examined += ctx.rows_examined - examined;
        }
        Ok(result)
    }
}

/// Builds the operator of a node.
pub(crate) fn build<'p>(
    plan: &'p PhysicalPlan,
    node: &'p Node,
    programs: &mut Programs<'_>,
) -> SqlResult<BoxOperator<'p>> {
    if env::stack::is_deep() {
        return Err(stack_overrun());
    }
    Ok(match &node.op {
        Op::OneRow => Box::new(simple::OneRow { done: false }),
        Op::Empty => Box::new(simple::Empty),
        Op::Scan(scan) => scan::build(plan, scan, programs)?,
        Op::Values(rows) => Box::new(simple::Values::new(rows, programs)?),
        Op::JsonTable { input, rows, .. } => {
            Box::new(json_table::JsonTable::new(plan, node, input, rows, programs)?)
        }
        Op::WorkingTable { recursion } => Box::new(recursive::WorkingTable::new(*recursion as usize)),
        Op::Recursive { recursion, seed, step, distinct } => Box::new(recursive::Recursive::new(
            *recursion as usize,
            Source::new(plan, seed, programs)?,
            Source::new(plan, step, programs)?,
            distinct.then(|| node.types.clone()),
        )),
        Op::Filter { input, conditions } => {
            let input = Source::new(plan, input, programs)?;
            let is_constant = conditions.iter().all(plan::Expr::is_constant);
            Box::new(simple::Filter::new(input, programs.take(conditions)?, is_constant))
        }
        Op::Project { input, exprs } => {
            let input = Source::new(plan, input, programs)?;
            Box::new(simple::Project::new(input, exprs, programs.take(exprs)?))
        }
        Op::LookupJoin { kind, left, scan, conditions } => {
            let left_source = Source::new(plan, left, programs)?;
            join::lookup(plan, node, *kind, left_source, scan, conditions, programs)?
        }
        Op::HashJoin { kind, left, right, keys, conditions, null_aware } => Box::new(
            hash_join::HashJoin::new(plan, *kind, (left, right), keys, conditions, *null_aware, programs)?,
        ),
        Op::LoopJoin { kind, left, right, conditions, outer } if !outer.is_empty() => {
            let sides = (&**left, &**right);
            Box::new(dependent_join::DependentJoin::new(plan, *kind, sides, conditions, outer, programs)?)
        }
        Op::LoopJoin { kind, left, right, conditions, .. } => {
            Box::new(loop_join::LoopJoin::new(plan, *kind, left, right, conditions, programs)?)
        }
        Op::Aggregate { input, keys, calls, rollup, ordered } => {
            aggregate::group_by(plan, input, (keys, calls), *rollup, *ordered, node.rows, programs)?
        }
        Op::Window { input, partition, order, calls } => {
            Box::new(window::Window::new(plan, input, partition, order, calls, programs)?)
        }
        Op::Distinct { input } => Box::new(distinct::Distinct::new(
            Source::new(plan, input, programs)?,
            row_keys(plan, node)?,
            node,
        )),
        Op::Sort { input, keys } => Box::new(sort::Sort::new(plan, input, keys, None, programs)?),
        Op::TopN { input, keys, count, offset } => {
            Box::new(sort::Sort::new(plan, input, keys, Some((count, offset.as_ref())), programs)?)
        }
        Op::Limit { input, count, offset, counts_all } => Box::new(simple::Limit::new(
            Source::new(plan, input, programs)?,
            count.as_ref().map(|count| RowLimit::new(count, programs)).transpose()?,
            offset.as_ref().map(|offset| RowLimit::new(offset, programs)).transpose()?,
            *counts_all,
        )),
        Op::Append { left, right } => {
            Box::new(simple::Append::new(build(plan, left, programs)?, build(plan, right, programs)?))
        }
        Op::SetOp { op, all, left, right } => Box::new(set_operation::SetOperation::new(
            *op,
            *all,
            Source::new(plan, left, programs)?,
            Source::new(plan, right, programs)?,
            row_keys(plan, node)?,
            node,
        )),
        Op::Apply { input, subquery, kind, outer, needed_if } => {
            Box::new(apply::Apply::new(plan, (input, subquery), kind, outer, needed_if, programs)?)
        }
        Op::Fetch { input, table, locator, columns } => Box::new(scan::Fetch::new(
            plan,
            Source::new(plan, input, programs)?,
            *table,
            *locator,
            columns,
            programs,
        )?),
    })
}

/// The keys of a node's rows.
fn row_keys(plan: &PhysicalPlan, node: &Node) -> SqlResult<RowKeys> {
    let columns = node.columns.iter().zip(&node.types);
    RowKeys::new(columns.map(|(id, data_type)| (data_type.clone(), plan.is_reference_column(*id))), plan)
}

/// The one that is a note.
const ER_WARN_VIEW_WITHOUT_KEY: u16 = 1355;

/// What each execution of a plan warns of before it reads a row.
pub fn warnings_of(plan: &PhysicalPlan) -> impl Iterator<Item = Diagnostic> {
    plan.warnings.iter().map(warning_of)
}

/// What is wrong with a text and no error, as a client is warned of it.
#[must_use]
pub fn warning_of(warning: &plan::PlanError) -> Diagnostic {
    Diagnostic {
        level: if warning.number == ER_WARN_VIEW_WITHOUT_KEY { Level::Note } else { Level::Warning },
        number: warning.number,
        state: Code::by_number(warning.number).map_or(*b"HY000", |code| code.state),
        message: warning.message.clone(),
    }
}

/// Sets up what operators expect of the context.
pub(crate) fn enter(plan: &PhysicalPlan, ctx: &mut ExecContext<'_>) {
    ctx.working = (0..plan.recursion_count).map(|_| Arc::new(MaterializedRows::default())).collect();
    ctx.spill_file = None;
    ctx.rows_found = None;
    for warning in warnings_of(plan) {
        ctx.eval.warnings.push(warning);
    }
    if plan.outer_slot_count > 0 {
        ctx.eval.outer = (0..plan.outer_slot_count).map(|_| Column::new(types::Physical::Int)).collect();
    }
}

/// The value of one expression without input (SET, KILL, CALL arguments).
///
/// # Errors
/// The client's.
pub fn evaluate(expr: &plan::Expr, ctx: &mut ExecContext<'_>) -> SqlResult<Value> {
    let program = Program::compile(std::slice::from_ref(expr))?;
    let mut out = [Column::new(expr.data_type.physical())];
    let input = Batch { columns: Vec::new(), row_count: 1 };
    program.eval(&mut program.scratch(), &input, &mut ctx.eval, &mut out)?;
    Ok(types::convert::cell_value(out[0].cell(0), &expr.data_type))
}

/// LIMIT's count or offset.
#[derive(Debug)]
pub(crate) struct RowLimit {
    program: Arc<Program>,
    /// Its type: `18446744073709551615` says "all", -1 is none.
    unsigned: bool,
}

impl RowLimit {
    pub(crate) fn new(expr: &plan::expr::Expr, programs: &mut Programs<'_>) -> SqlResult<RowLimit> {
        let program = programs.take(std::slice::from_ref(expr))?;
        Ok(RowLimit { program, unsigned: expr.data_type.unsigned })
    }

    /// Its value in this execution.
    ///
    /// # Errors
    /// 1690 for a negative number.
    pub(crate) fn value(&self, ctx: &mut ExecContext<'_>) -> SqlResult<u64> {
        let mut out = [Column::new(types::Physical::Int)];
        self.program.eval(&mut self.program.scratch(), &crate::expr::no_input(), &mut ctx.eval, &mut out)?;
        Ok(match out[0].cell(0) {
            types::Cell::Int(value) if self.unsigned => value.cast_unsigned(),
            types::Cell::Int(value) => u64::try_from(value)
                .map_err(|_| service::error::ER_DATA_OUT_OF_RANGE.with(&[&"unsigned integer", &"EXECUTE"]))?,
            types::Cell::Double(value) => value.max(0.0) as u64,
            types::Cell::Decimal(value) => value.to_u64().unwrap_or_else(|clipped| clipped.0),
            // A text is read as a signed number; a negative one says "all".
            types::Cell::Bytes(text) => (types::number::parse_double(text).value as i64).cast_unsigned(),
            types::Cell::Null => 0,
        })
    }
}
