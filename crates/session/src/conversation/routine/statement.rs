//! Statements and expressions of a routine: planned when they first run, run with the variables as parameters.

use exec::output::CollectSink;
use service::error as e;
use service::{Outcome, Reply, SqlError};
use syntax::ast::{
    self, ColumnRef, Expr, ExprKind, Ident, Into as IntoClause, IntoVar, Query, QueryBody, Select,
    SelectItem, Span, Statement,
};
use types::convert::{Severity, StoreOptions, store_value};
use types::temporal::parse::DateMode;
use types::vector::Column;
use types::{DataType, TypeKind, Value, ValueRef};

use crate::backend::Backend;
use crate::conversation;
use crate::conversation::attempt::Attempt;
use crate::conversation::context;
use crate::conversation::execution;
use crate::conversation::ground::Ground;
use crate::conversation::inside;
use crate::conversation::into_file::{self, FileTarget};
use crate::conversation::plans::{Planner, into_of};
use crate::conversation::routines::{Planned, RoutineInto, Routines};
use crate::conversation::{Session, access};
use crate::plans::PlanHandle;
use crate::routine::program::{EmbeddedKind, Program, Slot, SlotType, StatementId, Target};
use crate::routine::{Routine, compile, in_function};
use crate::variables::sql_mode::SqlModes;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Runs a statement of the program; its rows go to the client.
pub(super) fn run_embedded<B: Backend>(
    session: &mut Session<B>,
    program: &Program,
    id: StatementId,
    reply: &mut Reply<'_>,
    ground: &mut Ground<'_>,
) -> Attempt<()> {
    let embedded = &program.statements[id];
    match embedded.kind {
        EmbeddedKind::Planned | EmbeddedKind::Rows => {
            session.diagnostics.clear();
            session.account.renew(&session.shared.core);
            let mut planned = take_plan(session, program, id)?;
            let ran = match &planned.into {
                Some(RoutineInto::Targets(targets)) => {
                    run_into_targets(session, &mut planned.plan, targets, ground)
                }
                Some(RoutineInto::File(target)) => run_into_file(session, &mut planned.plan, target, ground),
                None => match ground {
                    Ground::Own => run_with_slots(session, &mut planned.plan, reply),
                    Ground::Lent(lent) => {
                        inside::run_inside(session, &planned.plan, lent).map_err(Into::into)
                    }
                },
            };
            keep_plan_of(&mut session.routines, id, planned)?;
            ran
        }
        _ => {
            let scope = (embedded.kind != EmbeddedKind::Dynamic).then_some(embedded.scope);
            session.routines.frame()?.scope = scope;
            let arena = bumpalo::Bump::new();
            let parsed =
                syntax::parse(&embedded.text, &arena, session.variables.settings().sql_mode.for_syntax())
                    .map_err(|error| crate::errors::syntax_error(&error))?;
            if matches!(ground, Ground::Lent(_)) {
                return run_other_inside(session, &parsed.statement, &embedded.text, reply, ground);
            }
            session.running.set_text(&embedded.text);
            session.dispatch(&parsed.statement, &embedded.text, &[], reply)
        }
    }
}

/// Runs a statement without a plan inside another one. What reads rows in it does so as the statement around it.
fn run_other_inside<B: Backend>(
    session: &mut Session<B>,
    statement: &Statement<'_>,
    text: &[u8],
    reply: &mut Reply<'_>,
    ground: &mut Ground<'_>,
) -> Attempt<()> {
    in_function::require_allowed(statement, session.routines.inside_word())?;
    let Statement::Set(items) = statement else {
        session.running.set_text(text);
        return session.dispatch(statement, text, &[], reply);
    };
    for item in *items {
        let ast::SetItem::UserVar { name, value } = item else {
            session.running.set_text(text);
            session.dispatch(&Statement::Set(std::slice::from_ref(item)), text, &[], reply)?;
            continue;
        };
        let mut plan = plan_expr(&session.planner(), value, text, &[])?;
        let mut rows = collect(session, &mut plan, &[], 1, false, ground)?;
        let value = rows.pop().and_then(|mut row| row.pop()).unwrap_or(Value::Null);
        session.user_variables.insert(name.to_ascii_lowercase(), value);
    }
    Ok(())
}

