//! Reading tables: those that a backend keeps, by index ranges or whole, consistent or locking; and virtual tables.

use std::any::Any;
use std::sync::Arc;

use access::{
    ColumnRanges, Columns, KeyBytesRange, KeyForm, KeyRanges, LockMode, LockWait, PointKeys, RowLock,
    ScanRequest, Table,
};
use catalog::{IndexPart, LockWait as StatementWait, TableDefinition, VirtualContext, VirtualScan};
use plan::ExprKind;
use plan::function::FunctionId;
use plan::logical::TableIndex;
use plan::physical::{Access, PhysicalPlan, RangePlan, Scan};
use types::planted::{self, Plant};
use types::vector::{BytesColumn, ColumnData};
use types::{Batch, Column};

use super::pad::{pad_columns, pads};
use super::parts::Parts;
use super::{BoxOperator, Operator, Source};
use crate::context::ExecContext;
use crate::error::{access_error, internal, row_error};
use crate::expr::no_input;
use crate::expr::{Program, Scratch, SqlResult};
use crate::key::{EqualParts, IndexKeys, bytes_range, equal_parts, equal_values, value_range};
use crate::programs::Programs;
use crate::row_buffer::columns;
use crate::status_counts::{StatusCounts, StatusKind};
use crate::stored_table::{StoredTable, stored_table};

pub(super) fn build<'p>(
    plan: &'p PhysicalPlan,
    scan: &'p Scan,
    programs: &mut Programs<'_>,
) -> SqlResult<BoxOperator<'p>> {
    let filter = if scan.filter.is_empty() { None } else { Some(programs.take(&scan.filter)?) };
    let mention = &plan.tables[scan.table.0 as usize];
    if mention.entry.source.as_virtual().is_some() {
        let filter = filter.map(|program| (program.scratch(), program));
        return Ok(Box::new(VirtualTableScan {
            plan,
            scan,
            filter,
            rows: Vec::new(),
            next: 0,
            selected: Vec::new(),
        }));
    }
    let ranges = Ranges::new(scan.access.ranges.as_deref(), programs)?;
    let mut early = Vec::with_capacity(scan.early.len());
    for of in &scan.early {
        early.push((of.column, Ranges::new(Some(&of.ranges), programs)?));
    }
    let parts = Parts::new(plan, scan.table, programs)?;
    let filter = filter.map(|program| (program.scratch(), program));
    Ok(Box::new(TableScanOperator {
        table: stored_table(plan, scan.table)?,
        scan,
        lock: lock_of(plan, scan.table),
        ranges,
        early,
        parts,
        batch_rows: usize::MAX,
        filter,
        state: None,
        rows_as: None,
        selected: Vec::new(),
        locators: BytesColumn::default(),
    }))
}

/// 1412: the table was rebuilt after the snapshot of this statement was taken, so that its rows of then are gone.
pub(crate) fn check_visible(table: &dyn Table, ctx: &ExecContext<'_>) -> SqlResult<()> {
    match ctx.eval.snapshot {
        Some(snapshot) if !snapshot.sees(table) => {
            Err(crate::error::coded(1412, "Table definition has changed, please retry transaction"))
        }
        _ => Ok(()),
    }
}

/// The locks a scan takes, and how it waits.
pub(crate) fn lock_of(plan: &PhysicalPlan, table: TableIndex) -> Option<(LockMode, StatementWait)> {
    plan.tables[table.0 as usize]
        .lock
        .map(|(exclusive, wait)| (if exclusive { LockMode::Exclusive } else { LockMode::Shared }, wait))
}

/// The locks a scan takes now: its own, or shared ones where all reads lock.
pub(crate) fn lock_now(lock: Option<(LockMode, StatementWait)>, ctx: &ExecContext<'_>) -> Option<RowLock> {
    let (mode, wait) = lock.or_else(|| ctx.lock_reads.then_some((LockMode::Shared, StatementWait::Wait)))?;
    Some(RowLock { mode, wait: lock_wait(wait, ctx) })
}

