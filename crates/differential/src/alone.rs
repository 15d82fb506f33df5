//! Checks of one server without another one to compare with.
//!
//! Each query of [`Plain`] is answered several times, and all answers must be the same rows:
//!
//! | check | what is compared |
//! | --- | --- |
//! | `interpreter` | the rows that the naive [`Interpreter`] computes |
//! | the name of a peer | the rows of another server with the same tables, such as one whose batches hold one row |
//! | a name of [`SETTINGS`] | the rows under session settings that force other operators, or make them spill |
//! | `no indexes`, `first index`, `last index`, `straight` | the rows with index hints on every table, or with the join order as written |
//! | a name of [`HINTED`] | the rows with optimizer hints and flags of `optimizer_switch` at random |
//! | `prepared` | the rows of the statement prepared, its literals parameters |
//! | `partition` | without its WHERE: the rows for which it is true, false and unknown, put together |
//! | `no optimisation` | COUNT(*) WHERE p, against the sum of `p IS TRUE` over all rows |

use std::fmt;

use client::{Error, Options};

use crate::ast::{Body, Expr, Item, Query, Select, Source, Statement};
use crate::collation::{COLLATIONS, Collation};
use crate::forms;
use crate::hints;
use crate::interpreter::{Datum, Interpreter};
use crate::plain::Plain;
use crate::random::Random;
use crate::schema::Table;
use crate::server::{self, Cells, Server, show_row};
use crate::value::Value;

/// Session settings that force other plans, with their names.
pub const SETTINGS: [(&str, &str); 9] = [
    ("no semijoin", "SET optimizer_switch = 'semijoin=off'"),
    ("no hash join", "SET optimizer_switch = 'block_nested_loop=off'"),
    ("no member sets", "SET optimizer_switch = 'materialization=off'"),
    ("no group order", "SET optimizer_switch = 'prefer_ordering_index=off'"),
    ("no early conditions", "SET optimizer_switch = 'engine_condition_pushdown=off'"),
    ("groups", "SET optimizer_switch = 'subquery_to_derived=on'"),
    ("no pushdown", "SET optimizer_switch = 'derived_condition_pushdown=off,semijoin=off'"),
    (
        "pairs of rows",
        "SET optimizer_switch = 'derived_condition_pushdown=off,semijoin=off,block_nested_loop=off'",
    ),
    (
        "spill",
        "SET sort_buffer_size = 32768, join_buffer_size = 128, tmp_table_size = 1024, max_heap_table_size = 16384",
    ),
];
const RESET: &str = "SET optimizer_switch = DEFAULT, sort_buffer_size = DEFAULT, join_buffer_size = DEFAULT, \
                     tmp_table_size = DEFAULT, max_heap_table_size = DEFAULT";

/// Checks with random hints: each is another choice of them.
pub const HINTED: [&str; 3] = ["hints 1", "hints 2", "hints 3"];

/// Errors that depend on which rows an expression is computed for, which a plan may choose: out of range,
/// division by zero, a subquery of more than one row; and the end of the time given.
const ERRORS_OF_ROWS: [u16; 4] = [1690, 1365, 1242, 3024];

/// Errors of a broken invariant in the server: wrong whatever the other answers are.
const INTERNAL_ERRORS: [u16; 2] = [1105, 1815];

/// How long a query may run; a longer one is not compared.
const QUERY_TIME_MAX: &str = "SET max_execution_time = 2000";
/// Candidates that one finding is cut down by.
const MINIMISE_STATEMENTS_MAX: u32 = 1500;

/// Two answers of a query that should be the same.
#[derive(Debug)]
pub struct Finding {
    /// The seed of the round.
    pub seed: u64,
    /// Which check.
    pub check: String,
    /// The tables.
    pub tables: Vec<Table>,
    /// The query.
    pub query: Query,
    /// The statements whose answers should be the same, if they are more than the query.
    pub sql: String,
    /// What was expected and what came.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "-- seed {}, check `{}`: {}", self.seed, self.check, self.what)?;
        setup(&self.tables).iter().try_for_each(|sql| writeln!(out, "{sql};"))?;
        writeln!(out, "{};", self.sql)
    }
}

