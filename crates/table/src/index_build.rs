//! Indexes built while writers go on.
//!
//! Only the builder touches the new trees. Writers, who find the [`IndexBuild`] at the table they write through, note each row
//! that they changed: its locator, and the keys that it had in the new indexes. The builder reads all rows, in parts, each from
//! a snapshot of its own, and then settles the notes: it looks at a row as it is and makes its entries so.
//!
//! Invariants:
//! 1. Whoever changes a row after the first part is read notes it, after the change and before the statement ends.
//! 2. An entry names a row that had its key when the builder looked. If the row has it no more, a note with that key and that row
//!    is there still; if a row has a key without an entry, a note of that row is there still, or its part has not been read.
//! 3. A note is settled only when nobody has the row locked; else it is kept for another round. Nobody is waited for.
//!
//! So when nobody else uses the table and no notes are left, every row has its entries and there are no others. A writer is
//! never refused because of a unique index that is not there yet: two rows with one key end the build.

use std::sync::Arc;

use catalog::TableDefinition;
use parking_lot::Mutex;
use store::{LockMode, LockWait, Locked, Store, StoreError, Transaction};
use types::Cell;
use types::vector::{Batch, BytesColumn};

use crate::error::{WriteError, from_store};
use crate::part::Columns;
use crate::read::ScanRequest;
use crate::table::{Index, KeyBytesRange, Table};
use crate::write::{EntryBytes, duplicate};
use crate::zone::{TimestampZone, Utc};

/// Entries are sorted before they are written, so many bytes of them at a time.
const PART_BYTES: usize = 8 << 20;
/// Entries written, or notes settled, in one transaction.
const BATCH_ENTRIES: usize = 1_000;
/// Stands for "no key" where a key's length is meant.
const NO_KEY: u16 = u16::MAX;

/// Why an index could not be built.
#[derive(Debug)]
pub enum IndexBuildError {
    /// Two rows have one key; a lock; the store.
    Write(WriteError),
    /// Writers changed more than `innodb_online_alter_log_max_size` bytes of notes hold. Client sees 1799.
    TooManyChanges,
}

impl From<WriteError> for IndexBuildError {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

impl From<StoreError> for IndexBuildError {
    fn from(error: StoreError) -> Self {
        Self::Write(error.into())
    }
}

/// What writers noted.
#[derive(Debug, Default)]
struct Notes {
    /// Per note: the locator, then a key or [`NO_KEY`] per index, each behind its length.
    bytes: Vec<u8>,
    /// Nobody reads them any more.
    closed: bool,
    too_many: bool,
}

/// Indexes under construction.
#[derive(Debug)]
pub struct IndexBuild {
    /// The table as it is, with the new indexes behind the others.
    definition: Arc<TableDefinition>,
    /// Ordinal of the first new index in it.
    first: usize,
    indexes: Vec<Index>,
    /// The columns that entries are made of.
    columns: Vec<usize>,
    notes: Mutex<Notes>,
    note_bytes_max: usize,
}

/// Where the builder stands in the rows.
#[derive(Debug, Default)]
pub struct BuildPosition {
    next: Vec<u8>,
}

/// A note, cut from the others.
struct Note<'a> {
    bytes: &'a [u8],
    locator: &'a [u8],
    /// The key that the row had in each index.
    before: Vec<Option<&'a [u8]>>,
}

/// A row's columns, by ordinal.
struct Row<'a> {
    columns: &'a [usize],
    batch: &'a Batch,
}

impl Row<'_> {
    fn cell(&self, ordinal: usize) -> Cell<'_> {
        let position = self.columns.iter().position(|&column| column == ordinal);
        position.map_or(Cell::Null, |position| self.batch.columns[position].cell(0))
    }
}

