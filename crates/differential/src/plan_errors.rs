//! Whether an error depends on the plan alone: a conversion that one server evaluates and the other does not.
//!
//! In a change a conversion that loses something is an error in strict SQL mode and a warning otherwise. Which conversions are
//! evaluated depends on the rows and conditions that a plan comes to, and in which order; none is the right one. Such a difference is
//! counted and listed by itself (`depends on the plan`), with what shows it. A difference is one if
//!
//! 1. one server refuses a change with an error of [`EVALUATION_ERRORS`], and the other does it, or refuses it with another of these
//!    or of [`ROW_ERRORS`];
//! 2. without strict mode both servers do the change with the same counts, and read the same from every table that it changes;
//! 3. in strict mode one of the servers, under some other plan, gives the answer of the other; or, where both refuse, each warns of
//!    both errors without strict mode, so that only their order differs.
//!
//! So a wrong row is never taken for such a difference: it shows in 2, where both servers evaluate all that they want to.
//!
//! Where no plan shows it, the statement's own expressions may ([`PlanErrors::unneeded`], for queries, too): those that fail are
//! errors of both servers when they are evaluated by themselves ([`probes`], with rows in tables that have none), and the answer of the server that gave one does not
//! depend on them. It is the same, from both servers, whatever value stands in their place ([`values`]); or, of a query, without the
//! rows for which they fail. So no check of one server is missed: it would have to give the error by itself, too. An error of the left server in
//! expressions that stand only in arms of CASE, IF and COALESCE or in select lists above WHERE is not left out so: it must not evaluate them
//! for values and rows that are not asked for.
//!
//! What is left may depend on which expressions are evaluated, another count: [`evaluated`], or on which of two errors is found first:
//! [`first`]. Two more come of temporary tables: errors of values that one holds ([`stored`]), and digits of averages ([`digits`]).

use client::{Error, Options};

use crate::ast::{Expr, Rows, Source, Statement};
use crate::compare::{self, Difference, Kind, Lenience};
use crate::oracle::{self, Variant};
use crate::probes::{self, Probe};
use crate::round::{Finding, Pair, changed_tables};
use crate::server::{Answer, Server};
use crate::value::{Value, Writer};
use crate::walk;

mod digits;
mod evaluated;
mod first;
mod stored;

/// Errors of strict mode that conversions and functions give: a bad value, a division by zero, a date out of range, a logarithm that there is
/// none of, a document that is no number.
pub const EVALUATION_ERRORS: [u16; 7] = [1292, 1365, 1411, 1441, 3020, 3156, 6527];

/// Errors of a row that is written, which comes after the rows before it have been read.
pub const ROW_ERRORS: [u16; 7] = [1048, 1062, 1264, 1265, 1364, 1366, 3140];

/// Those of [`ROW_ERRORS`] that a temporary table gives as well, where a subquery is looked up in it.
const STORED_ERRORS: [u16; 3] = [1264, 1265, 1366];

/// Errors that an expression's values give in queries as well: constants beside dates that are none, what a character set does not hold,
/// documents and paths that are none or do not fit, also in columns of JSON_TABLE, numbers out of range, operands that do not fit.
pub const VALUE_ERRORS: [u16; 16] =
    [1411, 1525, 1690, 3064, 3141, 3143, 3144, 3146, 3153, 3155, 3156, 3513, 3665, 3666, 3669, 3854];

/// Values that replace an expression that fails: a condition is unknown, false and true; a date, which numbers are not everywhere.
fn values() -> [Value; 4] {
    [Value::Null, Value::Int(0), Value::Int(1), Value::DateTime("2001-01-01 00:00:00".to_owned())]
}

/// Where the probes of a change put their values: only a change refuses a bad conversion.
const KEPT: &str = "probed_values";

/// Rows of a script at most of which those that fail are looked for.
const ROWS_MAX: usize = 150;

