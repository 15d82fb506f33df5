//! The end of the log in memory: what was appended and not yet taken by a flush.

use super::record::{HEADER_BYTES, Header, Kind, Link};
use super::segment::Segment;
use super::{BLOCK_BYTES, Lsn, align_up};
use crate::planted::{self, Plant};

/// The parts that one transaction has appended so far. The default has none.
///
/// Invariant: goes back to the log by a commit or by [`super::Log::abandon`]; until then the log keeps the parts' segments.
#[derive(Debug, Default)]
#[must_use = "parts end by a commit or by being abandoned, else their segments are kept for ever"]
pub struct Parts {
    /// 16 bytes each, for up to [`super::PART_BYTES_MAX`] in the log.
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    /// Where its record starts.
    start: u64,
    /// Bytes of the transaction that count in this part and those before it: more than in those before it.
    end: u64,
}

impl Parts {
    /// Whether nothing that counts was appended yet.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Bytes that were appended and count.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.end)
    }

    /// Bytes of memory that this takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.parts.capacity() * size_of::<Part>()
    }

    /// Start of the first part, by which its chain is known.
    #[inline]
    pub(super) fn first(&self) -> Option<u64> {
        self.parts.first().map(|part| part.start)
    }

    /// What the next record says of the part before it.
    #[inline]
    pub(super) fn link(&self) -> Link {
        let Some(last) = self.parts.last() else { return Link::default() };
        let kept = match planted::is(Plant::CountCut) {
            true => 0,
            false => u32::try_from(last.end - self.end_before_last()).expect("a part is far below 4 GiB"),
        };
        Link { part: last.start, kept }
    }

    fn end_before_last(&self) -> u64 {
        self.parts.iter().rev().nth(1).map_or(0, |part| part.end)
    }

    pub(super) fn push(&mut self, start: u64, payload_bytes: usize) {
        self.parts.push(Part { start, end: self.bytes() + payload_bytes as u64 });
    }

    /// Only the first `bytes` go on counting.
    pub(super) fn cut(&mut self, bytes: u64) {
        while !self.parts.is_empty() && self.end_before_last() >= bytes {
            self.parts.pop();
        }
        if let Some(last) = self.parts.last_mut() {
            last.end = last.end.min(bytes);
        }
    }
}

/// Parts that a replay may need although a checkpoint has passed them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Chain {
    /// Start of the first part.
    pub(super) first: u64,
    /// Position of the commit, once there is one.
    pub(super) commit: Option<u64>,
}

/// Forgets chains whose commit a checkpoint has, and those that may not commit any more. Answers from where on the log is still needed.
pub(super) fn drop_chains(
    chains: &mut Vec<Chain>,
    checkpoint: Lsn,
    may_commit: impl Fn(&Chain) -> bool,
) -> u64 {
    chains.retain(|chain| chain.commit.map_or_else(|| may_commit(chain), |commit| commit > checkpoint.0));
    chains.iter().map(|chain| chain.first).fold(checkpoint.0, u64::min)
}

/// Bytes for one segment, at most [`PIECE_BYTES_MAX`] of them, whole blocks once sealed. A record may go on in the next piece.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) segment: Segment,
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
}

/// What one flush writes.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) pieces: Vec<Piece>,
    /// End of the last record in it, or before it if it is empty.
    pub(super) end: u64,
}

/// See the module. Behind the append mutex.
#[derive(Debug)]
pub(super) struct Tail {
    segment: Segment,
    segment_bytes: u64,
    salt_seed: u64,
    /// Where the next record starts, if the segment has space.
    next: u64,
    /// End of the last record.
    chain_end: u64,
    pieces: Vec<Piece>,
    /// Emptied buffers for use again.
    buffers: Vec<Vec<u8>>,
    pub(super) chains: Vec<Chain>,
    /// Spare files for segments that this has not begun yet. A segment is begun only when its file is there, whole: what is
    /// appended always has its place on the disk.
    pub(super) ready: usize,
}

