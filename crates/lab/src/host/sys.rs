//! The few system calls that no safe crate offers.
#![allow(unsafe_code, reason = "CPU clocks of other processes have no safe wrapper among the crates in use")]

/// Nanoseconds of CPU of a process, threads that ended included; `None` if it is gone or closed to us.
pub(crate) fn process_cpu_ns(pid: u32) -> Option<u64> {
    let mut clock = 0;
    // SAFETY: the pointer is to a clock number of ours, valid for the call.
    let answer = unsafe { libc::clock_getcpuclockid(libc::pid_t::try_from(pid).ok()?, &raw mut clock) };
    (answer == 0).then(|| clock_ns(clock)).flatten()
}

/// Nanoseconds of CPU of the calling thread.
#[cfg(test)]
pub(crate) fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of ours, valid for the call.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (answer == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn configured(name: libc::c_int, otherwise: u64) -> u64 {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let value = unsafe { libc::sysconf(name) };
    u64::try_from(value).ok().filter(|value| *value > 0).unwrap_or(otherwise)
}

/// Ticks of `/proc` in a second.
pub(crate) fn ticks_per_second() -> u64 {
    configured(libc::_SC_CLK_TCK, 100)
}

/// Bytes of a page of memory.
pub(crate) fn page_bytes() -> u64 {
    configured(libc::_SC_PAGESIZE, 4096)
}

/// Cores that may be used.
pub(crate) fn core_count() -> u64 {
    configured(libc::_SC_NPROCESSORS_ONLN, 1)
}
