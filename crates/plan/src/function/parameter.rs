//! Types that parameters of a prepared statement take from their context, as in MySQL: from the function around them, or from the
//! first operand beside them that is no parameter.
//!
//! A parameter comes in as a text ([`untyped`]) and is one where nothing says otherwise. Whether a value fits its type is
//! found when the statement is executed; if one does not, the statement is bound again, numbers and times with types of their own.

use super::merge::merge_all;
use super::open;
use super::shape::{INT_WIDTH, Width, int, uint};
use super::{FunctionId, TypeContext};
use crate::expr::{CallOption, Coercibility, Expr, ExprKind};
use syntax::ast::IntervalUnit;
use types::charset::Charset;
use types::data_type::{DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX, FRACTION_DIGITS_MAX, SCALE_NOT_FIXED};
use types::{CollationId, DataType, TypeKind};

/// Bytes of the longest parameter that is a text.
const TEXT_BYTES: u32 = 65_535;

/// The type of a parameter of which nothing is known: the longest VARCHAR.
pub(crate) fn untyped(collation: CollationId) -> DataType {
    DataType::varchar(TEXT_BYTES / collation.charset().max_bytes_per_char() as u32, collation)
}

/// A text that is bound again where its context wanted nothing else: a text whatever stands beside it, unlike [`untyped`] ones.
#[must_use]
pub fn sent_text(collation: CollationId) -> DataType {
    DataType { scale: SCALE_NOT_FIXED, ..untyped(collation) }
}

fn is_sent_text(expr: &Expr, context: &TypeContext) -> bool {
    context.binds_again
        && matches!(expr.kind, ExprKind::Param(_))
        && expr.data_type == sent_text(context.connection_collation)
}

/// A parameter to which its context has given no type.
pub(crate) fn is_untyped(expr: &Expr, context: &TypeContext) -> bool {
    context.fixes_parameters
        && matches!(expr.kind, ExprKind::Param(_))
        && expr.coercibility == Coercibility::Literal
        && expr.data_type == untyped(context.connection_collation)
}

/// A text that did not fit the number or date that its context wants: as long as the texts of one byte per character are.
#[must_use]
pub fn unfit(collation: CollationId) -> DataType {
    DataType { length: TEXT_BYTES, ..untyped(collation) }
}

pub(super) fn is_unfit(expr: &Expr, context: &TypeContext) -> bool {
    context.binds_again
        && matches!(expr.kind, ExprKind::Param(_))
        && expr.data_type.kind == TypeKind::VarChar
        && expr.data_type.length == TEXT_BYTES
        && expr.data_type.collation != CollationId::BINARY
}

/// The room of values of which one is chosen. Untyped parameters among them have that of the first one's type, which they have for MySQL.
pub(super) fn widths(args: &[Expr], context: &TypeContext) -> Vec<Width> {
    let first = args.iter().find(|arg| !is_untyped(arg, context)).filter(|_| context.fixes_parameters);
    args.iter()
        .map(|arg| match first {
            Some(first) if is_untyped(arg, context) => width_beside(arg, &first.data_type, context),
            Some(_) if is_sent_text(arg, context) => {
                let others = args.iter().map(|arg| &arg.data_type);
                let charset = others.filter_map(|of| charset_of(of, context)).next();
                charset.map_or(Width::of(&arg.data_type), |of| Width::of_parameter(of.charset()))
            }
            _ => Width::of(&arg.data_type),
        })
        .collect()
}

fn width_beside(arg: &Expr, first: &DataType, context: &TypeContext) -> Width {
    match type_beside(first) {
        Some(given) => Width::of(&given),
        // Its bytes are taken for characters.
        None if first.kind == TypeKind::Null && !context.binds_again => Width::of_parameter_beside_null(),
        None if first.is_binary_string() && !context.binds_again => {
            Width::of_parameter_of_bytes(&arg.data_type)
        }
        None => match charset_of(first, context) {
            Some(collation) => Width::of_parameter(collation.charset()),
            None => Width::of(&arg.data_type),
        },
    }
}

/// The character set that the untyped parameters among `args` get: that of the first operand that is none, if it is a text of
/// another character set than the connection's. Answers its collation.
pub(crate) fn charset_beside(args: &[Expr], context: &TypeContext) -> Option<CollationId> {
    let has_untyped = context.fixes_parameters && args.iter().any(|arg| is_untyped(arg, context));
    let first = args.iter().find(|arg| !is_untyped(arg, context)).filter(|_| has_untyped)?;
    charset_of(&first.data_type, context)
}

