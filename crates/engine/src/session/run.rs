//! Statements with a plan: SELECT, INSERT, REPLACE, UPDATE, DELETE, DO.
//!
//! ```text
//! bind -> optimize -> compile (Executable) -> privileges -> metadata locks -> run inside the transaction -> answer
//! ```
//!
//! A cached plan enters at the privileges. The answer to a statement that committed leaves when the log is durable up to
//! its commit ([`Reply::wait_for`]).

use std::sync::Arc;

use catalog::{Catalog, Privileges, TableKind};
use exec::expr::{EvalContext, EvalSettings, SessionState, SqlResult, Warnings};
use exec::output::{CollectSink, ResultColumn, RowEncoder, encode_columns};
use exec::{ChangeSettings, Changed, ExecContext, MemoryLimits, Prepared, ReplySink, RowSink};
use plan::logical::NeededPrivilege;
use plan::physical::PlanKind;
use plan::{PlanError, PlanResult};
use service::error::{ER_INCORRECT_GLOBAL_LOCAL_VAR, ER_INTERNAL_ERROR};
use service::{Capabilities, OkSummary, Outcome, Reply, SqlError};
use store::LockWait;
use syntax::ast::{ExprKind, Into as IntoClause, Statement, VarScope};
use types::charset::Charset;
use types::collation::CollationId;
use types::temporal::zone::TimeZone;
use types::vector::Batch;
use types::{DataType, Value};
use wire::EncodedColumns;

use super::point::{PointOutcome, PointProgram};
use super::{LocalSession, not_supported};
use crate::core::Core;
use crate::privilege;
use crate::status::StatementKind;
use crate::variables::definition::known;
use crate::variables::sql_mode::SqlModes;
use crate::variables::{Kind, Scope, Setting, by_name};

/// MySQL's defaults of buffer sizes are for rows at a time; operators that work by batches get at least this.
const OPERATOR_BYTES_MIN: usize = 16 << 20;

/// A plan that can run again, with what it depends on.
#[derive(Clone, Debug)]
pub struct CachedPlan {
    pub(crate) prepared: Arc<Prepared>,
    catalog_version: u64,
    sql_mode: SqlModes,
    connection_collation: CollationId,
    parameter_classes: Vec<ParameterClass>,
    columns: Option<(Option<Charset>, Arc<EncodedColumns>)>,
    kind: StatementKind,
    database: Option<Arc<str>>,
    point: Option<(Option<Charset>, PointProgram)>,
}

/// What binding looks at in a parameter's value: its class, not the value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ParameterClass {
    Null,
    Int,
    UInt,
    Double,
    Decimal(u8),
    Date,
    DateTime,
    Time,
    Text(CollationId),
    Json,
}

fn class_of(value: &Value) -> ParameterClass {
    match value {
        Value::Null => ParameterClass::Null,
        Value::Int(_) => ParameterClass::Int,
        Value::UInt(_) => ParameterClass::UInt,
        Value::Double(_) => ParameterClass::Double,
        Value::Decimal(number) => ParameterClass::Decimal(number.scale()),
        Value::Date(_) => ParameterClass::Date,
        Value::DateTime(_) => ParameterClass::DateTime,
        Value::Time(_) => ParameterClass::Time,
        Value::Bytes { collation, .. } => ParameterClass::Text(*collation),
        Value::Json(_) => ParameterClass::Json,
    }
}

impl CachedPlan {
    /// Column definitions of the result, encoded for strings in `results`.
    pub(crate) fn columns(&self, results: Option<Charset>) -> EncodedColumns {
        let output = &self.prepared.plan().output;
        encode_columns(
            output.iter().map(|column| ResultColumn {
                schema: &column.schema,
                table: &column.table,
                original_table: &column.original_table,
                name: &column.name,
                original_name: &column.original_name,
                data_type: &column.data_type,
                nullable: column.nullable,
                flags: column.flags,
            }),
            results,
        )
    }

    fn encoded_columns(&self, results: Option<Charset>) -> Arc<EncodedColumns> {
        match &self.columns {
            Some((charset, columns)) if *charset == results => Arc::clone(columns),
            _ => Arc::new(self.columns(results)),
        }
    }

    /// Types of the result's columns.
    pub(crate) fn output_types(&self) -> impl Iterator<Item = &DataType> {
        self.prepared.plan().output.iter().map(|column| &column.data_type)
    }

    pub(crate) fn parameter_type(&self, index: usize) -> Option<&DataType> {
        self.prepared.plan().parameters.get(index)
    }
}

