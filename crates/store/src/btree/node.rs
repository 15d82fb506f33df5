//! A node: a slotted page.
//!
//! ```text
//! 0       2            4            6            8      9       10           12       14       16       18
//! | count | heap start | dead bytes | prefix len | kind | level | append run | lower at, length | upper at, length |
//! 20               24        32
//! | 0              | tree id | slot 0 | slot 1 | ...   -> free <-   ... | cell | fences | cell |
//! ```
//! A slot is `head: u32 | cell at: u16 | suffix length: u16`; the head is the first four bytes of the suffix as a
//! big-endian number, so most comparisons need no cell. A leaf's cell is `transaction id: u64 | undo pointer: u64 |
//! value length: u16 | suffix | value`, an inner node's `child: u64 | suffix`, aligned to 8 bytes. Numbers are
//! little-endian.
//!
//! Invariants:
//! 1. Keys lie in `[lower fence, upper fence)`; all of them start with the fences' common prefix, which is not stored
//!    again.
//! 2. Slots are in key order without repetition. In an inner node slot `i` leads to keys from its own on; slot 0 stands
//!    for everything from the lower fence on, its suffix is empty.
//! 3. Cells and fences do not overlap and lie in `heap start .. BODY_BYTES`; what of that is unused is counted by `dead
//!    bytes`.
//! 4. An upper fence at 0 means that there is none: the node is the rightmost of its level.

use super::super::pager::frame::{BODY_BYTES, Body};
use crate::ids::{PageId, TreeId};

pub(crate) const SLOTS_AT: usize = 32;
pub(crate) const SLOT_BYTES: usize = 8;
const LEAF_CELL_HEADER_BYTES: usize = 18;
pub(crate) const INNER_CELL_HEADER_BYTES: usize = 8;
const TOMBSTONE: u16 = u16::MAX;
/// How many appends in a row make the next split an append split.
const APPEND_RUN_MIN: u16 = 8;

/// The longest key.
pub const KEY_BYTES_MAX: usize = 3_500;
/// The longest record, key and value together: two always fit into one leaf, whatever its fences.
pub const RECORD_BYTES_MAX: usize = 4_096;

const _: () = assert!(
    SLOTS_AT + 2 * KEY_BYTES_MAX + 2 * (SLOT_BYTES + LEAF_CELL_HEADER_BYTES + RECORD_BYTES_MAX) <= BODY_BYTES,
    "after a split the larger half still takes one record"
);
const _: () = assert!(
    SLOTS_AT + 2 * (KEY_BYTES_MAX + 8) + 3 * (SLOT_BYTES + INNER_CELL_HEADER_BYTES + 8) + 2 * KEY_BYTES_MAX
        <= BODY_BYTES,
    "an inner node holds at least three children"
);

fn get_u16(body: &Body, at: usize) -> usize {
    usize::from(u16::from_le_bytes([body[at], body[at + 1]]))
}

