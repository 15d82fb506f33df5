//! Wait queues: statements that wait for the same lock and hold nothing that others wait for.
//!
//! A row that every client changes has a queue as long as there are clients. A thread for each of them would waste
//! memory and caches: the lock is granted to one at a time. So only [`WAITERS_PER_LOCK`] statements of a group wait for
//! one lock with a thread, enough for the lock to find one awake. The others are requeued and retried, oldest first,
//! when half of those have left.
//!
//! Only statements that can be retried and whose transactions hold nothing count and are refused here. No deadlock
//! cycle leads through a transaction that holds nothing, so deadlock detection misses nothing while it waits outside
//! the lock's own queue.
//!
//! Invariants:
//! 1. `queued` of a wait queue is the number of connections in its queue in the reactor; newcomers do not pass them.
//! 2. The reactor checks each wait queue that has space and queued connections: a statement that leaves wakes it, and
//!    it checks before it polls.

use std::collections::HashMap;
use std::sync::Mutex;

use super::lock;

/// Of the statements of a group that wait for one lock and hold nothing, this number has a thread.
pub(super) const WAITERS_PER_LOCK: usize = 16;
/// When this number is left, the next ones are admitted.
const REFILL_AT: usize = WAITERS_PER_LOCK / 2;

#[derive(Debug, Default)]
struct WaitQueue {
    /// Statements that wait with a thread.
    waiting: usize,
    /// Statements that wait without one.
    queued: usize,
}

/// The wait queues of a group, by the lock that is waited for.
#[derive(Debug, Default)]
pub(super) struct WaitQueues(Mutex<HashMap<u64, WaitQueue>>);

impl WaitQueues {
    /// Whether one more statement may wait with a thread; those queued before are admitted by [`WaitQueues::admissible_count`].
    pub(super) fn may_enter(&self, wait_queue: u64, was_queued: bool) -> bool {
        match lock(&self.0).get(&wait_queue) {
            None => true,
            Some(wait_queue) => {
                wait_queue.waiting < WAITERS_PER_LOCK && (was_queued || wait_queue.queued == 0)
            }
        }
    }

    pub(super) fn enter(&self, wait_queue: u64) {
        lock(&self.0).entry(wait_queue).or_default().waiting += 1;
    }

    /// A statement has waited; whether the reactor should admit others.
    pub(super) fn leave(&self, wait_queue: u64) -> bool {
        let mut wait_queues = lock(&self.0);
        let Some(left) = wait_queues.get_mut(&wait_queue) else { return false };
        left.waiting -= 1;
        let asks = left.queued > 0 && left.waiting <= REFILL_AT;
        if left.waiting == 0 && left.queued == 0 {
            wait_queues.remove(&wait_queue);
        }
        asks
    }

    /// How many of the queued statements may be admitted now.
    pub(super) fn admissible_count(&self, wait_queue: u64) -> usize {
        match lock(&self.0).get(&wait_queue) {
            Some(wait_queue) if wait_queue.waiting > REFILL_AT => 0,
            Some(wait_queue) => WAITERS_PER_LOCK - wait_queue.waiting,
            None => WAITERS_PER_LOCK,
        }
    }

    /// Sets how many are queued.
    pub(super) fn set_queued(&self, wait_queue: u64, queued: usize) {
        let mut wait_queues = lock(&self.0);
        let entry = wait_queues.entry(wait_queue).or_default();
        entry.queued = queued;
        if entry.waiting == 0 && queued == 0 {
            wait_queues.remove(&wait_queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newcomers_stay_behind_those_queued_and_half_empty_is_refilled() {
        let wait_queues = WaitQueues::default();
        for _ in 0..WAITERS_PER_LOCK {
            assert!(wait_queues.may_enter(7, false));
            wait_queues.enter(7);
        }
        assert!(!wait_queues.may_enter(7, false) && !wait_queues.may_enter(7, true));
        assert!(wait_queues.may_enter(8, false), "another lock has waiters of its own");
        wait_queues.set_queued(7, 1);
        for left in (0..WAITERS_PER_LOCK).rev() {
            assert_eq!(wait_queues.leave(7), left <= REFILL_AT);
            assert_eq!(
                wait_queues.admissible_count(7),
                if left <= REFILL_AT { WAITERS_PER_LOCK - left } else { 0 }
            );
            assert!(!wait_queues.may_enter(7, false) && wait_queues.may_enter(7, true));
        }
        wait_queues.set_queued(7, 0);
        assert!(wait_queues.may_enter(7, false));
        assert!(lock(&wait_queues.0).is_empty(), "nothing is kept of a wait_queue that has gone");
    }
}
