//! What the builder asks about constants: values that are not in the plan, but decide how good it is.

use catalog::{KeyRange, TableDefinition};

use crate::physical::{PhysicalPlan, RangePlan};

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

impl PhysicalPlan {
    /// Whether it is the plan for these values ([`Guard`](crate::physical::Guard)).
    #[must_use]
    pub fn guards_hold(&self, constants: &dyn Constants) -> bool {
        self.guards.iter().all(|guard| {
            let entry = &self.tables[guard.table.0 as usize].entry;
            let rows = match constants.range_keys(&entry.definition, guard.index, &guard.range) {
                // It would not be known to a new plan either.
                RangeKeys::Unknown => return true,
                RangeKeys::Nothing => 0.0,
                RangeKeys::Keys(keys) => entry.source.statistics().estimate_rows(guard.index, &keys) as f64,
            };
            (guard.least..=guard.most).contains(&rows)
        })
    }
}
