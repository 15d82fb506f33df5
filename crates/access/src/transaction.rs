//! The transaction of a statement: everything that is read and written goes through it.

use std::sync::Arc;
use std::time::Duration;

use types::Cell;
use types::vector::{Batch, BytesColumn};

use crate::error::{DuplicateKey, Error};
use crate::key::PointKeys;
use crate::part::Columns;
use crate::snapshot::{LargeSource, Version};
use crate::table::{ForeignKeys, Scan, ScanRequest, Table};
use crate::zone::TimestampZone;

/// How values are read.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// Which version of the rows.
    pub version: Version,
    /// TIMESTAMP cells come in this zone.
    pub zone: &'a dyn TimestampZone,
}

/// How much a row lock excludes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LockMode {
    /// Others may lock the row shared, not write it.
    Shared,
    /// Nobody else may lock or write it.
    Exclusive,
}

/// What to do when another transaction holds a row lock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LockWait {
    /// Wait, this long at most (`innodb_lock_wait_timeout`).
    Timeout(Duration),
    /// Fail at once with [`Error::Locked`] (NOWAIT).
    NoWait,
    /// Leave the row out (SKIP LOCKED); where there is nothing to leave out, as [`LockWait::NoWait`].
    Skip,
}

/// A row lock to take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RowLock {
    /// What it excludes.
    pub mode: LockMode,
    /// What to do when it is not free.
    pub wait: LockWait,
}

/// Under which conditions rows are written.
#[derive(Clone, Copy)]
pub struct Writing<'a> {
    /// TIMESTAMP cells are in this zone.
    pub zone: &'a dyn TimestampZone,
    /// How long to wait for rows that others have locked.
    pub wait: LockWait,
    /// How large values are read that are copied by reference.
    pub version: Version,
}

/// A row to insert.
#[derive(Clone, Copy, Debug)]
pub struct NewRow<'a> {
    /// A cell per column of the table, each converted to the column's type, NOT NULL and AUTO_INCREMENT settled.
    pub cells: &'a [Cell<'a>],
    /// Columns, by ordinal and in no index, whose values come from somewhere else; their cells hold the first
    /// [`crate::PREFIX_BYTES`].
    pub large: &'a [(usize, LargeSource)],
}

/// A table whose rows are changed, with the foreign keys that concern them.
#[derive(Clone, Copy, Debug)]
pub struct WriteTarget<'a> {
    /// The table.
    pub table: &'a dyn Table,
    /// The keys, and which of their tables it is; `None`: no key is checked.
    pub keys: Option<(&'a dyn ForeignKeys, usize)>,
}

/// What an update did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Updated {
    /// The row holds the new values.
    Changed,
    /// It held them already.
    Same,
    /// There is no such row.
    Absent,
}

/// A session's transaction, as one statement uses it. Rows are known by *locators*: bytes that a table gives with its
/// rows, valid within the transaction.
pub trait Transaction {
    /// The number under which its own changes are known, for [`crate::LargeReader`]; 0 before the first.
    fn number(&self) -> u64;

    /// Starts a scan.
    ///
    /// # Errors
    /// A table or a form of keys that is not this backend's.
    fn scan(&mut self, table: &Arc<dyn Table>, request: ScanRequest) -> Result<Box<dyn Scan>, Error>;

    /// Fills `batch` (its columns have the shapes of the columns asked for) with the next rows, and `locators` with
    /// where they lie. False: there are no more, and the batch is empty. Nothing is locked.
    ///
    /// # Errors
    /// The backend's.
    fn next_batch(
        &mut self,
        scan: &mut dyn Scan,
        reading: Reading<'_>,
        batch: &mut Batch,
        locators: Option<&mut BytesColumn>,
    ) -> Result<bool, Error>;

    /// As [`Transaction::next_batch`], in the newest committed version of each row, each locked.
    ///
    /// # Errors
    /// No lock, or the backend's.
    fn next_locked_batch(
        &mut self,
        scan: &mut dyn Scan,
        lock: RowLock,
        zone: &dyn TimestampZone,
        batch: &mut Batch,
        locators: &mut BytesColumn,
    ) -> Result<bool, Error>;