/// Rows of a result that the client fetches piece by piece (COM_STMT_FETCH).
#[derive(Debug)]
pub struct Cursor {
    types: Vec<DataType>,
    batches: std::vec::IntoIter<Batch>,
    current: Option<(Batch, usize)>,
}

impl Cursor {
    /// Sends at most `row_count` rows; answers whether there are more.
    ///
    /// # Errors
    /// The client is gone.
    pub fn send(
        &mut self,
        row_count: u32,
        results: Option<Charset>,
        reply: &mut Reply<'_>,
    ) -> Result<bool, Box<SqlError>> {
        let mut encoder = RowEncoder::new(self.types.iter(), results, service::RowFormat::Binary);
        let mut left = row_count;
        loop {
            match &mut self.current {
                Some((batch, next)) if *next < batch.row_count => {
                    if left == 0 {
                        return Ok(true);
                    }
                    encoder.put_row(batch, *next, reply.begin_row());
                    reply.end_row()?;
                    *next += 1;
                    left -= 1;
                }
                _ => match self.batches.next() {
                    Some(batch) => self.current = Some((batch, 0)),
                    None => return Ok(false),
                },
            }
        }
    }
}

/// Keeps batches for a cursor.
#[derive(Default)]
struct CursorSink {
    batches: Vec<Batch>,
}

impl RowSink for CursorSink {
    fn batch(&mut self, batch: &Batch) -> SqlResult<bool> {
        let mut copy = Batch::new(batch.columns.iter().map(types::vector::Column::physical));
        copy.extend_from(batch);
        self.batches.push(copy);
        Ok(true)
    }
}

/// Whether a statement runs through a plan.
#[must_use]
pub fn has_plan(statement: &Statement<'_>) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Do(_)
    )
}

fn kind_of(statement: &Statement<'_>) -> StatementKind {
    match statement {
        Statement::Insert(insert) if insert.replace => StatementKind::Replace,
        Statement::Insert(_) => StatementKind::Insert,
        Statement::Update(_) => StatementKind::Update,
        Statement::Delete(_) => StatementKind::Delete,
        Statement::Do(_) => StatementKind::Do,
        _ => StatementKind::Select,
    }
}

/// A planner's error as clients see it.
#[cold]
pub(crate) fn plan_error(error: &PlanError) -> Box<SqlError> {
    match service::Code::by_number(error.number) {
        Some(code) => code.saying(error.message.clone()),
        None => ER_INTERNAL_ERROR.with(&[&error.message]),
    }
}

/// What binding asks of a session.
struct BindSession<'a> {
    session: &'a LocalSession,
    parameters: Option<&'a [Value]>,
    /// The literals that are the parameters.
    literals: Option<&'a syntax::Digested<'a>>,
}

impl plan::bind::Session for BindSession<'_> {
    fn database(&self) -> Option<&str> {
        self.session.database.as_deref()
    }

    fn connection_collation(&self) -> CollationId {
        self.session.settings.connection_collation
    }

    fn only_full_group_by(&self) -> bool {
        self.session.settings.sql_mode.has(SqlModes::ONLY_FULL_GROUP_BY)
    }

    fn type_context(&self) -> plan::function::TypeContext {
        let increment = self.session.variables.unsigned(known::div_precision_increment());
        plan::function::TypeContext {
            connection_collation: self.session.settings.connection_collation,
            div_precision_increment: u8::try_from(increment).unwrap_or(4),
            no_unsigned_subtraction: self.session.settings.sql_mode.has(SqlModes::NO_UNSIGNED_SUBTRACTION),
        }
    }

    fn system_variable(&self, scope: VarScope, name: &str) -> PlanResult<Value> {
        self.session.system_variable(scope, name).map_err(|error| PlanError::new(error.number, error.message))
    }

    fn user_variable(&self, name: &str) -> Option<DataType> {
        let value = self.session.user_variables.get(name.to_ascii_lowercase().as_bytes())?;
        Some(plan::expr::literal_type(value))
    }

    fn parameter_type(&self, ordinal: u32) -> Option<DataType> {
        let value = self.parameters?.get(ordinal as usize)?;
        Some(plan::expr::literal_type(value))
    }

    fn literal_parameter(&self, start: u32) -> Option<u32> {
        let literals = self.literals?;
        literals.find(start).or_else(|| literals.find_cell(start))
    }
}

