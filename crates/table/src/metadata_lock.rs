//! The lock that keeps a table's definition as it is while transactions use it, and that LOCK TABLES takes.
//!
//! Every transaction that touches a table holds the lock until it ends, as reader or as writer; DDL holds it exclusively from
//! before its check to after its catalog snapshot is published. So DDL waits for transactions, as MySQL's metadata locks
//! do, and later requests wait behind DDL. Taking it for reading or writing is one atomic addition when nothing conflicts.
//!
//! | held / requested | read | write | read only | upgradable | exclusive |
//! | --- | --- | --- | --- | --- | --- |
//! | read | yes | yes | yes | yes | waits |
//! | write | yes | yes | waits | yes | waits |
//! | read only (LOCK TABLES ... READ) | yes | waits | yes | yes | waits |
//! | upgradable (ALTER TABLE at work) | yes | yes | yes | waits | waits |
//! | exclusive (DDL, LOCK TABLES ... WRITE) | waits | waits | waits | waits | waits |
//!
//! The holder of an upgradable lock upgrades it to an exclusive one and downgrades it again ([`MetadataLock::upgrade`],
//! [`MetadataLock::downgrade`]), before any waiting exclusive request; down to letting others read only, if it asks for that.
//!
//! A transaction that reads a table and requests to write it passes waiting exclusive requests: they wait for it in any case. A
//! deadlock ends with an error for one of its waiters ([`crate::metadata_deadlock`]).
//!
//! Waits go through `env::blocking`, so that a worker can give its run slot away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use access::{MetadataMode, MetadataWait};
use env::blocking::{Refused, WaitForOthers};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::metadata_deadlock::{LockAddress, Waiting};

/// Set while an exclusive lock is held or requested.
const EXCLUSIVE: u64 = 1 << 63;
/// One reader. There are fewer than 2^20 at a time: each is a session's.
const READER: u64 = 1;
const READERS: u64 = WRITER - 1;
/// One writer.
const WRITER: u64 = 1 << 20;
const WRITERS: u64 = READ_ONLY - WRITER;
/// One holder that keeps writers out.
const READ_ONLY: u64 = 1 << 40;
const READ_ONLYS: u64 = UPGRADED - READ_ONLY;
/// Set while the holder of the upgradable lock has upgraded it, or waits to.
const UPGRADED: u64 = 1 << 60;
/// An upgradable lock is held.
const UPGRADABLE: u64 = 1 << 61;
/// Requests wait: a release must wake them.
const AWAITED: u64 = 1 << 62;

/// A waiter checks so often whether it was killed.
const SLICE: Duration = Duration::from_millis(50);

/// What others may do beside an upgradable lock that is not upgraded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Others {
    /// Read and write.
    Write,
    /// Read.
    Read,
}

/// Why a lock was not given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MetadataLockError {
    /// Not in time. Client sees 1205.
    Timeout,
    /// The session that waited was killed. Client sees 1317.
    Killed,
    /// The wait was part of a deadlock, and is its victim. The whole transaction is rolled back. Client sees 1213.
    Deadlock,
    /// Too many sessions wait already, so this one does not. The client sees 1135, if the statement cannot be requeued.
    NoThread,
}

impl From<Refused> for MetadataLockError {
    fn from(refused: Refused) -> MetadataLockError {
        match refused {
            Refused::NoThread => MetadataLockError::NoThread,
            Refused::TimeOver => MetadataLockError::Timeout,
        }
    }
}

/// A table's metadata lock. It does not know its holders: callers release what they took.
#[derive(Debug, Default)]
pub struct MetadataLock {
    /// Numbers of holders by mode, and bits of exclusive and waiting requests.
    state: AtomicU64,
    waiting: Mutex<()>,
    changed: Condvar,
}

impl MetadataLock {
    /// Takes the lock. A [`MetadataMode::Exclusive`] request keeps later ones out from the moment it waits.
    ///
    /// # Errors
    /// Others did not release it in time, or the caller was killed; nothing is held then.
    pub fn lock(&self, mode: MetadataMode, lock_wait: MetadataWait<'_>) -> Result<(), MetadataLockError> {
        self.lock_holding(mode, &[], lock_wait)
    }

