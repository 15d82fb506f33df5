//! Sessions on threads of their own that take turns: one runs at a time, and a seed decides which one continues.
//!
//! A session yields between its steps ([`SessionHandle::yield_now`]) and wherever the code under test announces a wait
//! (`env::blocking`). A session that waits for a lock is parked until its wait has an outcome, its timeout on the
//! simulated clock expires, or the run ends. No session ever waits for a real condition, so an order of steps is
//! repeated by its seed.
//!
//! When every session waits, only a lock wait timeout could let one continue: a deadlock cycle was not found, or a lock
//! was not handed over. That is reported as a failure ([`Scheduler::run`]).

use env::blocking::{self, BlockingHook};
use env::clock::{Clock, Monotonic};
use env::random::Rng;
use env::simulated::SimWorld;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

/// Where a session is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    /// It could continue.
    Ready,
    /// It waits, until then at most, and whether it has checked in vain since another session last did something.
    Waiting { deadline: Monotonic, looked: bool },
    /// It has ended.
    Done,
}

#[derive(Debug)]
struct State {
    rng: Rng,
    turn: usize,
    places: Vec<Place>,
    /// Everybody is to leave.
    is_over: bool,
    failures: Vec<String>,
    waits: u64,
}

/// Says which session waits for which, when none can continue.
pub type Describe = Box<dyn Fn() -> String + Send + Sync>;

/// See the module.
pub struct Scheduler {
    state: Mutex<State>,
    wake: Box<[Condvar]>,
    world: SimWorld,
    /// Also switch sessions where one is about to wait for the disk.
    changes_at_io: bool,
    describe: Describe,
}

/// A session's place among the others.
#[derive(Clone)]
pub struct SessionHandle {
    scheduler: Arc<Scheduler>,
    number: usize,
}

/// What a session does, from its beginning to its end.
pub type Session<'s> = Box<dyn FnOnce(&SessionHandle) -> Result<(), String> + Send + 's>;

impl Scheduler {
    /// Runs sessions until all have ended. Answers how often one of them waited.
    ///
    /// # Errors
    /// What the sessions say is wrong, that one panicked, or that all of them wait.
    pub fn run(
        world: &SimWorld,
        rng: Rng,
        changes_at_io: bool,
        describe: Describe,
        sessions: Vec<Session<'_>>,
    ) -> Result<u64, String> {
        let count = sessions.len();
        let places = vec![Place::Ready; count];
        // No session runs until all have started.
        let state = State { rng, turn: count, places, is_over: false, failures: Vec::new(), waits: 0 };
        let wake = std::iter::repeat_with(Condvar::new).take(count).collect();
        let scheduler = Arc::new(Scheduler {
            state: Mutex::new(state),
            wake,
            world: world.clone(),
            changes_at_io,
            describe,
        });
        std::thread::scope(|scope| {
            for (number, session) in sessions.into_iter().enumerate() {
                let session_handle = SessionHandle { scheduler: Arc::clone(&scheduler), number };
                scope.spawn(move || session_handle.run_session(session));
            }
            let mut state = scheduler.state.lock();
            scheduler.pass(&mut state);
        });
        let state = scheduler.state.lock();
        match state.failures.first() {
            Some(_) => Err(state.failures.join("; ")),
            None => Ok(state.waits),
        }
    }

    fn now(&self) -> Monotonic {
        self.world.clock().now()
    }

    /// Chooses the session that continues.
    fn pass(&self, state: &mut State) {
        let now = self.now();
        let is_over = state.is_over;
        let goes_on = |place: &Place| match *place {
            Place::Ready => true,
            Place::Waiting { deadline, looked } => is_over || !looked || deadline <= now,
            Place::Done => false,
        };
        let can: Vec<usize> = (0..state.places.len()).filter(|&at| goes_on(&state.places[at])).collect();
        if let Some(&next) = can.get(state.rng.index(can.len().max(1))) {
            state.turn = next;
        } else if let Some(next) = state.places.iter().position(|place| *place != Place::Done) {
            state.failures.push(format!("every session waits: {}", (self.describe)()));
            state.is_over = true;
            state.turn = next;
        } else {
            return;
        }
        self.wake[state.turn].notify_one();
    }
}

