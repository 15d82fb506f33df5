//! Bound expressions: typed, names resolved, ready to be compiled.
//!
//! Every node carries its MySQL type and whether it may be NULL. The meaning of a call lies in its
//! [`FunctionId`]; operators are functions too (`a + b` is `Call { function: Add, .. }`), so that one registry knows
//! every result type and one compiler every kernel.

use std::sync::Arc;

use syntax::ast::IntervalUnit;
use types::{DataType, TypeKind, Value, ValueRef};

use super::Logical;
use crate::function_table::FunctionId;
use crate::stored_function::StoredCall;

/// A column of some operator of the statement's tree, unique in the statement.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ColumnId(pub u32);

/// An expression with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// MySQL's type of the value.
    pub data_type: DataType,
    /// Whether the value may be NULL.
    pub nullable: bool,
    /// How strongly the collation of a string holds against others: MySQL's coercibility, 0 (explicit COLLATE) to 7
    /// (undecided). Manual: "Collation Coercibility in Expressions".
    pub coercibility: Coercibility,
}

/// MySQL's coercibility values: the lower one's collation wins.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Coercibility {
    /// 0: an explicit COLLATE.
    Explicit = 0,
    /// 2: a column.
    Implicit = 2,
    /// 3: a system constant, `USER()` and its like.
    SystemConstant = 3,
    /// 4: a literal, a parameter.
    Literal = 4,
    /// 5: a number or a temporal value.
    Numeric = 5,
    /// 6: NULL.
    Ignorable = 6,
    /// 7: a string made of strings with different collations, none of which wins.
    NoCollation = 7,
}

/// The kinds of bound expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant, already of the node's type.
    Literal(Value),
    /// A column of the tree below (before physical planning only).
    Column(ColumnId),
    /// A column of the operator's input batch, by position (in physical plans only).
    Input(u32),
    /// A value of the row of an enclosing query, constant while this query runs once: a slot of the execution's
    /// list of outer values (in physical plans only; before, a `Column` of the outer tree).
    Outer(u32),
    /// `?` or a literal made a parameter, from 0; constant while the statement runs.
    Param(u32),
    /// `@name`, in folded (small) letters.
    UserVar(Arc<str>),
    /// `@name := value`.
    UserVarAssign {
        /// The variable.
        name: Arc<str>,
        /// Its new value.
        value: Box<Expr>,
    },
    /// A function or operator.
    Call {
        /// Which.
        function: FunctionId,
        /// Its arguments.
        args: Vec<Expr>,
        /// What is no expression.
        option: CallOption,
    },
    /// `CASE WHEN c THEN v ... ELSE e END`; a CASE with operand is bound to comparisons. `IF`, `IFNULL`, `COALESCE`
    /// and `NULLIF` stay functions.
    Case {
        /// Conditions and values, in order.
        whens: Vec<(Expr, Expr)>,
        /// ELSE; absent: NULL.
        otherwise: Option<Box<Expr>>,
    },
    /// `expr IN (list)`: three-valued. NOT IN is `Not` of it.
    InList {
        /// The operand.
        expr: Box<Expr>,
        /// Not empty.
        list: Vec<Expr>,
    },
    /// A subquery (before physical planning only).
    Subquery(Box<Subquery>),
}

/// What a call needs besides expressions.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CallOption {
    /// Nothing.
    #[default]
    None,
    /// A cast to a text as a column gets it that the value is stored into: BIT as a number, a DOUBLE with as many digits as there
    /// is room for.
    Stored,
    /// A cast to a text without a length: nothing is cut or filled up.
    Whole,
    /// A comparison by CASE, which converts no constant to the type of a column.
    AsIs,
    /// A cast of bytes to characters: error 3854 where they are none.
    Characters,
    /// A cast of a constant to the year that it is beside a YEAR column; a number that is no year stays what it is.
    BesideYear,
    /// A constant document beside a BIGINT column: the integer that the column would store for it, if that is its number.
    BesideBigInt,
    /// No cast at all: a text in which a number is read without a warning.
    Quiet,
    /// A cast to BINARY(n): filled up with zero bytes.
    Filled,
    /// A cast to a DATE or DATETIME as a statement writes it: NULL for dates that the session's mode does not have. To a TIME: what a column
    /// keeps of a text that it is compared with.
    Checked,
    /// IS NULL of what cannot be NULL, which is not computed.
    NeverNull,
    /// A conversion of a value to the one type of all that CASE, IF or COALESCE may give.
    Common,
    /// A conversion to another character set that the statement does not write: 3854 for what the set does not hold.
    Lossless,
    /// Unit of DATE_ADD, EXTRACT, TIMESTAMPDIFF.
    Unit(IntervalUnit),
    /// A text: the path of `->`, a character set, a style, JSON_VALUE's clauses in source form.
    Text(Arc<[u8]>),
    /// A length in characters or bytes (WEIGHT_STRING), fraction digits.
    Number(u64),
    /// JSON_VALUE's path and answers. In a box: every expression would be as large as these otherwise.
    JsonValue(Box<JsonValueOption>),
    /// The stored function that is called.
    Function(Arc<StoredCall>),
}

