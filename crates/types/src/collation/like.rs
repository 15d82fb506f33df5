//! LIKE: `%` stands for any characters, `_` for one, all others for themselves under the collation.
//!
//! MySQL compares character with character: `'ß' LIKE 'ss'` is false although `'ß' = 'ss'`, and a combining accent is
//! a character of its own. Two characters are the same if their weights are, at all levels.

use super::chars::{CharRules, with_char_rules};
use super::info::Rules;
use super::{CollationId, LikePattern, as_utf8};
use crate::charset::{Charset, Decoded, convert_lossy};

/// What is recognised of a pattern, so that most texts need no backtracking.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// No wildcard.
    Exact,
    /// `literal%`
    Prefix,
    /// `%literal`
    Suffix,
    /// `%literal%`
    Contains(Box<memchr::memmem::Finder<'static>>),
    /// `literal%literal%literal`, each of ASCII characters, the first or the last perhaps empty.
    Pieces(Vec<Vec<u8>>),
    /// Anything else.
    General,
}

/// What is kept for texts that are brought to UTF-8 first, as the pattern was.
#[derive(Clone, Debug)]
pub(super) struct OwnSet {
    charset: Charset,
    /// The literal before the first wildcard.
    literal: Vec<u8>,
}

/// One element of a pattern.
enum Token {
    Any,
    One,
    Literal(Decoded),
}

/// The element at the front of a pattern and its length in bytes; `None` at the end.
#[inline]
fn token<R: CharRules>(rules: R, pattern: &[u8], escape: Option<u32>) -> Option<(Token, usize)> {
    let front = rules.decode(pattern);
    let bytes = front.byte_count();
    let Decoded::Char { code, .. } = front else {
        return (bytes > 0).then_some((Token::Literal(front), bytes));
    };
    if Some(code) == escape && bytes < pattern.len() {
        let escaped = rules.decode(&pattern[bytes..]);
        return Some((Token::Literal(escaped), bytes + escaped.byte_count()));
    }
    let token = match char::from_u32(code) {
        Some('%') => Token::Any,
        Some('_') => Token::One,
        _ => Token::Literal(front),
    };
    Some((token, bytes))
}

/// Matches without having looked at the pattern before.
pub(super) fn matches(collation: CollationId, text: &[u8], pattern: &[u8], escape: Option<u32>) -> bool {
    let info = collation.info();
    if let Rules::AsUtf8(twin) = info.rules {
        return as_utf8::with_both(info.charset, text, pattern, |text, pattern| {
            matches(twin, text, pattern, escape)
        });
    }
    with_char_rules!(info, rules => matches_general(rules, text, pattern, escape))
}

fn matches_general<R: CharRules>(rules: R, text: &[u8], pattern: &[u8], escape: Option<u32>) -> bool {
    let (mut text_at, mut pattern_at) = (0, 0);
    // The last `%`: what follows it in the pattern, and where in the text that is tried. Trying a later place than
    // this is enough: an earlier `%` could not find more.
    let mut retry = None;
    loop {
        let rest = &text[text_at..];
        // Most steps: an ASCII character for itself.
        if let (Some(&wanted), Some(&found)) = (pattern.get(pattern_at), rest.first())
            && (wanted | found).is_ascii()
            && wanted != b'%'
            && wanted != b'_'
            && Some(u32::from(wanted)) != escape
        {
            if rules.same_ascii(wanted, found) {
                (pattern_at, text_at) = (pattern_at + 1, text_at + 1);
                continue;
            }
            // A first character behind `%` that does not match only moves on.
            if retry == Some((pattern_at, text_at)) {
                text_at += 1;
                retry = Some((pattern_at, text_at));
                continue;
            }
        }
        let is_done = match token(rules, &pattern[pattern_at..], escape) {
            None => rest.is_empty(),
            Some((Token::Any, bytes)) => {
                pattern_at += bytes;
                if pattern_at == pattern.len() {
                    return true;
                }
                retry = Some((pattern_at, text_at));
                continue;
            }
            Some((Token::One, bytes)) => {
                if !rest.is_empty() {
                    pattern_at += bytes;
                    text_at += rules.decode(rest).byte_count();
                    continue;
                }
                false
            }
            Some((Token::Literal(literal), bytes)) => {
                let found = rules.decode(rest);
                if found != Decoded::End && rules.same(found, literal) {
                    pattern_at += bytes;
                    text_at += found.byte_count();
                    continue;
                }
                false
            }
        };
        if is_done {
            return true;
        }
        let Some((pattern_start, text_start)) = retry else { return false };
        if text_start >= text.len() {
            return false;
        }
        text_at = text_start + rules.decode(&text[text_start..]).byte_count();
        pattern_at = pattern_start;
        retry = Some((pattern_at, text_at));
    }
}

