//! Values of a column from sampled rows, and what they say of all.
//!
//! Rows are sampled in runs of neighbours, and neighbours resemble each other: a value that is met often in one leaf may occur nowhere
//! else. So a value counts once a leaf where different values are estimated, and is frequent only if several leaves hold it. Two estimates of
//! the number of different values are at hand, and the smaller is taken: that of Haas and Stokes (1998), from the values that only one leaf
//! holds, and the number of runs of equal values in the table's order, which there cannot be more values than.

use access::{Bucket, ColumnStatistics};

use crate::buckets::bucket_ends;

/// Most frequent values that are kept.
const FREQUENT_MAX: usize = 32;
/// Leaves of a sample that a value must be met in to be a frequent one.
const FREQUENT_LEAVES_MIN: u32 = 5;
/// A frequent value occurs more than this many times as often as values do on average.
const FREQUENT_FACTOR: f64 = 1.25;
/// Buckets of a histogram: MySQL's default.
const BUCKETS_MAX: usize = 100;

/// Values of a column.
#[derive(Debug, Default)]
pub(crate) struct ColumnSample {
    bytes: Vec<u8>,
    values: Vec<SampledValue>,
    nulls: u64,
    /// Values of which only the size is known.
    large: u64,
    size_sum: u64,
    /// Neighbours compared, and those that differ.
    pairs: u64,
    changes: u64,
}

#[derive(Clone, Copy, Debug)]
struct SampledValue {
    /// The first bytes of the key.
    head: u64,
    at: u32,
    len: u32,
    leaf: u32,
}

/// A value and where it was met.
#[derive(Clone, Copy, Debug)]
struct Group {
    value: SampledValue,
    count: u32,
    leaves: u32,
}

impl ColumnSample {
    pub(crate) fn push_null(&mut self) {
        self.nulls += 1;
    }

    /// A value stored out of line, or of a type that has no key.
    pub(crate) fn push_large(&mut self, size: u64) {
        self.large += 1;
        self.size_sum += size;
    }

    /// A value: `write` appends its key. Values of one leaf come one after the other.
    pub(crate) fn push(&mut self, leaf: u32, size: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let at = self.bytes.len();
        write(&mut self.bytes);
        let key = &self.bytes[at..];
        let head = key.iter().chain(&[0; 8]).take(8).fold(0, |head, &byte| head << 8 | u64::from(byte));
        let value = SampledValue { head, at: at as u32, len: key.len() as u32, leaf };
        if let Some(previous) = self.values.last().filter(|previous| previous.leaf == leaf) {
            self.pairs += 1;
            self.changes += u64::from(self.key(previous) != self.key(&value));
        }
        self.size_sum += size;
        self.values.push(value);
    }

    fn key(&self, value: &SampledValue) -> &[u8] {
        &self.bytes[value.at as usize..(value.at + value.len) as usize]
    }

    /// What is known of the column in a table of `row_count` rows. `is_whole`: these are all of them.
    pub(crate) fn statistics(&mut self, row_count: u64, is_whole: bool) -> ColumnStatistics {
        let keyed = self.values.len() as f64;
        let not_null = keyed + self.large as f64;
        let sampled = not_null + self.nulls as f64;
        if sampled == 0.0 {
            return ColumnStatistics { distinct: 1.0, ..ColumnStatistics::default() };
        }
        let groups = self.groups();
        let scale = if is_whole { 1.0 } else { (row_count as f64 / sampled).max(1.0) };
        // Each large value is taken to be another one.
        let distinct = self.distinct(&groups, scale, is_whole) + self.large as f64 * scale;
        ColumnStatistics {
            null_share: self.nulls as f64 / sampled,
            distinct: distinct.max(1.0),
            mean_bytes: self.size_sum as f64 / not_null.max(1.0),
            frequent: self.frequent(&groups, sampled, is_whole),
            histogram: self.histogram(&groups, sampled, distinct),
        }
    }

    /// Equal values together, in their order.
    fn groups(&mut self) -> Vec<Group> {
        let mut values = std::mem::take(&mut self.values);
        values.sort_unstable_by(|one, other| {
            one.head
                .cmp(&other.head)
                .then_with(|| self.key(one).cmp(self.key(other)))
                .then(one.leaf.cmp(&other.leaf))
        });
        let mut groups: Vec<Group> = Vec::new();
        let mut last_leaf = 0;
        for value in &values {
            match groups.last_mut() {
                Some(group)
                    if group.value.head == value.head && self.key(&group.value) == self.key(value) =>
                {
                    group.count += 1;
                    group.leaves += u32::from(last_leaf != value.leaf);
                }
                _ => groups.push(Group { value: *value, count: 1, leaves: 1 }),
            }
            last_leaf = value.leaf;
        }
        self.values = values;
        groups
    }

    /// Different values in all rows, which are `scale` times those of the sample.
    fn distinct(&self, groups: &[Group], scale: f64, is_whole: bool) -> f64 {
        let found = groups.len() as f64;
        if is_whole || groups.is_empty() {
            return found;
        }
        let met: f64 = groups.iter().map(|group| f64::from(group.leaves)).sum();
        let once = groups.iter().filter(|group| group.leaves == 1).count() as f64;
        let by_leaves = met * found / (met - once + once / scale);
        let rows = self.values.len() as f64 * scale;
        let runs = match self.pairs {
            0 => f64::INFINITY,
            pairs => 1.0 + self.changes as f64 / pairs as f64 * (rows - 1.0),
        };
        by_leaves.min(runs).max(found)
    }

