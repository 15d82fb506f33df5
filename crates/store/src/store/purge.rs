//! Purge: throws away what no snapshot needs any more.
//!
//! When every snapshot sees a committed deletion, its tombstones are taken out of the leaves and the trees it dropped are
//! freed; undo goes a segment at a time, when every snapshot sees all who wrote to it. Each commit does a bounded piece of
//! that work, a thread the rest.

use crate::btree::Seek;
use crate::btree::node;
use crate::btree::tree::{self, Exclusive, LEVELS_MAX, Merge, Root};
use crate::error::StoreError;
use crate::ids::{Csn, TreeId, TxnId};
use crate::mvcc::undo::{End, Entry, Kind, NONE};
use crate::pager::PageMiss;
use crate::planted::{self, Plant};
use crate::store::Inner;
use crate::store::drop_tree::ENTRIES_PER_STEP;
use crate::store::snapshot_age::SnapshotAges;
use crate::store::space::Purpose;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Undo entries a commit looks at for others.
const ENTRIES_PER_COMMIT: usize = 64;
/// Undo entries a tick looks at.
const ENTRIES_PER_TICK: usize = 4096;
/// A search for the oldest snapshot that looks at more words than this is made only once in this many commits.
const CHEAP_WORDS: usize = 64;
const COMMITS_PER_SEARCH: u64 = 32;
/// How far the horizon moves at once.
const HORIZON_STEP: u64 = 1024;
/// Chunks of finished transactions that a tick looks at, to join them.
const JOINED_PER_TICK: usize = 64;
/// Once in this many commits segments of undo are looked at.
const COMMITS_PER_SWEEP: u64 = 8;
const SEGMENTS_PER_SWEEP: u32 = 16;
/// Segments of undo a tick looks at.
const SEGMENTS_PER_TICK: u32 = 16 * 1024;

/// So many pages are read at most to merge one leaf.
const MERGE_READS_MAX: u32 = 8;

#[derive(Debug)]
pub(crate) struct Purge {
    /// Every snapshot is at this commit or later.
    bound: AtomicU64,
    commits: AtomicU64,
    ages: SnapshotAges,
    /// Trees that no transaction's undo leads to, to be freed.
    pub(crate) waiting: Mutex<Vec<TreeId>>,
}

impl Purge {
    pub(crate) fn new() -> Purge {
        Purge {
            bound: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            ages: SnapshotAges::default(),
            waiting: Mutex::default(),
        }
    }

    /// Every snapshot is at this commit or later.
    pub(crate) fn bound(&self) -> Csn {
        Csn(self.bound.load(Ordering::SeqCst))
    }
}

impl Inner {
    /// How long the oldest snapshot has missed commits, in nanoseconds.
    pub(crate) fn oldest_snapshot_age(&self) -> u64 {
        let oldest = self.note_ages();
        self.purge.ages.age_nanos(oldest, self.env.clock.now().nanos)
    }

    /// To be called now and then.
    pub(crate) fn note_ages(&self) -> Csn {
        let oldest = self.snapshots.oldest(&self.newest);
        let newest = Csn(self.newest.load(Ordering::SeqCst));
        self.purge.ages.note(newest, oldest, self.env.clock.now().nanos);
        oldest
    }

    fn search_oldest(&self) -> Csn {
        let bound = match planted::is(Plant::PurgeEarly) {
            true => Csn(self.newest.load(Ordering::SeqCst)),
            false => self.snapshots.oldest(&self.newest),
        };
        self.purge.bound.fetch_max(bound.0, Ordering::SeqCst);
        bound
    }

    /// Purges a little. A failure is no failure of the commit, which is done: it stops the store.
    pub(crate) fn purge_after_commit(&self) {
        let commits = self.purge.commits.fetch_add(1, Ordering::Relaxed);
        if self.snapshots.used_words() <= CHEAP_WORDS || commits.is_multiple_of(COMMITS_PER_SEARCH) {
            let bound = self.search_oldest();
            if commits.is_multiple_of(COMMITS_PER_SEARCH) {
                self.txns.advance(bound, HORIZON_STEP);
            }
        }
        if commits.is_multiple_of(COMMITS_PER_SWEEP) {
            self.undo.sweep(self.purge.bound(), SEGMENTS_PER_SWEEP);
        }
        // Purge changes pages, too: without space for a checkpoint it can wait.
        if !self.checkpointer.is_full()
            && let Err(error) = self.purge_deletions(false, ENTRIES_PER_COMMIT)
        {
            self.background_work_failed(&error);
        }
    }

    /// Stops the store if background work met something that will not pass by itself.
    pub(crate) fn background_work_failed(&self, error: &StoreError) {
        use StoreError::{DiskFull, PoolExhausted, UndoFile};
        // A statement that needs what is missing meets these again, and they are reported to it.
        if !matches!(error, PoolExhausted | UndoFile { .. } | DiskFull { .. }) {
            self.stop(&error.to_string());
        }
    }

    /// Purges a larger piece. True if there may be more.
    pub(crate) fn purge_tick(&self) -> Result<bool, StoreError> {
        let bound = self.search_oldest();
        self.txns.advance(bound, 64 * HORIZON_STEP);
        let any_between = |from, to| self.snapshots.any_between(from, to, &self.newest);
        self.txns.join(JOINED_PER_TICK, any_between);
        let mut more = false;
        if !self.checkpointer.is_full() {
            // Without space, each of the two may still do something, and so may the code that follows.
            let unless_full = |outcome: Result<bool, StoreError>| match outcome {
                Err(StoreError::DiskFull { .. }) => Ok(false),
                outcome => outcome,
            };
            more = unless_full(self.purge_deletions(true, ENTRIES_PER_TICK))?;
            more |= unless_full(self.free_waiting_trees(ENTRIES_PER_TICK))?;
        }
        self.undo.sweep(self.purge.bound(), SEGMENTS_PER_TICK);
        self.undo.close_removed();
        Ok(more)
    }

