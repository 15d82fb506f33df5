//! Joins: what all have in common, and lookup in an index.
//!
//! All three work alike: candidates are pairs (left row, right row); further conditions are checked on batches of
//! pairs; then the kind decides what is given: the pairs, the left rows with NULLs, or the left rows alone.

use std::sync::Arc;

use access::{Columns, KeyForm, LockMode, PointKeys, ScanRequest};
use plan::Expr;
use plan::logical::JoinKind;
use plan::physical::{Node, PhysicalPlan, Scan};
use types::planted::{self, Plant};
use types::vector::{BATCH_BYTES_TARGET, BytesColumn, ColumnData, batch_rows_max};
use types::{Batch, Column, Physical};

use super::pad::{pad_columns, pads};
use super::parts::Parts;
use super::scan::{Ranges, check_visible, keep_rows, lock_now, lock_of};
use super::{BoxOperator, Operator, Source};
use crate::context::ExecContext;
use crate::error::{access_error, row_error};
use crate::expr::{Program, Scratch, SqlResult};
use crate::programs::Programs;
use crate::row_buffer::gather;
use crate::status_counts::StatusKind;
use crate::stored_table::{StoredTable, stored_table};

/// Most bytes that the pairs made at a time may take: with rows of 64 KiB and less always whole batches.
const PAIR_BYTES_MAX: usize = 128 << 20;

/// Conditions on pairs of rows.
pub(super) struct PairFilter {
    program: Option<Arc<Program>>,
    pub(super) scratch: Scratch,
    selected: Vec<u32>,
}

impl PairFilter {
    pub(super) fn new(conditions: &[Expr], programs: &mut Programs<'_>) -> SqlResult<PairFilter> {
        let program = if conditions.is_empty() { None } else { Some(programs.take(conditions)?) };
        let scratch = program.as_ref().map(|program| program.scratch()).unwrap_or_default();
        Ok(PairFilter { program, scratch, selected: Vec::new() })
    }

    pub(super) fn has_conditions(&self) -> bool {
        self.program.is_some()
    }

    /// The pairs that meet the conditions.
    fn select(&mut self, pairs: &Batch, ctx: &mut ExecContext<'_>) -> SqlResult<&[u32]> {
        match &self.program {
            Some(program) => program.filter(&mut self.scratch, pairs, &mut ctx.eval, &mut self.selected)?,
            None => {
                self.selected.clear();
                self.selected.extend(0..pairs.row_count as u32);
            }
        }
        Ok(&self.selected)
    }
}

/// Pairs of a join's left batch with right rows, and what becomes of them.
pub(super) struct Pairs {
    pub(super) kind: JoinKind,
    pub(super) filter: PairFilter,
    left_width: usize,
    right_shapes: Vec<Physical>,
    /// Left row of each candidate.
    pub(super) left_rows: Vec<u32>,
    /// Left rows that have had a partner.
    pub(super) matched: Vec<bool>,
    /// Left rows of the pairs that were given last.
    given: Vec<u32>,
    /// Left rows before this one have been given with NULLs where they had no partner.
    padded: usize,
}

impl Pairs {
    pub(super) fn new(kind: JoinKind, filter: PairFilter, left: &[Physical], right: Vec<Physical>) -> Pairs {
        Pairs {
            kind,
            filter,
            left_width: left.len(),
            right_shapes: right,
            left_rows: Vec::new(),
            matched: Vec::new(),
            given: Vec::new(),
            padded: 0,
        }
    }

    /// How many pairs of rows of `left` with right rows of at most `right_longest` bytes may be made at a time.
    pub(super) fn count_max(left: &Batch, right_longest: usize) -> usize {
        (PAIR_BYTES_MAX / (left.longest_row() + right_longest + 1)).clamp(1, batch_rows_max())
    }

