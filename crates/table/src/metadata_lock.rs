//! The lock that keeps a table's definition as it is while transactions use it, and that LOCK TABLES takes.
//!
//! Every transaction that touches a table holds the lock until it ends, as reader or as writer; DDL holds it alone from
//! before its check to after its catalog snapshot is published. So DDL waits for transactions, as MySQL's metadata locks
//! do, and those who come while DDL waits stand behind it. Taking it for reading or writing is one atomic addition when
//! nobody is in the way.
//!
//! | held / wanted | read | write | read only | define | alone |
//! | --- | --- | --- | --- | --- | --- |
//! | read | yes | yes | yes | yes | waits |
//! | write | yes | yes | waits | yes | waits |
//! | read only (LOCK TABLES ... READ) | yes | waits | yes | yes | waits |
//! | define (ALTER TABLE at work) | yes | yes | yes | waits | waits |
//! | alone (DDL, LOCK TABLES ... WRITE) | waits | waits | waits | waits | waits |
//!
//! Who defines goes up to being alone and down again ([`MetadataLock::upgrade`], [`MetadataLock::downgrade`]), before anybody
//! who waits to be alone; down to letting others read only, if that is wanted.
//!
//! Who reads a table and comes to write it passes those who wait to be alone: they wait for it in any case. Where several wait in a
//! circle one is told so ([`crate::metadata_deadlock`]).
//!
//! Who waits sits in `env::blocking`, so that a worker can give its place away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use env::blocking::{Refused, WaitForOthers};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::metadata_deadlock::Waiting;

/// Set while somebody holds or wants the lock alone.
const ALONE: u64 = 1 << 63;
/// One reader. There are fewer than 2^20 at a time: each is a session's.
const READER: u64 = 1;
const READERS: u64 = WRITER - 1;
/// One writer.
const WRITER: u64 = 1 << 20;
const WRITERS: u64 = READ_ONLY - WRITER;
/// One who keeps writers out.
const READ_ONLY: u64 = 1 << 40;
const READ_ONLYS: u64 = SOLE - READ_ONLY;
/// Set while the one who defines is alone or wants to be.
const SOLE: u64 = 1 << 60;
/// Somebody defines.
const DEFINE: u64 = 1 << 61;
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
    /// Readies a change of the definition, beside readers and writers.
    Define,
    /// Changes the definition, or LOCK TABLES ... WRITE.
    Alone,
}

impl MetadataMode {
    /// Whether one may hold the lock so while another holds it as `other`.
    pub(crate) fn goes_with(self, other: MetadataMode) -> bool {
        use MetadataMode::{Alone, Define, ReadOnly, Write};
        !matches!(
            (self, other),
            (Alone, _) | (_, Alone) | (Define, Define) | (Write, ReadOnly) | (ReadOnly, Write)
        )
    }
}

/// What others may do while one who defines is not alone.
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
    /// Who waited was killed. Client sees 1317.
    Killed,
    /// Who waited stood in a circle, and was chosen to end it. The whole transaction goes back. Client sees 1213.
    Deadlock,
    /// Too many wait already; it was not waited. The client sees 1135, if the statement cannot be requeued.
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

