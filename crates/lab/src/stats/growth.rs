//! How a cost grows with size: the exponent `e` in cost = c * size^e, from a straight line through logarithms.

use super::seeded::Seeded;
use super::summary::{median, quantile_of_sorted, sorted, student_t_95};

/// Fewer sizes than these say nothing about growth.
pub(crate) const SIZES_LEAST: usize = 4;

/// What one arm cost at one size: one number a block.
#[derive(Clone, Debug, PartialEq)]
pub struct AtSize {
    /// The size: rows, columns, connections, bytes. Above 0.
    pub size: f64,
    /// Middles of the blocks at this size. Above 0.
    pub costs: Vec<f64>,
}

/// How a cost grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The slope over all sizes: 1 for linear, 2 for quadratic.
    pub exponent: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The slope between the two largest sizes: what a constant share hides at small ones.
    pub last_step: f64,
    /// Sizes it stands on.
    pub sizes: usize,
}

/// Slope and its standard error.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let (mx, my) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let spread: f64 = points.iter().map(|(x, _)| (x - mx).powi(2)).sum();
    if spread <= 0.0 || points.len() < 3 {
        return None;
    }
    let slope = points.iter().map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / spread;
    let left: f64 = points.iter().map(|(x, y)| (y - my - slope * (x - mx)).powi(2)).sum();
    Some((slope, (left / (count - 2.0) / spread).sqrt()))
}

/// Fits the exponent. `None` with fewer than [`SIZES_LEAST`] different sizes with a cost.
///
/// The interval is the wider of two: blocks redrawn at each size, where there are three or more at each (how sure the
/// costs are), and the residuals of the line (how straight it is).
#[must_use]
pub fn exponent(cells: &[AtSize], resamples: usize, seed: u64) -> Option<Growth> {
    let mut cells: Vec<(f64, Vec<f64>)> = cells
        .iter()
        .filter(|cell| cell.size.is_finite() && cell.size > 0.0)
        .map(|cell| {
            let usable = cell.costs.iter().copied().filter(|cost| cost.is_finite() && *cost > 0.0);
            (cell.size.ln(), usable.map(f64::ln).collect::<Vec<f64>>())
        })
        .filter(|(_, costs)| !costs.is_empty())
        .collect();
    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    cells.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1.append(&mut later.1);
        }
        same
    });
    if cells.len() < SIZES_LEAST {
        return None;
    }
    let points: Vec<(f64, f64)> =
        cells.iter().map(|(x, costs)| (*x, median(costs).unwrap_or_default())).collect();
    let (exponent, error) = line(&points)?;
    let reach = student_t_95(points.len() - 2) * error;
    let (mut low, mut high) = (exponent - reach, exponent + reach);
    if cells.iter().all(|(_, costs)| costs.len() >= 3) {
        let mut chance = Seeded::new(seed);
        let slopes: Vec<f64> = (0..resamples)
            .filter_map(|_| {
                let redrawn: Vec<(f64, f64)> = cells
                    .iter()
                    .map(|(x, costs)| {
                        let drawn: Vec<f64> =
                            costs.iter().map(|_| costs[chance.below(costs.len())]).collect();
                        (*x, median(&drawn).unwrap_or_default())
                    })
                    .collect();
                line(&redrawn).map(|(slope, _)| slope)
            })
            .collect();
        let slopes = sorted(&slopes);
        low = low.min(quantile_of_sorted(&slopes, 0.025).unwrap_or(low));
        high = high.max(quantile_of_sorted(&slopes, 0.975).unwrap_or(high));
    }
    let [.., before, last] = points.as_slice() else { return None };
    let last_step = (last.1 - before.1) / (last.0 - before.0);
    Some(Growth { exponent, low, high, last_step, sizes: points.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn single(points: &[(f64, f64)]) -> Vec<AtSize> {
        points.iter().map(|(size, cost)| AtSize { size: *size, costs: vec![*cost] }).collect()
    }

    #[test]
    fn the_first_incident_is_more_than_quadratic_on_one_server_and_not_on_the_other() {
        let old = single(&[(125.0, 111.0), (250.0, 438.0), (500.0, 1581.0), (1000.0, 17038.0)]);
        let new = single(&[(125.0, 50.0), (250.0, 49.0), (500.0, 139.0), (1000.0, 267.0)]);
        let old = exponent(&old, 100, 1).unwrap();
        let new = exponent(&new, 100, 1).unwrap();
        assert!(old.exponent > 2.2 && old.last_step > 3.0, "{old:?}");
        assert!(new.exponent < 1.2, "{new:?}");
        assert!(old.exponent > new.high, "{old:?} {new:?}");
    }

    #[test]
    fn three_sizes_are_too_few_and_the_same_size_twice_is_one() {
        assert!(exponent(&single(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]), 10, 1).is_none());
        assert!(exponent(&single(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (3.0, 3.0)]), 10, 1).is_none());
    }

    proptest! {
        #[test]
        fn a_power_law_gives_its_power_back(power in -1.0_f64..3.0, factor in 0.01_f64..100.0, noise in 0_u64..1000) {
            let mut chance = Seeded::new(noise);
            let cells: Vec<AtSize> = [10.0_f64, 50.0, 200.0, 1000.0, 4000.0]
                .into_iter()
                .map(|size| AtSize {
                    size,
                    costs: (0..5).map(|_| factor * size.powf(power) * (0.01 * chance.normal()).exp()).collect(),
                })
                .collect();
            let found = exponent(&cells, 200, 1).unwrap();
            prop_assert!((found.exponent - power).abs() < 0.03);
            prop_assert!(found.low <= found.exponent && found.exponent <= found.high);
        }
    }
}
