//! Hash join: a table of the right side's rows by key, asked by the left side's.
//!
//! A right side above the limit goes to disk in partitions by the hash of its keys, and then the left side too (grace hash join,
//! Kitsuregawa et al. 1983). The partitions are joined pair by pair; one that is still too large is partitioned again by other bits of
//! the hash. A partition that partitioning does not make smaller, a single key with many rows, is joined in passes: as many right rows
//! as fit, all left rows; then the next right rows. Between two passes a left row's state travels with it: an inner join
//! reads the same left rows again, a semi and an anti join only those without a partner so far, a left join all with a flag.
//!
//! Invariants:
//! 1. A left row is given once for each partner, or once at all, whatever the partitions and passes.
//! 2. Keys are computed once per row; on disk they stand with it.
//! 3. Rows come in the order of the left ones as long as the right side fits into memory.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use plan::Expr;
use plan::logical::JoinKind;
use plan::physical::{Node, PhysicalPlan};
use types::vector::BytesColumn;
use types::{Batch, Physical};

use super::join::{PairFilter, Pairs};
use super::join_keys::{Keys, differ_in_sign, key_of_number, number_of};
use super::partition::{LEVELS_MAX, Partitions, RESERVED_MIN, slot_bytes};
use super::row_keys::{Found, RowTable};
use super::scan::keep_rows;
use super::{Operator, RowKeys, Source};
use crate::context::ExecContext;
use crate::expr::SqlResult;
use crate::programs::Programs;
use crate::row_buffer::{RowBuffer, columns};
use crate::spill::{LIMIT_BYTES_MAX, SpillReader, SpillRows, SpillWriter, block_bytes};

const NONE: u32 = u32::MAX;

/// Bytes of the limit for each row that is expected: several times what is reserved for it.
const RESERVED_ROW_BYTES: usize = 64;

/// Right rows in memory, by key.
#[derive(Default)]
struct Build {
    kept: RowBuffer,
    /// Keys of the kept rows, if each is one integer; else their bytes are in `key_bytes`.
    numbers: Option<Vec<u64>>,
    key_bytes: BytesColumn,
    table: HashTable<u32>,
    /// The next row with the same key.
    chain: Vec<u32>,
    hasher: foldhash::fast::FixedState,
    /// Keys that are prefix keys are known by number; by number the first row of its chain.
    prefix_keys: Option<(RowTable, Vec<u32>)>,
}

impl Build {
    fn new(keys: &Keys) -> Build {
        let row_keys = &keys.row_keys;
        Build {
            prefix_keys: row_keys.are_prefix_keys().then(|| (RowTable::new(row_keys), Vec::new())),
            numbers: keys.are_numbers().then(Vec::new),
            ..Build::default()
        }
    }

    /// Room for this many rows, so that the table does not grow step by step.
    fn reserve(&mut self, rows: usize) {
        let (key_bytes, hasher) = (&self.key_bytes, &self.hasher);
        match &mut self.numbers {
            Some(numbers) => {
                self.table.reserve(rows, |&other| hasher.hash_one(numbers[other as usize]));
                numbers.reserve(rows);
            }
            None if self.prefix_keys.is_some() => return,
            None => self.table.reserve(rows, |&other| hasher.hash_one(key_bytes.get(other as usize))),
        }
        self.chain.reserve(rows);
    }

    /// The number that is the key of the next row that is kept.
    #[inline(always)]
    fn insert_number(&mut self, key: u64) {
        let Build { numbers: Some(numbers), table, chain, hasher, .. } = self else { return };
        let number = chain.len() as u32;
        numbers.push(key);
        match table.entry(
            hasher.hash_one(key),
            |&other| numbers[other as usize] == key,
            |&other| hasher.hash_one(numbers[other as usize]),
        ) {
            hashbrown::hash_table::Entry::Occupied(mut entry) => {
                chain.push(*entry.get());
                *entry.get_mut() = number;
            }
            hashbrown::hash_table::Entry::Vacant(entry) => {
                chain.push(NONE);
                entry.insert(number);
            }
        }
    }

