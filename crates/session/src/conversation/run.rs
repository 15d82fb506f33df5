//! Statements with a plan: SELECT, INSERT, REPLACE, UPDATE, DELETE, DO.
//!
//! ```text
//! bind -> optimize -> compile (Executable) -> privileges -> metadata locks -> run inside the transaction -> answer
//! ```
//!
//! A cached plan enters at the privileges. The answer to a statement that committed leaves when the log is durable up to
//! its commit ([`Reply::wait_for`]).

use std::sync::Arc;

use catalog::Catalog;
use exec::output::CollectSink;
use exec::{Changed, ReplySink};
use plan::physical::{PhysicalPlan, PlanKind};
use service::{OkSummary, Outcome, Reply, RowFormat, SqlError};
use syntax::ast::{ExprKind, Into as IntoClause, IntoVar, Statement};
use types::{Value, ValueRef};
use wire::EncodedColumns;

use super::attempt::{Attempt, until_planned};
use super::context;
use super::cursor::{Cursor, CursorSink};
use super::execution;
use super::into_file::{self, FileTarget};
use super::memory;
use super::plans::into_of;
use super::routines::Routines;
use super::shared::Shared;
use super::table_state::TableState;
use super::{Session, access};
use crate::backend::{Backend, PointMemory, PointOutcome, PointRead, Reads};
use crate::errors::not_supported;
use crate::plans::{CachedPlan, PlanHandle};
use crate::variables::settings::Settings;

