//! Types of parameters that the function around them or an operand beside them fixes, as MySQL does when it prepares a statement.
//!
//! A number keeps the type the client sent it with (a DECIMAL always has 30 digits of its fraction), except that
//! functions of doubles take it as a DOUBLE and that it is a DECIMAL beside one.

use super::{FunctionId, TypeContext};
use crate::expr::{Expr, ExprKind};
use types::data_type::{DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX};
use types::{DataType, TypeKind};

fn is_number(expr: &Expr) -> bool {
    let data_type = &expr.data_type;
    matches!(expr.kind, ExprKind::Param(_)) && (data_type.is_integer() || data_type.kind == TypeKind::Decimal)
}

fn widest_decimal() -> DataType {
    DataType::decimal(DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX)
}

/// Fixes the types of parameters among a call's arguments.
pub(super) fn fix(function: FunctionId, args: &mut [Expr], context: &TypeContext) {
    use FunctionId as F;
    if !context.fixes_parameters {
        return;
    }
    match function {
        F::Neg | F::Abs => fix_double(args, context),
        F::Round | F::Truncate => {
            let rounded = args.first_mut().filter(|arg| is_number(arg));
            rounded.into_iter().for_each(|arg| arg.data_type = widest_decimal());
        }
        F::Add | F::Sub | F::Mul | F::Div | F::Mod if args.iter().all(is_number) => fix_double(args, context),
        F::Add
        | F::Sub
        | F::Mul
        | F::Div
        | F::Mod
        | F::If
        | F::IfNull
        | F::Coalesce
        | F::Greatest
        | F::Least => {
            let first = usize::from(function == F::If);
            fix_beside(&mut args[first..], context);
        }
        _ => {}
    }
}

/// Numbers that a function takes as doubles.
pub(crate) fn fix_double(args: &mut [Expr], context: &TypeContext) {
    if context.fixes_parameters {
        args.iter_mut().filter(|arg| is_number(arg)).for_each(|arg| arg.data_type = DataType::DOUBLE);
    }
}

/// Numbers beside a DECIMAL.
pub(super) fn fix_beside(args: &mut [Expr], context: &TypeContext) {
    if context.fixes_parameters && args.iter().any(|arg| arg.data_type.kind == TypeKind::Decimal) {
        args.iter_mut().filter(|arg| is_number(arg)).for_each(|arg| arg.data_type = widest_decimal());
    }
}
