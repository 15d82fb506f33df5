//! How planning shows that it goes on, and how it is stopped.
//!
//! Binding, the passes and the builder call [`step`] for each node they work on. Every few hundred steps the thread's owner may serve others
//! in between, and the statement is stopped if it was killed or has reached a limit of memory ([`env::blocking::must_stop`]).
//!
//! Most of the planner cannot fail, so a stop does not come back through its results: it unwinds to [`stoppable`], without a panic's
//! message. What is unwound is the statement's own trees, which are thrown away.
//!
//! Invariant: outside of [`stoppable`] nothing is stopped.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Steps between two looks, of about 0.1 to 1 us each.
const STEPS_PER_CHECK: u32 = 256;

thread_local! {
    static STEPS: Cell<u32> = const { Cell::new(0) };
    static IS_STOPPABLE: Cell<bool> = const { Cell::new(false) };
}

/// Why planning was stopped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stop {
    /// It was killed, or has reached a limit of memory.
    Interrupted,
    /// The tree is deeper than the thread's stack allows.
    TooDeep,
}

/// One more node of some tree has been worked on.
#[inline]
pub fn step() {
    let steps = STEPS.get().wrapping_add(1);
    STEPS.set(steps);
    if steps.is_multiple_of(STEPS_PER_CHECK) {
        check();
    }
}

/// Many steps at once: something of this length was walked over or copied.
#[inline]
pub fn steps(count: usize) {
    let before = STEPS.get();
    let after = before.wrapping_add(count as u32);
    STEPS.set(after);
    if before / STEPS_PER_CHECK != after / STEPS_PER_CHECK {
        check();
    }
}

#[cold]
fn stop(why: Stop) {
    if IS_STOPPABLE.get() && !std::thread::panicking() {
        resume_unwind(Box::new(why));
    }
}

/// Because depth is checked here only, a recursion may exceed the limit by `STEPS_PER_CHECK` levels; the other half of the stack has room for them.
#[cold]
fn check() {
    if env::stack::is_deep() {
        stop(Stop::TooDeep);
    }
    if env::blocking::must_stop() {
        stop(Stop::Interrupted);
    }
}

/// Runs a part of planning that may be stopped.
///
/// # Errors
/// Why it was.
pub fn stoppable<R>(work: impl FnOnce() -> R) -> Result<R, Stop> {
    let outer = IS_STOPPABLE.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_STOPPABLE.set(outer);
    match outcome {
        Ok(result) => Ok(result),
        Err(payload) => match payload.downcast::<Stop>() {
            Ok(stop) => Err(*stop),
            Err(payload) => resume_unwind(payload),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_beyond_its_limit_is_stopped() {
        let walk = || (0..10 * STEPS_PER_CHECK).for_each(|_| step());
        assert_eq!(stoppable(walk), Ok(()));
        let _command = env::memory::begin_command();
        let limits = env::memory::Limits { statement: 1, ..env::memory::Limits::NONE };
        env::memory::set_limits(limits, 0);
        assert!(!env::memory::may_take(2));
        assert_eq!(stoppable(walk), Err(Stop::Interrupted));
        walk(); // Outside nothing is stopped.
        env::memory::forget_exceeded();
        assert_eq!(stoppable(walk), Ok(()));
    }
}
