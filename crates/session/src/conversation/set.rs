//! SET: user variables, system variables, NAMES, CHARACTER SET, TRANSACTION.
//!
//! All values of a statement are computed and checked before the first variable changes, as in MySQL: a SET with one
//! wrong item changes nothing. User variables behind the first item are computed in their turn: they may read one set
//! before them.

use service::error::{
    ER_CANT_CHANGE_TX_CHARACTERISTICS, ER_CANT_SET_GTID_PURGED_DUE_SETS_CONSTRAINTS,
    ER_COLLATION_CHARSET_MISMATCH, ER_GLOBAL_VARIABLE, ER_INCORRECT_GLOBAL_LOCAL_VAR, ER_LOCAL_VARIABLE,
    ER_OPTION_PREVENTS_STATEMENT, ER_UNKNOWN_CHARACTER_SET, ER_UNKNOWN_COLLATION, ER_UNKNOWN_SYSTEM_VARIABLE,
    ER_UNKNOWN_TIME_ZONE, ER_VAR_DOES_NOT_EXIST, ER_VARIABLE_IS_READONLY,
    ER_VARIABLE_NOT_SETTABLE_IN_TRANSACTION, ER_WARN_DEPRECATED_SYNTAX,
    ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT, ER_WARN_DEPRECATED_WITH_NOTE, ER_WRONG_TYPE_FOR_VAR,
    ER_WRONG_VALUE_FOR_VAR,
};
use service::{Diagnostic, Outcome, Reply, SqlError};
use syntax::ast::{self, Expr, ExprKind, Literal, ResetPersist, SetItem, VarScope};
use types::Value;
use types::charset::Charset;
use types::collation::CollationId;

use super::current_account::CurrentAccount;
use super::names::name_text;
use super::run;
use super::{Session, access};
use crate::backend::Backend;
use crate::core::Core;
use crate::status::StatementKind;
use crate::traces::Traces;
use crate::variables::definition::{Definition, Deprecation, Kind, known};
use crate::variables::gtid::GtidSet;
use crate::variables::isolation::Isolation;
use crate::variables::{Access, Scope, Setting, VariableId, assign, by_name};

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// One checked change, not yet carried out.
enum Change {
    User(Vec<u8>, Value),
    Session(VariableId, Setting),
    Global(VariableId, Setting, bool),
    /// Kept for later starts.
    PersistOnly(VariableId, String),
    NextIsolation(Isolation),
    NextReadOnly(bool),
    Insert(InsertId),
}

/// Session variables that are not settings but state.
enum InsertId {
    Last(u64),
    Next(u64),
    Timestamp(Option<i64>),
    RandomSeed(bool, u64),
}

fn check_names(charset: Option<&[u8]>, collation: Option<&[u8]>, changes: &mut Vec<Change>) -> Result<()> {
    let charset = client_charset(charset)?;
    let collation = match collation {
        None => charset.default_collation(),
        Some(name) => {
            let text = name_text(name);
            let collation =
                CollationId::from_name(&text).ok_or_else(|| ER_UNKNOWN_COLLATION.with(&[&text]))?;
            if collation.charset() != charset {
                return Err(ER_COLLATION_CHARSET_MISMATCH.with(&[&collation.name(), &charset.name()]));
            }
            collation
        }
    };
    for id in
        [known::character_set_client(), known::character_set_connection(), known::character_set_results()]
    {
        changes.push(Change::Session(id, Setting::text(charset.name())));
    }
    changes.push(Change::Session(known::collation_connection(), Setting::text(collation.name())));
    Ok(())
}

