//! EXPLAIN: printers of the physical plan, which is the one that runs. Texts follow MySQL's words where the operators are the same.
//!
//! ```text
//! plan -> step::steps -> tree::print (FORMAT=TREE, EXPLAIN ANALYZE), json::print (FORMAT=JSON, version 2)
//!      -> rows::table                                                (FORMAT=TRADITIONAL)
//!      -> block::print                                               (FORMAT=JSON, version 1)
//! ```
//!
//! Invariants:
//! 1. Nothing is decided here: every printer reads the plan only.
//! 2. Members and nesting of both JSON formats are MySQL 9.7's for the same operators, since programs read them.

mod block;
mod json;
mod names;
mod rows;
mod step;
mod tree;

use types::Value;

use crate::physical::PhysicalPlan;

/// What a node really did, for EXPLAIN ANALYZE.
#[derive(Clone, Copy, Debug, Default)]
pub struct Actual {
    /// Times it was started.
    pub loops: u64,
    /// Rows it gave, over all loops.
    pub rows: u64,
    /// Microseconds spent in it and below.
    pub micros: u64,
    /// Those of them until the first row, over all loops.
    pub first_micros: u64,
    /// Rows of tables that it and those below read.
    pub examined: u64,
    /// Some of what it kept went to disk.
    pub spilled: bool,
}

impl Actual {
    /// `total` of all loops for one of them.
    fn each(&self, total: u64) -> f64 {
        total as f64 / self.loops.max(1) as f64
    }
}

/// A row of the traditional EXPLAIN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainRow {
    /// Number of the SELECT; `None` for the result of a UNION.
    pub id: Option<u32>,
    /// SIMPLE, PRIMARY, SUBQUERY, DERIVED, UNION, INSERT, ...
    pub select_type: String,
    /// Alias of the table.
    pub table: Option<String>,
    /// system, const, eq_ref, ref, range, index, ALL.
    pub access_type: Option<String>,
    /// Indexes that were possible, comma between.
    pub possible_keys: Option<String>,
    /// The index used.
    pub key: Option<String>,
    /// Bytes of the key used.
    pub key_len: Option<String>,
    /// What the key is compared with.
    pub reference: Option<String>,
    /// Rows expected per pass.
    pub rows: Option<u64>,
    /// Percent of the rows that conditions let through.
    pub filtered: Option<f64>,
    /// Using where, Using index, Using filesort, Using temporary, ...
    pub extra: Option<String>,
}

/// FORMAT=TREE; with `actual` by node number EXPLAIN ANALYZE. `parameters`: their values, as far as they are known.
#[must_use]
pub fn tree(plan: &PhysicalPlan, actual: Option<&[Actual]>, parameters: &[Value]) -> String {
    tree::print(&step::steps(plan, actual, parameters))
}

/// FORMAT=JSON, version 2. `query`: the text of the statement.
#[must_use]
pub fn json(plan: &PhysicalPlan, actual: Option<&[Actual]>, parameters: &[Value], query: &str) -> String {
    json::print(plan, step::steps(plan, actual, parameters), query)
}

/// FORMAT=JSON, version 1.
#[must_use]
pub fn json_blocks(plan: &PhysicalPlan, parameters: &[Value]) -> String {
    block::print(plan, parameters)
}

/// FORMAT=TRADITIONAL.
#[must_use]
pub fn table(plan: &PhysicalPlan) -> Vec<ExplainRow> {
    rows::table(plan)
}
