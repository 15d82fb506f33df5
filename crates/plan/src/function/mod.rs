//! Functions and operators: which exist, what they take, what type they give.
//!
//! One registry knows all of them. [`lookup`] finds a function by the name a statement calls it by; [`build`] checks
//! the arguments, brings strings to one character set and collation, and makes the typed node. What the function
//! computes is `exec`'s; that it computes for these argument types and this result type is decided here, once.
//!
//! Conventions between binder, this module and `exec`'s kernels:
//! - `Cast` converts to the node's own type; `ConvertUsing` and `Collate` give the node's own collation.
//! - `DateAdd`, `DateSub`, `Extract`, `TimestampDiff` take their unit as [`CallOption::Unit`]; `DateAdd(date, n)`.
//! - `column -> path` is `JsonExtract(column, path)`, `->>` is `JsonUnquote` of it. `JsonValue(doc)` takes its clauses
//!   as [`CallOption::JsonValue`] and its RETURNING type as the node's type.
//! - `Trim`, `LTrim`, `RTrim` take `(text [, remove])`, `Char(codes...)` its character set as the node's type,
//!   `WeightString(text)` the length as [`CallOption::Number`] and `AS BINARY` as the text's type, `GetFormat(style)`
//!   `DATE`, `TIME` or `DATETIME` as [`CallOption::Text`].
//! - `Greatest` and `Least` beside dates take the fraction digits to show as [`CallOption::Number`], `Div` of parameters the digits that a
//!   quotient has more than what is divided.
//! - `And` and `Or` take two or more arguments. `x NOT LIKE y` is `Not(Like(x, y))`, and so on.
//! - NOW and its family take their fraction digits from the node's type; the literal argument is dropped.
//!
//! Read next: `function_table` (the names), `infer` (the result types), `shape` (how wide a value may be), `merge` (the one type of
//! several values), `parameter` (types that parameters take from their context), `beside` (what converts arguments first),
//! `collate` (which collation wins).

mod beside;
mod collate;
mod infer;
mod merge;
mod open;
mod own_scale;
mod parameter;
mod shape;

use crate::error::{PlanError, PlanResult};
use crate::expr::{CallOption, Coercibility, Expr, ExprKind};
use crate::function_table;
use syntax::ast::AggregateFunc;
use types::charset::Charset;
use types::locale::LocaleId;
use types::{CollationId, DataType, TypeKind};

pub use crate::function_table::{ALL, FunctionId, Stability};
pub(crate) use beside::{documents_beside_bigints, years_of_parameters};
pub(crate) use collate::is_column_of_bits;
pub use infer::{Typed, bits_of};
pub(crate) use infer::{aggregate_type, computed, digits_of_sum, summed_bytes, summed_temporal};
pub(crate) use merge::{bits_as_characters, common_type, one_type};
pub(crate) use open::each_parameter;
pub(crate) use own_scale::{
    StoredDigits, keep_all_digits, keep_document_scale, keep_own_scale, keep_stored_scale,
};
pub(crate) use parameter::{
    charset_beside, charset_of, derive, derive_arms, derive_cast, derive_compared, derive_condition,
    derive_count, derive_extreme, derive_limit, derive_stored, derive_summed, is_untyped, reads_time,
    untyped,
};
pub use parameter::{sent_text, unfit};
pub(crate) use shape::text_chars;

/// What types depend on beside the arguments.
#[derive(Clone, Copy, Debug)]
pub struct TypeContext {
    /// `collation_connection`: of numbers turned into text, of string literals.
    pub connection_collation: CollationId,
    /// `div_precision_increment`, 0 to 30, usually 4.
    pub div_precision_increment: u8,
    /// `lc_time_names`.
    pub locale: LocaleId,
    /// `group_concat_max_len`, or as much of it as a length can say.
    pub group_concat_bytes: u32,
    /// `max_allowed_packet`: a function whose text would be longer gives NULL.
    pub packet_bytes_max: u32,
    /// NO_UNSIGNED_SUBTRACTION.
    pub no_unsigned_subtraction: bool,
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES.
    pub is_strict: bool,
    /// Parameters are those of a prepared statement: functions and what stands beside them fix their types.
    pub fixes_parameters: bool,
    /// A value did not fit the type that its parameter got: the statement is bound again with the types of the values.
    pub binds_again: bool,
}

