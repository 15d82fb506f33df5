//! Every subquery that is still inside an expression becomes a column that an `Apply` below computes. After this pass no
//! expression holds a subquery.

use crate::expr::{CallOption, ColumnId, Expr, ExprKind, SubqueryKind};
use crate::function::FunctionId;
use crate::logical::{Bound, ColumnInfo, JoinKind, Logical};

use super::take;

/// Runs the pass over a tree and the trees of the subqueries in it.
pub(super) fn run(bound: &mut Bound, tree: &mut Logical) {
    tree.each_input_mut(&mut |input| run(bound, input));
    if let Logical::Apply { subquery, .. } = tree {
        run(bound, &mut subquery.plan);
    }
    match tree {
        Logical::Filter { input, conditions } if conditions.iter().any(Expr::has_subquery) => {
            let mut source = take(input);
            for condition in conditions {
                source = extract_read(bound, source, condition, true);
            }
            **input = source;
        }
        Logical::Project { input, items } if items.iter().any(|(_, expr)| expr.has_subquery()) => {
            let mut source = take(input);
            for (_, expr) in items {
                source = extract(bound, source, expr);
            }
            **input = source;
        }
        Logical::Aggregate { input, keys, calls, .. } => {
            let mut source = take(input);
            for (_, expr) in keys {
                source = extract(bound, source, expr);
            }
            for (_, call) in calls {
                for arg in &mut call.args {
                    source = extract(bound, source, arg);
                }
                for key in &mut call.order_by {
                    source = extract(bound, source, &mut key.expr);
                }
            }
            **input = source;
        }
        Logical::Window { .. } => {
            let mut slot = None;
            tree.each_input_mut(&mut |input| slot = Some(take(input)));
            tree.each_expr_mut(&mut |expr| {
                slot = slot.take().map(|source| extract(bound, source, expr));
            });
            tree.each_input_mut(&mut |input| {
                if let Some(source) = slot.take() {
                    *input = source;
                }
            });
        }
        Logical::Sort { input, keys } => {
            let mut source = take(input);
            for key in keys {
                source = extract(bound, source, &mut key.expr);
            }
            **input = source;
        }
        Logical::Join { kind, left, right, conditions } if conditions.iter().any(Expr::has_subquery) => {
            // An inner join's conditions may as well be checked after it; an outer join's are computed on the side
            // whose columns they need.
            if matches!(kind, JoinKind::Inner | JoinKind::Straight) {
                let (with, without): (Vec<_>, Vec<_>) = conditions.drain(..).partition(Expr::has_subquery);
                *conditions = without;
                let mut source = take(tree);
                let mut conditions = with;
                for condition in &mut conditions {
                    source = extract_read(bound, source, condition, true);
                }
                *tree = Logical::Filter { input: Box::new(source), conditions };
            } else {
                let right_columns = right.output(&bound.tables);
                for condition in conditions {
                    let mut needs_right = false;
                    condition.each_column(&mut |id| needs_right |= right_columns.contains(&id));
                    let side = if needs_right { &mut *right } else { &mut *left };
                    let source = take(side);
                    **side = extract_read(bound, source, condition, true);
                }
            }
        }
        Logical::Values { rows, .. } if rows.iter().flatten().any(Expr::has_subquery) => {
            // Rows of VALUES stand alone: each becomes a projection of one row, all together a union.
            let Logical::Values { columns, rows } = take(tree) else { return };
            *tree = values_union(bound, columns, rows);
        }
        _ => {}
    }
}

fn values_union(bound: &mut Bound, columns: Vec<ColumnId>, rows: Vec<Vec<Expr>>) -> Logical {
    let mut union: Option<(Logical, Vec<ColumnId>)> = None;
    let count = rows.len();
    for (number, row) in rows.into_iter().enumerate() {
        let mut source = Logical::OneRow;
        let mut items = Vec::new();
        let mut ids = Vec::new();
        for mut expr in row {
            source = extract(bound, source, &mut expr);
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
        coercibility: None,
        bits: None,
        is_reference: false,
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
pub(super) fn extract(bound: &mut Bound, source: Logical, expr: &mut Expr) -> Logical {
    extract_read(bound, source, expr, false)
}

/// A query without a table: MySQL takes it for its value.
fn is_value(tree: &Logical) -> bool {
    matches!(tree, Logical::Project { input, .. } if matches!(**input, Logical::OneRow))
}

/// `is_read`: an expression or condition reads the value, so that it may become a number.
fn extract_read(bound: &mut Bound, mut source: Logical, expr: &mut Expr, is_read: bool) -> Logical {
    if let ExprKind::Subquery(subquery) = &expr.kind {
        // Numbers are read without a warning in a text that MySQL keeps of a subquery.
        let is_quiet = is_read
            && matches!(subquery.kind, SubqueryKind::Scalar)
            && expr.data_type.is_string()
            && !is_value(&subquery.plan);
        let column = new_column(bound, expr);
        let ExprKind::Subquery(mut subquery) = std::mem::replace(&mut expr.kind, ExprKind::Column(column))
        else {
            return source;
        };
        run(bound, &mut subquery.plan);
        if let SubqueryKind::Quantified { condition, .. } = &mut subquery.kind {
            for part in condition {
                // The left operand may hold a subquery itself.
                source = extract_read(bound, source, part, true);
            }
        }
        if is_quiet {
            let text = std::mem::replace(expr, Expr::null());
            let Expr { ref data_type, nullable, coercibility, .. } = text;
            let data_type = data_type.clone();
            let kind =
                ExprKind::Call { function: FunctionId::Cast, args: vec![text], option: CallOption::Quiet };
            *expr = Expr { kind, data_type, nullable, coercibility };
        }
        return Logical::Apply { input: Box::new(source), subquery, column };
    }
    let mut slot = Some(source);
    expr.each_child_mut(&mut |child| {
        if let Some(source) = slot.take() {
            slot = Some(extract_read(bound, source, child, true));
        }
    });
    slot.unwrap_or(Logical::OneRow)
}
