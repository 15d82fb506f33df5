//! INSERT and REPLACE: a row is built, then written; what a duplicate key means is in `duplicate`.
//!
//! The order for each row is MySQL's: the values written, DEFAULT (expression), generated columns, CHECK, AUTO_INCREMENT,
//! then the keys. That a column has no default is noticed once, after the values of the first row.

use std::sync::Arc;

use access::{Error, LargeSource, MaybeLarge};
use catalog::{ColumnDefault, TableDefinition, TriggerEvent, TriggerTiming};
use plan::logical::InsertCell;
use plan::physical::{InsertPlan, InsertSource, Node, PhysicalPlan};
use types::convert::{Given, Origin};
use types::{Batch, Cell, Column, DataType, TypeKind, ValueRef};

use super::numbers::{Number, Numbers, RowsWritten};
use super::row::{self, RowWriter, violated};
use super::rules::{self, Computed, Rules, Running, RunningRules};
use super::trigger::{NewRow, NullRules, RowAt, settle_nulls};
use super::values::{self, Storing, Target};
use super::{Changed, check_violated, duplicate, recycle, view_check};
use crate::context::{ExecContext, MaterializedCursor, MaterializedRows};
use crate::error::{access_error, internal};
use crate::expr::SqlResult;
use crate::output::LargeTables;
use crate::programs::Programs;
use crate::run::{RowQueries, Source};
use crate::status_counts::StatusKind;

/// Rows between two looks at KILL.
const CHECK_ROWS: usize = 512;

/// What of an INSERT does not depend on the execution.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(super) rules: Rules,
    /// Cells that are expressions, by position in the cells, ascending.
    cells: Vec<(usize, Computed)>,
    /// Some cell reads the row being built: its columns hold their defaults before they are written.
    cells_read_row: bool,
    /// No expression, no foreign key and no other row reads the row being built: a text that is stored as it is need not be put into it.
    passes_texts: bool,
    /// Columns not written.
    unwritten: Vec<usize>,
    /// Those of them without a default.
    missing: Vec<usize>,
    /// Columns not written whose default is an expression.
    expression_defaults: Vec<usize>,
    /// Generated columns not written that are NOT NULL: BEFORE triggers see NULL in them, as in MySQL, and in others the values of the row so far.
    hidden: Vec<usize>,
    /// Is the column AUTO_INCREMENT (NULL makes a number), by ordinal?
    numbered: Option<usize>,
    pub(super) on_duplicate: Option<duplicate::Compiled>,
    /// What the view asks of rows that the statement writes through it.
    pub(super) view_check: Option<view_check::Compiled>,
    /// What rows must be that REPLACE takes away through it.
    pub(super) replaced_check: Option<view_check::Compiled>,
    foreign_keys: row::Compiled,
}