fn put_u16(body: &mut Body, at: usize, value: usize) {
    debug_assert!(u16::try_from(value).is_ok());
    body[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
}

fn get_u64(body: &Body, at: usize) -> u64 {
    u64::from_le_bytes(body[at..at + 8].try_into().expect("8 bytes"))
}

pub(crate) fn count(body: &Body) -> usize {
    get_u16(body, 0)
}

fn heap_start(body: &Body) -> usize {
    get_u16(body, 2)
}

fn dead_bytes(body: &Body) -> usize {
    get_u16(body, 4)
}

pub(crate) fn prefix_len(body: &Body) -> usize {
    get_u16(body, 6)
}

pub(crate) fn level(body: &Body) -> u8 {
    body[9]
}

pub(crate) fn tree_id(body: &Body) -> TreeId {
    TreeId(get_u64(body, 24))
}

pub(crate) fn lower_fence(body: &Body) -> &[u8] {
    let at = get_u16(body, 12);
    &body[at..at + get_u16(body, 14)]
}

/// The first key that no longer belongs here; `None` in the rightmost node.
pub(crate) fn upper_fence(body: &Body) -> Option<&[u8]> {
    let at = get_u16(body, 16);
    (at != 0).then(|| &body[at..at + get_u16(body, 18)])
}

/// What all keys here start with.
pub(crate) fn prefix(body: &Body) -> &[u8] {
    &lower_fence(body)[..prefix_len(body)]
}

/// The first four bytes as a number that orders as they do.
pub(crate) fn head(suffix: &[u8]) -> u32 {
    match suffix.first_chunk::<4>() {
        Some(four) => u32::from_be_bytes(*four),
        None => {
            let mut four = [0; 4];
            four[..suffix.len()].copy_from_slice(suffix);
            u32::from_be_bytes(four)
        }
    }
}

fn common_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Makes an empty node.
pub(crate) fn init(body: &mut Body, level: u8, tree: TreeId, lower: &[u8], upper: Option<&[u8]>) {
    body[..SLOTS_AT].fill(0);
    body[8] = if level == 0 { 1 } else { 2 };
    body[9] = level;
    body[24..32].copy_from_slice(&tree.0.to_le_bytes());
    let mut at = BODY_BYTES;
    if let Some(upper) = upper {
        at -= upper.len();
        body[at..at + upper.len()].copy_from_slice(upper);
        put_u16(body, 16, at);
        put_u16(body, 18, upper.len());
        put_u16(body, 6, common_len(lower, upper));
    }
    at -= lower.len();
    body[at..at + lower.len()].copy_from_slice(lower);
    put_u16(body, 12, at);
    put_u16(body, 14, lower.len());
    if level > 0 {
        at &= !7;
    }
    put_u16(body, 2, at);
}

fn slot(body: &Body, index: usize) -> (u32, usize, usize) {
    let at = SLOTS_AT + index * SLOT_BYTES;
    let slot: &[u8; SLOT_BYTES] = body[at..at + SLOT_BYTES].try_into().expect("8 bytes");
    (
        u32::from_le_bytes([slot[0], slot[1], slot[2], slot[3]]),
        usize::from(u16::from_le_bytes([slot[4], slot[5]])),
        usize::from(u16::from_le_bytes([slot[6], slot[7]])),
    )
}

fn put_slot(body: &mut Body, index: usize, head: u32, at: usize, suffix_len: usize) {
    let slot_at = SLOTS_AT + index * SLOT_BYTES;
    body[slot_at..slot_at + 4].copy_from_slice(&head.to_le_bytes());
    put_u16(body, slot_at + 4, at);
    put_u16(body, slot_at + 6, suffix_len);
}

fn cell_header_bytes(body: &Body) -> usize {
    if level(body) == 0 { LEAF_CELL_HEADER_BYTES } else { INNER_CELL_HEADER_BYTES }
}

/// The key at `index` without the node's prefix.
pub(crate) fn suffix(body: &Body, index: usize) -> &[u8] {
    let (_, at, len) = slot(body, index);
    let at = at + cell_header_bytes(body);
    &body[at..at + len]
}

/// Whether it has all keys of its level: it is the root, or the root's only child.
pub(crate) fn is_alone(body: &Body) -> bool {
    upper_fence(body).is_none() && lower_fence(body).is_empty()
}

/// The whole key at `index`.
pub(crate) fn key(body: &Body, index: usize) -> Vec<u8> {
    [prefix(body), suffix(body, index)].concat()
}

/// Whether this is the tree's leaf for the key.
pub(crate) fn covers(body: &Body, tree: TreeId, key: &[u8]) -> bool {
    level(body) == 0
        && tree_id(body) == tree
        && key >= lower_fence(body)
        && upper_fence(body).is_none_or(|upper| key < upper)
}

/// Where a key is, or would be. The key must lie between the fences.
#[inline]
pub(crate) fn search(body: &Body, key: &[u8]) -> Result<usize, usize> {
    debug_assert!(key >= lower_fence(body));
    debug_assert!(upper_fence(body).is_none_or(|upper| key < upper));
    search_suffix(body, &key[prefix_len(body)..])
}

fn search_suffix(body: &Body, wanted: &[u8]) -> Result<usize, usize> {
    let wanted_head = head(wanted);
    let (mut low, mut len) = (0, count(body));
    while len > 0 {
        let half = len / 2;
        let middle = low + half;
        let (middle_head, at, suffix_len) = slot(body, middle);
        let order = if middle_head == wanted_head {
            let at = at + cell_header_bytes(body);
            body[at..at + suffix_len].cmp(wanted)
        } else {
            middle_head.cmp(&wanted_head)
        };
        match order {
            std::cmp::Ordering::Less => {
                low = middle + 1;
                len -= half + 1;
            }
            std::cmp::Ordering::Equal => return Ok(middle),
            std::cmp::Ordering::Greater => len = half,
        }
    }
    Err(low)
}

/// The first position whose key is not below `key`, which may lie outside the fences.
pub(crate) fn lower_bound(body: &Body, key: &[u8]) -> usize {
    let prefix = prefix(body);
    match key.get(..prefix.len()) {
        Some(start) if start == prefix => search_suffix(body, &key[prefix.len()..]).unwrap_or_else(|at| at),
        _ if key < prefix => 0,
        _ => count(body),
    }
}

/// Bytes that a new cell and its slot may take, after [`compact`] if need be.
pub(crate) fn free_bytes(body: &Body) -> usize {
    heap_start(body) - (SLOTS_AT + count(body) * SLOT_BYTES) + dead_bytes(body)
}

/// Bytes in use by slots, cells and fences.
pub(crate) fn used_bytes(body: &Body) -> usize {
    BODY_BYTES - SLOTS_AT - free_bytes(body)
}

fn contiguous_bytes(body: &Body) -> usize {
    heap_start(body) - (SLOTS_AT + count(body) * SLOT_BYTES)
}

/// Rounds a cell up in nodes whose cells are aligned.
fn cell_bytes(level: u8, bytes: usize) -> usize {
    if level == 0 { bytes } else { bytes.next_multiple_of(8) }
}

fn cell_bytes_at(body: &Body, index: usize) -> usize {
    let (_, at, suffix_len) = slot(body, index);
    if level(body) > 0 {
        return cell_bytes(1, INNER_CELL_HEADER_BYTES + suffix_len);
    }
    let value_len = match get_u16(body, at + 16) as u16 {
        TOMBSTONE => 0,
        len => usize::from(len),
    };
    LEAF_CELL_HEADER_BYTES + suffix_len + value_len
}

/// Rewrites the node without dead bytes. Its prefix stays, since callers have cut it off a key already; see [`close`].
#[cold]
fn compact(body: &mut Body) {
    let old = *body;
    rebuild(body, &old, lower_fence(&old), upper_fence(&old));
    put_u16(body, 6, prefix_len(&old));
    for index in 0..count(&old) {
        push_cell_of(body, &old, index);
    }
}

/// Makes `body` an empty node like `old`, with other fences.
fn rebuild(body: &mut Body, old: &Body, lower: &[u8], upper: Option<&[u8]>) {
    init(body, level(old), tree_id(old), lower, upper);
    body[20..24].copy_from_slice(&old[20..24]);
    body[10..12].copy_from_slice(&old[10..12]);
}

/// Adds at the end the record or child of another node; their prefixes may differ.
fn push_cell_of(body: &mut Body, from: &Body, index: usize) {
    let (_, from_at, from_suffix_len) = slot(from, index);
    let header = cell_header_bytes(from);
    let old_prefix_len = prefix_len(from);
    let new_prefix_len = prefix_len(body);
    let inner = level(from) > 0;
    // Slot 0 of an inner node has no key of its own; it never gets one here.
    let keyless = inner && count(body) == 0;
    let from_suffix = &from[from_at + header..from_at + header + from_suffix_len];
    let (gained, suffix): (&[u8], &[u8]) = if keyless {
        (&[], &[])
    } else if new_prefix_len >= old_prefix_len {
        (&[], &from_suffix[new_prefix_len - old_prefix_len..])
    } else {
        (&prefix(from)[new_prefix_len..], from_suffix)
    };
    let suffix_len = gained.len() + suffix.len();
    let value = if inner {
        &[][..]
    } else {
        &from[from_at + header + from_suffix_len..from_at + cell_bytes_at(from, index)]
    };
    let bytes = cell_bytes(level(from), header + suffix_len + value.len());
    let at = heap_start(body) - bytes;
    let at_index = count(body);
    assert!(at >= SLOTS_AT + (at_index + 1) * SLOT_BYTES);
    body[at..at + header].copy_from_slice(&from[from_at..from_at + header]);
    let mut to = at + header;
    for part in [gained, suffix, value] {
        body[to..to + part.len()].copy_from_slice(part);
        to += part.len();
    }
    let head = head(&body[at + header..at + header + suffix_len]);
    put_slot(body, at_index, head, at, suffix_len);
    put_u16(body, 0, at_index + 1);
    put_u16(body, 2, at);
}

/// Opens a slot at `index` with a cell of `bytes`; the space was checked. Returns where the cell starts.
fn open_slot(body: &mut Body, index: usize, bytes: usize) -> usize {
    if contiguous_bytes(body) < bytes + SLOT_BYTES {
        compact(body);
    }
    let count = count(body);
    let at = heap_start(body) - bytes;
    let slots = SLOTS_AT + index * SLOT_BYTES..SLOTS_AT + count * SLOT_BYTES;
    body.copy_within(slots, SLOTS_AT + (index + 1) * SLOT_BYTES);
    put_u16(body, 0, count + 1);
    put_u16(body, 2, at);
    at
}

/// Takes a record or child out.
pub(crate) fn remove(body: &mut Body, index: usize) {
    let count = count(body);
    let dead = dead_bytes(body) + cell_bytes_at(body, index);
    body.copy_within(
        SLOTS_AT + (index + 1) * SLOT_BYTES..SLOTS_AT + count * SLOT_BYTES,
        SLOTS_AT + index * SLOT_BYTES,
    );
    put_u16(body, 0, count - 1);
    put_u16(body, 4, dead);
}

// Leaves.

/// What a record carries besides key and value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Version {
    /// The transaction that wrote this version.
    pub(crate) trx_id: u64,
    /// Where the version before is, 0 for nowhere.
    pub(crate) undo: u64,
}