fn check_transaction(
    account: &CurrentAccount,
    is_in_transaction: bool,
    scope: VarScope,
    isolation: Option<ast::Isolation>,
    read_only: Option<bool>,
    changes: &mut Vec<Change>,
) -> Result<()> {
    let isolation = isolation.map(|level| match level {
        ast::Isolation::ReadUncommitted => Isolation::ReadUncommitted,
        ast::Isolation::ReadCommitted => Isolation::ReadCommitted,
        ast::Isolation::RepeatableRead => Isolation::RepeatableRead,
        ast::Isolation::Serializable => Isolation::Serializable,
    });
    match scope {
        VarScope::Global | VarScope::Persist | VarScope::PersistOnly => {
            access::require_variable(account, "transaction_isolation", scope)?;
            let level = isolation.map(|level| (known::transaction_isolation(), Setting::text(level.name())));
            let mode = read_only.map(|on| (known::transaction_read_only(), Setting::Boolean(on)));
            changes.extend(
                [level, mode].into_iter().flatten().map(|(id, setting)| Change::Global(id, setting, false)),
            );
        }
        VarScope::Session => {
            let level = isolation.map(|level| (known::transaction_isolation(), Setting::text(level.name())));
            let mode = read_only.map(|on| (known::transaction_read_only(), Setting::Boolean(on)));
            changes.extend(
                [level, mode].into_iter().flatten().map(|(id, setting)| Change::Session(id, setting)),
            );
        }
        VarScope::Default => {
            if is_in_transaction {
                return Err(ER_CANT_CHANGE_TX_CHARACTERISTICS.bare());
            }
            changes.extend(isolation.map(Change::NextIsolation));
            changes.extend(read_only.map(Change::NextReadOnly));
        }
    }
    Ok(())
}

/// What setting a variable that MySQL wants to be rid of warns of. `is_off`: it is switched off.
fn deprecation_warning(definition: &Definition, is_off: bool) -> Option<Diagnostic> {
    let name = definition.name;
    Some(match (definition.deprecation?, definition.present_name) {
        (Deprecation::Variable, Some(present)) => ER_WARN_DEPRECATED_SYNTAX.warning_saying(format!(
            "'@@{name}' is deprecated and will be removed in a future release. Please use {present} instead."
        )),
        (Deprecation::Variable, None) => ER_WARN_DEPRECATED_SYNTAX
            .warning_saying(format!("'@@{name}' is deprecated and will be removed in a future release.")),
        (Deprecation::Off, _) if is_off => ER_WARN_DEPRECATED_SYNTAX
            .warning_saying(format!("'{name}' is deprecated and will be removed in a future release.")),
        (Deprecation::Off, _) => return None,
        (Deprecation::Updating, _) => ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT.warning_saying(format!(
            "Updating '{name}' is deprecated. It will be made read-only in a future release."
        )),
        (Deprecation::OffWithNote(note), _) if is_off => {
            ER_WARN_DEPRECATED_WITH_NOTE.warning(&[&name, &note])
        }
        (Deprecation::OffWithNote(_), _) => ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT.warning(&[&name]),
    })
}

