//! Whether the right server contradicts itself: asked the same under other plans, does it ever answer as the left one does?
//!
//! A statement whose answer depends on the plan has no answer to be compared with. Such a difference is counted and listed by
//! itself (`oracle contradicts itself`), with the plan under which the right server gives the left one's answer.
//!
//! The script of the finding runs again in a database of its own. Its last statement, or what is read of a changed table, is then
//! compared with the left server's answer once for each of [`VARIANTS`]. What is varied must not change what MySQL documents as the
//! answer: optimizer switches, index hints, result modifiers, a subquery as a derived table, the protocol of a statement without
//! parameters.
//!
//! Of descriptions of columns each attribute of each column is asked for by itself, and other rows in the tables
//! are variants as well: a description should not depend on them.

use std::collections::BTreeSet;

use client::{Error, Options};

use crate::ast::{Body, Expr, Query, Rows, Script, Select, Source, Statement};
use crate::compare::{self, Attribute, Difference, Kind, Lenience};
use crate::forms;
use crate::round::{Finding, changed_tables};
use crate::schema::{Column, IndexKind, Table, Type};
use crate::server::{Answer, Server};
use crate::value::Value;
use crate::walk;

/// How a statement is asked again.
pub(crate) enum Variant {
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
    /// With every WHERE and ON so, those of derived tables and subqueries included.
    CoalescedThroughout,
    /// With each subquery of an expression that is a set operation as `SELECT * FROM (subquery)`.
    DerivedSets,
    /// With each subquery of an expression so.
    DerivedSubqueries,
    /// With each side of a set operation that is one itself so.
    DerivedSides,
    /// With each `x IN (a, b)` as `x = a OR x = b`.
    InAsOr,
    /// By the other protocol, without parameters.
    OtherProtocol,
    /// With p of WHERE and ON as (p XOR RAND() > 2), which MySQL does not know to be false or true.
    Unknown,
    /// With more rows in each table.
    MoreRows,
    /// With no rows in each table.
    NoRows,
    /// With the parts of AND and OR in the other order.
    Reversed,
    /// With the tables of inner joins in the other order.
    Swapped,
    /// Both.
    Turned,
}

/// What the right server says when it is asked again.
#[derive(Debug)]
pub enum Verdict {
    /// Under this variant it answers as the left server does.
    Contradicts(&'static str),
    /// It never does; of descriptions of columns, these attributes.
    Stands(Vec<(usize, Attribute)>),
}

impl Variant {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Variant::Switch(text) | Variant::Settings(text) | Variant::Modifier(text) => text,
            Variant::IgnoreIndexes => "IGNORE INDEX",
            Variant::Coalesced => "WHERE COALESCE(..., 0)",
            Variant::CoalescedThroughout => "COALESCE(..., 0) of every WHERE and ON",
            Variant::DerivedSets => "IN (SELECT * FROM (set operation))",
            Variant::DerivedSubqueries => "IN (SELECT * FROM (subquery))",
            Variant::DerivedSides => "UNION (SELECT * FROM (set operation))",
            Variant::InAsOr => "IN (a, b) as = a OR = b",
            Variant::OtherProtocol => "the other protocol",
            Variant::Unknown => "... XOR RAND() > 2",
            Variant::MoreRows => "more rows",
            Variant::NoRows => "no rows",
            Variant::Reversed => "AND and OR reversed",
            Variant::Swapped => "joins swapped",
            Variant::Turned => "AND, OR and joins the other way round",
        }
    }
}

/// Every variant, those that most often show a contradiction first.
pub(crate) const VARIANTS: [Variant; 25] = [
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
    Variant::CoalescedThroughout,
    Variant::Unknown,
    Variant::DerivedSets,
    Variant::DerivedSubqueries,
    Variant::DerivedSides,
    Variant::InAsOr,
    Variant::OtherProtocol,
];

/// More of them for descriptions of columns: those that most often show one come first.
const VARIANTS_OF_COLUMNS: [Variant; 5] = [
    Variant::Modifier("SQL_BUFFER_RESULT"),
    Variant::Modifier("STRAIGHT_JOIN"),
    Variant::Unknown,
    Variant::MoreRows,
    Variant::NoRows,
];