impl Compiled {
    pub(super) fn new(
        plan: &PhysicalPlan,
        insert: &InsertPlan,
        programs: &mut Programs<'_>,
    ) -> SqlResult<Compiled> {
        let entry = &plan.tables[insert.table.0 as usize].entry;
        let definition = &entry.definition;
        let mut cells = Vec::new();
        let mut cells_read_row = false;
        match &insert.rows {
            InsertSource::Values { cells: written, .. } => {
                for (position, cell) in written.iter().enumerate() {
                    let ordinal = insert.columns[position % insert.columns.len()];
                    // An expression default is computed where DEFAULT stands: later cells are not written yet.
                    cells_read_row |=
                        *cell == InsertCell::Default && has_expression_default(definition, ordinal);
                    if let InsertCell::Expr(expr) = cell {
                        cells_read_row |= rules::reads_input(expr);
                        let name_of = |ordinal: usize| definition.columns[ordinal].name.clone();
                        cells.push((position, Computed::new(ordinal, expr, &name_of)?));
                    }
                }
            }
            InsertSource::Query(node) => drop(Source::new(plan, node, programs)?),
        }
        drop(RowQueries::new(plan, &insert.row_queries, programs)?);
        cells_read_row |= insert.row_queries.iter().any(|query| !query.slots.is_empty());
        let foreign_keys = row::Compiled::new(plan);
        let width = definition.columns.len();
        let unwritten: Vec<usize> = (0..width).filter(|at| !insert.columns.contains(at)).collect();
        let missing = unwritten.iter().copied().filter(|&at| rules::has_no_default(definition, at)).collect();
        let is_hidden = |at: &usize| {
            let column = &definition.columns[*at];
            column.generated.is_some() && !column.nullable
        };
        let hidden = unwritten.iter().copied().filter(is_hidden).collect();
        let rules = Rules::compile(entry, &|ordinal| Some(ordinal as u32), &|_| true)?;
        let check = insert.view.as_ref().and_then(|view| view.check.as_ref());
        let view_check = check.map(view_check::Compiled::new).transpose()?;
        let replaced = insert.view.as_ref().and_then(|view| view.replaced.as_ref());
        let replaced_check = replaced.map(view_check::Compiled::new).transpose()?;
        let expression_defaults: Vec<usize> =
            unwritten.iter().copied().filter(|&at| rules.has_default(at)).collect();
        let on_duplicate = duplicate::Compiled::new(plan, insert, &rules)?;
        Ok(Compiled {
            passes_texts: !cells_read_row
                && insert.row_queries.is_empty()
                && !insert.replace
                && insert.on_duplicate.is_empty()
                && !foreign_keys.any()
                && rules.generated.is_empty()
                && rules.checks.is_empty()
                && view_check.is_none()
                && expression_defaults.is_empty(),
            rules,
            cells,
            cells_read_row,
            unwritten,
            missing,
            expression_defaults,
            hidden,
            numbered: definition.auto_increment_column(),
            view_check,
            replaced_check,
            on_duplicate,
            foreign_keys,
        })
    }
}

impl Compiled {
    /// See [`crate::Prepared::long_columns`].
    pub(crate) fn long_columns<'p>(
        &self,
        plan: &'p PhysicalPlan,
        insert: &InsertPlan,
        parameter: u32,
    ) -> Option<Vec<&'p DataType>> {
        let InsertSource::Values { cells, .. } = &insert.rows else { return None };
        if !self.passes_texts || insert.columns.is_empty() {
            return None;
        }
        let definition = &plan.tables[insert.table.0 as usize].entry.definition;
        let mut types = Vec::new();
        for (cell, &ordinal) in cells.iter().zip(insert.columns.iter().cycle()) {
            match cell {
                InsertCell::Param(number) if *number == parameter => {
                    let data_type = &definition.columns[ordinal].data_type;
                    let mut keys = definition.indexes.iter().flat_map(|index| &index.parts);
                    if !data_type.is_text_or_blob() || keys.any(|part| part.column == ordinal) {
                        return None;
                    }
                    types.push(data_type);
                }
                InsertCell::Expr(expr) => {
                    let is_it = |node: &plan::Expr| matches!(node.kind, plan::ExprKind::Param(number) if number == parameter);
                    if expr.any(&mut |node| is_it(node)) {
                        return None;
                    }
                }
                _ => {}
            }
        }
        Some(types)
    }
}

fn has_expression_default(definition: &TableDefinition, ordinal: usize) -> bool {
    matches!(definition.columns[ordinal].default, ColumnDefault::Expression(_))
}