/// Runs a plan with the frame's slots as parameters.
fn run_with_slots<B: Backend>(
    session: &mut Session<B>,
    plan: &mut PlanHandle<B>,
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    let slots = std::mem::take(&mut session.routines.frame()?.slots);
    let values: Vec<ValueRef<'_>> = slots.iter().map(ValueRef::from).collect();
    let ran = conversation::run::run_cached(session, plan, &values, false, reply);
    session.routines.frame()?.slots = slots;
    ran.map(|_| ())
}

/// The value of an expression of the program. `assigns`: it is for a variable, so strict mode makes errors of
/// warnings.
pub(super) fn compute<B: Backend>(
    session: &mut Session<B>,
    program: &Program,
    id: StatementId,
    assigns: bool,
    ground: &mut Ground<'_>,
) -> Attempt<Value> {
    if let Some(value) = single_value(session, id) {
        return Ok(value);
    }
    let mut planned = take_plan(session, program, id)?;
    let value = value_of_plan(session, &mut planned, assigns, ground);
    keep_plan_of(&mut session.routines, id, planned)?;
    value
}

/// The value of an expression: computed alone if it reads nothing and its time is not limited, else by a query of one row.
fn value_of_plan<B: Backend>(
    session: &mut Session<B>,
    planned: &mut Planned<B>,
    assigns: bool,
    ground: &mut Ground<'_>,
) -> Attempt<Value> {
    let is_limited =
        session.variables.settings().max_execution_ms != 0 || planned.plan.max_execution_ms().is_some();
    let Some(memory) = planned.memory.as_mut().filter(|_| !is_limited) else {
        let rows = collect(session, &mut planned.plan, &[], 1, assigns, ground)?;
        return Ok(rows.into_iter().next().and_then(|mut row| row.pop()).unwrap_or(Value::Null));
    };
    let now_micros = match ground {
        Ground::Own => session.functions.now_micros(&session.shared.core),
        Ground::Lent(lent) => lent.now_micros(),
    };
    let slots = std::mem::take(&mut session.routines.frame()?.slots);
    let value = context::value_of(session, &planned.plan, &slots, memory, now_micros, assigns);
    session.routines.frame()?.slots = slots;
    Ok(value?)
}

/// The value of an expression whose plan is there, if it needs no execution: it reads the frame's variables alone, and says nothing.
fn single_value<B: Backend>(session: &Session<B>, id: StatementId) -> Option<Value> {
    let frame = session.routines.frames().last()?;
    let plan = &frame.plans[id].as_ref()?.plan;
    if !session.plan_fit().takes_any(plan) {
        return None;
    }
    plan.prepared().single_value(&frame.slots)
}

/// The rows of a cursor's query, with their types.
pub(super) fn cursor_rows<B: Backend>(
    session: &mut Session<B>,
    program: &Program,
    id: StatementId,
    ground: &mut Ground<'_>,
) -> Attempt<(Vec<DataType>, Vec<Vec<Value>>)> {
    let mut planned = take_plan(session, program, id)?;
    let rows = collect(session, &mut planned.plan, &[], usize::MAX, false, ground);
    let types = planned.plan.output_types().cloned().collect();
    keep_plan_of(&mut session.routines, id, planned)?;
    Ok((types, rows?))
}

/// Takes the plan of a statement out of the frame, made again if the one there does not hold any more.
pub(in crate::conversation) fn take_plan<B: Backend>(
    session: &mut Session<B>,
    program: &Program,
    id: StatementId,
) -> Result<Planned<B>> {
    let embedded = &program.statements[id];
    let frame = session.routines.frame()?;
    frame.scope = Some(embedded.scope);
    if let Some(planned) = frame.plans[id].take()
        && session.plan_fit().takes_any(&planned.plan)
    {
        return Ok(planned);
    }
    let arena = bumpalo::Bump::new();
    let mode = session.variables.settings().sql_mode.for_syntax();
    let failed = |error: Box<syntax::SyntaxError>| crate::errors::syntax_error(&error);
    match embedded.kind {
        EmbeddedKind::Expression | EmbeddedKind::Condition | EmbeddedKind::Equals(_) => {
            let expr = syntax::parse_expr(&embedded.text, &arena, mode).map_err(failed)?;
            let plan = match embedded.kind {
                EmbeddedKind::Equals(slot) => plan_equals(&session.planner(), slot, &expr, &embedded.text)?,
                EmbeddedKind::Condition => {
                    let kind = ExprKind::Is { expr: &expr, test: ast::IsTest::True, negated: false };
                    plan_expr(&session.planner(), &Expr { kind, span: expr.span }, &embedded.text, &[])?
                }
                _ => plan_expr(&session.planner(), &expr, &embedded.text, &[])?,
            };
            let memory = plan.prepared().value_memory();
            Ok(Planned { plan, into: None, memory })
        }
        _ => {
            let parsed = syntax::parse(&embedded.text, &arena, mode).map_err(failed)?;
            let plan = session.planner().plan_statement(&parsed.statement, &embedded.text, &[])?;
            let into = into_of(&parsed.statement)
                .map(|into| into_of_routine(program, embedded.scope, into))
                .transpose()?;
            Ok(Planned { plan, into, memory: None })
        }
    }
}