/// How long to wait for a row that another transaction has locked.
fn lock_wait(wait: StatementWait, ctx: &ExecContext<'_>) -> LockWait {
    match wait {
        StatementWait::Wait => ctx.lock_wait,
        StatementWait::NoWait => LockWait::NoWait,
        StatementWait::SkipLocked => LockWait::Skip,
    }
}

/// The ranges of a scan, with the programs of their ends.
pub(crate) struct Ranges<'p> {
    ranges: Option<&'p [RangePlan]>,
    program: Option<Arc<Program>>,
    scratch: Scratch,
    values: Vec<Column>,
    /// Values before those of range `i`.
    starts: Vec<usize>,
}

impl<'p> Ranges<'p> {
    pub(crate) fn new(ranges: Option<&'p [RangePlan]>, programs: &mut Programs<'_>) -> SqlResult<Ranges<'p>> {
        let mut exprs = Vec::new();
        let mut starts = Vec::new();
        for range in ranges.unwrap_or_default() {
            starts.push(exprs.len());
            exprs.extend(range.equal.iter().map(|value| value.expr.clone()));
            exprs.extend(range.lower.iter().chain(&range.upper).map(|end| end.expr.clone()));
        }
        let values = columns(exprs.iter().map(|expr| expr.data_type.physical()));
        let program = if exprs.is_empty() { None } else { Some(programs.take(&exprs)?) };
        let scratch = program.as_ref().map(|program| program.scratch()).unwrap_or_default();
        Ok(Ranges { ranges, program, scratch, values, starts })
    }

    /// Computes the ends for every row of `input`.
    pub(crate) fn evaluate(&mut self, input: &Batch, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        if let Some(program) = &self.program {
            program.eval(&mut self.scratch, input, &mut ctx.eval, &mut self.values)?;
        }
        Ok(())
    }

    /// Values of outer rows or parameters have changed.
    pub(crate) fn reset(&mut self) {
        self.scratch.reset();
    }

    /// The key ranges for row `row` of the input last evaluated, in the form that the index takes. As bytes they ascend and do not
    /// overlap.
    pub(crate) fn keys(
        &self,
        table: &StoredTable<'_>,
        index: Option<usize>,
        row: usize,
        ctx: &ExecContext<'_>,
    ) -> KeyRanges {
        let (Some(ranges), Some(index)) = (self.ranges, index) else { return KeyRanges::All };
        let keys = self.index_keys(table, &table.definition.indexes[index].parts, ctx);
        let ranges = ranges.iter().zip(&self.starts);
        match table.rows.key_form(index) {
            KeyForm::Bytes(bytes) => {
                let mut found: Vec<KeyBytesRange> = ranges
                    .filter_map(|(range, &start)| bytes_range(keys, bytes, range, &self.values[start..], row))
                    .collect();
                if found.len() > 1 {
                    normalize(&mut found);
                }
                KeyRanges::Bytes(found)
            }
            KeyForm::Values => KeyRanges::Values(
                ranges
                    .filter_map(|(range, &start)| value_range(keys, range, &self.values[start..], row))
                    .collect(),
            ),
        }
    }

    /// The ranges, each of the values of one column, as the table takes them; none if it does not.
    fn of_column(
        &self,
        table: &StoredTable<'_>,
        column: usize,
        ctx: &ExecContext<'_>,
    ) -> Option<Vec<KeyBytesRange>> {
        let bytes = table.rows.column_keys(column)?;
        let parts = [IndexPart { column, prefix_length: None, descending: false }];
        let keys = self.index_keys(table, &parts, ctx);
        let ranges = self.ranges.unwrap_or_default().iter().zip(&self.starts);
        let mut found: Vec<KeyBytesRange> = ranges
            .filter_map(|(range, &start)| bytes_range(keys, &*bytes, range, &self.values[start..], 0))
            .collect();
        normalize(&mut found);
        Some(found)
    }

    fn index_keys<'a>(
        &self,
        table: &'a StoredTable<'_>,
        parts: &'a [IndexPart],
        ctx: &'a ExecContext<'_>,
    ) -> IndexKeys<'a> {
        let settings = ctx.eval.settings;
        IndexKeys {
            definition: table.definition,
            parts,
            zone: &settings.time_zone,
            mode: settings.date_mode(),
        }
    }

    /// Appends the whole keys for row `row` of the input last evaluated, each once, if all ranges are whole keys of the index; answers
    /// how many. `None`: of one it cannot be told which key it is; [`Self::keys`] gives the range in which it lies.
    pub(crate) fn points(
        &self,
        table: &StoredTable<'_>,
        index: usize,
        row: usize,
        ctx: &ExecContext<'_>,
        out: &mut PointKeys,
    ) -> Option<usize> {
        let keys = self.index_keys(table, &table.definition.indexes[index].parts, ctx);
        let ranges = self.ranges?.iter().zip(&self.starts);
        match (table.rows.key_form(index), out) {
            (KeyForm::Bytes(bytes), PointKeys::Bytes(out)) => {
                let mut points = Vec::new();
                for (range, &start) in ranges {
                    match equal_parts(keys, bytes, range, &self.values[start..], row) {
                        EqualParts::Known(key) => points.push(key),
                        EqualParts::KnownTo(_) => return None,
                        EqualParts::Nothing => {}
                    }
                }
                if points.len() > 1 {
                    points.sort_unstable();
                    points.dedup();
                }
                if planted::is(Plant::FirstOfList) {
                    points.truncate(1);
                }
                points.iter().for_each(|key| out.push(key));
                Some(points.len())
            }
            // Of several values it is not known here which are the same key.
            (KeyForm::Values, PointKeys::Values(out)) if self.starts.len() == 1 => {
                let (range, &start) = ranges.into_iter().next()?;
                match equal_values(keys, range, &self.values[start..], row) {
                    EqualParts::Known(key) => out.push(key),
                    EqualParts::KnownTo(_) => return None,
                    EqualParts::Nothing => return Some(0),
                }
                Some(1)
            }
            _ => None,
        }
    }
}

