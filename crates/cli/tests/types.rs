//! The type matrix: every pair of column types under comparisons, joins by every method, set operations and CASE, and every
//! function over every column type, compared with the stored answers of MySQL 9.7.
//!
//! The columns and their values are `types/schema.sql`, the calls `types/functions.txt`. What 9.7 answers is in
//! `types/functions.answers` and `types/pairs.answers`, one line a cell: its name, a tab, result type and values. Cells that
//! are answered otherwise here stand in `types/differences.txt`, one line a call, with a hash of our answers, below a comment
//! that says why; `INVAR_TYPES_OURS=FILE` writes our answers to them. What a join
//! or subquery finds must also agree with the comparison of the values by our own account; where 9.7's does not, nothing is
//! listed.
//!
//! `INVAR_REWRITE=1` writes the differences (new ones below `# NO REASON YET`, which fails), and with
//! `INVAR_ORACLE=mysql://...` first the answers. With an oracle and without rewriting the stored answers are checked.

mod harness;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use client::{Cell, Column, ColumnFlags, Connection, Error, Param};
use wire::row::{DateTimeFields, TimeFields};

/// Bytes of a value that are stored; of a longer one its length and a hash follow.
const VALUE_BYTES_MAX: usize = 120;
/// Heads the differences that nobody has explained.
const NO_REASON: &str = "# NO REASON YET";

/// Heads those that differ in the description of the result's type only.
const DESCRIPTION: &str =
    "# The result's type is described with another length, scale or flag; the values agree.";
const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a over more bytes.
fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Answers by the name of their cell.
type Answers = BTreeMap<String, String>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/types")
}

fn read(name: &str) -> String {
    let path = folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_default()
}

