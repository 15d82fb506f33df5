//! From numbers to a word: a difference is said only when five independent things say so.
//!
//! 1. The 95 % interval of the ratio excludes 1.
//! 2. The ratio is at least the smallest effect worth a word away from 1, and the difference at least a number of units.
//! 3. It lies outside what the machine shows with no difference at all ([`super::floor`]).
//! 4. Chance, corrected for the number of comparisons, is below the level.
//! 5. A second run of the same comparison says the same, in the same direction.
//!
//! Public trackers show why: each of these alone has been the whole gate somewhere, and was turned up until it was blind.

use super::floor::NoiseFloor;
use super::ratio::Comparison;

/// What is worth a word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Smallest ratio worth a word, as a share: 0.05 is 5 % either way.
    pub effect_least: f64,
    /// Smallest difference worth a word, in the unit of the samples.
    pub absolute_least: f64,
    /// Highest corrected probability of chance.
    pub level: f64,
    /// "No difference" is said only where the interval rules out more than this share; wider is "too noisy".
    pub hidden_most: f64,
}

impl Rules {
    /// For wall times in nanoseconds: 10 microseconds are a third of a fast statement, and less is a scheduler's mood.
    pub(crate) const WALL_NS: Self =
        Self { effect_least: 0.05, absolute_least: 10_000.0, level: 0.05, hidden_most: 0.15 };
    /// For server CPU in nanoseconds: noise is smaller, and on a fast statement 5 microseconds are much.
    pub(crate) const CPU_NS: Self =
        Self { effect_least: 0.05, absolute_least: 5_000.0, level: 0.05, hidden_most: 0.15 };
    /// For counts and rates, where no absolute difference is too small.
    pub const COUNT: Self = Self { effect_least: 0.05, absolute_least: 0.0, level: 0.05, hidden_most: 0.15 };
}

/// What is said of one comparison. Words and interval agree: [`Judgement::NoDifference`] only where the interval holds 1,
/// [`Judgement::Slower`] and [`Judgement::Faster`] only where it lies on that side of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judgement {
    /// Nothing above `hidden`, as a share, can be there.
    NoDifference {
        /// The largest effect the interval leaves room for.
        hidden: f64,
    },
    /// The other arm is slower, twice seen.
    Slower,
    /// The other arm is faster, twice seen.
    Faster,
    /// Seen once: the second run is missing, or did not agree.
    Unconfirmed {
        /// Whether the other arm looked slower.
        slower: bool,
        /// Whether there was a second run (that did not agree).
        rerun: bool,
    },
    /// There is a difference, and it is smaller than what matters.
    Small {
        /// The largest effect the interval leaves room for.
        hidden: f64,
    },
    /// A difference that the same arm shows against itself, or that chance makes.
    WithinNoise {
        /// The largest effect the interval leaves room for.
        hidden: f64,
    },
    /// The interval is too wide to say anything.
    TooNoisy {
        /// The largest effect the interval leaves room for.
        hidden: f64,
    },
}

/// Whether one run shows a difference: rules 1 to 4. `p_corrected` is the probability after [`super::rank::holm`].
#[must_use]
pub fn finds(found: &Comparison, p_corrected: f64, floor: &NoiseFloor, rules: &Rules) -> bool {
    let effect = found.ratio.ln().abs().exp() - 1.0;
    found.excludes_one()
        && effect >= rules.effect_least
        && (found.other_median - found.base_median).abs() >= rules.absolute_least
        && p_corrected <= rules.level
        && floor.is_below(found.ratio)
}

/// The largest effect an interval leaves room for, as a share.
#[must_use]
pub fn hidden(found: &Comparison) -> f64 {
    found.high.ln().abs().max(found.low.ln().abs()).exp() - 1.0
}

/// Says what there is. The rerun is judged by itself: its own interval, its own chance, not pooled with the first.
#[must_use]
pub fn judge(
    first: &Comparison,
    p_corrected: f64,
    rerun: Option<&Comparison>,
    floor: &NoiseFloor,
    rules: &Rules,
) -> Judgement {
    let slower = first.ratio > 1.0;
    if finds(first, p_corrected, floor, rules) {
        return match rerun {
            Some(again) if finds(again, again.p, floor, rules) && (again.ratio > 1.0) == slower => {
                if slower {
                    Judgement::Slower
                } else {
                    Judgement::Faster
                }
            }
            rerun => Judgement::Unconfirmed { slower, rerun: rerun.is_some() },
        };
    }
    let hidden = hidden(first);
    // An interval can also be narrow in units: half a millisecond hides nothing if a word starts at one.
    let units = (first.high - 1.0).abs().max((first.low - 1.0).abs()) * first.base_median;
    let is_narrow = hidden <= rules.hidden_most || (units < rules.absolute_least && first.rounds >= 2);
    let is_beyond_noise = p_corrected <= rules.level && floor.is_below(first.ratio);
    match (first.excludes_one(), is_beyond_noise) {
        (true, true) => Judgement::Small { hidden },
        (true, false) if is_narrow => Judgement::WithinNoise { hidden },
        (false, _) if is_narrow => Judgement::NoDifference { hidden },
        _ => Judgement::TooNoisy { hidden },
    }
}

