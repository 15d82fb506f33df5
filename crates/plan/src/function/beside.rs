//! Arguments that MySQL converts to what stands beside them before it looks at the call.

use super::{FunctionId, TypeContext, collate};
use crate::expr::{CallOption, Coercibility, ColumnId, Expr, ExprKind};
use types::temporal::Time;
use types::temporal::parse::{DateMode, datetime_from_number, parse_time, time_from_number};
use types::{CollationId, DataType, TypeKind, Value};

/// Which argument a function searches or changes, and which ones it brings to that one's character set.
fn texts_of(function: FunctionId) -> Option<(usize, &'static [usize])> {
    use FunctionId as F;
    Some(match function {
        F::Instr | F::SubstringIndex | F::Trim | F::LTrim | F::RTrim => (0, &[1]),
        F::Locate => (1, &[0]),
        F::Replace => (0, &[1, 2]),
        F::Insert => (0, &[3]),
        F::Lpad | F::Rpad => (0, &[2]),
        F::Quote => (usize::MAX, &[0]),
        _ => return None,
    })
}

/// What a constant that has become a year says of its width.
const BIGINT_WIDTH: u32 = 22;

/// A literal that no YEAR column holds.
fn is_no_year(literal: &Expr) -> bool {
    let number = match &literal.kind {
        ExprKind::Literal(Value::Int(number)) => *number,
        #[allow(clippy::cast_possible_truncation, reason = "what lies beyond is no year")]
        ExprKind::Literal(Value::Double(number)) => *number as i64,
        ExprKind::Literal(Value::Decimal(number)) => number.to_i64().unwrap_or(i64::MAX),
        ExprKind::Literal(Value::Bytes { bytes, collation }) if !literal.data_type.is_hex_literal() => {
            let bytes = &*collation.charset().readable(bytes);
            let parsed = types::number::parse_integer_rounded(bytes);
            if parsed.consumed == 0 {
                return !bytes.trim_ascii().is_empty();
            }
            i64::try_from(parsed.value).unwrap_or(i64::MAX)
        }
        ExprKind::Call { function: FunctionId::Neg, args, .. } => {
            return matches!(args[0].kind, ExprKind::Literal(_));
        }
        _ => return false,
    };
    !matches!(number, 0..=99 | 1901..=2155)
}

fn is_bytes(data_type: &DataType) -> bool {
    data_type.is_binary_string() || data_type.kind == TypeKind::Bit
}

fn wrap(arg: &mut Expr, option: CallOption, data_type: DataType, coercibility: Coercibility) {
    let inner = std::mem::replace(arg, Expr::null());
    let nullable = inner.nullable;
    let kind = ExprKind::Call { function: FunctionId::Cast, args: vec![inner], option };
    *arg = Expr { kind, data_type, nullable, coercibility };
}

/// Bytes that are searched for in characters, or put among them, become such characters; error 3854 where they are none.
fn bytes_beside_characters(function: FunctionId, args: &mut [Expr], context: &TypeContext) {
    let Some((subject, others)) = texts_of(function) else { return };
    let collation = match args.get(subject).map(|subject| &subject.data_type) {
        Some(subject) if is_bytes(subject) || subject.kind == TypeKind::Null => return,
        Some(subject) if subject.kind == TypeKind::Json => CollationId::UTF8MB4_BIN,
        Some(subject) if collate::is_text(subject) => subject.collation,
        _ => context.connection_collation,
    };
    for &other in others {
        if let Some(arg) = args.get_mut(other).filter(|arg| is_bytes(&arg.data_type)) {
            let chars = arg.data_type.bytes_max().min(u64::from(u32::MAX)) as u32;
            let data_type = super::shape::string_type(chars, collation);
            wrap(arg, CallOption::Characters, data_type, Coercibility::Literal);
        }
    }
}

fn holds_value_of_client(expr: &Expr, context: &TypeContext) -> bool {
    context.fixes_parameters && expr.any(&mut |node| matches!(node.kind, ExprKind::Param(_)))
}

