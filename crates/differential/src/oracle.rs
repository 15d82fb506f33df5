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

use crate::ast::{Body, Cte, Expr, Query, Rows, Script, Select, Source, Statement};
use crate::compare::{self, Attribute, Difference, Kind, Lenience};
use crate::forms;
use crate::round::{Finding, changed_tables, database_sql};
use crate::schema::{Column, IndexKind, Table, Type};
use crate::server::{Answer, Server};
use crate::value::Value;
use crate::walk;

mod groups;
mod hidden;

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
    /// A change of rows of several tables, with inner joins read in the order in which they are written.
    Straight,
    /// As above, in the other order.
    StraightSwapped,
    /// UPDATE of several tables, with what was assigned before in place of the columns: the manual promises no order of assignments.
    Assigned,
    /// With CTEs as derived tables in each place that names one.
    InlinedCtes,
    /// With comparisons beside a date that no TIMESTAMP holds as comparisons of rows of two, the second of which are equal: MySQL takes
    /// such a date in WHERE for less or more than every TIMESTAMP, the zero date too.
    RowsBesideDates,
    /// With the texts of UCS-2, UTF-16 and UTF-32 columns in utf8mb4: MySQL takes the bytes of the others for documents and formats.
    NarrowTexts,
    /// With items that are written as a key of GROUP BY as keys, too: [`groups`].
    EqualKeys,
    /// With documents in PARTITION BY and GROUP BY ... WITH ROLLUP as their texts.
    DocumentsAsTexts,
    /// With EXISTS as a count: [`hidden`].
    ExistsAsCounts,
    /// With calls of constants that are computed for each row.
    UnknownConstants,
    /// With calls that are arguments as subqueries.
    ArgumentsOfSubqueries,
    /// With numbers in place of ENUM and SET values in orders of windows.
    NumbersOfMembers,
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
            Variant::Straight => "STRAIGHT_JOIN",
            Variant::StraightSwapped => "STRAIGHT_JOIN of swapped joins",
            Variant::Assigned => "assigned values read",
            Variant::InlinedCtes => "CTEs as derived tables",
            Variant::RowsBesideDates => "a < date as (a, 0) < (date, 0)",
            Variant::NarrowTexts => "wide texts in utf8mb4",
            Variant::EqualKeys => "items written as a key are keys",
            Variant::DocumentsAsTexts => "documents of groups and partitions as texts",
            Variant::ExistsAsCounts => "EXISTS as COUNT(*) > 0",
            Variant::UnknownConstants => "constants as IF(RAND() < 2, constant, NULL)",
            Variant::ArgumentsOfSubqueries => "f(g(x)) as f((SELECT g(x) FROM ...))",
            Variant::NumbersOfMembers => "windows ordered by numbers of members",
        }
    }
}