pub(crate) const RESET: &str = "SET optimizer_switch = DEFAULT, optimizer_search_depth = DEFAULT, \
                     internal_tmp_mem_storage_engine = DEFAULT";

/// The right server, asked again.
#[derive(Debug)]
pub struct Oracle {
    server: Server,
    /// What its database was made with; more statements of the same round go on from there.
    loaded: Vec<String>,
}

impl Oracle {
    /// Connects, with a database of this name.
    ///
    /// # Errors
    /// The server is not there.
    pub fn connect(options: &Options, database: &str) -> Result<Oracle, Error> {
        Ok(Oracle { server: Server::connect(options, database)?, loaded: Vec::new() })
    }

    /// Whether there are variants in which the right server answers as the left one did.
    ///
    /// # Errors
    /// A connection broke and did not come back.
    pub fn verdict(&mut self, finding: &Finding, lenience: Lenience) -> Result<Verdict, Error> {
        let mut open = finding.difference.unlike.clone();
        if let Some(warnings) = &finding.difference.warnings {
            let variant = self.warnings_otherwise(finding, warnings)?;
            return Ok(variant.map_or(Verdict::Stands(open), Verdict::Contradicts));
        }
        let Difference { kind, left: Some(left), content_of, .. } = &finding.difference else {
            return Ok(Verdict::Stands(open));
        };
        let Some((last, before)) = finding.script.statements.split_last() else {
            return Ok(Verdict::Stands(open));
        };
        if *kind == Kind::Crash {
            return Ok(Verdict::Stands(open));
        }
        // A query leaves the tables as they are, so they are made once for all variants.
        let is_change = !changed_tables(last).is_empty();
        let of_columns: &[Variant] = if open.is_empty() { &[] } else { &VARIANTS_OF_COLUMNS };
        for variant in of_columns.iter().chain(&VARIANTS) {
            let Some((settings, statement, is_prepared)) =
                varied(variant, last, finding.is_prepared, &finding.script)
            else {
                continue;
            };
            self.load(&finding.script.tables, before)?;
            if is_change {
                self.loaded.clear();
            }
            // A setting that the server does not know leaves the plan as it is.
            self.server.ask(&settings);
            let has_other_rows = matches!(variant, Variant::MoreRows | Variant::NoRows);
            if has_other_rows {
                self.change_rows(&finding.script.tables, matches!(variant, Variant::MoreRows));
            }
            let mut answer = ask(&mut self.server, &statement, is_prepared, finding.is_prepared);
            if let Answer::Broken(_) = answer {
                self.server.reconnect()?;
                self.loaded.clear();
                continue;
            }
            if has_other_rows {
                self.server.ask("ROLLBACK");
            }
            self.server.ask(RESET);
            if let Some(sql) = content_of {
                answer = self.server.ask(sql);
            }
            let is_same = match (left, &answer) {
                (Answer::Rows { columns: left, .. }, Answer::Rows { columns: right, .. })
                    if *kind == Kind::Columns =>
                {
                    let is_open = |(at, attribute): &(usize, Attribute)| match (left.get(*at), right.get(*at))
                    {
                        (Some(left), Some(right)) => !compare::agree(*attribute, left, right),
                        _ => true,
                    };
                    open.retain(is_open);
                    open.is_empty() && left.len() == right.len()
                }
                _ => compare::compare(left, &answer, last, lenience).is_none(),
            };
            if is_same {
                return Ok(Verdict::Contradicts(variant.name()));
            }
        }
        Ok(Verdict::Stands(open))
    }

