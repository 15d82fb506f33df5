//! Tables in a store on a simulated disk.

use std::sync::Arc;

use access::{Snapshot, Transaction};
use catalog::{TableDefinition, TableEntry};
use store::Store;
use table::{LocalSnapshot, LocalTransaction, RowScratch};

use crate::world::Backend;

/// The store.
pub(crate) struct Local(Store);

impl Local {
    pub(crate) fn new() -> Box<Local> {
        Box::new(Local(fixture::open_store(&env::simulated::SimWorld::new(1))))
    }
}

impl Backend for Local {
    fn create(&mut self, definition: TableDefinition, _sql: &str) -> Arc<TableEntry> {
        fixture::entry(fixture::create(&self.0, definition))
    }

    fn drop_tables(&mut self, _sql: &str) {}

    fn transact(&mut self, run: &mut dyn FnMut(&dyn Snapshot, &mut dyn Transaction) -> bool) {
        let view = self.0.read_view();
        let mut transaction = self.0.begin();
        let is_kept = run(
            &LocalSnapshot(&view),
            &mut LocalTransaction::new(&view, &mut transaction, &mut RowScratch::default()),
        );
        if is_kept {
            transaction.commit().expect("a commit");
        } else {
            transaction.rollback().expect("a rollback");
        }
    }
}
