//! What writers note while somebody works on all rows of their table: builds indexes, copies the rows, checks them.
//!
//! The worker reads the rows in parts, each from a snapshot of its own. Writers, who find the [`RowNotes`] at the table they
//! write through, note each row that they changed: its locator, and the keys that it had in indexes that are being built. The
//! worker then settles the notes: it looks at a row as it is now and makes what it works on so.
//!
//! Invariants:
//! 1. Whoever changes a row after the first part is read notes it, after the change and before the statement ends.
//! 2. A note is settled only when nobody has the row locked; else it is kept for another round. Nobody is waited for.
//!
//! So when nobody else uses the table and no notes are left, the work stands for the rows as they are. A writer is never
//! refused because of something that is not there yet.

use std::sync::Arc;

use access::{Columns, Utc};
use parking_lot::Mutex;
use store::{LockMode, LockWait, Locked, Transaction};
use types::Cell;
use types::vector::{Batch, BytesColumn};

use crate::error::WriteError;
use crate::index_build::NewIndexes;
use crate::table::Table;

/// Stands for "no key" where a key's length is meant.
const NO_KEY: u16 = u16::MAX;

/// Where writers note the rows they changed.
#[derive(Debug)]
pub struct RowNotes {
    /// Keys that rows had in these are noted.
    indexes: Option<Arc<NewIndexes>>,
    /// Only these columns matter, ascending; `None`: all do.
    columns: Option<Vec<usize>>,
    state: Mutex<State>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct State {
    /// Per note: the locator, then a key or [`NO_KEY`] per index, each behind its length.
    bytes: Vec<u8>,
    /// Nobody reads them any more.
    closed: bool,
    too_many: bool,
}

/// Writers changed more than fits into `innodb_online_alter_log_max_size` bytes. Client sees 1799.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TooManyChanges;

/// Notes taken to be settled: each once, in the order of the locators.
#[derive(Debug, Default)]
pub struct TakenNotes {
    bytes: Vec<u8>,
    /// Where each begins.
    starts: Vec<usize>,
    keys: usize,
}

/// A note.
#[derive(Clone, Debug)]
pub struct Note<'a> {
    /// The row's, before the change if it moved; the row it moved to is noted too.
    pub locator: &'a [u8],
    /// The key that the row had in each index; `None` for a new row.
    pub(crate) before: Vec<Option<&'a [u8]>>,
    bytes: &'a [u8],
}

/// Columns of a row that is locked.
#[derive(Clone, Copy, Debug)]
pub struct NotedRow<'a> {
    /// Their ordinals, ascending.
    pub columns: &'a [usize],
    /// Their values.
    pub batch: &'a Batch,
}

impl<'a> NotedRow<'a> {
    /// A column; NULL if it was not read. TIMESTAMPs are in UTC.
    #[must_use]
    pub fn cell(&self, ordinal: usize) -> Cell<'a> {
        let position = self.columns.binary_search(&ordinal);
        position.map_or(Cell::Null, |position| self.batch.columns[position].cell(0))
    }
}

impl RowNotes {
    /// Room for notes of `bytes_max` bytes. `indexes` are being built. `all`: changes of any column matter, not only of those
    /// that the indexes hold.
    #[must_use]
    pub fn new(indexes: Option<Arc<NewIndexes>>, all: bool, bytes_max: u64) -> Arc<Self> {
        let columns = indexes.as_ref().filter(|_| !all).map(|indexes| indexes.held().to_vec());
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        Arc::new(Self { indexes, columns, state: Mutex::default(), bytes_max })
    }

    /// Whether a change of this column is to be noted.
    pub(crate) fn concerns(&self, column: usize) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.binary_search(&column).is_ok())
    }

    /// Whether notes are made of this column's value.
    pub(crate) fn holds(&self, column: usize) -> bool {
        self.indexes.as_ref().is_some_and(|indexes| indexes.held().binary_search(&column).is_ok())
    }

    /// Notes a row that was changed: `before` gives the cells it had, TIMESTAMPs in UTC; `None` for a new row.
    pub(crate) fn note<'a>(&self, locator: &[u8], before: Option<&dyn Fn(usize) -> Cell<'a>>) {
        let mut note = Vec::new();
        push_with_length(locator, &mut note);
        if let Some(indexes) = &self.indexes {
            match before {
                None => (0..indexes.len()).for_each(|_| note.extend_from_slice(&NO_KEY.to_le_bytes())),
                Some(cell) => indexes.keys_before(cell, locator, |key| push_with_length(key, &mut note)),
            }
        }
        self.push(&note);
    }

    fn push(&self, note: &[u8]) {
        let mut state = self.state.lock();
        if state.closed || state.too_many {
            return;
        }
        if state.bytes.len() + note.len() > self.bytes_max {
            state.too_many = true;
            state.bytes = Vec::new();
            return;
        }
        state.bytes.extend_from_slice(note);
    }

    /// Notes a row that the worker itself could not settle yet.
    pub fn note_again(&self, locator: &[u8]) {
        self.note(locator, None);
    }

    /// Keeps a note for another round.
    pub fn keep(&self, note: &Note<'_>) {
        self.push(note.bytes);
    }

    /// Says that the work has ended, one way or the other: nothing is noted any more.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.bytes = Vec::new();
    }

    /// Bytes of notes that wait to be settled.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        self.state.lock().bytes.len()
    }

    /// Takes the notes there are.
    ///
    /// # Errors
    /// There were too many.
    pub fn take(&self) -> Result<TakenNotes, TooManyChanges> {
        let bytes = {
            let mut state = self.state.lock();
            if state.too_many {
                return Err(TooManyChanges);
            }
            std::mem::take(&mut state.bytes)
        };
        let keys = self.indexes.as_ref().map_or(0, |indexes| indexes.len());
        let mut starts = Vec::new();
        let mut rest = &bytes[..];
        loop {
            let start = bytes.len() - rest.len();
            if next_note(&mut rest, keys).is_none() {
                break;
            }
            starts.push(start);
        }
        // By the locator, then by all of it.
        let cut =
            |&start: &usize| next_note(&mut &bytes[start..], keys).map(|note| (note.locator, note.bytes));
        starts.sort_unstable_by(|one, two| cut(one).cmp(&cut(two)));
        starts.dedup_by(|one, two| cut(one) == cut(two));
        Ok(TakenNotes { bytes, starts, keys })
    }
}

impl TakenNotes {
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
    pub fn iter(&self) -> impl Iterator<Item = Note<'_>> {
        self.starts.iter().filter_map(|&start| next_note(&mut &self.bytes[start..], self.keys))
    }
}

impl Table {
    /// Locks a noted row shared and makes `batch` its `columns`.
    ///
    /// # Errors
    /// No lock, or the store's.
    pub fn lock_noted(
        &self,
        transaction: &mut Transaction,
        locator: &[u8],
        wait: LockWait,
        columns: &[usize],
        batch: &mut Batch,
    ) -> Result<Locked<()>, WriteError> {
        batch.clear();
        let mut locators = BytesColumn::default();
        let columns = Columns::whole(columns);
        self.lock_columns(transaction, locator, LockMode::Shared, wait, &Utc, columns, batch, &mut locators)
    }
}

fn next_note<'a>(rest: &mut &'a [u8], keys: usize) -> Option<Note<'a>> {
    let start = *rest;
    let locator = take_with_length(rest)?;
    let before = (0..keys).map(|_| take_with_length(rest)).collect();
    Some(Note { bytes: &start[..start.len() - rest.len()], locator, before })
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
