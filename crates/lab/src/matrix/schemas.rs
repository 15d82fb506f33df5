//! What the servers have of the scenario's tables: columns, indexes, the optimizer's estimates, and the plans of the statements.
//!
//! The lab makes the same tables everywhere, so they should be alike. Where they are not (an index that was dropped, a
//! server that ignored one, stale statistics), that is the cause of many a slowdown, and it is reported by name. Reads
//! catalogs and EXPLAIN only, in a pass of its own after timing; what a server refuses is left out.

use std::collections::{BTreeMap, BTreeSet};

use client::Connection;

use super::MatrixError;
use super::cell::Cell;
use super::runner::Runner;
use crate::data::fill::Source;
use crate::evidence::{SchemaDifference, SchemaPart};
use crate::knowledge::signature::Pair;
use crate::scenario::{Statement, Work};
use crate::server::ask;

/// Statements explained at most, and the length up to which one is.
const STATEMENTS_MAX: usize = 4;
const STATEMENT_BYTES_MAX: usize = 4_000;
/// Estimates of rows that differ by less say nothing: they are taken from a few pages.
const ROWS_APART_LEAST: f64 = 3.0;
/// Likewise distinct values of an index.
const CARDINALITY_APART_LEAST: f64 = 10.0;
/// Characters of a statement that are shown.
const SHOWN_CHARS: usize = 100;

/// An index as it is compared.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Index {
    is_unique: bool,
    is_visible: bool,
    columns: Vec<String>,
    cardinality: Option<u64>,
}

impl Index {
    fn definition(&self) -> String {
        let kind = if self.is_unique { "unique " } else { "" };
        let hidden = if self.is_visible { "" } else { ", invisible" };
        format!("{kind}({}){hidden}", self.columns.join(", "))
    }
}

/// A table of one server.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct TableSeen {
    /// Type by column.
    columns: BTreeMap<String, String>,
    indexes: BTreeMap<String, Index>,
    estimated_rows: Option<u64>,
    /// Counted, where estimates are far apart.
    counted_rows: Option<u64>,
}

/// A step of a plan: its table, access type, key and estimated rows.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct PlanStep {
    table: String,
    access: String,
    key: Option<String>,
    rows: Option<String>,
    extra: String,
}

impl PlanStep {
    fn in_words(&self) -> String {
        let how = match (self.access.as_str(), &self.key) {
            ("ALL", _) => "all rows".to_owned(),
            ("", None) => "no access".to_owned(),
            (access, None) => access.to_owned(),
            (access, Some(key)) => format!("{access} by index {key}"),
        };
        let rows = self.rows.as_ref().map_or(String::new(), |rows| format!(", about {rows} rows"));
        let extra = ["Using filesort", "Using temporary"].into_iter().filter(|one| self.extra.contains(one));
        let extra: String = extra.map(|one| format!(", {}", one.to_lowercase())).collect();
        format!("{} {how}{rows}{extra}", self.table)
    }

    /// What makes it another plan: not the estimate of rows.
    fn shape(&self) -> (&str, &str, Option<&str>) {
        (&self.table, &self.access, self.key.as_deref())
    }
}

/// What one server has.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    tables: BTreeMap<String, TableSeen>,
    /// Plan by statement.
    plans: BTreeMap<String, Vec<PlanStep>>,
    /// Statements that have a plan and were not explained.
    left_out: usize,
}

/// Display widths of integers are gone since 8.0.19 and mean nothing.
fn plain_type(text: &str) -> String {
    let text = text.to_ascii_lowercase();
    match text.split_once('(') {
        Some((name, rest)) if name.ends_with("int") => {
            format!("{name}{}", rest.split_once(')').map_or("", |(_, rest)| rest))
        }
        _ => text,
    }
}

type Rows = Vec<Vec<Option<String>>>;

/// What a server answers; nothing where it refuses.
fn rows_of(connection: &mut Connection, sql: &str) -> Rows {
    if connection.is_broken() {
        return Rows::new();
    }
    ask(connection, sql).unwrap_or_default()
}

fn number(cell: Option<&Option<String>>) -> Option<u64> {
    cell?.as_ref()?.parse().ok()
}

fn text(cell: Option<&Option<String>>) -> String {
    cell.cloned().flatten().unwrap_or_default()
}

