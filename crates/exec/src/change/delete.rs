//! DELETE: rows come from the source with their locators, locked.

use access::Error;
use catalog::TriggerEvent;
use plan::physical::{DeletePlan, PhysicalPlan};
use types::{Batch, Cell, Physical};

use super::Changed;
use super::row::{self, RowWriter, violated};
use super::trigger::RowAt;
use crate::context::{ExecContext, MaterializedCursor, MaterializedRows};
use crate::expr::SqlResult;
use crate::programs::Programs;
use crate::run::Source;
use crate::status_counts::StatusKind;

/// What of a DELETE does not depend on the execution.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// The statement reads several tables: all rows are found before the first goes, since the source must not miss what
    /// its own statement took away.
    collect_first: bool,
    foreign_keys: row::Compiled,
}

impl Compiled {
    pub(super) fn new(
        plan: &PhysicalPlan,
        delete: &DeletePlan,
        programs: &mut Programs<'_>,
    ) -> SqlResult<Compiled> {
        drop(Source::new(plan, &delete.source, programs)?);
        let foreign_keys = row::Compiled::new(plan);
        Ok(Compiled { collect_first: plan.tables.len() > 1, foreign_keys })
    }
}

/// Runs a DELETE.
pub(super) fn run(
    plan: &PhysicalPlan,
    delete: &DeletePlan,
    compiled: &Compiled,
    programs: &mut Programs<'_>,
    ctx: &mut ExecContext<'_>,
) -> SqlResult<Changed> {
    let mut source = Source::new(plan, &delete.source, programs)?;
    let mut targets = Vec::with_capacity(delete.targets.len());
    for &(table, position) in &delete.targets {
        targets.push((compiled.foreign_keys.writer(plan, table, ctx)?, position as usize));
    }
    let mut changed = Changed::default();
    source.start(ctx)?;
    if compiled.collect_first {
        // Locators only, table by table.
        let limit = ctx.limits.temporary_bytes / targets.len().max(1);
        let mut found: Vec<MaterializedRows> = targets.iter().map(|_| MaterializedRows::default()).collect();
        let mut locators = Batch::new([Physical::Bytes]);
        while source.next(ctx)? {
            for ((_, position), found) in targets.iter().zip(&mut found) {
                locators.clear();
                each_locator(&source.batch, *position, |locator| {
                    locators.columns[0].push_bytes(locator);
                    locators.row_count += 1;
                    Ok(())
                })?;
                found.push(&locators, limit, ctx)?;
            }
            ctx.check()?;
        }
        for ((table, _), mut found) in targets.iter().zip(found) {
            found.finish()?;
            let mut cursor = MaterializedCursor::default();
            while let Some(batch) = cursor.next(&found)? {
                each_locator(batch, 0, |locator| {
                    changed.affected += u64::from(delete_row(table, delete.ignore, locator, ctx)?);
                    Ok(())
                })?;
                ctx.check()?;
            }
        }
        return Ok(changed);
    }
    // Two batches take turns, since the source is borrowed while its rows go.
    let mut batch = Batch::new(delete.source.shapes());
    while source.next(ctx)? {
        std::mem::swap(&mut batch, &mut source.batch);
        for (table, position) in &targets {
            each_locator(&batch, *position, |locator| {
                changed.affected += u64::from(delete_row(table, delete.ignore, locator, ctx)?);
                Ok(())
            })?;
        }
        ctx.check()?;
    }
    Ok(changed)
}

/// Calls `visit` with the locators of a batch: NULL is the inner side of an outer join.
fn each_locator(
    batch: &Batch,
    position: usize,
    mut visit: impl FnMut(&[u8]) -> SqlResult<()>,
) -> SqlResult<()> {
    for row in 0..batch.row_count {
        if let Cell::Bytes(locator) = batch.columns[position].cell(row) {
            visit(locator)?;
        }
    }
    Ok(())
}

/// Deletes a row; false if it is gone already, as when a join gives it again or a cascade came before, or if a foreign key
/// keeps it and the statement ignores that.
fn delete_row(
    table: &RowWriter<'_>,
    ignore: bool,
    locator: &[u8],
    ctx: &mut ExecContext<'_>,
) -> SqlResult<bool> {
    let mut fired = None;
    if let Some(trigger) = table.fired_by(TriggerEvent::Delete) {
        let (_, old) = fired.insert((trigger, Batch::default()));
        if !table.read_old(locator, old, ctx)? {
            return Ok(false);
        }
        let old = Some(RowAt { batch: old, row: 0, positions: None });
        trigger.before(TriggerEvent::Delete, old, None, None, ctx)?;
    }
    match table.delete(locator, None, ctx)? {
        Ok(deleted) => {
            ctx.status.add(StatusKind::Delete, u64::from(deleted));
            if deleted && let Some((trigger, old)) = &fired {
                let old = Some(RowAt { batch: old, row: 0, positions: None });
                trigger.after(TriggerEvent::Delete, old, None, ctx)?;
            }
            Ok(deleted)
        }
        Err(Error::ForeignKey(violation)) => {
            violated(&violation, ignore, &mut ctx.eval)?;
            Ok(false)
        }
        Err(error) => Err(table.failed(&error, ctx)),
    }
}
