//! Ways through statements: every expression, and every smaller statement made by one cut.

use crate::ast::{Body, Cte, Expr, Query, Rows, Select, Source, Statement, Window};
use crate::value::Value;

/// Calls `see` with an expression and all below it, those of its subqueries included.
pub fn expressions(expr: &mut Expr, see: &mut impl FnMut(&mut Expr)) {
    see(expr);
    match expr {
        Expr::Column { .. } | Expr::Literal { .. } => {}
        Expr::Call { arguments, .. } | Expr::Row(arguments) => {
            for argument in arguments {
                expressions(argument, see);
            }
        }
        Expr::Case { operand, branches, otherwise } => {
            for part in operand.iter_mut().chain(otherwise) {
                expressions(part, see);
            }
            for (when, then) in branches {
                expressions(when, see);
                expressions(then, see);
            }
        }
        Expr::In { left, list, .. } => {
            expressions(left, see);
            for item in list {
                expressions(item, see);
            }
        }
        Expr::Scalar(query) | Expr::Exists { query, .. } => query_expressions(query, see),
        Expr::InQuery { left, query, .. } | Expr::Quantified { left, query, .. } => {
            expressions(left, see);
            query_expressions(query, see);
        }
        Expr::Window { arguments, window, .. } => {
            for part in arguments.iter_mut().chain(window.expressions_mut()) {
                expressions(part, see);
            }
        }
        Expr::Aggregate { arguments, order, .. } => {
            for argument in arguments {
                expressions(argument, see);
            }
            for (key, _) in order {
                expressions(key, see);
            }
        }
    }
}

/// Calls `see` with every expression of a query.
pub fn query_expressions(query: &mut Query, see: &mut impl FnMut(&mut Expr)) {
    for cte in &mut query.with {
        query_expressions(&mut cte.query, see);
    }
    match &mut query.body {
        Body::Set { left, right, .. } => {
            query_expressions(left, see);
            query_expressions(right, see);
        }
        Body::Select(select) => {
            for item in &mut select.items {
                expressions(&mut item.expr, see);
            }
            if let Some(from) = &mut select.from {
                source_expressions(from, see);
            }
            for (_, window) in &mut select.windows {
                window.expressions_mut().for_each(|expr| expressions(expr, see));
            }
            for expr in select.filter.iter_mut().chain(&mut select.having).chain(&mut select.group) {
                expressions(expr, see);
            }
        }
    }
}

/// Calls `see` with every expression of a statement.
pub fn statement_expressions(statement: &mut Statement, see: &mut impl FnMut(&mut Expr)) {
    match statement {
        Statement::Query(query) | Statement::CreateSelect { query, .. } => query_expressions(query, see),
        Statement::Insert { rows, on_duplicate, .. } => {
            match rows {
                Rows::Values(rows) => {
                    rows.iter_mut().flatten().flatten().for_each(|expr| expressions(expr, see));
                }
                Rows::Query(query) => query_expressions(query, see),
            }
            on_duplicate.iter_mut().for_each(|(_, expr)| expressions(expr, see));
        }
        Statement::Update { with, from, sets, filter, .. } => {
            with.iter_mut().for_each(|cte| query_expressions(&mut cte.query, see));
            source_expressions(from, see);
            sets.iter_mut().for_each(|(_, expr)| expressions(expr, see));
            filter.iter_mut().for_each(|expr| expressions(expr, see));
        }
        Statement::Delete { with, from, filter, .. } => {
            with.iter_mut().for_each(|cte| query_expressions(&mut cte.query, see));
            source_expressions(from, see);
            filter.iter_mut().for_each(|expr| expressions(expr, see));
        }
        Statement::Alter { .. } | Statement::Plain(_) => {}
    }
}

