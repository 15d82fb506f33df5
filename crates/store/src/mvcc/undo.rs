//! What a running or recently finished transaction changed, so that it can be taken back and older snapshots read past it.
//!
//! Each writing transaction owns a slot; its entries lie one behind the other in the slot's bytes, only ever appended:
//!
//! ```text
//! 0              4              12     13     21                 29               37         39         41       43
//! | entry before | undone epoch | kind | tree | stamp before | undo before | key len | data len | prefix | suffix | key | data
//! ```
//! The entry says what a record was before the change: absent, a tombstone, a whole value, or a value that has `prefix` bytes
//! and `suffix` bytes in common with the one after it. `undone epoch` is the checkpoint epoch in which the change was taken
//! back, 0 if it was not: a checkpoint that began earlier still holds the change and must undo it.
//!
//! An undo pointer is `(slot + 1) << 32 | offset of the entry`, with the top bit set if the version only locks the row. Pointers in pages survive a restart but are never followed
//! then, because every stamp lies below the horizon.

use crate::btree::node::Version;
use crate::error::StoreError;
use crate::ids::{TreeId, TxnId};
use parking_lot::{Mutex, RwLock};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const HEADER_BYTES: usize = 45;
/// No entry before this one.
pub(crate) const NONE: u32 = u32::MAX;
/// The most undo one transaction may have, in bytes.
const UNDO_BYTES_MAX: usize = u32::MAX as usize - 64 * 1024;
const FIRST_SLOTS: usize = 64;
const CHUNKS: usize = 19;
/// The most transactions that run or wait to be purged at once.
const SLOTS_MAX: usize = FIRST_SLOTS << (CHUNKS - 1);
/// A slot that grew beyond this gives its memory back when it is reused.
const KEEP_BYTES_MAX: usize = 64 * 1024;

/// What a record was before a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// It did not exist.
    Absent = 1,
    /// A tombstone.
    Tombstone = 2,
    /// Its value is stored whole.
    Whole = 3,
    /// Its value is the one after it with the middle replaced.
    Diff = 4,
    /// The same: it was only locked.
    Same = 5,
}

/// One entry, read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'b> {
    pub(crate) before: u32,
    pub(crate) undone_epoch: u64,
    pub(crate) kind: Kind,
    pub(crate) tree: TreeId,
    pub(crate) version: Version,
    pub(crate) key: &'b [u8],
    prefix: usize,
    suffix: usize,
    data: &'b [u8],
    /// Where the next entry begins.
    pub(crate) end: usize,
}

impl Entry<'_> {
    /// Turns the value after the change into the one before. False if there was none.
    pub(crate) fn apply(&self, value: &mut Vec<u8>) -> Result<bool, StoreError> {
        match self.kind {
            Kind::Absent | Kind::Tombstone => {
                value.clear();
                return Ok(false);
            }
            Kind::Whole => {
                value.clear();
                value.extend_from_slice(self.data);
            }
            Kind::Diff => {
                let Some(end) = value.len().checked_sub(self.suffix).filter(|&end| end >= self.prefix) else {
                    return Err(StoreError::corrupt("undo", "a difference does not fit its value"));
                };
                value.splice(self.prefix..end, self.data.iter().copied());
            }
            Kind::Same => {}
        }
        Ok(true)
    }
}

/// Reads the entry at `at`.
pub(crate) fn read(bytes: &[u8], at: usize) -> Result<Entry<'_>, StoreError> {
    let damaged = || StoreError::corrupt("undo", "an entry is cut off or unknown");
    let entry = bytes.get(at..).filter(|entry| entry.len() >= HEADER_BYTES).ok_or_else(damaged)?;
    let u16_at = |at: usize| usize::from(u16::from_le_bytes([entry[at], entry[at + 1]]));
    let u64_at = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("8 bytes"));
    let kind = match entry[12] {
        1 => Kind::Absent,
        2 => Kind::Tombstone,
        3 => Kind::Whole,
        4 => Kind::Diff,
        5 => Kind::Same,
        _ => return Err(damaged()),
    };
    let (key_len, data_len) = (u16_at(37), u16_at(39));
    let end = HEADER_BYTES + key_len + data_len;
    let rest = entry.get(HEADER_BYTES..end).ok_or_else(damaged)?;
    let (key, data) = rest.split_at(key_len);
    Ok(Entry {
        before: u32::from_le_bytes(entry[..4].try_into().expect("4 bytes")),
        undone_epoch: u64_at(4),
        kind,
        tree: TreeId(u64_at(13)),
        version: Version { stamp: u64_at(21), undo: u64_at(29) },
        key,
        prefix: u16_at(41),
        suffix: u16_at(43),
        data,
        end: at + end,
    })
}

