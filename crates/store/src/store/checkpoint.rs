//! Checkpoints: the state of the store at one log position, written without touching the one before.
//!
//! 1. Take the checkpoint latch exclusively. Note the log's position, the running transactions and how much undo they
//!    have, begin a new page epoch. Release the latch. That takes microseconds; everything else happens beside the
//!    transactions.
//! 2. Write every page that was changed in the ended epoch to a new block, a piece at a time ([`Pace`]). A thread that
//!    changes such a page first copies it (`pool`), and the copy is written instead.
//! 3. Write the parts of the page map that changed and the list of the map's blocks, all to fresh blocks; the undo of
//!    the transactions that were running went first. Sync.
//! 4. Make the log durable up to the position, then write one of the two superblocks. Sync.
//! 5. Only now give out again the blocks that the new state no longer uses, and the log before the position.
//!
//! The file stays short: blocks are given out from its start, a file more than half of which is free
//! ([`State::blocks_wanted`]) has the blocks behind that bound moved to its start, some at each checkpoint, and is cut.
//!
//! The file has blocks for all changed pages before they are changed (`space`). If the disk has no space for what was
//! not foreseen, the checkpoint is given up: the last superblock stays valid, pages written so far keep their new
//! blocks, and the next attempt continues from there (`docs/decisions/disk-full.md`).
//!
//! Invariants:
//! 1. No block that the last durable superblock leads to is written.
//! 2. A page counts as clean, and may be evicted, only when its new block is written and entered in the page table.
//! 3. Only one checkpoint runs at a time, and only checkpoints change the page table's blocks.

use super::DATA;
use super::space::{Purpose, SpaceReservation, map_blocks};
use super::superblock::Superblock;
use super::throttle::{LogThrottle, Progress};
use super::undo_list::UndoList;
use crate::error::StoreError;
use crate::ids::{Csn, PageId, TreeId, TxnId};
use crate::pager::blocks::Blocks;
use crate::pager::frame::{BODY_BYTES, Body, FRAME_HEADER_BYTES, PAGE_BYTES};
use crate::pager::image::{self, Block, Kind};
use crate::planted::{self, Plant};
use crate::store::Inner;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::wal::{LogError, Lsn};
use env::clock::Monotonic;
use env::disk::File;
use hashbrown::HashSet;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Pages a block of the map speaks for.
pub(crate) const MAP_PAGES: usize = BODY_BYTES / 4;
/// [`Checkpointer::undone`] when there is nothing to undo.
const NOTHING_TO_UNDO: u64 = u64::MAX;
/// Bytes of a list that a block holds besides the number of the next one.
pub(crate) const CHAIN_BYTES: usize = BODY_BYTES - 8;

/// What recovery has repeated of a commit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ReplayProgress {
    Whole,
    /// Number of its changes, counted from the first one.
    Changes(u64),
}

#[derive(Debug)]
pub(crate) struct Checkpointer {
    pub(crate) file: Arc<dyn File>,
    state: Mutex<State>,
    /// Position of the last durable checkpoint.
    position: AtomicU64,
    /// While recovery repeats the log: what is contained in the pages so far.
    replayed: AtomicU64,
    /// Of the commit after that: changes that the pages contain, too.
    replayed_changes: AtomicU64,
    /// While recovery rolls back the transactions that the last checkpoint names: how many entries it has rolled back
    /// in the pages so far.
    undone: AtomicU64,
    /// When the last one ended or was given up, in nanoseconds of the clock.
    ended: AtomicU64,
    /// The last one was given up for want of space.
    is_full: AtomicBool,
    /// The log has no space, and a checkpoint would give it some.
    is_requested: AtomicBool,
    /// A thread waits for the running checkpoint.
    is_hurried: AtomicBool,
    pub(crate) figures: Figures,
    pub(crate) throttle: LogThrottle,
    pub(crate) space: Arc<SpaceReservation>,
}

/// For SHOW STATUS.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// 1 while one is under way.
    pub(crate) runs: AtomicU64,
    /// Time spent.
    pub(crate) micros: AtomicU64,
    /// The file's length, and what of it is in use, after the last one.
    pub(crate) file_blocks: AtomicU64,
    pub(crate) used_blocks: AtomicU64,
    /// Blocks moved to shorten the file.
    pub(crate) moved_blocks: AtomicU64,
    /// 1 if the file is longer than it should be and another checkpoint would shorten it.
    pub(crate) too_long: AtomicU64,
}

