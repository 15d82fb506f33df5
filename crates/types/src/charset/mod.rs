//! Character sets: which bytes are text, which code points they mean, and how to get from one set to another.
//!
//! Five sets: `utf8mb4`, `utf8mb3` (UTF-8 without supplementary characters), `latin1` (MySQL's name for cp1252 with
//! its five unassigned bytes standing for the C1 controls of the same number), `ascii` and `binary` (bytes that mean
//! nothing but themselves).
//!
//! Every function takes any bytes. Text that is not well formed in its set is never an error of the program: a byte
//! that starts no character is reported as [`Decoded::Bad`] and counts as one character, as MySQL counts it.
//!
//! Read next: `utf8` (decoding), `latin1` (the cp1252 table), `convert` (from set to set),
//! [`crate::collation`] (order, equality, case).

mod convert;
mod latin1;
mod utf8;

pub use convert::{ConversionLoss, convert_lossy, convert_strict};
pub(crate) use utf8::{decode_utf8, encode_utf8};

use crate::collation::CollationId;

/// A character set MySQL clients can name.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u8)]
pub enum Charset {
    /// Bytes without meaning; every byte is one character.
    Binary,
    /// Seven bits; bytes from 0x80 are malformed.
    Ascii,
    /// MySQL's `latin1`: Windows code page 1252, all 256 bytes assigned.
    Latin1,
    /// UTF-8 of at most three bytes per character: the Basic Multilingual Plane.
    Utf8mb3,
    /// UTF-8 of all Unicode.
    Utf8mb4,
}

/// Bytes that are not well formed in the character set they are said to be in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BadBytes {
    /// Offset in bytes of the first byte that belongs to no character.
    pub position: usize,
}

/// What stands at the front of some bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decoded {
    /// A character: its Unicode code point (in `binary`, the byte) and its length in bytes (1 to 4).
    Char {
        /// Unicode code point, 0 to 0x10FFFF.
        code: u32,
        /// Length in bytes.
        bytes: usize,
    },
    /// A byte that starts no well-formed character. It is one byte long.
    Bad {
        /// The byte.
        byte: u8,
    },
    /// There are no more bytes.
    End,
}

impl Decoded {
    /// Length in bytes: of the character, one for a bad byte, zero at the end.
    #[must_use]
    pub fn byte_count(self) -> usize {
        match self {
            Self::Char { bytes, .. } => bytes,
            Self::Bad { .. } => 1,
            Self::End => 0,
        }
    }
}

impl Charset {
    /// All character sets, in the order `SHOW CHARACTER SET` lists them.
    pub const ALL: [Self; 5] = [Self::Ascii, Self::Binary, Self::Latin1, Self::Utf8mb3, Self::Utf8mb4];

