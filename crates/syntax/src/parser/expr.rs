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

/// What stands in parentheses.
pub(super) enum Paren<'a> {
    Query(&'a Query<'a>),
    Expr(Expr<'a>),
}

impl<'a> Parser<'a> {
    /// An expression of any kind. Its span holds the parentheses that it begins or ends with, so that its text can be read by
    /// itself; a literal's is that of the literal, by which its value is found.
    pub(super) fn expr(&mut self) -> R<Expr<'a>> {
        let start = self.tok.start;
        let mut expr = self.expr_from(None)?;
        if !matches!(expr.kind, ExprKind::Literal(_)) {
            expr.span = self.span_from(start);
        }
        Ok(expr)
    }

    pub(super) fn expr_ref(&mut self) -> R<&'a Expr<'a>> {
        let expr = self.expr()?;
        Ok(self.alloc(expr))
    }

    pub(super) fn exprs(&mut self) -> R<&'a [Expr<'a>]> {
        self.comma_list(Self::expr)
    }

    pub(super) fn make(&self, start: u32, kind: ExprKind<'a>) -> Expr<'a> {
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

    pub(super) fn or_expr(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
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

    pub(super) fn xor_expr(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
        let mut left = self.and_expr(left)?;
        while self.eat(T::XOR) {
            let right = self.sibling(|p| p.and_expr(None))?;
            left = self.binary(BinaryOp::Xor, left, right);
            self.grow()?;
        }
        Ok(left)
    }

    pub(super) fn and_expr(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
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
    pub(super) fn balanced(&mut self, op: BinaryOp, operands: &[Expr<'a>]) -> R<Expr<'a>> {
        self.height += usize::BITS - operands.len().leading_zeros();
        if self.height > NESTING_MAX {
            return self.too_deep();
        }
        Ok(self.balance(op, operands))
    }

    pub(super) fn balance(&self, op: BinaryOp, operands: &[Expr<'a>]) -> Expr<'a> {
        if operands.len() == 1 {
            return operands[0];
        }
        let (left, right) = operands.split_at(operands.len().div_ceil(2));
        let (left, right) = (self.balance(op, left), self.balance(op, right));
        self.binary(op, left, right)
    }

    pub(super) fn binary(&self, op: BinaryOp, left: Expr<'a>, right: Expr<'a>) -> Expr<'a> {
        Expr {
            kind: ExprKind::Binary { op, left: self.alloc(left), right: self.alloc(right) },
            span: left.span.to(right.span),
        }
    }

    /// The tree became one higher.
    #[inline]
    pub(super) fn grow(&mut self) -> R<()> {
        self.height += 1;
        if self.height > NESTING_MAX { self.too_deep() } else { Ok(()) }
    }

    /// Reads an operand beside others: the height is that of the highest, not their sum.
    #[inline]
    pub(super) fn sibling<X>(&mut self, rule: impl FnOnce(&mut Self) -> R<X>) -> R<X> {
        let before = std::mem::replace(&mut self.height, 0);
        let read = rule(self);
        self.height = self.height.max(before);
        read
    }

    pub(super) fn not_expr(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
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

    pub(super) fn compare_op(&self) -> Option<CompareOp> {
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

    pub(super) fn boolean_primary(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
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
    pub(super) fn any_follows(&mut self) -> bool {
        self.at(T::ALL) || self.peek() == T::LParen
    }

    pub(super) fn predicate(&mut self, left: Option<Expr<'a>>) -> R<Expr<'a>> {
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

    pub(super) fn in_list(&mut self, left: Expr<'a>, negated: bool) -> R<ExprKind<'a>> {
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
    pub(super) fn row_or_paren(&mut self, start: u32, first: Expr<'a>) -> R<Expr<'a>> {
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
    pub(super) fn arithmetic(&self) -> Option<(u8, BinaryOp)> {
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
    pub(super) fn bit_expr(&mut self, left: Option<Expr<'a>>, above: u8) -> R<Expr<'a>> {
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
    pub(super) fn plus_interval(&mut self, left: Expr<'a>, op: BinaryOp) -> R<Expr<'a>> {
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
    pub(super) fn interval_or_call(&mut self, start: u32, row_amount: bool) -> R<Result<Expr<'a>, Expr<'a>>> {
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

    pub(super) fn is_interval_unit(&self) -> bool {
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
    pub(super) fn timestamp_unit(&mut self) -> R<IntervalUnit> {
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
    pub(super) fn prefix_operand(&mut self) -> R<Expr<'a>> {
        if self.at_any(&[T::Minus, T::Plus, T::Tilde, T::Bang, T::NOT, T::BINARY]) {
            return self.simple_expr();
        }
        let expr = self.primary()?;
        self.collate_tail(expr)
    }

    pub(super) fn collate_tail(&mut self, mut expr: Expr<'a>) -> R<Expr<'a>> {
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
    pub(super) fn simple_tail(&mut self, mut expr: Expr<'a>) -> R<Expr<'a>> {
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
    pub(super) fn primary(&mut self) -> R<Expr<'a>> {
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

    pub(super) fn literal(&mut self, literal: Literal<'a>) -> R<Expr<'a>> {
        let token = self.bump();
        Ok(self.make(token.start, ExprKind::Literal(literal)))
    }

    #[inline(never)]
    pub(super) fn string_expr(&mut self, charset: Option<&'a [u8]>) -> R<Expr<'a>> {
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
    pub(super) fn bytes_expr(&mut self, charset: Option<&'a [u8]>) -> R<Expr<'a>> {
        let token = self.bump();
        let literal = Literal::Bytes {
            value: self.bytes_of(token),
            charset,
            bits: matches!(token.kind, T::Bin | T::BinStr),
        };
        Ok(self.make(token.start, ExprKind::Literal(literal)))
    }

    #[inline(never)]
    pub(super) fn introduced(&mut self) -> R<Expr<'a>> {
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
    pub(super) fn user_var(&mut self) -> R<Expr<'a>> {
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
    pub(super) fn sys_var(&mut self) -> R<Expr<'a>> {
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
    pub(super) fn odbc(&mut self) -> R<Expr<'a>> {
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
    pub(super) fn name_expr(&mut self) -> R<Expr<'a>> {
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

    pub(super) fn qualified(&mut self, start: u32, first: Ident<'a>) -> R<Expr<'a>> {
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
    pub(super) fn column_tail(&mut self, start: u32, column: &'a ColumnRef<'a>) -> R<Expr<'a>> {
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
    pub(super) fn generic_call(&mut self, start: u32, name: ObjectName<'a>) -> R<Expr<'a>> {
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

    pub(super) fn call_at(&self, start: u32, name: &'static [u8], args: &[Expr<'a>]) -> R<Expr<'a>> {
        let mut call = self.call_named(name, args);
        call.span = self.span_from(start);
        Ok(call)
    }

    /// `(a, b)` with at least `min` and at most `max` arguments.
    pub(super) fn fixed_args(&mut self, min: usize, max: usize) -> R<&'a [Expr<'a>]> {
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
pub(super) fn plain_unit(kind: T) -> T {
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
