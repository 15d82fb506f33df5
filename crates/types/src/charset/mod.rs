//! Character sets: which bytes are text, which code points they mean, and how to get from one set to another.
//!
//! `utf8mb4`, `utf8mb3` (UTF-8 without supplementary characters), `latin1` (MySQL's name for cp1252 with its five
//! unassigned bytes standing for the C1 controls of the same number), `ascii`, `binary` (bytes that mean nothing but
//! themselves), `ucs2`, `utf16`, `utf16le` and `utf32` (whose characters are units of two or four bytes), the East Asian sets (whose
//! characters are one to four bytes), and MySQL's other sets of single bytes, by tables.
//!
//! In most sets an ASCII character is its byte. Whoever reads the bytes of a text as ASCII asks [`Charset::extends_ascii`] first, or
//! takes [`Charset::in_utf8`].
//!
//! Every function takes any bytes. Text that is not well formed in its set is never an error of the program: a byte
//! that starts no character is reported as [`Decoded::Bad`] and counts as one character, as MySQL counts it.
//!
//! Read next: `utf8` (decoding), `wide` (units of two and four bytes), `multi_byte` (East Asian sets), `latin1` (the cp1252 table), `single_byte` (the other
//! tables), `convert` (from set to set),
//! [`crate::collation`] (order, equality, case).

mod convert;
mod latin1;
pub(crate) mod multi_byte;
pub(crate) mod single_byte;
mod utf8;
mod wide;

