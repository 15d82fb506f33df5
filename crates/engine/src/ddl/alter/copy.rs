//! A table copied: its rows, converted, in new trees, while others read and write.
//!
//! Nobody but the copier writes to the new trees. It reads the old rows in parts and writes them, converted, in many
//! transactions, so that neither undo nor log records grow with the table; what others change meanwhile they log
//! (`table::ChangeLog`), and the copier brings those rows up to date (`online`).
//!
//! Invariants:
//! 1. Of each old row there is at most one new one. It was made from a version of the old row that was committed; if that is
//!    not the newest, a logged change of the row is there still.
//! 2. The new row's key is that of the old row, or stands beside it in a tree of its own (`places`) until the copy ends: a logged change
//!    names the old row, whose new key is made of columns that may have changed.
//! 3. Logged changes of rows that no part has come to are dropped once nobody has the row locked: the part will see it as it is then.
//!
//! A new row that finds its key taken waits for another round, as long as logged changes are left: the row in its way may have changed.
//! Without them two rows have one key, 1062.

use std::sync::Arc;

use catalog::{ColumnDefinition, StoredValue, TableDefinition, TableEntry, TreeNumber};
use service::error as e;
use service::error::{Diagnostic, Level, SqlError};
use store::{LockWait, Reader, Store, Transaction, Tree, TreeId};
use table::codec::row::LargeReference;
use table::{
    ChangeLog, ChangedRow, KeyBytesRange, LoggedChange, MaybeLarge, OWN_STREAM_BYTES, Others, Part, PartKind,
    RowScratch, ScanRequest, Table, TimestampZone, Utc, WriteContext, WriteError, rezoned,
};
use types::convert::{Severity, StoreOptions, store_copied};
use types::temporal::parse::DateMode;
use types::temporal::zone::TimeZone;
use types::vector::{Batch, BytesColumn};
use types::{Cell, Column, DataType, Physical, TypeKind};

use super::check::RowChecker;
use super::computed::ComputedColumns;
use super::dates::{date_mode, is_refused_date, store_options};
use super::instant::default_value;
use super::locks::AlterLocks;
use super::online::{Online, Round, RowWork};
use crate::ddl::definitions::trees_of;
use crate::ddl::{Context, Result, sql_mode_bits};

/// Rows written in one transaction, and their bytes.
const BATCH_ROWS: usize = 1_000;
const BATCH_BYTES: usize = 4 << 20;
/// Bytes of rows that are read from one snapshot.
const PART_BYTES: usize = 16 << 20;

/// What a copy is made for.
pub(super) struct CopyRequest<'r> {
    /// The table as the catalog has it.
    pub(super) entry: &'r Arc<TableEntry>,
    pub(super) source: &'r Arc<Table>,
    /// Where the old table has each new column.
    pub(super) mapping: &'r [Option<usize>],
    /// Generated columns to compute, by ordinal.
    pub(super) recomputed: &'r [bool],
    /// Rows keep the key they have.
    pub(super) keys_stay: bool,
    /// MySQL copies, too, and value by value: columns that stay as they are must hold what the session may write, and a NULL is
    /// one that is written.
    pub(super) copies_in_mysql: bool,
    /// What others may do meanwhile.
    pub(super) others: Option<Others>,
}

/// A copy that no definition names yet. Dropping it drops its trees.
pub(super) struct Copied<'a> {
    online: Online<'a>,
    row_count: u64,
    /// Where the AUTO_INCREMENT counter goes on.
    pub(super) counter: Option<u64>,
    /// A tree that only the copy needed.
    pub(super) places: Option<u64>,
}

impl Copied<'_> {
    /// A definition that names the trees is being committed. Answers how many rows there are, and the counter.
    pub(super) fn keep(self) -> (u64, Option<u64>) {
        self.online.keep();
        (self.row_count, self.counter)
    }
}

