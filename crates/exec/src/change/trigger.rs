//! Triggers: what [`access::RowTrigger`] sees of the rows that a statement changes itself, and when.
//!
//! The row before is what the statement locked; the row after is a row of cells by position, as the statement builds it. A statement on
//! a table without a trigger never comes here: that is known when it is prepared.

use std::sync::Arc;

use access::{NewRowCells, RowCells, RowTrigger, ServerError};
use catalog::TableDefinition;
use service::error::SqlError;
use types::{Batch, Cell, Value, ValueRef};

use super::values::{Storing, Target};
use crate::error::access_error;
use crate::expr::{SqlResult, Warnings};

/// A row of a batch, its columns at these positions; `None`: each at its ordinal.
#[derive(Clone, Copy)]
pub(super) struct RowAt<'a> {
    pub(super) batch: &'a Batch,
    pub(super) row: usize,
    pub(super) positions: Option<&'a [u32]>,
}

impl RowCells for RowAt<'_> {
    fn cell(&self, ordinal: usize) -> Cell<'_> {
        let position = self.positions.map_or(ordinal, |positions| positions[ordinal] as usize);
        self.batch.columns[position].cell(self.row)
    }
}

/// The only row of a batch, about to be written.
pub(super) struct NewRow<'a> {
    pub(super) definition: &'a TableDefinition,
    pub(super) batch: &'a mut Batch,
    /// As in [`RowAt`].
    pub(super) positions: Option<&'a [u32]>,
    /// Number of the row, for messages.
    pub(super) number: u64,
    pub(super) storing: &'a Storing<'a>,
    pub(super) warnings: &'a mut Warnings,
}

impl NewRow<'_> {
    fn position(&self, ordinal: usize) -> usize {
        self.positions.map_or(ordinal, |positions| positions[ordinal] as usize)
    }
}

impl RowCells for NewRow<'_> {
    fn cell(&self, ordinal: usize) -> Cell<'_> {
        match self.batch.columns[self.position(ordinal)].cell(0) {
            Cell::Null if self.definition.columns[ordinal].auto_increment => Cell::Int(0),
            cell => cell,
        }
    }
}

impl NewRowCells for NewRow<'_> {
    fn set(&mut self, ordinal: usize, value: &Value) -> Result<(), access::Error> {
        let target = Target { definition: self.definition, ordinal, row: self.number, null_allowed: false };
        let position = self.position(ordinal);
        let out = &mut self.batch.columns[position];
        let stored = self.storing.put_value(target, &ValueRef::from(value), false, out, self.warnings);
        stored.map_err(|error| passed_on(&error))
    }
}

/// An error of the statement on its way through a trigger.
#[cold]
fn passed_on(error: &SqlError) -> access::Error {
    let SqlError { number, message, .. } = error;
    access::Error::Server(Box::new(ServerError { number: *number, message: message.clone() }))
}

/// The trigger of a table that is changed.
#[derive(Debug)]
pub(super) struct Trigger(Arc<dyn RowTrigger>);

impl Trigger {
    pub(super) fn new(trigger: &Arc<dyn RowTrigger>) -> Trigger {
        Trigger(Arc::clone(trigger))
    }

    /// Fires it before a row is written.
    ///
    /// # Errors
    /// It refuses the row.
    #[cold]
    pub(super) fn before(&self, old: Option<RowAt<'_>>, new: Option<&mut NewRow<'_>>) -> SqlResult<()> {
        let old = old.as_ref().map(|old| old as &dyn RowCells);
        let new = new.map(|new| new as &mut dyn NewRowCells);
        self.0.before(old, new).map_err(access_error)
    }

    /// Fires it after a row was written.
    ///
    /// # Errors
    /// It refuses the row.
    #[cold]
    pub(super) fn after(&self, old: Option<RowAt<'_>>, new: Option<RowAt<'_>>) -> SqlResult<()> {
        let old = old.as_ref().map(|old| old as &dyn RowCells);
        let new = new.as_ref().map(|new| new as &dyn RowCells);
        self.0.after(old, new).map_err(access_error)
    }
}
