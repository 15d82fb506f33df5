//! Identifying a statement without parsing it.
//!
//! One lexer pass turns a text into a *normalized statement*: its tokens with literals replaced by their kinds. Texts with equal
//! normalized statements differ only in literals, so one plan serves them all with the literals as parameters. The normalized statement's
//! bytes are hashed once at the end; a cache looks the hash up and then compares the bytes, so no two statements
//! are ever mixed up by a hash collision.
//!
//! What stays as written, because it decides more than a value:
//! - the whole select list (a column without alias is named by its source text, blanks included), and so every
//!   subquery in it;
//! - `ORDER BY` and `GROUP BY` (ordinals), constants that shape a type (`ROUND(x, 2)`), lengths of types, fractional digits, paths behind `->`, frames, hints,
//!   `NULL`, `TRUE`, `FALSE`, introducers and typed literals.
//!
//! The rows of `INSERT ... VALUES (...), (...)` become one *normalized row*: however many rows of literals there are,
//! the normalized statement is the same, and the cells are in [`Digested::rows`]'s literals, row by row.
//!
//! How a plan is made on a miss: parse the text as usual; a literal in the tree whose place (`span.start`) is that
//! of literal number n is parameter n; see [`Digested::find`].

use crate::SqlMode;
use crate::ast::{Cell, CellKind};
use crate::keywords::T;
use crate::lexer::{Lexer, Token};

/// Deepest parentheses a normalized statement may have; deeper texts are parsed each time.
const PARENS_MAX: usize = 64;

/// Buffers to use again, so that digesting a statement allocates nothing.
#[derive(Default)]
pub struct DigestScratch {
    normalized: Vec<u8>,
    literals: Vec<Cell>,
}

impl DigestScratch {
    /// Gives buffers back that have grown beyond `bytes_max`, each.
    #[inline]
    pub fn keep_at_most(&mut self, bytes_max: usize) {
        if self.normalized.capacity() > bytes_max {
            self.normalized = Vec::new();
        }
        if self.literals.capacity() * size_of::<Cell>() > bytes_max {
            self.literals = Vec::new();
        }
    }
}

/// What one pass found out.
#[derive(Clone, Copy, Debug)]
pub struct Digested<'s> {
    /// Hash of `normalized` (and of the modes it was read in).
    pub hash: u64,
    /// What to compare on a hit. Texts with equal normalized statements under the same modes are the same statement.
    pub normalized: &'s [u8],
    /// The literals that are parameters, in the order of the text. Places are those of the text; for strings the
    /// text between the quotes, for hexadecimals the digits.
    pub literals: &'s [Cell],
    /// The rows of an `INSERT`'s `VALUES`, if all of them are literals.
    pub rows: Option<DigestedRows>,
    /// `?` in the text; the literals do not count.
    pub param_count: u32,
    /// Offset after the statement and its `;`.
    pub end: usize,
    /// Something follows behind the `;`.
    pub more: bool,
}

/// Rows of `VALUES` among the literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestedRows {
    /// Index of the first cell in [`Digested::literals`].
    pub first: u32,
    /// Cells per row.
    pub column_count: u32,
    /// Rows.
    pub row_count: u32,
}

