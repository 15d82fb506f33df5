//! Background work: named threads, or a refusal.

use std::fmt::Debug;
use std::io;
use std::time::Duration;

/// Starts threads. A simulation refuses, so whoever wants background work must also be able to do it when told.
pub trait Threads: Debug + Send + Sync {
    /// Runs `work` on a new thread called `name` (the kernel shows the first 15 bytes).
    ///
    /// # Errors
    /// The system has no thread to give, or this world has none (`Unsupported`).
    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<Thread>;

    /// How many threads can make progress at once; at least 1.
    fn core_count(&self) -> usize;

    /// The time that processors have spent on the calling thread, by the system's clock of it; zero where time is simulated.
    fn own_cpu_time(&self) -> Duration {
        Duration::ZERO
    }
}

/// A thread to wait for. Dropping it lets the thread run on.
#[derive(Debug)]
pub struct Thread {
    handle: std::thread::JoinHandle<()>,
}

impl Thread {
    /// Waits until the thread ends. False if it ended by a panic.
    #[must_use]
    pub fn join(self) -> bool {
        let _guard = crate::blocking::enter();
        self.handle.join().is_ok()
    }
}

/// The operating system's threads.
#[derive(Debug)]
pub struct RealThreads;

impl Threads for RealThreads {
    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<Thread> {
        let handle = std::thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Thread { handle })
    }

    fn core_count(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    fn own_cpu_time(&self) -> Duration {
        crate::sys::thread_cpu_time()
    }
}

/// No threads: the whole world runs on the caller's.
#[derive(Debug)]
pub struct NoThreads;

impl Threads for NoThreads {
    fn spawn(&self, name: &str, _work: Box<dyn FnOnce() + Send>) -> io::Result<Thread> {
        Err(io::Error::new(io::ErrorKind::Unsupported, format!("this world has no thread for {name}")))
    }

    fn core_count(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_has_its_name_and_tells_of_a_panic() {
        let (tell, told) = mpsc::channel();
        let work = move || tell.send(std::thread::current().name().map(str::to_owned)).unwrap();
        assert!(RealThreads.spawn("log-flush", Box::new(work)).unwrap().join());
        assert_eq!(told.recv().unwrap().as_deref(), Some("log-flush"));
        assert!(!RealThreads.spawn("doomed", Box::new(|| panic!("expected by the test"))).unwrap().join());
        let before = RealThreads.own_cpu_time();
        while RealThreads.own_cpu_time() == before {
            std::hint::spin_loop();
        }
        assert_eq!(NoThreads.own_cpu_time(), Duration::ZERO);
        assert_eq!(NoThreads.spawn("x", Box::new(|| ())).unwrap_err().kind(), io::ErrorKind::Unsupported);
    }
}
