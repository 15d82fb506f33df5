//! The single-byte character sets besides `latin1` and `ascii`: tables of what MySQL answers for each byte.
//!
//! The lower half of each but swe7 is ASCII. A byte without a meaning in its set has no code point; it is a character all the
//! same, and becomes `?` in other sets. Made by `tools/single_byte_tables.py`; `tests/collation_oracle.rs` compares.

use super::Charset;

static DATA: &[u8] = include_bytes!("../../data/single_byte.bin");

const SET_BYTES: usize = 256 * 4;
const UPPER_AT: usize = 256 * 2;
const LOWER_AT: usize = 256 * 3;
/// The code point of a byte that has none.
const NO_CODE: u16 = 0xFFFF;

/// One set.
pub(super) struct Set {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
}

macro_rules! sets {
    ($($charset:ident, $name:literal, $description:literal;)*) => {
        /// In the order of [`Charset`].
        pub(super) const SETS: &[Set] = &[
            $(Set {
                name: $name,
                description: $description,
            },)*
        ];
        const ORDER: &[Charset] = &[$(Charset::$charset),*];
    };
}

sets! {
    Armscii8, "armscii8", "ARMSCII-8 Armenian";
    Cp1250, "cp1250", "Windows Central European";
    Cp1251, "cp1251", "Windows Cyrillic";
    Cp1256, "cp1256", "Windows Arabic";
    Cp1257, "cp1257", "Windows Baltic";
    Cp850, "cp850", "DOS West European";
    Cp852, "cp852", "DOS Central European";
    Cp866, "cp866", "DOS Russian";
    Dec8, "dec8", "DEC West European";
    Geostd8, "geostd8", "GEOSTD8 Georgian";
    Greek, "greek", "ISO 8859-7 Greek";
    Hebrew, "hebrew", "ISO 8859-8 Hebrew";
    Hp8, "hp8", "HP West European";
    Keybcs2, "keybcs2", "DOS Kamenicky Czech-Slovak";
    Koi8r, "koi8r", "KOI8-R Relcom Russian";
    Koi8u, "koi8u", "KOI8-U Ukrainian";
    Latin2, "latin2", "ISO 8859-2 Central European";
    Latin5, "latin5", "ISO 8859-9 Turkish";
    Latin7, "latin7", "ISO 8859-13 Baltic";
    Macce, "macce", "Mac Central European";
    Macroman, "macroman", "Mac West European";
    Swe7, "swe7", "7bit Swedish";
}

/// Position in [`SETS`] of a set; `None` for those with code of their own.
pub(super) const fn position(charset: Charset) -> Option<usize> {
    (charset as usize).checked_sub(Charset::Armscii8 as usize)
}

const _: () = {
    let mut index = 0;
    while index < ORDER.len() {
        assert!(ORDER[index] as usize == Charset::Armscii8 as usize + index);
        index += 1;
    }
};

/// The code point of a byte.
pub(super) fn to_unicode(position: usize, byte: u8) -> Option<u32> {
    let at = position * SET_BYTES + 2 * usize::from(byte);
    let code = u16::from_le_bytes([DATA[at], DATA[at + 1]]);
    (code != NO_CODE).then_some(u32::from(code))
}

/// The byte of a code point.
pub(super) fn from_unicode(position: usize, code: u32) -> Option<u8> {
    if code < 0x80 && ORDER[position].extends_ascii() {
        return u8::try_from(code).ok();
    }
    let wanted = u16::try_from(code).ok().filter(|code| *code != NO_CODE)?.to_le_bytes();
    let codes = &DATA[position * SET_BYTES..position * SET_BYTES + UPPER_AT];
    let first = if ORDER[position].extends_ascii() { 0x80 } else { 0 };
    let found = codes[2 * first..].chunks_exact(2).position(|pair| pair == wanted)?;
    u8::try_from(first + found).ok()
}

/// The bytes in upper (or lower) case.
pub(crate) fn case_table(charset: Charset, upper: bool) -> Option<&'static [u8]> {
    let start = position(charset)? * SET_BYTES + if upper { UPPER_AT } else { LOWER_AT };
    Some(&DATA[start..start + 256])
}

/// The weights of the collation with this number in the file.
pub(crate) const fn weights(number: usize) -> &'static [u8; 256] {
    const BYTES: &[u8] = include_bytes!("../../data/single_byte.bin");
    let (_, rest) = BYTES.split_at(SETS.len() * SET_BYTES + number * 256);
    match rest.first_chunk() {
        Some(table) => table,
        None => panic!("data/single_byte.bin is too short"),
    }
}
