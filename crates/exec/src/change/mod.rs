//! INSERT, REPLACE, UPDATE and DELETE: rows to the table, MySQL's counts and errors back.
//!
//! Read next: [`values`] (conversion to the columns, defaults, NULL checks), `insert`, `update`.

mod insert;
mod update;
mod values;

use plan::physical::{PhysicalPlan, PlanKind};
use table::{WriteContext, WriteError};

use crate::context::{ExecContext, coded, internal, write_error};
use crate::expr::SqlResult;
use crate::prepare::{Prepared, Programs};

/// What a change did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Changed {
    /// Affected rows of the OK packet (found rows, if the client asked for those).
    pub affected: u64,
    /// UPDATE: rows that met the condition.
    pub matched: u64,
    /// UPDATE: rows that became different.
    pub changed: u64,
    /// INSERT: rows given.
    pub records: u64,
    /// INSERT: rows that were there already (ignored, replaced or updated).
    pub duplicates: u64,
    /// What LAST_INSERT_ID() becomes: the first number AUTO_INCREMENT gave.
    pub last_insert_id: Option<u64>,
    /// The number in the OK packet: as `last_insert_id`, or the last explicit value of the AUTO_INCREMENT column.
    pub reported_insert_id: u64,
    /// UPDATE: the info text tells of matched and changed rows.
    pub is_update: bool,
    /// INSERT of several rows or from a query: the info text tells of records and duplicates.
    pub has_info: bool,
}

impl Changed {
    /// The text for people in the OK packet.
    #[must_use]
    pub fn info(&self, warnings: u64) -> String {
        if self.is_update {
            format!("Rows matched: {}  Changed: {}  Warnings: {warnings}", self.matched, self.changed)
        } else if self.has_info {
            format!("Records: {}  Duplicates: {}  Warnings: {warnings}", self.records, self.duplicates)
        } else {
            String::new()
        }
    }
}

/// Compiles the expressions of a change.
pub(crate) fn compile(plan: &PhysicalPlan, programs: &mut Programs<'_>) -> SqlResult<()> {
    match &plan.kind {
        PlanKind::Insert(insert) => insert::Insert::new(plan, insert, programs).map(drop),
        PlanKind::Update(update) => update::Update::new(plan, update, programs).map(drop),
        PlanKind::Delete(delete) => update::Delete::new(plan, delete, programs).map(drop),
        PlanKind::Query(_) | PlanKind::Do(_) => Err(internal("a query run as a change")),
    }
}

/// Runs a change in the context's transaction. On an error the caller undoes the statement (a savepoint taken before).
///
/// # Errors
/// The client's.
pub fn run_change(prepared: &Prepared, ctx: &mut ExecContext<'_>) -> SqlResult<Changed> {
    let plan = &**prepared.plan();
    crate::run::enter(plan, ctx);
    let mut programs = prepared.programs();
    match &plan.kind {
        PlanKind::Insert(insert) => insert::Insert::new(plan, insert, &mut programs)?.run(ctx),
        PlanKind::Update(update) => update::Update::new(plan, update, &mut programs)?.run(ctx),
        PlanKind::Delete(delete) => update::Delete::new(plan, delete, &mut programs)?.run(ctx),
        PlanKind::Query(_) | PlanKind::Do(_) => Err(internal("a query run as a change")),
    }
}

/// Runs a write with the transaction and the conditions of the context.
fn write<R>(
    ctx: &mut ExecContext<'_>,
    write: impl FnOnce(&mut store::Transaction, WriteContext<'_>) -> Result<R, WriteError>,
) -> SqlResult<Result<R, WriteError>> {
    let context = WriteContext { zone: &ctx.eval.settings.time_zone, wait: ctx.lock_wait };
    match ctx.transaction.as_deref_mut() {
        Some(transaction) => Ok(write(transaction, context)),
        None => Err(internal("a change without a transaction")),
    }
}

/// With IGNORE a duplicate key is a warning.
fn warn_duplicate(ctx: &mut ExecContext<'_>, error: &WriteError) {
    if let WriteError::DuplicateKey(duplicate) = error {
        let text = crate::context::duplicate_text(&duplicate.value, &duplicate.key);
        let mut entry = coded(1062, &text).diagnostic();
        entry.level = service::error::Level::Warning;
        ctx.eval.warnings.push(entry);
    }
}

/// The client's error of a failed write.
fn failed(error: &WriteError) -> Box<service::error::SqlError> {
    write_error(error)
}
