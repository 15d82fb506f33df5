//! What running and recently finished transactions changed, so that it can be rolled back and older snapshots read past
//! it.
//!
//! Entries lie in segments of 64 KiB. A thread appends to the open segment of its stripe, beside the entries of other
//! transactions; a full segment is never changed again. Each entry names the one of its transaction before it:
//!
//! ```text
//! 0        8      9      17             25            33        35         37       39       41
//! | before | kind | tree | transaction id before | undo before | key len | data len | prefix | suffix | key | data
//! ```
//! It says what a record was before the change: absent, a tombstone, a whole value, or a value that has `prefix` bytes
//! and `suffix` bytes in common with the one after it. A deleting transaction adds an end when it commits, by which
//! purge finds its tombstones later (`tree` is its number, `transaction id before` its commit number, `undo before` its
//! newest entry, `data` the segments it wrote to, `before` the next end in this segment).
//!
//! An undo pointer is `(segment + 1) << 16 | offset of the entry`, with the top bit set if the version only locks the
//! row. Pointers in pages survive a restart but are never followed then, because every transaction id lies below the
//! horizon.
//!
//! Read next: `segments` (where entries are, and for how long), `file` (what does not fit in memory).

mod file;
mod segments;

pub(crate) use segments::{SpilledEntry, UndoLog, UndoPin, UndoRefs, UndoStep};

use crate::btree::node::{RECORD_BYTES_MAX, Version};
use crate::error::StoreError;
use crate::ids::{Csn, TreeId, TxnId};

const HEADER_BYTES: usize = 41;
/// No entry before this one.
pub(crate) const NONE: u64 = 0;
/// No entry is longer: a record's key and value, and the header.
const ENTRY_BYTES_MAX: usize = 8 * 1024;
const _: () = assert!(HEADER_BYTES + RECORD_BYTES_MAX <= ENTRY_BYTES_MAX);

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
    /// No change: a deleting transaction's end.
    End = 6,
}

/// One entry, read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'b> {
    pub(crate) before: u64,
    pub(crate) kind: Kind,
    pub(crate) tree: TreeId,
    pub(crate) version: Version,
    pub(crate) key: &'b [u8],
    prefix: usize,
    suffix: usize,
    data: &'b [u8],
    /// How long it is.
    pub(crate) bytes: usize,
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
            Kind::End => return Err(StoreError::corrupt("undo", "an end stands for a version")),
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
    let kind = match entry[8] {
        1 => Kind::Absent,
        2 => Kind::Tombstone,
        3 => Kind::Whole,
        4 => Kind::Diff,
        5 => Kind::Same,
        6 => Kind::End,
        _ => return Err(damaged()),
    };
    let bytes = entry_bytes(entry).ok_or_else(damaged)?;
    let key_len = u16_at(33);
    let (key, data) = entry.get(HEADER_BYTES..bytes).ok_or_else(damaged)?.split_at(key_len);
    Ok(Entry {
        before: u64_at(0),
        kind,
        tree: TreeId(u64_at(9)),
        version: Version { trx_id: u64_at(17), undo: u64_at(25) },
        key,
        prefix: u16_at(37),
        suffix: u16_at(39),
        data,
        bytes,
    })
}

/// How long an entry is, from its header.
fn entry_bytes(header: &[u8]) -> Option<usize> {
    let lengths = header.get(33..37)?;
    let (key, data) = ([lengths[0], lengths[1]], [lengths[2], lengths[3]]);
    Some(HEADER_BYTES + usize::from(u16::from_le_bytes(key)) + usize::from(u16::from_le_bytes(data)))
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

impl<'a> Before<'a> {
    /// The kind, the version and the bytes that an entry keeps of it, and how many it shares with the value after it.
    fn parts(self) -> (Kind, Version, &'a [u8], (usize, usize)) {
        match self {
            Before::Absent => (Kind::Absent, Version { trx_id: 0, undo: 0 }, &[], (0, 0)),
            Before::Tombstone(version) => (Kind::Tombstone, version, &[], (0, 0)),
            Before::Same(version) => (Kind::Same, version, &[], (0, 0)),
            Before::Live(version, old, None) => (Kind::Whole, version, old, (0, 0)),
            Before::Live(version, old, Some((prefix, suffix))) => {
                (Kind::Diff, version, &old[prefix..old.len() - suffix], (prefix, suffix))
            }
        }
    }
}

/// An entry to be appended.
struct NewEntry<'a> {
    before: u64,
    kind: Kind,
    tree: TreeId,
    version: Version,
    key: &'a [u8],
    data: &'a [u8],
    shared: (usize, usize),
}