/// What the last durable superblock leads to, and what checkpoints that were given up since have changed.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) number: u64,
    pub(crate) blocks: Blocks,
    pub(crate) space: Arc<SpaceReservation>,
    /// Free blocks that a file of any length may have.
    pub(crate) spare_blocks: u32,
    /// Checkpoints in a row that could not move anything although the file is too long.
    pub(crate) idle_moves: u32,
    pub(crate) map_blocks: Vec<u32>,
    pub(crate) directory_blocks: Vec<u32>,
    /// Of the head of what is to be undone.
    pub(crate) undo_blocks: Vec<u32>,
    pub(crate) undo_list: UndoList,
    /// Parts of the map that the next superblock must contain again.
    pub(crate) changed_maps: BTreeSet<usize>,
    /// Pages taken out of the map: their numbers are free when a superblock without them is durable.
    pub(crate) freed_pages: Vec<PageId>,
}

/// Blocks that a checkpoint moves at most, to shorten the file: 16 MiB.
const MOVED_BLOCKS_MAX: u32 = 1024;
/// So many checkpoints in a row may find nothing that can be moved before no more are made for that.
const IDLE_MOVES_MAX: u32 = 3;

/// What was noted under the exclusive checkpoint latch.
pub(crate) struct Cut {
    epoch: u64,
    position: Csn,
    /// Their newest undo entries.
    pub(crate) running: Vec<(TxnId, u64)>,
    next_txn: TxnId,
    next_tree: TreeId,
    page_end: u64,
    /// Pages that have to be written, at most.
    dirty_pages: u32,
    pub(crate) records: Vec<(TreeId, i64)>,
    /// Recovery is running: what is saved stays, and this number of its entries is rolled back.
    pub(crate) undone: Option<u64>,
    /// Changes of the commit after `position` that recovery has repeated.
    pub(crate) replayed_changes: u64,
}

pub(crate) fn write_failed(error: &std::io::Error) -> StoreError {
    StoreError::Stopped { why: format!("writing the data file failed: {error}").into() }
}

/// Writes to a block that no superblock leads to yet: a lack of space does no harm.
fn fresh_failed(error: &std::io::Error) -> StoreError {
    if env::disk::is_full(error) { StoreError::DiskFull { what: DATA } } else { write_failed(error) }
}

impl Figures {
    fn note(&self, state: &State) {
        self.file_blocks.store(u64::from(state.space.file_blocks()), Ordering::Relaxed);
        self.used_blocks.store(u64::from(state.blocks.used_count()), Ordering::Relaxed);
        let too_long = state.space.file_blocks() > state.blocks_wanted() && state.idle_moves < IDLE_MOVES_MAX;
        self.too_long.store(u64::from(too_long), Ordering::Relaxed);
    }
}

impl Checkpointer {
    /// `log_capacity` in bytes.
    pub(crate) fn new(file: Arc<dyn File>, state: State, position: Csn, log_capacity: u64) -> Checkpointer {
        let figures = Figures::default();
        figures.note(&state);
        Checkpointer {
            file,
            space: Arc::clone(&state.space),
            state: Mutex::new(state),
            position: AtomicU64::new(position.0),
            replayed: AtomicU64::new(position.0),
            replayed_changes: AtomicU64::new(0),
            undone: AtomicU64::new(NOTHING_TO_UNDO),
            ended: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            is_requested: AtomicBool::new(false),
            is_hurried: AtomicBool::new(false),
            figures,
            throttle: LogThrottle::new(log_capacity),
        }
    }

    /// Whether the last checkpoint was given up for want of space.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Asks for a checkpoint soon, because the log has no space.
    pub(crate) fn request(&self) {
        self.is_requested.store(true, Ordering::Relaxed);
    }

