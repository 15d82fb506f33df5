//! Writers that outrun checkpoints: the log stays within its capacity because they are slowed, early and all alike.
//!
//! The log is kept from the last checkpoint on. The next one begins when that is half of the capacity; the other half is for what is
//! logged while it writes pages. Whether that will do is known soon: it knows how many pages it writes and how long the first ones
//! took. If it looks tight, the checkpoint no longer leaves the disk to commits half of the time. If that is not enough, a byte of the
//! log gets a price: the time that is left, divided by the room that is left.
//!
//! Writers pay by one clock for all: each commit moves it on by its bytes' price, and a transaction that begins to write waits until
//! that time has come. It holds no lock yet. A large one that goes to the log in parts waits before each. So writers
//! as fast as their price never wait, and faster ones are brought to it in steps of a few milliseconds, whether they are two or two thousand.
//! Only if the estimate was wrong (a disk that stalls) the capacity itself is a wall, until the checkpoint is done.
//!
//! A commit never waits here, nor does a rollback. Where the disk has no room for a checkpoint nobody is slowed: the log has no
//! room either (`docs/decisions/disk-full.md`).

use crate::error::StoreError;
use crate::ids::Csn;
use crate::store::Inner;
use crate::sync::atomic::{AtomicU64, Ordering};
use env::clock::Monotonic;
use std::time::Duration;

/// In sixteenths of the capacity: beyond this a checkpoint that runs is in a hurry, and the log has a price.
const TIGHT: u64 = 12;
/// What the price aims at.
const AIM: u64 = 15;
/// Without an estimate the log has a price from here on: only so that who writes looks at the wall.
const NEAR: u64 = 14;
/// So much writers may be ahead of their price: a large commit now and then holds up nobody.
const CREDIT_NANOS: u64 = 50_000_000;
/// Nobody sleeps longer before he looks again.
const PATIENCE: Duration = Duration::from_millis(5);
const PRICE_MAX: f64 = 1e12;

#[derive(Debug)]
pub(crate) struct Pressure {
    capacity: AtomicU64,
    /// Nanoseconds that 1,024 bytes of the log take; 0: as long as they like.
    price: AtomicU64,
    /// When what was appended will have taken its time, in nanoseconds of the clock.
    paid_at: AtomicU64,
    /// The log's end when it was charged last.
    charged: AtomicU64,
    /// For SHOW STATUS: how often somebody was slowed, and for how long.
    pub(crate) delays: AtomicU64,
    pub(crate) delay_micros: AtomicU64,
}

/// How a checkpoint gets on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Bytes of the log behind the last checkpoint.
    pub(super) kept: u64,
    /// Of them, since this one writes pages.
    pub(super) grown: u64,
    /// Since then.
    pub(super) nanos: u64,
    /// Pages written since then, and pages to be written in all.
    pub(super) done: u64,
    pub(super) total: u64,
}

impl Progress {
    /// Nanoseconds until it is done, at the pace it had, and a little more for what comes after the pages.
    fn nanos_left(&self) -> f64 {
        let per_page = self.nanos as f64 / self.done.max(1) as f64;
        per_page * self.total.saturating_sub(self.done) as f64 * 1.125
    }

    /// Whether the log will not have room enough, and what it costs then.
    fn price(&self, capacity: u64) -> u64 {
        let capacity = capacity as f64;
        let left = self.nanos_left();
        let grows_by = self.grown as f64 / self.nanos.max(1) as f64 * left;
        if (self.kept as f64 + grows_by) * 16.0 <= capacity * TIGHT as f64 {
            return 0;
        }
        let room = (capacity * AIM as f64 / 16.0 - self.kept as f64).max(capacity / 64.0);
        (left * 1024.0 / room).clamp(1.0, PRICE_MAX) as u64
    }
}

