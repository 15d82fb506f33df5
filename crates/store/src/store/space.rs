//! Space reservation: blocks of the data file for the next checkpoint, reserved before pages are changed.
//!
//! A checkpoint writes every changed page to a block that the previous state does not use. So a page is changed only
//! when the file has a free block for it, in addition to those for all other changed pages. The file grows ahead of its
//! writers. A full disk refuses the writers, never the checkpoint, which makes their pages clean, frees the blocks that
//! these had before and releases the log. Some blocks are reserved for statements that remove data: so DELETE, DROP
//! TABLE and purge can free space on a full disk.
//!
//! Invariants:
//! 1. `free` blocks of the first `file_blocks` may be allocated: neither the state being written nor the last durable
//!    one refers to them, or the latter only until the running checkpoint ends. That checkpoint has its blocks already,
//!    so pages changed meanwhile may count on these.
//! 2. The file has at least `file_blocks` blocks. Both numbers are determined again after a failed checkpoint.
//!
//! Changes made by a rollback are not reserved in advance. For the undo that a checkpoint saves, only as much is
//! reserved as the last checkpoint saved. On a full disk a large transaction therefore gets no checkpoint of its own. A
//! checkpoint may still run out of space, and then fails (`docs/decisions/disk-full.md`).

use super::DATA;
use super::checkpoint::{CHAIN_BYTES, MAP_PAGES, stops, write_failed};
use super::threads::FULL_RETRY;
use crate::error::StoreError;
use crate::pager::blocks::Blocks;
use crate::pager::frame::PAGE_BYTES;
use crate::store::Inner;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use env::disk::File;

/// Blocks that are reserved for statements that remove data: an eighth of those in use, within these bounds (4 MiB),
/// and a sixteenth of the pool at most.
const RESERVED_MIN: u32 = 8;
const RESERVED_MAX: u32 = 256;
/// Of them, those for changes of pages beyond what was requested: other statements at the same time, neighbours of a
/// leaf.
const SLACK_SHARE: u32 = 4;
/// The file grows by an eighth at a time, within these bounds (16 MiB), and by a sixty-fourth of the pool at most.
const GROWN_MIN: u32 = 8;
const GROWN_MAX: u32 = 1024;
/// Bytes that a checkpoint notes of a tree.
const TREE_BYTES: usize = 16;
/// Blocks of lists beyond those that grow with pages and trees: the undo of small transactions, and a new part of the map.
const LISTS_MIN: u32 = 3;

/// Blocks that are reserved for the undo of running transactions, at most: that of a large one is saved once, and stays
/// where it is.
const UNDO_MAX: usize = 256;

/// Blocks of the map of this many pages and of the list of these, at most.
pub(crate) fn map_blocks(page_end: u64) -> u32 {
    let maps = (page_end as usize).div_ceil(MAP_PAGES);
    u32::try_from(maps + (maps * 4).div_ceil(CHAIN_BYTES) + 1).unwrap_or(u32::MAX / 8)
}

/// A transaction of this many changes is a large one, which may have changed as many pages.
pub(crate) const LARGE: u64 = 128;

/// What a change of pages is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Purpose {
    /// Anything.
    Any,
    /// To remove more than is added.
    Remove,
    /// To roll changes back. A checkpoint during the rollback writes some undo again: about as much as pages, where
    /// space is short.
    Restore,
}

#[derive(Debug)]
pub(crate) struct SpaceReservation {
    file_blocks: AtomicU32,
    free: AtomicU32,
    /// Blocks that a checkpoint needs beside those of the pages.
    lists: AtomicU32,
    /// Held by the thread that makes the file longer or shorter.
    growing: Mutex<()>,
    /// The disk refused to make it longer.
    is_refused: AtomicBool,
    /// Large transactions that have changes to roll back.
    large: AtomicU32,
    reserved: AtomicU32,
    reserved_max: u32,
    grown_by_max: u32,
}

impl SpaceReservation {
    /// Of a pool with this many frames.
    pub(crate) fn new(file_blocks: u32, blocks: &Blocks, frames: u32) -> SpaceReservation {
        SpaceReservation {
            file_blocks: AtomicU32::new(file_blocks),
            free: AtomicU32::new(blocks.free_before(file_blocks)),
            lists: AtomicU32::new(LISTS_MIN),
            growing: Mutex::new(()),
            is_refused: AtomicBool::new(false),
            large: AtomicU32::new(0),
            reserved: AtomicU32::new(RESERVED_MIN),
            reserved_max: (frames / 16).clamp(RESERVED_MIN, RESERVED_MAX),
            grown_by_max: (frames / 64).clamp(GROWN_MIN, GROWN_MAX),
        }
    }

