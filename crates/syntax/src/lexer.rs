//! From bytes to tokens, one pass, nothing copied.
//!
//! What MySQL's lexer does and a simpler one would not:
//! - a word directly before `.x` is a name even if reserved (`select.a`), and so is any word after the point;
//! - `1a` is a name, `1e5` a number, `1.5e` nothing;
//! - after `@` stands a host-like name with points (`@a.b` is one variable), after `@@` a word;
//! - `/*!80000 ... */` is read if the version is not newer than ours, skipped (with one level of nesting) if it is;
//! - `--` begins a comment only before a blank, a control character or the end.
//!
//! Invariants: tokens do not overlap and lie in the text; every call moves forward or returns `Eof` or `Abort`.

use crate::SqlMode;
use crate::ast::Span;
use crate::keywords::{T, is_charset, lookup};

/// The version that versioned comments are compared with: MySQL 9.7.4.
pub(crate) const MYSQL_VERSION_ID: u32 = 90704;

/// A token: its kind and place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: T,
    /// The text has escapes or doubled quotes to undo.
    pub(crate) escaped: bool,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Token {
    pub(crate) fn span(self) -> Span {
        Span { start: self.start, end: self.end }
    }
}

const BLANK: u8 = 1;
const IDENT: u8 = 2;
const DIGIT: u8 = 4;

/// Byte classes: blanks, identifier bytes, digits (which are identifier bytes too).
pub(crate) static CLASS: [u8; 256] = {
    let mut class = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        let c = i as u8;
        class[i] = match c {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => BLANK,
            b'0'..=b'9' => DIGIT | IDENT,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => IDENT,
            _ => 0,
        };
        i += 1;
    }
    class
};

#[inline]
fn is_ident(c: u8) -> bool {
    CLASS[c as usize] & IDENT != 0
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Normal,
    /// After `@`.
    Hostname,
    /// After `@@`.
    SystemVariable,
    /// After a point: a name whatever it looks like.
    Name,
}

