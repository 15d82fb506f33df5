//! A stored row was changed: the one place where a table tells its observers.
//!
//! Every insert, update and delete of a row ends here, those of cascades and of copies too: after the change and all its index
//! entries, while the transaction holds the row's lock, and before the call that changed it returns. The observers
//! ([`access::RowObserver`]) are called in their order; one that refuses undoes the call.
//!
//! What may change or refuse a row comes before the change and not here: triggers, generated columns, NOT NULL and CHECK in
//! `exec::change`, foreign keys in [`crate::foreign_key`].

use access::{RowChange, StoredRow};
use store::Transaction;

use crate::codec::row::{RowView, version_of};
use crate::error::WriteError;
use crate::large::ReadFrom;
use crate::materialized::{Materialized, StoredCells, UnreadCells};
use crate::table::Table;

impl Table {
    /// Whether an observer of changes is registered.
    #[inline]
    pub(crate) fn is_observed(&self) -> bool {
        !self.observers().rows.is_empty()
    }

    /// Whether an observer reads this column of rows before their change.
    pub(crate) fn is_observed_before(&self, ordinal: usize) -> bool {
        self.observers().rows.iter().any(|observer| observer.reads_before(ordinal))
    }

    /// Tells the observers of a change. Callers ask [`Table::is_observed`] before they make up the row before. `after`: where the
    /// row is now, if it still is.
    ///
    /// # Errors
    /// An observer's, or the store's.
    #[cold]
    pub(crate) fn row_changed(
        &self,
        transaction: &Transaction,
        before: Option<StoredRow<'_>>,
        after: Option<&[u8]>,
        columns: &[usize],
    ) -> Result<(), WriteError> {
        let number = transaction.change_count();
        let observers = &self.observers().rows;
        let reads = |ordinal: usize| observers.iter().any(|observer| observer.reads_after(ordinal));
        let stored = match after {
            Some(locator) if (0..self.width()).any(reads) => {
                transaction.get_current(&self.rows, locator, <[u8]>::to_vec)?.map(|stored| (locator, stored))
            }
            _ => None,
        };
        let Some((locator, stored)) = stored else {
            let after = after.map(|locator| StoredRow { locator, cells: &UnreadCells });
            return self.tell(&RowChange { transaction: transaction.id().0, number, before, after, columns });
        };
        // As it is stored: converted, with large values that never were in memory whole.
        let body = self.whole_body(ReadFrom::Current(transaction), stored)?;
        let view = RowView::new(self.layout(version_of(&body)), locator, locator, &body);
        let memory = Materialized::read(self, &view, ReadFrom::Current(transaction), reads)?;
        let cells = StoredCells { table: self, view: &view, memory: &memory };
        self.tell(&RowChange {
            transaction: transaction.id().0,
            number,
            before,
            after: Some(StoredRow { locator, cells: &cells }),
            columns,
        })
    }

    fn tell(&self, change: &RowChange<'_>) -> Result<(), WriteError> {
        for observer in &self.observers().rows {
            observer.row_changed(change)?;
        }
        Ok(())
    }
}
