//! INSERT and REPLACE.
//!
//! A row is built in one-row columns, one per column of the table: values written, then defaults, then AUTO_INCREMENT;
//! then it goes to the table. What a duplicate key means (error, IGNORE, REPLACE, ON DUPLICATE KEY UPDATE) is decided per
//! row.

use std::sync::Arc;

use catalog::ColumnDefault;
use plan::logical::InsertCell;
use plan::physical::{InsertPlan, InsertSource, PhysicalPlan};
use table::{Table, WriteError};
use types::{Batch, Cell, Column, DataType, Value};

use super::values::{Storing, replace, value_cell};
use super::{Changed, failed, warn_duplicate, write};
use crate::context::{ExecContext, coded, internal};
use crate::expr::{Program, Scratch, SqlResult};
use crate::prepare::Programs;
use crate::run::scan::local_table;
use crate::run::{Kept, Source};

type Compiled = (Scratch, Arc<Program>);

pub(super) struct Insert<'p> {
    plan: &'p InsertPlan,
    table: Arc<Table>,
    source: Option<Source<'p>>,
    source_types: Vec<DataType>,
    /// Programs of cells that are expressions, by position in the cells.
    cells: Vec<(usize, Compiled, DataType)>,
    defaults: Vec<(usize, Compiled, DataType)>,
    /// Programs of ON DUPLICATE KEY UPDATE; `None` for DEFAULT.
    updates: Vec<Option<(Compiled, DataType)>>,
    /// The row being inserted: one row per column.
    row: Batch,
    written: Vec<bool>,
    auto_increment: Option<usize>,
    /// Numbers reserved and not yet given out: next and end.
    reserved: (u64, u64),
    changed: Changed,
}