    /// Gives back the locks of those rows of the last locked batch that are not in `kept` (ascending), if the isolation level
    /// allows that: they did not meet the condition. `locators` are the batch's.
    ///
    /// # Errors
    /// The backend's.
    fn unlock_others(
        &mut self,
        scan: &mut dyn Scan,
        locators: &BytesColumn,
        kept: &[u32],
    ) -> Result<(), Error>;

    /// Reads the rows with these keys of unique index `index`, appending to `batch` one row for each that exists, in the
    /// order of the keys; `matched` gets their positions among the keys.
    ///
    /// # Errors
    /// The backend's.
    fn look_up(
        &mut self,
        table: &dyn Table,
        index: usize,
        keys: &PointKeys,
        reading: Reading<'_>,
        columns: Columns<'_>,
        batch: &mut Batch,
        matched: &mut Vec<u32>,
    ) -> Result<(), Error>;

    /// Reads the rows with these locators: as [`Transaction::look_up`].
    ///
    /// # Errors
    /// The backend's.
    fn fetch(
        &mut self,
        table: &dyn Table,
        locators: &BytesColumn,
        reading: Reading<'_>,
        columns: Columns<'_>,
        batch: &mut Batch,
        matched: &mut Vec<u32>,
    ) -> Result<(), Error>;

    /// As [`Transaction::fetch`], in the newest committed version of each row, each locked.
    ///
    /// # Errors
    /// No lock, or the backend's.
    fn fetch_locked(
        &mut self,
        table: &dyn Table,
        locators: &BytesColumn,
        lock: RowLock,
        zone: &dyn TimestampZone,
        columns: Columns<'_>,
        batch: &mut Batch,
        matched: &mut Vec<u32>,
    ) -> Result<(), Error>;

    /// Checks that a row about to be inserted has its parents: a cell per column of the table.
    ///
    /// # Errors
    /// `ForeignKey`; locks; the backend's.
    fn check_parents(
        &mut self,
        target: WriteTarget<'_>,
        cells: &[Cell<'_>],
        writing: Writing<'_>,
    ) -> Result<(), Error>;

    /// Inserts a row. Its parents are checked already, unless the backend answers for them only here.
    ///
    /// # Errors
    /// `DuplicateKey` with the first key that is there already; `ForeignKey`; locks; the backend's. The row is not inserted then.
    fn insert(&mut self, table: &dyn Table, row: NewRow<'_>, writing: Writing<'_>) -> Result<(), Error>;

    /// Changes columns of the row with this locator, by ordinal. Its children follow or refuse, its parents are checked.
    ///
    /// # Errors
    /// As [`Transaction::insert`], and `ForeignKey`.
    fn update(
        &mut self,
        target: WriteTarget<'_>,
        locator: &[u8],
        changes: &[(usize, Cell<'_>)],
        writing: Writing<'_>,
    ) -> Result<Updated, Error>;

    /// Deletes the row with this locator; false if there is none. Its children follow or refuse. `replaced_by`: the row, a cell per
    /// column, that takes its place next: children of a key that both have stay.
    ///
    /// # Errors
    /// `ForeignKey`; locks; the backend's.
    fn delete(
        &mut self,
        target: WriteTarget<'_>,
        locator: &[u8],
        replaced_by: Option<&[Cell<'_>]>,
        writing: Writing<'_>,
    ) -> Result<bool, Error>;

    /// Locks the row that is in the way of `duplicate` exclusively, and appends `columns` of it to `batch`. False if it
    /// has gone or has another key by now.
    ///
    /// # Errors
    /// No lock, or the backend's.
    fn lock_duplicate(
        &mut self,
        table: &dyn Table,
        duplicate: &DuplicateKey,
        writing: Writing<'_>,
        columns: Columns<'_>,
        batch: &mut Batch,
    ) -> Result<bool, Error>;

    /// Keeps others from taking the entry away that is in the way of `duplicate` until the transaction ends, as MySQL does for who
    /// sees the error. Answers whether it is still there.
    ///
    /// # Errors
    /// No lock, or the backend's.
    fn keep_duplicate(
        &mut self,
        table: &dyn Table,
        duplicate: &DuplicateKey,
        wait: LockWait,
    ) -> Result<bool, Error>;
}