/// Why the machine, and not the arms, may be what differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Suspicion {
    /// Nearly all comparisons, of unlike operations, point the same way by about as much.
    OneSidedCrowd {
        /// Comparisons pointing the common way.
        same_way: usize,
        /// All comparisons that point any way.
        of: usize,
        /// Their middle ratio.
        middle: f64,
    },
    /// The same server against itself gave a ratio that is no noise.
    UnequalTwins {
        /// That ratio.
        seen: f64,
    },
}

/// Looks for signs that the machine moved. Ratios of unlike operations between the same two arms.
#[must_use]
pub(crate) fn machine_suspect(ratios: &[f64], floor: Option<&NoiseFloor>) -> Option<Suspicion> {
    if let Some(floor) = floor
        && floor.seen.ln().abs() > 0.10_f64.ln_1p()
    {
        return Some(Suspicion::UnequalTwins { seen: floor.seen });
    }
    let mut logs: Vec<f64> = ratios
        .iter()
        .filter(|ratio| ratio.is_finite() && **ratio > 0.0)
        .map(|ratio| ratio.ln())
        .filter(|log| log.abs() > 0.01)
        .collect();
    logs.sort_by(f64::total_cmp);
    let of = logs.len();
    let slower = logs.iter().filter(|log| **log > 0.0).count();
    let same_way = slower.max(of - slower);
    // Eight coins alike: 1 in 128. Causes differ in strength from operation to operation; a machine does not.
    if of < 8 || (same_way as f64) < 0.9 * of as f64 {
        return None;
    }
    let at = |share| super::summary::quantile_of_sorted(&logs, share).unwrap_or(0.0);
    let middle = at(0.5);
    (at(0.75) - at(0.25) < middle.abs()).then(|| Suspicion::OneSidedCrowd {
        same_way,
        of,
        middle: middle.exp(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::ratio::{Block, TwoArms, compare};
    use super::super::seeded::Seeded;
    use super::super::stop::{SequentialRule, Stop};
    use super::*;

    /// A machine with moods: a random walk under everything, a mood per block, heavy-tailed samples (Student's t with 2
    /// degrees of freedom on a logarithmic scale), and now and then a block that is stolen from.
    struct Machine {
        chance: Seeded,
        drift: f64,
    }

    impl Machine {
        fn block(&mut self, middle_ns: f64) -> Option<Block> {
            self.drift += 0.02 * self.chance.normal();
            let stolen = if self.chance.below(40) == 0 { 0.6 } else { 0.0 };
            let mood = self.drift + 0.02 * self.chance.normal() + stolen;
            let samples: Vec<f64> = (0..25)
                .map(|_| {
                    let heavy = self.chance.normal() / (-self.chance.unit().max(1e-12).ln()).sqrt();
                    middle_ns * (mood + 0.05 * heavy).exp()
                })
                .collect();
            Block::new(&samples)
        }

        /// Rounds in ABBA order.
        fn rounds(&mut self, count: usize, base_ns: f64, other_ns: f64) -> (Vec<Block>, Vec<Block>) {
            let (mut base, mut other) = (Vec::new(), Vec::new());
            for round in 0..count {
                if round % 2 == 0 {
                    base.extend(self.block(base_ns));
                    other.extend(self.block(other_ns));
                } else {
                    other.extend(self.block(other_ns));
                    base.extend(self.block(base_ns));
                }
            }
            (base, other)
        }

        /// Measures with the sequential rule, as a run does.
        fn run(&mut self, base_ns: f64, other_ns: f64, seed: u64) -> Comparison {
            let rule = SequentialRule { rounds_most: 40, ..SequentialRule::default() };
            let (mut base, mut other) = self.rounds(rule.rounds_least, base_ns, other_ns);
            loop {
                let found = compare(TwoArms { base: &base, other: &other }, 250, seed).unwrap();
                if rule.look(&[Some(found)], 0.0) != Stop::No {
                    return found;
                }
                let (more_base, more_other) = self.rounds(4, base_ns, other_ns);
                base.extend(more_base);
                other.extend(more_other);
            }
        }

        /// Floor, run, and a second run where the first found something: the whole procedure.
        fn conclude(&mut self, base_ns: f64, other_ns: f64, seed: u64) -> Judgement {
            let (one, two) = self.rounds(16, base_ns, base_ns);
            let floor = NoiseFloor::measure(TwoArms { base: &one, other: &two }, 500, seed).unwrap();
            let first = self.run(base_ns, other_ns, seed);
            let rules = Rules::WALL_NS;
            let again = finds(&first, first.p, &floor, &rules).then(|| self.run(base_ns, other_ns, seed + 1));
            judge(&first, first.p, again.as_ref(), &floor, &rules)
        }
    }

    fn conclude_many(runs: u64, factor: f64) -> Vec<Judgement> {
        (0..runs)
            .map(|seed| {
                let mut machine = Machine { chance: Seeded::new(1000 + seed), drift: 0.0 };
                machine.conclude(2e6, 2e6 * factor, seed)
            })
            .collect()
    }

    #[test]
    fn false_alarms_of_a_server_against_itself_stay_below_one_in_a_hundred() {
        let said = conclude_many(300, 1.0);
        let alarms = said.iter().filter(|word| matches!(word, Judgement::Slower | Judgement::Faster)).count();
        assert!(alarms <= 3, "{alarms} false alarms in 300 runs");
        let is_none = |word: &&Judgement| {
            matches!(
                word,
                Judgement::NoDifference { .. } | Judgement::WithinNoise { .. } | Judgement::Small { .. }
            )
        };
        let none = said.iter().filter(is_none).count();
        assert!(none >= 270, "`no difference` was said in {none} of 300 runs only");
    }

    #[test]
    fn a_shift_of_ten_percent_is_found_and_never_the_wrong_way_round() {
        let said = conclude_many(100, 1.10);
        let found = said.iter().filter(|word| **word == Judgement::Slower).count();
        assert!(found >= 90, "found in {found} of 100 runs");
        assert!(!said.contains(&Judgement::Faster));
    }

    #[test]
    fn words_and_intervals_agree_whatever_was_measured() {
        let mut chance = Seeded::new(15);
        let mut seen = [0_u32; 6];
        for _ in 0..20_000 {
            let mut draw = || {
                let ratio = (chance.normal() * 0.6).exp();
                let (down, up) =
                    (1.0 - 0.9 * chance.unit() * chance.unit(), 1.0 + chance.unit() * chance.unit());
                let base_median = 10_f64.powf(2.0 + 7.0 * chance.unit());
                Comparison {
                    ratio,
                    low: ratio * down,
                    high: ratio * up,
                    base_median,
                    other_median: base_median * ratio,
                    p: chance.unit() * chance.unit() * chance.unit(),
                    delta: 0.0,
                    rounds: 2 + chance.below(20),
                }
            };
            let (first, again) = (draw(), draw());
            let reach = chance.unit() * chance.unit() * 0.3;
            let floor = NoiseFloor { low: (-reach).exp(), high: reach.exp(), seen: 1.0, rounds: 9 };
            let rerun = (chance.below(3) > 0).then_some(&again);
            let (holds_one, above) = (!first.excludes_one(), first.low > 1.0);
            let (which, is_right) = match judge(&first, first.p, rerun, &floor, &Rules::WALL_NS) {
                Judgement::NoDifference { .. } => (0, holds_one),
                Judgement::Slower => (1, above),
                Judgement::Faster => (2, first.high < 1.0),
                Judgement::Unconfirmed { slower, .. } => (3, !holds_one && slower == above),
                Judgement::Small { .. } => (4, !holds_one),
                Judgement::WithinNoise { .. } => (5, !holds_one),
                Judgement::TooNoisy { .. } => continue,
            };
            assert!(is_right, "{first:?} {floor:?}");
            seen[which] += 1;
        }
        assert!(seen.iter().all(|count| *count > 20), "each word is met: {seen:?}");
    }

    #[test]
    fn one_run_alone_is_no_finding() {
        let mut machine = Machine { chance: Seeded::new(1), drift: 0.0 };
        let first = machine.run(2e6, 4e6, 1);
        let back = machine.run(4e6, 2e6, 1);
        let floor = NoiseFloor { low: 0.95, high: 1.05, seen: 1.0, rounds: 10 };
        let say = |rerun| judge(&first, first.p, rerun, &floor, &Rules::WALL_NS);
        assert_eq!(say(None), Judgement::Unconfirmed { slower: true, rerun: false });
        assert_eq!(say(Some(&back)), Judgement::Unconfirmed { slower: true, rerun: true });
        assert_eq!(say(Some(&first)), Judgement::Slower);
        let loud = NoiseFloor { low: 0.3, high: 3.0, ..floor };
        assert_ne!(judge(&first, first.p, Some(&first), &loud, &Rules::WALL_NS), Judgement::Slower);
    }

    #[test]
    fn a_crowd_pointing_one_way_makes_the_machine_suspect() {
        let findings: Vec<f64> = (0..17).map(|step| 1.10 + 0.002 * f64::from(step)).collect();
        assert!(matches!(
            machine_suspect(&findings, None),
            Some(Suspicion::OneSidedCrowd { same_way: 17, of: 17, .. })
        ));
        let causes = [1.0, 1.02, 11.3, 1.0, 1.5, 0.98, 1.0, 1.01, 3.0, 1.0, 1.3, 0.95];
        assert_eq!(machine_suspect(&causes, None), None);
        let floor = NoiseFloor { low: 0.8, high: 1.25, seen: 1.2, rounds: 10 };
        assert!(matches!(machine_suspect(&[], Some(&floor)), Some(Suspicion::UnequalTwins { .. })));
    }
}
