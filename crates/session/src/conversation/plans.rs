//! How a session makes plans, and which of those that are there it may run ([`crate::plans`]).
//!
//! ```text
//! tree -> bind (names, types) -> optimize -> compile (Prepared) -> CachedPlan: with what it was made for
//! ```
//!
//! A prepared statement keeps what lengths and scales depend on (`div_precision_increment` and others) from when it was prepared, as in
//! MySQL; a session that takes over another one's plan has the same ([`PlanFit::would_make`]).

use std::sync::Arc;

use catalog::{Catalog, RoutineDefinition};
use exec::{PlannedConstants, Prepared};
use plan::logical::Bound;
use plan::{PlanError, PlanResult, StoredFunction};
use service::SqlError;
use service::error::{self as e, ER_INCORRECT_GLOBAL_LOCAL_VAR};
use syntax::Digested;
use syntax::ast::{Into, QueryBody, Statement, VarScope};
use types::charset::Charset;
use types::collation::CollationId;
use types::data_type::FRACTION_DIGITS_MAX;
use types::{DataType, TypeKind, Value, ValueRef};

use super::access;
use super::current_account::CurrentAccount;
use super::diagnostics::Diagnostics;
use super::execution::time_limit;
use super::function_state::FunctionState;
use super::names::Names;
use super::plan_fit::{self, PlanFit, estimate_settings, planning_settings};
use super::results::LastResults;
use super::routines::Routines;
use super::running::RunningStatement;
use super::session_variables::SessionVariables;
use super::shared::Shared;
use super::user_variables::UserVariables;
use crate::backend::Backend;
use crate::errors::plan_error;
use crate::plans::parameter_types::{ParameterClass, fits, is_held, own_type, reads_as_number};
use crate::plans::shared::{Found, Known, KnownPlan};
use crate::plans::{CachedPlan, MadeFor, PlanHandle};
use crate::status::StatementKind;
use crate::traces::Traces;
use crate::variables::definition::known;
use crate::variables::sql_mode::SqlModes;
use crate::variables::{Kind, Scope, Setting, by_name};

fn hinted_time(statement: &Statement<'_>, text: &[u8]) -> Option<u64> {
    let Statement::Query(query) = statement else { return None };
    let QueryBody::Select(select) = query.body else { return None };
    crate::deadlines::hinted(select.hints?.of(text))
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

/// Where a SELECT puts its row instead of sending it.
pub(crate) fn into_of<'s>(statement: &Statement<'s>) -> Option<&'s Into<'s>> {
    match statement {
        Statement::Query(query) => query.into,
        _ => None,
    }
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

/// The types that a client's parameters get from their context, before their values are looked at.
#[derive(Debug, Default)]
struct DerivedTypes {
    types: Vec<Option<DataType>>,
    /// Those whose time of day is read.
    times: Vec<u32>,
    /// Those that take the character set of a text.
    texts: Vec<(u32, CollationId)>,
}

impl DerivedTypes {
    fn reads_time(&self, index: usize) -> bool {
        self.times.iter().any(|&ordinal| ordinal as usize == index)
    }

    /// The character sets that must hold a text.
    fn charsets(&self, index: usize) -> impl Iterator<Item = CollationId> {
        self.texts
            .iter()
            .filter(move |(ordinal, _)| *ordinal as usize == index)
            .map(|(_, collation)| *collation)
    }
}

/// Refuses a text that a character set does not hold.
///
/// # Errors
/// 3988.
fn check_held(value: Option<&ValueRef<'_>>, collation: CollationId) -> Result<(), Box<SqlError>> {
    match value {
        Some(ValueRef::Bytes { bytes, collation: from }) if !is_held(bytes, *from, collation) => {
            Err(e::ER_IMPOSSIBLE_STRING_CONVERSION.with(&[&from.name(), &collation.name(), &"parameter"]))
        }
        _ => Ok(()),
    }
}

/// Makes plans: what that asks of a session.
pub(super) struct Planner<'a, B: Backend> {
    pub(super) shared: &'a Shared<B>,
    pub(super) names: Names<'a>,
    pub(super) account: &'a CurrentAccount,
    pub(super) variables: &'a SessionVariables,
    pub(super) user_variables: &'a UserVariables,
    pub(super) results: &'a LastResults,
    pub(super) diagnostics: &'a Diagnostics,
    pub(super) functions: &'a FunctionState,
    pub(super) running: &'a RunningStatement,
    pub(super) routines: &'a Routines<B>,
    pub(super) traces: &'a Traces,
}

