//! The store as a whole: what is open, and the doors to it.

pub(crate) mod checkpoint;
pub(crate) mod drop_tree;
pub(crate) mod purge;
pub(crate) mod snapshot_age;
pub(crate) mod space;
pub(crate) mod superblock;
pub(crate) mod threads;
pub(crate) mod throttle;
pub(crate) mod undo_list;

use self::checkpoint::Checkpointer;
use self::purge::Purge;
use self::space::Purpose;
use self::threads::Worker;
use crate::btree::tree::{self, Root};
use crate::checkpoint_latch::CheckpointLatch;
use crate::commit_observer::CommitObserver;
use crate::error::{StoreError, TreePlace};
use crate::ids::{CommitPosition, Csn, PageId, TreeId, TxnId};
use crate::lock::LockTable;
use crate::mvcc::Reader;
use crate::mvcc::slots::Slots;
use crate::mvcc::snapshots::{Place, Snapshots};
use crate::mvcc::txn_table::TxnTable;
use crate::mvcc::undo::UndoLog;
use crate::oplog::OpLog;
use crate::pager::PageMiss;
use crate::pager::frame::PAGE_BYTES;
use crate::pager::pool::{Pool, with_inline_waits};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, RwLock};
use crate::trees::{Tree, TreeState};
use crate::wal::{FlushPolicy, Log, LogError, LogListener, LogOptions, Lsn};
use crossbeam_utils::CachePadded;
use env::Env;
use env::disk::FolderLock;
use hashbrown::{HashMap, HashSet};
use metrics::Counter;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The name of the data file in the data folder.
pub(crate) const DATA: &str = "data";
/// How often an operation makes space in the pool before it gives up.
const FRAME_ATTEMPTS: usize = 64;

/// How often an operation reads a page and starts again before it waits for the disk inside.
const READ_ATTEMPTS: usize = 32;

/// How long a rollback that needs space waits before it tries again.
const SPACE_RETRY: Duration = Duration::from_millis(50);

/// Undo in memory takes this part of the buffer pool's bytes, if not set otherwise.
const UNDO_POOL_SHARE: u64 = 8;

/// A transaction's changes that wait for the log in memory, if not set otherwise.
const TXN_LOG_MEMORY_BYTES: usize = 4 << 20;

/// How long the log may be, if not set otherwise.
pub const LOG_CAPACITY_BYTES: u64 = 1 << 30;

/// Leaves of a dropped tree freed in one critical section, if not set otherwise: some 10 us.
const DROP_LEAVES_MAX: u32 = 64;

/// Different damages that are reported to the listener.
const DAMAGES_REPORTED_MAX: usize = 1_000;

/// Hears of each damaged page once, when it is first met: for an error log.
pub type DamageListener = Box<dyn Fn(&StoreError) + Send + Sync>;

/// How to run a store.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for pages, in bytes (`innodb_buffer_pool_size`).
    pub buffer_pool_bytes: u64,
    /// Old versions beyond this many bytes go to a temporary file in the data folder; 0 stands for an eighth of
    /// `buffer_pool_bytes`.
    pub undo_memory_bytes: u64,
    /// A transaction's changes on their way to the log beyond this many bytes go there in parts, before the commit. For a moment
    /// it may hold a part ([`crate::wal::PART_BYTES_MAX`]) more.
    pub txn_log_memory_bytes: usize,
    /// Length of a segment of undo, which goes to the file whole: at most 64 KiB.
    pub undo_segment_bytes: usize,
    /// The log's own options.
    pub log: LogOptions,
    /// Run purge, checkpoints and log flushes on threads of their own. Without them, these run only when the caller
    /// requests them.
    pub background_threads: bool,
    /// The log may be about so long since the last checkpoint (`innodb_redo_log_capacity`); the next one begins at half of it. What large
    /// transactions keep comes on top ([`LogOptions::transaction_span_bytes_max`]).
    pub log_capacity_bytes: u64,
    /// Begin a checkpoint when this long passed since the last and something changed.
    pub checkpoint_interval: Duration,
    /// Begin a checkpoint when two fifths of all pages changed, and this many bytes of them: until it ends the data file holds
    /// both versions of each. So many free bytes, and half as many as are in use, may a data file have before it is shortened.
    pub checkpoint_dirty_bytes: u64,
    /// A checkpoint syncs whenever it has written this many bytes of pages, and may pause then.
    pub checkpoint_piece_bytes: u64,
    /// So many leaves of a dropped tree are freed at a time: nobody writes meanwhile.
    pub drop_leaves_max: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            buffer_pool_bytes: 128 << 20,
            undo_memory_bytes: 0,
            txn_log_memory_bytes: TXN_LOG_MEMORY_BYTES,
            undo_segment_bytes: 64 << 10,
            log: LogOptions::default(),
            background_threads: true,
            log_capacity_bytes: LOG_CAPACITY_BYTES,
            checkpoint_interval: Duration::from_secs(60),
            checkpoint_dirty_bytes: 96 << 20,
            checkpoint_piece_bytes: 1 << 20,
            drop_leaves_max: DROP_LEAVES_MAX,
        }
    }
}

