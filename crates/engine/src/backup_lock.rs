//! The lock of LOCK INSTANCE FOR BACKUP: while a session holds it, nobody else changes definitions or accounts.

use access::{MetadataMode, MetadataWait};
use service::Outcome;
use table::MetadataLock;

use crate::metadata::lock_error;

/// The instance's lock. Any number of sessions may hold it together.
#[derive(Debug, Default)]
pub(crate) struct BackupLock(MetadataLock);

/// A change of definitions or accounts that is under way. Dropping it ends it.
#[must_use = "the change ends when this is dropped"]
#[derive(Debug)]
pub struct ChangeUnderWay<'a>(&'a BackupLock);

impl BackupLock {
    /// Holds it until [`BackupLock::release`]: waits for changes that are under way.
    ///
    /// # Errors
    /// 1205, 1317.
    pub(crate) fn hold(&self, lock_wait: MetadataWait<'_>) -> Outcome {
        self.0.lock(MetadataMode::ReadOnly, lock_wait).map_err(lock_error)
    }

    /// Ends one [`BackupLock::hold`].
    pub(crate) fn release(&self) {
        self.0.unlock(MetadataMode::ReadOnly);
    }

    /// Begins a change: waits while others hold the lock.
    ///
    /// # Errors
    /// 1205, 1317.
    pub(crate) fn begin_change(
        &self,
        lock_wait: MetadataWait<'_>,
    ) -> Result<ChangeUnderWay<'_>, Box<service::SqlError>> {
        self.0.lock(MetadataMode::Write, lock_wait).map_err(lock_error)?;
        Ok(ChangeUnderWay(self))
    }
}

impl Drop for ChangeUnderWay<'_> {
    fn drop(&mut self) {
        self.0.0.unlock(MetadataMode::Write);
    }
}
