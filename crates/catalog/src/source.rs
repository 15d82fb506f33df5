//! The traits by which queries reach tables.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use types::Value;
use types::vector::Batch;

use crate::snapshot::Catalog;

/// Rows locked while they are read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LockMode {
    /// A consistent read without locks.
    #[default]
    None,
    /// FOR SHARE.
    Shared,
    /// FOR UPDATE, and the reading half of UPDATE and DELETE.
    Exclusive,
}

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

/// How a statement reads one table.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ReadOptions {
    /// Locks to take.
    pub lock: LockMode,
    /// What to do when one is taken already.
    pub wait: LockWait,
}

/// One end of a range of an index: values of its first parts, already converted to the columns' types
/// (NULL is `Value::Null` and sorts before everything).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum KeyBound {
    /// No end on this side.
    #[default]
    Unbounded,
    /// Keys that start with these values are in.
    Inclusive(Vec<Value>),
    /// Keys that start with these values are out.
    Exclusive(Vec<Value>),
}

/// A range of an index in the index's own order (a DESC part turns its direction).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyRange {
    /// Where it starts.
    pub lower: KeyBound,
    /// Where it ends.
    pub upper: KeyBound,
}

impl KeyRange {
    /// All keys that start with `values`.
    #[must_use]
    pub fn equal(values: Vec<Value>) -> Self {
        Self { lower: KeyBound::Inclusive(values.clone()), upper: KeyBound::Inclusive(values) }
    }
}

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

/// What gives a table's rows.
pub trait TableSource: Any + Debug + Send + Sync {
    /// What the optimizer may ask.
    fn statistics(&self) -> &dyn TableStatistics;

    /// A table whose rows are made while they are read; `None` for a table in the store.
    fn as_virtual(&self) -> Option<&dyn VirtualTable>;

    /// For the layer that knows the concrete type (`table::Table`).
    fn as_any(&self) -> &dyn Any;

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

/// Where a row of a local table lies: the key of its record in the tree of rows, as bytes. Valid within the
/// transaction that read it.
pub type RowLocator = Vec<u8>;

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
    /// What the client is to be told.
    fn scan(
        &self,
        context: &VirtualContext<'_>,
        scan: &VirtualScan<'_>,
        emit: &mut dyn FnMut(&mut Batch) -> bool,
    ) -> Result<(), VirtualError>;
}
