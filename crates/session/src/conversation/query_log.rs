//! What the query logs keep of a session from one statement to the next, and how long the running one takes.

use std::sync::Arc;

use crate::core::Core;
use crate::log::{SlowEvent, StatementText};

/// When a statement began: what the slow log asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatementClock {
    /// Known only if the slow log was on.
    started: Option<env::clock::Monotonic>,
    /// Coarse, unless `started` is known.
    pub(super) started_wall_micros: i64,
}

impl StatementClock {
    /// Looks at the clock as closely as the slow log needs it.
    #[inline]
    pub(super) fn start(core: &Core) -> Self {
        let clock = &core.env.clock;
        if core.logs.slow_is_on() {
            Self { started: Some(clock.now()), started_wall_micros: clock.wall_micros() }
        } else {
            Self { started: None, started_wall_micros: clock.wall_micros_coarse() }
        }
    }

    /// Whether the slow log was on.
    #[inline]
    pub(super) fn is_exact(&self) -> bool {
        self.started.is_some()
    }

    /// How long the statement has run by `wall_micros`.
    pub(super) fn micros_until(&self, core: &Core, wall_micros: i64) -> u64 {
        match self.started {
            Some(started) => micros_since(core, started),
            // The statement itself turned the log on.
            None => u64::try_from(wall_micros - self.started_wall_micros).unwrap_or(0),
        }
    }
}

/// The clock of a statement that was queued for locks, and how long it was.
#[derive(Debug)]
pub(super) struct QueuedClock {
    clock: StatementClock,
    /// Since when it is queued, if its beginning is known exactly; `None` while it runs.
    since: Option<env::clock::Monotonic>,
    /// How long it was queued before.
    micros: u64,
}

impl QueuedClock {
    /// The statement is queued until others have given their locks back.
    pub(super) fn new(clock: StatementClock, core: &Core) -> Self {
        let mut queued = Self { clock, since: None, micros: 0 };
        queued.suspend(core);
        queued
    }

    /// It is queued once more.
    pub(super) fn suspend(&mut self, core: &Core) {
        self.since = self.clock.is_exact().then(|| core.env.clock.now());
    }

    /// It runs again, by this clock.
    pub(super) fn go_on(&mut self, core: &Core) -> StatementClock {
        if let Some(since) = self.since.take() {
            self.micros += micros_since(core, since);
        }
        self.clock
    }

    /// How long it was queued.
    pub(super) fn micros(&self) -> u64 {
        self.micros
    }
}

fn micros_since(core: &Core, earlier: env::clock::Monotonic) -> u64 {
    u64::try_from(core.env.clock.now().since(earlier).as_micros()).unwrap_or(u64::MAX)
}

/// The session's part of the slow log.
#[derive(Debug, Default)]
pub(crate) struct QueryLog {
    /// Database of its entry before: `use` is written when it changes.
    slow_database: Option<Arc<str>>,
}

impl QueryLog {
    /// Writes an entry of a statement that ran in `database`.
    pub(super) fn write_slow(
        &mut self,
        core: &Core,
        event: &SlowEvent<'_>,
        database: Option<&Arc<str>>,
        text: &dyn StatementText,
    ) {
        let changed = self.slow_database.as_ref() != database;
        let shown = if changed { database.map(|name| name.as_bytes()) } else { None };
        core.logs.slow(&SlowEvent { database: shown, ..*event }, text);
        self.slow_database = database.cloned();
    }
}
