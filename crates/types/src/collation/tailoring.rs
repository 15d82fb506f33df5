//! Tailorings: how a language's collation departs from the table of its version of the Unicode collation algorithm.
//!
//! A tailoring may move ranges of weights (a script before another), give single characters other weights, and give
//! weights to sequences of characters (contractions, `ch` in Czech). Everything else is the base table's.
//!
//! The file `data/tailorings.bin` comes from `tools/tailorings.py`, which asks a server. All numbers are little-endian; `v` is
//! a LEB128 number:
//!
//! ```text
//! u16 tailorings, then for each: u32 bytes that follow
//!   u8 base (0: UCA 9.0.0, 1: UCA 4.0.0) | u8 levels | u8 1 if keys hold weights of two bytes
//!   for each level: v count of moved ranges: u16 first, u16 last, u16 where the first goes, u16 weight before it or 0
//!   v runs of characters of one primary weight: v distance, v length, u16 for each
//!   v other characters: v distance, weights
//!   v sequences, by first character, longest first: u8 length, v for each character, weights
//! weights = for each level: u8 count, u16 for each
//! ```
//!
//! Invariants:
//! 1. A tailoring is read when it is first used, and kept: about 300 KiB for the largest (Chinese), 10 KiB for most.
//! 2. A text is cut into units from its beginning: the longest sequence that stands there, else one character. Finding a
//!    unit looks at no more than [`Tailoring::longest`] characters.
//! 3. A sequence has at least two characters, and no unit but a sequence has several.

use std::sync::OnceLock;

use super::family::{BAD_WEIGHT, Family, UCA400, UCA900, Uca, decode};
use super::plane::{self, Plane, Weights};
use crate::charset::Decoded;
use crate::table_file::TableReader;

/// The most levels a tailoring has.
pub(super) const LEVELS_MAX: usize = 3;

const DATA: &[u8] = include_bytes!("../../data/tailorings.bin");
const COUNT: usize = u16::from_le_bytes([DATA[0], DATA[1]]) as usize;
static LOADED: [OnceLock<Tailoring>; COUNT] = [const { OnceLock::new() }; COUNT];

/// A tailoring, by its place in the file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct TailoringId(pub(super) u8);

impl TailoringId {
    #[inline]
    pub(super) fn get(self) -> &'static Tailoring {
        LOADED[usize::from(self.0)].get_or_init(|| Tailoring::read(self.0))
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Tailoring {
    pub(super) base: Base,
    planes: &'static [&'static Plane],
    pub(super) has_wide_codes: bool,
    moves: [Vec<Move>; LEVELS_MAX],
    page_numbers: Vec<u16>,
    pages: Vec<[u32; 256]>,
    pool: Vec<u16>,
    sequences: Vec<Sequence>,
    /// The one weight of an ASCII character that begins no sequence, by level; 0 for others.
    ascii: [[u16; 128]; LEVELS_MAX],
    /// The code of that weight in keys, if it is one byte; 0 for others.
    pub(super) ascii_codes: [u8; 128],
    /// The first ASCII character with the same weights at the levels up to this one.
    ascii_same: [[u8; 128]; LEVELS_MAX],
    /// A printable ASCII character is the same as no other ASCII character but perhaps its other letter case.
    pub(super) has_ascii_cases: bool,
    /// The number of characters of the longest sequence, at least 1.
    pub(super) longest: usize,
}

/// What a tailoring departs from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Base {
    Uca900,
    Uca400,
}

static PLANES_900: [&Plane; 3] = [&plane::UCA900_1, &plane::UCA900_2, &plane::UCA900_3];
static PLANES_400: [&Plane; 1] = [&plane::UCA400];

#[derive(Debug)]
struct Move {
    first: u16,
    last: u16,
    target: u16,
    before: u16,
}

#[derive(Debug)]
struct Sequence {
    codes: Vec<u32>,
    /// Each character's first primary weight when it stands alone.
    firsts: Vec<u16>,
    at: usize,
}

// An entry of a page: whether the character begins a sequence; whether it stands in one before the end; then where its
// weights are.
const BEGINS: u32 = 1 << 31;
const JOINS: u32 = 1 << 30;
const SIMPLE: u32 = 1 << 29; // One primary weight, in the lower half, and the common ones below.
const POOLED: u32 = 1 << 28; // At this place in the pool.
const PLACE: u32 = POOLED - 1;

/// Weights of a unit at one level, before the ranges are moved.
#[derive(Clone, Debug)]
enum Source<'t> {
    Base(Weights),
    Listed(std::slice::Iter<'t, u16>),
}

/// The weights of one unit at one level.
#[derive(Clone, Debug)]
pub(super) struct UnitWeights<'t> {
    moves: &'t [Move],
    source: Source<'t>,
    moved: u16,      // Follows a weight that stands before it; 0: none.
    is_second: bool, // The next weight is the second of a computed pair.
}

