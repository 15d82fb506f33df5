//! What is wrong with a text, as MySQL says it.

/// Why a text is no statement. `number`, `sqlstate` and the message are what a client sees.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SyntaxError {
    /// MySQL's error number: 1064 for nearly all, 1065 for an empty statement, 1436 when nested too deep, ...
    pub number: u16,
    /// Five characters: `42000`, `HY000`, ...
    pub sqlstate: &'static str,
    /// The whole message.
    pub message: String,
    /// Where in the text it was noticed, in bytes.
    pub offset: usize,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}): {}", self.number, self.sqlstate, self.message)
    }
}

impl std::error::Error for SyntaxError {}
