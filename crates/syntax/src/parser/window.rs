//! Aggregate and window functions.

use super::{Parser, R};
use crate::ast::*;
use crate::keywords::T;

impl<'a> Parser<'a> {
    #[inline(never)]
    pub(super) fn aggregate(&mut self, mut func: AggregateFunc) -> R<Expr<'a>> {
        use AggregateFunc as A;
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let mut distinct = false;
        let mut order_by: &'a [OrderItem<'a>] = &[];
        let mut separator: &'a [u8] = b",";
        let mut args = self.list();
        match func {
            A::Count => {
                if self.at(T::Star) {
                    self.bump();
                    func = A::CountStar;
                } else if self.eat(T::DISTINCT) {
                    distinct = true;
                    args.push(self.expr()?);
                    while self.eat(T::Comma) {
                        args.push(self.expr()?);
                    }
                } else if self.eat(T::ALL) {
                    if self.eat(T::Star) {
                        func = A::CountStar;
                    } else {
                        args.push(self.expr()?);
                    }
                } else {
                    args.push(self.expr()?);
                }
            }
            A::GroupConcat => {
                distinct = self.eat(T::DISTINCT);
                args.push(self.expr()?);
                while self.eat(T::Comma) {
                    args.push(self.expr()?);
                }
                if self.at(T::ORDER) {
                    order_by = self.order_by()?;
                }
                if self.eat(T::SEPARATOR) {
                    separator = self.text_string()?;
                }
            }
            A::JsonObjectAgg => {
                self.eat(T::ALL);
                args.push(self.expr()?);
                self.expect(T::Comma)?;
                self.eat(T::ALL);
                args.push(self.expr()?);
            }
            A::Sum | A::Avg | A::Min | A::Max | A::StCollect => {
                distinct = self.eat(T::DISTINCT);
                if !distinct {
                    self.eat(T::ALL);
                }
                args.push(self.expr()?);
            }
            _ => {
                self.eat(T::ALL);
                args.push(self.expr()?);
            }
        }
        self.expect(T::RParen)?;
        let over = if self.at(T::OVER) { Some(self.over()?) } else { None };
        self.grow()?;
        let call = Aggregate { func, distinct, args: args.into_bump_slice(), order_by, separator, over };
        Ok(self.make(start, ExprKind::Aggregate(self.alloc(call))))
    }

    #[inline(never)]
    pub(super) fn window_call(&mut self, func: WindowFunc) -> R<Expr<'a>> {
        use WindowFunc as W;
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let mut args = self.list();
        let mut from_last = false;
        match func {
            W::RowNumber | W::Rank | W::DenseRank | W::CumeDist | W::PercentRank => {}
            W::Ntile => args.push(self.stable_integer()?),
            W::FirstValue | W::LastValue => args.push(self.expr()?),
            W::Lead | W::Lag => {
                args.push(self.expr()?);
                if self.eat(T::Comma) {
                    args.push(self.stable_integer()?);
                    if self.eat(T::Comma) {
                        args.push(self.expr()?);
                    }
                }
            }
            W::NthValue => {
                args.push(self.expr()?);
                self.expect(T::Comma)?;
                args.push(self.simple_expr()?);
            }
        }
        self.expect(T::RParen)?;
        if func == W::NthValue && self.eat(T::FROM) {
            from_last = self.expect_any(&[T::FIRST, T::LAST])? == T::LAST;
        }
        let mut ignore_nulls = false;
        if matches!(func, W::Lead | W::Lag | W::FirstValue | W::LastValue | W::NthValue)
            && self.at_any(&[T::RESPECT, T::IGNORE])
        {
            ignore_nulls = self.bump().kind == T::IGNORE;
            self.expect(T::NULLS)?;
        }
        if !self.at(T::OVER) {
            return self.fail();
        }
        let over = self.over()?;
        self.grow()?;
        let call = WindowCall { func, args: args.into_bump_slice(), from_last, ignore_nulls, over };
        Ok(self.make(start, ExprKind::Window(self.alloc(call))))
    }

    /// An integer that is known before rows are: a literal, parameter or variable.
    pub(super) fn stable_integer(&mut self) -> R<Expr<'a>> {
        match self.kind() {
            T::Integer | T::Param | T::At => self.primary(),
            _ if self.at_ident() => self.primary(),
            _ => self.fail(),
        }
    }

    pub(super) fn over(&mut self) -> R<&'a Over<'a>> {
        self.expect(T::OVER)?;
        let over =
            if self.at(T::LParen) { Over::Spec(self.window_spec()?) } else { Over::Name(self.ident()?) };
        Ok(self.alloc(over))
    }

    pub(super) fn window_spec(&mut self) -> R<WindowSpec<'a>> {
        self.expect(T::LParen)?;
        let base = if self.at_ident() { Some(self.ident()?) } else { None };
        let mut partition_by: &'a [Expr<'a>] = &[];
        if self.eat(T::PARTITION) {
            self.expect(T::BY)?;
            partition_by = self.exprs()?;
        }
        let order_by = if self.at(T::ORDER) { self.order_by()? } else { &[] };
        let frame = match self.kind() {
            T::ROWS => Some(FrameUnit::Rows),
            T::RANGE => Some(FrameUnit::Range),
            T::GROUPS => Some(FrameUnit::Groups),
            _ => None,
        };
        let frame = match frame {
            Some(unit) => {
                self.bump();
                let frame = self.frame(unit)?;
                Some(self.alloc(frame))
            }
            None => None,
        };
        self.expect(T::RParen)?;
        Ok(WindowSpec { base, partition_by, order_by, frame })
    }

    pub(super) fn frame(&mut self, unit: FrameUnit) -> R<Frame<'a>> {
        let (start, end);
        if self.eat(T::BETWEEN) {
            start = self.frame_bound(true)?;
            self.expect(T::AND)?;
            end = Some(self.frame_bound(true)?);
        } else {
            start = self.frame_bound(false)?;
            end = None;
        }
        let mut exclusion = false;
        if self.eat(T::EXCLUDE) {
            exclusion = true;
            match self.expect_any(&[T::CURRENT, T::GROUP, T::TIES, T::NO])? {
                T::CURRENT => {
                    self.expect(T::ROW)?;
                }
                T::NO => {
                    self.expect(T::OTHERS)?;
                }
                _ => {}
            }
        }
        Ok(Frame { unit, start, end, exclusion })
    }

    pub(super) fn frame_bound(&mut self, following: bool) -> R<FrameBound<'a>> {
        if self.eat(T::CURRENT) {
            self.expect(T::ROW)?;
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat(T::UNBOUNDED) {
            if following && self.eat(T::FOLLOWING) {
                return Ok(FrameBound::UnboundedFollowing);
            }
            self.expect(T::PRECEDING)?;
            return Ok(FrameBound::UnboundedPreceding);
        }
        let (amount, unit) = match self.kind() {
            T::INTERVAL => {
                self.bump();
                let amount = self.expr()?;
                (amount, Some(self.interval_unit()?))
            }
            T::Integer | T::Decimal | T::Float | T::Hex | T::Param => (self.primary()?, None),
            _ => return self.fail(),
        };
        if following && self.eat(T::FOLLOWING) {
            return Ok(FrameBound::Following(amount, unit));
        }
        self.expect(T::PRECEDING)?;
        Ok(FrameBound::Preceding(amount, unit))
    }
}
