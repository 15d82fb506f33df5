//! Reading: one record, many, ranges, and estimates for the optimizer.
//!
//! Callbacks run while the record's leaf is latched for reading, on the bytes in the page. They must be short and must not
//! call the store: a latch held across another operation could make two threads wait for each other.

use crate::btree::Seek;
use crate::btree::node;
use crate::btree::tree::{DESCENTS_MAX, Shared, SharedForScan};
use crate::error::StoreError;
use crate::ids::PageId;
use crate::mvcc::{self, OlderVersion, Reader, Visible};
use crate::pager::frame::SharedGuard;
use crate::store::{Inner, Store};
use crate::trees::{Tree, TreeState};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Which way a scan goes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Direction {
    /// Smallest key first.
    #[default]
    Forward,
    /// Largest key first.
    Backward,
}

/// A range of keys and which way to go through it.
#[derive(Clone, Copy, Debug)]
pub struct ScanRange<'k> {
    /// Where the small keys begin.
    pub lower: Bound<&'k [u8]>,
    /// Where the large keys end.
    pub upper: Bound<&'k [u8]>,
    /// Which way.
    pub direction: Direction,
}

impl<'k> ScanRange<'k> {
    /// All keys, smallest first.
    #[must_use]
    pub fn all() -> ScanRange<'static> {
        ScanRange { lower: Bound::Unbounded, upper: Bound::Unbounded, direction: Direction::Forward }
    }

    /// From `lower` up to, not including, `upper`.
    #[must_use]
    pub fn between(lower: &'k [u8], upper: &'k [u8]) -> ScanRange<'k> {
        ScanRange {
            lower: Bound::Included(lower),
            upper: Bound::Excluded(upper),
            direction: Direction::Forward,
        }
    }

    /// The same keys, largest first.
    #[must_use]
    pub fn backward(self) -> ScanRange<'k> {
        ScanRange { direction: Direction::Backward, ..self }
    }
}

/// The first key that is not below the bound.
fn first_key(bound: Bound<&[u8]>) -> Vec<u8> {
    match bound {
        Bound::Included(key) => key.to_vec(),
        Bound::Excluded(key) => successor(key),
        Bound::Unbounded => Vec::new(),
    }
}

/// The first key that is above the bound, `None` if there is none.
fn end_key(bound: Bound<&[u8]>) -> Option<Vec<u8>> {
    match bound {
        Bound::Included(key) => Some(successor(key)),
        Bound::Excluded(key) => Some(key.to_vec()),
        Bound::Unbounded => None,
    }
}

/// The smallest key above this one.
fn successor(key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next
}

/// Where a walk over leaves stands: keys in `start .. end` are still to come.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    direction: Direction,
    done: bool,
    /// Leaves left behind.
    leaves: u32,
    /// Leaves to go until more are asked for ahead.
    until_ahead: u32,
    /// The last leaf that was asked for ahead.
    asked: PageId,
    /// The leaf where it is, for the next range if it begins again, and how many of these were not there.
    near: PageId,
    far_count: u8,
}

/// After this many ranges that were not near the one before, no more are looked for there.
const FAR_MAX: u8 = 8;

/// From the leaf after this many on, a walk is a scan: what it brings into memory makes way for what others use.
const SCAN_AFTER_LEAVES: u32 = 16;
/// From the leaf after this many on, those behind it are asked for ahead.
const AHEAD_AFTER_LEAVES: u32 = 4;
/// So many are asked for: 512 KiB. When half of them are read, as many again.
const AHEAD_LEAVES: u32 = 32;

impl Walk {
    pub(crate) fn new(range: &ScanRange<'_>) -> Walk {
        let (start, end) = (first_key(range.lower), end_key(range.upper));
        let done = end.as_ref().is_some_and(|end| *end <= start);
        let direction = range.direction;
        Walk {
            start,
            end,
            direction,
            done,
            leaves: 0,
            until_ahead: AHEAD_AFTER_LEAVES,
            asked: PageId(0),
            near: PageId(0),
            far_count: 0,
        }
    }

