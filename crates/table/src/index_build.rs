//! Indexes built while writers go on.
//!
//! Only the builder touches the new trees. It reads all rows, in parts, and applies what writers log meanwhile
//! ([`crate::ChangeLog`]): it reads a row as it is and makes its entries agree with it.
//!
//! Invariant, beside those of the log: an entry names a row that had its key when the builder looked. If the row has it no
//! more, a logged change with that key and that row is there still; if a row has a key without an entry, a logged change of that row
//! is there still, or its part has not been read. So when nobody else uses the table and the log is empty, every row has its entries and
//! there are no others. Two rows with one key end the build.

use std::sync::Arc;

use access::{KeyBytesRange, Utc};
use store::{LockWait, Locked, StoreError, Transaction};
use types::Cell;
use types::vector::{Batch, BytesColumn};

use crate::change_log::{ChangedRow, LoggedChange};
use crate::error::{WriteError, from_store};
use crate::index::EntryBytes;
use crate::new_indexes::NewIndexes;
use crate::read::ScanRequest;
use crate::table::Table;
use crate::write::duplicate;

/// Entries are sorted before they are written, this many bytes of them at a time.
const PART_BYTES: usize = 8 << 20;
/// Entries written in one transaction.
const BATCH_ENTRIES: usize = 1_000;

/// The builder.
#[derive(Debug)]
pub struct IndexBuild {
    new: Arc<NewIndexes>,
    /// The rows, read as they will be.
    table: Arc<Table>,
    /// The first locator that was not read yet.
    next: Vec<u8>,
}

impl IndexBuild {
    /// Builds `new`; `table` reads the rows as that definition has them.
    #[must_use]
    pub fn new(new: Arc<NewIndexes>, table: Arc<Table>) -> Self {
        Self { new, table, next: Vec::new() }
    }

    /// Ordinals of the columns that settling a row needs, ascending.
    #[must_use]
    pub fn columns(&self) -> &[usize] {
        &self.new.columns
    }

    /// Reads the next part of the rows and writes its entries. False: that was the last.
    ///
    /// # Errors
    /// `DuplicateKey`; the store's.
    pub fn read_part(&mut self) -> Result<bool, WriteError> {
        let (table, columns, indexes) = (&self.table, &self.new.columns, &self.new.indexes);
        let mut entries: Vec<Vec<(Vec<u8>, Vec<u8>)>> = vec![Vec::new(); indexes.len()];
        let mut bytes = 0;
        let view = table.store().read_view();
        let mut scan = table.scan(self.request(KeyBytesRange { lower: self.next.clone(), upper: None }));
        let mut batch = self.batch();
        let mut locators = BytesColumn::default();
        let mut more = false;
        while scan.next_batch(view.reader(), &Utc, &mut batch, Some(&mut locators))? {
            for row in 0..batch.row_count {
                let cell = |ordinal: usize| {
                    let position = columns.binary_search(&ordinal);
                    position.map_or(Cell::Null, |position| batch.columns[position].cell(row))
                };
                for (index, entries) in indexes.iter().zip(&mut entries) {
                    let mut entry = EntryBytes::default();
                    entry.write(index, cell, locators.get(row), &Utc);
                    bytes += entry.key.len() + entry.value.len() + size_of::<(Vec<u8>, Vec<u8>)>();
                    entries.push((entry.key, entry.value));
                }
            }
            env::blocking::tick();
            if bytes >= PART_BYTES {
                self.next.clear();
                self.next.extend_from_slice(locators.get(batch.row_count - 1));
                self.next.push(0);
                more = true;
                break;
            }
        }
        drop(view);
        for (number, mut entries) in entries.into_iter().enumerate() {
            entries.sort_unstable();
            for some in entries.chunks(BATCH_ENTRIES) {
                let mut transaction = self.table.store().begin();
                for (key, value) in some {
                    self.write_entry(&mut transaction, number, key, value)?;
                }
                transaction.commit()?;
                env::blocking::tick();
            }
        }
        Ok(more)
    }

