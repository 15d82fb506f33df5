//! Arithmetic and bits on numbers, a column at a time.
//!
//! Both operands come in one class. Integers overflow with error 1690; their signs are part of the kernel. A divisor
//! of zero gives NULL and, as the mode wants, warning or error 1365.

use super::context::SqlResult;
use super::program::{Node, Run, prepare_nulls};
use super::vector::{Operand, Rows, View};
use service::error::ER_DATA_OUT_OF_RANGE;
use types::data_type::{DECIMAL_SCALE_MAX, SCALE_NOT_FIXED};
use types::vector::Nulls;
use types::{Batch, Column, ColumnData, Decimal, Physical};

/// What is computed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ArithOp {
    Add,
    Sub,
    Mul,
    Div,
    IntDiv,
    Mod,
    BitOr,
    BitAnd,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

/// In what class.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ArithClass {
    /// Signs of left, right and result.
    Int {
        left_unsigned: bool,
        right_unsigned: bool,
        unsigned: bool,
    },
    Double,
    /// Scale and sign of the result, for division.
    Decimal {
        scale: u8,
        unsigned: bool,
    },
    /// Division of decimals of which some have a scale of their own: how many digits more the quotient has.
    OwnScales {
        scale: u8,
        more_digits: u8,
    },
}

/// A binary operation with its operands.
#[derive(Debug)]
pub(super) struct Arith {
    pub(super) op: ArithOp,
    pub(super) class: ArithClass,
    pub(super) left: Node,
    pub(super) right: Node,
    /// The expression as error 1690 shows it.
    pub(super) text: String,
}

fn wide(bits: i64, unsigned: bool) -> i128 {
    if unsigned { i128::from(bits as u64) } else { i128::from(bits) }
}

impl Arith {
    #[cold]
    fn out_of_range(&self) -> Box<service::SqlError> {
        let kind = match self.class {
            ArithClass::Int { unsigned: true, .. } => "BIGINT UNSIGNED",
            ArithClass::Int { .. } => "BIGINT",
            ArithClass::Double => "DOUBLE",
            ArithClass::Decimal { .. } | ArithClass::OwnScales { .. } => "DECIMAL",
        };
        ER_DATA_OUT_OF_RANGE.with(&[&kind, &self.text])
    }

