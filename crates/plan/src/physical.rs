//! The physical plan: operators with chosen indexes, join order and algorithms, expressions by position.
//!
//! A plan is made once and run many times: it holds no parameter's value and no row. Key ranges are expressions,
//! evaluated when the operator starts (or per row of the left side in a lookup join).
//!
//! Invariants:
//! 1. An expression of an operator reads its input batch through [`crate::expr::ExprKind::Input`]; a join's
//!    conditions read the left columns followed by the right columns.
//! 2. `columns` of a node names its output batch, position by position.
//! 3. Rows never pass an operator that could throw them away after their large values were read, where that can be
//!    avoided: `Fetch` stands above the last such operator.

mod guard;
mod sizes;

use std::sync::Arc;

use catalog::{ForeignKeyGraph, LockWait, References, TableEntry, TableKind};
pub use syntax::ast::SetOp;
use types::{DataType, Physical};

use crate::error::PlanError;
use crate::expr::{ColumnId, Expr};
use crate::logical::{
    AggregateFunction, InsertCell, JoinKind, JsonRows, Needs, OutputColumn, TableIndex, TablePart, WindowCall,
};

pub(crate) use guard::GUARDS_MAX;
pub use guard::{Asked, Guard};
pub use sizes::TableSize;

/// A whole statement, ready to run.
#[derive(Clone, Debug)]
pub struct PhysicalPlan {
    /// What it does.
    pub kind: PlanKind,
    /// Every mention of a table.
    pub tables: Vec<PlanTable>,
    /// The result's columns, in order of the root's output.
    pub output: Vec<OutputColumn>,
    /// Which columns of the result may hold references to large values ([`ColumnInfo::is_reference`](crate::logical::ColumnInfo)); none: empty.
    pub reference_columns: Vec<bool>,
    /// Types of the parameters; `None`: it goes into a column as it is.
    pub parameters: Vec<Option<DataType>>,
    /// Those of LIMIT, whose values must be counts.
    pub limit_parameters: Vec<u32>,
    /// Those of them that are numbers of rows of window functions, which refuse negative ones themselves.
    pub count_parameters: Vec<u32>,
    /// Constants that each execution computes before it reads a row, for their errors.
    pub constant_checks: Vec<Expr>,
    /// What the account must be allowed.
    pub needs: Needs,
    /// Every column the statement knows, by [`ColumnId`]: names for EXPLAIN.
    pub columns: Vec<crate::logical::ColumnInfo>,
    /// Columns of enclosing queries, by slot.
    pub outer_slots: Vec<ColumnId>,
    /// Slots for values of outer rows.
    pub outer_slot_count: u32,
    /// Recursive CTEs.
    pub recursion_count: u32,
    /// Nodes, for counters of EXPLAIN ANALYZE: every `Node::number` is below.
    pub node_count: u32,
    /// The tables whose size decided how it runs.
    pub sizes: Vec<TableSize>,
    /// For which values of its parameters it is the one to run; none without `sizes`.
    pub guards: Vec<Guard>,
    /// Must not be cached.
    pub volatile: bool,
    /// SELECT SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
    /// What each execution warns of.
    pub warnings: Vec<PlanError>,
    /// The query as a whole has a LIMIT, so that `sql_select_limit` does not count.
    pub has_limit: bool,
    /// Catalog version it was bound with.
    pub catalog_version: u64,
    /// The foreign keys of that catalog.
    pub references: Arc<References>,
    /// What the change may reach through foreign keys.
    pub foreign_keys: Option<Arc<ForeignKeyGraph>>,
}

/// A table of a plan.
#[derive(Clone, Debug)]
pub struct PlanTable {
    /// Definition and rows.
    pub entry: Arc<TableEntry>,
    /// Alias, or its name.
    pub alias: Arc<str>,
    /// FOR UPDATE (true), FOR SHARE (false), or no locking read. Targets of UPDATE and DELETE are read FOR UPDATE.
    pub lock: Option<(bool, LockWait)>,
    /// Parts of its large columns; part `i` has the ordinal behind the table's columns.
    pub parts: Vec<TablePart>,
}