impl Options {
    /// The bytes of old versions kept in memory.
    pub(crate) fn undo_memory(&self) -> u64 {
        match self.undo_memory_bytes {
            0 => self.buffer_pool_bytes / UNDO_POOL_SHARE,
            bytes => bytes,
        }
    }
}

/// A transactional store of ordered bytes. Cheap to clone; the last clone closes it as a crash would ([`Store::close`] is
/// kinder to the next start).
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) env: Env,
    pub(crate) options: Options,
    pub(crate) pool: Pool,
    pub(crate) checkpoint_latch: CheckpointLatch,
    pub(crate) txns: TxnTable,
    pub(crate) snapshots: Snapshots,
    /// The newest commit: what a new snapshot sees.
    pub(crate) newest: CachePadded<AtomicU64>,
    pub(crate) slots: Slots,
    pub(crate) undo: UndoLog,
    pub(crate) locks: LockTable,
    pub(crate) trees: RwLock<HashMap<TreeId, Tree>>,
    pub(crate) next_tree: AtomicU64,
    pub(crate) purge: Purge,
    pub(crate) checkpointer: Checkpointer,
    /// Set when recovery is over.
    pub(crate) log: OnceLock<Log>,
    pub(crate) worker: Worker,
    pub(crate) counters: Counters,
    /// The most memory that one transaction's changes on their way to the log took.
    txn_log_memory_peak: AtomicU64,
    /// What the purge thread has used of processors, in microseconds.
    pub(crate) purge_cpu_micros: AtomicU64,
    stopped: OnceLock<Arc<str>>,
    damage_listener: OnceLock<DamageListener>,
    pub(crate) commit_observer: OnceLock<Arc<dyn CommitObserver>>,
    /// Damage that was reported already.
    reported: Mutex<HashSet<Arc<str>>>,
    _folder_lock: Box<dyn FolderLock>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("newest", &self.newest).finish_non_exhaustive()
    }
}

/// What happened since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) commits: Counter,
    pub(crate) rollbacks: Counter,
    pub(crate) records_inserted: Counter,
    pub(crate) records_updated: Counter,
    pub(crate) records_deleted: Counter,
    pub(crate) lock_waits: Counter,
    pub(crate) deadlocks: Counter,
    pub(crate) lock_timeouts: Counter,
    pub(crate) checkpoints: Counter,
    pub(crate) pages_written: Counter,
    pub(crate) undo_bytes_kept: Counter,
    pub(crate) tombstones_purged: Counter,
    pub(crate) versions_merged: Counter,
}

