//! The one type of several values: arms of CASE and its like, columns of UNION, cells of VALUES.

use super::collate::{self, Purpose};
use super::infer::{Typed, computed};
use super::shape::{
    Numeric, decimal, fixed_scale, integer_digits, numeric, scale, string_type, text_chars, whole_chars,
};
use super::{FunctionId, TypeContext, parameter};
use crate::error::{PlanError, PlanResult};
use crate::expr::{CallOption, Coercibility, Expr, ExprKind};
use types::data_type::SCALE_NOT_FIXED;
use types::{CollationId, DataType, TypeKind, Value};

/// Brings the arms of a choice to one type; see [`super::case`].
pub(super) fn infer_arms(arms: &mut [Expr], operation: &str, context: &TypeContext) -> PlanResult<Typed> {
    let nullable = arms.iter().any(|arg| arg.nullable);
    let longest = parameter::untyped(context.connection_collation);
    let mut data_type = merge_all(arms.iter().map(|arm| match parameter::is_unfit(arm, context) {
        true => &longest,
        false => &arm.data_type,
    }));
    let mut coercibility = Coercibility::Numeric;
    if data_type.is_string() {
        let widths = parameter::widths(arms, context);
        let is_of_unfit = arms.iter().any(|arm| parameter::is_unfit(arm, context));
        let (collation, strength) = collate::aggregate(arms, operation, context, Purpose::Build)?;
        coercibility = strength;
        let chars = widths.iter().map(|width| width.chars_in(collation)).max().unwrap_or(0);
        data_type = match data_type.kind {
            TypeKind::Char => DataType::char(chars, collation),
            TypeKind::VarChar if is_of_unfit => DataType::varchar(chars, collation),
            TypeKind::VarChar => string_type(chars, collation),
            _ => {
                let bytes = chars.saturating_mul(collation.charset().max_bytes_per_char() as u32);
                DataType { collation, length: bytes, ..data_type }
            }
        };
    } else if data_type.kind == TypeKind::Null {
        coercibility = Coercibility::Ignorable;
    } else if matches!(data_type.kind, TypeKind::Enum | TypeKind::Set) {
        // A member is a text where it is compared.
        let members = arms.iter().filter(|arm| arm.data_type.kind == data_type.kind);
        coercibility = members.map(|arm| arm.coercibility).min().unwrap_or(coercibility);
    } else if arms.len() > 1 && arms.iter().any(|arm| arm.data_type.kind == TypeKind::Null) {
        data_type = beside_null(data_type);
    }
    data_type = computed(&data_type);
    for arm in arms.iter_mut() {
        convert_arm(arm, &data_type);
    }
    Ok(Typed { data_type, nullable, coercibility })
}

/// The type of a value of a row, or of what stands for it; brings both to it.
///
/// # Errors
/// 1267 for texts of different collations.
pub(crate) fn one_type(values: &mut [Expr], operation: &str, context: &TypeContext) -> PlanResult<Typed> {
    let coercibility = values.iter().map(|value| value.coercibility).min();
    let typed = infer_arms(values, operation, context)?;
    Ok(Typed {
        coercibility: coercibility.filter(|_| values.len() == 1).unwrap_or(typed.coercibility),
        ..typed
    })
}

/// Bytes of the longest BIT.
const BIT_CHARS: u32 = 8;

/// A number beside NULL: as wide as any of its kind, and signed.
pub(super) fn beside_null(data_type: DataType) -> DataType {
    match data_type.kind {
        TypeKind::Float | TypeKind::Double if fixed_scale(&data_type).is_none() => {
            DataType { scale: SCALE_NOT_FIXED, length: DataType::DOUBLE.length, ..data_type }
        }
        TypeKind::Decimal => DataType { unsigned: false, ..data_type },
        _ => data_type,
    }
}

