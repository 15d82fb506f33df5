//! Queries: `SELECT`, set operations, `WITH`, table references.

use super::{DataType, Expr, Ident, JsonOn, ObjectName, Span, ValuesRows, WindowSpec};

/// A whole query expression.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// `WITH`.
    pub with: Option<&'a With<'a>>,
    /// What makes the rows.
    pub body: QueryBody<'a>,
    /// `ORDER BY` of the whole.
    pub order_by: &'a [OrderItem<'a>],
    /// `LIMIT` of the whole.
    pub limit: Option<Limit<'a>>,
    /// `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE`.
    pub locking: &'a [Locking<'a>],
    /// `INTO`, only at the top of a statement.
    pub into: Option<&'a Into<'a>>,
    /// It stands inside a query block of a set operation, or before the locking clause: deprecated (3962).
    pub into_is_inner: bool,
    /// Where it stands, without parentheses around it.
    pub span: Span,
}

/// The part of a query before `ORDER BY`.
#[derive(Clone, Copy, Debug)]
pub enum QueryBody<'a> {
    /// `SELECT ...`.
    Select(&'a Select<'a>),
    /// `VALUES ROW(...), ...`.
    Values(&'a ValuesRows<'a>),
    /// `TABLE t`.
    Table(ObjectName<'a>),
    /// `left UNION|EXCEPT|INTERSECT [ALL] right`.
    SetOp {
        /// Which.
        op: SetOp,
        /// `ALL`: duplicates stay.
        all: bool,
        /// Left side.
        left: &'a QueryBody<'a>,
        /// Right side.
        right: &'a QueryBody<'a>,
    },
    /// `(query)` with its own `ORDER BY` or `LIMIT`.
    Nested(&'a Query<'a>),
}

/// Set operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOp {
    /// `UNION`.
    Union,
    /// `EXCEPT`.
    Except,
    /// `INTERSECT`; binds stronger than the others.
    Intersect,
}

/// `WITH [RECURSIVE] ...`.
#[derive(Clone, Copy, Debug)]
pub struct With<'a> {
    /// `RECURSIVE`.
    pub recursive: bool,
    /// The common table expressions, in order.
    pub ctes: &'a [Cte<'a>],
}

/// `name (columns) AS (query)`.
#[derive(Clone, Copy, Debug)]
pub struct Cte<'a> {
    /// Its name.
    pub name: Ident<'a>,
    /// Names of its columns; empty: the query's own.
    pub columns: &'a [Ident<'a>],
    /// The query.
    pub query: &'a Query<'a>,
}

/// One `SELECT ... FROM ... WHERE ...`.
#[derive(Clone, Copy, Debug)]
pub struct Select<'a> {
    /// `DISTINCT`, `SQL_CALC_FOUND_ROWS`, ...
    pub options: SelectOptions,
    /// The text inside `/*+ ... */`.
    pub hints: Option<Span>,
    /// The select list; never empty.
    pub items: &'a [SelectItem<'a>],
    /// `FROM`: comma-separated references; empty without `FROM` and for `FROM DUAL`.
    pub from: &'a [TableRef<'a>],
    /// `WHERE`.
    pub where_: Option<&'a Expr<'a>>,
    /// `GROUP BY`.
    pub group_by: &'a [OrderItem<'a>],
    /// `WITH ROLLUP`, `ROLLUP (...)`, `CUBE (...)`.
    pub grouping: GroupingKind,
    /// `HAVING`.
    pub having: Option<&'a Expr<'a>>,
    /// `WINDOW name AS (...)`.
    pub windows: &'a [(Ident<'a>, WindowSpec<'a>)],
    /// `QUALIFY`.
    pub qualify: Option<&'a Expr<'a>>,
    /// Where it stands.
    pub span: Span,
}

/// How `GROUP BY` makes groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupingKind {
    /// One group per key.
    #[default]
    Plain,
    /// `WITH ROLLUP` or `ROLLUP (...)`: also super-aggregates.
    Rollup,
    /// `CUBE (...)`.
    Cube,
}

