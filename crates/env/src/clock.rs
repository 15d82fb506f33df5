//! What time it is: one clock that only goes forward, one that agrees with the wall.

use std::fmt::Debug;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use crate::monotonic::Monotonic;

/// Time, real or simulated.
pub trait Clock: Debug + Send + Sync {
    /// A clock that never goes back and that nobody sets. About 25 to 35 ns a call for the real one.
    fn now(&self) -> Monotonic;
    /// Microseconds since 1970-01-01 00:00:00 UTC. May jump when somebody sets the machine's clock.
    fn wall_micros(&self) -> i64;
    /// The same, up to a tick of the system (at most 10 ms) late, in about 5 ns: for what people read in seconds.
    fn wall_micros_coarse(&self) -> i64 {
        self.wall_micros()
    }
    /// Waits. A simulated clock moves forward instead.
    fn sleep(&self, length: Duration);
}

/// The operating system's clocks.
#[derive(Debug)]
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    /// A clock whose monotonic zero is now.
    #[must_use]
    pub fn new() -> RealClock {
        RealClock { start: Instant::now() }
    }
}

impl Default for RealClock {
    fn default() -> RealClock {
        RealClock::new()
    }
}

impl Clock for RealClock {
    fn now(&self) -> Monotonic {
        // Never past u64::MAX: that would take 584 years of running.
        Monotonic { nanos: u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX) }
    }

    fn wall_micros(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
        }
    }

    fn wall_micros_coarse(&self) -> i64 {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
    }

    fn sleep(&self, length: Duration) {
        let _guard = crate::blocking::enter();
        std::thread::sleep(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_clock_goes_forward_and_knows_the_century() {
        let clock = RealClock::new();
        let first = clock.now();
        clock.sleep(Duration::from_millis(2));
        assert!(clock.now().since(first) >= Duration::from_millis(2));
        assert_eq!(first.since(clock.now()), Duration::ZERO);
        assert!(clock.wall_micros() > 1_600_000_000_000_000, "after 2020");
        assert_eq!(first.after(Duration::MAX).nanos, u64::MAX);
    }
}