fn setup(tables: &[Table]) -> Vec<String> {
    let mut all = Vec::new();
    for table in tables {
        all.push(format!("DROP TABLE IF EXISTS {}", table.name));
        all.push(table.create_sql());
        all.extend(table.insert_sql());
    }
    all
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Statements sent.
    pub statements: u64,
    /// Queries that the interpreter answered, too.
    pub interpreted: u64,
    /// Queries that ended with an error in every plan.
    pub failed: u64,
    /// Rows of the queries as they were written.
    pub rows: u64,
}

impl Tally {
    /// Adds those of another round.
    pub fn add(&mut self, other: Tally) {
        self.statements += other.statements;
        self.interpreted += other.interpreted;
        self.failed += other.failed;
        self.rows += other.rows;
    }
}

/// Runs the rounds of these seeds, each of `queries` queries, in this database. At most one finding a query is kept, made smaller
/// as far as it stays one.
///
/// # Errors
/// The connection's; the server's own errors are answers.
pub fn run(
    options: &Options,
    database: &str,
    seeds: std::ops::Range<u64>,
    queries: usize,
    findings: &mut Vec<Finding>,
) -> Result<Tally, Error> {
    let mut checker = Checker::connect(options, &[], database)?;
    for seed in seeds {
        let found = checker.round(seed, queries, true, None)?;
        findings.extend(found);
    }
    Ok(checker.tally)
}

/// As [`run`], over several servers: `peers` are further ones, by name, that must answer as the first does.
///
/// # Errors
/// As [`run`].
pub fn run_with_peers(
    options: &Options,
    peers: &[(String, Options)],
    database: &str,
    seeds: std::ops::Range<u64>,
    queries: usize,
) -> Result<(Tally, Vec<Finding>), Error> {
    let mut checker = Checker::connect(options, peers, database)?;
    let mut findings = Vec::new();
    for seed in seeds {
        findings.extend(checker.round(seed, queries, true, None)?);
    }
    Ok((checker.tally, findings))
}

/// The first finding, not minimised, and the number of statements sent before it. No round starts once the given number has been sent.
///
/// # Errors
/// As [`run`].
pub fn first_finding(
    options: &Options,
    database: &str,
    first_seed: u64,
    queries: usize,
    statements_max: u64,
) -> Result<(u64, Option<Finding>), Error> {
    let mut checker = Checker::connect(options, &[], database)?;
    for seed in first_seed.. {
        if checker.tally.statements >= statements_max {
            break;
        }
        if let Some(found) = checker.round(seed, queries, false, Some(1))?.pop() {
            return Ok((checker.tally.statements, Some(found)));
        }
    }
    Ok((checker.tally.statements, None))
}

/// One check that failed.
struct Failed {
    check: String,
    sql: String,
    what: String,
}

/// The connection broke, or an answer did not come.
struct Broken(String);

struct Checker {
    server: Server,
    /// Servers that must give the same rows, by name.
    peers: Vec<(String, Server)>,
    collation: Collation,
    tables: Vec<Table>,
    tally: Tally,
    /// From which the hints of the query are chosen.
    hint_seed: u64,
}

impl Checker {
    fn connect(options: &Options, peers: &[(String, Options)], database: &str) -> Result<Checker, Error> {
        let peers =
            peers.iter().map(|(name, options)| Ok((name.clone(), Server::connect(options, database)?)));
        Ok(Checker {
            server: Server::connect(options, database)?,
            peers: peers.collect::<Result<_, Error>>()?,
            collation: COLLATIONS[0],
            tables: Vec::new(),
            tally: Tally::default(),
            hint_seed: 0,
        })
    }