/// Copies the rows, converted, into new trees, which `table` then names.
///
/// # Errors
/// 1062, 1205, 1317, 1799, and what conversion and CHECK say; nothing is left of the copy then.
pub(super) fn copy<'a>(
    context: &mut Context<'a>,
    locks: &mut AlterLocks,
    request: &CopyRequest<'_>,
    table: &mut TableDefinition,
    checker: Option<RowChecker>,
) -> Result<Copied<'a>> {
    let CopyRequest { entry, source, .. } = *request;
    let definitions = context.definitions;
    let mut change = definitions.begin();
    table.rows_tree = TreeNumber(0);
    table.large_values_tree = TreeNumber(0);
    table.begin_layout();
    for index in &mut table.indexes {
        index.tree = TreeNumber(0);
    }
    change.create_missing_trees(table)?;
    let others = request.others.filter(|_| matches!(locks, AlterLocks::One(_)));
    let places = match others {
        Some(Others::Write) if !request.keys_stay => Some(change.create_tree()?.0),
        _ => None,
    };
    change.commit_trees()?;
    let mut trees = trees_of(table);
    trees.extend(places);
    let changes = ChangeLog::new(None, true, definitions.change_log_bytes_max());
    let mut online = Online::new(definitions, trees, changes);
    let store = definitions.store();
    let target = Table::open(store, Arc::new(table.clone())).map_err(crate::store_error)?;
    let places_tree = match places {
        Some(tree) => Some(store.tree(TreeId(tree)).map_err(|error| crate::store_error(&error))?),
        None => None,
    };
    let mut work = RowCopy {
        converter: Converter::new(context, request, table)?,
        checker,
        killed: context.session.lock_wait.killed,
        store: store.clone(),
        source: Arc::clone(source),
        // Hidden row numbers are not made of columns.
        same_number: request.keys_stay && table.clustered.is_none(),
        places: places_tree,
        target,
        next: Some(Vec::new()),
        row_count: 0,
        written: 0,
        scratch: RowScratch::default(),
        warnings: Vec::new(),
    };
    let ran = online.run(context, locks, others, entry, source, &mut [&mut work]);
    let RowCopy { mut converter, checker, row_count, mut warnings, .. } = work;
    warnings.extend(converter.take_warnings());
    warnings.extend(checker.into_iter().flat_map(RowChecker::into_warnings));
    context.warnings.append(&mut warnings);
    ran?;
    let old = source.definition();
    let counter = converter.next_number.or_else(|| {
        let had = old.auto_increment_column().is_some() && table.auto_increment_column().is_some();
        had.then(|| source.auto_increment().peek())
    });
    Ok(Copied { online, row_count, counter, places })
}

/// Values of a row that are copied from where they lie, a piece at a time; the row's cells hold their beginnings.
#[derive(Default)]
struct LongValues<'v> {
    /// Old columns.
    places: Vec<(usize, LargeReference)>,
    reader: Option<Reader<'v>>,
}

/// The copier.
struct RowCopy<'c> {
    source: Arc<Table>,
    target: Arc<Table>,
    store: Store,
    converter: Converter<'c>,
    checker: Option<RowChecker>,
    /// Rows have hidden numbers, and keep them.
    same_number: bool,
    /// Key of the old row to key of the new one.
    places: Option<Tree>,
    /// The first old key that no part has come to; `None`: all are read.
    next: Option<Vec<u8>>,
    /// Rows there are now.
    row_count: u64,
    /// Rows made so far: numbers of rows in warnings.
    written: u64,
    scratch: RowScratch,
    warnings: Vec<Diagnostic>,
    killed: &'c dyn Fn() -> bool,
}

const WRITE: WriteContext<'static> = WriteContext { zone: &Utc, wait: LockWait::Nowait, reader: None };

