//! What the optimizer asks about a table.

use std::sync::Arc;

use crate::collected::{CollectedStatistics, Histogram};
use crate::key::{KeyBytes, KeyRange};

/// What the optimizer asks about a table. Answers are estimates, cheap, and never fail.
pub trait TableStatistics: Send + Sync {
    /// Rows in the table; at least 1.
    fn row_count(&self) -> u64;

    /// Rows in the table as people are shown: 0 of an empty one.
    fn shown_row_count(&self) -> u64 {
        self.row_count()
    }

    /// Different values of the first `part_count` parts of index `index`; at least 1.
    fn distinct_count(&self, index: usize, part_count: usize) -> u64;

    /// Rows of index `index` in `range`.
    fn estimate_rows(&self, index: usize, range: &KeyRange) -> u64;

    /// The collected statistics; `None`: none yet.
    fn collected(&self) -> Option<Arc<CollectedStatistics>> {
        None
    }

    /// The version of the collected statistics; it changes whenever they are replaced. Cheap.
    fn collected_version(&self) -> u64 {
        0
    }

    /// How the statistics encode values of column `column`: as part 0. `None`: they do not cover it.
    fn column_keys(&self, column: usize) -> Option<&dyn KeyBytes> {
        let _ = column;
        None
    }

    /// The histograms of ANALYZE TABLE ... UPDATE HISTOGRAM.
    fn histograms(&self) -> Vec<Histogram> {
        Vec::new()
    }

    /// Bytes of the rows (`information_schema.tables.data_length`).
    fn data_bytes(&self) -> u64;

    /// Bytes of the other indexes (`index_length`).
    fn index_bytes(&self) -> u64;
}