/// An INSERT under way.
pub(super) struct Insert<'p, 's> {
    pub(super) plan: &'p InsertPlan,
    pub(super) compiled: &'p Compiled,
    pub(super) writer: RowWriter<'p>,
    pub(super) storing: Storing<'s>,
    /// As `storing`, of ON DUPLICATE KEY UPDATE: beside the rows of a query a NULL is an error, however many they are.
    pub(super) storing_changes: Storing<'s>,
    pub(super) running: RunningRules,
    cells_running: Vec<Running>,
    /// The row being inserted: one row, all columns of the table by ordinal.
    pub(super) row: Batch,
    /// The row's cells on their way to the table, empty between rows.
    cells: Vec<Cell<'static>>,
    /// Columns of the row whose values come from somewhere else.
    large: Vec<(usize, LargeSource)>,
    /// The AUTO_INCREMENT column is in a foreign key: it must have its number before the key is checked.
    number_is_key: bool,
    pub(super) numbers: Option<Numbers>,
    pub(super) on_duplicate: Option<duplicate::Running>,
    pub(super) queries: RowQueries<'p>,
    pub(super) view_check: view_check::Running,
    pub(super) replaced_check: view_check::Running,
    /// Number of the row, from 1.
    pub(super) row_number: u64,
    pub(super) counts: Counts,
    /// BEFORE triggers may give NOT NULL columns a value.
    delays_nulls: bool,
    /// Columns whose NULL was warned of.
    pub(super) warned: Vec<usize>,
}

/// What the query of an INSERT gives.
struct QueryRows<'p> {
    types: &'p [DataType],
    /// By position: where it is a table's column, and its name.
    columns: Vec<(bool, &'p str)>,
    /// By position: the cells may be large-value references.
    may_be_references: Vec<bool>,
    tables: LargeTables,
}

impl<'p> QueryRows<'p> {
    fn new(plan: &'p PhysicalPlan, node: &'p Node, waits: bool) -> SqlResult<QueryRows<'p>> {
        let may_be_references: Vec<bool> =
            node.columns.iter().map(|id| plan.is_reference_column(*id)).collect();
        let tables =
            if may_be_references.contains(&true) { LargeTables::of(plan)? } else { LargeTables::default() };
        // Dates and documents of rows that wait until all are read are those of a table's columns then.
        let column = |id: &plan::ColumnId| {
            let column = &plan.columns[id.0 as usize];
            let is_kept = waits && (column.data_type.has_date() || column.data_type.kind == TypeKind::Json);
            (is_kept || column.origin.is_some(), &*column.name)
        };
        let columns = node.columns.iter().map(column).collect();
        Ok(QueryRows { types: &node.types, columns, may_be_references, tables })
    }

    fn given(&self, position: usize) -> Given<'_> {
        let (is_column, name) = self.columns[position];
        let origin = if is_column { Origin::Column(name) } else { Origin::Computed(name) };
        Given { data_type: &self.types[position], origin }
    }
}

/// What became of a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Written {
    Inserted,
    /// Its key was there already: ignored, or the other row was changed.
    Duplicate,
    /// It has no parent, which the statement ignores.
    LeftOut,
}

/// What is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) records: u64,
    /// Rows inserted, and rows that ON DUPLICATE KEY UPDATE changed.
    pub(super) copied: u64,
    /// Rows REPLACE took away.
    pub(super) deleted: u64,
    /// Rows ON DUPLICATE KEY UPDATE changed.
    pub(super) updated: u64,
    /// Rows ON DUPLICATE KEY UPDATE came upon, changed or not.
    pub(super) touched: u64,
    first_generated: Option<u64>,
    /// What the row before held, where no number was generated.
    last_given: Option<u64>,
    pub(super) last_updated: Option<u64>,
}