/// The value, `None` for a tombstone.
#[inline]
pub(crate) fn value(body: &Body, index: usize) -> Option<&[u8]> {
    record(body, index).2
}

/// Version, suffix and value at once.
#[inline]
pub(crate) fn record(body: &Body, index: usize) -> (Version, &[u8], Option<&[u8]>) {
    let (_, at, suffix_len) = slot(body, index);
    let cell = &body[at..];
    let trx_id = u64::from_le_bytes(cell[..8].try_into().expect("8 bytes"));
    let undo = u64::from_le_bytes(cell[8..16].try_into().expect("8 bytes"));
    let value_len = u16::from_le_bytes([cell[16], cell[17]]);
    let rest = &cell[LEAF_CELL_HEADER_BYTES..];
    let (suffix, rest) = rest.split_at(suffix_len);
    let value = (value_len != TOMBSTONE).then(|| &rest[..usize::from(value_len)]);
    (Version { trx_id, undo }, suffix, value)
}

/// Puts a new record at `index` (from [`search`]). False, and nothing is changed, if there is no space.
#[must_use]
pub(crate) fn leaf_insert(
    body: &mut Body,
    index: usize,
    key: &[u8],
    version: Version,
    value: Option<&[u8]>,
) -> bool {
    let prefix_len = prefix_len(body);
    let suffix = &key[prefix_len..];
    let value_bytes = value.unwrap_or(&[]);
    let bytes = LEAF_CELL_HEADER_BYTES + suffix.len() + value_bytes.len();
    if free_bytes(body) < bytes + SLOT_BYTES {
        return false;
    }
    let run = if index == count(body) { (get_u16(body, 10) + 1).min(usize::from(APPEND_RUN_MIN)) } else { 0 };
    put_u16(body, 10, run);
    let at = open_slot(body, index, bytes);
    put_slot(body, index, head(suffix), at, suffix.len());
    write_cell(body, at, suffix, version, value);
    true
}