/// Sorts ranges and joins those that overlap or touch: neighbouring keys become one range.
fn normalize(ranges: &mut Vec<KeyBytesRange>) {
    ranges.sort_unstable_by(|a, b| a.lower.cmp(&b.lower));
    let mut kept: Vec<KeyBytesRange> = Vec::with_capacity(ranges.len());
    for range in ranges.drain(..) {
        if let Some(last) = kept.last_mut() {
            let touches = last.upper.as_ref().is_none_or(|upper| *upper >= range.lower);
            if touches {
                let longer = match (&last.upper, &range.upper) {
                    (None, _) => false,
                    (_, None) => true,
                    (Some(a), Some(b)) => b > a,
                };
                if longer {
                    last.upper = range.upper;
                }
                continue;
            }
        }
        kept.push(range);
    }
    *ranges = kept;
}

/// Counts that a scan of these ranges begins, and answers as what its rows count: none where each range is a whole unique key.
fn count_start(
    definition: &TableDefinition,
    access: &Access,
    ranges: &KeyRanges,
    status: &StatusCounts,
) -> Option<StatusKind> {
    let is_whole = access.ranges.is_none();
    let (kind, open_ends) = match access.backward {
        true => (StatusKind::ReadLast, ranges.open_above()),
        false => (StatusKind::ReadFirst, ranges.open_below()),
    };
    if open_ends > 0 {
        status.add(kind, open_ends as u64);
    }
    status.add(StatusKind::ReadKey, ranges.len() as u64);
    let in_own_order = access.index.is_none() || access.index == definition.clustered;
    match access.backward {
        _ if access.point => None,
        true => Some(StatusKind::ReadPrev),
        false if is_whole && in_own_order => Some(StatusKind::ReadRndNext),
        false => Some(StatusKind::ReadNext),
    }
}