/// A piece is at most so long: what a large transaction appends is not copied again to make space for more of it.
const PIECE_BYTES_MAX: usize = 1 << 20;
/// Emptied buffers kept; more are returned to the allocator. Some fill while others are written.
const KEPT_BUFFERS_MAX: usize = 8;
const _: () = assert!(PIECE_BYTES_MAX.is_multiple_of(BLOCK_BYTES), "a full piece ends with a block");

impl Tail {
    /// A tail at the beginning of an empty segment whose file exists.
    pub(super) fn new(
        segment: Segment,
        segment_bytes: u64,
        salt_seed: u64,
        chains: Vec<Chain>,
        ready: usize,
    ) -> Tail {
        Tail {
            ready,
            segment,
            segment_bytes,
            salt_seed,
            next: segment.start,
            chain_end: segment.previous_end,
            pieces: Vec::new(),
            buffers: Vec::new(),
            chains,
        }
    }

    /// Bytes waiting for a flush.
    pub(super) fn pending_bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes.len()).sum()
    }

    /// Whether a record with so long a payload has a place on the disk.
    pub(super) fn has_place(&self, payload_bytes: usize) -> bool {
        self.ready > 0 || self.next + (HEADER_BYTES + payload_bytes) as u64 <= self.segment.end
    }

    /// Appends one record that has a place; returns its start and end.
    pub(super) fn push(
        &mut self,
        kind: Kind,
        payload: &[u8],
        payload_crc: u32,
        previous: Link,
        durable: u64,
    ) -> (u64, u64) {
        let record_bytes = (HEADER_BYTES + payload.len()) as u64;
        if self.next + record_bytes > self.segment.end {
            self.ready -= 1;
            self.segment = self.segment.next(self.segment_bytes, self.chain_end, self.salt_seed);
            self.next = self.segment.start;
            assert!(record_bytes <= self.segment.end - self.segment.start, "a part fits a segment");
        }
        let header = Header {
            kind,
            payload_crc,
            payload_bytes: u32::try_from(payload.len()).expect("parts are far below 4 GiB"),
            start: self.next,
            previous_end: self.chain_end,
            previous,
            durable,
        };
        self.put(&header.encode(self.segment.salt));
        self.put(payload);
        debug_assert_eq!(self.next, header.end());
        self.chain_end = header.end();
        (header.start, header.end())
    }

    /// Appends bytes of the segment from `next` on.
    fn put(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let is_full = |piece: &Piece| {
                piece.segment.number != self.segment.number || piece.bytes.len() == PIECE_BYTES_MAX
            };
            if self.pieces.last().is_none_or(is_full) {
                let buffer = self.buffers.pop().unwrap_or_default();
                self.pieces.push(Piece { segment: self.segment, start: self.next, bytes: buffer });
            }
            let piece = self.pieces.last_mut().expect("pushed above");
            debug_assert_eq!(piece.start + piece.bytes.len() as u64, self.next);
            let (now, later) = bytes.split_at(bytes.len().min(PIECE_BYTES_MAX - piece.bytes.len()));
            piece.bytes.extend_from_slice(now);
            self.next += now.len() as u64;
            bytes = later;
        }
    }

    /// Takes what waits, padded to whole blocks; the next record starts on a fresh one.
    pub(super) fn seal(&mut self) -> Batch {
        let mut pieces = std::mem::take(&mut self.pieces);
        for piece in &mut pieces {
            piece.bytes.resize(piece.bytes.len().next_multiple_of(BLOCK_BYTES), 0);
        }
        self.next = align_up(self.next);
        Batch { pieces, end: self.chain_end }
    }

    /// Gives a batch's buffers back.
    pub(super) fn reuse(&mut self, batch: Batch) {
        for mut piece in batch.pieces {
            if self.buffers.len() < KEPT_BUFFERS_MAX {
                piece.bytes.clear();
                self.buffers.push(piece.bytes);
            }
        }
    }
}
