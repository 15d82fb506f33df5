//! The keys of ORDER BY: how a row's are made, and how much of a large value they hold.
//!
//! A large value stored out of line takes part with its beginning. A key ends where such a beginning ends, so
//! that it is *open*: what sorts among the keys that begin with it is not known yet. [`DEPTHS`] says how much is read
//! to know more.

use std::sync::Arc;

use access::{LargeReference, MaybeLarge};
use plan::Expr;
use plan::physical::{Node, PhysicalPlan};
use types::collation::Padding;
use types::{Batch, Cell, Column, DataType, TypeKind};

use crate::context::ExecContext;
use crate::expr::{Program, Scratch, SqlResult};
use crate::key::append_key;
use crate::output::LargeTables;
use crate::programs::Programs;
use crate::row_buffer::columns;

/// Bytes of a value in a key, each time that fewer did not distinguish rows: those in the row, then as many as say here.
pub(super) const DEPTHS: [u64; 4] = [0, 2 << 10, 64 << 10, u64::MAX];

/// One key.
struct SortKey {
    data_type: DataType,
    descending: bool,
    /// Padding spaces: only `max_sort_length` bytes of weights count.
    is_cut: bool,
    /// The values may be references to values stored out of line.
    is_reference: bool,
}

/// All keys of an order.
pub(super) struct SortKeys {
    program: Arc<Program>,
    scratch: Scratch,
    values: Vec<Column>,
    keys: Vec<SortKey>,
    /// Some key may be stored out of line.
    have_references: bool,
    tables: LargeTables,
    /// Memory for a beginning.
    start: Vec<u8>,
}

impl SortKeys {
    /// `keys` over the rows of `input`.
    pub(super) fn new(
        plan: &PhysicalPlan,
        input: &Node,
        keys: &[(Expr, bool)],
        programs: &mut Programs<'_>,
    ) -> SqlResult<SortKeys> {
        let exprs: Vec<Expr> = keys.iter().map(|(expr, _)| expr.clone()).collect();
        let program = programs.take(&exprs)?;
        let scratch = program.scratch();
        let values = columns(exprs.iter().map(|expr| expr.data_type.physical()));
        let keys = keys
            .iter()
            .map(|(expr, descending)| {
                let data_type = expr.data_type.clone();
                let is_cut = data_type.is_string() && data_type.collation.info().padding == Padding::PadSpace;
                let is_reference = plan.is_reference(input, expr);
                SortKey { is_cut, is_reference, data_type, descending: *descending }
            })
            .collect::<Vec<SortKey>>();
        let have_references = keys.iter().any(|key| key.is_reference);
        let tables = if have_references { LargeTables::of(plan)? } else { LargeTables::default() };
        Ok(SortKeys { program, scratch, values, keys, have_references, tables, start: Vec::new() })
    }

    /// Whether some value may be stored out of line.
    pub(super) fn have_references(&self) -> bool {
        self.have_references
    }

    /// Values of outer rows or parameters have changed.
    pub(super) fn reset(&mut self) {
        self.scratch.reset();
    }

    /// Computes the values of the rows of `batch`.
    pub(super) fn evaluate(&mut self, batch: &Batch, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.program.eval(&mut self.scratch, batch, &mut ctx.eval, &mut self.values)
    }

    /// Appends the key of row `row`; all values are inline.
    #[inline]
    pub(super) fn append(&self, row: usize, ctx: &ExecContext<'_>, out: &mut Vec<u8>) {
        for (column, key) in self.values.iter().zip(&self.keys) {
            append_key(key.cut(column.cell(row), ctx), &key.data_type, key.descending, out);
        }
    }

    /// Appends the key of row `row` with large values as far as `depth` says. Answers whether it is open.
    pub(super) fn append_to_depth(
        &mut self,
        row: usize,
        depth: usize,
        ctx: &ExecContext<'_>,
        out: &mut Vec<u8>,
    ) -> SqlResult<bool> {
        for (column, key) in self.values.iter().zip(&self.keys) {
            let cell = column.cell(row);
            let (true, Cell::Bytes(bytes)) = (key.is_reference, cell) else {
                append_key(key.cut(cell, ctx), &key.data_type, key.descending, out);
                continue;
            };
            let place = match MaybeLarge::read(bytes) {
                MaybeLarge::Inline(bytes) => {
                    append_key(key.cut(Cell::Bytes(bytes), ctx), &key.data_type, key.descending, out);
                    continue;
                }
                MaybeLarge::OutOfLine(place) => place,
            };
            // A document is compared as a whole.
            let depth = if key.data_type.kind == TypeKind::Json { DEPTHS.len() - 1 } else { depth };
            let start = if depth == 0 {
                place.prefix
            } else {
                self.start.clear();
                let wanted = key.bytes_that_count(place.reference, ctx).min(DEPTHS[depth]);
                self.tables.value(place, ctx.large_reader()?)?.read_piece(0, wanted, &mut self.start)?;
                &self.start
            };
            if start.len() as u64 >= key.bytes_that_count(place.reference, ctx) {
                append_key(key.cut(Cell::Bytes(start), ctx), &key.data_type, key.descending, out);
                continue;
            }
            // As a whole key begins, NULL or not.
            let from = out.len();
            out.push(1);
            key.data_type.collation.sort_key_of_start(start, out);
            if key.descending {
                out[from..].iter_mut().for_each(|byte| *byte = !*byte);
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether the key of row `row` is open at `depth`.
    pub(super) fn is_open(&self, row: usize, depth: usize, ctx: &ExecContext<'_>) -> bool {
        self.values.iter().zip(&self.keys).any(|(column, key)| {
            if key.is_reference
                && let Cell::Bytes(bytes) = column.cell(row)
                && let MaybeLarge::OutOfLine(place) = MaybeLarge::read(bytes)
            {
                key.bytes_that_count(place.reference, ctx) > DEPTHS[depth].max(place.prefix.len() as u64)
            } else {
                false
            }
        })
    }
}

impl SortKey {
    /// What an order looks at of a value.
    #[inline]
    fn cut<'c>(&self, cell: Cell<'c>, ctx: &ExecContext<'_>) -> Cell<'c> {
        match cell {
            Cell::Bytes(text) if self.is_cut => {
                Cell::Bytes(self.data_type.collation.sort_prefix(text, ctx.limits.sort_value_bytes))
            }
            cell => cell,
        }
    }

    /// So many first bytes of a large value the order looks at, at most.
    fn bytes_that_count(&self, reference: LargeReference, ctx: &ExecContext<'_>) -> u64 {
        let most = if self.is_cut {
            self.data_type.collation.sort_prefix_bytes(ctx.limits.sort_value_bytes)
        } else {
            None
        };
        most.map_or(reference.length, |most| reference.length.min(most as u64))
    }
}