/// The collation of a text of another character set than the connection's.
pub(crate) fn charset_of(of: &DataType, context: &TypeContext) -> Option<CollationId> {
    let charset = of.collation.charset();
    let is_other = charset != Charset::Binary && charset != context.connection_collation.charset();
    (is_other && (of.is_string() || of.members.is_some())).then_some(of.collation)
}

pub(super) fn set_type(expr: &mut Expr, data_type: DataType) {
    if !data_type.is_string() {
        expr.coercibility = Coercibility::Numeric;
    }
    expr.data_type = data_type;
}

/// Gives a parameter without a type this one.
fn set_type_if_untyped(arg: &mut Expr, data_type: &DataType, context: &TypeContext) {
    if is_untyped(arg, context) {
        set_type(arg, data_type.clone());
    }
}

/// Gives the untyped parameters among `args` a type, and calls of such parameters one of numbers; what chooses among such parameters one of
/// dates as well.
fn set_types(args: &mut [Expr], data_type: &DataType, context: &TypeContext) {
    for arg in args {
        if is_untyped(arg, context) {
            set_type(arg, data_type.clone());
        } else if context.fixes_parameters
            && (data_type.is_numeric()
                || (data_type.has_date() || data_type.is_binary_string()) && open::is_choice(arg))
            && arg.data_type != *data_type
            && open::is_open(arg, context)
            && let Ok(given) = open::with_type(arg.clone(), data_type, context)
        {
            *arg = given;
        }
    }
}

fn integer() -> DataType {
    int(INT_WIDTH)
}

fn decimal() -> DataType {
    DataType::decimal(DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX)
}

fn bytes() -> DataType {
    DataType::varchar(TEXT_BYTES, CollationId::BINARY)
}

fn datetime() -> DataType {
    DataType::datetime(FRACTION_DIGITS_MAX)
}

fn time() -> DataType {
    DataType::time(FRACTION_DIGITS_MAX)
}

/// The type of a parameter beside an operand of this type; `None`: it stays a text.
fn type_beside(of: &DataType) -> Option<DataType> {
    Some(match of.kind {
        TypeKind::Year => DataType::COMPUTED_YEAR,
        _ if of.is_integer() && of.unsigned => uint(INT_WIDTH),
        _ if of.is_integer() => integer(),
        TypeKind::Decimal => decimal(),
        TypeKind::Float | TypeKind::Double => DataType::DOUBLE,
        TypeKind::Date => DataType::DATE,
        TypeKind::Time => time(),
        TypeKind::DateTime | TypeKind::Timestamp => datetime(),
        _ => return None,
    })
}

/// Types parameters by the first operand that is none; by `otherwise` if there are only parameters.
fn derive_beside(args: &mut [Expr], otherwise: Option<DataType>, context: &TypeContext) {
    if !context.fixes_parameters {
        return;
    }
    let known = |arg: &&Expr| !is_untyped(arg, context);
    // Long sums of parameters need no look into them.
    let are_double = otherwise.as_ref() == Some(&DataType::DOUBLE)
        && args.iter().filter(known).all(|arg| arg.data_type == DataType::DOUBLE);
    // A parameter that is bound again with its own type is none for the others where all are parameters.
    let is_again =
        |arg: &Expr| context.binds_again && otherwise.is_some() && matches!(arg.kind, ExprKind::Param(_));
    let has_own = |arg: &&Expr| known(arg) && !is_again(arg) && !open::is_open(arg, context);
    let given = match args.iter().filter(|_| !are_double).find(has_own) {
        Some(first) => type_beside(&first.data_type),
        None => otherwise.or_else(|| type_beside(&args.iter().find(known)?.data_type)),
    };
    if let Some(data_type) = given {
        set_types(args, &data_type, context);
    }
}

/// Types parameters that are compared: beside a YEAR they are numbers, of which a constant of two digits becomes a year.
pub(crate) fn derive_compared(args: &mut [Expr], context: &TypeContext) {
    characters_beside_null(args, context);
    let first = args.iter().find(|arg| !is_untyped(arg, context));
    if context.fixes_parameters && first.is_some_and(|first| first.data_type.kind == TypeKind::Year) {
        set_types(args, &integer(), context);
    } else {
        derive_beside(args, None, context);
    }
}

