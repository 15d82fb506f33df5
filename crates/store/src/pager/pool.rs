//! The buffer pool: finds a page's frame, loads and evicts, and lets a page be changed without losing what a running
//! checkpoint still has to write.
//!
//! Invariants:
//! 1. A page in a frame whose dirty epoch is 0 equals its block. Only such pages are evicted.
//! 2. While a checkpoint runs: before the first change of an epoch to a page that is dirty from an earlier one, its
//!    bytes are copied to `copies`, and that checkpoint writes them from there. If it is given up they are dropped: the
//!    next one writes the page as it will be then.
//! 3. The epoch changes only while no change is under way (`crate::checkpoint_latch`), so it is constant inside one.
//! 4. A freed page's number is given out again only after a checkpoint wrote a map without it.
//! 5. Only one loader works on a page at a time (`loading`), and a frame belongs to a page when both say so under
//!    latch.
//!
//! Eviction is by a clock, except for pages that a long scan brought in ([`Pool::shared_for_scan`]): they queue up, do
//! not count as used because of the scan, and beyond three eighths of the frames the oldest of them goes first, so that
//! a scan of a table larger than the pool leaves to the others what they use. Whoever else uses such a page makes it
//! one of the clock's. Reasons and figures: `docs/decisions/scans.md`.

use super::PageMiss;
use super::frame::{Arena, Body, ExclusiveGuard, PAGE_BYTES, SharedGuard};
use super::image::{self, Block, Kind};
use super::table::{Entry, PAGE_ID_MAX, PageTable};
use crate::error::StoreError;
use crate::ids::PageId;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use env::disk::File;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

/// The fewest frames a pool works with: enough for a few operations that each hold a path of latches.
pub(crate) const FRAMES_MIN: u32 = 64;
const LINE_BYTES: usize = 64;
/// Header and the slots of some 60 records.
const LEAF_LINES_PREFETCHED: usize = 9;
const LOADING_SHARDS: usize = 64;
/// So many frames are never dirty: with fewer clean ones a descent could evict the path it came along, again and again.
const CLEAN_FRAMES_MIN: u32 = 24;
const _: () = assert!(CLEAN_FRAMES_MIN < FRAMES_MIN / 2);
/// Of this number of eighths of the frames, pages that were read by a scan are not the first to be evicted.
const SCANNED_EIGHTHS: usize = 3;
/// Pages in the queue that no longer belong to a scan and are passed over at once.
const SCANNED_SKIPPED_MAX: usize = 64;
/// Once in this many victims the clock chooses in any case: what nobody uses any more makes way for what is scanned again and again.
const CLOCK_EVERY: u64 = 32;
/// Frames that the clock's hand passes at once where latches are held or inside a critical section: some 50 us. A
/// thread that finds none continues outside, with [`Pool::sweep`].
const CLOCK_STEPS_MAX: u64 = 512;
/// So many frames a sweep makes free.
const SWEPT_FRAMES: usize = 16;

#[derive(Debug)]
pub(crate) struct Pool {
    arena: Arena,
    table: PageTable,
    file: Arc<dyn File>,
    /// The running epoch, from 1. A checkpoint begins the next one.
    epoch: AtomicU64,
    /// Changes only between [`Pool::begin_epoch`] and [`Pool::end_copies`].
    copies_wanted: AtomicBool,
    /// Old contents for the running checkpoint (invariant 2).
    copies: Mutex<Vec<(PageId, Box<Body>)>>,
    /// Of them, those of pages without a block: such a page takes one for its copy and one for itself.
    new_copies: AtomicU32,
    numbers: Mutex<PageNumbers>,
    free_frames: Mutex<Vec<u32>>,
    /// Frames from here on were never used.
    fresh_frame: AtomicU32,
    clock_hand: AtomicU32,
    /// Pages that came by a scan, oldest first, and their frames; they may have left since.
    scanned: Mutex<VecDeque<(u32, PageId)>>,
    loading: [Mutex<()>; LOADING_SHARDS],
    /// How many frames hold changed pages.
    dirty_count: AtomicU32,
    counters: PoolCounters,
}

#[derive(Debug)]
struct PageNumbers {
    next: u64,
    reusable: Vec<u64>,
    freed: Vec<(PageId, u64)>,
}

