//! Tables of the local store as statements reach them: [`access`]'s traits over [`Table`] and the store's transactions.
//!
//! The only place that looks for the concrete type behind a handle. What it finds is always a table of this store, unless a
//! plan was run with another backend's transaction: then [`foreign`] is the answer.

use std::any::Any;
use std::sync::Arc;

use access::{
    Columns, DuplicateKey, Error, KeyBytes, KeyBytesRange, KeyForm, KeyRanges, LargeReader, LargeReference,
    LargeSource, NewRow, PointKeys, Reading, RowLock, Scan, ScanRequest, TimestampZone, Updated, Version,
    WriteTarget, Writing,
};
use store::{ReadView, Reader, Transaction};
use types::Cell;
use types::vector::{Batch, BytesColumn};

use crate::codec::key::KeyCodec;
use crate::error::access_error;
use crate::foreign_key::ForeignKeys;
use crate::read::TableScan;
use crate::table::Table;
use crate::write::{RowScratch, WriteContext};

impl KeyBytes for KeyCodec {
    fn write_part(&self, number: usize, cell: Cell<'_>, zone: &dyn TimestampZone, out: &mut Vec<u8>) {
        Self::write_part(self, number, cell, zone, out);
    }

    fn write_beginning(&self, number: usize, beginning: &[u8], out: &mut Vec<u8>) {
        KeyCodec::write_beginning(self, number, beginning, out);
    }
}

impl access::Table for Table {
    fn key_form(&self, index: usize) -> KeyForm<'_> {
        KeyForm::Bytes(self.key_codec(index))
    }

    fn column_keys(&self, column: usize) -> Option<Box<dyn KeyBytes>> {
        Some(Box::new(self.column_codec(column)))
    }

    fn reserve_numbers(&self, count: u64, increment: u64, offset: u64) -> Result<u64, Error> {
        Ok(self.auto_increment().reserve_series(self.store(), count, increment, offset)?)
    }

    fn observe_number(&self, number: u64) -> Result<(), Error> {
        Ok(self.auto_increment().observe(self.store(), number)?)
    }
}

impl Scan for TableScan {
    fn set_batch_rows(&mut self, rows_max: usize) {
        Self::set_batch_rows(self, rows_max);
    }

    fn take_left_out(&mut self) -> u64 {
        Self::take_left_out(self)
    }

    fn restart(&mut self, ranges: KeyRanges) -> Result<(), Error> {
        Self::restart(self, bytes_ranges(ranges)?);
        Ok(())
    }
}

impl access::ForeignKeys for ForeignKeys {
    fn has_children(&self, node: usize) -> bool {
        Self::has_children(self, node)
    }
}

/// A handle that another backend made.
#[cold]
fn foreign() -> Error {
    Error::Storage("a table of another backend in a local transaction".into())
}

/// A statement that was said to read without locks alone.
#[cold]
fn without_transaction() -> Error {
    Error::Storage("a change or a locking read without a transaction".into())
}

#[inline]
fn local(table: &dyn access::Table) -> Result<&Table, Error> {
    (table as &dyn Any).downcast_ref().ok_or_else(foreign)
}

fn local_arc(table: &Arc<dyn access::Table>) -> Result<Arc<Table>, Error> {
    let any: Arc<dyn Any + Send + Sync> = Arc::<dyn access::Table>::clone(table);
    any.downcast().map_err(|_| foreign())
}

#[inline]
fn local_scan(scan: &mut dyn Scan) -> Result<&mut TableScan, Error> {
    (scan as &mut dyn Any).downcast_mut().ok_or_else(foreign)
}

fn local_keys(keys: &dyn access::ForeignKeys) -> Result<&ForeignKeys, Error> {
    (keys as &dyn Any).downcast_ref().ok_or_else(foreign)
}

fn bytes_ranges(ranges: KeyRanges) -> Result<Vec<KeyBytesRange>, Error> {
    match ranges {
        KeyRanges::All => Ok(vec![KeyBytesRange::ALL]),
        KeyRanges::Bytes(ranges) => Ok(ranges),
        KeyRanges::Values(_) => Err(foreign()),
    }
}

#[inline]
fn lock_mode(mode: access::LockMode) -> store::LockMode {
    match mode {
        access::LockMode::Shared => store::LockMode::Shared,
        access::LockMode::Exclusive => store::LockMode::Exclusive,
    }
}

#[inline]
fn lock_wait(wait: access::LockWait) -> store::LockWait {
    match wait {
        access::LockWait::Timeout(time) => store::LockWait::Timeout(time),
        access::LockWait::NoWait => store::LockWait::Nowait,
        access::LockWait::Skip => store::LockWait::Skip,
    }
}

#[inline]
fn context(writing: Writing<'_>) -> WriteContext<'_> {
    WriteContext { zone: writing.zone, wait: lock_wait(writing.wait), reader: None }
}

/// The snapshot of a statement.
#[derive(Clone, Copy, Debug)]
pub struct LocalSnapshot<'a>(pub &'a ReadView);

