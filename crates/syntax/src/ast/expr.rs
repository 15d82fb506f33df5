//! Expressions.

use super::{Ident, ObjectName, OrderItem, Query, Span};

/// An expression and its place in the text (parentheses around it are not part of the place).
#[derive(Clone, Copy, Debug)]
pub struct Expr<'a> {
    /// What it is.
    pub kind: ExprKind<'a>,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of expressions. Operators that MySQL itself rewrites are rewritten here too: `a SOUNDS LIKE b` is
/// `SOUNDEX(a) = SOUNDEX(b)`, `POSITION(a IN b)` is `LOCATE(a, b)`, `CURRENT_TIMESTAMP(3)` is `NOW(3)`, `CURRENT_DATE`
/// is `CURDATE()`, `CURRENT_TIME` is `CURTIME()`, `BINARY a` is `CAST(a AS BINARY)`, `a MOD b` is `a % b`,
/// `SUBSTRING(a FROM b FOR c)` is `SUBSTRING(a, b, c)`, `ADDDATE(a, 5)` is `a + INTERVAL 5 DAY`.
#[derive(Clone, Copy, Debug)]
pub enum ExprKind<'a> {
    /// A constant.
    Literal(Literal<'a>),
    /// `[[schema.]table.]column`.
    Column(&'a ColumnRef<'a>),
    /// `?`, numbered from 0 in the order of the text.
    Param(u32),
    /// `@name`.
    UserVar(&'a [u8]),
    /// `@name := value`.
    UserVarAssign {
        /// The variable without `@`.
        name: &'a [u8],
        /// Its new value.
        value: &'a Expr<'a>,
    },
    /// `@@[scope.]name`.
    SysVar(&'a SysVar<'a>),
    /// One operand.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// The operand.
        expr: &'a Expr<'a>,
    },
    /// Two operands: arithmetic, bits, logic.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left operand.
        left: &'a Expr<'a>,
        /// Right operand.
        right: &'a Expr<'a>,
    },
    /// `left op right`; rows are compared as rows.
    Compare {
        /// The operator.
        op: CompareOp,
        /// Left operand.
        left: &'a Expr<'a>,
        /// Right operand.
        right: &'a Expr<'a>,
    },
    /// `left op ANY|ALL (query)`; `SOME` is `ANY`.
    Quantified {
        /// The operator.
        op: CompareOp,
        /// `ALL` (true) or `ANY` (false).
        all: bool,
        /// Left operand.
        left: &'a Expr<'a>,
        /// The subquery.
        query: &'a Query<'a>,
    },
    /// `expr IS [NOT] NULL | TRUE | FALSE | UNKNOWN`.
    Is {
        /// The operand.
        expr: &'a Expr<'a>,
        /// What is asked.
        test: IsTest,
        /// `IS NOT`.
        negated: bool,
    },
    /// `expr [NOT] LIKE pattern [ESCAPE escape]`.
    Like {
        /// The operand.
        expr: &'a Expr<'a>,
        /// The pattern.
        pattern: &'a Expr<'a>,
        /// The escape, if written.
        escape: Option<&'a Expr<'a>>,
        /// `NOT LIKE`.
        negated: bool,
    },
    /// `expr [NOT] REGEXP pattern`, `RLIKE`.
    Regexp {
        /// The operand.
        expr: &'a Expr<'a>,
        /// The pattern.
        pattern: &'a Expr<'a>,
        /// `NOT REGEXP`.
        negated: bool,
    },
    /// `expr [NOT] BETWEEN low AND high`.
    Between {
        /// The operand.
        expr: &'a Expr<'a>,
        /// Lower bound, included.
        low: &'a Expr<'a>,
        /// Upper bound, included.
        high: &'a Expr<'a>,
        /// `NOT BETWEEN`.
        negated: bool,
    },
    /// `expr [NOT] IN (a, b, ...)`; never empty.
    InList {
        /// The operand.
        expr: &'a Expr<'a>,
        /// The list.
        list: &'a [Expr<'a>],
        /// `NOT IN`.
        negated: bool,
    },
    /// `expr [NOT] IN (query)`.
    InSubquery {
        /// The operand.
        expr: &'a Expr<'a>,
        /// The subquery.
        query: &'a Query<'a>,
        /// `NOT IN`.
        negated: bool,
    },
    /// `EXISTS (query)`.
    Exists(&'a Query<'a>),
    /// `(query)` as a value or a row.
    Subquery(&'a Query<'a>),
    /// `ROW(a, b)` or `(a, b)`; at least two.
    Row(&'a [Expr<'a>]),
    /// `CASE ... END`.
    Case(&'a Case<'a>),
    /// `CAST(expr AS type)`, `CONVERT(expr, type)`, `BINARY expr`.
    Cast(&'a Cast<'a>),
    /// `CONVERT(expr USING charset)`.
    ConvertUsing {
        /// The operand.
        expr: &'a Expr<'a>,
        /// The character set; `binary` is spelt out.
        charset: &'a [u8],
    },
    /// `expr COLLATE name`.
    Collate {
        /// The operand.
        expr: &'a Expr<'a>,
        /// The collation.
        collation: &'a [u8],
    },
    /// A function called with plain arguments.
    Function(&'a FunctionCall<'a>),
    /// `COUNT(...)`, `SUM(DISTINCT ...)`, ..., also as window function.
    Aggregate(&'a Aggregate<'a>),
    /// `ROW_NUMBER() OVER ...` and its like.
    Window(&'a WindowCall<'a>),
    /// `GROUPING(a, b)`.
    Grouping(&'a [Expr<'a>]),
    /// `date + INTERVAL value unit` in its many spellings.
    DateArith {
        /// The date or time.
        date: &'a Expr<'a>,
        /// How much.
        interval: &'a Expr<'a>,
        /// Of what.
        unit: IntervalUnit,
        /// Subtract instead of add.
        subtract: bool,
    },
    /// `EXTRACT(unit FROM expr)`.
    Extract {
        /// Which part.
        unit: IntervalUnit,
        /// Of what.
        expr: &'a Expr<'a>,
    },
    /// `TIMESTAMPDIFF(unit, from, to)`.
    TimestampDiff {
        /// Counted in what.
        unit: IntervalUnit,
        /// First moment.
        from: &'a Expr<'a>,
        /// Second moment.
        to: &'a Expr<'a>,
    },
    /// `TRIM([LEADING|TRAILING|BOTH] [remove] [FROM] expr)`.
    Trim {
        /// From which side.
        side: TrimSide,
        /// What is removed, a blank if absent.
        remove: Option<&'a Expr<'a>>,
        /// From what.
        expr: &'a Expr<'a>,
    },
    /// `CHAR(n, ... [USING charset])`.
    Char {
        /// The codes.
        args: &'a [Expr<'a>],
        /// The character set of the result, binary if absent.
        charset: Option<&'a [u8]>,
    },
    /// `WEIGHT_STRING(expr [AS CHAR(n) | AS BINARY(n)])`.
    WeightString {
        /// The operand.
        expr: &'a Expr<'a>,
        /// `AS BINARY` was written.
        binary: bool,
        /// Length in characters (bytes after `AS BINARY`); `None`: all of it.
        length: Option<u64>,
    },
    /// `GET_FORMAT(DATE | TIME | DATETIME, expr)`.
    GetFormat {
        /// Of which type.
        kind: TemporalKind,
        /// Which style.
        expr: &'a Expr<'a>,
    },
    /// `MATCH (columns) AGAINST (...)`.
    Match(&'a Match<'a>),
    /// `column -> 'path'` and `column ->> 'path'`.
    JsonExtract {
        /// The column.
        column: &'a Expr<'a>,
        /// The path, decoded.
        path: &'a [u8],
        /// `->>`.
        unquote: bool,
    },
    /// `JSON_VALUE(doc, path ...)`.
    JsonValue(&'a JsonValue<'a>),
    /// `value MEMBER OF (array)`.
    MemberOf {
        /// What is looked for.
        value: &'a Expr<'a>,
        /// In which JSON array.
        array: &'a Expr<'a>,
    },
    /// `DEFAULT(column)`.
    DefaultOf(&'a ColumnRef<'a>),
    /// `VALUES(column)` in `ON DUPLICATE KEY UPDATE`.
    ValuesOf(&'a ColumnRef<'a>),
    /// Bare `DEFAULT`, only as a value in `INSERT`, `REPLACE` and `UPDATE`.
    Default,
}

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal<'a> {
    /// `NULL`, `\N`.
    Null,
    /// `TRUE`.
    True,
    /// `FALSE`.
    False,
    /// An unsigned number as written (a sign is an operator).
    Number(NumberKind, &'a [u8]),
    /// A string, escapes undone, adjacent strings joined.
    String {
        /// The bytes.
        value: &'a [u8],
        /// The introducer without `_`; `utf8mb3` for `N'...'`; `None`: the connection's character set.
        charset: Option<&'a [u8]>,
    },
    /// `0x...`, `X'...'`, `b'...'`, `0b...`: the bytes, big-endian, padded on the left.
    Bytes {
        /// The bytes.
        value: &'a [u8],
        /// The introducer without `_`; `None`: binary.
        charset: Option<&'a [u8]>,
        /// Written in bits.
        bits: bool,
    },
    /// `DATE '...'`, `TIME '...'`, `TIMESTAMP '...'` and `{d '...'}`, `{t '...'}`, `{ts '...'}`.
    Temporal {
        /// Which of the three.
        kind: TemporalKind,
        /// The text, decoded.
        value: &'a [u8],
    },
}