impl IndexBuild {
    /// Readies the indexes of `definition` from the `first` on, whose trees are there and empty; the others, and the columns,
    /// are those of the table as it is.
    ///
    /// # Errors
    /// `TreeGone` if a tree is missing.
    pub fn new(
        store: &Store,
        definition: Arc<TableDefinition>,
        first: usize,
        note_bytes_max: u64,
    ) -> Result<Arc<Self>, StoreError> {
        let indexes = crate::table::open_indexes(store, &definition, first)?;
        let clustered = definition.clustered.map(|index| &definition.indexes[index].parts);
        let parts = definition.indexes[first..].iter().map(|index| &index.parts).chain(clustered);
        let mut columns: Vec<usize> = parts.flatten().map(|part| part.column).collect();
        columns.sort_unstable();
        columns.dedup();
        Ok(Arc::new(Self {
            definition,
            first,
            indexes,
            columns,
            notes: Mutex::default(),
            note_bytes_max: usize::try_from(note_bytes_max).unwrap_or(usize::MAX),
        }))
    }

    /// Whether an index under construction holds this column.
    pub(crate) fn holds(&self, column: usize) -> bool {
        self.columns.binary_search(&column).is_ok()
    }

    /// Notes a row that was changed: `before` gives the cells it had, `None` for a new row.
    pub(crate) fn note<'a>(
        &self,
        locator: &[u8],
        before: Option<&dyn Fn(usize) -> Cell<'a>>,
        zone: &dyn TimestampZone,
    ) {
        let mut note = Vec::new();
        push_with_length(locator, &mut note);
        let mut entry = EntryBytes::default();
        for index in &self.indexes {
            match before {
                None => note.extend_from_slice(&NO_KEY.to_le_bytes()),
                Some(cell) => {
                    entry.write_of(index, cell, locator, zone);
                    push_with_length(&entry.key, &mut note);
                }
            }
        }
        let mut notes = self.notes.lock();
        if notes.closed || notes.too_many {
            return;
        }
        if notes.bytes.len() + note.len() > self.note_bytes_max {
            notes.too_many = true;
            notes.bytes = Vec::new();
            return;
        }
        notes.bytes.extend_from_slice(&note);
    }

    /// Says that the build has ended, one way or the other: nothing is noted any more.
    pub fn close(&self) {
        let mut notes = self.notes.lock();
        notes.closed = true;
        notes.bytes = Vec::new();
    }

    /// Name of the first index that is built.
    #[must_use]
    pub fn first_name(&self) -> &str {
        self.definition.indexes.get(self.first).map_or("", |index| &index.name)
    }

    /// Bytes of notes that wait to be settled.
    #[must_use]
    pub fn note_bytes(&self) -> usize {
        self.notes.lock().bytes.len()
    }

    /// Reads the next part of the rows and writes its entries. False: that was the last.
    ///
    /// # Errors
    /// `DuplicateKey`; the store's.
    pub fn read_part(
        &self,
        table: &Arc<Table>,
        position: &mut BuildPosition,
    ) -> Result<bool, IndexBuildError> {
        let mut entries: Vec<Vec<(Vec<u8>, Vec<u8>)>> = vec![Vec::new(); self.indexes.len()];
        let mut bytes = 0;
        let view = table.store().read_view();
        let mut scan = table.scan(self.request(KeyBytesRange { lower: position.next.clone(), upper: None }));
        let mut batch = self.batch();
        let mut locators = BytesColumn::default();
        let mut more = false;
        while scan.next_batch(view.reader(), &Utc, &mut batch, Some(&mut locators))? {
            for row in 0..batch.row_count {
                let cell = |ordinal: usize| {
                    let position = self.columns.binary_search(&ordinal);
                    position.map_or(Cell::Null, |position| batch.columns[position].cell(row))
                };
                for (index, entries) in self.indexes.iter().zip(&mut entries) {
                    let mut entry = EntryBytes::default();
                    entry.write_of(index, cell, locators.get(row), &Utc);
                    bytes += entry.key.len() + entry.value.len() + size_of::<(Vec<u8>, Vec<u8>)>();
                    entries.push((entry.key, entry.value));
                }
            }
            env::blocking::tick();
            if bytes >= PART_BYTES {
                position.next.clear();
                position.next.extend_from_slice(locators.get(batch.row_count - 1));
                position.next.push(0);
                more = true;
                break;
            }
        }
        drop(view);
        for (number, mut entries) in entries.into_iter().enumerate() {
            entries.sort_unstable();
            for some in entries.chunks(BATCH_ENTRIES) {
                let mut transaction = table.store().begin();
                for (key, value) in some {
                    self.write_entry(table, &mut transaction, number, key, value)?;
                }
                transaction.commit()?;
                env::blocking::tick();
            }
        }
        Ok(more)
    }

    /// Settles the notes there are, but for rows that others have locked, if `leave_locked`. Answers how many are left.
    ///
    /// # Errors
    /// `DuplicateKey`; `TooManyChanges`; the store's.
    pub fn settle(&self, table: &Arc<Table>, leave_locked: bool) -> Result<usize, IndexBuildError> {
        let taken = {
            let mut notes = self.notes.lock();
            if notes.too_many {
                return Err(IndexBuildError::TooManyChanges);
            }
            std::mem::take(&mut notes.bytes)
        };
        let wait = if leave_locked { LockWait::Skip } else { LockWait::Nowait };
        let (mut left, mut left_count) = (Vec::new(), 0);
        let mut rest = &taken[..];
        while !rest.is_empty() {
            let mut transaction = table.store().begin();
            for _ in 0..BATCH_ENTRIES {
                let Some(note) = self.next_note(&mut rest) else { break };
                if !self.settle_note(table, &mut transaction, &note, wait)? {
                    left.extend_from_slice(note.bytes);
                    left_count += 1;
                }
            }
            transaction.commit()?;
            env::blocking::tick();
        }
        if !left.is_empty() {
            let mut notes = self.notes.lock();
            if !notes.too_many {
                notes.bytes.extend_from_slice(&left);
            }
        }
        Ok(left_count)
    }

    /// Makes the entries of one row what they should be. False: somebody has it locked.
    fn settle_note(
        &self,
        table: &Arc<Table>,
        transaction: &mut Transaction,
        note: &Note<'_>,
        wait: LockWait,
    ) -> Result<bool, IndexBuildError> {
        let mut batch = self.batch();
        let found = self.lock_row(table, transaction, note.locator, wait, &mut batch)?;
        if found == Locked::Skipped {
            return Ok(false);
        }
        let row = (found == Locked::Row(())).then_some(Row { columns: &self.columns, batch: &batch });
        let mut entry = EntryBytes::default();
        for (number, index) in self.indexes.iter().enumerate() {
            if let Some(row) = &row {
                entry.write_of(index, |ordinal| row.cell(ordinal), note.locator, &Utc);
            }
            if let Some(before) = note.before[number]
                && !(row.is_some() && entry.key == before)
                && self.holder(transaction, number, before)?.is_some_and(|holder| holder == note.locator)
            {
                transaction
                    .delete(&index.tree, before, LockWait::Nowait)
                    .map_err(|error| from_store(error, self.first + number))?;
            }
            let Some(row) = &row else { continue };
            match self.holder(transaction, number, &entry.key)? {
                Some(holder) if holder != note.locator => {
                    let mut other = self.batch();
                    let found = self.lock_row(table, transaction, &holder, wait, &mut other)?;
                    if found == Locked::Skipped {
                        return Ok(false);
                    }
                    let other = Row { columns: &self.columns, batch: &other };
                    if found == Locked::Row(()) && self.key(number, &other, &holder) == entry.key {
                        return Err(self.duplicate(number, entry.key.clone(), holder, row).into());
                    }
                }
                _ => {}
            }
            transaction
                .put(&index.tree, &entry.key, &entry.value, LockWait::Nowait)
                .map_err(|error| from_store(error, self.first + number))?;
        }
        Ok(true)
    }

    /// Writes the entry of a row that a part holds.
    fn write_entry(
        &self,
        table: &Arc<Table>,
        transaction: &mut Transaction,
        number: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), IndexBuildError> {
        let index = &self.indexes[number];
        let failed = |error| from_store(error, self.first + number);
        match transaction.insert(&index.tree, key, value, LockWait::Nowait) {
            Ok(()) => return Ok(()),
            Err(store::WriteError::DuplicateKey) => {}
            Err(error) => return Err(failed(error).into()),
        }
        // A note of this row was settled already, or another row has the key, or had it.
        let Some(entries) = &index.entries else { return Ok(()) };
        let locator = entries.split(key, value).0.to_vec();
        let holder = self.holder(transaction, number, key)?.unwrap_or_default();
        if holder != locator {
            let view = table.store().read_view();
            let has_key = |locator: &[u8]| -> Result<Option<Batch>, StoreError> {
                let mut upper = locator.to_vec();
                upper.push(0);
                let range = KeyBytesRange { lower: locator.to_vec(), upper: Some(upper) };
                let mut batch = self.batch();
                let found =
                    table.scan(self.request(range)).next_batch(view.reader(), &Utc, &mut batch, None)?;
                let row = Row { columns: &self.columns, batch: &batch };
                Ok((found && self.key(number, &row, locator) == key).then_some(batch))
            };
            let Some(own) = has_key(&locator)? else { return Ok(()) };
            if has_key(&holder)?.is_some() {
                let row = Row { columns: &self.columns, batch: &own };
                return Err(self.duplicate(number, key.to_vec(), holder, &row).into());
            }
        }
        transaction.put(&index.tree, key, value, LockWait::Nowait).map_err(failed)?;
        Ok(())
    }

    /// The row that the entry with this key names.
    fn holder(
        &self,
        transaction: &Transaction,
        number: usize,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let index = &self.indexes[number];
        transaction.get_current(&index.tree, key, |value| {
            index.entries.as_ref().map_or_else(Vec::new, |entries| entries.split(key, value).0.to_vec())
        })
    }

    fn lock_row(
        &self,
        table: &Table,
        transaction: &mut Transaction,
        locator: &[u8],
        wait: LockWait,
        batch: &mut Batch,
    ) -> Result<Locked<()>, WriteError> {
        let mut locators = BytesColumn::default();
        let mode = LockMode::Shared;
        table.lock_columns(
            transaction,
            locator,
            mode,
            wait,
            &Utc,
            Columns::whole(&self.columns),
            batch,
            &mut locators,
        )
    }

    fn key(&self, number: usize, row: &Row<'_>, locator: &[u8]) -> Vec<u8> {
        let mut entry = EntryBytes::default();
        entry.write_of(&self.indexes[number], |ordinal| row.cell(ordinal), locator, &Utc);
        entry.key
    }

    #[cold]
    fn duplicate(&self, number: usize, entry: Vec<u8>, locator: Vec<u8>, row: &Row<'_>) -> WriteError {
        duplicate(&self.definition, self.first + number, entry, locator, |ordinal| row.cell(ordinal))
    }

    fn request(&self, range: KeyBytesRange) -> ScanRequest {
        ScanRequest {
            index: None,
            ranges: vec![range],
            reverse: false,
            columns: self.columns.clone(),
            parts: Vec::new(),
        }
    }

    fn batch(&self) -> Batch {
        Batch::new(self.columns.iter().map(|&column| self.definition.columns[column].data_type.physical()))
    }

    fn next_note<'a>(&self, rest: &mut &'a [u8]) -> Option<Note<'a>> {
        let start = *rest;
        let locator = take_with_length(rest)?;
        let before = (0..self.indexes.len()).map(|_| take_with_length(rest)).collect();
        Some(Note { bytes: &start[..start.len() - rest.len()], locator, before })
    }
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
