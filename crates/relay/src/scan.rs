//! What a statement's text may leave behind in its session, found by its words alone.
//!
//! The text is read once, byte by byte, in pieces of any length, and never kept. What is not known to leave nothing behind counts
//! as leaving something: the client then keeps its connection to the backend.
//!
//! Invariants:
//! 1. The result does not depend on how the text is cut into pieces.
//! 2. Words inside of strings, quoted names and comments do not count, but for comments that MySQL executes (`/*!`).

/// Bytes of a word that are compared; none that counts is longer.
const WORD_BYTES_MAX: usize = 24;

/// What a text may do, a bit each.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Effects(pub(crate) u32);

impl Effects {
    /// It leaves something in the session that cannot be made elsewhere.
    pub(crate) const SESSION: Effects = Effects(1);
    /// It reads what the statement before left: FOUND_ROWS(), ROW_COUNT(), SHOW WARNINGS.
    pub(crate) const READS_PREVIOUS: Effects = Effects(1 << 1);
    /// It reads or sets LAST_INSERT_ID().
    pub(crate) const INSERT_ID: Effects = Effects(1 << 2);
    /// FOUND_ROWS() may be asked after it.
    pub(crate) const FOUND_ROWS: Effects = Effects(1 << 3);
    /// It locks tables.
    pub(crate) const LOCK_TABLES: Effects = Effects(1 << 4);
    /// It releases tables that are locked.
    pub(crate) const UNLOCK_TABLES: Effects = Effects(1 << 5);
    /// It begins with SET.
    pub(crate) const SET: Effects = Effects(1 << 6);
    /// It begins with USE.
    pub(crate) const USE: Effects = Effects(1 << 7);
    /// It begins with KILL.
    pub(crate) const KILL: Effects = Effects(1 << 8);
    /// It begins with SHOW.
    pub(crate) const SHOW: Effects = Effects(1 << 9);
    /// There are several statements.
    pub(crate) const SEVERAL: Effects = Effects(1 << 10);
    /// It ends a transaction: COMMIT, ROLLBACK.
    pub(crate) const ENDS: Effects = Effects(1 << 11);
    /// It asks for the number of its connection, by which it may want to be killed.
    pub(crate) const CONNECTION_ID: Effects = Effects(1 << 12);

    /// It may insert rows: those without a generated number leave LAST_INSERT_ID() as it was.
    pub(crate) const INSERTS: Effects = Effects(1 << 13);

    /// The backend closes the connection behind it: COMMIT RELEASE.
    pub(crate) const RELEASES: Effects = Effects(1 << 14);

    pub(crate) const fn has(self, other: Effects) -> bool {
        self.0 & other.0 != 0
    }

    fn add(&mut self, other: Effects) {
        self.0 |= other.0;
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Plain,
    /// In a string or quoted name that this byte ends.
    Quoted(u8),
    /// Behind a backslash in a string.
    Escaped(u8),
    /// Behind `-`: a second one begins a comment.
    Dash,
    /// Behind `--`: white space makes it a comment.
    Dashes,
    /// Behind `/`.
    Slash,
    /// Behind `/*`: `!` would make it a part of the text.
    CommentStart,
    /// Behind `/*M`: `!` would make it a part of the text for MariaDB.
    CommentM,
    Comment,
    /// Behind `*` in a comment.
    CommentStar,
    Line,
    /// Behind `@`.
    At,
    /// Behind `@@`, or in the name behind it.
    System,
}

/// Reads a text in pieces.
#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    state: State,
    word: [u8; WORD_BYTES_MAX],
    word_bytes: usize,
    /// The next word is the first of a statement.
    at_start: bool,
    /// A statement has ended; another word makes it several.
    behind_end: bool,
    /// Names with `@` are accounts so far.
    names_accounts: bool,
    is_show: bool,
    is_end: bool,
    /// Behind NO.
    is_denied: bool,
    no_backslash: bool,
    effects: Effects,
}

impl Scanner {
    /// Reads a text from its beginning; `no_backslash` as in sql_mode NO_BACKSLASH_ESCAPES.
    pub(crate) fn new(no_backslash: bool) -> Scanner {
        Scanner {
            state: State::Plain,
            word: [0; WORD_BYTES_MAX],
            word_bytes: 0,
            at_start: true,
            behind_end: false,
            names_accounts: false,
            is_show: false,
            is_end: false,
            is_denied: false,
            no_backslash,
            effects: Effects::default(),
        }
    }