fn write_cell(body: &mut Body, at: usize, suffix: &[u8], version: Version, value: Option<&[u8]>) {
    let value_bytes = value.unwrap_or(&[]);
    let cell = &mut body[at..at + LEAF_CELL_HEADER_BYTES + suffix.len() + value_bytes.len()];
    cell[..8].copy_from_slice(&version.trx_id.to_le_bytes());
    cell[8..16].copy_from_slice(&version.undo.to_le_bytes());
    let value_len = if value.is_some() { value_bytes.len() as u16 } else { TOMBSTONE };
    cell[16..18].copy_from_slice(&value_len.to_le_bytes());
    cell[LEAF_CELL_HEADER_BYTES..][..suffix.len()].copy_from_slice(suffix);
    cell[LEAF_CELL_HEADER_BYTES + suffix.len()..].copy_from_slice(value_bytes);
}

/// Gives a record another version and value. False, and nothing is changed, if there is no space.
#[must_use]
pub(crate) fn leaf_replace(body: &mut Body, index: usize, version: Version, value: Option<&[u8]>) -> bool {
    let (head, at, suffix_len) = slot(body, index);
    let old_bytes = cell_bytes_at(body, index);
    let value_len = value.map_or(0, <[u8]>::len);
    let bytes = LEAF_CELL_HEADER_BYTES + suffix_len + value_len;
    if bytes <= old_bytes {
        let dead = dead_bytes(body) + old_bytes - bytes;
        put_u16(body, 4, dead);
        body[at..at + 8].copy_from_slice(&version.trx_id.to_le_bytes());
        body[at + 8..at + 16].copy_from_slice(&version.undo.to_le_bytes());
        let stored_len = if value.is_some() { value_len as u16 } else { TOMBSTONE };
        body[at + 16..at + 18].copy_from_slice(&stored_len.to_le_bytes());
        let to = at + LEAF_CELL_HEADER_BYTES + suffix_len;
        body[to..to + value_len].copy_from_slice(value.unwrap_or(&[]));
        return true;
    }
    if free_bytes(body) + old_bytes < bytes {
        return false;
    }
    let suffix = body[at + LEAF_CELL_HEADER_BYTES..][..suffix_len].to_vec();
    if contiguous_bytes(body) < bytes {
        remove(body, index);
        let new_at = open_slot(body, index, bytes);
        put_slot(body, index, head, new_at, suffix_len);
        write_cell(body, new_at, &suffix, version, value);
        return true;
    }
    let new_at = heap_start(body) - bytes;
    let dead = dead_bytes(body) + old_bytes;
    put_u16(body, 4, dead);
    put_u16(body, 2, new_at);
    put_slot(body, index, head, new_at, suffix_len);
    write_cell(body, new_at, &suffix, version, value);
    true
}

/// Gives a record another version and leaves its value.
pub(crate) fn set_version(body: &mut Body, index: usize, version: Version) {
    let (_, at, _) = slot(body, index);
    body[at..at + 8].copy_from_slice(&version.trx_id.to_le_bytes());
    body[at + 8..at + 16].copy_from_slice(&version.undo.to_le_bytes());
}

