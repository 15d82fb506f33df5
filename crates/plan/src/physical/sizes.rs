//! The tables that a plan was chosen for by the number of their rows.
//!
//! Plans live long: a connection keeps those of its statements, and all sessions share them. One that was made while a table was empty
//! reads the whole of it, which is the best way to a row of an empty table. So a plan knows how large its tables were, and is made
//! again when one of them has become another: a table that grows has its statements planned once more for each doubling.

use catalog::TableKind;

use super::{Node, Op, PhysicalPlan, PlanKind};
use crate::logical::TableIndex;

/// A table may become this many times as large, or as small, before a plan is made again.
const SIZE_FACTOR: u64 = 2;
/// And this many rows more: among few rows any way is a good one.
const SIZE_SLACK_ROWS: u64 = 16;

/// The size of a table when the plan was made: its rows, and the version of the statistics behind the estimates.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TableSize {
    table: TableIndex,
    row_count: u64,
    collected_version: u64,
}

impl PhysicalPlan {
    /// What is known now of the tables whose size decides how the plan runs: none if it only goes to single rows of one table by a
    /// whole unique key, or only adds rows.
    pub(crate) fn sizes_now(&self) -> Vec<TableSize> {
        let decides = self.tables.len() > 1
            || match &self.kind {
                PlanKind::Query(node) | PlanKind::Do(node) => scans_ranges(node),
                PlanKind::Update(update) => scans_ranges(&update.source),
                PlanKind::Delete(delete) => scans_ranges(&delete.source),
                PlanKind::Insert(_) => false,
            };
        if !decides {
            return Vec::new();
        }
        let stored =
            self.tables.iter().enumerate().filter(|(_, table)| {
                !matches!(table.entry.definition.kind, TableKind::System | TableKind::View)
            });
        let indexes = stored.map(|(index, _)| TableIndex(u32::try_from(index).unwrap_or(u32::MAX)));
        indexes.map(|table| self.size_now(table)).collect()
    }

    fn size_now(&self, table: TableIndex) -> TableSize {
        let statistics = self.tables[table.0 as usize].entry.source.statistics();
        TableSize {
            table,
            row_count: statistics.row_count(),
            collected_version: statistics.collected_version(),
        }
    }

    /// Whether the tables are still about as large as they were when the plan was made, and what was found out about their rows is still
    /// the newest.
    #[inline]
    #[must_use]
    pub fn sizes_hold(&self) -> bool {
        self.sizes.is_empty() || self.are_sizes_near()
    }

    /// Whether it runs for any table sizes and values: it goes to single rows, or only adds rows.
    #[inline]
    #[must_use]
    pub fn is_always_best(&self) -> bool {
        self.sizes.is_empty()
    }

    fn are_sizes_near(&self) -> bool {
        self.sizes.iter().all(|then| {
            let now = self.size_now(then.table);
            let is_near = |one: u64, other: u64| one <= other.saturating_mul(SIZE_FACTOR) + SIZE_SLACK_ROWS;
            now.collected_version == then.collected_version
                && is_near(now.row_count, then.row_count)
                && is_near(then.row_count, now.row_count)
        })
    }
}

fn scans_ranges(node: &Node) -> bool {
    let mut found = matches!(&node.op, Op::Scan(scan) if !scan.access.point);
    node.each_input(&mut |input| found = found || scans_ranges(input));
    found
}
