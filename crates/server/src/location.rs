//! Where a connection is, for threads that have to wake it: a KILL, a checked password.

use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

/// What serves connections in slots: a worker group.
pub(crate) trait WakeConnection: Send + Sync {
    /// Lets the connection in a slot be looked at.
    fn wake_connection(&self, slot: usize);
}

/// Where a connection lives now, for those who want to wake it.
#[derive(Default)]
pub(crate) struct Location(Mutex<Option<(Weak<dyn WakeConnection>, usize)>>);

impl Location {
    /// The connection lives in a slot of a group; `None`: nowhere.
    pub(crate) fn set(&self, group: Option<Weak<dyn WakeConnection>>, slot: usize) {
        *lock(&self.0) = group.map(|group| (group, slot));
    }

    pub(crate) fn wake_connection(&self) {
        let location = lock(&self.0).clone();
        if let Some((group, slot)) = location
            && let Some(group) = group.upgrade()
        {
            group.wake_connection(slot);
        }
    }
}

/// Locks a mutex also after a panic under it: what it protects is whole between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