/// Takes out tombstones that nobody can look behind any more; says how many.
pub(crate) fn remove_dead(body: &mut Body, seen_by_all: impl Fn(u64) -> bool) -> usize {
    let before = count(body);
    for index in (0..before).rev() {
        let (version, _, value) = record(body, index);
        if value.is_none() && seen_by_all(version.trx_id) {
            remove(body, index);
        }
    }
    before - count(body)
}

// Inner nodes.

pub(crate) fn child(body: &Body, index: usize) -> PageId {
    let (_, at, _) = slot(body, index);
    PageId(get_u64(body, at))
}

/// Makes an inner node with one child.
pub(crate) fn init_inner(
    body: &mut Body,
    level: u8,
    tree: TreeId,
    lower: &[u8],
    upper: Option<&[u8]>,
    child: PageId,
) {
    assert!(level > 0);
    init(body, level, tree, lower, upper);
    push_child(body, 0, &[], child);
}

fn push_child(body: &mut Body, index: usize, suffix: &[u8], child: PageId) {
    let at = open_slot(body, index, cell_bytes(1, INNER_CELL_HEADER_BYTES + suffix.len()));
    debug_assert!(at.is_multiple_of(8));
    put_slot(body, index, head(suffix), at, suffix.len());
    body[at..at + 8].copy_from_slice(&child.0.to_le_bytes());
    body[at + 8..at + 8 + suffix.len()].copy_from_slice(suffix);
}

/// Whether a child under this separator fits.
pub(crate) fn inner_fits(body: &Body, separator: &[u8]) -> bool {
    let bytes = cell_bytes(1, INNER_CELL_HEADER_BYTES + separator.len() - prefix_len(body));
    free_bytes(body) >= bytes + SLOT_BYTES
}

/// Adds a child for keys from `separator` on, behind the child at `index - 1`. The space was checked.
pub(crate) fn inner_insert(body: &mut Body, index: usize, separator: &[u8], child: PageId) {
    assert!(index > 0 && index <= count(body) && inner_fits(body, separator));
    let prefix_len = prefix_len(body);
    push_child(body, index, &separator[prefix_len..], child);
}

// Splits and merges.

/// A leaf with fewer records keeps the prefix it has when it is closed: there is little to gain by cutting a longer one off,
/// and much to copy, since its records are long.
const REBUILT_RECORDS_MIN: usize = 16;

/// A split that moves nothing: only the upper fence of `left` changes. False, and nothing done, if it is another split.
fn close(left: &mut Body, right: &mut Body, index: usize, separator: &[u8]) -> bool {
    let closes = level(left) == 0 && index == count(left) && index < REBUILT_RECORDS_MIN;
    if !closes || contiguous_bytes(left) < separator.len() {
        return false;
    }
    init(right, 0, tree_id(left), separator, upper_fence(left));
    right[20..24].copy_from_slice(&left[20..24]);
    right[10..12].copy_from_slice(&left[10..12]);
    let dead = dead_bytes(left) + upper_fence(left).map_or(0, <[u8]>::len);
    let at = heap_start(left) - separator.len();
    left[at..at + separator.len()].copy_from_slice(separator);
    put_u16(left, 2, at);
    put_u16(left, 4, dead);
    put_u16(left, 16, at);
    put_u16(left, 18, separator.len());
    true
}

/// Where to split a node that has no space for `incoming`: the first index that goes right, and the separator.
pub(crate) fn split_point(body: &Body, incoming: &[u8]) -> (usize, Vec<u8>) {
    let count = count(body);
    if level(body) > 0 {
        let appends = upper_fence(body).is_none() && incoming_is_last(body, incoming);
        let index = if appends { count - 1 } else { middle_index(body) };
        return (index, key(body, index));
    }
    let run = get_u16(body, 10);
    if run >= usize::from(APPEND_RUN_MIN).min(count) && incoming_is_last(body, incoming) {
        // Appending leaves the node as it is, or all but its last record: it stays full for those who read.
        let last = key(body, count - 1);
        if last.as_slice() < incoming {
            let separator = shortest_separator(&last, incoming);
            if left_fits(body, count, &separator) {
                return (count, separator);
            }
            let separator = shortest_separator(&key(body, count - 2), &last);
            if left_fits(body, count - 1, &separator) {
                return (count - 1, separator);
            }
        }
    }
    // There is space for the new fences here: the left one is no longer than the key of the first record that goes
    // right, the right one no longer than that of the last record that stays and a byte.
    let index = middle_index(body);
    (index, shortest_separator(&key(body, index - 1), &key(body, index)))
}

/// Whether the records before `index` have space beside an upper fence that may be longer than the one there is. A
/// longer common prefix could only make them shorter.
fn left_fits(body: &Body, index: usize, separator: &[u8]) -> bool {
    let records: usize = (0..index).map(|index| cell_bytes_at(body, index) + SLOT_BYTES).sum();
    SLOTS_AT + lower_fence(body).len() + separator.len() + records <= BODY_BYTES
}

fn incoming_is_last(body: &Body, incoming: &[u8]) -> bool {
    lower_bound(body, incoming) == count(body)
}

