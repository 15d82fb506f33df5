//! A session: one client's conversation, from login to its end.
//!
//! The session owns what MySQL ties to a connection: variables, the transaction, prepared statements, temporary state,
//! diagnostics. It is plain synchronous code called by one thread at a time; whatever may wait says so through
//! `env::blocking`, and a commit's durability is waited for by the server, not here.
//!
//! Invariants:
//! 1. A statement that fails leaves the transaction as it was before the statement, or (deadlock) rolled back whole.
//! 2. Every statement answers exactly once, by a result or by the error it returns.
//! 3. Each part of the state is a file with private fields and its own reset; what a client may have reset is reset in one place that
//!    names every part ([`lifetime`]).
//! 4. What a statement does is functions, which get the parts that they need. [`Session`] has methods only for its beginning and end, for
//!    what it gives out (names, account's rights, planner), and for its answers.
//!
//! ```text
//! parts      variables, user variables, prepared, routines, diagnostics, results, functions, running, client, account, query log
//!            Shared: the server, the connection's switch, the entry in the process list
//!            TableState: transaction, LOCK TABLES, temporary tables; commit and rollback of them together
//! functions  statement (begin, end, logs) < execution (the one sequence) < run < set, routine, digest_lookup, show ... < dispatch
//! ```
//!
//! Read next: [`dispatch`] (which statement goes where), [`table_state`], [`plans`] and [`run`] (statements with a plan), [`set`], [`show`].

mod access;
mod account_names;
pub mod accounts;
pub(crate) mod attempt;
mod branch;
mod checksum;
mod client;
mod context;
mod current_account;
pub mod cursor;
pub mod definitions;
pub mod diagnostics;
mod digest_lookup;
pub mod dispatch;
pub mod event_run;
mod events;
mod execution;
pub mod explain;
mod feedback;
mod firings;
mod function_state;
mod functions;
mod ground;
mod hinted_variables;
mod histogram;
mod inside;
mod into_file;
mod lifetime;
pub mod listing;
pub mod load;
mod lock_tables;
pub(crate) mod locks;
mod memory;
mod memory_limits;
mod names;
mod parameters;
mod passwords;
mod plan_fit;
pub mod plans;
pub mod prepared;
mod prepared_commands;
mod process;
mod query_log;
mod rendered_statement;
mod results;
pub(crate) mod routine;
mod routine_grants;
mod routines;
pub mod run;
mod running;
mod session_variables;
pub mod set;
mod shared;
pub mod show;
mod statement;
mod statement_ids;
mod table_state;
pub mod transaction;
mod transaction_statements;
mod triggers;
mod unescaped;
mod user_variables;
mod views;
mod xa;

use std::borrow::Cow;
use std::sync::Arc;

use catalog::Catalog;
use exec::expr::{Firing, FunctionCall, SqlResult, StatementGround};
use plan::PhysicalPlan;
use service::error::ER_NO_SUCH_THREAD;
use service::{
    Capabilities, ChangeUserRequest, CommandOutcome, ConnectRequest, ExecuteRequest, OkSummary, Outcome,
    Reply, SetOption, SqlError, StatusFlags,
};
use syntax::ast::Statement;
use types::ValueRef;
use types::charset::Charset;

use crate::backend::Backend;
use crate::core::Core;
use crate::errors::no_schema;
use crate::plans::shared::SharedPlans;
use crate::privilege;
use crate::processes::{Identity, kept_attributes};
use crate::session_context::SessionContext;
use crate::status::StatementKind;
use crate::traces::Traces;
use crate::variables::Variables;
use crate::variables::definition::known;

use access::Access;
use attempt::Attempt;
use client::Client;
use current_account::CurrentAccount;
use diagnostics::Diagnostics;
use function_state::FunctionState;
use lifetime::End;
use names::Names;
use plan_fit::PlanFit;
use plans::Planner;
use prepared::PreparedStatements;
use process::SessionProcess;
use query_log::QueryLog;
use results::LastResults;
use running::RunningStatement;
use session_variables::SessionVariables;
use shared::Shared;
use table_state::TableState;
use user_variables::UserVariables;