    /// Begins again with another range.
    fn restart(&mut self, range: &ScanRange<'_>) {
        let (start, end) = (first_key(range.lower), end_key(range.upper));
        self.done = end.as_ref().is_some_and(|end| *end <= start);
        (self.start, self.end, self.direction) = (start, end, range.direction);
        (self.leaves, self.until_ahead) = (0, AHEAD_AFTER_LEAVES);
    }

    /// The leaf where the range before ended, if this one begins there.
    fn near_leaf<'s>(&mut self, inner: &'s Inner, tree: &TreeState) -> Option<SharedGuard<'s>> {
        let near = std::mem::replace(&mut self.near, PageId(0));
        let is_asked = self.leaves == 0 && self.far_count < FAR_MAX && self.direction == Direction::Forward;
        if near == PageId(0) || !is_asked || tree.is_dropped() {
            return None;
        }
        let guard = inner.pool.shared(near).ok()?;
        if node::covers(guard.body(), tree.id(), &self.start) {
            self.far_count = 0;
            return Some(guard);
        }
        self.far_count += 1;
        None
    }

    fn seek(&self) -> Seek<'_> {
        match (self.direction, &self.end) {
            (Direction::Forward, _) => Seek::At(&self.start),
            (Direction::Backward, Some(end)) => Seek::Before(end),
            (Direction::Backward, None) => Seek::Last,
        }
    }

    /// Latches the next leaf and says which of its records are meant; `None` at the end.
    pub(crate) fn next_leaf<'s>(
        &mut self,
        inner: &'s Inner,
        tree: &TreeState,
    ) -> Result<Option<(SharedGuard<'s>, usize, usize)>, StoreError> {
        if self.done {
            return Ok(None);
        }
        if self.until_ahead == 0 {
            self.asked = inner.read_ahead(tree, self.seek(), self.direction, self.asked)?;
            self.until_ahead = AHEAD_LEAVES / 2;
        }
        let guard = match self.near_leaf(inner, tree) {
            Some(guard) => guard,
            None => {
                let seek = self.seek();
                match self.leaves {
                    ..SCAN_AFTER_LEAVES => inner.leaf(tree, seek)?,
                    _ => inner.leaf_for_scan(tree, seek)?,
                }
            }
        };
        self.near = inner.pool.page_of(&guard);
        let body = guard.body();
        let from = node::lower_bound(body, &self.start);
        let to = match (&self.end, node::upper_fence(body)) {
            (None, _) => node::count(body),
            (Some(end), Some(fence)) if fence <= end.as_slice() => node::count(body),
            (Some(end), _) => node::lower_bound(body, end),
        };
        Ok(Some((guard, from, to)))
    }

    /// Goes on behind this leaf.
    pub(crate) fn leave_leaf(&mut self, guard: &SharedGuard<'_>) {
        self.leaves = self.leaves.saturating_add(1);
        self.until_ahead = self.until_ahead.saturating_sub(1);
        let body = guard.body();
        match self.direction {
            Direction::Forward => match node::upper_fence(body) {
                Some(fence) if self.end.as_ref().is_none_or(|end| fence < end.as_slice()) => {
                    self.start.clear();
                    self.start.extend_from_slice(fence);
                }
                _ => self.done = true,
            },
            Direction::Backward => {
                let fence = node::lower_fence(body);
                if fence.is_empty() || fence <= self.start.as_slice() {
                    self.done = true;
                } else {
                    let end = self.end.get_or_insert_default();
                    end.clear();
                    end.extend_from_slice(fence);
                }
            }
        }
    }

    /// Goes on behind this key.
    pub(crate) fn leave_key(&mut self, key: &[u8]) {
        match self.direction {
            Direction::Forward => {
                self.start.clear();
                self.start.extend_from_slice(key);
                self.start.push(0);
            }
            Direction::Backward => {
                let end = self.end.get_or_insert_default();
                end.clear();
                end.extend_from_slice(key);
            }
        }
    }

    /// Goes on with this key.
    pub(crate) fn leave_before(&mut self, key: &[u8]) {
        match self.direction {
            Direction::Forward => {
                self.start.clear();
                self.start.extend_from_slice(key);
            }
            Direction::Backward => {
                let end = self.end.get_or_insert_default();
                end.clear();
                end.extend_from_slice(key);
                end.push(0);
            }
        }
    }

    /// The keys between this place and a later one, `None` if there are none.
    pub(crate) fn walked<'a>(&'a self, later: &'a Walk) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        let (lower, upper) = match (self.direction, later.done) {
            (_, true) => (self.start.as_slice(), self.end.as_deref()),
            (Direction::Forward, false) => (self.start.as_slice(), Some(later.start.as_slice())),
            (Direction::Backward, false) => (later.end.as_deref()?, self.end.as_deref()),
        };
        upper.is_none_or(|upper| lower < upper).then_some((lower, upper))
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done
    }
}

