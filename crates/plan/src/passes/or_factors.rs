//! What all branches of an OR have in common is taken out of it, and what its branches say of one table becomes a condition beside it.
//!
//! ```text
//! (a = b AND t.x = 1 AND u.y = 2) OR (a = b AND t.x = 3 AND u.z > 4)
//!     a = b AND ((t.x = 1 AND u.y = 2) OR (t.x = 3 AND u.z > 4)) AND (t.x = 1 OR t.x = 3)
//! ```
//!
//! The first lets a join find its partners, the second is met before the join. Both keep for which rows the condition is true: AND and OR
//! distribute over each other with NULL as well. What moves is evaluated for rows for which it was not before, so it may be nothing
//! that warns or fails ([`is_quiet`]).

use types::{DataType, TypeKind};

use crate::expr::{CallOption, ColumnId, Expr, ExprKind};
use crate::function::FunctionId;
use crate::logical::{Bound, ColumnInfo, Logical, TableIndex};
use crate::progress;
use crate::rewrite::{conjuncts, is_repeatable};

/// Branches, and parts of all of them, of the largest OR that is looked at: each part is compared with those of the other branches.
const BRANCHES_MAX: usize = 256;
const PARTS_MAX: usize = 1024;
/// Conditions of the first branch that are looked for in the others.
const FACTORS_MAX: usize = 32;

/// Runs the pass over a tree and the trees of the subqueries in it.
pub(super) fn run(bound: &Bound, tree: &mut Logical) {
    tree.each_input_mut(&mut |input| run(bound, input));
    match tree {
        Logical::Apply { subquery, .. } => run(bound, &mut subquery.plan),
        Logical::Filter { conditions, .. } | Logical::Join { conditions, .. } => {
            rewrite(&bound.columns, conditions);
        }
        _ => {}
    }
}

fn rewrite(columns: &[ColumnInfo], conditions: &mut Vec<Expr>) {
    let is_or = |expr: &Expr| matches!(expr.as_call(), Some((FunctionId::Or, _)));
    if !conditions.iter().any(|condition| condition.any(&mut |node| is_or(node))) {
        return;
    }
    let mut parts = Vec::with_capacity(conditions.len());
    for condition in conditions.drain(..) {
        conjuncts(condition, &mut parts);
    }
    for part in parts {
        if !is_or(&part) || !is_repeatable(&part) || part.has_subquery() {
            conditions.push(part);
            continue;
        }
        let Some(branches) = branches_of(&part) else {
            conditions.push(part);
            continue;
        };
        let (factors, rest) = factor(branches);
        let left = match (factors.is_empty(), rest) {
            (true, _) => Some(part),
            (false, rest) => rest.map(|branches| disjunction(&part, branches)),
        };
        conditions.extend(factors);
        if let Some(left) = left {
            conditions.extend(implied(columns, &left));
            conditions.push(left);
        }
    }
}

/// The branches of an OR, each as its conditions; `None` if they are too many.
fn branches_of(expr: &Expr) -> Option<Vec<Vec<Expr>>> {
    fn collect<'e>(expr: &'e Expr, out: &mut Vec<&'e Expr>) {
        progress::step();
        match expr.as_call() {
            Some((FunctionId::Or, args)) => args.iter().for_each(|arg| collect(arg, out)),
            _ => out.push(expr),
        }
    }
    let mut branches = Vec::new();
    collect(expr, &mut branches);
    if branches.len() > BRANCHES_MAX {
        return None;
    }
    let split = |branch: &Expr| {
        let mut parts = Vec::new();
        conjuncts(branch.clone(), &mut parts);
        parts
    };
    let branches: Vec<Vec<Expr>> = branches.into_iter().map(split).collect();
    (branches.iter().map(Vec::len).sum::<usize>() <= PARTS_MAX).then_some(branches)
}

/// Takes out what stands in all branches. The branches without it; none if one of them said nothing else.
fn factor(mut branches: Vec<Vec<Expr>>) -> (Vec<Expr>, Option<Vec<Vec<Expr>>>) {
    let mut factors = Vec::new();
    let candidates: Vec<Expr> = branches[0].iter().take(FACTORS_MAX).cloned().collect();
    for candidate in candidates {
        progress::steps(1 + branches.len());
        // What is evaluated before it is evaluated for fewer rows then.
        let place = |branch: &Vec<Expr>| {
            let at = branch.iter().position(|part| *part == candidate)?;
            branch[..at].iter().all(is_quiet).then_some(at)
        };
        if !is_quiet(&candidate) {
            continue;
        }
        let Some(places) = branches.iter().map(place).collect::<Option<Vec<usize>>>() else { continue };
        for (branch, at) in branches.iter_mut().zip(places) {
            branch.remove(at);
        }
        factors.push(candidate);
    }
    let rest = branches.iter().all(|branch| !branch.is_empty()).then_some(branches);
    (factors, rest)
}

