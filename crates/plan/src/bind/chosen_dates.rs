//! Dates that are chosen of several, where they are compared with dates, and bounds that a column of dates keeps.

use types::data_type::FRACTION_DIGITS_MAX;
use types::temporal::DateTime;
use types::{DataType, TypeKind, Value};

use crate::expr::{CallOption, Expr, ExprKind};
use crate::function::{self, FunctionId};

/// A chosen date that is compared with a date has none that the session's mode refuses. That is part of the value that is compared, for
/// joins and indexes to find what conditions find.
pub(super) fn check(function: FunctionId, args: &mut [Expr]) {
    if !function.is_comparison_operator() {
        return;
    }
    if let [left, right] = args {
        let of_left = left.data_type.clone();
        check_one(left, &right.data_type);
        check_one(right, &of_left);
    }
}

fn check_one(date: &mut Expr, other: &DataType) {
    if !other.has_date() {
        return;
    }
    if date.is_checked_beside(other) {
        *date = checked(std::mem::replace(date, Expr::null()));
    } else if !date.nullable && date.data_type.has_date() && !(is_day(&date.data_type) && is_day(other)) {
        check_each(date);
    }
}

/// MIN and MAX pass over the dates that the session's mode refuses, where such dates with times of day are chosen.
pub(super) fn check_extreme(arg: &mut Expr) {
    if arg.is_checked_beside(&DataType::datetime(FRACTION_DIGITS_MAX)) && !is_day(&arg.data_type) {
        let data_type = arg.data_type.clone();
        *arg = Expr { data_type, ..checked(std::mem::replace(arg, Expr::null())) };
    }
}

fn is_day(data_type: &DataType) -> bool {
    data_type.kind == TypeKind::Date
}

fn checked(date: Expr) -> Expr {
    let kind = ExprKind::Call { function: FunctionId::Cast, args: vec![date], option: CallOption::Checked };
    Expr::new(kind, DataType::datetime(FRACTION_DIGITS_MAX), true)
}

/// COALESCE that is never NULL passes over dates that the mode refuses; it is the zero date where it refuses all.
fn check_each(date: &mut Expr) {
    let ExprKind::Call { function: FunctionId::Coalesce | FunctionId::IfNull, args, .. } = &mut date.kind
    else {
        return;
    };
    let mut dates: Vec<Expr> = std::mem::take(args).into_iter().map(checked).collect();
    dates.push(Expr::literal(Value::DateTime(DateTime::ZERO)));
    let kind = ExprKind::Call { function: FunctionId::Coalesce, args: dates, option: CallOption::None };
    *date = Expr::new(kind, DataType::datetime(FRACTION_DIGITS_MAX), false);
}

/// BETWEEN of a column of dates or times and numbers of rows: the text that a subquery gives is a constant, which the column would keep as a
/// date or time.
pub(super) fn keep_bounds(function: FunctionId, args: &mut [Expr]) {
    if function != FunctionId::Between || !args.iter().any(|arg| arg.data_type.is_numeric()) {
        return;
    }
    let [value, bounds @ ..] = args else { return };
    if !matches!(value.kind, ExprKind::Column(_)) || !value.data_type.is_temporal() {
        return;
    }
    for bound in bounds {
        if let ExprKind::Subquery(subquery) = &bound.kind
            && subquery.outer.is_empty()
            && bound.data_type.is_string()
        {
            *bound = function::cast(std::mem::replace(bound, Expr::null()), value.data_type.clone());
        }
    }
}
