//! Comparing, hashing and keys under a [tailoring](super::tailoring): the weights of a text follow from the whole text and not
//! from each character by itself.
//!
//! So these algorithms go by [units](Tailoring::unit), from the beginning of a text or from a place no sequence reaches
//! across. Collations without a tailoring never come here.
//!
//! A key is made as without a tailoring (`key`): the codes of the primary weights, then the lower levels. The codes are
//! the base's, but two bytes for each weight where the tailoring uses weights that the base has no codes for
//! ([`Tailoring::has_wide_codes`]).

use std::cmp::Ordering;

use super::chars::CharRules;
use super::family::{decode, last_char_start};
use super::info::Padding;
use super::key::{LevelWriter, SpaceRuns};
use super::locate;
use super::swar::StreamHasher;
use super::tailoring::{Base, Codes, Tailoring};
use crate::charset::Decoded;

/// Orders two texts by all `levels`.
pub(super) fn compare(
    tailoring: &Tailoring,
    levels: usize,
    padding: Padding,
    a: &[u8],
    b: &[u8],
) -> Ordering {
    let front = same_front(tailoring, a, b);
    let (a, b) = (&a[front..], &b[front..]);
    if a.is_empty() && b.is_empty() {
        return Ordering::Equal;
    }
    compare_first(tailoring, padding, a, b).then_with(|| {
        (1..levels)
            .map(|level| tailoring.weights(level, a).cmp(tailoring.weights(level, b)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    })
}

fn compare_first(tailoring: &Tailoring, padding: Padding, a: &[u8], b: &[u8]) -> Ordering {
    let (mut weights_a, mut weights_b) = (tailoring.weights(0, a), tailoring.weights(0, b));
    let to_end = |first: u16, rest: &mut dyn Iterator<Item = u16>| {
        if padding == Padding::NoPad {
            return Ordering::Greater;
        }
        let space = tailoring.space();
        let other = std::iter::once(first).chain(rest).find(|&weight| weight != space);
        other.map_or(Ordering::Equal, |weight| weight.cmp(&space))
    };
    loop {
        match (weights_a.next(), weights_b.next()) {
            (Some(x), Some(y)) if x == y => {}
            (Some(x), Some(y)) => return x.cmp(&y),
            (None, None) => return Ordering::Equal,
            (Some(x), None) => return to_end(x, &mut weights_a),
            (None, Some(y)) => return to_end(y, &mut weights_b).reverse(),
        }
    }
}

/// The length of a front of the same bytes that ends at a unit's end in both texts.
fn same_front(tailoring: &Tailoring, a: &[u8], b: &[u8]) -> usize {
    let mut at = super::swar::same_front(a, b, false);
    if at == a.len() && at == b.len() {
        return at;
    }
    while at > 0 {
        let start = last_char_start(&a[..at]);
        let before = decode(&a[start..at]);
        let is_whole = matches!(before, Decoded::Char { bytes, .. } if bytes == at - start);
        if is_whole && !tailoring.joins(before) {
            return at;
        }
        at = start;
    }
    0
}

/// Hashes the primary weights.
pub(super) fn hash(tailoring: &Tailoring, padding: Padding, text: &[u8], seed: u64) -> u64 {
    let mut hasher = StreamHasher::new(seed);
    let space = match padding {
        Padding::PadSpace => Some(tailoring.space()),
        Padding::NoPad => None,
    };
    let mut spaces = 0_usize; // Held back: they may be padding.
    for weight in tailoring.weights(0, text) {
        if Some(weight) == space {
            spaces += 1;
            continue;
        }
        for _ in 0..std::mem::take(&mut spaces) {
            hasher.push(b' ');
        }
        hasher.push_bits(u64::from(weight), 16);
    }
    hasher.finish()
}

/// Appends the key of all levels.
pub(super) fn sort_key(
    tailoring: &Tailoring,
    levels: usize,
    padding: Padding,
    text: &[u8],
    key: &mut Vec<u8>,
) {
    sort_key_first(tailoring, padding, text, key);
    for level in 1..levels {
        let mut writer = LevelWriter::new(tailoring.common(level));
        for weight in tailoring.weights(level, text) {
            writer.push(weight, key);
        }
        writer.end(key);
    }
}

/// Appends the key of the first level, with its end.
pub(super) fn sort_key_first(tailoring: &Tailoring, padding: Padding, text: &[u8], key: &mut Vec<u8>) {
    key.reserve(text.len() + 2);
    let spaces = write_codes(tailoring, padding, text, key);
    match padding {
        Padding::PadSpace => spaces.end(key),
        Padding::NoPad => key.push(0),
    }
}

/// Appends the codes of the first level. What is returned are the spaces at the end, which are not written.
pub(super) fn write_codes(
    tailoring: &Tailoring,
    padding: Padding,
    text: &[u8],
    key: &mut Vec<u8>,
) -> SpaceRuns {
    let mut codes = Codes::new(tailoring);
    let mut spaces = SpaceRuns::new(codes.space());
    let pads = padding == Padding::PadSpace;
    let (space, space_code) = (tailoring.space(), codes.space());
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        // Most characters of most texts: ASCII, with a code of one byte.
        let code = if byte.is_ascii() { tailoring.ascii_codes[usize::from(byte)] } else { 0 };
        if code != 0 {
            if pads && code == space_code {
                spaces.count_one();
            } else {
                if pads {
                    spaces.flush(code > space_code, key);
                }
                key.push(code);
            }
            rest = &rest[1..];
            continue;
        }
        let (unit, bytes) = tailoring.unit(0, rest);
        for weight in unit {
            if pads && !codes.in_pair() && weight == space {
                spaces.count_one();
            } else {
                if pads && !codes.in_pair() {
                    spaces.flush(weight > space, key);
                }
                codes.write(weight, key);
            }
        }
        rest = &rest[bytes..];
    }
    spaces
}

/// Appends bytes with which the key of every text begins whose characters are those of `literal`, one by one, and then any.
pub(super) fn sort_key_prefix(tailoring: &Tailoring, padding: Padding, literal: &[u8], key: &mut Vec<u8>) {
    write_codes(tailoring, padding, tailoring.certain_front(literal), key);
}

/// Appends bytes with which the key of every text begins that begins with `start`, which ends with a whole character.
pub(super) fn sort_key_of_start(tailoring: &Tailoring, padding: Padding, start: &[u8], key: &mut Vec<u8>) {
    write_codes(tailoring, padding, &start[..certain_units(tailoring, start)], key);
}

/// The length of the front of `start` that is whole units whatever follows.
fn certain_units(tailoring: &Tailoring, start: &[u8]) -> usize {
    let mut at = 0;
    while at < start.len() {
        if tailoring.begins_sequence(decode(&start[at..])) {
            let mut rest = &start[at..];
            let mut chars = 0;
            while chars < tailoring.longest && !rest.is_empty() {
                rest = &rest[decode(rest).byte_count()..];
                chars += 1;
            }
            if chars < tailoring.longest {
                return at;
            }
        }
        at += tailoring.unit_bytes(&start[at..]);
    }
    at
}

/// The length of the front of `text`, which ends with a whole character, whose keys are certain whatever follows: whole units, and
/// where spaces pad, up to one that ends with another weight than a space's.
pub(super) fn settled(tailoring: &Tailoring, padding: Padding, text: &[u8]) -> usize {
    let certain = certain_units(tailoring, text);
    if padding == Padding::NoPad {
        return certain;
    }
    let space = tailoring.space();
    let (mut at, mut end) = (0, 0);
    while at < certain {
        let (weights, bytes) = tailoring.unit(0, &text[at..certain]);
        at += bytes;
        if weights.last().is_some_and(|weight| weight != space) {
            end = at;
        }
    }
    end
}

/// Appends MySQL's weights, two bytes each; the levels are separated by a zero.
pub(super) fn weight_string(tailoring: &Tailoring, levels: usize, text: &[u8], out: &mut Vec<u8>) {
    for level in 0..levels {
        if level > 0 {
            out.extend([0, 0]);
        }
        for weight in tailoring.weights(level, text) {
            out.extend(weight.to_be_bytes());
        }
    }
}

/// The front of `text` whose units have the first `count` primary weights.
pub(super) fn front<'a>(tailoring: &Tailoring, text: &'a [u8], count: usize) -> &'a [u8] {
    let (mut at, mut seen) = (0, 0);
    while seen < count && at < text.len() {
        let (weights, bytes) = tailoring.unit(0, &text[at..]);
        seen += weights.count();
        at += bytes;
    }
    &text[..at]
}

