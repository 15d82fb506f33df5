//! Which of several errors of a statement is given.
//!
//! A statement that is wrong in two ways is refused with either error: the manual defines no order in which names, groups, collations, constants,
//! values and the rows that are written are checked. Such a difference is counted by itself (`depends on the order of checks`). It is one if
//!
//! 1. both servers refuse the statement, which defines nothing, with two errors;
//! 2. of each error there is a statement that both servers refuse with it: one that is cut out of this one, in the words that it was given in, or if
//!    it is one of groups, with all lists of GROUP BY as they are, since what is cut must not make the error; or an error of values
//!    ([`VALUE_ERRORS`], of a change also [`EVALUATION_ERRORS`]), one of its expressions by itself ([`probes`]).
//!
//! So each server knows both errors.

use super::{EVALUATION_ERRORS, KEPT, PlanErrors, VALUE_ERRORS};
use crate::ast::{Expr, Statement};
use crate::compare::{Difference, Kind};
use crate::oracle;
use crate::probes;
use crate::round::{Finding, changed_tables};
use crate::server::Answer;
use crate::value::Value;
use crate::walk;

/// Errors that a statement with other groups may have.
const GROUP_ERRORS: [u16; 4] = [1055, 1140, 3065, 3602];

/// Statements that are asked at most.
const ASKED_MAX: usize = 300;

impl PlanErrors {
    /// What shows that both errors are errors of both servers, if something does.
    ///
    /// # Errors
    /// A connection broke and did not come back.
    pub fn first(&mut self, finding: &Finding) -> Result<Option<String>, client::Error> {
        let Difference { left: Some(left), right: Some(right), .. } = &finding.difference else {
            return Ok(None);
        };
        let Some(statement) = finding.script.statements.last() else { return Ok(None) };
        if !may_depend_on_order(&finding.difference, statement) {
            return Ok(None);
        }
        self.load(finding)?;
        let (mut of_left, mut of_right) = (None, None);
        let mut asked = 0;
        let mut smallest = statement.clone();
        loop {
            let mut candidates = Vec::new();
            walk::smaller_statement(&smallest, &mut |smaller| candidates.push(smaller));
            candidates.extend(with_plain_items(&smallest));
            candidates.sort_by_cached_key(|candidate| candidate.sql().len());
            let mut next = None;
            for candidate in candidates {
                if asked == ASKED_MAX {
                    return self.of_values(finding, statement, [of_left.is_some(), of_right.is_some()]);
                }
                asked += 1;
                let (answer, other) = self.both(finding, &candidate)?;
                let is_given = |wanted: &Answer| {
                    let Some(number) = wanted.error() else { return false };
                    let is_one = answer.error() == Some(number) && other.error() == Some(number);
                    // The words of errors of groups name the database, which is another here.
                    is_one
                        && match GROUP_ERRORS.contains(&number) {
                            true => groups(&candidate) == groups(statement),
                            false => [&answer, &other].iter().any(|answer| words(answer) == words(wanted)),
                        }
                };
                if is_given(left) {
                    of_left.get_or_insert_with(|| candidate.sql());
                } else if is_given(right) {
                    of_right.get_or_insert_with(|| candidate.sql());
                } else if next.is_none()
                    && (answer.error(), other.error()) == (left.error(), right.error())
                    && candidate.sql().len() < smallest.sql().len()
                {
                    next = Some(candidate);
                }
                if let (Some(_), Some(_)) = (&of_left, &of_right) {
                    return Ok(Some("both give both errors of parts".to_owned()));
                }
            }
            let Some(candidate) = next else {
                return self.of_values(finding, statement, [of_left.is_some(), of_right.is_some()]);
            };
            smallest = candidate;
        }
    }

    /// What shows that those of both errors that no part has shown to be (`are_known`: the left one, the right one) are errors of values
    /// on both servers, if something does.
    fn of_values(
        &mut self,
        finding: &Finding,
        statement: &Statement,
        are_known: [bool; 2],
    ) -> Result<Option<String>, client::Error> {
        if are_known == [false, false] {
            return Ok(None);
        }
        let is_change = !changed_tables(statement).is_empty();
        let (left, right) = finding.difference.errors;
        let missing = if are_known[0] { right } else { left };
        let is_of_value =
            |number: &u16| VALUE_ERRORS.contains(number) || is_change && EVALUATION_ERRORS.contains(number);
        let Some(number) = missing.filter(is_of_value) else { return Ok(None) };
        let Some(probes) = probes::of(statement) else { return Ok(None) };
        self.load(finding)?;
        if is_change {
            self.pair.ask(&format!("CREATE TABLE {KEPT} (c LONGBLOB)"));
        }
        for probe in &probes {
            let mut fails = true;
            for is_left in [true, false] {
                let answer = self.probe(is_left, probe, is_change, finding.is_prepared)?;
                fails &= answer.error() == Some(number);
            }
            if fails {
                return Ok(Some(format!("both give one error of parts, and {number} of an expression")));
            }
        }
        Ok(None)
    }