/// The index that puts half of the bytes on either side, both sides not empty.
fn middle_index(body: &Body) -> usize {
    let count = count(body);
    assert!(count >= 2, "two records fit into any node");
    let total: usize = (0..count).map(|index| cell_bytes_at(body, index) + SLOT_BYTES).sum();
    let mut left = 0;
    for index in 0..count - 1 {
        left += cell_bytes_at(body, index) + SLOT_BYTES;
        if left * 2 >= total {
            return index + 1;
        }
    }
    count - 1
}

/// The shortest key that is above `left` and not above `right`.
pub(crate) fn shortest_separator(left: &[u8], right: &[u8]) -> Vec<u8> {
    assert!(left < right);
    right[..common_len(left, right) + 1].to_vec()
}

/// Moves everything from `index` on into `right`, a page yet to be written.
pub(crate) fn split_into(left: &mut Body, right: &mut Body, index: usize, separator: &[u8]) {
    if close(left, right, index, separator) {
        return;
    }
    let old = *left;
    rebuild(right, &old, separator, upper_fence(&old));
    for from in index..count(&old) {
        push_cell_of(right, &old, from);
    }
    rebuild(left, &old, lower_fence(&old), Some(separator));
    for from in 0..index {
        push_cell_of(left, &old, from);
    }
    assert!(count(left) + count(right) == count(&old));
}

/// The most bytes that a node made of two takes: space for some growth is left, beside an empty one none is needed.
pub(crate) fn merged_bytes_max(left_count: usize, right_count: usize) -> usize {
    if left_count == 0 || right_count == 0 { BODY_BYTES } else { BODY_BYTES / 4 * 3 }
}

/// What the fences take, with what is lost before cells that are aligned.
fn fence_bytes(level: u8, lower: &[u8], upper: Option<&[u8]>) -> usize {
    cell_bytes(level, lower.len() + upper.map_or(0, <[u8]>::len))
}

/// Whether two neighbouring nodes fit into one of [`merged_bytes_max`].
pub(crate) fn nodes_fit(left: &Body, right: &Body) -> bool {
    let new_prefix = upper_fence(right).map_or(0, |upper| common_len(lower_fence(left), upper));
    let level = level(left);
    let size = |body: &Body| -> usize {
        let gained = prefix_len(body).saturating_sub(new_prefix);
        used_bytes(body) - fence_bytes(level, lower_fence(body), upper_fence(body))
            + count(body) * cell_bytes(level, gained)
    };
    // The first child of an inner node gets the key that its node had above.
    let key = if level > 0 { cell_bytes(level, lower_fence(right).len()) } else { 0 };
    let fences = fence_bytes(level, lower_fence(left), upper_fence(right));
    SLOTS_AT + fences + size(left) + size(right) + key <= merged_bytes_max(count(left), count(right))
}

/// Takes all that is in `right` into `left`, which then covers both ranges. [`nodes_fit`] was asked.
pub(crate) fn merge_nodes(left: &mut Body, right: &Body) {
    assert!(level(left) == level(right));
    let old = *left;
    rebuild(left, &old, lower_fence(&old), upper_fence(right));
    for index in 0..count(&old) {
        push_cell_of(left, &old, index);
    }
    let mut rest = 0..count(right);
    if level(right) > 0 {
        rest.start = 1;
        let prefix_len = prefix_len(left);
        push_child(left, count(&old), &lower_fence(right)[prefix_len..], child(right, 0));
    }
    for index in rest {
        push_cell_of(left, right, index);
    }
}