    /// A transaction is a large one from now on, until [`SpaceReservation::end_large`].
    pub(crate) fn begin_large(&self) {
        self.large.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_large(&self) {
        self.large.fetch_sub(1, Ordering::Relaxed);
    }

    fn reserved(&self) -> u32 {
        self.reserved.load(Ordering::Relaxed)
    }

    /// A step by which the file grows.
    fn grown_by(&self) -> u32 {
        (self.file_blocks() / 8).clamp(GROWN_MIN, self.grown_by_max)
    }

    /// The file's length.
    pub(crate) fn file_blocks(&self) -> u32 {
        self.file_blocks.load(Ordering::Relaxed)
    }

    /// The disk had no space when it was last asked.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    fn set_refused(&self, is_refused: bool) {
        self.is_refused.store(is_refused, Ordering::Relaxed);
    }

    /// Blocks wanted when this many pages are changed.
    #[inline]
    pub(crate) fn blocks_needed(&self, dirty: u32, purpose: Purpose) -> u32 {
        let beside = match purpose {
            Purpose::Any => self.reserved(),
            Purpose::Remove => self.reserved() / SLACK_SHARE,
            Purpose::Restore => dirty.min(self.reserved()),
        };
        dirty.saturating_add(self.lists.load(Ordering::Relaxed)).saturating_add(beside)
    }

    /// A checkpoint of this many pages is worth its while, if their blocks are what is missing.
    fn pages_worth_checkpoint(&self) -> u32 {
        (self.reserved() - self.reserved() / SLACK_SHARE) / 2
    }

    /// Whether a page may be changed when this many are.
    #[inline]
    pub(crate) fn is_enough(&self, dirty: u32, purpose: Purpose) -> bool {
        self.blocks_needed(dirty, purpose) <= self.free.load(Ordering::Relaxed)
    }

    /// Blocks wanted for the changes of the near future.
    fn blocks_needed_soon(&self, dirty: u32) -> u32 {
        self.blocks_needed(dirty.saturating_add(self.grown_by() / 2), Purpose::Any)
    }

    /// A block was allocated. If it lies behind the end of the file, the file grows with it.
    pub(crate) fn note_allocated(&self, block: u32) {
        if block >= self.file_blocks() {
            let _growing = self.growing.lock();
            if block >= self.file_blocks() {
                self.file_blocks.store(block + 1, Ordering::Relaxed);
                return;
            }
        }
        self.free.fetch_sub(1, Ordering::Relaxed);
    }

    /// A block may be allocated again, now or when the running checkpoint ends.
    pub(crate) fn note_freed(&self) {
        self.free.fetch_add(1, Ordering::Relaxed);
    }

    /// Recounts what is free; called by the checkpoint. `page_end` is the number of page numbers in use, `trees` of trees, `undo` of
    /// blocks that hold the undo of the transactions that ran: about as many as the next checkpoint will write.
    pub(crate) fn count(&self, blocks: &Blocks, page_end: u64, trees: usize, undo: usize) {
        let heads = (trees * TREE_BYTES).div_ceil(CHAIN_BYTES) + undo.min(UNDO_MAX);
        let lists = map_blocks(page_end) + u32::try_from(heads).unwrap_or(u32::MAX / 8) + LISTS_MIN;
        let _growing = self.growing.lock();
        self.lists.store(lists, Ordering::Relaxed);
        let reserved = (blocks.used_count() / 8).clamp(RESERVED_MIN, self.reserved_max);
        self.reserved.store(reserved, Ordering::Relaxed);
        self.free.store(blocks.free_before(self.file_blocks()), Ordering::Relaxed);
    }

    /// The disk refused a write: reads how long the file is now.
    pub(crate) fn measure(&self, file: &dyn File, blocks: &Blocks) -> std::io::Result<()> {
        let _growing = self.growing.lock();
        let file_blocks = u32::try_from(file.len()? / PAGE_BYTES as u64).unwrap_or(u32::MAX);
        self.file_blocks.store(file_blocks, Ordering::Relaxed);
        self.free.store(blocks.free_before(file_blocks), Ordering::Relaxed);
        Ok(())
    }

