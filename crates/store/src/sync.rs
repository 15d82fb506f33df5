//! Locks and atomics as the store uses them: the plain ones, or, with the feature `interleave`, the same ones that offer the
//! scheduler of a test a place to switch threads before every step.
//!
//! A race shows itself once in a million runs of real threads. Under [shuttle](https://docs.rs/shuttle) one thread runs at a
//! time, and which one goes on is drawn from a seed wherever threads could see each other: each atomic, each lock, each wait. So
//! few threads and short programs reach orders that a machine never tries, and a failure is repeated from its seed. What is
//! not explored: orders that only a weaker memory model allows; there the argument is in the comments (`pager/frame.rs`).
//!
//! Invariants:
//! 1. Without the feature this module is names only: nothing is added to what runs.
//! 2. With it, memory is laid out as without (`repr(transparent)` over the same atomics), so pages in mapped memory work.
//! 3. With it, nobody waits inside the operating system: whoever cannot go on lets the others run and tries again.

#[cfg(not(feature = "interleave"))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(feature = "interleave"))]
pub(crate) use std::sync::atomic;

#[cfg(feature = "interleave")]
pub(crate) use explored::{Condvar, Mutex, MutexGuard, RwLock, atomic};
#[cfg(feature = "interleave")]
pub(crate) use parking_lot::{RwLockReadGuard, RwLockWriteGuard};

/// A place where another thread may go on, if a test explores orders.
#[inline]
pub(crate) fn interleave() {
    #[cfg(feature = "interleave")]
    shuttle::thread::yield_now();
}

