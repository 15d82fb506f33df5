//! The settings that a client's session has and that are made again on whichever connection serves it: the profile.
//!
//! A SET that only gives constants to variables of the profile is a change of it; any other SET makes the client keep its
//! connection. Values are kept as they were written and sent so.
//!
//! Invariants:
//! 1. Two connections with equal profiles answer a statement alike, as far as its client did not leave more than settings behind.
//! 2. A profile is made from nothing (after COM_RESET_CONNECTION) by [`Profile::statements`], or from another
//!    profile unless [`Profile::needs_reset`].

use std::collections::BTreeMap;

/// Session variables whose value is a setting and nothing else.
const NAMES: [&str; 34] = [
    "autocommit",
    "character_set_client",
    "character_set_connection",
    "character_set_results",
    "collation_connection",
    "default_storage_engine",
    "div_precision_increment",
    "foreign_key_checks",
    "group_concat_max_len",
    "information_schema_stats_expiry",
    "innodb_lock_wait_timeout",
    "interactive_timeout",
    "join_buffer_size",
    "lc_time_names",
    "lock_wait_timeout",
    "max_execution_time",
    "max_join_size",
    "max_sort_length",
    "max_statement_time",
    "net_read_timeout",
    "net_write_timeout",
    "optimizer_switch",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_mode",
    "sql_notes",
    "sql_quote_show_create",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "unique_checks",
    "updatable_views_with_limit",
    "wait_timeout",
];
/// The isolation level, whose variable has two names in the versions of MySQL and MariaDB.
const ISOLATION: &str = "#isolation";
/// READ ONLY or READ WRITE, likewise.
const ACCESS: &str = "#access";

/// A session's settings.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct Profile {
    pub(crate) schema: Option<Vec<u8>>,
    /// What stands behind SET NAMES.
    names: String,
    values: BTreeMap<&'static str, String>,
}

/// What a SET does to a profile.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Change {
    Names(String),
    /// `None` for DEFAULT.
    Value(&'static str, Option<String>),
}

impl Profile {
    /// Of a client that has just logged in.
    pub(crate) fn new(names: String, schema: Option<Vec<u8>>) -> Profile {
        Profile { schema, names, values: BTreeMap::new() }
    }

    /// Of a connection that was just made or reset: nothing is known but its schema.
    pub(crate) fn bare(schema: Option<Vec<u8>>) -> Profile {
        Profile::new(String::new(), schema)
    }

