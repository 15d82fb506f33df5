//! What the builder asks about constants: values that are not in the plan, but decide how good it is.

use catalog::{KeyRange, TableDefinition, TableEntry};

use crate::physical::{PhysicalPlan, RangePlan};
use crate::progress;

/// Most ranges of one list that are asked for; of longer lists a part, evenly spaced.
const ASKED_MAX: usize = 256;

/// What a range of an index means now.
#[derive(Clone, Debug, PartialEq)]
pub enum RangeKeys {
    /// A value is not known, or its place among the keys.
    Unknown,
    /// No key can be in it.
    Nothing,
    /// These keys.
    Keys(KeyRange),
}

/// The values of constants and parameters in the run that a plan is made for. Asked for estimates only: a plan is right for all values.
pub trait Constants {
    /// The keys of a range of an index of a table.
    fn range_keys(&self, table: &TableDefinition, index: usize, range: &RangePlan) -> RangeKeys;
}

/// Knows no value.
#[derive(Clone, Copy, Debug)]
pub struct NoConstants;

impl Constants for NoConstants {
    fn range_keys(&self, _table: &TableDefinition, _index: usize, _range: &RangePlan) -> RangeKeys {
        RangeKeys::Unknown
    }
}

/// Rows in ranges of an index together, if all ends are known: as plans are made for, and as their guards compare.
pub(crate) fn rows_in(
    constants: &dyn Constants,
    entry: &TableEntry,
    index: usize,
    ranges: &[RangePlan],
) -> Option<f64> {
    let statistics = entry.source.statistics();
    let (mut rows, mut asked) = (0.0, 0);
    for range in ranges.iter().step_by(ranges.len().div_ceil(ASKED_MAX).max(1)) {
        progress::step();
        rows += match constants.range_keys(&entry.definition, index, range) {
            RangeKeys::Unknown => return None,
            RangeKeys::Nothing => 0.0,
            RangeKeys::Keys(keys) => statistics.estimate_rows(index, &keys) as f64,
        };
        asked += 1;
    }
    let rows = rows * ranges.len() as f64 / f64::from(asked.max(1));
    Some(rows.clamp(0.1, (statistics.row_count() as f64).max(1.0)))
}

impl PhysicalPlan {
    /// Whether it is the plan for these values ([`Guard`](crate::physical::Guard)).
    #[must_use]
    pub fn guards_hold(&self, constants: &dyn Constants) -> bool {
        self.guards.iter().all(|guard| {
            let entry = &self.tables[guard.table.0 as usize].entry;
            // What is not known would not be known to a new plan either.
            rows_in(constants, entry, guard.index, &guard.ranges)
                .is_none_or(|rows| (guard.least..=guard.most).contains(&rows))
        })
    }
}