/// Waits a little, `spins` times already: first by the processor's hint, then by giving the core away.
#[inline]
pub(crate) fn relax(spins: u32) {
    /// How often a waiter looks before it gives its time slice away.
    const SPINS_BEFORE_YIELD: u32 = 64;
    if cfg!(feature = "interleave") {
        interleave();
    } else if spins.is_multiple_of(SPINS_BEFORE_YIELD) {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

#[cfg(feature = "interleave")]
mod explored {
    use super::interleave;
    use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
    use std::ops::{Deref, DerefMut};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    /// A timed wait ends with a timeout after this many polls.
    const POLLS_OF_A_TIMED_WAIT: u32 = 200;

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

    /// A mutex held, or, inside a wait, given back for a while.
    #[derive(Debug)]
    pub(crate) struct MutexGuard<'m, T> {
        mutex: &'m Mutex<T>,
        held: Option<parking_lot::MutexGuard<'m, T>>,
    }

    const HELD: &str = "given back inside a wait only";

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.held.as_ref().expect(HELD)
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.held.as_mut().expect(HELD)
        }
    }

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Mutex<T> {
            Mutex(parking_lot::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            loop {
                if let Some(guard) = self.try_lock() {
                    return guard;
                }
            }
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            interleave();
            self.0.try_lock().map(|held| MutexGuard { mutex: self, held: Some(held) })
        }

        pub(crate) fn is_locked(&self) -> bool {
            interleave();
            self.0.is_locked()
        }

        pub(crate) fn get_mut(&mut self) -> &mut T {
            self.0.get_mut()
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct RwLock<T>(parking_lot::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) const fn new(value: T) -> RwLock<T> {
            RwLock(parking_lot::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
            loop {
                if let Some(guard) = self.try_read() {
                    return guard;
                }
            }
        }

        pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
            loop {
                if let Some(guard) = self.try_write() {
                    return guard;
                }
            }
        }

        pub(crate) fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
            interleave();
            self.0.try_read()
        }

        pub(crate) fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
            interleave();
            self.0.try_write()
        }
    }

    /// Whether a timed wait gave up.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct TimedOut(bool);

    impl TimedOut {
        pub(crate) fn timed_out(self) -> bool {
            self.0
        }
    }

    /// A waiter goes on when it was notified, or, as the real one may, for no reason.
    #[derive(Debug, Default)]
    pub(crate) struct Condvar {
        notified: AtomicU64,
    }

    impl Condvar {
        pub(crate) const fn new() -> Condvar {
            Condvar { notified: AtomicU64::new(0) }
        }

        fn wait_polls<T>(&self, guard: &mut MutexGuard<'_, T>, polls: Option<u32>) -> TimedOut {
            let before = self.notified.load(Ordering::SeqCst);
            guard.held = None;
            let mut polled = 0;
            let timed_out = loop {
                interleave();
                if self.notified.load(Ordering::SeqCst) != before {
                    break false;
                }
                polled += 1;
                if polls.is_some_and(|polls| polled >= polls) {
                    break true;
                }
            };
            guard.held = guard.mutex.lock().held;
            TimedOut(timed_out)
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            self.wait_polls(guard, None);
        }

        pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _time: Duration) -> TimedOut {
            self.wait_polls(guard, Some(POLLS_OF_A_TIMED_WAIT))
        }

        pub(crate) fn notify_one(&self) -> bool {
            self.notify_all() > 0
        }

        pub(crate) fn notify_all(&self) -> usize {
            self.notified.fetch_add(1, Ordering::SeqCst);
            interleave();
            1
        }
    }

    pub(crate) mod atomic {
        use super::interleave;
        pub(crate) use std::sync::atomic::Ordering;

        pub(crate) fn fence(order: Ordering) {
            interleave();
            std::sync::atomic::fence(order);
        }

        macro_rules! atomics {
            ($($name:ident($value:ty)),*) => {$(
                #[derive(Debug, Default)]
                #[repr(transparent)]
                pub(crate) struct $name(std::sync::atomic::$name);

                #[allow(dead_code, reason = "the same operations for all of them")]
                impl $name {
                    pub(crate) const fn new(value: $value) -> Self {
                        Self(std::sync::atomic::$name::new(value))
                    }
                    pub(crate) fn load(&self, order: Ordering) -> $value {
                        interleave();
                        self.0.load(order)
                    }
                    pub(crate) fn store(&self, value: $value, order: Ordering) {
                        interleave();
                        self.0.store(value, order);
                    }
                    pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                        interleave();
                        self.0.swap(value, order)
                    }
                    pub(crate) fn compare_exchange(
                        &self, is: $value, becomes: $value, done: Ordering, not: Ordering,
                    ) -> Result<$value, $value> {
                        interleave();
                        self.0.compare_exchange(is, becomes, done, not)
                    }
                    pub(crate) fn compare_exchange_weak(
                        &self, is: $value, becomes: $value, done: Ordering, not: Ordering,
                    ) -> Result<$value, $value> {
                        self.compare_exchange(is, becomes, done, not)
                    }
                    pub(crate) fn fetch_update(
                        &self, done: Ordering, read: Ordering, mut change: impl FnMut($value) -> Option<$value>,
                    ) -> Result<$value, $value> {
                        let mut is = self.load(read);
                        while let Some(becomes) = change(is) {
                            match self.compare_exchange(is, becomes, done, read) {
                                Ok(before) => return Ok(before),
                                Err(other) => is = other,
                            }
                        }
                        Err(is)
                    }
                    pub(crate) fn get_mut(&mut self) -> &mut $value {
                        self.0.get_mut()
                    }
                }
            )*};
        }

        macro_rules! numbers {
            ($($name:ident($value:ty)),*) => {$(
                #[allow(dead_code, reason = "the same operations for all of them")]
                impl $name {
                    pub(crate) fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                        interleave();
                        self.0.fetch_add(value, order)
                    }
                    pub(crate) fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                        interleave();
                        self.0.fetch_sub(value, order)
                    }
                    pub(crate) fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                        interleave();
                        self.0.fetch_max(value, order)
                    }
                    pub(crate) fn fetch_min(&self, value: $value, order: Ordering) -> $value {
                        interleave();
                        self.0.fetch_min(value, order)
                    }
                }
            )*};
        }

        atomics!(
            AtomicBool(bool),
            AtomicU8(u8),
            AtomicU16(u16),
            AtomicU32(u32),
            AtomicU64(u64),
            AtomicI64(i64),
            AtomicUsize(usize)
        );
        numbers!(
            AtomicU8(u8),
            AtomicU16(u16),
            AtomicU32(u32),
            AtomicU64(u64),
            AtomicI64(i64),
            AtomicUsize(usize)
        );
    }
}