impl NewEntry<'_> {
    fn bytes(&self) -> usize {
        HEADER_BYTES + self.key.len() + self.data.len()
    }

    fn push(&self, bytes: &mut Vec<u8>) {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&self.before.to_le_bytes());
        header[8] = self.kind as u8;
        header[9..17].copy_from_slice(&self.tree.0.to_le_bytes());
        header[17..25].copy_from_slice(&self.version.trx_id.to_le_bytes());
        header[25..33].copy_from_slice(&self.version.undo.to_le_bytes());
        header[33..35].copy_from_slice(&(self.key.len() as u16).to_le_bytes());
        header[35..37].copy_from_slice(&(self.data.len() as u16).to_le_bytes());
        header[37..39].copy_from_slice(&(self.shared.0 as u16).to_le_bytes());
        header[39..41].copy_from_slice(&(self.shared.1 as u16).to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(self.key);
        bytes.extend_from_slice(self.data);
    }
}

/// A deleting transaction that has committed: what purge has to look through.
#[derive(Debug)]
pub(crate) struct End {
    /// Snapshots from here on see it.
    pub(crate) csn: Csn,
    pub(crate) txn: TxnId,
    /// Its newest entry, or where to go on.
    pub(crate) last: u64,
    pub(crate) refs: UndoRefs,
}

const ONLY_LOCKS: u64 = 1 << 63;
/// Bits of a pointer that say where in its segment the entry is.
const OFFSET_BITS: u32 = 16;

/// Marks the pointer of a version that only locks the row.
pub(crate) fn lock_pointer(pointer: u64) -> u64 {
    pointer | ONLY_LOCKS
}

/// Whether the version with this pointer only locks the row.
#[inline]
pub(crate) fn only_locks(pointer: u64) -> bool {
    pointer & ONLY_LOCKS != 0
}

/// The entry to which a version's undo pointer leads, as its transaction's chain names it.
pub(crate) fn entry_of(pointer: u64) -> u64 {
    pointer & !ONLY_LOCKS
}

fn pointer(segment: u32, at: usize) -> u64 {
    (u64::from(segment) + 1) << OFFSET_BITS | at as u64
}

