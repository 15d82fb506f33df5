//! The collations there are, with MySQL's numbers and names.

use super::CollationId;
use super::multi_byte::MultiByte;
use super::tailoring::TailoringId;
use super::weighed::Weighed;
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
    /// The same but for ß: `general_mysql500_ci`.
    GeneralMysql500,
    /// One 16-bit weight per character, its small letter: `tolower_ci`.
    ToLower,
    /// Unicode collation algorithm, version 4.0.0, primary weights: `unicode_ci`.
    Uca400,
    /// Version 5.2.0, primary weights: `unicode_520_ci`.
    Uca520,
    /// Version 9.0.0 with 1 (`ai_ci`), 2 (`as_ci`) or 3 (`as_cs`) levels.
    Uca900 { levels: usize },
    /// A language's rules over one of those tables, with 1 to 3 levels.
    Tailored { tailoring: TailoringId, levels: usize },
    /// By the bytes of characters of East Asian sets, or by their weights.
    MultiByte(MultiByte),
    /// By weights that are not one for each byte.
    Weighed(Weighed),
    /// As this collation of `utf8mb4` orders the text in UTF-8.
    AsUtf8(CollationId),
}

impl CollationInfo {
    /// Whether it is its character set's default (`IS_DEFAULT`).
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.charset.default_collation() == self.id
    }

    /// Whether it has a language's rules over one of the Unicode tables.
    #[must_use]
    pub fn is_of_language(&self) -> bool {
        match self.rules {
            Rules::Tailored { .. } => true,
            Rules::AsUtf8(twin) => twin.info().is_of_language(),
            _ => false,
        }
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

const fn multi_byte(charset: Charset, folds: bool) -> Rules {
    Rules::MultiByte(MultiByte { charset, folds })
}

collations! {
    BIG5_CHINESE_CI, 1, "big5_chinese_ci", Big5, PadSpace, 1, multi_byte(Charset::Big5, true);
    DEC8_SWEDISH_CI, 3, "dec8_swedish_ci", Dec8, PadSpace, 1, Rules::ByteTable(single_byte::weights(14));
    CP850_GENERAL_CI, 4, "cp850_general_ci", Cp850, PadSpace, 1, Rules::ByteTable(single_byte::weights(11));
    LATIN1_GERMAN1_CI, 5, "latin1_german1_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_GERMAN1_CI);
    HP8_ENGLISH_CI, 6, "hp8_english_ci", Hp8, PadSpace, 1, Rules::ByteTable(single_byte::weights(18));
    KOI8R_GENERAL_CI, 7, "koi8r_general_ci", Koi8r, PadSpace, 1, Rules::ByteTable(single_byte::weights(20));
    LATIN1_SWEDISH_CI, 8, "latin1_swedish_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_SWEDISH_CI);
    LATIN2_GENERAL_CI, 9, "latin2_general_ci", Latin2, PadSpace, 1, Rules::ByteTable(single_byte::weights(22));
    SWE7_SWEDISH_CI, 10, "swe7_swedish_ci", Swe7, PadSpace, 1, Rules::ByteTable(single_byte::weights(31));
    ASCII_GENERAL_CI, 11, "ascii_general_ci", Ascii, PadSpace, 1, Rules::ByteTable(&bt::ASCII_GENERAL_CI);
    UJIS_JAPANESE_CI, 12, "ujis_japanese_ci", Ujis, PadSpace, 1, multi_byte(Charset::Ujis, true);
    SJIS_JAPANESE_CI, 13, "sjis_japanese_ci", Sjis, PadSpace, 1, multi_byte(Charset::Sjis, true);
    CP1251_BULGARIAN_CI, 14, "cp1251_bulgarian_ci", Cp1251, PadSpace, 1, Rules::ByteTable(single_byte::weights(4));
    LATIN1_DANISH_CI, 15, "latin1_danish_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_DANISH_CI);
    HEBREW_GENERAL_CI, 16, "hebrew_general_ci", Hebrew, PadSpace, 1, Rules::ByteTable(single_byte::weights(17));
    EUCKR_KOREAN_CI, 19, "euckr_korean_ci", Euckr, PadSpace, 1, multi_byte(Charset::Euckr, true);
    LATIN7_ESTONIAN_CS, 20, "latin7_estonian_cs", Latin7, PadSpace, 1, Rules::ByteTable(single_byte::weights(26));
    LATIN2_HUNGARIAN_CI, 21, "latin2_hungarian_ci", Latin2, PadSpace, 1, Rules::ByteTable(single_byte::weights(23));
    KOI8U_GENERAL_CI, 22, "koi8u_general_ci", Koi8u, PadSpace, 1, Rules::ByteTable(single_byte::weights(21));
    CP1251_UKRAINIAN_CI, 23, "cp1251_ukrainian_ci", Cp1251, PadSpace, 1, Rules::ByteTable(single_byte::weights(5));
    GB2312_CHINESE_CI, 24, "gb2312_chinese_ci", Gb2312, PadSpace, 1, multi_byte(Charset::Gb2312, true);
    GREEK_GENERAL_CI, 25, "greek_general_ci", Greek, PadSpace, 1, Rules::ByteTable(single_byte::weights(16));
    CP1250_GENERAL_CI, 26, "cp1250_general_ci", Cp1250, PadSpace, 1, Rules::ByteTable(single_byte::weights(1));
    LATIN2_CROATIAN_CI, 27, "latin2_croatian_ci", Latin2, PadSpace, 1, Rules::ByteTable(single_byte::weights(24));
    GBK_CHINESE_CI, 28, "gbk_chinese_ci", Gbk, PadSpace, 1, multi_byte(Charset::Gbk, true);
    CP1257_LITHUANIAN_CI, 29, "cp1257_lithuanian_ci", Cp1257, PadSpace, 1, Rules::ByteTable(single_byte::weights(9));
    LATIN5_TURKISH_CI, 30, "latin5_turkish_ci", Latin5, PadSpace, 1, Rules::ByteTable(single_byte::weights(25));
    LATIN1_GERMAN2_CI, 31, "latin1_german2_ci", Latin1, PadSpace, 2, Rules::Weighed(Weighed::German);
    ARMSCII8_GENERAL_CI, 32, "armscii8_general_ci", Armscii8, PadSpace, 1, Rules::ByteTable(single_byte::weights(0));
    UTF8MB3_GENERAL_CI, 33, "utf8mb3_general_ci", Utf8mb3, PadSpace, 1, Rules::General;
    CP1250_CZECH_CS, 34, "cp1250_czech_cs", Cp1250, PadSpace, 2, Rules::Weighed(Weighed::Czech);
    UCS2_GENERAL_CI, 35, "ucs2_general_ci", Ucs2, PadSpace, 1, Rules::AsUtf8(CollationId::UTF8MB4_GENERAL_CI);
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
    UTF16_GENERAL_CI, 54, "utf16_general_ci", Utf16, PadSpace, 1, Rules::AsUtf8(CollationId::UTF8MB4_GENERAL_CI);
    UTF16_BIN, 55, "utf16_bin", Utf16, PadSpace, 1, Rules::AsUtf8(CollationId::UTF8MB4_BIN);
    UTF16LE_GENERAL_CI, 56, "utf16le_general_ci", Utf16le, PadSpace, 1, Rules::AsUtf8(CollationId::UTF8MB4_GENERAL_CI);
    CP1256_GENERAL_CI, 57, "cp1256_general_ci", Cp1256, PadSpace, 1, Rules::ByteTable(single_byte::weights(8));
    CP1257_BIN, 58, "cp1257_bin", Cp1257, PadSpace, 1, Rules::Bytes;
    CP1257_GENERAL_CI, 59, "cp1257_general_ci", Cp1257, PadSpace, 1, Rules::ByteTable(single_byte::weights(10));
    UTF32_GENERAL_CI, 60, "utf32_general_ci", Utf32, PadSpace, 1, Rules::AsUtf8(CollationId::UTF8MB4_GENERAL_CI);
    UTF32_BIN, 61, "utf32_bin", Utf32, PadSpace, 1, Rules::AsUtf8(CollationId::UTF8MB4_BIN);
    UTF16LE_BIN, 62, "utf16le_bin", Utf16le, PadSpace, 1, Rules::AsUtf8(CollationId::UTF8MB4_BIN);
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
    UTF8MB3_TOLOWER_CI, 76, "utf8mb3_tolower_ci", Utf8mb3, PadSpace, 1, Rules::ToLower;
    LATIN2_BIN, 77, "latin2_bin", Latin2, PadSpace, 1, Rules::Bytes;
    LATIN5_BIN, 78, "latin5_bin", Latin5, PadSpace, 1, Rules::Bytes;
    LATIN7_BIN, 79, "latin7_bin", Latin7, PadSpace, 1, Rules::Bytes;
    CP850_BIN, 80, "cp850_bin", Cp850, PadSpace, 1, Rules::Bytes;
    CP852_BIN, 81, "cp852_bin", Cp852, PadSpace, 1, Rules::Bytes;
    SWE7_BIN, 82, "swe7_bin", Swe7, PadSpace, 1, Rules::Bytes;
    UTF8MB3_BIN, 83, "utf8mb3_bin", Utf8mb3, PadSpace, 1, Rules::Bytes;
    BIG5_BIN, 84, "big5_bin", Big5, PadSpace, 1, multi_byte(Charset::Big5, false);
    EUCKR_BIN, 85, "euckr_bin", Euckr, PadSpace, 1, multi_byte(Charset::Euckr, false);
    GB2312_BIN, 86, "gb2312_bin", Gb2312, PadSpace, 1, multi_byte(Charset::Gb2312, false);
    GBK_BIN, 87, "gbk_bin", Gbk, PadSpace, 1, multi_byte(Charset::Gbk, false);
    SJIS_BIN, 88, "sjis_bin", Sjis, PadSpace, 1, multi_byte(Charset::Sjis, false);
    UCS2_BIN, 90, "ucs2_bin", Ucs2, PadSpace, 1, Rules::AsUtf8(CollationId::UTF8MB4_BIN);
    UJIS_BIN, 91, "ujis_bin", Ujis, PadSpace, 1, multi_byte(Charset::Ujis, false);
    GEOSTD8_GENERAL_CI, 92, "geostd8_general_ci", Geostd8, PadSpace, 1, Rules::ByteTable(single_byte::weights(15));
    GEOSTD8_BIN, 93, "geostd8_bin", Geostd8, PadSpace, 1, Rules::Bytes;
    LATIN1_SPANISH_CI, 94, "latin1_spanish_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_SPANISH_CI);
    CP932_JAPANESE_CI, 95, "cp932_japanese_ci", Cp932, PadSpace, 1, multi_byte(Charset::Cp932, true);
    CP932_BIN, 96, "cp932_bin", Cp932, PadSpace, 1, multi_byte(Charset::Cp932, false);
    EUCJPMS_JAPANESE_CI, 97, "eucjpms_japanese_ci", Eucjpms, PadSpace, 1, multi_byte(Charset::Eucjpms, true);
    EUCJPMS_BIN, 98, "eucjpms_bin", Eucjpms, PadSpace, 1, multi_byte(Charset::Eucjpms, false);
    CP1250_POLISH_CI, 99, "cp1250_polish_ci", Cp1250, PadSpace, 1, Rules::ByteTable(single_byte::weights(3));
    UTF16_UNICODE_CI, 101, "utf16_unicode_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_UNICODE_CI);
    UTF16_ICELANDIC_CI, 102, "utf16_icelandic_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ICELANDIC_CI);
    UTF16_LATVIAN_CI, 103, "utf16_latvian_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_LATVIAN_CI);
    UTF16_ROMANIAN_CI, 104, "utf16_romanian_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ROMANIAN_CI);
    UTF16_SLOVENIAN_CI, 105, "utf16_slovenian_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SLOVENIAN_CI);
    UTF16_POLISH_CI, 106, "utf16_polish_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_POLISH_CI);
    UTF16_ESTONIAN_CI, 107, "utf16_estonian_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ESTONIAN_CI);
    UTF16_SPANISH_CI, 108, "utf16_spanish_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SPANISH_CI);
    UTF16_SWEDISH_CI, 109, "utf16_swedish_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SWEDISH_CI);
    UTF16_TURKISH_CI, 110, "utf16_turkish_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_TURKISH_CI);
    UTF16_CZECH_CI, 111, "utf16_czech_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_CZECH_CI);
    UTF16_DANISH_CI, 112, "utf16_danish_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_DANISH_CI);
    UTF16_LITHUANIAN_CI, 113, "utf16_lithuanian_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_LITHUANIAN_CI);
    UTF16_SLOVAK_CI, 114, "utf16_slovak_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SLOVAK_CI);
    UTF16_SPANISH2_CI, 115, "utf16_spanish2_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SPANISH2_CI);
    UTF16_ROMAN_CI, 116, "utf16_roman_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ROMAN_CI);
    UTF16_PERSIAN_CI, 117, "utf16_persian_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_PERSIAN_CI);
    UTF16_ESPERANTO_CI, 118, "utf16_esperanto_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ESPERANTO_CI);
    UTF16_HUNGARIAN_CI, 119, "utf16_hungarian_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_HUNGARIAN_CI);
    UTF16_SINHALA_CI, 120, "utf16_sinhala_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SINHALA_CI);
    UTF16_GERMAN2_CI, 121, "utf16_german2_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_GERMAN2_CI);
    UTF16_CROATIAN_CI, 122, "utf16_croatian_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_CROATIAN_CI);
    UTF16_UNICODE_520_CI, 123, "utf16_unicode_520_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_UNICODE_520_CI);
    UTF16_VIETNAMESE_CI, 124, "utf16_vietnamese_ci", Utf16, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_VIETNAMESE_CI);
    UCS2_UNICODE_CI, 128, "ucs2_unicode_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_UNICODE_CI);
    UCS2_ICELANDIC_CI, 129, "ucs2_icelandic_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ICELANDIC_CI);
    UCS2_LATVIAN_CI, 130, "ucs2_latvian_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_LATVIAN_CI);
    UCS2_ROMANIAN_CI, 131, "ucs2_romanian_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ROMANIAN_CI);
    UCS2_SLOVENIAN_CI, 132, "ucs2_slovenian_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SLOVENIAN_CI);
    UCS2_POLISH_CI, 133, "ucs2_polish_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_POLISH_CI);
    UCS2_ESTONIAN_CI, 134, "ucs2_estonian_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ESTONIAN_CI);
    UCS2_SPANISH_CI, 135, "ucs2_spanish_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SPANISH_CI);
    UCS2_SWEDISH_CI, 136, "ucs2_swedish_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SWEDISH_CI);
    UCS2_TURKISH_CI, 137, "ucs2_turkish_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_TURKISH_CI);
    UCS2_CZECH_CI, 138, "ucs2_czech_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_CZECH_CI);
    UCS2_DANISH_CI, 139, "ucs2_danish_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_DANISH_CI);
    UCS2_LITHUANIAN_CI, 140, "ucs2_lithuanian_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_LITHUANIAN_CI);
    UCS2_SLOVAK_CI, 141, "ucs2_slovak_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SLOVAK_CI);
    UCS2_SPANISH2_CI, 142, "ucs2_spanish2_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SPANISH2_CI);
    UCS2_ROMAN_CI, 143, "ucs2_roman_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ROMAN_CI);
    UCS2_PERSIAN_CI, 144, "ucs2_persian_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_PERSIAN_CI);
    UCS2_ESPERANTO_CI, 145, "ucs2_esperanto_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ESPERANTO_CI);
    UCS2_HUNGARIAN_CI, 146, "ucs2_hungarian_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_HUNGARIAN_CI);
    UCS2_SINHALA_CI, 147, "ucs2_sinhala_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SINHALA_CI);
    UCS2_GERMAN2_CI, 148, "ucs2_german2_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_GERMAN2_CI);
    UCS2_CROATIAN_CI, 149, "ucs2_croatian_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_CROATIAN_CI);
    UCS2_UNICODE_520_CI, 150, "ucs2_unicode_520_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_UNICODE_520_CI);
    UCS2_VIETNAMESE_CI, 151, "ucs2_vietnamese_ci", Ucs2, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_VIETNAMESE_CI);
    UCS2_GENERAL_MYSQL500_CI, 159, "ucs2_general_mysql500_ci", Ucs2, PadSpace, 1, Rules::AsUtf8(CollationId::UTF8MB3_GENERAL_MYSQL500_CI);
    UTF32_UNICODE_CI, 160, "utf32_unicode_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_UNICODE_CI);
    UTF32_ICELANDIC_CI, 161, "utf32_icelandic_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ICELANDIC_CI);
    UTF32_LATVIAN_CI, 162, "utf32_latvian_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_LATVIAN_CI);
    UTF32_ROMANIAN_CI, 163, "utf32_romanian_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ROMANIAN_CI);
    UTF32_SLOVENIAN_CI, 164, "utf32_slovenian_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SLOVENIAN_CI);
    UTF32_POLISH_CI, 165, "utf32_polish_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_POLISH_CI);
    UTF32_ESTONIAN_CI, 166, "utf32_estonian_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ESTONIAN_CI);
    UTF32_SPANISH_CI, 167, "utf32_spanish_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SPANISH_CI);
    UTF32_SWEDISH_CI, 168, "utf32_swedish_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SWEDISH_CI);
    UTF32_TURKISH_CI, 169, "utf32_turkish_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_TURKISH_CI);
    UTF32_CZECH_CI, 170, "utf32_czech_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_CZECH_CI);
    UTF32_DANISH_CI, 171, "utf32_danish_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_DANISH_CI);
    UTF32_LITHUANIAN_CI, 172, "utf32_lithuanian_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_LITHUANIAN_CI);
    UTF32_SLOVAK_CI, 173, "utf32_slovak_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SLOVAK_CI);
    UTF32_SPANISH2_CI, 174, "utf32_spanish2_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SPANISH2_CI);
    UTF32_ROMAN_CI, 175, "utf32_roman_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ROMAN_CI);
    UTF32_PERSIAN_CI, 176, "utf32_persian_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_PERSIAN_CI);
    UTF32_ESPERANTO_CI, 177, "utf32_esperanto_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_ESPERANTO_CI);
    UTF32_HUNGARIAN_CI, 178, "utf32_hungarian_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_HUNGARIAN_CI);
    UTF32_SINHALA_CI, 179, "utf32_sinhala_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_SINHALA_CI);
    UTF32_GERMAN2_CI, 180, "utf32_german2_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_GERMAN2_CI);
    UTF32_CROATIAN_CI, 181, "utf32_croatian_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_CROATIAN_CI);
    UTF32_UNICODE_520_CI, 182, "utf32_unicode_520_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_UNICODE_520_CI);
    UTF32_VIETNAMESE_CI, 183, "utf32_vietnamese_ci", Utf32, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_VIETNAMESE_CI);
    UTF8MB3_UNICODE_CI, 192, "utf8mb3_unicode_ci", Utf8mb3, PadSpace, 8, Rules::Uca400;
    UTF8MB3_ICELANDIC_CI, 193, "utf8mb3_icelandic_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(0), levels: 1 };
    UTF8MB3_LATVIAN_CI, 194, "utf8mb3_latvian_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(1), levels: 1 };
    UTF8MB3_ROMANIAN_CI, 195, "utf8mb3_romanian_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(2), levels: 1 };
    UTF8MB3_SLOVENIAN_CI, 196, "utf8mb3_slovenian_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(3), levels: 1 };
    UTF8MB3_POLISH_CI, 197, "utf8mb3_polish_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(4), levels: 1 };
    UTF8MB3_ESTONIAN_CI, 198, "utf8mb3_estonian_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(5), levels: 1 };
    UTF8MB3_SPANISH_CI, 199, "utf8mb3_spanish_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(6), levels: 1 };
    UTF8MB3_SWEDISH_CI, 200, "utf8mb3_swedish_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(7), levels: 1 };
    UTF8MB3_TURKISH_CI, 201, "utf8mb3_turkish_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(8), levels: 1 };
    UTF8MB3_CZECH_CI, 202, "utf8mb3_czech_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(9), levels: 1 };
    UTF8MB3_DANISH_CI, 203, "utf8mb3_danish_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(10), levels: 1 };
    UTF8MB3_LITHUANIAN_CI, 204, "utf8mb3_lithuanian_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(11), levels: 1 };
    UTF8MB3_SLOVAK_CI, 205, "utf8mb3_slovak_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(12), levels: 1 };
    UTF8MB3_SPANISH2_CI, 206, "utf8mb3_spanish2_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(13), levels: 1 };
    UTF8MB3_ROMAN_CI, 207, "utf8mb3_roman_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(14), levels: 1 };
    UTF8MB3_PERSIAN_CI, 208, "utf8mb3_persian_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(15), levels: 1 };
    UTF8MB3_ESPERANTO_CI, 209, "utf8mb3_esperanto_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(16), levels: 1 };
    UTF8MB3_HUNGARIAN_CI, 210, "utf8mb3_hungarian_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(17), levels: 1 };
    UTF8MB3_SINHALA_CI, 211, "utf8mb3_sinhala_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(18), levels: 1 };
    UTF8MB3_GERMAN2_CI, 212, "utf8mb3_german2_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(19), levels: 1 };
    UTF8MB3_CROATIAN_CI, 213, "utf8mb3_croatian_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(20), levels: 1 };
    UTF8MB3_UNICODE_520_CI, 214, "utf8mb3_unicode_520_ci", Utf8mb3, PadSpace, 8, Rules::Uca520;
    UTF8MB3_VIETNAMESE_CI, 215, "utf8mb3_vietnamese_ci", Utf8mb3, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(21), levels: 1 };
    UTF8MB3_GENERAL_MYSQL500_CI, 223, "utf8mb3_general_mysql500_ci", Utf8mb3, PadSpace, 1, Rules::GeneralMysql500;
    UTF8MB4_UNICODE_CI, 224, "utf8mb4_unicode_ci", Utf8mb4, PadSpace, 8, Rules::Uca400;
    UTF8MB4_ICELANDIC_CI, 225, "utf8mb4_icelandic_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(0), levels: 1 };
    UTF8MB4_LATVIAN_CI, 226, "utf8mb4_latvian_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(1), levels: 1 };
    UTF8MB4_ROMANIAN_CI, 227, "utf8mb4_romanian_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(2), levels: 1 };
    UTF8MB4_SLOVENIAN_CI, 228, "utf8mb4_slovenian_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(3), levels: 1 };
    UTF8MB4_POLISH_CI, 229, "utf8mb4_polish_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(4), levels: 1 };
    UTF8MB4_ESTONIAN_CI, 230, "utf8mb4_estonian_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(5), levels: 1 };
    UTF8MB4_SPANISH_CI, 231, "utf8mb4_spanish_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(6), levels: 1 };
    UTF8MB4_SWEDISH_CI, 232, "utf8mb4_swedish_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(7), levels: 1 };
    UTF8MB4_TURKISH_CI, 233, "utf8mb4_turkish_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(8), levels: 1 };
    UTF8MB4_CZECH_CI, 234, "utf8mb4_czech_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(9), levels: 1 };
    UTF8MB4_DANISH_CI, 235, "utf8mb4_danish_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(10), levels: 1 };
    UTF8MB4_LITHUANIAN_CI, 236, "utf8mb4_lithuanian_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(11), levels: 1 };
    UTF8MB4_SLOVAK_CI, 237, "utf8mb4_slovak_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(12), levels: 1 };
    UTF8MB4_SPANISH2_CI, 238, "utf8mb4_spanish2_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(13), levels: 1 };
    UTF8MB4_ROMAN_CI, 239, "utf8mb4_roman_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(14), levels: 1 };
    UTF8MB4_PERSIAN_CI, 240, "utf8mb4_persian_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(15), levels: 1 };
    UTF8MB4_ESPERANTO_CI, 241, "utf8mb4_esperanto_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(16), levels: 1 };
    UTF8MB4_HUNGARIAN_CI, 242, "utf8mb4_hungarian_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(17), levels: 1 };
    UTF8MB4_SINHALA_CI, 243, "utf8mb4_sinhala_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(18), levels: 1 };
    UTF8MB4_GERMAN2_CI, 244, "utf8mb4_german2_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(19), levels: 1 };
    UTF8MB4_CROATIAN_CI, 245, "utf8mb4_croatian_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(20), levels: 1 };
    UTF8MB4_UNICODE_520_CI, 246, "utf8mb4_unicode_520_ci", Utf8mb4, PadSpace, 8, Rules::Uca520;
    UTF8MB4_VIETNAMESE_CI, 247, "utf8mb4_vietnamese_ci", Utf8mb4, PadSpace, 8, Rules::Tailored { tailoring: TailoringId(21), levels: 1 };
    GB18030_CHINESE_CI, 248, "gb18030_chinese_ci", Gb18030, PadSpace, 2, multi_byte(Charset::Gb18030, true);
    GB18030_BIN, 249, "gb18030_bin", Gb18030, PadSpace, 1, multi_byte(Charset::Gb18030, false);
    GB18030_UNICODE_520_CI, 250, "gb18030_unicode_520_ci", Gb18030, PadSpace, 8, Rules::AsUtf8(CollationId::UTF8MB4_UNICODE_520_CI);
    UTF8MB4_0900_AI_CI, 255, "utf8mb4_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Uca900 { levels: 1 };
    UTF8MB4_DE_PB_0900_AI_CI, 256, "utf8mb4_de_pb_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(22), levels: 1 };
    UTF8MB4_IS_0900_AI_CI, 257, "utf8mb4_is_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(23), levels: 1 };
    UTF8MB4_LV_0900_AI_CI, 258, "utf8mb4_lv_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(24), levels: 1 };
    UTF8MB4_RO_0900_AI_CI, 259, "utf8mb4_ro_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(25), levels: 1 };
    UTF8MB4_SL_0900_AI_CI, 260, "utf8mb4_sl_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(26), levels: 1 };
    UTF8MB4_PL_0900_AI_CI, 261, "utf8mb4_pl_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(27), levels: 1 };
    UTF8MB4_ET_0900_AI_CI, 262, "utf8mb4_et_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(28), levels: 1 };
    UTF8MB4_ES_0900_AI_CI, 263, "utf8mb4_es_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(29), levels: 1 };
    UTF8MB4_SV_0900_AI_CI, 264, "utf8mb4_sv_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(30), levels: 1 };
    UTF8MB4_TR_0900_AI_CI, 265, "utf8mb4_tr_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(31), levels: 1 };
    UTF8MB4_CS_0900_AI_CI, 266, "utf8mb4_cs_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(32), levels: 1 };
    UTF8MB4_DA_0900_AI_CI, 267, "utf8mb4_da_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(33), levels: 1 };
    UTF8MB4_LT_0900_AI_CI, 268, "utf8mb4_lt_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(34), levels: 1 };
    UTF8MB4_SK_0900_AI_CI, 269, "utf8mb4_sk_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(35), levels: 1 };
    UTF8MB4_ES_TRAD_0900_AI_CI, 270, "utf8mb4_es_trad_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(36), levels: 1 };
    UTF8MB4_LA_0900_AI_CI, 271, "utf8mb4_la_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(37), levels: 1 };
    UTF8MB4_EO_0900_AI_CI, 273, "utf8mb4_eo_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(38), levels: 1 };
    UTF8MB4_HU_0900_AI_CI, 274, "utf8mb4_hu_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(39), levels: 1 };
    UTF8MB4_HR_0900_AI_CI, 275, "utf8mb4_hr_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(40), levels: 1 };
    UTF8MB4_VI_0900_AI_CI, 277, "utf8mb4_vi_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(41), levels: 1 };
    UTF8MB4_0900_AS_CS, 278, "utf8mb4_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Uca900 { levels: 3 };
    UTF8MB4_DE_PB_0900_AS_CS, 279, "utf8mb4_de_pb_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(22), levels: 3 };
    UTF8MB4_IS_0900_AS_CS, 280, "utf8mb4_is_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(23), levels: 3 };
    UTF8MB4_LV_0900_AS_CS, 281, "utf8mb4_lv_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(24), levels: 3 };
    UTF8MB4_RO_0900_AS_CS, 282, "utf8mb4_ro_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(25), levels: 3 };
    UTF8MB4_SL_0900_AS_CS, 283, "utf8mb4_sl_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(26), levels: 3 };
    UTF8MB4_PL_0900_AS_CS, 284, "utf8mb4_pl_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(27), levels: 3 };
    UTF8MB4_ET_0900_AS_CS, 285, "utf8mb4_et_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(28), levels: 3 };
    UTF8MB4_ES_0900_AS_CS, 286, "utf8mb4_es_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(29), levels: 3 };
    UTF8MB4_SV_0900_AS_CS, 287, "utf8mb4_sv_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(30), levels: 3 };
    UTF8MB4_TR_0900_AS_CS, 288, "utf8mb4_tr_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(31), levels: 3 };
    UTF8MB4_CS_0900_AS_CS, 289, "utf8mb4_cs_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(32), levels: 3 };
    UTF8MB4_DA_0900_AS_CS, 290, "utf8mb4_da_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(33), levels: 3 };
    UTF8MB4_LT_0900_AS_CS, 291, "utf8mb4_lt_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(34), levels: 3 };
    UTF8MB4_SK_0900_AS_CS, 292, "utf8mb4_sk_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(35), levels: 3 };
    UTF8MB4_ES_TRAD_0900_AS_CS, 293, "utf8mb4_es_trad_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(36), levels: 3 };
    UTF8MB4_LA_0900_AS_CS, 294, "utf8mb4_la_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(37), levels: 3 };
    UTF8MB4_EO_0900_AS_CS, 296, "utf8mb4_eo_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(38), levels: 3 };
    UTF8MB4_HU_0900_AS_CS, 297, "utf8mb4_hu_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(39), levels: 3 };
    UTF8MB4_HR_0900_AS_CS, 298, "utf8mb4_hr_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(40), levels: 3 };
    UTF8MB4_VI_0900_AS_CS, 300, "utf8mb4_vi_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(41), levels: 3 };
    UTF8MB4_0900_AS_CI, 305, "utf8mb4_0900_as_ci", Utf8mb4, NoPad, 0, Rules::Uca900 { levels: 2 };
    UTF8MB4_RU_0900_AI_CI, 306, "utf8mb4_ru_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(42), levels: 1 };
    UTF8MB4_RU_0900_AS_CS, 307, "utf8mb4_ru_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(42), levels: 3 };
    UTF8MB4_ZH_0900_AS_CS, 308, "utf8mb4_zh_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(43), levels: 3 };
    UTF8MB4_0900_BIN, 309, "utf8mb4_0900_bin", Utf8mb4, NoPad, 1, Rules::Bytes;
    UTF8MB4_NB_0900_AI_CI, 310, "utf8mb4_nb_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(44), levels: 1 };
    UTF8MB4_NB_0900_AS_CS, 311, "utf8mb4_nb_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(44), levels: 3 };
    UTF8MB4_NN_0900_AI_CI, 312, "utf8mb4_nn_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(45), levels: 1 };
    UTF8MB4_NN_0900_AS_CS, 313, "utf8mb4_nn_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(45), levels: 3 };
    UTF8MB4_SR_LATN_0900_AI_CI, 314, "utf8mb4_sr_latn_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(46), levels: 1 };
    UTF8MB4_SR_LATN_0900_AS_CS, 315, "utf8mb4_sr_latn_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(46), levels: 3 };
    UTF8MB4_BS_0900_AI_CI, 316, "utf8mb4_bs_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(47), levels: 1 };
    UTF8MB4_BS_0900_AS_CS, 317, "utf8mb4_bs_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(47), levels: 3 };
    UTF8MB4_BG_0900_AI_CI, 318, "utf8mb4_bg_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(48), levels: 1 };
    UTF8MB4_BG_0900_AS_CS, 319, "utf8mb4_bg_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(48), levels: 3 };
    UTF8MB4_GL_0900_AI_CI, 320, "utf8mb4_gl_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(49), levels: 1 };
    UTF8MB4_GL_0900_AS_CS, 321, "utf8mb4_gl_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(49), levels: 3 };
    UTF8MB4_MN_CYRL_0900_AI_CI, 322, "utf8mb4_mn_cyrl_0900_ai_ci", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(50), levels: 1 };
    UTF8MB4_MN_CYRL_0900_AS_CS, 323, "utf8mb4_mn_cyrl_0900_as_cs", Utf8mb4, NoPad, 0, Rules::Tailored { tailoring: TailoringId(50), levels: 3 };
}

/// More than the highest number.
const ID_SLOTS: usize = 512;

/// The collations by number; the first one where there is none. A power of two, so that looking one up checks no bound.
static BY_ID: [&CollationInfo; ID_SLOTS] = {
    let mut by_id = [&ALL[0]; ID_SLOTS];
    let mut index = 0;
    while index < ALL.len() {
        assert!(index == 0 || ALL[index - 1].id.0 < ALL[index].id.0);
        by_id[ALL[index].id.0 as usize] = &ALL[index];
        index += 1;
    }
    by_id
};

impl CollationId {
    /// The collation with MySQL's number `id`, if it is one of ours.
    #[must_use]
    pub fn from_id(id: u16) -> Option<Self> {
        let info = *BY_ID.get(usize::from(id))?;
        (info.id.0 == id).then_some(info.id)
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
        BY_ID[usize::from(self.0) % ID_SLOTS]
    }
}
