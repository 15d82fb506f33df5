//! Which statement goes where.

use service::error::{ER_EMPTY_QUERY, ER_RESTART_SERVER_FAILED};
use service::{CommandOutcome, Outcome, Reply};
use syntax::ast::{Flush, MaintainKind, Show, ShowFilter, Statement};
use types::{Value, ValueRef};

use super::accounts;
use super::attempt::{Attempt, until_planned};
use super::checksum;
use super::definitions;
use super::digest_lookup;
use super::digest_lookup::DigestLookup;
use super::events;
use super::explain;
use super::hinted_variables;
use super::listing;
use super::load;
use super::lock_tables;
use super::names::name_text;
use super::plans::has_plan;
use super::prepared_commands;
use super::routine::call;
use super::routine::condition;
use super::routine::definition;
use super::run;
use super::set;
use super::show;
use super::statement;
use super::transaction_statements;
use super::xa;
use super::{Session, memory};
use crate::backend::Backend;
use crate::errors::{not_supported, syntax_error, syntax_error_near};
use crate::processes::Activity;
use crate::status::StatementKind;

/// COM_QUERY: one statement, or several if the client may send several.
pub(crate) fn run_text<B: Backend>(
    session: &mut Session<B>,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> CommandOutcome {
    let sql = statement::to_utf8(session.variables.settings(), without_terminator(sql));
    let mut rest: &[u8] = &sql;
    loop {
        // Only the first one may have been requeued.
        let is_requeued = reply.is_requeued() && rest.len() == sql.len();
        let running = statement::begin_statement(session, Activity::Query, rest, is_requeued);
        session.running.set_follows_others(rest.len() != sql.len());
        let outcome = memory::lend(|arena: &mut bumpalo::Bump| {
            until_planned(|| {
                arena.reset();
                run_first(session, rest, arena, reply)
            })
        });
        session.running.set_follows_others(false);
        let end = match outcome {
            CommandOutcome::Done(end) => end,
            CommandOutcome::Requeue(within) => {
                statement::suspend_statement(session, running);
                return CommandOutcome::Requeue(within);
            }
            CommandOutcome::Failed(error) => {
                session.push_error(&error);
                statement::end_statement(session, &running, &rest);
                return CommandOutcome::Failed(error);
            }
        };
        statement::end_statement(session, &running, &&rest[..end.unwrap_or(rest.len())]);
        match end {
            Some(end) => rest = &rest[end..],
            None => return CommandOutcome::Done(()),
        }
    }
}

/// Runs the first statement of `sql`; answers where the next begins, if there is one.
fn run_first<'a, B: Backend>(
    session: &mut Session<B>,
    sql: &'a [u8],
    arena: &'a bumpalo::Bump,
    reply: &mut Reply<'_>,
) -> Attempt<Option<usize>> {
    let looked_up = digest_lookup::run_by_digest(session, sql, reply)?;
    if let DigestLookup::Ran(end) = looked_up {
        return Ok(end);
    }
    session.shared.core.counters.statements_parsed.increment();
    let parsed = match syntax::parse(sql, arena, session.variables.settings().sql_mode.for_syntax()) {
        Ok(parsed) => parsed,
        Err(error) => {
            session.diagnostics.clear();
            return Err(syntax_error(&error).into());
        }
    };
    if parsed.more && !session.client.may_send_several() {
        session.diagnostics.clear();
        return Err(syntax_error_near(&sql[parsed.end..], sql, parsed.end).into());
    }
    if parsed.param_count > 0 {
        session.diagnostics.clear();
        return Err(syntax_error_near(b"?", sql, parsed.end).into());
    }
    reply.more_results(parsed.more);
    let text = &sql[..parsed.end];
    let keeps = matches!(looked_up, DigestLookup::Keep);
    if !(keeps && digest_lookup::run_shared(session, &parsed.statement, text, reply)?) {
        session.dispatch(&parsed.statement, text, &[], reply)?;
    }
    Ok(parsed.more.then_some(parsed.end))
}

