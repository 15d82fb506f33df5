//! Locks on key ranges.
//!
//! A scan that must not see phantoms locks the key range that it has walked. No other transaction may insert a record
//! there. If the lock also covers the records (a shared scan), no other transaction may change or exclusively lock one
//! of them. Range locks never conflict with each other: only writers wait, and they check the ranges only if the tree's
//! state says that it has key ranges.
//!
//! A writer that waits to change or lock a record precedes transactions that request the record shared later: a scan
//! locks the range before that record and then waits for the writer as for a lock, unless the writer waits for the
//! scan's own transaction. It does so once per record: later writers queue behind it. The writer keeps its precedence
//! until it has retried, so that no scan comes in between.
//!
//! A writer that waits to insert a record is overtaken, as in MySQL, but not forever: after [`OVERTAKEN_MAX`]
//! transactions have overtaken it, the next shared scan yields to it, once per key range. No statement fails because of
//! that.
//!
//! The ranges of a tree are kept as segments: a key, and the transactions that hold the keys from there up to the next
//! segment. So the holders at a key are one search away, however many ranges there are, and adjacent ranges of one
//! transaction become one.
//!
//! Invariants:
//! 1. Two neighbouring segments have different holders, and the first one has some.
//! 2. A tree has an entry while it has segments or waiters; its state counts that as [`TreeState::RANGES`].
//! 3. A key range is added under the latch of the leaf whose records it covers. The scan sees a writer that held the
//!    latch before, by the transaction id in the record; a writer that gets the latch later sees the key range. A range
//!    that replaces locks on records is added before those are released, and a writer checks key ranges after record
//!    locks.
//! 4. A transaction that adds a key range enters itself into the wait-for graph behind the writers that wait for a key
//!    inside it.
//! 5. A reader behind writers waits for writers in `TreeRanges::waiters` only, and is woken when the last of them
//!    leaves.

use super::graph::{Graph, WaitsFor};
use super::waiting::{WaitOutcome, Waiting};
use crate::ids::{TreeId, TxnId};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::trees::TreeState;
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

const SHARDS: usize = 16;
/// The number of later transactions that may lock a key at which a writer waits to add a record, before others wait behind it.
const OVERTAKEN_MAX: u32 = if cfg!(feature = "interleave") { 1 } else { 4 };
/// What a segment takes beside its key, about.
const SEGMENT_BYTES: u64 = 96;

/// The transactions that hold a segment, and whether the lock covers the records in it.
type Holders = SmallVec<[(TxnId, bool); 2]>;

/// One key range of a transaction: keys from `lower` up to, not including, `upper` (`None`: to the end).
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct HeldRange {
    pub(crate) tree: TreeId,
    pub(crate) lower: Box<[u8]>,
    pub(crate) upper: Option<Box<[u8]>>,
    pub(crate) covers_rows: bool,
    /// It stands for locks on single records, older ones among them.
    pub(crate) joined: bool,
}

impl HeldRange {
    /// What it takes in memory with its segments, about.
    pub(crate) fn bytes(&self) -> u64 {
        2 * (2 * SEGMENT_BYTES
            + (self.lower.len() + self.upper.as_ref().map_or(0, |upper| upper.len())) as u64)
    }

    fn has(&self, key: &[u8]) -> bool {
        *key >= *self.lower && self.upper.as_ref().is_none_or(|upper| *key < **upper)
    }
}

#[derive(Debug, Default)]
struct Segments {
    starts: BTreeMap<Box<[u8]>, Holders>,
    /// What they take in memory, about.
    bytes: u64,
}

impl Segments {
    fn at(&self, key: &[u8]) -> &[(TxnId, bool)] {
        let upto = (Bound::Unbounded, Bound::Included(key));
        self.starts.range::<[u8], _>(upto).next_back().map_or(&[], |(_, holders)| holders.as_slice())
    }

    /// Makes a segment begin at `key`.
    fn split(&mut self, key: &[u8]) {
        if !self.starts.contains_key(key) {
            let holders = Holders::from_slice(self.at(key));
            self.starts.insert(key.into(), holders);
            self.bytes += SEGMENT_BYTES + key.len() as u64;
        }
    }

