//! Subqueries computed for every row: once if nothing of the row is read, else per row with a cache. What is looked for among rows that are the same for
//! all is found in a set of them ([`members`](super::members)). Nothing is computed for rows for which nothing reads it ([`needed_if`](plan::physical::Op::Apply)).

use std::sync::Arc;

use hashbrown::HashMap;
use plan::physical::{ApplyKind, Node, PhysicalPlan};
use types::{Batch, Column, DataType, Physical};

use super::members::{Member, Members};
use super::{Operator, Source};
use crate::context::{ExecContext, MaterializedCursor, MaterializedRows};
use crate::error::coded;
use crate::expr::{Program, Scratch, SqlResult};
use crate::key::append_exact_key;
use crate::programs::Programs;

/// Answers of a correlated subquery that are remembered.
const CACHE_ROWS_MAX: usize = 10_000;

pub(super) struct Apply<'p> {
    input: Source<'p>,
    subquery: Source<'p>,
    kind: &'p ApplyKind,
    outer: &'p [(u32, u32)],
    outer_types: Vec<DataType>,
    condition: Option<(Scratch, Arc<Program>)>,
    /// Which rows it is needed for; none: for all.
    needed_if: Option<(Scratch, Arc<Program>)>,
    shape: Physical,
    /// The rows of an uncorrelated ANY or ALL.
    materialized: Option<MaterializedRows>,
    /// Their values, if equality is asked.
    members: Option<Members>,
    /// The answer of an uncorrelated scalar or EXISTS: a one-row column.
    constant: Option<Column>,
    /// Answers by outer values.
    cache: HashMap<Box<[u8]>, Column, foldhash::fast::FixedState>,
}

