//! The entries of the lock table and their queues.

use super::graph::Graph;
use crate::error::WriteError;
use crate::ids::{TreeId, TxnId};
use crate::trees::TreeState;
use env::clock::Clock;
use hashbrown::{Equivalent, HashMap};
use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SHARDS: usize = 64;

/// How much a lock excludes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LockMode {
    /// Others may read-lock, not write.
    Shared,
    /// Nobody else may lock or write.
    Exclusive,
}

impl LockMode {
    fn excludes(self, other: LockMode) -> bool {
        self == LockMode::Exclusive || other == LockMode::Exclusive
    }
}

/// What to do when somebody else has the lock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LockWait {
    /// Fail at once with [`WriteError::Locked`].
    Nowait,
    /// Leave the row out (`SKIP LOCKED`); where there is nothing to leave out, as [`LockWait::Nowait`].
    Skip,
    /// Wait, this long at most.
    Timeout(Duration),
}

/// Breaks off lock waits of a session from another thread (KILL).
#[derive(Debug, Default)]
pub struct Interrupt {
    raised: AtomicBool,
    waiting: Mutex<Option<Arc<Waiting>>>,
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
            waiting.tell(Told::Interrupted);
        }
    }

    /// Whether it was raised.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    /// Makes waits possible again, for the next statement.
    pub fn reset(&self) {
        self.raised.store(false, Ordering::SeqCst);
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Told {
    Nothing,
    Granted,
    Interrupted,
}

/// Where one waiter sleeps.
#[derive(Debug)]
struct Waiting {
    told: Mutex<Told>,
    wake: Condvar,
}

impl Waiting {
    fn tell(&self, what: Told) {
        let mut told = self.told.lock();
        if *told == Told::Nothing || what == Told::Granted {
            *told = what;
        }
        drop(told);
        self.wake.notify_one();
    }
}

#[derive(Debug)]
struct Waiter {
    txn: TxnId,
    mode: LockMode,
    waiting: Arc<Waiting>,
}

#[derive(Debug)]
struct Entry {
    tree: Arc<TreeState>,
    holders: SmallVec<[(TxnId, LockMode); 2]>,
    queue: VecDeque<Waiter>,
}

impl Entry {
    fn blockers(&self, txn: TxnId, mode: LockMode) -> impl Iterator<Item = TxnId> {
        self.holders
            .iter()
            .filter(move |holder| holder.0 != txn && holder.1.excludes(mode))
            .map(|holder| holder.0)
    }

    fn held_by(&self, txn: TxnId) -> Option<LockMode> {
        self.holders.iter().find(|holder| holder.0 == txn).map(|holder| holder.1)
    }

    fn hold(&mut self, txn: TxnId, mode: LockMode) {
        match self.holders.iter_mut().find(|holder| holder.0 == txn) {
            Some(holder) if mode == LockMode::Exclusive => holder.1 = mode,
            Some(_) => {}
            None => self.holders.push((txn, mode)),
        }
    }

    /// Wakes from the front of the queue whoever may have the lock now.
    fn grant(&mut self, graph: &Mutex<Graph>) {
        while let Some(first) = self.queue.front() {
            if self.blockers(first.txn, first.mode).next().is_some() {
                return;
            }
            let waiter = self.queue.pop_front().expect("it has a front");
            self.hold(waiter.txn, waiter.mode);
            graph.lock().stop(waiter.txn);
            waiter.waiting.tell(Told::Granted);
        }
    }
}

type Key = (TreeId, Box<[u8]>);

/// A [`Key`] to look for; hashes as one.
#[derive(Hash)]
struct KeyRef<'k>(TreeId, &'k [u8]);

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.0 == key.0 && *self.1 == *key.1
    }
}

/// The keys whose entries a transaction may be in.
#[derive(Debug, Default)]
pub(crate) struct HeldLocks {
    /// The running transaction, 0 once it has ended.
    owner: TxnId,
    keys: Vec<Key>,
}

