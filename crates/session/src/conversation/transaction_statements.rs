//! Transactions as clients speak of them: START TRANSACTION, COMMIT, ROLLBACK, SAVEPOINT, and the implicit commits and rollbacks of other
//! statements.

use exec::StatusKind;
use service::error::{
    ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_CREATED_TEMP_TABLE,
    ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_DROPPED_TEMP_TABLE,
};
use service::{Outcome, Reply};
use syntax::ast::Completion;

use super::Session;
use super::diagnostics::Diagnostics;
use super::lock_tables;
use super::transaction::TransactionState;
use crate::backend::Backend;
use crate::backend::SessionTransaction;
use crate::processes::ProcessEntry;
use crate::status::StatementKind;
use crate::variables::settings::Settings;

/// Account management: commits what is open before it runs.
pub(super) fn implicit_commit_then<B: Backend>(
    session: &mut Session<B>,
    reply: &mut Reply<'_>,
    run: impl FnOnce(&mut Session<B>, &mut Reply<'_>) -> Outcome,
) -> Outcome {
    session.tables.locks.refuse_system_table("user")?;
    session.tables.commit(&session.shared, &session.variables)?;
    session.tables.wait_for_commit(reply);
    session.tables.require_write_access(&session.variables)?;
    session.tables.enter_change(&session.shared, &session.variables, false)?;
    lock_tables::with_backup_lock(session, |session| run(session, reply))
}

pub(super) fn start_transaction<B: Backend>(
    session: &mut Session<B>,
    consistent_snapshot: bool,
    read_only: Option<bool>,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::Begin);
    let transaction = &session.tables.transaction;
    let settings = session.variables.settings();
    let before = transaction.is_open().then(|| transaction.characteristics(settings));
    if before.is_some() {
        session.tables.commit(&session.shared, &session.variables)?;
    }
    session.tables.wait_for_commit(reply);
    session.tables.release_locked(&session.shared);
    let settings = session.variables.settings();
    // It commits what is open, and goes on with its isolation level, and with its access mode unless it names one.
    session.tables.transaction.open_chained(settings, before);
    if let Some(read_only) = read_only {
        session.tables.transaction.set_read_only(read_only);
    }
    if consistent_snapshot {
        let taken = session.tables.transaction.take_consistent_snapshot(settings, &session.shared.process);
        if let Err(error) = taken {
            session.tables.roll_back(&session.shared)?;
            return Err(error);
        }
    }
    session.send_ok(reply)
}

/// Counts the end of a transaction that a client asks for, if it has read or written anything.
#[inline]
fn count_end(process: &ProcessEntry, kind: StatusKind) {
    if process.transaction.read().began_micros != 0 {
        process.counts.status.add(kind, 1);
    }
}

pub(super) fn commit<B: Backend>(
    session: &mut Session<B>,
    completion: Completion,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::Commit);
    count_end(&session.shared.process, StatusKind::Commit);
    finish_with(session, completion, reply, |session| {
        session.tables.commit(&session.shared, &session.variables)
    })
}

/// Warns of what a rollback leaves as it is.
fn warn_of_temporary_tables(
    transaction: &TransactionState<impl SessionTransaction>,
    diagnostics: &mut Diagnostics,
    settings: &Settings,
) {
    let (created, dropped) = transaction.temporary_definitions();
    for (applies, code) in [
        (created, ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_CREATED_TEMP_TABLE),
        (dropped, ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_DROPPED_TEMP_TABLE),
    ] {
        if applies {
            diagnostics.push(code.warning(&[]), settings.diagnostics);
        }
    }
}

pub(super) fn rollback<B: Backend>(
    session: &mut Session<B>,
    completion: Completion,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::Rollback);
    session.tables.require_no_branch()?;
    count_end(&session.shared.process, StatusKind::Rollback);
    warn_of_temporary_tables(
        &session.tables.transaction,
        &mut session.diagnostics,
        session.variables.settings(),
    );
    finish_with(session, completion, reply, |session| session.tables.roll_back(&session.shared))
}

fn finish_with<B: Backend>(
    session: &mut Session<B>,
    completion: Completion,
    reply: &mut Reply<'_>,
    finish: impl FnOnce(&mut Session<B>) -> Outcome,
) -> Outcome {
    let settings = session.variables.settings();
    let completion = completion.or(settings.completion);
    let before = session.tables.transaction.characteristics(settings);
    finish(session)?;
    session.tables.wait_for_commit(reply);
    if completion.chain == Some(true) {
        session.tables.transaction.open_chained(session.variables.settings(), Some(before));
    }
    if completion.release == Some(true) {
        session.shared.control.kill(service::Kill::Connection);
    }
    session.send_ok(reply)
}

pub(super) fn savepoint<B: Backend>(session: &mut Session<B>, name: &str, reply: &mut Reply<'_>) -> Outcome {
    session.count(StatementKind::Savepoint);
    let settings = session.variables.settings();
    if !session.tables.transaction.is_open() && !settings.autocommit {
        session.tables.transaction.open(settings);
    }
    // With autocommit and no transaction a savepoint ends with its own statement.
    if let Some(branch) = session.tables.transaction.branch_mut() {
        branch.require_active()?;
    }
    if session.tables.transaction.is_open() {
        session.shared.process.counts.status.add(StatusKind::Savepoint, 1);
        session.tables.transaction.add_named_savepoint(name)?;
    }
    session.send_ok(reply)
}

pub(super) fn rollback_to<B: Backend>(
    session: &mut Session<B>,
    name: &str,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::RollbackToSavepoint);
    let at = session.tables.transaction.find_named_savepoint(name)?;
    warn_of_temporary_tables(
        &session.tables.transaction,
        &mut session.diagnostics,
        session.variables.settings(),
    );
    session.shared.process.counts.status.add(StatusKind::SavepointRollback, 1);
    session.tables.transaction.roll_back_to_named_savepoint(at)?;
    session.send_ok(reply)
}

pub(super) fn release_savepoint<B: Backend>(
    session: &mut Session<B>,
    name: &str,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::ReleaseSavepoint);
    let at = session.tables.transaction.find_named_savepoint(name)?;
    session.tables.transaction.release_named_savepoint(at);
    session.send_ok(reply)
}