    /// Whether the file is longer than it should be.
    pub(crate) fn is_too_long(&self) -> bool {
        self.figures.too_long.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::Relaxed)
    }

    /// Position of the last durable checkpoint.
    pub(crate) fn position(&self) -> Csn {
        Csn(self.position.load(Ordering::Relaxed))
    }

    pub(crate) fn ended(&self) -> Monotonic {
        Monotonic { nanos: self.ended.load(Ordering::Relaxed) }
    }

    /// Recovery has repeated the log up to here.
    pub(crate) fn set_replayed(&self, position: Csn) {
        self.replayed.store(position.0, Ordering::SeqCst);
        self.replayed_changes.store(0, Ordering::SeqCst);
    }

    /// Recovery has repeated a commit, or a piece of it. Called in a critical section, together with its end.
    pub(crate) fn set_replay_progress(&self, position: Csn, progress: ReplayProgress) {
        match progress {
            ReplayProgress::Whole => self.set_replayed(position),
            ReplayProgress::Changes(changes) => self.set_replayed_changes(changes),
        }
    }

    /// Number of changes that recovery has repeated of the commit that follows.
    pub(crate) fn set_replayed_changes(&self, changes: u64) {
        self.replayed_changes.store(changes, Ordering::SeqCst);
    }

    /// Changes of the first commit to repeat that the pages contain.
    pub(crate) fn replayed_changes(&self) -> u64 {
        self.replayed_changes.load(Ordering::SeqCst)
    }

    /// Recovery has rolled back this number of the saved entries; `None` when all are. Called in a critical section,
    /// together with the change.
    pub(crate) fn set_undone(&self, entries: Option<u64>) {
        self.undone.store(entries.unwrap_or(NOTHING_TO_UNDO), Ordering::SeqCst);
    }

    /// Writes a block that the last superblock does not lead to.
    fn write_fresh(&self, number: u32, block: &Block) -> Result<(), StoreError> {
        let written = self.file.write_at(u64::from(number) * PAGE_BYTES as u64, block);
        written.map_err(|error| fresh_failed(&error))
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.file.sync().map_err(|error| write_failed(&error))
    }
}

/// The log failed in the middle of a checkpoint: it has stopped, and so does the store.
pub(crate) fn stops(error: &LogError) -> StoreError {
    StoreError::Stopped { why: error.to_string().into() }
}

/// Writes bytes as a chain of fresh blocks, piece by piece.
pub(crate) struct ChainWriter<'c> {
    checkpointer: &'c Checkpointer,
    kind: Kind,
    checkpoint: u64,
    blocks: Vec<u32>,
    piece: Vec<u8>,
    block: Box<Block>,
    pub(crate) bytes: u64,
}

impl<'c> ChainWriter<'c> {
    fn begin(
        checkpointer: &'c Checkpointer,
        state: &mut State,
        kind: Kind,
        checkpoint: u64,
    ) -> Result<ChainWriter<'c>, StoreError> {
        let blocks = vec![state.allocate()?];
        let (piece, block) = (Vec::with_capacity(CHAIN_BYTES), zero_block());
        Ok(ChainWriter { checkpointer, kind, checkpoint, blocks, piece, block, bytes: 0 })
    }

    pub(crate) fn put(&mut self, state: &mut State, mut bytes: &[u8]) -> Result<(), StoreError> {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.piece.len() == CHAIN_BYTES {
                let next = state.allocate()?;
                self.blocks.push(next);
                let last = self.blocks.len() - 2;
                self.write_piece(last, next)?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(CHAIN_BYTES - self.piece.len()));
            self.piece.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    fn write_piece(&mut self, index: usize, next: u32) -> Result<(), StoreError> {
        let number = self.blocks[index];
        let body = &mut self.block[FRAME_HEADER_BYTES..];
        body[..4].copy_from_slice(&next.to_le_bytes());
        body[4..8].copy_from_slice(&(self.piece.len() as u32).to_le_bytes());
        body[8..8 + self.piece.len()].copy_from_slice(&self.piece);
        body[8 + self.piece.len()..].fill(0);
        image::seal(&mut self.block, self.kind, u64::from(number), self.checkpoint);
        self.piece.clear();
        self.checkpointer.write_fresh(number, &self.block)
    }
}

/// A chain written: its blocks, head first, and its bytes.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) blocks: Vec<u32>,
    pub(crate) bytes: u64,
}

/// How fast pages are written. They go to the disk in pieces of [`crate::Options::checkpoint_piece_bytes`]: synced all
/// at once at the end, hundreds of MiB would lie between a commit and its sync. Between two pieces the checkpoint
/// pauses for as long as the last one took.
struct Pace<'i> {
    inner: &'i Inner,
    pauses: bool,
    /// Of this piece.
    blocks: u32,
    began: Monotonic,
    /// Of all pieces so far, and what will be, at most.
    done: u64,
    total: u64,
    began_all: Monotonic,
    /// The log's end then.
    log_end: u64,
}

