//! Deadlocks among sessions that wait for each other's metadata locks.
//!
//! A metadata lock does not know its holders, so that taking it costs one addition. But every session in a deadlock waits, and a session
//! that waits has time to say what it holds: deadlock cycles are searched for among the waiting sessions, each time another one waits.
//!
//! A request waits for the sessions that hold the lock in an incompatible mode, and for earlier exclusive requests. The victim of a
//! deadlock is a session that runs no DDL: its transaction is rolled back and tried again, where DDL might lose hours of work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use access::MetadataMode;
use parking_lot::Mutex;

/// A lock, known by its address: a session that waits for it keeps it there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct LockAddress(pub(crate) usize);

/// A lock and the mode in which it is held or requested.
type LockInMode = (LockAddress, MetadataMode);

struct Waiter {
    /// Rises with time.
    number: u64,
    requested: LockInMode,
    held: Vec<LockInMode>,
    is_victim: Arc<AtomicBool>,
}

/// All waiting sessions, in the order in which they began to wait. They are few, and have time.
static WAITERS: Mutex<Vec<Waiter>> = Mutex::new(Vec::new());
static NUMBER: AtomicU64 = AtomicU64::new(0);

impl Waiter {
    fn is_exclusive(&self) -> bool {
        self.requested.1 == MetadataMode::Exclusive
    }

    fn waits_for(&self, other: &Waiter) -> bool {
        let (lock, mode) = self.requested;
        let holds =
            other.held.iter().any(|&(held, as_mode)| held == lock && !as_mode.is_compatible_with(mode));
        let stands_before = other.number < self.number && other.is_exclusive() && other.requested.0 == lock;
        self.number != other.number && (holds || stands_before)
    }
}

/// A session that waits; dropping it says that it no longer does.
pub(crate) struct Waiting {
    number: u64,
    is_victim: Arc<AtomicBool>,
}

impl Waiting {
    /// Says what the caller waits for and what it holds meanwhile. If that closes a deadlock cycle, a session in it becomes the victim.
    pub(crate) fn enter(requested: LockInMode, held: Vec<LockInMode>) -> Self {
        let is_victim = Arc::new(AtomicBool::new(false));
        let mut waiters = WAITERS.lock();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let is_victim_too = Arc::clone(&is_victim);
        waiters.push(Waiter { number, requested, held, is_victim: is_victim_too });
        let newest = waiters.len() - 1;
        if let Some(cycle) = find_cycle(&waiters, newest) {
            let victim = cycle.iter().rev().find(|&&index| !waiters[index].is_exclusive());
            waiters[*victim.unwrap_or(&newest)].is_victim.store(true, Ordering::Relaxed);
        }
        Self { number, is_victim }
    }

    /// Whether the caller is the victim of a deadlock: it must end its wait, so that others go on.
    pub(crate) fn is_victim(&self) -> bool {
        self.is_victim.load(Ordering::Relaxed)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITERS.lock().retain(|waiter| waiter.number != self.number);
    }
}

/// The waiters of a deadlock cycle through `start`, which comes last. Earlier victims wait no more.
fn find_cycle(waiters: &[Waiter], start: usize) -> Option<Vec<usize>> {
    let mut seen = vec![false; waiters.len()];
    let mut path = vec![(start, 0)];
    while let Some(top) = path.last_mut() {
        let (at, next) = *top;
        top.1 += 1;
        if next == waiters.len() {
            path.pop();
            continue;
        }
        if waiters[next].is_victim.load(Ordering::Relaxed) || !waiters[at].waits_for(&waiters[next]) {
            continue;
        }
        if next == start {
            let mut cycle: Vec<usize> = path.iter().map(|&(index, _)| index).collect();
            cycle.rotate_left(1);
            return Some(cycle);
        }
        if !std::mem::replace(&mut seen[next], true) {
            path.push((next, 0));
        }
    }
    None
}
