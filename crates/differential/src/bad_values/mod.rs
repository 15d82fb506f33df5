//! Changes with values that fit their columns badly, under every `sql_mode`: contents, errors and warnings of two servers are compared.
//!
//! A case is a table of a few columns, a mode and some changes. After a difference the next case begins, so each finding is short.

pub mod pool;

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::cases::{Finding, difference, show};
use crate::random::Random;
use crate::round::Pair;
use pool::{KINDS, Kind, value};

/// Modes, each of which a case has or not.
const MODES: &[&str] = &[
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_DATE",
    "NO_ZERO_IN_DATE",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "ALLOW_INVALID_DATES",
    "NO_AUTO_VALUE_ON_ZERO",
    "TIME_TRUNCATE_FRACTIONAL",
    "NO_UNSIGNED_SUBTRACTION",
    "NO_BACKSLASH_ESCAPES",
    "PIPES_AS_CONCAT",
    "ONLY_FULL_GROUP_BY",
];
/// The percentage of each of them.
const MODE_PERCENT: &[u64] = &[50, 10, 35, 35, 35, 15, 10, 10, 10, 5, 5, 50];
/// Changes in a case.
const CHANGES: usize = 6;

struct Column {
    name: String,
    kind: Kind,
    is_not_null: bool,
    default: Option<&'static str>,
}

impl Column {
    fn definition(&self) -> String {
        let mut text = format!("{} {}", self.name, self.kind.declared);
        text.push_str(if self.is_not_null { " not null" } else { " null" });
        if let Some(default) = self.default {
            let _ = write!(text, " default {default}");
        }
        text
    }
}

struct Case {
    random: Random,
    columns: Vec<Column>,
    /// Where a file for LOAD DATA may be written that both servers read.
    file: Option<PathBuf>,
}

impl Case {
    fn new(seed: u64, file: Option<PathBuf>) -> Case {
        let mut random = Random::new(seed);
        let count = 1 + random.below(3);
        let columns = (0..count)
            .map(|at| {
                let kind = *random.pick(KINDS);
                let default = (kind.has_default && random.chance(30)).then_some(kind.good);
                Column { name: format!("c{at}"), kind, is_not_null: random.chance(50), default }
            })
            .collect();
        Case { random, columns, file }
    }

    fn definitions(&mut self) -> Vec<String> {
        let mut columns: Vec<String> = self.columns.iter().map(Column::definition).collect();
        for column in &self.columns {
            let is_large = ["text", "blob", "json"].iter().any(|word| column.kind.declared.contains(word));
            if !is_large && self.random.chance(15) {
                let unique = if self.random.chance(30) { "unique " } else { "" };
                columns.push(format!("{unique}key ({})", column.name));
            }
        }
        let auto = if self.random.chance(40) { " auto_increment" } else { "" };
        let mut statements =
            vec![format!("create table t (id int{auto} primary key, {})", columns.join(", "))];
        // A second table with values of other types, to read from.
        let other = *self.random.pick(KINDS);
        statements.push(format!("create table s (id int primary key, v {}, w varchar(20))", other.declared));
        let good: Vec<&str> = self.columns.iter().map(|column| column.kind.good).collect();
        statements.push(format!("insert into t values (1, {0}), (2, {0})", good.join(", ")));
        let texts = ["'x'", "''", "'12'", "'2020-02-30'", "NULL", "'a'", "'1e5'", "'2020-01-01 10:11:12'"];
        let text = self.random.word(&texts);
        statements.push(format!("insert into s values (1, {}, {text}), (2, NULL, '7')", other.good));
        let modes: Vec<&str> = MODES
            .iter()
            .zip(MODE_PERCENT)
            .filter(|(_, percent)| self.random.chance(**percent))
            .map(|(mode, _)| *mode)
            .collect();
        statements.push(format!("set sql_mode = '{}'", modes.join(",")));
        statements
    }

