//! Running transactions and their locks, for people to read. Nothing here is on the path of a statement.
//!
//! A row's exclusive lock is a transaction id in the row, so the exclusive locks are read from the owner's undo: the
//! first entry of a record was written when the transaction locked it. The other locks are noted in the owner's slot
//! (`HeldLocks`).
//!
//! Owners continue and end meanwhile. So a list is not a snapshot: a lock may be missed, or be released by the time it
//! is read.
//!
//! Invariants:
//! 1. Undo is read only while no segment is freed and, as checked afterwards, its owner runs. The owner's segments were
//!    kept until then, so no pointer leads to an entry that is gone. Entries removed meanwhile (`Slot::removals`) end
//!    the reading.
//! 2. A list takes no more than [`LISTED_BYTES_MAX`] and reads no more than [`ENTRIES_WALKED_MAX`] undo entries a
//!    transaction, the newest. What is beyond is left out, exclusive row locks before noted locks: others wait for the
//!    noted ones.

use crate::btree::Seek;
use crate::btree::node;
use crate::error::StoreError;
use crate::ids::{TreeId, TxnId};
use crate::lock::LockMode;
use crate::mvcc::undo::{Kind, NONE};
use crate::store::{Inner, Store};
use crate::sync::atomic::Ordering;
use hashbrown::HashSet;

/// The most that the locks of one list take, about.
const LISTED_BYTES_MAX: usize = 32 << 20;
/// The most undo entries that a list reads of one transaction.
const ENTRIES_WALKED_MAX: usize = 1 << 20;
/// Undo entries read before undo may be freed again, and notes read before the owner may take further locks.
const READ_AT_ONCE: usize = 256;
/// What a lock in a list takes beside its keys, about.
const LISTED_BYTES: usize = 96;

/// What a lock covers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LockTarget {
    /// The whole tree: listed once for the tree's shared and once for its exclusive locks and changes.
    Tree,
    /// A record.
    Record(Vec<u8>),
    /// The keys from `lower` up to, not including, `upper` (`None`: to the end).
    Keys {
        /// Where it begins.
        lower: Vec<u8>,
        /// Where it ends.
        upper: Option<Vec<u8>>,
        /// It locks the records there too, shared; else it only keeps others from inserting records.
        covers_rows: bool,
    },
}

impl LockTarget {
    fn bytes(&self) -> usize {
        match self {
            LockTarget::Tree => 0,
            LockTarget::Record(key) => key.len(),
            LockTarget::Keys { lower, upper, .. } => lower.len() + upper.as_ref().map_or(0, Vec::len),
        }
    }
}

/// A lock that a transaction holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HeldLock {
    /// The transaction that holds it.
    pub txn: TxnId,
    /// In which tree.
    pub tree: TreeId,
    /// On what.
    pub target: LockTarget,
    /// For a key range: the mode of the scan that locked it.
    pub mode: LockMode,
}

/// A transaction that has written or locked something and has not ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RunningTransaction {
    /// Its number.
    pub txn: TxnId,
    /// What [`crate::Transaction::set_owner`] said.
    pub owner: u64,
    /// Records it has locked or changed.
    pub records_locked: u64,
    /// Changes it has made.
    pub changes: u64,
    /// Locks that are noted in memory: shared ones, those others wait for, key ranges.
    pub noted_locks: u64,
    /// Bytes of those.
    pub noted_bytes: u64,
}

/// What a list contains so far.
struct LockLister<'s> {
    see: &'s mut dyn FnMut(&HeldLock),
    bytes_left: usize,
}

/// Of one transaction.
#[derive(Default)]
struct TransactionLocks {
    keys: HashSet<(TreeId, Vec<u8>)>,
    /// With whether it was for shared locks.
    trees: HashSet<(TreeId, bool)>,
}

