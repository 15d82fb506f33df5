//! What the builder asks about constants: values that are not in the plan, but decide how good it is.

use catalog::{KeyBytes, KeyBytesRange, KeyRange, TableDefinition, TableEntry};

use crate::physical::{Asked, PhysicalPlan, RangePlan};
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

/// What a range of a column means now, as keys.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnRange {
    /// A value is not known, or its place among the keys.
    Unknown,
    /// No value can be in it.
    Nothing,
    /// NULL.
    Null,
    /// This value.
    Equal(Vec<u8>),
    /// The values between.
    Range(KeyBytesRange),
}

/// The values of constants and parameters in the run that a plan is made for. Asked for estimates only: a plan is right for all values.
pub trait Constants {
    /// The keys of a range of an index of a table.
    fn range_keys(&self, table: &TableDefinition, index: usize, range: &RangePlan) -> RangeKeys;

    /// The keys of a range of a column, which `bytes` writes as part 0: as if it were an index.
    fn column_range(
        &self,
        table: &TableDefinition,
        column: usize,
        bytes: &dyn KeyBytes,
        range: &RangePlan,
    ) -> ColumnRange;
}

/// Knows no value.
#[derive(Clone, Copy, Debug)]
pub struct NoConstants;

impl Constants for NoConstants {
    fn range_keys(&self, _table: &TableDefinition, _index: usize, _range: &RangePlan) -> RangeKeys {
        RangeKeys::Unknown
    }

    fn column_range(
        &self,
        _table: &TableDefinition,
        _column: usize,
        _bytes: &dyn KeyBytes,
        _range: &RangePlan,
    ) -> ColumnRange {
        ColumnRange::Unknown
    }
}

/// Rows in ranges of an index or a column together, if all ends are known: as plans are made for, and as their guards compare.
pub(crate) fn rows_in(
    constants: &dyn Constants,
    entry: &TableEntry,
    asked: Asked,
    ranges: &[RangePlan],
) -> Option<f64> {
    match asked {
        Asked::Index(index) => rows_in_index(constants, entry, index, ranges),
        Asked::Column(column) => rows_of_column(constants, entry, column, ranges),
    }
}

/// By what was found out about the column's values.
fn rows_of_column(
    constants: &dyn Constants,
    entry: &TableEntry,
    column: usize,
    ranges: &[RangePlan],
) -> Option<f64> {
    let statistics = entry.source.statistics();
    let collected = statistics.collected()?;
    let of_column = collected.column(column)?;
    let bytes = statistics.column_keys(column)?;
    let (mut share, mut asked) = (0.0, 0);
    for range in ranges.iter().step_by(ranges.len().div_ceil(ASKED_MAX).max(1)) {
        progress::step();
        share += match constants.column_range(&entry.definition, column, bytes, range) {
            ColumnRange::Unknown => return None,
            ColumnRange::Nothing => 0.0,
            ColumnRange::Null => of_column.null_share,
            ColumnRange::Equal(key) => of_column.equal_share(&key),
            ColumnRange::Range(range) => of_column.range_share(&range),
        };
        asked += 1;
    }
    let rows = (statistics.row_count() as f64).max(1.0);
    let found = share * ranges.len() as f64 / f64::from(asked.max(1)) * rows;
    // What a sample did not meet may be there all the same.
    Some(found.clamp(if collected.is_whole { 0.1 } else { 1.0 }, rows))
}

fn rows_in_index(
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
            rows_in(constants, entry, guard.asked, &guard.ranges)
                .is_none_or(|rows| (guard.least..=guard.most).contains(&rows))
        })
    }
}
