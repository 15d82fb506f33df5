//! The entries of the lock table and their queues.

use super::graph::{Graph, WaitsFor};
use super::held::{HeldLocks, Key, KeyRef, TXN_LOCK_BYTES_JOINED, TXN_LOCK_BYTES_MAX, entry_bytes};
use super::range::{HeldRange, RangeAdded, RangeTable, ScanFairness};
use super::waiting::{
    Deadlock, DeadlockMember, Interrupt, LockMode, LockWait, LockWaiter, WaitInfo, WaitOutcome, Waiting,
};
use crate::error::WriteError;
use crate::ids::{TreeId, TxnId};
use crate::planted::{self, Plant};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::trees::TreeState;
use env::blocking::{Refused, WaitForOthers};
use env::clock::{Clock, Monotonic};
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const SHARDS: usize = 64;
/// About the most memory that entries and key ranges may take, before further ones are refused to transactions that
/// have many.
const LOCK_BYTES_MAX: u64 = 256 << 20;
/// A transaction with no more than this is granted locks although [`LOCK_BYTES_MAX`] is reached: others are to blame.
const TXN_LOCK_BYTES_SPARED: u64 = 16 << 10;
/// Fewer shared locks in one tree are not joined.
const JOINED_KEYS_MIN: usize = 256;
/// Of the transactions that wait for the same lock before another one, this number is named as blocking it.
const AHEAD_SHOWN_MAX: usize = 64;

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

    /// Wakes, from the front of the queue, the waiters that may have the lock now.
    fn grant(&mut self, graph: &Mutex<Graph>) {
        while let Some(first) = self.queue.front() {
            if planted::is(Plant::ForgetHandOver) {
                return;
            }
            if self.blockers(first.txn, first.mode).next().is_some() {
                return self.renew(0, graph);
            }
            let waiter = self.queue.pop_front().expect("it has a front");
            self.hold(waiter.txn, waiter.mode);
            graph.lock().stop(waiter.txn);
            waiter.waiting.finish(WaitOutcome::Granted);
        }
    }

    /// The transactions that the waiter at `place` waits for: the one before it, or the holders.
    fn waits_for(&self, place: usize) -> WaitsFor {
        match place.checked_sub(1) {
            Some(before) => WaitsFor::from_slice(&[self.queue[before].txn]),
            None => self.blockers(self.queue[0].txn, self.queue[0].mode).collect(),
        }
    }

    /// Enters again what the waiter at `place` waits for, if there is one: a waiter before it has come or gone.
    fn renew(&self, place: usize, graph: &Mutex<Graph>) {
        if let Some(waiter) = self.queue.get(place) {
            graph.lock().renew(waiter.txn, self.waits_for(place));
        }
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
    /// A running transaction whose id is in the row, and its noted locks.
    pub(crate) written_by: Option<(TxnId, &'a Mutex<HeldLocks>)>,
    pub(crate) interrupt: Option<&'a Interrupt>,
    /// How much the requester has changed.
    pub(crate) weight: u64,
    /// What its user calls itself.
    pub(crate) owner: u64,
}

impl Request<'_> {
    /// What the requester waits for, if no transaction waits for it: it holds no lock, except those noted for this
    /// wait, and has changed nothing.
    fn wait_queue(&self, noted: usize) -> Option<u64> {
        let holds_nothing = self.weight == 0 && self.own.lock().len() <= noted;
        holds_nothing.then(|| foldhash::fast::FixedState::default().hash_one((self.tree.id(), self.key)))
    }

    fn info(&self, for_range: bool, inserts: bool, since: Monotonic) -> WaitInfo {
        WaitInfo {
            txn: self.txn,
            weight: self.weight,
            holds_nothing: self.weight == 0 && self.own.lock().len() == 0,
            tree: self.tree.id(),
            key: self.key.into(),
            mode: self.mode,
            for_range,
            inserts,
            has_lock: false,
            yields: false,
            since: Some(since),
            owner: self.owner,
        }
    }
}

