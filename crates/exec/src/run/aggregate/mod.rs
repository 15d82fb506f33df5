//! GROUP BY: a table from key bytes to group numbers, and per aggregate a column of states.
//!
//! Above the limit the table takes no new groups: rows of known groups go on changing their states, the others go to disk in
//! parts by the hash of their keys, keys and arguments computed. When the input ends the groups in memory are given, then
//! each part is an input by itself. WITH ROLLUP needs all groups in order; if some were on disk they pass a [`Sorter`].

mod ordered;
mod rows;
mod state;
pub(super) mod values;

use std::sync::Arc;

use plan::Expr;
use plan::logical::AggregateFunction;
use plan::physical::{Aggregate, Node, PhysicalPlan};
use types::planted::{self, Plant};
use types::vector::{BytesColumn, Cell, batch_rows_max};
use types::{Batch, Column, DataType, Physical};

use super::partition::{CLEARED_BYTES_MAX, KeyTable, Partitions, RESERVED_MIN};
use super::row_keys::{Found, RowTable};
use super::sorter::Sorter;
use super::{BoxOperator, Operator, RowKeys};
use crate::context::ExecContext;
use crate::expr::SqlResult;
use crate::key::append_key;
use crate::programs::Programs;
use crate::row_buffer::columns;
use crate::spill::{LIMIT_BYTES_MAX, SpillRows};
use crate::status_counts::StatusKind;
use ordered::OrderedGroups;
use rows::{Rows, arg_shapes, key_types};
use state::{Shared, State};

/// Bytes of the limit for each group that is expected: several times what is reserved for it.
const RESERVED_GROUP_BYTES: usize = 64;

/// The row's group is on disk.
const ELSEWHERE: u32 = u32::MAX;

/// Builds a GROUP BY. `ordered`: the rows of each group come one after the other; `expected`: groups that are expected.
pub(super) fn group_by<'p>(
    plan: &'p PhysicalPlan,
    input: &'p Node,
    (keys, calls): (&'p [Expr], &'p [Aggregate]),
    rollup: bool,
    ordered: bool,
    expected: f64,
    programs: &mut Programs<'_>,
) -> SqlResult<BoxOperator<'p>> {
    Ok(if ordered {
        Box::new(OrderedGroups::new(plan, input, keys, calls, programs)?)
    } else {
        Box::new(GroupBy { expected, ..GroupBy::new(plan, input, keys, calls, rollup, programs)? })
    })
}

struct GroupBy<'p> {
    rows: Rows<'p>,
    calls: &'p [Aggregate],
    key_types: Vec<DataType>,
    rollup: bool,
    output_shapes: Vec<Physical>,

    row_keys: RowKeys,
    table: RowTable,
    /// Groups that are expected.
    expected: f64,
    /// Key values of each group; for ROLLUP, where the key is a sum, NULL.
    key_values: Vec<Column>,
    /// By aggregate.
    shared: Vec<Shared>,
    states: Vec<State>,
    group_count: usize,
    order: Vec<u32>,
    /// Rows of groups that did not fit: keys, then arguments.
    spilled: Option<Partitions>,
    spilled_shapes: Arc<[Physical]>,
    work: Vec<(Arc<SpillRows>, u32)>,
    /// ROLLUP with groups on disk: all of them, in order.
    sorted: Option<Sorter>,
    level: u32,
    done: bool,
    next: usize,
}

