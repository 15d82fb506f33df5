//! The sql_modes that change how a text is read.

/// A set of sql_modes, only those that matter to the lexer and the parser.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash)]
pub struct SqlMode(pub u8);

impl SqlMode {
    /// `"name"` is an identifier.
    pub const ANSI_QUOTES: SqlMode = SqlMode(1);
    /// `||` joins strings.
    pub const PIPES_AS_CONCAT: SqlMode = SqlMode(2);
    /// A backslash in a string is a backslash.
    pub const NO_BACKSLASH_ESCAPES: SqlMode = SqlMode(4);
    /// Blanks may stand between a built-in function's name and its `(`.
    pub const IGNORE_SPACE: SqlMode = SqlMode(8);
    /// `NOT a BETWEEN b AND c` is `(NOT a) BETWEEN b AND c`.
    pub const HIGH_NOT_PRECEDENCE: SqlMode = SqlMode(16);
    /// `REAL` is `FLOAT`.
    pub const REAL_AS_FLOAT: SqlMode = SqlMode(32);

    /// All of `other` is in this set.
    #[must_use]
    pub const fn has(self, other: SqlMode) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set with `other`.
    #[must_use]
    pub const fn with(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 | other.0)
    }
}