/// Every variant, those that most often show a contradiction first.
pub(crate) const VARIANTS: [Variant; 37] = [
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
    Variant::Straight,
    Variant::StraightSwapped,
    Variant::Assigned,
    Variant::InlinedCtes,
    Variant::RowsBesideDates,
    Variant::NarrowTexts,
    Variant::EqualKeys,
    Variant::DocumentsAsTexts,
    Variant::ExistsAsCounts,
    Variant::UnknownConstants,
    Variant::ArgumentsOfSubqueries,
    Variant::NumbersOfMembers,
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
            let narrow = matches!(variant, Variant::NarrowTexts).then(|| narrowed(&finding.script.tables));
            self.load(narrow.as_ref().unwrap_or(&finding.script.tables), finding.views, before)?;
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
            self.load(&finding.script.tables, finding.views, before)?;
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

    fn load(&mut self, tables: &[Table], views: Option<u64>, statements: &[Statement]) -> Result<(), Error> {
        let mut wanted = database_sql(tables, views);
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

/// The tables with utf8mb4 in place of character sets whose characters have two bytes and more.
fn narrowed(tables: &[Table]) -> Vec<Table> {
    let mut narrow = tables.to_vec();
    for column in narrow.iter_mut().flat_map(|table| &mut table.columns) {
        if let Type::Text { collation, .. } = &mut column.column_type
            && ["ucs2_", "utf16_", "utf16le_", "utf32_"].iter().any(|charset| collation.starts_with(charset))
        {
            *collation = if collation.ends_with("_bin") { "utf8mb4_bin" } else { "utf8mb4_general_ci" };
        }
    }
    narrow
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
    let columns = || table.columns.iter().filter(|column| column.generated.is_none());
    let names: Vec<&str> = columns().map(|column| column.name.as_str()).collect();
    let values: Vec<&str> = columns().map(value).collect();
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
            walk::statement_conditions(&mut varied, &mut coalesce);
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
            walk::statement_conditions(&mut varied, &mut |condition| {
                let zero = Expr::Literal { value: Value::Int(0), is_bound: false };
                let known = std::mem::replace(condition, zero);
                *condition = Expr::Call { form: forms::UNKNOWN, arguments: vec![known] };
            });
            (varied != *statement).then(|| (RESET.to_owned(), varied, is_prepared))
        }
        Variant::NarrowTexts => {
            let has_wide = narrowed(&script.tables) != script.tables;
            has_wide.then(|| (RESET.to_owned(), statement.clone(), is_prepared))
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
        Variant::Straight => Some((RESET.to_owned(), straight(statement)?, is_prepared)),
        Variant::StraightSwapped => {
            Some((RESET.to_owned(), straight(&turned(statement, true)?)?, is_prepared))
        }
        Variant::Assigned => Some((RESET.to_owned(), with_assigned(statement)?, is_prepared)),
        Variant::InlinedCtes => Some((RESET.to_owned(), inlined(statement)?, is_prepared)),
        Variant::RowsBesideDates => Some((RESET.to_owned(), rows_beside_dates(statement)?, is_prepared)),
        Variant::EqualKeys => Some((RESET.to_owned(), groups::with_equal_items(statement)?, is_prepared)),
        Variant::ExistsAsCounts => {
            Some((RESET.to_owned(), hidden::with_exists_as_counts(statement)?, is_prepared))
        }
        Variant::UnknownConstants => {
            Some((RESET.to_owned(), hidden::with_unknown_constants(statement)?, is_prepared))
        }
        Variant::ArgumentsOfSubqueries => {
            Some((RESET.to_owned(), hidden::with_arguments_of_subqueries(statement)?, is_prepared))
        }
        Variant::NumbersOfMembers => {
            let varied = groups::with_numbers_of_members(statement, &script.tables)?;
            Some((RESET.to_owned(), varied, is_prepared))
        }
        Variant::DocumentsAsTexts => {
            let varied = groups::with_texts_of_documents(statement, &script.tables)?;
            Some((RESET.to_owned(), varied, is_prepared))
        }
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

/// UPDATE or DELETE with its tables joined by STRAIGHT_JOIN; nothing if it joins none.
fn straight(statement: &Statement) -> Option<Statement> {
    let mut varied = statement.clone();
    let (Statement::Update { from, .. } | Statement::Delete { from, .. }) = &mut varied else { return None };
    source_joins(from, &mut |source| {
        if let Source::Join { kind: kind @ ("JOIN" | "CROSS JOIN"), using, .. } = source
            && using.is_empty()
        {
            *kind = "STRAIGHT_JOIN";
        }
    });
    (varied != *statement).then_some(varied)
}

/// UPDATE of several tables with values in place of the columns that were assigned before; nothing if it reads none of them.
fn with_assigned(statement: &Statement) -> Option<Statement> {
    let mut varied = statement.clone();
    let Statement::Update { from: Source::Join { .. }, sets, .. } = &mut varied else { return None };
    let mut before: Vec<(Expr, Expr)> = Vec::new();
    for (column, value) in sets {
        // In two steps, since what is assigned may read the same columns.
        let place = |at: usize| Expr::Column { relation: String::new(), name: format!("assigned {at}") };
        walk::expressions(value, &mut |expr| {
            if let Some(at) = before.iter().rposition(|(column, _)| column == expr) {
                *expr = place(at);
            }
        });
        walk::expressions(value, &mut |expr| {
            if let Some(at) = (0..before.len()).find(|&at| *expr == place(at)) {
                *expr = before[at].1.clone();
            }
        });
        before.push((column.clone(), value.clone()));
    }
    (varied != *statement).then_some(varied)
}

/// Gives the query of a CTE the column names that the CTE has; false if its first SELECT shows other columns.
fn names_own_columns(cte: &mut Cte) -> bool {
    fn first(query: &mut Query) -> &mut Select {
        match &mut query.body {
            Body::Select(select) => select,
            Body::Set { left, .. } => first(left),
        }
    }
    let items = &mut first(&mut cte.query).items;
    if !cte.columns.is_empty() && items.len() != cte.columns.len() {
        return false;
    }
    for (item, name) in items.iter_mut().zip(cte.columns.drain(..)) {
        item.alias = Some(name);
    }
    true
}

/// The query with its CTEs as derived tables; nothing if it has none, or one that is recursive or shows other columns than it names.
fn inlined(statement: &Statement) -> Option<Statement> {
    fn inline(query: &mut Query, known: &[Cte]) {
        walk::query_tables(query, &mut |source| {
            if let Source::Table { name, alias, .. } = source
                && let Some(cte) = known.iter().find(|cte| cte.name == *name)
            {
                let alias = std::mem::take(alias);
                *source = Source::Derived { query: Box::new(cte.query.clone()), alias, is_lateral: false };
            }
        });
    }
    let mut varied = statement.clone();
    let query = query_of(&mut varied)?;
    let mut ctes = std::mem::take(&mut query.with);
    if ctes.is_empty() || query.is_recursive || !ctes.iter_mut().all(names_own_columns) {
        return None;
    }
    for at in 0..ctes.len() {
        let (known, rest) = ctes.split_at_mut(at);
        inline(&mut rest[0].query, known);
    }
    inline(query, &ctes);
    Some(varied)
}

/// Comparisons with dates outside of TIMESTAMP's years as comparisons of rows; nothing if there is none.
fn rows_beside_dates(statement: &Statement) -> Option<Statement> {
    let is_outside = |expr: &Expr| {
        let Expr::Literal { value: Value::Date(text) | Value::DateTime(text), .. } = expr else {
            return false;
        };
        text.get(..4)
            .and_then(|year| year.parse().ok())
            .is_some_and(|year: u16| !(1971..2038).contains(&year))
    };
    let mut varied = statement.clone();
    walk::statement_expressions(&mut varied, &mut |expr| {
        if let Expr::Call { form, arguments } = expr
            && ["=", "<=>", "<>", "<", "<=", ">", ">="]
                .map(|sign| format!("({{}} {sign} {{}})"))
                .contains(&form.template.to_owned())
            && arguments.iter().any(is_outside)
        {
            for argument in arguments {
                let zero = Expr::literal(Value::Int(0));
                *argument = Expr::Row(vec![std::mem::replace(argument, zero.clone()), zero]);
            }
        }
    });
    (varied != *statement).then_some(varied)
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
        Source::Table { .. } | Source::JsonTable { .. } => {}
    }
}

/// The query as a derived table of one that only reads it.
fn within_derived(query: &mut Query, alias: String) {
    let inner = std::mem::replace(query, Query::of(Select::default()));
    let from = Source::Derived { query: Box::new(inner), alias, is_lateral: false };
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
            derived_queries(query, &mut |query| sides(query, None, &mut count));
        }
    });
    if let Some(query) = query_of(statement) {
        sides(query, None, &mut count);
        derived_queries(query, &mut |query| sides(query, None, &mut count));
    }
}

