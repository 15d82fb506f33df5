//! Prepared statements, of the binary protocol and of SQL's PREPARE.
//!
//! A statement keeps its text, the places of its `?` and, once run, its plan. A plan depends on the catalog's version, on
//! settings that change binding, and on the types of its parameters; when one differs it is made again. Parameters stay binary
//! on their way from the packet to the expression; only a log that wants the statement renders them
//! ([`RenderedStatement`]), in one pass. Long data beyond `exec::LONG_DATA_MEMORY_BYTES` lies on disk, and goes from there into
//! the table if the statement is an INSERT that takes it as it is.
//!
//! Limits: `max_prepared_stmt_count` statements a server (1461); long data as [`LongDataLimits`] has it.

use std::cell::OnceCell;
use std::sync::Arc;

use env::memory::Held;
use exec::{LongData, LongParameter};
use hashbrown::HashMap;
use plan::logical::OutputSource;
use service::error::{
    ER_DYNAMIC_PARAMETERS_DML_ONLY, ER_EMPTY_QUERY, ER_MALFORMED_PACKET, ER_MAX_PREPARED_STMT_COUNT_REACHED,
    ER_NEED_REPREPARE, ER_PS_MANY_PARAM, ER_UNKNOWN_ERROR, ER_UNKNOWN_STMT_HANDLER, ER_UNSUPPORTED_PS,
    ER_WRONG_ARGUMENTS,
};
use service::{CommandOutcome, ExecuteRequest, OkSummary, Outcome, Reply, SqlError, StatusFlags};
use syntax::ast::{MaintainKind, PrepareSource, Show, Statement};
use types::charset::Charset;
use types::collation::CollationId;
use types::temporal::{DateTime, Time};
use types::{DataType, Decimal, Value, ValueRef};
use wire::parameter::{PARAMETER_COUNT_MAX, ParameterType, ParameterValue, Parameters};
use wire::{ColumnType, EncodedColumns};

use super::LocalSession;
use super::attempt::{Attempt, until_planned};
use super::cursor::Cursor;
use super::memory;
use super::statement_ids::ByNumber;
use crate::core::Core;
use crate::log::{StatementText, beginning};
use crate::plans::shared::Known;
use crate::plans::{CachedPlan, HeldPlan};
use crate::processes::Activity;
use crate::status::StatementKind;
use crate::variables::definition::known;

/// Long data of all parameters of a statement may be so many times that of one.
pub const LONG_DATA_BYTES_MAX_FACTOR: u64 = 2;
/// Room beyond a rendered statement's estimated length.
const RENDERED_SLACK_BYTES: usize = 256;

/// One prepared statement.
#[derive(Debug)]
pub struct PreparedStatement {
    /// Its text, UTF-8.
    text: Box<[u8]>,
    /// Offsets of the `?` in the text.
    places: Box<[u32]>,
    types: Vec<ParameterType>,
    long_data: HashMap<u16, LongData>,
    /// Long data was sent that is too long, or could not be kept; the next execute says so.
    long_data_error: Option<Box<SqlError>>,
    kept: Kept,
    /// Rows that wait for COM_STMT_FETCH.
    cursor: Option<Box<Cursor>>,
    /// The text and its places.
    held: Held,
    /// What [`PreparedStatements::bytes`] counts of it.
    counted_bytes: u64,
    /// Long data in memory.
    long_data_held: Held,
}

impl PreparedStatement {
    /// Its text, its plan where no other session has it, and the rows of its cursor.
    #[inline]
    fn held_bytes(&self) -> u64 {
        let plan = if let Kept::Plan(plan) = &self.kept { plan.held_bytes() } else { 0 };
        self.held.bytes()
            + plan
            + self.long_data_held.bytes()
            + self.cursor.as_ref().map_or(0, |cursor| cursor.held_bytes())
    }

    /// Recomputes the memory it holds; returns the change in bytes.
    fn count(&mut self) -> i64 {
        let now = self.held_bytes();
        let before = std::mem::replace(&mut self.counted_bytes, now);
        now.cast_signed() - before.cast_signed()
    }
}

