//! Keys of texts that come in pieces, of which only one is in memory.
//!
//! A piece is written as far as nothing that follows can change what is written: up to a whole character, and where spaces
//! pad up to a character with a weight that is no space's. What is left is held until the next piece comes.

use super::family::{UCA900, last_char_start};
use super::info::Rules;
use super::multi_byte::MultiByte;
use super::weighed::Weighed;
use super::{CollationId, as_utf8, levels, tailored, weighted};
use crate::charset::Charset;

/// Makes the key of a text that comes in pieces. Keys made so compare as bytes as the texts do, pass by pass, and no pass's key is
/// a proper prefix of another's of the same pass. The first pass begins as the text's sort key does; lower levels have a
/// form of their own.
#[derive(Debug)]
pub struct KeyPieces {
    collation: CollationId,
    pass: usize,
    held: Vec<u8>,
    /// Makes the key of the text in UTF-8, for a collation of another set.
    utf8: Option<Box<KeyPieces>>,
}

impl CollationId {
    /// How many times a text has to be gone through for all of its key, see [`KeyPieces`]: once for each level.
    #[must_use]
    pub fn key_passes(self) -> usize {
        match self.info().rules {
            Rules::Uca900 { levels } | Rules::Tailored { levels, .. } => levels,
            Rules::AsUtf8(twin) => twin.key_passes(),
            Rules::Weighed(Weighed::Czech) => 2,
            _ => 1,
        }
    }

    /// So many first bytes of `text` have the same key whatever follows.
    fn settled(self, text: &[u8]) -> usize {
        let charset = self.charset();
        let whole = charset.whole_characters(text);
        if let Rules::Tailored { tailoring, .. } = self.info().rules {
            return tailored::settled(tailoring.get(), self.info().padding, whole);
        }
        if self.info().is_no_pad() {
            return whole.len();
        }
        match self.info().rules {
            Rules::MultiByte(_) => return MultiByte::settled(whole),
            Rules::Weighed(Weighed::Czech) => return Weighed::settled(whole),
            _ => {}
        }
        let is_single = !matches!(charset, Charset::Utf8mb3 | Charset::Utf8mb4);
        let key_of = |text: &[u8]| {
            let mut key = Vec::new();
            self.sort_key_prefix(text, &mut key);
            key
        };
        let letter = key_of(b"a");
        let mut end = whole.len();
        while end > 0 {
            let start = if is_single { end - 1 } else { last_char_start(&whole[..end]) };
            // Spaces are written when it is known what follows them; other characters may have no weight.
            let last = &whole[start..end];
            let key = key_of(last);
            if !key.is_empty() && key_of(&[last, b"a"].concat()) == [key, letter.clone()].concat() {
                return end;
            }
            end = start;
        }
        0
    }
}

impl KeyPieces {
    /// The key of pass `pass`, below [`CollationId::key_passes`], before the first piece.
    #[must_use]
    pub fn new(collation: CollationId, pass: usize) -> Self {
        let utf8 = match collation.info().rules {
            Rules::AsUtf8(twin) => Some(Box::new(Self::new(twin, pass))),
            _ => None,
        };
        Self { collation, pass, held: Vec::new(), utf8 }
    }

    /// The next piece; appends to `key` what is certain now, with the last piece all that is left and the end.
    pub fn push(&mut self, piece: &[u8], is_last: bool, key: &mut Vec<u8>) {
        self.held.extend_from_slice(piece);
        if let Some(utf8) = &mut self.utf8 {
            let charset = self.collation.charset();
            let ready = if is_last { self.held.len() } else { charset.whole_characters(&self.held).len() };
            as_utf8::with_utf8(charset, &self.held[..ready], |piece| utf8.push(piece, is_last, key));
            self.held.drain(..ready);
            return;
        }
        let ready = if is_last { self.held.len() } else { self.collation.settled(&self.held) };
        let text = &self.held[..ready];
        let info = self.collation.info();
        if let Rules::Weighed(Weighed::Czech) = info.rules {
            Weighed::write_level(text, self.pass, key);
            key.extend(is_last.then_some(0));
            self.held.drain(..ready);
            return;
        }
        match (self.pass.checked_sub(1), is_last) {
            (Some(level), _) => {
                match info.rules {
                    Rules::Tailored { tailoring, .. } => {
                        let weights = tailoring.get().weights(level + 1, text);
                        key.extend(weights.flat_map(u16::to_be_bytes));
                    }
                    _ => key.extend(levels::weights(level, text).flat_map(u16::to_be_bytes)),
                }
                if is_last {
                    key.extend([0, 0]);
                }
            }
            (None, false) => match info.rules {
                Rules::Tailored { tailoring, .. } => {
                    tailored::write_codes(tailoring.get(), info.padding, text, key);
                }
                _ => self.collation.sort_key_prefix(text, key),
            },
            (None, true) => match info.rules {
                Rules::Uca900 { .. } => weighted::sort_key(&UCA900, info.padding, text, key),
                Rules::Tailored { tailoring, .. } => {
                    tailored::sort_key_first(tailoring.get(), info.padding, text, key);
                }
                _ => self.collation.sort_key(text, key),
            },
        }
        self.held.drain(..ready);
    }
}

