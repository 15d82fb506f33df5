//! The collations there are, with MySQL's numbers and names.

use super::CollationId;
use crate::charset::Charset;

/// Whether trailing spaces count when texts are compared.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Padding {
    /// The shorter text is compared as if spaces followed it: `'a' = 'a  '`.
    PadSpace,
    /// Texts are compared as they are.
    NoPad,
}

impl Padding {
    /// As `information_schema.COLLATIONS.PAD_ATTRIBUTE` shows it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PadSpace => "PAD SPACE",
            Self::NoPad => "NO PAD",
        }
    }
}

/// One row of `information_schema.COLLATIONS`.
#[derive(Clone, Copy, Debug)]
pub struct CollationInfo {
    /// MySQL's number.
    pub id: CollationId,
    /// The name, in small letters.
    pub name: &'static str,
    /// The set its texts are in.
    pub charset: Charset,
    /// What trailing spaces mean.
    pub padding: Padding,
    /// `SORTLEN`: MySQL's bound of weight bytes per text byte, shown and otherwise without use here.
    pub sort_length: u32,
    /// How it orders.
    pub(super) rules: Rules,
}

/// The family of orders a collation belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Rules {
    /// By bytes: `binary`, every `_bin`. In UTF-8 the order of bytes is the order of code points.
    Bytes,
    /// One weight byte per byte, from a table of 256.
    ByteTable(&'static [u8; 256]),
    /// One 16-bit weight per character: `general_ci`.
    General,
    /// Unicode collation algorithm, version 4.0.0, primary weights: `unicode_ci`.
    Uca400,
    /// Version 5.2.0, primary weights: `unicode_520_ci`.
    Uca520,
    /// Version 9.0.0 with 1 (`ai_ci`), 2 (`as_ci`) or 3 (`as_cs`) levels.
    Uca900 { levels: usize },
}

impl CollationInfo {
    /// Whether it is its character set's default (`IS_DEFAULT`).
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.charset.default_collation() == self.id
    }

    pub(super) fn is_no_pad(&self) -> bool {
        self.padding == Padding::NoPad
    }
}

macro_rules! collations {
    ($($constant:ident, $id:literal, $name:literal, $charset:ident, $padding:ident, $sort_length:literal, $rules:expr;)*) => {
        impl CollationId {
            $(
                #[doc = concat!("`", $name, "`")]
                pub const $constant: Self = Self($id);
            )*
        }

        /// All collations, by rising number.
        pub(super) static ALL: &[CollationInfo] = &[
            $(CollationInfo {
                id: CollationId::$constant,
                name: $name,
                charset: Charset::$charset,
                padding: Padding::$padding,
                sort_length: $sort_length,
                rules: $rules,
            },)*
        ];
    };
}

use super::byte_tables as bt;
use crate::charset::single_byte;

