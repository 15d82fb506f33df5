//! What the query logs keep of a session from one statement to the next, and how long the running one takes.

use std::sync::Arc;

use crate::core::Core;
use crate::log::{SlowEvent, StatementText};

/// When a statement began: what the slow log asks.
#[derive(Debug)]
pub(crate) struct StatementClock {
    /// Known only if the slow log was on.
    started: Option<env::clock::Monotonic>,
    /// Coarse, unless `started` is known.
    pub(super) started_wall_micros: i64,
    /// Since when the statement is queued for locks, if `started` is known.
    queued: Option<env::clock::Monotonic>,
    /// How long it was queued before.
    queued_micros: u64,
}

impl StatementClock {
    /// Looks at the clock as closely as the slow log needs it.
    #[inline]
    pub(super) fn start(core: &Core) -> Self {
        let clock = &core.env.clock;
        if core.logs.slow_is_on() {
            let (started, started_wall_micros) = (Some(clock.now()), clock.wall_micros());
            Self { started, started_wall_micros, queued: None, queued_micros: 0 }
        } else {
            let started_wall_micros = clock.wall_micros_coarse();
            Self { started: None, started_wall_micros, queued: None, queued_micros: 0 }
        }
    }

    /// The statement is queued until others have given their locks back.
    pub(super) fn suspend(&mut self, core: &Core) {
        self.queued = self.started.map(|_| core.env.clock.now());
    }

    /// It runs again.
    pub(super) fn go_on(&mut self, core: &Core) {
        if let Some(queued) = self.queued.take() {
            self.queued_micros += micros_since(core, queued);
        }
    }

    /// How long it was queued.
    pub(super) fn queued_micros(&self) -> u64 {
        self.queued_micros
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