impl LocalSession {
    /// The value of `@@name`.
    ///
    /// # Errors
    /// 1193, 1238.
    pub(crate) fn system_variable(&self, scope: VarScope, name: &str) -> Result<Value, Box<SqlError>> {
        let Some(id) = by_name(name.as_bytes()) else {
            return Err(service::error::ER_UNKNOWN_SYSTEM_VARIABLE.with(&[&name]));
        };
        let definition = id.definition();
        let global = matches!(scope, VarScope::Global | VarScope::Persist | VarScope::PersistOnly);
        match (definition.scope, scope) {
            (Scope::Session, _) if global => {
                return Err(ER_INCORRECT_GLOBAL_LOCAL_VAR.with(&[&definition.name, &"SESSION"]));
            }
            (Scope::Global, VarScope::Session) => {
                return Err(ER_INCORRECT_GLOBAL_LOCAL_VAR.with(&[&definition.name, &"GLOBAL"]));
            }
            _ => {}
        }
        if id == known::last_insert_id() || id == known::identity() {
            return Ok(Value::UInt(self.last_insert_id));
        }
        if id == known::insert_id() {
            return Ok(Value::UInt(self.next_insert_id.unwrap_or(0)));
        }
        if id == known::warning_count() {
            return Ok(Value::UInt(self.diagnostics.warning_count()));
        }
        if id == known::error_count() {
            return Ok(Value::UInt(self.diagnostics.error_count()));
        }
        if id == known::timestamp() {
            #[allow(clippy::cast_precision_loss, reason = "MySQL shows it as a double as well")]
            return Ok(Value::Double(self.now_micros() as f64 / 1e6));
        }
        let globals = self.core.globals();
        let setting = if global || definition.scope == Scope::Global {
            globals.get(id)
        } else {
            self.variables.get(id)
        };
        Ok(match (setting, &definition.kind) {
            (Setting::Null, _) => Value::Null,
            (Setting::Boolean(on), _) => Value::Int(i64::from(*on)),
            (Setting::Integer(number), Kind::Integer { least, .. }) if *least < 0 => {
                Value::Int(i64::try_from(*number).unwrap_or(i64::MAX))
            }
            (Setting::Integer(number), _) => Value::UInt(u64::try_from(*number).unwrap_or(u64::MAX)),
            (Setting::Decimal(number), _) => Value::Double(*number),
            (Setting::Text(text), _) => Value::string(text.as_bytes(), CollationId::UTF8MB4_0900_AI_CI),
        })
    }

    fn now_micros(&self) -> i64 {
        self.fixed_timestamp_micros.unwrap_or_else(|| self.core.env.clock.wall_micros())
    }

    /// Binds, optimizes and compiles a statement. `values`: the parameters it is planned for.
    ///
    /// # Errors
    /// MySQL's, for names, types, places, and what does not run yet.
    pub(crate) fn plan_statement(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        values: &[Value],
    ) -> Result<CachedPlan, Box<SqlError>> {
        self.plan_with(statement, text, Some(values), &self.catalog())
    }

    /// Plans a statement with its literals as parameters.
    ///
    /// # Errors
    /// As [`Self::plan_statement`], but not always the same.
    pub(super) fn plan_shared(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        values: &[Value],
        literals: &syntax::Digested<'_>,
    ) -> Result<CachedPlan, Box<SqlError>> {
        let bind = BindSession { session: self, parameters: Some(values), literals: Some(literals) };
        self.plan_bound(statement, text, values, &self.catalog(), &bind)
    }

    fn plan_with(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        values: Option<&[Value]>,
        catalog: &Arc<Catalog>,
    ) -> Result<CachedPlan, Box<SqlError>> {
        let bind = BindSession { session: self, parameters: values, literals: None };
        self.plan_bound(statement, text, values.unwrap_or_default(), catalog, &bind)
    }

    fn plan_bound(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        values: &[Value],
        catalog: &Arc<Catalog>,
        bind: &BindSession<'_>,
    ) -> Result<CachedPlan, Box<SqlError>> {
        let bound = plan::bind::bind(statement, text, catalog, bind).map_err(|error| plan_error(&error))?;
        let plan = plan::optimize(bound, &plan::Options::new(catalog));
        let prepared = Arc::new(Prepared::new(Arc::new(plan))?);
        let mut cached = CachedPlan {
            prepared,
            catalog_version: catalog.version,
            sql_mode: self.settings.sql_mode,
            connection_collation: self.settings.connection_collation,
            parameter_classes: values.iter().map(class_of).collect(),
            columns: None,
            kind: kind_of(statement),
            database: self.database.clone(),
            point: None,
        };
        if !cached.prepared.plan().output.is_empty() {
            let results = self.settings.results_charset;
            cached.columns = Some((results, Arc::new(cached.columns(results))));
            cached.point = PointProgram::of(cached.prepared.plan(), results).map(|point| (results, point));
        }
        Ok(cached)
    }