    /// Makes the file longer, so that it has `wanted` free blocks or a step's more than there were.
    ///
    /// # Errors
    /// The disk has no space, or refuses for another reason.
    pub(crate) fn grow(&self, file: &dyn File, wanted: u32) -> std::io::Result<()> {
        let _growing = self.growing.lock();
        let missing = wanted.saturating_sub(self.free.load(Ordering::Relaxed));
        if missing == 0 {
            return Ok(());
        }
        let length = self.file_blocks();
        let grow_by = |blocks: u32| {
            let end = u64::from(length) * PAGE_BYTES as u64;
            let grown = file.allocate(end, u64::from(blocks) * PAGE_BYTES as u64);
            if grown.is_err() {
                // Some blocks may have been allocated that are needed more elsewhere. If they cannot be freed, they are
                // used later.
                let _given_back = file.set_len(end);
            }
            grown.map(|()| blocks)
        };
        // A step if there is space for it, else what is missing.
        let step = self.grown_by();
        let grown =
            if step > missing { grow_by(step).or_else(|_| grow_by(missing)) } else { grow_by(missing) };
        let blocks = grown?;
        // In this order: a thread that is given one of these blocks subtracts it from what is free.
        self.free.fetch_add(blocks, Ordering::Relaxed);
        self.file_blocks.store(length + blocks, Ordering::Relaxed);
        Ok(())
    }

    /// Cuts the file behind `end`, and leaves this many free blocks in it.
    pub(crate) fn cut(&self, file: &dyn File, blocks: &Blocks, end: u32, wanted: u32) -> bool {
        let _growing = self.growing.lock();
        let end = end.saturating_add(wanted.saturating_sub(blocks.free_before(end)));
        // A file that cannot be cut keeps its length.
        let is_cut = end < self.file_blocks() && file.set_len(u64::from(end) * PAGE_BYTES as u64).is_ok();
        if is_cut {
            self.file_blocks.store(end, Ordering::Relaxed);
            self.free.store(blocks.free_before(end), Ordering::Relaxed);
        }
        is_cut
    }
}

impl Inner {
    /// Whether a page may be changed and the next checkpoint has its blocks.
    #[inline]
    pub(crate) fn has_blocks(&self, purpose: Purpose) -> bool {
        self.checkpointer.space.is_enough(self.pool.blocks_due(), purpose)
    }

