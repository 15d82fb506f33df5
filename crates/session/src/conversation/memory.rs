//! Memory that statements work with: a thread's, lent to the session whose statement it runs.
//!
//! A session that keeps its own keeps it while it is idle, and finds it in no cache when it runs again; with ten thousand sessions
//! both are felt. So what holds nothing from one statement to the next belongs to the thread. Who asks while it is lent (a statement
//! inside a statement) gets new memory.
//!
//! Invariants:
//! 1. Nobody reads in what is lent what an earlier borrower left.
//! 2. A thread keeps [`KEPT_BYTES_MAX`] of each kind at most.

use std::cell::Cell;
use std::thread::LocalKey;

use bumpalo::Bump;
use syntax::DigestScratch;
use types::ValueRef;

use super::unescaped::UnescapedTexts;
use crate::backend::PointMemory;

/// How much memory of each kind is kept for the next statement.
pub(crate) const KEPT_BYTES_MAX: usize = 16 * 1024;

/// A kind of memory.
pub(super) trait Reusable: Default + 'static {
    /// Where a thread has it.
    fn kept() -> &'static LocalKey<Cell<Option<Box<Self>>>>;

    /// Empties it and gives back what is too much to be kept.
    fn clear(&mut self);
}

/// Does work with the thread's memory.
#[inline]
pub(super) fn lend<T: Reusable, R>(work: impl FnOnce(&mut T) -> R) -> R {
    let mut memory = T::kept().take().unwrap_or_default();
    let result = work(&mut memory);
    memory.clear();
    T::kept().set(Some(memory));
    result
}

/// Has a place in each thread for a kind of memory.
macro_rules! keep {
    ($kind:ty) => {
        #[inline]
        fn kept() -> &'static LocalKey<Cell<Option<Box<Self>>>> {
            thread_local!(static KEPT: Cell<Option<Box<$kind>>> = const { Cell::new(None) });
            &KEPT
        }
    };
}

#[inline]
fn clear_bytes(bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.shrink_to(KEPT_BYTES_MAX);
}

thread_local!(static VALUES: Cell<Vec<ValueRef<'static>>> = const { Cell::new(Vec::new()) });

/// An empty vector for values; [`keep_values`] takes it back.
#[inline]
pub(super) fn take_values<'v>() -> Vec<ValueRef<'v>> {
    VALUES.take()
}

/// Keeps the vector's memory for the next statement.
#[inline]
pub(super) fn keep_values(mut values: Vec<ValueRef<'_>>) {
    if values.capacity() * size_of::<ValueRef<'_>>() <= KEPT_BYTES_MAX {
        values.clear();
        // Collecting in place keeps the memory: both sides have the same layout.
        VALUES.set(values.into_iter().map(|_| ValueRef::Null).collect());
    }
}

/// Trees of a text.
impl Reusable for Bump {
    keep!(Bump);

    #[inline]
    fn clear(&mut self) {
        self.reset();
        if self.allocated_bytes() > KEPT_BYTES_MAX {
            *self = Bump::new();
        }
    }
}

/// What looks a text up.
#[derive(Default)]
pub(super) struct TextMemory {
    pub(super) digest: DigestScratch,
    pub(super) unescaped: UnescapedTexts,
}

impl Reusable for TextMemory {
    keep!(TextMemory);

    #[inline]
    fn clear(&mut self) {
        self.digest.keep_at_most(KEPT_BYTES_MAX);
        self.unescaped.keep_at_most(KEPT_BYTES_MAX);
    }
}

impl Reusable for PointMemory {
    keep!(PointMemory);

    #[inline]
    fn clear(&mut self) {
        for bytes in [&mut self.key, &mut self.row, &mut self.cell] {
            clear_bytes(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_empty_and_not_too_large() {
        let (small, large) = (100, KEPT_BYTES_MAX + 1);
        for (bytes, stays) in [(small, true), (large, false)] {
            let place = lend(|memory: &mut PointMemory| {
                memory.row.resize(bytes, 7);
                memory.row.as_ptr()
            });
            lend(|memory: &mut PointMemory| {
                assert!(memory.row.is_empty());
                assert_eq!(memory.row.capacity() >= bytes && memory.row.as_ptr() == place, stays);
            });
        }
        let arena_bytes = lend(|arena: &mut Bump| {
            arena.alloc_slice_copy(&vec![1u8; large]);
            arena.allocated_bytes()
        });
        assert!(arena_bytes >= large);
        lend(|arena: &mut Bump| assert!(arena.allocated_bytes() <= KEPT_BYTES_MAX));
    }

    #[test]
    fn a_statement_inside_a_statement_has_its_own() {
        lend(|outer: &mut PointMemory| {
            outer.key.push(1);
            lend(|inner: &mut PointMemory| assert!(inner.key.is_empty()));
            assert_eq!(outer.key, [1]);
        });
    }
}