    pub(crate) fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Names(names) => {
                    self.names.clone_from(names);
                    self.values.retain(|name, _| {
                        !name.starts_with("character_set") && *name != "collation_connection"
                    });
                }
                Change::Value(name, value) => {
                    // Each of them sets the other.
                    match *name {
                        "character_set_connection" => drop(self.values.remove("collation_connection")),
                        "collation_connection" => drop(self.values.remove("character_set_connection")),
                        _ => {}
                    }
                    match value {
                        Some(value) => drop(self.values.insert(name, value.clone())),
                        None => drop(self.values.remove(name)),
                    }
                }
            }
        }
    }

    /// Whether a connection with `now` needs a reset before it can be given this profile: the default of these has no name that all
    /// versions know.
    pub(crate) fn needs_reset(&self, now: &Profile) -> bool {
        let names = now.values.keys().filter(|name| name.starts_with('#'));
        names.into_iter().any(|name| !self.values.contains_key(name))
    }

    /// The statements that make this profile of a connection with `now`, but for the schema.
    pub(crate) fn statements(&self, now: &Profile) -> Vec<String> {
        let mut statements = Vec::new();
        let is_charset = |name: &str| name.starts_with("character_set") || name == "collation_connection";
        let of = |profile: &Profile| -> Vec<(&'static str, String)> {
            let values = profile.values.iter().filter(|(name, _)| is_charset(name));
            values.map(|(name, value)| (*name, value.clone())).collect()
        };
        let renames = self.names != now.names || of(self) != of(now);
        if renames {
            statements.push(format!("SET NAMES {}", self.names));
        }
        let mut list = String::new();
        for (&name, value) in &self.values {
            if now.values.get(name) == Some(value) && !(renames && is_charset(name)) {
                continue;
            }
            match name {
                ISOLATION => statements.push(format!("SET SESSION TRANSACTION ISOLATION LEVEL {value}")),
                ACCESS => statements.push(format!("SET SESSION TRANSACTION READ {value}")),
                _ => {
                    let separator = if list.is_empty() { "SET " } else { ", " };
                    list.extend([separator, "SESSION ", name, "=", value]);
                }
            }
        }
        for &name in now.values.keys() {
            // SET NAMES has set the character sets.
            if !self.values.contains_key(name) && !is_charset(name) && !name.starts_with('#') {
                let separator = if list.is_empty() { "SET " } else { ", " };
                list.extend([separator, "SESSION ", name, "=DEFAULT"]);
            }
        }
        if !list.is_empty() {
            statements.push(list);
        }
        statements
    }

    /// Whether autocommit is off.
    pub(crate) fn is_autocommit_off(&self) -> bool {
        self.values.get("autocommit").is_some_and(|value| {
            matches!(value.trim_matches('\'').to_ascii_uppercase().as_str(), "0" | "OFF" | "FALSE")
        })
    }

    /// Whether a byte of its text may be half of a character.
    pub(crate) fn is_multi_byte_unsafe(&self) -> bool {
        let of = |text: &str| {
            let text = text.trim_start_matches(['\'', '"']).to_ascii_lowercase();
            ["big5", "gbk", "gb18030", "sjis", "cp932", "ucs2", "utf16", "utf32"]
                .iter()
                .any(|name| text.starts_with(name))
        };
        of(&self.names) || self.values.get("character_set_client").is_some_and(|value| of(value))
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    /// With its quotes.
    String(&'a str),
    Number(&'a str),
    Sign(u8),
}

/// Cuts a text; `None` if it holds what no simple SET has.
fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let run =
            |at: usize| bytes[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'\'' | b'"' => {
                let length = bytes[at + 1..].iter().position(|b| *b == byte || *b == b'\\')?;
                at += length + 2;
                // A doubled quote or a backslash: seldom, and not simple.
                if bytes[at - 1] != byte || bytes.get(at) == Some(&byte) {
                    return None;
                }
                tokens.push(Token::String(&text[start..at]));
            }
            b'0'..=b'9' => {
                at += run(at);
                let is_number = text[start..at].bytes().all(|b| b.is_ascii_digit());
                tokens.push(if is_number {
                    Token::Number(&text[start..at])
                } else {
                    Token::Word(&text[start..at])
                });
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at += run(at);
                tokens.push(Token::Word(&text[start..at]));
            }
            b'=' | b',' | b'@' | b'.' | b':' | b'-' | b';' => {
                tokens.push(Token::Sign(byte));
                at += 1;
            }
            _ => return None,
        }
    }
    while tokens.last() == Some(&Token::Sign(b';')) {
        tokens.pop();
    }
    Some(tokens)
}

/// Reads a list of tokens from the front.
struct Cursor<'a, 't>(&'t [Token<'a>]);

impl<'a> Cursor<'a, '_> {
    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.0.first(), Some(Token::Word(here)) if here.eq_ignore_ascii_case(word));
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    fn sign(&mut self, sign: u8) -> bool {
        let found = self.0.first() == Some(&Token::Sign(sign));
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    fn any_word(&mut self) -> Option<&'a str> {
        let Some(Token::Word(word)) = self.0.first() else { return None };
        self.0 = &self.0[1..];
        Some(word)
    }

    /// A constant as it was written.
    fn constant(&mut self) -> Option<String> {
        let sign = if self.sign(b'-') { "-" } else { "" };
        let text = match *self.0.first()? {
            Token::String(text) if sign.is_empty() => text,
            Token::Number(text) => text,
            Token::Word(text) if sign.is_empty() => text,
            _ => return None,
        };
        self.0 = &self.0[1..];
        Some(format!("{sign}{text}"))
    }

    fn is_at_end_of_item(&self) -> bool {
        matches!(self.0.first(), None | Some(Token::Sign(b',')))
    }
}