impl SessionHandle {
    fn run_session(&self, session: Session<'_>) {
        store::number_thread(self.number as u32);
        let _none = blocking::install(Some(Rc::new(Hook(self.clone())) as Rc<dyn BlockingHook>));
        self.wait_for_turn(&mut self.scheduler.state.lock());
        let outcome = catch_unwind(AssertUnwindSafe(|| session(self)));
        let mut state = self.scheduler.state.lock();
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(what)) => state.failures.push(what),
            Err(_) => state.failures.push(format!("session {} panicked", self.number)),
        }
        state.is_over |= !state.failures.is_empty();
        state.places[self.number] = Place::Done;
        self.did_something(&mut state);
        self.scheduler.pass(&mut state);
    }

    fn wait_for_turn(&self, state: &mut MutexGuard<'_, State>) {
        while state.turn != self.number {
            self.scheduler.wake[self.number].wait(state);
        }
    }

    /// Every session that waits is to check again.
    fn did_something(&self, state: &mut State) {
        for place in &mut state.places {
            if let Place::Waiting { looked, .. } = place {
                *looked = false;
            }
        }
    }

    /// Lets a session continue, perhaps this one.
    pub fn yield_now(&self) {
        let mut state = self.scheduler.state.lock();
        self.did_something(&mut state);
        self.scheduler.pass(&mut state);
        self.wait_for_turn(&mut state);
    }

    /// Whether the run is to end: something is wrong, or the power has failed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.scheduler.state.lock().is_over
    }

    /// Ends the simulation: the timeout of every session that waits has expired.
    pub fn end(&self) {
        self.scheduler.state.lock().is_over = true;
    }

    /// Which session it is, from 0.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    fn park(&self, is_told: &dyn Fn() -> bool, deadline: Monotonic) {
        let mut state = self.scheduler.state.lock();
        state.waits += 1;
        self.did_something(&mut state);
        while !is_told() && !state.is_over && self.scheduler.now() < deadline {
            state.places[self.number] = Place::Waiting { deadline, looked: true };
            self.scheduler.pass(&mut state);
            self.wait_for_turn(&mut state);
        }
        state.places[self.number] = Place::Ready;
    }
}

struct Hook(SessionHandle);

impl BlockingHook for Hook {
    fn enter(&self) {
        if self.0.scheduler.changes_at_io {
            self.0.yield_now();
        }
    }

    fn leave(&self) {}

    fn wait(&self, is_over: &dyn Fn() -> bool, deadline: Monotonic) -> bool {
        self.0.park(is_over, deadline);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn turns_are_repeated_by_their_seed_and_everybody_waiting_is_told() {
        let simulation = |seed: u64| {
            let world = SimWorld::new(seed);
            let diary = Mutex::new(Vec::new());
            let sessions = (0..3).map(|_| {
                let diary = &diary;
                let session = move |session_handle: &SessionHandle| {
                    for _ in 0..5 {
                        diary.lock().push(session_handle.number());
                        session_handle.yield_now();
                    }
                    Ok(())
                };
                Box::new(session) as Session<'_>
            });
            assert_eq!(
                Scheduler::run(&world, Rng::new(seed), true, Box::new(String::new), sessions.collect()),
                Ok(0)
            );
            diary.into_inner()
        };
        assert_eq!(simulation(3), simulation(3));
        assert!((0..9).any(|seed| simulation(seed) != simulation(3)));
        let world = SimWorld::new(1);
        let waits = || {
            let deadline = world.clock().now().after(Duration::from_secs(5));
            Box::new(move |_: &SessionHandle| {
                assert!(blocking::around(|| blocking::wait(&|| false, deadline)));
                Ok(())
            }) as Session<'_>
        };
        let all =
            Scheduler::run(&world, Rng::new(1), false, Box::new(|| "two".to_owned()), vec![waits(), waits()]);
        assert_eq!(all, Err("every session waits: two".to_owned()));
        let clock = &world;
        let turns_the_clock = Box::new(move |session_handle: &SessionHandle| {
            session_handle.yield_now();
            clock.clock().advance(Duration::from_secs(9));
            Ok(())
        });
        let both: Vec<Session<'_>> = vec![waits(), turns_the_clock];
        assert_eq!(Scheduler::run(&world, Rng::new(1), false, Box::new(String::new), both), Ok(1));
    }
}
