//! The lock that keeps a table's definition as it is while transactions use it, and that LOCK TABLES takes.
//!
//! Every transaction that touches a table holds the lock until it ends, as reader or as writer; DDL holds it alone from
//! before its check to after its catalog snapshot is published. So DDL waits for transactions, as MySQL's metadata locks
//! do, and those who come while DDL waits stand behind it. Taking it for reading or writing is one atomic addition when
//! nobody is in the way.
//!
//! | held / wanted | read | write | read only | alone |
//! | --- | --- | --- | --- | --- |
//! | read | yes | yes | yes | waits |
//! | write | yes | yes | waits | waits |
//! | read only (LOCK TABLES ... READ) | yes | waits | yes | waits |
//! | alone (DDL, LOCK TABLES ... WRITE) | waits | waits | waits | waits |
//!
//! Who waits sits in `env::blocking`, so that a worker can give its place away.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

/// Set while somebody holds or wants the lock alone.
const ALONE: u64 = 1 << 63;
/// One reader. There are fewer than 2^24 at a time: each is a session's.
const READER: u64 = 1;
/// One writer.
const WRITER: u64 = 1 << 24;
const WRITERS: u64 = 0xFF_FFFF << 24;
/// One who keeps writers out. Fewer than 2^14.
const READ_ONLY: u64 = 1 << 48;
const READ_ONLYS: u64 = 0x3FFF << 48;
/// Somebody waits: who gives back must wake.
const AWAITED: u64 = 1 << 62;

/// A waiter looks so often whether it was killed.
const SLICE: Duration = Duration::from_millis(50);

/// What a holder does with the table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MetadataMode {
    /// Reads rows.
    Read,
    /// Writes rows, or locks them for that.
    Write,
    /// Reads rows and lets nobody write: LOCK TABLES ... READ.
    ReadOnly,
    /// Changes the definition, or LOCK TABLES ... WRITE.
    Alone,
}

/// Why a lock was not given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MetadataLockError {
    /// Not in time. Client sees 1205.
    Timeout,
    /// Who waited was killed. Client sees 1317.
    Killed,
}

/// How long to wait, and what ends the wait before.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    /// The longest wait.
    pub time: Duration,
    /// Whether to give up now: KILL.
    pub killed: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Patience<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Patience").field("time", &self.time).finish_non_exhaustive()
    }
}

impl Patience<'static> {
    /// Waits so long, whatever comes.
    #[must_use]
    pub fn of(time: Duration) -> Self {
        Self { time, killed: &|| false }
    }
}

/// A table's metadata lock. It does not know who holds it: callers give back what they took.
#[derive(Debug, Default)]
pub struct MetadataLock {
    /// Readers, writers, those who keep writers out, and the bit of the one who holds or wants it alone.
    state: AtomicU64,
    waiting: Mutex<()>,
    changed: Condvar,
}