    /// Runs the queries of a seed until the given number of findings is reached.
    fn round(
        &mut self,
        seed: u64,
        queries: usize,
        is_minimising: bool,
        findings_max: Option<usize>,
    ) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        let mut plain = Plain::new(seed);
        self.collation = plain.collation();
        self.load(plain.tables().to_vec())?;
        for at in 0..queries {
            self.hint_seed = seed.wrapping_mul(1_000_003).wrapping_add((at * HINTED.len()) as u64);
            if findings_max.is_some_and(|most| findings.len() >= most) {
                break;
            }
            let query = plain.query();
            let tables = plain.tables().to_vec();
            let failed = match self.check(&query, None) {
                Ok(failed) => failed,
                Err(Broken(what)) => {
                    self.reconnect()?;
                    let (check, sql) = ("answer".to_owned(), Statement::Query(query.clone()).sql());
                    findings.push(Finding { seed, check, tables, query, sql, what });
                    continue;
                }
            };
            if let Some(found) = failed.into_iter().next() {
                let finding =
                    Finding { seed, check: found.check, tables, query, sql: found.sql, what: found.what };
                if is_minimising {
                    findings.push(self.minimise(finding)?);
                    self.load(plain.tables().to_vec())?;
                } else {
                    findings.push(finding);
                }
            }
        }
        Ok(findings)
    }

    /// Fills the database with these tables alone.
    fn load(&mut self, tables: Vec<Table>) -> Result<(), Error> {
        let names = format!("SET NAMES utf8mb4 COLLATE {}", self.collation.name);
        for server in std::iter::once(&mut self.server).chain(self.peers.iter_mut().map(|peer| &mut peer.1)) {
            server.fresh_database()?;
            let connection = server.connection();
            connection.run(names.as_bytes())?;
            connection.run(QUERY_TIME_MAX.as_bytes())?;
            for sql in setup(&tables) {
                connection.run(sql.as_bytes())?;
            }
        }
        self.tables = tables;
        Ok(())
    }

    /// Goes on with another connection.
    fn reconnect(&mut self) -> Result<(), Error> {
        self.server.reconnect()?;
        for (_, server) in &mut self.peers {
            server.reconnect()?;
        }
        let tables = std::mem::take(&mut self.tables);
        self.load(tables)
    }

    /// All checks of a query that fail, or only this one.
    fn check(&mut self, query: &Query, only: Option<&str>) -> Result<Vec<Failed>, Broken> {
        let mut failed = Vec::new();
        let is_wanted = |name: &str| only.is_none_or(|only| only == name);
        let sql = Statement::Query(query.clone()).sql();
        let written = self.rows(&sql)?;
        match &written {
            Ok(rows) => self.tally.rows += rows.len() as u64,
            Err(_) => self.tally.failed += 1,
        }
        if let Err((number, message)) = &written
            && INTERNAL_ERRORS.contains(number)
            && is_wanted("answer")
        {
            let what = format!("found error {number} {message}");
            failed.push(Failed { check: "answer".to_owned(), sql: sql.clone(), what });
        }
        let is_ordered = query.order.len() == width(query) && !query.order.is_empty();
        let mut compare = |check: &str, sql: &str, expected: &Answer, found: &Answer| {
            if let Some(what) = difference(expected, found, is_ordered && check != "partition") {
                failed.push(Failed { check: check.to_owned(), sql: sql.to_owned(), what });
            }
        };
        if is_wanted("interpreter")
            && written.is_ok()
            && let Ok(expected) = Interpreter::new(&self.tables, self.collation).run(query)
        {
            self.tally.interpreted += 1;
            let row = |row: &Vec<Datum>| {
                row.iter().map(|datum: &Datum| datum.shown().map(String::into_bytes)).collect::<Cells>()
            };
            let expected: Vec<Cells> = expected.rows.iter().map(row).collect();
            compare("interpreter", &sql, &Ok(expected), &written);
        }
        for (name, set) in SETTINGS.into_iter().filter(|(name, _)| is_wanted(name)) {
            self.rows(set)?.map_err(|error| Broken(error.1))?;
            let other = self.rows(&sql)?;
            self.rows(RESET)?.map_err(|error| Broken(error.1))?;
            compare(name, &format!("{set};\n{sql}"), &written, &other);
        }
        for (at, name) in HINTED.into_iter().enumerate().filter(|(_, name)| is_wanted(name)) {
            let mut random = Random::new(self.hint_seed.wrapping_add(at as u64));
            let mut statement = Statement::Query(query.clone());
            hints::scatter(&mut statement, &self.tables, &mut random);
            let (switch, hinted) = (hints::switch(&mut random), statement.sql());
            self.rows(&switch)?.map_err(|error| Broken(error.1))?;
            let other = self.rows(&hinted)?;
            self.rows(RESET)?.map_err(|error| Broken(error.1))?;
            compare(name, &format!("{switch};\n{hinted}"), &written, &other);
        }
        for (name, other) in hinted(query, &self.tables).into_iter().filter(|(name, _)| is_wanted(name)) {
            let hinted = Statement::Query(other).sql();
            let other = self.rows(&hinted)?;
            compare(name, &format!("{sql};\n{hinted}"), &written, &other);
        }
        for at in 0..self.peers.len() {
            let name = self.peers[at].0.clone();
            if is_wanted(&name) {
                self.tally.statements += 1;
                let other = rows_of(self.peers[at].1.ask(&sql), self.collation)?;
                compare(&name, &sql, &written, &other);
            }
        }
        if is_wanted("prepared") {
            let other = self.prepared_rows(query)?;
            compare("prepared", &sql, &written, &other);
        }
        if is_wanted("partition")
            && let Some((sql, whole, parts)) = self.partition(query)?
        {
            compare("partition", &sql, &whole, &parts);
        }
        if is_wanted("no optimisation")
            && let Some((sql, counted, summed)) = self.no_optimisation(query)?
        {
            compare("no optimisation", &sql, &counted, &summed);
        }
        Ok(failed)
    }

    /// The rows of a SELECT without WHERE are those for which it is true, false and unknown.
    fn partition(&mut self, query: &Query) -> Result<Option<(String, Answer, Answer)>, Broken> {
        let Some((select, filter)) = plain_select(query) else { return Ok(None) };
        let whole = Select { filter: None, ..select.clone() };
        let part = |template: &str| {
            let filter = Expr::Call { form: form(template), arguments: vec![filter.clone()] };
            Select { filter: Some(filter), ..select.clone() }
        };
        let parts = [select.clone(), part("(NOT {})"), part("({} IS NULL)")];
        let mut texts = vec![Statement::Query(within(query, whole)).sql()];
        let whole = self.rows(&texts[0])?;
        let mut together = Vec::new();
        for part in parts {
            let sql = Statement::Query(within(query, part)).sql();
            let answer = self.rows(&sql)?;
            texts.push(sql);
            match answer {
                Ok(rows) => together.extend(rows),
                Err(error) => return Ok(Some((texts.join(";\n"), whole, Err(error)))),
            }
        }
        let together = if select.is_distinct { distinct(together) } else { together };
        Ok(Some((texts.join(";\n"), whole, Ok(together))))
    }

    /// The optimizer works on conditions in WHERE, not in a select list.
    fn no_optimisation(&mut self, query: &Query) -> Result<Option<(String, Answer, Answer)>, Broken> {
        let Some((select, filter)) = plain_select(query) else { return Ok(None) };
        let aggregate = |function, arguments| Expr::Aggregate {
            function,
            is_distinct: false,
            arguments,
            order: Vec::new(),
            separator: None,
        };
        let item = |expr| vec![Item { expr, alias: None }];
        let count =
            Select { items: item(aggregate("COUNT", Vec::new())), is_distinct: false, ..select.clone() };
        let is_true = Expr::Call { form: form("({} IS TRUE)"), arguments: vec![filter.clone()] };
        let sum = aggregate("SUM", vec![is_true]);
        let sum =
            Expr::Call { form: form("IFNULL({}, {})"), arguments: vec![sum, Expr::literal(Value::Int(0))] };
        let sum = Select { items: item(sum), filter: None, is_distinct: false, ..select.clone() };
        let sql = Statement::Query(within(query, count)).sql();
        let counted = self.rows(&sql)?;
        let other = Statement::Query(within(query, sum)).sql();
        let summed = self.rows(&other)?;
        Ok(Some((format!("{sql};\n{other}"), counted, summed)))
    }

    /// Cuts the query, then the rows and indexes, as long as the check fails.
    fn minimise(&mut self, mut finding: Finding) -> Result<Finding, Error> {
        let mut left = MINIMISE_STATEMENTS_MAX;
        loop {
            let mut candidates = Vec::new();
            crate::walk::smaller_query(&finding.query, &mut |query| candidates.push(query));
            let mut is_smaller = false;
            for query in candidates {
                left = left.saturating_sub(1);
                if left == 0 {
                    return Ok(finding);
                }
                let Ok(failed) = self.check(&query, Some(&finding.check)) else {
                    self.reconnect()?;
                    continue;
                };
                if let Some(failed) = failed.into_iter().find(|failed| is_alike(failed, &finding)) {
                    (finding.query, finding.sql, finding.what) = (query, failed.sql, failed.what);
                    is_smaller = true;
                    break;
                }
            }
            if !is_smaller {
                break;
            }
        }
        for at in (0..finding.tables.len()).rev() {
            let cuts = finding.tables[at].rows.len() + finding.tables[at].indexes.len();
            for cut in (0..cuts).rev() {
                left = left.saturating_sub(1);
                let mut tables = finding.tables.clone();
                match cut.checked_sub(tables[at].indexes.len()) {
                    Some(row) => drop(tables[at].rows.remove(row)),
                    None => drop(tables[at].indexes.remove(cut)),
                }
                self.load(tables.clone())?;
                if left > 0
                    && let Ok(failed) = self.check(&finding.query, Some(&finding.check))
                    && let Some(failed) = failed.into_iter().find(|failed| is_alike(failed, &finding))
                {
                    (finding.tables, finding.sql, finding.what) = (tables, failed.sql, failed.what);
                }
            }
        }
        let text = finding.sql.clone();
        finding.tables.retain(|table| text.contains(&format!("{} ", table.name)));
        Ok(finding)
    }

    fn rows(&mut self, sql: &str) -> Result<Answer, Broken> {
        self.tally.statements += 1;
        rows_of(self.server.ask(sql), self.collation)
    }

    fn prepared_rows(&mut self, query: &Query) -> Result<Answer, Broken> {
        self.tally.statements += 1;
        let (sql, values) = Statement::Query(query.clone()).prepared_sql();
        rows_of(self.server.ask_prepared(&sql, &values), self.collation)
    }
}

