//! The order of joins: relations are joined pairwise, in the order that costs least by what [`Steps`] says of each pair.
//!
//! Up to [`EXHAUSTIVE_MAX`] relations the best order of every subset is found from the best orders of smaller ones, whatever its shape: either
//! side of a join may be one itself. Up to [`UNCONNECTED_MAX`] that includes pairs that no condition connects, which is worth it for sides of a few rows. Beyond, or
//! after [`PAIRS_MAX`] pairs, the cheapest pair is joined next until one is left.
//!
//! Invariants:
//! 1. Each relation stands in the order once.
//! 2. Of orders that cost the same the first one in the order of the text is taken: plans do not depend on chance.

use std::collections::BTreeMap;

use crate::progress;

/// Relations up to which every order is considered in which each join has a condition.
const EXHAUSTIVE_MAX: usize = 12;
/// Relations up to which pairs without a condition are considered as well.
const UNCONNECTED_MAX: usize = 8;
/// Pairs that are considered before the rest is joined by what is cheapest next.
const PAIRS_MAX: usize = 10_000;

/// Relations that are joined, as a set of bits, with what that costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Side {
    pub(super) set: u64,
    pub(super) rows: f64,
    pub(super) cost: f64,
}

impl Side {
    /// The relation, if it is only one.
    pub(super) fn only(&self) -> Option<usize> {
        (self.set.count_ones() == 1).then(|| self.set.trailing_zeros() as usize)
    }
}

/// What joining costs.
pub(super) trait Steps {
    /// Reading a relation.
    fn start(&self, relation: usize) -> Side;
    /// Whether a condition is about both.
    fn is_connected(&self, left: u64, right: u64) -> bool;
    /// The rows of a join and what it costs, with its sides. None: these sides cannot be joined.
    fn join(&mut self, left: &Side, right: &Side) -> Option<Side>;
}

/// An order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Order {
    Relation(usize),
    Join(Box<Order>, Box<Order>),
}

/// The cheapest order of `count` relations, and what it costs. None: they cannot be joined.
pub(super) fn best(count: usize, steps: &mut impl Steps) -> Option<(Order, Side)> {
    match count {
        0 => None,
        1 => Some((Order::Relation(0), steps.start(0))),
        2..=EXHAUSTIVE_MAX => exhaustive(count, steps).or_else(|| cheapest_next(count, steps)),
        _ => cheapest_next(count, steps),
    }
}

/// The best known order of a set of relations: what it costs, and the sides of its last join.
#[derive(Clone, Copy)]
struct Best {
    side: Side,
    joined: Option<(usize, usize)>,
}

fn exhaustive(count: usize, steps: &mut impl Steps) -> Option<(Order, Side)> {
    let full = (1usize << count) - 1;
    let mut bests: Vec<Option<Best>> = vec![None; full + 1];
    for at in 0..count {
        bests[1 << at] = Some(Best { side: steps.start(at), joined: None });
    }
    let mut pair_count = 0;
    for set in 1..=full {
        if set.count_ones() < 2 {
            continue;
        }
        let mut best: Option<Best> = None;
        let mut consider = |left: usize, right: usize| {
            let (Some(left_best), Some(right_best)) = (bests[left], bests[right]) else { return };
            if count > UNCONNECTED_MAX && !steps.is_connected(left as u64, right as u64) {
                return;
            }
            progress::step();
            pair_count += 1;
            let Some(side) = steps.join(&left_best.side, &right_best.side) else { return };
            if best.is_none_or(|other| side.cost < other.side.cost) {
                best = Some(Best { side, joined: Some((left, right)) });
            }
        };
        for at in (0..count).rev().filter(|at| set & (1 << at) != 0) {
            consider(set ^ (1 << at), 1 << at);
        }
        // Either side is a join: the one with the first relation is the left one.
        let lowest = set & set.wrapping_neg();
        let mut left = (set - 1) & set;
        while left != 0 {
            let right = set ^ left;
            if left & lowest != 0 && left.count_ones() > 1 && right.count_ones() > 1 {
                consider(left, right);
            }
            left = (left - 1) & set;
        }
        bests[set] = best;
        if pair_count > PAIRS_MAX {
            return None;
        }
    }
    Some((order_of(&bests, full)?, bests[full]?.side))
}

