//! Admission: how many statements of a group compute at once, and which runs next.
//!
//! The thread with the reactor runs statements inline and needs no run slot: a statement that takes less than
//! `TICK_HOLD_MAX` and does not wait ends before it could request one. A statement that computes longer, or has waited
//! for others, continues without the reactor under a permit. Only a few hold one at a time: two hundred long queries at
//! once would only take caches and CPUs from each other. Permits are granted first come, first served; a statement that
//! has had one for [`TIME_SLICE`] goes to the end when others wait.
//!
//! Statements inside a transaction, and those that were just granted a lock, come first, and twice as many of them may
//! run: others wait for what they hold.
//!
//! Invariants:
//! 1. A statement returns its permit before it waits for anything, so a wait for a run slot is a wait for computations
//!    only.
//! 2. No statement waits longer than [`STALL_TIME_MAX`] without a break: then it runs without a permit. So a
//!    computation that cannot be interrupted, or one that needs what a queued one holds, delays others and stops none.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::lock;

/// Run slots of a group, when `innodb_thread_concurrency` does not say.
pub(super) const RUN_SLOTS_PER_GROUP: usize = 4;
/// How long a statement continues while others wait.
pub(super) const TIME_SLICE: Duration = Duration::from_millis(10);
/// The longest wait for a run slot.
pub(super) const STALL_TIME_MAX: Duration = Duration::from_secs(1);

/// Where one thread waits for a run slot. One per thread.
#[derive(Debug, Default)]
pub(super) struct Permit {
    granted: Mutex<bool>,
    wake: Condvar,
}

#[derive(Debug)]
struct State {
    running: usize,
    max: usize,
    /// The statement is inside a transaction.
    first: VecDeque<Arc<Permit>>,
    others: VecDeque<Arc<Permit>>,
}

impl State {
    /// Whether one more may run now.
    fn has_room(&self, urgent: bool) -> bool {
        self.running < if urgent { 2 * self.max } else { self.max }
    }

    fn queue(&mut self, urgent: bool) -> &mut VecDeque<Arc<Permit>> {
        if urgent { &mut self.first } else { &mut self.others }
    }

    /// Grants permits to waiters, as far as there are any.
    fn admit(&mut self, queued: &AtomicUsize) {
        loop {
            let next = if self.has_room(true) && !self.first.is_empty() {
                self.first.pop_front()
            } else if self.has_room(false) {
                self.others.pop_front()
            } else {
                None
            };
            let Some(permit) = next else { break };
            self.running += 1;
            *lock(&permit.granted) = true;
            permit.wake.notify_one();
        }
        queued.store(self.first.len() + self.others.len(), Ordering::Relaxed);
    }
}

/// The run slots of a group.
#[derive(Debug)]
pub(super) struct RunSlots {
    state: Mutex<State>,
    /// How many wait, to be read without the mutex.
    queued: AtomicUsize,
    stall_time_max: Duration,
}

impl RunSlots {
    pub(super) fn new(max: usize, stall_time_max: Duration) -> RunSlots {
        let state = State { running: 0, max: max.max(1), first: VecDeque::new(), others: VecDeque::new() };
        RunSlots { state: Mutex::new(state), queued: AtomicUsize::new(0), stall_time_max }
    }

    /// Sets how many run at once; those that already run continue.
    pub(super) fn set_max(&self, max: usize) {
        let mut state = lock(&self.state);
        if state.max != max.max(1) {
            state.max = max.max(1);
            state.admit(&self.queued);
        }
    }

    /// Whether any statement waits.
    pub(super) fn has_waiters(&self) -> bool {
        self.queued.load(Ordering::Relaxed) > 0
    }

    /// Takes a run slot without asking, for a statement that must not wait.
    pub(super) fn acquire_at_once(&self) {
        lock(&self.state).running += 1;
    }

