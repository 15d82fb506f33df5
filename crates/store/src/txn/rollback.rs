//! Rolling changes back, newest first.

use crate::btree::Seek;
use crate::btree::node::{self, Version};
use crate::btree::tree::{Exclusive, Merge, wants_merge};
use crate::error::StoreError;
use crate::ids::{TreeId, TxnId};
use crate::mvcc::undo::{self, Entry, Kind};
use crate::pager::PageMiss;
use crate::planted::{self, Plant};
use crate::store::space::Purpose;
use crate::store::{Inner, meta_root, meta_value};
use crate::sync::atomic::Ordering;
use crate::trees::Tree;

/// The version of a record of which no other version is visible.
const SEEN_BY_ALL: Version = Version { trx_id: 0, undo: undo::NONE };

/// Outcome of an undo entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum UndoOutcome {
    /// The record has its version before the change again, and its leaf may have to be merged: see
    /// [`Inner::merge_after_removal`].
    Restored(Merge),
    /// It was a lock that had been released earlier.
    Nothing,
}

/// Rolls back a running transaction's changes until `stop` is its newest undo entry. `undone` is called for each entry
/// that is rolled back.
pub(crate) fn undo_until(
    inner: &Inner,
    txn: TxnId,
    slot: u32,
    last: &mut u64,
    stop: u64,
    mut undone: impl FnMut(&Entry<'_>),
) -> Result<(), StoreError> {
    let mut copy = Vec::new();
    while *last != stop {
        let at = *last;
        if at == undo::NONE {
            return Err(StoreError::corrupt("undo", "a savepoint is not on its transaction's way"));
        }
        copy_entry(inner, at, &mut copy)?;
        let entry = undo::read(&copy, 0)?;
        inner.reserve_blocks_if_possible(Purpose::Restore)?;
        let restored = inner.retry_until_space(|| {
            let _section = inner.checkpoint_latch.shared();
            if planted::is(Plant::ForgetUndo) && entry.key.len() % 5 == 0 {
                inner.slots.get(slot).last_undo.store(entry.before, Ordering::Release);
                return Ok(UndoOutcome::Nothing);
            }
            let restored = restore(inner, &entry, at, txn)?;
            inner.slots.get(slot).last_undo.store(entry.before, Ordering::Release);
            Ok(restored)
        })?;
        *last = entry.before;
        if let UndoOutcome::Restored(merge) = restored {
            merge_after_removal(inner, &entry, merge);
            inner.undo.release_entry(at);
            undone(&entry);
        }
    }
    Ok(())
}

/// Copies an entry of a running transaction, and announces the wait if it has to be read from the disk.
pub(super) fn copy_entry(inner: &Inner, at: u64, copy: &mut Vec<u8>) -> Result<(), StoreError> {
    if !inner.undo.copy_in_memory(at, copy)? {
        env::blocking::around(|| inner.undo.copy(at, copy))?;
    }
    Ok(())
}

/// Reads an entry of a running transaction, and announces the wait if it has to be read from the disk.
fn with_entry<R>(
    inner: &Inner,
    at: u64,
    look: impl Fn(&Entry<'_>) -> Result<R, StoreError>,
) -> Result<R, StoreError> {
    match inner.undo.with_entry_in_memory(at, &look)? {
        Some(found) => Ok(found),
        None => env::blocking::around(|| inner.undo.with_entry(at, &look)),
    }
}

/// After [`restore`], outside a critical section.
pub(crate) fn merge_after_removal(inner: &Inner, entry: &Entry<'_>, merge: Merge) {
    if merge != Merge::No
        && let Some(tree) = inner.tree(entry.tree)
    {
        inner.merge_after_removal(tree.state.root, entry.key, merge);
    }
}

#[cfg(debug_assertions)]
impl Inner {
    /// Searches the newest undo entries of running transactions, as far as they are in memory, for a tree that
    /// `dropped_by` drops.
    pub(crate) fn assert_unused(&self, tree: TreeId, dropped_by: TxnId) {
        const ENTRIES_MAX: usize = 10_000;
        let _closed = self.checkpoint_latch.exclusive();
        for (txn, last) in self.slots.running().into_iter().filter(|&(txn, _)| txn != dropped_by) {
            let mut at = last;
            for _ in 0..ENTRIES_MAX {
                let found = match at {
                    undo::NONE => break,
                    at => self.undo.with_entry_in_memory(at, |entry| Ok((entry.tree, entry.before))),
                };
                let Ok(Some((changed, before))) = found else { break };
                assert!(
                    changed != tree,
                    "transaction {dropped_by} drops tree {tree}, which transaction {txn} has changed"
                );
                at = before;
            }
        }
    }
}

/// Restores a record's version before one change of `txn`, from the entry at `at`. In a critical section.
pub(crate) fn restore(
    inner: &Inner,
    entry: &Entry<'_>,
    at: u64,
    txn: TxnId,
) -> Result<UndoOutcome, PageMiss> {
    let lost = |why: &str| StoreError::corrupt(format!("tree {}", entry.tree), why);
    let tree = inner.tree(entry.tree).ok_or_else(|| lost("undo names a tree that does not exist"))?;
    let root = tree.state.root;
    loop {
        let mut leaf = root.leaf::<Exclusive>(&inner.pool, Seek::At(entry.key))?;
        let body = inner.pool.modify(&mut leaf);
        let found = node::search(body, entry.key).ok();
        if entry.kind == Kind::Same {
            // A lock released earlier has left no trace, whichever transaction came after it.
            let version = found.map(|index| node::record(body, index).0);
            let lock = Version { trx_id: txn.0, undo: undo::lock_pointer(at) };
            if version != Some(lock) {
                return Ok(UndoOutcome::Nothing);
            }
        }
        let index = found.ok_or_else(|| lost("a changed record is missing"))?;
        let (version, _, value) = node::record(body, index);
        if version.trx_id != txn.0 {
            return Err(lost("a changed record has another's trx_id").into());
        }
        let was_live = value.is_some();
        let mut old = value.unwrap_or(&[]).to_vec();
        if entry.tree == TreeId::META && entry.kind == Kind::Absent {
            // The tree may be as large as the transaction: it goes as a dropped one does.
            let (created, _) = meta_root(entry.key, &old)?;
            let dropped = node::leaf_replace(body, index, SEEN_BY_ALL, Some(&meta_value(created.page, true)));
            assert!(dropped, "a value as long as the one before fits");
            inner.free_tree_later(created.tree);
            return Ok(UndoOutcome::Restored(Merge::No));
        }
        if entry.kind == Kind::Absent {
            node::remove(body, index);
            let wants_merge = wants_merge(leaf.body());
            tree.state.count(-i64::from(was_live));
            return Ok(UndoOutcome::Restored(wants_merge));
        }
        let live = entry.apply(&mut old)?;
        if node::leaf_replace(body, index, entry.version, live.then_some(&old)) {
            tree.state.count(i64::from(live) - i64::from(was_live));
            return Ok(UndoOutcome::Restored(Merge::No));
        }
        drop(leaf);
        root.split_leaf(&inner.pool, entry.key)?;
    }
}

/// Removes the transaction id of `txn` from a record that it only locked, if it did so after its undo entry `since`;
/// `last` is its newest. If that is the entry of the lock it is removed, too; an older one stays and will find nothing
/// to undo.
pub(crate) fn unlock(
    inner: &Inner,
    (txn, slot): (TxnId, u32),
    tree: &Tree,
    key: &[u8],
    last: &mut u64,
    since: u64,
) -> Result<(), StoreError> {
    let at = {
        let leaf = inner.leaf(&tree.state, Seek::At(key))?;
        let Ok(index) = node::search(leaf.body(), key) else { return Ok(()) };
        let (version, _, _) = node::record(leaf.body(), index);
        if version.trx_id != txn.0 || !undo::only_locks(version.undo) {
            return Ok(());
        }
        undo::entry_of(version.undo)
    };
    // The transaction id is this transaction's, so no other one changes the record meanwhile.
    let mut newer = *last;
    while newer != at {
        if newer == since || newer == undo::NONE {
            return Ok(());
        }
        newer = with_entry(inner, newer, |entry| Ok(entry.before))?;
    }
    if at == since {
        return Ok(());
    }
    let (before, version) = with_entry(inner, at, |entry| Ok((entry.before, entry.version)))?;
    let given_back = inner.retry_misses(|| {
        let _section = inner.checkpoint_latch.shared();
        let mut leaf = tree.state.root.leaf::<Exclusive>(&inner.pool, Seek::At(key))?;
        let Ok(index) = node::search(leaf.body(), key) else { return Ok(false) };
        node::set_version(inner.pool.modify(&mut leaf), index, version);
        if at == *last {
            let slot = inner.slots.get(slot);
            slot.last_undo.store(before, Ordering::SeqCst);
            slot.removals.fetch_add(1, Ordering::SeqCst);
        }
        Ok(true)
    })?;
    if given_back && at == *last {
        *last = before;
        inner.undo.remove_newest(at);
    } else if given_back {
        inner.undo.release_entry(at);
    }
    Ok(())
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use crate::{LockWait, Options, Store};
    use env::simulated::SimWorld;
    use std::path::Path;

    #[test]
    #[should_panic(expected = "has changed")]
    fn a_tree_that_a_running_transaction_has_changed_is_not_dropped() {
        let world = SimWorld::new(1);
        let options = Options { background_threads: false, buffer_pool_bytes: 4 << 20, ..Options::default() };
        let store = Store::open(world.env(), Path::new("/data"), options).unwrap();
        let mut txn = store.begin();
        let id = txn.create_tree().unwrap();
        txn.commit().unwrap();
        let tree = store.tree(id).unwrap();
        let mut changes = store.begin();
        changes.insert(&tree, b"key", b"value", LockWait::Nowait).unwrap();
        let _ = store.begin().drop_tree(id, LockWait::Nowait);
    }
}
