//! Plans that can run again, and the places where they are kept.
//!
//! A plan says nothing of the session it was made by: what it depends on is kept with it and compared before it runs ([`CachedPlan::fits`],
//! [`CachedPlan::takes`]). So one plan serves all sessions ([`shared`]); what is a session's own of it is in [`PlanHandle`]. How a session makes
//! one: `conversation::plans`.
//!
//! Invariant: a plan runs only while everything it was made for is the same: the catalog's version, the settings that binding reads, the
//! classes of the parameters, about how large the tables were.

pub(crate) mod digest_cache;
pub(crate) mod feedback;
pub(crate) mod parameter_types;
pub mod shared;

use std::sync::Arc;

use env::memory::MemoryCharge;
use exec::Prepared;
use exec::output::{ResultColumn, encode_columns};
use plan::PhysicalPlan;
use service::SqlError;
use service::error::{ER_DATA_OUT_OF_RANGE, ER_WRONG_ARGUMENTS};
use types::charset::Charset;
use types::collation::CollationId;
use types::{DataType, ValueRef};
use wire::EncodedColumns;

use crate::backend::{Backend, PointProgram as _};
use crate::deadlines::Deadline;
use crate::privilege::SessionAccount;
use crate::status::StatementKind;
use crate::variables::optimizer_switch::OptimizerSwitch;
use crate::variables::settings::Settings;
use crate::variables::sql_mode::SqlModes;
use feedback::EstimateCheck;
use parameter_types::ParameterClass;

/// A plan that can run again, with what it depends on. It does not change, and may be many sessions' ([`PlanHandle`]).
#[derive(Debug)]
pub(crate) struct CachedPlan<B: Backend> {
    prepared: Prepared,
    catalog_version: u64,
    sql_mode: SqlModes,
    connection_collation: CollationId,
    /// What lengths and scales of its results depend on ([`Settings::shapes`]).
    shapes: u64,
    optimizer_switch: OptimizerSwitch,
    parameter_classes: Vec<ParameterClass>,
    columns: Option<(Option<Charset>, Arc<EncodedColumns>)>,
    kind: StatementKind,
    database: Option<Arc<str>>,
    /// It may run again: nothing in it was read when it was bound.
    reusable: bool,
    /// It reads system tables, which want to know the session.
    reads_system_tables: bool,
    /// It may fire triggers or call stored functions.
    runs_programs: bool,
    point: Option<(Option<Charset>, B::PointProgram)>,
    /// MAX_EXECUTION_TIME of a SELECT's hints, in milliseconds.
    max_execution_ms: Option<u64>,
    /// PREPARE warns of its text, of which the plan says nothing.
    is_warned_of: bool,
    /// By what its statement is known where rows are counted ([`feedback`]).
    counted_key: u64,
    /// `optimizer_feedback`: it was made with what was counted.
    optimizer_feedback: bool,
    /// What runs have shown of its estimates.
    estimate_check: EstimateCheck,
    /// Memory that it takes.
    bytes: u64,
}

/// What a plan is made for, beside the settings of its session.
#[derive(Debug)]
pub(crate) struct MadeFor {
    pub(crate) kind: StatementKind,
    pub(crate) catalog_version: u64,
    pub(crate) database: Option<Arc<str>>,
    pub(crate) parameter_classes: Vec<ParameterClass>,
    pub(crate) max_execution_ms: Option<u64>,
    /// PREPARE warns of its text, of which the plan says nothing.
    pub(crate) is_warned_of: bool,
    /// It was traced: the next execution is, too.
    pub(crate) is_traced: bool,
    /// By what its statement is known where rows are counted.
    pub(crate) counted_key: u64,
    /// What making it took of memory.
    pub(crate) bytes: u64,
}

/// A session's hold on a plan.
#[derive(Debug)]
pub(crate) struct PlanHandle<B: Backend> {
    plan: Arc<CachedPlan<B>>,
    /// The account that was found to have all the plan needs. A changed account is another one.
    allowed: Option<Arc<SessionAccount>>,
    /// The plan, if it is this session's alone.
    held: MemoryCharge,
    /// Of the statement it was made for, until that runs.
    deadline: Option<Box<Deadline>>,
}

impl<B: Backend> PlanHandle<B> {
    pub(crate) fn new(plan: Arc<CachedPlan<B>>) -> Self {
        PlanHandle { plan, allowed: None, held: MemoryCharge::default(), deadline: None }
    }

    /// A plan that was just made for a statement whose time has begun.
    pub(crate) fn made(plan: CachedPlan<B>, deadline: Option<Box<Deadline>>) -> Self {
        PlanHandle { deadline, ..PlanHandle::new(Arc::new(plan)) }
    }

    /// The deadline of the statement it was made for, which began when that was planned. There is none for the next execution.
    pub(crate) fn take_deadline(&mut self) -> Option<Box<Deadline>> {
        self.deadline.take()
    }

