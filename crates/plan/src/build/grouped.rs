//! A subquery that computes an aggregate for each row, made a join with the groups of its table:
//!
//! ```text
//! SELECT p.id, (SELECT COUNT(*) FROM c WHERE c.pid = p.id) FROM p
//!     p LEFT JOIN (SELECT pid, COUNT(*) AS n FROM c GROUP BY pid) g ON g.pid = p.id, and IFNULL(g.n, 0)
//! ```
//!
//! [`Builder::apply_node`] takes what costs less: few rows look their groups up, many read the table once.
//!
//! Invariants:
//! 1. Groups that no row asks for are computed too: nothing is in them that warns or fails ([`is_quiet`](crate::passes::is_quiet)), and no
//!    row is locked.
//! 2. A row without a group has the value of an aggregate over no rows: 0 for COUNT, else NULL.

use crate::cost;
use crate::expr::{CallOption, ColumnId, Expr, Subquery, SubqueryKind};
use crate::function::{self, FunctionId, TypeContext};
use crate::logical::{AggregateCall, AggregateFunction, JoinKind, Logical};
use crate::passes::is_quiet;
use crate::physical::Node;
use crate::rewrite::{conjuncts, is_repeatable, substitute};

use super::join::{Joining, hashes_alike};
use super::{Builder, Needed};

/// Answers of a subquery that are remembered while it runs.
const REMEMBERED_MAX: f64 = 10_000.0;
/// What a subquery must cost before it is made anything else, in nanoseconds.
const APPLY_COST_MIN: f64 = 50_000.0;

/// The groups, by what a row finds its own, and what they say of it.
struct Grouped {
    groups: Logical,
    on: Vec<Expr>,
    value: Expr,
}

/// [`Grouped`], planned.
pub(super) struct JoinedGroups {
    groups: Node,
    on: Vec<Expr>,
    value: Expr,
}

