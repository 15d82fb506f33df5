//! Which version a reader sees.
//!
//! The newest version of a record stands in the leaf, stamped with the number of the transaction that wrote it. The version
//! before it is found through the undo pointer. A transaction's commit number is looked up in [`txn_table`]; a snapshot is
//! a commit number, and a version is visible if it was committed at or before it. Commit therefore touches none of the
//! records it made visible.
//!
//! Invariants:
//! 1. Along a chain of versions commit numbers fall (or stay equal, where a transaction only locked the row).
//! 2. Every transaction below the horizon is finished and is seen by every snapshot there is or will be, so its number
//!    need not be looked up.
//! 3. The undo of a transaction is kept until every snapshot sees it, and a chain is followed only while its record's leaf
//!    is latched: no reader can meet undo that was thrown away.

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
use undo::UndoLog;

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
    /// Whether a version is seen. A version that only locks the row is its owner's, too, but what the owner sees is what it
    /// would see without the lock: the snapshot's version, not the newer one it locked.
    #[inline]
    pub(crate) fn sees(self, version: Version, txns: &TxnTable) -> bool {
        version.stamp < self.horizon
            || (version.stamp == self.own.0 && !undo::only_locks(version.undo))
            || self.uncommitted
            || self.sees_recent(version.stamp, txns)
    }

    fn sees_recent(self, stamp: u64, txns: &TxnTable) -> bool {
        let bound = match () {
            () if planted::is(Plant::SeeTooMany) => Csn(self.snapshot.0 + 300),
            () if planted::is(Plant::SeeTooFew) => Csn(self.snapshot.0 - 1),
            () => self.snapshot,
        };
        txns.commit_number(TxnId(stamp)).is_some_and(|csn| csn <= bound)
    }
}

/// Where the visible version of a record is.
pub(crate) enum Visible {
    /// It is the one in the leaf.
    InLeaf,
    /// It was rebuilt into the scratch buffer.
    InScratch,
    /// The record does not exist for this reader.
    Absent,
}

/// Finds the version of a record that `reader` sees. The leaf must be latched.
#[inline]
pub(crate) fn find_visible(
    reader: Reader<'_>,
    version: Version,
    value: Option<&[u8]>,
    txns: &TxnTable,
    undo: &UndoLog,
    scratch: &mut Vec<u8>,
) -> Result<Visible, StoreError> {
    if reader.sees(version, txns) {
        return Ok(if value.is_some() { Visible::InLeaf } else { Visible::Absent });
    }
    find_older(reader, version, value, txns, undo, scratch)
}

#[cold]
fn find_older(
    reader: Reader<'_>,
    version: Version,
    value: Option<&[u8]>,
    txns: &TxnTable,
    undo: &UndoLog,
    scratch: &mut Vec<u8>,
) -> Result<Visible, StoreError> {
    scratch.clear();
    scratch.extend_from_slice(value.unwrap_or(&[]));
    let mut pointer = version.undo;
    loop {
        if pointer == 0 {
            return Ok(Visible::Absent); // The first version is too new.
        }
        let (before, live) = undo.step_back(pointer, scratch)?;
        if reader.sees(before, txns) {
            return Ok(if live { Visible::InScratch } else { Visible::Absent });
        }
        pointer = before.undo;
    }
}
