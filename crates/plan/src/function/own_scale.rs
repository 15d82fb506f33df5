//! Decimals that a choice gives as they are.
//!
//! IF and CASE have one DECIMAL type, to whose scale each arm is cast. In MySQL the chosen value gets that scale where it is
//! computed with or stored; where it is shown or becomes a text it is still the arm's own.

use super::FunctionId;
use super::shape::integer_digits;
use crate::expr::{CallOption, Expr, ExprKind, SubqueryKind};
use crate::logical::Logical;
use types::data_type::{FRACTION_DIGITS_MAX, SCALE_NOT_FIXED};
use types::{DataType, TypeKind};

/// Takes the casts to a common scale away from the decimal that is shown or becomes a text.
pub(crate) fn keep_own_scale(expr: &mut Expr) {
    let is_decimal = expr.data_type.kind == TypeKind::Decimal;
    let is_text = expr.data_type.is_string();
    let is_document = expr.data_type.kind == TypeKind::Json;
    match &mut expr.kind {
        ExprKind::Param(_) if is_decimal => expr.data_type.scale = SCALE_NOT_FIXED,
        ExprKind::Case { whens, otherwise } if is_decimal => {
            let values = whens.iter_mut().map(|(_, then)| then).chain(otherwise.as_deref_mut());
            values.for_each(uncast);
        }
        ExprKind::Case { whens, otherwise } if is_text => {
            let values = whens.iter_mut().map(|(_, then)| then).chain(otherwise.as_deref_mut());
            values.for_each(keep_own_scale);
        }
        ExprKind::Subquery(subquery) if is_decimal && matches!(subquery.kind, SubqueryKind::Scalar) => {
            keep_in_one_row(&mut subquery.plan);
        }
        ExprKind::Call { function: FunctionId::If, args, .. } if is_decimal => {
            args[1..].iter_mut().for_each(uncast);
        }
        // What is compared is the same with any scale.
        ExprKind::Call { function: FunctionId::NullIf, args, .. } if is_decimal || is_text => {
            keep_own_scale(&mut args[0]);
        }
        ExprKind::Call {
            function: FunctionId::Cast,
            args,
            option: CallOption::None | CallOption::Common,
        } if is_text || is_document => {
            args.iter_mut().for_each(keep_own_scale);
        }
        _ => {}
    }
}

/// As [`keep_own_scale`], of a value of a document: there what COALESCE, GREATEST and their like give has its own scale, too.
pub(crate) fn keep_document_scale(expr: &mut Expr) {
    use FunctionId as F;
    if let ExprKind::Call { function: F::Add | F::Sub | F::Mul | F::Mod | F::Neg | F::Abs, .. } = &expr.kind
        && has_own_digits(expr)
    {
        return keep_own_digits(expr);
    }
    match &mut expr.kind {
        // Six digits, or none where they are zeros; a quotient of parameters those that it was computed with.
        ExprKind::Call { function: F::UnixTimestamp, .. }
        | ExprKind::Call { function: F::Div, option: CallOption::Number(_), .. }
            if expr.data_type.kind == TypeKind::Decimal =>
        {
            expr.data_type.scale = SCALE_NOT_FIXED;
        }
        ExprKind::Call {
            function: FunctionId::IfNull | FunctionId::Coalesce | FunctionId::Greatest | FunctionId::Least,
            args,
            ..
        } if expr.data_type.kind == TypeKind::Decimal => {
            args.iter_mut().for_each(uncast);
        }
        _ => keep_own_scale(expr),
    }
}

/// Digits of the fraction of a text that a set operation stores.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StoredDigits {
    /// Those of the value's type.
    OfType,
    /// Six, or none where they are zeros: a parameter that is a TIME, UNIX_TIMESTAMP of a parameter or of six digits.
    SixOrNone,
    /// None: a parameter that is a DATETIME.
    None,
    /// Six or none, of a text that is cut off at these characters: UNIX_TIMESTAMP of fewer digits.
    Within(u32),
}

/// Characters of UNIX_TIMESTAMP beside the digits of its fraction: eleven digits, a sign and a point.
const UNIX_TIMESTAMP_CHARS: u32 = 13;

