//! What the optimizer asks about a table.

use crate::key::KeyRange;

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

    /// How often ANALYZE TABLE was said.
    fn analyzed_count(&self) -> u64 {
        0
    }

    /// Bytes of the rows (`information_schema.tables.data_length`).
    fn data_bytes(&self) -> u64;

    /// Bytes of the other indexes (`index_length`).
    fn index_bytes(&self) -> u64;
}