    /// A new left batch begins.
    pub(super) fn begin(&mut self, rows: usize) {
        self.matched.clear();
        self.matched.resize(rows, false);
        self.given.clear();
        self.padded = 0;
    }

    pub(super) fn emits_pairs(&self) -> bool {
        matches!(self.kind, JoinKind::Inner | JoinKind::Straight | JoinKind::Left)
    }

    /// Whether a left row without a partner gives nothing.
    pub(super) fn needs_partner(&self) -> bool {
        matches!(self.kind, JoinKind::Inner | JoinKind::Straight | JoinKind::Semi)
    }

    /// The candidates `left_rows[i]` with row `i` of `right`: pairs that meet the conditions go to `out`.
    pub(super) fn check(
        &mut self,
        left: &Batch,
        right: &mut [Column],
        ctx: &mut ExecContext<'_>,
        out: &mut Batch,
    ) -> SqlResult<()> {
        if self.left_rows.is_empty() {
            return Ok(());
        }
        if planted::is(Plant::ForgetPartner) {
            self.matched.fill(false);
        }
        // Without conditions and without pairs to give, knowing that there is a partner is all.
        if self.filter.program.is_none() && !self.emits_pairs() {
            for &row in &self.left_rows {
                self.matched[row as usize] = true;
            }
            self.left_rows.clear();
            return Ok(());
        }
        let mut pairs =
            Batch::new(left.columns.iter().map(Column::physical).chain(self.right_shapes.iter().copied()));
        gather(left, &self.left_rows, &mut pairs, 0);
        for (target, source) in pairs.columns[self.left_width..].iter_mut().zip(right) {
            std::mem::swap(target, source);
        }
        pairs.row_count = self.left_rows.len();
        let emits_pairs = self.emits_pairs();
        let selected = self.filter.select(&pairs, ctx)?;
        if self.kind == JoinKind::Left {
            self.given.clear();
            self.given.extend(selected.iter().map(|&row| self.left_rows[row as usize]));
        }
        for &row in selected {
            self.matched[self.left_rows[row as usize] as usize] = true;
        }
        if emits_pairs && !selected.is_empty() {
            if selected.len() == pairs.row_count && out.row_count == 0 {
                std::mem::swap(out, &mut pairs);
            } else {
                let mut chosen = Batch::new(out.columns.iter().map(Column::physical));
                chosen.gather_from(&pairs, selected);
                out.extend_from(&chosen);
            }
        }
        self.left_rows.clear();
        Ok(())
    }

    /// The partners of the left rows before `done` are all known: those of a LEFT join without one go among the pairs of `out`, in their order.
    /// What was given before in `out` are the pairs of the last [`Pairs::check`].
    pub(super) fn pad(&mut self, left: &Batch, done: usize, out: &mut Batch) {
        let given = std::mem::take(&mut self.given);
        let lonely: Vec<u32> =
            (self.padded..done).filter(|&row| !self.matched[row]).map(|row| row as u32).collect();
        self.padded = done;
        if lonely.is_empty() || planted::is(Plant::OuterRow) && self.filter.has_conditions() {
            return;
        }
        let before = out.row_count as u32;
        self.emit_left(left, &lonely, out);
        if before == 0 {
            return;
        }
        let mut order: Vec<(u32, u32)> = given.into_iter().zip(0..).collect();
        order.extend(lonely.into_iter().zip(before..));
        order.sort_unstable();
        let order: Vec<u32> = order.into_iter().map(|(_, row)| row).collect();
        let mut merged = Batch::new(out.columns.iter().map(Column::physical));
        merged.gather_from(out, &order);
        *out = merged;
    }

