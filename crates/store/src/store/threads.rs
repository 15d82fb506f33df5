//! The threads behind the store: one purges what commits left over, one begins checkpoints. A checkpoint that leaves the disk to
//! commits half of the time may take minutes, and purge goes on beside it.

use crate::error::StoreError;
use crate::pager::frame::PAGE_BYTES;
use crate::store::Inner;
use crate::sync::atomic::Ordering;
use crate::sync::{Condvar, Mutex};
use env::threads::Thread;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long it sleeps when there was nothing to do.
const IDLE: Duration = Duration::from_millis(50);
/// How long after a checkpoint without space, or without effect on a full log, the next one is tried.
pub(crate) const FULL_RETRY: Duration = Duration::from_secs(1);
/// How long after a checkpoint the next one goes on shortening the file.
const SHRINK_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Worker {
    wakeup: Arc<Wakeup>,
    threads: Mutex<Vec<Thread>>,
}

#[derive(Debug, Default)]
struct Wakeup {
    ended: Mutex<bool>,
    woken: Condvar,
}

impl Worker {
    /// Whether the store is being closed.
    pub(crate) fn is_ending(&self) -> bool {
        *self.wakeup.ended.lock()
    }

    /// Ends the threads and waits for them.
    pub(crate) fn stop(&self) {
        *self.wakeup.ended.lock() = true;
        self.wakeup.woken.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // A panic there was reported by the panic hook.
            let _ended_well = thread.join();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        *self.wakeup.ended.lock() = true;
        self.wakeup.woken.notify_all();
    }
}

/// Does some work; whether there is more.
type Task = fn(&Inner) -> Result<bool, StoreError>;

/// Starts the threads. They end with the store.
pub(crate) fn start(inner: &Arc<Inner>) -> std::io::Result<()> {
    for (name, work) in [
        ("store-purge", Inner::purge_a_while as Task),
        ("store-checkpoint", Inner::checkpoint_a_while as Task),
    ] {
        let wakeup = Arc::clone(&inner.worker.wakeup);
        let store = Arc::downgrade(inner);
        let thread = inner.env.threads.spawn(name, Box::new(move || run(&store, &wakeup, work)))?;
        inner.worker.threads.lock().push(thread);
    }
    Ok(())
}

fn run(store: &Weak<Inner>, wakeup: &Wakeup, work: Task) {
    let mut busy = false;
    loop {
        {
            let mut ended = wakeup.ended.lock();
            if !*ended && !busy {
                wakeup.woken.wait_for(&mut ended, IDLE);
            }
            if *ended {
                return;
            }
        }
        let Some(inner) = store.upgrade() else { return };
        // A failure stops the store: everybody who writes hears of it.
        match work(&inner) {
            Ok(more) => busy = more,
            Err(error) => {
                inner.background_work_failed(&error);
                busy = false;
            }
        }
    }
}

impl Inner {
    fn purge_a_while(&self) -> Result<bool, StoreError> {
        let more = self.purge_tick()?;
        self.note_ages();
        self.undo.spill_ahead()?;
        // Between two rounds; the clock is the system's and costs a call, once in 50 ms when there is nothing to purge.
        let cpu = self.env.threads.own_cpu_time().as_micros() as u64;
        self.purge_cpu_micros.store(cpu, Ordering::Relaxed);
        Ok(more)
    }

    fn checkpoint_a_while(&self) -> Result<bool, StoreError> {
        self.grow_ahead()?;
        if self.checkpoint_is_due() {
            self.checkpoint_at(true)?;
        }
        Ok(false)
    }

    pub(crate) fn checkpoint_is_due(&self) -> bool {
        let log_bytes = self.log_kept_now();
        let pages = u64::from(self.pool.dirty_count());
        let dirty = pages * 4 > u64::from(self.pool.arena().frame_count()) * 3
            || (pages * PAGE_BYTES as u64 > self.options.checkpoint_dirty_bytes
                && pages * 5 > self.pool.page_count() * 2);
        let since = self.env.clock.now().since(self.checkpointer.ended());
        if self.checkpointer.is_full() {
            return since > FULL_RETRY;
        }
        // Only a checkpoint makes what was removed meanwhile available to others.
        if self.checkpointer.space.is_refused() && log_bytes > 0 && since > FULL_RETRY {
            return true;
        }
        let is_quiet = pages * PAGE_BYTES as u64 * 8 <= self.options.checkpoint_dirty_bytes;
        dirty
            || (is_quiet && self.checkpointer.is_too_long() && since > SHRINK_PAUSE)
            || (self.checkpointer.is_requested() && log_bytes > 0 && since > FULL_RETRY)
            || log_bytes > self.checkpointer.throttle.checkpoint_starts_at()
            || (log_bytes > 0 && since > self.options.checkpoint_interval)
    }
}
