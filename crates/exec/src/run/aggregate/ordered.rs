//! GROUP BY over rows in an order in which those of a group stand side by side: a group is done when another begins. Nothing is kept but
//! the groups of a batch and the one that is open.

use plan::Expr;
use plan::physical::{Aggregate, Node, PhysicalPlan};
use types::vector::batch_rows_max;
use types::{Batch, Column, DataType};

use super::rows::{Rows, key_types};
use super::state::{Shared, State};
use super::values::is_same;
use crate::context::ExecContext;
use crate::expr::SqlResult;
use crate::programs::Programs;
use crate::row_buffer::columns;
use crate::run::Operator;
use crate::spill::LIMIT_BYTES_MAX;

pub(super) struct OrderedGroups<'p> {
    rows: Rows<'p>,
    calls: &'p [Aggregate],
    key_types: Vec<DataType>,
    shared: Vec<Shared>,
    /// Of the groups that are not given yet, and of those of this batch that are.
    key_values: Vec<Column>,
    states: Vec<State>,
    group_count: usize,
    /// The next group to give, and the first that is not done.
    next: usize,
    done: usize,
    has_started: bool,
    has_ended: bool,
    /// By row of a batch.
    groups: Vec<u32>,
}

impl<'p> OrderedGroups<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        input: &'p Node,
        keys: &'p [Expr],
        calls: &'p [Aggregate],
        programs: &mut Programs<'_>,
    ) -> SqlResult<OrderedGroups<'p>> {
        let rows = Rows::new(plan, input, keys, calls, programs)?;
        let shared = calls.iter().map(|call| Shared::new(plan, input, call)).collect::<SqlResult<_>>()?;
        Ok(OrderedGroups {
            rows,
            calls,
            key_values: columns(keys.iter().map(|key| key.data_type.physical())),
            key_types: key_types(keys),
            shared,
            states: Vec::new(),
            group_count: 0,
            next: 0,
            done: 0,
            has_started: false,
            has_ended: false,
            groups: Vec::new(),
        })
    }

    /// Forgets the groups that were given.
    fn drop_emitted(&mut self) {
        if self.next == 0 {
            return;
        }
        let left: Vec<u32> = (self.next as u32..self.group_count as u32).collect();
        for column in &mut self.key_values {
            let mut kept = Column::new(column.physical());
            kept.gather_from(column, &left);
            *column = kept;
        }
        self.states.iter_mut().for_each(|state| state.drop_groups(self.next));
        self.group_count -= self.next;
        self.done -= self.next;
        self.next = 0;
    }

    /// Reads a batch of rows. False: there are no more.
    fn read(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        let Some(rows) = self.rows.next(ctx)? else { return Ok(false) };
        self.groups.clear();
        for row in 0..rows {
            let is_open = self.group_count > 0
                && self.key_values.iter().zip(&self.rows.keys).zip(&self.key_types).all(
                    |((group, column), data_type)| {
                        is_same(group.cell(self.group_count - 1), column.cell(row), data_type)
                    },
                );
            if !is_open {
                for (group, column) in self.key_values.iter_mut().zip(&self.rows.keys) {
                    group.push_cell(column.cell(row));
                }
                self.group_count += 1;
            }
            self.groups.push(self.group_count as u32 - 1);
        }
        let limit = ctx.limits.temporary_bytes.min(LIMIT_BYTES_MAX);
        let mut start = 0;
        for ((state, call), shared) in self.states.iter_mut().zip(self.calls).zip(&self.shared) {
            let width = call.args.len() + call.order_by.len();
            let args = &self.rows.args[start..start + width];
            state.resize(self.group_count);
            state.update((call, shared), &self.groups, args, limit, ctx)?;
            start += width;
        }
        self.done = self.group_count.saturating_sub(1);
        ctx.check()?;
        Ok(true)
    }
}

impl Operator for OrderedGroups<'_> {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.rows.reset();
        self.key_values.iter_mut().for_each(Column::clear);
        self.states =
            self.calls.iter().zip(&self.shared).map(|(call, shared)| State::new(call, shared)).collect();
        (self.group_count, self.next, self.done) = (0, 0, 0);
        (self.has_started, self.has_ended) = (false, false);
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if !std::mem::replace(&mut self.has_started, true) {
            self.rows.start(ctx)?;
        }
        while self.next == self.done {
            if self.has_ended {
                return Ok(false);
            }
            self.drop_emitted();
            if !self.read(ctx)? {
                self.has_ended = true;
                self.done = self.group_count;
            }
        }
        let end = self.done.min(self.next + batch_rows_max());
        let width = self.key_types.len();
        while self.next < end && !out.is_full() {
            for (target, column) in out.columns.iter_mut().zip(&self.key_values) {
                target.push_cell(column.cell(self.next));
            }
            for ((state, call), target) in
                self.states.iter_mut().zip(self.calls).zip(&mut out.columns[width..])
            {
                state.emit(call, self.next, target, ctx)?;
            }
            self.next += 1;
            out.row_count += 1;
        }
        Ok(true)
    }
}
