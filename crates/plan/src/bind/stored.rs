//! Values on their way into columns of another type, as far as MySQL's way depends on the expression.
//!
//! A column, a literal and a function of dates give a column the date they are: `20200102` for a number. Of everything else that
//! may be a date, CASE and COALESCE, a user variable, a subquery, MAX of all rows, a column of another type gets the text: `2020`, with a
//! warning that the rest is cut off. A sort keeps the values that it sorts by likewise.

use catalog::TableDefinition;
use types::{CollationId, DataType, TypeKind};

use super::Binder;
use crate::expr::{CallOption, ColumnId, Expr, ExprKind};
use crate::function::{self, FunctionId as F};
use crate::logical::{AggregateCall, AggregateFunction, InsertRows, Logical};

/// Characters of the longest text of a date: `-838:59:59.000000` is shorter.
const DATE_TEXT_CHARS: u32 = 26;

/// The value as a column of type `to` is given it: a text of a decimal has the digits of the value chosen.
pub(super) fn given(mut expr: Expr, to: &DataType) -> Expr {
    if to.is_string() && expr.data_type.kind == TypeKind::Decimal {
        function::keep_stored_scale(&mut expr);
    }
    if is_year_for_chars(&expr, to) {
        return function::cast(expr, DataType::BIGINT);
    }
    if differs(&expr.data_type, to) && is_general(&expr) { as_text(expr) } else { expr }
}

/// A YEAR column gives a CHAR or VARCHAR the number that it is: `0` for 0000.
fn is_year_for_chars(expr: &Expr, to: &DataType) -> bool {
    expr.data_type.kind == TypeKind::Year
        && matches!(to.kind, TypeKind::Char | TypeKind::VarChar)
        && expr.as_column().is_some()
}

/// A value of a member of a set operation, in the column of times and dates that all members share: of a TIME that such an expression
/// computes its text, read as a date.
pub(super) fn in_set(expr: Expr, member: &Logical, to: &DataType) -> Expr {
    let is_by_text = expr.data_type.kind == TypeKind::Time
        && to.has_date()
        && expr.as_column().is_some_and(|id| computes_general(member, id));
    if !is_by_text {
        return function::cast(expr, to.clone());
    }
    let mut cast = function::cast(as_text(expr), to.clone());
    if let ExprKind::Call { option, .. } = &mut cast.kind {
        *option = CallOption::Stored;
    }
    cast
}

fn as_text(expr: Expr) -> Expr {
    function::cast(expr, DataType::varchar(DATE_TEXT_CHARS, CollationId::UTF8MB4_GENERAL_CI))
}

/// Whether a column's date and its text are stored in different ways.
fn differs(from: &DataType, to: &DataType) -> bool {
    let both_have_time =
        from.has_date() && from.kind != TypeKind::Date && to.has_date() && to.kind != TypeKind::Date;
    from.is_temporal()
        && (to.is_numeric() || to.kind == TypeKind::Year || to.is_temporal())
        && from.kind != to.kind
        && !both_have_time
}

/// An expression that may be of any type, and is a date by its arguments.
fn is_general(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Case { .. } | ExprKind::UserVar(_) | ExprKind::UserVarAssign { .. } => true,
        ExprKind::Subquery(subquery) => match &subquery.plan {
            // `(SELECT value)` is the value.
            Logical::Project { input, items } if matches!(**input, Logical::OneRow) => {
                items.iter().any(|(_, item)| is_general(item))
            }
            _ => true,
        },
        ExprKind::Call { function, .. } => matches!(
            function,
            F::If | F::IfNull | F::Coalesce | F::NullIf | F::Greatest | F::Least | F::AnyValue
        ),
        _ => false,
    }
}