    /// The first row whose key is this number.
    #[inline(always)]
    fn find_number(&self, key: u64) -> u32 {
        let Some(numbers) = &self.numbers else { return NONE };
        let found = self.table.find(self.hasher.hash_one(key), |&other| numbers[other as usize] == key);
        found.copied().unwrap_or(NONE)
    }

    /// The hash by which rows are partitioned.
    #[inline(always)]
    fn hash(&self, key: &[u8]) -> u64 {
        match &self.prefix_keys {
            Some((table, _)) => table.hash(key),
            None => self.hasher.hash_one(key),
        }
    }

    /// The key of the next row that is kept.
    #[inline(always)]
    fn insert(&mut self, key: &[u8], keys: &RowKeys, ctx: &ExecContext<'_>) -> SqlResult<()> {
        let number = self.chain.len() as u32;
        if self.prefix_keys.is_some() {
            return self.insert_prefix_key(key, keys, ctx);
        }
        if self.numbers.is_some() {
            self.insert_number(number_of(key));
            return Ok(());
        }
        let hash = self.hasher.hash_one(key);
        let key_bytes = &mut self.key_bytes;
        key_bytes.push(key);
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
        Ok(())
    }

    #[inline(always)]
    fn find(&mut self, key: &[u8], keys: &RowKeys, ctx: &ExecContext<'_>) -> SqlResult<u32> {
        if self.prefix_keys.is_some() {
            return self.find_prefix_key(key, keys, ctx);
        }
        if self.numbers.is_some() {
            return Ok(self.find_number(number_of(key)));
        }
        let hash = self.hasher.hash_one(key);
        let found = self.table.find(hash, |&other| self.key_bytes.get(other as usize) == key);
        Ok(found.copied().unwrap_or(NONE))
    }

