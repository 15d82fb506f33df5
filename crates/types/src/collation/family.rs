//! What the algorithms need to know of a collation whose texts are UTF-8: the weights of a character, and how a
//! weight is written in a sort key.
//!
//! A weight is 16 bits, as MySQL's. In a sort key the weights that ASCII characters have, and a few more, take one
//! byte, most others two, so that an English text has a key of its own length where MySQL's is twice that. The code
//! of a weight is a prefix code that keeps the order; byte 00 begins none, so it can end a key.
//!
//! **The codes are part of the file format**: indexes on disk hold them. They follow from the planes alone.

use super::plane::{self, Plane, Weights};
use crate::charset::{Decoded, decode_utf8};

/// The weight of a byte that belongs to no character: above all others.
pub(super) const BAD_WEIGHT: u16 = 0xFFFE;

/// The number of ASCII characters.
pub(super) const ASCII: usize = 128;

/// A collation's alphabet at the primary level.
pub(super) trait Family: Copy {
    /// The weights of one character, most often one.
    type Weights: Iterator<Item = u16> + Clone;

    /// Of a character that has none.
    const NO_WEIGHTS: Self::Weights;

    /// Whether some ASCII characters have no weight (the control characters in UCA).
    const IGNORES: bool;

    /// The weights of the character with this code point.
    fn weights(self, code: u32) -> Self::Weights;

    /// The weights of a character that has at most two, the first in the high half, 0 where there is none;
    /// [`plane::MANY`] if it may have more.
    fn packed(self, code: u32) -> u32;

    /// The weights of a bad byte.
    fn bad_weights(self) -> Self::Weights;

    /// The key codes of the ASCII characters, each one byte, in the order of their weights; 0 where there is no
    /// weight. Letters that differ in case have the same.
    fn ascii_codes(self) -> &'static [u8; ASCII];

    /// The weight of U+0020.
    fn space(self) -> u16;

    /// Appends the code of `weight`. `in_pair` starts as `false` for a text and is kept for the next call: the second
    /// of two computed weights is written without a code.
    fn write(self, weight: u16, in_pair: &mut bool, key: &mut Vec<u8>);

    /// The ASCII character (letters: the small one) that has exactly this weight, if any.
    fn ascii_of(self, weight: u16) -> Option<u8>;
}

/// The weights of a text, one after the other.
#[derive(Clone)]
pub(super) struct Scan<'a, F: Family> {
    family: F,
    text: &'a [u8],
    current: F::Weights,
}

/// The character at the front of a UTF-8 text, also for `utf8mb3`: a text of that set has none of four bytes.
#[inline]
pub(super) fn decode(text: &[u8]) -> Decoded {
    decode_utf8::<4>(text)
}

/// Where the last character of a UTF-8 text that is not empty begins.
pub(super) fn last_char_start(text: &[u8]) -> usize {
    let earliest = text.len().saturating_sub(4);
    (earliest..text.len()).rev().find(|&at| text[at] & 0xC0 != 0x80).unwrap_or(text.len() - 1)
}

impl<'a, F: Family> Scan<'a, F> {
    pub(super) fn new(family: F, text: &'a [u8]) -> Self {
        Self { family, text, current: F::NO_WEIGHTS }
    }

    /// Goes to the next character; `false` at the end.
    #[inline]
    fn step(&mut self) -> bool {
        let decoded = decode(self.text);
        self.current = match decoded {
            Decoded::Char { code, .. } => self.family.weights(code),
            Decoded::Bad { .. } => self.family.bad_weights(),
            Decoded::End => return false,
        };
        self.text = &self.text[decoded.byte_count()..];
        true
    }

    /// What is left, if that begins with a whole character.
    #[inline]
    pub(super) fn rest_of_text(&self) -> Option<&'a [u8]> {
        self.current.clone().next().is_none().then_some(self.text)
    }
}

impl<F: Family> Iterator for Scan<'_, F> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        loop {
            if let Some(weight) = self.current.next() {
                return Some(weight);
            }
            if !self.step() {
                return None;
            }
        }
    }
}

/// `general_ci`: every character has one weight, most often that of its capital letter without accents.
///
/// Codes: weight w below 80 is the byte w + 1; below 7E80 one of the 126 leads from 81 and a byte; else FF and the
/// weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct General;

/// `general_mysql500_ci`: the same but for ß, which is no s.
#[derive(Clone, Copy, Debug)]
pub(super) struct GeneralMysql500;

/// `tolower_ci`: the weight is the small letter, accents count.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToLower;

/// A collation whose characters have one weight each, all coded like those of `general_ci`.
pub(super) trait SingleWeight: Copy {
    /// See [`Family::ascii_codes`].
    const ASCII_CODES: &'static [u8; ASCII];