/// Calls `see` with the queries of CTEs and derived tables, but not with those of expressions.
fn derived_queries(query: &mut Query, see: &mut impl FnMut(&mut Query)) {
    fn below(source: &mut Source, see: &mut impl FnMut(&mut Query)) {
        match source {
            Source::Table { .. } | Source::JsonTable { .. } => {}
            Source::Derived { query, .. } => {
                derived_queries(query, see);
                see(query);
            }
            Source::Join { left, right, .. } => {
                below(left, see);
                below(right, see);
            }
        }
    }
    for cte in &mut query.with {
        derived_queries(&mut cte.query, see);
        see(&mut cte.query);
    }
    match &mut query.body {
        Body::Set { left, right, .. } => {
            derived_queries(left, see);
            derived_queries(right, see);
        }
        Body::Select(select) => {
            if let Some(from) = &mut select.from {
                below(from, see);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::Item;

    fn column(relation: &str, name: &str) -> Expr {
        Expr::Column { relation: relation.to_owned(), name: name.to_owned() }
    }

    fn table(name: &str, alias: &str) -> Source {
        Source::Table { name: name.to_owned(), alias: alias.to_owned(), hint: None }
    }

    fn joined() -> Source {
        Source::Join {
            kind: "JOIN",
            left: Box::new(table("t0", "r1")),
            right: Box::new(table("t1", "r2")),
            on: None,
            using: Vec::new(),
        }
    }

    fn update(from: Source) -> Statement {
        let one = Expr::literal(Value::Int(1));
        let add = forms::by_template("({} + {})").unwrap();
        let more = Expr::Call { form: add, arguments: vec![column("r1", "a"), one.clone()] };
        let sets = vec![(column("r1", "a"), more), (column("r1", "b"), column("r1", "a"))];
        let (with, order) = (Vec::new(), Vec::new());
        Statement::Update { with, is_ignore: false, from, sets, filter: None, order, limit: None }
    }

    #[test]
    fn assigned_values_stand_for_columns_in_changes_of_several_tables() {
        let varied = with_assigned(&update(joined())).unwrap().sql();
        assert!(varied.ends_with("SET r1.a = (r1.a + 1), r1.b = (r1.a + 1)"), "{varied}");
        // The order of assignments of one table is documented.
        assert_eq!(with_assigned(&update(table("t0", "r1"))), None);
        let straight = straight(&update(joined())).unwrap().sql();
        assert!(straight.contains("t0 r1 STRAIGHT_JOIN t1 r2"), "{straight}");
    }

    #[test]
    fn only_dates_that_no_timestamp_holds_are_compared_as_rows() {
        let compared = |date: &str| {
            let form = forms::by_template("({} >= {})").unwrap();
            let date = Expr::literal(Value::DateTime(date.to_owned()));
            let filter = Some(Expr::Call { form, arguments: vec![column("r1", "a"), date] });
            let items = vec![Item { expr: column("r1", "a"), alias: None }];
            let from = Some(table("t0", "r1"));
            Statement::Query(Query::of(Select { items, from, filter, ..Select::default() }))
        };
        assert_eq!(rows_beside_dates(&compared("2020-01-01 00:00:00")), None);
        let varied = rows_beside_dates(&compared("1000-01-01 00:00:00")).unwrap().sql();
        assert!(varied.contains("((r1.a, 0) >= (TIMESTAMP'1000-01-01 00:00:00', 0))"), "{varied}");
    }

    #[test]
    fn ctes_become_derived_tables() {
        let one = Item { expr: Expr::literal(Value::Int(1)), alias: Some("x".to_owned()) };
        let inner = Query::of(Select { items: vec![one], ..Select::default() });
        let from = Some(table("cte1", "q"));
        let mut query = Query::of(Select { from, ..Select::default() });
        query.with = vec![Cte { name: "cte1".to_owned(), columns: Vec::new(), query: inner }];
        let varied = inlined(&Statement::Query(query.clone())).unwrap().sql();
        assert_eq!(varied, "SELECT * FROM (SELECT 1 AS x) q");
        query.is_recursive = true;
        assert_eq!(inlined(&Statement::Query(query)), None);
    }
}