    /// Finds blocks for pages that are to be changed. Outside a critical section, without a latch; a mutex that the
    /// caller holds stays locked while a checkpoint is made.
    ///
    /// # Errors
    /// `DiskFull`: the disk has none, and the last checkpoint freed none.
    #[cold]
    pub(crate) fn reserve_blocks(&self, purpose: Purpose) -> Result<(), StoreError> {
        let found = self.grow_or_checkpoint(purpose);
        self.checkpointer.space.set_refused(!matches!(found, Ok(true)));
        match found {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::DiskFull { what: DATA }),
            Err(error) => Err(error),
        }
    }

    /// Makes the file longer, or makes a checkpoint that frees blocks. False if neither helped.
    fn grow_or_checkpoint(&self, purpose: Purpose) -> Result<bool, StoreError> {
        let (space, is_full) = (&self.checkpointer.space, self.checkpointer.is_full());
        let wanted = || space.blocks_needed(self.pool.blocks_due().saturating_add(1), purpose);
        // The checkpoint thread asks a disk that had no space again and again: not every statement does.
        let is_asked = space.is_refused() && self.options.background_threads;
        if !is_asked && self.grow_to(wanted())? {
            return Ok(true);
        }
        // A transaction that changes more pages than there is space for, from one checkpoint to the next, may not find
        // the space again to roll all of them back. A checkpoint is made for it only where that releases log.
        let is_bounded = purpose == Purpose::Restore
            || space.large.load(Ordering::Relaxed) == 0
            || self.log_kept_now() > 2 * self.options.log.segment_bytes;
        if !is_bounded {
            self.checkpointer.request();
            return Ok(false);
        }
        // A checkpoint frees the blocks that its pages had before, and the log up to it. If that did not help, some
        // time passes before the next one, unless there are pages to write.
        let is_tried = (space.is_refused() || is_full)
            && self.env.clock.now().since(self.checkpointer.ended()) < FULL_RETRY;
        if is_tried && (is_full || self.pool.dirty_count() < space.pages_worth_checkpoint()) {
            return Ok(false);
        }
        self.make_frames_clean()?;
        self.grow_to(wanted())
    }

    /// As [`Inner::reserve_blocks`], for callers that continue with what the pool has if there is no space at all:
    /// recovery, and rollbacks.
    ///
    /// # Errors
    /// The store has stopped, or stops.
    #[inline]
    pub(crate) fn reserve_blocks_if_possible(&self, purpose: Purpose) -> Result<(), StoreError> {
        if self.has_blocks(purpose) {
            return Ok(());
        }
        match self.reserve_blocks(purpose) {
            Err(StoreError::DiskFull { .. }) => Ok(()),
            found => found,
        }
    }

    /// The log has no space for a commit: a checkpoint releases the segments before it, if there are any. False if that
    /// did not help. Outside a critical section, without a latch or a mutex.
    pub(crate) fn shorten_log(&self) -> bool {
        // A failure that stops the store is met again by the commit.
        self.log_kept_now() > self.options.log.segment_bytes / 2 && self.make_frames_clean().is_ok()
    }

    /// Makes the file longer before writers need it, and asks again if the disk had no space.
    pub(crate) fn grow_ahead(&self) -> Result<(), StoreError> {
        let space = &self.checkpointer.space;
        let grown = self.grow(space.blocks_needed_soon(self.pool.blocks_due()))?;
        space.set_refused(!grown && !self.has_blocks(Purpose::Any));
        Ok(())
    }

    /// Makes sure that the file has `wanted` free blocks, at the cost of spare segments of the log if need be. False if
    /// the disk has no space for them.
    pub(crate) fn grow_to(&self, wanted: u32) -> Result<bool, StoreError> {
        let mut grown = self.grow(wanted)?;
        if !grown
            && let Some(log) = self.log.get()
            && log.give_up_spares().map_err(|error| stops(&error))?
        {
            grown = self.grow(wanted)?;
        }
        Ok(grown)
    }

    fn grow(&self, wanted: u32) -> Result<bool, StoreError> {
        match self.checkpointer.space.grow(&*self.checkpointer.file, wanted) {
            Ok(()) => Ok(true),
            Err(error) if env::disk::is_full(&error) => Ok(false),
            Err(error) => Err(self.stop(&write_failed(&error).to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::disk::FileOptions;
    use env::simulated::{Faults, SimWorld};
    use std::path::Path;

    #[test]
    fn blocks_are_had_before_they_are_wanted() {
        let world = SimWorld::new(1);
        let folder = world.env().disk.folder(Path::new("/"), true).unwrap();
        let file = folder.open("data", FileOptions::create()).unwrap();
        let mut blocks = Blocks::new();
        let space = SpaceReservation::new(2, &blocks, 1024);
        assert!(!space.is_enough(0, Purpose::Remove), "the file has only its superblocks");
        space.grow(&*file, space.blocks_needed(10, Purpose::Any)).unwrap();
        // Ten pages, three lists, eight blocks kept back.
        assert_eq!(space.file_blocks(), 2 + 10 + 3 + 8);
        assert_eq!(file.len().unwrap(), u64::from(space.file_blocks()) * PAGE_BYTES as u64);
        assert!(space.is_enough(10, Purpose::Any) && !space.is_enough(11, Purpose::Any));
        assert!(space.is_enough(16, Purpose::Remove) && !space.is_enough(17, Purpose::Remove));
        assert!(space.is_enough(10, Purpose::Restore) && !space.is_enough(11, Purpose::Restore));
        let given = blocks.allocate().unwrap();
        space.note_allocated(given);
        assert!(!space.is_enough(10, Purpose::Any));
        blocks.free(given);
        space.note_freed();
        assert!(space.is_enough(10, Purpose::Any));
        // A little at a time, not one by one; what there is if there is not more.
        space.grow(&*file, space.blocks_needed(11, Purpose::Any)).unwrap();
        assert_eq!(space.file_blocks(), 23 + 8);
        let max = world.disk().used_bytes(false) + 3 * PAGE_BYTES as u64;
        world.disk().plan(Faults { space_bytes_max: Some(max), ..Faults::default() });
        space.grow(&*file, space.blocks_needed(20, Purpose::Any)).unwrap();
        assert_eq!(space.file_blocks(), 31 + 2);
        let error = space.grow(&*file, space.blocks_needed(23, Purpose::Any)).unwrap_err();
        assert!(env::disk::is_full(&error), "{error}");
        assert_eq!(file.len().unwrap(), 33 * PAGE_BYTES as u64);
        assert!(space.is_enough(20, Purpose::Any) && !space.is_enough(21, Purpose::Any));
        // Cut to what is used and what is wanted.
        assert!(space.cut(&*file, &blocks, blocks.used_end(), 5));
        assert_eq!((space.file_blocks(), file.len().unwrap()), (7, 7 * PAGE_BYTES as u64));
        assert!(!space.cut(&*file, &blocks, blocks.used_end(), 20));
        // A write behind the end makes the file longer, and no more of it free.
        space.note_allocated(9);
        assert_eq!(space.file_blocks(), 10);
        space.measure(&*file, &blocks).unwrap();
        assert_eq!(space.file_blocks(), 7);
    }
}
