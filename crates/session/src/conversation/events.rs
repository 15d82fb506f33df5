//! CREATE, ALTER and DROP EVENT, and what SHOW lists of events. Who runs them: [`super::event_run`].
//!
//! ```text
//! CREATE EVENT   the schedule's expressions are computed once, in the session's time zone; the body is compiled for its errors
//!                a moment that is past: a note, and the event is not kept (1588), or kept disabled (1544)
//! ALTER EVENT    what is not said stays; a new schedule brings the session's time zone, a new body its modes and character sets
//! ```
//!
//! Invariant: what is stored has been compiled, and its schedule has a moment or a positive interval.

use std::sync::Arc;

use catalog::{
    EventDefinition, EventInterval, EventSchedule, EventStatus, EventUnit, LastExecuted, Privileges,
};
use service::error as e;
use service::{Outcome, Reply, SqlError};
use syntax::ast::{self, AlterEvent, CreateEvent, Expr, IntervalUnit, ObjectName, RoutineStatement};
use types::collation::CollationId;
use types::temporal::DateTime;
use types::temporal::parse::{DateMode, datetime_from_number, parse_datetime};
use types::temporal::zone::UNIX_TIME_MICROS_MAX;
use types::{DataType, TypeKind, Value};

use super::Session;
use super::access::AccountAdmin;
use super::listing::{Listing, text};
use super::names::Names;
use super::routine::{define_program, definer, require_definer};
use super::run;
use super::set::shown_value;
use crate::backend::Backend;
use crate::errors::not_supported;
use crate::privilege::{self, SessionAccount};
use crate::routine::compile;
use crate::status::StatementKind;
use crate::system_schemas::events::ShownSchedule;
use crate::system_schemas::rows::Cell;
use crate::variables::definition::known;
use crate::variables::sql_mode::SqlModes;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// The most that an interval counts of its smallest unit.
const INTERVAL_MAX: i64 = 1_000_000_000;

fn unit_of(unit: IntervalUnit) -> Result<EventUnit> {
    let found = EventUnit::ALL.into_iter().find(|candidate| candidate.name() == unit.name());
    found.ok_or_else(|| not_supported("MICROSECOND"))
}

fn status_of(status: ast::EventStatus) -> EventStatus {
    match status {
        ast::EventStatus::Enabled => EventStatus::Enabled,
        ast::EventStatus::Disabled => EventStatus::Disabled,
        ast::EventStatus::ReplicaSideDisabled => EventStatus::ReplicaSideDisabled,
    }
}

/// The moment that an expression of a schedule is, in the session's time zone, without a fraction; `None`: it is none that a schedule can have.
fn moment<B: Backend>(session: &mut Session<B>, expr: &Expr<'_>) -> Result<(Option<i64>, Value)> {
    let value = run::evaluate_query(session, expr)?;
    let mode = DateMode { no_zero_in_date: true, no_zero_date: true, ..DateMode::default() };
    let local: Option<DateTime> = match &value {
        Value::Date(value) | Value::DateTime(value) => Some(*value),
        Value::Int(number) => datetime_from_number(*number, mode).ok().map(|(value, _)| value),
        Value::Bytes { bytes, .. } => {
            let parsed = parse_datetime(bytes, mode).ok().filter(|parsed| !parsed.truncated);
            if parsed.is_none() {
                let text = String::from_utf8_lossy(bytes);
                let warning =
                    e::ER_TRUNCATED_WRONG_VALUE.warning_saying(format!("Incorrect datetime value: '{text}'"));
                note(session, warning);
            }
            parsed.map(|parsed| parsed.value)
        }
        _ => None,
    };
    let zone = &session.variables.settings().time_zone;
    let micros = local.filter(|local| *local != DateTime::ZERO).map(|local| zone.to_utc(local.truncate(0)));
    Ok((micros.filter(|micros| (1_000_000..=UNIX_TIME_MICROS_MAX).contains(micros)), value))
}

/// The interval of EVERY.
///
/// # Errors
/// 1235, 1525, 1542.
fn interval<B: Backend>(
    session: &mut Session<B>,
    expr: &Expr<'_>,
    unit: IntervalUnit,
) -> Result<EventInterval> {
    let unit = unit_of(unit)?;
    let value = run::evaluate_query(session, expr)?;
    if value.is_null() {
        return Err(e::ER_WRONG_VALUE.with(&[&"INTERVAL", &"NULL"]));
    }
    let parts = unit.parts();
    let text = shown_value(&value);
    let count = if parts.len() == 1 { whole_number(session, &value) } else { compound(&text, parts) };
    match count {
        Some(count) if (1..=INTERVAL_MAX).contains(&count) => Ok(EventInterval { count, unit }),
        _ => Err(e::ER_EVENT_INTERVAL_NOT_POSITIVE_OR_TOO_BIG.bare()),
    }
}