impl HeldLocks {
    pub(crate) fn begin(&mut self, owner: TxnId) {
        assert!(self.keys.is_empty());
        self.owner = owner;
    }
}

/// One lock to be taken.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) tree: &'a Arc<TreeState>,
    pub(crate) key: &'a [u8],
    pub(crate) txn: TxnId,
    pub(crate) mode: LockMode,
    pub(crate) wait: LockWait,
    /// The requester's own note of locks.
    pub(crate) own: &'a Mutex<HeldLocks>,
    /// A running transaction whose stamp is in the row, and its note.
    pub(crate) stamped_by: Option<(TxnId, &'a Mutex<HeldLocks>)>,
    pub(crate) interrupt: Option<&'a Interrupt>,
}

/// How a request ended, if not in an error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Acquired {
    /// The lock is held.
    Held,
    /// The stamp's owner has ended meanwhile: look at the row again.
    LookAgain,
}

#[derive(Debug)]
pub(crate) struct LockTable {
    shards: [Mutex<HashMap<Key, Entry, foldhash::fast::FixedState>>; SHARDS],
    graph: Mutex<Graph>,
    clock: Arc<dyn Clock>,
}

impl LockTable {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> LockTable {
        LockTable { shards: std::array::from_fn(|_| Mutex::default()), graph: Mutex::default(), clock }
    }

    fn shard(&self, tree: TreeId, key: &[u8]) -> &Mutex<HashMap<Key, Entry, foldhash::fast::FixedState>> {
        let hash = foldhash::fast::FixedState::default().hash_one((tree, key));
        &self.shards[(hash >> 32) as usize % SHARDS]
    }

    /// Who keeps `txn` from having this lock now, if anybody.
    pub(crate) fn conflict(&self, tree: TreeId, key: &[u8], txn: TxnId, mode: LockMode) -> Option<TxnId> {
        let shard = self.shard(tree, key).lock();
        let entry = shard.get(&KeyRef(tree, key))?;
        let conflict = entry.blockers(txn, mode).next();
        conflict.or_else(|| match entry.held_by(txn) {
            Some(_) => None,
            None => entry.queue.front().map(|waiter| waiter.txn),
        })
    }

    /// Takes a lock, waiting if the request says so. No latch is held.
    /// `waits` is called if it has to.
    pub(crate) fn acquire(
        &self,
        request: &Request<'_>,
        waits: impl FnOnce(),
    ) -> Result<Acquired, WriteError> {
        let Request { tree, key, txn, mode, .. } = *request;
        let full_key: Key = (tree.id(), Box::from(key));
        let mut shard = self.shard(tree.id(), key).lock();
        let entry = shard.entry(full_key.clone()).or_insert_with(|| {
            tree.lock_entries().fetch_add(1, Ordering::SeqCst);
            Entry { tree: Arc::clone(tree), holders: SmallVec::new(), queue: VecDeque::new() }
        });
        if let Some((holder, note)) = request.stamped_by {
            let mut note = note.lock();
            if note.owner != holder {
                drop(note);
                LockTable::remove_if_empty(&mut shard, &full_key);
                return Ok(Acquired::LookAgain);
            }
            if entry.held_by(holder).is_none() {
                note.keys.push(full_key.clone());
            }
            entry.hold(holder, LockMode::Exclusive);
        }
        let held = entry.held_by(txn);
        let blocked = entry.blockers(txn, mode).next();
        let ahead = if held.is_some() { None } else { entry.queue.front().map(|waiter| waiter.txn) };
        let Some(blocker) = blocked.or(ahead) else {
            if held.is_none() {
                request.own.lock().keys.push(full_key);
            }
            entry.hold(txn, mode);
            return Ok(Acquired::Held);
        };
        let LockWait::Timeout(limit) = request.wait else {
            return Err(WriteError::Locked { holder: blocker });
        };
        let waiting = Arc::new(Waiting { told: Mutex::new(Told::Nothing), wake: Condvar::new() });
        let mut blockers: SmallVec<[TxnId; 4]> = entry.blockers(txn, mode).collect();
        if held.is_none() {
            blockers.extend(entry.queue.iter().map(|waiter| waiter.txn));
        }
        if let Err(waiting_for) = self.graph.lock().wait(txn, blockers) {
            return Err(WriteError::Deadlock { waiting_for });
        }
        let waiter = Waiter { txn, mode, waiting: Arc::clone(&waiting) };
        if held.is_some() {
            entry.queue.push_front(waiter);
        } else {
            request.own.lock().keys.push(full_key.clone());
            entry.queue.push_back(waiter);
        }
        drop(shard);
        waits();
        self.sleep(request, &full_key, &waiting, limit)
    }

