//! Optimizer hints: the text inside `/*+ ... */`.
//!
//! Invariants:
//! 1. Hints before an error in the text count; what follows it does not.
//! 2. Nothing is looked up here: names are as they are written.

use crate::ast::Span;

/// What the hints of a query block are.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// In the order of the text.
    pub list: Vec<Hint>,
    /// Where a MAX_EXECUTION_TIME is too long, by its offset in the statement.
    pub too_long: Vec<usize>,
    /// Where the text is wrong.
    pub error: Option<usize>,
}

/// One hint.
#[derive(Clone, Debug)]
pub struct Hint {
    /// Its word, in upper case.
    pub name: &'static str,
    /// What the word means.
    pub kind: HintKind,
    /// The query block it is for; else the one it stands in.
    pub block: Option<String>,
    /// The tables it names.
    pub tables: Vec<HintTable>,
    /// The indexes of an index hint; the names of strategies; the names and numbers of other hints.
    pub names: Vec<String>,
    /// SET_VAR: the value.
    pub value: Option<HintValue>,
}

/// The value of SET_VAR.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HintValue {
    /// Digits, perhaps with `K`, `M` or `G` behind them.
    Number(String),
    /// Another number or a word, as it is written.
    Word(String),
    /// What stands in quotes.
    Text(String),
}

impl HintValue {
    /// As it is written, but without quotes.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            HintValue::Number(text) | HintValue::Word(text) | HintValue::Text(text) => text,
        }
    }
}

/// A table as a hint names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HintTable {
    /// Its alias.
    pub name: String,
    /// Its query block, if it says so.
    pub block: Option<String>,
}

/// Kinds of hints by what stands in their parentheses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HintKind {
    /// A table and indexes of it.
    Index,
    /// Tables; none: all.
    Table,
    /// JOIN_FIXED_ORDER: nothing but a query block.
    FixedOrder,
    /// JOIN_ORDER, JOIN_PREFIX, JOIN_SUFFIX: tables.
    JoinOrder,
    /// SEMIJOIN, SUBQUERY: strategies.
    Strategy,
    /// QB_NAME: a name.
    BlockName,
    /// MAX_EXECUTION_TIME: milliseconds.
    Time,
    /// SET_VAR: a variable and its value.
    Variable,
    /// RESOURCE_GROUP: a name.
    ResourceGroup,
}

/// Every hint.
const HINTS: &[(&str, HintKind)] = &[
    ("BKA", HintKind::Table),
    ("BNL", HintKind::Table),
    ("DERIVED_CONDITION_PUSHDOWN", HintKind::Table),
    ("GROUP_INDEX", HintKind::Index),
    ("HASH_JOIN", HintKind::Table),
    ("INDEX", HintKind::Index),
    ("INDEX_MERGE", HintKind::Index),
    ("JOIN_FIXED_ORDER", HintKind::FixedOrder),
    ("JOIN_INDEX", HintKind::Index),
    ("JOIN_ORDER", HintKind::JoinOrder),
    ("JOIN_PREFIX", HintKind::JoinOrder),
    ("JOIN_SUFFIX", HintKind::JoinOrder),
    ("MAX_EXECUTION_TIME", HintKind::Time),
    ("MERGE", HintKind::Table),
    ("MRR", HintKind::Index),
    ("NO_BKA", HintKind::Table),
    ("NO_BNL", HintKind::Table),
    ("NO_DERIVED_CONDITION_PUSHDOWN", HintKind::Table),
    ("NO_GROUP_INDEX", HintKind::Index),
    ("NO_HASH_JOIN", HintKind::Table),
    ("NO_ICP", HintKind::Index),
    ("NO_INDEX", HintKind::Index),
    ("NO_INDEX_MERGE", HintKind::Index),
    ("NO_JOIN_INDEX", HintKind::Index),
    ("NO_MERGE", HintKind::Table),
    ("NO_MRR", HintKind::Index),
    ("NO_ORDER_INDEX", HintKind::Index),
    ("NO_RANGE_OPTIMIZATION", HintKind::Index),
    ("NO_SEMIJOIN", HintKind::Strategy),
    ("NO_SKIP_SCAN", HintKind::Index),
    ("ORDER_INDEX", HintKind::Index),
    ("QB_NAME", HintKind::BlockName),
    ("RESOURCE_GROUP", HintKind::ResourceGroup),
    ("SEMIJOIN", HintKind::Strategy),
    ("SET_VAR", HintKind::Variable),
    ("SKIP_SCAN", HintKind::Index),
    ("SUBQUERY", HintKind::Strategy),
];