    /// True if something purgeable is left.
    fn purge_deletions(&self, everywhere: bool, mut budget: usize) -> Result<bool, StoreError> {
        // A commit waits neither for the disk nor for space: it leaves that to the background threads.
        let waits = everywhere;
        self.undo.purge(everywhere, self.purge.bound(), |end| self.purge_one(end, &mut budget, waits))
    }

    /// True if all is done.
    fn purge_one(&self, end: &mut End, budget: &mut usize, waits: bool) -> Result<bool, StoreError> {
        while end.last != NONE {
            if *budget == 0 {
                return Ok(false);
            }
            *budget -= 1;
            // A deletion is an entry that keeps a whole value: only then nothing follows it. The tree of trees is updated
            // only to drop a tree.
            let look = |entry: &Entry<'_>| {
                let drops = entry.tree == TreeId::META && entry.kind == Kind::Diff;
                let deletes = entry.kind == Kind::Whole || drops;
                Ok((entry.before, deletes.then(|| (entry.tree, entry.key.to_vec()))))
            };
            let (before, found) = match waits {
                true => self.undo.with_entry(end.last, look)?,
                false => match self.undo.with_entry_in_memory(end.last, look)? {
                    Some(found) => found,
                    None => return Ok(false),
                },
            };
            if let Some((tree, key)) = found {
                if waits {
                    self.check_space(Purpose::Remove)?;
                } else if !self.has_space(Purpose::Remove) || tree == TreeId::META {
                    return Ok(false);
                }
                if tree == TreeId::META {
                    if !self.retry_misses(|| self.free_tree_part(&key))? {
                        *budget = budget.saturating_sub(ENTRIES_PER_STEP);
                        continue;
                    }
                } else if !self.purge_tombstone(tree, &key, end.txn, waits)? {
                    return Ok(false);
                }
            }
            end.last = before;
        }
        Ok(true)
    }

    /// False if it would have to wait and does not.
    fn purge_tombstone(&self, id: TreeId, key: &[u8], txn: TxnId, waits: bool) -> Result<bool, StoreError> {
        let Some(tree) = self.tree(id) else { return Ok(true) };
        if tree.state.is_dropped() {
            return Ok(true);
        }
        let root = tree.state.root;
        let removed = match self.remove_tombstone(root, key, txn) {
            Err(PageMiss::Absent(..) | PageMiss::NoFrame) if !waits => return Ok(false),
            Err(_) => self.retry_misses(|| self.remove_tombstone(root, key, txn)),
            Ok(merge) => Ok(merge),
        };
        match removed {
            Ok(merge) => self.merge_after_removal(root, key, merge),
            // A tombstone that stays does no harm, and the other tables are to go on.
            Err(StoreError::Corrupt { .. } | StoreError::Read { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Answers what its leaf wants then.
    fn remove_tombstone(&self, root: Root, key: &[u8], txn: TxnId) -> Result<Merge, PageMiss> {
        let _section = self.checkpoint_latch.shared();
        let mut leaf = match root.leaf::<Exclusive>(&self.pool, Seek::At(key)) {
            Err(PageMiss::Store(StoreError::TreeGone(_))) => return Ok(Merge::No), // Dropped meanwhile.
            leaf => leaf?,
        };
        let Ok(index) = node::search(leaf.body(), key) else { return Ok(Merge::No) };
        let (version, _, value) = node::record(leaf.body(), index);
        if value.is_some() || version.trx_id != txn.0 {
            return Ok(Merge::No); // Something newer stands there.
        }
        node::remove(self.pool.modify(&mut leaf), index);
        self.counters.tombstones_purged.increment();
        Ok(tree::wants_merge(leaf.body()))
    }

    /// Whether the disk has none for a neighbour that is changed, too.
    fn is_short_of_blocks(&self) -> bool {
        let is_refused = self.checkpointer.space.is_refused() && !self.has_blocks(Purpose::Remove);
        is_refused || self.checkpointer.is_full()
    }

    /// Merges a leaf from which something was taken, if it wants to be, and the nodes above that become too empty by
    /// that. Outside a critical section, no latch held.
    pub(crate) fn merge_after_removal(&self, root: Root, key: &[u8], mut wanted: Merge) {
        let mut level = 0;
        let mut reads = 0;
        while wanted != Merge::No && !self.is_short_of_blocks() && level < LEVELS_MAX {
            let merged = {
                let _section = self.checkpoint_latch.shared();
                root.merge(&self.pool, key, level, wanted)
            };
            wanted = match merged {
                Ok(above) => {
                    level += 1;
                    above
                }
                // A neighbour that has to be read. The caller may hold a mutex: the wait is not announced.
                Err(PageMiss::Absent(page, how)) if reads < MERGE_READS_MAX => {
                    reads += 1;
                    match self.pool.fetch(page, how) {
                        Ok(()) => wanted,
                        Err(_) => Merge::No,
                    }
                }
                // Only housekeeping: another time, and a statement that needs a damaged neighbour gets the error.
                Err(_) => Merge::No,
            };
        }
    }
}