impl Default for TypeContext {
    fn default() -> TypeContext {
        TypeContext {
            connection_collation: CollationId::UTF8MB4_0900_AI_CI,
            div_precision_increment: 4,
            locale: LocaleId::EN_US,
            group_concat_bytes: 1024,
            packet_bytes_max: 64 << 20,
            no_unsigned_subtraction: false,
            is_strict: true,
            fixes_parameters: false,
            binds_again: false,
        }
    }
}

impl FunctionId {
    /// Same arguments, same value, while a statement runs: may be computed once for constant arguments.
    #[must_use]
    pub fn is_deterministic(self) -> bool {
        self.stability() != Stability::Volatile
    }
}

impl FunctionId {
    /// Whether what a call gives is known only when the statement runs: the time and the client.
    #[must_use]
    pub fn is_known_late(self, args: &[Expr]) -> bool {
        use FunctionId as F;
        match self {
            F::Curdate | F::Curtime | F::Now | F::UtcDate | F::UtcTime | F::UtcTimestamp => true,
            F::UnixTimestamp => args.is_empty(),
            F::ConnectionId | F::CurrentUser | F::User | F::DeterministicFunction => true,
            _ => !self.is_deterministic(),
        }
    }

    /// `=`, `<=>`, `<>`, `<`, `<=`, `>`, `>=`.
    pub(crate) fn is_comparison_operator(self) -> bool {
        use FunctionId as F;
        matches!(self, F::Eq | F::NullSafeEq | F::Ne | F::Lt | F::Le | F::Gt | F::Ge)
    }

    /// Compares two values: an operator, STRCMP or NULLIF.
    pub(crate) fn compares_two(self) -> bool {
        self.is_comparison_operator() || matches!(self, FunctionId::Strcmp | FunctionId::NullIf)
    }

    /// Its value may be computed while a statement is planned: it depends on nothing else, and a short text takes little time.
    #[must_use]
    pub fn is_foldable(self) -> bool {
        use FunctionId as F;
        self.stability() == Stability::Pure
            && !matches!(
                self,
                F::RegexpInstr | F::RegexpLike | F::RegexpReplace | F::RegexpSubstr | F::Operand
            )
    }
}

/// What stands for `value` wherever an expression reads it: a copy of what is small and the same whenever it is computed, so that conditions are
/// seen for what they are, or a reference to an operand among `shared`, which [`with_operands`] puts around the expression. So an expression
/// grows with its text, however deep such ones are nested, and RAND(), a stored function or a subquery is asked once.
///
/// A reference is the number of the operand in its own expression, so that what is written twice is bound to the same.
pub(crate) fn share(value: Expr, shared: &mut Vec<Expr>) -> Expr {
    /// Parts of the largest operand that is copied.
    const PARTS_MAX: usize = 16;
    let mut parts = 0;
    let is_large = value.any(&mut |node| {
        parts += 1;
        parts > PARTS_MAX
            || match &node.kind {
                ExprKind::Subquery(_) | ExprKind::UserVarAssign { .. } => true,
                ExprKind::Call { function, option, .. } => {
                    !function.is_deterministic() || matches!(option, CallOption::Function(_))
                }
                _ => false,
            }
    });
    if !is_large {
        return value;
    }
    let option = CallOption::Number(shared.len() as u64);
    let kind = ExprKind::Call { function: FunctionId::Operand, args: Vec::new(), option };
    let Expr { ref data_type, nullable, coercibility, .. } = value;
    let reference = Expr { kind, data_type: data_type.clone(), nullable, coercibility };
    shared.push(value);
    reference
}

/// `reader`, which reads `operands` by their numbers.
pub(crate) fn with_operands(operands: Vec<Expr>, reader: Expr) -> Expr {
    (0..).zip(operands).fold(reader, |reader, (number, operand)| with_operand(number, operand, reader))
}

