//! Descents, splits and merges.
//!
//! A reader walks down without latches: it reads a node, validates its version, and validates the parent once more
//! after it has the child's version or latch, so the child was the right one at that moment. A writer latches only the
//! leaf. A split latches parent and child, a merge the parent and two leaves, always from the top down and left to
//! right; if something changed meanwhile it starts again. The root keeps its page: when it is full its content moves
//! down.
//!
//! Structure changes happen in a critical section, so a checkpoint sees each of them whole; they are not logged.

use super::Seek;
use super::inner;
use super::node;
use crate::error::StoreError;
use crate::ids::{PageId, TreeId};
use crate::pager::PageMiss;
use crate::pager::frame::{BODY_BYTES, Body, ExclusiveGuard, SharedGuard};
use crate::pager::pool::Pool;
use crate::pager::table::Entry;

/// A tree: where it begins and whose pages they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Root {
    pub(crate) tree: TreeId,
    pub(crate) page: PageId,
}

/// A node fuller than this is left alone; an emptier one is merged with a neighbour if both fit.
const MERGE_BELOW_BYTES: usize = BODY_BYTES / 2;
/// Below this a neighbour that is not in memory is read, too.
const MERGE_SURELY_BELOW_BYTES: usize = BODY_BYTES / 4;
/// A node looks for a neighbour only now and then, whenever its count is a multiple of this or less than it: most neighbours are
/// too full.
const MERGE_SOMETIMES: usize = 8;
/// Descents that go side by side: as many as a core has loads under way, about.
pub(crate) const DESCENTS_MAX: usize = 16;
/// A level deeper than any tree: 3 children a node at least, 2^64 records at most.
pub(crate) const LEVELS_MAX: u8 = 64;

/// A node found by its version: nothing read of it counts until validated.
#[derive(Clone, Copy, Debug)]
struct Seen {
    frame: u32,
    version: u64,
}

impl Seen {
    fn still(self, pool: &Pool) -> bool {
        pool.arena().validate(self.frame, self.version)
    }
}

/// What a descent to one level found.
struct Place {
    /// The node above and which of its children was taken; `None` when the node is the root.
    parent: Option<(Seen, usize)>,
    page: PageId,
}

/// Makes an empty tree. In a critical section only.
pub(crate) fn create(pool: &Pool, tree: TreeId) -> Result<Root, PageMiss> {
    let (page, mut guard) = pool.allocate()?;
    node::init(pool.modify(&mut guard), 0, tree, &[], None);
    Ok(Root { tree, page })
}

/// How the leaf is to be latched.
pub(crate) trait Latch {
    type Guard<'p>;
    fn latch(pool: &Pool, page: PageId) -> Result<Self::Guard<'_>, PageMiss>;
    fn body<'g>(guard: &'g Self::Guard<'_>) -> &'g Body;
}

/// For reading.
pub(crate) struct Shared;
/// For reading, by a scan that will not come back.
pub(crate) struct SharedForScan;
/// For writing.
pub(crate) struct Exclusive;

impl Latch for Shared {
    type Guard<'p> = SharedGuard<'p>;
    #[inline]
    fn latch(pool: &Pool, page: PageId) -> Result<SharedGuard<'_>, PageMiss> {
        pool.shared(page)
    }
    fn body<'g>(guard: &'g SharedGuard<'_>) -> &'g Body {
        guard.body()
    }
}

impl Latch for SharedForScan {
    type Guard<'p> = SharedGuard<'p>;
    fn latch(pool: &Pool, page: PageId) -> Result<SharedGuard<'_>, PageMiss> {
        pool.shared_for_scan(page)
    }
    fn body<'g>(guard: &'g SharedGuard<'_>) -> &'g Body {
        guard.body()
    }
}

impl Latch for Exclusive {
    type Guard<'p> = ExclusiveGuard<'p>;
    #[inline]
    fn latch(pool: &Pool, page: PageId) -> Result<ExclusiveGuard<'_>, PageMiss> {
        pool.exclusive(page)
    }
    fn body<'g>(guard: &'g ExclusiveGuard<'_>) -> &'g Body {
        guard.body()
    }
}

impl Root {
    #[cold]
    fn gone(self) -> PageMiss {
        PageMiss::Store(StoreError::TreeGone(self.tree))
    }

    /// A page that a valid parent names does not exist.
    #[cold]
    fn dangling(self, page: PageId) -> PageMiss {
        PageMiss::Store(StoreError::corrupt(format!("tree {}", self.tree), format!("page {page} is missing")))
    }

