//! Freeing dropped trees, some pages at a time.
//!
//! A dropped tree stays in the tree of trees, marked as dropped, until no snapshot needs it. Then purge frees leaf
//! after leaf from its end, up to [`crate::Options::drop_leaves_max`] in one critical section. Between two of them
//! other transactions change records and commit, however large the tree is. First the root gets another page number,
//! recorded in the tree of trees: a reader that comes late with the old number finds that the tree is gone, never a
//! part of it.
//!
//! Invariants:
//! 1. After each critical section, the tree recorded in the tree of trees refers only to pages that exist. So a
//!    checkpoint may come between any two, and recovery continues from what that checkpoint contains.
//! 2. The record of the tree is deleted in the critical section that frees its root.

use crate::btree::Seek;
use crate::btree::node;
use crate::btree::tree::Exclusive;
use crate::error::StoreError;
use crate::ids::TreeId;
use crate::pager::PageMiss;
use crate::store::space::Purpose;
use crate::store::{Inner, meta_root, meta_value};

/// What a step counts for, beside the undo entries that were read: one tick of purge frees a few steps, then it does
/// its other work.
pub(crate) const ENTRIES_PER_STEP: usize = 512;

impl Inner {
    /// No transaction can reach this tree any more, and its record says that it is dropped: purge frees it. Takes no
    /// latch.
    pub(crate) fn free_tree_later(&self, tree: TreeId) {
        if let Some(tree) = self.trees.write().remove(&tree) {
            tree.state.set_dropped();
        }
        self.purge.waiting.lock().push(tree);
    }

    /// Frees trees that no transaction can reach, at about the cost of `budget` entries. True if there is more to do.
    pub(crate) fn free_waiting_trees(&self, mut budget: usize) -> Result<bool, StoreError> {
        loop {
            let Some(tree) = self.purge.waiting.lock().last().copied() else { return Ok(false) };
            if budget == 0 {
                return Ok(true);
            }
            budget = budget.saturating_sub(ENTRIES_PER_STEP);
            self.check_space(Purpose::Remove)?;
            if self.retry_misses(|| self.free_tree_part(&tree.0.to_be_bytes()))? {
                self.purge.waiting.lock().retain(|&waiting| waiting != tree);
            }
        }
    }

