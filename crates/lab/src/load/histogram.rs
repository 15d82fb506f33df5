//! Latencies: a histogram of three digits from a nanosecond to an hour, and its summary.

use hdrhistogram::Histogram;

use crate::evidence::LatencySummary;

/// What a histogram can distinguish at the top: an hour. Longer is counted as an hour.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;
/// Of a second's own histogram, of which there are many: 34 KB each.
const SECOND_DIGITS: u8 = 2;
/// Seconds of a block that have a histogram of their own; later ones count only for the whole block.
const SECONDS_MAX: usize = 600;
const SECOND_NS: u64 = 1_000_000_000;
/// Buckets of a summary, per decade.
const BUCKETS_PER_DECADE: f64 = 20.0;

/// A histogram of latencies in nanoseconds.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies::new()
    }
}

impl Latencies {
    /// Empty.
    #[must_use]
    pub fn new() -> Latencies {
        Latencies::with_digits(DIGITS)
    }

    fn with_digits(digits: u8) -> Latencies {
        Latencies(Histogram::new_with_bounds(1, LATENCY_NS_MAX, digits).expect("the bounds are good"))
    }

    /// Counts one.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Counts one value this many times.
    pub(crate) fn record_many(&mut self, ns: u64, count: u64) {
        self.0.saturating_record_n(ns, count);
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Latencies) {
        self.0 += &other.0;
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The value that a share of all do not exceed; 0 if there are none.
    #[must_use]
    pub(crate) fn quantile_ns(&self, share: f64) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.value_at_quantile(share) }
    }

    /// The summary.
    #[must_use]
    pub fn summary(&self) -> LatencySummary {
        if self.0.is_empty() {
            return LatencySummary::default();
        }
        let mut buckets: Vec<(u64, u64)> = Vec::new();
        for step in self.0.iter_recorded() {
            let value = step.value_iterated_to().max(1);
            let place = ((value as f64).log10() * BUCKETS_PER_DECADE).ceil();
            let upper = 10f64.powf(place / BUCKETS_PER_DECADE).round() as u64;
            match buckets.last_mut() {
                Some((last, count)) if *last == upper => *count += step.count_since_last_iteration(),
                _ => buckets.push((upper, step.count_since_last_iteration())),
            }
        }
        LatencySummary {
            count: self.0.len(),
            min_ns: self.0.min(),
            mean_ns: self.0.mean(),
            p50_ns: self.quantile_ns(0.5),
            p90_ns: self.quantile_ns(0.9),
            p95_ns: self.quantile_ns(0.95),
            p99_ns: self.quantile_ns(0.99),
            p999_ns: self.quantile_ns(0.999),
            max_ns: self.0.max(),
            buckets,
        }
    }
}

/// Latencies of each second of a block: what holds everybody up for some milliseconds is seen as the seconds it fell into, and the
/// others show what a second is without it.
#[derive(Clone, Debug, Default)]
pub struct BySecond(Vec<Latencies>);

impl BySecond {
    /// Counts one that was to begin so long after the block did.
    #[inline]
    pub fn record(&mut self, intended_ns: u64, latency_ns: u64) {
        let second = (intended_ns / SECOND_NS) as usize;
        if second < SECONDS_MAX {
            self.at_least(second + 1);
            self.0[second].record(latency_ns);
        }
    }

    /// Adds another's, second by second.
    pub fn add(&mut self, other: &BySecond) {
        self.at_least(other.0.len());
        for (mine, others) in self.0.iter_mut().zip(&other.0) {
            mine.add(others);
        }
    }

    /// The 99th percentile of each second, to two digits; 0 for one in which nothing was to begin.
    #[must_use]
    pub(crate) fn p99_ns(&self) -> Vec<u64> {
        self.0.iter().map(|second| second.quantile_ns(0.99)).collect()
    }

    fn at_least(&mut self, seconds: usize) {
        if self.0.len() < seconds {
            self.0.resize_with(seconds, || Latencies::with_digits(SECOND_DIGITS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_values_to_three_digits() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.summary(), LatencySummary::default());
        for value in 1..=10_000u64 {
            latencies.record(value * 1_000);
        }
        let summary = latencies.summary();
        for (found, want) in [
            (summary.p50_ns, 5_000_000),
            (summary.p90_ns, 9_000_000),
            (summary.p99_ns, 9_900_000),
            (summary.p999_ns, 9_990_000),
            (summary.max_ns, 10_000_000),
        ] {
            assert!(found.abs_diff(want) * 1000 <= want, "{found} is not {want}");
        }
        assert_eq!(summary.buckets.iter().map(|&(_, count)| count).sum::<u64>(), 10_000);
        assert!(summary.buckets.is_sorted_by(|a, b| a.0 < b.0));
        assert!(summary.buckets.len() <= 90, "{}", summary.buckets.len());
        let upper = summary.buckets.last().unwrap().0;
        assert!(upper >= 10_000_000, "{upper}");
        latencies.record(u64::MAX);
        assert_eq!(latencies.count(), 10_001);
    }

    #[test]
    fn seconds_are_apart_whoever_saw_them() {
        let (mut one, mut other) = (BySecond::default(), BySecond::default());
        assert!(one.p99_ns().is_empty());
        for _ in 0..200 {
            one.record(SECOND_NS - 1, 100);
            other.record(2 * SECOND_NS, 50);
        }
        one.record(0, 90_000);
        other.record(0, 90_000);
        other.record(SECONDS_MAX as u64 * SECOND_NS, 1);
        one.add(&other);
        assert_eq!(one.p99_ns(), [100, 0, 50]);
        other.add(&one);
        assert_eq!(other.p99_ns()[0], 90_111, "three of 203 are more than one in a hundred");
    }
}
