//! WITH CHECK OPTION: whether a row that is written through a view is one of the view's rows.
//!
//! Invariants:
//! 1. A row is looked at as it goes to the table, behind BEFORE triggers and generated columns and before CHECK constraints.
//! 2. A condition that is not true refuses the row, an unknown one too.

use std::sync::Arc;

use plan::physical::ViewCheck;
use service::error::Level;
use types::{Batch, Cell};

use super::rules::{self, Computed, is_false};
use super::values::diagnostic;
use crate::context::ExecContext;
use crate::error::coded;
use crate::expr::{SqlResult, Warnings};
use crate::run::RowQueries;

/// The option of a view, compiled.
#[derive(Debug)]
pub(super) struct Compiled {
    view: Arc<str>,
    conditions: Vec<Computed>,
    queries: Vec<u32>,
}

/// Its execution.
pub(super) type Running = Vec<rules::Running>;

impl Compiled {
    pub(super) fn new(check: &ViewCheck) -> SqlResult<Compiled> {
        let unnamed = |_: usize| Arc::from("?");
        let conditions = check.conditions.iter();
        Ok(Compiled {
            view: Arc::clone(&check.view),
            conditions: conditions
                .map(|condition| Computed::new(usize::MAX, condition, &unnamed))
                .collect::<SqlResult<_>>()?,
            queries: check.queries.clone(),
        })
    }

    pub(super) fn running(&self) -> Running {
        self.conditions.iter().map(rules::Running::new).collect()
    }

    /// Whether the only row of `row` is one of the view's.
    ///
    /// # Errors
    /// 1369 where it is not, a warning with IGNORE; the client's, of an expression.
    pub(super) fn admits(
        &self,
        running: &mut Running,
        queries: &mut RowQueries<'_>,
        row: &Batch,
        ignore: bool,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<bool> {
        if self.is_shown(running, queries, row, ctx)? {
            Ok(true)
        } else {
            self.refuse(ignore, ctx.eval.warnings)
        }
    }

    /// Whether the only row of `row` meets all conditions.
    ///
    /// # Errors
    /// The client's, of an expression.
    pub(super) fn is_shown(
        &self,
        running: &mut Running,
        queries: &mut RowQueries<'_>,
        row: &Batch,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<bool> {
        let is_true = |truth: Cell<'_>| truth != Cell::Null && !is_false(truth);
        let mut admitted = true;
        for (condition, running) in self.conditions.iter().zip(running) {
            admitted = admitted && is_true(running.eval(condition, row, &mut ctx.eval)?);
        }
        for &query in &self.queries {
            admitted = admitted && is_true(queries.eval(query as usize, row, 0, ctx)?.0);
        }
        Ok(admitted)
    }

    #[cold]
    fn refuse(&self, ignore: bool, warnings: &mut Warnings) -> SqlResult<bool> {
        let text = format!("CHECK OPTION failed '{}'", self.view);
        if !ignore {
            return Err(coded(1369, &text));
        }
        warnings.push(diagnostic(Level::Warning, 1369, &text));
        Ok(false)
    }
}