collations! {
    DEC8_SWEDISH_CI, 3, "dec8_swedish_ci", Dec8, PadSpace, 1, Rules::ByteTable(single_byte::weights(14));
    CP850_GENERAL_CI, 4, "cp850_general_ci", Cp850, PadSpace, 1, Rules::ByteTable(single_byte::weights(11));
    LATIN1_GERMAN1_CI, 5, "latin1_german1_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_GERMAN1_CI);
    HP8_ENGLISH_CI, 6, "hp8_english_ci", Hp8, PadSpace, 1, Rules::ByteTable(single_byte::weights(18));
    KOI8R_GENERAL_CI, 7, "koi8r_general_ci", Koi8r, PadSpace, 1, Rules::ByteTable(single_byte::weights(20));
    LATIN1_SWEDISH_CI, 8, "latin1_swedish_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_SWEDISH_CI);
    LATIN2_GENERAL_CI, 9, "latin2_general_ci", Latin2, PadSpace, 1, Rules::ByteTable(single_byte::weights(22));
    ASCII_GENERAL_CI, 11, "ascii_general_ci", Ascii, PadSpace, 1, Rules::ByteTable(&bt::ASCII_GENERAL_CI);
    CP1251_BULGARIAN_CI, 14, "cp1251_bulgarian_ci", Cp1251, PadSpace, 1, Rules::ByteTable(single_byte::weights(4));
    LATIN1_DANISH_CI, 15, "latin1_danish_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_DANISH_CI);
    HEBREW_GENERAL_CI, 16, "hebrew_general_ci", Hebrew, PadSpace, 1, Rules::ByteTable(single_byte::weights(17));
    LATIN7_ESTONIAN_CS, 20, "latin7_estonian_cs", Latin7, PadSpace, 1, Rules::ByteTable(single_byte::weights(26));
    LATIN2_HUNGARIAN_CI, 21, "latin2_hungarian_ci", Latin2, PadSpace, 1, Rules::ByteTable(single_byte::weights(23));
    KOI8U_GENERAL_CI, 22, "koi8u_general_ci", Koi8u, PadSpace, 1, Rules::ByteTable(single_byte::weights(21));
    CP1251_UKRAINIAN_CI, 23, "cp1251_ukrainian_ci", Cp1251, PadSpace, 1, Rules::ByteTable(single_byte::weights(5));
    GREEK_GENERAL_CI, 25, "greek_general_ci", Greek, PadSpace, 1, Rules::ByteTable(single_byte::weights(16));
    CP1250_GENERAL_CI, 26, "cp1250_general_ci", Cp1250, PadSpace, 1, Rules::ByteTable(single_byte::weights(1));
    LATIN2_CROATIAN_CI, 27, "latin2_croatian_ci", Latin2, PadSpace, 1, Rules::ByteTable(single_byte::weights(24));
    CP1257_LITHUANIAN_CI, 29, "cp1257_lithuanian_ci", Cp1257, PadSpace, 1, Rules::ByteTable(single_byte::weights(9));
    LATIN5_TURKISH_CI, 30, "latin5_turkish_ci", Latin5, PadSpace, 1, Rules::ByteTable(single_byte::weights(25));
    ARMSCII8_GENERAL_CI, 32, "armscii8_general_ci", Armscii8, PadSpace, 1, Rules::ByteTable(single_byte::weights(0));
    UTF8MB3_GENERAL_CI, 33, "utf8mb3_general_ci", Utf8mb3, PadSpace, 1, Rules::General;
    CP866_GENERAL_CI, 36, "cp866_general_ci", Cp866, PadSpace, 1, Rules::ByteTable(single_byte::weights(13));
    KEYBCS2_GENERAL_CI, 37, "keybcs2_general_ci", Keybcs2, PadSpace, 1, Rules::ByteTable(single_byte::weights(19));
    MACCE_GENERAL_CI, 38, "macce_general_ci", Macce, PadSpace, 1, Rules::ByteTable(single_byte::weights(29));
    MACROMAN_GENERAL_CI, 39, "macroman_general_ci", Macroman, PadSpace, 1, Rules::ByteTable(single_byte::weights(30));
    CP852_GENERAL_CI, 40, "cp852_general_ci", Cp852, PadSpace, 1, Rules::ByteTable(single_byte::weights(12));
    LATIN7_GENERAL_CI, 41, "latin7_general_ci", Latin7, PadSpace, 1, Rules::ByteTable(single_byte::weights(27));
    LATIN7_GENERAL_CS, 42, "latin7_general_cs", Latin7, PadSpace, 1, Rules::ByteTable(single_byte::weights(28));
    MACCE_BIN, 43, "macce_bin", Macce, PadSpace, 1, Rules::Bytes;
    CP1250_CROATIAN_CI, 44, "cp1250_croatian_ci", Cp1250, PadSpace, 1, Rules::ByteTable(single_byte::weights(2));
    UTF8MB4_GENERAL_CI, 45, "utf8mb4_general_ci", Utf8mb4, PadSpace, 1, Rules::General;
    UTF8MB4_BIN, 46, "utf8mb4_bin", Utf8mb4, PadSpace, 1, Rules::Bytes;
    LATIN1_BIN, 47, "latin1_bin", Latin1, PadSpace, 1, Rules::Bytes;
    LATIN1_GENERAL_CI, 48, "latin1_general_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_GENERAL_CI);
    LATIN1_GENERAL_CS, 49, "latin1_general_cs", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_GENERAL_CS);
    CP1251_BIN, 50, "cp1251_bin", Cp1251, PadSpace, 1, Rules::Bytes;
    CP1251_GENERAL_CI, 51, "cp1251_general_ci", Cp1251, PadSpace, 1, Rules::ByteTable(single_byte::weights(6));
    CP1251_GENERAL_CS, 52, "cp1251_general_cs", Cp1251, PadSpace, 1, Rules::ByteTable(single_byte::weights(7));
    MACROMAN_BIN, 53, "macroman_bin", Macroman, PadSpace, 1, Rules::Bytes;
    CP1256_GENERAL_CI, 57, "cp1256_general_ci", Cp1256, PadSpace, 1, Rules::ByteTable(single_byte::weights(8));
    CP1257_BIN, 58, "cp1257_bin", Cp1257, PadSpace, 1, Rules::Bytes;
    CP1257_GENERAL_CI, 59, "cp1257_general_ci", Cp1257, PadSpace, 1, Rules::ByteTable(single_byte::weights(10));
    BINARY, 63, "binary", Binary, NoPad, 1, Rules::Bytes;
    ARMSCII8_BIN, 64, "armscii8_bin", Armscii8, PadSpace, 1, Rules::Bytes;
    ASCII_BIN, 65, "ascii_bin", Ascii, PadSpace, 1, Rules::Bytes;
    CP1250_BIN, 66, "cp1250_bin", Cp1250, PadSpace, 1, Rules::Bytes;
    CP1256_BIN, 67, "cp1256_bin", Cp1256, PadSpace, 1, Rules::Bytes;
    CP866_BIN, 68, "cp866_bin", Cp866, PadSpace, 1, Rules::Bytes;
    DEC8_BIN, 69, "dec8_bin", Dec8, PadSpace, 1, Rules::Bytes;
    GREEK_BIN, 70, "greek_bin", Greek, PadSpace, 1, Rules::Bytes;
    HEBREW_BIN, 71, "hebrew_bin", Hebrew, PadSpace, 1, Rules::Bytes;
    HP8_BIN, 72, "hp8_bin", Hp8, PadSpace, 1, Rules::Bytes;
    KEYBCS2_BIN, 73, "keybcs2_bin", Keybcs2, PadSpace, 1, Rules::Bytes;
    KOI8R_BIN, 74, "koi8r_bin", Koi8r, PadSpace, 1, Rules::Bytes;
    KOI8U_BIN, 75, "koi8u_bin", Koi8u, PadSpace, 1, Rules::Bytes;
    LATIN2_BIN, 77, "latin2_bin", Latin2, PadSpace, 1, Rules::Bytes;
    LATIN5_BIN, 78, "latin5_bin", Latin5, PadSpace, 1, Rules::Bytes;
    LATIN7_BIN, 79, "latin7_bin", Latin7, PadSpace, 1, Rules::Bytes;
    CP850_BIN, 80, "cp850_bin", Cp850, PadSpace, 1, Rules::Bytes;
    CP852_BIN, 81, "cp852_bin", Cp852, PadSpace, 1, Rules::Bytes;
    UTF8MB3_BIN, 83, "utf8mb3_bin", Utf8mb3, PadSpace, 1, Rules::Bytes;
    GEOSTD8_GENERAL_CI, 92, "geostd8_general_ci", Geostd8, PadSpace, 1, Rules::ByteTable(single_byte::weights(15));
    GEOSTD8_BIN, 93, "geostd8_bin", Geostd8, PadSpace, 1, Rules::Bytes;
    LATIN1_SPANISH_CI, 94, "latin1_spanish_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_SPANISH_CI);
    CP1250_POLISH_CI, 99, "cp1250_polish_ci", Cp1250, PadSpace, 1, Rules::ByteTable(single_byte::weights(3));
    UTF8MB3_UNICODE_CI, 192, "utf8mb3_unicode_ci", Utf8mb3, PadSpace, 8, Rules::Uca400;
    UTF8MB3_UNICODE_520_CI, 214, "utf8mb3_unicode_520_ci", Utf8mb3, PadSpace, 8, Rules::Uca520;
    UTF8MB4_UNICODE_CI, 224, "utf8mb4_unicode_ci", Utf8mb4, PadSpace, 8, Rules::Uca400;
    UTF8MB4_UNICODE_520_CI, 246, "utf8mb4_unicode_520_ci", Utf8mb4, PadSpace, 8, Rules::Uca520;
    UTF8MB4_0900_AI_CI, 255, "utf8mb4_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Uca900 { levels: 1 };
    UTF8MB4_0900_AS_CS, 278, "utf8mb4_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Uca900 { levels: 3 };
    UTF8MB4_0900_AS_CI, 305, "utf8mb4_0900_as_ci", Utf8mb4, NoPad, 0, Rules::Uca900 { levels: 2 };
    UTF8MB4_0900_BIN, 309, "utf8mb4_0900_bin", Utf8mb4, NoPad, 1, Rules::Bytes;
}

