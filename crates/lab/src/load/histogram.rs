//! Latencies: a histogram of three digits from a nanosecond to an hour, and its summary.

use hdrhistogram::Histogram;

use crate::evidence::LatencySummary;

/// What a histogram can tell apart at the top: an hour. Longer is counted as an hour.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;
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
    ///
    /// # Panics
    /// Never: the bounds are those of the crate's own example.
    #[must_use]
    pub fn new() -> Latencies {
        Latencies(Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS).expect("the bounds are good"))
    }

    /// Counts one.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Counts one value so many times.
    pub fn record_many(&mut self, ns: u64, count: u64) {
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
    pub fn quantile_ns(&self, share: f64) -> u64 {
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
}
