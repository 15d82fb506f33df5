//! Result types, by MySQL's rules: kind, length, scale, sign, NULL, collation.
//!
//! Lengths are in the units of [`DataType::length`]; an integer expression counts its sign.

use super::collate::{self, Purpose};
use super::merge::infer_arms;
use super::shape::{
    INT_WIDTH, Numeric, UNKNOWN_CHARS, Width, decimal, double_of, fixed_scale, int, integer_digits, numeric,
    precision, quotient, scale, string_type, text_chars, uint,
};
use super::{FunctionId, TypeContext, aggregate_name, parameter};
use crate::error::{PlanError, PlanResult};
use crate::expr::{CallOption, Coercibility, Expr, ExprKind};
use syntax::ast::{AggregateFunc, IntervalUnit};
use types::charset::Charset;
use types::data_type::{DECIMAL_SCALE_MAX, FRACTION_DIGITS_MAX, SCALE_NOT_FIXED};
use types::temporal::parse::DateMode;
use types::{CollationId, DataType, TypeKind, Value};

/// What a call yields.
pub struct Typed {
    /// MySQL's type of the value.
    pub data_type: DataType,
    /// Whether the value may be NULL.
    pub nullable: bool,
    /// How strongly its collation holds.
    pub coercibility: Coercibility,
}

/// A temporal value as the DOUBLE that functions of numbers take it for; false if there is none.
fn temporal_as_double(args: &mut [Expr]) -> bool {
    let Some(of) = args.first_mut().filter(|of| of.data_type.is_temporal()) else { return false };
    let scale = of.data_type.scale;
    let length = DOUBLE_DIGITS + u32::from(scale);
    let double = DataType { scale, length, ..DataType::DOUBLE };
    *of = super::cast(std::mem::replace(of, Expr::null()), double);
    true
}

/// A number with the fixed scale of its argument, or without one.
fn double_of_one(arg: &Expr) -> DataType {
    match fixed_scale(&arg.data_type) {
        Some(scale) => DataType { scale: scale as u8, length: DOUBLE_DIGITS + scale, ..DataType::DOUBLE },
        None => DataType::DOUBLE,
    }
}

/// Characters of a document as a text.
const JSON_CHARS_MAX: u32 = u32::MAX / 4;

/// `group_concat_max_len` from which on GROUP_CONCAT gives a LONGTEXT.
const GROUP_CONCAT_VARCHAR_MAX: u32 = 512;

/// Bytes of the weight of a number or temporal value.
const WEIGHT_OF_NUMBER_BYTES: u32 = 8;

/// Most digits of a DECIMAL, and of a product of integers.
const DECIMAL_DIGITS_MAX: u32 = 65;

/// Most digits that DIV says it gives.
const QUOTIENT_DIGITS_MAX: u32 = 21;

/// Width of a DOUBLE without digits after the point.
const DOUBLE_DIGITS: u32 = 17;

/// A document is true where it is not the number 0.
fn truth_of_document(arg: &mut Expr) {
    if arg.data_type.kind == TypeKind::Json {
        let document = std::mem::replace(arg, Expr::null());
        let nullable = document.nullable;
        let args = vec![document, Expr::literal(Value::Int(0))];
        let kind = ExprKind::Call { function: FunctionId::Ne, args, option: CallOption::None };
        *arg = Expr::new(kind, DataType::BOOL, nullable);
    }
}

/// The type of a value that has been a column's.
pub(crate) fn computed(data_type: &DataType) -> DataType {
    match data_type.kind {
        TypeKind::Year => DataType::COMPUTED_YEAR,
        // CURTIME says less of itself.
        TypeKind::Time => DataType::time(data_type.scale),
        // Room for as many of the widest characters as a column's text has bytes.
        _ if data_type.is_text_or_blob() && !data_type.is_binary_string() => {
            let bytes = data_type.collation.charset().max_bytes_per_char() as u32;
            DataType { length: text_chars(data_type).saturating_mul(bytes), ..data_type.clone() }
        }
        _ => data_type.clone(),
    }
}

/// As [`computed`], of a value that a function passes on: numbers are as wide as computed ones.
fn passed_on(data_type: &DataType) -> DataType {
    match data_type.kind {
        TypeKind::Float | TypeKind::Double if data_type.scale == SCALE_NOT_FIXED => {
            DataType { length: DataType::DOUBLE.length, ..data_type.clone() }
        }
        TypeKind::Decimal => DataType { unsigned: false, ..data_type.clone() },
        _ if data_type.is_hex_literal() => DataType::varchar(data_type.length, CollationId::BINARY),
        _ => computed(data_type),
    }
}

/// Bits are numbers where COALESCE and its like give them.
fn bits_as_number(data_type: DataType) -> DataType {
    if data_type.kind == TypeKind::Bit { uint(data_type.length) } else { data_type }
}

/// How many bits the values have that COALESCE and its like choose among BIT values: where MySQL keeps them in a temporary table
/// they are bits again.
#[must_use]
pub fn bits_of(expr: &Expr) -> Option<u32> {
    use FunctionId as F;
    if expr.data_type.kind == TypeKind::Bit {
        return Some(expr.data_type.length);
    }
    let chosen: Vec<&Expr> = match &expr.kind {
        ExprKind::Call {
            function: F::IfNull | F::Coalesce | F::Greatest | F::Least | F::AnyValue,
            args,
            ..
        } => args.iter().collect(),
        ExprKind::Call { function: F::If, args, .. } => args[1..].iter().collect(),
        ExprKind::Call { function: F::NullIf, args, .. } => args[..1].iter().collect(),
        ExprKind::Case { whens, otherwise } => {
            whens.iter().map(|(_, then)| then).chain(otherwise.as_deref()).collect()
        }
        _ => return None,
    };
    let mut bits = None;
    for arg in chosen.into_iter().filter(|arg| !matches!(arg.kind, ExprKind::Literal(Value::Null))) {
        bits = bits.max(Some(bits_of(arg)?));
    }
    bits
}

/// The type of a choice of IF or CASE: bits, if all values are such or chosen among such by COALESCE and its like, and not all of these.
pub(super) fn chosen_bits<'e>(typed: DataType, mut arms: impl Iterator<Item = &'e Expr>) -> DataType {
    if !typed.is_integer() || typed.kind == TypeKind::Bit {
        return typed;
    }
    let (mut bits, mut has_bits) = (None, false);
    let are_bits = arms.all(|arm| {
        let of = bits_of(arm);
        bits = bits.max(of);
        has_bits |= arm.data_type.kind == TypeKind::Bit;
        of.is_some() || matches!(arm.kind, ExprKind::Literal(Value::Null))
    });
    match bits.filter(|_| are_bits && has_bits) {
        Some(bits) => DataType::bit(bits),
        None => typed,
    }
}

fn widest(args: &[Expr]) -> Numeric {
    args.iter().map(|arg| numeric(&arg.data_type)).max().unwrap_or(Numeric::Double)
}