/// Further plans, beside those of [`oracle::VARIANTS`].
const VARIANTS: [Variant; 6] = [
    Variant::Reversed,
    Variant::Swapped,
    Variant::Turned,
    Variant::Switch("block_nested_loop=off,semijoin=off,derived_condition_pushdown=off"),
    Variant::Switch("derived_merge=off,semijoin=off,materialization=off"),
    Variant::Switch("firstmatch=off,loosescan=off,duplicateweedout=off"),
];

/// Both servers, asked again.
#[derive(Debug)]
pub struct PlanErrors {
    pair: Pair,
}

impl PlanErrors {
    /// Connects to both, with a database of this name.
    ///
    /// # Errors
    /// A server is not there.
    pub fn connect(left: &Options, right: &Options, database: &str) -> Result<PlanErrors, Error> {
        let lenience = Lenience { columns: false, warnings: false, texts: false };
        Ok(PlanErrors { pair: Pair::connect(left, right, database, lenience)? })
    }

    /// The plan under which one of the servers answers as the other did, if the difference depends on the plan alone.
    ///
    /// # Errors
    /// A connection broke and did not come back.
    pub fn plan(&mut self, finding: &Finding) -> Result<Option<String>, Error> {
        let Difference { left: Some(left), right: Some(right), .. } = &finding.difference else {
            return Ok(None);
        };
        let Some(statement) = finding.script.statements.last() else { return Ok(None) };
        if finding.difference.kind == Kind::Message {
            return self.of_messages(finding, left, right);
        }
        if !may_depend_on_plan(&finding.difference, statement) {
            return Ok(None);
        }
        let Some(warned) = self.agrees_without_strictness(finding)? else { return Ok(None) };
        if let (Some(left), Some(right)) = finding.difference.errors
            && warned.iter().all(|warnings| tell_of(warnings, &[left, right]))
        {
            return Ok(Some(format!("both warn of {left} and {right} without strict mode")));
        }
        for (is_left, wanted) in [(false, left), (true, right)] {
            for variant in VARIANTS.iter().chain(&oracle::VARIANTS) {
                if self.answer(is_left, variant, finding)?.is_some_and(|answer| {
                    compare::compare(wanted, &answer, statement, self.pair.lenience).is_none()
                }) {
                    let server = if is_left { "left" } else { "right" };
                    return Ok(Some(format!("{server}, {}", variant.name())));
                }
            }
        }
        Ok(None)
    }

    /// Both servers refuse a change with the same error of different values: whether without strict mode both warn of both texts, so
    /// that they only meet them in another order.
    fn of_messages(
        &mut self,
        finding: &Finding,
        left: &Answer,
        right: &Answer,
    ) -> Result<Option<String>, Error> {
        let (Answer::Refused { message: left, number }, Answer::Refused { message: right, .. }) =
            (left, right)
        else {
            return Ok(None);
        };
        if !EVALUATION_ERRORS.contains(number) && !ROW_ERRORS.contains(number) {
            return Ok(None);
        }
        let Some(warned) = self.agrees_without_strictness(finding)? else { return Ok(None) };
        let tells = |warnings: &[String], text: &str| warnings.iter().any(|line| line.ends_with(text));
        let meets_both = |warnings: &Vec<String>| tells(warnings, left) && tells(warnings, right);
        let is_order = warned.iter().all(meets_both);
        Ok(is_order.then(|| format!("both warn of both texts of {number} without strict mode")))
    }

    /// What shows that the difference comes of the right server's temporary tables, if something does. `is_asked`: the servers can be asked
    /// for it in tables.
    ///
    /// # Errors
    /// A connection broke and did not come back.
    pub fn of_temporary_tables(
        &mut self,
        finding: &Finding,
        is_asked: bool,
    ) -> Result<Option<String>, Error> {
        if !is_asked {
            return Ok(None);
        }
        match self.stored(finding)? {
            Some(why) => Ok(Some(why)),
            None => self.digits(finding),
        }
    }

