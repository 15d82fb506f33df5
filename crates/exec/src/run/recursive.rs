//! Recursive CTEs: step by step, each step reading the rows of the one before.
//!
//! The rows of a step are materialized ([`MaterializedRows`]) and shared with the operators of the next step. UNION DISTINCT remembers the keys
//! of all steps; above the limit new keys go to disk in parts by their hash. A step's rows with unknown keys are then parted
//! the same way, and each part of them is compared with that part of the keys, as many rows at a time as fit.

use std::sync::Arc;

use types::vector::BytesColumn;
use types::{Batch, DataType, Physical};

use super::partition::{FAN_OUT, KeyTable, Partitions};
use super::{Operator, Source};
use crate::context::{ExecContext, MaterializedCursor, MaterializedRows};
use crate::error::coded;
use crate::expr::SqlResult;
use crate::key::append_row_key;
use crate::row_buffer::RowBuffer;
use crate::spill::{LIMIT_BYTES_MAX, SpillRows, SpillWriter, block_bytes};
use crate::status_counts::StatusKind;

/// The rows of the last step of a recursive CTE.
pub(super) struct WorkingTable {
    recursion: usize,
    rows: Arc<MaterializedRows>,
    cursor: MaterializedCursor,
}

impl WorkingTable {
    pub(super) fn new(recursion: usize) -> WorkingTable {
        WorkingTable { recursion, rows: Arc::default(), cursor: MaterializedCursor::default() }
    }
}

impl Operator for WorkingTable {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.rows = Arc::clone(&ctx.working[self.recursion]);
        self.cursor = MaterializedCursor::default();
        Ok(())
    }

    fn next(&mut self, _ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        let Some(batch) = self.cursor.next(&self.rows)? else { return Ok(false) };
        out.extend_from(batch);
        Ok(true)
    }
}

/// Keys of all rows that a recursive CTE with UNION DISTINCT has emitted.
struct EmittedKeys {
    types: Vec<DataType>,
    shapes: Arc<[Physical]>,
    no_shapes: Arc<[Physical]>,
    table: KeyTable,
    /// Keys that are not in the table, by part.
    disk: Vec<Vec<Arc<SpillRows>>>,
    /// Rows of this step whose keys are not in the table.
    unknown: Option<Partitions>,
}

impl EmittedKeys {
    fn new(types: Vec<DataType>) -> EmittedKeys {
        EmittedKeys {
            shapes: types.iter().map(DataType::physical).collect(),
            types,
            no_shapes: Arc::new([]),
            table: KeyTable::default(),
            disk: Vec::new(),
            unknown: None,
        }
    }

    fn reset(&mut self) {
        self.table.clear();
        self.disk.clear();
        self.unknown = None;
    }

    /// Rows of `batch` that are new for sure; those that are not known yet wait for the end of the step.
    fn fresh(&mut self, batch: &Batch, rows: &mut Vec<u32>, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let limit = ctx.limits.temporary_bytes.min(LIMIT_BYTES_MAX);
        let mut key = Vec::new();
        rows.clear();
        for row in 0..batch.row_count {
            key.clear();
            append_row_key(&batch.columns, &self.types, row, &mut key);
            let hash = self.table.hash(&key);
            if self.table.find(hash, &key).is_some() {
                continue;
            }
            let is_full = self.unknown.is_some() || !self.disk.is_empty();
            if !is_full && self.table.bytes() < limit {
                self.table.insert(hash, &key);
                rows.push(row as u32);
                continue;
            }
            if self.unknown.is_none() {
                if self.disk.is_empty() {
                    ctx.count_disk_table(0);
                    self.disk.resize_with(FAN_OUT, Vec::new);
                }
                self.unknown = Some(Partitions::new(&self.shapes, 0, limit, ctx)?);
            }
            if let Some(unknown) = &mut self.unknown {
                unknown.push(hash, &key, batch.columns.iter().map(|column| column.cell(row)))?;
            }
        }
        Ok(())
    }

