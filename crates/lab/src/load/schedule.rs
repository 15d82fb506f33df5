//! When the operations of an open loop are meant to begin: fixed by rate, form and seed before the first is sent, so that a
//! slow server cannot slow its own load down.

use crate::data::random::Random;
use crate::scenario::Arrivals;

const SECOND_NS: f64 = 1e9;
/// A spike is this many times the rate around it, in the middle tenth.
const SPIKE_FACTOR: f64 = 10.0;
const SPIKE_SHARE: f64 = 0.1;

/// Intended starts in nanoseconds from the block's beginning, ascending, up to its end.
#[derive(Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    random: Random,
    /// Arrivals expected in the whole block.
    expected: f64,
    duration_ns: f64,
    /// Operational time: how many arrivals were expected up to the last one.
    position: f64,
}

impl Schedule {
    /// A schedule of `rate_per_s` over `duration_ns`, drawn from `random` where it is random.
    #[must_use]
    pub fn new(arrivals: Arrivals, rate_per_s: f64, duration_ns: u64, random: Random) -> Schedule {
        let duration_ns = duration_ns as f64;
        Schedule {
            arrivals,
            random,
            expected: rate_per_s * duration_ns / SECOND_NS,
            duration_ns,
            position: 0.0,
        }
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.position += match self.arrivals {
            Arrivals::Poisson => -(1.0 - self.random.unit()).ln(),
            Arrivals::Constant | Arrivals::Ramp | Arrivals::Spike => 1.0,
        };
        if self.position >= self.expected {
            return None;
        }
        let share = self.position / self.expected;
        // The inverse of the share of arrivals up to a time.
        let time = match self.arrivals {
            Arrivals::Constant | Arrivals::Poisson => share,
            Arrivals::Ramp => share.sqrt(),
            Arrivals::Spike => {
                let base = 1.0 / (1.0 - SPIKE_SHARE + SPIKE_FACTOR * SPIKE_SHARE);
                let before = base * (1.0 - SPIKE_SHARE) / 2.0;
                let during = base * SPIKE_FACTOR * SPIKE_SHARE;
                if share < before {
                    share / base
                } else if share < before + during {
                    (1.0 - SPIKE_SHARE) / 2.0 + (share - before) / (base * SPIKE_FACTOR)
                } else {
                    (1.0 + SPIKE_SHARE) / 2.0 + (share - before - during) / base
                }
            }
        };
        Some((time * self.duration_ns) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(arrivals: Arrivals, seed: u64) -> Vec<u64> {
        Schedule::new(arrivals, 1000.0, 10_000_000_000, Random::new(seed, 0)).collect()
    }

    #[test]
    fn a_schedule_has_its_rate_and_form_and_depends_on_the_seed_alone() {
        for arrivals in [Arrivals::Constant, Arrivals::Poisson, Arrivals::Ramp, Arrivals::Spike] {
            let times = times(arrivals, 1);
            assert!((9_500..=10_500).contains(&times.len()), "{arrivals:?}: {}", times.len());
            assert!(times.is_sorted() && *times.last().unwrap() < 10_000_000_000, "{arrivals:?}");
        }
        assert_eq!(times(Arrivals::Constant, 1)[..2], [1_000_000, 2_000_000]);
        assert_eq!(times(Arrivals::Poisson, 1), times(Arrivals::Poisson, 1));
        assert_ne!(times(Arrivals::Poisson, 1), times(Arrivals::Poisson, 2));
        let first_half = |times: &[u64]| times.iter().filter(|&&time| time < 5_000_000_000).count();
        assert!((2_400..=2_600).contains(&first_half(&times(Arrivals::Ramp, 1))));
        let middle = times(Arrivals::Spike, 1)
            .iter()
            .filter(|&&time| (4_500_000_000..5_500_000_000).contains(&time))
            .count();
        assert!((5_200..=5_320).contains(&middle), "{middle}");
    }

    #[test]
    fn gaps_of_independent_users_vary_as_much_as_they_last() {
        let times = times(Arrivals::Poisson, 9);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((0.9..1.1).contains(&(variance.sqrt() / mean)), "{}", variance.sqrt() / mean);
    }
}
