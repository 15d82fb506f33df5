//! The bound statement: a tree of relational operators over columns with statement-wide numbers.

use std::sync::Arc;

use catalog::{LockWait, TableEntry};
use syntax::ast::{AggregateFunc, SetOp};
use types::DataType;

use crate::expr::{ColumnId, Expr, Subquery};

/// A place in FROM (or the target of a change): position in [`Bound::tables`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TableIndex(pub u32);

/// A table as one place of the statement mentions it.
#[derive(Clone, Debug)]
pub struct BoundTable {
    /// Definition and rows.
    pub entry: Arc<TableEntry>,
    /// Alias, or its name.
    pub alias: Arc<str>,
    /// Column `i` of the definition is `ColumnId(first_column + i)`.
    pub first_column: ColumnId,
    /// FOR UPDATE (true), FOR SHARE (false), or no locking read.
    pub lock: Option<(bool, LockWait)>,
    /// Indexes a hint allows; `None`: all visible ones.
    pub allowed_indexes: Option<Vec<usize>>,
    /// FORCE INDEX: a table scan only if no index can be used.
    pub force_index: bool,
}

impl BoundTable {
    /// The number of the column at `ordinal`.
    #[must_use]
    pub fn column(&self, ordinal: usize) -> ColumnId {
        ColumnId(self.first_column.0 + ordinal as u32)
    }

    /// The ordinal of a column, if it is this table's.
    #[must_use]
    pub fn ordinal(&self, id: ColumnId) -> Option<usize> {
        let ordinal = id.0.checked_sub(self.first_column.0)? as usize;
        (ordinal < self.entry.definition.columns.len()).then_some(ordinal)
    }
}

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
}

/// A column of the result as the client sees it.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// The column of the tree.
    pub id: ColumnId,
    /// Name or alias, UTF-8.
    pub name: Arc<str>,
    /// Alias of the table, empty for expressions.
    pub table: Arc<str>,
    /// The table's own name, empty for expressions.
    pub original_table: Arc<str>,
    /// The column's own name, empty for expressions.
    pub original_name: Arc<str>,
    /// The table's schema, empty for expressions.
    pub schema: Arc<str>,
    /// Type.
    pub data_type: DataType,
    /// May be NULL.
    pub nullable: bool,
    /// Flags of the table's column: keys, AUTO_INCREMENT, no default (`types::data_type::column_flag`).
    pub flags: u16,
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
        /// At most so many, an integer constant.
        count: Option<Expr>,
        /// After skipping so many.
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

/// A cell of VALUES.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertCell {
    /// A literal.
    Value(types::Value),
    /// DEFAULT.
    Default,
    /// A parameter.
    Param(u32),
    /// Anything else; columns are those of the new row (`INSERT INTO t (a, b) VALUES (1, a + 1)`).
    Expr(Box<Expr>),
}

/// Rows of INSERT; literals stay compact until they are stored.
#[derive(Clone, Debug)]
pub enum InsertRows {
    /// VALUES and SET: cells row by row, as many per row as columns are written.
    Values {
        /// Rows; each may be empty.
        row_count: usize,
        /// Cells.
        cells: Vec<InsertCell>,
    },
    /// A query and its columns, in order.
    Query(Box<Logical>, Vec<ColumnId>),
}

/// `column = value` of UPDATE and ON DUPLICATE KEY UPDATE.
#[derive(Clone, Debug)]
pub struct BoundAssignment {
    /// Which table.
    pub table: TableIndex,
    /// Ordinal of its column.
    pub column: usize,
    /// The value; `None`: DEFAULT.
    pub value: Option<Expr>,
}

/// INSERT and REPLACE.
#[derive(Clone, Debug)]
pub struct BoundInsert {
    /// The table.
    pub table: TableIndex,
    /// REPLACE.
    pub replace: bool,
    /// IGNORE.
    pub ignore: bool,
    /// Ordinals of the columns written, in order of the cells.
    pub columns: Vec<usize>,
    /// The rows.
    pub rows: InsertRows,
    /// Values of the columns not written whose default is an expression, by ordinal.
    pub default_exprs: Vec<(usize, Expr)>,
    /// Columns `VALUES(c)` and the row alias mean: column `i` of the new row is `ColumnId(new_row + i)`.
    pub new_row: ColumnId,
    /// ON DUPLICATE KEY UPDATE, evaluated over the old row's columns and the new row's.
    pub on_duplicate: Vec<BoundAssignment>,
}

/// UPDATE.
#[derive(Clone, Debug)]
pub struct BoundUpdate {
    /// Rows to look at, already filtered, ordered and limited.
    pub source: Box<Logical>,
    /// Tables that change.
    pub targets: Vec<TableIndex>,
    /// In order of the text; a later one sees what an earlier one of the same table set.
    pub assignments: Vec<BoundAssignment>,
    /// IGNORE.
    pub ignore: bool,
    /// Several tables: each matched row of each target is changed once.
    pub multi_table: bool,
}

/// DELETE.
#[derive(Clone, Debug)]
pub struct BoundDelete {
    /// Rows to look at, already filtered, ordered and limited.
    pub source: Box<Logical>,
    /// Tables whose rows go.
    pub targets: Vec<TableIndex>,
    /// IGNORE.
    pub ignore: bool,
}

/// What the statement does.
#[derive(Clone, Debug)]
pub enum BoundKind {
    /// Gives rows.
    Query(Box<Logical>),
    /// INSERT, REPLACE.
    Insert(BoundInsert),
    /// UPDATE.
    Update(BoundUpdate),
    /// DELETE.
    Delete(BoundDelete),
    /// DO: evaluates and forgets.
    Do(Box<Logical>),
}

