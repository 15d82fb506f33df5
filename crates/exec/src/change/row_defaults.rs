//! Expressions as defaults for rows that no statement writes: those that a definition gives new columns.

use std::sync::Arc;

use catalog::{ColumnDefault, TableEntry};
use plan::{Expr, ExprKind, FunctionId};
use service::error::{ER_BINLOG_UNSAFE_SYSTEM_FUNCTION, ER_NOT_SUPPORTED_YET};
use types::{Batch, Column};

use super::rules::{Computed, Running, bind};
use super::values::{Storing, Target};
use crate::expr::{EvalContext, EvalSettings, NoSession, SqlResult, Warnings};

/// Expressions that make values of columns of a table, compiled.
#[derive(Debug)]
pub struct RowDefaults {
    entry: Arc<TableEntry>,
    computed: Vec<(Computed, Running)>,
}

impl RowDefaults {
    /// The expressions of those columns that are `wanted`.
    ///
    /// # Errors
    /// 1674, 1235: an expression that says something else each time, or that asks the session; one that cannot be computed.
    pub fn compile(entry: &Arc<TableEntry>, wanted: &dyn Fn(usize) -> bool) -> SqlResult<RowDefaults> {
        let mut computed = Vec::new();
        for (ordinal, column) in entry.definition.columns.iter().enumerate() {
            if let ColumnDefault::Expression(text) = &column.default
                && wanted(ordinal)
            {
                let expr = bind(entry, text)?;
                check_functions(&expr)?;
                let rule =
                    Computed::new(ordinal, &expr, &|ordinal| entry.definition.columns[ordinal].name.clone())?;
                let running = Running::new(&rule);
                computed.push((rule, running));
            }
        }
        Ok(RowDefaults { entry: Arc::clone(entry), computed })
    }

    /// Whether there is nothing to compute.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.computed.is_empty()
    }

    /// Computes the values of the only row of `row`, one after the other: all columns by ordinal, TIMESTAMPs in the zone of
    /// `settings`. `number`: of the row, for messages.
    ///
    /// # Errors
    /// The client's.
    pub fn put(
        &mut self,
        row: &mut Batch,
        number: u64,
        settings: &EvalSettings,
        warnings: &mut Warnings,
    ) -> SqlResult<()> {
        let storing = Storing::new(settings, false, true);
        let definition = &self.entry.definition;
        for (rule, running) in &mut self.computed {
            let ordinal = rule.ordinal;
            let mut out = Column::new(definition.columns[ordinal].data_type.physical());
            let mut ctx = EvalContext {
                settings,
                params: &[],
                outer: Vec::new(),
                session: &mut NoSession,
                warnings: &mut *warnings,
            };
            let value = running.eval(rule, row, &mut ctx)?;
            let target = Target { definition, ordinal, row: number, null_allowed: false };
            storing.put(target, value, rule.given(), &mut out, warnings)?;
            row.columns[ordinal] = out;
        }
        Ok(())
    }
}

/// MySQL computes nothing for rows that are there that a replica would not compute alike; and no session is here to be asked.
fn check_functions(expr: &Expr) -> SqlResult<()> {
    use FunctionId as F;
    let calls = |wanted: &dyn Fn(FunctionId) -> bool| {
        expr.any(&mut |node| matches!(&node.kind, ExprKind::Call { function, .. } if wanted(*function)))
    };
    if calls(&|function| !function.is_deterministic() || matches!(function, F::User | F::CurrentUser)) {
        return Err(ER_BINLOG_UNSAFE_SYSTEM_FUNCTION.bare());
    }
    let asks = |function: FunctionId| {
        matches!(function, F::ConnectionId | F::CurrentRole | F::Database | F::FoundRows | F::RowCount)
            || function == F::PsCurrentThreadId
    };
    if calls(&asks) {
        return Err(ER_NOT_SUPPORTED_YET.with(&[&"ADD COLUMN with a default that asks the session"]));
    }
    Ok(())
}