/// How long to wait, and what ends the wait before.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    /// The longest wait.
    pub time: Duration,
    /// Whether to give up now: KILL.
    pub killed: &'a dyn Fn() -> bool,
    /// The statement that waits is requeued if it must not wait.
    pub may_requeue: bool,
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
        Self { time, killed: &|| false, may_requeue: false }
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
        self.lock_holding(mode, &[], patience)
    }

    /// The same for a caller that holds other locks, and perhaps this one in another mode.
    ///
    /// # Errors
    /// As [`MetadataLock::lock`]; `Deadlock` if others wait for what the caller holds.
    pub fn lock_holding(
        &self,
        mode: MetadataMode,
        held: &[(Arc<MetadataLock>, MetadataMode)],
        patience: Patience<'_>,
    ) -> Result<(), MetadataLockError> {
        let reads =
            || held.iter().any(|(lock, held)| std::ptr::eq(&**lock, self) && *held == MetadataMode::Read);
        let attempt = || self.try_lock(mode);
        if attempt() {
            return Ok(());
        }
        if (patience.killed)() {
            return Err(MetadataLockError::Killed);
        }
        // As long as the caller reads nobody is alone, and who wants to be waits for it anyway.
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
        let wait = WaitForOthers { may_requeue: patience.may_requeue, wait_queue: None };
        let _blocking = env::blocking::try_enter(wait)?;
        let waiting = Waiting::enter(self, mode, held.iter().map(|(lock, mode)| (&**lock, *mode)));
        let mut left = patience.time;
        let mut guard = self.waiting.lock();
        if mode != MetadataMode::Alone {
            while !self.announced(attempt) {
                self.wait(&mut guard, &mut left, patience, &waiting)?;
            }
            return Ok(());
        }
        let wanted = || self.change(|state| (state & ALONE == 0).then_some(state | ALONE));
        while !self.announced(wanted) {
            self.wait(&mut guard, &mut left, patience, &waiting)?;
        }
        while !self.announced(|| self.state.load(Ordering::Acquire) & !AWAITED == ALONE) {
            if let Err(error) = self.wait(&mut guard, &mut left, patience, &waiting) {
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
                MetadataMode::Read => (ALONE | SOLE, READER),
                MetadataMode::Write => (ALONE | SOLE | READ_ONLYS, WRITER),
                MetadataMode::ReadOnly => (ALONE | SOLE | WRITERS, READ_ONLY),
                MetadataMode::Define => (ALONE | DEFINE, DEFINE),
                MetadataMode::Alone => (!AWAITED, ALONE),
            };
            (state & blocked_by == 0).then(|| state + added)
        })
    }

    /// Makes the one who defines alone: keeps newcomers out and waits for the others. `held`: what they may do now.
    ///
    /// # Errors
    /// As [`MetadataLock::lock`]; it still defines then, and others may read and write.
    ///
    /// # Panics
    /// If nobody defines.
    pub fn upgrade(&self, held: Others, patience: Patience<'_>) -> Result<(), MetadataLockError> {
        let own = if held == Others::Read { READ_ONLY } else { 0 };
        // One step, so that no writer comes between.
        let before = self.state.fetch_add(SOLE - own, Ordering::AcqRel);
        assert!(before & (DEFINE | SOLE) == DEFINE, "who defines goes up once");
        let alone = || self.state.load(Ordering::Acquire) & (READERS | WRITERS | READ_ONLYS) == 0;
        if alone() {
            return Ok(());
        }
        let _blocking = env::blocking::enter();
        let defines = std::iter::once((self, MetadataMode::Define));
        let waiting = Waiting::enter(self, MetadataMode::Alone, defines);
        let mut left = patience.time;
        let mut guard = self.waiting.lock();
        while !self.announced(alone) {
            if let Err(error) = self.wait(&mut guard, &mut left, patience, &waiting) {
                self.state.fetch_and(!SOLE, Ordering::Release);
                self.changed.notify_all();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Lets others in again beside the one who defines.
    ///
    /// # Panics
    /// If who defines is not alone.
    pub fn downgrade(&self, others: Others) {
        let own = if others == Others::Read { READ_ONLY } else { 0 };
        self.give_back(SOLE - own, SOLE);
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
    /// If nobody holds it in that mode. Who defines goes down first.
    pub fn unlock(&self, mode: MetadataMode) {
        let (held, one) = match mode {
            MetadataMode::Read => (READERS, READER),
            MetadataMode::Write => (WRITERS, WRITER),
            MetadataMode::ReadOnly => (READ_ONLYS, READ_ONLY),
            MetadataMode::Define => (DEFINE, DEFINE),
            MetadataMode::Alone => (ALONE, ALONE),
        };
        self.give_back(one, held);
    }

    fn give_back(&self, one: u64, held: u64) {
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
        waiting: &Waiting,
    ) -> Result<(), MetadataLockError> {
        if (patience.killed)() {
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
    use MetadataMode::{Alone, Define, Read, ReadOnly, Write};

    const AT_ONCE: Patience<'static> =
        Patience { time: Duration::ZERO, killed: &|| false, may_requeue: false };

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
            (Read, [true, true, true, true, false]),
            (Write, [true, true, false, true, false]),
            (ReadOnly, [true, false, true, true, false]),
            (Define, [true, true, true, false, false]),
            (Alone, [false; 5]),
        ];
        for (held, allowed) in together {
            for (wanted, allowed) in [Read, Write, ReadOnly, Define, Alone].into_iter().zip(allowed) {
                let lock = MetadataLock::default();
                assert!(lock.try_lock(held));
                assert_eq!(lock.try_lock(wanted), allowed, "{held:?} {wanted:?}");
                assert_eq!(held.goes_with(wanted), allowed, "{held:?} {wanted:?}");
                lock.unlock(held);
                if !allowed {
                    assert!(lock.try_lock(wanted));
                }
            }
        }
    }

    /// Who defines goes up when the others are gone, before one who waited to be alone, and down to what it allows.
    #[test]
    fn who_defines_goes_up_and_down() {
        let lock = Arc::new(MetadataLock::default());
        assert!(lock.try_lock(Define) && lock.try_lock(Write));
        assert_eq!(lock.upgrade(Others::Write, AT_ONCE), Err(MetadataLockError::Timeout));
        assert!(lock.try_lock(Read), "a try that failed keeps nobody out");
        lock.unlock(Read);
        let waiting = Arc::clone(&lock);
        let waiter = std::thread::spawn(move || waiting.lock(Alone, Patience::of(Duration::from_secs(60))));
        while lock.try_lock(Read) {
            lock.unlock(Read);
            std::thread::yield_now();
        }
        lock.unlock(Write);
        lock.upgrade(Others::Write, AT_ONCE).unwrap();
        lock.downgrade(Others::Read);
        assert!(!lock.try_lock(Read), "who waits to be alone still keeps newcomers out");
        lock.upgrade(Others::Read, AT_ONCE).unwrap();
        lock.downgrade(Others::Write);
        lock.unlock(Define);
        waiter.join().unwrap().unwrap();
        lock.unlock(Alone);

        assert!(lock.try_lock(Define));
        lock.upgrade(Others::Write, AT_ONCE).unwrap();
        assert!(![Read, Write, ReadOnly, Define, Alone].into_iter().any(|mode| lock.try_lock(mode)));
        lock.downgrade(Others::Read);
        assert!(lock.try_lock(Read) && !lock.try_lock(Write));
        lock.unlock(Read);
        lock.upgrade(Others::Read, AT_ONCE).unwrap();
        lock.downgrade(Others::Write);
        assert!(lock.try_lock(Write));
        lock.unlock(Write);
        lock.unlock(Define);
        assert!(lock.try_lock(Alone));
    }

    /// Nobody waits for who waits for it: not behind one that wants to be alone.
    #[test]
    fn a_reader_that_writes_passes_who_wants_to_be_alone() {
        let lock = Arc::new(MetadataLock::default());
        lock.lock(Read, AT_ONCE).unwrap();
        let alone = Arc::clone(&lock);
        let waiter = std::thread::spawn(move || alone.lock(Alone, Patience::of(Duration::from_secs(60))));
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

    /// Two read a table each, one who wants to be alone comes to each table, and each reader comes to the other's table.
    #[test]
    fn a_circle_ends_with_one_who_defines_nothing() {
        let locks = [Arc::new(MetadataLock::default()), Arc::new(MetadataLock::default())];
        let ends: Vec<_> = std::thread::scope(|scope| {
            let long = || Patience::of(Duration::from_secs(60));
            for lock in &locks {
                lock.lock(Read, AT_ONCE).unwrap();
                scope.spawn(move || {
                    lock.lock(Alone, long()).unwrap();
                    lock.unlock(Alone);
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
        assert!(locks.iter().all(|lock| lock.try_lock(Alone)));
    }

    #[test]
    fn a_kill_ends_the_wait() {
        let lock = MetadataLock::default();
        assert!(lock.try_lock(Alone));
        let patience = Patience { killed: &|| true, ..Patience::of(Duration::from_secs(60)) };
        assert_eq!(lock.lock(Write, patience), Err(MetadataLockError::Killed));
    }
}
