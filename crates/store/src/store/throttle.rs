//! Write throttling: the log stays within its capacity because writers are delayed early and evenly when they outrun
//! checkpoints.
//!
//! The log is kept from the last checkpoint on. The next checkpoint starts when half of the capacity is used; the other
//! half is for what is logged while it writes pages. A running checkpoint knows how many pages it has to write and how
//! long the first ones took, and from that estimates whether the log will fit. If space looks tight, the checkpoint
//! stops pausing in favour of commits. If that is not enough, log bytes get a delay rate: the time left, divided by the
//! log space left.
//!
//! All writers share one clock. Each commit advances it by its bytes at the delay rate, and a transaction that starts
//! to write waits until that time has come. It holds no lock yet. A large transaction whose log goes out in parts waits
//! before each part. Writers no faster than the rate never wait; faster ones are slowed in steps of a few milliseconds,
//! be they two or two thousand. The capacity itself is a hard limit only if the estimate was wrong (a disk that
//! stalls); writers then wait for the end of the checkpoint.
//!
//! A commit never waits here, nor does a rollback. Where the disk has no space for a checkpoint no writer is delayed:
//! the log has no space either (`docs/decisions/disk-full.md`).

use crate::error::StoreError;
use crate::ids::Csn;
use crate::store::Inner;
use crate::sync::atomic::{AtomicU64, Ordering};
use env::clock::Monotonic;
use std::time::Duration;

/// In sixteenths of the capacity: beyond this a running checkpoint stops pausing, and the log gets a delay rate.
const TIGHT: u64 = 12;
/// The delay rate is set so that the log ends here when the checkpoint ends.
const AIM: u64 = 15;
/// Without an estimate the log gets a delay rate from here on, only so that writers check the hard limit.
const NEAR: u64 = 14;
/// How far writers may be ahead of the delay rate: a large commit now and then delays no other writer.
const CREDIT_NANOS: u64 = 50_000_000;
/// No writer sleeps longer before it checks again.
const SLEEP_MAX: Duration = Duration::from_millis(5);
const DELAY_RATE_MAX: f64 = 1e12;

#[derive(Debug)]
pub(crate) struct LogThrottle {
    capacity: AtomicU64,
    /// Nanoseconds of delay for 1,024 bytes of the log; 0: no delay.
    delay_rate: AtomicU64,
    /// When the delay of what was appended will be over, in nanoseconds of the clock.
    paid_at: AtomicU64,
    /// The log's end when it was charged last.
    charged: AtomicU64,
    /// For SHOW STATUS: how often a writer was delayed, and for how long.
    pub(crate) delays: AtomicU64,
    pub(crate) delay_micros: AtomicU64,
}

/// The progress of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Bytes of the log behind the last checkpoint.
    pub(crate) kept: u64,
    /// Of them, since this one writes pages.
    pub(crate) grown: u64,
    /// Since then.
    pub(crate) nanos: u64,
    /// Pages written since then, and pages to be written in all.
    pub(crate) done: u64,
    pub(crate) total: u64,
}

impl Progress {
    /// Nanoseconds until it is done, at the pace it had, and a little more for what comes after the pages.
    fn nanos_left(&self) -> f64 {
        let per_page = self.nanos as f64 / self.done.max(1) as f64;
        per_page * self.total.saturating_sub(self.done) as f64 * 1.125
    }

    /// Whether the log will run out of space, and the delay rate then.
    fn delay_rate(&self, capacity: u64) -> u64 {
        let capacity = capacity as f64;
        let left = self.nanos_left();
        let grows_by = self.grown as f64 / self.nanos.max(1) as f64 * left;
        if (self.kept as f64 + grows_by) * 16.0 <= capacity * TIGHT as f64 {
            return 0;
        }
        let space = (capacity * AIM as f64 / 16.0 - self.kept as f64).max(capacity / 64.0);
        (left * 1024.0 / space).clamp(1.0, DELAY_RATE_MAX) as u64
    }
}

impl LogThrottle {
    pub(crate) fn new(capacity: u64) -> LogThrottle {
        let zero = || AtomicU64::new(0);
        LogThrottle {
            capacity: AtomicU64::new(capacity),
            delay_rate: zero(),
            paid_at: zero(),
            charged: zero(),
            delays: zero(),
            delay_micros: zero(),
        }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity.load(Ordering::Relaxed)
    }

    pub(crate) fn set_capacity(&self, bytes: u64) {
        self.capacity.store(bytes, Ordering::Relaxed);
    }

    /// With this many bytes of the log behind the last checkpoint the next one begins.
    #[inline]
    pub(crate) fn checkpoint_starts_at(&self) -> u64 {
        self.capacity() / 2
    }

