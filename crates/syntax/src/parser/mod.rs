//! Recursive descent over MySQL 9.7's grammar, one token of look-ahead (rarely two), no backtracking.
//!
//! MySQL's own parser reports the first token that no statement could continue with; so does this one: a rule looks
//! at the current token, and where nothing fits it stops there ([`Parser::fail`]). The error text is built once, at
//! the end, from that token's offset.
//!
//! Invariants:
//! 1. Recursion is bounded: [`NESTING_MAX`] counts every rule that can contain itself.
//! 2. The height of an expression tree is bounded by the same number: chains of `AND` and `OR` become balanced
//!    trees, other chains (`1 + 1 + ...`) count, so code that walks the tree may recurse.
//! 3. Time and memory are linear in the text.

pub(crate) use expr::number_kind;

mod account;
mod admin;
mod alter;
mod body;
mod column;
mod ddl;
mod dml;
mod expr;
mod function;
mod object;
mod query;
mod replication;
mod routine;
mod show;
mod variable;
mod window;

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;

use crate::ast::{Ident, ObjectName, Span, Statement};
use crate::keywords::T;
use crate::lexer::{Lexer, Token, unescape_with};
use crate::{SqlMode, SyntaxError, error};

/// How deep expressions, parentheses and queries may nest, and how high an expression tree may be.
pub const NESTING_MAX: u32 = 400;

/// Longest chain of joins in one table reference (MySQL joins at most 61 tables anyway).
const JOIN_CHAIN_MAX: u32 = 400;

/// Expressions and queries between two checks whether the statement must stop (about 0.1 ms).
const ENTERED_PER_LOOK: u32 = 1024;

/// A statement and where it ends.
#[derive(Clone, Debug)]
pub struct Parsed<'a> {
    /// The statement.
    pub statement: Statement<'a>,
    /// Offset in the text after the statement and the `;` behind it, if there is one.
    pub end: usize,
    /// Something other than blanks, comments and `;` follows.
    pub more: bool,
    /// Parameters (`?`) in it.
    pub param_count: u32,
    /// Where each parameter stands; outside of PREPARE a 1064 points to the first. Empty costs no allocation.
    pub params: Vec<u32>,
}

/// Reads the first statement of `sql`.
///
/// Reset the arena and use it again: then nothing is allocated for ordinary statements.
///
/// # Errors
/// 1064 with MySQL's text for what is no statement; 1436 for what nests deeper than [`NESTING_MAX`]; a few other
/// numbers that MySQL's own parser returns.
pub fn parse<'a>(sql: &'a [u8], arena: &'a Bump, mode: SqlMode) -> Result<Parsed<'a>, Box<SyntaxError>> {
    if sql.len() >= u32::MAX as usize {
        return Err(error::too_long());
    }
    let mut parser = Parser::new(sql, arena, mode);
    match parser.top() {
        Ok(parsed) => Ok(parsed),
        Err(Stop) => Err(parser.error()),
    }
}

/// Reads one expression (a stored default, generated column or check).
///
/// # Errors
/// As [`parse`].
pub fn parse_expr<'a>(
    sql: &'a [u8],
    arena: &'a Bump,
    mode: SqlMode,
) -> Result<crate::ast::Expr<'a>, Box<SyntaxError>> {
    if sql.len() >= u32::MAX as usize {
        return Err(error::too_long());
    }
    let mut parser = Parser::new(sql, arena, mode);
    match parser.expr().and_then(|expr| parser.expect(T::Eof).map(|_| expr)) {
        Ok(expr) => Ok(expr),
        Err(Stop) => Err(parser.error()),
    }
}

/// The parser stopped; why stands in [`Parser::failure`].
#[derive(Debug)]
pub(crate) struct Stop;

/// What a rule returns.
pub(crate) type R<X> = Result<X, Stop>;

#[derive(Clone, Copy)]
enum Failure {
    Syntax,
    /// As `Syntax`, with another beginning of the message.
    SyntaxText(&'static str),
    TooDeep,
    /// The statement was killed, or has reached a limit of memory.
    Interrupted,
    Other(u16, &'static str, &'static str),
}

pub(crate) struct Parser<'a> {
    lexer: Lexer<'a>,
    sql: &'a [u8],
    arena: &'a Bump,
    mode: SqlMode,
    tok: Token,
    ahead: Option<Token>,
    /// End of the last token taken.
    prev_end: u32,
    depth: u32,
    /// Calls of [`Parser::enter`].
    entered: u32,
    /// Height of the highest expression read since this was last set to 0.
    height: u32,
    params: u32,
    param_places: Vec<u32>,
    /// Not inside a subquery: a query may have `INTO`.
    into_allowed: bool,
    /// The last `INTO` of a query block was its end.
    into_ends_block: bool,
    /// The `INTO` of the query that is read stands where MySQL warns of it ([`Query::into_is_inner`]).
    into_is_inner: bool,
    failure: Failure,
}