impl UnitWeights<'_> {
    const NONE: Self = Self { moves: &[], source: Source::Base(Weights::NONE), moved: 0, is_second: false };

    fn one(weight: u16) -> Self {
        Self { source: Source::Base(Weights::one(weight)), ..Self::NONE }
    }
}

impl Iterator for UnitWeights<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        let base = match &mut self.source {
            Source::Listed(listed) => return listed.next().copied(),
            Source::Base(base) => base,
        };
        if self.moved != 0 {
            return Some(std::mem::take(&mut self.moved));
        }
        let weight = base.next()?;
        if self.moves.is_empty() {
            return Some(weight);
        }
        if self.is_second {
            self.is_second = false;
            return Some(weight);
        }
        self.is_second = (0xFB00..0xFC00).contains(&weight);
        let behind = self.moves.partition_point(|range| range.first <= weight);
        let Some(range) = self.moves[..behind].last().filter(|range| weight <= range.last) else {
            return Some(weight);
        };
        let moved = range.target + (weight - range.first);
        if range.before == 0 {
            return Some(moved);
        }
        self.moved = moved;
        Some(range.before)
    }
}

/// The weights of a text at one level.
#[derive(Clone, Debug)]
pub(super) struct TextWeights<'t, 'a> {
    tailoring: &'t Tailoring,
    level: usize,
    text: &'a [u8],
    unit: UnitWeights<'t>,
}

impl Iterator for TextWeights<'_, '_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        loop {
            if let Some(weight) = self.unit.next() {
                return Some(weight);
            }
            let &byte = self.text.first()?;
            if byte.is_ascii() {
                let weight = self.tailoring.ascii[self.level][usize::from(byte)];
                if weight != 0 {
                    self.text = &self.text[1..];
                    return Some(weight);
                }
            }
            let (unit, bytes) = self.tailoring.unit(self.level, self.text);
            self.unit = unit;
            self.text = &self.text[bytes..];
        }
    }
}

impl Tailoring {
    /// The weights of `text` at a level, from 0.
    pub(super) fn weights<'t, 'a>(&'t self, level: usize, text: &'a [u8]) -> TextWeights<'t, 'a> {
        TextWeights { tailoring: self, level, text, unit: UnitWeights::NONE }
    }

    /// Whether two ASCII characters by themselves have the same weights at the first `levels` levels.
    #[inline]
    pub(super) fn same_ascii(&self, levels: usize, a: u8, b: u8) -> bool {
        let same = &self.ascii_same[levels - 1];
        same[usize::from(a & 0x7F)] == same[usize::from(b & 0x7F)]
    }

    /// The weight nearly all characters have at a level below the first.
    pub(super) fn common(&self, level: usize) -> u16 {
        // An ASCII character may be tailored; a digit is not.
        self.ascii[level][usize::from(b'0')]
    }

    pub(super) fn space(&self) -> u16 {
        self.ascii[0][usize::from(b' ')]
    }