/// The value of a simple unit: rounded, of a text the number that it begins with.
fn whole_number<B: Backend>(session: &mut Session<B>, value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::UInt(number) => i64::try_from(*number).ok(),
        Value::Decimal(number) => number.round(0).to_i64().ok(),
        #[allow(clippy::cast_possible_truncation, reason = "what is too big is refused")]
        Value::Double(number) => Some(number.round_ties_even() as i64),
        Value::Bytes { bytes, .. } => {
            let parsed = types::Decimal::parse(bytes);
            if parsed.consumed < bytes.len() || parsed.consumed == 0 {
                let text = String::from_utf8_lossy(bytes);
                let warning = e::ER_TRUNCATED_WRONG_VALUE.warning(&[&"DECIMAL", &text]);
                session.diagnostics.push(warning, session.variables.settings().diagnostics);
            }
            parsed.value.round(0).to_i64().ok()
        }
        _ => None,
    }
}

/// The value of a compound unit: as many numbers as it has parts, the last ones if there are fewer.
fn compound(text: &str, parts: &[i64]) -> Option<i64> {
    let is_negative = text.trim_start().starts_with('-');
    let numbers: Vec<i64> = text
        .split(|character: char| !character.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map(|digits| digits.parse().ok())
        .collect::<Option<_>>()?;
    if is_negative || numbers.len() > parts.len() {
        return None;
    }
    let first = parts.len() - numbers.len();
    let mut count = 0i64;
    for (position, number) in numbers.iter().enumerate() {
        let one: i64 = parts[first + position..].iter().product();
        count = count.checked_add(number.checked_mul(one)?)?;
    }
    Some(count)
}

/// A schedule, with its moments as of now.
///
/// # Errors
/// 1235, 1525, 1542, 1543.
fn schedule<B: Backend>(
    session: &mut Session<B>,
    written: &ast::EventSchedule<'_>,
    now: i64,
) -> Result<EventSchedule> {
    let wrong = |word: &str, value: &Value| e::ER_WRONG_VALUE.with(&[&word, &shown_value(value)]);
    match written {
        ast::EventSchedule::At(expr) => {
            let (at, value) = moment(session, expr)?;
            at.map(EventSchedule::At).ok_or_else(|| wrong("AT", &value))
        }
        ast::EventSchedule::Every { value, unit, starts, ends } => {
            let interval = interval(session, value, *unit)?;
            let starts_micros = match starts {
                Some(starts) => {
                    let (starts, value) = moment(session, starts)?;
                    starts.ok_or_else(|| wrong("STARTS", &value))?
                }
                None => now - now.rem_euclid(1_000_000),
            };
            let ends_micros = match ends {
                Some(ends) => {
                    let ends = moment(session, ends)?.0.filter(|ends| *ends > starts_micros);
                    Some(ends.ok_or_else(|| e::ER_EVENT_ENDS_BEFORE_STARTS.bare())?)
                }
                None => None,
            };
            Ok(EventSchedule::Every { interval, starts_micros, ends_micros })
        }
    }
}

/// Whether no time of the schedule comes any more.
fn is_past(schedule: &EventSchedule, now: i64) -> bool {
    match schedule {
        EventSchedule::At(at) => *at < now - now.rem_euclid(1_000_000),
        EventSchedule::Every { ends_micros, .. } => ends_micros.is_some_and(|ends| ends < now),
    }
}

/// Compiles a body, of which warnings may be said.
fn check_body<B: Backend>(
    session: &mut Session<B>,
    body: &RoutineStatement<'_>,
    collation: CollationId,
    sql: &[u8],
) -> Result<Arc<str>> {
    let mode = session.variables.settings().sql_mode;
    let settings = compile::Settings { text: sql, collation, strict: mode.is_strict() };
    let mut warnings = Vec::new();
    compile::compile_event(body, &settings, &mut warnings)?;
    session.diagnostics.extend(warnings, session.variables.settings().diagnostics);
    let body = sql.get(body.span.start as usize..body.span.end as usize).unwrap_or_default();
    Ok(String::from_utf8_lossy(body).into())
}

/// Refuses what says an event of a body, inside another program or under LOCK TABLES.
fn require_outside<B: Backend>(session: &Session<B>) -> Outcome {
    match session.tables.locks.has_tables() {
        true => Err(e::ER_LOCK_OR_ACTIVE_TRANSACTION.bare()),
        false => Ok(()),
    }
}

/// Warns of DISABLE ON SLAVE.
fn warn_of_words<B: Backend>(session: &mut Session<B>, clauses: &ast::EventClauses<'_>) {
    if clauses.says_slave {
        let event = "<CREATE|ALTER> EVENT ... DISABLE ON";
        let (word, present) = (format!("{event} SLAVE"), format!("{event} REPLICA"));
        note(session, e::ER_WARN_DEPRECATED_SYNTAX.warning(&[&word, &present]));
    }
}

/// Schema and name of a new event.
///
/// # Errors
/// 1046, 1044, 1049, 1458, 1059.
fn new_name<B: Backend>(
    session: &Session<B>,
    name: &ObjectName<'_>,
) -> Result<(Arc<str>, String, CollationId)> {
    let (schema, own) = session.names().table(name)?;
    privilege::require_schema(&session.account, &schema, Privileges::EVENT)?;
    if own.is_empty() || own.ends_with(' ') {
        return Err(e::ER_SP_WRONG_NAME.with(&[&own]));
    }
    if plan::bind::is_too_long(&own) {
        return Err(e::ER_TOO_LONG_IDENT.with(&[&own]));
    }
    let catalog = session.shared.core.catalog().load();
    let Some(found) = catalog.schema(&schema) else { return Err(e::ER_BAD_DB_ERROR.with(&[&schema])) };
    if found.system && !matches!(&*schema, "mysql" | "sys") {
        return Err(privilege::schema_denied(&session.account, &schema));
    }
    Ok((Arc::clone(&found.name), own, found.collation))
}

/// Changes events, and says so to the scheduler.
fn define<B: Backend>(
    session: &mut Session<B>,
    reply: &mut Reply<'_>,
    run: impl FnOnce(&mut Session<B>) -> Outcome,
) -> Outcome {
    define_program(session, reply, |session, reply| {
        run(session)?;
        session.shared.core.event_scheduler.notify();
        session.send_ok(reply)
    })
}

fn note<B: Backend>(session: &mut Session<B>, note: service::Diagnostic) {
    session.diagnostics.push(note, session.variables.settings().diagnostics);
}

/// CREATE EVENT.
///
/// # Errors
/// MySQL's for names, schedules, bodies and privileges.
pub(super) fn create_event<B: Backend>(
    session: &mut Session<B>,
    create: &CreateEvent<'_>,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::CreateEvent);
    require_outside(session)?;
    warn_of_words(session, &create.clauses);
    let owner = definer(&session.account, create.definer.as_ref());
    require_definer(&session.account, &owner, &session.shared.core.catalog().load())?;
    let (schema, name, collation) = new_name(session, &create.name)?;
    let clauses = &create.clauses;
    let (Some(written), Some(body)) = (&clauses.schedule, clauses.body) else {
        return Err(e::ER_INTERNAL_ERROR.with(&[&"an event without a schedule"]));
    };
    let body = check_body(session, body, collation, sql)?;
    let now = session.functions.now_micros(&session.shared.core);
    let schedule = schedule(session, written, now)?;
    let settings = session.variables.settings();
    let mut event = EventDefinition {
        id: session.shared.backend.new_event_id(),
        schema,
        name: name.into(),
        definer: owner,
        schedule,
        preserve: clauses.preserve.unwrap_or(false),
        status: clauses.status.map_or(EventStatus::Enabled, status_of),
        comment: String::from_utf8_lossy(clauses.comment.unwrap_or_default()).into(),
        body,
        time_zone: session.variables.text(known::time_zone()).into(),
        sql_mode: settings.sql_mode.0,
        client_charset: settings.client_charset,
        connection_collation: settings.connection_collation,
        database_collation: collation,
        originator: u32::try_from(session.variables.unsigned(known::server_id())).unwrap_or(u32::MAX),
        created_micros: now,
        modified_micros: now,
        executed: LastExecuted::default(),
    };
    let is_past = is_past(&event.schedule, now);
    define(session, reply, |session| {
        let mut notes = Vec::new();
        let account = &session.account;
        session.shared.backend.change_events(|events, catalog| {
            if catalog.schema(&event.schema).is_none() {
                return Err(e::ER_BAD_DB_ERROR.with(&[&event.schema]));
            }
            notes.extend(require_definer(account, &event.definer, catalog)?);
            if events.get(&event.schema, &event.name).is_some() {
                if !create.if_not_exists {
                    return Err(e::ER_EVENT_ALREADY_EXISTS.with(&[&event.name]));
                }
                notes.push(e::ER_EVENT_ALREADY_EXISTS.note(&[&event.name]));
                return Ok(());
            }
            if is_past && !event.preserve {
                notes.push(e::ER_EVENT_CANNOT_CREATE_IN_THE_PAST.note(&[]));
                return Ok(());
            }
            if is_past {
                event.status = EventStatus::Disabled;
                notes.push(e::ER_EVENT_EXEC_TIME_IN_THE_PAST.note(&[]));
            }
            events.insert(Arc::new(event));
            Ok(())
        })?;
        notes.into_iter().for_each(|one| note(session, one));
        Ok(())
    })
}

/// ALTER EVENT.
///
/// # Errors
/// As CREATE; 1539, 1551, 1589.
pub(super) fn alter_event<B: Backend>(
    session: &mut Session<B>,
    alter: &AlterEvent<'_>,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::AlterEvent);
    require_outside(session)?;
    warn_of_words(session, &alter.clauses);
    let owner = definer(&session.account, alter.definer.as_ref());
    require_definer(&session.account, &owner, &session.shared.core.catalog().load())?;
    let (schema, name) = session.names().table(&alter.name)?;
    privilege::require_schema(&session.account, &schema, Privileges::EVENT)?;
    let renamed = match &alter.new_name {
        Some(new) => Some(new_name(session, new)?),
        None => None,
    };
    if let Some((to_schema, to, _)) = &renamed
        && **to_schema == *schema
        && catalog::names_equal(to, &name)
    {
        return Err(e::ER_EVENT_SAME_NAME.bare());
    }
    let clauses = &alter.clauses;
    let collation = {
        let catalog = session.shared.core.catalog().load();
        let schema_now = renamed.as_ref().map_or(&*schema, |(schema, ..)| schema);
        let Some(found) = catalog.schema(schema_now) else {
            return Err(e::ER_BAD_DB_ERROR.with(&[&schema_now]));
        };
        found.collation
    };
    let body = clauses.body.map(|body| check_body(session, body, collation, sql)).transpose()?;
    let now = session.functions.now_micros(&session.shared.core);
    let new_schedule =
        clauses.schedule.as_ref().map(|written| schedule(session, written, now)).transpose()?;
    define(session, reply, |session| {
        let mut notes = Vec::new();
        let (account, variables) = (&session.account, &session.variables);
        session.shared.backend.change_events(|events, catalog| {
            let found = events.get(&schema, &name).map(Arc::clone);
            let found = found.ok_or_else(|| e::ER_EVENT_DOES_NOT_EXIST.with(&[&name]))?;
            let (user, host) = &found.definer;
            AccountAdmin::new(account, &catalog.accounts).require_routine_of(user, host)?;
            notes.extend(require_definer(account, &owner, catalog)?);
            let mut event = EventDefinition::clone(&found);
            event.definer = owner;
            event.modified_micros = now;
            if let Some(preserve) = clauses.preserve {
                event.preserve = preserve;
            }
            if let Some(status) = clauses.status {
                event.status = status_of(status);
            }
            if let Some(comment) = clauses.comment {
                event.comment = String::from_utf8_lossy(comment).into();
            }
            if let Some(body) = body {
                let settings = variables.settings();
                event.body = body;
                event.sql_mode = settings.sql_mode.0;
                event.client_charset = settings.client_charset;
                event.connection_collation = settings.connection_collation;
                event.database_collation = collation;
            }
            if let Some(schedule) = new_schedule {
                event.schedule = schedule;
                event.time_zone = variables.text(known::time_zone()).into();
                if is_past(&schedule, now) {
                    if !event.preserve {
                        return Err(e::ER_EVENT_CANNOT_ALTER_IN_THE_PAST.bare());
                    }
                    event.status = EventStatus::Disabled;
                    notes.push(e::ER_EVENT_EXEC_TIME_IN_THE_PAST.note(&[]));
                }
            }
            if let Some((to_schema, to, _)) = renamed {
                if events.get(&to_schema, &to).is_some() {
                    return Err(e::ER_EVENT_ALREADY_EXISTS.with(&[&to]));
                }
                if catalog.schema(&to_schema).is_none() {
                    return Err(e::ER_BAD_DB_ERROR.with(&[&to_schema]));
                }
                event.schema = to_schema;
                event.name = to.into();
            }
            events.remove(&found);
            events.insert(Arc::new(event));
            Ok(())
        })?;
        notes.into_iter().for_each(|one| note(session, one));
        Ok(())
    })
}

/// DROP EVENT.
///
/// # Errors
/// 1046, 1044, 1539.
pub(super) fn drop_event<B: Backend>(
    session: &mut Session<B>,
    if_exists: bool,
    name: &ObjectName<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::DropEvent);
    require_outside(session)?;
    let (schema, own) = session.names().table(name)?;
    privilege::require_schema(&session.account, &schema, Privileges::EVENT)?;
    define(session, reply, |session| {
        let account = &session.account;
        let is_dropped = session.shared.backend.change_events(|events, catalog| {
            match events.get(&schema, &own).map(Arc::clone) {
                Some(found) => {
                    let (user, host) = &found.definer;
                    AccountAdmin::new(account, &catalog.accounts).require_routine_of(user, host)?;
                    Ok(events.remove(&found).is_some())
                }
                None if if_exists => Ok(false),
                None => Err(e::ER_EVENT_DOES_NOT_EXIST.with(&[&own])),
            }
        })?;
        if !is_dropped {
            note(session, e::ER_SP_DOES_NOT_EXIST.note(&[&"Event", &own]));
        }
        Ok(())
    })
}

