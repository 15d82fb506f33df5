//! The lock of FLUSH TABLES WITH READ LOCK: while a session holds it, nobody changes or commits anything.
//!
//! Who changes something says so in its own entry of the process list, and then looks whether the lock is wanted; who wants
//! the lock says so, and then looks at everybody's entry. One of the two sees the other (all four steps are sequentially
//! consistent), and a statement touches no memory that others write as long as nobody wants the lock.
//!
//! Invariants:
//! 1. While the lock is held, no entry but the holders' own says that it changes something.
//! 2. Who waits for the lock to go says nothing in its entry meanwhile, so that holders never wait for waiters.
//! 3. A session on which others may wait (it has a transaction or locked tables) does not wait for a lock that is only
//!    wanted: else it, those who wait for it and the one who wants the lock could wait in a circle.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use access::MetadataWait;
use env::blocking::{Refused, WaitForOthers};
use parking_lot::{Condvar, Mutex};
use service::error::{ER_LOCK_WAIT_TIMEOUT, ER_QUERY_INTERRUPTED};
use service::{Outcome, SqlError};

use crate::processes::ProcessList;

/// A waiter looks so often whether it was killed.
const SLICE: Duration = Duration::from_millis(50);

/// What the client gets if the wait must not begin.
#[cold]
fn refused(why: Refused) -> Box<SqlError> {
    match why {
        Refused::NoThread => SqlError::refused_wait(),
        Refused::TimeOver => ER_LOCK_WAIT_TIMEOUT.bare(),
    }
}

/// The global read lock. Any number of sessions may hold it together.
#[derive(Debug, Default)]
pub struct ReadLock {
    /// How many sessions hold it or wait for it.
    wanted: AtomicU32,
    /// How many hold it.
    held: AtomicU32,
    waiting: Mutex<()>,
    changed: Condvar,
}

impl ReadLock {
    /// Says in `changing` that its session changes something from now on; waits while others hold the lock, or want it and
    /// `polite` (invariant 3).
    ///
    /// # Errors
    /// 1205: they did not release it in time; 1317; [`SqlError::refused_wait`].
    pub fn enter(&self, changing: &AtomicBool, polite: bool, lock_wait: MetadataWait<'_>) -> Outcome {
        changing.store(true, Ordering::SeqCst);
        if self.wanted.load(Ordering::SeqCst) == 0 {
            return Ok(());
        }
        self.enter_slowly(changing, if polite { &self.wanted } else { &self.held }, lock_wait)
    }

    #[cold]
    fn enter_slowly(
        &self,
        changing: &AtomicBool,
        in_the_way: &AtomicU32,
        lock_wait: MetadataWait<'_>,
    ) -> Outcome {
        let mut left = lock_wait.time;
        while in_the_way.load(Ordering::SeqCst) != 0 {
            self.leave(changing);
            self.wait_until(|| in_the_way.load(Ordering::SeqCst) == 0, &mut left, lock_wait)?;
            changing.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Takes back what [`ReadLock::enter`] said.
    pub fn leave(&self, changing: &AtomicBool) {
        changing.store(false, Ordering::SeqCst);
        if self.wanted.load(Ordering::SeqCst) != 0 {
            self.wake();
        }
    }

    /// Takes the lock for a session; waits until no other session changes anything.
    ///
    /// # Errors
    /// 1205: others went on for too long; 1317; [`SqlError::refused_wait`]. The lock is not held then.
    pub fn acquire(
        &self,
        processes: &ProcessList,
        connection_id: u64,
        lock_wait: MetadataWait<'_>,
    ) -> Outcome {
        self.wanted.fetch_add(1, Ordering::SeqCst);
        let mut left = lock_wait.time;
        let quiet = || {
            !processes.any_other(connection_id, |entry| {
                entry.changing.statement.load(Ordering::SeqCst)
                    || entry.changing.locked_tables.load(Ordering::SeqCst)
            })
        };
        loop {
            if let Err(error) = self.wait_until(quiet, &mut left, lock_wait) {
                self.wanted.fetch_sub(1, Ordering::SeqCst);
                self.wake();
                return Err(error);
            }
            // Between the look and this word somebody may have begun who waits for holders only.
            self.held.fetch_add(1, Ordering::SeqCst);
            if quiet() {
                return Ok(());
            }
            self.held.fetch_sub(1, Ordering::SeqCst);
            self.wake();
        }
    }

    /// Gives the lock back.
    pub fn release(&self) {
        let before = self.held.fetch_sub(1, Ordering::SeqCst);
        assert!(before > 0, "the global read lock is given back once");
        self.wanted.fetch_sub(1, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        let _guard = self.waiting.lock();
        self.changed.notify_all();
    }

    fn wait_until(
        &self,
        done: impl Fn() -> bool,
        left: &mut Duration,
        lock_wait: MetadataWait<'_>,
    ) -> Outcome {
        if done() {
            return Ok(());
        }
        if (lock_wait.killed)() {
            return Err(ER_QUERY_INTERRUPTED.bare());
        }
        let wait = WaitForOthers { may_requeue: lock_wait.may_requeue, wait_queue: None };
        let _blocking = env::blocking::try_enter(wait).map_err(refused)?;
        let mut guard = self.waiting.lock();
        while !done() {
            if (lock_wait.killed)() {
                return Err(ER_QUERY_INTERRUPTED.bare());
            }
            if left.is_zero() {
                return Err(ER_LOCK_WAIT_TIMEOUT.bare());
            }
            let slice = SLICE.min(*left);
            if self.changed.wait_for(&mut guard, slice).timed_out() {
                *left -= slice;
            }
        }
        Ok(())
    }
}