/// Pages in this many frames are written in the order of their numbers.
const FRAMES_IN_ORDER: usize = 16 * 1024;
const PAUSE_MAX: Duration = Duration::from_millis(20);
/// A thread that waits for a page to be clean checks again after this.
const CLEAN_RETRY: Duration = Duration::from_millis(1);

impl<'i> Pace<'i> {
    fn begin(inner: &'i Inner, pauses: bool, total: u32) -> Pace<'i> {
        let began = inner.env.clock.now();
        let log_end = inner.log.get().map_or(0, |log| log.end_lsn().0);
        let total = u64::from(total);
        Pace { inner, pauses, blocks: 0, began, done: 0, total, began_all: began, log_end }
    }

    /// A block was written. True at the end of a piece.
    fn step(&mut self) -> Result<bool, StoreError> {
        self.blocks += 1;
        self.done += 1;
        let inner = self.inner;
        if u64::from(self.blocks) * (PAGE_BYTES as u64) < inner.options.checkpoint_piece_bytes {
            return Ok(false);
        }
        self.blocks = 0;
        if !planted::is(Plant::SkipSync) {
            inner.checkpointer.sync()?;
        }
        let is_urgent = self.log_is_tight()
            || inner.checkpointer.is_hurried.load(Ordering::Relaxed)
            || inner.worker.is_ending()
            || inner.pool.dirty_count() >= inner.pool.dirty_max() / 8 * 7;
        if self.pauses && !is_urgent {
            inner.env.clock.sleep(inner.env.clock.now().since(self.began).min(PAUSE_MAX));
        }
        self.began = inner.env.clock.now();
        Ok(true)
    }

    /// Whether the log is likely to run out of space before this ends. Also informs the writers.
    fn log_is_tight(&self) -> bool {
        let Some(log) = self.inner.log.get() else { return false };
        let end = log.end_lsn().0;
        let progress = Progress {
            kept: self.inner.log_kept(end),
            grown: end - self.log_end,
            nanos: u64::try_from(self.inner.env.clock.now().since(self.began_all).as_nanos())
                .unwrap_or(u64::MAX),
            done: self.done,
            total: self.total.max(self.done),
        };
        self.inner.checkpointer.throttle.estimate(&progress, end)
    }
}

pub(crate) fn zero_block() -> Box<Block> {
    vec![0; PAGE_BYTES].try_into().expect("one block")
}

impl State {
    /// How long the file may be: half as long again as what is in use, and a little.
    fn blocks_wanted(&self) -> u32 {
        let used = self.blocks.used_count();
        used.saturating_add(used / 2).saturating_add(self.spare_blocks)
    }

    fn allocate(&mut self) -> Result<u32, StoreError> {
        let block = self.blocks.allocate().ok_or(StoreError::Limit("blocks of the data file"))?;
        self.space.note_allocated(block);
        Ok(block)
    }

    fn free_one(&mut self, block: u32) {
        self.blocks.free(block);
        self.space.note_freed();
    }

    pub(crate) fn free(&mut self, blocks: &[u32]) {
        blocks.iter().for_each(|&block| self.free_one(block));
    }
}

impl Inner {
    /// Writes a checkpoint. Call it outside a critical section, without a latch. Without space on the disk (`DiskFull`)
    /// the store continues.
    pub(crate) fn checkpoint(&self) -> Result<(), StoreError> {
        self.checkpoint_at(false)
    }

    /// As [`Inner::checkpoint`]; `paced` so that it leaves the disk to commits half of the time.
    pub(crate) fn checkpoint_at(&self, paced: bool) -> Result<(), StoreError> {
        let mut state = self.checkpointer.state.lock();
        self.check_writable()?;
        let figures = &self.checkpointer.figures;
        figures.runs.store(1, Ordering::Relaxed);
        let begun = self.env.clock.now();
        let result = self.checkpoint_from(&mut state, paced);
        self.undo.resume_freeing();
        self.pool.end_copies();
        self.checkpointer.throttle.relax();
        let took = self.env.clock.now().since(begun).as_micros();
        figures.micros.fetch_add(u64::try_from(took).unwrap_or(0), Ordering::Relaxed);
        figures.note(&state);
        figures.runs.store(0, Ordering::Relaxed);
        self.checkpointer.is_hurried.store(false, Ordering::Relaxed);
        let is_full = matches!(result, Err(StoreError::DiskFull { .. }));
        let result = if is_full { self.measure_space(&state).and(result) } else { result };
        self.checkpointer.is_full.store(is_full, Ordering::Relaxed);
        self.checkpointer.is_requested.store(false, Ordering::Relaxed);
        self.checkpointer.ended.store(self.env.clock.now().nanos, Ordering::Relaxed);
        if is_full { result } else { result.map_err(|error| self.stop(&error.to_string())) }
    }