    /// What shows that the error is of expressions whose values the answer does not need, if something does.
    ///
    /// # Errors
    /// A connection broke and did not come back.
    pub fn unneeded(&mut self, finding: &Finding) -> Result<Option<String>, Error> {
        let Some(statement) = finding.script.statements.last() else { return Ok(None) };
        let Difference { left: Some(left), right: Some(right), .. } = &finding.difference else {
            return Ok(None);
        };
        if !may_be_unneeded(&finding.difference, statement) {
            return Ok(None);
        }
        let Some(failing) = self.failing(finding, statement)? else { return Ok(None) };
        // Both of them where both gave an error.
        let wanted = [left, right].into_iter().find(|answer| answer.error().is_none());
        let wanted_contents = match wanted {
            Some(_) => {
                let answers = self.answers(finding, statement)?;
                let is_left = left.error().is_none();
                let of_one = answers.into_iter().map(|(left, right)| if is_left { left } else { right });
                Some(of_one.collect::<Vec<Answer>>())
            }
            None => None,
        };
        let mut is_same = true;
        let mut tried = 0;
        for value in values() {
            let varied = with_value(statement, &failing, &value);
            let answers = self.answers(finding, &varied)?;
            // A number where a document is wanted, for example.
            if is_refused_as_value(&answers, &varied) {
                continue;
            }
            tried += 1;
            is_same &= is_kept(wanted_contents.as_deref(), &answers, &varied);
            if !is_same {
                break;
            }
        }
        if is_same && tried > 0 {
            return Ok(Some(format!("no value of {} is needed", show(&failing))));
        }
        if let (Some(wanted), true) = (wanted_contents, changed_tables(statement).is_empty())
            && self.is_same_without_rows(finding, statement, &wanted)?
        {
            return Ok(Some(format!("no row is needed for which {} fails", show(&failing))));
        }
        Ok(None)
    }

    /// The expressions that fail by themselves, each on both servers; nothing if one fails on one server alone, or none does. They are evaluated over
    /// the tables as they are, and with rows in those that have none: there no expression fails.
    fn failing(&mut self, finding: &Finding, statement: &Statement) -> Result<Option<Vec<Expr>>, Error> {
        let Some(probes) = probes::of(statement) else { return Ok(None) };
        let is_change = !changed_tables(statement).is_empty();
        self.load(finding)?;
        if is_change {
            self.pair.ask(&format!("CREATE TABLE {KEPT} (c LONGBLOB)"));
        }
        let mut failing: Vec<Expr> = Vec::new();
        if !self.gather_failing(finding, &probes, is_change, &mut failing)? {
            return Ok(None);
        }
        let mut has_more_rows = false;
        for table in &finding.script.tables {
            let (rows, _) = self.pair.ask(&format!("SELECT 1 FROM {} LIMIT 1", table.name));
            if matches!(&rows, Answer::Rows { rows, .. } if rows.is_empty()) {
                self.pair.ask(&oracle::more_rows(table));
                has_more_rows = true;
            }
        }
        if has_more_rows && !self.gather_failing(finding, &probes, is_change, &mut failing)? {
            return Ok(None);
        }
        Ok((!failing.is_empty()).then_some(failing))
    }

    /// Gathers those of the probes that fail by themselves, each on both servers. False if one fails on one server alone.
    fn gather_failing(
        &mut self,
        finding: &Finding,
        probes: &[Probe],
        is_change: bool,
        failing: &mut Vec<Expr>,
    ) -> Result<bool, Error> {
        for (is_left, number) in [(true, finding.difference.errors.0), (false, finding.difference.errors.1)] {
            // An error of writing a row comes of no expression.
            let Some(number) = number.filter(|number| !ROW_ERRORS.contains(number)) else { continue };
            let mut fails = Vec::new();
            for probe in probes {
                let answer = self.probe(is_left, probe, is_change, finding.is_prepared)?;
                fails.push(answer.error() == Some(number));
            }
            let own = probes::by_themselves(probes, &fails);
            // The left server may have evaluated what it must not.
            let is_guarded = |at: &usize| is_left && probes[*at].is_guarded;
            if !own.is_empty() && own.iter().all(is_guarded) {
                return Ok(false);
            }
            for at in own {
                let other = self.probe(!is_left, &probes[at], is_change, finding.is_prepared)?;
                if !is_same_error(number, &other) {
                    return Ok(false);
                }
                if !failing.contains(&probes[at].expr) {
                    failing.push(probes[at].expr.clone());
                }
            }
        }
        Ok(true)
    }

