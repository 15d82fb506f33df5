//! Metadata locks that a session keeps until it releases them: LOCK TABLES.

use access::{MetadataMode, MetadataWait};
use catalog::TableEntry;
use service::Outcome;

/// The metadata locks that one session keeps. Dropping them releases them.
pub trait TableLocks: Default + Send {
    /// The lock of a table. Two names mean the same table as long as their locks are equal.
    type Lock: Clone + PartialEq;

    /// The lock of a table; system and temporary tables have none.
    fn lock_of(entry: &TableEntry) -> Option<Self::Lock>;
    /// Takes all of `wanted`, each once. None is kept while another one is waited for.
    ///
    /// # Errors
    /// 1205, 1213, 1317; nothing is kept then.
    fn lock_together(
        &mut self,
        wanted: &[(Self::Lock, MetadataMode)],
        lock_wait: MetadataWait<'_>,
    ) -> Outcome;
    /// Whether the lock of this table is kept, in any mode.
    fn holds(&self, entry: &TableEntry) -> bool;
    /// Releases all.
    fn release_all(&mut self);
}
