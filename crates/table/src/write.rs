//! Writing rows: insert, update, delete, with all indexes kept in step.
//!
//! Invariants:
//! 1. After a successful call every index has exactly one entry for the row's current version, and none for earlier
//!    versions of the same transaction.
//! 2. After an error the row and its entries are as before the call: a call with more than one change, or that an observer may refuse,
//!    takes a savepoint.
//! 3. Checks go in the order of the indexes, so that the first violated key is the one MySQL names.

use std::sync::Arc;

use access::{DuplicateKey, Error, LongValue, StoredRow, TimestampZone, Updated};
use catalog::TableDefinition;
use store::{LockWait, Reader, Savepoint, Transaction};
use types::Cell;

use crate::WAIT_INTERNAL;
use crate::codec::row::{
    BytesRef, LargeReference, PREFIX_BYTES, REFERENCE_BYTES, RowView, spilled_reference, version_of,
    write_spilled,
};
use crate::error::{WriteError, from_store};
use crate::index::EntryBytes;
use crate::large::{Long, OWN_STREAM_BYTES, ReadFrom};
use crate::materialized::{Materialized, StoredCells};
use crate::print::print_cell;
use crate::table::{Table, is_null};

/// Under which conditions rows are written.
#[derive(Clone, Copy)]
pub struct WriteContext<'a> {
    /// TIMESTAMP cells are in this zone.
    pub zone: &'a dyn TimestampZone,
    /// How long to wait for rows that others have locked.
    pub wait: LockWait,
    /// How values are read that are copied from where they lie ([`RowScratch::put_place`]).
    pub reader: Option<Reader<'a>>,
}

/// The changed columns of an update.
type CellOf<'f, 'a> = &'f dyn Fn(usize) -> Option<Cell<'a>>;