/// Rows, or the number and text of an error.
type Answer = Result<Vec<Cells>, (u16, String)>;

/// The answer with cells [folded](Collation::fold_cell): which of several equal values a group shows is the plan's choice.
fn rows_of(answer: server::Answer, collation: Collation) -> Result<Answer, Broken> {
    let fold = |row: Cells| row.into_iter().map(|cell| cell.map(|cell| collation.fold_cell(cell))).collect();
    match answer {
        server::Answer::Rows { rows, .. } => Ok(Ok(rows.into_iter().map(fold).collect())),
        server::Answer::Done { .. } => Ok(Ok(Vec::new())),
        server::Answer::Refused { number, message } => Ok(Err((number, message))),
        server::Answer::Broken(why) => Err(Broken(why)),
    }
}

/// Whether both are about rows, or both about an error: a cut may make a query wrong by itself.
fn is_alike(failed: &Failed, finding: &Finding) -> bool {
    let is_error = |what: &str| what.contains("error ");
    is_error(&failed.what) == is_error(&finding.what)
}

/// The same query with hints, by the names of the checks.
fn hinted(query: &Query, tables: &[Table]) -> Vec<(&'static str, Query)> {
    let names = |name: &str| {
        tables.iter().find(|table| table.name == name).map(index_names).filter(|names| !names.is_empty())
    };
    let mut none = query.clone();
    hint_tables(&mut none, &mut |name| {
        names(name).map(|names| format!("IGNORE INDEX ({})", names.join(", ")))
    });
    let forced = |choose: fn(&[String]) -> usize| {
        let mut query = query.clone();
        hint_tables(&mut query, &mut |name| {
            names(name).map(|names| format!("FORCE INDEX ({})", names[choose(&names)]))
        });
        query
    };
    let (first, last) = (forced(|_| 0), forced(|names| names.len() - 1));
    let mut straight = query.clone();
    if let Body::Select(select) = &mut straight.body {
        select.modifiers.push("STRAIGHT_JOIN".to_owned());
    }
    vec![("no indexes", none), ("first index", first), ("last index", last), ("straight", straight)]
}

