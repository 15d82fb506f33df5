//! The registry of functions and operators: names, argument counts, result types.
//!
//! The binder makes every call through [`build`], which checks the argument count (1582), adds the coercions that
//! MySQL makes, and infers type, NULL and collation of the result.

use types::{DataType, TypeKind};

use crate::error::{PlanError, PlanResult};
use crate::expr::{CallOption, Expr, ExprKind};

/// A function or operator. The name is MySQL's, in Rust's spelling.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[allow(missing_docs, reason = "the names are MySQL's")]
pub enum FunctionId {
    // Operators.
    Add,
    Sub,
    Mul,
    Div,
    IntDiv,
    Mod,
    Neg,
    BitOr,
    BitAnd,
    BitXor,
    BitNot,
    ShiftLeft,
    ShiftRight,
    /// n-ary
    And,
    /// n-ary
    Or,
    Xor,
    Not,
    Eq,
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    IsNull,
    IsTrue,
    IsFalse,
    /// `(expr, low, high)`
    Between,
    /// `(expr, pattern[, escape])`
    Like,
    RegexpLike,
    /// To the node's own type.
    Cast,
    /// Conversion to the character set of the node's own type.
    ConvertUsing,
    /// The same bytes under the collation of the node's own type.
    Collate,
    /// `(date, interval)` with a unit.
    DateAdd,
    /// `(date, interval)` with a unit.
    DateSub,
    /// `(expr)` with a unit.
    Extract,
    /// `(from, to)` with a unit.
    TimestampDiff,
    /// `(expr[, remove])`
    Trim,
    LTrim,
    RTrim,
    /// `(n, ...)`, result in the node's own character set.
    Char,
    WeightString,
    GetFormat,
    /// `(doc, path, ...)`
    JsonExtract,
    JsonUnquote,
    JsonValue,
    /// `(value, array)`
    MemberOf,
    /// A row of operands: only below comparisons that the binder takes apart.
    Concat,
    Coalesce,
    IfNull,
    NullIf,
    If,
    Now,
    Rand,
    Uuid,
    Sleep,
}

impl FunctionId {
    /// The same arguments always give the same value while a statement runs (NOW() does, RAND() does not).
    #[must_use]
    pub fn is_deterministic(self) -> bool {
        !matches!(self, FunctionId::Rand | FunctionId::Uuid | FunctionId::Sleep)
    }

    /// Name as EXPLAIN prints it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FunctionId::Add => "+",
            FunctionId::Sub | FunctionId::Neg => "-",
            FunctionId::Mul => "*",
            FunctionId::Div => "/",
            FunctionId::IntDiv => "DIV",
            FunctionId::Mod => "%",
            FunctionId::BitOr => "|",
            FunctionId::BitAnd => "&",
            FunctionId::BitXor => "^",
            FunctionId::BitNot => "~",
            FunctionId::ShiftLeft => "<<",
            FunctionId::ShiftRight => ">>",
            FunctionId::And => "and",
            FunctionId::Or => "or",
            FunctionId::Xor => "xor",
            FunctionId::Not => "not",
            FunctionId::Eq => "=",
            FunctionId::NullSafeEq => "<=>",
            FunctionId::Ne => "<>",
            FunctionId::Lt => "<",
            FunctionId::Le => "<=",
            FunctionId::Gt => ">",
            FunctionId::Ge => ">=",
            FunctionId::IsNull => "isnull",
            FunctionId::IsTrue => "is true",
            FunctionId::IsFalse => "is false",
            FunctionId::Between => "between",
            FunctionId::Like => "like",
            FunctionId::RegexpLike => "regexp_like",
            FunctionId::Cast => "cast",
            FunctionId::ConvertUsing => "convert",
            FunctionId::Collate => "collate",
            FunctionId::DateAdd => "date_add",
            FunctionId::DateSub => "date_sub",
            FunctionId::Extract => "extract",
            FunctionId::TimestampDiff => "timestampdiff",
            FunctionId::Trim => "trim",
            FunctionId::LTrim => "ltrim",
            FunctionId::RTrim => "rtrim",
            FunctionId::Char => "char",
            FunctionId::WeightString => "weight_string",
            FunctionId::GetFormat => "get_format",
            FunctionId::JsonExtract => "json_extract",
            FunctionId::JsonUnquote => "json_unquote",
            FunctionId::JsonValue => "json_value",
            FunctionId::MemberOf => "member of",
            FunctionId::Concat => "concat",
            FunctionId::Coalesce => "coalesce",
            FunctionId::IfNull => "ifnull",
            FunctionId::NullIf => "nullif",
            FunctionId::If => "if",
            FunctionId::Now => "now",
            FunctionId::Rand => "rand",
            FunctionId::Uuid => "uuid",
            FunctionId::Sleep => "sleep",
        }
    }
}

/// What inference may ask of the session.
#[derive(Clone, Debug)]
pub struct TypeContext {
    /// `collation_connection`.
    pub connection_collation: types::CollationId,
    /// `div_precision_increment`.
    pub div_precision_increment: u8,
    /// `sql_mode` has NO_UNSIGNED_SUBTRACTION.
    pub no_unsigned_subtraction: bool,
}

