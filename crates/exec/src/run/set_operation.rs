//! EXCEPT and INTERSECT: the right side is counted by key, the left side asks. Without a left row no right one is read, as in MySQL: what would
//! fail there does not.
//!
//! Above the limit the table of keys is full: the right side's other keys go to disk by hash, and so do the left side's rows
//! whose key is not in the table; then the parts are worked off in pairs.

use std::sync::Arc;

use plan::physical::{Node, SetOp};
use types::vector::BytesColumn;
use types::{Batch, Column, Physical};

use super::partition::Partitions;
use super::row_keys::{Found, RowTable};
use super::{Operator, RowKeys, Source};
use crate::context::ExecContext;
use crate::expr::SqlResult;
use crate::spill::{LIMIT_BYTES_MAX, SpillReader, SpillRows};
use crate::status_counts::StatusKind;

pub(super) struct SetOperation<'p> {
    left: Source<'p>,
    right: Source<'p>,
    state: Asked,
    counted: bool,
    /// The left batch has been read, and not yet asked.
    is_first_waiting: bool,
    /// The left input has ended; rows come from the parts on disk.
    left_ended: bool,
    work: Vec<Work>,
    reader: Option<SpillReader>,
    spilled: Batch,
    spilled_keys: BytesColumn,
}

/// A part of both sides.
struct Work {
    right: Option<Arc<SpillRows>>,
    left: Arc<SpillRows>,
    level: u32,
}

/// What is known of keys, and what has to wait on disk.
struct Asked {
    op: SetOp,
    all: bool,
    shapes: Arc<[Physical]>,
    no_shapes: Arc<[Physical]>,
    keys: RowKeys,
    table: RowTable,
    /// Rows of the right side left to be matched, and whether the key was given.
    states: Vec<(u64, bool)>,
    level: u32,
    right: Option<Partitions>,
    left: Option<Partitions>,
}

impl Asked {
    fn reset(&mut self, level: u32) {
        self.table.clear();
        self.states = Vec::new();
        self.level = level;
        self.right = None;
        self.left = None;
    }

    /// Bytes that the table may have.
    fn table_bytes_max(&self, limit: usize) -> usize {
        limit.min(LIMIT_BYTES_MAX).saturating_sub(self.states.capacity() * size_of::<(u64, bool)>())
    }

    /// A row of the right side.
    fn count(&mut self, key: &[u8], limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let hash = self.table.hash(key);
        let bytes_max = self.right.is_none().then(|| self.table_bytes_max(limit));
        match self.table.find_or_insert(hash, key, bytes_max, &self.keys, ctx)? {
            Found::Known(number) => {
                self.states[number as usize].0 += 1;
                return Ok(());
            }
            Found::New(_) => {
                self.states.push((1, false));
                return Ok(());
            }
            Found::Absent => {}
        }
        if self.right.is_none() {
            ctx.count_disk_table(self.level);
            self.right = Some(Partitions::new(&self.no_shapes, self.level, limit, ctx)?);
        }
        match &mut self.right {
            Some(right) => right.push(hash, key, std::iter::empty()),
            None => Ok(()),
        }
    }

    /// A row of the left side: is it given now? If that cannot be told yet it goes to disk.
    fn probe(
        &mut self,
        key: &[u8],
        (columns, row): (&[Column], usize),
        limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<bool> {
        let hash = self.table.hash(key);
        // Each different row once: the table has to remember it.
        let remembers =
            self.op != SetOp::Intersect && !self.all && self.right.is_none() && self.left.is_none();
        let bytes_max = remembers.then(|| self.table_bytes_max(limit));
        let found = self.table.find_or_insert(hash, key, bytes_max, &self.keys, ctx)?;
        if let Found::Known(number) = found {
            let (count, given) = &mut self.states[number as usize];
            let found = *count > 0;
            if self.all {
                *count -= u64::from(found);
                return Ok(found == (self.op == SetOp::Intersect));
            }
            let wanted = found == (self.op == SetOp::Intersect);
            return Ok(wanted && !std::mem::replace(given, true));
        }
        if self.right.is_none() {
            match (self.op, self.all) {
                (SetOp::Intersect, _) => return Ok(false),
                (_, true) => return Ok(true),
                (_, false) if found != Found::Absent => {
                    self.states.push((0, true));
                    return Ok(true);
                }
                _ => {}
            }
        }
        if self.left.is_none() {
            ctx.count_disk_table(self.level);
            self.left = Some(Partitions::new(&self.shapes, self.level, limit, ctx)?);
        }
        if let Some(left) = &mut self.left {
            left.push(hash, key, columns.iter().map(|column| column.cell(row)))?;
        }
        Ok(false)
    }

    /// Both sides of this level have ended: the parts that are left to do.
    fn parts(&mut self) -> SqlResult<Vec<Work>> {
        let Some(left) = self.left.take() else { return Ok(Vec::new()) };
        let level = self.level + 1;
        let mut rights = match self.right.take() {
            Some(right) => right.finish()?,
            None => Vec::new(),
        }
        .into_iter();
        let work = left.finish()?.into_iter().map(|left| Work { right: rights.next(), left, level });
        Ok(work.filter(|work| work.left.row_count() > 0).collect())
    }
}

impl<'p> SetOperation<'p> {
    pub(super) fn new(
        op: SetOp,
        all: bool,
        left: Source<'p>,
        right: Source<'p>,
        keys: RowKeys,
        node: &Node,
    ) -> SetOperation<'p> {
        let shapes: Arc<[Physical]> = node.shapes().into();
        let spilled = Batch::new(shapes.iter().copied());
        SetOperation {
            left,
            right,
            state: Asked {
                op,
                all,
                shapes,
                no_shapes: Arc::new([]),
                table: RowTable::new(&keys),
                keys,
                states: Vec::new(),
                level: 0,
                right: None,
                left: None,
            },
            counted: false,
            is_first_waiting: false,
            left_ended: false,
            work: Vec::new(),
            reader: None,
            spilled,
            spilled_keys: BytesColumn::new(),
        }
    }

