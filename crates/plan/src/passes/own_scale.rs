//! Decimals that IF and CASE give go to the client with the scale of the value chosen, unless a temporary table of MySQL's
//! would hold them; see [`crate::function::keep_own_scale`]. Such a table holds no constants.

use crate::expr::{ColumnId, Expr};
use crate::function::keep_own_scale;
use crate::logical::Logical;

/// Over the tree of a query whose rows the client gets.
pub(super) fn run(tree: &mut Logical) {
    match tree {
        Logical::Limit { input, .. } | Logical::Filter { input, .. } => run(input),
        Logical::Distinct { input, .. } => constants(input),
        Logical::Sort { input, keys } => match &mut **input {
            // Rows of one table are sorted by themselves, with what is shown computed afterwards.
            Logical::Project { input: rows, items } if !keys.is_empty() && is_one_table(rows) => {
                items.iter_mut().for_each(|(_, item)| keep_own_scale(item));
            }
            _ => constants(input),
        },
        Logical::Project { input, items } => {
            let aggregated = aggregates(input);
            let is_shown = |item: &Expr| match &aggregated {
                None => true,
                Some(aggregates) => item.is_constant() || reads_any(item, aggregates),
            };
            items.iter_mut().filter(|(_, item)| is_shown(item)).for_each(|(_, item)| keep_own_scale(item));
        }
        _ => {}
    }
}

/// Constants of rows that are sorted or made different.
fn constants(tree: &mut Logical) {
    match tree {
        Logical::Limit { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Distinct { input, .. } => constants(input),
        Logical::Project { items, .. } => {
            let constants = items.iter_mut().filter(|(_, item)| item.is_constant());
            constants.for_each(|(_, item)| keep_own_scale(item));
        }
        _ => {}
    }
}

fn is_one_table(rows: &Logical) -> bool {
    match rows {
        Logical::Scan { .. } | Logical::OneRow => true,
        Logical::Filter { input, .. } => is_one_table(input),
        _ => false,
    }
}

/// The results of the aggregation below a projection, if there is one.
fn aggregates(rows: &Logical) -> Option<Vec<ColumnId>> {
    match rows {
        Logical::Aggregate { calls, .. } => Some(calls.iter().map(|(id, _)| *id).collect()),
        Logical::Filter { input, .. } => aggregates(input),
        _ => None,
    }
}

fn reads_any(expr: &Expr, columns: &[ColumnId]) -> bool {
    let mut found = false;
    expr.each_column(&mut |id| found |= columns.contains(&id));
    found
}