    /// What both servers answer, over tables as they were loaded.
    fn both(&mut self, finding: &Finding, statement: &Statement) -> Result<(Answer, Answer), client::Error> {
        let mut answers = Vec::new();
        for is_left in [true, false] {
            let server = self.server(is_left);
            let answer = oracle::ask(server, statement, finding.is_prepared, finding.is_prepared);
            if let Answer::Broken(_) = answer {
                server.reconnect()?;
                self.load(finding)?;
            }
            answers.push(answer);
        }
        let is_done = |answer: &Answer| matches!(answer, Answer::Done { .. });
        if answers.iter().any(is_done) {
            self.load(finding)?;
        }
        let right = answers.pop().unwrap_or(Answer::Broken(String::new()));
        let left = answers.pop().unwrap_or(Answer::Broken(String::new()));
        Ok((left, right))
    }
}

/// Whether both servers refuse the statement, with two errors.
fn may_depend_on_order(difference: &Difference, statement: &Statement) -> bool {
    let (Some(left), Some(right)) = difference.errors else { return false };
    difference.kind == Kind::Error
        && left != right
        && !matches!(statement, Statement::Alter { .. } | Statement::Plain(_))
}

/// The statements that have 1 in place of an item of a select list: it may be the error's, and no smaller expression be without it.
fn with_plain_items(statement: &Statement) -> Vec<Statement> {
    let one = Expr::literal(Value::Int(1));
    let mut count = 0;
    walk::statement_selects(&mut statement.clone(), &mut |select| count += select.items.len());
    let varied = (0..count).map(|chosen| {
        let (mut varied, mut at) = (statement.clone(), 0);
        walk::statement_selects(&mut varied, &mut |select| {
            for item in &mut select.items {
                if at == chosen {
                    item.expr = one.clone();
                }
                at += 1;
            }
        });
        varied
    });
    varied.filter(|varied| varied != statement).collect()
}

/// The words of an error, without the name of a database before that of a table, and without the number of a row.
fn words(answer: &Answer) -> Option<String> {
    let Answer::Refused { message, .. } = answer else { return None };
    let message = message.split_once(" at row ").map_or(message.as_str(), |(before, _)| before);
    let words = message.split(' ').map(|word| match word.split_once('.') {
        Some((database, table)) if database.starts_with('\'') && !table.is_empty() => format!("'{table}"),
        _ => word.to_owned(),
    });
    Some(words.collect::<Vec<_>>().join(" "))
}

/// The lists of all GROUP BY, as they are written.
fn groups(statement: &Statement) -> Vec<String> {
    let sql = statement.sql();
    let end = |list: &str| {
        let ends = [" WITH ROLLUP", " HAVING ", " WINDOW ", " ORDER BY ", " LIMIT ", " UNION ", " EXCEPT "];
        let nesting = list.char_indices().scan(0, |depth: &mut i32, (at, letter)| {
            *depth += i32::from(letter == '(') - i32::from(letter == ')');
            Some((at, *depth))
        });
        let closing = nesting.filter(|(_, depth)| *depth < 0).map(|(at, _)| at).next();
        ends.iter().filter_map(|end| list.find(end)).chain(closing).min().unwrap_or(list.len())
    };
    sql.split(" GROUP BY ").skip(1).map(|list| list[..end(list)].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{delete, difference};
    use super::*;

    #[test]
    fn only_two_errors_of_checks_depend_on_their_order() {
        let is_one = |left, right| may_depend_on_order(&difference(Kind::Error, left, right), &delete());
        assert!(is_one(Some(1055), Some(1267)));
        assert!(is_one(Some(1525), Some(3854)));
        assert!(is_one(Some(1292), Some(1364)));
        for (left, right) in [(Some(1055), None), (None, Some(1267)), (Some(1267), Some(1267))] {
            assert!(!is_one(left, right), "{left:?} {right:?}");
        }
    }

    #[test]
    fn words_name_no_database_and_no_row() {
        let of = |message: &str| words(&Answer::Refused { number: 1146, message: message.to_owned() });
        assert_eq!(of("Table 'm2_cut.cte19' doesn't exist"), of("Table 'm2_plans.cte19' doesn't exist"));
        assert_ne!(of("Table 'm2_cut.cte19' doesn't exist"), of("Table 'm2_cut.cte2' doesn't exist"));
        assert_eq!(
            of("Out of range value for column 'b' at row 1").as_deref(),
            Some("Out of range value for column 'b'")
        );
    }

    #[test]
    fn lists_of_groups_end_where_their_query_does() {
        let of = |sql: &str| groups(&Statement::Plain(sql.to_owned()));
        assert_eq!(
            of("SELECT 1 FROM (SELECT a FROM t GROUP BY a, (b + 1)) d GROUP BY c HAVING 1"),
            ["a, (b + 1)", "c"]
        );
        assert!(of("SELECT 1").is_empty());
    }
}
