//! A plan with its expressions compiled.
//!
//! Building the operators of a plan always visits the expressions in the same order. The first build compiles them
//! and keeps the programs in a list; each execution builds its operators again and takes the programs from the list.

use std::sync::Arc;

use plan::physical::{Node, Op, PhysicalPlan, PlanKind};
use types::{Batch, Column, DataType, Value};

use crate::expr::{EvalContext, Program, Scratch, SqlResult, no_input};
use crate::output::value_of;
use crate::programs::Programs;
use crate::run;
use crate::status_counts::{StatusCounts, StatusKind, plan_counts};

/// Bytes of a value whose memory is kept for the next one.
const VALUE_BYTES_KEPT_MAX: usize = 1 << 10;

/// A plan ready to run, shared between executions and sessions.
#[derive(Debug)]
pub struct Prepared {
    plan: Arc<PhysicalPlan>,
    programs: Vec<Arc<Program>>,
    change: Option<crate::change::Compiled>,
    /// The plan's `constant_checks`, if there are any.
    constant_checks: Option<Program>,
    /// The program of a plan that is nothing but one expression.
    expression: Option<Arc<Program>>,
    /// Its value may be had without evaluating it ([`Prepared::single_value`]).
    is_single: bool,
    /// What each execution counts for the way the plan reads its tables.
    counts: Box<[(StatusKind, u64)]>,
}

impl Prepared {
    /// Compiles every expression of the plan.
    ///
    /// # Errors
    /// 1235 for a function that does not run yet.
    pub fn new(plan: Arc<PhysicalPlan>) -> SqlResult<Prepared> {
        let mut programs = Programs::new(&[]);
        let mut change = None;
        match &plan.kind {
            PlanKind::Query(node) | PlanKind::Do(node) => {
                run::build(&plan, node, &mut programs)?;
            }
            PlanKind::Insert(_) | PlanKind::Update(_) | PlanKind::Delete(_) => {
                change = Some(crate::change::compile(&plan, &mut programs)?);
            }
        }
        let programs = programs.into_compiled();
        let constant_checks = match &plan.constant_checks[..] {
            [] => None,
            checks => Some(Program::of_checks(checks)?),
        };
        let counts = plan_counts::of(&plan);
        let expression = programs.first().filter(|_| is_expression(&plan)).map(Arc::clone);
        let is_single = expression.as_ref().is_some_and(|program| program.is_single());
        Ok(Prepared { plan, programs, change, constant_checks, expression, is_single, counts })
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<PhysicalPlan> {
        &self.plan
    }

    /// The value of a plan that is one expression over its parameters, where running it would only give this value: no error, no
    /// warning, no effect. `None`: it must be run.
    #[must_use]
    pub fn single_value(&self, parameters: &[Value]) -> Option<Value> {
        if !self.is_single {
            return None;
        }
        self.expression.as_ref()?.single_value(parameters, &self.plan.output.first()?.data_type)
    }

    /// Memory for [`Prepared::value`]; `None`: the plan is more than an expression.
    #[must_use]
    pub fn value_memory(&self) -> Option<ValueMemory> {
        let program = self.expression.as_ref()?;
        let out = [Column::new(self.plan.output.first()?.data_type.physical())];
        Some(ValueMemory { scratch: program.scratch(), out })
    }

    /// The value of a plan that is one expression, without operators.
    ///
    /// # Errors
    /// The client's.
    pub fn value(&self, memory: &mut ValueMemory, ctx: &mut EvalContext<'_>) -> SqlResult<Value> {
        let (Some(program), Some(output)) = (&self.expression, self.plan.output.first()) else {
            return Err(crate::error::internal("a plan that is no expression"));
        };
        memory.scratch.reset();
        program.eval(&mut memory.scratch, &no_input(), ctx, &mut memory.out)?;
        let value = value_of(memory.out[0].cell(0), &output.data_type);
        memory.scratch.trim();
        if memory.out[0].byte_count() > VALUE_BYTES_KEPT_MAX {
            memory.out = [Column::new(output.data_type.physical())];
        }
        Ok(value)
    }

    /// The types of the columns into which a parameter goes as it is, if it goes nowhere else: of an INSERT, columns of long
    /// values in no index. `None`: it is needed whole.
    #[must_use]
    pub fn long_columns(&self, parameter: u32) -> Option<Vec<&DataType>> {
        if !self.plan.needs.functions.is_empty() {
            return None;
        }
        match (&self.plan.kind, &self.change) {
            (PlanKind::Insert(insert), Some(crate::change::Compiled::Insert(compiled))) => {
                compiled.long_columns(&self.plan, insert, parameter)
            }
            _ => None,
        }
    }

    /// Counts an execution.
    pub(crate) fn count(&self, status: &StatusCounts) {
        for &(kind, count) in &self.counts {
            status.add(kind, count);
        }
    }

    /// Computes the plan's constants that must be right before a row is read.
    ///
    /// # Errors
    /// Those of the constants: 1525 for a text beside a date that is none.
    pub fn check_constants(&self, ctx: &mut EvalContext<'_>) -> SqlResult<()> {
        match &self.constant_checks {
            None => Ok(()),
            Some(checks) => compute(checks, ctx),
        }
    }

    /// The compiled part of INSERT, UPDATE, DELETE.
    pub(crate) fn change(&self) -> Option<&crate::change::Compiled> {
        self.change.as_ref()
    }

    pub(crate) fn programs(&self) -> Programs<'_> {
        Programs::new(&self.programs)
    }
}

/// What computing the value of a plan keeps for the next time: memory, no values that anybody reads.
#[derive(Debug)]
pub struct ValueMemory {
    scratch: Scratch,
    out: [Column; 1],
}

/// Whether a plan is nothing but one expression.
fn is_expression(plan: &PhysicalPlan) -> bool {
    let PlanKind::Query(Node { op: Op::Project { input, exprs }, .. }) = &plan.kind else { return false };
    matches!(input.op, Op::OneRow)
        && exprs.len() == 1
        && plan.output.len() == 1
        && plan.tables.is_empty()
        && plan.constant_checks.is_empty()
        && plan.warnings.is_empty()
        && plan.needs.functions.is_empty()
}

/// Computes expressions of constants for their errors. What they warn of is said where they are used.
fn compute(program: &Program, ctx: &mut EvalContext<'_>) -> SqlResult<()> {
    let warned = ctx.warnings.total();
    let mut out: Vec<Column> = (0..program.len()).map(|_| Column::new(types::Physical::Int)).collect();
    let row = Batch { row_count: 1, ..Batch::default() };
    program.eval(&mut program.scratch(), &row, ctx, &mut out)?;
    ctx.warnings.truncate(warned);
    Ok(())
}