/// Figures for SHOW STATUS and the console.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names say it; counts since opening, gauges where so named")]
pub struct Status {
    pub commits: u64,
    pub rollbacks: u64,
    pub records_inserted: u64,
    pub records_updated: u64,
    pub records_deleted: u64,
    pub lock_waits: u64,
    pub deadlocks: u64,
    pub lock_timeouts: u64,
    pub checkpoints: u64,
    pub pages_read: u64,
    /// Pages that the data file was asked for before a scan came to them.
    pub pages_read_ahead: u64,
    pub pages_written: u64,
    pub pages_evicted: u64,
    pub tombstones_purged: u64,
    /// Microseconds of processor time that the purge thread has used; 0 without such a thread.
    pub purge_cpu_micros: u64,
    /// Old versions left out of their records' chains because no snapshot sees them.
    pub versions_merged: u64,
    /// Now: pages of all trees.
    pub page_count: u64,
    /// Blocks of the data file, after the last checkpoint.
    pub file_blocks: u64,
    /// Now: of them, those that the data or the last checkpoint need.
    pub used_blocks: u64,
    /// Blocks moved to the start of the data file, to shorten it.
    pub moved_blocks: u64,
    /// Now: 1 while the disk has no space for a checkpoint, or for pages that a statement would change.
    pub is_full: u64,
    /// Now: 1 while a checkpoint is under way.
    pub checkpoint_runs: u64,
    /// Time spent in checkpoints, in microseconds.
    pub checkpoint_micros: u64,
    /// Now: frames in the pool.
    pub frame_count: u64,
    /// Now: frames with changes a checkpoint has yet to write.
    pub dirty_page_count: u64,
    /// Now: transactions between the newest and the oldest not yet seen by every snapshot.
    pub unpurged_transactions: u64,
    /// Segments of old versions that went to the undo file.
    pub undo_segments_spilled: u64,
    /// Blocks read back from there.
    pub undo_blocks_read: u64,
    /// Now: bytes of old versions in memory.
    pub undo_bytes_in_memory: u64,
    /// Now: bytes of old versions in the undo file.
    pub undo_bytes_in_file: u64,
    /// Bytes of running transactions' old versions that a checkpoint left where the one before it had saved them.
    pub undo_bytes_kept: u64,
    /// Now: how long the oldest snapshot has missed commits, in milliseconds, to about a second.
    pub oldest_snapshot_age_ms: u64,
    /// Now: position of the newest commit.
    pub newest_commit: u64,
    /// Now: how many wait for a lock.
    pub lock_waiters: u64,
    /// Microseconds that locks were waited for, all waits together.
    pub lock_wait_micros: u64,
    /// Microseconds of the longest wait for a lock.
    pub longest_lock_wait_micros: u64,
    /// Now: bytes of memory that shared, waiting and range locks take, about.
    pub lock_bytes: u64,
    pub log_bytes_written: u64,
    /// Now: how long the log may be since the last checkpoint, in bytes.
    pub log_capacity_bytes: u64,
    /// Now: position of the last checkpoint.
    pub log_checkpoint_position: u64,
    /// Now: position of the log's end.
    pub log_end: u64,
    /// Now: position up to which it is durable.
    pub log_durable: u64,
    /// Now: bytes of the log's files, spares included.
    pub log_file_bytes: u64,
    /// Times that a transaction was slowed because writers outran the checkpoint.
    pub log_delays: u64,
    /// Microseconds of that, all together.
    pub log_delay_micros: u64,
    /// Parts of large transactions.
    pub log_parts: u64,
    /// The most memory that one transaction's changes on their way to the log took, in bytes. Of those that fit one record of
    /// the log ([`crate::wal::PART_BYTES_MAX`]) nothing is noted.
    pub txn_log_memory_peak: u64,
    pub log_writes: u64,
    pub log_syncs: u64,
}

impl Store {
    /// Writes everything out, so that the next opening has nothing to replay, and stops background work. Transactions still
    /// running end as in a crash.
    ///
    /// # Errors
    /// The store had stopped, or stops now. `DiskFull`: the log has everything, the data file not.
    pub fn close(&self) -> Result<(), StoreError> {
        self.inner.worker.stop();
        let written = self.checkpoint_now();
        // Without space for a checkpoint the next opening has something to repeat.
        let log = self.inner.log()?;
        log.sync_inline(log.end_lsn()).map_err(|error| self.inner.stop(&error.to_string()))?;
        written
    }

    /// Finds a tree.
    ///
    /// # Errors
    /// [`StoreError::TreeGone`] if there is none of this number.
    pub fn tree(&self, id: TreeId) -> Result<Tree, StoreError> {
        self.inner.tree(id).ok_or(StoreError::TreeGone(id))
    }

    /// All trees there are, the dictionary included, the store's own not.
    #[must_use]
    pub fn tree_ids(&self) -> Vec<TreeId> {
        let mut ids: Vec<TreeId> =
            self.inner.trees.read().keys().copied().filter(|&id| id != TreeId::META).collect();
        ids.sort_unstable();
        ids
    }

    /// Which transactions wait for locks now, and for whom.
    #[must_use]
    pub fn lock_waiters(&self) -> Vec<crate::LockWaiter> {
        self.inner.locks.waiters()
    }

    /// Says how to describe the owner of a transaction ([`Transaction::set_owner`]) when a deadlock is noted: the statement it
    /// runs, for example. The first one counts. It is called under locks of the store and must not call the store.
    pub fn describe_owners_by(&self, describe: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static) {
        self.inner.locks.describe_owners_by(Box::new(describe));
    }

