//! Groups that are made one after the other, because the rows come in an order in which those of a group stand side by side: without a table of
//! groups, in the order of the index, and with a LIMIT no further than the last group that is wanted. DISTINCT is a group without aggregates.
//!
//! Where an index begins with the columns of the groups and the aggregates are MIN or MAX of its next column, one row of each group is enough:
//! the scan goes from one to the next (`Scan::first_of`).
//!
//! Invariants:
//! 1. The columns of groups are such that an index over them distinguishes values as groups do. A TIMESTAMP is not: two instants may be one
//!    local time.
//! 2. No aggregate is DISTINCT, but for MIN and MAX: what was seen would have to be forgotten with each group.
//! 3. Nothing is read in another order that is locked or changed.

use types::TypeKind;

use crate::cost;
use crate::expr::{ColumnId, Expr, ExprKind};
use crate::logical::{AggregateCall, AggregateFunction, Logical, SortKey, TableIndex};
use crate::physical::{Node, Op};

use super::access::{Otherwise, RowOrder};
use super::join::leaf_of;
use super::{Builder, Needed, assigns};

/// Which groups are wanted.
#[derive(Clone, Copy, Default)]
pub(super) struct RequiredGroups<'k> {
    /// In which order: columns of the groups.
    pub(super) keys: &'k [SortKey],
    /// How many; none: all.
    pub(super) limit: Option<f64>,
}