/// The length of the front of `text` that is `literal`, character by character.
#[inline]
fn match_front<R: CharRules>(rules: R, text: &[u8], literal: &[u8]) -> Option<usize> {
    let (mut text_at, mut literal_at) = (0, 0);
    while let Some(&wanted) = literal.get(literal_at) {
        let &found = text.get(text_at)?;
        if (wanted | found).is_ascii() {
            if !rules.same_ascii(wanted, found) {
                return None;
            }
            (text_at, literal_at) = (text_at + 1, literal_at + 1);
            continue;
        }
        let (found, wanted) = (rules.decode(&text[text_at..]), rules.decode(&literal[literal_at..]));
        if !rules.same(found, wanted) {
            return None;
        }
        (text_at, literal_at) = (text_at + found.byte_count(), literal_at + wanted.byte_count());
    }
    Some(text_at)
}

impl LikePattern {
    /// Prepares `pattern`; `escape` as in [`CollationId::like`].
    #[must_use]
    pub fn new(collation: CollationId, pattern: &[u8], escape: Option<u32>) -> Self {
        let info = collation.info();
        if let Rules::AsUtf8(twin) = info.rules {
            let made = as_utf8::with_utf8(info.charset, pattern, |pattern| Self::new(twin, pattern, escape));
            let mut literal = Vec::new();
            convert_lossy(Charset::Utf8mb4, &made.literal[..made.prefix_bytes], info.charset, &mut literal);
            return Self { own: Some(OwnSet { charset: info.charset, literal }), ..made };
        }
        let mut ends_open = false;
        let (mut pieces, mut any_one) = (vec![Vec::new()], false);
        let mut literal = Vec::new(); // The characters up to the first wildcard behind a leading `%`.
        let (mut prefix_bytes, mut leading_any, mut trailing_any, mut general) = (None, false, false, false);
        with_char_rules!(collation.info(), rules => {
            let mut at = 0;
            while let Some((token, bytes)) = token(rules, &pattern[at..], escape) {
                ends_open = matches!(token, Token::Any);
                match token {
                    Token::Literal(decoded) => {
                        general |= trailing_any;
                        let end = at + bytes;
                        let own = &pattern[end - decoded.byte_count()..end];
                        literal.extend_from_slice(own);
                        pieces.last_mut().expect("there is one").extend_from_slice(own);
                    }
                    Token::Any => {
                        prefix_bytes.get_or_insert(literal.len());
                        if literal.is_empty() { leading_any = true } else { trailing_any = true }
                        pieces.push(Vec::new());
                    }
                    Token::One => {
                        any_one = true;
                        prefix_bytes.get_or_insert(literal.len());
                        general = true;
                    }
                }
                at += bytes;
            }
        });
        let is_malformed = collation.charset().validate(pattern).is_err();
        if is_malformed {
            // Searching by bytes needs whole characters, and pieces of some could become one where an escape is taken out.
            literal.clear();
            prefix_bytes = None;
        }
        let in_pieces = !is_malformed && !any_one && pieces.iter().all(|piece| piece.is_ascii());
        let shape = match (leading_any, trailing_any) {
            _ if general && in_pieces => Shape::Pieces(pieces),
            _ if general || is_malformed => Shape::General,
            (false, false) => Shape::Exact,
            (false, true) => Shape::Prefix,
            (true, false) => Shape::Suffix,
            (true, true) => Shape::Contains(Box::new(memchr::memmem::Finder::new(&literal).into_owned())),
        };
        let prefix_bytes = prefix_bytes.unwrap_or(literal.len());
        Self {
            collation,
            pattern: pattern.to_vec(),
            escape,
            shape,
            literal,
            prefix_bytes,
            ends_open,
            own: None,
        }
    }

    /// Whether `text` matches.
    #[must_use]
    pub fn matches(&self, text: &[u8]) -> bool {
        if let Some(own) = &self.own {
            return as_utf8::with_utf8(own.charset, text, |text| self.matches_own(text));
        }
        self.matches_own(text)
    }

    #[inline]
    fn matches_own(&self, text: &[u8]) -> bool {
        with_char_rules!(self.collation.info(), rules => self.matches_under(rules, text))
    }

