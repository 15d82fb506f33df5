//! Waiting for the operating system to say "stop".
#![allow(unsafe_code, reason = "signal masks have no safe wrapper among the crates in use")]

use std::mem::MaybeUninit;
use std::time::Duration;

/// SIGTERM and SIGINT, blocked in every thread that starts after [`Signals::block`] and received by [`Signals::wait`].
pub(crate) struct Signals {
    set: libc::sigset_t,
}

impl Signals {
    /// Holds the signals back. Call it before the first thread starts: threads inherit it. A write beyond the largest length
    /// a file may have (SIGXFSZ) fails from now on like one without room, and does not end the process.
    pub(crate) fn block() -> Signals {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset writes the whole set before anything reads it; the other calls get a valid set.
        let set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            let mut set = set.assume_init();
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            libc::sigaddset(&raw mut set, libc::SIGINT);
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            set
        };
        Signals { set }
    }

    /// Whether one of them came within `time`.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let time = libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(time.subsec_nanos() as i32),
        };
        // SAFETY: set and time are valid for the length of the call; no information about the signal is asked for.
        let signal =
            unsafe { libc::sigtimedwait(&raw const self.set, std::ptr::null_mut(), &raw const time) };
        signal > 0
    }
}
