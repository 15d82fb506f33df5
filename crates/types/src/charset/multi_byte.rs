//! The East Asian sets, whose characters are one to four bytes: which bytes are one character, by rules; what it means, by tables.
//!
//! A byte below 80 is ASCII at the beginning of a character only. A sequence may be a character that no code point stands for: it
//! has the code [`CODELESS`] and its bytes, and becomes `?` in other sets.
//!
//! The file `data/multi_byte.bin` comes from `tools/multi_byte_tables.py`, which asks a server. `v` is a LEB128 number, other numbers
//! are little-endian:
//!
//! ```text
//! for each set, in the order of `SETS`: u32 bytes that follow
//!   table of code points by two bytes (the lower 15 bits of them); in EUC-JP another, of those behind 8F
//!   v code points whose bytes are not the first of that table: v distance, v bytes or 0
//!   v runs of characters of four bytes, which are numbered: v code point, v number, v length
//!   v characters with an upper case: v distance of the bytes, v bytes; the same for the lower case
//!   table of weights by two bytes
//!   v runs of weights of characters of four bytes: v number, v length, u16 for each
//! table = steps until 8000 entries are there: v length * 4 + what; what = 0: nothing, 1: as in the set it is based on, 2: u16 for each
//! ```
//!
//! A set's tables are read when it is first used, and kept: 200 to 350 KiB.

use std::sync::OnceLock;

use super::{Charset, Decoded};
use crate::table_file::TableReader;

/// Set in the code of a character that no code point stands for; the other bits are its bytes.
pub(crate) const CODELESS: u32 = 1 << 31;

const PLANE: usize = 0x8000;
const DATA: &[u8] = include_bytes!("../../data/multi_byte.bin");
const SETS: [Charset; 9] = [
    Charset::Big5,
    Charset::Cp932,
    Charset::Eucjpms,
    Charset::Euckr,
    Charset::Gb18030,
    Charset::Gb2312,
    Charset::Gbk,
    Charset::Sjis,
    Charset::Ujis,
];
static LOADED: [OnceLock<Tables>; SETS.len()] = [const { OnceLock::new() }; SETS.len()];

/// What there is of one set.
#[derive(Debug)]
pub(crate) struct Tables {
    /// Code points by the lower 15 bits of two bytes.
    codes: Vec<u16>,
    /// Those of the three bytes that 8F begins.
    codes_behind: Vec<u16>,
    /// Bytes by code point; of three bytes the last two, without the highest bit.
    bytes: Vec<u16>,
    /// By code point.
    spans: Vec<Span>,
    /// The same by number: one character does not stand in order.
    numbered: Vec<Span>,
    upper: Vec<(u32, u32)>,
    lower: Vec<(u32, u32)>,
    weights: Vec<u16>,
    weight_spans: Vec<(u32, Vec<u16>)>,
}

/// Characters of four bytes with consecutive code points.
#[derive(Clone, Copy, Debug)]
struct Span {
    code: u32,
    number: u32,
    length: u32,
}

/// The number of U+10000 among the characters of four bytes.
const SUPPLEMENTARY: u32 = 189_000;

/// The tables of a set.
pub(crate) fn tables(charset: Charset) -> &'static Tables {
    let place = SETS.iter().position(|set| *set == charset).unwrap_or(0);
    LOADED[place].get_or_init(|| Tables::read(place))
}

/// The length in bytes of the character at the front; `None`: bytes that are none.
#[inline]
pub(super) fn char_bytes(charset: Charset, bytes: &[u8]) -> Option<usize> {
    let &lead = bytes.first()?;
    if lead.is_ascii() {
        return Some(1);
    }
    let second = bytes.get(1).copied();
    let is_two =
        |is_lead: bool, is_second: fn(u8) -> bool| (is_lead && second.is_some_and(is_second)).then_some(2);
    match charset {
        Charset::Big5 => is_two((0xA1..=0xF9).contains(&lead), |b| matches!(b, 0x40..=0x7E | 0xA1..=0xFE)),
        Charset::Gbk => is_two((0x81..=0xFE).contains(&lead), |b| matches!(b, 0x40..=0x7E | 0x80..=0xFE)),
        Charset::Gb2312 => is_two((0xA1..=0xF7).contains(&lead), |b| matches!(b, 0xA1..=0xFE)),
        Charset::Euckr => {
            is_two((0x81..=0xFE).contains(&lead), |b| matches!(b, 0x41..=0x5A | 0x61..=0x7A | 0x81..=0xFE))
        }
        Charset::Sjis | Charset::Cp932 if (0xA1..=0xDF).contains(&lead) => Some(1),
        Charset::Sjis | Charset::Cp932 => {
            is_two(matches!(lead, 0x81..=0x9F | 0xE0..=0xFC), |b| matches!(b, 0x40..=0x7E | 0x80..=0xFC))
        }
        Charset::Ujis | Charset::Eucjpms => match lead {
            0x8E => is_two(true, |b| matches!(b, 0xA1..=0xDF)),
            0x8F => match bytes.get(1..3) {
                Some([0xA1..=0xFE, 0xA1..=0xFE]) => Some(3),
                _ => None,
            },
            _ => is_two((0xA1..=0xFE).contains(&lead), |b| matches!(b, 0xA1..=0xFE)),
        },
        _ => match (lead, second?) {
            (0x81..=0xFE, 0x40..=0x7E | 0x80..=0xFE) => Some(2),
            (0x81..=0xFE, b'0'..=b'9') => match bytes.get(2..4) {
                Some([0x81..=0xFE, b'0'..=b'9']) => Some(4),
                _ => None,
            },
            _ => None,
        },
    }
}