/// Words of hints that stand in parentheses. Like those of [`HINTS`] they are no names.
const WORDS: &[&str] = &["DUPSWEEDOUT", "FIRSTMATCH", "INTOEXISTS", "LOOSESCAN", "MATERIALIZATION"];

/// Names that the hints of a query block may have; further hints count as errors of the text.
pub(crate) const HINT_NAMES_MAX: usize = 1_000;

const SEMIJOINS: &[&str] = &["DUPSWEEDOUT", "FIRSTMATCH", "LOOSESCAN", "MATERIALIZATION"];
const SUBQUERIES: &[&str] = &["INTOEXISTS", "MATERIALIZATION"];

/// Reads the hints at `span` of a statement's text.
#[must_use]
pub fn parse(sql: &[u8], span: Span) -> Hints {
    let mut parser = Parser { sql, end: span.end as usize, at: span.start as usize };
    let mut hints = Hints::default();
    let mut names = 0;
    loop {
        parser.blanks();
        let start = parser.at;
        if parser.at >= parser.end {
            if hints.list.is_empty() {
                hints.error = Some(start);
            }
            return hints;
        }
        let Some((hint, is_too_long)) = parser.hint() else {
            hints.error = Some(parser.at);
            return hints;
        };
        if is_too_long {
            hints.too_long.push(parser.at - 1);
            continue;
        }
        names += 1 + hint.tables.len() + hint.names.len();
        if names > HINT_NAMES_MAX {
            hints.error = Some(start);
            return hints;
        }
        hints.list.push(hint);
    }
}

struct Parser<'t> {
    sql: &'t [u8],
    end: usize,
    /// After an error: where the token begins that is wrong.
    at: usize,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

