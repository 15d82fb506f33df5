//! The thread behind the store: purges what commits left over and begins checkpoints.

use crate::pager::frame::PAGE_BYTES;
use crate::store::Inner;
use crate::sync::{Condvar, Mutex};
use env::threads::Thread;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long it sleeps when there was nothing to do.
const IDLE: Duration = Duration::from_millis(50);
/// How long after a checkpoint without room, or without effect on a full log, the next one is tried.
const FULL_RETRY: Duration = Duration::from_secs(1);
/// How long after a checkpoint the next one goes on shortening the file.
const SHRINK_PAUSE: Duration = Duration::from_secs(1);
/// Ticks of purge between two looks at whether a checkpoint is due.
const TICKS_PER_ROUND: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Worker {
    bell: Arc<Bell>,
    thread: Mutex<Option<Thread>>,
}

#[derive(Debug, Default)]
struct Bell {
    ended: Mutex<bool>,
    rung: Condvar,
}

impl Worker {
    /// Whether the store is being closed.
    pub(crate) fn is_ending(&self) -> bool {
        *self.bell.ended.lock()
    }

    /// Ends the thread and waits for it.
    pub(crate) fn stop(&self) {
        *self.bell.ended.lock() = true;
        self.bell.rung.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            // A panic there was reported by the panic hook.
            let _ended_well = thread.join();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        *self.bell.ended.lock() = true;
        self.bell.rung.notify_all();
    }
}

/// Starts the thread. It ends with the store.
pub(crate) fn start(inner: &Arc<Inner>) -> std::io::Result<()> {
    let bell = Arc::clone(&inner.worker.bell);
    let store = Arc::downgrade(inner);
    let thread = inner.env.threads.spawn("store-upkeep", Box::new(move || run(&store, &bell)))?;
    *inner.worker.thread.lock() = Some(thread);
    Ok(())
}

fn run(store: &Weak<Inner>, bell: &Bell) {
    let mut busy = false;
    loop {
        {
            let mut ended = bell.ended.lock();
            if !*ended && !busy {
                bell.rung.wait_for(&mut ended, IDLE);
            }
            if *ended {
                return;
            }
        }
        let Some(inner) = store.upgrade() else { return };
        // A failure stops the store: everybody who writes hears of it.
        match inner.work_a_while() {
            Ok(more) => busy = more,
            Err(error) => {
                inner.upkeep_failed(&error);
                busy = false;
            }
        }
    }
}

impl Inner {
    fn work_a_while(&self) -> Result<bool, crate::error::StoreError> {
        let mut more = false;
        for _ in 0..TICKS_PER_ROUND {
            more = self.purge_tick()?;
            if !more {
                break;
            }
        }
        self.note_ages();
        // What keeps undo from its file may be the room that a checkpoint would make.
        let undo = self.undo.make_room_ahead();
        if self.checkpoint_is_due() {
            self.checkpoint_at(true)?;
        }
        undo.map(|()| more)
    }

    pub(crate) fn checkpoint_is_due(&self) -> bool {
        let Some(log) = self.log.get() else { return false };
        let log_bytes = log.end_lsn().0 - self.checkpointer.position().0;
        let pages = u64::from(self.pool.dirty_count());
        let dirty = pages * 4 > u64::from(self.pool.arena().frame_count()) * 3
            || (pages * PAGE_BYTES as u64 > self.options.checkpoint_dirty_bytes
                && pages * 5 > self.pool.page_count() * 2);
        let since = self.env.clock.now().since(self.checkpointer.ended());
        if self.checkpointer.is_full() {
            return since > FULL_RETRY;
        }
        let is_quiet = pages * PAGE_BYTES as u64 * 8 <= self.options.checkpoint_dirty_bytes;
        dirty
            || (is_quiet && self.checkpointer.is_too_long() && since > SHRINK_PAUSE)
            || (self.checkpointer.is_asked() && log_bytes > 0 && since > FULL_RETRY)
            || log_bytes > self.options.checkpoint_log_bytes
            || (log_bytes > 0 && since > self.options.checkpoint_interval)
    }
}
