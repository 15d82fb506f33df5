//! UCS-2, UTF-16 and UTF-32: sets whose characters are units of two or four bytes.
//!
//! In UCS-2 every unit is a character, surrogates too (they have no character in other sets). In UTF-16 a surrogate alone, and
//! in UTF-32 a unit above 10FFFF, is malformed, as are bytes at the end that are no whole unit. Malformed bytes are reported
//! one by one, but text here is validated before it is stored.

use super::{Charset, Decoded};

/// The unit of UTF-16 at the front.
#[inline]
fn unit(charset: Charset, bytes: &[u8]) -> Option<u32> {
    let pair = *bytes.first_chunk()?;
    let unit = if charset == Charset::Utf16le { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) };
    Some(u32::from(unit))
}

/// Reads the character at the front of bytes that are not empty.
pub(super) fn decode(charset: Charset, bytes: &[u8]) -> Decoded {
    let bad = Decoded::Bad { byte: bytes[0] };
    match charset {
        Charset::Utf32 => match bytes.first_chunk().map(|unit| u32::from_be_bytes(*unit)) {
            Some(code @ 0..=0x10_FFFF) => Decoded::Char { code, bytes: 4 },
            _ => bad,
        },
        Charset::Ucs2 => match unit(charset, bytes) {
            Some(code) => Decoded::Char { code, bytes: 2 },
            None => bad,
        },
        _ => match (unit(charset, bytes), bytes.get(2..).and_then(|rest| unit(charset, rest))) {
            (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) => {
                Decoded::Char { code: 0x1_0000 + ((high - 0xD800) << 10 | (low - 0xDC00)), bytes: 4 }
            }
            (None | Some(0xD800..=0xDFFF), _) => bad,
            (Some(code), _) => Decoded::Char { code, bytes: 2 },
        },
    }
}

/// Appends a character; `false`, and nothing appended, if the set has none with this code point.
pub(super) fn encode(charset: Charset, code: u32, out: &mut Vec<u8>) -> bool {
    let push = |unit: u16, out: &mut Vec<u8>| match charset {
        Charset::Utf16le => out.extend(unit.to_le_bytes()),
        _ => out.extend(unit.to_be_bytes()),
    };
    let is_surrogate = (0xD800..0xE000).contains(&code);
    match (charset, u16::try_from(code)) {
        (Charset::Utf32, _) if code <= 0x10_FFFF && !is_surrogate => out.extend(code.to_be_bytes()),
        (Charset::Utf32, _) => return false,
        _ if is_surrogate => return false,
        (_, Ok(unit)) => push(unit, out),
        (Charset::Utf16 | Charset::Utf16le, Err(_)) if code <= 0x10_FFFF => {
            let beyond = code - 0x1_0000;
            push(0xD800 | (beyond >> 10) as u16, out);
            push(0xDC00 | (beyond & 0x3FF) as u16, out);
        }
        _ => return false,
    }
    true
}

pub(super) fn trim_trailing_spaces(charset: Charset, bytes: &[u8]) -> &[u8] {
    let space = charset.of_ascii(b" ");
    let mut kept = bytes;
    // Units never overlap: a text of whole characters ends with a whole unit.
    while let Some(rest) = kept.strip_suffix(&*space) {
        kept = rest;
    }
    kept
}

/// `start` without the bytes at its end that may go on behind it.
pub(super) fn whole_characters(charset: Charset, start: &[u8]) -> &[u8] {
    let mut at = 0;
    while at < start.len() {
        let rest = &start[at..];
        let decoded = decode(charset, rest);
        let may_go_on = match charset {
            Charset::Utf32 => rest.len() < 4,
            Charset::Ucs2 => rest.len() < 2,
            _ => rest.len() < 2 || rest.len() < 4 && matches!(unit(charset, rest), Some(0xD800..=0xDBFF)),
        };
        if may_go_on && matches!(decoded, Decoded::Bad { .. }) {
            return &start[..at];
        }
        at += decoded.byte_count();
    }
    start
}