impl Parser<'_> {
    fn blanks(&mut self) {
        while self.at < self.end && self.sql[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
    }

    fn peek(&mut self) -> Option<u8> {
        self.blanks();
        (self.at < self.end).then(|| self.sql[self.at])
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// What stands in these quotes, if they are closed. Nothing is read if there is nothing in them.
    fn quoted(&mut self, quote: u8) -> Option<String> {
        let mut text = Vec::new();
        let mut at = self.at + 1;
        while at < self.end {
            if self.sql[at] == quote {
                if at + 1 < self.end && self.sql[at + 1] == quote {
                    at += 1;
                } else {
                    return (!text.is_empty()).then(|| {
                        self.at = at + 1;
                        String::from_utf8_lossy(&text).into_owned()
                    });
                }
            }
            text.push(self.sql[at]);
            at += 1;
        }
        None
    }

    /// Letters and digits, whatever they are.
    fn word(&mut self) -> Option<String> {
        self.peek()?;
        let length = self.sql[self.at..self.end].iter().take_while(|&&byte| is_word(byte)).count();
        (length > 0).then(|| {
            let text = String::from_utf8_lossy(&self.sql[self.at..self.at + length]).into_owned();
            self.at += length;
            text
        })
    }

    /// A name, in backticks or not; nothing is read if there is none. Words of hints and numbers are none.
    fn name(&mut self) -> Option<String> {
        let first = self.peek()?;
        if first == b'`' {
            return self.quoted(first);
        }
        if first == b'@' && self.at > 0 && !self.sql[self.at - 1].is_ascii_whitespace() {
            // It begins the name of a block where there may be none: MySQL points behind it.
            self.at += 1;
            return None;
        }
        let start = self.at;
        let word = self.word()?;
        let is_hexadecimal = word.len() > 2
            && word.starts_with("0x")
            && word[2..].bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_number = is_hexadecimal || word.bytes().all(|byte| byte.is_ascii_digit());
        let is_of_hints = HINTS.iter().any(|(name, _)| name.eq_ignore_ascii_case(&word))
            || WORDS.iter().any(|name| name.eq_ignore_ascii_case(&word));
        if is_number || is_of_hints {
            self.at = start;
            return None;
        }
        Some(word)
    }

    /// The name of a variable: also the one that is the word of a hint.
    fn variable(&mut self) -> Option<String> {
        let start = self.at;
        self.blanks();
        match self.word() {
            Some(word) if word.eq_ignore_ascii_case("MAX_EXECUTION_TIME") => Some(word),
            _ => {
                self.at = start;
                self.name()
            }
        }
    }

    fn digits(&mut self) -> Option<String> {
        let start = self.at;
        let word = self.word()?;
        // The fraction of a number is part of it.
        let has_fraction = self.at < self.end && self.sql[self.at] == b'.';
        if has_fraction || !word.bytes().all(|byte| byte.is_ascii_digit()) {
            self.at = start;
            return None;
        }
        Some(word)
    }

    /// What SET_VAR assigns.
    fn value(&mut self) -> Option<HintValue> {
        let first = self.peek()?;
        if matches!(first, b'\'' | b'"') {
            return match self.quoted(first) {
                Some(text) => Some(HintValue::Text(text)),
                None => {
                    self.at += 1;
                    None
                }
            };
        }
        if !first.is_ascii_digit() {
            return self.name().map(HintValue::Word);
        }
        let mut text = self.word()?;
        if self.at < self.end && self.sql[self.at] == b'.' {
            self.at += 1;
            text = format!("{text}.{}", self.word().unwrap_or_default());
        }
        let digits = text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']).unwrap_or(&text);
        let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        Some(if is_whole { HintValue::Number(text) } else { HintValue::Word(text) })
    }

    /// `@name`, directly behind what it is of.
    fn block(&mut self) -> Option<Option<String>> {
        if self.at < self.end && self.sql[self.at] == b'@' {
            self.at += 1;
            return self.name().map(Some);
        }
        Some(None)
    }

    /// A hint, and whether it is a MAX_EXECUTION_TIME that is too long.
    fn hint(&mut self) -> Option<(Hint, bool)> {
        let start = self.at;
        let word = self.word()?.to_ascii_uppercase();
        let Some(&(name, kind)) = HINTS.iter().find(|(name, _)| *name == word) else {
            self.at = start;
            return None;
        };
        if !self.eat(b'(') {
            return None;
        }
        let mut hint = Hint { name, kind, block: None, tables: Vec::new(), names: Vec::new(), value: None };
        if !matches!(
            kind,
            HintKind::BlockName | HintKind::Time | HintKind::Variable | HintKind::ResourceGroup
        ) {
            self.blanks();
            hint.block = self.block()?;
        }
        self.arguments(&mut hint)?;
        let is_too_long = kind == HintKind::Time
            && hint.names.first().is_some_and(|milliseconds| milliseconds.parse::<u32>().is_err());
        self.eat(b')').then_some((hint, is_too_long))
    }

    fn arguments(&mut self, hint: &mut Hint) -> Option<()> {
        match hint.kind {
            HintKind::FixedOrder => {}
            HintKind::Index => {
                let mut table = HintTable { name: self.name()?, block: hint.block.take() };
                if table.block.is_none() {
                    table.block = self.block()?;
                }
                hint.tables.push(table);
                if self.peek() != Some(b')') {
                    self.names(hint)?;
                }
            }
            HintKind::Table | HintKind::JoinOrder => {
                while self.peek() != Some(b')') {
                    if !hint.tables.is_empty() && !self.eat(b',') {
                        return None;
                    }
                    let table = self.table()?;
                    hint.tables.push(table);
                }
            }
            HintKind::Strategy => {
                let is_one = hint.name == "SUBQUERY";
                let known = if is_one { SUBQUERIES } else { SEMIJOINS };
                while self.peek() != Some(b')') || is_one && hint.names.is_empty() {
                    if !hint.names.is_empty() && (is_one || !self.eat(b',')) {
                        return None;
                    }
                    self.blanks();
                    let start = self.at;
                    let name = self.word()?.to_ascii_uppercase();
                    if !known.contains(&name.as_str()) {
                        self.at = start;
                        return None;
                    }
                    hint.names.push(name);
                }
            }
            HintKind::Variable => {
                hint.names.push(self.variable()?);
                if !self.eat(b'=') {
                    return None;
                }
                hint.value = Some(self.value()?);
            }
            HintKind::Time => {
                let milliseconds = self.digits()?;
                hint.names.push(milliseconds);
            }
            HintKind::BlockName | HintKind::ResourceGroup => {
                let name = self.name()?;
                hint.names.push(name);
            }
        }
        Some(())
    }

    fn table(&mut self) -> Option<HintTable> {
        let name = self.name()?;
        let block = self.block()?;
        Some(HintTable { name, block })
    }

    fn names(&mut self, hint: &mut Hint) -> Option<()> {
        loop {
            let name = self.name()?;
            hint.names.push(name);
            if !self.eat(b',') {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Hints {
        parse(text.as_bytes(), Span { start: 0, end: text.len() as u32 })
    }

    #[test]
    fn hints_name_tables_blocks_and_indexes() {
        let hints =
            read(" NO_INDEX(t@q a, `b c`) join_order(@q x, y@z) QB_NAME(n) SEMIJOIN(@s firstmatch) BNL() ");
        assert_eq!(hints.error, None);
        assert_eq!(hints.list.len(), 5);
        assert_eq!(hints.list[0].tables[0].block.as_deref(), Some("q"));
        assert_eq!(hints.list[0].names, ["a", "b c"]);
        assert_eq!(hints.list[1].block.as_deref(), Some("q"));
        assert_eq!(hints.list[1].tables[1].block.as_deref(), Some("z"));
        assert_eq!(hints.list[3].names, ["FIRSTMATCH"]);
        assert!(hints.list[4].tables.is_empty());
    }

    #[test]
    fn hints_before_an_error_count() {
        let hints = read("INDEX(t a) FOO(x) INDEX(t b)");
        assert_eq!((hints.list.len(), hints.error), (1, Some(11)));
        for (text, at) in
            [("", 0), ("JOIN_FIXED_ORDER(t)", 17), ("INDEX", 5), ("INDEX()", 6), ("SEMIJOIN(foo)", 9)]
        {
            assert_eq!(read(text).error, Some(at), "{text}");
        }
    }

    #[test]
    fn words_of_hints_numbers_and_texts_are_no_names() {
        for (text, at) in [
            ("QB_NAME(1)", 8),
            ("QB_NAME('x')", 8),
            ("QB_NAME(bnl)", 8),
            ("QB_NAME(@q)", 9),
            ("INDEX(t firstmatch)", 8),
            ("INDEX(@q t@r ka)", 11),
            ("INDEX(t @q ka)", 8),
            ("BNL(``)", 4),
            ("BNL(0x10)", 4),
            ("SUBQUERY()", 9),
            ("SUBQUERY(MATERIALIZATION,INTOEXISTS)", 24),
            ("MAX_EXECUTION_TIME(1.5)", 19),
            ("SET_VAR(a=mrr)", 10),
            ("SET_VAR(a='')", 11),
        ] {
            assert_eq!(read(text).error, Some(at), "{text}");
        }
        for text in ["QB_NAME(1a)", "QB_NAME(select)", "BNL(1e5)", "INDEX(t PRIMARY)"] {
            assert_eq!(read(text).error, None, "{text}");
        }
    }

    #[test]
    fn values_are_numbers_words_or_texts() {
        let hints = read(
            "SET_VAR(a=1M) SET_VAR(a = 1.5) SET_VAR(`a`=off) SET_VAR(a='x)') MAX_EXECUTION_TIME(4294967296) BNL()",
        );
        let values: Vec<_> = hints.list.iter().filter_map(|hint| hint.value.clone()).collect();
        let [number, fraction, word, text] = &values[..] else { panic!("{values:?}") };
        assert_eq!(*number, HintValue::Number("1M".to_owned()));
        assert_eq!(*fraction, HintValue::Word("1.5".to_owned()));
        assert_eq!(*word, HintValue::Word("off".to_owned()));
        assert_eq!(*text, HintValue::Text("x)".to_owned()));
        assert_eq!((hints.too_long.len(), hints.list.len(), hints.error), (1, 5, None));
    }
}
