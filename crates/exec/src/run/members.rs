//! `x = ANY (subquery)` and `x <> ALL (subquery)` over rows that do not depend on `x`: a set of their values, asked for each `x`.
//!
//! Invariants:
//! 1. The answer is that of comparing `x` with every row: a row with NULL, or an `x` with NULL, is compared by the condition itself wherever that may
//!    decide between false and unknown.
//! 2. The set takes no more memory than temporary tables and the statement may; if it would, there is none, and the rows are compared one by one.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use plan::Expr;
use plan::physical::{Node, PhysicalPlan};
use types::vector::BytesColumn;
use types::{Batch, Column};

use super::join_keys::{Keys, differ_in_sign};
use super::partition::slot_bytes;
use crate::context::{ExecContext, MaterializedCursor, MaterializedRows};
use crate::expr::SqlResult;
use crate::programs::Programs;
use crate::row_buffer::RowBuffer;

/// What must be free beside the set before a batch of rows is added.
const FILL_BYTES: usize = 1 << 20;

/// What the set says of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Member {
    /// It is one.
    Yes,
    /// None of the rows without NULL is equal: the others decide.
    AskRowsWithNull,
    /// The value itself has a NULL: all rows decide.
    AskAll,
}

pub(super) struct Members {
    left: Keys,
    right: Keys,
    key_bytes: BytesColumn,
    table: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
    /// Rows with a NULL among their values; one is enough where there is only one value.
    with_null: RowBuffer,
    /// Rows were too many.
    is_given_up: bool,
    is_filled: bool,
    key: Vec<u8>,
}

impl Members {
    /// A set for the rows of `subquery`, to be asked for those of `input`.
    pub(super) fn new(
        plan: &PhysicalPlan,
        input: &Node,
        subquery: &Node,
        keys: &[(Expr, Expr)],
        programs: &mut Programs<'_>,
    ) -> SqlResult<Members> {
        let null_safe = vec![false; keys.len()];
        let mixed: Vec<bool> = keys.iter().map(|(left, right)| differ_in_sign(left, right)).collect();
        let left_exprs = keys.iter().map(|(left, _)| left);
        let left = Keys::new(plan, input, left_exprs, null_safe.clone(), mixed.clone(), programs)?;
        let right =
            Keys::new(plan, subquery, keys.iter().map(|(_, right)| right), null_safe, mixed, programs)?;
        Ok(Members {
            left,
            right,
            key_bytes: BytesColumn::default(),
            table: HashTable::new(),
            hasher: foldhash::fast::FixedState::default(),
            with_null: RowBuffer::default(),
            is_given_up: false,
            is_filled: false,
            key: Vec::new(),
        })
    }

    /// Another execution starts.
    pub(super) fn reset(&mut self) {
        self.left.reset();
        self.right.reset();
        self.clear();
    }

    fn clear(&mut self) {
        self.key_bytes.clear();
        self.table.clear();
        self.with_null.clear();
        (self.is_given_up, self.is_filled) = (false, false);
    }

    /// The values of `input` are asked for next. Fills the set with the rows of `materialized` before the first of them.
    pub(super) fn prepare(
        &mut self,
        input: &Batch,
        materialized: &MaterializedRows,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        if !self.is_filled {
            self.is_filled = true;
            self.fill(materialized, ctx)?;
        }
        if self.is_given_up { Ok(()) } else { self.left.evaluate(input, ctx) }
    }

    fn fill(&mut self, materialized: &MaterializedRows, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        // Beside no rows no value is computed.
        self.is_given_up = materialized.is_empty();
        let mut cursor = MaterializedCursor::default();
        let mut key = std::mem::take(&mut self.key);
        while let Some(batch) = cursor.next(materialized)? {
            ctx.check()?;
            // What grows doubles.
            if self.bytes() > ctx.limits.temporary_bytes
                || !env::memory::would_fit(2 * self.bytes() + FILL_BYTES)
            {
                self.clear();
                (self.is_given_up, self.is_filled) = (true, true);
                break;
            }
            self.right.evaluate(batch, ctx)?;
            for row in 0..batch.row_count {
                if self.right.key(row, ctx, &mut key)? {
                    self.insert(&key);
                } else if self.right.values.len() > 1 || self.with_null.len() == 0 {
                    let mut one = Batch::new(batch.columns.iter().map(Column::physical));
                    crate::row_buffer::gather(batch, &[row as u32], &mut one, 0);
                    one.row_count = 1;
                    self.with_null.push(&one);
                }
            }
        }
        self.key = key;
        Ok(())
    }

    fn insert(&mut self, key: &[u8]) {
        let (key_bytes, hasher) = (&mut self.key_bytes, &self.hasher);
        let is_it = |&other: &u32| key_bytes.get(other as usize) == key;
        let hash_of = |&other: &u32| hasher.hash_one(key_bytes.get(other as usize));
        if let hashbrown::hash_table::Entry::Vacant(entry) =
            self.table.entry(hasher.hash_one(key), is_it, hash_of)
        {
            entry.insert(key_bytes.len() as u32);
            key_bytes.push(key);
        }
    }

    fn bytes(&self) -> usize {
        self.key_bytes.memory_bytes() + slot_bytes(&self.table) + self.with_null.bytes()
    }

    /// What the set says of a row of the input that was prepared; `None`: it was given up.
    pub(super) fn probe(&mut self, row: usize, ctx: &ExecContext<'_>) -> SqlResult<Option<Member>> {
        if self.is_given_up {
            return Ok(None);
        }
        if !self.left.key(row, ctx, &mut self.key)? {
            return Ok(Some(Member::AskAll));
        }
        let hash = self.hasher.hash_one(&self.key[..]);
        let found = self.table.find(hash, |&other| self.key_bytes.get(other as usize) == self.key);
        Ok(Some(if found.is_some() { Member::Yes } else { Member::AskRowsWithNull }))
    }

    /// The rows with a NULL among their values.
    pub(super) fn rows_with_null(&self) -> &[Batch] {
        &self.with_null.batches
    }

    /// A value is one column: any row decides as all do where it is NULL.
    pub(super) fn is_single(&self) -> bool {
        self.right.values.len() == 1
    }
}