    /// Reads what a checkpoint that was given up has left of the file.
    fn measure_space(&self, state: &State) -> Result<(), StoreError> {
        let measured = state.space.measure(&*self.checkpointer.file, &state.blocks);
        measured.map_err(|error| write_failed(&error))
    }

    /// Waits until at most `dirty_max` pages are changed and not written, or the running checkpoint ends. False if none
    /// runs. Outside a critical section, without a latch or a mutex.
    pub(crate) fn wait_for_clean(&self, dirty_max: u32) -> bool {
        let before = self.counters.checkpoints.get();
        let runs = || self.checkpointer.figures.runs.load(Ordering::Relaxed) != 0;
        if !self.options.background_threads || !runs() {
            return false;
        }
        self.checkpointer.is_hurried.store(true, Ordering::Relaxed);
        let _waiting = env::blocking::enter();
        while runs() && self.counters.checkpoints.get() == before {
            if self.pool.dirty_count() <= dirty_max {
                return true;
            }
            self.env.clock.sleep(CLEAN_RETRY);
        }
        self.pool.dirty_count() <= dirty_max
    }

    /// Makes frames clean: by a checkpoint, or by waiting for the running one. Outside a critical section, without a
    /// latch or a mutex.
    pub(crate) fn make_frames_clean(&self) -> Result<(), StoreError> {
        let _waiting = env::blocking::enter();
        let before = self.counters.checkpoints.get();
        self.checkpointer.is_hurried.store(true, Ordering::Relaxed);
        let state = self.checkpointer.state.lock();
        if self.counters.checkpoints.get() != before {
            return Ok(());
        }
        drop(state);
        self.checkpoint()
    }

    fn cut(&self) -> Cut {
        let _closed = self.checkpoint_latch.exclusive();
        self.undo.pause_freeing();
        let position = match self.log.get() {
            Some(log) => Csn(log.end_lsn().0),
            None => Csn(self.checkpointer.replayed.load(Ordering::SeqCst)),
        };
        Cut {
            epoch: self.pool.begin_epoch(),
            position,
            running: self.slots.running(),
            next_txn: self.txns.next(),
            next_tree: TreeId(self.next_tree.load(Ordering::SeqCst)),
            page_end: self.pool.page_number_end(),
            dirty_pages: self.pool.dirty_count(),
            records: self
                .trees
                .read()
                .values()
                .map(|tree| (tree.id(), tree.state.records.load(Ordering::Relaxed)))
                .collect(),
            replayed_changes: self.checkpointer.replayed_changes(),
            undone: match self.checkpointer.undone.load(Ordering::SeqCst) {
                NOTHING_TO_UNDO => None,
                _ if planted::is(Plant::UndoOnce) => None,
                entries => Some(entries),
            },
        }
    }

    fn checkpoint_from(&self, state: &mut State, paced: bool) -> Result<(), StoreError> {
        let checkpointer = &self.checkpointer;
        let number = state.number + 1;
        let cut = self.cut();
        let undo = self.write_undo(state, number, &cut);
        self.undo.resume_freeing();
        let undo = undo?;
        let written = self
            .write_pages(state, number, &cut, paced)
            .and_then(|()| self.move_blocks(state, &cut))
            .and_then(|()| self.write_maps(state, number, &cut))
            .and_then(|()| self.write_directory(state, number));
        let directory = match written {
            Ok(directory) => directory,
            Err(error) => {
                undo.discard(state);
                return Err(error);
            }
        };
        let superblock = Superblock {
            checkpoint: number,
            position: cut.position,
            next_txn: cut.next_txn,
            next_tree: cut.next_tree,
            page_end: cut.page_end,
            map_head: directory.blocks[0],
            undo_head: undo.head.blocks[0],
            undo_bytes: undo.head.bytes,
            is_amid_commit: cut.replayed_changes > 0,
        };
        let old = std::mem::replace(&mut state.directory_blocks, directory.blocks);
        state.free(&old);
        undo.keep(state);
        // From here on nothing needs space; after a failure the content of the disk is unknown.
        if !planted::is(Plant::SkipSync) {
            checkpointer.sync()?;
        }
        if let Some(log) = self.log.get() {
            log.sync_inline(Lsn(cut.position.0)).map_err(|error| stops(&error))?;
        }
        let at = u64::from(superblock.block()) * PAGE_BYTES as u64;
        checkpointer.file.write_at(at, &superblock.encode()).map_err(|error| write_failed(&error))?;
        checkpointer.sync()?;

        state.number = number;
        state.blocks.keep();
        let undo = state.undo_blocks.len() + state.undo_list.block_count();
        state.space.count(&state.blocks, cut.page_end, cut.records.len(), undo);
        state.changed_maps.clear();
        self.pool.reuse(&std::mem::take(&mut state.freed_pages));
        self.cut_file(state);
        checkpointer.position.store(cut.position.0, Ordering::Relaxed);
        self.counters.checkpoints.increment();
        if let Some(log) = self.log.get() {
            log.truncate_below(Lsn(cut.position.0)).map_err(|error| stops(&error))?;
        }
        Ok(())
    }

