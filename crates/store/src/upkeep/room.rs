//! Room for the next checkpoint, had before pages are changed.
//!
//! A checkpoint writes every changed page to a block that the state before it does not use. So a page is changed only when the file has a
//! block for it, beside those for all other changed pages: the file grows ahead of its writers, and a disk that is full refuses them, never the
//! checkpoint that makes their pages clean, gives back the blocks these had before and lets go of the log. Some blocks are kept back for who
//! removes: so DELETE, DROP TABLE and purge make room on a disk that has none.
//!
//! Invariants:
//! 1. `free` blocks of the first `file_blocks` may be given out: the state being written does not lead to them, and the last durable one neither, or
//!    only until the checkpoint that runs ends. That has what it needs beforehand, so pages that are changed meanwhile may count on these.
//! 2. The file is at least `file_blocks` long. Both are found anew when a checkpoint was given up.
//!
//! What a rollback changes again is not counted beforehand, and the undo that a checkpoint saves only by what the last one saved. On a full disk a large
//! transaction therefore gets no checkpoint of its own. Still one may find no room, and is given up (`docs/decisions/disk-full.md`).

use super::checkpoint::{CHAIN_BYTES, MAP_PAGES, stops, write_failed};
use super::recover::DATA;
use super::worker::FULL_RETRY;
use crate::error::StoreError;
use crate::pager::blocks::Blocks;
use crate::pager::frame::PAGE_BYTES;
use crate::store::Inner;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use env::disk::File;

/// Blocks that only who removes something may count on: an eighth of those in use, within these bounds (4 MiB), and a sixteenth of the pool
/// at most.
const KEPT_BACK_MIN: u32 = 8;
const KEPT_BACK_MAX: u32 = 256;
/// Of them, those for what changes pages beyond what it asked for: others at the same time, neighbours of a leaf.
const SLACK_SHARE: u32 = 4;
/// The file grows by an eighth at a time, within these bounds (16 MiB), and by a sixty-fourth of the pool at most.
const GROWN_MIN: u32 = 8;
const GROWN_MAX: u32 = 1024;
/// Bytes that a checkpoint notes of a tree.
const TREE_BYTES: usize = 16;
/// Blocks of lists beyond those that grow with pages and trees: the undo of small transactions, and a new part of the map.
const LISTS_MIN: u32 = 3;

/// Blocks that are had beforehand for the undo of transactions that run, at most: a large one's is saved once, and stays where it is.
const UNDO_MAX: usize = 256;

/// Blocks of the map of so many pages and of the list of these, at most.
pub(super) fn map_blocks(page_end: u64) -> u32 {
    let maps = (page_end as usize).div_ceil(MAP_PAGES);
    u32::try_from(maps + (maps * 4).div_ceil(CHAIN_BYTES) + 1).unwrap_or(u32::MAX / 8)
}

/// A transaction of so many changes is a large one, which may have changed as many pages.
pub(crate) const LARGE: u64 = 128;

/// What a change of pages is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Purpose {
    /// Anything.
    Any,
    /// To take away more than is added.
    Remove,
    /// To take changes back. A checkpoint amid that writes some undo anew: about as much as pages, where room is short.
    Restore,
}

#[derive(Debug)]
pub(crate) struct Room {
    file_blocks: AtomicU32,
    free: AtomicU32,
    /// Blocks that a checkpoint needs beside those of the pages.
    lists: AtomicU32,
    /// Whoever makes the file longer or shorter.
    growing: Mutex<()>,
    /// The disk refused to make it longer.
    is_refused: AtomicBool,
    /// Large transactions that have changes to take back.
    large: AtomicU32,
    kept_back: AtomicU32,
    kept_back_max: u32,
    grown_by_max: u32,
}

impl Room {
    /// Of a pool with so many frames.
    pub(crate) fn new(file_blocks: u32, blocks: &Blocks, frames: u32) -> Room {
        Room {
            file_blocks: AtomicU32::new(file_blocks),
            free: AtomicU32::new(blocks.free_before(file_blocks)),
            lists: AtomicU32::new(LISTS_MIN),
            growing: Mutex::new(()),
            is_refused: AtomicBool::new(false),
            large: AtomicU32::new(0),
            kept_back: AtomicU32::new(KEPT_BACK_MIN),
            kept_back_max: (frames / 16).clamp(KEPT_BACK_MIN, KEPT_BACK_MAX),
            grown_by_max: (frames / 64).clamp(GROWN_MIN, GROWN_MAX),
        }
    }

    /// A transaction is a large one from now on, until [`Room::end_large`].
    pub(crate) fn begin_large(&self) {
        self.large.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_large(&self) {
        self.large.fetch_sub(1, Ordering::Relaxed);
    }

    fn kept_back(&self) -> u32 {
        self.kept_back.load(Ordering::Relaxed)
    }

    /// A step by which the file grows.
    fn grown_by(&self) -> u32 {
        (self.file_blocks() / 8).clamp(GROWN_MIN, self.grown_by_max)
    }

    /// The file's length.
    pub(crate) fn file_blocks(&self) -> u32 {
        self.file_blocks.load(Ordering::Relaxed)
    }

    /// The disk had none to give when it was asked last.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    fn set_refused(&self, is_refused: bool) {
        self.is_refused.store(is_refused, Ordering::Relaxed);
    }