/// Errors that say what an account may not do: that a statement failed so is all that it may know.
const DENIALS: [u16; 7] = [1044, 1045, 1142, 1143, 1227, 1356, 1370];

/// What binding asks of a session.
struct BindSession<'a, B: Backend> {
    session: &'a Planner<'a, B>,
    parameters: Option<&'a [ValueRef<'a>]>,
    /// The literals that are the parameters.
    literals: Option<&'a Digested<'a>>,
    /// The types that the parameters of a client got from their context, where a value does not fit.
    typed_before: Option<&'a DerivedTypes>,
    /// The statement runs next: if it is a SELECT, its time begins now.
    begins_time: bool,
    /// Plans for these values came and went: it is planned without them.
    for_all_values: bool,
    /// A prepared statement is executed: what planning warns of was reported when it was prepared.
    is_execution: bool,
    /// A statement is prepared, which reports that.
    is_prepared: bool,
    /// Its text, where more was sent: that of a statement that is explained.
    own_text: Option<&'a [u8]>,
}

impl<'a, B: Backend> BindSession<'a, B> {
    /// For a query or change that runs next, with these parameters.
    fn new(session: &'a Planner<'a, B>, parameters: Option<&'a [ValueRef<'a>]>) -> BindSession<'a, B> {
        BindSession {
            session,
            parameters,
            literals: None,
            typed_before: None,
            begins_time: true,
            for_all_values: false,
            is_execution: false,
            is_prepared: false,
            own_text: None,
        }
    }

    /// The parameters are a prepared statement's: neither literals of a text nor variables of a stored program.
    fn has_client_parameters(&self) -> bool {
        self.literals.is_none() && self.parameters.is_none_or(|values| !values.is_empty())
    }
}

impl<B: Backend> BindSession<'_, B> {
    /// Binds a statement; once more where a client's value does not fit the type that the parameter got from its context. Answers
    /// the derived types, too.
    fn bind(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        catalog: &Catalog,
    ) -> Result<(Bound, DerivedTypes), Box<SqlError>> {
        let denied = |error: Box<PlanError>| {
            access::denied_instead(self.session.account, &error).unwrap_or_else(|| plan_error(&error))
        };
        let bound = plan::bind::bind(statement, text, catalog, self).map_err(denied)?;
        let Some(values) = self.parameters.filter(|_| self.has_client_parameters()) else {
            return Ok((bound, DerivedTypes::default()));
        };
        let derived = DerivedTypes {
            types: bound.parameters.clone(),
            times: bound.time_parameters.clone(),
            texts: bound.text_parameters.clone(),
        };
        for &(ordinal, collation) in &derived.texts {
            check_held(values.get(ordinal as usize), collation)?;
        }
        let fit = derived.types.iter().zip(values).enumerate().all(|(index, (wanted, value))| {
            let is_limit = bound.limit_parameters.iter().any(|&ordinal| ordinal as usize == index);
            wanted.as_ref().is_none_or(|wanted| fits(wanted, value, derived.reads_time(index), is_limit))
        });
        if fit {
            return Ok((bound, derived));
        }
        let typed = BindSession { typed_before: Some(&derived), ..*self };
        let again = plan::bind::bind(statement, text, catalog, &typed).map_err(denied)?;
        Ok((again, derived))
    }

    /// The classes of the values that a plan takes whose parameters have these types.
    fn classes(&self, derived: &DerivedTypes) -> Vec<ParameterClass> {
        let by_content = self.has_client_parameters();
        let class = |(index, value)| match derived.types.get(index) {
            Some(Some(wanted)) if by_content => ParameterClass::at(value, wanted, derived.reads_time(index)),
            _ => ParameterClass::of(value),
        };
        let class = |(index, value)| match class((index, value)) {
            ParameterClass::Text(collation) => match derived.charsets(index).next() {
                Some(holder) => ParameterClass::Held(collation, holder),
                None => ParameterClass::Text(collation),
            },
            class => class,
        };
        self.parameters.unwrap_or_default().iter().enumerate().map(class).collect()
    }
}