/// Everything that must hold in a node by itself.
///
/// # Errors
/// What does not hold.
pub(crate) fn check(body: &Body) -> Result<(), &'static str> {
    let count = count(body);
    if heap_start(body) > BODY_BYTES || SLOTS_AT + count * SLOT_BYTES > heap_start(body) {
        return Err("slots and cells overlap");
    }
    if get_u16(body, 12) + get_u16(body, 14) > BODY_BYTES
        || get_u16(body, 16) + get_u16(body, 18) > BODY_BYTES
    {
        return Err("a fence lies outside");
    }
    if prefix_len(body) > lower_fence(body).len() {
        return Err("the prefix is longer than the lower fence");
    }
    let mut live = lower_fence(body).len() + upper_fence(body).map_or(0, <[u8]>::len);
    for index in 0..count {
        let (slot_head, at, suffix_len) = slot(body, index);
        if at < heap_start(body) || at + cell_header_bytes(body) + suffix_len > BODY_BYTES {
            return Err("a cell lies outside");
        }
        if at + cell_bytes_at(body, index) > BODY_BYTES {
            return Err("a value lies outside");
        }
        live += cell_bytes_at(body, index);
        if slot_head != head(suffix(body, index)) {
            return Err("a head differs from its key");
        }
        let first_own = if level(body) > 0 { 1 } else { 0 };
        if index > first_own && suffix(body, index - 1) >= suffix(body, index) {
            return Err("keys are out of order");
        }
        if index >= first_own {
            let key = key(body, index);
            if key.as_slice() < lower_fence(body)
                || upper_fence(body).is_some_and(|upper| key.as_slice() >= upper)
            {
                return Err("a key lies outside the fences");
            }
        }
    }
    let heap = BODY_BYTES - heap_start(body);
    if level(body) == 0 && live + dead_bytes(body) != heap {
        return Err("bytes are neither live nor dead");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const V: Version = Version { trx_id: 7, undo: 0 };

    fn leaf(lower: &[u8], upper: Option<&[u8]>) -> Box<Body> {
        let mut body = Box::new([0; BODY_BYTES]);
        init(&mut body, 0, TreeId(3), lower, upper);
        body
    }

    fn put(body: &mut Body, key: &[u8], value: Option<&[u8]>) -> bool {
        match search(body, key) {
            Ok(index) => leaf_replace(body, index, V, value),
            Err(index) => leaf_insert(body, index, key, V, value),
        }
    }

    /// An append split gives the left leaf an upper fence that it had not; in a leaf that is full to the last bytes
    /// there is space for it only if the last record goes.
    #[test]
    fn an_append_split_leaves_room_for_the_fence() {
        for value_len in 0..300 {
            for key_len in [4, 9, 30] {
                let key = |number: u32| {
                    let mut key = vec![b'k'; key_len - 4];
                    key.splice(0..0, number.to_be_bytes());
                    key
                };
                let mut left = leaf(b"", None);
                let mut number = 0;
                while put(&mut left, &key(number), Some(&vec![1; value_len])) {
                    number += 1;
                }
                let (at, separator) = split_point(&left, &key(number));
                assert!(at as u32 + 1 >= number, "{value_len} {key_len}: all but one stay left");
                let mut right = leaf(b"", None);
                split_into(&mut left, &mut right, at, &separator);
                check(&left).unwrap();
                check(&right).unwrap();
                assert!(put(&mut right, &key(number), Some(&vec![1; value_len])));
            }
        }
    }

    proptest! {
        /// However long the keys, values and fences: a full node splits into two that are sound and hold what it held.
        #[test]
        fn long_keys_leave_room_for_the_fences(
            lower_len in prop_oneof![Just(0usize), 1..KEY_BYTES_MAX],
            upper_len in prop_oneof![Just(0usize), 1..KEY_BYTES_MAX],
            inner: bool,
            differ_late: bool,
            records in prop::collection::vec((any::<u16>(), prop_oneof![2..40usize, 2..KEY_BYTES_MAX], prop_oneof![0..60usize, 0..RECORD_BYTES_MAX]), 4..400),
        ) {
            // Half of the time keys differ in their last bytes only, so that separators are as long as keys.
            let stretched = |first: u8, number: u16, len: usize| {
                let mut key = vec![first; if differ_late { len.max(3) - 2 } else { 1 }];
                key.extend(number.to_be_bytes());
                key.resize(len.max(3), first);
                key
            };
            let lower = if lower_len == 0 { Vec::new() } else { stretched(0x11, 1, lower_len) };
            let upper = (upper_len > 0).then(|| stretched(0x99, 1, upper_len));
            let mut body = Box::new([0; BODY_BYTES]);
            if inner {
                init_inner(&mut body, 1, TreeId(3), &lower, upper.as_deref(), PageId(1));
            } else {
                init(&mut body, 0, TreeId(3), &lower, upper.as_deref());
            }
            let mut keys = std::collections::BTreeSet::new();
            for (number, key_len, value_len) in records {
                let incoming = stretched(0x55, number, key_len);
                let Err(index) = search(&body, &incoming) else { continue };
                let value = vec![9; value_len.min(RECORD_BYTES_MAX - incoming.len())];
                let done = match inner {
                    false => leaf_insert(&mut body, index, &incoming, V, Some(&value)),
                    true if inner_fits(&body, &incoming) => {
                        let index = lower_bound(&body, &incoming).max(1);
                        if index < count(&body) && key(&body, index) == incoming {
                            continue;
                        }
                        inner_insert(&mut body, index, &incoming, PageId(2));
                        true
                    }
                    true => false,
                };
                if done {
                    keys.insert(incoming);
                    continue;
                }
                let mut right = Box::new([0; BODY_BYTES]);
                let (at, separator) = split_point(&body, &incoming);
                right[..].copy_from_slice(&body[..]);
                split_into(&mut body, &mut right, at, &separator);
                check(&body).unwrap();
                check(&right).unwrap();
                let own = usize::from(inner);
                let mut found: Vec<_> = (own..count(&body)).map(|index| key(&body, index)).collect();
                if inner {
                    found.push(separator.clone());
                }
                found.extend((own..count(&right)).map(|index| key(&right, index)));
                prop_assert!(found.iter().eq(keys.iter()));
                return Ok(());
            }
        }
    }

    #[test]
    fn appended_records_split_at_the_end() {
        let mut body = leaf(b"", None);
        let mut number = 0u32;
        while put(&mut body, &number.to_be_bytes(), Some(&[1; 100])) {
            number += 1;
        }
        let (index, separator) = split_point(&body, &number.to_be_bytes());
        assert_eq!((index, separator.as_slice()), (count(&body), &number.to_be_bytes()[..]));
        // A key in the middle makes halves, and the separator is as short as it can be.
        let (index, separator) = split_point(&body, &5u32.to_be_bytes());
        assert!(index > 40 && index < 80, "{index} of {}", count(&body));
        assert_eq!(separator, (index as u32).to_be_bytes());
        assert_eq!(shortest_separator(b"abcdef", b"abzzzz"), b"abz");
    }

    #[test]
    fn a_leaf_of_few_long_records_is_closed_where_it_lies() {
        let keys = [&b"key-01"[..], b"key-02", b"key-03"];
        let mut left = leaf(b"key-01", Some(b"key-z"));
        for key in keys {
            assert!(put(&mut left, key, Some(&[9; 4_000])));
        }
        let cells = left[heap_start(&left)..].to_vec();
        let mut right = leaf(b"", None);
        split_into(&mut left, &mut right, 3, b"key-04");
        assert!(left.ends_with(&cells), "no record moves");
        assert_eq!((lower_fence(&left), upper_fence(&left)), (&b"key-01"[..], Some(&b"key-04"[..])));
        assert_eq!((lower_fence(&right), upper_fence(&right)), (&b"key-04"[..], Some(&b"key-z"[..])));
        assert_eq!((count(&left), count(&right), tree_id(&right)), (3, 0, TreeId(3)));
        check(&left).unwrap();
        check(&right).unwrap();
        // The old fence is dead, and is found again when the leaf is rewritten.
        assert_eq!(dead_bytes(&left), b"key-z".len());
        // It makes space for a record although the fences have more in common now than the records leave out.
        assert_eq!((prefix_len(&left), common_len(lower_fence(&left), b"key-04")), (4, 5));
        for key in [b"key-02b", b"key-02c"] {
            remove(&mut left, 1);
            assert!(put(&mut left, key, Some(&[8; 4_000])));
        }
        assert_eq!(dead_bytes(&left), 0, "it was compacted");
        check(&left).unwrap();
        let left_keys: Vec<Vec<u8>> = (0..count(&left)).map(|index| key(&left, index)).collect();
        assert_eq!(left_keys, [&b"key-01"[..], b"key-02c", b"key-03"]);
    }

    #[test]
    fn a_key_outside_the_prefix_still_has_a_place() {
        let mut body = leaf(b"key-a", Some(b"key-z"));
        assert!(put(&mut body, b"key-m", Some(b"")));
        assert_eq!(prefix(&body), b"key-");
        assert_eq!([&b"a"[..], b"key-b", b"key-n", b"z"].map(|key| lower_bound(&body, key)), [0, 0, 1, 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Whatever happens to a leaf, it holds what a map would, through compactions, splits and merges.
        #[test]
        fn a_leaf_is_a_small_map(
            actions in prop::collection::vec((0..40u8, prop::option::of(0..900usize), any::<bool>()), 1..200)
        ) {
            let mut body = leaf(b"k", Some(b"l"));
            let mut model: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
            for (key, value_len, removes) in actions {
                let key = [b"k", &b"ey-with-a-tail"[..usize::from(key % 14)], &[key]].concat();
                let value = value_len.map(|len| vec![key[key.len() - 1]; len]);
                if removes {
                    if let Ok(index) = search(&body, &key) {
                        remove(&mut body, index);
                        model.remove(&key);
                    }
                } else if put(&mut body, &key, value.as_deref()) {
                    model.insert(key, value);
                }
                prop_assert_eq!(check(&body), Ok(()));
            }
            let all = |bodies: &[&Body]| -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
                let mut all = Vec::new();
                for body in bodies {
                    all.extend((0..count(body)).map(|i| (key(body, i), value(body, i).map(<[u8]>::to_vec))));
                }
                all
            };
            let expected: Vec<_> = model.into_iter().collect();
            prop_assert_eq!(&all(&[&body]), &expected);
            if expected.len() >= 2 {
                let mut right = leaf(b"", None);
                let (index, separator) = split_point(&body, b"kk");
                split_into(&mut body, &mut right, index, &separator);
                prop_assert_eq!(check(&body), Ok(()));
                prop_assert_eq!(check(&right), Ok(()));
                prop_assert_eq!(&all(&[&body, &right]), &expected);
                if nodes_fit(&body, &right) {
                    merge_nodes(&mut body, &right);
                    prop_assert_eq!(check(&body), Ok(()));
                    prop_assert_eq!(&all(&[&body]), &expected);
                }
            }
        }
    }
}