    pub(super) fn eval<'b>(
        &'b self,
        input: &'b Batch,
        run: &mut Run<'_, '_>,
        rows: Rows<'_>,
    ) -> SqlResult<Operand<'b>> {
        let left = self.left.eval(input, run, rows)?;
        let is_of_bits = matches!(
            self.op,
            ArithOp::BitOr | ArithOp::BitAnd | ArithOp::BitXor | ArithOp::ShiftLeft | ArithOp::ShiftRight
        );
        let right = if is_of_bits {
            self.right.eval_beside(&left, input, run, rows)?
        } else {
            self.right.eval(input, run, rows)?
        };
        let physical = match (self.class, self.op) {
            (_, ArithOp::IntDiv) => Physical::Int,
            (ArithClass::Int { .. }, _) => Physical::Int,
            (ArithClass::Double, _) => Physical::Double,
            (ArithClass::Decimal { .. } | ArithClass::OwnScales { .. }, _) => Physical::Decimal,
        };
        let mut out = run.scratch.pool.take(physical);
        // Two constants make one row.
        let constant = left.is_constant() && right.is_constant() && rows.len() > 0;
        let count = if constant { 1 } else { rows.len() };
        let (a, b) = (left.view(), right.view());
        prepare_nulls(&[a, b], count, &mut out);
        match self.class {
            ArithClass::Int { .. } => self.ints(a, b, count, &mut out, run)?,
            ArithClass::Double => self.doubles(a, b, count, &mut out, run)?,
            ArithClass::Decimal { scale, .. } => self.decimals(a, b, count, scale, &mut out, run)?,
            ArithClass::OwnScales { scale, more_digits } => {
                self.quotients((a, b), count, (scale, more_digits), &mut out, run)?;
            }
        }
        run.scratch.pool.release(left);
        run.scratch.pool.release(right);
        Ok(if constant { Operand::owned_constant(out) } else { Operand::owned(out) })
    }

    fn ints(
        &self,
        a: View<'_>,
        b: View<'_>,
        count: usize,
        out: &mut Column,
        run: &mut Run<'_, '_>,
    ) -> SqlResult<()> {
        let ArithClass::Int { left_unsigned, right_unsigned, unsigned } = self.class else {
            return Ok(());
        };
        let Column { data: ColumnData::Int(data), nulls } = out else {
            return Err(crate::error::internal("an integer result has another shape"));
        };
        let signed = !left_unsigned && !right_unsigned && !unsigned;
        // NULL rows hold 0 and may overflow nothing, so the fast loops need not look at them.
        match self.op {
            ArithOp::BitOr => data.extend((0..count).map(|i| a.int(i) | b.int(i))),
            ArithOp::BitAnd => data.extend((0..count).map(|i| a.int(i) & b.int(i))),
            ArithOp::BitXor => data.extend((0..count).map(|i| a.int(i) ^ b.int(i))),
            ArithOp::ShiftLeft => data.extend((0..count).map(|i| shifted(a.int(i), b.int(i), true))),
            ArithOp::ShiftRight => data.extend((0..count).map(|i| shifted(a.int(i), b.int(i), false))),
            ArithOp::Add if signed => self.each_int((a, b), count, data, nulls, i64::checked_add)?,
            ArithOp::Sub if signed => self.each_int((a, b), count, data, nulls, i64::checked_sub)?,
            ArithOp::Mul if signed => self.each_int((a, b), count, data, nulls, i64::checked_mul)?,
            ArithOp::Add | ArithOp::Sub | ArithOp::Mul => {
                self.each_int((a, b), count, data, nulls, |x, y| self.integer(x, y))?;
            }
            ArithOp::IntDiv | ArithOp::Mod | ArithOp::Div => {
                for i in 0..count {
                    if nulls.is_null(i) {
                        data.push(0);
                        continue;
                    }
                    if b.int(i) == 0 {
                        run.ctx.division_by_zero()?;
                        nulls.set_null(i);
                        data.push(0);
                        continue;
                    }
                    data.push(self.integer(a.int(i), b.int(i)).ok_or_else(|| self.out_of_range())?);
                }
            }
        }
        Ok(())
    }

    /// The result of two integers; `None`: it is out of range, or the divisor is zero.
    pub(super) fn integer(&self, x: i64, y: i64) -> Option<i64> {
        let ArithClass::Int { left_unsigned, right_unsigned, unsigned } = self.class else { return None };
        let (wide_x, wide_y) = (wide(x, left_unsigned), wide(y, right_unsigned));
        let value = match self.op {
            ArithOp::Add => wide_x + wide_y,
            ArithOp::Sub => wide_x - wide_y,
            ArithOp::Mul => wide_x.saturating_mul(wide_y),
            ArithOp::IntDiv | ArithOp::Div => wide_x.checked_div(wide_y)?,
            ArithOp::Mod => wide_x.checked_rem(wide_y)?,
            ArithOp::BitOr => return Some(x | y),
            ArithOp::BitAnd => return Some(x & y),
            ArithOp::BitXor => return Some(x ^ y),
            ArithOp::ShiftLeft => return Some(shifted(x, y, true)),
            ArithOp::ShiftRight => return Some(shifted(x, y, false)),
        };
        narrow(value, unsigned)
    }

    /// The result of two doubles; `None`: it is no number, or the divisor is zero.
    #[inline(always)]
    pub(super) fn double(&self, x: f64, y: f64) -> Option<f64> {
        let value = match self.op {
            ArithOp::Add => x + y,
            ArithOp::Sub => x - y,
            ArithOp::Mul => x * y,
            ArithOp::Mod => x % y,
            _ => x / y,
        };
        value.is_finite().then_some(value)
    }

    /// The result of two decimals, of which a division gives `scale` digits behind the point; `None`: it is out of range, or the
    /// divisor is zero.
    #[inline(always)]
    pub(super) fn decimal(&self, x: &Decimal, y: &Decimal, scale: u8) -> Option<Decimal> {
        let result = match self.op {
            ArithOp::Add => x.add(y),
            ArithOp::Sub => x.sub(y),
            ArithOp::Mul => x.mul(y),
            _ if y.is_zero() => None,
            ArithOp::Mod => x.rem(y),
            ArithOp::IntDiv => x.div_integer(y),
            _ => x.div(y, scale.saturating_sub(x.scale())).map(|quotient| quotient.round(scale)),
        };
        result.filter(|value| value.integer_digits() <= 65)
    }

    /// `compute` for each row: a loop for each operation. `None`: the result is no BIGINT.
    #[inline]
    fn each_int(
        &self,
        (a, b): (View<'_>, View<'_>),
        count: usize,
        data: &mut Vec<i64>,
        nulls: &Nulls,
        compute: impl Fn(i64, i64) -> Option<i64>,
    ) -> SqlResult<()> {
        data.reserve(count);
        for i in 0..count {
            match compute(a.int(i), b.int(i)) {
                Some(value) => data.push(value),
                None if nulls.is_null(i) => data.push(0),
                None => return Err(self.out_of_range()),
            }
        }
        Ok(())
    }

    fn doubles(
        &self,
        a: View<'_>,
        b: View<'_>,
        count: usize,
        out: &mut Column,
        run: &mut Run<'_, '_>,
    ) -> SqlResult<()> {
        let Column { data, nulls } = out;
        for i in 0..count {
            let (x, y) = (a.double(i), b.double(i));
            let divides = matches!(self.op, ArithOp::Div | ArithOp::Mod | ArithOp::IntDiv);
            let mut value = 0.0;
            if !nulls.is_null(i) {
                if divides && y == 0.0 {
                    run.ctx.division_by_zero()?;
                    nulls.set_null(i);
                } else {
                    value = self.double(x, y).ok_or_else(|| self.out_of_range())?;
                }
            }
            match data {
                ColumnData::Double(data) => data.push(value),
                ColumnData::Int(data) => {
                    // DIV of doubles: the quotient must fit a BIGINT.
                    if !(-9.223_372_036_854_776e18..9.223_372_036_854_776e18).contains(&value) {
                        return Err(ER_DATA_OUT_OF_RANGE.with(&[&"BIGINT", &self.text]));
                    }
                    data.push(value as i64);
                }
                _ => return Err(crate::error::internal("a double result has another shape")),
            }
        }
        Ok(())
    }

    fn decimals(
        &self,
        a: View<'_>,
        b: View<'_>,
        count: usize,
        scale: u8,
        out: &mut Column,
        run: &mut Run<'_, '_>,
    ) -> SqlResult<()> {
        let Column { data, nulls } = out;
        for i in 0..count {
            let mut value = Decimal::ZERO;
            if !nulls.is_null(i) {
                let (x, y) = (a.decimal(i), b.decimal(i));
                let divides = matches!(self.op, ArithOp::Div | ArithOp::Mod | ArithOp::IntDiv);
                if divides && y.is_zero() {
                    run.ctx.division_by_zero()?;
                    nulls.set_null(i);
                } else {
                    value = self.decimal(x, y, scale).ok_or_else(|| self.out_of_range())?;
                }
            }
            match data {
                ColumnData::Decimal(data) => data.push(value),
                ColumnData::Int(data) => {
                    let unsigned = matches!(self.class, ArithClass::Decimal { unsigned: true, .. });
                    let clipped = || ER_DATA_OUT_OF_RANGE.with(&[&"BIGINT", &self.text]);
                    let value = value.to_units(0).ok_or_else(clipped)?;
                    data.push(narrow(value, unsigned).ok_or_else(clipped)?);
                }
                _ => return Err(crate::error::internal("a decimal result has another shape")),
            }
        }
        Ok(())
    }

    /// Quotients of decimals of which some have a scale of their own.
    #[cold]
    fn quotients(
        &self,
        (a, b): (View<'_>, View<'_>),
        count: usize,
        (scale, more_digits): (u8, u8),
        out: &mut Column,
        run: &mut Run<'_, '_>,
    ) -> SqlResult<()> {
        for i in 0..count {
            let mut value = Decimal::ZERO;
            if !out.nulls.is_null(i) {
                let (x, y) = (a.decimal(i), b.decimal(i));
                if y.is_zero() {
                    run.ctx.division_by_zero()?;
                    out.nulls.set_null(i);
                } else {
                    value = x
                        .div(y, more_digits)
                        .map(|quotient| match scale {
                            SCALE_NOT_FIXED => quotient.round(quotient.scale().min(DECIMAL_SCALE_MAX)),
                            scale => quotient.round(scale),
                        })
                        .filter(|value| value.integer_digits() <= 65)
                        .ok_or_else(|| self.out_of_range())?;
                }
            }
            match &mut out.data {
                ColumnData::Decimal(data) => data.push(value),
                _ => return Err(crate::error::internal("a decimal result has another shape")),
            }
        }
        Ok(())
    }
}

fn shifted(bits: i64, by: i64, is_left: bool) -> i64 {
    let bits = bits as u64;
    let shifted = match u32::try_from(by as u64) {
        Ok(by) if by < 64 && is_left => bits << by,
        Ok(by) if by < 64 => bits >> by,
        _ => 0,
    };
    shifted as i64
}

/// The bits of an integer result, if it fits.
fn narrow(value: i128, unsigned: bool) -> Option<i64> {
    if unsigned { u64::try_from(value).ok().map(|value| value as i64) } else { i64::try_from(value).ok() }
}