impl PlanTable {
    /// Its rows are kept, neither made while they are read nor those of a view's query.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        self.entry.source.as_virtual().is_none() && self.entry.definition.view.is_none()
    }

    /// It is one of its session's own, which CREATE TEMPORARY TABLE made.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        self.entry.definition.kind == TableKind::Temporary
    }

    /// The part at `ordinal`, if it is not a whole column.
    #[must_use]
    pub fn part(&self, ordinal: usize) -> Option<&TablePart> {
        self.parts.get(ordinal.checked_sub(self.entry.definition.columns.len())?)
    }

    /// Type of the column, or part of one, at `ordinal`.
    #[must_use]
    pub fn column_type(&self, ordinal: usize) -> &DataType {
        match self.part(ordinal) {
            Some(part) => &part.data_type,
            None => &self.entry.definition.columns[ordinal].data_type,
        }
    }
}

/// What a plan does.
#[derive(Clone, Debug)]
pub enum PlanKind {
    /// Gives rows.
    Query(Node),
    /// INSERT, REPLACE.
    Insert(Box<InsertPlan>),
    /// UPDATE.
    Update(Box<UpdatePlan>),
    /// DELETE.
    Delete(Box<DeletePlan>),
    /// DO.
    Do(Node),
}

impl PlanKind {
    /// The operator whose rows the statement gives, stores or changes; none if they are written out.
    #[must_use]
    pub fn source(&self) -> Option<&Node> {
        match self {
            PlanKind::Query(node) | PlanKind::Do(node) => Some(node),
            PlanKind::Insert(insert) => match &insert.rows {
                InsertSource::Query(node) => Some(node),
                InsertSource::Values { .. } => None,
            },
            PlanKind::Update(update) => Some(&update.source),
            PlanKind::Delete(delete) => Some(&delete.source),
        }
    }

    /// The tables whose rows the statement changes.
    pub fn changed_tables(&self) -> impl Iterator<Item = TableIndex> {
        let (one, updated, deleted) = match self {
            PlanKind::Insert(insert) => (Some(insert.table), [].as_slice(), [].as_slice()),
            PlanKind::Update(update) => (None, update.targets.as_slice(), [].as_slice()),
            PlanKind::Delete(delete) => (None, [].as_slice(), delete.targets.as_slice()),
            PlanKind::Query(_) | PlanKind::Do(_) => (None, [].as_slice(), [].as_slice()),
        };
        one.into_iter()
            .chain(updated.iter().map(|target| target.table))
            .chain(deleted.iter().map(|target| target.0))
    }
}

/// An operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Number, unique in the plan.
    pub number: u32,
    /// What it does.
    pub op: Op,
    /// Output, position by position.
    pub columns: Vec<ColumnId>,
    /// Types of the output, position by position.
    pub types: Vec<DataType>,
    /// Rows expected.
    pub rows: f64,
    /// Cost of all of them, inputs included, in units of one row read in order.
    pub cost: f64,
}

impl Node {
    /// Shapes of the output batch.
    #[must_use]
    pub fn shapes(&self) -> Vec<Physical> {
        self.types.iter().map(DataType::physical).collect()
    }
}

