//! Conditions move down to the rows they are about; outer joins that a condition makes inner become inner. Constant conditions move up
//! instead, out of inner joins: where one is not true no row is read, and no other condition evaluated.

use crate::expr::{ColumnId, Expr, ExprKind};
use crate::function::FunctionId;
use crate::logical::{AggregateCall, Bound, JoinKind, Logical};
use syntax::ast::SetOp;

use crate::rewrite::{conjuncts, is_repeatable, substitute};

use super::take;

pub(super) fn run(bound: &mut Bound, tree: &mut Logical, outer_to_inner: bool) {
    let whole = take(tree);
    *tree = push(bound, whole, Vec::new(), outer_to_inner);
}

fn columns_of(expr: &Expr) -> Vec<ColumnId> {
    let mut columns = Vec::new();
    expr.each_column(&mut |id| columns.push(id));
    columns
}

fn reads_only(expr: &Expr, columns: &[ColumnId]) -> bool {
    crate::progress::steps(1 + columns.len() / 64);
    columns_of(expr).iter().all(|id| columns.contains(id))
}

fn reads_any(expr: &Expr, columns: &[ColumnId]) -> bool {
    crate::progress::steps(1 + columns.len() / 64);
    expr.reads_any(columns)
}

fn filter(input: Logical, conditions: Vec<Expr>) -> Logical {
    if conditions.is_empty() { input } else { Logical::Filter { input: Box::new(input), conditions } }
}

/// The truth of a condition that is a literal, or asks whether a constant is NULL that is not.
fn constant_truth(expr: &Expr) -> Option<bool> {
    if let Some((FunctionId::IsNull, [arg])) = expr.as_call() {
        return (arg.is_constant() && !arg.may_be_null()).then_some(false);
    }
    match expr.as_literal()? {
        types::Value::Null => Some(false),
        types::Value::Int(value) => Some(*value != 0),
        types::Value::UInt(value) => Some(*value != 0),
        _ => None,
    }
}

/// What the rows of a derived table come from whose conditions hints keep above it.
fn is_derived(tree: &Logical) -> bool {
    matches!(
        tree,
        Logical::Project { .. }
            | Logical::Aggregate { .. }
            | Logical::Window { .. }
            | Logical::Distinct { .. }
            | Logical::SetOp { .. }
    )
}

/// The tree with `conditions` (to hold for its rows) pushed as deep as they go. What has no row because an input has none is [`Logical::Empty`],
/// so that none of its other inputs is read.
fn push(bound: &mut Bound, tree: Logical, conditions: Vec<Expr>, outer_to_inner: bool) -> Logical {
    let tree = pushed(bound, tree, conditions, outer_to_inner);
    match tree {
        // Most have no input.
        Logical::Scan { .. } | Logical::OneRow | Logical::Empty { .. } => tree,
        // No right row, and so each left one.
        Logical::Join { kind: JoinKind::Anti, left, right, .. } if is_empty(&right) => *left,
        _ if has_no_row(&tree) => Logical::Empty { columns: tree.output(&bound.tables) },
        _ => tree,
    }
}

fn is_empty(tree: &Logical) -> bool {
    matches!(tree, Logical::Empty { .. })
}