    /// Takes a run slot, waiting for it if it must; returns whether it had to.
    pub(super) fn acquire(&self, permit: &Arc<Permit>, urgent: bool) -> bool {
        let mut state = lock(&self.state);
        if state.has_room(urgent) && state.queue(urgent).is_empty() {
            state.running += 1;
            return false;
        }
        *lock(&permit.granted) = false;
        state.queue(urgent).push_back(Arc::clone(permit));
        self.queued.store(state.first.len() + state.others.len(), Ordering::Relaxed);
        drop(state);
        let until = Instant::now() + self.stall_time_max;
        let mut granted = lock(&permit.granted);
        while !*granted {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            granted = permit.wake.wait_timeout(granted, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let is_granted = *granted;
        drop(granted);
        if !is_granted {
            self.take_late(permit, urgent);
        }
        true
    }

    /// Continues without a permit, unless one was granted meanwhile.
    #[cold]
    fn take_late(&self, permit: &Arc<Permit>, urgent: bool) {
        let mut state = lock(&self.state);
        let queue = state.queue(urgent);
        if let Some(place) = queue.iter().position(|queued| Arc::ptr_eq(queued, permit)) {
            queue.remove(place);
            state.running += 1;
            self.queued.store(state.first.len() + state.others.len(), Ordering::Relaxed);
        }
    }

    /// Returns a permit to the next waiter.
    pub(super) fn release(&self) {
        let mut state = lock(&self.state);
        debug_assert!(state.running > 0, "a permit is returned once");
        state.running -= 1;
        state.admit(&self.queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(
        run_slots: &Arc<RunSlots>,
        urgent: bool,
        order: &Arc<Mutex<Vec<usize>>>,
        number: usize,
    ) -> std::thread::JoinHandle<()> {
        let (run_slots, order) = (Arc::clone(run_slots), Arc::clone(order));
        let queued = run_slots.queued.load(Ordering::Relaxed);
        let thread = {
            let run_slots = Arc::clone(&run_slots);
            std::thread::spawn(move || {
                run_slots.acquire(&Arc::default(), urgent);
                lock(&order).push(number);
            })
        };
        while run_slots.queued.load(Ordering::Relaxed) == queued {
            std::thread::yield_now();
        }
        thread
    }

    #[test]
    fn who_holds_locks_goes_first_and_the_others_in_their_order() {
        let run_slots = Arc::new(RunSlots::new(1, Duration::from_secs(600)));
        let permit = Arc::default();
        assert!(!run_slots.acquire(&permit, false));
        assert!(!run_slots.acquire(&permit, true), "one more of those inside a transaction");
        let order = Arc::default();
        let plain: Vec<_> = (0..2).map(|number| waiter(&run_slots, false, &order, number)).collect();
        let urgent = waiter(&run_slots, true, &order, 9);
        assert!(run_slots.has_waiters());
        run_slots.release();
        urgent.join().unwrap();
        assert_eq!(*lock(&order), [9]);
        // Two run, one of them beyond the limit: the end of the first admits none.
        run_slots.release();
        assert!(run_slots.has_waiters());
        for thread in plain {
            run_slots.release();
            thread.join().unwrap();
        }
        assert_eq!(*lock(&order), [9, 0, 1]);
        run_slots.release();
        assert_eq!(lock(&run_slots.state).running, 0);
    }

    #[test]
    fn a_turn_that_never_comes_is_taken_and_a_larger_number_lets_in() {
        let run_slots = Arc::new(RunSlots::new(1, Duration::from_millis(5)));
        run_slots.acquire_at_once();
        assert!(run_slots.acquire(&Arc::default(), false), "it waited, and went on");
        assert!(!run_slots.has_waiters());
        assert_eq!(lock(&run_slots.state).running, 2);
        let run_slots = Arc::new(RunSlots::new(1, Duration::from_secs(600)));
        run_slots.acquire_at_once();
        run_slots.acquire_at_once();
        let order = Arc::default();
        let thread = waiter(&run_slots, false, &order, 1);
        run_slots.set_max(3);
        thread.join().unwrap();
        assert_eq!(lock(&run_slots.state).running, 3);
    }
}
