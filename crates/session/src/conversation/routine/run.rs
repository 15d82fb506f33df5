//! The loop that runs routines, one instruction after the other.

use std::sync::Arc;

use service::error as e;
use service::{Outcome, Reply, SqlError};
use types::Value;

use super::call;
use super::condition;
use super::handler;
use super::statement;
use crate::backend::Backend;
use crate::conversation::Session;
use crate::conversation::attempt::{Attempt, until_planned};
use crate::conversation::ground::Ground;
use crate::conversation::routines::OpenCursor;
use crate::routine::Routine;
use crate::routine::program::{Argument, CursorId, DiagnoseItems, Instruction, Slot};

/// Instructions between two looks at whether others wait for this thread.
const TICK_INSTRUCTIONS: u32 = 64;

/// Runs the innermost frame, and those it calls, until frames are `base` again.
pub(in crate::conversation) fn run_frames<B: Backend>(
    session: &mut Session<B>,
    base: usize,
    reply: &mut Reply<'_>,
    ground: &mut Ground<'_>,
) -> Outcome {
    let mut count = 0u32;
    while session.routines.frames().len() > base {
        count = count.wrapping_add(1);
        if count.is_multiple_of(TICK_INSTRUCTIONS) {
            env::blocking::tick();
        }
        if let Err(error) = until_planned(|| step(session, base, reply, ground)).without_requeue() {
            handler::handle_error(session, base, error, reply)?;
        }
    }
    Ok(())
}

/// One instruction.
fn step<B: Backend>(
    session: &mut Session<B>,
    base: usize,
    reply: &mut Reply<'_>,
    ground: &mut Ground<'_>,
) -> Attempt<()> {
    crate::limits::check_interrupted(&session.shared.control)?;
    let frame = session.routines.frame()?;
    let at = frame.at;
    let routine = Arc::clone(&frame.routine);
    let program = &routine.program;
    let next = match &program.instructions[at] {
        Instruction::Run(statement) => {
            statement::run_embedded(session, program, *statement, reply, ground)?;
            at + 1
        }
        Instruction::Assign { slot, value, .. } => {
            session.diagnostics.clear();
            let value = statement::compute(session, program, *value, true, ground)?;
            statement::assign_slot(session, *slot, value)?;
            at + 1
        }
        Instruction::AssignTo { target, value } => {
            session.diagnostics.clear();
            let value = statement::compute(session, program, *value, false, ground)?;
            statement::assign_on(session, target, value, ground)?;
            at + 1
        }
        Instruction::Clear { first, end } => {
            session.routines.frame()?.slots[*first..*end].fill(Value::Null);
            at + 1
        }
        Instruction::Jump(to) => {
            session.routines.frame()?.at = *to;
            return Ok(());
        }
        Instruction::JumpUnless { condition, to, .. } => {
            let value = statement::compute(session, program, *condition, false, ground)?;
            // Conditions are planned as IS TRUE.
            if value == Value::Int(1) { at + 1 } else { *to }
        }
        Instruction::CaseNotFound => return Err(e::ER_SP_CASE_NOT_FOUND.bare().into()),
        Instruction::Open(cursor) => {
            session.diagnostics.clear();
            open_cursor(session, &routine, *cursor, ground)?;
            at + 1
        }
        Instruction::Close(cursor) => {
            let open = session.routines.frame()?.cursors[*cursor].take();
            open.ok_or_else(|| e::ER_SP_CURSOR_NOT_OPEN.bare())?;
            at + 1
        }
        Instruction::Fetch { cursor, into } => {
            fetch(session, *cursor, into)?;
            at + 1
        }
        Instruction::CloseAll { first, end } => {
            session.routines.frame()?.cursors[*first..*end].iter_mut().for_each(|cursor| *cursor = None);
            at + 1
        }
        Instruction::Call { name, arguments } => {
            return call_from_routine(session, &routine, name, arguments, ground);
        }
        Instruction::Signal(raise) => {
            let mut items = Vec::with_capacity(raise.items.len());
            for (item, value) in &raise.items {
                items.push((*item, statement::compute(session, program, *value, false, ground)?));
            }
            condition::raise(session, raise.again, raise.state, items)?;
            at + 1
        }
        Instruction::Diagnose(diagnose) => {
            match &diagnose.what {
                DiagnoseItems::Statement(items) => {
                    condition::statement_information(session, diagnose.stacked, items)?;
                }
                DiagnoseItems::Condition(number, items) => {
                    let number = statement::compute(session, program, *number, false, ground)?;
                    condition::condition_information(session, diagnose.stacked, &number, items)?;
                }
            }
            // What it reads is not raised again.
            session.routines.frame()?.at = at + 1;
            return Ok(());
        }
        Instruction::HandlerEnd => {
            if session.diagnostics.are_inherited() {
                session.diagnostics.clear();
            }
            let frame = session.routines.frame()?;
            frame.at = frame.handlers.pop().map_or(at + 1, |handler| handler.resume);
            return Ok(());
        }
        Instruction::Return => return Ok(call::return_from_frame(session, base, ground)?),
        Instruction::ReturnValue(value) => {
            session.diagnostics.clear();
            let value = statement::compute(session, program, *value, true, ground)?;
            statement::return_value(session, &routine, &value)?;
            return Ok(call::return_from_frame(session, base, ground)?);
        }
        Instruction::NoReturn => {
            return Err(e::ER_SP_NORETURNEND.with(&[&routine.definition.name]).into());
        }
    };
    Ok(go_on(session, next)?)
}