    /// The last deadlock since the store was opened.
    #[must_use]
    pub fn last_deadlock(&self) -> Option<crate::Deadlock> {
        self.inner.locks.last_deadlock()
    }

    /// A view of everything committed until now. Old versions it needs are kept until it is dropped or parked.
    #[must_use]
    pub fn read_view(&self) -> ReadView {
        let mut view = ReadView { store: self.clone(), place: None, snapshot: Csn(0), horizon: 0 };
        view.refresh();
        view
    }

    /// A view that sees nothing until [`ReadView::refresh`]: for a session to keep and reuse.
    #[must_use]
    pub fn parked_view(&self) -> ReadView {
        ReadView { store: self.clone(), place: None, snapshot: Csn(0), horizon: 0 }
    }

    /// Commits at or before this position survive any crash now (or, by the flush policy, are treated as if).
    #[must_use]
    pub fn durable_position(&self) -> CommitPosition {
        Csn(self.inner.log.get().map_or(0, |log| log.acknowledged_lsn().0))
    }

    /// The newest commit's position.
    #[must_use]
    pub fn newest_position(&self) -> CommitPosition {
        Csn(self.inner.newest.load(Ordering::Acquire))
    }

    /// Waits until a commit is durable; does the writing itself if nobody else is at it.
    ///
    /// # Errors
    /// The log failed: nobody knows whether the commit is durable until the store is opened again.
    pub fn sync_to(&self, position: CommitPosition) -> Result<(), StoreError> {
        self.inner.log()?.flush_inline(Lsn(position.0)).map_err(|error| self.inner.stop(&error.to_string()))
    }

    /// As [`Store::sync_to`], but never waits for another's flush: `false` if one is under way. Listeners hear when it ends.
    ///
    /// # Errors
    /// As for [`Store::sync_to`].
    pub fn try_sync_to(&self, position: CommitPosition) -> Result<bool, StoreError> {
        let log = self.inner.log()?;
        log.try_flush_inline(Lsn(position.0)).map_err(|error| self.inner.stop(&error.to_string()))
    }

    /// Asks the flusher thread to make a commit durable; listeners hear of it.
    pub fn request_sync(&self, position: CommitPosition) {
        if let Ok(log) = self.inner.log() {
            log.request_flush(Lsn(position.0));
        }
    }

    /// Adds somebody who hears what became durable.
    pub fn on_durable(&self, listener: Arc<dyn LogListener>) {
        if let Ok(log) = self.inner.log() {
            log.register(listener);
        }
    }

    /// Says who sees transactions at their commit; the first call counts. False: there is an observer already.
    pub fn on_commit(&self, observer: Arc<dyn CommitObserver>) -> bool {
        self.inner.commit_observer.set(observer).is_ok()
    }

    /// Says who hears of damaged pages; the first call counts.
    pub fn on_damage(&self, listener: DamageListener) {
        // A second listener would hear nothing that the first does not.
        let _first = self.inner.damage_listener.set(listener);
    }

    /// Changes when a commit counts as durable (`innodb_flush_log_at_trx_commit`).
    pub fn set_flush_policy(&self, policy: FlushPolicy) {
        if let Ok(log) = self.inner.log() {
            log.set_policy(policy);
        }
    }

    /// Changes how long the log may be ([`Options::log_capacity_bytes`]).
    pub fn set_log_capacity(&self, bytes: u64) {
        self.inner.checkpointer.throttle.set_capacity(bytes);
    }

    /// Writes a checkpoint: afterwards a restart replays only later commits.
    ///
    /// # Errors
    /// The store had stopped, or stops now because a write failed. `DiskFull`: it goes on, and tries again.
    pub fn checkpoint_now(&self) -> Result<(), StoreError> {
        self.inner.checkpoint()
    }

