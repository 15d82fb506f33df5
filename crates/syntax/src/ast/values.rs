//! `VALUES` lists: one flat buffer of compact cells instead of a tree per literal.
//!
//! A multi-row `INSERT` is mostly literals. Each becomes a 12-byte cell that points into the statement text;
//! whatever is not a plain literal is an expression in a side table. Rows lie one after the other with a
//! fixed stride, so that row `r`, column `c` is cell `r * column_count + c`.

use super::Expr;

/// Rows of `VALUES`.
#[derive(Clone, Copy, Debug)]
pub struct ValuesRows<'a> {
    /// Cells per row. 0: every row is `()`.
    pub column_count: u32,
    /// Rows held in `cells`.
    pub row_count: u32,
    /// The first row (counted from 0) with another number of values than row 0: 1136 "Column count doesn't
    /// match value count at row N" for N = this + 1. It and the rows after it are not in `cells`.
    pub ragged_row: Option<u32>,
    /// `row_count * column_count` cells, row by row.
    pub cells: &'a [Cell],
    /// What [`CellKind::Expr`] cells point to.
    pub exprs: &'a [Expr<'a>],
    /// Backslash was no escape when this was parsed (NO_BACKSLASH_ESCAPES).
    pub no_backslash_escapes: bool,
}

impl<'a> ValuesRows<'a> {
    /// The cells of row `row`, counted from 0.
    #[must_use]
    pub fn row(&self, row: u32) -> &'a [Cell] {
        let width = self.column_count as usize;
        &self.cells[row as usize * width..(row as usize + 1) * width]
    }
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Offset in the statement text (an index for `Expr` and `Param`).
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
    /// What it is.
    pub kind: CellKind,
}

/// What a cell holds. The text of a cell is `sql[start..start + len]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// `NULL`.
    Null,
    /// `DEFAULT`.
    Default,
    /// `TRUE`.
    True,
    /// `FALSE`.
    False,
    /// Digits of an integer that fits 64 bits unsigned.
    Integer,
    /// A decimal number.
    Decimal,
    /// A number with an exponent.
    Float,
    /// As `Integer`, with a minus sign before the digits (the text is without it).
    NegInteger,
    /// As `Decimal`, negative.
    NegDecimal,
    /// As `Float`, negative.
    NegFloat,
    /// A string in the connection's character set whose text between the quotes is its value.
    String,
    /// A string with escapes or doubled quotes: undo them with [`crate::unescape`]; its quote is `sql[start - 1]`.
    StringEscaped,
    /// `X'..'` or `0x..`: the hexadecimal digits.
    Hex,
    /// `?`: `start` is its number.
    Param,
    /// Anything else: `start` is the index in [`ValuesRows::exprs`].
    Expr,
}
