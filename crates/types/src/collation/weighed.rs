//! `latin1_german2_ci` and `cp1250_czech_cs`: collations of sets of single bytes in which a text has other weights than one for each
//! byte.
//!
//! In German `ä` weighs as `ae` does, and `ß` as `ss`. In Czech `ch` is a letter, and the weights of all letters come before those of their
//! cases and accents. MySQL says that both pad with spaces; in the Czech one spaces at the end count all the same.

use std::cmp::Ordering;

use super::bytes::{self, Plain, Table};
use super::info::Padding;

/// Which of the two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Weighed {
    German,
    Czech,
}

/// For each byte the weights at two levels, then those of `ch`, `Ch` and `CH`. Made by `tools/czech_table.py`.
static CZECH: &[u8; 518] = include_bytes!("../../data/cp1250_czech.bin");

/// The weights of characters that have one, and itself for a capital that weighs as two letters do: characters with the same are the
/// same in LIKE.
pub(super) static GERMAN: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        // Above the letters with accents both cases lie 20 apart.
        let capital = match byte {
            0xE0..=0xF6 | 0xF8..=0xFE => byte - 0x20,
            _ => byte,
        } as u8;
        table[byte] = match capital {
            0xC0..=0xC3 | 0xC5 => b'A',
            0xC6 => 0x5C,
            0xC7 => b'C',
            0xC8..=0xCB => b'E',
            0xCC..=0xCF => b'I',
            0xD0 => b'D',
            0xD1 => b'N',
            0xD2..=0xD5 => b'O',
            0xD9..=0xDB => b'U',
            0xDD | 0xFF => b'Y',
            other => other.to_ascii_uppercase(),
        };
        byte += 1;
    }
    table
};

impl Weighed {
    /// The length of the unit at the front of a text that is not empty, and its place in the Czech table.
    fn czech_unit(text: &[u8]) -> (usize, usize) {
        match text {
            [b'c', b'h', ..] => (2, 256),
            [b'C', b'h', ..] => (2, 257),
            [b'C', b'H', ..] => (2, 258),
            _ => (1, usize::from(text[0])),
        }
    }

    /// Appends the weights of a level of the Czech collation.
    pub(super) fn write_level(text: &[u8], level: usize, out: &mut Vec<u8>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (bytes, place) = Self::czech_unit(rest);
            out.push(CZECH[2 * place + level]);
            rest = &rest[bytes..];
        }
    }

    /// Appends the weights of `text`.
    pub(super) fn write_weights(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::German => {
                for &byte in text {
                    match GERMAN[usize::from(byte)] {
                        0xC4 => out.extend_from_slice(b"AE"),
                        0xD6 => out.extend_from_slice(b"OE"),
                        0xDC => out.extend_from_slice(b"UE"),
                        0xDF => out.extend_from_slice(b"SS"),
                        weight => out.push(weight),
                    }
                }
            }
            Self::Czech => {
                Self::write_level(text, 0, out);
                Self::write_level(text, 1, out);
            }
        }
    }

    fn weights(self, text: &[u8]) -> Vec<u8> {
        let mut weights = Vec::with_capacity(2 * text.len());
        self.write_weights(text, &mut weights);
        weights
    }

    pub(super) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let (a, b) = (self.weights(a), self.weights(b));
        match self {
            Self::German => bytes::compare_plain(Padding::PadSpace, &a, &b),
            // The weights of the second level are below those of the first.
            Self::Czech => a.cmp(&b),
        }
    }

    pub(super) fn hash(self, text: &[u8], seed: u64) -> u64 {
        match self {
            Self::German => bytes::hash(Plain, Padding::PadSpace, &self.weights(text), seed),
            Self::Czech => bytes::hash(Plain, Padding::NoPad, text, seed),
        }
    }

    pub(super) fn sort_key(self, text: &[u8], key: &mut Vec<u8>) {
        match self {
            Self::German => bytes::sort_key(Plain, Padding::PadSpace, &self.weights(text), key),
            Self::Czech => {
                // No weight is zero.
                for level in 0..2 {
                    Self::write_level(text, level, key);
                    key.push(0);
                }
            }
        }
    }

    pub(super) fn sort_key_prefix(self, prefix: &[u8], key: &mut Vec<u8>) {
        match self {
            Self::German => bytes::sort_key_prefix(Plain, Padding::PadSpace, &self.weights(prefix), key),
            Self::Czech => Self::write_level(&prefix[..Self::settled(prefix)], 0, key),
        }
    }

    /// The length of the front of a Czech text that is the same letters whatever follows.
    pub(super) fn settled(text: &[u8]) -> usize {
        text.len() - usize::from(matches!(text.last(), Some(b'c' | b'C')))
    }

    /// The front of `text` whose weights are no more than some bytes; of a Czech text all.
    pub(super) fn front(self, text: &[u8], weight_bytes: usize) -> &[u8] {
        if self == Self::Czech {
            return text;
        }
        let mut weights = Vec::new();
        let end = text.iter().position(|byte| {
            self.write_weights(std::slice::from_ref(byte), &mut weights);
            weights.len() > weight_bytes
        });
        &text[..end.unwrap_or(text.len())]
    }

    /// Offset of the first occurrence, byte by byte.
    pub(super) fn find(
        self,
        haystack: &[u8],
        needle: &[u8],
        may_continue: &mut dyn FnMut() -> bool,
    ) -> Option<usize> {
        match self {
            Self::German => bytes::find(Table(&GERMAN), haystack, needle, may_continue),
            Self::Czech => memchr::memmem::find(haystack, needle),
        }
    }
}