    fn count_right(&mut self, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let mut key = Vec::new();
        self.right.start(ctx)?;
        while self.right.next(ctx)? {
            for row in 0..self.right.batch.row_count {
                key.clear();
                self.state.keys.append(&[], &self.right.batch.columns, row, ctx, &mut key)?;
                self.state.count(&key, limit, ctx)?;
            }
            ctx.check()?;
        }
        Ok(())
    }

    /// The next part: its right side is counted, its left side about to ask. False if there is none.
    fn next_part(&mut self, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        let parts = self.state.parts()?;
        self.work.extend(parts);
        let Some(work) = self.work.pop() else { return Ok(false) };
        self.state.reset(work.level);
        if let Some(right) = work.right {
            let mut reader = right.reader()?;
            let mut rows = 0u64;
            while let Some(key) = reader.key() {
                self.state.count(key, limit, ctx)?;
                reader.take(&mut [])?;
                rows += 1;
                if rows.is_multiple_of(4096) {
                    ctx.check()?;
                }
            }
        }
        self.reader = Some(work.left.reader()?);
        Ok(true)
    }
}

impl Operator for SetOperation<'_> {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.state.reset(0);
        self.counted = false;
        self.is_first_waiting = false;
        self.left_ended = false;
        self.work.clear();
        self.reader = None;
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        let limit = ctx.limits.temporary_bytes;
        if !std::mem::replace(&mut self.counted, true) {
            self.left.start(ctx)?;
            self.is_first_waiting = self.left.next(ctx)?;
            if self.is_first_waiting {
                self.count_right(limit, ctx)?;
            } else {
                self.left_ended = true;
            }
            ctx.status.add(StatusKind::TmpTables, 1);
            ctx.status.add(StatusKind::ReadRndNext, 1);
        }
        let mut key = Vec::new();
        let mut rows = Vec::new();
        while !self.left_ended {
            if !std::mem::replace(&mut self.is_first_waiting, false) && !self.left.next(ctx)? {
                self.left_ended = true;
                break;
            }
            ctx.status.add(StatusKind::Write, self.left.batch.row_count as u64);
            ctx.status.add(StatusKind::ReadRndNext, self.left.batch.row_count as u64);
            let columns: &[Column] = &self.left.batch.columns;
            rows.clear();
            for row in 0..self.left.batch.row_count {
                key.clear();
                self.state.keys.append(&[], columns, row, ctx, &mut key)?;
                if self.state.probe(&key, (columns, row), limit, ctx)? {
                    rows.push(row as u32);
                }
            }
            if !rows.is_empty() {
                out.gather_from(&self.left.batch, &rows);
                return Ok(true);
            }
            ctx.check()?;
        }
        loop {
            self.spilled.clear();
            self.spilled_keys.clear();
            let more = match &mut self.reader {
                Some(reader) => reader.next_batch(&mut self.spilled, &mut self.spilled_keys)?,
                None => false,
            };
            if !more {
                self.reader = None;
                if !self.next_part(limit, ctx)? {
                    return Ok(false);
                }
                continue;
            }
            rows.clear();
            for (row, key) in self.spilled_keys.iter().enumerate() {
                if self.state.probe(key, (&self.spilled.columns, row), limit, ctx)? {
                    rows.push(row as u32);
                }
            }
            if !rows.is_empty() {
                out.gather_from(&self.spilled, &rows);
                return Ok(true);
            }
            ctx.check()?;
        }
    }
}