    #[inline]
    fn is_off(&self) -> bool {
        self.delay_rate.load(Ordering::Relaxed) == 0
    }

    /// Sets the delay rate. True if the checkpoint is to stop pausing.
    pub(crate) fn estimate(&self, progress: &Progress, end: u64) -> bool {
        let delay_rate = progress.delay_rate(self.capacity());
        if delay_rate != 0 && self.is_off() {
            self.charged.store(end, Ordering::Relaxed);
        }
        self.delay_rate.store(delay_rate, Ordering::Relaxed);
        delay_rate != 0
    }

    /// A checkpoint ended: no writer is delayed any more.
    pub(crate) fn relax(&self) {
        self.delay_rate.store(0, Ordering::Relaxed);
        self.paid_at.store(0, Ordering::Relaxed);
    }

    /// The log has grown up to `end`.
    fn charge(&self, end: u64, kept: u64, now: Monotonic) {
        let delay_rate = self.delay_rate.load(Ordering::Relaxed);
        if delay_rate == 0 {
            if kept >= self.capacity() / 16 * NEAR {
                self.charged.store(end, Ordering::Relaxed);
                self.delay_rate.store(1, Ordering::Relaxed);
            }
            return;
        }
        let bytes = end.saturating_sub(self.charged.fetch_max(end, Ordering::Relaxed));
        let nanos = u64::try_from(u128::from(bytes) * u128::from(delay_rate) / 1024).unwrap_or(u64::MAX);
        let least = now.nanos.saturating_sub(CREDIT_NANOS);
        let later = |paid_at: u64| Some(paid_at.max(least).saturating_add(nanos));
        // Always has a later time.
        let _before = self.paid_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
    }

    /// How long a transaction that begins to write waits before it checks again: not at all, or until its time has
    /// come.
    fn delay(&self, kept: u64, now: Monotonic) -> Duration {
        match () {
            () if self.is_off() => Duration::ZERO,
            () if kept >= self.capacity() => SLEEP_MAX,
            () => {
                let owed = self.paid_at.load(Ordering::Relaxed).saturating_sub(now.nanos);
                Duration::from_nanos(owed).min(SLEEP_MAX)
            }
        }
    }
}

impl Inner {
    /// Bytes of the log behind the last checkpoint, where the log ends at `end`.
    #[inline]
    pub(crate) fn log_kept(&self, end: u64) -> u64 {
        end.saturating_sub(self.checkpointer.position().0)
    }

    /// As [`Inner::log_kept`], now.
    pub(crate) fn log_kept_now(&self) -> u64 {
        self.log.get().map_or(0, |log| self.log_kept(log.end_lsn().0))
    }

    /// A commit ends at this position of the log.
    #[inline]
    pub(crate) fn charge_log(&self, end: Csn) {
        let kept = self.log_kept(end.0);
        if kept > self.checkpointer.throttle.checkpoint_starts_at() {
            self.charge_more(end, kept);
        }
    }

    #[cold]
    fn charge_more(&self, end: Csn, kept: u64) {
        self.checkpointer.throttle.charge(end.0, kept, self.env.clock.now());
    }

    /// Delays a transaction that begins to write, where writers outrun the checkpoint. Outside a critical section,
    /// without a latch; best without locks.
    ///
    /// # Errors
    /// The store has stopped.
    #[inline]
    pub(crate) fn wait_for_log(&self) -> Result<(), StoreError> {
        if self.checkpointer.throttle.is_off() { Ok(()) } else { self.wait_for_log_space() }
    }

