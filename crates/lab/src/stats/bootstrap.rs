//! How sure a median is: values drawn again with replacement, and what their medians are then.

use super::seeded::Seeded;
use super::summary::{median, quantile_of_sorted, sorted};

const RESAMPLES: usize = 2_000;

/// The 95 % interval of the median of values that stand for themselves (one for each round, say); for ratios of samples within
/// blocks there is [`compare`](super::ratio::compare). `None` without values.
#[must_use]
pub(crate) fn median_interval(values: &[f64], seed: u64) -> Option<(f64, f64)> {
    let mut chance = Seeded::new(seed);
    let mut drawn = vec![0.0; values.len()];
    let medians: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            for slot in &mut drawn {
                *slot = values[chance.below(values.len())];
            }
            median(&drawn)
        })
        .collect();
    let medians = sorted(&medians);
    Some((quantile_of_sorted(&medians, 0.025)?, quantile_of_sorted(&medians, 0.975)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_median_and_narrows_with_values() {
        assert_eq!(median_interval(&[], 1), None);
        assert_eq!(median_interval(&[3.0], 1), Some((3.0, 3.0)));
        let spread = |count: u32| {
            let values: Vec<f64> = (0..count).map(|n| f64::from(n) / f64::from(count)).collect();
            let (low, high) = median_interval(&values, 1).expect("there are values");
            assert!(low < 0.5 && 0.5 < high + 1.0 / f64::from(count), "{low} {high}");
            high - low
        };
        assert!(spread(400) < spread(20));
    }
}