    /// The weight of a character of the Basic Multilingual Plane.
    fn weight(code: u32) -> u16;
}

impl SingleWeight for General {
    const ASCII_CODES: &'static [u8; ASCII] = &GENERAL_ASCII_CODES;

    #[inline]
    fn weight(code: u32) -> u16 {
        plane::GENERAL.shifted(code) as u16
    }
}

impl SingleWeight for GeneralMysql500 {
    const ASCII_CODES: &'static [u8; ASCII] = &GENERAL_ASCII_CODES;

    #[inline]
    fn weight(code: u32) -> u16 {
        if code == 0xDF { 0xDF } else { General::weight(code) }
    }
}

impl SingleWeight for ToLower {
    const ASCII_CODES: &'static [u8; ASCII] = &TO_LOWER_ASCII_CODES;

    #[inline]
    fn weight(code: u32) -> u16 {
        plane::LOWER_GENERAL.shifted(code) as u16
    }
}

/// At most one weight.
#[derive(Clone, Debug)]
pub(super) struct Single(Option<u16>);

impl Iterator for Single {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        self.0.take()
    }
}

/// Where codes of three bytes begin.
const GENERAL_LONG: u16 = 0x80 + 126 * 256;

static GENERAL_ASCII_CODES: [u8; ASCII] = {
    let mut codes = [0; ASCII];
    let mut byte = 0;
    while byte < ASCII {
        let weight = plane::GENERAL.shifted(byte as u32);
        assert!(weight == (byte as u8).to_ascii_uppercase() as u32);
        codes[byte] = weight as u8 + 1;
        byte += 1;
    }
    codes
};

static TO_LOWER_ASCII_CODES: [u8; ASCII] = {
    let mut codes = [0; ASCII];
    let mut byte = 0;
    while byte < ASCII {
        codes[byte] = (byte as u8).to_ascii_lowercase() + 1;
        byte += 1;
    }
    codes
};

impl<T: SingleWeight> Family for T {
    type Weights = Single;

    const NO_WEIGHTS: Single = Single(None);
    const IGNORES: bool = false;

    #[inline]
    fn weights(self, code: u32) -> Self::Weights {
        Single(Some((self.packed(code) >> 16) as u16))
    }

    #[inline]
    fn packed(self, code: u32) -> u32 {
        if code > 0xFFFF { 0xFFFD_0000 } else { u32::from(T::weight(code)) << 16 }
    }

    fn bad_weights(self) -> Self::Weights {
        Single(Some(BAD_WEIGHT))
    }

    #[inline]
    fn ascii_codes(self) -> &'static [u8; ASCII] {
        T::ASCII_CODES
    }

    #[inline]
    fn space(self) -> u16 {
        0x20
    }

    #[inline]
    fn write(self, weight: u16, _: &mut bool, key: &mut Vec<u8>) {
        match weight {
            0..0x80 => key.push(weight as u8 + 1),
            0x80..GENERAL_LONG => {
                let [lead, rest] = (weight - 0x80).to_be_bytes();
                key.extend([lead + 0x81, rest]);
            }
            _ => {
                let [high, low] = weight.to_be_bytes();
                key.extend([0xFF, high, low]);
            }
        }
    }

    #[inline]
    fn ascii_of(self, weight: u16) -> Option<u8> {
        u8::try_from(weight).ok().filter(u8::is_ascii).map(|byte| byte.to_ascii_lowercase())
    }
}

/// A version of the Unicode collation algorithm, at its primary level.
#[derive(Debug)]
pub(super) struct Uca {
    plane: &'static Plane,
    leads: Leads,
}

/// The codes of UCA weights. Weights are cut into ranges, one for each lead byte from 01; a range of one weight is
/// coded by its lead alone, a longer one, of up to 256, by its lead and the place in it.
///
/// Alone stand the weights of ASCII characters and of the two blocks of Han ideographs, FB40 and FB41. Of two computed
/// weights the second needs no lead, for it always follows the first: it is written as it is.
#[derive(Debug)]
struct Leads {
    starts: [u16; 256], // The first weight of each lead's range; FFFF behind the last lead.
    is_alone: [bool; 256],
    near: [u8; 4096], // The lead of `weight & FFF0`, to search from.
    ascii_codes: [u8; ASCII],
    ascii_of_lead: [u8; 256], // 0: no ASCII character.
}