/// Types parameters among values of which one is chosen: where the others have a text for their common type they are texts.
pub(crate) fn derive_chosen(args: &mut [Expr], context: &TypeContext) {
    // What chooses among parameters alone is one itself.
    let is_free = |arg: &Expr| {
        is_untyped(arg, context)
            || context.fixes_parameters && open::is_choice(arg) && open::is_open(arg, context)
    };
    let known = args.iter().filter(|arg| !is_free(arg)).map(|arg| &arg.data_type);
    if let Some(data_type) = text_beside(args, context) {
        set_types(args, &data_type, context);
    } else if !merge_all(known).is_string() {
        derive_beside(args, None, context);
    }
}

/// The same among the arms of IF, CASE and NULLIF: beside bits they stay texts.
pub(crate) fn derive_arms(args: &mut [Expr], context: &TypeContext) {
    let known = args.iter().find(|arg| !is_untyped(arg, context));
    if known.is_none_or(|known| known.data_type.kind != TypeKind::Bit) {
        derive_chosen(args, context);
    }
}

/// The text that a parameter is beside a TEXT or BLOB, and beside nothing but NULL.
fn text_beside(args: &[Expr], context: &TypeContext) -> Option<DataType> {
    if !context.fixes_parameters || context.binds_again {
        return None;
    }
    let mut known = args.iter().filter(|arg| !is_untyped(arg, context)).map(|arg| &arg.data_type);
    let first = known.next()?;
    match first.kind {
        TypeKind::Null => known.all(|of| of.kind == TypeKind::Null).then(|| untyped(CollationId::BINARY)),
        _ if first.is_text_or_blob() => {
            let is_bytes = first.is_binary_string();
            let collation = if is_bytes { CollationId::BINARY } else { context.connection_collation };
            Some(DataType::text(TypeKind::LongText, collation))
        }
        _ => None,
    }
}

/// Types the parameter that a cast converts.
pub(crate) fn derive_cast(arg: &mut Expr, to: &DataType, context: &TypeContext) {
    if !is_untyped(arg, context) {
        return;
    }
    let given = match to.kind {
        // A TIME is taken out of a date, too.
        TypeKind::Time => datetime(),
        // What makes a year of a number is the cast.
        _ if to.unsigned && to.is_integer() => integer(),
        _ => match type_beside(to) {
            Some(given) => given,
            None => return,
        },
    };
    set_type(arg, given);
}

/// Types a parameter whose truth is asked.
pub(crate) fn derive_condition(arg: &mut Expr, context: &TypeContext) {
    set_types(std::slice::from_mut(arg), &integer(), context);
}

/// Types a parameter that is added up.
pub(crate) fn derive_summed(arg: &mut Expr, is_deviation: bool, context: &TypeContext) {
    let given = if is_deviation { decimal() } else { DataType::DOUBLE };
    set_types(std::slice::from_mut(arg), &given, context);
}

/// Types the parameters of a call of which MIN or MAX is asked; a parameter by itself stays a text.
pub(crate) fn derive_extreme(arg: &mut Expr, context: &TypeContext) {
    if !is_untyped(arg, context) {
        set_types(std::slice::from_mut(arg), &DataType::DOUBLE, context);
    }
}

/// Types a parameter that goes into a column of this type.
pub(crate) fn derive_stored(arg: &mut Expr, column: &DataType, context: &TypeContext) {
    let given = match column.kind {
        // What makes a year of a number is its being stored.
        TypeKind::Year => Some(integer()),
        _ => type_beside(column),
    };
    if let Some(data_type) = given {
        set_type_if_untyped(arg, &data_type, context);
    }
}

/// Types a parameter of LIMIT.
pub(crate) fn derive_limit(arg: &mut Expr, context: &TypeContext) {
    set_type_if_untyped(arg, &uint(INT_WIDTH), context);
}

/// Types a parameter that is a number of rows.
pub(crate) fn derive_count(arg: &mut Expr, context: &TypeContext) {
    set_type_if_untyped(arg, &integer(), context);
}

/// What is added to a date: a number of units, of seconds with a fraction; texts of several units.
fn interval_type(unit: IntervalUnit) -> Option<DataType> {
    use IntervalUnit as U;
    match unit {
        U::Microsecond | U::Minute | U::Hour | U::Day | U::Week | U::Month | U::Quarter | U::Year => {
            Some(integer())
        }
        U::Second => Some(decimal()),
        _ => None,
    }
}