impl access::Snapshot for LocalSnapshot<'_> {
    fn sees(&self, table: &dyn access::Table) -> bool {
        // Another backend's table is refused where it is read.
        local(table).map_or(true, |table| table.is_visible_to(self.0))
    }

    fn read_large(
        &self,
        reader: LargeReader<'_>,
        table: &dyn access::Table,
        reference: LargeReference,
        offset: u64,
        bytes: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let own = store::TxnId(reader.own);
        let reader = match reader.version {
            Version::Uncommitted => self.0.reader_uncommitted(),
            Version::Newest => self.0.reader_of_newest(own),
            Version::Snapshot => self.0.reader_for(own),
        };
        local(table)?
            .fetch_large_piece(reader, reference, offset, bytes, out)
            .map_err(|error| access_error(&error))
    }
}

/// A session's transaction as one statement uses it: its snapshot, and the store's transaction if it locks or writes.
#[derive(Debug)]
pub struct LocalTransaction<'a> {
    view: &'a ReadView,
    /// With memory for the rows that the statement writes.
    writes: Option<(&'a mut Transaction, &'a mut RowScratch)>,
    /// Memory for keys of parents.
    parent_key: Vec<u8>,
}

impl<'a> LocalTransaction<'a> {
    /// A statement that reads what `view` shows and writes through `transaction`.
    #[must_use]
    pub fn new(view: &'a ReadView, transaction: &'a mut Transaction, scratch: &'a mut RowScratch) -> Self {
        Self { view, writes: Some((transaction, scratch)), parent_key: Vec::new() }
    }

    /// A statement that neither locks nor writes.
    #[must_use]
    pub fn reading(view: &'a ReadView) -> Self {
        Self { view, writes: None, parent_key: Vec::new() }
    }

    /// What consistent reads see.
    #[inline]
    fn reader(&self, version: Version) -> Reader<'a> {
        let view = self.view;
        match (&self.writes, version) {
            (_, Version::Uncommitted) => view.reader_uncommitted(),
            (Some((transaction, _)), Version::Newest) => transaction.reader_of_newest(view),
            (Some((transaction, _)), Version::Snapshot) => transaction.reader(view),
            (None, _) => view.reader(),
        }
    }

    #[inline]
    fn transaction(&mut self) -> Result<&mut Transaction, Error> {
        self.writes.as_mut().map(|(transaction, _)| &mut **transaction).ok_or_else(without_transaction)
    }
}