    /// Reads a piece.
    pub(crate) fn feed(&mut self, text: &[u8]) {
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            at += 1;
            match self.state {
                State::Plain => {
                    if is_word(byte) {
                        if self.word_bytes < WORD_BYTES_MAX {
                            self.word[self.word_bytes] = byte.to_ascii_lowercase();
                        }
                        self.word_bytes += 1;
                        continue;
                    }
                    if self.word_bytes > 0 {
                        self.end_word();
                    }
                    self.plain(byte);
                }
                State::Quoted(quote) => {
                    if byte == quote {
                        self.state = State::Plain;
                    } else if byte == b'\\' && quote != b'`' && !self.no_backslash {
                        self.state = State::Escaped(quote);
                    }
                }
                State::Escaped(quote) => self.state = State::Quoted(quote),
                State::Dash if byte == b'-' => self.state = State::Dashes,
                State::Dashes if byte.is_ascii_whitespace() || byte.is_ascii_control() => {
                    self.state = if byte == b'\n' { State::Plain } else { State::Line };
                }
                State::Slash if byte == b'*' => self.state = State::CommentStart,
                State::Dash | State::Dashes | State::Slash => {
                    self.state = State::Plain;
                    at -= 1;
                }
                State::CommentStart | State::CommentM if byte == b'!' => self.state = State::Plain,
                State::CommentStart if byte == b'M' => self.state = State::CommentM,
                State::CommentStart | State::CommentM | State::Comment => {
                    self.state = if byte == b'*' { State::CommentStar } else { State::Comment };
                }
                State::CommentStar => {
                    self.state = match byte {
                        b'/' => State::Plain,
                        b'*' => State::CommentStar,
                        _ => State::Comment,
                    };
                }
                State::Line => {
                    if byte == b'\n' {
                        self.state = State::Plain;
                    }
                }
                State::At => {
                    if byte == b'@' {
                        self.state = State::System;
                    } else {
                        if !self.names_accounts {
                            self.effects.add(Effects::SESSION);
                        }
                        self.state = State::Plain;
                        at -= 1;
                    }
                }
                State::System => {
                    self.state = State::Plain;
                    at -= 1;
                }
            }
        }
    }

    /// What the text may do, once all of it was read.
    pub(crate) fn finish(mut self) -> Effects {
        if self.word_bytes > 0 {
            self.end_word();
        }
        if self.state == State::At {
            self.effects.add(Effects::SESSION);
        }
        self.effects
    }

    fn plain(&mut self, byte: u8) {
        match byte {
            b'\'' | b'"' | b'`' => {
                self.note_token();
                self.state = State::Quoted(byte);
            }
            b'-' => self.state = State::Dash,
            b'/' => self.state = State::Slash,
            b'#' => self.state = State::Line,
            b'@' => self.state = State::At,
            b';' => {
                self.at_start = true;
                self.behind_end = true;
                self.names_accounts = false;
                self.is_show = false;
                self.is_end = false;
                self.is_denied = false;
            }
            _ => {}
        }
    }

    fn note_token(&mut self) {
        if self.behind_end {
            self.effects.add(Effects::SEVERAL);
        }
    }

    fn end_word(&mut self) {
        self.note_token();
        let length = std::mem::take(&mut self.word_bytes);
        if length > WORD_BYTES_MAX {
            if std::mem::take(&mut self.at_start) {
                self.effects.add(Effects::SESSION);
            }
            return;
        }
        let word = self.word;
        let word = &word[..length];
        if self.at_start {
            // The number of a comment that MySQL executes.
            if word.iter().all(u8::is_ascii_digit) {
                return;
            }
            self.at_start = false;
            self.first_word(word);
        } else {
            self.later_word(word);
        }
    }

    fn first_word(&mut self, word: &[u8]) {
        match word {
            b"select" | b"update" | b"delete" | b"with" | b"values" | b"table" | b"explain" | b"desc"
            | b"describe" | b"start" | b"begin" | b"savepoint" | b"do" | b"truncate" | b"analyze"
            | b"optimize" | b"check" | b"checksum" | b"repair" | b"release" | b"help" | b"purge"
            | b"signal" | b"install" | b"uninstall" => {}
            b"create" | b"grant" | b"revoke" | b"alter" | b"drop" | b"rename" => self.names_accounts = true,
            b"insert" | b"replace" | b"load" => self.effects.add(Effects::INSERTS),
            b"commit" | b"rollback" => {
                self.is_end = true;
                self.effects.add(Effects::ENDS);
            }
            b"show" => {
                self.is_show = true;
                self.names_accounts = true;
                self.effects.add(Effects::SHOW);
            }
            b"set" => self.effects.add(Effects::SET),
            b"use" => self.effects.add(Effects::USE),
            b"kill" => self.effects.add(Effects::KILL),
            b"lock" => self.effects.add(Effects::LOCK_TABLES),
            b"unlock" => self.effects.add(Effects::UNLOCK_TABLES),
            b"get" | b"resignal" => self.effects.add(Effects::READS_PREVIOUS),
            _ => self.effects.add(Effects::SESSION),
        }
    }

    fn later_word(&mut self, word: &[u8]) {
        match word {
            // What stands behind these is an expression: there `@` is a variable.
            b"select" | b"values" | b"row" | b"with" | b"where" | b"set" | b"like" | b"begin" | b"do"
            | b"call" => {
                self.names_accounts = false;
            }
            b"temporary" | b"get_lock" | b"lastval" | b"service_get_write_locks" => {
                self.effects.add(Effects::SESSION);
            }
            b"connection_id" | b"pseudo_thread_id" => {
                self.effects.add(Effects::SESSION);
                self.effects.add(Effects::CONNECTION_ID);
            }
            b"found_rows" | b"row_count" | b"warning_count" | b"error_count" => {
                self.effects.add(Effects::READS_PREVIOUS);
            }
            b"warnings" | b"errors" if self.is_show => self.effects.add(Effects::READS_PREVIOUS),
            b"last_insert_id" | b"identity" | b"insert_id" => self.effects.add(Effects::INSERT_ID),
            b"sql_calc_found_rows" => self.effects.add(Effects::FOUND_ROWS),
            b"no" => self.is_denied = true,
            b"release" if self.is_end && !self.is_denied => self.effects.add(Effects::RELEASES),
            // BEGIN NOT ATOMIC of MariaDB.
            b"atomic" => self.effects.add(Effects::SESSION),
            // INTO @x, `a`@`b` and the like are found by their `@`.
            _ => {}
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// What a whole text may do.
pub(crate) fn effects(text: &[u8], no_backslash: bool) -> Effects {
    let mut scanner = Scanner::new(no_backslash);
    scanner.feed(text);
    scanner.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Effects {
        let whole = effects(text.as_bytes(), false);
        for at in 0..=text.len() {
            let mut scanner = Scanner::new(false);
            scanner.feed(&text.as_bytes()[..at]);
            scanner.feed(&text.as_bytes()[at..]);
            assert_eq!(scanner.finish(), whole, "{text} cut at {at}");
        }
        whole
    }

    #[test]
    fn words_say_what_a_statement_leaves_behind() {
        let none = Effects::default();
        for (text, effects) in [
            ("SELECT 1", none),
            ("select 'get_lock', \"@x\", `found_rows` from t -- @x\n where a = 1", none),
            ("/* @x */ insert into t values ('a@b.c', 'it''s', '\\'@x')", Effects::INSERTS),
            ("SELECT @x", Effects::SESSION),
            ("select 1 into @x", Effects::SESSION),
            ("select @@sql_mode, @@session.time_zone", none),
            ("select @@warning_count", Effects::READS_PREVIOUS),
            ("select /*! @x */ 1", Effects::SESSION),
            ("/*!40101 SET NAMES utf8 */", Effects::SET),
            ("create temporary table t (a int)", Effects::SESSION),
            ("create user 'a'@'b'", none),
            ("drop user a@b, c@d", none),
            ("create table t as select@x:=1", Effects::SESSION),
            ("show tables where @x := 1", Effects(Effects::SHOW.0 | Effects::SESSION.0)),
            ("/*My 'comment */ select @x", Effects::SESSION),
            ("/*M!100100 select @x */", Effects::SESSION),
            ("select get_lock('a', 1)", Effects::SESSION),
            ("show warnings", Effects(Effects::SHOW.0 | Effects::READS_PREVIOUS.0)),
            ("select warnings from t", none),
            ("select last_insert_id()", Effects::INSERT_ID),
            ("select sql_calc_found_rows 1", Effects::FOUND_ROWS),
            ("lock tables t write", Effects::LOCK_TABLES),
            ("unlock tables", Effects::UNLOCK_TABLES),
            ("prepare a from 'select 1'", Effects::SESSION),
            ("call p()", Effects::SESSION),
            ("begin; select 1", Effects::SEVERAL),
            ("begin;", none),
            ("  # c\n begin ; -- x", none),
            ("select 5-3, 1--1, 4/2", none),
            ("commit release", Effects(Effects::ENDS.0 | Effects::RELEASES.0)),
            ("commit and chain no release", Effects::ENDS),
            ("select connection_id()", Effects(Effects::SESSION.0 | Effects::CONNECTION_ID.0)),
        ] {
            assert_eq!(cut(text), effects, "{text}");
        }
        assert_eq!(effects(b"select 'a\\', @x, '", true), Effects::SESSION);
    }
}