impl RowCopy<'_> {
    /// Writes the new row of an old one. False: its key is taken.
    fn write<'c>(
        &mut self,
        transaction: &mut Transaction,
        locator: &[u8],
        cell: &dyn Fn(usize) -> Cell<'c>,
        long: &LongValues<'_>,
        certain: bool,
    ) -> Result<bool> {
        self.written += 1;
        self.converter.convert(cell, self.written, &mut self.warnings)?;
        self.scratch.clear_long();
        for &(origin, reference) in &long.places {
            if let Some(ordinal) = self.converter.mapping.iter().position(|of| *of == Some(origin)) {
                self.scratch.put_place(ordinal, &self.source, reference);
            }
        }
        let context = WriteContext { reader: long.reader, ..WRITE };
        if let Some(checker) = &mut self.checker {
            checker.check(&|ordinal| self.converter.columns[ordinal].cell(0))?;
        }
        let cells: Vec<Cell<'_>> = self.converter.columns.iter().map(|column| column.cell(0)).collect();
        let inserted = if self.same_number {
            self.target.insert_at(transaction, locator, &cells, context, &mut self.scratch)
        } else {
            self.target.insert_with(transaction, &cells, context, &mut self.scratch)
        };
        match inserted {
            Ok(()) => {}
            Err(WriteError::Access(access::Error::DuplicateKey(_))) if !certain => return Ok(false),
            Err(error) => return Err(exec::access_error(error)),
        }
        if let Some(places) = &self.places {
            transaction
                .put(places, locator, self.scratch.locator(), LockWait::Nowait)
                .map_err(place_error)?;
        }
        self.row_count += 1;
        Ok(true)
    }

    fn is_read(&self, locator: &[u8]) -> bool {
        self.next.as_deref().is_none_or(|next| locator < next)
    }
}

#[cold]
fn place_error(error: store::WriteError) -> Box<SqlError> {
    match error {
        store::WriteError::Store(error) => crate::store_error(&error),
        error => e::ER_GET_ERRNO.saying(error.to_string()),
    }
}

impl RowWork for RowCopy<'_> {
    fn columns(&self) -> &[usize] {
        &self.converter.origins
    }

    fn read_part(&mut self, changes: &ChangeLog) -> Result<bool> {
        let columns = self.converter.origins.clone();
        // Large values that stay as they are need not come into memory.
        let mut parts = Vec::new();
        let width = self.source.definition().columns.len();
        let mut asked = columns.clone();
        for ordinal in &mut asked {
            let is_computed_with = self.checker.is_some() || self.converter.computed.is_some();
            if !is_computed_with && self.converter.stays_large(*ordinal) {
                parts.push(Part { column: *ordinal, kind: PartKind::Whole { out_of_line: Some(0) } });
                *ordinal = width + parts.len() - 1;
            }
        }
        let definitions = &self.source.definition().columns;
        let mut batch = Batch::new(columns.iter().map(|&ordinal| definitions[ordinal].data_type.physical()));
        let mut locators = BytesColumn::default();
        let lower = self.next.take().unwrap_or_default();
        let view = self.store.read_view();
        let mut scan = self.source.scan(ScanRequest {
            index: None,
            ranges: vec![KeyBytesRange { lower, upper: None }],
            reverse: false,
            columns: asked.clone(),
            parts,
        });
        let mut long = LongValues { places: Vec::new(), reader: Some(view.reader()) };
        let mut fetched: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut transaction = self.store.begin();
        let (mut rows, mut bytes, mut part_bytes) = (0, 0, 0);
        let mut next = None;
        while scan
            .next_batch(view.reader(), &Utc, &mut batch, Some(&mut locators))
            .map_err(crate::store_error)?
        {
            for row in 0..batch.row_count {
                long.places.clear();
                fetched.clear();
                for (position, &ordinal) in columns.iter().enumerate() {
                    if asked[position] >= width
                        && let Cell::Bytes(whole) = batch.columns[position].cell(row)
                        && let MaybeLarge::OutOfLine(place) = MaybeLarge::read(whole)
                    {
                        if place.reference.length >= OWN_STREAM_BYTES as u64 {
                            long.places.push((ordinal, place.reference));
                            bytes += place.reference.length as usize;
                            continue;
                        }
                        let mut value = Vec::new();
                        self.source
                            .fetch_large(view.reader(), place.reference, &mut value)
                            .map_err(crate::store_error)?;
                        bytes += value.len();
                        fetched.push((ordinal, value));
                    }
                }
                let cell = |ordinal: usize| {
                    let Ok(position) = columns.binary_search(&ordinal) else { return Cell::Null };
                    let cell = batch.columns[position].cell(row);
                    match cell {
                        Cell::Bytes(whole) if asked[position] >= width => match MaybeLarge::read(whole) {
                            MaybeLarge::Inline(value) => Cell::Bytes(value),
                            MaybeLarge::OutOfLine(place) => {
                                let value = fetched.iter().find(|(of, _)| *of == ordinal);
                                Cell::Bytes(value.map_or(place.prefix, |(_, value)| value))
                            }
                        },
                        cell => cell,
                    }
                };
                let locator = locators.get(row);
                if !self.write(&mut transaction, locator, &cell, &long, changes.byte_count() == 0)? {
                    changes.append_again(locator);
                }
                rows += 1;
                bytes += batch.columns.iter().map(|column| cell_bytes(column.cell(row))).sum::<usize>();
                if rows >= BATCH_ROWS || bytes >= BATCH_BYTES {
                    let full = std::mem::replace(&mut transaction, self.store.begin());
                    full.commit().map_err(crate::store_error)?;
                    if (self.killed)() {
                        return Err(e::ER_QUERY_INTERRUPTED.bare());
                    }
                    part_bytes += bytes;
                    (rows, bytes) = (0, 0);
                }
            }
            env::blocking::tick();
            if part_bytes >= PART_BYTES {
                let mut behind = locators.get(batch.row_count - 1).to_vec();
                behind.push(0);
                next = Some(behind);
                break;
            }
        }
        transaction.commit().map_err(crate::store_error)?;
        self.next = next;
        Ok(self.next.is_some())
    }

    fn take_back(&mut self, transaction: &mut Transaction, change: &LoggedChange<'_>) -> Result<()> {
        if !self.is_read(change.locator) {
            return Ok(());
        }
        let mut place = None;
        if let Some(places) = &self.places {
            let found = transaction.get_current(places, change.locator, <[u8]>::to_vec);
            let Some(found) = found.map_err(crate::store_error)? else { return Ok(()) };
            transaction.delete(places, change.locator, LockWait::Nowait).map_err(place_error)?;
            place = Some(found);
        }
        let locator = place.as_deref().unwrap_or(change.locator);
        if self.target.delete(transaction, locator, WRITE).map_err(exec::access_error)? {
            self.row_count -= 1;
        }
        Ok(())
    }

    fn apply(
        &mut self,
        transaction: &mut Transaction,
        change: &LoggedChange<'_>,
        row: Option<ChangedRow<'_>>,
        round: Round,
    ) -> Result<bool> {
        match row {
            Some(row) if self.is_read(change.locator) => {
                let cell = |ordinal: usize| row.cell(ordinal);
                self.write(transaction, change.locator, &cell, &LongValues::default(), round.certain)
            }
            _ => Ok(true),
        }
    }
}