fn tables(
    connection: &mut Connection,
    schema: &str,
    names: &BTreeSet<String>,
) -> BTreeMap<String, TableSeen> {
    // Since 8.0 what information_schema says of rows may be a day old.
    let _ = connection.run(b"SET SESSION information_schema_stats_expiry = 0");
    let mut found: BTreeMap<String, TableSeen> = BTreeMap::new();
    let of = |what: &str, from: &str, order: &str| {
        format!("SELECT {what} FROM information_schema.{from} WHERE TABLE_SCHEMA = '{schema}'{order}")
    };
    for row in rows_of(connection, &of("TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE", "COLUMNS", "")) {
        let table = found.entry(text(row.first())).or_default();
        let not_null = if text(row.get(3)) == "NO" { " not null" } else { "" };
        table.columns.insert(text(row.get(1)), plain_type(&text(row.get(2))) + not_null);
    }
    let order = " ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX";
    let indexes = "TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, SUB_PART, CARDINALITY";
    let mut rows = rows_of(connection, &of(&format!("{indexes}, IS_VISIBLE"), "STATISTICS", order));
    if rows.is_empty() {
        rows = rows_of(connection, &of(indexes, "STATISTICS", order));
    }
    for row in rows {
        let table = found.entry(text(row.first())).or_default();
        let index = table.indexes.entry(text(row.get(1))).or_default();
        index.is_unique = number(row.get(2)) == Some(0);
        index.is_visible = text(row.get(6)) != "NO";
        let part = number(row.get(4)).map_or(String::new(), |length| format!("({length})"));
        index.columns.push(text(row.get(3)) + &part);
        index.cardinality = number(row.get(5));
    }
    for row in rows_of(connection, &of("TABLE_NAME, TABLE_ROWS", "TABLES", "")) {
        found.entry(text(row.first())).or_default().estimated_rows = number(row.get(1));
    }
    found.retain(|name, _| names.contains(name));
    found
}

/// A statement with values in it, as EXPLAIN takes it; `None` for one that has no plan.
fn with_values(statement: &Statement, seed: u64) -> Option<String> {
    if !statement.has_plan() || statement.sql.len() > STATEMENT_BYTES_MAX {
        return None;
    }
    let mut source = Source::new(seed, 0);
    let mut out = Vec::new();
    let mut from = 0;
    for (index, &at) in statement.placeholders.iter().enumerate() {
        out.extend_from_slice(statement.sql.get(from..at)?.as_bytes());
        let fill = statement.params.get(index % statement.params.len().max(1))?;
        source.next(fill, || 0).put_literal(&mut out);
        from = at + 1;
    }
    out.extend_from_slice(statement.sql.get(from..)?.as_bytes());
    String::from_utf8(out).ok()
}

fn plan(connection: &mut Connection, sql: &str) -> Vec<PlanStep> {
    let rows = rows_of(connection, &format!("EXPLAIN FORMAT=TRADITIONAL {sql}"));
    let rows = if rows.is_empty() { rows_of(connection, &format!("EXPLAIN {sql}")) } else { rows };
    let step = |row: &Vec<Option<String>>| {
        // 5.6 and MariaDB have neither `partitions` nor, in this form, `filtered`.
        let (access, key, rows, extra) = match row.len() {
            12 => (4, 6, 9, 11),
            10 => (3, 5, 8, 9),
            _ => return None,
        };
        Some(PlanStep {
            table: text(row.get(2)),
            access: text(row.get(access)),
            key: row.get(key).cloned().flatten(),
            rows: row.get(rows).cloned().flatten(),
            extra: text(row.get(extra)),
        })
    };
    rows.iter().filter_map(step).collect()
}

fn seen(connection: &mut Connection, schema: &str, work: &Work, seed: u64) -> Seen {
    let names: BTreeSet<String> = work.tables.iter().map(|table| table.name.clone()).collect();
    let mut seen = Seen { tables: tables(connection, schema, &names), plans: BTreeMap::new(), left_out: 0 };
    // Nobody asks for estimates where no statement has a plan, and estimates of tables that are refilled are not meaningful.
    if !work.op.statements.iter().any(Statement::has_plan) {
        for table in seen.tables.values_mut() {
            table.estimated_rows = None;
            table.indexes.values_mut().for_each(|index| index.cardinality = None);
        }
    }
    if connection.run(format!("USE `{schema}`").as_bytes()).is_err() {
        return seen;
    }
    let planned = || work.op.statements.iter().filter(|statement| statement.has_plan());
    seen.left_out = planned().skip(STATEMENTS_MAX).count();
    for statement in planned().take(STATEMENTS_MAX) {
        seen.left_out += usize::from(statement.sql.len() > STATEMENT_BYTES_MAX);
        if let Some(sql) = with_values(statement, seed) {
            let steps = plan(connection, &sql);
            if !steps.is_empty() {
                seen.plans.insert(statement.sql.clone(), steps);
            }
        }
    }
    seen
}