    /// The plan under which the right server warns as the left one does, or otherwise than it did: where it reads tables, how often
    /// it evaluates what it warns of depends on the plan. The left server then warns of all that the right one warns of under every plan,
    /// and of nothing that it never warns of.
    fn warnings_otherwise(
        &mut self,
        finding: &Finding,
        warnings: &[Vec<String>; 2],
    ) -> Result<Option<&'static str>, Error> {
        let Some((last, before)) = finding.script.statements.split_last() else { return Ok(None) };
        let [left, right] = warnings;
        let lines = |warned: &[String]| warned.iter().cloned().collect::<BTreeSet<String>>();
        let (mut always, mut ever, mut otherwise) = (lines(right), lines(right), None);
        let is_change = !changed_tables(last).is_empty();
        for variant in &VARIANTS {
            let is_plan = matches!(
                variant,
                Variant::Switch(_) | Variant::Settings(_) | Variant::IgnoreIndexes | Variant::Modifier(_)
            );
            let varied = varied(variant, last, finding.is_prepared, &finding.script).filter(|_| is_plan);
            let Some((settings, statement, is_prepared)) = varied else { continue };
            self.load(&finding.script.tables, before)?;
            if is_change {
                self.loaded.clear();
            }
            self.server.ask(&settings);
            let answer = ask(&mut self.server, &statement, is_prepared, finding.is_prepared);
            if let Answer::Broken(_) = answer {
                self.server.reconnect()?;
                self.loaded.clear();
                continue;
            }
            let warned = self.server.warnings();
            self.server.ask(RESET);
            if answer.error().is_some() {
                continue;
            }
            if warned == *left {
                return Ok(Some(variant.name()));
            }
            if warned != *right {
                otherwise = otherwise.or(Some(variant.name()));
            }
            let warned = lines(&warned);
            always.retain(|line| warned.contains(line));
            ever.extend(warned);
        }
        let left = lines(left);
        Ok(otherwise.filter(|_| always.is_subset(&left) && left.is_subset(&ever)))
    }

    /// Other rows in the tables, in a transaction.
    fn change_rows(&mut self, tables: &[Table], has_more: bool) {
        self.server.ask("START TRANSACTION");
        for table in tables {
            self.server.ask(&if has_more { more_rows(table) } else { format!("DELETE FROM {}", table.name) });
        }
    }

    fn load(&mut self, tables: &[Table], statements: &[Statement]) -> Result<(), Error> {
        let mut wanted = Vec::new();
        for table in tables {
            wanted.push(table.create_sql());
            wanted.extend(table.insert_sql());
        }
        wanted.extend(statements.iter().map(Statement::sql));
        if self.loaded.is_empty() || !wanted.starts_with(&self.loaded) {
            self.server.fresh_database()?;
            self.loaded.clear();
        }
        for sql in &wanted[self.loaded.len()..] {
            self.server.ask(sql);
        }
        self.loaded = wanted;
        Ok(())
    }
}

/// An INSERT of rows with values of their own.
pub(crate) fn more_rows(table: &Table) -> String {
    let value = |column: &Column| match &column.column_type {
        Type::Year => "1950 + n",
        Type::Text { .. } | Type::Bytes { .. } => "CONCAT('r', n)",
        Type::Date => "DATE'2001-01-01' + INTERVAL n DAY",
        Type::Time(_) => "SEC_TO_TIME(n)",
        Type::DateTime(_) | Type::Timestamp(_) => "TIMESTAMP'2001-01-01 00:00:00' + INTERVAL n HOUR",
        Type::Enum(_) => "1 + n % 4",
        Type::Set(_) => "n % 16",
        Type::Json => "CAST(n AS JSON)",
        Type::Integer { .. } | Type::Bit(_) | Type::Decimal { .. } | Type::Float | Type::Double => "n",
    };
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let values: Vec<&str> = table.columns.iter().map(value).collect();
    format!(
        "INSERT IGNORE INTO {} ({}) WITH RECURSIVE numbers (n) AS (SELECT 30 UNION ALL SELECT n + 1 FROM numbers \
         WHERE n < 70) SELECT {} FROM numbers",
        table.name,
        names.join(", "),
        values.join(", ")
    )
}

/// The answer to a variant of a statement.
pub(crate) fn ask(
    server: &mut Server,
    statement: &Statement,
    is_prepared: bool,
    was_prepared: bool,
) -> Answer {
    match (is_prepared, was_prepared) {
        (false, _) => server.ask(&statement.sql()),
        (true, false) => server.ask_prepared(&statement.sql(), &[]),
        (true, true) => {
            let (sql, values) = statement.prepared_sql();
            server.ask_prepared(&sql, &values)
        }
    }
}

