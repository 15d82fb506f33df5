//! Indexes under construction: their trees, and how their keys are made of rows as they are.

use std::sync::Arc;

use access::{RowCells, Utc};
use catalog::TableDefinition;
use store::{Store, StoreError};
use types::Column;

use crate::index::{EntryBytes, Index, open_indexes};

/// Where rows as they are have a column of the table as it will be.
#[derive(Debug)]
pub enum ColumnOrigin {
    /// Their column of this ordinal, whose values are the same.
    Column(usize),
    /// Nowhere: it has this value in all of them, a TIMESTAMP in UTC.
    Fill(Column),
}

/// Indexes under construction.
#[derive(Debug)]
pub struct NewIndexes {
    /// The table as it will be.
    pub(crate) definition: Arc<TableDefinition>,
    /// Ordinals in it of the new indexes.
    pub(crate) ordinals: Vec<usize>,
    pub(crate) indexes: Vec<Index>,
    /// Its columns that entries are made of, and those of the clustered index, ascending.
    pub(crate) columns: Vec<usize>,
    /// Per column of it.
    origins: Vec<ColumnOrigin>,
    /// What `columns` are in rows as they are, ascending.
    held: Vec<usize>,
}

impl NewIndexes {
    /// Readies the indexes `ordinals` of `definition`, whose trees are there and empty. `origins`: per column.
    ///
    /// # Errors
    /// `TreeGone` if a tree is missing.
    pub fn new(
        store: &Store,
        definition: Arc<TableDefinition>,
        ordinals: Vec<usize>,
        origins: Vec<ColumnOrigin>,
    ) -> Result<Arc<Self>, StoreError> {
        let indexes = open_indexes(store, &definition, ordinals.iter().copied())?;
        let clustered = definition.clustered.map(|index| &definition.indexes[index].parts);
        let parts = ordinals.iter().map(|&index| &definition.indexes[index].parts).chain(clustered);
        let mut columns: Vec<usize> = parts.flatten().map(|part| part.column).collect();
        columns.sort_unstable();
        columns.dedup();
        let origin = |&column: &usize| match origins[column] {
            ColumnOrigin::Column(ordinal) => Some(ordinal),
            ColumnOrigin::Fill(_) => None,
        };
        let mut held: Vec<usize> = columns.iter().filter_map(origin).collect();
        held.sort_unstable();
        Ok(Arc::new(Self { definition, ordinals, indexes, columns, origins, held }))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.indexes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }

    /// Ordinals, in the table as it is, of the columns that entries are made of.
    pub(crate) fn held(&self) -> &[usize] {
        &self.held
    }

    /// Gives `each` the key of every index for a row of the table as it is.
    pub(crate) fn keys_before(&self, cells: &dyn RowCells, locator: &[u8], mut each: impl FnMut(&[u8])) {
        let mut entry = EntryBytes::default();
        for index in &self.indexes {
            let cell = |ordinal: usize| match &self.origins[ordinal] {
                ColumnOrigin::Column(ordinal) => cells.cell(*ordinal),
                ColumnOrigin::Fill(value) => value.cell(0),
            };
            entry.write(index, cell, locator, &Utc);
            each(&entry.key);
        }
    }
}
