//! Tables over all code points: weights of one level, or the distance to the other letter case.
//!
//! A plane is a page table: the high bits of a code point choose one of the distinct pages of 256 entries, the low
//! byte an entry of 16 bits. In the file, all numbers little-endian:
//!
//! ```text
//! u16 page count | u16 pool length | u16 greatest weight below FB00 | u16 0 | u8 page number * 4352 | pages | pool
//! ```
//!
//! An entry of a weight plane is
//!
//! | entry | the character's weights at this level |
//! | --- | --- |
//! | 0 | none: ignorable |
//! | 0001 to 7FFF | that one |
//! | 8000 + i | in the pool: at `i` their count, then they |
//! | FFFB | those of the Hangul syllable's parts |
//! | FFFC to FFFF | two computed ones (UCA "implicit weights"): Tangut, Han extensions, Han, unassigned |
//!
//! An entry of any other plane is a distance, added to the low 16 bits of the code point.
//!
//! The files come from `tools/collation_tables.py`.

const HEADER_BYTES: usize = 8;
const INDEX_BYTES: usize = 0x11_0000 / 256;
const PAGE_BYTES: usize = 512;

/// A table over all code points. See the module.
#[derive(Debug)]
pub(super) struct Plane {
    index: &'static [u8; INDEX_BYTES],
    pages: &'static [u8],
    pool: &'static [u8],
    /// The greatest weight below FB00, where computed ones begin.
    pub(super) weight_max: u16,
}

const fn number(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

impl Plane {
    /// Over the bytes of a file; a malformed one does not compile.
    const fn new(file: &'static [u8]) -> Self {
        let (header, rest) = file.split_at(HEADER_BYTES);
        let Some((index, rest)) = rest.split_first_chunk() else { panic!("a plane's file is too short") };
        let (pages, pool) = rest.split_at(number(header, 0) as usize * PAGE_BYTES);
        assert!(pool.len() == number(header, 2) as usize * 2);
        Self { index, pages, pool, weight_max: number(header, 4) }
    }

    #[inline]
    pub(super) const fn entry(&self, code: u32) -> u16 {
        let page = self.index[(code >> 8) as usize] as usize;
        number(self.pages, page * PAGE_BYTES + (code & 0xFF) as usize * 2)
    }

    /// `code` plus its distance.
    #[inline]
    pub(super) const fn shifted(&self, code: u32) -> u32 {
        code & 0xFFFF_0000 | (code as u16).wrapping_add(self.entry(code)) as u32
    }

    /// The character's weights at this level.
    #[inline]
    pub(super) fn weights(&self, code: u32) -> Weights {
        match self.entry(code) {
            single @ 0..0x8000 => Weights { queue: [single, 0, 0], pool: &[] },
            pooled @ 0x8000..HANGUL => {
                let at = usize::from(pooled & 0x7FFF) * 2;
                let count = usize::from(number(self.pool, at));
                Weights { queue: [0; 3], pool: &self.pool[at + 2..at + 2 + count * 2] }
            }
            kind => Weights { queue: self.computed(code, kind), pool: &[] },
        }
    }

    fn computed(&self, code: u32, kind: u16) -> [u16; 3] {
        if kind != HANGUL {
            let [first, second] = computed_pair(code, kind);
            return [first, second, 0];
        }
        let syllable = code - 0xAC00;
        let part = |first, index| self.entry(first + index); // Each has one weight.
        let trail = syllable % 28;
        [
            part(0x1100, syllable / 588),
            part(0x1161, syllable % 588 / 28),
            if trail == 0 { 0 } else { part(0x11A7, trail) },
        ]
    }

    /// The weights of a character that has at most two, the first in the high half, 0 where there is none;
    /// [`MANY`] if it may have more.
    #[inline]
    pub(super) fn packed(&self, code: u32) -> u32 {
        match self.entry(code) {
            single @ 0..0x8000 => u32::from(single) << 16,
            0x8000..=HANGUL => MANY,
            kind => {
                let [first, second] = computed_pair(code, kind);
                u32::from(first) << 16 | u32::from(second)
            }
        }
    }
}

/// Stands for the weights of a character with more than two.
pub(super) const MANY: u32 = u32::MAX;

const HANGUL: u16 = 0xFFFB;

#[inline]
fn computed_pair(code: u32, kind: u16) -> [u16; 2] {
    let base = match kind {
        0xFFFC => return [0xFB00, (code - 0x1_7000) as u16 | 0x8000],
        0xFFFD => 0xFB80,
        0xFFFE => 0xFB40,
        _ => 0xFBC0,
    };
    [base + (code >> 15) as u16, code as u16 | 0x8000]
}

/// The weights of one character at one level. None is zero.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    queue: [u16; 3], // Up to the first zero; then `pool` follows.
    pool: &'static [u8],
}

impl Weights {
    pub(super) const NONE: Self = Self { queue: [0; 3], pool: &[] };

    pub(super) const fn one(weight: u16) -> Self {
        Self { queue: [weight, 0, 0], pool: &[] }
    }
}

impl Iterator for Weights {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        let [first, second, third] = self.queue;
        if first != 0 {
            self.queue = [second, third, 0];
            return Some(first);
        }
        let (front, rest) = self.pool.split_first_chunk()?;
        self.pool = rest;
        Some(u16::from_le_bytes(*front))
    }
}

macro_rules! planes {
    ($($(#[$doc:meta])* $name:ident = $file:literal;)*) => {
        $($(#[$doc])* pub(super) static $name: Plane = Plane::new(include_bytes!(concat!("../../data/", $file, ".bin")));)*
    };
}

planes! {
    /// Primary weights, UCA 9.0.0.
    UCA900_1 = "uca900_1";
    /// Secondary weights (accents).
    UCA900_2 = "uca900_2";
    /// Tertiary weights (letter case and form).
    UCA900_3 = "uca900_3";
    /// Primary weights, UCA 5.2.0.
    UCA520 = "uca520_1";
    /// Primary weights, UCA 4.0.0.
    UCA400 = "uca400_1";
    /// Distance from a character to its weight under `general_ci`, for the Basic Multilingual Plane.
    GENERAL = "general";
    /// Distance to the capital letter: `general_ci`, `unicode_ci`, `_bin`.
    UPPER_GENERAL = "upper_general";
    /// Distance to the small letter: `general_ci`, `unicode_ci`, `_bin`.
    LOWER_GENERAL = "lower_general";
    /// Distance to the capital letter: `unicode_520_ci`.
    UPPER_UCA520 = "upper_uca520";
    /// Distance to the small letter: `unicode_520_ci`.
    LOWER_UCA520 = "lower_uca520";
    /// Distance to the capital letter: the 0900 collations.
    UPPER_UCA900 = "upper_uca900";
    /// Distance to the small letter: the 0900 collations.
    LOWER_UCA900 = "lower_uca900";
}
