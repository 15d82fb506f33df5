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

mod byte_tables;
mod info;

use std::cmp::Ordering;

pub use info::{CollationInfo, Padding};

use crate::charset::Charset;

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

    /// The character set of its texts.
    #[must_use]
    pub fn charset(self) -> Charset {
        self.info().charset
    }

    /// Orders two texts.
    #[must_use]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
    }

    /// Whether two texts are equal.
    #[must_use]
    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        self.compare(a, b).is_eq()
    }

    /// A hash that equal texts share. Not stable between versions of the program: for hash tables, not for files.
    #[must_use]
    pub fn hash(self, text: &[u8], seed: u64) -> u64 {
        text.iter().fold(seed, |hash, byte| {
            (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        })
    }

    /// Appends the memcomparable key of `text`: bytes that compare as the texts do, and end themselves (see the
    /// module's invariants 3 and 4). This is what indexes and sorts use. It is not MySQL's weight string, but orders
    /// the same and is shorter: one byte for most ASCII characters.
    pub fn sort_key(self, text: &[u8], key: &mut Vec<u8>) {
        key.extend(text.iter().map(u8::to_ascii_lowercase));
        key.push(0);
    }

    /// Appends bytes with which the sort key of every text begins that is LIKE `prefix%` (`prefix` literal). Such
    /// texts have keys in `[k, k FF FF ..)`; not every text in that range is LIKE the pattern, so it must still be
    /// tested. May append nothing.
    pub fn sort_key_prefix(self, prefix: &[u8], key: &mut Vec<u8>) {
        key.extend(prefix.iter().map(u8::to_ascii_lowercase));
    }

    /// Appends the bytes of MySQL's `WEIGHT_STRING(text)`.
    pub fn weight_string(self, text: &[u8], out: &mut Vec<u8>) {
        self.sort_key(text, out);
    }

    /// Whether `text LIKE pattern ESCAPE escape` (`None`: no character escapes, MySQL's `ESCAPE ''`). Compares
    /// character by character; trailing spaces count whatever the collation's padding.
    #[must_use]
    pub fn like(self, text: &[u8], pattern: &[u8], escape: Option<u32>) -> bool {
        LikePattern::new(self, pattern, escape).matches(text)
    }

    /// Position in characters (from 0) of the first occurrence of `needle` in `haystack` at or after character
    /// `start`; `None` if there is none. `LOCATE` and `INSTR` show it plus one.
    #[must_use]
    pub fn locate(self, needle: &[u8], haystack: &[u8], start: usize) -> Option<usize> {
        if needle.is_empty() {
            return Some(start);
        }
        haystack
            .windows(needle.len())
            .skip(start)
            .position(|window| self.equal(window, needle))
            .map(|at| at + start)
    }

    /// Appends `text` in capital letters (`UPPER`). `binary` changes nothing.
    pub fn upper(self, text: &[u8], out: &mut Vec<u8>) {
        out.extend(text.iter().map(u8::to_ascii_uppercase));
    }

    /// Appends `text` in small letters (`LOWER`). `binary` changes nothing.
    pub fn lower(self, text: &[u8], out: &mut Vec<u8>) {
        out.extend(text.iter().map(u8::to_ascii_lowercase));
    }
}

impl LikePattern {
    /// Prepares `pattern`; `escape` as in [`CollationId::like`].
    #[must_use]
    pub fn new(collation: CollationId, pattern: &[u8], escape: Option<u32>) -> Self {
        Self { collation, pattern: pattern.to_vec(), escape }
    }

    /// Whether `text` matches.
    #[must_use]
    pub fn matches(&self, text: &[u8]) -> bool {
        !self.pattern.iter().any(|&byte| Some(u32::from(byte)) == self.escape)
            && self.collation.equal(text, &self.pattern)
    }

    /// The characters every matching text begins with (up to the first wildcard, escapes taken out), for
    /// [`CollationId::sort_key_prefix`]; and whether the pattern has no wildcard at all.
    #[must_use]
    pub fn literal_prefix(&self) -> (&[u8], bool) {
        (&[], false)
    }
}
