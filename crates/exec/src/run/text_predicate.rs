//! Comparisons of large values with known texts, decided by as little of the value as it takes.
//!
//! A predicate gives what the expression it replaces gives: NULL where a text is NULL and decides, else TRUE or FALSE.

use std::cmp::Ordering;

use access::{Predicate, PredicateResult};
use plan::logical::{TextPredicate, TextPredicateKind};
use types::collation::LikePattern;
use types::{Cell, CollationId};

/// A [`TextPredicate`] with the texts of this execution.
#[derive(Debug)]
pub(super) struct PreparedPredicate {
    kind: TextPredicateKind,
    collation: CollationId,
    /// `None`: NULL.
    texts: Vec<Option<Text>>,
    /// Of LIKE.
    pattern: Option<LikePattern>,
}

#[derive(Debug)]
struct Text {
    bytes: Vec<u8>,
    sort_key: Vec<u8>,
}

impl PreparedPredicate {
    /// `backslash`: it is the escape character of LIKE, which else has none.
    pub(super) fn new<'c>(
        predicate: &TextPredicate,
        texts: impl Iterator<Item = Cell<'c>>,
        backslash: bool,
    ) -> PreparedPredicate {
        let collation = predicate.collation;
        let texts: Vec<Option<Text>> = texts
            .map(|cell| match cell {
                Cell::Bytes(bytes) => {
                    let mut sort_key = Vec::new();
                    collation.sort_key(bytes, &mut sort_key);
                    Some(Text { bytes: bytes.to_vec(), sort_key })
                }
                _ => None,
            })
            .collect();
        let pattern = match (predicate.kind, texts.first()) {
            (TextPredicateKind::Like, Some(Some(text))) => {
                Some(LikePattern::new(collation, &text.bytes, backslash.then_some(u32::from(b'\\'))))
            }
            _ => None,
        };
        PreparedPredicate { kind: predicate.kind, collation, texts, pattern }
    }

    /// How the value compares with text `number`; `Err`: NULL, or it is not known yet.
    fn order(&self, number: usize, start: &[u8], length: u64) -> Result<Ordering, PredicateResult> {
        let Some(Some(text)) = self.texts.get(number) else { return Err(PredicateResult::Null) };
        if start.len() as u64 == length {
            return Ok(self.collation.compare(start, &text.bytes));
        }
        self.collation.compare_start(start, &text.sort_key).ok_or(PredicateResult::More)
    }

    /// Whether it equals text `number`.
    fn equal(&self, number: usize, start: &[u8], length: u64) -> Result<bool, PredicateResult> {
        if let Some(Some(text)) = self.texts.get(number)
            && text.bytes.len() as u64 != length
            && self.collation.tells_all_bytes()
        {
            return Ok(false);
        }
        self.order(number, start, length).map(Ordering::is_eq)
    }

    fn is_like(&self, start: &[u8], length: u64) -> Result<bool, PredicateResult> {
        let Some(pattern) = &self.pattern else { return Err(PredicateResult::Null) };
        if start.len() as u64 == length {
            return Ok(pattern.matches(start));
        }
        pattern.matches_start(start).ok_or(PredicateResult::More)
    }
}

impl Predicate for PreparedPredicate {
    fn evaluate(&self, start: &[u8], length: u64) -> PredicateResult {
        let order = |number| self.order(number, start, length);
        let answer = match self.kind {
            TextPredicateKind::Eq => self.equal(0, start, length),
            TextPredicateKind::Ne => self.equal(0, start, length).map(|equal| !equal),
            TextPredicateKind::Lt => order(0).map(Ordering::is_lt),
            TextPredicateKind::Le => order(0).map(Ordering::is_le),
            TextPredicateKind::Gt => order(0).map(Ordering::is_gt),
            TextPredicateKind::Ge => order(0).map(Ordering::is_ge),
            TextPredicateKind::Like => self.is_like(start, length),
            TextPredicateKind::Between => {
                match (order(0).map(Ordering::is_ge), order(1).map(Ordering::is_le)) {
                    (Ok(false), _) | (_, Ok(false)) => Ok(false),
                    (Err(PredicateResult::More), _) | (_, Err(PredicateResult::More)) => {
                        Err(PredicateResult::More)
                    }
                    (Err(PredicateResult::Null), _) | (_, Err(PredicateResult::Null)) => {
                        Err(PredicateResult::Null)
                    }
                    _ => Ok(true),
                }
            }
            TextPredicateKind::In => {
                let mut answer = Ok(false);
                for number in 0..self.texts.len() {
                    match (self.equal(number, start, length), answer) {
                        (Ok(true), _) => return PredicateResult::Is(true),
                        (Ok(false), _) | (_, Err(PredicateResult::More)) => {}
                        (open, _) => answer = open,
                    }
                }
                answer
            }
        };
        match answer {
            Ok(holds) => PredicateResult::Is(holds),
            Err(verdict) => verdict,
        }
    }
}