/// A variable value on its way into a row.
#[derive(Clone, Copy, Debug)]
enum Piece<'a> {
    Bytes(&'a [u8]),
    /// Stays where it is.
    Kept(LargeReference, &'a [u8]),
    /// Lies somewhere else; its first bytes are here.
    Long(&'a Long, &'a [u8]),
}

/// A session keeps this much of it from statement to statement.
const SCRATCH_BYTES_KEPT: usize = 64 << 10;

/// Memory that writing rows needs, for use from row to row: once warm, a row is inserted without an allocation of its own.
#[derive(Debug, Default)]
pub struct RowScratch {
    locator: Vec<u8>,
    body: BodyScratch,
    entry: EntryBytes,
    /// Columns, by ordinal, whose values lie somewhere else.
    long: Vec<(usize, Long)>,
}

impl RowScratch {
    /// The next rows have `value` in column `ordinal`, which is in no index; their cells hold its first [`PREFIX_BYTES`].
    pub(crate) fn put_long(&mut self, ordinal: usize, value: Arc<dyn LongValue>) {
        self.long.push((ordinal, Long::Elsewhere(value)));
    }

    /// As [`RowScratch::put_long`], for a value of [`OWN_STREAM_BYTES`] or more that lies among those of `table`; the
    /// [`WriteContext`] says how it is read.
    pub fn put_place(&mut self, ordinal: usize, table: &Arc<Table>, reference: LargeReference) {
        self.long.push((ordinal, Long::Place(Arc::clone(table), reference)));
    }

    /// Makes it ready for another statement: nothing is known of rows, and what large rows needed is freed.
    #[inline]
    pub fn renew(&mut self) {
        self.long.clear();
        let bytes = self.body.body.capacity()
            + self.body.shared.capacity()
            + self.entry.key.capacity()
            + self.entry.value.capacity();
        if bytes > SCRATCH_BYTES_KEPT {
            *self = Self::default();
        }
    }

    /// All values of the next rows are in their cells.
    pub fn clear_long(&mut self) {
        self.long.clear();
    }

    /// Where the row went that was inserted last.
    #[must_use]
    pub fn locator(&self) -> &[u8] {
        &self.locator
    }
}

/// What building a row's body needs.
#[derive(Debug, Default)]
struct BodyScratch {
    body: Vec<u8>,
    /// Numbers of the variable columns, the longest value first.
    order: Vec<u32>,
    /// Per variable column: where its value went if it moved out of the row.
    outside: Vec<Option<LargeReference>>,
    /// The values that share a stream, and which columns' they are.
    shared: Vec<u8>,
    in_shared: Vec<u32>,
}

impl Table {
    /// Inserts a row: one cell per column of the table, each converted to the column's type, NOT NULL and AUTO_INCREMENT
    /// settled.
    ///
    /// # Errors
    /// `DuplicateKey` with the first key that is there already; locks; the store's. The row is not inserted then.
    pub fn insert(
        &self,
        transaction: &mut Transaction,
        cells: &[Cell<'_>],
        context: WriteContext<'_>,
    ) -> Result<(), WriteError> {
        self.insert_with(transaction, cells, context, &mut RowScratch::default())
    }

    /// As [`Table::insert`], for one of several rows: `scratch` goes from one to the next.
    ///
    /// # Errors
    /// As [`Table::insert`].
    pub fn insert_with(
        &self,
        transaction: &mut Transaction,
        cells: &[Cell<'_>],
        context: WriteContext<'_>,
        scratch: &mut RowScratch,
    ) -> Result<(), WriteError> {
        debug_assert_eq!(cells.len(), self.definition.columns.len());
        let savepoint = self.insert_makes_several_changes.then(|| transaction.savepoint());
        let result = self.insert_row(transaction, cells, context, scratch);
        self.undo_on_error(transaction, savepoint, result)
    }

    /// As [`Table::insert_with`], for a copy of the row at `locator` of another table: the same place here, if rows have hidden
    /// numbers in both.
    ///
    /// # Errors
    /// As [`Table::insert`].
    pub fn insert_at(
        &self,
        transaction: &mut Transaction,
        locator: &[u8],
        cells: &[Cell<'_>],
        context: WriteContext<'_>,
        scratch: &mut RowScratch,
    ) -> Result<(), WriteError> {
        scratch.locator.clear();
        scratch.locator.extend_from_slice(locator);
        let savepoint = transaction.savepoint();
        let result = self.insert_located(transaction, cells, context, scratch);
        self.undo_on_error(transaction, Some(savepoint), result)
    }

    fn undo_on_error<T>(
        &self,
        transaction: &mut Transaction,
        savepoint: Option<Savepoint>,
        result: Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        if result.is_err()
            && let Some(savepoint) = savepoint
        {
            transaction.rollback_to(&savepoint)?;
        }
        result
    }

    fn insert_row(
        &self,
        transaction: &mut Transaction,
        cells: &[Cell<'_>],
        context: WriteContext<'_>,
        scratch: &mut RowScratch,
    ) -> Result<(), WriteError> {
        let locator = &mut scratch.locator;
        locator.clear();
        match &self.clustered {
            Some(codec) => {
                codec.write(|ordinal| cells[ordinal], context.zone, locator);
            }
            None => locator.extend_from_slice(&self.next_row_number()?.to_be_bytes()),
        }
        self.insert_located(transaction, cells, context, scratch)
    }

    /// Inserts a row at `scratch.locator`.
    #[inline(always)]
    fn insert_located(
        &self,
        transaction: &mut Transaction,
        cells: &[Cell<'_>],
        context: WriteContext<'_>,
        scratch: &mut RowScratch,
    ) -> Result<(), WriteError> {
        let RowScratch { locator, body, entry, long } = scratch;
        let cell = |ordinal: usize| cells[ordinal];
        let variable = self.current_layout().variable_columns();
        let piece = |number: usize| {
            let ordinal = variable[number] as usize;
            let Cell::Bytes(bytes) = cells[ordinal] else { return Piece::Bytes(&[]) };
            match long.iter().find(|(of, _)| *of == ordinal) {
                Some((_, value)) => Piece::Long(value, bytes),
                None => Piece::Bytes(bytes),
            }
        };
        self.build_body(transaction, locator.len(), cell, piece, None, context, body)?;
        self.insert_record(transaction, locator, &body.body, cell, context)?;
        for index in 0..self.indexes.len() {
            if self.indexes[index].entries.is_some() {
                entry.write(&self.indexes[index], cell, locator, context.zone);
                self.insert_entry(transaction, index, entry, cell, context)?;
            }
        }
        if self.is_observed() {
            self.row_changed(transaction, None, Some(locator), &[])?;
        }
        Ok(())
    }

    /// Inserts a row's record into the tree of rows.
    fn insert_record<'a>(
        &self,
        transaction: &mut Transaction,
        locator: &[u8],
        body: &[u8],
        cell: impl Fn(usize) -> Cell<'a>,
        context: WriteContext<'_>,
    ) -> Result<(), WriteError> {
        let index = self.definition.clustered.unwrap_or(0);
        match transaction.insert(&self.rows, locator, body, context.wait) {
            Ok(()) => Ok(()),
            Err(store::WriteError::DuplicateKey) => {
                Err(self.duplicate(index, locator.to_vec(), locator.to_vec(), cell))
            }
            Err(error) => Err(from_store(error)),
        }
    }

    fn insert_entry<'a>(
        &self,
        transaction: &mut Transaction,
        index: usize,
        entry: &EntryBytes,
        cell: impl Fn(usize) -> Cell<'a>,
        context: WriteContext<'_>,
    ) -> Result<(), WriteError> {
        let tree = &self.indexes[index].tree;
        match transaction.insert(tree, &entry.key, &entry.value, context.wait) {
            Ok(()) => Ok(()),
            Err(store::WriteError::DuplicateKey) => {
                let locator = transaction
                    .get_current(tree, &entry.key, |value| {
                        let entries = self.indexes[index].entries.as_ref();
                        entries.map_or_else(Vec::new, |entries| entries.split(&entry.key, value).0.to_vec())
                    })?
                    .unwrap_or_default();
                Err(self.duplicate(index, entry.key.clone(), locator, cell))
            }
            Err(error) => Err(from_store(error)),
        }
    }

    #[cold]
    fn duplicate<'a>(
        &self,
        index: usize,
        entry: Vec<u8>,
        locator: Vec<u8>,
        cell: impl Fn(usize) -> Cell<'a>,
    ) -> WriteError {
        duplicate(&self.definition, index, entry, locator, cell)
    }

    /// Makes `scratch.body` a row's body, moving out to the large values what does not fit beside a locator of
    /// `locator_bytes`. `piece(number)` gives the variable columns. With `old`, fixed columns without a cell in `changed` are
    /// copied from it.
    fn build_body<'a>(
        &self,
        transaction: &mut Transaction,
        locator_bytes: usize,
        cell: impl Fn(usize) -> Cell<'a>,
        piece: impl Fn(usize) -> Piece<'a>,
        old: Option<(&RowView<'a>, CellOf<'_, 'a>)>,
        context: WriteContext<'_>,
        scratch: &mut BodyScratch,
    ) -> Result<(), WriteError> {
        let zone = context.zone;
        let BodyScratch { body: out, order, outside, shared, in_shared } = scratch;
        out.clear();
        let layout = self.current_layout();
        let count = layout.variable_columns().len();
        let room = store::RECORD_BYTES_MAX.saturating_sub(locator_bytes);
        let piece_bytes = |number: usize| match piece(number) {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Kept(_, prefix) | Piece::Long(_, prefix) => REFERENCE_BYTES + prefix.len(),
        };
        let inside = |number: usize| match piece(number) {
            Piece::Bytes(bytes) | Piece::Long(_, bytes) => BytesRef::Inline(bytes),
            Piece::Kept(reference, prefix) => BytesRef::External { reference, prefix },
        };
        let mut total = layout.data_start() + (0..count).map(piece_bytes).sum::<usize>();
        let any_kept = (0..count).any(|number| !matches!(piece(number), Piece::Bytes(_)));
        if total <= room && !any_kept {
            out.reserve(total);
            match old {
                Some((view, changed)) => layout.write_changed(view, changed, inside, zone, out),
                None => layout.write(cell, inside, zone, out),
            }
            return Ok(());
        }

        // The longest values go first; each leaves a reference and a prefix behind.
        total += count.div_ceil(8);
        order.clear();
        order.extend(0..count as u32);
        order.sort_unstable_by_key(|&number| std::cmp::Reverse(piece_bytes(number as usize)));
        outside.clear();
        outside.resize(count, None);
        shared.clear();
        in_shared.clear();
        for (number, place) in outside.iter_mut().enumerate() {
            if let Piece::Long(value, _) = piece(number) {
                let stream = self.write_long_stream(transaction, value, context.reader)?;
                *place = Some(LargeReference { stream, offset: 0, length: value.byte_count() });
            }
        }
        for &number in &*order {
            let Piece::Bytes(bytes) = piece(number as usize) else { continue };
            let left = REFERENCE_BYTES + bytes.len().min(PREFIX_BYTES);
            if total <= room || bytes.len() <= left {
                break;
            }
            total -= bytes.len() - left;
            let (stream, offset) = if bytes.len() >= OWN_STREAM_BYTES {
                (self.write_stream(transaction, bytes)?, 0)
            } else {
                in_shared.push(number);
                shared.extend_from_slice(bytes);
                (0, (shared.len() - bytes.len()) as u64)
            };
            outside[number as usize] = Some(LargeReference { stream, offset, length: bytes.len() as u64 });
        }
        if !shared.is_empty() {
            let shared_stream = self.write_stream(transaction, shared)?;
            for &number in &*in_shared {
                if let Some(reference) = &mut outside[number as usize] {
                    reference.stream = shared_stream;
                }
            }
        }
        let placed = |number: usize| match (piece(number), outside[number]) {
            (Piece::Bytes(bytes) | Piece::Long(_, bytes), Some(reference)) => {
                BytesRef::External { reference, prefix: &bytes[..bytes.len().min(PREFIX_BYTES)] }
            }
            _ => inside(number),
        };
        match old {
            Some((view, changed)) => layout.write_changed(view, changed, placed, zone, out),
            None => layout.write(cell, placed, zone, out),
        }
        if out.len() > room {
            // So many columns that even their references do not fit: the whole row moves out.
            let stream = self.write_stream(transaction, out)?;
            let reference = LargeReference { stream, offset: 0, length: out.len() as u64 };
            out.clear();
            write_spilled(self.definition.row_version, reference, out);
        }
        Ok(())
    }

    /// Changes columns of the row with this locator, which the transaction has locked.
    ///
    /// # Errors
    /// As [`Table::insert`]; the row is unchanged then.
    pub fn update(
        &self,
        transaction: &mut Transaction,
        locator: &[u8],
        changes: &[(usize, Cell<'_>)],
        context: WriteContext<'_>,
    ) -> Result<Updated, WriteError> {
        let Some(stored) = transaction.get_current(&self.rows, locator, <[u8]>::to_vec)? else {
            return Ok(Updated::Absent);
        };
        let spilled = spilled_reference(&stored);
        let whole = self.whole_body(ReadFrom::Current(transaction), stored)?;
        let old = RowView::new(self.layout(version_of(&whole)), locator, locator, &whole);

        // A value assigned to itself is no change.
        let mut real: Vec<(usize, Cell<'_>)> = Vec::with_capacity(changes.len());
        for &(ordinal, value) in changes {
            if !self.same_value(transaction, &old, ordinal, value, context.zone)? {
                real.push((ordinal, value));
            }
        }
        if real.is_empty() {
            return Ok(Updated::Same);
        }
        let savepoint = transaction.savepoint();
        let result = self.update_row(transaction, locator, &old, spilled, &real, context);
        self.undo_on_error(transaction, Some(savepoint), result)?;
        Ok(Updated::Changed)
    }

    fn same_value(
        &self,
        transaction: &Transaction,
        old: &RowView<'_>,
        ordinal: usize,
        value: Cell<'_>,
        zone: &dyn TimestampZone,
    ) -> Result<bool, WriteError> {
        if old.is_null(ordinal) || is_null(value) {
            return Ok(old.is_null(ordinal) && is_null(value));
        }
        Ok(match value {
            Cell::Null => false,
            Cell::Int(value) => old.int(ordinal, zone) == value,
            Cell::Double(value) => old.double(ordinal).to_bits() == value.to_bits(),
            Cell::Decimal(value) => old.decimal(ordinal) == *value,
            Cell::Bytes(value) => match old.bytes(ordinal) {
                BytesRef::Inline(bytes) => bytes == value,
                BytesRef::External { reference, prefix } => {
                    if reference.length != value.len() as u64 || !value.starts_with(prefix) {
                        return Ok(false);
                    }
                    let mut bytes = Vec::new();
                    self.fetch(ReadFrom::Current(transaction), reference, &mut bytes)?;
                    bytes == value
                }
            },
        })
    }

    fn update_row<'c>(
        &self,
        transaction: &mut Transaction,
        locator: &[u8],
        old: &RowView<'c>,
        spilled: Option<LargeReference>,
        changes: &[(usize, Cell<'c>)],
        context: WriteContext<'_>,
    ) -> Result<(), WriteError> {
        let changed =
            |ordinal: usize| changes.iter().rev().find(|change| change.0 == ordinal).map(|change| change.1);
        let touches =
            |index: usize| self.definition.indexes[index].parts.iter().any(|p| changed(p.column).is_some());
        let key_changes = self.definition.clustered.is_some_and(touches);
        let layout = self.current_layout();
        let old_is_current = version_of(old.body()) == self.definition.row_version;
        let is_read = |ordinal: usize| self.is_read_before(ordinal);
        // A stream stays if all of its values do. Of a shared one that loses a value the others are needed, to be written
        // again; values of columns that were dropped since are in it, too.
        let external = |ordinal: usize| match old.bytes(ordinal) {
            BytesRef::External { reference, prefix } if !old.is_null(ordinal) => Some((reference, prefix)),
            _ => None,
        };
        let stays = |reference: LargeReference| {
            reference.length as usize >= OWN_STREAM_BYTES
                || old_is_current
                    && !changes.iter().any(|&(ordinal, _)| {
                        layout.variable_columns().contains(&(ordinal as u32))
                            && external(ordinal).is_some_and(|(other, _)| other.stream == reference.stream)
                    })
        };
        let kept = |ordinal: usize| match changed(ordinal) {
            None => external(ordinal).filter(|(reference, _)| stays(*reference)),
            Some(_) => None,
        };
        let old_memory = Materialized::read(self, old, ReadFrom::Current(transaction), |ordinal| {
            is_read(ordinal) || (changed(ordinal).is_none() && kept(ordinal).is_none())
        })?;
        let old_cell = |ordinal: usize| old_memory.cell(self, old, ordinal, context.zone);
        let new_cell = |ordinal: usize| changed(ordinal).unwrap_or_else(|| old_cell(ordinal));

        let mut new_locator = Vec::new();
        if key_changes && let Some(codec) = &self.clustered {
            codec.write(new_cell, context.zone, &mut new_locator);
        } else {
            new_locator.extend_from_slice(locator);
        }
        let moves = new_locator != locator;

        let pieces: Vec<Piece<'_>> = layout
            .variable_columns()
            .iter()
            .map(|&ordinal| {
                let ordinal = ordinal as usize;
                if let Some((reference, prefix)) = kept(ordinal) {
                    return Piece::Kept(reference, prefix);
                }
                match new_cell(ordinal) {
                    Cell::Bytes(bytes) => Piece::Bytes(bytes),
                    _ => Piece::Bytes(&[]),
                }
            })
            .collect();
        let mut scratch = BodyScratch::default();
        let copied = old_is_current.then_some((old, &changed as &dyn Fn(usize) -> _));
        let piece = |number: usize| pieces[number];
        self.build_body(transaction, new_locator.len(), new_cell, piece, copied, context, &mut scratch)?;
        let body = scratch.body;

        // What the old version kept outside and the new one does not keep.
        self.drop_streams(transaction, old, spilled, |reference| {
            pieces
                .iter()
                .any(|piece| matches!(piece, Piece::Kept(kept, _) if kept.stream == reference.stream))
        })?;

        if moves {
            transaction.delete(&self.rows, locator, WAIT_INTERNAL).map_err(from_store)?;
            self.insert_record(transaction, &new_locator, &body, new_cell, context)?;
        } else {
            transaction.update(&self.rows, locator, &body, context.wait).map_err(from_store)?;
        }

        let (mut before, mut after) = (EntryBytes::default(), EntryBytes::default());
        for index in 0..self.indexes.len() {
            if self.indexes[index].entries.is_none() || !(moves || key_changes || touches(index)) {
                continue;
            }
            before.write(&self.indexes[index], old_cell, locator, context.zone);
            after.write(&self.indexes[index], new_cell, &new_locator, context.zone);
            let tree = &self.indexes[index].tree;
            if before.key != after.key {
                transaction.delete(tree, &before.key, context.wait).map_err(from_store)?;
                #[cfg(feature = "planted-bugs")]
                if store::planted::is(store::planted::Plant::LoseEntry) && after.key.last() == Some(&b'7') {
                    continue;
                }
                self.insert_entry(transaction, index, &after, new_cell, context)?;
            } else if before.value != after.value {
                transaction.update(tree, &after.key, &after.value, context.wait).map_err(from_store)?;
            }
        }
        if self.is_observed() {
            let cells = StoredCells { table: self, view: old, memory: &old_memory };
            let before = StoredRow { locator, cells: &cells };
            let columns: Vec<usize> = changes.iter().map(|change| change.0).collect();
            self.row_changed(transaction, Some(before), Some(&new_locator), &columns)?;
        }
        Ok(())
    }

    /// Whether index entries are made of this column, or an observer reads it.
    fn is_read_before(&self, ordinal: usize) -> bool {
        self.definition.indexes.iter().any(|index| index.parts.iter().any(|part| part.column == ordinal))
            || self.is_observed_before(ordinal)
    }

    /// Deletes the streams of a row's version except those that `kept` wants.
    fn drop_streams(
        &self,
        transaction: &mut Transaction,
        view: &RowView<'_>,
        spilled: Option<LargeReference>,
        kept: impl Fn(LargeReference) -> bool,
    ) -> Result<(), WriteError> {
        if let Some(reference) = spilled {
            self.delete_stream(transaction, reference.stream, reference.length)?;
        }
        if !view.has_external() {
            return Ok(());
        }
        let mut streams: Vec<(u64, u64)> = Vec::new();
        let layout = self.layout(version_of(view.body()));
        for number in 0..layout.variable_columns().len() {
            if let BytesRef::External { reference, .. } = view.variable(number)
                && !kept(reference)
            {
                let end = reference.offset + reference.length;
                match streams.iter_mut().find(|stream| stream.0 == reference.stream) {
                    Some(stream) => stream.1 = stream.1.max(end),
                    None => streams.push((reference.stream, end)),
                }
            }
        }
        for (stream, byte_count) in streams {
            self.delete_stream(transaction, stream, byte_count)?;
        }
        Ok(())
    }

    /// Deletes the row with this locator, which the transaction has locked. Answers whether there was one.
    ///
    /// # Errors
    /// Locks; the store's. The row is there still then.
    pub fn delete(
        &self,
        transaction: &mut Transaction,
        locator: &[u8],
        context: WriteContext<'_>,
    ) -> Result<bool, WriteError> {
        let Some(stored) = transaction.get_current(&self.rows, locator, <[u8]>::to_vec)? else {
            return Ok(false);
        };
        let savepoint = transaction.savepoint();
        let result = self.delete_row(transaction, locator, stored, context);
        self.undo_on_error(transaction, Some(savepoint), result)?;
        Ok(true)
    }

    fn delete_row(
        &self,
        transaction: &mut Transaction,
        locator: &[u8],
        stored: Vec<u8>,
        context: WriteContext<'_>,
    ) -> Result<(), WriteError> {
        let spilled = spilled_reference(&stored);
        let whole = self.whole_body(ReadFrom::Current(transaction), stored)?;
        let old = RowView::new(self.layout(version_of(&whole)), locator, locator, &whole);
        transaction.delete(&self.rows, locator, context.wait).map_err(from_store)?;
        if self.is_observed() || self.indexes.iter().any(|index| index.entries.is_some()) {
            let memory = Materialized::read(self, &old, ReadFrom::Current(transaction), |ordinal| {
                self.is_read_before(ordinal)
            })?;
            let mut entry = EntryBytes::default();
            for index in 0..self.indexes.len() {
                if self.indexes[index].entries.is_some() {
                    let cell = |ordinal: usize| memory.cell(self, &old, ordinal, context.zone);
                    entry.write(&self.indexes[index], cell, locator, context.zone);
                    transaction
                        .delete(&self.indexes[index].tree, &entry.key, context.wait)
                        .map_err(from_store)?;
                }
            }
            if self.is_observed() {
                let cells = StoredCells { table: self, view: &old, memory: &memory };
                let before = StoredRow { locator, cells: &cells };
                self.row_changed(transaction, Some(before), None, &[])?;
            }
        }
        self.drop_streams(transaction, &old, spilled, |_| false)
    }

    /// Adds the entries of index `index` for a row that is in the table already: what building an index does.
    ///
    /// # Errors
    /// `DuplicateKey`; the store's.
    pub fn insert_index_entry(
        &self,
        transaction: &mut Transaction,
        index: usize,
        cells: &[Cell<'_>],
        locator: &[u8],
        context: WriteContext<'_>,
    ) -> Result<(), WriteError> {
        let mut entry = EntryBytes::default();
        entry.write(&self.indexes[index], |ordinal| cells[ordinal], locator, context.zone);
        self.insert_entry(transaction, index, &entry, |ordinal| cells[ordinal], context)
    }
}

/// A row cannot be written, or an index not built, because the row at `locator` has the key already.
#[cold]
pub(crate) fn duplicate<'a>(
    table: &TableDefinition,
    index: usize,
    entry: Vec<u8>,
    locator: Vec<u8>,
    cell: impl Fn(usize) -> Cell<'a>,
) -> WriteError {
    let definition = &table.indexes[index];
    let mut value = Vec::new();
    for (number, part) in definition.parts.iter().enumerate() {
        if number > 0 {
            value.push(b'-');
        }
        let data_type = &table.columns[part.column].data_type;
        let mut shown = cell(part.column);
        if let (Cell::Bytes(bytes), Some(length)) = (shown, part.prefix_length) {
            let end = data_type.collation.charset().prefix_bytes(bytes, length as usize);
            shown = Cell::Bytes(&bytes[..end.min(bytes.len())]);
        }
        let charset = data_type.collation.charset();
        let has_characters = data_type.is_string() || data_type.members.is_some();
        if has_characters && !charset.extends_ascii() {
            let mut own = Vec::new();
            print_cell(shown, data_type, &mut own);
            value.extend(charset.in_utf8(&own));
        } else {
            print_cell(shown, data_type, &mut value);
        }
    }
    Error::DuplicateKey(Box::new(DuplicateKey {
        index,
        entry,
        locator,
        value: String::from_utf8_lossy(&value).into_owned(),
        key: format!("{}.{}", table.name, definition.name),
    }))
    .into()
}