/// The tree has no row, because an input has none.
fn has_no_row(tree: &Logical) -> bool {
    match tree {
        Logical::Filter { input, .. }
        | Logical::Project { input, .. }
        | Logical::Window { input, .. }
        | Logical::Distinct { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Limit { input, .. }
        | Logical::Lateral { input, .. }
        | Logical::Apply { input, .. } => is_empty(input),
        Logical::Aggregate { input, keys, rollup, .. } => !keys.is_empty() && !rollup && is_empty(input),
        Logical::Join { kind, left, right, .. } => {
            let needs_partner = matches!(kind, JoinKind::Inner | JoinKind::Straight | JoinKind::Semi);
            is_empty(left) || needs_partner && is_empty(right)
        }
        Logical::SetOp { op, left, right, .. } => match op {
            SetOp::Union => is_empty(left) && is_empty(right),
            SetOp::Intersect => is_empty(left) || is_empty(right),
            SetOp::Except => is_empty(left),
        },
        _ => false,
    }
}

fn pushed(bound: &mut Bound, tree: Logical, mut conditions: Vec<Expr>, outer_to_inner: bool) -> Logical {
    crate::progress::steps(1 + conditions.len());
    if !bound.hints.closed.is_empty() && is_derived(&tree) {
        let is_kept = |condition: &Expr| condition.reads_any(&bound.hints.closed);
        let (kept, moved): (Vec<_>, Vec<_>) = conditions.into_iter().partition(is_kept);
        if !kept.is_empty() {
            return filter(pushed(bound, tree, moved, outer_to_inner), kept);
        }
        conditions = moved;
    }
    match tree {
        Logical::Filter { input, conditions: own } => {
            for condition in own {
                conjuncts(condition, &mut conditions);
            }
            let mut never = false;
            conditions.retain(|condition| match constant_truth(condition) {
                Some(true) => false,
                Some(false) => {
                    never = true;
                    true
                }
                None => true,
            });
            if never {
                return Logical::Empty { columns: input.output(&bound.tables) };
            }
            let is_about_rows = |condition: &Expr| is_repeatable(condition) && !condition.is_constant();
            let (down, mut here): (Vec<_>, Vec<_>) = conditions.into_iter().partition(is_about_rows);
            let mut input = push(bound, *input, down, outer_to_inner);
            pull_up_constants(&mut input, &mut here);
            // Constants above the others: where one is not true, nothing else is computed for any row.
            let (constant, others) = here.into_iter().partition(Expr::is_constant);
            filter(filter(input, others), constant)
        }
        Logical::Project { input, items } => {
            let (down, here): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|condition| {
                let columns = columns_of(condition);
                items
                    .iter()
                    .all(|(id, expr)| !columns.contains(id) || (is_repeatable(expr) && is_cheap(expr)))
            });
            let down = down
                .into_iter()
                .map(|mut condition| {
                    substitute(&mut condition, &|id| {
                        items.iter().find(|(item, _)| *item == id).map(|(_, expr)| expr.clone())
                    });
                    condition
                })
                .collect();
            let input = push(bound, *input, down, outer_to_inner);
            filter(Logical::Project { input: Box::new(input), items }, here)
        }
        Logical::Join { kind, left, right, conditions: own } => {
            push_join(bound, kind, *left, *right, own, conditions, outer_to_inner)
        }
        Logical::Aggregate { input, keys, calls, rollup } => {
            // A condition on keys holds for all rows of a group or for none; without keys there is always a row.
            let plain: Vec<ColumnId> = keys.iter().map(|(id, _)| *id).collect();
            let (down, here): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|condition| {
                !rollup
                    && !plain.is_empty()
                    && !columns_of(condition).is_empty()
                    && reads_only(condition, &plain)
            });
            let down = down
                .into_iter()
                .map(|mut condition| {
                    substitute(&mut condition, &|id| {
                        keys.iter().find(|(key, _)| *key == id).map(|(_, expr)| expr.clone())
                    });
                    condition
                })
                .collect();
            let input = push(bound, *input, down, outer_to_inner);
            if rollup && matches!(input, Logical::Empty { .. }) {
                return filter(total_of_nothing(bound, input, keys, calls), here);
            }
            filter(Logical::Aggregate { input: Box::new(input), keys, calls, rollup }, here)
        }
        Logical::Window { input, partition, order, calls } => {
            // Rows that a condition leaves out would be missing in the frames of others.
            let input = push(bound, *input, Vec::new(), outer_to_inner);
            filter(Logical::Window { input: Box::new(input), partition, order, calls }, conditions)
        }
        Logical::Distinct { input, columns } => {
            let input = push(bound, *input, conditions, outer_to_inner);
            Logical::Distinct { input: Box::new(input), columns }
        }
        Logical::Sort { input, keys } => {
            let input = push(bound, *input, conditions, outer_to_inner);
            Logical::Sort { input: Box::new(input), keys }
        }
        Logical::Limit { input, count, offset } => {
            let input = push(bound, *input, Vec::new(), outer_to_inner);
            filter(Logical::Limit { input: Box::new(input), count, offset }, conditions)
        }
        Logical::SetOp { op, all, left, left_columns, right, right_columns, columns } => {
            // Whether a row of either side passes does not depend on the other side.
            let (down, here): (Vec<_>, Vec<_>) =
                conditions.into_iter().partition(|condition| reads_only(condition, &columns));
            let mut sides = [(*left, &left_columns), (*right, &right_columns)].map(|(side, ids)| {
                let mut moved = Vec::new();
                for condition in &down {
                    let mut condition = condition.clone();
                    substitute(&mut condition, &|id| {
                        let position = columns.iter().position(|column| *column == id)?;
                        let info = &bound.columns[ids[position].0 as usize];
                        Some(Expr::column(ids[position], info.data_type.clone(), info.nullable))
                    });
                    moved.push(condition);
                }
                (side, moved)
            });
            let (side, moved) = std::mem::replace(&mut sides[0], (Logical::OneRow, Vec::new()));
            let left = Box::new(push(bound, side, moved, outer_to_inner));
            let (side, moved) = std::mem::replace(&mut sides[1], (Logical::OneRow, Vec::new()));
            let right = Box::new(push(bound, side, moved, outer_to_inner));
            filter(Logical::SetOp { op, all, left, left_columns, right, right_columns, columns }, here)
        }
        Logical::JsonTable { input, document, rows, alias, columns } => {
            let input = Box::new(push(bound, *input, Vec::new(), outer_to_inner));
            filter(Logical::JsonTable { input, document, rows, alias, columns }, conditions)
        }
        Logical::Lateral { input, outer } => {
            let input = Box::new(push(bound, *input, Vec::new(), outer_to_inner));
            filter(Logical::Lateral { input, outer }, conditions)
        }
        Logical::Apply { input, mut subquery, column } => {
            let (down, here): (Vec<_>, Vec<_>) =
                conditions.into_iter().partition(|condition| !reads_any(condition, &[column]));
            run(bound, &mut subquery.plan, outer_to_inner);
            let input = push(bound, *input, down, outer_to_inner);
            filter(Logical::Apply { input: Box::new(input), subquery, column }, here)
        }
        Logical::Recursive { recursion, seed, seed_columns, step, step_columns, distinct, columns } => {
            let seed = Box::new(push(bound, *seed, Vec::new(), outer_to_inner));
            let step = Box::new(push(bound, *step, Vec::new(), outer_to_inner));
            let node =
                Logical::Recursive { recursion, seed, seed_columns, step, step_columns, distinct, columns };
            filter(node, conditions)
        }
        leaf => filter(leaf, conditions),
    }
}

