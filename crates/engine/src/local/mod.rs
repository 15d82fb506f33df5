//! Tables of the local store as sessions and the server reach them: [`session::backend`]'s traits.

mod definitions;
mod locks;
mod point;
mod storage;
mod transaction;

use store::Store;

use crate::backup_lock::BackupLock;
use crate::ddl;
pub use locks::LocalTableLocks;
pub use point::LocalPointProgram;
use session::backend::Backend;
pub use transaction::LocalSessionTransaction;

/// All local tables: the rows and their definitions.
#[derive(Debug)]
pub struct LocalBackend {
    store: Store,
    definitions: ddl::Definitions,
    /// LOCK INSTANCE FOR BACKUP.
    backup_lock: BackupLock,
}

impl LocalBackend {
    /// The tables in `store`, as `definitions` has them.
    pub(crate) fn new(store: Store, definitions: ddl::Definitions) -> Self {
        Self { store, definitions, backup_lock: BackupLock::default() }
    }

    /// Rows.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Writes exact AUTO_INCREMENT counters: part of a clean shutdown.
    ///
    /// # Errors
    /// The store's.
    pub(crate) fn save_counters(&self) -> Result<(), table::WriteError> {
        self.definitions.save_counters()
    }
}

impl Backend for LocalBackend {
    type Transaction = LocalSessionTransaction;
    type PointProgram = LocalPointProgram;

    fn new_transaction(&self) -> LocalSessionTransaction {
        LocalSessionTransaction::new(&self.store)
    }
}
