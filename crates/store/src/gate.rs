//! The gate: changes pass it side by side, a checkpoint closes it for a moment.
//!
//! A change is whatever must be in a checkpoint whole or not at all: one record with its undo, a split, a commit. Each thread
//! passes through its own part of the gate, so that passing costs no shared cache line.

use crate::mvcc::snapshots::thread_number;
use crate::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use crossbeam_utils::CachePadded;

const PARTS: usize = 16;

#[derive(Debug)]
pub(crate) struct Gate {
    parts: [CachePadded<RwLock<()>>; PARTS],
}

/// Inside the gate. Never enter twice on one thread: a closing gate would wait for the first and stop the second.
#[must_use]
pub(crate) struct Inside<'g> {
    _part: RwLockReadGuard<'g, ()>,
}

/// Alone in the gate.
#[must_use]
pub(crate) struct Closed<'g> {
    _parts: Vec<RwLockWriteGuard<'g, ()>>,
}

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate { parts: std::array::from_fn(|_| CachePadded::new(RwLock::new(()))) }
    }

    #[inline]
    pub(crate) fn enter(&self) -> Inside<'_> {
        Inside { _part: self.parts[thread_number() % PARTS].read() }
    }

    /// Waits until everybody is out.
    pub(crate) fn close(&self) -> Closed<'_> {
        Closed { _parts: self.parts.iter().map(|part| part.write()).collect() }
    }
}