/// After an instruction that went well: to the handler of its warnings, or to the next one.
pub(super) fn go_on<B: Backend>(session: &mut Session<B>, next: usize) -> Outcome {
    if !handler::handle_warnings(session, next) {
        session.routines.frame()?.at = next;
    }
    Ok(())
}

fn open_cursor<B: Backend>(
    session: &mut Session<B>,
    routine: &Routine,
    cursor: CursorId,
    ground: &mut Ground<'_>,
) -> Attempt<()> {
    if session.routines.frame()?.cursors[cursor].is_some() {
        return Err(e::ER_SP_CURSOR_ALREADY_OPEN.bare().into());
    }
    let statement = routine.program.cursors[cursor].statement;
    let (types, rows) = statement::cursor_rows(session, &routine.program, statement, ground)?;
    session.routines.frame()?.cursors[cursor] =
        Some(OpenCursor { column_count: types.len(), rows: rows.into_iter() });
    Ok(())
}

fn fetch<B: Backend>(session: &mut Session<B>, cursor: CursorId, into: &[Slot]) -> Outcome {
    session.diagnostics.clear();
    let Some(open) = &mut session.routines.frame()?.cursors[cursor] else {
        return Err(e::ER_SP_CURSOR_NOT_OPEN.bare());
    };
    if open.column_count != into.len() {
        return Err(e::ER_SP_WRONG_NO_OF_FETCH_ARGS.bare());
    }
    let row = open.rows.next().ok_or_else(|| e::ER_SP_FETCH_NO_DATA.bare())?;
    into.iter().zip(row).try_for_each(|(slot, value)| statement::assign_slot(session, *slot, value))
}

/// CALL inside a routine: the arguments, then a frame on top.
fn call_from_routine<B: Backend>(
    session: &mut Session<B>,
    routine: &Routine,
    name: &(Option<Box<str>>, Box<str>),
    arguments: &[Argument],
    ground: &mut Ground<'_>,
) -> Attempt<()> {
    session.diagnostics.clear();
    session.account.renew(&session.shared.core);
    let callee = call::find_procedure(session, name.0.as_deref(), &name.1, arguments.len())?;
    let mut values = Vec::with_capacity(arguments.len());
    let mut results = Vec::with_capacity(arguments.len());
    for (position, argument) in arguments.iter().enumerate() {
        let mode = callee.program.parameters[position];
        let goes_out = mode != syntax::ast::ParameterMode::In;
        if goes_out && argument.target.is_none() {
            return Err(not_a_variable(position, &callee).into());
        }
        values.push(match mode {
            syntax::ast::ParameterMode::Out => Value::Null,
            _ => statement::compute(session, &routine.program, argument.value, false, ground)?,
        });
        results.push(argument.target.clone().filter(|_| goes_out));
    }
    Ok(call::push_frame(session, callee, values, results)?)
}

/// 1414
#[cold]
pub(super) fn not_a_variable(position: usize, callee: &Routine) -> Box<SqlError> {
    let definition = &callee.definition;
    let name = format!("{}.{}", definition.schema, definition.name);
    e::ER_SP_NOT_VAR_ARG.with(&[&(position + 1), &name])
}