impl access::Transaction for LocalTransaction<'_> {
    fn number(&self) -> u64 {
        self.writes.as_ref().map_or(0, |(transaction, _)| transaction.id().0)
    }

    fn scan(&mut self, table: &Arc<dyn access::Table>, request: ScanRequest) -> Result<Box<dyn Scan>, Error> {
        let ranges = bytes_ranges(request.ranges)?;
        let mut scan = local_arc(table)?.scan(crate::read::ScanRequest {
            index: request.index,
            ranges,
            reverse: request.reverse,
            columns: request.columns,
            parts: request.parts,
        });
        scan.leave_out(request.within, request.first_of);
        Ok(Box::new(scan))
    }

    fn next_batch(
        &mut self,
        scan: &mut dyn Scan,
        reading: Reading<'_>,
        batch: &mut Batch,
        locators: Option<&mut BytesColumn>,
    ) -> Result<bool, Error> {
        let reader = self.reader(reading.version);
        local_scan(scan)?
            .next_batch(reader, reading.zone, batch, locators)
            .map_err(|error| access_error(&error))
    }

    fn next_locked_batch(
        &mut self,
        scan: &mut dyn Scan,
        lock: RowLock,
        zone: &dyn TimestampZone,
        batch: &mut Batch,
        locators: &mut BytesColumn,
    ) -> Result<bool, Error> {
        let (mode, wait) = (lock_mode(lock.mode), lock_wait(lock.wait));
        let transaction = self.transaction()?;
        Ok(local_scan(scan)?.next_locked_batch(transaction, mode, wait, zone, batch, locators)?)
    }

    fn unlock_others(
        &mut self,
        scan: &mut dyn Scan,
        locators: &BytesColumn,
        kept: &[u32],
    ) -> Result<(), Error> {
        let transaction = self.transaction()?;
        local_scan(scan)?.unlock_others(transaction, locators, kept).map_err(|error| access_error(&error))
    }

    fn look_up(
        &mut self,
        table: &dyn access::Table,
        index: usize,
        keys: &PointKeys,
        reading: Reading<'_>,
        columns: Columns<'_>,
        batch: &mut Batch,
        matched: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let PointKeys::Bytes(keys) = keys else { return Err(foreign()) };
        let reader = self.reader(reading.version);
        local(table)?
            .get_unique_rows(index, keys, reader, reading.zone, columns, batch, matched)
            .map_err(|error| access_error(&error))
    }

    fn fetch(
        &mut self,
        table: &dyn access::Table,
        locators: &BytesColumn,
        reading: Reading<'_>,
        columns: Columns<'_>,
        batch: &mut Batch,
        matched: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let reader = self.reader(reading.version);
        local(table)?
            .get_rows(locators, reader, reading.zone, columns, batch, matched)
            .map_err(|error| access_error(&error))
    }

    fn fetch_locked(
        &mut self,
        table: &dyn access::Table,
        locators: &BytesColumn,
        lock: RowLock,
        zone: &dyn TimestampZone,
        columns: Columns<'_>,
        batch: &mut Batch,
        matched: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let (mode, wait) = (lock_mode(lock.mode), lock_wait(lock.wait));
        let (table, transaction) = (local(table)?, self.transaction()?);
        let mut locked = BytesColumn::new();
        for (number, locator) in locators.iter().enumerate() {
            let found =
                table.lock_columns(transaction, locator, mode, wait, zone, columns, batch, &mut locked)?;
            if found == store::Locked::Row(()) {
                matched.push(number as u32);
            }
        }
        Ok(())
    }

    fn check_parents(
        &mut self,
        target: WriteTarget<'_>,
        cells: &[Cell<'_>],
        writing: Writing<'_>,
    ) -> Result<(), Error> {
        let Some((keys, node)) = target.keys else { return Ok(()) };
        let mut key = std::mem::take(&mut self.parent_key);
        let checked =
            local_keys(keys)?.check_insert(node, self.transaction()?, cells, context(writing), &mut key);
        self.parent_key = key;
        Ok(checked?)
    }

    fn insert(
        &mut self,
        table: &dyn access::Table,
        row: NewRow<'_>,
        writing: Writing<'_>,
    ) -> Result<(), Error> {
        let table = local(table)?;
        let mut context = context(writing);
        let reader = (!row.large.is_empty()).then(|| self.reader(writing.version));
        let Some((transaction, scratch)) = &mut self.writes else { return Err(without_transaction()) };
        if !row.large.is_empty() {
            // Values are copied as the statement reads them.
            context.reader = reader;
            scratch.clear_long();
            for (ordinal, source) in row.large {
                match source {
                    LargeSource::Long(value) => scratch.put_long(*ordinal, Arc::clone(value)),
                    LargeSource::Reference(from, reference) => {
                        scratch.put_place(*ordinal, &local_arc(from)?, *reference);
                    }
                }
            }
        }
        let inserted = table.insert_with(transaction, row.cells, context, scratch);
        if !row.large.is_empty() {
            scratch.clear_long();
        }
        inserted.map_err(Error::from)
    }

    fn update(
        &mut self,
        target: WriteTarget<'_>,
        locator: &[u8],
        changes: &[(usize, Cell<'_>)],
        writing: Writing<'_>,
    ) -> Result<Updated, Error> {
        let transaction = self.transaction()?;
        let updated = match target.keys {
            Some((keys, node)) => {
                local_keys(keys)?.update(node, transaction, locator, changes, context(writing))
            }
            None => local(target.table)?.update(transaction, locator, changes, context(writing)),
        };
        updated.map_err(Error::from)
    }

    fn delete(
        &mut self,
        target: WriteTarget<'_>,
        locator: &[u8],
        replaced_by: Option<&[Cell<'_>]>,
        writing: Writing<'_>,
    ) -> Result<bool, Error> {
        let transaction = self.transaction()?;
        let context = context(writing);
        let deleted = match (target.keys, replaced_by) {
            (Some((keys, node)), None) => local_keys(keys)?.delete(node, transaction, locator, context),
            (Some((keys, node)), Some(new)) => {
                local_keys(keys)?.delete_replaced(node, transaction, locator, new, context)
            }
            (None, _) => local(target.table)?.delete(transaction, locator, context),
        };
        deleted.map_err(Error::from)
    }

    fn lock_duplicate(
        &mut self,
        table: &dyn access::Table,
        duplicate: &DuplicateKey,
        writing: Writing<'_>,
        columns: Columns<'_>,
        batch: &mut Batch,
    ) -> Result<bool, Error> {
        let (table, wait) = (local(table)?, lock_wait(writing.wait));
        let transaction = self.transaction()?;
        let (mode, locator) = (store::LockMode::Exclusive, &duplicate.locator);
        let mut locators = BytesColumn::new();
        let locked = table.lock_columns(
            transaction,
            locator,
            mode,
            wait,
            writing.zone,
            columns,
            batch,
            &mut locators,
        )?;
        Ok(locked == store::Locked::Row(())
            && table.has_key(transaction, duplicate).map_err(|error| access_error(&error))?)
    }

    fn keep_duplicate(
        &mut self,
        table: &dyn access::Table,
        duplicate: &DuplicateKey,
        wait: access::LockWait,
    ) -> Result<bool, Error> {
        let table = local(table)?;
        Ok(table.keep_duplicate(self.transaction()?, duplicate, lock_wait(wait))?)
    }
}
