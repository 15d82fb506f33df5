//! One round: tables are made on both servers, statements run on both, answers are compared.

use client::{Error, Options};

use crate::ast::{Expr, Rows, Script, Source, Statement};
use crate::compare::{self, Difference, Kind, Lenience};
use crate::forms;
use crate::generate::triggers::AUDITED;
use crate::generate::{Generator, Settings};
use crate::random::Random;
use crate::schema::{Table, Type};
use crate::server::{Answer, Server};

/// Errors after which nothing is compared: a time limit, or a lock that an earlier difference left behind.
const UNCERTAIN_ERRORS: [u16; 3] = [3024, 1205, 1317];

/// Both servers.
#[derive(Debug)]
pub struct Pair {
    /// The server that is tested.
    pub left: Server,
    /// The server that is right.
    pub right: Server,
    /// What is compared.
    pub lenience: Lenience,
    /// Statements read and change the tables through views, which differ by this number ([`view_sql`]).
    pub views: Option<u64>,
    /// The tables have triggers, which write tables of their own.
    pub has_triggers: bool,
    /// Statements have optimizer hints.
    pub has_hints: bool,
    /// What the tables hold is compared by CHECKSUM TABLE, too.
    pub has_checksums: bool,
    /// How often the right server broke off.
    pub right_crashes: usize,
}

/// How a statement went.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What differs.
    pub differences: Vec<Difference>,
    /// Both servers did it.
    pub succeeded: bool,
    /// The tables may not be the same any more, or a connection is new.
    pub is_apart: bool,
    /// The left server's answer, for other checks.
    pub answer: Option<Answer>,
}

/// A difference, with what leads to it.
#[derive(Debug)]
pub struct Finding {
    /// The seed of its round.
    pub seed: u64,
    /// As [`Pair::views`].
    pub views: Option<u64>,
    /// Tables and statements; the last one differs.
    pub script: Script,
    /// Whether the last one was prepared.
    pub is_prepared: bool,
    /// What differs.
    pub difference: Difference,
}

/// The tables a statement changes.
#[must_use]
pub fn changed_tables(statement: &Statement) -> Vec<String> {
    fn gather(source: &Source, found: &mut Vec<String>) {
        match source {
            Source::Table { name, .. } => found.push(name.clone()),
            Source::Derived { .. } | Source::JsonTable { .. } => {}
            Source::Join { left, right, .. } => {
                gather(left, found);
                gather(right, found);
            }
        }
    }
    let mut found = Vec::new();
    match statement {
        Statement::Insert { table, .. }
        | Statement::Alter { table, .. }
        | Statement::CreateSelect { table, .. } => {
            found.push(table.clone());
        }
        Statement::Update { from, .. } | Statement::Delete { from, .. } => gather(from, &mut found),
        Statement::Query(_) | Statement::Plain(_) => {}
    }
    found.sort();
    found.dedup();
    found
}

/// A condition that most rows meet, over a column by `number`.
fn view_condition(number: u64, table: &Table) -> String {
    let integers: Vec<&str> = table
        .columns
        .iter()
        .filter(|column| matches!(column.column_type, Type::Integer { .. }))
        .map(|column| column.name.as_str())
        .collect();
    let any = &table.columns[(number / 7) as usize % table.columns.len()].name;
    let Some(integer) = integers.get((number / 5) as usize % integers.len().max(1)) else {
        return format!("{any} IS NOT NULL");
    };
    match number % 5 {
        0 => format!("{integer} IS NULL OR {integer} % 3 <> 1"),
        1 => format!("{integer} < 50"),
        2 => format!("{any} IS NOT NULL"),
        3 => format!("COALESCE({integer}, 2) <> 5 AND {any} IS NOT NULL"),
        _ => format!("{integer} NOT IN (1, 7, 12) OR {any} IS NULL"),
    }
}

