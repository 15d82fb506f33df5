//! A request to end early, from Ctrl-C to the code that measures.
//!
//! Whoever works for long asks [`requested`] between its steps, and on `true` keeps what it has and returns. Then everything
//! is put back in order and the evidence so far is written. The command line ends the process by force only if no code asks for it,
//! or if it takes too long; also then [`put_back_all`](crate::server::journal::put_back_all) comes first.

use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static IS_HEEDED: AtomicBool = AtomicBool::new(false);

/// Whether to stop now. Cheap: ask as often as you like.
#[must_use]
pub fn requested() -> bool {
    // Read first: a store by every thread at every step would be a shared line written all the time.
    if !IS_HEEDED.load(Ordering::Relaxed) {
        IS_HEEDED.store(true, Ordering::Relaxed);
    }
    REQUESTED.load(Ordering::Relaxed)
}

/// Wishes it; for the command line. Says whether anybody ever asked, so that waiting for an orderly end makes sense.
pub fn request() -> bool {
    REQUESTED.store(true, Ordering::Relaxed);
    IS_HEEDED.load(Ordering::Relaxed)
}