/// Roughly what a cell adds to a transaction.
fn cell_bytes(cell: Cell<'_>) -> usize {
    match cell {
        Cell::Bytes(bytes) => bytes.len(),
        _ => 8,
    }
}

/// Turns rows of the old definition into rows of the new one.
struct Converter<'a> {
    source: &'a Table,
    table: &'a TableDefinition,
    mapping: &'a [Option<usize>],
    recomputed: &'a [bool],
    /// The old columns there are in the new table, ascending.
    origins: Vec<usize>,
    zone: &'a TimeZone,
    options: StoreOptions<'a>,
    strict: bool,
    copies_in_mysql: bool,
    /// What a TIMESTAMP column gets for a NULL that it cannot hold: the statement's time, microseconds since 1970 UTC.
    now_micros: i64,
    /// What dates of columns must be whose type stays.
    kept_dates: DateMode,
    /// What new columns hold, one row each.
    fills: Vec<Option<Column>>,
    /// The row made last.
    columns: Vec<Column>,
    /// The next number of a column that becomes AUTO_INCREMENT.
    next_number: Option<u64>,
    number_column: Option<usize>,
    /// A zero in it is a value (NO_AUTO_VALUE_ON_ZERO).
    zero_stays: bool,
    /// PAD_CHAR_TO_FULL_LENGTH: values of CHAR columns are read padded.
    pads_chars: bool,
    /// What gives new columns with an expression as default their values.
    computed: Option<ComputedColumns>,
}