/// Gives a table another name and makes a view of its rows under the one it had: one that is merged, that renames and restricts, a view of a
/// view, a join, with options and without, some with a computed column; or one whose rows are materialised, over a set operation or groups.
/// `variety`: what it is, besides the table's number.
#[must_use]
pub fn view_sql(number: usize, variety: u64, table: &Table) -> Vec<String> {
    let mut random = Random::new(variety.wrapping_mul(31).wrapping_add(number as u64));
    let definition = table;
    let table = &table.name;
    let kept = format!("{table}_kept");
    let mut sql = vec![format!("RENAME TABLE {table} TO {kept}")];
    let mut condition = || view_condition(random.next_bits(), definition);
    let (first, second) = (condition(), condition());
    let option = |random: &mut Random| {
        *random.pick(&[
            "",
            "",
            " WITH CHECK OPTION",
            " WITH LOCAL CHECK OPTION",
            " WITH CASCADED CHECK OPTION",
        ])
    };
    let kind = if variety == 0 { number as u64 % 7 } else { random.next_bits() % 14 };
    match kind {
        0 => sql.push(format!("CREATE VIEW {table} AS SELECT * FROM {kept}")),
        1 => sql.push(format!("CREATE ALGORITHM=TEMPTABLE VIEW {table} AS SELECT * FROM {kept} AS base")),
        2 => {
            sql.push(format!(
                "CREATE ALGORITHM=MERGE VIEW {table}_below AS SELECT * FROM {kept} WHERE 1 = 1"
            ));
            sql.push(format!("CREATE SQL SECURITY INVOKER VIEW {table} AS SELECT * FROM {table}_below"));
        }
        3 => sql.push(format!(
            "CREATE VIEW {table} AS SELECT * FROM {kept} UNION ALL SELECT * FROM {kept} WHERE FALSE"
        )),
        4 => sql.push(format!(
            "CREATE VIEW {table} AS SELECT base.* FROM {kept} AS base JOIN (SELECT 1 AS one) AS other"
        )),
        5 => sql.push(format!("CREATE VIEW {table} AS SELECT DISTINCT * FROM {kept}")),
        6 => sql.push(format!("CREATE VIEW {table} AS WITH c AS (SELECT * FROM {kept}) SELECT * FROM c")),
        7 | 8 => {
            let option = option(&mut random);
            sql.push(format!("CREATE VIEW {table} AS SELECT * FROM {kept} WHERE {first}{option}"));
        }
        9 | 10 => {
            let (below, above) = (option(&mut random), option(&mut random));
            let middle = random.pick(&["", "WHERE 1 = 1"]).to_string();
            sql.push(format!("CREATE VIEW {table}_below AS SELECT * FROM {kept} WHERE {first}{below}"));
            sql.push(format!("CREATE VIEW {table}_middle AS SELECT * FROM {table}_below {middle}"));
            sql.push(format!("CREATE VIEW {table} AS SELECT * FROM {table}_middle WHERE {second}{above}"));
        }
        11 => {
            let option = option(&mut random);
            sql.push(format!("CREATE TABLE {table}_one (one_key INT PRIMARY KEY)"));
            sql.push(format!("INSERT INTO {table}_one VALUES (1)"));
            sql.push(format!(
                "CREATE VIEW {table} AS SELECT base.* FROM {kept} AS base JOIN {table}_one WHERE {first}{option}"
            ));
        }
        12 => {
            let option = option(&mut random);
            sql.push(format!("CREATE TABLE {table}_one (one_key INT PRIMARY KEY)"));
            sql.push(format!("INSERT INTO {table}_one VALUES (1), (2)"));
            sql.push(format!(
                "CREATE VIEW {table} AS SELECT * FROM {kept} WHERE ({first}) AND 2 > (SELECT MIN(one_key) FROM {table}_one){option}"
            ));
        }
        _ => {
            let computed = random.below(definition.columns.len());
            let items = definition.columns.iter().enumerate().map(|(at, column)| {
                let name = &column.name;
                if at == computed { format!("IFNULL({name}, NULL) AS {name}") } else { name.clone() }
            });
            let items = items.collect::<Vec<_>>().join(", ");
            let option = option(&mut random);
            sql.push(format!("CREATE VIEW {table} AS SELECT {items} FROM {kept} WHERE {first}{option}"));
        }
    }
    sql
}

