//! One change of one record.

use super::{Transaction, Work};
use crate::btree::Seek;
use crate::btree::node::{self, KEY_BYTES_MAX, RECORD_BYTES_MAX, Version};
use crate::btree::tree::Exclusive;
use crate::checkpoint_latch::CriticalSection;
use crate::error::{StoreError, WriteError};
use crate::ids::{TreeId, TxnId};
use crate::lock::{LockMode, LockWait, Waiting};
use crate::mvcc::txn_table::State;
use crate::mvcc::undo::{self, Before};
use crate::oplog::Op;
use crate::pager::PageMiss;
use crate::pager::frame::ExclusiveGuard;
use crate::planted::{self, Plant};
use crate::store::Inner;
use crate::store::space::Purpose;
use crate::sync::atomic::Ordering;
use crate::trees::{Tree, TreeState};
use std::sync::Arc;

/// A difference is logged instead of the value if it saves at least this much.
const DIFF_SAVES_BYTES_MIN: usize = 24;

/// What to do to a record.
pub(super) enum Change<'a> {
    /// Add it; a live one is a duplicate.
    Insert(&'a [u8]),
    /// Add or replace it.
    Put(&'a [u8]),
    /// Replace it.
    Update(&'a [u8]),
    /// Delete it.
    Delete,
    /// Only lock it and read its value.
    Lock(&'a mut dyn FnMut(&[u8])),
}

/// Outcome of a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WriteOutcome {
    /// It was done.
    Changed,
    /// There is no such live record.
    Absent,
    /// There is one already.
    Duplicate,
}

/// One attempt.
pub(super) enum Attempt {
    WriteOutcome(WriteOutcome),
    /// Another transaction holds the row lock; `wrote_row` if its transaction id is in the row.
    Busy {
        holder: TxnId,
        wrote_row: bool,
    },
    /// Another transaction has locked a key range around the key.
    InRange {
        holder: TxnId,
        inserts: bool,
    },
    /// The row was changed after the snapshot.
    Newer,
}

impl Transaction {
    /// Makes a change, and waits for the transaction that holds the row lock.
    pub(super) fn change(
        &mut self,
        tree: &Tree,
        key: &[u8],
        change: &mut Change<'_>,
        wait: LockWait,
    ) -> Result<WriteOutcome, WriteError> {
        let value_bytes = match change {
            Change::Insert(value) | Change::Put(value) | Change::Update(value) => value.len(),
            Change::Delete | Change::Lock(_) => 0,
        };
        if key.len() > KEY_BYTES_MAX || key.len() + value_bytes > RECORD_BYTES_MAX {
            return Err(WriteError::TooLarge { key_bytes: key.len(), value_bytes });
        }
        self.begin_write()?;
        let inner = &*self.store.inner;
        inner.check_writable()?;
        let removes = matches!(change, Change::Delete | Change::Lock(_));
        inner.check_space(if removes { Purpose::Remove } else { self.work.purpose })?;
        if !self.work.replays {
            inner.undo.spill()?; // Recovery does it between two of its transactions.
        }
        if self.work.log.bytes_in_memory() > inner.options.txn_log_memory_bytes {
            inner.wait_for_log()?;
            self.work.move_log_out(inner)?;
        }
        if tree.state.is_dropped() {
            return Err(StoreError::TreeGone(tree.id()).into());
        }
        // How it had the record's entry in the lock table before it waited for it.
        let mut had: Option<Option<LockMode>> = None;
        let mut range_wait: Option<Arc<Waiting>> = None;
        loop {
            let Transaction { store, work, .. } = &mut *self;
            let (inner, txn) = (&*store.inner, work.id);
            let step = inner.with_tree(&tree.state, || {
                let section = inner.checkpoint_latch.shared();
                work.change_in_section(inner, &section, tree, key, change)
            });
            if let Some(waiting) = range_wait.take() {
                inner.locks.end_range_wait(&waiting);
            }
            match step? {
                Attempt::WriteOutcome(done) => {
                    if done == WriteOutcome::Changed {
                        inner.count(change);
                        work.touch(inner);
                        self.work.deletes |= matches!(change, Change::Delete);
                        if !matches!(change, Change::Lock(_)) {
                            self.work.change_count += 1;
                        }
                    } else if let Some(had) = had {
                        inner.locks.restore_mode(tree.id(), key, txn, had);
                    }
                    return Ok(done);
                }
                Attempt::Busy { holder, wrote_row } => {
                    if wrote_row && !matches!(wait, LockWait::Timeout(_)) {
                        return Err(WriteError::Locked { holder }); // It does not wait: no need to enter the lock table.
                    }
                    if had.is_none() {
                        had = Some(inner.locks.held_mode(tree.id(), key, txn));
                    }
                    let written_by = wrote_row.then_some(holder);
                    self.acquire(tree, key, LockMode::Exclusive, written_by, wait)?;
                }
                Attempt::InRange { holder, inserts } => {
                    if !matches!(wait, LockWait::Timeout(_)) {
                        return Err(WriteError::Locked { holder });
                    }
                    if let Some(had) = had.take() {
                        // The transaction it waits for now may request the record, too.
                        inner.locks.restore_mode(tree.id(), key, txn, had);
                    }
                    range_wait = self.wait_for_range(tree, key, inserts, wait)?;
                }
                Attempt::Newer => return Err(WriteError::ChangedSinceSnapshot),
            }
        }
    }
}

impl Work {
    /// One attempt, splitting leaves as needed.
    pub(super) fn change_in_section(
        &mut self,
        inner: &Inner,
        _section: &CriticalSection<'_>,
        tree: &Tree,
        key: &[u8],
        change: &mut Change<'_>,
    ) -> Result<Attempt, PageMiss> {
        let root = tree.state.root;
        loop {
            let leaf = root.leaf::<Exclusive>(&inner.pool, Seek::At(key))?;
            match self.change_in_leaf(inner, leaf, tree, key, change)? {
                Some(step) => return Ok(step),
                None => root.split_leaf(&inner.pool, key)?,
            }
        }
    }

    /// `None`: the leaf has no space.
    fn change_in_leaf(
        &mut self,
        inner: &Inner,
        mut leaf: ExclusiveGuard<'_>,
        tree: &Tree,
        key: &[u8],
        change: &mut Change<'_>,
    ) -> Result<Option<Attempt>, PageMiss> {
        let body = leaf.body();
        let found = node::search(body, key);
        let old = found.ok().map(|index| {
            let (version, _, value) = node::record(body, index);
            (version, value)
        });
        // Read once: the commit of the owner needs no latch, and two reads could see two states.
        let is_others = old.is_some_and(|(version, _)| self.is_others(inner, version.trx_id));
        if matches!(change, Change::Insert(_))
            && let Some((version, Some(_))) = old
            && !is_others
        {
            // The record is there, whichever transaction has it locked: reporting that waits for none.
            let newer = self.is_newer(inner, version)?;
            return Ok(Some(if newer {
                Attempt::Newer
            } else {
                Attempt::WriteOutcome(WriteOutcome::Duplicate)
            }));
        }
        // The transaction whose id is in the row holds it, whatever the lock table says: a transaction that was granted
        // the lock there just then finds the transaction id and waits.
        let is_ours = old.is_some_and(|(version, _)| version.trx_id == self.id.0);
        let adds = matches!(change, Change::Insert(_) | Change::Put(_));
        let locks = if found.is_ok() || adds { tree.state.locks().load(Ordering::SeqCst) } else { 0 };
        if locks % TreeState::RANGES != 0
            && !is_ours
            && let Some(holder) = inner.locks.conflict(tree.id(), key, self.id, LockMode::Exclusive)
        {
            return Ok(Some(Attempt::Busy { holder, wrote_row: false }));
        }
        // Entries that became a key range since (`LockTable::join_shared`) are found as such.
        let locks = if locks == 0 { 0 } else { tree.state.locks().load(Ordering::SeqCst) };
        if let Some((version, _)) = old {
            let forgotten = planted::is(Plant::ForgetLock) && node::count(body) > 12;
            if is_others && !forgotten {
                return Ok(Some(Attempt::Busy { holder: TxnId(version.trx_id), wrote_row: true }));
            }
            if self.is_newer(inner, version)? {
                return Ok(Some(Attempt::Newer));
            }
        }
        let old_live = old.and_then(|(_, value)| value);
        let inserts = old_live.is_none();
        let takes_effect = match change {
            Change::Insert(_) | Change::Put(_) => true,
            Change::Update(_) | Change::Delete | Change::Lock(_) => !inserts,
        };
        // Transactions that locked a key range around the row since wait for the holder of its lock.
        if locks >= TreeState::RANGES
            && takes_effect
            && !is_ours
            && let Some(holder) = inner.locks.range_conflict(tree.id(), key, self.id, inserts)
        {
            return Ok(Some(Attempt::InRange { holder, inserts }));
        }
        let new = match change {
            Change::Update(_) | Change::Delete | Change::Lock(_) if old_live.is_none() => {
                return Ok(Some(Attempt::WriteOutcome(WriteOutcome::Absent)));
            }
            Change::Insert(value) | Change::Put(value) | Change::Update(value) => Some(*value),
            Change::Delete => None,
            Change::Lock(read) => {
                let (Some((version, Some(value))), Ok(index)) = (old, found) else {
                    unreachable!("it is live")
                };
                read(value);
                if version.trx_id != self.id.0 {
                    let mut version = version;
                    let merged = self.merge(inner, tree.id(), key, &mut version, Some(value))?;
                    let before = Before::Same(version);
                    let at = inner.undo.record(&mut self.undo_refs, self.last, tree.id(), key, before)?;
                    self.set_last(inner, at);
                    let version = Version { trx_id: self.id.0, undo: undo::lock_pointer(at) };
                    node::set_version(inner.pool.modify(&mut leaf), index, version);
                    merged.apply(inner);
                }
                return Ok(Some(Attempt::WriteOutcome(WriteOutcome::Changed)));
            }
        };
        let shared = match (old_live, new) {
            (Some(old), Some(new)) => Some(undo::common(old, new)),
            _ => None,
        };
        let mut old = old;
        let merged = match &mut old {
            Some((version, value)) => Some(self.merge(inner, tree.id(), key, version, *value)?),
            None => None,
        };
        let before = match old {
            None => Before::Absent,
            Some((version, None)) => Before::Tombstone(version),
            Some((version, Some(value))) => Before::Live(version, value, shared),
        };
        let was_live = old_live.is_some();
        let at = inner.undo.record(&mut self.undo_refs, self.last, tree.id(), key, before)?;
        let undo = if found.is_ok() { at } else { undo::NONE };
        let version = Version { trx_id: self.id.0, undo };
        let horizon = inner.txns.horizon();
        let body = inner.pool.modify(&mut leaf);
        let fits = match found {
            Ok(index) => node::leaf_replace(body, index, version, new),
            Err(index) => node::leaf_insert(body, index, key, version, new),
        };
        if !fits {
            inner.undo.discard(at);
            if let Some(merged) = merged {
                merged.revert(inner);
            }
            let removed = node::remove_dead(body, |trx_id| trx_id < horizon);
            drop(leaf);
            if removed == 0 {
                return Ok(None);
            }
            let leaf = tree.state.root.leaf::<Exclusive>(&inner.pool, Seek::At(key))?;
            return self.change_in_leaf(inner, leaf, tree, key, change);
        }
        self.set_last(inner, at);
        if let Some(merged) = merged {
            merged.apply(inner);
        }
        drop(leaf);
        tree.state.count(i64::from(new.is_some()) - i64::from(was_live));
        let lost = planted::is(Plant::LoseChange) && key.last() == Some(&b'7');
        if !self.replays && tree.id() != TreeId::META && !lost {
            self.note(tree.id(), key, new, shared);
        }
        Ok(Some(Attempt::WriteOutcome(WriteOutcome::Changed)))
    }

    /// Whether another transaction that still runs has written the record.
    #[inline]
    fn is_others(&self, inner: &Inner, trx_id: u64) -> bool {
        trx_id != self.id.0
            && trx_id >= inner.txns.horizon()
            && matches!(inner.txns.state(TxnId(trx_id)), State::Running(_))
    }

    /// In a critical section.
    fn set_last(&mut self, inner: &Inner, at: u64) {
        self.last = at;
        inner.slots.get(self.slot).last_undo.store(at, Ordering::Release);
    }

    /// Notes a change for the log.
    fn note(&mut self, tree: TreeId, key: &[u8], new: Option<&[u8]>, shared: Option<(usize, usize)>) {
        let op = match (new, shared) {
            (None, _) => Op::Delete { tree, key },
            (Some(value), Some((prefix, suffix))) if prefix + suffix >= DIFF_SAVES_BYTES_MIN => {
                Op::Diff { tree, key, prefix, suffix, middle: &value[prefix..value.len() - suffix] }
            }
            (Some(value), _) => Op::Put { tree, key, value },
        };
        self.log.push(&op);
    }
}

impl Inner {
    fn count(&self, change: &Change<'_>) {
        match change {
            Change::Insert(_) | Change::Put(_) => self.counters.records_inserted.increment(),
            Change::Update(_) => self.counters.records_updated.increment(),
            Change::Delete => self.counters.records_deleted.increment(),
            Change::Lock(_) => {}
        }
    }
}