/// Plans and runs a statement.
pub(crate) fn run_planned<B: Backend>(
    session: &mut Session<B>,
    statement: &Statement<'_>,
    text: &[u8],
    parameters: &[ValueRef<'_>],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    require_into(session, statement)?;
    let mut plan = session.planner().plan_statement(statement, text, parameters)?;
    if let Some(into) = into_of(statement) {
        return run_into(session, &mut plan, into, parameters, reply);
    }
    run_cached(session, &mut plan, parameters, false, reply).map(|_| ())
}

/// What INTO of a query needs, and whether it stands where MySQL warns of it.
///
/// # Errors
/// 1227.
pub(super) fn require_into<B: Backend>(session: &mut Session<B>, statement: &Statement<'_>) -> Outcome {
    let Statement::Query(syntax::ast::Query { into: Some(into), into_is_inner, .. }) = statement else {
        return Ok(());
    };
    if *into_is_inner {
        let warning = service::error::ER_WARN_DEPRECATED_INNER_INTO.warning(&[]);
        session.diagnostics.push(warning, session.variables.settings().diagnostics);
    }
    into_file::require_file(&session.account, into)
}

/// Runs a query over virtual tables of a catalog of its own.
pub(crate) fn run_over<B: Backend>(
    session: &mut Session<B>,
    catalog: &Arc<Catalog>,
    statement: &Statement<'_>,
    text: &[u8],
    reply: &mut Reply<'_>,
) -> Outcome {
    let owned = session.running.take_parameters();
    let values: Vec<ValueRef<'_>> = owned.iter().map(ValueRef::from).collect();
    let plan = session.planner().plan_with(statement, text, Some(&values), catalog)?;
    access::require_plan(&session.account, plan.physical())?;
    if plan.runs_programs() {
        return Err(not_supported("stored functions in SHOW"));
    }
    let results = session.variables.settings().results_charset;
    reply.columns(&plan.encoded_columns(results), session.status_flags(), 0)?;
    let mut sink =
        ReplySink::new(reply, plan.output_types(), results, u64::MAX).with_texts(plan.physical().texts());
    context::with_context_of(session, catalog, &plan, &values, |prepared, context| {
        exec::run_query(prepared, context, &mut sink)
    })?;
    session.results.end_query(sink.row_count());
    reply.end_rows(session.status_flags(), session.diagnostics.packet_count())
}

/// Runs a plan and answers; rows stay behind a cursor if one is wanted and there are rows.
pub(crate) fn run_cached<B: Backend>(
    session: &mut Session<B>,
    plan: &mut PlanHandle<B>,
    values: &[ValueRef<'_>],
    wants_cursor: bool,
    reply: &mut Reply<'_>,
) -> Attempt<Option<Box<Cursor>>> {
    let last_insert_id = session.results.last_insert_id();
    execution::run_limited(session, plan, |session, plan| {
        let ran = run_unlimited(session, plan, values, wants_cursor, reply);
        ran.map_err(|stop| execution::requeued_instead(session, stop, last_insert_id, reply))
    })
}

fn run_unlimited<B: Backend>(
    session: &mut Session<B>,
    plan: &mut PlanHandle<B>,
    values: &[ValueRef<'_>],
    wants_cursor: bool,
    reply: &mut Reply<'_>,
) -> Attempt<Option<Box<Cursor>>> {
    plan.require_limits(values, session.running.executes_named())?;
    if !reply.is_requeued() {
        session.count(plan.kind());
    }
    if !plan.is_allowed(&session.account) {
        access::require_plan(&session.account, plan.physical())?;
        plan.allow(&session.account);
    }
    if !wants_cursor && run_point(session, plan, values, reply)? {
        return Ok(None);
    }
    if plan.physical().kind.source().is_some() {
        show_plan(session, plan);
    }
    execution::in_statement(session, plan, execution::may_requeue(session), |session, in_transaction| {
        run_body(session, plan, values, wants_cursor, reply, in_transaction)
    })
}

/// Shows others the plan (EXPLAIN FOR CONNECTION), but not those of a routine's statements, which who calls it need not know.
fn show_plan<B: Backend>(session: &Session<B>, plan: &CachedPlan<B>) {
    if session.routines.slots().is_none() {
        session.shared.process.show_plan(plan.prepared().plan());
    }
}

/// Runs a point SELECT's program; false if the plan has none or a value does not fit it, and nothing was sent.
fn run_point<B: Backend>(
    session: &mut Session<B>,
    plan: &CachedPlan<B>,
    values: &[ValueRef<'_>],
    reply: &mut Reply<'_>,
) -> Attempt<bool> {
    let results = session.variables.settings().results_charset;
    let Some((point, columns)) = plan.point(results) else { return Ok(false) };
    let serializable = session.tables.transaction.isolation_now(session.variables.settings())
        == crate::variables::isolation::Isolation::Serializable;
    if session.variables.settings().select_limit == 0 || serializable {
        return Ok(false);
    }
    let in_transaction = session.tables.transaction.is_open() || !session.variables.settings().autocommit;
    memory::lend(|memory: &mut PointMemory| {
        match read_point(session, plan, point, values, in_transaction, reply.row_format(), memory)? {
            PointOutcome::NotHere => Ok(false),
            PointOutcome::Rows(rows) => {
                send_point(session, rows, columns, &memory.row, in_transaction, reply)?;
                Ok(true)
            }
        }
    })
}

fn read_point<B: Backend>(
    session: &mut Session<B>,
    plan: &CachedPlan<B>,
    point: &B::PointProgram,
    values: &[ValueRef<'_>],
    in_transaction: bool,
    format: RowFormat,
    memory: &mut PointMemory,
) -> Attempt<PointOutcome> {
    if in_transaction {
        session.tables.begin_statement(
            &session.shared,
            session.variables.settings(),
            execution::may_requeue(session),
        )?;
        session.tables.lock_plan(&session.shared, &session.variables, plan.physical())?;
        let zone = &*session.variables.settings().time_zone;
        let uncommitted = session.tables.transaction.reads_uncommitted();
        let reads = if uncommitted { Reads::Uncommitted } else { Reads::Own };
        return Ok(session.tables.transaction.read_point(
            point,
            values,
            PointRead { reads, zone, format },
            memory,
        )?);
    }
    // An autocommit read holds its snapshot only here; DDL waits for the latch at most.
    session.tables.transaction.view_now()?;
    // A definition that changed before the snapshot was taken may have rows that this plan cannot read.
    let current = session.shared.core.catalog().version() == plan.physical().catalog_version;
    let outcome = if current && session.shared.reads_unlocked() {
        let zone = &*session.variables.settings().time_zone;
        let read = PointRead { reads: Reads::Snapshot, zone, format };
        session.tables.transaction.read_point(point, values, read, memory)
    } else {
        Ok(PointOutcome::NotHere)
    };
    session.tables.transaction.park()?;
    Ok(outcome?)
}

fn send_point<B: Backend>(
    session: &mut Session<B>,
    rows: u64,
    columns: &EncodedColumns,
    row: &[u8],
    in_transaction: bool,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.shared.process.counts.count_point();
    if in_transaction {
        session.tables.transaction.keep_view()?;
    }
    session.tables.transaction.set_rows_examined(rows);
    session.results.end_query(rows);
    let status = session.status_flags();
    reply.columns(columns, status, 0)?;
    if rows > 0 {
        reply.begin_row().extend_from_slice(row);
        reply.end_row()?;
    }
    reply.end_rows(status, session.diagnostics.packet_count())
}

/// `sql_select_limit`, where it counts: not with a LIMIT, and not for the statements of a routine.
fn rows_max<B: Backend>(settings: &Settings, routines: &Routines<B>, plan: &CachedPlan<B>) -> u64 {
    match plan.physical().has_limit || routines.are_running() {
        true => u64::MAX,
        false => settings.select_limit,
    }
}

/// `max_join_size`, without `sql_big_selects`: refuses a plan that is expected to read more rows.
#[allow(clippy::cast_precision_loss, reason = "an estimate is compared")]
pub(super) fn require_join_size<B: Backend>(
    settings: &Settings,
    plan: &CachedPlan<B>,
    values: &[ValueRef<'_>],
) -> Outcome {
    let rows_max = settings.join_size_max;
    if rows_max != u64::MAX && plan.physical().row_accesses(values) > rows_max as f64 {
        return Err(service::error::ER_TOO_BIG_SELECT.with(&[]));
    }
    Ok(())
}

fn run_body<B: Backend>(
    session: &mut Session<B>,
    plan: &CachedPlan<B>,
    values: &[ValueRef<'_>],
    wants_cursor: bool,
    reply: &mut Reply<'_>,
    in_transaction: bool,
) -> Result<Option<Box<Cursor>>, Box<SqlError>> {
    require_join_size(session.variables.settings(), plan, values)?;
    match &plan.physical().kind {
        PlanKind::Query(_) if wants_cursor => {
            let mut sink = CursorSink::default();
            let found = context::with_context(session, plan, values, |prepared, context| {
                exec::run_query(prepared, context, &mut sink)
            })?;
            session.results.set_found_rows(found);
            finish(&mut session.tables, &session.shared, in_transaction, reply)?;
            let columns = plan.encoded_columns(session.variables.settings().results_charset);
            reply.columns_with_cursor(
                &columns,
                session.status_flags(),
                session.diagnostics.packet_count(),
            )?;
            Ok(Some(sink.into_cursor(plan.output_types().cloned().collect())))
        }
        PlanKind::Query(_) => {
            let columns = plan.encoded_columns(session.variables.settings().results_charset);
            let (results, rows_max) = (
                session.variables.settings().results_charset,
                rows_max(session.variables.settings(), &session.routines, plan),
            );
            if !plan.physical().constant_checks.is_empty() {
                context::with_context(session, plan, values, |prepared, context| {
                    prepared.check_constants(&mut context.eval)
                })?;
            }
            reply.columns(&columns, session.status_flags(), 0)?;
            let mut sink = ReplySink::new(reply, plan.output_types(), results, rows_max)
                .with_texts(plan.physical().texts());
            let found = context::with_context(session, plan, values, |prepared, context| {
                exec::run_query(prepared, context, &mut sink)
            })?;
            let is_counted = plan.physical().calc_found_rows;
            session.results.end_query(if is_counted { found } else { sink.row_count() });
            finish(&mut session.tables, &session.shared, in_transaction, reply)?;
            reply.end_rows(session.status_flags(), session.diagnostics.packet_count())?;
            Ok(None)
        }
        PlanKind::Do(_) => {
            let mut sink = CollectSink::new(Vec::new(), 0);
            context::with_context(session, plan, values, |prepared, context| {
                exec::run_query(prepared, context, &mut sink)
            })?;
            finish(&mut session.tables, &session.shared, in_transaction, reply)?;
            session.send_ok(reply)?;
            Ok(None)
        }
        PlanKind::Insert(_) | PlanKind::Update(_) | PlanKind::Delete(_) => {
            if session.variables.settings().safe_updates && plan.physical().changes_without_key() {
                return Err(service::error::ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE.with(&[&""]));
            }
            let summary = context::with_context(session, plan, values, exec::run_change)?;
            finish(&mut session.tables, &session.shared, in_transaction, reply)?;
            send_changes(session, &summary, reply)?;
            Ok(None)
        }
    }
}

pub(super) fn finish<B: Backend>(
    tables: &mut TableState<B>,
    shared: &Shared<B>,
    in_transaction: bool,
    reply: &mut Reply<'_>,
) -> Outcome {
    if in_transaction {
        tables.end_statement(shared)?;
        tables.wait_for_commit(reply);
    }
    Ok(())
}

/// Answers a statement that changed rows.
fn send_changes<B: Backend>(session: &mut Session<B>, summary: &Changed, reply: &mut Reply<'_>) -> Outcome {
    let affected = summary.affected;
    let info = summary.info(session.diagnostics.warning_count());
    session.results.set_row_count(i64::try_from(affected).unwrap_or(i64::MAX));
    // The client gets the value of LAST_INSERT_ID(n) inside the statement, too.
    let told = session.results.take_set_by_function();
    if let Some(id) = summary.last_insert_id {
        session.results.set_last_insert_id(id);
    }
    reply.ok(&OkSummary {
        affected_rows: affected,
        last_insert_id: if summary.reported_insert_id == 0 { told } else { summary.reported_insert_id },
        status: session.status_flags(),
        warnings: session.diagnostics.packet_count(),
        info: &info,
        state_changes: &[],
    })
}

/// Runs a changing plan inside the statement that is under way, without answering.
pub(crate) fn run_file_line<B: Backend>(
    session: &mut Session<B>,
    plan: &CachedPlan<B>,
    values: &[ValueRef<'_>],
    line: exec::FileLine,
) -> Attempt<Changed> {
    session.tables.transaction.note_reads(plan.physical());
    session.tables.lock_plan(&session.shared, &session.variables, plan.physical())?;
    if plan.runs_programs() {
        session.lock_programs(plan.physical())?;
    }
    Ok(context::with_context(session, plan, values, |prepared, context| {
        context.change.file_line = Some(line);
        exec::run_change(prepared, context)
    })?)
}

/// SELECT ... INTO
pub(super) fn run_into<B: Backend>(
    session: &mut Session<B>,
    plan: &mut PlanHandle<B>,
    into: &IntoClause<'_>,
    values: &[ValueRef<'_>],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    match FileTarget::of(into)? {
        Some(target) => run_into_file(session, plan, &target, values, reply),
        None => run_into_variables(session, plan, into, values, reply),
    }
}

/// SELECT ... INTO OUTFILE, INTO DUMPFILE
fn run_into_file<B: Backend>(
    session: &mut Session<B>,
    plan: &mut PlanHandle<B>,
    target: &FileTarget,
    values: &[ValueRef<'_>],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    plan.require_limits(values, session.running.executes_named())?;
    require_join_size(session.variables.settings(), plan, values)?;
    session.count(plan.kind());
    access::require_plan(&session.account, plan.physical())?;
    show_plan(session, plan);
    let rows = execution::run_limited(session, plan, |session, plan| {
        execution::in_statement(session, plan, false, |session, in_transaction| {
            let rows_max = rows_max(session.variables.settings(), &session.routines, plan);
            let rows = into_file::write(session, plan, target, rows_max, |session, sink| {
                context::with_context(session, plan, values, |prepared, context| {
                    exec::run_query(prepared, context, sink)
                })
            })?;
            finish(&mut session.tables, &session.shared, in_transaction, reply)?;
            Ok(rows)
        })
    })?;
    session.results.set_row_count(i64::try_from(rows).unwrap_or(i64::MAX));
    let summary = OkSummary {
        affected_rows: rows,
        status: session.status_flags(),
        warnings: session.diagnostics.packet_count(),
        ..OkSummary::default()
    };
    Ok(reply.ok(&summary)?)
}

/// SELECT ... INTO @a, @b
fn run_into_variables<B: Backend>(
    session: &mut Session<B>,
    plan: &mut PlanHandle<B>,
    into: &IntoClause<'_>,
    values: &[ValueRef<'_>],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    let targets = variables_of(plan.physical(), into)?;
    plan.require_limits(values, session.running.executes_named())?;
    require_join_size(session.variables.settings(), plan, values)?;
    session.count(plan.kind());
    access::require_plan(&session.account, plan.physical())?;
    show_plan(session, plan);
    // One row more than allowed shows that there are too many.
    let rows_max = usize::try_from(rows_max(session.variables.settings(), &session.routines, plan))
        .map_or(2, |rows| rows.min(2));
    let mut sink = CollectSink::new(plan.output_types().cloned().collect(), rows_max);
    execution::run_limited(session, plan, |session, plan| {
        execution::in_statement(session, plan, false, |session, in_transaction| {
            context::with_context(session, plan, values, |prepared, context| {
                exec::run_query(prepared, context, &mut sink)
            })?;
            if sink.rows.len() > 1 {
                return Err(service::error::ER_TOO_MANY_ROWS.bare());
            }
            finish(&mut session.tables, &session.shared, in_transaction, reply)
        })
    })?;
    let affected = sink.rows.len() as u64;
    match sink.rows.pop() {
        Some(row) => {
            for (target, value) in targets.iter().zip(row) {
                if let IntoVar::User(name) = target {
                    session.user_variables.insert(name.to_ascii_lowercase(), value);
                }
            }
        }
        None => {
            let warning = service::error::ER_SP_FETCH_NO_DATA.warning(&[]);
            session.diagnostics.push(warning, session.variables.settings().diagnostics);
        }
    }
    session.results.set_row_count(i64::try_from(affected).unwrap_or(0));
    let summary = OkSummary {
        affected_rows: affected,
        status: session.status_flags(),
        warnings: session.diagnostics.packet_count(),
        ..OkSummary::default()
    };
    Ok(reply.ok(&summary)?)
}

/// The value of an expression outside any query, through the planner.
pub(crate) fn evaluate_query<B: Backend>(
    session: &mut Session<B>,
    expr: &syntax::ast::Expr<'_>,
) -> Result<Value, Box<SqlError>> {
    let items = [syntax::ast::SelectItem::Expr { expr: *expr, alias: None, source: expr.span }];
    let select = syntax::ast::Select {
        options: syntax::ast::SelectOptions::default(),
        hints: None,
        items: &items,
        from: &[],
        where_: None,
        group_by: &[],
        grouping: syntax::ast::GroupingKind::Plain,
        having: None,
        windows: &[],
        qualify: None,
        span: expr.span,
    };
    let query = syntax::ast::Query {
        with: None,
        body: syntax::ast::QueryBody::Select(&select),
        order_by: &[],
        limit: None,
        locking: &[],
        into: None,
        into_is_inner: false,
        span: expr.span,
    };
    if matches!(expr.kind, ExprKind::Column(_)) && session.routines.slots().is_none() {
        return Err(service::error::ER_WRONG_TYPE_FOR_VAR.with(&[&"column"]));
    }
    let (text, parameters) = session.running.take();
    let values: Vec<ValueRef<'_>> = parameters.iter().map(ValueRef::from).collect();
    let computed = evaluate_with(session, &query, &text, &values);
    drop(values);
    session.running.put_back((text, parameters));
    computed
}

fn evaluate_with<B: Backend>(
    session: &mut Session<B>,
    query: &syntax::ast::Query<'_>,
    text: &[u8],
    values: &[ValueRef<'_>],
) -> Result<Value, Box<SqlError>> {
    let statement = Statement::Query(query);
    let value = until_planned(|| {
        let plan = session.planner().plan_with(&statement, text, Some(values), &session.catalog())?;
        access::require_plan(&session.account, plan.physical())?;
        if let Some(function) = plan.physical().window_of_value() {
            return Err(service::error::ER_WINDOW_INVALID_WINDOW_FUNC_USE.with(&[&function]).into());
        }
        let mut sink = CollectSink::new(plan.output_types().cloned().collect(), 1);
        execution::in_statement(session, &plan, false, |session, in_transaction| {
            context::with_context(session, &plan, values, |prepared, context| {
                exec::run_query(prepared, context, &mut sink)
            })?;
            if in_transaction { session.tables.end_statement(&session.shared) } else { Ok(()) }
        })?;
        Ok(sink.rows.pop().and_then(|mut row| row.pop()).unwrap_or(Value::Null))
    });
    value.without_requeue()
}

/// The variables that take a SELECT's row, as many as it has columns.
///
/// # Errors
/// 1222; 1327 outside of a routine.
pub(super) fn variables_of<'a>(
    plan: &PhysicalPlan,
    into: &IntoClause<'a>,
) -> Result<&'a [IntoVar<'a>], Box<SqlError>> {
    let IntoClause::Variables(targets) = into else { return Ok(&[]) };
    for target in *targets {
        if let IntoVar::Local(name) = target {
            let name = String::from_utf8_lossy(name.text);
            return Err(service::error::ER_SP_UNDECLARED_VAR.with(&[&name]));
        }
    }
    if plan.output.len() != targets.len() {
        return Err(service::error::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT.bare());
    }
    Ok(targets)
}
