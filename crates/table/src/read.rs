//! Reading: points, ranges, batches of keys; consistent or locking.
//!
//! A consistent read goes through a `store::Reader` (a snapshot); nothing is locked. Rows are decoded a leaf at a time
//! under the page's shared latch, only the columns asked for. A row that needs more of the store (a large value, a
//! spilled row) is copied out and completed after the latch is gone.

use std::ops::ControlFlow;
use std::sync::Arc;

use access::{
    ColumnRanges, Columns, DuplicateKey, KeyBytesRange, MaybeLarge, Part, PartKind, TimestampZone, Utc,
    next_prefix,
};
use store::{LockMark, LockMode, LockWait, Locked, Reader, Store, StoreError, Transaction, Tree};
use types::vector::{Batch, BytesColumn};

use crate::codec::row::{BytesRef, RowView, spilled_reference, version_of};
use crate::entry::EntryCodec;
use crate::error::{WriteError, from_store};
use crate::index::scan_range;
use crate::large::ReadFrom;
use crate::table::Table;
use crate::within::Within;

/// Which rows and columns a scan reads.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// The index to go along; `None`: the rows in their own order.
    pub index: Option<usize>,
    /// Ranges of its keys, ascending and not overlapping.
    pub ranges: Vec<KeyBytesRange>,
    /// From the last key to the first.
    pub reverse: bool,
    /// Ordinals of the columns to fill, in the order of the batch's columns; behind the table's columns those of `parts`.
    pub columns: Vec<usize>,
    /// Parts of columns that may be asked for.
    pub parts: Vec<Part>,
}

/// A scan under way. It holds no latch between calls; every call takes the same reader.
#[derive(Debug)]
pub struct TableScan {
    table: Arc<Table>,
    /// The secondary index, if it goes along one.
    index: Option<usize>,
    /// All columns come from the entries.
    covering: bool,
    columns: Vec<usize>,
    parts: Vec<Part>,
    cursor: RangeCursor,
    rows_max: usize,
    /// Before the locks of the last locked batch.
    mark: Option<LockMark>,
    /// The entries of the last locked batch's rows, where locks may be given back and it goes along an index.
    entry_keys: BytesColumn,
    /// Rows outside are not given.
    within: Within,
    /// Those, since it was last asked, and of them those of the batch under way.
    left_out: u64,
    left_out_now: u64,
    /// Positions in the batch of the first parts of the index, if of rows with the same values in these only the first is given.
    first_of: Vec<usize>,
    /// Locators of the rows that are looked up next.
    locators: BytesColumn,
    scratch: Scratch,
}

/// A position in the ranges of a scan.
#[derive(Debug)]
struct RangeCursor {
    reverse: bool,
    /// What is left, the next range last.
    ranges: Vec<KeyBytesRange>,
    /// Under way in the last of `ranges`.
    current: Option<store::Scan>,
    /// Done with the range before.
    idle: Option<store::Scan>,
    /// Entries and rows looked at so far.
    examined: u64,
}

/// Rows that a batch leaves out before it ends: who waits for it looks whether the statement was killed.
fn left_out_max() -> u64 {
    16 * types::vector::batch_rows_max() as u64
}

/// Neighbours that are looked at for the next key before it is searched for.
const NEIGHBOURS_MAX: u32 = 16;

/// Memory kept between batches.
#[derive(Debug, Default)]
struct Scratch {
    key: Vec<u8>,
    value: Vec<u8>,
    bodies: Vec<u8>,
    body_ends: Vec<Option<(usize, usize)>>,
}

impl Table {
    /// Starts a scan.
    #[must_use]
    pub fn scan(self: &Arc<Self>, request: ScanRequest) -> TableScan {
        let index = request.index.filter(|&index| self.indexes[index].entries.is_some());
        let mut columns = Columns::new(self.width(), &request.columns, &request.parts).columns();
        let covering = index.is_some_and(|index| columns.all(|column| self.covers(index, column)));
        drop(columns);
        let ranges = ranges_left(request.ranges, request.reverse);
        TableScan {
            table: Arc::clone(self),
            index,
            covering,
            columns: request.columns,
            parts: request.parts,
            cursor: RangeCursor { reverse: request.reverse, ranges, current: None, idle: None, examined: 0 },
            rows_max: types::vector::batch_rows_max(),
            mark: None,
            entry_keys: BytesColumn::default(),
            within: Within::default(),
            left_out: 0,
            left_out_now: 0,
            first_of: Vec::new(),
            locators: BytesColumn::default(),
            scratch: Scratch::default(),
        }
    }