/// How two values agree: lengths of their common start and, behind it, end.
pub(crate) fn common(old: &[u8], new: &[u8]) -> (usize, usize) {
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let suffix = old[prefix..]
        .iter()
        .rev()
        .zip(new[prefix..].iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    (prefix, suffix)
}

/// What the change made of the record, seen from the version before it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Before<'a> {
    Absent,
    Tombstone(Version),
    /// The old value and, if there is a new one, how many bytes they share at the start and at the end.
    Live(Version, &'a [u8], Option<(usize, usize)>),
    Same(Version),
}

/// Appends an entry and returns its offset.
fn push(bytes: &mut Vec<u8>, last: u32, tree: TreeId, key: &[u8], before: Before<'_>) -> u32 {
    let at = bytes.len();
    let (kind, version, data, prefix, suffix) = match before {
        Before::Absent => (Kind::Absent, Version { stamp: 0, undo: 0 }, &[][..], 0, 0),
        Before::Tombstone(version) => (Kind::Tombstone, version, &[][..], 0, 0),
        Before::Same(version) => (Kind::Same, version, &[][..], 0, 0),
        Before::Live(version, old, None) => (Kind::Whole, version, old, 0, 0),
        Before::Live(version, old, Some((prefix, suffix))) => {
            (Kind::Diff, version, &old[prefix..old.len() - suffix], prefix, suffix)
        }
    };
    bytes.reserve(HEADER_BYTES + key.len() + data.len());
    bytes.extend_from_slice(&last.to_le_bytes());
    bytes.extend_from_slice(&0u64.to_le_bytes());
    bytes.push(kind as u8);
    bytes.extend_from_slice(&tree.0.to_le_bytes());
    bytes.extend_from_slice(&version.stamp.to_le_bytes());
    bytes.extend_from_slice(&version.undo.to_le_bytes());
    for length in [key.len(), data.len(), prefix, suffix] {
        bytes.extend_from_slice(&(length as u16).to_le_bytes());
    }
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(data);
    at as u32
}

/// A transaction's undo, and the keys of its locks in the lock table.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The transaction that owns the slot, 0 for none or finished.
    owner: AtomicU64,
    bytes: RwLock<Vec<u8>>,
    pub(crate) locks: Mutex<crate::lock::HeldLocks>,
}

/// All slots.
#[derive(Debug)]
pub(crate) struct UndoSlots {
    chunks: [OnceLock<Box<[Slot]>>; CHUNKS],
    free: Mutex<FreeSlots>,
}

#[derive(Debug, Default)]
struct FreeSlots {
    free: Vec<u32>,
    made: u32,
    /// While a checkpoint copies undo no slot is reused; those that became free wait here.
    held: Option<Vec<u32>>,
}

impl UndoSlots {
    pub(crate) fn new() -> UndoSlots {
        UndoSlots { chunks: [const { OnceLock::new() }; CHUNKS], free: Mutex::default() }
    }

    fn locate(slot: usize) -> (usize, usize) {
        if slot < FIRST_SLOTS {
            return (0, slot);
        }
        let chunk = (slot / FIRST_SLOTS).ilog2() as usize + 1;
        (chunk, slot - (FIRST_SLOTS << (chunk - 1)))
    }

    /// A slot that was handed out before.
    pub(crate) fn get(&self, slot: u32) -> &Slot {
        let (chunk, index) = UndoSlots::locate(slot as usize);
        &self.chunks[chunk].get().expect("slots are used only after they were made")[index]
    }

    /// A slot for a new transaction; it has no owner yet.
    pub(crate) fn acquire(&self) -> Result<u32, StoreError> {
        let mut free = self.free.lock();
        if let Some(slot) = free.free.pop() {
            return Ok(slot);
        }
        if free.made as usize >= SLOTS_MAX {
            return Err(StoreError::Limit("transactions whose undo some snapshot needs"));
        }
        let slot = free.made;
        free.made += 1;
        let (chunk, _) = UndoSlots::locate(slot as usize);
        self.chunks[chunk].get_or_init(|| {
            let count = if chunk == 0 { FIRST_SLOTS } else { FIRST_SLOTS << (chunk - 1) };
            let empty =
                || Slot { owner: AtomicU64::new(0), bytes: RwLock::default(), locks: Mutex::default() };
            std::iter::repeat_with(empty).take(count).collect()
        });
        Ok(slot)
    }

    /// Gives the slot to a transaction, empty.
    pub(crate) fn own(&self, slot: u32, owner: TxnId) {
        let slot = self.get(slot);
        let mut bytes = slot.bytes.write();
        if bytes.capacity() > KEEP_BYTES_MAX {
            *bytes = Vec::new();
        }
        bytes.clear();
        drop(bytes);
        slot.locks.lock().begin(owner);
        slot.owner.store(owner.0, Ordering::SeqCst);
    }

    /// Says that the transaction has ended; its undo stays.
    pub(crate) fn disown(&self, slot: u32) {
        self.get(slot).owner.store(0, Ordering::SeqCst);
    }

    /// Gives the slot back: nobody needs its undo any more.
    pub(crate) fn release(&self, slot: u32) {
        let mut free = self.free.lock();
        match &mut free.held {
            Some(held) => held.push(slot),
            None => free.free.push(slot),
        }
    }