impl<'a> Converter<'a> {
    fn new(context: &Context<'a>, request: &CopyRequest<'a>, table: &'a TableDefinition) -> Result<Self> {
        let CopyRequest { entry, source, mapping, recomputed, copies_in_mysql, .. } = *request;
        let has = |bit: u64| context.session.sql_mode & bit != 0;
        let strict = context.is_strict();
        let mut fills = Vec::new();
        for (column, origin) in table.columns.iter().zip(mapping) {
            if origin.is_some() {
                fills.push(None);
                continue;
            }
            let value = default_value(column, context).filter(|_| column.generated.is_none());
            fills.push(value.map(|value| fill(column, &value)));
        }
        let number_column = numbered_column(source.definition(), table, mapping);
        let mut origins: Vec<usize> = mapping.iter().flatten().copied().collect();
        origins.sort_unstable();
        Ok(Self {
            source,
            table,
            mapping,
            recomputed,
            origins,
            zone: context.session.zone,
            kept_dates: date_mode(context.session.sql_mode),
            options: store_options(context),
            strict,
            copies_in_mysql,
            now_micros: context.session.now_micros,
            fills,
            columns: table.columns.iter().map(|column| Column::new(column.data_type.physical())).collect(),
            next_number: number_column.map(|_| 1),
            number_column,
            zero_stays: has(sql_mode_bits::NO_AUTO_VALUE_ON_ZERO),
            pads_chars: has(sql_mode_bits::PAD_CHAR_TO_FULL_LENGTH),
            computed: ComputedColumns::new(context, entry, table, mapping, recomputed)?,
        })
    }

    /// Whether the new table has an old column's values as they are, and in no index.
    fn stays_large(&self, origin: usize) -> bool {
        let Some(ordinal) = self.mapping.iter().position(|of| *of == Some(origin)) else { return false };
        let (old, new) = (&self.source.definition().columns[origin], &self.table.columns[ordinal]);
        let mut keys = self.table.indexes.iter().flat_map(|index| &index.parts);
        old.data_type == new.data_type
            && old.data_type.is_text_or_blob()
            && !keys.any(|part| part.column == ordinal)
    }