/// The same for a value that a set operation stores as a text: COALESCE and its like have a common scale where they are shown, but
/// not there.
pub(crate) fn keep_stored_scale(expr: &mut Expr) -> StoredDigits {
    use FunctionId as F;
    match &mut expr.kind {
        ExprKind::Param(_) => {
            keep_own_scale(expr);
            match expr.data_type.kind {
                TypeKind::Time => StoredDigits::SixOrNone,
                TypeKind::DateTime => StoredDigits::None,
                _ => StoredDigits::OfType,
            }
        }
        ExprKind::Call { function: F::UnixTimestamp, args, .. }
            if expr.data_type.scale == FRACTION_DIGITS_MAX
                || args.iter().any(|arg| matches!(arg.kind, ExprKind::Param(_))) =>
        {
            StoredDigits::SixOrNone
        }
        ExprKind::Call { function: F::UnixTimestamp, .. } if expr.data_type.kind == TypeKind::Decimal => {
            let chars = UNIX_TIMESTAMP_CHARS + u32::from(expr.data_type.scale);
            expr.data_type.scale = SCALE_NOT_FIXED;
            StoredDigits::Within(chars)
        }
        // A DOUBLE is stored with all its digits.
        ExprKind::Call { function: F::Pi, .. } => {
            expr.data_type.scale = SCALE_NOT_FIXED;
            StoredDigits::OfType
        }
        ExprKind::Call { function: F::IfNull | F::Coalesce | F::Greatest | F::Least, args, .. }
            if expr.data_type.kind == TypeKind::Decimal =>
        {
            args.iter_mut().for_each(uncast);
            StoredDigits::OfType
        }
        ExprKind::Call { function: F::If, args, .. } if expr.data_type.kind == TypeKind::Decimal => {
            args[1..].iter_mut().for_each(uncast);
            stored_digits_of(&mut args[1..], expr.data_type.scale)
        }
        _ => {
            keep_own_scale(expr);
            StoredDigits::OfType
        }
    }
}

/// The digits of what is chosen among values: all that UNIX_TIMESTAMP has.
fn stored_digits_of(values: &mut [Expr], scale: u8) -> StoredDigits {
    let mut digits = StoredDigits::OfType;
    for value in values {
        let is_decimal = value.data_type.kind == TypeKind::Decimal;
        if matches!(value.kind, ExprKind::Call { function: FunctionId::UnixTimestamp, .. }) && is_decimal {
            value.data_type.scale = SCALE_NOT_FIXED;
            digits = StoredDigits::Within(UNIX_TIMESTAMP_CHARS + u32::from(scale));
        }
    }
    digits
}

/// `(SELECT value)` is the value.
fn keep_in_one_row(plan: &mut Logical) {
    if let Logical::Project { input, items } = plan
        && matches!(**input, Logical::OneRow)
    {
        items.iter_mut().for_each(|(_, item)| keep_own_scale(item));
    }
}

/// NULLIF of a parameter that is a DECIMAL shows the digits that were sent, but has all of its type where it is computed with, kept or chosen.
pub(crate) fn keep_all_digits(expr: &mut Expr) {
    if let ExprKind::Call { function: FunctionId::NullIf, args, .. } = &expr.kind
        && expr.data_type.kind == TypeKind::Decimal
        && matches!(args[0].kind, ExprKind::Param(_))
        && args[0].data_type.scale == SCALE_NOT_FIXED
    {
        let all = expr.data_type.clone();
        let mut shown = std::mem::replace(expr, Expr::null());
        shown.data_type.scale = SCALE_NOT_FIXED;
        *expr = super::cast(shown, all);
    }
}

/// Whether a parameter among decimals has as many digits as the client sends.
pub(super) fn has_own_digits(expr: &Expr) -> bool {
    expr.data_type.kind == TypeKind::Decimal && {
        crate::progress::step();
        expr.any(&mut |node| {
            matches!(node.kind, ExprKind::Param(_)) && node.data_type.kind == TypeKind::Decimal
        })
    }
}

/// The digits of a quotient are those of the values that are divided, not those of their types: a parameter has the scale that it is sent
/// with, and so has what is computed of it.
pub(super) fn keep_own_digits(expr: &mut Expr) {
    use FunctionId as F;
    if expr.data_type.kind != TypeKind::Decimal {
        return;
    }
    match &mut expr.kind {
        ExprKind::Call { function: F::Add | F::Sub | F::Mul | F::Mod | F::Neg | F::Abs, args, .. } => {
            args.iter_mut().for_each(keep_own_digits);
        }
        ExprKind::Call { function: F::IfNull | F::Coalesce, args, .. } => {
            args.iter_mut().for_each(uncast);
            args.iter_mut().for_each(keep_own_digits);
        }
        _ => keep_own_scale(expr),
    }
}

fn uncast(arm: &mut Expr) {
    let is_decimal = arm.data_type.kind == TypeKind::Decimal;
    // A CAST that the statement writes stays.
    if let ExprKind::Call { function: FunctionId::Cast, args, option: CallOption::Common } = &mut arm.kind
        && is_decimal
    {
        let of = &args[0].data_type;
        if of.kind == TypeKind::Decimal {
            *arm = args.swap_remove(0);
        } else if of.is_integer() {
            arm.data_type = DataType::decimal(integer_digits(of), 0);
        }
    }
    keep_own_scale(arm);
}
