//! Where each statement begins and ends, whatever it is: counters, process list, memory limits, query logs.

use std::borrow::Cow;

use syntax::ast::{Show, Statement};
use types::charset::Charset;

use super::query_log::StatementClock;
use super::shared::Shared;
use super::{Session, memory_limits};
use crate::backend::Backend;
use crate::core::Core;
use crate::log::{GeneralEvent, SlowEvent, StatementText};
use crate::processes::Activity;
use crate::variables::settings::Settings;

/// Text in `character_set_client` as UTF-8, which is what the lexer reads.
#[inline]
pub(super) fn to_utf8<'s>(settings: &Settings, sql: &'s [u8]) -> Cow<'s, [u8]> {
    let client = settings.client_charset;
    if client.needs_conversion() && !sql.is_ascii() {
        let mut text = Vec::with_capacity(sql.len() + sql.len() / 8);
        let _ = types::charset::convert_lossy(client, sql, Charset::Utf8mb4, &mut text);
        return text.into();
    }
    sql.into()
}

/// SHOW WARNINGS, SHOW ERRORS and GET DIAGNOSTICS read the diagnostics of the statement before.
pub(super) fn keeps_diagnostics(statement: &Statement<'_>) -> bool {
    matches!(
        statement,
        Statement::Show(Show::Warnings(_) | Show::Errors(_) | Show::CountWarnings | Show::CountErrors)
            | Statement::GetDiagnostics(_)
            | Statement::Signal(syntax::ast::Signal { again: true, .. })
    )
}

/// Says that a statement starts: process list, counters, general log.
#[inline]
pub(crate) fn begin_statement<B: Backend>(
    session: &mut Session<B>,
    activity: Activity,
    text: &[u8],
    is_requeued: bool,
) -> StatementClock {
    let running = start_clock(session, is_requeued);
    session.shared.process.begin_text(activity, running.started_wall_micros, text);
    if session.shared.core.logs.general_is_on() && activity == Activity::Query && !is_requeued {
        log_general(&session.shared, session.variables.settings(), "Query", &text);
    }
    running
}

/// The same for a prepared statement. Its text is written to the process list only if another was there.
#[inline]
pub(super) fn begin_prepared<B: Backend>(
    session: &mut Session<B>,
    id: u32,
    text: &[u8],
    is_requeued: bool,
) -> StatementClock {
    let running = start_clock(session, is_requeued);
    session.shared.process.begin_prepared(id, running.started_wall_micros, text);
    running
}

/// Counts a statement and looks at the clock as closely as the slow log needs it; one that was requeued goes on.
#[inline]
fn start_clock<B: Backend>(session: &mut Session<B>, is_requeued: bool) -> StatementClock {
    memory_limits::apply(session);
    if is_requeued && let Some(clock) = session.running.go_on(&session.shared.core) {
        return clock;
    }
    session.shared.process.counts.questions.increment();
    session.diagnostics.begin_statement();
    let clock = StatementClock::start(&session.shared.core);
    if clock.is_exact() {
        session.tables.transaction.reset_counts();
    }
    clock
}

/// Says that it ended: process list, slow log.
#[inline]
pub(crate) fn end_statement<B: Backend>(
    session: &mut Session<B>,
    running: &StatementClock,
    text: &dyn StatementText,
) {
    session.shared.leave_change();
    memory_limits::note_used(session.variables.settings(), &session.shared.core);
    session.shared.process.end(session.shared.core.env.clock.wall_micros_coarse());
    if session.shared.core.logs.slow_is_on() {
        end_timed(session, running, text);
    }
    session.running.end();
}

/// A statement was rolled back and is requeued: it has not ended, and the process list goes on showing it.
#[cold]
pub(super) fn suspend_statement<B: Backend>(session: &mut Session<B>, running: StatementClock) {
    session.shared.leave_change();
    session.running.suspend(running, &session.shared.core);
}

#[cold]
fn end_timed<B: Backend>(session: &mut Session<B>, running: &StatementClock, text: &dyn StatementText) {
    let wall_micros = session.shared.core.env.clock.wall_micros();
    let query_micros = running.micros_until(&session.shared.core, wall_micros);
    if query_micros >= session.variables.settings().long_query_micros {
        log_slow(session, running, query_micros, wall_micros, text);
    }
}

#[cold]
fn log_slow<B: Backend>(
    session: &mut Session<B>,
    running: &StatementClock,
    query_micros: u64,
    wall_micros: i64,
    text: &dyn StatementText,
) {
    // A statement that turns the log on was not counted.
    let (examined, lock_micros) = match running.is_exact() {
        true => (session.tables.transaction.rows_examined(), session.tables.transaction.lock_wait_micros()),
        false => (0, 0),
    };
    if examined < session.variables.settings().min_examined_rows {
        return;
    }
    session.shared.process.counts.slow_queries.increment();
    let (user, host) = session.account.user_and_host();
    let address = session.shared.control.peer.map(|peer| peer.ip().to_string()).unwrap_or_default();
    let event = SlowEvent {
        wall_micros,
        started_seconds: running.started_wall_micros.div_euclid(1_000_000),
        connection_id: session.shared.control.connection_id,
        user,
        host,
        address: &address,
        query_micros,
        lock_micros: lock_micros.saturating_add(session.running.queued_micros()),
        rows_sent: session.results.found_rows(),
        rows_examined: examined,
        misestimated_by: session.running.misestimated_by(),
        database: None,
    };
    session.query_log.write_slow(&session.shared.core, &event, session.database.as_ref(), text);
}

/// Writes a line to the general log, if it is on for this session.
#[inline]
pub(super) fn log_general<B: Backend>(
    shared: &Shared<B>,
    settings: &Settings,
    command: &str,
    text: &dyn StatementText,
) {
    if shared.core.logs.general_is_on() {
        write_general(&shared.core, settings, shared.control.connection_id, command, text);
    }
}

#[cold]
fn write_general(
    core: &Core,
    settings: &Settings,
    connection_id: u64,
    command: &str,
    text: &dyn StatementText,
) {
    if !settings.log_off {
        let event = GeneralEvent { wall_micros: core.env.clock.wall_micros(), connection_id, command };
        core.logs.general(&event, text);
    }
}
