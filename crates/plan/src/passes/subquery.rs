//! Subqueries: to joins where that is the same, to `Apply` everywhere else. After this pass no expression holds one.

use crate::expr::{ColumnId, Expr, ExprKind, Subquery, SubqueryKind};
use crate::function::FunctionId;
use crate::logical::{Bound, ColumnInfo, JoinKind, Logical};
use crate::rewrite;

use super::{Switches, take};

pub(super) fn run(bound: &mut Bound, tree: &mut Logical, switches: Switches) {
    tree.each_input_mut(&mut |input| run(bound, input, switches));
    if let Logical::Apply { subquery, .. } = tree {
        run(bound, &mut subquery.plan, switches);
    }
    match tree {
        Logical::Filter { input, conditions } if conditions.iter().any(Expr::has_subquery) => {
            let mut source = take(input);
            let mut rest = Vec::new();
            for condition in conditions.drain(..) {
                if !condition.has_subquery() {
                    rest.push(condition);
                    continue;
                }
                if switches.semijoin {
                    match semijoin(bound, source, condition, switches) {
                        (joined, None) => {
                            source = joined;
                            continue;
                        }
                        (same, Some(mut condition)) => {
                            source = extract(bound, same, &mut condition, switches);
                            rest.push(condition);
                        }
                    }
                } else {
                    let mut condition = condition;
                    source = extract(bound, source, &mut condition, switches);
                    rest.push(condition);
                }
            }
            **input = source;
            *conditions = rest;
            if conditions.is_empty() {
                *tree = take(input);
            }
        }
        Logical::Project { input, items } if items.iter().any(|(_, expr)| expr.has_subquery()) => {
            let mut source = take(input);
            for (_, expr) in items {
                source = extract(bound, source, expr, switches);
            }
            **input = source;
        }
        Logical::Aggregate { input, keys, calls, .. } => {
            let mut source = take(input);
            for (_, expr) in keys {
                source = extract(bound, source, expr, switches);
            }
            for (_, call) in calls {
                for arg in &mut call.args {
                    source = extract(bound, source, arg, switches);
                }
                for key in &mut call.order_by {
                    source = extract(bound, source, &mut key.expr, switches);
                }
            }
            **input = source;
        }
        Logical::Sort { input, keys } => {
            let mut source = take(input);
            for key in keys {
                source = extract(bound, source, &mut key.expr, switches);
            }
            **input = source;
        }
        Logical::Join { kind, left, right, conditions } if conditions.iter().any(Expr::has_subquery) => {
            // An inner join's conditions may as well be checked after it; an outer join's are computed on the side
            // whose columns they need.
            if matches!(kind, JoinKind::Inner | JoinKind::Straight) {
                let (with, without): (Vec<_>, Vec<_>) = conditions.drain(..).partition(Expr::has_subquery);
                *conditions = without;
                let join = take(tree);
                let mut filter = Logical::Filter { input: Box::new(join), conditions: with };
                run_filter(bound, &mut filter, switches);
                *tree = filter;
            } else {
                let right_columns = right.output(&bound.tables);
                for condition in conditions {
                    let mut needs_right = false;
                    condition.each_column(&mut |id| needs_right |= right_columns.contains(&id));
                    let side = if needs_right { &mut *right } else { &mut *left };
                    let source = take(side);
                    **side = extract(bound, source, condition, switches);
                }
            }
        }
        Logical::Values { rows, .. } if rows.iter().flatten().any(Expr::has_subquery) => {
            // Rows of VALUES stand alone: each becomes a projection of one row, all together a union.
            let Logical::Values { columns, rows } = take(tree) else { return };
            *tree = values_union(bound, columns, rows, switches);
        }
        _ => {}
    }
}

/// As [`run`] for a filter that was just made; its input has been visited.
fn run_filter(bound: &mut Bound, tree: &mut Logical, switches: Switches) {
    if let Logical::Filter { input, conditions } = tree {
        let mut source = take(input);
        for condition in conditions.iter_mut() {
            source = extract(bound, source, condition, switches);
        }
        **input = source;
    }
}

