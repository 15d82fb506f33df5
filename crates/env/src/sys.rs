//! The one system call that no safe crate in use offers in a form that runs everywhere.
#![allow(
    unsafe_code,
    reason = "rustix finds the vDSO by itself on first use, which callgrind does not survive"
)]

use std::time::Duration;

/// CPU time of the calling thread.
pub(crate) fn thread_cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of ours, valid for the call.
    let answer = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if answer != 0 {
        return Duration::ZERO;
    }
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