    /// Makes the entries of one changed row, which the transaction has locked, what they should be; `row` is `None` if it is gone.
    /// False: somebody has a row locked that it has to do with.
    ///
    /// # Errors
    /// `DuplicateKey`; the store's.
    pub fn apply(
        &self,
        transaction: &mut Transaction,
        change: &LoggedChange<'_>,
        row: Option<ChangedRow<'_>>,
        wait: LockWait,
    ) -> Result<bool, WriteError> {
        let mut entry = EntryBytes::default();
        for (number, index) in self.new.indexes.iter().enumerate() {
            let failed = from_store;
            if let Some(row) = &row {
                entry.write(index, |ordinal| row.cell(ordinal), change.locator, &Utc);
            }
            if let Some(before) = change.before[number]
                && !(row.is_some() && entry.key == before)
                && self.holder(transaction, number, before)?.is_some_and(|holder| holder == change.locator)
            {
                transaction.delete(&index.tree, before, LockWait::Nowait).map_err(failed)?;
            }
            let Some(row) = &row else { continue };
            match self.holder(transaction, number, &entry.key)? {
                Some(holder) if holder != change.locator => {
                    let (table, columns) = (&self.table, &self.new.columns[..]);
                    let mut batch = self.batch();
                    match table.lock_changed(transaction, &holder, wait, columns, &mut batch)? {
                        Locked::Skipped => return Ok(false),
                        Locked::Row(()) => {
                            let other = ChangedRow { columns, batch: &batch };
                            if self.key(number, other, &holder) == entry.key {
                                return Err(self.duplicate(number, entry.key.clone(), holder, *row));
                            }
                        }
                        Locked::Absent => {}
                    }
                }
                _ => {}
            }
            transaction.put(&index.tree, &entry.key, &entry.value, LockWait::Nowait).map_err(failed)?;
        }
        Ok(true)
    }

    /// Writes the entry of a row that a part holds.
    fn write_entry(
        &self,
        transaction: &mut Transaction,
        number: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), WriteError> {
        let (index, table) = (&self.new.indexes[number], &self.table);
        let failed = from_store;
        match transaction.insert(&index.tree, key, value, LockWait::Nowait) {
            Ok(()) => return Ok(()),
            Err(store::WriteError::DuplicateKey) => {}
            Err(error) => return Err(failed(error)),
        }
        // A logged change of this row was applied already, or another row has the key, or had it.
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
                let row = ChangedRow { columns: &self.new.columns, batch: &batch };
                let same = found && self.key(number, row, locator) == key;
                Ok(same.then_some(batch))
            };
            let Some(own) = has_key(&locator)? else { return Ok(()) };
            if has_key(&holder)?.is_some() {
                let row = ChangedRow { columns: &self.new.columns, batch: &own };
                return Err(self.duplicate(number, key.to_vec(), holder, row));
            }
        }
        transaction.put(&index.tree, key, value, LockWait::Nowait).map_err(failed)
    }

    /// The row that the entry with this key names.
    fn holder(
        &self,
        transaction: &Transaction,
        number: usize,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let index = &self.new.indexes[number];
        transaction.get_current(&index.tree, key, |value| {
            index.entries.as_ref().map_or_else(Vec::new, |entries| entries.split(key, value).0.to_vec())
        })
    }

    fn key(&self, number: usize, row: ChangedRow<'_>, locator: &[u8]) -> Vec<u8> {
        let mut entry = EntryBytes::default();
        entry.write(&self.new.indexes[number], |ordinal| row.cell(ordinal), locator, &Utc);
        entry.key
    }

    #[cold]
    fn duplicate(&self, number: usize, entry: Vec<u8>, locator: Vec<u8>, row: ChangedRow<'_>) -> WriteError {
        let (definition, index) = (&self.new.definition, self.new.ordinals[number]);
        duplicate(definition, index, entry, locator, |ordinal| row.cell(ordinal))
    }

    fn request(&self, range: KeyBytesRange) -> ScanRequest {
        ScanRequest {
            index: None,
            ranges: vec![range],
            reverse: false,
            columns: self.new.columns.clone(),
            parts: Vec::new(),
        }
    }

    fn batch(&self) -> Batch {
        let columns = &self.new.definition.columns;
        Batch::new(self.new.columns.iter().map(|&column| columns[column].data_type.physical()))
    }
}
