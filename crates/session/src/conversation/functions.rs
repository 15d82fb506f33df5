//! Stored functions: how expressions call them, and the account they run as.
//!
//! ```text
//! SELECT f(a) ...   lock_programs   metadata locks of all tables that the functions may use ([`super::triggers`])
//!                   call            exec -> a frame with the arguments in its slots -> its instructions, inside the statement
//! ```
//!
//! A function runs as a trigger does: over what the statement lends ([`super::ground`]), so that what it changes belongs to the statement.
//!
//! Invariants:
//! 1. What a function changes of the session (diagnostics, LAST_INSERT_ID(), ROW_COUNT(), account, `sql_mode`) is as before when it
//!    has run; user variables stay, and the conditions of its RETURN are the statement's.
//! 2. A function in run is not called again (1424).

use std::sync::Arc;

use exec::expr::{FiredRow, FunctionCall, SqlResult, StatementGround};
use plan::StoredCall;
use service::error as e;
use service::{Capabilities, Discard, Reply, RowFormat, SqlError};
use types::Value;
use wire::PacketBuffer;

use super::Session;
use super::ground::{Ground, Lent};
use super::routine::{FRAMES_MAX, call as frames, run, statement};
use crate::backend::Backend;
use crate::privilege::{self, SessionAccount};
use crate::routine::Routine;
use crate::routine::program::SlotType;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// The program of the function that is called, and the account it runs as.
///
/// # Errors
/// 1370, 1449.
pub(super) fn program_of<B: Backend>(
    session: &mut Session<B>,
    call: &StoredCall,
) -> Result<(Arc<Routine>, Arc<SessionAccount>)> {
    let routine = frames::compiled(&mut session.routines, &call.function.definition)?;
    let definition = &routine.definition;
    let catalog = session.shared.core.catalog().load();
    let accounts = &catalog.accounts;
    let account = match (definition.invoker, &call.definer) {
        (true, None) => Arc::clone(&session.account),
        (true, Some(definer)) => {
            let account = privilege::definer_account(accounts, definer)?;
            privilege::require_execute(&account, &definition.schema, definition.kind, &definition.name)?;
            account
        }
        (false, _) => match session.routines.firing().definer_of(&routine, accounts) {
            Some(account) => account,
            None => {
                let account = privilege::routine_account(&session.account, accounts, definition)?;
                session.routines.firing().keep_definer(&routine, accounts, &account);
                account
            }
        },
    };
    Ok((routine, account))
}

/// Calls a function for a row, inside the statement that has the call.
///
/// # Errors
/// 1424, 1436; an argument that does not fit; the function's.
pub(super) fn call<B: Backend>(
    session: &mut Session<B>,
    call: FunctionCall<'_>,
    ground: StatementGround<'_>,
    now_micros: i64,
) -> SqlResult<()> {
    let StatementGround { rows, snapshot } = ground;
    let FunctionCall { call, arguments, out } = call;
    if session.routines.calls_function(call.function.definition.id) {
        return Err(e::ER_SP_NO_RECURSION.bare());
    }
    if env::stack::is_deep() || session.routines.frames().len() >= FRAMES_MAX {
        return Err(frames::too_deep());
    }
    let (routine, account) = program_of(session, call)?;
    let mut slots = vec![Value::Null; routine.program.variables.len()];
    for (position, value) in arguments.into_iter().enumerate() {
        let variable = &routine.program.variables[position];
        if let SlotType::Declared(data_type) = &variable.slot_type {
            slots[position] = statement::converted(session, value, data_type, &variable.name)?;
        }
    }
    let diagnostics = std::mem::take(&mut session.diagnostics);
    let results = session.results;
    let base = session.routines.frames().len();
    frames::enter_frame(session, routine, account, slots, Vec::new());
    session.routines.frame()?.value_name = Some(Arc::clone(&call.shown));
    let mut ground = Ground::Lent(Lent { rows, snapshot, now_micros, new: FiredRow::None });
    let (mut packets, mut link) = (PacketBuffer::new(), Discard);
    let mut reply = Reply::new(&mut packets, &mut link, Capabilities(0), RowFormat::Text);
    let ran = run::run_frames(session, base, &mut reply, &mut ground);
    session.results = results;
    let own = std::mem::replace(&mut session.diagnostics, diagnostics);
    if let Err(error) = ran {
        session.diagnostics.expect_as(own);
        return Err(error);
    }
    let rules = session.variables.settings().diagnostics;
    session.diagnostics.extend_counted(own.kept().iter().cloned(), own.warning_count(), rules);
    let Some(value) = session.routines.take_returned() else {
        return Err(e::ER_INTERNAL_ERROR.with(&[&"a function without a value"]));
    };
    out.push_cell(value.cell(0));
    Ok(())
}
