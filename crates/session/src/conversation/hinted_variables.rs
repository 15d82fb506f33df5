//! SET_VAR: system variables that the hints of a statement set for as long as it is planned and runs.
//!
//! Read are the hints of the statement itself, of the members of its set operations, and of its CTEs.
//!
//! Invariants:
//! 1. When the statement has ended, whichever way, each variable is what it was before.
//! 2. The plan of such a statement is not kept: it was made under these variables.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use service::Diagnostic;
use service::error::{ER_NOT_HINT_UPDATABLE_VARIABLE, ER_UNRESOLVED_HINT_NAME};
use syntax::ast::{InsertSource, Query, QueryBody, Span, Statement, VarScope};
use syntax::hints::{Hint, HintKind, HintValue};
use types::{CollationId, Value};

use super::Session;
use super::{routine, set};
use crate::backend::Backend;
use crate::variables::{Setting, VariableId, by_name};

/// The variables that hints may set.
const HINTABLE: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "default_table_encryption",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "enable_secondary_engine_statistics",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_points_in_geometry",
    "max_seeks_for_key",
    "max_sort_length",
    "optimizer_max_subgraph_pairs",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "secondary_engine_cost_threshold",
    "select_into_buffer_size",
    "select_into_disk_sync",
    "select_into_disk_sync_delay",
    "set_operations_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_require_primary_key",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
    "use_secondary_engine",
    "windowing_use_high_precision",
    "xa_detach_on_prepare",
];

/// Runs `run` with the variables that the hints of `statement` set.
#[inline]
pub(super) fn with_hinted<B: Backend, R>(
    session: &mut Session<B>,
    statement: &Statement<'_>,
    text: &[u8],
    run: impl FnOnce(&mut Session<B>) -> R,
) -> R {
    if !may_have_hints(statement) {
        return run(session);
    }
    match set_hinted(session, statement, text) {
        None => run(session),
        Some(before) => {
            let depth = session.routines.depth();
            // A panic leaves the session to others, who know nothing of this statement's variables.
            let outcome = catch_unwind(AssertUnwindSafe(|| run(session)));
            if outcome.is_err() {
                routine::pop_frames_to(session, depth);
            }
            set_back(session, before);
            outcome.unwrap_or_else(|panic| resume_unwind(panic))
        }
    }
}

/// What the variables were.
#[derive(Default)]
struct Before {
    settings: Vec<(VariableId, Setting)>,
    timestamp: Option<Option<i64>>,
    insert_id: Option<Option<u64>>,
}

fn may_have_hints(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::Query(query) => match query.body {
            QueryBody::Select(select) => select.hints.is_some() || query.with.is_some(),
            QueryBody::SetOp { .. } | QueryBody::Nested(_) => true,
            QueryBody::Values(_) | QueryBody::Table(_) => false,
        },
        Statement::Insert(insert) => {
            insert.hints.is_some() || matches!(insert.source, InsertSource::Query(_))
        }
        Statement::Update(update) => update.hints.is_some(),
        Statement::Delete(delete) => delete.hints.is_some(),
        _ => false,
    }
}

fn each_hint_text(statement: &Statement<'_>, see: &mut dyn FnMut(Span)) {
    match statement {
        Statement::Query(query) => of_query(query, see),
        Statement::Insert(insert) => {
            insert.hints.into_iter().for_each(&mut *see);
            if let InsertSource::Query(query) = insert.source {
                of_query(query, see);
            }
        }
        Statement::Update(update) => update.hints.into_iter().for_each(see),
        Statement::Delete(delete) => delete.hints.into_iter().for_each(see),
        _ => {}
    }
}

fn of_query(query: &Query<'_>, see: &mut dyn FnMut(Span)) {
    for cte in query.with.iter().flat_map(|with| with.ctes) {
        of_query(cte.query, see);
    }
    of_body(&query.body, see);
}

fn of_body(body: &QueryBody<'_>, see: &mut dyn FnMut(Span)) {
    match body {
        QueryBody::Select(select) => select.hints.into_iter().for_each(see),
        QueryBody::SetOp { left, right, .. } => {
            of_body(left, see);
            of_body(right, see);
        }
        QueryBody::Nested(query) => of_query(query, see),
        QueryBody::Values(_) | QueryBody::Table(_) => {}
    }
}