    /// The name MySQL shows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Ascii => "ascii",
            Self::Latin1 => "latin1",
            Self::Utf8mb3 => "utf8mb3",
            Self::Utf8mb4 => "utf8mb4",
        }
    }

    /// Finds a set by name, in any letter case. `utf8` is an alias of `utf8mb3`, as in MySQL 9.7.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Self::Utf8mb3);
        }
        Self::ALL.into_iter().find(|set| set.name().eq_ignore_ascii_case(name))
    }

    /// The description `SHOW CHARACTER SET` shows.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Binary => "Binary pseudo charset",
            Self::Ascii => "US ASCII",
            Self::Latin1 => "cp1252 West European",
            Self::Utf8mb3 | Self::Utf8mb4 => "UTF-8 Unicode",
        }
    }

    /// The collation a column of this set has when none is named.
    #[must_use]
    pub const fn default_collation(self) -> CollationId {
        match self {
            Self::Binary => CollationId::BINARY,
            Self::Ascii => CollationId::ASCII_GENERAL_CI,
            Self::Latin1 => CollationId::LATIN1_SWEDISH_CI,
            Self::Utf8mb3 => CollationId::UTF8MB3_GENERAL_CI,
            Self::Utf8mb4 => CollationId::UTF8MB4_0900_AI_CI,
        }
    }

    /// The collation that compares code points (the `_bin` MySQL picks for `CAST(... AS CHAR) COLLATE` by `BINARY`
    /// attributes: `VARCHAR(n) BINARY` is the `_bin` collation of the set).
    #[must_use]
    pub const fn bin_collation(self) -> CollationId {
        match self {
            Self::Binary => CollationId::BINARY,
            Self::Ascii => CollationId::ASCII_BIN,
            Self::Latin1 => CollationId::LATIN1_BIN,
            Self::Utf8mb3 => CollationId::UTF8MB3_BIN,
            Self::Utf8mb4 => CollationId::UTF8MB4_BIN,
        }
    }

    /// The most bytes one character takes (`Maxlen`).
    #[must_use]
    pub const fn max_bytes_per_char(self) -> usize {
        match self {
            Self::Binary | Self::Ascii | Self::Latin1 => 1,
            Self::Utf8mb3 => 3,
            Self::Utf8mb4 => 4,
        }
    }

    /// Whether every character is one byte, so that bytes and characters can be counted alike.
    #[must_use]
    pub const fn is_single_byte(self) -> bool {
        self.max_bytes_per_char() == 1
    }

    /// Whether `bytes` are well formed in this set.
    ///
    /// # Errors
    /// `BadBytes` with the position of the first byte that belongs to no character.
    pub fn validate(self, bytes: &[u8]) -> Result<(), BadBytes> {
        match self {
            Self::Binary | Self::Latin1 => Ok(()),
            Self::Ascii => match bytes.iter().position(|byte| !byte.is_ascii()) {
                None => Ok(()),
                Some(position) => Err(BadBytes { position }),
            },
            Self::Utf8mb3 => utf8::validate::<3>(bytes),
            Self::Utf8mb4 => utf8::validate::<4>(bytes),
        }
    }

    /// Reads the character at the front of `bytes`.
    #[inline]
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Decoded {
        let Some(&byte) = bytes.first() else { return Decoded::End };
        if byte.is_ascii() {
            return Decoded::Char { code: u32::from(byte), bytes: 1 };
        }
        match self {
            Self::Binary => Decoded::Char { code: u32::from(byte), bytes: 1 },
            Self::Ascii => Decoded::Bad { byte },
            Self::Latin1 => Decoded::Char { code: latin1::to_unicode(byte), bytes: 1 },
            Self::Utf8mb3 => decode_utf8::<3>(bytes),
            Self::Utf8mb4 => decode_utf8::<4>(bytes),
        }
    }

    /// Appends the character with code point `code`; `false`, and nothing appended, if this set has no such character
    /// (or `code` is a surrogate or above 0x10FFFF). In `binary`, code points 0 to 255 are the bytes.
    pub fn encode(self, code: u32, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Utf8mb3 => code <= 0xFFFF && encode_utf8(code, out),
            Self::Utf8mb4 => encode_utf8(code, out),
            Self::Binary | Self::Ascii | Self::Latin1 => {
                let byte = self.single_byte(code);
                out.extend(byte);
                byte.is_some()
            }
        }
    }

    /// The byte of a character, if it is one byte.
    pub(crate) fn single_byte(self, code: u32) -> Option<u8> {
        match self {
            Self::Binary => u8::try_from(code).ok(),
            Self::Latin1 => latin1::from_unicode(code),
            Self::Ascii | Self::Utf8mb3 | Self::Utf8mb4 => u8::try_from(code).ok().filter(u8::is_ascii),
        }
    }

    /// The characters of `bytes` from the front: [`Decoded::Char`] and [`Decoded::Bad`], never [`Decoded::End`].
    #[must_use]
    pub fn chars(self, bytes: &[u8]) -> Chars<'_> {
        Chars { charset: self, rest: bytes }
    }

    /// The number of characters (`CHAR_LENGTH`). A byte that starts no character counts as one.
    #[must_use]
    pub fn char_count(self, bytes: &[u8]) -> usize {
        match self {
            Self::Binary | Self::Ascii | Self::Latin1 => bytes.len(),
            Self::Utf8mb3 => utf8::char_count::<3>(bytes),
            Self::Utf8mb4 => utf8::char_count::<4>(bytes),
        }
    }

    /// The length in bytes of the first `char_count` characters, or of all if there are fewer. `bytes[..n]` is the
    /// text truncated; this is how `LEFT`, `SUBSTRING` and `VARCHAR(n)` cut.
    #[must_use]
    pub fn prefix_bytes(self, bytes: &[u8], char_count: usize) -> usize {
        match self {
            Self::Binary | Self::Ascii | Self::Latin1 => bytes.len().min(char_count),
            Self::Utf8mb3 => utf8::prefix_bytes::<3>(bytes, char_count),
            Self::Utf8mb4 => utf8::prefix_bytes::<4>(bytes, char_count),
        }
    }

    /// `bytes` without its trailing spaces (U+0020), as `CHAR(n)` columns and `RTRIM` drop them.
    #[must_use]
    pub fn trim_trailing_spaces(self, bytes: &[u8]) -> &[u8] {
        // In every set here 0x20 is a whole character wherever it stands.
        let kept = bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
        &bytes[..kept]
    }
}

/// Iterator over the characters of some bytes; see [`Charset::chars`].
#[derive(Clone, Debug)]
pub struct Chars<'a> {
    charset: Charset,
    rest: &'a [u8],
}

impl<'a> Chars<'a> {
    /// The bytes not yet read.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl Iterator for Chars<'_> {
    type Item = Decoded;

    #[inline]
    fn next(&mut self) -> Option<Decoded> {
        let decoded = self.charset.decode(self.rest);
        if decoded == Decoded::End {
            return None;
        }
        self.rest = &self.rest[decoded.byte_count()..];
        Some(decoded)
    }
}

#[cfg(test)]
mod tests;