    /// Whether the checkpoint thread would begin a checkpoint now: for callers without that thread.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        self.inner.checkpoint_is_due()
    }

    /// Removes some of what no snapshot needs any more; says whether there may be more to do.
    ///
    /// # Errors
    /// Reading a page failed.
    pub fn purge_tick(&self) -> Result<bool, StoreError> {
        self.inner.purge_tick()
    }

    /// Why the store no longer writes, if it does not.
    #[must_use]
    pub fn stopped(&self) -> Option<Arc<str>> {
        // The log may have failed on its own thread, where no caller could tell the store.
        let log_stopped = || self.inner.log().ok()?.stopped().map(|error| Arc::from(error.to_string()));
        self.inner.stopped.get().cloned().or_else(log_stopped)
    }

    /// Figures.
    #[must_use]
    pub fn status(&self) -> Status {
        let inner = &*self.inner;
        let counters = &inner.counters;
        let pool = inner.pool.counters();
        let log = inner.log.get().map(Log::counters).unwrap_or_default();
        let undo = inner.undo.size();
        Status {
            commits: counters.commits.get(),
            rollbacks: counters.rollbacks.get(),
            records_inserted: counters.records_inserted.get(),
            records_updated: counters.records_updated.get(),
            records_deleted: counters.records_deleted.get(),
            lock_waits: counters.lock_waits.get(),
            deadlocks: counters.deadlocks.get(),
            lock_timeouts: counters.lock_timeouts.get(),
            lock_bytes: inner.locks.bytes(),
            lock_waiters: inner.locks.times.waiting_now.load(Ordering::Relaxed),
            lock_wait_micros: inner.locks.times.total_micros.load(Ordering::Relaxed),
            longest_lock_wait_micros: inner.locks.times.longest_micros.load(Ordering::Relaxed),
            checkpoints: counters.checkpoints.get(),
            pages_read: pool.pages_read.load(Ordering::Relaxed),
            pages_read_ahead: pool.pages_read_ahead.load(Ordering::Relaxed),
            pages_written: counters.pages_written.get(),
            pages_evicted: pool.pages_evicted.load(Ordering::Relaxed),
            tombstones_purged: counters.tombstones_purged.get(),
            purge_cpu_micros: inner.purge_cpu_micros.load(Ordering::Relaxed),
            versions_merged: counters.versions_merged.get(),
            page_count: inner.pool.page_count(),
            file_blocks: inner.checkpointer.figures.file_blocks.load(Ordering::Relaxed),
            used_blocks: inner.checkpointer.figures.used_blocks.load(Ordering::Relaxed),
            moved_blocks: inner.checkpointer.figures.moved_blocks.load(Ordering::Relaxed),
            is_full: u64::from(inner.checkpointer.is_full() || inner.checkpointer.space.is_refused()),
            checkpoint_runs: inner.checkpointer.figures.runs.load(Ordering::Relaxed),
            checkpoint_micros: inner.checkpointer.figures.micros.load(Ordering::Relaxed),
            frame_count: u64::from(inner.pool.arena().frame_count()),
            dirty_page_count: u64::from(inner.pool.dirty_count()),
            unpurged_transactions: inner.txns.next().0 - inner.txns.horizon(),
            undo_segments_spilled: undo.segments_spilled,
            undo_blocks_read: undo.blocks_read,
            undo_bytes_in_memory: undo.bytes_in_memory,
            undo_bytes_in_file: undo.bytes_in_file,
            undo_bytes_kept: counters.undo_bytes_kept.get(),
            oldest_snapshot_age_ms: inner.oldest_snapshot_age() / 1_000_000,
            newest_commit: inner.newest.load(Ordering::Relaxed),
            log_bytes_written: log.written_bytes,
            log_capacity_bytes: inner.checkpointer.throttle.capacity(),
            log_checkpoint_position: inner.checkpointer.position().0,
            log_end: inner.log.get().map_or(0, |log| log.end_lsn().0),
            log_durable: inner.log.get().map_or(0, |log| log.durable_lsn().0),
            log_file_bytes: log.file_bytes,
            log_delays: inner.checkpointer.throttle.delays.load(Ordering::Relaxed),
            log_delay_micros: inner.checkpointer.throttle.delay_micros.load(Ordering::Relaxed),
            log_parts: log.parts,
            txn_log_memory_peak: inner.txn_log_memory_peak.load(Ordering::Relaxed),
            log_writes: log.writes,
            log_syncs: log.syncs,
        }
    }

    /// Walks all trees and checks that their pages are well-formed and in order. Returns the number of leaves and records,
    /// tombstones included.
    ///
    /// # Errors
    /// The first damage found.
    pub fn check(&self) -> Result<(u64, u64), StoreError> {
        let trees: Vec<Tree> = self.inner.trees.read().values().cloned().collect();
        let mut total = (0, 0);
        for tree in trees {
            let found = self.check_tree(&tree)?;
            total = (total.0 + found.0, total.1 + found.1);
        }
        Ok(total)
    }

    /// As [`Store::check`], of one tree. Beside writers the numbers are about right.
    ///
    /// # Errors
    /// The first damage found.
    pub fn check_tree(&self, tree: &Tree) -> Result<(u64, u64), StoreError> {
        let inner = &self.inner;
        let copies = |page| {
            inner.retry_misses(|| match inner.pool.shared(page) {
                Ok(guard) => Ok(Some(Box::new(*guard.body()))),
                Err(PageMiss::Gone) => Ok(None),
                Err(miss) => Err(miss),
            })
        };
        tree.state.root.check(&copies).map_err(|error| inner.report_damage(&tree.state, error))
    }
}

