//! Equalities between columns that other equalities imply: of `a = b AND b = c AND a = c` any two say all three.
//!
//! Invariants:
//! 1. Only columns of a class with a cycle are looked at: conditions that nothing implies cost nothing more.
//! 2. Of several equalities between the same classes of equal columns the most selective one counts.

use crate::expr::ColumnId;

/// The columns that an equality says to be equal.
pub(super) type Pair = (ColumnId, ColumnId);

/// Columns that are equal to each other, by class.
#[derive(Default)]
struct Classes(Vec<Vec<ColumnId>>);

impl Classes {
    /// Makes two columns equal; whether they were not.
    fn unite(&mut self, (a, b): Pair) -> bool {
        crate::progress::step();
        let class = |id: ColumnId| self.0.iter().position(|class| class.contains(&id));
        match (class(a), class(b)) {
            (None, None) => self.0.push(if a == b { vec![a] } else { vec![a, b] }),
            (Some(of), None) => self.0[of].push(b),
            (None, Some(of)) => self.0[of].push(a),
            (Some(one), Some(other)) if one == other => return false,
            (Some(one), Some(other)) => {
                let moved = self.0.swap_remove(one.max(other));
                self.0[one.min(other)].extend(moved);
            }
        }
        true
    }

    fn holds(&self, id: ColumnId) -> bool {
        self.0.iter().any(|class| class.contains(&id))
    }
}

/// Those of the equalities whose class of columns has more of them than it needs, by their position.
pub(super) fn implied(equalities: impl Iterator<Item = Option<Pair>>) -> Vec<(usize, Pair)> {
    let equalities: Vec<(usize, Pair)> =
        equalities.enumerate().filter_map(|(at, pair)| Some((at, pair?))).collect();
    if equalities.len() < 3 {
        return Vec::new();
    }
    let mut classes = Classes::default();
    let more: Vec<ColumnId> =
        equalities.iter().filter(|(_, pair)| !classes.unite(*pair)).map(|(_, (a, _))| *a).collect();
    classes.0.retain(|class| more.iter().any(|id| class.contains(id)));
    equalities.into_iter().filter(|(_, (a, _))| classes.holds(*a)).collect()
}

/// The share of the pairs of rows that meet equalities, each with its own share, where the `known` ones hold already.
pub(super) fn share(known: impl Iterator<Item = Pair>, between: impl Iterator<Item = (Pair, f64)>) -> f64 {
    let mut classes = Classes::default();
    known.for_each(|pair| {
        classes.unite(pair);
    });
    let mut between: Vec<(Pair, f64)> = between.collect();
    between.sort_by(|a, b| a.1.total_cmp(&b.1));
    between.into_iter().filter(|(pair, _)| classes.unite(*pair)).map(|(_, share)| share).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ColumnId = ColumnId(1);
    const B: ColumnId = ColumnId(2);
    const C: ColumnId = ColumnId(3);
    const D: ColumnId = ColumnId(4);

    #[test]
    fn a_chain_implies_nothing() {
        assert!(implied([Some((A, B)), Some((B, C)), None, Some((C, D))].into_iter()).is_empty());
    }

    #[test]
    fn two_of_three_equalities_count() {
        let all = [Some((A, B)), Some((B, C)), Some((A, C))];
        assert_eq!(implied(all.into_iter()).len(), 3);
        let of_c = || [((B, C), 0.1), ((A, C), 0.01)].into_iter();
        assert_eq!(share([(A, B)].into_iter(), of_c()), 0.01);
        let both = share(std::iter::empty(), of_c());
        assert!((both - 0.001).abs() < 1e-12);
    }

    #[test]
    fn another_column_of_the_same_row_is_no_repetition() {
        let other = share([(A, B)].into_iter(), [((A, C), 0.1), ((B, D), 0.1)].into_iter());
        assert!((other - 0.01).abs() < 1e-12);
    }
}