/// Runs one statement with the values of its parameters.
pub(crate) fn dispatch<B: Backend>(
    session: &mut Session<B>,
    statement: &Statement<'_>,
    sql: &[u8],
    parameters: &[ValueRef<'_>],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    if !statement::keeps_diagnostics(statement) {
        session.diagnostics.clear();
    }
    session.account.renew(&session.shared.core);
    if !has_plan(statement) {
        // SET, KILL and similar statements plan the expressions in them by themselves.
        session.running.set_text(sql);
        session.running.set_parameters(parameters);
    }
    definitions::count_definition(session, statement);
    session.access().require_privileges(statement)?;
    let ran = match *statement {
        // A comment alone is a statement without effect; nothing at all is none.
        Statement::Empty if sql.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b';') => {
            session.send_ok(reply)
        }
        Statement::Empty => Err(ER_EMPTY_QUERY.bare()),
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Do(_) => {
            return hinted_variables::with_hinted(session, statement, sql, |session| {
                run::run_planned(session, statement, sql, parameters, reply)
            });
        }
        Statement::LoadData(load) => load::load_data(session, load, sql, reply),
        Statement::Explain(explain) => return explain::explain(session, explain, sql, parameters, reply),

        Statement::CreateDatabase(_)
        | Statement::AlterDatabase(_)
        | Statement::DropDatabase { .. }
        | Statement::CreateTable(_)
        | Statement::AlterTable(_)
        | Statement::DropTable(_)
        | Statement::Truncate(_)
        | Statement::RenameTable(_)
        | Statement::CreateIndex(_)
        | Statement::DropIndex(_)
        | Statement::CreateView(_)
        | Statement::DropView { .. }
        | Statement::CreateTrigger(_)
        | Statement::DropTrigger { .. } => return definitions::run_ddl(session, statement, sql, reply),

        Statement::StartTransaction { consistent_snapshot, read_only } => {
            transaction_statements::start_transaction(session, consistent_snapshot, read_only, reply)
        }
        Statement::Commit(completion) => transaction_statements::commit(session, completion, reply),
        Statement::Rollback(completion) => transaction_statements::rollback(session, completion, reply),
        Statement::Savepoint(name) => {
            transaction_statements::savepoint(session, &name_text(name.text), reply)
        }
        Statement::RollbackTo(name) => {
            transaction_statements::rollback_to(session, &name_text(name.text), reply)
        }
        Statement::ReleaseSavepoint(name) => {
            transaction_statements::release_savepoint(session, &name_text(name.text), reply)
        }
        Statement::Xa(xa) => xa::run(session, &xa, reply),
        Statement::LockTables(tables) => lock_tables::lock_tables(session, tables, reply),
        Statement::UnlockTables => lock_tables::unlock_tables(session, reply),
        Statement::LockInstance => lock_tables::lock_instance(session, reply),
        Statement::UnlockInstance => lock_tables::unlock_instance(session, reply),

        Statement::Set(items) => set::set(session, items, reply),
        Statement::Show(show) => show::show(session, show, sql, reply),
        Statement::Describe { table, column } => {
            let filter = column.map_or(ShowFilter::None, ShowFilter::Like);
            show::show(session, &Show::Columns { extended: false, full: false, table, filter }, sql, reply)
        }
        Statement::Use(name) => {
            session.count(StatementKind::ChangeDb);
            session.use_database(&name_text(name.text))?;
            session.send_use_ok(reply)
        }
        Statement::Kill { query_only, id } => {
            session.count(StatementKind::Kill);
            let id = connection_of(&set::evaluate(session, id)?);
            session.kill(id, query_only)?;
            if id == session.shared.control.connection_id {
                crate::limits::check_interrupted(&session.shared.control)?;
            }
            session.send_ok(reply)
        }
        Statement::Prepare { name, from } => {
            prepared_commands::prepare_named(session, &name_text(name.text), &from, reply)
        }
        Statement::Execute { name, using } => {
            return prepared_commands::execute_named(session, &name_text(name.text), using, reply);
        }
        Statement::Deallocate(name) => prepared_commands::deallocate(session, &name_text(name.text), reply),
        Statement::Maintain(maintain) => run_maintain(session, maintain, reply),
        Statement::Checksum { tables, is_quick } => {
            session.count(StatementKind::Checksum);
            checksum::checksum_tables(session, tables, is_quick, reply)
        }
        Statement::Flush(flush) => run_flush(session, flush, reply),
        Statement::Shutdown => {
            session.shared.core.request_shutdown();
            session.send_ok(reply)
        }

        Statement::CreateUser(create) => accounts::password_statement(
            session,
            Some(StatementKind::CreateUser),
            reply,
            |run, notes, made| run.create_user(create, notes, made),
        ),
        Statement::AlterUser(alter) => accounts::password_statement(
            session,
            Some(StatementKind::AlterUser),
            reply,
            |run, notes, made| run.alter_user(alter, notes, made),
        ),
        Statement::DropUser { if_exists, users } => {
            let kind = Some(StatementKind::DropUser);
            accounts::account_statement(session, kind, reply, |run, notes| {
                run.drop_user(users, if_exists, false, notes)
            })
        }
        Statement::RenameUser(pairs) => {
            accounts::account_statement(session, None, reply, |run, notes| run.rename_user(pairs, notes))
        }
        Statement::CreateRole { if_not_exists, roles } => {
            accounts::account_statement(session, None, reply, |run, notes| {
                run.create_role(roles, if_not_exists, notes)
            })
        }
        Statement::DropRole { if_exists, roles } => {
            let kind = Some(StatementKind::DropUser);
            accounts::account_statement(session, kind, reply, |run, notes| {
                run.drop_user(roles, if_exists, true, notes)
            })
        }
        Statement::Grant(grant) => {
            accounts::account_statement(session, Some(StatementKind::Grant), reply, |run, _| run.grant(grant))
        }
        Statement::Revoke(revoke) => {
            accounts::account_statement(session, Some(StatementKind::Revoke), reply, |run, notes| {
                run.revoke(revoke, notes)
            })
        }
        Statement::SetPassword(set) => {
            accounts::password_statement(session, None, reply, |run, _, made| run.set_password(set, made))
        }
        Statement::SetDefaultRole(set) => {
            accounts::account_statement(session, None, reply, |run, _| run.set_default_role(set))
        }
        Statement::SetRole(roles) => accounts::set_role(session, &roles, reply),

        Statement::Call(call) => return call::call(session, call, sql, parameters, reply),
        Statement::CreateRoutine(create) => definition::create_routine(session, create, sql, reply),
        Statement::AlterRoutine(alter) => definition::alter_routine(session, alter, reply),
        Statement::DropRoutine(drop) => definition::drop_routine(session, drop, reply),
        Statement::CreateEvent(create) => events::create_event(session, create, sql, reply),
        Statement::AlterEvent(alter) => events::alter_event(session, alter, sql, reply),
        Statement::DropEvent { if_exists, ref name } => events::drop_event(session, if_exists, name, reply),
        Statement::Signal(signal) => return condition::signal(session, signal, sql, reply),
        Statement::GetDiagnostics(get) => return condition::get_diagnostics(session, get, sql, reply),
        Statement::Reset("BINARY LOGS AND GTIDS") => {
            set::forget_gtids(session)?;
            session.send_ok(reply)
        }
        Statement::ResetPersist(reset) => {
            set::reset_persist(session, reset)?;
            session.send_ok(reply)
        }
        Statement::Reset(what) => Err(not_supported(&format!("RESET {what}"))),
        Statement::Help(_) => {
            session.count(StatementKind::Help);
            listing::send(session, &show::help_topics(), reply)
        }
        // Nothing that would start the server again watches over it.
        Statement::Restart => {
            session.count(StatementKind::Restart);
            session.tables.commit(&session.shared, &session.variables)?;
            Err(ER_RESTART_SERVER_FAILED.with(&[&"mysqld is not managed by supervisor process"]))
        }
        Statement::Binlog(_) => Err(not_supported("BINLOG")),
        Statement::Unsupported { what } => Err(not_supported(what)),
    };
    Ok(ran?)
}