    fn see_root(self, pool: &Pool) -> Result<(Seen, u8), PageMiss> {
        loop {
            let (frame, version) = match pool.optimistic(self.page) {
                Err(PageMiss::Gone) => return Err(self.gone()),
                other => other?,
            };
            let seen = Seen { frame, version };
            let racy = pool.arena().racy(frame);
            let (level, tree) = (inner::level(racy), inner::tree_id(racy));
            if !seen.still(pool) {
                continue;
            }
            return if tree == self.tree { Ok((seen, level)) } else { Err(self.gone()) };
        }
    }

    /// The node at `level` on the way to `seek`, and its parent, neither latched. `None`: start again.
    fn find(self, pool: &Pool, seek: Seek<'_>, level: u8) -> Result<Option<Place>, PageMiss> {
        let (mut seen, mut at_level) = self.see_root(pool)?;
        if at_level <= level {
            return Ok(Some(Place { parent: None, page: self.page }));
        }
        for _ in 0..LEVELS_MAX {
            let racy = pool.arena().racy(seen.frame);
            let index = inner::find(racy, seek);
            let child = inner::child(racy, index);
            if !seen.still(pool) {
                return Ok(None);
            }
            if at_level == level + 1 {
                return Ok(Some(Place { parent: Some((seen, index)), page: child }));
            }
            let (frame, version) = match pool.optimistic(child) {
                Err(PageMiss::Gone) => {
                    return if seen.still(pool) { Err(self.dangling(child)) } else { Ok(None) };
                }
                other => other?,
            };
            if !seen.still(pool) {
                return Ok(None);
            }
            seen = Seen { frame, version };
            at_level -= 1;
        }
        Ok(None)
    }

    /// Latches the leaf that `seek` leads to.
    #[inline]
    pub(crate) fn leaf<'p, L: Latch>(self, pool: &'p Pool, seek: Seek<'_>) -> Result<L::Guard<'p>, PageMiss> {
        loop {
            let Some(place) = self.find(pool, seek, 0)? else { continue };
            pool.prefetch_leaf(place.page);
            let guard = match (L::latch(pool, place.page), &place.parent) {
                (Err(PageMiss::Gone), None) => return Err(self.gone()),
                (Err(PageMiss::Gone), Some((parent, _))) => {
                    if parent.still(pool) {
                        return Err(self.dangling(place.page));
                    }
                    continue;
                }
                (guard, _) => guard?,
            };
            let body = L::body(&guard);
            let right = match place.parent {
                Some((parent, _)) => parent.still(pool),
                None => node::level(body) == 0,
            };
            if right && node::tree_id(body) == self.tree {
                return Ok(guard);
            }
        }
    }

    /// Makes space for `key`'s record by splitting the leaf it belongs to. In a critical section, no latch held.
    #[cold]
    pub(crate) fn split_leaf(self, pool: &Pool, key: &[u8]) -> Result<(), PageMiss> {
        self.split(pool, key, 0)
    }

    fn split(self, pool: &Pool, key: &[u8], level: u8) -> Result<(), PageMiss> {
        assert!(level < LEVELS_MAX);
        loop {
            let Some(place) = self.find(pool, Seek::At(key), level)? else { continue };
            let Some((parent, index)) = place.parent else {
                self.grow(pool, level)?;
                continue;
            };
            let Some(mut parent) = pool.arena().upgrade(parent.frame, parent.version) else { continue };
            let mut left = match pool.exclusive(place.page) {
                Err(PageMiss::Gone) => return Err(self.dangling(place.page)),
                other => other?,
            };
            if node::count(left.body()) < 2 {
                return Ok(()); // Another thread made space.
            }
            let (at, separator) = node::split_point(left.body(), key);
            if !node::inner_fits(parent.body(), &separator) {
                drop((parent, left));
                self.split(pool, key, level + 1)?;
                continue;
            }
            let (right_page, mut right) = pool.allocate()?;
            node::split_into(pool.modify(&mut left), pool.modify(&mut right), at, &separator);
            node::inner_insert(pool.modify(&mut parent), index + 1, &separator, right_page);
            return Ok(());
        }
    }

