//! Joins: lookup in an index, hash, nested loop.
//!
//! All three work alike: candidates are pairs (left row, right row); further conditions are checked on batches of
//! pairs; then the kind decides what is given: the pairs, the left rows with NULLs, or the left rows alone.

use std::sync::Arc;

use hashbrown::HashTable;
use plan::Expr;
use plan::logical::JoinKind;
use plan::physical::{Node, PhysicalPlan, Scan};
use store::LockMode;
use table::{KeyBytesRange, ScanRequest, Table};
use types::vector::{BATCH_ROWS_MAX, BytesColumn, ColumnData};
use types::{Batch, Column, DataType, Physical};

use super::kept::{columns, gather};
use super::scan::{Ranges, check_visible, keep_rows, local_table, lock_of, lock_wait};
use super::{BoxOperator, Kept, Operator, Source};
use crate::context::{ExecContext, internal, store_error, write_error};
use crate::expr::{Program, Scratch, SqlResult};
use crate::key::append_key;
use crate::prepare::Programs;

/// Conditions on pairs of rows.
struct PairFilter {
    program: Option<Arc<Program>>,
    scratch: Scratch,
    selected: Vec<u32>,
}

impl PairFilter {
    fn new(conditions: &[Expr], programs: &mut Programs<'_>) -> SqlResult<PairFilter> {
        let program = if conditions.is_empty() { None } else { Some(programs.take(conditions)?) };
        let scratch = program.as_ref().map(|program| program.scratch()).unwrap_or_default();
        Ok(PairFilter { program, scratch, selected: Vec::new() })
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
struct Pairs {
    kind: JoinKind,
    filter: PairFilter,
    left_width: usize,
    right_shapes: Vec<Physical>,
    /// Left row of each candidate.
    left_rows: Vec<u32>,
    /// Left rows that have had a partner.
    matched: Vec<bool>,
}

impl Pairs {
    fn new(kind: JoinKind, filter: PairFilter, left: &[Physical], right: Vec<Physical>) -> Pairs {
        Pairs {
            kind,
            filter,
            left_width: left.len(),
            right_shapes: right,
            left_rows: Vec::new(),
            matched: Vec::new(),
        }
    }

    /// A new left batch begins.
    fn begin(&mut self, rows: usize) {
        self.matched.clear();
        self.matched.resize(rows, false);
    }

    fn gives_pairs(&self) -> bool {
        matches!(self.kind, JoinKind::Inner | JoinKind::Straight | JoinKind::Left)
    }

    /// The candidates `left_rows[i]` with row `i` of `right`: pairs that meet the conditions go to `out`.
    fn check(
        &mut self,
        left: &Batch,
        right: &mut [Column],
        ctx: &mut ExecContext<'_>,
        out: &mut Batch,
    ) -> SqlResult<()> {
        if self.left_rows.is_empty() {
            return Ok(());
        }
        // Without conditions and without pairs to give, knowing that there is a partner is all.
        if self.filter.program.is_none() && !self.gives_pairs() {
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
        let gives_pairs = self.gives_pairs();
        let selected = self.filter.select(&pairs, ctx)?;
        for &row in selected {
            self.matched[self.left_rows[row as usize] as usize] = true;
        }
        if gives_pairs && !selected.is_empty() {
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

    /// The left batch is done: rows that its kind gives now.
    fn finish(&mut self, left: &Batch, out: &mut Batch) {
        let wanted = match self.kind {
            JoinKind::Inner | JoinKind::Straight => return,
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
        for (column, target) in left.columns.iter().zip(&mut out.columns) {
            target.gather_from(column, &rows);
        }
        if self.kind == JoinKind::Left {
            for target in &mut out.columns[self.left_width..] {
                for _ in &rows {
                    target.push_null();
                }
            }
        }
        out.row_count += rows.len();
    }
}

/// Looks rows up in an index, a batch of left rows at a time.
struct LookupJoin<'p> {
    left: Source<'p>,
    table: Arc<Table>,
    scan: &'p Scan,
    lock: Option<(LockMode, catalog::LockWait)>,
    ranges: Ranges<'p>,
    filter: Option<(Scratch, Arc<Program>)>,
    pairs: Pairs,
    /// Columns read, then the locator if asked for.
    right_shapes: Vec<Physical>,
    active: bool,
    next_row: usize,
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
    let table = local_table(plan, scan.table)?;
    let mut right_shapes: Vec<Physical> = scan
        .columns
        .iter()
        .map(|&ordinal| table.definition().columns[ordinal].data_type.physical())
        .collect();
    if scan.locator {
        right_shapes.push(Physical::Bytes);
    }
    let left_shapes: Vec<Physical> = left.batch.columns.iter().map(Column::physical).collect();
    Ok(Box::new(LookupJoin {
        left,
        lock: lock_of(plan, scan.table),
        table,
        scan,
        ranges,
        filter,
        pairs: Pairs::new(kind, pair_filter, &left_shapes, right_shapes.clone()),
        right_shapes,
        active: false,
        next_row: 0,
    }))
}

impl LookupJoin<'_> {
    /// Rows of the index for left rows from `next_row` on, until a batch of candidates is full.
    fn fill(&mut self, ctx: &mut ExecContext<'_>, right: &mut Batch) -> SqlResult<()> {
        let total = self.left.batch.row_count;
        let access = &self.scan.access;
        let mut keys = Vec::new();
        if access.point && self.lock.is_none() && !self.scan.locator && access.index.is_some() {
            return self.fill_points(ctx, right);
        }
        let mut found = Batch::new(self.right_shapes.iter().copied());
        let mut locators = BytesColumn::default();
        let mut selected = Vec::new();
        while self.next_row < total && right.row_count < BATCH_ROWS_MAX {
            let row = self.next_row;
            self.next_row += 1;
            self.ranges.keys(&self.table, access.index, row, ctx, &mut keys);
            if keys.is_empty() {
                continue;
            }
            let mut scan = self.table.scan(ScanRequest {
                index: access.index,
                ranges: std::mem::take(&mut keys),
                reverse: false,
                columns: self.scan.columns.clone(),
            });
            loop {
                let mut locator = if self.scan.locator { found.columns.pop() } else { None };
                let zone = &ctx.eval.settings.time_zone;
                let more = match self.lock {
                    Some((mode, wait)) => {
                        let wait = lock_wait(wait, ctx);
                        let Some(transaction) = ctx.transaction.as_deref_mut() else {
                            return Err(internal("a locking read without a transaction"));
                        };
                        scan.next_locked_batch(transaction, mode, wait, zone, &mut found, &mut locators)
                            .map_err(|error| write_error(&error))?
                    }
                    None => {
                        let reader = ctx.reader()?;
                        let locators = if self.scan.locator { Some(&mut locators) } else { None };
                        scan.next_batch(reader, zone, &mut found, locators)
                            .map_err(|error| store_error(&error))?
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
                if let Some((scratch, program)) = &mut self.filter {
                    program.filter(scratch, &found, &mut ctx.eval, &mut selected)?;
                    if selected.len() < found.row_count {
                        keep_rows(&mut found, &selected);
                    }
                }
                self.pairs.left_rows.extend(std::iter::repeat_n(row as u32, found.row_count));
                right.extend_from(&found);
                // One partner is enough for a semi or anti join that checks nothing more.
                if found.row_count > 0 && !self.pairs.gives_pairs() && self.pairs.filter.program.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// As `fill`, for a unique index whose whole key is known: descents are interleaved.
    fn fill_points(&mut self, ctx: &mut ExecContext<'_>, right: &mut Batch) -> SqlResult<()> {
        let total = self.left.batch.row_count;
        let Some(index) = self.scan.access.index else { return Ok(()) };
        let mut points = BytesColumn::default();
        let mut rows = Vec::new();
        let mut keys: Vec<KeyBytesRange> = Vec::new();
        while self.next_row < total && rows.len() < BATCH_ROWS_MAX {
            let row = self.next_row;
            self.next_row += 1;
            self.ranges.keys(&self.table, Some(index), row, ctx, &mut keys);
            for key in &keys {
                points.push(&key.lower);
                rows.push(row as u32);
            }
        }
        let mut matched = Vec::new();
        let reader = ctx.reader()?;
        let zone = &ctx.eval.settings.time_zone;
        let columns = &self.scan.columns;
        self.table
            .get_unique_rows(index, &points, reader, zone, columns, right, &mut matched)
            .map_err(|error| store_error(&error))?;
        ctx.rows_examined += right.row_count as u64;
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
        Ok(())
    }
}

impl Operator for LookupJoin<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        if self.lock.is_none() {
            check_visible(&self.table, ctx)?;
        }
        self.active = false;
        self.ranges.reset();
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
            if self.next_row >= self.left.batch.row_count {
                self.pairs.finish(&self.left.batch, out);
                self.active = false;
            }
            if out.row_count > 0 {
                return Ok(true);
            }
            ctx.check()?;
        }
    }
}

/// Keys of a hash join.
struct Keys {
    program: Arc<Program>,
    scratch: Scratch,
    values: Vec<Column>,
    types: Vec<DataType>,
    null_safe: Vec<bool>,
}

impl Keys {
    fn new<'e>(
        keys: impl Iterator<Item = &'e Expr>,
        null_safe: Vec<bool>,
        programs: &mut Programs<'_>,
    ) -> SqlResult<Keys> {
        let exprs: Vec<Expr> = keys.cloned().collect();
        let program = programs.take(&exprs)?;
        let scratch = program.scratch();
        let types: Vec<DataType> = exprs.into_iter().map(|expr| expr.data_type).collect();
        let values = columns(types.iter().map(DataType::physical));
        Ok(Keys { program, scratch, values, types, null_safe })
    }

    fn evaluate(&mut self, input: &Batch, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.program.eval(&mut self.scratch, input, &mut ctx.eval, &mut self.values)
    }

    /// The key of a row; false if a NULL keeps it from having partners.
    fn key(&self, row: usize, out: &mut Vec<u8>) -> bool {
        out.clear();
        for ((column, data_type), null_safe) in self.values.iter().zip(&self.types).zip(&self.null_safe) {
            if column.is_null(row) && !null_safe {
                return false;
            }
            append_key(column.cell(row), data_type, false, out);
        }
        true
    }
}

pub(super) struct HashJoin<'p> {
    left: Source<'p>,
    right: Source<'p>,
    left_keys: Keys,
    right_keys: Keys,
    pairs: Pairs,
    null_aware: bool,
    built: bool,
    kept: Kept,
    /// Key bytes of the kept rows, and the next row with the same key.
    key_bytes: BytesColumn,
    table: HashTable<u32>,
    chain: Vec<u32>,
    hasher: foldhash::fast::FixedState,
    right_has_null: bool,
    /// Position in the left batch: row, and next candidate of its chain.
    active: bool,
    row: usize,
    candidate: u32,
}

const NONE: u32 = u32::MAX;

impl<'p> HashJoin<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        kind: JoinKind,
        (left, right): (&'p Node, &'p Node),
        keys: &'p [(Expr, Expr, bool)],
        conditions: &[Expr],
        null_aware: bool,
        programs: &mut Programs<'_>,
    ) -> SqlResult<HashJoin<'p>> {
        let (left_shapes, right_shapes) = (left.shapes(), right.shapes());
        let null_safe: Vec<bool> = keys.iter().map(|(_, _, safe)| *safe).collect();
        Ok(HashJoin {
            left: Source::new(plan, left, programs)?,
            right: Source::new(plan, right, programs)?,
            left_keys: Keys::new(keys.iter().map(|(left, _, _)| left), null_safe.clone(), programs)?,
            right_keys: Keys::new(keys.iter().map(|(_, right, _)| right), null_safe, programs)?,
            pairs: Pairs::new(kind, PairFilter::new(conditions, programs)?, &left_shapes, right_shapes),
            null_aware,
            built: false,
            kept: Kept::default(),
            key_bytes: BytesColumn::default(),
            table: HashTable::new(),
            chain: Vec::new(),
            hasher: foldhash::fast::FixedState::default(),
            right_has_null: false,
            active: false,
            row: 0,
            candidate: NONE,
        })
    }

    fn build(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        use std::hash::BuildHasher;
        self.built = true;
        self.right.start(ctx)?;
        let mut key = Vec::new();
        let mut rows = Vec::new();
        while self.right.next(ctx)? {
            self.right_keys.evaluate(&self.right.batch, ctx)?;
            rows.clear();
            for row in 0..self.right.batch.row_count {
                if !self.right_keys.key(row, &mut key) {
                    self.right_has_null = true;
                    continue;
                }
                let number = self.chain.len() as u32;
                let hash = self.hasher.hash_one(&key[..]);
                let key_bytes = &mut self.key_bytes;
                key_bytes.push(&key);
                let hasher = &self.hasher;
                match self.table.entry(
                    hash,
                    |&other| key_bytes.get(other as usize) == key,
                    |&other| hasher.hash_one(key_bytes.get(other as usize)),
                ) {
                    hashbrown::hash_table::Entry::Occupied(mut entry) => {
                        self.chain.push(*entry.get());
                        *entry.get_mut() = number;
                    }
                    hashbrown::hash_table::Entry::Vacant(entry) => {
                        self.chain.push(NONE);
                        entry.insert(number);
                    }
                }
                rows.push(row as u32);
            }
            if rows.len() == self.right.batch.row_count {
                self.kept.push(&self.right.batch);
            } else {
                keep_rows(&mut self.right.batch, &rows);
                self.kept.push(&self.right.batch);
            }
            ctx.check()?;
        }
        Ok(())
    }

    fn find(&self, key: &[u8]) -> u32 {
        use std::hash::BuildHasher;
        let hash = self.hasher.hash_one(key);
        self.table.find(hash, |&other| self.key_bytes.get(other as usize) == key).copied().unwrap_or(NONE)
    }
}

impl Operator for HashJoin<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.built = false;
        self.kept.clear();
        self.key_bytes.clear();
        self.table.clear();
        self.chain.clear();
        self.right_has_null = false;
        self.active = false;
        self.left_keys.scratch.reset();
        self.right_keys.scratch.reset();
        self.pairs.filter.scratch.reset();
        let _ = ctx;
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if !self.built {
            self.build(ctx)?;
            self.left.start(ctx)?;
        }
        // Nothing to find: an inner or semi join is empty, NOT IN with a NULL inside too.
        let hopeless = self.kept.len() == 0
            && matches!(self.pairs.kind, JoinKind::Inner | JoinKind::Straight | JoinKind::Semi);
        if hopeless || (self.null_aware && self.right_has_null) {
            return Ok(false);
        }
        let mut key = Vec::new();
        let only_matched = !self.pairs.gives_pairs() && self.pairs.filter.program.is_none();
        loop {
            if !self.active {
                if !self.left.next(ctx)? {
                    return Ok(false);
                }
                self.active = true;
                self.row = 0;
                self.candidate = NONE;
                self.pairs.begin(self.left.batch.row_count);
                self.left_keys.evaluate(&self.left.batch, ctx)?;
                if self.left_keys.key(0, &mut key) {
                    self.candidate = self.find(&key);
                } else if self.null_aware && self.kept.len() > 0 {
                    self.pairs.matched[0] = true;
                }
            }
            let mut right = columns(self.pairs.right_shapes.iter().copied());
            let total = self.left.batch.row_count;
            while self.row < total && self.pairs.left_rows.len() < BATCH_ROWS_MAX {
                if self.candidate == NONE {
                    self.row += 1;
                    if self.row < total {
                        if self.left_keys.key(self.row, &mut key) {
                            self.candidate = self.find(&key);
                        } else if self.null_aware && self.kept.len() > 0 {
                            self.pairs.matched[self.row] = true;
                        }
                    }
                    continue;
                }
                self.pairs.left_rows.push(self.row as u32);
                if only_matched {
                    self.candidate = NONE;
                    continue;
                }
                self.kept.append_row(self.candidate, &mut right);
                self.candidate = self.chain[self.candidate as usize];
            }
            self.pairs.check(&self.left.batch, &mut right, ctx, out)?;
            if self.row >= total {
                self.pairs.finish(&self.left.batch, out);
                self.active = false;
            }
            if out.row_count > 0 {
                return Ok(true);
            }
            ctx.check()?;
        }
    }
}

