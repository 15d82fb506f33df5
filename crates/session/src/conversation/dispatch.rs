//! Which statement goes where.

use service::error::ER_EMPTY_QUERY;
use service::{CommandOutcome, Outcome, Reply};
use syntax::ast::{Flush, MaintainKind, Show, ShowFilter, Statement};
use types::{Value, ValueRef};

use super::attempt::{Attempt, until_planned};
use super::definitions;
use super::load;
use super::lock_tables;
use super::names::name_text;
use super::plans::has_plan;
use super::query_log::StatementClock;
use super::recognise::Recognised;
use super::routine::condition;
use super::routine::definition;
use super::set;
use super::{Session, memory};
use crate::backend::Backend;
use crate::errors::{not_supported, syntax_error, syntax_error_near};
use crate::log::{GeneralEvent, SlowEvent, StatementText};
use crate::processes::Activity;
use crate::status::StatementKind;

impl<B: Backend> Session<B> {
    /// COM_QUERY: one statement, or several if the client may send several.
    pub(crate) fn run_text(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> CommandOutcome {
        let sql = self.to_utf8(without_terminator(sql));
        let mut rest: &[u8] = &sql;
        loop {
            // Only the first one may have been requeued.
            let is_requeued = reply.is_requeued() && rest.len() == sql.len();
            let running = self.begin_statement(Activity::Query, rest, is_requeued);
            self.running.set_follows_others(rest.len() != sql.len());
            let outcome = memory::lend(|arena: &mut bumpalo::Bump| {
                until_planned(|| {
                    arena.reset();
                    self.run_first(rest, arena, reply)
                })
            });
            self.running.set_follows_others(false);
            let end = match outcome {
                CommandOutcome::Done(end) => end,
                CommandOutcome::Requeue(within) => {
                    self.suspend_statement(running);
                    return CommandOutcome::Requeue(within);
                }
                CommandOutcome::Failed(error) => {
                    self.push_error(&error);
                    self.end_statement(&running, &rest);
                    return CommandOutcome::Failed(error);
                }
            };
            self.end_statement(&running, &&rest[..end.unwrap_or(rest.len())]);
            match end {
                Some(end) => rest = &rest[end..],
                None => return CommandOutcome::Done(()),
            }
        }
    }

    /// Text in `character_set_client` as UTF-8, which is what the lexer reads.
    pub(super) fn to_utf8<'s>(&self, sql: &'s [u8]) -> std::borrow::Cow<'s, [u8]> {
        use types::charset::Charset;
        let client = self.variables.settings().client_charset;
        if client.needs_conversion() && !sql.is_ascii() {
            let mut text = Vec::with_capacity(sql.len() + sql.len() / 8);
            let _ = types::charset::convert_lossy(client, sql, Charset::Utf8mb4, &mut text);
            return text.into();
        }
        sql.into()
    }

    /// Runs the first statement of `sql`; answers where the next begins, if there is one.
    fn run_first<'a>(
        &mut self,
        sql: &'a [u8],
        arena: &'a bumpalo::Bump,
        reply: &mut Reply<'_>,
    ) -> Attempt<Option<usize>> {
        let recognised = self.run_recognised(sql, reply)?;
        if let Recognised::Ran(end) = recognised {
            return Ok(end);
        }
        self.core.counters.statements_parsed.increment();
        let parsed = match syntax::parse(sql, arena, self.variables.settings().sql_mode.for_syntax()) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.diagnostics.clear();
                return Err(syntax_error(&error).into());
            }
        };
        if parsed.more && !self.client.may_send_several() {
            self.diagnostics.clear();
            return Err(syntax_error_near(&sql[parsed.end..], sql, parsed.end).into());
        }
        if parsed.param_count > 0 {
            self.diagnostics.clear();
            return Err(syntax_error_near(b"?", sql, parsed.end).into());
        }
        reply.more_results(parsed.more);
        let text = &sql[..parsed.end];
        let keeps = matches!(recognised, Recognised::Keep);
        if !(keeps && self.run_shared(&parsed.statement, text, reply)?) {
            self.dispatch(&parsed.statement, text, &[], reply)?;
        }
        Ok(parsed.more.then_some(parsed.end))
    }

    /// Runs one statement with the values of its parameters.
    pub(crate) fn dispatch(
        &mut self,
        statement: &Statement<'_>,
        sql: &[u8],
        parameters: &[ValueRef<'_>],
        reply: &mut Reply<'_>,
    ) -> Attempt<()> {
        if !keeps_diagnostics(statement) {
            self.diagnostics.clear();
        }
        self.account.renew(&self.core);
        if !has_plan(statement) {
            // SET, KILL and their kin plan the expressions in them by themselves.
            self.running.set_text(sql);
            self.running.set_parameters(parameters);
        }
        definitions::count_definition(self, statement);
        self.access().require_privileges(statement)?;
        let ran = match *statement {
            // A comment alone is a statement without effect; nothing at all is none.
            Statement::Empty if sql.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b';') => {
                self.send_ok(reply)
            }
            Statement::Empty => Err(ER_EMPTY_QUERY.bare()),
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Do(_) => return self.run_planned(statement, sql, parameters, reply),
            Statement::LoadData(load) => load::load_data(self, load, sql, reply),
            Statement::Explain(explain) => return self.explain(explain, sql, parameters, reply),

            Statement::CreateDatabase(_)
            | Statement::AlterDatabase(_)
            | Statement::DropDatabase { .. }
            | Statement::CreateTable(_)
            | Statement::AlterTable(_)
            | Statement::DropTable(_)
            | Statement::Truncate(_)
            | Statement::RenameTable(_)
            | Statement::CreateIndex(_)
            | Statement::DropIndex(_) => return definitions::run_ddl(self, statement, sql, reply),
            Statement::CreateView(_) => Err(not_supported("CREATE VIEW")),
            Statement::DropView { .. } => Err(not_supported("DROP VIEW")),

            Statement::StartTransaction { consistent_snapshot, read_only } => {
                self.start_transaction(consistent_snapshot, read_only, reply)
            }
            Statement::Commit(completion) => self.commit(completion, reply),
            Statement::Rollback(completion) => self.rollback(completion, reply),
            Statement::Savepoint(name) => self.savepoint(&name_text(name.text), reply),
            Statement::RollbackTo(name) => self.rollback_to(&name_text(name.text), reply),
            Statement::ReleaseSavepoint(name) => self.release_savepoint(&name_text(name.text), reply),
            Statement::LockTables(tables) => lock_tables::lock_tables(self, tables, reply),
            Statement::UnlockTables => lock_tables::unlock_tables(self, reply),
            Statement::LockInstance => lock_tables::lock_instance(self, reply),
            Statement::UnlockInstance => lock_tables::unlock_instance(self, reply),

            Statement::Set(items) => set::set(self, items, reply),
            Statement::Show(show) => self.show(show, sql, reply),
            Statement::Describe { table, column } => {
                let filter = column.map_or(ShowFilter::None, ShowFilter::Like);
                self.show(&Show::Columns { extended: false, full: false, table, filter }, sql, reply)
            }
            Statement::Use(name) => {
                self.count(StatementKind::ChangeDb);
                self.use_database(&name_text(name.text))?;
                self.send_use_ok(reply)
            }
            Statement::Kill { query_only, id } => {
                self.count(StatementKind::Kill);
                let id = connection_of(&self.evaluate(id)?);
                self.kill(id, query_only)?;
                if id == self.control.connection_id {
                    crate::limits::check_interrupted(&self.control)?;
                }
                self.send_ok(reply)
            }
            Statement::Prepare { name, from } => self.prepare_named(&name_text(name.text), &from, reply),
            Statement::Execute { name, using } => {
                return self.execute_named(&name_text(name.text), using, reply);
            }
            Statement::Deallocate(name) => self.deallocate(&name_text(name.text), reply),
            Statement::Maintain(maintain) => self.maintain(maintain, reply),
            Statement::Flush(flush) => self.flush(flush, reply),
            Statement::Shutdown => {
                self.core.request_shutdown();
                self.send_ok(reply)
            }

            Statement::CreateUser(create) => {
                self.account_statement(Some(StatementKind::CreateUser), reply, |run, notes| {
                    run.create_user(create, notes)
                })
            }
            Statement::AlterUser(alter) => {
                self.account_statement(Some(StatementKind::AlterUser), reply, |run, notes| {
                    run.alter_user(alter, notes)
                })
            }
            Statement::DropUser { if_exists, users } => {
                let kind = Some(StatementKind::DropUser);
                self.account_statement(kind, reply, |run, notes| {
                    run.drop_user(users, if_exists, false, notes)
                })
            }
            Statement::RenameUser(pairs) => {
                self.account_statement(None, reply, |run, notes| run.rename_user(pairs, notes))
            }
            Statement::CreateRole { if_not_exists, roles } => {
                self.account_statement(None, reply, |run, notes| run.create_role(roles, if_not_exists, notes))
            }
            Statement::DropRole { if_exists, roles } => {
                let kind = Some(StatementKind::DropUser);
                self.account_statement(kind, reply, |run, notes| run.drop_user(roles, if_exists, true, notes))
            }
            Statement::Grant(grant) => {
                self.account_statement(Some(StatementKind::Grant), reply, |run, _| run.grant(grant))
            }
            Statement::Revoke(revoke) => {
                self.account_statement(Some(StatementKind::Revoke), reply, |run, notes| {
                    run.revoke(revoke, notes)
                })
            }
            Statement::SetPassword(set) => {
                self.account_statement(None, reply, |run, _| run.set_password(set))
            }
            Statement::SetDefaultRole(set) => {
                self.account_statement(None, reply, |run, _| run.set_default_role(set))
            }
            Statement::SetRole(roles) => self.set_role(&roles, reply),

            Statement::Call(call) => return self.call(call, sql, parameters, reply),
            Statement::CreateRoutine(create) => definition::create_routine(self, create, sql, reply),
            Statement::AlterRoutine(alter) => definition::alter_routine(self, alter, reply),
            Statement::DropRoutine(drop) => definition::drop_routine(self, drop, reply),
            Statement::Signal(signal) => return condition::signal(self, signal, sql, reply),
            Statement::GetDiagnostics(get) => return condition::get_diagnostics(self, get, sql, reply),
            Statement::Reset("BINARY LOGS AND GTIDS") => {
                set::forget_gtids(self)?;
                self.send_ok(reply)
            }
            Statement::Reset(what) => Err(not_supported(&format!("RESET {what}"))),
            Statement::Help(_) => Err(not_supported("HELP")),
            Statement::Restart => Err(not_supported("RESTART")),
            Statement::Binlog(_) => Err(not_supported("BINLOG")),
            Statement::Unsupported { what } => Err(not_supported(what)),
        };
        Ok(ran?)
    }

    fn flush(&mut self, flush: &Flush<'_>, reply: &mut Reply<'_>) -> Outcome {
        self.count(StatementKind::Flush);
        match *flush {
            Flush::Tables { export: true, .. } => return Err(not_supported("FLUSH TABLES ... FOR EXPORT")),
            Flush::Tables { names, read_lock, .. } => {
                return lock_tables::flush_tables(self, names, read_lock, reply);
            }
            Flush::Things(things) => {
                for thing in things {
                    match *thing {
                        "LOGS" | "GENERAL LOGS" | "SLOW LOGS" | "ERROR LOGS" | "ENGINE LOGS" => {
                            self.core.logs.general_file().close();
                            self.core.logs.slow_file().close();
                        }
                        "STATUS" => self.core.processes.reset_counts(&self.process),
                        // Accounts are always current; blocked ones are free again.
                        "PRIVILEGES" => self.core.failed_logins.forget_all(),
                        "USER_RESOURCES" | "OPTIMIZER_COSTS" | "HOSTS" => {}
                        other => return Err(not_supported(&format!("FLUSH {other}"))),
                    }
                }
            }
        }
        self.send_ok(reply)
    }

    fn maintain(&mut self, maintain: &syntax::ast::Maintain<'_>, reply: &mut Reply<'_>) -> Outcome {
        self.count(match maintain.kind {
            MaintainKind::Analyze => StatementKind::Analyze,
            MaintainKind::Optimize => StatementKind::Optimize,
            _ => StatementKind::Check,
        });
        definitions::maintain_tables(self, maintain, reply)
    }

    /// Says that a statement starts: process list, counters, general log.
    #[inline]
    pub(crate) fn begin_statement(
        &mut self,
        activity: Activity,
        text: &[u8],
        is_requeued: bool,
    ) -> StatementClock {
        let running = self.start_clock(is_requeued);
        self.process.begin_text(activity, running.started_wall_micros, text);
        if self.core.logs.general_is_on() && activity == Activity::Query && !is_requeued {
            self.log_general("Query", &text);
        }
        running
    }

    /// The same for a prepared statement. Its text is written to the process list only if another was there.
    #[inline]
    pub(super) fn begin_prepared(&mut self, id: u32, text: &[u8], is_requeued: bool) -> StatementClock {
        let running = self.start_clock(is_requeued);
        self.process.begin_prepared(id, running.started_wall_micros, text);
        running
    }

    /// What the statement before has counted of warnings and errors; in a routine what has been counted so far.
    pub(super) fn counts_before(&self) -> (u64, u64) {
        if self.routines.are_running() {
            return (self.diagnostics.warning_count(), self.diagnostics.error_count());
        }
        self.diagnostics.counts_before()
    }

    /// Counts a statement and looks at the clock as closely as the slow log needs it; one that was requeued goes on.
    #[inline]
    fn start_clock(&mut self, is_requeued: bool) -> StatementClock {
        self.obey_memory_limits();
        if is_requeued && let Some(clock) = self.running.go_on(&self.core) {
            return clock;
        }
        self.process.counts.questions.increment();
        self.diagnostics.begin_statement();
        let clock = StatementClock::start(&self.core);
        if clock.is_exact() {
            self.transaction.reset_counts();
        }
        clock
    }

    /// Says that it ended: process list, slow log.
    #[inline]
    pub(crate) fn end_statement(&mut self, running: &StatementClock, text: &dyn StatementText) {
        self.leave_change();
        self.note_memory_used();
        self.process.end(self.core.env.clock.wall_micros_coarse());
        if self.core.logs.slow_is_on() {
            self.end_timed(running, text);
        }
        self.running.end();
    }

    /// A statement was rolled back and is requeued: it has not ended, and the process list goes on showing it.
    #[cold]
    pub(super) fn suspend_statement(&mut self, running: StatementClock) {
        self.leave_change();
        self.running.suspend(running, &self.core);
    }

    #[cold]
    fn end_timed(&mut self, running: &StatementClock, text: &dyn StatementText) {
        let wall_micros = self.core.env.clock.wall_micros();
        let query_micros = running.micros_until(&self.core, wall_micros);
        if query_micros >= self.variables.settings().long_query_micros {
            self.log_slow(running, query_micros, wall_micros, text);
        }
    }

    #[cold]
    fn log_slow(
        &mut self,
        running: &StatementClock,
        query_micros: u64,
        wall_micros: i64,
        text: &dyn StatementText,
    ) {
        // A statement that turns the log on was not counted.
        let (examined, lock_micros) = match running.is_exact() {
            true => (self.transaction.rows_examined(), self.transaction.lock_wait_micros()),
            false => (0, 0),
        };
        if examined < self.variables.settings().min_examined_rows {
            return;
        }
        self.process.counts.slow_queries.increment();
        let (user, host) = self.account.user_and_host();
        let address = self.control.peer.map(|peer| peer.ip().to_string()).unwrap_or_default();
        let event = SlowEvent {
            wall_micros,
            started_seconds: running.started_wall_micros.div_euclid(1_000_000),
            connection_id: self.control.connection_id,
            user,
            host,
            address: &address,
            query_micros,
            lock_micros: lock_micros.saturating_add(self.running.queued_micros()),
            rows_sent: self.results.found_rows(),
            rows_examined: examined,
            database: None,
        };
        self.query_log.write_slow(&self.core, &event, self.database.as_ref(), text);
    }

    /// Writes a line to the general log, if it is on for this session.
    pub(crate) fn log_general(&self, command: &str, text: &dyn StatementText) {
        if self.core.logs.general_is_on() && !self.variables.settings().log_off {
            let event = GeneralEvent {
                wall_micros: self.core.env.clock.wall_micros(),
                connection_id: self.control.connection_id,
                command,
            };
            self.core.logs.general(&event, text);
        }
    }
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

/// SHOW WARNINGS and its kin look at the diagnostics of the statement before.
pub(super) fn keeps_diagnostics(statement: &Statement<'_>) -> bool {
    matches!(
        statement,
        Statement::Show(Show::Warnings(_) | Show::Errors(_) | Show::CountWarnings | Show::CountErrors)
            | Statement::GetDiagnostics(_)
            | Statement::Signal(syntax::ast::Signal { again: true, .. })
    )
}