/// The settings, the statement and whether it is prepared; nothing where the variant does not apply.
pub(crate) fn varied(
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
            if select.modifiers.iter().any(|other| other == modifier) {
                return None;
            }
            select.modifiers.push((*modifier).to_owned());
            Some((RESET.to_owned(), varied, is_prepared))
        }
        Variant::Coalesced => {
            let mut varied = statement.clone();
            coalesce(filter_of(&mut varied)?);
            Some((RESET.to_owned(), varied, is_prepared))
        }
        Variant::CoalescedThroughout => {
            let mut varied = statement.clone();
            walk::query_conditions(query_of(&mut varied)?, &mut coalesce);
            (varied != *statement).then(|| (RESET.to_owned(), varied, is_prepared))
        }
        Variant::DerivedSets => derived(statement, is_prepared, |query| query.select().is_none()),
        Variant::DerivedSubqueries => derived(statement, is_prepared, |_| true),
        Variant::DerivedSides => {
            let mut varied = statement.clone();
            derived_sides(&mut varied);
            (varied != *statement).then(|| (RESET.to_owned(), varied, is_prepared))
        }
        Variant::Unknown => {
            let mut varied = statement.clone();
            let query = query_of(&mut varied)?;
            walk::query_conditions(query, &mut |condition| {
                let zero = Expr::Literal { value: Value::Int(0), is_bound: false };
                let known = std::mem::replace(condition, zero);
                *condition = Expr::Call { form: forms::UNKNOWN, arguments: vec![known] };
            });
            Some((RESET.to_owned(), varied, is_prepared))
        }
        Variant::MoreRows | Variant::NoRows => Some((RESET.to_owned(), statement.clone(), is_prepared)),
        Variant::InAsOr => in_as_or(statement, is_prepared),
        Variant::OtherProtocol => {
            let is_applicable = !is_prepared || statement.prepared_sql().1.is_empty();
            is_applicable.then(|| (RESET.to_owned(), statement.clone(), !is_prepared))
        }
        Variant::Reversed => Some((RESET.to_owned(), turned(statement, false)?, is_prepared)),
        Variant::Swapped => Some((RESET.to_owned(), turned(statement, true)?, is_prepared)),
        Variant::Turned => Some((RESET.to_owned(), turned(&turned(statement, true)?, false)?, is_prepared)),
    }
}

/// The statement with the parts of AND, OR and the tables of inner joins in the other order, whichever is asked for; nothing if it has
/// none.
fn turned(statement: &Statement, turns_joins: bool) -> Option<Statement> {
    let mut turned = statement.clone();
    let mut is_turned = false;
    if turns_joins {
        each_join(&mut turned, &mut |source| {
            if let Source::Join { kind: "JOIN" | "CROSS JOIN", left, right, using, .. } = source
                && using.is_empty()
            {
                std::mem::swap(left, right);
                is_turned = true;
            }
        });
    } else {
        let mut turn = |expr: &mut Expr| {
            if let Expr::Call { form, arguments } = expr
                && (form.template == forms::AND.template || form.template == "({} OR {})")
            {
                arguments.reverse();
                is_turned = true;
            }
        };
        walk::statement_expressions(&mut turned, &mut turn);
    }
    is_turned.then_some(turned)
}

/// Calls `see` with the joins of a statement, those of its subqueries included.
fn each_join(statement: &mut Statement, see: &mut impl FnMut(&mut Source)) {
    match statement {
        Statement::Update { from, .. } | Statement::Delete { from, .. } => source_joins(from, see),
        Statement::Insert { rows: Rows::Query(query), .. } => query_joins(query, see),
        _ => {
            if let Some(query) = query_of(statement) {
                query_joins(query, see);
            }
        }
    }
    walk::statement_expressions(statement, &mut |expr| match expr {
        Expr::Scalar(query)
        | Expr::Exists { query, .. }
        | Expr::InQuery { query, .. }
        | Expr::Quantified { query, .. } => query_joins(query, see),
        _ => {}
    });
}

/// Calls `see` with the joins of a query, but not of the subqueries in its expressions.
fn query_joins(query: &mut Query, see: &mut impl FnMut(&mut Source)) {
    for cte in &mut query.with {
        query_joins(&mut cte.query, see);
    }
    match &mut query.body {
        Body::Select(select) => {
            if let Some(from) = &mut select.from {
                source_joins(from, see);
            }
        }
        Body::Set { left, right, .. } => {
            query_joins(left, see);
            query_joins(right, see);
        }
    }
}

