//! The snapshot of a statement, and large values read as it shows them.

use std::fmt::Debug;
use std::sync::Arc;

use crate::error::Error;
use crate::large::{LargeReference, LongValue};
use crate::table::Table;

/// Which version of a row a consistent read sees.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Version {
    /// What was committed when the snapshot was taken, and the transaction's own changes.
    #[default]
    Snapshot,
    /// The newest committed version and the transaction's own: for rows that it has locked.
    Newest,
    /// The newest version, committed or not (READ UNCOMMITTED).
    Uncommitted,
}

/// What the consistent reads of a statement see.
pub trait Snapshot: Debug {
    /// Whether the snapshot sees the table whole. One that is older than the table's last rebuild (or newest index) does not:
    /// a read through it is 1412, "Table definition has changed, please retry transaction".
    fn sees(&self, table: &dyn Table) -> bool;

    /// Appends a piece of the value that `reference` of `table` names: `bytes` from `offset` on, or what is left of it.
    /// `reader` says which version it belongs to. The first piece counts as the reading of the value.
    ///
    /// # Errors
    /// `Damaged` if a part is missing; what the backend says.
    fn read_large(
        &self,
        reader: LargeReader<'_>,
        table: &dyn Table,
        reference: LargeReference,
        offset: u64,
        bytes: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Error>;
}

/// Reads large values of rows that a statement has read.
#[derive(Clone, Copy, Debug)]
pub struct LargeReader<'a> {
    /// The statement's snapshot.
    pub snapshot: &'a dyn Snapshot,
    /// Which version of the rows was read.
    pub version: Version,
    /// The number under which the transaction's own changes are known ([`crate::Transaction::number`]).
    pub own: u64,
}

impl LargeReader<'_> {
    /// [`Snapshot::read_large`].
    ///
    /// # Errors
    /// As there.
    pub fn read_piece(
        self,
        table: &dyn Table,
        reference: LargeReference,
        offset: u64,
        bytes: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.snapshot.read_large(self, table, reference, offset, bytes, out)
    }
}

/// Where a large value of a row that is inserted comes from.
#[derive(Clone, Debug)]
pub enum LargeSource {
    /// From outside of all tables.
    Long(Arc<dyn LongValue>),
    /// From among the large values of a table, as the statement sees it; [`crate::REFERENCED_BYTES_MIN`] bytes or more.
    Reference(Arc<dyn Table>, LargeReference),
}
