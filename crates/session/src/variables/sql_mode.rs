//! `sql_mode`: MySQL's bits, names and combinations.

use syntax::SqlMode as SyntaxMode;

/// A set of sql_modes as MySQL numbers them (`SET sql_mode = 4` is ANSI_QUOTES).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct SqlModes(pub u64);

macro_rules! modes {
    ($($bit:literal $name:ident;)*) => {
        #[allow(missing_docs, reason = "MySQL's own words")]
        impl SqlModes {
            $(pub const $name: Self = Self(1 << $bit);)*
        }
        const NAMES: &[(u64, &str)] = &[$((1 << $bit, stringify!($name))),*];
    };
}

modes! {
    0 REAL_AS_FLOAT;
    1 PIPES_AS_CONCAT;
    2 ANSI_QUOTES;
    3 IGNORE_SPACE;
    4 NOT_USED;
    5 ONLY_FULL_GROUP_BY;
    6 NO_UNSIGNED_SUBTRACTION;
    7 NO_DIR_IN_CREATE;
    18 ANSI;
    19 NO_AUTO_VALUE_ON_ZERO;
    20 NO_BACKSLASH_ESCAPES;
    21 STRICT_TRANS_TABLES;
    22 STRICT_ALL_TABLES;
    23 NO_ZERO_IN_DATE;
    24 NO_ZERO_DATE;
    25 ALLOW_INVALID_DATES;
    26 ERROR_FOR_DIVISION_BY_ZERO;
    27 TRADITIONAL;
    29 HIGH_NOT_PRECEDENCE;
    30 NO_ENGINE_SUBSTITUTION;
    31 PAD_CHAR_TO_FULL_LENGTH;
    32 TIME_TRUNCATE_FRACTIONAL;
}

/// Why a value is no sql_mode.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SqlModeError {
    /// 1231 with this text.
    Unknown(String),
    /// 3899 with these bits.
    Unsupported(u64),
}

impl SqlModes {
    /// Whether every mode of `other` is on.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether bad values are refused rather than adjusted.
    #[must_use]
    pub const fn is_strict(self) -> bool {
        self.0 & (Self::STRICT_TRANS_TABLES.0 | Self::STRICT_ALL_TABLES.0) != 0
    }

    /// Whether the modes that go with a strict one are all on when one is on, and all off otherwise.
    #[must_use]
    pub(crate) const fn fits_strictness(self) -> bool {
        let together = Self::NO_ZERO_IN_DATE.0 | Self::NO_ZERO_DATE.0 | Self::ERROR_FOR_DIVISION_BY_ZERO.0;
        self.0 & together == if self.is_strict() { together } else { 0 }
    }

    /// Adds what the combinations stand for.
    fn expanded(mut self) -> Self {
        if self.has(Self::ANSI) {
            self.0 |= Self::REAL_AS_FLOAT.0
                | Self::PIPES_AS_CONCAT.0
                | Self::ANSI_QUOTES.0
                | Self::IGNORE_SPACE.0
                | Self::ONLY_FULL_GROUP_BY.0;
        }
        if self.has(Self::TRADITIONAL) {
            self.0 |= Self::STRICT_TRANS_TABLES.0
                | Self::STRICT_ALL_TABLES.0
                | Self::NO_ZERO_IN_DATE.0
                | Self::NO_ZERO_DATE.0
                | Self::ERROR_FOR_DIVISION_BY_ZERO.0
                | Self::NO_ENGINE_SUBSTITUTION.0;
        }
        self
    }

    /// Reads a list of names; empty entries are skipped.
    ///
    /// # Errors
    /// The first name that is none, as far as MySQL shows it.
    pub fn parse(text: &str) -> Result<Self, SqlModeError> {
        let mut modes = 0;
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let found = NAMES.iter().find(|(_, candidate)| candidate.eq_ignore_ascii_case(name));
            let Some((bit, _)) = found else { return Err(SqlModeError::Unknown(name.to_owned())) };
            modes |= bit;
        }
        Ok(Self(modes).expanded())
    }

    /// Reads the numeric form.
    ///
    /// # Errors
    /// Bits that mean nothing.
    pub fn from_bits(bits: u64) -> Result<Self, SqlModeError> {
        let known: u64 = NAMES.iter().map(|(bit, _)| bit).sum();
        if bits > known | (known - 1) {
            return Err(SqlModeError::Unknown(bits.to_string()));
        }
        match bits & !known {
            0 => Ok(Self(bits).expanded()),
            rest => Err(SqlModeError::Unsupported(rest)),
        }
    }

    /// The list of names, as `@@sql_mode` shows it.
    #[must_use]
    pub fn names(self) -> String {
        let names: Vec<&str> =
            NAMES.iter().filter(|(bit, _)| self.0 & bit != 0).map(|(_, name)| *name).collect();
        names.join(",")
    }

    /// What the lexer and parser have to know.
    #[must_use]
    #[inline]
    pub(crate) fn for_syntax(self) -> SyntaxMode {
        let mut mode = SyntaxMode::default();
        for (own, other) in [
            (Self::ANSI_QUOTES, SyntaxMode::ANSI_QUOTES),
            (Self::PIPES_AS_CONCAT, SyntaxMode::PIPES_AS_CONCAT),
            (Self::NO_BACKSLASH_ESCAPES, SyntaxMode::NO_BACKSLASH_ESCAPES),
            (Self::IGNORE_SPACE, SyntaxMode::IGNORE_SPACE),
            (Self::HIGH_NOT_PRECEDENCE, SyntaxMode::HIGH_NOT_PRECEDENCE),
            (Self::REAL_AS_FLOAT, SyntaxMode::REAL_AS_FLOAT),
        ] {
            if self.has(own) {
                mode = mode.with(other);
            }
        }
        mode
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_stand_for_what_mysql_says() {
        assert_eq!(
            SqlModes::parse("ansi").unwrap().names(),
            "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI"
        );
        assert_eq!(
            SqlModes::parse("TRADITIONAL").unwrap().names(),
            "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,TRADITIONAL,NO_ENGINE_SUBSTITUTION"
        );
        assert_eq!(SqlModes::parse("IGNORE_SPACE,,ANSI_QUOTES").unwrap().names(), "ANSI_QUOTES,IGNORE_SPACE");
        assert_eq!(
            SqlModes::parse("NO_AUTO_CREATE_USER"),
            Err(SqlModeError::Unknown("NO_AUTO_CREATE_USER".to_owned()))
        );
        assert_eq!(SqlModes::from_bits(4).unwrap().names(), "ANSI_QUOTES");
        assert_eq!(SqlModes::from_bits(0x1000_0000), Err(SqlModeError::Unsupported(0x1000_0000)));
    }
}
