//! Rows put by to be read again: all of them ([`Keep`]), or each different one once ([`Unseen`]).

use std::sync::Arc;

use types::vector::{BytesColumn, Cell};
use types::{Batch, Physical};

use super::partition::Partitions;
use super::row_keys::{Found, RowTable};
use super::{RowKeys, Source};
use crate::context::{ExecContext, Keep};
use crate::expr::SqlResult;
use crate::spill::{LIMIT_BYTES_MAX, SpillReader, SpillRows};

impl Keep {
    /// Everything that `source` gives, from its start on. `limit`: bytes of memory.
    pub(crate) fn all(source: &mut Source<'_>, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<Keep> {
        let mut keep = Keep::default();
        source.start(ctx)?;
        while source.next(ctx)? {
            keep.push(&source.batch, limit, ctx)?;
            ctx.check()?;
        }
        keep.finish()?;
        Ok(keep)
    }
}

/// Tells rows with new keys from those seen before. Above the limit rows with unknown keys are put aside on disk and told
/// apart when the input has ended.
pub(crate) struct Unseen {
    table: RowTable,
    shapes: Arc<[Physical]>,
    level: u32,
    aside: Option<Partitions>,
    work: Vec<(Arc<SpillRows>, u32)>,
    reader: Option<SpillReader>,
}

impl Unseen {
    /// For rows of these shapes.
    pub(crate) fn new(shapes: impl IntoIterator<Item = Physical>, keys: &RowKeys) -> Unseen {
        Unseen {
            table: RowTable::new(keys),
            shapes: shapes.into_iter().collect(),
            level: 0,
            aside: None,
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
        self.aside = None;
        self.work.clear();
        self.reader = None;
    }

    /// Whether the key, made by `keys`, is new. False too for a row that was put aside: it comes again from [`Unseen::next_aside`].
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
        let bytes_max = self.aside.is_none().then_some(limit);
        match self.table.look(hash, key, bytes_max, keys, ctx)? {
            Found::Known(_) => return Ok(false),
            Found::New(_) => return Ok(true),
            Found::Absent => {}
        }
        if self.aside.is_none() {
            ctx.count_disk_table(self.level);
            self.aside = Some(Partitions::new(&self.shapes, self.level, limit, ctx)?);
        }
        if let Some(aside) = &mut self.aside {
            aside.push(hash, key, cells)?;
        }
        Ok(false)
    }

    /// The input, or what was put aside before, has ended: rows put aside, each to be asked for again with its key.
    pub(crate) fn next_aside(&mut self, out: &mut Batch, keys: &mut BytesColumn) -> SqlResult<bool> {
        loop {
            if let Some(reader) = &mut self.reader
                && reader.next_batch(out, keys)?
            {
                return Ok(true);
            }
            self.reader = None;
            if let Some(aside) = self.aside.take() {
                let level = aside.level() + 1;
                let parts = aside.finish()?.into_iter().filter(|part| part.row_count() > 0);
                self.work.extend(parts.map(|part| (part, level)));
            }
            let Some((rows, level)) = self.work.pop() else { return Ok(false) };
            self.table.clear();
            self.level = level;
            self.reader = Some(rows.reader()?);
        }
    }
}