/// How a request ended, if not in an error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Acquired {
    /// The lock is held.
    Held,
    /// The transaction whose id was in the row has ended meanwhile: read the row again.
    Recheck,
}

/// Outcome of a scan's request to lock a key range.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum RangeLockOutcome {
    /// It is locked.
    Locked,
    /// Nothing is done: writers that insert records there precede the scan.
    Yield,
    /// Nothing is done: a writer that waits to change this record, the first such record on the scan's way, precedes
    /// the scan.
    Behind(Box<[u8]>),
}

/// Describes the owner of a transaction for people: which statement it runs.
pub(crate) type Describe = Box<dyn Fn(u64) -> Vec<u8> + Send + Sync>;

/// How long locks were waited for, in microseconds, and how many wait now.
#[derive(Debug, Default)]
pub(crate) struct WaitTimes {
    pub(crate) total_micros: AtomicU64,
    pub(crate) longest_micros: AtomicU64,
    pub(crate) waiting_now: AtomicU64,
}

pub(crate) struct LockTable {
    shards: [Mutex<HashMap<Key, Entry, foldhash::fast::FixedState>>; SHARDS],
    graph: Mutex<Graph>,
    ranges: RangeTable,
    /// About the bytes that all entries take.
    bytes: AtomicU64,
    clock: Arc<dyn Clock>,
    pub(crate) times: WaitTimes,
    describe: OnceLock<Describe>,
}

impl std::fmt::Debug for LockTable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LockTable").field("graph", &self.graph).finish_non_exhaustive()
    }
}

impl LockTable {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> LockTable {
        LockTable {
            shards: std::array::from_fn(|_| Mutex::default()),
            graph: Mutex::default(),
            ranges: RangeTable::default(),
            bytes: AtomicU64::new(0),
            clock,
            times: WaitTimes::default(),
            describe: OnceLock::new(),
        }
    }

    /// From now on deadlocks are reported with what this function says of each owner. The first call counts.
    pub(crate) fn describe_owners_by(&self, describe: Describe) {
        let _ = self.describe.set(describe); // Only a second caller is refused, as documented.
    }

    /// How a transaction holds the lock of a record, if it does.
    pub(crate) fn held_mode(&self, tree: TreeId, key: &[u8], txn: TxnId) -> Option<LockMode> {
        self.shard(tree, key).lock().get(&KeyRef(tree, key))?.held_by(txn)
    }

