//! Who sees changes of rows, in MySQL's two places.
//!
//! | | [`RowTrigger`] | [`RowObserver`] |
//! | --- | --- | --- |
//! | sees | the rows that a statement changes itself | every change of a stored row, those of cascades too |
//! | when | before the change, and after it | after the change and its index entries, with the row's lock held |
//! | may | refuse; before: set columns of the new row | refuse: the call that changed the row is undone |
//! | called by | `exec::change` | the backend that keeps the table |
//! | is for | triggers | binary log, change streams, the change log of online DDL |
//!
//! A table says once who sees its changes, when it is opened. A table that nobody observes pays nothing.

use std::fmt::Debug;

use types::{Cell, Value};

use crate::error::Error;

/// A row's cells.
pub trait RowCells {
    /// A column, by ordinal.
    fn cell(&self, ordinal: usize) -> Cell<'_>;
}

/// The row that a statement is about to write: NEW in a BEFORE trigger. A number that AUTO_INCREMENT will give is still 0.
pub trait NewRowCells: RowCells {
    /// Sets a column, converted to its type.
    ///
    /// # Errors
    /// What storing the value would say: NULL in a NOT NULL column, a value that the type cannot hold.
    fn set(&mut self, ordinal: usize, value: &Value) -> Result<(), Error>;

    /// Puts a cell of the column's own type there. NULL is looked at when all triggers have run.
    fn put(&mut self, ordinal: usize, cell: Cell<'_>);
}

/// Fired by the rows that statements change themselves. INSERT has a new row, DELETE an old one, UPDATE both; TIMESTAMPs are in the
/// session's zone. An error ends the statement, with IGNORE too.
pub trait RowTrigger: Debug + Send + Sync {
    /// Before the row's constraints are checked and the row is written.
    ///
    /// # Errors
    /// The trigger refuses the row.
    fn before(&self, old: Option<&dyn RowCells>, new: Option<&mut dyn NewRowCells>) -> Result<(), Error>;

    /// After the row is written.
    ///
    /// # Errors
    /// The trigger refuses the row.
    fn after(&self, old: Option<&dyn RowCells>, new: Option<&dyn RowCells>) -> Result<(), Error>;
}

/// A stored row.
#[derive(Clone, Copy)]
pub struct StoredRow<'a> {
    /// Where it lies.
    pub locator: &'a [u8],
    /// Its cells, TIMESTAMPs in UTC: those that the observer reads.
    pub cells: &'a dyn RowCells,
}

/// A change of one stored row.
#[derive(Clone, Copy)]
pub struct RowChange<'a> {
    /// The number of the transaction, as those who see its commit know it.
    pub transaction: u64,
    /// How many changes the transaction has made with this one. A rollback to a savepoint undoes those from a number on, and
    /// `store::CommitObserver::rolled_back` gives that number; later changes have these numbers again.
    pub number: u64,
    /// The row before; `None`: it is new.
    pub before: Option<StoredRow<'a>>,
    /// The row after; `None`: it is gone.
    pub after: Option<StoredRow<'a>>,
    /// The columns that got other values, if it was there and still is.
    pub columns: &'a [usize],
}

impl RowChange<'_> {
    /// Whether the row lies where it lay.
    #[must_use]
    pub fn stays(&self) -> bool {
        matches!((self.before, self.after), (Some(before), Some(after)) if before.locator == after.locator)
    }
}

/// Sees every change of a table's stored rows. That some of them are undone later (the statement fails, a rollback to a savepoint or of all)
/// is said where the transaction's commit is: for local tables by `store::CommitObserver::rolled_back`.
pub trait RowObserver: Debug + Send + Sync {
    /// Whether it reads column `ordinal` of the row before. A column that it does not read may come as NULL or as its beginning.
    fn reads_before(&self, ordinal: usize) -> bool;

    /// Whether it reads column `ordinal` of the row after.
    fn reads_after(&self, ordinal: usize) -> bool;

    /// A row was changed.
    ///
    /// # Errors
    /// The change is refused: the call that made it is undone and fails.
    fn row_changed(&self, change: &RowChange<'_>) -> Result<(), Error>;
}
