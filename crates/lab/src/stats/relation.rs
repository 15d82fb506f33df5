//! What a count follows: once per statement, once per row sent, once per row examined, once per parameter, ...
//!
//! Calls of a function do not vary with the weather. If `copy` is called as often as rows are *sent* on one version and
//! as often as rows are *examined* on the next, that changed relation is the finding, at any load of the machine.

use std::collections::BTreeMap;

/// One cell of the matrix: a count and what it may follow (name to value: `rows_sent`, `params`, ...).
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// How often it happened, per operation.
    pub count: f64,
    /// What there was of each thing, per operation.
    pub of: BTreeMap<String, f64>,
}

/// A relation: count = `factor` * product of `follows` + `offset`.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    /// What the count follows: nothing (a constant), one thing, or the product of two.
    pub follows: Vec<String>,
    /// Times per one of it; for a constant the count itself.
    pub factor: f64,
    /// What is there without any; 0 for a plain proportion.
    pub offset: f64,
    /// The largest deviation from the relation, as a share of the count.
    pub off_most: f64,
    /// Other things the cells cannot tell from this one, because they moved together.
    pub or: Vec<Vec<String>>,
}

impl Relation {
    /// `1`, `rows_examined`, `params x columns`.
    #[must_use]
    pub fn name(&self) -> String {
        name_of(&self.follows)
    }
}

/// A product in words; the empty product is `1`.
#[must_use]
pub fn name_of(follows: &[String]) -> String {
    if follows.is_empty() { "1".to_owned() } else { follows.join(" x ") }
}

/// Cells a relation must hold over.
pub(crate) const CELLS_LEAST: usize = 3;
/// How far a count may be off its relation, as a share.
const TOLERANCE: f64 = 0.05;

struct Fit {
    follows: Vec<String>,
    factor: f64,
    offset: f64,
    off_most: f64,
    plain: bool,
}

fn off_most(cells: &[(f64, f64)], factor: f64, offset: f64) -> f64 {
    cells
        .iter()
        .map(|(x, count)| (factor * x + offset - count).abs() / count.abs().max(1.0))
        .fold(0.0, f64::max)
}

fn fit(follows: &[String], cells: &[(f64, f64)]) -> Vec<Fit> {
    let mut fits = Vec::new();
    let mut keep = |factor: f64, offset: f64, plain: bool| {
        let off_most = off_most(cells, factor, offset);
        if off_most <= TOLERANCE && factor > 0.0 {
            fits.push(Fit { follows: follows.to_vec(), factor, offset, off_most, plain });
        }
    };
    let (mut xy, mut xx) = (0.0, 0.0);
    for (x, y) in cells {
        // Weighted by 1/y^2: a share of deviation counts alike in small and in large cells.
        let weight = 1.0 / y.abs().max(1.0).powi(2);
        xy += weight * x * y;
        xx += weight * x * x;
    }
    if xx > 0.0 {
        keep(xy / xx, 0.0, true);
    }
    let least = cells.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let most = cells.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    if let (Some(least), Some(most)) = (least, most)
        && most.0 > least.0
        && cells.len() > CELLS_LEAST
    {
        let factor = (most.1 - least.1) / (most.0 - least.0);
        keep(factor, least.1 - factor * least.0, false);
    }
    fits
}