/// What JSON_VALUE looks for, and what it gives where that is not there.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonValueOption {
    /// The path.
    pub path: Arc<[u8]>,
    /// When nothing is found.
    pub on_empty: JsonAnswer,
    /// When something goes wrong.
    pub on_error: JsonAnswer,
}

/// Expressions are moved and copied all the time while a statement is bound.
const _: () = assert!(size_of::<Expr>() <= 88);

/// What JSON_VALUE and JSON_TABLE give in a bad case.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum JsonAnswer {
    /// NULL, the default.
    #[default]
    Null,
    /// An error.
    Error,
    /// This value.
    Default(Value),
}

/// A subquery inside an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Subquery {
    /// What is asked of its rows.
    pub kind: SubqueryKind,
    /// Its tree.
    pub plan: Logical,
    /// Its output columns.
    pub columns: Vec<ColumnId>,
    /// Columns of enclosing queries it reads (all levels), empty if it is not correlated.
    pub outer: Vec<ColumnId>,
    /// Once it is a column of rows: its value is read for rows for which all of these are true, so that it need not be computed for others. They
    /// read the rows' columns.
    pub needed_if: Vec<Expr>,
    /// Where its SELECT begins in the text, by which hints name it; the greatest number: no hint does.
    pub block: u32,
}

/// What is asked of a subquery's rows.
#[derive(Clone, Debug, PartialEq)]
pub enum SubqueryKind {
    /// The value of its only column in its only row; NULL without rows; 1242 with more.
    Scalar,
    /// Whether it has a row.
    Exists,
    /// `x op ANY (..)` or `x op ALL (..)`. IN is `= ANY`.
    Quantified {
        /// ALL instead of ANY.
        all: bool,
        /// `(a, b) op (subquery)`: NULL without rows, 1242 with more than one.
        single: bool,
        /// Conditions of one row of the subquery against the outer row, joined by AND: `left op right` per column, where right is a
        /// `Column` of the subquery. Of a single row that is compared by another operator than `=` one for the whole row.
        condition: Vec<Expr>,
    },
}