/// Runs an INSERT or REPLACE.
pub(super) fn run(
    plan: &PhysicalPlan,
    insert: &InsertPlan,
    compiled: &Compiled,
    programs: &mut Programs<'_>,
    ctx: &mut ExecContext<'_>,
) -> SqlResult<Changed> {
    let writer = compiled.foreign_keys.writer(plan, insert.table, ctx)?;
    let several = !matches!(insert.rows, InsertSource::Values { row_count: 0 | 1, .. });
    let definition = writer.definition;
    let shapes = || definition.columns.iter().map(|column| column.data_type.physical());
    let mut row = Batch::new(shapes());
    row.row_count = 1;
    let source = match &insert.rows {
        InsertSource::Query(node) => Some(Source::new(plan, node, programs)?),
        InsertSource::Values { .. } => None,
    };
    let several_changes = several && source.is_none();
    // A line of a file is one of many rows.
    let several_rows = several || ctx.change.file_line.is_some();
    let delays_nulls =
        |event| writer.fired_by(event).is_some_and(|trigger| trigger.runs(event, TriggerTiming::Before));
    let delays_nulls_of_changes = delays_nulls(TriggerEvent::Update);
    let delays_nulls = delays_nulls(TriggerEvent::Insert);
    let storing = Storing::new(ctx.eval.settings, insert.ignore, several_rows).delaying_nulls(delays_nulls);
    let mut insertion = Insert {
        plan: insert,
        compiled,
        storing_changes: storing
            .for_rows(insert.ignore, several_changes)
            .delaying_nulls(delays_nulls_of_changes),
        storing,
        running: compiled.rules.running(),
        cells_running: compiled.cells.iter().map(|(_, cell)| Running::new(cell)).collect(),
        row,
        cells: Vec::with_capacity(definition.columns.len()),
        large: Vec::new(),
        number_is_key: compiled
            .numbered
            .is_some_and(|ordinal| definition.foreign_keys.iter().any(|key| key.columns.contains(&ordinal))),
        writer,
        numbers: compiled.numbered.map(|ordinal| Numbers::new(ordinal, &ctx.change)),
        on_duplicate: compiled.on_duplicate.as_ref().map(|compiled| compiled.running(definition)),
        queries: RowQueries::new(plan, &insert.row_queries, programs)?,
        view_check: compiled.view_check.as_ref().map(view_check::Compiled::running).unwrap_or_default(),
        replaced_check: compiled
            .replaced_check
            .as_ref()
            .map(view_check::Compiled::running)
            .unwrap_or_default(),
        row_number: 0,
        counts: Counts::default(),
        delays_nulls,
        warned: Vec::new(),
    };
    insertion.fill_unwritten(ctx)?;
    match (&insert.rows, source) {
        (InsertSource::Values { row_count, cells }, _) => insertion.insert_values(*row_count, cells, ctx)?,
        (InsertSource::Query(_), None) => return Err(internal("an INSERT without its query")),
        (InsertSource::Query(node), Some(source)) => {
            let rows = QueryRows::new(plan, node, insert.collect_first)?;
            insertion.insert_query(source, &rows, ctx)?;
        }
    }
    Ok(insertion.changed(several, ctx.change.found_rows))
}

