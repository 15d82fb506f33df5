//! Waiting transactions: what each waits for, where it sleeps, and with which outcome it is woken.

use crate::ids::{TreeId, TxnId};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex};
use env::clock::Monotonic;
use std::sync::Arc;
use std::time::Duration;

/// How much a lock excludes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LockMode {
    /// Others may read-lock, not write.
    Shared,
    /// Nobody else may lock or write.
    Exclusive,
}

impl LockMode {
    pub(crate) fn excludes(self, other: LockMode) -> bool {
        self == LockMode::Exclusive || other == LockMode::Exclusive
    }
}

/// What to do when another transaction holds the lock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LockWait {
    /// Fail at once with [`WriteError::Locked`].
    Nowait,
    /// Leave the row out (`SKIP LOCKED`); where there is nothing to leave out, as [`LockWait::Nowait`].
    Skip,
    /// Wait, this long at most.
    Timeout(Duration),
}

/// What a session and its lock waits tell each other: ends the waits from another thread (KILL), says what becomes of the
/// session's work if a wait is refused, and counts how long they take.
#[derive(Debug, Default)]
pub struct Interrupt {
    raised: AtomicBool,
    may_requeue: AtomicBool,
    /// How long the lock waits since [`Interrupt::reset_waited`] took. Written by the waiting thread alone.
    waited_micros: AtomicU64,
    pub(super) waiting: Mutex<Option<Arc<Waiting>>>,
}

impl Interrupt {
    /// A fresh one.
    #[must_use]
    pub fn new() -> Arc<Interrupt> {
        Arc::default()
    }

