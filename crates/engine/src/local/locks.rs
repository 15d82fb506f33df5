//! LOCK TABLES on local tables.

use std::sync::Arc;

use access::{MetadataMode, MetadataWait};
use catalog::TableEntry;
use service::Outcome;
use table::MetadataLock;

use crate::metadata::{MetadataLocks, lock_of};
use session::backend::TableLocks;

/// The metadata locks that a session keeps.
#[derive(Debug, Default)]
pub struct LocalTableLocks(MetadataLocks);

impl LocalTableLocks {
    /// The locks themselves, which the session's own definitions do not wait for.
    pub(crate) fn metadata(&self) -> &MetadataLocks {
        &self.0
    }
}

/// A table's lock; the same lock is equal to itself alone.
#[derive(Clone, Debug)]
pub struct LocalTableLock(Arc<MetadataLock>);

impl PartialEq for LocalTableLock {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl TableLocks for LocalTableLocks {
    type Lock = LocalTableLock;

    fn lock_of(entry: &TableEntry) -> Option<LocalTableLock> {
        lock_of(entry).map(|lock| LocalTableLock(Arc::clone(lock)))
    }

    fn lock_together(
        &mut self,
        wanted: &[(LocalTableLock, MetadataMode)],
        lock_wait: MetadataWait<'_>,
    ) -> Outcome {
        let wanted: Vec<_> = wanted.iter().map(|(lock, mode)| (Arc::clone(&lock.0), *mode)).collect();
        self.0.lock_together(&wanted, lock_wait)
    }

    fn holds(&self, entry: &TableEntry) -> bool {
        lock_of(entry).is_some_and(|lock| self.0.holds(lock))
    }

    fn release_all(&mut self) {
        self.0.release_all();
    }
}
