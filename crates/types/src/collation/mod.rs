//! Collations: when two texts are equal, which comes first, and which letters are the same letter.
//!
//! Everything goes by [`CollationId`], MySQL's collation number. Texts are bytes in the collation's character set
//! ([`CollationId::charset`]); malformed bytes are ordered too (after all characters), never an error.
//!
//! Invariants, each a property test:
//! 1. `compare` is a total order on equivalence classes, and `equal(a, b)` is `compare(a, b) == Equal`.
//! 2. Equal texts have equal hashes.
//! 3. `sort_key(a)` and `sort_key(b)` compare as bytes as `compare(a, b)` does.
//! 4. No sort key is a proper prefix of another, so keys can be written one after the other, and each part may be
//!    inverted bit by bit for `DESC`. Where a key ends is known by reading it.
//!
//! The weights are MySQL 9.7's: `weight_string` gives the very bytes of its `WEIGHT_STRING()`.
//!
//! Read next: `family` (weights and their codes), `weighted` (comparing by weights), `tailoring` and `tailored` (the same where
//! a language's rules look at more than one character), `as_utf8` (sets that hold Unicode in other bytes), `key` (what a sort key looks
//! like), `plane` (the tables), `like`, `locate`, `case`, `beginning` (what is
//! certain of a text that is not known to its end), `pieces` (keys of texts that are not in memory whole). How equal to MySQL it is, `tests/collation_oracle.rs` asks a real
//! server. Departures, all on purpose:
//! - malformed text, which MySQL refuses earlier, has an order of ours;
//! - MySQL cuts UPPER and LOWER at the length in bytes of their argument and so loses the end of a text with one of
//!   the few letters whose other case is longer (UPPER of U+0250 is empty in 9.7); here nothing is lost.

mod as_utf8;
mod beginning;
mod byte_tables;
mod bytes;
mod case;
mod chars;
mod family;
mod info;
mod key;
mod levels;
mod like;
mod locate;
mod multi_byte;
mod of_charset;
mod pieces;
mod plane;
mod swar;
mod tailored;
mod tailoring;
mod weighed;
mod weighted;

use std::cmp::Ordering;

use bytes::{Plain, Table};
use case::Case;
use family::{General, GeneralMysql500, ToLower, UCA400, UCA520, UCA900};
use info::Rules;
pub use info::{CollationInfo, Padding};
pub use pieces::KeyPieces;

use crate::charset::{Charset, Decoded};
use crate::planted::{self, Plant};

/// A collation, by MySQL's number for it (as in the protocol's column definitions and in
/// `information_schema.COLLATIONS.ID`).
///
/// Invariant: one of [`CollationId::all`]; made by `from_id`, `from_name` or as a constant.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct CollationId(u16);

/// A LIKE pattern made ready for many texts: literal, prefix, suffix and contained patterns are recognised.
#[derive(Clone, Debug)]
pub struct LikePattern {
    collation: CollationId,
    pattern: Vec<u8>,
    escape: Option<u32>,
    shape: like::Shape,
    /// The characters that stand for themselves, escapes taken out.
    literal: Vec<u8>,
    /// How much of `literal` stands before the first wildcard.
    prefix_bytes: usize,
    /// The last character is `%`.
    ends_open: bool,
    /// If the texts are in another set than UTF-8 and are brought to it.
    own: Option<like::OwnSet>,
}

/// Runs the weighted form of an algorithm for the collations that go by 16-bit weights.
macro_rules! weighted {
    ($rules:expr, $function:ident($($argument:expr),*)) => {
        match $rules {
            Rules::General => weighted::$function(General, $($argument),*),
            Rules::GeneralMysql500 => weighted::$function(GeneralMysql500, $($argument),*),
            Rules::ToLower => weighted::$function(ToLower, $($argument),*),
            Rules::Uca400 => weighted::$function(&UCA400, $($argument),*),
            Rules::Uca520 => weighted::$function(&UCA520, $($argument),*),
            Rules::Uca900 { .. } => weighted::$function(&UCA900, $($argument),*),
            Rules::Bytes | Rules::ByteTable(_) => unreachable!("goes by bytes"),
            Rules::Tailored { .. } => unreachable!("goes by units"),
            Rules::AsUtf8(_) => unreachable!("goes by its twin"),
            Rules::MultiByte(_) => unreachable!("goes by bytes of characters"),
            Rules::Weighed(_) => unreachable!("goes by bytes of weights"),
        }
    };
}