/// `reader`, which reads one operand by its number.
pub(crate) fn with_operand(number: u64, operand: Expr, reader: Expr) -> Expr {
    let Expr { data_type, nullable, coercibility, .. } = &reader;
    let (data_type, nullable, coercibility) = (data_type.clone(), *nullable, *coercibility);
    let (function, option) = (FunctionId::WithOperand, CallOption::Number(number));
    let kind = ExprKind::Call { function, args: vec![operand, reader], option };
    Expr { kind, data_type, nullable, coercibility }
}

/// The function a statement calls `name` (any case). Operators are not found by name.
#[must_use]
pub fn lookup(name: &[u8]) -> Option<FunctionId> {
    let mut buffer = [0u8; 32];
    let lower = buffer.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    if !lower.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return None;
    }
    match function_table::by_name(std::str::from_utf8(lower).ok()?)? {
        // Words that name operators or special syntax.
        FunctionId::IntDiv
        | FunctionId::Between
        | FunctionId::Like
        | FunctionId::Cast
        | FunctionId::Collate
        | FunctionId::ConvertUsing => None,
        function => Some(function),
    }
}

/// Aggregate and window functions, which have no identifiers here: names that a stored function shares with a native one.
const GROUPED: &[&str] = &[
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "count",
    "cume_dist",
    "dense_rank",
    "first_value",
    "group_concat",
    "json_arrayagg",
    "json_objectagg",
    "lag",
    "last_value",
    "lead",
    "max",
    "min",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "var_pop",
    "var_samp",
    "variance",
];

/// Whether a native function has this name (any case).
#[must_use]
pub fn is_native(name: &str) -> bool {
    lookup(name.as_bytes()).is_some() || GROUPED.iter().any(|grouped| grouped.eq_ignore_ascii_case(name))
}

/// A typed call. String arguments are brought to a common character set where the function compares or joins them.
///
/// # Errors
/// 1582 wrong number of arguments; 1267, 1270, 1271 collations that cannot be mixed; 1235 and others where MySQL has
/// them.
pub fn build(
    function: FunctionId,
    args: Vec<Expr>,
    option: CallOption,
    context: &TypeContext,
) -> PlanResult<Expr> {
    match of_numbers(function, args, option, context) {
        Ok(call) => Ok(call),
        Err((args, option)) => build_any(function, args, option, context),
    }
}

/// The call, if it is one of plain numbers that nothing has to be looked at for ([`infer::of_numbers`]); else what it would be made of.
pub(crate) fn of_numbers(
    function: FunctionId,
    args: Vec<Expr>,
    option: CallOption,
    context: &TypeContext,
) -> Result<Expr, (Vec<Expr>, CallOption)> {
    match infer::of_numbers(function, &args, context) {
        Some(Typed { data_type, nullable, coercibility }) => {
            Ok(Expr { kind: ExprKind::Call { function, args, option }, data_type, nullable, coercibility })
        }
        None => Err((args, option)),
    }
}

