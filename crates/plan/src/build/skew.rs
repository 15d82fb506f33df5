//! How often columns hold the values that a condition on a column equal to them selects.
//!
//! ```text
//! r.customer = c.id AND o.customer = c.id AND r.customer IN (1, 6)
//! ```
//!
//! If customers 1 and 6 have most orders, more rows of `o` find a partner than the average customer's number of orders says. The statistics and indexes
//! of `o` know how many rows meet the condition there; the estimate of the join is multiplied by how many times the average that is.
//!
//! Invariants:
//! 1. Only columns that are known to be skewed are asked for: of others the average is as good.
//! 2. A factor belongs to two columns, and counts where both are joined, in whichever order.

use crate::expr::{ColumnId, Expr, ExprKind};
use crate::rewrite::substitute;

use super::Builder;
use super::equated::Pair;

/// Equalities of a join beyond which no skew is looked for.
const EQUALITIES_MAX: usize = 64;
/// How many times the average, or what part of it, is believed.
const FACTOR_MAX: f64 = 1_000.0;

impl Builder<'_> {
    /// For pairs of columns that the equalities, each with its share of the pairs of rows, make equal: how many times as many pairs as these say meet
    /// a condition on the first of them. `own`: the conditions on a column alone.
    pub(super) fn skews(
        &self,
        equalities: &[(Pair, f64)],
        own: impl Fn(ColumnId) -> Vec<Expr>,
    ) -> Vec<(Pair, f64)> {
        let mut skews = Vec::new();
        if equalities.len() > EQUALITIES_MAX
            || !equalities.iter().any(|((a, b), _)| self.is_skewed_column(*a) || self.is_skewed_column(*b))
        {
            return skews;
        }
        let mut reached: Vec<ColumnId> = Vec::new();
        for start in equalities.iter().flat_map(|((a, b), _)| [*a, *b]) {
            if reached.contains(&start) {
                continue;
            }
            let conditions = own(start);
            if conditions.is_empty() {
                continue;
            }
            reached.push(start);
            // Each with the share of the equality by which it was reached.
            let mut class = vec![(start, 1.0)];
            let mut at = 0;
            while let Some(&(from, _)) = class.get(at) {
                at += 1;
                for ((a, b), share) in equalities {
                    crate::progress::step();
                    let to = match from {
                        _ if from == *a => *b,
                        _ if from == *b => *a,
                        _ => continue,
                    };
                    let is_new =
                        !reached.contains(&to) && self.have_one_type(start, to) && own(to).is_empty();
                    if is_new {
                        reached.push(to);
                        class.push((to, *share));
                    }
                }
            }
            let most = class
                .iter()
                .map(|(id, _)| *id)
                .max_by(|a, b| self.distinct(*a).total_cmp(&self.distinct(*b)));
            let Some(most) = most else { continue };
            let values = (self.distinct(most) * self.share_with(&conditions, start, most)).max(1.0);
            for (column, share) in class.into_iter().skip(1) {
                if self.is_skewed_column(column) {
                    let factor = self.share_with(&conditions, start, column) / (values * share);
                    skews.push(((start, column), factor.clamp(1.0 / FACTOR_MAX, FACTOR_MAX)));
                }
            }
        }
        skews
    }

    /// Share of the rows of a column's table that meet the conditions on another one.
    fn share_with(&self, conditions: &[Expr], of: ColumnId, column: ColumnId) -> f64 {
        let mut conditions = conditions.to_vec();
        let with = |id: ColumnId| {
            let data_type = self.bound.columns[column.0 as usize].data_type.clone();
            (id == of).then(|| Expr {
                kind: ExprKind::Column(column),
                nullable: self.bound.columns[column.0 as usize].nullable,
                data_type,
                coercibility: crate::expr::Coercibility::Implicit,
            })
        };
        conditions.iter_mut().for_each(|condition| substitute(condition, &with));
        self.conditions_selectivity(&conditions)
    }

    /// Columns of one type, whose values are equal where a condition on both says the same.
    fn have_one_type(&self, one: ColumnId, other: ColumnId) -> bool {
        let info = |id: ColumnId| &self.bound.columns[id.0 as usize];
        info(one).origin.is_some()
            && info(other).origin.is_some()
            && info(one).data_type == info(other).data_type
    }

    fn is_skewed_column(&self, id: ColumnId) -> bool {
        let origin = self.bound.columns.get(id.0 as usize).and_then(|info| info.origin);
        origin.is_some_and(|(table, ordinal)| {
            self.is_skewed(table, crate::physical::Asked::Column(ordinal as usize))
        })
    }
}