/// The bytes of a BIT, read as latin1.
pub(crate) fn bits_as_characters(bits: Expr) -> Expr {
    let nullable = bits.nullable;
    let bytes = super::cast(bits, DataType::varchar(BIT_CHARS, CollationId::BINARY));
    let kind =
        ExprKind::Call { function: FunctionId::Cast, args: vec![bytes], option: CallOption::Characters };
    Expr::new(kind, DataType::varchar(BIT_CHARS, CollationId::LATIN1_SWEDISH_CI), nullable)
}

/// Converts one arm to the common type where the physical values would differ.
fn convert_arm(arm: &mut Expr, to: &DataType) {
    let from = &arm.data_type;
    if matches!(arm.kind, ExprKind::Literal(Value::Null)) {
        arm.data_type = to.clone();
        return;
    }
    let same = match to.kind {
        TypeKind::Decimal => from.kind == TypeKind::Decimal && from.scale == to.scale,
        TypeKind::Float | TypeKind::Double => matches!(from.kind, TypeKind::Float | TypeKind::Double),
        TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Date => from.has_date(),
        _ if to.is_integer() => from.is_integer(),
        _ if to.is_string() => from.is_string(),
        _ => from.kind == to.kind,
    };
    if !same {
        let mut inner = std::mem::replace(arm, Expr::null());
        // Bits of a column are bytes; those that IF or CASE gives are a text of bytes.
        let is_chosen = inner.data_type.kind == TypeKind::Bit && inner.as_column().is_none();
        if is_chosen && to.is_string() && !to.is_binary_string() {
            inner = bits_as_characters(inner);
        }
        // A value beside BINARY columns is not filled up with zero bytes.
        let is_binary = to.kind == TypeKind::Char && to.is_binary_string();
        let to = if is_binary { DataType { kind: TypeKind::VarChar, ..to.clone() } } else { to.clone() };
        *arm = super::cast(inner, to);
        if let ExprKind::Call { function: FunctionId::Cast, option: option @ CallOption::None, .. } =
            &mut arm.kind
        {
            *option = CallOption::Common;
        }
    }
}