impl<'p> Insert<'p, '_> {
    fn changed(&self, has_info: bool, found_rows: bool) -> Changed {
        let counts = &self.counts;
        let met = if found_rows { counts.touched } else { counts.updated };
        let from_query = matches!(self.plan.rows, InsertSource::Query(_));
        let duplicates = if self.plan.ignore {
            counts.records.saturating_sub(counts.copied)
        } else {
            counts.deleted + if from_query { counts.updated } else { met }
        };
        let told = counts.last_given.or(if from_query { None } else { counts.last_updated });
        let told = told.filter(|_| counts.copied > 0);
        Changed {
            affected: counts.copied + counts.deleted + met,
            records: counts.records,
            duplicates,
            last_insert_id: counts.first_generated,
            reported_insert_id: counts.first_generated.or(told).unwrap_or(0),
            has_info,
            ..Changed::default()
        }
    }

    /// Columns not written hold their constant defaults throughout.
    fn fill_unwritten(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        for &ordinal in &self.compiled.unwritten {
            self.put_constant_default(ordinal, ctx)?;
        }
        Ok(())
    }

    /// The default of a column before anything is written; without one it is NULL, or the implicit default.
    fn put_constant_default(&mut self, ordinal: usize, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let definition = self.writer.definition;
        let out = &mut self.row.columns[ordinal];
        if rules::has_no_default(definition, ordinal) {
            out.clear();
            if self.delays_nulls {
                out.push_null();
                return Ok(());
            }
            values::push_implicit(&definition.columns[ordinal].data_type, out);
            return Ok(());
        }
        let target = Target { definition, ordinal, row: self.row_number, null_allowed: true };
        rules::put_default(&self.storing, target, out, ctx.eval.warnings)
    }

    fn insert_values(
        &mut self,
        row_count: usize,
        cells: &'p [InsertCell],
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let columns = &self.plan.columns;
        let params = ctx.eval.params;
        let mut passed = vec![None; if self.compiled.passes_texts { self.row.columns.len() } else { 0 }];
        let mut next_expr = 0;
        let mut at = 0;
        let first_row = ctx.change.file_line.map_or(1, |line| line.number);
        let given = ctx.change.file_line.map_or(usize::MAX, |line| line.given);
        for number in 0..row_count {
            self.row_number = first_row + number as u64;
            if self.compiled.cells_read_row {
                for &ordinal in columns {
                    self.put_constant_default(ordinal, ctx)?;
                }
            }
            for &ordinal in columns {
                let target = Target {
                    definition: self.writer.definition,
                    ordinal,
                    row: self.row_number,
                    null_allowed: self.compiled.numbered == Some(ordinal),
                };
                let out = &mut self.row.columns[ordinal];
                let cell = &cells[at];
                at += 1;
                if !ctx.long_values.is_empty()
                    && let InsertCell::Param(parameter) = cell
                    && let Some(long) = ctx.long_values.iter().find(|long| long.number == *parameter)
                {
                    let Some(ValueRef::Bytes { bytes, .. }) = params.get(*parameter as usize) else {
                        return Err(internal("a long parameter without its first bytes"));
                    };
                    let Some(passed) = passed.get_mut(ordinal) else {
                        return Err(internal("a long parameter that is not passed"));
                    };
                    *passed = Some(*bytes);
                    self.large.push((ordinal, LargeSource::Long(Arc::clone(&long.value))));
                    continue;
                }
                if matches!(cell, InsertCell::Param(parameter) if *parameter as usize >= given) {
                    self.storing.no_field(target, out, ctx.eval.warnings)?;
                    continue;
                }
                if ctx.change.file_line.is_some()
                    && !target.null_allowed
                    && !target.column().nullable
                    && matches!(cell, InsertCell::Param(parameter)
                        if params.get(*parameter as usize).is_some_and(|value| *value == ValueRef::Null))
                {
                    if let Some(passed) = passed.get_mut(ordinal) {
                        *passed = None;
                    }
                    self.storing.null_field(target, out, ctx.eval.warnings)?;
                    continue;
                }
                let (value, literal) = match cell {
                    InsertCell::Value(value) => (Some(ValueRef::from(value)), true),
                    InsertCell::Param(parameter) => {
                        let Some(value) = params.get(*parameter as usize) else {
                            return Err(internal("a parameter without a value"));
                        };
                        (Some(*value), false)
                    }
                    _ => (None, false),
                };
                if let Some(passed) = passed.get_mut(ordinal) {
                    *passed = value.and_then(|value| target.as_is(value));
                    if passed.is_some() {
                        continue;
                    }
                }
                match cell {
                    InsertCell::Value(_) | InsertCell::Param(_) => {
                        if let Some(value) = &value {
                            self.storing.put_value(target, value, literal, out, ctx.eval.warnings)?;
                        }
                    }
                    InsertCell::Default if self.compiled.rules.has_default(ordinal) => {
                        self.put_expression_default(ordinal, ctx)?;
                    }
                    InsertCell::Default => {
                        rules::put_default(&self.storing, target, out, ctx.eval.warnings)?;
                    }
                    InsertCell::Query(query) => {
                        let (value, data_type) = self.queries.eval(*query as usize, &self.row, 0, ctx)?;
                        let out = &mut self.row.columns[ordinal];
                        self.storing.put(
                            target,
                            value,
                            values::given_by_query(data_type),
                            out,
                            ctx.eval.warnings,
                        )?;
                    }
                    InsertCell::Expr(_) => {
                        let computed = &self.compiled.cells[next_expr].1;
                        let running = &mut self.cells_running[next_expr];
                        next_expr += 1;
                        let value = running.eval(computed, &self.row, &mut ctx.eval)?;
                        let out = &mut self.row.columns[ordinal];
                        self.storing.put(target, value, computed.given(), out, ctx.eval.warnings)?;
                    }
                }
            }
            let rows = RowsWritten { count: row_count as u64, done: number as u64 };
            self.finish_row(Some(rows), None, &passed, ctx)?;
            if !ctx.long_values.is_empty() {
                self.large.clear();
            }
            if number % CHECK_ROWS == CHECK_ROWS - 1 {
                ctx.check()?;
            }
        }
        Ok(())
    }

    fn insert_query(
        &mut self,
        mut source: Source<'_>,
        rows: &QueryRows<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        if self.plan.collect_first {
            let keep = MaterializedRows::all(&mut source, ctx.limits.temporary_bytes, ctx)?;
            let mut cursor = MaterializedCursor::default();
            while let Some(batch) = cursor.next(&keep)? {
                self.insert_batch(batch, rows, ctx)?;
            }
            return Ok(());
        }
        source.start(ctx)?;
        // Two batches take turns, since the source is borrowed while its rows are inserted.
        let mut batch = Batch::new(source.batch.columns.iter().map(Column::physical));
        while source.next(ctx)? {
            std::mem::swap(&mut batch, &mut source.batch);
            self.insert_batch(&batch, rows, ctx)?;
        }
        Ok(())
    }

    fn insert_batch(
        &mut self,
        batch: &Batch,
        rows: &QueryRows<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let passes = self.compiled.passes_texts && rows.may_be_references.contains(&true);
        let mut passed = vec![None; if passes { self.row.columns.len() } else { 0 }];
        for row in 0..batch.row_count {
            self.row_number += 1;
            for (position, &ordinal) in self.plan.columns.iter().enumerate() {
                let target = Target {
                    definition: self.writer.definition,
                    ordinal,
                    row: self.row_number,
                    null_allowed: self.compiled.numbered == Some(ordinal),
                };
                let mut memory = Vec::new();
                if let Some(passed) = passed.get_mut(ordinal) {
                    *passed = None;
                }
                let stored = batch.columns[position].cell(row);
                let cell = match stored {
                    Cell::Bytes(bytes) if rows.may_be_references[position] => match MaybeLarge::read(bytes) {
                        MaybeLarge::Inline(bytes) => Cell::Bytes(bytes),
                        MaybeLarge::OutOfLine(place) => {
                            let from = &rows.types[position];
                            if passes && target.takes_place(place.reference.length, from) {
                                passed[ordinal] = Some(place.prefix);
                                rows.tables.put(place, ordinal, &mut self.large)?;
                                continue;
                            }
                            rows.tables.value(place, ctx.large_reader()?)?.read(&mut memory)?;
                            Cell::Bytes(&memory)
                        }
                    },
                    cell => cell,
                };
                let out = &mut self.row.columns[ordinal];
                self.storing.put(target, cell, rows.given(position), out, ctx.eval.warnings)?;
            }
            self.finish_row(None, Some((batch, row)), &passed, ctx)?;
            if passes {
                self.large.clear();
            }
        }
        // A first row may come from a SELECT without a table: KILL ends the SLEEP() in it and not the statement.
        if self.row_number > 1 { ctx.check() } else { Ok(()) }
    }

    /// The values are written: what follows from them, then the row goes to the table. `rows`: rows of the statement,
    /// if known; `selected`: the row of the query it came from; `passed`: texts that go to the table from
    /// where they stand, by ordinal.
    fn finish_row(
        &mut self,
        rows: Option<RowsWritten>,
        selected: Option<(&Batch, usize)>,
        passed: &[Option<&[u8]>],
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let compiled = self.compiled;
        let trigger = self.writer.fired_by(TriggerEvent::Insert);
        if trigger.is_some() {
            // It may have set them in the row before.
            for &ordinal in &compiled.unwritten {
                self.put_constant_default(ordinal, ctx)?;
            }
        }
        // LOAD DATA does not ask for columns it has no values for.
        if self.row_number == 1 && ctx.change.file_line.is_none() && !self.delays_nulls {
            for &ordinal in &compiled.missing {
                let column = &self.writer.definition.columns[ordinal];
                let out = &mut self.row.columns[ordinal];
                let view = self.plan.view.as_ref().map(|view| &*view.name);
                self.storing.no_default(column, view, out, ctx.eval.warnings)?;
            }
        }
        if !compiled.expression_defaults.is_empty() {
            for &ordinal in &compiled.expression_defaults {
                self.row.columns[ordinal].clear();
                self.row.columns[ordinal].push_null();
            }
            if compiled.rules.defaults_read_generated {
                self.put_generated(false, ctx)?;
            }
            for &ordinal in &compiled.expression_defaults {
                self.put_expression_default(ordinal, ctx)?;
            }
        }
        if let Some(trigger) = trigger {
            if self.delays_nulls {
                // Triggers see what they would be without them, but no value of one that is NOT NULL and that the statement does not name.
                self.put_generated(false, ctx)?;
                for &ordinal in &compiled.hidden {
                    self.row.columns[ordinal].clear();
                    self.row.columns[ordinal].push_null();
                }
            }
            let storing = &self.storing;
            let mut new = NewRow::new(self.writer.definition, &mut self.row, None, self.row_number);
            trigger.before(TriggerEvent::Insert, None, Some(&mut new), Some(storing), ctx)?;
            if self.delays_nulls {
                let missing = if ctx.change.file_line.is_none() { &*compiled.missing } else { &[] };
                let rules = NullRules {
                    storing,
                    ignore: self.plan.ignore,
                    numbered: compiled.numbered,
                    missing,
                    view: self.plan.view.as_ref().map(|view| &*view.name),
                };
                if !settle_nulls(&mut new, &rules, &mut self.warned, ctx.eval.warnings)? {
                    return Ok(());
                }
            }
        }
        if !compiled.rules.generated.is_empty() {
            self.put_generated(true, ctx)?;
        }
        if let Some(check) = &compiled.view_check
            && !check.admits(&mut self.view_check, &mut self.queries, &self.row, self.plan.ignore, ctx)?
        {
            return Ok(());
        }
        if !compiled.rules.checks.is_empty()
            && let Some(name) = compiled.rules.violated(&mut self.running, &self.row, &mut ctx.eval)?
        {
            return check_violated(name, self.plan.ignore, ctx.eval.warnings);
        }
        if self.writer.checks_rows() && !self.number_is_key && !self.has_parents(ctx)? {
            return Ok(());
        }
        let mut number = None;
        if let Some(numbers) = &mut self.numbers {
            let ordinal = numbers.ordinal;
            let column = &mut self.row.columns[ordinal];
            number = Some(numbers.fill(&*self.writer.table, column, rows).map_err(access_error)?);
        }
        if self.writer.checks_rows() && self.number_is_key && !self.has_parents(ctx)? {
            if let (Some(numbers), Some(number)) = (&mut self.numbers, number) {
                numbers.return_number(number);
            }
            return Ok(());
        }
        self.counts.records += 1;
        let written = self.write_row(selected, passed, ctx)?;
        if let (Some(numbers), Some(number)) = (&mut self.numbers, number) {
            if written == Written::Inserted {
                let signed = !self.writer.definition.columns[numbers.ordinal].data_type.unsigned;
                numbers.written(&*self.writer.table, number, signed).map_err(access_error)?;
                match number {
                    Number::Generated(value) => {
                        self.counts.first_generated.get_or_insert(value);
                    }
                    Number::Given(value) => self.counts.last_given = Some(value),
                }
            } else {
                numbers.return_number(number);
                match (written, number) {
                    // As if its parents had been looked for before it got a number.
                    (Written::LeftOut | Written::Inserted, _) => {}
                    (Written::Duplicate, Number::Given(value) | Number::Generated(value))
                        if compiled.on_duplicate.is_none() =>
                    {
                        self.counts.last_given = Some(value);
                    }
                    (Written::Duplicate, Number::Given(value)) => {
                        self.counts.last_given = self.counts.last_updated.or(Some(value));
                    }
                    (Written::Duplicate, Number::Generated(_)) => {}
                }
            }
            // The next row starts without a number where none is written.
            if trigger.is_none() && compiled.unwritten.contains(&numbers.ordinal) {
                let column = &mut self.row.columns[numbers.ordinal];
                column.clear();
                column.push_null();
            }
        }
        if written == Written::Inserted
            && let Some(trigger) = trigger
        {
            let new = RowAt { batch: &self.row, row: 0, positions: None };
            trigger.after(TriggerEvent::Insert, None, Some(new), ctx)?;
        }
        Ok(())
    }

    /// Computes the generated columns. `is_final`: no trigger may replace a NULL any more.
    fn put_generated(&mut self, is_final: bool, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let settled = if is_final { self.storing.settled() } else { None };
        let storing = settled.as_ref().unwrap_or(&self.storing);
        for (generated, running) in self.compiled.rules.generated.iter().zip(&mut self.running.generated) {
            let ordinal = generated.ordinal;
            let definition = self.writer.definition;
            let target = Target { definition, ordinal, row: self.row_number, null_allowed: false };
            let row = &mut self.row;
            rules::put_generated((generated, running), row, ordinal, target, storing, &mut ctx.eval)?;
        }
        Ok(())
    }

    fn put_expression_default(&mut self, ordinal: usize, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let compiled = self.compiled;
        let Some((rule, running)) = compiled.rules.default(&mut self.running, ordinal) else {
            return Err(internal("a default without its program"));
        };
        let value = running.eval(rule, &self.row, &mut ctx.eval)?;
        let target =
            Target { definition: self.writer.definition, ordinal, row: self.row_number, null_allowed: false };
        let out = &mut self.row.columns[ordinal];
        self.storing.put(target, value, rule.given(), out, ctx.eval.warnings)
    }

    /// Checks the row's foreign keys. False: one is violated, which the statement ignores.
    fn has_parents(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        let mut cells = recycle(std::mem::take(&mut self.cells));
        cells.extend(self.row.columns.iter().map(|column| column.cell(0)));
        let outcome = self.writer.check_parents(&cells, ctx)?;
        self.cells = recycle(cells);
        match outcome {
            Ok(()) => Ok(true),
            Err(Error::ForeignKey(violation)) => {
                violated(&violation, self.plan.ignore, &mut ctx.eval)?;
                Ok(false)
            }
            Err(error) => Err(self.writer.failed(&error, ctx)),
        }
    }

    /// Writes the row, or does with its duplicates what the statement says.
    fn write_row(
        &mut self,
        selected: Option<(&Batch, usize)>,
        passed: &[Option<&[u8]>],
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<Written> {
        loop {
            let mut cells = recycle(std::mem::take(&mut self.cells));
            if passed.is_empty() {
                cells.extend(self.row.columns.iter().map(|column| column.cell(0)));
            } else {
                cells.extend(self.row.columns.iter().zip(passed).map(|(column, passed)| match passed {
                    Some(text) => Cell::Bytes(text),
                    None => column.cell(0),
                }));
            }
            ctx.status.add(StatusKind::Write, 1);
            let outcome = self.writer.insert(&cells, &self.large, ctx)?;
            self.cells = recycle(cells);
            match outcome {
                Ok(()) => {
                    self.counts.copied += 1;
                    return Ok(Written::Inserted);
                }
                Err(Error::DuplicateKey(duplicate)) => {
                    if let Some(inserted) = self.resolve(&duplicate, selected, ctx)? {
                        return Ok(if inserted { Written::Inserted } else { Written::Duplicate });
                    }
                }
                // Who keeps the table may look for the parents only now.
                Err(Error::ForeignKey(violation)) => {
                    violated(&violation, self.plan.ignore, &mut ctx.eval)?;
                    self.counts.records -= 1;
                    return Ok(Written::LeftOut);
                }
                Err(error) => return Err(self.writer.failed(&error, ctx)),
            }
        }
    }
}
