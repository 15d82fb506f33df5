//! EXPLAIN: the plan of a statement, not run; EXPLAIN ANALYZE reads its rows, shows what the plan did, and changes nothing.

use plan::explain::{Actual, ExplainRow};
use plan::physical::PhysicalPlan;
use service::error::{
    ER_EXPLAIN_ANALYZE_JSON_FORMAT_VERSION_NOT_SUPPORTED, ER_EXPLAIN_INTO_FOR_CONNECTION_NOT_SUPPORTED,
    ER_EXPLAIN_INTO_FORMAT_NOT_SUPPORTED, ER_EXPLAIN_INTO_IMPLICIT_FORMAT_NOT_SUPPORTED,
    ER_EXPLAIN_NOT_SUPPORTED, ER_NO_SUCH_THREAD, ER_UNKNOWN_EXPLAIN_FORMAT,
};
use service::{Outcome, Reply, SqlError};
use syntax::ast::{Explain, ExplainTarget, Span, Statement};
use types::{CollationId, Value, ValueRef};

use super::attempt::Attempt;
use super::context;
use super::digest_lookup;
use super::execution;
use super::hinted_variables;
use super::listing::{self, Listing, text, unsigned};
use super::names::name_text;
use super::plans::has_plan;
use super::run;
use super::set;
use super::{Session, access};
use crate::backend::Backend;
use crate::errors::not_supported;
use crate::plans::PlanHandle;
use crate::processes::Activity;
use crate::status::StatementKind;
use crate::system_schemas::rows::Cell;
use crate::variables::definition::known;

/// How a plan is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Format {
    Traditional,
    Tree,
    /// Version 1 of JSON: query blocks and their tables.
    JsonBlocks,
    /// Version 2 of JSON: the tree.
    Json,
}

/// A plan as it is shown.
enum Shown {
    Rows(Vec<ExplainRow>),
    Text(String),
}

pub(crate) fn explain<B: Backend>(
    session: &mut Session<B>,
    explain: &Explain<'_>,
    sql: &[u8],
    parameters: &[ValueRef<'_>],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    session.count(StatementKind::ExplainOther);
    let format = format_of(session, explain)?;
    let (statement, span) = match explain.target {
        ExplainTarget::Statement(statement, span) => (statement, span),
        ExplainTarget::Connection(_) if explain.analyze => {
            return Err(not_supported("EXPLAIN ANALYZE FOR CONNECTION").into());
        }
        ExplainTarget::Connection(_) if explain.into.is_some() => {
            return Err(ER_EXPLAIN_INTO_FOR_CONNECTION_NOT_SUPPORTED.bare().into());
        }
        ExplainTarget::Connection(id) => {
            let id = match set::evaluate(session, id)? {
                Value::Int(id) => u64::try_from(id).unwrap_or(0),
                Value::UInt(id) => id,
                _ => 0,
            };
            let shown = of_connection(session, id, format)?;
            return match shown {
                Some(shown) => Ok(send(session, &shown, reply)?),
                None => Ok(session.send_ok(reply)?),
            };
        }
    };
    if !has_plan(statement) {
        return Err(not_supported("EXPLAIN of this statement").into());
    }
    run::require_into(session, statement)?;
    let asked = Asked { analyze: explain.analyze, format, statement, span, sql, parameters };
    let shown = hinted_variables::with_hinted(session, statement, sql, |session| match explain.schema {
        None => of_statement(session, &asked, reply),
        Some(schema) => {
            let own = session.enter_schema(&name_text(schema.text))?;
            let shown = of_statement(session, &asked, reply);
            session.leave_schema(own);
            shown
        }
    })?;
    match (explain.into, shown) {
        (Some(variable), Shown::Text(text)) => {
            // 9.7 gives it utf8mb3, which has no characters of four bytes.
            let fits = text.chars().all(|character| character.len_utf8() < 4);
            let collation =
                if fits { CollationId::UTF8MB3_GENERAL_CI } else { CollationId::UTF8MB4_0900_AI_CI };
            let value = Value::Bytes { bytes: text.into_bytes(), collation };
            session.user_variables.insert(variable.to_ascii_lowercase(), value);
            Ok(session.send_ok(reply)?)
        }
        (_, shown) => Ok(send(session, &shown, reply)?),
    }
}

/// The format that is asked for, if it can be had so.
///
/// # Errors
/// 1791, 1235, 6006, 6007, 6412.
fn format_of<B: Backend>(session: &Session<B>, explain: &Explain<'_>) -> Result<Format, Box<SqlError>> {
    let written = explain.format.map(|format| String::from_utf8_lossy(format).into_owned());
    if written.is_none() && explain.into.is_some() {
        return Err(ER_EXPLAIN_INTO_IMPLICIT_FORMAT_NOT_SUPPORTED.bare());
    }
    let name = match &written {
        Some(name) => name.to_ascii_uppercase(),
        // EXPLAIN ANALYZE without a format has no traditional one to fall back to.
        None => match session.variables.text(known::explain_format()) {
            "TRADITIONAL" | "TRADITIONAL_STRICT" if explain.analyze => "TREE".to_owned(),
            "TRADITIONAL_STRICT" => "TRADITIONAL".to_owned(),
            name => name.to_owned(),
        },
    };
    let version = session.variables.unsigned(known::explain_json_format_version());
    let format = match name.as_str() {
        "TREE" => Format::Tree,
        "JSON" if version == 1 => Format::JsonBlocks,
        "JSON" => Format::Json,
        "TRADITIONAL" => Format::Traditional,
        _ => return Err(ER_UNKNOWN_EXPLAIN_FORMAT.with(&[&written.unwrap_or(name)])),
    };
    if explain.into.is_some() && matches!(format, Format::Tree | Format::Traditional) {
        return Err(ER_EXPLAIN_INTO_FORMAT_NOT_SUPPORTED.with(&[&name]));
    }
    match format {
        Format::Traditional if explain.analyze => {
            Err(not_supported("EXPLAIN ANALYZE with TRADITIONAL format"))
        }
        Format::JsonBlocks if explain.analyze => {
            Err(ER_EXPLAIN_ANALYZE_JSON_FORMAT_VERSION_NOT_SUPPORTED.with(&[&version]))
        }
        format => Ok(format),
    }
}

/// A statement that is explained.
struct Asked<'a> {
    analyze: bool,
    format: Format,
    statement: &'a Statement<'a>,
    /// Its text within `sql`.
    span: Span,
    sql: &'a [u8],
    parameters: &'a [ValueRef<'a>],
}

