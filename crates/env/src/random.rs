//! Chance: the kernel's for secrets and salts, a seeded one for everything that has to be repeatable.

use parking_lot::Mutex;
use std::fmt::Debug;
use std::io;

/// A source of random bytes. The real one is fit for keys and salts; the seeded one only for simulations and tests.
pub trait Random: Debug + Send + Sync {
    /// Fills `bytes`.
    ///
    /// # Errors
    /// The operating system has no randomness to give (a sealed-off process on an old kernel).
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()>;

    /// Eight random bytes as a number.
    ///
    /// # Errors
    /// As [`Random::fill`].
    fn next_u64(&self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// The kernel's randomness.
#[derive(Debug)]
pub struct RealRandom;

impl Random for RealRandom {
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom::fill(bytes).map_err(|error| io::Error::other(error.to_string()))
    }
}

/// A small fast generator with one number of state. The same seed gives the same numbers on every machine and version.
///
/// SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014. Never for secrets.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A generator that starts at `seed`; every seed is a good one.
    #[must_use]
    pub fn new(seed: u64) -> Rng {
        Rng { state: seed }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, close enough to uniform for tests (bias below 2^-32 for bounds below 2^32); 0 for bound 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        u64::try_from((u128::from(self.next_u64()) * u128::from(bound)) >> 64).unwrap_or(0)
    }

    /// [`Rng::below`] for an index.
    pub fn index(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).unwrap_or(0)
    }

    /// True `per_thousand` times in a thousand.
    pub fn chance(&mut self, per_thousand: u64) -> bool {
        self.below(1000) < per_thousand
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }

    /// A new generator whose numbers have nothing to do with this one's.
    #[must_use]
    pub fn fork(&mut self) -> Rng {
        Rng::new(self.next_u64())
    }
}

/// [`Rng`] as an [`crate::Env`]'s randomness.
#[derive(Debug)]
pub struct SeededRandom {
    rng: Mutex<Rng>,
}

impl SeededRandom {
    /// Randomness that repeats from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> SeededRandom {
        SeededRandom { rng: Mutex::new(Rng::new(seed)) }
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.rng.lock().fill(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_bounds_hold() {
        // From the reference implementation: seed 1234567 begins so.
        let mut rng = Rng::new(1_234_567);
        assert_eq!(rng.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next_u64(), 3_203_168_211_198_807_973);
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[rng.index(10)] += 1;
        }
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert!(!rng.chance(0) && rng.chance(1000));
    }

    #[test]
    fn the_kernel_gives_different_bytes() {
        assert_ne!(RealRandom.next_u64().unwrap(), RealRandom.next_u64().unwrap());
    }
}
