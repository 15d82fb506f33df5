//! What sessions and the thread that runs events have in common: the signal that something changed, and what the process list shows of
//! the thread.
//!
//! Who runs events is whoever has the server's threads (`engine::events`); sessions only say that an event or `event_scheduler` is another
//! now, and list what the thread does.

use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// What the thread does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum SchedulerState {
    /// It runs no events: `event_scheduler` is off.
    Off = 0,
    /// There is no event that will run.
    Empty = 1,
    /// It waits until the next one is due.
    Waiting = 2,
}

/// See the module.
#[derive(Debug, Default)]
pub struct EventScheduler {
    changes: Mutex<u64>,
    changed: Condvar,
    state: AtomicU8,
    since_micros: AtomicI64,
}

impl EventScheduler {
    /// Something that the thread follows has changed.
    pub fn notify(&self) {
        *self.changes.lock() += 1;
        self.changed.notify_all();
    }

    /// Waits until something has changed since `seen`, at most so long. Answers what is seen now.
    #[must_use]
    pub fn wait(&self, seen: u64, at_most: Duration) -> u64 {
        let mut changes = self.changes.lock();
        if *changes == seen {
            self.changed.wait_for(&mut changes, at_most);
        }
        *changes
    }

    /// Says what the thread does from now on.
    pub fn show(&self, state: SchedulerState, wall_micros: i64) {
        self.since_micros.store(wall_micros, Ordering::Relaxed);
        self.state.store(state as u8, Ordering::Relaxed);
    }

    /// What the process list shows as its state, and since when; `None`: it is off.
    #[must_use]
    pub(crate) fn shown(&self) -> Option<(&'static str, i64)> {
        let since = self.since_micros.load(Ordering::Relaxed);
        match self.state.load(Ordering::Relaxed) {
            1 => Some(("Waiting on empty queue", since)),
            2 => Some(("Waiting for next activation", since)),
            _ => None,
        }
    }
}