/// A constant beside a YEAR column is a year as that column would store it: 1 is 2001.
fn constants_beside_years(function: FunctionId, args: &mut [Expr], context: &TypeContext) {
    use FunctionId as F;
    let pairs: &[(usize, usize)] = match function {
        F::Eq | F::NullSafeEq | F::Ne | F::Lt | F::Le | F::Gt | F::Ge | F::Strcmp => &[(0, 1), (1, 0)],
        F::NullIf => &[(0, 1), (1, 0)],
        F::Between => &[(0, 1), (0, 2)],
        _ => return,
    };
    for &(column, constant) in pairs {
        // A year that is computed is not padded with zeros.
        let is_year = |expr: &Expr| {
            let of = &expr.data_type;
            matches!(expr.kind, ExprKind::Column(_)) && of.kind == TypeKind::Year && of.zerofill
        };
        // A date that is a parameter stays a date.
        let has_year = |expr: &Expr| match expr.data_type.kind {
            // The value is not known when years are looked for; see `years_of_parameters`.
            _ if holds_value_of_client(expr, context) => false,
            TypeKind::Null | TypeKind::Json | TypeKind::Time | TypeKind::Year => false,
            _ => !expr.data_type.has_date() || !matches!(expr.kind, ExprKind::Param(_)),
        };
        // What NULLIF gives stays what it is if it is no year, or if the client sends it.
        let is_given = function == F::NullIf && constant == 0 && !gives_year(&args[0], context);
        if is_year(&args[column]) && args[constant].is_constant() && has_year(&args[constant]) && !is_given {
            // A number that is none compares as it is, and so does a text for STRCMP.
            if function == F::NullIf && is_no_year(&args[constant])
                || function == F::Strcmp && begins_with_no_number(&args[constant])
            {
                continue;
            }
            // Only NULLIF says that it is a year; compared it may be below zero.
            let data_type = match function {
                F::NullIf => DataType { length: BIGINT_WIDTH, ..DataType::COMPUTED_YEAR },
                _ => DataType::BIGINT,
            };
            wrap(&mut args[constant], CallOption::BesideYear, data_type, Coercibility::Numeric);
        }
    }
}

/// An integer of a client that a condition says is equal to a YEAR column is a year as that column would store it: 99 is 1999. Elsewhere it is
/// the number that comes.
pub(crate) fn years_of_parameters(condition: &mut Expr, context: &TypeContext) {
    use FunctionId as F;
    let ExprKind::Call { function, args, .. } = &mut condition.kind else { return };
    match function {
        F::And | F::Or => args.iter_mut().for_each(|part| years_of_parameters(part, context)),
        F::Eq => {
            for (column, constant) in [(0, 1), (1, 0)] {
                let of = &args[column].data_type;
                let is_year = matches!(args[column].kind, ExprKind::Column(_))
                    && of.kind == TypeKind::Year
                    && of.zerofill;
                let other = &args[constant];
                if is_year
                    && other.is_constant()
                    && other.data_type.is_integer()
                    && holds_value_of_client(other, context)
                {
                    wrap(
                        &mut args[constant],
                        CallOption::BesideYear,
                        DataType::BIGINT,
                        Coercibility::Numeric,
                    );
                }
            }
        }
        _ => {}
    }
}

/// Whether the first operand of NULLIF becomes the year that it is beside a YEAR column.
fn gives_year(value: &Expr, context: &TypeContext) -> bool {
    match &value.kind {
        ExprKind::Param(_) => !context.fixes_parameters,
        ExprKind::Literal(Value::Bytes { bytes, collation }) if !value.data_type.is_hex_literal() => {
            types::number::parse_double(&collation.charset().readable(bytes)).consumed > 0
        }
        _ => true,
    }
}

