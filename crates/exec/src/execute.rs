//! Running a compiled plan: a query into a sink, a change in a transaction.

use plan::physical::PlanKind;
use service::error::ER_QUERY_INTERRUPTED;

use crate::change::{self, Changed};
use crate::context::ExecContext;
use crate::error::internal;
use crate::expr::SqlResult;
use crate::output::{LargeColumns, RowSink};
use crate::prepare::Prepared;
use crate::programs::Programs;
use crate::run::{self, Source};

/// Runs a query (or DO) and gives its rows to `sink`. Answers how many there were; with SQL_CALC_FOUND_ROWS how many there
/// would be if neither LIMIT nor the sink ended it.
///
/// # Errors
/// The client's.
pub fn run_query(prepared: &Prepared, ctx: &mut ExecContext<'_>, sink: &mut dyn RowSink) -> SqlResult<u64> {
    let plan = &**prepared.plan();
    let (PlanKind::Query(root) | PlanKind::Do(root)) = &plan.kind else {
        return Err(internal("a change run as a query"));
    };
    run::enter(plan, ctx);
    prepared.count(ctx.status);
    prepared.check_constants(&mut ctx.eval)?;
    let mut source = Source::new(plan, root, &mut prepared.programs())?;
    source.start(ctx)?;
    let large = LargeColumns::of(plan, ctx)?;
    let mut count = 0;
    let mut is_wanted = true;
    while source.next(ctx)? {
        count += source.batch.row_count as u64;
        if is_wanted {
            is_wanted = match &large {
                None => sink.batch(&source.batch)?,
                Some(large) => sink.batch_with_references(&source.batch, large)?,
            };
        }
        if !is_wanted && !plan.calc_found_rows {
            break;
        }
        // A row made of nothing is a whole answer: KILL ends the SLEEP() in it and not the statement.
        if count > 1 || !plan.tables.is_empty() {
            ctx.check()?;
        }
    }
    Ok(ctx.rows_found.take().unwrap_or(count))
}

/// Reads the rows that a change would change, and changes nothing (EXPLAIN ANALYZE). Rows that are written out are not read.
///
/// # Errors
/// The client's.
pub fn run_source(prepared: &Prepared, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
    let plan = &**prepared.plan();
    let Some(node) = plan.kind.source() else { return Ok(()) };
    run::enter(plan, ctx);
    prepared.check_constants(&mut ctx.eval)?;
    // Programs of a change are in the order in which the whole change is built.
    let mut source = Source::new(plan, node, &mut Programs::new(&[]))?;
    source.start(ctx)?;
    while source.next(ctx)? {
        ctx.check()?;
    }
    Ok(())
}

/// Runs a change in the context's transaction. On an error the caller undoes the statement (a savepoint taken before).
///
/// # Errors
/// The client's.
pub fn run_change(prepared: &Prepared, ctx: &mut ExecContext<'_>) -> SqlResult<Changed> {
    let plan = &**prepared.plan();
    run::enter(plan, ctx);
    // Of LOAD DATA the statement as a whole counts.
    if ctx.change.file_line.is_none() {
        prepared.count(ctx.status);
    }
    prepared.check_constants(&mut ctx.eval)?;
    let mut programs = prepared.programs();
    let outcome = change::run(plan, prepared.change(), &mut programs, ctx);
    if let Err(error) = &outcome
        && error.is(ER_QUERY_INTERRUPTED)
    {
        ctx.eval.session.check_killed()?; // The session knows what interrupted it: KILL, a limit of time or of memory.
    }
    outcome
}
