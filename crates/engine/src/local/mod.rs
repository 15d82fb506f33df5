//! Tables of the local store as sessions and the server reach them: [`session::backend`]'s traits.

mod definitions;
mod locks;
mod point;
mod storage;
mod transaction;

use service::error::ER_XAER_NOTA;
use service::{Outcome, SqlError};
use store::Store;

use crate::backup_lock::BackupLock;
use crate::ddl;
pub use locks::LocalTableLocks;
pub use point::LocalPointProgram;
use session::backend::{Backend, PreparedTransactions, Xid};
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

    fn new_transaction(&self) -> Result<LocalSessionTransaction, Box<SqlError>> {
        Ok(LocalSessionTransaction::new(&self.store))
    }
}

/// None is ever prepared: [`SessionTransaction::prepare`] refuses.
impl PreparedTransactions for LocalBackend {
    fn prepared(&self) -> Result<Vec<Xid>, Box<SqlError>> {
        Ok(Vec::new())
    }

    fn commit_prepared(&self, _xid: &Xid) -> Result<Option<u64>, Box<SqlError>> {
        Err(ER_XAER_NOTA.bare())
    }

    fn roll_back_prepared(&self, _xid: &Xid) -> Outcome {
        Err(ER_XAER_NOTA.bare())
    }
}
