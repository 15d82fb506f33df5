//! The metadata locks of a session: which tables its transaction uses.
//!
//! A statement takes the lock of every table of its plan before it runs, for reading or for writing, and then looks whether
//! the catalog still has the entry it planned with; if not, it plans again. The locks are given back when the transaction
//! ends. LOCK TABLES keeps a list of its own (`session::conversation::locks`).

use std::sync::Arc;

use access::{MetadataMode, MetadataWait};
use catalog::{TableEntry, TableKind};
use service::error::{ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, ER_QUERY_INTERRUPTED, SqlError};
use table::{MetadataLock, MetadataLockError, Table, ViewSource};

/// The metadata locks that one session holds. Dropping it gives them back.
#[derive(Debug, Default)]
pub struct MetadataLocks {
    held: Vec<(Arc<MetadataLock>, MetadataMode)>,
}

/// The lock of a table; system and temporary tables have none.
#[must_use]
pub fn lock_of(entry: &TableEntry) -> Option<&Arc<MetadataLock>> {
    match entry.definition.kind {
        TableKind::Base => entry.source.as_any().downcast_ref::<Table>().map(Table::metadata_lock),
        TableKind::View => entry.source.as_any().downcast_ref::<ViewSource>().map(ViewSource::metadata_lock),
        TableKind::Temporary | TableKind::System => None,
    }
}

/// The error when a lock is not granted.
#[cold]
#[must_use]
pub(crate) fn lock_error(error: MetadataLockError) -> Box<SqlError> {
    match error {
        MetadataLockError::Timeout => ER_LOCK_WAIT_TIMEOUT.bare(),
        MetadataLockError::Killed => ER_QUERY_INTERRUPTED.bare(),
        MetadataLockError::Deadlock => ER_LOCK_DEADLOCK.bare(),
        MetadataLockError::NoThread => SqlError::refused_wait(),
    }
}

impl MetadataLocks {
    /// Takes the lock of a table, unless it is held already.
    ///
    /// # Errors
    /// 1205 when others keep it longer than `lock_wait`, 1213 when others wait for what is held already, 1317 for a KILL.
    pub fn lock(
        &mut self,
        entry: &TableEntry,
        mode: MetadataMode,
        lock_wait: MetadataWait<'_>,
    ) -> Result<(), Box<SqlError>> {
        let Some(lock) = lock_of(entry) else { return Ok(()) };
        let enough = |held: MetadataMode| held == mode || held == MetadataMode::Write;
        if self.held.iter().any(|(other, held)| Arc::ptr_eq(other, lock) && enough(*held)) {
            return Ok(());
        }
        lock.lock_holding(mode, &self.held, lock_wait).map_err(lock_error)?;
        self.held.push((Arc::clone(lock), mode));
        Ok(())
    }

    /// Takes the lock of a table for a transaction that has written to it before this server started. Nobody else has it yet.
    pub(crate) fn keep_for_writing(&mut self, entry: &TableEntry) {
        if let Some(lock) = lock_of(entry)
            && !self.holds(lock)
            && lock.try_lock(MetadataMode::Write)
        {
            self.held.push((Arc::clone(lock), MetadataMode::Write));
        }
    }

    /// Takes all of `wanted`, each once. Nothing is held while one is waited for, so that nobody can wait in a circle with
    /// the caller.
    ///
    /// # Errors
    /// As [`MetadataLocks::lock`]; nothing is held then.
    pub fn lock_together(
        &mut self,
        wanted: &[(Arc<MetadataLock>, MetadataMode)],
        lock_wait: MetadataWait<'_>,
    ) -> Result<(), Box<SqlError>> {
        debug_assert!(self.held.is_empty());
        let mut first = None;
        'again: loop {
            if let Some(index) = first {
                let (lock, mode): &(Arc<MetadataLock>, MetadataMode) = &wanted[index];
                lock.lock(*mode, lock_wait).map_err(lock_error)?;
                self.held.push((Arc::clone(lock), *mode));
            }
            for (index, (lock, mode)) in wanted.iter().enumerate() {
                if first == Some(index) {
                    continue;
                }
                if !lock.try_lock(*mode) {
                    self.release_all();
                    first = Some(index);
                    continue 'again;
                }
                self.held.push((Arc::clone(lock), *mode));
            }
            return Ok(());
        }
    }

    /// Whether this lock is held in any mode.
    #[must_use]
    pub fn holds(&self, lock: &Arc<MetadataLock>) -> bool {
        self.held.iter().any(|(held, _)| Arc::ptr_eq(held, lock))
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
    pub(crate) fn release_to(&mut self, mark: usize) {
        for (lock, mode) in self.held.drain(mark.min(self.held.len())..) {
            lock.unlock(mode);
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
