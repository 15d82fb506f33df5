//! Whether rows differ by the digits of averages alone.
//!
//! AVG of exact numbers shows four digits more than they have, but 9.7 computes with other ones: with all that it has, with nine, or with those
//! that a temporary table holds. Which it is depends on the temporary tables of the plan. A difference is one of these if
//!
//! 1. the answers have as many rows, whose cells are the same or numbers that differ by less than [`NEAR`] of their value;
//! 2. with SUM in place of AVG both servers give the same rows.

use super::{PlanErrors, agree};
use crate::ast::{Expr, Statement};
use crate::compare::{Difference, Kind};
use crate::round::Finding;
use crate::server::{Answer, Cells};
use crate::walk;

/// Four digits are shown of an average.
const NEAR: f64 = 1e-3;

impl PlanErrors {
    /// What shows that the digits of averages are all that differs, if something does.
    ///
    /// # Errors
    /// A connection broke and did not come back.
    pub(super) fn digits(&mut self, finding: &Finding) -> Result<Option<String>, client::Error> {
        let Difference {
            kind: Kind::Rows,
            left: Some(Answer::Rows { rows: left, .. }),
            right: Some(Answer::Rows { rows: right, .. }),
            content_of: None,
            ..
        } = &finding.difference
        else {
            return Ok(None);
        };
        let Some(summed) = finding.script.statements.last().and_then(with_sums) else { return Ok(None) };
        if !are_near(left, right) {
            return Ok(None);
        }
        let answers = self.answers(finding, &summed)?;
        Ok(agree(&answers, &summed).then(|| "the digits of averages".to_owned()))
    }
}

/// The statement with SUM in place of AVG; nothing if it has none.
fn with_sums(statement: &Statement) -> Option<Statement> {
    let mut varied = statement.clone();
    walk::statement_expressions(&mut varied, &mut |expr| {
        if let Expr::Aggregate { function, .. } | Expr::Window { function, .. } = expr
            && *function == "AVG"
        {
            *function = "SUM";
        }
    });
    (varied != *statement).then_some(varied)
}

/// Whether all cells are the same, or numbers that are nearly so.
fn are_near(left: &[Cells], right: &[Cells]) -> bool {
    let number = |cell: &Option<Vec<u8>>| {
        let text = std::str::from_utf8(cell.as_deref()?).ok()?;
        text.parse::<f64>().ok().filter(|number| number.is_finite())
    };
    let is_near = |(left, right): (&Option<Vec<u8>>, &Option<Vec<u8>>)| {
        left == right
            || match (number(left), number(right)) {
                (Some(left), Some(right)) => (left - right).abs() <= NEAR * left.abs().max(right.abs()),
                _ => false,
            }
    };
    let are_rows_near =
        |(left, right): (&Cells, &Cells)| left.len() == right.len() && left.iter().zip(right).all(is_near);
    left.len() == right.len() && left.iter().zip(right).all(are_rows_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: &[&str]) -> Vec<Cells> {
        values.iter().map(|value| vec![Some(value.as_bytes().to_vec())]).collect()
    }

    #[test]
    fn only_numbers_are_nearly_the_same() {
        assert!(are_near(&rows(&["25.3333", "a"]), &rows(&["25.333333333333332", "a"])));
        assert!(!are_near(&rows(&["25.3333"]), &rows(&["25.4"])));
        assert!(!are_near(&rows(&["a"]), &rows(&["b"])));
        assert!(!are_near(&rows(&["1"]), &rows(&[])));
    }
}
