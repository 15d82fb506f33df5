//! Purge: throws away what no snapshot needs any more.
//!
//! A committed transaction waits in a queue with its undo. When every snapshot sees it, its tombstones are taken out of the
//! leaves, the trees it dropped are freed, and its undo slot is given back. Each commit does a bounded piece of that work,
//! the upkeep thread the rest.

use crate::btree::Seek;
use crate::btree::node;
use crate::btree::tree::{self, Exclusive};
use crate::error::StoreError;
use crate::ids::{Csn, TreeId, TxnId};
use crate::mvcc::snapshots::thread_number;
use crate::mvcc::undo::{self, Kind};
use crate::pager::Fault;
use crate::store::{Inner, meta_root};
use crate::txn::rollback::forget_tree;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

const QUEUES: usize = 8;
/// Undo entries a commit looks at for others.
const ENTRIES_PER_COMMIT: usize = 64;
/// Undo entries a tick looks at.
const ENTRIES_PER_TICK: usize = 4096;
/// A search for the oldest snapshot that looks at more words than this is made only every so many commits.
const CHEAP_WORDS: usize = 64;
const COMMITS_PER_SEARCH: u64 = 32;
/// How far the horizon moves at once.
const HORIZON_STEP: u64 = 1024;

/// A committed transaction whose undo is still kept.
#[derive(Debug)]
struct Done {
    /// Snapshots from here on see it.
    csn: Csn,
    txn: TxnId,
    slot: u32,
    /// Where to go on in its undo.
    next: usize,
}

#[derive(Debug)]
pub(crate) struct Purge {
    queues: [Mutex<VecDeque<Done>>; QUEUES],
    /// Every snapshot is at this commit or later.
    bound: AtomicU64,
    commits: AtomicU64,
}

impl Purge {
    pub(crate) fn new() -> Purge {
        Purge {
            queues: [const { Mutex::new(VecDeque::new()) }; QUEUES],
            bound: AtomicU64::new(0),
            commits: AtomicU64::new(0),
        }
    }
}

impl Inner {
    fn search_oldest(&self) -> Csn {
        let bound = self.snapshots.oldest(&self.newest);
        self.purge.bound.fetch_max(bound.0, Ordering::SeqCst);
        bound
    }

    /// Queues a committed transaction and purges a little. A failure is no failure of the commit, which is done: it stops
    /// the store.
    pub(crate) fn purge_after_commit(&self, csn: Csn, txn: TxnId, slot: u32, deletes: bool) {
        let queue = thread_number() % QUEUES;
        // Without deletions there is nothing to look for: only the slot waits.
        let next = if deletes { 0 } else { usize::MAX };
        self.purge.queues[queue].lock().push_back(Done { csn, txn, slot, next });
        let commits = self.purge.commits.fetch_add(1, Ordering::Relaxed);
        if self.snapshots.used_words() <= CHEAP_WORDS || commits.is_multiple_of(COMMITS_PER_SEARCH) {
            let bound = self.search_oldest();
            if commits.is_multiple_of(COMMITS_PER_SEARCH) {
                self.txns.advance(bound, HORIZON_STEP);
            }
        }
        if let Err(error) = self.purge_queue(queue, ENTRIES_PER_COMMIT) {
            self.upkeep_failed(&error);
        }
    }

    /// Stops the store if upkeep met something that will not pass by itself.
    pub(crate) fn upkeep_failed(&self, error: &StoreError) {
        if !matches!(error, StoreError::PoolExhausted) {
            self.stop(&error.to_string());
        }
    }

    /// Purges a larger piece of every queue. True if there may be more.
    pub(crate) fn purge_tick(&self) -> Result<bool, StoreError> {
        let bound = self.search_oldest();
        self.txns.advance(bound, 64 * HORIZON_STEP);
        let mut more = false;
        for queue in 0..QUEUES {
            more |= self.purge_queue(queue, ENTRIES_PER_TICK)?;
        }
        Ok(more)
    }