    fn sleep(
        &self,
        request: &Request<'_>,
        key: &Key,
        waiting: &Arc<Waiting>,
        limit: Duration,
    ) -> Result<Acquired, WriteError> {
        let began = self.clock.now();
        if let Some(interrupt) = request.interrupt {
            *interrupt.waiting.lock() = Some(Arc::clone(waiting));
            if interrupt.is_raised() {
                waiting.tell(Told::Interrupted);
            }
        }
        env::blocking::around(|| {
            let mut told = waiting.told.lock();
            while *told == Told::Nothing {
                let waited = self.clock.now().since(began);
                let Some(left) = limit.checked_sub(waited).filter(|left| !left.is_zero()) else { break };
                waiting.wake.wait_for(&mut told, left);
            }
        });
        if let Some(interrupt) = request.interrupt {
            *interrupt.waiting.lock() = None;
        }
        // Whatever ended the sleep, what counts is whether the lock was granted by now.
        let mut shard = self.shard(key.0, &key.1).lock();
        let told = *waiting.told.lock();
        if told == Told::Granted {
            return Ok(Acquired::Held);
        }
        self.graph.lock().stop(request.txn);
        if let Some(entry) = shard.get_mut(key) {
            entry.queue.retain(|waiter| !Arc::ptr_eq(&waiter.waiting, waiting));
            entry.grant(&self.graph);
            LockTable::remove_if_empty(&mut shard, key);
        }
        if told == Told::Interrupted {
            return Err(WriteError::Interrupted);
        }
        let waited_ms = self.clock.now().since(began).as_millis() as u64;
        Err(WriteError::LockWaitTimeout { waited_ms })
    }

    fn remove_if_empty(shard: &mut HashMap<Key, Entry, foldhash::fast::FixedState>, key: &Key) {
        if let Some(entry) = shard.get(key)
            && entry.holders.is_empty()
            && entry.queue.is_empty()
        {
            entry.tree.lock_entries().fetch_sub(1, Ordering::SeqCst);
            shard.remove(key);
        }
    }

    /// Ends all locks of a transaction; its state in the transaction table says already that it has ended.
    pub(crate) fn release_all(&self, txn: TxnId, note: &Mutex<HeldLocks>) {
        let keys = {
            let mut note = note.lock();
            assert!(note.owner == txn);
            note.owner = TxnId(0);
            std::mem::take(&mut note.keys)
        };
        for key in keys {
            self.release(txn, &key);
        }
    }

    fn release(&self, txn: TxnId, key: &Key) {
        let mut shard = self.shard(key.0, &key.1).lock();
        if let Some(entry) = shard.get_mut(key) {
            entry.holders.retain(|holder| holder.0 != txn);
            entry.grant(&self.graph);
            LockTable::remove_if_empty(&mut shard, key);
        }
    }

    /// Turns a shared lock that met a running stamp back into a request.
    pub(crate) fn give_up(&self, tree: TreeId, key: &[u8], txn: TxnId) {
        self.release(txn, &(tree, Box::from(key)));
    }
}
