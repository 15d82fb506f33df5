//! What stands left of a subquery in IN and beside ANY and ALL, as MySQL compares it with the subquery's rows.

use syntax::ast::{GroupingKind, QueryBody, TableRef};
use types::{DataType, TypeKind};

use crate::expr::{CallOption, Expr, ExprKind};
use crate::function;
use crate::logical::Logical;

/// How MySQL compares what stands left of a subquery with its rows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LeftSide {
    /// Compared with one row.
    Row,
    /// As above in a condition for which NULL is as good as false: by `=`, nothing is compared behind a NULL.
    RowOfConjunct,
    /// The subquery is joined where it can be: a literal of bytes is a number beside numbers.
    Joined,
    /// Stored and compared row by row: it is a text.
    Stored,
    /// Compared with the least or greatest value if that is all that counts.
    Bound,
}

/// What decides whether the left side is stored.
#[derive(Debug)]
pub(super) struct StoredLeft {
    pub(super) side: LeftSide,
    /// The subquery is its one value, see [`is_one_row`].
    pub(super) is_one_row: bool,
    /// As above, after conditions that are constants: a member is compared with the value.
    pub(super) is_one_value: bool,
    /// See [`may_be_joined`].
    pub(super) is_joined: bool,
    /// See [`may_be_materialized`].
    pub(super) is_materialized: bool,
    /// Several values are compared.
    pub(super) is_row: bool,
    /// It stands in a select list, not in a condition.
    pub(super) is_outside_conditions: bool,
    /// It stands where a join can be made of the subquery: not in HAVING.
    pub(super) is_joined_to: bool,
    /// The subquery reads columns of the queries around it.
    pub(super) reads_outer: bool,
}

impl StoredLeft {
    /// Whether a parameter takes no type from the subquery's rows: MySQL gives it one only where it makes a comparison of values of
    /// the subquery before the first execution, as joins, single values and extremes are.
    pub(super) fn keeps_parameter(&self) -> bool {
        match self.side {
            LeftSide::Row | LeftSide::RowOfConjunct => false,
            LeftSide::Joined => !(self.is_one_row || self.is_joined && self.is_joined_to),
            LeftSide::Stored => !self.is_one_row,
            LeftSide::Bound => self.is_outside_conditions || self.reads_outer,
        }
    }

    /// A stored literal of bytes is a text, read as a number without a warning; and so is a stored member of ENUM or
    /// SET: beside numbers it is the number that its text begins with, and not that of its place. A member is its place where MySQL may
    /// store the subquery's rows: whether it does depends on its estimates of costs, and rows must not.
    pub(super) fn store(&self, left: &mut Expr, right: &Expr) {
        let text = if left.data_type.is_hex_literal() && matches!(left.kind, ExprKind::Literal(_)) {
            DataType::text(TypeKind::Text, left.data_type.collation)
        } else if left.data_type.members.is_some() && right.data_type.is_numeric() {
            DataType::text(TypeKind::LongText, left.data_type.collation)
        } else {
            return;
        };
        let is_member = left.data_type.members.is_some();
        // A row is compared with one row as with others, and a member with an extreme of one row.
        let is_value = match is_member {
            true => self.is_one_value && !self.is_row && self.side != LeftSide::Bound,
            false => self.is_one_row,
        };
        let is_stored = match self.side {
            LeftSide::Row | LeftSide::RowOfConjunct => false,
            LeftSide::Joined | LeftSide::Stored if is_member && self.is_materialized => false,
            LeftSide::Joined => !is_value && !self.is_joined,
            LeftSide::Stored => !is_value,
            LeftSide::Bound => !is_value && (self.is_outside_conditions || self.reads_outer),
        };
        if is_stored {
            *left = function::cast(std::mem::replace(left, Expr::null()), text);
            if let ExprKind::Call { option, .. } = &mut left.kind {
                *option = CallOption::Stored;
            }
        }
    }
}

/// A query without FROM that always has its row: MySQL takes it for its value.
pub(super) fn is_one_row(plan: &Logical) -> bool {
    match plan {
        Logical::OneRow => true,
        Logical::Project { input, .. } | Logical::Sort { input, .. } => is_one_row(input),
        _ => false,
    }
}

/// A query without FROM and HAVING whose row no column or random number decides on, or one row of VALUES.
pub(super) fn is_one_value(body: &QueryBody<'_>, plan: &Logical) -> bool {
    match body {
        QueryBody::Nested(query) => return is_one_value(&query.body, plan),
        QueryBody::Select(select) if select.having.is_some() => return is_one_row(plan),
        _ => {}
    }
    let mut tree = plan;
    loop {
        tree = match tree {
            Logical::Project { input, .. } | Logical::Sort { input, .. } => input,
            Logical::Filter { input, conditions } if conditions.iter().all(Expr::is_constant) => input,
            Logical::Values { rows, .. } => return rows.len() == 1,
            other => return matches!(other, Logical::OneRow),
        };
    }
}

/// MySQL may store the rows of one SELECT from tables that reads no columns of the queries around it, and look the left side of IN up there.
pub(super) fn may_be_materialized(body: &QueryBody<'_>) -> bool {
    match body {
        QueryBody::Select(select) => !select.from.is_empty(),
        QueryBody::Nested(query) => may_be_materialized(&query.body),
        QueryBody::Table(_) => true,
        QueryBody::Values(_) | QueryBody::SetOp { .. } => false,
    }
}

/// MySQL makes a join of a subquery in WHERE that is one SELECT from tables without HAVING and aggregates. GROUP BY alone it leaves out.
pub(super) fn may_be_joined(body: &QueryBody<'_>, plan: &Logical) -> bool {
    let select = match body {
        QueryBody::Select(select) => select,
        QueryBody::Nested(query) => return may_be_joined(&query.body, plan),
        QueryBody::Table(_) => return true,
        QueryBody::Values(_) | QueryBody::SetOp { .. } => return false,
    };
    if select.from.is_empty() || select.having.is_some() || select.grouping != GroupingKind::Plain {
        return false;
    }
    let mut tree = plan;
    while let Logical::Project { input, .. }
    | Logical::Sort { input, .. }
    | Logical::Distinct { input, .. }
    | Logical::Limit { input, .. } = tree
    {
        tree = input;
    }
    // What is below may be the group of a derived table.
    let is_own = !select.group_by.is_empty() || !matches!(select.from, [TableRef::Derived { .. }]);
    match tree {
        Logical::Aggregate { calls, keys, .. } if is_own => calls.is_empty() && !keys.is_empty(),
        _ => true,
    }
}