/// As [`build`], of a call that is none of plain numbers.
pub(crate) fn build_any(
    function: FunctionId,
    mut args: Vec<Expr>,
    option: CallOption,
    context: &TypeContext,
) -> PlanResult<Expr> {
    let (min, max) = function.arity();
    let even_needed = function == FunctionId::JsonObject && !args.len().is_multiple_of(2);
    let odd_needed = matches!(
        function,
        FunctionId::JsonSet
            | FunctionId::JsonInsert
            | FunctionId::JsonReplace
            | FunctionId::JsonArrayAppend
            | FunctionId::JsonArrayInsert
    ) && args.len().is_multiple_of(2);
    if args.len() < usize::from(min)
        || (max != function_table::MANY && args.len() > usize::from(max))
        || even_needed
        || odd_needed
    {
        return Err(PlanError::new(
            1582,
            format!("Incorrect parameter count in the call to native function '{}'", function.name()),
        ));
    }
    let option = match function {
        FunctionId::Greatest | FunctionId::Least => CallOption::Number(infer::extreme_digits_of(&args)),
        _ => option,
    };
    if beside::is_strcmp_of_temporal(function, &args) {
        return compared(&args, context);
    }
    if !matches!(option, CallOption::AsIs) {
        beside::convert(function, &mut args, context);
    }
    if matches!(
        function,
        FunctionId::Add
            | FunctionId::Sub
            | FunctionId::Mul
            | FunctionId::Mod
            | FunctionId::IfNull
            | FunctionId::Coalesce
    ) {
        args.iter_mut().for_each(keep_all_digits);
    }
    let mut typed = infer::infer(function, &mut args, &option, context)?;
    let option = match function {
        FunctionId::Div
            if typed.data_type.kind == TypeKind::Decimal && args.iter().any(own_scale::has_own_digits) =>
        {
            args.iter_mut().for_each(own_scale::keep_own_digits);
            CallOption::Number(u64::from(context.div_precision_increment))
        }
        _ => option,
    };
    typed.nullable |= infer::may_exceed_packet(function, &typed.data_type, context);
    if typed.data_type.kind == TypeKind::Json {
        args.iter_mut().for_each(keep_document_scale);
    } else if typed.data_type.is_string()
        || matches!(function, FunctionId::Length | FunctionId::CharLength | FunctionId::Crc32)
    {
        args.iter_mut().for_each(keep_own_scale);
    } else if function == FunctionId::NullIf {
        let is_choice = |arg: &Expr| {
            matches!(arg.kind, ExprKind::Case { .. } | ExprKind::Call { function: FunctionId::If, .. })
        };
        args.iter_mut().filter(|arg| !is_choice(arg)).for_each(keep_own_scale);
    }
    Ok(Expr {
        kind: ExprKind::Call { function, args, option },
        data_type: typed.data_type,
        nullable: typed.nullable,
        coercibility: typed.coercibility,
    })
}

/// STRCMP of what does not compare as text: -1, 0 or 1 by the comparisons.
fn compared(args: &[Expr], context: &TypeContext) -> PlanResult<Expr> {
    let mut whens = Vec::with_capacity(3);
    for (function, value) in [(FunctionId::Eq, 0), (FunctionId::Lt, -1), (FunctionId::Gt, 1)] {
        let condition = build(function, args.to_vec(), CallOption::None, context)?;
        whens.push((condition, Expr::literal(types::Value::Int(value))));
    }
    case(whens, None, context)
}

/// A typed CASE: values of all arms in one type.
///
/// # Errors
/// As [`build`].
pub fn case(
    mut whens: Vec<(Expr, Expr)>,
    otherwise: Option<Expr>,
    context: &TypeContext,
) -> PlanResult<Expr> {
    let mut values: Vec<Expr> = Vec::with_capacity(whens.len() + 1);
    let mut conditions = Vec::with_capacity(whens.len());
    for (when, then) in whens.drain(..) {
        conditions.push(when);
        values.push(then);
    }
    let has_else = otherwise.is_some();
    values.extend(otherwise);
    let typed = merge::infer_arms(&mut values, "case", context)?;
    let typed = Typed { data_type: infer::chosen_bits(typed.data_type, values.iter()), ..typed };
    let otherwise = if has_else { values.pop().map(Box::new) } else { None };
    let nullable = typed.nullable || !has_else;
    Ok(Expr {
        kind: ExprKind::Case { whens: conditions.into_iter().zip(values).collect(), otherwise },
        data_type: if has_else { typed.data_type } else { merge::beside_null(typed.data_type) },
        nullable,
        coercibility: typed.coercibility,
    })
}

/// Brings the texts of two elements of rows to the collation of the left one: `(a, b) IN ((c, d), ...)` compares in it.
///
/// # Errors
/// 3854: a literal that the left text's character set does not hold.
pub(crate) fn follow_left(left: &mut Expr, right: &mut Expr, context: &TypeContext) -> PlanResult<()> {
    // What a client sends for a parameter decides nothing.
    let is_parameter = context.fixes_parameters && matches!(left.kind, ExprKind::Param(_));
    if !is_parameter && collate::is_text(&left.data_type) && collate::is_text(&right.data_type) {
        collate::follow(&mut [left, right], 0, context)?;
    }
    Ok(())
}