impl PhysicalPlan {
    /// The window function that the value of a query without tables is made of.
    #[must_use]
    pub fn window_of_value(&self) -> Option<&'static str> {
        let PlanKind::Query(root) = &self.kind else { return None };
        let mut node = root;
        loop {
            node = match &node.op {
                Op::Project { input, .. } => input,
                Op::Window { calls, .. } => return calls.first().map(|call| call.function.name()),
                _ => return None,
            };
        }
    }

    /// Columns of the result that have another text than their values', each with the position of that text behind all of them.
    #[must_use]
    pub fn texts(&self) -> Vec<(usize, usize)> {
        let with_text = (0..self.output.len()).filter(|&at| self.output[at].text.is_some());
        with_text.zip(self.output.len()..).collect()
    }

    /// Whether the cells of a column may be references to large values.
    #[must_use]
    pub fn is_reference_column(&self, id: ColumnId) -> bool {
        // Behind the columns are the locators.
        self.columns.get(id.0 as usize).is_some_and(|column| column.is_reference)
    }

    /// Whether an expression over the rows of `input` is such a column, as it is.
    #[must_use]
    pub fn is_reference(&self, input: &Node, expr: &Expr) -> bool {
        let crate::ExprKind::Input(position) = expr.kind else { return false };
        input.columns.get(position as usize).is_some_and(|id| self.is_reference_column(*id))
    }
}

impl Node {
    /// Calls `visit` with each direct input (an `Apply`'s subquery too).
    pub(crate) fn each_input<'n>(&'n self, visit: &mut dyn FnMut(&'n Node)) {
        match &self.op {
            Op::OneRow | Op::Empty | Op::Scan(_) | Op::Values(_) | Op::WorkingTable { .. } => {}
            Op::Filter { input, .. }
            | Op::Project { input, .. }
            | Op::Aggregate { input, .. }
            | Op::Window { input, .. }
            | Op::Distinct { input }
            | Op::Sort { input, .. }
            | Op::TopN { input, .. }
            | Op::Limit { input, .. }
            | Op::Fetch { input, .. }
            | Op::JsonTable { input, .. }
            | Op::LookupJoin { left: input, .. } => visit(input),
            Op::Recursive { seed: left, step: right, .. }
            | Op::HashJoin { left, right, .. }
            | Op::LoopJoin { left, right, .. }
            | Op::Append { left, right }
            | Op::SetOp { left, right, .. }
            | Op::Apply { input: left, subquery: right, .. } => {
                visit(left);
                visit(right);
            }
        }
    }
}

