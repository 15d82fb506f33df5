//! How deep the stack of a thread is: what recurses over trees that clients shape asks before it goes deeper.
//!
//! A thread says at its start how large its stack is ([`set_size`]). Half of it is for the recursion over plans, which asks here; the other
//! half is for what is called at the deepest place (expressions, whose depth has a limit of its own, the store, the system).

use std::cell::Cell;

thread_local! {
    /// Addresses below are too deep; 0 where nobody said how large the stack is.
    static DEEPEST: Cell<usize> = const { Cell::new(0) };
}

fn here() -> usize {
    let marker = 0u8;
    std::ptr::from_ref(&marker).addr()
}

/// Registers the stack size of the calling thread, which has just started.
pub fn set_size(stack_bytes: usize) {
    DEEPEST.set(here().saturating_sub(stack_bytes / 2));
}

/// Whether half of the stack is used.
#[inline]
#[must_use]
pub fn is_deep() -> bool {
    here() < DEEPEST.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descend(levels: u32) -> u32 {
        if is_deep() { levels } else { std::hint::black_box(descend(levels + 1)) }
    }

    #[test]
    fn half_of_the_stack_is_too_deep() {
        assert!(!is_deep());
        let size = 1 << 20;
        let thread = std::thread::Builder::new().stack_size(size);
        let levels = thread.spawn(move || {
            set_size(size);
            descend(0)
        });
        assert!(levels.unwrap().join().unwrap() > 10);
    }
}