fn run_flush<B: Backend>(session: &mut Session<B>, flush: &Flush<'_>, reply: &mut Reply<'_>) -> Outcome {
    session.count(StatementKind::Flush);
    match *flush {
        Flush::Tables { names, read_lock, export } => {
            return lock_tables::flush_tables(session, names, read_lock, export, reply);
        }
        Flush::Things(things) => {
            session.tables.require_no_branch()?;
            for thing in things {
                match *thing {
                    "LOGS" | "GENERAL LOGS" | "SLOW LOGS" | "ERROR LOGS" | "ENGINE LOGS" => {
                        session.shared.core.logs.general_file().close();
                        session.shared.core.logs.slow_file().close();
                    }
                    "STATUS" => session.shared.core.processes.reset_counts(&session.shared.process),
                    // Accounts are always current; blocked ones are free again.
                    "PRIVILEGES" => session.shared.core.failed_logins.forget_all(),
                    "USER_RESOURCES" | "OPTIMIZER_COSTS" | "HOSTS" => {}
                    other => return Err(not_supported(&format!("FLUSH {other}"))),
                }
            }
        }
    }
    session.send_ok(reply)
}

fn run_maintain<B: Backend>(
    session: &mut Session<B>,
    maintain: &syntax::ast::Maintain<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(match maintain.kind {
        MaintainKind::Analyze => StatementKind::Analyze,
        MaintainKind::Optimize => StatementKind::Optimize,
        _ => StatementKind::Check,
    });
    definitions::maintain_tables(session, maintain, reply)
}

/// A statement without the zero byte that some clients count as its last (`mysqlslap`), and what is empty after it.
#[inline]
fn without_terminator(sql: &[u8]) -> &[u8] {
    if !matches!(sql.last(), Some(0 | b';' | b' ' | b'\n')) {
        return sql;
    }
    let end = sql.iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != b';');
    match end {
        Some(end) if sql[end] == 0 => &sql[..end],
        _ => sql,
    }
}

/// The connection that KILL means: as MySQL makes an integer of the value, of which the low four bytes count.
fn connection_of(value: &Value) -> u64 {
    let number = match value {
        Value::Int(number) => *number as u32,
        Value::UInt(number) => *number as u32,
        Value::Double(number) => number.round_ties_even() as i64 as u32,
        Value::Decimal(number) => number.to_i64().unwrap_or_else(|limit| limit.0) as u32,
        Value::Bytes { bytes, .. } => types::number::parse_integer_prefix(bytes).value as u32,
        _ => 0,
    };
    u64::from(number)
}