/// What the sessions of a server are started with, and share.
#[derive(Debug)]
pub struct Server<B: Backend> {
    /// What they share, whoever keeps the tables.
    pub core: Arc<Core>,
    /// Whoever keeps the tables.
    pub backend: Arc<B>,
    /// Plans of texts.
    pub plans: Arc<SharedPlans<B>>,
}

impl<B: Backend> Clone for Server<B> {
    fn clone(&self) -> Self {
        Server {
            core: Arc::clone(&self.core),
            backend: Arc::clone(&self.backend),
            plans: Arc::clone(&self.plans),
        }
    }
}

/// One client's conversation.
pub struct Session<B: Backend> {
    /// The server, the connection's switch, the entry in the process list.
    shared: Shared<B>,
    /// Transaction, LOCK TABLES, temporary tables.
    tables: TableState<B>,
    account: CurrentAccount,
    client: Client,
    variables: SessionVariables,
    user_variables: UserVariables,
    database: Option<Arc<str>>,
    prepared: PreparedStatements<B>,
    diagnostics: Diagnostics,
    results: LastResults,
    functions: FunctionState,
    running: RunningStatement,
    query_log: QueryLog,
    /// Stored procedures: those in run, and those this session has run.
    routines: routines::Routines<B>,
    /// What it knows of its texts; away while one of them is looked up.
    digest_cache: Option<Box<digest_lookup::SessionDigestCache<B>>>,
    /// Traces of the optimizer.
    traces: Traces,
}

impl<B: Backend> std::fmt::Debug for Session<B> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Session")
            .field("connection_id", &self.shared.control.connection_id)
            .field("user", &self.account.user_at_host())
            .finish_non_exhaustive()
    }
}

impl<B: Backend> Session<B> {
    /// Starts the session of a client that proved to be `request.account`.
    ///
    /// # Errors
    /// 1044 and 1049 for the default database it asks for.
    pub fn start(server: Server<B>, request: ConnectRequest) -> Result<Self, Box<SqlError>> {
        let Server { core, backend, plans } = server;
        let catalog = core.catalog().load();
        let identity = Identity {
            user: request.user.clone(),
            account: (request.account.user.clone(), request.account.host.clone()),
            host: match request.control.peer {
                Some(peer) => format!("{}:{}", request.host.name, peer.port()),
                None => request.host.name.clone(),
            },
            database: None,
            attributes: kept_attributes(&request.attributes),
        };
        let now = core.env.clock.wall_micros();
        let work = backend.new_transaction()?;
        let process = core.processes.add(Arc::clone(&request.control), identity, now);
        core.counters.max_used_connections.raise_to(core.processes.count() as u64);
        let seed = core.random_u64();
        let mut session = Self {
            variables: SessionVariables::new(&core.globals(), request.control.connection_id),
            tables: TableState::new(work),
            account: CurrentAccount::at_login(&catalog, &request.account, &request.user, &request.host.name),
            client: Client::new(request.capabilities, request.tls),
            user_variables: UserVariables::default(),
            database: None,
            prepared: PreparedStatements::default(),
            diagnostics: Diagnostics::default(),
            results: LastResults::default(),
            functions: FunctionState::new(seed),
            running: RunningStatement::default(),
            query_log: QueryLog::default(),
            routines: routines::Routines::default(),
            digest_cache: Some(Box::default()),
            traces: Traces::default(),
            shared: Shared {
                core,
                backend,
                plans,
                control: request.control,
                process: SessionProcess::new(process),
            },
        };
        session.tables.transaction.set_control(&session.shared.control);
        session.variables.set_client_collation(request.collation);
        session.variables.set_wait_timeout(&session.client);
        session.note_tracing();
        if let Some(database) = request.database.filter(|name| !name.is_empty()) {
            session.use_database(&String::from_utf8_lossy(&database))?;
        }
        session.log_connect("Connect", session.database.as_deref());
        Ok(session)
    }

