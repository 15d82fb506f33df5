//! Conditions: SIGNAL and RESIGNAL raise them, GET DIAGNOSTICS reads them.
//!
//! | SQLSTATE | SIGNAL's number, if it names none | what it is |
//! | --- | --- | --- |
//! | 01... | 1642 | a warning: the statement goes well |
//! | 02... | 1643 | not found: an error |
//! | others | 1644 | an error |

use service::error as e;
use service::{Diagnostic, Level, OkSummary, Outcome, Reply, SqlError};
use syntax::ast::{
    self, ConditionItem as Item, ConditionValue, DiagnosticsItems, DiagnosticsTarget, StatementItem,
};
use types::collation::CollationId;
use types::{TypeKind, Value};

use super::statement;
use super::{call, handler};
use crate::backend::Backend;
use crate::conversation::Session;
use crate::conversation::attempt::Attempt;
use crate::conversation::diagnostics::{ConditionDetails, Diagnostics};
use crate::conversation::routines::Routines;
use crate::routine::compile::{check_items, checked_state};
use crate::routine::program::Target;
use crate::status::StatementKind;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Most characters of a condition's text.
const MESSAGE_CHARS_MAX: usize = 128;
/// Most characters of its other texts.
const NAME_CHARS_MAX: usize = 64;

/// SIGNAL or RESIGNAL outside of a routine: no condition has a name there.
pub(crate) fn signal<B: Backend>(
    session: &mut Session<B>,
    signal: &ast::Signal<'_>,
    text: &[u8],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    session.count(if signal.again { StatementKind::Resignal } else { StatementKind::Signal });
    let state = match signal.value {
        None => None,
        Some(ConditionValue::State(state)) => Some(checked_state(state)?),
        Some(ConditionValue::Name(name)) => {
            return Err(e::ER_SP_COND_MISMATCH.with(&[&String::from_utf8_lossy(name.text)]).into());
        }
        Some(_) => return Err(e::ER_SIGNAL_BAD_CONDITION_TYPE.bare().into()),
    };
    check_items(signal)?;
    let mut items = Vec::with_capacity(signal.items.len());
    for (item, value) in signal.items {
        items.push((*item, call::value_of(session, value, text, &[])?));
    }
    raise(session, signal.again, state, items)?;
    Ok(session.send_ok(reply)?)
}

/// GET DIAGNOSTICS outside of a routine.
pub(crate) fn get_diagnostics<B: Backend>(
    session: &mut Session<B>,
    get: &ast::GetDiagnostics<'_>,
    text: &[u8],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    session.count(StatementKind::GetDiagnostics);
    let before = session.diagnostics.packet_count();
    let diagnostics = &mut session.diagnostics;
    let mut target = |target: &DiagnosticsTarget<'_>| match target {
        DiagnosticsTarget::User(name) => Ok(Target::User(name.to_ascii_lowercase())),
        DiagnosticsTarget::Local(name) => {
            // Found while the statement is read, so it replaces what was to be asked.
            diagnostics.clear();
            Err(e::ER_SP_UNDECLARED_VAR.with(&[&String::from_utf8_lossy(name.text)]))
        }
    };
    match get.what {
        DiagnosticsItems::Statement(items) => {
            let items: Vec<_> =
                items.iter().map(|(to, item)| Ok((target(to)?, *item))).collect::<Result<_>>()?;
            statement_information(session, get.stacked, &items)?;
        }
        DiagnosticsItems::Condition(number, items) => {
            let items: Vec<_> =
                items.iter().map(|(to, item)| Ok((target(to)?, *item))).collect::<Result<_>>()?;
            let number = call::value_of(session, &number, text, &[])?;
            condition_information(session, get.stacked, &number, &items)?;
        }
    }
    // What it reads was raised by another statement.
    let warnings = session.diagnostics.packet_count().saturating_sub(before);
    Ok(reply.ok(&OkSummary { status: session.status_flags(), warnings, ..OkSummary::default() })?)
}

