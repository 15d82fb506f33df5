//! The keys by which a hash table finds what equals a row's values.

use std::sync::Arc;

use plan::Expr;
use plan::physical::{Node, PhysicalPlan};
use types::planted::{self, Plant};
use types::{Batch, CollationId, Column, DataType, Physical, TypeKind};

use super::RowKeys;
use crate::context::ExecContext;
use crate::expr::{Program, Scratch, SqlResult};
use crate::key::{append_key, append_mixed_integer_key};
use crate::programs::Programs;
use crate::row_buffer::columns;

/// The keys of one side.
pub(super) struct Keys {
    program: Arc<Program>,
    scratch: Scratch,
    pub(super) values: Vec<Column>,
    types: Vec<DataType>,
    pub(super) row_keys: RowKeys,
    null_safe: Vec<bool>,
    /// Keys whose two sides are integers, one signed and one unsigned.
    mixed: Vec<bool>,
    any_mixed: bool,
}

impl Keys {
    pub(super) fn new<'e>(
        plan: &PhysicalPlan,
        input: &Node,
        keys: impl Iterator<Item = &'e Expr>,
        null_safe: Vec<bool>,
        mixed: Vec<bool>,
        programs: &mut Programs<'_>,
    ) -> SqlResult<Keys> {
        let exprs: Vec<Expr> = keys.cloned().collect();
        let program = programs.take(&exprs)?;
        let scratch = program.scratch();
        let values = columns(exprs.iter().map(|expr| expr.data_type.physical()));
        let are_references = exprs.iter().map(|expr| plan.is_reference(input, expr)).collect::<Vec<_>>();
        let mut types: Vec<DataType> = exprs.into_iter().map(|expr| expr.data_type).collect();
        if planted::is(Plant::HashBytes) {
            types.iter_mut().for_each(|of| of.collation = CollationId::BINARY);
        }
        let mut row_keys = RowKeys::new(types.iter().cloned().zip(are_references), plan)?;
        row_keys.set_mixed(&mixed);
        let any_mixed = mixed.contains(&true);
        Ok(Keys { program, scratch, values, types, row_keys, null_safe, mixed, any_mixed })
    }

    /// Whether a key is one integer, so that it is a number as well ([`Keys::number`], [`number_of`]).
    pub(super) fn are_numbers(&self) -> bool {
        matches!(&self.values[..], [column] if column.physical() == Physical::Int)
            && self.null_safe == [false]
            && !self.any_mixed
    }

    /// The key of a row as a number; none if a NULL keeps it from having partners.
    #[inline(always)]
    pub(super) fn number(&self, row: usize) -> Option<u64> {
        let column = &self.values[0];
        if column.is_null(row) {
            return None;
        }
        let bits = column.ints()[row].cast_unsigned();
        Some(if self.types[0].unsigned { bits } else { bits ^ 1 << 63 })
    }

    /// Another execution starts.
    pub(super) fn reset(&mut self) {
        self.scratch.reset();
    }

    pub(super) fn evaluate(&mut self, input: &Batch, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.program.eval(&mut self.scratch, input, &mut ctx.eval, &mut self.values)
    }

    /// The key of a row; false if a NULL keeps it from having partners.
    #[inline(always)]
    pub(super) fn key(&self, row: usize, ctx: &ExecContext<'_>, out: &mut Vec<u8>) -> SqlResult<bool> {
        out.clear();
        if self.row_keys.are_prefix_keys() {
            return self.seed(row, ctx, out);
        }
        if self.any_mixed {
            return Ok(self.mixed_key(row, out));
        }
        for ((column, data_type), null_safe) in self.values.iter().zip(&self.types).zip(&self.null_safe) {
            if column.is_null(row) && !null_safe {
                return Ok(false);
            }
            append_key(column.cell(row), data_type, false, out);
        }
        Ok(true)
    }

    #[inline(never)]
    fn mixed_key(&self, row: usize, out: &mut Vec<u8>) -> bool {
        let columns = self.values.iter().zip(&self.types);
        for ((column, data_type), (null_safe, mixed)) in columns.zip(self.null_safe.iter().zip(&self.mixed)) {
            if column.is_null(row) && !null_safe {
                return false;
            }
            if *mixed {
                append_mixed_integer_key(column.cell(row), data_type.unsigned, out);
            } else {
                append_key(column.cell(row), data_type, false, out);
            }
        }
        true
    }

    #[inline(never)]
    fn seed(&self, row: usize, ctx: &ExecContext<'_>, out: &mut Vec<u8>) -> SqlResult<bool> {
        let keyless = |(column, null_safe): (&Column, &bool)| column.is_null(row) && !null_safe;
        if self.values.iter().zip(&self.null_safe).any(keyless) {
            return Ok(false);
        }
        self.row_keys.append(&[], &self.values, row, ctx, out)?;
        Ok(true)
    }
}

/// The number of the key of one integer that is not NULL.
pub(super) fn number_of(key: &[u8]) -> u64 {
    key.last_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The key of a number.
pub(super) fn key_of_number(number: u64) -> [u8; 9] {
    let mut key = [1; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Integers of which one side is signed and the other unsigned.
pub(super) fn differ_in_sign(left: &Expr, right: &Expr) -> bool {
    let (left, right) = (&left.data_type, &right.data_type);
    if planted::is(Plant::SignedKey) {
        return false;
    }
    let is_own = |of: &DataType| matches!(of.kind, TypeKind::Year | TypeKind::Bit);
    if planted::is(Plant::YearKey) && (is_own(left) || is_own(right)) {
        return false;
    }
    left.is_integer() && right.is_integer() && left.unsigned != right.unsigned
}
