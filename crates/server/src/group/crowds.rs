//! Who waits for the same lock, and holds nothing that others wait for.
//!
//! A row that everybody changes has a queue as long as there are clients. A thread for each of them is memory and caches for nobody:
//! the lock goes to one at a time. So of a crowd only [`WAITERS_PER_LOCK`] of a group wait with a thread, enough for the lock to
//! find one awake; the others are requeued and run again, oldest first, when half of those have gone.
//!
//! Only statements that can be requeued and whose transactions hold nothing count and are refused here: no circle of waits leads
//! through one that holds nothing, so the search for deadlocks misses nothing while it waits outside the lock's own queue.
//!
//! Invariants:
//! 1. `queued` of a crowd are the connections in its queue in the core; newcomers do not pass them.
//! 2. A crowd with room and a queue is looked at by the core: whoever leaves wakes it, and it looks before it polls.

use std::collections::HashMap;
use std::sync::Mutex;

use super::lock;

/// Of those who wait for one lock and hold nothing, so many of a group have a thread.
pub(super) const WAITERS_PER_LOCK: usize = 16;
/// With so many left, the next are let in.
const REFILL_AT: usize = WAITERS_PER_LOCK / 2;

#[derive(Debug, Default)]
struct Crowd {
    /// With a thread.
    waiting: usize,
    /// Without one.
    queued: usize,
}

/// The crowds of a group, by what they wait for.
#[derive(Debug, Default)]
pub(super) struct Crowds(Mutex<HashMap<u64, Crowd>>);

impl Crowds {
    /// Whether one more may wait with a thread; those who were queued before are let in by [`Crowds::room`].
    pub(super) fn may_enter(&self, crowd: u64, was_queued: bool) -> bool {
        match lock(&self.0).get(&crowd) {
            None => true,
            Some(crowd) => crowd.waiting < WAITERS_PER_LOCK && (was_queued || crowd.queued == 0),
        }
    }

    pub(super) fn enter(&self, crowd: u64) {
        lock(&self.0).entry(crowd).or_default().waiting += 1;
    }

    /// One has waited; whether the core should let others in.
    pub(super) fn leave(&self, crowd: u64) -> bool {
        let mut crowds = lock(&self.0);
        let Some(left) = crowds.get_mut(&crowd) else { return false };
        left.waiting -= 1;
        let asks = left.queued > 0 && left.waiting <= REFILL_AT;
        if left.waiting == 0 && left.queued == 0 {
            crowds.remove(&crowd);
        }
        asks
    }

    /// How many of those queued may come in now.
    pub(super) fn room(&self, crowd: u64) -> usize {
        match lock(&self.0).get(&crowd) {
            Some(crowd) if crowd.waiting > REFILL_AT => 0,
            Some(crowd) => WAITERS_PER_LOCK - crowd.waiting,
            None => WAITERS_PER_LOCK,
        }
    }

    /// So many are queued from now on.
    pub(super) fn set_queued(&self, crowd: u64, queued: usize) {
        let mut crowds = lock(&self.0);
        let entry = crowds.entry(crowd).or_default();
        entry.queued = queued;
        if entry.waiting == 0 && queued == 0 {
            crowds.remove(&crowd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newcomers_stay_behind_those_queued_and_half_empty_is_refilled() {
        let crowds = Crowds::default();
        for _ in 0..WAITERS_PER_LOCK {
            assert!(crowds.may_enter(7, false));
            crowds.enter(7);
        }
        assert!(!crowds.may_enter(7, false) && !crowds.may_enter(7, true));
        assert!(crowds.may_enter(8, false), "another lock has room of its own");
        crowds.set_queued(7, 1);
        for left in (0..WAITERS_PER_LOCK).rev() {
            assert_eq!(crowds.leave(7), left <= REFILL_AT);
            assert_eq!(crowds.room(7), if left <= REFILL_AT { WAITERS_PER_LOCK - left } else { 0 });
            assert!(!crowds.may_enter(7, false) && crowds.may_enter(7, true));
        }
        crowds.set_queued(7, 0);
        assert!(crowds.may_enter(7, false));
        assert!(lock(&crowds.0).is_empty(), "nothing is kept of a crowd that has gone");
    }
}