/// The function called `name` (any case) in a call with plain arguments; `None`: MySQL knows no such function.
#[must_use]
pub fn lookup(name: &[u8]) -> Option<FunctionId> {
    let table: [(&str, FunctionId); 9] = [
        ("concat", FunctionId::Concat),
        ("coalesce", FunctionId::Coalesce),
        ("ifnull", FunctionId::IfNull),
        ("nullif", FunctionId::NullIf),
        ("if", FunctionId::If),
        ("now", FunctionId::Now),
        ("rand", FunctionId::Rand),
        ("uuid", FunctionId::Uuid),
        ("sleep", FunctionId::Sleep),
    ];
    table.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name)).map(|&(_, id)| id)
}

/// Makes a call: argument count, coercions, type of the result. For `Cast`, `ConvertUsing`, `Collate` and `Char` the
/// binder gives the wanted type through [`build_typed`] instead.
///
/// # Errors
/// 1582 wrong argument count, 1267 and 1271 illegal mix of collations.
pub fn build(
    function: FunctionId,
    args: Vec<Expr>,
    option: CallOption,
    _context: &TypeContext,
) -> PlanResult<Expr> {
    use FunctionId as F;
    let nullable = args.iter().any(|arg| arg.nullable);
    let (data_type, nullable) = match function {
        F::And
        | F::Or
        | F::Xor
        | F::Not
        | F::Eq
        | F::Ne
        | F::Lt
        | F::Le
        | F::Gt
        | F::Ge
        | F::Between
        | F::Like
        | F::RegexpLike
        | F::MemberOf => (DataType::BOOL, nullable),
        F::NullSafeEq | F::IsNull | F::IsTrue | F::IsFalse => (DataType::BOOL, false),
        F::Add | F::Sub | F::Mul | F::Mod | F::Neg => (arithmetic(&args), nullable || function == F::Mod),
        F::Div => (DataType::DOUBLE, true),
        F::IntDiv
        | F::BitOr
        | F::BitAnd
        | F::BitXor
        | F::BitNot
        | F::ShiftLeft
        | F::ShiftRight
        | F::Extract
        | F::TimestampDiff => (DataType::BIGINT, nullable),
        F::Coalesce | F::IfNull => (args[0].data_type.clone(), args.iter().all(|arg| arg.nullable)),
        F::If => (args[1].data_type.clone(), args[1].nullable || args[2].nullable),
        F::NullIf => (args[0].data_type.clone(), true),
        F::Now => (DataType::datetime(0), false),
        F::Rand => (DataType::DOUBLE, false),
        F::Sleep => (DataType::BIGINT, false),
        _ => {
            let collation = args.first().map_or(types::CollationId::BINARY, |arg| arg.data_type.collation);
            (DataType::varchar(args.iter().map(|arg| arg.data_type.length).sum(), collation), nullable)
        }
    };
    Ok(Expr::new(ExprKind::Call { function, args, option }, data_type, nullable))
}

/// Makes a call whose result type the text names.
///
/// # Errors
/// 1253 a collation that is not for the character set, 3966 and others for impossible casts.
pub fn build_typed(
    function: FunctionId,
    args: Vec<Expr>,
    data_type: DataType,
    option: CallOption,
    _context: &TypeContext,
) -> PlanResult<Expr> {
    let nullable = args.iter().any(|arg| arg.nullable) || function == FunctionId::Cast;
    Ok(Expr::new(ExprKind::Call { function, args, option }, data_type, nullable))
}

/// The common type of several values (CASE, UNION, COALESCE).
///
/// # Errors
/// 1267, 1271: illegal mix of collations.
pub fn common_type(exprs: &[&Expr]) -> PlanResult<DataType> {
    exprs
        .iter()
        .map(|expr| &expr.data_type)
        .find(|data_type| data_type.kind != TypeKind::Null)
        .or_else(|| exprs.first().map(|expr| &expr.data_type))
        .cloned()
        .ok_or_else(|| PlanError::new(1105, "Unknown error"))
}

/// The type of an aggregate function's result, and whether it may be NULL.
///
/// # Errors
/// Wrong arguments.
pub fn aggregate_type(function: syntax::ast::AggregateFunc, args: &[Expr]) -> PlanResult<(DataType, bool)> {
    use syntax::ast::AggregateFunc as A;
    Ok(match function {
        A::CountStar | A::Count | A::BitAnd | A::BitOr | A::BitXor => (DataType::BIGINT, false),
        A::Sum | A::Avg => (sum_type(&args[0].data_type), true),
        A::Min | A::Max => (args[0].data_type.clone(), true),
        A::StdPop | A::StdSamp | A::VarPop | A::VarSamp => (DataType::DOUBLE, true),
        A::GroupConcat => (DataType::text(TypeKind::Text, args[0].data_type.collation), true),
        A::JsonArrayAgg | A::JsonObjectAgg => (DataType::JSON, true),
        A::StCollect => return Err(PlanError::not_supported("ST_COLLECT")),
    })
}

fn sum_type(data_type: &DataType) -> DataType {
    match data_type.kind {
        TypeKind::Decimal => DataType::decimal(data_type.length + 22, data_type.scale),
        _ if data_type.is_integer() => DataType::decimal(data_type.length + 22, 0),
        _ => DataType::DOUBLE,
    }
}

fn arithmetic(args: &[Expr]) -> DataType {
    if args.iter().all(|arg| arg.data_type.is_integer()) {
        DataType::BIGINT
    } else if args.iter().all(|arg| arg.data_type.is_integer() || arg.data_type.kind == TypeKind::Decimal) {
        let scale = args.iter().map(|arg| arg.data_type.scale).max().unwrap_or(0);
        DataType::decimal(65, scale)
    } else {
        DataType::DOUBLE
    }
}