    /// Moves the root's content into a new page below it, if the root is still at `level`.
    fn grow(self, pool: &Pool, level: u8) -> Result<(), PageMiss> {
        let mut root = pool.exclusive(self.page)?;
        if node::level(root.body()) != level || node::tree_id(root.body()) != self.tree {
            return Ok(());
        }
        let (page, mut below) = pool.allocate()?;
        pool.modify(&mut below).copy_from_slice(root.body());
        node::init_inner(pool.modify(&mut root), level + 1, self.tree, &[], None, page);
        Ok(())
    }

    /// Merges the node at `level` with a neighbour under the same parent. Answers what the node above wants then. In a
    /// critical section, no latch held. Gives up at the first obstacle: this is only housekeeping.
    pub(crate) fn merge(self, pool: &Pool, key: &[u8], level: u8, wanted: Merge) -> Result<Merge, PageMiss> {
        let Some(place) = self.find(pool, Seek::At(key), level)? else { return Ok(Merge::No) };
        let Some((parent, index)) = place.parent else { return self.shrink(pool) };
        if !Root::may_fit(pool, parent, index, wanted) {
            return Ok(Merge::No);
        }
        let Some(mut parent) = pool.arena().upgrade(parent.frame, parent.version) else {
            return Ok(Merge::No);
        };
        let is_near = |page: PageId| pool.table().get(page).and_then(Entry::frame).is_some();
        let count = node::count(parent.body());
        let pairs = [(index, index + 1), (index.wrapping_sub(1), index)];
        for (left, right) in pairs {
            if right >= count || left >= count {
                continue;
            }
            let (left, right_page) = (node::child(parent.body(), left), node::child(parent.body(), right));
            if wanted == Merge::IfInMemory && !(is_near(left) && is_near(right_page)) {
                continue;
            }
            let mut left_guard = pool.exclusive(left)?;
            let right_guard = pool.exclusive(right_page)?;
            if node::nodes_fit(left_guard.body(), right_guard.body()) {
                node::merge_nodes(pool.modify(&mut left_guard), right_guard.body());
                node::remove(pool.modify(&mut parent), right);
                pool.free(right_guard);
                return Ok(wants_merge(parent.body()));
            }
        }
        Ok(Merge::No)
    }

    /// Whether the child at `index` may fit into one node with a neighbour: a guess, made without latches, which would stop all who
    /// pass the parent.
    fn may_fit(pool: &Pool, parent: Seen, index: usize, wanted: Merge) -> bool {
        let parent = pool.arena().racy(parent.frame);
        let look = |index| {
            let frame = pool.table().get(inner::child(parent, index)).and_then(Entry::frame)?;
            let node = pool.arena().racy(frame);
            Some((inner::count(node), inner::content_bytes(node)))
        };
        let fits = |left, right| match (look(left), look(right)) {
            (Some((left_count, left)), Some((right_count, right))) => {
                node::SLOTS_AT + left + right <= node::merged_bytes_max(left_count, right_count)
            }
            _ => wanted == Merge::Surely,
        };
        (index + 1 < inner::count(parent) && fits(index, index + 1)) || (index > 0 && fits(index - 1, index))
    }

    /// Takes the content of the root's only child into the root: the reverse of [`Root::grow`].
    fn shrink(self, pool: &Pool) -> Result<Merge, PageMiss> {
        let mut root = pool.exclusive(self.page)?;
        let body = root.body();
        if node::tree_id(body) != self.tree || node::level(body) == 0 || node::count(body) != 1 {
            return Ok(Merge::No);
        }
        let child = pool.exclusive(node::child(body, 0))?;
        pool.modify(&mut root).copy_from_slice(child.body());
        pool.free(child);
        Ok(Merge::No)
    }

    /// Finds the leaves of many keys at once: the descents go side by side, so that the memory they wait for is fetched
    /// together. Only a guess: latch the leaf and ask [`node::covers`]. `PageId(0)` where a page is not in memory.
    pub(crate) fn guess_leaves(
        self,
        pool: &Pool,
        keys: &[&[u8]],
        leaves: &mut [PageId; DESCENTS_MAX],
    ) -> Result<(), PageMiss> {
        let (root, mut level) = self.see_root(pool)?;
        let keys = &keys[..keys.len().min(DESCENTS_MAX)];
        let mut frames = [Some(root.frame); DESCENTS_MAX];
        leaves.fill(self.page);
        while level > 0 {
            for ((key, frame), leaf) in keys.iter().zip(&mut frames).zip(leaves.iter_mut()) {
                let Some(here) = *frame else { continue };
                let racy = pool.arena().racy(here);
                *leaf = inner::child(racy, inner::find(racy, Seek::At(key)));
                *frame = pool.table().get(*leaf).and_then(Entry::frame);
                match *frame {
                    Some(next) => pool.arena().prefetch(next),
                    None => *leaf = PageId(0),
                }
            }
            level -= 1;
            for frame in frames[..keys.len()].iter().flatten() {
                inner::prefetch_slots(pool.arena().racy(*frame));
            }
        }
        Ok(())
    }

