//! Queries of which MySQL knows before it reads a row that they have none: it makes no temporary table for them.
//!
//! It is known of constants among the conditions, of columns that are NOT NULL and asked whether they are NULL, and of subqueries that
//! have no row and are joined. Constants are computed as [`super::Session::constant`] computes them, without errors and warnings; what is
//! known is for descriptions only.

use super::Binder;
use crate::expr::{Expr, ExprKind, SubqueryKind};
use crate::function::FunctionId as F;
use crate::logical::{JoinKind, Logical};
use types::Value;

impl Binder<'_> {
    /// No row meets this condition.
    pub(super) fn is_never_true(&self, condition: &Expr) -> bool {
        crate::progress::step();
        match &condition.kind {
            ExprKind::Call { function: F::And, args, .. } => args.iter().any(|part| self.is_never_true(part)),
            ExprKind::Call { function: F::Or, args, .. } => args.iter().all(|part| self.is_never_true(part)),
            ExprKind::Call { function: F::IsNull, args, .. } if self.is_field(&args[0]) => !args[0].nullable,
            ExprKind::Subquery(subquery)
                if matches!(
                    subquery.kind,
                    SubqueryKind::Exists | SubqueryKind::Quantified { all: false, single: false, .. }
                ) =>
            {
                self.has_no_row(&subquery.plan)
            }
            _ => self.constant(condition).is_some_and(|value| is_false(&value)),
        }
    }

    /// The tree has no row.
    pub(super) fn has_no_row(&self, tree: &Logical) -> bool {
        crate::progress::step();
        match tree {
            Logical::Empty { .. } => true,
            Logical::Filter { input, conditions } => {
                conditions.iter().any(|condition| self.is_never_true(condition)) || self.has_no_row(input)
            }
            Logical::Project { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Distinct { input, .. } => self.has_no_row(input),
            Logical::Join { kind, left, right, conditions } => {
                let is_inner = matches!(kind, JoinKind::Inner | JoinKind::Straight);
                self.has_no_row(left)
                    || is_inner
                        && (self.has_no_row(right) || conditions.iter().any(|part| self.is_never_true(part)))
            }
            Logical::Aggregate { input, keys, rollup, .. } => {
                !keys.is_empty() && !rollup && self.has_no_row(input)
            }
            _ => false,
        }
    }
}

/// FALSE or NULL.
fn is_false(value: &Value) -> bool {
    match value {
        Value::Null | Value::Int(0) | Value::UInt(0) => true,
        Value::Double(value) => *value == 0.0,
        Value::Decimal(value) => value.is_zero(),
        _ => false,
    }
}