    /// Blocks wanted when so many pages are changed.
    #[inline]
    pub(crate) fn wanted(&self, dirty: u32, purpose: Purpose) -> u32 {
        let beside = match purpose {
            Purpose::Any => self.kept_back(),
            Purpose::Remove => self.kept_back() / SLACK_SHARE,
            Purpose::Restore => dirty.min(self.kept_back()),
        };
        dirty.saturating_add(self.lists.load(Ordering::Relaxed)).saturating_add(beside)
    }

    /// A checkpoint of so many pages is worth its while, if their blocks are what is missing.
    fn worth(&self) -> u32 {
        (self.kept_back() - self.kept_back() / SLACK_SHARE) / 2
    }

    /// Whether a page may be changed when so many are.
    #[inline]
    pub(crate) fn is_enough(&self, dirty: u32, purpose: Purpose) -> bool {
        self.wanted(dirty, purpose) <= self.free.load(Ordering::Relaxed)
    }

    /// Blocks wanted for the changes of the near future.
    fn wanted_soon(&self, dirty: u32) -> u32 {
        self.wanted(dirty.saturating_add(self.grown_by() / 2), Purpose::Any)
    }

    /// A block was given out. If it lies behind the end of the file this grows with it.
    pub(crate) fn given_out(&self, block: u32) {
        if block >= self.file_blocks() {
            let _growing = self.growing.lock();
            if block >= self.file_blocks() {
                self.file_blocks.store(block + 1, Ordering::Relaxed);
                return;
            }
        }
        self.free.fetch_sub(1, Ordering::Relaxed);
    }