    fn column(&mut self) -> usize {
        self.random.below(self.columns.len())
    }

    fn value(&mut self, column: usize) -> &'static str {
        value(&mut self.random, &self.columns[column].kind)
    }

    fn id(&mut self) -> &'static str {
        self.random.word(&["1", "2", "3", "4", "5", "6", "7", "8", "9"])
    }

    fn ignore(&mut self) -> &'static str {
        if self.random.chance(35) { " ignore" } else { "" }
    }

    fn assignments(&mut self) -> String {
        let mut parts = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let column = self.column();
            let name = self.columns[column].name.clone();
            let other = self.columns[self.random.below(self.columns.len())].name.clone();
            let right = match self.random.below(10) {
                0 => other,
                1 => format!("{other} + 1"),
                2 => format!("concat({other}, 'x')"),
                3 => format!("{other} - 10"),
                4 => format!("{other} / 0"),
                _ => self.value(column).to_owned(),
            };
            parts.push(format!("{name} = {right}"));
        }
        parts.join(", ")
    }

    fn condition(&mut self) -> String {
        let column = self.column();
        let (name, value) = (self.columns[column].name.clone(), self.value(column));
        let value = if value == "default" { "NULL" } else { value };
        match self.random.below(8) {
            0..=2 => format!("id = {}", self.id()),
            3 => "id > 0".to_owned(),
            4 => format!("{name} = {value}"),
            5 => format!("{name} <> {value}"),
            6 => format!("{name} in ({value}, {value})"),
            _ => format!("{name} between {value} and {}", self.columns[column].kind.good),
        }
    }

    fn change(&mut self) -> String {
        let ignore = self.ignore();
        match self.random.below(20) {
            0..=6 => self.insert(ignore),
            7..=9 => {
                let column = self.column();
                let id = self.id();
                let name = self.columns[column].name.clone();
                let source = match self.random.below(4) {
                    0 => "v",
                    1 => "w",
                    2 => "concat(w, '')",
                    _ => self.value(column),
                };
                let source = if source == "default" { "NULL" } else { source };
                format!("insert{ignore} into t (id, {name}) select id + {id}, {source} from s order by id")
            }
            10 => self.insert(ignore).replacen(&format!("insert{ignore}"), "replace", 1),
            11..=12 => format!("{} on duplicate key update {}", self.insert(ignore), self.assignments()),
            13..=15 => {
                format!("update{ignore} t set {} where {} order by id", self.assignments(), self.condition())
            }
            16 => {
                let column = self.column();
                let column = self.columns[column].name.clone();
                let source = self.random.word(&["s.v", "s.w", "concat(s.w, 'x')", "s.v + 1"]);
                format!("update{ignore} t join s on t.id = s.id set t.{column} = {source}")
            }
            17 => format!("delete{ignore} from t where {}", self.condition()),
            18 => self.load(ignore),
            _ => self.alteration(),
        }
    }

    fn insert(&mut self, ignore: &str) -> String {
        let mut listed: Vec<usize> = (0..self.columns.len()).collect();
        listed.retain(|_| self.random.chance(80));
        if listed.is_empty() {
            listed.push(0);
        }
        let names: Vec<&str> = listed.iter().map(|at| self.columns[*at].name.as_str()).collect();
        let names = names.join(", ");
        let has_id = self.random.chance(90);
        let rows: Vec<String> = (0..1 + self.random.below(3))
            .map(|_| {
                let mut values: Vec<&str> = Vec::new();
                if has_id {
                    values.push(match self.random.below(12) {
                        0 => "0",
                        1 => "NULL",
                        _ => self.id(),
                    });
                }
                values.extend(listed.iter().map(|at| self.value(*at)).collect::<Vec<_>>());
                format!("({})", values.join(", "))
            })
            .collect();
        let id = if has_id { "id, " } else { "" };
        format!("insert{ignore} into t ({id}{names}) values {}", rows.join(", "))
    }

    /// A file of plain fields and its LOAD DATA.
    fn load(&mut self, ignore: &str) -> String {
        let Some(file) = self.file.clone() else { return self.insert(ignore) };
        let mut lines = String::new();
        for _ in 0..1 + self.random.below(3) {
            lines.push_str(self.id());
            for at in 0..self.columns.len() + usize::from(self.random.chance(10)) {
                let at = at.min(self.columns.len() - 1);
                if self.random.chance(6) {
                    break;
                }
                let value = self.value(at);
                let plain =
                    value.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(value);
                let field = if plain == "NULL" { "\\N" } else { plain };
                let _ = write!(lines, "\t{field}");
            }
            lines.push('\n');
        }
        if std::fs::write(&file, &lines).is_err() {
            return self.insert(ignore);
        }
        let columns: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let columns = match self.random.below(4) {
            0 => format!(" (id, {}) set {}", columns.join(", "), self.assignments()),
            1 => format!(" (id, @a) set {} = @a", columns[0]),
            _ => String::new(),
        };
        let ignore = if self.random.chance(20) { " replace" } else { ignore };
        // The text of the file stands behind the statement, for the reader.
        let shown = lines.replace("*/", "* /");
        format!("load data infile '{}'{ignore} into table t{columns} /* {shown} */", file.display())
    }

    fn alteration(&mut self) -> String {
        let column = self.column();
        let name = self.columns[column].name.clone();
        let other = *self.random.pick(KINDS);
        let null = self.random.word(&["", " null", " not null", " not null"]);
        match self.random.below(4) {
            0 => format!("alter table t add column n {}{null}", other.declared),
            1 if other.has_default => {
                format!(
                    "alter table t add column n {}{null} default {}",
                    other.declared,
                    self.value_of(&other)
                )
            }
            2 => format!("alter table t modify {name} {}{null}", self.columns[column].kind.declared),
            _ => format!("alter table t modify {name} {}{null}", other.declared),
        }
    }

    fn value_of(&mut self, kind: &Kind) -> &'static str {
        let value = self.random.word(kind.values);
        if value.contains('(') { kind.good } else { value }
    }
}

