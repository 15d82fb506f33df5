//! How a run uses the tap: one [`Watch`] for each arm, in a pass of its own after the timing rounds.
//!
//! ```text
//! open -> { load through `options`; `at` begin and end; `count` operations } ... -> finish
//! ```
//!
//! The tap costs each command some microseconds, so nothing is timed while it watches; the arms of a pair bear it alike.

use client::{Connection, Options};

use super::path::{OwnTimes, pings, throttled_ns};
use super::phases::{LOGIN, Phases};
use super::{Config, Tap};
use crate::evidence::{PathTimes, PhaseTimes};
use crate::host::locate;
use crate::load::Moment;
use crate::server::ask_if_allowed;
use crate::stats::summary::median;

/// What is read at both ends of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    own: Option<OwnTimes>,
    throttled_ns: Option<u64>,
}

/// A tap before one arm's server, and what it saw so far.
#[derive(Debug)]
pub struct Watch {
    arm: usize,
    tap: Tap,
    options: Options,
    pid: Option<u32>,
    phases: Phases,
    pings: Vec<f64>,
    before: Option<Reading>,
    /// Sums over the blocks: statement, lock, sync, throttled. Absent once a block lacked one.
    own: Option<(f64, f64)>,
    sync_ns: Option<f64>,
    throttled_ns: Option<f64>,
    operations: u64,
    forwarder: Option<String>,
}

impl Watch {
    /// Starts a tap before the server of `options`. `admin` is a connection of its own to the same address; `pid` the server's
    /// process, if it runs here.
    ///
    /// # Errors
    /// In words: no port, or the server is gone.
    pub fn open(
        arm: usize,
        options: &Options,
        pid: Option<u32>,
        admin: &mut Connection,
    ) -> Result<Watch, String> {
        let tap = Tap::start(&Config::new(options.address.clone()))
            .map_err(|error| format!("the tap cannot listen: {error}"))?;
        let words = |error: client::Error| error.to_string();
        let pid_file = ask_if_allowed(admin, "SELECT @@pid_file").map_err(words)?;
        Ok(Watch {
            arm,
            options: tap.options(options),
            tap,
            pid,
            phases: Phases::default(),
            pings: pings(admin).map_err(words)?,
            before: None,
            own: Some((0.0, 0.0)),
            sync_ns: Some(0.0),
            throttled_ns: Some(0.0),
            operations: 0,
            forwarder: locate::forwarder(&options.address, pid_file.as_deref()),
        })
    }

    /// How to connect by way of the tap.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Reads the clocks at both ends of a block.
    ///
    /// # Errors
    /// In words: the server is gone.
    pub fn at(&mut self, moment: Moment, admin: &mut Connection) -> Result<(), String> {
        match moment {
            Moment::Begins => {
                self.before = Some(self.read(admin)?);
                // What came before was warming up.
                let _ = self.tap.take();
            }
            Moment::Ended => {
                self.phases.merge(&self.tap.take());
                let after = self.read(admin)?;
                if let Some(before) = self.before.take() {
                    self.add(&before, &after);
                }
                self.pings.extend(pings(admin).map_err(|error| error.to_string())?);
            }
        }
        Ok(())
    }

    /// Counts the operations of a block that was watched.
    pub fn count(&mut self, operations: u64) {
        self.operations += operations;
    }

    /// What was seen, as the evidence keeps it.
    ///
    /// # Errors
    /// In words: nothing passed through the tap.
    pub fn finish(mut self) -> Result<(Vec<PhaseTimes>, PathTimes), String> {
        let operations = self.operations;
        self.phases.commands.remove(LOGIN);
        let phases = self.phases.per_operation(self.arm, operations);
        if phases.is_empty() {
            let why = self.phases.refused.1.take().unwrap_or_else(|| "no command passed".to_owned());
            return Err(format!("the tap saw nothing: {why}"));
        }
        let per_op = |sum: f64| sum / operations as f64;
        let path = PathTimes {
            arm: self.arm,
            ping_ns: median(&self.pings).unwrap_or(0.0),
            statement_ns: self.own.map(|(statement, _)| per_op(statement)),
            lock_ns: self.own.map(|(_, lock)| per_op(lock)),
            sync_ns: self.sync_ns.map(per_op),
            throttled_ns: self.throttled_ns.map(per_op),
            forwarder: self.forwarder,
        };
        Ok((phases, path))
    }

    fn read(&self, admin: &mut Connection) -> Result<Reading, String> {
        let own = match self.own {
            Some(_) => OwnTimes::read(admin).map_err(|error| error.to_string())?,
            None => None,
        };
        Ok(Reading { own, throttled_ns: self.pid.and_then(throttled_ns) })
    }

    fn add(&mut self, before: &Reading, after: &Reading) {
        let added = after.own.zip(before.own).and_then(|(after, before)| after.since(&before));
        self.own = self
            .own
            .zip(added)
            .map(|((statement, lock), more)| (statement + more.statement_ns, lock + more.lock_ns));
        self.sync_ns = self.sync_ns.zip(added.and_then(|more| more.sync_ns)).map(|(sum, more)| sum + more);
        let throttled = after.throttled_ns.zip(before.throttled_ns);
        self.throttled_ns = self
            .throttled_ns
            .zip(throttled)
            .map(|(sum, (after, before))| sum + after.saturating_sub(before) as f64);
    }
}
