//! The one sequence in which a statement with a plan runs.
//!
//! ```text
//! time limit -> begin -> may write? -> metadata locks (of triggers' tables, too) -> savepoint -> run -> end of the statement, commit with autocommit
//! (SELECT)                             plan is stale: Replan           \-> failed: back to the savepoint, or the whole transaction
//! ```
//!
//! Everything with a plan goes through [`in_statement`]: texts, prepared statements, cursors, SELECT ... INTO, EXPLAIN ANALYZE,
//! expressions of SET and of routines. LOAD DATA, which plans line by line, goes through its parts. What is limited in time goes through
//! [`run_limited`] first. Operators look for KILL, the time limit and the limits of memory while they run
//! ([`crate::limits::check_interrupted`]).
//!
//! Invariants:
//! 1. A SELECT's time begins when it is planned, once, however often it is planned again or requeued, and ends with its execution.
//!    It goes on while the statement is queued: when it is over, the server runs the statement once more, and it fails.
//! 2. A statement that stops leaves its transaction as it was before, or rolled back.
//! 3. A statement that is requeued has sent nothing and changed nothing of its session.

use std::time::Duration;

use plan::physical::PlanKind;
use service::{Reply, SqlError};

use super::Session;
use super::attempt::{Attempt, Stop};
use crate::backend::Backend;
use crate::plans::{CachedPlan, PlanHandle};
use crate::status::StatementKind;
use crate::variables::settings::Settings;

/// How long a SELECT may take, with the milliseconds of its hint. In a routine each has its own time, those of INTO and of cursors too.
#[inline]
pub(super) fn time_limit(
    settings: &Settings,
    kind: StatementKind,
    hinted_ms: Option<u64>,
) -> Option<Duration> {
    if kind != StatementKind::Select {
        return None;
    }
    match hinted_ms.unwrap_or(settings.max_execution_ms) {
        0 => None,
        limit_ms => Some(Duration::from_millis(limit_ms)),
    }
}

/// Runs `run`, which executes `plan`, until the time of the statement is over.
#[inline]
pub(crate) fn run_limited<B: Backend, R>(
    session: &mut Session<B>,
    plan: &mut PlanHandle<B>,
    run: impl FnOnce(&mut Session<B>, &mut PlanHandle<B>) -> Attempt<R>,
) -> Attempt<R> {
    match time_limit(session.variables.settings(), plan.kind(), plan.max_execution_ms()) {
        None => run(session, plan),
        Some(limit) => run_until(session, limit, plan, run),
    }
}

fn run_until<B: Backend, R>(
    session: &mut Session<B>,
    limit: Duration,
    plan: &mut PlanHandle<B>,
    run: impl FnOnce(&mut Session<B>, &mut PlanHandle<B>) -> Attempt<R>,
) -> Attempt<R> {
    // It began when the statement was planned or first run, or begins now if the plan was there.
    let deadline = match plan.take_deadline().or_else(|| session.running.take_deadline()) {
        Some(deadline) => deadline,
        None => session.shared.begin_deadline(limit)?,
    };
    run(session, plan).map_err(|stop| match *stop {
        Stop::Failed(error) => deadline.explain(error).into(),
        stop @ (Stop::Replan | Stop::Requeue(_)) => {
            session.running.keep_deadline(deadline);
            Box::new(stop)
        }
    })
}