/// The operators.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// One row without columns.
    OneRow,
    /// No rows.
    Empty,
    /// Reads a table.
    Scan(Scan),
    /// Rows written out.
    Values(Vec<Vec<Expr>>),
    /// JSON_TABLE: the rows that the document of each input row becomes.
    JsonTable {
        /// Rows of one column, the document.
        input: Box<Node>,
        /// Which rows are made of it.
        rows: Arc<JsonRows>,
        /// The table's alias.
        alias: Arc<str>,
    },
    /// The last step's rows of a recursive CTE.
    WorkingTable {
        /// Which recursion.
        recursion: u32,
    },
    /// A recursive CTE.
    Recursive {
        /// Which recursion.
        recursion: u32,
        /// First rows.
        seed: Box<Node>,
        /// Next rows.
        step: Box<Node>,
        /// UNION DISTINCT.
        distinct: bool,
    },
    /// Rows for which all conditions hold.
    Filter {
        /// Rows.
        input: Box<Node>,
        /// Joined by AND.
        conditions: Vec<Expr>,
    },
    /// Computes every output column.
    Project {
        /// Rows.
        input: Box<Node>,
        /// One per output column.
        exprs: Vec<Expr>,
    },
    /// For each left row the rows of an index with the same key.
    LookupJoin {
        /// Inner, Left, Semi or Anti.
        kind: JoinKind,
        /// Left rows.
        left: Box<Node>,
        /// The table and index; key expressions read the left batch; its filter reads the table's columns only.
        scan: Scan,
        /// Conditions over left columns and table columns.
        conditions: Vec<Expr>,
    },
    /// Builds a hash table of the right side, probes with the left.
    HashJoin {
        /// Inner, Left, Semi or Anti.
        kind: JoinKind,
        /// Probe side.
        left: Box<Node>,
        /// Build side.
        right: Box<Node>,
        /// Keys: left over the left batch, right over the right batch, and whether NULL equals NULL (`<=>`). Both
        /// sides of a key have the same type.
        keys: Vec<(Expr, Expr, bool)>,
        /// Further conditions over left and right columns.
        conditions: Vec<Expr>,
        /// `x NOT IN (subquery)`: a NULL key on either side makes the answer unknown, hence no row (Anti only).
        null_aware: bool,
    },
    /// Each left row with each right row. The right rows are kept; if they depend on the left row, they are computed for
    /// each of them.
    LoopJoin {
        /// Kind.
        kind: JoinKind,
        /// Left.
        left: Box<Node>,
        /// Right.
        right: Box<Node>,
        /// Conditions over left and right columns.
        conditions: Vec<Expr>,
        /// Slots of outer values that the right side reads, and the position in the left row each is filled from.
        outer: Vec<(u32, u32)>,
    },
    /// One row per group: keys, then aggregates.
    Aggregate {
        /// Rows.
        input: Box<Node>,
        /// Keys over the input.
        keys: Vec<Expr>,
        /// Aggregates over the input.
        calls: Vec<Aggregate>,
        /// WITH ROLLUP: rows come ordered by the keys, each super-aggregate after its groups.
        rollup: bool,
        /// The rows of each group come one after the other: it ends when the key changes.
        ordered: bool,
    },
    /// All rows with the values of window functions behind them. The rows come partition by partition, each in its order.
    Window {
        /// Rows.
        input: Box<Node>,
        /// Rows that have these values in common are a partition.
        partition: Vec<Expr>,
        /// The order within a partition and whether it goes down: rows that have its values in common are peers.
        order: Vec<(Expr, bool)>,
        /// The functions over the input.
        calls: Vec<WindowCall>,
    },
    /// Each different row once.
    Distinct {
        /// Rows.
        input: Box<Node>,
    },
    /// Ordered rows.
    Sort {
        /// Rows.
        input: Box<Node>,
        /// Keys over the input and whether they go down.
        keys: Vec<(Expr, bool)>,
    },
    /// The first rows of an order.
    TopN {
        /// Rows.
        input: Box<Node>,
        /// Keys over the input and whether they go down.
        keys: Vec<(Expr, bool)>,
        /// At most this many.
        count: Expr,
        /// After skipping this many.
        offset: Option<Expr>,
    },
    /// Part of the rows.
    Limit {
        /// All rows are read and counted (SQL_CALC_FOUND_ROWS).
        counts_all: bool,
        /// Rows.
        input: Box<Node>,
        /// At most this many.
        count: Option<Expr>,
        /// After skipping this many.
        offset: Option<Expr>,
    },
    /// All rows of both inputs, which have the same types (UNION ALL).
    Append {
        /// First these.
        left: Box<Node>,
        /// Then these.
        right: Box<Node>,
    },
    /// EXCEPT and INTERSECT.
    SetOp {
        /// Which.
        op: SetOp,
        /// ALL.
        all: bool,
        /// Left.
        left: Box<Node>,
        /// Right.
        right: Box<Node>,
    },
    /// Computes a subquery for every input row into one more column.
    Apply {
        /// Rows.
        input: Box<Node>,
        /// The subquery.
        subquery: Box<Node>,
        /// What is asked of its rows.
        kind: ApplyKind,
        /// Slots of outer values it reads, and the position in the input each is filled from.
        outer: Vec<(u32, u32)>,
        /// Over the input: for rows for which one of these is not true nothing is computed, since nothing reads it.
        needed_if: Vec<Expr>,
    },
    /// Reads further columns of rows that are known by locator.
    Fetch {
        /// Rows.
        input: Box<Node>,
        /// The table.
        table: TableIndex,
        /// Position of the locator in the input.
        locator: u32,
        /// Ordinals of the columns and parts appended to the input's.
        columns: Vec<usize>,
    },
}