/// SIGNAL or RESIGNAL. The statement fails with what is raised, unless that is a warning.
pub(super) fn raise<B: Backend>(
    session: &mut Session<B>,
    again: bool,
    state: Option<[u8; 5]>,
    items: Vec<(Item, Value)>,
) -> Outcome {
    let (mut raised, mut details) = match (again, state) {
        (true, None) => condition_in_hand(session)?,
        (true, Some(state)) => {
            let (stacked, _) = handler::stacked(&session.routines).ok_or_else(no_handler)?;
            session.diagnostics = stacked.clone();
            (new_condition(state), ConditionDetails::default())
        }
        (false, Some(state)) => {
            session.diagnostics.clear();
            (new_condition(state), ConditionDetails::default())
        }
        (false, None) => return Err(no_handler()),
    };
    for (item, value) in items {
        set_item(session, item, &value, &mut raised, &mut details)?;
    }
    session.diagnostics.expect(details);
    if raised.level == Level::Error {
        return Err(SqlError::new(raised.number, raised.state, raised.message));
    }
    session.diagnostics.push(raised, session.variables.settings().diagnostics);
    Ok(())
}

/// RESIGNAL alone: the condition the handler was called for, taken out of the conditions it came with.
fn condition_in_hand<B: Backend>(session: &mut Session<B>) -> Result<(Diagnostic, ConditionDetails)> {
    let (stacked, position) = handler::stacked(&session.routines).ok_or_else(no_handler)?;
    let mut conditions = stacked.clone();
    conditions.set_inherited(false);
    let details = conditions.details(position).cloned().unwrap_or_default();
    let condition = conditions.kept().get(position).cloned();
    conditions.remove(position);
    session.diagnostics = conditions;
    // More conditions than are kept: the one in hand is none of them.
    Ok((condition.unwrap_or_else(|| new_condition(*b"45000")), details))
}

fn set_item<B: Backend>(
    session: &Session<B>,
    item: Item,
    value: &Value,
    raised: &mut Diagnostic,
    details: &mut ConditionDetails,
) -> Outcome {
    let wrong = |shown: &str| Err(e::ER_WRONG_VALUE_FOR_VAR.with(&[&item.name(), &shown]));
    if value.is_null() {
        return wrong("NULL");
    }
    let text = text_of(value);
    if item == Item::MysqlErrno {
        return match text.trim().parse::<u32>() {
            Ok(number) if (1..=65535).contains(&number) => {
                raised.number = u16::try_from(number).unwrap_or(u16::MAX);
                Ok(())
            }
            _ => wrong(&text),
        };
    }
    let max = if item == Item::MessageText { MESSAGE_CHARS_MAX } else { NAME_CHARS_MAX };
    let text = match text.char_indices().nth(max) {
        None => text,
        Some(_) if session.variables.settings().sql_mode.is_strict() => {
            return Err(e::ER_COND_ITEM_TOO_LONG.with(&[&item.name()]));
        }
        Some((end, _)) => text[..end].to_owned(),
    };
    if item == Item::MessageText {
        raised.message = text;
    } else {
        details.set(item, text);
    }
    Ok(())
}

/// GET DIAGNOSTICS of the statement.
pub(super) fn statement_information<B: Backend>(
    session: &mut Session<B>,
    stacked: bool,
    items: &[(Target, StatementItem)],
) -> Outcome {
    let count = conditions(&session.diagnostics, &session.routines, stacked)?.kept().len();
    for (target, item) in items {
        let value = match item {
            StatementItem::Number => i64::try_from(count).unwrap_or(i64::MAX),
            StatementItem::RowCount => session.results.row_count(),
        };
        statement::assign_target(session, target, Value::Int(value))?;
    }
    Ok(())
}

