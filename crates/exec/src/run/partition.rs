//! What hash operators share: a table of different keys, and rows parted by the hash of their keys.
//!
//! An operator that keeps keys fills a [`KeyTable`] up to its limit. From then on it is full: rows whose key is in it are
//! dealt with at once, rows with other keys go to [`Partitions`] on disk, sixteen by their hash. When the input ends each
//! partition is an input by itself, worked off with an empty table; its rows part by other bits at the next level. Since the
//! first keys of each partition are always finished, this ends whatever the keys are.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use types::Physical;
use types::vector::{BytesColumn, Cell};

use crate::context::ExecContext;
use crate::expr::SqlResult;
use crate::spill::{SpillRows, SpillWriter, block_bytes};

/// Parts into which rows are divided at a time.
pub(super) const FAN_OUT: usize = 16;
/// Levels at which other bits of the hash decide; an operator that would go deeper does without parting.
pub(super) const LEVELS_MAX: u32 = 6;

/// Memory that a cleared table keeps for its next use: less than any limit.
pub(super) const CLEARED_BYTES_MAX: usize = 1 << 10;

/// Fewest entries for which room is made before they come.
pub(super) const RESERVED_MIN: usize = 256;

/// Different keys, numbered in the order they came.
#[derive(Default)]
pub(super) struct KeyTable {
    slots: HashTable<u32>,
    keys: BytesColumn,
    hasher: foldhash::fast::FixedState,
}

impl KeyTable {
    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    /// The number of a key.
    #[inline]
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.slots.find(hash, |&number| self.keys.get(number as usize) == key).copied()
    }

    /// Adds a key that is not there.
    pub(super) fn insert(&mut self, hash: u64, key: &[u8]) -> u32 {
        let number = self.keys.len() as u32;
        let (keys, hasher) = (&self.keys, &self.hasher);
        self.slots.insert_unique(hash, number, |&other| hasher.hash_one(keys.get(other as usize)));
        self.keys.push(key);
        number
    }

    /// Room for this many keys, so that the table does not grow step by step.
    pub(super) fn reserve(&mut self, keys: usize) {
        let (known, hasher) = (&self.keys, &self.hasher);
        self.slots.reserve(keys, |&other| hasher.hash_one(known.get(other as usize)));
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn keys(&self) -> &BytesColumn {
        &self.keys
    }

    /// Bytes of memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.keys.memory_bytes() + slot_bytes(&self.slots)
    }

    /// No keys; memory stays only if it is little.
    pub(super) fn clear(&mut self) {
        if self.bytes() > CLEARED_BYTES_MAX {
            *self = KeyTable::default();
        } else {
            self.slots.clear();
            self.keys.clear();
        }
    }
}

/// Bytes of a table of numbers: a number and a control byte per bucket, a seventh of them kept free.
pub(super) fn slot_bytes(slots: &HashTable<u32>) -> usize {
    slots.capacity() * (size_of::<u32>() + 1) * 8 / 7
}

/// Which part a hash belongs to at a level.
fn part_of(hash: u64, level: u32) -> usize {
    // An odd factor per level: the upper bits of the product depend on all bits below.
    let factor = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(2 * u64::from(level) + 1) | 1;
    (hash.wrapping_mul(factor) >> 60) as usize
}

/// Rows on disk in [`FAN_OUT`] parts.
pub(super) struct Partitions {
    writers: Vec<SpillWriter>,
    level: u32,
}

impl Partitions {
    /// Parts of level `level` for rows of these shapes, of an operator that may use `limit` bytes.
    pub(super) fn new(
        shapes: &Arc<[Physical]>,
        level: u32,
        limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<Partitions> {
        let file = ctx.spill_file()?;
        let block_bytes = block_bytes(limit);
        let writers = (0..FAN_OUT).map(|_| SpillWriter::new(&file, shapes, block_bytes)).collect();
        Ok(Partitions { writers, level })
    }

    /// The level the parts are of.
    pub(super) fn level(&self) -> u32 {
        self.level
    }

    /// Rows in the part of `hash` so far.
    pub(super) fn rows_beside(&self, hash: u64) -> u64 {
        self.writers[part_of(hash, self.level)].row_count()
    }

    /// Appends a row whose key has this hash.
    pub(super) fn push<'c>(
        &mut self,
        hash: u64,
        key: &[u8],
        cells: impl Iterator<Item = Cell<'c>>,
    ) -> SqlResult<()> {
        self.writers[part_of(hash, self.level)].push(key, cells)
    }

    /// The parts, empty ones included.
    pub(super) fn finish(self) -> SqlResult<Vec<Arc<SpillRows>>> {
        self.writers.into_iter().map(|writer| writer.finish().map(Arc::new)).collect()
    }
}
