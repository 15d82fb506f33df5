//! The conditions between the relations of a group of joins, and how many rows joins by them have.
//!
//! Invariants:
//! 1. The share between two sets of relations is the same, in whatever order each was joined.
//! 2. What was counted of a join when the statement ran before corrects the share by which its relations come together, once in each order.

use crate::expr::Expr;

use super::equated;

/// A condition over several relations.
pub(super) struct JoinCondition {
    /// Which, as bits.
    pub(super) relations_read: u64,
    pub(super) condition: Expr,
    /// Share of the pairs that meet it.
    pub(super) share: f64,
    /// What the sides of an equality read, if a hash table finds equal ones.
    pub(super) hashed: Option<(u64, u64)>,
    /// The columns of an equality that others may imply.
    pub(super) equated: Option<equated::Pair>,
}

impl JoinCondition {
    /// Whether it can be asked when these are joined, and not before.
    fn applies(&self, left: u64, right: u64) -> bool {
        self.relations_read & !(left | right) == 0
            && self.relations_read & left != 0
            && self.relations_read & right != 0
    }

    fn may_hash(&self, left: u64, right: u64) -> bool {
        self.hashed
            .is_some_and(|(a, b)| a & !left == 0 && b & !right == 0 || a & !right == 0 && b & !left == 0)
    }
}

/// By what the estimate of a join of these relations is to be multiplied, beside what others say of parts of it.
struct Correction {
    relations: u64,
    factor: f64,
}

impl Correction {
    /// Whether all of the relations are there when these are joined, and not before.
    fn applies(&self, left: u64, right: u64) -> bool {
        let (all, own) = (left | right, self.relations);
        own & !all == 0 && own & !left != 0 && own & !right != 0
    }
}

/// Largest factor of a correction, and the inverse of the smallest.
const FACTOR_MAX: f64 = 1e12;

/// All conditions of a group of joins.
pub(super) struct JoinConditions {
    conditions: Vec<JoinCondition>,
    corrections: Vec<Correction>,
}

impl JoinConditions {
    pub(super) fn new(conditions: Vec<JoinCondition>) -> JoinConditions {
        JoinConditions { conditions, corrections: Vec::new() }
    }

    /// Those that can be asked when these are joined, and not before.
    pub(super) fn between(&self, left: u64, right: u64) -> impl Iterator<Item = &JoinCondition> {
        self.conditions.iter().filter(move |join| join.applies(left, right))
    }

    /// The expressions of these.
    pub(super) fn exprs_between(&self, left: u64, right: u64) -> Vec<Expr> {
        self.between(left, right).map(|join| join.condition.clone()).collect()
    }

    /// Whether one of them is an equality for a hash table.
    pub(super) fn may_hash(&self, left: u64, right: u64) -> bool {
        self.between(left, right).any(|join| join.may_hash(left, right))
    }

    /// Share of the pairs of two sets of relations that meet the conditions between them.
    pub(super) fn share(&self, left: u64, right: u64) -> f64 {
        self.estimated_share(left, right) * self.correction(left, right)
    }

    /// The same without what was counted. Equalities that others imply say nothing more.
    fn estimated_share(&self, left: u64, right: u64) -> f64 {
        let mut share = 1.0;
        let mut implied = false;
        for join in self.between(left, right) {
            match join.equated {
                None => share *= join.share,
                Some(_) => implied = true,
            }
        }
        if !implied {
            return share;
        }
        let is_within =
            |join: &&JoinCondition| join.relations_read & !left == 0 || join.relations_read & !right == 0;
        let known = self.conditions.iter().filter(is_within).filter_map(|join| join.equated);
        let between = self.between(left, right);
        share * equated::share(known, between.filter_map(|join| Some((join.equated?, join.share))))
    }

    /// What was counted of joins that come together when these are joined.
    pub(super) fn correction(&self, left: u64, right: u64) -> f64 {
        let together = self.corrections.iter().filter(|correction| correction.applies(left, right));
        together.map(|correction| correction.factor).product()
    }

    /// Takes over that the join of these relations has `counted` rows where all that is known so far says `estimated`.
    pub(super) fn correct(&mut self, relations: u64, estimated: f64, counted: f64) {
        let factor = (counted / estimated.max(f64::MIN_POSITIVE)).clamp(1.0 / FACTOR_MAX, FACTOR_MAX);
        self.corrections.push(Correction { relations, factor });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_counts_once_in_each_order() {
        let mut joins = JoinConditions::new(Vec::new());
        joins.correct(0b011, 10.0, 1000.0);
        joins.correct(0b111, 1000.0, 10.0);
        // (0 1) 2, (0 2) 1, 0 (1 2)
        let orders = [[(1, 2), (3, 4)], [(1, 4), (5, 2)], [(2, 4), (1, 6)]];
        for order in orders {
            let product: f64 = order.iter().map(|&(left, right)| joins.share(left, right)).product();
            assert!((product - 1.0).abs() < 1e-12, "{product}");
        }
        assert_eq!(joins.share(1, 2), 100.0);
        assert_eq!(joins.share(2, 4), 1.0);
    }
}
