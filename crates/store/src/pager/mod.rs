//! Pages in memory and in the file: frames, the page table, eviction, and who owns which block.
//!
//! A page is known by its number alone. The [`table`](self::table) says in which frame it is now (if any) and which
//! block of the file holds its last written content (if any). A page is changed only in its frame, and leaves it only
//! when it equals its block, so eviction never writes: dirty pages are written by the checkpoint alone.
//!
//! No thread waits for the disk in a critical section or under a latch: a page that is not in memory, nor in the
//! system's page cache, is a [`PageMiss`], and the caller reads it outside (`store::Inner::retry_misses`) and tries
//! again.
//!
//! Read next: `frame` (memory and latches), `pool` (finding, loading, evicting, changing), `image` (a page in the
//! file), `blocks` (which blocks are free).

pub(crate) mod blocks;
pub(crate) mod frame;
pub(crate) mod image;
pub(crate) mod pool;
pub(crate) mod table;

use crate::error::StoreError;
use crate::ids::PageId;

/// Why a page operation stopped half way. Every latch was released; nothing was changed.
#[derive(Debug)]
pub(crate) enum PageMiss {
    /// The page does not exist (any more): the caller looked through a pointer that changed meanwhile.
    Gone,
    /// The page has to be read: leave the critical section, release all latches, [`pool::Pool::fetch`] it, try again.
    Absent(PageId, pool::PageUse),
    /// An old version has to be read from the undo file: leave the critical section, release all latches,
    /// [`crate::mvcc::undo::UndoLog::load`] it, try again.
    Spilled(u64),
    /// Every frame is in use or dirty: leave the critical section, make space, try again.
    NoFrame,
    /// Give up.
    Store(StoreError),
}

impl From<StoreError> for PageMiss {
    fn from(error: StoreError) -> PageMiss {
        PageMiss::Store(error)
    }
}
