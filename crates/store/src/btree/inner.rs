//! Finding the child to go to in an inner node, without a latch, and guessing how full a node is: everything read may be torn
//! and counts only when the caller has validated the node's version afterwards.

use super::Seek;
use super::node::{INNER_CELL_HEADER_BYTES, SLOT_BYTES, SLOTS_AT, head};
use crate::ids::{PageId, TreeId};
use crate::pager::frame::{BODY_BYTES, Racy};
use std::cmp::Ordering;

const LINE_BYTES: usize = 64;
const COUNT_MAX: usize = (BODY_BYTES - SLOTS_AT) / SLOT_BYTES;

pub(crate) fn level(body: Racy<'_>) -> u8 {
    (body.load_u16(8) >> 8) as u8
}

pub(crate) fn tree_id(body: Racy<'_>) -> TreeId {
    TreeId(body.load_u64(24))
}

/// The number of children.
pub(crate) fn count(body: Racy<'_>) -> usize {
    usize::from(body.load_u16(0)).min(COUNT_MAX)
}

pub(crate) fn child(body: Racy<'_>, index: usize) -> PageId {
    let at = usize::from(body.load_u16(SLOTS_AT + index.min(COUNT_MAX - 1) * SLOT_BYTES + 4));
    PageId(body.load_u64(at))
}

/// Bytes that slots and cells take in a node of any level, without its fences.
pub(crate) fn content_bytes(body: Racy<'_>) -> usize {
    let [heap_start, dead, lower, upper] = [2, 4, 14, 18].map(|at| usize::from(body.load_u16(at)));
    (BODY_BYTES + count(body) * SLOT_BYTES).saturating_sub(heap_start + dead + lower + upper)
}

/// The index of the child to go to.
#[inline]
pub(crate) fn find(body: Racy<'_>, seek: Seek<'_>) -> usize {
    let count = count(body);
    let (key, equal_goes_right) = match seek {
        Seek::At(key) => (key, true),
        Seek::Before(key) => (key, false),
        Seek::Last => return count.saturating_sub(1),
    };
    let prefix_len = usize::from(body.load_u16(6));
    let wanted = key.get(prefix_len..).unwrap_or(&[]);
    let wanted_head = head(wanted);
    // Among slots 1.. the number that lead to keys not above the searched key is the index to go to.
    let (mut low, mut len) = (1, count.saturating_sub(1));
    while len > 0 {
        let half = len / 2;
        let middle = low + half;
        let slot_at = SLOTS_AT + middle * SLOT_BYTES;
        let middle_head = body.load_u32(slot_at);
        let goes_right = match middle_head.cmp(&wanted_head) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => {
                let at = usize::from(body.load_u16(slot_at + 4)) + INNER_CELL_HEADER_BYTES;
                let suffix_len = usize::from(body.load_u16(slot_at + 6));
                match compare(body, at, suffix_len, wanted) {
                    Ordering::Less => true,
                    Ordering::Equal => equal_goes_right,
                    Ordering::Greater => false,
                }
            }
        };
        if goes_right {
            low = middle + 1;
            len -= half + 1;
        } else {
            len = half;
        }
    }
    low - 1
}

/// Asks for the lines that a search in this node looks at first; all of them in a leaf of common size.
pub(crate) fn prefetch_slots(body: Racy<'_>) {
    let bytes = count(body) * SLOT_BYTES;
    if bytes <= 10 * LINE_BYTES {
        for at in (0..bytes).step_by(LINE_BYTES) {
            body.prefetch(SLOTS_AT + at);
        }
    } else {
        for eighth in 1..8 {
            body.prefetch(SLOTS_AT + bytes / 8 * eighth);
        }
    }
}

/// The first eight bytes as a number that orders as they do; zeros where there are fewer.
#[inline]
fn big_endian(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(eight) => u64::from_be_bytes(*eight),
        // Without a call to copy so few bytes.
        None => {
            bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)) << (8 * (8 - bytes.len()))
        }
    }
}

/// Orders the suffix at `at` (aligned to 8) against `wanted`, eight bytes at a time.
fn compare(body: Racy<'_>, at: usize, suffix_len: usize, wanted: &[u8]) -> Ordering {
    let common = suffix_len.min(wanted.len());
    let mut done = 0;
    while done < common {
        let stored = body.load_u64(at + done).swap_bytes();
        let searched = big_endian(&wanted[done..]);
        let take = (common - done).min(8);
        let mask = u64::MAX << (8 * (8 - take));
        match (stored & mask).cmp(&(searched & mask)) {
            Ordering::Equal => done += take,
            unequal => return unequal,
        }
    }
    suffix_len.cmp(&wanted.len())
}
