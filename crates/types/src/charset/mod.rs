//! Character sets: which bytes are text, which code points they mean, and how to get from one set to another.
//!
//! `utf8mb4`, `utf8mb3` (UTF-8 without supplementary characters), `latin1` (MySQL's name for cp1252 with its five
//! unassigned bytes standing for the C1 controls of the same number), `ascii`, `binary` (bytes that mean nothing but
//! themselves), and MySQL's other sets of single bytes, by tables.
//!
//! Every function takes any bytes. Text that is not well formed in its set is never an error of the program: a byte
//! that starts no character is reported as [`Decoded::Bad`] and counts as one character, as MySQL counts it.
//!
//! Read next: `utf8` (decoding), `latin1` (the cp1252 table), `single_byte` (the other tables), `convert` (from set to set),
//! [`crate::collation`] (order, equality, case).

mod convert;
mod latin1;
pub(crate) mod single_byte;
mod utf8;

pub use convert::{ConversionLoss, convert_lossy, convert_strict};
pub(crate) use utf8::{decode_utf8, encode_utf8};

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
    /// ARMSCII-8 Armenian.
    Armscii8,
    /// Windows Central European.
    Cp1250,
    /// Windows Cyrillic.
    Cp1251,
    /// Windows Arabic.
    Cp1256,
    /// Windows Baltic.
    Cp1257,
    /// DOS West European.
    Cp850,
    /// DOS Central European.
    Cp852,
    /// DOS Russian.
    Cp866,
    /// DEC West European.
    Dec8,
    /// GEOSTD8 Georgian.
    Geostd8,
    /// ISO 8859-7 Greek.
    Greek,
    /// ISO 8859-8 Hebrew.
    Hebrew,
    /// HP West European.
    Hp8,
    /// DOS Kamenicky Czech-Slovak.
    Keybcs2,
    /// KOI8-R Relcom Russian.
    Koi8r,
    /// KOI8-U Ukrainian.
    Koi8u,
    /// ISO 8859-2 Central European.
    Latin2,
    /// ISO 8859-9 Turkish.
    Latin5,
    /// ISO 8859-13 Baltic.
    Latin7,
    /// Mac Central European.
    Macce,
    /// Mac West European.
    Macroman,
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
    pub const ALL: [Self; 26] = [
        Self::Armscii8,
        Self::Ascii,
        Self::Binary,
        Self::Cp1250,
        Self::Cp1251,
        Self::Cp1256,
        Self::Cp1257,
        Self::Cp850,
        Self::Cp852,
        Self::Cp866,
        Self::Dec8,
        Self::Geostd8,
        Self::Greek,
        Self::Hebrew,
        Self::Hp8,
        Self::Keybcs2,
        Self::Koi8r,
        Self::Koi8u,
        Self::Latin1,
        Self::Latin2,
        Self::Latin5,
        Self::Latin7,
        Self::Macce,
        Self::Macroman,
        Self::Utf8mb3,
        Self::Utf8mb4,
    ];

    /// What there is in tables of a set that has no code of its own.
    const fn table(self) -> &'static single_byte::Set {
        match single_byte::position(self) {
            Some(position) => &single_byte::SETS[position],
            None => panic!("a set with code of its own"),
        }
    }

    /// The code point of a byte in such a set.
    fn table_code(self, byte: u8) -> Option<u32> {
        single_byte::to_unicode(single_byte::position(self)?, byte)
    }

    /// Whether text in it is other bytes than in UTF-8 as soon as it is not ASCII: every set of single bytes that has
    /// characters beyond it.
    #[must_use]
    pub const fn needs_conversion(self) -> bool {
        !matches!(self, Self::Binary | Self::Ascii | Self::Utf8mb3 | Self::Utf8mb4)
    }

    /// The name MySQL shows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Ascii => "ascii",
            Self::Latin1 => "latin1",
            Self::Utf8mb3 => "utf8mb3",
            Self::Utf8mb4 => "utf8mb4",
            _ => self.table().name,
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
            _ => self.table().description,
        }
    }

    /// The most bytes one character takes (`Maxlen`).
    #[must_use]
    pub const fn max_bytes_per_char(self) -> usize {
        match self {
            Self::Utf8mb3 => 3,
            Self::Utf8mb4 => 4,
            _ => 1,
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
            Self::Ascii => match bytes.iter().position(|byte| !byte.is_ascii()) {
                None => Ok(()),
                Some(position) => Err(BadBytes { position }),
            },
            Self::Utf8mb3 => utf8::validate::<3>(bytes),
            Self::Utf8mb4 => utf8::validate::<4>(bytes),
            _ => Ok(()),
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
            _ => match self.table_code(byte) {
                Some(code) => Decoded::Char { code, bytes: 1 },
                None => Decoded::Bad { byte },
            },
        }
    }

    /// Appends the character with code point `code`; `false`, and nothing appended, if this set has no such character
    /// (or `code` is a surrogate or above 0x10FFFF). In `binary`, code points 0 to 255 are the bytes.
    pub fn encode(self, code: u32, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Utf8mb3 => code <= 0xFFFF && encode_utf8(code, out),
            Self::Utf8mb4 => encode_utf8(code, out),
            _ => {
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
            _ => single_byte::from_unicode(single_byte::position(self)?, code),
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
            Self::Utf8mb3 => utf8::char_count::<3>(bytes),
            Self::Utf8mb4 => utf8::char_count::<4>(bytes),
            _ => bytes.len(),
        }
    }

    /// The length in bytes of the first `char_count` characters, or of all if there are fewer. `bytes[..n]` is the
    /// text truncated; this is how `LEFT`, `SUBSTRING` and `VARCHAR(n)` cut.
    #[must_use]
    pub fn prefix_bytes(self, bytes: &[u8], char_count: usize) -> usize {
        match self {
            Self::Utf8mb3 => utf8::prefix_bytes::<3>(bytes, char_count),
            Self::Utf8mb4 => utf8::prefix_bytes::<4>(bytes, char_count),
            _ => bytes.len().min(char_count),
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
