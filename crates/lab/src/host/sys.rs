//! The few system calls that no safe crate offers.
#![allow(
    unsafe_code,
    reason = "CPU clocks of other processes and scheduling classes have no safe wrapper among the crates in use"
)]

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
/// The user we act as; 0 is root.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: geteuid cannot fail and touches no memory of ours.
    unsafe { libc::geteuid() }
}

/// Lets a program that is about to be started be ended by an interrupt. Our own threads block interrupts so that one of them can
/// take them, and a shell that starts us in the background has us ignore them; what we start would inherit both and never end
/// when asked to.
pub(crate) fn heed_interrupts(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: between fork and exec only `signal`, `sigemptyset` and `sigprocmask` are called, which may be called there
    // (signal-safety(7)); the set is ours and is filled before it is used.
    unsafe {
        command.pre_exec(|| {
            let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
            let has_failed = libc::signal(libc::SIGINT, libc::SIG_DFL) == libc::SIG_ERR
                || libc::sigemptyset(none.as_mut_ptr()) != 0
                || libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut()) != 0;
            if has_failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
        });
    }
}

/// Has this process ignore interrupts and this thread block them.
#[cfg(test)]
pub(crate) fn shut_out_interrupts() {
    let mut interrupt = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: none of the calls touches memory of ours but the set, which is filled before it is used.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::sigemptyset(interrupt.as_mut_ptr());
        libc::sigaddset(interrupt.as_mut_ptr(), libc::SIGINT);
        libc::pthread_sigmask(libc::SIG_BLOCK, interrupt.as_ptr(), std::ptr::null_mut());
    }
}

/// Sends a signal to a child we started and to all it started in its group.
pub(crate) fn signal_group(pid: u32, signal: libc::c_int) {
    if let Ok(pid @ 2..) = libc::pid_t::try_from(pid) {
        // SAFETY: kill touches no memory of ours. The number is of a child that we have not waited for yet, so it is nobody
        // else's; the child leads its own group.
        let _ = unsafe { libc::kill(-pid, signal) };
    }
}

/// The soft limit of open files: what connections are counted against.
pub(crate) fn open_files_max() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a limit of ours, valid for the call.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    (answer == 0).then_some(limit.rlim_cur)
}

/// Bytes free for us on the file system of a folder.
pub(crate) fn free_bytes(folder: &std::path::Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    let mut answer = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path ends with a zero byte; the answer is a statvfs of ours, and all zeros is a valid one.
    let (done, answer) = unsafe { (libc::statvfs(path.as_ptr(), answer.as_mut_ptr()), answer.assume_init()) };
    (done == 0).then(|| answer.f_bavail * answer.f_frsize)
}

/// Gives the calling thread the class `SCHED_IDLE`: it runs where nothing else wants to.
///
/// # Errors
/// The kernel's.
pub(crate) fn make_this_thread_idle() -> std::io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to parameters of ours, valid for the call; 0 is the calling thread.
    let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