/// GROUP BY ... WITH ROLLUP under a condition that is never true: the row of the total, whose keys are not those of a level but
/// what they are for a row of NULLs, as in MySQL.
fn total_of_nothing(
    bound: &Bound,
    input: Logical,
    keys: Vec<(ColumnId, Expr)>,
    calls: Vec<(ColumnId, AggregateCall)>,
) -> Logical {
    let columns = input.output(&bound.tables);
    let null = |id: ColumnId| {
        let data_type = bound.columns[id.0 as usize].data_type.clone();
        columns.contains(&id).then(|| Expr { data_type, ..Expr::null() })
    };
    let mut items = keys;
    for (_, key) in &mut items {
        substitute(key, &null);
    }
    let total = Logical::Aggregate { input: Box::new(input), keys: Vec::new(), calls, rollup: false };
    Logical::Project { input: Box::new(total), items }
}

/// Worth computing twice: once in the condition, once in the projection.
fn is_cheap(expr: &Expr) -> bool {
    let mut nodes = 0;
    !expr.any(&mut |_| {
        nodes += 1;
        nodes > 8
    })
}

fn push_join(
    bound: &mut Bound,
    mut kind: JoinKind,
    mut left: Logical,
    mut right: Logical,
    own: Vec<Expr>,
    conditions: Vec<Expr>,
    outer_to_inner: bool,
) -> Logical {
    let left_columns = left.output(&bound.tables);
    let right_columns = right.output(&bound.tables);
    if kind == JoinKind::Left
        && outer_to_inner
        && conditions.iter().any(|condition| rejects_null(condition, &right_columns))
        && !right.has_subquery_over(&left_columns)
    {
        kind = JoinKind::Inner;
    }
    let mut own_parts = Vec::new();
    for condition in own {
        conjuncts(condition, &mut own_parts);
    }
    let (mut to_left, mut to_right, mut here, mut above) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    match kind {
        JoinKind::Inner | JoinKind::Straight => {
            for condition in own_parts.into_iter().chain(conditions) {
                if condition.is_constant() {
                    match constant_truth(&condition) {
                        Some(true) => continue,
                        Some(false) => return empty_join(left_columns, right_columns),
                        None => &mut above,
                    }
                } else if reads_any(&condition, &right_columns) {
                    if reads_any(&condition, &left_columns) { &mut here } else { &mut to_right }
                } else {
                    &mut to_left
                }
                .push(condition);
            }
            // `a = b AND a = 5`: b = 5 as well.
            derive_constants(&here, &to_left, &right_columns, &mut to_right);
            derive_constants(&here, &to_right, &left_columns, &mut to_left);
        }
        JoinKind::Left => {
            if own_parts.iter().any(|condition| constant_truth(condition) == Some(false)) {
                // Each left row is without a partner.
                right = Logical::Empty { columns: right_columns.clone() };
                own_parts.clear();
            }
            for condition in own_parts {
                if reads_any(&condition, &left_columns) || !reads_any(&condition, &right_columns) {
                    &mut here
                } else {
                    &mut to_right
                }
                .push(condition);
            }
            for condition in conditions {
                if reads_any(&condition, &right_columns) { &mut above } else { &mut to_left }.push(condition);
            }
            derive_constants(&here, &to_left, &right_columns, &mut to_right);
        }
        JoinKind::Semi | JoinKind::Anti => {
            for condition in own_parts {
                if reads_any(&condition, &left_columns) || !reads_any(&condition, &right_columns) {
                    if kind == JoinKind::Semi && condition.is_constant() {
                        &mut above
                    } else if kind == JoinKind::Semi && !reads_any(&condition, &right_columns) {
                        &mut to_left
                    } else {
                        &mut here
                    }
                } else {
                    &mut to_right
                }
                .push(condition);
            }
            to_left.extend(conditions);
            derive_constants(&here, &to_left, &right_columns, &mut to_right);
        }
    }
    if outer_to_inner {
        // What the join's own conditions do not let through may as well not be made below it.
        if matches!(kind, JoinKind::Inner | JoinKind::Straight | JoinKind::Semi) {
            drop_null_rows(bound, &mut left, &here);
        }
        if kind != JoinKind::Anti {
            drop_null_rows(bound, &mut right, &here);
        }
    }
    let mut left = Box::new(push(bound, left, to_left, outer_to_inner));
    let mut right = Box::new(push(bound, right, to_right, outer_to_inner));
    pull_up_constants(&mut left, &mut above);
    if matches!(kind, JoinKind::Inner | JoinKind::Straight) {
        pull_up_constants(&mut right, &mut above);
    }
    filter(Logical::Join { kind, left, right, conditions: here }, above)
}

