//! Large values that a result's rows only refer to: they are read when they are sent, a piece at a time.

use std::sync::Arc;

use access::{LargeReader, LargeReference, LargeSource, MaybeLarge, OutOfLine, Table};
use plan::logical::TableIndex;
use plan::physical::PhysicalPlan;
use types::vector::{Batch, Cell};
use types::{Column, Physical};

use crate::context::ExecContext;
use crate::error::{access_error, internal};
use crate::expr::SqlResult;
use crate::stored_table::stored_table;

/// The tables that references of a plan name.
#[derive(Clone, Default)]
pub(crate) struct LargeTables(Vec<Option<Arc<dyn Table>>>);

impl LargeTables {
    /// Those of a plan.
    pub(crate) fn of(plan: &PhysicalPlan) -> SqlResult<LargeTables> {
        let tables = plan.tables.iter().enumerate().map(|(number, table)| {
            let is_stored = table.is_stored();
            is_stored.then(|| Ok(stored_table(plan, TableIndex(number as u32))?.rows)).transpose()
        });
        tables.collect::<SqlResult<_>>().map(LargeTables)
    }

    /// The value at a place, as `reader` sees it.
    pub(crate) fn value<'a>(
        &'a self,
        place: OutOfLine<'_>,
        reader: LargeReader<'a>,
    ) -> SqlResult<LargeValue<'a>> {
        match self.0.get(place.table as usize) {
            Some(Some(table)) => Ok(LargeValue { table: &**table, reader, reference: place.reference }),
            _ => Err(internal("a reference without its table")),
        }
    }
}

impl LargeTables {
    /// Column `ordinal` of the next row that is written is the value at a place.
    pub(crate) fn put(
        &self,
        place: OutOfLine<'_>,
        ordinal: usize,
        large: &mut Vec<(usize, LargeSource)>,
    ) -> SqlResult<()> {
        match self.0.get(place.table as usize) {
            Some(Some(table)) => {
                large.push((ordinal, LargeSource::Reference(Arc::clone(table), place.reference)));
                Ok(())
            }
            _ => Err(internal("a reference without its table")),
        }
    }
}

/// The columns of a result whose cells may refer to values stored out of line.
pub struct LargeColumns<'c> {
    tables: LargeTables,
    /// By column of the result: its cells may be references, see [`MaybeLarge`].
    columns: Vec<bool>,
    reader: LargeReader<'c>,
}

impl std::fmt::Debug for LargeColumns<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LargeColumns").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// A large value that is stored out of line.
#[derive(Clone, Copy, Debug)]
pub struct LargeValue<'a> {
    table: &'a dyn Table,
    reader: LargeReader<'a>,
    reference: LargeReference,
}

impl LargeValue<'_> {
    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.reference.length
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends `bytes` of it from `offset` on, or what is left.
    ///
    /// # Errors
    /// The store's.
    pub fn read_piece(&self, offset: u64, bytes: u64, out: &mut Vec<u8>) -> SqlResult<()> {
        self.reader.read_piece(self.table, self.reference, offset, bytes, out).map_err(access_error)
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
    Inline(Cell<'a>),
    /// A value stored out of line.
    OutOfLine(LargeValue<'a>),
}

impl<'c> LargeColumns<'c> {
    /// What a plan's result refers to; `None`: nothing.
    pub(crate) fn of(plan: &PhysicalPlan, ctx: &ExecContext<'c>) -> SqlResult<Option<LargeColumns<'c>>> {
        if plan.reference_columns.is_empty() {
            return Ok(None);
        }
        Ok(Some(LargeColumns {
            tables: LargeTables::of(plan)?,
            columns: plan.reference_columns.clone(),
            reader: ctx.large_reader()?,
        }))
    }

    /// A cell of a batch.
    ///
    /// # Errors
    /// 1105 for a reference to a table that the plan does not have.
    #[inline]
    pub fn cell<'a>(&'a self, batch: &'a Batch, column: usize, row: usize) -> SqlResult<ResultCell<'a>> {
        let cell = batch.columns[column].cell(row);
        Ok(match (self.columns.get(column), cell) {
            (Some(true), Cell::Bytes(bytes)) => match MaybeLarge::read(bytes) {
                MaybeLarge::Inline(bytes) => ResultCell::Inline(Cell::Bytes(bytes)),
                MaybeLarge::OutOfLine(place) => ResultCell::OutOfLine(self.tables.value(place, self.reader)?),
            },
            (_, cell) => ResultCell::Inline(cell),
        })
    }

    /// The batch with all values inline, for sinks that cannot send them in pieces.
    ///
    /// # Errors
    /// The store's.
    pub fn read_all(&self, batch: &Batch) -> SqlResult<Batch> {
        let mut whole = Batch::new(batch.columns.iter().map(Column::physical));
        for (number, (target, source)) in whole.columns.iter_mut().zip(&batch.columns).enumerate() {
            if self.columns.get(number) != Some(&true) {
                target.copy_from(source);
                continue;
            }
            debug_assert_eq!(source.physical(), Physical::Bytes);
            for row in 0..batch.row_count {
                match self.cell(batch, number, row)? {
                    ResultCell::Inline(cell) => target.push_cell(cell),
                    ResultCell::OutOfLine(value) => target.push_bytes_with(|out| value.read(out))?,
                }
            }
        }
        whole.row_count = batch.row_count;
        Ok(whole)
    }
}
