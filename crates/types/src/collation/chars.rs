//! When two characters are the same, for LIKE.

use super::family::{Family, decode};
use super::levels;
use super::weighted::weights_of;
use crate::charset::Decoded;

/// A collation as seen one character at a time.
pub(super) trait CharRules: Copy {
    /// Every character is one byte.
    const IS_SINGLE_BYTE: bool;
    /// Characters are the same if their bytes are.
    const IS_PLAIN: bool;
    /// An ASCII character that can be printed is the same as no other ASCII character but perhaps its other letter case.
    #[inline]
    fn has_ascii_cases(self) -> bool {
        true
    }

    fn decode(self, text: &[u8]) -> Decoded;

    fn same(self, a: Decoded, b: Decoded) -> bool;

    fn same_ascii(self, a: u8, b: u8) -> bool;
}

/// Bytes of a single-byte set, as they are. Every byte is taken for the code point of its number: only `%`, `_` and
/// the escape character are looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainBytes(pub(super) crate::charset::Charset);

/// UTF-8 characters as they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainUtf8;

/// Bytes with weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableBytes(pub(super) crate::charset::Charset, pub(super) &'static [u8; 256]);

/// UTF-8 characters with weights, `levels` of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighted<F> {
    pub(super) family: F,
    pub(super) levels: usize,
    /// Supplementary characters are only the same as themselves, though all have one weight: `unicode_ci`.
    pub(super) tells_supplementary: bool,
}

impl CharRules for PlainBytes {
    const IS_SINGLE_BYTE: bool = true;
    const IS_PLAIN: bool = true;

    #[inline]
    fn decode(self, text: &[u8]) -> Decoded {
        self.0.decode(text)
    }

    #[inline]
    fn same(self, a: Decoded, b: Decoded) -> bool {
        a == b
    }

    #[inline]
    fn same_ascii(self, a: u8, b: u8) -> bool {
        a == b
    }
}

impl CharRules for PlainUtf8 {
    const IS_SINGLE_BYTE: bool = false;
    const IS_PLAIN: bool = true;

    #[inline]
    fn decode(self, text: &[u8]) -> Decoded {
        decode(text)
    }

    #[inline]
    fn same(self, a: Decoded, b: Decoded) -> bool {
        a == b
    }

    #[inline]
    fn same_ascii(self, a: u8, b: u8) -> bool {
        a == b
    }
}

impl CharRules for TableBytes {
    const IS_SINGLE_BYTE: bool = true;
    const IS_PLAIN: bool = false;

    #[inline]
    fn has_ascii_cases(self) -> bool {
        self.0.extends_ascii()
    }

    #[inline]
    fn decode(self, text: &[u8]) -> Decoded {
        self.0.decode(text)
    }

    fn same(self, a: Decoded, b: Decoded) -> bool {
        let weight = |decoded| {
            let byte = match decoded {
                Decoded::Bad { byte } => byte,
                Decoded::Char { code, .. } => self.0.single_byte(code)?,
                Decoded::End => return None,
            };
            Some(self.1[usize::from(byte)])
        };
        weight(a) == weight(b)
    }

    #[inline]
    fn same_ascii(self, a: u8, b: u8) -> bool {
        self.1[usize::from(a)] == self.1[usize::from(b)]
    }
}

impl<F: Family> CharRules for Weighted<F> {
    const IS_SINGLE_BYTE: bool = false;
    const IS_PLAIN: bool = false;

    #[inline]
    fn decode(self, text: &[u8]) -> Decoded {
        decode(text)
    }

    #[inline]
    fn same(self, a: Decoded, b: Decoded) -> bool {
        if a == b {
            return true;
        }
        let is_supplementary = |decoded| matches!(decoded, Decoded::Char { code: 0x1_0000.., .. });
        if self.tells_supplementary && is_supplementary(a) {
            return false;
        }
        weights_of(self.family, a).eq(weights_of(self.family, b)) && levels::same_char(self.levels, a, b)
    }

    #[inline]
    fn same_ascii(self, a: u8, b: u8) -> bool {
        let codes = self.family.ascii_codes();
        let (code_a, code_b) = (codes[usize::from(a & 0x7F)], codes[usize::from(b & 0x7F)]);
        // Characters without weight have none at any level; others differ in case at the third.
        code_a == code_b && (self.levels < 3 || a == b || F::IGNORES && code_a == 0)
    }
}

/// Runs an expression with the [`CharRules`] of a collation.
macro_rules! with_char_rules {
    ($info:expr, $rules:ident => $body:expr) => {{
        use $crate::collation::chars::{PlainBytes, PlainUtf8, TableBytes, Weighted};
        use $crate::collation::family::{General, GeneralMysql500, ToLower, UCA400, UCA520, UCA900};
        use $crate::collation::info::Rules;
        use $crate::collation::tailored::TailoredChars;
        use $crate::collation::weighed::{GERMAN, Weighed};
        let info: &$crate::collation::CollationInfo = $info;
        match info.rules {
            Rules::Bytes if info.charset.is_single_byte() => {
                let $rules = PlainBytes(info.charset);
                $body
            }
            Rules::Bytes => {
                let $rules = PlainUtf8;
                $body
            }
            Rules::ByteTable(table) => {
                let $rules = TableBytes(info.charset, table);
                $body
            }
            Rules::General => {
                let $rules = Weighted { family: General, levels: 1, tells_supplementary: false };
                $body
            }
            Rules::GeneralMysql500 => {
                let $rules = Weighted { family: GeneralMysql500, levels: 1, tells_supplementary: false };
                $body
            }
            Rules::ToLower => {
                let $rules = Weighted { family: ToLower, levels: 1, tells_supplementary: false };
                $body
            }
            Rules::Uca400 => {
                let $rules = Weighted { family: &UCA400, levels: 1, tells_supplementary: true };
                $body
            }
            Rules::Uca520 => {
                let $rules = Weighted { family: &UCA520, levels: 1, tells_supplementary: false };
                $body
            }
            Rules::Uca900 { levels } => {
                let $rules = Weighted { family: &UCA900, levels, tells_supplementary: false };
                $body
            }
            Rules::Tailored { tailoring, levels } => {
                let $rules = TailoredChars { tailoring: tailoring.get(), levels };
                $body
            }
            Rules::AsUtf8(_) => unreachable!("goes by its twin"),
            Rules::MultiByte(rules) => {
                let $rules = rules;
                $body
            }
            Rules::Weighed(Weighed::German) => {
                let $rules = TableBytes(info.charset, &GERMAN);
                $body
            }
            Rules::Weighed(Weighed::Czech) => {
                let $rules = PlainBytes(info.charset);
                $body
            }
        }
    }};
}
pub(super) use with_char_rules;