    /// The codes of weights in keys, if they are the base's.
    pub(super) fn base_codes(&self) -> &'static Uca {
        match self.base {
            Base::Uca900 => &UCA900,
            Base::Uca400 => &UCA400,
        }
    }

    #[inline]
    fn entry(&self, code: u32) -> u32 {
        match self.page_numbers[(code >> 8) as usize] {
            0 => 0,
            page => self.pages[usize::from(page) - 1][(code & 0xFF) as usize],
        }
    }

    /// The unit at the front of a text that is not empty, and its length in bytes.
    pub(super) fn unit(&self, level: usize, text: &[u8]) -> (UnitWeights<'_>, usize) {
        let decoded = decode(text);
        let Decoded::Char { code, bytes } = decoded else {
            return (self.char_weights(level, decoded), decoded.byte_count());
        };
        if self.entry(code) & BEGINS != 0
            && let Some((sequence, bytes)) = self.sequence_at(code, text, bytes)
        {
            return (self.pooled(level, sequence.at), bytes);
        }
        (self.char_weights(level, decoded), bytes)
    }

    /// The length in bytes of the unit at the front of a text that is not empty.
    pub(super) fn unit_bytes(&self, text: &[u8]) -> usize {
        match decode(text) {
            Decoded::Char { code, bytes } if self.entry(code) & BEGINS != 0 => {
                self.sequence_at(code, text, bytes).map_or(bytes, |(_, bytes)| bytes)
            }
            decoded => decoded.byte_count(),
        }
    }

    /// Whether a longer text that begins with this character may have a longer unit there.
    pub(super) fn begins_sequence(&self, decoded: Decoded) -> bool {
        matches!(decoded, Decoded::Char { code, .. } if self.entry(code) & BEGINS != 0)
    }

    /// Whether a sequence may go on behind this character.
    pub(super) fn joins(&self, decoded: Decoded) -> bool {
        matches!(decoded, Decoded::Char { code, .. } if self.entry(code) & JOINS != 0)
    }

    /// The longest sequence at the front of `text`, whose first character is `code`, of `bytes` bytes.
    fn sequence_at(&self, code: u32, text: &[u8], bytes: usize) -> Option<(&Sequence, usize)> {
        let first = self.sequences.partition_point(|sequence| sequence.codes[0] < code);
        let candidates = self.sequences[first..].iter().take_while(|sequence| sequence.codes[0] == code);
        candidates.into_iter().find_map(|sequence| {
            let mut at = bytes;
            for &code in &sequence.codes[1..] {
                match decode(&text[at..]) {
                    Decoded::Char { code: found, bytes } if found == code => at += bytes,
                    _ => return None,
                }
            }
            Some((sequence, at))
        })
    }

    /// The weights of a character by itself.
    pub(super) fn char_weights(&self, level: usize, decoded: Decoded) -> UnitWeights<'_> {
        let code = match decoded {
            Decoded::Char { code, .. } => code,
            Decoded::Bad { .. } => return UnitWeights::one(BAD_WEIGHT),
            Decoded::End => return UnitWeights::NONE,
        };
        let entry = self.entry(code);
        if entry & POOLED != 0 {
            return self.pooled(level, (entry & PLACE) as usize);
        }
        if entry & SIMPLE != 0 {
            return match level {
                0 => UnitWeights::one(entry as u16),
                1 => UnitWeights::one(0x20),
                _ => UnitWeights::one(0x02),
            };
        }
        match self.planes.get(level) {
            Some(plane) => UnitWeights {
                moves: &self.moves[level],
                source: Source::Base(plane.weights(code)),
                moved: 0,
                is_second: false,
            },
            None => UnitWeights::NONE,
        }
    }

    fn pooled(&self, level: usize, mut at: usize) -> UnitWeights<'_> {
        for _ in 0..level {
            at += 1 + usize::from(self.pool[at]);
        }
        let listed = &self.pool[at + 1..=at + usize::from(self.pool[at])];
        UnitWeights { source: Source::Listed(listed.iter()), ..UnitWeights::NONE }
    }

    /// The front of `literal` of which every text that matches it character by character has the same units, each of one
    /// character, whatever follows.
    ///
    /// A character that equals one of the text may be another one, and a sequence may begin or end with that.
    pub(super) fn certain_front<'a>(&self, literal: &'a [u8]) -> &'a [u8] {
        let mut characters = Vec::new(); // Each one's place, and its first weight.
        let mut at = 0;
        while at < literal.len() && characters.len() < CERTAIN_CHARS_MAX {
            let decoded = decode(&literal[at..]);
            characters.push((at, self.first_weight(decoded)));
            at += decoded.byte_count();
        }
        let may_be_in = |sequence: &Sequence, place: usize| {
            let firsts = &sequence.firsts;
            (0..firsts.len()).filter(|&offset| offset <= place).any(|offset| {
                let start = place - offset;
                firsts.iter().zip(&characters[start..]).all(|(first, (_, own))| first == own)
            })
        };
        let uncertain = (0..characters.len())
            .find(|&place| self.sequences.iter().any(|sequence| may_be_in(sequence, place)));
        let end = match uncertain {
            Some(place) => characters[place].0,
            None => at,
        };
        &literal[..end]
    }

    fn first_weight(&self, decoded: Decoded) -> u16 {
        self.char_weights(0, decoded).next().unwrap_or(0)
    }
}

/// How many characters of a pattern bound a range at most.
const CERTAIN_CHARS_MAX: usize = 256;

/// Weights of each level, as the pool holds them.
fn read_weights(reader: &mut TableReader, levels: usize, pool: &mut Vec<u16>) -> usize {
    let at = pool.len();
    for _ in 0..levels {
        let count = reader.u8();
        pool.push(u16::from(count));
        for _ in 0..count {
            pool.push(reader.u16());
        }
    }
    at
}

