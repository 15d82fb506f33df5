//! Whether rows of a tree differ in certain columns: at most one of them equals given values.

use crate::expr::{ColumnId, Expr};
use crate::function::FunctionId;
use crate::logical::{Bound, JoinKind, Logical};
use crate::progress;
use syntax::ast::SetOp;
use types::TypeKind;

use super::join::hashes_alike;

/// Whether at most one row of `right`, which gives `columns`, meets the conditions for each row that it is joined to.
pub(super) fn is_unique_for(
    bound: &Bound,
    right: &Logical,
    columns: &[ColumnId],
    conditions: &[Expr],
) -> bool {
    let mut equal = Vec::new();
    let mut each = |condition: &Expr| {
        let Some((FunctionId::Eq, [a, b])) = condition.as_call() else { return };
        for (own, other) in [(a, b), (b, a)] {
            if let Some(id) = own.as_column()
                && columns.contains(&id)
                && !other.reads_any(columns)
                // Else values that are different there may be equal here; so may moments, as times of the session's zone.
                && hashes_alike(own, other)
                && own.data_type.kind != TypeKind::Timestamp
            {
                equal.push(id);
            }
        }
    };
    conditions.iter().for_each(|condition| each_conjunct(condition, &mut each));
    is_unique(bound, right, &equal)
}

fn each_conjunct(condition: &Expr, visit: &mut dyn FnMut(&Expr)) {
    match condition.as_call() {
        Some((FunctionId::And, args)) => args.iter().for_each(|arg| each_conjunct(arg, visit)),
        _ => visit(condition),
    }
}

/// Whether no two rows are equal in all of these columns, without NULL in any.
fn is_unique(bound: &Bound, tree: &Logical, ids: &[ColumnId]) -> bool {
    progress::step();
    let has_all = |columns: &[ColumnId]| columns.iter().all(|id| ids.contains(id));
    match tree {
        Logical::OneRow | Logical::Empty { .. } => true,
        Logical::Scan { table } => {
            let table = &bound.tables[table.0 as usize];
            table.entry.definition.indexes.iter().any(|index| {
                index.is_unique()
                    && index
                        .parts
                        .iter()
                        .all(|part| part.prefix_length.is_none() && ids.contains(&table.column(part.column)))
            })
        }
        Logical::Filter { input, .. }
        | Logical::Window { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Lateral { input, .. }
        | Logical::Limit { input, .. } => is_unique(bound, input, ids),
        Logical::Project { input, items } => {
            let below: Vec<ColumnId> = ids
                .iter()
                .map(|id| match items.iter().find(|(item, _)| item == id) {
                    // A column under another name.
                    Some((_, expr)) => expr.as_column().unwrap_or(*id),
                    None => *id,
                })
                .collect();
            is_unique(bound, input, &below)
        }
        Logical::Distinct { input, columns } => has_all(columns) || is_unique(bound, input, ids),
        Logical::Aggregate { keys, rollup, .. } => !rollup && keys.iter().all(|(id, _)| ids.contains(id)),
        Logical::SetOp { op, all, columns, .. } => {
            !all && matches!(op, SetOp::Union | SetOp::Except | SetOp::Intersect) && has_all(columns)
        }
        Logical::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => is_unique(bound, left, ids),
        Logical::Apply { input, .. } => is_unique(bound, input, ids),
        Logical::Values { rows, .. } => rows.len() <= 1,
        Logical::Join { .. }
        | Logical::JsonTable { .. }
        | Logical::WorkingTable { .. }
        | Logical::Recursive { .. } => false,
    }
}
