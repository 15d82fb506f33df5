//! A table of the local store as the catalog has it.

use std::any::Any;
use std::sync::Arc;

use access::{RowTrigger, TableStatistics};
use catalog::{ForeignKeyGraph, TableSource};

use crate::foreign_key::ForeignKeys;
use crate::table::Table;

impl TableSource for Table {
    fn statistics(&self) -> &dyn TableStatistics {
        self
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn stored(self: Arc<Self>) -> Option<Arc<dyn access::Table>> {
        Some(self)
    }

    fn row_trigger(&self) -> Option<&Arc<dyn RowTrigger>> {
        self.trigger()
    }

    fn foreign_keys(&self, graph: &ForeignKeyGraph) -> Option<Arc<dyn access::ForeignKeys>> {
        Some(ForeignKeys::new(graph)?)
    }

    fn covers(&self, index: usize, column: usize) -> bool {
        Self::covers(self, index, column)
    }

    fn auto_increment_next(&self) -> Option<u64> {
        self.definition.auto_increment_column().map(|_| self.auto_increment().peek())
    }
}