impl CollationId {
    /// MySQL's number.
    #[inline]
    #[must_use]
    pub const fn id(self) -> u16 {
        self.0
    }

    /// The name, in small letters.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The collation that orders the same texts in UTF-8, if ASCII characters are not their bytes in its set.
    #[must_use]
    pub fn in_utf8(self) -> Option<Self> {
        let info = self.info();
        match info.rules {
            Rules::AsUtf8(twin) if !info.charset.extends_ascii() => Some(twin),
            _ => None,
        }
    }

    /// Whether spaces at the end of a text count (NO PAD).
    #[must_use]
    pub fn is_no_pad(self) -> bool {
        self.info().is_no_pad()
    }

    /// The character set of its texts.
    #[must_use]
    pub fn charset(self) -> Charset {
        self.info().charset
    }

    /// Maximum bytes of weights that MySQL reports for a text of this number of characters.
    #[must_use]
    pub fn weight_bytes_max(self, chars: u32) -> u32 {
        let info = self.info();
        let char_bytes = info.charset.max_bytes_per_char() as u32;
        let rules = match info.rules {
            Rules::AsUtf8(twin) => twin.info().rules,
            rules => rules,
        };
        let (per_char, between_levels) = match rules {
            Rules::AsUtf8(_) => unreachable!("a twin is of UTF-8"),
            Rules::MultiByte(rules) if rules.folds && info.charset == Charset::Gb18030 => (8 * char_bytes, 0),
            Rules::MultiByte(_) => (char_bytes * char_bytes, 0),
            Rules::General if matches!(info.charset, Charset::Utf16 | Charset::Utf16le) => {
                (4 * char_bytes, 0)
            }
            Rules::ByteTable(_) => (1, 0),
            Rules::Weighed(_) => (2, 0),
            Rules::Bytes if char_bytes == 1 => (1, 0),
            Rules::Bytes if info.is_no_pad() => (4 * char_bytes, 0),
            // A code point: three bytes where there are those beyond 16 bits.
            Rules::Bytes => ((char_bytes - 1) * char_bytes, 0),
            Rules::General | Rules::GeneralMysql500 | Rules::ToLower => (2 * char_bytes, 0),
            Rules::Uca400 | Rules::Uca520 => (32 * char_bytes, 0),
            Rules::Tailored { .. } if !info.is_no_pad() => (32 * char_bytes, 0),
            Rules::Uca900 { levels } | Rules::Tailored { levels, .. } => {
                (16 * char_bytes * levels as u32, 2 * (levels as u32 - 1))
            }
        };
        chars.saturating_mul(per_char).saturating_add(between_levels)
    }