type Keys<'k> = &'k [(ColumnId, Expr)];
type Calls<'c> = &'c [&'c (ColumnId, AggregateCall)];

impl Builder<'_> {
    /// Groups over the rows of one table, if reading these in the order of an index costs less than a table of groups.
    pub(super) fn groups_in_order(
        &mut self,
        input: &Logical,
        keys: Keys<'_>,
        calls: Calls<'_>,
        wanted: RequiredGroups<'_>,
        needed: &Needed,
    ) -> Option<Node> {
        if !self.switches.group_order || keys.is_empty() || self.changes_rows {
            return None;
        }
        let forgets = |call: &AggregateCall| {
            call.distinct && !matches!(call.function, AggregateFunction::Min | AggregateFunction::Max)
        };
        if calls.iter().any(|(_, call)| forgets(call)) {
            return None;
        }
        let mut sorted = Vec::with_capacity(wanted.keys.len());
        for key in wanted.keys {
            let id = key.expr.as_column()?;
            let (_, expr) = keys.iter().find(|(group, _)| *group == id)?;
            sorted.push(SortKey { expr: expr.clone(), descending: key.descending });
        }
        let wanted = RequiredGroups { keys: &sorted, limit: wanted.limit };
        let node = self.rows_of_groups(input, keys, calls, wanted, needed)?;
        Some(self.aggregate_node(node, keys, calls, false, true))
    }

    /// The rows, those of a group side by side.
    fn rows_of_groups(
        &mut self,
        input: &Logical,
        keys: Keys<'_>,
        calls: Calls<'_>,
        wanted: RequiredGroups<'_>,
        needed: &Needed,
    ) -> Option<Node> {
        if let Logical::Filter { input, conditions } = input
            && conditions.iter().all(Expr::is_constant)
        {
            let node = self.rows_of_groups(input, keys, calls, wanted, needed)?;
            return Some(self.filter_node(node, conditions));
        }
        let (table, conditions) = leaf_of(input)?;
        let bound = &self.bound.tables[table.0 as usize];
        if bound.entry.source.as_virtual().is_some() || bound.lock.is_some() {
            return None;
        }
        let distinguishes = |expr: &Expr| {
            let id = expr.as_column()?;
            let ordinal = bound.ordinal(id)?;
            let kind = bound.entry.definition.columns.get(ordinal)?.data_type.kind;
            (kind != TypeKind::Timestamp && !self.bound.columns[id.0 as usize].is_reference)
                .then_some(ordinal)
        };
        let ordinals: Vec<usize> = keys.iter().map(|(_, expr)| distinguishes(expr)).collect::<Option<_>>()?;
        let grouped: Vec<Expr> = keys.iter().map(|(_, expr)| expr.clone()).collect();
        let rows = (self.table_rows(table) * self.conditions_selectivity(conditions)).max(1.0);
        let groups = self.group_count(keys, rows);
        let sorting = if wanted.keys.is_empty() { 0.0 } else { cost::sort(groups) };
        let order = RowOrder {
            keys: wanted.keys,
            grouped: &grouped,
            limit: wanted.limit.map(|limit| limit * rows / groups),
            otherwise: Otherwise::Hash(cost::group(groups) - cost::GROUP_IN_ORDER, sorting),
        };
        let (mut node, is_ordered) = self.scan(table, conditions, needed, Some(&order));
        if !is_ordered {
            return None;
        }
        if let Some(limit) = order.limit
            && limit < node.rows
        {
            node.cost *= limit / node.rows;
        }
        self.read_ends(&mut node, table, &ordinals, calls, wanted, groups);
        Some(node)
    }

    /// Makes a scan read one row of each group, if that is enough, and costs less.
    fn read_ends(
        &self,
        node: &mut Node,
        table: TableIndex,
        grouped: &[usize],
        calls: Calls<'_>,
        wanted: RequiredGroups<'_>,
        groups: f64,
    ) {
        let Op::Scan(scan) = &mut node.op else { return };
        let bound = &self.bound.tables[table.0 as usize];
        let definition = &bound.entry.definition;
        let Some(index) = scan.access.index.or(definition.clustered) else { return };
        let parts = &definition.indexes[index].parts;
        let (true, Some((first, behind))) = (scan.access.covering, parts.split_at_checked(grouped.len()))
        else {
            return;
        };
        let is_grouped = |ordinal: usize| grouped.contains(&ordinal);
        if !first.iter().all(|part| is_grouped(part.column))
            || !grouped.iter().all(|ordinal| first.iter().any(|part| part.column == *ordinal))
        {
            return;
        }
        // What is asked of a row is the same for all of its group.
        let is_other = |part: &Expr| match part.kind {
            ExprKind::Input(position) => {
                !scan.columns.get(position as usize).is_some_and(|&ordinal| is_grouped(ordinal))
            }
            _ => false,
        };
        let asks_others = scan.filter.iter().any(|condition| condition.any(&mut |part| is_other(part)));
        let reaches_behind = scan.access.ranges.iter().flatten().any(|range| {
            range.equal.len() + usize::from(range.lower.is_some() || range.upper.is_some()) > first.len()
        });
        if asks_others || reaches_behind {
            return;
        }
        let mut backward = (!wanted.keys.is_empty()).then_some(scan.access.backward);
        for (_, call) in calls {
            let (Some(part), [arg]) = (behind.first(), &call.args[..]) else { return };
            let is_least = match call.function {
                AggregateFunction::Min => true,
                AggregateFunction::Max => false,
                _ => return,
            };
            let column = &definition.columns[part.column];
            let data_type = &column.data_type;
            let is_part = arg.as_column().and_then(|id| bound.ordinal(id)) == Some(part.column)
                && part.prefix_length.is_none()
                && arg.data_type.collation == data_type.collation;
            // The numbers of members are not in the order of their texts; NULL, which counts for nothing, is the least.
            let is_in_order = data_type.members.is_none() && data_type.kind != TypeKind::Timestamp;
            let needs_backward = is_least == part.descending;
            if !is_part
                || !is_in_order
                || is_least && column.nullable
                || backward.is_some_and(|other| other != needs_backward)
            {
                return;
            }
            backward = Some(needs_backward);
        }
        let found = groups.min(node.rows.max(1.0));
        let one_each = found * (cost::descent(self.table_rows(table)) + cost::ROW);
        let all = scan.rows_read * cost::COVERED_ENTRY;
        if one_each > all {
            return;
        }
        scan.first_of = first.len();
        scan.access.backward = backward.unwrap_or(false);
        scan.rows_read = found;
        node.rows = found;
        node.cost = node.cost.min(one_each);
    }

    /// DISTINCT over the rows of one table, as [`Self::groups_in_order`].
    pub(super) fn distinct_in_order(
        &mut self,
        input: &Logical,
        columns: &[ColumnId],
        wanted: RequiredGroups<'_>,
    ) -> Option<Node> {
        let mut keys: Vec<(ColumnId, Expr)> = columns.iter().map(|id| (*id, self.column_expr(*id))).collect();
        let mut tree = input;
        while let Logical::Project { input, items } = tree {
            if assigns(items) {
                return None;
            }
            for (_, expr) in &mut keys {
                let id = expr.as_column()?;
                if let Some((_, item)) = items.iter().find(|(item, _)| *item == id) {
                    *expr = item.clone();
                }
            }
            tree = input;
        }
        let mut needed = self.nothing();
        keys.iter().for_each(|(_, expr)| needed.add_expr(expr));
        self.groups_in_order(tree, &keys, &[], wanted, &needed)
    }

    /// A tree of which only `limit` rows are wanted, whichever: of groups no more are made.
    pub(super) fn build_limited(&mut self, tree: &Logical, limit: f64, needed: &Needed) -> Node {
        match tree {
            Logical::Aggregate { input, keys, calls, rollup } => {
                let wanted = RequiredGroups { keys: &[], limit: Some(limit) };
                self.aggregate(input, keys, calls, *rollup, wanted, needed)
            }
            Logical::Distinct { input, columns } => {
                self.distinct_rows(input, columns, RequiredGroups { keys: &[], limit: Some(limit) })
            }
            Logical::Filter { input, conditions }
                if makes_groups(input) && !conditions.iter().any(Expr::is_constant) =>
            {
                let mut inner = needed.clone();
                conditions.iter().for_each(|condition| inner.add_expr(condition));
                let limit = limit / self.conditions_selectivity(conditions);
                let node = self.build_limited(input, limit, &inner);
                self.filter_node(node, conditions)
            }
            _ => self.build(tree, needed),
        }
    }
}

/// Whether the rows of a tree are groups.
pub(super) fn makes_groups(tree: &Logical) -> bool {
    match tree {
        Logical::Aggregate { rollup, .. } => !rollup,
        Logical::Distinct { .. } => true,
        Logical::Project { input, .. } | Logical::Filter { input, .. } => makes_groups(input),
        _ => false,
    }
}
