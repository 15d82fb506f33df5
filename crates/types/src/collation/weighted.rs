//! Comparing, hashing and keys for the UTF-8 collations that go by weights, at the primary level: `general_ci`,
//! `unicode_ci`, `unicode_520_ci`, and the first level of the 0900 collations (`levels` adds the others).
//!
//! Each has a fast way through ASCII, eight bytes at a time where it can, and one through everything.

use std::cmp::Ordering;

use super::family::{BAD_WEIGHT, Family, Scan, decode};
use super::info::Padding;
use super::key::SpaceRuns;
use super::plane::MANY;
use super::swar::{self, StreamHasher};
use crate::charset::Decoded;

/// Orders by primary weights.
pub(super) fn compare<F: Family>(family: F, padding: Padding, a: &[u8], b: &[u8]) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        match compare_plain(family, padding, a, b) {
            Step::Decided(order) => return order,
            Step::Unclear(rest_a, rest_b) => match compare_expanded(family, padding, rest_a, rest_b) {
                Step::Decided(order) => return order,
                Step::Unclear(rest_a, rest_b) => (a, b) = (rest_a, rest_b),
            },
        }
    }
}

enum Step<'a> {
    Decided(Ordering),
    /// So far the texts are equal; what is left of both.
    Unclear(&'a [u8], &'a [u8]),
}

/// Goes on while no character has many weights.
fn compare_plain<'a, F: Family>(family: F, padding: Padding, a: &'a [u8], b: &'a [u8]) -> Step<'a> {
    let codes = family.ascii_codes();
    let front = swar::same_front(a, b, true);
    let (mut i, mut j) = (front, front);
    loop {
        let (x, y) = match (a.get(i), b.get(j)) {
            (Some(&x), Some(&y)) => (x, y),
            (None, None) => return Step::Decided(Ordering::Equal),
            (Some(&x), None) => return Step::Decided(compare_rest(family, padding, x, &a[i..])),
            (None, Some(&y)) => return Step::Decided(compare_rest(family, padding, y, &b[j..]).reverse()),
        };
        if (x | y).is_ascii() {
            let (code_x, code_y) = (codes[usize::from(x)], codes[usize::from(y)]);
            if code_x == code_y {
                (i, j) = (i + 1, j + 1);
            } else if F::IGNORES && code_x == 0 {
                i += 1;
            } else if F::IGNORES && code_y == 0 {
                j += 1;
            } else {
                return Step::Decided(code_x.cmp(&code_y));
            }
            continue;
        }
        let (x, y) = (decode(&a[i..]), decode(&b[j..]));
        if x != y {
            let (Decoded::Char { code: code_x, .. }, Decoded::Char { code: code_y, .. }) = (x, y) else {
                return Step::Unclear(&a[i..], &b[j..]);
            };
            let (weights_x, weights_y) = (family.packed(code_x), family.packed(code_y));
            if weights_x == MANY || weights_y == MANY {
                return Step::Unclear(&a[i..], &b[j..]);
            }
            if weights_x != weights_y {
                if F::IGNORES && weights_x == 0 {
                    i += x.byte_count();
                    continue;
                }
                if F::IGNORES && weights_y == 0 {
                    j += y.byte_count();
                    continue;
                }
                let is_alone = |weights: u32| weights as u16 == 0;
                if weights_x >> 16 == weights_y >> 16 && (is_alone(weights_x) || is_alone(weights_y)) {
                    return Step::Unclear(&a[i..], &b[j..]);
                }
                return Step::Decided(weights_x.cmp(&weights_y));
            }
        }
        (i, j) = (i + x.byte_count(), j + y.byte_count());
    }
}

/// Goes weight by weight until both texts are between two characters again.
fn compare_expanded<'a, F: Family>(family: F, padding: Padding, a: &'a [u8], b: &'a [u8]) -> Step<'a> {
    let (mut scan_a, mut scan_b) = (Scan::new(family, a), Scan::new(family, b));
    loop {
        let (before_a, before_b) = (scan_a.clone(), scan_b.clone());
        match (scan_a.next(), scan_b.next()) {
            (Some(x), Some(y)) if x == y => {
                if let (Some(rest_a), Some(rest_b)) = (scan_a.rest_of_text(), scan_b.rest_of_text()) {
                    return Step::Unclear(rest_a, rest_b);
                }
            }
            (Some(x), Some(y)) => return Step::Decided(x.cmp(&y)),
            _ => return Step::Decided(compare_scans(family, padding, before_a, before_b)),
        }
    }
}

