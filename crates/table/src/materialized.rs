//! A stored row as cells.

use access::{RowCells, TimestampZone, Utc};
use store::StoreError;
use types::{Cell, Decimal, Physical};

use crate::codec::row::{BytesRef, RowView};
use crate::large::ReadFrom;
use crate::table::Table;

/// A row's cells, with the memory that decimals and fetched values need.
#[derive(Default)]
pub(crate) struct Materialized {
    decimals: Vec<Decimal>,
    fetched: Vec<Vec<u8>>,
    /// Per column: which decimal or fetched value, or `u32::MAX`.
    places: Vec<u32>,
}

impl Materialized {
    /// Reads what cells of `view` cannot borrow. `fetch(ordinal)`: whether an external value is needed whole.
    pub(crate) fn read(
        table: &Table,
        view: &RowView<'_>,
        from: ReadFrom<'_>,
        fetch: impl Fn(usize) -> bool,
    ) -> Result<Self, StoreError> {
        let mut this = Self { places: Vec::with_capacity(table.definition.columns.len()), ..Self::default() };
        for (ordinal, column) in table.definition.columns.iter().enumerate() {
            let mut place = u32::MAX;
            if !view.is_null(ordinal) {
                match column.data_type.physical() {
                    Physical::Decimal => {
                        place = this.decimals.len() as u32;
                        this.decimals.push(view.decimal(ordinal));
                    }
                    Physical::Bytes => {
                        if let BytesRef::External { reference, .. } = view.bytes(ordinal)
                            && fetch(ordinal)
                        {
                            let mut value = Vec::new();
                            table.fetch(from, reference, &mut value)?;
                            place = this.fetched.len() as u32;
                            this.fetched.push(value);
                        }
                    }
                    _ => {}
                }
            }
            this.places.push(place);
        }
        Ok(this)
    }

    /// Column `ordinal` of the row. A value that stands among the large ones and was not fetched gives its prefix.
    pub(crate) fn cell<'a>(
        &'a self,
        table: &Table,
        view: &RowView<'a>,
        ordinal: usize,
        zone: &dyn TimestampZone,
    ) -> Cell<'a> {
        if view.is_null(ordinal) {
            return Cell::Null;
        }
        let place = self.places[ordinal] as usize;
        match table.definition.columns[ordinal].data_type.physical() {
            Physical::Int => Cell::Int(view.int(ordinal, zone)),
            Physical::Double => Cell::Double(view.double(ordinal)),
            Physical::Decimal => Cell::Decimal(&self.decimals[place]),
            Physical::Bytes => match view.bytes(ordinal) {
                BytesRef::Inline(bytes) => Cell::Bytes(bytes),
                BytesRef::External { prefix, .. } => {
                    Cell::Bytes(self.fetched.get(place).map_or(prefix, Vec::as_slice))
                }
            },
        }
    }
}

/// A stored row as observers see it: TIMESTAMPs in UTC, so that the hour that a zone has twice stays what it is.
pub(crate) struct StoredCells<'a> {
    pub(crate) table: &'a Table,
    pub(crate) view: &'a RowView<'a>,
    pub(crate) memory: &'a Materialized,
}

impl RowCells for StoredCells<'_> {
    fn cell(&self, ordinal: usize) -> Cell<'_> {
        self.memory.cell(self.table, self.view, ordinal, &Utc)
    }
}

/// A row of which nothing was read.
pub(crate) struct UnreadCells;

impl RowCells for UnreadCells {
    fn cell(&self, _ordinal: usize) -> Cell<'_> {
        Cell::Null
    }
}
