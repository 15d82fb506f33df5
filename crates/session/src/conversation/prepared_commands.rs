//! Commands and statements about prepared statements: COM_STMT_PREPARE, COM_STMT_EXECUTE, COM_STMT_FETCH, PREPARE, EXECUTE, DEALLOCATE.
//!
//! Parameters stay binary on their way from the packet to the expression ([`read_parameters`]); only a log that wants the statement renders
//! them ([`RenderedStatement`]), in one pass. Long data that lies on disk goes from there into the table if the statement is an INSERT
//! that takes it as it is. What is kept of a statement: [`super::prepared`].

use exec::{LongData, LongParameter};
use hashbrown::HashMap;
use plan::logical::OutputSource;
use service::error::{
    ER_DYNAMIC_PARAMETERS_DML_ONLY, ER_EMPTY_QUERY, ER_MALFORMED_PACKET, ER_NEED_REPREPARE, ER_PS_MANY_PARAM,
    ER_UNSUPPORTED_PS, ER_WRONG_ARGUMENTS,
};
use service::{CommandOutcome, ExecuteRequest, OkSummary, Outcome, Reply, SqlError, StatusFlags};
use syntax::ast::{MaintainKind, PrepareSource, Show, Statement};
use types::charset::Charset;
use types::collation::CollationId;
use types::{DataType, Value, ValueRef};
use wire::EncodedColumns;
use wire::parameter::PARAMETER_COUNT_MAX;

use super::Session;
use super::attempt::{Attempt, until_planned};
use super::cursor::Cursor;
use super::memory;
use super::parameters::read_parameters;
use super::prepared::{Kept, PreparedStatement, long_data_too_long, require_room, unknown};
use super::rendered_statement::RenderedStatement;
use crate::backend::Backend;
use crate::plans::shared::Known;
use crate::plans::{CachedPlan, HeldPlan};
use crate::processes::Activity;
use crate::status::StatementKind;

/// Statements that can be prepared; the others answer 1295, as in MySQL.
fn can_be_prepared(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::Prepare { .. }
        | Statement::Execute { .. }
        | Statement::Deallocate(_)
        | Statement::LoadData(_)
        | Statement::LockTables(_)
        | Statement::UnlockTables
        | Statement::LockInstance
        | Statement::UnlockInstance
        | Statement::Help(_)
        | Statement::StartTransaction { .. }
        | Statement::Savepoint(_)
        | Statement::RollbackTo(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::AlterDatabase(_)
        | Statement::Use(_)
        | Statement::CreateRole { .. }
        | Statement::DropRole { .. }
        | Statement::CreateRoutine(_)
        | Statement::AlterRoutine(_)
        | Statement::DropRoutine(_)
        | Statement::Signal(_)
        | Statement::GetDiagnostics(_)
        | Statement::Shutdown
        | Statement::Restart => false,
        Statement::Show(show) => {
            !matches!(show, Show::Warnings(_) | Show::Errors(_) | Show::CountWarnings | Show::CountErrors)
        }
        Statement::Maintain(maintain) => maintain.kind != MaintainKind::Check,
        _ => true,
    }
}