/// Offset in bytes of the first character from which on the weights begin with the needle's, at every level by itself.
pub(super) fn find(
    tailoring: &Tailoring,
    levels: usize,
    haystack: &[u8],
    needle: &[u8],
    may_continue: &mut dyn FnMut() -> bool,
) -> Option<usize> {
    let mut asking = locate::Asking::new(haystack, may_continue);
    let begins = |text: &[u8]| {
        (0..levels)
            .all(|level| locate::begins(tailoring.weights(level, text), tailoring.weights(level, needle)))
    };
    let mut at = 0;
    while at < haystack.len() && asking.may_try() {
        if begins(&haystack[at..]) {
            return Some(at);
        }
        at += decode(&haystack[at..]).byte_count();
    }
    None
}

/// A tailored collation as seen one character at a time: LIKE knows no sequences.
#[derive(Clone, Copy, Debug)]
pub(super) struct TailoredChars {
    pub(super) tailoring: &'static Tailoring,
    pub(super) levels: usize,
}

impl CharRules for TailoredChars {
    const IS_SINGLE_BYTE: bool = false;
    const IS_PLAIN: bool = false;

    #[inline]
    fn has_ascii_cases(self) -> bool {
        self.tailoring.has_ascii_cases
    }

    #[inline]
    fn decode(self, text: &[u8]) -> Decoded {
        decode(text)
    }

    fn same(self, a: Decoded, b: Decoded) -> bool {
        if a == b {
            return true;
        }
        // As in the base, though all supplementary characters have one weight.
        if self.tailoring.base == Base::Uca400 && matches!(a, Decoded::Char { code: 0x1_0000.., .. }) {
            return false;
        }
        (0..self.levels)
            .all(|level| self.tailoring.char_weights(level, a).eq(self.tailoring.char_weights(level, b)))
    }

    #[inline]
    fn same_ascii(self, a: u8, b: u8) -> bool {
        self.tailoring.same_ascii(self.levels, a, b)
    }
}