    #[inline(never)]
    fn insert_prefix_key(&mut self, key: &[u8], keys: &RowKeys, ctx: &ExecContext<'_>) -> SqlResult<()> {
        let number = self.chain.len() as u32;
        let Some((table, heads)) = &mut self.prefix_keys else { return Ok(()) };
        self.key_bytes.push(key);
        match table.find_or_insert(table.hash(key), key, Some(usize::MAX), keys, ctx)? {
            Found::Known(of) => self.chain.push(std::mem::replace(&mut heads[of as usize], number)),
            Found::New(_) | Found::Absent => {
                self.chain.push(NONE);
                heads.push(number);
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn find_prefix_key(&mut self, key: &[u8], keys: &RowKeys, ctx: &ExecContext<'_>) -> SqlResult<u32> {
        let Some((table, heads)) = &mut self.prefix_keys else { return Ok(NONE) };
        Ok(match table.find_or_insert(table.hash(key), key, None, keys, ctx)? {
            Found::Known(of) => heads[of as usize],
            Found::New(_) | Found::Absent => NONE,
        })
    }

    fn bytes(&self) -> usize {
        let chain = self.chain.capacity() * size_of::<u32>();
        let prefix_keys = self
            .prefix_keys
            .as_ref()
            .map_or(0, |(table, heads)| table.bytes() + heads.capacity() * size_of::<u32>());
        let numbers = self.numbers.as_ref().map_or(0, |numbers| numbers.capacity() * size_of::<u64>());
        self.kept.bytes()
            + self.key_bytes.memory_bytes()
            + numbers
            + chain
            + slot_bytes(&self.table)
            + prefix_keys
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.key_bytes.clear();
        self.numbers.iter_mut().for_each(Vec::clear);
        self.table.clear();
        self.chain.clear();
        if let Some((table, heads)) = &mut self.prefix_keys {
            table.clear();
            heads.clear();
        }
    }
}

/// A partition of both sides. The first byte of a left key holds flags.
struct Work {
    right: Arc<SpillRows>,
    left: Arc<SpillRows>,
    level: u32,
    /// Parting it again would not make it smaller.
    is_unsplit: bool,
}

/// The left row has no key and hence no partner.
const KEYLESS: u8 = 1;
/// The left row has had a partner in an earlier pass.
const MATCHED: u8 = 2;

/// The partition that is joined now.
struct CurrentPartition {
    left: SpillReader,
    /// Keys of the left batch.
    keys: BytesColumn,
    /// What the passes after this one join.
    more: Option<Passes>,
}

struct Passes {
    right: SpillReader,
    /// Left rows of the next pass; an inner join reads the same ones again.
    next: Option<SpillWriter>,
}

pub(super) struct HashJoin<'p> {
    left: Source<'p>,
    right: Source<'p>,
    left_keys: Keys,
    right_keys: Keys,
    pairs: Pairs,
    null_aware: bool,
    built: bool,
    build: Build,
    /// Rows that the right side is expected to have.
    expected: f64,
    right_has_null: bool,
    right_has_rows: bool,
    /// The right side was too large: everything is in partitions on disk.
    partitioned: bool,
    work: Vec<Work>,
    partition: Option<CurrentPartition>,
    left_shapes: Arc<[Physical]>,
    right_shapes: Arc<[Physical]>,
    /// Position in the left batch: row, and next candidate of its chain.
    active: bool,
    row: usize,
    candidate: u32,
    pairs_max: usize,
    /// The right rows of the pairs.
    partners: Vec<u32>,
}

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
        let mixed: Vec<bool> = keys.iter().map(|(left, right, _)| differ_in_sign(left, right)).collect();
        let (left_node, right_node) = (left, right);
        let (left, right) = (Source::new(plan, left, programs)?, Source::new(plan, right, programs)?);
        let left_exprs = keys.iter().map(|(left, _, _)| left);
        let left_keys = Keys::new(plan, left_node, left_exprs, null_safe.clone(), mixed.clone(), programs)?;
        let right_exprs = keys.iter().map(|(_, right, _)| right);
        let right_keys = Keys::new(plan, right_node, right_exprs, null_safe, mixed, programs)?;
        Ok(HashJoin {
            left,
            right,
            build: Build::new(&right_keys),
            left_keys,
            right_keys,
            left_shapes: left_shapes.as_slice().into(),
            right_shapes: right_shapes.as_slice().into(),
            pairs: Pairs::new(kind, PairFilter::new(conditions, programs)?, &left_shapes, right_shapes),
            null_aware,
            expected: right_node.rows,
            built: false,
            right_has_null: false,
            right_has_rows: false,
            partitioned: false,
            work: Vec::new(),
            partition: None,
            active: false,
            row: 0,
            candidate: NONE,
            pairs_max: 0,
            partners: Vec::new(),
        })
    }

