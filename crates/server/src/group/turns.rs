//! Admission: how many statements of a group compute at once, and whose turn is next.
//!
//! The thread with the core runs statements inline and needs no turn: whatever takes less than `TICK_HOLD_MAX` and waits for
//! nobody is done before it could be asked. A statement that computes longer, or has waited for others, goes on beside the core, and of
//! those a few run at once: two hundred long queries at a time would only take the caches and the cores from each other. They take
//! turns, first come, first served; who has had one for [`TURN_TIME`] goes to the end when others wait.
//!
//! Statements inside a transaction, and those that were just given a lock, come first, and twice as many of them may run: what
//! they hold is what others wait for.
//!
//! Invariants:
//! 1. Who has a turn gives it back before it waits for anything, so whoever waits for a turn waits for computations only.
//! 2. Nobody waits longer than [`STALL_TIME_MAX`] at a stretch: then it goes on beside the others. So a computation that nobody can
//!    interrupt, or one that needs what a queued one holds, delays others and stops nobody.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::lock;

/// Turns of a group, when `innodb_thread_concurrency` does not say.
pub(super) const TURNS_PER_GROUP: usize = 4;
/// How long one goes on while others wait.
pub(super) const TURN_TIME: Duration = Duration::from_millis(10);
/// The longest wait for a turn.
pub(super) const STALL_TIME_MAX: Duration = Duration::from_secs(1);

/// Where one thread waits for its turn. One per thread.
#[derive(Debug, Default)]
pub(super) struct Seat {
    given: Mutex<bool>,
    told: Condvar,
}

#[derive(Debug)]
struct State {
    running: usize,
    max: usize,
    /// Inside a transaction.
    first: VecDeque<Arc<Seat>>,
    others: VecDeque<Arc<Seat>>,
}

impl State {
    /// Whether one more may run now.
    fn has_room(&self, urgent: bool) -> bool {
        self.running < if urgent { 2 * self.max } else { self.max }
    }

    fn queue(&mut self, urgent: bool) -> &mut VecDeque<Arc<Seat>> {
        if urgent { &mut self.first } else { &mut self.others }
    }

    /// Gives turns to those who wait, as far as there are any.
    fn admit(&mut self, queued: &AtomicUsize) {
        loop {
            let next = if self.has_room(true) && !self.first.is_empty() {
                self.first.pop_front()
            } else if self.has_room(false) {
                self.others.pop_front()
            } else {
                None
            };
            let Some(seat) = next else { break };
            self.running += 1;
            *lock(&seat.given) = true;
            seat.told.notify_one();
        }
        queued.store(self.first.len() + self.others.len(), Ordering::Relaxed);
    }
}

/// The turns of a group.
#[derive(Debug)]
pub(super) struct Turns {
    state: Mutex<State>,
    /// How many wait, to be looked at without the mutex.
    queued: AtomicUsize,
    stall_time_max: Duration,
}

impl Turns {
    pub(super) fn new(max: usize, stall_time_max: Duration) -> Turns {
        let state = State { running: 0, max: max.max(1), first: VecDeque::new(), others: VecDeque::new() };
        Turns { state: Mutex::new(state), queued: AtomicUsize::new(0), stall_time_max }
    }

    /// From now on so many run at once; those who run go on.
    pub(super) fn set_max(&self, max: usize) {
        let mut state = lock(&self.state);
        if state.max != max.max(1) {
            state.max = max.max(1);
            state.admit(&self.queued);
        }
    }

    /// Whether anybody waits.
    pub(super) fn is_awaited(&self) -> bool {
        self.queued.load(Ordering::Relaxed) > 0
    }

    /// Takes a turn without asking: for what must not wait.
    pub(super) fn take_at_once(&self) {
        lock(&self.state).running += 1;
    }

    /// Takes a turn, waiting for it if it must; whether it had to.
    pub(super) fn take(&self, seat: &Arc<Seat>, urgent: bool) -> bool {
        let mut state = lock(&self.state);
        if state.has_room(urgent) && state.queue(urgent).is_empty() {
            state.running += 1;
            return false;
        }
        *lock(&seat.given) = false;
        state.queue(urgent).push_back(Arc::clone(seat));
        self.queued.store(state.first.len() + state.others.len(), Ordering::Relaxed);
        drop(state);
        let until = Instant::now() + self.stall_time_max;
        let mut given = lock(&seat.given);
        while !*given {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            given = seat.told.wait_timeout(given, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let is_given = *given;
        drop(given);
        if !is_given {
            self.take_late(seat, urgent);
        }
        true
    }

    /// Goes on without having been given a turn, unless that came meanwhile.
    #[cold]
    fn take_late(&self, seat: &Arc<Seat>, urgent: bool) {
        let mut state = lock(&self.state);
        let queue = state.queue(urgent);
        if let Some(place) = queue.iter().position(|queued| Arc::ptr_eq(queued, seat)) {
            queue.remove(place);
            state.running += 1;
            self.queued.store(state.first.len() + state.others.len(), Ordering::Relaxed);
        }
    }

    /// Gives a turn back, to the next who waits.
    pub(super) fn give_back(&self) {
        let mut state = lock(&self.state);
        debug_assert!(state.running > 0, "a turn is given back once");
        state.running -= 1;
        state.admit(&self.queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(
        turns: &Arc<Turns>,
        urgent: bool,
        order: &Arc<Mutex<Vec<usize>>>,
        number: usize,
    ) -> std::thread::JoinHandle<()> {
        let (turns, order) = (Arc::clone(turns), Arc::clone(order));
        let queued = turns.queued.load(Ordering::Relaxed);
        let thread = {
            let turns = Arc::clone(&turns);
            std::thread::spawn(move || {
                turns.take(&Arc::default(), urgent);
                lock(&order).push(number);
            })
        };
        while turns.queued.load(Ordering::Relaxed) == queued {
            std::thread::yield_now();
        }
        thread
    }

    #[test]
    fn who_holds_locks_goes_first_and_the_others_in_their_order() {
        let turns = Arc::new(Turns::new(1, Duration::from_secs(600)));
        let seat = Arc::default();
        assert!(!turns.take(&seat, false));
        assert!(!turns.take(&seat, true), "one more of those inside a transaction");
        let order = Arc::default();
        let plain: Vec<_> = (0..2).map(|number| waiter(&turns, false, &order, number)).collect();
        let urgent = waiter(&turns, true, &order, 9);
        assert!(turns.is_awaited());
        turns.give_back();
        urgent.join().unwrap();
        assert_eq!(*lock(&order), [9]);
        // Two run, one of them beyond the number: the first to end admits nobody.
        turns.give_back();
        assert!(turns.is_awaited());
        for thread in plain {
            turns.give_back();
            thread.join().unwrap();
        }
        assert_eq!(*lock(&order), [9, 0, 1]);
        turns.give_back();
        assert_eq!(lock(&turns.state).running, 0);
    }

    #[test]
    fn a_turn_that_never_comes_is_taken_and_a_larger_number_lets_in() {
        let turns = Arc::new(Turns::new(1, Duration::from_millis(5)));
        turns.take_at_once();
        assert!(turns.take(&Arc::default(), false), "it waited, and went on");
        assert!(!turns.is_awaited());
        assert_eq!(lock(&turns.state).running, 2);
        let turns = Arc::new(Turns::new(1, Duration::from_secs(600)));
        turns.take_at_once();
        turns.take_at_once();
        let order = Arc::default();
        let thread = waiter(&turns, false, &order, 1);
        turns.set_max(3);
        thread.join().unwrap();
        assert_eq!(lock(&turns.state).running, 3);
    }
}