    /// Plans a statement for PREPARE, parameters unknown; `None` for statements without a plan.
    pub(crate) fn plan_for_prepare(
        &mut self,
        statement: &Statement<'_>,
        text: &[u8],
    ) -> Result<Option<CachedPlan>, Box<SqlError>> {
        if !has_plan(statement) {
            return Ok(None);
        }
        self.plan_with(statement, text, None, &self.catalog()).map(Some)
    }

    /// Whether a cached plan may run now with these parameters.
    pub(crate) fn plan_is_current(&self, plan: &CachedPlan, values: &[Value]) -> bool {
        !plan.prepared.plan().volatile
            && self.temporary.is_empty()
            && plan.catalog_version == self.core.catalog().peek().version
            && plan.sql_mode == self.settings.sql_mode
            && plan.connection_collation == self.settings.connection_collation
            && plan.database == self.database
            && plan.parameter_classes.len() == values.len()
            && plan.parameter_classes.iter().zip(values).all(|(class, value)| *class == class_of(value))
    }

    /// Plans and runs a statement.
    pub(crate) fn run_planned(
        &mut self,
        statement: &Statement<'_>,
        text: &[u8],
        parameters: &[Value],
        reply: &mut Reply<'_>,
    ) -> Outcome {
        let mut plan = self.plan_statement(statement, text, parameters)?;
        if let Statement::Query(query) = statement
            && let Some(into) = query.into
        {
            return self.run_into(&plan, into, parameters, reply);
        }
        self.run_cached(&mut plan, parameters, false, reply).map(|_| ())
    }

    /// Runs a query over virtual tables of a catalog of its own.
    pub(crate) fn run_over(
        &mut self,
        catalog: &Arc<Catalog>,
        statement: &Statement<'_>,
        text: &[u8],
        reply: &mut Reply<'_>,
    ) -> Outcome {
        let plan = self.plan_with(statement, text, Some(&[]), catalog)?;
        let results = self.settings.results_charset;
        reply.columns(&plan.encoded_columns(results), self.status_flags(), 0)?;
        let mut sink = ReplySink::new(reply, plan.output_types(), results, u64::MAX);
        self.with_context_of(catalog, &plan, &[], |prepared, context| {
            exec::run_query(prepared, context, &mut sink)
        })?;
        self.found_rows = sink.row_count();
        self.row_count = -1;
        reply.end_rows(self.status_flags(), self.diagnostics.packet_count())
    }

    /// Checks that the account may do what the plan does.
    pub(super) fn require_plan_privileges(&self, plan: &CachedPlan) -> Outcome {
        let plan = plan.prepared.plan();
        for (table, needed, columns) in &plan.privileges {
            let definition = &plan.tables[table.0 as usize].entry.definition;
            if definition.kind != TableKind::Base {
                continue;
            }
            let wanted = match needed {
                NeededPrivilege::Select => Privileges::SELECT,
                NeededPrivilege::Insert => Privileges::INSERT,
                NeededPrivilege::Update => Privileges::UPDATE,
                NeededPrivilege::Delete => Privileges::DELETE,
            };
            let (schema, name) = (&definition.schema, &definition.name);
            if privilege::on_table(&self.account, schema, name).contains(wanted) {
                continue;
            }
            if columns.is_empty() {
                if !privilege::on_any_column(&self.account, schema, name, wanted) {
                    privilege::require_table(&self.account, schema, name, wanted)?;
                }
                continue;
            }
            for column in columns {
                let column = &definition.columns[*column as usize].name;
                privilege::require_column(&self.account, schema, name, column, wanted)?;
            }
        }
        Ok(())
    }

    /// Runs a plan and answers; rows stay behind a cursor if one is wanted and there are rows.
    pub(crate) fn run_cached(
        &mut self,
        plan: &mut CachedPlan,
        values: &[Value],
        wants_cursor: bool,
        reply: &mut Reply<'_>,
    ) -> Result<Option<Cursor>, Box<SqlError>> {
        self.core.counters.count(plan.kind);
        self.require_plan_privileges(plan)?;
        if !wants_cursor && self.run_point(plan, values, reply)? {
            return Ok(None);
        }
        let changes = matches!(
            plan.prepared.plan().kind,
            PlanKind::Insert(_) | PlanKind::Update(_) | PlanKind::Delete(_)
        );
        if plan.prepared.plan().tables.is_empty() && !changes {
            // Nothing of tables: no transaction is opened by SELECT 1.
            return self.run_body(plan, values, wants_cursor, reply, false);
        }
        self.begin_table_statement();
        if changes {
            self.require_writable()?;
        }
        self.lock_metadata(plan.prepared.plan())?;
        let before = self.transaction.store.savepoint();
        let outcome = self.run_body(plan, values, wants_cursor, reply, true);
        if let Err(error) = &outcome {
            self.fail_table_statement(&before, error)?;
        }
        outcome
    }

