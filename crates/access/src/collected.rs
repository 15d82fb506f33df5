//! The collected statistics of a table: one immutable value, from which estimates are computed.
//!
//! Values of columns stand here as the bytes of keys, which compare as the values do, so that nothing here knows types. A histogram
//! has MySQL's meaning: a bucket holds the values from its least to its greatest, a value stands in one bucket, and shares are
//! cumulative and of all rows, those with NULL too. If each value has a bucket of its own, the histogram is MySQL's "singleton", else "equi-height".

use std::sync::Arc;

use crate::key::KeyBytesRange;

/// The collected statistics of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectedStatistics {
    /// Grows whenever the statistics of this table are replaced.
    pub version: u64,
    /// When they were collected, in microseconds since 1970.
    pub made_micros: i64,
    /// Rows then.
    pub row_count: u64,
    /// Leaves of the tree of rows.
    pub leaf_count: u64,
    /// Rows in the sample.
    pub sampled_rows: u64,
    /// The sample holds all rows.
    pub is_whole: bool,
    /// By ordinal; `None` for a column that changed since.
    pub columns: Vec<Option<Arc<ColumnStatistics>>>,
    /// By ordinal; `None` for an index that was created since.
    pub indexes: Vec<Option<Arc<IndexStatistics>>>,
}

/// The statistics of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStatistics {
    /// Share of the rows with NULL.
    pub null_share: f64,
    /// Different values, NULL not among them.
    pub distinct: f64,
    /// Bytes of a value, NULL not among them.
    pub mean_bytes: f64,
    /// The most frequent values and their shares of the rows, the most frequent first.
    pub frequent: Vec<(Box<[u8]>, f64)>,
    /// The distribution of the values.
    pub histogram: Vec<Bucket>,
}

/// A histogram that ANALYZE TABLE ... UPDATE HISTOGRAM left.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Its column.
    pub column: usize,
    /// The JSON document, in binary form.
    pub document: Arc<[u8]>,
}

/// A bucket of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// The least value.
    pub least: Box<[u8]>,
    /// The greatest.
    pub greatest: Box<[u8]>,
    /// Share of the rows with values up to the greatest.
    pub cumulative: f64,
    /// Different values.
    pub distinct: f64,
}

/// The statistics of an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexStatistics {
    /// Different keys of the first part, of the first two, ...; a NULL differs from no NULL.
    pub distinct: Vec<u64>,
    /// Leaves of its tree.
    pub leaf_count: u64,
    /// Leaves in the sample.
    pub sampled_leaves: u64,
}

/// A value that no more rows hold is not frequent enough to make another plan the better one.
const SKEWED_SHARE_MIN: f64 = 0.01;
/// Or rows.
const SKEWED_ROWS_MIN: f64 = 100.0;
/// The most frequent value of a skewed column is held by more than this many times the rows of another one.
const SKEWED_FACTOR: f64 = 4.0;

/// From this share of the rows on, the number of different values is taken to grow with the table.
const GROWING_SHARE: f64 = 0.1;

impl CollectedStatistics {
    /// The statistics of a column.
    #[must_use]
    pub fn column(&self, column: usize) -> Option<&ColumnStatistics> {
        self.columns.get(column)?.as_deref()
    }

    /// Different values of a column, NULL not among them, in a table that has `row_count` rows now.
    #[must_use]
    pub fn distinct_values(&self, column: usize, row_count: u64) -> Option<f64> {
        Some(self.grown(self.column(column)?.distinct, row_count).max(1.0))
    }

    /// Different keys of the first `part_count` parts of an index, in a table that has `row_count` rows now; at least 1.
    #[must_use]
    pub fn distinct_keys(&self, index: usize, part_count: usize, row_count: u64) -> Option<u64> {
        let found = *self.indexes.get(index)?.as_ref()?.distinct.get(part_count.checked_sub(1)?)?;
        Some((self.grown(found as f64, row_count).round() as u64).clamp(1, row_count.max(1)))
    }

    /// As many values are there now if there were `found` then: where most rows had a value of their own, those that came since have one, too.
    fn grown(&self, found: f64, row_count: u64) -> f64 {
        let then = self.row_count.max(1) as f64;
        let now = row_count as f64;
        let grown = if found > GROWING_SHARE * then { found * now / then } else { found };
        grown.min(now.max(1.0))
    }
}

impl ColumnStatistics {
    /// Share of the rows that hold this value.
    #[must_use]
    pub fn equal_share(&self, key: &[u8]) -> f64 {
        match self.frequent.iter().find(|(value, _)| **value == *key) {
            Some(&(_, share)) => share,
            None => self.rare_share(),
        }
    }