/// What a statement keeps of a run for the next.
#[derive(Debug, Default)]
enum Kept {
    #[default]
    Nothing,
    /// A plan, which may have to be made again.
    Plan(HeldPlan),
    /// A tree that needs neither a plan nor its text, whatever the settings: BEGIN, COMMIT, ROLLBACK.
    Tree(Statement<'static>),
}

/// How much may come of a parameter before its statement runs.
#[derive(Clone, Copy, Debug)]
pub struct LongDataLimits {
    /// `max_allowed_packet`: what every statement takes.
    pub packet_bytes_max: u64,
    /// `max_long_data_size`, where that is more: what is taken by those that pass it on to a table in pieces.
    pub streamed_bytes_max: u64,
}

impl LongDataLimits {
    fn of_parameter(self) -> u64 {
        self.packet_bytes_max.max(self.streamed_bytes_max)
    }

    fn of_statement(self) -> u64 {
        self.of_parameter().saturating_mul(LONG_DATA_BYTES_MAX_FACTOR)
    }
}

/// All prepared statements of a session.
#[derive(Debug, Default)]
pub struct PreparedStatements {
    /// A statement is away, and its place empty, while it runs.
    by_id: ByNumber<Option<Box<PreparedStatement>>>,
    named: HashMap<String, (Arc<[u8]>, u32)>,
    /// The texts of those.
    named_held: Held,
    /// What those of `by_id` take, as far as [`Held`]s count it.
    bytes: u64,
    /// The statement that is away holds something else than before.
    needs_recount: bool,
}

impl PreparedStatements {
    /// Forgets all.
    pub fn clear(&mut self, core: &Core) {
        self.bytes = 0;
        for _ in 0..self.by_id.clear() {
            core.counters.prepared_statement_count.decrement();
        }
        self.named_held = Held::default();
        for _ in self.named.drain() {
            core.counters.prepared_statement_count.decrement();
        }
    }

    /// What they take that [`Held`]s count.
    #[inline]
    pub(super) fn held_bytes(&self) -> u64 {
        self.named_held.bytes() + self.bytes
    }

    /// Forgets one; unknown numbers are ignored, as the protocol wants.
    pub fn close(&mut self, id: u32, core: &Core) {
        if let Some(removed) = self.by_id.remove(id) {
            self.bytes -= removed.map_or(0, |statement| statement.counted_bytes);
            core.counters.prepared_statement_count.decrement();
        }
    }

    /// Forgets long data and the cursor of one.
    ///
    /// # Errors
    /// 1243.
    pub fn reset(&mut self, id: u32) -> Outcome {
        let statement = self.find(id, "mysqld_stmt_reset")?;
        statement.long_data.clear();
        statement.long_data_held.set(0);
        statement.long_data_error = None;
        statement.cursor = None;
        let bytes = statement.count();
        self.bytes = self.bytes.wrapping_add_signed(bytes);
        Ok(())
    }

    /// Adds a piece to a parameter's value; `folder` is for what is too long for memory.
    pub fn add_long_data(
        &mut self,
        id: u32,
        parameter: u16,
        data: &[u8],
        limits: LongDataLimits,
        folder: Option<&Arc<dyn env::disk::Folder>>,
    ) {
        let Some(Some(statement)) = self.by_id.get_mut(id) else { return };
        let held: u64 = statement.long_data.values().map(LongData::byte_count).sum();
        let of_parameter = statement.long_data.get(&parameter).map_or(0, LongData::byte_count);
        let new = data.len() as u64;
        // Without a folder it all stays in memory.
        let most = if folder.is_some() { limits.of_parameter() } else { limits.packet_bytes_max };
        if usize::from(parameter) >= statement.places.len()
            || held + new > limits.of_statement()
            || of_parameter + new > most
        {
            statement.long_data_error = Some(long_data_too_long());
            return;
        }
        if !env::memory::has_room() {
            statement.long_data_error = Some(long_data_without_room());
            return;
        }
        let value = statement.long_data.entry(parameter).or_default();
        if let Err(error) = value.push(data, folder, limits.packet_bytes_max as usize) {
            statement.long_data_error = Some(error);
        }
        let in_memory = statement.long_data.values().filter(|long| long.on_disk().is_none());
        statement.long_data_held.set(in_memory.map(LongData::byte_count).sum());
        let change = statement.count();
        self.bytes = self.bytes.wrapping_add_signed(change);
    }

    fn find(&mut self, id: u32, command: &str) -> Result<&mut PreparedStatement, Box<SqlError>> {
        match self.by_id.get_mut(id) {
            Some(Some(statement)) => Ok(statement),
            _ => Err(unknown(&id.to_string(), command)),
        }
    }

