//! CALL: finding the procedure, its frame, and what comes back.

use std::sync::Arc;

use catalog::{RoutineDefinition, RoutineKind};
use exec::output::{ResultColumn, RowEncoder, encode_columns};
use plan::logical::OutputSource;
use service::error as e;
use service::{Capabilities, OkSummary, Outcome, Reply, RowFormat, SqlError, StatusFlags};
use syntax::ast::{self, ExprKind, ParameterMode};
use types::vector::Batch;
use types::{Value, ValueRef};

use super::FRAMES_MAX;
use super::run;
use super::statement;
use crate::backend::Backend;
use crate::conversation::Session;
use crate::conversation::attempt::Attempt;
use crate::conversation::ground::Ground;
use crate::conversation::routines::{Frame, Routines, Saved};
use crate::conversation::session_variables::SessionVariables;
use crate::privilege::{self, SessionAccount};
use crate::routine::program::{SlotType, Target};
use crate::routine::{Routine, plan_type, program_of, switched_variables};
use crate::status::StatementKind;
use crate::variables::Setting;
use crate::variables::definition::known;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// CALL as a statement of the client, or of text that EXECUTE runs.
pub(crate) fn call<B: Backend>(
    session: &mut Session<B>,
    call: &ast::Call<'_>,
    text: &[u8],
    parameters: &[ValueRef<'_>],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    session.count(StatementKind::CallProcedure);
    let name = |name: ast::Ident<'_>| String::from_utf8_lossy(name.text).into_owned();
    let schema = call.name.schema.map(name);
    let callee = find_procedure(session, schema.as_deref(), &name(call.name.name), call.args.len())?;
    let using = session.routines.take_using();
    let binary = reply.row_format() == RowFormat::Binary;
    let mut values = Vec::with_capacity(call.args.len());
    let mut results = Vec::with_capacity(call.args.len());
    for (position, argument) in call.args.iter().enumerate() {
        let mode = callee.program.parameters[position];
        let target = match argument.kind {
            _ if mode == ParameterMode::In => None,
            ExprKind::UserVar(name) => Some(Target::User(name.to_ascii_lowercase())),
            ExprKind::Param(_) if binary => Some(Target::Row),
            ExprKind::Param(ordinal) => using.get(ordinal as usize).cloned().map(Target::User),
            _ => None,
        };
        if mode != ParameterMode::In && target.is_none() {
            return Err(run::not_a_variable(position, &callee).into());
        }
        values.push(match mode {
            ParameterMode::Out => Value::Null,
            _ => value_of(session, argument, text, parameters)?,
        });
        results.push(target);
    }
    let base = session.routines.frames().len();
    let Some(outer_row) = session.routines.begin_call() else { return Err(too_deep().into()) };
    let row_parameters: Vec<usize> =
        (0..results.len()).filter(|&position| results[position] == Some(Target::Row)).collect();
    let outer = reply.begin_procedure(&format!("{}.{}", callee.definition.schema, callee.definition.name));
    let ran = match push_frame(session, Arc::clone(&callee), values, results) {
        Ok(()) => run::run_frames(session, base, reply, &mut Ground::Own),
        Err(error) => Err(error),
    };
    let row = session.routines.end_call(outer_row);
    let sent = match ran {
        // Only a client that says it understands gets the row of OUT parameters.
        Ok(()) if !row_parameters.is_empty() && reply.capabilities().has(Capabilities::PS_MULTI_RESULTS) => {
            send_results(session, &callee, &row_parameters, &row, reply)
        }
        ran => ran,
    };
    reply.end_procedure(outer);
    sent?;
    session.tables.wait_for_commit(reply);
    session.results.set_row_count(session.results.row_count().max(0));
    let summary = OkSummary {
        affected_rows: session.results.row_count().unsigned_abs(),
        status: session.status_flags(),
        warnings: session.diagnostics.packet_count(),
        ..OkSummary::default()
    };
    Ok(reply.ok(&summary)?)
}

/// The value of an argument of a CALL that no routine's own statement makes.
pub(super) fn value_of<B: Backend>(
    session: &mut Session<B>,
    expr: &ast::Expr<'_>,
    text: &[u8],
    parameters: &[ValueRef<'_>],
) -> Attempt<Value> {
    if let ExprKind::Param(ordinal) = expr.kind {
        return Ok(parameters.get(ordinal as usize).map_or(Value::Null, |value| value.to_value()));
    }
    let mut plan = statement::plan_expr(&session.planner(), expr, text, parameters)?;
    let mut rows = statement::collect(session, &mut plan, parameters, 1, false, &mut Ground::Own)?;
    Ok(rows.pop().and_then(|mut row| row.pop()).unwrap_or(Value::Null))
}

/// The row of OUT and INOUT parameters that answers a binary CALL.
fn send_results<B: Backend>(
    session: &mut Session<B>,
    callee: &Routine,
    parameters: &[usize],
    row: &[Value],
    reply: &mut Reply<'_>,
) -> Outcome {
    let types: Vec<_> = parameters
        .iter()
        .map(|&position| match &callee.program.variables[position].slot_type {
            SlotType::Declared(data_type) => plan_type(data_type),
            SlotType::Of(_) => types::DataType::NULL,
        })
        .collect();
    let results = session.variables.settings().results_charset;
    let columns = encode_columns(
        parameters.iter().zip(&types).map(|(&position, data_type)| {
            let name = &callee.program.variables[position].name;
            ResultColumn {
                schema: "",
                table: "",
                original_table: "",
                name,
                original_name: name,
                data_type,
                nullable: true,
                flags: 0,
                source: OutputSource::Expression,
            }
        }),
        results,
    );
    let status = session.status_flags() | StatusFlags::PS_OUT_PARAMS;
    reply.columns(&columns, status, 0)?;
    let mut batch = Batch::new(types.iter().map(types::DataType::physical));
    for ((column, data_type), value) in batch.columns.iter_mut().zip(&types).zip(row) {
        let (from, cell) = types::convert::value_column(value);
        if value.is_null() || from.physical() != data_type.physical() {
            column.push_null();
        } else {
            column.push_cell(cell.cell(0));
        }
    }
    batch.row_count = 1;
    let mut encoder = RowEncoder::new(types.iter(), results, reply.row_format());
    encoder.put_row(&batch, 0, reply.begin_row());
    reply.end_row()?;
    reply.end_rows(status, 0)
}

/// Finds a procedure that takes `argument_count` arguments, compiled, if the account may run it.
///
/// # Errors
/// 1046, 1305, 1318, 1370.
pub(in crate::conversation) fn find_procedure<B: Backend>(
    session: &mut Session<B>,
    schema: Option<&str>,
    name: &str,
    argument_count: usize,
) -> Result<Arc<Routine>> {
    let schema = match (schema, &session.database) {
        (Some(schema), _) => schema.to_owned(),
        (None, Some(current)) => current.to_string(),
        (None, None) => return Err(e::ER_NO_DB_ERROR.bare()),
    };
    let catalog = session.shared.core.catalog().load();
    let shown = format!("{schema}.{name}");
    let found = catalog.routines.get(&schema, RoutineKind::Procedure, name);
    privilege::require_execute(&session.account, &schema, RoutineKind::Procedure, name)?;
    if found.is_none() && plan::bind::is_too_long(name) {
        return Err(e::ER_TOO_LONG_IDENT.with(&[&name]));
    }
    let definition = found.ok_or_else(|| e::ER_SP_DOES_NOT_EXIST.with(&[&"PROCEDURE", &shown]))?;
    let routine = compiled(&mut session.routines, definition)?;
    let expected = routine.program.parameters.len();
    if expected != argument_count {
        let shown = format!("{}.{}", definition.schema, definition.name);
        return Err(e::ER_SP_WRONG_NO_OF_ARGS.with(&[&"PROCEDURE", &shown, &expected, &argument_count]));
    }
    Ok(routine)
}

/// The program of a routine: the one this session has, or a new one.
pub(in crate::conversation) fn compiled<B: Backend>(
    routines: &mut Routines<B>,
    definition: &Arc<RoutineDefinition>,
) -> Result<Arc<Routine>> {
    if let Some(routine) = routines.program(definition) {
        return Ok(routine);
    }
    let program = program_of(definition)?;
    let routine = Arc::new(Routine::new(Arc::clone(definition), program, None));
    routines.keep_program(&routine);
    Ok(routine)
}

/// Puts a frame on top and switches the session to what the routine was made under.
///
/// # Errors
/// 1456, 1436, 1449; an argument that does not fit its parameter.
pub(super) fn push_frame<B: Backend>(
    session: &mut Session<B>,
    routine: Arc<Routine>,
    arguments: Vec<Value>,
    results: Vec<Option<Target>>,
) -> Outcome {
    let definition = Arc::clone(&routine.definition);
    let limit = session.variables.unsigned(known::max_sp_recursion_depth());
    let depth =
        session.routines.frames().iter().filter(|frame| frame.routine.definition.id == definition.id).count();
    if depth as u64 > limit {
        return Err(e::ER_SP_RECURSION_LIMIT.with(&[&limit, &definition.name]));
    }
    if session.routines.frames().len() >= FRAMES_MAX {
        return Err(too_deep());
    }
    let catalog = session.shared.core.catalog().load();
    let account = privilege::routine_account(&session.account, &catalog.accounts, &definition)?;
    let mut slots = vec![Value::Null; routine.program.variables.len()];
    for (position, value) in arguments.into_iter().enumerate() {
        let variable = &routine.program.variables[position];
        if let SlotType::Declared(data_type) = &variable.slot_type {
            slots[position] = statement::converted(session, value, data_type, &variable.name)?;
        }
    }
    enter_frame(session, routine, account, slots, results);
    Ok(())
}

/// Puts a frame on top, for an account that may run it, and switches the session to what the routine was made under.
pub(in crate::conversation) fn enter_frame<B: Backend>(
    session: &mut Session<B>,
    routine: Arc<Routine>,
    account: Arc<SessionAccount>,
    slots: Vec<Value>,
    results: Vec<Option<Target>>,
) {
    let (plans, fits_at) = session.routines.take_plans(&routine);
    let cursors = routine.program.cursors.iter().map(|_| None).collect();
    // Nearly always a routine finds the settings under which it was made.
    let settings = match fits_at == Some(session.variables.generation()) {
        true => None,
        false => switch_settings(&mut session.variables, &routine.settings),
    };
    let saved = Saved {
        database: session.database.clone(),
        account: session.account.switch(account),
        settings,
        generation: session.variables.generation(),
    };
    if session.database.as_deref() != Some(&*routine.definition.schema) {
        session.switch_database(Some(Arc::clone(&routine.definition.schema)));
    }
    let at = 0;
    let handlers = Vec::new();
    let value_name = None;
    let frame =
        Frame { routine, slots, plans, cursors, at, handlers, results, value_name, scope: None, saved };
    session.routines.push(frame);
}

/// Takes all frames away: account, database and modes of the client's call come back.
pub(crate) fn pop_frames<B: Backend>(session: &mut Session<B>) {
    pop_frames_to(session, 0);
}

/// Takes the innermost frames away until `depth` of them are left.
pub(crate) fn pop_frames_to<B: Backend>(session: &mut Session<B>, depth: usize) {
    while session.routines.depth() > depth {
        pop_frame(session);
    }
}

/// Takes the innermost frame away, unfinished or not, and puts back what it changed of the session.
pub(in crate::conversation) fn pop_frame<B: Backend>(session: &mut Session<B>) -> Option<Frame<B>> {
    let mut frame = session.routines.pop()?;
    let is_changed = session.variables.generation() != frame.saved.generation;
    if is_changed || frame.saved.settings.is_some() {
        let before = frame.saved.settings.as_ref().unwrap_or(&frame.routine.settings);
        switch_settings(&mut session.variables, before);
    }
    if session.database != frame.saved.database {
        session.switch_database(frame.saved.database.take());
    }
    session.account.restore(&frame.saved.account, &session.shared.core);
    Some(frame)
}

/// Sets the switched variables; answers what they were, if they were others.
fn switch_settings(variables: &mut SessionVariables, wanted: &[Setting; 4]) -> Option<[Setting; 4]> {
    let pairs = switched_variables().into_iter().zip(wanted);
    if pairs.clone().all(|(id, setting)| variables.get(id) == setting) {
        return None;
    }
    let before = switched_variables().map(|id| variables.get(id).clone());
    variables.set(pairs.map(|(id, setting)| (id, setting.clone())));
    Some(before)
}

/// The end of a routine: values of its OUT parameters go back, and its caller goes on behind the CALL.
pub(super) fn return_from_frame<B: Backend>(
    session: &mut Session<B>,
    base: usize,
    ground: &mut Ground<'_>,
) -> Outcome {
    let Some(mut frame) = pop_frame(session) else { return Ok(()) };
    for (position, target) in frame.results.iter().enumerate() {
        if let Some(target) = target {
            let value = std::mem::replace(&mut frame.slots[position], Value::Null);
            statement::assign_on(session, target, value, ground)?;
        }
    }
    // Of a CALL that is no instruction nothing goes on here.
    match session.routines.frames().last() {
        Some(caller) if session.routines.frames().len() > base => {
            let next = caller.at + 1;
            run::go_on(session, next)
        }
        _ => Ok(()),
    }
}

#[cold]
pub(in crate::conversation) fn too_deep() -> Box<SqlError> {
    e::ER_STACK_OVERRUN_NEED_MORE.with(&[&FRAMES_MAX, &FRAMES_MAX, &1])
}
