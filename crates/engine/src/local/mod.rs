//! Tables of the local store as sessions and the server reach them: [`session::backend`]'s traits.

mod definitions;
mod locks;
mod point;
mod prepared;
mod storage;
mod transaction;

use std::sync::Arc;

use service::SqlError;
use store::Store;

use crate::backup_lock::BackupLock;
use crate::ddl;
pub use locks::LocalTableLocks;
pub use point::LocalPointProgram;
use prepared::Prepared;
use session::backend::{Backend, PreparedTransactions, Xid};
pub use transaction::LocalSessionTransaction;

/// All local tables: the rows and their definitions.
#[derive(Debug)]
pub struct LocalBackend {
    store: Store,
    definitions: ddl::Definitions,
    /// LOCK INSTANCE FOR BACKUP.
    backup_lock: BackupLock,
    prepared: Arc<Prepared>,
}

impl LocalBackend {
    /// The tables in `store`, as `definitions` has them. What was prepared is there again.
    ///
    /// # Errors
    /// A prepared transaction cannot be read.
    pub(crate) fn new(store: Store, definitions: ddl::Definitions) -> Result<Self, Box<SqlError>> {
        let prepared = Arc::new(Prepared::open(&store, &definitions.catalog().load())?);
        Ok(Self { store, definitions, backup_lock: BackupLock::default(), prepared })
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
        Ok(LocalSessionTransaction::new(&self.store, &self.prepared))
    }
}

impl PreparedTransactions for LocalBackend {
    fn prepared(&self) -> Result<Vec<Xid>, Box<SqlError>> {
        Ok(self.prepared.names())
    }

    fn is_prepared(&self, xid: &Xid) -> Result<bool, Box<SqlError>> {
        Ok(self.prepared.has(xid))
    }

    fn commit_prepared(&self, xid: &Xid) -> Result<Option<u64>, Box<SqlError>> {
        Ok(self.prepared.commit(xid)?.map(|position| position.0))
    }

    fn roll_back_prepared(&self, xid: &Xid) -> Result<Option<u64>, Box<SqlError>> {
        Ok(self.prepared.roll_back(xid)?.map(|position| position.0))
    }
}