    /// Runs a point SELECT's program; false if the plan has none or a value does not fit it, and nothing was sent.
    fn run_point(
        &mut self,
        plan: &mut CachedPlan,
        values: &[Value],
        reply: &mut Reply<'_>,
    ) -> Result<bool, Box<SqlError>> {
        let results = self.settings.results_charset;
        let columns = match (&plan.columns, &plan.point) {
            (Some((charset, columns)), Some((point_charset, _)))
                if *charset == results && *point_charset == results =>
            {
                Arc::clone(columns)
            }
            _ => return Ok(false),
        };
        let Some((_, point)) = &mut plan.point else { return Ok(false) };
        let serializable =
            self.transaction.isolation_now(&self.settings) == super::settings::Isolation::Serializable;
        if self.settings.select_limit == 0 || serializable {
            return Ok(false);
        }
        let in_transaction = self.transaction.is_open() || !self.settings.autocommit;
        let zone = Arc::clone(&self.settings.time_zone);
        let mut key = std::mem::take(&mut self.key);
        let mut row = std::mem::take(&mut self.row);
        let format = reply.row_format();
        let outcome = if in_transaction {
            self.begin_table_statement();
            self.lock_metadata(plan.prepared.plan())?;
            let uncommitted = self.transaction.isolation == super::settings::Isolation::ReadUncommitted;
            let (transaction, view) = self.transaction.parts();
            match view {
                Some(view) if uncommitted => {
                    point.run(values, view.reader_uncommitted(), &*zone, &mut key, format, &mut row)
                }
                Some(view) => point.run(values, transaction.reader(view), &*zone, &mut key, format, &mut row),
                None => Ok(PointOutcome::NotHere),
            }
        } else {
            // An autocommit read holds its snapshot only here; DDL waits for the latch at most.
            let view = self.core.store.read_view();
            point.run(values, view.reader(), &*zone, &mut key, format, &mut row)
        };
        self.key = key;
        let answered = match outcome {
            Ok(PointOutcome::NotHere) => Ok(false),
            Ok(PointOutcome::Rows(rows)) => {
                self.send_point(rows, &columns, &row, in_transaction, reply).map(|()| true)
            }
            Err(error) => Err(error),
        };
        self.row = row;
        answered
    }

    fn send_point(
        &mut self,
        rows: u64,
        columns: &EncodedColumns,
        row: &[u8],
        in_transaction: bool,
        reply: &mut Reply<'_>,
    ) -> Outcome {
        if in_transaction {
            self.end_table_statement()?;
        }
        self.transaction.rows_examined = rows;
        self.found_rows = rows;
        self.row_count = -1;
        reply.columns(columns, self.status_flags(), 0)?;
        if rows > 0 {
            reply.begin_row().extend_from_slice(row);
            reply.end_row()?;
        }
        reply.end_rows(self.status_flags(), self.diagnostics.packet_count())
    }

    fn run_body(
        &mut self,
        plan: &CachedPlan,
        values: &[Value],
        wants_cursor: bool,
        reply: &mut Reply<'_>,
        in_transaction: bool,
    ) -> Result<Option<Cursor>, Box<SqlError>> {
        match &plan.prepared.plan().kind {
            PlanKind::Query(_) if wants_cursor => {
                let mut sink = CursorSink::default();
                self.with_context(plan, values, |prepared, context| {
                    exec::run_query(prepared, context, &mut sink)
                })?;
                self.finish(in_transaction, reply)?;
                let columns = plan.encoded_columns(self.settings.results_charset);
                reply.columns_with_cursor(&columns, self.status_flags(), self.diagnostics.packet_count())?;
                let types = plan.output_types().cloned().collect();
                Ok(Some(Cursor { types, batches: sink.batches.into_iter(), current: None }))
            }
            PlanKind::Query(_) => {
                let columns = plan.encoded_columns(self.settings.results_charset);
                let (results, rows_max) = (self.settings.results_charset, self.settings.select_limit);
                reply.columns(&columns, self.status_flags(), 0)?;
                let mut sink = ReplySink::new(reply, plan.output_types(), results, rows_max);
                self.with_context(plan, values, |prepared, context| {
                    exec::run_query(prepared, context, &mut sink)
                })?;
                self.found_rows = sink.row_count();
                self.row_count = -1;
                self.finish(in_transaction, reply)?;
                reply.end_rows(self.status_flags(), self.diagnostics.packet_count())?;
                Ok(None)
            }
            PlanKind::Do(_) => {
                let mut sink = CollectSink::new(Vec::new(), 0);
                self.with_context(plan, values, |prepared, context| {
                    exec::run_query(prepared, context, &mut sink)
                })?;
                self.finish(in_transaction, reply)?;
                self.send_ok(reply)?;
                Ok(None)
            }
            PlanKind::Insert(_) | PlanKind::Update(_) | PlanKind::Delete(_) => {
                let summary = self.with_context(plan, values, exec::run_change)?;
                self.finish(in_transaction, reply)?;
                self.send_changes(&summary, reply)?;
                Ok(None)
            }
        }
    }

