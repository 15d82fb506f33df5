//! EXISTS and IN in WHERE to semi joins, NOT EXISTS to anti joins, and NOT IN where no value can be NULL.
//!
//! Only a condition that is a subquery (or its negation) as a whole becomes a join: inside OR or a CASE the answer is
//! a value that may be NULL. What reads the outer row inside the subquery is pulled up into the join's conditions; where
//! that cannot be done the subquery stays as it is, for the pass `apply`: a text that is looked for among its numbers is then read
//! without a warning, as in MySQL.
//!
//! A hint may ask for a join where `optimizer_switch` does not, and against one.

use types::planted::{self, Plant};

use crate::expr::{CallOption, ColumnId, Expr, ExprKind, Subquery, SubqueryKind};
use crate::function::FunctionId;
use crate::logical::{Bound, JoinKind, Logical};
use crate::rewrite;

use super::{apply, take};

/// Runs the pass over a tree and the trees of the subqueries in it, innermost first.
pub(super) fn run(bound: &mut Bound, tree: &mut Logical, is_on: bool) {
    tree.each_input_mut(&mut |input| run(bound, input, is_on));
    tree.each_expr_mut(&mut |expr| below(bound, expr, is_on));
    join(bound, tree, is_on);
    tree.each_expr_mut(&mut read_without_warning);
}

/// Makes joins of the conditions of a filter.
fn join(bound: &mut Bound, tree: &mut Logical, is_on: bool) {
    let Logical::Filter { input, conditions } = tree else { return };
    if !conditions.iter().any(Expr::has_subquery) {
        return;
    }
    let mut source = take(input);
    let mut rest = Vec::new();
    for condition in conditions.drain(..) {
        match joinable(bound, &condition, is_on) {
            Some((kind, conditions, right)) => {
                source = Logical::Join { kind, left: Box::new(source), right: Box::new(right), conditions };
            }
            None => rest.push(condition),
        }
    }
    **input = source;
    *conditions = rest;
    if conditions.is_empty() {
        *tree = take(input);
    }
}

/// Runs the pass over the trees of an expression's subqueries.
pub(super) fn in_expr(bound: &mut Bound, expr: &mut Expr, is_on: bool) {
    below(bound, expr, is_on);
    read_without_warning(expr);
}

fn below(bound: &mut Bound, expr: &mut Expr, is_on: bool) {
    expr.each_child_mut(&mut |child| below(bound, child, is_on));
    if let ExprKind::Subquery(subquery) = &mut expr.kind {
        run(bound, &mut subquery.plan, is_on);
    }
}

/// Lets texts that are looked for among numbers be read without a warning.
fn read_without_warning(expr: &mut Expr) {
    expr.each_child_mut(&mut read_without_warning);
    let ExprKind::Subquery(subquery) = &mut expr.kind else { return };
    if let SubqueryKind::Quantified { condition, single: false, .. } = &mut subquery.kind {
        condition.iter_mut().for_each(read_left_without_warning);
    }
}