impl Leads {
    const fn new(plane: &Plane) -> Self {
        // The weights that stand alone, sorted.
        let mut alone = [0_u16; ASCII + 2];
        let mut alone_count = 0;
        let mut candidate = 0;
        while candidate < ASCII + 2 {
            let weight = match candidate {
                ASCII => 0xFB40,
                ASCII_AND_ONE => 0xFB41,
                _ => plane.entry(candidate as u32),
            };
            assert!(weight < 0x8000 || candidate >= ASCII);
            let mut at = 0;
            while at < alone_count && alone[at] < weight {
                at += 1;
            }
            if weight != 0 && (at == alone_count || alone[at] != weight) {
                let mut moved = alone_count;
                while moved > at {
                    alone[moved] = alone[moved - 1];
                    moved -= 1;
                }
                alone[at] = weight;
                alone_count += 1;
            }
            candidate += 1;
        }
        // The ranges: between those, pages of 256 up to the greatest listed weight; then the computed ones; then
        // FFxx (bad bytes, and U+FFFD where it has that weight).
        let mut leads = Self {
            starts: [0xFFFF; 256],
            is_alone: [false; 256],
            near: [0; 4096],
            ascii_codes: [0; ASCII],
            ascii_of_lead: [0; 256],
        };
        let mut lead = 1;
        let mut weight: u32 = 1;
        let mut next_alone = 0;
        while weight <= 0xFFFF {
            leads.starts[lead] = weight as u16;
            let limit = if next_alone < alone_count { alone[next_alone] as u32 } else { 0x1_0000 };
            let mut end = if weight == limit {
                leads.is_alone[lead] = true;
                next_alone += 1;
                weight + 1
            } else if weight + 256 < limit {
                weight + 256
            } else {
                limit
            };
            // What no character has needs no codes.
            if end > plane.weight_max as u32 && end <= 0xFB00 {
                end = 0xFB00;
            } else if end > 0xFC00 && end < 0xFF00 {
                end = 0xFF00;
            }
            weight = end;
            lead += 1;
            assert!(lead < 255);
        }
        let (mut high, mut lead) = (0, 1);
        while high < 4096 {
            while leads.starts[lead + 1] <= (high << 4) as u16 {
                lead += 1;
            }
            leads.near[high] = lead as u8;
            high += 1;
        }
        let mut byte = 0;
        while byte < ASCII {
            let weight = plane.entry(byte as u32);
            if weight != 0 {
                let lead = leads.lead(weight);
                assert!(leads.is_alone[lead as usize]);
                leads.ascii_codes[byte] = lead;
                let folded = (byte as u8).to_ascii_lowercase();
                // The fast paths rely on it: small and capital letter, and no others, have the same weight.
                assert!(
                    byte as u8 == folded && leads.ascii_of_lead[lead as usize] == 0
                        || byte as u8 != folded && plane.entry(folded as u32) == weight
                        || leads.ascii_of_lead[lead as usize] == folded
                );
                leads.ascii_of_lead[lead as usize] = folded;
            }
            byte += 1;
        }
        leads
    }

    #[inline]
    const fn lead(&self, weight: u16) -> u8 {
        let mut lead = self.near[(weight >> 4) as usize];
        while lead < 254 && self.starts[lead as usize + 1] <= weight {
            lead += 1;
        }
        lead
    }
}

const ASCII_AND_ONE: usize = ASCII + 1;

impl Uca {
    const fn new(plane: &'static Plane) -> Self {
        Self { plane, leads: Leads::new(plane) }
    }
}

pub(super) static UCA400: Uca = Uca::new(&plane::UCA400);
pub(super) static UCA520: Uca = Uca::new(&plane::UCA520);
pub(super) static UCA900: Uca = Uca::new(&plane::UCA900_1);

impl Family for &'static Uca {
    type Weights = Weights;

    const NO_WEIGHTS: Weights = Weights::NONE;
    const IGNORES: bool = true;

    #[inline]
    fn weights(self, code: u32) -> Weights {
        self.plane.weights(code)
    }

    #[inline]
    fn packed(self, code: u32) -> u32 {
        self.plane.packed(code)
    }

    fn bad_weights(self) -> Weights {
        Weights::one(BAD_WEIGHT)
    }

    #[inline]
    fn ascii_codes(self) -> &'static [u8; ASCII] {
        &self.leads.ascii_codes
    }

    #[inline]
    fn space(self) -> u16 {
        self.plane.entry(0x20)
    }

    #[inline]
    fn write(self, weight: u16, in_pair: &mut bool, key: &mut Vec<u8>) {
        if *in_pair {
            key.extend(weight.to_be_bytes());
            *in_pair = false;
            return;
        }
        let lead = self.leads.lead(weight);
        key.push(lead);
        if !self.leads.is_alone[usize::from(lead)] {
            let place = weight - self.leads.starts[usize::from(lead)];
            debug_assert!(place < 256);
            key.push(place as u8);
        }
        *in_pair = (0xFB00..0xFC00).contains(&weight);
    }

    #[inline]
    fn ascii_of(self, weight: u16) -> Option<u8> {
        let lead = usize::from(self.leads.lead(weight));
        let byte = self.leads.ascii_of_lead[lead];
        (self.leads.is_alone[lead] && byte != 0).then_some(byte)
    }
}