impl<'p> Apply<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        (input, subquery): (&'p Node, &'p Node),
        kind: &'p ApplyKind,
        outer: &'p [(u32, u32)],
        needed_if: &'p [plan::Expr],
        programs: &mut Programs<'_>,
    ) -> SqlResult<Apply<'p>> {
        let outer_types = outer.iter().map(|(_, position)| input.types[*position as usize].clone()).collect();
        let members = match kind {
            ApplyKind::Quantified { keys, .. } if !keys.is_empty() => {
                Some(Members::new(plan, input, subquery, keys, programs)?)
            }
            _ => None,
        };
        let shape = match kind {
            ApplyKind::Scalar => subquery.types.first().map_or(Physical::Int, DataType::physical),
            _ => Physical::Int,
        };
        let input = Source::new(plan, input, programs)?;
        let subquery = Source::new(plan, subquery, programs)?;
        let condition = match kind {
            ApplyKind::Quantified { condition, .. } => {
                let program = programs.take(std::slice::from_ref(&all_of(condition)))?;
                Some((program.scratch(), program))
            }
            _ => None,
        };
        let needed_if = match needed_if {
            [] => None,
            conditions => {
                let program = programs.take(std::slice::from_ref(&all_of(conditions)))?;
                Some((program.scratch(), program))
            }
        };
        Ok(Apply {
            input,
            subquery,
            kind,
            outer,
            outer_types,
            condition,
            needed_if,
            shape,
            materialized: None,
            members,
            constant: None,
            cache: HashMap::default(),
        })
    }

    /// The answer for one input row.
    fn answer(&mut self, row: usize, ctx: &mut ExecContext<'_>) -> SqlResult<Column> {
        let mut answer = Column::new(self.shape);
        match self.kind {
            ApplyKind::Scalar => {
                self.subquery.start(ctx)?;
                let mut rows = 0;
                while self.subquery.next(ctx)? {
                    rows += self.subquery.batch.row_count;
                    check_single(true, rows)?;
                    answer.push_cell(self.subquery.batch.columns[0].cell(0));
                }
                if rows == 0 {
                    answer.push_null();
                }
            }
            ApplyKind::Exists => {
                self.subquery.start(ctx)?;
                let found = self.subquery.next(ctx)?;
                answer.push_int(i64::from(found));
            }
            ApplyKind::Quantified { all, single, .. } => {
                let mut result = QuantifiedResult { all: *all, unknown: false, decided: None };
                let mut rows = 0;
                // All rows are counted where only one may be.
                let goes_on = |result: &QuantifiedResult| *single || result.decided.is_none();
                if self.materialized.is_some() && self.probe_members(row, &mut result, ctx)? {
                    // The set knows.
                } else if let Some(materialized) = self.materialized.take() {
                    let mut cursor = MaterializedCursor::default();
                    while goes_on(&result)
                        && let Some(batch) = cursor.next(&materialized)?
                    {
                        rows += batch.row_count;
                        check_single(*single, rows)?;
                        self.compare_rows(row, batch, &mut result, ctx)?;
                    }
                    self.materialized = Some(materialized);
                } else {
                    self.subquery.start(ctx)?;
                    while goes_on(&result) && self.subquery.next(ctx)? {
                        rows += self.subquery.batch.row_count;
                        check_single(*single, rows)?;
                        let shapes: Vec<Physical> =
                            self.subquery.batch.columns.iter().map(Column::physical).collect();
                        let batch = std::mem::replace(&mut self.subquery.batch, Batch::new(shapes));
                        self.compare_rows(row, &batch, &mut result, ctx)?;
                        self.subquery.batch = batch;
                    }
                }
                result.unknown |= *single && rows == 0;
                match result.answer() {
                    Some(truth) => answer.push_int(i64::from(truth)),
                    None => answer.push_null(),
                }
            }
        }
        Ok(answer)
    }

    /// The truth of [`needed_if`](plan::physical::Op::Apply) for each row; none: it is needed for all.
    fn needed(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<Option<Column>> {
        let Some((scratch, program)) = &mut self.needed_if else { return Ok(None) };
        // What the conditions warn of is said where they are evaluated for their own sake.
        let warned = ctx.eval.warnings.total();
        let mut truth = [Column::new(Physical::Int)];
        program.eval(scratch, &self.input.batch, &mut ctx.eval, &mut truth)?;
        ctx.eval.warnings.truncate(warned);
        let [truth] = truth;
        Ok(Some(truth))
    }

    /// Keeps the rows that are compared with every row of the input, if they are the same for all.
    fn prepare(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        if !matches!(self.kind, ApplyKind::Quantified { .. }) || !self.outer.is_empty() {
            return Ok(());
        }
        let materialized = match self.materialized.take() {
            Some(materialized) => materialized,
            None => MaterializedRows::all(&mut self.subquery, ctx.limits.temporary_bytes, ctx)?,
        };
        let materialized = self.materialized.insert(materialized);
        match &mut self.members {
            Some(members) => members.prepare(&self.input.batch, materialized, ctx),
            None => Ok(()),
        }
    }

    /// Asks the set of values for one input row. False: there is none, or it does not know.
    fn probe_members(
        &mut self,
        row: usize,
        result: &mut QuantifiedResult,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<bool> {
        let Some(mut members) = self.members.take() else { return Ok(false) };
        let member = members.probe(row, ctx)?;
        let known = match member {
            None => false,
            Some(Member::Yes) => {
                result.decided = Some(!result.all);
                true
            }
            Some(Member::AskAll) if members.is_single() => {
                result.unknown =
                    self.materialized.as_ref().is_some_and(|materialized| !materialized.is_empty());
                true
            }
            Some(Member::AskAll) => false,
            Some(Member::AskRowsWithNull) => {
                for batch in members.rows_with_null() {
                    if result.decided.is_none() {
                        self.compare_rows(row, batch, result, ctx)?;
                    }
                }
                true
            }
        };
        self.members = Some(members);
        Ok(known)
    }

    /// Compares the outer row with every row of `batch`.
    fn compare_rows(
        &mut self,
        row: usize,
        batch: &Batch,
        result: &mut QuantifiedResult,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let Some((scratch, program)) = &mut self.condition else { return Ok(()) };
        ctx.check()?;
        let input = &self.input.batch;
        let mut pairs = Batch::new(input.columns.iter().chain(&batch.columns).map(Column::physical));
        let repeated = vec![row as u32; batch.row_count];
        crate::row_buffer::gather(input, &repeated, &mut pairs, 0);
        for (target, column) in pairs.columns[input.columns.len()..].iter_mut().zip(&batch.columns) {
            target.copy_from(column);
        }
        pairs.row_count = batch.row_count;
        let mut truth = [Column::new(Physical::Int)];
        program.eval(scratch, &pairs, &mut ctx.eval, &mut truth)?;
        for row in 0..pairs.row_count {
            if truth[0].is_null(row) {
                result.unknown = true;
            } else if (truth[0].ints()[row] != 0) != result.all {
                // ANY found one that holds, or ALL one that does not.
                result.decided = Some(!result.all);
                return Ok(());
            }
        }
        Ok(())
    }
}

/// 1242: only one row may come.
fn check_single(single: bool, rows: usize) -> SqlResult<()> {
    if single && rows > 1 {
        return Err(coded(1242, "Subquery returns more than 1 row"));
    }
    Ok(())
}

struct QuantifiedResult {
    all: bool,
    unknown: bool,
    decided: Option<bool>,
}

impl QuantifiedResult {
    fn answer(&self) -> Option<bool> {
        match self.decided {
            Some(truth) => Some(truth),
            None if self.unknown => None,
            None => Some(self.all),
        }
    }
}

/// Conditions joined by AND.
fn all_of(conditions: &[plan::Expr]) -> plan::Expr {
    if let [condition] = conditions {
        return condition.clone();
    }
    plan::Expr::new(
        plan::ExprKind::Call {
            function: plan::FunctionId::And,
            args: conditions.to_vec(),
            option: plan::expr::CallOption::None,
        },
        DataType::BOOL,
        true,
    )
}

impl Operator for Apply<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.materialized = None;
        if let Some(members) = &mut self.members {
            members.reset();
        }
        self.constant = None;
        self.cache.clear();
        for (scratch, _) in self.condition.iter_mut().chain(&mut self.needed_if) {
            scratch.reset();
        }
        self.input.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if !self.input.next(ctx)? {
            return Ok(false);
        }
        let rows = self.input.batch.row_count;
        let needed = self.needed(ctx)?;
        let is_needed =
            |row: usize| needed.as_ref().is_none_or(|truth| !truth.is_null(row) && truth.ints()[row] != 0);
        if (0..rows).any(is_needed) {
            self.prepare(ctx)?;
        }
        let mut computed = Column::new(self.shape);
        let quantified = matches!(self.kind, ApplyKind::Quantified { .. });
        let mut key = Vec::new();
        for row in 0..rows {
            if !is_needed(row) {
                match self.kind {
                    ApplyKind::Scalar => computed.push_null(),
                    _ => computed.push_int(0),
                }
                continue;
            }
            if self.outer.is_empty() && !quantified {
                let answer = match self.constant.take() {
                    Some(answer) => answer,
                    None => self.answer(row, ctx)?,
                };
                computed.push_cell(answer.cell(0));
                self.constant = Some(answer);
                continue;
            }
            for &(slot, position) in self.outer {
                let column = &self.input.batch.columns[position as usize];
                let mut value = Column::new(column.physical());
                value.push_cell(column.cell(row));
                ctx.eval.outer[slot as usize] = value;
            }
            // The left side of ANY and ALL may be any expression of the row: only plain correlation is cached.
            if quantified {
                let answer = self.answer(row, ctx)?;
                computed.push_cell(answer.cell(0));
                continue;
            }
            key.clear();
            let values: Vec<Column> =
                self.outer.iter().map(|(slot, _)| ctx.eval.outer[*slot as usize].clone()).collect();
            for (value, data_type) in values.iter().zip(&self.outer_types) {
                append_exact_key(value.cell(0), data_type, &mut key);
            }
            if let Some(answer) = self.cache.get(&key[..]) {
                computed.push_cell(answer.cell(0));
                continue;
            }
            let answer = self.answer(row, ctx)?;
            computed.push_cell(answer.cell(0));
            if self.cache.len() < CACHE_ROWS_MAX {
                self.cache.insert(key.clone().into_boxed_slice(), answer);
            }
            ctx.check()?;
        }
        let width = self.input.batch.columns.len();
        for (target, column) in out.columns.iter_mut().zip(&mut self.input.batch.columns) {
            std::mem::swap(target, column);
        }
        out.columns[width] = computed;
        out.row_count = rows;
        Ok(true)
    }
}
