//! What the optimizer hints of a statement ask of the passes and of the plan.
//!
//! A hint changes how rows are found and never which: what it asks for and cannot be had is left out.

use super::{ColumnId, Subquery};

/// The block of a subquery that hints cannot name.
pub(crate) const NO_BLOCK: u32 = u32::MAX;

/// The hints of a statement, beside those that are kept with a table ([`TableHints`]).
#[derive(Clone, Debug, Default)]
pub struct PlanHints {
    /// Orders of joins.
    pub join_orders: Vec<JoinOrderHint>,
    /// How subqueries are computed, by their [`Subquery::block`].
    pub subqueries: Vec<(u32, SubqueryHint)>,
    /// Columns that may, or may not, be keys of a hash join whatever `optimizer_switch` says: BNL, NO_BNL.
    pub hash_keys: Vec<(Vec<ColumnId>, bool)>,
    /// Columns of derived tables into which no condition moves: NO_DERIVED_CONDITION_PUSHDOWN.
    pub closed: Vec<ColumnId>,
}

impl PlanHints {
    /// Whether a subquery may become a semi join; `otherwise`: unless a hint says so.
    #[must_use]
    pub fn joins(&self, subquery: &Subquery, otherwise: bool) -> bool {
        self.of(subquery).and_then(|hint| hint.joins).unwrap_or(otherwise)
    }

    /// Whether the values of a subquery may be looked up in a set of them; `otherwise`: unless a hint says so.
    #[must_use]
    pub(crate) fn keeps_set(&self, subquery: &Subquery, otherwise: bool) -> bool {
        self.of(subquery).and_then(|hint| hint.keeps_set).unwrap_or(otherwise)
    }

    /// Whether some subquery is to be a semi join.
    #[must_use]
    pub(crate) fn ask_for_joins(&self) -> bool {
        self.subqueries.iter().any(|(_, hint)| hint.joins == Some(true))
    }

    fn of(&self, subquery: &Subquery) -> Option<SubqueryHint> {
        if self.subqueries.is_empty() || subquery.block == NO_BLOCK {
            return None;
        }
        self.subqueries.iter().find(|(block, _)| *block == subquery.block).map(|(_, hint)| *hint)
    }
}

/// How a subquery is computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct SubqueryHint {
    /// SEMIJOIN, NO_SEMIJOIN: as a semi join.
    pub joins: Option<bool>,
    /// SUBQUERY(MATERIALIZATION), SUBQUERY(INTOEXISTS): with a set of its values.
    pub keeps_set: Option<bool>,
}

/// How a table is read.
#[derive(Clone, Debug, Default)]
pub struct TableHints {
    /// Indexes whose order may be the order of the rows; `None`: all.
    pub order_indexes: Option<Vec<usize>>,
    /// NO_RANGE_OPTIMIZATION: indexes in which only equalities are looked up.
    pub without_ranges: Vec<usize>,
    /// NO_ICP: rows that an index finds are read before a condition is evaluated.
    pub reads_first: bool,
}

/// An order of joins that a hint asks for.
#[derive(Clone, Debug)]
pub struct JoinOrderHint {
    /// Where its tables stand.
    pub place: JoinOrderPlace,
    /// The columns of each table it names, in its order.
    pub tables: Vec<Vec<ColumnId>>,
    /// The columns of all tables of its query block.
    pub block: Vec<ColumnId>,
}

/// Where the tables of a [`JoinOrderHint`] stand among those of their block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum JoinOrderPlace {
    /// JOIN_ORDER: anywhere.
    Anywhere,
    /// JOIN_PREFIX: before all others.
    First,
    /// JOIN_SUFFIX: behind all others.
    Last,
}