fn check_system<B: Backend>(
    session: &mut Session<B>,
    var: &ast::SysVar<'_>,
    value: Option<&Expr<'_>>,
    changes: &mut Vec<Change>,
) -> Result<()> {
    let name = name_text(var.name.text);
    let id = by_name(var.name.text).filter(|_| var.component.is_none());
    let Some(id) = id else { return Err(ER_UNKNOWN_SYSTEM_VARIABLE.with(&[&name])) };
    let definition = id.definition();
    let global = matches!(var.scope, VarScope::Global | VarScope::Persist | VarScope::PersistOnly);
    let is_read_only = definition.access == Access::ReadOnly;
    if matches!(var.scope, VarScope::Persist | VarScope::PersistOnly)
        && !definition.is_persistable
        && (var.scope == VarScope::PersistOnly || !is_read_only)
    {
        let kind = if is_read_only { "non persistent read only" } else { "non persistent" };
        return Err(ER_INCORRECT_GLOBAL_LOCAL_VAR.with(&[&definition.name, &kind]));
    }
    if is_read_only && var.scope != VarScope::PersistOnly {
        return Err(ER_INCORRECT_GLOBAL_LOCAL_VAR.with(&[&definition.name, &"read only"]));
    }
    match (definition.scope, global) {
        (Scope::Global, false) => return Err(ER_GLOBAL_VARIABLE.with(&[&definition.name])),
        (Scope::Session, true) => return Err(ER_LOCAL_VARIABLE.with(&[&definition.name])),
        _ => {}
    }
    access::require_variable(&session.account, definition.name, var.scope)?;
    // A bare word (`SET sql_mode = ANSI`) is a string.
    let value = match value.map(|expr| (expr, expr.kind)) {
        None => None,
        Some((_, ExprKind::Column(column)))
            if column.table.is_none() && session.routines.variable(column.name.text).is_none() =>
        {
            Some(Value::string(column.name.text, CollationId::UTF8MB4_0900_AI_CI))
        }
        Some((expr, _)) => Some(evaluate(session, expr)?),
    };
    if var.scope == VarScope::PersistOnly {
        changes.push(Change::PersistOnly(id, persisted_text(session, id, value.as_ref())?));
        return Ok(());
    }
    if let Some(change) = state_variable(id, value.as_ref())? {
        changes.push(change);
        return Ok(());
    }
    let mut clipped = Vec::new();
    let setting = match &value {
        None if global => definition.default.clone(),
        None if definition.access == Access::GlobalOnly => return Err(only_global(definition.name)),
        None => session.shared.core.globals().get(id).clone(),
        Some(value) => {
            let mut warnings = Vec::new();
            if definition.access == Access::GlobalOnly && !global {
                assign::setting_of(definition, &definition.default, value, &mut warnings)?;
                return Err(only_global(definition.name));
            }
            let current = if global {
                session.shared.core.globals().get(id).clone()
            } else {
                session.variables.get(id).clone()
            };
            let setting = assign::setting_of(definition, &current, value, &mut warnings)?;
            clipped = warnings;
            setting
        }
    };
    let warned = deprecation_warning(definition, setting == Setting::Boolean(false));
    let warnings: Vec<Diagnostic> = warned.into_iter().chain(clipped).collect();
    session.diagnostics.extend(warnings, session.variables.settings().diagnostics);
    check_value(session, id, &setting, global)?;
    if id == known::event_scheduler() {
        check_event_scheduler(&session.shared.core, &setting, value.as_ref())?;
    }
    if id == known::character_set_client()
        && let Setting::Text(text) = &setting
        && Charset::from_name(text).is_some_and(|charset| !charset.is_for_clients())
    {
        return Err(ER_WRONG_VALUE_FOR_VAR.with(&[&definition.name, text]));
    }
    if id == known::gtid_purged() {
        return check_gtid_purged(&session.shared.core, setting, changes);
    }
    let persist = matches!(var.scope, VarScope::Persist);
    changes.push(if global { Change::Global(id, setting, persist) } else { Change::Session(id, setting) });
    // A character set brings its default collation along, and a collation its set; a bound for joins is enforced.
    let companion = companion_of(id, changes.last());
    if let Some((other, setting)) = companion {
        changes.push(if global {
            Change::Global(other, setting, persist)
        } else {
            Change::Session(other, setting)
        });
    }
    Ok(())
}

/// The text that PERSIST_ONLY keeps of a value. As in MySQL only its type is checked: whether it can be used is seen at the next start.
///
/// # Errors
/// 1232; 1231 for what is neither ON nor OFF.
fn persisted_text<B: Backend>(session: &Session<B>, id: VariableId, value: Option<&Value>) -> Result<String> {
    let definition = id.definition();
    let Some(value) = value else { return Ok(definition.default.shown()) };
    let globals = session.shared.core.globals();
    let setting = assign::setting_of(definition, globals.get(id), value, &mut Vec::new());
    match (setting, value) {
        (Ok(setting), _) if definition.kind == Kind::Boolean => Ok(setting.shown()),
        (Err(error), _)
            if definition.kind == Kind::Boolean || error.number == ER_WRONG_TYPE_FOR_VAR.number =>
        {
            Err(error)
        }
        (Ok(setting), Value::Null) => Ok(setting.shown()),
        (Err(error), Value::Null) => Err(error),
        (_, value) => Ok(assign::shown(value)),
    }
}