use std::borrow::Cow;

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
    /// Big-endian units of two bytes, each a character: the Basic Multilingual Plane.
    Ucs2,
    /// Big-endian UTF-16.
    Utf16,
    /// Little-endian UTF-16.
    Utf16le,
    /// Big-endian UTF-32.
    Utf32,
    /// Traditional Chinese.
    Big5,
    /// Shift JIS of Windows.
    Cp932,
    /// EUC-JP of Windows.
    Eucjpms,
    /// EUC-KR with its extension by Windows.
    Euckr,
    /// GB 18030.
    Gb18030,
    /// GB 2312.
    Gb2312,
    /// GBK.
    Gbk,
    /// Shift JIS.
    Sjis,
    /// EUC-JP.
    Ujis,
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
    /// Swedish of seven bits: letters where ASCII has brackets.
    Swe7,
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
        /// Unicode code point, 0 to 0x10FFFF; greater where no code point stands for the character.
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
    pub const ALL: [Self; 40] = [
        Self::Armscii8,
        Self::Ascii,
        Self::Big5,
        Self::Binary,
        Self::Cp1250,
        Self::Cp1251,
        Self::Cp1256,
        Self::Cp1257,
        Self::Cp850,
        Self::Cp852,
        Self::Cp866,
        Self::Cp932,
        Self::Dec8,
        Self::Eucjpms,
        Self::Euckr,
        Self::Gb18030,
        Self::Gb2312,
        Self::Gbk,
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
        Self::Sjis,
        Self::Swe7,
        Self::Ucs2,
        Self::Ujis,
        Self::Utf16,
        Self::Utf16le,
        Self::Utf32,
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

    /// Whether ASCII text has the same bytes in it, so that bytes below 80 at the beginning of a character are ASCII characters.
    #[inline]
    #[must_use]
    pub const fn extends_ascii(self) -> bool {
        !self.is_wide() && !matches!(self, Self::Swe7)
    }

    /// Whether characters are units of two or four bytes.
    #[inline]
    #[must_use]
    pub(crate) const fn is_wide(self) -> bool {
        matches!(self, Self::Ucs2 | Self::Utf16 | Self::Utf16le | Self::Utf32)
    }

    /// Whether a client can speak in it. The statements of wide sets hold zero bytes; East Asian sets have characters that are none of
    /// Unicode, or ASCII in it, which a statement that is read as UTF-8 would lose or misread.
    #[must_use]
    pub const fn is_for_clients(self) -> bool {
        !self.is_wide() && !self.is_multi_byte()
    }

    /// Whether it is an East Asian set.
    #[inline]
    #[must_use]
    pub const fn is_multi_byte(self) -> bool {
        matches!(
            self,
            Self::Big5
                | Self::Cp932
                | Self::Eucjpms
                | Self::Euckr
                | Self::Gb18030
                | Self::Gb2312
                | Self::Gbk
                | Self::Sjis
                | Self::Ujis
        )
    }

    /// Whether the bytes of some characters occur in a text only where these characters do, so that they can be searched for as bytes.
    #[inline]
    #[must_use]
    pub const fn finds_by_bytes(self) -> bool {
        !self.is_wide() && !self.is_multi_byte()
    }

    /// Whether these are ASCII characters, each its byte.
    #[inline]
    #[must_use]
    pub fn is_ascii_text(self, text: &[u8]) -> bool {
        self.extends_ascii() && text.is_ascii()
    }

    /// `text` if ASCII characters are their bytes in it, else the same text in UTF-8: so numbers, dates and the like can be read
    /// of it.
    #[inline]
    #[must_use]
    pub fn readable<'t>(self, text: &'t [u8]) -> Cow<'t, [u8]> {
        if self.extends_ascii() { Cow::Borrowed(text) } else { Cow::Owned(self.in_utf8(text)) }
    }

    /// `text` in UTF-8; what has no code point becomes `?`.
    #[must_use]
    pub fn in_utf8(self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + text.len() / 2);
        convert_lossy(self, text, Self::Utf8mb4, &mut out);
        out
    }

    /// ASCII characters in this set.
    #[inline]
    #[must_use]
    pub fn of_ascii<'t>(self, ascii: &'t [u8]) -> Cow<'t, [u8]> {
        if self.extends_ascii() {
            return Cow::Borrowed(ascii);
        }
        let mut out = Vec::with_capacity(ascii.len() * self.min_bytes_per_char());
        for &byte in ascii {
            self.encode(u32::from(byte), &mut out);
        }
        Cow::Owned(out)
    }

    /// Bytes as text of this set: zero bytes before them where they are no whole number of units, as MySQL reads `_utf16 X'41'`.
    #[inline]
    #[must_use]
    pub fn whole_units<'t>(self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let unit = self.min_bytes_per_char();
        match bytes.len() % unit {
            0 => Cow::Borrowed(bytes),
            rest => {
                let mut whole = vec![0; unit - rest];
                whole.extend_from_slice(bytes);
                Cow::Owned(whole)
            }
        }
    }

    /// The parts of `text` between ASCII characters `separator`.
    pub fn split(self, text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
        let mut rest = Some(text);
        std::iter::from_fn(move || {
            let text = rest?;
            let mut chars = self.chars(text);
            loop {
                let at = text.len() - chars.rest().len();
                match chars.next() {
                    None => {
                        rest = None;
                        return Some(text);
                    }
                    Some(Decoded::Char { code, .. }) if code == u32::from(separator) => {
                        rest = Some(chars.rest());
                        return Some(&text[..at]);
                    }
                    Some(_) => {}
                }
            }
        })
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
            Self::Ucs2 => "ucs2",
            Self::Utf16 => "utf16",
            Self::Utf16le => "utf16le",
            Self::Utf32 => "utf32",
            Self::Big5 => "big5",
            Self::Cp932 => "cp932",
            Self::Eucjpms => "eucjpms",
            Self::Euckr => "euckr",
            Self::Gb18030 => "gb18030",
            Self::Gb2312 => "gb2312",
            Self::Gbk => "gbk",
            Self::Sjis => "sjis",
            Self::Ujis => "ujis",
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
            Self::Ucs2 => "UCS-2 Unicode",
            Self::Utf16 => "UTF-16 Unicode",
            Self::Utf16le => "UTF-16LE Unicode",
            Self::Utf32 => "UTF-32 Unicode",
            Self::Big5 => "Big5 Traditional Chinese",
            Self::Cp932 => "SJIS for Windows Japanese",
            Self::Eucjpms => "UJIS for Windows Japanese",
            Self::Euckr => "EUC-KR Korean",
            Self::Gb18030 => "China National Standard GB18030",
            Self::Gb2312 => "GB2312 Simplified Chinese",
            Self::Gbk => "GBK Simplified Chinese",
            Self::Sjis => "Shift-JIS Japanese",
            Self::Ujis => "EUC-JP Japanese",
            _ => self.table().description,
        }
    }

    /// The most bytes one character takes (`Maxlen`).
    #[must_use]
    pub const fn max_bytes_per_char(self) -> usize {
        match self {
            Self::Ucs2 | Self::Big5 | Self::Cp932 | Self::Euckr | Self::Gb2312 | Self::Gbk | Self::Sjis => 2,
            Self::Utf8mb3 | Self::Eucjpms | Self::Ujis => 3,
            Self::Utf8mb4 | Self::Utf16 | Self::Utf16le | Self::Utf32 | Self::Gb18030 => 4,
            _ => 1,
        }
    }

    /// The fewest bytes one character takes.
    #[must_use]
    pub const fn min_bytes_per_char(self) -> usize {
        match self {
            Self::Ucs2 | Self::Utf16 | Self::Utf16le => 2,
            Self::Utf32 => 4,
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
            _ if self.is_single_byte() => Ok(()),
            _ => self.validate_characters(bytes),
        }
    }

    fn validate_characters(self, bytes: &[u8]) -> Result<(), BadBytes> {
        let mut chars = self.chars(bytes);
        loop {
            let position = bytes.len() - chars.rest().len();
            match chars.next() {
                None => return Ok(()),
                Some(Decoded::Char { .. }) => {}
                Some(_) => return Err(BadBytes { position }),
            }
        }
    }

    /// Reads the character at the front of `bytes`.
    #[inline]
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Decoded {
        let Some(&byte) = bytes.first() else { return Decoded::End };
        if self.is_wide() {
            return wide::decode(self, bytes);
        }
        if byte.is_ascii() && self.extends_ascii() {
            return Decoded::Char { code: u32::from(byte), bytes: 1 };
        }
        match self {
            Self::Binary => Decoded::Char { code: u32::from(byte), bytes: 1 },
            Self::Ascii => Decoded::Bad { byte },
            Self::Latin1 => Decoded::Char { code: latin1::to_unicode(byte), bytes: 1 },
            Self::Utf8mb3 => decode_utf8::<3>(bytes),
            Self::Utf8mb4 => decode_utf8::<4>(bytes),
            _ if self.is_multi_byte() => multi_byte::decode(self, bytes),
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
            Self::Ucs2 | Self::Utf16 | Self::Utf16le | Self::Utf32 => wide::encode(self, code, out),
            _ if self.is_multi_byte() => multi_byte::encode(self, code, out),
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
            _ if !self.is_single_byte() => None,
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
            _ if self.is_single_byte() => bytes.len(),
            _ => self.chars(bytes).count(),
        }
    }

    /// The length in bytes of the first `char_count` characters, or of all if there are fewer. `bytes[..n]` is the
    /// text truncated; this is how `LEFT`, `SUBSTRING` and `VARCHAR(n)` cut.
    #[must_use]
    pub fn prefix_bytes(self, bytes: &[u8], char_count: usize) -> usize {
        match self {
            Self::Utf8mb3 => utf8::prefix_bytes::<3>(bytes, char_count),
            Self::Utf8mb4 => utf8::prefix_bytes::<4>(bytes, char_count),
            _ if self.is_single_byte() => bytes.len().min(char_count),
            _ => self.chars(bytes).take(char_count).map(Decoded::byte_count).sum(),
        }
    }

    /// `bytes` without its trailing spaces (U+0020), as `CHAR(n)` columns and `RTRIM` drop them.
    #[must_use]
    pub fn trim_trailing_spaces(self, bytes: &[u8]) -> &[u8] {
        if self.is_wide() {
            return wide::trim_trailing_spaces(self, bytes);
        }
        // In every other set 0x20 is a whole character wherever it stands.
        let kept = bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
        &bytes[..kept]
    }

    /// `start` without the character at its end that may go on behind it.
    #[must_use]
    pub fn whole_characters(self, start: &[u8]) -> &[u8] {
        if self.is_wide() {
            return wide::whole_characters(self, start);
        }
        if self.is_multi_byte() {
            return multi_byte::whole_characters(self, start);
        }
        if !matches!(self, Self::Utf8mb3 | Self::Utf8mb4) {
            return start;
        }
        for at in (start.len().saturating_sub(3)..start.len()).rev() {
            let byte_count = match start[at] {
                0x80..=0xBF => continue,
                0xC0..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xFF => 4,
                _ => 1,
            };
            return if start.len() - at < byte_count { &start[..at] } else { start };
        }
        start
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