/// The lexer. Its whole state is small and `Copy`, so a parser can look ahead by copying it.
#[derive(Clone, Copy)]
pub(crate) struct Lexer<'a> {
    pub(crate) sql: &'a [u8],
    pub(crate) pos: usize,
    mode: SqlMode,
    next: Next,
    /// The last token was a name and `.` + name byte follows.
    before_separator: bool,
    in_version_comment: bool,
    /// Inside of the last `/*+ ... */` passed over.
    pub(crate) hint: Span,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(sql: &'a [u8], mode: SqlMode) -> Self {
        Lexer {
            sql,
            pos: 0,
            mode,
            next: Next::Normal,
            before_separator: false,
            in_version_comment: false,
            hint: Span::default(),
        }
    }

    #[inline]
    fn at(&self, pos: usize) -> u8 {
        // NUL stands for the end as in MySQL's own tables; callers that must know ask for the length.
        if pos < self.sql.len() { self.sql[pos] } else { 0 }
    }

    #[inline]
    fn token(&mut self, kind: T, start: usize, end: usize) -> Token {
        self.pos = end;
        Token { kind, escaped: false, start: start as u32, end: end as u32 }
    }

    fn abort(&mut self, start: usize) -> Token {
        let end = self.sql.len();
        self.token(T::Abort, start, end)
    }

    /// The next token.
    #[inline]
    pub(crate) fn next(&mut self) -> Token {
        if self.next != Next::Normal {
            let next = std::mem::replace(&mut self.next, Next::Normal);
            if let Some(token) = self.special(next) {
                return token;
            }
        }
        loop {
            let mut pos = self.pos;
            while pos < self.sql.len() && CLASS[self.sql[pos] as usize] == BLANK {
                pos += 1;
            }
            self.pos = pos;
            if pos >= self.sql.len() {
                // An open `/*!` has no end: MySQL stops at the end of the text, not at the comment.
                let kind = if self.in_version_comment { T::Abort } else { T::Eof };
                return self.token(kind, pos, pos);
            }
            let c = self.sql[pos];
            if is_ident(c) {
                return self.word_or_number(c, pos);
            }
            match c {
                b',' => return self.token(T::Comma, pos, pos + 1),
                b'(' => return self.token(T::LParen, pos, pos + 1),
                b')' => return self.token(T::RParen, pos, pos + 1),
                b'\'' => return self.string(T::Str, pos, pos + 1, b'\''),
                b'`' => return self.quoted_name(pos, b'`'),
                b'"' => {
                    return if self.mode.has(SqlMode::ANSI_QUOTES) {
                        self.quoted_name(pos, b'"')
                    } else {
                        self.string(T::Str, pos, pos + 1, b'"')
                    };
                }
                b'#' => self.skip_line(pos),
                b'-' if self.at(pos + 1) == b'-' && self.begins_dash_comment(pos + 2) => self.skip_line(pos),
                b'/' if self.at(pos + 1) == b'*' => {
                    if let Err(token) = self.comment(pos) {
                        return token;
                    }
                }
                b'*' if self.in_version_comment && self.at(pos + 1) == b'/' => {
                    self.in_version_comment = false;
                    self.pos = pos + 2;
                }
                _ => return self.symbol(c, pos),
            }
        }
    }

    fn begins_dash_comment(&self, pos: usize) -> bool {
        pos >= self.sql.len() || self.sql[pos] <= b' ' || self.sql[pos] == 0x7f
    }

    fn skip_line(&mut self, pos: usize) {
        self.pos = memchr::memchr(b'\n', &self.sql[pos..]).map_or(self.sql.len(), |at| pos + at + 1);
    }

    /// At `/*`: passes over a comment, or enters a versioned one.
    fn comment(&mut self, start: usize) -> Result<(), Token> {
        if self.at(start + 2) == b'!' {
            let mut digits = self.sql[start + 3..].iter().take(6).take_while(|c| c.is_ascii_digit()).count();
            // Six digits are a version only before a blank; else the sixth belongs to the text.
            if digits == 6 && CLASS[self.at(start + 9) as usize] != BLANK {
                digits = 5;
            }
            if digits < 5 {
                self.in_version_comment = true;
                self.pos = start + 3;
                return Ok(());
            }
            let version =
                self.sql[start + 3..start + 3 + digits].iter().fold(0, |v, c| v * 10 + u32::from(c - b'0'));
            if version <= MYSQL_VERSION_ID {
                self.in_version_comment = true;
                self.pos = start + 3 + digits;
                return Ok(());
            }
            return self.skip_comment(start, start + 3 + digits, 1);
        }
        self.skip_comment(start, start + 2, 0)?;
        if self.at(start + 2) == b'+' {
            self.hint = Span { start: start as u32 + 3, end: self.pos as u32 - 2 };
        }
        Ok(())
    }

    fn skip_comment(&mut self, start: usize, from: usize, nested: u8) -> Result<(), Token> {
        let mut pos = from;
        let mut open = 0;
        while let Some(at) = memchr::memchr2(b'*', b'/', &self.sql[pos.min(self.sql.len())..]) {
            pos += at;
            if self.sql[pos] == b'*' && self.at(pos + 1) == b'/' {
                pos += 2;
                if open == 0 {
                    self.pos = pos;
                    return Ok(());
                }
                open -= 1;
            } else if open < nested && self.sql[pos] == b'/' && self.at(pos + 1) == b'*' {
                open += 1;
                pos += 2;
            } else {
                pos += 1;
            }
        }
        Err(self.abort(start))
    }

    fn special(&mut self, next: Next) -> Option<Token> {
        let start = self.pos;
        match next {
            Next::Hostname => {
                let mut pos = start;
                while pos < self.sql.len()
                    && (self.sql[pos].is_ascii_alphanumeric() || matches!(self.sql[pos], b'.' | b'_' | b'$'))
                {
                    pos += 1;
                }
                Some(self.token(T::Hostname, start, pos))
            }
            Next::SystemVariable => {
                if self.at(start) == b'`' {
                    return None;
                }
                let end = self.ident_end(start);
                if end == start {
                    return Some(self.token(T::Abort, start, start));
                }
                self.before_separator = self.at(end) == b'.';
                let kind = lookup(&self.sql[start..end], false).unwrap_or(T::Ident);
                Some(self.token(kind, start, end))
            }
            Next::Name => {
                let end = self.ident_end(start);
                Some(self.name(start, end))
            }
            Next::Normal => None,
        }
    }

    #[inline]
    fn ident_end(&self, mut pos: usize) -> usize {
        while pos < self.sql.len() && is_ident(self.sql[pos]) {
            pos += 1;
        }
        pos
    }

    fn name(&mut self, start: usize, end: usize) -> Token {
        self.before_separator = self.at(end) == b'.' && is_ident(self.at(end + 1));
        self.token(T::Ident, start, end)
    }

    #[inline]
    fn word_or_number(&mut self, c: u8, start: usize) -> Token {
        if c.is_ascii_digit() {
            return self.number(start);
        }
        let quote = self.at(start + 1);
        if quote == b'\'' {
            match c {
                b'x' | b'X' => return self.digits_string(T::HexStr, start, |c| c.is_ascii_hexdigit()),
                b'b' | b'B' => return self.digits_string(T::BinStr, start, |c| matches!(c, b'0' | b'1')),
                b'n' | b'N' => return self.string(T::NStr, start, start + 2, b'\''),
                _ => {}
            }
        }
        if c == b'$'
            && let Some(token) = self.dollar_string(start)
        {
            return token;
        }
        let end = self.ident_end(start + 1);
        let after = self.at(end);
        if after == b'.' && is_ident(self.at(end + 1)) {
            self.before_separator = true;
            return self.token(T::Ident, start, end);
        }
        let word = &self.sql[start..end];
        let mut before_paren = after == b'(';
        if !before_paren && self.mode.has(SqlMode::IGNORE_SPACE) {
            let blanks = self.sql[end..].iter().take_while(|c| CLASS[**c as usize] == BLANK).count();
            before_paren = self.at(end + blanks) == b'(';
        }
        if let Some(kind) = lookup(word, before_paren) {
            return self.token(kind, start, end);
        }
        let kind = if c == b'_' && is_charset(&word[1..]) { T::Introducer } else { T::Ident };
        self.token(kind, start, end)
    }

    /// `$tag$ ... $tag$`; `None` if this is a name with a dollar sign.
    fn dollar_string(&mut self, start: usize) -> Option<Token> {
        let tag = self.sql[start + 1..].iter().take_while(|c| is_ident(**c) && **c != b'$').count();
        let open_end = start + 2 + tag;
        if self.at(open_end - 1) != b'$' {
            return None;
        }
        let mark = &self.sql[start..open_end];
        Some(match memchr::memmem::find(&self.sql[open_end..], mark) {
            Some(at) => self.token(T::Dollar, start, open_end + at + mark.len()),
            None => self.abort(start),
        })
    }

    fn digits_string(&mut self, kind: T, start: usize, valid: impl Fn(u8) -> bool) -> Token {
        let digits = self.sql[start + 2..].iter().take_while(|c| valid(**c)).count();
        let end = start + 2 + digits;
        if self.at(end) != b'\'' || (kind == T::HexStr && digits % 2 != 0) {
            return self.abort(start);
        }
        self.token(kind, start, end + 1)
    }

    fn number(&mut self, start: usize) -> Token {
        let second = self.at(start + 1);
        if self.sql[start] == b'0' && (second == b'x' || second == b'b') {
            let hex = second == b'x';
            let valid = |c: &&u8| if hex { c.is_ascii_hexdigit() } else { matches!(c, b'0' | b'1') };
            let end = start + 2 + self.sql[start + 2..].iter().take_while(valid).count();
            if end > start + 2 && !is_ident(self.at(end)) {
                return self.token(if hex { T::Hex } else { T::Bin }, start, end);
            }
            let end = self.ident_end(end);
            return self.name(start, end);
        }
        let mut pos = start;
        while pos < self.sql.len() && self.sql[pos].is_ascii_digit() {
            pos += 1;
        }
        let c = self.at(pos);
        if c == b'.' {
            return self.fraction(start, pos + 1);
        }
        if !is_ident(c) {
            return self.token(T::Integer, start, pos);
        }
        if c | 0x20 == b'e' {
            let sign = usize::from(matches!(self.at(pos + 1), b'+' | b'-'));
            if self.at(pos + 1 + sign).is_ascii_digit() {
                let end = self.digits_end(pos + 1 + sign);
                return self.token(T::Float, start, end);
            }
        }
        let end = self.ident_end(pos);
        self.name(start, end)
    }

    fn digits_end(&self, mut pos: usize) -> usize {
        while pos < self.sql.len() && self.sql[pos].is_ascii_digit() {
            pos += 1;
        }
        pos
    }

    /// After the point of a number.
    fn fraction(&mut self, start: usize, pos: usize) -> Token {
        let pos = self.digits_end(pos);
        if self.at(pos) | 0x20 != b'e' {
            return self.token(T::Decimal, start, pos);
        }
        let sign = usize::from(matches!(self.at(pos + 1), b'+' | b'-'));
        if !self.at(pos + 1 + sign).is_ascii_digit() {
            return self.abort(start);
        }
        let end = self.digits_end(pos + 1 + sign);
        self.token(T::Float, start, end)
    }

    #[inline]
    fn string(&mut self, kind: T, start: usize, body: usize, quote: u8) -> Token {
        let mut pos = body;
        let mut escaped = false;
        let backslash = if self.mode.has(SqlMode::NO_BACKSLASH_ESCAPES) { quote } else { b'\\' };
        loop {
            // Most strings are short: a plain loop first, a vector search for the long ones.
            let near = (pos + 16).min(self.sql.len());
            while pos < near && self.sql[pos] != quote && self.sql[pos] != backslash {
                pos += 1;
            }
            if pos == near {
                match memchr::memchr2(quote, backslash, &self.sql[pos..]) {
                    Some(at) => pos += at,
                    None => return self.abort(start),
                }
            }
            if self.sql[pos] != quote {
                escaped = true;
                pos += 2;
                if pos > self.sql.len() {
                    return self.abort(start);
                }
            } else if self.at(pos + 1) == quote {
                escaped = true;
                pos += 2;
            } else {
                self.pos = pos + 1;
                return Token { kind, escaped, start: start as u32, end: pos as u32 + 1 };
            }
        }
    }

    fn quoted_name(&mut self, start: usize, quote: u8) -> Token {
        let mut pos = start + 1;
        let mut escaped = false;
        loop {
            match memchr::memchr(quote, &self.sql[pos..]) {
                None => return self.abort(start),
                Some(at) => pos += at + 1,
            }
            if self.at(pos) != quote {
                self.pos = pos;
                return Token { kind: T::QuotedIdent, escaped, start: start as u32, end: pos as u32 };
            }
            escaped = true;
            pos += 1;
        }
    }

    fn symbol(&mut self, c: u8, pos: usize) -> Token {
        let (one, two) = (self.at(pos + 1), self.at(pos + 2));
        let (kind, len) = match (c, one) {
            (b'.', _) => {
                if !self.before_separator && one.is_ascii_digit() {
                    return self.fraction(pos, pos + 1);
                }
                self.before_separator = false;
                if is_ident(one) {
                    self.next = Next::Name;
                }
                (T::Dot, 1)
            }
            (b'@', b'@') => {
                self.next = Next::SystemVariable;
                (T::AtAt, 2)
            }
            (b'@', b'\'' | b'"' | b'`') => (T::At, 1),
            (b'@', _) => {
                self.next = Next::Hostname;
                (T::At, 1)
            }
            (b'<', b'=') if two == b'>' => (T::NullSafeEq, 3),
            // MySQL takes comparison characters greedily; what they do not spell is no operator: `=!`, `<>=`.
            (b'<', b'=' | b'>' | b'<' | b'!') if matches!(two, b'=' | b'>' | b'!') => (T::Other, 3),
            (b'<', b'=') => (T::Le, 2),
            (b'<', b'>') | (b'!', b'=') => (T::Ne, 2),
            (b'<', b'<') => (T::Shl, 2),
            (b'<', b'!') => (T::Other, 2),
            (b'<', _) => (T::Lt, 1),
            (b'>', b'=') => (T::Ge, 2),
            (b'>', b'>') => (T::Shr, 2),
            (b'>', b'<' | b'!') | (b'=', b'=' | b'>' | b'<' | b'!') => (T::Other, 2),
            (b'>', _) => (T::Gt, 1),
            // And so `!!` is one `!`: there, `!!0` is 1.
            (b'!', b'!' | b'>' | b'<') => (T::Bang, 2),
            (b'!', _) => (T::Bang, 1),
            (b'&', b'&') => (T::AndAnd, 2),
            (b'&', _) => (T::Amp, 1),
            (b'|', b'|') => (T::OrOr, 2),
            (b'|', _) => (T::Pipe, 1),
            (b'-', b'>') if two == b'>' => (T::LongArrow, 3),
            (b'-', b'>') => (T::Arrow, 2),
            (b'-', _) => (T::Minus, 1),
            (b':', b'=') => (T::Assign, 2),
            (b':', _) => (T::Colon, 1),
            (b'=', _) => (T::Eq, 1),
            (b'+', _) => (T::Plus, 1),
            (b'*', _) => (T::Star, 1),
            (b'/', _) => (T::Slash, 1),
            (b'%', _) => (T::Percent, 1),
            (b'^', _) => (T::Caret, 1),
            (b'~', _) => (T::Tilde, 1),
            (b'{', _) => (T::LBrace, 1),
            (b'}', _) => (T::RBrace, 1),
            (b';', _) => (T::Semicolon, 1),
            (b'?', _) => (if is_ident(one) { T::Other } else { T::Param }, 1),
            _ => (T::Other, 1),
        };
        self.token(kind, pos, pos + len)
    }
}