fn order_of(bests: &[Option<Best>], set: usize) -> Option<Order> {
    Some(match bests[set]?.joined {
        None => Order::Relation(set.trailing_zeros() as usize),
        Some((left, right)) => {
            Order::Join(Box::new(order_of(bests, left)?), Box::new(order_of(bests, right)?))
        }
    })
}

fn cheapest_next(count: usize, steps: &mut impl Steps) -> Option<(Order, Side)> {
    let mut parts: BTreeMap<u64, (Side, Order)> = BTreeMap::new();
    let mut pairs: Vec<(u64, u64, Side, bool)> = Vec::new();
    for at in 0..count {
        let side = steps.start(at);
        note_pairs(steps, &parts, &side, &mut pairs);
        parts.insert(side.set, (side, Order::Relation(at)));
    }
    while parts.len() > 1 {
        let added = |&(left, right, side, _): &(u64, u64, Side, bool)| {
            let before = parts[&left].0.cost + parts[&right].0.cost;
            side.cost - before + side.rows * crate::cost::ROW
        };
        let cheapest = pairs.iter().min_by(|a, b| b.3.cmp(&a.3).then(added(a).total_cmp(&added(b))));
        let &(left, right, side, _) = cheapest?;
        let (_, left_order) = parts.remove(&left)?;
        let (_, right_order) = parts.remove(&right)?;
        pairs.retain(|pair| (pair.0 | pair.1) & side.set == 0);
        note_pairs(steps, &parts, &side, &mut pairs);
        parts.insert(side.set, (side, Order::Join(Box::new(left_order), Box::new(right_order))));
    }
    parts.into_values().next().map(|(side, order)| (order, side))
}