/// RESET PERSIST.
///
/// # Errors
/// 3615 for a variable of which nothing is kept; 1227 and 3630.
pub(super) fn reset_persist<B: Backend>(session: &mut Session<B>, reset: &ResetPersist<'_>) -> Result<()> {
    let catalog = session.catalog();
    let mut names: Vec<Box<str>> = match &reset.variable {
        None => catalog.persisted_variables.keys().cloned().collect(),
        Some(variable) => {
            let name = name_text(variable.name.text);
            let name = match &variable.component {
                Some(component) => format!("{}.{name}", name_text(component.text)),
                None => name,
            };
            let lower = name.to_ascii_lowercase();
            if !catalog.persisted_variables.contains_key(&*lower) {
                if !reset.if_exists {
                    return Err(ER_VAR_DOES_NOT_EXIST.with(&[&name]));
                }
                let warning = ER_VAR_DOES_NOT_EXIST.warning(&[&name]);
                session.diagnostics.push(warning, session.variables.settings().diagnostics);
                return Ok(());
            }
            vec![lower.into()]
        }
    };
    let is_read_only =
        |name: &str| by_name(name.as_bytes()).is_some_and(|id| id.definition().access == Access::ReadOnly);
    // What read-only ones need is asked last.
    names.sort_unstable_by_key(|name| is_read_only(name));
    for name in &names {
        let scope = if is_read_only(name) { VarScope::PersistOnly } else { VarScope::Persist };
        access::require_variable(&session.account, name, scope)?;
    }
    session.shared.backend.forget_variables(&names)
}

/// What a hint sets a variable to.
pub(super) enum HintedSetting {
    /// The variable, and the one that follows it.
    Settings(Vec<(VariableId, Setting)>),
    /// The time that the statement has; none: that of the clock.
    Timestamp(Option<i64>),
    /// The number of the next row.
    InsertId(u64),
}

/// Checks the value that SET_VAR assigns as SET checks it.
///
/// # Errors
/// Those of SET, which a hint warns of.
pub(super) fn hinted_setting<B: Backend>(
    session: &mut Session<B>,
    id: VariableId,
    value: &Value,
) -> Result<HintedSetting> {
    match state_variable(id, Some(value))? {
        Some(Change::Insert(InsertId::Timestamp(micros))) => return Ok(HintedSetting::Timestamp(micros)),
        Some(Change::Insert(InsertId::Next(next))) => return Ok(HintedSetting::InsertId(next)),
        Some(_) | None => {}
    }
    let mut warnings = Vec::new();
    let setting = assign::setting_of(id.definition(), session.variables.get(id), value, &mut warnings)?;
    session.diagnostics.extend(warnings, session.variables.settings().diagnostics);
    check_value(session, id, &setting, false)?;
    let change = Change::Session(id, setting.clone());
    let companion = companion_of(id, Some(&change));
    Ok(HintedSetting::Settings(std::iter::once((id, setting)).chain(companion).collect()))
}

/// What a value asks for beyond its type.
fn check_value<B: Backend>(
    session: &Session<B>,
    id: VariableId,
    setting: &Setting,
    global: bool,
) -> Result<()> {
    if id == known::time_zone() {
        check_time_zone(setting)?;
    }
    if id == known::xa_detach_on_prepare() && !global && session.tables.transaction.is_open() {
        return Err(ER_VARIABLE_NOT_SETTABLE_IN_TRANSACTION.with(&[&id.definition().name]));
    }
    let is_encryption = id == known::default_table_encryption() && !global;
    if is_encryption && setting != session.shared.core.globals().get(id) {
        access::require_encryption(&session.account)?;
    }
    Ok(())
}

