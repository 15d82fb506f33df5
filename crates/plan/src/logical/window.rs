//! Window functions: what is computed of the rows around each row, and which rows these are.
//!
//! A [`Window`](super::Logical::Window) computes the functions of all windows that have the same partitions and the same order; each function
//! has its own frame.

use syntax::ast::WindowFunc;
use types::DataType;

use super::AggregateFunction;
use super::expr::Expr;

/// The functions that run with OVER.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "MySQL's names")]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    /// An aggregate over the frame.
    Aggregate(AggregateFunction),
}

impl From<WindowFunc> for WindowFunction {
    fn from(function: WindowFunc) -> WindowFunction {
        match function {
            WindowFunc::RowNumber => WindowFunction::RowNumber,
            WindowFunc::Rank => WindowFunction::Rank,
            WindowFunc::DenseRank => WindowFunction::DenseRank,
            WindowFunc::PercentRank => WindowFunction::PercentRank,
            WindowFunc::CumeDist => WindowFunction::CumeDist,
            WindowFunc::Ntile => WindowFunction::Ntile,
            WindowFunc::Lag => WindowFunction::Lag,
            WindowFunc::Lead => WindowFunction::Lead,
            WindowFunc::FirstValue => WindowFunction::FirstValue,
            WindowFunc::LastValue => WindowFunction::LastValue,
            WindowFunc::NthValue => WindowFunction::NthValue,
        }
    }
}

impl WindowFunction {
    /// Its name, for messages and EXPLAIN.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WindowFunction::RowNumber => "row_number",
            WindowFunction::Rank => "rank",
            WindowFunction::DenseRank => "dense_rank",
            WindowFunction::PercentRank => "percent_rank",
            WindowFunction::CumeDist => "cume_dist",
            WindowFunction::Ntile => "ntile",
            WindowFunction::Lag => "lag",
            WindowFunction::Lead => "lead",
            WindowFunction::FirstValue => "first_value",
            WindowFunction::LastValue => "last_value",
            WindowFunction::NthValue => "nth_value",
            WindowFunction::Aggregate(function) => function.name(),
        }
    }

    /// Whether its value follows from the rows of its frame: the others look at the partition.
    #[must_use]
    pub fn has_frame(self) -> bool {
        matches!(
            self,
            WindowFunction::FirstValue
                | WindowFunction::LastValue
                | WindowFunction::NthValue
                | WindowFunction::Aggregate(_)
        )
    }
}

/// A function over a window.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// Which.
    pub function: WindowFunction,
    /// Its arguments. NTILE has the number of buckets, LAG and LEAD the value, the number of rows and, if it is written, the value where there is
    /// no such row, NTH_VALUE the value and the number of the row. The numbers are constant while the statement runs.
    pub args: Vec<Expr>,
    /// Which rows.
    pub frame: Frame,
    /// The window as EXPLAIN and messages call it.
    pub window: std::sync::Arc<str>,
    /// Type of the result.
    pub data_type: DataType,
    /// May be NULL.
    pub nullable: bool,
}

impl WindowCall {
    /// Whether a row has to wait for rows behind it.
    #[must_use]
    pub(crate) fn looks_ahead(&self) -> bool {
        match self.function {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::Lag => false,
            WindowFunction::PercentRank
            | WindowFunction::CumeDist
            | WindowFunction::Ntile
            | WindowFunction::Lead => true,
            WindowFunction::FirstValue
            | WindowFunction::LastValue
            | WindowFunction::NthValue
            | WindowFunction::Aggregate(_) => match &self.frame.end {
                FrameBound::CurrentRow => !self.frame.counts_rows,
                FrameBound::Rows { following, .. } => *following,
                FrameBound::Unbounded | FrameBound::Range { .. } => true,
            },
        }
    }

    /// Its expressions.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let Frame { key, start, end, .. } = &self.frame;
        self.args.iter().chain(key).chain(start.exprs()).chain(end.exprs())
    }

    /// The same, to change them.
    pub(crate) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let Frame { key, start, end, .. } = &mut self.frame;
        self.args.iter_mut().chain(key).chain(start.exprs_mut()).chain(end.exprs_mut())
    }
}

/// The rows of a partition that a function sees from a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// ROWS; else RANGE.
    pub counts_rows: bool,
    /// The first of them.
    pub start: FrameBound,
    /// The last of them.
    pub end: FrameBound,
    /// With RANGE and limits: what they are compared with.
    pub key: Option<Expr>,
    /// The key goes down.
    pub descending: bool,
}

impl Frame {
    /// All rows of the partition.
    #[must_use]
    pub fn whole() -> Frame {
        Frame {
            counts_rows: false,
            start: FrameBound::Unbounded,
            end: FrameBound::Unbounded,
            key: None,
            descending: false,
        }
    }
}

/// Where a frame begins or ends.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// With the partition.
    Unbounded,
    /// The row itself; with RANGE the first or the last of its peers.
    CurrentRow,
    /// A count of rows before or behind the row.
    Rows {
        /// How many, constant while the statement runs.
        count: Expr,
        /// Behind it.
        following: bool,
    },
    /// The first or the last row whose key is within a limit.
    Range {
        /// The distance, constant while the statement runs: neither NULL nor negative.
        distance: Expr,
        /// The row's key, moved by the distance. NULL where the key is.
        limit: Expr,
    },
}

impl FrameBound {
    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (first, second) = match self {
            FrameBound::Unbounded | FrameBound::CurrentRow => (None, None),
            FrameBound::Rows { count, .. } => (Some(count), None),
            FrameBound::Range { distance, limit } => (Some(distance), Some(limit)),
        };
        first.into_iter().chain(second)
    }

    fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let (first, second) = match self {
            FrameBound::Unbounded | FrameBound::CurrentRow => (None, None),
            FrameBound::Rows { count, .. } => (Some(count), None),
            FrameBound::Range { distance, limit } => (Some(distance), Some(limit)),
        };
        first.into_iter().chain(second)
    }
}