impl<'p> GroupBy<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        input: &'p Node,
        keys: &'p [Expr],
        calls: &'p [Aggregate],
        rollup: bool,
        programs: &mut Programs<'_>,
    ) -> SqlResult<GroupBy<'p>> {
        let rows = Rows::new(plan, input, keys, calls, programs)?;
        let key_types = key_types(keys);
        let row_keys = RowKeys::new(
            keys.iter().map(|key| (key.data_type.clone(), plan.is_reference(input, key))),
            plan,
        )?;
        let shared = calls.iter().map(|call| Shared::new(plan, input, call)).collect::<SqlResult<_>>()?;
        let key_shapes = || key_types.iter().map(DataType::physical);
        Ok(GroupBy {
            rows,
            calls,
            key_values: columns(key_shapes()),
            rollup,
            output_shapes: key_shapes().chain(calls.iter().map(|call| call.data_type.physical())).collect(),
            table: RowTable::new(&row_keys),
            expected: 0.0,
            row_keys,
            shared,
            states: Vec::new(),
            group_count: 0,
            order: Vec::new(),
            spilled: None,
            spilled_shapes: key_shapes().chain(arg_shapes(calls)).collect(),
            work: Vec::new(),
            sorted: None,
            level: 0,
            done: false,
            next: 0,
            key_types,
        })
    }

    /// No groups.
    fn clear(&mut self) {
        self.next = 0;
        self.group_count = 0;
        self.table.clear();
        for column in &mut self.key_values {
            // A pass begins with little memory, so that it has room for groups.
            if column.memory_bytes() > CLEARED_BYTES_MAX {
                *column = Column::new(column.physical());
            } else {
                column.clear();
            }
        }
        self.states.clear();
        self.order.clear();
    }

    /// Bytes of memory of the groups, without what DISTINCT has seen: that has a limit of its own.
    fn bytes(&self) -> usize {
        let keys: usize = self.key_values.iter().map(Column::memory_bytes).sum();
        let states: usize = self.states.iter().map(State::bytes).sum();
        self.table.bytes() + keys + states
    }

    /// The group of a key, made if it is new and there is room; else [`ELSEWHERE`]. The values of the first `part_count` keys
    /// are in row `row` of `keys`; the others are NULL (ROLLUP).
    #[inline]
    fn group(
        table: &mut KeyTable,
        key_values: &mut [Column],
        is_full: bool,
        (hash, key): (u64, &[u8]),
        values: (&[Column], usize, usize),
    ) -> u32 {
        if let Some(group) = table.find(hash, key) {
            return group;
        }
        if is_full {
            return ELSEWHERE;
        }
        keep_values(key_values, values);
        table.insert(hash, key)
    }

    /// The same where keys are prefix keys.
    #[inline(never)]
    fn prefix_key_group(
        &mut self,
        is_full: bool,
        (hash, key): (u64, &[u8]),
        values: (&[Column], usize, usize),
        ctx: &ExecContext<'_>,
    ) -> SqlResult<u32> {
        let bytes_max = if is_full { None } else { Some(usize::MAX) };
        Ok(match self.table.find_or_insert(hash, key, bytes_max, &self.row_keys, ctx)? {
            Found::Known(group) => group,
            Found::Absent => ELSEWHERE,
            Found::New(group) => {
                keep_values(&mut self.key_values, values);
                group
            }
        })
    }

    /// The first pass: rows from the input.
    fn fill(&mut self, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.begin();
        // An expectation that is wrong costs no more than a part of the limit.
        let expected = (self.expected as usize).min(limit / RESERVED_GROUP_BYTES);
        if expected >= RESERVED_MIN {
            self.table.plain.reserve(expected);
        }
        self.rows.start(ctx)?;
        let key_count = self.key_types.len();
        let mut key = Vec::new();
        let mut groups: Vec<u32> = Vec::new();
        let mut is_full = false;
        let mut row_count = 0;
        while let Some(rows) = self.rows.next(ctx)? {
            row_count += rows as u64;
            let levels = if self.rollup { 0..=key_count } else { key_count..=key_count };
            let args = std::mem::take(&mut self.rows.args);
            for level in levels {
                if planted::is(Plant::RollupLevel) && level == 1 && key_count > 1 {
                    continue;
                }
                groups.clear();
                let mut elsewhere = false;
                if key_count == 0 && !self.rollup {
                    self.group_count = 1;
                    groups.resize(rows, 0);
                } else {
                    for row in 0..rows {
                        key.clear();
                        let (hash, group) = if self.row_keys.are_prefix_keys() {
                            // WITH ROLLUP has none.
                            self.row_keys.append(&[], &self.rows.keys, row, ctx, &mut key)?;
                            let hash = self.table.hash(&key);
                            let keys = std::mem::take(&mut self.rows.keys);
                            let group =
                                self.prefix_key_group(is_full, (hash, &key), (&keys, row, level), ctx)?;
                            self.rows.keys = keys;
                            (hash, group)
                        } else {
                            if self.rollup {
                                key.push(level as u8);
                            }
                            for (column, data_type) in self.rows.keys.iter().zip(&self.key_types).take(level)
                            {
                                append_key(column.cell(row), data_type, false, &mut key);
                            }
                            let table = &mut self.table.plain;
                            let hash = table.hash(&key);
                            let values = (&self.rows.keys[..], row, level);
                            (hash, Self::group(table, &mut self.key_values, is_full, (hash, &key), values))
                        };
                        if group == ELSEWHERE {
                            elsewhere = true;
                            let keys = self.rows.keys.iter().enumerate().map(|(number, column)| {
                                if number < level { column.cell(row) } else { Cell::Null }
                            });
                            let cells = keys.chain(args.iter().map(|arg| arg.cell(row)));
                            spill_partitions(&mut self.spilled, &self.spilled_shapes, 0, limit, ctx)?
                                .push(hash, &key, cells)?;
                        }
                        groups.push(group);
                    }
                    self.group_count = self.table.len();
                }
                self.update(&groups, elsewhere, &args, limit, ctx)?;
            }
            self.rows.args = args;
            is_full = is_full || (key_count > 0 && self.bytes() > limit);
            ctx.check()?;
        }
        // Without GROUP BY there is a row even over nothing; so has WITH ROLLUP its last one.
        if key_count == 0 {
            self.group_count = 1;
        } else if self.rollup && self.group_count == 0 && self.spilled.is_none() {
            let hash = self.table.hash(&[0]);
            keep_values(&mut self.key_values, (&self.rows.keys, 0, 0));
            self.table.plain.insert(hash, &[0]);
            self.group_count = 1;
        }
        if key_count > 0 {
            let groups = self.group_count as u64;
            ctx.status.add(StatusKind::TmpTables, 1);
            ctx.status.add(StatusKind::ReadKey, row_count);
            ctx.status.add(StatusKind::Write, groups);
            ctx.status.add(StatusKind::Update, row_count.saturating_sub(groups));
            ctx.status.add(StatusKind::ReadRndNext, groups + 1);
        }
        self.finish_spilled(limit, ctx)
    }

    /// A later pass: spilled rows, all of one part.
    fn fill_part(
        &mut self,
        rows: &Arc<SpillRows>,
        level: u32,
        limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        self.clear();
        self.begin();
        self.level = level;
        let key_count = self.key_types.len();
        let mut reader = rows.reader()?;
        let mut batch = Batch::new(self.spilled_shapes.iter().copied());
        let mut keys = BytesColumn::new();
        let mut groups: Vec<u32> = Vec::new();
        let mut is_full = false;
        while reader.next_batch(&mut batch, &mut keys)? {
            groups.clear();
            let mut elsewhere = false;
            for (row, key) in keys.iter().enumerate() {
                let hash = self.table.hash(key);
                let values = (&batch.columns[..key_count], row, key_count);
                let group = if self.row_keys.are_prefix_keys() {
                    self.prefix_key_group(is_full, (hash, key), values, ctx)?
                } else {
                    let table = &mut self.table.plain;
                    Self::group(table, &mut self.key_values, is_full, (hash, key), values)
                };
                if group == ELSEWHERE {
                    elsewhere = true;
                    let cells = batch.columns.iter().map(|column| column.cell(row));
                    spill_partitions(&mut self.spilled, &self.spilled_shapes, level, limit, ctx)?
                        .push(hash, key, cells)?;
                }
                groups.push(group);
            }
            self.group_count = self.table.len();
            self.update(&groups, elsewhere, &batch.columns[key_count..], limit, ctx)?;
            is_full = is_full || self.bytes() > limit;
            batch.clear();
            keys.clear();
            ctx.check()?;
        }
        self.finish_spilled(limit, ctx)
    }

    fn begin(&mut self) {
        self.states =
            self.calls.iter().zip(&self.shared).map(|(call, shared)| State::new(call, shared)).collect();
    }

    /// Changes the states by rows of `args`, except those that are on disk.
    fn update(
        &mut self,
        groups: &[u32],
        elsewhere: bool,
        args: &[Column],
        limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let known_groups: Vec<u32>;
        let mut known_args;
        let (groups, args) = if elsewhere {
            let rows: Vec<u32> =
                (0..groups.len() as u32).filter(|&row| groups[row as usize] != ELSEWHERE).collect();
            known_groups = rows.iter().map(|&row| groups[row as usize]).collect();
            known_args = columns(args.iter().map(Column::physical));
            for (target, column) in known_args.iter_mut().zip(args) {
                target.gather_from(column, &rows);
            }
            (&known_groups[..], &known_args[..])
        } else {
            (groups, args)
        };
        let mut start = 0;
        for ((state, call), shared) in self.states.iter_mut().zip(self.calls).zip(&self.shared) {
            let width = call.args.len() + call.order_by.len();
            state.resize(self.group_count);
            state.update((call, shared), groups, &args[start..start + width], limit, ctx)?;
            start += width;
        }
        Ok(())
    }

    /// The rows of a pass have ended.
    fn finish_spilled(&mut self, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        for ((state, call), shared) in self.states.iter_mut().zip(self.calls).zip(&self.shared) {
            state.resize(self.group_count);
            state.finish_spilled((call, shared), limit, ctx)?;
            if self.rollup && call.function == AggregateFunction::Grouping {
                for group in 0..self.group_count {
                    state.set_level(call, group, usize::from(self.table.keys().get(group)[0]));
                }
            }
        }
        self.order = (0..self.group_count as u32).collect();
        if let Some(spilled) = self.spilled.take() {
            let level = spilled.level() + 1;
            let parts = spilled.finish()?.into_iter().filter(|part| part.row_count() > 0);
            self.work.extend(parts.map(|part| (part, level)));
        }
        Ok(())
    }

    /// The place of a group with ROLLUP: by its keys, each sum after what it sums.
    fn rollup_key(&self, group: usize, key: &mut Vec<u8>) {
        key.clear();
        let level = usize::from(self.table.keys().get(group)[0]);
        for (number, (column, data_type)) in self.key_values.iter().zip(&self.key_types).enumerate() {
            if number < level {
                append_key(column.cell(group), data_type, false, key);
            } else {
                key.push(0xff);
            }
        }
    }

    fn order_rollup(&mut self) {
        let mut sort_keys = BytesColumn::default();
        let mut key = Vec::new();
        for group in 0..self.group_count {
            self.rollup_key(group, &mut key);
            sort_keys.push(&key);
        }
        self.order.sort_by(|&a, &b| sort_keys.get(a as usize).cmp(sort_keys.get(b as usize)));
    }

    /// ROLLUP with groups on disk: this pass and all others into the sorter.
    fn sort_all(&mut self, limit: usize, ctx: &mut ExecContext<'_>) -> SqlResult<Sorter> {
        let mut sorter = Sorter::new(&self.output_shapes);
        let mut batch = Batch::new(self.output_shapes.iter().copied());
        let mut key = Vec::new();
        loop {
            loop {
                batch.clear();
                let first = self.next;
                if !self.emit(&mut batch, ctx)? {
                    break;
                }
                for &group in &self.order[first..self.next] {
                    self.rollup_key(group as usize, &mut key);
                    sorter.push_key(&key);
                }
                sorter.push_rows(&batch, limit, ctx)?;
                ctx.check()?;
            }
            let Some((rows, level)) = self.work.pop() else { break };
            self.fill_part(&rows, level, limit, ctx)?;
        }
        self.clear();
        sorter.finish(limit, ctx)?;
        Ok(sorter)
    }

    /// The next groups of this pass.
    fn emit(&mut self, out: &mut Batch, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        let end = (self.next + batch_rows_max()).min(self.order.len());
        let width = self.key_types.len();
        while self.next < end && !out.is_full() {
            let group = self.order[self.next] as usize;
            self.next += 1;
            for (target, column) in out.columns.iter_mut().zip(&self.key_values) {
                target.push_cell(column.cell(group));
            }
            for ((state, call), target) in
                self.states.iter_mut().zip(self.calls).zip(&mut out.columns[width..])
            {
                state.emit(call, group, target, ctx)?;
            }
            out.row_count += 1;
        }
        Ok(out.row_count > 0)
    }
}

