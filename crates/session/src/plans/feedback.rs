//! What runs of statements said of the rows of their joins ([`plan::feedback`]), until they are planned again.
//!
//! A plan of which an estimate was wrong by [`plan::feedback::WRONG_FACTOR`] runs no more: the next time its statement is planned with the rows
//! that were counted. A statement is known by its database
//! and its text, a normalized one with others that differ in their literals only.
//!
//! Invariants:
//! 1. Each of at most [`STATEMENTS_MAX`] statements has one [`Feedback`]; the oldest is forgotten first.
//! 2. A statement is planned again only if something new was counted, and at most [`RUNS_MAX`] times for the same statistics of its tables.
//!    Where values differ so much from each other that each proves the other's count wrong, it is planned by estimates as before.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use parking_lot::Mutex;
use plan::Feedback;

/// Most statements whose rows are known.
const STATEMENTS_MAX: usize = 1024;
/// Most runs of a statement that are learnt from while its tables' statistics stay the same.
const RUNS_MAX: u32 = 4;

/// What runs of a plan have shown of its estimates.
#[derive(Debug, Default)]
pub(crate) struct EstimateCheck(AtomicU8);

impl EstimateCheck {
    const WRONG: u8 = 1;
    const KEPT: u8 = 2;

    /// Whether runs may still show something.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Whether they were wrong: the statement is planned again.
    #[inline]
    pub(crate) fn is_wrong(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Self::WRONG
    }

    /// A run has shown them to be wrong. `is_planned_again`: another plan may be made; else this one is kept. Of several runs at one time the
    /// first decides.
    pub(crate) fn close(&self, is_planned_again: impl FnOnce() -> bool) -> bool {
        let closed = self.0.compare_exchange(0, Self::KEPT, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        let is_wrong = closed && is_planned_again();
        if is_wrong {
            self.0.store(Self::WRONG, Ordering::Relaxed);
        }
        closed
    }
}

#[derive(Debug)]
struct Counted {
    feedback: Arc<Feedback>,
    runs: u32,
}

#[derive(Debug, Default)]
struct Statements {
    by_key: HashMap<u64, Counted>,
    /// Their keys, the oldest first.
    oldest: VecDeque<u64>,
}

/// The rows that were counted of all sessions' statements.
#[derive(Debug, Default)]
pub(crate) struct CountedStatements {
    statements: Mutex<Statements>,
    /// There are any: most servers have estimated all well enough.
    any: AtomicBool,
}

impl CountedStatements {
    /// What was counted of the statement with this key.
    pub(crate) fn find(&self, key: u64) -> Option<Arc<Feedback>> {
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        self.statements.lock().by_key.get(&key).map(|counted| Arc::clone(&counted.feedback))
    }

    /// A run of it was estimated wrong. Whether it is to be planned again.
    pub(crate) fn note(&self, key: u64, mut feedback: Feedback) -> bool {
        let mut statements = self.statements.lock();
        let mut runs = 1;
        match statements.by_key.get(&key) {
            Some(before) if before.feedback.is_of_tables_of(&feedback) => {
                if before.runs >= RUNS_MAX {
                    return false;
                }
                if feedback.contradicts(&before.feedback) {
                    // Estimates that are made for the values at hand are better than a count of others.
                    feedback.forget_rows();
                    let counted = Counted { feedback: Arc::new(feedback), runs: RUNS_MAX };
                    statements.by_key.insert(key, counted);
                    return true;
                }
                feedback.add(&before.feedback);
                if feedback.says_as(&before.feedback) {
                    return false;
                }
                runs = before.runs + 1;
            }
            Some(_) => {}
            None => {
                if statements.oldest.len() >= STATEMENTS_MAX
                    && let Some(oldest) = statements.oldest.pop_front()
                {
                    statements.by_key.remove(&oldest);
                }
                statements.oldest.push_back(key);
            }
        }
        statements.by_key.insert(key, Counted { feedback: Arc::new(feedback), runs });
        self.any.store(true, Ordering::Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_run_decides() {
        let check = EstimateCheck::default();
        assert!(check.is_open() && !check.is_wrong());
        assert!(check.close(|| true));
        assert!(!check.close(|| false), "it is closed");
        assert!(check.is_wrong() && !check.is_open());
        let kept = EstimateCheck::default();
        assert!(kept.close(|| false));
        assert!(!kept.is_wrong() && !kept.is_open());
    }
}