    /// Orders two texts.
    #[must_use]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        let info = self.info();
        if planted::is(Plant::NoPadding) && a.len() != b.len() && a.trim_ascii_end() == b.trim_ascii_end() {
            return a.len().cmp(&b.len());
        }
        match info.rules {
            Rules::Bytes => bytes::compare_plain(info.padding, a, b),
            Rules::ByteTable(table) => bytes::compare_table(Table(table), a, b),
            Rules::Uca900 { levels } if levels > 1 => {
                weighted::compare(&UCA900, info.padding, a, b).then_with(|| levels::compare(levels, a, b))
            }
            Rules::Tailored { tailoring, levels } => {
                tailored::compare(tailoring.get(), levels, info.padding, a, b)
            }
            Rules::AsUtf8(twin) => as_utf8::with_both(info.charset, a, b, |a, b| twin.compare(a, b)),
            Rules::MultiByte(rules) => rules.compare(a, b),
            Rules::Weighed(rules) => rules.compare(a, b),
            rules => weighted!(rules, compare(info.padding, a, b)),
        }
    }

    /// Whether two texts are equal.
    #[must_use]
    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        let info = self.info();
        match info.rules {
            Rules::Bytes if info.is_no_pad() => a == b,
            _ => self.compare(a, b).is_eq(),
        }
    }

    /// MySQL compares texts up to bytes that are no character: by the weights of a version of the Unicode collation algorithm.
    #[must_use]
    pub fn ends_at_malformed(self) -> bool {
        match self.info().rules {
            Rules::Uca400 | Rules::Uca520 | Rules::Uca900 { .. } | Rules::Tailored { .. } => true,
            Rules::AsUtf8(twin) => twin.ends_at_malformed(),
            _ => false,
        }
    }

    /// A hash that equal texts share. Not stable between versions of the program: for hash tables, not for files.
    ///
    /// Accents and letter case do not enter it even where the collation distinguishes them.
    #[must_use]
    pub fn hash(self, text: &[u8], seed: u64) -> u64 {
        let info = self.info();
        match info.rules {
            Rules::Bytes => bytes::hash(Plain, info.padding, text, seed),
            Rules::ByteTable(table) => bytes::hash(Table(table), info.padding, text, seed),
            Rules::Tailored { tailoring, .. } => tailored::hash(tailoring.get(), info.padding, text, seed),
            Rules::AsUtf8(twin) => as_utf8::with_utf8(info.charset, text, |text| twin.hash(text, seed)),
            Rules::MultiByte(rules) => rules.hash(text, seed),
            Rules::Weighed(rules) => rules.hash(text, seed),
            rules => weighted!(rules, hash(info.padding, text, seed)),
        }
    }

    /// Appends the memcomparable key of `text`: bytes that compare as the texts do, and end themselves (see the
    /// module's invariants 3 and 4). This is what indexes and sorts use. It is not MySQL's weight string, but orders
    /// the same and is shorter: one byte for most ASCII characters, two for most others, three for Han.
    ///
    /// A key is at least one byte long. Any byte may occur in it; `key` tells where. The bytes are part of the file
    /// format.
    pub fn sort_key(self, text: &[u8], key: &mut Vec<u8>) {
        let info = self.info();
        match info.rules {
            Rules::Bytes => bytes::sort_key(Plain, info.padding, text, key),
            Rules::ByteTable(table) => bytes::sort_key(Table(table), info.padding, text, key),
            Rules::Tailored { tailoring, levels } => {
                tailored::sort_key(tailoring.get(), levels, info.padding, text, key);
            }
            Rules::AsUtf8(twin) => {
                as_utf8::with_utf8(info.charset, text, |text| twin.sort_key(text, key));
            }
            Rules::MultiByte(rules) => rules.sort_key(text, key),
            Rules::Weighed(rules) => rules.sort_key(text, key),
            rules => weighted!(rules, sort_key(info.padding, text, key)),
        }
        if let Rules::Uca900 { levels } = info.rules {
            levels::sort_key(levels, text, key);
        }
    }

    /// Appends bytes with which the sort key of every text begins that is LIKE `prefix%` (`prefix` literal): all such
    /// keys lie from these bytes up to, and without, the next greater string of the same length. Not every text there
    /// is LIKE the pattern, so it must still be tested. May append nothing.
    pub fn sort_key_prefix(self, prefix: &[u8], key: &mut Vec<u8>) {
        let info = self.info();
        match info.rules {
            Rules::Bytes => bytes::sort_key_prefix(Plain, info.padding, prefix, key),
            Rules::ByteTable(table) => bytes::sort_key_prefix(Table(table), info.padding, prefix, key),
            Rules::Tailored { tailoring, .. } => {
                tailored::sort_key_prefix(tailoring.get(), info.padding, prefix, key);
            }
            Rules::AsUtf8(twin) => {
                as_utf8::with_utf8(info.charset, prefix, |prefix| twin.sort_key_prefix(prefix, key));
            }
            Rules::MultiByte(rules) => rules.sort_key_prefix(prefix, key),
            Rules::Weighed(rules) => rules.sort_key_prefix(prefix, key),
            rules => weighted!(rules, sort_key_prefix(info.padding, prefix, key)),
        }
    }

    /// Appends the bytes of MySQL's `WEIGHT_STRING(text)`. (Its `AS CHAR(n)` cuts the text to `n` characters before,
    /// and under PAD SPACE fills it up with spaces.)
    pub fn weight_string(self, text: &[u8], out: &mut Vec<u8>) {
        let info = self.info();
        match info.rules {
            Rules::Bytes if info.is_no_pad() || info.charset.is_single_byte() => out.extend_from_slice(text),
            Rules::Bytes => {
                for decoded in info.charset.chars(text) {
                    let code = match decoded {
                        Decoded::Char { code, .. } => code,
                        Decoded::Bad { .. } | Decoded::End => u32::MAX,
                    };
                    let bytes = code.to_be_bytes();
                    out.extend_from_slice(if info.charset == Charset::Utf8mb3 {
                        &bytes[2..]
                    } else {
                        &bytes[1..]
                    });
                }
            }
            Rules::ByteTable(table) => out.extend(text.iter().map(|&byte| table[usize::from(byte)])),
            Rules::Tailored { tailoring, levels } => {
                tailored::weight_string(tailoring.get(), levels, text, out);
            }
            // Two bytes hold every code point of UCS-2.
            Rules::AsUtf8(CollationId::UTF8MB4_BIN) if info.charset == Charset::Ucs2 => {
                out.extend_from_slice(text);
            }
            Rules::AsUtf8(twin) => {
                as_utf8::with_utf8(info.charset, text, |text| twin.weight_string(text, out));
            }
            Rules::MultiByte(rules) => rules.write_weights(text, out),
            Rules::Weighed(rules) => rules.write_weights(text, out),
            rules => weighted!(rules, weight_string(text, out)),
        }
        if let Rules::Uca900 { levels } = info.rules {
            levels::weight_string(levels, text, out);
        }
    }

    /// Whether `text LIKE pattern ESCAPE escape`; `escape` is a code point (a byte in `binary`), `None` if no
    /// character escapes (`ESCAPE ''`). Compares character by character; trailing spaces count whatever the
    /// collation's padding.
    #[must_use]
    pub fn like(self, text: &[u8], pattern: &[u8], escape: Option<u32>) -> bool {
        like::matches(self, text, pattern, escape)
    }

    /// Position in characters (from 0) of the first occurrence of `needle` in `haystack` at or after character
    /// `start`; `None` if there is none. `LOCATE` and `INSTR` show it plus one. An empty needle is found at `start`
    /// if that is not behind the end. A long search asks `may_continue` now and then, and ends with `None` where it says no.
    #[must_use]
    pub fn locate(
        self,
        needle: &[u8],
        haystack: &[u8],
        start: usize,
        may_continue: &mut dyn FnMut() -> bool,
    ) -> Option<usize> {
        let info = self.info();
        let start_bytes = info.charset.prefix_bytes(haystack, start);
        let is_behind = start_bytes == haystack.len() && info.charset.char_count(haystack) < start;
        if is_behind {
            return None;
        }
        if needle.is_empty() {
            return Some(start);
        }
        let rest = &haystack[start_bytes..];
        let found_bytes = match info.rules {
            Rules::Bytes => memchr::memmem::find(rest, needle)?,
            Rules::ByteTable(table) => bytes::find(Table(table), rest, needle, may_continue)?,
            Rules::General => locate::find(General, 1, rest, needle, may_continue)?,
            Rules::GeneralMysql500 => locate::find(GeneralMysql500, 1, rest, needle, may_continue)?,
            Rules::ToLower => locate::find(ToLower, 1, rest, needle, may_continue)?,
            Rules::Uca400 => locate::find(&UCA400, 1, rest, needle, may_continue)?,
            Rules::Uca520 => locate::find(&UCA520, 1, rest, needle, may_continue)?,
            Rules::Uca900 { levels } => locate::find(&UCA900, levels, rest, needle, may_continue)?,
            Rules::Tailored { tailoring, levels } => {
                tailored::find(tailoring.get(), levels, rest, needle, may_continue)?
            }
            Rules::AsUtf8(twin) => as_utf8::find(info.charset, twin, rest, needle, may_continue)?,
            Rules::MultiByte(rules) => rules.find(rest, needle, may_continue)?,
            Rules::Weighed(rules) => rules.find(rest, needle, may_continue)?,
        };
        Some(start + info.charset.char_count(&rest[..found_bytes]))
    }

    /// Appends `text` in capital letters (`UPPER`). `binary` changes nothing.
    pub fn upper(self, text: &[u8], out: &mut Vec<u8>) {
        case::map(self.info(), Case::Upper, text, out);
    }

    /// How many times as many characters as the argument's MySQL gives the result of UPPER (or LOWER) room for.
    #[must_use]
    pub fn case_growth(self, upper: bool) -> u32 {
        match (self, self.charset()) {
            (Self::UTF8MB3_TURKISH_CI | Self::UTF8MB4_TURKISH_CI, _) | (_, Charset::Gb18030) => 2,
            (_, Charset::Ujis | Charset::Eucjpms) if !upper => 2,
            _ => 1,
        }
    }

    /// Appends `text` in small letters (`LOWER`). `binary` changes nothing.
    pub fn lower(self, text: &[u8], out: &mut Vec<u8>) {
        case::map(self.info(), Case::Lower, text, out);
    }
}

#[cfg(test)]
mod tests;
