//! What a machine shows when there is nothing to show: the same server against itself.
//!
//! The band is what the ratio of A against A would be in 99 of 100 runs as long as the one made. It is found by giving
//! the two arms of each round to each other at random: with no difference, every such exchange was as likely to happen.

use super::ratio::TwoArms;
use super::seeded::Seeded;
use super::summary::{quantile_of_sorted, sorted};

/// The ratios of A against A that 99 of 100 runs stay within.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseFloor {
    /// Lower end, at most 1.
    pub low: f64,
    /// Upper end, at least 1.
    pub high: f64,
    /// The ratio that the A/A run itself gave.
    pub seen: f64,
    /// Rounds it stands on.
    pub rounds: usize,
}

impl NoiseFloor {
    /// A floor that hides nothing, for numbers that do not vary (counts).
    pub(crate) const SILENT: Self = Self { low: 1.0, high: 1.0, seen: 1.0, rounds: 0 };

    /// Measures the floor. `None` with fewer than two rounds.
    #[must_use]
    pub fn measure(arms: TwoArms<'_>, resamples: usize, seed: u64) -> Option<Self> {
        let logs: Vec<f64> = arms
            .base
            .iter()
            .zip(arms.other)
            .map(|(base, other)| (other.median() / base.median()).ln())
            .collect();
        if logs.len() < 2 {
            return None;
        }
        let mut chance = Seeded::new(seed);
        let mut turned = vec![0.0; logs.len()];
        let drawn: Vec<f64> = (0..resamples)
            .map(|_| {
                for slot in &mut turned {
                    let log = logs[chance.below(logs.len())];
                    *slot = if chance.bits() >> 63 == 0 { log } else { -log };
                }
                turned.sort_by(f64::total_cmp);
                quantile_of_sorted(&turned, 0.5).unwrap_or(0.0)
            })
            .collect();
        let drawn = sorted(&drawn);
        let seen = quantile_of_sorted(&sorted(&logs), 0.5)?;
        // The band is the same on both sides. Twins that truly differ widen it: what stands behind that is no finding.
        let mut reach = quantile_of_sorted(&drawn, 0.995)?.max(-quantile_of_sorted(&drawn, 0.005)?);
        if super::rank::signed_rank(&logs) <= 0.05 {
            reach = reach.max(seen.abs());
        }
        Some(Self { low: (-reach).exp(), high: reach.exp(), seen: seen.exp(), rounds: logs.len() })
    }

    /// The widest of several floors: what holds for a matrix where each cell was asked.
    #[must_use]
    pub fn widest(floors: &[Self]) -> Option<Self> {
        floors.iter().copied().max_by(|a, b| a.high.total_cmp(&b.high))
    }

    /// Whether a ratio is one that no difference at all could have given.
    #[must_use]
    pub(crate) fn is_below(&self, ratio: f64) -> bool {
        ratio > self.high || ratio < self.low
    }
}

#[cfg(test)]
mod tests {
    use super::super::ratio::Block;
    use super::*;

    #[test]
    fn a_noisier_machine_has_a_wider_floor_and_a_still_one_none() {
        let run = |spread: f64| {
            let mut chance = Seeded::new(5);
            let mut arm = || -> Vec<Block> {
                (0..10).filter_map(|_| Block::new(&[(spread * chance.normal()).exp()])).collect()
            };
            let (base, other) = (arm(), arm());
            NoiseFloor::measure(TwoArms { base: &base, other: &other }, 2000, 1).unwrap()
        };
        let (still, some, much) = (run(0.0), run(0.02), run(0.2));
        assert!((still.high - 1.0).abs() < 1e-12);
        assert!(1.005 < some.high && some.high < 1.08, "{some:?}");
        assert!(1.1 < much.high && much.is_below(2.0) && !much.is_below(1.02), "{much:?}");
        assert!((some.low * some.high - 1.0).abs() < 1e-9);
    }
}