/// Whether more bytes could make a character of these, which are none.
fn may_go_on(charset: Charset, bytes: &[u8]) -> bool {
    let longest = charset.max_bytes_per_char();
    bytes.len() < longest
        && [0x30, 0x41, 0xA1].into_iter().any(|next| {
            let longer = [bytes, &[next]].concat();
            char_bytes(charset, &longer).is_some() || may_go_on(charset, &longer)
        })
}

/// `start` without the bytes at its end that may go on behind it.
pub(super) fn whole_characters(charset: Charset, start: &[u8]) -> &[u8] {
    let mut at = 0;
    while at < start.len() {
        match char_bytes(charset, &start[at..]) {
            Some(bytes) => at += bytes,
            None if may_go_on(charset, &start[at..]) => return &start[..at],
            None => at += 1,
        }
    }
    start
}

/// Reads the character at the front of bytes that are not empty.
#[inline]
pub(super) fn decode(charset: Charset, bytes: &[u8]) -> Decoded {
    match char_bytes(charset, bytes) {
        Some(1) if bytes[0].is_ascii() => Decoded::Char { code: u32::from(bytes[0]), bytes: 1 },
        Some(count) => {
            let sequence = number_of(&bytes[..count]);
            let code = tables(charset).code(sequence).unwrap_or(CODELESS | sequence);
            Decoded::Char { code, bytes: count }
        }
        None => Decoded::Bad { byte: bytes[0] },
    }
}

/// Appends the character with a code point; `false`, and nothing appended, if there is none.
pub(super) fn encode(charset: Charset, code: u32, out: &mut Vec<u8>) -> bool {
    if code < 0x80 {
        out.push(code as u8);
        return true;
    }
    let sequence = tables(charset).sequence(code);
    if let Some(sequence) = sequence {
        push(sequence, out);
    }
    sequence.is_some()
}

