//! A table copied: its rows, converted, in new trees.
//!
//! The rows are written in many transactions, so that neither undo nor log records grow with the table. Until the caller commits
//! a definition that names the new trees they belong to nobody: a crash leaves the table as it was, and opening drops them.

use std::sync::Arc;

use catalog::{StoredValue, TableDefinition, TreeNumber};
use service::error as e;
use service::error::{Diagnostic, Level, SqlError};
use store::LockWait;
use table::{KeyBytesRange, RowScratch, ScanRequest, Table, TimestampZone, Utc, WriteContext};
use types::convert::{Severity, StoreOptions, store};
use types::temporal::DateTime;
use types::temporal::parse::DateMode;
use types::vector::{Batch, BytesColumn};
use types::{Cell, Column, DataType, Physical, TypeKind};

use super::instant::default_value;
use crate::ddl::definitions::{Definitions, trees_of};
use crate::ddl::{Context, Result, sql_mode_bits};

/// Rows written in one transaction.
const BATCH_ROWS: usize = 1_000;

/// A copy that no definition names yet. Dropping it drops its trees.
pub(super) struct Copied<'a> {
    definitions: &'a Definitions,
    trees: Vec<u64>,
    kept: bool,
    row_count: u64,
    /// Where the AUTO_INCREMENT counter goes on.
    pub(super) counter: Option<u64>,
}

impl Copied<'_> {
    /// A definition that names the trees is being committed. Answers how many rows there are, and the counter.
    pub(super) fn keep(mut self) -> (u64, Option<u64>) {
        self.kept = true;
        (self.row_count, self.counter)
    }

    fn drop_trees(&self) -> Result<()> {
        let mut change = self.definitions.begin();
        change.drop_trees(&self.trees)?;
        change.commit_trees()
    }
}

impl Drop for Copied<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // If not even this can be done the store has stopped; the next opening drops trees that nobody names.
            let _stopped = self.drop_trees();
        }
    }
}

/// Copies the rows, converted, into new trees, which `table` then names. Nobody writes meanwhile.
///
/// # Errors
/// 1062, 1317, and what conversion says; nothing is left of the copy then.
pub(super) fn copy<'a>(
    context: &mut Context<'a>,
    source: &Arc<Table>,
    table: &mut TableDefinition,
    mapping: &[Option<usize>],
) -> Result<Copied<'a>> {
    let definitions = context.definitions;
    let old = Arc::clone(source.definition());
    let mut change = definitions.begin();
    table.rows_tree = TreeNumber(0);
    table.large_values_tree = TreeNumber(0);
    table.begin_layout();
    for index in &mut table.indexes {
        index.tree = TreeNumber(0);
    }
    change.create_missing_trees(table)?;
    change.commit_trees()?;
    let mut copied = Copied { definitions, trees: trees_of(table), kept: false, row_count: 0, counter: None };
    let store = definitions.store();
    let target = Table::open(store, Arc::new(table.clone())).map_err(exec::store_error)?;

    // A TIMESTAMP that stays one is copied as an instant; one that becomes something else, or the other way round, goes
    // through the session's zone.
    let zone_matters = mapping.iter().zip(&table.columns).any(|(origin, column)| {
        origin.is_some_and(|origin| {
            let kinds = [old.columns[origin].data_type.kind, column.data_type.kind];
            kinds[0] != kinds[1] && kinds.contains(&TypeKind::Timestamp)
        })
    });
    let zone: &dyn TimestampZone = if zone_matters { context.zone } else { &Utc };
    let mut converter = Converter::new(context, &old, table, mapping, zone, source)?;
    let write = WriteContext { zone, wait: LockWait::Timeout(context.patience.time) };
    let mut warnings = Vec::new();
    let killed = context.patience.killed;
    let mut transaction = store.begin();
    let mut scratch = RowScratch::default();
    for_each_row_in(source, zone, &mut |number, cells, _| {
        copied.row_count = number as u64;
        converter.convert(cells, copied.row_count, &mut warnings)?;
        let converted: Vec<Cell<'_>> = converter.columns.iter().map(|column| column.cell(0)).collect();
        target.insert_with(&mut transaction, &converted, write, &mut scratch).map_err(exec::write_error)?;
        if number % BATCH_ROWS == 0 {
            let full = std::mem::replace(&mut transaction, store.begin());
            full.commit().map_err(exec::store_error)?;
            if killed() {
                return Err(e::ER_QUERY_INTERRUPTED.bare());
            }
        }
        Ok(())
    })?;
    transaction.commit().map_err(exec::store_error)?;
    context.warnings.extend(warnings);
    copied.counter = converter.next_number.or_else(|| {
        let had = old.auto_increment_column().is_some() && table.auto_increment_column().is_some();
        had.then(|| source.auto_increment().peek())
    });
    Ok(copied)
}