    fn inside<'a>(lower: &'a [u8], upper: Option<&'a [u8]>) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
        (Bound::Included(lower), upper.map_or(Bound::Unbounded, Bound::Excluded))
    }

    /// Whether `txn` already holds a whole key range.
    fn holds(&self, lower: &[u8], upper: Option<&[u8]>, txn: TxnId, covers_rows: bool) -> bool {
        let has =
            |holders: &[(TxnId, bool)]| holders.iter().any(|&(own, rows)| own == txn && rows >= covers_rows);
        has(self.at(lower))
            && self.starts.range::<[u8], _>(Segments::inside(lower, upper)).all(|(_, holders)| has(holders))
    }

    fn add(&mut self, lower: &[u8], upper: Option<&[u8]>, txn: TxnId, covers_rows: bool) {
        self.split(lower);
        if let Some(upper) = upper {
            self.split(upper);
        }
        for (_, holders) in self.starts.range_mut::<[u8], _>(Segments::inside(lower, upper)) {
            match holders.iter_mut().find(|holder| holder.0 == txn) {
                Some(holder) => holder.1 |= covers_rows,
                None => holders.push((txn, covers_rows)),
            }
            holders.sort_unstable();
        }
        self.join(lower, upper);
    }

    fn remove(&mut self, lower: &[u8], upper: Option<&[u8]>, txn: TxnId) {
        // The range may have become one segment with others that the transaction keeps, or releases next: the
        // transactions that wait for a key in those have to be woken then.
        self.split(lower);
        if let Some(upper) = upper {
            self.split(upper);
        }
        for (_, holders) in self.starts.range_mut::<[u8], _>(Segments::inside(lower, upper)) {
            holders.retain(|holder| holder.0 != txn);
        }
        self.join(lower, upper);
    }

    /// Joins segments from the one at `lower` to the first one at or behind `upper` with those before them where the holders
    /// are the same.
    fn join(&mut self, lower: &[u8], upper: Option<&[u8]>) {
        let before = (Bound::Unbounded, Bound::Excluded(lower));
        let mut last: Holders = self
            .starts
            .range::<[u8], _>(before)
            .next_back()
            .map_or_else(Holders::new, |(_, holders)| holders.clone());
        let mut same: SmallVec<[Box<[u8]>; 4]> = SmallVec::new();
        let from = (Bound::Included(lower), Bound::Unbounded);
        for (key, holders) in self.starts.range::<[u8], _>(from) {
            if *holders == last {
                same.push(key.clone());
            } else {
                last.clone_from(holders);
            }
            if upper.is_some_and(|upper| **key >= *upper) {
                break;
            }
        }
        for key in same {
            self.starts.remove(&key);
            self.bytes -= SEGMENT_BYTES + key.len() as u64;
        }
    }
}

/// A writer that waits for key ranges to be released.
#[derive(Debug)]
struct Waiter {
    txn: TxnId,
    key: Box<[u8]>,
    /// It waits to insert a record rather than to change one.
    inserts: bool,
    /// How many transactions came later and were granted what it waits for.
    overtaken: u32,
    waiting: Arc<Waiting>,
}

/// How a scan treats the writers that already wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanFairness<'a> {
    /// The scan walks backwards, from the end of the key range.
    pub(crate) is_backward: bool,
    /// The record at which it has waited for them.
    pub(crate) waited_at: Option<&'a [u8]>,
    /// The scan yields to writers that insert records.
    pub(crate) yields: bool,
}

/// A reader that waits for writers that came before it.
#[derive(Debug)]
struct YieldingScan {
    waiting: Arc<Waiting>,
    /// The writers.
    behind: Vec<Arc<Waiting>>,
}

impl YieldingScan {
    fn waits_for(&self) -> WaitsFor {
        self.behind.iter().map(|writer| writer.info.txn).collect()
    }
}

#[derive(Debug)]
struct TreeRanges {
    tree: Arc<TreeState>,
    segments: Segments,
    /// The writers, until they have retried.
    waiters: Vec<Waiter>,
    yielding: Vec<YieldingScan>,
}

/// Outcome of a request for a key range.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum RangeAdded {
    /// The transaction holds it now.
    New,
    /// The transaction held it already.
    AlreadyHeld,
    /// Not granted: writers that have been overtaken often enough wait to insert records there.
    Yield,
    /// Not granted: a writer waits to change this record, the first such record on the scan's way.
    Behind(Box<[u8]>),
}

impl TreeRanges {
    fn blockers(&self, key: &[u8], txn: TxnId, inserts: bool) -> impl Iterator<Item = TxnId> {
        let holders = self.segments.at(key).iter();
        holders.filter(move |holder| holder.0 != txn && (inserts || holder.1)).map(|holder| holder.0)
    }

