//! The bound statement: a tree of relational operators over columns with statement-wide numbers.
//!
//! Read next: [`expr`] (expressions; subqueries hold trees), `statement` (what stands around the tree), `walk` (its inputs
//! and expressions).

pub mod expr;
mod hints;
mod json_table;
mod part;
mod statement;
mod walk;
mod window;

use std::sync::Arc;

use syntax::ast::{AggregateFunc, SetOp};
use types::DataType;

use expr::{Coercibility, ColumnId, Expr, Subquery};

pub use crate::needs::{ColumnNeed, Definer, FunctionNeed, Needs, TableIndex, TableNeed};
pub(crate) use hints::NO_BLOCK;
pub use hints::{JoinOrderHint, JoinOrderPlace, PlanHints, SubqueryHint, TableHints};
pub use json_table::{JsonColumn, JsonRows, JsonSource};
pub use part::{PartKind, TablePart, TextPredicate, TextPredicateKind};
pub use statement::{
    Bound, BoundAssignment, BoundDelete, BoundInsert, BoundKind, BoundRowQuery, BoundTable, BoundTargetView,
    BoundUpdate, BoundViewCheck, Created, InsertCell, InsertRows, OutputColumn, OutputSource,
};
pub use window::{Frame, FrameBound, WindowCall, WindowFunction};

/// What a column is.
#[derive(Clone, Debug)]
pub struct ColumnInfo {
    /// Name, for EXPLAIN.
    pub name: Arc<str>,
    /// Type.
    pub data_type: DataType,
    /// May be NULL (an outer join makes it so for all columns of its inner side).
    pub nullable: bool,
    /// The table's column it is.
    pub origin: Option<(TableIndex, u32)>,
    /// How strongly its collation holds, where that is not as a table's column does: the literals of a derived table.
    pub coercibility: Option<Coercibility>,
    /// It is a number that COALESCE or its like makes of BIT values: a set operation keeps these bits.
    pub bits: Option<u32>,
    /// Its cells are values with a mark before them, or references to values stored out of line ([`PartKind::Reference`]).
    pub is_reference: bool,
}

/// A key of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// The value.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
}

/// The aggregate functions that run.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(missing_docs, reason = "MySQL's names")]
pub enum AggregateFunction {
    CountStar,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    StdPop,
    StdSamp,
    VarPop,
    VarSamp,
    GroupConcat,
    JsonArrayAgg,
    JsonObjectAgg,
    /// The value of some row of the group: columns that are the same in all of them, `ANY_VALUE`.
    AnyValue,
    /// `GROUPING`: one bit for each argument, set in rows of ROLLUP that sum over it. Above the binder its arguments are the numbers of
    /// keys.
    Grouping,
}

impl From<AggregateFunc> for AggregateFunction {
    fn from(function: AggregateFunc) -> AggregateFunction {
        match function {
            AggregateFunc::CountStar => AggregateFunction::CountStar,
            AggregateFunc::Count => AggregateFunction::Count,
            AggregateFunc::Sum => AggregateFunction::Sum,
            AggregateFunc::Avg => AggregateFunction::Avg,
            AggregateFunc::Min => AggregateFunction::Min,
            AggregateFunc::Max => AggregateFunction::Max,
            AggregateFunc::BitAnd => AggregateFunction::BitAnd,
            AggregateFunc::BitOr => AggregateFunction::BitOr,
            AggregateFunc::BitXor => AggregateFunction::BitXor,
            AggregateFunc::StdPop => AggregateFunction::StdPop,
            AggregateFunc::StdSamp => AggregateFunction::StdSamp,
            AggregateFunc::VarPop => AggregateFunction::VarPop,
            AggregateFunc::VarSamp => AggregateFunction::VarSamp,
            AggregateFunc::GroupConcat => AggregateFunction::GroupConcat,
            AggregateFunc::JsonArrayAgg => AggregateFunction::JsonArrayAgg,
            AggregateFunc::JsonObjectAgg => AggregateFunction::JsonObjectAgg,
            // Refused before, by its type.
            AggregateFunc::StCollect => AggregateFunction::AnyValue,
        }
    }
}