    /// The left batch is done: rows that its kind gives now.
    pub(super) fn finish(&mut self, left: &Batch, out: &mut Batch) {
        let wanted = match self.kind {
            JoinKind::Inner | JoinKind::Straight => return,
            JoinKind::Left if planted::is(Plant::OuterRow) && self.filter.has_conditions() => return,
            JoinKind::Semi => true,
            JoinKind::Left | JoinKind::Anti => false,
        };
        let rows: Vec<u32> = self
            .matched
            .iter()
            .enumerate()
            .filter(|(_, matched)| **matched == wanted)
            .map(|(row, _)| row as u32)
            .collect();
        if rows.is_empty() {
            return;
        }
        self.emit_left(left, &rows, out);
    }

    /// Appends left rows by themselves; those of a LEFT join have NULLs in the columns of the right side.
    fn emit_left(&self, left: &Batch, rows: &[u32], out: &mut Batch) {
        for (column, target) in left.columns.iter().zip(&mut out.columns) {
            target.gather_from(column, rows);
        }
        if self.kind == JoinKind::Left {
            for target in &mut out.columns[self.left_width..] {
                rows.iter().for_each(|_| target.push_null());
            }
        }
        out.row_count += rows.len();
    }
}

/// Rows with strings looked up at first: their size is not known yet.
const POINTS_FIRST: usize = 64;

/// Looks rows up in an index, a batch of left rows at a time. The rows come in the order of the left ones.
struct LookupJoin<'p> {
    left: Source<'p>,
    table: StoredTable<'p>,
    scan: &'p Scan,
    lock: Option<(LockMode, catalog::LockWait)>,
    parts: Parts<'p>,
    ranges: Ranges<'p>,
    filter: Option<(Scratch, Arc<Program>)>,
    pairs: Pairs,
    /// Columns read, then the locator if asked for.
    right_shapes: Vec<Physical>,
    active: bool,
    next_row: usize,
    /// The scan of the index, once there was one in this run.
    index_scan: Option<Box<dyn access::Scan>>,
    /// The left row whose index rows it is reading.
    open: Option<u32>,
    /// Keys looked up at a time; fewer where rows are large.
    points_max: usize,
}

/// Builds a lookup join.
pub(super) fn lookup<'p>(
    plan: &'p PhysicalPlan,
    node: &'p Node,
    kind: JoinKind,
    left: Source<'p>,
    scan: &'p Scan,
    conditions: &'p [Expr],
    programs: &mut Programs<'_>,
) -> SqlResult<BoxOperator<'p>> {
    let _ = node;
    let ranges = Ranges::new(scan.access.ranges.as_deref(), programs)?;
    let filter = if scan.filter.is_empty() {
        None
    } else {
        let program = programs.take(&scan.filter)?;
        Some((program.scratch(), program))
    };
    let pair_filter = PairFilter::new(conditions, programs)?;
    let table = stored_table(plan, scan.table)?;
    let mention = &plan.tables[scan.table.0 as usize];
    let mut right_shapes: Vec<Physical> =
        scan.columns.iter().map(|&ordinal| mention.column_type(ordinal).physical()).collect();
    if scan.locator {
        right_shapes.push(Physical::Bytes);
    }
    let points_max = if right_shapes.contains(&Physical::Bytes) {
        POINTS_FIRST.min(batch_rows_max())
    } else {
        batch_rows_max()
    };
    let left_shapes: Vec<Physical> = left.batch.columns.iter().map(Column::physical).collect();
    Ok(Box::new(LookupJoin {
        left,
        lock: lock_of(plan, scan.table),
        table,
        scan,
        parts: Parts::new(plan, scan.table, programs)?,
        ranges,
        filter,
        pairs: Pairs::new(kind, pair_filter, &left_shapes, right_shapes.clone()),
        right_shapes,
        active: false,
        next_row: 0,
        index_scan: None,
        open: None,
        points_max,
    }))
}

