//! Materializing rows to be read again: all of them ([`MaterializedRows`]), or the distinct ones ([`DistinctKeys`]).

use std::sync::Arc;

use types::vector::{BytesColumn, Cell};
use types::{Batch, Physical};

use super::partition::Partitions;
use super::row_keys::{Found, RowTable};
use super::{RowKeys, Source};
use crate::context::{ExecContext, MaterializedRows};
use crate::expr::SqlResult;
use crate::spill::{LIMIT_BYTES_MAX, SpillReader, SpillRows};

impl MaterializedRows {
    /// Everything that `source` gives, from its start on. `limit`: bytes of memory.
    pub(crate) fn all(
        source: &mut Source<'_>,
        limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<MaterializedRows> {
        let mut rows = MaterializedRows::default();
        source.start(ctx)?;
        while source.next(ctx)? {
            rows.push(&source.batch, limit, ctx)?;
            ctx.check()?;
        }
        rows.finish()?;
        Ok(rows)
    }

    /// The first row that `source` gives, if it gives one; the rows behind it are not computed.
    pub(crate) fn first(
        source: &mut Source<'_>,
        limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<MaterializedRows> {
        let mut rows = MaterializedRows::default();
        source.start(ctx)?;
        source.limit_rows(1);
        if source.next(ctx)? {
            rows.push(&source.batch, limit, ctx)?;
        }
        rows.finish()?;
        Ok(rows)
    }
}

/// The set of keys seen so far. Above the memory limit rows whose keys are not in the table are spilled, and looked at
/// when the input has ended.
pub(crate) struct DistinctKeys {
    table: RowTable,
    shapes: Arc<[Physical]>,
    level: u32,
    spilled: Option<Partitions>,
    work: Vec<(Arc<SpillRows>, u32)>,
    reader: Option<SpillReader>,
}

impl DistinctKeys {
    /// For rows of these shapes.
    pub(crate) fn new(shapes: impl IntoIterator<Item = Physical>, keys: &RowKeys) -> DistinctKeys {
        DistinctKeys {
            table: RowTable::new(keys),
            shapes: shapes.into_iter().collect(),
            level: 0,
            spilled: None,
            work: Vec::new(),
            reader: None,
        }
    }

    /// Bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// Shapes of the rows.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = Physical> {
        self.shapes.iter().copied()
    }

    /// Nothing seen.
    pub(crate) fn reset(&mut self) {
        self.table.clear();
        self.level = 0;
        self.spilled = None;
        self.work.clear();
        self.reader = None;
    }

    /// Whether the key, made by `keys`, is new. False too for a spilled row: it comes again from [`DistinctKeys::next_spilled`].
    #[inline]
    pub(crate) fn is_new<'c>(
        &mut self,
        key: &[u8],
        cells: impl Iterator<Item = Cell<'c>>,
        keys: &RowKeys,
        limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<bool> {
        let hash = self.table.hash(key);
        let limit = limit.min(LIMIT_BYTES_MAX);
        let bytes_max = self.spilled.is_none().then_some(limit);
        match self.table.find_or_insert(hash, key, bytes_max, keys, ctx)? {
            Found::Known(_) => return Ok(false),
            Found::New(_) => return Ok(true),
            Found::Absent => {}
        }
        if self.spilled.is_none() {
            ctx.count_disk_table(self.level);
            self.spilled = Some(Partitions::new(&self.shapes, self.level, limit, ctx)?);
        }
        if let Some(spilled) = &mut self.spilled {
            spilled.push(hash, key, cells)?;
        }
        Ok(false)
    }

    /// The input, or what was spilled before, has ended: spilled rows, each to be asked for again with its key.
    pub(crate) fn next_spilled(&mut self, out: &mut Batch, keys: &mut BytesColumn) -> SqlResult<bool> {
        loop {
            if let Some(reader) = &mut self.reader
                && reader.next_batch(out, keys)?
            {
                return Ok(true);
            }
            self.reader = None;
            if let Some(spilled) = self.spilled.take() {
                let level = spilled.level() + 1;
                let parts = spilled.finish()?.into_iter().filter(|part| part.row_count() > 0);
                self.work.extend(parts.map(|part| (part, level)));
            }
            let Some((rows, level)) = self.work.pop() else { return Ok(false) };
            self.table.clear();
            self.level = level;
            self.reader = Some(rows.reader()?);
        }
    }
}
