//! How many times slower one arm is than another, with an interval.
//!
//! The two-level bootstrap: draw rounds with replacement, then, within each block of a drawn round, draw its samples with
//! replacement. The first level carries what differs between blocks (the machine's moods), the second what differs within.
//!
//! A drawn block's median is not found by drawing all its samples: the middle of `n` draws from a sorted block stands at a
//! share of it that follows a Beta distribution with both parameters (n + 1) / 2, which from nine samples on is as good as
//! normal with variance 1 / (4 (n + 2)). One draw instead of thousands.

use super::seeded::Seeded;
use super::summary::{median, normal_below, normal_quantile, quantile_of_sorted, sorted};

/// Resamples behind one interval, where nothing else is asked for.
pub(crate) const RESAMPLES: usize = 10_000;

/// With fewer rounds the signs alone cannot be unlikely enough (at best 2 in 2^rounds), so all blocks are compared with all.
const ROUNDS_FOR_SIGNS: usize = 10;

/// The samples of one arm in one block, sorted. All above 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    sorted: Vec<f64>,
    median: f64,
}

impl Block {
    /// Sorts the samples. `None` if none of them is a finite number above 0: such a block says nothing about a ratio.
    #[must_use]
    pub fn new(samples: &[f64]) -> Option<Self> {
        let kept: Vec<f64> =
            samples.iter().copied().filter(|value| value.is_finite() && *value > 0.0).collect();
        let sorted = sorted(&kept);
        let median = quantile_of_sorted(&sorted, 0.5)?;
        Some(Self { sorted, median })
    }

    /// The middle sample.
    #[must_use]
    pub(crate) fn median(&self) -> f64 {
        self.median
    }

    /// The middle of as many draws, with replacement, as there are samples.
    fn redrawn_median(&self, chance: &mut Seeded) -> f64 {
        let count = self.sorted.len();
        if count == 1 {
            return self.median;
        }
        if count < 9 {
            let mut drawn = [0.0; 8];
            for slot in &mut drawn[..count] {
                *slot = self.sorted[chance.below(count)];
            }
            let drawn = &mut drawn[..count];
            drawn.sort_by(f64::total_cmp);
            return quantile_of_sorted(drawn, 0.5).unwrap_or(self.median);
        }
        let at = 0.5 + chance.normal() * (0.25 / (count as f64 + 2.0)).sqrt();
        quantile_of_sorted(&self.sorted, at).unwrap_or(self.median)
    }
}

/// Blocks of two arms in the order in which they ran.
///
/// Block `i` of one and block `i` of the other form round `i`; where the lengths differ the longer tail has no round and
/// is left out of what is computed within rounds.
#[derive(Clone, Copy, Debug)]
pub struct TwoArms<'a> {
    /// The arm compared with.
    pub base: &'a [Block],
    /// The arm in question.
    pub other: &'a [Block],
}

/// What one comparison found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Middle of the other arm over the middle of the base, 1 for alike, 2 for twice as slow.
    pub ratio: f64,
    /// Lower end of the 95 % interval of `ratio`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Middle of the base, in the unit of the samples.
    pub base_median: f64,
    /// Middle of the other arm.
    pub other_median: f64,
    /// How likely chance alone gives rounds this one-sided (signed-rank test), or, with fewer than ten rounds, blocks this
    /// far apart (Mann-Whitney).
    pub p: f64,
    /// Cliff's delta of the block medians: -1 the other arm is always below, 1 always above.
    pub delta: f64,
    /// Rounds it stands on.
    pub rounds: usize,
}

impl Comparison {
    /// Half the width of the interval, as a share of the ratio.
    #[must_use]
    pub(crate) fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.ratio
    }

    /// Whether 1 lies outside the interval.
    #[must_use]
    pub(crate) fn excludes_one(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// The ratio within rounds: the middle of the logarithms, so that exchanging the arms gives the inverse.
fn ratio_of_rounds(logs: &[f64]) -> f64 {
    median(logs).map_or(1.0, f64::exp)
}

fn round_logs(arms: TwoArms<'_>) -> Vec<f64> {
    arms.base.iter().zip(arms.other).map(|(base, other)| (other.median / base.median).ln()).collect()
}

/// Compares two arms. `None` with fewer than two blocks in either.
#[must_use]
pub fn compare(arms: TwoArms<'_>, resamples: usize, seed: u64) -> Option<Comparison> {
    let rounds = arms.base.len().min(arms.other.len());
    if rounds < 2 {
        return None;
    }
    let arms = TwoArms { base: &arms.base[..rounds], other: &arms.other[..rounds] };
    let logs = round_logs(arms);
    let ratio = ratio_of_rounds(&logs);
    let mut chance = Seeded::new(seed);
    let mut drawn: Vec<f64> = Vec::with_capacity(resamples);
    let mut inner = vec![0.0; rounds];
    for _ in 0..resamples {
        for slot in &mut inner {
            let round = chance.below(rounds);
            let other = arms.other[round].redrawn_median(&mut chance);
            let base = arms.base[round].redrawn_median(&mut chance);
            *slot = (other / base).ln();
        }
        inner.sort_by(f64::total_cmp);
        drawn.push(quantile_of_sorted(&inner, 0.5).unwrap_or(0.0));
    }
    drawn.sort_by(f64::total_cmp);
    let left_out: Vec<f64> = (0..rounds)
        .map(|gone| {
            let kept: Vec<f64> =
                logs.iter().enumerate().filter(|(index, _)| *index != gone).map(|(_, log)| *log).collect();
            median(&kept).unwrap_or(0.0)
        })
        .collect();
    let (low, high) = bca(ratio.ln(), &drawn, &left_out);
    let medians = |blocks: &[Block]| blocks.iter().map(Block::median).collect::<Vec<_>>();
    let (base, other) = (medians(arms.base), medians(arms.other));
    Some(Comparison {
        ratio,
        low: low.exp().min(ratio),
        high: high.exp().max(ratio),
        base_median: median(&base)?,
        other_median: median(&other)?,
        p: if rounds < ROUNDS_FOR_SIGNS {
            super::rank::mann_whitney(&base, &other)
        } else {
            super::rank::signed_rank(&logs)
        },
        delta: super::rank::cliffs_delta(&base, &other),
        rounds,
    })
}

/// The bias-corrected, accelerated 95 % interval (Efron 1987) from sorted resamples and leave-one-out estimates.
fn bca(estimate: f64, drawn: &[f64], left_out: &[f64]) -> (f64, f64) {
    if drawn.is_empty() {
        return (estimate, estimate);
    }
    let below = drawn.partition_point(|value| *value < estimate) as f64;
    let at_or_below = drawn.partition_point(|value| *value <= estimate) as f64;
    let count = drawn.len() as f64;
    // Half of the ties count as below: medians of few blocks repeat.
    let share = ((below + at_or_below) / 2.0).clamp(0.5, count - 0.5) / count;
    let bias = normal_quantile(share);
    let mean = left_out.iter().sum::<f64>() / left_out.len() as f64;
    let (mut cubes, mut squares) = (0.0, 0.0);
    for value in left_out {
        let apart = mean - value;
        cubes += apart.powi(3);
        squares += apart.powi(2);
    }
    let acceleration = if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 };
    let end = |at: f64| {
        let z = bias + normal_quantile(at);
        let moved = normal_below(bias + z / (1.0 - acceleration * z));
        quantile_of_sorted(drawn, moved).unwrap_or(estimate)
    };
    (end(0.025), end(0.975))
}