impl Pressure {
    pub(crate) fn new(capacity: u64) -> Pressure {
        let zero = || AtomicU64::new(0);
        Pressure {
            capacity: AtomicU64::new(capacity),
            price: zero(),
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

    /// With so many bytes of the log behind the last checkpoint the next one begins.
    #[inline]
    pub(crate) fn begins_at(&self) -> u64 {
        self.capacity() / 2
    }

    #[inline]
    fn is_free(&self) -> bool {
        self.price.load(Ordering::Relaxed) == 0
    }

    /// Sets the price. True if the checkpoint is to hurry.
    pub(super) fn estimate(&self, progress: &Progress, end: u64) -> bool {
        let price = progress.price(self.capacity());
        if price != 0 && self.is_free() {
            self.charged.store(end, Ordering::Relaxed);
        }
        self.price.store(price, Ordering::Relaxed);
        price != 0
    }

    /// A checkpoint ended: nobody owes anything.
    pub(super) fn relax(&self) {
        self.price.store(0, Ordering::Relaxed);
        self.paid_at.store(0, Ordering::Relaxed);
    }

    /// The log has grown up to `end`.
    fn charge(&self, end: u64, kept: u64, now: Monotonic) {
        let price = self.price.load(Ordering::Relaxed);
        if price == 0 {
            if kept >= self.capacity() / 16 * NEAR {
                self.charged.store(end, Ordering::Relaxed);
                self.price.store(1, Ordering::Relaxed);
            }
            return;
        }
        let bytes = end.saturating_sub(self.charged.fetch_max(end, Ordering::Relaxed));
        let nanos = u64::try_from(u128::from(bytes) * u128::from(price) / 1024).unwrap_or(u64::MAX);
        let least = now.nanos.saturating_sub(CREDIT_NANOS);
        let later = |paid_at: u64| Some(paid_at.max(least).saturating_add(nanos));
        // Always has a later time.
        let _before = self.paid_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
    }

    /// How long who begins to write waits before he looks again: not at all, or until it is his turn.
    fn delay(&self, kept: u64, now: Monotonic) -> Duration {
        match () {
            () if self.is_free() => Duration::ZERO,
            () if kept >= self.capacity() => PATIENCE,
            () => {
                let owed = self.paid_at.load(Ordering::Relaxed).saturating_sub(now.nanos);
                Duration::from_nanos(owed).min(PATIENCE)
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
        if kept > self.checkpointer.pressure.begins_at() {
            self.charge_more(end, kept);
        }
    }

    #[cold]
    fn charge_more(&self, end: Csn, kept: u64) {
        self.checkpointer.pressure.charge(end.0, kept, self.env.clock.now());
    }

    /// Waits for one's turn to write, where writers outrun the checkpoint. Outside the gate, without a latch; best without locks.
    ///
    /// # Errors
    /// The store has stopped.
    #[inline]
    pub(crate) fn wait_for_log(&self) -> Result<(), StoreError> {
        if self.checkpointer.pressure.is_free() { Ok(()) } else { self.wait_for_log_room() }
    }

    #[cold]
    fn wait_for_log_room(&self) -> Result<(), StoreError> {
        let pressure = &self.checkpointer.pressure;
        let end = || self.log.get().map_or(0, |log| log.end_lsn().0);
        if !self.options.background_threads {
            // Nobody else makes room.
            if self.log_kept(end()) < pressure.capacity() || self.checkpointer.is_full() {
                return Ok(());
            }
            return match self.checkpoint() {
                Err(StoreError::DiskFull { .. }) => Ok(()), // The log has no room either: its writers are told.
                outcome => outcome,
            };
        }
        let began = self.env.clock.now();
        let mut waits = None;
        loop {
            self.check_writable()?;
            let now = self.env.clock.now();
            let delay = pressure.delay(self.log_kept(end()), now);
            if delay.is_zero() || self.checkpointer.is_full() || self.worker.is_ending() {
                break;
            }
            waits.get_or_insert_with(env::blocking::enter);
            self.env.clock.sleep(delay);
        }
        if waits.is_some() {
            let micros = self.env.clock.now().since(began).as_micros();
            pressure.delays.fetch_add(1, Ordering::Relaxed);
            pressure.delay_micros.fetch_add(u64::try_from(micros).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store in a world of numbers, in steps of a tenth of a millisecond.
    struct World {
        pressure: Pressure,
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
        /// Writers that would log so many bytes in a step, all together.
        fn new(capacity: u64, writers: usize, bytes: u64, bytes_per_step: u64) -> World {
            World {
                pressure: Pressure::new(capacity),
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
                    if !self.pressure.delay(self.end - self.position, now).is_zero() {
                        break;
                    }
                    self.longest_wait = self.longest_wait.max(self.now - since);
                    self.writers[number].wants -= 1.0;
                    self.writers[number].wants_since = None;
                    self.end += self.bytes;
                    let kept = self.end - self.position;
                    self.most_kept = self.most_kept.max(kept);
                    if kept > self.pressure.begins_at() {
                        self.pressure.charge(self.end, kept, now);
                    }
                }
            }
        }

        /// Steps until a checkpoint is due, then that, of so many pages, each of which takes so long.
        fn checkpoint(&mut self, pages: u64, page_nanos: u64) {
            while self.end - self.position <= self.pressure.begins_at() {
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
                    self.pressure.estimate(&progress, self.end);
                }
            }
            self.position = cut;
            self.pressure.relax();
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
        world.pressure.relax();
        world.step();
        assert!(world.end - world.position >= 3_000);
    }
}