/// A part of a query, as [`each_part`] comes to it.
enum Part<'q> {
    /// A SELECT, before its parts.
    Select(&'q mut Select),
    /// What FROM reads, behind what is in it.
    Source(&'q mut Source),
    /// WHERE, behind FROM.
    Filter(&'q mut Expr),
}

/// Calls `see` with the parts of a query, of its CTEs and derived tables, but not of subqueries in expressions.
fn each_part(query: &mut Query, see: &mut impl FnMut(Part<'_>)) {
    for cte in &mut query.with {
        each_part(&mut cte.query, see);
    }
    match &mut query.body {
        Body::Set { left, right, .. } => {
            each_part(left, see);
            each_part(right, see);
        }
        Body::Select(select) => {
            see(Part::Select(select));
            if let Some(from) = &mut select.from {
                each_part_of_source(from, see);
            }
            if let Some(filter) = &mut select.filter {
                see(Part::Filter(filter));
            }
        }
    }
}

fn each_part_of_source(source: &mut Source, see: &mut impl FnMut(Part<'_>)) {
    match source {
        Source::Table { .. } | Source::JsonTable { .. } => {}
        Source::Derived { query, .. } => each_part(query, see),
        Source::Join { left, right, .. } => {
            each_part_of_source(left, see);
            each_part_of_source(right, see);
        }
    }
    see(Part::Source(source));
}

fn select_of(part: Part<'_>, see: &mut impl FnMut(&mut Select)) {
    if let Part::Select(select) = part {
        see(select);
    }
}

fn condition_of(part: Part<'_>, see: &mut impl FnMut(&mut Expr)) {
    match part {
        Part::Source(Source::Join { on: Some(on), .. }) => see(on),
        Part::Filter(filter) => see(filter),
        _ => {}
    }
}

fn table_of(part: Part<'_>, see: &mut impl FnMut(&mut Source)) {
    if let Part::Source(source @ Source::Table { .. }) = part {
        see(source);
    }
}

/// Calls `see` with WHERE and ON of a statement and of its subqueries and derived tables.
pub fn statement_conditions(statement: &mut Statement, see: &mut impl FnMut(&mut Expr)) {
    statement_expressions(statement, &mut |expr| match expr {
        Expr::Scalar(query)
        | Expr::Exists { query, .. }
        | Expr::InQuery { query, .. }
        | Expr::Quantified { query, .. } => each_part(query, &mut |part| condition_of(part, see)),
        _ => {}
    });
    match statement {
        Statement::Query(query) | Statement::CreateSelect { query, .. } => {
            each_part(query, &mut |part| condition_of(part, see));
        }
        Statement::Insert { rows: Rows::Query(query), .. } => {
            each_part(query, &mut |part| condition_of(part, see));
        }
        Statement::Update { with, from, filter, .. } | Statement::Delete { with, from, filter, .. } => {
            with.iter_mut().for_each(|cte| each_part(&mut cte.query, &mut |part| condition_of(part, see)));
            each_part_of_source(from, &mut |part| condition_of(part, see));
            filter.iter_mut().for_each(see);
        }
        Statement::Insert { .. } | Statement::Alter { .. } | Statement::Plain(_) => {}
    }
}

/// Calls `see` with every SELECT of a statement, those of its subqueries and derived tables included, each once.
pub fn statement_selects(statement: &mut Statement, see: &mut impl FnMut(&mut Select)) {
    match statement {
        Statement::Query(query) | Statement::CreateSelect { query, .. } => {
            each_part(query, &mut |part| select_of(part, see));
        }
        Statement::Insert { rows: Rows::Query(query), .. } => {
            each_part(query, &mut |part| select_of(part, see));
        }
        Statement::Update { with, from, .. } | Statement::Delete { with, from, .. } => {
            with.iter_mut().for_each(|cte| each_part(&mut cte.query, &mut |part| select_of(part, see)));
            each_part_of_source(from, &mut |part| select_of(part, see));
        }
        Statement::Insert { .. } | Statement::Alter { .. } | Statement::Plain(_) => {}
    }
    statement_expressions(statement, &mut |expr| match expr {
        Expr::Scalar(query)
        | Expr::Exists { query, .. }
        | Expr::InQuery { query, .. }
        | Expr::Quantified { query, .. } => each_part(query, &mut |part| select_of(part, see)),
        _ => {}
    });
}

/// Calls `see` with every table that a query reads, those of its subqueries included.
pub fn query_tables(query: &mut Query, see: &mut impl FnMut(&mut Source)) {
    each_part(query, &mut |part| table_of(part, see));
    query_expressions(query, &mut |expr| match expr {
        Expr::Scalar(query)
        | Expr::Exists { query, .. }
        | Expr::InQuery { query, .. }
        | Expr::Quantified { query, .. } => each_part(query, &mut |part| table_of(part, see)),
        _ => {}
    });
}

fn source_expressions(source: &mut Source, see: &mut impl FnMut(&mut Expr)) {
    match source {
        Source::Table { .. } => {}
        Source::JsonTable { document, .. } => expressions(document, see),
        Source::Derived { query, .. } => query_expressions(query, see),
        Source::Join { left, right, on, .. } => {
            source_expressions(left, see);
            source_expressions(right, see);
            if let Some(on) = on {
                expressions(on, see);
            }
        }
    }
}

/// Where smaller trees are gathered: each is given as the whole statement by the caller's closure.
type Give<'a, T> = &'a mut dyn FnMut(T);

/// Every expression that is `expr` with one cut.
pub fn smaller_expr(expr: &Expr, give: Give<'_, Expr>) {
    let mut children: Vec<Expr> = Vec::new();
    match expr {
        Expr::Column { .. } => {}
        Expr::Literal { value, is_bound } => {
            if *is_bound {
                give(Expr::literal(value.clone()));
            }
            return;
        }
        Expr::Call { arguments, .. } => children.clone_from(arguments),
        Expr::Row(_) => {}
        Expr::Case { operand, branches, otherwise } => {
            children.extend(operand.iter().chain(otherwise).map(|part| (**part).clone()));
            for (when, then) in branches {
                children.push(when.clone());
                children.push(then.clone());
            }
        }
        Expr::In { left, list, .. } => {
            children.push((**left).clone());
            children.extend(list.iter().cloned());
        }
        Expr::Scalar(_) | Expr::Exists { .. } | Expr::InQuery { .. } | Expr::Quantified { .. } => {}
        Expr::Aggregate { arguments, .. } | Expr::Window { arguments, .. } => children.clone_from(arguments),
    }
    for child in children {
        give(child);
    }
    if !matches!(expr, Expr::Column { .. } | Expr::Row(_)) {
        give(Expr::literal(Value::Int(1)));
        give(Expr::literal(Value::Int(0)));
        give(Expr::literal(Value::Null));
    }
    match expr {
        Expr::Column { .. } | Expr::Literal { .. } => {}
        Expr::Call { form, arguments } => {
            smaller_in(arguments, 0, false, &mut |arguments| give(Expr::Call { form, arguments }));
        }
        Expr::Row(items) => smaller_in(items, 0, false, &mut |items| give(Expr::Row(items))),
        Expr::Case { operand, branches, otherwise } => {
            let made =
                |operand: &Option<Box<Expr>>, branches: &[(Expr, Expr)], otherwise: &Option<Box<Expr>>| {
                    Expr::Case {
                        operand: operand.clone(),
                        branches: branches.to_vec(),
                        otherwise: otherwise.clone(),
                    }
                };
            if otherwise.is_some() {
                give(made(operand, branches, &None));
            }
            for at in 0..branches.len() {
                let mut fewer = branches.clone();
                let (when, then) = fewer.remove(at);
                if !fewer.is_empty() {
                    give(made(operand, &fewer, otherwise));
                }
                let mut replaced = branches.clone();
                smaller_expr(&when, &mut |when| {
                    replaced[at].0 = when;
                    give(made(operand, &replaced, otherwise));
                });
                let mut replaced = branches.clone();
                smaller_expr(&then, &mut |then| {
                    replaced[at].1 = then;
                    give(made(operand, &replaced, otherwise));
                });
            }
            if let Some(part) = operand {
                smaller_expr(part, &mut |part| give(made(&Some(Box::new(part)), branches, otherwise)));
            }
            if let Some(part) = otherwise {
                smaller_expr(part, &mut |part| give(made(operand, branches, &Some(Box::new(part)))));
            }
        }
        Expr::In { left, list, is_negated } => {
            let is_negated = *is_negated;
            if is_negated {
                give(Expr::In { left: left.clone(), list: list.clone(), is_negated: false });
            }
            smaller_in(list, 1, true, &mut |list| give(Expr::In { left: left.clone(), list, is_negated }));
            smaller_expr(left, &mut |left| {
                give(Expr::In { left: Box::new(left), list: list.clone(), is_negated });
            });
        }
        Expr::Scalar(query) => smaller_query(query, &mut |query| give(Expr::Scalar(Box::new(query)))),
        Expr::Exists { query, is_negated } => {
            if *is_negated {
                give(Expr::Exists { query: query.clone(), is_negated: false });
            }
            smaller_query(query, &mut |query| {
                give(Expr::Exists { query: Box::new(query), is_negated: *is_negated });
            });
        }
        Expr::InQuery { left, query, is_negated } => {
            let is_negated = *is_negated;
            if is_negated {
                give(Expr::InQuery { left: left.clone(), query: query.clone(), is_negated: false });
            }
            if let (Expr::Row(items), Body::Select(select)) = (&**left, &query.body)
                && items.len() == select.items.len()
            {
                for at in 0..items.len() {
                    let mut query = query.clone();
                    remove_item(&mut query, at);
                    give(Expr::InQuery { left: Box::new(items[1 - at.min(1)].clone()), query, is_negated });
                }
            }
            smaller_query(query, &mut |query| {
                give(Expr::InQuery { left: left.clone(), query: Box::new(query), is_negated });
            });
            smaller_expr(left, &mut |left| {
                give(Expr::InQuery { left: Box::new(left), query: query.clone(), is_negated });
            });
        }
        Expr::Quantified { left, operator, is_all, query } => {
            let made = |left: Box<Expr>, query: Box<Query>| Expr::Quantified {
                left,
                operator,
                is_all: *is_all,
                query,
            };
            smaller_query(query, &mut |query| give(made(left.clone(), Box::new(query))));
            smaller_expr(left, &mut |left| give(made(Box::new(left), query.clone())));
        }
        Expr::Window { function, arguments, window } => {
            let made = |arguments: Vec<Expr>, window: Window| Expr::Window {
                function,
                arguments,
                window: Box::new(window),
            };
            smaller_window(window, &mut |window| give(made(arguments.clone(), window)));
            if arguments.len() == 1 {
                smaller_in(arguments, 1, false, &mut |arguments| give(made(arguments, (**window).clone())));
            }
        }
        Expr::Aggregate { function, is_distinct, arguments, order, separator } => {
            let made = |is_distinct: bool, arguments: Vec<Expr>, order: Vec<(Expr, bool)>| Expr::Aggregate {
                function,
                is_distinct,
                arguments,
                order,
                separator: *separator,
            };
            if *is_distinct {
                give(made(false, arguments.clone(), order.clone()));
            }
            if !order.is_empty() {
                give(made(*is_distinct, arguments.clone(), Vec::new()));
            }
            smaller_in(arguments, 1, true, &mut |arguments| {
                if !arguments.is_empty() {
                    give(made(*is_distinct, arguments, Vec::new()));
                }
            });
        }
    }
}

/// The window without its frame, without a key of its partitions, or with the other direction. Its order stays: with fewer keys it has ties, over which
/// no function has one right answer.
fn smaller_window(window: &Window, give: Give<'_, Window>) {
    if window.frame.is_some() {
        give(Window { frame: None, ..window.clone() });
    }
    for at in 0..window.partition.len() {
        let mut fewer = window.clone();
        fewer.partition.remove(at);
        give(fewer);
    }
    for at in 0..window.order.len() {
        if window.order[at].1 {
            let mut ascending = window.clone();
            ascending.order[at].1 = false;
            give(ascending);
        }
    }
}

/// The list with one element smaller, or left out where at least `least` stay.
fn smaller_in(list: &[Expr], least: usize, may_remove: bool, give: Give<'_, Vec<Expr>>) {
    for at in 0..list.len() {
        if may_remove && list.len() > least.max(1) {
            let mut fewer = list.to_vec();
            fewer.remove(at);
            give(fewer);
        }
        let mut replaced = list.to_vec();
        smaller_expr(&list[at], &mut |smaller| {
            replaced[at] = smaller;
            give(replaced.clone());
        });
    }
}

/// Takes a column away from a query that is one SELECT, and from its order.
fn remove_item(query: &mut Query, at: usize) {
    if let Body::Select(select) = &mut query.body {
        select.items.remove(at);
    }
    query.order.retain(|(position, _)| *position != at);
    for (position, _) in &mut query.order {
        *position -= usize::from(*position > at);
    }
    query.order_checked = query.order_checked.min(query.order.len());
}

/// Every query that is `query` with one cut.
pub fn smaller_query(query: &Query, give: Give<'_, Query>) {
    for at in 0..query.with.len() {
        let mut fewer = query.clone();
        fewer.with.remove(at);
        give(fewer);
    }
    if query.locking.is_some() {
        give(Query { locking: None, ..query.clone() });
    }
    if query.is_limit_bound {
        give(Query { is_limit_bound: false, ..query.clone() });
    }
    if query.limit.is_some() {
        give(Query { limit: None, ..query.clone() });
    }
    if !query.order.is_empty() && query.limit.is_none() {
        give(Query { order: Vec::new(), order_checked: 0, ..query.clone() });
        for at in 0..query.order.len() {
            let mut fewer = query.clone();
            fewer.order.remove(at);
            fewer.order_checked -= usize::from(at < fewer.order_checked);
            give(fewer);
        }
    }
    match &query.body {
        Body::Set { operator, left, right } => {
            for side in [left, right] {
                let mut alone = (**side).clone();
                if alone.with.is_empty() {
                    alone.with.clone_from(&query.with);
                    alone.is_recursive = query.is_recursive;
                }
                give(alone);
            }
            let count = |side: &Query| side.select().map_or(0, |select| select.items.len());
            if count(left) == count(right) && count(left) > 1 {
                for at in 0..count(left) {
                    let mut fewer = query.clone();
                    let (mut left, mut right) = (left.clone(), right.clone());
                    remove_item(&mut left, at);
                    remove_item(&mut right, at);
                    fewer.body = Body::Set { operator, left, right };
                    fewer.order.clear();
                    fewer.order_checked = 0;
                    give(fewer);
                }
            }
            let with_body = |left: Box<Query>, right: Box<Query>| Query {
                body: Body::Set { operator, left, right },
                ..query.clone()
            };
            smaller_query(left, &mut |left| give(with_body(Box::new(left), right.clone())));
            smaller_query(right, &mut |right| give(with_body(left.clone(), Box::new(right))));
        }
        Body::Select(select) => {
            for at in 0..select.items.len() {
                if select.items.len() > 1 {
                    let mut fewer = query.clone();
                    remove_item(&mut fewer, at);
                    give(fewer);
                }
            }
            smaller_select(select, &mut |select| {
                give(Query { body: Body::Select(Box::new(select)), ..query.clone() });
            });
        }
    }
    for at in 0..query.with.len() {
        let mut replaced = query.clone();
        smaller_query(&query.with[at].query, &mut |smaller| {
            replaced.with[at].query = smaller;
            give(replaced.clone());
        });
    }
}

fn smaller_select(select: &Select, give: Give<'_, Select>) {
    for at in 0..select.modifiers.len() {
        let mut fewer = select.clone();
        fewer.modifiers.remove(at);
        give(fewer);
    }
    for at in 0..select.windows.len() {
        let mut fewer = select.clone();
        fewer.windows.remove(at);
        give(fewer);
        smaller_window(&select.windows[at].1, &mut |window| {
            let mut replaced = select.clone();
            replaced.windows[at].1 = window;
            give(replaced);
        });
    }
    if select.filter.is_some() {
        give(Select { filter: None, ..select.clone() });
    }
    if select.having.is_some() {
        give(Select { having: None, ..select.clone() });
    }
    if select.is_distinct {
        give(Select { is_distinct: false, ..select.clone() });
    }
    if select.is_rollup {
        give(Select { is_rollup: false, ..select.clone() });
    }
    for at in 0..select.group.len() {
        let mut fewer = select.clone();
        fewer.group.remove(at);
        fewer.is_rollup &= !fewer.group.is_empty();
        give(fewer);
    }
    if let Some(from) = &select.from {
        if select.filter.is_none() {
            give(Select { from: None, ..select.clone() });
        }
        smaller_source(from, &mut |from| give(Select { from: Some(from), ..select.clone() }));
    }
    if let Some(filter) = &select.filter {
        smaller_expr(filter, &mut |filter| give(Select { filter: Some(filter), ..select.clone() }));
    }
    if let Some(having) = &select.having {
        smaller_expr(having, &mut |having| give(Select { having: Some(having), ..select.clone() }));
    }
    for at in 0..select.group.len() {
        smaller_expr(&select.group[at], &mut |smaller| {
            // The same expression is replaced wherever it is shown; a literal would be a position.
            if !matches!(smaller, Expr::Literal { .. }) {
                let mut replaced = select.clone();
                for item in &mut replaced.items {
                    if item.expr == select.group[at] {
                        item.expr = smaller.clone();
                    }
                }
                replaced.group[at] = smaller;
                give(replaced);
            }
        });
    }
    for at in 0..select.items.len() {
        smaller_expr(&select.items[at].expr, &mut |smaller| {
            let mut replaced = select.clone();
            replaced.items[at].expr = smaller;
            give(replaced);
        });
    }
}

fn smaller_source(source: &Source, give: Give<'_, Source>) {
    match source {
        Source::Table { name, alias, hint } => {
            if hint.is_some() {
                give(Source::Table { name: name.clone(), alias: alias.clone(), hint: None });
            }
        }
        Source::JsonTable { document, rows, alias } => {
            smaller_expr(document, &mut |document| {
                give(Source::JsonTable { document, rows, alias: alias.clone() });
            });
        }
        Source::Derived { query, alias, is_lateral } => {
            let made = |query: Query, is_lateral: bool| Source::Derived {
                query: Box::new(query),
                alias: alias.clone(),
                is_lateral,
            };
            if *is_lateral {
                give(made((**query).clone(), false));
            }
            smaller_query(query, &mut |query| give(made(query, *is_lateral)));
        }
        Source::Join { kind, left, right, on, using } => {
            give((**left).clone());
            give((**right).clone());
            let made = |left: Box<Source>, right: Box<Source>, on: Option<Expr>| Source::Join {
                kind,
                left,
                right,
                on,
                using: using.clone(),
            };
            if on.is_some() && !kind.contains("LEFT") && !kind.contains("RIGHT") {
                give(made(left.clone(), right.clone(), None));
            }
            if kind.contains("LEFT JOIN") || kind.contains("RIGHT JOIN") || *kind == "STRAIGHT_JOIN" {
                let kind = if kind.starts_with("NATURAL") { "NATURAL JOIN" } else { "JOIN" };
                let (left, right, on, using) = (left.clone(), right.clone(), on.clone(), using.clone());
                give(Source::Join { kind, left, right, on, using });
            }
            if let Some(on) = on {
                smaller_expr(on, &mut |on| give(made(left.clone(), right.clone(), Some(on))));
            }
            for at in 0..using.len() {
                if using.len() > 1 {
                    let mut fewer = using.clone();
                    fewer.remove(at);
                    let (left, right, on) = (left.clone(), right.clone(), on.clone());
                    give(Source::Join { kind, left, right, on, using: fewer });
                }
            }
            smaller_source(left, &mut |left| give(made(Box::new(left), right.clone(), on.clone())));
            smaller_source(right, &mut |right| give(made(left.clone(), Box::new(right), on.clone())));
        }
    }
}

/// Every statement that is `statement` with one cut.
pub fn smaller_statement(statement: &Statement, give: Give<'_, Statement>) {
    match statement {
        Statement::Query(query) => smaller_query(query, &mut |query| give(Statement::Query(query))),
        Statement::CreateSelect { table, query } => smaller_query(query, &mut |query| {
            give(Statement::CreateSelect { table: table.clone(), query });
        }),
        Statement::Insert { verb, table, columns, rows, on_duplicate } => {
            let made = |rows: Rows, on_duplicate: &[(String, Expr)]| Statement::Insert {
                verb,
                table: table.clone(),
                columns: columns.clone(),
                rows,
                on_duplicate: on_duplicate.to_vec(),
            };
            for at in 0..on_duplicate.len() {
                let mut fewer = on_duplicate.clone();
                fewer.remove(at);
                give(made(rows.clone(), &fewer));
                let mut replaced = on_duplicate.clone();
                smaller_expr(&on_duplicate[at].1, &mut |smaller| {
                    replaced[at].1 = smaller;
                    give(made(rows.clone(), &replaced));
                });
            }
            match rows {
                Rows::Query(query) => smaller_query(query, &mut |query| {
                    give(made(Rows::Query(Box::new(query)), on_duplicate));
                }),
                Rows::Values(lines) => {
                    for at in 0..lines.len() {
                        if lines.len() > 1 {
                            let mut fewer = lines.clone();
                            fewer.remove(at);
                            give(made(Rows::Values(fewer), on_duplicate));
                        }
                    }
                    for column in 0..columns.len() {
                        if columns.len() > 1 {
                            let mut fewer = lines.clone();
                            for line in &mut fewer {
                                line.remove(column);
                            }
                            let mut names = columns.clone();
                            names.remove(column);
                            give(Statement::Insert {
                                verb,
                                table: table.clone(),
                                columns: names,
                                rows: Rows::Values(fewer),
                                on_duplicate: on_duplicate.clone(),
                            });
                        }
                    }
                    for (row, line) in lines.iter().enumerate() {
                        for (column, value) in line.iter().enumerate() {
                            let Some(value) = value else { continue };
                            let mut replaced = lines.clone();
                            smaller_expr(value, &mut |smaller| {
                                replaced[row][column] = Some(smaller);
                                give(made(Rows::Values(replaced.clone()), on_duplicate));
                            });
                        }
                    }
                }
            }
        }
        Statement::Update { with: ctes, is_ignore, from, sets, filter, order, limit } => {
            let whole = || Statement::Update {
                with: ctes.clone(),
                is_ignore: *is_ignore,
                from: from.clone(),
                sets: sets.clone(),
                filter: filter.clone(),
                order: order.clone(),
                limit: *limit,
            };
            let mut with = |change: &mut dyn FnMut(&mut Statement)| {
                let mut statement = whole();
                change(&mut statement);
                give(statement);
            };
            smaller_ctes(ctes, &mut |fewer| {
                with(&mut |statement| {
                    if let Statement::Update { with, .. } = statement {
                        with.clone_from(&fewer);
                    }
                });
            });
            for at in 0..sets.len() {
                if sets.len() > 1 {
                    with(&mut |statement| {
                        if let Statement::Update { sets, .. } = statement {
                            sets.remove(at);
                        }
                    });
                }
                smaller_expr(&sets[at].1, &mut |smaller| {
                    with(&mut |statement| {
                        if let Statement::Update { sets, .. } = statement {
                            sets[at].1 = smaller.clone();
                        }
                    });
                });
            }
            if *is_ignore {
                with(&mut |statement| {
                    if let Statement::Update { is_ignore, .. } = statement {
                        *is_ignore = false;
                    }
                });
            }
            smaller_tail(from, filter.as_ref(), order, *limit, &mut |source, expr, keys, count| {
                with(&mut |statement| {
                    if let Statement::Update { from, filter, order, limit, .. } = statement {
                        from.clone_from(&source);
                        filter.clone_from(&expr);
                        order.clone_from(&keys);
                        *limit = count;
                    }
                });
            });
        }
        Statement::Delete { with, is_ignore, targets, from, filter, order, limit } => {
            let targets = targets.clone();
            smaller_ctes(with, &mut |with| {
                let (targets, from) = (targets.clone(), from.clone());
                let (filter, order, limit) = (filter.clone(), order.clone(), *limit);
                give(Statement::Delete { with, is_ignore: *is_ignore, targets, from, filter, order, limit });
            });
            if targets.len() > 1 {
                for at in 0..targets.len() {
                    let mut fewer = targets.clone();
                    fewer.remove(at);
                    let (from, filter, order) = (from.clone(), filter.clone(), order.clone());
                    give(Statement::Delete {
                        with: with.clone(),
                        is_ignore: *is_ignore,
                        targets: fewer,
                        from,
                        filter,
                        order,
                        limit: *limit,
                    });
                }
            }
            smaller_tail(from, filter.as_ref(), order, *limit, &mut |from, filter, order, limit| {
                let (with, targets) = (with.clone(), targets.clone());
                give(Statement::Delete { with, is_ignore: *is_ignore, targets, from, filter, order, limit });
            });
        }
        Statement::Alter { .. } | Statement::Plain(_) => {}
    }
}

/// The CTEs with one cut.
fn smaller_ctes(ctes: &[Cte], give: Give<'_, Vec<Cte>>) {
    for at in 0..ctes.len() {
        let mut fewer = ctes.to_vec();
        fewer.remove(at);
        give(fewer);
        let mut replaced = ctes.to_vec();
        smaller_query(&ctes[at].query, &mut |query| {
            replaced[at].query = query;
            give(replaced.clone());
        });
    }
}

type Tail<'a> = &'a mut dyn FnMut(Source, Option<Expr>, Vec<(Expr, bool)>, Option<u64>);

fn smaller_tail(
    from: &Source,
    filter: Option<&Expr>,
    order: &[(Expr, bool)],
    limit: Option<u64>,
    give: Tail<'_>,
) {
    if filter.is_some() {
        give(from.clone(), None, order.to_vec(), limit);
    }
    if limit.is_some() {
        give(from.clone(), filter.cloned(), order.to_vec(), None);
    } else if !order.is_empty() {
        give(from.clone(), filter.cloned(), Vec::new(), None);
    }
    smaller_source(from, &mut |from| give(from, filter.cloned(), order.to_vec(), limit));
    if let Some(filter) = filter {
        smaller_expr(filter, &mut |filter| give(from.clone(), Some(filter), order.to_vec(), limit));
    }
}
