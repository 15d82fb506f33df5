//! The collations that each character set has by default.

use super::CollationId;
use crate::charset::Charset;

impl Charset {
    /// The collation a column of this set has when none is named.
    #[must_use]
    pub const fn default_collation(self) -> CollationId {
        match self {
            Self::Binary => CollationId::BINARY,
            Self::Ascii => CollationId::ASCII_GENERAL_CI,
            Self::Latin1 => CollationId::LATIN1_SWEDISH_CI,
            Self::Utf8mb3 => CollationId::UTF8MB3_GENERAL_CI,
            Self::Utf8mb4 => CollationId::UTF8MB4_0900_AI_CI,
            Self::Ucs2 => CollationId::UCS2_GENERAL_CI,
            Self::Utf16 => CollationId::UTF16_GENERAL_CI,
            Self::Utf16le => CollationId::UTF16LE_GENERAL_CI,
            Self::Utf32 => CollationId::UTF32_GENERAL_CI,
            Self::Big5 => CollationId::BIG5_CHINESE_CI,
            Self::Cp932 => CollationId::CP932_JAPANESE_CI,
            Self::Eucjpms => CollationId::EUCJPMS_JAPANESE_CI,
            Self::Euckr => CollationId::EUCKR_KOREAN_CI,
            Self::Gb18030 => CollationId::GB18030_CHINESE_CI,
            Self::Gb2312 => CollationId::GB2312_CHINESE_CI,
            Self::Gbk => CollationId::GBK_CHINESE_CI,
            Self::Sjis => CollationId::SJIS_JAPANESE_CI,
            Self::Ujis => CollationId::UJIS_JAPANESE_CI,
            Self::Armscii8 => CollationId::ARMSCII8_GENERAL_CI,
            Self::Cp1250 => CollationId::CP1250_GENERAL_CI,
            Self::Cp1251 => CollationId::CP1251_GENERAL_CI,
            Self::Cp1256 => CollationId::CP1256_GENERAL_CI,
            Self::Cp1257 => CollationId::CP1257_GENERAL_CI,
            Self::Cp850 => CollationId::CP850_GENERAL_CI,
            Self::Cp852 => CollationId::CP852_GENERAL_CI,
            Self::Cp866 => CollationId::CP866_GENERAL_CI,
            Self::Dec8 => CollationId::DEC8_SWEDISH_CI,
            Self::Geostd8 => CollationId::GEOSTD8_GENERAL_CI,
            Self::Greek => CollationId::GREEK_GENERAL_CI,
            Self::Hebrew => CollationId::HEBREW_GENERAL_CI,
            Self::Hp8 => CollationId::HP8_ENGLISH_CI,
            Self::Keybcs2 => CollationId::KEYBCS2_GENERAL_CI,
            Self::Koi8r => CollationId::KOI8R_GENERAL_CI,
            Self::Koi8u => CollationId::KOI8U_GENERAL_CI,
            Self::Latin2 => CollationId::LATIN2_GENERAL_CI,
            Self::Latin5 => CollationId::LATIN5_TURKISH_CI,
            Self::Latin7 => CollationId::LATIN7_GENERAL_CI,
            Self::Macce => CollationId::MACCE_GENERAL_CI,
            Self::Macroman => CollationId::MACROMAN_GENERAL_CI,
            Self::Swe7 => CollationId::SWE7_SWEDISH_CI,
        }
    }

    /// The collation that compares code points (the `_bin` MySQL picks for `CAST(... AS CHAR) COLLATE` by `BINARY`
    /// attributes: `VARCHAR(n) BINARY` is the `_bin` collation of the set).
    #[must_use]
    pub const fn bin_collation(self) -> CollationId {
        match self {
            Self::Binary => CollationId::BINARY,
            Self::Ascii => CollationId::ASCII_BIN,
            Self::Latin1 => CollationId::LATIN1_BIN,
            Self::Utf8mb3 => CollationId::UTF8MB3_BIN,
            Self::Utf8mb4 => CollationId::UTF8MB4_BIN,
            Self::Ucs2 => CollationId::UCS2_BIN,
            Self::Utf16 => CollationId::UTF16_BIN,
            Self::Utf16le => CollationId::UTF16LE_BIN,
            Self::Utf32 => CollationId::UTF32_BIN,
            Self::Big5 => CollationId::BIG5_BIN,
            Self::Cp932 => CollationId::CP932_BIN,
            Self::Eucjpms => CollationId::EUCJPMS_BIN,
            Self::Euckr => CollationId::EUCKR_BIN,
            Self::Gb18030 => CollationId::GB18030_BIN,
            Self::Gb2312 => CollationId::GB2312_BIN,
            Self::Gbk => CollationId::GBK_BIN,
            Self::Sjis => CollationId::SJIS_BIN,
            Self::Ujis => CollationId::UJIS_BIN,
            Self::Armscii8 => CollationId::ARMSCII8_BIN,
            Self::Cp1250 => CollationId::CP1250_BIN,
            Self::Cp1251 => CollationId::CP1251_BIN,
            Self::Cp1256 => CollationId::CP1256_BIN,
            Self::Cp1257 => CollationId::CP1257_BIN,
            Self::Cp850 => CollationId::CP850_BIN,
            Self::Cp852 => CollationId::CP852_BIN,
            Self::Cp866 => CollationId::CP866_BIN,
            Self::Dec8 => CollationId::DEC8_BIN,
            Self::Geostd8 => CollationId::GEOSTD8_BIN,
            Self::Greek => CollationId::GREEK_BIN,
            Self::Hebrew => CollationId::HEBREW_BIN,
            Self::Hp8 => CollationId::HP8_BIN,
            Self::Keybcs2 => CollationId::KEYBCS2_BIN,
            Self::Koi8r => CollationId::KOI8R_BIN,
            Self::Koi8u => CollationId::KOI8U_BIN,
            Self::Latin2 => CollationId::LATIN2_BIN,
            Self::Latin5 => CollationId::LATIN5_BIN,
            Self::Latin7 => CollationId::LATIN7_BIN,
            Self::Macce => CollationId::MACCE_BIN,
            Self::Macroman => CollationId::MACROMAN_BIN,
            Self::Swe7 => CollationId::SWE7_BIN,
        }
    }
}
