//! A block of the file: a page, or one of the checkpoint's own blocks, with what is needed to know it again.
//!
//! ```text
//! 0       4       6      8         16        24        32 .. 16384
//! | crc32c | magic | kind | number | checkpoint | 0     | body
//! ```
//! All numbers little-endian. The checksum covers bytes 4 to the end. `number` is the page's number (kind 1) or the block's
//! own (other kinds), so that a misdirected write or read is noticed.

use super::frame::{Body, FRAME_HEADER_BYTES, PAGE_BYTES};
use crate::error::StoreError;
use crate::planted::{self, Plant};

const MAGIC: u16 = 0x4956; // "VI"

/// What a block holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u16)]
pub(crate) enum Kind {
    /// A page of a tree.
    Page = 1,
    /// A piece of the page map.
    Map = 2,
    /// A piece of a list of block numbers.
    Directory = 3,
    /// A piece of what recovery has to undo.
    Undo = 4,
}

/// One block's bytes.
pub(crate) type Block = [u8; PAGE_BYTES];

/// Fills in the header around a body that is already in place.
pub(crate) fn seal(block: &mut Block, kind: Kind, number: u64, checkpoint: u64) {
    block[4..6].copy_from_slice(&MAGIC.to_le_bytes());
    block[6..8].copy_from_slice(&(kind as u16).to_le_bytes());
    block[8..16].copy_from_slice(&number.to_le_bytes());
    block[16..24].copy_from_slice(&checkpoint.to_le_bytes());
    block[24..32].fill(0);
    let crc = crc32c::crc32c(&block[4..]);
    block[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Puts a page's body into a block.
pub(crate) fn seal_page(block: &mut Block, body: &Body, number: u64, checkpoint: u64) {
    block[FRAME_HEADER_BYTES..].copy_from_slice(body);
    seal(block, Kind::Page, number, checkpoint);
}

/// Which page it holds, or which block it is.
pub(crate) fn number_of(block: &Block) -> u64 {
    u64::from_le_bytes(block[8..16].try_into().expect("8 bytes"))
}

/// Which checkpoint wrote the block.
pub(crate) fn checkpoint_of(block: &Block) -> u64 {
    u64::from_le_bytes(block[16..24].try_into().expect("8 bytes"))
}

/// Checks that the block is what was asked for.
///
/// # Errors
/// [`StoreError::Corrupt`].
pub(crate) fn check(block: &Block, kind: Kind, number: u64) -> Result<&Body, StoreError> {
    let what = || format!("data file, {kind:?} {number}");
    let crc = u32::from_le_bytes(block[..4].try_into().expect("4 bytes"));
    if crc != crc32c::crc32c(&block[4..]) && !planted::is(Plant::SkipChecksum) {
        return Err(StoreError::corrupt(what(), "checksum"));
    }
    let found = (&block[4..6], &block[6..8], &block[8..16]);
    if found != (&MAGIC.to_le_bytes()[..], &(kind as u16).to_le_bytes()[..], &number.to_le_bytes()[..]) {
        return Err(StoreError::corrupt(what(), "another block is in its place"));
    }
    Ok(block[FRAME_HEADER_BYTES..].try_into().expect("the rest is a body"))
}