    /// About the bytes that locks take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed) + self.ranges.bytes()
    }

    /// Which transaction waits for which now.
    pub(crate) fn waiters(&self) -> Vec<LockWaiter> {
        let mut waiters = Vec::new();
        for shard in &self.shards {
            for entry in shard.lock().values() {
                for (place, waiter) in entry.queue.iter().enumerate() {
                    let ahead = entry.queue.range(place.saturating_sub(AHEAD_SHOWN_MAX)..place);
                    let ahead = ahead.filter(|ahead| ahead.mode.excludes(waiter.mode)).map(|ahead| ahead.txn);
                    let blockers = entry.blockers(waiter.txn, waiter.mode).chain(ahead);
                    waiters.push(LockWaiter::new(&waiter.waiting.info, blockers));
                }
            }
        }
        self.ranges.waiters(&mut |waiting, blockers| waiters.push(LockWaiter::new(&waiting.info, blockers)));
        waiters
    }

    /// The last deadlock since the store was opened.
    pub(crate) fn last_deadlock(&self) -> Option<Deadlock> {
        let cycle = self.graph.lock().last_cycle().cloned()?;
        let next = cycle.members.iter().cycle().skip(1);
        let members = cycle.members.iter().zip(next).zip(&cycle.descriptions);
        let member =
            |((member, next), description): ((&Arc<Waiting>, &Arc<Waiting>), &Vec<u8>)| DeadlockMember {
                waiter: LockWaiter::new(&member.info, [next.info.txn]),
                description: description.clone(),
            };
        Some(Deadlock { cycle: members.map(member).collect(), victim: cycle.victim })
    }

    /// Refuses one more lock to a transaction that has too many; before that its shared ones are joined.
    fn check_lock_memory(&self, txn: TxnId, own: &Mutex<HeldLocks>) -> Result<(), WriteError> {
        let (bytes, join_at) = {
            let own = own.lock();
            (own.bytes, own.join_at)
        };
        if bytes <= TXN_LOCK_BYTES_SPARED {
            return Ok(());
        }
        if bytes >= join_at {
            self.join_shared(txn, own);
        }
        let mut own = own.lock();
        own.refused |= own.bytes > TXN_LOCK_BYTES_MAX || self.bytes() > LOCK_BYTES_MAX;
        if own.refused { Err(WriteError::TooManyLocks) } else { Ok(()) }
    }

    /// Locks a key range in place of a tree's many records that the transaction has locked shared. Rows between them
    /// that others have locked stay locked by those: a transaction that requests one of them still checks the
    /// transaction id in it. Called by the transaction's own thread, with no latch.
    #[cold]
    fn join_shared(&self, txn: TxnId, own: &Mutex<HeldLocks>) {
        struct Span {
            state: Arc<TreeState>,
            lower: Box<[u8]>,
            upper: Box<[u8]>,
            count: usize,
        }
        // No other thread ends this transaction's locks, so none misses the notes.
        let keys = std::mem::take(&mut own.lock().keys);
        let mut spans: HashMap<TreeId, Span> = HashMap::new();
        let mut is_shared = Vec::with_capacity(keys.len());
        for (tree, key) in &keys {
            let shard = self.shard(*tree, key).lock();
            let entry =
                shard.get(&KeyRef(*tree, key)).filter(|entry| entry.held_by(txn) == Some(LockMode::Shared));
            is_shared.push(entry.is_some());
            let Some(entry) = entry else { continue };
            let new =
                || Span { state: Arc::clone(&entry.tree), lower: key.clone(), upper: key.clone(), count: 0 };
            let span = spans.entry(*tree).or_insert_with(new);
            span.count += 1;
            if *key < span.lower {
                span.lower.clone_from(key);
            } else if *key > span.upper {
                span.upper.clone_from(key);
            }
        }
        spans.retain(|_, span| span.count >= JOINED_KEYS_MIN);
        for (&tree, Span { state, lower, upper, .. }) in &spans {
            let upper: Box<[u8]> = upper.iter().copied().chain([0]).collect();
            let key_range = (&**lower, Some(&*upper));
            if self.ranges.add(state, txn, key_range, true, None, &self.graph) == RangeAdded::New {
                let (lower, upper) = (lower.clone(), Some(upper));
                own.lock().push_range(HeldRange { tree, lower, upper, covers_rows: true, joined: true });
            }
        }
        let mut left = Vec::new();
        let mut freed = 0;
        for (key, is_shared) in keys.into_iter().zip(is_shared) {
            if is_shared && spans.contains_key(&key.0) {
                freed += entry_bytes(&key.1);
                self.release(txn, &key);
            } else {
                left.push(key);
            }
        }
        let mut own = own.lock();
        own.bytes -= freed;
        // Others may have noted keys meanwhile.
        left.append(&mut own.keys);
        own.keys = left;
        own.join_at = TXN_LOCK_BYTES_JOINED.max(2 * own.bytes);
    }

    fn shard(&self, tree: TreeId, key: &[u8]) -> &Mutex<HashMap<Key, Entry, foldhash::fast::FixedState>> {
        let hash = foldhash::fast::FixedState::default().hash_one((tree, key));
        &self.shards[(hash >> 32) as usize % SHARDS]
    }

    /// The transactions that keep `txn` from having this lock now, if any.
    pub(crate) fn conflict(&self, tree: TreeId, key: &[u8], txn: TxnId, mode: LockMode) -> Option<TxnId> {
        let shard = self.shard(tree, key).lock();
        let entry = shard.get(&KeyRef(tree, key))?;
        let conflict = entry.blockers(txn, mode).next();
        conflict.or_else(|| match entry.queue.front() {
            Some(first) if !self.has(entry, key, txn) => Some(first.txn),
            _ => None,
        })
    }

    /// Whether a transaction has the record locked in any mode, by its own entry or a key range. The waiters for the
    /// record wait for it, so it does not wait behind them.
    fn has(&self, entry: &Entry, key: &[u8], txn: TxnId) -> bool {
        let ranges = || entry.tree.locks().load(Ordering::SeqCst) >= TreeState::RANGES;
        entry.held_by(txn).is_some() || (ranges() && self.ranges.covers(entry.tree.id(), key, txn))
    }

    /// Whether a key range of `txn` covers the record at `key`.
    pub(crate) fn covers(&self, tree: TreeId, key: &[u8], txn: TxnId) -> bool {
        self.ranges.covers(tree, key, txn)
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
        self.check_lock_memory(txn, request.own)?;
        if mode == LockMode::Shared && tree.locks().load(Ordering::SeqCst) >= TreeState::RANGES {
            self.wait_for_change_ahead(request)?;
        }
        let mut shard = self.shard(tree.id(), key).lock();
        let entry = shard.entry(full_key.clone()).or_insert_with(|| {
            tree.locks().fetch_add(1, Ordering::SeqCst);
            self.bytes.fetch_add(entry_bytes(key), Ordering::Relaxed);
            Entry { tree: Arc::clone(tree), holders: SmallVec::new(), queue: VecDeque::new() }
        });
        if let Some((holder, note)) = request.written_by {
            let mut note = note.lock();
            if note.owner != holder {
                drop(note);
                self.remove_if_empty(&mut shard, &full_key);
                return Ok(Acquired::Recheck);
            }
            if entry.held_by(holder).is_none() {
                note.note_key(full_key.clone());
            }
            entry.hold(holder, LockMode::Exclusive);
        }
        let held = entry.held_by(txn);
        let blocked = entry.blockers(txn, mode).next();
        let has = self.has(entry, key, txn);
        let ahead = if has { None } else { entry.queue.front().map(|waiter| waiter.txn) };
        let Some(blocker) = blocked.or(ahead) else {
            if held.is_none() {
                request.own.lock().note_key(full_key);
            }
            entry.hold(txn, mode);
            return Ok(Acquired::Held);
        };
        let LockWait::Timeout(limit) = request.wait else {
            return Err(WriteError::Locked { holder: blocker });
        };
        let info = request.info(false, false, self.clock.now());
        let waiting = Waiting::new(WaitInfo { has_lock: has, ..info });
        let before = if has { None } else { entry.queue.back().map(|waiter| waiter.txn) };
        let waits_for = match before {
            Some(before) => WaitsFor::from_slice(&[before]),
            None => entry.blockers(txn, mode).collect(),
        };
        self.enter(&waiting, waits_for)?;
        let waiter = Waiter { txn, mode, waiting: Arc::clone(&waiting) };
        if held.is_none() {
            request.own.lock().note_key(full_key.clone());
        }
        if has {
            entry.queue.push_front(waiter);
            entry.renew(1, &self.graph);
        } else {
            entry.queue.push_back(waiter);
        }
        drop(shard);
        waits();
        self.sleep_for_entry(
            request,
            &full_key,
            &waiting,
            limit,
            request.wait_queue(usize::from(held.is_none())),
        )
    }

    /// Enters a waiter into the graph and breaks the cycles that it closes.
    fn enter(&self, waiting: &Arc<Waiting>, waits_for: WaitsFor) -> Result<(), WriteError> {
        let describe = |owner| self.describe.get().map_or_else(Vec::new, |describe| describe(owner));
        let entered = self.graph.lock().wait(waiting, waits_for, &describe);
        entered.map_err(|waiting_for| WriteError::Deadlock { waiting_for })
    }

    /// Locks the keys from `lower` up to `upper`: no other transaction inserts a record there, nor changes one if the
    /// lock covers the records. Never waits. Called under the latch of the leaf that has these keys. With `fairness`,
    /// the scan may have to yield to writers.
    pub(crate) fn lock_range(
        &self,
        tree: &Arc<TreeState>,
        txn: TxnId,
        own: &Mutex<HeldLocks>,
        (lower, upper): (&[u8], Option<&[u8]>),
        covers_rows: bool,
        fairness: Option<ScanFairness<'_>>,
    ) -> Result<RangeLockOutcome, WriteError> {
        self.check_lock_memory(txn, own)?;
        Ok(match self.ranges.add(tree, txn, (lower, upper), covers_rows, fairness, &self.graph) {
            RangeAdded::New => {
                own.lock().note_range(tree.id(), lower, upper, covers_rows);
                RangeLockOutcome::Locked
            }
            RangeAdded::AlreadyHeld => RangeLockOutcome::Locked,
            RangeAdded::Yield => RangeLockOutcome::Yield,
            RangeAdded::Behind(key) => RangeLockOutcome::Behind(key),
        })
    }

    /// Called before a record's shared lock is requested: waits for the writers that wait to change the record and came
    /// first.
    #[cold]
    fn wait_for_change_ahead(&self, request: &Request<'_>) -> Result<(), WriteError> {
        let Request { tree, key, txn, .. } = *request;
        match self.ranges.writer_ahead(tree.id(), key, txn) {
            // A transaction that holds the record's lock already needs no other.
            Some(_) if self.held_mode(tree.id(), key, txn).is_none() => self.wait_behind(request, || {}),
            _ => Ok(()),
        }
    }

    /// Waits for the writers that wait to change the request's record and came first, as for a lock: returns when they
    /// have retried.
    #[cold]
    pub(crate) fn wait_behind(&self, request: &Request<'_>, waits: impl FnOnce()) -> Result<(), WriteError> {
        let Request { tree, key, txn, .. } = *request;
        let LockWait::Timeout(limit) = request.wait else {
            return match self.ranges.writer_ahead(tree.id(), key, txn) {
                Some(holder) => Err(WriteError::Locked { holder }),
                None => Ok(()),
            };
        };
        let waiting = Waiting::new(request.info(true, false, self.clock.now()));
        let upper: SmallVec<[u8; 64]> = key.iter().copied().chain([0]).collect();
        let enter = |writers| self.enter(&waiting, writers);
        if !self.ranges.wait_behind(&waiting, Some(&upper), false, enter)? {
            return Ok(());
        }
        waits();
        let waited = self.sleep(request.interrupt, &waiting, limit, request.wait_queue(0));
        self.ranges.stop_waiting_behind(&waiting);
        match waiting.outcome() {
            WaitOutcome::Granted => Ok(()),
            outcome => {
                self.graph.lock().stop(txn);
                Err(LockTable::refused(outcome, txn, waited))
            }
        }
    }

    /// Yields to the writers that wait to insert a record from the request's key up to `upper`: returns when they have
    /// retried, after the time that the request may wait, or when waiting longer would keep another transaction waiting
    /// for ever.
    #[cold]
    pub(crate) fn yield_to_inserters(
        &self,
        request: &Request<'_>,
        upper: Option<&[u8]>,
        waits: impl FnOnce(),
    ) -> Result<(), WriteError> {
        let LockWait::Timeout(limit) = request.wait else { return Ok(()) };
        let waiting = Waiting::new(WaitInfo { yields: true, ..request.info(true, false, self.clock.now()) });
        // In a cycle it continues.
        let enters = self.ranges.wait_behind(&waiting, upper, true, |writers| self.enter(&waiting, writers));
        if !enters.unwrap_or(false) {
            return Ok(());
        }
        waits();
        // If there is no thread for its wait, it continues at once: its timeout fails nothing.
        let waited = self.sleep(request.interrupt, &waiting, limit, None).unwrap_or_default();
        self.ranges.stop_waiting_behind(&waiting);
        match waiting.outcome() {
            WaitOutcome::Granted => Ok(()),
            outcome => {
                self.graph.lock().stop(request.txn);
                if outcome == WaitOutcome::Pending {
                    return Ok(());
                }
                Err(LockTable::refused(outcome, request.txn, Ok(waited)))
            }
        }
    }

    /// The transactions whose key ranges keep `txn` from inserting (`inserts`) or changing a record at `key`, if any.
    pub(crate) fn range_conflict(
        &self,
        tree: TreeId,
        key: &[u8],
        txn: TxnId,
        inserts: bool,
    ) -> Option<TxnId> {
        self.ranges.conflict(tree, key, txn, inserts)
    }

    /// Waits until no key range of another transaction keeps the requester from inserting (`inserts`) or changing the
    /// record. The requester then has precedence until it has retried and calls [`LockTable::end_range_wait`].
    pub(crate) fn wait_for_range(
        &self,
        request: &Request<'_>,
        inserts: bool,
        waits: impl FnOnce(),
    ) -> Result<Option<Arc<Waiting>>, WriteError> {
        let tree = request.tree.id();
        let LockWait::Timeout(limit) = request.wait else {
            return match self.range_conflict(tree, request.key, request.txn, inserts) {
                Some(holder) => Err(WriteError::Locked { holder }),
                None => Ok(None),
            };
        };
        let waiting = Waiting::new(request.info(true, inserts, self.clock.now()));
        if !self.ranges.wait(tree, &waiting, |blockers| self.enter(&waiting, blockers))? {
            return Ok(None);
        }
        waits();
        let waited = self.sleep(request.interrupt, &waiting, limit, request.wait_queue(0));
        match waiting.outcome() {
            WaitOutcome::Granted => Ok(Some(waiting)),
            outcome => {
                self.graph.lock().stop(request.txn);
                self.ranges.leave(&waiting, &self.graph);
                Err(LockTable::refused(outcome, request.txn, waited))
            }
        }
    }

    /// A writer that waited for key ranges has retried.
    #[cold]
    pub(crate) fn end_range_wait(&self, waiting: &Arc<Waiting>) {
        self.ranges.leave(waiting, &self.graph);
    }

    /// Sleeps until there is an outcome or the time has expired; returns how long. An error if it must not sleep.
    fn sleep(
        &self,
        interrupt: Option<&Interrupt>,
        waiting: &Arc<Waiting>,
        limit: Duration,
        wait_queue: Option<u64>,
    ) -> Result<Duration, Refused> {
        let began = self.clock.now();
        if let Some(interrupt) = interrupt {
            *interrupt.waiting.lock() = Some(Arc::clone(waiting));
            if interrupt.is_raised() {
                waiting.finish(WaitOutcome::Interrupted);
            }
        }
        // A KILL that came before is heard first: it needs no thread.
        let refused = if waiting.outcome() == WaitOutcome::Pending {
            let may_requeue = interrupt.is_some_and(Interrupt::may_requeue);
            match env::blocking::try_enter(WaitForOthers { may_requeue, wait_queue }) {
                Ok(guard) => {
                    self.sleep_inline(waiting, began, limit);
                    drop(guard);
                    None
                }
                Err(refused) => Some(refused),
            }
        } else {
            None
        };
        if let Some(interrupt) = interrupt {
            *interrupt.waiting.lock() = None;
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        let waited = self.clock.now().since(began);
        let micros = waited.as_micros() as u64;
        self.times.total_micros.fetch_add(micros, Ordering::Relaxed);
        self.times.longest_micros.fetch_max(micros, Ordering::Relaxed);
        if let Some(interrupt) = interrupt {
            interrupt.add_waited(micros);
        }
        Ok(waited)
    }

    fn sleep_inline(&self, waiting: &Waiting, began: Monotonic, limit: Duration) {
        self.times.waiting_now.fetch_add(1, Ordering::Relaxed);
        if !env::blocking::wait(&|| waiting.outcome() != WaitOutcome::Pending, began.after(limit)) {
            let mut outcome = waiting.outcome.lock();
            while *outcome == WaitOutcome::Pending {
                let waited = self.clock.now().since(began);
                let Some(left) = limit.checked_sub(waited).filter(|left| !left.is_zero()) else { break };
                waiting.wake.wait_for(&mut outcome, left);
            }
        }
        self.times.waiting_now.fetch_sub(1, Ordering::Relaxed);
    }

    fn sleep_for_entry(
        &self,
        request: &Request<'_>,
        key: &Key,
        waiting: &Arc<Waiting>,
        limit: Duration,
        wait_queue: Option<u64>,
    ) -> Result<Acquired, WriteError> {
        let waited = self.sleep(request.interrupt, waiting, limit, wait_queue);
        // The lock is granted, and no other thread revokes it: the shard has nothing to add, and the thread that
        // granted the lock may hold its mutex.
        if waiting.outcome() == WaitOutcome::Granted {
            return Ok(Acquired::Held);
        }
        // Whatever ended the sleep, what counts is whether the lock was granted by now.
        let mut shard = self.shard(key.0, &key.1).lock();
        let outcome = waiting.outcome();
        if outcome == WaitOutcome::Granted {
            return Ok(Acquired::Held);
        }
        self.graph.lock().stop(request.txn);
        if let Some(entry) = shard.get_mut(key) {
            let place = entry.queue.iter().position(|waiter| Arc::ptr_eq(&waiter.waiting, waiting));
            if let Some(place) = place {
                entry.queue.remove(place);
                entry.renew(place, &self.graph);
            }
            entry.grant(&self.graph);
            self.remove_if_empty(&mut shard, key);
        }
        Err(LockTable::refused(outcome, request.txn, waited))
    }

    fn refused(outcome: WaitOutcome, txn: TxnId, waited: Result<Duration, Refused>) -> WriteError {
        match (outcome, waited) {
            (WaitOutcome::Interrupted, _) => WriteError::Interrupted,
            (WaitOutcome::Victim, _) => WriteError::Deadlock { waiting_for: txn },
            (_, Err(Refused::NoThread)) => WriteError::NoThread,
            (_, Err(Refused::TimeOver)) => WriteError::LockWaitTimeout { waited_ms: 0 },
            (_, Ok(waited)) => WriteError::LockWaitTimeout { waited_ms: waited.as_millis() as u64 },
        }
    }

    fn remove_if_empty(&self, shard: &mut HashMap<Key, Entry, foldhash::fast::FixedState>, key: &Key) {
        if let Some(entry) = shard.get(key)
            && entry.holders.is_empty()
            && entry.queue.is_empty()
        {
            entry.tree.locks().fetch_sub(1, Ordering::SeqCst);
            self.bytes.fetch_sub(entry_bytes(&key.1), Ordering::Relaxed);
            shard.remove(key);
        }
    }

    /// Ends all locks of a transaction; its state in the transaction table says already that it has ended.
    pub(crate) fn release_all(&self, txn: TxnId, note: &Mutex<HeldLocks>) {
        let (keys, ranges) = {
            let mut note = note.lock();
            assert!(note.owner == txn);
            note.owner = TxnId(0);
            (std::mem::take(&mut note.keys), std::mem::take(&mut note.ranges))
        };
        for key in keys {
            self.release(txn, &key);
        }
        self.ranges.release(txn, &ranges, &self.graph);
    }

    /// Releases the key ranges of a running transaction.
    pub(crate) fn release_ranges(&self, txn: TxnId, note: &Mutex<HeldLocks>) {
        let ranges = note.lock().take_ranges();
        self.ranges.release(txn, &ranges, &self.graph);
    }

    /// Releases the shared locks and the key ranges noted after the first `kept` ones, if a lock was refused since
    /// because there were too many. Exclusive locks on records that are no longer written are released already.
    pub(crate) fn release_refused(&self, txn: TxnId, note: &Mutex<HeldLocks>, kept: (usize, usize)) {
        let (keys, mut newer, ranges) = {
            let mut own = note.lock();
            if !std::mem::take(&mut own.refused) {
                return;
            }
            let at = kept.0.min(own.keys.len());
            let keys = own.keys.split_off(at);
            let at = kept.1.min(own.ranges.len());
            let (joined, newer): (Vec<_>, Vec<_>) =
                own.ranges.split_off(at).into_iter().partition(|held| held.joined);
            own.ranges.extend(joined);
            own.bytes -= newer.iter().map(HeldRange::bytes).sum::<u64>();
            own.join_at = TXN_LOCK_BYTES_JOINED;
            (keys, newer, own.ranges.clone())
        };
        for key in keys {
            if self.held_mode(key.0, &key.1, txn) == Some(LockMode::Exclusive) {
                note.lock().keys.push(key);
            } else {
                note.lock().bytes -= entry_bytes(&key.1);
                self.release(txn, &key);
            }
        }
        self.ranges.release_newer(txn, &mut newer, &ranges, &self.graph);
    }

    /// Releases the lock on `key` if it was noted after the first `kept` ones.
    pub(crate) fn release_newer(
        &self,
        tree: TreeId,
        key: &[u8],
        txn: TxnId,
        note: &Mutex<HeldLocks>,
        kept: usize,
    ) {
        let newer = {
            let mut note = note.lock();
            let at = note.keys.iter().skip(kept).rposition(|noted| noted.0 == tree && *noted.1 == *key);
            at.map(|at| note.remove_key(kept + at))
        };
        if let Some(key) = newer {
            self.release(txn, &key);
        }
    }

    /// Releases the exclusive lock on a record from which the transaction id was removed, if there is one: a shared one
    /// stays if the record was noted among the first `kept`.
    pub(crate) fn release_undone(
        &self,
        tree: TreeId,
        key: &[u8],
        txn: TxnId,
        note: &Mutex<HeldLocks>,
        kept: usize,
    ) {
        let mut shard = self.shard(tree, key).lock();
        let Some(entry) = shard.get_mut(&KeyRef(tree, key)) else { return };
        if entry.held_by(txn) != Some(LockMode::Exclusive) {
            return;
        }
        let mut note = note.lock();
        let is_it = |noted: &Key| noted.0 == tree && *noted.1 == *key;
        if note.keys.iter().take(kept).any(is_it) {
            entry.holders.iter_mut().filter(|holder| holder.0 == txn).for_each(|holder| {
                holder.1 = LockMode::Shared;
            });
        } else {
            entry.holders.retain(|holder| holder.0 != txn);
            if let Some(at) = note.keys.iter().skip(kept).position(is_it) {
                note.remove_key(kept + at);
            }
        }
        drop(note);
        entry.grant(&self.graph);
        self.remove_if_empty(&mut shard, &(tree, Box::from(key)));
    }

    fn release(&self, txn: TxnId, key: &Key) {
        let mut shard = self.shard(key.0, &key.1).lock();
        if let Some(entry) = shard.get_mut(key) {
            entry.holders.retain(|holder| holder.0 != txn);
            entry.grant(&self.graph);
            self.remove_if_empty(&mut shard, key);
        }
    }

    /// Releases an exclusive lock in the table for which no transaction id was written into the record: the record is
    /// held as before.
    pub(crate) fn restore_mode(&self, tree: TreeId, key: &[u8], txn: TxnId, before: Option<LockMode>) {
        let full_key: Key = (tree, Box::from(key));
        match before {
            Some(LockMode::Exclusive) => {}
            None => self.release(txn, &full_key),
            Some(LockMode::Shared) => {
                let mut shard = self.shard(tree, key).lock();
                if let Some(entry) = shard.get_mut(&full_key) {
                    entry.holders.iter_mut().filter(|holder| holder.0 == txn).for_each(|holder| {
                        holder.1 = LockMode::Shared;
                    });
                    entry.grant(&self.graph);
                }
            }
        }
    }

    /// Turns a shared lock back into a request when the row has the id of a running transaction.
    pub(crate) fn withdraw_shared(&self, tree: TreeId, key: &[u8], txn: TxnId) {
        self.release(txn, &(tree, Box::from(key)));
    }
}
