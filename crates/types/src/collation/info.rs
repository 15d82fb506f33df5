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

collations! {
    LATIN1_GERMAN1_CI, 5, "latin1_german1_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_GERMAN1_CI);
    LATIN1_SWEDISH_CI, 8, "latin1_swedish_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_SWEDISH_CI);
    ASCII_GENERAL_CI, 11, "ascii_general_ci", Ascii, PadSpace, 1, Rules::ByteTable(&bt::ASCII_GENERAL_CI);
    LATIN1_DANISH_CI, 15, "latin1_danish_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_DANISH_CI);
    UTF8MB3_GENERAL_CI, 33, "utf8mb3_general_ci", Utf8mb3, PadSpace, 1, Rules::General;
    UTF8MB4_GENERAL_CI, 45, "utf8mb4_general_ci", Utf8mb4, PadSpace, 1, Rules::General;
    UTF8MB4_BIN, 46, "utf8mb4_bin", Utf8mb4, PadSpace, 1, Rules::Bytes;
    LATIN1_BIN, 47, "latin1_bin", Latin1, PadSpace, 1, Rules::Bytes;
    LATIN1_GENERAL_CI, 48, "latin1_general_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_GENERAL_CI);
    LATIN1_GENERAL_CS, 49, "latin1_general_cs", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_GENERAL_CS);
    BINARY, 63, "binary", Binary, NoPad, 1, Rules::Bytes;
    ASCII_BIN, 65, "ascii_bin", Ascii, PadSpace, 1, Rules::Bytes;
    UTF8MB3_BIN, 83, "utf8mb3_bin", Utf8mb3, PadSpace, 1, Rules::Bytes;
    LATIN1_SPANISH_CI, 94, "latin1_spanish_ci", Latin1, PadSpace, 1, Rules::ByteTable(&bt::LATIN1_SPANISH_CI);
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
