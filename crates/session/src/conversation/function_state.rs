//! What functions remember from one statement to the next: the seeds of RAND(), and the time that `timestamp` fixes for NOW().

use crate::core::Core;

/// MySQL's generator steps modulo this.
const RANDOM_MODULUS: u64 = 0x3FFF_FFFF;

/// The state of functions.
#[derive(Debug)]
pub(crate) struct FunctionState {
    random: (u64, u64),
    fixed_timestamp_micros: Option<i64>,
}

impl FunctionState {
    /// RAND() starts from `seed`.
    pub(super) fn new(seed: u64) -> Self {
        Self { random: (seed, seed.rotate_left(32)), fixed_timestamp_micros: None }
    }

    /// As after a login.
    pub(super) fn reset(&mut self, seed: u64) {
        *self = Self::new(seed);
    }

    /// SET rand_seed1, or rand_seed2.
    pub(super) fn seed_random(&mut self, second: bool, seed: u64) {
        if second {
            self.random.1 = seed;
        } else {
            self.random.0 = seed;
        }
    }

    /// The next value of RAND(): the linear generator that RAND(n) documents, two seeds stepped together.
    pub(super) fn next_random(&mut self) -> f64 {
        let (first, second) = self.random;
        let first = (first.wrapping_mul(3).wrapping_add(second)) % RANDOM_MODULUS;
        let second = (first.wrapping_add(second).wrapping_add(33)) % RANDOM_MODULUS;
        self.random = (first, second);
        #[allow(clippy::cast_precision_loss, reason = "30 bits")]
        let number = first as f64 / RANDOM_MODULUS as f64;
        number
    }

    /// The time that was fixed.
    pub(super) fn fixed_timestamp(&self) -> Option<i64> {
        self.fixed_timestamp_micros
    }

    /// SET timestamp; `None`: the clock's.
    pub(super) fn fix_timestamp(&mut self, micros: Option<i64>) {
        self.fixed_timestamp_micros = micros;
    }

    /// Now: the time that was fixed, or the clock's.
    #[inline]
    pub(super) fn now_micros(&self, core: &Core) -> i64 {
        self.fixed_timestamp_micros.unwrap_or_else(|| core.env.clock.wall_micros())
    }
}
