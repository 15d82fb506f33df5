//! Whether the right server contradicts itself: asked the same under other plans, does it ever answer as the left one does?
//!
//! A statement whose answer depends on the plan has no answer to be compared with. Such a difference is counted and listed by
//! itself (`oracle contradicts itself`), with the plan under which the right server gives the left one's answer.
//!
//! The script of the finding runs again in a database of its own. Its last statement, or what is read of a changed table, is then
//! compared with the left server's answer once for each of [`VARIANTS`]. What is varied must not change what MySQL documents as the
//! answer: optimizer switches, index hints, result modifiers, a subquery as a derived table, the protocol of a statement without
//! parameters.

use client::{Error, Options};

use crate::ast::{Body, Expr, Query, Script, Select, Source, Statement};
use crate::compare::{self, Difference, Kind, Lenience};
use crate::forms;
use crate::round::{Finding, changed_tables};
use crate::schema::{IndexKind, Table};
use crate::server::{Answer, Server};
use crate::value::Value;
use crate::walk;

/// How a statement is asked again.
enum Variant {
    /// Under this value of `optimizer_switch`.
    Switch(&'static str),
    /// Under these session settings.
    Settings(&'static str),
    /// Without the tables' indexes.
    IgnoreIndexes,
    /// With this modifier after the first SELECT.
    Modifier(&'static str),
    /// With WHERE (p) as WHERE COALESCE(p, 0): no row more or less, but nothing is concluded from p.
    Coalesced,
    /// With each subquery of an expression that is a set operation as `SELECT * FROM (subquery)`.
    DerivedSets,
    /// With each subquery of an expression so.
    DerivedSubqueries,
    /// By the other protocol, without parameters.
    OtherProtocol,
}

impl Variant {
    fn name(&self) -> &'static str {
        match self {
            Variant::Switch(text) | Variant::Settings(text) | Variant::Modifier(text) => text,
            Variant::IgnoreIndexes => "IGNORE INDEX",
            Variant::Coalesced => "WHERE COALESCE(..., 0)",
            Variant::DerivedSets => "IN (SELECT * FROM (set operation))",
            Variant::DerivedSubqueries => "IN (SELECT * FROM (subquery))",
            Variant::OtherProtocol => "the other protocol",
        }
    }
}

/// Every variant, those that most often show a contradiction first.
const VARIANTS: [Variant; 21] = [
    Variant::Switch("DEFAULT"),
    Variant::Switch("derived_merge=off"),
    Variant::Switch("hypergraph_optimizer=on"),
    Variant::IgnoreIndexes,
    Variant::Switch("derived_condition_pushdown=off"),
    Variant::Switch("semijoin=off"),
    Variant::Switch("materialization=off"),
    Variant::Switch("semijoin=off,materialization=off"),
    Variant::Switch("semijoin=off,subquery_materialization_cost_based=off"),
    Variant::Switch("subquery_to_derived=on"),
    Variant::Switch("block_nested_loop=off"),
    Variant::Switch("hash_set_operations=off"),
    Variant::Switch(
        "index_merge=off,index_condition_pushdown=off,mrr=off,skip_scan=off,use_index_extensions=off",
    ),
    Variant::Settings("optimizer_search_depth = 1, optimizer_switch = 'condition_fanout_filter=off'"),
    Variant::Settings("internal_tmp_mem_storage_engine = MEMORY"),
    Variant::Modifier("SQL_BIG_RESULT"),
    Variant::Modifier("SQL_BUFFER_RESULT"),
    Variant::Coalesced,
    Variant::DerivedSets,
    Variant::DerivedSubqueries,
    Variant::OtherProtocol,
];

const RESET: &str = "SET optimizer_switch = DEFAULT, optimizer_search_depth = DEFAULT, \
                     internal_tmp_mem_storage_engine = DEFAULT";

/// The right server, asked again.
#[derive(Debug)]
pub struct Oracle {
    server: Server,
}

impl Oracle {
    /// Connects, with a database of this name.
    ///
    /// # Errors
    /// The server is not there.
    pub fn connect(options: &Options, database: &str) -> Result<Oracle, Error> {
        Ok(Oracle { server: Server::connect(options, database)? })
    }

    /// The variant in which the right server answers as the left one did, if there is one.
    ///
    /// # Errors
    /// A connection broke and did not come back.
    pub fn contradiction(
        &mut self,
        finding: &Finding,
        lenience: Lenience,
    ) -> Result<Option<&'static str>, Error> {
        let Difference { kind, left: Some(left), content_of, .. } = &finding.difference else {
            return Ok(None);
        };
        let Some((last, before)) = finding.script.statements.split_last() else { return Ok(None) };
        if *kind == Kind::Crash {
            return Ok(None);
        }
        // A query leaves the tables as they are, so they are made once for all variants.
        let is_change = !changed_tables(last).is_empty();
        let mut is_loaded = false;
        for variant in &VARIANTS {
            let Some((settings, statement, is_prepared)) =
                varied(variant, last, finding.is_prepared, &finding.script)
            else {
                continue;
            };
            if is_change || !is_loaded {
                self.load(&finding.script.tables, before)?;
                is_loaded = true;
            }
            // A setting that the server does not know leaves the plan as it is.
            self.server.ask(&settings);
            let mut answer = match (is_prepared, finding.is_prepared) {
                (false, _) => self.server.ask(&statement.sql()),
                (true, false) => self.server.ask_prepared(&statement.sql(), &[]),
                (true, true) => {
                    let (sql, values) = statement.prepared_sql();
                    self.server.ask_prepared(&sql, &values)
                }
            };
            if let Answer::Broken(_) = answer {
                self.server.reconnect()?;
                is_loaded = false;
                continue;
            }
            self.server.ask(RESET);
            if let Some(sql) = content_of {
                answer = self.server.ask(sql);
            }
            if compare::compare(left, &answer, last, lenience).is_none() {
                return Ok(Some(variant.name()));
            }
        }
        Ok(None)
    }

    fn load(&mut self, tables: &[Table], statements: &[Statement]) -> Result<(), Error> {
        self.server.fresh_database()?;
        for table in tables {
            self.server.ask(&table.create_sql());
            if let Some(sql) = table.insert_sql() {
                self.server.ask(&sql);
            }
        }
        for statement in statements {
            self.server.ask(&statement.sql());
        }
        Ok(())
    }
}

/// The settings, the statement and whether it is prepared; nothing where the variant does not apply.
fn varied(
    variant: &Variant,
    statement: &Statement,
    is_prepared: bool,
    script: &Script,
) -> Option<(String, Statement, bool)> {
    match variant {
        Variant::Switch(switch) => {
            Some((format!("SET optimizer_switch = '{switch}'"), statement.clone(), is_prepared))
        }
        Variant::Settings(settings) => Some((format!("SET {settings}"), statement.clone(), is_prepared)),
        Variant::IgnoreIndexes => {
            let mut varied = statement.clone();
            let query = query_of(&mut varied)?;
            walk::query_tables(query, &mut |source| {
                if let Source::Table { name, hint, .. } = source {
                    *hint = script.tables.iter().find(|table| table.name == *name).and_then(ignored);
                }
            });
            Some((RESET.to_owned(), varied, is_prepared))
        }
        Variant::Modifier(modifier) => {
            let mut varied = statement.clone();
            let Query { body: Body::Select(select), .. } = query_of(&mut varied)? else { return None };
            select.modifiers.push((*modifier).to_owned());
            Some((RESET.to_owned(), varied, is_prepared))
        }
        Variant::Coalesced => {
            let mut varied = statement.clone();
            let filter = filter_of(&mut varied)?;
            let form = forms::by_template("COALESCE({}, {})")?;
            let zero = Expr::Literal { value: Value::Int(0), is_bound: false };
            let condition = std::mem::replace(filter, zero.clone());
            *filter = Expr::Call { form, arguments: vec![condition, zero] };
            Some((RESET.to_owned(), varied, is_prepared))
        }
        Variant::DerivedSets => derived(statement, is_prepared, |query| query.select().is_none()),
        Variant::DerivedSubqueries => derived(statement, is_prepared, |_| true),
        Variant::OtherProtocol => {
            let is_applicable = !is_prepared || statement.prepared_sql().1.is_empty();
            is_applicable.then(|| (RESET.to_owned(), statement.clone(), !is_prepared))
        }
    }
}

/// The subqueries of expressions that `is_meant` as derived tables; nothing if there is none.
fn derived(
    statement: &Statement,
    is_prepared: bool,
    is_meant: impl Fn(&Query) -> bool,
) -> Option<(String, Statement, bool)> {
    let mut varied = statement.clone();
    let mut count = 0;
    walk::statement_expressions(&mut varied, &mut |expr| {
        if let Expr::Scalar(query)
        | Expr::Exists { query, .. }
        | Expr::InQuery { query, .. }
        | Expr::Quantified { query, .. } = expr
            && is_meant(query)
        {
            count += 1;
            let rows = Query::of(Select::default());
            let inner = std::mem::replace(&mut **query, rows);
            let from = Source::Derived { query: Box::new(inner), alias: format!("kept{count}") };
            **query = Query::of(Select { from: Some(from), ..Select::default() });
        }
    });
    (count > 0).then(|| (RESET.to_owned(), varied, is_prepared))
}

fn query_of(statement: &mut Statement) -> Option<&mut Query> {
    match statement {
        Statement::Query(query) | Statement::CreateSelect { query, .. } => Some(query),
        _ => None,
    }
}

fn filter_of(statement: &mut Statement) -> Option<&mut Expr> {
    match statement {
        Statement::Query(Query { body: Body::Select(select), .. })
        | Statement::CreateSelect { query: Query { body: Body::Select(select), .. }, .. } => {
            select.filter.as_mut()
        }
        Statement::Update { filter, .. } | Statement::Delete { filter, .. } => filter.as_mut(),
        _ => None,
    }
}

/// The hint that leaves a table without indexes.
fn ignored(table: &Table) -> Option<String> {
    let name = |index: &crate::schema::Index| match index.kind {
        IndexKind::Primary => "PRIMARY".to_owned(),
        _ => index.name.clone(),
    };
    let names: Vec<String> = table.indexes.iter().map(name).collect();
    (!names.is_empty()).then(|| format!("IGNORE INDEX ({})", names.join(", ")))
}