    /// From now on no slot is reused. Returns the running transactions: slot, number, bytes of undo. Alone in the gate only.
    pub(crate) fn hold(&self) -> Vec<(u32, TxnId, usize)> {
        let mut free = self.free.lock();
        free.held.get_or_insert_default();
        let slots = 0..free.made;
        let mut running = Vec::new();
        for slot in slots {
            let entry = self.get(slot);
            let owner = entry.owner.load(Ordering::SeqCst);
            let bytes = entry.bytes.read().len();
            if owner != 0 && bytes > 0 {
                running.push((slot, TxnId(owner), bytes));
            }
        }
        running
    }

    /// Ends [`UndoSlots::hold`].
    pub(crate) fn unhold(&self) {
        let mut free = self.free.lock();
        if let Some(held) = free.held.take() {
            free.free.extend(held);
        }
    }

    /// Appends an entry and returns its offset. The record's leaf is latched exclusively.
    pub(crate) fn record(
        &self,
        slot: u32,
        last: u32,
        tree: TreeId,
        key: &[u8],
        before: Before<'_>,
    ) -> Result<u32, StoreError> {
        let mut bytes = self.get(slot).bytes.write();
        if bytes.len() > UNDO_BYTES_MAX {
            return Err(StoreError::Limit("undo of one transaction"));
        }
        Ok(push(&mut bytes, last, tree, key, before))
    }

    /// Takes the last entry out again: the change it was for did not happen.
    pub(crate) fn forget(&self, slot: u32, at: u32) {
        self.get(slot).bytes.write().truncate(at as usize);
    }

    /// Says that a change was taken back in this epoch.
    pub(crate) fn mark_undone(&self, slot: u32, at: u32, epoch: u64) {
        let at = at as usize + 4;
        self.get(slot).bytes.write()[at..at + 8].copy_from_slice(&epoch.to_le_bytes());
    }

    /// Looks at a slot's entries.
    pub(crate) fn with<R>(&self, slot: u32, look: impl FnOnce(&[u8]) -> R) -> R {
        look(&self.get(slot).bytes.read())
    }

    /// Goes one version back: `value` becomes the one before. Returns that version's stamp and undo pointer, and whether it
    /// is live.
    pub(crate) fn step_back(&self, pointer: u64, value: &mut Vec<u8>) -> Result<(Version, bool), StoreError> {
        let slot = ((pointer & !ONLY_LOCKS) >> 32) as u32 - 1;
        let bytes = self.get(slot).bytes.read();
        let entry = read(&bytes, (pointer & u64::from(u32::MAX)) as usize)?;
        let live = entry.apply(value)?;
        Ok((entry.version, live))
    }

    /// Bytes of undo kept, and slots made.
    pub(crate) fn size(&self) -> (u64, u32) {
        let made = self.free.lock().made;
        let bytes = (0..made).map(|slot| self.get(slot).bytes.read().len() as u64).sum();
        (bytes, made)
    }
}

const ONLY_LOCKS: u64 = 1 << 63;
const _: () = assert!((SLOTS_MAX as u64 + 1) << 32 < ONLY_LOCKS);

/// The pointer to the entry of a version that only locks the row.
pub(crate) fn lock_pointer(slot: u32, at: u32) -> u64 {
    pointer(slot, at) | ONLY_LOCKS
}

/// Whether the version with this pointer only locks the row.
#[inline]
pub(crate) fn only_locks(pointer: u64) -> bool {
    pointer & ONLY_LOCKS != 0
}

/// The pointer to an entry.
pub(crate) fn pointer(slot: u32, at: u32) -> u64 {
    (u64::from(slot) + 1) << 32 | u64::from(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_rebuilt_newest_to_oldest() {
        let slots = UndoSlots::new();
        let slot = slots.acquire().unwrap();
        slots.own(slot, TxnId(5));
        let v = |stamp| Version { stamp, undo: 77 };
        let tree = TreeId(4);
        let values = [&b"first value"[..], b"first longer value", b"", b"fiue"];
        let mut last = NONE;
        for pair in values.windows(2) {
            last = slots
                .record(slot, last, tree, b"key", Before::Live(v(3), pair[0], Some(common(pair[0], pair[1]))))
                .unwrap();
        }
        let deleted = slots.record(slot, last, tree, b"key", Before::Live(v(4), values[3], None)).unwrap();
        let mut value = Vec::new();
        let mut at = deleted;
        for expected in values.iter().rev() {
            let (version, live) = slots.step_back(pointer(slot, at), &mut value).unwrap();
            assert!(live && version.undo == 77);
            assert_eq!(value, *expected);
            at = slots.with(slot, |bytes| read(bytes, at as usize).unwrap().before);
        }
        assert_eq!(at, NONE);
    }

    #[test]
    fn no_slot_is_reused_while_held() {
        let slots = UndoSlots::new();
        let slot = slots.acquire().unwrap();
        slots.own(slot, TxnId(5));
        slots.record(slot, NONE, TreeId(1), b"k", Before::Absent).unwrap();
        assert_eq!(slots.hold(), [(slot, TxnId(5), HEADER_BYTES + 1)]);
        slots.disown(slot);
        slots.release(slot);
        assert_ne!(slots.acquire().unwrap(), slot);
        slots.unhold();
        assert_eq!(slots.acquire().unwrap(), slot);
    }
}
