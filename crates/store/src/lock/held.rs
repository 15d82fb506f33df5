//! Which locks a transaction has or waits for: its own note, by which its end finds them.

use super::range::HeldRange;
use crate::ids::{TreeId, TxnId};
use hashbrown::Equivalent;

/// The most that the locks of one transaction may take, about.
pub(super) const TXN_LOCK_BYTES_MAX: u64 = 64 << 20;
/// When a transaction's locks take this, shared ones on records of one tree are joined to one key range.
pub(super) const TXN_LOCK_BYTES_JOINED: u64 = TXN_LOCK_BYTES_MAX / 4;
/// What an entry takes beside its key, which stands in it twice, about.
const ENTRY_BYTES: u64 = 160;

/// What an entry of the lock table takes, about.
pub(super) fn entry_bytes(key: &[u8]) -> u64 {
    ENTRY_BYTES + 2 * key.len() as u64
}

/// A record.
pub(super) type Key = (TreeId, Box<[u8]>);

/// A [`Key`] to look for; hashes as one.
#[derive(Hash)]
pub(super) struct KeyRef<'k>(pub(super) TreeId, pub(super) &'k [u8]);

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.0 == key.0 && *self.1 == *key.1
    }
}

/// The keys whose entries a transaction may be in, and its key ranges.
#[derive(Debug, Default)]
pub(crate) struct HeldLocks {
    /// The running transaction, 0 once it has ended.
    pub(super) owner: TxnId,
    /// What its user calls itself.
    connection: u64,
    pub(super) keys: Vec<Key>,
    pub(super) ranges: Vec<HeldRange>,
    /// What all of these take in memory, their entries and segments with them, about.
    pub(super) bytes: u64,
    /// At this many bytes shared locks are joined (again).
    pub(super) join_at: u64,
    /// A lock was refused because there are too many.
    pub(super) refused: bool,
}

impl HeldLocks {
    pub(crate) fn begin(&mut self, owner: TxnId, connection: u64) {
        assert!(self.keys.is_empty() && self.ranges.is_empty());
        self.owner = owner;
        self.connection = connection;
        self.bytes = 0;
        self.join_at = TXN_LOCK_BYTES_JOINED;
        self.refused = false;
    }

    /// Whether this running transaction owns it.
    pub(crate) fn is_of(&self, txn: TxnId) -> bool {
        self.owner == txn
    }

    pub(crate) fn connection(&self) -> u64 {
        self.connection
    }

    /// How many keys and how many key ranges are noted.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.keys.len(), self.ranges.len())
    }

    /// How many keys and key ranges are noted.
    pub(crate) fn len(&self) -> usize {
        self.keys.len() + self.ranges.len()
    }

    /// What they take in memory, about.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Some of the keys, from the one at `from` on; none if the transaction has ended.
    pub(crate) fn keys_of(&self, txn: TxnId, from: usize, count: usize) -> Vec<(TreeId, Vec<u8>)> {
        if self.owner != txn {
            return Vec::new();
        }
        self.keys.iter().skip(from).take(count).map(|(tree, key)| (*tree, key.to_vec())).collect()
    }

    /// Some of the key ranges, likewise.
    pub(crate) fn ranges_of(&self, txn: TxnId, from: usize, count: usize) -> Vec<HeldRange> {
        if self.owner != txn {
            return Vec::new();
        }
        self.ranges.iter().skip(from).take(count).cloned().collect()
    }

    pub(super) fn note_key(&mut self, key: Key) {
        self.bytes += entry_bytes(&key.1);
        self.keys.push(key);
    }

    /// Takes the note at `at` out; the last one takes its place.
    pub(super) fn remove_key(&mut self, at: usize) -> Key {
        let key = self.keys.swap_remove(at);
        self.bytes -= entry_bytes(&key.1);
        key
    }

    /// Notes a key range, as part of the last one if it continues where that one ends.
    pub(super) fn note_range(&mut self, tree: TreeId, lower: &[u8], upper: Option<&[u8]>, covers_rows: bool) {
        if let Some(last) = self.ranges.last_mut()
            && last.tree == tree
            && last.covers_rows == covers_rows
            && !last.joined
        {
            let before = last.bytes();
            let joins = if last.upper.as_deref() == Some(lower) {
                last.upper = upper.map(Box::from);
                true
            } else if upper == Some(&*last.lower) {
                last.lower = lower.into();
                true
            } else {
                false
            };
            if joins {
                self.bytes = self.bytes + last.bytes() - before;
                return;
            }
        }
        let upper = upper.map(Box::from);
        self.push_range(HeldRange { tree, lower: lower.into(), upper, covers_rows, joined: false });
    }

    pub(super) fn push_range(&mut self, range: HeldRange) {
        self.bytes += range.bytes();
        self.ranges.push(range);
    }

    pub(super) fn take_ranges(&mut self) -> Vec<HeldRange> {
        let ranges = std::mem::take(&mut self.ranges);
        self.bytes -= ranges.iter().map(HeldRange::bytes).sum::<u64>();
        ranges
    }
}