impl<B: Backend> plan::bind::Session for BindSession<'_, B> {
    fn database(&self) -> Option<&str> {
        self.session.names.database.map(|name| &**name)
    }

    fn connection_collation(&self) -> CollationId {
        self.session.variables.settings().connection_collation
    }

    fn only_full_group_by(&self) -> bool {
        self.session.variables.settings().sql_mode.has(SqlModes::ONLY_FULL_GROUP_BY)
    }

    fn type_context(&self) -> plan::function::TypeContext {
        let sql_mode = self.session.variables.settings().sql_mode;
        plan::function::TypeContext {
            connection_collation: self.session.variables.settings().connection_collation,
            div_precision_increment: self.session.variables.settings().div_precision_increment,
            locale: self.session.variables.settings().locale,
            group_concat_bytes: self.session.variables.settings().group_concat_bytes,
            packet_bytes_max: self.session.variables.settings().packet_bytes_max,
            no_unsigned_subtraction: sql_mode.has(SqlModes::NO_UNSIGNED_SUBTRACTION),
            is_strict: sql_mode.is_strict(),
            fixes_parameters: self.has_client_parameters(),
            binds_again: self.typed_before.is_some(),
        }
    }

    fn column_type(&self, written: &syntax::ast::DataType<'_>, name: &str) -> PlanResult<DataType> {
        let settings = self.session.variables.settings();
        let strict = settings.sql_mode.is_strict();
        // MySQL warns of deprecated types of columns of tables only.
        let made = crate::column_type::column_type(
            written,
            name,
            b"",
            settings.connection_collation,
            strict,
            &mut Vec::new(),
        );
        made.map(|made| made.data_type).map_err(|error| PlanError::new(error.number, error.message))
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
        if self.has_client_parameters() {
            let is_bytes = matches!(value, ValueRef::Bytes { collation: CollationId::BINARY, .. });
            return match self.typed_before {
                Some(before) => {
                    let derived = before.types.get(ordinal as usize)?.as_ref();
                    own_type(value, derived, before.reads_time(ordinal as usize))
                }
                None if is_bytes => own_type(value, None, false),
                None => None,
            };
        }
        let data_type = plan::expr::literal_type(*value);
        // The plan serves later values too: a time and a decimal have all digits of their fraction.
        Some(match data_type.kind {
            TypeKind::DateTime => DataType::datetime(FRACTION_DIGITS_MAX),
            TypeKind::Time => DataType::time(FRACTION_DIGITS_MAX),
            _ => data_type,
        })
    }

    fn reads_as_number(&self, ordinal: u32, wanted: &DataType) -> bool {
        let value = self.parameters.and_then(|values| values.get(ordinal as usize));
        value.is_none_or(|value| reads_as_number(value, wanted))
    }

    fn constant(&self, constant: &plan::Expr) -> Option<Value> {
        exec::expr::fold(constant, &planning_settings(self.session.variables.settings()))
    }

    fn date_mode(&self) -> types::temporal::parse::DateMode {
        let mode = self.session.variables.settings().sql_mode;
        types::temporal::parse::DateMode {
            allow_invalid: mode.has(SqlModes::ALLOW_INVALID_DATES),
            no_zero_in_date: mode.has(SqlModes::NO_ZERO_IN_DATE),
            no_zero_date: mode.has(SqlModes::NO_ZERO_DATE),
            truncates_fraction: mode.has(SqlModes::TIME_TRUNCATE_FRACTIONAL),
        }
    }

    fn pads_chars(&self) -> bool {
        self.session.variables.settings().sql_mode.has(SqlModes::PAD_CHAR_TO_FULL_LENGTH)
    }

    fn client_charset(&self) -> Charset {
        self.session.variables.settings().client_charset
    }

    fn local_variable(&self, name: &[u8]) -> Option<(u32, DataType)> {
        self.session.routines.variable(name)
    }

    fn stored_function(&self, definition: &Arc<RoutineDefinition>) -> PlanResult<Arc<StoredFunction>> {
        let kept = self.session.routines.program(definition);
        let made = match &kept {
            Some(routine) => Ok((routine.program.returns.clone(), routine.program.parameters.len())),
            None => crate::routine::program_of(definition)
                .map(|program| (program.returns.clone(), program.parameters.len())),
        };
        let (returns, parameter_count) = made.map_err(|error| PlanError::new(error.number, error.message))?;
        // What an expression gives is not filled up with zeros.
        let returns = DataType { zerofill: false, ..returns.unwrap_or(DataType::NULL) };
        Ok(Arc::new(StoredFunction { definition: Arc::clone(definition), returns, parameter_count }))
    }

    fn row_variable(&self, is_new: bool, column: &str) -> Option<(u32, DataType)> {
        self.session.routines.row_variable(is_new, column)
    }

    fn shared_table(&self, schema: &str, name: &str) -> Option<Arc<catalog::TableEntry>> {
        self.session.shared.core.catalog().load().table(schema, name).cloned()
    }

    fn literal_parameter(&self, start: u32) -> Option<u32> {
        let literals = self.literals?;
        literals.find(start).or_else(|| literals.find_cell(start))
    }
}

