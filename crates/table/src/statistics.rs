//! Statistics of a table as they were found last.

use std::sync::atomic::AtomicU64;

use parking_lot::RwLock;

/// What was found last.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    /// Rows when `distinct` was made, plus one; 0: never.
    pub(crate) made_at: AtomicU64,
    /// Per index, per number of parts: entries per different prefix, times 1,000.
    pub(crate) entries_per_key: RwLock<Vec<Vec<u64>>>,
    /// How often it was asked for.
    pub(crate) analyzed_count: AtomicU64,
}