    fn log_connect(&self, command: &str, database: Option<&str>) {
        if self.shared.core.logs.general_is_on() {
            let database = database.unwrap_or("");
            let how = match (self.client.tls(), self.shared.control.peer) {
                (Some(_), _) => "SSL/TLS",
                (None, Some(_)) => "TCP/IP",
                (None, None) => "Socket",
            };
            let text = format!("{} on {database} using {how}", self.account.user_at_host());
            statement::log_general(&self.shared, self.variables.settings(), command, &text.as_bytes());
        }
    }

    /// Makes `name` the default database.
    ///
    /// # Errors
    /// 1049, 1044.
    pub fn use_database(&mut self, name: &str) -> Result<(), Box<SqlError>> {
        if name.is_empty() {
            return Err(service::error::ER_NO_DB_ERROR.bare());
        }
        let catalog = self.shared.core.catalog().load();
        if !privilege::enters_schema(&self.account, name) {
            return Err(privilege::schema_denied(&self.account, name));
        }
        let Some(schema) = catalog.schema(name) else { return Err(no_schema(name)) };
        self.database = Some(Arc::clone(&schema.name));
        self.shared.process.identity.lock().database = Some(schema.name.to_string());
        self.variables.set_database_collation(schema.collation);
        Ok(())
    }

    /// Lets names mean those of a schema until [`Session::leave_schema`], which takes what this answers.
    ///
    /// # Errors
    /// 1049, 1044.
    pub(crate) fn enter_schema(&mut self, name: &str) -> Result<Option<Arc<str>>, Box<SqlError>> {
        let catalog = self.shared.core.catalog().load();
        if !privilege::enters_schema(&self.account, name) {
            return Err(privilege::schema_denied(&self.account, name));
        }
        let Some(schema) = catalog.schema(name) else { return Err(no_schema(name)) };
        Ok(self.database.replace(Arc::clone(&schema.name)))
    }

    /// Names mean what they meant before [`Session::enter_schema`].
    pub(crate) fn leave_schema(&mut self, own: Option<Arc<str>>) {
        self.database = own;
    }

    /// Called after a database was dropped: it may have been the default one.
    pub(crate) fn forget_database(&mut self, name: &str) {
        if self.database.as_deref() == Some(name) {
            self.database = None;
            self.shared.process.identity.lock().database = None;
        }
    }

    /// Makes `name` the default database, or none, without asking whether the account may.
    pub(crate) fn switch_database(&mut self, name: Option<Arc<str>>) {
        let collation =
            name.as_deref().and_then(|name| Some(self.shared.core.catalog().load().schema(name)?.collation));
        if let Some(collation) = collation {
            self.variables.set_database_collation(collation);
        }
        self.shared.process.identity.lock().database = name.as_deref().map(str::to_owned);
        self.database = name;
    }

    /// The catalog as the session sees it, its temporary tables included.
    fn catalog(&self) -> Arc<Catalog> {
        self.names().catalog()
    }