impl<'p> Insert<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        insert: &'p InsertPlan,
        programs: &mut Programs<'_>,
    ) -> SqlResult<Insert<'p>> {
        let table = local_table(plan, insert.table)?;
        let definition = table.definition().clone();
        let mut one = |expr: &plan::Expr| -> SqlResult<Compiled> {
            let program = programs.take(std::slice::from_ref(expr))?;
            Ok((program.scratch(), program))
        };
        let mut cells = Vec::new();
        if let InsertSource::Values { cells: written, .. } = &insert.rows {
            for (position, cell) in written.iter().enumerate() {
                if let InsertCell::Expr(expr) = cell {
                    cells.push((position, one(expr)?, expr.data_type.clone()));
                }
            }
        }
        let mut defaults = Vec::new();
        for (ordinal, expr) in &insert.default_exprs {
            defaults.push((*ordinal, one(expr)?, expr.data_type.clone()));
        }
        let mut updates = Vec::new();
        for assign in &insert.on_duplicate {
            updates.push(match &assign.value {
                Some(value) => Some((one(value)?, value.data_type.clone())),
                None => None,
            });
        }
        let (source, source_types) = match &insert.rows {
            InsertSource::Query(node) => (Some(Source::new(plan, node, programs)?), node.types.clone()),
            InsertSource::Values { .. } => (None, Vec::new()),
        };
        let row = Batch::new(definition.columns.iter().map(|column| column.data_type.physical()));
        Ok(Insert {
            plan: insert,
            auto_increment: definition.auto_increment_column(),
            written: vec![false; definition.columns.len()],
            table,
            source,
            source_types,
            cells,
            defaults,
            updates,
            row,
            reserved: (0, 0),
            changed: Changed::default(),
        })
    }

    pub(super) fn run(mut self, ctx: &mut ExecContext<'_>) -> SqlResult<Changed> {
        let storing = Storing::new(ctx, self.plan.ignore);
        match &self.plan.rows {
            InsertSource::Values { row_count, cells } => {
                self.changed.has_info = *row_count > 1;
                self.run_values(*row_count, cells, &storing, ctx)?;
            }
            InsertSource::Query(_) => {
                self.changed.has_info = true;
                self.run_query(&storing, ctx)?;
            }
        }
        if let Some(first) = self.changed.last_insert_id {
            self.changed.reported_insert_id = first;
        }
        Ok(self.changed)
    }

    fn run_values(
        &mut self,
        row_count: usize,
        cells: &'p [InsertCell],
        storing: &Storing,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let width = self.plan.columns.len();
        let table = Arc::clone(&self.table);
        let definition = table.definition();
        let mut next_expr = 0;
        let lenient = row_count > 1;
        for number in 0..row_count {
            self.begin_row();
            let at_row = number as u64 + 1;
            for (position, &ordinal) in self.plan.columns.iter().enumerate() {
                let at = number * width + position;
                match &cells[at] {
                    InsertCell::Default => {}
                    InsertCell::Value(value) => {
                        self.store_value(ordinal, value, at_row, storing, ctx)?;
                    }
                    InsertCell::Param(parameter) => {
                        let params = ctx.eval.params;
                        let Some(value) = params.get(*parameter as usize) else {
                            return Err(internal("a parameter without a value"));
                        };
                        self.store_value(ordinal, value, at_row, storing, ctx)?;
                    }
                    InsertCell::Expr(_) => {
                        // An expression may read columns written before it; others hold their defaults.
                        let mut input = Batch::new(self.row.columns.iter().map(Column::physical));
                        for (at, (target, column)) in
                            input.columns.iter_mut().zip(&self.row.columns).enumerate()
                        {
                            if self.written[at] {
                                target.push_cell(column.cell(0));
                            } else {
                                match &definition.columns[at].default {
                                    ColumnDefault::None => target.push_null(),
                                    _ => storing.store_default(definition, at, target, ctx)?,
                                }
                            }
                        }
                        input.row_count = 1;
                        let (_, (scratch, program), data_type) = &mut self.cells[next_expr];
                        next_expr += 1;
                        let mut out = [Column::new(data_type.physical())];
                        program.eval(scratch, &input, &mut ctx.eval, &mut out)?;
                        let target = &mut self.row.columns[ordinal];
                        storing.store(definition, ordinal, out[0].cell(0), data_type, at_row, target, ctx)?;
                        self.written[ordinal] = true;
                    }
                }
            }
            let remaining = (row_count - number) as u64;
            self.finish_row(at_row, remaining, lenient, None, storing, ctx)?;
            if number % 1024 == 1023 {
                ctx.check()?;
            }
        }
        Ok(())
    }

    fn run_query(&mut self, storing: &Storing, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let Some(mut source) = self.source.take() else { return Ok(()) };
        source.start(ctx)?;
        let mut number = 0;
        if self.plan.collect_first {
            let mut kept = Kept::default();
            while source.next(ctx)? {
                kept.push(&source.batch);
                ctx.check()?;
            }
            for batch in &kept.batches {
                self.insert_batch(batch, &mut number, storing, ctx)?;
            }
            return Ok(());
        }
        while source.next(ctx)? {
            let batch = std::mem::replace(
                &mut source.batch,
                Batch::new(self.source_types.iter().map(DataType::physical)),
            );
            self.insert_batch(&batch, &mut number, storing, ctx)?;
            ctx.check()?;
        }
        Ok(())
    }

    fn insert_batch(
        &mut self,
        batch: &Batch,
        number: &mut u64,
        storing: &Storing,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let table = Arc::clone(&self.table);
        let definition = table.definition();
        for row in 0..batch.row_count {
            *number += 1;
            self.begin_row();
            for (position, &ordinal) in self.plan.columns.iter().enumerate() {
                let cell = batch.columns[position].cell(row);
                let from = &self.source_types[position];
                storing.store(
                    definition,
                    ordinal,
                    cell,
                    from,
                    *number,
                    &mut self.row.columns[ordinal],
                    ctx,
                )?;
                self.written[ordinal] = true;
            }
            let remaining = (batch.row_count - row) as u64;
            self.finish_row(*number, remaining, true, Some((batch, row)), storing, ctx)?;
        }
        Ok(())
    }

    fn begin_row(&mut self) {
        self.row.columns.iter_mut().for_each(Column::clear);
        self.row.row_count = 1;
        self.written.iter_mut().for_each(|written| *written = false);
    }

    fn store_value(
        &mut self,
        ordinal: usize,
        value: &Value,
        row: u64,
        storing: &Storing,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let definition = self.table.definition();
        let target = &mut self.row.columns[ordinal];
        self.written[ordinal] = true;
        let (from, cell) = match value {
            Value::Null => {
                target.push_null();
                return Ok(());
            }
            Value::Int(value) => (DataType::BIGINT, Cell::Int(*value)),
            Value::UInt(value) => (DataType::BIGINT_UNSIGNED, Cell::Int(*value as i64)),
            Value::Double(value) => (DataType::DOUBLE, Cell::Double(*value)),
            Value::Decimal(value) => (DataType::decimal(65, value.scale()), Cell::Decimal(value)),
            Value::Bytes { bytes, collation } => {
                (DataType::varchar(bytes.len() as u32, *collation), Cell::Bytes(bytes))
            }
            value => {
                let (from, column) = value_cell(value);
                return storing.store(definition, ordinal, column.cell(0), &from, row, target, ctx);
            }
        };
        storing.store(definition, ordinal, cell, &from, row, target, ctx)
    }

    /// Defaults, AUTO_INCREMENT, NOT NULL; then the row is written.
    fn finish_row(
        &mut self,
        number: u64,
        remaining: u64,
        lenient: bool,
        selected: Option<(&Batch, usize)>,
        storing: &Storing,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        self.changed.records += 1;
        let table = Arc::clone(&self.table);
        let definition = table.definition();
        for ordinal in 0..definition.columns.len() {
            if !self.written[ordinal] {
                storing.store_default(definition, ordinal, &mut self.row.columns[ordinal], ctx)?;
            }
        }
        for at in 0..self.defaults.len() {
            let (ordinal, _, data_type) = &self.defaults[at];
            let (ordinal, data_type) = (*ordinal, data_type.clone());
            if self.written[ordinal] {
                continue;
            }
            let (_, (scratch, program), _) = &mut self.defaults[at];
            let mut out = [Column::new(data_type.physical())];
            scratch.reset();
            program.eval(scratch, &self.row, &mut ctx.eval, &mut out)?;
            let target = &mut self.row.columns[ordinal];
            target.clear();
            storing.store(definition, ordinal, out[0].cell(0), &data_type, number, target, ctx)?;
        }
        let generated = self.fill_auto_increment(remaining, ctx)?;
        for ordinal in 0..definition.columns.len() {
            storing.check_null(definition, ordinal, &mut self.row.columns[ordinal], 0, lenient, ctx)?;
        }
        self.write_row(number, selected, storing, ctx)?;
        if let Some(first) = generated {
            self.changed.last_insert_id.get_or_insert(first);
        }
        Ok(())
    }

    /// A missing number is given out. Answers it, if one was.
    fn fill_auto_increment(&mut self, remaining: u64, ctx: &mut ExecContext<'_>) -> SqlResult<Option<u64>> {
        let Some(ordinal) = self.auto_increment else { return Ok(None) };
        let column = &self.table.definition().columns[ordinal];
        let target = &mut self.row.columns[ordinal];
        let given = match target.cell(0) {
            Cell::Null => None,
            Cell::Int(0) if !ctx.change.no_auto_value_on_zero || !self.written[ordinal] => None,
            Cell::Int(value) => Some(value),
            Cell::Double(0.0) => None,
            Cell::Double(value) => Some(value as i64),
            _ => None,
        };
        let store = self.table.store();
        match given {
            Some(value) => {
                if value > 0 || column.data_type.unsigned {
                    self.table
                        .auto_increment()
                        .observe(store, value as u64)
                        .map_err(|error| failed(&error))?;
                    self.changed.reported_insert_id = value as u64;
                }
                Ok(None)
            }
            None => {
                let value = if let Some(value) = ctx.change.insert_id.take() {
                    self.table.auto_increment().observe(store, value).map_err(|error| failed(&error))?;
                    value
                } else {
                    if self.reserved.0 == self.reserved.1 {
                        let count = remaining.clamp(1, 1024);
                        let increment = ctx.change.auto_increment_increment.max(1);
                        let first = self
                            .table
                            .auto_increment()
                            .reserve(store, count * increment)
                            .map_err(|error| failed(&error))?;
                        self.reserved = (first, first + count * increment);
                    }
                    let (next, end) = self.reserved;
                    let increment = ctx.change.auto_increment_increment.max(1);
                    let offset = ctx.change.auto_increment_offset.max(1);
                    // The numbers are offset, offset + increment, ...
                    let value = if increment == 1 {
                        next
                    } else {
                        let behind = next.saturating_sub(offset.min(next));
                        offset.min(next).max(1) + behind.div_ceil(increment) * increment
                    };
                    self.reserved = ((value + increment).min(end), end);
                    value
                };
                let (_, largest) = types::convert::integer_range(&column.data_type);
                if i128::from(value) > largest && column.data_type.is_integer() {
                    return Err(coded(1467, "Failed to read auto-increment value from storage engine"));
                }
                if column.data_type.is_integer() {
                    replace(target, 0, Cell::Int(value as i64));
                } else {
                    replace(target, 0, Cell::Double(value as f64));
                }
                Ok(Some(value))
            }
        }
    }

    fn write_row(
        &mut self,
        number: u64,
        selected: Option<(&Batch, usize)>,
        storing: &Storing,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let table = Arc::clone(&self.table);
        loop {
            let outcome = {
                let cells: Vec<Cell<'_>> = self.row.columns.iter().map(|column| column.cell(0)).collect();
                write(ctx, |transaction, context| table.insert(transaction, &cells, context))?
            };
            let error = match outcome {
                Ok(()) => {
                    self.changed.affected += 1;
                    return Ok(());
                }
                Err(error) => error,
            };
            let WriteError::DuplicateKey(duplicate) = &error else { return Err(failed(&error)) };
            self.changed.duplicates += u64::from(!self.plan.replace || duplicate.index < usize::MAX);
            if self.plan.replace {
                let locator = duplicate.locator.clone();
                let deleted = self.delete_row(&locator, ctx)?;
                if deleted {
                    self.changed.affected += 1;
                }
                continue;
            }
            if !self.plan.on_duplicate.is_empty() {
                let locator = duplicate.locator.clone();
                return self.update_duplicate(&locator, number, selected, storing, ctx);
            }
            if self.plan.ignore {
                warn_duplicate(ctx, &error);
                return Ok(());
            }
            return Err(failed(&error));
        }
    }

    /// Locks a row that stands in the way and reads it whole.
    fn lock_row(&self, locator: &[u8], ctx: &mut ExecContext<'_>) -> SqlResult<Option<Batch>> {
        let definition = self.table.definition();
        let mut batch = Batch::new(definition.columns.iter().map(|column| column.data_type.physical()));
        let table = &self.table;
        let ordinals: Vec<usize> = (0..definition.columns.len()).collect();
        let mut locators = types::vector::BytesColumn::default();
        let locked = write(ctx, |transaction, context| {
            let (zone, wait, mode) = (context.zone, context.wait, store::LockMode::Exclusive);
            table.lock_columns(transaction, locator, mode, wait, zone, &ordinals, &mut batch, &mut locators)
        })?
        .map_err(|error| failed(&error))?;
        Ok(matches!(locked, store::Locked::Row(())).then_some(batch))
    }

    fn delete_row(&self, locator: &[u8], ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        if self.lock_row(locator, ctx)?.is_none() {
            return Ok(false);
        }
        let table = &self.table;
        write(ctx, |transaction, context| table.delete(transaction, locator, context))?
            .map_err(|error| failed(&error))
    }

    /// ON DUPLICATE KEY UPDATE of the row with this locator.
    fn update_duplicate(
        &mut self,
        locator: &[u8],
        number: u64,
        selected: Option<(&Batch, usize)>,
        storing: &Storing,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let table = Arc::clone(&self.table);
        let definition = table.definition();
        let Some(old) = self.lock_row(locator, ctx)? else { return Ok(()) };
        let width = definition.columns.len();
        // Old row, new row, selected columns.
        let mut input = Batch { columns: old.columns.clone(), row_count: 1 };
        input.columns.extend(self.row.columns.iter().cloned());
        if let Some((batch, row)) = selected {
            for column in &batch.columns {
                let mut one = Column::new(column.physical());
                one.push_cell(column.cell(row));
                input.columns.push(one);
            }
        }
        let mut assigned: Vec<usize> = Vec::new();
        for (assign, program) in self.plan.on_duplicate.iter().zip(&mut self.updates) {
            let mut target = Column::new(input.columns[assign.column].physical());
            match program {
                Some(((scratch, program), data_type)) => {
                    let mut out = [Column::new(data_type.physical())];
                    scratch.reset();
                    program.eval(scratch, &input, &mut ctx.eval, &mut out)?;
                    storing.store(
                        definition,
                        assign.column,
                        out[0].cell(0),
                        data_type,
                        number,
                        &mut target,
                        ctx,
                    )?;
                }
                None => storing.store_default(definition, assign.column, &mut target, ctx)?,
            }
            storing.check_null(definition, assign.column, &mut target, 0, false, ctx)?;
            input.columns[assign.column] = target;
            if !assigned.contains(&assign.column) {
                assigned.push(assign.column);
            }
        }
        let same = assigned.iter().all(|&ordinal| input.columns[ordinal] == old.columns[ordinal]);
        if same {
            self.changed.affected += u64::from(ctx.change.found_rows);
            return Ok(());
        }
        for (ordinal, column) in definition.columns.iter().enumerate() {
            if column.on_update_now && !assigned.contains(&ordinal) {
                input.columns[ordinal].clear();
                storing.push_now(&column.data_type, &mut input.columns[ordinal]);
                assigned.push(ordinal);
            }
        }
        debug_assert!(input.columns.len() >= 2 * width);
        let changes: Vec<(usize, Cell<'_>)> =
            assigned.iter().map(|&ordinal| (ordinal, input.columns[ordinal].cell(0))).collect();
        let outcome =
            write(ctx, |transaction, context| table.update(transaction, locator, &changes, context))?;
        match outcome {
            Ok(_) => {
                self.changed.affected += 2;
                if let Some(ordinal) = self.auto_increment
                    && let Cell::Int(value) = input.columns[ordinal].cell(0)
                {
                    // MySQL reports the number of the row that was updated.
                    self.changed.reported_insert_id = value as u64;
                }
                Ok(())
            }
            Err(error) if self.plan.ignore && matches!(error, WriteError::DuplicateKey(_)) => {
                warn_duplicate(ctx, &error);
                Ok(())
            }
            Err(error) => Err(failed(&error)),
        }
    }
}