    /// Share of the rows that hold a value which is not among the most frequent: of each alike.
    fn rare_share(&self) -> f64 {
        let frequent: f64 = self.frequent.iter().map(|&(_, share)| share).sum();
        let left = (1.0 - self.null_share - frequent).max(0.0);
        let least_frequent = self.frequent.last().map_or(1.0, |&(_, share)| share);
        (left / (self.distinct - self.frequent.len() as f64).max(1.0)).min(least_frequent)
    }

    /// Whether it matters which value is asked for: one is frequent, and another is much less so.
    #[must_use]
    pub fn is_skewed(&self, row_count: u64) -> bool {
        let most = self.frequent.first().map_or(0.0, |&(_, share)| share);
        let all_known = self.distinct <= self.frequent.len() as f64;
        let least =
            if all_known { self.frequent.last().map_or(0.0, |&(_, share)| share) } else { self.rare_share() };
        let is_many = most > SKEWED_SHARE_MIN || most * row_count as f64 > SKEWED_ROWS_MIN;
        is_many && most > SKEWED_FACTOR * least
    }

    /// Share of the rows with values in a range of keys, which holds no NULL.
    #[must_use]
    pub fn range_share(&self, range: &KeyBytesRange) -> f64 {
        let upper = range.upper.as_ref().map_or(1.0 - self.null_share, |upper| self.share_below(upper));
        (upper - self.share_below(&range.lower)).clamp(0.0, 1.0)
    }

    /// Share of the rows with values whose keys are below this one.
    fn share_below(&self, key: &[u8]) -> f64 {
        let at = self.histogram.partition_point(|bucket| *bucket.greatest < *key);
        let before = at.checked_sub(1).map_or(0.0, |at| self.histogram[at].cumulative);
        match self.histogram.get(at) {
            Some(bucket) if *key > *bucket.least => {
                before + (bucket.cumulative - before) * place(key, &bucket.least, &bucket.greatest)
            }
            _ => before,
        }
    }
}

/// Where a key lies between two others: from 0 to 1, as the first bytes in which these differ say.
fn place(key: &[u8], least: &[u8], greatest: &[u8]) -> f64 {
    let common = least.iter().zip(greatest).take_while(|(one, other)| one == other).count();
    let number = |bytes: &[u8]| {
        let behind = bytes.get(common..).unwrap_or(&[]);
        (0..7).fold(0_u64, |number, at| number << 8 | u64::from(behind.get(at).copied().unwrap_or(0)))
    };
    let (low, high) = (number(least), number(greatest));
    if high <= low {
        return 0.5;
    }
    (number(key).saturating_sub(low) as f64 / (high - low) as f64).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> Box<[u8]> {
        number.to_be_bytes().into()
    }

    fn bucket(least: u32, greatest: u32, cumulative: f64) -> Bucket {
        Bucket { least: key(least), greatest: key(greatest), cumulative, distinct: 1.0 }
    }

    fn between(lower: u32, upper: u32) -> KeyBytesRange {
        KeyBytesRange { lower: key(lower).into(), upper: Some(key(upper).into()) }
    }

    /// Half of the rows lie from 0 to 1,000, 30 % from 5,000 to 6,000, of which a tenth of all is 5,500; the others are NULL.
    fn collected() -> ColumnStatistics {
        ColumnStatistics {
            null_share: 0.2,
            distinct: 401.0,
            mean_bytes: 4.0,
            frequent: vec![(key(5_500), 0.1)],
            histogram: vec![
                bucket(0, 1_000, 0.5),
                bucket(5_000, 5_499, 0.6),
                bucket(5_500, 5_500, 0.7),
                bucket(5_501, 6_000, 0.8),
            ],
        }
    }

    #[test]
    fn ranges_are_read_off_the_histogram() {
        let collected = collected();
        let share = |lower, upper| collected.range_share(&between(lower, upper));
        assert!((share(0, 500) - 0.25).abs() < 0.001);
        assert_eq!(share(1_001, 5_000), 0.0);
        assert!((share(5_500, 5_501) - 0.1).abs() < 1e-9);
        assert!((share(0, 7_000) - 0.8).abs() < 1e-9);
        assert_eq!(share(7_000, 8_000), 0.0);
        assert!(
            (collected.range_share(&KeyBytesRange { lower: key(5_501).into(), upper: None }) - 0.1).abs()
                < 1e-9
        );
    }

    #[test]
    fn what_is_not_frequent_shares_the_rest() {
        let collected = collected();
        assert_eq!(collected.equal_share(&key(5_500)), 0.1);
        assert!((collected.equal_share(&key(7)) - 0.7 / 400.0).abs() < 1e-9);
        assert_eq!(ColumnStatistics::default().equal_share(&key(1)), 1.0);
        assert!(collected.is_skewed(100_000));
        let even = ColumnStatistics {
            frequent: vec![(key(1), 0.4), (key(2), 0.3)],
            distinct: 2.0,
            ..ColumnStatistics::default()
        };
        assert!(!even.is_skewed(100_000));
    }
}
