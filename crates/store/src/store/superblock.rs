//! The superblock: where everything else is found. Two of them, blocks 0 and 1 of the data file, written in turn.
//!
//! ```text
//! 0         8        12      16           24        32        40         48         56          60           64
//! | "INVARDB\0" | format | crc32c | checkpoint | log position | next txn | next tree | page end | map head | undo head | undo bytes
//! 72
//! | format
//! ```
//! Little-endian; the checksum covers bytes 16 to 72. The newest one that is whole counts, so the other may be torn. The format stands there
//! twice, so that a bit that flips in it is not taken for a newer program's work.

use crate::ids::{Csn, TreeId, TxnId};
use crate::pager::frame::PAGE_BYTES;

const MAGIC: &[u8; 8] = b"INVARDB\0";
/// Grows with every change of the file's layout that an older program would misread.
pub(crate) const FORMAT: u32 = 4;
/// What a file has unless recovery was in the middle of a commit: a program that knows no later format reads it.
const FORMAT_BETWEEN_COMMITS: u32 = 3;
/// No program writes a format beyond this: a number that large is damage.
const FORMAT_MAX: u32 = 1_000;
const BYTES: usize = 72;
/// What is written: one sector-aligned piece.
pub(crate) const WRITTEN_BYTES: usize = 4096;
const _: () = assert!(BYTES <= 512 && WRITTEN_BYTES <= PAGE_BYTES);

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Superblock {
    /// Which checkpoint this is, from 1.
    pub(crate) checkpoint: u64,
    /// Commits at or before this position are contained.
    pub(crate) position: Csn,
    pub(crate) next_txn: TxnId,
    pub(crate) next_tree: TreeId,
    /// One past the largest page number.
    pub(crate) page_end: u64,
    /// First block of the list of the map's blocks.
    pub(crate) map_head: u32,
    /// First block of what has to be undone and of the trees' record counts.
    pub(crate) undo_head: u32,
    pub(crate) undo_bytes: u64,
    /// The pages hold a part of the commit after `position`, too: what leads to the undo says how much.
    pub(crate) is_amid_commit: bool,
}

/// What a place for a superblock holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Found {
    Whole(Superblock),
    /// Nothing that can be used.
    Torn,
    Newer(u32),
}

impl Superblock {
    /// The block it is written to.
    pub(crate) fn block(&self) -> u32 {
        (self.checkpoint % 2) as u32
    }

    pub(crate) fn encode(&self) -> [u8; WRITTEN_BYTES] {
        let mut bytes = [0; WRITTEN_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        let format = if self.is_amid_commit { FORMAT } else { FORMAT_BETWEEN_COMMITS };
        bytes[8..12].copy_from_slice(&format.to_le_bytes());
        let words = [self.checkpoint, self.position.0, self.next_txn.0, self.next_tree.0, self.page_end];
        for (word, place) in words.iter().zip(bytes[16..].chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[56..60].copy_from_slice(&self.map_head.to_le_bytes());
        bytes[60..64].copy_from_slice(&self.undo_head.to_le_bytes());
        bytes[64..72].copy_from_slice(&self.undo_bytes.to_le_bytes());
        bytes[BYTES..BYTES + 4].copy_from_slice(&format.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[16..BYTES]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; WRITTEN_BYTES]) -> Found {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        if bytes[..8] != MAGIC[..] {
            return Found::Torn;
        }
        // The checksum's place and extent stay the same in every format, so that a torn one is not taken for a newer one.
        if u32_at(12) != crc32c::crc32c(&bytes[16..BYTES]) {
            return Found::Torn;
        }
        let format = u32_at(8);
        if format > FORMAT {
            let is_meant = u32_at(BYTES) == format && format <= FORMAT_MAX;
            return if is_meant { Found::Newer(format) } else { Found::Torn };
        }
        Found::Whole(Superblock {
            checkpoint: u64_at(16),
            position: Csn(u64_at(24)),
            next_txn: TxnId(u64_at(32)),
            next_tree: TreeId(u64_at(40)),
            page_end: u64_at(48),
            map_head: u32_at(56),
            undo_head: u32_at(60),
            undo_bytes: u64_at(64),
            is_amid_commit: format >= FORMAT,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_and_newer_are_distinguished() {
        let superblock = Superblock { checkpoint: 7, page_end: 99, undo_bytes: 1, ..Superblock::default() };
        let bytes = superblock.encode();
        assert_eq!(Superblock::decode(&bytes), Found::Whole(superblock));
        assert_eq!(superblock.block(), 1);
        let amid = Superblock { is_amid_commit: true, ..superblock };
        assert_eq!(Superblock::decode(&amid.encode()), Found::Whole(amid));
        let mut torn = bytes;
        torn[50] ^= 1;
        assert_eq!(Superblock::decode(&torn), Found::Torn);
        let mut newer = bytes;
        newer[8..12].copy_from_slice(&9u32.to_le_bytes());
        assert_eq!(Superblock::decode(&newer), Found::Torn, "a flipped bit");
        newer[BYTES..BYTES + 4].copy_from_slice(&9u32.to_le_bytes());
        assert_eq!(Superblock::decode(&newer), Found::Newer(9));
        newer[10] ^= 1;
        newer[BYTES + 2] ^= 1;
        assert_eq!(Superblock::decode(&newer), Found::Torn, "the same bit flipped twice");
        assert_eq!(Superblock::decode(&[0; WRITTEN_BYTES]), Found::Torn);
    }
}
