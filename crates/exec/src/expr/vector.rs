//! Operands of kernels: columns that are borrowed, owned or shared, constants being columns of one row.

use std::sync::Arc;
use types::{Cell, Column, Decimal, Physical};

/// Which rows of the input a node is evaluated for. Its result has one row for each, in this order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rows<'r> {
    /// All rows of a batch of this many.
    All(usize),
    /// These.
    Some(&'r [u32]),
}

impl Rows<'_> {
    pub(super) fn len(self) -> usize {
        match self {
            Rows::All(count) => count,
            Rows::Some(rows) => rows.len(),
        }
    }

    /// The input row of the `i`-th.
    pub(super) fn input_row(self, i: usize) -> u32 {
        match self {
            Rows::All(_) => i as u32,
            Rows::Some(rows) => rows[i],
        }
    }
}

enum Source<'b> {
    Borrowed(&'b Column),
    Owned(Column),
    Shared(Arc<Column>),
}

/// The result of a node: a column with a row for each row asked for, or with one row that stands for all.
pub(super) struct Operand<'b> {
    source: Source<'b>,
    constant: bool,
}

impl<'b> Operand<'b> {
    pub(super) fn borrowed(column: &'b Column) -> Operand<'b> {
        Operand { source: Source::Borrowed(column), constant: false }
    }

    pub(super) fn constant(column: &'b Column) -> Operand<'b> {
        Operand { source: Source::Borrowed(column), constant: true }
    }

    pub(super) fn shared(column: Arc<Column>) -> Operand<'b> {
        Operand { source: Source::Shared(column), constant: true }
    }

    pub(super) fn of_rows(column: Arc<Column>) -> Operand<'b> {
        Operand { source: Source::Shared(column), constant: false }
    }

    pub(super) fn owned(column: Column) -> Operand<'b> {
        Operand { source: Source::Owned(column), constant: false }
    }

    pub(super) fn owned_constant(column: Column) -> Operand<'b> {
        Operand { source: Source::Owned(column), constant: true }
    }

    pub(super) fn column(&self) -> &Column {
        match &self.source {
            Source::Borrowed(column) => column,
            Source::Owned(column) => column,
            Source::Shared(column) => column,
        }
    }

    pub(super) fn is_constant(&self) -> bool {
        self.constant
    }

    pub(super) fn view(&self) -> View<'_> {
        View { column: self.column(), step: usize::from(!self.constant) }
    }

    /// The column if it is ours, else the operand again.
    pub(super) fn into_owned_or_borrowed(self) -> Result<Column, Operand<'b>> {
        match self.source {
            Source::Owned(column) => Ok(column),
            _ => Err(self),
        }
    }

    /// The column if it is ours, to give its memory back.
    pub(super) fn into_owned(self) -> Option<Column> {
        match self.source {
            Source::Owned(column) => Some(column),
            _ => None,
        }
    }
}

/// A column read by row; a constant gives its one row for every row.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    column: &'a Column,
    step: usize,
}

impl<'a> View<'a> {
    pub(super) fn column(self) -> &'a Column {
        self.column
    }

    pub(super) fn is_constant(self) -> bool {
        self.step == 0
    }

    pub(super) fn may_be_null(self) -> bool {
        self.column.nulls.any()
    }

    #[inline]
    pub(super) fn is_null(self, row: usize) -> bool {
        self.column.nulls.is_null(row * self.step)
    }

    #[inline]
    pub(super) fn int(self, row: usize) -> i64 {
        self.column.ints()[row * self.step]
    }

    #[inline]
    pub(super) fn double(self, row: usize) -> f64 {
        self.column.doubles()[row * self.step]
    }

    #[inline]
    pub(super) fn decimal(self, row: usize) -> &'a Decimal {
        &self.column.decimals()[row * self.step]
    }

    #[inline]
    pub(super) fn bytes(self, row: usize) -> &'a [u8] {
        self.column.bytes().get(row * self.step)
    }

    #[inline]
    pub(super) fn cell(self, row: usize) -> Cell<'a> {
        self.column.cell(row * self.step)
    }
}

/// Columns kept between evaluations so that their memory is used again.
#[derive(Debug, Default)]
pub(super) struct Pool {
    free: [Vec<Column>; 4],
}

fn index(physical: Physical) -> usize {
    match physical {
        Physical::Int => 0,
        Physical::Double => 1,
        Physical::Decimal => 2,
        Physical::Bytes => 3,
    }
}

impl Pool {
    pub(super) fn take(&mut self, physical: Physical) -> Column {
        match self.free[index(physical)].pop() {
            Some(mut column) => {
                column.clear();
                column
            }
            None => Column::new(physical),
        }
    }

    /// Drops columns that hold more than this of memory.
    pub(super) fn trim(&mut self, bytes_max: usize) {
        for list in &mut self.free {
            list.retain(|column| column.memory_bytes() <= bytes_max);
        }
    }

    pub(super) fn release(&mut self, operand: Operand<'_>) {
        if let Some(column) = operand.into_owned() {
            self.release_column(column);
        }
    }

    pub(super) fn release_column(&mut self, column: Column) {
        let list = &mut self.free[index(column.physical())];
        if list.len() < 16 {
            list.push(column);
        }
    }
}

/// Marks the rows NULL in `out` that are NULL in one of the operands.
pub(super) fn union_nulls(views: &[View<'_>], count: usize, out: &mut Column) {
    out.nulls.reset(count);
    for view in views {
        if !view.may_be_null() {
            continue;
        }
        if view.is_constant() {
            out.nulls.clear();
            out.nulls.extend(count, true);
            return;
        }
        out.nulls.union_with(&view.column.nulls);
    }
}