    /// The leaf that `seek` leads to and those behind it (`backward`: before it) under the same parent, `count_max` at most, in
    /// that order. A guess: they may have changed when it is used. None if the root is a leaf.
    pub(crate) fn leaves_from(
        self,
        pool: &Pool,
        seek: Seek<'_>,
        backward: bool,
        count_max: usize,
    ) -> Result<Vec<PageId>, PageMiss> {
        let Some(Place { parent: Some((parent, index)), .. }) = self.find(pool, seek, 0)? else {
            return Ok(Vec::new());
        };
        let racy = pool.arena().racy(parent.frame);
        let count = inner::count(racy);
        let child = |index| inner::child(racy, index);
        let pages: Vec<PageId> = match backward {
            false => (index..count).take(count_max).map(child).collect(),
            true => (0..=index.min(count.saturating_sub(1))).rev().take(count_max).map(child).collect(),
        };
        Ok(if parent.still(pool) { pages } else { Vec::new() })
    }

    /// Goes down by choosing children: `choose(n)` takes one of `n`. Answers with the leaf, latched, if `takes(weight)`: the product of
    /// the numbers of children on the way, by which the leaf is less likely than if it were the only one.
    pub(crate) fn chosen_leaf<'p>(
        self,
        pool: &'p Pool,
        choose: &mut dyn FnMut(usize) -> usize,
        takes: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<SharedGuard<'p>>, PageMiss> {
        let (mut seen, mut level) = self.see_root(pool)?;
        let (mut page, mut weight) = (self.page, 1.0);
        let changed = || PageMiss::Gone;
        while level > 0 {
            let racy = pool.arena().racy(seen.frame);
            let count = inner::count(racy).max(1);
            let child = inner::child(racy, choose(count).min(count - 1));
            if !seen.still(pool) {
                return Err(changed());
            }
            weight *= count as f64;
            (page, level) = (child, level - 1);
            if level > 0 {
                let (frame, version) = pool.optimistic(child)?;
                if !seen.still(pool) {
                    return Err(changed());
                }
                seen = Seen { frame, version };
            }
        }
        if !takes(weight) {
            return Ok(None);
        }
        let guard = pool.shared_for_scan(page)?;
        let is_leaf = node::level(guard.body()) == 0 && node::tree_id(guard.body()) == self.tree;
        if is_leaf { Ok(Some(guard)) } else { Err(changed()) }
    }

    /// The root's level: 0 when the tree is one leaf.
    #[cfg(test)]
    pub(crate) fn level(self, pool: &Pool) -> Result<u8, PageMiss> {
        Ok(self.see_root(pool)?.1)
    }

    /// Where a key lies, as a share of the tree's children at each level from the root: `(child index, children)`.
    pub(crate) fn path(
        self,
        pool: &Pool,
        seek: Seek<'_>,
        path: &mut Vec<(usize, usize)>,
    ) -> Result<(), PageMiss> {
        'restart: loop {
            path.clear();
            let (mut seen, mut level) = self.see_root(pool)?;
            while level > 0 {
                let racy = pool.arena().racy(seen.frame);
                let (index, count) = (inner::find(racy, seek), inner::count(racy));
                let child = inner::child(racy, index);
                if !seen.still(pool) {
                    continue 'restart;
                }
                path.push((index, count.max(1)));
                level -= 1;
                if level > 0 {
                    let (frame, version) = match pool.optimistic(child) {
                        Err(PageMiss::Gone) => continue 'restart,
                        other => other?,
                    };
                    if !seen.still(pool) {
                        continue 'restart;
                    }
                    seen = Seen { frame, version };
                }
            }
            return Ok(());
        }
    }
}

/// Whether a node from which something was taken is to be merged with a neighbour.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Merge {
    /// No.
    No,
    /// If there is one in memory.
    IfInMemory,
    /// Also if it has to be read.
    Surely,
}