/// What joining each of `parts` with `side` costs; the last of a pair: a condition connects it.
fn note_pairs(
    steps: &mut impl Steps,
    parts: &BTreeMap<u64, (Side, Order)>,
    side: &Side,
    pairs: &mut Vec<(u64, u64, Side, bool)>,
) {
    for (part, _) in parts.values() {
        progress::step();
        let is_connected = steps.is_connected(part.set, side.set);
        for (left, right) in [(part, side), (side, part)] {
            if let Some(joined) = steps.join(left, right) {
                pairs.push((left.set, right.set, joined, is_connected));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relations of these sizes; conditions between two, with their share of the pairs; a join costs its rows and those of its smaller side.
    struct Sizes {
        rows: Vec<f64>,
        conditions: Vec<(usize, usize, f64)>,
        /// Relations that may only be the right side, of a left side with these.
        attached: Vec<(usize, u64)>,
        joins: usize,
    }

    impl Sizes {
        fn new(rows: &[f64], conditions: &[(usize, usize, f64)]) -> Sizes {
            Sizes { rows: rows.to_vec(), conditions: conditions.to_vec(), attached: Vec::new(), joins: 0 }
        }
    }

    impl Steps for Sizes {
        fn start(&self, relation: usize) -> Side {
            Side { set: 1 << relation, rows: self.rows[relation], cost: 0.0 }
        }

        fn is_connected(&self, left: u64, right: u64) -> bool {
            self.conditions.iter().any(|&(a, b, _)| {
                (left >> a | right >> b) & 1 == 1
                    && (left >> b | right >> a) & 1 == 1
                    && (left & (1 << a | 1 << b)).count_ones() == 1
            })
        }

        fn join(&mut self, left: &Side, right: &Side) -> Option<Side> {
            self.joins += 1;
            for &(at, needs) in &self.attached {
                let bit = 1 << at;
                if left.set == bit || right.set == bit && left.set & needs != needs {
                    return None;
                }
            }
            let set = left.set | right.set;
            let share: f64 = (self.conditions.iter())
                .filter(|&&(a, b, _)| (set >> a) & (set >> b) & 1 == 1)
                .filter(|&&(a, b, _)| {
                    ![left, right].iter().any(|side| (side.set >> a) & (side.set >> b) & 1 == 1)
                })
                .map(|condition| condition.2)
                .product();
            let rows = left.rows * right.rows * share;
            Some(Side { set, rows, cost: left.cost + right.cost + rows + left.rows.min(right.rows) })
        }
    }

    fn set_of(order: &Order) -> u64 {
        match order {
            Order::Relation(at) => 1 << at,
            Order::Join(left, right) => {
                let (left, right) = (set_of(left), set_of(right));
                assert_eq!(left & right, 0, "a relation stands in the order once");
                left | right
            }
        }
    }

    fn cost_of(order: &Order, steps: &mut Sizes) -> Side {
        match order {
            Order::Relation(at) => steps.start(*at),
            Order::Join(left, right) => {
                let (left, right) = (cost_of(left, steps), cost_of(right, steps));
                steps.join(&left, &right).expect("an order that can be run")
            }
        }
    }

    /// Every order, by trying all.
    fn least(sides: &[Side], steps: &mut Sizes) -> f64 {
        let [_, _, ..] = sides else { return sides[0].cost };
        let mut least_cost = f64::INFINITY;
        for a in 0..sides.len() {
            for b in 0..sides.len() {
                if a == b {
                    continue;
                }
                let Some(joined) = steps.join(&sides[a], &sides[b]) else { continue };
                let mut rest: Vec<Side> =
                    (0..sides.len()).filter(|at| *at != a && *at != b).map(|at| sides[at]).collect();
                rest.push(joined);
                least_cost = least_cost.min(least(&rest, steps));
            }
        }
        least_cost
    }

    #[test]
    fn every_shape_is_considered() {
        // Two pairs that leave few rows each: joined with each other last.
        let mut steps = Sizes::new(&[1e4, 1e4, 1e4, 1e4], &[(0, 1, 1e-7), (2, 3, 1e-7), (1, 2, 1.0)]);
        let order = best(4, &mut steps).unwrap().0;
        let pair = |a, b| Box::new(Order::Join(Box::new(Order::Relation(a)), Box::new(Order::Relation(b))));
        assert_eq!(order, Order::Join(pair(0, 1), pair(2, 3)));
    }

    #[test]
    fn no_order_is_cheaper_than_the_one_found() {
        let mut seed = 7u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let count = 2 + next(4) as usize;
            let rows: Vec<f64> = (0..count).map(|_| 10f64.powi(next(5) as i32)).collect();
            let mut steps = Sizes::new(&rows, &[]);
            for b in 1..count {
                let a = next(b as u64) as usize;
                steps.conditions.push((a, b, 10f64.powi(-(next(5) as i32))));
                if next(4) == 0 {
                    steps.attached.push((b, 1 << a));
                }
            }
            let (order, side) =
                best(count, &mut steps).expect("each is attached to one that stands before it");
            assert_eq!(set_of(&order), (1 << count) - 1);
            let found = cost_of(&order, &mut steps).cost;
            assert_eq!(found, side.cost);
            let sides: Vec<Side> = (0..count).map(|at| steps.start(at)).collect();
            let least_cost = least(&sides, &mut steps);
            assert!(found <= least_cost * (1.0 + 1e-9), "{found} for {least_cost}: {order:?}");
        }
    }

    #[test]
    fn many_relations_are_ordered_in_few_steps() {
        for count in [9, 12, 13, 30, 64] {
            let star: Vec<_> = (1..count).map(|at| (0, at, 1e-3)).collect();
            let chain: Vec<_> = (1..count).map(|at| (at - 1, at, 1e-3)).collect();
            let all: Vec<_> = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b, 0.5))).collect();
            for conditions in [star, chain, all, Vec::new()] {
                let mut steps = Sizes::new(&vec![1000.0; count], &conditions);
                let order = best(count, &mut steps).unwrap().0;
                assert_eq!(set_of(&order).count_ones() as usize, count);
                assert!(steps.joins <= 2 * PAIRS_MAX + 4096, "{count}: {}", steps.joins);
            }
        }
    }

    #[test]
    fn what_is_attached_to_what_is_missing_cannot_be_joined() {
        let mut steps = Sizes::new(&[1.0, 1.0], &[]);
        steps.attached.push((1, 4));
        assert_eq!(best(2, &mut steps), None);
    }
}
