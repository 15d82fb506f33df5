//! EXPLAIN: the plan of a statement, not run; EXPLAIN ANALYZE runs it and shows what it did.

use exec::RowSink;
use exec::expr::SqlResult;
use plan::explain::{Actual, ExplainRow};
use plan::physical::PlanKind;
use service::Reply;
use syntax::ast::{Explain, ExplainTarget};
use types::ValueRef;
use types::vector::Batch;

use super::attempt::Attempt;
use super::context;
use super::digest_lookup;
use super::execution;
use super::listing::{Listing, text, unsigned};
use super::plans::has_plan;
use super::run;
use super::show;
use super::{Session, access};
use crate::backend::Backend;
use crate::errors::not_supported;
use crate::plans::PlanHandle;
use crate::status::StatementKind;
use crate::system_schemas::rows::Cell;
use crate::variables::definition::known;

/// Takes rows and forgets them.
struct Forget;

impl RowSink for Forget {
    fn batch(&mut self, _batch: &Batch) -> SqlResult<bool> {
        Ok(true)
    }
}

pub(crate) fn explain<B: Backend>(
    session: &mut Session<B>,
    explain: &Explain<'_>,
    sql: &[u8],
    parameters: &[ValueRef<'_>],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    session.count(StatementKind::ExplainOther);
    let ExplainTarget::Statement(statement, span) = explain.target else {
        return Err(not_supported("EXPLAIN FOR CONNECTION").into());
    };
    if explain.into.is_some() {
        return Err(not_supported("EXPLAIN INTO").into());
    }
    if explain.schema.is_some() {
        return Err(not_supported("EXPLAIN FOR SCHEMA").into());
    }
    if !has_plan(statement) {
        return Err(not_supported("EXPLAIN of this statement").into());
    }
    let format = match explain.format {
        Some(format) => String::from_utf8_lossy(format).to_ascii_uppercase(),
        // EXPLAIN ANALYZE without a format has no traditional one to fall back to.
        None => match session.variables.text(known::explain_format()) {
            "TRADITIONAL" | "TRADITIONAL_STRICT" if explain.analyze => "TREE".to_owned(),
            format => format.to_owned(),
        },
    };
    let tree = match format.as_str() {
        "TREE" => true,
        "TRADITIONAL" | "TRADITIONAL_STRICT" if !explain.analyze => false,
        "JSON" => return Err(not_supported("EXPLAIN FORMAT=JSON").into()),
        "TRADITIONAL" | "TRADITIONAL_STRICT" => {
            return Err(not_supported("EXPLAIN ANALYZE with TRADITIONAL format").into());
        }
        other => return Err(service::error::ER_UNKNOWN_EXPLAIN_FORMAT.with(&[&other]).into()),
    };
    let explained =
        if parameters.is_empty() { digest_lookup::plan_as_shared(session, sql, span) } else { None };
    let (mut plan, values) = match explained {
        Some(explained) => explained,
        None => (
            session.planner().plan_statement(statement, sql, parameters)?,
            parameters.iter().map(|value| value.to_value()).collect(),
        ),
    };
    let parameters: Vec<ValueRef<'_>> = values.iter().map(ValueRef::from).collect();
    access::require_plan(&session.account, plan.physical())?;
    access::require_explained(&session.account, plan.physical())?;
    if !tree {
        let rows = plan::explain::table(plan.physical());
        return Ok(show::send_listing(session, &traditional(&rows), reply)?);
    }
    let actual = if explain.analyze { Some(analyze(session, &mut plan, &parameters, reply)?) } else { None };
    let mut listing = Listing::new(&[("EXPLAIN", text(65_535))]);
    let shown = plan::explain::tree(plan.physical(), actual.as_deref(), &values);
    listing.push(&[Cell::Text(&shown)]);
    Ok(show::send_listing(session, &listing, reply)?)
}

/// Runs a query and tells what its nodes did.
fn analyze<B: Backend>(
    session: &mut Session<B>,
    plan: &mut PlanHandle<B>,
    parameters: &[ValueRef<'_>],
    reply: &mut Reply<'_>,
) -> Attempt<Vec<Actual>> {
    let physical = plan.physical();
    if !matches!(physical.kind, PlanKind::Query(_)) {
        return Err(not_supported("EXPLAIN ANALYZE of a statement that changes rows").into());
    }
    let node_count = physical.node_count as usize;
    let counters = execution::run_limited(session, plan, |session, plan| {
        execution::in_statement(session, plan, false, |session, in_transaction| {
            let counters = context::with_context(session, plan, parameters, |prepared, context| {
                context.node_counters = vec![exec::NodeCounter::default(); node_count];
                exec::run_query(prepared, context, &mut Forget)?;
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
