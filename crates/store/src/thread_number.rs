//! Small numbers for threads, by which striped structures spread their users: the checkpoint latch, snapshots, undo.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

thread_local!(static NUMBER: Cell<u32> = const { Cell::new(u32::MAX) });

/// Gives this thread a number in place of the one it would get. A simulation whose threads take turns is repeated
/// exactly only if they have the same numbers again, as undo and snapshots are spread by them.
pub fn number_thread(number: u32) {
    NUMBER.set(number);
}

/// A small number for this thread, dense over the process.
pub(crate) fn thread_number() -> usize {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NUMBER.with(|number| {
        if number.get() == u32::MAX {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get() as usize
    })
}