/// What a SET changes of a profile; `None` if it does anything else, too. An empty list if it changes nothing of the session.
pub(crate) fn changes(text: &[u8]) -> Option<Vec<Change>> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii())?;
    let tokens = tokens(text)?;
    let mut cursor = Cursor(&tokens);
    if !cursor.word("set") {
        return None;
    }
    if cursor.word("global") || cursor.word("persist") || cursor.word("persist_only") {
        // The names behind a comma may be of the session.
        return (!cursor.0.contains(&Token::Sign(b','))).then(Vec::new);
    }
    let mut changes = Vec::new();
    loop {
        one(&mut cursor, &mut changes)?;
        if cursor.0.is_empty() {
            return Some(changes);
        }
        if !cursor.sign(b',') {
            return None;
        }
    }
}

fn one(cursor: &mut Cursor<'_, '_>, changes: &mut Vec<Change>) -> Option<()> {
    if cursor.word("names") {
        let mut names = cursor.constant()?;
        if cursor.word("collate") {
            names = format!("{names} COLLATE {}", cursor.constant()?);
        }
        changes.push(Change::Names(names));
        return cursor.is_at_end_of_item().then_some(());
    }
    let mut named = cursor.word("session") || cursor.word("local");
    let mut is_next_only = false;
    if named && cursor.word("transaction") {
        return transaction(cursor, changes);
    }
    if cursor.sign(b'@') {
        if named || !cursor.sign(b'@') {
            return None;
        }
        named = cursor.word("session") || cursor.word("local");
        is_next_only = !named;
        if named && !cursor.sign(b'.') {
            return None;
        }
    }
    let name = cursor.any_word()?.to_ascii_lowercase();
    cursor.sign(b':');
    if !cursor.sign(b'=') {
        return None;
    }
    let value = cursor.constant()?;
    if !cursor.is_at_end_of_item() {
        return None; // An expression.
    }
    let is_default = value.eq_ignore_ascii_case("default");
    match name.as_str() {
        "transaction_isolation" | "tx_isolation" if !is_default => {
            // `@@transaction_isolation` is of the next transaction alone; without `@@` it is of the session.
            if is_next_only {
                return None;
            }
            let level = value.trim_matches(['\'', '"']).replace('-', " ").to_ascii_uppercase();
            let known = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];
            changes.push(Change::Value(ISOLATION, Some(known.contains(&level.as_str()).then_some(level)?)));
        }
        _ => {
            let name = NAMES.iter().find(|known| **known == name)?;
            changes.push(Change::Value(name, (!is_default).then_some(value)));
        }
    }
    Some(())
}

/// What stands behind SET SESSION TRANSACTION.
fn transaction(cursor: &mut Cursor<'_, '_>, changes: &mut Vec<Change>) -> Option<()> {
    loop {
        if cursor.word("isolation") {
            if !cursor.word("level") {
                return None;
            }
            let level = if cursor.word("serializable") {
                "SERIALIZABLE"
            } else if cursor.word("repeatable") {
                if !cursor.word("read") {
                    return None;
                }
                "REPEATABLE READ"
            } else if !cursor.word("read") {
                return None;
            } else if cursor.word("committed") {
                "READ COMMITTED"
            } else if cursor.word("uncommitted") {
                "READ UNCOMMITTED"
            } else {
                return None;
            };
            changes.push(Change::Value(ISOLATION, Some(level.to_owned())));
        } else if cursor.word("read") {
            let access = if cursor.word("only") {
                "ONLY"
            } else if cursor.word("write") {
                "WRITE"
            } else {
                return None;
            };
            changes.push(Change::Value(ACCESS, Some(access.to_owned())));
        } else {
            return None;
        }
        if !cursor.sign(b',') {
            return cursor.0.is_empty().then_some(());
        }
    }
}

