//! Commands and statements about prepared statements: COM_STMT_PREPARE, COM_STMT_EXECUTE, COM_STMT_FETCH, PREPARE, EXECUTE, DEALLOCATE.
//!
//! Parameters stay binary on their way from the packet to the expression ([`read_parameters`]); only a log that wants the statement renders
//! them ([`RenderedStatement`]), in one pass. Long data that lies on disk goes from there into the table if the statement is an INSERT
//! that takes it as it is. What is kept of a statement: [`super::prepared`].

use exec::{LongData, LongParameter};
use hashbrown::HashMap;
use plan::PlanError;
use plan::logical::OutputSource;
use service::error::{
    ER_DYNAMIC_PARAMETERS_DML_ONLY, ER_EMPTY_QUERY, ER_MALFORMED_PACKET, ER_NEED_REPREPARE, ER_PS_MANY_PARAM,
    ER_UNSUPPORTED_PS, ER_WRONG_ARGUMENTS,
};
use service::{CommandOutcome, ExecuteRequest, OkSummary, Outcome, Reply, SqlError, StatusFlags};
use syntax::ast::{MaintainKind, PrepareSource, Show, Statement};
use types::charset::Charset;
use types::collation::CollationId;
use types::{DataType, Value, ValueRef};
use wire::EncodedColumns;
use wire::parameter::PARAMETER_COUNT_MAX;

use super::attempt::{Attempt, until_planned};
use super::cursor::Cursor;
use super::hinted_variables;
use super::into_file::{self, FileTarget};
use super::memory;
use super::parameters::read_parameters;
use super::plan_fit;
use super::plans::{has_plan, into_of};
use super::prepared;
use super::prepared::{CachedExecution, PreparedStatement, long_data_too_long, require_room, unknown};
use super::rendered_statement::RenderedStatement;
use super::run;
use super::run::variables_of;
use super::running::RunningStatement;
use super::statement;
use super::{Session, access};
use crate::backend::Backend;
use crate::plans::shared::Known;
use crate::plans::{CachedPlan, PlanHandle};
use crate::processes::Activity;
use crate::status::StatementKind;

/// Statements that can be prepared; the others answer 1295, as in MySQL.
fn can_be_prepared(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::Prepare { .. }
        | Statement::Execute { .. }
        | Statement::Deallocate(_)
        | Statement::LoadData(_)
        | Statement::LockTables(_)
        | Statement::UnlockTables
        | Statement::LockInstance
        | Statement::UnlockInstance
        | Statement::Help(_)
        | Statement::StartTransaction { .. }
        | Statement::Savepoint(_)
        | Statement::RollbackTo(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::Xa(_)
        | Statement::AlterDatabase(_)
        | Statement::Use(_)
        | Statement::CreateRole { .. }
        | Statement::DropRole { .. }
        | Statement::CreateRoutine(_)
        | Statement::AlterRoutine(_)
        | Statement::DropRoutine(_)
        | Statement::CreateTrigger(_)
        | Statement::DropTrigger { .. }
        | Statement::Signal(_)
        | Statement::GetDiagnostics(_)
        | Statement::Shutdown
        | Statement::Restart => false,
        Statement::Show(show) => {
            !matches!(show, Show::Warnings(_) | Show::Errors(_) | Show::CountWarnings | Show::CountErrors)
        }
        Statement::Maintain(maintain) => maintain.kind != MaintainKind::Check,
        _ => true,
    }
}