/// Whether 9.7 does not do it through a view: INSERT ... SELECT ... ON DUPLICATE KEY UPDATE with VALUES(column) of several tables inserts
/// nothing there, and says nothing.
fn is_not_done_through_views(statement: &Statement) -> bool {
    let Statement::Insert { rows: Rows::Query(_), on_duplicate, .. } = statement else { return false };
    let is_of_new_row =
        |value: &Expr| matches!(value, Expr::Call { form, .. } if std::ptr::eq(*form, forms::VALUES));
    on_duplicate.iter().any(|(_, value)| is_of_new_row(value))
}

/// What makes the tables, with their rows, and the views that statements read them through.
#[must_use]
pub fn database_sql(tables: &[Table], views: Option<u64>) -> Vec<String> {
    let mut sql = Vec::new();
    for table in tables {
        sql.push(table.create_sql());
        sql.extend(table.insert_sql());
    }
    if let Some(variety) = views {
        sql.extend(views_sql(tables, variety));
    }
    sql
}

/// The views of all tables, as [`view_sql`] makes them.
fn views_sql(tables: &[Table], variety: u64) -> Vec<String> {
    let kept = tables.iter().filter(|table| !table.is_temporary);
    // The name says which it is, so that it stays the same where others are left out.
    let number = |table: &Table| table.name.bytes().fold(0, |sum, byte| sum * 31 + usize::from(byte)) % 1009;
    kept.flat_map(|table| view_sql(number(table), variety, table)).collect()
}

impl Pair {
    /// Connects to both, each with a database of this name.
    ///
    /// # Errors
    /// A server is not there.
    pub fn connect(
        left: &Options,
        right: &Options,
        database: &str,
        lenience: Lenience,
    ) -> Result<Pair, Error> {
        let (left, right) = (Server::connect(left, database)?, Server::connect(right, database)?);
        Ok(Pair {
            left,
            right,
            lenience,
            views: None,
            has_triggers: false,
            has_hints: false,
            has_checksums: false,
            right_crashes: 0,
        })
    }

    /// Empty databases with these tables.
    ///
    /// # Errors
    /// A connection broke.
    pub fn load(&mut self, tables: &[Table]) -> Result<(), Error> {
        self.left.fresh_database()?;
        self.right.fresh_database()?;
        for sql in database_sql(tables, self.views) {
            self.left.send(&sql);
            self.right.send(&sql);
            let (_, _) = (self.left.read(), self.right.read());
        }
        Ok(())
    }

    /// Both servers' answers to a text.
    pub fn ask(&mut self, sql: &str) -> (Answer, Answer) {
        self.left.send(sql);
        self.right.send(sql);
        (self.left.read(), self.right.read())
    }