impl<'a, B: Backend> Planner<'a, B> {
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
            return Ok(Value::UInt(self.results.last_insert_id()));
        }
        if id == known::insert_id() {
            return Ok(Value::UInt(self.results.next_insert_id().unwrap_or(0)));
        }
        if id == known::warning_count() {
            return Ok(Value::UInt(self.counts_before().0));
        }
        if id == known::error_count() {
            return Ok(Value::UInt(self.counts_before().1));
        }
        if id == known::timestamp() {
            #[allow(clippy::cast_precision_loss, reason = "MySQL shows it as a double as well")]
            return Ok(Value::Double(self.functions.now_micros(&self.shared.core) as f64 / 1e6));
        }
        let globals = self.shared.core.globals();
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

    /// Binds, optimizes and compiles a statement. `values`: the parameters it is planned for.
    ///
    /// # Errors
    /// MySQL's, for names, types, places, and what does not run yet.
    pub(crate) fn plan_statement(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        values: &[ValueRef<'_>],
    ) -> Result<PlanHandle<B>, Box<SqlError>> {
        let bind = BindSession::new(self, Some(values));
        self.plan_bound(statement, text, &self.names.catalog(), &bind)
    }

    /// Plans a statement that is explained, the part `own_text` of what was sent, as it would be planned by itself.
    ///
    /// # Errors
    /// As [`Self::plan_statement`].
    pub(super) fn plan_explained(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        own_text: &[u8],
        values: &[ValueRef<'_>],
    ) -> Result<PlanHandle<B>, Box<SqlError>> {
        let bind = BindSession { own_text: Some(own_text), ..BindSession::new(self, Some(values)) };
        self.plan_bound(statement, text, &self.names.catalog(), &bind)
    }

    /// Plans a prepared statement for an execution of it.
    ///
    /// # Errors
    /// As [`Self::plan_statement`].
    pub(super) fn plan_execution(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        values: &[ValueRef<'_>],
    ) -> Result<PlanHandle<B>, Box<SqlError>> {
        let for_all_values = self.shared.plans.is_restless(self.fit().prepared_key(text, values), text);
        let bind = BindSession { for_all_values, is_execution: true, ..BindSession::new(self, Some(values)) };
        self.plan_bound(statement, text, &self.names.catalog(), &bind)
    }

    /// Plans a statement with its literals as parameters.
    ///
    /// # Errors
    /// As [`Self::plan_statement`], but not always the same.
    pub(super) fn plan_shared(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        values: &[ValueRef<'_>],
        literals: &Digested<'_>,
    ) -> Result<PlanHandle<B>, Box<SqlError>> {
        let key = self.fit().digest_key(plan_fit::key_of(self.variables.settings(), literals), values);
        let for_all_values = self.shared.plans.is_restless(key, literals.normalized);
        let bind =
            BindSession { literals: Some(literals), for_all_values, ..BindSession::new(self, Some(values)) };
        self.plan_bound(statement, text, &self.names.catalog(), &bind)
    }

    /// Plans a statement whose parameters have the types of their values, wherever they stand: the query that a table's columns
    /// are defined by, the row of a line of LOAD DATA.
    pub(super) fn plan_definition(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        values: &[ValueRef<'_>],
    ) -> Result<PlanHandle<B>, Box<SqlError>> {
        let bind = BindSession { begins_time: false, ..BindSession::new(self, Some(values)) };
        self.plan_bound(statement, text, &self.names.catalog(), &bind)
    }

    /// Plans a statement that is prepared, its parameters unknown. Answers what its text is warned of, too.
    pub(super) fn plan_prepared(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
    ) -> Result<(PlanHandle<B>, Vec<PlanError>), Box<SqlError>> {
        let bind = BindSession { begins_time: false, is_prepared: true, ..BindSession::new(self, None) };
        self.plan_warning(statement, text, &self.names.catalog(), &bind)
    }

    /// Plans a statement that is no SELECT of a client: it has no time limit.
    pub(super) fn plan_with(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        values: Option<&[ValueRef<'_>]>,
        catalog: &Arc<Catalog>,
    ) -> Result<PlanHandle<B>, Box<SqlError>> {
        let bind = BindSession { begins_time: false, ..BindSession::new(self, values) };
        self.plan_bound(statement, text, catalog, &bind)
    }

    /// Binds the query of a view that is `schema.name`.
    ///
    /// # Errors
    /// As [`Self::plan_statement`].
    pub(super) fn bind_view(
        &self,
        create: &syntax::ast::CreateView<'_>,
        name: (&str, &str),
        text: &[u8],
    ) -> Result<plan::bind::BoundView, Box<SqlError>> {
        let bind = BindSession { begins_time: false, ..BindSession::new(self, Some(&[])) };
        let bound = plan::progress::stoppable(|| {
            plan::bind::bind_view(create, name, text, &self.names.catalog(), &bind).map_err(|error| {
                access::denied_instead(self.account, &error).unwrap_or_else(|| plan_error(&error))
            })
        });
        bound.unwrap_or_else(|why| Err(crate::limits::stopped(why, &self.shared.control)))
    }

    fn plan_bound(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        catalog: &Arc<Catalog>,
        bind: &BindSession<'_, B>,
    ) -> Result<PlanHandle<B>, Box<SqlError>> {
        self.plan_warning(statement, text, catalog, bind).map(|(plan, _)| plan)
    }

    /// Plans a statement; of a prepared one what its text is warned of is no part of the plan.
    fn plan_warning(
        &self,
        statement: &Statement<'_>,
        text: &[u8],
        catalog: &Arc<Catalog>,
        bind: &BindSession<'_, B>,
    ) -> Result<(PlanHandle<B>, Vec<PlanError>), Box<SqlError>> {
        let bytes_before = env::memory::command_bytes().0;
        let kind = kind_of(statement);
        let max_execution_ms = hinted_time(statement, text);
        let limit = if bind.begins_time {
            time_limit(self.variables.settings(), kind, max_execution_ms)
        } else {
            None
        };
        let deadline = match limit {
            None => None,
            // One that is planned again has the time that is left.
            Some(limit) => Some(match self.running.take_deadline() {
                Some(deadline) => deadline,
                None => self.shared.begin_deadline(limit)?,
            }),
        };
        let (mut derived, mut warnings) = (DerivedTypes::default(), Vec::new());
        let is_traced =
            bind.begins_time && self.traces.is_due(self.variables) && !self.routines.are_running();
        let counted_key = plan_fit::counted_key(
            self.names.database.map(|name| &**name),
            bind.literals,
            bind.own_text.unwrap_or(text),
        );
        let feedback = match self.variables.settings().optimizer_feedback {
            true => self.shared.plans.counted.find(counted_key),
            false => None,
        };
        let mut run = || {
            plan::progress::stoppable(|| {
                let (mut bound, types) =
                    plan::trace::part("join_preparation", || bind.bind(statement, text, catalog))?;
                derived = types;
                if bind.is_execution || bind.is_prepared {
                    warnings = std::mem::take(&mut bound.warnings);
                }
                let options = plan::Options {
                    switches: self.variables.settings().optimizer_switch.plan_switches(),
                    pads_chars: self.variables.settings().sql_mode.has(SqlModes::PAD_CHAR_TO_FULL_LENGTH),
                    dive_limit: self.variables.unsigned(known::eq_range_index_dive_limit()) as usize,
                    feedback: feedback.clone(),
                    ..plan::Options::new(catalog)
                };
                let settings = estimate_settings(self.variables);
                let params = bind.parameters.filter(|_| !bind.for_all_values).unwrap_or_default();
                let constants = PlannedConstants { settings: &settings, params };
                let plan = plan::optimize_for(bound, &options, &constants);
                Prepared::new(Arc::new(plan))
            })
        };
        let planned = match is_traced {
            false => run(),
            true => self.traced(text, run),
        };
        let planned = planned.unwrap_or_else(|why| Err(crate::limits::stopped(why, &self.shared.control)));
        let prepared = planned.map_err(|error| match &deadline {
            None => error,
            Some(deadline) => deadline.explain(error),
        })?;
        let made_for = MadeFor {
            kind,
            catalog_version: catalog.version,
            database: self.names.database.cloned(),
            parameter_classes: bind.classes(&derived),
            max_execution_ms,
            is_warned_of: !warnings.is_empty(),
            is_traced,
            counted_key,
            bytes: env::memory::command_bytes().0.saturating_sub(bytes_before),
        };
        let plan = CachedPlan::new(prepared, made_for, self.variables.settings());
        Ok((PlanHandle::made(plan, deadline), warnings))
    }

    /// Plans with a trace, which the session keeps.
    #[cold]
    fn traced(
        &self,
        text: &[u8],
        run: impl FnOnce() -> Result<Result<Prepared, Box<SqlError>>, plan::progress::Stop>,
    ) -> Result<Result<Prepared, Box<SqlError>>, plan::progress::Stop> {
        let (planned, traced) = match self.traces.next(self.variables) {
            None => (run(), None),
            Some(settings) => {
                let (planned, traced) = plan::trace::traced(settings, run);
                (planned, Some((traced, settings)))
            }
        };
        let plan = planned.as_ref().ok().and_then(|planned| planned.as_ref().ok()).map(Prepared::plan);
        let reads_traces = plan.is_some_and(|plan| {
            let is_of_traces = |definition: &catalog::TableDefinition| {
                &*definition.name == "OPTIMIZER_TRACE" && &*definition.schema == "information_schema"
            };
            plan.tables.iter().any(|table| is_of_traces(&table.entry.definition))
        });
        let is_hidden = match &planned {
            Ok(Ok(planned)) => !self.may_see_trace(planned.plan()),
            Ok(Err(error)) => DENIALS.contains(&error.number),
            Err(_) => true,
        };
        if !reads_traces {
            let query = text.trim_ascii_end();
            let query = query.strip_suffix(b";").unwrap_or(query);
            self.traces.put(query, traced, is_hidden, self.variables);
        }
        planned
    }

    /// Whether the account may know what the plan does: it must hold what the statement needs, may see how its views are made, and nothing runs as
    /// another account.
    fn may_see_trace(&self, plan: &plan::PhysicalPlan) -> bool {
        let is_own = |user: &str, host: &str| self.account.is_named(user, host);
        let needs = &plan.needs;
        needs.definers.iter().all(|definer| is_own(&definer.user, &definer.host))
            && needs.functions.iter().all(|need| {
                let function = &need.call.function.definition;
                function.invoker || is_own(&function.definer.0, &function.definer.1)
            })
            && access::require_plan(self.account, plan).is_ok()
            && access::require_explained(self.account, plan).is_ok()
    }

    /// The plan of a prepared text that another session made for such parameters; none: they are unknown.
    pub(super) fn find_prepared(&self, text: &[u8], values: &[ValueRef<'_>]) -> KnownPlan<B> {
        let key = self.fit().prepared_key(text, values);
        self.take_if(self.shared.plans.find(key, text, values.len()), values)
    }

    /// Lets others run the plan of a prepared text, about which `found` was known.
    pub(super) fn share_prepared(
        &self,
        found: &KnownPlan<B>,
        text: &[u8],
        values: &[ValueRef<'_>],
        plan: &PlanHandle<B>,
    ) {
        if matches!(found, Known::Keep) {
            self.offer(self.fit().prepared_key(text, values), text.into(), values, plan);
        }
    }

    /// Lets others run a plan, if it is not this session's alone.
    pub(super) fn offer(
        &self,
        key: u64,
        normalized: Arc<[u8]>,
        values: &[ValueRef<'_>],
        plan: &PlanHandle<B>,
    ) {
        if self.fit().would_make(plan, values) && !plan.reads_system_tables() && !plan.is_warned_of() {
            self.shared.plans.put(key, normalized, Arc::clone(plan.shared()));
        }
    }

    /// What was found among all sessions' plans, as far as it holds for this one.
    pub(super) fn take_if(&self, found: Found<B>, values: &[ValueRef<'_>]) -> KnownPlan<B> {
        match found {
            Known::Plan(normalized, plans) => {
                let fitting = plans.into_iter().find(|plan| self.fit().would_make(plan, values));
                fitting.map_or(Known::Keep, |plan| Known::Plan(normalized, plan))
            }
            Known::Keep => Known::Keep,
            Known::Rare => Known::Rare,
        }
    }

    /// What is looked for in a plan that is there.
    pub(super) fn fit(&self) -> PlanFit<'a> {
        PlanFit { names: self.names, variables: self.variables }
    }

    /// What all sessions know of a normalized statement, if it holds for this one.
    #[cold]
    pub(super) fn find_shared(
        &self,
        key: u64,
        digested: &Digested<'_>,
        values: &[ValueRef<'_>],
    ) -> KnownPlan<B> {
        let key = self.fit().digest_key(key, values);
        self.take_if(self.shared.plans.find(key, digested.normalized, digested.literals.len()), values)
    }

    /// What the statement before has counted of warnings and errors; in a routine what has been counted so far.
    fn counts_before(&self) -> (u64, u64) {
        if self.routines.are_running() {
            return (self.diagnostics.warning_count(), self.diagnostics.error_count());
        }
        self.diagnostics.counts_before()
    }
}
