//! Leaving out versions that no snapshot sees.
//!
//! While an old snapshot is held, a row that is changed again and again would grow a chain of versions that the
//! snapshot has to walk and that no other one needs. So a transaction that adds a version checks the few before it:
//! those between two neighbouring snapshots (or the oldest and the newest commit) are seen by none, now or later, and
//! one entry that leads past them takes their place. A row's chain is then about as long as there are snapshots, and
//! segments of undo to which nothing leads any more are freed before the old snapshot ends ("Scalable Garbage
//! Collection for In-Memory MVCC Systems", VLDB 2020, does the same with chains in memory).
//!
//! Only entries in memory are looked at: no change waits for the undo file because of this. Rows that are changed so
//! seldom that their last version has gone to the file keep all versions.

use super::Work;
use crate::btree::node::Version;
use crate::error::StoreError;
use crate::ids::{Csn, TreeId, TxnId};
use crate::mvcc::txn_table::State;
use crate::mvcc::undo::{self, Before, NONE, UndoPin};
use crate::store::Inner;

/// Versions left out at once at most.
const STEPS_MAX: usize = 16;

/// What was left out. To be finalised when the change is made or rolled back.
pub(super) struct Merged<'i> {
    /// Keeps the entries below.
    _pin: Option<UndoPin<'i>>,
    /// The entry that leads past them.
    entry: u64,
    dead: [u64; STEPS_MAX],
    count: usize,
}

impl Merged<'_> {
    fn nothing() -> Merged<'static> {
        Merged { _pin: None, entry: NONE, dead: [NONE; STEPS_MAX], count: 0 }
    }

    /// The change is made: nothing leads to those left out any more.
    #[inline]
    pub(super) fn apply(self, inner: &Inner) {
        for &entry in &self.dead[..self.count] {
            inner.undo.release_entry(entry);
        }
    }

    /// The change is not made.
    pub(super) fn revert(self, inner: &Inner) {
        if self.entry != NONE {
            inner.undo.discard(self.entry);
        }
    }
}

impl Inner {
    fn commit_number(&self, trx_id: u64) -> Option<Csn> {
        match self.txns.state(TxnId(trx_id)) {
            State::Running(_) => None,
            State::Finished(csn) => Some(csn),
            State::Old => Some(Csn(0)),
        }
    }
}

impl Work {
    /// Before a change of a record: makes the undo pointer of its newest version lead past versions that nobody sees. The
    /// record's leaf is latched exclusively.
    #[inline]
    pub(super) fn merge<'i>(
        &mut self,
        inner: &'i Inner,
        tree: TreeId,
        key: &[u8],
        version: &mut Version,
        value: Option<&[u8]>,
    ) -> Result<Merged<'i>, StoreError> {
        if version.undo == NONE || version.trx_id == self.id.0 || version.trx_id < inner.txns.horizon() {
            return Ok(Merged::nothing());
        }
        self.merge_recent(inner, tree, key, version, value)
    }

    fn merge_recent<'i>(
        &mut self,
        inner: &'i Inner,
        tree: TreeId,
        key: &[u8],
        version: &mut Version,
        value: Option<&[u8]>,
    ) -> Result<Merged<'i>, StoreError> {
        let Some(csn) = inner.commit_number(version.trx_id) else { return Ok(Merged::nothing()) };
        if csn <= inner.purge.bound() {
            return Ok(Merged::nothing()); // Every snapshot sees this one, and nobody goes past it.
        }
        let Some(pin) = inner.undo.pin() else { return Ok(Merged::nothing()) };
        // From here on nothing above the bound is freed.
        let bound = inner.purge.bound();
        let mut merged = Merged { _pin: Some(pin), ..Merged::nothing() };
        let mut scratch = value.unwrap_or(&[]).to_vec();
        let (mut newer, mut at) = (csn, version.undo);
        // The versions left out had the same value: they only locked the row.
        let mut only_locks = true;
        // The oldest version reached, and whether it is live.
        let mut reached: Option<(Version, bool)> = None;
        while at != NONE && newer > bound && merged.count < STEPS_MAX {
            let Some(step) = inner.undo.step_back_in_memory(at, &mut scratch) else { break };
            let (older, live) = step?;
            let Some(older_csn) = inner.commit_number(older.trx_id) else { break };
            only_locks &= undo::only_locks(at);
            merged.dead[merged.count] = at;
            merged.count += 1;
            reached = Some((older, live));
            if inner.snapshots.any_between(older_csn, newer, &inner.newest) {
                break;
            }
            (newer, at) = (older_csn, older.undo);
            if at == NONE {
                reached = None; // Nobody sees the first one either.
            }
        }
        match reached {
            // It is the next one anyway.
            Some(_) if merged.count == 1 => return Ok(Merged::nothing()),
            Some((older, live)) => {
                let before = match (live, value) {
                    (false, _) => Before::Tombstone(older),
                    (true, Some(value)) => Before::Live(older, &scratch, Some(undo::common(&scratch, value))),
                    (true, None) => Before::Live(older, &scratch, None),
                };
                merged.entry = inner.undo.record(&mut self.undo_refs, NONE, tree, key, before)?;
                version.undo = if only_locks { undo::lock_pointer(merged.entry) } else { merged.entry };
            }
            None if merged.count == 0 => return Ok(Merged::nothing()),
            None => version.undo = NONE,
        }
        inner.counters.versions_merged.add(merged.count as u64);
        Ok(merged)
    }
}