    /// The writers that precede `txn`, which requests the whole key range shared: they wait for a key in it, and not
    /// for `txn`.
    fn ahead<'a>(
        &'a self,
        (lower, upper): (&'a [u8], Option<&'a [u8]>),
        txn: TxnId,
        inserts: bool,
    ) -> impl Iterator<Item = &'a Waiter> {
        let inside = move |key: &[u8]| *key >= *lower && upper.is_none_or(|upper| *key < *upper);
        let is_ahead = move |waiter: &&Waiter| {
            waiter.inserts == inserts
                && (!inserts || waiter.overtaken >= OVERTAKEN_MAX)
                && waiter.txn != txn
                && inside(&waiter.key)
                && !self.blockers(&waiter.key, waiter.txn, waiter.inserts).any(|holder| holder == txn)
        };
        self.waiters.iter().filter(is_ahead)
    }

    /// The first record on a scan's way that a preceding writer waits to change.
    fn first_ahead<'a>(
        &'a self,
        key_range: (&'a [u8], Option<&'a [u8]>),
        txn: TxnId,
        fairness: ScanFairness<'_>,
    ) -> Option<&'a [u8]> {
        let keys = self.ahead(key_range, txn, false).map(|waiter| &*waiter.key);
        let keys = keys.filter(|key| fairness.waited_at != Some(*key));
        if fairness.is_backward { keys.max() } else { keys.min() }
    }
}

type Shard = HashMap<TreeId, TreeRanges, foldhash::fast::FixedState>;

#[derive(Debug, Default)]
pub(crate) struct RangeTable {
    shards: [Mutex<Shard>; SHARDS],
    /// Bytes of all segments, about.
    bytes: AtomicU64,
}

