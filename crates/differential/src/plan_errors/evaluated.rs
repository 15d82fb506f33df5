//! Whether an error depends on which expressions are evaluated.
//!
//! The manual defines neither the order in which tables are read and conditions are evaluated, nor which of them a server has to come to: one
//! server computes a constant while it prepares the statement, or joins an empty table first, the other does not. Such a difference is
//! counted by itself (`depends on what is evaluated`). Nothing is one by its pattern; all of this is asked:
//!
//! 1. Each error is one that values give: of [`VALUE_ERRORS`], of a change in strict mode also of [`EVALUATION_ERRORS`] and, beside one of
//!    these, of [`ROW_ERRORS`].
//! 2. Every expression of the statement that gives it by itself ([`probes`], with rows in tables that have none) gives it on both servers, and there
//!    is one: a server that makes an error of a value which the other takes is no such difference.
//! 3. Where the error does not stop the statement, both servers do the same. A change: without strict mode, with the same counts and contents. If
//!    that does not do away with the error, and for queries: with each of [`values`] in place of the expressions that fail, but for values that both
//!    refuse with one number, or that do not fit there: a server refuses them as it did the expression, with an error of 1.
//! 4. An error of the left server is not only of expressions that no plan comes to: arms of CASE, IF and COALESCE, select lists above WHERE,
//!    and what stands below a condition that is false as it is written, or LIMIT 0 ([`probes::Probe::is_guarded`]).
//!
//! What 3 cannot show is that the server which answered does not need the value. [`PlanErrors::unneeded`] and [`PlanErrors::plan`], which do, are
//! asked first; here the value may be needed for a row that one of the plans leaves out.

use super::{
    EVALUATION_ERRORS, PlanErrors, ROW_ERRORS, VALUE_ERRORS, agree, is_refused_as_value, show, values,
    with_value,
};
use crate::ast::Statement;
use crate::compare::{Difference, Kind};
#[cfg(doc)]
use crate::probes;
use crate::round::{Finding, changed_tables};

impl PlanErrors {
    /// What shows that the error depends on which expressions are evaluated, if it does.
    ///
    /// # Errors
    /// A connection broke and did not come back.
    pub fn evaluated(&mut self, finding: &Finding) -> Result<Option<String>, client::Error> {
        let Some(statement) = finding.script.statements.last() else { return Ok(None) };
        if !may_depend_on_evaluation(&finding.difference, statement) {
            return Ok(None);
        }
        let Some(failing) = self.failing(finding, statement)? else { return Ok(None) };
        if !changed_tables(statement).is_empty() && self.agrees_without_strictness(finding)?.is_some() {
            return Ok(Some(format!("the same without strict mode, {} fails on both", show(&failing))));
        }
        let mut are_same = 0;
        for value in values() {
            let varied = with_value(statement, &failing, &value);
            let answers = self.answers(finding, &varied)?;
            if is_refused_as_value(&answers, &varied) {
                continue;
            }
            if !agree(&answers, &varied) {
                return Ok(None);
            }
            are_same += 1;
        }
        let text = || format!("the same with any value of {}, which fails on both", show(&failing));
        Ok((are_same > 0).then(text))
    }
}

/// Whether each error is one that values give.
#[must_use]
pub(super) fn may_depend_on_evaluation(difference: &Difference, statement: &Statement) -> bool {
    let is_change = !changed_tables(statement).is_empty() && !matches!(statement, Statement::Alter { .. });
    let is_of_value =
        |number: &u16| VALUE_ERRORS.contains(number) || is_change && EVALUATION_ERRORS.contains(number);
    let numbers: Vec<u16> = [difference.errors.0, difference.errors.1].into_iter().flatten().collect();
    (is_change || matches!(statement, Statement::Query(_)))
        && difference.kind == Kind::Error
        && numbers.iter().any(is_of_value)
        && numbers.iter().all(|number| is_of_value(number) || is_change && ROW_ERRORS.contains(number))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{delete, difference};
    use super::*;
    use crate::ast::{Query, Select};

    #[test]
    fn errors_of_values_alone_depend_on_what_is_evaluated() {
        let query = Statement::Query(Query::of(Select::default()));
        let is_one = |left, right, statement: &Statement| {
            may_depend_on_evaluation(&difference(Kind::Error, left, right), statement)
        };
        assert!(is_one(Some(3854), None, &query));
        assert!(is_one(None, Some(1690), &query));
        assert!(is_one(None, Some(1292), &delete()));
        assert!(is_one(Some(1048), Some(1411), &delete()));
        assert!(is_one(None, Some(1525), &query));
        // A query warns of 1292. Names, groups and collations are checked once. Rows alone are written as they are.
        let others = [
            (Some(1292), None),
            (Some(1055), None),
            (None, Some(1267)),
            (Some(3854), Some(1055)),
            (Some(3854), Some(1062)),
            (None, None),
        ];
        for (left, right) in others {
            assert!(!is_one(left, right, &query), "{left:?} {right:?}");
        }
        assert!(!is_one(Some(1062), None, &delete()));
        assert!(!may_depend_on_evaluation(&difference(Kind::Rows, Some(3854), None), &query));
    }
}