    /// Writes the pages that were changed before the cut, and takes those that were freed out of the map.
    fn write_pages(&self, state: &mut State, number: u64, cut: &Cut, paced: bool) -> Result<(), StoreError> {
        // Most of it is there. If not, it is said before anything is written.
        if !self.grow_to(cut.dirty_pages + map_blocks(cut.page_end))? {
            return Err(StoreError::DiskFull { what: DATA });
        }
        let mut block: Box<Block> = zero_block();
        let mut pace = Pace::begin(self, paced, cut.dirty_pages);
        let mut write_page = |state: &mut State, page: PageId, body: &Body| -> Result<(), StoreError> {
            let fresh = state.allocate()?;
            image::seal_page(&mut block, body, page.0, number);
            if let Err(error) = self.checkpointer.write_fresh(fresh, &block) {
                state.free_one(fresh);
                return Err(error);
            }
            self.counters.pages_written.increment();
            let old = self.pool.set_block(page, fresh);
            state.changed_maps.insert(page.0 as usize / MAP_PAGES);
            if old != 0 {
                state.free_one(old);
            }
            if old != 0 && planted::is(Plant::FreeEarly) {
                state.blocks.drop_kept(old);
            }
            Ok(())
        };
        let mut copy: Box<Body> = Box::new([0; BODY_BYTES]);
        // Written from their frames, and changed by others before that was known.
        let mut written_early: HashSet<PageId> = HashSet::new();
        let used_frames = self.pool.used_frames();
        let mut some = Vec::new();
        for first in (0..used_frames).step_by(FRAMES_IN_ORDER) {
            // In the order of the pages' numbers: what was made together is often read together.
            some.clear();
            let last = used_frames.min(first.saturating_add(FRAMES_IN_ORDER as u32));
            some.extend((first..last).filter_map(|frame| Some((self.pool.dirty_page(frame)?, frame))));
            some.sort_unstable();
            for &(_, frame) in &some {
                let Some((page, dirty)) = self.pool.copy_dirty(frame, cut.epoch, &mut copy) else { continue };
                write_page(state, page, &copy)?;
                if !self.pool.written(frame, page, dirty) {
                    written_early.insert(page);
                }
                if pace.step()? {
                    // Not all at the end: they take memory.
                    for (page, body) in self.pool.take_copies() {
                        if !written_early.remove(&page) {
                            write_page(state, page, &body)?;
                        }
                    }
                }
            }
        }
        for (page, body) in self.pool.take_copies() {
            if !written_early.remove(&page) {
                write_page(state, page, &body)?;
                pace.step()?;
            }
        }
        for page in self.pool.take_freed(cut.epoch) {
            let old = self.pool.unmap(page);
            if old != 0 {
                state.free_one(old);
                state.changed_maps.insert(page.0 as usize / MAP_PAGES);
            }
            state.freed_pages.push(page);
        }
        Ok(())
    }

