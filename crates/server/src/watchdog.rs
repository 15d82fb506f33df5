//! The watchdog: a thread that takes the reactor from commands that keep a worker group from serving others.
//!
//! Commands that wait or compute for long announce it (`env::blocking`), and their group continues without them. What
//! is computed between two such places may still take long, such as one call of a function over a value of many
//! megabytes. The watchdog checks each group every [`CHECK_INTERVAL`] and takes the reactor from a command that has
//! computed for long. When no command has come for [`REST_AFTER`], it rests until one does, so that an idle server
//! sleeps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::Shared;
use crate::location::lock;

/// The time between two checks of a group. How long a command must have computed to lose the reactor is in
/// [`crate::group`].
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// Without a new command for so long, it rests.
const REST_AFTER: Duration = Duration::from_secs(1);
/// The longest rest: what is missed is noticed then.
const REST_TIME_MAX: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    is_resting: AtomicBool,
    ended: Mutex<bool>,
    changed: Condvar,
}

impl Watchdog {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has none to give.
    pub(crate) fn start(shared: &Arc<Shared>) -> std::io::Result<()> {
        let watched = Arc::downgrade(shared);
        let watchdog = Arc::clone(&shared.watchdog);
        std::thread::Builder::new().name("watchdog".into()).spawn(move || watchdog.run(&watched)).map(drop)
    }

    /// Commands come. Called by pollers.
    pub(crate) fn note_commands(&self) {
        if self.is_resting.load(Ordering::Relaxed) {
            let _ended = lock(&self.ended); // It has looked at this, and waits.
            self.is_resting.store(false, Ordering::Relaxed);
            self.changed.notify_one();
        }
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        *lock(&self.ended) = true;
        self.changed.notify_one();
    }

    fn run(&self, shared: &Weak<Shared>) {
        let mut last_change = Instant::now();
        let mut seen = Vec::new();
        let mut ended = lock(&self.ended);
        while !*ended {
            let rests = last_change.elapsed() > REST_AFTER;
            self.is_resting.store(rests, Ordering::Relaxed);
            let time = if rests { REST_TIME_MAX } else { CHECK_INTERVAL };
            ended = self.changed.wait_timeout(ended, time).unwrap_or_else(PoisonError::into_inner).0;
            if rests && !self.is_resting.load(Ordering::Relaxed) {
                last_change = Instant::now(); // A command comes, and may not have begun yet.
            }
            let Some(shared) = shared.upgrade() else { return };
            seen.resize(shared.group_count(), None);
            for (index, seen) in seen.iter_mut().enumerate() {
                let Some(group) = shared.group(index).and_then(Weak::upgrade) else { continue };
                let now = group.watch(*seen);
                if *seen != Some(now) {
                    last_change = Instant::now();
                    *seen = Some(now);
                }
            }
        }
    }
}