/// Whether two estimates are so far apart that one of them must be wrong. Few rows are always close.
fn are_apart(one: u64, other: u64, least: f64) -> bool {
    let (one, other) = (one as f64 + 10.0, other as f64 + 10.0);
    one.max(other) / one.min(other) >= least
}

/// Tables whose rows have to be counted to tell which server is wrong.
fn to_count(one: &Seen, other: &Seen) -> Vec<String> {
    let rows = |seen: &Seen, name: &str| seen.tables.get(name)?.estimated_rows;
    let names = one.tables.keys().filter(|name| {
        rows(one, name).zip(rows(other, name)).is_some_and(|(a, b)| are_apart(a, b, ROWS_APART_LEAST))
    });
    names.cloned().collect()
}

/// What differs between two servers, by name.
fn differences(names: [&str; 2], seen: [&Seen; 2]) -> Vec<SchemaDifference> {
    let mut out = Vec::new();
    let both = |values: [String; 2]| -> BTreeMap<String, String> {
        names.iter().map(|name| (*name).to_owned()).zip(values).collect()
    };
    let none = || "not there".to_owned();
    let tables: BTreeSet<&String> = seen.iter().flat_map(|seen| seen.tables.keys()).collect();
    for table in tables {
        let empty = TableSeen::default();
        let of = seen.map(|seen| seen.tables.get(table).unwrap_or(&empty));
        // A server that shows nothing of a table cannot be compared.
        if of.iter().any(|table| table.columns.is_empty()) {
            continue;
        }
        let columns: BTreeSet<&String> = of.iter().flat_map(|table| table.columns.keys()).collect();
        for column in columns {
            let types = of.map(|table| table.columns.get(column));
            if types[0] != types[1] {
                out.push(SchemaDifference {
                    part: SchemaPart::Column,
                    of: table.clone(),
                    what: format!("column {column}"),
                    values: both(types.map(|one| one.cloned().unwrap_or_else(none))),
                    ..SchemaDifference::default()
                });
            }
        }
        let indexes: BTreeSet<&String> = of.iter().flat_map(|table| table.indexes.keys()).collect();
        for name in indexes {
            let found = of.map(|table| table.indexes.get(name));
            let definitions = found.map(|index| index.map(Index::definition));
            if definitions[0] == definitions[1] {
                continue;
            }
            let lacking = found.iter().position(|index| index.is_none_or(|index| !index.is_visible));
            let there = found.iter().flatten().find(|index| index.is_visible);
            let remedy = lacking.zip(there).map(|(at, index)| match found[at] {
                Some(_) => format!("ALTER TABLE `{table}` ALTER INDEX `{name}` VISIBLE"),
                None => {
                    let columns: Vec<String> = index.columns.iter().map(|column| quoted(column)).collect();
                    let kind = match (name.as_str(), index.is_unique) {
                        ("PRIMARY", _) => "PRIMARY KEY".to_owned(),
                        (_, true) => format!("UNIQUE INDEX `{name}`"),
                        (_, false) => format!("INDEX `{name}`"),
                    };
                    format!("ALTER TABLE `{table}` ADD {kind} ({})", columns.join(", "))
                }
            });
            let columns = there.map_or(String::new(), |index| format!(" ({})", index.columns.join(", ")));
            out.push(SchemaDifference {
                part: SchemaPart::Index,
                of: table.clone(),
                what: format!("index {name}{columns}"),
                values: both(definitions.map(|one| one.map_or_else(none, |one| format!("there, {one}")))),
                server: lacking.map(|at| names[at].to_owned()),
                remedy,
            });
        }
        out.extend(statistics(names, table, of));
    }
    for (sql, one) in &seen[0].plans {
        let Some(other) = seen[1].plans.get(sql) else { continue };
        let shape = |steps: &[PlanStep]| -> Vec<(String, String, Option<String>)> {
            let own = |step: &PlanStep| {
                let (table, access, key) = step.shape();
                (table.to_owned(), access.to_owned(), key.map(str::to_owned))
            };
            steps.iter().map(own).collect()
        };
        if shape(one) != shape(other) {
            let in_words =
                |steps: &[PlanStep]| steps.iter().map(PlanStep::in_words).collect::<Vec<_>>().join(", then ");
            out.push(SchemaDifference {
                part: SchemaPart::Plan,
                of: shown(sql),
                what: "plan".to_owned(),
                values: both([in_words(one), in_words(other)]),
                ..SchemaDifference::default()
            });
        }
    }
    out
}