fn arithmetic(function: FunctionId, args: &[Expr], context: &TypeContext) -> DataType {
    let (a, b) = (&args[0].data_type, &args[1].data_type);
    let class = if function == FunctionId::Div { widest(args).max(Numeric::Decimal) } else { widest(args) };
    let unsigned = match function {
        FunctionId::Mod => a.unsigned,
        FunctionId::Sub if context.no_unsigned_subtraction => false,
        _ => a.unsigned || b.unsigned,
    };
    match class {
        Numeric::Double => {
            let double = match function {
                FunctionId::Div => quotient(args, u32::from(context.div_precision_increment)),
                _ => double_of(args, 0),
            };
            let unsigned = function == FunctionId::Mod && a.unsigned && a.is_numeric();
            DataType { unsigned, ..double }
        }
        Numeric::Int => {
            let digits = match function {
                FunctionId::Mul => (integer_digits(a) + integer_digits(b)).min(DECIMAL_DIGITS_MAX),
                FunctionId::Mod => integer_digits(a).max(integer_digits(b)),
                _ => integer_digits(a).max(integer_digits(b)).min(DECIMAL_DIGITS_MAX) + 1,
            };
            // MySQL leaves room for a sign that it says a remainder does not have.
            let sign = u32::from(!unsigned || function == FunctionId::Mod);
            DataType { unsigned, ..int(digits + sign) }
        }
        Numeric::Decimal if function == FunctionId::Mod => {
            // MySQL leaves room for a sign that it says there is none.
            let digits = precision(a).max(precision(b)) + u32::from(unsigned);
            DataType { unsigned, ..DataType::decimal(digits, scale(a).max(scale(b)) as u8) }
        }
        Numeric::Decimal => {
            let result = match function {
                FunctionId::Mul => decimal(integer_digits(a) + integer_digits(b), scale(a) + scale(b)),
                FunctionId::Div => {
                    let increment = u32::from(context.div_precision_increment);
                    let result_scale = (scale(a) + increment).min(u32::from(DECIMAL_SCALE_MAX));
                    decimal((precision(a) + scale(b) + increment).saturating_sub(result_scale), result_scale)
                }
                _ => decimal(integer_digits(a).max(integer_digits(b)) + 1, scale(a).max(scale(b))),
            };
            DataType { unsigned: a.unsigned && b.unsigned, ..result }
        }
    }
}

/// Digits of a sum or difference of decimals, which may be more than a DECIMAL has.
pub(crate) fn digits_of_sum(args: &[Expr]) -> u32 {
    let whole = args.iter().map(|arg| integer_digits(&arg.data_type)).max().unwrap_or(0);
    whole + 1 + args.iter().map(|arg| scale(&arg.data_type)).max().unwrap_or(0)
}

/// The number literal an argument is, if it is one.
fn constant(expr: Option<&Expr>) -> Option<i64> {
    match &expr?.kind {
        ExprKind::Literal(Value::Int(value)) => Some(*value),
        ExprKind::Literal(Value::UInt(value)) => i64::try_from(*value).ok(),
        ExprKind::Call { function: FunctionId::Neg, args, .. } => constant(args.first())?.checked_neg(),
        _ => None,
    }
}

fn literal_bytes(expr: &Expr) -> Option<&[u8]> {
    match &expr.kind {
        ExprKind::Literal(Value::Bytes { bytes, .. }) => Some(bytes),
        _ => None,
    }
}