/// The bytes of a character as a number.
#[inline]
pub(crate) fn number_of(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

/// Appends the bytes that are this number.
pub(crate) fn push(sequence: u32, out: &mut Vec<u8>) {
    let bytes = sequence.to_be_bytes();
    let first = bytes.iter().position(|&byte| byte != 0).unwrap_or(3);
    out.extend_from_slice(&bytes[first..]);
}

/// The number of a character of four bytes.
fn linear(sequence: u32) -> u32 {
    let [a, b, c, d] = sequence.to_be_bytes().map(u32::from);
    (((a - 0x81) * 10 + b - 0x30) * 126 + c - 0x81) * 10 + d - 0x30
}

fn of_linear(number: u32) -> u32 {
    let (d, rest) = (number % 10 + 0x30, number / 10);
    let (c, rest) = (rest % 126 + 0x81, rest / 126);
    let (b, a) = (rest % 10 + 0x30, rest / 10 + 0x81);
    a << 24 | b << 16 | c << 8 | d
}

impl Tables {
    /// The code point of a character of two or more bytes, or of a Katakana of one.
    fn code(&self, sequence: u32) -> Option<u32> {
        let listed = |codes: &[u16], at: u32| {
            let code = *codes.get((at & 0x7FFF) as usize)?;
            (code != 0).then_some(u32::from(code))
        };
        match sequence {
            0..0x100 => Some(sequence + (0xFF61 - 0xA1)),
            0x100..0x1_0000 => listed(&self.codes, sequence),
            0x1_0000..0x100_0000 => listed(&self.codes_behind, sequence),
            _ => {
                let number = linear(sequence);
                if let Some(code) = number.checked_sub(SUPPLEMENTARY) {
                    return Some(0x1_0000 + code).filter(|code| *code <= 0x10_FFFF);
                }
                let behind = self.numbered.partition_point(|span| span.number <= number);
                let span = self.numbered[..behind].last()?;
                (number - span.number < span.length).then(|| span.code + number - span.number)
            }
        }
    }

    /// The bytes of a code point beyond ASCII.
    fn sequence(&self, code: u32) -> Option<u32> {
        let Ok(place) = u16::try_from(code) else {
            let is_there = !self.spans.is_empty() && code <= 0x10_FFFF;
            return is_there.then(|| of_linear(SUPPLEMENTARY + code - 0x1_0000));
        };
        match u32::from(self.bytes[usize::from(place)]) {
            0 => {
                let behind = self.spans.partition_point(|span| span.code <= code);
                let span = self.spans[..behind].last()?;
                (code - span.code < span.length).then(|| of_linear(span.number + code - span.code))
            }
            behind @ 0x100..0x8000 => Some(0x8F_8000 | behind),
            sequence => Some(sequence),
        }
    }

    /// A character in upper (or lower) case.
    pub(crate) fn case_of(&self, sequence: u32, upper: bool) -> u32 {
        let pairs = if upper { &self.upper } else { &self.lower };
        match pairs.binary_search_by_key(&sequence, |pair| pair.0) {
            Ok(place) => pairs[place].1,
            Err(_) => sequence,
        }
    }

    /// The weight of a character of two or more bytes in the set's collation that is not `_bin`, as bytes from the first that is not zero.
    pub(crate) fn weight(&self, charset: Charset, sequence: u32) -> u32 {
        /// The first byte of the weights that are numbers, and of those among them that are Han.
        const NUMBERED: u32 = 0xFF << 24;
        const HAN: u32 = 0xFFA0 << 16;
        let listed = match sequence {
            0..0x1_0000 => self.weights.get((sequence & 0x7FFF) as usize).copied().unwrap_or(0),
            0x1_0000..0x100_0000 => 0,
            _ => {
                let number = linear(sequence);
                let behind = self.weight_spans.partition_point(|span| span.0 <= number);
                let span = self.weight_spans[..behind].last();
                span.and_then(|span| span.1.get((number - span.0) as usize).copied()).unwrap_or(0)
            }
        };
        match (charset, listed) {
            (Charset::Gb18030, 0) => match self.case_of(sequence, true) {
                upper @ 0..0x1_0000 => upper,
                upper => NUMBERED + linear(upper),
            },
            (Charset::Gb18030, _) => HAN | u32::from(listed),
            (_, 0) => sequence,
            _ => u32::from(listed),
        }
    }

    fn read(place: usize) -> Self {
        let mut reader = TableReader::of_part(DATA, place);
        let charset = SETS[place];
        let base = match charset {
            Charset::Cp932 => Some(Charset::Sjis),
            Charset::Eucjpms => Some(Charset::Ujis),
            Charset::Gb18030 | Charset::Gb2312 => Some(Charset::Gbk),
            _ => None,
        };
        let base = base.map(tables);
        let codes = read_table(&mut reader, base.map(|base| &base.codes[..]));
        let codes_behind = match charset {
            Charset::Ujis | Charset::Eucjpms => {
                read_table(&mut reader, base.map(|base| &base.codes_behind[..]))
            }
            _ => Vec::new(),
        };
        let mut bytes = vec![0; 0x1_0000];
        // The first sequence of a code point is the one that it becomes, and two bytes go before three.
        for (at, &code) in codes.iter().enumerate().filter(|(_, code)| **code >= 0x80) {
            if bytes[usize::from(code)] == 0 {
                bytes[usize::from(code)] = 0x8000 | at as u16;
            }
        }
        for (at, &code) in codes_behind.iter().enumerate().filter(|(_, code)| **code >= 0x80) {
            if bytes[usize::from(code)] == 0 {
                bytes[usize::from(code)] = at as u16;
            }
        }
        if matches!(charset, Charset::Sjis | Charset::Cp932) {
            for kana in 0xA1..=0xDF_u16 {
                bytes[usize::from(kana) + (0xFF61 - 0xA1)] = kana;
            }
        }
        for (code, sequence) in read_pairs(&mut reader) {
            let short = if sequence > 0xFFFF { sequence & 0x7FFF } else { sequence };
            bytes[code as usize] = short as u16;
        }
        let mut spans = Vec::new();
        for _ in 0..reader.number() {
            let [code, number, length] = [(); 3].map(|()| reader.number());
            spans.push(Span { code, number, length });
        }
        let mut numbered = spans.clone();
        numbered.sort_unstable_by_key(|span: &Span| span.number);
        let (upper, lower) = (read_pairs(&mut reader), read_pairs(&mut reader));
        let weights = read_table(&mut reader, None);
        let mut weight_spans = Vec::new();
        for _ in 0..reader.number() {
            let (number, length) = (reader.number(), reader.number());
            weight_spans.push((number, (0..length).map(|_| reader.u16()).collect()));
        }
        Self { codes, codes_behind, bytes, spans, numbered, upper, lower, weights, weight_spans }
    }
}

fn read_pairs(reader: &mut TableReader) -> Vec<(u32, u32)> {
    let mut before = 0;
    let count = reader.number();
    (0..count)
        .map(|_| {
            before += reader.number();
            (before, reader.number())
        })
        .collect()
}

fn read_table(reader: &mut TableReader, base: Option<&[u16]>) -> Vec<u16> {
    let mut table = Vec::with_capacity(PLANE);
    while table.len() < PLANE {
        let step = reader.number();
        let length = (step >> 2) as usize;
        match (step & 3, base) {
            (1, Some(base)) => table.extend_from_slice(&base[table.len()..table.len() + length]),
            (2, _) => table.extend((0..length).map(|_| reader.u16())),
            _ => table.resize(table.len() + length, 0),
        }
    }
    table
}