/// The walk over direct parts in one mutability: its name, how a list is walked, and `mut` or nothing.
macro_rules! children {
    ($(#[$doc:meta])* $name:ident, $iter:ident $(, $mutable:tt)?) => {
        $(#[$doc])*
        pub fn $name<'e>(&'e $($mutable)? self, visit: &mut dyn FnMut(&'e $($mutable)? Expr)) {
            crate::progress::step();
            match &$($mutable)? self.kind {
                ExprKind::UserVarAssign { value, .. } => visit(value),
                ExprKind::Call { args, .. } => args.$iter().for_each(visit),
                ExprKind::Case { whens, otherwise } => {
                    for (when, then) in whens {
                        visit(when);
                        visit(then);
                    }
                    if let Some(otherwise) = otherwise {
                        visit(otherwise);
                    }
                }
                ExprKind::InList { expr, list } => {
                    visit(expr);
                    list.$iter().for_each(visit);
                }
                ExprKind::Subquery(subquery) => {
                    if let SubqueryKind::Quantified { condition, .. } = &$($mutable)? subquery.kind {
                        condition.$iter().for_each(visit);
                    }
                }
                ExprKind::Literal(_)
                | ExprKind::Column(_)
                | ExprKind::Input(_)
                | ExprKind::Outer(_)
                | ExprKind::Param(_)
                | ExprKind::UserVar(_) => {}
            }
        }
    };
}

impl Expr {
    /// What chooses one of several dates and may be NULL is NULL for a date that the session's mode refuses, where it is compared with
    /// `other` as a DATETIME. Two dates are compared as they are, a date and a number as numbers.
    #[must_use]
    pub fn is_checked_beside(&self, other: &DataType) -> bool {
        use FunctionId as F;
        let chooses = match &self.kind {
            ExprKind::Case { .. } => true,
            ExprKind::Call { function, .. } => matches!(
                function,
                F::If | F::IfNull | F::Coalesce | F::NullIf | F::Greatest | F::Least | F::AnyValue
            ),
            _ => false,
        };
        chooses
            && self.nullable
            && self.data_type.has_date()
            && !other.is_numeric()
            && (self.data_type.kind != TypeKind::Date || other.kind != TypeKind::Date)
    }

    /// A node; strings that are not literals hold their collation as columns do.
    #[must_use]
    pub fn new(kind: ExprKind, data_type: DataType, nullable: bool) -> Expr {
        let coercibility = match &kind {
            ExprKind::Literal(Value::Null) => Coercibility::Ignorable,
            _ if !(data_type.is_string() || data_type.members.is_some()) => Coercibility::Numeric,
            ExprKind::Literal(_) | ExprKind::Param(_) => Coercibility::Literal,
            _ => Coercibility::Implicit,
        };
        Expr { kind, data_type, nullable, coercibility }
    }

    /// A constant with the type of its value: integers are BIGINT with as many digits as they have, strings VARCHAR.
    #[must_use]
    pub fn literal(value: Value) -> Expr {
        let data_type = literal_type(&value);
        let nullable = value.is_null();
        Expr::new(ExprKind::Literal(value), data_type, nullable)
    }

    /// NULL.
    #[must_use]
    pub fn null() -> Expr {
        Expr::literal(Value::Null)
    }

    /// A whole number.
    #[must_use]
    pub fn int(value: i64) -> Expr {
        Expr::literal(Value::Int(value))
    }

    /// TRUE or FALSE: 1 or 0.
    #[must_use]
    pub fn bool(value: bool) -> Expr {
        Expr::new(ExprKind::Literal(Value::Int(i64::from(value))), DataType::BOOL, false)
    }

    /// A column.
    #[must_use]
    pub fn column(id: ColumnId, data_type: DataType, nullable: bool) -> Expr {
        Expr::new(ExprKind::Column(id), data_type, nullable)
    }

    /// The literal's value, if it is one.
    #[must_use]
    pub fn as_literal(&self) -> Option<&Value> {
        match &self.kind {
            ExprKind::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// The column, if it is one.
    #[must_use]
    pub(crate) fn as_column(&self) -> Option<ColumnId> {
        match self.kind {
            ExprKind::Column(id) => Some(id),
            _ => None,
        }
    }

    /// Whether this is the call of a stored function.
    #[must_use]
    pub(crate) fn is_stored_call(&self) -> bool {
        matches!(&self.kind, ExprKind::Call { option: CallOption::Function(_), .. })
    }

    /// The call's function and arguments, if it is one.
    #[must_use]
    pub fn as_call(&self) -> Option<(FunctionId, &[Expr])> {
        match &self.kind {
            ExprKind::Call { function, args, .. } => Some((*function, args)),
            _ => None,
        }
    }

    children!(
        /// Calls `visit` with each direct part (not inside subqueries, except their conditions).
        each_child,
        iter
    );
    children!(
        /// As [`Expr::each_child`], to change the parts.
        each_child_mut,
        iter_mut,
        mut
    );

    /// Whether `test` holds for this node or any below it (subqueries' conditions included, their trees not).
    #[must_use]
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.each_child(&mut |child| found = found || child.any(test));
        found
    }

    /// Calls `visit` with every column read here, those a subquery takes from outside included.
    pub(crate) fn each_column(&self, visit: &mut dyn FnMut(ColumnId)) {
        match &self.kind {
            ExprKind::Column(id) => visit(*id),
            ExprKind::Subquery(subquery) => {
                subquery.outer.iter().copied().for_each(&mut *visit);
                if let SubqueryKind::Quantified { condition, .. } = &subquery.kind {
                    for expr in condition {
                        expr.each_column(&mut |id| {
                            if !subquery.columns.contains(&id) {
                                visit(id);
                            }
                        });
                    }
                }
            }
            _ => self.each_child(&mut |child| child.each_column(visit)),
        }
    }

    /// Nothing in it changes while the statement runs: literals, parameters, outer values and pure functions of them.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        !self.any(&mut |node| match &node.kind {
            ExprKind::Column(_)
            | ExprKind::Input(_)
            | ExprKind::UserVarAssign { .. }
            | ExprKind::UserVar(_)
            | ExprKind::Subquery(_) => true,
            ExprKind::Call { function, .. } => {
                !function.is_deterministic() || *function == FunctionId::Operand
            }
            _ => false,
        })
    }

    /// Its value may be asked for while the statement is planned: it follows from literals alone, and needs little time and memory.
    /// Parameters are none: the plan serves later values, too.
    #[must_use]
    pub fn is_foldable(&self) -> bool {
        self.follows_from(0, false)
    }

    /// The same, where the values of the first `parameter_count` parameters are known. Times without dates are known too.
    #[must_use]
    pub fn is_foldable_with(&self, parameter_count: usize) -> bool {
        let is_time = self.data_type.kind == TypeKind::Time;
        self.follows_from(parameter_count, is_time && !self.any(&mut |node| node.data_type.has_date()))
    }

    fn follows_from(&self, parameter_count: usize, has_times: bool) -> bool {
        /// Nodes of the largest constant that is computed.
        const NODES_MAX: usize = 64;
        /// Longest text in it, in characters.
        const CHARS_MAX: u32 = 1024;
        let mut nodes = 0;
        !self.any(&mut |node| {
            nodes += 1;
            let is_known = match &node.kind {
                ExprKind::Literal(_) | ExprKind::Case { .. } | ExprKind::InList { .. } => true,
                ExprKind::Call { function, .. } => function.is_foldable(),
                ExprKind::Param(ordinal) => (*ordinal as usize) < parameter_count,
                _ => false,
            };
            let of = &node.data_type;
            // A TIME becomes a date of today.
            let is_long = of.is_string() && of.length > CHARS_MAX || of.kind == TypeKind::Json;
            nodes > NODES_MAX || !is_known || is_long || of.kind == TypeKind::Time && !has_times
        })
    }

    /// Whether it may be NULL, where more is known than its type says: arithmetic and comparisons of non-NULL values are not.
    #[must_use]
    pub fn may_be_null(&self) -> bool {
        use FunctionId as F;
        match self.as_call() {
            Some((
                F::Add | F::Sub | F::Mul | F::Neg | F::Eq | F::Ne | F::Lt | F::Le | F::Gt | F::Ge,
                args,
            )) => args.iter().any(Expr::may_be_null),
            _ => self.nullable,
        }
    }

    /// Whether it reads one of these columns.
    #[must_use]
    pub(crate) fn reads_any(&self, columns: &[ColumnId]) -> bool {
        let mut reads = false;
        self.each_column(&mut |id| reads |= columns.contains(&id));
        reads
    }

    /// Holds a subquery.
    #[must_use]
    pub(crate) fn has_subquery(&self) -> bool {
        self.any(&mut |node| matches!(node.kind, ExprKind::Subquery(_)))
    }
}