#[cfg(test)]
mod tests {
    use super::KeyPieces;
    use crate::collation::CollationId;

    fn key(collation: CollationId, text: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
        let passes = 0..collation.key_passes();
        let of_pass = |pass| {
            let mut pieces = KeyPieces::new(collation, pass);
            let (mut key, mut at) = (Vec::new(), 0);
            for &cut in cuts {
                pieces.push(&text[at..cut], false, &mut key);
                at = cut;
            }
            pieces.push(&text[at..], true, &mut key);
            key
        };
        passes.map(of_pass).collect()
    }

    /// Wherever a text is cut, also inside characters and among spaces, its key is the same, and keys compare as the texts do.
    #[test]
    fn pieces_make_the_key_of_the_whole() {
        let mut random = env::random::Rng::new(0x2026_1122);
        let mut below = |end: usize| random.index(end);
        let characters = [
            "a",
            "A",
            "b",
            " ",
            " ",
            "\u{e4}",
            "a\u{308}",
            "\u{df}",
            "\u{1}",
            "\u{a8}",
            "\u{3000}",
            "\u{4e2d}",
            "\u{fdfa}",
            "\u{1f600}",
            "\0",
            "!",
            "c",
            "h",
            "d",
            "z",
            "\u{30a}",
        ];
        let collations = [
            "binary",
            "utf8mb4_0900_ai_ci",
            "utf8mb4_0900_as_cs",
            "utf8mb4_0900_bin",
            "utf8mb4_bin",
            "utf8mb4_general_ci",
            "utf8mb4_unicode_ci",
            "utf8mb4_unicode_520_ci",
            "latin1_swedish_ci",
            "latin1_bin",
            "utf8mb4_cs_0900_ai_ci",
            "utf8mb4_da_0900_as_cs",
            "utf8mb4_hu_0900_as_cs",
            "utf8mb4_zh_0900_as_cs",
            "utf8mb4_croatian_ci",
            "utf16_czech_ci",
            "utf32_bin",
            "gbk_chinese_ci",
            "gb18030_chinese_ci",
            "latin1_german2_ci",
            "cp1250_czech_cs",
        ]
        .map(|name| CollationId::from_name(name).expect("a collation"));
        for round in 0..3000 {
            let collation = collations[round % collations.len()];
            let texts = [(); 2].map(|()| {
                let most = [3, 12, 200][below(3)];
                let text: String = (0..below(most)).map(|_| characters[below(characters.len())]).collect();
                text + &" ".repeat([0, 0, 1, 200][below(4)])
            });
            let keys = texts.each_ref().map(|text| {
                let text = text.as_bytes();
                let whole = key(collation, text, &[]);
                let mut cuts: Vec<usize> = (0..below(5)).map(|_| below(text.len() + 1)).collect();
                cuts.sort_unstable();
                assert_eq!(key(collation, text, &cuts), whole, "{} {text:?} {cuts:?}", collation.name());
                let mut sort_key = Vec::new();
                collation.sort_key(text, &mut sort_key);
                assert!(sort_key.starts_with(&whole[0]), "{}", collation.name());
                whole
            });
            let [a, b] = texts.each_ref().map(String::as_bytes);
            assert_eq!(keys[0].cmp(&keys[1]), collation.compare(a, b), "{} {texts:?}", collation.name());
        }
    }
}
