//! The levels below the first of the 0900 collations: accents, then letter case and form. Two texts equal at one
//! level are compared at the next, whole text by whole text.

use std::cmp::Ordering;

use super::family::{BAD_WEIGHT, decode};
use super::key::LevelWriter;
use super::plane::{self, Plane, Weights};
use super::swar;
use crate::charset::Decoded;

/// A level below the first.
#[derive(Debug)]
struct Level {
    plane: &'static Plane,
    /// The weight nearly all characters have.
    common: u16,
    /// Whether small and capital ASCII letters have the same weight.
    folds: bool,
}

static LEVELS: [Level; 2] = [
    Level { plane: &plane::UCA900_2, common: 0x20, folds: true },
    Level { plane: &plane::UCA900_3, common: 0x02, folds: false },
];

/// The levels a collation of `level_count` has below its first.
fn lower_levels(level_count: usize) -> &'static [Level] {
    &LEVELS[..level_count - 1]
}

/// Orders two texts that are equal at the first level.
pub(super) fn compare(level_count: usize, a: &[u8], b: &[u8]) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    for level in lower_levels(level_count) {
        let front = swar::same_front(a, b, level.folds);
        let order = level.weights(&a[front..]).cmp(level.weights(&b[front..]));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Appends the keys of the lower levels, each with its end.
pub(super) fn sort_key(level_count: usize, text: &[u8], key: &mut Vec<u8>) {
    for level in lower_levels(level_count) {
        let mut writer = LevelWriter::new(level.common);
        let mut at = 0;
        while at < text.len() {
            if let Some(chunk) = swar::chunk(text, at)
                && swar::is_printable_ascii(chunk)
                && (level.folds || swar::to_lower(chunk) == chunk)
            {
                writer.count_common(8);
                at += 8;
                continue;
            }
            let decoded = decode(&text[at..]);
            for weight in level.char_weights(decoded) {
                writer.push(weight, key);
            }
            at += decoded.byte_count();
        }
        writer.end(key);
    }
}

/// Appends MySQL's weights of the lower levels, each behind a zero.
pub(super) fn weight_string(level_count: usize, text: &[u8], out: &mut Vec<u8>) {
    for level in lower_levels(level_count) {
        out.extend([0, 0]);
        for weight in level.weights(text) {
            out.extend(weight.to_be_bytes());
        }
    }
}

/// The weights of a text at lower level `index` (0: accents).
pub(super) fn weights(index: usize, text: &[u8]) -> impl Iterator<Item = u16> + '_ {
    LEVELS[index].weights(text)
}

/// Whether two characters have the same weights at the lower levels.
pub(super) fn same_char(level_count: usize, a: Decoded, b: Decoded) -> bool {
    lower_levels(level_count).iter().all(|level| level.char_weights(a).eq(level.char_weights(b)))
}

impl Level {
    fn char_weights(&self, decoded: Decoded) -> Weights {
        match decoded {
            Decoded::Char { code, .. } => self.plane.weights(code),
            // As BAD_WEIGHT at the first level: all bad bytes are the same.
            Decoded::Bad { .. } => Weights::one(BAD_WEIGHT),
            Decoded::End => Weights::NONE,
        }
    }

    fn weights<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = u16> + 'a {
        let mut rest = text;
        let mut current = Weights::NONE;
        std::iter::from_fn(move || {
            loop {
                if let Some(weight) = current.next() {
                    return Some(weight);
                }
                let decoded = decode(rest);
                if decoded == Decoded::End {
                    return None;
                }
                rest = &rest[decoded.byte_count()..];
                current = self.char_weights(decoded);
            }
        })
    }
}
