//! Which UPDATE and DELETE `sql_safe_updates` refuses.

use types::Value;

use crate::expr::{ColumnId, Expr, ExprKind};
use crate::function::FunctionId;
use crate::logical::TableIndex;
use crate::physical::{Node, Op, PhysicalPlan, PlanKind};

impl PhysicalPlan {
    /// Whether an UPDATE or DELETE reads all of a table it changes: no condition that an index could serve, no LIMIT.
    #[must_use]
    pub fn changes_without_key(&self) -> bool {
        match &self.kind {
            PlanKind::Update(update) => {
                update.targets.iter().any(|target| self.reads_all_of(&update.source, target.table))
            }
            PlanKind::Delete(delete) => {
                delete.targets.iter().any(|(table, _)| self.reads_all_of(&delete.source, *table))
            }
            PlanKind::Query(_) | PlanKind::Do(_) | PlanKind::Insert(_) => false,
        }
    }

    fn reads_all_of(&self, node: &Node, table: TableIndex) -> bool {
        match &node.op {
            Op::Scan(scan) => {
                let never = |condition: &Expr| matches!(condition.kind, ExprKind::Literal(Value::Int(0)));
                scan.table == table
                    && !scan.keyed
                    && scan.limit.is_none()
                    && !scan.filter.iter().any(never)
                    && !scan.filter.iter().any(|condition| self.names_key(condition, &node.columns, table))
            }
            Op::Limit { .. } | Op::TopN { .. } => false,
            Op::Filter { input, conditions }
                if conditions.iter().any(|condition| self.names_key(condition, &input.columns, table)) =>
            {
                false
            }
            _ => {
                let mut found = false;
                node.each_input(&mut |input| found = found || self.reads_all_of(input, table));
                found
            }
        }
    }

    /// Whether MySQL has a range of an index of `table` for the condition although this server reads none: `<>`, NOT
    /// IN, user variables and subqueries that depend on nothing, compared with the column that begins the index.
    fn names_key(&self, condition: &Expr, columns: &[ColumnId], table: TableIndex) -> bool {
        let is_key = |expr: &Expr| {
            self.origin(expr, columns).is_some_and(|(of, ordinal)| {
                let definition = &self.tables[of.0 as usize].entry.definition;
                let begins =
                    |index: &catalog::IndexDefinition| index.visible && index.parts[0].column == ordinal;
                of == table && definition.indexes.iter().any(begins)
            })
        };
        let is_computed = |expr: &Expr| match &expr.kind {
            ExprKind::UserVar(_) => true,
            ExprKind::Input(_) => self.origin(expr, columns).is_none(),
            _ => false,
        };
        let is_literal = |expr: &Expr| matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Param(_));
        // A text column compared with a number is converted: no index serves that.
        let fits = |key: &Expr, other: &Expr| !key.data_type.is_string() || other.data_type.is_string();
        let ExprKind::Call { function, args, .. } = &condition.kind else { return false };
        match (function, args.as_slice()) {
            (FunctionId::And, parts) => parts.iter().any(|part| self.names_key(part, columns, table)),
            (FunctionId::Not, [Expr { kind: ExprKind::InList { expr, list }, .. }]) => {
                is_key(expr) && list.iter().all(|value| is_literal(value) && fits(expr, value))
            }
            (FunctionId::Ne, [left, right]) => {
                [(left, right), (right, left)].into_iter().any(|(key, other)| {
                    is_key(key) && (is_literal(other) || is_computed(other)) && fits(key, other)
                })
            }
            (
                FunctionId::Eq
                | FunctionId::NullSafeEq
                | FunctionId::Lt
                | FunctionId::Le
                | FunctionId::Gt
                | FunctionId::Ge,
                [left, right],
            ) => [(left, right), (right, left)]
                .into_iter()
                .any(|(key, other)| is_key(key) && is_computed(other) && fits(key, other)),
            _ => false,
        }
    }

    /// The table and ordinal of the column that an expression over a node's rows is.
    fn origin(&self, expr: &Expr, columns: &[ColumnId]) -> Option<(TableIndex, usize)> {
        let ExprKind::Input(position) = expr.kind else { return None };
        let id = columns.get(position as usize)?;
        let (table, ordinal) = self.columns.get(id.0 as usize)?.origin?;
        Some((table, ordinal as usize))
    }
}
