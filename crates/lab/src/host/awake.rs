//! Keeps cores from falling asleep while something small is compared.
//!
//! A core without work halts. On a virtual machine it is then the hypervisor's: waking it costs an exit to the hypervisor and back,
//! and finds it late where another guest has it meanwhile. Both count as CPU of the process that sent the packet that woke it, in
//! amounts that change from second to second: the server's CPU per operation of one client at a steady pace varied by 22 to 29 %
//! from block to block, and by 9 to 15 % with cores that stay awake, with no time stolen.
//!
//! So each core gets a thread that does nothing, of the scheduling class `SCHED_IDLE` (sched(7)): it runs where nothing else
//! wants to, and gives way at once.
//!
//! Invariants:
//! 1. What has work goes first: the class is set before the first turn, or there is no thread.
//! 2. No thread is left when [`Awake`] is dropped, and none outlives the process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use crate::host::{cores, sys};

/// Turns between two looks at whether it is over: some tens of microseconds.
const TURNS: u32 = 1_000;

/// Cores that stay awake until this is dropped.
#[derive(Debug, Default)]
pub struct Awake {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Keeps every core awake that this process may use.
    ///
    /// # Errors
    /// The kernel refuses a thread, its class or its core.
    pub fn start() -> io::Result<Awake> {
        let mut awake = Awake::default();
        for core in cores::all() {
            let (told, is_over) = (std::sync::mpsc::sync_channel(1), Arc::clone(&awake.is_over));
            let thread = Builder::new().name(format!("awake-{core}")).spawn(move || {
                let ready = cores::keep_this_thread_to(core).and_then(|()| sys::make_this_thread_idle());
                let is_ready = ready.is_ok();
                // Who asked waits for this.
                let _ = told.0.send(ready);
                while is_ready && !is_over.load(Ordering::Relaxed) {
                    for _ in 0..TURNS {
                        std::hint::spin_loop();
                    }
                }
            })?;
            awake.threads.push(thread);
            told.1.recv().unwrap_or_else(|_| Err(io::Error::other("the thread ended")))?;
        }
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It has no way to fail.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The scheduling policy of each thread of that name: field 41 of its `stat` (proc_pid_stat(5)).
    fn policies() -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc/self/task").unwrap() {
            // One that ended meanwhile is none.
            let Ok(stat) = fs::read_to_string(entry.unwrap().path().join("stat")) else { continue };
            let (name, rest) = stat.rsplit_once(')').unwrap();
            if name.contains("(awake-") {
                found.push(rest.split_whitespace().nth(38).unwrap().to_owned());
            }
        }
        found
    }

    #[test]
    fn every_core_has_an_idle_thread_until_the_end() {
        let awake = Awake::start().unwrap();
        let policies_then = policies();
        assert_eq!(policies_then.len(), cores::all().len());
        assert!(
            policies_then.iter().all(|policy| *policy == libc::SCHED_IDLE.to_string()),
            "{policies_then:?}"
        );
        drop(awake);
        assert_eq!(policies(), Vec::<String>::new());
    }
}
