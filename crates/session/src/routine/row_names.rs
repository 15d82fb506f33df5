//! Which columns of NEW and OLD a trigger's body names.
//!
//! Statements of a body are cut out of the text and bound when they first run, so the names are found in the text: `NEW . name` and
//! `OLD . name` outside of strings and comments. What is found this way and is a column gets a slot; the binder looks only there.

/// A column of NEW or OLD that a text names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct RowName {
    /// NEW, not OLD.
    pub(super) is_new: bool,
    /// The column as written.
    pub(super) column: String,
    /// SET stands before it.
    pub(super) is_set: bool,
}

/// Finds them, each as often as it stands there.
pub(super) fn row_names(text: &[u8], ansi_quotes: bool) -> Vec<RowName> {
    let mut found = Vec::new();
    let mut tokens = Tokens { text, at: 0, ansi_quotes };
    // The three tokens before: what stands before NEW, NEW, the point.
    let mut before = Token::Other;
    let mut row = None;
    let mut is_set = false;
    let mut has_point = false;
    while let Some(token) = tokens.next() {
        match token {
            Token::Point if row.is_some() && !has_point => has_point = true,
            Token::Word(ref word) if has_point && !word.starts_with(|first: char| first.is_ascii_digit()) => {
                let word = word.clone();
                if let Some(is_new) = row {
                    found.push(RowName { is_new, column: word, is_set });
                }
                (row, has_point) = (None, false);
            }
            Token::Word(ref word) => {
                let is_new = word.eq_ignore_ascii_case("NEW");
                let is_row = is_new || word.eq_ignore_ascii_case("OLD");
                is_set = matches!(&before, Token::Word(word) if word.eq_ignore_ascii_case("SET"));
                row = (is_row && !matches!(before, Token::Point | Token::At)).then_some(is_new);
                has_point = false;
            }
            _ => (row, has_point) = (None, false),
        }
        before = token;
    }
    found
}

enum Token {
    Word(String),
    Point,
    At,
    Other,
}

struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
    ansi_quotes: bool,
}

impl Tokens<'_> {
    /// Goes behind a quoted text; answers what it holds.
    fn quoted(&mut self, quote: u8) -> String {
        let mut held = Vec::new();
        self.at += 1;
        while let Some(&byte) = self.text.get(self.at) {
            self.at += 1;
            if byte == quote {
                if self.text.get(self.at) != Some(&quote) {
                    break;
                }
                self.at += 1;
            } else if byte == b'\\' && quote == b'\'' {
                self.at += 1;
                continue;
            }
            held.push(byte);
        }
        String::from_utf8_lossy(&held).into_owned()
    }

    fn next(&mut self) -> Option<Token> {
        loop {
            let rest = self.text.get(self.at..)?;
            let byte = *rest.first()?;
            let skip_to = |end: &[u8], from: usize| {
                memchr::memmem::find(&rest[from..], end).map_or(rest.len(), |at| from + at + end.len())
            };
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => self.at += 1,
                b'#' => self.at += skip_to(b"\n", 1),
                b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(u8::is_ascii_whitespace) => {
                    self.at += skip_to(b"\n", 2);
                }
                // What stands in a comment for a version is read.
                b'/' if rest.starts_with(b"/*!") => {
                    self.at += 3;
                    while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
                        self.at += 1;
                    }
                }
                b'/' if rest.starts_with(b"/*") => self.at += skip_to(b"*/", 2),
                b'\'' => {
                    self.quoted(b'\'');
                    return Some(Token::Other);
                }
                b'"' if !self.ansi_quotes => {
                    self.quoted(b'"');
                    return Some(Token::Other);
                }
                b'`' | b'"' => return Some(Token::Word(self.quoted(byte))),
                b'.' => {
                    self.at += 1;
                    return Some(Token::Point);
                }
                b'@' => {
                    self.at += 1;
                    return Some(Token::At);
                }
                _ if is_word(byte) => {
                    let end = rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len());
                    self.at += end;
                    return Some(Token::Word(String::from_utf8_lossy(&rest[..end]).into_owned()));
                }
                _ => {
                    self.at += 1;
                    return Some(Token::Other);
                }
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let shown = |name: RowName| format!("{} {}", if name.is_new { "new" } else { "old" }, name.column);
        row_names(text.as_bytes(), false).into_iter().map(shown).collect()
    }

    #[test]
    fn names_are_found_outside_of_texts() {
        assert_eq!(names("SET NEW.a = old . `b c` + 1"), ["new a", "old b c"]);
        assert_eq!(names("SELECT 'new.x', \"old.y\" -- new.z\n, /* new.w */ new.v"), ["new v"]);
        assert_eq!(names("SELECT t.new.a, @new.b, new, new.1"), Vec::<String>::new());
        assert_eq!(names("SELECT `new`.`a``b`, n.a, 'it''s new.q' # new.r"), ["new a`b"]);
        assert_eq!(names("SELECT 'a\\'new.x', /*!50100 new.y */ 1.new"), ["new y"]);
    }
}
