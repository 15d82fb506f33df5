//! From a page's number to its frame and its block: one array, grown by chunks.
//!
//! Page numbers are dense, so an array costs 8 bytes a page (0.05 % of the data) and a lookup is one load, without hashing,
//! without pointers beside the child numbers that would have to be kept right. See `docs/decisions/page-table.md`.

use crate::ids::PageId;
use crate::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

const CHUNK_PAGES: usize = 16 * 1024;
/// 4 TiB of pages.
const CHUNKS_MAX: usize = 16 * 1024;
/// The largest page number there can be.
pub(crate) const PAGE_ID_MAX: u64 = (CHUNK_PAGES * CHUNKS_MAX - 1) as u64;
const NO_FRAME: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct Entry {
    frame: AtomicU32,
    block: AtomicU32,
}

impl Entry {
    /// The frame the page is in. It may leave at any time: latch, then compare the frame's page number.
    pub(crate) fn frame(&self) -> Option<u32> {
        let frame = self.frame.load(Ordering::Acquire);
        (frame != NO_FRAME).then_some(frame)
    }

    pub(crate) fn set_frame(&self, frame: Option<u32>) {
        self.frame.store(frame.unwrap_or(NO_FRAME), Ordering::Release);
    }

    /// The block with the page's last written content, 0 for none. Only the checkpoint changes it.
    pub(crate) fn block(&self) -> u32 {
        self.block.load(Ordering::Acquire)
    }

    pub(crate) fn set_block(&self, block: u32) {
        self.block.store(block, Ordering::Release);
    }
}

#[derive(Debug)]
pub(crate) struct PageTable {
    chunks: Box<[OnceLock<Box<[Entry]>>]>,
}

impl PageTable {
    pub(crate) fn new() -> PageTable {
        PageTable { chunks: std::iter::repeat_with(OnceLock::new).take(CHUNKS_MAX).collect() }
    }

    /// The entry of a page that was once allocated; `None` for any other number.
    pub(crate) fn get(&self, page: PageId) -> Option<&Entry> {
        let index = page.0 as usize;
        self.chunks.get(index / CHUNK_PAGES)?.get().map(|chunk| &chunk[index % CHUNK_PAGES])
    }

    /// The entry of a page, made if needed.
    pub(crate) fn get_or_grow(&self, page: PageId) -> &Entry {
        assert!(page.0 <= PAGE_ID_MAX);
        let index = page.0 as usize;
        let chunk = self.chunks[index / CHUNK_PAGES].get_or_init(|| {
            let empty = || Entry { frame: AtomicU32::new(NO_FRAME), block: AtomicU32::new(0) };
            std::iter::repeat_with(empty).take(CHUNK_PAGES).collect()
        });
        &chunk[index % CHUNK_PAGES]
    }
}