/// Estimates of a table's rows, and of the distinct values of its indexes, that are far apart.
fn statistics(names: [&str; 2], table: &str, of: [&TableSeen; 2]) -> Option<SchemaDifference> {
    let remedy = format!("ANALYZE TABLE `{table}`");
    let both = |values: [u64; 2], after: &str| -> BTreeMap<String, String> {
        let said = values.map(|value| format!("{value}{after}"));
        names.iter().map(|name| (*name).to_owned()).zip(said).collect()
    };
    let base = SchemaDifference {
        part: SchemaPart::Statistics,
        of: table.to_owned(),
        ..SchemaDifference::default()
    };
    if let [Some(one), Some(other)] = of.map(|table| table.estimated_rows)
        && are_apart(one, other, ROWS_APART_LEAST)
    {
        let estimates = [one, other];
        let off = |at: usize| {
            let counted = of[at].counted_rows? as f64 + 10.0;
            Some(((estimates[at] as f64 + 10.0) / counted).ln().abs())
        };
        let worse = off(0).zip(off(1)).map(|(first, second)| usize::from(second > first));
        let counted = of[0].counted_rows.map_or(String::new(), |rows| format!(" of {rows}"));
        return Some(SchemaDifference {
            what: "estimated rows".to_owned(),
            values: both(estimates, &counted),
            server: worse.map(|at| names[at].to_owned()),
            remedy: Some(remedy),
            ..base
        });
    }
    let of_many = of[0].indexes.iter().filter(|(name, index)| *name != "PRIMARY" && !index.is_unique);
    of_many.into_iter().find_map(|(name, index)| {
        let values = [index.cardinality?, of[1].indexes.get(name)?.cardinality?];
        are_apart(values[0], values[1], CARDINALITY_APART_LEAST).then(|| {
            // Few distinct values are what an estimate says that was made when the table was empty.
            let at = usize::from(values[1] < values[0]);
            SchemaDifference {
                what: format!("distinct values of index {name}"),
                values: both(values, ""),
                server: Some(names[at].to_owned()),
                remedy: Some(remedy.clone()),
                ..base.clone()
            }
        })
    })
}

/// `a(10)` as "`a`(10)".
fn quoted(column: &str) -> String {
    match column.split_once('(') {
        Some((name, part)) => format!("`{name}`({part}"),
        None => format!("`{column}`"),
    }
}