fn of_statement<B: Backend>(
    session: &mut Session<B>,
    asked: &Asked<'_>,
    reply: &mut Reply<'_>,
) -> Attempt<Shown> {
    let explained = if asked.parameters.is_empty() {
        digest_lookup::plan_as_shared(session, asked.sql, asked.span)
    } else {
        None
    };
    let (mut plan, values) = match explained {
        Some(explained) => explained,
        None => (
            session.planner().plan_explained(
                asked.statement,
                asked.sql,
                asked.span.of(asked.sql),
                asked.parameters,
            )?,
            asked.parameters.iter().map(|value| value.to_value()).collect(),
        ),
    };
    let parameters: Vec<ValueRef<'_>> = values.iter().map(ValueRef::from).collect();
    access::require_plan(&session.account, plan.physical())?;
    access::require_explained(&session.account, plan.physical())?;
    // Where the rows are read that warns of it.
    if !asked.analyze || plan.physical().kind.source().is_none() {
        for warning in exec::warnings_of(plan.physical()) {
            session.diagnostics.push(warning, session.variables.settings().diagnostics);
        }
    }
    let actual = if asked.analyze { Some(analyze(session, &mut plan, &parameters, reply)?) } else { None };
    let text = asked.span.of(asked.sql);
    Ok(show_plan(plan.physical(), asked.format, actual.as_deref(), &values, text))
}

fn show_plan(
    plan: &PhysicalPlan,
    format: Format,
    actual: Option<&[Actual]>,
    values: &[Value],
    text: &[u8],
) -> Shown {
    match format {
        Format::Traditional => Shown::Rows(plan::explain::table(plan)),
        Format::Tree => Shown::Text(plan::explain::tree(plan, actual, values)),
        Format::JsonBlocks => Shown::Text(plan::explain::json_blocks(plan, values)),
        Format::Json => {
            let text = String::from_utf8_lossy(text);
            Shown::Text(plan::explain::json(plan, actual, values, text.trim()))
        }
    }
}

fn send<B: Backend>(session: &mut Session<B>, shown: &Shown, reply: &mut Reply<'_>) -> Outcome {
    let listing = match shown {
        Shown::Rows(rows) => traditional(rows),
        Shown::Text(shown) => {
            let mut listing = Listing::new(&[("EXPLAIN", text(65_535))]);
            listing.push(&[Cell::Text(shown)]);
            listing
        }
    };
    listing::send(session, &listing, reply)
}