impl Tailoring {
    fn read(id: u8) -> Self {
        let mut reader = TableReader::of_part(&DATA[2..], usize::from(id));
        let (base, planes): (_, &[_]) = match reader.u8() {
            0 => (Base::Uca900, &PLANES_900),
            _ => (Base::Uca400, &PLANES_400),
        };
        let levels = usize::from(reader.u8());
        let mut tailoring = Self {
            base,
            planes,
            has_wide_codes: reader.u8() != 0,
            moves: [const { Vec::new() }; LEVELS_MAX],
            page_numbers: vec![0; 0x11_0000 / 256],
            pages: Vec::new(),
            pool: Vec::new(),
            sequences: Vec::new(),
            ascii: [[0; 128]; LEVELS_MAX],
            ascii_codes: [0; 128],
            ascii_same: [[0; 128]; LEVELS_MAX],
            has_ascii_cases: true,
            longest: 1,
        };
        for level in 0..levels {
            for _ in 0..reader.number() {
                let [first, last, target, before] = [(); 4].map(|()| reader.u16());
                tailoring.moves[level].push(Move { first, last, target, before });
            }
        }
        let mut code = 0;
        for _ in 0..reader.number() {
            code += reader.number();
            for _ in 0..reader.number() {
                *tailoring.entry_mut(code) = SIMPLE | u32::from(reader.u16());
                code += 1;
            }
        }
        let mut code = 0;
        for _ in 0..reader.number() {
            code += reader.number();
            let at = read_weights(&mut reader, levels, &mut tailoring.pool);
            *tailoring.entry_mut(code) = POOLED | at as u32;
        }
        for _ in 0..reader.number() {
            let length = reader.u8();
            let codes: Vec<u32> = (0..length).map(|_| reader.number()).collect();
            let at = read_weights(&mut reader, levels, &mut tailoring.pool);
            *tailoring.entry_mut(codes[0]) |= BEGINS;
            for &code in &codes[..codes.len() - 1] {
                *tailoring.entry_mut(code) |= JOINS;
            }
            tailoring.longest = tailoring.longest.max(codes.len());
            tailoring.sequences.push(Sequence { codes, firsts: Vec::new(), at });
        }
        tailoring.derive();
        tailoring
    }

    /// What follows from the file's contents.
    fn derive(&mut self) {
        let character = |code| Decoded::Char { code, bytes: 1 };
        for number in 0..self.sequences.len() {
            let first_of = |&code: &u32| self.first_weight(character(code));
            let firsts = self.sequences[number].codes.iter().map(first_of).collect();
            self.sequences[number].firsts = firsts;
        }
        for level in 0..LEVELS_MAX {
            for byte in 0..128_u8 {
                if self.begins_sequence(character(u32::from(byte))) {
                    continue;
                }
                let mut weights = self.char_weights(level, character(u32::from(byte)));
                if let (Some(weight), None) = (weights.next(), weights.next()) {
                    self.ascii[level][usize::from(byte)] = weight;
                }
            }
        }
        let mut code = Vec::new();
        for byte in 0..128 {
            let weight = self.ascii[0][byte];
            if weight != 0 && !self.has_wide_codes {
                code.clear();
                self.base_codes().write(weight, &mut false, &mut code);
                if let [code] = code[..] {
                    self.ascii_codes[byte] = code;
                }
            }
        }
        for level in 0..LEVELS_MAX {
            for byte in 0..128_u8 {
                let is_same = |other: &u8| {
                    (0..=level).all(|level| {
                        let weights = |byte: u8| self.char_weights(level, character(u32::from(byte)));
                        weights(byte).eq(weights(*other))
                    })
                };
                let first = (0..byte).find(is_same).unwrap_or(byte);
                self.ascii_same[level][usize::from(byte)] = first;
                let is_printable = (b' '..=b'~').contains(&byte);
                if is_printable && first != byte && !first.eq_ignore_ascii_case(&byte) {
                    self.has_ascii_cases = false;
                }
            }
        }
    }

    fn entry_mut(&mut self, code: u32) -> &mut u32 {
        let page = &mut self.page_numbers[(code >> 8) as usize];
        if *page == 0 {
            self.pages.push([0; 256]);
            *page = self.pages.len() as u16;
        }
        &mut self.pages[usize::from(*page) - 1][(code & 0xFF) as usize]
    }
}

/// How weights of one tailoring are written in keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codes {
    base: Option<&'static Uca>,
    in_pair: bool,
}

impl Codes {
    pub(super) fn new(tailoring: &Tailoring) -> Self {
        Self { base: (!tailoring.has_wide_codes).then(|| tailoring.base_codes()), in_pair: false }
    }

    /// Whether the next weight is the second of a computed pair.
    pub(super) fn in_pair(self) -> bool {
        self.in_pair
    }

    /// The code of the space, which is one byte in every tailoring that pads.
    pub(super) fn space(self) -> u8 {
        self.base.map_or(0, |base| base.ascii_codes()[usize::from(b' ')])
    }

    #[inline]
    pub(super) fn write(&mut self, weight: u16, key: &mut Vec<u8>) {
        match self.base {
            Some(base) => base.write(weight, &mut self.in_pair, key),
            // No weight is below 0100, so that 00 can end the key.
            None => key.extend(weight.to_be_bytes()),
        }
    }
}
