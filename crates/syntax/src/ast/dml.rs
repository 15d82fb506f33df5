//! Statements that change rows.

use super::{Expr, FileFormat, Ident, ObjectName, OrderItem, Query, Span, TableRef, ValuesRows, With};

/// `INSERT` and `REPLACE`.
#[derive(Clone, Copy, Debug)]
pub struct Insert<'a> {
    /// `REPLACE`.
    pub replace: bool,
    /// Priority word.
    pub priority: Option<Priority>,
    /// `IGNORE`.
    pub ignore: bool,
    /// The text inside `/*+ ... */`.
    pub hints: Option<Span>,
    /// The table.
    pub table: ObjectName<'a>,
    /// `PARTITION (...)`.
    pub partitions: &'a [Ident<'a>],
    /// The columns; `None`: not written (all); `Some(&[])`: `()`.
    pub columns: Option<&'a [super::ColumnRef<'a>]>,
    /// Where the rows come from.
    pub source: InsertSource<'a>,
    /// `AS alias (columns)` after `VALUES` or `SET`.
    pub row_alias: Option<RowAlias<'a>>,
    /// `ON DUPLICATE KEY UPDATE`; empty if not written.
    pub on_duplicate: &'a [Assignment<'a>],
    /// A column may be written several times, as by LOAD DATA, whose lines are such statements. The parser never sets it.
    pub repeats_columns: bool,
}

/// `LOW_PRIORITY`, `DELAYED`, `HIGH_PRIORITY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Priority {
    Low,
    Delayed,
    High,
}

/// Where inserted rows come from.
#[derive(Clone, Copy, Debug)]
pub enum InsertSource<'a> {
    /// `VALUES (...), ...`; also `SET a = 1`, whose columns are then in `Insert::columns`.
    Values(&'a ValuesRows<'a>),
    /// A query.
    Query(&'a Query<'a>),
}

/// `AS new (m, n)`.
#[derive(Clone, Copy, Debug)]
pub struct RowAlias<'a> {
    /// Name of the new row.
    pub name: Ident<'a>,
    /// Names of its columns; empty: the table's.
    pub columns: &'a [Ident<'a>],
}

/// `column = value`.
#[derive(Clone, Copy, Debug)]
pub struct Assignment<'a> {
    /// The column.
    pub column: super::ColumnRef<'a>,
    /// The value; [`super::ExprKind::Default`] for `DEFAULT`.
    pub value: Expr<'a>,
}

/// `UPDATE`.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// `WITH`.
    pub with: Option<&'a With<'a>>,
    /// The text inside `/*+ ... */`.
    pub hints: Option<Span>,
    /// `LOW_PRIORITY`.
    pub low_priority: bool,
    /// `IGNORE`.
    pub ignore: bool,
    /// One plain table: single-table form; else multi-table.
    pub tables: &'a [TableRef<'a>],
    /// `SET`; never empty.
    pub assignments: &'a [Assignment<'a>],
    /// `WHERE`.
    pub where_: Option<&'a Expr<'a>>,
    /// `ORDER BY` (single-table form only).
    pub order_by: &'a [OrderItem<'a>],
    /// `LIMIT` (single-table form only; no offset).
    pub limit: Option<Expr<'a>>,
}

/// `DELETE`.
#[derive(Clone, Copy, Debug)]
pub struct Delete<'a> {
    /// `WITH`.
    pub with: Option<&'a With<'a>>,
    /// The text inside `/*+ ... */`.
    pub hints: Option<Span>,
    /// `LOW_PRIORITY`.
    pub low_priority: bool,
    /// `QUICK`.
    pub quick: bool,
    /// `IGNORE`.
    pub ignore: bool,
    /// Multi-table form: the tables or aliases rows are deleted from. Empty: single-table form.
    pub targets: &'a [ObjectName<'a>],
    /// Single-table form: exactly one plain table. Multi-table form: all that is joined.
    pub from: &'a [TableRef<'a>],
    /// `WHERE`.
    pub where_: Option<&'a Expr<'a>>,
    /// `ORDER BY` (single-table form only).
    pub order_by: &'a [OrderItem<'a>],
    /// `LIMIT` (single-table form only).
    pub limit: Option<Expr<'a>>,
}

/// `LOAD DATA`.
#[derive(Clone, Copy, Debug)]
pub struct LoadData<'a> {
    /// Priority word: `LOW_PRIORITY` or `CONCURRENT`.
    pub low_priority: bool,
    /// `LOCAL`: the client sends the file.
    pub local: bool,
    /// The path.
    pub path: &'a [u8],
    /// What happens with duplicate keys.
    pub duplicates: Duplicates,
    /// The table.
    pub table: ObjectName<'a>,
    /// `PARTITION (...)`.
    pub partitions: &'a [Ident<'a>],
    /// `CHARACTER SET`.
    pub charset: Option<&'a [u8]>,
    /// `FIELDS`, `LINES`.
    pub format: FileFormat<'a>,
    /// `IGNORE n LINES`.
    pub ignore_lines: u64,
    /// Columns and variables, in file order; empty: all columns.
    pub columns: &'a [LoadColumn<'a>],
    /// `SET`.
    pub assignments: &'a [Assignment<'a>],
}

/// `IGNORE` or `REPLACE`, or neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// An error.
    #[default]
    Error,
    /// The new row is dropped.
    Ignore,
    /// The old row goes.
    Replace,
}

/// A target of `LOAD DATA`.
#[derive(Clone, Copy, Debug)]
pub enum LoadColumn<'a> {
    /// A column.
    Column(super::ColumnRef<'a>),
    /// A user variable.
    UserVar(&'a [u8]),
}

/// `CALL`.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The procedure.
    pub name: ObjectName<'a>,
    /// The arguments.
    pub args: &'a [Expr<'a>],
}
