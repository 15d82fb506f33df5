//! Announcing waits: the hook that lets a thread that is about to wait hand its work to another.
//!
//! Code that may block for long (a row lock, a log sync, a full queue) holds a [`BlockingGuard`] around the wait. The
//! owner of the thread may have [`install`]ed a hook: a server's worker hands its reactor to a parked thread on
//! `enter`, and may have to wait for a run slot on `leave`. Without a hook nothing happens and the guard costs one
//! thread-local load.
//!
//! Two kinds of wait: for the machine (disk, log, a client's socket), which ends whatever other statements do, and for
//! others (a lock that another statement must release). Of the second kind there may be as many as there are clients,
//! and each holds a thread, so the hook may refuse it ([`try_enter`]): the caller then abandons its work. Work that can
//! be requeued says so ([`WaitForOthers::may_requeue`]), and its waits may be refused much earlier than others.
//!
//! Invariants:
//! 1. The hook sees `enter` or `try_enter` and `leave` strictly in turn: of nested guards only the outermost reaches
//!    it.
//! 2. `leave` runs on the same thread as its `enter`, also when the wait unwinds.
//! 3. No latch or mutex is held while a guard is made or dropped, because the hook may take locks and wait itself.
//! 4. A thread that waits under `try_enter`'s guard or calls `pause` holds nothing that others wait for but transaction
//!    and metadata locks.

use crate::monotonic::Monotonic;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;

/// The hook of a thread, called when code on it will wait. One per thread; it learns when a wait begins and ends.
pub trait BlockingHook {
    /// The thread is about to stop for an unknown time.
    fn enter(&self);
    /// The wait is over; returns when the thread may go on (it may wait itself).
    fn leave(&self);
    /// The same for a wait that only others can end; an error means that it must not begin.
    ///
    /// # Errors
    /// Nothing was entered, and `leave` is not called.
    fn try_enter(&self, _wait: WaitForOthers) -> Result<(), Refused> {
        self.enter();
        Ok(())
    }
    /// A long computation is still running; see [`tick`].
    fn tick(&self) {}
    /// Waits in the thread's place; see [`wait`]. A hook that does not do that says false.
    fn wait(&self, _is_over: &dyn Fn() -> bool, _deadline: Monotonic) -> bool {
        false
    }
    /// A long computation is still running and may wait for its turn; see [`pause`].
    fn pause(&self) {
        self.tick();
    }
    /// Whether what runs on the thread has been asked to end; see [`must_stop`].
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// A wait that only others can end: for a lock that another transaction holds, for another session's statement.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct WaitForOthers {
    /// Work whose wait is refused is requeued: it has left no trace, and runs again from its beginning.
    pub may_requeue: bool,
    /// What is waited for, the same number for the same thing, if the waiter holds nothing that others wait for.
    pub wait_queue: Option<u64>,
}

/// Why a wait for others must not begin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refused {
    /// Too many wait already, or the system has no thread to give.
    NoThread,
    /// It has waited as long as it may, before it could begin.
    TimeOver,
}

