//! When measuring more would not change what is said.

use super::ratio::Comparison;

/// Stop when the interval is narrow against the effect, or the time is spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialRule {
    /// Rounds before anything is looked at.
    pub rounds_least: usize,
    /// Rounds after which nothing more is measured.
    pub rounds_most: usize,
    /// The smallest effect worth a word, as a share (0.05 for 5 %): an interval narrow against this ends the search for
    /// nothing.
    pub effect_least: f64,
    /// Probability of chance that settles a difference. An interval that excludes 1 while chance is above this (one wild
    /// round among ten does that) is a question still open.
    pub level: f64,
    /// Seconds that may be spent.
    pub seconds_most: f64,
}

impl Default for SequentialRule {
    fn default() -> Self {
        Self { rounds_least: 10, rounds_most: 60, effect_least: 0.05, level: 0.05, seconds_most: 600.0 }
    }
}

/// Whether to measure on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stop {
    /// Another round.
    No,
    /// Every interval is narrow enough.
    NarrowEnough,
    /// Rounds or seconds are spent; what is wide stays wide.
    Spent,
}

impl SequentialRule {
    /// Looks at every comparison of the matrix so far. `None` for one that cannot be made yet.
    #[must_use]
    pub fn look(&self, so_far: &[Option<Comparison>], seconds: f64) -> Stop {
        let rounds = so_far.iter().map(|found| found.map_or(0, |found| found.rounds)).min().unwrap_or(0);
        if seconds >= self.seconds_most || rounds >= self.rounds_most {
            return Stop::Spent;
        }
        if rounds < self.rounds_least {
            return Stop::No;
        }
        let narrow = so_far.iter().flatten().all(|found| {
            let effect = found.ratio.ln().abs().exp() - 1.0;
            let is_open = found.excludes_one() && effect >= self.effect_least && found.p > self.level;
            found.half_width() < effect.max(self.effect_least) / 3.0 && !is_open
        });
        if narrow { Stop::NarrowEnough } else { Stop::No }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ratio: f64, half: f64, rounds: usize) -> Option<Comparison> {
        Some(Comparison {
            ratio,
            low: ratio * (1.0 - half),
            high: ratio * (1.0 + half),
            base_median: 1.0,
            other_median: ratio,
            p: 0.01,
            delta: 0.0,
            rounds,
        })
    }

    #[test]
    fn a_large_effect_ends_early_and_nothing_takes_until_it_is_narrow() {
        let rule = SequentialRule::default();
        assert_eq!(rule.look(&[found(8.0, 0.3, 10)], 5.0), Stop::NarrowEnough);
        assert_eq!(rule.look(&[found(8.0, 0.3, 9)], 5.0), Stop::No);
        assert_eq!(rule.look(&[found(1.0, 0.04, 10)], 5.0), Stop::No);
        assert_eq!(rule.look(&[found(1.0, 0.016, 10)], 5.0), Stop::NarrowEnough);
        assert_eq!(rule.look(&[found(1.0, 0.016, 10), found(1.1, 0.05, 10)], 5.0), Stop::No);
        assert_eq!(rule.look(&[found(1.0, 0.5, 60)], 5.0), Stop::Spent);
        let open = found(1.2, 0.05, 12).map(|found| Comparison { p: 0.08, ..found });
        assert_eq!(rule.look(&[open], 5.0), Stop::No, "chance is not ruled out yet");
        assert_eq!(rule.look(&[None], 601.0), Stop::Spent);
        assert_eq!(rule.look(&[None], 1.0), Stop::No);
    }
}