impl MetadataLock {
    /// Takes the lock. [`MetadataMode::Alone`] keeps newcomers out from the moment it waits.
    ///
    /// # Errors
    /// Others did not let go in time, or the caller was killed; nothing is held then.
    pub fn lock(&self, mode: MetadataMode, patience: Patience<'_>) -> Result<(), MetadataLockError> {
        if self.try_lock(mode) {
            return Ok(());
        }
        let _blocking = env::blocking::enter();
        let mut left = patience.time;
        let mut guard = self.waiting.lock();
        if mode != MetadataMode::Alone {
            while !self.announced(|| self.try_lock(mode)) {
                self.wait(&mut guard, &mut left, patience)?;
            }
            return Ok(());
        }
        let wanted = || self.change(|state| (state & ALONE == 0).then_some(state | ALONE));
        while !self.announced(wanted) {
            self.wait(&mut guard, &mut left, patience)?;
        }
        while !self.announced(|| self.state.load(Ordering::Acquire) & !AWAITED == ALONE) {
            if let Err(error) = self.wait(&mut guard, &mut left, patience) {
                self.state.fetch_and(!ALONE, Ordering::Release);
                self.changed.notify_all();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes the lock if nobody is in the way.
    pub fn try_lock(&self, mode: MetadataMode) -> bool {
        self.change(|state| {
            let (blocked_by, added) = match mode {
                MetadataMode::Read => (ALONE, READER),
                MetadataMode::Write => (ALONE | READ_ONLYS, WRITER),
                MetadataMode::ReadOnly => (ALONE | WRITERS, READ_ONLY),
                MetadataMode::Alone => (!AWAITED, ALONE),
            };
            (state & blocked_by == 0).then(|| state + added)
        })
    }

    /// Tries, having said that somebody waits: whoever gives back after a failed try wakes the caller, who holds the mutex
    /// until it sleeps.
    fn announced(&self, attempt: impl Fn() -> bool) -> bool {
        self.state.fetch_or(AWAITED, Ordering::AcqRel);
        attempt()
    }

    fn change(&self, change: impl FnMut(u64) -> Option<u64>) -> bool {
        self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, change).is_ok()
    }

    /// Gives back what [`MetadataLock::lock`] took.
    ///
    /// # Panics
    /// If nobody holds it in that mode.
    pub fn unlock(&self, mode: MetadataMode) {
        let (held, one) = match mode {
            MetadataMode::Read => (WRITER - 1, READER),
            MetadataMode::Write => (WRITERS, WRITER),
            MetadataMode::ReadOnly => (READ_ONLYS, READ_ONLY),
            MetadataMode::Alone => (ALONE, ALONE),
        };
        let before = self.state.fetch_sub(one, Ordering::Release);
        assert!(before & held != 0, "a metadata lock is given back once");
        if before & AWAITED != 0 {
            let _guard = self.waiting.lock();
            self.state.fetch_and(!AWAITED, Ordering::Relaxed);
            self.changed.notify_all();
        }
    }

    /// Waits for a change, one slice at most, and takes it from what is left.
    fn wait(
        &self,
        guard: &mut MutexGuard<'_, ()>,
        left: &mut Duration,
        patience: Patience<'_>,
    ) -> Result<(), MetadataLockError> {
        if (patience.killed)() {
            return Err(MetadataLockError::Killed);
        }
        if left.is_zero() {
            return Err(MetadataLockError::Timeout);
        }
        let slice = SLICE.min(*left);
        if self.changed.wait_for(guard, slice).timed_out() {
            *left -= slice;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MetadataMode::{Alone, Read, ReadOnly, Write};
    use std::sync::Arc;

    const AT_ONCE: Patience<'static> = Patience { time: Duration::ZERO, killed: &|| false };

    /// DDL waits for a reader, a later reader stands behind DDL, and a timeout lets everybody go on.
    #[test]
    fn alone_waits_for_readers_and_blocks_later_ones() {
        let lock = Arc::new(MetadataLock::default());
        lock.lock(Read, AT_ONCE).unwrap();
        assert_eq!(lock.lock(Alone, Patience::of(Duration::from_millis(1))), Err(MetadataLockError::Timeout));
        lock.lock(Read, AT_ONCE).unwrap();
        lock.unlock(Read);
        let (ddl, done) = (Arc::clone(&lock), Arc::clone(&lock));
        let waiter = std::thread::spawn(move || ddl.lock(Alone, Patience::of(Duration::from_secs(60))));
        while done.lock(Read, AT_ONCE).is_ok() {
            done.unlock(Read);
            std::thread::yield_now();
        }
        lock.unlock(Read);
        waiter.join().unwrap().unwrap();
        assert_eq!(lock.lock(Read, AT_ONCE), Err(MetadataLockError::Timeout));
        lock.unlock(Alone);
        lock.lock(Read, AT_ONCE).unwrap();
    }

    /// The table at the head of the file, cell by cell.
    #[test]
    fn modes_go_together_as_the_table_says() {
        let together = [
            (Read, [true, true, true, false]),
            (Write, [true, true, false, false]),
            (ReadOnly, [true, false, true, false]),
            (Alone, [false; 4]),
        ];
        for (held, allowed) in together {
            for (wanted, allowed) in [Read, Write, ReadOnly, Alone].into_iter().zip(allowed) {
                let lock = MetadataLock::default();
                assert!(lock.try_lock(held));
                assert_eq!(lock.try_lock(wanted), allowed, "{held:?} {wanted:?}");
                lock.unlock(held);
                if !allowed {
                    assert!(lock.try_lock(wanted));
                }
            }
        }
    }

    #[test]
    fn a_kill_ends_the_wait() {
        let lock = MetadataLock::default();
        assert!(lock.try_lock(Alone));
        let patience = Patience { time: Duration::from_secs(60), killed: &|| true };
        assert_eq!(lock.lock(Write, patience), Err(MetadataLockError::Killed));
    }
}