    pub(super) fn finish(&mut self, in_transaction: bool, reply: &mut Reply<'_>) -> Outcome {
        if in_transaction {
            self.end_table_statement()?;
            self.wait_for_commit(reply);
        }
        Ok(())
    }

    /// Answers a statement that changed rows.
    fn send_changes(&mut self, summary: &Changed, reply: &mut Reply<'_>) -> Outcome {
        let affected = summary.affected;
        let info = summary.info(self.diagnostics.warning_count());
        self.row_count = i64::try_from(affected).unwrap_or(i64::MAX);
        // LAST_INSERT_ID(n) inside the statement is told to the client too.
        let told = std::mem::take(&mut self.told_insert_id);
        if let Some(id) = summary.last_insert_id {
            self.last_insert_id = id;
        }
        reply.ok(&OkSummary {
            affected_rows: affected,
            last_insert_id: if summary.reported_insert_id == 0 { told } else { summary.reported_insert_id },
            status: self.status_flags(),
            warnings: self.diagnostics.packet_count(),
            info: &info,
            state_changes: &[],
        })
    }

    /// Runs a changing plan inside the statement that is under way, without answering.
    pub(crate) fn run_changes(
        &mut self,
        plan: &CachedPlan,
        values: &[Value],
    ) -> Result<Changed, Box<SqlError>> {
        self.lock_metadata(plan.prepared.plan())?;
        self.with_context(plan, values, exec::run_change)
    }