    /// Counts what a statement takes, which has changed.
    #[cold]
    fn count(&mut self, statement: &mut PreparedStatement) {
        self.needs_recount = false;
        self.bytes = self.bytes.wrapping_add_signed(statement.count());
    }

    /// Recomputes the sum: a statement that panicked is no longer held.
    pub(super) fn count_all(&mut self) {
        self.needs_recount = false;
        self.bytes = self.by_id.values().flatten().map(|statement| statement.counted_bytes).sum();
    }

    /// Takes a statement out to run it. One that breaks while it runs stays away: its state is not to be trusted.
    fn take(&mut self, id: u32, command: &str) -> Result<Box<PreparedStatement>, Box<SqlError>> {
        self.by_id.get_mut(id).and_then(Option::take).ok_or_else(|| unknown(&id.to_string(), command))
    }

    #[inline(always)] // Once on the way of each execution.
    fn put_back(&mut self, id: u32, mut statement: Box<PreparedStatement>) {
        if statement.long_data_held.bytes() > 0 && statement.long_data.is_empty() {
            statement.long_data_held.set(0); // An execution uses it up.
            self.needs_recount = true;
        }
        if self.needs_recount {
            self.count(&mut statement);
        }
        if let Some(place) = self.by_id.get_mut(id) {
            *place = Some(statement);
        }
    }
}

#[cold]
fn long_data_without_room() -> Box<SqlError> {
    let most = env::memory::all_statements_max();
    service::error::ER_CAPACITY_EXCEEDED.with(&[
        &most,
        &"global_statement_memory_limit",
        &"Statement aborted.",
    ])
}

#[cold]
fn unknown(id: &str, command: &str) -> Box<SqlError> {
    ER_UNKNOWN_STMT_HANDLER.with(&[&id, &command])
}

/// A statement's text with the values of its parameters in it, made once for all logs that want it.
struct RenderedStatement<'a> {
    text: &'a [u8],
    places: &'a [u32],
    values: &'a [ValueRef<'a>],
    /// What the client sent for them. Adding them up would read each value once more.
    value_bytes: usize,
    /// The first of `values` that is only a beginning: nothing behind it is shown.
    cut_at: Option<usize>,
    rendered: OnceCell<Rendered>,
}

/// The text, or its beginning, and then how long the statement is as it was sent.
struct Rendered {
    text: Vec<u8>,
    whole_bytes: Option<usize>,
}

impl RenderedStatement<'_> {
    fn render(&self, bytes_max: usize) -> Rendered {
        let whole = self.text.len() + self.value_bytes;
        // Quotes and a comma around most values.
        let mut line =
            Vec::with_capacity(bytes_max.min(whole + 3 * self.values.len()) + RENDERED_SLACK_BYTES);
        let mut from = 0;
        let mut is_cut = false;
        for (number, (place, value)) in self.places.iter().zip(self.values).enumerate() {
            let place = *place as usize;
            line.extend_from_slice(&self.text[from..place]);
            from = place + 1;
            let left = bytes_max.saturating_sub(line.len());
            is_cut = left == 0;
            if let ValueRef::Bytes { bytes, collation } = *value
                && bytes.len() > left
            {
                is_cut = true;
                let bytes = beginning(bytes, left);
                write_literal(ValueRef::Bytes { bytes, collation }, &mut line);
            } else if !is_cut {
                write_literal(*value, &mut line);
            }
            is_cut |= self.cut_at == Some(number);
            if is_cut {
                break;
            }
        }
        if !is_cut {
            let left = bytes_max.saturating_sub(line.len());
            let rest = beginning(&self.text[from..], left);
            is_cut = rest.len() < self.text.len() - from;
            line.extend_from_slice(rest);
        }
        Rendered { text: line, whole_bytes: is_cut.then_some(whole) }
    }
}

impl StatementText for RenderedStatement<'_> {
    fn prepare(&self, bytes_max: usize) {
        self.rendered.get_or_init(|| self.render(bytes_max));
    }

    fn write_to(&self, bytes_max: usize, line: &mut Vec<u8>) -> Option<usize> {
        let rendered = self.rendered.get_or_init(|| self.render(bytes_max));
        line.extend_from_slice(&rendered.text);
        rendered.whole_bytes
    }
}

