//! UPDATE and DELETE: rows come from the source with their locators, locked.

use std::sync::Arc;

use hashbrown::HashSet;
use plan::physical::{DeletePlan, PhysicalPlan, UpdatePlan, UpdateTarget};
use table::{Table, Updated, WriteError};
use types::{Batch, Cell, Column, DataType};

use super::values::Storing;
use super::{Changed, failed, warn_duplicate, write};
use crate::context::ExecContext;
use crate::expr::{Program, Scratch, SqlResult};
use crate::prepare::Programs;
use crate::run::scan::local_table;
use crate::run::{Kept, Source};

/// Position of a column that was not read.
const NOT_READ: u32 = u32::MAX;

type Compiled = (Scratch, Arc<Program>);
type LocatorSet = HashSet<Box<[u8]>, foldhash::fast::FixedState>;

struct Target<'p> {
    plan: &'p UpdateTarget,
    table: Arc<Table>,
    programs: Vec<Option<(Compiled, DataType)>>,
    /// Rows changed already: a join may give a row several times.
    seen: LocatorSet,
}

pub(super) struct Update<'p> {
    plan: &'p UpdatePlan,
    source: Source<'p>,
    targets: Vec<Target<'p>>,
    changed: Changed,
    rows: u64,
}

impl<'p> Update<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        update: &'p UpdatePlan,
        programs: &mut Programs<'_>,
    ) -> SqlResult<Update<'p>> {
        let source = Source::new(plan, &update.source, programs)?;
        let mut targets = Vec::new();
        for target in &update.targets {
            let mut compiled = Vec::new();
            for assign in &target.assignments {
                compiled.push(match &assign.value {
                    Some(value) => {
                        let program = programs.take(std::slice::from_ref(value))?;
                        Some(((program.scratch(), program), value.data_type.clone()))
                    }
                    None => None,
                });
            }
            targets.push(Target {
                plan: target,
                table: local_table(plan, target.table)?,
                programs: compiled,
                seen: HashSet::default(),
            });
        }
        let changed = Changed { is_update: true, ..Changed::default() };
        Ok(Update { plan: update, source, targets, changed, rows: 0 })
    }

    pub(super) fn run(mut self, ctx: &mut ExecContext<'_>) -> SqlResult<Changed> {
        let storing = Storing::new(ctx, self.plan.ignore);
        self.source.start(ctx)?;
        if self.plan.collect_first {
            let mut kept = Kept::default();
            while self.source.next(ctx)? {
                kept.push(&self.source.batch);
                ctx.check()?;
            }
            for batch in &kept.batches {
                self.update_batch(batch, &storing, ctx)?;
            }
        } else {
            while self.source.next(ctx)? {
                let empty = Batch::new(self.source.batch.columns.iter().map(Column::physical));
                let batch = std::mem::replace(&mut self.source.batch, empty);
                self.update_batch(&batch, &storing, ctx)?;
                ctx.check()?;
            }
        }
        self.changed.affected =
            if ctx.change.found_rows { self.changed.matched } else { self.changed.changed };
        Ok(self.changed)
    }

    fn update_batch(&mut self, batch: &Batch, storing: &Storing, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let several = self.plan.targets.len() > 1 || self.plan.collect_first;
        for row in 0..batch.row_count {
            // The row by itself: assignments see what earlier ones set.
            let mut input = Batch::new(batch.columns.iter().map(Column::physical));
            input.gather_from(batch, &[row as u32]);
            self.rows += 1;
            for target in &mut self.targets {
                let locator_column = &batch.columns[target.plan.locator as usize];
                let Cell::Bytes(locator) = locator_column.cell(row) else { continue };
                if several && !target.seen.insert(locator.into()) {
                    continue;
                }
                self.changed.matched += 1;
                let number = self.changed.matched;
                if target.update(&mut input, locator, number, self.plan.ignore, storing, ctx)? {
                    self.changed.changed += 1;
                }
            }
        }
        Ok(())
    }
}

