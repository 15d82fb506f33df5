//! What executions count of rows read and changed, sorts, temporary tables and ways of reading: MySQL's `Handler_*`, `Sort_*`,
//! `Select_*` and `Created_tmp_tables`.
//!
//! The counters are those of a session. Operators add to them directly, once a batch, so that a statement neither clears nor sums
//! any.

pub(crate) mod plan_counts;

use metrics::OwnedCounter;

metrics::counter_kinds! {
    /// What is counted, under MySQL's names.
    StatusKind {
        TmpTables "Created_tmp_tables",
        Commit "Handler_commit",
        Delete "Handler_delete",
        ExternalLock "Handler_external_lock",
        ReadFirst "Handler_read_first",
        ReadKey "Handler_read_key",
        ReadLast "Handler_read_last",
        ReadNext "Handler_read_next",
        ReadPrev "Handler_read_prev",
        ReadRnd "Handler_read_rnd",
        ReadRndNext "Handler_read_rnd_next",
        Rollback "Handler_rollback",
        Savepoint "Handler_savepoint",
        SavepointRollback "Handler_savepoint_rollback",
        Update "Handler_update",
        Write "Handler_write",
        SelectFullJoin "Select_full_join",
        SelectFullRangeJoin "Select_full_range_join",
        SelectRange "Select_range",
        SelectRangeCheck "Select_range_check",
        SelectScan "Select_scan",
        SortRange "Sort_range",
        SortRows "Sort_rows",
        SortScan "Sort_scan",
    }
}

/// Counters of one session by [`StatusKind`].
#[derive(Debug)]
pub struct StatusCounts([OwnedCounter; StatusKind::ALL.len()]);

impl Default for StatusCounts {
    fn default() -> Self {
        Self::new()
    }
}

impl StatusCounts {
    /// All at zero.
    #[must_use]
    pub const fn new() -> Self {
        Self([const { OwnedCounter::new() }; StatusKind::ALL.len()])
    }

    /// Adds to one.
    #[inline]
    pub fn add(&self, kind: StatusKind, count: u64) {
        self.0[kind as usize].add(count);
    }

    /// The counter of a kind.
    #[must_use]
    pub fn counter(&self, kind: StatusKind) -> &OwnedCounter {
        &self.0[kind as usize]
    }
}