    /// Ends the present wait and all later ones until [`Interrupt::reset`].
    pub fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        if let Some(waiting) = &*self.waiting.lock() {
            waiting.finish(WaitOutcome::Interrupted);
        }
    }

    /// Whether it was raised.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    /// Says whether the work that waits can be requeued, so that its waits may be refused early
    /// ([`env::blocking::WaitForOthers::may_requeue`]).
    #[inline]
    pub fn set_may_requeue(&self, may_requeue: bool) {
        self.may_requeue.store(may_requeue, Ordering::Relaxed);
    }

    /// Whether the work that waits can be requeued.
    #[inline]
    pub fn may_requeue(&self) -> bool {
        self.may_requeue.load(Ordering::Relaxed)
    }

    /// How long the lock waits since [`Interrupt::reset_waited`] took, in microseconds.
    pub fn waited_micros(&self) -> u64 {
        self.waited_micros.load(Ordering::Relaxed)
    }

    /// Counts the time of lock waits from zero.
    #[inline]
    pub fn reset_waited(&self) {
        self.waited_micros.store(0, Ordering::Relaxed);
    }

    /// A lock wait has taken so long.
    pub(super) fn add_waited(&self, micros: u64) {
        self.waited_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Makes waits possible again, for the next statement.
    pub fn reset(&self) {
        self.raised.store(false, Ordering::SeqCst);
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WaitOutcome {
    Pending,
    /// The lock is granted, the key ranges in a writer's way are released, or the transaction that yields may continue.
    Granted,
    Interrupted,
    /// Chosen to break a deadlock.
    Victim,
}

/// A waiting transaction and what it waits for.
#[derive(Clone, Debug)]
pub(crate) struct WaitInfo {
    pub(crate) txn: TxnId,
    /// How much it has changed: the transaction that changed the least is the victim of a deadlock.
    pub(crate) weight: u64,
    /// It has changed nothing and holds no lock.
    pub(crate) holds_nothing: bool,
    pub(crate) tree: TreeId,
    pub(crate) key: Box<[u8]>,
    pub(crate) mode: LockMode,
    /// It waits for key ranges to be released, not for a record's lock.
    pub(crate) for_range: bool,
    /// It waits to insert a record there.
    pub(crate) inserts: bool,
    /// It holds the record's lock already, and requests a stronger mode.
    pub(crate) has_lock: bool,
    /// It yields to writers that came before it, and could continue at once: the end of its timeout fails nothing, and
    /// in a cycle it is the one that need not wait.
    pub(crate) yields: bool,
    pub(crate) since: Option<Monotonic>,
    /// What the transaction's owner called itself.
    pub(crate) owner: u64,
}

impl WaitInfo {
    /// Whether this request would still have to wait without `before`, the waiter it waits for: that one is in the same
    /// record's queue, holds nothing of the lock, and what it waits for conflicts with this request, too.
    pub(crate) fn is_only_queued_behind(&self, before: &WaitInfo) -> bool {
        let is_excluded_alike = self.mode == LockMode::Exclusive || before.mode == LockMode::Shared;
        !self.for_range
            && !before.for_range
            && !before.has_lock
            && is_excluded_alike
            && (self.tree, &self.key) == (before.tree, &before.key)
    }
}

impl Default for WaitInfo {
    fn default() -> WaitInfo {
        WaitInfo {
            txn: TxnId(0),
            weight: 0,
            holds_nothing: false,
            tree: TreeId(0),
            key: Box::default(),
            mode: LockMode::Exclusive,
            for_range: false,
            inserts: false,
            has_lock: false,
            yields: false,
            since: None,
            owner: 0,
        }
    }
}

/// A wait, as shown to others.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LockWaiter {
    /// The waiting transaction.
    pub txn: TxnId,
    /// How many records it has changed.
    pub change_count: u64,
    /// In which tree.
    pub tree: TreeId,
    /// At which key.
    pub key: Vec<u8>,
    /// The lock mode that it requests.
    pub mode: LockMode,
    /// It waits for locks on key ranges, not on the record.
    pub for_range: bool,
    /// It waits to insert a record.
    pub inserts: bool,
    /// It holds the record's lock already, and requests a stronger mode.
    pub has_lock: bool,
    /// Since when, on the store's clock.
    pub since: Option<Monotonic>,
    /// What [`crate::Transaction::set_owner`] said.
    pub owner: u64,
    /// The transactions it waits for.
    pub blockers: Vec<TxnId>,
}

impl LockWaiter {
    pub(crate) fn new(info: &WaitInfo, blockers: impl IntoIterator<Item = TxnId>) -> LockWaiter {
        LockWaiter {
            txn: info.txn,
            change_count: info.weight,
            tree: info.tree,
            key: info.key.to_vec(),
            mode: info.mode,
            for_range: info.for_range,
            inserts: info.inserts,
            has_lock: info.has_lock,
            since: info.since,
            owner: info.owner,
            blockers: blockers.into_iter().collect(),
        }
    }
}

/// A transaction in a deadlock.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeadlockMember {
    /// What it waited for.
    pub waiter: LockWaiter,
    /// What the store's user said of its owner then: see [`crate::Store::describe_owners_by`].
    pub description: Vec<u8>,
}

/// A deadlock that was broken.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Deadlock {
    /// The transactions in the cycle, each waiting for the next, the last for the first. The first one closed it.
    pub cycle: Vec<DeadlockMember>,
    /// The transaction that was rolled back.
    pub victim: TxnId,
}

/// Where one waiter sleeps.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) info: WaitInfo,
    pub(super) outcome: Mutex<WaitOutcome>,
    pub(super) wake: Condvar,
}

impl Waiting {
    pub(crate) fn new(info: WaitInfo) -> Arc<Waiting> {
        Arc::new(Waiting { info, outcome: Mutex::new(WaitOutcome::Pending), wake: Condvar::new() })
    }

    pub(crate) fn outcome(&self) -> WaitOutcome {
        *self.outcome.lock()
    }

    pub(crate) fn finish(&self, what: WaitOutcome) {
        let mut outcome = self.outcome.lock();
        if *outcome == WaitOutcome::Pending || what == WaitOutcome::Granted {
            *outcome = what;
        }
        drop(outcome);
        self.wake.notify_one();
    }
}