/// Runs `run` as a statement of the session's transaction: begins it, takes the locks of the plan's tables, and rolls back to where
/// it began if `run` fails. `run` ends it ([`super::run::finish`]) and then answers; it learns whether it is part of a transaction,
/// which a statement without tables is not. `may_requeue`: see [`may_requeue`].
#[inline]
pub(crate) fn in_statement<B: Backend, R>(
    session: &mut Session<B>,
    plan: &CachedPlan<B>,
    may_requeue: bool,
    run: impl FnOnce(&mut Session<B>, bool) -> Result<R, Box<SqlError>>,
) -> Attempt<R> {
    let physical = plan.physical();
    let changes = matches!(physical.kind, PlanKind::Insert(_) | PlanKind::Update(_) | PlanKind::Delete(_));
    if physical.tables.is_empty() && !changes && !plan.runs_programs() {
        // Nothing of tables: no transaction is opened by SELECT 1.
        return Ok(run(session, false)?);
    }
    session.tables.begin_statement(&session.shared, session.variables.settings(), may_requeue)?;
    session.tables.transaction.note_reads(physical);
    if let Err(refused) = admit(session, plan, changes, may_requeue) {
        session.tables.transaction.forget_statement()?;
        return Err(refused.into());
    }
    session.tables.lock_plan(&session.shared, &session.variables, physical)?;
    if plan.runs_programs() {
        session.lock_programs(physical)?;
    }
    session.tables.transaction.spend_next();
    Ok(atomically(session, |session| run(session, true))?)
}

/// Whether the statement may run in the transaction at all.
///
/// # Errors
/// 1290 and 1792 for changes and row locks that are not allowed; those of waiting for FLUSH TABLES WITH READ LOCK.
#[inline]
fn admit<B: Backend>(
    session: &mut Session<B>,
    plan: &CachedPlan<B>,
    changes: bool,
    may_requeue: bool,
) -> Result<(), Box<SqlError>> {
    if changes && plan.changes_shared_tables() {
        session.tables.require_writable(&session.shared, &session.account)?;
        session.tables.enter_change(&session.shared, &session.variables, may_requeue)?;
    }
    session.tables.require_no_row_locks(plan)
}

/// Runs `run` in the transaction, and rolls back to where that was if it fails.
#[inline]
pub(crate) fn atomically<B: Backend, R>(
    session: &mut Session<B>,
    run: impl FnOnce(&mut Session<B>) -> Result<R, Box<SqlError>>,
) -> Result<R, Box<SqlError>> {
    // Looked at where it lies: a savepoint is several words.
    let before = session.tables.transaction.savepoint();
    let before = match &before {
        Ok(before) => before,
        Err(error) => return Err(without_savepoint(session, error)),
    };
    match run(session) {
        Ok(done) => Ok(done),
        Err(error) => {
            session.tables.fail_statement(&session.shared, before, &error)?;
            Err(error)
        }
    }
}

/// The backend set no savepoint: nothing could be undone alone, so the transaction is over.
#[cold]
fn without_savepoint<B: Backend>(session: &mut Session<B>, error: &SqlError) -> Box<SqlError> {
    session.tables.roll_back(&session.shared).err().unwrap_or_else(|| Box::new(error.clone()))
}

/// Whether the statement that begins leaves no trace if it is rolled back before it has answered: it is the first of its command, and
/// uses nothing up that a second run would need. To be asked before its transaction begins. What it computes may leave a trace all the
/// same (`@a := 1`), and says so then ([`crate::backend::LockWaits::forbid_requeue`]).
#[inline]
pub(super) fn may_requeue<B: Backend>(session: &Session<B>) -> bool {
    session.results.next_insert_id().is_none()
        && session.running.long_values().is_empty()
        && !session.running.follows_others()
        && !session.tables.transaction.has_next()
        && !session.routines.are_running()
}

/// What becomes of a statement that stopped: one that failed because its wait was refused is requeued, if it left no trace.
#[cold]
pub(super) fn requeued_instead<B: Backend>(
    session: &mut Session<B>,
    stop: Box<Stop>,
    last_insert_id: u64,
    reply: &Reply<'_>,
) -> Box<Stop> {
    match &*stop {
        Stop::Failed(error)
            if error.is_refused_wait()
                && session.tables.transaction.may_requeue()
                && reply.is_untouched() =>
        {
            session.results.restore_insert_id(last_insert_id);
            let within = Duration::from_millis(session.variables.settings().lock_wait_timeout_ms);
            Box::new(Stop::Requeue(within))
        }
        _ => stop,
    }
}
