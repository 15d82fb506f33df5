//! Operands that an expression reads several times: the value of NULLIF, which is compared and given, that of BETWEEN, which is compared with
//! two bounds, that of IN beside items of several classes.
//!
//! Invariants:
//! 1. An operand is compiled once for each conversion that is asked of it, however deep such expressions are nested. So a program has no more
//!    nodes than its expressions have parts times the few conversions that there are.
//! 2. Its values are computed once for the rows of a batch, and read by whoever asks for these rows or for some of them.
//! 3. NULLIF evaluates its operand twice in MySQL, as can be seen of what warns or gives another value each time. So values of NULLIF that do
//!    are computed again; BETWEEN and IN compute theirs once.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plan::expr::Expr;
use plan::rewrite::is_repeatable;
use types::{Batch, Column};

use super::context::SqlResult;
use super::convert::Target;
use super::program::{Node, Run};
use super::vector::{Operand, Rows};

/// A node that several nodes read.
#[derive(Debug)]
pub(super) struct Shared {
    node: Node,
    slot: usize,
    /// The same for all rows: computed for one.
    is_constant: bool,
    /// What computing it gives or warns of may differ each time.
    is_volatile: bool,
    /// See [`SharedOperand::is_once`].
    is_once: bool,
}

/// An operand while what reads it is compiled.
#[derive(Debug)]
struct SharedOperand {
    /// Its value is that of one evaluation.
    is_once: bool,
    /// As it is, and what it is converted to.
    nodes: Vec<(Option<Target>, Arc<Shared>)>,
}

/// The operands of the outermost expression that reads one several times, and of those inside it. They are known by where they are in
/// memory, so that all of this ends with that expression.
#[derive(Debug, Default)]
pub(super) struct SharedOperands {
    operands: HashMap<*const Expr, SharedOperand, FixedState>,
    /// Those of NULLIF, by its first argument.
    comparisons: HashMap<*const Expr, Arc<Shared>, FixedState>,
    /// Those that references read, by their numbers.
    named: HashMap<u64, Arc<Shared>, FixedState>,
    is_open: bool,
}

impl SharedOperands {
    /// Makes `operands` known; whether they are those of an outermost expression.
    pub(super) fn enter(&mut self, operands: &[&Expr], is_once: bool) -> bool {
        for &operand in operands {
            let known = self.operands.entry(std::ptr::from_ref(operand));
            known.or_insert_with(|| SharedOperand { is_once, nodes: Vec::new() }).is_once |= is_once;
        }
        !std::mem::replace(&mut self.is_open, true)
    }

    /// Forgets what is known by where it is in memory.
    pub(super) fn close(&mut self) {
        self.operands.clear();
        self.comparisons.clear();
        self.is_open = false;
    }

    /// Nothing but what references can read.
    pub(super) fn only_named(&self) -> SharedOperands {
        SharedOperands { named: self.named.clone(), ..SharedOperands::default() }
    }

    /// Makes the operand with this number known: what had the number before.
    pub(super) fn name(&mut self, number: u64, node: Node) -> Option<Arc<Shared>> {
        match node {
            Node::Shared(shared) => self.named.insert(number, shared),
            _ => None,
        }
    }

    pub(super) fn unname(&mut self, number: u64, before: Option<Arc<Shared>>) {
        match before {
            Some(shared) => self.named.insert(number, shared),
            None => self.named.remove(&number),
        };
    }

    pub(super) fn named(&self, number: u64) -> Option<Arc<Shared>> {
        self.named.get(&number).map(Arc::clone)
    }

    /// Inside an expression that reads an operand several times?
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) fn holds(&self, expr: &Expr) -> bool {
        self.is_open && self.operands.contains_key(&std::ptr::from_ref(expr))
    }

    pub(super) fn find(&self, expr: &Expr, target: Option<&Target>) -> Option<Arc<Shared>> {
        let operand = self.operands.get(&std::ptr::from_ref(expr))?;
        let found = operand.nodes.iter().find(|(other, _)| other.as_ref() == target);
        found.map(|(_, shared)| Arc::clone(shared))
    }

    pub(super) fn keep(
        &mut self,
        expr: &Expr,
        target: Option<&Target>,
        (node, is_constant): (Node, bool),
        slot: usize,
    ) -> Arc<Shared> {
        let operand = self.operands.get_mut(&std::ptr::from_ref(expr));
        let is_once = operand.as_ref().is_some_and(|operand| operand.is_once);
        let shared = Arc::new(Shared { node, slot, is_constant, is_volatile: !is_repeatable(expr), is_once });
        if let Some(operand) = operand {
            operand.nodes.push((target.cloned(), Arc::clone(&shared)));
        }
        shared
    }

    pub(super) fn find_comparison(&self, args: &[Expr]) -> Option<Arc<Shared>> {
        self.comparisons.get(&args.as_ptr()).map(Arc::clone)
    }

    pub(super) fn keep_comparison(&mut self, args: &[Expr], node: Node, slot: usize) -> Arc<Shared> {
        let is_volatile = !args.iter().all(is_repeatable);
        let shared = Arc::new(Shared { node, slot, is_constant: false, is_volatile, is_once: false });
        self.comparisons.insert(args.as_ptr(), Arc::clone(&shared));
        shared
    }
}

