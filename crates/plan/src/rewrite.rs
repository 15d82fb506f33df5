//! Walks that change expressions and trees.

use crate::expr::{CallOption, ColumnId, Expr, ExprKind, SubqueryKind};
use crate::logical::Logical;
use syntax::ast::SetOp;

/// Puts what `with` says in place of every column reference of `expr` (not inside subqueries' trees).
pub(crate) fn replace_columns(expr: &mut Expr, with: &mut dyn FnMut(ColumnId) -> ExprKind) {
    if let ExprKind::Column(id) = expr.kind {
        expr.kind = with(id);
        return;
    }
    expr.each_child_mut(&mut |child| replace_columns(child, with));
}

/// Puts what `with` says in place of every column of the input.
pub(crate) fn replace_inputs(expr: &mut Expr, with: &dyn Fn(u32) -> ExprKind) {
    if let ExprKind::Input(position) = expr.kind {
        expr.kind = with(position);
        return;
    }
    expr.each_child_mut(&mut |child| replace_inputs(child, with));
}

/// Takes out of a tree what only orders its rows or finds equal ones: it is asked whether it has a row, so neither matters. Equal to the
/// collation of a UNION may decide the question.
pub(crate) fn ignore_order_and_duplicates(mut tree: &mut Logical) {
    loop {
        match tree {
            Logical::Sort { input, .. } | Logical::Distinct { input, .. } => {
                let input = std::mem::replace(&mut **input, Logical::OneRow);
                *tree = input;
            }
            Logical::SetOp { op: SetOp::Union, all, left, right, .. } => {
                *all = true;
                ignore_order_and_duplicates(right);
                tree = left;
            }
            _ => return,
        }
    }
}

/// Puts the expression that `with` gives in place of column references, inside subqueries' trees as well.
pub(crate) fn substitute(expr: &mut Expr, with: &dyn Fn(ColumnId) -> Option<Expr>) {
    if let ExprKind::Column(id) = expr.kind {
        if let Some(new) = with(id) {
            *expr = new;
        }
        return;
    }
    if let ExprKind::Subquery(subquery) = &mut expr.kind {
        substitute_in_tree(&mut subquery.plan, with);
        subquery.outer = read_instead(&subquery.outer, with);
    }
    expr.each_child_mut(&mut |child| substitute(child, with));
}

/// The columns that are read in place of these.
fn read_instead(columns: &[ColumnId], with: &dyn Fn(ColumnId) -> Option<Expr>) -> Vec<ColumnId> {
    let mut outer = Vec::new();
    for id in columns {
        match with(*id) {
            Some(new) => new.each_column(&mut |id| outer.push(id)),
            None => outer.push(*id),
        }
    }
    outer.sort_unstable();
    outer.dedup();
    outer
}

/// As [`substitute`], for every expression of a tree.
pub(crate) fn substitute_in_tree(tree: &mut Logical, with: &dyn Fn(ColumnId) -> Option<Expr>) {
    tree.each_expr_mut(&mut |expr| substitute(expr, with));
    match tree {
        Logical::Apply { subquery, .. } => {
            substitute_in_tree(&mut subquery.plan, with);
            subquery.outer = read_instead(&subquery.outer, with);
        }
        Logical::Lateral { outer, .. } => *outer = read_instead(outer, with),
        _ => {}
    }
    tree.each_input_mut(&mut |input| substitute_in_tree(input, with));
}

/// May be computed in another place or another number of times.
#[must_use]
pub fn is_repeatable(expr: &Expr) -> bool {
    !expr.any(&mut |node| match &node.kind {
        ExprKind::UserVarAssign { .. } | ExprKind::UserVar(_) => true,
        ExprKind::Call { function, .. } => !function.is_deterministic(),
        _ => false,
    })
}

/// Another value each time it is computed, of whatever it reads: RAND() and its like.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    expr.any(
        &mut |node| matches!(&node.kind, ExprKind::Call { function, .. } if !function.is_deterministic()),
    )
}

/// Whether the expression calls stored functions.
#[must_use]
pub fn calls_functions(expr: &Expr) -> bool {
    expr.any(&mut |node| matches!(&node.kind, ExprKind::Call { option: CallOption::Function(_), .. }))
}

/// Splits `a AND b AND c` into its parts.
pub(crate) fn conjuncts(expr: Expr, out: &mut Vec<Expr>) {
    match expr.kind {
        ExprKind::Call { function: crate::function::FunctionId::And, args, .. } => {
            for arg in args {
                conjuncts(arg, out);
            }
        }
        _ => out.push(expr),
    }
}

/// Every column that a tree reads and does not make itself.
pub(crate) fn free_columns(tree: &Logical, tables: &[crate::logical::BoundTable], out: &mut Vec<ColumnId>) {
    let mut made = Vec::new();
    let mut read = Vec::new();
    collect(tree, tables, &mut made, &mut read);
    made.sort_unstable();
    for id in read {
        if made.binary_search(&id).is_err() && !out.contains(&id) {
            out.push(id);
        }
    }
}

fn collect(
    tree: &Logical,
    tables: &[crate::logical::BoundTable],
    made: &mut Vec<ColumnId>,
    read: &mut Vec<ColumnId>,
) {
    match tree {
        Logical::Scan { .. }
        | Logical::Values { .. }
        | Logical::Empty { .. }
        | Logical::WorkingTable { .. }
        | Logical::Recursive { .. }
        | Logical::SetOp { .. } => made.extend(tree.output(tables)),
        Logical::Project { items, .. } => made.extend(items.iter().map(|(id, _)| *id)),
        Logical::Aggregate { keys, calls, .. } => {
            made.extend(keys.iter().map(|(id, _)| *id));
            made.extend(calls.iter().map(|(id, _)| *id));
        }
        Logical::Window { calls, .. } => made.extend(calls.iter().map(|(id, _)| *id)),
        Logical::Apply { subquery, column, .. } => {
            made.push(*column);
            made.extend(&subquery.columns);
            read.extend(&subquery.outer);
        }
        _ => {}
    }
    tree.each_expr(&mut |expr| {
        expr.each_column(&mut |id| read.push(id));
        if let ExprKind::Subquery(subquery) = &expr.kind
            && let SubqueryKind::Quantified { .. } = subquery.kind
        {
            made.extend(&subquery.columns);
        }
    });
    tree.each_input(&mut |input| collect(input, tables, made, read));
}