/// The type that holds values of both, without regard to collations (MySQL's result type of UNION, CASE, COALESCE).
pub(super) fn merge(a: &DataType, b: &DataType) -> DataType {
    use TypeKind as K;
    if a.kind == K::Null {
        return b.clone();
    }
    if b.kind == K::Null {
        return a.clone();
    }
    let text = |kind: K| {
        let chars = text_chars(a).max(text_chars(b));
        let collation = if collate::is_text(a) { a.collation } else { b.collation };
        match kind {
            K::VarChar => string_type(chars, collation),
            K::Char => DataType::char(chars, collation),
            _ => {
                let largest = DataType::text(kind, collation);
                DataType { length: largest.length.max(a.length).max(b.length), ..largest }
            }
        }
    };
    if a.is_numeric() && b.is_numeric() {
        let class = numeric(a).max(numeric(b));
        return match class {
            Numeric::Double => {
                // Small integers fit a FLOAT's digits; of FLOAT and BIGINT MySQL takes the first one's side.
                let fits = |t: &DataType| t.is_integer() && !matches!(t.kind, K::Int | K::BigInt | K::Bit);
                let is_float = a.kind == K::Float && (b.kind == K::BigInt || b.kind == K::Float || fits(b))
                    || b.kind == K::Float && fits(a);
                let kind = if is_float { DataType::FLOAT } else { DataType::DOUBLE };
                // Digits that are fixed, as those of PI(), hold beside numbers that have theirs.
                match fixed_scale(a).zip(fixed_scale(b)) {
                    Some((of_a, of_b)) => {
                        let scale = of_a.max(of_b);
                        let length = whole_chars(a).max(whole_chars(b)) + scale;
                        DataType { scale: scale as u8, length, ..kind }
                    }
                    None => DataType { scale: SCALE_NOT_FIXED, length: DataType::DOUBLE.length, ..kind },
                }
            }
            Numeric::Decimal => decimal(integer_digits(a).max(integer_digits(b)), scale(a).max(scale(b))),
            Numeric::Int if a.kind == K::Bit && b.kind == K::Bit => DataType::bit(a.length.max(b.length)),
            Numeric::Int if a.kind == K::Year && b.kind == K::Year => {
                DataType { length: a.length.min(b.length), ..a.clone() }
            }
            Numeric::Int => {
                let bytes = |t: &DataType| match t.kind {
                    K::Year => 2,
                    K::Bit => 8,
                    _ => t.integer_bytes().unwrap_or(8),
                };
                // YEAR fits a SMALLINT.
                let is_year = [a, b].iter().any(|t| t.kind == K::Year);
                let needed = if a.unsigned == b.unsigned || is_year {
                    bytes(a).max(bytes(b))
                } else {
                    let (unsigned, signed) = if a.unsigned { (a, b) } else { (b, a) };
                    let next = match bytes(unsigned) {
                        4.. => 2 * bytes(unsigned),
                        few => few + 1,
                    };
                    next.max(bytes(signed))
                };
                let unsigned = a.unsigned && b.unsigned;
                let kind = match needed {
                    1 => K::TinyInt,
                    2 => K::SmallInt,
                    3 => K::MediumInt,
                    4 => K::Int,
                    8 => K::BigInt,
                    // BIGINT UNSIGNED beside a signed integer: only a decimal holds both.
                    _ => return decimal(integer_digits(a).max(integer_digits(b)), 0),
                };
                DataType { unsigned, length: a.length.max(b.length), ..DataType::integer(kind, unsigned) }
            }
        };
    }
    if a.is_temporal() && b.is_temporal() {
        let scale = a.scale.max(b.scale);
        return match (a.kind, b.kind) {
            (K::Date, K::Date) => DataType::DATE,
            (K::Time, K::Time) => DataType::time(scale),
            (K::Timestamp, K::Timestamp) => DataType::timestamp(scale),
            _ => DataType::datetime(scale),
        };
    }
    match (a.kind, b.kind) {
        (K::Json, K::Json) => DataType::JSON,
        (K::Json, _) | (_, K::Json) => DataType::text(K::LongText, CollationId::UTF8MB4_BIN),
        (K::Char, kind) | (kind, K::Char)
            if kind != K::VarChar && !a.is_text_or_blob() && !b.is_text_or_blob() =>
        {
            text(K::Char)
        }
        _ => {
            let rank = |t: &DataType| match t.kind {
                K::TinyText => 1,
                K::Text => 2,
                K::MediumText => 3,
                K::LongText => 4,
                _ => 0,
            };
            match rank(a).max(rank(b)) {
                0 => text(K::VarChar),
                1 => text(K::TinyText),
                2 => text(K::Text),
                3 => text(K::MediumText),
                _ => text(K::LongText),
            }
        }
    }
}

pub(super) fn merge_all<'t>(types: impl Iterator<Item = &'t DataType>) -> DataType {
    types.fold(DataType::NULL, |merged, next| merge(&merged, next))
}

/// The common type of several values (UNION, VALUES rows), and how strongly its collation holds: the binder converts each to
/// it.
///
/// # Errors
/// 1267, 1271: collations that cannot be mixed; 3854: a literal that another value's character set does not hold.
pub(crate) fn common_type(exprs: &[&Expr], context: &TypeContext) -> PlanResult<(DataType, Coercibility)> {
    let mut copies: Vec<Expr> = exprs.iter().map(|expr| (*expr).clone()).collect();
    let typed = infer_arms(&mut copies, "UNION", context)?;
    if typed.coercibility == Coercibility::NoCollation && copies.len() > 1 {
        return Err(PlanError::new(1271, "Illegal mix of collations for operation 'UNION'"));
    }
    // The rows of a set operation are those of a table.
    let data_type = if typed.data_type.kind == TypeKind::Year { DataType::YEAR } else { typed.data_type };
    Ok((data_type, typed.coercibility))
}
