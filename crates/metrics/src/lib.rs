//! Counters with the unit in the name.
//!
//! A counter is written from hot paths of several threads, so it is spread over cache lines: each thread adds to its
//! own stripe and a reader sums them. Who reads (SHOW STATUS, a metrics page) is not known here.
//!
//! ```
//! let requests = metrics::Counter::new();
//! requests.increment();
//! requests.add(2);
//! assert_eq!(requests.get(), 3);
//! ```

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Stripes a counter is spread over. More threads than this share stripes, which stays correct.
pub const STRIPES: usize = 8;

/// An enum of what is counted, with MySQL's name of each counter in `ALL`, in the order of the enum.
#[macro_export]
macro_rules! counter_kinds {
    ($(#[$about:meta])* $name:ident { $($kind:ident $text:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[allow(missing_docs, reason = "MySQL's own words")]
        pub enum $name { $($kind),* }

        impl $name {
            /// All kinds with the name of their counter.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$kind, $text)),*];
        }
    };
}

#[repr(align(64))]
#[derive(Debug, Default)]
struct Stripe(AtomicU64);

/// A number that only grows, cheap to add to from any thread.
#[derive(Debug, Default)]
pub struct Counter {
    stripes: [Stripe; STRIPES],
}

fn stripe_index() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static INDEX: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    INDEX.with(|index| {
        if index.get() == usize::MAX {
            index.set(NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES);
        }
        index.get()
    })
}

impl Counter {
    /// A counter at zero.
    #[must_use]
    pub const fn new() -> Self {
        Self { stripes: [const { Stripe(AtomicU64::new(0)) }; STRIPES] }
    }

    /// Adds `count`.
    pub fn add(&self, count: u64) {
        self.stripes[stripe_index()].0.fetch_add(count, Ordering::Relaxed);
    }

    /// Adds one.
    pub fn increment(&self) {
        self.add(1);
    }

    /// The sum so far; additions under way may be missing.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.0.load(Ordering::Relaxed)).sum()
    }
}

/// A number that only one thread at a time adds to, while any may read it. Adding costs what it costs for a plain integer.
#[derive(Debug, Default)]
pub struct OwnedCounter(AtomicU64);

impl OwnedCounter {
    /// A counter at zero.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds `count`. Two threads that add at the same time may lose one of the additions.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    /// Adds one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Sets it.
    #[inline]
    pub fn set(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }

    /// The number so far.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down (open connections, running threads).
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// A gauge at zero.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds one and returns the number after it.
    pub fn increment(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes one away.
    pub fn decrement(&self) {
        let before = self.0.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "a gauge went below zero");
    }

    /// The number now.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Raises the gauge to `number` if it is below (a high-water mark).
    pub fn raise_to(&self, number: u64) {
        self.0.fetch_max(number, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_sums_what_all_threads_added() {
        let counter = Counter::new();
        std::thread::scope(|scope| {
            for _ in 0..2 * STRIPES {
                scope.spawn(|| (0..1000).for_each(|_| counter.increment()));
            }
        });
        assert_eq!(counter.get(), 2 * STRIPES as u64 * 1000);
    }

    #[test]
    fn a_gauge_goes_both_ways() {
        let gauge = Gauge::new();
        assert_eq!(gauge.increment(), 1);
        gauge.decrement();
        gauge.raise_to(7);
        gauge.raise_to(3);
        assert_eq!(gauge.get(), 7);
    }
}
