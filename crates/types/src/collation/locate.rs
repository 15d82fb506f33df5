//! LOCATE, INSTR: where a text occurs in another.
//!
//! MySQL looks for the first character from which on the haystack's weights begin with the needle's, at every level
//! by itself. So `INSTR('xß', 's')` is 2, and under `as_ci` `INSTR('xé', 'e')` is 2 while `INSTR('xéa', 'ea')` is 0.

use super::family::{Family, Scan, decode};
use super::{levels, swar};

/// Offset in bytes of the first occurrence. `None` in an empty haystack.
pub(super) fn find<F: Family>(
    family: F,
    level_count: usize,
    haystack: &[u8],
    needle: &[u8],
) -> Option<usize> {
    let codes = family.ascii_codes();
    // Most characters are ruled out by the first letter.
    let first = needle.first().filter(|byte| byte.is_ascii()).map_or(0, |&byte| codes[usize::from(byte)]);
    let mut at = 0;
    while let Some(&byte) = haystack.get(at) {
        if byte.is_ascii() {
            let code = codes[usize::from(byte)];
            let is_other = first != 0 && code != 0 && code != first;
            if !is_other && begins_with(family, level_count, &haystack[at..], needle) {
                return Some(at);
            }
            at += 1;
        } else {
            if begins_with(family, level_count, &haystack[at..], needle) {
                return Some(at);
            }
            at += decode(&haystack[at..]).byte_count();
        }
    }
    None
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