    /// What names mean to it.
    fn names(&self) -> Names<'_> {
        Names { core: &self.shared.core, database: self.database.as_ref(), temporary: &self.tables.temporary }
    }

    /// What its account may do.
    fn access(&self) -> Access<'_> {
        Access { account: &self.account, names: self.names() }
    }

    /// Counts a statement of a kind.
    #[inline]
    pub(crate) fn count(&self, kind: StatementKind) {
        self.shared.process.counts.count(kind);
    }

    pub(crate) fn session_context(&self) -> SessionContext {
        SessionContext {
            counts: self.shared.process.counts.values(),
            core: Arc::clone(&self.shared.core),
            variables: Variables::clone(&self.variables),
            account: Some(Arc::clone(&self.account)),
            tls: self.client.tls().cloned(),
            traces: self.traces.shown(),
        }
    }

    /// Whether statements are traced may have changed: those that are are planned each time, and no plan of a text is looked for.
    fn note_tracing(&mut self) {
        let is_traced = Traces::is_on(&self.variables);
        if is_traced != self.digest_cache.is_none() {
            self.digest_cache = (!is_traced).then(Box::default);
        }
    }

    /// What makes its plans.
    fn planner(&self) -> Planner<'_, B> {
        Planner {
            shared: &self.shared,
            names: self.names(),
            account: &self.account,
            variables: &self.variables,
            user_variables: &self.user_variables,
            results: &self.results,
            diagnostics: &self.diagnostics,
            functions: &self.functions,
            running: &self.running,
            routines: &self.routines,
            traces: &self.traces,
        }
    }

    /// What it has of what plans are made for.
    #[inline]
    fn plan_fit(&self) -> PlanFit<'_> {
        PlanFit { names: self.names(), variables: &self.variables }
    }

    /// Runs a parsed statement, with the values of its parameters. Also for statements within others (EXECUTE, CALL): the one place where
    /// what a statement does leads back to where statements are distinguished.
    fn dispatch(
        &mut self,
        statement: &Statement<'_>,
        text: &[u8],
        parameters: &[ValueRef<'_>],
        reply: &mut Reply<'_>,
    ) -> Attempt<()> {
        dispatch::dispatch(self, statement, text, parameters, reply)
    }

    /// Takes the locks of what the triggers and functions of a plan may use. Here, as [`Session::dispatch`] is: what runs them plans and runs
    /// statements.
    fn lock_programs(&mut self, plan: &PhysicalPlan) -> Attempt<()> {
        triggers::lock_programs(self, plan)
    }

    /// Calls a stored function inside the statement that has the call.
    fn call_function(
        &mut self,
        call: FunctionCall<'_>,
        ground: StatementGround<'_>,
        now_micros: i64,
    ) -> SqlResult<()> {
        functions::call(self, call, ground, now_micros)
    }

    /// Runs triggers inside the statement that fires them.
    fn fire(
        &mut self,
        firing: Firing<'_>,
        ground: StatementGround<'_>,
        now_micros: i64,
    ) -> Result<(), Box<SqlError>> {
        triggers::fire(self, firing, ground, now_micros)
    }

    pub(crate) fn status_flags(&self) -> StatusFlags {
        StatusFlags::NONE
            .set(StatusFlags::AUTOCOMMIT, self.variables.settings().autocommit)
            .set(StatusFlags::IN_TRANS, self.tables.transaction.is_open())
            .set(
                StatusFlags::IN_TRANS_READONLY,
                self.tables.transaction.is_open() && self.tables.transaction.is_read_only(),
            )
            .set(
                StatusFlags::NO_BACKSLASH_ESCAPES,
                self.variables
                    .settings()
                    .sql_mode
                    .has(crate::variables::sql_mode::SqlModes::NO_BACKSLASH_ESCAPES),
            )
    }

    /// Answers a statement that has nothing to tell.
    pub(crate) fn send_ok(&mut self, reply: &mut Reply<'_>) -> Outcome {
        self.results.set_row_count(0);
        let summary = OkSummary {
            status: self.status_flags(),
            warnings: self.diagnostics.packet_count(),
            ..OkSummary::default()
        };
        reply.ok(&summary)
    }

    /// The same for what makes the session as it is after a login: no statement has run.
    fn send_login_ok(&mut self, reply: &mut Reply<'_>) -> Outcome {
        let sent = self.send_ok(reply);
        self.results.set_row_count(-1);
        sent
    }

    pub(crate) fn push_error(&mut self, error: &SqlError) {
        for warning in &error.earlier {
            self.diagnostics.push(warning.clone(), self.variables.settings().diagnostics);
        }
        self.diagnostics.push(error.diagnostic(), self.variables.settings().diagnostics);
        self.results.set_row_count(-1);
        if crate::limits::closes_connection(error) {
            self.shared.control.kill(service::Kill::Connection);
        }
    }
}