/// Finds the simplest relation that holds in all cells: a constant, then one thing in plain proportion, then one thing and
/// an offset, then a product of two.
///
/// `None` with fewer than [`CELLS_LEAST`] cells, if nothing varied but the count, or if no relation holds within 5 %.
#[must_use]
pub fn follows(cells: &[Observation]) -> Option<Relation> {
    if cells.len() < CELLS_LEAST || cells.iter().any(|cell| !cell.count.is_finite()) {
        return None;
    }
    let names: Vec<&String> = cells[0].of.keys().filter(|name| name.as_str() != "1").collect();
    let values = |follows: &[String]| -> Option<Vec<(f64, f64)>> {
        cells
            .iter()
            .map(|cell| {
                let product: Option<f64> = follows.iter().map(|name| cell.of.get(name).copied()).product();
                product.filter(|value| value.is_finite()).map(|value| (value, cell.count))
            })
            .collect()
    };
    let varies = |cells: &[(f64, f64)]| cells.iter().any(|(x, _)| *x != cells[0].0);
    let anything_varied = names.iter().any(|name| values(&[(*name).clone()]).is_some_and(|of| varies(&of)));
    if !anything_varied {
        return None;
    }
    let constants: Vec<(f64, f64)> = cells.iter().map(|cell| (1.0, cell.count)).collect();
    let all_zero = cells.iter().all(|cell| cell.count == 0.0);
    let mut found: Vec<Fit> = if all_zero {
        vec![Fit { follows: Vec::new(), factor: 0.0, offset: 0.0, off_most: 0.0, plain: true }]
    } else {
        fit(&[], &constants).into_iter().filter(|fit| fit.plain).collect()
    };
    if found.is_empty() {
        for name in &names {
            let follows = vec![(*name).clone()];
            if let Some(cells) = values(&follows).filter(|cells| varies(cells)) {
                found.extend(fit(&follows, &cells));
            }
        }
        if found.iter().any(|fit| fit.plain) {
            found.retain(|fit| fit.plain);
        }
    }
    if found.is_empty() {
        for (index, one) in names.iter().enumerate() {
            for other in &names[index..] {
                let follows = vec![(*one).clone(), (*other).clone()];
                if let Some(cells) = values(&follows).filter(|cells| varies(cells)) {
                    found.extend(fit(&follows, &cells).into_iter().filter(|fit| fit.plain));
                }
            }
        }
    }
    found.sort_by(|a, b| a.off_most.total_cmp(&b.off_most).then(a.follows.cmp(&b.follows)));
    let mut found = found.into_iter();
    let best = found.next()?;
    let mut or: Vec<Vec<String>> =
        found.map(|fit| fit.follows).filter(|other| *other != best.follows).collect();
    or.dedup();
    Some(Relation {
        follows: best.follows,
        factor: best.factor,
        offset: best.offset,
        off_most: best.off_most,
        or,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cell(count: f64, of: &[(&str, f64)]) -> Observation {
        Observation { count, of: of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect() }
    }

    #[test]
    fn the_third_incident_rows_sent_became_rows_examined() {
        let old: Vec<_> = [4096.0, 8192.0, 16384.0, 32768.0]
            .map(|rows| cell(1.0, &[("rows_sent", 1.0), ("rows_examined", rows)]))
            .into();
        let new: Vec<_> = [4096.0, 8192.0, 16384.0, 32768.0]
            .map(|rows| cell(rows, &[("rows_sent", 1.0), ("rows_examined", rows)]))
            .into();
        assert_eq!(follows(&old).unwrap().name(), "1");
        let new = follows(&new).unwrap();
        assert_eq!((new.name().as_str(), new.factor), ("rows_examined", 1.0));
        assert!(new.or.is_empty());
    }

    #[test]
    fn an_offset_a_product_and_what_moved_together_are_told() {
        let offset: Vec<_> =
            [1.0, 10.0, 100.0, 1000.0].map(|rows| cell(7.0 + 2.0 * rows, &[("rows", rows)])).into();
        let found = follows(&offset).unwrap();
        assert_eq!((found.name().as_str(), found.factor, found.offset), ("rows", 2.0, 7.0));

        let product: Vec<_> = [(2.0, 5.0), (3.0, 50.0), (7.0, 20.0), (11.0, 3.0)]
            .map(|(rows, columns)| cell(rows * columns, &[("rows", rows), ("columns", columns)]))
            .into();
        assert_eq!(follows(&product).unwrap().name(), "columns x rows");

        let together: Vec<_> =
            [1.0, 2.0, 3.0].map(|rows| cell(rows, &[("rows", rows), ("bytes", 100.0 * rows)])).into();
        let found = follows(&together).unwrap();
        assert_eq!(found.or.len(), 1, "{found:?}");
    }

    #[test]
    fn no_relation_is_said_to_be_none() {
        let wild: Vec<_> = [3.0, 99.0, 4.0, 51.0]
            .into_iter()
            .zip([1.0, 2.0, 3.0, 4.0])
            .map(|(count, rows)| cell(count, &[("rows", rows)]))
            .collect();
        assert_eq!(follows(&wild), None);
        let still: Vec<_> = [5.0, 5.0, 5.0].map(|count| cell(count, &[("rows", 1.0)])).into();
        assert_eq!(follows(&still), None, "nothing varied, so nothing can be followed");
    }

    proptest! {
        #[test]
        fn a_planted_proportion_is_found(factor in 1_u32..100, rows in prop::collection::hash_set(1_u32..5000, 4..8)) {
            let cells: Vec<_> = rows
                .iter()
                .enumerate()
                .map(|(index, rows)| {
                    let noise = f64::from(u32::try_from(index).unwrap() * 37 % 11);
                    cell(f64::from(factor * rows), &[("rows", f64::from(*rows)), ("other", noise)])
                })
                .collect();
            let spread = rows.iter().max().unwrap() > &(2 * rows.iter().min().unwrap());
            let found = follows(&cells).unwrap();
            prop_assert!(!spread || found.name() == "rows", "{found:?}");
            prop_assert!(found.off_most <= 0.05);
        }
    }
}