/// Appends a value as a literal that reads back as it.
fn write_literal(value: ValueRef<'_>, line: &mut Vec<u8>) {
    match value {
        ValueRef::Null => line.extend_from_slice(b"NULL"),
        ValueRef::Int(number) => types::number::write_i64(number, line),
        ValueRef::UInt(number) => types::number::write_u64(number, line),
        ValueRef::Double(number) => types::number::write_double(number, line),
        ValueRef::Decimal(number) => number.write_text(line),
        ValueRef::Date(date) => quoted(line, |line| date.write_date(line)),
        ValueRef::DateTime(time) => {
            quoted(line, |line| time.write_datetime(if time.micros == 0 { 0 } else { 6 }, line));
        }
        ValueRef::Time(time) => {
            quoted(line, |line| time.write_text(if time.micros % 1_000_000 == 0 { 0 } else { 6 }, line));
        }
        ValueRef::Bytes { bytes, .. } => catalog::append_string(line, bytes),
        ValueRef::Json(document) => quoted(line, |line| types::json::print(document, line)),
    }
}

fn quoted(line: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    line.push(b'\'');
    write(line);
    line.push(b'\'');
}

/// The value of a binary parameter. Text is taken as UTF-8 in `collation`, bytes of BLOB types as `binary`.
fn value_of(value: ParameterValue<'_>, data_type: ParameterType, collation: CollationId) -> ValueRef<'_> {
    match value {
        ParameterValue::Null | ParameterValue::LongData => ValueRef::Null,
        ParameterValue::Int(number) => ValueRef::Int(number),
        ParameterValue::UInt(number) => ValueRef::UInt(number),
        ParameterValue::Float(number) => ValueRef::Double(f64::from(number)),
        ParameterValue::Double(number) => ValueRef::Double(number),
        ParameterValue::Decimal(text) => ValueRef::Decimal(Decimal::parse(text).value),
        ParameterValue::Bytes(bytes) => {
            let binary = matches!(
                data_type.column_type,
                ColumnType::TinyBlob | ColumnType::MediumBlob | ColumnType::LongBlob | ColumnType::Blob
            );
            ValueRef::Bytes { bytes, collation: if binary { CollationId::BINARY } else { collation } }
        }
        ParameterValue::Date(fields) => ValueRef::Date(datetime_of(fields)),
        ParameterValue::DateTime(fields) => ValueRef::DateTime(datetime_of(fields)),
        ParameterValue::Time(fields) => ValueRef::Time(Time::new(
            fields.negative,
            fields.hours,
            fields.minute,
            fields.second,
            fields.micros,
        )),
    }
}

/// Text parameters come in `character_set_client`; here they are in the connection's.
fn from_client<'a>(client: Charset, value: ValueRef<'a>, arena: &'a bumpalo::Bump) -> ValueRef<'a> {
    let ValueRef::Bytes { bytes, collation } = value else { return value };
    if collation == CollationId::BINARY || bytes.is_ascii() {
        return value;
    }
    let mut text = Vec::with_capacity(bytes.len() * 2);
    // As in MySQL, what the connection's character set does not have becomes `?`.
    let _ = types::charset::convert_lossy(client, bytes, collation.charset(), &mut text);
    ValueRef::Bytes { bytes: arena.alloc_slice_copy(&text), collation }
}

fn datetime_of(fields: wire::row::DateTimeFields) -> DateTime {
    DateTime {
        year: fields.year,
        month: fields.month,
        day: fields.day,
        hour: fields.hour,
        minute: fields.minute,
        second: fields.second,
        micros: fields.micros,
    }
}

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

impl LocalSession {
    fn require_room(&self) -> Outcome {
        let max = self.core.globals().unsigned(known::max_prepared_stmt_count());
        if self.core.counters.prepared_statement_count.get() >= max {
            return Err(ER_MAX_PREPARED_STMT_COUNT_REACHED.with(&[&max]));
        }
        Ok(())
    }

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
        self.require_room()?;
        let (places, plan) = memory::lend(|arena: &mut bumpalo::Bump| self.check_prepare(sql, arena))?;
        let results = self.variables.settings().results_charset;
        let columns = plan.as_ref().map(|plan| plan.columns(results)).unwrap_or_default();
        let parameters = parameter_columns(places.len(), plan.as_deref());
        let mut held = Held::default();
        held.set((sql.len() + places.len() * size_of::<u32>() + size_of::<PreparedStatement>()) as u64);
        let statement = PreparedStatement {
            held,
            counted_bytes: 0,
            long_data_held: Held::default(),
            text: sql.into(),
            places: places.into(),
            types: Vec::new(),
            long_data: HashMap::new(),
            long_data_error: None,
            kept: Kept::Nothing,
            cursor: None,
        };
        let mut statement = Box::new(statement);
        self.prepared.count(&mut statement);
        let id = self.prepared.by_id.insert(Some(statement));
        self.core.counters.prepared_statement_count.increment();
        reply.prepared(id, &parameters, &columns, self.status_flags(), self.diagnostics.packet_count())
    }

    /// Parses and, where it has a plan, plans a statement: all errors that PREPARE can find.
    fn check_prepare(
        &mut self,
        sql: &[u8],
        arena: &bumpalo::Bump,
    ) -> Result<(Vec<u32>, Option<HeldPlan>), Box<SqlError>> {
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
        statement: &mut PreparedStatement,
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
        if self.read_parameters(statement, &long_data, &converted, &mut values, request).is_err() {
            return CommandOutcome::Failed(ER_MALFORMED_PACKET.bare());
        }
        if statement.cursor.is_some() {
            statement.cursor = None;
            self.prepared.needs_recount = true;
        }
        if has_long_data {
            self.running.set_long_values(long_parameters(&long_data));
        }
        let running = self.begin_prepared(request.statement_id, &statement.text, is_requeued);
        let PreparedStatement { text, places, kept, cursor, .. } = statement;
        let long_bytes =
            if has_long_data { long_data.values().map(LongData::byte_count).sum() } else { 0u64 };
        let rendered = RenderedStatement {
            text,
            places,
            values: &values,
            value_bytes: request.parameters.len() + long_bytes as usize,
            cut_at: if has_long_data {
                self.running.long_values().iter().map(|long| long.number as usize).min()
            } else {
                None
            },
            rendered: OnceCell::new(),
        };
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
                self.prepared.needs_recount |= opened.is_some();
                *cursor = opened;
                CommandOutcome::Done(())
            }
            CommandOutcome::Requeue(within) => {
                self.suspend_statement();
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
        statement: &mut PreparedStatement,
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

    /// Appends the parameters of a request to `values`, long data among them; `arena` holds what is not as it was sent.
    #[inline(always)] // Once on the way of each execution, once where long data lies on disk.
    fn read_parameters<'v>(
        &self,
        statement: &mut PreparedStatement,
        long_data: &'v HashMap<u16, LongData>,
        arena: &'v bumpalo::Bump,
        values: &mut Vec<ValueRef<'v>>,
        request: ExecuteRequest<'v>,
    ) -> Result<(), wire::codec::Malformed> {
        let collation = self.variables.settings().connection_collation;
        let client = self.variables.settings().client_charset;
        let own = collation.charset();
        let converts = client != own && (client.needs_conversion() || own.needs_conversion());
        let count = statement.places.len();
        values.reserve(count);
        let mut parameters = Parameters::read(
            request.parameters,
            request.flags,
            request.query_attributes,
            count,
            &mut statement.types,
        )?;
        let types = parameters.types();
        for (index, &declared) in types.iter().enumerate().take(count) {
            let long = if long_data.is_empty() {
                None
            } else {
                u16::try_from(index).ok().and_then(|index| long_data.get(&index))
            };
            let value = parameters.next_value(long.is_some())?;
            let value = match long {
                Some(long) => {
                    let bytes = long.in_memory();
                    let text = matches!(
                        declared.column_type,
                        ColumnType::VarString | ColumnType::String | ColumnType::VarChar
                    );
                    ValueRef::Bytes { bytes, collation: if text { collation } else { CollationId::BINARY } }
                }
                None => value_of(value, declared, collation),
            };
            values.push(if converts { from_client(client, value, arena) } else { value });
        }
        Ok(())
    }

    /// Whether the statement takes all long data that lies on disk as it is; else it is needed in memory. Plans the statement if it
    /// has no plan.
    #[cold]
    fn passes_long_data(
        &mut self,
        statement: &mut PreparedStatement,
        long_data: &HashMap<u16, LongData>,
        request: ExecuteRequest<'_>,
    ) -> Result<bool, Box<SqlError>> {
        let own = self.variables.settings().connection_collation.charset();
        if self.variables.settings().client_charset != own {
            return Ok(false);
        }
        let (converted, mut values) = (bumpalo::Bump::new(), Vec::new());
        self.read_parameters(statement, long_data, &converted, &mut values, request)
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
        kept: &mut Kept,
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
        self.prepared.needs_recount = true;
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
    ) -> Attempt<(Kept, Option<Box<Cursor>>)> {
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
        let mut plan = self.plan_statement(&parsed.statement, text, values)?;
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
        let statement = self.prepared.find(id, "mysqld_stmt_fetch")?;
        let Some(cursor) = statement.cursor.as_mut() else {
            return Err(service::error::ER_STMT_HAS_NO_OPEN_CURSOR.with(&[&id]));
        };
        let more = cursor.send(row_count, results, reply)?;
        if more {
            return reply.end_rows(status | StatusFlags::CURSOR_EXISTS, 0);
        }
        statement.cursor = None;
        let change = statement.count();
        self.prepared.bytes = self.prepared.bytes.wrapping_add_signed(change);
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
        self.forget_named(name);
        self.require_room()?;
        let arena = bumpalo::Bump::new();
        let (places, _) = self.check_prepare(&text, &arena)?;
        let count = u32::try_from(places.len()).unwrap_or(u32::MAX);
        self.prepared.named_held.change(text.len() as i64);
        if let Some((before, _)) = self.prepared.named.insert(name.to_lowercase(), (text.into(), count)) {
            self.prepared.named_held.change(-(before.len() as i64));
        }
        self.core.counters.prepared_statement_count.increment();
        self.results.set_row_count(0);
        reply.ok(&OkSummary {
            status: self.status_flags(),
            warnings: self.diagnostics.packet_count(),
            info: "Statement prepared",
            ..OkSummary::default()
        })
    }

    fn forget_named(&mut self, name: &str) -> bool {
        let removed = self.prepared.named.remove(&name.to_lowercase());
        let was = removed.is_some();
        if let Some((text, _)) = removed {
            self.prepared.named_held.change(-(text.len() as i64));
        }
        if was {
            self.core.counters.prepared_statement_count.decrement();
        }
        was
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
        let Some((text, count)) = self.prepared.named.get(&name.to_lowercase()).cloned() else {
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
        if !self.forget_named(name) {
            return Err(unknown(name, "DEALLOCATE PREPARE"));
        }
        self.send_ok(reply)
    }
}

#[cold]
fn long_data_too_long() -> Box<SqlError> {
    ER_UNKNOWN_ERROR.saying(
        "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
         'max_allowed_packet' bytes",
    )
}

/// The parameters whose values lie on disk.
fn long_parameters(long_data: &HashMap<u16, LongData>) -> Vec<LongParameter> {
    let on_disk = |(&number, long): (&u16, &LongData)| {
        Some(LongParameter { number: u32::from(number), value: long.on_disk()? })
    };
    long_data.iter().filter_map(on_disk).collect()
}

/// Definitions of a statement's parameters: MySQL names each `?`.
fn parameter_columns(count: usize, plan: Option<&CachedPlan>) -> EncodedColumns {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes_max: usize) -> (String, Option<usize>) {
        let text = b"INSERT INTO t VALUES (?, ?, ?)";
        let collation = CollationId::UTF8MB4_0900_AI_CI;
        let long = "it's\n".repeat(20);
        let values =
            [ValueRef::Int(-7), ValueRef::Bytes { bytes: long.as_bytes(), collation }, ValueRef::Null];
        let statement = RenderedStatement {
            text,
            places: &[22, 25, 28],
            values: &values,
            value_bytes: 100,
            cut_at: None,
            rendered: OnceCell::new(),
        };
        statement.prepare(bytes_max);
        let mut line = Vec::new();
        let whole = statement.write_to(bytes_max, &mut line);
        (String::from_utf8(line).unwrap(), whole)
    }

    #[test]
    fn a_statement_is_rendered_with_its_values_and_cut_at_the_limit() {
        let all = format!("INSERT INTO t VALUES (-7, '{}', NULL)", "it''s\\n".repeat(20));
        assert_eq!(shown(usize::MAX), (all.clone(), None));
        assert_eq!(shown(all.len()), (all, None));
        // The limit falls into the long value, before it, and behind everything but the end.
        let whole = Some(30 + 100);
        assert_eq!(shown(31), ("INSERT INTO t VALUES (-7, 'it''s\\n'".to_owned(), whole));
        assert_eq!(shown(10), ("INSERT INTO t VALUES (".to_owned(), whole));
        let (text, cut) = shown(26 + 142 + 6);
        assert!(text.ends_with("NULL") && cut == whole, "{text}");
    }
}