/// What an `Apply` computes.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplyKind {
    /// The value of the only column; 1242 if there are several rows.
    Scalar,
    /// 1 or 0.
    Exists,
    /// ANY or ALL: 1, 0 or NULL.
    Quantified {
        /// ALL.
        all: bool,
        /// The only row is asked for: NULL without rows, 1242 with more than one.
        single: bool,
        /// Joined by AND, or one for the whole row; read the input's columns followed by the subquery's.
        condition: Vec<Expr>,
        /// If the rows do not depend on the input's, and equality is asked (`= ANY`, `<> ALL`): the values that are compared, those of the
        /// input over the input, those of the subquery over it. A set finds equal ones.
        keys: Vec<(Expr, Expr)>,
    },
}

/// How a table is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// Which.
    pub table: TableIndex,
    /// By which index and which ranges of it.
    pub access: Access,
    /// Ordinals of the columns and parts read. Output: these, in order, then the locator if asked for.
    pub columns: Vec<usize>,
    /// Ends the output with the row's locator (a bytes column).
    pub locator: bool,
    /// Conditions over the output, checked while reading.
    pub filter: Vec<Expr>,
    /// What `filter` says of single columns, each against constants: may be asked of rows before they are read.
    pub early: Vec<EarlyRanges>,
    /// Of rows with the same values in this many first parts of the index only the first is wanted; 0: all are. Others may come, too.
    pub first_of: usize,
    /// Stop after this many rows that passed the filter (an integer constant).
    pub limit: Option<Expr>,
    /// Some index could have been read by ranges, chosen or not.
    pub keyed: bool,
    /// Rows expected in the ranges, before the filter, each time it is started.
    pub rows_read: f64,
}

/// Ranges that hold the values of a column in every row that meets a filter.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlyRanges {
    /// Ordinal of the column.
    pub column: usize,
    /// As of an index over the column alone; their ends read no row.
    pub ranges: Vec<RangePlan>,
}

/// By which way the rows of a table are reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Position in the table's indexes; `None`: the rows in their own order.
    pub index: Option<usize>,
    /// Ranges in the order in which they are read; `None`: everything. They do not overlap.
    pub ranges: Option<Vec<RangePlan>>,
    /// From the end to the start.
    pub backward: bool,
    /// Every column read is in the index.
    pub covering: bool,
    /// At most one row per range: all parts of a unique index are equal to something that is not NULL.
    pub point: bool,
}

/// A range of an index whose ends are computed when the scan starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RangePlan {
    /// The first parts equal these.
    pub equal: Vec<KeyValue>,
    /// The next part is at least this.
    pub lower: Option<RangeEnd>,
    /// The next part is at most this.
    pub upper: Option<RangeEnd>,
}

/// A value a key part equals.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValue {
    /// The value.
    pub expr: Expr,
    /// NULL finds NULL (`IS NULL`, `<=>`); else NULL finds nothing.
    pub null_safe: bool,
}

/// An end of a range.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeEnd {
    /// The value. NULL makes the range empty.
    pub expr: Expr,
    /// The value itself is in.
    pub inclusive: bool,
    /// The value is the literal beginning of a LIKE pattern: the range holds every text that begins so (the filter
    /// checks again).
    pub like_prefix: bool,
}

/// An aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Which.
    pub function: AggregateFunction,
    /// DISTINCT.
    pub distinct: bool,
    /// Over the input.
    pub args: Vec<Expr>,
    /// ORDER BY of GROUP_CONCAT over the input.
    pub order_by: Vec<(Expr, bool)>,
    /// SEPARATOR.
    pub separator: Arc<[u8]>,
    /// Type of the result.
    pub data_type: DataType,
    /// May be NULL.
    pub nullable: bool,
}

/// A new value for a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Assign {
    /// Ordinal of the column.
    pub column: usize,
    /// Over the operator's row; `None`: the column's default, or the row query.
    pub value: Option<Expr>,
    /// One of [`InsertPlan::row_queries`].
    pub query: Option<u32>,
}