/// What is different, if anything is.
fn difference(expected: &Answer, found: &Answer, is_ordered: bool) -> Option<String> {
    match (expected, found) {
        (Ok(expected), Ok(found)) => {
            let (mut expected, mut found) = (expected.clone(), found.clone());
            if !is_ordered {
                expected.sort();
                found.sort();
            }
            (expected != found).then(|| format!("expected {}, found {}", shown(&expected), shown(&found)))
        }
        (Err(expected), Err(found)) if expected.0 == found.0 => None,
        (Err(error), _) | (_, Err(error)) if ERRORS_OF_ROWS.contains(&error.0) => None,
        (Err(error), _) => Some(format!("expected error {} {}", error.0, error.1)),
        (_, Err(error)) => Some(format!("found error {} {}", error.0, error.1)),
    }
}

fn shown(rows: &[Cells]) -> String {
    let first = rows.iter().take(20).map(|row| format!("({})", show_row(row))).collect::<Vec<_>>().join(" ");
    format!("{} rows {first}", rows.len())
}

fn distinct(mut rows: Vec<Cells>) -> Vec<Cells> {
    rows.sort();
    rows.dedup();
    rows
}

fn form(template: &str) -> &'static forms::Form {
    forms::by_template(template).expect("a form of the table")
}

fn width(query: &Query) -> usize {
    match &query.body {
        Body::Select(select) => select.items.len(),
        Body::Set { left, .. } => width(left),
    }
}

