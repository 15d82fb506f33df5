//! Values of constants for the planner's estimates: ranges of indexes as the execution will find them.

use catalog::TableDefinition;
use plan::constants::{Constants, RangeKeys};
use plan::physical::RangePlan;
use plan::{Expr, ExprKind};
use types::{Batch, Column, ValueRef};

use crate::expr::{EvalContext, EvalSettings, NoSession, Program, Warnings};
use crate::key::{IndexKeys, value_range};

/// Computes constants with a session's settings and the parameters of the run that comes next.
#[derive(Clone, Copy, Debug)]
pub struct PlannedConstants<'a> {
    /// How expressions are evaluated.
    pub settings: &'a EvalSettings,
    /// The parameters, if they are known.
    pub params: &'a [ValueRef<'a>],
}

impl PlannedConstants<'_> {
    /// The values of constants; nothing if one is not known, takes long, or is an error, which is the execution's to give.
    fn values(&self, exprs: &[Expr]) -> Option<Vec<Column>> {
        let is_known = |expr: &Expr| match expr.kind {
            ExprKind::Literal(_) => true,
            ExprKind::Param(ordinal) => (ordinal as usize) < self.params.len(),
            _ => expr.is_foldable_with(self.params.len()),
        };
        if !exprs.iter().all(is_known) {
            return None;
        }
        let program = Program::compile(exprs).ok()?;
        let mut warnings = Warnings::new(0);
        let mut session = NoSession;
        let mut context = EvalContext {
            settings: self.settings,
            params: self.params,
            outer: Vec::new(),
            session: &mut session,
            warnings: &mut warnings,
        };
        let mut out: Vec<Column> = exprs.iter().map(|expr| Column::new(expr.data_type.physical())).collect();
        let row = Batch { row_count: 1, ..Batch::default() };
        program.eval(&mut program.scratch(), &row, &mut context, &mut out).ok()?;
        Some(out)
    }
}

impl Constants for PlannedConstants<'_> {
    fn range_keys(&self, table: &TableDefinition, index: usize, range: &RangePlan) -> RangeKeys {
        let ends = || range.lower.iter().chain(&range.upper);
        // Where texts that begin alike end is known in bytes only.
        if ends().any(|end| end.like_prefix) {
            return RangeKeys::Unknown;
        }
        let exprs = range.equal.iter().map(|value| &value.expr).chain(ends().map(|end| &end.expr));
        let Some(values) = self.values(&exprs.cloned().collect::<Vec<_>>()) else {
            return RangeKeys::Unknown;
        };
        let mode = self.settings.date_mode();
        let keys = IndexKeys { definition: table, index, zone: &self.settings.time_zone, mode };
        match value_range(keys, range, &values, 0) {
            Some(keys) => RangeKeys::Keys(keys),
            None => RangeKeys::Nothing,
        }
    }
}