/// A value that an INSERT computes with subqueries for one row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowQuery {
    /// One row of one column.
    pub node: Node,
    /// Slots for values of the row, and their positions in the row's batch (as for the expressions beside it).
    pub slots: Vec<(u32, u32)>,
    /// It reads nothing of the row and has the same value for all rows.
    pub is_constant: bool,
}

/// INSERT and REPLACE.
#[derive(Clone, Debug)]
pub struct InsertPlan {
    /// The table.
    pub table: TableIndex,
    /// The view through which rows go into it.
    pub view: Option<Box<TargetView>>,
    /// REPLACE.
    pub replace: bool,
    /// IGNORE.
    pub ignore: bool,
    /// Ordinals of the columns written, in order of the cells.
    pub columns: Vec<usize>,
    /// The rows.
    pub rows: InsertSource,
    /// The query reads the table it fills: all its rows are read before the first is written.
    pub collect_first: bool,
    /// ON DUPLICATE KEY UPDATE; expressions read the old row (all columns by ordinal) followed by the new row and,
    /// after `2 * columns`, the columns of the SELECT.
    pub on_duplicate: Vec<Assign>,
    /// Values that need subqueries.
    pub row_queries: Vec<RowQuery>,
}

/// What WITH CHECK OPTION of a view asks of a row.
#[derive(Clone, Debug)]
pub struct ViewCheck {
    /// `schema.name` of the view.
    pub view: Arc<str>,
    /// Conditions over the row: of INSERT over the table's columns by ordinal, of UPDATE over the source's row.
    pub conditions: Vec<Expr>,
    /// Row queries of the statement that must give a true value, too.
    pub queries: Vec<u32>,
}

/// The view that an INSERT names.
#[derive(Clone, Debug)]
pub struct TargetView {
    /// `schema.name`.
    pub name: Arc<str>,
    /// What it asks of rows.
    pub check: Option<ViewCheck>,
    /// What rows must be that REPLACE takes away.
    pub replaced: Option<ViewCheck>,
}

/// Where inserted rows come from.
#[derive(Clone, Debug)]
pub enum InsertSource {
    /// Cells row by row, `columns.len()` per row (one empty row if no column is written); expressions read the new
    /// row by ordinal.
    Values {
        /// Rows.
        row_count: usize,
        /// Cells.
        cells: Vec<InsertCell>,
    },
    /// A query; its output is the cells.
    Query(Node),
}

/// UPDATE.
#[derive(Clone, Debug)]
pub struct UpdatePlan {
    /// Rows to change.
    pub source: Node,
    /// What changes.
    pub targets: Vec<UpdateTarget>,
    /// Conditions of views with subqueries.
    pub row_queries: Vec<RowQuery>,
    /// IGNORE.
    pub ignore: bool,
    /// A key that the scan walks may change, or several tables: collect all rows first.
    pub collect_first: bool,
    /// The source joins tables, also derived ones: a row may come several times.
    pub joins_tables: bool,
}

/// A table that UPDATE changes.
#[derive(Clone, Debug)]
pub struct UpdateTarget {
    /// The table.
    pub table: TableIndex,
    /// Position of its locator in the source (NULL: no row, the inner side of an outer join).
    pub locator: u32,
    /// Positions in the source of the columns of its row, by ordinal; `u32::MAX` for those not read.
    pub row: Vec<u32>,
    /// In order; expressions read the source's row, in which earlier assignments are already seen.
    pub assignments: Vec<Assign>,
    /// What the view through which it is changed asks of its rows.
    pub check: Option<Box<ViewCheck>>,
}

/// DELETE.
#[derive(Clone, Debug)]
pub struct DeletePlan {
    /// Rows that go.
    pub source: Node,
    /// Tables and the positions of their locators in the source.
    pub targets: Vec<(TableIndex, u32)>,
    /// IGNORE.
    pub ignore: bool,
}