/// Conditions `column = constant` among those that a scan checks, by ordinal: what a table may use to give fewer rows.
fn equal_conditions(scan: &Scan, ctx: &mut ExecContext<'_>) -> SqlResult<Vec<(usize, types::Value)>> {
    let mut equal = Vec::new();
    for condition in &scan.filter {
        let Some((FunctionId::Eq, [left, right])) = condition.as_call() else { continue };
        let (column, value) = match (&left.kind, &right.kind) {
            (ExprKind::Input(position), _) if right.is_constant() => (*position, right),
            (_, ExprKind::Input(position)) if left.is_constant() => (*position, left),
            _ => continue,
        };
        if let Some(&ordinal) = scan.columns.get(column as usize) {
            equal.push((ordinal, super::evaluate(value, ctx)?));
        }
    }
    Ok(equal)
}

struct TableScanOperator<'p> {
    table: StoredTable<'p>,
    scan: &'p Scan,
    lock: Option<(LockMode, StatementWait)>,
    ranges: Ranges<'p>,
    /// Ranges of columns that the filter asks for.
    early: Vec<(usize, Ranges<'p>)>,
    parts: Parts<'p>,
    /// Rows of the next batch.
    batch_rows: usize,
    filter: Option<(Scratch, Arc<Program>)>,
    state: Option<Box<dyn access::Scan>>,
    /// As what rows read are counted.
    rows_as: Option<StatusKind>,
    selected: Vec<u32>,
    locators: BytesColumn,
}

impl TableScanOperator<'_> {
    /// What the filter asks of columns. Where a constant fails or warns, the filter has to say so, when a row comes.
    fn within(&mut self, ctx: &mut ExecContext<'_>) -> Vec<ColumnRanges> {
        let mut within = Vec::with_capacity(self.early.len());
        for (column, ranges) in &mut self.early {
            ranges.reset();
            let warnings = std::mem::take(&mut *ctx.eval.warnings);
            let is_known = ranges.evaluate(&no_input(), ctx).is_ok() && ctx.eval.warnings.total() == 0;
            *ctx.eval.warnings = warnings;
            if is_known && let Some(ranges) = ranges.of_column(&self.table, *column, ctx) {
                within.push(ColumnRanges { column: *column, ranges });
            }
        }
        within
    }
}

