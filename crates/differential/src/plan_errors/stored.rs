//! Whether an error is one of a value that the right server puts into a temporary table.
//!
//! Where MySQL looks a subquery up in a temporary table, or keeps rows there for windows, a change in strict mode refuses values that no column of
//! that table holds: a text among numbers, the zero date. Whether there is such a table depends on the plan. A difference is one of these if
//!
//! 1. the right server refuses a change with one of [`STORED`] "for column ...", the left one does not, or refuses a row that it writes;
//! 2. without strict mode both do the same, with the same counts and contents;
//! 3. the right server gives that error where the change writes none of its values, too: with 1 in their place, into another table.

use super::{KEPT, PlanErrors, ROW_ERRORS};
use crate::ast::{Body, Expr, Item, Query, Rows, Select, Statement};
use crate::compare::{Difference, Kind};
use crate::oracle;
use crate::round::Finding;
use crate::server::Answer;
use crate::value::Value;

/// Errors of values that do not fit a column.
const STORED: [u16; 4] = [1264, 1265, 1292, 1366];

impl PlanErrors {
    /// What shows that the error is one of a temporary table, if something does.
    ///
    /// # Errors
    /// A connection broke and did not come back.
    pub(super) fn stored(&mut self, finding: &Finding) -> Result<Option<String>, client::Error> {
        let Difference { kind: Kind::Error, left: Some(left), right: Some(right), .. } = &finding.difference
        else {
            return Ok(None);
        };
        let Answer::Refused { number, message } = right else { return Ok(None) };
        let is_stored = STORED.contains(number) && message.contains(" for column ");
        if !is_stored || left.error().is_some_and(|number| !ROW_ERRORS.contains(&number)) {
            return Ok(None);
        }
        let Some(query) = finding.script.statements.last().and_then(rows_read) else { return Ok(None) };
        if self.agrees_without_strictness(finding)?.is_none() {
            return Ok(None);
        }
        self.load(finding)?;
        self.pair.ask(&format!("CREATE TABLE {KEPT} (c LONGBLOB)"));
        let rows = Rows::Query(Box::new(query));
        let (table, columns, on_duplicate) = (KEPT.to_owned(), Vec::new(), Vec::new());
        let statement = Statement::Insert { verb: "INSERT", table, columns, rows, on_duplicate };
        let answer = oracle::ask(&mut self.pair.right, &statement, finding.is_prepared, finding.is_prepared);
        if let Answer::Broken(_) = answer {
            self.pair.right.reconnect()?;
        }
        let is_same = answer.error() == Some(*number);
        Ok(is_same.then(|| format!("{number} comes where nothing is written, too")))
    }
}

/// The rows that a change reads, as a query that shows 1 for each.
fn rows_read(statement: &Statement) -> Option<Query> {
    match statement {
        Statement::Insert { rows: Rows::Query(query), .. } => {
            let mut query = (**query).clone();
            show_one(&mut query);
            Some(query)
        }
        Statement::Update { with, from, filter, .. } | Statement::Delete { with, from, filter, .. } => {
            let (from, filter) = (Some(from.clone()), filter.clone());
            let mut query = Query::of(Select { from, filter, ..Select::default() });
            query.with.clone_from(with);
            show_one(&mut query);
            Some(query)
        }
        _ => None,
    }
}

fn show_one(query: &mut Query) {
    query.order.clear();
    query.order_checked = 0;
    match &mut query.body {
        Body::Select(select) => {
            select.items = vec![Item { expr: Expr::literal(Value::Int(1)), alias: None }];
        }
        Body::Set { left, right, .. } => {
            show_one(left);
            show_one(right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::delete;
    use super::*;

    #[test]
    fn what_a_change_reads_is_shown_as_one() {
        let query = rows_read(&delete()).map(|query| Statement::Query(query).sql());
        assert_eq!(query.as_deref(), Some("SELECT 1 FROM t0 r1"));
        assert_eq!(rows_read(&Statement::Plain("SELECT 1".to_owned())), None);
    }
}