    fn probe(
        &mut self,
        is_left: bool,
        probe: &Probe,
        is_change: bool,
        is_prepared: bool,
    ) -> Result<Answer, Error> {
        let statement = if is_change {
            let rows = Rows::Query(Box::new(probe.query.clone()));
            let (table, columns, on_duplicate) = (KEPT.to_owned(), Vec::new(), Vec::new());
            Statement::Insert { verb: "INSERT", table, columns, rows, on_duplicate }
        } else {
            Statement::Query(probe.query.clone())
        };
        let server = self.server(is_left);
        let answer = oracle::ask(server, &statement, is_prepared, is_prepared);
        if let Answer::Broken(_) = answer {
            server.reconnect()?;
        }
        Ok(answer)
    }

    /// What both servers answer to a statement that replaces the finding's last, and then read of the tables it changes.
    fn answers(&mut self, finding: &Finding, statement: &Statement) -> Result<Vec<(Answer, Answer)>, Error> {
        self.load(finding)?;
        let is_prepared = finding.is_prepared;
        let left = oracle::ask(&mut self.pair.left, statement, is_prepared, is_prepared);
        let right = oracle::ask(&mut self.pair.right, statement, is_prepared, is_prepared);
        let mut answers = vec![(left, right)];
        for is_left in [true, false] {
            let (left, right) = &answers[0];
            if let Answer::Broken(_) = if is_left { left } else { right } {
                self.server(is_left).reconnect()?;
                return Ok(answers);
            }
        }
        for table in changed_tables(statement) {
            answers.push(self.pair.ask(&format!("SELECT * FROM {table}")));
        }
        Ok(answers)
    }

    /// Whether both servers give that answer when as few rows as possible are missing, so that neither refuses.
    fn is_same_without_rows(
        &mut self,
        finding: &Finding,
        statement: &Statement,
        wanted: &[Answer],
    ) -> Result<bool, Error> {
        let is_left = finding.difference.errors.0.is_some();
        let places: Vec<(usize, usize)> = (0..finding.script.tables.len())
            .flat_map(|table| (0..finding.script.tables[table].rows.len()).map(move |row| (table, row)))
            .collect();
        if places.len() > ROWS_MAX {
            return Ok(false);
        }
        let mut kept = vec![false; places.len()];
        for at in 0..places.len() {
            kept[at] = true;
            let answers = self.answers(&with_rows(finding, &places, &kept), statement)?;
            let (left, right) = &answers[0];
            let answer = if is_left { left } else { right };
            kept[at] = matches!(answer, Answer::Rows { .. });
        }
        let some_are_missing = kept.contains(&false) && kept.contains(&true);
        let answers = self.answers(&with_rows(finding, &places, &kept), statement)?;
        Ok(some_are_missing && is_kept(Some(wanted), &answers, statement))
    }

    fn server(&mut self, is_left: bool) -> &mut Server {
        if is_left { &mut self.pair.left } else { &mut self.pair.right }
    }

    fn load(&mut self, finding: &Finding) -> Result<(), Error> {
        self.pair.load(&finding.script.tables)?;
        let (_, before) =
            finding.script.statements.split_last().unwrap_or((&Statement::Plain(String::new()), &[]));
        for statement in before {
            self.pair.ask(&statement.sql());
        }
        Ok(())
    }