impl<B: Backend> service::Session for Session<B> {
    /// In `character_set_results`; a character that it has not is shown by its code point.
    fn error_text<'e>(&self, error: &'e SqlError) -> Cow<'e, [u8]> {
        let utf8 = error.message.as_bytes();
        let Some(charset) = self.variables.settings().results_charset.filter(|set| !set.is_ascii_text(utf8))
        else {
            return Cow::Borrowed(utf8);
        };
        if matches!(charset, Charset::Utf8mb4 | Charset::Binary) {
            return Cow::Borrowed(utf8);
        }
        let mut text = Vec::with_capacity(utf8.len());
        for character in error.message.chars() {
            let code = u32::from(character);
            if !charset.encode(code, &mut text) {
                match code {
                    ..=0xFFFF => text.extend_from_slice(format!("\\{code:04X}").as_bytes()),
                    _ => text.push(b'?'),
                }
            }
        }
        Cow::Owned(text)
    }

    fn note_traffic(&mut self, received_bytes: u64, sent_bytes: u64) {
        self.shared.process.counts.bytes_received.add(received_bytes);
        self.shared.process.counts.bytes_sent.add(sent_bytes);
    }

    fn query(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> CommandOutcome {
        dispatch::run_text(self, sql, reply)
    }

    fn prepare(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> Outcome {
        prepared_commands::prepare_statement(self, sql, reply)
    }

    fn execute(&mut self, request: ExecuteRequest<'_>, reply: &mut Reply<'_>) -> CommandOutcome {
        prepared_commands::execute_statement(self, request, reply)
    }

    fn send_long_data(&mut self, statement_id: u32, parameter: u16, data: &[u8]) {
        self.shared.process.counts.com_stmt_send_long_data.increment();
        let limits = prepared::long_data_limits(&self.variables, &self.shared.core);
        let folder = self.shared.core.spill_folder();
        self.prepared.add_long_data(statement_id, parameter, data, limits, folder.as_ref());
    }

    fn fetch(&mut self, statement_id: u32, row_count: u32, reply: &mut Reply<'_>) -> Outcome {
        prepared_commands::fetch_rows(self, statement_id, row_count, reply)
    }

    fn reset_statement(&mut self, statement_id: u32, reply: &mut Reply<'_>) -> Outcome {
        self.shared.process.counts.com_stmt_reset.increment();
        self.prepared.reset(statement_id)?;
        self.send_ok(reply)
    }

    fn recover(&mut self) {
        let mode = self.variables.settings().sql_mode.for_syntax();
        crate::panics::note_statement(
            &self.shared.core.env,
            self.shared.control.connection_id,
            &self.shared.process.statement(),
            mode,
        );
        env::memory::forget_exceeded();
        if let Err(error) = self.abandon_statement() {
            self.push_error(&error);
        }
    }

    fn close_statement(&mut self, statement_id: u32) {
        self.shared.process.counts.com_stmt_close.increment();
        self.prepared.close(statement_id, &self.shared.core);
    }

    fn init_db(&mut self, database: &[u8], reply: &mut Reply<'_>) -> Outcome {
        self.diagnostics.clear();
        self.account.require_valid_password()?;
        statement::log_general(&self.shared, self.variables.settings(), "Init DB", &database);
        self.use_database(&String::from_utf8_lossy(database))?;
        self.send_use_ok(reply)
    }

    fn field_list(&mut self, table: &[u8], wildcard: &[u8], reply: &mut Reply<'_>) -> Outcome {
        self.account.require_valid_password()?;
        definitions::list_fields(self, table, wildcard, reply)
    }

    fn statistics(&mut self, reply: &mut Reply<'_>) -> Outcome {
        let uptime = self.shared.core.env.clock.now().since(self.shared.core.started).as_secs();
        let counts = self.shared.core.processes.count_sums();
        let questions = counts.of("Questions");
        #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = questions as f64 / uptime.max(1) as f64;
        let text = format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: 0  Flush tables: 1  Open tables: 0  Queries per second avg: {rate:.3}",
            self.shared.core.processes.count(),
            counts.of("Slow_queries"),
        );
        reply.raw(text.as_bytes());
        Ok(())
    }

    fn set_option(&mut self, option: SetOption, reply: &mut Reply<'_>) -> Outcome {
        self.client.set_option(option);
        reply.end_rows(self.status_flags(), 0)
    }

    fn change_user(&mut self, request: ChangeUserRequest, reply: &mut Reply<'_>) -> Outcome {
        self.end_conversation(End::ChangeUser(&request))?;
        let database = request.database.filter(|name| !name.is_empty());
        let database = database.map(|name| String::from_utf8_lossy(&name).into_owned());
        self.log_connect("Change user", database.as_deref());
        if let Some(database) = database {
            self.use_database(&database)?;
        }
        self.send_login_ok(reply)
    }

    fn reset_connection(&mut self, reply: &mut Reply<'_>) -> Outcome {
        self.end_conversation(End::Reset)?;
        self.send_login_ok(reply)
    }

    fn process_kill(&mut self, connection_id: u32, reply: &mut Reply<'_>) -> Outcome {
        self.account.require_valid_password()?;
        self.kill(u64::from(connection_id), false)?;
        self.send_ok(reply)
    }

    fn may_hold_locks(&self) -> bool {
        self.tables.transaction.is_open() || self.tables.locks.any_held()
    }

    fn ping(&mut self, reply: &mut Reply<'_>) -> Outcome {
        self.send_ok(reply)
    }

    fn idle_timeout_s(&self) -> u64 {
        self.variables.unsigned(known::wait_timeout())
    }

    fn hold_input(&mut self, bytes: u64) -> Outcome {
        memory_limits::note_input(self, bytes)
    }

    fn max_allowed_packet(&self) -> u32 {
        u32::try_from(self.variables.unsigned(known::max_allowed_packet())).unwrap_or(u32::MAX)
    }
}