impl Operator for TableScanOperator<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let lock = lock_now(self.lock, ctx);
        if lock.is_none() {
            check_visible(&*self.table.rows, ctx)?;
        }
        self.ranges.reset();
        if let Some((scratch, _)) = &mut self.filter {
            scratch.reset();
        }
        self.ranges.evaluate(&no_input(), ctx)?;
        self.parts.start(lock.is_some(), ctx)?;
        let access = &self.scan.access;
        let ranges = self.ranges.keys(&self.table, access.index, 0, ctx);
        self.rows_as = count_start(self.table.definition, access, &ranges, ctx.status);
        let pushes = self.table.rows.pushdown().equal;
        let equal = if pushes { equal_conditions(self.scan, ctx)? } else { Vec::new() };
        let request = ScanRequest {
            index: access.index,
            ranges,
            reverse: access.backward,
            columns: self.scan.columns.clone(),
            parts: self.parts.current().to_vec(),
            equal,
            within: if lock.is_none() { self.within(ctx) } else { Vec::new() },
            first_of: if lock.is_none() { self.scan.first_of } else { 0 },
        };
        let mut state = ctx.transaction()?.scan(&self.table.rows, request).map_err(access_error)?;
        self.batch_rows = ctx.rows_wanted;
        if lock.is_some() {
            state.set_batch_rows(self.batch_rows);
        }
        self.state = Some(state);
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        let Some(state) = &mut self.state else { return Ok(false) };
        if let Some((scratch, _)) = &mut self.filter {
            scratch.check_failure()?;
        }
        loop {
            // The locator, if asked for, is the last column: the table fills the ones before.
            let mut locator = if self.scan.locator { out.columns.pop() } else { None };
            let reading = ctx.reading();
            let lock = lock_now(self.lock, ctx);
            let more = match lock {
                Some(lock) => ctx
                    .transaction()?
                    .next_locked_batch(&mut **state, lock, reading.zone, out, &mut self.locators)
                    .map_err(|error| row_error(self.table.definition, &error))?,
                None => {
                    if !self.parts.current().is_empty() {
                        // Parts may cost reads: as many rows as are wanted, more only if these were not enough.
                        state.set_batch_rows(self.batch_rows);
                        self.batch_rows = self.batch_rows.saturating_mul(2);
                    }
                    let locators = if self.scan.locator { Some(&mut self.locators) } else { None };
                    ctx.transaction()?
                        .next_batch(&mut **state, reading, out, locators)
                        .map_err(access_error)?
                }
            };
            if let Some(mut column) = locator.take() {
                column.clear();
                if let ColumnData::Bytes(bytes) = &mut column.data {
                    std::mem::swap(bytes, &mut self.locators);
                    column.nulls.extend(out.row_count, false);
                }
                out.columns.push(column);
            }
            let row_count = out.row_count as u64 + state.take_left_out();
            ctx.rows_examined += row_count;
            if let Some(kind) = self.rows_as {
                ctx.status.add(kind, row_count);
            }
            if !more {
                // The end is read like a row.
                if self.rows_as == Some(StatusKind::ReadRndNext) {
                    ctx.status.add(StatusKind::ReadRndNext, 1);
                }
                return Ok(false);
            }
            if out.row_count == 0 {
                ctx.check()?;
                continue;
            }
            if pads(ctx.eval.settings) {
                pad_columns(self.table.definition, &self.scan.columns, &mut out.columns);
            }
            let Some((scratch, program)) = &mut self.filter else { return Ok(true) };
            program.filter_to_error(scratch, out, &mut ctx.eval, &mut self.selected)?;
            if self.selected.len() == out.row_count {
                return Ok(true);
            }
            if lock.is_some() {
                let locators = match out.columns.last().map(|column| &column.data) {
                    Some(ColumnData::Bytes(bytes)) if self.scan.locator => bytes,
                    _ => &self.locators,
                };
                ctx.transaction()?
                    .unlock_others(&mut **state, locators, &self.selected)
                    .map_err(access_error)?;
            }
            if !self.selected.is_empty() {
                keep_rows(out, &self.selected);
                return Ok(true);
            }
            ctx.check()?;
        }
    }
}

/// Keeps only these rows of a batch.
pub(crate) fn keep_rows(batch: &mut Batch, rows: &[u32]) {
    let mut kept = Batch::new(batch.columns.iter().map(Column::physical));
    kept.gather_from(batch, rows);
    *batch = kept;
}

/// A virtual table makes all its rows at the start.
struct VirtualTableScan<'p> {
    plan: &'p PhysicalPlan,
    scan: &'p Scan,
    filter: Option<(Scratch, Arc<Program>)>,
    rows: Vec<Batch>,
    next: usize,
    selected: Vec<u32>,
}

impl Operator for VirtualTableScan<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.rows.clear();
        self.next = 0;
        if let Some((scratch, _)) = &mut self.filter {
            scratch.reset();
        }
        let equal = equal_conditions(self.scan, ctx)?;
        let entry = &self.plan.tables[self.scan.table.0 as usize].entry;
        let Some(table) = entry.source.as_virtual() else {
            return Err(internal("a virtual table was expected"));
        };
        let session: &dyn Any = ctx.engine_session;
        let context = VirtualContext {
            catalog: ctx.catalog,
            connection_id: ctx.connection_id,
            account: ctx.account,
            session,
        };
        let scan = VirtualScan { columns: &self.scan.columns, equal: &equal };
        let rows = &mut self.rows;
        table
            .scan(&context, &scan, &mut |batch| {
                let empty = Batch::new(batch.columns.iter().map(Column::physical));
                let full = std::mem::replace(batch, empty);
                if full.row_count > 0 {
                    rows.push(full);
                }
                true
            })
            .map_err(|error| crate::error::coded(error.number, &error.message))
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        while let Some(batch) = self.rows.get_mut(self.next) {
            self.next += 1;
            ctx.rows_examined += batch.row_count as u64;
            if self.scan.locator {
                return Err(internal("a virtual table has no locators"));
            }
            std::mem::swap(out, batch);
            if let Some((scratch, program)) = &mut self.filter {
                program.filter(scratch, out, &mut ctx.eval, &mut self.selected)?;
                if self.selected.is_empty() {
                    continue;
                }
                if self.selected.len() < out.row_count {
                    keep_rows(out, &self.selected);
                }
            }
            return Ok(true);
        }
        Ok(false)
    }
}