impl Target<'_> {
    /// Changes one row. Answers whether it became different.
    fn update(
        &mut self,
        input: &mut Batch,
        locator: &[u8],
        number: u64,
        ignore: bool,
        storing: &Storing,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<bool> {
        let table = Arc::clone(&self.table);
        let definition = table.definition();
        let mut assigned: Vec<(usize, Column)> = Vec::new();
        let mut same = true;
        for (assign, program) in self.plan.assignments.iter().zip(&mut self.programs) {
            let mut value = Column::new(definition.columns[assign.column].data_type.physical());
            match program {
                Some(((scratch, program), data_type)) => {
                    let mut out = [Column::new(data_type.physical())];
                    program.eval(scratch, input, &mut ctx.eval, &mut out)?;
                    storing.store(
                        definition,
                        assign.column,
                        out[0].cell(0),
                        data_type,
                        number,
                        &mut value,
                        ctx,
                    )?;
                }
                None => storing.store_default(definition, assign.column, &mut value, ctx)?,
            }
            storing.check_null(definition, assign.column, &mut value, 0, false, ctx)?;
            let position = self.plan.row[assign.column];
            if position == NOT_READ {
                same = false;
            } else {
                let old = &mut input.columns[position as usize];
                same &= old.cell(0) == value.cell(0);
                *old = value.clone();
            }
            match assigned.iter_mut().find(|(ordinal, _)| *ordinal == assign.column) {
                Some((_, earlier)) => *earlier = value,
                None => assigned.push((assign.column, value)),
            }
        }
        if same {
            return Ok(false);
        }
        for (ordinal, column) in definition.columns.iter().enumerate() {
            if column.on_update_now && !assigned.iter().any(|(other, _)| *other == ordinal) {
                let mut value = Column::new(column.data_type.physical());
                storing.push_now(&column.data_type, &mut value);
                assigned.push((ordinal, value));
            }
        }
        let changes: Vec<(usize, Cell<'_>)> =
            assigned.iter().map(|(ordinal, value)| (*ordinal, value.cell(0))).collect();
        match write(ctx, |transaction, context| table.update(transaction, locator, &changes, context))? {
            Ok(Updated::Changed) => Ok(true),
            Ok(Updated::Same | Updated::Absent) => Ok(false),
            Err(error) if ignore && matches!(error, WriteError::DuplicateKey(_)) => {
                warn_duplicate(ctx, &error);
                Ok(false)
            }
            Err(error) => Err(failed(&error)),
        }
    }
}

pub(super) struct Delete<'p> {
    plan: &'p DeletePlan,
    source: Source<'p>,
    tables: Vec<(Arc<Table>, u32)>,
}

impl<'p> Delete<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        delete: &'p DeletePlan,
        programs: &mut Programs<'_>,
    ) -> SqlResult<Delete<'p>> {
        let source = Source::new(plan, &delete.source, programs)?;
        let mut tables = Vec::new();
        for (table, locator) in &delete.targets {
            tables.push((local_table(plan, *table)?, *locator));
        }
        Ok(Delete { plan: delete, source, tables })
    }

    pub(super) fn run(mut self, ctx: &mut ExecContext<'_>) -> SqlResult<Changed> {
        let mut changed = Changed::default();
        self.source.start(ctx)?;
        // One table: rows go as they come. Several: all are found before the first goes.
        if self.plan.targets.len() == 1 {
            while self.source.next(ctx)? {
                changed.affected += delete_rows(&self.tables, &self.source.batch, ctx)?;
                ctx.check()?;
            }
        } else {
            let mut kept = Kept::default();
            while self.source.next(ctx)? {
                kept.push(&self.source.batch);
                ctx.check()?;
            }
            for batch in &kept.batches {
                changed.affected += delete_rows(&self.tables, batch, ctx)?;
            }
        }
        Ok(changed)
    }
}

fn delete_rows(tables: &[(Arc<Table>, u32)], batch: &Batch, ctx: &mut ExecContext<'_>) -> SqlResult<u64> {
    let mut deleted = 0;
    for row in 0..batch.row_count {
        for (table, position) in tables {
            let Cell::Bytes(locator) = batch.columns[*position as usize].cell(row) else { continue };
            let gone = write(ctx, |transaction, context| table.delete(transaction, locator, context))?
                .map_err(|error| failed(&error))?;
            deleted += u64::from(gone);
        }
    }
    Ok(deleted)
}
