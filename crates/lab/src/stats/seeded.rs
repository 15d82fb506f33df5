//! Chance that can be repeated: xoshiro256++ (Blackman, Vigna, 2019), seeded by splitmix64.
//!
//! A resample asks for tens of thousands of draws, so this is a plain value and not the trait of crate `env`.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of draws; the same seed gives the same stream.
#[derive(Clone, Debug)]
pub struct Seeded(Xoshiro256PlusPlus);

impl Seeded {
    /// A stream of its own for each seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 even bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Below `end`, each number as likely as any other up to one part in 2^64. `end` must be above 0.
    pub fn below(&mut self, end: usize) -> usize {
        assert!(end > 0, "nothing is below 0");
        usize::try_from((u128::from(self.bits()) * end as u128) >> 64).expect("it is below a usize")
    }

    /// From 0, always below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normal with mean 0 and standard deviation 1 (Box, Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Puts the items into an order drawn evenly from all orders (Fisher, Yates).
    #[cfg(test)]
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_stream_and_another_seed_another() {
        let stream = |seed| {
            let mut chance = Seeded::new(seed);
            [(); 8].map(|()| chance.bits())
        };
        assert_eq!(stream(7), stream(7));
        assert_ne!(stream(7), stream(8));
    }

    #[test]
    fn draws_are_even_and_normal_draws_have_the_right_spread() {
        let mut chance = Seeded::new(1);
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[chance.below(10)] += 1;
        }
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
        let drawn: Vec<f64> = (0..10_000).map(|_| chance.normal()).collect();
        let mean = drawn.iter().sum::<f64>() / 1e4;
        let variance = drawn.iter().map(|value| value * value).sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.06, "{mean} {variance}");
    }
}