impl Digested<'_> {
    /// Number of the literal that begins at `offset` of the text (its quote or sign-less first digit).
    #[must_use]
    pub fn find(&self, offset: u32) -> Option<u32> {
        let after = self.literals.partition_point(|cell| cell.start < offset);
        let cell = self.literals.get(after)?;
        // A string's cell begins one byte after its quote, a hexadecimal's two after its mark.
        let lead = match cell.kind {
            CellKind::String | CellKind::StringEscaped => 1,
            CellKind::Hex => 2,
            _ => 0,
        };
        (cell.start == offset + lead).then_some(after as u32)
    }

    /// Number of the literal whose cell begins at `start`: for the cells of a `VALUES` list that is not in `rows`.
    /// A negative number there has its sign in the normalized statement and only its digits here.
    #[must_use]
    pub fn find_cell(&self, start: u32) -> Option<u32> {
        let after = self.literals.partition_point(|cell| cell.start < start);
        (self.literals.get(after)?.start == start).then_some(after as u32)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Clause {
    /// Literals are parameters.
    Free,
    /// Literals stay as written.
    Fixed,
    /// The list of a `SELECT` at this depth; `FROM` ends it.
    List,
}

// Marks in a normalized statement. Words and symbols are their own number, which is below these.
const MARK_NAME: u16 = 0xfff0;
const MARK_TEXT: u16 = 0xfff1;
const MARK_LITERAL: u16 = 0xff00;
const MARK_HINT: u16 = 0xfff2;
const MARK_ROWS: u16 = 0xfff3;

struct Digester<'a, 's> {
    lexer: Lexer<'a>,
    scratch: &'s mut DigestScratch,
    clauses: [Clause; PARENS_MAX],
    depth: usize,
    /// Where the outermost open select list began, if one is open, and its depth.
    list: Option<(usize, usize)>,
    hint: u32,
}

/// The beginning of `sql`, at most `bytes_max` bytes, with `?` for each literal and one blank between tokens: for logs, which must not hold
/// what people keep in tables.
#[must_use]
pub fn normalized(sql: &[u8], mode: SqlMode, bytes_max: usize) -> String {
    let mut lexer = Lexer::new(sql, mode);
    let mut text = String::new();
    while text.len() < bytes_max {
        let token = lexer.next();
        let piece = match token.kind {
            T::Eof => break,
            // A text that is cut is no token, and still what people keep in tables.
            T::Abort => {
                text.push_str(" ...");
                break;
            }
            T::Integer
            | T::Decimal
            | T::Float
            | T::Str
            | T::Hex
            | T::HexStr
            | T::NStr
            | T::Bin
            | T::BinStr => "?".into(),
            _ => String::from_utf8_lossy(&sql[token.start as usize..token.end as usize]),
        };
        if token.start == token.end {
            break; // What is no token.
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&piece);
    }
    if text.len() > bytes_max {
        let fits = (0..=bytes_max).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(fits.unwrap_or(0));
    }
    text
}

/// Digests the first statement of `sql`; `None` if it is none that is worth a cached plan (anything but queries
/// and changes of rows), or one that must be parsed anyway (adjacent strings, very deep parentheses, bad tokens).
pub fn digest<'s>(sql: &[u8], mode: SqlMode, scratch: &'s mut DigestScratch) -> Option<Digested<'s>> {
    scratch.normalized.clear();
    scratch.literals.clear();
    if sql.len() >= u32::MAX as usize {
        return None;
    }
    // A short text's normalized statement is about as long as the text; a long `VALUES` list has a short one.
    scratch.normalized.reserve(sql.len().min(4096) * 2);
    let mut digester = Digester {
        lexer: Lexer::new(sql, mode),
        scratch,
        clauses: [Clause::Free; PARENS_MAX],
        depth: 0,
        list: None,
        hint: 0,
    };
    let found = digester.run()?;
    let scratch: &'s DigestScratch = digester.scratch;
    Some(Digested {
        hash: hash(&scratch.normalized, mode),
        normalized: &scratch.normalized,
        literals: &scratch.literals,
        rows: found.rows,
        param_count: found.param_count,
        end: found.end,
        more: found.more,
    })
}

fn hash(normalized: &[u8], mode: SqlMode) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = foldhash::fast::FixedState::with_seed(u64::from(mode.0)).build_hasher();
    hasher.write(normalized);
    hasher.finish()
}

struct Found {
    rows: Option<DigestedRows>,
    param_count: u32,
    end: usize,
    more: bool,
}

