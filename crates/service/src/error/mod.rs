//! What a client sees when a statement fails: a number, an SQLSTATE and a message, all MySQL's.
//!
//! ```
//! use service::error::{ER_DUP_ENTRY_WITH_KEY_NAME, ER_NO_DB_ERROR};
//! let error = ER_DUP_ENTRY_WITH_KEY_NAME.with(&[&7, &"t.PRIMARY"]);
//! assert_eq!(error.message, "Duplicate entry '7' for key 't.PRIMARY'");
//! assert_eq!(ER_NO_DB_ERROR.bare().to_string(), "1046 (3D000): No database selected");
//! ```

mod table;

use std::fmt::{self, Display, Write as _};

pub use table::*;

/// One line of the table: copy it, compare it by number, make errors and warnings of it.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// MySQL's number.
    pub number: u16,
    /// SQLSTATE.
    pub state: [u8; 5],
    /// The message, with places for arguments: `%s`, `%d` and their kind take one argument each in order; `%.64s` and
    /// `%-.64s` cut it to 64 bytes; `%%` is a percent sign.
    pub template: &'static str,
    /// MySQL's name, such as `ER_NO_DB_ERROR`.
    pub name: &'static str,
}

impl PartialEq for Code {
    fn eq(&self, other: &Code) -> bool {
        self.number == other.number
    }
}

impl Eq for Code {}

impl Code {
    pub(crate) const fn new(number: u16, state: &str, template: &'static str, name: &'static str) -> Code {
        let bytes = state.as_bytes();
        assert!(bytes.len() == 5);
        Code { number, state: [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]], template, name }
    }

    /// The code with this number, if the table has it.
    #[must_use]
    pub fn by_number(number: u16) -> Option<Code> {
        let at = CODES.binary_search_by_key(&number, |code| code.number).ok()?;
        Some(CODES[at])
    }

    /// The message with `arguments` put in.
    #[cold]
    #[must_use]
    pub fn message(&self, arguments: &[&dyn Display]) -> String {
        fill(self.template, arguments)
    }

    /// The error with `arguments` put in its message.
    #[cold]
    #[must_use]
    pub fn with(&self, arguments: &[&dyn Display]) -> Box<SqlError> {
        self.saying(self.message(arguments))
    }

    /// The error whose message takes no argument.
    #[cold]
    #[must_use]
    pub fn bare(&self) -> Box<SqlError> {
        self.with(&[])
    }

    /// The error with a message of its own instead of the table's.
    #[cold]
    #[must_use]
    pub fn saying(&self, message: impl Into<String>) -> Box<SqlError> {
        SqlError::new(self.number, self.state, message)
    }

    /// A warning with `arguments` put in its message.
    #[cold]
    #[must_use]
    pub fn warning(&self, arguments: &[&dyn Display]) -> Diagnostic {
        Diagnostic {
            level: Level::Warning,
            number: self.number,
            state: self.state,
            message: self.message(arguments),
        }
    }

    /// A warning with a message of its own instead of the table's.
    #[cold]
    #[must_use]
    pub fn warning_saying(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic { level: Level::Warning, number: self.number, state: self.state, message: message.into() }
    }

    /// A note with `arguments` put in its message.
    #[cold]
    #[must_use]
    pub fn note(&self, arguments: &[&dyn Display]) -> Diagnostic {
        Diagnostic {
            level: Level::Note,
            number: self.number,
            state: self.state,
            message: self.message(arguments),
        }
    }
}

/// A text in a message: messages hold the characters of utf8mb3 only.
#[must_use]
pub fn in_message(text: &str) -> String {
    text.chars().map(|char| if char > '\u{FFFF}' { '?' } else { char }).collect()
}

/// Puts arguments into the places of a template. Too few leave their places empty; too many are not shown.
fn fill(template: &str, arguments: &[&dyn Display]) -> String {
    let mut out = String::with_capacity(template.len() + 32);
    let mut next = arguments.iter();
    let mut rest = template;
    let mut text = String::new();
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let spec_bytes =
            rest.find(|c: char| !matches!(c, '-' | '.' | '*' | '0'..='9' | 'l' | 'z')).unwrap_or(rest.len());
        let (spec, tail) = rest.split_at(spec_bytes);
        let mut kinds = tail.chars();
        let kind = kinds.next();
        rest = kinds.as_str();
        match kind {
            Some('%') | None => out.push('%'),
            Some(_) => {
                let Some(argument) = next.next() else { continue };
                text.clear();
                let _ = write!(text, "{argument}"); // Writing to a String cannot fail.
                let bytes_max = spec.split_once('.').and_then(|(_, digits)| digits.parse().ok());
                let mut end = bytes_max.map_or(text.len(), |max: usize| max.min(text.len()));
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                if let Some(width) = spec.strip_prefix('0').and_then(|digits| digits.parse::<usize>().ok()) {
                    for _ in text.len()..width {
                        out.push('0');
                    }
                }
                out.push_str(&in_message(&text[..end]));
            }
        }
    }
    out.push_str(rest);
    out
}