/// A blocks-of-samples table as blocks; blocks without a usable sample are left out.
#[must_use]
pub fn blocks(samples_by_block: &[Vec<f64>]) -> Vec<Block> {
    samples_by_block.iter().filter_map(|samples| Block::new(samples)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn noisy(chance: &mut Seeded, middle: f64, count: usize) -> Vec<Block> {
        (0..count)
            .filter_map(|_| {
                let mood = (0.03 * chance.normal()).exp();
                let samples: Vec<f64> =
                    (0..40).map(|_| middle * mood * (0.2 * chance.normal()).exp()).collect();
                Block::new(&samples)
            })
            .collect()
    }

    #[test]
    fn the_interval_holds_the_truth_about_nineteen_times_of_twenty() {
        let mut chance = Seeded::new(11);
        let runs: u64 = 300;
        let held = (0..runs)
            .filter(|seed| {
                let base = noisy(&mut chance, 100.0, 12);
                let other = noisy(&mut chance, 130.0, 12);
                let found = compare(TwoArms { base: &base, other: &other }, 1000, *seed).unwrap();
                found.low <= 1.3 && 1.3 <= found.high
            })
            .count();
        let share = held as f64 / runs as f64;
        assert!((0.90..=0.995).contains(&share), "the interval held the truth in {share} of runs");
    }

    #[test]
    fn a_drift_under_both_arms_does_not_move_the_ratio() {
        let blocks = |factor: f64| -> Vec<Block> {
            (0..12).filter_map(|round| Block::new(&[factor * (1.0 + f64::from(round))])).collect()
        };
        let found = compare(TwoArms { base: &blocks(1.0), other: &blocks(1.5) }, 1000, 1).unwrap();
        assert!((found.ratio - 1.5).abs() < 1e-9 && found.high - found.low < 1e-9, "{found:?}");
    }

    #[test]
    fn too_little_is_no_answer_and_useless_samples_are_left_out() {
        assert!(Block::new(&[0.0, -1.0, f64::NAN, f64::INFINITY]).is_none());
        let one = blocks(&[vec![1.0]]);
        assert!(compare(TwoArms { base: &one, other: &one }, 100, 1).is_none());
    }

    proptest! {
        #[test]
        fn exchanging_the_arms_inverts_the_ratio_and_keeps_the_chance(
            base in prop::collection::vec(prop::collection::vec(0.001_f64..1e6, 1..20), 2..12),
            other in prop::collection::vec(prop::collection::vec(0.001_f64..1e6, 1..20), 2..12),
        ) {
            let (base, other) = (blocks(&base), blocks(&other));
            let one = compare(TwoArms { base: &base, other: &other }, 200, 3).unwrap();
            let two = compare(TwoArms { base: &other, other: &base }, 200, 3).unwrap();
            prop_assert!((one.ratio * two.ratio - 1.0).abs() < 1e-9);
            prop_assert!((one.p - two.p).abs() < 1e-9 && (one.delta + two.delta).abs() < 1e-9);
            prop_assert!(one.low <= one.ratio && one.ratio <= one.high);
        }

        #[test]
        fn a_factor_on_one_arm_is_a_factor_on_the_ratio(
            base in prop::collection::vec(prop::collection::vec(0.1_f64..1e3, 1..20), 2..12),
            factor in 0.01_f64..100.0,
        ) {
            let scaled: Vec<Vec<f64>> =
                base.iter().map(|block| block.iter().map(|value| value * factor).collect()).collect();
            let (base, other) = (blocks(&base), blocks(&scaled));
            let found = compare(TwoArms { base: &base, other: &other }, 50, 3).unwrap();
            prop_assert!((found.ratio / factor - 1.0).abs() < 1e-6);
        }
    }
}
