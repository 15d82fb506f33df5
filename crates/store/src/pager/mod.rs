//! Pages in memory and in the file: frames, the page table, eviction, and who owns which block.
//!
//! A page is known by its number alone. The [`table`](self::table) says in which frame it is now (if any) and which block
//! of the file holds its last written content (if any). A page is changed only in its frame, and leaves it only when it
//! equals its block, so eviction never writes: dirty pages are written by the checkpoint alone.
//!
//! Read next: `frame` (memory and latches), `pool` (finding, loading, evicting, changing), `image` (a page in the file),
//! `blocks` (which blocks are free).

pub(crate) mod blocks;
pub(crate) mod frame;
pub(crate) mod image;
pub(crate) mod pool;
pub(crate) mod table;

use crate::error::StoreError;

/// Why a page operation stopped half way. Every latch was released; nothing was changed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The page does not exist (any more): the caller looked through a pointer that changed meanwhile.
    Gone,
    /// Every frame is in use or dirty: leave the gate, make room, try again.
    NoFrame,
    /// Give up.
    Store(StoreError),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::Store(error)
    }
}