/// Values that were computed for rows of a batch.
struct Values {
    /// Which evaluation of the outermost expression computed them.
    evaluation: u64,
    rows: Vec<u32>,
    /// One for each row, or one for all.
    column: Arc<Column>,
    is_constant: bool,
}

impl Values {
    /// The values of `rows`, if all of them are there.
    fn of(&self, rows: Rows<'_>) -> Option<Operand<'static>> {
        let is_row = |(i, &row): (usize, &u32)| rows.input_row(i) == row;
        if !self.is_constant && rows.len() == self.rows.len() && self.rows.iter().enumerate().all(is_row) {
            return Some(Operand::of_rows(Arc::clone(&self.column)));
        }
        let mut at = 0;
        let mut positions = Vec::with_capacity(rows.len());
        for i in 0..rows.len() {
            let row = rows.input_row(i);
            at += self.rows.get(at..)?.iter().position(|&other| other == row)?;
            positions.push(at as u32);
        }
        if self.is_constant {
            return Some(Operand::shared(Arc::clone(&self.column)));
        }
        let mut column = Column::new(self.column.physical());
        column.gather_from(&self.column, &positions);
        Some(Operand::owned(column))
    }
}

impl Shared {
    pub(super) fn eval<'b>(
        self: &'b Arc<Shared>,
        input: &'b Batch,
        run: &mut Run<'_, '_>,
        rows: Rows<'_>,
    ) -> SqlResult<Operand<'b>> {
        if self.is_constant {
            return self.eval_constant(input, run);
        }
        let is_read_once = Arc::strong_count(self) == 1;
        if is_read_once || self.is_volatile && !self.is_once {
            // Nested ones take time that doubles with each level: they can be killed.
            run.count_values(rows.len().max(1))?;
            return self.node.eval(input, run, rows);
        }
        let evaluation = run.scratch.shared_evaluation;
        let values = run.scratch.slots[self.slot].state.as_ref();
        if let Some(values) = values.and_then(|state| state.downcast_ref::<Values>())
            && values.evaluation == evaluation
            && let Some(operand) = values.of(rows)
        {
            return Ok(operand);
        }
        // Each level of an expression that warns computes the one below it again.
        run.count_values(rows.len().max(1))?;
        let warnings = run.ctx.warnings.total();
        let operand = self.node.eval(input, run, rows)?;
        if self.is_computed_again(warnings, run) {
            return Ok(operand);
        }
        let is_constant = operand.is_constant();
        let column = Arc::new(match operand.into_owned_or_borrowed() {
            Ok(column) => column,
            Err(operand) => operand.column().clone(),
        });
        let rows = (0..rows.len()).map(|i| rows.input_row(i)).collect();
        let values = Values { evaluation, rows, column: Arc::clone(&column), is_constant };
        run.scratch.slots[self.slot].state = Some(Box::new(values));
        Ok(if is_constant { Operand::shared(column) } else { Operand::of_rows(column) })
    }

    /// Whether the next reader computes it again: it has warned, and there were `warnings` before. Once more warnings cannot be seen it
    /// does not, so that nested ones take no time that doubles with each level.
    fn is_computed_again(&self, warnings: u64, run: &Run<'_, '_>) -> bool {
        let now = &run.ctx.warnings;
        !self.is_once && now.total() != warnings && !now.is_count_full()
    }

    /// As `Node::Once`, but what NULLIF reads and warns is computed again.
    fn eval_constant<'b>(&'b self, input: &'b Batch, run: &mut Run<'_, '_>) -> SqlResult<Operand<'b>> {
        if let Some(constant) = &run.scratch.slots[self.slot].constant {
            return Ok(Operand::shared(Arc::clone(constant)));
        }
        run.count_values(1)?;
        let warnings = run.ctx.warnings.total();
        let column = self.node.constant(input, run)?;
        if !self.is_computed_again(warnings, run) {
            run.scratch.slots[self.slot].constant = Some(Arc::clone(&column));
        }
        Ok(Operand::shared(column))
    }
}