/// Sets what the hints set; none: they set nothing.
fn set_hinted<B: Backend>(
    session: &mut Session<B>,
    statement: &Statement<'_>,
    text: &[u8],
) -> Option<Before> {
    let mut hints: Vec<Hint> = Vec::new();
    each_hint_text(statement, &mut |span| {
        let read = syntax::hints::parse(text, span).list.into_iter();
        hints.extend(read.filter(|hint| hint.kind == HintKind::Variable));
    });
    if hints.is_empty() {
        return None;
    }
    let mut before = Before::default();
    let mut set_names: Vec<String> = Vec::new();
    for hint in &hints {
        let (Some(name), Some(value)) = (hint.names.first(), &hint.value) else { continue };
        let Some(id) = by_name(name.as_bytes()) else {
            warn(session, ER_UNRESOLVED_HINT_NAME.warning(&[&format!("'{name}'"), &hint.name]));
            continue;
        };
        let name = id.definition().name;
        if !HINTABLE.contains(&name) {
            warn(session, ER_NOT_HINT_UPDATABLE_VARIABLE.warning(&[&format!("'{name}'")]));
            continue;
        }
        // Binding warns of one that is set twice.
        if set_names.iter().any(|other| other == name) {
            continue;
        }
        set_names.push(name.to_owned());
        if let Err(error) = set_one(session, id, value, &mut before) {
            let level = service::Level::Warning;
            let (number, state) = (error.number, error.state);
            warn(session, Diagnostic { level, number, state, message: error.message.clone() });
        }
    }
    Some(before)
}

fn warn<B: Backend>(session: &mut Session<B>, warning: Diagnostic) {
    session.diagnostics.push(warning, session.variables.settings().diagnostics);
}

fn set_one<B: Backend>(
    session: &mut Session<B>,
    id: VariableId,
    value: &HintValue,
    before: &mut Before,
) -> Result<(), Box<service::SqlError>> {
    super::access::require_variable(&session.account, id.definition().name, VarScope::Session)?;
    let value = value_of(value);
    match set::hinted_setting(session, id, &value)? {
        set::HintedSetting::Settings(settings) => {
            for (id, _) in &settings {
                before.settings.push((*id, session.variables.get(*id).clone()));
            }
            session.variables.set(settings);
        }
        set::HintedSetting::Timestamp(micros) => {
            before.timestamp = Some(session.functions.fixed_timestamp());
            session.functions.fix_timestamp(micros);
        }
        set::HintedSetting::InsertId(id) => {
            before.insert_id = Some(session.results.next_insert_id());
            session.results.set_next_insert_id(id);
        }
    }
    Ok(())
}

/// The value as SET would compute it.
fn value_of(value: &HintValue) -> Value {
    let text = |text: &str| Value::string(text.as_bytes(), CollationId::UTF8MB4_0900_AI_CI);
    match value {
        HintValue::Text(written) => text(written),
        HintValue::Number(written) => {
            let digits = written.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
            let factor: u64 = match written.as_bytes().last().map(u8::to_ascii_uppercase) {
                Some(b'K') => 1 << 10,
                Some(b'M') => 1 << 20,
                Some(b'G') => 1 << 30,
                _ => 1,
            };
            let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
            match number {
                Some(number) => i64::try_from(number).map_or(Value::UInt(number), Value::Int),
                None => text(written),
            }
        }
        HintValue::Word(written) => match written.parse::<f64>() {
            Ok(number) if written.starts_with(|first: char| first.is_ascii_digit()) => Value::Double(number),
            _ => text(written),
        },
    }
}

#[cold]
fn set_back<B: Backend>(session: &mut Session<B>, before: Before) {
    if !before.settings.is_empty() {
        // The first value that was noted of a variable is its own.
        session.variables.set(before.settings.into_iter().rev());
    }
    if let Some(id) = before.insert_id {
        session.results.set_next_insert_id(id.unwrap_or(0));
    }
    if let Some(micros) = before.timestamp {
        session.functions.fix_timestamp(micros);
    }
}