/// Converts a text of another character set to that of the rows of a set operation.
///
/// # Errors
/// 3854: a literal that the character set does not hold.
pub(crate) fn convert_to_set(expr: &mut Expr, collation: CollationId) -> PlanResult<()> {
    let (from, to) = (expr.data_type.collation.charset(), collation.charset());
    if from != to && to != Charset::Binary {
        collate::convert_to_collation(expr, collation)?;
    }
    Ok(())
}

/// The collation in which `CASE` compares its operand, the first of `args`, with each WHEN, if it compares texts.
/// The texts are brought to it.
///
/// # Errors
/// As [`build`].
pub(crate) fn case_collation(args: &mut [Expr], context: &TypeContext) -> PlanResult<Option<CollationId>> {
    collate::compare_first(args, "case", context)
}

/// A typed `expr IN (list)`.
///
/// # Errors
/// As [`build`].
pub fn in_list(expr: Expr, list: Vec<Expr>, context: &TypeContext) -> PlanResult<Expr> {
    let mut all = Vec::with_capacity(list.len() + 1);
    all.push(expr);
    all.extend(list);
    // Beside documents each item is compared by itself, but all must have a collation in common.
    if all.iter().any(|expr| expr.data_type.kind == TypeKind::Json) {
        collate::check_first(&all, " IN ")?;
    } else {
        collate::compare_first(&mut all, " IN ", context)?;
    }
    let nullable = all.iter().any(|expr| expr.nullable);
    let list = all.split_off(1);
    let expr = Box::new(all.swap_remove(0));
    Ok(Expr::new(ExprKind::InList { expr, list }, DataType::BOOL, nullable))
}

/// A call whose result type the text names: CAST, CONVERT USING, COLLATE, CHAR, JSON_VALUE, WEIGHT_STRING.
///
/// # Errors
/// 1253 a collation that is not for the character set; 1582 wrong number of arguments.
pub(crate) fn build_typed(
    function: FunctionId,
    mut args: Vec<Expr>,
    data_type: DataType,
    option: CallOption,
    context: &TypeContext,
) -> PlanResult<Expr> {
    if function == FunctionId::Collate && args.len() == 1 {
        return collate(args.swap_remove(0), data_type.collation, context);
    }
    let data_type = match function {
        // Without a length the text is as long as its source.
        FunctionId::Cast if option == CallOption::Whole => whole_text(&args, data_type.collation),
        FunctionId::ConvertUsing => whole_text(&args, data_type.collation),
        FunctionId::Cast if data_type.kind == TypeKind::VarChar => {
            shape::string_type(data_type.length, data_type.collation)
        }
        FunctionId::Char => shape::string_type(4 * args.len() as u32, data_type.collation),
        _ => data_type,
    };
    if data_type.is_string() {
        args.iter_mut().for_each(keep_own_scale);
    } else if data_type.kind == TypeKind::Json {
        args.iter_mut().for_each(keep_document_scale);
    }
    // MySQL checks the bytes of a text in strict modes, and whether a long one is too long.
    let is_text_nullable = data_type.is_string()
        && (context.is_strict
            || u64::from(text_chars(&data_type)) > infer::limit_chars(data_type.collation)
            || infer::may_exceed_packet(function, &data_type, context));
    let nullable = args.iter().any(|arg| arg.nullable)
        || data_type.is_temporal()
        || function == FunctionId::JsonValue
        || matches!(data_type.kind, TypeKind::Json | TypeKind::Year)
        || is_text_nullable;
    let mut call = Expr::new(ExprKind::Call { function, args, option }, data_type, nullable);
    if matches!(function, FunctionId::Char | FunctionId::JsonValue) && call.data_type.is_string() {
        call.coercibility = Coercibility::Literal;
    }
    Ok(call)
}

/// A text of this collation with room for the first argument.
fn whole_text(args: &[Expr], collation: CollationId) -> DataType {
    let chars = args.first().map_or(0, |arg| shape::Width::of(&arg.data_type).chars_in(collation));
    let chars = match args.first() {
        Some(arg) if arg.data_type.is_binary_string() => {
            chars.div_ceil(collation.charset().min_bytes_per_char() as u32)
        }
        _ => chars,
    };
    shape::string_type(chars, collation)
}