/// What the pool did since it was opened.
#[derive(Debug, Default)]
pub(crate) struct PoolCounters {
    pub(crate) pages_read: AtomicU64,
    /// Pages that the file was asked for before they were needed.
    pub(crate) pages_read_ahead: AtomicU64,
    pub(crate) pages_evicted: AtomicU64,
    pub(crate) pages_made: AtomicU64,
    pub(crate) pages_freed: AtomicU64,
}

/// What a page is read for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PageUse {
    /// It will be wanted again.
    Again,
    /// By a scan that passes it.
    Once,
}

thread_local! {
    static MAY_WAIT_INLINE: Cell<bool> = const { Cell::new(false) };
}

/// Runs an operation that waits for the disk wherever it is: for what cannot be done again from its start, or was, too often.
#[cold]
pub(crate) fn with_inline_waits<R>(operation: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            MAY_WAIT_INLINE.set(self.0);
        }
    }
    let _before = Before(MAY_WAIT_INLINE.replace(true));
    operation()
}

/// Whether this thread may wait for the disk where it is.
pub(crate) fn may_wait_inline() -> bool {
    MAY_WAIT_INLINE.get()
}

impl Pool {
    /// # Errors
    /// The system has no such memory.
    pub(crate) fn new(file: Arc<dyn File>, frame_count: u32) -> std::io::Result<Pool> {
        Ok(Pool {
            arena: Arena::new(frame_count.max(FRAMES_MIN))?,
            table: PageTable::new(),
            file,
            epoch: AtomicU64::new(1),
            copies_wanted: AtomicBool::new(false),
            copies: Mutex::default(),
            new_copies: AtomicU32::new(0),
            numbers: Mutex::new(PageNumbers { next: 1, reusable: Vec::new(), freed: Vec::new() }),
            free_frames: Mutex::default(),
            fresh_frame: AtomicU32::new(0),
            clock_hand: AtomicU32::new(0),
            scanned: Mutex::default(),
            loading: [const { Mutex::new(()) }; LOADING_SHARDS],
            dirty_count: AtomicU32::new(0),
            counters: PoolCounters::default(),
        })
    }

    pub(crate) fn arena(&self) -> &Arena {
        &self.arena
    }

    pub(crate) fn table(&self) -> &PageTable {
        &self.table
    }

    pub(crate) fn counters(&self) -> &PoolCounters {
        &self.counters
    }

    pub(crate) fn dirty_count(&self) -> u32 {
        self.dirty_count.load(Ordering::Relaxed)
    }

    /// Blocks that pages as they are now will take.
    #[inline]
    pub(crate) fn blocks_due(&self) -> u32 {
        self.dirty_count() + self.new_copies.load(Ordering::Relaxed)
    }

    /// Changes may make this many pages dirty before a checkpoint has to come: the other frames are for readers and rollbacks.
    pub(crate) fn dirty_max(&self) -> u32 {
        let frames = self.arena.frame_count();
        (frames - frames / 8).min(frames - CLEAN_FRAMES_MIN - FRAMES_MIN / 8)
    }

    /// And this many while no checkpoint is possible.
    pub(crate) fn dirty_full_max(&self) -> u32 {
        (self.arena.frame_count() / 2).min(self.dirty_max())
    }

    /// How many pages exist, about.
    pub(crate) fn page_count(&self) -> u64 {
        let numbers = self.numbers.lock();
        numbers.next - 1 - numbers.reusable.len() as u64 - numbers.freed.len() as u64
    }

    /// The frame a page is in, loaded if need be. The page may leave again: look, then validate or latch and compare.
    #[inline]
    pub(crate) fn resolve(&self, page: PageId) -> Result<u32, PageMiss> {
        let Some(entry) = self.table.get(page) else { return Err(PageMiss::Gone) };
        match entry.frame() {
            Some(frame) => Ok(frame),
            None => self.miss(page, PageUse::Again),
        }
    }