    /// The session keeps it for statements to come: a plan that no other has is charged to it.
    pub(crate) fn keep(&mut self) {
        if Arc::strong_count(&self.plan) == 1 {
            self.held.set(self.plan.bytes);
        }
    }

    /// What is charged of it.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held.bytes()
    }

    /// The plan, for another session to hold.
    pub(crate) fn shared(&self) -> &Arc<CachedPlan<B>> {
        &self.plan
    }

    /// Whether this account was found to be allowed all that the plan does.
    #[inline]
    pub(crate) fn is_allowed(&self, account: &Arc<SessionAccount>) -> bool {
        self.allowed.as_ref().is_some_and(|allowed| Arc::ptr_eq(allowed, account))
    }

    /// Notes that it is.
    pub(crate) fn allow(&mut self, account: &Arc<SessionAccount>) {
        self.allowed = Some(Arc::clone(account));
    }
}

impl<B: Backend> std::ops::Deref for PlanHandle<B> {
    type Target = CachedPlan<B>;

    #[inline]
    fn deref(&self) -> &CachedPlan<B> {
        &self.plan
    }
}

impl<B: Backend> CachedPlan<B> {
    /// The plan of a compiled statement.
    pub(crate) fn new(prepared: Prepared, made_for: MadeFor, settings: &Settings) -> Self {
        let plan = prepared.plan();
        let mut cached = CachedPlan {
            catalog_version: made_for.catalog_version,
            sql_mode: settings.sql_mode,
            connection_collation: settings.connection_collation,
            shapes: settings.shapes,
            optimizer_switch: settings.optimizer_switch,
            parameter_classes: made_for.parameter_classes,
            columns: None,
            kind: made_for.kind,
            database: made_for.database,
            reusable: !plan.volatile && !made_for.is_traced,
            reads_system_tables: plan.tables.iter().any(|table| table.entry.source.as_virtual().is_some()),
            runs_programs: plan.runs_programs(),
            point: None,
            max_execution_ms: made_for.max_execution_ms,
            is_warned_of: made_for.is_warned_of,
            counted_key: made_for.counted_key,
            optimizer_feedback: settings.optimizer_feedback,
            estimate_check: EstimateCheck::default(),
            bytes: made_for.bytes,
            prepared,
        };
        if !cached.physical().output.is_empty() {
            let results = settings.results_charset;
            cached.columns = Some((results, Arc::new(cached.columns(results))));
            let pads = settings.sql_mode.has(SqlModes::PAD_CHAR_TO_FULL_LENGTH);
            let point = if pads || cached.runs_programs {
                None
            } else {
                B::PointProgram::of(cached.physical(), results)
            };
            cached.point = point.map(|point| (results, point));
        }
        cached
    }

    /// The operators, compiled.
    #[inline]
    pub(crate) fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// The operators and tables, as they were planned.
    #[inline]
    pub(crate) fn physical(&self) -> &PhysicalPlan {
        self.prepared.plan()
    }

    /// As what its statement is counted.
    #[inline]
    pub(crate) fn kind(&self) -> StatementKind {
        self.kind
    }

    /// MAX_EXECUTION_TIME of a SELECT's hints, in milliseconds.
    #[inline]
    pub(crate) fn max_execution_ms(&self) -> Option<u64> {
        self.max_execution_ms
    }

    /// Whether PREPARE warns of its text, which the plan does not know: another session's PREPARE would not.
    pub(crate) fn is_warned_of(&self) -> bool {
        self.is_warned_of
    }

    /// Whether it reads system tables, which want to know the session.
    #[inline]
    pub(crate) fn reads_system_tables(&self) -> bool {
        self.reads_system_tables
    }

    /// Whether it may fire triggers or call stored functions, which run in the session.
    #[inline]
    pub(crate) fn runs_programs(&self) -> bool {
        self.runs_programs
    }

    /// The point program and the columns of its result, if it has one for strings in `results`.
    #[inline]
    pub(crate) fn point(&self, results: Option<Charset>) -> Option<(&B::PointProgram, &EncodedColumns)> {
        match (&self.columns, &self.point) {
            (Some((charset, columns)), Some((point_charset, point)))
                if *charset == results && *point_charset == results =>
            {
                Some((point, columns))
            }
            _ => None,
        }
    }

    /// Whether it may run now, with parameters of the types it was made for: everything else that it was made for is the same, but for the
    /// sizes of tables. Its session has no temporary tables.
    #[inline]
    pub(crate) fn fits(
        &self,
        settings: &Settings,
        catalog_version: u64,
        database: Option<&Arc<str>>,
    ) -> bool {
        self.reusable
            && self.catalog_version == catalog_version
            && self.sql_mode == settings.sql_mode
            && self.connection_collation == settings.connection_collation
            && self.optimizer_switch == settings.optimizer_switch
            && self.optimizer_feedback == settings.optimizer_feedback
            && same_name(self.database.as_ref(), database)
    }