/// The schema that USE names.
pub(crate) fn used_schema(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (word, name) = text.split_at_checked(3)?;
    if !word.eq_ignore_ascii_case("use") {
        return None;
    }
    let name = name.trim().trim_end_matches(';').trim_end();
    let inner = match name.strip_prefix('`') {
        Some(rest) => rest.strip_suffix('`')?.replace("``", "`"),
        None if name.bytes().all(is_name) => name.to_owned(),
        None => return None,
    };
    (!inner.is_empty()).then(|| inner.into_bytes())
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// KILL's number, and whether it ends the connection.
pub(crate) fn killed(text: &[u8]) -> Option<(u64, bool)> {
    let text = std::str::from_utf8(text).ok()?;
    let tokens = tokens(text)?;
    let mut cursor = Cursor(&tokens);
    if !cursor.word("kill") {
        return None;
    }
    let query_only = cursor.word("query");
    if !query_only {
        cursor.word("connection");
    }
    match cursor.0 {
        [Token::Number(number)] => Some((number.parse().ok()?, !query_only)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(texts: &[&str]) -> Option<Vec<String>> {
        let mut profile = Profile::new("utf8mb4".into(), None);
        for text in texts {
            profile.apply(&changes(text.as_bytes())?);
        }
        Some(profile.statements(&Profile::default()))
    }

    #[test]
    fn settings_are_known_from_their_set() {
        for (texts, statements) in [
            (&["SET NAMES latin1"][..], &["SET NAMES latin1"][..]),
            (&["set names 'utf8mb4' collate 'utf8mb4_bin';"], &["SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'"]),
            (
                &["SET autocommit=0, @@session.sql_mode := 'ANSI'"],
                &["SET NAMES utf8mb4", "SET SESSION autocommit=0, SESSION sql_mode='ANSI'"],
            ),
            (&["SET sql_mode='A'", "SET SESSION sql_mode=DEFAULT"], &["SET NAMES utf8mb4"]),
            (
                &["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY"],
                &[
                    "SET NAMES utf8mb4",
                    "SET SESSION TRANSACTION READ ONLY",
                    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
                ],
            ),
            (
                &["SET SESSION transaction_isolation='READ-UNCOMMITTED'"],
                &["SET NAMES utf8mb4", "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"],
            ),
            (
                &["SET character_set_results = NULL"],
                &["SET NAMES utf8mb4", "SET SESSION character_set_results=NULL"],
            ),
            (&["SET character_set_results = NULL", "SET NAMES utf8"], &["SET NAMES utf8"]),
            (&["SET GLOBAL sql_mode = ''"], &["SET NAMES utf8mb4"]),
        ] {
            let found = after(texts).unwrap_or_else(|| panic!("{texts:?}"));
            assert_eq!(found, statements, "{texts:?}");
        }
        for text in [
            "SET @x = 1",
            "SET autocommit=0, @x=1",
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET @@transaction_isolation='SERIALIZABLE'",
            "SET timestamp=1",
            "SET sql_mode=CONCAT(@@sql_mode, ',ANSI')",
            "SET sql_mode='it''s'",
            "SET sql_mode=''; SELECT 1",
            "SET PASSWORD='x'",
            "SET GLOBAL a=1, b=2",
            "SET STATEMENT a=1 FOR SELECT 1",
        ] {
            assert_eq!(changes(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_profile_is_made_of_another() {
        let mut one = Profile::new("utf8mb4".into(), None);
        one.apply(&changes(b"SET sql_mode='A', autocommit=0").expect("settings"));
        let mut two = one.clone();
        two.apply(&changes(b"SET sql_mode='B'").expect("settings"));
        assert!(!two.needs_reset(&one) && two.is_autocommit_off());
        assert_eq!(two.statements(&one), ["SET SESSION sql_mode='B'"]);
        let plain = Profile::new("utf8mb4".into(), None);
        assert!(!plain.needs_reset(&one));
        assert_eq!(plain.statements(&one), ["SET SESSION autocommit=DEFAULT, SESSION sql_mode=DEFAULT"]);
        two.apply(&changes(b"SET SESSION TRANSACTION READ ONLY").expect("settings"));
        assert!(plain.needs_reset(&two) && !two.needs_reset(&one));
    }

    #[test]
    fn use_and_kill_are_read() {
        assert_eq!(used_schema(b"USE `a``b` ;"), Some(b"a`b".to_vec()));
        assert_eq!(used_schema(b" use shop"), Some(b"shop".to_vec()));
        assert_eq!(used_schema(b"use a.b"), None);
        assert_eq!(killed(b"KILL 12"), Some((12, true)));
        assert_eq!(killed(b"kill query 12;"), Some((12, false)));
        assert_eq!(killed(b"kill @x"), None);
    }
}
