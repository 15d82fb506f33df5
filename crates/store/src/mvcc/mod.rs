//! Version visibility (MVCC).
//!
//! The newest version of a record is in the leaf, with the id of the transaction that wrote it. The undo pointer leads
//! to the version before it. A transaction's commit number is looked up in [`txn_table`]. A snapshot is a commit
//! number, and a version is visible if it was committed at or before it. A commit therefore touches none of the records
//! that it makes visible.
//!
//! Invariants:
//! 1. Along a chain of versions commit numbers fall (or stay equal, where a transaction only locked the row).
//! 2. Every transaction below the horizon is finished and seen by every present or future snapshot, so its number
//!    need not be looked up.
//! 3. The undo of a transaction is kept until every snapshot sees it, and a chain is followed only while its record's
//!    leaf is latched: no reader can meet freed undo. The undo file is read without the latch, and what is read counts
//!    only if the leaf still leads there ([`OlderVersion`]).

pub(crate) mod slots;
pub(crate) mod snapshots;
pub(crate) mod txn_table;
pub(crate) mod undo;

use crate::btree::node::Version;
use crate::error::StoreError;
use crate::ids::{Csn, TxnId};
use crate::planted::{self, Plant};
use std::marker::PhantomData;
use txn_table::TxnTable;
use undo::{SpilledEntry, UndoLog, UndoStep};

/// What a read sees: everything committed up to a snapshot, and the changes of one transaction. Cheap to copy; borrows the
/// view that keeps the snapshot's versions alive.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'v> {
    pub(crate) snapshot: Csn,
    pub(crate) horizon: u64,
    pub(crate) own: TxnId,
    pub(crate) uncommitted: bool,
    pub(crate) view: PhantomData<&'v ()>,
}

impl Reader<'_> {
    /// The newest committed versions and those of the same transaction, whatever the snapshot. The view keeps the old versions that this
    /// steps over.
    #[must_use]
    #[inline]
    pub fn newest(self) -> Self {
        Self { snapshot: Csn(u64::MAX >> 1), ..self }
    }

    /// Whether a version is seen. A version that only locks the row is its owner's, too, but what the owner sees is what it
    /// would see without the lock: the snapshot's version, not the newer one it locked.
    #[inline]
    pub(crate) fn sees(self, version: Version, txns: &TxnTable) -> bool {
        version.trx_id < self.horizon
            || (version.trx_id == self.own.0 && !undo::only_locks(version.undo))
            || self.uncommitted
            || self.sees_recent(version.trx_id, txns)
    }

    /// As [`Reader::sees`], for versions in turn: `last` remembers whose was seen last, whose others need no second look. Not the
    /// reader's own, which it may have only locked. Who committed after the snapshot, or not yet, is never seen by it, and who is
    /// seen always.
    #[inline]
    pub(crate) fn sees_next(self, version: Version, txns: &TxnTable, last: &mut u64) -> bool {
        if version.trx_id < self.horizon || version.trx_id == *last {
            return true;
        }
        let is_seen = self.sees(version, txns);
        if is_seen && version.trx_id != self.own.0 {
            *last = version.trx_id;
        }
        is_seen
    }

    fn sees_recent(self, trx_id: u64, txns: &TxnTable) -> bool {
        let bound = match () {
            () if planted::is(Plant::SeeTooMany) => Csn(self.snapshot.0 + 300),
            () if planted::is(Plant::SeeTooFew) => Csn(self.snapshot.0 - 1),
            () => self.snapshot,
        };
        txns.commit_number(TxnId(trx_id)).is_some_and(|csn| csn <= bound)
    }
}

/// Where the visible version of a record is.
pub(crate) enum Visible {
    /// It is the one in the leaf.
    InLeaf,
    /// It was rebuilt into [`OlderVersion::value`].
    Rebuilt,
    /// The record does not exist for this reader.
    Absent,
    /// An entry on the path to it has to be read from the undo file: leave the latch, [`OlderVersion::load`] it, and
    /// read again.
    Spilled,
}

/// A record's older versions on the way to the one that is looked for.
#[derive(Debug, Default)]
pub(crate) struct OlderVersion {
    /// The oldest version reached.
    pub(crate) value: Vec<u8>,
    resume: Option<ResumePoint>,
}

/// Where the way was left, to read an entry of the undo file without the latch.
///
/// A reader that comes back continues from there if the leaf has the version it had and that version's entry is the
/// same: entries never change, so the same ones follow, and those that a version in a leaf leads to are not freed. Else
/// the path starts again.
#[derive(Debug)]
struct ResumePoint {
    from: Version,
    /// Which use of its segment the entry behind `from` lies in.
    life: u32,
    spilled: SpilledEntry,
    /// What was read; empty if it has not been.
    entry: Vec<u8>,
}

impl OlderVersion {
    /// Reads what a look came to a stop for. Without a latch or a mutex: it gives the thread's place away ([`env::blocking`]).
    #[cold]
    pub(crate) fn load(&mut self, undo: &UndoLog) -> Result<(), StoreError> {
        if let Some(left) = &mut self.resume
            && !env::blocking::around(|| undo.read_spilled(&left.spilled, &mut left.entry))?
        {
            self.resume = None;
        }
        Ok(())
    }

    /// Goes on where the way was left, if it was that of this version: the version reached, and whether it is live.
    fn resume_chain(
        &mut self,
        version: Version,
        undo: &UndoLog,
    ) -> Result<Option<(Version, bool)>, StoreError> {
        let Some(left) = self.resume.take() else { return Ok(None) };
        if left.from != version || undo.life(version.undo) != left.life || left.entry.is_empty() {
            return Ok(None);
        }
        let entry = undo::read(&left.entry, 0)?;
        Ok(Some((entry.version, entry.apply(&mut self.value)?)))
    }
}

/// Finds the version of a record that `reader` sees. The leaf must be latched. Without waiting.
#[inline]
pub(crate) fn find_visible(
    reader: Reader<'_>,
    version: Version,
    value: Option<&[u8]>,
    txns: &TxnTable,
    undo: &UndoLog,
    older: &mut OlderVersion,
) -> Result<Visible, StoreError> {
    if reader.sees(version, txns) {
        return Ok(if value.is_some() { Visible::InLeaf } else { Visible::Absent });
    }
    find_older(reader, version, value, txns, undo, older)
}

#[cold]
fn find_older(
    reader: Reader<'_>,
    version: Version,
    value: Option<&[u8]>,
    txns: &TxnTable,
    undo: &UndoLog,
    older: &mut OlderVersion,
) -> Result<Visible, StoreError> {
    let mut reached = older.resume_chain(version, undo)?;
    if reached.is_none() {
        older.value.clear();
        older.value.extend_from_slice(value.unwrap_or(&[]));
    }
    loop {
        let pointer = match reached {
            Some((before, live)) if reader.sees(before, txns) => {
                return Ok(if live { Visible::Rebuilt } else { Visible::Absent });
            }
            Some((before, _)) => before.undo,
            None => version.undo,
        };
        if pointer == undo::NONE {
            return Ok(Visible::Absent); // The first version is too new.
        }
        reached = match undo.step_back(pointer, &mut older.value)? {
            UndoStep::To(before, live) => Some((before, live)),
            UndoStep::Spilled(spilled) => {
                let life = undo.life(version.undo);
                older.resume = Some(ResumePoint { from: version, life, spilled, entry: Vec::new() });
                return Ok(Visible::Spilled);
            }
        };
    }
}