/// The plan by which another connection runs its statement now; none if it runs none, or one whose rows are written out.
///
/// # Errors
/// 1094 without such a connection, 3012 for a statement that EXPLAIN does not know, 1045 for the statement of another account
/// without all privileges.
fn of_connection<B: Backend>(
    session: &Session<B>,
    id: u64,
    format: Format,
) -> Result<Option<Shown>, Box<SqlError>> {
    let Some(entry) = session.shared.core.processes.get(id) else {
        return Err(ER_NO_SUCH_THREAD.with(&[&id]));
    };
    if entry.activity().0 == Activity::Sleep {
        return Ok(None);
    }
    let owner = entry.identity.lock().account.clone();
    let (text, plan) = entry.statement_and_plan();
    if entry.identity.lock().account != owner {
        // COM_CHANGE_USER ended the statement.
        return Ok(None);
    }
    let arena = bumpalo::Bump::new();
    let mode = session.variables.settings().sql_mode.for_syntax();
    let is_explainable = match syntax::parse(&text, &arena, mode) {
        Ok(parsed) => has_plan(&parsed.statement) && !matches!(parsed.statement, Statement::Do(_)),
        // Only the beginning of a long text is kept, and another session may have another `sql_mode`.
        Err(_) => plan.is_some(),
    };
    if !is_explainable {
        return Err(ER_EXPLAIN_NOT_SUPPORTED.bare());
    }
    if !session.account.is_named(&owner.0, &owner.1) {
        access::require_all(&session.account)?;
    }
    let Some(plan) = plan else { return Ok(None) };
    let values = digest_lookup::literals_of(session, &text)
        .filter(|values| values.len() == plan.parameters.len() && entry.activity().0 == Activity::Query);
    Ok(Some(show_plan(&plan, format, None, values.as_deref().unwrap_or_default(), &text)))
}

/// Runs a query, or reads the rows that a change would change, and tells what the nodes did.
fn analyze<B: Backend>(
    session: &mut Session<B>,
    plan: &mut PlanHandle<B>,
    parameters: &[ValueRef<'_>],
    reply: &mut Reply<'_>,
) -> Attempt<Vec<Actual>> {
    let node_count = plan.physical().node_count;
    let counters = execution::run_limited(session, plan, |session, plan| {
        execution::in_statement(session, plan, false, |session, in_transaction| {
            let counters = context::with_context(session, plan, parameters, |prepared, context| {
                context.count_nodes(node_count, true);
                exec::run_source(prepared, context)?;
                Ok(std::mem::take(&mut context.node_counters))
            })?;
            run::finish(&mut session.tables, &session.shared, in_transaction, reply)?;
            Ok(counters)
        })
    })?;
    Ok(counters
        .into_iter()
        .map(|counter| Actual {
            loops: counter.loops,
            rows: counter.rows,
            micros: counter.micros,
            first_micros: counter.first_micros,
            examined: counter.examined,
            spilled: counter.spilled,
        })
        .collect())
}

/// The rows of the traditional format.
fn traditional(rows: &[ExplainRow]) -> Listing {
    let mut listing = Listing::new(&[
        ("id", unsigned()),
        ("select_type", text(19)),
        ("table", text(64)),
        ("partitions", text(65_535)),
        ("type", text(10)),
        ("possible_keys", text(4096)),
        ("key", text(64)),
        ("key_len", text(4096)),
        ("ref", text(2048)),
        ("rows", unsigned()),
        ("filtered", text(6)),
        ("Extra", text(256)),
    ]);
    fn shown(value: &Option<String>) -> Cell<'_> {
        value.as_deref().map_or(Cell::Null, Cell::Text)
    }
    for row in rows {
        let filtered = row.filtered.map(|percent| format!("{percent:.2}"));
        listing.push(&[
            row.id.map_or(Cell::Null, |id| Cell::UInt(u64::from(id))),
            Cell::Text(&row.select_type),
            shown(&row.table),
            Cell::Null,
            shown(&row.access_type),
            shown(&row.possible_keys),
            shown(&row.key),
            shown(&row.key_len),
            shown(&row.reference),
            row.rows.map_or(Cell::Null, Cell::UInt),
            shown(&filtered),
            shown(&row.extra),
        ]);
    }
    listing
}