    /// Runs `run` with everything operators need.
    pub(super) fn with_context<R>(
        &mut self,
        plan: &CachedPlan,
        values: &[Value],
        run: impl FnOnce(&Prepared, &mut ExecContext<'_>) -> SqlResult<R>,
    ) -> SqlResult<R> {
        let catalog = self.catalog();
        self.with_context_of(&catalog, plan, values, run)
    }

    fn with_context_of<R>(
        &mut self,
        catalog: &Arc<Catalog>,
        plan: &CachedPlan,
        values: &[Value],
        run: impl FnOnce(&Prepared, &mut ExecContext<'_>) -> SqlResult<R>,
    ) -> SqlResult<R> {
        let changes = !matches!(plan.prepared.plan().kind, PlanKind::Query(_) | PlanKind::Do(_));
        let ignore = match &plan.prepared.plan().kind {
            PlanKind::Insert(insert) => insert.ignore,
            PlanKind::Update(update) => update.ignore,
            PlanKind::Delete(delete) => delete.ignore,
            _ => false,
        };
        let settings = EvalSettings {
            sql_mode: self.settings.sql_mode.0,
            time_zone: TimeZone::clone(&self.settings.time_zone),
            now_utc_micros: self.now_micros(),
            connection_collation: self.settings.connection_collation,
            max_allowed_packet: usize::try_from(self.variables.unsigned(known::max_allowed_packet()))
                .unwrap_or(usize::MAX),
            default_week_format: i64::try_from(self.variables.unsigned(known::default_week_format()))
                .unwrap_or(0),
            strict_dml: changes && self.settings.sql_mode.is_strict() && !ignore,
        };
        let bytes = |id| usize::try_from(self.variables.unsigned(id)).unwrap_or(usize::MAX);
        let limits = MemoryLimits {
            sort_bytes: bytes(known::sort_buffer_size()).max(OPERATOR_BYTES_MIN),
            join_bytes: bytes(known::join_buffer_size()).max(OPERATOR_BYTES_MIN),
            temporary_bytes: bytes(known::tmp_table_size()).max(OPERATOR_BYTES_MIN),
            group_concat_bytes: bytes(known::group_concat_max_len()),
            recursion_depth_max: self.variables.unsigned(known::cte_max_recursion_depth()),
        };
        let change = ChangeSettings {
            no_auto_value_on_zero: self.settings.sql_mode.has(SqlModes::NO_AUTO_VALUE_ON_ZERO),
            auto_increment_increment: self.variables.unsigned(known::auto_increment_increment()),
            auto_increment_offset: self.variables.unsigned(known::auto_increment_offset()),
            insert_id: if changes { self.next_insert_id.take() } else { None },
            found_rows: self.capabilities.has(Capabilities::FOUND_ROWS),
        };
        let lock_wait =
            LockWait::Timeout(std::time::Duration::from_millis(self.settings.lock_wait_timeout_ms));
        let facts = self.facts();
        let kept_max = self.settings.diagnostics_max;
        let mut warnings = Warnings::new(kept_max);
        let no_table_view =
            if self.transaction.has_view() { None } else { Some(self.core.store.read_view()) };
        let core = Arc::clone(&self.core);
        let control = Arc::clone(&self.control);
        let uncommitted = self.transaction.isolation == super::settings::Isolation::ReadUncommitted;
        let (transaction, own_view) = self.transaction.parts();
        let Some(view) = no_table_view.as_ref().or(own_view) else {
            return Err(ER_INTERNAL_ERROR.with(&[&"a statement without a snapshot"]));
        };
        let mut functions = Functions {
            core: &core,
            connection_id: control.connection_id,
            control: &control,
            user_variables: &mut self.user_variables,
            last_insert_id: &mut self.last_insert_id,
            told_insert_id: &mut self.told_insert_id,
            random: &mut self.random,
            row_count: self.row_count,
            found_rows: self.found_rows,
            database: self.database.as_deref(),
            user_at_host: &self.user_at_host,
            account: &self.account,
        };
        let eval = EvalContext {
            settings: &settings,
            params: values,
            outer: Vec::new(),
            session: &mut functions,
            warnings: &mut warnings,
        };
        let mut context = ExecContext::new(eval, catalog, &facts);
        context.transaction = Some(transaction);
        context.view = Some(view);
        context.read_uncommitted = uncommitted;
        context.lock_wait = lock_wait;
        context.connection_id = control.connection_id;
        context.account = facts.account.as_ref().map(|account| account.id);
        context.limits = limits;
        context.change = change;
        context.spill = core.spill_folder();
        let result = run(&plan.prepared, &mut context);
        let examined = context.rows_examined;
        self.transaction.rows_examined += examined;
        let total = warnings.total();
        self.diagnostics.extend_counted(warnings.entries().iter().cloned(), total, kept_max);
        result
    }

    /// SELECT ... INTO @a, @b
    fn run_into(
        &mut self,
        plan: &CachedPlan,
        into: &IntoClause<'_>,
        values: &[Value],
        reply: &mut Reply<'_>,
    ) -> Outcome {
        let IntoClause::Variables(targets) = into else { return Err(not_supported("INTO OUTFILE")) };
        let types: Vec<DataType> = plan.output_types().cloned().collect();
        if types.len() != targets.len() {
            return Err(service::error::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT.bare());
        }
        self.core.counters.count(plan.kind);
        self.require_plan_privileges(plan)?;
        self.begin_table_statement();
        self.lock_metadata(plan.prepared.plan())?;
        let before = self.transaction.store.savepoint();
        // One row more than allowed shows that there are too many.
        let mut sink = CollectSink::new(types, 2);
        let ran = self
            .with_context(plan, values, |prepared, context| exec::run_query(prepared, context, &mut sink));
        if let Err(error) = ran {
            self.fail_table_statement(&before, &error)?;
            return Err(error);
        }
        if sink.rows.len() > 1 {
            let error = service::error::ER_TOO_MANY_ROWS.bare();
            self.fail_table_statement(&before, &error)?;
            return Err(error);
        }
        let affected = sink.rows.len() as u64;
        match sink.rows.pop() {
            Some(row) => {
                for (target, value) in targets.iter().zip(row) {
                    if let syntax::ast::IntoVar::User(name) = target {
                        self.user_variables.insert(name.to_ascii_lowercase(), value);
                    }
                }
            }
            None => {
                let warning = service::error::ER_SP_FETCH_NO_DATA.warning(&[]);
                self.diagnostics.push(warning, self.settings.diagnostics_max);
            }
        }
        self.end_table_statement()?;
        self.wait_for_commit(reply);
        self.row_count = i64::try_from(affected).unwrap_or(0);
        reply.ok(&OkSummary {
            affected_rows: affected,
            status: self.status_flags(),
            warnings: self.diagnostics.packet_count(),
            ..OkSummary::default()
        })
    }

    /// The value of an expression outside any query, through the planner.
    pub(crate) fn evaluate_query(&mut self, expr: &syntax::ast::Expr<'_>) -> Result<Value, Box<SqlError>> {
        let items = [syntax::ast::SelectItem::Expr { expr: *expr, alias: None, source: expr.span }];
        let select = syntax::ast::Select {
            options: syntax::ast::SelectOptions::default(),
            hints: None,
            items: &items,
            from: &[],
            where_: None,
            group_by: &[],
            grouping: syntax::ast::GroupingKind::Plain,
            having: None,
            windows: &[],
            qualify: None,
            span: expr.span,
        };
        let query = syntax::ast::Query {
            with: None,
            body: syntax::ast::QueryBody::Select(&select),
            order_by: &[],
            limit: None,
            locking: &[],
            into: None,
            span: expr.span,
        };
        if matches!(expr.kind, ExprKind::Column(_)) {
            return Err(service::error::ER_WRONG_TYPE_FOR_VAR.with(&[&"column"]));
        }
        let text = std::mem::take(&mut self.statement_text);
        let planned = self.plan_statement(&Statement::Query(&query), &text, &[]);
        self.statement_text = text;
        let plan = planned?;
        self.require_plan_privileges(&plan)?;
        let types: Vec<DataType> = plan.output_types().cloned().collect();
        let mut sink = CollectSink::new(types, 1);
        self.with_context(&plan, &[], |prepared, context| exec::run_query(prepared, context, &mut sink))?;
        Ok(sink.rows.pop().and_then(|mut row| row.pop()).unwrap_or(Value::Null))
    }
}

/// What functions may read of the session and do to it.
struct Functions<'a> {
    core: &'a Arc<Core>,
    connection_id: u64,
    control: &'a service::ConnectionControl,
    user_variables: &'a mut hashbrown::HashMap<Vec<u8>, Value>,
    last_insert_id: &'a mut u64,
    told_insert_id: &'a mut u64,
    random: &'a mut (u64, u64),
    row_count: i64,
    found_rows: u64,
    database: Option<&'a str>,
    user_at_host: &'a str,
    account: &'a catalog::Account,
}

/// MySQL's generator steps modulo this.
const RANDOM_MODULUS: u64 = 0x3FFF_FFFF;

impl SessionState for Functions<'_> {
    fn user_variable(&self, name: &str) -> Option<Value> {
        self.user_variables.get(name.as_bytes()).cloned()
    }

