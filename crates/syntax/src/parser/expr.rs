//! Expressions.
//!
//! MySQL's levels, from loosest to tightest: `OR`, `XOR`, `AND`, `NOT`, then one *boolean primary* (`IS`, comparisons),
//! which is made of *predicates* (`IN`, `BETWEEN`, `LIKE`, `REGEXP`, `MEMBER OF`), made of *bit expressions*
//! (arithmetic), made of *simple expressions*. A predicate takes only bit expressions, hence `a LIKE b LIKE c` is an
//! error while `a = b = c` is not. Arithmetic is a precedence climb, the rest a function per level.
//!
//! Each level can begin with an operand that was already read: after `(` or `INTERVAL (` it shows late whether a
//! parenthesis was a subquery, a row, or only the beginning of a longer expression.
//!
//! Rules for rarer things are kept out of line: inlined, their locals would make the frame of every level larger.

use super::{NESTING_MAX, Parser, R};
use crate::SqlMode;
use crate::ast::*;
use crate::keywords::T;

const DAY: IntervalUnit = IntervalUnit::Day;

/// What stands in parentheses.
pub(super) enum Paren<'a> {
    Query(&'a Query<'a>),
    Expr(Expr<'a>),
}

impl<'a> Parser<'a> {
    /// An expression of any kind.
    pub(super) fn expr(&mut self) -> R<Expr<'a>> {
        self.expr_from(None)
    }

    pub(super) fn expr_ref(&mut self) -> R<&'a Expr<'a>> {
        let expr = self.expr()?;
        Ok(self.alloc(expr))
    }

    pub(super) fn exprs(&mut self) -> R<&'a [Expr<'a>]> {
        self.comma_list(Self::expr)
    }

    fn make(&self, start: u32, kind: ExprKind<'a>) -> Expr<'a> {
        Expr { kind, span: self.span_from(start) }
    }

    /// An expression that begins with `left`, or with the current token.
    pub(super) fn expr_from(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
        self.enter()?;
        let outer = std::mem::replace(&mut self.height, 0);
        // Most expressions are one operand: the levels are entered only if an operator follows.
        let mut expr = match left {
            Some(left) => self.simple_tail(left)?,
            None if self.at(T::NOT) && !self.mode.has(SqlMode::HIGH_NOT_PRECEDENCE) => self.or_expr(None)?,
            None => self.simple_expr()?,
        };
        if continues(self.tok.kind) {
            expr = self.or_expr(Some(expr))?;
        }
        self.height = self.height.max(outer);
        self.leave();
        Ok(expr)
    }

    fn or_expr(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
        let first = self.xor_expr(left)?;
        let pipes = !self.mode.has(SqlMode::PIPES_AS_CONCAT);
        if !(self.at(T::OR) || (pipes && self.at(T::OrOr))) {
            return Ok(first);
        }
        let mut operands = self.list();
        operands.push(first);
        while self.at(T::OR) || (pipes && self.at(T::OrOr)) {
            self.bump();
            operands.push(self.sibling(|p| p.xor_expr(None))?);
        }
        self.balanced(BinaryOp::Or, &operands)
    }

    fn xor_expr(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
        let mut left = self.and_expr(left)?;
        while self.eat(T::XOR) {
            let right = self.sibling(|p| p.and_expr(None))?;
            left = self.binary(BinaryOp::Xor, left, right);
            self.grow()?;
        }
        Ok(left)
    }

    fn and_expr(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
        let first = self.not_expr(left)?;
        if !self.at_any(&[T::AND, T::AndAnd]) {
            return Ok(first);
        }
        let mut operands = self.list();
        operands.push(first);
        while self.at_any(&[T::AND, T::AndAnd]) {
            self.bump();
            operands.push(self.sibling(|p| p.not_expr(None))?);
        }
        self.balanced(BinaryOp::And, &operands)
    }

    /// A chain of `AND` or `OR` as a balanced tree: the same value, evaluated in the same order, but never high.
    fn balanced(&mut self, op: BinaryOp, operands: &[Expr<'a>]) -> R<Expr<'a>> {
        self.height += usize::BITS - operands.len().leading_zeros();
        if self.height > NESTING_MAX {
            return self.too_deep();
        }
        Ok(self.balance(op, operands))
    }

    fn balance(&self, op: BinaryOp, operands: &[Expr<'a>]) -> Expr<'a> {
        if operands.len() == 1 {
            return operands[0];
        }
        let (left, right) = operands.split_at(operands.len().div_ceil(2));
        let (left, right) = (self.balance(op, left), self.balance(op, right));
        self.binary(op, left, right)
    }

    fn binary(&self, op: BinaryOp, left: Expr<'a>, right: Expr<'a>) -> Expr<'a> {
        Expr {
            kind: ExprKind::Binary { op, left: self.alloc(left), right: self.alloc(right) },
            span: left.span.to(right.span),
        }
    }

    /// The tree became one higher.
    #[inline]
    fn grow(&mut self) -> R<()> {
        self.height += 1;
        if self.height > NESTING_MAX { self.too_deep() } else { Ok(()) }
    }

    /// Reads an operand beside others: the height is that of the highest, not their sum.
    #[inline]
    fn sibling<X>(&mut self, rule: impl FnOnce(&mut Self) -> R<X>) -> R<X> {
        let before = std::mem::replace(&mut self.height, 0);
        let read = rule(self);
        self.height = self.height.max(before);
        read
    }

    fn not_expr(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
        if left.is_none() && self.at(T::NOT) && !self.mode.has(SqlMode::HIGH_NOT_PRECEDENCE) {
            let start = self.bump().start;
            self.enter()?;
            let expr = self.not_expr(None)?;
            self.leave();
            self.grow()?;
            let kind = ExprKind::Unary { op: UnaryOp::Not, expr: self.alloc(expr) };
            return Ok(self.make(start, kind));
        }
        let expr = self.boolean_primary(left)?;
        if self.at(T::IS) {
            // `IS TRUE` and its like end a boolean primary: `IS NULL` may go on, they may not.
            self.bump();
            let negated = self.eat(T::NOT);
            let test = match self.kind() {
                T::TRUE => IsTest::True,
                T::FALSE => IsTest::False,
                T::UNKNOWN => IsTest::Unknown,
                _ => return self.fail(),
            };
            self.bump();
            self.grow()?;
            let start = expr.span.start;
            let kind = ExprKind::Is { expr: self.alloc(expr), test, negated };
            return Ok(self.make(start, kind));
        }
        Ok(expr)
    }

    fn compare_op(&self) -> Option<CompareOp> {
        Some(match self.kind() {
            T::Eq => CompareOp::Eq,
            T::NullSafeEq => CompareOp::NullSafeEq,
            T::Ne => CompareOp::Ne,
            T::Lt => CompareOp::Lt,
            T::Le => CompareOp::Le,
            T::Gt => CompareOp::Gt,
            T::Ge => CompareOp::Ge,
            _ => return None,
        })
    }

    fn boolean_primary(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
        let mut left = self.predicate(left)?;
        loop {
            let start = left.span.start;
            if let Some(op) = self.compare_op() {
                let place = self.bump().start;
                if self.at_any(&[T::ALL, T::ANY, T::SOME]) && self.any_follows() {
                    let all = self.bump().kind == T::ALL;
                    let query = self.subquery()?;
                    if op == CompareOp::NullSafeEq {
                        return self.fail_at(place);
                    }
                    let kind = ExprKind::Quantified { op, all, left: self.alloc(left), query };
                    left = self.make(start, kind);
                } else {
                    let right = self.predicate(None)?;
                    let kind = ExprKind::Compare { op, left: self.alloc(left), right: self.alloc(right) };
                    left = self.make(start, kind);
                }
                self.grow()?;
            } else if self.at(T::IS) {
                // Look two ahead: `IS [NOT] NULL` belongs here, `IS TRUE` one level up.
                let next = self.peek();
                let negated = next == T::NOT;
                if negated {
                    let mut rest = self.lexer;
                    if rest.next().kind != T::NULL {
                        return Ok(left);
                    }
                    self.bump();
                } else if next != T::NULL {
                    return Ok(left);
                }
                self.bump();
                self.expect(T::NULL)?;
                self.grow()?;
                let kind = ExprKind::Is { expr: self.alloc(left), test: IsTest::Null, negated };
                left = self.make(start, kind);
            } else {
                return Ok(left);
            }
        }
    }

    /// `ANY` and `SOME` are also names; before `(` they are quantifiers.
    fn any_follows(&mut self) -> bool {
        self.at(T::ALL) || self.peek() == T::LParen
    }

    fn predicate(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
        let left = self.bit_expr(left, 0)?;
        let start = left.span.start;
        let negated = match self.kind() {
            T::NOT => match self.peek() {
                T::IN | T::BETWEEN | T::LIKE | T::REGEXP | T::RLIKE => {
                    self.bump();
                    true
                }
                // Nothing else can follow `NOT` after an operand: the error stands behind it.
                _ => {
                    self.bump();
                    return self.fail();
                }
            },
            T::IN | T::BETWEEN | T::LIKE | T::REGEXP | T::RLIKE | T::MEMBER | T::SOUNDS => false,
            _ => return Ok(left),
        };
        self.grow()?;
        let kind = match self.bump().kind {
            T::IN => self.in_list(left, negated)?,
            T::BETWEEN => {
                let low = self.bit_expr(None, 0)?;
                self.expect(T::AND)?;
                self.enter()?;
                let high = self.predicate(None)?;
                self.leave();
                ExprKind::Between {
                    expr: self.alloc(left),
                    low: self.alloc(low),
                    high: self.alloc(high),
                    negated,
                }
            }
            T::LIKE => {
                let pattern = self.simple_expr()?;
                let escape = if self.eat(T::ESCAPE) {
                    let escape = self.simple_expr()?;
                    Some(self.alloc(escape))
                } else {
                    None
                };
                ExprKind::Like { expr: self.alloc(left), pattern: self.alloc(pattern), escape, negated }
            }
            T::REGEXP | T::RLIKE => {
                let pattern = self.bit_expr(None, 0)?;
                ExprKind::Regexp { expr: self.alloc(left), pattern: self.alloc(pattern), negated }
            }
            T::MEMBER => {
                self.eat(T::OF);
                self.expect(T::LParen)?;
                let array = self.simple_expr()?;
                self.expect(T::RParen)?;
                ExprKind::MemberOf { value: self.alloc(left), array: self.alloc(array) }
            }
            _ => {
                self.expect(T::LIKE)?;
                let right = self.bit_expr(None, 0)?;
                let (left, right) =
                    (self.call_named(b"SOUNDEX", &[left]), self.call_named(b"SOUNDEX", &[right]));
                ExprKind::Compare { op: CompareOp::Eq, left: self.alloc(left), right: self.alloc(right) }
            }
        };
        Ok(self.make(start, kind))
    }

    fn in_list(&mut self, left: Expr<'a>, negated: bool) -> R<ExprKind<'a>> {
        let expr = self.alloc(left);
        Ok(match self.paren_contents()? {
            Paren::Query(query) => {
                self.expect(T::RParen)?;
                ExprKind::InSubquery { expr, query, negated }
            }
            Paren::Expr(first) => {
                let mut list = self.list();
                list.push(first);
                while self.eat(T::Comma) {
                    list.push(self.expr()?);
                }
                self.expect(T::RParen)?;
                ExprKind::InList { expr, list: list.into_bump_slice(), negated }
            }
        })
    }

    /// `(` and then a query or an expression, up to but without `)` (or `,`).
    pub(super) fn paren_contents(&mut self) -> R<Paren<'a>> {
        self.expect(T::LParen)?;
        self.enter()?;
        let paren = match self.kind() {
            T::SELECT | T::WITH | T::TABLE | T::VALUES if !(self.at(T::VALUES) && self.peek() != T::ROW) => {
                Paren::Query(self.query_expression()?)
            }
            T::LParen => {
                let start = self.tok.start;
                match self.paren_contents()? {
                    Paren::Query(query) => {
                        self.expect(T::RParen)?;
                        if self.at_query_tail() {
                            Paren::Query(self.query_tail_from(query, start)?)
                        } else if self.at(T::RParen) {
                            Paren::Query(query)
                        } else {
                            let first = self.make(start, ExprKind::Subquery(query));
                            Paren::Expr(self.expr_from(Some(first))?)
                        }
                    }
                    Paren::Expr(first) => {
                        let row = self.row_or_paren(start, first)?;
                        Paren::Expr(self.expr_from(Some(row))?)
                    }
                }
            }
            _ => Paren::Expr(self.expr()?),
        };
        self.leave();
        Ok(paren)
    }

    /// After `( first`: closes a parenthesis or reads on a row.
    fn row_or_paren(&mut self, start: u32, first: Expr<'a>) -> R<Expr<'a>> {
        if self.eat(T::RParen) {
            return Ok(first);
        }
        if !self.at(T::Comma) {
            return self.fail();
        }
        let mut items = self.list();
        items.push(first);
        while self.eat(T::Comma) {
            items.push(self.expr()?);
        }
        self.expect(T::RParen)?;
        self.grow()?;
        Ok(self.make(start, ExprKind::Row(items.into_bump_slice())))
    }

    /// `(query)`.
    pub(super) fn subquery(&mut self) -> R<&'a Query<'a>> {
        if !self.at(T::LParen) {
            return self.fail();
        }
        self.expect(T::LParen)?;
        let query = self.query_expression()?;
        self.expect(T::RParen)?;
        Ok(query)
    }

    // Arithmetic.

    /// Binding power of the current token as an arithmetic operator.
    #[inline]
    fn arithmetic(&self) -> Option<(u8, BinaryOp)> {
        Some(match self.kind() {
            T::Pipe => (1, BinaryOp::BitOr),
            T::Amp => (2, BinaryOp::BitAnd),
            T::Shl => (3, BinaryOp::ShiftLeft),
            T::Shr => (3, BinaryOp::ShiftRight),
            T::Plus => (4, BinaryOp::Add),
            T::Minus => (4, BinaryOp::Sub),
            T::Star => (5, BinaryOp::Mul),
            T::Slash => (5, BinaryOp::Div),
            T::Percent | T::MOD => (5, BinaryOp::Mod),
            T::DIV => (5, BinaryOp::IntDiv),
            T::Caret => (6, BinaryOp::BitXor),
            _ => return None,
        })
    }

    /// A chain of arithmetic operators that bind tighter than `above`.
    fn bit_expr(&mut self, left: Option<Expr<'a>>, above: u8) -> R<Expr<'a>> {
        let mut left = match left {
            Some(left) => self.simple_tail(left)?,
            None => self.simple_expr()?,
        };
        while let Some((power, op)) = self.arithmetic() {
            if power <= above {
                break;
            }
            self.bump();
            if power == 4 && self.at(T::INTERVAL) {
                left = self.plus_interval(left, op)?;
                continue;
            }
            self.enter()?;
            let right = self.sibling(|p| p.bit_expr(None, power))?;
            self.leave();
            self.grow()?;
            left = self.binary(op, left, right);
        }
        Ok(left)
    }

    /// After `left +` or `left -`, at `INTERVAL`.
    fn plus_interval(&mut self, left: Expr<'a>, op: BinaryOp) -> R<Expr<'a>> {
        let start = self.bump().start;
        let subtract = op == BinaryOp::Sub;
        let interval = match self.interval_or_call(start, true)? {
            Ok(call) => {
                // `a + INTERVAL(b, c)`: the function.
                self.enter()?;
                let right = self.simple_tail(call)?;
                let right = self.bit_expr(Some(right), 4)?;
                self.leave();
                self.grow()?;
                return Ok(self.binary(op, left, right));
            }
            Err(interval) => interval,
        };
        let unit = self.interval_unit()?;
        self.grow()?;
        Ok(self.make(
            left.span.start,
            ExprKind::DateArith { date: self.alloc(left), interval: self.alloc(interval), unit, subtract },
        ))
    }

    /// After `INTERVAL`: the function call `INTERVAL(a, b)` (`Ok`) or the amount of an interval (`Err`).
    fn interval_or_call(&mut self, start: u32, row_amount: bool) -> R<Result<Expr<'a>, Expr<'a>>> {
        if !self.at(T::LParen) {
            return Ok(Err(self.expr()?));
        }
        let open = self.tok.start;
        let first = match self.paren_contents()? {
            Paren::Query(query) => {
                self.expect(T::RParen)?;
                self.make(open, ExprKind::Subquery(query))
            }
            Paren::Expr(first) if self.at(T::Comma) => {
                let mut args = self.list();
                args.push(first);
                while self.eat(T::Comma) {
                    args.push(self.expr()?);
                }
                self.expect(T::RParen)?;
                self.grow()?;
                if row_amount && self.is_interval_unit() {
                    // A row as the amount: `INTERVAL (1, 2) DAY`.
                    return Ok(Err(self.make(open, ExprKind::Row(args.into_bump_slice()))));
                }
                let args = args.into_bump_slice();
                let mut call = self.call_named(b"INTERVAL", args);
                call.span = self.span_from(start);
                return Ok(Ok(call));
            }
            Paren::Expr(first) => {
                self.expect(T::RParen)?;
                first
            }
        };
        let first = self.simple_tail(first)?;
        Ok(Err(self.expr_from(Some(first))?))
    }

    fn is_interval_unit(&self) -> bool {
        interval_unit(self.tok.kind).is_some()
    }

    pub(super) fn interval_unit(&mut self) -> R<IntervalUnit> {
        match interval_unit(self.tok.kind) {
            Some(unit) => {
                self.bump();
                Ok(unit)
            }
            None => self.fail(),
        }
    }

    /// Units of `TIMESTAMPADD` and `TIMESTAMPDIFF`: single ones, also as `SQL_TSI_DAY`.
    fn timestamp_unit(&mut self) -> R<IntervalUnit> {
        match self.kind() {
            T::SQL_TSI_SECOND
            | T::SQL_TSI_MINUTE
            | T::SQL_TSI_HOUR
            | T::SQL_TSI_DAY
            | T::SQL_TSI_WEEK
            | T::SQL_TSI_MONTH
            | T::SQL_TSI_QUARTER
            | T::SQL_TSI_YEAR
            | T::MICROSECOND
            | T::SECOND
            | T::MINUTE
            | T::HOUR
            | T::DAY
            | T::WEEK
            | T::MONTH
            | T::QUARTER
            | T::YEAR => self.interval_unit(),
            _ => self.fail(),
        }
    }

    // Simple expressions.

    /// An operand with its prefix operators, `COLLATE`, and `||` as concatenation.
    pub(super) fn simple_expr(&mut self) -> R<Expr<'a>> {
        let start = self.tok.start;
        let op = match self.kind() {
            T::Minus => UnaryOp::Neg,
            T::Plus => UnaryOp::Plus,
            T::Tilde => UnaryOp::BitNot,
            T::Bang => UnaryOp::Not,
            T::NOT if self.mode.has(SqlMode::HIGH_NOT_PRECEDENCE) => UnaryOp::Not,
            T::BINARY => {
                self.bump();
                self.enter()?;
                let expr = self.prefix_operand()?;
                self.leave();
                self.grow()?;
                let cast = Cast { expr, to: CastType::Binary(None), array: false, at_time_zone: None };
                let expr = self.make(start, ExprKind::Cast(self.alloc(cast)));
                return self.simple_tail(expr);
            }
            _ => {
                let expr = self.primary()?;
                return self.simple_tail(expr);
            }
        };
        self.bump();
        self.enter()?;
        let expr = self.prefix_operand()?;
        self.leave();
        self.grow()?;
        let kind = ExprKind::Unary { op, expr: self.alloc(expr) };
        let expr = self.make(start, kind);
        self.simple_tail(expr)
    }

    /// The operand of a prefix operator: binds tighter than `||`, looser than `COLLATE`.
    fn prefix_operand(&mut self) -> R<Expr<'a>> {
        if self.at_any(&[T::Minus, T::Plus, T::Tilde, T::Bang, T::NOT, T::BINARY]) {
            return self.simple_expr();
        }
        let expr = self.primary()?;
        self.collate_tail(expr)
    }

    fn collate_tail(&mut self, mut expr: Expr<'a>) -> R<Expr<'a>> {
        while self.eat(T::COLLATE) {
            let collation = self.ident_or_string()?;
            self.grow()?;
            let start = expr.span.start;
            let kind = ExprKind::Collate { expr: self.alloc(expr), collation };
            expr = self.make(start, kind);
        }
        Ok(expr)
    }

    /// What may follow a simple expression and keep it one.
    #[inline]
    fn simple_tail(&mut self, mut expr: Expr<'a>) -> R<Expr<'a>> {
        loop {
            if self.at(T::COLLATE) {
                expr = self.collate_tail(expr)?;
            } else if self.at(T::OrOr) && self.mode.has(SqlMode::PIPES_AS_CONCAT) {
                self.bump();
                self.enter()?;
                let right = self.prefix_operand()?;
                self.leave();
                self.grow()?;
                expr = self.binary(BinaryOp::Concat, expr, right);
            } else {
                return Ok(expr);
            }
        }
    }

    /// A literal, column, call, parenthesis, ...
    fn primary(&mut self) -> R<Expr<'a>> {
        let start = self.tok.start;
        match self.kind() {
            T::Ident | T::QuotedIdent => self.name_expr(),
            T::Integer | T::Decimal | T::Float => {
                let token = self.bump();
                let text = self.text(token);
                let kind = number_kind(token.kind, text);
                Ok(self.make(start, ExprKind::Literal(Literal::Number(kind, text))))
            }
            T::Str | T::NStr => self.string_expr(None),
            T::Introducer => self.introduced(),
            T::Hex | T::HexStr | T::Bin | T::BinStr => self.bytes_expr(None),
            T::NULL => self.literal(Literal::Null),
            T::TRUE => self.literal(Literal::True),
            T::FALSE => self.literal(Literal::False),
            T::Param => {
                let token = self.bump();
                self.param_places.push(token.start);
                self.params += 1;
                Ok(self.make(start, ExprKind::Param(self.params - 1)))
            }
            T::LParen => match self.paren_contents()? {
                Paren::Query(query) => {
                    self.expect(T::RParen)?;
                    self.grow()?;
                    Ok(self.make(start, ExprKind::Subquery(query)))
                }
                Paren::Expr(first) => self.row_or_paren(start, first),
            },
            T::At => self.user_var(),
            T::AtAt => self.sys_var(),
            T::LBrace => self.odbc(),
            kind if kind.is_word() => self.word_expr(kind),
            _ => self.fail(),
        }
    }

    fn literal(&mut self, literal: Literal<'a>) -> R<Expr<'a>> {
        let token = self.bump();
        Ok(self.make(token.start, ExprKind::Literal(literal)))
    }

    #[inline(never)]
    fn string_expr(&mut self, charset: Option<&'a [u8]>) -> R<Expr<'a>> {
        let token = self.bump();
        let mut value = self.string_of(token);
        let charset = if token.kind == T::NStr { Some(b"utf8mb3" as &[u8]) } else { charset };
        if self.at(T::Str) {
            let mut joined = self.list();
            joined.extend_from_slice(value);
            while self.at(T::Str) {
                let next = self.bump();
                joined.extend_from_slice(self.string_of(next));
            }
            value = joined.into_bump_slice();
        }
        Ok(self.make(token.start, ExprKind::Literal(Literal::String { value, charset })))
    }

    #[inline(never)]
    fn bytes_expr(&mut self, charset: Option<&'a [u8]>) -> R<Expr<'a>> {
        let token = self.bump();
        let literal = Literal::Bytes {
            value: self.bytes_of(token),
            charset,
            bits: matches!(token.kind, T::Bin | T::BinStr),
        };
        Ok(self.make(token.start, ExprKind::Literal(literal)))
    }

    #[inline(never)]
    fn introduced(&mut self) -> R<Expr<'a>> {
        let token = self.bump();
        let charset = Some(&self.text(token)[1..]);
        let mut expr = match self.kind() {
            T::Str => self.string_expr(charset)?,
            T::Hex | T::HexStr | T::Bin | T::BinStr => self.bytes_expr(charset)?,
            _ => return self.fail(),
        };
        expr.span.start = token.start;
        Ok(expr)
    }

    /// `@name`, `@name := expr`.
    #[inline(never)]
    fn user_var(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        let name = self.ident_or_string()?;
        if self.eat(T::Assign) {
            let value = self.expr()?;
            self.grow()?;
            let kind = ExprKind::UserVarAssign { name, value: self.alloc(value) };
            return Ok(self.make(start, kind));
        }
        Ok(self.make(start, ExprKind::UserVar(name)))
    }

    /// `@@[scope.][component.]name`.
    #[inline(never)]
    fn sys_var(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        let scope = match self.kind() {
            T::GLOBAL => Some(VarScope::Global),
            T::SESSION | T::LOCAL => Some(VarScope::Session),
            _ => None,
        };
        if scope.is_some() {
            self.bump();
            self.expect(T::Dot)?;
        }
        let var = self.var_name(scope.unwrap_or(VarScope::Default))?;
        Ok(self.make(start, ExprKind::SysVar(self.alloc(var))))
    }

    /// `name` or `component.name`.
    pub(super) fn var_name(&mut self, scope: VarScope) -> R<SysVar<'a>> {
        let first = self.ident()?;
        if self.eat(T::Dot) {
            return Ok(SysVar { scope, component: Some(first), name: self.ident()? });
        }
        Ok(SysVar { scope, component: None, name: first })
    }

    /// `{d '...'}`, `{fn expr}`.
    #[inline(never)]
    fn odbc(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        let name = self.ident()?;
        let expr = self.expr()?;
        self.expect(T::RBrace)?;
        let kind = match name.text {
            b"d" | b"D" => Some(TemporalKind::Date),
            b"t" | b"T" => Some(TemporalKind::Time),
            text if text.eq_ignore_ascii_case(b"ts") => Some(TemporalKind::DateTime),
            _ => None,
        };
        if let (Some(kind), ExprKind::Literal(Literal::String { value, charset: None })) = (kind, expr.kind) {
            return Ok(self.make(start, ExprKind::Literal(Literal::Temporal { kind, value })));
        }
        Ok(Expr { span: self.span_from(start), ..expr })
    }

    /// A column, or a call of a function with a plain or qualified name.
    fn name_expr(&mut self) -> R<Expr<'a>> {
        let start = self.tok.start;
        let first = self.ident()?;
        if self.at(T::LParen) {
            return self.generic_call(start, ObjectName { schema: None, name: first });
        }
        if !self.at(T::Dot) {
            let column = self.alloc(ColumnRef { schema: None, table: None, name: first });
            return self.column_tail(start, column);
        }
        self.qualified(start, first)
    }

    fn qualified(&mut self, start: u32, first: Ident<'a>) -> R<Expr<'a>> {
        self.expect(T::Dot)?;
        let second = self.ident()?;
        self.qualified_after(start, first, second)
    }

    /// After `first.second`.
    pub(super) fn qualified_after(&mut self, start: u32, first: Ident<'a>, second: Ident<'a>) -> R<Expr<'a>> {
        if self.at(T::LParen) {
            return self.generic_call(start, ObjectName { schema: Some(first), name: second });
        }
        let column = if self.eat(T::Dot) {
            ColumnRef { schema: Some(first), table: Some(second), name: self.ident()? }
        } else {
            ColumnRef { schema: None, table: Some(first), name: second }
        };
        let column = self.alloc(column);
        self.column_tail(start, column)
    }

    /// `->` and `->>`.
    #[inline]
    fn column_tail(&mut self, start: u32, column: &'a ColumnRef<'a>) -> R<Expr<'a>> {
        let expr = self.make(start, ExprKind::Column(column));
        if !self.at_any(&[T::Arrow, T::LongArrow]) {
            return Ok(expr);
        }
        let unquote = self.bump().kind == T::LongArrow;
        let path = self.string()?;
        self.grow()?;
        let kind = ExprKind::JsonExtract { column: self.alloc(expr), path, unquote };
        Ok(self.make(start, kind))
    }

    /// `[[schema.]table.]column`.
    pub(super) fn column_ref(&mut self) -> R<ColumnRef<'a>> {
        let first = self.ident()?;
        if !self.eat(T::Dot) {
            return Ok(ColumnRef { schema: None, table: None, name: first });
        }
        let second = self.ident()?;
        if !self.eat(T::Dot) {
            return Ok(ColumnRef { schema: None, table: Some(first), name: second });
        }
        Ok(ColumnRef { schema: Some(first), table: Some(second), name: self.ident()? })
    }

    #[inline(never)]
    fn generic_call(&mut self, start: u32, name: ObjectName<'a>) -> R<Expr<'a>> {
        self.expect(T::LParen)?;
        let mut args = self.list();
        let mut aliases: &'a [Option<Ident<'a>>] = &[];
        if !self.at(T::RParen) {
            let mut some = self.list();
            loop {
                args.push(self.expr()?);
                let alias = if name.schema.is_some() { None } else { self.select_alias()? };
                if alias.is_some() || !some.is_empty() {
                    while some.len() + 1 < args.len() {
                        some.push(None);
                    }
                    some.push(alias);
                }
                if !self.eat(T::Comma) {
                    break;
                }
            }
            aliases = some.into_bump_slice();
        }
        self.expect(T::RParen)?;
        self.grow()?;
        let call = FunctionCall { name, args: args.into_bump_slice(), arg_aliases: aliases };
        Ok(self.make(start, ExprKind::Function(self.alloc(call))))
    }

    /// A call of a built-in function; its name stands for the source text.
    pub(super) fn call_named(&self, name: &'static [u8], args: &[Expr<'a>]) -> Expr<'a> {
        let span = match (args.first(), args.last()) {
            (Some(first), Some(last)) => first.span.to(last.span),
            _ => Span::default(),
        };
        let args: &'a [Expr<'a>] = self.arena.alloc_slice_copy(args);
        let name = ObjectName { schema: None, name: Ident { text: name, span } };
        let call = FunctionCall { name, args, arg_aliases: &[] };
        Expr { kind: ExprKind::Function(self.alloc(call)), span }
    }

    fn call_at(&self, start: u32, name: &'static [u8], args: &[Expr<'a>]) -> R<Expr<'a>> {
        let mut call = self.call_named(name, args);
        call.span = self.span_from(start);
        Ok(call)
    }

    /// `(a, b)` with at least `min` and at most `max` arguments.
    fn fixed_args(&mut self, min: usize, max: usize) -> R<&'a [Expr<'a>]> {
        self.expect(T::LParen)?;
        let mut args = self.list();
        while args.len() < max {
            if args.is_empty() && min == 0 && self.at(T::RParen) {
                break;
            }
            args.push(self.expr()?);
            if args.len() < min {
                self.expect(T::Comma)?;
            } else if args.len() == max || !self.eat(T::Comma) {
                break;
            }
        }
        self.expect(T::RParen)?;
        self.grow()?;
        Ok(args.into_bump_slice())
    }

    /// An expression that begins with a word.
    fn word_expr(&mut self, kind: T) -> R<Expr<'a>> {
        let start = self.tok.start;
        // `SQL_TSI_DAY` is `DAY` in every place, the function `DAY()` included.
        let kind = if plain_unit(kind) != kind && self.peek() == T::LParen { plain_unit(kind) } else { kind };
        let paren = || usize::MAX;
        match kind {
            // Functions with fixed numbers of arguments, whose names are words.
            T::DAY
            | T::HOUR
            | T::MINUTE
            | T::MONTH
            | T::SECOND
            | T::YEAR
            | T::MICROSECOND
            | T::QUARTER
            | T::ASCII
            | T::CHARSET
            | T::COLLATION
            | T::REVERSE
                if self.peek() == T::LParen =>
            {
                self.word_call(1, 1)
            }
            T::DATE | T::TIME | T::TIMESTAMP => self.temporal_word(kind),
            T::LEFT | T::RIGHT | T::MOD => self.word_call(2, 2),
            T::REPEAT => self.word_call(2, 2),
            T::TRUNCATE if self.peek() == T::LParen => self.word_call(2, 2),
            T::IF | T::REPLACE => self.word_call(3, 3),
            T::INSERT => self.word_call(4, 4),
            T::FORMAT if self.peek() == T::LParen => self.word_call(2, 3),
            T::WEEK if self.peek() == T::LParen => self.word_call(1, 2),
            T::LOG if self.peek() == T::LParen => self.word_call(1, 2),
            T::COALESCE if self.peek() == T::LParen => self.word_call(1, paren()),
            T::POINT if self.peek() == T::LParen => self.word_call(2, 2),
            T::LINESTRING | T::POLYGON | T::MULTIPOINT | T::MULTILINESTRING | T::MULTIPOLYGON
                if self.peek() == T::LParen =>
            {
                self.word_call(1, paren())
            }
            T::GEOMETRYCOLLECTION | T::GEOMCOLLECTION if self.peek() == T::LParen => {
                self.word_call(0, paren())
            }
            T::DATABASE | T::SCHEMA => {
                self.bump();
                self.no_args()?;
                self.call_at(start, b"DATABASE", &[])
            }
            T::ROW_COUNT if self.peek() == T::LParen => self.word_call(0, 0),
            T::USER if self.peek() == T::LParen => {
                self.bump();
                self.no_args()?;
                self.call_at(start, b"USER", &[])
            }
            T::SESSION_USER | T::SYSTEM_USER => {
                self.bump();
                self.no_args()?;
                self.call_at(start, b"USER", &[])
            }
            T::CURRENT_USER => {
                self.bump();
                self.optional_no_args()?;
                self.call_at(start, b"CURRENT_USER", &[])
            }
            T::CURRENT_DATE | T::UTC_DATE => {
                self.bump();
                self.optional_no_args()?;
                self.call_at(start, if kind == T::UTC_DATE { b"UTC_DATE" } else { b"CURDATE" }, &[])
            }
            T::CURDATE => {
                self.bump();
                self.no_args()?;
                self.call_at(start, b"CURDATE", &[])
            }
            T::NOW | T::CURRENT_TIMESTAMP | T::LOCALTIME | T::LOCALTIMESTAMP => {
                let args = self.fraction_args()?;
                self.call_at(start, b"NOW", args)
            }
            T::CURTIME | T::CURRENT_TIME => {
                let args = self.fraction_args()?;
                self.call_at(start, b"CURTIME", args)
            }
            T::UTC_TIME => {
                let args = self.fraction_args()?;
                self.call_at(start, b"UTC_TIME", args)
            }
            T::UTC_TIMESTAMP => {
                let args = self.fraction_args()?;
                self.call_at(start, b"UTC_TIMESTAMP", args)
            }
            T::SYSDATE => {
                let args = self.fraction_args()?;
                self.call_at(start, b"SYSDATE", args)
            }
            T::INTERVAL => self.interval_expr(),
            T::CASE => self.case_expr(),
            T::CAST => self.cast(),
            T::CONVERT => self.convert(),
            T::EXISTS => {
                self.bump();
                let query = self.subquery()?;
                self.grow()?;
                Ok(self.make(start, ExprKind::Exists(query)))
            }
            T::ROW => {
                self.bump();
                self.expect(T::LParen)?;
                let first = self.expr()?;
                if !self.at(T::Comma) {
                    return self.fail();
                }
                self.row_or_paren(start, first)
            }
            T::DEFAULT => {
                self.bump();
                self.expect(T::LParen)?;
                let column = self.column_ref()?;
                self.expect(T::RParen)?;
                Ok(self.make(start, ExprKind::DefaultOf(self.alloc(column))))
            }
            T::VALUES => {
                self.bump();
                self.expect(T::LParen)?;
                let column = self.column_ref()?;
                self.expect(T::RParen)?;
                Ok(self.make(start, ExprKind::ValuesOf(self.alloc(column))))
            }
            T::MATCH => self.match_expr(),
            T::ADDDATE | T::SUBDATE | T::DATE_ADD | T::DATE_SUB => self.date_add(kind),
            T::EXTRACT => {
                self.bump();
                self.expect(T::LParen)?;
                let unit = self.interval_unit()?;
                self.expect(T::FROM)?;
                let expr = self.expr_ref()?;
                self.expect(T::RParen)?;
                self.grow()?;
                Ok(self.make(start, ExprKind::Extract { unit, expr }))
            }
            T::TIMESTAMPADD | T::TIMESTAMPDIFF if self.peek() == T::LParen => self.timestamp_function(kind),
            T::GET_FORMAT if self.peek() == T::LParen => {
                self.bump();
                self.bump();
                let kind = match self.expect_any(&[T::DATE, T::TIME, T::DATETIME, T::TIMESTAMP])? {
                    T::DATE => TemporalKind::Date,
                    T::TIME => TemporalKind::Time,
                    _ => TemporalKind::DateTime,
                };
                self.expect(T::Comma)?;
                let expr = self.expr_ref()?;
                self.expect(T::RParen)?;
                self.grow()?;
                Ok(self.make(start, ExprKind::GetFormat { kind, expr }))
            }
            T::POSITION => {
                self.bump();
                self.expect(T::LParen)?;
                let needle = self.bit_expr(None, 0)?;
                self.expect(T::IN)?;
                let hay = self.expr()?;
                self.expect(T::RParen)?;
                self.grow()?;
                self.call_at(start, b"LOCATE", &[needle, hay])
            }
            T::SUBSTRING | T::SUBSTR | T::MID => self.substring(),
            T::TRIM => self.trim(),
            T::CHAR | T::CHARACTER => self.char_function(),
            T::WEIGHT_STRING if self.peek() == T::LParen => self.weight_string(),
            T::JSON_VALUE if self.peek() == T::LParen => self.json_value(),
            T::GROUPING => {
                self.bump();
                let args = self.paren_list(Self::expr)?;
                self.grow()?;
                Ok(self.make(start, ExprKind::Grouping(args)))
            }
            T::AVG if self.peek() == T::LParen => self.aggregate(AggregateFunc::Avg),
            T::COUNT => self.aggregate(AggregateFunc::Count),
            T::SUM => self.aggregate(AggregateFunc::Sum),
            T::MIN => self.aggregate(AggregateFunc::Min),
            T::MAX => self.aggregate(AggregateFunc::Max),
            T::BIT_AND => self.aggregate(AggregateFunc::BitAnd),
            T::BIT_OR => self.aggregate(AggregateFunc::BitOr),
            T::BIT_XOR => self.aggregate(AggregateFunc::BitXor),
            T::STD | T::STDDEV | T::STDDEV_POP => self.aggregate(AggregateFunc::StdPop),
            T::STDDEV_SAMP => self.aggregate(AggregateFunc::StdSamp),
            T::VARIANCE | T::VAR_POP => self.aggregate(AggregateFunc::VarPop),
            T::VAR_SAMP => self.aggregate(AggregateFunc::VarSamp),
            T::GROUP_CONCAT => self.aggregate(AggregateFunc::GroupConcat),
            T::JSON_ARRAYAGG => self.aggregate(AggregateFunc::JsonArrayAgg),
            T::JSON_OBJECTAGG => self.aggregate(AggregateFunc::JsonObjectAgg),
            T::ST_COLLECT => self.aggregate(AggregateFunc::StCollect),
            T::ROW_NUMBER => self.window_call(WindowFunc::RowNumber),
            T::RANK => self.window_call(WindowFunc::Rank),
            T::DENSE_RANK => self.window_call(WindowFunc::DenseRank),
            T::CUME_DIST => self.window_call(WindowFunc::CumeDist),
            T::PERCENT_RANK => self.window_call(WindowFunc::PercentRank),
            T::NTILE => self.window_call(WindowFunc::Ntile),
            T::LEAD => self.window_call(WindowFunc::Lead),
            T::LAG => self.window_call(WindowFunc::Lag),
            T::FIRST_VALUE => self.window_call(WindowFunc::FirstValue),
            T::LAST_VALUE => self.window_call(WindowFunc::LastValue),
            T::NTH_VALUE => self.window_call(WindowFunc::NthValue),
            _ if kind.is_free_word() => {
                // A word that is no reserved one is a column, but never the name of a loadable function.
                let first = self.ident()?;
                if self.at(T::Dot) {
                    return self.qualified(start, first);
                }
                let column = self.alloc(ColumnRef { schema: None, table: None, name: first });
                self.column_tail(start, column)
            }
            _ => self.fail(),
        }
    }

    /// `word(args)` with the word, in upper case, as the function's name.
    #[inline(never)]
    fn word_call(&mut self, min: usize, max: usize) -> R<Expr<'a>> {
        let mut word = self.bump();
        word.kind = plain_unit(word.kind);
        let args = self.fixed_args(min, max)?;
        let call = FunctionCall {
            name: ObjectName {
                schema: None,
                name: Ident { text: word.kind.word().as_bytes(), span: word.span() },
            },
            args,
            arg_aliases: &[],
        };
        Ok(self.make(word.start, ExprKind::Function(self.alloc(call))))
    }

    fn no_args(&mut self) -> R<()> {
        self.expect_all(&[T::LParen, T::RParen])
    }

    fn optional_no_args(&mut self) -> R<()> {
        if self.eat(T::LParen) {
            self.expect(T::RParen)?;
        }
        Ok(())
    }

    /// The word, then nothing, `()` or `(digits)`.
    fn fraction_args(&mut self) -> R<&'a [Expr<'a>]> {
        self.bump();
        if !self.eat(T::LParen) {
            return Ok(&[]);
        }
        if self.eat(T::RParen) {
            return Ok(&[]);
        }
        if !self.at(T::Integer) {
            return self.fail();
        }
        let arg = self.primary()?;
        self.expect(T::RParen)?;
        Ok(std::slice::from_ref(self.alloc(arg)))
    }

    /// `DATE '...'`, `DATE(x)`, or a column of that name.
    #[inline(never)]
    fn temporal_word(&mut self, word: T) -> R<Expr<'a>> {
        let start = self.tok.start;
        match self.peek() {
            T::Str => {
                self.bump();
                let value = self.string()?;
                let kind = match word {
                    T::DATE => TemporalKind::Date,
                    T::TIME => TemporalKind::Time,
                    _ => TemporalKind::DateTime,
                };
                Ok(self.make(start, ExprKind::Literal(Literal::Temporal { kind, value })))
            }
            T::LParen => self.word_call(1, if word == T::TIMESTAMP { 2 } else { 1 }),
            _ => {
                let first = self.ident()?;
                if self.at(T::Dot) {
                    return self.qualified(start, first);
                }
                let column = self.alloc(ColumnRef { schema: None, table: None, name: first });
                self.column_tail(start, column)
            }
        }
    }

    /// `INTERVAL n DAY + date`, or the function `INTERVAL(n, a, b)`.
    #[inline(never)]
    fn interval_expr(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        let interval = match self.interval_or_call(start, false)? {
            Ok(call) => return Ok(call),
            Err(interval) => interval,
        };
        let unit = self.interval_unit()?;
        self.expect(T::Plus)?;
        // The date is a whole expression in the grammar, and `+` ends at the first operator not tighter.
        self.enter()?;
        let date = self.bit_expr(None, 4)?;
        self.leave();
        self.grow()?;
        let kind = ExprKind::DateArith {
            date: self.alloc(date),
            interval: self.alloc(interval),
            unit,
            subtract: false,
        };
        Ok(self.make(start, kind))
    }

    #[inline(never)]
    fn case_expr(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        let operand = if self.at(T::WHEN) { None } else { Some(self.expr()?) };
        let mut whens = self.list();
        if !self.at(T::WHEN) {
            return self.fail();
        }
        while self.eat(T::WHEN) {
            let when = self.expr()?;
            self.expect(T::THEN)?;
            whens.push((when, self.expr()?));
        }
        let otherwise = if self.eat(T::ELSE) { Some(self.expr()?) } else { None };
        self.expect(T::END)?;
        self.grow()?;
        let case = Case { operand, whens: whens.into_bump_slice(), otherwise };
        Ok(self.make(start, ExprKind::Case(self.alloc(case))))
    }

    #[inline(never)]
    fn cast(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let expr = self.expr()?;
        let mut at_time_zone = None;
        if self.eat(T::AT) {
            if self.eat(T::LOCAL) {
                self.expect(T::AS)?;
                self.cast_type()?;
                self.eat(T::ARRAY);
                self.expect(T::RParen)?;
                return self.fail_with(1235, "42000", "This version of MySQL doesn't yet support 'AT LOCAL'");
            }
            self.expect_all(&[T::TIME, T::ZONE])?;
            self.eat(T::INTERVAL);
            at_time_zone = Some(self.string()?);
            self.expect(T::AS)?;
            if !self.at(T::DATETIME) {
                return self.fail();
            }
        } else {
            self.expect(T::AS)?;
        }
        let to = self.cast_type()?;
        let array = at_time_zone.is_none() && self.eat(T::ARRAY);
        self.expect(T::RParen)?;
        self.grow()?;
        Ok(self.make(start, ExprKind::Cast(self.alloc(Cast { expr, to, array, at_time_zone }))))
    }

    #[inline(never)]
    fn convert(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let expr = self.expr()?;
        self.grow()?;
        if self.eat(T::USING) {
            let charset = self.charset_name()?;
            self.expect(T::RParen)?;
            return Ok(self.make(start, ExprKind::ConvertUsing { expr: self.alloc(expr), charset }));
        }
        self.expect(T::Comma)?;
        let to = self.cast_type()?;
        self.expect(T::RParen)?;
        let cast = Cast { expr, to, array: false, at_time_zone: None };
        Ok(self.make(start, ExprKind::Cast(self.alloc(cast))))
    }

    /// `(n)` or nothing.
    pub(super) fn opt_length(&mut self) -> R<Option<u64>> {
        if !self.eat(T::LParen) {
            return Ok(None);
        }
        let length = self.number_in_parens()?;
        self.expect(T::RParen)?;
        Ok(Some(length))
    }

    pub(super) fn number_in_parens(&mut self) -> R<u64> {
        if self.at_any(&[T::Integer, T::Decimal]) { self.number() } else { self.fail() }
    }

    pub(super) fn cast_type(&mut self) -> R<CastType<'a>> {
        let kind = self.tok.kind;
        Ok(match kind {
            T::BINARY => {
                self.bump();
                CastType::Binary(self.opt_length()?)
            }
            T::CHAR | T::CHARACTER => {
                self.bump();
                let length = self.opt_length()?;
                let (charset, binary) = self.charset_with_binary()?;
                CastType::Char { length, charset, binary }
            }
            T::NCHAR => {
                self.bump();
                CastType::Char { length: self.opt_length()?, charset: Some(b"utf8mb3"), binary: false }
            }
            T::NATIONAL => {
                self.bump();
                self.expect_any(&[T::CHAR, T::CHARACTER])?;
                CastType::Char { length: self.opt_length()?, charset: Some(b"utf8mb3"), binary: false }
            }
            T::SIGNED => {
                self.bump();
                let _ = self.eat(T::INT) || self.eat(T::INTEGER);
                CastType::Signed
            }
            T::UNSIGNED => {
                self.bump();
                let _ = self.eat(T::INT) || self.eat(T::INTEGER);
                CastType::Unsigned
            }
            T::DATE => {
                self.bump();
                CastType::Date
            }
            T::YEAR => {
                self.bump();
                CastType::Year
            }
            T::TIME => {
                self.bump();
                CastType::Time(self.opt_fraction()?)
            }
            T::DATETIME => {
                self.bump();
                CastType::DateTime(self.opt_fraction()?)
            }
            T::DECIMAL | T::DEC | T::NUMERIC | T::FIXED => {
                if matches!(kind, T::NUMERIC | T::FIXED) {
                    return self.fail();
                }
                self.bump();
                let (precision, scale) = self.precision()?;
                CastType::Decimal { precision, scale }
            }
            T::JSON => {
                self.bump();
                CastType::Json
            }
            T::FLOAT => {
                self.bump();
                CastType::Float(self.opt_length()?)
            }
            T::DOUBLE => {
                self.bump();
                self.eat(T::PRECISION);
                CastType::Double
            }
            T::REAL => {
                self.bump();
                if self.mode.has(SqlMode::REAL_AS_FLOAT) { CastType::Float(None) } else { CastType::Double }
            }
            T::POINT
            | T::LINESTRING
            | T::POLYGON
            | T::MULTIPOINT
            | T::MULTILINESTRING
            | T::MULTIPOLYGON
            | T::GEOMETRYCOLLECTION
            | T::GEOMCOLLECTION => {
                self.bump();
                CastType::Spatial(kind.word())
            }
            _ => return self.fail(),
        })
    }

    /// `(digits)` or nothing, only plain integers.
    pub(super) fn opt_fraction(&mut self) -> R<Option<u64>> {
        if !self.eat(T::LParen) {
            return Ok(None);
        }
        let digits = self.integer()?;
        self.expect(T::RParen)?;
        Ok(Some(digits))
    }

    /// `(precision[, scale])` or nothing.
    pub(super) fn precision(&mut self) -> R<(Option<u64>, Option<u64>)> {
        if !self.eat(T::LParen) {
            return Ok((None, None));
        }
        let precision = self.number_in_parens()?;
        let scale = if self.eat(T::Comma) { Some(self.integer()?) } else { None };
        self.expect(T::RParen)?;
        Ok((Some(precision), scale))
    }

    /// Character set of a string type: its name and whether `BINARY` was written.
    pub(super) fn charset_with_binary(&mut self) -> R<(Option<&'a [u8]>, bool)> {
        let mut charset: Option<&'a [u8]> = None;
        let mut binary = false;
        match self.kind() {
            T::ASCII | T::UNICODE => {
                charset = Some(if self.bump().kind == T::ASCII { b"latin1" } else { b"ucs2" });
                binary = self.eat(T::BINARY);
            }
            T::BYTE => {
                self.bump();
                charset = Some(b"binary");
            }
            T::CHARACTER | T::CHAR | T::CHARSET => {
                self.eat_charset_words()?;
                charset = Some(self.charset_name()?);
                binary = self.eat(T::BINARY);
            }
            T::BINARY => {
                self.bump();
                binary = true;
                match self.kind() {
                    T::ASCII => {
                        self.bump();
                        charset = Some(b"latin1");
                    }
                    T::UNICODE => {
                        self.bump();
                        charset = Some(b"ucs2");
                    }
                    T::CHARACTER | T::CHAR | T::CHARSET => {
                        self.eat_charset_words()?;
                        charset = Some(self.charset_name()?);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok((charset, binary))
    }

    #[inline(never)]
    fn match_expr(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        let columns = if self.at(T::LParen) {
            self.paren_list(Self::column_ref)?
        } else {
            self.comma_list(Self::column_ref)?
        };
        self.expect_all(&[T::AGAINST, T::LParen])?;
        let against = self.bit_expr(None, 0)?;
        let mut mode = MatchMode::Natural;
        if self.eat(T::IN) {
            if self.eat(T::BOOLEAN) {
                mode = MatchMode::Boolean;
            } else {
                self.expect_all(&[T::NATURAL, T::LANGUAGE])?;
            }
            self.expect(T::MODE)?;
        }
        if mode == MatchMode::Natural && self.eat(T::WITH) {
            self.expect_all(&[T::QUERY, T::EXPANSION])?;
            mode = MatchMode::NaturalExpansion;
        }
        self.expect(T::RParen)?;
        self.grow()?;
        Ok(self.make(start, ExprKind::Match(self.alloc(Match { columns, against, mode }))))
    }

    #[inline(never)]
    fn date_add(&mut self, word: T) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let date = self.expr_ref()?;
        self.expect(T::Comma)?;
        let subtract = matches!(word, T::SUBDATE | T::DATE_SUB);
        let plain_days = matches!(word, T::ADDDATE | T::SUBDATE);
        let (interval, unit) = if self.at(T::INTERVAL) {
            let interval_start = self.bump().start;
            match self.interval_or_call(interval_start, true)? {
                Ok(call) if plain_days => (self.expr_from_call(call)?, DAY),
                Ok(_) => return self.fail(),
                Err(interval) => (interval, self.interval_unit()?),
            }
        } else if plain_days {
            (self.expr()?, DAY)
        } else {
            return self.fail();
        };
        self.expect(T::RParen)?;
        self.grow()?;
        let kind = ExprKind::DateArith { date, interval: self.alloc(interval), unit, subtract };
        Ok(self.make(start, kind))
    }

    fn expr_from_call(&mut self, call: Expr<'a>) -> R<Expr<'a>> {
        let call = self.simple_tail(call)?;
        self.expr_from(Some(call))
    }

    #[inline(never)]
    fn timestamp_function(&mut self, word: T) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let unit = self.timestamp_unit()?;
        self.expect(T::Comma)?;
        let first = self.expr_ref()?;
        self.expect(T::Comma)?;
        let second = self.expr_ref()?;
        self.expect(T::RParen)?;
        self.grow()?;
        let kind = if word == T::TIMESTAMPADD {
            ExprKind::DateArith { date: second, interval: first, unit, subtract: false }
        } else {
            ExprKind::TimestampDiff { unit, from: first, to: second }
        };
        Ok(self.make(start, kind))
    }

    #[inline(never)]
    fn substring(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let text = self.expr()?;
        let from_for = self.at(T::FROM);
        if !from_for && !self.at(T::Comma) {
            return self.fail();
        }
        self.bump();
        let from = self.expr()?;
        let mut args = self.list();
        args.push(text);
        args.push(from);
        if self.eat(if from_for { T::FOR } else { T::Comma }) {
            args.push(self.expr()?);
        }
        self.expect(T::RParen)?;
        self.grow()?;
        self.call_at(start, b"SUBSTRING", &args)
    }

    #[inline(never)]
    fn trim(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let mut remove = None;
        let side = match self.kind() {
            T::LEADING => TrimSide::Leading,
            T::TRAILING => TrimSide::Trailing,
            _ => TrimSide::Both,
        };
        let expr;
        if self.at_any(&[T::LEADING, T::TRAILING, T::BOTH]) {
            self.bump();
            if !self.at(T::FROM) {
                remove = Some(self.expr_ref()?);
            }
            self.expect(T::FROM)?;
            expr = self.expr_ref()?;
        } else {
            let first = self.expr_ref()?;
            if self.eat(T::FROM) {
                remove = Some(first);
                expr = self.expr_ref()?;
            } else {
                expr = first;
            }
        }
        self.expect(T::RParen)?;
        self.grow()?;
        Ok(self.make(start, ExprKind::Trim { side, remove, expr }))
    }

    #[inline(never)]
    fn char_function(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let args = self.exprs()?;
        let charset = if self.eat(T::USING) { Some(self.charset_name()?) } else { None };
        self.expect(T::RParen)?;
        self.grow()?;
        Ok(self.make(start, ExprKind::Char { args, charset }))
    }

    #[inline(never)]
    fn weight_string(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let expr = self.expr_ref()?;
        let mut binary = false;
        let mut length = None;
        if self.eat(T::AS) {
            binary = self.expect_any(&[T::CHAR, T::CHARACTER, T::BINARY])? == T::BINARY;
            self.expect(T::LParen)?;
            length = Some(self.whole_number()?);
            self.expect(T::RParen)?;
        } else if self.eat(T::Comma) {
            for position in 0..3 {
                if position > 0 {
                    self.expect(T::Comma)?;
                }
                self.number()?;
            }
        }
        self.expect(T::RParen)?;
        self.grow()?;
        Ok(self.make(start, ExprKind::WeightString { expr, binary, length }))
    }

    #[inline(never)]
    fn json_value(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let doc = self.simple_expr()?;
        self.expect(T::Comma)?;
        let path = self.text_literal()?;
        let returning = if self.eat(T::RETURNING) { Some(self.cast_type()?) } else { None };
        let (on_empty, on_error) = self.on_empty_or_error()?;
        self.expect(T::RParen)?;
        self.grow()?;
        let value = JsonValue { doc, path, returning, on_empty, on_error };
        Ok(self.make(start, ExprKind::JsonValue(self.alloc(value))))
    }

    /// A string with introducer or adjacent strings where only a string may stand.
    pub(super) fn text_literal(&mut self) -> R<&'a [u8]> {
        let expr = match self.kind() {
            T::Str | T::NStr => self.string_expr(None)?,
            T::Introducer if self.peek() == T::Str => self.introduced()?,
            _ => return self.fail(),
        };
        match expr.kind {
            ExprKind::Literal(Literal::String { value, .. }) => Ok(value),
            _ => self.fail(),
        }
    }

    /// `... ON EMPTY ... ON ERROR`, each optional.
    pub(super) fn on_empty_or_error(&mut self) -> R<(Option<JsonOn<'a>>, Option<JsonOn<'a>>)> {
        let mut on_empty = None;
        let mut on_error = None;
        while on_error.is_none() {
            let what = match self.kind() {
                T::NULL => {
                    self.bump();
                    JsonOn::Null
                }
                T::ERROR => {
                    self.bump();
                    JsonOn::Error
                }
                T::DEFAULT => {
                    self.bump();
                    JsonOn::Default(self.signed_literal()?)
                }
                _ => break,
            };
            self.expect(T::ON)?;
            if on_empty.is_none() && self.eat(T::EMPTY) {
                on_empty = Some(what);
            } else {
                self.expect(T::ERROR)?;
                on_error = Some(what);
            }
        }
        Ok((on_empty, on_error))
    }

    /// A literal, perhaps with a sign before a number.
    pub(super) fn signed_literal(&mut self) -> R<Expr<'a>> {
        match self.kind() {
            T::Minus | T::Plus => {
                let sign = self.bump();
                if !self.at_any(&[T::Integer, T::Decimal, T::Float]) {
                    return self.fail();
                }
                let number = self.primary()?;
                let op = if sign.kind == T::Minus { UnaryOp::Neg } else { UnaryOp::Plus };
                let kind = ExprKind::Unary { op, expr: self.alloc(number) };
                Ok(self.make(sign.start, kind))
            }
            T::DATE | T::TIME | T::TIMESTAMP if self.peek() == T::Str => self.primary(),
            T::Integer
            | T::Decimal
            | T::Float
            | T::Str
            | T::NStr
            | T::Introducer
            | T::Hex
            | T::HexStr
            | T::Bin
            | T::BinStr
            | T::NULL
            | T::TRUE
            | T::FALSE => self.primary(),
            _ => self.fail(),
        }
    }

    // Aggregates and windows.

    #[inline(never)]
    fn aggregate(&mut self, mut func: AggregateFunc) -> R<Expr<'a>> {
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
    fn window_call(&mut self, func: WindowFunc) -> R<Expr<'a>> {
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
    fn stable_integer(&mut self) -> R<Expr<'a>> {
        match self.kind() {
            T::Integer | T::Param | T::At => self.primary(),
            _ if self.at_ident() => self.primary(),
            _ => self.fail(),
        }
    }

    fn over(&mut self) -> R<&'a Over<'a>> {
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

    fn frame(&mut self, unit: FrameUnit) -> R<Frame<'a>> {
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

    fn frame_bound(&mut self, following: bool) -> R<FrameBound<'a>> {
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

/// A token that makes an operand the left side of something.
#[inline]
fn continues(kind: T) -> bool {
    matches!(
        kind,
        T::OR
            | T::OrOr
            | T::XOR
            | T::AND
            | T::AndAnd
            | T::IS
            | T::Eq
            | T::NullSafeEq
            | T::Ne
            | T::Lt
            | T::Le
            | T::Gt
            | T::Ge
            | T::NOT
            | T::IN
            | T::BETWEEN
            | T::LIKE
            | T::REGEXP
            | T::RLIKE
            | T::MEMBER
            | T::SOUNDS
            | T::Pipe
            | T::Amp
            | T::Shl
            | T::Shr
            | T::Plus
            | T::Minus
            | T::Star
            | T::Slash
            | T::Percent
            | T::MOD
            | T::DIV
            | T::Caret
    )
}

/// The unit without `SQL_TSI_`.
fn plain_unit(kind: T) -> T {
    match kind {
        T::SQL_TSI_SECOND => T::SECOND,
        T::SQL_TSI_MINUTE => T::MINUTE,
        T::SQL_TSI_HOUR => T::HOUR,
        T::SQL_TSI_DAY => T::DAY,
        T::SQL_TSI_WEEK => T::WEEK,
        T::SQL_TSI_MONTH => T::MONTH,
        T::SQL_TSI_QUARTER => T::QUARTER,
        T::SQL_TSI_YEAR => T::YEAR,
        _ => kind,
    }
}

/// The type of a number by its text.
pub(crate) fn number_kind(kind: T, text: &[u8]) -> NumberKind {
    match kind {
        T::Float => NumberKind::Float,
        T::Integer if text.len() < 20 || Parser::integer_of(text).is_some() => NumberKind::Integer,
        _ => NumberKind::Decimal,
    }
}

fn interval_unit(kind: T) -> Option<IntervalUnit> {
    use IntervalUnit as U;
    Some(match plain_unit(kind) {
        T::MICROSECOND => U::Microsecond,
        T::SECOND => U::Second,
        T::MINUTE => U::Minute,
        T::HOUR => U::Hour,
        T::DAY => U::Day,
        T::WEEK => U::Week,
        T::MONTH => U::Month,
        T::QUARTER => U::Quarter,
        T::YEAR => U::Year,
        T::SECOND_MICROSECOND => U::SecondMicrosecond,
        T::MINUTE_MICROSECOND => U::MinuteMicrosecond,
        T::MINUTE_SECOND => U::MinuteSecond,
        T::HOUR_MICROSECOND => U::HourMicrosecond,
        T::HOUR_SECOND => U::HourSecond,
        T::HOUR_MINUTE => U::HourMinute,
        T::DAY_MICROSECOND => U::DayMicrosecond,
        T::DAY_SECOND => U::DaySecond,
        T::DAY_MINUTE => U::DayMinute,
        T::DAY_HOUR => U::DayHour,
        T::YEAR_MONTH => U::YearMonth,
        _ => return None,
    })
}