    /// A block may be given out again, now or when the checkpoint that runs ends.
    pub(crate) fn given_back(&self) {
        self.free.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts anew what is free; by the checkpoint. So many pages have numbers, there are so many trees, and so many blocks hold the undo
    /// of those who ran: about as many as the next one will write.
    pub(crate) fn count(&self, blocks: &Blocks, page_end: u64, trees: usize, undo: usize) {
        let heads = (trees * TREE_BYTES).div_ceil(CHAIN_BYTES) + undo.min(UNDO_MAX);
        let lists = map_blocks(page_end) + u32::try_from(heads).unwrap_or(u32::MAX / 8) + LISTS_MIN;
        let _growing = self.growing.lock();
        self.lists.store(lists, Ordering::Relaxed);
        let kept_back = (blocks.used_count() / 8).clamp(KEPT_BACK_MIN, self.kept_back_max);
        self.kept_back.store(kept_back, Ordering::Relaxed);
        self.free.store(blocks.free_before(self.file_blocks()), Ordering::Relaxed);
    }

    /// The disk refused a write: how long the file is now is asked.
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
    /// The disk has no room, or refuses for another reason.
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
                // A part may have been had, and is needed more elsewhere. If it cannot be given back, it is used later.
                let _given_back = file.set_len(end);
            }
            grown.map(|()| blocks)
        };
        // A step if there is room for it, else what is missing.
        let step = self.grown_by();
        let grown =
            if step > missing { grow_by(step).or_else(|_| grow_by(missing)) } else { grow_by(missing) };
        let blocks = grown?;
        // In this order: who is given one of these blocks takes it off what is free.
        self.free.fetch_add(blocks, Ordering::Relaxed);
        self.file_blocks.store(length + blocks, Ordering::Relaxed);
        Ok(())
    }

    /// Cuts the file behind `end`, and leaves so many free blocks in it.
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
        self.checkpointer.room.is_enough(self.pool.blocks_due(), purpose)
    }

    /// Finds blocks for pages that are to be changed. Outside the gate, without a latch; who holds a mutex has it while a checkpoint is made.
    ///
    /// # Errors
    /// `DiskFull`: the disk has none, and the last checkpoint gave none back.
    #[cold]
    pub(crate) fn find_room(&self, purpose: Purpose) -> Result<(), StoreError> {
        let found = self.grow_or_give_back(purpose);
        self.checkpointer.room.set_refused(!matches!(found, Ok(true)));
        match found {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::DiskFull { what: DATA }),
            Err(error) => Err(error),
        }
    }

    /// Has the file made longer, or a checkpoint made that gives blocks back. False if neither was of use.
    fn grow_or_give_back(&self, purpose: Purpose) -> Result<bool, StoreError> {
        let (room, is_full) = (&self.checkpointer.room, self.checkpointer.is_full());
        let wanted = || room.wanted(self.pool.blocks_due().saturating_add(1), purpose);
        // The upkeep thread asks a disk that had nothing again and again: not each statement does.
        let is_asked = room.is_refused() && self.options.background_threads;
        if !is_asked && self.grow_to(wanted())? {
            return Ok(true);
        }
        // Who changes more pages than the room there is, a checkpoint after another, may not find it again for taking all that back. Unless the
        // log gives it.
        let is_bounded = purpose == Purpose::Restore
            || room.large.load(Ordering::Relaxed) == 0
            || self.log_kept_now() > 2 * self.options.log.segment_bytes;
        if !is_bounded {
            self.checkpointer.ask();
            return Ok(false);
        }
        // A checkpoint gives back the blocks that its pages had before, and the log up to it. If that was of no use it is some time
        // before the next, unless there are pages to write.
        let is_tried = (room.is_refused() || is_full)
            && self.env.clock.now().since(self.checkpointer.ended()) < FULL_RETRY;
        if is_tried && (is_full || self.pool.dirty_count() < room.worth()) {
            return Ok(false);
        }
        self.make_room()?;
        self.grow_to(wanted())
    }

    /// As [`Inner::find_room`], for who goes on with what the pool has if there is no room at all: recovery, and who takes changes back.
    ///
    /// # Errors
    /// The store has stopped, or stops.
    #[inline]
    pub(crate) fn find_room_if_any(&self, purpose: Purpose) -> Result<(), StoreError> {
        if self.has_blocks(purpose) {
            return Ok(());
        }
        match self.find_room(purpose) {
            Err(StoreError::DiskFull { .. }) => Ok(()),
            found => found,
        }
    }

    /// The log has no room for a commit: a checkpoint lets go of the segments before it, if there are any. False if that is of no use.
    /// Outside the gate, without a latch or a mutex.
    pub(crate) fn shorten_log(&self) -> bool {
        // A failure that stops the store is met again by the commit.
        self.log_kept_now() > self.options.log.segment_bytes / 2 && self.make_room().is_ok()
    }

    /// Makes the file longer before writers need it, and asks again if the disk had no room.
    pub(super) fn grow_ahead(&self) -> Result<(), StoreError> {
        let room = &self.checkpointer.room;
        let grown = self.grow(room.wanted_soon(self.pool.blocks_due()))?;
        room.set_refused(!grown && !self.has_blocks(Purpose::Any));
        Ok(())
    }

    /// Gives the file so many free blocks, at the cost of spare segments of the log if need be. False if the disk has no room for them.
    pub(super) fn grow_to(&self, wanted: u32) -> Result<bool, StoreError> {
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
        match self.checkpointer.room.grow(&*self.checkpointer.file, wanted) {
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
        let room = Room::new(2, &blocks, 1024);
        assert!(!room.is_enough(0, Purpose::Remove), "the file has only its superblocks");
        room.grow(&*file, room.wanted(10, Purpose::Any)).unwrap();
        // Ten pages, three lists, eight blocks kept back.
        assert_eq!(room.file_blocks(), 2 + 10 + 3 + 8);
        assert_eq!(file.len().unwrap(), u64::from(room.file_blocks()) * PAGE_BYTES as u64);
        assert!(room.is_enough(10, Purpose::Any) && !room.is_enough(11, Purpose::Any));
        assert!(room.is_enough(16, Purpose::Remove) && !room.is_enough(17, Purpose::Remove));
        assert!(room.is_enough(10, Purpose::Restore) && !room.is_enough(11, Purpose::Restore));
        let given = blocks.allocate().unwrap();
        room.given_out(given);
        assert!(!room.is_enough(10, Purpose::Any));
        blocks.free(given);
        room.given_back();
        assert!(room.is_enough(10, Purpose::Any));
        // A little at a time, not one by one; what there is if there is not more.
        room.grow(&*file, room.wanted(11, Purpose::Any)).unwrap();
        assert_eq!(room.file_blocks(), 23 + 8);
        let max = world.disk().used_bytes(false) + 3 * PAGE_BYTES as u64;
        world.disk().plan(Faults { space_bytes_max: Some(max), ..Faults::default() });
        room.grow(&*file, room.wanted(20, Purpose::Any)).unwrap();
        assert_eq!(room.file_blocks(), 31 + 2);
        let error = room.grow(&*file, room.wanted(23, Purpose::Any)).unwrap_err();
        assert!(env::disk::is_full(&error), "{error}");
        assert_eq!(file.len().unwrap(), 33 * PAGE_BYTES as u64);
        assert!(room.is_enough(20, Purpose::Any) && !room.is_enough(21, Purpose::Any));
        // Cut to what is used and what is wanted.
        assert!(room.cut(&*file, &blocks, blocks.used_end(), 5));
        assert_eq!((room.file_blocks(), file.len().unwrap()), (7, 7 * PAGE_BYTES as u64));
        assert!(!room.cut(&*file, &blocks, blocks.used_end(), 20));
        // Who writes behind the end makes it longer, and nothing free by that.
        room.given_out(9);
        assert_eq!(room.file_blocks(), 10);
        room.measure(&*file, &blocks).unwrap();
        assert_eq!(room.file_blocks(), 7);
    }
}