    /// The same for a caller that holds other locks, and perhaps this one in another mode.
    ///
    /// # Errors
    /// As [`MetadataLock::lock`]; `Deadlock` if others wait for what the caller holds.
    pub fn lock_holding(
        &self,
        mode: MetadataMode,
        held: &[(Arc<MetadataLock>, MetadataMode)],
        lock_wait: MetadataWait<'_>,
    ) -> Result<(), MetadataLockError> {
        let reads =
            || held.iter().any(|(lock, held)| std::ptr::eq(&**lock, self) && *held == MetadataMode::Read);
        let attempt = || self.try_lock(mode);
        if attempt() {
            return Ok(());
        }
        if (lock_wait.killed)() {
            return Err(MetadataLockError::Killed);
        }
        // As long as the caller reads nobody holds it exclusively, and an exclusive request waits for the caller anyway.
        let is_reader = mode == MetadataMode::Write && reads();
        let attempt = || {
            if is_reader {
                self.change(|state| (state & READ_ONLYS == 0).then(|| state + WRITER))
            } else {
                attempt()
            }
        };
        if attempt() {
            return Ok(());
        }
        let wait = WaitForOthers { may_requeue: lock_wait.may_requeue, wait_queue: None };
        let _blocking = env::blocking::try_enter(wait)?;
        let held = held.iter().map(|(lock, mode)| (lock.address(), *mode));
        let waiting = Waiting::enter((self.address(), mode), held.collect());
        let mut left = lock_wait.time;
        let mut guard = self.waiting.lock();
        if mode != MetadataMode::Exclusive {
            while !self.announced(attempt) {
                self.wait(&mut guard, &mut left, lock_wait, &waiting)?;
            }
            return Ok(());
        }
        let request = || self.change(|state| (state & EXCLUSIVE == 0).then_some(state | EXCLUSIVE));
        while !self.announced(request) {
            self.wait(&mut guard, &mut left, lock_wait, &waiting)?;
        }
        while !self.announced(|| self.state.load(Ordering::Acquire) & !AWAITED == EXCLUSIVE) {
            if let Err(error) = self.wait(&mut guard, &mut left, lock_wait, &waiting) {
                self.state.fetch_and(!EXCLUSIVE, Ordering::Release);
                self.changed.notify_all();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes the lock if no other request conflicts.
    pub fn try_lock(&self, mode: MetadataMode) -> bool {
        self.change(|state| {
            let (blocked_by, added) = match mode {
                MetadataMode::Read => (EXCLUSIVE | UPGRADED, READER),
                MetadataMode::Write => (EXCLUSIVE | UPGRADED | READ_ONLYS, WRITER),
                MetadataMode::ReadOnly => (EXCLUSIVE | UPGRADED | WRITERS, READ_ONLY),
                MetadataMode::Upgradable => (EXCLUSIVE | UPGRADABLE, UPGRADABLE),
                MetadataMode::Exclusive => (!AWAITED, EXCLUSIVE),
            };
            (state & blocked_by == 0).then(|| state + added)
        })
    }

    /// Makes an upgradable lock exclusive: keeps later requests out and waits for the other holders. `held`: what they may do now.
    ///
    /// # Errors
    /// As [`MetadataLock::lock`]; it is still upgradable then, and others may read and write.
    ///
    /// # Panics
    /// If there is no upgradable lock.
    pub fn upgrade(&self, held: Others, lock_wait: MetadataWait<'_>) -> Result<(), MetadataLockError> {
        let own = if held == Others::Read { READ_ONLY } else { 0 };
        // One step, so that no writer comes between.
        let before = self.state.fetch_add(UPGRADED - own, Ordering::AcqRel);
        assert!(before & (UPGRADABLE | UPGRADED) == UPGRADABLE, "an upgradable lock is upgraded once");
        let is_exclusive = || self.state.load(Ordering::Acquire) & (READERS | WRITERS | READ_ONLYS) == 0;
        if is_exclusive() {
            return Ok(());
        }
        let _blocking = env::blocking::enter();
        let held = vec![(self.address(), MetadataMode::Upgradable)];
        let waiting = Waiting::enter((self.address(), MetadataMode::Exclusive), held);
        let mut left = lock_wait.time;
        let mut guard = self.waiting.lock();
        while !self.announced(is_exclusive) {
            if let Err(error) = self.wait(&mut guard, &mut left, lock_wait, &waiting) {
                self.state.fetch_and(!UPGRADED, Ordering::Release);
                self.changed.notify_all();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Makes an upgraded lock upgradable again: lets others in.
    ///
    /// # Panics
    /// If it is not upgraded.
    pub fn downgrade(&self, others: Others) {
        let own = if others == Others::Read { READ_ONLY } else { 0 };
        self.release(UPGRADED - own, UPGRADED);
    }

    fn address(&self) -> LockAddress {
        LockAddress(std::ptr::from_ref(self).addr())
    }

    /// Tries, having announced a waiter: a release after a failed try wakes the caller, which holds the mutex until it sleeps.
    fn announced(&self, attempt: impl Fn() -> bool) -> bool {
        self.state.fetch_or(AWAITED, Ordering::AcqRel);
        attempt()
    }

    fn change(&self, change: impl FnMut(u64) -> Option<u64>) -> bool {
        self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, change).is_ok()
    }

    /// Releases what [`MetadataLock::lock`] took.
    ///
    /// # Panics
    /// If it is not held in that mode. An upgraded lock is downgraded first.
    pub fn unlock(&self, mode: MetadataMode) {
        let (held, one) = match mode {
            MetadataMode::Read => (READERS, READER),
            MetadataMode::Write => (WRITERS, WRITER),
            MetadataMode::ReadOnly => (READ_ONLYS, READ_ONLY),
            MetadataMode::Upgradable => (UPGRADABLE, UPGRADABLE),
            MetadataMode::Exclusive => (EXCLUSIVE, EXCLUSIVE),
        };
        self.release(one, held);
    }

    fn release(&self, one: u64, held: u64) {
        let before = self.state.fetch_sub(one, Ordering::Release);
        assert!(before & held != 0, "a metadata lock is released once");
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
        lock_wait: MetadataWait<'_>,
        waiting: &Waiting,
    ) -> Result<(), MetadataLockError> {
        if (lock_wait.killed)() {
            return Err(MetadataLockError::Killed);
        }
        if waiting.is_victim() {
            return Err(MetadataLockError::Deadlock);
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
    use MetadataMode::{Exclusive, Read, ReadOnly, Upgradable, Write};

    const AT_ONCE: MetadataWait<'static> =
        MetadataWait { time: Duration::ZERO, killed: &|| false, may_requeue: false };

    /// DDL waits for a reader, a later reader waits behind DDL, and a timeout lets everybody go on.
    #[test]
    fn an_exclusive_request_waits_for_readers_and_blocks_later_ones() {
        let lock = Arc::new(MetadataLock::default());
        lock.lock(Read, AT_ONCE).unwrap();
        assert_eq!(
            lock.lock(Exclusive, MetadataWait::up_to(Duration::from_millis(1))),
            Err(MetadataLockError::Timeout)
        );
        lock.lock(Read, AT_ONCE).unwrap();
        lock.unlock(Read);
        let (ddl, done) = (Arc::clone(&lock), Arc::clone(&lock));
        let waiter =
            std::thread::spawn(move || ddl.lock(Exclusive, MetadataWait::up_to(Duration::from_secs(60))));
        while done.lock(Read, AT_ONCE).is_ok() {
            done.unlock(Read);
            std::thread::yield_now();
        }
        lock.unlock(Read);
        waiter.join().unwrap().unwrap();
        assert_eq!(lock.lock(Read, AT_ONCE), Err(MetadataLockError::Timeout));
        lock.unlock(Exclusive);
        lock.lock(Read, AT_ONCE).unwrap();
    }

    /// The table at the head of the file, cell by cell.
    #[test]
    fn modes_are_compatible_as_the_table_says() {
        let compatible = [
            (Read, [true, true, true, true, false]),
            (Write, [true, true, false, true, false]),
            (ReadOnly, [true, false, true, true, false]),
            (Upgradable, [true, true, true, false, false]),
            (Exclusive, [false; 5]),
        ];
        for (held, allowed) in compatible {
            for (requested, allowed) in
                [Read, Write, ReadOnly, Upgradable, Exclusive].into_iter().zip(allowed)
            {
                let lock = MetadataLock::default();
                assert!(lock.try_lock(held));
                assert_eq!(lock.try_lock(requested), allowed, "{held:?} {requested:?}");
                assert_eq!(held.is_compatible_with(requested), allowed, "{held:?} {requested:?}");
                lock.unlock(held);
                if !allowed {
                    assert!(lock.try_lock(requested));
                }
            }
        }
    }

    /// An upgradable lock is upgraded when the others are gone, before an exclusive request that waited, and downgraded to what it
    /// allows.
    #[test]
    fn an_upgradable_lock_is_upgraded_and_downgraded() {
        let lock = Arc::new(MetadataLock::default());
        assert!(lock.try_lock(Upgradable) && lock.try_lock(Write));
        assert_eq!(lock.upgrade(Others::Write, AT_ONCE), Err(MetadataLockError::Timeout));
        assert!(lock.try_lock(Read), "a failed upgrade keeps nobody out");
        lock.unlock(Read);
        let waiting = Arc::clone(&lock);
        let waiter =
            std::thread::spawn(move || waiting.lock(Exclusive, MetadataWait::up_to(Duration::from_secs(60))));
        while lock.try_lock(Read) {
            lock.unlock(Read);
            std::thread::yield_now();
        }
        lock.unlock(Write);
        lock.upgrade(Others::Write, AT_ONCE).unwrap();
        lock.downgrade(Others::Read);
        assert!(!lock.try_lock(Read), "a waiting exclusive request still keeps later ones out");
        lock.upgrade(Others::Read, AT_ONCE).unwrap();
        lock.downgrade(Others::Write);
        lock.unlock(Upgradable);
        waiter.join().unwrap().unwrap();
        lock.unlock(Exclusive);

        assert!(lock.try_lock(Upgradable));
        lock.upgrade(Others::Write, AT_ONCE).unwrap();
        assert!(![Read, Write, ReadOnly, Upgradable, Exclusive].into_iter().any(|mode| lock.try_lock(mode)));
        lock.downgrade(Others::Read);
        assert!(lock.try_lock(Read) && !lock.try_lock(Write));
        lock.unlock(Read);
        lock.upgrade(Others::Read, AT_ONCE).unwrap();
        lock.downgrade(Others::Write);
        assert!(lock.try_lock(Write));
        lock.unlock(Write);
        lock.unlock(Upgradable);
        assert!(lock.try_lock(Exclusive));
    }

    /// No session waits for one that waits for it: not behind an exclusive request.
    #[test]
    fn a_reader_that_writes_passes_exclusive_requests() {
        let lock = Arc::new(MetadataLock::default());
        lock.lock(Read, AT_ONCE).unwrap();
        let exclusive = Arc::clone(&lock);
        let waiter = std::thread::spawn(move || {
            exclusive.lock(Exclusive, MetadataWait::up_to(Duration::from_secs(60)))
        });
        while lock.try_lock(Write) {
            lock.unlock(Write);
            std::thread::yield_now();
        }
        lock.lock_holding(Write, &[(Arc::clone(&lock), Read)], AT_ONCE).unwrap();
        lock.unlock(Write);
        lock.unlock(Read);
        waiter.join().unwrap().unwrap();
        assert!(!lock.try_lock(Read));
    }

    /// Two sessions read a table each, an exclusive request comes to each table, and each reader comes to the other's table.
    #[test]
    fn a_deadlock_ends_with_a_session_that_runs_no_ddl() {
        let locks = [Arc::new(MetadataLock::default()), Arc::new(MetadataLock::default())];
        let ends: Vec<_> = std::thread::scope(|scope| {
            let long = || MetadataWait::up_to(Duration::from_secs(60));
            for lock in &locks {
                lock.lock(Read, AT_ONCE).unwrap();
                scope.spawn(move || {
                    lock.lock(Exclusive, long()).unwrap();
                    lock.unlock(Exclusive);
                });
                while lock.try_lock(Read) {
                    lock.unlock(Read);
                    std::thread::yield_now();
                }
            }
            let readers = [0, 1].map(|own| {
                let locks = &locks;
                scope.spawn(move || {
                    let end = locks[1 - own].lock_holding(Read, &[(Arc::clone(&locks[own]), Read)], long());
                    if end.is_ok() {
                        locks[1 - own].unlock(Read);
                    }
                    locks[own].unlock(Read);
                    end
                })
            });
            readers.into_iter().map(|reader| reader.join().unwrap()).collect()
        });
        let victims = ends.iter().filter(|end| **end == Err(MetadataLockError::Deadlock)).count();
        assert_eq!((victims, ends.iter().filter(|end| end.is_ok()).count()), (1, 1), "{ends:?}");
        assert!(locks.iter().all(|lock| lock.try_lock(Exclusive)));
    }

    #[test]
    fn a_kill_ends_the_wait() {
        let lock = MetadataLock::default();
        assert!(lock.try_lock(Exclusive));
        let lock_wait = MetadataWait { killed: &|| true, ..MetadataWait::up_to(Duration::from_secs(60)) };
        assert_eq!(lock.lock(Write, lock_wait), Err(MetadataLockError::Killed));
    }
}