impl Inner {
    /// Latches a leaf for reading.
    #[inline]
    pub(crate) fn leaf(&self, tree: &TreeState, seek: Seek<'_>) -> Result<SharedGuard<'_>, StoreError> {
        if tree.is_dropped() {
            return Err(StoreError::TreeGone(tree.id()));
        }
        self.with_tree(tree, || tree.root.leaf::<Shared>(&self.pool, seek))
    }

    /// As [`Inner::leaf`], for a scan that will not come back.
    fn leaf_for_scan(&self, tree: &TreeState, seek: Seek<'_>) -> Result<SharedGuard<'_>, StoreError> {
        if tree.is_dropped() {
            return Err(StoreError::TreeGone(tree.id()));
        }
        self.with_tree(tree, || tree.root.leaf::<SharedForScan>(&self.pool, seek))
    }

    /// Reads one record whose visible version, or one on the way to it, lies in the undo file.
    #[cold]
    pub(crate) fn get_spilled<R>(
        &self,
        tree: &TreeState,
        key: &[u8],
        reader: Reader<'_>,
        mut older: OlderVersion,
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        loop {
            older.load(&self.undo)?;
            let guard = self.leaf(tree, Seek::At(key))?;
            let body = guard.body();
            let Ok(index) = node::search(body, key) else { return Ok(None) };
            let (version, _, value) = node::record(body, index);
            match mvcc::find_visible(reader, version, value, &self.txns, &self.undo, &mut older)? {
                Visible::InLeaf => return Ok(value.map(found)),
                Visible::Rebuilt => return Ok(Some(found(&older.value))),
                Visible::Absent => return Ok(None),
                Visible::Spilled => {}
            }
        }
    }

    /// Asks the file for the leaves from `seek` on, of those under one parent, but for what was asked up to `asked`. Answers
    /// with the last of them.
    fn read_ahead(
        &self,
        tree: &TreeState,
        seek: Seek<'_>,
        direction: Direction,
        asked: PageId,
    ) -> Result<PageId, StoreError> {
        let backward = direction == Direction::Backward;
        let leaves = self
            .with_tree(tree, || tree.root.leaves_from(&self.pool, seek, backward, AHEAD_LEAVES as usize))?;
        let news = leaves.iter().position(|&leaf| leaf == asked).map_or(0, |known| known + 1);
        self.pool.read_ahead(&leaves[news..]);
        Ok(leaves.last().copied().unwrap_or(asked))
    }
}

impl Store {
    /// Reads one record: `found` gets its value.
    ///
    /// # Errors
    /// Reading a page failed; the tree is gone.
    #[inline]
    pub fn get<R>(
        &self,
        tree: &Tree,
        key: &[u8],
        reader: Reader<'_>,
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        let inner = &*self.inner;
        let guard = inner.leaf(&tree.state, Seek::At(key))?;
        let body = guard.body();
        let Ok(index) = node::search(body, key) else { return Ok(None) };
        let (version, _, value) = node::record(body, index);
        if reader.sees(version, &inner.txns) {
            return Ok(value.map(found));
        }
        let mut older = OlderVersion::default();
        match mvcc::find_visible(reader, version, value, &inner.txns, &inner.undo, &mut older)? {
            Visible::InLeaf => Ok(value.map(found)),
            Visible::Rebuilt => Ok(Some(found(&older.value))),
            Visible::Absent => Ok(None),
            Visible::Spilled => {
                drop(guard);
                inner.get_spilled(&tree.state, key, reader, older, found)
            }
        }
    }

    /// Reads many records: `found` gets each key's index and its value, in any order.
    ///
    /// The keys are looked for in their own order, and a leaf is held while it covers the next of them. Where neighbours are
    /// in different leaves, the descents of several go side by side.
    ///
    /// # Errors
    /// Reading a page failed; the tree is gone.
    pub fn get_many(
        &self,
        tree: &Tree,
        keys: &[&[u8]],
        reader: Reader<'_>,
        mut found: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), StoreError> {
        let inner = &*self.inner;
        if tree.state.is_dropped() {
            return Err(StoreError::TreeGone(tree.id()));
        }
        let root = tree.state.root;
        let order = ascending(keys);
        let index_at = |at: usize| order.as_ref().map_or(at, |order| order[at] as usize);
        let mut older = OlderVersion::default();
        let mut held: Option<SharedGuard<'_>> = None;
        let mut held_leaf = PageId(0);
        // Where the keys are thought to be; 0: where the key before is.
        let mut leaves = [PageId(0); DESCENTS_MAX];
        // Of which keys `leaves` are, and how many leaves these took.
        let (mut first, mut end, mut leaves_taken) = (0, 0, DESCENTS_MAX);
        for at in 0..keys.len() {
            let index = index_at(at);
            let key = keys[index];
            if at == end {
                (first, end) = (at, keys.len().min(at + DESCENTS_MAX));
                leaves.fill(PageId(0));
                // As it was with the keys before.
                if std::mem::take(&mut leaves_taken) * 2 > DESCENTS_MAX {
                    // Going down may wait for pages.
                    held = None;
                    let mut ordered = [key; DESCENTS_MAX];
                    let some = match &order {
                        None => &keys[first..end],
                        Some(order) => {
                            let of_group = order[first..end].iter().map(|&index| keys[index as usize]);
                            ordered.iter_mut().zip(of_group).for_each(|(to, key)| *to = key);
                            &ordered[..end - first]
                        }
                    };
                    inner.with_tree(&tree.state, || root.guess_leaves(&inner.pool, some, &mut leaves))?;
                }
            }
            let is_covered = |guard: &SharedGuard<'_>| {
                let body = guard.body();
                key >= node::lower_fence(body) && node::upper_fence(body).is_none_or(|upper| key < upper)
            };
            let leaf = leaves[at - first];
            let may_be_held = leaf == PageId(0) || leaf == held_leaf;
            let guard = match held.take().filter(|guard| may_be_held && is_covered(guard)) {
                Some(guard) => guard,
                None => {
                    leaves_taken += 1;
                    let guess = if leaf == PageId(0) { None } else { inner.pool.shared(leaf).ok() };
                    match guess {
                        Some(guard) if node::covers(guard.body(), tree.id(), key) => {
                            held_leaf = leaf;
                            guard
                        }
                        _ => {
                            let guard = inner.leaf(&tree.state, Seek::At(key))?;
                            held_leaf = inner.pool.page_of(&guard);
                            guard
                        }
                    }
                }
            };
            let body = guard.body();
            let Ok(place) = node::search(body, key) else {
                found(index, None);
                held = Some(guard);
                continue;
            };
            let (version, _, value) = node::record(body, place);
            match mvcc::find_visible(reader, version, value, &inner.txns, &inner.undo, &mut older)? {
                Visible::InLeaf => found(index, value),
                Visible::Rebuilt => found(index, Some(&older.value)),
                Visible::Absent => found(index, None),
                Visible::Spilled => {
                    drop(guard);
                    let older = std::mem::take(&mut older);
                    let value = inner.get_spilled(&tree.state, key, reader, older, <[u8]>::to_vec)?;
                    found(index, value.as_deref());
                    continue;
                }
            }
            held = Some(guard);
        }
        Ok(())
    }

    /// Begins to read a range.
    #[must_use]
    pub fn scan(&self, tree: &Tree, range: &ScanRange<'_>) -> Scan {
        Scan {
            store: self.clone(),
            tree: Arc::clone(&tree.state),
            walk: Walk::new(range),
            key: Vec::new(),
            older: OlderVersion::default(),
        }
    }

    /// About how many records a range has, from two descents. Exact within a leaf.
    ///
    /// # Errors
    /// Reading a page failed; the tree is gone.
    pub fn estimate_rows(&self, tree: &Tree, range: &ScanRange<'_>) -> Result<u64, StoreError> {
        let inner = &*self.inner;
        let (start, end) = (first_key(range.lower), end_key(range.upper));
        if end.as_ref().is_some_and(|end| *end <= start) {
            return Ok(0);
        }
        let lower_seek = Seek::At(&start);
        let upper_seek = end.as_deref().map_or(Seek::Last, Seek::At);
        let (low_fence, low_rows, low_total) = {
            let guard = inner.leaf(&tree.state, lower_seek)?;
            let body = guard.body();
            let at = node::lower_bound(body, &start);
            (node::lower_fence(body).to_vec(), node::count(body) - at, node::count(body))
        };
        let (high_fence, high_rows, high_total) = {
            let guard = inner.leaf(&tree.state, upper_seek)?;
            let body = guard.body();
            let at = end.as_ref().map_or(node::count(body), |end| node::lower_bound(body, end));
            (node::lower_fence(body).to_vec(), at, node::count(body))
        };
        if low_fence == high_fence {
            return Ok((low_rows + high_rows).saturating_sub(low_total) as u64);
        }
        let (mut low_path, mut high_path) = (Vec::new(), Vec::new());
        inner.with_tree(&tree.state, || tree.state.root.path(&inner.pool, lower_seek, &mut low_path))?;
        inner.with_tree(&tree.state, || tree.state.root.path(&inner.pool, upper_seek, &mut high_path))?;
        let leaves = leaves_between(&low_path, &high_path);
        let rows_per_leaf = (low_total + high_total) as f64 / 2.0;
        let rows = low_rows as f64 + high_rows as f64 + leaves * rows_per_leaf;
        Ok((rows as u64).min(tree.record_count().max(1)))
    }

    /// About how many pages a tree has.
    ///
    /// # Errors
    /// Reading a page failed; the tree is gone.
    pub fn tree_pages(&self, tree: &Tree) -> Result<u64, StoreError> {
        let inner = &*self.inner;
        let mut path = Vec::new();
        inner.with_tree(&tree.state, || tree.state.root.path(&inner.pool, Seek::At(&[]), &mut path))?;
        let mut last = Vec::new();
        inner.with_tree(&tree.state, || tree.state.root.path(&inner.pool, Seek::Last, &mut last))?;
        let mut nodes = 1.0;
        let mut total = 1.0;
        for (level, (first, last)) in path.iter().zip(&last).enumerate() {
            // The root's count is exact, deeper nodes stand for their level.
            nodes *= if level == 0 { first.1 as f64 } else { (first.1 + last.1) as f64 / 2.0 };
            total += nodes;
        }
        Ok(total as u64)
    }
}

/// Fewer keys are seldom in one leaf, and are looked for as they come.
const ORDERED_KEYS_MIN: usize = 128;

/// The positions of keys in ascending order; `None`: they are few, or ascend already.
fn ascending(keys: &[&[u8]]) -> Option<Vec<u32>> {
    if keys.len() < ORDERED_KEYS_MIN || keys.is_sorted() {
        return None;
    }
    // A number compares the beginnings of most keys.
    let head = |key: &[u8]| {
        let mut head = [0; size_of::<u64>()];
        let len = key.len().min(head.len());
        head[..len].copy_from_slice(&key[..len]);
        u64::from_be_bytes(head)
    };
    let mut order: Vec<(u64, u32)> = keys.iter().map(|key| head(key)).zip(0..).collect();
    order.sort_unstable_by(|one, other| {
        one.0.cmp(&other.0).then_with(|| keys[one.1 as usize].cmp(keys[other.1 as usize]))
    });
    Some(order.into_iter().map(|(_, at)| at).collect())
}

/// Leaves strictly between two paths.
fn leaves_between(low: &[(usize, usize)], high: &[(usize, usize)]) -> f64 {
    let Some(split) = low.iter().zip(high).position(|(low, high)| low.0 != high.0) else { return 0.0 };
    // Leaves under one child at each level below.
    let under = |level: usize| -> f64 {
        (level + 1..low.len().min(high.len()))
            .map(|deeper| (low[deeper].1 + high[deeper].1) as f64 / 2.0)
            .product()
    };
    let mut leaves = (high[split].0.saturating_sub(low[split].0 + 1)) as f64 * under(split);
    for level in split + 1..low.len().min(high.len()) {
        leaves += (low[level].1.saturating_sub(low[level].0 + 1) + high[level].0) as f64 * under(level);
    }
    leaves
}

/// A range being read, a leaf at a time. Holds no latch between calls; rows committed meanwhile stay unseen.
#[derive(Debug)]
pub struct Scan {
    store: Store,
    tree: Arc<TreeState>,
    walk: Walk,
    key: Vec<u8>,
    older: OlderVersion,
}

impl Scan {
    /// Begins again with another range of the same tree, which is found at once if it begins in the leaf where this one is.
    pub fn restart(&mut self, range: &ScanRange<'_>) {
        self.walk.restart(range);
    }

