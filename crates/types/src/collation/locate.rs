//! LOCATE, INSTR: where a text occurs in another.
//!
//! MySQL looks for the first character from which on the haystack's weights begin with the needle's, at every level
//! by itself. So `INSTR('xß', 's')` is 2, and under `as_ci` `INSTR('xé', 'e')` is 2 while `INSTR('xéa', 'ea')` is 0.

use super::family::{Family, Scan, decode};
use super::{levels, swar};
use crate::charset::Decoded;

/// Bytes of the haystack that may be read before the search asks whether it may go on: each candidate may read all of it.
const BYTES_BETWEEN_ASKING: usize = 64 << 20;

/// Asks a long search now and then whether it may go on.
pub(super) struct Asking<'a> {
    may_continue: &'a mut dyn FnMut() -> bool,
    /// How many candidates are tried between two questions, and how many of them are left.
    candidates: usize,
    left: usize,
}

impl<'a> Asking<'a> {
    pub(super) fn new(haystack: &[u8], may_continue: &'a mut dyn FnMut() -> bool) -> Asking<'a> {
        let candidates = (BYTES_BETWEEN_ASKING / haystack.len().max(1)).clamp(16, 1 << 16);
        Asking { may_continue, candidates, left: candidates }
    }

    /// Whether one more candidate may be tried.
    #[inline]
    pub(super) fn may_try(&mut self) -> bool {
        if self.left == 0 {
            if !(self.may_continue)() {
                return false;
            }
            self.left = self.candidates;
        }
        self.left -= 1;
        true
    }
}

/// Offset in bytes of the first occurrence. `None` in an empty haystack, and when `may_continue` says no.
pub(super) fn find<F: Family>(
    family: F,
    level_count: usize,
    haystack: &[u8],
    needle: &[u8],
    may_continue: &mut dyn FnMut() -> bool,
) -> Option<usize> {
    let codes = family.ascii_codes();
    // Most characters are ruled out by the first letter.
    let first = needle.first().filter(|byte| byte.is_ascii()).map_or(0, |&byte| codes[usize::from(byte)]);
    let mut asking = Asking::new(haystack, may_continue);
    // Where characters without weights begin: with one level, what is found behind them is found from the first of them on. They are
    // read once, not once for each of them.
    let mut ignored: Option<usize> = None;
    let mut at = 0;
    while let Some(&byte) = haystack.get(at) {
        let (bytes, is_other, has_weights) = if byte.is_ascii() {
            let code = codes[usize::from(byte)];
            (1, first != 0 && code != 0 && code != first, code != 0)
        } else {
            let decoded = decode(&haystack[at..]);
            let has_weights = match decoded {
                Decoded::Char { code, .. } if F::IGNORES => family.weights(code).next().is_some(),
                _ => true,
            };
            (decoded.byte_count(), false, has_weights)
        };
        if !has_weights && level_count == 1 {
            ignored.get_or_insert(at);
        } else {
            if !is_other {
                if !asking.may_try() {
                    return None;
                }
                if begins_with(family, level_count, &haystack[at..], needle) {
                    return Some(ignored.unwrap_or(at));
                }
            }
            ignored = None;
        }
        at += bytes;
    }
    // A needle without weights is found anywhere.
    ignored.filter(|_| begins_with(family, level_count, &[], needle))
}

fn begins_with<F: Family>(family: F, level_count: usize, text: &[u8], front: &[u8]) -> bool {
    let same = swar::same_front(text, front, true);
    begins(Scan::new(family, &text[same..]), Scan::new(family, &front[same..]))
        && (1..level_count)
            .all(|level| begins(levels::weights(level - 1, text), levels::weights(level - 1, front)))
}

/// Whether the first weights are those of `front`.
pub(super) fn begins(mut weights: impl Iterator<Item = u16>, mut front: impl Iterator<Item = u16>) -> bool {
    front.all(|weight| weights.next() == Some(weight))
}
