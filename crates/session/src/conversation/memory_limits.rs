//! What a session's statements and its connection may use of memory ([`crate::limits`]), and what it holds between statements.

use env::memory::{self, Limits, UNLIMITED};
use service::Outcome;

use super::Session;
use super::client::Client;
use super::current_account::CurrentAccount;
use super::prepared::PreparedStatements;
use super::user_variables::UserVariables;
use crate::backend::Backend;
use crate::core::Core;
use crate::limits::memory_error;
use crate::variables::definition::known;
use crate::variables::settings::Settings;

/// A statement begins: it is charged with what its session holds.
#[inline]
pub(super) fn apply<B: Backend>(session: &Session<B>) {
    let settings = session.variables.settings();
    if settings.limits_connections {
        let limits = limits_of_account(settings, &session.account, &session.shared.core);
        memory::set_limits(limits, held_bytes(&session.user_variables, &session.prepared, &session.client));
    } else {
        memory::set_limits(
            settings.memory_limits,
            held_bytes(&session.user_variables, &session.prepared, &session.client),
        );
    }
}

#[cold]
fn limits_of_account(settings: &Settings, account: &CurrentAccount, core: &Core) -> Limits {
    let limits = settings.memory_limits;
    if account.is_connection_admin() {
        return Limits { connection: UNLIMITED, ..limits };
    }
    let all_connections = if settings.tracks_global_memory {
        core.globals().unsigned(known::global_connection_memory_limit())
    } else {
        UNLIMITED
    };
    Limits { all_connections, ..limits }
}

/// What the session holds between its statements.
#[inline]
fn held_bytes<B: Backend>(
    user_variables: &UserVariables,
    prepared: &PreparedStatements<B>,
    client: &Client,
) -> u64 {
    user_variables.held_bytes() + prepared.held_bytes() + client.input_bytes()
}

/// So much of its client's packets is in memory now.
///
/// # Errors
/// 4081, 4082 if that is beyond a limit of the connection.
#[cold]
pub(super) fn note_input<B: Backend>(session: &mut Session<B>, bytes: u64) -> Outcome {
    session.client.set_input_bytes(bytes);
    let settings = session.variables.settings();
    if !settings.limits_connections {
        return Ok(());
    }
    let limits = limits_of_account(settings, &session.account, &session.shared.core);
    match memory::held_beyond(
        &limits,
        held_bytes(&session.user_variables, &session.prepared, &session.client),
    ) {
        Some(reached) => Err(memory_error(&reached)),
        None => Ok(()),
    }
}

/// A statement has ended: counts it if it used more than the status limits.
#[inline]
pub(super) fn note_used(settings: &Settings, core: &Core) {
    if settings.counts_memory {
        count_used(core);
    }
}

#[cold]
fn count_used(core: &Core) {
    let globals = core.globals();
    if memory::command_bytes().1 > globals.unsigned(known::connection_memory_status_limit()) {
        core.counters.memory_status_hits.increment();
    }
    if memory::total_bytes().0 > globals.unsigned(known::global_connection_memory_status_limit()) {
        core.counters.global_memory_status_hits.increment();
    }
}