/// What to do with a row: its number from 1, its cells, its locator.
pub(super) type EachRow<'f> = &'f mut dyn FnMut(usize, &[Cell<'_>], &[u8]) -> Result<()>;

/// Calls `each` with every row: its number, its cells, its locator. TIMESTAMPs are in UTC.
pub(super) fn for_each_row(table: &Arc<Table>, each: EachRow<'_>) -> Result<()> {
    for_each_row_in(table, &Utc, each)
}

fn for_each_row_in(table: &Arc<Table>, zone: &dyn TimestampZone, each: EachRow<'_>) -> Result<()> {
    let columns = &table.definition().columns;
    let view = table.store().read_view();
    let mut scan = table.scan(ScanRequest {
        index: None,
        ranges: vec![KeyBytesRange::ALL],
        reverse: false,
        columns: (0..columns.len()).collect(),
        parts: Vec::new(),
    });
    let mut batch = Batch::new(columns.iter().map(|column| column.data_type.physical()));
    let mut locators = BytesColumn::default();
    let mut number = 0;
    while scan.next_batch(view.reader(), zone, &mut batch, Some(&mut locators)).map_err(exec::store_error)? {
        for row in 0..batch.row_count {
            let cells: Vec<Cell<'_>> = batch.columns.iter().map(|column| column.cell(row)).collect();
            number += 1;
            each(number, &cells, locators.get(row))?;
        }
        env::blocking::tick();
    }
    Ok(())
}

/// Turns rows of the old definition into rows of the new one.
struct Converter<'a> {
    old: &'a TableDefinition,
    table: &'a TableDefinition,
    mapping: &'a [Option<usize>],
    options: StoreOptions<'a>,
    strict: bool,
    /// What new columns hold, one row each.
    fills: Vec<Option<Column>>,
    /// The row made last.
    columns: Vec<Column>,
    /// The next number of an AUTO_INCREMENT column that is new.
    next_number: Option<u64>,
    number_column: Option<usize>,
}

impl<'a> Converter<'a> {
    fn new(
        context: &Context<'a>,
        old: &'a TableDefinition,
        table: &'a TableDefinition,
        mapping: &'a [Option<usize>],
        zone: &dyn TimestampZone,
        source: &Arc<Table>,
    ) -> Result<Self> {
        let has = |bit: u64| context.sql_mode & bit != 0;
        let strict = has(sql_mode_bits::STRICT_TRANS_TABLES) || has(sql_mode_bits::STRICT_ALL_TABLES);
        let mut fills = Vec::new();
        for (column, origin) in table.columns.iter().zip(mapping) {
            if origin.is_some() {
                fills.push(None);
                continue;
            }
            let value = match default_value(column, context) {
                Some(value) => value,
                None if source.is_empty().map_err(exec::store_error)? => StoredValue::Null,
                None => {
                    return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"ADD COLUMN with an expression as DEFAULT"]));
                }
            };
            let mut fill = Column::new(column.data_type.physical());
            match &value {
                StoredValue::Null => fill.push_null(),
                StoredValue::Int(micros) if column.data_type.kind == TypeKind::Timestamp && *micros != 0 => {
                    fill.push_int(zone.local(*micros).pack());
                }
                StoredValue::Int(value) => fill.push_int(*value),
                StoredValue::Double(value) => fill.push_double(*value),
                StoredValue::Decimal(value) => fill.push_decimal(*value),
                StoredValue::Bytes(value) => fill.push_bytes(value),
            }
            fills.push(Some(fill));
        }
        let number_column = table.auto_increment_column().filter(|&ordinal| mapping[ordinal].is_none());
        Ok(Self {
            old,
            table,
            mapping,
            options: StoreOptions {
                date_mode: DateMode {
                    allow_invalid: has(sql_mode_bits::ALLOW_INVALID_DATES),
                    no_zero_in_date: strict && has(sql_mode_bits::NO_ZERO_IN_DATE),
                    no_zero_date: strict && has(sql_mode_bits::NO_ZERO_DATE),
                },
                truncate_fraction: false,
                time_zone: context.zone,
                today: DateTime::ZERO,
            },
            strict,
            fills,
            columns: table.columns.iter().map(|column| Column::new(column.data_type.physical())).collect(),
            next_number: number_column.map(|_| 1),
            number_column,
        })
    }

    fn convert(&mut self, cells: &[Cell<'_>], row: u64, warnings: &mut Vec<Diagnostic>) -> Result<()> {
        for (ordinal, definition) in self.table.columns.iter().enumerate() {
            let out = &mut self.columns[ordinal];
            out.clear();
            let Some(origin) = self.mapping[ordinal] else {
                if self.number_column == Some(ordinal) {
                    let number = self.next_number.unwrap_or(1);
                    out.push_int(number as i64);
                    self.next_number = Some(number + 1);
                } else if let Some(fill) = &self.fills[ordinal] {
                    out.extend_from(fill);
                }
                continue;
            };
            let (from, to) = (&self.old.columns[origin].data_type, &definition.data_type);
            let cell = cells[origin];
            if cell == Cell::Null && !definition.nullable {
                if self.strict {
                    return Err(e::ER_INVALID_USE_OF_NULL.bare());
                }
                warnings.push(e::WARN_DATA_TRUNCATED.warning(&[&definition.name, &row]));
                push_zero(to, out);
                continue;
            }
            if from == to {
                out.push_cell(cell);
                continue;
            }
            if let Some(issue) = store(cell, from, to, &self.options, out) {
                let report = issue.report(self.strict, &self.table.name, &definition.name, row);
                if report.severity == Severity::Error {
                    let state = e::Code::by_number(report.number).map_or(*b"HY000", |code| code.state);
                    return Err(Box::new(SqlError { number: report.number, state, message: report.message }));
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
        Ok(())
    }
}

fn push_zero(data_type: &DataType, out: &mut Column) {
    match data_type.physical() {
        Physical::Int => out.push_int(0),
        Physical::Double => out.push_double(0.0),
        Physical::Decimal => out.push_decimal(types::Decimal::ZERO),
        Physical::Bytes => out.push_bytes(b""),
    }
}