/// The value of an expression outside any query. Literals, which SET has mostly, need no planner.
pub(super) fn evaluate<B: Backend>(session: &mut Session<B>, expr: &Expr<'_>) -> Result<Value> {
    if let Some(value) = literal(&expr.kind, session.variables.settings().connection_collation) {
        return Ok(value);
    }
    run::evaluate_query(session, expr)
}

fn literal(kind: &ExprKind<'_>, connection_collation: CollationId) -> Option<Value> {
    match *kind {
        ExprKind::Literal(Literal::Null) => Some(Value::Null),
        ExprKind::Literal(Literal::True) => Some(Value::Int(1)),
        ExprKind::Literal(Literal::False) => Some(Value::Int(0)),
        ExprKind::Literal(Literal::Number(ast::NumberKind::Integer, digits)) => {
            let digits = std::str::from_utf8(digits).ok()?;
            digits.parse().map(Value::Int).ok().or_else(|| digits.parse().map(Value::UInt).ok())
        }
        ExprKind::Literal(Literal::String { value, charset: None }) => {
            Some(Value::string_literal(value, connection_collation))
        }
        _ => None,
    }
}

pub(super) fn set<B: Backend>(
    session: &mut Session<B>,
    items: &[SetItem<'_>],
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::SetOption);
    let mut changes = Vec::with_capacity(items.len());
    // Every value is computed before the first variable changes.
    items.iter().try_for_each(|item| check_item(session, item, &mut changes))?;
    let mut own = Vec::new();
    let carried_out = changes.into_iter().try_for_each(|change| carry_out(session, change, &mut own));
    let clears_traces = own.iter().any(|(id, _)| Traces::is_cleared_by(*id));
    session.variables.set(own);
    if clears_traces {
        session.traces.clear();
    }
    session.note_tracing();
    carried_out?;
    session.send_ok(reply)
}

fn check_item<B: Backend>(
    session: &mut Session<B>,
    item: &SetItem<'_>,
    changes: &mut Vec<Change>,
) -> Result<()> {
    match *item {
        SetItem::UserVar { name, value } => {
            let value = evaluate(session, &value)?;
            // The name compares without case.
            changes.push(Change::User(name.to_ascii_lowercase(), value));
        }
        SetItem::SystemVar { var, value } => check_system(session, &var, value.as_ref(), changes)?,
        SetItem::Names { charset, collation } => check_names(charset, collation, changes)?,
        SetItem::Charset(charset) => {
            let charset = client_charset(charset)?;
            let database = session.variables.get(known::collation_database()).clone();
            let database_charset = session.variables.get(known::character_set_database()).clone();
            changes.push(Change::Session(known::character_set_client(), Setting::text(charset.name())));
            changes.push(Change::Session(known::character_set_results(), Setting::text(charset.name())));
            changes.push(Change::Session(known::character_set_connection(), database_charset));
            changes.push(Change::Session(known::collation_connection(), database));
        }
        SetItem::Transaction { scope, isolation, read_only } => {
            let is_open = session.tables.transaction.is_open();
            check_transaction(&session.account, is_open, scope, isolation, read_only, changes)?;
        }
    }
    Ok(())
}