/// NULLIF gives a literal beside a column of times or dates as the column would keep it, if it is wholly such a value: a number beside a
/// date, and any but a time beside a time.
fn given_beside_times(function: FunctionId, args: &mut [Expr]) {
    if function != FunctionId::NullIf || !matches!(args[1].kind, ExprKind::Column(_)) {
        return;
    }
    let ExprKind::Literal(value) = &args[0].kind else { return };
    let of = &args[1].data_type;
    match of.kind {
        TypeKind::Time => {
            if let Some(time) = time_given(value, &args[0].data_type) {
                let micros = types::temporal::round_micros(time.micros, of.scale);
                let data_type = DataType::time(of.scale);
                args[0] = Expr { data_type, ..Expr::literal(Value::Time(Time { micros })) };
            }
        }
        TypeKind::Date => {
            let whole = number_given(value).and_then(|micros| i64::try_from(micros / MICROS).ok());
            let date = whole.and_then(|whole| datetime_from_number(whole, DateMode::default()).ok());
            if let Some((date, _)) = date.filter(|(date, _)| !date.has_zero_part() || whole == Some(0)) {
                args[0] = Expr::literal(Value::Date(date.date_part()));
            }
        }
        _ => {}
    }
}

const MICROS: i128 = 1_000_000;

/// Millionths of an exact number.
fn number_given(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number) * MICROS),
        Value::Decimal(number) => number.to_units(6),
        _ => None,
    }
}

/// The time that a TIME column keeps of a value, if that is wholly one.
fn time_given(value: &Value, data_type: &DataType) -> Option<Time> {
    match value {
        Value::Date(_) => Some(Time { micros: 0 }),
        Value::DateTime(value) => Some(value.time_part()),
        Value::Bytes { bytes, collation } if !data_type.is_hex_literal() => {
            let parsed = parse_time(&collation.charset().readable(bytes)).ok()?;
            (!parsed.truncated && !parsed.out_of_range).then_some(parsed.value)
        }
        _ => {
            let micros = number_given(value)?;
            let whole = time_from_number(i64::try_from(micros / MICROS).ok()?).ok()?;
            let fraction = i64::try_from(micros % MICROS).ok()?;
            let value = Time { micros: whole.value.micros + fraction };
            (!whole.out_of_range && value.in_range()).then_some(value)
        }
    }
}

/// A constant beside a TIME column is a time with as many digits as the column keeps: 9:59:59.6 is ten o'clock beside a TIME. A literal that is
/// a TIME stays what it is.
fn constants_beside_times(function: FunctionId, args: &mut [Expr], context: &TypeContext) {
    use FunctionId as F;
    let pairs: &[(usize, usize)] = match function {
        F::Eq | F::NullSafeEq | F::Ne | F::Lt | F::Le | F::Gt | F::Ge => &[(0, 1), (1, 0)],
        F::NullIf => &[(0, 1)],
        _ => return,
    };
    for &(column, constant) in pairs {
        let of = &args[column].data_type;
        if of.kind != TypeKind::Time || !matches!(args[column].kind, ExprKind::Column(_)) {
            continue;
        }
        let scale = of.scale;
        let value = &args[constant];
        let is_converted = match value.data_type.kind {
            TypeKind::DateTime | TypeKind::Timestamp => true,
            // A literal is a text that is cast, and never NULL.
            TypeKind::Time => match value.kind {
                ExprKind::Call { function: F::Cast, .. } => value.nullable,
                _ => !matches!(value.kind, ExprKind::Literal(_) | ExprKind::Param(_)),
            },
            _ => false,
        };
        if is_converted && value.is_constant() && !holds_value_of_client(value, context) {
            let value = std::mem::replace(&mut args[constant], Expr::null());
            args[constant] = super::cast(value, DataType::time(scale));
        }
    }
}

/// STRCMP and NULLIF make a literal beside a BIGINT column a BIGINT, if that changes no digit. A text that is none is the number that it
/// begins with.
fn constants_beside_bigints(function: FunctionId, args: &mut [Expr]) {
    let pairs: &[(usize, usize)] = match function {
        FunctionId::Strcmp => &[(0, 1), (1, 0)],
        FunctionId::NullIf => &[(1, 0)],
        _ => return,
    };
    for &(column, constant) in pairs {
        let is_bigint = matches!(args[column].kind, ExprKind::Column(_))
            && args[column].data_type.kind == TypeKind::BigInt;
        if !is_bigint {
            continue;
        }
        let number = match &args[constant].kind {
            ExprKind::Literal(Value::Bytes { bytes, collation })
                if !args[constant].data_type.is_hex_literal() =>
            {
                let bytes = &*collation.charset().readable(bytes);
                let parsed = types::number::parse_double(bytes);
                if bytes[parsed.consumed..].iter().any(|&byte| !types::number::is_space(byte)) {
                    let text = std::mem::replace(&mut args[constant], Expr::null());
                    args[constant] = super::cast(super::cast(text, DataType::DOUBLE), DataType::BIGINT);
                    continue;
                }
                let is_whole = parsed.value.fract() == 0.0;
                is_whole.then(|| types::number::parse_integer_rounded(bytes).value)
            }
            ExprKind::Literal(Value::Decimal(value)) => {
                value.to_units(0).filter(|&whole| types::Decimal::from_units(whole, 0) == *value)
            }
            _ => None,
        };
        if let Some(number) = number.and_then(|number| i64::try_from(number).ok()) {
            args[constant] = Expr::int(number);
        }
    }
}