/// Reads large columns of rows that are known by locator.
pub(super) struct Fetch<'p> {
    input: Source<'p>,
    table: StoredTable<'p>,
    /// The rows come locked, as the statement said.
    is_locked: bool,
    locator: usize,
    columns: &'p [usize],
    parts: Parts<'p>,
    fetched: Batch,
    matched: Vec<u32>,
    /// Locators read at a time; fewer where rows are large.
    count: usize,
    /// Rows of the input batch that are done.
    done: usize,
}

/// Locators read at first: the size of the rows is not known yet.
const FETCH_COUNT_FIRST: usize = 16;

impl<'p> Fetch<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        input: Source<'p>,
        table: TableIndex,
        locator: u32,
        columns: &'p [usize],
        programs: &mut Programs<'_>,
    ) -> SqlResult<Fetch<'p>> {
        let mention = &plan.tables[table.0 as usize];
        let shapes: Vec<_> = columns.iter().map(|&ordinal| mention.column_type(ordinal).physical()).collect();
        let fetched = Batch::new(shapes);
        Ok(Fetch {
            input,
            table: stored_table(plan, table)?,
            is_locked: lock_of(plan, table).is_some(),
            parts: Parts::new(plan, table, programs)?,
            locator: locator as usize,
            columns,
            fetched,
            matched: Vec::new(),
            count: FETCH_COUNT_FIRST,
            done: 0,
        })
    }
}

impl Operator for Fetch<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.done = 0;
        self.input.batch.clear();
        self.parts.start(ctx.lock_reads, ctx)?;
        self.input.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        loop {
            if self.done >= self.input.batch.row_count {
                self.done = 0;
                if !self.input.next(ctx)? {
                    return Ok(false);
                }
            }
            let start = self.done;
            let end = (start + self.count).min(self.input.batch.row_count);
            self.done = end;
            let ColumnData::Bytes(all) = &self.input.batch.columns[self.locator].data else {
                return Err(internal("a locator is bytes"));
            };
            let mut part = BytesColumn::new();
            (start..end).for_each(|row| part.push(all.get(row)));
            self.fetched.clear();
            self.matched.clear();
            let width = self.table.definition.columns.len();
            let columns = Columns::new(width, self.columns, self.parts.current());
            let (table, reading, wait) = (&*self.table.rows, ctx.reading(), ctx.lock_wait);
            let (fetched, matched) = (&mut self.fetched, &mut self.matched);
            if ctx.lock_reads && !self.is_locked {
                // The scan may have locked no more than an index's entries.
                let lock = RowLock { mode: LockMode::Shared, wait };
                ctx.transaction()?
                    .fetch_locked(table, &part, lock, reading.zone, columns, fetched, matched)
                    .map_err(|error| row_error(self.table.definition, &error))?;
            } else {
                ctx.transaction()?
                    .fetch(table, &part, reading, columns, fetched, matched)
                    .map_err(access_error)?;
            }
            if pads(ctx.eval.settings) {
                pad_columns(self.table.definition, self.columns, &mut self.fetched.columns);
            }
            self.count = super::join::next_count(self.count, &self.fetched);
            ctx.status.add(StatusKind::ReadRnd, self.matched.len() as u64);
            if self.matched.is_empty() {
                continue;
            }
            self.matched.iter_mut().for_each(|row| *row += start as u32);
            let width = self.input.batch.columns.len();
            crate::row_buffer::gather(&self.input.batch, &self.matched, out, 0);
            for (target, source) in out.columns[width..].iter_mut().zip(&mut self.fetched.columns) {
                std::mem::swap(target, source);
            }
            out.row_count = self.matched.len();
            return Ok(true);
        }
    }
}