    /// Frees, in one critical section, a part of the tree with this record in the tree of trees, if it is dropped. The
    /// drop has committed, whatever transaction id the record has by now: a transaction that tried to drop the tree
    /// later locked the record and left it unchanged. True when nothing of the tree is left.
    pub(crate) fn free_tree_part(&self, key: &[u8]) -> Result<bool, PageMiss> {
        let _section = self.checkpoint_latch.shared();
        let meta = self.meta();
        let mut leaf = meta.state.root.leaf::<Exclusive>(&self.pool, Seek::At(key))?;
        let Ok(index) = node::search(leaf.body(), key) else { return Ok(true) };
        let (version, _, value) = node::record(leaf.body(), index);
        let Some(value) = value else { return Ok(true) };
        let (mut root, is_dropped) = meta_root(key, value)?;
        if !is_dropped {
            return Ok(true);
        }
        if self.tree(root.tree).is_some() {
            let moved = root.move_root(&self.pool)?;
            if moved.page != root.page {
                root = moved;
                let value = meta_value(root.page, true);
                let named = node::leaf_replace(self.pool.modify(&mut leaf), index, version, Some(&value));
                assert!(named, "a value as long as the one before fits");
            }
            if let Some(tree) = self.trees.write().remove(&root.tree) {
                tree.state.set_dropped();
            }
        }
        let is_gone = root.free_some(&self.pool, self.options.drop_leaves_max)?;
        if is_gone {
            node::remove(self.pool.modify(&mut leaf), index);
            meta.state.count(-1);
        }
        Ok(is_gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pager::frame::PAGE_BYTES;
    use crate::sync::atomic::Ordering;
    use crate::{LockWait, Options, Store, Tree, WriteError, check_files};
    use env::simulated::SimWorld;
    use std::path::Path;

    const FOLDER: &str = "/data";
    const LEAVES_MAX: u32 = 8;

    fn open(world: &SimWorld) -> (Store, Tree) {
        let options = Options {
            background_threads: false,
            // Less than the tree has.
            buffer_pool_bytes: 200 * PAGE_BYTES as u64,
            drop_leaves_max: LEAVES_MAX,
            ..Options::default()
        };
        let store = Store::open(world.env(), Path::new(FOLDER), options).unwrap();
        let tree = store.tree(TreeId(2)).unwrap();
        (store, tree)
    }

    /// Long keys that differ only at their ends from most of their neighbours, so that nodes above leaves have few children.
    fn key(number: u32) -> Vec<u8> {
        let group = (number / 50) as u8;
        [&[group; 900][..], &number.to_be_bytes()].concat()
    }

    /// A tree of three levels and some 400 leaves.
    fn large_tree(store: &Store) -> TreeId {
        let mut txn = store.begin();
        let id = txn.create_tree().unwrap();
        txn.commit().unwrap();
        let tree = store.tree(id).unwrap();
        for first in (0..2_000).step_by(100) {
            let mut txn = store.begin();
            for number in first..first + 100 {
                txn.insert(&tree, &key(number * 7_919 % 2_000), &[1; 3_000], LockWait::Nowait).unwrap();
            }
            txn.commit().unwrap();
        }
        assert!(store.inner.retry_misses(|| tree.state.root.level(&store.inner.pool)).unwrap() >= 2);
        id
    }

    fn drop_tree(store: &Store, id: TreeId) {
        let mut txn = store.begin();
        txn.drop_tree(id, LockWait::Nowait).unwrap();
        txn.commit().unwrap();
    }

    fn write(store: &Store, tree: &Tree, number: u32) {
        let mut txn = store.begin();
        txn.put(tree, &number.to_be_bytes(), b"beside it", LockWait::Nowait).unwrap();
        let position = txn.commit().unwrap().unwrap();
        store.sync_to(position).unwrap();
    }

    #[test]
    fn a_large_tree_is_freed_in_steps_and_writers_continue_between_them() {
        let world = SimWorld::new(1);
        let (store, tree) = open(&world);
        let pages = store.status().page_count;
        let id = large_tree(&store);
        let leaves = store.check_tree(&store.tree(id).unwrap()).unwrap().0;
        assert!(leaves > 300, "{leaves}");
        drop_tree(&store, id);
        let freed = || store.inner.pool.counters().pages_freed.load(Ordering::Relaxed);
        let mut steps = 0;
        loop {
            let before = freed();
            let done = store.inner.retry_misses(|| store.inner.free_tree_part(&id.0.to_be_bytes())).unwrap();
            let in_one_step = freed() - before;
            // The nodes above the leaves, and the root's old page.
            assert!(in_one_step <= u64::from(LEAVES_MAX) + 4, "{in_one_step} pages in one critical section");
            assert!(store.tree(id).is_err(), "it cannot be opened any more");
            steps += 1;
            write(&store, &tree, steps);
            if steps % 10 == 0 {
                store.checkpoint_now().unwrap();
            }
            if done {
                break;
            }
        }
        assert!(u64::from(steps) >= leaves / u64::from(LEAVES_MAX), "{steps} for {leaves} leaves");
        while store.purge_tick().unwrap() {}
        assert_eq!(store.status().page_count, pages);
        assert_eq!(store.check_tree(&tree).unwrap().1, u64::from(steps));
    }

    #[test]
    fn freeing_continues_after_a_crash_between_steps() {
        for (before, after) in [(0, 3), (1, 0), (1, 9), (20, 1), (39, 2)] {
            let world = SimWorld::new(2);
            let (store, _) = open(&world);
            let pages = store.status().page_count;
            let id = large_tree(&store);
            drop_tree(&store, id);
            let steps = |count: u32| {
                for _ in 0..count {
                    let some = || store.inner.free_tree_part(&id.0.to_be_bytes());
                    assert!(!store.inner.retry_misses(some).unwrap());
                }
            };
            steps(before);
            store.checkpoint_now().unwrap();
            steps(after);
            store.sync_to(store.newest_position()).unwrap();
            drop(store);
            let world = world.crash();
            let report = check_files(world.env(), Path::new(FOLDER)).unwrap();
            assert_eq!((report.damages, report.lost_pages), (vec![], 0), "{before} {after}");
            let (store, tree) = open(&world);
            assert!(store.tree(id).is_err());
            write(&store, &tree, 1);
            while store.purge_tick().unwrap() {}
            assert_eq!(store.status().page_count, pages, "{before} {after}");
            store.checkpoint_now().unwrap();
            let report = check_files(world.env(), Path::new(FOLDER)).unwrap();
            assert_eq!((report.damages, report.lost_pages), (vec![], 0), "{before} {after}");
        }
    }

    #[test]
    fn a_tree_that_another_wanted_to_drop_too_goes() {
        for commits in [true, false] {
            let world = SimWorld::new(4);
            let (store, tree) = open(&world);
            let pages = store.status().page_count;
            let mut txn = store.begin();
            let id = txn.create_tree().unwrap();
            txn.commit().unwrap();
            drop_tree(&store, id);
            let mut late = store.begin();
            let refused = late.drop_tree(id, LockWait::Nowait);
            assert!(
                matches!(refused, Err(WriteError::Store(StoreError::TreeGone(gone))) if gone == id),
                "{refused:?}"
            );
            if commits {
                late.commit().unwrap();
            } else {
                late.rollback().unwrap();
            }
            write(&store, &tree, 1);
            while store.purge_tick().unwrap() {}
            assert_eq!(store.status().page_count, pages, "commits: {commits}");
        }
    }

    #[test]
    fn a_tree_whose_creation_is_rolled_back_is_freed_in_steps_too() {
        let world = SimWorld::new(3);
        let (store, tree) = open(&world);
        let pages = store.status().page_count;
        let mut txn = store.begin();
        let id = txn.create_tree().unwrap();
        txn.rollback().unwrap();
        assert!(store.tree(id).is_err());
        write(&store, &tree, 1);
        assert_eq!(store.status().page_count, pages + 1);
        assert!(!store.purge_tick().unwrap());
        assert_eq!(store.status().page_count, pages);
        // Also where the crash comes first.
        let mut txn = store.begin();
        txn.create_tree().unwrap();
        txn.rollback().unwrap();
        store.checkpoint_now().unwrap();
        drop(store);
        let (store, _) = open(&world.crash());
        assert_eq!(store.status().page_count, pages);
    }
}