fn values_union(
    bound: &mut Bound,
    columns: Vec<ColumnId>,
    rows: Vec<Vec<Expr>>,
    switches: Switches,
) -> Logical {
    let mut union: Option<(Logical, Vec<ColumnId>)> = None;
    let count = rows.len();
    for (number, row) in rows.into_iter().enumerate() {
        let mut source = Logical::OneRow;
        let mut items = Vec::new();
        let mut ids = Vec::new();
        for mut expr in row {
            source = extract(bound, source, &mut expr, switches);
            let id = new_column(bound, &expr);
            ids.push(id);
            items.push((id, expr));
        }
        let project = Logical::Project { input: Box::new(source), items };
        union = Some(match union {
            None => (project, ids),
            Some((left, left_columns)) => {
                let output: Vec<ColumnId> = if number + 1 == count {
                    columns.clone()
                } else {
                    left_columns.iter().map(|id| copy_column(bound, *id)).collect()
                };
                let node = Logical::SetOp {
                    op: syntax::ast::SetOp::Union,
                    all: true,
                    left: Box::new(left),
                    left_columns,
                    right: Box::new(project),
                    right_columns: ids,
                    columns: output.clone(),
                };
                (node, output)
            }
        });
    }
    match union {
        Some((node, ids)) if ids == columns => node,
        Some((node, ids)) => {
            let items = columns
                .iter()
                .zip(ids)
                .map(|(id, source)| {
                    let info = &bound.columns[source.0 as usize];
                    (*id, Expr::column(source, info.data_type.clone(), info.nullable))
                })
                .collect();
            Logical::Project { input: Box::new(node), items }
        }
        None => Logical::Empty { columns },
    }
}

fn new_column(bound: &mut Bound, expr: &Expr) -> ColumnId {
    let id = ColumnId(bound.columns.len() as u32);
    bound.columns.push(ColumnInfo {
        name: "".into(),
        data_type: expr.data_type.clone(),
        nullable: expr.nullable,
        origin: None,
    });
    id
}

fn copy_column(bound: &mut Bound, id: ColumnId) -> ColumnId {
    let mut info = bound.columns[id.0 as usize].clone();
    info.origin = None;
    bound.columns.push(info);
    ColumnId(bound.columns.len() as u32 - 1)
}

/// Makes every subquery of `expr` a column that an `Apply` over `source` computes.
pub(super) fn extract(
    bound: &mut Bound,
    mut source: Logical,
    expr: &mut Expr,
    switches: Switches,
) -> Logical {
    if let ExprKind::Subquery(_) = expr.kind {
        let column = new_column(bound, expr);
        let ExprKind::Subquery(mut subquery) = std::mem::replace(&mut expr.kind, ExprKind::Column(column))
        else {
            return source;
        };
        run(bound, &mut subquery.plan, switches);
        if let SubqueryKind::Quantified { condition, .. } = &mut subquery.kind {
            for part in condition {
                // The left operand may hold a subquery itself.
                source = extract(bound, source, part, switches);
            }
        }
        return Logical::Apply { input: Box::new(source), subquery, column };
    }
    let mut slot = Some(source);
    expr.each_child_mut(&mut |child| {
        if let Some(source) = slot.take() {
            slot = Some(extract(bound, source, child, switches));
        }
    });
    slot.unwrap_or(Logical::OneRow)
}

/// Tries to make a condition that is a subquery a join. Gives the condition back if it cannot be one.
fn semijoin(
    bound: &mut Bound,
    source: Logical,
    condition: Expr,
    switches: Switches,
) -> (Logical, Option<Expr>) {
    let (negated, subquery) = match &condition.kind {
        ExprKind::Subquery(subquery) => (false, subquery),
        ExprKind::Call { function: FunctionId::Not, args, .. } => match &args[0].kind {
            ExprKind::Subquery(subquery) => (true, subquery),
            _ => return (source, Some(condition)),
        },
        _ => return (source, Some(condition)),
    };
    let Some((conditions, right)) = joinable(bound, subquery, negated, switches) else {
        return (source, Some(condition));
    };
    let kind = if negated { JoinKind::Anti } else { JoinKind::Semi };
    (Logical::Join { kind, left: Box::new(source), right: Box::new(right), conditions }, None)
}

/// The conditions and the right side of the join that a subquery is, if it is one.
fn joinable(
    bound: &mut Bound,
    subquery: &Subquery,
    negated: bool,
    switches: Switches,
) -> Option<(Vec<Expr>, Logical)> {
    let mut conditions = match &subquery.kind {
        SubqueryKind::Exists => Vec::new(),
        SubqueryKind::Quantified { all: false, condition } => {
            // NOT IN is no anti join where a NULL may come up: NULL on either side makes it unknown.
            if negated && condition.iter().any(|part| part.nullable) {
                return None;
            }
            condition.clone()
        }
        _ => return None,
    };
    if conditions.iter().any(Expr::has_subquery) {
        return None;
    }
    let mut right = subquery.plan.clone();
    run(bound, &mut right, switches);
    if matches!(subquery.kind, SubqueryKind::Exists) {
        // Which rows come, how many and in which order does not matter, unless there may be none.
        strip_for_exists(&mut right);
    }
    if !subquery.outer.is_empty() {
        pull_up(bound, &mut right, &subquery.outer, &mut conditions)?;
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
            // A projected column may be used in a moved condition, but must not itself depend on the outer row,
            // unless nobody uses it (the select list of EXISTS).
            items.retain(|(_, expr)| !reads_outer(expr));
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
