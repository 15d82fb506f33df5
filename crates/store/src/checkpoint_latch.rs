//! The checkpoint latch: changes of pages hold it shared, a checkpoint holds it exclusively for a moment.
//!
//! A critical section under the shared latch is what a checkpoint must contain completely or not at all: one record
//! with its undo, a page split, a commit. The latch is striped by thread, so that taking it shared touches no cache
//! line of another thread.

use crate::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::thread_number::thread_number;
use crossbeam_utils::CachePadded;

const PARTS: usize = 16;

#[derive(Debug)]
pub(crate) struct CheckpointLatch {
    parts: [CachePadded<RwLock<()>>; PARTS],
}

/// The latch held shared. A thread must not take it twice: a waiting checkpoint would block the second, and wait for
/// the first.
#[must_use]
pub(crate) struct CriticalSection<'g> {
    _part: RwLockReadGuard<'g, ()>,
}

/// The latch held exclusively.
#[must_use]
pub(crate) struct Exclusive<'g> {
    _parts: Vec<RwLockWriteGuard<'g, ()>>,
}

impl CheckpointLatch {
    pub(crate) fn new() -> CheckpointLatch {
        CheckpointLatch { parts: std::array::from_fn(|_| CachePadded::new(RwLock::new(()))) }
    }

    #[inline]
    pub(crate) fn shared(&self) -> CriticalSection<'_> {
        CriticalSection { _part: self.parts[thread_number() % PARTS].read() }
    }

    /// Waits until no critical section is open.
    pub(crate) fn exclusive(&self) -> Exclusive<'_> {
        Exclusive { _parts: self.parts.iter().map(|part| part.write()).collect() }
    }
}
