//! UPPER and LOWER: one character for one, as MySQL maps them (so `ß` stays `ß`).

use super::byte_tables::{LATIN1_LOWER, LATIN1_UPPER};
use super::info::{CollationInfo, Rules};
use super::plane::{self, Plane};
use super::weighed::Weighed;
use super::{CollationId, as_utf8, multi_byte};
use crate::charset::{Charset, Decoded, decode_utf8, encode_utf8, single_byte};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Case {
    Upper,
    Lower,
}

/// Appends `text` in the case wanted. Malformed bytes stay as they are.
pub(super) fn map(info: &CollationInfo, case: Case, text: &[u8], out: &mut Vec<u8>) {
    match info.rules {
        Rules::Tailored { .. } | Rules::AsUtf8(_) | Rules::Weighed(_) | Rules::MultiByte(_) => {
            map_otherwise(info, case, text, out);
        }
        _ => map_plain(info, case, text, out),
    }
}

/// As [`map`], where characters are not mapped one by one through the plain tables.
#[inline(never)]
fn map_otherwise(info: &CollationInfo, case: Case, text: &[u8], out: &mut Vec<u8>) {
    match info.rules {
        Rules::Tailored { .. } => map_tailored(info, case, text, out),
        Rules::AsUtf8(twin) => as_utf8::map_case(info.charset, twin, case, text, out),
        Rules::Weighed(Weighed::Czech) => {
            let start = out.len();
            map_plain(info, case, text, out);
            // MySQL's table of this collation, and of no other of the set, has another sign for the capital of ß.
            if case == Case::Upper {
                out[start..].iter_mut().filter(|byte| **byte == 0xDF).for_each(|byte| *byte = 0xA7);
            }
        }
        Rules::MultiByte(_) => multi_byte::map_case(info.charset, case, text, out),
        _ => map_plain(info, case, text, out),
    }
}

/// As [`map`], of a language.
#[inline(never)]
fn map_tailored(info: &CollationInfo, case: Case, text: &[u8], out: &mut Vec<u8>) {
    if !matches!(info.id, CollationId::UTF8MB3_TURKISH_CI | CollationId::UTF8MB4_TURKISH_CI) {
        return map_plain(info, case, text, out);
    }
    // The dot stays: i and İ, ı and I. (The 0900 collation of Turkish does not do that.)
    let (letter, other) = if case == Case::Upper { (b'i', "\u{130}") } else { (b'I', "\u{131}") };
    for (number, part) in text.split(|&byte| byte == letter).enumerate() {
        if number > 0 {
            out.extend_from_slice(other.as_bytes());
        }
        map_plain(info, case, part, out);
    }
}

#[inline]
fn map_plain(info: &CollationInfo, case: Case, text: &[u8], out: &mut Vec<u8>) {
    match info.charset {
        Charset::Binary => out.extend_from_slice(text),
        Charset::Ascii => map_ascii(case, text, out),
        Charset::Latin1 => {
            let table = if case == Case::Upper { &LATIN1_UPPER } else { &LATIN1_LOWER };
            out.extend(text.iter().map(|&byte| table[usize::from(byte)]));
        }
        Charset::Utf8mb3 => map_utf8::<3>(case_plane(info, case), case, text, out),
        Charset::Utf8mb4 => map_utf8::<4>(case_plane(info, case), case, text, out),
        charset => match single_byte::case_table(charset, case == Case::Upper) {
            Some(table) => out.extend(text.iter().map(|&byte| table[usize::from(byte)])),
            None => out.extend_from_slice(text),
        },
    }
}

fn case_plane(info: &CollationInfo, case: Case) -> &'static Plane {
    let (upper, lower) = match info.rules {
        Rules::Uca900 { .. } => (&plane::UPPER_UCA900, &plane::LOWER_UCA900),
        Rules::Bytes if info.is_no_pad() => (&plane::UPPER_UCA900, &plane::LOWER_UCA900), // utf8mb4_0900_bin
        Rules::Uca520 => (&plane::UPPER_UCA520, &plane::LOWER_UCA520),
        Rules::Tailored { .. } if info.is_no_pad() => (&plane::UPPER_UCA900, &plane::LOWER_UCA900),
        Rules::Bytes
        | Rules::ByteTable(_)
        | Rules::General
        | Rules::GeneralMysql500
        | Rules::ToLower
        | Rules::Uca400
        | Rules::AsUtf8(_)
        | Rules::MultiByte(_)
        | Rules::Weighed(_)
        | Rules::Tailored { .. } => (&plane::UPPER_GENERAL, &plane::LOWER_GENERAL),
    };
    if case == Case::Upper { upper } else { lower }
}

fn map_ascii(case: Case, text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(text);
    if case == Case::Upper {
        out[start..].make_ascii_uppercase();
    } else {
        out[start..].make_ascii_lowercase();
    }
}

fn map_utf8<const MAX: usize>(plane: &Plane, case: Case, text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = rest.iter().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        map_ascii(case, &rest[..ascii], out);
        rest = &rest[ascii..];
        // Characters that have no other case are copied together.
        let mut same = 0;
        while same < rest.len() && !rest[same].is_ascii() {
            let decoded = decode_utf8::<MAX>(&rest[same..]);
            if let Decoded::Char { code, .. } = decoded
                && plane.entry(code) != 0
            {
                out.extend_from_slice(&rest[..same]);
                let is_character = encode_utf8(plane.shifted(code), out);
                debug_assert!(is_character);
                rest = &rest[same + decoded.byte_count()..];
                same = 0;
            } else {
                same += decoded.byte_count();
            }
        }
        out.extend_from_slice(&rest[..same]);
        rest = &rest[same..];
    }
}