impl LookupJoin<'_> {
    /// Rows of the index for left rows from `next_row` on, until a batch of candidates is full.
    fn fill(&mut self, ctx: &mut ExecContext<'_>, right: &mut Batch) -> SqlResult<()> {
        let total = self.left.batch.row_count;
        let access = &self.scan.access;
        let lock = lock_now(self.lock, ctx);
        if access.point
            && lock.is_none()
            && !self.scan.locator
            && self.open.is_none()
            && self.fill_points(ctx, right)?
        {
            return Ok(());
        }
        let mut found = Batch::new(self.right_shapes.iter().copied());
        let mut locators = BytesColumn::default();
        let mut selected = Vec::new();
        while !right.is_full() {
            let row = match self.open.take() {
                Some(row) => row,
                None if self.next_row < total => {
                    let row = self.next_row;
                    self.next_row += 1;
                    let ranges = self.ranges.keys(&self.table, access.index, row, ctx);
                    if ranges.is_empty() {
                        continue;
                    }
                    ctx.status.add(StatusKind::ReadKey, ranges.len() as u64);
                    match &mut self.index_scan {
                        Some(scan) => scan.restart(ranges).map_err(access_error)?,
                        None => {
                            let request = ScanRequest {
                                index: access.index,
                                ranges,
                                reverse: false,
                                columns: self.scan.columns.clone(),
                                parts: self.parts.current().to_vec(),
                                equal: Vec::new(),
                                within: Vec::new(),
                                first_of: 0,
                            };
                            let scan = ctx.transaction()?.scan(&self.table.rows, request);
                            self.index_scan = Some(scan.map_err(access_error)?);
                        }
                    }
                    row as u32
                }
                None => break,
            };
            let Some(scan) = &mut self.index_scan else { break };
            let scan = &mut **scan;
            while !right.is_full() {
                let mut locator = if self.scan.locator { found.columns.pop() } else { None };
                let reading = ctx.reading();
                let more = match lock {
                    Some(lock) => ctx
                        .transaction()?
                        .next_locked_batch(scan, lock, reading.zone, &mut found, &mut locators)
                        .map_err(|error| row_error(self.table.definition, &error))?,
                    None => {
                        let locators = if self.scan.locator { Some(&mut locators) } else { None };
                        ctx.transaction()?
                            .next_batch(scan, reading, &mut found, locators)
                            .map_err(access_error)?
                    }
                };
                if let Some(mut column) = locator.take() {
                    column.clear();
                    if let ColumnData::Bytes(bytes) = &mut column.data {
                        std::mem::swap(bytes, &mut locators);
                        column.nulls.extend(found.row_count, false);
                    }
                    found.columns.push(column);
                }
                if !more {
                    break;
                }
                ctx.rows_examined += found.row_count as u64;
                if !access.point {
                    ctx.status.add(StatusKind::ReadNext, found.row_count as u64);
                }
                if pads(ctx.eval.settings) {
                    pad_columns(self.table.definition, &self.scan.columns, &mut found.columns);
                }
                if let Some((scratch, program)) = &mut self.filter {
                    program.filter(scratch, &found, &mut ctx.eval, &mut selected)?;
                    if selected.len() < found.row_count {
                        if lock.is_some() {
                            let taken = match found.columns.last().map(|column| &column.data) {
                                Some(ColumnData::Bytes(bytes)) if self.scan.locator => bytes,
                                _ => &locators,
                            };
                            ctx.transaction()?.unlock_others(scan, taken, &selected).map_err(access_error)?;
                        }
                        keep_rows(&mut found, &selected);
                    }
                }
                self.pairs.left_rows.extend(std::iter::repeat_n(row, found.row_count));
                right.extend_from(&found);
                // One partner is enough for a semi or anti join that checks nothing more.
                if found.row_count > 0 && !self.pairs.emits_pairs() && !self.pairs.filter.has_conditions() {
                    break;
                }
                if right.is_full() {
                    // The left row may have more partners.
                    self.open = Some(row);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// As `fill`, for a unique index whose whole key is known: descents are interleaved. False if the key of the next left
    /// row cannot be told.
    fn fill_points(&mut self, ctx: &mut ExecContext<'_>, right: &mut Batch) -> SqlResult<bool> {
        let total = self.left.batch.row_count;
        let Some(index) = self.scan.access.index else { return Ok(false) };
        let mut points = match self.table.rows.key_form(index) {
            KeyForm::Bytes(_) => PointKeys::Bytes(BytesColumn::default()),
            KeyForm::Values => PointKeys::Values(Vec::new()),
        };
        let mut rows = Vec::new();
        while self.next_row < total && rows.len() < self.points_max {
            let row = self.next_row;
            let Some(count) = self.ranges.points(&self.table, index, row, ctx, &mut points) else {
                if rows.is_empty() {
                    return Ok(false);
                }
                break;
            };
            self.next_row += 1;
            rows.extend(std::iter::repeat_n(row as u32, count));
        }
        let mut matched = Vec::new();
        let reading = ctx.reading();
        let width = self.table.definition.columns.len();
        let columns = Columns::new(width, &self.scan.columns, self.parts.current());
        ctx.transaction()?
            .look_up(&*self.table.rows, index, &points, reading, columns, right, &mut matched)
            .map_err(access_error)?;
        ctx.rows_examined += right.row_count as u64;
        ctx.status.add(StatusKind::ReadKey, rows.len() as u64);
        if pads(ctx.eval.settings) {
            pad_columns(self.table.definition, &self.scan.columns, &mut right.columns);
        }
        self.points_max = next_count(self.points_max, right);
        self.pairs.left_rows.extend(matched.iter().map(|&number| rows[number as usize]));
        if let Some((scratch, program)) = &mut self.filter {
            let mut selected = Vec::new();
            program.filter(scratch, right, &mut ctx.eval, &mut selected)?;
            if selected.len() < right.row_count {
                keep_rows(right, &selected);
                let kept = selected.iter().map(|&row| self.pairs.left_rows[row as usize]).collect();
                self.pairs.left_rows = kept;
            }
        }
        Ok(true)
    }
}

impl Operator for LookupJoin<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let lock = lock_now(self.lock, ctx);
        if lock.is_none() {
            check_visible(&*self.table.rows, ctx)?;
        }
        self.active = false;
        self.open = None;
        self.index_scan = None;
        self.ranges.reset();
        self.parts.start(lock.is_some(), ctx)?;
        self.pairs.filter.scratch.reset();
        if let Some((scratch, _)) = &mut self.filter {
            scratch.reset();
        }
        self.left.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        loop {
            if !self.active {
                if !self.left.next(ctx)? {
                    return Ok(false);
                }
                self.active = true;
                self.next_row = 0;
                self.pairs.begin(self.left.batch.row_count);
                self.ranges.evaluate(&self.left.batch, ctx)?;
            }
            let mut right = Batch::new(self.right_shapes.iter().copied());
            self.fill(ctx, &mut right)?;
            self.pairs.check(&self.left.batch, &mut right.columns, ctx, out)?;
            if self.pairs.kind == JoinKind::Left {
                // The left row that is open may have a partner yet.
                let done = self.open.map_or(self.next_row, |row| row as usize);
                self.pairs.pad(&self.left.batch, done, out);
            }
            if self.next_row >= self.left.batch.row_count && self.open.is_none() {
                if self.pairs.kind != JoinKind::Left {
                    self.pairs.finish(&self.left.batch, out);
                }
                self.active = false;
            }
            if out.row_count > 0 {
                return Ok(true);
            }
            ctx.check()?;
        }
    }
}

/// How many rows to read by key at a time, after `batch` was read: few enough that large values stay within bounds.
pub(super) fn next_count(count: usize, batch: &Batch) -> usize {
    let longest = batch.longest_row();
    if longest * count > BATCH_BYTES_TARGET {
        (BATCH_BYTES_TARGET / longest).max(1)
    } else {
        (count * 2).min(batch_rows_max())
    }
}
