//! Whether an error depends on the plan alone: a conversion that one server evaluates and the other does not.
//!
//! In a change a conversion that loses something is an error in strict SQL mode and a warning otherwise. Which conversions are
//! evaluated depends on the rows and conditions that a plan comes to, and in which order; none is the right one. Such a difference is
//! counted and listed by itself (`depends on the plan`), with what shows it. A difference is one if
//!
//! 1. one server refuses a change with an error of [`EVALUATION_ERRORS`], and the other does it, or refuses it with another of these
//!    or of [`ROW_ERRORS`];
//! 2. without strict mode both servers do the change with the same counts, and read the same from every table that it changes;
//! 3. in strict mode one of the servers, under some other plan, gives the answer of the other.
//!
//! So a wrong row is never taken for such a difference: it shows in 2, where both servers evaluate all that they want to.

use client::{Error, Options};

use crate::ast::Statement;
use crate::compare::{self, Difference, Kind, Lenience};
use crate::oracle::{self, Variant};
use crate::round::{Finding, Pair, changed_tables};
use crate::server::{Answer, Server};

/// Errors of strict mode that conversions give: a bad value, a division by zero, a date out of range, a document that is no number.
pub const EVALUATION_ERRORS: [u16; 5] = [1292, 1365, 1411, 1441, 3156];

/// Errors of a row that is written, which comes after the rows before it have been read.
pub const ROW_ERRORS: [u16; 7] = [1048, 1062, 1264, 1265, 1364, 1366, 3140];

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
        if !may_depend_on_plan(&finding.difference, statement) || !self.agrees_without_strictness(finding)? {
            return Ok(None);
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

    /// Whether both servers do the same where a bad conversion is a warning.
    fn agrees_without_strictness(&mut self, finding: &Finding) -> Result<bool, Error> {
        let Some(statement) = finding.script.statements.last() else { return Ok(false) };
        self.load(finding)?;
        let (_, mode) = self.pair.ask("SELECT @@sql_mode");
        let Some(mode) = without_strictness(&mode) else { return Ok(false) };
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
                return Ok(false);
            }
        }
        for table in changed_tables(statement) {
            answers.push(self.pair.ask(&format!("SELECT * FROM {table}")));
        }
        Ok(agree(&answers, statement))
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

/// Whether the difference is one in the evaluation of a change.
#[must_use]
pub fn may_depend_on_plan(difference: &Difference, statement: &Statement) -> bool {
    let is_change = !changed_tables(statement).is_empty() && !matches!(statement, Statement::Alter { .. });
    let is_of_evaluation = |number: &u16| EVALUATION_ERRORS.contains(number);
    let is_known = |number: &u16| is_of_evaluation(number) || ROW_ERRORS.contains(number);
    let numbers: Vec<u16> = [difference.errors.0, difference.errors.1].into_iter().flatten().collect();
    is_change
        && difference.kind == Kind::Error
        && numbers.iter().any(is_of_evaluation)
        && numbers.iter().all(is_known)
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
    use crate::ast::Source;

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

    fn delete() -> Statement {
        let from = Source::Table { name: "t0".to_owned(), alias: "r1".to_owned(), hint: None };
        let (targets, order) = (Vec::new(), Vec::new());
        Statement::Delete { is_ignore: false, targets, from, filter: None, order, limit: None }
    }

    fn difference(kind: Kind, left: Option<u16>, right: Option<u16>) -> Difference {
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
    fn strictness_is_left_out_of_the_mode() {
        let mode = rows(&["ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_DATE,STRICT_ALL_TABLES"]);
        assert_eq!(without_strictness(&mode).as_deref(), Some("ONLY_FULL_GROUP_BY,NO_ZERO_DATE"));
        assert_eq!(without_strictness(&refused(1064)), None);
    }
}