/// An inner join without rows.
fn empty_join(mut left_columns: Vec<ColumnId>, right_columns: Vec<ColumnId>) -> Logical {
    left_columns.extend(right_columns);
    Logical::Empty { columns: left_columns }
}

/// Takes the constant conditions of a tree to `above`.
fn pull_up_constants(tree: &mut Logical, above: &mut Vec<Expr>) {
    let Logical::Filter { input, conditions } = tree else { return };
    above.extend(conditions.extract_if(.., |condition| condition.is_constant()));
    if conditions.is_empty() {
        *tree = take(input);
    }
}

/// Makes LEFT JOINs inner whose rows of NULLs meet one of `conditions`, which stay where they are, above.
fn drop_null_rows(bound: &Bound, tree: &mut Logical, conditions: &[Expr]) {
    match tree {
        Logical::Filter { input, .. } => drop_null_rows(bound, input, conditions),
        Logical::Join { kind, left, right, .. } => {
            if *kind == JoinKind::Left {
                let columns = right.output(&bound.tables);
                if conditions.iter().any(|condition| rejects_null(condition, &columns))
                    && !right.has_subquery_over(&left.output(&bound.tables))
                {
                    *kind = JoinKind::Inner;
                }
            }
            drop_null_rows(bound, left, conditions);
            if matches!(kind, JoinKind::Inner | JoinKind::Straight) {
                drop_null_rows(bound, right, conditions);
            }
        }
        _ => {}
    }
}