/// One more than the highest number.
const ID_END: usize = 310;

/// Index in [`ALL`] by number; `u8::MAX` where there is no collation.
static INDEX_BY_ID: [u8; ID_END] = {
    let mut index_by_id = [u8::MAX; ID_END];
    let mut index = 0;
    while index < ALL.len() {
        assert!(index == 0 || ALL[index - 1].id.0 < ALL[index].id.0);
        index_by_id[ALL[index].id.0 as usize] = index as u8;
        index += 1;
    }
    index_by_id
};

impl CollationId {
    /// The collation with MySQL's number `id`, if it is one of ours.
    #[must_use]
    pub fn from_id(id: u16) -> Option<Self> {
        let index = *INDEX_BY_ID.get(usize::from(id))?;
        (index != u8::MAX).then_some(Self(id))
    }

    /// Finds a collation by name, in any letter case. `utf8_...` means `utf8mb3_...`, as in MySQL 9.7.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let old_name = name.get(..5).filter(|front| front.eq_ignore_ascii_case("utf8_")).map(|_| &name[4..]);
        let is = |info: &&CollationInfo| match old_name {
            None => info.name.eq_ignore_ascii_case(name),
            Some(rest) => info.charset == Charset::Utf8mb3 && info.name[7..].eq_ignore_ascii_case(rest),
        };
        ALL.iter().find(is).map(|info| info.id)
    }

    /// All collations, by rising number.
    #[must_use]
    pub fn all() -> &'static [CollationInfo] {
        ALL
    }

    /// Name, character set and the like.
    #[inline]
    #[must_use]
    pub fn info(self) -> &'static CollationInfo {
        // A `CollationId` is only made from a number in the table.
        &ALL[usize::from(INDEX_BY_ID[usize::from(self.0)])]
    }
}
