//! Materialized rows, in memory and on disk.

use std::sync::Arc;

use types::vector::BytesColumn;
use types::{Batch, Column, Physical};

use super::ExecContext;
use crate::expr::SqlResult;
use crate::row_buffer::RowBuffer;
use crate::spill::{LIMIT_BYTES_MAX, SpillReader, SpillRows, SpillWriter, block_bytes};

/// Rows in the order they came: in memory up to a limit, the later ones on disk. They can be read any number of times.
#[derive(Default)]
pub(crate) struct MaterializedRows {
    memory: RowBuffer,
    writer: Option<SpillWriter>,
    disk: Option<Arc<SpillRows>>,
}

impl MaterializedRows {
    /// Appends the rows of `batch`.
    pub(crate) fn push(&mut self, batch: &Batch, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        if self.writer.is_none() {
            let limit = limit.min(LIMIT_BYTES_MAX);
            if self.memory.len() == 0 || self.memory.bytes() < limit {
                self.memory.push(batch);
                return Ok(());
            }
            let shapes: Arc<[Physical]> = batch.columns.iter().map(Column::physical).collect();
            ctx.count_disk_table(0);
            self.writer = Some(SpillWriter::new(&ctx.spill_file()?, &shapes, block_bytes(limit)));
        }
        if let Some(writer) = &mut self.writer {
            for row in 0..batch.row_count {
                writer.push_row(&[], &batch.columns, row)?;
            }
        }
        Ok(())
    }

    /// No more rows come.
    pub(crate) fn finish(&mut self) -> SqlResult<()> {
        if let Some(writer) = self.writer.take() {
            self.disk = Some(Arc::new(writer.finish()?));
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.memory.len() == 0
    }
}

/// A cursor over [`MaterializedRows`].
#[derive(Default)]
pub(crate) struct MaterializedCursor {
    next: usize,
    reader: Option<SpillReader>,
    batch: Batch,
    keys: BytesColumn,
}

impl MaterializedCursor {
    /// The next rows of `materialized`, the same at each call.
    pub(crate) fn next<'a>(&'a mut self, materialized: &'a MaterializedRows) -> SqlResult<Option<&'a Batch>> {
        if let Some(batch) = materialized.memory.batches.get(self.next) {
            self.next += 1;
            return Ok(Some(batch));
        }
        let Some(disk) = &materialized.disk else { return Ok(None) };
        if self.reader.is_none() {
            self.reader = Some(disk.reader()?);
            self.batch = Batch::new(disk.shapes());
        }
        let Some(reader) = &mut self.reader else { return Ok(None) };
        self.batch.clear();
        self.keys.clear();
        let more = reader.next_batch(&mut self.batch, &mut self.keys)?;
        Ok(more.then_some(&self.batch))
    }
}
