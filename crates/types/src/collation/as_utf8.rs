//! Collations of sets that hold Unicode in other bytes than UTF-8 (`utf16_unicode_ci`): each orders as the collation of `utf8mb4`
//! with the rest of its name, its twin, orders the same text in UTF-8.
//!
//! So a text is brought to UTF-8 for every operation, a short one on the stack. A surrogate, which is a character in UCS-2, is written
//! as three bytes in the way of UTF-8; they are no character there, but `_bin` orders them where they belong. A byte that is no
//! character becomes FF.

use super::CollationId;
use super::case::{self, Case};
use crate::charset::{Charset, Decoded, encode_utf8};

/// Texts of which the UTF-8 may take no more bytes are not allocated.
const SHORT_BYTES: usize = 384;

/// Runs `with` over `text` in UTF-8.
pub(super) fn with_utf8<R>(charset: Charset, text: &[u8], with: impl FnOnce(&[u8]) -> R) -> R {
    // Two bytes become at most three, a byte that is no character one.
    let most = text.len() + text.len() / 2;
    if most > SHORT_BYTES {
        let mut long = Vec::with_capacity(most);
        write(charset, text, |bytes| long.extend_from_slice(bytes));
        return with(&long);
    }
    let (mut short, mut length) = ([0; SHORT_BYTES], 0);
    write(charset, text, |bytes| {
        short[length..length + bytes.len()].copy_from_slice(bytes);
        length += bytes.len();
    });
    with(&short[..length])
}

/// Runs `with` over two texts in UTF-8.
pub(super) fn with_both<R>(charset: Charset, a: &[u8], b: &[u8], with: impl FnOnce(&[u8], &[u8]) -> R) -> R {
    with_utf8(charset, a, |a| with_utf8(charset, b, |b| with(a, b)))
}

fn write(charset: Charset, text: &[u8], mut put: impl FnMut(&[u8])) {
    for decoded in charset.chars(text) {
        let Decoded::Char { code, .. } = decoded else {
            put(&[0xFF]);
            continue;
        };
        match char::from_u32(code) {
            Some(character) => put(character.encode_utf8(&mut [0; 4]).as_bytes()),
            None if code > 0xFFFF => put(&[0xFF]),
            None => put(&[0xED, 0x80 | (code >> 6 & 0x3F) as u8, 0x80 | (code & 0x3F) as u8]),
        }
    }
}

/// Offset in bytes of the character at which the twin finds `needle`.
pub(super) fn find(
    charset: Charset,
    twin: CollationId,
    haystack: &[u8],
    needle: &[u8],
    may_continue: &mut dyn FnMut() -> bool,
) -> Option<usize> {
    let locate = |haystack: &[u8], needle: &[u8]| twin.locate(needle, haystack, 0, may_continue);
    let at = with_both(charset, haystack, needle, locate)?;
    Some(charset.prefix_bytes(haystack, at))
}

/// Appends `text` in the case wanted.
pub(super) fn map_case(charset: Charset, twin: CollationId, case: Case, text: &[u8], out: &mut Vec<u8>) {
    let (mut utf8, mut mapped) = (Vec::new(), Vec::new());
    let mut rest = text;
    while !rest.is_empty() {
        // Characters of UTF-8 are mapped together; others stay.
        utf8.clear();
        let start = rest;
        while let Decoded::Char { code, bytes } = charset.decode(rest)
            && encode_utf8(code, &mut utf8)
        {
            rest = &rest[bytes..];
        }
        mapped.clear();
        case::map(twin.info(), case, &utf8, &mut mapped);
        for decoded in Charset::Utf8mb4.chars(&mapped) {
            let Decoded::Char { code, .. } = decoded else { continue };
            let is_character = charset.encode(code, out);
            debug_assert!(is_character || !start.is_empty());
        }
        let kept = charset.decode(rest).byte_count();
        out.extend_from_slice(&rest[..kept]);
        rest = &rest[kept..];
    }
}

/// See [`CollationId::sort_prefix`].
pub(super) fn sort_prefix(
    charset: Charset,
    twin: CollationId,
    text: &[u8],
    weight_bytes_max: usize,
) -> &[u8] {
    let chars = with_utf8(charset, text, |utf8| {
        Charset::Utf8mb4.char_count(twin.sort_prefix(utf8, weight_bytes_max))
    });
    &text[..charset.prefix_bytes(text, chars)]
}

/// See [`CollationId::sort_prefix_bytes`].
pub(super) fn sort_prefix_bytes(
    charset: Charset,
    twin: CollationId,
    weight_bytes_max: usize,
) -> Option<usize> {
    // No character takes more bytes than in UTF-8, but for those of one byte there.
    let bytes = twin.sort_prefix_bytes(weight_bytes_max)?;
    Some(bytes.saturating_mul(charset.max_bytes_per_char()))
}
