//! Large values that a result's rows only refer to: they are read when they are sent, a piece at a time.

use std::sync::Arc;

use plan::physical::PhysicalPlan;
use store::Reader;
use table::codec::row::LargeReference;
use table::{Table, Whole};
use types::vector::{Batch, Cell};
use types::{Column, Physical};

use crate::context::ExecContext;
use crate::error::store_error;
use crate::expr::SqlResult;
use crate::run::scan::local_table;

/// Where the values are that rows of a result refer to.
pub struct Apart<'c> {
    /// By column of the result; `None`: its values are in the rows.
    tables: Vec<Option<Arc<Table>>>,
    reader: Reader<'c>,
}

impl std::fmt::Debug for Apart<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Apart").field("columns", &self.tables.len()).finish_non_exhaustive()
    }
}

/// A large value that lies apart.
#[derive(Clone, Copy, Debug)]
pub struct LargeValue<'a> {
    table: &'a Table,
    reader: Reader<'a>,
    reference: LargeReference,
}

impl LargeValue<'_> {
    /// Its bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.reference.length
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends `bytes` of it from `offset` on, or what is left.
    ///
    /// # Errors
    /// The store's.
    pub fn read_piece(&self, offset: u64, bytes: u64, out: &mut Vec<u8>) -> SqlResult<()> {
        self.table
            .fetch_large_piece(self.reader, self.reference, offset, bytes, out)
            .map_err(|error| store_error(&error))
    }

    /// Appends all of it.
    ///
    /// # Errors
    /// The store's.
    pub fn read(&self, out: &mut Vec<u8>) -> SqlResult<()> {
        self.read_piece(0, self.len(), out)
    }
}

/// A cell of a result.
#[derive(Debug)]
pub enum ResultCell<'a> {
    /// The value.
    Here(Cell<'a>),
    /// Where it is.
    Apart(LargeValue<'a>),
}

impl<'c> Apart<'c> {
    /// What a plan's result refers to; `None`: nothing.
    pub(crate) fn of(plan: &PhysicalPlan, ctx: &ExecContext<'c>) -> SqlResult<Option<Apart<'c>>> {
        if plan.apart.is_empty() {
            return Ok(None);
        }
        let table = |index: &Option<_>| index.map(|index| local_table(plan, index)).transpose();
        let tables = plan.apart.iter().map(table).collect::<SqlResult<Vec<_>>>()?;
        Ok(Some(Apart { tables, reader: ctx.reader()? }))
    }

    /// A cell of a batch.
    #[inline]
    #[must_use]
    pub fn cell<'a>(&'a self, batch: &'a Batch, column: usize, row: usize) -> ResultCell<'a> {
        let cell = batch.columns[column].cell(row);
        match (self.tables.get(column), cell) {
            (Some(Some(table)), Cell::Bytes(bytes)) => match Whole::read(bytes) {
                Whole::Here(bytes) => ResultCell::Here(Cell::Bytes(bytes)),
                Whole::Apart(reference, _) => {
                    ResultCell::Apart(LargeValue { table, reader: self.reader, reference })
                }
            },
            (_, cell) => ResultCell::Here(cell),
        }
    }

    /// The batch with all values in it, for who cannot send them in pieces.
    ///
    /// # Errors
    /// The store's.
    pub fn read_all(&self, batch: &Batch) -> SqlResult<Batch> {
        let mut whole = Batch::new(batch.columns.iter().map(Column::physical));
        for (number, (target, source)) in whole.columns.iter_mut().zip(&batch.columns).enumerate() {
            if !matches!(self.tables.get(number), Some(Some(_))) {
                target.copy_from(source);
                continue;
            }
            debug_assert_eq!(source.physical(), Physical::Bytes);
            for row in 0..batch.row_count {
                match self.cell(batch, number, row) {
                    ResultCell::Here(cell) => target.push_cell(cell),
                    ResultCell::Apart(value) => target.push_bytes_with(|out| value.read(out))?,
                }
            }
        }
        whole.row_count = batch.row_count;
        Ok(whole)
    }
}
