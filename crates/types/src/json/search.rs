//! JSON_SEARCH: where the strings of a document are that a test accepts.
//!
//! Invariants:
//! 1. Along paths only elements of arrays count as cells: no other value is an array of itself.
//! 2. A value at the end of a path is searched once, whatever number of ways leads to it; paths are in the document's order.
//! 3. The stack grows with the depth of a document, which is bounded, and not with the length of a path.

use std::collections::HashSet;

use super::path::{Index, Leg, Path, STEPS_PER_LOOK, Stopped};
use super::value::View;
use super::{Kind, write_quoted};

/// The paths of strings in a document, found by a test of their texts.
pub struct Search<'a> {
    matches: &'a mut dyn FnMut(&[u8]) -> bool,
    /// Ends with the first.
    is_one: bool,
    steps: u32,
    found: Vec<Vec<u8>>,
    seen: HashSet<Vec<u8>>,
}

impl std::fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search")
            .field("is_one", &self.is_one)
            .field("found", &self.found)
            .finish_non_exhaustive()
    }
}

/// What was reached along a path with wildcards: a value by where it lies, and the leg that follows.
type Reached = HashSet<(usize, usize)>;

impl<'a> Search<'a> {
    /// Finds the first string that `matches` accepts (`is_one`), or all of them.
    #[must_use]
    pub fn new(is_one: bool, matches: &'a mut dyn FnMut(&[u8]) -> bool) -> Self {
        Self { matches, is_one, steps: 0, found: Vec::new(), seen: HashSet::new() }
    }

    /// Searches the values that a path names, and what is below them.
    ///
    /// # Errors
    /// The computation has to end ([`env::blocking::must_stop`]).
    pub fn at(&mut self, document: &[u8], path: &Path) -> Result<(), Stopped> {
        if self.is_done() {
            return Ok(());
        }
        let root = View::new(document);
        if path.has_wildcard() {
            return self.along(root, &path.legs, 0, &mut b"$".to_vec(), &mut Reached::new());
        }
        let Some(view) = path.within_arrays(document) else { return Ok(()) };
        // Without a wildcard positions are shown as the path has them.
        let mut prefix = b"$".to_vec();
        for leg in &path.legs {
            match leg {
                Leg::Member(key) => push_member(key, &mut prefix),
                Leg::Cell(index) => push_index(*index, &mut prefix),
                Leg::AnyMember | Leg::Range(..) | Leg::AnyCell | Leg::Descendants => {}
            }
        }
        self.below(view, &mut prefix)
    }

    /// The paths found, each once.
    #[must_use]
    pub fn into_found(self) -> Vec<Vec<u8>> {
        self.found
    }

    fn is_done(&self) -> bool {
        self.is_one && !self.found.is_empty()
    }

