//! A table on another server.

use std::any::Any;
use std::sync::Arc;
use std::sync::Mutex;

use access::{Error, KeyForm, KeyRange, Pushdown, TableStatistics, take_of_series};
use catalog::{TableDefinition, TableSource};

/// The table, and what it knows without asking.
#[derive(Debug)]
pub(crate) struct RemoteTable {
    pub(super) definition: Arc<TableDefinition>,
    /// The AUTO_INCREMENT number that the next row gets: the tables are made and written here alone.
    next: Mutex<u64>,
}

/// A handle that another backend made.
pub(super) fn foreign() -> Error {
    Error::Storage("a table of another backend in a remote transaction".into())
}

/// The table behind a handle.
pub(super) fn remote(table: &dyn access::Table) -> Result<&RemoteTable, Error> {
    (table as &dyn Any).downcast_ref().ok_or_else(foreign)
}

impl RemoteTable {
    /// A table whose next AUTO_INCREMENT number is `next`.
    pub(crate) fn new(definition: Arc<TableDefinition>, next: u64) -> RemoteTable {
        RemoteTable { definition, next: Mutex::new(next) }
    }

    /// The largest number that the AUTO_INCREMENT column takes.
    fn limit(&self) -> u64 {
        let column = self.definition.auto_increment_column();
        column.map_or(u64::MAX, |ordinal| {
            table::auto_increment_limit(&self.definition.columns[ordinal].data_type)
        })
    }
}

impl access::Table for RemoteTable {
    fn key_form(&self, _index: usize) -> KeyForm<'_> {
        KeyForm::Values
    }

    fn pushdown(&self) -> Pushdown {
        Pushdown { equal: true }
    }

    fn reserve_numbers(&self, count: u64, increment: u64, offset: u64) -> Result<u64, Error> {
        let mut next = self.next.lock().expect("no test panicked with it");
        let taken = take_of_series(*next, count, increment, offset, self.limit());
        let first;
        (first, *next) = taken.ok_or(Error::NumbersExhausted)?;
        Ok(first)
    }

    fn observe_number(&self, number: u64) -> Result<(), Error> {
        if number <= self.limit() {
            let mut next = self.next.lock().expect("no test panicked with it");
            *next = (*next).max(number.saturating_add(1));
        }
        Ok(())
    }
}

/// Nothing is asked of the other server: every index entry stands for ten rows, a range for a third of the table.
impl TableStatistics for RemoteTable {
    fn row_count(&self) -> u64 {
        1000
    }

    fn distinct_count(&self, _index: usize, _part_count: usize) -> u64 {
        100
    }

    fn estimate_rows(&self, _index: usize, _range: &KeyRange) -> u64 {
        300
    }

    fn data_bytes(&self) -> u64 {
        100_000
    }

    fn index_bytes(&self) -> u64 {
        20_000
    }
}

impl TableSource for RemoteTable {
    fn statistics(&self) -> &dyn TableStatistics {
        self
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn stored(self: Arc<Self>) -> Option<Arc<dyn access::Table>> {
        Some(self)
    }

    fn auto_increment_next(&self) -> Option<u64> {
        self.definition.auto_increment_column()?;
        Some(*self.next.lock().expect("no test panicked with it"))
    }
}