/// What an OR over several tables says of each of them alone: where it is true, so is this.
pub(crate) fn implied(columns: &[ColumnInfo], or: &Expr) -> Vec<Expr> {
    let mut tables: Vec<TableIndex> = Vec::new();
    let mut has_others = false;
    or.each_column(&mut |id| match table_of(columns, id) {
        Some(table) if !tables.contains(&table) => tables.push(table),
        Some(_) => {}
        None => has_others = true,
    });
    if tables.len() + usize::from(has_others) < 2 {
        return Vec::new();
    }
    let Some(branches) = branches_of(or) else { return Vec::new() };
    let of_table = |table: TableIndex| {
        let mut kept: Vec<Vec<Expr>> = Vec::new();
        for branch in &branches {
            progress::steps(1 + branch.len());
            let is_about = |part: &&Expr| is_about(columns, part, table) && is_quiet(part);
            let parts: Vec<Expr> = branch.iter().filter(is_about).cloned().collect();
            if parts.is_empty() {
                return None; // This branch lets every row of the table through.
            }
            if !kept.contains(&parts) {
                kept.push(parts);
            }
        }
        Some(disjunction(or, kept))
    };
    tables.into_iter().filter_map(of_table).collect()
}

fn table_of(columns: &[ColumnInfo], id: ColumnId) -> Option<TableIndex> {
    columns.get(id.0 as usize)?.origin.map(|(table, _)| table)
}

fn is_about(columns: &[ColumnInfo], part: &Expr, table: TableIndex) -> bool {
    let (mut some, mut only) = (false, true);
    part.each_column(&mut |id| {
        some = true;
        only &= table_of(columns, id) == Some(table);
    });
    some && only
}

/// The OR of branches, of the type of `like`.
fn disjunction(like: &Expr, branches: Vec<Vec<Expr>>) -> Expr {
    let join = |function: FunctionId, mut args: Vec<Expr>| {
        if args.len() == 1 {
            return args.remove(0);
        }
        let nullable = args.iter().any(|arg| arg.nullable);
        let kind = ExprKind::Call { function, args, option: CallOption::None };
        Expr::new(kind, like.data_type.clone(), nullable)
    };
    let branches = branches.into_iter().map(|parts| join(FunctionId::And, parts)).collect();
    join(FunctionId::Or, branches)
}

/// Neither fails nor warns, whatever the row: columns and constants are compared as they are.
pub(crate) fn is_quiet(expr: &Expr) -> bool {
    let is_value = |expr: &Expr| {
        matches!(expr.kind, ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Param(_))
            && expr.data_type.kind != TypeKind::Json
    };
    let compare = |left: &Expr, right: &Expr| {
        is_value(left) && is_value(right) && compare_as_they_are(&left.data_type, &right.data_type)
    };
    match &expr.kind {
        ExprKind::Call { function, args, option: CallOption::None } => match function {
            FunctionId::Eq
            | FunctionId::NullSafeEq
            | FunctionId::Ne
            | FunctionId::Lt
            | FunctionId::Le
            | FunctionId::Gt
            | FunctionId::Ge
            | FunctionId::Between => args[1..].iter().all(|arg| compare(&args[0], arg)),
            FunctionId::IsNull => is_value(&args[0]),
            FunctionId::Not | FunctionId::And | FunctionId::Or => args.iter().all(is_quiet),
            _ => false,
        },
        ExprKind::InList { expr, list } => list.iter().all(|item| compare(expr, item)),
        _ => false,
    }
}

/// Neither side is converted in a way that could warn.
fn compare_as_they_are(left: &DataType, right: &DataType) -> bool {
    let is_exact =
        |of: &DataType| of.kind == TypeKind::Decimal || of.is_integer() && of.kind != TypeKind::Bit;
    let is_text = |of: &DataType| of.is_string() && of.members.is_none();
    let is_moment = |of: &DataType| matches!(of.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Time);
    is_exact(left) && is_exact(right)
        || is_text(left) && is_text(right) && left.collation == right.collation
        || is_moment(left) && left.kind == right.kind
}