impl Digester<'_, '_> {
    fn run(&mut self) -> Option<Found> {
        let mut token = self.lexer.next();
        let insert = match token.kind {
            T::INSERT | T::REPLACE => true,
            T::SELECT | T::UPDATE | T::DELETE | T::WITH | T::LParen | T::TABLE | T::VALUES => false,
            _ => return None,
        };
        let mut previous = T::Semicolon;
        let mut previous_place = token.span();
        let mut rows = None;
        let mut param_count = 0;
        loop {
            match token.kind {
                T::Eof | T::Semicolon => {
                    self.close_list(token.start);
                    let end = token.end as usize;
                    let mut kind = token.kind;
                    while kind == T::Semicolon {
                        kind = self.lexer.next().kind;
                    }
                    return Some(Found { rows, param_count, end, more: kind != T::Eof });
                }
                T::Abort | T::Other | T::Dollar => return None,
                T::Integer | T::Decimal | T::Float | T::Str | T::Hex | T::HexStr => {
                    if token.kind == T::Str && matches!(previous, T::Str | T::NStr) {
                        return None; // Adjacent strings are one value; the parser joins them.
                    }
                    self.literal(token, previous);
                }
                T::NStr | T::Bin | T::BinStr | T::Introducer => self.text(token),
                T::Ident | T::QuotedIdent | T::Hostname => self.name(token),
                T::Param => {
                    param_count += 1;
                    self.symbol(T::Param);
                }
                T::LParen => {
                    self.symbol(T::LParen);
                    if self.depth + 1 >= PARENS_MAX {
                        return None;
                    }
                    let inner = match self.clauses[self.depth] {
                        Clause::Free if fixes_parens(previous) => Clause::Fixed,
                        Clause::Free
                            if previous == T::Ident && shapes_type(previous_place.of(self.lexer.sql)) =>
                        {
                            Clause::Fixed
                        }
                        Clause::Free => Clause::Free,
                        Clause::Fixed | Clause::List => Clause::Fixed,
                    };
                    self.depth += 1;
                    self.clauses[self.depth] = inner;
                }
                T::RParen => {
                    if self.list.is_some_and(|(_, depth)| depth == self.depth) {
                        self.close_list(token.start);
                    }
                    if self.depth == 0 {
                        return None;
                    }
                    self.depth -= 1;
                    self.symbol(T::RParen);
                }
                T::SELECT => {
                    self.symbol(T::SELECT);
                    if self.clauses[self.depth] != Clause::Fixed || self.list.is_none() {
                        self.clauses[self.depth] = Clause::List;
                    }
                    self.list.get_or_insert((token.end as usize, self.depth));
                }
                T::FROM | T::UNION | T::EXCEPT | T::INTERSECT | T::WHERE | T::HAVING | T::LIMIT | T::INTO => {
                    self.leave_clause(token);
                    self.symbol(token.kind);
                }
                T::ORDER | T::GROUP => {
                    self.leave_clause(token);
                    self.symbol(token.kind);
                    self.clauses[self.depth] = Clause::Fixed;
                }
                T::FOR | T::WINDOW | T::ON | T::SET => {
                    self.symbol(token.kind);
                }
                T::VALUES | T::VALUE if insert && self.depth == 0 && rows.is_none() => {
                    self.symbol(T::VALUES);
                    let before = self.lexer;
                    let literals_before = self.scratch.literals.len();
                    if let Some(found) = self.rows(literals_before as u32) {
                        rows = Some(found);
                        self.push(MARK_ROWS);
                        self.scratch.normalized.extend_from_slice(&found.column_count.to_le_bytes());
                    } else {
                        // Something else than literals in the rows: token by token.
                        self.lexer = before;
                        self.scratch.literals.truncate(literals_before);
                    }
                }
                // A word that may be a name is kept as written: names of tables differ in case.
                kind if kind.is_free_word() => self.name(token),
                kind => self.symbol(kind),
            }
            previous = token.kind;
            previous_place = token.span();
            token = self.lexer.next();
            if self.lexer.hint.start != self.hint {
                self.hint = self.lexer.hint.start;
                let hint = self.lexer.hint;
                self.push(MARK_HINT);
                let text = hint.of(self.lexer.sql);
                self.bytes(text);
            }
        }
    }

