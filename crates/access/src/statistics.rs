//! What the optimizer asks about a table.

use std::sync::Arc;

use crate::facts::{Histogram, TableFacts};
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

    /// What was found out about the rows; none: nothing yet.
    fn facts(&self) -> Option<Arc<TableFacts>> {
        None
    }

    /// The version of these facts: another one when they were replaced. Cheap.
    fn facts_version(&self) -> u64 {
        0
    }

    /// How the facts write values of column `column`: as part 0. None: they do not speak of it.
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
