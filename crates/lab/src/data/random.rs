//! Random numbers that are the same on every machine and in every version.

use env::random::Rng;

/// A stream of numbers that spread keys well.
#[derive(Clone, Debug)]
pub struct Random(Rng);

impl Random {
    /// A stream of its own for each pair of seed and stream number.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut first = Rng::new(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        first.next_u64(); // Near seeds are near before the first step.
        Random(Rng::new(first.next_u64() ^ stream))
    }

    /// 64 even bits.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "it has no end, so it is no iterator")]
    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Below `bound`, evenly to within 2^-64 of it; 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// In `low..=high`, evenly.
    #[inline]
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.wrapping_sub(low) as u64;
        if span == u64::MAX { self.next() as i64 } else { low.wrapping_add(self.below(span + 1) as i64) }
    }

    /// In 0..1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts a list into an order where each is as likely.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for index in (1..list.len()).rev() {
            let other = self.below(index as u64 + 1) as usize;
            list.swap(index, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_fixed_apart_and_in_bounds() {
        let first: Vec<u64> = (0..4).map(|stream| Random::new(7, stream).next()).collect();
        assert_eq!(first, (0..4).map(|stream| Random::new(7, stream).next()).collect::<Vec<_>>());
        assert_eq!(first.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        let mut random = Random::new(1, 1);
        let mut seen = [0; 3];
        for _ in 0..3000 {
            seen[(random.between(-1, 1) + 1) as usize] += 1;
            assert!((0.0..1.0).contains(&random.unit()));
        }
        assert!(seen.iter().all(|&count| count > 900), "{seen:?}");
        assert_eq!(random.between(5, 5), 5);
        random.between(i64::MIN, i64::MAX);
    }
}