    fn set_user_variable(&mut self, name: &str, value: Value) {
        self.user_variables.insert(name.as_bytes().to_vec(), value);
    }

    fn last_insert_id(&self) -> u64 {
        *self.last_insert_id
    }

    fn set_last_insert_id(&mut self, id: u64) {
        *self.last_insert_id = id;
        *self.told_insert_id = id;
    }

    fn row_count(&self) -> i64 {
        self.row_count
    }

    fn found_rows(&self) -> i64 {
        i64::try_from(self.found_rows).unwrap_or(i64::MAX)
    }

    fn connection_id(&self) -> u64 {
        self.connection_id
    }

    fn database(&self) -> Option<String> {
        self.database.map(str::to_owned)
    }

    fn user(&self) -> String {
        self.user_at_host.to_owned()
    }

    fn current_user(&self) -> String {
        format!("{}@{}", self.account.user, self.account.host)
    }

    fn version(&self) -> String {
        self.core.version().to_owned()
    }

    fn random_bytes(&mut self, buffer: &mut [u8]) {
        self.core.fill_random(buffer);
    }

    fn rand(&mut self) -> f64 {
        // The linear generator that RAND(n) documents: two seeds, stepped together.
        let (first, second) = *self.random;
        let first = (first.wrapping_mul(3).wrapping_add(second)) % RANDOM_MODULUS;
        let second = (first.wrapping_add(second).wrapping_add(33)) % RANDOM_MODULUS;
        *self.random = (first, second);
        #[allow(clippy::cast_precision_loss, reason = "30 bits")]
        let number = first as f64 / RANDOM_MODULUS as f64;
        number
    }

    fn clock_utc_micros(&mut self) -> i64 {
        self.core.env.clock.wall_micros()
    }

    fn sleep(&mut self, micros: u64) -> bool {
        self.core.sleep(self.control, micros)
    }

    fn get_lock(&mut self, name: &str, timeout_seconds: f64) -> SqlResult<Option<i64>> {
        self.core.user_locks.acquire(self.control, name, timeout_seconds, &self.core.env)
    }

    fn release_lock(&mut self, name: &str) -> SqlResult<Option<i64>> {
        Ok(self.core.user_locks.release(self.connection_id, name))
    }

    fn release_all_locks(&mut self) -> i64 {
        self.core.user_locks.release_all(self.connection_id)
    }

    fn lock_holder(&mut self, name: &str) -> Option<u64> {
        self.core.user_locks.holder(name)
    }

    fn check_killed(&mut self) -> SqlResult<()> {
        self.control.check()
    }
}