    /// Whether it is the plan for some values of its parameters only.
    pub(crate) fn has_guards(&self) -> bool {
        !self.physical().guards.is_empty()
    }

    /// Whether it goes to single rows, or only adds rows: for any values and however large the tables are.
    #[inline]
    pub(crate) fn is_always_best(&self) -> bool {
        self.physical().is_always_best()
    }

    /// By what its statement is known where rows are counted.
    pub(crate) fn counted_key(&self) -> u64 {
        self.counted_key
    }

    /// What runs have shown of its estimates.
    #[inline]
    pub(crate) fn estimate_check(&self) -> &EstimateCheck {
        &self.estimate_check
    }

    /// Whether lengths and scales of its results are those that it would have under these settings.
    pub(crate) fn has_shapes_of(&self, settings: &Settings) -> bool {
        self.shapes == settings.shapes
    }

    /// Whether the plan takes these values.
    #[inline]
    pub(crate) fn takes(&self, values: &[ValueRef<'_>]) -> bool {
        self.parameter_classes.len() == values.len()
            && (self
                .parameter_classes
                .iter()
                .zip(values)
                .all(|(class, value)| *class == ParameterClass::of(value))
                || self.takes_by_content(values))
    }

    /// The same, of texts by what they say.
    #[cold]
    fn takes_by_content(&self, values: &[ValueRef<'_>]) -> bool {
        self.parameter_classes.iter().zip(values).all(|(class, value)| class.is_of(value))
    }

    /// Column definitions of the result, encoded for strings in `results`.
    pub(crate) fn columns(&self, results: Option<Charset>) -> EncodedColumns {
        let output = &self.physical().output;
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
                source: column.source,
            }),
            results,
        )
    }

    pub(crate) fn encoded_columns(&self, results: Option<Charset>) -> Arc<EncodedColumns> {
        match &self.columns {
            Some((charset, columns)) if *charset == results => Arc::clone(columns),
            _ => Arc::new(self.columns(results)),
        }
    }

    /// The version of the catalog it was made for.
    pub(crate) fn catalog_version(&self) -> u64 {
        self.catalog_version
    }

    /// Refuses values in LIMIT that are no counts. `named`: EXECUTE gives them, whose texts are no numbers.
    ///
    /// # Errors
    /// 1690, 1210.
    #[inline]
    pub(crate) fn require_limits(&self, values: &[ValueRef<'_>], named: bool) -> Result<(), Box<SqlError>> {
        match self.physical().limit_parameters.is_empty() {
            true => Ok(()),
            false => self.require_counts(values, named),
        }
    }

    fn require_counts(&self, values: &[ValueRef<'_>], named: bool) -> Result<(), Box<SqlError>> {
        let to = if named { "EXECUTE" } else { "mysqld_stmt_execute" };
        let plan = self.physical();
        for &ordinal in &plan.limit_parameters {
            let Some(value) = values.get(ordinal as usize) else { continue };
            match value {
                ValueRef::Int(..0) if !plan.count_parameters.contains(&ordinal) => {
                    return Err(ER_DATA_OUT_OF_RANGE.with(&[&"unsigned integer", &"EXECUTE"]));
                }
                // The binary protocol's texts are numbers of clients that send all as text.
                ValueRef::Null | ValueRef::Int(_) | ValueRef::UInt(_) => {}
                ValueRef::Bytes { .. } if !named => {}
                _ => return Err(ER_WRONG_ARGUMENTS.with(&[&to])),
            }
        }
        Ok(())
    }

    /// Whether it changes a table that other sessions see.
    pub(crate) fn changes_shared_tables(&self) -> bool {
        let plan = self.physical();
        plan.needs.tables.iter().any(|need| {
            need.changes
                && plan.tables[need.table.0 as usize].entry.definition.kind == catalog::TableKind::Base
        })
    }

    /// Whether it locks rows FOR UPDATE that other sessions may read.
    pub(crate) fn locks_shared_rows(&self) -> bool {
        self.physical().tables.iter().any(|table| {
            matches!(table.lock, Some((true, _)))
                && table.entry.definition.kind != catalog::TableKind::Temporary
        })
    }

    /// Types of the result's columns.
    pub(crate) fn output_types(&self) -> impl Iterator<Item = &DataType> {
        self.physical().output.iter().map(|column| &column.data_type)
    }

    pub(crate) fn parameter_type(&self, index: usize) -> Option<&DataType> {
        self.physical().parameters.get(index)?.as_ref()
    }
}

/// Whether two names are the same; nearly always they are one text in memory.
#[inline]
fn same_name(one: Option<&Arc<str>>, other: Option<&Arc<str>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
        (one, other) => one.is_none() && other.is_none(),
    }
}