impl LockLister<'_> {
    fn is_full(&self) -> bool {
        self.bytes_left == 0
    }

    fn push(&mut self, lock: &HeldLock) {
        self.bytes_left = self.bytes_left.saturating_sub(LISTED_BYTES + lock.target.bytes());
        (self.see)(lock);
    }

    fn lock(
        &mut self,
        of: &mut TransactionLocks,
        txn: TxnId,
        tree: TreeId,
        target: LockTarget,
        mode: LockMode,
    ) {
        self.tree(of, txn, tree, mode);
        self.push(&HeldLock { txn, tree, target, mode });
    }

    fn tree(&mut self, of: &mut TransactionLocks, txn: TxnId, tree: TreeId, mode: LockMode) {
        if of.trees.insert((tree, mode == LockMode::Shared)) {
            self.push(&HeldLock { txn, tree, target: LockTarget::Tree, mode });
        }
    }
}

impl Store {
    /// The transactions that have written or locked, each with what [`crate::Transaction::set_owner`] said.
    #[must_use]
    pub fn transaction_owners(&self) -> Vec<(TxnId, u64)> {
        let owned = self.inner.slots.owned().into_iter();
        let owner = |(slot, txn): (u32, TxnId)| {
            let note = self.inner.slots.get(slot).locks.lock();
            note.is_of(txn).then(|| (txn, note.connection()))
        };
        owned.filter_map(owner).collect()
    }

    /// The transactions that have written or locked, by number. Each is looked at for itself: together they are no snapshot.
    ///
    /// # Errors
    /// Undo could not be read.
    pub fn running_transactions(&self) -> Result<Vec<RunningTransaction>, StoreError> {
        let mut running = Vec::new();
        for (slot, txn) in self.inner.slots.owned() {
            let mut seen = {
                let note = self.inner.slots.get(slot).locks.lock();
                if !note.is_of(txn) {
                    continue;
                }
                RunningTransaction {
                    txn,
                    owner: note.connection(),
                    records_locked: note.len() as u64,
                    changes: 0,
                    noted_locks: note.len() as u64,
                    noted_bytes: note.bytes(),
                }
            };
            for_each_entry(&self.inner, slot, txn, &mut |entries| {
                for entry in entries {
                    seen.records_locked += u64::from(entry.first);
                    seen.changes += u64::from(entry.kind != Kind::Same);
                }
                Ok(true)
            })?;
            running.push(seen);
        }
        running.sort_unstable_by_key(|running| running.txn);
        Ok(running)
    }

    /// Calls `see` with each lock that is held. A record that a transaction has inserted, or an index entry it has
    /// changed, is listed only if another transaction has requested it: until then it needed no entry.
    ///
    /// # Errors
    /// Undo or a page could not be read.
    pub fn for_each_held_lock(&self, see: &mut dyn FnMut(&HeldLock)) -> Result<(), StoreError> {
        let inner = &*self.inner;
        let mut lister = LockLister { see, bytes_left: LISTED_BYTES_MAX };
        let mut running: Vec<(u32, TxnId, TransactionLocks)> = inner
            .slots
            .owned()
            .into_iter()
            .map(|(slot, txn)| (slot, txn, TransactionLocks::default()))
            .collect();
        for (slot, txn, of) in &mut running {
            list_noted(inner, *slot, *txn, of, &mut lister);
        }
        for (slot, txn, of) in &mut running {
            list_written(inner, *slot, *txn, of, &mut lister)?;
        }
        Ok(())
    }
}