/// Fraction digits a value has as a temporal.
fn fraction_digits(expr: &Expr) -> u8 {
    match expr.data_type.kind {
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Decimal => {
            expr.data_type.scale.min(6)
        }
        TypeKind::Float | TypeKind::Double => expr.data_type.scale.min(6),
        TypeKind::Enum | TypeKind::Set | TypeKind::Json => 6,
        _ if expr.data_type.is_string() => match literal_bytes(expr) {
            Some(text) => match text.iter().rposition(|&byte| byte == b'.') {
                Some(point) => {
                    text[point + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count().min(6) as u8
                }
                None => 0,
            },
            None => 6,
        },
        _ => 0,
    }
}

/// As [`fraction_digits`], but texts that are no literals count as without fraction (DATETIME casts).
fn unit_has_micros(unit: IntervalUnit) -> bool {
    use IntervalUnit as U;
    matches!(
        unit,
        U::Microsecond | U::SecondMicrosecond | U::MinuteMicrosecond | U::HourMicrosecond | U::DayMicrosecond
    )
}

/// Fraction digits that GREATEST and LEAST show of a value beside a date or time; a text that is none has all.
fn extreme_digits(expr: &Expr) -> u8 {
    match literal_bytes(expr) {
        Some(text) if types::temporal::parse::parse_datetime(text, DateMode::default()).is_err() => 6,
        _ => fraction_digits(expr),
    }
}

pub(super) fn extreme_digits_of(args: &[Expr]) -> u64 {
    args.iter().map(|arg| u64::from(extreme_digits(arg))).max().unwrap_or(0)
}

/// Characters of a date or time with this number of fraction digits.
fn temporal_width(kind: TypeKind, digits: u8) -> Option<u32> {
    Some(match kind {
        TypeKind::Date => DataType::DATE.length,
        TypeKind::Time => DataType::time(digits).length,
        TypeKind::DateTime | TypeKind::Timestamp => DataType::datetime(digits).length,
        _ => return None,
    })
}

fn unit_has_time(unit: IntervalUnit) -> bool {
    use IntervalUnit as U;
    !matches!(unit, U::Day | U::Week | U::Month | U::Quarter | U::Year | U::YearMonth)
}

/// The type of an aggregate function's result. The texts of GROUP_CONCAT are brought to one collation.
///
/// # Errors
/// 1235 for aggregates that do not run yet; 1267, 1270, 1271: collations that cannot be mixed; 3854: a literal that another
/// argument's character set does not hold.
pub(crate) fn aggregate_type(
    function: AggregateFunc,
    args: &mut [Expr],
    context: &TypeContext,
) -> PlanResult<Typed> {
    use AggregateFunc as A;
    let first = || args.first().map_or(DataType::NULL, |arg| arg.data_type.clone());
    let number = |data_type: DataType, nullable: bool| Typed {
        data_type,
        nullable,
        coercibility: Coercibility::Numeric,
    };
    Ok(match function {
        A::CountStar | A::Count => number(int(INT_WIDTH), false),
        A::BitAnd | A::BitOr | A::BitXor => {
            let argument = first();
            if argument.is_binary_string() && !argument.is_hex_literal() {
                let data_type = DataType::varchar(argument.length, CollationId::BINARY);
                Typed { data_type, nullable: false, coercibility: Coercibility::Literal }
            } else {
                number(uint(INT_WIDTH), false)
            }
        }
        A::Sum | A::Avg if numeric(&first()) == Numeric::Double && fixed_scale(&first()).is_some() => {
            let more = if function == A::Avg { u32::from(context.div_precision_increment) } else { 0 };
            let digits = fixed_scale(&first()).unwrap_or(0) + more;
            let is_fixed = digits < u32::from(SCALE_NOT_FIXED);
            let length = DOUBLE_DIGITS + digits;
            let fixed = DataType { scale: digits as u8, length, ..DataType::DOUBLE };
            number(if is_fixed { fixed } else { DataType::DOUBLE }, true)
        }
        A::Sum => {
            let argument = first();
            match numeric(&argument) {
                Numeric::Double => number(DataType::DOUBLE, true),
                _ => number(decimal(integer_digits(&argument) + 22, scale(&argument)), true),
            }
        }
        A::Avg => {
            let argument = first();
            match numeric(&argument) {
                Numeric::Double => number(DataType::DOUBLE, true),
                _ => {
                    let digits = scale(&argument) + u32::from(context.div_precision_increment);
                    let digits = digits.min(u32::from(DECIMAL_SCALE_MAX));
                    number(decimal(integer_digits(&argument), digits), true)
                }
            }
        }
        A::Min | A::Max => {
            let argument = first();
            let coercibility = args.first().map_or(Coercibility::Ignorable, |arg| arg.coercibility);
            if coercibility == Coercibility::NoCollation {
                collate::compare(&mut [args[0].clone(), args[0].clone()], aggregate_name(function), context)?;
            }
            let data_type = match argument.kind {
                TypeKind::Enum | TypeKind::Set => DataType::char(argument.length, argument.collation),
                TypeKind::Time => argument,
                // What an aggregate keeps of a literal of bytes is a text.
                _ if argument.is_hex_literal() => passed_on(&argument),
                _ => computed(&argument),
            };
            Typed { data_type, nullable: true, coercibility }
        }
        A::StdPop | A::StdSamp | A::VarPop | A::VarSamp => number(DataType::DOUBLE, true),
        A::GroupConcat => {
            let (collation, coercibility) =
                collate::aggregate_unchecked(args, aggregate_name(function), context, Purpose::Build)?;
            let chars = context.group_concat_bytes / collation.charset().min_bytes_per_char() as u32;
            let data_type = if chars <= GROUP_CONCAT_VARCHAR_MAX {
                DataType::varchar(chars, collation)
            } else {
                // MySQL takes the bytes for characters, and those for characters once more.
                let char_bytes = collation.charset().max_bytes_per_char() as u32;
                let length = chars.saturating_mul(char_bytes * char_bytes);
                DataType { length, ..DataType::text(TypeKind::LongText, collation) }
            };
            Typed { data_type, nullable: true, coercibility }
        }
        A::JsonArrayAgg | A::JsonObjectAgg => number(DataType::JSON, true),
        A::StCollect => return Err(PlanError::not_supported("ST_COLLECT")),
    })
}

/// The number that a temporal value is for SUM and AVG.
#[must_use]
pub(crate) fn summed_temporal(data_type: &DataType) -> DataType {
    decimal(integer_digits(data_type), scale(data_type))
}

/// The number that a literal of bytes is for SUM and AVG: an integer where it stands itself, a DOUBLE without digits after the point
/// where a merged derived table or view gives it.
#[must_use]
pub(crate) fn summed_bytes(data_type: &DataType, is_column: bool) -> DataType {
    if is_column {
        return DataType { scale: 0, length: DOUBLE_DIGITS, ..DataType::DOUBLE };
    }
    DataType { length: integer_digits(data_type).max(1), ..DataType::BIGINT_UNSIGNED }
}

/// A choice of parameters and NULLs, whose type is VARBINARY however long it is.
fn chooses_parameter_or_null(expr: &Expr) -> bool {
    let arms: Vec<&Expr> = match &expr.kind {
        ExprKind::Call { function: FunctionId::IfNull | FunctionId::Coalesce, args, .. } => {
            args.iter().collect()
        }
        ExprKind::Call { function: FunctionId::If, args, .. } => args[1..].iter().collect(),
        ExprKind::Case { whens, otherwise } => {
            whens.iter().map(|(_, then)| then).chain(otherwise.as_deref()).collect()
        }
        _ => return false,
    };
    let is_null = |arm: &Expr| matches!(arm.kind, ExprKind::Literal(Value::Null));
    let is_parameter = |arm: &Expr| match &arm.kind {
        ExprKind::Call { function: FunctionId::Cast, args, option: CallOption::Common } => {
            matches!(args[0].kind, ExprKind::Param(_))
        }
        kind => matches!(kind, ExprKind::Param(_)),
    };
    arms.iter().all(|arm| is_null(arm) || is_parameter(arm)) && arms.iter().any(|arm| is_parameter(arm))
}

/// 3995: a pattern does not search bytes for text or text for bytes.
fn check_regexp_charsets(args: &[Expr], name: &str) -> PlanResult<()> {
    let is_binary = |arg: &Expr| arg.data_type.is_binary_string() || arg.data_type.kind == TypeKind::Bit;
    let is_literal =
        |arg: &Expr| collate::is_text(&arg.data_type) && matches!(arg.kind, ExprKind::Literal(_));
    // BINARY and BLOB go with characters, as do parameters.
    let is_varbinary = |arg: &Expr| {
        let data_type = &arg.data_type;
        data_type.is_binary_string()
            && (data_type.kind == TypeKind::VarChar || chooses_parameter_or_null(arg))
            && !matches!(arg.kind, ExprKind::Param(_))
    };
    // Of subject and pattern, a literal follows such bytes before the replacement is looked at.
    let follows = |at: usize| {
        at < 2
            && args.len() > 2
            && is_literal(&args[at])
            && is_binary(&args[1 - at])
            && !is_varbinary(&args[1 - at])
    };
    let is_bytes = |at: usize| is_varbinary(&args[at]) || follows(at);
    let is_characters = |at: usize| {
        let data_type = &args[at].data_type;
        collate::is_text(data_type) && data_type.collation != CollationId::BINARY && !follows(at)
    };
    let positions = 0..args.len();
    let bytes = positions.clone().find(|at| is_bytes(*at));
    let characters = positions.clone().find(|at| is_characters(*at));
    let (Some(bytes), Some(characters)) = (bytes, characters) else { return Ok(()) };
    let (mut first, mut second) = ("binary", args[characters].data_type.collation.name());
    if characters < bytes {
        std::mem::swap(&mut first, &mut second);
    }
    Err(PlanError::new(
        3995,
        format!("Character set '{first}' cannot be used in conjunction with '{second}' in call to {name}."),
    ))
}

/// Whether the first argument of NULLIF is a parameter, if it is one or a literal, and the collation that it is compared in.
fn nullif_literal(value: &Expr) -> Option<(bool, CollationId)> {
    match &value.kind {
        ExprKind::Literal(Value::Bytes { .. }) if !value.data_type.is_hex_literal() => {
            Some((false, value.data_type.collation))
        }
        ExprKind::Call { function: FunctionId::Collate, args, option: CallOption::Common } => match &args[..]
        {
            [arg] if matches!(arg.kind, ExprKind::Param(_)) => Some((true, value.data_type.collation)),
            _ => None,
        },
        _ => None,
    }
}

/// Digits of the fraction of a time that is read from a value: a client's parameter may have all of them, unless it has the type of its
/// value, a date.
fn read_digits(expr: &Expr, context: &TypeContext) -> u8 {
    match expr.kind {
        ExprKind::Param(_) if context.fixes_parameters && expr.data_type.kind != TypeKind::Date => {
            FRACTION_DIGITS_MAX
        }
        _ => fraction_digits(expr),
    }
}

/// The type of a comparison of numbers, of their sum, difference or product, or of logic on them, as most calls are: no argument is
/// converted, and no collation decides. `None`: it is none of these, or something beside plain numbers is among the arguments.
pub(super) fn of_numbers(function: FunctionId, args: &[Expr], context: &TypeContext) -> Option<Typed> {
    use FunctionId as F;
    let (least, most) = match function {
        F::Eq | F::NullSafeEq | F::Ne | F::Lt | F::Le | F::Gt | F::Ge | F::Add | F::Sub | F::Mul => (2, 2),
        F::Between => (3, 3),
        F::And | F::Or => (2, usize::MAX),
        F::Not => (1, 1),
        _ => return None,
    };
    // NULLIF of a parameter is computed with all digits of its type (`keep_all_digits`).
    let is_number = |arg: &Expr| {
        arg.data_type.is_plain_number()
            && !(arg.data_type.kind == TypeKind::Decimal
                && matches!(arg.kind, ExprKind::Call { function: F::NullIf, .. }))
    };
    if args.len() < least || args.len() > most || !args.iter().all(is_number) {
        return None;
    }
    let data_type = match function {
        F::Add | F::Sub | F::Mul => arithmetic(function, args, context),
        _ => DataType::BOOL,
    };
    let nullable = function != F::NullSafeEq && args.iter().any(|arg| arg.nullable);
    Some(Typed { data_type, nullable, coercibility: Coercibility::Numeric })
}

pub(super) fn infer(
    function: FunctionId,
    args: &mut Vec<Expr>,
    option: &CallOption,
    context: &TypeContext,
) -> PlanResult<Typed> {
    use FunctionId as F;
    let any_nullable = args.iter().any(|arg| arg.nullable);
    let plain = |data_type: DataType, nullable: bool| Typed {
        data_type,
        nullable,
        coercibility: Coercibility::Numeric,
    };
    let connection = context.connection_collation;
    // What makes a text may be NULL in strict modes only, where MySQL checks whether its bytes are characters.
    let text_nullable = any_nullable || context.is_strict;
    // A text made from no text argument.
    let fresh = |chars: u32| Typed {
        data_type: string_type(chars, connection),
        nullable: true,
        coercibility: Coercibility::Literal,
    };
    let binary = |bytes: u32| Typed {
        data_type: string_type(bytes, CollationId::BINARY),
        nullable: true,
        coercibility: Coercibility::Literal,
    };
    let system = |chars: u32, nullable: bool| Typed {
        data_type: DataType::varchar(chars, CollationId::UTF8MB3_GENERAL_CI),
        nullable,
        coercibility: Coercibility::SystemConstant,
    };
    let chars_of = |args: &[Expr], index: usize| args.get(index).map_or(0, |arg| text_chars(&arg.data_type));
    let bytes_of = |args: &[Expr], index: usize| {
        args.get(index).map_or(0, |arg| u64::from(Width::of(&arg.data_type).chars_in(CollationId::BINARY)))
    };
    let name = function.name();
    // A text made from the texts among the arguments, with this length in characters.
    let build = |args: &mut [Expr], chars: u64| -> PlanResult<Typed> {
        let (collation, coercibility) = collate::aggregate(args, name, context, Purpose::Build)?;
        let chars = u32::try_from(chars).unwrap_or(u32::MAX);
        Ok(Typed { data_type: string_type(chars, collation), nullable: text_nullable, coercibility })
    };
    // A text of this length, which is NULL if it would be longer than texts may be.
    let bounded = |chars: u64, collation: CollationId, coercibility: Coercibility| Typed {
        data_type: limited(chars, collation),
        nullable: text_nullable || chars > limit_chars(collation),
        coercibility,
    };
    // Texts that take over the collation of the first of `positions`.
    let follow = |args: &mut [Expr], positions: &[usize]| {
        let leader = positions.iter().filter(|&&position| position < positions[0]).count();
        let mut texts: Vec<&mut Expr> = args
            .iter_mut()
            .enumerate()
            .filter(|(position, _)| positions.contains(position))
            .map(|(_, arg)| arg)
            .collect();
        collate::follow(&mut texts, leader, context)
    };
    // As `build_of`, where the first of `positions` decides.
    let led = |args: &mut [Expr], positions: &[usize], chars: &dyn Fn(&[u64]) -> u64| -> PlanResult<Typed> {
        let widths: Vec<Width> = args.iter().map(|arg| Width::of(&arg.data_type)).collect();
        let (collation, coercibility) = follow(args, positions)?;
        let widths: Vec<u64> = widths.iter().map(|width| u64::from(width.chars_in(collation))).collect();
        Ok(bounded(chars(&widths), collation, coercibility))
    };
    // As above, of the widths of the arguments in the result's character set: characters, or bytes of a binary string.
    let build_of = |args: &mut [Expr], chars: &dyn Fn(&[u64]) -> u64| -> PlanResult<Typed> {
        let widths: Vec<Width> = args.iter().map(|arg| Width::of(&arg.data_type)).collect();
        let (collation, coercibility) = collate::aggregate(args, name, context, Purpose::Build)?;
        let widths: Vec<u64> = widths.iter().map(|width| u64::from(width.chars_in(collation))).collect();
        Ok(bounded(chars(&widths), collation, coercibility))
    };
    Ok(match function {
        F::Add | F::Sub | F::Mul => plain(arithmetic(function, args, context), any_nullable),
        F::Div | F::Mod => plain(arithmetic(function, args, context), true),
        F::IntDiv => {
            // The numbers of members are unsigned, but what is divided is their text.
            let is_number = |of: &DataType| numeric(of) != Numeric::Double || of.is_numeric();
            let unsigned = args.iter().any(|arg| arg.data_type.unsigned && is_number(&arg.data_type));
            // Of numbers without a fixed scale and of texts all characters count, on both sides.
            let whole = |of: &DataType| match numeric(of) {
                Numeric::Double => match fixed_scale(of) {
                    Some(scale) if of.kind == TypeKind::Double => of.length.saturating_sub(scale),
                    scale => text_chars(of).saturating_sub(scale.unwrap_or(0)),
                },
                _ => integer_digits(of),
            };
            let fraction = |of: &DataType| match numeric(of) {
                Numeric::Double => fixed_scale(of).unwrap_or_else(|| text_chars(of)),
                _ => scale(of),
            };
            let digits = whole(&args[0].data_type).saturating_add(fraction(&args[1].data_type));
            let sign = u32::from(!unsigned);
            plain(DataType { unsigned, ..int(digits.min(QUOTIENT_DIGITS_MAX) + sign) }, true)
        }
        F::Neg => {
            let was_temporal = temporal_as_double(args);
            let of = &args[0].data_type;
            let data_type = match numeric(of) {
                Numeric::Int => int(integer_digits(of) + 1),
                Numeric::Decimal => DataType { unsigned: false, ..decimal(integer_digits(of), scale(of)) },
                Numeric::Double if was_temporal => of.clone(),
                Numeric::Double => double_of_one(&args[0]),
            };
            // -9223372036854775808 is written as a negated number too large for BIGINT.
            let data_type = match &args[0].kind {
                ExprKind::Literal(Value::UInt(value)) if *value > 1 << 63 => decimal(integer_digits(of), 0),
                _ => data_type,
            };
            plain(data_type, any_nullable)
        }
        F::BitOr | F::BitAnd | F::BitXor | F::ShiftLeft | F::ShiftRight | F::BitNot => {
            // Byte strings keep being byte strings, unless one side is a number or a hex literal, which a derived table's column is not.
            let bytes = |arg: &Expr| {
                let of = &arg.data_type;
                let is_kept_null = of.kind == TypeKind::Null && of.scale == SCALE_NOT_FIXED;
                of.is_binary_string() && (!of.is_hex_literal() || arg.as_column().is_some()) || is_kept_null
            };
            let operands =
                if matches!(function, F::ShiftLeft | F::ShiftRight) { &args[..1] } else { &args[..] };
            // NULL goes with both.
            let is_null = |arg: &Expr| arg.data_type.kind == TypeKind::Null;
            if operands.iter().all(|arg| arg.data_type.is_binary_string() || is_null(arg))
                && operands.iter().any(bytes)
            {
                let length = operands.iter().map(|arg| arg.data_type.length).max().unwrap_or(0);
                Typed { nullable: any_nullable, ..binary(length) }
            } else {
                plain(uint(INT_WIDTH), any_nullable)
            }
        }
        F::Eq | F::Ne | F::Lt | F::Le | F::Gt | F::Ge => {
            collate::compare(args, name, context)?;
            plain(DataType::BOOL, any_nullable)
        }
        F::NullSafeEq => {
            collate::compare(args, name, context)?;
            plain(DataType::BOOL, false)
        }
        F::Between => {
            collate::compare(args, "between", context)?;
            collate::between_documents(args)?;
            plain(DataType::BOOL, any_nullable)
        }
        F::And | F::Or | F::Xor | F::Not => {
            args.iter_mut().for_each(truth_of_document);
            plain(DataType::BOOL, any_nullable)
        }
        F::IsTrue | F::IsFalse => {
            args.iter_mut().for_each(truth_of_document);
            plain(DataType::BOOL, false)
        }
        F::IsNull | F::IsNullFunction => plain(DataType::BOOL, false),
        F::Like => {
            collate::aggregate(&mut args[..2], "like", context, Purpose::Compare)?;
            plain(DataType::BOOL, any_nullable)
        }
        F::RegexpLike => {
            check_regexp_charsets(&args[..2], "regexp_like")?;
            collate::aggregate(&mut args[..2], "regexp_like", context, Purpose::Compare)?;
            plain(DataType::BOOL, any_nullable)
        }
        F::RegexpInstr => {
            check_regexp_charsets(&args[..2], name)?;
            collate::aggregate(&mut args[..2], name, context, Purpose::Compare)?;
            plain(int(INT_WIDTH), any_nullable)
        }
        F::RegexpSubstr => {
            check_regexp_charsets(&args[..2], name)?;
            collate::aggregate(&mut args[..2], name, context, Purpose::Compare)?;
            let chars = chars_of(args, 0);
            Typed { nullable: true, ..build(&mut args[..2], u64::from(chars))? }
        }
        F::RegexpReplace => {
            check_regexp_charsets(&args[..3], name)?;
            let (collation, coercibility) =
                collate::aggregate(&mut args[..2], name, context, Purpose::Compare)?;
            collate::convert_unchecked(&mut args[2], collation)?;
            Typed { data_type: limited(u64::MAX, collation), nullable: true, coercibility }
        }
        F::Cast | F::ConvertUsing | F::Collate => {
            return Err(PlanError::new(1105, "Unknown error"));
        }
        F::MemberOf => plain(DataType::BOOL, any_nullable),

        F::If => {
            // A conversion to the common type does not make a value NULL.
            let typed = infer_arms(&mut args[1..], name, context)?;
            Typed { data_type: chosen_bits(typed.data_type, args[1..].iter()), ..typed }
        }
        F::IfNull | F::Coalesce => {
            let all_nullable = args.iter().all(|arg| arg.nullable);
            let typed = infer_arms(args, name, context)?;
            Typed { data_type: bits_as_number(typed.data_type), nullable: all_nullable, ..typed }
        }
        F::NullIf => {
            // The comparison's collation is not that of the value.
            let first = &args[0];
            let data_type = match first.data_type.kind {
                TypeKind::Enum | TypeKind::Set => {
                    DataType::char(text_chars(&first.data_type), first.data_type.collation)
                }
                // A literal of bytes is a text where it is stored or cast; see `passed_on`.
                _ if first.data_type.is_hex_literal() => passed_on(&first.data_type),
                // A constant that a column has made a year is as wide as an integer.
                TypeKind::Year if !first.data_type.zerofill => first.data_type.clone(),
                _ => computed(&first.data_type),
            };
            let coercibility = first.coercibility;
            let room = parameter::widths(args, context).swap_remove(0);
            // Beside a document a literal is compared as one is, and says so.
            let is_literal = collate::is_text(&data_type) && coercibility == Coercibility::Literal;
            let data_type = match args[1].data_type.kind {
                TypeKind::Json if is_literal && data_type.collation.charset() == Charset::Utf8mb4 => {
                    DataType { collation: CollationId::UTF8MB4_BIN, ..data_type }
                }
                _ => data_type,
            };
            collate::compare(args, name, context)?;
            // A literal becomes one of the collation that it is compared in; a parameter is of it as a column is.
            let is_beside_text = is_literal && args[1].data_type.kind != TypeKind::Json;
            let literal = nullif_literal(&args[0]).filter(|_| is_beside_text);
            let Some((is_parameter, collation)) =
                literal.filter(|_| data_type.collation != CollationId::BINARY)
            else {
                return Ok(Typed { data_type, nullable: true, coercibility });
            };
            let is_of_client =
                is_parameter && context.fixes_parameters && collate::is_text(&args[1].data_type);
            let coercibility = if is_of_client { Coercibility::Implicit } else { coercibility };
            let length = match data_type.kind {
                TypeKind::VarChar => room.chars_in(collation),
                _ => data_type.length,
            };
            Typed { data_type: DataType { collation, length, ..data_type }, nullable: true, coercibility }
        }
        F::Greatest | F::Least => {
            // A number or text beside a date is one to compare with, but the result is a text: no argument is converted.
            let raw = args.iter().any(|arg| arg.data_type.has_date()).then(|| args.clone());
            let digits = extreme_digits_of(args) as u8;
            let width = args.iter().filter_map(|arg| temporal_width(arg.data_type.kind, digits)).max();
            let typed = infer_arms(args, name, context)?;
            let typed = match typed.data_type.kind {
                // Documents compare as texts.
                TypeKind::Json => {
                    let text = json_text(JSON_CHARS_MAX);
                    for arg in args.iter_mut() {
                        *arg = super::cast(std::mem::replace(arg, Expr::null()), text.data_type.clone());
                    }
                    Typed { nullable: typed.nullable, coercibility: Coercibility::Implicit, ..text }
                }
                TypeKind::Char | TypeKind::VarChar if width.unwrap_or(0) > typed.data_type.length => {
                    let collation = typed.data_type.collation;
                    Typed { data_type: string_type(width.unwrap_or(0), collation), ..typed }
                }
                _ => typed,
            };
            if let Some(raw) = raw.filter(|_| typed.data_type.is_string()) {
                *args = raw;
            }
            Typed { data_type: bits_as_number(typed.data_type), ..typed }
        }
        F::Interval => plain(int(2), false),
        F::AnyValue => {
            let arg = &args[0];
            Typed {
                data_type: bits_as_number(passed_on(&arg.data_type)),
                nullable: arg.nullable,
                coercibility: arg.coercibility,
            }
        }
        F::NameConst => {
            let arg = &args[1];
            Typed { data_type: arg.data_type.clone(), nullable: arg.nullable, coercibility: arg.coercibility }
        }

        F::Ascii => plain(int(4), any_nullable),
        F::Ord | F::BitCount | F::Benchmark => plain(
            int(if function == F::Benchmark { 1 } else { INT_WIDTH }),
            any_nullable || function == F::Benchmark,
        ),
        F::BitLength | F::CharLength | F::Length | F::Crc32 => {
            plain(if function == F::Crc32 { uint(10) } else { int(11) }, any_nullable)
        }
        F::FindInSet => {
            collate::aggregate_unchecked(args, name, context, Purpose::Compare)?;
            plain(int(11), any_nullable)
        }
        // The text that is searched decides.
        F::Instr => {
            follow(args, &[0, 1])?;
            plain(int(11), any_nullable)
        }
        F::Locate => {
            follow(args, &[1, 0])?;
            plain(int(11), any_nullable)
        }
        F::Field => {
            let is_text =
                |arg: &Expr| collate::is_text(&arg.data_type) || arg.data_type.kind == TypeKind::Null;
            if args.iter().all(is_text) {
                let all: Vec<usize> = (0..args.len()).collect();
                follow(args, &all)?;
            }
            plain(int(11), false)
        }
        F::Strcmp => {
            collate::check_left(args, name)?;
            collate::aggregate(args, name, context, Purpose::Compare)?;
            plain(int(2), any_nullable)
        }
        F::Bin | F::Oct | F::Conv => fresh(65),
        F::Char => Typed { nullable: text_nullable, ..binary(4 * args.len() as u32) },
        F::Charset | F::Collation => {
            Typed { coercibility: Coercibility::Literal, ..system(64, context.is_strict) }
        }
        F::Coercibility => plain(int(10), false),
        F::Concat => build_of(args, &|widths| widths.iter().sum())?,
        F::ConcatWs => build_of(args, &|widths| {
            widths[1..].iter().sum::<u64>() + widths[0] * (widths.len() as u64).saturating_sub(2)
        })?,
        F::Elt => {
            let chars = args[1..].iter().map(|arg| u64::from(text_chars(&arg.data_type))).max().unwrap_or(0);
            Typed { nullable: true, ..build(&mut args[1..], chars)? }
        }
        F::MakeSet => {
            // MySQL counts in 32 bits, and knows no limit here.
            let widths: Vec<(Width, TypeKind)> =
                args[1..].iter().map(|arg| (Width::of(&arg.data_type), arg.data_type.kind)).collect();
            let (collation, coercibility) =
                collate::aggregate(&mut args[1..], name, context, Purpose::Build)?;
            let chars_of = |(width, kind): &(Width, TypeKind)| match kind {
                TypeKind::Json => u32::MAX,
                _ => width.chars_in(collation),
            };
            let separators = widths.len() as u32 - 1;
            let chars = widths.iter().fold(separators, |sum, width| sum.wrapping_add(chars_of(width)));
            Typed { data_type: string_type(chars, collation), nullable: any_nullable, coercibility }
        }
        F::ExportSet => {
            let end = args.len().min(4);
            build_of(&mut args[1..end], &|widths| {
                widths[0].max(widths[1]) * 64 + widths.get(2).copied().unwrap_or(1) * 63
            })?
        }
        F::Format => Typed {
            nullable: text_nullable,
            ..fresh(chars_of(args, 0).saturating_add(chars_of(args, 0) / 3).saturating_add(32))
        },
        F::FromBase64 => {
            let bytes = bytes_of(args, 0) / 4 * 3 + bytes_of(args, 0) % 4 * 3 / 4;
            Typed { data_type: limited(bytes, CollationId::BINARY), ..binary(0) }
        }
        F::ToBase64 => {
            let digits = bytes_of(args, 0).div_ceil(3) * 4;
            // A line break behind each 76 of them.
            let chars = digits + digits.saturating_sub(1) / 76;
            bounded(chars, connection, Coercibility::Literal)
        }
        F::Hex => {
            let bytes = if args[0].data_type.is_numeric() { 8 } else { bytes_of(args, 0) };
            Typed { nullable: text_nullable, ..fresh(u32::try_from(bytes * 2).unwrap_or(u32::MAX)) }
        }
        F::Unhex => binary(bytes_of(args, 0).div_ceil(2) as u32),
        F::Insert => led(args, &[0, 3], &|widths| widths[0] + widths[3])?,
        F::Left | F::Right => {
            let most =
                constant(args.get(1)).map_or(u32::MAX, |count| count.clamp(0, i64::from(u32::MAX)) as u32);
            let chars = chars_of(args, 0).min(most);
            build(&mut args[..1], u64::from(chars))?
        }
        F::Substring => {
            let whole = i64::from(chars_of(args, 0));
            let mut chars = whole;
            match constant(args.get(1)) {
                Some(start) if start > 0 => chars = (whole - start + 1).max(0),
                Some(start) if start < 0 => chars = whole.min(-start),
                Some(_) => chars = 0,
                None => {}
            }
            if let Some(count) = constant(args.get(2)) {
                chars = chars.min(count.max(0));
            }
            build(&mut args[..1], chars as u64)?
        }
        F::Lower | F::Upper => {
            let collation = collate::claimed(&args[0]).unwrap_or(context.connection_collation);
            let chars = u64::from(chars_of(args, 0)) * u64::from(collation.case_growth(function == F::Upper));
            build(&mut args[..1], chars)?
        }
        F::Reverse => {
            let chars = chars_of(args, 0);
            build(&mut args[..1], u64::from(chars))?
        }
        F::Trim | F::LTrim | F::RTrim | F::SubstringIndex => {
            // No longer than the first, which may be beyond what other texts are limited to.
            let chars = chars_of(args, 0);
            let (collation, coercibility) = follow(args, &[0, 1])?;
            Typed { data_type: string_type(chars, collation), nullable: text_nullable, coercibility }
        }
        F::Replace => led(args, &[0, 1, 2], &|widths| match widths[2].saturating_sub(1) {
            0 => widths[0],
            growth => widths[0] * growth,
        })?,
        F::Repeat => {
            let count = constant(args.get(1)).map(|count| count.clamp(0, i64::from(i32::MAX)) as u64);
            let typed = build_of(&mut args[..1], &|widths| widths[0] * count.unwrap_or(0))?;
            if count.is_some() { typed } else { of_unknown_length(&typed) }
        }
        F::Lpad | F::Rpad => match constant(args.get(1)) {
            Some(count @ 0..) => led(args, &[0, 2], &|_| count as u64)?,
            _ => of_unknown_length(&led(args, &[0, 2], &|_| 0)?),
        },
        F::Space => match constant(args.first()) {
            Some(count) => {
                Typed { nullable: text_nullable, ..fresh(count.clamp(0, i64::from(UNKNOWN_CHARS)) as u32) }
            }
            None => fresh(UNKNOWN_CHARS),
        },
        // The text of NULL is one of the connection's.
        F::Quote if args[0].data_type.kind == TypeKind::Null => {
            Typed { coercibility: Coercibility::Ignorable, ..fresh(4) }
        }
        F::Quote => build_of(args, &|widths| widths[0] * 2 + 2)?,
        F::Soundex => {
            let chars = chars_of(args, 0).max(4);
            build(args, u64::from(chars))?
        }
        F::WeightString => {
            let of = &args[0].data_type;
            let bytes = match of.kind {
                _ if of.is_temporal() && matches!(args[0].kind, ExprKind::Column(_)) => 0,
                TypeKind::Json => u32::MAX,
                _ if collate::is_text(of) => of.collation.weight_bytes_max(text_chars(of)),
                _ => text_chars(of),
            };
            Typed { coercibility: args[0].coercibility, ..binary(bytes.max(WEIGHT_OF_NUMBER_BYTES)) }
        }

        F::Abs => {
            let was_temporal = temporal_as_double(args);
            let of = args[0].data_type.clone();
            let data_type = match numeric(&of) {
                Numeric::Int => {
                    let sign = u32::from(!of.unsigned);
                    DataType { unsigned: of.unsigned, ..int(integer_digits(&of) + sign) }
                }
                Numeric::Decimal => {
                    DataType { unsigned: of.unsigned, ..decimal(integer_digits(&of), scale(&of)) }
                }
                Numeric::Double if was_temporal => of,
                Numeric::Double => double_of_one(&args[0]),
            };
            plain(data_type, any_nullable)
        }
        F::Ceil | F::Floor => {
            temporal_as_double(args);
            let of = &args[0].data_type;
            let data_type = match numeric(of) {
                Numeric::Int => DataType { unsigned: of.unsigned, ..int(INT_WIDTH) },
                Numeric::Decimal if integer_digits(of) <= 17 => int(INT_WIDTH),
                Numeric::Decimal => decimal(integer_digits(of) + 1, 0),
                Numeric::Double => DataType::DOUBLE,
            };
            plain(data_type, any_nullable)
        }
        F::Round | F::Truncate => {
            if args[0].data_type.is_temporal() {
                let of = std::mem::replace(&mut args[0], Expr::null());
                args[0] = super::cast(of, DataType::DOUBLE);
            }
            let of = &args[0].data_type;
            let digits = if args.len() == 1 { Some(0) } else { constant(args.get(1)) };
            let data_type = match numeric(of) {
                Numeric::Int => DataType { unsigned: of.unsigned, ..int(INT_WIDTH) },
                Numeric::Double => DataType::DOUBLE,
                Numeric::Decimal => {
                    let wanted = digits.unwrap_or(i64::from(scale(of))).clamp(0, i64::from(scale(of))) as u32;
                    let is_whole = scale(of) == 0 && digits.is_none_or(|digits| digits <= 0);
                    let grows = u32::from(function == F::Round && (wanted < scale(of) || is_whole));
                    decimal(integer_digits(of) + grows, wanted)
                }
            };
            plain(data_type, any_nullable)
        }
        F::Sign => plain(int(INT_WIDTH), any_nullable),
        F::Pi => plain(DataType { length: 8, scale: 6, ..DataType::DOUBLE }, false),
        F::Rand => plain(DataType::DOUBLE, false),
        F::Acos
        | F::Asin
        | F::Atan
        | F::Atan2
        | F::Cos
        | F::Cot
        | F::Exp
        | F::Ln
        | F::Log
        | F::Log10
        | F::Log2
        | F::Pow
        | F::Sin
        | F::Sqrt
        | F::Tan => plain(DataType::DOUBLE, true),
        F::Degrees | F::Radians => plain(DataType::DOUBLE, any_nullable),

        F::Now | F::Sysdate | F::UtcTimestamp | F::Curtime | F::UtcTime => {
            let digits = constant(args.first()).unwrap_or(0);
            if !(0..=6).contains(&digits) {
                return Err(PlanError::new(
                    1426,
                    format!("Too-big precision {digits} specified for '{name}'. Maximum is 6."),
                ));
            }
            args.clear();
            if matches!(function, F::Curtime | F::UtcTime) {
                let mut data_type = DataType::time(digits as u8);
                data_type.length -= 2;
                plain(data_type, false)
            } else {
                plain(DataType::datetime(digits as u8), false)
            }
        }
        F::Curdate | F::UtcDate => plain(DataType::DATE, false),
        F::Date | F::LastDay | F::FromDays | F::MakeDate => plain(DataType::DATE, true),
        F::Time => plain(DataType::time(read_digits(&args[0], context)), true),
        F::Timestamp => {
            let digits = args.iter().map(fraction_digits).max().unwrap_or(0);
            plain(DataType::datetime(digits), true)
        }
        F::Year => plain(DataType::COMPUTED_YEAR, true),
        F::Hour => plain(int(4), true),
        F::Month | F::DayOfMonth | F::Minute | F::Second | F::Week | F::WeekOfYear => plain(int(3), true),
        F::DayOfYear => plain(int(4), true),
        F::DayOfWeek | F::Weekday | F::Quarter => plain(int(2), true),
        F::Microsecond => plain(int(INT_WIDTH), true),
        F::YearWeek => plain(int(7), true),
        F::DayName => fresh(context.locale.locale().weekday_chars_max()),
        F::MonthName => fresh(context.locale.locale().month_chars_max()),
        F::DateDiff => plain(int(9), true),
        F::ToDays => plain(int(8), true),
        F::ToSeconds | F::TimestampDiff => plain(int(INT_WIDTH), true),
        F::TimeToSec => plain(int(10), true),
        F::PeriodAdd | F::PeriodDiff => plain(int(INT_WIDTH), any_nullable),
        F::TimeDiff => plain(DataType::time(fraction_digits(&args[0]).max(fraction_digits(&args[1]))), true),
        F::SecToTime => plain(DataType::time(fraction_digits(&args[0])), true),
        F::MakeTime => plain(DataType::time(fraction_digits(&args[2])), true),
        F::ConvertTz => plain(DataType::datetime(fraction_digits(&args[0])), true),
        F::DateAdd | F::DateSub => {
            let unit = match option {
                CallOption::Unit(unit) => *unit,
                _ => IntervalUnit::Day,
            };
            let amount_digits = match unit {
                IntervalUnit::Second => fraction_digits(&args[1]),
                _ if unit_has_micros(unit) => 6,
                _ => 0,
            };
            let of = &args[0];
            let digits = fraction_digits(of).max(amount_digits);
            match of.data_type.kind {
                TypeKind::DateTime | TypeKind::Timestamp => plain(DataType::datetime(digits), true),
                TypeKind::Date if unit_has_time(unit) => plain(DataType::datetime(amount_digits), true),
                TypeKind::Date => plain(DataType::DATE, true),
                TypeKind::Time if unit_has_time(unit) => plain(DataType::time(digits), true),
                TypeKind::Time => plain(DataType::datetime(digits), true),
                _ => Typed { data_type: DataType::char(29, connection), ..fresh(29) },
            }
        }
        F::AddTime | F::SubTime => {
            let digits = fraction_digits(&args[0]).max(fraction_digits(&args[1]));
            match args[0].data_type.kind {
                TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => {
                    plain(DataType::datetime(digits), true)
                }
                TypeKind::Time => plain(DataType::time(digits), true),
                _ => Typed { data_type: DataType::char(29, connection), ..fresh(29) },
            }
        }
        F::Extract => {
            use IntervalUnit as U;
            let CallOption::Unit(unit) = option else {
                return Err(PlanError::new(1105, "Unknown error"));
            };
            plain(
                int(match unit {
                    U::Year => 5,
                    U::YearMonth => 7,
                    U::Quarter => 2,
                    U::Hour => 4,
                    U::Month | U::Week | U::Day | U::Minute | U::Second => 3,
                    U::Microsecond => 7,
                    U::DayHour | U::HourMinute | U::MinuteSecond => 5,
                    U::DayMinute | U::HourSecond => 7,
                    U::DaySecond => 13,
                    U::DayMicrosecond => 20,
                    U::HourMicrosecond => 14,
                    U::MinuteMicrosecond => 11,
                    U::SecondMicrosecond => 9,
                }),
                true,
            )
        }
        F::DateFormat | F::TimeFormat => {
            let chars = match literal_bytes(&args[1]) {
                Some(format) => format_chars(format),
                None => chars_of(args, 1).saturating_mul(10).min(UNKNOWN_CHARS),
            };
            Typed { coercibility: args[1].coercibility, ..fresh(chars) }
        }
        F::GetFormat => fresh(17),
        F::StrToDate => match literal_bytes(&args[1]) {
            Some(format) => plain(str_to_date_type(format), true),
            None => plain(DataType::datetime(6), true),
        },
        F::FromUnixtime => {
            if args.len() == 2 {
                let chars = literal_bytes(&args[1])
                    .map_or(chars_of(args, 1).saturating_mul(10).min(UNKNOWN_CHARS), format_chars);
                Typed { coercibility: args[1].coercibility, ..fresh(chars) }
            } else {
                let digits = if args[0].data_type.is_string() { 6 } else { fraction_digits(&args[0]) };
                plain(DataType::datetime(digits), true)
            }
        }
        F::UnixTimestamp => match args.first().map_or(0, |arg| read_digits(arg, context)) {
            0 => plain(int(INT_WIDTH), any_nullable),
            digits => plain(DataType::decimal(11 + u32::from(digits), digits), any_nullable),
        },

        F::JsonSearch => {
            // The texts of a document are compared in another binary collation than what JSON_VALUE gives.
            if args[2].data_type.is_string() && args[2].data_type.collation == CollationId::UTF8MB4_0900_BIN {
                let text = Value::Bytes { bytes: Vec::new(), collation: CollationId::UTF8MB4_BIN };
                let mut compared = [Expr::literal(text), args[2].clone()];
                collate::aggregate(&mut compared, "like", context, Purpose::Compare)?;
            }
            // A column's collation decides, literals are looked for as they are.
            let of = &args[2];
            let is_own = of.coercibility <= Coercibility::Implicit
                && collate::is_text(&of.data_type)
                && of.data_type.collation.charset() == Charset::Utf8mb4;
            if !is_own {
                collate::convert_unchecked(&mut args[2], CollationId::UTF8MB4_BIN)?;
            }
            plain(DataType::JSON, true)
        }
        F::JsonArray
        | F::JsonArrayAppend
        | F::JsonArrayInsert
        | F::JsonExtract
        | F::JsonInsert
        | F::JsonKeys
        | F::JsonMergePatch
        | F::JsonMergePreserve
        | F::JsonObject
        | F::JsonRemove
        | F::JsonReplace
        | F::JsonSet => plain(DataType::JSON, true),
        F::JsonContains
        | F::JsonContainsPath
        | F::JsonDepth
        | F::JsonLength
        | F::JsonValid
        | F::JsonStorageSize => plain(int(INT_WIDTH), true),
        F::JsonStorageFree => plain(int(INT_WIDTH), any_nullable),
        F::JsonOverlaps => plain(DataType::BOOL, any_nullable),
        F::JsonPretty => Typed { nullable: text_nullable, ..json_text(UNKNOWN_CHARS) },
        F::JsonQuote => json_text(chars_of(args, 0).saturating_mul(6).saturating_add(2)),
        F::JsonType => json_text(17),
        F::JsonUnquote => json_text(chars_of(args, 0)),
        F::JsonValue => json_text(512),

        F::BinToUuid => fresh(36),
        F::Uuid => Typed { coercibility: Coercibility::Literal, ..system(36, context.is_strict) },
        F::UuidToBin | F::Inet6Aton => binary(16),
        F::IsUuid => plain(DataType::BOOL, true),
        F::Compress => {
            // What zlib may need, the length before it and a mark behind it.
            let bytes = bytes_of(args, 0);
            let bound = bytes + (bytes >> 12) + (bytes >> 14) + (bytes >> 25) + 18;
            Typed { data_type: limited(bound, CollationId::BINARY), nullable: text_nullable, ..binary(0) }
        }
        F::Uncompress => binary(1 << 24),
        F::UncompressedLength => plain(int(11), any_nullable),
        F::Inet6Ntoa => fresh(39),
        F::InetNtoa => fresh(31),
        F::InetAton => plain(uint(INT_WIDTH), true),
        F::IsIpv4 | F::IsIpv4Compat | F::IsIpv4Mapped | F::IsIpv6 => plain(DataType::BOOL, any_nullable),
        F::Md5 => fresh(32),
        F::Sha1 => fresh(40),
        F::Sha2 => fresh(match constant(args.get(1)) {
            Some(224) => 56,
            Some(384) => 96,
            Some(0 | 256) => 64,
            _ => 128,
        }),
        F::RandomBytes => Typed { nullable: text_nullable, ..binary(1024) },
        F::UuidShort | F::ConnectionId | F::PsCurrentThreadId => plain(uint(INT_WIDTH), false),
        F::LastInsertId => plain(uint(INT_WIDTH), any_nullable),
        F::FoundRows | F::RowCount | F::Sleep => plain(int(INT_WIDTH), false),
        // Its definition says the type: `Binder::stored_function`.
        F::StoredFunction | F::DeterministicFunction | F::WithOperand | F::Operand => {
            plain(DataType::NULL, true)
        }
        F::GetLock | F::ReleaseLock | F::IsFreeLock => plain(int(1), true),
        F::IsUsedLock | F::ReleaseAllLocks => plain(uint(INT_WIDTH), function == F::IsUsedLock),
        F::Database => system(64, true),
        F::User | F::CurrentUser => system(288, context.is_strict),
        F::CurrentRole => system(16_384, context.is_strict),
        F::Version | F::IcuVersion => system(if function == F::Version { 7 } else { 5 }, false),
    })
}

/// Characters that fit into as many bytes as most functions say they give.
pub(super) fn limit_chars(collation: CollationId) -> u64 {
    u64::from(UNKNOWN_CHARS) / collation.charset().max_bytes_per_char() as u64
}

/// Whether a function makes a text that may be longer than `max_allowed_packet`: its value is NULL then. These functions look.
pub(super) fn may_exceed_packet(function: FunctionId, data_type: &DataType, context: &TypeContext) -> bool {
    use FunctionId as F;
    let looks = matches!(
        function,
        F::Cast
            | F::Concat
            | F::ConcatWs
            | F::ConvertUsing
            | F::ExportSet
            | F::Insert
            | F::Lpad
            | F::Quote
            | F::Repeat
            | F::Replace
            | F::Rpad
            | F::Space
            | F::ToBase64
    );
    if !looks || !data_type.is_string() {
        return false;
    }
    let bytes_per_char = data_type.collation.charset().max_bytes_per_char() as u64;
    u64::from(text_chars(data_type)) * bytes_per_char > u64::from(context.packet_bytes_max)
}

/// A text of at most this number of characters, but of no more bytes than most functions say they give.
fn limited(chars: u64, collation: CollationId) -> DataType {
    string_type(chars.min(limit_chars(collation)) as u32, collation)
}

/// A text of this collation that may have any length.
fn of_unknown_length(typed: &Typed) -> Typed {
    let data_type = string_type(UNKNOWN_CHARS, typed.data_type.collation);
    Typed { data_type, nullable: true, coercibility: typed.coercibility }
}

fn json_text(chars: u32) -> Typed {
    Typed {
        data_type: string_type(chars, CollationId::UTF8MB4_BIN),
        nullable: true,
        coercibility: Coercibility::Literal,
    }
}

/// Longest result of DATE_FORMAT with a constant format.
fn format_chars(format: &[u8]) -> u32 {
    let mut chars = 0;
    let mut bytes = format.iter();
    while let Some(&byte) = bytes.next() {
        chars += match (byte, if byte == b'%' { bytes.next() } else { None }) {
            (b'%', Some(b'M' | b'W')) => 64,
            (b'%', Some(b'D' | b'Y' | b'x' | b'X')) => 4,
            (b'%', Some(b'a' | b'b')) => 32,
            (b'%', Some(b'j')) => 3,
            (
                b'%',
                Some(
                    b'u' | b'U' | b'v' | b'V' | b'y' | b'm' | b'd' | b'h' | b'i' | b'I' | b'l' | b'p' | b'S'
                    | b's' | b'c' | b'e',
                ),
            ) => 2,
            (b'%', Some(b'k' | b'H')) => 7,
            (b'%', Some(b'r')) => 11,
            (b'%', Some(b'T')) => 8,
            (b'%', Some(b'f')) => 6,
            (b'%', Some(b'w' | b'%')) => 1,
            _ => 1,
        };
    }
    chars
}

/// What STR_TO_DATE gives for a constant format: the parts named decide.
fn str_to_date_type(format: &[u8]) -> DataType {
    let (mut date, mut time, mut fraction) = (false, false, false);
    let mut bytes = format.iter();
    while let Some(&byte) = bytes.next() {
        if byte != b'%' {
            continue;
        }
        match bytes.next() {
            Some(b'f') => fraction = true,
            Some(b'H' | b'h' | b'I' | b'i' | b'k' | b'l' | b'p' | b'r' | b'S' | b's' | b'T') => time = true,
            Some(b'%') | None => {}
            Some(_) => date = true,
        }
    }
    let digits = if fraction { 6 } else { 0 };
    match (date, time || fraction) {
        (true, true) => DataType::datetime(digits),
        (false, true) => DataType::time(digits),
        _ => DataType::DATE,
    }
}
