//! Which cores threads may run on: keeps client and server on different cores while small differences are compared.
//!
//! Where a client and a server share two cores, the scheduler may put a server's thread on its client's core or beside
//! it, now so and now so: a wake-up across cores and cold caches make an operation a third dearer, and what is compared
//! drowns in that.
//!
//! Invariants:
//! 1. What was set is put back when [`Pinned`] is dropped: for each thread that had a set of its own that one, for
//!    threads that were started since the process's.
//! 2. Nothing is set for good: a process that is started again knows nothing of it.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// Threads may start while others are set: so often a process is gone through, at most.
const TURNS: usize = 5;

/// The core that clients should keep to where client and server run on different cores: the last of those this process may use; `None` with a
/// single one.
#[must_use]
pub(crate) fn of_clients() -> Option<usize> {
    let mine = sched_getaffinity(None).ok()?;
    (mine.count() > 1).then_some(())?;
    (0..CpuSet::MAX_CPU).rev().find(|&core| mine.is_set(core))
}

/// The cores that this process may use.
#[must_use]
pub fn all() -> Vec<usize> {
    let Ok(mine) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&core| mine.is_set(core)).collect()
}

/// Keeps the calling thread, and what it starts, to one core.
///
/// # Errors
/// The kernel's.
pub(crate) fn keep_this_thread_to(core: usize) -> io::Result<()> {
    Ok(sched_setaffinity(None, &only(core))?)
}

/// Keeps all threads of a process of our own to one core, for as long as it lives.
///
/// # Errors
/// The kernel's.
pub(crate) fn keep_process_to(pid: u32, core: usize) -> io::Result<()> {
    let set = only(core);
    set_all(pid, |_, _| set).map(|_| ())
}

fn only(core: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(core);
    set
}

/// A process whose threads keep off a core until this is dropped.
#[derive(Debug)]
pub struct Pinned {
    pid: u32,
    /// Of the process's first thread.
    whole: CpuSet,
    before: BTreeMap<u32, CpuSet>,
}

impl Pinned {
    /// Takes `core` away from all threads of a process.
    ///
    /// # Errors
    /// No right to, or no core would be left.
    pub fn off(pid: u32, core: usize) -> io::Result<Pinned> {
        let whole = of(pid)?;
        let mut rest = whole;
        if core < CpuSet::MAX_CPU {
            rest.unset(core);
        }
        if rest.count() == 0 {
            return Err(io::Error::other("it may run on that core alone"));
        }
        // Dropped on the way out if a thread refuses: those before it are put back.
        let mut pinned = Pinned { pid, whole, before: BTreeMap::new() };
        let mut before = BTreeMap::new();
        let outcome = set_all(pid, |thread, was| {
            before.entry(thread).or_insert(was);
            rest
        });
        pinned.before = before;
        outcome.map(|()| pinned)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // A process that has ended needs nothing put back.
        let _ = set_all(self.pid, |thread, _| *self.before.get(&thread).unwrap_or(&self.whole));
    }
}

fn of(thread: u32) -> io::Result<CpuSet> {
    Ok(sched_getaffinity(number(thread))?)
}

fn number(thread: u32) -> Option<Pid> {
    i32::try_from(thread).ok().and_then(Pid::from_raw)
}

/// Gives every thread of a process the set that `choose` says, of what it had; again while new ones appear.
fn set_all(pid: u32, mut choose: impl FnMut(u32, CpuSet) -> CpuSet) -> io::Result<()> {
    let mut done: Vec<u32> = Vec::new();
    for _ in 0..TURNS {
        let known = done.len();
        for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
            let Some(thread) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if done.contains(&thread) {
                continue;
            }
            done.push(thread);
            // A thread that ended meanwhile runs nowhere.
            let Ok(was) = of(thread) else { continue };
            match sched_setaffinity(number(thread), &choose(thread, was)) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if done.len() == known {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_put_back_as_it_was() {
        let Some(core) = of_clients() else {
            crate::left_out("threads kept to a core: there is one core only");
            return;
        };
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let before = of(child.id()).unwrap();
        {
            let _pinned = Pinned::off(child.id(), core).unwrap();
            let now = of(child.id()).unwrap();
            assert!(!now.is_set(core) && now.count() == before.count() - 1);
        }
        assert_eq!(of(child.id()).unwrap(), before);
        keep_process_to(child.id(), core).unwrap();
        assert_eq!(of(child.id()).unwrap(), only(core));
        assert!(Pinned::off(child.id(), core).unwrap_err().to_string().contains("alone"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(Pinned::off(child.id(), core).is_err(), "it has ended");
    }

    #[test]
    fn a_thread_keeps_to_its_core_and_its_like_do_not() {
        let Some(core) = of_clients() else { return };
        let before = sched_getaffinity(None).unwrap();
        std::thread::spawn(move || {
            keep_this_thread_to(core).unwrap();
            assert_eq!(sched_getaffinity(None).unwrap(), only(core));
        })
        .join()
        .unwrap();
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