/// `last_insert_id`, `insert_id`, `timestamp`, `rand_seed1/2`: state, not settings.
fn state_variable(id: VariableId, value: Option<&Value>) -> Result<Option<Change>> {
    let definition = id.definition();
    let number = |value: &Value| match *value {
        Value::Int(number) => Ok(u64::try_from(number).unwrap_or(0)),
        Value::UInt(number) => Ok(number),
        _ => Err(ER_WRONG_TYPE_FOR_VAR.with(&[&definition.name])),
    };
    let state = if id == known::last_insert_id() || id == known::identity() {
        InsertId::Last(value.map_or(Ok(0), number)?)
    } else if id == known::insert_id() {
        InsertId::Next(value.map_or(Ok(0), number)?)
    } else if id == known::rand_seed1() || id == known::rand_seed2() {
        InsertId::RandomSeed(id == known::rand_seed2(), value.map_or(Ok(0), number)?)
    } else if id == known::timestamp() {
        #[allow(clippy::cast_possible_truncation, reason = "seconds since 1970 in microseconds")]
        let micros = match value {
            None | Some(Value::Int(0) | Value::UInt(0)) => None,
            Some(Value::Double(seconds)) => Some((seconds * 1e6) as i64),
            Some(Value::Decimal(seconds)) => Some((seconds.to_f64() * 1e6) as i64),
            Some(value) => Some(i64::try_from(number(value)?).unwrap_or(i64::MAX).saturating_mul(1_000_000)),
        };
        InsertId::Timestamp(micros)
    } else {
        return Ok(None);
    };
    Ok(Some(Change::Insert(state)))
}

/// SET GLOBAL gtid_purged: what a dump brings along is added to what is known. It outlives a restart.
fn check_gtid_purged(core: &Core, setting: Setting, changes: &mut Vec<Change>) -> Result<()> {
    let Setting::Text(text) = setting else { return Ok(()) };
    let wrong = |_| ER_WRONG_VALUE_FOR_VAR.with(&[&"gtid_purged", &text]);
    let given = GtidSet::parse(text.strip_prefix('+').unwrap_or(&text)).map_err(wrong)?;
    if given.is_empty() {
        return Ok(());
    }
    let globals = core.globals();
    let known = GtidSet::parse(globals.text(known::gtid_executed())).map_err(wrong)?;
    if text.starts_with('+') {
        if known.intersects(&given) {
            let why = "the added gtid set must not overlap with @@GLOBAL.GTID_EXECUTED";
            return Err(ER_CANT_SET_GTID_PURGED_DUE_SETS_CONSTRAINTS.with(&[&why]));
        }
    } else if !given.contains(&known) {
        let why = "the new value must be a superset of the old value";
        return Err(ER_CANT_SET_GTID_PURGED_DUE_SETS_CONSTRAINTS.with(&[&why]));
    }
    let all = Setting::text(&known.union(&given).to_string());
    changes.push(Change::Global(known::gtid_executed(), all.clone(), false));
    changes.push(Change::Global(known::gtid_purged(), all, true));
    Ok(())
}

/// RESET BINARY LOGS AND GTIDS.
pub(super) fn forget_gtids<B: Backend>(session: &mut Session<B>) -> Result<()> {
    carry_out(session, Change::Global(known::gtid_executed(), Setting::text(""), false), &mut Vec::new())?;
    carry_out(session, Change::Global(known::gtid_purged(), Setting::text(""), true), &mut Vec::new())
}

/// `own` takes the changes of session variables, which happen together.
fn carry_out<B: Backend>(
    session: &mut Session<B>,
    change: Change,
    own: &mut Vec<(VariableId, Setting)>,
) -> Result<()> {
    match change {
        Change::User(name, value) => {
            session.user_variables.insert(name, value);
        }
        Change::Session(id, setting) => {
            let autocommit_on = id == known::autocommit() && setting == Setting::Boolean(true);
            if autocommit_on && !session.variables.settings().autocommit {
                // Switching it on ends the transaction that runs.
                session.tables.commit(&session.shared, &session.variables)?;
            }
            own.push((id, setting));
        }
        Change::Global(id, setting, persist) => {
            if persist {
                session.shared.backend.persist_variable(id.definition().name, &setting.shown())?;
            }
            session.shared.core.set_global(id, setting);
        }
        Change::PersistOnly(id, text) => {
            session.shared.backend.persist_variable(id.definition().name, &text)?;
        }
        Change::NextIsolation(isolation) => session.tables.transaction.set_next_isolation(isolation),
        Change::NextReadOnly(read_only) => session.tables.transaction.set_next_read_only(read_only),
        Change::Insert(InsertId::Last(id)) => session.results.set_last_insert_id(id),
        Change::Insert(InsertId::Next(id)) => session.results.set_next_insert_id(id),
        Change::Insert(InsertId::Timestamp(micros)) => session.functions.fix_timestamp(micros),
        Change::Insert(InsertId::RandomSeed(second, seed)) => session.functions.seed_random(second, seed),
    }
    Ok(())
}