    /// The warnings of both servers, if they do the same where a bad conversion is a warning.
    fn agrees_without_strictness(&mut self, finding: &Finding) -> Result<Option<[Vec<String>; 2]>, Error> {
        let Some(statement) = finding.script.statements.last() else { return Ok(None) };
        self.load(finding)?;
        let (_, mode) = self.pair.ask("SELECT @@sql_mode");
        let Some(mode) = without_strictness(&mode) else { return Ok(None) };
        self.pair.ask(&format!("SET sql_mode = '{mode}'"));
        let mut answers = vec![if finding.is_prepared {
            let (sql, values) = statement.prepared_sql();
            (self.pair.left.ask_prepared(&sql, &values), self.pair.right.ask_prepared(&sql, &values))
        } else {
            self.pair.ask(&statement.sql())
        }];
        for (server, answer) in [(&mut self.pair.left, &answers[0].0), (&mut self.pair.right, &answers[0].1)]
        {
            if let Answer::Broken(_) = answer {
                server.reconnect()?;
                return Ok(None);
            }
        }
        let warned = [self.pair.left.warnings(), self.pair.right.warnings()];
        for table in changed_tables(statement) {
            answers.push(self.pair.ask(&format!("SELECT * FROM {table}")));
        }
        // A row that both refuse all the same is refused with the error that one of them gave.
        let refuses_row = |number: u16| {
            let (left, right) = finding.difference.errors;
            ROW_ERRORS.contains(&number) && [left, right].contains(&Some(number))
        };
        let refused = answers[0].0.error().filter(|number| answers[0].1.error() == Some(*number));
        let does_same = match refused {
            Some(number) => refuses_row(number) && agree(&answers[1..], statement),
            None => agree(&answers, statement),
        };
        Ok(does_same.then_some(warned))
    }

    fn answer(
        &mut self,
        is_left: bool,
        variant: &Variant,
        finding: &Finding,
    ) -> Result<Option<Answer>, Error> {
        let Some(last) = finding.script.statements.last() else { return Ok(None) };
        let Some((settings, statement, is_prepared)) =
            oracle::varied(variant, last, finding.is_prepared, &finding.script)
        else {
            return Ok(None);
        };
        self.load(finding)?;
        let server = self.server(is_left);
        // A setting that the server does not know leaves the plan as it is.
        server.ask(&settings);
        let answer = oracle::ask(server, &statement, is_prepared, finding.is_prepared);
        if let Answer::Broken(_) = answer {
            server.reconnect()?;
            return Ok(None);
        }
        server.ask(oracle::RESET);
        Ok(Some(answer))
    }
}

/// Whether lines of SHOW WARNINGS name each of these numbers.
#[must_use]
pub fn tell_of(warnings: &[String], numbers: &[u16]) -> bool {
    let tells = |number: &u16| {
        let number = number.to_string();
        warnings.iter().any(|line| line.split(" | ").nth(1) == Some(number.as_str()))
    };
    numbers.iter().all(tells)
}

/// Whether the difference is one in the evaluation of a change.
#[must_use]
pub fn may_depend_on_plan(difference: &Difference, statement: &Statement) -> bool {
    let is_change = !changed_tables(statement).is_empty() && !matches!(statement, Statement::Alter { .. });
    // DELETE writes no values but those of temporary tables.
    let is_delete = matches!(statement, Statement::Delete { .. });
    let is_of_evaluation =
        |number: &u16| EVALUATION_ERRORS.contains(number) || is_delete && STORED_ERRORS.contains(number);
    let is_known = |number: &u16| is_of_evaluation(number) || ROW_ERRORS.contains(number);
    let numbers: Vec<u16> = [difference.errors.0, difference.errors.1].into_iter().flatten().collect();
    // Two tables are changed in the order in which their rows are read.
    let is_of_order = numbers.len() == 2 && changes_join(statement);
    is_change
        && difference.kind == Kind::Error
        && (is_of_order || numbers.iter().any(is_of_evaluation))
        && numbers.iter().all(is_known)
}