/// A statement whose tree points nowhere into its text.
fn without_text(statement: &Statement<'_>) -> Option<Statement<'static>> {
    match *statement {
        Statement::Commit(completion) => Some(Statement::Commit(completion)),
        Statement::Rollback(completion) => Some(Statement::Rollback(completion)),
        _ => None,
    }
}

/// Where the `?` of a statement stand, and its plan if it has one.
type PlacesAndPlan<B> = (Vec<u32>, Option<PlanHandle<B>>);

/// COM_STMT_PREPARE.
pub(crate) fn prepare_statement<B: Backend>(
    session: &mut Session<B>,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> Outcome {
    let sql = statement::to_utf8(session.variables.settings(), sql);
    let sql = &*sql;
    session.shared.process.counts.com_stmt_prepare.increment();
    let running = statement::begin_statement(session, Activity::Prepare, sql, false);
    session.diagnostics.clear();
    let outcome = prepare_now(session, sql, reply);
    if let Err(error) = &outcome {
        session.push_error(error);
    }
    statement::log_general(&session.shared, session.variables.settings(), "Prepare", &sql);
    statement::end_statement(session, &running, &sql);
    outcome
}

fn prepare_now<B: Backend>(session: &mut Session<B>, sql: &[u8], reply: &mut Reply<'_>) -> Outcome {
    session.account.require_valid_password()?;
    require_room(&session.shared.core)?;
    let (places, plan) = memory::lend(|arena: &mut bumpalo::Bump| check_prepare(session, sql, arena))?;
    let results = session.variables.settings().results_charset;
    let columns = plan.as_ref().map(|plan| plan.columns(results)).unwrap_or_default();
    let parameters = parameter_columns(places.len(), plan.as_deref());
    let id = session.prepared.add(PreparedStatement::new(sql, places), &session.shared.core);
    reply.prepared(id, &parameters, &columns, session.status_flags(), session.diagnostics.packet_count())
}

/// Parses and, where it has a plan, plans a statement: all errors that PREPARE can find.
fn check_prepare<B: Backend>(
    session: &mut Session<B>,
    sql: &[u8],
    arena: &bumpalo::Bump,
) -> Result<PlacesAndPlan<B>, Box<SqlError>> {
    session.shared.core.counters.statements_parsed.increment();
    let parsed = syntax::parse(sql, arena, session.variables.settings().sql_mode.for_syntax())
        .map_err(|error| crate::errors::syntax_error(&error))?;
    if parsed.more {
        return Err(crate::errors::syntax_error_near(&sql[parsed.end..], sql, parsed.end));
    }
    if matches!(parsed.statement, Statement::Empty) {
        return Err(ER_EMPTY_QUERY.bare());
    }
    if parsed.params.len() > PARAMETER_COUNT_MAX {
        return Err(ER_PS_MANY_PARAM.bare());
    }
    if !can_be_prepared(&parsed.statement) {
        return Err(ER_UNSUPPORTED_PS.bare());
    }
    if matches!(parsed.statement, Statement::CreateView(_)) && !parsed.params.is_empty() {
        return Err(service::error::ER_VIEW_SELECT_VARIABLE.bare());
    }
    let takes_none = matches!(
        parsed.statement,
        Statement::Kill { .. } | Statement::CreateEvent(_) | Statement::AlterEvent(_)
    );
    if takes_none && !parsed.params.is_empty() {
        return Err(ER_DYNAMIC_PARAMETERS_DML_ONLY.bare());
    }
    let places = parsed.params.clone();
    let plan = hinted_variables::with_hinted(session, &parsed.statement, sql, |session| {
        plan_for_prepare(session, &parsed.statement, sql)
    })?;
    Ok((places, plan))
}

/// Plans a statement for PREPARE, parameters unknown; `None` for statements without a plan.
fn plan_for_prepare<B: Backend>(
    session: &mut Session<B>,
    statement: &Statement<'_>,
    text: &[u8],
) -> Result<Option<PlanHandle<B>>, Box<SqlError>> {
    if !has_plan(statement) {
        return Ok(None);
    }
    session.account.renew(&session.shared.core);
    let planner = session.planner();
    if let Some(into) = into_of(statement) {
        // It has no columns to tell of, but may be wrong.
        run::require_into(session, statement)?;
        let planner = session.planner();
        let (plan, warnings) = planner.plan_prepared(statement, text)?;
        access::require_plan(planner.account, plan.physical())?;
        if FileTarget::of(into)?.is_none() {
            variables_of(plan.physical(), into)?;
        }
        warn_of(session, &warnings);
        return Ok(None);
    }
    let found = planner.find_prepared(text, &[]);
    if let Known::Plan(_, plan) = found {
        access::require_plan(planner.account, plan.physical())?;
        return Ok(Some(PlanHandle::new(plan)));
    }
    let (plan, warnings) = planner.plan_prepared(statement, text)?;
    access::require_plan(planner.account, plan.physical())?;
    planner.share_prepared(&found, text, &[], &plan);
    warn_of(session, &warnings);
    Ok(Some(plan))
}

/// Tells what is wrong with the text of a statement that is prepared.
fn warn_of<B: Backend>(session: &mut Session<B>, warnings: &[PlanError]) {
    let warnings = warnings.iter().map(exec::warning_of);
    session.diagnostics.extend(warnings, session.variables.settings().diagnostics);
}

/// COM_STMT_EXECUTE.
pub(crate) fn execute_statement<B: Backend>(
    session: &mut Session<B>,
    request: ExecuteRequest<'_>,
    reply: &mut Reply<'_>,
) -> CommandOutcome {
    let is_requeued = reply.is_requeued();
    if !is_requeued {
        session.shared.process.counts.com_stmt_execute.increment();
    }
    let mut statement = match session.prepared.take(request.statement_id, "mysqld_stmt_execute") {
        Ok(statement) => statement,
        Err(error) => return CommandOutcome::Failed(error),
    };
    let outcome = execute_taken(session, &mut statement, request, is_requeued, reply);
    session.prepared.put_back(request.statement_id, statement);
    outcome
}

fn execute_taken<B: Backend>(
    session: &mut Session<B>,
    statement: &mut PreparedStatement<B>,
    request: ExecuteRequest<'_>,
    is_requeued: bool,
    reply: &mut Reply<'_>,
) -> CommandOutcome {
    if let Some(error) = statement.long_data_error.take() {
        statement.long_data.clear();
        return CommandOutcome::Failed(error);
    }
    let mut values = memory::take_values();
    let mut long_data = std::mem::take(&mut statement.long_data);
    let has_long_data = !long_data.is_empty();
    if has_long_data && let Err(error) = place_long_data(session, statement, &mut long_data, request) {
        return CommandOutcome::Failed(error);
    }
    let converted = bumpalo::Bump::new();
    if read_parameters(session.variables.settings(), statement, &long_data, &converted, &mut values, request)
        .is_err()
    {
        return CommandOutcome::Failed(ER_MALFORMED_PACKET.bare());
    }
    if statement.cursor.is_some() {
        statement.cursor = None;
        session.prepared.note_change();
    }
    if has_long_data {
        session.running.set_long_values(long_parameters(&long_data));
    }
    let running = statement::begin_prepared(session, request.statement_id, &statement.text, is_requeued);
    let PreparedStatement { text, places, kept, cursor, .. } = statement;
    let long_bytes = if has_long_data { long_data.values().map(LongData::byte_count).sum() } else { 0u64 };
    let value_bytes = request.parameters.len() + long_bytes as usize;
    let cut_at = if has_long_data {
        session.running.long_values().iter().map(|long| long.number as usize).min()
    } else {
        None
    };
    let rendered = RenderedStatement::new(text, places, &values, value_bytes, cut_at);
    if !is_requeued {
        statement::log_general(&session.shared, session.variables.settings(), "Execute", &rendered);
    }
    let wants_cursor = request.flags & 7 != 0;
    let outcome = until_planned(|| run_prepared(session, text, kept, &values, wants_cursor, reply));
    if has_long_data {
        session.running.set_long_values(Vec::new());
    }
    let outcome = match outcome {
        CommandOutcome::Done(opened) => {
            if opened.is_some() {
                session.prepared.note_change();
            }
            *cursor = opened;
            CommandOutcome::Done(())
        }
        CommandOutcome::Requeue(within) => {
            statement::suspend_statement(session, running);
            memory::keep_values(values);
            statement.long_data = long_data; // For the execution that comes again.
            return CommandOutcome::Requeue(within);
        }
        CommandOutcome::Failed(error) => {
            session.push_error(&error);
            CommandOutcome::Failed(error)
        }
    };
    statement::end_statement(session, &running, &rendered);
    memory::keep_values(values);
    outcome
}

/// Reads long data that lies on disk, unless the statement takes it from there.
#[cold]
fn place_long_data<B: Backend>(
    session: &mut Session<B>,
    statement: &mut PreparedStatement<B>,
    long_data: &mut HashMap<u16, LongData>,
    request: ExecuteRequest<'_>,
) -> Outcome {
    if !long_data.values().any(|long| long.on_disk().is_some())
        || passes_long_data(session, statement, long_data, request)?
    {
        return Ok(());
    }
    let packet_bytes_max =
        prepared::long_data_limits(&session.variables, &session.shared.core).packet_bytes_max;
    if long_data.values().any(|long| long.byte_count() > packet_bytes_max) {
        return Err(long_data_too_long());
    }
    long_data.values_mut().try_for_each(LongData::read_whole)
}

/// Whether the statement takes all long data that lies on disk as it is; else it is needed in memory. Plans the statement if it
/// has no plan.
#[cold]
fn passes_long_data<B: Backend>(
    session: &mut Session<B>,
    statement: &mut PreparedStatement<B>,
    long_data: &HashMap<u16, LongData>,
    request: ExecuteRequest<'_>,
) -> Result<bool, Box<SqlError>> {
    let own = session.variables.settings().connection_collation.charset();
    if session.variables.settings().client_charset != own {
        return Ok(false);
    }
    let (converted, mut values) = (bumpalo::Bump::new(), Vec::new());
    read_parameters(session.variables.settings(), statement, long_data, &converted, &mut values, request)
        .map_err(|_| ER_MALFORMED_PACKET.bare())?;
    let has_plan = matches!(&statement.kept, CachedExecution::Plan(plan) if plan_fit::is_current(session, plan, &values));
    if !has_plan {
        let arena = bumpalo::Bump::new();
        session.shared.core.counters.statements_parsed.increment();
        let parsed =
            syntax::parse(&statement.text, &arena, session.variables.settings().sql_mode.for_syntax())
                .map_err(|error| crate::errors::syntax_error(&error))?;
        // What is wrong with it the execution itself says.
        if !matches!(parsed.statement, Statement::Insert(_)) {
            return Ok(false);
        }
        session.account.renew(&session.shared.core);
        let Ok(plan) = session.planner().plan_statement(&parsed.statement, &statement.text, &values) else {
            return Ok(false);
        };
        statement.kept = CachedExecution::Plan(plan);
    }
    let CachedExecution::Plan(plan) = &statement.kept else { return Ok(false) };
    for (&number, long) in long_data.iter().filter(|(_, long)| long.on_disk().is_some()) {
        let (Some(types), Some(ValueRef::Bytes { collation, .. })) =
            (plan.prepared().long_columns(u32::from(number)), values.get(usize::from(number)))
        else {
            return Ok(false);
        };
        for data_type in types {
            let target = data_type.collation.charset();
            let is_as_it_is =
                target == Charset::Binary || target == collation.charset() && long.is_well_formed(target)?;
            if !is_as_it_is || long.byte_count() > u64::from(data_type.length) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Refuses to run what needs long data whole while some lies on disk: the plan was made again since it was asked.
#[inline]
fn require_passing(running: &RunningStatement, prepared: Option<&exec::Prepared>) -> Outcome {
    if running.long_values().is_empty() {
        return Ok(());
    }
    let passes = |number| prepared.is_some_and(|prepared| prepared.long_columns(number).is_some());
    if running.long_values().iter().all(|long| passes(long.number)) {
        return Ok(());
    }
    Err(ER_NEED_REPREPARE.bare())
}

fn run_prepared<B: Backend>(
    session: &mut Session<B>,
    text: &[u8],
    kept: &mut CachedExecution<B>,
    values: &[ValueRef<'_>],
    wants_cursor: bool,
    reply: &mut Reply<'_>,
) -> Attempt<Option<Box<Cursor>>> {
    match kept {
        CachedExecution::Plan(plan) if plan_fit::is_current(session, plan, values) => {
            require_passing(&session.running, Some(plan.prepared()))?;
            session.diagnostics.clear();
            session.account.renew(&session.shared.core);
            return run::run_cached(session, plan, values, wants_cursor, reply);
        }
        CachedExecution::Tree(tree) => {
            require_passing(&session.running, None)?;
            return session.dispatch(tree, text, values, reply).map(|()| None);
        }
        CachedExecution::Plan(_) | CachedExecution::Nothing => {}
    }
    *kept = CachedExecution::Nothing;
    session.prepared.note_change();
    let (next, cursor) = memory::lend(|arena: &mut bumpalo::Bump| {
        plan_and_run(session, text, arena, values, wants_cursor, reply)
    })?;
    *kept = next;
    if let CachedExecution::Plan(plan) = kept {
        plan.keep();
    }
    Ok(cursor)
}

fn plan_and_run<B: Backend>(
    session: &mut Session<B>,
    text: &[u8],
    arena: &bumpalo::Bump,
    values: &[ValueRef<'_>],
    wants_cursor: bool,
    reply: &mut Reply<'_>,
) -> Attempt<(CachedExecution<B>, Option<Box<Cursor>>)> {
    let found = session.planner().find_prepared(text, values);
    if let Known::Plan(_, plan) = found {
        let mut plan = PlanHandle::new(plan);
        session.diagnostics.clear();
        session.account.renew(&session.shared.core);
        require_passing(&session.running, Some(plan.prepared()))?;
        let cursor = run::run_cached(session, &mut plan, values, wants_cursor, reply)?;
        return Ok((CachedExecution::Plan(plan), cursor));
    }
    session.shared.core.counters.statements_parsed.increment();
    let parsed = syntax::parse(text, arena, session.variables.settings().sql_mode.for_syntax())
        .map_err(|error| crate::errors::syntax_error(&error))?;
    if !has_plan(&parsed.statement) {
        require_passing(&session.running, None)?;
        let outcome = session.dispatch(&parsed.statement, text, values, reply);
        session.running.set_parameters(&[]); // An idle session holds little.
        outcome?;
        return Ok((
            without_text(&parsed.statement).map_or(CachedExecution::Nothing, CachedExecution::Tree),
            None,
        ));
    }
    session.diagnostics.clear();
    session.account.renew(&session.shared.core);
    hinted_variables::with_hinted(session, &parsed.statement, text, |session| {
        let mut plan = session.planner().plan_execution(&parsed.statement, text, values)?;
        if let Some(into) = into_of(&parsed.statement) {
            into_file::require_file(&session.account, into)?;
            run::run_into(session, &mut plan, into, values, reply)?;
            return Ok((CachedExecution::Nothing, None));
        }
        session.planner().share_prepared(&found, text, values, &plan);
        require_passing(&session.running, Some(plan.prepared()))?;
        let cursor = run::run_cached(session, &mut plan, values, wants_cursor, reply)?;
        Ok((CachedExecution::Plan(plan), cursor))
    })
}

/// COM_STMT_FETCH.
pub(crate) fn fetch_rows<B: Backend>(
    session: &mut Session<B>,
    id: u32,
    row_count: u32,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.shared.process.counts.com_stmt_fetch.increment();
    let status = session.status_flags();
    let results = session.variables.settings().results_charset;
    let more = session.prepared.fetch(id, row_count, results, reply)?;
    if more {
        return reply.end_rows(status | StatusFlags::CURSOR_EXISTS, 0);
    }
    reply.end_rows(status | StatusFlags::LAST_ROW_SENT, 0)
}

/// PREPARE name FROM ...
pub(crate) fn prepare_named<B: Backend>(
    session: &mut Session<B>,
    name: &str,
    from: &PrepareSource<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::PrepareSql);
    session.shared.process.counts.com_stmt_prepare.increment();
    let text: Vec<u8> = match from {
        PrepareSource::Text(text) => text.to_vec(),
        PrepareSource::UserVar(variable) => {
            match session.user_variables.get(&variable.to_ascii_lowercase()) {
                Some(Value::Bytes { bytes, .. }) => bytes.clone(),
                _ => b"NULL".to_vec(),
            }
        }
    };
    session.prepared.forget_named(name, &session.shared.core);
    require_room(&session.shared.core)?;
    let arena = bumpalo::Bump::new();
    let (places, _) = check_prepare(session, &text, &arena)?;
    let count = u32::try_from(places.len()).unwrap_or(u32::MAX);
    session.prepared.add_named(name, &text, count, &session.shared.core);
    session.results.set_row_count(0);
    reply.ok(&OkSummary {
        status: session.status_flags(),
        warnings: session.diagnostics.packet_count(),
        info: "Statement prepared",
        ..OkSummary::default()
    })
}

/// EXECUTE name USING @a, ...
pub(crate) fn execute_named<B: Backend>(
    session: &mut Session<B>,
    name: &str,
    using: &[&[u8]],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    if !reply.is_requeued() {
        session.count(StatementKind::ExecuteSql);
        session.shared.process.counts.com_stmt_execute.increment();
    }
    let Some((text, count)) = session.prepared.find_named(name) else {
        return Err(unknown(name, "EXECUTE").into());
    };
    if using.len() != count as usize {
        return Err(ER_WRONG_ARGUMENTS.with(&[&"EXECUTE"]).into());
    }
    let values: Vec<Value> = using
        .iter()
        .map(|variable| {
            session.user_variables.get(&variable.to_ascii_lowercase()).cloned().unwrap_or(Value::Null)
        })
        .collect();
    // Where OUT parameters of a CALL go.
    session.routines.set_using(using.iter().map(|name| name.to_ascii_lowercase()).collect());
    let values: Vec<ValueRef<'_>> = values.iter().map(ValueRef::from).collect();
    let arena = bumpalo::Bump::new();
    session.running.set_executes_named(true);
    let outcome = plan_and_run(session, &text, &arena, &values, false, reply);
    session.running.set_executes_named(false);
    outcome.map(|_| ())
}

/// DEALLOCATE PREPARE name
pub(crate) fn deallocate<B: Backend>(session: &mut Session<B>, name: &str, reply: &mut Reply<'_>) -> Outcome {
    session.count(StatementKind::DeallocSql);
    if !session.prepared.forget_named(name, &session.shared.core) {
        return Err(unknown(name, "DEALLOCATE PREPARE"));
    }
    session.send_ok(reply)
}

/// The parameters whose values lie on disk.
fn long_parameters(long_data: &HashMap<u16, LongData>) -> Vec<LongParameter> {
    let on_disk = |(&number, long): (&u16, &LongData)| {
        Some(LongParameter { number: u32::from(number), value: long.on_disk()? })
    };
    long_data.iter().filter_map(on_disk).collect()
}

/// Definitions of a statement's parameters: MySQL names each `?`.
fn parameter_columns<B: Backend>(count: usize, plan: Option<&CachedPlan<B>>) -> EncodedColumns {
    let unknown = DataType::varchar(0, CollationId::BINARY);
    let types: Vec<&DataType> = (0..count)
        .map(|index| plan.and_then(|plan| plan.parameter_type(index)).unwrap_or(&unknown))
        .collect();
    exec::output::encode_columns(
        types.into_iter().map(|data_type| exec::output::ResultColumn {
            schema: "",
            table: "",
            original_table: "",
            name: "?",
            original_name: "",
            data_type,
            nullable: true,
            flags: 0,
            source: OutputSource::Column,
        }),
        None,
    )
}