fn shown(sql: &str) -> String {
    let words: Vec<&str> = sql.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

impl Runner<'_> {
    /// Compares what the servers of two arms have of the tables, where the arms differ in server alone.
    pub(super) fn schemas(&mut self, pair: Pair) -> Result<(), MatrixError> {
        let cells = [pair.fast, pair.slow].map(|arm| self.cells[arm].clone());
        let [one, other] = &cells;
        let is_comparable = one.server != other.server
            && one.work.tables == other.work.tables
            && one.work.setup == other.work.setup
            && one.work.op.statements == other.work.op.statements;
        if !is_comparable {
            return Ok(());
        }
        let mut found = [self.seen_by(one), self.seen_by(other)];
        if found[0].left_out > 0 {
            self.warn(format!(
                "plans of {} more statements were not compared: at most {STATEMENTS_MAX} are, none longer than \
                 {STATEMENT_BYTES_MAX} bytes",
                found[0].left_out
            ));
        }
        for table in to_count(&found[0], &found[1]) {
            for (cell, seen) in cells.iter().zip(&mut found) {
                let counted = self.counted(cell, &table);
                if let Some(seen) = seen.tables.get_mut(&table) {
                    seen.counted_rows = counted;
                }
            }
        }
        let names = [one, other].map(|cell| self.test_servers[cell.server].under_test.name.clone());
        self.run.schema_differences = differences([&names[0], &names[1]], [&found[0], &found[1]]);
        Ok(())
    }

    fn seen_by(&mut self, cell: &Cell) -> Seen {
        let Some(schema) = self.schema_of(cell).map(str::to_owned) else { return Seen::default() };
        let seed = self.request.scenario.seed;
        seen(&mut self.test_servers[cell.server].admin, &schema, &cell.work, seed)
    }

    fn counted(&mut self, cell: &Cell, table: &str) -> Option<u64> {
        let schema = self.schema_of(cell)?.to_owned();
        let admin = &mut self.test_servers[cell.server].admin;
        number(rows_of(admin, &format!("SELECT COUNT(*) FROM `{schema}`.`{table}`")).first()?.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Scenario, shipped};

    fn table(indexes: &[(&str, &str)], rows: u64) -> TableSeen {
        TableSeen {
            columns: BTreeMap::from([("id".to_owned(), "int not null".to_owned())]),
            indexes: indexes
                .iter()
                .map(|(name, column)| {
                    let columns = vec![(*column).to_owned()];
                    ((*name).to_owned(), Index { columns, is_visible: true, ..Index::default() })
                })
                .collect(),
            estimated_rows: Some(rows),
            counted_rows: Some(10_000),
        }
    }

    fn server(table: TableSeen, access: &str, key: Option<&str>) -> Seen {
        let step = PlanStep {
            table: "t".to_owned(),
            access: access.to_owned(),
            key: key.map(str::to_owned),
            rows: Some("7".to_owned()),
            extra: String::new(),
        };
        Seen {
            tables: BTreeMap::from([("t".to_owned(), table)]),
            plans: BTreeMap::from([("SELECT * FROM t WHERE k = ?".to_owned(), vec![step])]),
            left_out: 0,
        }
    }

    #[test]
    fn a_missing_index_a_stale_estimate_and_another_plan_are_named_with_what_to_do() {
        let old = server(table(&[("PRIMARY", "id"), ("k", "k(10)")], 9_900), "ref", Some("k"));
        assert_eq!(differences(["old", "new"], [&old, &old]), []);
        let new = server(table(&[("PRIMARY", "id")], 10_100), "ALL", None);
        let found = differences(["old", "new"], [&old, &new]);
        assert_eq!(found.len(), 2, "{found:?}");
        let index = &found[0];
        assert_eq!((index.part, index.server.as_deref()), (SchemaPart::Index, Some("new")));
        assert_eq!(index.remedy.as_deref(), Some("ALTER TABLE `t` ADD INDEX `k` (`k`(10))"));
        assert_eq!(
            (index.values["old"].as_str(), index.values["new"].as_str()),
            ("there, (k(10))", "not there")
        );
        assert_eq!(found[1].part, SchemaPart::Plan);
        assert_eq!(found[1].values["new"], "t all rows, about 7 rows");
        assert_eq!(found[1].values["old"], "t ref by index k, about 7 rows");

        let stale = server(table(&[("PRIMARY", "id"), ("k", "k(10)")], 0), "ref", Some("k"));
        let found = differences(["old", "new"], [&old, &stale]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].part, found[0].server.as_deref()), (SchemaPart::Statistics, Some("new")));
        assert_eq!(found[0].remedy.as_deref(), Some("ANALYZE TABLE `t`"));
        assert_eq!(found[0].values["new"], "0 of 10000");
        assert_eq!(to_count(&old, &stale), ["t"]);

        let mut hidden = old.clone();
        hidden.tables.get_mut("t").unwrap().indexes.get_mut("k").unwrap().is_visible = false;
        let found = differences(["old", "new"], [&hidden, &old]);
        assert_eq!(found[0].remedy.as_deref(), Some("ALTER TABLE `t` ALTER INDEX `k` VISIBLE"));
        assert_eq!(found[0].server.as_deref(), Some("old"));
    }

    #[test]
    fn display_widths_are_no_difference_and_statements_get_values() {
        assert_eq!(plain_type("INT(11) unsigned"), "int unsigned");
        assert_eq!(plain_type("varchar(20)"), "varchar(20)");
        let scenario = Scenario::parse(shipped::named("point-select").unwrap()).unwrap();
        let work = scenario.work(None, "op").unwrap();
        let sql = with_values(&work.op.statements[0], 1).unwrap();
        assert!(!sql.contains('?') && sql.to_ascii_uppercase().starts_with("SELECT"), "{sql}");
        let insert = Scenario::parse(shipped::named("insert").unwrap()).unwrap().work(None, "op").unwrap();
        assert_eq!(with_values(&insert.op.statements[0], 1), None, "an INSERT of values has no plan");
    }
}