/// The date to which an interval is added: without a time of day where the interval has none.
fn date_type(unit: IntervalUnit) -> DataType {
    use IntervalUnit as U;
    match unit {
        U::Day | U::Week | U::Month | U::Quarter | U::Year | U::YearMonth => DataType::DATE,
        _ => datetime(),
    }
}

/// Whether the function reads the time of day of its first argument, from a number or text that is no date as well.
pub(crate) fn reads_time(function: FunctionId) -> bool {
    use FunctionId as F;
    matches!(
        function,
        F::Hour
            | F::Microsecond
            | F::Minute
            | F::Second
            | F::Time
            | F::UnixTimestamp
            | F::Year
            | F::Extract
            | F::Cast
    )
}

/// Parameters among which nothing but NULL is chosen are said to be bytes; what reads them reads the characters that the client sends.
fn characters_beside_null(args: &mut [Expr], context: &TypeContext) {
    if !context.fixes_parameters {
        return;
    }
    for arg in args {
        if arg.data_type == untyped(CollationId::BINARY) && open::is_choice(arg) && is_of_parameters(arg) {
            let characters = untyped(context.connection_collation);
            if let Ok(given) = open::with_type(arg.clone(), &characters, context) {
                *arg = given;
            }
        }
    }
}

/// A choice of parameters and NULL.
fn is_of_parameters(expr: &Expr) -> bool {
    crate::progress::step();
    match &expr.kind {
        ExprKind::Param(_) => true,
        ExprKind::Literal(value) => value.is_null(),
        ExprKind::Call { function: FunctionId::If, args, .. } => args[1..].iter().all(is_of_parameters),
        ExprKind::Call { function: FunctionId::Coalesce | FunctionId::IfNull, args, .. } => {
            args.iter().all(is_of_parameters)
        }
        ExprKind::Case { whens, otherwise } => {
            whens.iter().map(|(_, then)| then).chain(otherwise.as_deref()).all(is_of_parameters)
        }
        _ => false,
    }
}

