//! The metadata locks of a session: which tables its transaction uses.
//!
//! A statement takes the lock of every table of its plan, shared, before it runs, and then looks whether the catalog
//! still has the entry it planned with; if not, it plans anew. The locks are given back when the transaction ends.

use std::sync::Arc;
use std::time::Duration;

use catalog::{TableEntry, TableKind};
use service::error::{ER_LOCK_WAIT_TIMEOUT, SqlError};
use table::{MetadataLock, Table};

/// The shared metadata locks that one session holds. Dropping it gives them back.
#[derive(Debug, Default)]
pub struct MetadataLocks {
    held: Vec<Arc<MetadataLock>>,
}

impl MetadataLocks {
    /// Takes the lock of a table shared, unless it is held already. System and temporary tables have none.
    ///
    /// # Errors
    /// 1205 when DDL keeps it longer than `wait`.
    pub fn lock(&mut self, entry: &TableEntry, wait: Duration) -> Result<(), Box<SqlError>> {
        if entry.definition.kind != TableKind::Base {
            return Ok(());
        }
        let Some(table) = entry.source.as_any().downcast_ref::<Table>() else { return Ok(()) };
        let lock = table.metadata_lock();
        if self.held.iter().any(|other| Arc::ptr_eq(other, lock)) {
            return Ok(());
        }
        lock.lock_shared(wait).map_err(|_| ER_LOCK_WAIT_TIMEOUT.bare())?;
        self.held.push(Arc::clone(lock));
        Ok(())
    }

    /// How many are held: a mark for [`MetadataLocks::release_to`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether none is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Gives back those taken since `mark` (a statement that failed before it touched anything).
    pub fn release_to(&mut self, mark: usize) {
        for lock in self.held.drain(mark.min(self.held.len())..) {
            lock.unlock_shared();
        }
    }

    /// Gives all back: the transaction has ended.
    pub fn release_all(&mut self) {
        self.release_to(0);
    }
}

impl Drop for MetadataLocks {
    fn drop(&mut self) {
        self.release_all();
    }
}