/// Whether it changes rows of a join.
fn changes_join(statement: &Statement) -> bool {
    let (Statement::Update { from, .. } | Statement::Delete { from, .. }) = statement else { return false };
    matches!(from, Source::Join { .. })
}

/// Whether the difference is one in errors that only values give.
#[must_use]
pub fn may_be_unneeded(difference: &Difference, statement: &Statement) -> bool {
    let is_change = !changed_tables(statement).is_empty() && !matches!(statement, Statement::Alter { .. });
    let is_of_value =
        |number: &u16| VALUE_ERRORS.contains(number) || is_change && EVALUATION_ERRORS.contains(number);
    let mut numbers = [difference.errors.0, difference.errors.1].into_iter().flatten().peekable();
    (is_change || matches!(statement, Statement::Query(_)))
        && difference.kind == Kind::Error
        && numbers.peek().is_some()
        && numbers.all(|number| is_of_value(&number))
}

/// The statement with these expressions replaced by a value.
#[must_use]
pub fn with_value(statement: &Statement, failing: &[Expr], value: &Value) -> Statement {
    let mut varied = statement.clone();
    walk::statement_expressions(&mut varied, &mut |expr| {
        if failing.contains(expr) {
            *expr = Expr::literal(value.clone());
        }
    });
    varied
}

/// Whether both servers did the same, and what is wanted, if something is.
#[must_use]
pub fn is_kept(wanted: Option<&[Answer]>, answers: &[(Answer, Answer)], statement: &Statement) -> bool {
    let lenience = Lenience { columns: false, warnings: false, texts: false };
    let is_wanted = |wanted: &[Answer]| {
        let mut pairs = wanted.iter().zip(answers);
        wanted.len() == answers.len()
            && pairs.all(|(wanted, (left, _))| compare::compare(wanted, left, statement, lenience).is_none())
    };
    agree(answers, statement) && wanted.is_none_or(is_wanted)
}

/// Whether the other server refuses with this error, too. Of a text that is converted to DECIMAL 9.7 also says that it does not fit a column that
/// has no name.
fn is_same_error(number: u16, other: &Answer) -> bool {
    match other {
        Answer::Refused { number: of_other, message } => {
            number == *of_other
                || number == 1292 && *of_other == 1366 && message.ends_with("for column '' at row -1")
        }
        _ => false,
    }
}

/// Whether both servers refuse the statement with one error, or one of them with an error of values: the value does not fit where it stands.
fn is_refused_as_value(answers: &[(Answer, Answer)], statement: &Statement) -> bool {
    let is_change = !changed_tables(statement).is_empty();
    let is_of_value =
        |number: u16| VALUE_ERRORS.contains(&number) || is_change && EVALUATION_ERRORS.contains(&number);
    answers.first().is_some_and(|(left, right)| match (left.error(), right.error()) {
        (Some(left), Some(right)) => left == right || is_of_value(left) && is_of_value(right),
        (Some(number), None) | (None, Some(number)) => is_of_value(number),
        (None, None) => false,
    })
}

/// The finding with these of its rows.
fn with_rows(finding: &Finding, places: &[(usize, usize)], kept: &[bool]) -> Finding {
    let mut script = finding.script.clone();
    for (at, &(table, row)) in places.iter().enumerate().rev() {
        if !kept[at] {
            script.tables[table].rows.remove(row);
        }
    }
    let difference = finding.difference.clone();
    Finding { seed: finding.seed, views: finding.views, script, is_prepared: finding.is_prepared, difference }
}

fn show(failing: &[Expr]) -> String {
    let text = |expr: &Expr| {
        let mut out = Writer::default();
        expr.write(&mut out);
        out.text
    };
    failing.iter().map(text).collect::<Vec<_>>().join(" and ")
}