impl AggregateFunction {
    /// As EXPLAIN prints it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AggregateFunction::CountStar | AggregateFunction::Count => "count",
            AggregateFunction::Sum => "sum",
            AggregateFunction::Avg => "avg",
            AggregateFunction::Min => "min",
            AggregateFunction::Max => "max",
            AggregateFunction::BitAnd => "bit_and",
            AggregateFunction::BitOr => "bit_or",
            AggregateFunction::BitXor => "bit_xor",
            AggregateFunction::StdPop => "std",
            AggregateFunction::StdSamp => "stddev_samp",
            AggregateFunction::VarPop => "variance",
            AggregateFunction::VarSamp => "var_samp",
            AggregateFunction::GroupConcat => "group_concat",
            AggregateFunction::JsonArrayAgg => "json_arrayagg",
            AggregateFunction::JsonObjectAgg => "json_objectagg",
            AggregateFunction::AnyValue => "any_value",
            AggregateFunction::Grouping => "grouping",
        }
    }
}

/// An aggregate over the rows of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    /// Which.
    pub function: AggregateFunction,
    /// DISTINCT.
    pub distinct: bool,
    /// Arguments; empty for COUNT(*).
    pub args: Vec<Expr>,
    /// ORDER BY of GROUP_CONCAT.
    pub order_by: Vec<SortKey>,
    /// SEPARATOR of GROUP_CONCAT.
    pub separator: Arc<[u8]>,
    /// Type of the result.
    pub data_type: DataType,
    /// May be NULL.
    pub nullable: bool,
}

/// Kinds of joins. RIGHT is turned into LEFT by the binder.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum JoinKind {
    /// Pairs that meet the conditions.
    Inner,
    /// Inner, and the left side is read first (STRAIGHT_JOIN).
    Straight,
    /// And left rows without partner, the right side NULL.
    Left,
    /// Left rows that have a partner, once.
    Semi,
    /// Left rows without partner. A condition that is NULL is no partner (`NOT EXISTS`).
    Anti,
}

/// The logical operators. Each gives rows of named columns; see [`Logical::output`].
#[derive(Clone, Debug, PartialEq)]
pub enum Logical {
    /// One row without columns (no FROM).
    OneRow,
    /// No rows with these columns (a condition that is never true).
    Empty {
        /// Output.
        columns: Vec<ColumnId>,
    },
    /// All rows of a table.
    Scan {
        /// Which.
        table: TableIndex,
    },
    /// Rows written out.
    Values {
        /// Output.
        columns: Vec<ColumnId>,
        /// Rows, each as wide as `columns`.
        rows: Vec<Vec<Expr>>,
    },
    /// The rows of the step before, inside the recursive part of a recursive CTE.
    WorkingTable {
        /// Which recursion (position in order of binding).
        recursion: u32,
        /// Output.
        columns: Vec<ColumnId>,
    },
    /// WITH RECURSIVE: `seed`, then `step` over the last step's rows until there are none.
    Recursive {
        /// Its number, used by [`Logical::WorkingTable`].
        recursion: u32,
        /// First rows.
        seed: Box<Logical>,
        /// Columns of the seed, in order of `columns`.
        seed_columns: Vec<ColumnId>,
        /// Makes the next rows.
        step: Box<Logical>,
        /// Columns of the step, in order of `columns`.
        step_columns: Vec<ColumnId>,
        /// UNION DISTINCT instead of UNION ALL.
        distinct: bool,
        /// Output.
        columns: Vec<ColumnId>,
    },
    /// Rows that meet all conditions (WHERE, HAVING).
    Filter {
        /// Rows.
        input: Box<Logical>,
        /// Joined by AND.
        conditions: Vec<Expr>,
    },
    /// Computes columns; columns of the input stay visible.
    Project {
        /// Rows.
        input: Box<Logical>,
        /// New columns.
        items: Vec<(ColumnId, Expr)>,
    },
    /// Two inputs.
    Join {
        /// Kind.
        kind: JoinKind,
        /// Left.
        left: Box<Logical>,
        /// Right.
        right: Box<Logical>,
        /// Joined by AND.
        conditions: Vec<Expr>,
    },
    /// One row per group; without keys exactly one row.
    Aggregate {
        /// Rows.
        input: Box<Logical>,
        /// Group keys.
        keys: Vec<(ColumnId, Expr)>,
        /// Aggregates.
        calls: Vec<(ColumnId, AggregateCall)>,
        /// WITH ROLLUP.
        rollup: bool,
    },
    /// All rows, each with the values of window functions; in the order of the partitions, then of `order`.
    Window {
        /// Rows.
        input: Box<Logical>,
        /// Rows that have these values in common are a partition.
        partition: Vec<Expr>,
        /// The order within a partition; rows that have its values in common are peers.
        order: Vec<SortKey>,
        /// The functions.
        calls: Vec<(ColumnId, WindowCall)>,
    },
    /// One row per combination of `columns`, which are also its output.
    Distinct {
        /// Rows.
        input: Box<Logical>,
        /// Which columns.
        columns: Vec<ColumnId>,
    },
    /// Ordered rows.
    Sort {
        /// Rows.
        input: Box<Logical>,
        /// First key first.
        keys: Vec<SortKey>,
    },
    /// Part of the rows.
    Limit {
        /// Rows.
        input: Box<Logical>,
        /// At most this many, an integer constant.
        count: Option<Expr>,
        /// After skipping this many.
        offset: Option<Expr>,
    },
    /// UNION, EXCEPT, INTERSECT. Both sides have been cast to the output's types.
    SetOp {
        /// Which.
        op: SetOp,
        /// ALL.
        all: bool,
        /// Left.
        left: Box<Logical>,
        /// Its columns in order of `columns`.
        left_columns: Vec<ColumnId>,
        /// Right.
        right: Box<Logical>,
        /// Its columns in order of `columns`.
        right_columns: Vec<ColumnId>,
        /// Output.
        columns: Vec<ColumnId>,
    },
    /// JSON_TABLE: the rows that the document of each input row becomes.
    JsonTable {
        /// Rows with a document each.
        input: Box<Logical>,
        /// The column of the document.
        document: ColumnId,
        /// Which rows are made of it.
        rows: Arc<JsonRows>,
        /// The table's alias.
        alias: Arc<str>,
        /// Output.
        columns: Vec<ColumnId>,
    },
    /// A query in FROM that reads columns of the tables before it: the right side of a join, made for each row of the left one.
    Lateral {
        /// The query.
        input: Box<Logical>,
        /// What it reads of the tables before it and of enclosing queries.
        outer: Vec<ColumnId>,
    },
    /// A subquery computed into a column for every row of the input.
    Apply {
        /// Rows.
        input: Box<Logical>,
        /// The subquery.
        subquery: Box<Subquery>,
        /// Output beside the input's columns.
        column: ColumnId,
    },
}

