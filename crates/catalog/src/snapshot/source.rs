//! The traits by which queries reach tables.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use access::{ForeignKeys, RowTrigger, Table, TableStatistics};
use types::Value;
use types::vector::Batch;

use super::Catalog;
use super::ForeignKeyGraph;

/// What to do about a row that another transaction has locked.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LockWait {
    /// Wait until it is free or `innodb_lock_wait_timeout` has passed.
    #[default]
    Wait,
    /// NOWAIT: 3572 at once.
    NoWait,
    /// SKIP LOCKED: leave the row out.
    SkipLocked,
}

/// What gives a table's rows.
pub trait TableSource: Any + Debug + Send + Sync {
    /// What the optimizer may ask.
    fn statistics(&self) -> &dyn TableStatistics;

    /// A table whose rows are made while they are read; `None` for a table whose rows are kept.
    fn as_virtual(&self) -> Option<&dyn VirtualTable> {
        None
    }

    /// For the backend that knows the concrete type.
    fn as_any(&self) -> &dyn Any;

    /// A table whose rows are kept, for those who read and write them; `None` for one whose rows are made while they are read.
    fn stored(self: Arc<Self>) -> Option<Arc<dyn Table>> {
        None
    }

    /// The foreign keys of a statement that changes this table, resolved; `None` if one of their tables is kept by somebody else.
    fn foreign_keys(&self, graph: &ForeignKeyGraph) -> Option<Arc<dyn ForeignKeys>> {
        let _ = graph;
        None
    }

    /// Who is fired by the rows that statements change themselves.
    fn row_trigger(&self) -> Option<&Arc<dyn RowTrigger>> {
        None
    }

    /// Whether column `column` can be read from index `index` alone, without the row (a covering read).
    fn covers(&self, index: usize, column: usize) -> bool {
        let _ = (index, column);
        false
    }

    /// The value the next AUTO_INCREMENT row would get, if the table has such a column.
    fn auto_increment_next(&self) -> Option<u64> {
        None
    }
}

/// What a virtual table may know about who reads it.
pub struct VirtualContext<'a> {
    /// The statement's snapshot.
    pub catalog: &'a Arc<Catalog>,
    /// Connection that reads.
    pub connection_id: u64,
    /// The reader's account, `None` for the server itself.
    pub account: Option<crate::account::AccountId>,
    /// The engine's session, for tables that show it; the engine knows its type.
    pub session: &'a dyn Any,
}

impl Debug for VirtualContext<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("VirtualContext")
            .field("connection_id", &self.connection_id)
            .finish_non_exhaustive()
    }
}

/// What a query needs of a virtual table.
#[derive(Clone, Copy, Debug)]
pub struct VirtualScan<'a> {
    /// Ordinals of the columns to fill, in the order in which the batch has them.
    pub columns: &'a [usize],
    /// Conditions `column = constant` that the query has anyway; a table may use them to make fewer rows, and may
    /// ignore them, as the query filters again.
    pub equal: &'a [(usize, Value)],
}

/// Why a virtual table gave no rows: a MySQL error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VirtualError {
    /// MySQL's error number.
    pub number: u16,
    /// Text for the client.
    pub message: String,
}

/// A table whose rows are made while they are read.
pub trait VirtualTable: Send + Sync {
    /// Gives the rows to `emit`, a batch of at most `types::vector::BATCH_ROWS_MAX` rows at a time, with one column
    /// per entry of `scan.columns`. `emit` answers false to stop early.
    ///
    /// # Errors
    /// The text of the client's error.
    fn scan(
        &self,
        context: &VirtualContext<'_>,
        scan: &VirtualScan<'_>,
        emit: &mut dyn FnMut(&mut Batch) -> bool,
    ) -> Result<(), VirtualError>;
}