impl<'a> Parser<'a> {
    fn new(sql: &'a [u8], arena: &'a Bump, mode: SqlMode) -> Self {
        let mut lexer = Lexer::new(sql, mode);
        let tok = lexer.next();
        Parser {
            lexer,
            sql,
            arena,
            mode,
            tok,
            ahead: None,
            prev_end: 0,
            depth: 0,
            entered: 0,
            height: 0,
            params: 0,
            param_places: Vec::new(),
            into_allowed: true,
            into_ends_block: false,
            into_is_inner: false,
            failure: Failure::Syntax,
        }
    }

    fn top(&mut self) -> R<Parsed<'a>> {
        let statement = match self.kind() {
            T::Eof | T::Semicolon => Statement::Empty,
            _ => self.statement()?,
        };
        let end;
        let mut more = false;
        match self.kind() {
            T::Eof => end = self.tok.end as usize,
            T::Semicolon => {
                end = self.tok.end as usize;
                let mut rest = self.lexer;
                if let Some(ahead) = self.ahead {
                    rest.pos = ahead.start as usize;
                }
                let mut kind = T::Semicolon;
                while kind == T::Semicolon {
                    kind = rest.next().kind;
                }
                more = kind != T::Eof;
            }
            _ => return self.fail(),
        }
        if more && matches!(statement, Statement::Empty) {
            return self.fail();
        }
        Ok(Parsed {
            statement,
            end,
            more,
            param_count: self.params,
            params: std::mem::take(&mut self.param_places),
        })
    }

    #[cold]
    fn error(&self) -> Box<SyntaxError> {
        let offset = self.tok.start as usize;
        match self.failure {
            Failure::Syntax => error::syntax_error_at(self.sql, offset),
            Failure::SyntaxText(text) => error::syntax_error_text(text, self.sql, offset),
            Failure::TooDeep => error::too_deep(offset, NESTING_MAX),
            Failure::Interrupted => error::interrupted(offset),
            Failure::Other(number, sqlstate, message) => {
                Box::new(SyntaxError { number, sqlstate, message: message.to_owned(), offset })
            }
        }
    }

    /// Stops at the current token.
    #[cold]
    fn fail<X>(&mut self) -> R<X> {
        Err(Stop)
    }

    /// Stops at a place before the current token, for what MySQL notices late.
    #[cold]
    fn fail_at<X>(&mut self, offset: u32) -> R<X> {
        self.tok.start = offset;
        Err(Stop)
    }

    #[cold]
    fn fail_with<X>(&mut self, number: u16, sqlstate: &'static str, message: &'static str) -> R<X> {
        self.failure = Failure::Other(number, sqlstate, message);
        Err(Stop)
    }

    #[cold]
    fn too_deep<X>(&mut self) -> R<X> {
        self.failure = Failure::TooDeep;
        Err(Stop)
    }

    /// One level deeper; [`Parser::leave`] on the way out.
    #[inline]
    fn enter(&mut self) -> R<()> {
        self.depth += 1;
        self.entered += 1;
        if self.entered.is_multiple_of(ENTERED_PER_LOOK) && env::blocking::must_stop() {
            return self.interrupted();
        }
        if self.depth > NESTING_MAX { self.too_deep() } else { Ok(()) }
    }

    #[cold]
    fn interrupted<X>(&mut self) -> R<X> {
        self.failure = Failure::Interrupted;
        Err(Stop)
    }

    #[inline]
    fn leave(&mut self) {
        self.depth -= 1;
    }

    // Tokens.

    /// The kind of the current token.
    #[inline]
    fn kind(&self) -> T {
        self.tok.kind
    }

    #[inline]
    fn at(&self, kind: T) -> bool {
        self.tok.kind == kind
    }

    #[inline]
    fn at_any(&self, kinds: &[T]) -> bool {
        kinds.contains(&self.tok.kind)
    }

    /// Takes the current token.
    #[inline]
    fn bump(&mut self) -> Token {
        let taken = self.tok;
        self.prev_end = taken.end;
        self.tok = match self.ahead.take() {
            Some(token) => token,
            None => self.lexer.next(),
        };
        taken
    }

    /// The kind of the token after the current one.
    #[inline]
    fn peek(&mut self) -> T {
        if self.ahead.is_none() {
            self.ahead = Some(self.lexer.next());
        }
        self.ahead.map_or(T::Eof, |token| token.kind)
    }

    #[inline]
    fn eat(&mut self, kind: T) -> bool {
        let found = self.tok.kind == kind;
        if found {
            self.bump();
        }
        found
    }

    /// Takes `first second` if both are there.
    fn eat_pair(&mut self, first: T, second: T) -> bool {
        if self.at(first) && self.peek() == second {
            self.bump();
            self.bump();
            return true;
        }
        false
    }

    /// Takes `@`. Where a second `@` follows, that one is wrong, not the first.
    fn eat_at(&mut self) -> R<bool> {
        if self.at(T::AtAt) {
            return self.fail_at(self.tok.start + 1);
        }
        Ok(self.eat(T::At))
    }

    fn expect_at(&mut self) -> R<()> {
        if self.eat_at()? { Ok(()) } else { self.fail() }
    }

    #[inline]
    fn expect(&mut self, kind: T) -> R<Token> {
        if self.tok.kind == kind { Ok(self.bump()) } else { self.fail() }
    }

    /// Takes these tokens, one after the other.
    fn expect_all(&mut self, kinds: &[T]) -> R<()> {
        for kind in kinds {
            self.expect(*kind)?;
        }
        Ok(())
    }

    /// Takes one of these.
    fn expect_any(&mut self, kinds: &[T]) -> R<T> {
        if self.at_any(kinds) { Ok(self.bump().kind) } else { self.fail() }
    }

    fn span_from(&self, start: u32) -> Span {
        Span { start, end: self.prev_end.max(start) }
    }

    #[inline]
    fn text(&self, token: Token) -> &'a [u8] {
        &self.sql[token.start as usize..token.end as usize]
    }

    // Arena.

    #[inline]
    fn alloc<X>(&self, value: X) -> &'a X {
        self.arena.alloc(value)
    }

    fn list<X>(&self) -> BumpVec<'a, X> {
        BumpVec::new_in(self.arena)
    }

    /// `item, item, ...`.
    #[inline]
    fn comma_list<X>(&mut self, mut item: impl FnMut(&mut Self) -> R<X>) -> R<&'a [X]> {
        let mut items = self.list();
        loop {
            items.push(item(self)?);
            if !self.eat(T::Comma) {
                return Ok(items.into_bump_slice());
            }
        }
    }

    /// `( item, item, ... )`.
    fn paren_list<X>(&mut self, item: impl FnMut(&mut Self) -> R<X>) -> R<&'a [X]> {
        self.expect(T::LParen)?;
        let items = self.comma_list(item)?;
        self.expect(T::RParen)?;
        Ok(items)
    }

    // Names.

    #[inline]
    fn at_ident(&self) -> bool {
        Self::is_ident(self.tok.kind)
    }

    #[inline]
    fn is_ident(kind: T) -> bool {
        matches!(kind, T::Ident | T::QuotedIdent) || kind.is_free_word()
    }

    #[inline]
    fn ident(&mut self) -> R<Ident<'a>> {
        if !self.at_ident() {
            return self.fail();
        }
        let token = self.bump();
        Ok(self.ident_of(token))
    }

    #[inline]
    fn ident_of(&self, token: Token) -> Ident<'a> {
        let text = self.text(token);
        let text = if token.kind == T::QuotedIdent {
            let inner = &text[1..text.len() - 1];
            if token.escaped { self.decode(inner, text[0], false) } else { inner }
        } else {
            text
        };
        Ident { text, span: token.span() }
    }

    #[cold]
    fn decode(&self, raw: &[u8], quote: u8, backslash: bool) -> &'a [u8] {
        let mut out = BumpVec::with_capacity_in(raw.len(), self.arena);
        unescape_with(raw, quote, backslash, |c| out.push(c));
        out.into_bump_slice()
    }

    fn idents(&mut self) -> R<&'a [Ident<'a>]> {
        self.comma_list(Self::ident)
    }

    /// `name` or `schema.name`.
    fn object_name(&mut self) -> R<ObjectName<'a>> {
        let first = self.ident()?;
        if self.eat(T::Dot) {
            return Ok(ObjectName { schema: Some(first), name: self.ident()? });
        }
        Ok(ObjectName { schema: None, name: first })
    }

    fn object_names(&mut self) -> R<&'a [ObjectName<'a>]> {
        self.comma_list(Self::object_name)
    }

    // Strings and numbers.

    /// The bytes of a string token.
    fn string_of(&self, token: Token) -> &'a [u8] {
        let text = self.text(token);
        let open = if token.kind == T::NStr { 2 } else { 1 };
        let inner = &text[open..text.len() - 1];
        if token.escaped {
            self.decode(inner, text[open - 1], !self.mode.has(SqlMode::NO_BACKSLASH_ESCAPES))
        } else {
            inner
        }
    }

    /// One string literal.
    fn string(&mut self) -> R<&'a [u8]> {
        let token = self.expect(T::Str)?;
        Ok(self.string_of(token))
    }

    /// A name or a string.
    fn ident_or_string(&mut self) -> R<&'a [u8]> {
        match self.kind() {
            T::Str => self.string(),
            T::Hostname => {
                let token = self.bump();
                Ok(self.text(token))
            }
            _ => Ok(self.ident()?.text),
        }
    }

    /// Bytes as long as `'...'` allows: string, hexadecimal or binary literal.
    fn text_string(&mut self) -> R<&'a [u8]> {
        match self.kind() {
            T::Str => self.string(),
            T::Hex | T::HexStr | T::Bin | T::BinStr => {
                let token = self.bump();
                Ok(self.bytes_of(token))
            }
            _ => self.fail(),
        }
    }

    /// The bytes of a hexadecimal or binary literal.
    fn bytes_of(&self, token: Token) -> &'a [u8] {
        let text = self.text(token);
        let digits = match token.kind {
            T::HexStr | T::BinStr => &text[2..text.len() - 1],
            _ => &text[2..],
        };
        let per_byte = if matches!(token.kind, T::Hex | T::HexStr) { 2 } else { 8 };
        let base = if per_byte == 2 { 4 } else { 1 };
        let mut out = BumpVec::with_capacity_in(digits.len().div_ceil(per_byte), self.arena);
        let first = digits.len() % per_byte;
        let value = |part: &[u8]| {
            part.iter().fold(0u8, |v, c| (v << base) | (*c as char).to_digit(16).unwrap_or(0) as u8)
        };
        if first > 0 {
            out.push(value(&digits[..first]));
        }
        for part in digits[first..].chunks_exact(per_byte) {
            out.push(value(part));
        }
        out.into_bump_slice()
    }

    fn integer_of(text: &[u8]) -> Option<u64> {
        text.iter().try_fold(0u64, |value, c| value.checked_mul(10)?.checked_add(u64::from(c - b'0')))
    }

    /// A number where MySQL wants a length or a size: too big is clipped, a fraction is cut off, as there.
    fn number(&mut self) -> R<u64> {
        match self.kind() {
            T::Decimal | T::Float => {
                let token = self.bump();
                let text = self.text(token);
                let whole = text.iter().take_while(|c| c.is_ascii_digit()).count();
                Ok(Self::integer_of(&text[..whole]).unwrap_or(u64::MAX))
            }
            _ => self.whole_number(),
        }
    }

    /// An integer, decimal or hexadecimal.
    fn whole_number(&mut self) -> R<u64> {
        match self.kind() {
            T::Integer => {
                let token = self.bump();
                Ok(Self::integer_of(self.text(token)).unwrap_or(u64::MAX))
            }
            T::Hex | T::HexStr => {
                let token = self.bump();
                let bytes = self.bytes_of(token);
                Ok(bytes.iter().fold(0u64, |v, b| (v << 8) | u64::from(*b)))
            }
            _ => self.fail(),
        }
    }

    fn integer(&mut self) -> R<u64> {
        if self.at(T::Integer) { self.whole_number() } else { self.fail() }
    }

    /// `=` or `:=`.
    fn equals(&mut self) -> R<()> {
        self.expect_any(&[T::Eq, T::Assign]).map(|_| ())
    }

    /// `IF EXISTS`.
    fn if_exists(&mut self) -> R<bool> {
        if self.eat(T::IF) {
            self.expect(T::EXISTS)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// `IF NOT EXISTS`.
    fn if_not_exists(&mut self) -> R<bool> {
        if self.eat(T::IF) {
            self.expect_all(&[T::NOT, T::EXISTS])?;
            return Ok(true);
        }
        Ok(false)
    }

    /// A character set's name: a name, a string, or `BINARY`.
    fn charset_name(&mut self) -> R<&'a [u8]> {
        if self.eat(T::BINARY) {
            return Ok(b"binary");
        }
        self.ident_or_string()
    }

    /// A collation's name: as a character set's.
    fn collation_name(&mut self) -> R<&'a [u8]> {
        self.charset_name()
    }

    /// `CHARACTER SET` in its three spellings, after which a name must follow.
    fn eat_charset_words(&mut self) -> R<bool> {
        if self.eat(T::CHARSET) {
            return Ok(true);
        }
        if self.at_any(&[T::CHARACTER, T::CHAR]) {
            self.bump();
            self.expect(T::SET)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// `NO_WRITE_TO_BINLOG` or `LOCAL`.
    fn eat_no_binlog(&mut self) {
        if !self.eat(T::NO_WRITE_TO_BINLOG) {
            self.eat(T::LOCAL);
        }
    }
}