/// A new group's keys, see [`GroupBy::group`].
#[inline]
fn keep_values(key_values: &mut [Column], (keys, row, part_count): (&[Column], usize, usize)) {
    for (number, (target, column)) in key_values.iter_mut().zip(keys).enumerate() {
        if number < part_count {
            target.push_cell(column.cell(row));
        } else {
            target.push_null();
        }
    }
}

/// The parts for spilled rows, made at the first.
fn spill_partitions<'a>(
    spilled: &'a mut Option<Partitions>,
    shapes: &Arc<[Physical]>,
    level: u32,
    limit: usize,
    ctx: &mut ExecContext<'_>,
) -> SqlResult<&'a mut Partitions> {
    if spilled.is_none() {
        ctx.count_disk_table(level);
        *spilled = Some(Partitions::new(shapes, level, limit, ctx)?);
    }
    spilled.as_mut().ok_or_else(|| crate::error::internal("spilled rows"))
}

impl Operator for GroupBy<'_> {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.done = false;
        self.clear();
        self.spilled = None;
        self.work.clear();
        self.sorted = None;
        self.rows.reset();
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        let limit = ctx.limits.temporary_bytes.min(LIMIT_BYTES_MAX);
        if !std::mem::replace(&mut self.done, true) {
            self.fill(limit, ctx)?;
            if self.rollup && !self.work.is_empty() {
                self.sorted = Some(self.sort_all(limit, ctx)?);
            } else if self.rollup {
                self.order_rollup();
            }
        }
        if let Some(sorter) = &mut self.sorted {
            return sorter.next(out);
        }
        loop {
            if self.emit(out, ctx)? {
                return Ok(true);
            }
            let Some((rows, level)) = self.work.pop() else { return Ok(false) };
            self.fill_part(&rows, level, limit, ctx)?;
        }
    }
}