/// MySQL makes a join of the subquery, too: it has no groups and is no set operation.
fn is_simple(plan: &Logical) -> bool {
    match plan {
        Logical::Project { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Distinct { input, .. } => is_simple(input),
        Logical::Aggregate { .. }
        | Logical::Window { .. }
        | Logical::SetOp { .. }
        | Logical::Recursive { .. } => false,
        _ => true,
    }
}

fn read_left_without_warning(part: &mut Expr) {
    let ExprKind::Call { function: FunctionId::Eq | FunctionId::Ne, args, .. } = &mut part.kind else {
        return;
    };
    let [left, right] = &mut args[..] else { return };
    let is_quiet = matches!(left.kind, ExprKind::Call { option: CallOption::Quiet, .. });
    if is_quiet || !left.data_type.is_string() || !right.data_type.is_numeric() {
        return;
    }
    let (data_type, nullable) = (left.data_type.clone(), left.nullable);
    let text = std::mem::replace(left, Expr::literal(types::Value::Null));
    let kind = ExprKind::Call { function: FunctionId::Cast, args: vec![text], option: CallOption::Quiet };
    *left = Expr::new(kind, data_type, nullable);
}

/// The kind, the conditions and the right side of the join that a condition is, if it is one.
fn joinable(bound: &mut Bound, condition: &Expr, is_on: bool) -> Option<(JoinKind, Vec<Expr>, Logical)> {
    let (kind, subquery) = match &condition.kind {
        ExprKind::Subquery(subquery) => (JoinKind::Semi, subquery),
        ExprKind::Call { function: FunctionId::Not, args, .. } => match &args[0].kind {
            ExprKind::Subquery(subquery) => (JoinKind::Anti, subquery),
            _ => return None,
        },
        _ => return None,
    };
    if !bound.hints.joins(subquery, is_on) {
        return None;
    }
    let (conditions, right) = join_sides(bound, subquery, kind)?;
    Some((kind, conditions, right))
}

fn join_sides(bound: &mut Bound, subquery: &Subquery, kind: JoinKind) -> Option<(Vec<Expr>, Logical)> {
    let mut conditions = match &subquery.kind {
        SubqueryKind::Exists => Vec::new(),
        SubqueryKind::Quantified { all: false, single: false, condition } => {
            // NOT IN is no anti join where a NULL may come up: NULL on either side makes it unknown.
            if kind == JoinKind::Anti
                && condition.iter().any(|part| part.nullable)
                && !planted::is(Plant::NullNotIn)
            {
                return None;
            }
            let mut condition = condition.clone();
            if !is_simple(&subquery.plan) {
                condition.iter_mut().for_each(read_left_without_warning);
            } else if kind == JoinKind::Anti {
                let is_fixed =
                    |part: &&mut Expr| part.as_call().is_some_and(|(_, sides)| sides[0].is_constant());
                condition.iter_mut().filter(is_fixed).for_each(read_left_without_warning);
            }
            condition
        }
        _ => return None,
    };
    if conditions.iter().any(Expr::has_subquery) {
        return None;
    }
    let mut right = subquery.plan.clone();
    // A condition pulled up may rest on a subquery further inside: as a column it can be read from above.
    apply::run(bound, &mut right);
    if matches!(subquery.kind, SubqueryKind::Exists) {
        // Which rows come, how many and in which order does not matter, unless there may be none.
        strip_for_exists(&mut right);
    }
    if !subquery.outer.is_empty() {
        let mut outer = subquery.outer.clone();
        add_outer_items(&right, &mut outer);
        pull_up(bound, &mut right, &outer, &mut conditions)?;
    }
    Some((conditions, right))
}

fn strip_for_exists(tree: &mut Logical) {
    loop {
        match tree {
            Logical::Sort { input, .. } | Logical::Distinct { input, .. } => *tree = take(input),
            // A LIMIT without offset that is a literal above 0.
            Logical::Limit { input, count: Some(count), offset: None } if matches!(count.as_literal(), Some(types::Value::Int(count)) if *count > 0) =>
            {
                *tree = take(input);
            }
            _ => return,
        }
    }
}

/// Adds what projections compute from outer columns: a condition over it reads the outer row as well.
fn add_outer_items(tree: &Logical, outer: &mut Vec<ColumnId>) {
    tree.each_input(&mut |input| add_outer_items(input, outer));
    if let Logical::Project { items, .. } = tree {
        for (id, expr) in items {
            let mut reads_outer = false;
            expr.each_column(&mut |column| reads_outer |= outer.contains(&column));
            if reads_outer {
                outer.push(*id);
            }
        }
    }
}

/// Moves the conditions of the subquery that read outer columns into the join. `None` if one stands where it cannot
/// be moved from, or something else reads outer columns.
fn pull_up(bound: &Bound, tree: &mut Logical, outer: &[ColumnId], conditions: &mut Vec<Expr>) -> Option<()> {
    let reads_outer = |expr: &Expr| {
        let mut found = false;
        expr.each_column(&mut |id| found |= outer.contains(&id));
        found
    };
    match tree {
        Logical::Filter { input, conditions: own } => {
            let (moved, kept): (Vec<_>, Vec<_>) = own.drain(..).partition(|condition| reads_outer(condition));
            conditions.extend(moved);
            *own = kept;
            pull_up(bound, input, outer, conditions)?;
            if own.is_empty() {
                *tree = take(input);
            }
        }
        Logical::Join { kind: JoinKind::Inner | JoinKind::Straight, left, right, conditions: own } => {
            let (moved, kept): (Vec<_>, Vec<_>) = own.drain(..).partition(|condition| reads_outer(condition));
            conditions.extend(moved);
            *own = kept;
            pull_up(bound, left, outer, conditions)?;
            pull_up(bound, right, outer, conditions)?;
        }
        Logical::Project { input, items } => {
            // What reads the outer row cannot be computed below the join: the conditions that use it compute it.
            let (moved, kept): (Vec<_>, Vec<_>) = items.drain(..).partition(|(_, expr)| reads_outer(expr));
            *items = kept;
            if planted::is(Plant::OuterItem) {
                let is_moved = |id: ColumnId| moved.iter().any(|(item, _)| *item == id);
                conditions.retain(|condition| {
                    let mut uses = false;
                    condition.each_column(&mut |id| uses |= is_moved(id));
                    !uses
                });
            }
            for condition in conditions.iter_mut() {
                let uses = |id: ColumnId| moved.iter().find(|(item, _)| *item == id).map(|(_, expr)| expr);
                let mut repeatable = true;
                condition.each_column(&mut |id| {
                    repeatable &= uses(id).is_none_or(rewrite::is_repeatable);
                });
                if !repeatable {
                    return None;
                }
                rewrite::substitute(condition, &|id| uses(id).cloned());
            }
            pull_up(bound, input, outer, conditions)?;
        }
        _ => {
            let mut free = Vec::new();
            rewrite::free_columns(tree, &bound.tables, &mut free);
            if free.iter().any(|id| outer.contains(id)) {
                return None;
            }
        }
    }
    Some(())
}