pub(in crate::conversation) fn keep_plan_of<B: Backend>(
    routines: &mut Routines<B>,
    id: StatementId,
    mut planned: Planned<B>,
) -> Outcome {
    // That of a statement that failed before it ran.
    planned.plan.take_deadline();
    routines.frame()?.plans[id] = Some(planned);
    Ok(())
}

/// `operand = value` of a CASE.
fn plan_equals<B: Backend>(
    planner: &Planner<'_, B>,
    slot: Slot,
    value: &Expr<'_>,
    text: &[u8],
) -> Result<PlanHandle<B>> {
    let name = compile::operand_name(slot);
    let name = Ident { text: name.as_bytes(), span: Span::default() };
    let column = ColumnRef { schema: None, table: None, name };
    let operand = Expr { kind: ExprKind::Column(&column), span: Span::default() };
    let kind = ExprKind::Compare { op: ast::CompareOp::Eq, left: &operand, right: value };
    plan_expr(planner, &Expr { kind, span: value.span }, text, &[])
}

/// Plans an expression as a query of one row and one column.
pub(in crate::conversation) fn plan_expr<B: Backend>(
    planner: &Planner<'_, B>,
    expr: &Expr<'_>,
    text: &[u8],
    values: &[ValueRef<'_>],
) -> Result<PlanHandle<B>> {
    let items = [SelectItem::Expr { expr: *expr, alias: None, source: expr.span }];
    let select = Select {
        options: ast::SelectOptions::default(),
        hints: None,
        items: &items,
        from: &[],
        where_: None,
        group_by: &[],
        grouping: ast::GroupingKind::Plain,
        having: None,
        windows: &[],
        qualify: None,
        span: expr.span,
    };
    let query = Query {
        with: None,
        body: QueryBody::Select(&select),
        order_by: &[],
        limit: None,
        locking: &[],
        into: None,
        into_is_inner: false,
        span: expr.span,
    };
    planner.plan_statement(&Statement::Query(&query), text, values)
}

/// Runs a query and keeps its rows, at most `rows_max`; a statement of its own where it reads tables.
pub(super) fn collect<B: Backend>(
    session: &mut Session<B>,
    plan: &mut PlanHandle<B>,
    values: &[ValueRef<'_>],
    rows_max: usize,
    assigns: bool,
    ground: &mut Ground<'_>,
) -> Attempt<Vec<Vec<Value>>> {
    access::require_plan(&session.account, plan.physical())?;
    conversation::run::require_join_size(session.variables.settings(), plan, values)?;
    let mut sink = CollectSink::new(plan.output_types().cloned().collect(), rows_max);
    if let Ground::Lent(lent) = ground {
        session.routines.set_assigning(assigns);
        let ran = inside::with_slots(session, plan, lent, |prepared, context| {
            exec::run_query(prepared, context, &mut sink)
        });
        session.routines.set_assigning(false);
        ran?;
        return Ok(sink.rows);
    }
    execution::run_limited(session, plan, |session, plan| {
        execution::in_statement(session, plan, false, |session, in_transaction| {
            session.routines.set_assigning(assigns);
            let ran = context::with_context(session, plan, values, |prepared, context| {
                exec::run_query(prepared, context, &mut sink)
            });
            session.routines.set_assigning(false);
            ran?;
            if in_transaction { session.tables.end_statement(&session.shared) } else { Ok(()) }
        })
    })?;
    Ok(sink.rows)
}

/// SELECT ... INTO OUTFILE, INTO DUMPFILE.
fn run_into_file<B: Backend>(
    session: &mut Session<B>,
    plan: &mut PlanHandle<B>,
    target: &FileTarget,
    ground: &mut Ground<'_>,
) -> Attempt<()> {
    into_file::require_privilege(&session.account)?;
    access::require_plan(&session.account, plan.physical())?;
    conversation::run::require_join_size(session.variables.settings(), plan, &[])?;
    session.count(crate::status::StatementKind::Select);
    let rows = if let Ground::Lent(lent) = ground {
        into_file::write(session, plan, target, u64::MAX, |session, sink| {
            inside::with_slots(session, plan, lent, |prepared, context| {
                exec::run_query(prepared, context, sink)
            })
        })?
    } else {
        execution::run_limited(session, plan, |session, plan| {
            execution::in_statement(session, plan, false, |session, in_transaction| {
                let rows = into_file::write(session, plan, target, u64::MAX, |session, sink| {
                    context::with_context(session, plan, &[], |prepared, context| {
                        exec::run_query(prepared, context, sink)
                    })
                })?;
                if in_transaction {
                    session.tables.end_statement(&session.shared)?;
                }
                Ok(rows)
            })
        })?
    };
    session.results.set_row_count(i64::try_from(rows).unwrap_or(i64::MAX));
    Ok(())
}

/// SELECT ... INTO variables.
fn run_into_targets<B: Backend>(
    session: &mut Session<B>,
    plan: &mut PlanHandle<B>,
    targets: &[Target],
    ground: &mut Ground<'_>,
) -> Attempt<()> {
    if plan.output_types().count() != targets.len() {
        return Err(e::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT.bare().into());
    }
    session.count(crate::status::StatementKind::Select);
    let assigns = targets.iter().any(|target| matches!(target, Target::Local(_)));
    let mut rows = collect(session, plan, &[], 2, assigns, ground)?;
    if rows.len() > 1 {
        return Err(e::ER_TOO_MANY_ROWS.bare().into());
    }
    session.results.set_row_count(i64::try_from(rows.len()).unwrap_or(0));
    match rows.pop() {
        Some(row) => {
            targets.iter().zip(row).try_for_each(|(target, value)| assign_target(session, target, value))?;
        }
        None => {
            session
                .diagnostics
                .push(e::ER_SP_FETCH_NO_DATA.warning(&[]), session.variables.settings().diagnostics);
        }
    }
    Ok(())
}

/// Puts a value where it belongs.
pub(super) fn assign_target<B: Backend>(session: &mut Session<B>, target: &Target, value: Value) -> Outcome {
    match target {
        Target::Local(slot) => assign_slot(session, *slot, value),
        Target::User(name) => {
            session.user_variables.insert(name.clone(), value);
            Ok(())
        }
        Target::Row => {
            session.routines.push_to_row(value);
            Ok(())
        }
        Target::New(_) => Err(e::ER_INTERNAL_ERROR.with(&[&"NEW outside of a trigger"])),
    }
}

/// The same, where it may belong to the row of a trigger.
pub(super) fn assign_on<B: Backend>(
    session: &mut Session<B>,
    target: &Target,
    value: Value,
    ground: &mut Ground<'_>,
) -> Outcome {
    let Target::New(at) = target else { return assign_target(session, target, value) };
    let routine = std::sync::Arc::clone(&session.routines.frame()?.routine);
    let row = &routine.program.row_slots[*at];
    let SlotType::Declared(data_type) = &routine.program.variables[row.slot].slot_type else {
        return Err(e::ER_INTERNAL_ERROR.with(&[&"a column without a type"]));
    };
    let column = stored(session, &value, data_type, &row.name)?;
    session.routines.frame()?.slots[row.slot] = exec::output::value_of(column.cell(0), data_type);
    match ground {
        Ground::Lent(lent) => lent.put(row.ordinal, column.cell(0)),
        Ground::Own => Err(e::ER_INTERNAL_ERROR.with(&[&"a row outside of its statement"])),
    }
}

/// Keeps the value of the function in run, converted to its type.
///
/// # Errors
/// What does not fit, in strict mode.
pub(super) fn return_value<B: Backend>(
    session: &mut Session<B>,
    routine: &Routine,
    value: &Value,
) -> Outcome {
    let Some(data_type) = &routine.program.returns else {
        return Err(e::ER_INTERNAL_ERROR.with(&[&"RETURN outside of a function"]));
    };
    let name = session.routines.frame()?.value_name.clone();
    let name = name.as_deref().unwrap_or(&routine.definition.name);
    let column = stored(session, value, data_type, name)?;
    session.routines.set_returned(column);
    Ok(())
}

/// Gives a variable of the innermost frame a value, converted to its type.
pub(super) fn assign_slot<B: Backend>(session: &mut Session<B>, slot: Slot, value: Value) -> Outcome {
    let routine = std::sync::Arc::clone(&session.routines.frame()?.routine);
    let variable = &routine.program.variables[slot];
    let value = match &variable.slot_type {
        SlotType::Declared(data_type) => converted(session, value, data_type, &variable.name)?,
        SlotType::Of(_) => value,
    };
    session.routines.frame()?.slots[slot] = value;
    Ok(())
}

/// A value as a variable of this type holds it.
///
/// # Errors
/// What does not fit, in strict mode.
pub(in crate::conversation) fn converted<B: Backend>(
    session: &mut Session<B>,
    value: Value,
    to: &DataType,
    name: &str,
) -> Result<Value> {
    match (&value, to.kind) {
        (Value::Null, _) => return Ok(value),
        (Value::Int(number), TypeKind::BigInt) if !to.unsigned => return Ok(Value::Int(*number)),
        (Value::Int(number), TypeKind::Int) if !to.unsigned && i32::try_from(*number).is_ok() => {
            return Ok(value);
        }
        _ => {}
    }
    let column = stored(session, &value, to, name)?;
    Ok(exec::output::value_of(column.cell(0), to))
}

/// The same as a cell of that type.
fn stored<B: Backend>(session: &mut Session<B>, value: &Value, to: &DataType, name: &str) -> Result<Column> {
    if value.is_null() {
        let mut column = Column::new(to.physical());
        column.push_null();
        return Ok(column);
    }
    if let Value::Int(number) = *value
        && !to.unsigned
        && (to.kind == TypeKind::BigInt || to.kind == TypeKind::Int && i32::try_from(number).is_ok())
    {
        let mut column = Column::new(to.physical());
        column.push_int(number);
        return Ok(column);
    }
    let mode = session.variables.settings().sql_mode;
    let zone = std::sync::Arc::clone(&session.variables.settings().time_zone);
    let options = StoreOptions {
        date_mode: DateMode {
            no_zero_in_date: mode.has(SqlModes::NO_ZERO_IN_DATE),
            no_zero_date: mode.has(SqlModes::NO_ZERO_DATE),
            truncates_fraction: mode.has(SqlModes::TIME_TRUNCATE_FRACTIONAL),
            allow_invalid: mode.has(SqlModes::ALLOW_INVALID_DATES),
        },
        truncate_fraction: mode.has(SqlModes::TIME_TRUNCATE_FRACTIONAL),
        time_zone: &zone,
        now_utc_micros: session.functions.now_micros(&session.shared.core),
    };
    let mut column = Column::new(to.physical());
    if let Some(issue) = store_value(value, to, &options, &mut column) {
        let report = issue.report(mode.is_strict(), "", name, 1);
        let code = service::Code::by_number(report.number).unwrap_or(e::ER_INTERNAL_ERROR);
        let error = code.saying(report.message);
        let mut diagnostic = error.diagnostic();
        match report.severity {
            Severity::Error => return Err(error),
            Severity::Warning => diagnostic.level = service::Level::Warning,
            Severity::Note => diagnostic.level = service::Level::Note,
        }
        session.diagnostics.push(diagnostic, session.variables.settings().diagnostics);
    }
    Ok(column)
}

/// Where the rows of SELECT ... INTO go.
fn into_of_routine(program: &Program, scope: usize, into: &IntoClause<'_>) -> Result<RoutineInto> {
    if let Some(target) = FileTarget::of(into)? {
        return Ok(RoutineInto::File(target));
    }
    let IntoClause::Variables(targets) = into else {
        return Err(e::ER_INTERNAL_ERROR.with(&[&"INTO without a target"]));
    };
    let target = |target: &IntoVar<'_>| match target {
        IntoVar::User(name) => Ok(Target::User(name.to_ascii_lowercase())),
        IntoVar::Local(name) => {
            let text = String::from_utf8_lossy(name.text);
            let slot = program.find(scope, &text);
            slot.map(Target::Local).ok_or_else(|| e::ER_SP_UNDECLARED_VAR.with(&[&text]))
        }
    };
    Ok(RoutineInto::Targets(targets.iter().map(target).collect::<Result<_>>()?))
}