/// How a table looks, whatever its columns hold.
const CONTENT: &str = "select * from t order by id";

/// Runs one case; the number of statements compared, and what differs.
///
/// # Errors
/// A connection broke and does not come back.
pub fn case(
    pair: &mut Pair,
    seed: u64,
    file: Option<PathBuf>,
) -> Result<(usize, Option<Finding>), client::Error> {
    let texts = pair.lenience.texts;
    let mut case = Case::new(seed, file);
    pair.left.fresh_database()?;
    pair.right.fresh_database()?;
    let mut statements = Vec::new();
    let mut compared = 0;
    for sql in case.definitions() {
        pair.ask(&sql);
        statements.push(sql);
    }
    for _ in 0..CHANGES {
        let sql = case.change();
        statements.push(sql.clone());
        compared += 1;
        let (left, right) = pair.ask(&sql);
        let (left_warnings, right_warnings) = (pair.left.warnings(), pair.right.warnings());
        let (left_rows, right_rows) = pair.ask(CONTENT);
        let answers = difference(&left, &right, texts).map(|kind| (kind, show(&left, &right)));
        let rows =
            difference(&left_rows, &right_rows, texts).map(|kind| (kind, show(&left_rows, &right_rows)));
        let warnings = (texts && left_warnings != right_warnings).then(|| {
            let text =
                format!("left:  {}\nright: {}", left_warnings.join("\n    "), right_warnings.join("\n    "));
            ("Warnings", text)
        });
        // Other contents are worse than another error.
        let found: Vec<(&str, String)> = [rows, answers, warnings].into_iter().flatten().collect();
        if let Some((kind, _)) = found.first() {
            let text = found.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
            return Ok((compared, Some(Finding { seed, statements, kind, text })));
        }
    }
    Ok((compared, None))
}