fn client_charset(name: Option<&[u8]>) -> Result<Charset> {
    let Some(name) = name else { return Ok(Charset::Utf8mb4) };
    let text = name_text(name);
    let charset = Charset::from_name(&text).ok_or_else(|| ER_UNKNOWN_CHARACTER_SET.with(&[&text]))?;
    if !charset.is_for_clients() {
        return Err(ER_WRONG_VALUE_FOR_VAR.with(&[&"character_set_client", &text]));
    }
    Ok(charset)
}

/// A value as messages show it.
pub(super) fn shown_value(value: &Value) -> String {
    if value.is_null() {
        return "NULL".to_owned();
    }
    let (data_type, column) = types::convert::value_column(value);
    let mut text = Vec::new();
    types::convert::write_text(column.cell(0), &data_type, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// SET GLOBAL event_scheduler: DISABLED is for the start of a server alone, and stays.
fn check_event_scheduler(core: &Core, setting: &Setting, value: Option<&Value>) -> Result<()> {
    let is_disabled = |setting: &Setting| setting.shown().eq_ignore_ascii_case("DISABLED");
    if is_disabled(setting) {
        let written = value.map_or_else(|| setting.shown(), shown_value);
        return Err(ER_WRONG_VALUE_FOR_VAR.with(&[&"event_scheduler", &written]));
    }
    if is_disabled(core.globals().get(known::event_scheduler())) {
        let option = "--event-scheduler=DISABLED or --skip-grant-tables";
        return Err(ER_OPTION_PREVENTS_STATEMENT.with(&[&option]));
    }
    Ok(())
}

fn check_time_zone(setting: &Setting) -> Result<()> {
    let Setting::Text(text) = setting else { return Ok(()) };
    if text.eq_ignore_ascii_case("SYSTEM") {
        return Ok(());
    }
    if types::temporal::zone::TimeZone::parse(text).is_none() {
        return Err(ER_UNKNOWN_TIME_ZONE.with(&[text]));
    }
    Ok(())
}

/// The variable that follows when a character set or a collation changes.
fn companion_of(id: VariableId, change: Option<&Change>) -> Option<(VariableId, Setting)> {
    if id == known::max_join_size()
        && let Some(Change::Session(_, setting) | Change::Global(_, setting, _)) = change
    {
        let is_unbounded = *setting == Setting::Integer(i128::from(u64::MAX));
        return Some((known::sql_big_selects(), Setting::Boolean(is_unbounded)));
    }
    let Some(Change::Session(_, Setting::Text(text)) | Change::Global(_, Setting::Text(text), _)) = change
    else {
        return None;
    };
    let sets = [
        (known::character_set_connection(), known::collation_connection()),
        (known::character_set_server(), known::collation_server()),
        (known::character_set_database(), known::collation_database()),
    ];
    for (charset, collation) in sets {
        if id == charset {
            return Some((collation, Setting::text(Charset::from_name(text)?.default_collation().name())));
        }
        if id == collation {
            return Some((charset, Setting::text(CollationId::from_name(text)?.charset().name())));
        }
    }
    None
}

/// 1621.
#[cold]
fn only_global(name: &str) -> Box<SqlError> {
    ER_VARIABLE_IS_READONLY.with(&[&"SESSION", &name, &"GLOBAL"])
}
