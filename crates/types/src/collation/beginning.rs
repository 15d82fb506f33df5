//! Texts of which only the beginning is known: what is certain of them whatever follows.
//!
//! All collations but the tailored ones weigh a text character by character, so that the weights of whole characters stay what
//! they are. Open are a character that is cut at the end, spaces that may be padding, and the levels below the first.

use std::cmp::Ordering;

use super::family::{UCA400, UCA520};
use super::info::Rules;
use super::weighed::Weighed;
use super::{CollationId, as_utf8, tailored, weighted};
use crate::charset::Charset;

impl CollationId {
    /// Appends bytes with which the sort key of every text begins whose bytes begin with `start`. They may end inside a
    /// character. May append nothing.
    pub fn sort_key_of_start(self, start: &[u8], key: &mut Vec<u8>) {
        let info = self.info();
        let whole = info.charset.whole_characters(start);
        match info.rules {
            Rules::Tailored { tailoring, .. } => {
                tailored::sort_key_of_start(tailoring.get(), info.padding, whole, key);
            }
            Rules::AsUtf8(twin) => {
                as_utf8::with_utf8(info.charset, whole, |whole| twin.sort_key_of_start(whole, key));
            }
            _ => self.sort_key_prefix(whole, key),
        }
    }

    /// How every longer text that begins with `start` compares with the text that has sort key `key`; `None` if they do
    /// not all compare alike, or might not.
    #[must_use]
    pub fn compare_start(self, start: &[u8], key: &[u8]) -> Option<Ordering> {
        let mut begins = Vec::with_capacity(start.len() + 8);
        self.sort_key_of_start(start, &mut begins);
        let common = begins.len().min(key.len());
        let order = begins[..common].cmp(&key[..common]);
        order.is_ne().then_some(order)
    }

    /// How much of `text` an order looks at that goes by this many bytes of weights (MySQL's `max_sort_length`): all of it
    /// under NO PAD, else the characters whose weights begin there.
    ///
    /// Source: MySQL 9.7 manual, `max_sort_length`; how many bytes a weight has was asked of a server.
    #[must_use]
    pub fn sort_prefix(self, text: &[u8], weight_bytes_max: usize) -> &[u8] {
        let info = self.info();
        if info.is_no_pad() {
            return text;
        }
        if let Rules::AsUtf8(twin) = info.rules {
            return as_utf8::sort_prefix(info.charset, twin, text, weight_bytes_max);
        }
        let weights = self.weights_in(weight_bytes_max);
        // A character may have several weights, or none.
        match info.rules {
            _ if text.len() <= weights => text,
            Rules::Uca400 => weighted::front(&UCA400, text, weights),
            Rules::Uca520 => weighted::front(&UCA520, text, weights),
            Rules::MultiByte(rules) => rules.front(text, weight_bytes_max),
            Rules::Weighed(rules) => rules.front(text, weight_bytes_max),
            Rules::Tailored { tailoring, .. } => tailored::front(tailoring.get(), text, weights),
            _ => &text[..info.charset.prefix_bytes(text, weights)],
        }
    }

    /// How many weights of MySQL's `WEIGHT_STRING()` this many bytes hold.
    fn weights_in(self, bytes: usize) -> usize {
        let info = self.info();
        match info.rules {
            Rules::Bytes if info.charset == Charset::Utf8mb4 => bytes / 3,
            Rules::Bytes if !info.charset.is_single_byte() => bytes / 2,
            Rules::Bytes | Rules::ByteTable(_) | Rules::Weighed(Weighed::German) => bytes,
            _ => bytes / 2,
        }
    }

    /// Whether an order by this many bytes of weights looks at no more of any text than its first bytes, and how many these
    /// are at most.
    #[must_use]
    pub fn sort_prefix_bytes(self, weight_bytes_max: usize) -> Option<usize> {
        let info = self.info();
        match info.rules {
            Rules::AsUtf8(twin) => as_utf8::sort_prefix_bytes(info.charset, twin, weight_bytes_max),
            // No character has more bytes than four times its weight's.
            Rules::MultiByte(_) => Some(weight_bytes_max.saturating_mul(4)),
            // Its letters come before their cases.
            Rules::Weighed(Weighed::Czech) => None,
            // Characters without weight may stand anywhere.
            Rules::Uca400 | Rules::Uca520 | Rules::Uca900 { .. } | Rules::Tailored { .. } => None,
            _ if info.is_no_pad() => None,
            _ => Some(self.weights_in(weight_bytes_max).saturating_mul(info.charset.max_bytes_per_char())),
        }
    }

    /// Whether texts are equal only if they are the same bytes.
    #[must_use]
    pub fn tells_all_bytes(self) -> bool {
        matches!(self.info().rules, Rules::Bytes) && self.info().is_no_pad()
    }
}
