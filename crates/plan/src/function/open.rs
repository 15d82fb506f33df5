//! Calls of parameters alone. Such a call has no type of its own: as a parameter it takes the type of what stands beside it, and hands
//! it to its operands. Until then it has the type that it would have by itself.

use super::parameter::{is_untyped, set_type};
use super::{FunctionId, TypeContext};
use crate::error::PlanResult;
use crate::expr::{Expr, ExprKind};
use types::DataType;

/// The first operand to which a function hands the type that it gets.
fn first_operand(function: FunctionId) -> Option<usize> {
    use FunctionId as F;
    match function {
        F::Abs | F::Neg | F::Ceil | F::Floor => Some(0),
        F::Add | F::Sub | F::Mul | F::Div | F::Mod => Some(0),
        F::Coalesce | F::IfNull | F::NullIf | F::Greatest | F::Least | F::AnyValue => Some(0),
        F::If => Some(1),
        _ => None,
    }
}

/// A call that gives one of its operands.
pub(super) fn is_choice(expr: &Expr) -> bool {
    use FunctionId as F;
    match &expr.kind {
        ExprKind::Case { .. } => true,
        ExprKind::Call { function, .. } => {
            matches!(function, F::Coalesce | F::IfNull | F::NullIf | F::Greatest | F::Least | F::If)
        }
        _ => false,
    }
}

/// A parameter without a type, or one with that which ABS and its like give it where nothing else does.
fn is_open_parameter(expr: &Expr, context: &TypeContext) -> bool {
    // What is bound again has a type of its own.
    let is_double = !context.binds_again && expr.data_type == DataType::DOUBLE;
    is_untyped(expr, context) || is_double && matches!(expr.kind, ExprKind::Param(_))
}

/// A call whose type is open.
pub(super) fn is_open(expr: &Expr, context: &TypeContext) -> bool {
    crate::progress::step();
    let mut is_first = true;
    let mut is_open_operand = |operand: &Expr| {
        is_first = false;
        is_open_parameter(operand, context) || is_open(operand, context)
    };
    let are_open = match &expr.kind {
        ExprKind::Call { function, args, .. } => match first_operand(*function) {
            // The last first: sums are long on their left side.
            Some(first) => args[first..].iter().rev().all(&mut is_open_operand),
            None => return false,
        },
        ExprKind::Case { whens, otherwise } => {
            otherwise.iter().all(|value| is_open_operand(value))
                && whens.iter().all(|(_, value)| is_open_operand(value))
        }
        _ => return false,
    };
    are_open && !is_first
}

/// The same call with this type for its parameters.
///
/// # Errors
/// Those of making the call.
pub(super) fn with_type(expr: Expr, data_type: &DataType, context: &TypeContext) -> PlanResult<Expr> {
    crate::progress::step();
    match expr.kind {
        // A quotient of integers is none.
        ExprKind::Call { function: FunctionId::Div, .. } if data_type.is_integer() => Ok(expr),
        ExprKind::Call { function, args, option } => {
            let first = first_operand(function).unwrap_or(args.len());
            let given = |(at, arg): (usize, Expr)| {
                if at < first { Ok(arg) } else { with_type(arg, data_type, context) }
            };
            let args = args.into_iter().enumerate().map(given).collect::<PlanResult<Vec<Expr>>>()?;
            super::build(function, args, option, context)
        }
        ExprKind::Case { whens, otherwise } => {
            let given = |(when, then): (Expr, Expr)| Ok((when, with_type(then, data_type, context)?));
            let whens = whens.into_iter().map(given).collect::<PlanResult<Vec<(Expr, Expr)>>>()?;
            let otherwise = otherwise.map(|value| with_type(*value, data_type, context)).transpose()?;
            super::case(whens, otherwise, context)
        }
        _ => {
            let mut expr = expr;
            set_type(&mut expr, data_type.clone());
            Ok(expr)
        }
    }
}

/// Calls `visit` with every parameter of such a call.
pub(crate) fn each_parameter(expr: &Expr, visit: &mut dyn FnMut(u32, &DataType)) {
    match &expr.kind {
        ExprKind::Param(ordinal) => visit(*ordinal, &expr.data_type),
        ExprKind::Call { function, args, .. } => {
            let first = first_operand(*function).unwrap_or(args.len());
            args[first..].iter().for_each(|arg| each_parameter(arg, visit));
        }
        ExprKind::Case { whens, otherwise } => {
            let values = whens.iter().map(|(_, then)| then).chain(otherwise.as_deref());
            values.for_each(|value| each_parameter(value, visit));
        }
        _ => {}
    }
}