    /// A word that ends a select list or an `ORDER BY` at this depth.
    fn leave_clause(&mut self, token: Token) {
        match self.clauses[self.depth] {
            Clause::List => {
                self.clauses[self.depth] = Clause::Free;
                if self.list.is_some_and(|(_, depth)| depth == self.depth) {
                    self.close_list(token.start);
                } else if self.list.is_some() {
                    // A subquery inside an outer select list: all of it is in the outer list's text.
                    self.clauses[self.depth] = Clause::Fixed;
                }
            }
            // What follows an `ORDER BY` of this depth; in parentheses within a fixed part nothing changes.
            Clause::Fixed if self.list.is_none() && !self.inside_fixed_parens() => {
                self.clauses[self.depth] = Clause::Free;
            }
            _ => {}
        }
    }

    fn inside_fixed_parens(&self) -> bool {
        self.depth > 0 && self.clauses[self.depth - 1] == Clause::Fixed
    }

    /// The outermost select list ends: its text, as written.
    fn close_list(&mut self, end: u32) {
        if let Some((start, _)) = self.list.take() {
            self.push(MARK_TEXT);
            let sql = self.lexer.sql;
            let text = &sql[start..end as usize];
            self.bytes(text.trim_ascii());
        }
    }

    #[inline]
    fn push(&mut self, mark: u16) {
        self.scratch.normalized.extend_from_slice(&mark.to_le_bytes());
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.scratch.normalized.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.scratch.normalized.extend_from_slice(bytes);
    }

    #[inline]
    fn symbol(&mut self, kind: T) {
        if self.list.is_none() {
            self.push(kind as u16);
        }
    }

    #[inline]
    fn name(&mut self, token: Token) {
        if self.list.is_none() {
            let sql = self.lexer.sql;
            let text = &sql[token.start as usize..token.end as usize];
            let [a, b] = MARK_NAME.to_le_bytes();
            let [c, d, e, f] = (text.len() as u32).to_le_bytes();
            self.scratch.normalized.extend_from_slice(&[a, b, c, d, e, f]);
            self.scratch.normalized.extend_from_slice(text);
        }
    }

    fn text(&mut self, token: Token) {
        if self.list.is_none() {
            self.push(MARK_TEXT);
            let sql = self.lexer.sql;
            self.bytes(&sql[token.start as usize..token.end as usize]);
        }
    }

    #[inline]
    fn literal(&mut self, token: Token, previous: T) {
        if self.list.is_some() {
            return;
        }
        if self.clauses[self.depth] != Clause::Free || fixes_next(previous) {
            self.text(token);
            return;
        }
        let cell = cell_of(token, self.lexer.sql);
        self.push(MARK_LITERAL | cell.kind as u16);
        self.scratch.literals.push(cell);
    }

    /// After `VALUES`: `(literals), (literals), ...`, all of the same width.
    fn rows(&mut self, first: u32) -> Option<DigestedRows> {
        let mut width = None;
        let mut row_count = 0u32;
        let mut column_count;
        loop {
            if self.lexer.next().kind != T::LParen {
                return None;
            }
            column_count = 0u32;
            loop {
                let mut token = self.lexer.next();
                let negative = token.kind == T::Minus;
                if negative {
                    token = self.lexer.next();
                }
                let mut cell = match token.kind {
                    T::Integer | T::Decimal | T::Float => cell_of(token, self.lexer.sql),
                    _ if negative => return None,
                    T::Str | T::Hex | T::HexStr => cell_of(token, self.lexer.sql),
                    T::NULL => plain(token, CellKind::Null),
                    T::DEFAULT => plain(token, CellKind::Default),
                    T::TRUE => plain(token, CellKind::True),
                    T::FALSE => plain(token, CellKind::False),
                    _ => return None,
                };
                if negative {
                    cell.kind = match cell.kind {
                        CellKind::Integer => CellKind::NegInteger,
                        CellKind::Decimal => CellKind::NegDecimal,
                        _ => CellKind::NegFloat,
                    };
                }
                self.scratch.literals.push(cell);
                column_count += 1;
                match self.lexer.next().kind {
                    T::Comma => {}
                    T::RParen => break,
                    _ => return None,
                }
            }
            row_count += 1;
            if *width.get_or_insert(column_count) != column_count {
                return None;
            }
            let before = self.lexer;
            if self.lexer.next().kind != T::Comma {
                self.lexer = before;
                return Some(DigestedRows { first, column_count, row_count });
            }
        }
    }
}