    /// The end of a step: the new ones among the rows that were not known go to `made`.
    fn emit_unknown(&mut self, made: &mut MaterializedRows, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let Some(unknown) = self.unknown.take() else { return Ok(()) };
        let limit = ctx.limits.temporary_bytes.min(LIMIT_BYTES_MAX);
        let file = ctx.spill_file()?;
        let mut batch = Batch::new(self.shapes.iter().copied());
        let mut keys = BytesColumn::new();
        for (part, rows) in unknown.finish()?.into_iter().enumerate() {
            let mut reader = rows.reader()?;
            while reader.key().is_some() {
                // As many different rows as fit.
                let mut table = KeyTable::default();
                let mut kept = RowBuffer::default();
                while reader.key().is_some() && (table.len() == 0 || table.bytes() + kept.bytes() < limit) {
                    batch.clear();
                    keys.clear();
                    reader.next_batch(&mut batch, &mut keys)?;
                    let mut chosen = Vec::new();
                    for (row, key) in keys.iter().enumerate() {
                        let hash = table.hash(key);
                        if table.find(hash, key).is_none() {
                            table.insert(hash, key);
                            chosen.push(row as u32);
                        }
                    }
                    super::scan::keep_rows(&mut batch, &chosen);
                    kept.push(&batch);
                    ctx.check()?;
                }
                let mut old = vec![false; table.len()];
                for keys in &self.disk[part] {
                    let mut emitted = keys.reader()?;
                    while let Some(key) = emitted.key() {
                        if let Some(number) = table.find(table.hash(key), key) {
                            old[number as usize] = true;
                        }
                        emitted.take(&mut [])?;
                    }
                    ctx.check()?;
                }
                let mut writer = SpillWriter::new(&file, &self.no_shapes, block_bytes(limit));
                batch.clear();
                for number in (0..table.len()).filter(|&number| !old[number]) {
                    writer.push(table.keys().get(number), std::iter::empty())?;
                    kept.append_row(number as u32, &mut batch.columns);
                    batch.row_count += 1;
                    if batch.is_full() {
                        made.push(&batch, limit, ctx)?;
                        batch.clear();
                    }
                }
                if batch.row_count > 0 {
                    made.push(&batch, limit, ctx)?;
                }
                if writer.row_count() > 0 {
                    self.disk[part].push(Arc::new(writer.finish()?));
                }
            }
        }
        Ok(())
    }
}

/// A recursive CTE: the rows of a step are made at once and handed out before the next step.
pub(super) struct Recursive<'p> {
    recursion: usize,
    seed: Source<'p>,
    step: Source<'p>,
    distinct: Option<EmittedKeys>,
    /// The rows handed out now, and how far.
    pending: Arc<MaterializedRows>,
    cursor: MaterializedCursor,
    steps: u64,
    seeded: bool,
}

impl<'p> Recursive<'p> {
    pub(super) fn new(
        recursion: usize,
        seed: Source<'p>,
        step: Source<'p>,
        distinct: Option<Vec<DataType>>,
    ) -> Recursive<'p> {
        Recursive {
            recursion,
            seed,
            step,
            distinct: distinct.map(EmittedKeys::new),
            pending: Arc::default(),
            cursor: MaterializedCursor::default(),
            steps: 0,
            seeded: false,
        }
    }

    /// All rows of the seed or of a step that count.
    fn make(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<MaterializedRows> {
        let limit = ctx.limits.temporary_bytes;
        let source = if self.seeded { &mut self.step } else { &mut self.seed };
        let mut made = MaterializedRows::default();
        let mut rows = Vec::new();
        if self.seeded {
            source.start(ctx)?;
        }
        while source.next(ctx)? {
            if let Some(emitted) = &mut self.distinct {
                emitted.fresh(&source.batch, &mut rows, ctx)?;
                if rows.len() < source.batch.row_count {
                    super::scan::keep_rows(&mut source.batch, &rows);
                }
            }
            let rows = source.batch.row_count as u64;
            ctx.status.add(StatusKind::Write, rows);
            // Each row is read by the next step and as one of the result.
            ctx.status.add(StatusKind::ReadRndNext, 2 * rows);
            if source.batch.row_count > 0 {
                made.push(&source.batch, limit, ctx)?;
            }
            ctx.check()?;
        }
        if let Some(emitted) = &mut self.distinct {
            emitted.emit_unknown(&mut made, ctx)?;
        }
        made.finish()?;
        Ok(made)
    }
}

impl Operator for Recursive<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.pending = Arc::default();
        self.cursor = MaterializedCursor::default();
        self.steps = 0;
        self.seeded = false;
        if let Some(emitted) = &mut self.distinct {
            emitted.reset();
        }
        ctx.working[self.recursion] = Arc::default();
        ctx.status.add(StatusKind::TmpTables, 1);
        ctx.status.add(StatusKind::ReadRndNext, 1);
        self.seed.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        loop {
            if let Some(batch) = self.cursor.next(&self.pending)? {
                out.extend_from(batch);
                return Ok(true);
            }
            if self.seeded {
                if self.pending.is_empty() {
                    return Ok(false);
                }
                self.steps += 1;
                if self.steps > ctx.limits.recursion_depth_max {
                    return Err(coded(
                        3636,
                        &format!(
                            "Recursive query aborted after {} iterations. Try increasing \
                             @@cte_max_recursion_depth to a larger value.",
                            self.steps
                        ),
                    ));
                }
            }
            let made = Arc::new(self.make(ctx)?);
            self.seeded = true;
            self.pending = Arc::clone(&made);
            self.cursor = MaterializedCursor::default();
            ctx.working[self.recursion] = made;
        }
    }
}
