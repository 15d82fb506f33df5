//! The change log of online DDL: which rows writers changed while it builds indexes, copies the rows or checks them.
//!
//! The DDL statement reads the rows in parts, each from a snapshot of its own. Writers find the [`ChangeLog`] at the table that they
//! write through, and append each row that they change: its locator, and the keys that it had in indexes that are being built. The
//! DDL statement then applies the log: it reads the row as it is now and makes its own work agree with it.
//!
//! Invariants:
//! 1. A transaction that changes a row after the first part is read logs it, after the change and before the statement ends.
//! 2. A logged change is applied only when no other transaction holds the row's lock; else it is put back for another round. DDL waits
//!    for no row lock.
//!
//! So when nobody else uses the table and the log is empty, the work agrees with the rows. A writer is never refused because of an
//! index that is not there yet.

use std::sync::Arc;

use access::{Error, RowCells, RowChange, RowObserver};
use parking_lot::Mutex;
use types::Cell;
use types::vector::Batch;

use crate::new_indexes::NewIndexes;

/// Stands for "no key" where a key's length is meant.
const NO_KEY: u16 = u16::MAX;

/// The rows that writers changed.
#[derive(Debug)]
pub struct ChangeLog {
    /// Keys that rows had in these are logged.
    indexes: Option<Arc<NewIndexes>>,
    /// Only these columns matter, ascending; `None`: all do.
    columns: Option<Vec<usize>>,
    state: Mutex<State>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct State {
    /// Per change: the locator, then a key or [`NO_KEY`] per index, each behind its length.
    bytes: Vec<u8>,
    /// Nobody reads it any more.
    closed: bool,
    full: bool,
}

/// Writers changed more than fits into `innodb_online_alter_log_max_size` bytes. Client sees 1799.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ChangeLogFull;

/// Changes taken to be applied: each once, in the order of the locators.
#[derive(Debug, Default)]
pub struct TakenChanges {
    bytes: Vec<u8>,
    /// Where each begins.
    starts: Vec<usize>,
    keys: usize,
}

/// A change of a row.
#[derive(Clone, Debug)]
pub struct LoggedChange<'a> {
    /// The row's, before the change if it moved; the row it moved to is logged too.
    pub locator: &'a [u8],
    /// The key that the row had in each index; `None` for a new row.
    pub(crate) before: Vec<Option<&'a [u8]>>,
    bytes: &'a [u8],
}

/// Columns of a changed row as it is now, locked.
#[derive(Clone, Copy, Debug)]
pub struct ChangedRow<'a> {
    /// Their ordinals, ascending.
    pub columns: &'a [usize],
    /// Their values.
    pub batch: &'a Batch,
}

impl<'a> ChangedRow<'a> {
    /// A column; NULL if it was not read. TIMESTAMPs are in UTC.
    #[must_use]
    pub fn cell(&self, ordinal: usize) -> Cell<'a> {
        let position = self.columns.binary_search(&ordinal);
        position.map_or(Cell::Null, |position| self.batch.columns[position].cell(0))
    }
}

impl ChangeLog {
    /// Space for changes of `bytes_max` bytes. `indexes` are being built. `all`: changes of any column matter, not only of those
    /// that the indexes hold.
    #[must_use]
    pub fn new(indexes: Option<Arc<NewIndexes>>, all: bool, bytes_max: u64) -> Arc<Self> {
        let columns = indexes.as_ref().filter(|_| !all).map(|indexes| indexes.held().to_vec());
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        Arc::new(Self { indexes, columns, state: Mutex::default(), bytes_max })
    }