/// How a number was written, which decides its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// Digits only, at most 18446744073709551615: an integer.
    Integer,
    /// With a decimal point, or an integer too big for 64 bits: an exact decimal.
    Decimal,
    /// With an exponent: a double.
    Float,
}

/// Date, time, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemporalKind {
    /// `DATE`.
    Date,
    /// `TIME`.
    Time,
    /// `TIMESTAMP`, `DATETIME`.
    DateTime,
}

/// `[[schema.]table.]column`; `.column` and `.table.column` lose their leading point.
#[derive(Clone, Copy, Debug)]
pub struct ColumnRef<'a> {
    /// The schema, if written.
    pub schema: Option<Ident<'a>>,
    /// The table or alias, if written.
    pub table: Option<Ident<'a>>,
    /// The column.
    pub name: Ident<'a>,
}

/// `@@scope.component.name`.
#[derive(Clone, Copy, Debug)]
pub struct SysVar<'a> {
    /// The scope that was written.
    pub scope: VarScope,
    /// First of two names: a component, plugin or key cache.
    pub component: Option<Ident<'a>>,
    /// The variable.
    pub name: Ident<'a>,
}

/// Scope of a system variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarScope {
    /// None written: the session's if it has one, else the global one.
    Default,
    /// `SESSION`, `LOCAL`.
    Session,
    /// `GLOBAL`.
    Global,
    /// `PERSIST` (only in `SET`).
    Persist,
    /// `PERSIST_ONLY` (only in `SET`).
    PersistOnly,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`.
    Neg,
    /// `+`.
    Plus,
    /// `~`.
    BitNot,
    /// `NOT` and `!`.
    Not,
}

/// Operators with two operands that are not comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`.
    Add,
    /// `-`.
    Sub,
    /// `*`.
    Mul,
    /// `/`.
    Div,
    /// `DIV`.
    IntDiv,
    /// `%`, `MOD`.
    Mod,
    /// `|`.
    BitOr,
    /// `&`.
    BitAnd,
    /// `^`.
    BitXor,
    /// `<<`.
    ShiftLeft,
    /// `>>`.
    ShiftRight,
    /// `AND`, `&&`.
    And,
    /// `OR`, and `||` without PIPES_AS_CONCAT.
    Or,
    /// `XOR`.
    Xor,
    /// `||` with PIPES_AS_CONCAT.
    Concat,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `=`.
    Eq,
    /// `<=>`.
    NullSafeEq,
    /// `<>`, `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
}