    #[cold]
    fn wait_for_log_space(&self) -> Result<(), StoreError> {
        let throttle = &self.checkpointer.throttle;
        let end = || self.log.get().map_or(0, |log| log.end_lsn().0);
        if !self.options.background_threads {
            // No other thread makes space.
            if self.log_kept(end()) < throttle.capacity() || self.checkpointer.is_full() {
                return Ok(());
            }
            return match self.checkpoint() {
                Err(StoreError::DiskFull { .. }) => Ok(()), // The log has no space either: its writers get the error.
                outcome => outcome,
            };
        }
        let began = self.env.clock.now();
        let mut waits = None;
        loop {
            self.check_writable()?;
            let now = self.env.clock.now();
            let delay = throttle.delay(self.log_kept(end()), now);
            if delay.is_zero() || self.checkpointer.is_full() || self.worker.is_ending() {
                break;
            }
            waits.get_or_insert_with(env::blocking::enter);
            self.env.clock.sleep(delay);
        }
        if waits.is_some() {
            let micros = self.env.clock.now().since(began).as_micros();
            throttle.delays.fetch_add(1, Ordering::Relaxed);
            throttle.delay_micros.fetch_add(u64::try_from(micros).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store in a world of numbers, in steps of a tenth of a millisecond.
    struct World {
        throttle: LogThrottle,
        now: u64,
        end: u64,
        position: u64,
        writers: Vec<Writer>,
        /// Bytes of a commit, and how many of them each writer would make in a step.
        bytes: u64,
        commits: f64,
        longest_wait: u64,
        most_kept: u64,
    }

    #[derive(Clone, Default)]
    struct Writer {
        /// Commits it would make now.
        wants: f64,
        wants_since: Option<u64>,
    }

    const STEP: u64 = 100_000;

    impl World {
        /// Writers that would log this many bytes in a step, all together.
        fn new(capacity: u64, writers: usize, bytes: u64, bytes_per_step: u64) -> World {
            World {
                throttle: LogThrottle::new(capacity),
                now: 0,
                end: 0,
                position: 0,
                writers: vec![Writer::default(); writers],
                bytes,
                commits: bytes_per_step as f64 / bytes as f64 / writers as f64,
                longest_wait: 0,
                most_kept: 0,
            }
        }

        fn step(&mut self) {
            self.now += STEP;
            let (now, count) = (Monotonic { nanos: self.now }, self.writers.len());
            for turn in 0..count {
                let number = (turn + (self.now / STEP) as usize) % count;
                let commits = self.commits;
                let writer = &mut self.writers[number];
                writer.wants = (writer.wants + commits).min(1.0 + commits);
                while self.writers[number].wants >= 1.0 {
                    let since = *self.writers[number].wants_since.get_or_insert(self.now);
                    if !self.throttle.delay(self.end - self.position, now).is_zero() {
                        break;
                    }
                    self.longest_wait = self.longest_wait.max(self.now - since);
                    self.writers[number].wants -= 1.0;
                    self.writers[number].wants_since = None;
                    self.end += self.bytes;
                    let kept = self.end - self.position;
                    self.most_kept = self.most_kept.max(kept);
                    if kept > self.throttle.checkpoint_starts_at() {
                        self.throttle.charge(self.end, kept, now);
                    }
                }
            }
        }

        /// Steps until a checkpoint is due, then that, of this many pages, each of which takes so long.
        fn checkpoint(&mut self, pages: u64, page_nanos: u64) {
            while self.end - self.position <= self.throttle.checkpoint_starts_at() {
                self.step();
            }
            let (cut, began) = (self.end, self.now);
            for done in 1..=pages {
                while self.now < began + done * page_nanos {
                    self.step();
                }
                if done % 64 == 0 {
                    let kept = self.end - self.position;
                    let (grown, nanos) = (self.end - cut, self.now - began);
                    let progress = Progress { kept, grown, nanos, done, total: pages };
                    self.throttle.estimate(&progress, self.end);
                }
            }
            self.position = cut;
            self.throttle.relax();
        }
    }

    const CAPACITY: u64 = 64 << 20;

    #[test]
    fn writers_that_outrun_the_checkpoint_are_slowed_evenly() {
        for (writers, bytes) in [(1, 400_u64), (16, 400), (500, 1_000), (8, 100_000)] {
            // 200 MB/s, and checkpoints of 1.5 s: in one of them they would log five capacities.
            let mut world = World::new(CAPACITY, writers, bytes, 20_000);
            for _ in 0..6 {
                world.checkpoint(10_000, 150_000);
            }
            let kept = world.most_kept;
            assert!(kept <= CAPACITY, "{writers} writers: {kept} bytes kept");
            assert!(kept >= CAPACITY / 16 * 13, "{writers} writers: slowed too much, {kept} bytes kept");
            // A commit of each at the pace that is possible takes this long.
            let share = writers as u64 * bytes * 1_500_000_000 / (CAPACITY / 2);
            let longest = world.longest_wait;
            assert!(longest <= 3 * share + 60_000_000, "{writers} writers: one waited {longest} ns");
        }
    }

    #[test]
    fn writers_as_fast_as_the_checkpoint_never_wait() {
        let mut world = World::new(CAPACITY, 4, 200, 800);
        for _ in 0..5 {
            world.checkpoint(10_000, 100_000);
        }
        assert_eq!(world.longest_wait, 0);
        assert!(world.most_kept < CAPACITY / 16 * 12);
    }

    #[test]
    fn without_an_estimate_the_capacity_is_a_wall() {
        let mut world = World::new(1 << 20, 3, 1_000, 30_000);
        for _ in 0..10_000 {
            world.step();
        }
        let kept = world.end - world.position;
        assert!(((1 << 20)..(1 << 20) + 1_000).contains(&kept), "{kept}");
        world.position = world.end;
        world.throttle.relax();
        world.step();
        assert!(world.end - world.position >= 3_000);
    }
}