/// A statement whose tree points nowhere into its text.
fn without_text(statement: &Statement<'_>) -> Option<Statement<'static>> {
    match *statement {
        Statement::Commit(completion) => Some(Statement::Commit(completion)),
        Statement::Rollback(completion) => Some(Statement::Rollback(completion)),
        _ => None,
    }
}

/// Where the `?` of a statement stand, and its plan if it has one.
type PlacesAndPlan<B> = (Vec<u32>, Option<HeldPlan<B>>);

impl<B: Backend> Session<B> {
    /// COM_STMT_PREPARE.
    pub(crate) fn prepare_statement(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> Outcome {
        let sql = self.to_utf8(sql);
        let sql = &*sql;
        self.process.counts.com_stmt_prepare.increment();
        let running = self.begin_statement(Activity::Prepare, sql, false);
        self.diagnostics.clear();
        let outcome = self.prepare_now(sql, reply);
        if let Err(error) = &outcome {
            self.push_error(error);
        }
        self.log_general("Prepare", &sql);
        self.end_statement(&running, &sql);
        outcome
    }

    fn prepare_now(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> Outcome {
        require_room(&self.core)?;
        let (places, plan) = memory::lend(|arena: &mut bumpalo::Bump| self.check_prepare(sql, arena))?;
        let results = self.variables.settings().results_charset;
        let columns = plan.as_ref().map(|plan| plan.columns(results)).unwrap_or_default();
        let parameters = parameter_columns(places.len(), plan.as_deref());
        let id = self.prepared.add(PreparedStatement::new(sql, places), &self.core);
        reply.prepared(id, &parameters, &columns, self.status_flags(), self.diagnostics.packet_count())
    }

    /// Parses and, where it has a plan, plans a statement: all errors that PREPARE can find.
    fn check_prepare(
        &mut self,
        sql: &[u8],
        arena: &bumpalo::Bump,
    ) -> Result<PlacesAndPlan<B>, Box<SqlError>> {
        self.core.counters.statements_parsed.increment();
        let parsed = syntax::parse(sql, arena, self.variables.settings().sql_mode.for_syntax())
            .map_err(|error| crate::errors::syntax_error(&error))?;
        if parsed.more {
            return Err(crate::errors::syntax_error_near(&sql[parsed.end..], sql, parsed.end));
        }
        if matches!(parsed.statement, Statement::Empty) {
            return Err(ER_EMPTY_QUERY.bare());
        }
        if parsed.params.len() > PARAMETER_COUNT_MAX {
            return Err(ER_PS_MANY_PARAM.bare());
        }
        if !can_be_prepared(&parsed.statement) {
            return Err(ER_UNSUPPORTED_PS.bare());
        }
        if matches!(parsed.statement, Statement::Kill { .. }) && !parsed.params.is_empty() {
            return Err(ER_DYNAMIC_PARAMETERS_DML_ONLY.bare());
        }
        let places = parsed.params.clone();
        let plan = self.plan_for_prepare(&parsed.statement, sql)?;
        Ok((places, plan))
    }

    /// COM_STMT_EXECUTE.
    pub(crate) fn execute_statement(
        &mut self,
        request: ExecuteRequest<'_>,
        reply: &mut Reply<'_>,
    ) -> CommandOutcome {
        let is_requeued = reply.is_requeued();
        if !is_requeued {
            self.process.counts.com_stmt_execute.increment();
        }
        let mut statement = match self.prepared.take(request.statement_id, "mysqld_stmt_execute") {
            Ok(statement) => statement,
            Err(error) => return CommandOutcome::Failed(error),
        };
        let outcome = self.execute_taken(&mut statement, request, is_requeued, reply);
        self.prepared.put_back(request.statement_id, statement);
        outcome
    }

    fn execute_taken(
        &mut self,
        statement: &mut PreparedStatement<B>,
        request: ExecuteRequest<'_>,
        is_requeued: bool,
        reply: &mut Reply<'_>,
    ) -> CommandOutcome {
        if let Some(error) = statement.long_data_error.take() {
            statement.long_data.clear();
            return CommandOutcome::Failed(error);
        }
        let mut values = memory::take_values();
        let mut long_data = std::mem::take(&mut statement.long_data);
        let has_long_data = !long_data.is_empty();
        if has_long_data && let Err(error) = self.place_long_data(statement, &mut long_data, request) {
            return CommandOutcome::Failed(error);
        }
        let converted = bumpalo::Bump::new();
        if read_parameters(self.variables.settings(), statement, &long_data, &converted, &mut values, request)
            .is_err()
        {
            return CommandOutcome::Failed(ER_MALFORMED_PACKET.bare());
        }
        if statement.cursor.is_some() {
            statement.cursor = None;
            self.prepared.note_change();
        }
        if has_long_data {
            self.running.set_long_values(long_parameters(&long_data));
        }
        let running = self.begin_prepared(request.statement_id, &statement.text, is_requeued);
        let PreparedStatement { text, places, kept, cursor, .. } = statement;
        let long_bytes =
            if has_long_data { long_data.values().map(LongData::byte_count).sum() } else { 0u64 };
        let value_bytes = request.parameters.len() + long_bytes as usize;
        let cut_at = if has_long_data {
            self.running.long_values().iter().map(|long| long.number as usize).min()
        } else {
            None
        };
        let rendered = RenderedStatement::new(text, places, &values, value_bytes, cut_at);
        if !is_requeued {
            self.log_general("Execute", &rendered);
        }
        let wants_cursor = request.flags & 7 != 0;
        let outcome = until_planned(|| self.run_prepared(text, kept, &values, wants_cursor, reply));
        if has_long_data {
            self.running.set_long_values(Vec::new());
        }
        let outcome = match outcome {
            CommandOutcome::Done(opened) => {
                if opened.is_some() {
                    self.prepared.note_change();
                }
                *cursor = opened;
                CommandOutcome::Done(())
            }
            CommandOutcome::Requeue(within) => {
                self.suspend_statement(running);
                memory::keep_values(values);
                statement.long_data = long_data; // For the execution that comes again.
                return CommandOutcome::Requeue(within);
            }
            CommandOutcome::Failed(error) => {
                self.push_error(&error);
                CommandOutcome::Failed(error)
            }
        };
        self.end_statement(&running, &rendered);
        memory::keep_values(values);
        outcome
    }

    /// Reads long data that lies on disk, unless the statement takes it from there.
    #[cold]
    fn place_long_data(
        &mut self,
        statement: &mut PreparedStatement<B>,
        long_data: &mut HashMap<u16, LongData>,
        request: ExecuteRequest<'_>,
    ) -> Outcome {
        if !long_data.values().any(|long| long.on_disk().is_some())
            || self.passes_long_data(statement, long_data, request)?
        {
            return Ok(());
        }
        let packet_bytes_max = self.long_data_limits().packet_bytes_max;
        if long_data.values().any(|long| long.byte_count() > packet_bytes_max) {
            return Err(long_data_too_long());
        }
        long_data.values_mut().try_for_each(LongData::read_whole)
    }

    /// Whether the statement takes all long data that lies on disk as it is; else it is needed in memory. Plans the statement if it
    /// has no plan.
    #[cold]
    fn passes_long_data(
        &mut self,
        statement: &mut PreparedStatement<B>,
        long_data: &HashMap<u16, LongData>,
        request: ExecuteRequest<'_>,
    ) -> Result<bool, Box<SqlError>> {
        let own = self.variables.settings().connection_collation.charset();
        if self.variables.settings().client_charset != own {
            return Ok(false);
        }
        let (converted, mut values) = (bumpalo::Bump::new(), Vec::new());
        read_parameters(self.variables.settings(), statement, long_data, &converted, &mut values, request)
            .map_err(|_| ER_MALFORMED_PACKET.bare())?;
        let has_plan = matches!(&statement.kept, Kept::Plan(plan) if self.plan_is_current(plan, &values));
        if !has_plan {
            let arena = bumpalo::Bump::new();
            self.core.counters.statements_parsed.increment();
            let parsed =
                syntax::parse(&statement.text, &arena, self.variables.settings().sql_mode.for_syntax())
                    .map_err(|error| crate::errors::syntax_error(&error))?;
            // What is wrong with it the execution itself says.
            if !matches!(parsed.statement, Statement::Insert(_)) {
                return Ok(false);
            }
            self.account.renew(&self.core);
            let Ok(plan) = self.plan_statement(&parsed.statement, &statement.text, &values) else {
                return Ok(false);
            };
            statement.kept = Kept::Plan(plan);
        }
        let Kept::Plan(plan) = &statement.kept else { return Ok(false) };
        for (&number, long) in long_data.iter().filter(|(_, long)| long.on_disk().is_some()) {
            let (Some(types), Some(ValueRef::Bytes { collation, .. })) =
                (plan.prepared().long_columns(u32::from(number)), values.get(usize::from(number)))
            else {
                return Ok(false);
            };
            for data_type in types {
                let target = data_type.collation.charset();
                let is_as_it_is = target == Charset::Binary
                    || target == collation.charset() && long.is_well_formed(target)?;
                if !is_as_it_is || long.byte_count() > u64::from(data_type.length) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Refuses to run what needs long data whole while some lies on disk: the plan was made again since it was asked.
    #[inline]
    fn require_passing(&self, prepared: Option<&exec::Prepared>) -> Outcome {
        if self.running.long_values().is_empty() {
            return Ok(());
        }
        let passes = |number| prepared.is_some_and(|prepared| prepared.long_columns(number).is_some());
        if self.running.long_values().iter().all(|long| passes(long.number)) {
            return Ok(());
        }
        Err(ER_NEED_REPREPARE.bare())
    }

    fn run_prepared(
        &mut self,
        text: &[u8],
        kept: &mut Kept<B>,
        values: &[ValueRef<'_>],
        wants_cursor: bool,
        reply: &mut Reply<'_>,
    ) -> Attempt<Option<Box<Cursor>>> {
        match kept {
            Kept::Plan(plan) if self.plan_is_current(plan, values) => {
                self.require_passing(Some(plan.prepared()))?;
                self.diagnostics.clear();
                self.account.renew(&self.core);
                return self.run_cached(plan, values, wants_cursor, reply);
            }
            Kept::Tree(tree) => {
                self.require_passing(None)?;
                return self.dispatch(tree, text, values, reply).map(|()| None);
            }
            Kept::Plan(_) | Kept::Nothing => {}
        }
        *kept = Kept::Nothing;
        self.prepared.note_change();
        let (next, cursor) = memory::lend(|arena: &mut bumpalo::Bump| {
            self.plan_and_run(text, arena, values, wants_cursor, reply)
        })?;
        *kept = next;
        if let Kept::Plan(plan) = kept {
            plan.keep();
        }
        Ok(cursor)
    }

    fn plan_and_run(
        &mut self,
        text: &[u8],
        arena: &bumpalo::Bump,
        values: &[ValueRef<'_>],
        wants_cursor: bool,
        reply: &mut Reply<'_>,
    ) -> Attempt<(Kept<B>, Option<Box<Cursor>>)> {
        let found = self.find_prepared(text, values);
        if let Known::Plan(_, plan) = found {
            let mut plan = HeldPlan::new(plan);
            self.diagnostics.clear();
            self.account.renew(&self.core);
            self.require_passing(Some(plan.prepared()))?;
            let cursor = self.run_cached(&mut plan, values, wants_cursor, reply)?;
            return Ok((Kept::Plan(plan), cursor));
        }
        self.core.counters.statements_parsed.increment();
        let parsed = syntax::parse(text, arena, self.variables.settings().sql_mode.for_syntax())
            .map_err(|error| crate::errors::syntax_error(&error))?;
        if !super::plans::has_plan(&parsed.statement) {
            self.require_passing(None)?;
            let outcome = self.dispatch(&parsed.statement, text, values, reply);
            self.running.set_parameters(&[]); // An idle session holds little.
            outcome?;
            return Ok((without_text(&parsed.statement).map_or(Kept::Nothing, Kept::Tree), None));
        }
        self.diagnostics.clear();
        self.account.renew(&self.core);
        let mut plan = self.plan_execution(&parsed.statement, text, values)?;
        if let Some(into) = super::plans::into_of(&parsed.statement) {
            self.run_into(&mut plan, into, values, reply)?;
            return Ok((Kept::Nothing, None));
        }
        self.share_prepared(&found, text, values, &plan);
        self.require_passing(Some(plan.prepared()))?;
        let cursor = self.run_cached(&mut plan, values, wants_cursor, reply)?;
        Ok((Kept::Plan(plan), cursor))
    }

    /// COM_STMT_FETCH.
    pub(crate) fn fetch_rows(&mut self, id: u32, row_count: u32, reply: &mut Reply<'_>) -> Outcome {
        self.process.counts.com_stmt_fetch.increment();
        let status = self.status_flags();
        let results = self.variables.settings().results_charset;
        let more = self.prepared.fetch(id, row_count, results, reply)?;
        if more {
            return reply.end_rows(status | StatusFlags::CURSOR_EXISTS, 0);
        }
        reply.end_rows(status | StatusFlags::LAST_ROW_SENT, 0)
    }

    /// PREPARE name FROM ...
    pub(crate) fn prepare_named(
        &mut self,
        name: &str,
        from: &PrepareSource<'_>,
        reply: &mut Reply<'_>,
    ) -> Outcome {
        self.count(StatementKind::PrepareSql);
        self.process.counts.com_stmt_prepare.increment();
        let text: Vec<u8> = match from {
            PrepareSource::Text(text) => text.to_vec(),
            PrepareSource::UserVar(variable) => match self.user_variables.get(&variable.to_ascii_lowercase())
            {
                Some(Value::Bytes { bytes, .. }) => bytes.clone(),
                _ => b"NULL".to_vec(),
            },
        };
        self.prepared.forget_named(name, &self.core);
        require_room(&self.core)?;
        let arena = bumpalo::Bump::new();
        let (places, _) = self.check_prepare(&text, &arena)?;
        let count = u32::try_from(places.len()).unwrap_or(u32::MAX);
        self.prepared.add_named(name, &text, count, &self.core);
        self.results.set_row_count(0);
        reply.ok(&OkSummary {
            status: self.status_flags(),
            warnings: self.diagnostics.packet_count(),
            info: "Statement prepared",
            ..OkSummary::default()
        })
    }

    /// EXECUTE name USING @a, ...
    pub(crate) fn execute_named(
        &mut self,
        name: &str,
        using: &[&[u8]],
        reply: &mut Reply<'_>,
    ) -> Attempt<()> {
        if !reply.is_requeued() {
            self.count(StatementKind::ExecuteSql);
            self.process.counts.com_stmt_execute.increment();
        }
        let Some((text, count)) = self.prepared.find_named(name) else {
            return Err(unknown(name, "EXECUTE").into());
        };
        if using.len() != count as usize {
            return Err(ER_WRONG_ARGUMENTS.with(&[&"EXECUTE"]).into());
        }
        let values: Vec<Value> = using
            .iter()
            .map(|variable| {
                self.user_variables.get(&variable.to_ascii_lowercase()).cloned().unwrap_or(Value::Null)
            })
            .collect();
        // Where OUT parameters of a CALL go.
        self.routines.set_using(using.iter().map(|name| name.to_ascii_lowercase()).collect());
        let values: Vec<ValueRef<'_>> = values.iter().map(ValueRef::from).collect();
        let arena = bumpalo::Bump::new();
        self.running.set_executes_named(true);
        let outcome = self.plan_and_run(&text, &arena, &values, false, reply);
        self.running.set_executes_named(false);
        outcome.map(|_| ())
    }

    /// DEALLOCATE PREPARE name
    pub(crate) fn deallocate(&mut self, name: &str, reply: &mut Reply<'_>) -> Outcome {
        self.count(StatementKind::DeallocSql);
        if !self.prepared.forget_named(name, &self.core) {
            return Err(unknown(name, "DEALLOCATE PREPARE"));
        }
        self.send_ok(reply)
    }
}

/// The parameters whose values lie on disk.
fn long_parameters(long_data: &HashMap<u16, LongData>) -> Vec<LongParameter> {
    let on_disk = |(&number, long): (&u16, &LongData)| {
        Some(LongParameter { number: u32::from(number), value: long.on_disk()? })
    };
    long_data.iter().filter_map(on_disk).collect()
}

/// Definitions of a statement's parameters: MySQL names each `?`.
fn parameter_columns<B: Backend>(count: usize, plan: Option<&CachedPlan<B>>) -> EncodedColumns {
    let unknown = DataType::varchar(0, CollationId::BINARY);
    let types: Vec<&DataType> = (0..count)
        .map(|index| plan.and_then(|plan| plan.parameter_type(index)).unwrap_or(&unknown))
        .collect();
    exec::output::encode_columns(
        types.into_iter().map(|data_type| exec::output::ResultColumn {
            schema: "",
            table: "",
            original_table: "",
            name: "?",
            original_name: "",
            data_type,
            nullable: true,
            flags: 0,
            source: OutputSource::Column,
        }),
        None,
    )
}
