//! The inputs and the expressions of a node: each shape written once, for reading and for changing.

use super::Logical;
use crate::expr::{ColumnId, Expr, SubqueryKind};

/// Both walks in one mutability: names of the two methods, how a list and a window function are walked, and
/// `mut` or nothing.
macro_rules! walks {
    ($(#[$inputs_doc:meta])* $inputs:ident, $(#[$exprs_doc:meta])* $exprs:ident, $iter:ident, $window_exprs:ident $(, $mutable:tt)?) => {
        $(#[$inputs_doc])*
        pub fn $inputs<'l>(&'l $($mutable)? self, visit: &mut dyn FnMut(&'l $($mutable)? Logical)) {
            crate::progress::step();
            match self {
                Logical::Filter { input, .. }
                | Logical::Project { input, .. }
                | Logical::Aggregate { input, .. }
                | Logical::Window { input, .. }
                | Logical::Distinct { input, .. }
                | Logical::Sort { input, .. }
                | Logical::Limit { input, .. }
                | Logical::JsonTable { input, .. }
                | Logical::Lateral { input, .. }
                | Logical::Apply { input, .. } => visit(input),
                Logical::Join { left, right, .. } | Logical::SetOp { left, right, .. } => {
                    visit(left);
                    visit(right);
                }
                Logical::Recursive { seed, step, .. } => {
                    visit(seed);
                    visit(step);
                }
                Logical::OneRow
                | Logical::Empty { .. }
                | Logical::Scan { .. }
                | Logical::Values { .. }
                | Logical::WorkingTable { .. } => {}
            }
        }

        $(#[$exprs_doc])*
        pub fn $exprs<'l>(&'l $($mutable)? self, visit: &mut dyn FnMut(&'l $($mutable)? Expr)) {
            match self {
                Logical::Values { rows, .. } => rows.$iter().flatten().for_each(visit),
                Logical::Filter { conditions, .. } | Logical::Join { conditions, .. } => {
                    conditions.$iter().for_each(visit);
                }
                Logical::Project { items, .. } => items.$iter().for_each(|(_, expr)| visit(expr)),
                Logical::Aggregate { keys, calls, .. } => {
                    keys.$iter().for_each(|(_, expr)| visit(expr));
                    for (_, call) in calls {
                        call.args.$iter().for_each(&mut *visit);
                        call.order_by.$iter().for_each(|key| visit(&$($mutable)? key.expr));
                    }
                }
                Logical::Window { partition, order, calls, .. } => {
                    partition.$iter().for_each(&mut *visit);
                    order.$iter().for_each(|key| visit(&$($mutable)? key.expr));
                    for (_, call) in calls {
                        call.$window_exprs().for_each(&mut *visit);
                    }
                }
                Logical::Sort { keys, .. } => keys.$iter().for_each(|key| visit(&$($mutable)? key.expr)),
                Logical::Limit { count, offset, .. } => count.$iter().chain(offset).for_each(visit),
                Logical::Apply { subquery, .. } => {
                    if let SubqueryKind::Quantified { condition, .. } = &$($mutable)? subquery.kind {
                        condition.$iter().for_each(&mut *visit);
                    }
                    subquery.needed_if.$iter().for_each(visit);
                }
                Logical::OneRow
                | Logical::Empty { .. }
                | Logical::Scan { .. }
                | Logical::WorkingTable { .. }
                | Logical::Recursive { .. }
                | Logical::Distinct { .. }
                | Logical::JsonTable { .. }
                | Logical::Lateral { .. }
                | Logical::SetOp { .. } => {}
            }
        }
    };
}

impl Logical {
    /// Calls `visit` with each column that the subqueries and LATERAL queries in this tree read of the rows they are computed for,
    /// or of enclosing queries.
    pub(crate) fn each_column_of_subqueries(&self, visit: &mut dyn FnMut(ColumnId)) {
        match self {
            Logical::Apply { subquery, .. } => {
                subquery.outer.iter().for_each(|id| visit(*id));
                self.each_expr(&mut |expr| expr.each_column(&mut |id| visit(id)));
            }
            Logical::Lateral { outer, .. } => outer.iter().for_each(|id| visit(*id)),
            _ => {}
        }
        self.each_input(&mut |input| input.each_column_of_subqueries(visit));
    }

    /// Whether a subquery in this tree reads one of these columns. A join with such a right side is made row by row, and
    /// its sides keep their places.
    pub(crate) fn has_subquery_over(&self, columns: &[ColumnId]) -> bool {
        let mut found = false;
        self.each_column_of_subqueries(&mut |id| found |= columns.contains(&id));
        found
    }

    walks!(
        /// Calls `visit` with each direct input.
        each_input,
        /// Calls `visit` with each expression of this node itself.
        each_expr,
        iter,
        exprs
    );
    walks!(
        /// As [`Logical::each_input`], to change them.
        each_input_mut,
        /// As [`Logical::each_expr`], to change them.
        each_expr_mut,
        iter_mut,
        exprs_mut,
        mut
    );
}
