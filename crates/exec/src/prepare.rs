//! A plan with its expressions compiled.
//!
//! Building the operators of a plan always visits the expressions in the same order. The first build compiles them
//! and keeps the programs in a list; each execution builds its operators again and takes the programs from the list.

use std::sync::Arc;

use plan::physical::{PhysicalPlan, PlanKind};
use types::{Batch, Column, DataType};

use crate::expr::{EvalContext, Program, SqlResult};
use crate::programs::Programs;
use crate::run;
use crate::status_counts::{StatusCounts, StatusKind, plan_counts};

/// A plan ready to run, shared between executions and sessions.
#[derive(Debug)]
pub struct Prepared {
    plan: Arc<PhysicalPlan>,
    programs: Vec<Arc<Program>>,
    change: Option<crate::change::Compiled>,
    /// The plan's `constant_checks`, if there are any.
    constant_checks: Option<Program>,
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
        Ok(Prepared { plan, programs, change, constant_checks, counts })
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<PhysicalPlan> {
        &self.plan
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

/// Computes expressions of constants for their errors. What they warn of is said where they are used.
fn compute(program: &Program, ctx: &mut EvalContext<'_>) -> SqlResult<()> {
    let warned = ctx.warnings.total();
    let mut out: Vec<Column> = (0..program.len()).map(|_| Column::new(types::Physical::Int)).collect();
    let row = Batch { row_count: 1, ..Batch::default() };
    program.eval(&mut program.scratch(), &row, ctx, &mut out)?;
    ctx.warnings.truncate(warned);
    Ok(())
}
