//! The collations of the East Asian sets: each character has a weight of some bytes, and texts compare as the bytes of their weights
//! do, spaces at the end left out.
//!
//! Under `_bin` a character weighs its own bytes; under the other collation of a set ASCII letters weigh their capitals, and the
//! characters of GBK and GB 18030 have weights from a table (`charset::multi_byte`), by which Han are ordered by their sound.
//!
//! MySQL orders big5_chinese_ci by the number of strokes where it sorts rows by their weights, and by bytes where it compares and in
//! indexes. Here it is ordered by bytes.

use std::cmp::Ordering;

use super::bytes::{self, Plain};
use super::case::Case;
use super::chars::CharRules;
use super::info::Padding;
use super::locate;
use crate::charset::multi_byte::{number_of, push, tables};
use crate::charset::{Charset, Decoded};

/// A collation of such a set: `_bin`, or the one that folds letters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct MultiByte {
    pub(super) charset: Charset,
    pub(super) folds: bool,
}

impl MultiByte {
    /// Appends the weights of `text`.
    pub(super) fn write_weights(self, text: &[u8], out: &mut Vec<u8>) {
        if !self.folds {
            return out.extend_from_slice(text);
        }
        out.reserve(text.len());
        let has_table = matches!(self.charset, Charset::Gbk | Charset::Gb18030);
        let mut rest = text;
        while !rest.is_empty() {
            let (own, behind) = rest.split_at(self.charset.decode(rest).byte_count());
            match own {
                [byte] => out.push(self.byte_weight(*byte)),
                _ if has_table => push(tables(self.charset).weight(self.charset, number_of(own)), out),
                _ => out.extend_from_slice(own),
            }
            rest = behind;
        }
    }

    /// The weight of a character of one byte. Those that are letters in Swedish's own set have their order in the older Chinese ones.
    #[inline]
    fn byte_weight(self, byte: u8) -> u8 {
        if !matches!(self.charset, Charset::Big5 | Charset::Gb2312 | Charset::Gbk) {
            return byte.to_ascii_uppercase();
        }
        match byte {
            b'[' => 0x5C,
            b'\\' => 0x5D,
            b']' => 0x5B,
            b'~' => b'Y',
            b'`' if self.charset == Charset::Big5 => b'E',
            _ => byte.to_ascii_uppercase(),
        }
    }

    fn weights(self, text: &[u8]) -> Vec<u8> {
        let mut weights = Vec::new();
        self.write_weights(text, &mut weights);
        weights
    }

    pub(super) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self.folds {
            true if a == b => Ordering::Equal,
            true => bytes::compare_plain(Padding::PadSpace, &self.weights(a), &self.weights(b)),
            false => bytes::compare_plain(Padding::PadSpace, a, b),
        }
    }

    pub(super) fn hash(self, text: &[u8], seed: u64) -> u64 {
        match self.folds {
            true => bytes::hash(Plain, Padding::PadSpace, &self.weights(text), seed),
            false => bytes::hash(Plain, Padding::PadSpace, text, seed),
        }
    }

    pub(super) fn sort_key(self, text: &[u8], key: &mut Vec<u8>) {
        match self.folds {
            true => bytes::sort_key(Plain, Padding::PadSpace, &self.weights(text), key),
            false => bytes::sort_key(Plain, Padding::PadSpace, text, key),
        }
    }

    pub(super) fn sort_key_prefix(self, prefix: &[u8], key: &mut Vec<u8>) {
        match self.folds {
            true => bytes::sort_key_prefix(Plain, Padding::PadSpace, &self.weights(prefix), key),
            false => bytes::sort_key_prefix(Plain, Padding::PadSpace, prefix, key),
        }
    }

    /// The length of the front of `text`, which ends with a whole character, whose key is the same whatever follows.
    pub(super) fn settled(text: &[u8]) -> usize {
        text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1)
    }

    /// The front of `text` whose weights are no more than some bytes.
    pub(super) fn front(self, text: &[u8], weight_bytes: usize) -> &[u8] {
        let (mut at, mut weights) = (0, Vec::new());
        while at < text.len() {
            let end = at + self.charset.decode(&text[at..]).byte_count();
            self.write_weights(&text[at..end], &mut weights);
            if weights.len() > weight_bytes {
                break;
            }
            at = end;
        }
        &text[..at]
    }

    /// Offset of the first character from which on as many bytes as the needle has are equal to it.
    pub(super) fn find(
        self,
        haystack: &[u8],
        needle: &[u8],
        may_continue: &mut dyn FnMut() -> bool,
    ) -> Option<usize> {
        let mut asking = locate::Asking::new(needle, may_continue);
        let (wanted, mut found) = (self.weights(needle), Vec::new());
        let mut at = 0;
        while at + needle.len() <= haystack.len() && asking.may_try() {
            let end = at + self.charset.decode(&haystack[at..]).byte_count();
            // Most characters are ruled out by the first one.
            found.clear();
            self.write_weights(&haystack[at..end], &mut found);
            if wanted.starts_with(&found) {
                found.clear();
                self.write_weights(&haystack[at..at + needle.len()], &mut found);
                if found == wanted {
                    return Some(at);
                }
            }
            at = end;
        }
        None
    }
}

/// Appends `text` in the case wanted.
pub(super) fn map_case(charset: Charset, case: Case, text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while !rest.is_empty() {
        let (own, behind) = rest.split_at(charset.decode(rest).byte_count());
        match own {
            [byte] if case == Case::Upper => out.push(byte.to_ascii_uppercase()),
            [byte] => out.push(byte.to_ascii_lowercase()),
            _ => push(tables(charset).case_of(number_of(own), case == Case::Upper), out),
        }
        rest = behind;
    }
}

impl CharRules for MultiByte {
    const IS_SINGLE_BYTE: bool = false;
    const IS_PLAIN: bool = false;

    #[inline]
    fn has_ascii_cases(self) -> bool {
        !matches!(self.charset, Charset::Big5 | Charset::Gb2312 | Charset::Gbk)
    }

    #[inline]
    fn decode(self, text: &[u8]) -> Decoded {
        self.charset.decode(text)
    }

    fn same(self, a: Decoded, b: Decoded) -> bool {
        let (Decoded::Char { code: x, .. }, Decoded::Char { code: y, .. }) = (a, b) else { return a == b };
        if x == y {
            // One code point may stand for several characters.
            return a == b;
        }
        if x < 0x80 && y < 0x80 {
            return self.same_ascii(x as u8, y as u8);
        }
        if !self.folds || self.charset != Charset::Gb18030 {
            return false;
        }
        let weights = |code| {
            let mut text = Vec::new();
            self.charset.encode(code, &mut text).then(|| self.weights(&text))
        };
        weights(x).is_some_and(|weights_x| Some(weights_x) == weights(y))
    }

    #[inline]
    fn same_ascii(self, a: u8, b: u8) -> bool {
        a == b || self.folds && self.byte_weight(a) == self.byte_weight(b)
    }
}
