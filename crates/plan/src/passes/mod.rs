//! The logical passes: the same rows with less work. Each has a name and can be switched off.
//!
//! | pass | what it does |
//! | --- | --- |
//! | `semijoin` | EXISTS and IN in WHERE become semi joins, NOT EXISTS an anti join, where no value can be NULL also NOT IN |
//! | `apply` | every other subquery becomes a column computed below the expression (always on) |
//! | `outer_to_inner` | a LEFT JOIN whose right side a condition needs becomes an inner join |
//! | `pushdown` | conditions move to the rows they are about, through projections, joins, groups and unions |
//!
//! Constant parts of expressions are computed once per execution by the compiled program, so there is no folding here
//! beyond conditions that are plainly TRUE or FALSE. Unneeded columns are pruned when the physical plan is built.

mod pushdown;
mod subquery;

use crate::logical::{Bound, BoundKind, InsertRows, Logical};

/// Which passes run. All, unless a test or a session says otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Switches {
    /// `semijoin`.
    pub semijoin: bool,
    /// `outer_to_inner`.
    pub outer_to_inner: bool,
    /// `pushdown`.
    pub pushdown: bool,
}

impl Default for Switches {
    fn default() -> Switches {
        Switches { semijoin: true, outer_to_inner: true, pushdown: true }
    }
}

/// Runs the passes over every tree of the statement.
pub fn run(bound: &mut Bound, switches: Switches) {
    let mut kind = std::mem::replace(&mut bound.kind, BoundKind::Do(Box::new(Logical::OneRow)));
    match &mut kind {
        BoundKind::Query(tree) | BoundKind::Do(tree) => run_tree(bound, tree, switches),
        BoundKind::Insert(insert) => {
            if let InsertRows::Query(tree, _) = &mut insert.rows {
                run_tree(bound, tree, switches);
            }
        }
        BoundKind::Update(update) => {
            // Assignments may hold subqueries: compute them as columns of the source.
            let tree = &mut *update.source;
            let mut source = std::mem::replace(tree, Logical::OneRow);
            for assignment in &mut update.assignments {
                if let Some(value) = &mut assignment.value {
                    source = subquery::extract(bound, source, value, switches);
                }
            }
            *tree = source;
            run_tree(bound, tree, switches);
        }
        BoundKind::Delete(delete) => run_tree(bound, &mut delete.source, switches),
    }
    bound.kind = kind;
}

fn run_tree(bound: &mut Bound, tree: &mut Logical, switches: Switches) {
    subquery::run(bound, tree, switches);
    if switches.pushdown {
        pushdown::run(bound, tree, switches);
    }
}

/// Takes a tree out of its place.
fn take(tree: &mut Logical) -> Logical {
    std::mem::replace(tree, Logical::OneRow)
}