/// A privilege on a table that the statement needs.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(missing_docs, reason = "MySQL's names")]
pub enum NeededPrivilege {
    Select,
    Insert,
    Update,
    Delete,
}

/// A bound statement.
#[derive(Clone, Debug)]
pub struct Bound {
    /// What it does.
    pub kind: BoundKind,
    /// Every mention of a table.
    pub tables: Vec<BoundTable>,
    /// Every column, by [`ColumnId`].
    pub columns: Vec<ColumnInfo>,
    /// The result's columns; empty without result.
    pub output: Vec<OutputColumn>,
    /// What the account must be allowed: per table mention, with the ordinals of columns where only they are needed.
    pub privileges: Vec<(TableIndex, NeededPrivilege, Vec<u32>)>,
    /// Types of the parameters as used; those not given are inferred.
    pub parameters: Vec<DataType>,
    /// Depends on session state beyond the plan's key (variables): must not be cached.
    pub volatile: bool,
    /// Number of recursive CTEs.
    pub recursion_count: u32,
    /// SELECT SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
}

impl Logical {
    /// Calls `visit` with each direct input.
    pub fn each_input<'l>(&'l self, visit: &mut dyn FnMut(&'l Logical)) {
        match self {
            Logical::Filter { input, .. }
            | Logical::Project { input, .. }
            | Logical::Aggregate { input, .. }
            | Logical::Distinct { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. }
            | Logical::Apply { input, .. } => visit(input),
            Logical::Join { left, right, .. } | Logical::SetOp { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Logical::Recursive { seed, step, .. } => {
                visit(seed);
                visit(step);
            }
            Logical::OneRow
            | Logical::Empty { .. }
            | Logical::Scan { .. }
            | Logical::Values { .. }
            | Logical::WorkingTable { .. } => {}
        }
    }

    /// As [`Logical::each_input`], to change them.
    pub fn each_input_mut(&mut self, visit: &mut dyn FnMut(&mut Logical)) {
        match self {
            Logical::Filter { input, .. }
            | Logical::Project { input, .. }
            | Logical::Aggregate { input, .. }
            | Logical::Distinct { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. }
            | Logical::Apply { input, .. } => visit(input),
            Logical::Join { left, right, .. } | Logical::SetOp { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Logical::Recursive { seed, step, .. } => {
                visit(seed);
                visit(step);
            }
            Logical::OneRow
            | Logical::Empty { .. }
            | Logical::Scan { .. }
            | Logical::Values { .. }
            | Logical::WorkingTable { .. } => {}
        }
    }

    /// Calls `visit` with each expression of this node itself.
    pub fn each_expr<'l>(&'l self, visit: &mut dyn FnMut(&'l Expr)) {
        match self {
            Logical::Values { rows, .. } => rows.iter().flatten().for_each(visit),
            Logical::Filter { conditions, .. } | Logical::Join { conditions, .. } => {
                conditions.iter().for_each(visit);
            }
            Logical::Project { items, .. } => items.iter().for_each(|(_, expr)| visit(expr)),
            Logical::Aggregate { keys, calls, .. } => {
                keys.iter().for_each(|(_, expr)| visit(expr));
                for (_, call) in calls {
                    call.args.iter().for_each(&mut *visit);
                    call.order_by.iter().for_each(|key| visit(&key.expr));
                }
            }
            Logical::Sort { keys, .. } => keys.iter().for_each(|key| visit(&key.expr)),
            Logical::Limit { count, offset, .. } => count.iter().chain(offset).for_each(visit),
            Logical::Apply { subquery, .. } => {
                if let crate::expr::SubqueryKind::Quantified { condition, .. } = &subquery.kind {
                    condition.iter().for_each(visit);
                }
            }
            _ => {}
        }
    }

    /// As [`Logical::each_expr`], to change them.
    pub fn each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Logical::Values { rows, .. } => rows.iter_mut().flatten().for_each(visit),
            Logical::Filter { conditions, .. } | Logical::Join { conditions, .. } => {
                conditions.iter_mut().for_each(visit);
            }
            Logical::Project { items, .. } => items.iter_mut().for_each(|(_, expr)| visit(expr)),
            Logical::Aggregate { keys, calls, .. } => {
                keys.iter_mut().for_each(|(_, expr)| visit(expr));
                for (_, call) in calls {
                    call.args.iter_mut().for_each(&mut *visit);
                    call.order_by.iter_mut().for_each(|key| visit(&mut key.expr));
                }
            }
            Logical::Sort { keys, .. } => keys.iter_mut().for_each(|key| visit(&mut key.expr)),
            Logical::Limit { count, offset, .. } => count.iter_mut().chain(offset).for_each(visit),
            Logical::Apply { subquery, .. } => {
                if let crate::expr::SubqueryKind::Quantified { condition, .. } = &mut subquery.kind {
                    condition.iter_mut().for_each(visit);
                }
            }
            _ => {}
        }
    }

    /// The columns it gives.
    #[must_use]
    pub fn output(&self, tables: &[BoundTable]) -> Vec<ColumnId> {
        match self {
            Logical::OneRow => Vec::new(),
            Logical::Empty { columns }
            | Logical::Values { columns, .. }
            | Logical::WorkingTable { columns, .. }
            | Logical::Recursive { columns, .. }
            | Logical::Distinct { columns, .. }
            | Logical::SetOp { columns, .. } => columns.clone(),
            Logical::Scan { table } => {
                let table = &tables[table.0 as usize];
                (0..table.entry.definition.columns.len()).map(|ordinal| table.column(ordinal)).collect()
            }
            Logical::Filter { input, .. } | Logical::Sort { input, .. } | Logical::Limit { input, .. } => {
                input.output(tables)
            }
            Logical::Project { input, items } => {
                let mut columns = input.output(tables);
                columns.extend(items.iter().map(|(id, _)| *id));
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