    /// True if something purgeable is left.
    fn purge_queue(&self, queue: usize, mut budget: usize) -> Result<bool, StoreError> {
        while budget > 0 {
            let mut done = {
                let Some(mut queue) = self.purge.queues[queue].try_lock() else { return Ok(true) };
                let bound = self.purge.bound.load(Ordering::SeqCst);
                match queue.front() {
                    Some(done) if done.csn.0 <= bound => queue.pop_front().expect("it has a front"),
                    _ => return Ok(false),
                }
            };
            budget -= 1;
            match self.purge_one(&mut done, &mut budget) {
                Ok(true) => self.undo.release(done.slot),
                outcome => {
                    self.purge.queues[queue].lock().push_front(done);
                    outcome?;
                }
            }
        }
        Ok(true)
    }

    /// True if all is done.
    fn purge_one(&self, done: &mut Done, budget: &mut usize) -> Result<bool, StoreError> {
        if done.next == usize::MAX {
            return Ok(true);
        }
        loop {
            // A deletion is an entry that keeps a whole value: only then nothing follows it. The tree of trees is updated
            // only to drop a tree.
            let (next, found) = self.undo.with(done.slot, |bytes| {
                let mut at = done.next;
                while at < bytes.len() && *budget > 0 {
                    let entry = undo::read(bytes, at)?;
                    *budget -= 1;
                    at = entry.end;
                    let drops = entry.tree == TreeId::META && entry.kind == Kind::Diff;
                    if (entry.kind == Kind::Whole || drops) && entry.undone_epoch == 0 {
                        return Ok((at, Some((entry.tree, entry.key.to_vec()))));
                    }
                }
                Ok::<_, StoreError>((at, None))
            })?;
            let idle = found.is_none();
            if let Some((tree, key)) = found {
                if tree == TreeId::META {
                    self.with_room(|| self.remove_dropped_tree(&key, done.txn))?;
                } else {
                    self.with_room(|| self.remove_tombstone(tree, &key, done.txn))?;
                }
            }
            done.next = next;
            if *budget == 0 || idle {
                return Ok(self.undo.with(done.slot, |bytes| done.next >= bytes.len()));
            }
        }
    }

    fn remove_tombstone(&self, id: TreeId, key: &[u8], txn: TxnId) -> Result<(), Fault> {
        let Some(tree) = self.tree(id) else { return Ok(()) };
        if tree.state.is_dropped() {
            return Ok(());
        }
        let _inside = self.gate.enter();
        let root = tree.state.root;
        let mut leaf = match root.leaf::<Exclusive>(&self.pool, Seek::At(key)) {
            Err(Fault::Store(StoreError::TreeGone(_))) => return Ok(()), // Dropped meanwhile.
            leaf => leaf?,
        };
        let Ok(index) = node::search(leaf.body(), key) else { return Ok(()) };
        let (version, _, value) = node::record(leaf.body(), index);
        if value.is_some() || version.stamp != txn.0 {
            return Ok(()); // Something newer stands there.
        }
        node::remove(self.pool.modify(&mut leaf), index);
        let wants_merge = tree::wants_merge(leaf.body());
        drop(leaf);
        self.counters.tombstones_purged.increment();
        if wants_merge {
            match root.merge_leaf(&self.pool, key) {
                Ok(_) | Err(Fault::NoFrame) => {} // Only housekeeping: another time.
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    /// Frees a tree whose drop every snapshot sees, in one step for a checkpoint.
    fn remove_dropped_tree(&self, key: &[u8], txn: TxnId) -> Result<(), Fault> {
        let _inside = self.gate.enter();
        let root = self.meta().state.root;
        let root_of_dropped = {
            let leaf = root.leaf::<Exclusive>(&self.pool, Seek::At(key))?;
            let Ok(index) = node::search(leaf.body(), key) else { return Ok(()) };
            match node::record(leaf.body(), index) {
                (version, _, Some(value)) if version.stamp == txn.0 => meta_root(key, value)?,
                _ => return Ok(()),
            }
        };
        forget_tree(self, root_of_dropped.0)?;
        let mut leaf = root.leaf::<Exclusive>(&self.pool, Seek::At(key))?;
        if let Ok(index) = node::search(leaf.body(), key) {
            node::remove(self.pool.modify(&mut leaf), index);
        }
        Ok(())
    }
}
