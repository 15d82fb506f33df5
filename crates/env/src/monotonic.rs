//! Points in time that nothing but their distance means.

use std::time::Duration;

/// A point on the clock that only goes forward: nanoseconds since an arbitrary start. Compare and subtract; it names no date.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Monotonic {
    /// Nanoseconds since the clock's start (584 years fit).
    pub nanos: u64,
}

impl Monotonic {
    /// The time from `earlier` to here; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Monotonic) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }

    /// This point moved forward, at most to the end of time.
    #[must_use]
    pub fn after(self, length: Duration) -> Monotonic {
        let nanos = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        Monotonic { nanos: self.nanos.saturating_add(nanos) }
    }
}