    fn step(&mut self) -> Result<(), Stopped> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(STEPS_PER_LOOK) && env::blocking::must_stop() {
            Err(Stopped)
        } else {
            Ok(())
        }
    }

    /// Searches a value and all below it; `prefix` is its path.
    fn below(&mut self, view: View<'_>, prefix: &mut Vec<u8>) -> Result<(), Stopped> {
        self.step()?;
        let length = prefix.len();
        match view.kind() {
            Kind::String if (self.matches)(view.string()) && !self.seen.contains(prefix) => {
                self.seen.insert(prefix.clone());
                self.found.push(prefix.clone());
            }
            Kind::Array => {
                for (number, element) in view.elements().enumerate() {
                    push_cell(number, prefix);
                    self.below(element, prefix)?;
                    prefix.truncate(length);
                    if self.is_done() {
                        break;
                    }
                }
            }
            Kind::Object => {
                for (key, value) in view.members() {
                    push_member(key, prefix);
                    self.below(value, prefix)?;
                    prefix.truncate(length);
                    if self.is_done() {
                        break;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Follows a path from a value along the legs from `leg` on.
    fn along(
        &mut self,
        view: View<'_>,
        legs: &[Leg],
        leg: usize,
        prefix: &mut Vec<u8>,
        reached: &mut Reached,
    ) -> Result<(), Stopped> {
        self.step()?;
        // Several `**` in a row are as one.
        let mut leg = leg;
        while matches!(legs[leg.min(legs.len())..], [Leg::Descendants, Leg::Descendants, ..]) {
            leg += 1;
        }
        if self.is_done() || !reached.insert((view.place(), leg)) {
            return Ok(());
        }
        let is_array = view.kind() == Kind::Array;
        let length = prefix.len();
        match legs.get(leg) {
            None => self.below(view, prefix)?,
            Some(Leg::Member(key)) => {
                if let Some(value) = view.get(key) {
                    push_member(key, prefix);
                    self.along(value, legs, leg + 1, prefix, reached)?;
                }
            }
            Some(Leg::AnyMember) => self.members(view, legs, leg + 1, prefix, reached)?,
            Some(Leg::Descendants) => {
                self.along(view, legs, leg + 1, prefix, reached)?;
                self.cells(view, 0..view.len(), legs, leg, prefix, reached)?;
                self.members(view, legs, leg, prefix, reached)?;
            }
            Some(_) if !is_array => {}
            Some(Leg::AnyCell) => self.cells(view, 0..view.len(), legs, leg + 1, prefix, reached)?,
            Some(Leg::Cell(index)) => {
                if let Some(number) = index.resolve(view.len()).filter(|&number| number < view.len()) {
                    self.cells(view, number..number + 1, legs, leg + 1, prefix, reached)?;
                }
            }
            Some(Leg::Range(from, to)) => {
                let first = from.resolve(view.len()).unwrap_or(0);
                let end = to.resolve(view.len()).map_or(0, |last| last.saturating_add(1).min(view.len()));
                self.cells(view, first..end, legs, leg + 1, prefix, reached)?;
            }
        }
        prefix.truncate(length);
        Ok(())
    }

    fn cells(
        &mut self,
        view: View<'_>,
        numbers: std::ops::Range<usize>,
        legs: &[Leg],
        leg: usize,
        prefix: &mut Vec<u8>,
        reached: &mut Reached,
    ) -> Result<(), Stopped> {
        if view.kind() != Kind::Array {
            return Ok(());
        }
        let length = prefix.len();
        for number in numbers {
            let Some(element) = view.element(number) else { break };
            push_cell(number, prefix);
            self.along(element, legs, leg, prefix, reached)?;
            prefix.truncate(length);
        }
        Ok(())
    }

    fn members(
        &mut self,
        view: View<'_>,
        legs: &[Leg],
        leg: usize,
        prefix: &mut Vec<u8>,
        reached: &mut Reached,
    ) -> Result<(), Stopped> {
        if view.kind() != Kind::Object {
            return Ok(());
        }
        let length = prefix.len();
        for (key, value) in view.members() {
            push_member(key, prefix);
            self.along(value, legs, leg, prefix, reached)?;
            prefix.truncate(length);
        }
        Ok(())
    }
}

fn push_cell(number: usize, path: &mut Vec<u8>) {
    path.push(b'[');
    crate::number::write_u64(number as u64, path);
    path.push(b']');
}

fn push_index(index: Index, path: &mut Vec<u8>) {
    if !index.from_end {
        return push_cell(index.offset, path);
    }
    path.extend_from_slice(b"[last");
    if index.offset > 0 {
        path.push(b'-');
        crate::number::write_u64(index.offset as u64, path);
    }
    path.push(b']');
}

/// A key is in quotes unless it is an identifier.
fn push_member(key: &[u8], path: &mut Vec<u8>) {
    path.push(b'.');
    let is_sign = |sign: char| sign == '_' || sign == '$';
    let is_identifier = std::str::from_utf8(key).is_ok_and(|key| {
        key.starts_with(|first: char| first.is_alphabetic() || is_sign(first))
            && key.chars().all(|other| other.is_alphanumeric() || is_sign(other))
    });
    if is_identifier {
        path.extend_from_slice(key);
    } else {
        write_quoted(key, path);
    }
}