    /// Reads the right side: into memory, or above the limit into the partitions that are returned.
    fn build(&mut self, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<Option<Partitions>> {
        self.built = true;
        // An expectation that is wrong costs no more than a partition of the limit.
        let expected = (self.expected as usize).min(limit / RESERVED_ROW_BYTES);
        if expected >= RESERVED_MIN {
            self.build.reserve(expected);
        }
        self.right.start(ctx)?;
        let mut partitions: Option<Partitions> = None;
        let mut key = Vec::new();
        let mut rows = Vec::new();
        while self.right.next(ctx)? {
            let batch = &mut self.right.batch;
            self.right_keys.evaluate(batch, ctx)?;
            self.right_has_rows = true;
            if let Some(partitions) = &mut partitions {
                for row in 0..batch.row_count {
                    if self.right_keys.key(row, ctx, &mut key)? {
                        let hash = self.build.hash(&key);
                        partitions.push(hash, &key, batch.columns.iter().map(|column| column.cell(row)))?;
                    } else {
                        self.right_has_null = true;
                    }
                }
                ctx.check()?;
                continue;
            }
            rows.clear();
            for row in 0..batch.row_count {
                if self.build.numbers.is_some() {
                    match self.right_keys.number(row) {
                        Some(key) => {
                            self.build.insert_number(key);
                            rows.push(row as u32);
                        }
                        None => self.right_has_null = true,
                    }
                    continue;
                }
                if !self.right_keys.key(row, ctx, &mut key)? {
                    self.right_has_null = true;
                    continue;
                }
                self.build.insert(&key, &self.right_keys.row_keys, ctx)?;
                rows.push(row as u32);
            }
            if rows.len() < batch.row_count {
                keep_rows(batch, &rows);
            }
            self.build.kept.push(batch);
            if self.build.bytes() > limit {
                ctx.count_disk_table(0);
                let mut new = Partitions::new(&self.right_shapes, 0, limit, ctx)?;
                self.partition_build(&mut new)?;
                partitions = Some(new);
            }
            ctx.check()?;
        }
        Ok(partitions)
    }

    /// Nothing to find: an inner or semi join is empty, NOT IN with a NULL inside too.
    fn is_hopeless(&self) -> bool {
        let is_empty = !self.partitioned && self.build.kept.len() == 0;
        is_empty && self.pairs.needs_partner() || self.null_aware && self.right_has_null
    }

    /// Moves the right rows in memory to partitions on disk.
    fn partition_build(&mut self, partitions: &mut Partitions) -> SqlResult<()> {
        let new = Build::new(&self.right_keys);
        let build = std::mem::replace(&mut self.build, new);
        for number in 0..build.chain.len() {
            let of_number = build.numbers.as_ref().map(|numbers| key_of_number(numbers[number]));
            let key = of_number.as_ref().map_or_else(|| build.key_bytes.get(number), |key| &key[..]);
            let (batch, row) = build.kept.at(number as u32);
            let cells = batch.columns.iter().map(|column| column.cell(row));
            partitions.push(build.hash(key), key, cells)?;
        }
        Ok(())
    }

    /// Partitions the left side as the right side was.
    fn partition_left(
        &mut self,
        right: Partitions,
        limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let mut partitions = Partitions::new(&self.left_shapes, 0, limit, ctx)?;
        let needs_partner = self.pairs.needs_partner();
        let mut key = Vec::new();
        let mut flagged = Vec::new();
        self.left.start(ctx)?;
        while self.left.next(ctx)? {
            let batch = &self.left.batch;
            self.left_keys.evaluate(batch, ctx)?;
            for row in 0..batch.row_count {
                flagged.clear();
                let has_key = self.left_keys.key(row, ctx, &mut key)?;
                let hash = self.build.hash(&key);
                if has_key {
                    if needs_partner && right.rows_beside(hash) == 0 {
                        continue;
                    }
                    flagged.push(0);
                    flagged.extend_from_slice(&key);
                } else if needs_partner || self.null_aware {
                    // `NULL NOT IN (rows)` is unknown.
                    continue;
                } else {
                    flagged.push(KEYLESS);
                }
                partitions.push(hash, &flagged, batch.columns.iter().map(|column| column.cell(row)))?;
            }
            ctx.check()?;
        }
        let pairs = right.finish()?.into_iter().zip(partitions.finish()?);
        self.work = pairs.map(|(right, left)| Work { right, left, level: 0, is_unsplit: false }).collect();
        Ok(())
    }

    /// Makes the next partition ready to be joined. False if there is none.
    fn next_part(&mut self, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        while let Some(work) = self.work.pop() {
            if work.left.row_count() == 0 || (work.right.row_count() == 0 && self.pairs.needs_partner()) {
                continue;
            }
            let mut right = work.right.reader()?;
            self.build = Build::new(&self.right_keys);
            if !self.load(&mut right, limit, ctx)? {
                if !work.is_unsplit && work.level < LEVELS_MAX {
                    self.part_again(&work, right, limit, ctx)?;
                    continue;
                }
                let next = self.next_pass(limit, ctx)?;
                self.partition = Some(CurrentPartition {
                    left: work.left.reader()?,
                    keys: BytesColumn::new(),
                    more: Some(Passes { right, next }),
                });
                return Ok(true);
            }
            self.partition =
                Some(CurrentPartition { left: work.left.reader()?, keys: BytesColumn::new(), more: None });
            return Ok(true);
        }
        Ok(false)
    }

    /// Where the left rows for another pass go; `None` if those of this pass are read again.
    fn next_pass(&self, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<Option<SpillWriter>> {
        if matches!(self.pairs.kind, JoinKind::Inner | JoinKind::Straight) {
            return Ok(None);
        }
        Ok(Some(SpillWriter::new(&ctx.spill_file()?, &self.left_shapes, block_bytes(limit))))
    }

    /// Right rows of a partition into memory; false if not all fit.
    fn load(&mut self, right: &mut SpillReader, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        let mut batch = Batch::new(self.right_shapes.iter().copied());
        let mut keys = BytesColumn::new();
        while right.next_batch(&mut batch, &mut keys)? {
            for key in keys.iter() {
                self.build.insert(key, &self.right_keys.row_keys, ctx)?;
            }
            self.build.kept.push(&batch);
            if self.build.bytes() > limit && right.key().is_some() {
                return Ok(false);
            }
            batch.clear();
            keys.clear();
            ctx.check()?;
        }
        Ok(true)
    }

    /// Partitions it again; what was loaded of its right side is in memory, the rest behind `right`.
    fn part_again(
        &mut self,
        work: &Work,
        mut right: SpillReader,
        limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let level = work.level + 1;
        let mut rights = Partitions::new(&self.right_shapes, level, limit, ctx)?;
        self.partition_build(&mut rights)?;
        let mut batch = Batch::new(self.right_shapes.iter().copied());
        let mut keys = BytesColumn::new();
        while right.next_batch(&mut batch, &mut keys)? {
            for (row, key) in keys.iter().enumerate() {
                let hash = self.build.hash(key);
                rights.push(hash, key, batch.columns.iter().map(|column| column.cell(row)))?;
            }
            batch.clear();
            keys.clear();
            ctx.check()?;
        }
        let mut lefts = Partitions::new(&self.left_shapes, level, limit, ctx)?;
        let mut left = work.left.reader()?;
        let mut batch = Batch::new(self.left_shapes.iter().copied());
        while left.next_batch(&mut batch, &mut keys)? {
            for (row, key) in keys.iter().enumerate() {
                let hash = self.build.hash(&key[1..]);
                if self.pairs.needs_partner() && rights.rows_beside(hash) == 0 {
                    continue;
                }
                lefts.push(hash, key, batch.columns.iter().map(|column| column.cell(row)))?;
            }
            batch.clear();
            keys.clear();
            ctx.check()?;
        }
        let total = work.right.row_count();
        for (right, left) in rights.finish()?.into_iter().zip(lefts.finish()?) {
            let is_unsplit = right.row_count() == total;
            self.work.push(Work { right, left, level, is_unsplit });
        }
        Ok(())
    }

    /// The next left batch, its keys known.
    fn next_left(&mut self, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        if !self.partitioned {
            if !self.left.next(ctx)? {
                return Ok(false);
            }
            self.left_keys.evaluate(&self.left.batch, ctx)?;
            self.pairs.begin(self.left.batch.row_count);
            return Ok(true);
        }
        loop {
            let Some(part) = &mut self.partition else {
                if !self.next_part(limit, ctx)? {
                    return Ok(false);
                }
                continue;
            };
            let batch = &mut self.left.batch;
            batch.clear();
            part.keys.clear();
            if part.left.next_batch(batch, &mut part.keys)? {
                self.pairs.begin(batch.row_count);
                for (row, key) in part.keys.iter().enumerate() {
                    self.pairs.matched[row] = key[0] & MATCHED != 0;
                }
                return Ok(true);
            }
            // The left side has ended: another pass if there are right rows left.
            let Some(CurrentPartition { left, more: Some(mut more), .. }) = self.partition.take() else {
                continue;
            };
            let left = match more.next.take() {
                Some(writer) => Arc::new(writer.finish()?),
                None => Arc::clone(left.rows()),
            };
            self.build = Build::new(&self.right_keys);
            let is_last = self.load(&mut more.right, limit, ctx)?;
            let next = if is_last { None } else { self.next_pass(limit, ctx)? };
            let more = (!is_last).then_some(Passes { right: more.right, next });
            self.partition = Some(CurrentPartition { left: left.reader()?, keys: BytesColumn::new(), more });
        }
    }

    /// The first candidate of a left row.
    #[inline(always)]
    fn first_candidate(&mut self, row: usize, key: &mut Vec<u8>, ctx: &ExecContext<'_>) -> SqlResult<()> {
        let row_keys = &self.left_keys.row_keys;
        self.candidate = NONE;
        if let Some(part) = &self.partition {
            let flagged = part.keys.get(row);
            if flagged[0] & KEYLESS == 0 {
                self.candidate = self.build.find(&flagged[1..], row_keys, ctx)?;
            }
        } else if self.build.numbers.is_some()
            && let Some(key) = self.left_keys.number(row)
        {
            self.candidate = self.build.find_number(key);
        } else if self.left_keys.key(row, ctx, key)? {
            self.candidate = self.build.find(key, row_keys, ctx)?;
        } else if self.null_aware && self.right_has_rows {
            self.pairs.matched[row] = true;
        }
        Ok(())
    }

    /// A left batch is done.
    fn finish_left(&mut self, out: &mut Batch) -> SqlResult<()> {
        let Some(CurrentPartition { keys, more: Some(Passes { next, .. }), .. }) = &mut self.partition else {
            self.pairs.finish(&self.left.batch, out);
            return Ok(());
        };
        // Another pass follows: what is decided goes out, the rest into it.
        if self.pairs.kind == JoinKind::Semi {
            self.pairs.finish(&self.left.batch, out);
        }
        let Some(next) = next else { return Ok(()) };
        let mut flagged = Vec::new();
        for (row, key) in keys.iter().enumerate() {
            let matched = self.pairs.matched[row];
            if matched && self.pairs.kind != JoinKind::Left {
                continue;
            }
            flagged.clear();
            flagged.extend_from_slice(key);
            flagged[0] |= if matched { MATCHED } else { 0 };
            next.push_row(&flagged, &self.left.batch.columns, row)?;
        }
        Ok(())
    }
}

impl Operator for HashJoin<'_> {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.built = false;
        self.build.clear();
        self.right_has_null = false;
        self.right_has_rows = false;
        self.partitioned = false;
        self.work.clear();
        self.partition = None;
        self.active = false;
        self.left_keys.reset();
        self.right_keys.reset();
        self.pairs.filter.scratch.reset();
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        let limit = ctx.limits.join_bytes.min(LIMIT_BYTES_MAX);
        if !self.built {
            let partitions = self.build(limit, ctx)?;
            if self.null_aware && self.right_has_null {
                return Ok(false);
            }
            match partitions {
                Some(partitions) => {
                    self.partitioned = true;
                    self.partition_left(partitions, limit, ctx)?;
                }
                None if self.is_hopeless() => {}
                None => self.left.start(ctx)?,
            }
        }
        if self.is_hopeless() {
            return Ok(false);
        }
        let mut key = Vec::new();
        let only_matched = !self.pairs.emits_pairs() && !self.pairs.filter.has_conditions();
        loop {
            if !self.active {
                if !self.next_left(limit, ctx)? {
                    return Ok(false);
                }
                self.active = true;
                self.row = 0;
                self.pairs_max = Pairs::count_max(&self.left.batch, self.build.kept.longest_row());
                self.first_candidate(0, &mut key, ctx)?;
            }
            self.partners.clear();
            let total = self.left.batch.row_count;
            while self.row < total && self.pairs.left_rows.len() < self.pairs_max {
                if self.candidate == NONE {
                    self.row += 1;
                    if self.row < total {
                        self.first_candidate(self.row, &mut key, ctx)?;
                    }
                    continue;
                }
                self.pairs.left_rows.push(self.row as u32);
                if only_matched {
                    self.candidate = NONE;
                    continue;
                }
                self.partners.push(self.candidate);
                self.candidate = self.build.chain[self.candidate as usize];
            }
            let mut right = columns(self.right_shapes.iter().copied());
            self.build.kept.append_rows(&self.partners, &mut right);
            self.pairs.check(&self.left.batch, &mut right, ctx, out)?;
            let pads = self.pairs.kind == JoinKind::Left && !self.partitioned;
            if pads {
                self.pairs.pad(&self.left.batch, self.row.min(total), out);
            }
            if self.row >= total {
                if !pads {
                    self.finish_left(out)?;
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
