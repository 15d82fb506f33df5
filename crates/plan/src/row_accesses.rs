//! How many rows of base tables a plan expects to read, for `max_join_size`.
//!
//! As in MySQL, a join counts the rows of each table as often as they are read; rows that a filter drops count, too.
//! Subqueries that are computed for a row or give a value (`Apply`) do not count.

use types::{Value, ValueRef};

use crate::expr::{Expr, ExprKind};
use crate::logical::{AggregateFunction, JoinKind};
use crate::physical::{Aggregate, ApplyKind, InsertSource, Node, Op, PhysicalPlan, PlanKind, Scan};

impl PhysicalPlan {
    /// Rows of base tables that an execution with these parameters is expected to read. UPDATE and DELETE that join
    /// nothing count none.
    #[must_use]
    pub fn row_accesses(&self, parameters: &[ValueRef<'_>]) -> f64 {
        let counter = Counter { plan: self, parameters };
        match &self.kind {
            PlanKind::Query(node) => counter.node(node, 1.0, None),
            PlanKind::Insert(insert) => match &insert.rows {
                InsertSource::Query(node) => counter.node(node, 1.0, None),
                InsertSource::Values { .. } => 0.0,
            },
            PlanKind::Update(update) => counter.joined(&update.source),
            PlanKind::Delete(delete) => counter.joined(&delete.source),
            PlanKind::Do(_) => 0.0,
        }
    }
}

struct Counter<'p> {
    plan: &'p PhysicalPlan,
    parameters: &'p [ValueRef<'p>],
}

impl Counter<'_> {
    /// Rows read by `node` when it runs `times` times and each run ends after `limit` rows.
    fn node(&self, node: &Node, times: f64, limit: Option<f64>) -> f64 {
        match &node.op {
            Op::OneRow | Op::Empty | Op::Values(_) | Op::WorkingTable { .. } => 0.0,
            Op::Scan(scan) => times * self.scan_rows(scan, limit),
            // A subquery of a condition that depends on no row is computed once.
            Op::Apply {
                input, subquery, kind: ApplyKind::Quantified { single: false, .. }, outer, ..
            } if outer.is_empty() => self.node(input, times, limit) + self.node(subquery, times, None),
            Op::Project { input, .. }
            | Op::Fetch { input, .. }
            | Op::JsonTable { input, .. }
            | Op::Apply { input, .. } => self.node(input, times, limit),
            Op::Limit { input, count, offset, .. } => {
                self.node(input, times, self.wanted(count.as_ref(), offset.as_ref(), limit))
            }
            Op::Aggregate { input, keys, calls, .. } if keys.is_empty() && self.is_known(input, calls) => 0.0,
            Op::Filter { input, .. }
            | Op::Aggregate { input, .. }
            | Op::Window { input, .. }
            | Op::Distinct { input }
            | Op::Sort { input, .. }
            | Op::TopN { input, .. } => self.node(input, times, None),
            Op::LookupJoin { left, scan, .. } => {
                let left_rows = limit.map_or(left.rows, |limit| left.rows.min(limit));
                self.node(left, times, limit) + times * left_rows * scan.rows_read
            }
            Op::HashJoin { left, right, .. } => self.node(left, times, limit) + self.node(right, times, None),
            Op::LoopJoin { kind, left, right, outer, .. } => {
                let is_first_match = matches!(kind, JoinKind::Semi | JoinKind::Anti);
                let right_limit = is_first_match.then_some(1.0);
                // Right rows that depend on nothing are read once and kept.
                let (right_times, right_limit) =
                    if outer.is_empty() { (times, None) } else { (times * left.rows, right_limit) };
                self.node(left, times, limit) + self.node(right, right_times, right_limit)
            }
            Op::Append { left, right } => self.node(left, times, limit) + self.node(right, times, limit),
            Op::SetOp { left, right, .. } | Op::Recursive { seed: left, step: right, .. } => {
                self.node(left, times, None) + self.node(right, times, None)
            }
        }
    }

    /// Rows read for a change, if it joins.
    fn joined(&self, node: &Node) -> f64 {
        if joins(node) { self.node(node, 1.0, None) } else { 0.0 }
    }

    fn scan_rows(&self, scan: &Scan, limit: Option<f64>) -> f64 {
        let is_never = |condition: &Expr| matches!(condition.kind, ExprKind::Literal(Value::Int(0)));
        if scan.filter.iter().any(is_never) {
            return 0.0;
        }
        let limit = if scan.filter.is_empty() { self.wanted(scan.limit.as_ref(), None, limit) } else { None };
        limit.map_or(scan.rows_read, |limit| scan.rows_read.min(limit))
    }

    /// The smaller of `limit` and of the rows that a LIMIT reads.
    fn wanted(&self, count: Option<&Expr>, offset: Option<&Expr>, limit: Option<f64>) -> Option<f64> {
        let own = count
            .and_then(|count| Some(self.number(count)? + offset.map_or(Some(0.0), |at| self.number(at))?));
        match (own, limit) {
            (Some(own), Some(limit)) => Some(own.min(limit)),
            (own, limit) => own.or(limit),
        }
    }

    fn number(&self, expr: &Expr) -> Option<f64> {
        let value = match &expr.kind {
            ExprKind::Literal(value) => ValueRef::from(value),
            ExprKind::Param(number) => *self.parameters.get(*number as usize)?,
            _ => return None,
        };
        match value {
            ValueRef::Int(count) => Some(count as f64),
            ValueRef::UInt(count) => Some(count as f64),
            _ => None,
        }
    }

    /// Whether MySQL knows these aggregates of a whole table without reading its rows: counts, and the ends of an index.
    fn is_known(&self, input: &Node, calls: &[Aggregate]) -> bool {
        let Op::Scan(scan) = &input.op else {
            return is_cross_join(input)
                && calls.iter().all(|call| call.function == AggregateFunction::CountStar);
        };
        let table = &self.plan.tables[scan.table.0 as usize];
        let begins_index = |arg: &Expr| {
            let ExprKind::Input(position) = arg.kind else { return false };
            scan.columns.get(position as usize).is_some_and(|column| {
                table.entry.definition.indexes.iter().any(|index| index.parts[0].column == *column)
            })
        };
        scan.filter.is_empty()
            && scan.access.ranges.is_none()
            && calls.iter().all(|call| match call.function {
                AggregateFunction::CountStar => true,
                AggregateFunction::Count => !call.distinct && call.args.iter().all(|arg| !arg.nullable),
                AggregateFunction::Min | AggregateFunction::Max => call.args.iter().all(begins_index),
                _ => false,
            })
    }
}

/// Whether the rows are all combinations of all rows of tables.
fn is_cross_join(node: &Node) -> bool {
    match &node.op {
        Op::Scan(scan) => scan.filter.is_empty() && scan.access.ranges.is_none(),
        Op::LoopJoin { kind: JoinKind::Inner, left, right, conditions, .. } => {
            conditions.is_empty() && is_cross_join(left) && is_cross_join(right)
        }
        Op::Project { input, .. } => is_cross_join(input),
        _ => false,
    }
}

fn joins(node: &Node) -> bool {
    match &node.op {
        Op::LookupJoin { .. } | Op::HashJoin { .. } | Op::LoopJoin { .. } => true,
        Op::Apply { input, .. } => joins(input),
        _ => {
            let mut found = false;
            node.each_input(&mut |input| found = found || joins(input));
            found
        }
    }
}