/// A SELECT with a WHERE whose rows do not depend on each other, and the WHERE.
fn plain_select(query: &Query) -> Option<(&Select, &Expr)> {
    let select = query.select()?;
    let is_plain = query.limit.is_none() && select.group.is_empty() && select.having.is_none();
    // What a window function gives depends on the other rows.
    let has_aggregate = select
        .items
        .iter()
        .any(|item| crate::interpreter::has_aggregate(&item.expr) || has_window(&item.expr));
    let filter = select.filter.as_ref()?;
    (is_plain && !has_aggregate).then_some((select, filter))
}

fn has_window(expr: &Expr) -> bool {
    let mut found = false;
    let mut copy = expr.clone();
    crate::walk::expressions(&mut copy, &mut |node| found |= matches!(node, Expr::Window { .. }));
    found
}

/// The query with another SELECT, in no order.
fn within(query: &Query, select: Select) -> Query {
    Query { body: Body::Select(Box::new(select)), order: Vec::new(), order_checked: 0, ..query.clone() }
}

fn index_names(table: &Table) -> Vec<String> {
    let name = |index: &crate::schema::Index| match index.kind {
        crate::schema::IndexKind::Primary => "PRIMARY".to_owned(),
        _ => index.name.clone(),
    };
    table.indexes.iter().map(name).collect()
}

/// Gives each table of the FROM clauses the hint that `hint` has for its name.
fn hint_tables(query: &mut Query, hint: &mut dyn FnMut(&str) -> Option<String>) {
    query.with.iter_mut().for_each(|cte| hint_tables(&mut cte.query, hint));
    match &mut query.body {
        Body::Select(select) => {
            if let Some(from) = &mut select.from {
                hint_source(from, hint);
            }
        }
        Body::Set { left, right, .. } => {
            hint_tables(left, hint);
            hint_tables(right, hint);
        }
    }
}

fn hint_source(source: &mut Source, hint: &mut dyn FnMut(&str) -> Option<String>) {
    match source {
        Source::Table { name, hint: own, .. } => *own = hint(name),
        Source::JsonTable { .. } => {}
        Source::Derived { query, .. } => hint_tables(query, hint),
        Source::Join { left, right, .. } => {
            hint_source(left, hint);
            hint_source(right, hint);
        }
    }
}