/// Words after `SELECT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectOptions {
    /// `DISTINCT`, `DISTINCTROW`.
    pub distinct: bool,
    /// `ALL`.
    pub all: bool,
    /// `STRAIGHT_JOIN`.
    pub straight_join: bool,
    /// `HIGH_PRIORITY`.
    pub high_priority: bool,
    /// `SQL_SMALL_RESULT`.
    pub small_result: bool,
    /// `SQL_BIG_RESULT`.
    pub big_result: bool,
    /// `SQL_BUFFER_RESULT`.
    pub buffer_result: bool,
    /// `SQL_CALC_FOUND_ROWS`.
    pub calc_found_rows: bool,
    /// `SQL_NO_CACHE`.
    pub no_cache: bool,
    /// `*` is the whole row of a table, with columns that no statement can name. Cannot be written: of queries that the server makes.
    pub whole_rows: bool,
}

/// One entry of the select list.
#[derive(Clone, Copy, Debug)]
pub enum SelectItem<'a> {
    /// `*`.
    Star(Span),
    /// `table.*`, `schema.table.*`.
    TableStar(ObjectName<'a>, Span),
    /// An expression.
    Expr {
        /// The expression.
        expr: Expr<'a>,
        /// Its alias.
        alias: Option<Ident<'a>>,
        /// Its source text with parentheses: the column's name if there is no alias and it is no plain column.
        source: Span,
    },
}

/// `expr [ASC | DESC]`.
#[derive(Clone, Copy, Debug)]
pub struct OrderItem<'a> {
    /// The key.
    pub expr: Expr<'a>,
    /// `DESC` (true), `ASC` (false), neither.
    pub desc: Option<bool>,
}

/// `LIMIT`. Each is an unsigned integer literal, a parameter, or (in stored programs) a variable.
#[derive(Clone, Copy, Debug)]
pub struct Limit<'a> {
    /// At most this many rows.
    pub count: Expr<'a>,
    /// After skipping this many.
    pub offset: Option<Expr<'a>>,
}

/// `FOR UPDATE [OF t] [NOWAIT | SKIP LOCKED]` and its like.
#[derive(Clone, Copy, Debug)]
pub struct Locking<'a> {
    /// `FOR UPDATE` (true) or `FOR SHARE`.
    pub exclusive: bool,
    /// `OF`: only these; empty: all.
    pub tables: &'a [ObjectName<'a>],
    /// What happens at a locked row.
    pub wait: LockWait,
}

/// What a locking read does at a locked row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockWait {
    /// Wait.
    #[default]
    Wait,
    /// `NOWAIT`.
    NoWait,
    /// `SKIP LOCKED`.
    SkipLocked,
}

/// `INTO`.
#[derive(Clone, Copy, Debug)]
pub enum Into<'a> {
    /// `INTO @a, b`.
    Variables(&'a [IntoVar<'a>]),
    /// `INTO OUTFILE`.
    Outfile {
        /// The path.
        path: &'a [u8],
        /// `CHARACTER SET`.
        charset: Option<&'a [u8]>,
        /// `FIELDS`, `LINES`.
        format: FileFormat<'a>,
    },
    /// `INTO DUMPFILE`.
    Dumpfile(&'a [u8]),
}

/// One target of `INTO`.
#[derive(Clone, Copy, Debug)]
pub enum IntoVar<'a> {
    /// `@name`.
    User(&'a [u8]),
    /// A local variable of a stored program.
    Local(Ident<'a>),
}

/// `FIELDS ... LINES ...`; `None` means not written.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileFormat<'a> {
    /// `FIELDS TERMINATED BY`.
    pub field_terminated: Option<&'a [u8]>,
    /// `[OPTIONALLY] ENCLOSED BY`.
    pub enclosed: Option<&'a [u8]>,
    /// `OPTIONALLY`.
    pub enclosed_optionally: bool,
    /// `ESCAPED BY`.
    pub escaped: Option<&'a [u8]>,
    /// `LINES STARTING BY`.
    pub line_starting: Option<&'a [u8]>,
    /// `LINES TERMINATED BY`.
    pub line_terminated: Option<&'a [u8]>,
}