/// Asks a node from which something was taken.
pub(crate) fn wants_merge(body: &Body) -> Merge {
    let used = node::used_bytes(body);
    if used >= MERGE_BELOW_BYTES {
        return Merge::No;
    }
    let count = node::count(body);
    if node::is_alone(body) {
        // It has no neighbour, but the root may be replaced by its only child.
        return if node::level(body) > 0 && count == 1 { Merge::Surely } else { Merge::No };
    }
    if count > MERGE_SOMETIMES && !count.is_multiple_of(MERGE_SOMETIMES) {
        return Merge::No;
    }
    if used < MERGE_SURELY_BELOW_BYTES { Merge::Surely } else { Merge::IfInMemory }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btree::node::Version;
    use env::disk::FileOptions;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    pub(crate) fn pool(frames: u32) -> Pool {
        let world = env::simulated::SimWorld::new(1);
        let folder = world.env().disk.folder(Path::new("/data"), true).unwrap();
        Pool::new(folder.open("data", FileOptions::create()).unwrap(), frames).unwrap()
    }

    const V: Version = Version { trx_id: 1, undo: 0 };

    fn put(pool: &Pool, root: Root, key: &[u8], value: &[u8]) {
        loop {
            let mut leaf = root.leaf::<Exclusive>(pool, Seek::At(key)).unwrap();
            let body = pool.modify(&mut leaf);
            let done = match node::search(body, key) {
                Ok(index) => node::leaf_replace(body, index, V, Some(value)),
                Err(index) => node::leaf_insert(body, index, key, V, Some(value)),
            };
            if done {
                return;
            }
            drop(leaf);
            root.split_leaf(pool, key).unwrap();
        }
    }

    fn delete(pool: &Pool, root: Root, key: &[u8]) {
        let mut leaf = root.leaf::<Exclusive>(pool, Seek::At(key)).unwrap();
        let body = pool.modify(&mut leaf);
        if let Ok(index) = node::search(body, key) {
            node::remove(body, index);
        }
        let mut merge = wants_merge(leaf.body());
        drop(leaf);
        let mut level = 0;
        while merge != Merge::No {
            merge = root.merge(pool, key, level, merge).unwrap();
            level += 1;
        }
    }

    fn get(pool: &Pool, root: Root, key: &[u8]) -> Option<Vec<u8>> {
        let leaf = root.leaf::<Shared>(pool, Seek::At(key)).unwrap();
        let body = leaf.body();
        node::search(body, key).ok().and_then(|index| node::value(body, index)).map(<[u8]>::to_vec)
    }

    fn backwards(pool: &Pool, root: Root) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        let mut below: Option<Vec<u8>> = None;
        loop {
            let seek = below.as_deref().map_or(Seek::Last, Seek::Before);
            let leaf = root.leaf::<Shared>(pool, seek).unwrap();
            let body = leaf.body();
            keys.extend((0..node::count(body)).rev().map(|index| node::key(body, index)));
            if node::lower_fence(body).is_empty() {
                return keys;
            }
            below = Some(node::lower_fence(body).to_vec());
        }
    }

    fn checked(root: Root, pool: &Pool) -> Result<(u64, u64), StoreError> {
        root.check(&|page| Ok(pool.shared(page).ok().map(|guard| Box::new(*guard.body()))))
    }

    #[test]
    fn a_tree_grows_level_by_level_and_shrinks_again() {
        let pool = pool(4096);
        let root = create(&pool, TreeId(9)).unwrap();
        let long = |number: u32| [&number.to_be_bytes()[..], &[7; 700]].concat();
        for number in 0..20_000u32 {
            put(&pool, root, &long(number.wrapping_mul(2_654_435_761)), &[number as u8; 9]);
        }
        assert_eq!(checked(root, &pool).unwrap().1, 20_000);
        assert!(root.level(&pool).unwrap() >= 2);
        let leaves = checked(root, &pool).unwrap().0;
        for number in 0..19_990u32 {
            delete(&pool, root, &long(number.wrapping_mul(2_654_435_761)));
        }
        let (leaves_now, records) = checked(root, &pool).unwrap();
        assert_eq!(records, 10);
        assert!(leaves_now < leaves / 20, "{leaves_now} of {leaves} leaves are left");
        for number in 19_990..20_000u32 {
            assert_eq!(
                get(&pool, root, &long(number.wrapping_mul(2_654_435_761))),
                Some(vec![number as u8; 9])
            );
        }
        while !root.free_some(&pool, 64).unwrap() {}
        assert!(matches!(
            root.leaf::<Shared>(&pool, Seek::Last),
            Err(PageMiss::Store(StoreError::TreeGone(TreeId(9))))
        ));
        assert_eq!(pool.page_count(), 0);
    }

    /// A window that slides over the keys leaves nothing behind it, neither leaves nor the nodes above them.
    #[test]
    fn a_sliding_window_takes_no_more_pages_than_it_needs() {
        let pool = pool(4096);
        let root = create(&pool, TreeId(9)).unwrap();
        let long = |number: u32| [&number.to_be_bytes()[..], &[7; 700]].concat();
        const WINDOW: u32 = 1_000;
        let mut pages = 0;
        for number in 0..30 * WINDOW {
            put(&pool, root, &long(number), &[number as u8; 100]);
            if number + 1 == WINDOW {
                pages = pool.page_count();
            }
            if number >= WINDOW {
                delete(&pool, root, &long(number - WINDOW));
                // The window's ends lie in leaves that are not full.
                assert!(pool.page_count() <= pages + pages / 20 + 4, "{} of {pages}", pool.page_count());
            }
        }
        assert_eq!(checked(root, &pool).unwrap().1, u64::from(WINDOW));
        for number in 29 * WINDOW..30 * WINDOW {
            delete(&pool, root, &long(number));
        }
        assert_eq!((pool.page_count(), root.level(&pool).unwrap()), (1, 0), "the root is a leaf again");
    }

    /// Keys that come and go everywhere: leaves are merged before most of them is empty.
    #[test]
    fn random_churn_leaves_no_empty_leaves() {
        let pool = pool(4096);
        let root = create(&pool, TreeId(9)).unwrap();
        let key = |number: u32| number.wrapping_mul(2_654_435_761).to_be_bytes();
        for number in 0..40_000 {
            put(&pool, root, &key(number), &[number as u8; 100]);
        }
        let full = checked(root, &pool).unwrap().0;
        for number in 0..200_000 {
            delete(&pool, root, &key(number));
            put(&pool, root, &key(number + 40_000), &[number as u8; 100]);
        }
        let churned = checked(root, &pool).unwrap();
        assert_eq!(churned.1, 40_000);
        assert!(churned.0 <= full * 5 / 4, "{} leaves, {full} before", churned.0);
        for number in 200_000..234_000 {
            delete(&pool, root, &key(number));
        }
        let left = checked(root, &pool).unwrap();
        assert_eq!(left.1, 6_000);
        assert!(left.0 <= full / 3, "{} leaves for a seventh of the rows, {full} before", left.0);
    }

    #[test]
    fn writers_in_many_threads_lose_nothing() {
        let pool = pool(4096);
        let root = create(&pool, TreeId(9)).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                let pool = &pool;
                scope.spawn(move || {
                    for number in 0..5_000u32 {
                        let number = number * 4 + thread;
                        let key = number.wrapping_mul(2_654_435_761).to_be_bytes();
                        put(pool, root, &key, &number.to_le_bytes());
                        assert_eq!(get(pool, root, &key), Some(number.to_le_bytes().to_vec()));
                        if number % 3 == 0 {
                            delete(pool, root, &key);
                        }
                    }
                });
            }
        });
        let expected = (0..20_000u32).filter(|number| number % 3 != 0).count();
        assert_eq!(checked(root, &pool).unwrap().1, expected as u64);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// A tree is a map, in both directions, whatever the key lengths.
        #[test]
        fn a_tree_is_a_map(
            actions in prop::collection::vec((0..300u16, 0..600usize, 0..1200usize, 0..10u8), 1..600)
        ) {
            let pool = pool(1024);
            let root = create(&pool, TreeId(9)).unwrap();
            let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
            for (number, key_len, value_len, action) in actions {
                let key = [&(number / 10).to_be_bytes()[..], &vec![3; key_len / 2 * usize::from(number % 7)], &[number as u8]].concat();
                if action < 3 {
                    delete(&pool, root, &key);
                    model.remove(&key);
                } else {
                    let value = vec![action; value_len];
                    put(&pool, root, &key, &value);
                    model.insert(key.clone(), value);
                }
                prop_assert_eq!(get(&pool, root, &key), model.get(&key).cloned());
            }
            prop_assert_eq!(checked(root, &pool).unwrap().1, model.len() as u64);
            prop_assert_eq!(backwards(&pool, root), model.keys().rev().cloned().collect::<Vec<_>>());
        }
    }
}
