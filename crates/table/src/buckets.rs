//! Buckets of equal height, as MySQL makes them: a value stands in one bucket, and the highest bucket is as low as that allows.

/// Where the buckets of values end that occur `counts` times each, in their order: positions behind the last value of each. At most `bucket_max`
/// buckets, which is at least 1.
pub(crate) fn bucket_ends(counts: &[u64], bucket_max: usize) -> Vec<usize> {
    let total: u64 = counts.iter().sum();
    // The lowest height at which they suffice: a value higher than that has a bucket of its own.
    let (mut low, mut high) = (total.div_ceil(bucket_max as u64).min(1), total);
    while low < high {
        let height = low + (high - low) / 2;
        if ends_at(counts, height).count() <= bucket_max { high = height } else { low = height + 1 }
    }
    ends_at(counts, low).collect()
}

/// Where buckets end that are no higher than `height`, but for those of one value.
fn ends_at(counts: &[u64], height: u64) -> impl Iterator<Item = usize> {
    let mut held = 0;
    counts.iter().enumerate().filter_map(move |(at, &count)| {
        held += count;
        let is_end = counts.get(at + 1).is_none_or(|next| held + next > height);
        is_end.then(|| {
            held = 0;
            at + 1
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As 9.7 answers for the same values.
    #[test]
    fn buckets_end_where_mysqls_do() {
        let mut counts = vec![1, 1, 1, 1, 335];
        counts.resize(666, 1);
        assert_eq!(bucket_ends(&counts, 5), [4, 5, 226, 447, 666]);
        assert_eq!(bucket_ends(&[4; 250], 8), [32, 64, 96, 128, 160, 192, 224, 250]);
        assert_eq!(bucket_ends(&[1; 1000], 1), [1000]);
        assert_eq!(bucket_ends(&[1; 3], 3), [1, 2, 3]);
        assert_eq!(bucket_ends(&[], 3), [0; 0]);
    }
}