/// SHOW CREATE EVENT.
///
/// # Errors
/// 1046, 1539.
pub(super) fn show_create(names: &Names<'_>, name: &ObjectName<'_>) -> Result<Listing> {
    let (schema, own) = names.table(name)?;
    let catalog = names.core.catalog().load();
    let found = catalog.events.get(&schema, &own);
    let event = found.ok_or_else(|| e::ER_EVENT_DOES_NOT_EXIST.with(&[&own]))?;
    let long = DataType::text(TypeKind::LongText, CollationId::UTF8MB4_0900_AI_CI);
    let mut listing = Listing::new(&[
        ("Event", text(64)),
        ("sql_mode", text(1024)),
        ("time_zone", text(64)),
        ("Create Event", long),
        ("character_set_client", text(64)),
        ("collation_connection", text(64)),
        ("Database Collation", text(64)),
    ]);
    listing.push(&[
        Cell::Text(&event.name),
        Cell::Text(&SqlModes(event.sql_mode).names()),
        Cell::Text(&event.time_zone),
        Cell::Text(&catalog::show_create_event(event)),
        Cell::Text(event.client_charset.name()),
        Cell::Text(event.connection_collation.name()),
        Cell::Text(event.database_collation.name()),
    ]);
    Ok(listing)
}

/// SHOW EVENTS of a schema: without the columns' filter.
pub(super) fn show_events(
    account: &SessionAccount,
    names: &Names<'_>,
    schema: &str,
    like: Option<&[u8]>,
) -> Listing {
    let mut listing = Listing::new(&[
        ("Db", text(64)),
        ("Name", text(64)),
        ("Definer", text(288)),
        ("Time zone", text(64)),
        ("Type", text(9)),
        ("Execute at", DataType::temporal(TypeKind::DateTime, 0)),
        ("Interval value", text(256)),
        ("Interval field", text(18)),
        ("Starts", DataType::temporal(TypeKind::DateTime, 0)),
        ("Ends", DataType::temporal(TypeKind::DateTime, 0)),
        ("Status", text(21)),
        ("Originator", DataType::integer(TypeKind::Int, true)),
        ("character_set_client", text(64)),
        ("collation_connection", text(64)),
        ("Database Collation", text(64)),
    ]);
    let catalog = names.core.catalog().load();
    for event in catalog.events.sorted() {
        let name = event.name.as_bytes();
        let is_like =
            |pattern: &[u8]| CollationId::UTF8MB4_0900_AI_CI.like(name, pattern, Some(u32::from(b'\\')));
        if *event.schema != *schema
            || !privilege::on_schema(account, &event.schema).contains(Privileges::EVENT)
            || !like.is_none_or(is_like)
        {
            continue;
        }
        let shown = ShownSchedule::of(event);
        let definer = format!("{}@{}", event.definer.0, event.definer.1);
        listing.push(&[
            Cell::Text(&event.schema),
            Cell::Text(&event.name),
            Cell::Text(&definer),
            Cell::Text(&event.time_zone),
            Cell::Text(shown.kind),
            shown.at,
            Cell::text_or_null(shown.interval.as_deref()),
            Cell::text_or_null(shown.unit),
            shown.starts,
            shown.ends,
            Cell::Text(event.status.word()),
            Cell::UInt(u64::from(event.originator)),
            Cell::Text(event.client_charset.name()),
            Cell::Text(event.connection_collation.name()),
            Cell::Text(event.database_collation.name()),
        ]);
    }
    listing
}
