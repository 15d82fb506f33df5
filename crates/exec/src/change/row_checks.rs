//! CHECK constraints for rows that no statement writes: those that a definition finds in its table.

use std::sync::Arc;

use catalog::{CheckConstraint, TableEntry};
use service::error::{Diagnostic, ER_CHECK_CONSTRAINT_VIOLATED, Level};
use types::{Batch, Column};

use super::rules::{bind, is_false, place};
use crate::expr::{EvalContext, EvalSettings, NoSession, Program, Scratch, SqlResult, Warnings};

/// Enforced CHECK constraints of a table, compiled.
#[derive(Debug)]
pub struct RowChecks {
    checks: Vec<Compiled>,
    columns: Vec<usize>,
}

#[derive(Debug)]
struct Compiled {
    name: Arc<str>,
    program: Program,
    scratch: Scratch,
    truth: [Column; 1],
}

impl RowChecks {
    /// Those enforced constraints of a table that are `wanted`.
    ///
    /// # Errors
    /// A condition that cannot be computed.
    pub fn compile(
        entry: &Arc<TableEntry>,
        wanted: &dyn Fn(&CheckConstraint) -> bool,
    ) -> SqlResult<RowChecks> {
        let mut bound = Vec::new();
        let mut columns = Vec::new();
        for check in entry.definition.checks.iter().filter(|check| check.enforced && wanted(check)) {
            let expr = bind(entry, &check.expression)?;
            columns_of(&expr, &mut columns);
            bound.push((check.name.clone(), expr));
        }
        columns.sort_unstable();
        columns.dedup();
        let position = |ordinal: usize| columns.binary_search(&ordinal).ok().map(|position| position as u32);
        let mut checks = Vec::new();
        for (name, mut expr) in bound {
            place(&mut expr, &position)?;
            let program = Program::compile(std::slice::from_ref(&expr))?;
            let (scratch, truth) = (program.scratch(), [Column::new(expr.data_type.physical())]);
            checks.push(Compiled { name, program, scratch, truth });
        }
        Ok(RowChecks { checks, columns })
    }

    /// Whether there is nothing to check.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }

    /// Ordinals of the columns that rows to check have, ascending.
    #[must_use]
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Checks rows of these columns, TIMESTAMPs in the zone of `settings`.
    ///
    /// # Errors
    /// 3819 of the first row that has a condition that is false, and of its first such condition; or one that cannot be computed,
    /// `warnings` have the reason then.
    pub fn check(&mut self, rows: &Batch, settings: &EvalSettings, warnings: &mut Warnings) -> SqlResult<()> {
        let mut first: Option<(usize, &Arc<str>)> = None;
        for check in &mut self.checks {
            let mut ctx = EvalContext {
                settings,
                params: &[],
                outer: Vec::new(),
                session: &mut NoSession,
                warnings: &mut *warnings,
                snapshot: None,
                transaction: None,
            };
            if let Err(error) = check.program.eval(&mut check.scratch, rows, &mut ctx, &mut check.truth) {
                // As MySQL has it: the constraint is violated, and the diagnostics say why.
                warnings.push(Diagnostic {
                    level: Level::Error,
                    number: error.number,
                    state: error.state,
                    message: error.message,
                });
                return Err(ER_CHECK_CONSTRAINT_VIOLATED.with(&[&check.name]));
            }
            let end = first.map_or(rows.row_count, |(row, _)| row);
            if let Some(row) = (0..end).find(|&row| is_false(check.truth[0].cell(row))) {
                first = Some((row, &check.name));
            }
        }
        match first {
            Some((_, name)) => Err(ER_CHECK_CONSTRAINT_VIOLATED.with(&[name])),
            None => Ok(()),
        }
    }
}

fn columns_of(expr: &plan::Expr, columns: &mut Vec<usize>) {
    if let plan::ExprKind::Input(ordinal) = expr.kind {
        columns.push(ordinal as usize);
    }
    expr.each_child(&mut |child| columns_of(child, columns));
}
