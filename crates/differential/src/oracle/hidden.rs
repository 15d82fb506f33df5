//! Rewritings under which the right server sees less of an expression when it plans.
//!
//! 1. [`with_exists_as_counts`]: EXISTS as a comparison of COUNT(*) with 0. MySQL keeps the rows of some correlated subqueries of EXISTS from one
//!    row to the next.
//! 2. [`with_unknown_constants`]: a call of constants as one that draws a number, which is computed for each row. MySQL converts constants once,
//!    in other ways than values of rows.
//! 3. [`with_arguments_of_subqueries`]: a call that is an argument as a subquery of one row. Some functions of MySQL look at which function their
//!    argument is, and not only at its value.

use crate::ast::{Expr, Item, Query, Select, Source, Statement};
use crate::forms;
use crate::value::Value;
use crate::walk;

fn one_row(expr: Expr, alias: String) -> Query {
    let one = Item { expr: Expr::literal(Value::Int(1)), alias: Some("one".to_owned()) };
    let inner = Query::of(Select { items: vec![one], ..Select::default() });
    let from = Source::Derived { query: Box::new(inner), alias, is_lateral: false };
    let items = vec![Item { expr, alias: None }];
    Query::of(Select { items, from: Some(from), ..Select::default() })
}

/// The statement with counts; nothing if it has no EXISTS.
pub(super) fn with_exists_as_counts(statement: &Statement) -> Option<Statement> {
    let mut varied = statement.clone();
    let (equal, more) = (forms::EQUAL, forms::LESS);
    let mut count = 0;
    walk::statement_expressions(&mut varied, &mut |expr| {
        let Expr::Exists { query, is_negated } = expr else { return };
        count += 1;
        let counted = Expr::Aggregate {
            function: "COUNT",
            is_distinct: false,
            arguments: Vec::new(),
            order: Vec::new(),
            separator: None,
        };
        let inner = std::mem::replace(&mut **query, Query::of(Select::default()));
        let from =
            Source::Derived { query: Box::new(inner), alias: format!("counted{count}"), is_lateral: false };
        let items = vec![Item { expr: counted, alias: None }];
        let rows = Query::of(Select { items, from: Some(from), ..Select::default() });
        let form = if *is_negated { equal } else { more };
        let zero = Expr::literal(Value::Int(0));
        *expr = Expr::Call { form, arguments: vec![zero, Expr::Scalar(Box::new(rows))] };
    });
    (count > 0).then_some(varied)
}

/// The statement with numbers drawn; nothing if it has no call of constants.
pub(super) fn with_unknown_constants(statement: &Statement) -> Option<Statement> {
    let mut varied = statement.clone();
    let is_unknown = |expr: &Expr| matches!(expr, Expr::Call { form, .. } if form.template == forms::UNKNOWN_VALUE.template);
    let is_constant = |expr: &Expr| {
        let (mut is_constant, mut expr) = (true, expr.clone());
        walk::expressions(&mut expr, &mut |part| {
            is_constant &= matches!(part, Expr::Literal { .. } | Expr::Case { .. } | Expr::In { .. })
                || matches!(part, Expr::Call { form, .. } if !form.template.contains("RAND("));
        });
        is_constant
    };
    walk::statement_expressions(&mut varied, &mut |expr| {
        if is_unknown(expr) {
            return;
        }
        let Expr::Call { arguments, .. } = expr else { return };
        for argument in arguments {
            if matches!(argument, Expr::Call { .. } | Expr::Case { .. })
                && !is_unknown(argument)
                && is_constant(argument)
            {
                let value = std::mem::replace(argument, Expr::Row(Vec::new()));
                *argument = Expr::Call { form: forms::UNKNOWN_VALUE, arguments: vec![value] };
            }
        }
    });
    (varied != *statement).then_some(varied)
}

/// The statement with subqueries; nothing if no argument of a call is one.
pub(super) fn with_arguments_of_subqueries(statement: &Statement) -> Option<Statement> {
    let mut varied = statement.clone();
    let mut count = 0;
    walk::statement_expressions(&mut varied, &mut |expr| {
        let Expr::Call { arguments, .. } = expr else { return };
        for argument in arguments.iter_mut().filter(|argument| matches!(argument, Expr::Call { .. })) {
            let mut has_aggregate = false;
            walk::expressions(argument, &mut |part| {
                has_aggregate |= matches!(part, Expr::Aggregate { .. } | Expr::Window { .. });
            });
            if !has_aggregate {
                count += 1;
                let value = std::mem::replace(argument, Expr::Row(Vec::new()));
                *argument = Expr::Scalar(Box::new(one_row(value, format!("row{count}"))));
            }
        }
    });
    (count > 0).then_some(varied)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column() -> Expr {
        Expr::Column { relation: "r1".to_owned(), name: "a".to_owned() }
    }

    fn filtered(filter: Expr) -> Statement {
        let from = Some(Source::Table { name: "t0".to_owned(), alias: "r1".to_owned(), hint: None });
        let items = vec![Item { expr: column(), alias: None }];
        Statement::Query(Query::of(Select { items, from, filter: Some(filter), ..Select::default() }))
    }

    fn call(template: &str, arguments: Vec<Expr>) -> Expr {
        Expr::Call { form: forms::by_template(template).unwrap(), arguments }
    }

    #[test]
    fn exists_is_a_count() {
        let query = Box::new(one_row(column(), "d".to_owned()));
        let varied =
            with_exists_as_counts(&filtered(Expr::Exists { query, is_negated: false })).unwrap().sql();
        assert!(varied.contains("(0 < (SELECT COUNT(*) FROM (SELECT r1.a FROM"), "{varied}");
        assert_eq!(with_exists_as_counts(&filtered(column())), None);
    }

    #[test]
    fn calls_of_constants_are_unknown() {
        let sum = call("({} + {})", vec![Expr::literal(Value::Int(1)), Expr::literal(Value::Int(2))]);
        let varied = with_unknown_constants(&filtered(call("({} + {})", vec![column(), sum]))).unwrap().sql();
        assert!(varied.ends_with("(r1.a + IF(RAND() < 2, (1 + 2), NULL))"), "{varied}");
        let of_column = call("({} + {})", vec![column(), Expr::literal(Value::Int(2))]);
        assert_eq!(with_unknown_constants(&filtered(of_column)), None);
    }

    #[test]
    fn arguments_that_are_calls_are_subqueries() {
        let inner = call("({} + {})", vec![column(), Expr::literal(Value::Int(2))]);
        let varied = with_arguments_of_subqueries(&filtered(call("(NOT {})", vec![inner]))).unwrap().sql();
        assert!(varied.contains("(NOT (SELECT (r1.a + 2) FROM (SELECT 1 AS one) row1))"), "{varied}");
        assert_eq!(with_arguments_of_subqueries(&filtered(column())), None);
    }
}
