//! JSON paths: `$.a."b c"[0][last-1][1 to 3].*[*]**.c`.
//!
//! Invariant: a path may have as many legs as its text has room for, so that going along it takes no stack.

use std::collections::HashSet;

use super::Kind;
use super::value::View;

/// A step of a path. Array positions from the end are written `last`, `last-1`, ...
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Leg {
    /// `.key`
    Member(Vec<u8>),
    /// `.*`
    AnyMember,
    /// `[n]` or `[last-n]`
    Cell(Index),
    /// `[n to m]`
    Range(Index, Index),
    /// `[*]`
    AnyCell,
    /// `**`
    Descendants,
}

/// A position in an array.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Index {
    /// How far.
    pub offset: usize,
    /// Counted from the last element backwards.
    pub from_end: bool,
}

impl Index {
    /// The position in an array of `length` elements; `None` before its start.
    pub(super) fn resolve(self, length: usize) -> Option<usize> {
        if self.from_end { (length).checked_sub(self.offset + 1) } else { Some(self.offset) }
    }
}

/// A parsed path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Path {
    /// Steps from the root.
    pub legs: Vec<Leg>,
}

/// A text that is no path: error 3143 around this character position.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PathError {
    /// Where, in characters from 0.
    pub position: usize,
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// Where it goes wrong.
    pub fn parse(text: &[u8]) -> Result<Path, PathError> {
        let mut at = 0;
        let blanks = |at: &mut usize| {
            while text.get(*at).is_some_and(|&byte| crate::number::is_space(byte)) {
                *at += 1;
            }
        };
        blanks(&mut at);
        if text.get(at) != Some(&b'$') {
            return Err(PathError { position: at + 1 });
        }
        at += 1;
        let mut legs = Vec::new();
        loop {
            blanks(&mut at);
            match text.get(at) {
                None => break,
                Some(b'.') => {
                    at += 1;
                    blanks(&mut at);
                    match text.get(at) {
                        Some(b'*') => {
                            at += 1;
                            legs.push(Leg::AnyMember);
                        }
                        Some(b'"') => {
                            let rest = &text[at..];
                            let mut end = 1;
                            while end < rest.len() && rest[end] != b'"' {
                                end += if rest[end] == b'\\' { 2 } else { 1 };
                            }
                            if end >= rest.len() {
                                return Err(PathError { position: at });
                            }
                            match super::parse_tree(&rest[..=end]) {
                                Ok(super::Json::String(key)) => legs.push(Leg::Member(key)),
                                _ => return Err(PathError { position: at }),
                            }
                            at += end + 1;
                        }
                        _ => {
                            let length = text[at..]
                                .iter()
                                .take_while(|&&byte| {
                                    !matches!(byte, b'.' | b'[' | b'*') && !crate::number::is_space(byte)
                                })
                                .count();
                            let key = &text[at..at + length];
                            let valid = key.first().is_some_and(|byte| !byte.is_ascii_digit())
                                && key.iter().all(|&b| {
                                    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
                                });
                            if !valid {
                                return Err(PathError { position: at });
                            }
                            legs.push(Leg::Member(key.to_vec()));
                            at += length;
                        }
                    }
                }
                Some(b'[') => {
                    at += 1;
                    blanks(&mut at);
                    if text.get(at) == Some(&b'*') {
                        at += 1;
                        legs.push(Leg::AnyCell);
                    } else {
                        let first = index(text, &mut at)?;
                        blanks(&mut at);
                        if text[at..].starts_with(b"to") && at > 0 && crate::number::is_space(text[at - 1]) {
                            at += 2;
                            if !text.get(at).is_some_and(|&byte| crate::number::is_space(byte)) {
                                return Err(PathError { position: at });
                            }
                            blanks(&mut at);
                            let last = index(text, &mut at)?;
                            if first.from_end == last.from_end
                                && (if first.from_end {
                                    first.offset < last.offset
                                } else {
                                    first.offset > last.offset
                                })
                            {
                                return Err(PathError { position: at });
                            }
                            legs.push(Leg::Range(first, last));
                        } else {
                            legs.push(Leg::Cell(first));
                        }
                    }
                    blanks(&mut at);
                    if text.get(at) != Some(&b']') {
                        return Err(PathError { position: at });
                    }
                    at += 1;
                }
                Some(b'*') if text.get(at + 1) == Some(&b'*') => {
                    at += 2;
                    legs.push(Leg::Descendants);
                    // Something follows, and no third `*`.
                    if matches!(text.get(at), None | Some(b'*')) {
                        return Err(PathError { position: at });
                    }
                }
                Some(_) => return Err(PathError { position: at }),
            }
        }
        Ok(Path { legs })
    }

    /// Can it name more than one value?
    #[must_use]
    pub fn has_wildcard(&self) -> bool {
        self.legs.iter().any(|leg| !matches!(leg, Leg::Member(_) | Leg::Cell(_)))
    }

    /// Calls `found` with every value the path names, each once, in document order; ends when it gives false.
    ///
    /// # Errors
    /// The computation has to end ([`env::blocking::must_stop`]): not all values were found.
    pub fn each<'a>(
        &self,
        document: &'a [u8],
        found: &mut dyn FnMut(View<'a>) -> bool,
    ) -> Result<(), Stopped> {
        self.each_from(View::new(document), found)
    }

    /// As [`Path::each`], from a value within a document.
    ///
    /// # Errors
    /// As [`Path::each`].
    pub fn each_from<'a>(
        &self,
        root: View<'a>,
        found: &mut dyn FnMut(View<'a>) -> bool,
    ) -> Result<(), Stopped> {
        let mut seen = self.legs.contains(&Leg::Descendants).then(HashSet::new);
        let mut left = vec![(root, 0)];
        let mut steps = 0_u32;
        while let Some((view, leg)) = left.pop() {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(STEPS_PER_LOOK) && env::blocking::must_stop() {
                return Err(Stopped);
            }
            // Behind `**` one value may be reached in several ways, whose number grows with each `**`.
            let mut is_new = |view: View<'_>, leg: usize| {
                seen.as_mut().is_none_or(|seen| seen.insert((view.place(), leg)))
            };
            if leg < self.legs.len() && !is_new(view, leg) {
                continue;
            }
            let Some(end) = self.step(view, leg, &mut left) else { continue };
            if is_new(end, self.legs.len()) && !found(end) {
                break;
            }
        }
        Ok(())
    }

    /// Goes from a value along the legs from `leg` on, to the value at their end. Where the way parts, what is to be done goes to the
    /// end of `left`, the first last.
    fn step<'a>(
        &self,
        mut view: View<'a>,
        leg: usize,
        left: &mut Vec<(View<'a>, usize)>,
    ) -> Option<View<'a>> {
        let is_array = |view: View<'_>| view.kind() == Kind::Array;
        for (at, leg) in self.legs.iter().enumerate().skip(leg) {
            let first = left.len();
            let next = match leg {
                Leg::Member(key) => view.get(key),
                // What is no array counts as an array of itself.
                Leg::Cell(index) if !is_array(view) => (index.resolve(1) == Some(0)).then_some(view),
                Leg::Cell(index) => index.resolve(view.len()).and_then(|index| view.element(index)),
                Leg::Range(from, to) => {
                    let length = if is_array(view) { view.len() } else { 1 };
                    let from = from.resolve(length).unwrap_or(0);
                    let to = to.resolve(length).map_or(0, |to| (to + 1).min(length));
                    if is_array(view) {
                        left.extend((from..to).filter_map(|index| Some((view.element(index)?, at + 1))));
                        None
                    } else {
                        (from < to).then_some(view)
                    }
                }
                Leg::AnyMember => {
                    left.extend(view.members().map(|(_, value)| (value, at + 1)));
                    None
                }
                Leg::AnyCell => {
                    left.extend(view.elements().map(|element| (element, at + 1)));
                    None
                }
                Leg::Descendants => {
                    left.push((view, at + 1));
                    left.extend(view.elements().map(|element| (element, at)));
                    left.extend(view.members().map(|(_, value)| (value, at)));
                    None
                }
            };
            left[first..].reverse();
            view = next?;
        }
        Some(view)
    }

    /// The first value the path names.
    ///
    /// # Errors
    /// As [`Path::each`].
    pub fn first<'a>(&self, document: &'a [u8]) -> Result<Option<View<'a>>, Stopped> {
        let mut first = None;
        self.each(document, &mut |view| {
            first = Some(view);
            false
        })?;
        Ok(first)
    }

    /// The value that a path without wildcards names where a cell is one of an array only: no other value counts as an array of itself.
    #[must_use]
    pub fn within_arrays<'a>(&self, document: &'a [u8]) -> Option<View<'a>> {
        let mut view = View::new(document);
        for leg in &self.legs {
            view = match leg {
                Leg::Member(key) => view.get(key)?,
                Leg::Cell(index) if view.kind() == Kind::Array => view.element(index.resolve(view.len())?)?,
                _ => return None,
            };
        }
        Some(view)
    }
}

/// A computation has ended before its end, as it was asked to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stopped;

/// Number of values visited along a path between two checks whether the statement has to end.
pub(super) const STEPS_PER_LOOK: u32 = 1024;

fn index(text: &[u8], at: &mut usize) -> Result<Index, PathError> {
    let number = |at: &mut usize| -> Result<usize, PathError> {
        let count = text[*at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let value =
            std::str::from_utf8(&text[*at..*at + count]).ok().and_then(|digits| digits.parse::<u32>().ok());
        match value {
            Some(value) => {
                *at += count;
                Ok(value as usize)
            }
            None => Err(PathError { position: *at }),
        }
    };
    if text[*at..].starts_with(b"last") {
        *at += 4;
        while text.get(*at).is_some_and(|&byte| crate::number::is_space(byte)) && text[*at..].contains(&b'-')
        {
            *at += 1;
        }
        let mut offset = 0;
        if text.get(*at) == Some(&b'-') {
            *at += 1;
            while text.get(*at) == Some(&b' ') {
                *at += 1;
            }
            offset = number(at)?;
        }
        return Ok(Index { offset, from_end: true });
    }
    Ok(Index { offset: number(at)?, from_end: false })
}