impl Logical {
    /// The expressions of the select list of a query, below its LIMIT, ORDER BY and DISTINCT; none of another tree.
    pub(crate) fn result_items(&mut self) -> &mut [(ColumnId, Expr)] {
        match self {
            Logical::Limit { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Filter { input, .. }
            | Logical::Distinct { input, .. } => input.result_items(),
            Logical::Project { items, .. } => items,
            _ => &mut [],
        }
    }

    /// The columns it gives.
    #[must_use]
    pub fn output(&self, tables: &[BoundTable]) -> Vec<ColumnId> {
        crate::progress::step();
        match self {
            Logical::OneRow => Vec::new(),
            Logical::Empty { columns }
            | Logical::Values { columns, .. }
            | Logical::WorkingTable { columns, .. }
            | Logical::Recursive { columns, .. }
            | Logical::Distinct { columns, .. }
            | Logical::JsonTable { columns, .. }
            | Logical::SetOp { columns, .. } => columns.clone(),
            Logical::Scan { table } => {
                let table = &tables[table.0 as usize];
                (0..table.width()).map(|ordinal| table.column(ordinal)).collect()
            }
            Logical::Filter { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. }
            | Logical::Lateral { input, .. } => input.output(tables),
            Logical::Project { input, items } => {
                let mut columns = input.output(tables);
                columns.extend(items.iter().map(|(id, _)| *id));
                columns
            }
            Logical::Window { input, calls, .. } => {
                let mut columns = input.output(tables);
                columns.extend(calls.iter().map(|(id, _)| *id));
                columns
            }
            Logical::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => left.output(tables),
            Logical::Join { left, right, .. } => {
                let mut columns = left.output(tables);
                columns.extend(right.output(tables));
                columns
            }
            Logical::Aggregate { keys, calls, .. } => {
                keys.iter().map(|(id, _)| *id).chain(calls.iter().map(|(id, _)| *id)).collect()
            }
            Logical::Apply { input, column, .. } => {
                let mut columns = input.output(tables);
                columns.push(*column);
                columns
            }
        }
    }
}