/// Gives the parameters among a call's arguments the types that the function wants.
pub(crate) fn derive(function: FunctionId, args: &mut [Expr], option: &CallOption, context: &TypeContext) {
    use FunctionId as F;
    if !context.fixes_parameters {
        return;
    }
    if !matches!(
        function,
        F::If
            | F::IfNull
            | F::Coalesce
            | F::NullIf
            | F::Greatest
            | F::Least
            | F::AnyValue
            | F::Charset
            | F::Collation
            | F::Coercibility
    ) {
        characters_beside_null(args, context);
    }
    let has_text = args.iter().any(|arg| arg.data_type.is_string() && !is_untyped(arg, context));
    let has_bytes = args.iter().any(|arg| arg.data_type.is_binary_string() && !is_untyped(arg, context));
    let has_number = args.iter().any(|arg| arg.data_type.is_numeric());
    let are_free = args
        .iter()
        .all(|arg| is_untyped(arg, context) || open::is_choice(arg) && open::is_open(arg, context));
    let is_beside_bits = args.get(1).is_some_and(|arg| arg.data_type.kind == TypeKind::Bit);
    let first = args.iter().find(|arg| !is_untyped(arg, context));
    let is_beside_temporal = first.is_some_and(|first| first.data_type.is_temporal());
    let mut at = |position: usize, data_type: DataType| {
        if let Some(arg) = args.get_mut(position) {
            set_types(std::slice::from_mut(arg), &data_type, context);
        }
    };
    match function {
        F::Add | F::Sub | F::Mul | F::Div | F::Mod => derive_beside(args, Some(DataType::DOUBLE), context),
        F::IntDiv => derive_beside(args, Some(integer()), context),
        F::NullIf if is_beside_bits => {}
        F::Eq | F::NullSafeEq | F::Ne | F::Lt | F::Le | F::Gt | F::Ge | F::Between => {
            derive_compared(args, context);
        }
        F::NullIf => match text_beside(args, context) {
            Some(data_type) => set_types(args, &data_type, context),
            None => derive_beside(args, None, context),
        },
        // Beside a date or time that comes first parameters are such, whatever else there is.
        F::Greatest | F::Least if is_beside_temporal => derive_beside(args, None, context),
        F::IfNull | F::Coalesce | F::Greatest | F::Least => derive_chosen(args, context),
        F::Interval => derive_beside(args, Some(integer()), context),
        F::If => {
            at(0, integer());
            derive_arms(&mut args[1..], context);
        }
        // Texts as long as one is among them.
        F::Field if !has_text => {
            derive_beside(args, None, context);
        }
        // What is bound again is a text, and no bytes.
        F::BitOr | F::BitAnd | F::BitXor if context.binds_again => {
            for arg in args.iter_mut() {
                if matches!(arg.kind, ExprKind::Param(_)) && arg.data_type.is_string() {
                    set_type(arg, sent_text(context.connection_collation));
                }
            }
        }
        F::BitOr | F::BitAnd | F::BitXor if has_number => {
            derive_beside(args, None, context);
        }
        // Beside bytes it is bytes, whatever text comes.
        F::BitOr | F::BitAnd | F::BitXor if has_bytes => {
            set_types(args, &bytes(), context);
        }
        // Parameters alone are bytes as well, until a number comes.
        F::BitOr | F::BitAnd | F::BitXor if are_free => set_types(args, &bytes(), context),
        F::BitNot | F::BitCount if !context.binds_again => set_types(args, &bytes(), context),
        F::ShiftLeft | F::ShiftRight => {
            at(1, integer());
            if !context.binds_again {
                at(0, bytes());
            }
        }
        F::And | F::Or | F::Xor | F::Not | F::IsTrue | F::IsFalse => set_types(args, &integer(), context),
        F::Neg
        | F::Abs
        | F::Acos
        | F::Asin
        | F::Atan
        | F::Atan2
        | F::Ceil
        | F::Cos
        | F::Cot
        | F::Degrees
        | F::Exp
        | F::Floor
        | F::Ln
        | F::Log
        | F::Log10
        | F::Log2
        | F::Pow
        | F::Radians
        | F::Sign
        | F::Sin
        | F::Sqrt
        | F::Tan => set_types(args, &DataType::DOUBLE, context),
        F::Round | F::Truncate | F::Format => {
            at(0, decimal());
            at(1, integer());
        }
        F::FromUnixtime | F::SecToTime => at(0, decimal()),
        F::Char => set_types(args, &integer(), context),
        F::Rand => at(0, DataType::DOUBLE),
        F::Conv => {
            at(1, integer());
            at(2, integer());
        }
        F::Bin | F::Oct | F::FromDays | F::MakeDate | F::PeriodAdd | F::PeriodDiff | F::InetNtoa => {
            set_types(args, &integer(), context);
        }
        F::MakeTime => {
            at(2, decimal());
            set_types(&mut args[..2], &integer(), context);
        }
        F::Elt | F::ExportSet | F::MakeSet | F::Space => {
            at(0, integer());
            if function == F::ExportSet {
                at(4, integer());
            }
        }
        F::Insert => {
            at(1, integer());
            at(2, integer());
        }
        F::Left | F::Right | F::Repeat | F::Lpad | F::Rpad | F::Sha2 => at(1, integer()),
        F::Locate | F::SubstringIndex => at(2, integer()),
        F::Substring => {
            at(1, integer());
            at(2, integer());
        }
        F::RegexpSubstr => {
            at(2, integer());
            at(3, integer());
        }
        F::RegexpReplace => {
            at(3, integer());
            at(4, integer());
        }
        F::Date => at(0, DataType::DATE),
        F::AddTime | F::SubTime => set_types(args, &time(), context),
        F::TimeToSec => at(0, time()),
        F::Timestamp => {
            at(1, time());
            at(0, datetime());
        }
        F::TimeDiff => derive_beside(args, None, context),
        F::ConvertTz
        | F::DateFormat
        | F::DayName
        | F::DayOfMonth
        | F::DayOfWeek
        | F::DayOfYear
        | F::Hour
        | F::LastDay
        | F::Microsecond
        | F::Minute
        | F::Month
        | F::MonthName
        | F::Quarter
        | F::Second
        | F::Time
        | F::TimeFormat
        | F::ToDays
        | F::ToSeconds
        | F::UnixTimestamp
        | F::WeekOfYear
        | F::Weekday
        | F::Year
        | F::Extract => at(0, datetime()),
        F::Week | F::YearWeek => {
            at(0, datetime());
            at(1, integer());
        }
        F::DateDiff | F::TimestampDiff => set_types(args, &datetime(), context),
        F::DateAdd | F::DateSub => {
            if let CallOption::Unit(unit) = option {
                at(0, date_type(*unit));
                if let Some(number) = interval_type(*unit) {
                    at(1, number);
                }
            }
        }
        _ => {}
    }
}