/// Segment and offset of a pointer that is not [`NONE`].
fn place(pointer: u64) -> (u32, usize) {
    let pointer = pointer & !ONLY_LOCKS;
    let segment = (pointer >> OFFSET_BITS).wrapping_sub(1) as u32;
    (segment, (pointer & ((1 << OFFSET_BITS) - 1)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::simulated::SimWorld;
    use std::path::Path;

    fn log(world: &SimWorld, memory_bytes: u64) -> UndoLog {
        let folder = world.env().disk.folder(Path::new("/data"), true).unwrap();
        let names = folder.list().unwrap();
        UndoLog::open(folder, &names, memory_bytes, 1024).unwrap()
    }

    /// One version back, whether the entry is in memory or not.
    fn step_back(log: &UndoLog, at: u64, value: &mut Vec<u8>) -> Result<(Version, bool), StoreError> {
        log.with_entry(at, |entry| Ok((entry.version, entry.apply(value)?)))
    }

    fn v(trx_id: u64) -> Version {
        Version { trx_id, undo: 77 }
    }

    #[test]
    fn versions_are_rebuilt_newest_to_oldest() {
        let world = SimWorld::new(1);
        let log = log(&world, 1 << 20);
        let mut refs = UndoRefs::default();
        let tree = TreeId(4);
        let values = [&b"first value"[..], b"first longer value", b"", b"fiue"];
        let mut last = NONE;
        for pair in values.windows(2) {
            let before = Before::Live(v(3), pair[0], Some(common(pair[0], pair[1])));
            last = log.record(&mut refs, last, tree, b"key", before).unwrap();
        }
        let whole = Before::Live(v(4), values[3], None);
        let mut at = log.record(&mut refs, last, tree, b"key", whole).unwrap();
        let mut value = Vec::new();
        for expected in values.iter().rev() {
            let (version, live) = step_back(&log, at, &mut value).unwrap();
            assert!(live && version.undo == 77);
            assert_eq!(value, *expected);
            at = log.with_entry(at, |entry| Ok(entry.before)).unwrap();
        }
        assert_eq!(at, NONE);
    }

    #[test]
    fn what_is_filed_reads_the_same_and_its_space_is_used_again() {
        let world = SimWorld::new(1);
        let log = log(&world, 4 * 1024);
        let write = |csn: u64| {
            let (mut refs, mut all) = (UndoRefs::default(), Vec::new());
            for number in 0..200u64 {
                let last = all.last().copied().unwrap_or(NONE);
                let value = vec![number as u8; 100];
                let before = Before::Live(v(number), &value, None);
                all.push(log.record(&mut refs, last, TreeId(4), &number.to_be_bytes(), before).unwrap());
                log.spill().unwrap();
            }
            log.finish(&refs, Csn(csn));
            all
        };
        let read_all = |all: &[u64]| {
            for (number, &at) in all.iter().enumerate() {
                let mut value = Vec::new();
                assert_eq!(step_back(&log, at, &mut value).unwrap(), (v(number as u64), true));
                assert_eq!(value, vec![number as u8; 100]);
            }
        };
        let first = write(10);
        let size = || (log.size().bytes_in_memory, log.size().bytes_in_file);
        let (in_memory, on_disk) = size();
        assert!(in_memory <= 5 * 1024 && on_disk > 100 * 1024, "{in_memory} {on_disk}");
        read_all(&first);
        log.pause_freeing();
        log.sweep(Csn(10), u32::MAX);
        log.resume_freeing();
        log.sweep(Csn(9), u32::MAX);
        read_all(&first);
        let second = write(20);
        log.sweep(Csn(10), u32::MAX);
        assert!(log.with_entry(first[0], |_| Ok(())).is_err());
        read_all(&second);
        let on_disk_after = size().1;
        assert!(on_disk_after <= on_disk + 16 * 1024, "{on_disk_after} {on_disk}");
        for round in 3..20 {
            write(round * 10);
            log.sweep(Csn(round * 10), u32::MAX);
        }
        assert!(size().1 <= 64 * 1024, "{:?}", size());
    }

    #[test]
    fn a_disk_that_is_full_loses_nothing() {
        let world = SimWorld::new(1);
        let log = log(&world, 0);
        world.disk().plan(env::simulated::Faults { space_bytes_max: Some(100), ..Default::default() });
        let (mut refs, mut all) = (UndoRefs::default(), Vec::new());
        for number in 0..20u64 {
            let value = vec![number as u8; 200];
            let before = Before::Live(v(number), &value, None);
            all.push(log.record(&mut refs, NONE, TreeId(4), b"k", before).unwrap());
        }
        assert!(matches!(log.spill(), Err(StoreError::DiskFull { .. })));
        let check = || {
            for (number, &at) in all.iter().enumerate() {
                let mut value = Vec::new();
                step_back(&log, at, &mut value).unwrap();
                assert_eq!(value, vec![number as u8; 200]);
            }
        };
        check();
        world.disk().plan(env::simulated::Faults::default());
        log.spill().unwrap();
        check();
        world.disk().plan(env::simulated::Faults { fail_reads_per_million: 1_000_000, ..Default::default() });
        // Some blocks are cached; with every read failing the others say so.
        let failed = all.iter().filter(|&&at| log.with_entry(at, |_| Ok(())).is_err()).count();
        assert_eq!(failed, 0, "all of it fits the cache");
    }

    #[test]
    fn ends_are_found_in_order_and_only_once() {
        let world = SimWorld::new(1);
        let log = log(&world, 2 * 1024);
        for txn in 1..=300u64 {
            let mut refs = UndoRefs::default();
            let before = Before::Live(v(1), &[7; 90], None);
            let last = log.record(&mut refs, NONE, TreeId(4), &txn.to_be_bytes(), before).unwrap();
            log.finish_later(End { csn: Csn(txn), txn: TxnId(txn), last, refs });
            log.spill().unwrap();
        }
        let mut found = Vec::new();
        let mut budget = 0;
        for bound in [0, 100, 100, 300, 300] {
            budget += 70;
            let mut take = |end: &mut End| {
                if found.len() >= budget {
                    return Ok(false);
                }
                let key = log.with_entry(end.last, |entry| Ok(entry.key.to_vec()))?;
                assert_eq!(key, end.txn.0.to_be_bytes());
                found.push(end.csn.0);
                Ok(true)
            };
            log.purge(true, Csn(bound), &mut take).unwrap();
            assert!(found.len() as u64 <= bound);
        }
        let rest = |end: &mut End| {
            found.push(end.csn.0);
            Ok(true)
        };
        assert!(!log.purge(true, Csn(300), rest).unwrap());
        assert_eq!(found, (1..=300).collect::<Vec<u64>>());
        log.sweep(Csn(300), u32::MAX);
        assert_eq!(log.size().bytes_in_file, 0);
    }
}