fn source_joins(source: &mut Source, see: &mut impl FnMut(&mut Source)) {
    match source {
        Source::Join { left, right, .. } => {
            source_joins(left, see);
            source_joins(right, see);
            see(source);
        }
        Source::Derived { query, .. } => query_joins(query, see),
        Source::Table { .. } => {}
    }
}

/// The query as a derived table of one that only reads it.
fn within_derived(query: &mut Query, alias: String) {
    let inner = std::mem::replace(query, Query::of(Select::default()));
    let from = Source::Derived { query: Box::new(inner), alias };
    *query = Query::of(Select { from: Some(from), ..Select::default() });
}

/// Sides of set operations that are set operations themselves as derived tables. Not those that MySQL takes for members of the operation
/// around them: a derived table has types of its own, where members get common ones.
fn derived_sides(statement: &mut Statement) {
    fn sides(query: &mut Query, whole: Option<&'static str>, count: &mut usize) {
        let Body::Set { operator, left, right } = &mut query.body else { return };
        let operation = whole.unwrap_or(operator);
        for (side, is_left) in [(left, true), (right, false)] {
            if is_member_itself(side, operation, is_left) {
                sides(side, Some(operation), count);
                continue;
            }
            sides(side, None, count);
            if side.select().is_none() {
                *count += 1;
                within_derived(side, format!("side{count}"));
            }
        }
    }
    /// Whether the members of this side are members of the operation around it.
    fn is_member_itself(side: &Query, operation: &str, is_left: bool) -> bool {
        match side.body {
            Body::Set { .. } if side.limit.is_some() => false,
            Body::Set { operator: "UNION ALL", .. } => {
                matches!(operation, "UNION" | "UNION DISTINCT" | "UNION ALL")
            }
            Body::Set { operator: "UNION" | "UNION DISTINCT", .. } => {
                matches!(operation, "UNION" | "UNION DISTINCT")
            }
            Body::Set { operator, .. } => is_left && operator == operation,
            Body::Select(_) => false,
        }
    }
    let mut count = 0;
    walk::statement_expressions(statement, &mut |expr| {
        if let Expr::Scalar(query)
        | Expr::Exists { query, .. }
        | Expr::InQuery { query, .. }
        | Expr::Quantified { query, .. } = expr
        {
            sides(query, None, &mut count);
        }
    });
    if let Some(query) = query_of(statement) {
        sides(query, None, &mut count);
    }
}

/// p as COALESCE(p, 0), which is false where p is NULL.
fn coalesce(condition: &mut Expr) {
    let Some(form) = forms::by_template("COALESCE({}, {})") else { return };
    let zero = Expr::Literal { value: Value::Int(0), is_bound: false };
    let arguments = vec![std::mem::replace(condition, zero.clone()), zero];
    *condition = Expr::Call { form, arguments };
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
            within_derived(query, format!("kept{count}"));
        }
    });
    (count > 0).then(|| (RESET.to_owned(), varied, is_prepared))
}

/// Lists of IN as disjunctions; nothing if there is none.
fn in_as_or(statement: &Statement, is_prepared: bool) -> Option<(String, Statement, bool)> {
    let (equal, or, not) = (
        forms::by_template("({} = {})")?,
        forms::by_template("({} OR {})")?,
        forms::by_template("(NOT {})")?,
    );
    let mut varied = statement.clone();
    let mut count = 0;
    walk::statement_expressions(&mut varied, &mut |expr| {
        let Expr::In { left, list, is_negated } = expr else { return };
        let compared =
            list.drain(..).map(|item| Expr::Call { form: equal, arguments: vec![(**left).clone(), item] });
        let Some(any) = compared.reduce(|any, next| Expr::Call { form: or, arguments: vec![any, next] })
        else {
            return;
        };
        *expr = if *is_negated { Expr::Call { form: not, arguments: vec![any] } } else { any };
        count += 1;
    });
    (count > 0).then(|| (RESET.to_owned(), varied, is_prepared))
}

fn query_of(statement: &mut Statement) -> Option<&mut Query> {
    match statement {
        Statement::Query(query) | Statement::CreateSelect { query, .. } => Some(query),
        Statement::Insert { rows: Rows::Query(query), .. } => Some(query),
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