/// Whether the query computes the column by such an expression. What it groups or makes different lies in columns.
fn computes_general(tree: &Logical, wanted: ColumnId) -> bool {
    match tree {
        Logical::Sort { input, .. } | Logical::Limit { input, .. } | Logical::Filter { input, .. } => {
            computes_general(input, wanted)
        }
        Logical::Project { input, items } => match items.iter().find(|(id, _)| *id == wanted) {
            Some((_, expr)) => match expr.kind {
                ExprKind::Column(id) => computes_general(input, id),
                _ => is_general(expr),
            },
            None => computes_general(input, wanted),
        },
        Logical::Aggregate { keys, calls, .. } if keys.is_empty() => calls.iter().any(|(id, call)| {
            *id == wanted && matches!(call.function, AggregateFunction::Min | AggregateFunction::Max)
        }),
        _ => false,
    }
}

/// A key of ORDER BY as MySQL sorts by it. A member of ENUM or SET that such an expression gives is sorted by its text; a column, MIN, MAX
/// and a subquery give its place, but MIN and MAX of such an expression its text. `item` finds what computes a column, `rows` are those that are sorted.
pub(super) fn sorted<'t>(key: Expr, item: impl Fn(ColumnId) -> Option<&'t Expr>, rows: &'t Logical) -> Expr {
    let of = &key.data_type;
    let is_by_text = matches!(of.kind, TypeKind::Enum | TypeKind::Set)
        && match key.kind {
            ExprKind::Column(id) => match item(id) {
                Some(item) => gives_text(item, rows),
                None => column_gives_text(rows, id),
            },
            _ => gives_text(&key, rows),
        };
    let text = DataType::char(of.length, of.collation);
    if is_by_text { function::cast(key, text) } else { key }
}

fn gives_text(member: &Expr, rows: &Logical) -> bool {
    match member.kind {
        ExprKind::Column(id) => column_gives_text(rows, id),
        ExprKind::Subquery(_) => false,
        _ => is_general(member),
    }
}

fn column_gives_text(rows: &Logical, wanted: ColumnId) -> bool {
    crate::progress::step();
    let find = |items: &[(ColumnId, Expr)], input: &Logical| match items.iter().find(|(id, _)| *id == wanted)
    {
        Some((_, item)) => gives_text(item, input),
        None => column_gives_text(input, wanted),
    };
    match rows {
        Logical::Sort { input, .. }
        | Logical::Limit { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Distinct { input, .. } => column_gives_text(input, wanted),
        Logical::Join { left, right, .. } => {
            column_gives_text(left, wanted) || column_gives_text(right, wanted)
        }
        Logical::Project { input, items } => find(items, input),
        Logical::Aggregate { input, keys, calls, .. } => match calls.iter().find(|(id, _)| *id == wanted) {
            Some((_, call)) => gives_text_of_group(call),
            None => find(keys, input),
        },
        _ => false,
    }
}

/// MIN and MAX of what such an expression gives are texts; of a column they are members.
fn gives_text_of_group(call: &AggregateCall) -> bool {
    matches!(call.function, AggregateFunction::Min | AggregateFunction::Max)
        && call.args.first().is_some_and(is_general)
}

impl Binder<'_> {
    /// Gives the columns with these ordinals what the query of an INSERT gives them.
    pub(super) fn add_columns(&mut self, rows: &mut InsertRows, table: &TableDefinition, columns: &[usize]) {
        let InsertRows::Query(tree, ids) = rows else { return };
        // Rows that wait until all are read lie in columns.
        if self.tables.iter().skip(1).any(|other| other.entry.definition.id == table.id) {
            return;
        }
        let mut items = Vec::new();
        for (id, &ordinal) in ids.iter_mut().zip(columns) {
            let to = &table.columns[ordinal].data_type;
            let value = self.column_expr(*id);
            let is_year = is_year_for_chars(&value, to);
            if is_year || differs(&value.data_type, to) && computes_general(tree, *id) {
                let text = if is_year { function::cast(value, DataType::BIGINT) } else { as_text(value) };
                let name = self.columns[id.0 as usize].name.clone();
                *id = self.new_column(&name, text.data_type.clone(), true);
                items.push((*id, text));
            }
        }
        if !items.is_empty() {
            let input = std::mem::replace(&mut **tree, Logical::OneRow);
            **tree = Logical::Project { input: Box::new(input), items };
        }
    }
}