/// A statement's failure, as the client gets it. Passed in a box, so that a result stays one word.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SqlError {
    /// MySQL's number.
    pub number: u16,
    /// SQLSTATE.
    pub state: [u8; 5],
    /// Text for people, UTF-8.
    pub message: String,
    /// Warnings from before the statement began to run, which stand before it in SHOW WARNINGS.
    pub earlier: Vec<Diagnostic>,
    is_refused_wait: bool,
}

impl SqlError {
    /// An error, without warnings before it.
    #[cold]
    #[must_use]
    pub fn new(number: u16, state: [u8; 5], message: impl Into<String>) -> Box<SqlError> {
        Box::new(SqlError {
            number,
            state,
            message: message.into(),
            earlier: Vec::new(),
            is_refused_wait: false,
        })
    }

    /// 1135 of a statement that would have to wait for others while too many do already: the wait was refused, and never began.
    #[cold]
    #[must_use]
    pub fn refused_wait() -> Box<SqlError> {
        /// The system's number for "try again" (EAGAIN).
        const TRY_AGAIN: u32 = 11;
        let mut error = ER_CANT_CREATE_THREAD.with(&[&TRY_AGAIN]);
        error.is_refused_wait = true;
        error
    }

    /// Whether it is that of [`SqlError::refused_wait`]: the statement may be requeued instead, if it has left no trace.
    #[must_use]
    pub fn is_refused_wait(&self) -> bool {
        self.is_refused_wait
    }

    /// Whether this is the error of `code`, whatever its message.
    #[must_use]
    pub fn is(&self, code: Code) -> bool {
        self.number == code.number
    }

    /// The SQLSTATE as text.
    #[must_use]
    pub fn state(&self) -> &str {
        std::str::from_utf8(&self.state).unwrap_or("HY000")
    }

    /// The same as an entry of the warning list, level `Error`.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic {
            level: Level::Error,
            number: self.number,
            state: self.state,
            message: self.message.clone(),
        }
    }
}

impl Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.number, self.state(), self.message)
    }
}

impl std::error::Error for SqlError {}

/// How bad an entry of SHOW WARNINGS is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Level {
    /// For information.
    Note,
    /// Something was changed or is doubtful.
    Warning,
    /// The statement failed.
    Error,
}

impl Level {
    /// As SHOW WARNINGS prints it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        }
    }
}

/// An entry of SHOW WARNINGS.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Diagnostic {
    /// How bad.
    pub level: Level,
    /// MySQL's number.
    pub number: u16,
    /// SQLSTATE.
    pub state: [u8; 5],
    /// Text for people, UTF-8.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_found_by_number() {
        assert!(CODES.is_sorted_by(|a, b| a.number < b.number));
        for code in CODES {
            assert_eq!(Code::by_number(code.number), Some(*code));
            assert!(code.state.iter().all(u8::is_ascii_alphanumeric), "{}", code.name);
        }
        assert_eq!(Code::by_number(2), None);
    }

    /// Texts as MySQL 9.7 sends them.
    #[test]
    fn messages_are_filled_as_mysql_fills_them() {
        let key = "é".repeat(100);
        assert_eq!(
            ER_DUP_ENTRY_WITH_KEY_NAME.with(&[&key, &"d.PRIMARY"]).message,
            format!("Duplicate entry '{}' for key 'd.PRIMARY'", "é".repeat(32))
        );
        assert_eq!(
            ER_ACCESS_DENIED_ERROR.with(&[&"root", &"localhost", &"NO"]).message,
            "Access denied for user 'root'@'localhost' (using password: NO)"
        );
        assert_eq!(ER_UNKNOWN_COM_ERROR.bare().message, "Unknown command");
        assert_eq!(
            ER_UNKNOWN_STMT_HANDLER.with(&[&"7", &"mysqld_stmt_execute"]).message,
            "Unknown prepared statement handler (7) given to mysqld_stmt_execute"
        );
        assert_eq!(ER_UNSUPPORTED_SQL_MODE.with(&[&"1f"]).message, "sql_mode=0x0000001f is not supported.");
    }
}