    /// Runs a statement on both servers and compares all that can be seen of it.
    pub fn run(&mut self, statement: &Statement, is_prepared: bool) -> Outcome {
        let (left, right) = if is_prepared {
            let (sql, values) = statement.prepared_sql();
            (self.left.ask_prepared(&sql, &values), self.right.ask_prepared(&sql, &values))
        } else {
            self.ask(&statement.sql())
        };
        let mut outcome =
            Outcome { succeeded: left.error().is_none() && right.error().is_none(), ..Outcome::default() };
        if let Answer::Broken(why) = &right {
            self.right_crashes += 1;
            eprintln!("the right server: {why} on {}", statement.sql());
            outcome.is_apart = true;
            let _ = self.right.reconnect(); // The next load says it if that fails.
            return outcome;
        }
        if let Answer::Broken(_) = left {
            outcome.is_apart = true;
            let _ = self.left.reconnect();
        }
        let is_uncertain =
            |answer: &Answer| answer.error().is_some_and(|number| UNCERTAIN_ERRORS.contains(&number));
        if is_uncertain(&left) || is_uncertain(&right) {
            outcome.is_apart = statement.is_change();
            return outcome;
        }
        if let Some(found) = compare::compare(&left, &right, statement, self.lenience) {
            outcome.is_apart |= found.kind < Kind::Columns && statement.is_change();
            outcome.differences.push(found);
        } else if self.lenience.warnings
            && compare::has_certain_warnings(statement)
            && (left.warnings() > 0 || right.warnings() > 0)
        {
            let (left, right) = (self.left.warnings(), self.right.warnings());
            outcome.differences.extend(compare::compare_warnings(&left, &right, self.lenience));
        } else if self.lenience.warnings && self.has_hints && !is_prepared {
            // Whatever a plan may warn of, hints are warned of alike.
            let (left, right) = (self.left.warnings(), self.right.warnings());
            let of_hints = |lines: Vec<String>| -> Vec<String> {
                lines.into_iter().filter(|line| compare::is_of_hint(line)).collect()
            };
            let found = compare::compare_warnings(&of_hints(left), &of_hints(right), self.lenience);
            outcome.differences.extend(found);
        }
        // Where one server refuses, the contents differ by that.
        let follows = outcome.differences.iter().any(|found| found.kind < Kind::Counts);
        if !follows {
            let mut tables = changed_tables(statement);
            if self.has_triggers && !tables.is_empty() {
                tables.extend(AUDITED.map(str::to_owned));
            }
            for table in tables {
                self.compare_content(&table, statement, &mut outcome);
            }
            // Where the contents differ as well, a row is missing or another: the counts say so too.
            if outcome.differences.iter().any(|found| found.kind == Kind::Content) {
                outcome.differences.retain(|found| found.kind != Kind::Counts);
            }
        }
        outcome.answer = Some(left);
        outcome
    }

    fn compare_content(&mut self, table: &str, statement: &Statement, outcome: &mut Outcome) {
        let mut texts = vec![format!("SELECT * FROM {table}")];
        if self.views.is_some() {
            texts.push(format!("SELECT * FROM {table}_kept"));
        }
        if self.has_checksums {
            texts.push(format!("CHECKSUM TABLE {table}"));
        }
        if matches!(statement, Statement::Alter { .. } | Statement::CreateSelect { .. }) {
            texts.push(format!("SHOW CREATE TABLE {table}"));
        }
        for sql in texts {
            let (left, right) = self.ask(&sql);
            let plain = Statement::Plain(sql.clone());
            let lenience = Lenience { columns: false, ..self.lenience };
            if let Some(mut found) = compare::compare(&left, &right, &plain, lenience) {
                found.kind = Kind::Content;
                found.content_of = Some(sql);
                outcome.is_apart = true;
                outcome.differences.push(found);
            }
        }
    }

    /// Generates and runs a round; `found` is given each difference. Returns how many statements ran.
    ///
    /// # Errors
    /// A connection broke and did not come back.
    pub fn round(
        &mut self,
        seed: u64,
        settings: &Settings,
        mut found: impl FnMut(Finding),
    ) -> Result<usize, Error> {
        let mut generator = Generator::new(seed, settings.clone());
        // Its own choices, so that a statement is the same whether it is prepared or not.
        let mut random = Random::new(!seed);
        let tables = generator.tables.clone();
        if let Some(variety) = &mut self.views {
            *variety = seed;
        }
        self.load(&tables)?;
        let mut history: Vec<Statement> = Vec::new();
        for done in 0..settings.statements {
            let statement = generator.statement();
            if self.views.is_some() && is_not_done_through_views(&statement) {
                continue;
            }
            let is_prepared =
                random.chance(30) && !matches!(statement, Statement::Plain(_) | Statement::Alter { .. });
            let outcome = self.run(&statement, is_prepared);
            let is_state = statement.is_change() || matches!(statement, Statement::Plain(_));
            if let (true, Statement::Alter { table, change }) = (outcome.succeeded, &statement) {
                generator.altered(table, change);
            }
            if !outcome.differences.is_empty() {
                let mut statements = history.clone();
                statements.push(statement.clone());
                let script = Script { tables: tables.clone(), statements };
                for difference in outcome.differences {
                    let views = self.views;
                    found(Finding { seed, views, script: script.clone(), is_prepared, difference });
                }
            }
            if outcome.is_apart {
                return Ok(done + 1);
            }
            if is_state {
                history.push(statement);
            }
        }
        Ok(settings.statements)
    }
}