impl<B: Backend> Session<B> {
    pub(crate) fn send_use_ok(&mut self, reply: &mut Reply<'_>) -> Outcome {
        let Some(database) = self.database.clone() else { return self.send_ok(reply) };
        self.results.set_row_count(0);
        let change = [wire::SessionStateChange::Schema(database.as_bytes())];
        let tracked = self.client.has(Capabilities::SESSION_TRACK);
        reply.ok(&OkSummary {
            status: self.status_flags().set(StatusFlags::SESSION_STATE_CHANGED, tracked),
            warnings: self.diagnostics.packet_count(),
            state_changes: if tracked { &change } else { &[] },
            ..OkSummary::default()
        })
    }

    /// KILL: ends another connection or its statement.
    ///
    /// # Errors
    /// 1094 if there is none, 1095 without the right.
    pub(crate) fn kill(&self, connection_id: u64, query_only: bool) -> Result<(), Box<SqlError>> {
        let Some(entry) = self.shared.core.processes.get(connection_id) else {
            return Err(ER_NO_SUCH_THREAD.with(&[&connection_id]));
        };
        let victim = entry.identity.lock().clone();
        let catalog = self.shared.core.catalog().load();
        access::require_kill(&self.account, &catalog.accounts, &victim)
            .map_err(|_| service::error::ER_KILL_DENIED_ERROR.with(&[&connection_id]))?;
        entry.control.kill(if query_only { service::Kill::Query } else { service::Kill::Connection });
        Ok(())
    }
}
