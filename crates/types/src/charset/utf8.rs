//! UTF-8 of at most `MAX` bytes per character (3 for `utf8mb3`, 4 for `utf8mb4`), over bytes that may be anything.
//!
//! Well formed is what Unicode calls well formed: shortest form, no surrogates, nothing above U+10FFFF.

use super::{BadBytes, Decoded};

/// Reads the character at the front.
#[inline]
pub(crate) fn decode_utf8<const MAX: usize>(bytes: &[u8]) -> Decoded {
    let tail = |index: usize| match bytes.get(index) {
        Some(&byte) if byte & 0xC0 == 0x80 => Some(u32::from(byte & 0x3F)),
        _ => None,
    };
    let Some(&lead) = bytes.first() else { return Decoded::End };
    let bad = Decoded::Bad { byte: lead };
    let front = u32::from(lead);
    match lead {
        0..=0x7F => Decoded::Char { code: front, bytes: 1 },
        0xC2..=0xDF => match tail(1) {
            Some(t1) => Decoded::Char { code: (front & 0x1F) << 6 | t1, bytes: 2 },
            None => bad,
        },
        0xE0..=0xEF => match (tail(1), tail(2)) {
            (Some(t1), Some(t2)) => {
                let code = (front & 0x0F) << 12 | t1 << 6 | t2;
                if code < 0x800 || (0xD800..0xE000).contains(&code) {
                    return bad;
                }
                Decoded::Char { code, bytes: 3 }
            }
            _ => bad,
        },
        0xF0..=0xF4 if MAX == 4 => match (tail(1), tail(2), tail(3)) {
            (Some(t1), Some(t2), Some(t3)) => {
                let code = (front & 0x07) << 18 | t1 << 12 | t2 << 6 | t3;
                if !(0x1_0000..=0x10_FFFF).contains(&code) {
                    return bad;
                }
                Decoded::Char { code, bytes: 4 }
            }
            _ => bad,
        },
        _ => bad,
    }
}

/// Appends `code`; `false` if it is a surrogate or above U+10FFFF.
#[inline]
pub(crate) fn encode_utf8(code: u32, out: &mut Vec<u8>) -> bool {
    let Some(character) = char::from_u32(code) else { return false };
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    true
}

pub(super) fn validate<const MAX: usize>(bytes: &[u8]) -> Result<(), BadBytes> {
    let position = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    };
    if MAX == 3 {
        // In well-formed text a byte from 0xF0 leads a character of four bytes.
        if let Some(position) = bytes[..position].iter().position(|&byte| byte >= 0xF0) {
            return Err(BadBytes { position });
        }
    }
    if position == bytes.len() { Ok(()) } else { Err(BadBytes { position }) }
}

pub(super) fn char_count<const MAX: usize>(bytes: &[u8]) -> usize {
    if validate::<MAX>(bytes).is_ok() {
        return bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    }
    let (mut rest, mut count) = (bytes, 0);
    while !rest.is_empty() {
        rest = &rest[decode_utf8::<MAX>(rest).byte_count()..];
        count += 1;
    }
    count
}

pub(super) fn prefix_bytes<const MAX: usize>(bytes: &[u8], char_count: usize) -> usize {
    if bytes.len() <= char_count {
        return bytes.len();
    }
    let (mut rest, mut left) = (bytes, char_count);
    while left >= 8 && rest.len() >= 8 && rest[..8].is_ascii() {
        (rest, left) = (&rest[8..], left - 8);
    }
    while left > 0 && !rest.is_empty() {
        rest = &rest[decode_utf8::<MAX>(rest).byte_count()..];
        left -= 1;
    }
    bytes.len() - rest.len()
}