/// Whether both servers did the change, the first of the answers, and read the same afterwards.
#[must_use]
pub fn agree(answers: &[(Answer, Answer)], statement: &Statement) -> bool {
    let lenience = Lenience { columns: false, warnings: false, texts: false };
    let is_whole = |answer: &Answer| matches!(answer, Answer::Done { .. } | Answer::Rows { .. });
    !answers.is_empty()
        && answers.iter().all(|(left, right)| {
            is_whole(left) && is_whole(right) && compare::compare(left, right, statement, lenience).is_none()
        })
}

/// What a server said of its SQL mode, without what makes it strict.
fn without_strictness(mode: &Answer) -> Option<String> {
    let Answer::Rows { rows, .. } = mode else { return None };
    let text = String::from_utf8(rows.first()?.first()?.clone()?).ok()?;
    let is_kept = |part: &&str| !part.starts_with("STRICT_") && *part != "TRADITIONAL";
    Some(text.split(',').filter(is_kept).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(affected: u64) -> Answer {
        Answer::Done { affected, insert_id: 0, warnings: 1, info: Vec::new() }
    }

    fn rows(values: &[&str]) -> Answer {
        let rows = values.iter().map(|value| vec![Some(value.as_bytes().to_vec())]).collect();
        Answer::Rows { columns: Vec::new(), rows, warnings: 0 }
    }

    fn refused(number: u16) -> Answer {
        Answer::Refused { number, message: String::new() }
    }

    pub(super) fn delete() -> Statement {
        let from = Source::Table { name: "t0".to_owned(), alias: "r1".to_owned(), hint: None };
        let (with, targets, order) = (Vec::new(), Vec::new(), Vec::new());
        Statement::Delete { with, is_ignore: false, targets, from, filter: None, order, limit: None }
    }

    pub(super) fn difference(kind: Kind, left: Option<u16>, right: Option<u16>) -> Difference {
        let answer = |number: Option<u16>| Some(number.map_or_else(|| done(1), refused));
        Difference {
            kind,
            errors: (left, right),
            text: String::new(),
            left: answer(left),
            right: answer(right),
            right_columns: Vec::new(),
            unlike: Vec::new(),
            content_of: None,
            warnings: None,
        }
    }

    #[test]
    fn only_errors_of_evaluation_depend_on_the_plan() {
        let is_one = |left, right| may_depend_on_plan(&difference(Kind::Error, left, right), &delete());
        assert!(is_one(Some(1292), None));
        assert!(is_one(None, Some(3156)));
        assert!(is_one(Some(1292), Some(1062)));
        // Names, groups and collations are checked once, whatever the plan; a row alone is written as it is.
        for (left, right) in [
            (Some(1055), None),
            (None, Some(1054)),
            (Some(1292), Some(1267)),
            (Some(1062), None),
            (None, None),
        ] {
            assert!(!is_one(left, right), "{left:?} {right:?}");
        }
    }

    #[test]
    fn rows_and_contents_do_not_depend_on_the_plan() {
        for kind in [Kind::Crash, Kind::Rows, Kind::Order, Kind::Content, Kind::Counts] {
            assert!(!may_depend_on_plan(&difference(kind, Some(1292), None), &delete()), "{kind:?}");
        }
        let query = Statement::Plain("SELECT 1".to_owned());
        assert!(!may_depend_on_plan(&difference(Kind::Error, Some(1292), None), &query));
    }

    #[test]
    fn a_wrong_row_is_no_agreement() {
        let with = |left: Answer, right: Answer| agree(&[(done(2), done(2)), (left, right)], &delete());
        assert!(with(rows(&["1", "2"]), rows(&["1", "2"])));
        assert!(!with(rows(&["1", "2"]), rows(&["1", "3"])));
        assert!(!with(rows(&["1"]), rows(&["1", "1"])));
        assert!(!with(rows(&[]), rows(&["1"])));
    }

    #[test]
    fn other_counts_and_refusals_are_no_agreement() {
        assert!(agree(&[(done(2), done(2))], &delete()));
        assert!(!agree(&[(done(2), done(3))], &delete()));
        assert!(!agree(&[(refused(1292), refused(1292))], &delete()));
        assert!(!agree(&[(done(2), refused(1062))], &delete()));
        assert!(!agree(&[(done(2), Answer::Broken(String::new()))], &delete()));
        assert!(!agree(&[], &delete()));
    }

    #[test]
    fn both_errors_have_to_be_known_to_both() {
        let lines =
            ["Warning | 1292 | Truncated incorrect DOUBLE value: '1048'", "Warning | 1264 | Out of range"];
        let lines = lines.map(str::to_owned);
        assert!(tell_of(&lines, &[1264, 1292]));
        assert!(!tell_of(&lines, &[1292, 1048]));
        assert!(!tell_of(&[], &[1292]));
    }

    #[test]
    fn values_alone_make_an_error_unneeded() {
        let query = Statement::Query(crate::ast::Query::of(crate::ast::Select::default()));
        let is_one = |left, right, statement: &Statement| {
            may_be_unneeded(&difference(Kind::Error, left, right), statement)
        };
        assert!(is_one(Some(3854), None, &query));
        assert!(is_one(None, Some(3513), &delete()));
        assert!(is_one(Some(1292), None, &delete()));
        assert!(is_one(None, Some(1525), &query));
        // A query warns of 1292; names, groups and collations are checked whatever the values.
        for (left, right) in [(Some(1292), None), (Some(1055), None), (None, Some(1267))] {
            assert!(!is_one(left, right, &query), "{left:?} {right:?}");
        }
        assert!(!is_one(Some(3854), Some(1055), &query));
        assert!(!is_one(None, None, &query));
        assert!(!may_be_unneeded(&difference(Kind::Rows, Some(3854), None), &query));
    }

    #[test]
    fn an_answer_that_depends_on_the_value_is_not_kept() {
        let wanted = [done(2), rows(&["1", "2"])];
        let both = |left: Answer, right: Answer| [(done(2), done(2)), (left, right)];
        let kept = |answers: &[(Answer, Answer)]| is_kept(Some(&wanted), answers, &delete());
        assert!(kept(&both(rows(&["1", "2"]), rows(&["2", "1"]))));
        // Both the same, but not what is wanted; one of them otherwise; one refuses.
        assert!(!kept(&both(rows(&["1"]), rows(&["1"]))));
        assert!(!kept(&both(rows(&["1", "2"]), rows(&["1", "3"]))));
        assert!(!kept(&[(done(2), refused(3854)), (rows(&["1", "2"]), rows(&["1", "2"]))]));
        assert!(!kept(&[(done(2), done(2))]));
        assert!(is_kept(None, &both(rows(&["1"]), rows(&["1"])), &delete()));
        assert!(!is_kept(None, &both(rows(&["1"]), rows(&["2"])), &delete()));
    }

    #[test]
    fn a_value_stands_in_the_place_of_what_fails() {
        let column = Expr::Column { relation: "r1".to_owned(), name: "a".to_owned() };
        let Statement::Delete { with, is_ignore, targets, from, order, limit, .. } = delete() else { return };
        let filter = Some(column.clone());
        let statement = Statement::Delete { with, is_ignore, targets, from, filter, order, limit };
        assert_eq!(with_value(&statement, &[column], &Value::Int(0)).sql(), "DELETE FROM t0 r1 WHERE 0");
        assert_eq!(with_value(&statement, &[], &Value::Int(0)), statement);
    }

    #[test]
    fn strictness_is_left_out_of_the_mode() {
        let mode = rows(&["ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_DATE,STRICT_ALL_TABLES"]);
        assert_eq!(without_strictness(&mode).as_deref(), Some("ONLY_FULL_GROUP_BY,NO_ZERO_DATE"));
        assert_eq!(without_strictness(&refused(1064)), None);
    }
}