/// Something rows come from.
#[derive(Clone, Copy, Debug)]
pub enum TableRef<'a> {
    /// A table or view.
    Table(&'a TableFactor<'a>),
    /// `[LATERAL] (query) AS alias (columns)`.
    Derived {
        /// `LATERAL`.
        lateral: bool,
        /// The query.
        query: &'a Query<'a>,
        /// Its alias; absent: 1248.
        alias: Option<Ident<'a>>,
        /// Names of its columns.
        columns: &'a [Ident<'a>],
    },
    /// `JSON_TABLE(...)`.
    JsonTable(&'a JsonTable<'a>),
    /// A join of two.
    Join(&'a Join<'a>),
    /// `(t1, t2, ...)`: a cross join in parentheses; at least two.
    List(&'a [TableRef<'a>]),
}

/// A table or view in `FROM`.
#[derive(Clone, Copy, Debug)]
pub struct TableFactor<'a> {
    /// Which.
    pub name: ObjectName<'a>,
    /// `PARTITION (...)`.
    pub partitions: &'a [Ident<'a>],
    /// `AS alias`.
    pub alias: Option<Ident<'a>>,
    /// `USE`, `FORCE`, `IGNORE INDEX`.
    pub index_hints: &'a [IndexHint<'a>],
    /// `TABLESAMPLE`.
    pub sample: Option<&'a Expr<'a>>,
}

/// `USE|FORCE|IGNORE INDEX [FOR ...] (names)`.
#[derive(Clone, Copy, Debug)]
pub struct IndexHint<'a> {
    /// Which of the three.
    pub kind: IndexHintKind,
    /// For what.
    pub scope: IndexHintScope,
    /// The indexes; `PRIMARY` is a name like another. Empty only with `USE`.
    pub indexes: &'a [Ident<'a>],
}

/// Kinds of index hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

/// What an index hint is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum IndexHintScope {
    All,
    Join,
    OrderBy,
    GroupBy,
}

/// A join.
#[derive(Clone, Copy, Debug)]
pub struct Join<'a> {
    /// Kind.
    pub kind: JoinKind,
    /// `NATURAL`.
    pub natural: bool,
    /// Left side.
    pub left: TableRef<'a>,
    /// Right side.
    pub right: TableRef<'a>,
    /// `ON` or `USING`.
    pub condition: JoinCondition<'a>,
}

/// Kinds of joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// `[INNER | CROSS] JOIN`.
    Inner,
    /// `STRAIGHT_JOIN`.
    Straight,
    /// `LEFT [OUTER] JOIN`.
    Left,
    /// `RIGHT [OUTER] JOIN`.
    Right,
}

/// What joins rows.
#[derive(Clone, Copy, Debug)]
pub enum JoinCondition<'a> {
    /// Nothing written.
    None,
    /// `ON`.
    On(&'a Expr<'a>),
    /// `USING (...)`.
    Using(&'a [Ident<'a>]),
}

/// `JSON_TABLE(doc, path COLUMNS (...)) AS alias`.
#[derive(Clone, Copy, Debug)]
pub struct JsonTable<'a> {
    /// The document.
    pub doc: Expr<'a>,
    /// The row path.
    pub path: &'a [u8],
    /// The columns.
    pub columns: &'a [JsonColumn<'a>],
    /// Its alias.
    pub alias: Option<Ident<'a>>,
}

/// A column of `JSON_TABLE`.
#[derive(Clone, Copy, Debug)]
pub enum JsonColumn<'a> {
    /// `name FOR ORDINALITY`.
    Ordinality(Ident<'a>),
    /// `name type [EXISTS] PATH '...'`.
    Path {
        /// Its name.
        name: Ident<'a>,
        /// Its type.
        ty: &'a DataType<'a>,
        /// `EXISTS`.
        exists: bool,
        /// The path.
        path: &'a [u8],
        /// `ON EMPTY`.
        on_empty: Option<JsonOn<'a>>,
        /// `ON ERROR`.
        on_error: Option<JsonOn<'a>>,
    },
    /// `NESTED [PATH] '...' COLUMNS (...)`.
    Nested {
        /// The path.
        path: &'a [u8],
        /// The columns.
        columns: &'a [JsonColumn<'a>],
    },
}