    /// Moves blocks from the end of a file that is too long to its start. Their pages stay as they are.
    fn move_blocks(&self, state: &mut State, cut: &Cut) -> Result<(), StoreError> {
        let wanted = state.blocks_wanted();
        // Each move takes a block now and frees one when this checkpoint ends; its own lists are still to be written.
        let free = state.blocks.free_before(state.space.file_blocks());
        let most = free.saturating_sub(map_blocks(cut.page_end)).min(MOVED_BLOCKS_MAX);
        let (mut block, mut moved) = (zero_block(), 0);
        for from in (wanted..state.space.file_blocks()).rev() {
            if moved == most {
                break;
            }
            if !state.blocks.is_used(from) {
                continue;
            }
            if let Some(map) = state.map_blocks.iter().position(|&map| map == from) {
                state.changed_maps.insert(map);
                continue;
            }
            let read = self.checkpointer.file.read_at(u64::from(from) * PAGE_BYTES as u64, &mut block[..]);
            let page = PageId(image::number_of(&block));
            // A damaged block stays where it is. Chains are written again at each checkpoint, or go when their
            // transactions end.
            if read.is_err() || image::check(&block, Kind::Page, page.0).is_err() {
                continue;
            }
            let to = state.allocate()?;
            if to >= wanted {
                state.free_one(to);
                break;
            }
            let written = self
                .pool
                .move_page(page, from, to, || self.checkpointer.write_fresh(to, &block).map(|()| moved += 1));
            match written {
                Ok(true) => {
                    state.free_one(from);
                    state.changed_maps.insert(page.0 as usize / MAP_PAGES);
                }
                Ok(false) => state.free_one(to),
                Err(error) => {
                    state.free_one(to);
                    return Err(error);
                }
            }
        }
        state.idle_moves =
            if moved == 0 && state.space.file_blocks() > wanted { state.idle_moves + 1 } else { 0 };
        self.checkpointer.figures.moved_blocks.fetch_add(u64::from(moved), Ordering::Relaxed);
        Ok(())
    }

    /// Frees blocks at the end of a file that is too long, and shortens it.
    fn cut_file(&self, state: &mut State) {
        if state.space.file_blocks() <= state.blocks_wanted() {
            return;
        }
        let wanted = state.space.blocks_needed(self.pool.blocks_due(), Purpose::Any);
        let end = state.blocks.used_end();
        if state.space.cut(&*self.checkpointer.file, &state.blocks, end, wanted) {
            state.idle_moves = 0;
        }
    }

    /// Writes the parts of the map that changed.
    fn write_maps(&self, state: &mut State, number: u64, cut: &Cut) -> Result<(), StoreError> {
        let map_count = (cut.page_end as usize).div_ceil(MAP_PAGES).max(state.map_blocks.len());
        state.changed_maps.extend(state.map_blocks.len()..map_count);
        state.map_blocks.resize(map_count, 0);
        let mut block: Box<Block> = zero_block();
        let changed: Vec<usize> = state.changed_maps.iter().copied().collect();
        for map in changed {
            let fresh = state.allocate()?;
            let first = map * MAP_PAGES;
            for (index, place) in block[FRAME_HEADER_BYTES..].chunks_exact_mut(4).enumerate() {
                let page = PageId((first + index) as u64);
                let entry_block = self.pool.table().get(page).map_or(0, crate::pager::table::Entry::block);
                place.copy_from_slice(&entry_block.to_le_bytes());
            }
            image::seal(&mut block, Kind::Map, u64::from(fresh), number);
            if let Err(error) = self.checkpointer.write_fresh(fresh, &block) {
                state.free_one(fresh);
                return Err(error);
            }
            let old = std::mem::replace(&mut state.map_blocks[map], fresh);
            if old != 0 {
                state.free_one(old);
            }
        }
        Ok(())
    }

    fn write_directory(&self, state: &mut State, number: u64) -> Result<Chain, StoreError> {
        let directory: Vec<u8> = state.map_blocks.iter().flat_map(|block| block.to_le_bytes()).collect();
        self.write_chain(state, Kind::Directory, number, |chain, state| chain.put(state, &directory))
    }

    /// Writes a chain, or nothing.
    pub(crate) fn write_chain(
        &self,
        state: &mut State,
        kind: Kind,
        number: u64,
        fill: impl FnOnce(&mut ChainWriter<'_>, &mut State) -> Result<(), StoreError>,
    ) -> Result<Chain, StoreError> {
        let mut chain = ChainWriter::begin(&self.checkpointer, state, kind, number)?;
        let written = fill(&mut chain, state).and_then(|()| {
            let last = chain.blocks.len() - 1;
            chain.write_piece(last, 0)
        });
        match written {
            Ok(()) => Ok(Chain { blocks: chain.blocks, bytes: chain.bytes }),
            Err(error) => {
                state.free(&chain.blocks);
                Err(error)
            }
        }
    }
}