/// What `IS` asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsTest {
    /// `IS NULL`.
    Null,
    /// `IS TRUE`.
    True,
    /// `IS FALSE`.
    False,
    /// `IS UNKNOWN`.
    Unknown,
}

/// `CASE [operand] WHEN ... THEN ... ELSE ... END`.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// Compared with each `WHEN`; absent: each `WHEN` is a condition.
    pub operand: Option<Expr<'a>>,
    /// `WHEN`, `THEN` pairs; never empty.
    pub whens: &'a [(Expr<'a>, Expr<'a>)],
    /// `ELSE`.
    pub otherwise: Option<Expr<'a>>,
}

/// `CAST`.
#[derive(Clone, Copy, Debug)]
pub struct Cast<'a> {
    /// The operand.
    pub expr: Expr<'a>,
    /// The wanted type.
    pub to: CastType<'a>,
    /// `ARRAY` was written (multi-valued index).
    pub array: bool,
    /// `AT TIME ZONE '...'`: the interval or zone text.
    pub at_time_zone: Option<&'a [u8]>,
}

/// The types `CAST` knows. Lengths are as written, unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastType<'a> {
    /// `BINARY[(n)]`.
    Binary(Option<u64>),
    /// `CHAR[(n)] [CHARACTER SET x]`, `NCHAR`.
    Char {
        /// Length in characters.
        length: Option<u64>,
        /// Character set; `utf8mb3` for `NCHAR`; `None`: the connection's.
        charset: Option<&'a [u8]>,
        /// `BINARY` after the character set: its `_bin` collation.
        binary: bool,
    },
    /// `SIGNED [INTEGER]`.
    Signed,
    /// `UNSIGNED [INTEGER]`.
    Unsigned,
    /// `DATE`.
    Date,
    /// `YEAR`.
    Year,
    /// `TIME[(fsp)]`.
    Time(Option<u64>),
    /// `DATETIME[(fsp)]`.
    DateTime(Option<u64>),
    /// `DECIMAL[(precision[, scale])]`.
    Decimal {
        /// Digits in all.
        precision: Option<u64>,
        /// Digits after the point.
        scale: Option<u64>,
    },
    /// `JSON`.
    Json,
    /// `FLOAT[(precision)]`.
    Float(Option<u64>),
    /// `DOUBLE`, `REAL`.
    Double,
    /// A spatial type, upper case: `POINT`, ...
    Spatial(&'static str),
}