/// A constant document beside a BIGINT column is the number that the column would store for it. `is_stored` says of a column
/// whether it is one of a table or of a derived table that is kept: what is computed in its place converts nothing.
pub(crate) fn documents_beside_bigints(
    function: FunctionId,
    args: &mut [Expr],
    is_stored: impl Fn(ColumnId) -> bool,
) {
    use FunctionId as F;
    if !matches!(
        function,
        F::Eq | F::NullSafeEq | F::Ne | F::Lt | F::Le | F::Gt | F::Ge | F::Strcmp | F::NullIf
    ) {
        return;
    }
    for (column, constant) in [(0, 1), (1, 0)] {
        let of = &args[column].data_type;
        let is_bigint = of.kind == TypeKind::BigInt && args[column].as_column().is_some_and(&is_stored);
        if is_bigint && args[constant].data_type.kind == TypeKind::Json && args[constant].is_constant() {
            let data_type = DataType { unsigned: of.unsigned, ..args[constant].data_type.clone() };
            let coercibility = args[constant].coercibility;
            wrap(&mut args[constant], CallOption::BesideBigInt, data_type, coercibility);
        }
    }
}

/// FIELD compares dates, times and documents among texts as texts.
fn texts_of_field(args: &mut [Expr], context: &TypeContext) {
    if args.iter().any(|arg| arg.data_type.is_numeric()) {
        return;
    }
    for arg in args {
        let collation = match arg.data_type.kind {
            TypeKind::Json => CollationId::UTF8MB4_BIN,
            _ if arg.data_type.is_temporal() => context.connection_collation,
            _ => continue,
        };
        let data_type = super::whole_text(std::slice::from_ref(arg), collation);
        wrap(arg, CallOption::Whole, data_type, Coercibility::Numeric);
    }
}

/// Converts the arguments of a call that others determine.
pub(super) fn convert(function: FunctionId, args: &mut [Expr], context: &TypeContext) {
    bytes_beside_characters(function, args, context);
    constants_beside_years(function, args, context);
    given_beside_times(function, args);
    constants_beside_times(function, args, context);
    constants_beside_bigints(function, args);
    if function == FunctionId::Field {
        texts_of_field(args, context);
    }
}

/// STRCMP of a date, time or year and a constant compares such, not texts.
pub(super) fn is_strcmp_of_temporal(function: FunctionId, args: &[Expr]) -> bool {
    let is_column = |expr: &Expr| {
        matches!(expr.kind, ExprKind::Column(_))
            && (expr.data_type.is_temporal() || expr.data_type.kind == TypeKind::Year)
    };
    let is_one = |column: &Expr, constant: &Expr| {
        let is_no_year = column.data_type.kind == TypeKind::Year && begins_with_no_number(constant);
        is_column(column) && constant.is_constant() && !is_no_year
    };
    function == FunctionId::Strcmp && (is_one(&args[0], &args[1]) || is_one(&args[1], &args[0]))
}

/// A literal text that does not begin with a number: no year.
fn begins_with_no_number(constant: &Expr) -> bool {
    let ExprKind::Literal(Value::Bytes { bytes, collation }) = &constant.kind else { return false };
    let bytes = collation.charset().readable(bytes);
    !constant.data_type.is_hex_literal() && types::number::parse_double(&bytes).consumed == 0
}
