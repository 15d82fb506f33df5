//! INSERT, REPLACE, UPDATE and DELETE: rows to the table, MySQL's counts and errors back.
//!
//! Changes work row by row, since MySQL shows the order: the errors and warnings of a row come before those of the next,
//! an assignment sees those before it, a row sees the rows written before it. A row stands in columns of one row that
//! are reused from row to row; values go straight from the statement's cells or the query's batch into the target
//! column's own shape, and the row's cells from there to the table.
//!
//! Invariants:
//! 1. What depends on the plan alone is compiled once ([`Compiled`]) and shared by all executions.
//! 2. Once warm, a row of literals or parameters is built without an allocation.
//! 3. On an error the rows written so far stay: the caller undoes the statement with a savepoint taken before it.
//!
//! Read next: `values` (conversion, NULL checks), `rules` (defaults, CHECK), `numbers` (AUTO_INCREMENT), `insert`,
//! `duplicate` (REPLACE, ON DUPLICATE KEY UPDATE), `update`, `delete`, `row` (the way to the table), `trigger`,
//! `view_check` (WITH CHECK OPTION).

mod delete;
mod duplicate;
mod insert;
mod numbers;
mod row;
mod row_checks;
mod row_defaults;
mod rules;
mod trigger;
mod update;
mod values;
mod view_check;

pub use row_checks::RowChecks;
pub use row_defaults::RowDefaults;
pub use rules::bind_stored_expression;

use access::DuplicateKey;
use plan::physical::{PhysicalPlan, PlanKind};
use service::error::Level;
use types::Cell;

use crate::context::ExecContext;
use crate::error::{coded, duplicate_text, internal};
use crate::expr::{SqlResult, Warnings};
use crate::programs::Programs;

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
    /// What LAST_INSERT_ID() becomes: the first number AUTO_INCREMENT gave to a row that was inserted.
    pub last_insert_id: Option<u64>,
    /// The number in the OK packet: as `last_insert_id`, else the last explicit value of the AUTO_INCREMENT column, else
    /// that of the row ON DUPLICATE KEY UPDATE changed last, else 0. If it is 0 and the statement called
    /// LAST_INSERT_ID(n), the client gets n; the session knows that.
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

/// What of a change does not depend on the execution.
#[derive(Debug)]
pub(crate) enum Compiled {
    Insert(Box<insert::Compiled>),
    Update(Box<update::Compiled>),
    Delete(delete::Compiled),
}

/// Compiles a change: the operators of its source put their programs into `programs`.
pub(crate) fn compile(plan: &PhysicalPlan, programs: &mut Programs<'_>) -> SqlResult<Compiled> {
    Ok(match &plan.kind {
        PlanKind::Insert(insert) => {
            Compiled::Insert(Box::new(insert::Compiled::new(plan, insert, programs)?))
        }
        PlanKind::Update(update) => {
            Compiled::Update(Box::new(update::Compiled::new(plan, update, programs)?))
        }
        PlanKind::Delete(delete) => Compiled::Delete(delete::Compiled::new(plan, delete, programs)?),
        PlanKind::Query(_) | PlanKind::Do(_) => return Err(internal("a query run as a change")),
    })
}

/// Runs a change.
pub(crate) fn run(
    plan: &PhysicalPlan,
    compiled: Option<&Compiled>,
    programs: &mut Programs<'_>,
    ctx: &mut ExecContext<'_>,
) -> SqlResult<Changed> {
    match (&plan.kind, compiled) {
        (PlanKind::Insert(insert), Some(Compiled::Insert(compiled))) => {
            insert::run(plan, insert, compiled, programs, ctx)
        }
        (PlanKind::Update(update), Some(Compiled::Update(compiled))) => {
            update::run(plan, update, compiled, programs, ctx)
        }
        (PlanKind::Delete(delete), Some(Compiled::Delete(compiled))) => {
            delete::run(plan, delete, compiled, programs, ctx)
        }
        _ => Err(internal("a query run as a change")),
    }
}

/// With IGNORE a duplicate key is a warning.
#[cold]
fn warn_duplicate(duplicate: &DuplicateKey, warnings: &mut Warnings) {
    let text = duplicate_text(duplicate);
    warnings.push(values::diagnostic(Level::Warning, 1062, &text));
}

/// 3819, a warning with IGNORE.
#[cold]
fn check_violated(name: &str, ignore: bool, warnings: &mut Warnings) -> SqlResult<()> {
    let text = format!("Check constraint '{name}' is violated.");
    if !ignore {
        return Err(coded(3819, &text));
    }
    warnings.push(values::diagnostic(Level::Warning, 3819, &text));
    Ok(())
}

/// An empty vector for other cells in the memory of this one.
fn recycle<'b>(mut cells: Vec<Cell<'_>>) -> Vec<Cell<'b>> {
    cells.clear();
    // Collecting in place keeps the memory: both sides have the same layout.
    cells.into_iter().map(|_| Cell::Null).collect()
}
