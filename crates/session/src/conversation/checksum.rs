//! CHECKSUM TABLE.
//!
//! A table's rows are read by a query of their own, in the session's transaction and by its snapshot, into [`ChecksumSink`].
//!
//! What is wrong with one table is a condition of the statement, which goes on with the next one; KILL ends it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use catalog::{TableEntry, TableKind};
use exec::output::ChecksumSink;
use service::error::{ER_NONUNIQ_TABLE, ER_WRONG_OBJECT};
use service::{Outcome, Reply, SqlError};

use syntax::ast::{
    GroupingKind, Ident, ObjectName, Query, QueryBody, Select, SelectItem, SelectOptions, Span, Statement,
    TableFactor, TableRef,
};
use types::DataType;

use super::Session;
use super::attempt::until_planned;
use super::context;
use super::execution;
use super::listing::{self, Listing, text};
use crate::backend::Backend;
use crate::system_schemas::rows::Cell;
use crate::variables::Setting;
use crate::variables::definition::known;

/// Digits by which MySQL describes the number.
const NUMBER_WIDTH: u32 = 22;

/// Answers with the number of each table; NULL with QUICK, as tables without a live checksum have it, and where there is none.
pub(super) fn checksum_tables<B: Backend>(
    session: &mut Session<B>,
    tables: &[ObjectName<'_>],
    is_quick: bool,
    reply: &mut Reply<'_>,
) -> Outcome {
    let mut names = Vec::with_capacity(tables.len());
    for table in tables {
        let name = session.names().table(table)?;
        if names.contains(&name) {
            return Err(ER_NONUNIQ_TABLE.with(&[&name.1]));
        }
        names.push(name);
    }
    let number = DataType { length: NUMBER_WIDTH, ..DataType::BIGINT };
    let mut listing = Listing::new(&[("Table", text(384)), ("Checksum", number)]);
    listing.of_expressions = true;
    for ((mut schema, mut name), table) in names.into_iter().zip(tables) {
        let sum = match session.names().entry(table) {
            Ok(entry) => {
                schema = entry.definition.schema.to_string();
                name = entry.definition.name.to_string();
                checksum(session, &entry, is_quick)
            }
            Err(error) => Err(error),
        };
        crate::limits::check_interrupted(&session.shared.control)?;
        let sum = match sum {
            Ok(sum) => sum,
            Err(error) => {
                session.diagnostics.push(error.diagnostic(), session.variables.settings().diagnostics);
                None
            }
        };
        listing.push(&[Cell::Text(&format!("{schema}.{name}")), Cell::uint_or_null(sum.map(u64::from))]);
    }
    listing::send(session, &listing, reply)
}

/// The number of one table.
fn checksum<B: Backend>(
    session: &mut Session<B>,
    entry: &TableEntry,
    is_quick: bool,
) -> Result<Option<u32>, Box<SqlError>> {
    let definition = &entry.definition;
    let (schema, name) = (&*definition.schema, &*definition.name);
    // The tables of information_schema are views in MySQL.
    if definition.kind == TableKind::View || catalog::names_equal(schema, "information_schema") {
        return Err(ER_WRONG_OBJECT.with(&[&schema, &name, &"BASE TABLE"]));
    }
    if is_quick {
        session.tables.require_locked(schema, name, false)?;
        return Ok(None);
    }
    // TIMESTAMPs are read in the session's time zone, in which an hour may come twice.
    let zone = session.variables.get(known::time_zone()).clone();
    session.variables.set([(known::time_zone(), Setting::text("+00:00"))]);
    // A panic leaves the session to others, who know nothing of this one.
    let sum = catch_unwind(AssertUnwindSafe(|| sum_rows(session, schema, name)));
    session.variables.set([(known::time_zone(), zone)]);
    sum.unwrap_or_else(|panic| resume_unwind(panic)).map(Some)
}

/// Runs the query of a table's whole rows.
fn sum_rows<B: Backend>(session: &mut Session<B>, schema: &str, name: &str) -> Result<u32, Box<SqlError>> {
    let ident = |text| Ident { text, span: Span::default() };
    let factor = TableFactor {
        name: ObjectName { schema: Some(ident(schema.as_bytes())), name: ident(name.as_bytes()) },
        partitions: &[],
        alias: None,
        index_hints: &[],
        sample: None,
    };
    let select = Select {
        options: SelectOptions { whole_rows: true, ..SelectOptions::default() },
        hints: None,
        items: &[SelectItem::Star(Span::default())],
        from: &[TableRef::Table(&factor)],
        where_: None,
        group_by: &[],
        grouping: GroupingKind::Plain,
        having: None,
        windows: &[],
        qualify: None,
        span: Span::default(),
    };
    let query = Query {
        with: None,
        body: QueryBody::Select(&select),
        order_by: &[],
        limit: None,
        locking: &[],
        into: None,
        into_is_inner: false,
        span: Span::default(),
    };
    let statement = Statement::Query(&query);
    let summed = until_planned(|| {
        let plan = session.planner().plan_with(&statement, b"", Some(&[]), &session.names().catalog())?;
        // Its definition is that of the plan, whose lock it waits for.
        let Some(table) = plan.physical().tables.first() else { return Ok(0) };
        let mut sink = ChecksumSink::new(&table.entry.definition);
        execution::in_statement(session, &plan, false, |session, in_transaction| {
            context::with_context(session, &plan, &[], |prepared, context| {
                exec::run_query(prepared, context, &mut sink)
            })?;
            if in_transaction { session.tables.end_statement(&session.shared) } else { Ok(()) }
        })?;
        Ok(sink.sum())
    });
    summed.without_requeue()
}