    fn frequent(&self, groups: &[Group], sampled: f64, is_whole: bool) -> Vec<(Box<[u8]>, f64)> {
        let mean = self.values.len() as f64 / groups.len().max(1) as f64;
        let is_all = groups.len() <= FREQUENT_MAX;
        let is_frequent = |group: &&Group| {
            let is_sure = is_whole || group.leaves >= FREQUENT_LEAVES_MIN;
            is_sure && (is_all || f64::from(group.count) > FREQUENT_FACTOR * mean)
        };
        let mut frequent: Vec<&Group> = groups.iter().filter(is_frequent).collect();
        frequent.sort_by_key(|group| std::cmp::Reverse(group.count));
        frequent.truncate(FREQUENT_MAX);
        let of = |group: &&Group| (self.key(&group.value).into(), f64::from(group.count) / sampled);
        frequent.iter().map(of).collect()
    }

    fn histogram(&self, groups: &[Group], sampled: f64, distinct: f64) -> Vec<Bucket> {
        let counts: Vec<u64> = groups.iter().map(|group| u64::from(group.count)).collect();
        let per_found = distinct / groups.len().max(1) as f64;
        let (mut seen, mut begins) = (0_u64, 0);
        let mut buckets = Vec::with_capacity(groups.len().min(BUCKETS_MAX));
        for end in bucket_ends(&counts, BUCKETS_MAX) {
            seen += counts[begins..end].iter().sum::<u64>();
            buckets.push(Bucket {
                least: self.key(&groups[begins].value).into(),
                greatest: self.key(&groups[end - 1].value).into(),
                cumulative: seen as f64 / sampled,
                distinct: (end - begins) as f64 * per_found,
            });
            begins = end;
        }
        buckets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,500 runs of 20 of `row_count` rows, each of another leaf: row `number` lies in leaf `number / 100` and has the value `of(number)`.
    fn sampled(row_count: u64, of: impl Fn(u64) -> u64) -> ColumnStatistics {
        let mut sample = ColumnSample::default();
        let mut random = 1_u64;
        for leaf in 0..1_500 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let between = row_count / 100 / 1_500;
            let first = (leaf * between + (random >> 33) % between) * 100 + leaf % 80;
            for number in first..first + 20 {
                let value = of(number);
                sample.push(leaf as u32, 8, |out| out.extend_from_slice(&value.to_be_bytes()));
            }
        }
        sample.statistics(row_count, false)
    }

    /// A number that looks random, the same for the same.
    fn mixed(number: u64) -> u64 {
        let bits = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    #[test]
    fn distinct_values_are_estimated_of_scattered_clustered_and_unique_ones() {
        let rows = 10_000_000_u64;
        type Of = fn(u64) -> u64;
        let cases: [(&str, Of, f64, f64); 6] = [
            ("unique", |number| number, 10e6, 1.1),
            ("unique, scattered", mixed, 10e6, 1.1),
            ("four neighbours each", |number| number / 4, 2.5e6, 1.1),
            ("50,000 neighbours each", |number| number / 50_000, 200.0, 1.1),
            ("2,500 scattered", |number| mixed(number) % 2_500, 2_500.0, 1.05),
            ("200,000 scattered", |number| mixed(number) % 200_000, 200_000.0, 2.0),
        ];
        for (name, of, real, most) in cases {
            let found = sampled(rows, of).distinct;
            let error = (found / real).max(real / found);
            println!("{name}: {found:.0} of {real}, {error:.2} times");
            assert!(error <= most, "{name}: {found} of {real}");
        }
    }

    #[test]
    fn frequent_values_are_those_of_many_leaves() {
        let statistics = sampled(10_000_000, |number| {
            if mixed(number) % 10 < 3 {
                7
            } else if number / 100 == 5 {
                8
            } else {
                100 + mixed(mixed(number)) % 90_000
            }
        });
        let (value, share) = &statistics.frequent[0];
        assert_eq!(**value, 7_u64.to_be_bytes());
        assert!((share - 0.3).abs() < 0.02, "{share}");
        assert!(statistics.frequent.iter().all(|(value, _)| **value != 8_u64.to_be_bytes()));
        assert!((statistics.equal_share(&500_u64.to_be_bytes()) * 90_000.0 / 0.7 - 1.0).abs() < 0.5);
    }

    #[test]
    fn histograms_have_a_bucket_a_value_or_equal_heights() {
        let mut sample = ColumnSample::default();
        for number in 0..1_000_u64 {
            sample.push(0, 8, |out| out.extend_from_slice(&(number % 10).to_be_bytes()));
        }
        (0..1_000).for_each(|_| sample.push_null());
        let statistics = sample.statistics(2_000, true);
        assert_eq!((statistics.distinct, statistics.null_share, statistics.histogram.len()), (10.0, 0.5, 10));
        assert_eq!(statistics.frequent.len(), 10);
        assert!(statistics.histogram.iter().all(|bucket| bucket.least == bucket.greatest));

        let statistics = sampled(10_000_000, |number| match mixed(number) % 4 {
            0 => 5_000,
            _ => mixed(number) % 10_000,
        });
        assert_eq!(statistics.histogram.len(), BUCKETS_MAX);
        let mut before = 0.0;
        for bucket in &statistics.histogram {
            let share = bucket.cumulative - before;
            before = bucket.cumulative;
            assert!(share < 0.015 || bucket.least == bucket.greatest, "{share}");
        }
        assert!((before - 1.0).abs() < 1e-9);
    }
}