    /// Reads the row with this locator; `read` gets it whole, though values may stand among the large ones
    /// ([`Table::fetch_large`]). `None`: there is no such row in the view.
    ///
    /// # Errors
    /// The store's.
    pub fn get_row<R>(
        &self,
        locator: &[u8],
        reader: Reader<'_>,
        read: impl FnOnce(&RowView<'_>) -> R,
    ) -> Result<Option<R>, StoreError> {
        let mut read = Some(read);
        let found = self.store.get(&self.rows, locator, reader, |body| match spilled_reference(body) {
            Some(reference) => Err((version_of(body), reference)),
            None => Ok(read.take().map(|read| read(&self.row_view(locator, body)))),
        })?;
        match found {
            None => Ok(None),
            Some(Ok(result)) => Ok(result),
            Some(Err((version, reference))) => {
                let mut body = Vec::new();
                self.fetch(ReadFrom::View(reader), reference, &mut body)?;
                let view = RowView::new(self.layout(version), locator, locator, &body);
                Ok(read.take().map(|read| read(&view)))
            }
        }
    }

    /// Reads the row with this key in unique index `index` (all parts, none NULL), the primary key included.
    ///
    /// # Errors
    /// The store's.
    pub fn get_unique<R>(
        &self,
        index: usize,
        key: &[u8],
        reader: Reader<'_>,
        read: impl FnOnce(&RowView<'_>) -> R,
    ) -> Result<Option<R>, StoreError> {
        let Some(entries) = &self.indexes[index].entries else { return self.get_row(key, reader, read) };
        let locator = self
            .store
            .get(&self.indexes[index].tree, key, reader, |value| entries.split(key, value).0.to_vec())?;
        match locator {
            None => Ok(None),
            Some(locator) => self.get_row(&locator, reader, read),
        }
    }

    /// The same when the entry alone is enough ([`Table::covers`]).
    ///
    /// # Errors
    /// The store's.
    pub fn get_covered<R>(
        &self,
        index: usize,
        key: &[u8],
        reader: Reader<'_>,
        read: impl FnOnce(&RowView<'_>) -> R,
    ) -> Result<Option<R>, StoreError> {
        match &self.indexes[index].entries {
            None => self.get_row(key, reader, read),
            Some(entries) => {
                let mut read = Some(read);
                let found = self.store.get(&self.indexes[index].tree, key, reader, |value| {
                    read.take().map(|read| read(&entries.view(key, value)))
                })?;
                Ok(found.flatten())
            }
        }
    }

    /// Reads the rows with these locators, appending to `batch` one row for each that exists, in order; `matched` gets
    /// their positions in `locators`. Descents are interleaved.
    ///
    /// # Errors
    /// The store's.
    pub(crate) fn get_rows(
        &self,
        locators: &BytesColumn,
        reader: Reader<'_>,
        zone: &dyn TimestampZone,
        columns: Columns<'_>,
        batch: &mut Batch,
        matched: &mut Vec<u32>,
    ) -> Result<(), StoreError> {
        let reader = self.reader(reader);
        let mut scratch = Scratch::default();
        let all = Within::default();
        self.get_rows_with(&mut scratch, locators, reader, zone, columns, &all, batch, |number| {
            matched.push(number);
        })?;
        Ok(())
    }

    /// Reads the rows with these keys of unique index `index`: as [`Table::get_rows`].
    ///
    /// # Errors
    /// The store's.
    pub(crate) fn get_unique_rows(
        &self,
        index: usize,
        keys: &BytesColumn,
        reader: Reader<'_>,
        zone: &dyn TimestampZone,
        columns: Columns<'_>,
        batch: &mut Batch,
        matched: &mut Vec<u32>,
    ) -> Result<(), StoreError> {
        let Some(entries) = &self.indexes[index].entries else {
            return self.get_rows(keys, reader, zone, columns, batch, matched);
        };
        let reader = self.reader(reader);
        let key_slices: Vec<&[u8]> = keys.iter().collect();
        let mut found: Vec<(u32, Vec<u8>)> = Vec::with_capacity(key_slices.len());
        self.store.get_many(&self.indexes[index].tree, &key_slices, reader, |number, value| {
            if let Some(value) = value {
                found.push((number as u32, entries.split(key_slices[number], value).0.to_vec()));
            }
        })?;
        found.sort_unstable_by_key(|&(number, _)| number);
        let mut locators = BytesColumn::default();
        for (_, locator) in &found {
            locators.push(locator);
        }
        let mut scratch = Scratch::default();
        let all = Within::default();
        self.get_rows_with(&mut scratch, &locators, reader, zone, columns, &all, batch, |number| {
            matched.push(found[number as usize].0);
        })?;
        Ok(())
    }

    /// As [`Table::get_rows`], without those outside of `within`; answers how many these are.
    fn get_rows_with(
        &self,
        scratch: &mut Scratch,
        locators: &BytesColumn,
        reader: Reader<'_>,
        zone: &dyn TimestampZone,
        columns: Columns<'_>,
        within: &Within,
        batch: &mut Batch,
        mut matched: impl FnMut(u32),
    ) -> Result<u64, StoreError> {
        let keys: Vec<&[u8]> = locators.iter().collect();
        let (bodies, ends) = (&mut scratch.bodies, &mut scratch.body_ends);
        bodies.clear();
        ends.clear();
        ends.resize(keys.len(), None);
        self.store.get_many(&self.rows, &keys, reader, |number, value| {
            if let Some(value) = value {
                let start = bodies.len();
                bodies.extend_from_slice(value);
                ends[number] = Some((start, bodies.len()));
            }
        })?;
        let mut left_out = 0;
        for (number, range) in scratch.body_ends.iter().enumerate() {
            if let Some((start, end)) = *range {
                let body = &scratch.bodies[start..end];
                if !within.is_everything()
                    && spilled_reference(body).is_none()
                    && !within.may_hold(&self.row_view(keys[number], body))
                {
                    left_out += 1;
                    continue;
                }
                self.push_row(keys[number], body, ReadFrom::View(reader), zone, columns, batch)?;
                matched(number as u32);
            }
        }
        Ok(left_out)
    }

    /// A row's bytes, not spilled, as a view.
    pub(crate) fn row_view<'a>(&'a self, locator: &'a [u8], body: &'a [u8]) -> RowView<'a> {
        RowView::new(self.layout(version_of(body)), locator, locator, body)
    }

    /// Appends the columns of a row to a batch, fetching what is not in the row.
    pub(crate) fn push_row(
        &self,
        locator: &[u8],
        body: &[u8],
        from: ReadFrom<'_>,
        zone: &dyn TimestampZone,
        columns: Columns<'_>,
        batch: &mut Batch,
    ) -> Result<(), StoreError> {
        if let Some(reference) = spilled_reference(body) {
            let mut whole = Vec::new();
            self.fetch(from, reference, &mut whole)?;
            let view = RowView::new(self.layout(version_of(body)), locator, locator, &whole);
            return self.push_view(&view, from, zone, columns, batch);
        }
        self.push_view(&self.row_view(locator, body), from, zone, columns, batch)
    }

    fn push_view(
        &self,
        view: &RowView<'_>,
        from: ReadFrom<'_>,
        zone: &dyn TimestampZone,
        columns: Columns<'_>,
        batch: &mut Batch,
    ) -> Result<(), StoreError> {
        let external = view.has_external();
        if !external && columns.parts.is_empty() {
            Self::push_inline(view, zone, columns, batch);
            return Ok(());
        }
        for (column, &ordinal) in batch.columns.iter_mut().zip(columns.ordinals) {
            if let Some(part) = columns.part(ordinal) {
                if let Some(reference) = view.push_part(part, column) {
                    if let PartKind::Predicate(predicate) = &part.kind {
                        self.evaluate_large(&**predicate, from, reference)?.push_to(column);
                        continue;
                    }
                    column.push_bytes_with(|out| {
                        if matches!(part.kind, PartKind::Whole { .. }) {
                            out.push(MaybeLarge::INLINE);
                        }
                        self.fetch(from, reference, out)
                    })?;
                }
            } else if external
                && !view.is_null(ordinal)
                && view.column_is_external(ordinal)
                && let BytesRef::External { reference, .. } = view.bytes(ordinal)
            {
                column.push_bytes_with(|out| self.fetch(from, reference, out))?;
            } else {
                view.push_to(ordinal, zone, column);
            }
        }
        batch.row_count += 1;
        Ok(())
    }

    /// Whether the columns of a row can be read under the latch.
    fn needs_fetch(view: &RowView<'_>, columns: Columns<'_>) -> bool {
        view.has_external()
            && columns.ordinals.iter().any(|&ordinal| match columns.part(ordinal) {
                Some(part) => view.part_is_external(part),
                None => view.column_is_external(ordinal),
            })
    }

    /// Appends the columns of a row, or of an entry, that has all of them.
    #[inline]
    fn push_inline(view: &RowView<'_>, zone: &dyn TimestampZone, columns: Columns<'_>, batch: &mut Batch) {
        if columns.parts.is_empty() {
            for (column, &ordinal) in batch.columns.iter_mut().zip(columns.ordinals) {
                view.push_to(ordinal, zone, column);
            }
        } else {
            for (column, &ordinal) in batch.columns.iter_mut().zip(columns.ordinals) {
                match columns.part(ordinal) {
                    Some(part) => {
                        let missing = view.push_part(part, column);
                        debug_assert!(missing.is_none(), "a row that needs more is fetched");
                    }
                    None => view.push_to(ordinal, zone, column),
                }
            }
        }
        batch.row_count += 1;
    }

    /// Locks the row with this locator and reads its current version.
    ///
    /// # Errors
    /// No lock, or the store's.
    pub fn lock_row<R>(
        &self,
        transaction: &mut Transaction,
        locator: &[u8],
        mode: LockMode,
        wait: LockWait,
        read: impl FnOnce(&RowView<'_>) -> R,
    ) -> Result<Locked<R>, WriteError> {
        let body =
            transaction.lock_current(&self.rows, locator, mode, wait, <[u8]>::to_vec).map_err(from_store)?;
        match body {
            Locked::Absent => Ok(Locked::Absent),
            Locked::Skipped => Ok(Locked::Skipped),
            Locked::Row(body) => {
                let whole = self.whole_body(ReadFrom::Current(transaction), body)?;
                Ok(Locked::Row(read(&self.row_view(locator, &whole))))
            }
        }
    }

    /// Whether the row that was in the way of `duplicate`, which the transaction has locked, still has that key: while it
    /// waited for the lock the owner may have given the row another one.
    ///
    /// # Errors
    /// The store's.
    pub fn has_key(&self, transaction: &Transaction, duplicate: &DuplicateKey) -> Result<bool, StoreError> {
        let index = &self.indexes[duplicate.index];
        let Some(entries) = &index.entries else { return Ok(true) };
        // The row is locked, so nobody else changes its entries.
        let key = &duplicate.entry;
        let found = transaction
            .get_current(&index.tree, key, |value| entries.split(key, value).0 == &*duplicate.locator)?;
        Ok(found == Some(true))
    }

    /// Keeps others from taking the entry away that is in the way of `duplicate`, as MySQL does for whoever gets the error. Answers
    /// whether it is still there.
    ///
    /// # Errors
    /// No lock, or the store's.
    pub fn keep_duplicate(
        &self,
        transaction: &mut Transaction,
        duplicate: &DuplicateKey,
        wait: LockWait,
    ) -> Result<bool, WriteError> {
        let index = &self.indexes[duplicate.index];
        let tree = if index.entries.is_some() { &index.tree } else { &self.rows };
        if transaction.has_written(tree, &duplicate.entry)? {
            return Ok(true); // It may be rolled back with its statement, and no lock may stay then.
        }
        let locked = transaction
            .lock_current(tree, &duplicate.entry, LockMode::Shared, wait, |_| ())
            .map_err(from_store)?;
        Ok(locked == Locked::Row(()))
    }

    /// Locks a row that online DDL has found in its change log, shared, and makes `batch` its `columns`.
    ///
    /// # Errors
    /// No lock, or the store's.
    pub fn lock_changed(
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

    /// Locks the row with this locator and appends its columns to `batch`, its locator to `locators`. Answers
    /// `Absent` if there is none now, `Skipped` if it is locked and `wait` says to skip.
    ///
    /// # Errors
    /// No lock, or the store's.
    pub(crate) fn lock_columns(
        &self,
        transaction: &mut Transaction,
        locator: &[u8],
        mode: LockMode,
        wait: LockWait,
        zone: &dyn TimestampZone,
        columns: Columns<'_>,
        batch: &mut Batch,
        locators: &mut BytesColumn,
    ) -> Result<Locked<()>, WriteError> {
        let body =
            transaction.lock_current(&self.rows, locator, mode, wait, <[u8]>::to_vec).map_err(from_store)?;
        Ok(match body {
            Locked::Absent => Locked::Absent,
            Locked::Skipped => Locked::Skipped,
            Locked::Row(body) => {
                self.push_row(locator, &body, ReadFrom::Current(transaction), zone, columns, batch)?;
                locators.push(locator);
                Locked::Row(())
            }
        })
    }

    /// The body of a row that may be spilled.
    pub(crate) fn whole_body(&self, from: ReadFrom<'_>, body: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        match spilled_reference(&body) {
            None => Ok(body),
            Some(reference) => {
                let mut whole = Vec::new();
                self.fetch(from, reference, &mut whole)?;
                Ok(whole)
            }
        }
    }
}

/// The ranges of a scan, the next one last.
fn ranges_left(mut ranges: Vec<KeyBytesRange>, reverse: bool) -> Vec<KeyBytesRange> {
    ranges.retain(|range| !range.is_empty());
    if !reverse {
        ranges.reverse();
    }
    ranges
}

/// What a visitor of records answers.
#[inline]
fn go_on(goes_on: bool) -> ControlFlow<()> {
    if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

impl RangeCursor {
    /// Goes on behind all keys that begin with `prefix`.
    fn skip_group(&mut self, prefix: Vec<u8>) {
        self.idle = self.current.take().or(self.idle.take());
        let Some(range) = self.ranges.last_mut() else { return };
        let mut behind = prefix.clone();
        if self.reverse {
            range.upper = Some(prefix);
        } else if next_prefix(&mut behind) {
            range.lower = behind;
        } else {
            range.upper = Some(Vec::new());
        }
        if range.is_empty() {
            self.ranges.pop();
        }
    }

    /// Goes along the current range until it ends or `visit` breaks off; what is left of it stays for the next call.
    /// Answers whether the range is finished.
    fn walk(
        &mut self,
        store: &Store,
        tree: &Tree,
        reader: Reader<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool, StoreError> {
        if self.ranges.is_empty() {
            return Ok(true);
        }
        let mut scan = match (self.current.take(), self.idle.take()) {
            (Some(scan), _) => scan,
            (None, idle) => {
                let range = scan_range(&self.ranges[self.ranges.len() - 1], self.reverse);
                match idle {
                    Some(mut scan) => {
                        scan.restart(&range);
                        scan
                    }
                    None => store.scan(tree, &range),
                }
            }
        };
        let mut stopped = false;
        let mut examined = 0;
        while !stopped
            && scan.next_batch(reader, |key, value| {
                examined += 1;
                let flow = visit(key, value);
                stopped = flow.is_break();
                flow
            })?
        {}
        self.examined += examined;
        if stopped {
            self.current = Some(scan);
        } else {
            self.idle = Some(scan);
            self.ranges.pop();
        }
        Ok(!stopped)
    }
}

impl TableScan {
    /// Begins again, with these ranges.
    pub fn restart(&mut self, ranges: Vec<KeyBytesRange>) {
        self.cursor.ranges = ranges_left(ranges, self.cursor.reverse);
        self.cursor.idle = self.cursor.current.take().or(self.cursor.idle.take());
        self.mark = None;
    }

    /// Gives neither rows outside of these ranges, nor, of rows with the same values in the first `first_of` parts of the index, others than
    /// the first. Not for a scan that locks.
    pub(crate) fn leave_out(&mut self, within: Vec<ColumnRanges>, first_of: usize) {
        self.within = Within::new(&self.table.definition, within);
        if first_of == 0 || self.index.is_some() && !self.covering {
            return;
        }
        let Some(index) = self.index.or(self.table.definition.clustered) else { return };
        let parts = self.table.definition.indexes[index].parts.iter().take(first_of);
        let places = parts.map(|part| self.columns.iter().position(|&column| column == part.column));
        self.first_of = places.collect::<Option<Vec<usize>>>().unwrap_or_default();
    }

    /// Rows that were left out because of the ranges, since this was last asked.
    pub fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }

    /// The batch ends without being full: many rows were left out.
    fn is_paused(&self) -> bool {
        self.left_out_now >= left_out_max()
    }

    /// Ends batches after this many rows: for a LIMIT, so that no more is read (or locked) than is wanted.
    pub fn set_batch_rows(&mut self, rows_max: usize) {
        self.rows_max = rows_max.clamp(1, types::vector::batch_rows_max());
    }

    /// Records looked at so far.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.cursor.examined
    }

    /// Fills `batch` (its columns have the shapes of the columns asked for) with the next rows, and `locators` with
    /// where they lie. False: there are no more, and the batch is empty. It may be empty before, where many rows are left out.
    ///
    /// # Errors
    /// The store's.
    pub fn next_batch(
        &mut self,
        reader: Reader<'_>,
        zone: &dyn TimestampZone,
        batch: &mut Batch,
        mut locators: Option<&mut BytesColumn>,
    ) -> Result<bool, StoreError> {
        let reader = self.table.reader(reader);
        batch.clear();
        if let Some(locators) = &mut locators {
            locators.clear();
        }
        self.left_out_now = 0;
        while batch.row_count == 0 && !self.cursor.ranges.is_empty() && !self.is_paused() {
            match self.index {
                _ if !self.first_of.is_empty() => {
                    self.fill_first_of(reader, zone, batch, locators.as_deref_mut())?;
                }
                None => self.fill_from_rows(reader, zone, batch, locators.as_deref_mut())?,
                Some(index) if self.covering => {
                    self.fill_from_entries(index, reader, zone, batch, locators.as_deref_mut())?;
                }
                Some(index) => self.fill_by_lookup(index, reader, zone, batch, locators.as_deref_mut())?,
            }
        }
        self.left_out += self.left_out_now;
        Ok(batch.row_count > 0 || self.is_paused())
    }

    fn fill_from_rows(
        &mut self,
        reader: Reader<'_>,
        zone: &dyn TimestampZone,
        batch: &mut Batch,
        mut locators: Option<&mut BytesColumn>,
    ) -> Result<(), StoreError> {
        let TableScan { table, cursor, columns, parts, within, scratch, .. } = self;
        let columns = Columns::new(table.width(), columns, parts);
        let asks = !within.is_everything();
        let rows_max = self.rows_max;
        let (table, within): (&Table, &Within) = (table, within);
        let mut left_out = 0;
        while !cursor.ranges.is_empty()
            && batch.row_count < rows_max
            && !batch.is_full()
            && left_out < left_out_max()
        {
            let mut fetch = false;
            cursor.walk(&table.store, &table.rows, reader, |key, body| {
                let view = table.row_view(key, body);
                if asks && spilled_reference(body).is_none() && !within.may_hold(&view) {
                    left_out += 1;
                    return go_on(left_out < left_out_max());
                }
                if let Some(locators) = &mut locators {
                    locators.push(key);
                }
                if spilled_reference(body).is_some() || Table::needs_fetch(&view, columns) {
                    fetch = true;
                    scratch.key.clear();
                    scratch.key.extend_from_slice(key);
                    scratch.value.clear();
                    scratch.value.extend_from_slice(body);
                    return ControlFlow::Break(());
                }
                Table::push_inline(&view, zone, columns, batch);
                go_on(batch.row_count < rows_max && !batch.is_full())
            })?;
            if fetch {
                table.push_row(&scratch.key, &scratch.value, ReadFrom::View(reader), zone, columns, batch)?;
            }
        }
        self.left_out_now += left_out;
        Ok(())
    }

    fn fill_from_entries(
        &mut self,
        index: usize,
        reader: Reader<'_>,
        zone: &dyn TimestampZone,
        batch: &mut Batch,
        mut locators: Option<&mut BytesColumn>,
    ) -> Result<(), StoreError> {
        let TableScan { table, cursor, columns, parts, within, .. } = self;
        let index = &table.indexes[index];
        let Some(entries) = &index.entries else { return Ok(()) };
        let columns = Columns::new(table.width(), columns, parts);
        let rows_max = self.rows_max;
        let within: &Within = within;
        let mut left_out = 0;
        while !cursor.ranges.is_empty()
            && batch.row_count < rows_max
            && !batch.is_full()
            && left_out < left_out_max()
        {
            cursor.walk(&table.store, &index.tree, reader, |key, value| {
                let view = entries.view(key, value);
                if !within.may_hold(&view) {
                    left_out += 1;
                    return go_on(left_out < left_out_max());
                }
                if let Some(locators) = &mut locators {
                    locators.push(view.locator());
                }
                Table::push_inline(&view, zone, columns, batch);
                go_on(batch.row_count < rows_max && !batch.is_full())
            })?;
        }
        self.left_out_now += left_out;
        Ok(())
    }

    /// One row for each different values of the first parts of the index. The next ones are searched for if they are not near.
    fn fill_first_of(
        &mut self,
        reader: Reader<'_>,
        zone: &dyn TimestampZone,
        batch: &mut Batch,
        mut locators: Option<&mut BytesColumn>,
    ) -> Result<(), StoreError> {
        let index = self.index;
        let TableScan { table, cursor, columns, parts, first_of, .. } = self;
        let tree = index.map_or(&table.rows, |index| &table.indexes[index].tree);
        let entries = index.and_then(|index| table.indexes[index].entries.as_ref());
        let Some(codec) = index.or(table.definition.clustered).map(|index| table.key_codec(index)) else {
            return Ok(());
        };
        let columns = Columns::new(table.width(), columns, parts);
        let rows_max = self.rows_max;
        let mut out_of_line: Option<(Vec<u8>, Vec<u8>)> = None;
        while !cursor.ranges.is_empty() && batch.row_count < rows_max && !batch.is_full() {
            // The key of the values of the last row given.
            let mut group: Option<Vec<u8>> = None;
            let mut neighbours = 0;
            let write_group = |batch: &Batch| {
                let mut key = Vec::new();
                for (number, &position) in first_of.iter().enumerate() {
                    codec.write_part(
                        number,
                        batch.columns[position].cell(batch.row_count - 1),
                        zone,
                        &mut key,
                    );
                }
                key
            };
            let is_finished = cursor.walk(&table.store, tree, reader, |key, value| {
                if group.as_ref().is_some_and(|group| key.starts_with(group)) {
                    neighbours += 1;
                    return go_on(neighbours < NEIGHBOURS_MAX);
                }
                let view = match entries {
                    Some(entries) => entries.view(key, value),
                    None => table.row_view(key, value),
                };
                if let Some(locators) = &mut locators {
                    locators.push(view.locator());
                }
                if entries.is_none()
                    && (spilled_reference(value).is_some() || Table::needs_fetch(&view, columns))
                {
                    out_of_line = Some((key.to_vec(), value.to_vec()));
                    return ControlFlow::Break(());
                }
                Table::push_inline(&view, zone, columns, batch);
                group = Some(write_group(batch));
                neighbours = 0;
                go_on(batch.row_count < rows_max && !batch.is_full())
            })?;
            if is_finished {
                continue;
            }
            if let Some((key, value)) = out_of_line.take() {
                table.push_row(&key, &value, ReadFrom::View(reader), zone, columns, batch)?;
                group = Some(write_group(batch));
            }
            if let Some(group) = group {
                cursor.skip_group(group);
            }
        }
        Ok(())
    }

    fn fill_by_lookup(
        &mut self,
        index: usize,
        reader: Reader<'_>,
        zone: &dyn TimestampZone,
        batch: &mut Batch,
        mut locators: Option<&mut BytesColumn>,
    ) -> Result<(), StoreError> {
        let TableScan { table, cursor, columns, parts, within, scratch, locators: found, .. } = self;
        let index = &table.indexes[index];
        let Some(entries) = &index.entries else { return Ok(()) };
        found.clear();
        let rows_max = self.rows_max;
        while !cursor.ranges.is_empty() && found.len() < rows_max {
            cursor.walk(&table.store, &index.tree, reader, |key, value| {
                found.push(entries.split(key, value).0);
                go_on(found.len() < rows_max)
            })?;
        }
        let columns = Columns::new(table.width(), columns, parts);
        self.left_out_now +=
            table.get_rows_with(scratch, found, reader, zone, columns, within, batch, |number| {
                if let Some(locators) = &mut locators {
                    locators.push(found.get(number as usize));
                }
            })?;
        Ok(())
    }

    /// Fills `batch` with the next rows in their current version, each locked, and `locators` with where they lie. As
    /// [`TableScan::next_batch`] otherwise. A row locked by another transaction is waited for, left out or an error, as
    /// `wait` says.
    ///
    /// # Errors
    /// No lock, or the store's.
    pub fn next_locked_batch(
        &mut self,
        transaction: &mut Transaction,
        mode: LockMode,
        wait: LockWait,
        zone: &dyn TimestampZone,
        batch: &mut Batch,
        locators: &mut BytesColumn,
    ) -> Result<bool, WriteError> {
        batch.clear();
        locators.clear();
        self.entry_keys.clear();
        self.mark = (!transaction.locks_ranges()).then(|| transaction.lock_mark());
        let table = Arc::clone(&self.table);
        let entries = self.index.and_then(|index| table.indexes[index].entries.as_ref());
        let tree = self.index.map_or(&table.rows, |index| &table.indexes[index].tree);
        let refused = from_store;
        while batch.row_count < self.rows_max && !batch.is_full() {
            let Some(range) = self.cursor.ranges.last_mut() else { break };
            // A row known by its whole unique key: it alone is locked, or the place where it is not.
            if table.is_unique(self.index) && range.is_prefix() {
                let key = &range.lower;
                let value = &mut self.scratch.value;
                let found = transaction
                    .lock_current(tree, key, mode, wait, |found| {
                        value.clear();
                        value.extend_from_slice(found);
                    })
                    .map_err(refused)?;
                if found != Locked::Absent {
                    self.cursor.examined += 1;
                    if found == Locked::Row(()) {
                        let row = LockedRow {
                            entries,
                            covering: self.covering,
                            key,
                            value,
                            columns: Columns::new(table.width(), &self.columns, &self.parts),
                        };
                        let pushed =
                            table.push_locked(transaction, &row, mode, wait, zone, batch, locators)?;
                        if pushed && self.index.is_some() && self.mark.is_some() {
                            self.entry_keys.push(key);
                        }
                    }
                    self.cursor.ranges.pop();
                    continue;
                }
            }
            let mut scan = transaction.lock_scan(tree, &scan_range(range, self.cursor.reverse), mode, wait);
            scan.set_wanted(self.rows_max - batch.row_count);
            let mut stopped_at = None;
            while let Some((key, value)) = scan.next(transaction).map_err(refused)? {
                self.cursor.examined += 1;
                let columns = Columns::new(table.width(), &self.columns, &self.parts);
                let row = LockedRow { entries, covering: self.covering, key, value, columns };
                let pushed = table.push_locked(transaction, &row, mode, wait, zone, batch, locators)?;
                if pushed && self.index.is_some() && self.mark.is_some() {
                    self.entry_keys.push(key);
                }
                if batch.row_count >= self.rows_max || batch.is_full() {
                    stopped_at = Some(key.to_vec());
                    break;
                }
            }
            match stopped_at {
                None => {
                    self.cursor.ranges.pop();
                }
                Some(key) if self.cursor.reverse => range.upper = Some(key),
                Some(mut key) => {
                    key.push(0);
                    range.lower = key;
                }
            }
        }
        Ok(batch.row_count > 0)
    }

    /// Gives back the locks of those rows of the last locked batch that are not in `kept` (ascending), if the transaction
    /// locks rows alone: they did not meet the condition. `locators` are the batch's.
    ///
    /// # Errors
    /// The store's.
    pub fn unlock_others(
        &mut self,
        transaction: &mut Transaction,
        locators: &BytesColumn,
        kept: &[u32],
    ) -> Result<(), StoreError> {
        let Some(mark) = self.mark else { return Ok(()) };
        let mut kept = kept.iter().rev().copied().peekable();
        for row in (0..locators.len()).rev() {
            if kept.next_if_eq(&(row as u32)).is_some() {
                continue;
            }
            transaction.unlock_since(&self.table.rows, locators.get(row), mark)?;
            if let Some(index) = self.index {
                let tree = &self.table.indexes[index].tree;
                transaction.unlock_since(tree, self.entry_keys.get(row), mark)?;
            }
        }
        Ok(())
    }
}

/// A record that a locking scan has come to.
struct LockedRow<'a> {
    /// Set if it is an entry of an index.
    entries: Option<&'a EntryCodec>,
    /// The entry has all columns wanted.
    covering: bool,
    key: &'a [u8],
    value: &'a [u8],
    columns: Columns<'a>,
}

impl Table {
    /// Whether the whole key of this index (`None`: of the rows themselves) names one row at most.
    fn is_unique(&self, index: Option<usize>) -> bool {
        match index.or(self.definition.clustered) {
            Some(index) => self.definition.indexes[index].is_unique(),
            None => false,
        }
    }

    /// Appends a row whose record in the scanned tree is locked, locking the row behind an entry. False if it is left out.
    fn push_locked(
        &self,
        transaction: &mut Transaction,
        row: &LockedRow<'_>,
        mode: LockMode,
        wait: LockWait,
        zone: &dyn TimestampZone,
        batch: &mut Batch,
        locators: &mut BytesColumn,
    ) -> Result<bool, WriteError> {
        let Some(entries) = row.entries else {
            let from = ReadFrom::Current(transaction);
            self.push_row(row.key, row.value, from, zone, row.columns, batch)?;
            locators.push(row.key);
            return Ok(true);
        };
        if mode == LockMode::Shared && row.covering {
            // As MySQL: who changes what the entry shows has to change the entry.
            let view = entries.view(row.key, row.value);
            locators.push(view.locator());
            Self::push_inline(&view, zone, row.columns, batch);
            return Ok(true);
        }
        let locator = entries.split(row.key, row.value).0;
        let locked =
            self.lock_columns(transaction, locator, mode, wait, zone, row.columns, batch, locators)?;
        Ok(locked == Locked::Row(()))
    }
}