pub(super) struct LoopJoin<'p> {
    left: Source<'p>,
    right: Source<'p>,
    pairs: Pairs,
    kept: Kept,
    built: bool,
    active: bool,
    row: usize,
    batch: usize,
}

impl<'p> LoopJoin<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        kind: JoinKind,
        left: &'p Node,
        right: &'p Node,
        conditions: &[Expr],
        programs: &mut Programs<'_>,
    ) -> SqlResult<LoopJoin<'p>> {
        let (left_shapes, right_shapes) = (left.shapes(), right.shapes());
        Ok(LoopJoin {
            left: Source::new(plan, left, programs)?,
            right: Source::new(plan, right, programs)?,
            pairs: Pairs::new(kind, PairFilter::new(conditions, programs)?, &left_shapes, right_shapes),
            kept: Kept::default(),
            built: false,
            active: false,
            row: 0,
            batch: 0,
        })
    }
}

impl Operator for LoopJoin<'_> {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.built = false;
        self.kept.clear();
        self.active = false;
        self.pairs.filter.scratch.reset();
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if !self.built {
            self.built = true;
            super::simple::keep_all(&mut self.right, ctx, &mut self.kept)?;
            self.left.start(ctx)?;
        }
        loop {
            if !self.active {
                if !self.left.next(ctx)? {
                    return Ok(false);
                }
                self.active = true;
                self.row = 0;
                self.batch = 0;
                self.pairs.begin(self.left.batch.row_count);
            }
            // One left row against one kept batch at a time, small kept sides several rows at once.
            let mut right = columns(self.pairs.right_shapes.iter().copied());
            while self.row < self.left.batch.row_count {
                let Some(batch) = self.kept.batches.get(self.batch) else {
                    self.row += 1;
                    self.batch = 0;
                    if self.kept.batches.is_empty() {
                        continue;
                    }
                    continue;
                };
                if self.pairs.left_rows.len() + batch.row_count > BATCH_ROWS_MAX
                    && !self.pairs.left_rows.is_empty()
                {
                    break;
                }
                for (target, column) in right.iter_mut().zip(&batch.columns) {
                    target.extend_from(column);
                }
                self.pairs.left_rows.extend(std::iter::repeat_n(self.row as u32, batch.row_count));
                self.batch += 1;
            }
            self.pairs.check(&self.left.batch, &mut right, ctx, out)?;
            if self.row >= self.left.batch.row_count {
                self.pairs.finish(&self.left.batch, out);
                self.active = false;
            }
            if out.row_count > 0 {
                return Ok(true);
            }
            ctx.check()?;
        }
    }
}
