//! Taking changes back, newest first.

use crate::btree::Seek;
use crate::btree::node;
use crate::btree::tree::{Exclusive, Root};
use crate::error::StoreError;
use crate::ids::{TreeId, TxnId};
use crate::mvcc::undo::{self, Entry, Kind};
use crate::pager::Fault;
use crate::store::{Inner, meta_root};
use crate::trees::Tree;

/// Takes back a running transaction's changes until `stop` is its newest undo entry.
pub(crate) fn undo_until(
    inner: &Inner,
    txn: TxnId,
    slot: u32,
    last: &mut u32,
    stop: u32,
) -> Result<(), StoreError> {
    let mut copy = Vec::new();
    while *last != stop {
        let at = *last;
        inner.undo.with(slot, |bytes| -> Result<(), StoreError> {
            let entry = undo::read(bytes, at as usize)?;
            copy.clear();
            copy.extend_from_slice(&bytes[at as usize..entry.end]);
            Ok(())
        })?;
        let entry = undo::read(&copy, 0)?;
        if entry.undone_epoch != 0 {
            // A lock that was given back before its turn.
            *last = entry.before;
            continue;
        }
        inner.with_room(|| {
            let _inside = inner.gate.enter();
            restore(inner, &entry, txn)?;
            inner.undo.mark_undone(slot, at, inner.pool.epoch());
            Ok(())
        })?;
        *last = entry.before;
    }
    Ok(())
}

/// Gives a record back its version before one change of `txn`. Inside the gate.
pub(crate) fn restore(inner: &Inner, entry: &Entry<'_>, txn: TxnId) -> Result<(), Fault> {
    let lost = |why: &str| StoreError::corrupt(format!("tree {}", entry.tree), why);
    let tree = inner.tree(entry.tree).ok_or_else(|| lost("undo names a tree that does not exist"))?;
    let root = tree.state.root;
    if entry.tree == TreeId::META && entry.kind == Kind::Absent {
        let leaf = root.leaf::<Exclusive>(&inner.pool, Seek::At(entry.key))?;
        let index = node::search(leaf.body(), entry.key).map_err(|_| lost("a created tree is missing"))?;
        let (created, _) = meta_root(entry.key, node::value(leaf.body(), index).unwrap_or(&[]))?;
        drop(leaf);
        forget_tree(inner, created)?;
    }
    loop {
        let mut leaf = root.leaf::<Exclusive>(&inner.pool, Seek::At(entry.key))?;
        let body = inner.pool.modify(&mut leaf);
        let index = node::search(body, entry.key).map_err(|_| lost("a changed record is missing"))?;
        let (version, _, value) = node::record(body, index);
        if version.stamp != txn.0 {
            return Err(lost("a changed record has another's stamp").into());
        }
        let was_live = value.is_some();
        let mut old = value.unwrap_or(&[]).to_vec();
        if entry.kind == Kind::Absent {
            node::remove(body, index);
            drop(leaf);
            tree.state.count(-i64::from(was_live));
            return Ok(());
        }
        let live = entry.apply(&mut old)?;
        if node::leaf_replace(body, index, entry.version, live.then_some(&old)) {
            tree.state.count(i64::from(live) - i64::from(was_live));
            return Ok(());
        }
        drop(leaf);
        root.split_leaf(&inner.pool, entry.key)?;
    }
}

/// Takes the stamp of `txn` off a record that it only locked, by an undo entry at `from` or behind.
pub(crate) fn unlock(
    inner: &Inner,
    txn: TxnId,
    slot: u32,
    tree: &Tree,
    key: &[u8],
    from: u32,
) -> Result<(), StoreError> {
    inner.with_room(|| {
        let _inside = inner.gate.enter();
        let mut leaf = tree.state.root.leaf::<Exclusive>(&inner.pool, Seek::At(key))?;
        let Ok(index) = node::search(leaf.body(), key) else { return Ok(()) };
        let (version, _, _) = node::record(leaf.body(), index);
        let at = version.undo as u32;
        if version.stamp != txn.0 || version.undo != undo::lock_pointer(slot, at) || at < from {
            return Ok(());
        }
        let before =
            inner.undo.with(slot, |bytes| undo::read(bytes, at as usize).map(|entry| entry.version))?;
        node::set_version(inner.pool.modify(&mut leaf), index, before);
        inner.undo.mark_undone(slot, at, inner.pool.epoch());
        Ok(())
    })
}

/// Frees a tree nobody can reach any more. Inside the gate. If the pool is so full that it fails half way and is called
/// again, pages below the root stay lost; nothing else is harmed.
pub(crate) fn forget_tree(inner: &Inner, root: Root) -> Result<(), Fault> {
    if let Some(tree) = inner.trees.write().remove(&root.tree) {
        tree.state.set_dropped();
    }
    let level = match root.level(&inner.pool) {
        Err(Fault::Store(StoreError::TreeGone(_))) => return Ok(()), // It was freed before a crash.
        level => level?,
    };
    let mut pending = vec![(root.page, level)];
    while Root::free_pages(&inner.pool, &mut pending, usize::MAX)? {}
    Ok(())
}