/// Undoes the escapes of a string's text (without its quotes), appending to `out`.
///
/// `quote` doubled is one `quote`; with `backslash` (that is, without NO_BACKSLASH_ESCAPES) `\n` and its like are
/// undone; `\%` and `\_` keep their backslash, for they mean something to `LIKE`.
pub fn unescape(raw: &[u8], quote: u8, backslash: bool, out: &mut Vec<u8>) {
    unescape_with(raw, quote, backslash, |c| out.push(c));
}

pub(crate) fn unescape_with(raw: &[u8], quote: u8, backslash: bool, mut push: impl FnMut(u8)) {
    let mut pos = 0;
    while pos < raw.len() {
        let c = raw[pos];
        pos += 1;
        if c == quote && raw.get(pos) == Some(&quote) {
            pos += 1;
            push(c);
        } else if c == b'\\' && backslash && pos < raw.len() {
            let escape = raw[pos];
            pos += 1;
            match escape {
                b'n' => push(b'\n'),
                b't' => push(b'\t'),
                b'r' => push(b'\r'),
                b'b' => push(8),
                b'0' => push(0),
                b'Z' => push(26),
                b'%' | b'_' => {
                    push(b'\\');
                    push(escape);
                }
                other => push(other),
            }
        } else {
            push(c);
        }
    }
}