    /// Gives the visible records of the next leaf to `row`, in order. After `Break` the next call goes on behind that row.
    /// False when the range is exhausted. Every call takes the same reader.
    ///
    /// # Errors
    /// Reading a page failed; the tree is gone.
    pub fn next_batch(
        &mut self,
        reader: Reader<'_>,
        mut row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool, StoreError> {
        let Scan { store, tree, walk, key, older } = self;
        let inner = &*store.inner;
        'again: loop {
            let Some((guard, from, to)) = walk.next_leaf(inner, tree)? else { return Ok(false) };
            let body = guard.body();
            key.clear();
            key.extend_from_slice(node::prefix(body));
            let prefix_len = key.len();
            let mut last_seen = u64::MAX;
            for step in from..to {
                let index = match walk.direction {
                    Direction::Forward => step,
                    Direction::Backward => to - 1 - (step - from),
                };
                let (version, suffix, value) = node::record(body, index);
                let value = if reader.sees_next(version, &inner.txns, &mut last_seen) {
                    value
                } else {
                    match mvcc::find_visible(reader, version, value, &inner.txns, &inner.undo, older)? {
                        Visible::InLeaf => value,
                        Visible::Rebuilt => Some(older.value.as_slice()),
                        Visible::Absent => None,
                        Visible::Spilled => {
                            key.truncate(prefix_len);
                            key.extend_from_slice(suffix);
                            walk.leave_before(key);
                            drop(guard);
                            older.load(&inner.undo)?;
                            continue 'again;
                        }
                    }
                };
                let Some(value) = value else { continue };
                key.truncate(prefix_len);
                key.extend_from_slice(suffix);
                if row(key, value).is_break() {
                    walk.leave_key(key);
                    return Ok(true);
                }
            }
            walk.leave_leaf(&guard);
            return Ok(!walk.is_done());
        }
    }

    /// Calls `row` for all records that are left, until `Break`.
    ///
    /// # Errors
    /// As [`Scan::next_batch`].
    pub fn for_each(
        &mut self,
        reader: Reader<'_>,
        mut row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut broke = false;
        while !broke
            && self.next_batch(reader, |key, value| {
                let flow = row(key, value);
                broke = flow.is_break();
                flow
            })?
        {}
        Ok(())
    }
}