/// Orders what one text has left, `first` its first byte, against the end of the other.
fn compare_rest<F: Family>(family: F, padding: Padding, first: u8, rest: &[u8]) -> Ordering {
    let codes = family.ascii_codes();
    // Most often one character decides.
    match codes.get(usize::from(first)) {
        Some(&code) if padding == Padding::NoPad && code != 0 => Ordering::Greater,
        Some(&code) if code != 0 && first != b' ' => code.cmp(&codes[usize::from(b' ')]),
        _ => compare_scans(family, padding, Scan::new(family, rest), Scan::new(family, &[])),
    }
}

/// Orders two texts one of which has no weights left.
fn compare_scans<F: Family>(family: F, padding: Padding, mut a: Scan<'_, F>, mut b: Scan<'_, F>) -> Ordering {
    match (a.next(), b.next()) {
        (Some(x), None) => compare_to_end(family, padding, x, a),
        (None, Some(y)) => compare_to_end(family, padding, y, b).reverse(),
        (None, None) => Ordering::Equal,
        (Some(x), Some(y)) => x.cmp(&y),
    }
}

/// Orders the weights that one text has left against the end of the other.
fn compare_to_end<F: Family>(family: F, padding: Padding, first: u16, rest: Scan<'_, F>) -> Ordering {
    if padding == Padding::NoPad {
        return Ordering::Greater;
    }
    let space = family.space();
    std::iter::once(first)
        .chain(rest)
        .find(|&weight| weight != space)
        .map_or(Ordering::Equal, |weight| weight.cmp(&space))
}

/// Hashes the primary weights.
///
/// Goes by a stream of bytes in which a weight that an ASCII character has is that character, made small, and any
/// other is two bytes: so ASCII goes eight bytes at a time without a table.
pub(super) fn hash<F: Family>(family: F, padding: Padding, text: &[u8], seed: u64) -> u64 {
    let pads = padding == Padding::PadSpace;
    let mut hasher = StreamHasher::new(seed);
    let mut spaces = 0_usize; // Held back: they may be padding.
    let mut put = |hasher: &mut StreamHasher, symbol: Symbol| {
        if pads && symbol == Symbol::Ascii(b' ') {
            spaces += 1;
            return;
        }
        for _ in 0..std::mem::take(&mut spaces) {
            hasher.push(b' ');
        }
        match symbol {
            Symbol::Ascii(byte) => hasher.push(byte),
            Symbol::Weight(weight) => hasher.push_bits(u64::from(weight), 16),
            Symbol::Pair(weights) => hasher.push_bits(u64::from(weights), 32),
            Symbol::Chunk(chunk) => hasher.push_chunk(chunk),
        }
    };
    let codes = family.ascii_codes();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if let Some(chunk) = swar::chunk(text, at) {
            let is_plain = if F::IGNORES { swar::is_printable_ascii(chunk) } else { swar::is_ascii(chunk) };
            if is_plain && !(pads && chunk >> 56 == u64::from(b' ')) {
                put(&mut hasher, Symbol::Chunk(swar::to_lower(chunk)));
                at += 8;
                continue;
            }
        }
        if byte.is_ascii() {
            if !F::IGNORES || codes[usize::from(byte)] != 0 {
                put(&mut hasher, Symbol::Ascii(byte.to_ascii_lowercase()));
            }
            at += 1;
            continue;
        }
        let decoded = decode(&text[at..]);
        at += decoded.byte_count();
        let packed = packed_weights_of(family, decoded);
        if packed != MANY && packed as u16 != 0 {
            put(&mut hasher, Symbol::Pair(packed.rotate_left(16)));
            continue;
        }
        for weight in weights_of(family, decoded) {
            let symbol = family.ascii_of(weight).map_or(Symbol::Weight(weight), Symbol::Ascii);
            put(&mut hasher, symbol);
        }
    }
    hasher.finish()
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Symbol {
    Ascii(u8),
    Weight(u16),
    Pair(u32),  // Two weights, the first in the low half.
    Chunk(u64), // Eight ASCII characters, the last no space if spaces pad.
}

/// The weights of what was decoded, packed.
#[inline]
fn packed_weights_of<F: Family>(family: F, decoded: Decoded) -> u32 {
    match decoded {
        Decoded::Char { code, .. } => family.packed(code),
        Decoded::Bad { .. } | Decoded::End => u32::from(BAD_WEIGHT) << 16,
    }
}