/// Whether values of a type may be documents: those of JSON, and texts.
#[must_use]
pub fn may_be_document(of: &DataType) -> bool {
    of.is_string() || of.members.is_some() || matches!(of.kind, TypeKind::Json | TypeKind::Null)
}

/// `expr` converted to `data_type`; itself if it has that type already.
#[must_use]
pub fn cast(expr: Expr, data_type: DataType) -> Expr {
    if expr.data_type == data_type {
        return expr;
    }
    let coercibility = if data_type.is_string() { Coercibility::Implicit } else { Coercibility::Numeric };
    // A text may be no date, JSON or number of the wanted form.
    let nullable =
        expr.nullable || data_type.is_temporal() || data_type.is_string() || data_type.kind == TypeKind::Year;
    Expr {
        kind: ExprKind::Call { function: FunctionId::Cast, args: vec![expr], option: CallOption::None },
        data_type,
        nullable,
        coercibility,
    }
}

/// `expr COLLATE collation`.
///
/// # Errors
/// 1253 if the collation belongs to another character set than the text.
pub(crate) fn collate(expr: Expr, collation: CollationId, context: &TypeContext) -> PlanResult<Expr> {
    collate::explicit(expr, collation, context)
}

/// SEPARATOR of GROUP_CONCAT as it stands in a result of `collation`.
pub(crate) fn separator(text: &[u8], collation: CollationId) -> std::sync::Arc<[u8]> {
    match types::Value::string_literal(text, collation) {
        types::Value::Bytes { bytes, .. } => bytes.into(),
        _ => text.into(),
    }
}

/// The name of an aggregate as messages and column names show it, in small letters.
#[must_use]
pub(crate) fn aggregate_name(function: AggregateFunc) -> &'static str {
    match function {
        AggregateFunc::CountStar | AggregateFunc::Count => "count",
        AggregateFunc::Sum => "sum",
        AggregateFunc::Avg => "avg",
        AggregateFunc::Min => "min",
        AggregateFunc::Max => "max",
        AggregateFunc::BitAnd => "bit_and",
        AggregateFunc::BitOr => "bit_or",
        AggregateFunc::BitXor => "bit_xor",
        AggregateFunc::StdPop => "std",
        AggregateFunc::StdSamp => "stddev_samp",
        AggregateFunc::VarPop => "variance",
        AggregateFunc::VarSamp => "var_samp",
        AggregateFunc::GroupConcat => "group_concat",
        AggregateFunc::JsonArrayAgg => "json_arrayagg",
        AggregateFunc::JsonObjectAgg => "json_objectagg",
        AggregateFunc::StCollect => "st_collect",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_may_be_longer_than_a_packet_may_be_null() {
        let text = |chars: u32| {
            let column = crate::expr::ColumnId(0);
            Expr::column(column, DataType::varchar(chars, CollationId::UTF8MB4_BIN), false)
        };
        let length_may_be_null = |packet_bytes_max: u32, is_strict: bool| {
            let context = TypeContext { packet_bytes_max, is_strict, ..TypeContext::default() };
            let call = |function, args| build(function, args, CallOption::None, &context).unwrap();
            let twice = call(FunctionId::Concat, vec![text(250), text(250)]);
            assert!(
                !call(FunctionId::Lower, vec![text(500)]).nullable || is_strict,
                "no longer than what it gets"
            );
            call(FunctionId::Length, vec![twice]).may_be_null()
        };
        assert!(!length_may_be_null(2000, false));
        assert!(length_may_be_null(1999, false), "2000 bytes are NULL and 1301");
        assert!(length_may_be_null(2000, true), "bytes may be no characters");
    }

    #[test]
    fn names_find_functions_and_operators_stay_hidden() {
        assert_eq!(lookup(b"CONCAT"), Some(FunctionId::Concat));
        assert_eq!(lookup(b"Substr"), Some(FunctionId::Substring));
        for hidden in [&b"+"[..], b"and", b"neg ", b"like", b"cast", b"nosuchfunction", &[b'x'; 40]] {
            assert_eq!(lookup(hidden), None);
        }
        assert!(ALL.len() > 200);
    }
}