fn list_noted(inner: &Inner, slot: u32, txn: TxnId, of: &mut TransactionLocks, lister: &mut LockLister<'_>) {
    let note = &inner.slots.get(slot).locks;
    for at in (0..).step_by(READ_AT_ONCE) {
        let keys = note.lock().keys_of(txn, at, READ_AT_ONCE);
        if keys.is_empty() || lister.is_full() {
            break;
        }
        for (tree, key) in keys {
            let Some(mode) = inner.locks.held_mode(tree, &key, txn) else { continue };
            if of.keys.insert((tree, key.clone())) {
                lister.lock(of, txn, tree, LockTarget::Record(key), mode);
            }
        }
    }
    for at in (0..).step_by(READ_AT_ONCE) {
        let ranges = note.lock().ranges_of(txn, at, READ_AT_ONCE);
        if ranges.is_empty() || lister.is_full() {
            break;
        }
        for held in ranges {
            let (lower, upper) = (held.lower.into_vec(), held.upper.map(<[u8]>::into_vec));
            let mode = if held.covers_rows { LockMode::Shared } else { LockMode::Exclusive };
            let target = LockTarget::Keys { lower, upper, covers_rows: held.covers_rows };
            lister.lock(of, txn, held.tree, target, mode);
        }
    }
}

fn list_written(
    inner: &Inner,
    slot: u32,
    txn: TxnId,
    of: &mut TransactionLocks,
    lister: &mut LockLister<'_>,
) -> Result<(), StoreError> {
    for_each_entry(inner, slot, txn, &mut |entries| {
        for entry in entries.drain(..) {
            lister.tree(of, txn, entry.tree, LockMode::Exclusive);
            let is_lock = entry.first && entry.kind == Kind::Same;
            // A lock that was released has left its entry.
            if is_lock
                && is_written_by(inner, entry.tree, &entry.key, txn)?
                && of.keys.insert((entry.tree, entry.key.clone()))
            {
                let target = LockTarget::Record(entry.key);
                lister.lock(of, txn, entry.tree, target, LockMode::Exclusive);
            }
        }
        Ok(!lister.is_full())
    })
}

/// Whether the transaction's id is in the record now.
fn is_written_by(inner: &Inner, tree: TreeId, key: &[u8], txn: TxnId) -> Result<bool, StoreError> {
    let Some(tree) = inner.tree(tree) else { return Ok(false) };
    let leaf = match inner.leaf(&tree.state, Seek::At(key)) {
        Err(StoreError::TreeGone(_)) => return Ok(false),
        leaf => leaf?,
    };
    let found = node::search(leaf.body(), key).ok();
    Ok(found.is_some_and(|index| node::record(leaf.body(), index).0.trx_id == txn.0))
}

/// An undo entry, copied.
struct Copied {
    /// The transaction's first one of its record.
    first: bool,
    kind: Kind,
    tree: TreeId,
    key: Vec<u8>,
}

/// Reads a running transaction's undo, newest entry first, and gives `see` some at a time until it says that it has enough or
/// the owner has ended.
fn for_each_entry(
    inner: &Inner,
    slot: u32,
    txn: TxnId,
    see: &mut dyn FnMut(&mut Vec<Copied>) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    // Where the reading continues, and `removals` from the start.
    let mut at: Option<(u64, u64)> = None;
    let mut copies = Vec::new();
    for _ in 0..ENTRIES_WALKED_MAX / READ_AT_ONCE {
        copies.clear();
        {
            let _kept = inner.undo.pin_waiting();
            let (newest, removals) = {
                let slot = inner.slots.get(slot);
                (slot.last_undo.load(Ordering::SeqCst), slot.removals.load(Ordering::SeqCst))
            };
            let (mut next, began) = at.unwrap_or((newest, removals));
            if !inner.slots.is_owned_by(slot, txn) || began != removals {
                return Ok(());
            }
            while next != NONE && copies.len() < READ_AT_ONCE {
                next = inner.undo.with_entry(next, |entry| {
                    let first = entry.version.trx_id != txn.0;
                    copies.push(Copied {
                        first,
                        kind: entry.kind,
                        tree: entry.tree,
                        key: entry.key.to_vec(),
                    });
                    Ok(entry.before)
                })?;
            }
            at = Some((next, began));
        }
        let is_last = at.is_some_and(|(next, _)| next == NONE);
        if !see(&mut copies)? || is_last {
            return Ok(());
        }
    }
    Ok(())
}
