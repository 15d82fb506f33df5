//! CHECK constraints that a definition adds or enforces, looked at for the rows that are there, and their dates.

use std::sync::Arc;

use catalog::{CheckConstraint, TableDefinition, TableEntry};
use exec::RowChecks;
use exec::expr::{EvalSettings, Warnings};
use service::error::Diagnostic;
use store::Transaction;
use table::{ChangeLog, ChangedRow, KeyBytesRange, LoggedChange, ScanRequest, Table, Utc, rezoned};
use types::vector::BytesColumn;
use types::{Batch, Cell, TypeKind};

use super::dates::StoredDateCheck;
use super::instant::is_other_type;
use super::online::{Round, RowWork};
use crate::ddl::{Context, Result};

/// Rows that are checked from one snapshot.
const PART_ROWS: u64 = 1 << 16;

/// Checks rows one by one.
pub(super) struct RowChecker {
    checks: RowChecks,
    settings: EvalSettings,
    /// A row, of the columns that the checks read.
    row: Batch,
    /// Which of them are TIMESTAMPs: conditions see them in the session's zone.
    timestamps: Vec<bool>,
    /// Dates that the session must be able to write.
    dates: Option<StoredDateCheck>,
    /// Rows so far.
    row_number: u64,
    warnings: Warnings,
}

/// The constraints of `table` that are added or enforced, by their places in it.
pub(super) fn added_checks(old: &TableDefinition, table: &TableDefinition) -> Vec<usize> {
    let was_there = |check: &CheckConstraint| old.checks.iter().any(|before| before == check);
    let checks = table.checks.iter().enumerate();
    checks.filter(|(_, check)| check.enforced && !was_there(check)).map(|(place, _)| place).collect()
}

impl RowChecker {
    /// Of what rows of `old` have to meet to become rows of `table`: the constraints that are `added`, and all where a column
    /// changes its type; and of dates. `None`: nothing.
    ///
    /// # Errors
    /// A condition that cannot be computed.
    pub(super) fn new(
        context: &Context<'_>,
        old: &TableEntry,
        table: &TableDefinition,
        mapping: &[Option<usize>],
        added: &[usize],
        dates: Option<StoredDateCheck>,
    ) -> Result<Option<Self>> {
        let types_change = mapping.iter().zip(&table.columns).any(|(origin, column)| {
            origin.is_some_and(|origin| is_other_type(&old.definition.columns[origin], column))
        });
        let wanted = |check: &CheckConstraint| {
            types_change || added.iter().any(|&place| table.checks[place].name == check.name)
        };
        let definition = Arc::new(table.clone());
        let entry = Arc::new(TableEntry { definition, source: Arc::clone(&old.source) });
        let checks = RowChecks::compile(&entry, &wanted)?;
        if checks.is_empty() && dates.is_none() {
            return Ok(None);
        }
        let columns = || checks.columns().iter().map(|&ordinal| &table.columns[ordinal].data_type);
        let row = Batch::new(columns().map(types::DataType::physical));
        let timestamps = columns().map(|data_type| data_type.kind == TypeKind::Timestamp).collect();
        let settings = context.eval_settings();
        Ok(Some(Self {
            checks,
            settings,
            row,
            timestamps,
            dates,
            row_number: 0,
            warnings: Warnings::default(),
        }))
    }

    /// Checks a row; `cell` gives its columns, TIMESTAMPs in UTC.
    ///
    /// # Errors
    /// 1292, 3819.
    pub(super) fn check<'c>(&mut self, cell: &dyn Fn(usize) -> Cell<'c>) -> Result<()> {
        self.row_number += 1;
        if let Some(dates) = &self.dates {
            dates.check(cell, self.row_number)?;
        }
        if self.checks.is_empty() {
            return Ok(());
        }
        self.row.clear();
        let columns = self.row.columns.iter_mut().zip(self.checks.columns());
        for ((column, &ordinal), &timestamp) in columns.zip(&self.timestamps) {
            let cell = cell(ordinal);
            let zone = &self.settings.time_zone;
            column.push_cell(if timestamp { rezoned(cell, &Utc, zone) } else { cell });
        }
        self.row.row_count = 1;
        self.checks.check(&self.row, &self.settings, &mut self.warnings)
    }

    /// Ordinals of the columns that are read, ascending.
    fn columns(&self) -> Vec<usize> {
        let mut columns = self.checks.columns().to_vec();
        columns.extend(self.dates.iter().flat_map(StoredDateCheck::columns));
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// What computing the conditions warned of.
    pub(super) fn into_warnings(self) -> Vec<Diagnostic> {
        self.warnings.entries().to_vec()
    }
}

/// Checks all rows of a table that keeps its trees.
pub(super) struct RowCheck {
    checker: RowChecker,
    /// Ordinals of the columns that are read, ascending.
    columns: Vec<usize>,
    /// Reads the rows as they will be.
    table: Arc<Table>,
    next: Vec<u8>,
    pub(super) row_count: u64,
}

impl RowCheck {
    pub(super) fn new(checker: RowChecker, table: Arc<Table>) -> Self {
        let columns = checker.columns();
        Self { checker, columns, table, next: Vec::new(), row_count: 0 }
    }

    pub(super) fn into_warnings(self) -> Vec<Diagnostic> {
        self.checker.into_warnings()
    }
}

impl RowWork for RowCheck {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn read_part(&mut self, _changes: &ChangeLog) -> Result<bool> {
        let columns = self.columns.clone();
        let definitions = &self.table.definition().columns;
        let mut batch = Batch::new(columns.iter().map(|&ordinal| definitions[ordinal].data_type.physical()));
        let mut locators = BytesColumn::default();
        let view = self.table.store().read_view();
        let mut scan = self.table.scan(ScanRequest {
            index: None,
            ranges: vec![KeyBytesRange { lower: std::mem::take(&mut self.next), upper: None }],
            reverse: false,
            columns: columns.clone(),
            parts: Vec::new(),
        });
        let end = self.row_count + PART_ROWS;
        while scan
            .next_batch(view.reader(), &Utc, &mut batch, Some(&mut locators))
            .map_err(crate::store_error)?
        {
            for row in 0..batch.row_count {
                let changed = |ordinal: usize| {
                    let position = columns.binary_search(&ordinal);
                    position.map_or(Cell::Null, |position| batch.columns[position].cell(row))
                };
                self.row_count += 1;
                self.checker.check(&changed)?;
            }
            env::blocking::tick();
            if self.row_count >= end {
                self.next.extend_from_slice(locators.get(batch.row_count - 1));
                self.next.push(0);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn apply(
        &mut self,
        _transaction: &mut Transaction,
        _change: &LoggedChange<'_>,
        row: Option<ChangedRow<'_>>,
        _round: Round,
    ) -> Result<bool> {
        if let Some(row) = row {
            self.checker.check(&|ordinal| row.cell(ordinal))?;
        }
        Ok(true)
    }
}