    fn convert<'c>(
        &mut self,
        cell: &dyn Fn(usize) -> Cell<'c>,
        row: u64,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        for (ordinal, definition) in self.table.columns.iter().enumerate() {
            let out = &mut self.columns[ordinal];
            out.clear();
            let Some(origin) = self.mapping[ordinal].filter(|_| !self.recomputed[ordinal]) else {
                if self.recomputed[ordinal] {
                    out.push_null();
                    continue;
                }
                if self.number_column == Some(ordinal) {
                    let number = self.next_number.unwrap_or(1);
                    out.push_int(number as i64);
                    self.next_number = Some(number + 1);
                } else if let Some(fill) = &self.fills[ordinal] {
                    out.extend_from(fill);
                }
                continue;
            };
            let numbered = self.number_column == Some(ordinal);
            let (from, to) = (&self.source.definition().columns[origin].data_type, &definition.data_type);
            let mut padded = Vec::new();
            let mut cell = cell(origin);
            if numbered && (cell == Cell::Null || cell == Cell::Int(0) && !self.zero_stays) {
                let number = self.next_number.unwrap_or(1);
                out.push_int(number as i64);
                self.next_number = Some(number + 1);
                continue;
            }
            if cell == Cell::Null && !definition.nullable {
                if self.copies_in_mysql && to.kind == TypeKind::Timestamp {
                    let unit = 10_i64.pow(6 - u32::from(to.scale.min(6)));
                    out.push_int(Utc.local(self.now_micros / unit * unit).pack());
                    continue;
                }
                if self.strict {
                    return Err(if self.copies_in_mysql {
                        e::WARN_DATA_TRUNCATED.with(&[&definition.name, &row])
                    } else {
                        e::ER_INVALID_USE_OF_NULL.bare()
                    });
                }
                warnings.push(e::WARN_DATA_TRUNCATED.warning(&[&definition.name, &row]));
                push_zero(to, out);
                continue;
            }
            if numbered && let Cell::Int(number @ 1..) = cell {
                self.next_number = self.next_number.max(Some(number as u64 + 1));
            }
            if from == to {
                if !(self.copies_in_mysql && is_refused_date(cell, from, self.kept_dates)) {
                    out.push_cell(cell);
                    continue;
                }
                if !self.strict {
                    warnings.push(e::ER_WARN_DATA_OUT_OF_RANGE.warning(&[&definition.name, &row]));
                    push_zero(to, out);
                    continue;
                }
            }
            // A TIMESTAMP that stays one is copied as an instant; one that becomes something else, or the other way round, goes
            // through the session's zone.
            if from.kind == TypeKind::Timestamp && to.kind != TypeKind::Timestamp {
                cell = rezoned(cell, &Utc, self.zone);
            }
            if self.pads_chars
                && from.kind == TypeKind::Char
                && !from.is_binary_string()
                && let Cell::Bytes(text) = cell
            {
                let charset = from.collation.charset();
                let missing = (from.length as usize).saturating_sub(charset.char_count(text));
                let space = charset.of_ascii(b" ");
                padded.extend_from_slice(text);
                padded.extend(space.iter().copied().cycle().take(missing * space.len()));
                cell = Cell::Bytes(&padded);
            }
            let issue = store_copied(cell, from, &definition.name, to, &self.options, out);
            if to.kind == TypeKind::Timestamp
                && from.kind != TypeKind::Timestamp
                && let Cell::Int(packed @ 1..) = out.cell(0)
            {
                out.clear();
                out.push_cell(rezoned(Cell::Int(packed), self.zone, &Utc));
            }
            if let Some(issue) = issue {
                let report = issue.report(self.strict, &self.table.name, &definition.name, row);
                if report.severity == Severity::Error {
                    let state = e::Code::by_number(report.number).map_or(*b"HY000", |code| code.state);
                    return Err(SqlError::new(report.number, state, report.message));
                }
                let level = if report.severity == Severity::Note { Level::Note } else { Level::Warning };
                warnings.push(Diagnostic {
                    level,
                    number: report.number,
                    state: *b"HY000",
                    message: report.message,
                });
            }
        }
        match &mut self.computed {
            Some(computed) => computed.put(&mut self.columns, row),
            None => Ok(()),
        }
    }

    /// What computing values warned of.
    fn take_warnings(&mut self) -> Vec<Diagnostic> {
        self.computed.take().map_or_else(Vec::new, ComputedColumns::into_warnings)
    }
}

/// The column whose rows get numbers, in their order: it becomes AUTO_INCREMENT.
pub(super) fn numbered_column(
    old: &TableDefinition,
    table: &TableDefinition,
    mapping: &[Option<usize>],
) -> Option<usize> {
    table
        .auto_increment_column()
        .filter(|&ordinal| mapping[ordinal].is_none_or(|origin| !old.columns[origin].auto_increment))
}

/// A value of a column as a vector of one row has it, a TIMESTAMP in UTC.
pub(super) fn fill(column: &ColumnDefinition, value: &StoredValue) -> Column {
    let mut fill = Column::new(column.data_type.physical());
    match value {
        StoredValue::Null => fill.push_null(),
        StoredValue::Int(micros) if column.data_type.kind == TypeKind::Timestamp && *micros != 0 => {
            fill.push_int(Utc.local(*micros).pack());
        }
        StoredValue::Int(value) => fill.push_int(*value),
        StoredValue::Double(value) => fill.push_double(*value),
        StoredValue::Decimal(value) => fill.push_decimal(*value),
        StoredValue::Bytes(value) => fill.push_bytes(value),
    }
    fill
}

fn push_zero(data_type: &DataType, out: &mut Column) {
    match data_type.physical() {
        Physical::Int => out.push_int(0),
        Physical::Double => out.push_double(0.0),
        Physical::Decimal => out.push_decimal(types::Decimal::ZERO),
        Physical::Bytes if data_type.kind == TypeKind::Char && data_type.is_binary_string() => {
            out.push_bytes(&vec![0; data_type.length as usize]);
        }
        Physical::Bytes => out.push_bytes(b""),
    }
}
