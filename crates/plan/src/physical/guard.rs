//! What a plan was chosen for beside its text: how many rows its ranges of parameters hold.
//!
//! A plan serves many values of its parameters. Where another number of rows in a range would make another plan the better one, the plan
//! carries a guard: it runs for values whose range holds about as many rows, which the index, or what is known of the column, is asked for before the run. Ranges whose
//! size decides nothing have none, nor have equalities, which are estimated for all values alike.

use super::RangePlan;
use crate::logical::TableIndex;

/// Most guards of a plan, each of a few descents before each run.
pub(crate) const GUARDS_MAX: usize = 8;

/// Who knows how many rows ranges hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asked {
    /// The index with this position, by descents.
    Index(usize),
    /// What was found out about the values of this column.
    Column(usize),
}

/// Within which number of rows of ranges a plan is the one to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// The table.
    pub table: TableIndex,
    /// What is asked about it.
    pub asked: Asked,
    /// Ranges of that, of parameters and constants, whose rows count together.
    pub ranges: Vec<RangePlan>,
    /// The least number of rows for which the plan runs.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}