fn write(name: &str, text: &str) {
    std::fs::write(folder().join(name), text).unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// What a statement gives: the types of its columns, and its rows.
struct Table {
    types: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// One side that answers.
struct World {
    connection: Connection,
}

impl World {
    fn new(options: &client::Options, database: &str) -> World {
        let mut connection = Connection::connect(options).expect("the server answers");
        for sql in [
            format!("DROP DATABASE IF EXISTS {database}"),
            format!("CREATE DATABASE {database}"),
            format!("USE {database}"),
            "SET time_zone = '+00:00', timestamp = 1700000000.123456, sql_mode = ''".to_owned(),
        ] {
            connection.run(sql.as_bytes()).expect("a fresh database");
        }
        for sql in read("schema.sql").split(";\n").filter(|sql| !sql.trim().is_empty()) {
            connection.run(sql.as_bytes()).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        connection.run(b"SET sql_mode = DEFAULT, group_concat_max_len = 100000").expect("anybody may");
        World { connection }
    }

    fn ask(&mut self, sql: &str) -> Result<Table, String> {
        let asked = self.try_ask(sql);
        asked.map_err(|error| match error {
            Error::Server(error) => format!("ERROR {}", error.number),
            other => panic!("{sql}: {other}"),
        })
    }

    /// As [`World::ask`], by a prepared statement.
    fn execute(&mut self, sql: &str, parameters: &[Param<'_>]) -> Result<Table, String> {
        let asked = self.try_execute(sql, parameters);
        asked.map_err(|error| match error {
            Error::Server(error) => format!("ERROR {}", error.number),
            other => panic!("{sql}: {other}"),
        })
    }

    fn try_execute(&mut self, sql: &str, parameters: &[Param<'_>]) -> Result<Table, Error> {
        let mut statement = self.connection.prepare(sql.as_bytes())?;
        let parameters = vec![parameters[0]; statement.parameter_count()];
        let mut table = Table { types: Vec::new(), rows: Vec::new() };
        let executed = (|| {
            let mut answer = self.connection.execute(&mut statement, &parameters)?;
            while answer.next_result()? {
                table.types = answer.columns().iter().map(|column| describe(&column)).collect();
                while let Some(row) = answer.next_row()? {
                    let columns = row.columns();
                    table.rows.push(
                        row.cells().zip(columns.iter()).map(|(cell, column)| show(cell, &column)).collect(),
                    );
                }
            }
            Ok(())
        })();
        self.connection.close(statement)?;
        executed.map(|()| table)
    }

    fn try_ask(&mut self, sql: &str) -> Result<Table, Error> {
        let mut table = Table { types: Vec::new(), rows: Vec::new() };
        let mut answer = self.connection.query(sql.as_bytes())?;
        while answer.next_result()? {
            table.types = answer.columns().iter().map(|column| describe(&column)).collect();
            while let Some(row) = answer.next_row()? {
                let columns = row.columns();
                table.rows.push(
                    row.cells().zip(columns.iter()).map(|(cell, column)| show(cell, &column)).collect(),
                );
            }
        }
        Ok(table)
    }

    /// Asks for many columns at once: `select` makes a statement of select list items. Where one of them is refused, each is
    /// asked for by itself. An answer has the type and the values of one item.
    fn ask_all(
        &mut self,
        items: &[(String, String)],
        select: &dyn Fn(&str) -> String,
        print: &dyn Fn(&str, &[&str]) -> String,
        answers: &mut Answers,
    ) {
        let list: Vec<&str> = items.iter().map(|(_, item)| item.as_str()).collect();
        let answer = match self.ask(&select(&list.join(", "))) {
            Ok(table) => {
                for (at, (name, _)) in items.iter().enumerate() {
                    let values: Vec<&str> = table.rows.iter().map(|row| row[at].as_str()).collect();
                    answers.insert(name.clone(), print(&table.types[at], &values));
                }
                return;
            }
            Err(answer) => answer,
        };
        match items {
            [(name, _)] => {
                answers.insert(name.clone(), answer);
            }
            _ => {
                items
                    .iter()
                    .for_each(|item| self.ask_all(std::slice::from_ref(item), select, print, answers));
            }
        }
    }

    fn columns(&mut self) -> Vec<String> {
        let table = self.ask("SELECT * FROM t LIMIT 0").expect("the table is there");
        let mut names = Vec::new();
        let rows = self.ask("SHOW COLUMNS FROM t").expect("the table is there").rows;
        assert_eq!(rows.len(), table.types.len());
        for row in rows.into_iter().skip(1) {
            names.push(row[0].clone());
        }
        names
    }
}

fn describe(column: &Column<'_>) -> String {
    let mut text = format!("{:?}({}", column.column_type, column.length);
    if column.decimals > 0 {
        let _ = write!(text, ",{}", column.decimals);
    }
    text.push(')');
    if column.collation != 63 {
        let _ = write!(text, " c{}", column.collation);
    }
    for (flag, name) in [
        (ColumnFlags::NOT_NULL, "NOT_NULL"),
        (ColumnFlags::UNSIGNED, "UNSIGNED"),
        (ColumnFlags::ZEROFILL, "ZEROFILL"),
        (ColumnFlags::ENUM, "ENUM"),
        (ColumnFlags::SET, "SET"),
    ] {
        if column.flags.has(flag) {
            let _ = write!(text, " {name}");
        }
    }
    text
}

fn show(cell: Cell<'_>, column: &Column<'_>) -> String {
    let mut bytes = Vec::new();
    if !cell.write_text(column, &mut bytes) {
        return "NULL".to_owned();
    }
    let is_text = bytes.iter().all(|byte| (b' '..=b'~').contains(byte) && *byte != b'|')
        || (column.collation != 63
            && std::str::from_utf8(&bytes).is_ok_and(|text| !text.contains(char::is_control)));
    let mut text = if is_text {
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        bytes.iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02X}"))
    };
    if text.len() > VALUE_BYTES_MAX {
        let hash = fnv(HASH_START, &bytes);
        let mut end = VALUE_BYTES_MAX;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        let _ = write!(text, "... {} bytes, {hash:016x}", bytes.len());
    }
    text
}

fn type_and_values(of: &str, values: &[&str]) -> String {
    format!("{of}: {}", values.join(" | "))
}

fn quoted(column: &str) -> String {
    format!("`{column}`")
}

/// Every function over every column.
fn functions(world: &mut World) -> Answers {
    let mut answers = Answers::new();
    let columns = world.columns();
    let calls = read("functions.txt");
    for call in calls.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let items: Vec<(String, String)> = columns
            .iter()
            .map(|column| (format!("{call} {column}"), call.replace('@', &quoted(column))))
            .collect();
        let is_aggregate = AGGREGATES.iter().any(|name| call.starts_with(name));
        let order = if is_aggregate { "" } else { " ORDER BY id" };
        let select = |list: &str| format!("SELECT {list} FROM t{order}");
        world.ask_all(&items, &select, &type_and_values, &mut answers);
    }
    answers
}

const AGGREGATES: &[&str] = &[
    "COUNT(",
    "SUM(",
    "AVG(",
    "MIN(",
    "MAX(",
    "STD(",
    "VAR_SAMP(",
    "BIT_AND(",
    "BIT_OR(",
    "BIT_XOR(",
    "GROUP_CONCAT(",
    "JSON_ARRAYAGG(",
    "JSON_OBJECTAGG(",
];

/// Queries that find the pairs of rows whose values are equal: `A` and `B` are the columns, `FORCE` makes an index over B be used.
const JOINS: &[(&str, &str)] = &[
    ("loop", "SELECT GROUP_CONCAT(l.id, r.id ORDER BY l.id, r.id) FROM t l JOIN t r ON (l.A = r.B) IS TRUE"),
    (
        "hash",
        "SELECT GROUP_CONCAT(l.id, r.id ORDER BY l.id, r.id) FROM t l JOIN t r USE INDEX () ON l.A = r.B",
    ),
    (
        "hash <=>",
        "SELECT GROUP_CONCAT(l.id, r.id ORDER BY l.id, r.id) FROM t l JOIN t r USE INDEX () ON l.A <=> r.B",
    ),
    (
        "hash left",
        "SELECT GROUP_CONCAT(l.id, IFNULL(r.id, '-') ORDER BY l.id, r.id) FROM t l LEFT JOIN t r USE INDEX () \
         ON l.A = r.B AND l.A = r.B AND r.id > 0",
    ),
    (
        "index",
        "SELECT GROUP_CONCAT(l.id, r.id ORDER BY l.id, r.id) FROM t l STRAIGHT_JOIN t r FORCE ON l.A = r.B",
    ),
    (
        "index left",
        "SELECT GROUP_CONCAT(l.id, IFNULL(r.id, '-') ORDER BY l.id, r.id) FROM t l LEFT JOIN t r FORCE ON l.A = r.B",
    ),
    (
        "index by row",
        "SELECT GROUP_CONCAT(id, IFNULL((SELECT GROUP_CONCAT(id ORDER BY id) FROM t r FORCE WHERE r.B = l.A), '-') \
         ORDER BY id) FROM t l",
    ),
    (
        "index range",
        "SELECT GROUP_CONCAT(id, IFNULL((SELECT GROUP_CONCAT(id ORDER BY id) FROM t r FORCE WHERE r.B > l.A), '-') \
         ORDER BY id) FROM t l",
    ),
    ("in", "SELECT GROUP_CONCAT(id ORDER BY id) FROM t l WHERE l.A IN (SELECT r.B FROM t r)"),
    (
        "exists",
        "SELECT GROUP_CONCAT(id ORDER BY id) FROM t l WHERE EXISTS (SELECT 1 FROM t r USE INDEX () WHERE r.B = l.A)",
    ),
    (
        "exists index",
        "SELECT GROUP_CONCAT(id ORDER BY id) FROM t l WHERE EXISTS (SELECT 1 FROM t r FORCE WHERE r.B = l.A)",
    ),
    (
        "not exists",
        "SELECT GROUP_CONCAT(id ORDER BY id) FROM t l WHERE NOT EXISTS (SELECT 1 FROM t r USE INDEX () WHERE r.B = l.A)",
    ),
    (
        "not in",
        "SELECT GROUP_CONCAT(id ORDER BY id) FROM t l WHERE l.A NOT IN (SELECT r.B FROM t r WHERE r.B IS NOT NULL)",
    ),
    (
        "any",
        "SELECT GROUP_CONCAT(id ORDER BY id) FROM t l WHERE (l.A = ANY (SELECT r.B FROM t r)) IS NOT TRUE",
    ),
    ("intersect", "SELECT COUNT(*) FROM (SELECT A FROM t INTERSECT SELECT B FROM t) x"),
    ("except", "SELECT COUNT(*) FROM (SELECT A FROM t EXCEPT SELECT B FROM t) x"),
    (
        "group",
        "SELECT COUNT(*) FROM (SELECT x FROM (SELECT A AS x FROM t UNION ALL SELECT B FROM t) y GROUP BY x) z",
    ),
];

/// What is asked of pairs beside [`JOINS`].
const PAIR_CELLS: &[&str] = &[
    "compare",
    "in list",
    "case",
    "greatest",
    "union",
    "loop",
    "hash",
    "hash <=>",
    "hash left",
    "index",
    "index left",
    "index by row",
    "index range",
    "in",
    "exists",
    "exists index",
    "not exists",
    "not in",
    "any",
    "intersect",
    "except",
    "group",
];

/// Columns without an index.
const NOT_INDEXED: &[&str] = &["json"];

/// Every pair of columns.
fn pairs(world: &mut World) -> Answers {
    let mut answers = Answers::new();
    let columns = world.columns();
    for left in &columns {
        let of_pairs = |what: &str, item: &dyn Fn(&str, &str) -> String| -> Vec<(String, String)> {
            let named =
                |right: &String| (format!("{left} {right} {what}"), item(&quoted(left), &quoted(right)));
            columns.iter().map(named).collect()
        };
        // One letter a pair of rows: =, <, >, NULL of = (! if <=> holds); a ? where <, = and <=> do not agree.
        let compare = of_pairs("compare", &|a, b| {
            format!(
                "CASE WHEN l.{a} = r.{b} THEN IF((l.{a} < r.{b}) IS FALSE AND l.{a} <=> r.{b}, '=', '?') \
                 WHEN (l.{a} = r.{b}) IS NULL THEN IF(l.{a} <=> r.{b}, '!', 'N') \
                 WHEN l.{a} <=> r.{b} THEN '?' WHEN l.{a} < r.{b} THEN '<' ELSE '>' END"
            )
        });
        // IN a list of several types: each item is compared for itself.
        let listed = of_pairs("in list", &|a, b| format!("IFNULL(l.{a} IN (r.{b}, r.id + 1000), 'N')"));
        let select = |list: &str| format!("SELECT {list} FROM t l, t r ORDER BY l.id, r.id");
        let rows_of_eight =
            |_: &str, values: &[&str]| values.chunks(8).map(<[&str]>::concat).collect::<Vec<_>>().join(" ");
        world.ask_all(&compare, &select, &rows_of_eight, &mut answers);
        world.ask_all(&listed, &select, &rows_of_eight, &mut answers);

        for (name, sql) in JOINS {
            let items = of_pairs(name, &|a, b| {
                let force = if NOT_INDEXED.iter().any(|column| quoted(column) == b) {
                    "USE INDEX ()".to_owned()
                } else {
                    format!("FORCE INDEX ({b})")
                };
                let sql = sql.replace("FORCE", &force);
                let sql = sql.replace("l.A", &format!("l.{a}")).replace("r.B", &format!("r.{b}"));
                format!(
                    "({})",
                    sql.replace("SELECT A", &format!("SELECT {a}"))
                        .replace("SELECT B", &format!("SELECT {b}"))
                )
            });
            let select = |list: &str| format!("SELECT {list}");
            let values = |_: &str, values: &[&str]| values.join(" | ");
            world.ask_all(&items, &select, &values, &mut answers);
        }

        let items = of_pairs("case", &|a, b| format!("CASE WHEN id % 2 THEN {a} ELSE {b} END"));
        let select = |list: &str| format!("SELECT {list} FROM t ORDER BY id");
        world.ask_all(&items, &select, &type_and_values, &mut answers);
        let items = of_pairs("greatest", &|a, b| format!("GREATEST({a}, {b})"));
        world.ask_all(&items, &select, &type_and_values, &mut answers);

        for right in &columns {
            let name = format!("{left} {right} union");
            let answer = match world.ask(&format!("SELECT `{left}` FROM t UNION SELECT `{right}` FROM t")) {
                Ok(table) => {
                    let mut values: Vec<&str> = table.rows.iter().map(|row| row[0].as_str()).collect();
                    values.sort_unstable();
                    type_and_values(&table.types[0], &values)
                }
                Err(answer) => answer,
            };
            answers.insert(name, answer);
        }
    }
    answers
}

/// What a query over pairs must find if it goes by what `=`, `<=>` and `<` say, of the letters of `compare`.
fn found_by_comparison(what: &str, compare: &str) -> Option<String> {
    let rows: Vec<&[u8]> = compare.split(' ').map(str::as_bytes).collect();
    if rows.len() != 8 || rows.iter().any(|row| row.len() != 8) {
        return None;
    }
    let partners = |row: usize, letters: &[u8]| -> Vec<usize> {
        (0..8).filter(|&other| letters.contains(&rows[row][other])).map(|other| other + 1).collect()
    };
    let pairs = |letters: &[u8], left: bool| -> Vec<String> {
        (0..8)
            .flat_map(|row| {
                let found = partners(row, letters);
                let alone = (left && found.is_empty()).then(|| format!("{}-", row + 1));
                found.into_iter().map(move |other| format!("{}{other}", row + 1)).chain(alone)
            })
            .collect()
    };
    let by_row = |letters: &[u8]| -> Vec<String> {
        (0..8)
            .map(|row| {
                let found: Vec<String> = partners(row, letters).iter().map(usize::to_string).collect();
                format!("{}{}", row + 1, if found.is_empty() { "-".to_owned() } else { found.join(",") })
            })
            .collect()
    };
    let rows_with = |has: bool, below: usize| -> Vec<String> {
        (0..below)
            .filter(|&row| partners(row, b"=").is_empty() != has)
            .map(|row| (row + 1).to_string())
            .collect()
    };
    let found = match what {
        "loop" | "hash" | "index" => pairs(b"=", false),
        "hash <=>" => pairs(b"=!", false),
        "hash left" | "index left" => pairs(b"=", true),
        "index by row" => by_row(b"="),
        "index range" => by_row(b"<"),
        "in" | "exists" | "exists index" => rows_with(true, 8),
        "not exists" | "any" => rows_with(false, 8),
        "not in" => rows_with(false, 7),
        _ => return None,
    };
    Some(if found.is_empty() { "NULL".to_owned() } else { found.join(",") })
}

/// The name of the cell with the comparison of a cell's pair of columns, and what the cell asks.
fn of_pair(cell: &str) -> Option<(String, &str)> {
    let mut words = cell.splitn(3, ' ');
    let (left, right, what) = (words.next()?, words.next()?, words.next()?);
    Some((format!("{left} {right} compare"), what))
}

/// Every query over pairs must find what the comparison of values finds.
fn contradictions(answers: &Answers) -> Vec<String> {
    let mut wrong = Vec::new();
    for (cell, answer) in answers {
        let Some((compare, what)) = of_pair(cell) else { continue };
        let Some(compare) = answers.get(&compare) else { continue };
        if let Some(expected) = found_by_comparison(what, compare)
            && expected != *answer
        {
            wrong.push(format!("{cell}: {answer}\n  by comparison: {expected}"));
        }
    }
    wrong
}

/// Expressions of a parameter.
const PARAMETER_CALLS: &[&str] = &[
    "?",
    "? + 0",
    "- ?",
    "? / 3",
    "CONCAT(?)",
    "HEX(?)",
    "LENGTH(?)",
    "UNIX_TIMESTAMP(?)",
    "DATE(?)",
    "TIME(?)",
    "YEAR(?)",
    "MICROSECOND(?)",
    "DATE_ADD(?, INTERVAL 1 DAY)",
    "TIMESTAMPDIFF(SECOND, '2012-01-01', ?)",
    "COALESCE(?, 1)",
    "IF(1, ?, 'a')",
    "NULLIF(?, 1)",
    "GREATEST(?, ?)",
    "? = ?",
    "? < '12'",
    "? = 12",
    "? IN (12, 'a')",
    "? BETWEEN 1 AND 20",
    "CAST(? AS SIGNED)",
    "CAST(? AS CHAR)",
    "CAST(? AS DATETIME(6))",
    "CAST(? AS TIME(6))",
    "CAST(? AS DATE)",
    "CAST(? AS DECIMAL(20,6))",
    "JSON_ARRAY(?)",
    "ROUND(?)",
    "CASE ? WHEN 12 THEN 'a' ELSE 'b' END",
    "(SELECT ?)",
    "MAX(?)",
    "SUM(?)",
    "? | 1",
    "? LIKE '12%'",
];

/// Parameters of every type in expressions, beside every column, and stored into every column.
fn parameters(world: &mut World) -> Answers {
    let day = DateTimeFields { year: 2012, month: 1, day: 2, ..DateTimeFields::default() };
    let second = DateTimeFields { hour: 3, minute: 4, second: 5, ..day };
    let time = TimeFields { hours: 12, ..TimeFields::default() };
    let kinds: [(&str, Param<'_>); 14] = [
        ("null", Param::Null),
        ("int", Param::Int(12)),
        ("negative", Param::Int(-1)),
        ("number", Param::Int(20_120_102)),
        ("uint", Param::UInt(u64::MAX)),
        ("float", Param::Float(12.5)),
        ("double", Param::Double(12.5)),
        ("text", Param::Bytes(b"12")),
        ("date-text", Param::Bytes(b"2012-01-02")),
        ("date", Param::Date(day)),
        ("datetime", Param::DateTime(second)),
        ("datetime6", Param::DateTime(DateTimeFields { micros: 678_901, ..second })),
        ("time", Param::Time(time)),
        ("time6", Param::Time(TimeFields { negative: true, hours: 0, second: 1, micros: 250_000, ..time })),
    ];
    let mut answers = Answers::new();
    let mut stored = Vec::new();
    let columns = world.columns();
    for (kind, parameter) in kinds {
        let mut ask = |world: &mut World, name: String, sql: &str, with_type: bool| {
            let answer = match world.execute(sql, &[parameter]) {
                Ok(table) => {
                    let values: Vec<&str> = table.rows.iter().map(|row| row[0].as_str()).collect();
                    let values = values.join(" | ");
                    if with_type { format!("{}: {values}", table.types.join("")) } else { values }
                }
                Err(answer) => answer,
            };
            answers.insert(name, answer);
        };
        for call in PARAMETER_CALLS {
            ask(world, format!("{call} of {kind}"), &format!("SELECT {call}"), true);
        }
        for column in &columns {
            for operator in ["=", "<", "<=>"] {
                let sql = format!("SELECT GROUP_CONCAT(id ORDER BY id) FROM t WHERE `{column}` {operator} ?");
                ask(world, format!("{kind} {operator} beside {column}"), &sql, false);
            }
        }
        for mode in ["", "STRICT_TRANS_TABLES"] {
            world.ask(&format!("SET sql_mode = '{mode}'")).expect("anybody may");
            for column in &columns {
                let name =
                    format!("{kind} stored{} {column}", if mode.is_empty() { " not strictly" } else { "" });
                ask(world, name.clone(), &format!("INSERT INTO t (id, `{column}`) VALUES (100, ?)"), false);
                let read = match world.ask(&format!("SELECT `{column}` FROM t WHERE id = 100")) {
                    Ok(table) => table.rows.concat().concat(),
                    Err(answer) => answer,
                };
                stored.push((
                    format!("{kind} reads{} {column}", if mode.is_empty() { " not strictly" } else { "" }),
                    read,
                ));
                world.ask("DELETE FROM t WHERE id = 100").expect("the row may go");
            }
        }
        world.ask("SET sql_mode = DEFAULT").expect("anybody may");
    }
    answers.extend(stored);
    answers
}

fn parse(text: &str) -> Answers {
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    lines.map(|(name, answer)| (name.to_owned(), answer.to_owned())).collect()
}

fn print(answers: &Answers) -> String {
    answers.iter().fold(String::new(), |text, (name, answer)| text + name + "\t" + answer + "\n")
}

/// Cells that are answered otherwise here, by reason and by [`group`]: their columns in order, and a hash of our answers.
type Differences = BTreeMap<String, BTreeMap<String, (Vec<String>, u64)>>;

/// The line of the differences that a cell belongs to, and which column it is there.
fn group(cell: &str) -> (String, String) {
    match of_pair(cell) {
        Some((compare, what)) if PAIR_CELLS.contains(&what) => {
            let mut columns = compare.split(' ');
            let (left, right) = (columns.next().unwrap_or_default(), columns.next().unwrap_or_default());
            (format!("{left} * {what}"), right.to_owned())
        }
        _ => {
            let (call, column) = cell.rsplit_once(' ').unwrap_or((cell, ""));
            (call.to_owned(), column.to_owned())
        }
    }
}

fn differences() -> Differences {
    let mut reason = String::new();
    let mut found = Differences::new();
    for line in read("differences.txt").lines() {
        let words: Vec<&str> = line.split('\t').collect();
        match words[..] {
            [group, columns, hash] => {
                let columns = columns.split(' ').map(str::to_owned).collect();
                let hash = u64::from_str_radix(hash, 16).expect("a hash");
                found.entry(reason.clone()).or_default().insert(group.to_owned(), (columns, hash));
            }
            _ => reason = line.to_owned(),
        }
    }
    found
}

fn print_differences(differences: &Differences) -> String {
    let mut text = String::new();
    for (reason, groups) in differences {
        let _ = writeln!(text, "{reason}");
        for (group, (columns, hash)) in groups {
            let _ = writeln!(text, "{group}\t{}\t{hash:016x}", columns.join(" "));
        }
    }
    text
}

/// Only the description of the result's type differs.
fn is_description(wanted: &str, answer: &str) -> bool {
    let values = |text: &str| text.split_once(": ").map(|(_, values)| values.to_owned());
    !wanted.starts_with("ERROR") && values(wanted).is_some() && values(wanted) == values(answer)
}

#[test]
fn types_answer_as_mysql() {
    let rewrite = std::env::var_os("INVAR_REWRITE").is_some();
    let oracle = harness::oracle("INVAR_ORACLE");
    let server = harness::Server::start(&["--skip-ssl"]);
    let mut ours = World::new(&server.options(), "type_matrix");
    let mut theirs = oracle.map(|options| World::new(&options, "type_matrix"));
    let listed = differences();
    let reason_of = |cell: &str| -> Option<&String> {
        let (group, column) = group(cell);
        let lists = |groups: &BTreeMap<String, (Vec<String>, u64)>| {
            groups.get(&group).is_some_and(|(columns, _)| columns.contains(&column))
        };
        listed.iter().find(|(_, groups)| lists(groups)).map(|(reason, _)| reason)
    };
    let mut found = Differences::new();
    let mut wrong = Vec::new();
    let mut shown = String::new();
    type Ask = fn(&mut World) -> Answers;
    let parts: [(&str, Ask); 3] =
        [("functions.answers", functions), ("pairs.answers", pairs), ("parameters.answers", parameters)];
    for (name, ask) in parts {
        let mut stored = parse(&read(name));
        if let Some(theirs) = &mut theirs {
            let answers = ask(theirs);
            if rewrite {
                write(name, &print(&answers));
                stored = answers;
            } else if stored != answers {
                wrong.push(format!("{name}: the other server answers otherwise than is stored"));
                let (before, now) = (print(&stored), print(&answers));
                let lines: std::collections::HashSet<&str> = before.lines().collect();
                wrong.extend(now.lines().filter(|line| !lines.contains(line)).take(5).map(str::to_owned));
            }
        }
        let answers = ask(&mut ours);
        assert!(!stored.is_empty(), "{name} is there");
        wrong.extend(contradictions(&answers));
        for (cell, wanted) in &stored {
            // Some of 9.7's joins of unlike types find other rows than its comparison of the values does.
            let contradicts_itself = of_pair(cell).is_some_and(|(compare, what)| {
                stored.get(&compare).is_some_and(|letters| {
                    answers.get(&compare) == Some(letters)
                        && found_by_comparison(what, letters).is_some_and(|found| found != *wanted)
                })
            });
            let answer = answers.get(cell).map_or("not asked", String::as_str);
            if contradicts_itself || answer == wanted {
                continue;
            }
            let _ = writeln!(shown, "{cell}\t{answer}");
            let reason = match reason_of(cell) {
                Some(reason) if reason != NO_REASON => reason,
                _ if is_description(wanted, answer) && rewrite => DESCRIPTION,
                _ => NO_REASON,
            };
            if reason == NO_REASON {
                wrong.push(format!("{cell}: {answer}\n  9.7: {wanted}"));
            }
            let (group, column) = group(cell);
            let (columns, hash) =
                found.entry(reason.to_owned()).or_default().entry(group).or_insert((Vec::new(), HASH_START));
            columns.push(column);
            *hash = fnv(*hash, answer.as_bytes());
        }
        wrong.extend(
            answers.keys().filter(|cell| !stored.contains_key(*cell)).map(|cell| format!("{cell} is new")),
        );
    }
    if !rewrite {
        for (reason, groups) in &listed {
            for (group, listed) in groups {
                let now = found.get(reason).and_then(|groups| groups.get(group));
                if now != Some(listed) {
                    wrong.push(format!("{group}: other answers than those listed for {listed:?}: {now:?}"));
                }
            }
        }
    }
    // What is answered here, for whoever looks at differences.
    if let Some(path) = std::env::var_os("INVAR_TYPES_OURS") {
        std::fs::write(&path, shown).expect("the file may be written");
    }
    if let Some(theirs) = &mut theirs {
        theirs.ask("DROP DATABASE type_matrix").expect("it is there");
    }
    drop(ours);
    server.stop();
    if rewrite {
        write("differences.txt", &print_differences(&found));
    }
    let count = wrong.len();
    wrong.truncate(50);
    assert!(count == 0, "{count} cells (INVAR_REWRITE=1 writes them down)\n{}", wrong.join("\n"));
}

/// Each function of the table is tried, or is said not to be.
#[test]
fn every_function_is_tried() {
    let text = read("functions.txt").to_ascii_lowercase();
    let words: Vec<&str> =
        text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).collect();
    let left_out: Vec<&str> = plan::function::ALL
        .iter()
        .map(|function| function.name())
        .filter(|name| {
            let word = name.split(' ').next().unwrap_or(name);
            if word.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
                !words.contains(&word)
            } else {
                !text.contains(word)
            }
        })
        .collect();
    assert!(left_out.is_empty(), "not in functions.txt: {left_out:?}");
}