/// The type of a value written in the text.
#[must_use]
pub fn literal_type<'a>(value: impl Into<ValueRef<'a>>) -> DataType {
    fn digits(mut value: u64) -> u32 {
        let mut count = 1;
        while value >= 10 {
            value /= 10;
            count += 1;
        }
        count
    }
    match value.into() {
        ValueRef::Null => DataType::NULL,
        ValueRef::Int(value) => {
            // One place for the sign, as MySQL counts; TRUE and FALSE have a length of 1.
            DataType { length: digits(value.unsigned_abs()) + 1, ..DataType::BIGINT }
        }
        ValueRef::UInt(value) => DataType { length: digits(value), ..DataType::BIGINT_UNSIGNED },
        ValueRef::Double(_) => DataType::DOUBLE,
        ValueRef::Decimal(value) => {
            let scale = value.scale();
            DataType::decimal(value.integer_digits() + u32::from(scale), scale)
        }
        ValueRef::Date(_) => DataType::DATE,
        ValueRef::DateTime(value) => DataType::datetime(fraction_digits(value.micros)),
        ValueRef::Time(value) => {
            DataType::time(fraction_digits((value.micros % 1_000_000).unsigned_abs() as u32))
        }
        ValueRef::Bytes { bytes, collation } => {
            DataType::varchar(collation.charset().char_count(bytes) as u32, collation)
        }
        ValueRef::Json(_) => DataType::JSON,
    }
}

/// Digits a fraction of a second needs.
fn fraction_digits(micros: u32) -> u8 {
    let mut rest = micros;
    let mut digits = 6;
    while digits > 0 && rest.is_multiple_of(10) {
        rest /= 10;
        digits -= 1;
    }
    digits
}