/// `name(args)`.
#[derive(Clone, Copy, Debug)]
pub struct FunctionCall<'a> {
    /// The name; compare without case. A name with schema is a stored function.
    pub name: ObjectName<'a>,
    /// The arguments.
    pub args: &'a [Expr<'a>],
    /// Aliases of arguments (only loadable functions may have them); empty if none was written.
    pub arg_aliases: &'a [Option<Ident<'a>>],
}

/// Aggregate functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateFunc {
    /// `COUNT(*)`: no arguments.
    CountStar,
    /// `COUNT(expr)`; several arguments only with `DISTINCT`.
    Count,
    /// `SUM`.
    Sum,
    /// `AVG`.
    Avg,
    /// `MIN`.
    Min,
    /// `MAX`.
    Max,
    /// `BIT_AND`.
    BitAnd,
    /// `BIT_OR`.
    BitOr,
    /// `BIT_XOR`.
    BitXor,
    /// `STD`, `STDDEV`, `STDDEV_POP`.
    StdPop,
    /// `STDDEV_SAMP`.
    StdSamp,
    /// `VARIANCE`, `VAR_POP`.
    VarPop,
    /// `VAR_SAMP`.
    VarSamp,
    /// `GROUP_CONCAT`.
    GroupConcat,
    /// `JSON_ARRAYAGG`.
    JsonArrayAgg,
    /// `JSON_OBJECTAGG`.
    JsonObjectAgg,
    /// `ST_COLLECT`.
    StCollect,
}

/// A call of an aggregate function.
#[derive(Clone, Copy, Debug)]
pub struct Aggregate<'a> {
    /// Which.
    pub func: AggregateFunc,
    /// `DISTINCT`.
    pub distinct: bool,
    /// The arguments; empty for `COUNT(*)`.
    pub args: &'a [Expr<'a>],
    /// `ORDER BY` of `GROUP_CONCAT`.
    pub order_by: &'a [OrderItem<'a>],
    /// `SEPARATOR` of `GROUP_CONCAT`, `,` if not written.
    pub separator: &'a [u8],
    /// `OVER`: a window function.
    pub over: Option<&'a Over<'a>>,
}

/// Functions that exist only with `OVER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFunc {
    /// `ROW_NUMBER()`.
    RowNumber,
    /// `RANK()`.
    Rank,
    /// `DENSE_RANK()`.
    DenseRank,
    /// `CUME_DIST()`.
    CumeDist,
    /// `PERCENT_RANK()`.
    PercentRank,
    /// `NTILE(n)`.
    Ntile,
    /// `LEAD(expr, n, default)`.
    Lead,
    /// `LAG(expr, n, default)`.
    Lag,
    /// `FIRST_VALUE(expr)`.
    FirstValue,
    /// `LAST_VALUE(expr)`.
    LastValue,
    /// `NTH_VALUE(expr, n)`.
    NthValue,
}

/// A call of a pure window function.
#[derive(Clone, Copy, Debug)]
pub struct WindowCall<'a> {
    /// Which.
    pub func: WindowFunc,
    /// The arguments.
    pub args: &'a [Expr<'a>],
    /// `FROM LAST` of `NTH_VALUE` (MySQL: 1235).
    pub from_last: bool,
    /// `IGNORE NULLS` (MySQL: 1235); `RESPECT NULLS` is what happens anyway.
    pub ignore_nulls: bool,
    /// The window.
    pub over: &'a Over<'a>,
}

