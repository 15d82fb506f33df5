//! A world made from one number: its disk forgets what was not synced, its clock is turned by hand, it has no threads.
//!
//! [`SimWorld::crash`] ends a world and gives the one after it: the files as a machine might find them after losing power,
//! with every unsynced write kept, lost or torn as the seed decides. [`Faults`] says what each kind of failure does.
//!
//! Read next: [`SimDisk`].

mod disk;

pub use disk::{Counts, Faults, SimDisk};

use crate::Env;
use crate::clock::{Clock, Monotonic};
use crate::random::{Rng, SeededRandom};
use crate::threads::NoThreads;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// One incarnation of a simulated machine.
#[derive(Clone, Debug)]
pub struct SimWorld {
    env: Env,
    disk: SimDisk,
    clock: Arc<SimClock>,
}

impl SimWorld {
    /// A machine with an empty disk; all its chances come from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> SimWorld {
        let clock = Arc::new(SimClock::default());
        SimWorld::with_disk(seed, SimDisk::new(seed, Arc::clone(&clock)), clock)
    }

    fn with_disk(seed: u64, disk: SimDisk, clock: Arc<SimClock>) -> SimWorld {
        let env = Env {
            disk: Arc::new(disk.clone()),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            random: Arc::new(SeededRandom::new(Rng::new(seed ^ 0x005e_ed0f_7a11).next_u64())),
            threads: Arc::new(NoThreads),
        };
        SimWorld { env, disk, clock }
    }

    /// What code running in this world is given.
    #[must_use]
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The disk, to plan its failures and to look at it from outside.
    #[must_use]
    pub fn disk(&self) -> &SimDisk {
        &self.disk
    }

    /// The clock, to turn it.
    #[must_use]
    pub fn clock(&self) -> &SimClock {
        &self.clock
    }

    /// Cuts the power, if a planned crash has not done so already, and starts the machine again. Every handle of this world
    /// fails from now on; the new world has no planned failures.
    #[must_use]
    pub fn crash(&self) -> SimWorld {
        // Time goes on while the machine is off; the monotonic clock of a new machine may start anywhere, so keep it going.
        let clock = Arc::new(SimClock::default());
        clock.nanos.store(self.clock.nanos.load(Ordering::Relaxed) + 1_000_000_000, Ordering::Relaxed);
        let (seed, disk) = self.disk.after_crash(Arc::clone(&clock));
        SimWorld::with_disk(seed, disk, clock)
    }
}

/// A clock that moves when it is advanced, and a little with every disk access.
#[derive(Debug, Default)]
pub struct SimClock {
    nanos: AtomicU64,
}

/// The wall time at which simulated worlds begin: 2026-01-01 00:00:00 UTC, in microseconds since 1970.
pub(crate) const SIM_WALL_START_MICROS: i64 = 1_767_225_600_000_000;

impl SimClock {
    /// Moves both clocks forward.
    pub fn advance(&self, length: Duration) {
        self.nanos.fetch_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX >> 1), Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Monotonic {
        Monotonic { nanos: self.nanos.load(Ordering::Relaxed) }
    }

    fn wall_micros(&self) -> i64 {
        let micros = self.nanos.load(Ordering::Relaxed) / 1000;
        SIM_WALL_START_MICROS.saturating_add(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    fn sleep(&self, length: Duration) {
        self.advance(length);
    }
}