impl Inner {
    pub(crate) fn new(
        env: &Env,
        options: Options,
        pool: Pool,
        undo: UndoLog,
        checkpointer: Checkpointer,
        first_txn: TxnId,
        folder_lock: Box<dyn FolderLock>,
    ) -> Inner {
        Inner {
            env: env.clone(),
            options,
            pool,
            checkpoint_latch: CheckpointLatch::new(),
            txns: TxnTable::new(first_txn),
            snapshots: Snapshots::new(),
            newest: CachePadded::new(AtomicU64::new(Lsn::FIRST.0)),
            slots: Slots::new(),
            undo,
            locks: LockTable::new(Arc::clone(&env.clock)),
            trees: RwLock::default(),
            next_tree: AtomicU64::new(TreeId::FIRST_FREE.0),
            purge: Purge::new(),
            checkpointer,
            log: OnceLock::new(),
            worker: Worker::default(),
            counters: Counters::default(),
            txn_log_memory_peak: AtomicU64::new(0),
            purge_cpu_micros: AtomicU64::new(0),
            stopped: OnceLock::new(),
            damage_listener: OnceLock::new(),
            commit_observer: OnceLock::new(),
            reported: Mutex::default(),
            _folder_lock: folder_lock,
        }
    }

    pub(crate) fn tree(&self, id: TreeId) -> Option<Tree> {
        self.trees.read().get(&id).cloned()
    }

    pub(crate) fn meta(&self) -> Tree {
        self.tree(TreeId::META).expect("the tree of trees is always there")
    }

    pub(crate) fn add_tree(&self, root: Root, records: i64) -> Tree {
        let tree = Tree { state: TreeState::new(root, records) };
        self.trees.write().insert(root.tree, tree.clone());
        tree
    }

    /// Notes how much memory a transaction's changes take before they go to the log or nowhere.
    #[cold]
    pub(crate) fn note_txn_log_memory(&self, log: &OpLog) {
        self.txn_log_memory_peak.fetch_max(log.memory_bytes() as u64, Ordering::Relaxed);
    }

    pub(crate) fn log(&self) -> Result<&Log, StoreError> {
        self.log.get().ok_or_else(|| StoreError::Stopped { why: "it is being opened".into() })
    }

    /// Writes no more from now on.
    #[cold]
    pub(crate) fn stop(&self, why: &str) -> StoreError {
        let why = self.stopped.get_or_init(|| why.into());
        StoreError::Stopped { why: Arc::clone(why) }
    }

    #[inline]
    pub(crate) fn check_writable(&self) -> Result<(), StoreError> {
        match self.stopped.get() {
            None => Ok(()),
            Some(why) => Err(StoreError::Stopped { why: Arc::clone(why) }),
        }
    }

    /// Called before a change, outside a critical section: whether the pool and the disk can take more changed pages.
    /// Some of the pool's frames are reserved for readers and rollbacks, also when the disk has no space for a
    /// checkpoint.
    #[inline]
    pub(crate) fn check_space(&self, purpose: Purpose) -> Result<(), StoreError> {
        match self.has_space(purpose) {
            true => Ok(()),
            false => self.make_space(purpose),
        }
    }

    /// Whether a page may be changed just now.
    #[inline]
    pub(crate) fn has_space(&self, purpose: Purpose) -> bool {
        let dirty = self.pool.dirty_count();
        dirty <= self.pool.dirty_full_max() && self.has_blocks(purpose)
    }

    #[cold]
    fn make_space(&self, purpose: Purpose) -> Result<(), StoreError> {
        if self.log.get().is_none() {
            // What recovery repeats had its space, though some of it through a checkpoint that did not end: recovery
            // makes one meanwhile, too.
            self.reserve_blocks_if_possible(purpose)?;
        } else if !self.has_blocks(purpose) {
            self.reserve_blocks(purpose)?;
        }
        let dirty = self.pool.dirty_count();
        if dirty <= self.pool.dirty_full_max() {
            return Ok(());
        }
        let is_full = self.checkpointer.is_full();
        if is_full && self.options.background_threads {
            return Err(StoreError::DiskFull { what: DATA }); // The checkpoint thread tries again and again.
        }
        let dirty_max = self.pool.dirty_max();
        if is_full || (dirty > dirty_max && !self.wait_for_clean(dirty_max)) {
            self.make_frames_clean()
        } else {
            Ok(())
        }
    }

