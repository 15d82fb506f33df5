//! Which plans that are there a session may run now, and by what it finds those that all sessions share.

use std::hash::{BuildHasher, Hash, Hasher};

use exec::PlannedConstants;
use exec::expr::EvalSettings;
use plan::PhysicalPlan;
use syntax::Digested;
use types::ValueRef;
use types::temporal::zone::TimeZone;

use super::Session;
use super::names::Names;
use super::session_variables::SessionVariables;
use crate::backend::Backend;
use crate::plans::CachedPlan;
use crate::plans::parameter_types::ParameterClass;
use crate::variables::definition::known;
use crate::variables::settings::Settings;

/// What a session has of what plans are made for.
#[derive(Clone, Copy)]
pub(super) struct PlanFit<'a> {
    pub(super) names: Names<'a>,
    pub(super) variables: &'a SessionVariables,
}

impl PlanFit<'_> {
    /// As [`is_current`].
    // Inlined, so that what is fitted stays in registers.
    #[inline(always)]
    fn is_current<B: Backend>(&self, plan: &CachedPlan<B>, values: &[ValueRef<'_>]) -> bool {
        self.settings_fit(plan)
            && plan.takes(values)
            && (plan.is_always_best()
                || !plan.estimate_check().is_wrong() && is_plan_for(self.variables, plan.physical(), values))
    }

    /// Whether this session would have made such a plan now: beside what may change under a plan, what a prepared statement keeps from
    /// when it was prepared.
    pub(super) fn would_make<B: Backend>(&self, plan: &CachedPlan<B>, values: &[ValueRef<'_>]) -> bool {
        plan.has_shapes_of(self.variables.settings()) && self.is_current(plan, values)
    }

    /// Whether a cached plan may run now, with parameters of the types it was made for.
    #[inline]
    pub(super) fn takes_any<B: Backend>(&self, plan: &CachedPlan<B>) -> bool {
        self.settings_fit(plan) && plan.physical().sizes_hold() && !plan.estimate_check().is_wrong()
    }

    #[inline(always)]
    fn settings_fit<B: Backend>(&self, plan: &CachedPlan<B>) -> bool {
        self.names.temporary.is_empty()
            && plan.fits(self.variables.settings(), self.names.core.catalog().version(), self.names.database)
    }

    /// A normalized statement's key among all sessions' plans: `key`, and what a plan with these literals depends on here.
    pub(super) fn digest_key(&self, key: u64, values: &[ValueRef<'_>]) -> u64 {
        self.key_here(("normalized", key), values)
    }

    /// The same of a prepared text and its parameters.
    pub(super) fn prepared_key(&self, text: &[u8], values: &[ValueRef<'_>]) -> u64 {
        self.key_here(("text", text), values)
    }

    fn key_here(&self, what: impl Hash, values: &[ValueRef<'_>]) -> u64 {
        let mut hasher = foldhash::fast::FixedState::default().build_hasher();
        let settings = self.variables.settings();
        what.hash(&mut hasher);
        (settings.sql_mode.0, settings.connection_collation, settings.shapes).hash(&mut hasher);
        (settings.optimizer_switch, settings.optimizer_feedback).hash(&mut hasher);
        (self.names.database.map(|name| &**name), settings.results_charset).hash(&mut hasher);
        values.iter().for_each(|value| ParameterClass::of(value).hash(&mut hasher));
        hasher.finish()
    }
}

/// By what a statement is known whose rows are counted: its database, and a normalized text or one with its own literals.
pub(super) fn counted_key(database: Option<&str>, literals: Option<&Digested<'_>>, text: &[u8]) -> u64 {
    let hasher = foldhash::fast::FixedState::default();
    match literals {
        Some(digested) => hasher.hash_one(("normalized", database, digested.hash)),
        None => {
            let text = text.trim_ascii();
            let text = text.strip_suffix(b";").unwrap_or(text).trim_ascii_end();
            hasher.hash_one(("text", database, text))
        }
    }
}

/// What this session knows a normalized statement by: with its hash all that its plan depends on and that is not compared later.
#[inline]
pub(super) fn key_of(settings: &Settings, digested: &Digested<'_>) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    hasher.write_u64(digested.hash);
    hasher.write_u32(digested.rows.map_or(0, |rows| rows.row_count));
    hasher.write_u64(settings.shapes);
    hasher.finish()
}

/// Whether a cached plan may run now with these parameters.
pub(super) fn is_current<B: Backend>(
    session: &Session<B>,
    plan: &CachedPlan<B>,
    values: &[ValueRef<'_>],
) -> bool {
    session.plan_fit().is_current(plan, values)
}

/// Whether a plan is the one for tables as large as these are and for these values: its ranges hold about as many rows as those it
/// was made for.
#[inline(never)]
fn is_plan_for(variables: &SessionVariables, plan: &PhysicalPlan, values: &[ValueRef<'_>]) -> bool {
    plan.sizes_hold() && (plan.guards.is_empty() || guards_hold(variables, plan, values))
}

fn guards_hold(variables: &SessionVariables, plan: &PhysicalPlan, values: &[ValueRef<'_>]) -> bool {
    let settings = estimate_settings(variables);
    plan.guards_hold(&PlannedConstants { settings: &settings, params: values })
}

/// How constants are computed while a statement is planned.
pub(super) fn planning_settings(settings: &Settings) -> EvalSettings {
    EvalSettings {
        sql_mode: settings.sql_mode.0,
        connection_collation: settings.connection_collation,
        max_allowed_packet: settings.packet_bytes_max as usize,
        locale: settings.locale,
        ..EvalSettings::default()
    }
}

/// How they are computed for estimates of how many rows there are.
pub(super) fn estimate_settings(variables: &SessionVariables) -> EvalSettings {
    let settings = variables.settings();
    EvalSettings {
        time_zone: TimeZone::clone(&settings.time_zone),
        default_week_format: i64::try_from(variables.unsigned(known::default_week_format())).unwrap_or(0),
        ..planning_settings(settings)
    }
}