/// The weights of what was decoded.
#[inline]
pub(super) fn weights_of<F: Family>(family: F, decoded: Decoded) -> F::Weights {
    match decoded {
        Decoded::Char { code, .. } => family.weights(code),
        Decoded::Bad { .. } | Decoded::End => family.bad_weights(),
    }
}

/// Appends the key of the primary level, with its end.
pub(super) fn sort_key<F: Family>(family: F, padding: Padding, text: &[u8], key: &mut Vec<u8>) {
    let mut spaces = space_runs(family);
    key.reserve(text.len() + 2);
    write_codes(family, padding, text, &mut spaces, key);
    match padding {
        Padding::PadSpace => spaces.end(key),
        Padding::NoPad => key.push(0),
    }
}

/// Appends what begins the keys of all texts that begin with `prefix`.
pub(super) fn sort_key_prefix<F: Family>(family: F, padding: Padding, prefix: &[u8], key: &mut Vec<u8>) {
    // Spaces at its end may be part of a longer run: they are left out.
    write_codes(family, padding, prefix, &mut space_runs(family), key);
}

fn space_runs<F: Family>(family: F) -> SpaceRuns {
    SpaceRuns::new(family.ascii_codes()[usize::from(b' ')])
}

fn write_codes<F: Family>(
    family: F,
    padding: Padding,
    text: &[u8],
    spaces: &mut SpaceRuns,
    key: &mut Vec<u8>,
) {
    let pads = padding == Padding::PadSpace;
    let codes = family.ascii_codes();
    let space_code = codes[usize::from(b' ')];
    let space = family.space();
    let mut rest = text;
    loop {
        while let Some((chunk, behind)) = rest.split_first_chunk::<8>()
            && chunk.is_ascii()
        {
            let chunk_codes = chunk.map(|byte| codes[usize::from(byte & 0x7F)]);
            let is_plain = |code: u8| !(F::IGNORES && code == 0 || pads && code == space_code);
            if chunk_codes.iter().fold(true, |all, &code| all & is_plain(code)) {
                if pads {
                    spaces.flush(chunk_codes[0] > space_code, key);
                }
                key.extend_from_slice(&chunk_codes);
            } else {
                for code in chunk_codes {
                    write_ascii::<F>(pads, code, space_code, spaces, key);
                }
            }
            rest = behind;
        }
        let Some(&byte) = rest.first() else { return };
        if byte.is_ascii() {
            write_ascii::<F>(pads, codes[usize::from(byte)], space_code, spaces, key);
            rest = &rest[1..];
            continue;
        }
        let decoded = decode(rest);
        rest = &rest[decoded.byte_count()..];
        let mut in_pair = false;
        let packed = packed_weights_of(family, decoded);
        if packed != MANY {
            let [first, second] = [(packed >> 16) as u16, packed as u16];
            if pads && first == space {
                spaces.count_one();
            } else if !F::IGNORES || first != 0 {
                if pads {
                    spaces.flush(first > space, key);
                }
                family.write(first, &mut in_pair, key);
                if second != 0 {
                    family.write(second, &mut in_pair, key);
                }
            }
            continue;
        }
        for weight in weights_of(family, decoded) {
            if pads && !in_pair && weight == space {
                spaces.count_one();
            } else {
                spaces.flush(weight > space, key);
                family.write(weight, &mut in_pair, key);
            }
        }
    }
}

#[inline]
fn write_ascii<F: Family>(pads: bool, code: u8, space_code: u8, spaces: &mut SpaceRuns, key: &mut Vec<u8>) {
    if pads && code == space_code {
        spaces.count_one();
    } else if !F::IGNORES || code != 0 {
        if pads {
            spaces.flush(code > space_code, key);
        }
        key.push(code);
    }
}

/// The front of `text` whose characters have the first `weights` weights.
pub(super) fn front<F: Family>(family: F, text: &[u8], weights: usize) -> &[u8] {
    let (mut at, mut count) = (0, 0);
    while count < weights && at < text.len() {
        let decoded = decode(&text[at..]);
        count += weights_of(family, decoded).count();
        at += decoded.byte_count();
    }
    &text[..at]
}

/// Appends MySQL's weights, two bytes each.
pub(super) fn weight_string<F: Family>(family: F, text: &[u8], out: &mut Vec<u8>) {
    for weight in Scan::new(family, text) {
        out.extend(weight.to_be_bytes());
    }
}