impl Builder<'_> {
    /// How many times a subquery is computed for these rows.
    pub(super) fn runs(&self, subquery: &Subquery, node: &Node) -> f64 {
        let mut of_rows = subquery.outer.iter().filter(|id| node.columns.contains(id)).peekable();
        if of_rows.peek().is_none() {
            return 1.0;
        }
        let values: f64 = of_rows.map(|id| self.distinct(*id)).product();
        let is_remembered =
            !matches!(subquery.kind, SubqueryKind::Quantified { .. }) && values <= REMEMBERED_MAX;
        if is_remembered { values.min(node.rows) } else { node.rows }
    }

    /// The groups that answer a subquery for all rows of `node`, if a join with them costs less than `apply_cost`.
    pub(super) fn joined_groups(
        &mut self,
        node: &Node,
        subquery: &Subquery,
        apply_cost: f64,
    ) -> Option<JoinedGroups> {
        let always = self.switches.always_groups;
        if apply_cost < APPLY_COST_MIN && !always {
            return None;
        }
        let Grouped { groups: tree, on, value } = self.grouped(subquery)?;
        let own = tree.output(&self.bound.tables);
        let is_known = |id: ColumnId| own.contains(&id) || node.columns.contains(&id);
        if !on.iter().all(|condition| all_columns(condition, &is_known)) {
            return None;
        }
        let mut needed = self.nothing();
        value.each_column(&mut |id| needed.add(id));
        on.iter().for_each(|condition| needed.add_expr(condition));
        let groups = self.build(&tree, &needed);
        let join_cost = groups.cost + cost::hash_join(groups.rows, node.rows);
        (join_cost < apply_cost || always).then_some(JoinedGroups { groups, on, value })
    }

    /// The rows with what their groups say of them.
    pub(super) fn group_join(
        &mut self,
        node: Node,
        joined: JoinedGroups,
        column: ColumnId,
        needed: &Needed,
    ) -> Node {
        let JoinedGroups { groups, on, value } = joined;
        let joining = Joining { conditions: &on, share: self.conditions_selectivity(&on) };
        let node = self.join_nodes(JoinKind::Left, node, groups, joining, false);
        self.project_node(node, &[&(column, value)], needed)
    }

    /// The groups that answer a subquery for all rows, if there are such.
    fn grouped(&self, subquery: &Subquery) -> Option<Grouped> {
        if !matches!(subquery.kind, SubqueryKind::Scalar) || subquery.outer.is_empty() || self.changes_rows {
            return None;
        }
        let [column] = subquery.columns[..] else { return None };
        let mut value = self.column_expr(column);
        let mut plan = &subquery.plan;
        while let Logical::Project { input, items } = plan {
            substitute(&mut value, &|id| {
                items.iter().find(|(item, _)| *item == id).map(|(_, expr)| expr.clone())
            });
            plan = input;
        }
        let Logical::Aggregate { input, keys, calls, rollup: false } = plan else { return None };
        if !keys.is_empty() || !is_repeatable(&value) || !calls.iter().all(|(_, call)| is_plain(call)) {
            return None;
        }
        let mut tree = (**input).clone();
        let mut on = Vec::new();
        self.take_correlated(&mut tree, &subquery.outer, &mut on)?;
        let own = tree.output(&self.bound.tables);
        let keys = on.iter().map(|condition| key_of(condition, &own)).collect::<Option<Vec<ColumnId>>>()?;
        let mut keys: Vec<(ColumnId, Expr)> = keys.into_iter().map(|id| (id, self.column_expr(id))).collect();
        keys.sort_by_key(|(id, _)| *id);
        keys.dedup_by_key(|(id, _)| *id);
        if keys.is_empty()
            || calls
                .iter()
                .flat_map(|(_, call)| &call.args)
                .any(|arg| !all_columns(arg, &|id| own.contains(&id)))
        {
            return None;
        }
        for (id, call) in calls {
            if matches!(call.function, AggregateFunction::Count | AggregateFunction::CountStar) {
                let count = Expr::column(*id, call.data_type.clone(), true);
                let known = function::build(
                    FunctionId::IfNull,
                    vec![count, Expr::int(0)],
                    CallOption::None,
                    &TypeContext::default(),
                )
                .ok()?;
                let known = Expr { data_type: call.data_type.clone(), ..known };
                substitute(&mut value, &|column| (column == *id).then(|| known.clone()));
            }
        }
        let groups = Logical::Aggregate { input: Box::new(tree), keys, calls: calls.clone(), rollup: false };
        Some(Grouped { groups, on, value })
    }

    /// Takes the conditions that read columns of `outer` out of a tree of inner joins. `None`: it reads them elsewhere, or may not be read whole.
    fn take_correlated(&self, tree: &mut Logical, outer: &[ColumnId], out: &mut Vec<Expr>) -> Option<()> {
        crate::progress::step();
        let mut split = |conditions: &mut Vec<Expr>| {
            for condition in std::mem::take(conditions) {
                let mut parts = Vec::new();
                conjuncts(condition, &mut parts);
                for part in parts {
                    if !is_quiet(&part) {
                        return None;
                    }
                    if part.reads_any(outer) { &mut *out } else { &mut *conditions }.push(part);
                }
            }
            Some(())
        };
        match tree {
            Logical::Filter { input, conditions } => {
                split(conditions)?;
                self.take_correlated(input, outer, out)?;
                if conditions.is_empty() {
                    *tree = std::mem::replace(input, Logical::OneRow);
                }
                Some(())
            }
            Logical::Join { kind: JoinKind::Inner, left, right, conditions } => {
                split(conditions)?;
                self.take_correlated(left, outer, out)?;
                self.take_correlated(right, outer, out)
            }
            Logical::Scan { table } => {
                let table = &self.bound.tables[table.0 as usize];
                (table.lock.is_none() && table.entry.source.as_virtual().is_none()).then_some(())
            }
            _ => None,
        }
    }
}

fn all_columns(expr: &Expr, are: &dyn Fn(ColumnId) -> bool) -> bool {
    let mut all = true;
    expr.each_column(&mut |id| all &= are(id));
    all
}

/// The column by which rows are grouped for an equality with something of the outer row.
fn key_of(condition: &Expr, own: &[ColumnId]) -> Option<ColumnId> {
    let (FunctionId::Eq, [a, b]) = condition.as_call()? else { return None };
    for (column, other) in [(a, b), (b, a)] {
        if let Some(id) = column.as_column()
            && own.contains(&id)
            && !other.reads_any(own)
            && hashes_alike(column, other)
        {
            return Some(id);
        }
    }
    None
}

/// An aggregate of a column that neither warns nor fails.
fn is_plain(call: &AggregateCall) -> bool {
    let is_number = |arg: &Expr| arg.data_type.is_numeric() && arg.data_type.members.is_none();
    let of_column = call.args.iter().all(|arg| arg.as_column().is_some() || arg.as_literal().is_some());
    of_column
        && match call.function {
            AggregateFunction::CountStar | AggregateFunction::Count => true,
            AggregateFunction::Min | AggregateFunction::Max => true,
            AggregateFunction::Sum | AggregateFunction::Avg => call.args.iter().all(is_number),
            _ => false,
        }
}
