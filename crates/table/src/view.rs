//! A view as the catalog has it: no rows of its own, but a metadata lock.

use std::any::Any;
use std::sync::Arc;

use access::{KeyRange, TableStatistics};
use catalog::TableSource;

use crate::metadata_lock::MetadataLock;

/// What stands for the rows of a view.
#[derive(Debug, Default)]
pub struct ViewSource {
    lock: Arc<MetadataLock>,
}

impl ViewSource {
    /// The same view under another definition.
    #[must_use]
    pub fn again(earlier: &ViewSource) -> ViewSource {
        ViewSource { lock: Arc::clone(&earlier.lock) }
    }

    /// Its metadata lock.
    #[must_use]
    pub fn metadata_lock(&self) -> &Arc<MetadataLock> {
        &self.lock
    }
}

impl TableSource for ViewSource {
    fn statistics(&self) -> &dyn TableStatistics {
        self
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl TableStatistics for ViewSource {
    fn row_count(&self) -> u64 {
        1
    }

    fn distinct_count(&self, _index: usize, _part_count: usize) -> u64 {
        1
    }

    fn estimate_rows(&self, _index: usize, _range: &KeyRange) -> u64 {
        1
    }

    fn data_bytes(&self) -> u64 {
        0
    }

    fn index_bytes(&self) -> u64 {
        0
    }
}
