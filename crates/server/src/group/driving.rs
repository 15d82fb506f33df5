//! The reactor of a group while its thread drives a connection.
//!
//! The thread needs the reactor again when the command has ended. A command that waits or computes for long hands it to
//! another thread of the group; from one that computes for long without announcing it, the watchdog
//! ([`crate::watchdog`]) takes it. So no command keeps others from being served, whatever it computes.
//!
//! Invariants:
//! 1. The reactor is in here from [`Driving::begin`] until [`Driving::end`], or has gone to another thread of the
//!    group, once.
//! 2. A thread that takes the reactor out to hand it over holds `control`: the driving thread, when it finds no
//!    reactor, knows under that lock that the reactor is gone and not about to be put back.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossbeam_utils::atomic::AtomicCell;
use service::ConnectionControl;

use super::reactor::Reactor;
use super::{Group, lock};

/// CPU time of a command, as the watchdog sees it, before it loses the reactor.
const COMPUTING_MAX: Duration = Duration::from_millis(8);
/// The same in time that passes: it waits for something without saying so, or for a processor.
const RUNNING_MAX: Duration = Duration::from_millis(100);

/// A command that the watchdog has seen running.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Seen {
    thread: i32,
    commands: u64,
    first: Instant,
    /// CPU time of the thread then.
    cpu_time: Duration,
}

/// Shared by the thread that drives and the watchdog.
#[derive(Default)]
pub(super) struct Driving {
    reactor: AtomicCell<Option<Box<Reactor>>>,
    /// Commands begun: while it stays the same, the same one runs. Changed by the driving thread alone.
    commands: AtomicU64,
    /// The driving thread, by its number in the system.
    thread: AtomicI32,
    /// The control of the connection whose command has lost the reactor.
    control: Mutex<Option<Arc<ConnectionControl>>>,
}

impl Driving {
    /// For the calling thread.
    pub(super) fn new() -> Driving {
        let driving = Driving::default();
        driving.thread.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Relaxed);
        driving
    }

    /// The thread begins to drive a connection, and has the reactor.
    pub(super) fn begin(&self, reactor: Box<Reactor>) {
        self.commands.store(self.commands.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.reactor.store(Some(reactor));
    }

    /// The thread has driven the connection; returns the reactor, if it is still here.
    pub(super) fn end(&self) -> Option<Box<Reactor>> {
        let reactor = self.reactor.take();
        if reactor.is_some() {
            return reactor;
        }
        let mut control = lock(&self.control);
        let put_back = self.reactor.take();
        *control = None;
        put_back
    }

    /// Whether the reactor is here. For the driving thread.
    pub(super) fn has_reactor(&self) -> bool {
        self.look(|_| ()).is_some()
    }

    /// Whether the command has been asked to end. For the driving thread.
    pub(super) fn is_cancelled(&self) -> bool {
        self.look(Reactor::is_cancelled)
            .unwrap_or_else(|| lock(&self.control).as_ref().is_some_and(|control| control.is_killed()))
    }

    fn look<R>(&self, look: impl FnOnce(&Reactor) -> R) -> Option<R> {
        let reactor = match self.reactor.take() {
            Some(reactor) => reactor,
            None => {
                let _control = lock(&self.control); // Nobody is about to put it back.
                self.reactor.take()?
            }
        };
        let seen = look(&reactor);
        self.reactor.store(Some(reactor));
        Some(seen)
    }

    /// Hands the reactor to another thread of the group, if it is here and there is one.
    pub(super) fn hand_over_reactor(&self, group: &Arc<Group>) {
        let mut control = lock(&self.control);
        if let Some(mut reactor) = self.reactor.take() {
            *control = reactor.leave_running();
            if let Some(kept) = group.hand_over(reactor) {
                self.reactor.store(Some(kept));
            }
        }
    }

    /// Checks the command that runs, if one does, against what the watchdog has `seen` before. Takes the reactor
    /// from a command that has computed, or only run, for too long.
    pub(super) fn watch(&self, seen: Option<Seen>, group: &Arc<Group>) -> Seen {
        let (thread, commands) = (self.thread.load(Ordering::Relaxed), self.commands.load(Ordering::Relaxed));
        if let Some(seen) = seen.filter(|seen| (seen.thread, seen.commands) == (thread, commands)) {
            let computed = thread_cpu_time(thread).saturating_sub(seen.cpu_time);
            if computed >= COMPUTING_MAX || seen.first.elapsed() >= RUNNING_MAX {
                // A command that has begun just now may lose it instead: that costs it little.
                self.hand_over_reactor(group);
            }
            return seen;
        }
        Seen { thread, commands, first: Instant::now(), cpu_time: thread_cpu_time(thread) }
    }
}

/// CPU time of a thread of this process; none if it is gone.
fn thread_cpu_time(thread: i32) -> Duration {
    /// Of the number of a clock: a thread's (4), of the time it was scheduled (2).
    const CPU_CLOCK_OF_THREAD: i32 = 6;
    #[allow(unsafe_code, reason = "the clock of another thread has no safe wrapper among the crates in use")]
    // SAFETY: the structure outlives the call. A number that is no thread's is an error.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        if libc::clock_gettime((!thread << 3) | CPU_CLOCK_OF_THREAD, &raw mut time) == 0 {
            Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
        } else {
            Duration::ZERO
        }
    }
}
