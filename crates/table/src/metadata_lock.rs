//! The lock that keeps a table's definition as it is while transactions use it.
//!
//! Every transaction that touches a table holds the lock shared until it ends; DDL holds it exclusively from before its
//! check to after its catalog snapshot is published. So DDL waits for transactions, as MySQL's metadata locks do, and
//! those who come while DDL waits stand behind it. An uncontended shared lock is one atomic addition.
//!
//! Who waits sits in `env::blocking`, so that a worker can give its place away.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Set while somebody holds or wants the lock exclusively.
const EXCLUSIVE: u64 = 1 << 63;

/// The lock was not given in time. Client sees 1205.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MetadataLockTimeout;

/// A table's metadata lock. It does not know who holds it: callers give back what they took.
#[derive(Debug, Default)]
pub struct MetadataLock {
    /// Number of shared holders, and the exclusive bit.
    state: AtomicU64,
    waiting: Mutex<()>,
    changed: Condvar,
}

impl MetadataLock {
    /// Takes the lock shared.
    ///
    /// # Errors
    /// Somebody holds or wants it exclusively and did not let go in `wait`.
    pub fn lock_shared(&self, wait: Duration) -> Result<(), MetadataLockTimeout> {
        if self.try_shared() {
            return Ok(());
        }
        let _blocking = env::blocking::enter();
        let mut guard = self.waiting.lock();
        let mut left = wait;
        while !self.try_shared() {
            let before = left;
            if self.wait(&mut guard, &mut left) {
                return Err(MetadataLockTimeout);
            }
            debug_assert!(left <= before);
        }
        Ok(())
    }

    fn try_shared(&self) -> bool {
        self.state
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |state| {
                (state & EXCLUSIVE == 0).then_some(state + 1)
            })
            .is_ok()
    }

    /// Gives a shared lock back.
    pub fn unlock_shared(&self) {
        let before = self.state.fetch_sub(1, Ordering::Release);
        assert!(before & !EXCLUSIVE > 0, "a metadata lock is given back once");
        if before & EXCLUSIVE != 0 {
            let _guard = self.waiting.lock();
            self.changed.notify_all();
        }
    }

    /// Takes the lock exclusively. From now on nobody gets it shared; waits for those who have it.
    ///
    /// # Errors
    /// They did not let go in `wait`; the lock is not wanted any more.
    pub fn lock_exclusive(&self, wait: Duration) -> Result<(), MetadataLockTimeout> {
        let mut left = wait;
        let mut guard = self.waiting.lock();
        let mut blocking = None;
        let wanted = || {
            self.state
                .fetch_update(Ordering::Acquire, Ordering::Relaxed, |state| {
                    (state & EXCLUSIVE == 0).then_some(state | EXCLUSIVE)
                })
                .is_ok()
        };
        while !wanted() {
            blocking.get_or_insert_with(env::blocking::enter);
            if self.wait(&mut guard, &mut left) {
                return Err(MetadataLockTimeout);
            }
        }
        while self.state.load(Ordering::Acquire) != EXCLUSIVE {
            blocking.get_or_insert_with(env::blocking::enter);
            if self.wait(&mut guard, &mut left) {
                self.state.fetch_and(!EXCLUSIVE, Ordering::Release);
                self.changed.notify_all();
                return Err(MetadataLockTimeout);
            }
        }
        Ok(())
    }

    /// Gives an exclusive lock back.
    pub fn unlock_exclusive(&self) {
        let before = self.state.fetch_and(!EXCLUSIVE, Ordering::Release);
        assert!(before == EXCLUSIVE, "an exclusive metadata lock has no other holder");
        let _guard = self.waiting.lock();
        self.changed.notify_all();
    }

    /// Waits for a change, at most `left`, in slices, and shortens it. True: nothing is left.
    fn wait(&self, guard: &mut parking_lot::MutexGuard<'_, ()>, left: &mut Duration) -> bool {
        const SLICE: Duration = Duration::from_millis(50);
        if left.is_zero() {
            return true;
        }
        let slice = SLICE.min(*left);
        if self.changed.wait_for(guard, slice).timed_out() {
            *left -= slice;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// DDL waits for a reader, a later reader stands behind DDL, and a timeout lets everybody go on.
    #[test]
    fn exclusive_waits_for_shared_and_blocks_later_ones() {
        let lock = Arc::new(MetadataLock::default());
        lock.lock_shared(Duration::ZERO).unwrap();
        assert_eq!(lock.lock_exclusive(Duration::from_millis(1)), Err(MetadataLockTimeout));
        lock.lock_shared(Duration::ZERO).unwrap();
        lock.unlock_shared();
        let (ddl, done) = (Arc::clone(&lock), Arc::clone(&lock));
        let waiter = std::thread::spawn(move || ddl.lock_exclusive(Duration::from_secs(60)));
        while done.lock_shared(Duration::ZERO).is_ok() {
            done.unlock_shared();
            std::thread::yield_now();
        }
        lock.unlock_shared();
        waiter.join().unwrap().unwrap();
        assert_eq!(lock.lock_shared(Duration::ZERO), Err(MetadataLockTimeout));
        lock.unlock_exclusive();
        lock.lock_shared(Duration::ZERO).unwrap();
    }
}