    /// As [`Inner::retry_misses`], for a rollback, which cannot fail with an error to retry: waits until there is
    /// space.
    pub(crate) fn retry_until_space<R>(
        &self,
        mut operation: impl FnMut() -> Result<R, PageMiss>,
    ) -> Result<R, StoreError> {
        loop {
            match self.retry_misses(&mut operation) {
                Err(StoreError::DiskFull { .. })
                    if self.options.background_threads && !self.worker.is_ending() =>
                {
                    let _guard = env::blocking::enter();
                    self.env.clock.sleep(SPACE_RETRY);
                }
                result => return result,
            }
        }
    }

    /// As [`Inner::retry_misses`], for pages of one tree: damage is reported with its name.
    #[inline]
    pub(crate) fn with_tree<R>(
        &self,
        tree: &TreeState,
        mut operation: impl FnMut() -> Result<R, PageMiss>,
    ) -> Result<R, StoreError> {
        match operation() {
            Ok(result) => Ok(result),
            Err(miss) => {
                self.retry_from_miss(miss, operation).map_err(|error| self.report_damage(tree, error))
            }
        }
    }

    /// Adds the name of the tree, and reports damage to the listener unless it was reported already.
    #[cold]
    fn report_damage(&self, tree: &TreeState, error: StoreError) -> StoreError {
        let StoreError::Corrupt { what, why, .. } = error else { return error };
        let place = Arc::new(TreePlace { tree: tree.id(), names: tree.names() });
        let error = StoreError::Corrupt { what: Arc::clone(&what), why, place: Some(place) };
        let mut reported = self.reported.lock();
        let news = reported.len() < DAMAGES_REPORTED_MAX && reported.insert(what);
        drop(reported);
        if let (true, Some(listener)) = (news, self.damage_listener.get()) {
            listener(&error);
        }
        error
    }

    /// Runs a page operation, again and again: reads the pages that it misses, and makes space in the pool when it
    /// needs some. Call it outside a critical section, without a latch or a mutex: it may hand over the thread's place
    /// ([`env::blocking`]).
    #[inline]
    pub(crate) fn retry_misses<R>(
        &self,
        mut operation: impl FnMut() -> Result<R, PageMiss>,
    ) -> Result<R, StoreError> {
        match operation() {
            Ok(result) => Ok(result),
            Err(miss) => self.retry_from_miss(miss, operation),
        }
    }

    #[cold]
    fn retry_from_miss<R>(
        &self,
        mut miss: PageMiss,
        mut operation: impl FnMut() -> Result<R, PageMiss>,
    ) -> Result<R, StoreError> {
        let (mut frame_attempts, mut reads) = (0, 0);
        let mut is_unreadable = false;
        loop {
            match miss {
                PageMiss::Store(error) => return Err(error),
                PageMiss::Gone => {
                    return Err(StoreError::corrupt("a tree", "it names a page that does not exist"));
                }
                PageMiss::Absent(page, wanted) => {
                    reads += 1;
                    match env::blocking::around(|| self.pool.fetch(page, wanted)) {
                        Err(PageMiss::NoFrame) => {
                            miss = PageMiss::NoFrame;
                            continue;
                        }
                        // The operation meets it itself: some know what to do without the page.
                        Err(PageMiss::Store(_)) => is_unreadable = true,
                        _ => {}
                    }
                }
                PageMiss::Spilled(entry) => {
                    reads += 1;
                    env::blocking::around(|| self.undo.load(entry))?;
                }
                PageMiss::NoFrame if frame_attempts == FRAME_ATTEMPTS => {
                    return Err(StoreError::PoolExhausted);
                }
                PageMiss::NoFrame => {
                    frame_attempts += 1;
                    if !self.pool.sweep() {
                        self.make_frames_clean()?;
                    }
                }
            }
            // If what was read is gone again, and again, before it is used, the reads are made where they are needed.
            let is_inside = is_unreadable || reads > READ_ATTEMPTS;
            let outcome = if is_inside { with_inline_waits(&mut operation) } else { operation() };
            match outcome {
                Ok(result) => return Ok(result),
                Err(again) => miss = again,
            }
        }
    }

