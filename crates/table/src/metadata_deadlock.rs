//! Circles of sessions that wait for each other's metadata locks.
//!
//! A [`crate::MetadataLock`] does not know who holds it, so that taking it costs one addition. But whoever stands in a circle waits, and
//! who waits has time to say what it holds: the circles are looked for among those who wait, each time one more does.
//!
//! Who wants a lock waits for those of them who hold it in a mode that does not go with the wanted one, and for those who came before and
//! want to be alone. Of a circle one ends that defines nothing: it takes its transaction back and tries again, where a definition
//! might have hours of work behind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::metadata_lock::{MetadataLock, MetadataMode};

/// A lock, known by where it lies: who waits keeps it there.
type Place = usize;

struct Waiter {
    /// Rises with time.
    number: u64,
    wanted: (Place, MetadataMode),
    held: Vec<(Place, MetadataMode)>,
    is_victim: Arc<AtomicBool>,
}

/// All who wait, in the order of their coming. They are few, and none of them is in a hurry.
static WAITERS: Mutex<Vec<Waiter>> = Mutex::new(Vec::new());
static NUMBER: AtomicU64 = AtomicU64::new(0);

fn place(lock: &MetadataLock) -> Place {
    std::ptr::from_ref(lock).addr()
}

impl Waiter {
    fn wants_alone(&self) -> bool {
        self.wanted.1 == MetadataMode::Alone
    }

    fn waits_for(&self, other: &Waiter) -> bool {
        let (lock, mode) = self.wanted;
        let holds = other.held.iter().any(|&(held, as_mode)| held == lock && !as_mode.goes_with(mode));
        let stands_before = other.number < self.number && other.wants_alone() && other.wanted.0 == lock;
        self.number != other.number && (holds || stands_before)
    }
}

/// One who waits; dropping it says that it no longer does.
pub(crate) struct Waiting {
    number: u64,
    is_victim: Arc<AtomicBool>,
}

impl Waiting {
    /// Says that the caller waits for `lock` and what it holds meanwhile. Closes that a circle, one in it is chosen to end.
    pub(crate) fn enter<'l>(
        lock: &MetadataLock,
        mode: MetadataMode,
        held: impl Iterator<Item = (&'l MetadataLock, MetadataMode)>,
    ) -> Self {
        let is_victim = Arc::new(AtomicBool::new(false));
        let held = held.map(|(lock, mode)| (place(lock), mode)).collect();
        let mut waiters = WAITERS.lock();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let is_victim_too = Arc::clone(&is_victim);
        waiters.push(Waiter { number, wanted: (place(lock), mode), held, is_victim: is_victim_too });
        let newest = waiters.len() - 1;
        if let Some(circle) = circle(&waiters, newest) {
            let victim = circle.iter().rev().find(|&&index| !waiters[index].wants_alone());
            waiters[*victim.unwrap_or(&newest)].is_victim.store(true, Ordering::Relaxed);
        }
        Self { number, is_victim }
    }

    /// Whether the caller must end its wait, so that others go on.
    pub(crate) fn is_victim(&self) -> bool {
        self.is_victim.load(Ordering::Relaxed)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITERS.lock().retain(|waiter| waiter.number != self.number);
    }
}

/// The waiters of a circle through `start`, which comes last. Those who were chosen to end wait no more.
fn circle(waiters: &[Waiter], start: usize) -> Option<Vec<usize>> {
    let mut seen = vec![false; waiters.len()];
    let mut path = vec![(start, 0)];
    while let Some(top) = path.last_mut() {
        let (at, next) = *top;
        top.1 += 1;
        if next == waiters.len() {
            path.pop();
            continue;
        }
        if waiters[next].is_victim.load(Ordering::Relaxed) || !waiters[at].waits_for(&waiters[next]) {
            continue;
        }
        if next == start {
            let mut circle: Vec<usize> = path.iter().map(|&(index, _)| index).collect();
            circle.rotate_left(1);
            return Some(circle);
        }
        if !std::mem::replace(&mut seen[next], true) {
            path.push((next, 0));
        }
    }
    None
}