/// GET DIAGNOSTICS of a condition; one that is not there leaves 1758 behind and changes nothing.
pub(super) fn condition_information<B: Backend>(
    session: &mut Session<B>,
    stacked: bool,
    number: &Value,
    items: &[(Target, Item)],
) -> Outcome {
    let position = match *number {
        Value::Int(number) => usize::try_from(number).ok(),
        Value::UInt(number) => usize::try_from(number).ok(),
        _ => text_of(number).trim().parse().ok(),
    };
    let conditions = conditions(&session.diagnostics, &session.routines, stacked)?;
    let found = position.and_then(|position| position.checked_sub(1)).and_then(|position| {
        let condition = conditions.kept().get(position)?.clone();
        Some((condition, conditions.details(position).cloned()))
    });
    let Some((condition, details)) = found else {
        let error = e::ER_DA_INVALID_CONDITION_NUMBER.bare();
        session.diagnostics.push(error.diagnostic(), session.variables.settings().diagnostics);
        return Ok(());
    };
    for (target, item) in items {
        let value = match item {
            Item::MysqlErrno => Value::Int(i64::from(condition.number)),
            item => text_value(&item_text(*item, &condition, details.as_ref())),
        };
        statement::assign_target(session, target, value)?;
    }
    Ok(())
}

fn conditions<'a, B: Backend>(
    diagnostics: &'a Diagnostics,
    routines: &'a Routines<B>,
    stacked: bool,
) -> Result<&'a Diagnostics> {
    if !stacked {
        return Ok(diagnostics);
    }
    let stacked = handler::stacked(routines);
    stacked.map(|(stacked, _)| stacked).ok_or_else(|| e::ER_GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER.bare())
}

fn item_text(item: Item, condition: &Diagnostic, details: Option<&ConditionDetails>) -> String {
    let state = || String::from_utf8_lossy(&condition.state).into_owned();
    match item {
        Item::ReturnedSqlstate => return state(),
        Item::MessageText => return condition.message.clone(),
        _ => {}
    }
    if let Some(details) = details {
        return details.get(item).unwrap_or_default().to_owned();
    }
    // What the server itself raises comes from the standard if its class is one of the standard's.
    match item {
        Item::ClassOrigin | Item::SubclassOrigin => {
            let standard = matches!(condition.state[0], b'0'..=b'4' | b'A'..=b'H');
            if standard { "ISO 9075".to_owned() } else { "MySQL".to_owned() }
        }
        _ => String::new(),
    }
}

/// The condition of an SQLSTATE, as SIGNAL raises it.
fn new_condition(state: [u8; 5]) -> Diagnostic {
    let (code, level) = match &state[..2] {
        b"01" => (e::ER_SIGNAL_WARN, Level::Warning),
        b"02" => (e::ER_SIGNAL_NOT_FOUND, Level::Error),
        _ => (e::ER_SIGNAL_EXCEPTION, Level::Error),
    };
    Diagnostic { level, number: code.number, state, message: code.message(&[]) }
}

#[cold]
fn no_handler() -> Box<SqlError> {
    e::ER_RESIGNAL_WITHOUT_ACTIVE_HANDLER.bare()
}

fn text_value(text: &str) -> Value {
    Value::string(text.as_bytes(), CollationId::UTF8MB4_0900_AI_CI)
}

/// A value as text, UTF-8.
pub(super) fn text_of(value: &Value) -> String {
    let (from, column) = types::convert::value_column(value);
    let mut text = Vec::new();
    if !value.is_null() {
        types::convert::write_text(column.cell(0), &from, &mut text);
    }
    if from.kind != TypeKind::Null && from.is_string() {
        let mut utf8 = Vec::with_capacity(text.len());
        let charset = from.collation.charset();
        let _ = types::charset::convert_lossy(charset, &text, types::charset::Charset::Utf8mb4, &mut utf8);
        text = utf8;
    }
    String::from_utf8_lossy(&text).into_owned()
}
