//! Rows buffered in memory and known by number: the build side of joins, rows to be sorted. The operator that owns a buffer watches its
//! bytes.

use types::vector::{Batch, ColumnData, batch_rows_max};
use types::{Column, Physical};

/// Rows in batches of at most 1,024; a row is known by its number.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    pub(crate) batches: Vec<Batch>,
    rows: usize,
    bytes: usize,
    longest_row: usize,
}

impl RowBuffer {
    /// Appends the rows of `batch`.
    pub(crate) fn push(&mut self, batch: &Batch) {
        let mut start = 0;
        self.bytes -= self.batches.last().map_or(0, Batch::memory_bytes);
        self.longest_row = self.longest_row.max(batch.longest_row());
        while start < batch.row_count {
            let shapes = || batch.columns.iter().map(Column::physical);
            if self.batches.last().is_none_or(|last| last.row_count >= batch_rows_max()) {
                self.bytes += self.batches.last().map_or(0, Batch::memory_bytes);
                self.batches.push(Batch::new(shapes()));
            }
            let Some(last) = self.batches.last_mut() else { break };
            let count = (batch_rows_max() - last.row_count).min(batch.row_count - start);
            if start == 0 && count == batch.row_count {
                last.extend_from(batch);
            } else {
                let rows: Vec<u32> = (start as u32..(start + count) as u32).collect();
                last.gather_from(batch, &rows);
            }
            start += count;
            self.rows += count;
        }
        self.bytes += self.batches.last().map_or(0, Batch::memory_bytes);
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Bytes of memory the rows take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// No row's strings have more bytes together.
    pub(crate) fn longest_row(&self) -> usize {
        self.longest_row
    }

    pub(crate) fn clear(&mut self) {
        self.batches.clear();
        self.rows = 0;
        self.bytes = 0;
        self.longest_row = 0;
    }

    /// The batch and the row in it of row `number`.
    pub(crate) fn at(&self, number: u32) -> (&Batch, usize) {
        let number = number as usize;
        (&self.batches[number / batch_rows_max()], number % batch_rows_max())
    }

    /// Appends rows to `columns`, one column after the other.
    pub(crate) fn append_rows(&self, numbers: &[u32], columns: &mut [Column]) {
        let max = batch_rows_max();
        let places = || numbers.iter().map(|&number| (number as usize / max, number as usize % max));
        for (at, target) in columns.iter_mut().enumerate() {
            let any_null = || places().any(|(batch, row)| self.batches[batch].columns[at].is_null(row));
            match &mut target.data {
                ColumnData::Int(to) if !any_null() => {
                    to.extend(places().map(|(batch, row)| self.batches[batch].columns[at].ints()[row]));
                    target.nulls.extend(numbers.len(), false);
                }
                ColumnData::Decimal(to) if !any_null() => {
                    to.extend(places().map(|(batch, row)| self.batches[batch].columns[at].decimals()[row]));
                    target.nulls.extend(numbers.len(), false);
                }
                _ => places().for_each(|(batch, row)| {
                    target.push_cell(self.batches[batch].columns[at].cell(row));
                }),
            }
        }
    }

    /// Appends row `number` to `columns`.
    pub(crate) fn append_row(&self, number: u32, columns: &mut [Column]) {
        let (batch, row) = self.at(number);
        for (source, target) in batch.columns.iter().zip(columns) {
            target.push_cell(source.cell(row));
        }
    }
}

/// Appends rows `rows` of `source`'s columns to the columns of `out` from position `at` on.
pub(crate) fn gather(source: &Batch, rows: &[u32], out: &mut Batch, at: usize) {
    for (column, target) in source.columns.iter().zip(&mut out.columns[at..]) {
        target.gather_from(column, rows);
    }
}

/// Empty columns of these shapes.
pub(crate) fn columns(shapes: impl IntoIterator<Item = Physical>) -> Vec<Column> {
    shapes.into_iter().map(Column::new).collect()
}