    /// Asks for the first lines of a leaf of common size, if it is in memory: its latch and its slots come together then.
    #[inline]
    pub(crate) fn prefetch_leaf(&self, page: PageId) {
        if let Some(frame) = self.table.get(page).and_then(Entry::frame) {
            self.arena.prefetch(frame);
            let body = self.arena.racy(frame);
            for line in 1..LEAF_LINES_PREFETCHED {
                body.prefetch(line * LINE_BYTES);
            }
        }
    }

    /// Finds the page and the version to validate what is read of it.
    #[inline]
    pub(crate) fn optimistic(&self, page: PageId) -> Result<(u32, u64), PageMiss> {
        loop {
            let frame = self.resolve(page)?;
            let version = self.arena.optimistic(frame);
            if self.arena.page_id(frame) == page.0 {
                self.arena.touch(frame);
                return Ok((frame, version));
            }
        }
    }

    /// Latches the page for reading.
    #[inline]
    pub(crate) fn shared(&self, page: PageId) -> Result<SharedGuard<'_>, PageMiss> {
        loop {
            let frame = self.resolve(page)?;
            let guard = self.arena.shared(frame);
            if self.arena.page_id(frame) == page.0 {
                self.arena.touch(frame);
                return Ok(guard);
            }
        }
    }

    /// The page of a latched frame.
    pub(crate) fn page_of(&self, guard: &SharedGuard<'_>) -> PageId {
        PageId(self.arena.page_id(guard.frame()))
    }

    /// As [`Pool::shared`], for a scan that will not come back: the page does not count as used because of this.
    pub(crate) fn shared_for_scan(&self, page: PageId) -> Result<SharedGuard<'_>, PageMiss> {
        loop {
            let Some(entry) = self.table.get(page) else { return Err(PageMiss::Gone) };
            let frame = match entry.frame() {
                Some(frame) => frame,
                None => self.miss(page, PageUse::Once)?,
            };
            let guard = self.arena.shared(frame);
            if self.arena.page_id(frame) == page.0 {
                return Ok(guard);
            }
        }
    }

    /// Tells the file that these pages are wanted soon, if they are not in memory.
    pub(crate) fn read_ahead(&self, pages: &[PageId]) {
        let absent = |page: &PageId| {
            let entry = self.table.get(*page)?;
            (entry.frame().is_none() && entry.block() != 0).then(|| entry.block())
        };
        let mut blocks: Vec<u32> = pages.iter().filter_map(absent).collect();
        blocks.sort_unstable();
        for run in blocks.chunk_by(|one, next| one + 1 == *next) {
            self.file.will_need(u64::from(run[0]) * PAGE_BYTES as u64, (run.len() * PAGE_BYTES) as u64);
        }
        self.counters.pages_read_ahead.fetch_add(blocks.len() as u64, Ordering::Relaxed);
    }

    /// Latches the page for writing.
    #[inline]
    pub(crate) fn exclusive(&self, page: PageId) -> Result<ExclusiveGuard<'_>, PageMiss> {
        loop {
            let frame = self.resolve(page)?;
            let guard = self.arena.exclusive(frame);
            if self.arena.page_id(frame) == page.0 {
                self.arena.touch(frame);
                return Ok(guard);
            }
        }
    }

    /// The body to change, after what a checkpoint needs of it was kept. In a critical section only.
    #[inline]
    pub(crate) fn modify<'g>(&self, guard: &'g mut ExclusiveGuard<'_>) -> &'g mut Body {
        let dirty = guard.dirty_epoch();
        if dirty != self.epoch.load(Ordering::Relaxed) {
            self.begin_change(guard, dirty);
        }
        guard.body_mut()
    }

    #[cold]
    fn begin_change(&self, guard: &mut ExclusiveGuard<'_>, dirty: u64) {
        let epoch = self.epoch.load(Ordering::Relaxed);
        if dirty == 0 {
            self.dirty_count.fetch_add(1, Ordering::Relaxed);
        } else if self.copies_wanted.load(Ordering::Relaxed) {
            assert!(dirty < epoch);
            let (page, copy) = (PageId(guard.page_id()), Box::new(*guard.body()));
            let mut copies = self.copies.lock();
            if self.table.get(page).is_some_and(|entry| entry.block() == 0) {
                self.new_copies.fetch_add(1, Ordering::Relaxed);
            }
            copies.push((page, copy));
        }
        guard.set_dirty_epoch(epoch);
    }

    /// A new page, latched, its body not yet written. In a critical section only.
    pub(crate) fn allocate(&self) -> Result<(PageId, ExclusiveGuard<'_>), PageMiss> {
        let frame = self.take_frame()?;
        let page = {
            let mut numbers = self.numbers.lock();
            match numbers.reusable.pop() {
                Some(number) => PageId(number),
                None if numbers.next > PAGE_ID_MAX => {
                    drop(numbers);
                    self.free_frames.lock().push(frame);
                    return Err(PageMiss::Store(StoreError::Limit("pages")));
                }
                None => {
                    numbers.next += 1;
                    PageId(numbers.next - 1)
                }
            }
        };
        let mut guard = self.arena.exclusive(frame);
        guard.set_page_id(page.0);
        guard.set_dirty_epoch(self.epoch.load(Ordering::Relaxed));
        self.arena.touch(frame);
        let entry = self.table.get_or_grow(page);
        assert!(entry.frame().is_none() && entry.block() == 0);
        entry.set_frame(Some(frame));
        self.dirty_count.fetch_add(1, Ordering::Relaxed);
        self.counters.pages_made.fetch_add(1, Ordering::Relaxed);
        Ok((page, guard))
    }

    /// Ends a page's life. In a critical section only.
    pub(crate) fn free(&self, mut guard: ExclusiveGuard<'_>) {
        let page = PageId(guard.page_id());
        let _ = self.modify(&mut guard); // Keeps the old content for a running checkpoint and makes the frame dirty.
        let entry = self.table.get(page).expect("a latched page has an entry");
        entry.set_frame(None);
        guard.set_page_id(0);
        guard.set_dirty_epoch(0);
        self.dirty_count.fetch_sub(1, Ordering::Relaxed);
        self.counters.pages_freed.fetch_add(1, Ordering::Relaxed);
        let frame = guard.frame();
        drop(guard);
        self.free_frames.lock().push(frame);
        self.numbers.lock().freed.push((page, self.epoch.load(Ordering::Relaxed)));
    }

    /// Ends the life of a page that need not be in memory: nothing is read. In a critical section only.
    pub(crate) fn free_unread(&self, page: PageId) -> Result<(), PageMiss> {
        let shard = self.loading[page.0 as usize % LOADING_SHARDS].lock();
        let Some(entry) = self.table.get(page) else { return Err(PageMiss::Gone) };
        if entry.frame().is_some() {
            drop(shard);
            let guard = self.exclusive(page)?;
            self.free(guard);
        } else if entry.block() == 0 {
            return Err(PageMiss::Gone);
        } else {
            self.numbers.lock().freed.push((page, self.epoch.load(Ordering::Relaxed)));
            self.counters.pages_freed.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// A page that is not in memory: found without waiting, or a [`PageMiss`].
    #[cold]
    fn miss(&self, page: PageId, page_use: PageUse) -> Result<u32, PageMiss> {
        self.load(page, page_use, MAY_WAIT_INLINE.get())
    }

    /// Reads a page after [`PageMiss::Absent`], waiting for the disk, unless it is there or gone by now. Outside a
    /// critical section, without a latch.
    pub(crate) fn fetch(&self, page: PageId, page_use: PageUse) -> Result<(), PageMiss> {
        match self.load(page, page_use, true) {
            Ok(_) | Err(PageMiss::Gone) => Ok(()),
            Err(miss) => Err(miss),
        }
    }

    fn load(&self, page: PageId, page_use: PageUse, may_wait: bool) -> Result<u32, PageMiss> {
        let shard = &self.loading[page.0 as usize % LOADING_SHARDS];
        let _loading = match may_wait {
            true => shard.lock(),
            // Its holder may be waiting for the disk.
            false => shard.try_lock().ok_or(PageMiss::Absent(page, page_use))?,
        };
        let Some(entry) = self.table.get(page) else { return Err(PageMiss::Gone) };
        if let Some(frame) = entry.frame() {
            return Ok(frame);
        }
        let block_number = entry.block();
        if block_number == 0 {
            return Err(PageMiss::Gone);
        }
        let mut block: Box<Block> = vec![0; PAGE_BYTES].try_into().expect("one block");
        let offset = u64::from(block_number) * PAGE_BYTES as u64;
        if !self.file.read_if_cached(offset, &mut block[..]) {
            if !may_wait {
                return Err(PageMiss::Absent(page, page_use));
            }
            self.file
                .read_at(offset, &mut block[..])
                .map_err(|error| StoreError::read(format!("page {page}"), &error))?;
        }
        let body = image::check(&block, Kind::Page, page.0).map_err(|error| match error {
            StoreError::Corrupt { why, .. } => {
                StoreError::corrupt(format!("data file, block {block_number}, page {page}"), why)
            }
            other => other,
        })?;
        let frame = self.take_frame()?;
        let mut guard = self.arena.exclusive(frame);
        guard.body_mut().copy_from_slice(body);
        guard.set_page_id(page.0);
        guard.set_dirty_epoch(0);
        // The frame's last page may have left a mark.
        self.arena.take_referenced(frame);
        match page_use {
            PageUse::Again => self.arena.touch(frame),
            PageUse::Once => self.scanned.lock().push_back((frame, page)),
        }
        drop(guard);
        entry.set_frame(Some(frame));
        self.counters.pages_read.fetch_add(1, Ordering::Relaxed);
        Ok(frame)
    }

    fn take_frame(&self) -> Result<u32, PageMiss> {
        if let Some(frame) = self.free_frames.lock().pop() {
            return Ok(frame);
        }
        let frame_count = self.arena.frame_count();
        if self.fresh_frame.load(Ordering::Relaxed) < frame_count {
            let frame = self.fresh_frame.fetch_add(1, Ordering::Relaxed);
            if frame < frame_count {
                return Ok(frame);
            }
            self.fresh_frame.fetch_sub(1, Ordering::Relaxed);
        }
        self.evict().ok_or(PageMiss::NoFrame)
    }

    /// Takes the frame of a clean page: one that came by a scan if there are many, else one that was not used since the
    /// clock's hand last passed.
    fn evict(&self) -> Option<u32> {
        if self.dirty_count() + CLEAN_FRAMES_MIN > self.arena.frame_count() {
            return None;
        }
        let evicted = self.counters.pages_evicted.load(Ordering::Relaxed);
        let scanned = if evicted.is_multiple_of(CLOCK_EVERY) { None } else { self.evict_scanned() };
        scanned.or_else(|| self.evict_by_clock(CLOCK_STEPS_MAX))
    }

    /// Lets the clock's hand go round until some frames are free; false if there are none. Outside a critical section,
    /// without a latch.
    pub(crate) fn sweep(&self) -> bool {
        let mut steps = 2 * u64::from(self.arena.frame_count());
        let mut swept = 0;
        while steps > 0
            && swept < SWEPT_FRAMES
            && self.dirty_count() + CLEAN_FRAMES_MIN <= self.arena.frame_count()
        {
            let some = steps.min(CLOCK_STEPS_MAX);
            match self.evict_by_clock(some) {
                Some(frame) => {
                    self.free_frames.lock().push(frame);
                    swept += 1;
                }
                None => steps -= some,
            }
        }
        swept > 0
    }

    fn evict_scanned(&self) -> Option<u32> {
        let kept = self.arena.frame_count() as usize / 8 * SCANNED_EIGHTHS;
        let mut scanned = self.scanned.lock();
        for _ in 0..SCANNED_SKIPPED_MAX {
            if scanned.len() <= kept {
                return None;
            }
            let (frame, page) = scanned.pop_front()?;
            // Used by others meanwhile, or changed, or gone: whatever is there is the clock's.
            let stays = self.arena.page_id(frame) != page.0 || self.arena.is_referenced(frame);
            if !stays && self.empty(frame) {
                return Some(frame);
            }
        }
        None
    }

    fn evict_by_clock(&self, steps: u64) -> Option<u32> {
        let frame_count = self.arena.frame_count();
        for _ in 0..steps {
            let frame = self.clock_hand.fetch_add(1, Ordering::Relaxed) % frame_count;
            let stays = self.arena.page_id(frame) == 0
                || self.arena.dirty_epoch(frame) != 0
                || self.arena.take_referenced(frame);
            if !stays && self.empty(frame) {
                return Some(frame);
            }
        }
        None
    }

    /// Takes the page out of a frame if it is clean and nobody has it. False if it stays.
    fn empty(&self, frame: u32) -> bool {
        let Some(mut guard) = self.arena.try_exclusive(frame) else { return false };
        if guard.page_id() == 0 || guard.dirty_epoch() != 0 {
            return false;
        }
        let entry = self.table.get(PageId(guard.page_id())).expect("a page in a frame has an entry");
        if entry.frame() != Some(frame) {
            return false; // Loaded but not yet announced.
        }
        assert!(entry.block() != 0);
        entry.set_frame(None);
        guard.set_page_id(0);
        self.counters.pages_evicted.fetch_add(1, Ordering::Relaxed);
        true
    }

    // What follows is for the checkpoint and recovery.

    /// Begins the next epoch and returns the one that ended. From now on until [`Pool::end_copies`] old contents are
    /// kept. With the checkpoint latch held exclusively.
    pub(crate) fn begin_epoch(&self) -> u64 {
        drop(self.take_copies()); // Of a checkpoint that was given up, by a change that was under way then.
        self.copies_wanted.store(true, Ordering::Relaxed);
        self.epoch.fetch_add(1, Ordering::Relaxed)
    }

    /// Old contents are no longer needed: the checkpoint has them, or was given up.
    pub(crate) fn end_copies(&self) {
        self.copies_wanted.store(false, Ordering::Relaxed);
        drop(self.take_copies());
    }

    /// Frames from 0 up to here were ever used.
    pub(crate) fn used_frames(&self) -> u32 {
        self.fresh_frame.load(Ordering::Relaxed).min(self.arena.frame_count())
    }

    /// One past the largest page number ever given out.
    pub(crate) fn page_number_end(&self) -> u64 {
        self.numbers.lock().next
    }

    /// Takes the pages freed up to `epoch`; [`Pool::reuse`] returns their numbers.
    pub(crate) fn take_freed(&self, epoch: u64) -> Vec<PageId> {
        // Of a large tree there are many: whoever makes a page does not wait for this.
        let freed = std::mem::take(&mut self.numbers.lock().freed);
        let (taken, kept) = freed.into_iter().partition::<Vec<_>, _>(|freed| freed.1 <= epoch);
        self.numbers.lock().freed.extend(kept);
        taken.into_iter().map(|freed| freed.0).collect()
    }

    /// Takes a freed page out of the map and returns the block it had. A reader that still held its number may have loaded
    /// it again meanwhile; such a copy is dropped.
    pub(crate) fn unmap(&self, page: PageId) -> u32 {
        let _loading = self.loading[page.0 as usize % LOADING_SHARDS].lock();
        let entry = self.table.get_or_grow(page);
        let block = entry.block();
        entry.set_block(0);
        if let Some(frame) = entry.frame() {
            let mut guard = self.arena.exclusive(frame);
            // It may have been evicted before the latch was had.
            if guard.page_id() == page.0 {
                assert!(guard.dirty_epoch() == 0);
                entry.set_frame(None);
                guard.set_page_id(0);
                drop(guard);
                self.free_frames.lock().push(frame);
            }
        }
        block
    }

    /// Gives a page another block with the same content, if `from` still is its block. `write` writes it. Nobody reads the page
    /// from the file meanwhile.
    pub(crate) fn move_page<E>(
        &self,
        page: PageId,
        from: u32,
        to: u32,
        write: impl FnOnce() -> Result<(), E>,
    ) -> Result<bool, E> {
        let _loading = self.loading[page.0 as usize % LOADING_SHARDS].lock();
        let Some(entry) = self.table.get(page).filter(|entry| entry.block() == from) else {
            return Ok(false);
        };
        write()?;
        entry.set_block(to);
        Ok(true)
    }

    /// Lets the numbers of freed pages be given out again.
    pub(crate) fn reuse(&self, pages: &[PageId]) {
        self.numbers.lock().reusable.extend(pages.iter().map(|page| page.0));
    }

    /// Takes the kept old contents.
    pub(crate) fn take_copies(&self) -> Vec<(PageId, Box<Body>)> {
        let mut copies = self.copies.lock();
        self.new_copies.store(0, Ordering::Relaxed);
        std::mem::take(&mut *copies)
    }

    /// Which page is in a frame, if it was changed. It may change at once.
    pub(crate) fn dirty_page(&self, frame: u32) -> Option<u64> {
        (self.arena.dirty_epoch(frame) != 0).then(|| self.arena.page_id(frame))
    }

    /// Copies the page of a frame if it was changed in `epoch` or before and not since. Answers which page it is, and when it
    /// was changed, for [`Pool::written`]. Who changes the page waits for the copy, not for its way to the disk.
    pub(crate) fn copy_dirty(&self, frame: u32, epoch: u64, copy: &mut Body) -> Option<(PageId, u64)> {
        let is_wanted = |dirty: u64| dirty != 0 && dirty <= epoch;
        if !is_wanted(self.arena.dirty_epoch(frame)) {
            return None;
        }
        let guard = self.arena.shared(frame);
        let dirty = self.arena.dirty_epoch(frame);
        if !is_wanted(dirty) {
            return None;
        }
        copy.copy_from_slice(guard.body());
        Some((PageId(self.arena.page_id(frame)), dirty))
    }

    /// What [`Pool::copy_dirty`] copied has its new block: the page counts as clean and may be evicted. False if it was changed
    /// or freed meanwhile: then the same content is among the copies, too.
    pub(crate) fn written(&self, frame: u32, page: PageId, dirty: u64) -> bool {
        let guard = self.arena.shared(frame);
        if self.arena.page_id(frame) != page.0 || self.arena.dirty_epoch(frame) != dirty {
            return false;
        }
        assert!(guard.clean(dirty));
        self.dirty_count.fetch_sub(1, Ordering::Relaxed);
        true
    }

    /// Gives a page another block and returns the one it had, from which nobody reads it any more.
    pub(crate) fn set_block(&self, page: PageId, block: u32) -> u32 {
        let _loading = self.loading[page.0 as usize % LOADING_SHARDS].lock();
        let entry = self.table.get_or_grow(page);
        let old = entry.block();
        entry.set_block(block);
        old
    }

    /// Enters what the map says, when opening: `blocks[i]` is page `i`'s block or 0.
    pub(crate) fn restore_map(&self, blocks: &[u32]) {
        let mut numbers = self.numbers.lock();
        numbers.next = (blocks.len() as u64).max(1);
        for (number, &block) in blocks.iter().enumerate().skip(1) {
            if block == 0 {
                numbers.reusable.push(number as u64);
            }
            self.table.get_or_grow(PageId(number as u64)).set_block(block);
        }
        numbers.reusable.reverse(); // Lowest first.
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::disk::FileOptions;
    use std::path::Path;

    #[test]
    fn the_clock_is_bounded_where_others_may_wait() {
        const FRAMES: u32 = 4096;
        let world = env::simulated::SimWorld::new(1);
        let folder = world.env().disk.folder(Path::new("/data"), true).unwrap();
        let pool = Pool::new(folder.open("data", FileOptions::create()).unwrap(), FRAMES).unwrap();
        let pages: Vec<PageId> = (0..FRAMES).map(|_| pool.allocate().unwrap().0).collect();
        let hand = || u64::from(pool.clock_hand.load(Ordering::Relaxed));
        // All but the last hundred are changed pages.
        for (number, &page) in pages.iter().enumerate().skip(FRAMES as usize - 100) {
            pool.set_block(page, number as u32 + 2);
            let (frame, epoch) = (pool.resolve(page).unwrap(), 1);
            assert!(pool.written(frame, page, epoch));
        }
        assert!(matches!(pool.allocate(), Err(PageMiss::NoFrame)));
        assert_eq!(hand(), CLOCK_STEPS_MAX);
        assert!(pool.sweep(), "the hand goes on to where clean ones are, and past the marks of their use");
        for _ in 0..SWEPT_FRAMES {
            drop(pool.allocate().unwrap());
        }
        let before = hand();
        drop(pool.allocate().unwrap());
        assert!(hand() - before < CLOCK_STEPS_MAX);
    }
}