    /// Makes an empty tree and enters its root nowhere yet. In a critical section only.
    pub(crate) fn create_root(&self, id: TreeId) -> Result<Root, PageMiss> {
        tree::create(&self.pool, id)
    }
}

/// Encodes what the tree of trees says about a tree: its root, and whether it is dropped and only kept for old snapshots.
pub(crate) fn meta_value(root: PageId, dropped: bool) -> [u8; 9] {
    let mut value = [0; 9];
    value[..8].copy_from_slice(&root.0.to_le_bytes());
    value[8] = u8::from(dropped);
    value
}

/// Decodes a key and a value of the tree of trees.
pub(crate) fn meta_root(key: &[u8], value: &[u8]) -> Result<(Root, bool), StoreError> {
    let damaged = || StoreError::corrupt("the tree of trees", "a record has a wrong length");
    let tree = TreeId(u64::from_be_bytes(key.try_into().map_err(|_| damaged())?));
    let (page, dropped) = value.split_first_chunk::<8>().ok_or_else(damaged)?;
    Ok((Root { tree, page: PageId(u64::from_le_bytes(*page)) }, dropped == [1]))
}

#[cold]
pub(crate) fn log_failed(error: &LogError) -> StoreError {
    match error {
        LogError::Stopped { why } => StoreError::Stopped { why: Arc::clone(why) },
        LogError::Full => StoreError::DiskFull { what: StoreError::LOG },
        LogError::Io { source, .. } if env::disk::is_full(source) => {
            StoreError::DiskFull { what: StoreError::LOG }
        }
        LogError::TransactionTooLong { span_bytes_max } => {
            StoreError::TransactionTooLong { span_bytes_max: *span_bytes_max }
        }
        other => StoreError::corrupt("log", other.to_string()),
    }
}

/// The pool's frames for this many bytes.
pub(crate) fn frame_count(bytes: u64) -> u32 {
    u32::try_from(bytes / PAGE_BYTES as u64).unwrap_or(u32::MAX)
}

/// A snapshot in use: everything committed until it was taken, and the old versions needed to read it.
#[derive(Debug)]
pub struct ReadView {
    store: Store,
    place: Option<Place>,
    snapshot: Csn,
    horizon: u64,
}

impl ReadView {
    /// Moves the view to now.
    #[inline]
    pub fn refresh(&mut self) {
        self.park();
        let inner = &*self.store.inner;
        let (snapshot, place) = inner.snapshots.publish(&inner.newest);
        self.place = Some(place);
        self.snapshot = snapshot;
        self.horizon = inner.txns.horizon();
    }

    /// Stops seeing anything, so that no old version is kept for it.
    #[inline]
    pub fn park(&mut self) {
        if let Some(place) = self.place.take() {
            self.store.inner.snapshots.give_back(&place);
        }
    }

    /// Whether it sees something.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        self.place.is_none()
    }

    /// The newest commit it sees. A reply that depends on it should wait until that commit is durable.
    #[must_use]
    pub fn csn(&self) -> Csn {
        self.snapshot
    }

    /// Reads what was committed.
    ///
    /// # Panics
    /// If the view is parked.
    #[must_use]
    #[inline]
    pub fn reader(&self) -> Reader<'_> {
        self.reader_for(TxnId(0))
    }

    /// Reads what was committed and what this transaction changed.
    ///
    /// # Panics
    /// If the view is parked.
    #[must_use]
    #[inline]
    pub fn reader_for(&self, own: TxnId) -> Reader<'_> {
        assert!(self.place.is_some(), "a parked view keeps no versions to read");
        Reader { snapshot: self.snapshot, horizon: self.horizon, own, uncommitted: false, view: PhantomData }
    }

    /// Reads the newest committed versions and those of this transaction: for rows it has locked. The view keeps the old versions
    /// that this steps over.
    ///
    /// # Panics
    /// If the view is parked.
    #[must_use]
    #[inline]
    pub fn reader_of_newest(&self, own: TxnId) -> Reader<'_> {
        self.reader_for(own).newest()
    }

    /// Reads the newest version of everything, committed or not (READ UNCOMMITTED).
    ///
    /// # Panics
    /// If the view is parked.
    #[must_use]
    pub fn reader_uncommitted(&self) -> Reader<'_> {
        Reader { uncommitted: true, ..self.reader() }
    }
}

impl Drop for ReadView {
    fn drop(&mut self) {
        self.park();
    }
}