/// `OVER name` or `OVER (...)`.
#[derive(Clone, Copy, Debug)]
pub enum Over<'a> {
    /// A window of the `WINDOW` clause.
    Name(Ident<'a>),
    /// A window written in place.
    Spec(WindowSpec<'a>),
}

/// `[name] [PARTITION BY ...] [ORDER BY ...] [frame]`.
#[derive(Clone, Copy, Debug)]
pub struct WindowSpec<'a> {
    /// The window it refines.
    pub base: Option<Ident<'a>>,
    /// `PARTITION BY`.
    pub partition_by: &'a [Expr<'a>],
    /// `ORDER BY`.
    pub order_by: &'a [OrderItem<'a>],
    /// The frame, if written.
    pub frame: Option<&'a Frame<'a>>,
}

/// A window frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// What is counted.
    pub unit: FrameUnit,
    /// Where it begins.
    pub start: FrameBound<'a>,
    /// Where it ends; not written: `CURRENT ROW`.
    pub end: Option<FrameBound<'a>>,
    /// `EXCLUDE ...` (MySQL: 1235).
    pub exclusion: bool,
}

/// What a frame counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    /// `ROWS`.
    Rows,
    /// `RANGE`.
    Range,
    /// `GROUPS` (MySQL: 1235).
    Groups,
}

/// One end of a frame.
#[derive(Clone, Copy, Debug)]
pub enum FrameBound<'a> {
    /// `UNBOUNDED PRECEDING`.
    UnboundedPreceding,
    /// `n PRECEDING`.
    Preceding(Expr<'a>, Option<IntervalUnit>),
    /// `CURRENT ROW`.
    CurrentRow,
    /// `n FOLLOWING`.
    Following(Expr<'a>, Option<IntervalUnit>),
    /// `UNBOUNDED FOLLOWING`.
    UnboundedFollowing,
}

/// Units of `INTERVAL`, `EXTRACT`, `TIMESTAMPADD`, `TIMESTAMPDIFF`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

/// Sides of `TRIM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimSide {
    /// Both ends, also if nothing was written.
    Both,
    /// The beginning.
    Leading,
    /// The end.
    Trailing,
}

/// `MATCH ... AGAINST`.
#[derive(Clone, Copy, Debug)]
pub struct Match<'a> {
    /// The columns.
    pub columns: &'a [ColumnRef<'a>],
    /// What is looked for.
    pub against: Expr<'a>,
    /// How.
    pub mode: MatchMode,
}

/// Search modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchMode {
    /// `IN NATURAL LANGUAGE MODE`, the default.
    Natural,
    /// `WITH QUERY EXPANSION`.
    NaturalExpansion,
    /// `IN BOOLEAN MODE`.
    Boolean,
}

/// `JSON_VALUE`.
#[derive(Clone, Copy, Debug)]
pub struct JsonValue<'a> {
    /// The document.
    pub doc: Expr<'a>,
    /// The path, a string literal.
    pub path: &'a [u8],
    /// `RETURNING`; not written: `CHAR(512) CHARACTER SET utf8mb4`.
    pub returning: Option<CastType<'a>>,
    /// `... ON EMPTY`.
    pub on_empty: Option<JsonOn<'a>>,
    /// `... ON ERROR`.
    pub on_error: Option<JsonOn<'a>>,
}

/// What happens `ON EMPTY` or `ON ERROR`.
#[derive(Clone, Copy, Debug)]
pub enum JsonOn<'a> {
    /// `NULL`.
    Null,
    /// `ERROR`.
    Error,
    /// `DEFAULT literal`.
    Default(Expr<'a>),
}

impl IntervalUnit {
    /// MySQL's word for it, upper case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            IntervalUnit::Microsecond => "MICROSECOND",
            IntervalUnit::Second => "SECOND",
            IntervalUnit::Minute => "MINUTE",
            IntervalUnit::Hour => "HOUR",
            IntervalUnit::Day => "DAY",
            IntervalUnit::Week => "WEEK",
            IntervalUnit::Month => "MONTH",
            IntervalUnit::Quarter => "QUARTER",
            IntervalUnit::Year => "YEAR",
            IntervalUnit::SecondMicrosecond => "SECOND_MICROSECOND",
            IntervalUnit::MinuteMicrosecond => "MINUTE_MICROSECOND",
            IntervalUnit::MinuteSecond => "MINUTE_SECOND",
            IntervalUnit::HourMicrosecond => "HOUR_MICROSECOND",
            IntervalUnit::HourSecond => "HOUR_SECOND",
            IntervalUnit::HourMinute => "HOUR_MINUTE",
            IntervalUnit::DayMicrosecond => "DAY_MICROSECOND",
            IntervalUnit::DaySecond => "DAY_SECOND",
            IntervalUnit::DayMinute => "DAY_MINUTE",
            IntervalUnit::DayHour => "DAY_HOUR",
            IntervalUnit::YearMonth => "YEAR_MONTH",
        }
    }
}