thread_local! {
    static HOOK: RefCell<Option<Rc<dyn BlockingHook>>> = const { RefCell::new(None) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Sets this thread's hook, or removes it, and returns the one before.
///
/// # Panics
/// If called between `enter` and `leave`: the hook that entered has to be the one that leaves.
pub fn install(hook: Option<Rc<dyn BlockingHook>>) -> Option<Rc<dyn BlockingHook>> {
    assert_eq!(DEPTH.get(), 0, "a blocking hook changes only outside every wait");
    HOOK.replace(hook)
}

/// Says that this thread is about to wait; dropping the guard says that the wait is over.
#[must_use = "the wait ends when the guard is dropped"]
pub fn enter() -> BlockingGuard {
    let depth = DEPTH.get();
    if depth == 0 {
        // Cloned out, so that a hook which runs other code on this thread can reach its own thread-locals.
        let hook = HOOK.with_borrow(Clone::clone);
        if let Some(hook) = hook {
            hook.enter();
        }
    }
    DEPTH.set(depth + 1);
    BlockingGuard { not_send: PhantomData }
}

/// As [`enter`], for a wait that only others can end.
///
/// # Errors
/// The owner of the thread has none to spare: do not wait.
pub fn try_enter(wait: WaitForOthers) -> Result<BlockingGuard, Refused> {
    let depth = DEPTH.get();
    if depth == 0 {
        let hook = HOOK.with_borrow(Clone::clone);
        if let Some(hook) = hook {
            hook.try_enter(wait)?;
        }
    }
    DEPTH.set(depth + 1);
    Ok(BlockingGuard { not_send: PhantomData })
}

/// Runs `wait` between `enter` and `leave`.
pub fn around<R>(wait: impl FnOnce() -> R) -> R {
    let _guard = enter();
    wait()
}

/// Lets the hook do the waiting, between `enter` and `leave`: until `is_over` says so, which may be asked at any time, or `deadline` has come, or
/// the hook has had enough. That is how a simulation whose threads take turns goes on with another one. False: nobody has
/// waited, and the thread does it itself.
pub fn wait(is_over: &dyn Fn() -> bool, deadline: Monotonic) -> bool {
    let hook = HOOK.with_borrow(Clone::clone);
    hook.is_some_and(|hook| hook.wait(is_over, deadline))
}

/// Says that a computation which may be long is still running: operators call it once a batch (about 1,000 rows). The owner
/// of the thread may give its place to another then; the computation goes on. Without a hook it costs one thread-local load.
pub fn tick() {
    if DEPTH.get() == 0 {
        let hook = HOOK.with_borrow(Clone::clone);
        if let Some(hook) = hook {
            hook.tick();
        }
    }
}

/// As [`tick`], by code that holds no latch and no mutex: the computation may be made to wait until it is its turn again, so that
/// of many only a few run at once.
pub fn pause() {
    if DEPTH.get() == 0 {
        let hook = HOOK.with_borrow(Clone::clone);
        if let Some(hook) = hook {
            hook.pause();
        }
    }
}

/// [`pause`], and whether the computation has to end: its client or an administrator asked for that, or it has reached a limit of memory
/// ([`crate::memory`]). For code that computes long and knows no session, such as the parser and the planner; why is the caller's to find.
#[must_use]
pub fn must_stop() -> bool {
    if DEPTH.get() == 0 {
        let hook = HOOK.with_borrow(Clone::clone);
        if let Some(hook) = hook {
            hook.pause();
            if hook.is_cancelled() {
                return true;
            }
        }
    }
    crate::memory::exceeded().is_some()
}

/// From [`enter`] until dropped, this thread counts as waiting. Stays on its thread.
#[derive(Debug)]
pub struct BlockingGuard {
    not_send: PhantomData<*const ()>,
}

impl Drop for BlockingGuard {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            let hook = HOOK.with_borrow(Clone::clone);
            if let Some(hook) = hook {
                hook.leave();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Refusing;
    impl BlockingHook for Refusing {
        fn enter(&self) {}
        fn leave(&self) {
            panic!("what was refused is not left");
        }
        fn try_enter(&self, wait: WaitForOthers) -> Result<(), Refused> {
            assert_eq!(wait.wait_queue, Some(5));
            Err(Refused::NoThread)
        }
    }

    #[test]
    fn a_wait_that_is_refused_was_never_entered() {
        assert!(install(Some(Rc::new(Refusing))).is_none());
        let wait = WaitForOthers { may_requeue: true, wait_queue: Some(5) };
        assert_eq!(try_enter(wait).err(), Some(Refused::NoThread));
        // So it counts as outside every wait.
        assert!(install(None).is_some());
        assert!(try_enter(WaitForOthers::default()).is_ok());
    }

    struct Diary(RefCell<Vec<&'static str>>);
    impl BlockingHook for Diary {
        fn enter(&self) {
            self.0.borrow_mut().push("enter");
        }
        fn leave(&self) {
            self.0.borrow_mut().push("leave");
        }
    }

    #[test]
    fn only_the_outermost_wait_is_told_also_when_it_unwinds() {
        let diary = Rc::new(Diary(RefCell::default()));
        around(|| ()); // No hook: nothing to tell.
        assert!(install(Some(Rc::clone(&diary) as Rc<dyn BlockingHook>)).is_none());
        around(|| around(|| diary.0.borrow_mut().push("wait")));
        assert_eq!(*diary.0.borrow(), ["enter", "wait", "leave"]);
        let unwound = std::panic::catch_unwind(|| around(|| panic!("in the wait")));
        assert!(unwound.is_err());
        assert_eq!(*diary.0.borrow(), ["enter", "wait", "leave", "enter", "leave"]);
        assert!(install(None).is_some());
        around(|| ());
        assert_eq!(diary.0.borrow().len(), 5);
    }
}