impl RangeTable {
    fn shard(&self, tree: TreeId) -> &Mutex<Shard> {
        &self.shards[(tree.0 % SHARDS as u64) as usize]
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Locks a key range for `txn`, unless writers precede it. Without `fairness` it yields to none.
    pub(crate) fn add(
        &self,
        tree: &Arc<TreeState>,
        txn: TxnId,
        (lower, upper): (&[u8], Option<&[u8]>),
        covers_rows: bool,
        fairness: Option<ScanFairness<'_>>,
        graph: &Mutex<Graph>,
    ) -> RangeAdded {
        let mut shard = self.shard(tree.id()).lock();
        let ranges = shard.entry(tree.id()).or_insert_with(|| {
            tree.locks().fetch_add(TreeState::RANGES, Ordering::SeqCst);
            TreeRanges {
                tree: Arc::clone(tree),
                segments: Segments::default(),
                waiters: Vec::new(),
                yielding: Vec::new(),
            }
        });
        if ranges.segments.holds(lower, upper, txn, covers_rows) {
            return RangeAdded::AlreadyHeld;
        }
        if let Some(fairness) = fairness {
            if let Some(key) = ranges.first_ahead((lower, upper), txn, fairness) {
                return RangeAdded::Behind(key.into());
            }
            if fairness.yields && ranges.ahead((lower, upper), txn, true).next().is_some() {
                return RangeAdded::Yield;
            }
        }
        for waiter in &mut ranges.waiters {
            let inside = *waiter.key >= *lower && upper.is_none_or(|upper| *waiter.key < *upper);
            let is_blocker = |&(holder, rows): &(TxnId, bool)| holder == txn && (waiter.inserts || rows);
            if inside
                && waiter.txn != txn
                && (waiter.inserts || covers_rows)
                && !ranges.segments.at(&waiter.key).iter().any(is_blocker)
            {
                waiter.overtaken += 1;
                graph.lock().waits_also(waiter.txn, txn);
            }
        }
        let before = ranges.segments.bytes;
        ranges.segments.add(lower, upper, txn, covers_rows);
        self.count(before, ranges.segments.bytes);
        RangeAdded::New
    }

    /// A writer that waits to change the record at `key` and precedes `txn`, which requests the record shared.
    pub(crate) fn writer_ahead(&self, tree: TreeId, key: &[u8], txn: TxnId) -> Option<TxnId> {
        let behind: SmallVec<[u8; 64]> = key.iter().copied().chain([0]).collect();
        let shard = self.shard(tree).lock();
        shard.get(&tree)?.ahead((key, Some(&behind)), txn, false).next().map(|writer| writer.txn)
    }

    /// Makes `waiting` wait for the writers that precede it and wait for a key between its own and `upper`, unless
    /// there are none any more. `enter` gets them and enters them into the graph.
    pub(crate) fn wait_behind<E>(
        &self,
        waiting: &Arc<Waiting>,
        upper: Option<&[u8]>,
        inserts: bool,
        enter: impl FnOnce(WaitsFor) -> Result<(), E>,
    ) -> Result<bool, E> {
        let about = &waiting.info;
        let mut shard = self.shard(about.tree).lock();
        let Some(ranges) = shard.get_mut(&about.tree) else { return Ok(false) };
        let ahead = ranges.ahead((&about.key, upper), about.txn, inserts);
        let behind: Vec<_> = ahead.map(|writer| Arc::clone(&writer.waiting)).collect();
        if behind.is_empty() {
            return Ok(false);
        }
        let yielding = YieldingScan { waiting: Arc::clone(waiting), behind };
        enter(yielding.waits_for())?;
        ranges.yielding.push(yielding);
        Ok(true)
    }

    /// Ends a reader's wait for writers, however it ended.
    pub(crate) fn stop_waiting_behind(&self, waiting: &Arc<Waiting>) {
        let tree = waiting.info.tree;
        let mut shard = self.shard(tree).lock();
        if let Some(ranges) = shard.get_mut(&tree) {
            ranges.yielding.retain(|scan| !Arc::ptr_eq(&scan.waiting, waiting));
            RangeTable::remove_if_empty(&mut shard, tree);
        }
    }

    fn count(&self, before: u64, after: u64) {
        // Both ways wrap: the sum stays right.
        self.bytes.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }

    /// The transactions whose key ranges keep `txn` from inserting (`inserts`) or changing a record at `key`, if any.
    pub(crate) fn conflict(&self, tree: TreeId, key: &[u8], txn: TxnId, inserts: bool) -> Option<TxnId> {
        let shard = self.shard(tree).lock();
        shard.get(&tree)?.blockers(key, txn, inserts).next()
    }

    /// Whether a key range of `txn` covers the record at `key`.
    pub(crate) fn covers(&self, tree: TreeId, key: &[u8], txn: TxnId) -> bool {
        let shard = self.shard(tree).lock();
        shard.get(&tree).is_some_and(|ranges| ranges.segments.at(key).contains(&(txn, true)))
    }

    /// Makes `waiting` wait for the transactions that hold `key`, unless none does any more. `enter` gets them and
    /// enters them into the graph.
    pub(crate) fn wait<E>(
        &self,
        tree: TreeId,
        waiting: &Arc<Waiting>,
        enter: impl FnOnce(WaitsFor) -> Result<(), E>,
    ) -> Result<bool, E> {
        let about = &waiting.info;
        let mut shard = self.shard(tree).lock();
        let Some(ranges) = shard.get_mut(&tree) else { return Ok(false) };
        let blockers: WaitsFor = ranges.blockers(&about.key, about.txn, about.inserts).collect();
        if blockers.is_empty() {
            return Ok(false);
        }
        enter(blockers)?;
        ranges.waiters.push(Waiter {
            txn: about.txn,
            key: about.key.clone(),
            inserts: about.inserts,
            overtaken: 0,
            waiting: Arc::clone(waiting),
        });
        Ok(true)
    }

    /// Ends a writer's wait and its precedence, however the wait ended, and wakes the scans that yield to no other
    /// writer.
    pub(crate) fn leave(&self, waiting: &Arc<Waiting>, graph: &Mutex<Graph>) {
        let tree = waiting.info.tree;
        let mut shard = self.shard(tree).lock();
        if let Some(ranges) = shard.get_mut(&tree) {
            ranges.waiters.retain(|waiter| !Arc::ptr_eq(&waiter.waiting, waiting));
            for scan in &mut ranges.yielding {
                let before = scan.behind.len();
                scan.behind.retain(|writer| !Arc::ptr_eq(writer, waiting));
                if scan.behind.len() == before {
                    continue;
                }
                if scan.behind.is_empty() {
                    graph.lock().stop(scan.waiting.info.txn);
                    scan.waiting.finish(WaitOutcome::Granted);
                } else {
                    graph.lock().renew(scan.waiting.info.txn, scan.waits_for());
                }
            }
            RangeTable::remove_if_empty(&mut shard, tree);
        }
    }

    /// Releases a transaction's key ranges and wakes the writers that wait for no other transaction.
    pub(crate) fn release(&self, txn: TxnId, ranges: &[HeldRange], graph: &Mutex<Graph>) {
        for held in ranges {
            let mut shard = self.shard(held.tree).lock();
            let Some(tree) = shard.get_mut(&held.tree) else { continue };
            let (lower, upper) = (&*held.lower, held.upper.as_deref());
            let before = tree.segments.bytes;
            tree.segments.remove(lower, upper, txn);
            self.count(before, tree.segments.bytes);
            for waiter in tree.waiters.iter().filter(|waiter| held.has(&waiter.key)) {
                let left: WaitsFor = tree.blockers(&waiter.key, waiter.txn, waiter.inserts).collect();
                if left.is_empty() {
                    graph.lock().stop(waiter.txn);
                    waiter.waiting.finish(WaitOutcome::Granted);
                } else {
                    graph.lock().renew(waiter.txn, left);
                }
            }
            RangeTable::remove_if_empty(&mut shard, held.tree);
        }
    }

    /// Releases some of a transaction's key ranges, but nothing that the `kept` ones cover, and wakes the writers that
    /// wait for no other transaction.
    pub(crate) fn release_newer(
        &self,
        txn: TxnId,
        newer: &mut [HeldRange],
        kept: &[HeldRange],
        graph: &Mutex<Graph>,
    ) {
        newer.sort_unstable_by_key(|held| held.tree);
        for group in newer.chunk_by(|one, other| one.tree == other.tree) {
            let id = group[0].tree;
            let mut shard = self.shard(id).lock();
            let Some(tree) = shard.get_mut(&id) else { continue };
            let before = tree.segments.bytes;
            for held in group {
                tree.segments.remove(&held.lower, held.upper.as_deref(), txn);
            }
            for held in kept.iter().filter(|held| held.tree == id) {
                tree.segments.add(&held.lower, held.upper.as_deref(), txn, held.covers_rows);
            }
            self.count(before, tree.segments.bytes);
            for waiter in &tree.waiters {
                let left: WaitsFor = tree.blockers(&waiter.key, waiter.txn, waiter.inserts).collect();
                if left.is_empty() {
                    graph.lock().stop(waiter.txn);
                    waiter.waiting.finish(WaitOutcome::Granted);
                } else {
                    graph.lock().renew(waiter.txn, left);
                }
            }
            RangeTable::remove_if_empty(&mut shard, id);
        }
    }

    fn remove_if_empty(shard: &mut Shard, tree: TreeId) {
        if let Some(ranges) = shard.get(&tree)
            && ranges.segments.starts.is_empty()
            && ranges.waiters.is_empty()
            && ranges.yielding.is_empty()
        {
            ranges.tree.locks().fetch_sub(TreeState::RANGES, Ordering::SeqCst);
            shard.remove(&tree);
        }
    }

    /// Calls `see` with each waiter and the transactions it waits for.
    pub(crate) fn waiters(&self, see: &mut dyn FnMut(&Arc<Waiting>, WaitsFor)) {
        for shard in &self.shards {
            for ranges in shard.lock().values() {
                for waiter in &ranges.waiters {
                    let blockers = ranges.blockers(&waiter.key, waiter.txn, waiter.inserts);
                    see(&waiter.waiting, blockers.collect());
                }
                for scan in &ranges.yielding {
                    see(&scan.waiting, scan.waits_for());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random key ranges of a few transactions against a table of single keys.
    #[test]
    fn segments_hold_what_was_added_and_nothing_else() {
        let mut generator = env::random::Rng::new(1);
        let mut random = move |below: u64| generator.below(below);
        for _ in 0..300 {
            let mut segments = Segments::default();
            let mut held: Vec<(TxnId, u8, Option<u8>, bool)> = Vec::new();
            for _ in 0..random(12) + 1 {
                let txn = TxnId(random(3) + 1);
                if random(4) == 0 {
                    for (_, lower, upper, _) in held.iter().filter(|range| range.0 == txn) {
                        segments.remove(&[*lower], upper.as_ref().map(std::slice::from_ref), txn);
                    }
                    held.retain(|range| range.0 != txn);
                } else {
                    let lower = random(16) as u8;
                    let upper = (random(4) > 0).then(|| lower + 1 + random(8) as u8);
                    let rows = random(2) == 0;
                    segments.add(&[lower], upper.as_ref().map(std::slice::from_ref), txn, rows);
                    held.push((txn, lower, upper, rows));
                }
                for key in 0..30u8 {
                    let mut expected: BTreeMap<TxnId, bool> = BTreeMap::new();
                    for &(txn, lower, upper, rows) in &held {
                        if key >= lower && upper.is_none_or(|upper| key < upper) {
                            *expected.entry(txn).or_default() |= rows;
                        }
                    }
                    let found: BTreeMap<TxnId, bool> = segments.at(&[key]).iter().copied().collect();
                    assert_eq!(found, expected, "key {key} of {held:?}");
                }
                let holders: Vec<&Holders> = segments.starts.values().collect();
                assert!(holders.windows(2).all(|pair| pair[0] != pair[1]), "{segments:?}");
                assert!(holders.first().is_none_or(|first| !first.is_empty()), "{segments:?}");
            }
        }
    }
}