/// For each equality of `joins` between a column that `known` fixes to a constant and one of `side`: the same
/// constant for the other column.
fn derive_constants(joins: &[Expr], known: &[Expr], side: &[ColumnId], out: &mut Vec<Expr>) {
    let mut derived = Vec::new();
    for join in joins {
        let Some((FunctionId::Eq, [a, b])) = join.as_call() else { continue };
        let (Some(a_id), Some(b_id)) = (a.as_column(), b.as_column()) else { continue };
        let (from, to) = if side.contains(&b_id) { (a_id, b) } else { (b_id, a) };
        if !side.contains(&to.as_column().unwrap_or(a_id)) || a.data_type != b.data_type {
            continue;
        }
        for condition in known {
            let Some((FunctionId::Eq, [left, right])) = condition.as_call() else { continue };
            let value = match (left.as_column(), right.as_column()) {
                (Some(id), None) if id == from && right.is_constant() => right,
                (None, Some(id)) if id == from && left.is_constant() => left,
                _ => continue,
            };
            let mut copy = condition.clone();
            if let ExprKind::Call { args, .. } = &mut copy.kind {
                *args = vec![to.clone(), value.clone()];
            }
            if !out.contains(&copy) && !derived.contains(&copy) {
                derived.push(copy);
            }
        }
    }
    out.extend(derived);
}

/// Whether the condition cannot be TRUE when all of `columns` are NULL.
fn rejects_null(condition: &Expr, columns: &[ColumnId]) -> bool {
    match &condition.kind {
        ExprKind::Call { function, args, .. } => match function {
            FunctionId::And => args.iter().any(|arg| rejects_null(arg, columns)),
            FunctionId::Or => args.iter().all(|arg| rejects_null(arg, columns)),
            FunctionId::Not => match args[0].as_call() {
                Some((FunctionId::IsNull, inner)) => null_from_null(&inner[0], columns),
                _ => null_from_null(&args[0], columns),
            },
            FunctionId::IsTrue => rejects_null(&args[0], columns),
            _ => null_from_null(condition, columns),
        },
        ExprKind::InList { expr, .. } => null_from_null(expr, columns),
        _ => null_from_null(condition, columns),
    }
}

/// Whether the value is NULL when all of `columns` are: strict functions of one of them.
fn null_from_null(expr: &Expr, columns: &[ColumnId]) -> bool {
    match &expr.kind {
        ExprKind::Column(id) => columns.contains(id),
        ExprKind::Call { function, args, .. } => {
            let strict = matches!(
                function,
                FunctionId::Add
                    | FunctionId::Sub
                    | FunctionId::Mul
                    | FunctionId::Div
                    | FunctionId::Mod
                    | FunctionId::Neg
                    | FunctionId::Eq
                    | FunctionId::Ne
                    | FunctionId::Lt
                    | FunctionId::Le
                    | FunctionId::Gt
                    | FunctionId::Ge
                    | FunctionId::Like
                    | FunctionId::Between
                    | FunctionId::Cast
                    | FunctionId::Not
                    | FunctionId::Concat
                    | FunctionId::SubstringIndex
                    | FunctionId::Lower
                    | FunctionId::Upper
                    | FunctionId::Replace
                    | FunctionId::Left
                    | FunctionId::Right
                    | FunctionId::Length
                    | FunctionId::CharLength
                    | FunctionId::Abs
                    | FunctionId::ConvertUsing
                    | FunctionId::Collate
            );
            if *function == FunctionId::Between {
                return null_from_null(&args[0], columns);
            }
            strict && args.iter().any(|arg| null_from_null(arg, columns))
        }
        ExprKind::InList { expr, .. } => null_from_null(expr, columns),
        _ => false,
    }
}