fn plain(token: Token, kind: CellKind) -> Cell {
    Cell { start: token.start, len: token.end - token.start, kind }
}

/// The cell of a literal token, as in `VALUES` lists.
#[inline]
fn cell_of(token: Token, sql: &[u8]) -> Cell {
    let (start, end) = (token.start, token.end);
    match token.kind {
        T::Str => Cell {
            start: start + 1,
            len: end - start - 2,
            kind: if token.escaped { CellKind::StringEscaped } else { CellKind::String },
        },
        T::Hex => Cell { start: start + 2, len: end - start - 2, kind: CellKind::Hex },
        T::HexStr => Cell { start: start + 2, len: end - start - 3, kind: CellKind::Hex },
        T::Float => plain(token, CellKind::Float),
        T::Decimal => plain(token, CellKind::Decimal),
        _ => match crate::parser::number_kind(token.kind, &sql[start as usize..end as usize]) {
            crate::ast::NumberKind::Integer => plain(token, CellKind::Integer),
            _ => plain(token, CellKind::Decimal),
        },
    }
}

/// Words whose parentheses hold what must stay as written: lengths, digits, frames.
fn fixes_parens(word: T) -> bool {
    matches!(
        word,
        T::CHAR
            | T::CHARACTER
            | T::NCHAR
            | T::BINARY
            | T::DECIMAL
            | T::DEC
            | T::NUMERIC
            | T::FIXED
            | T::DATETIME
            | T::TIME
            | T::TIMESTAMP
            | T::FLOAT
            | T::DOUBLE
            | T::REAL
            | T::YEAR
            | T::VARCHAR
            | T::INT
            | T::BIGINT
            | T::NOW
            | T::CURTIME
            | T::SYSDATE
            | T::CURRENT_TIME
            | T::CURRENT_TIMESTAMP
            | T::LOCALTIME
            | T::LOCALTIMESTAMP
            | T::UTC_TIME
            | T::UTC_TIMESTAMP
            | T::NTILE
            | T::LEAD
            | T::LAG
            | T::NTH_VALUE
            | T::WEIGHT_STRING
            | T::JSON_VALUE
            | T::JSON_TABLE
            | T::OVER
            | T::TABLESAMPLE
            | T::SYSTEM
            | T::BERNOULLI
            | T::GROUP_CONCAT
            | T::TRUNCATE
            | T::FORMAT
    )
}

/// Functions whose result's type depends on the value of a constant argument.
fn shapes_type(name: &[u8]) -> bool {
    match name.len() {
        5 => name.eq_ignore_ascii_case(b"ROUND"),
        11 => name.eq_ignore_ascii_case(b"STR_TO_DATE"),
        _ => false,
    }
}

/// Tokens after which a literal is part of the grammar, not a value.
fn fixes_next(previous: T) -> bool {
    matches!(
        previous,
        T::Arrow
            | T::LongArrow
            | T::Introducer
            | T::DATE
            | T::TIME
            | T::TIMESTAMP
            | T::COLLATE
            | T::USING
            | T::AS
            | T::At
            | T::SEPARATOR
            | T::ESCAPE
            | T::OUTFILE
            | T::DUMPFILE
            | T::BY
            | T::SET
            | T::CHARSET
            | T::ZONE
            | T::INTERVAL
            | T::ROWS
            | T::RANGE
            | T::LBrace
    )
}