    fn matches_under<R: CharRules>(&self, rules: R, text: &[u8]) -> bool {
        let literal = self.literal.as_slice();
        match &self.shape {
            Shape::Exact => match_front(rules, text, literal) == Some(text.len()),
            Shape::Prefix => match_front(rules, text, literal).is_some(),
            Shape::Suffix if R::IS_PLAIN => text.ends_with(literal),
            Shape::Suffix if R::IS_SINGLE_BYTE || text.is_ascii() && literal.is_ascii() => {
                let Some(start) = text.len().checked_sub(literal.len()) else { return false };
                match_front(rules, &text[start..], literal).is_some()
            }
            Shape::Contains(finder) if R::IS_PLAIN => finder.find(text).is_some(),
            Shape::Contains(_) if text.is_ascii() && literal.is_ascii() => {
                contains_ascii(rules, text, literal)
            }
            Shape::Pieces(pieces) if text.is_ascii() => has_pieces(rules, text, pieces),
            _ => matches_general(rules, text, &self.pattern, self.escape),
        }
    }

    /// Whether every longer text that begins with `start` matches, or none does; `None` if that depends on the rest.
    /// `start` may end inside a character.
    #[must_use]
    pub fn matches_start(&self, start: &[u8]) -> Option<bool> {
        if let Some(own) = &self.own {
            let start = own.charset.whole_characters(start);
            return as_utf8::with_utf8(own.charset, start, |start| self.matches_own_start(start));
        }
        self.matches_own_start(self.collation.charset().whole_characters(start))
    }

    fn matches_own_start(&self, start: &[u8]) -> Option<bool> {
        with_char_rules!(self.collation.info(), rules => self.matches_start_under(rules, start))
    }

    fn matches_start_under<R: CharRules>(&self, rules: R, start: &[u8]) -> Option<bool> {
        let (mut text_at, mut pattern_at) = (0, 0);
        // The text is longer: without a `%` the pattern has an end too early.
        while let Some((token, bytes)) = token(rules, &self.pattern[pattern_at..], self.escape) {
            pattern_at += bytes;
            if let Token::Any = token {
                let is_last = pattern_at == self.pattern.len();
                // What is found before a `%` at the end is found.
                return (is_last || self.ends_open && self.matches_under(rules, start)).then_some(true);
            }
            let found = rules.decode(&start[text_at..]);
            if found == Decoded::End {
                return None;
            }
            if let Token::Literal(literal) = token
                && !rules.same(found, literal)
            {
                return Some(false);
            }
            text_at += found.byte_count();
        }
        Some(false)
    }

    /// The characters every matching text begins with (up to the first wildcard, escapes taken out), for
    /// [`CollationId::sort_key_prefix`]; and whether the pattern has no wildcard at all.
    #[must_use]
    pub fn literal_prefix(&self) -> (&[u8], bool) {
        let literal = match &self.own {
            Some(own) => &own.literal,
            None => &self.literal[..self.prefix_bytes],
        };
        (literal, matches!(self.shape, Shape::Exact))
    }
}

/// Whether an ASCII text begins with the first literal, ends with the last, and has the others between them, one behind the other.
fn has_pieces<R: CharRules>(rules: R, text: &[u8], pieces: &[Vec<u8>]) -> bool {
    let Some(([first, between @ ..], last)) = pieces.split_last().map(|(last, rest)| (rest, last)) else {
        return false;
    };
    let (Some(mut at), Some(end)) = (match_front(rules, text, first), text.len().checked_sub(last.len()))
    else {
        return false;
    };
    for piece in between {
        // The first place is enough: a later one leaves less for what follows.
        let Some(place) = text.get(at..end).and_then(|rest| find_ascii(rules, rest, piece)) else {
            return false;
        };
        at += place + piece.len();
    }
    at <= end && match_front(rules, &text[end..], last).is_some()
}

/// Whether an ASCII literal is in an ASCII text.
fn contains_ascii<R: CharRules>(rules: R, text: &[u8], literal: &[u8]) -> bool {
    find_ascii(rules, text, literal).is_some()
}

/// Where an ASCII literal first stands in an ASCII text.
fn find_ascii<R: CharRules>(rules: R, text: &[u8], literal: &[u8]) -> Option<usize> {
    let Some(&first) = literal.first() else { return Some(0) };
    // The characters that are the same as a printable one are its two cases; a control character may have others.
    if !rules.has_ascii_cases() || !(b' '..=b'~').contains(&first) {
        return (0..text.len()).find(|&at| match_front(rules, &text[at..], literal).is_some());
    }
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let mut starts = text.get(..(text.len() + 1).checked_sub(literal.len())?)?;
    let mut at = 0;
    // A search costs more than a look: where one candidate stands, the next often follows at once.
    while let Some(&found) = starts.first() {
        let skipped = match found == lower || found == upper {
            true => 0,
            false => memchr::memchr2(lower, upper, starts)?,
        };
        at += skipped;
        if match_front(rules, &text[at..], literal).is_some() {
            return Some(at);
        }
        at += 1;
        starts = &starts[skipped + 1..];
    }
    None
}