    /// Whether a change of this column is logged.
    fn logs_changes_of(&self, column: usize) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.binary_search(&column).is_ok())
    }

    /// Logs a row that was changed: `before` gives the cells it had, TIMESTAMPs in UTC; `None` for a new row.
    fn append(&self, locator: &[u8], before: Option<&dyn RowCells>) {
        let mut entry = Vec::new();
        push_with_length(locator, &mut entry);
        if let Some(indexes) = &self.indexes {
            match before {
                None => (0..indexes.len()).for_each(|_| entry.extend_from_slice(&NO_KEY.to_le_bytes())),
                Some(cells) => indexes.keys_before(cells, locator, |key| push_with_length(key, &mut entry)),
            }
        }
        self.push(&entry);
    }

    fn push(&self, entry: &[u8]) {
        let mut state = self.state.lock();
        if state.closed || state.full {
            return;
        }
        if state.bytes.len() + entry.len() > self.bytes_max {
            state.full = true;
            state.bytes = Vec::new();
            return;
        }
        state.bytes.extend_from_slice(entry);
    }

    /// Logs a row that the DDL statement itself could not work on yet.
    pub fn append_again(&self, locator: &[u8]) {
        self.append(locator, None);
    }

    /// Puts a change back for another round.
    pub fn put_back(&self, change: &LoggedChange<'_>) {
        self.push(change.bytes);
    }

    /// Says that the work has ended, one way or the other: nothing is logged any more.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.bytes = Vec::new();
    }

    /// Bytes of changes that wait to be applied.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        self.state.lock().bytes.len()
    }

    /// Takes the changes out of the log.
    ///
    /// # Errors
    /// Writers changed more than it has space for.
    pub fn take(&self) -> Result<TakenChanges, ChangeLogFull> {
        let bytes = {
            let mut state = self.state.lock();
            if state.full {
                return Err(ChangeLogFull);
            }
            std::mem::take(&mut state.bytes)
        };
        let keys = self.indexes.as_ref().map_or(0, |indexes| indexes.len());
        let mut starts = Vec::new();
        let mut rest = &bytes[..];
        loop {
            let start = bytes.len() - rest.len();
            if next_change(&mut rest, keys).is_none() {
                break;
            }
            starts.push(start);
        }
        // By the locator, then by all of it.
        let cut = |&start: &usize| {
            next_change(&mut &bytes[start..], keys).map(|change| (change.locator, change.bytes))
        };
        starts.sort_unstable_by(|one, two| cut(one).cmp(&cut(two)));
        starts.dedup_by(|one, two| cut(one) == cut(two));
        Ok(TakenChanges { bytes, starts, keys })
    }
}

impl RowObserver for ChangeLog {
    fn reads_before(&self, ordinal: usize) -> bool {
        self.indexes.as_ref().is_some_and(|indexes| indexes.held().binary_search(&ordinal).is_ok())
    }

    fn reads_after(&self, _ordinal: usize) -> bool {
        false // The DDL statement reads the row itself, when it applies the change.
    }

    /// Refuses nothing: a full log ends the DDL statement.
    fn row_changed(&self, change: &RowChange<'_>) -> Result<(), Error> {
        let stays = change.stays();
        if stays && !change.columns.iter().any(|&column| self.logs_changes_of(column)) {
            return Ok(());
        }
        if let Some(before) = change.before {
            self.append(before.locator, Some(before.cells));
        }
        if let Some(after) = change.after
            && !stays
        {
            self.append(after.locator, None);
        }
        Ok(())
    }
}

impl TakenChanges {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = LoggedChange<'_>> {
        self.starts.iter().filter_map(|&start| next_change(&mut &self.bytes[start..], self.keys))
    }
}

fn next_change<'a>(rest: &mut &'a [u8], keys: usize) -> Option<LoggedChange<'a>> {
    let start = *rest;
    let locator = take_with_length(rest)?;
    let before = (0..keys).map(|_| take_with_length(rest)).collect();
    Some(LoggedChange { bytes: &start[..start.len() - rest.len()], locator, before })
}

fn push_with_length(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn take_with_length<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, behind) = rest.split_first_chunk::<2>()?;
    let length = u16::from_le_bytes(*length);
    if length == NO_KEY {
        *rest = behind;
        return None;
    }
    let (bytes, behind) = behind.split_at_checked(usize::from(length))?;
    *rest = behind;
    Some(bytes)
}
