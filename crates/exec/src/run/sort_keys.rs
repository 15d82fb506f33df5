//! The keys of ORDER BY: how a row's are made, and how much of a large value they hold.
//!
//! A large value that lies apart from its row takes part with its beginning. A key ends where such a beginning ends, so
//! that it is *open*: what sorts among the keys that begin with it is not known yet. [`DEPTHS`] says how much is read
//! to know more.

use std::sync::Arc;

use plan::Expr;
use plan::logical::PartKind;
use plan::physical::{Node, PhysicalPlan};
use table::codec::row::LargeReference;
use table::{Table, Whole};
use types::collation::Padding;
use types::{Batch, Cell, Column, DataType};

use super::kept::columns;
use super::scan::local_table;
use crate::context::ExecContext;
use crate::error::store_error;
use crate::expr::{Program, Scratch, SqlResult};
use crate::key::append_key;
use crate::prepare::Programs;

/// Bytes of a value in a key, each time that fewer did not tell rows apart: those in the row, then as many as say here.
pub(super) const DEPTHS: [u64; 4] = [0, 2 << 10, 64 << 10, u64::MAX];

/// One key.
struct SortKey {
    data_type: DataType,
    descending: bool,
    /// Padding spaces: only `max_sort_length` bytes of weights count.
    is_cut: bool,
    /// The table among whose large values the key's may be.
    apart: Option<Arc<Table>>,
}

/// All keys of an order.
pub(super) struct SortKeys {
    program: Arc<Program>,
    scratch: Scratch,
    values: Vec<Column>,
    keys: Vec<SortKey>,
    /// Some key may lie apart.
    are_apart: bool,
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
                Ok(SortKey {
                    is_cut,
                    apart: table_apart(plan, input, expr)?,
                    data_type,
                    descending: *descending,
                })
            })
            .collect::<SqlResult<Vec<SortKey>>>()?;
        let are_apart = keys.iter().any(|key| key.apart.is_some());
        Ok(SortKeys { program, scratch, values, keys, are_apart, start: Vec::new() })
    }

    /// Whether some value may lie apart from its row.
    pub(super) fn are_apart(&self) -> bool {
        self.are_apart
    }

    /// Values of outer rows or parameters have changed.
    pub(super) fn reset(&mut self) {
        self.scratch.reset();
    }

    /// Computes the values of the rows of `batch`.
    pub(super) fn evaluate(&mut self, batch: &Batch, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.program.eval(&mut self.scratch, batch, &mut ctx.eval, &mut self.values)
    }

    /// Appends the key of row `row`; no value lies apart.
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
            let (Some(table), Cell::Bytes(bytes)) = (&key.apart, cell) else {
                append_key(key.cut(cell, ctx), &key.data_type, key.descending, out);
                continue;
            };
            let (reference, prefix) = match Whole::read(bytes) {
                Whole::Here(bytes) => {
                    append_key(key.cut(Cell::Bytes(bytes), ctx), &key.data_type, key.descending, out);
                    continue;
                }
                Whole::Apart(reference, prefix) => (reference, prefix),
            };
            let start = if depth == 0 {
                prefix
            } else {
                self.start.clear();
                let wanted = key.bytes_that_count(reference, ctx).min(DEPTHS[depth]);
                table
                    .fetch_large_piece(ctx.reader()?, reference, 0, wanted, &mut self.start)
                    .map_err(|error| store_error(&error))?;
                &self.start
            };
            if start.len() as u64 >= key.bytes_that_count(reference, ctx) {
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
            if key.apart.is_some()
                && let Cell::Bytes(bytes) = column.cell(row)
                && let Whole::Apart(reference, prefix) = Whole::read(bytes)
            {
                key.bytes_that_count(reference, ctx) > DEPTHS[depth].max(prefix.len() as u64)
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

/// The table of whose column a key is what the pass `parts` calls whole: the value, or where it lies.
fn table_apart(plan: &PhysicalPlan, input: &Node, key: &Expr) -> SqlResult<Option<Arc<Table>>> {
    let plan::ExprKind::Input(position) = key.kind else { return Ok(None) };
    let Some(id) = input.columns.get(position as usize) else { return Ok(None) };
    for (number, table) in plan.tables.iter().enumerate() {
        if table.parts.iter().any(|part| part.id == *id && part.kind == PartKind::Whole) {
            return local_table(plan, plan::logical::TableIndex(number as u32)).map(Some);
        }
    }
    Ok(None)
}
