//! The phases pass: where the wall time of a finding's two arms goes between client and server.
//!
//! A tap stands before each server, and both arms run in turns through theirs, in a closed loop: in an open one, time between
//! commands is waiting for arrivals and not the client's.

use super::runner::{Ran, Runner, Wanted};
use super::{MatrixError, Progress};
use crate::knowledge::signature::Pair;
use crate::scenario::Mode;
use crate::tap::Watch;

/// How often each arm is watched.
const TURNS: u64 = 3;
/// Length of one turn, milliseconds, at least and at most.
const TURN_MS: (u64, u64) = (200, 1_000);
/// Parameters of these blocks: away from those of the other passes.
const NUMBERS_FROM: u64 = 1 << 34;

impl Runner<'_> {
    /// Watches both arms of a pair in turns, until `share` of the time is spent.
    pub(super) fn phases(
        &mut self,
        pair: Pair,
        share: f64,
        on_progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), MatrixError> {
        let arms = [pair.fast, pair.slow];
        let each = self.left_until(share).as_millis() as u64 / (2 * TURNS);
        let mut watches = Vec::new();
        for arm in arms {
            let pid = self.pid_of(arm);
            let test_server = &mut self.test_servers[self.cells[arm].server];
            match Watch::open(arm, &test_server.under_test.options, pid, &mut test_server.admin) {
                Ok(watch) => watches.push(watch),
                Err(why) => {
                    let name = self.run.arms[arm].name.clone();
                    self.warn(format!("no phases of {name}: {why}"));
                    return Ok(());
                }
            }
        }
        for turn in 0..TURNS {
            for (arm, watch) in arms.into_iter().zip(&mut watches) {
                let name = self.run.arms[arm].name.clone();
                on_progress(&Progress::Pass { what: &format!("tapping {name}"), left: self.left_until(1.0) });
                let mut cell = self.cells[arm].clone();
                cell.work.load.mode = Mode::Closed;
                cell.work.load.block_operations = None;
                cell.work.load.block_ms = each.clamp(TURN_MS.0, TURN_MS.1);
                // The load goes by way of the tap; the session that watches stays where it is.
                let through = watch.options().clone();
                let direct =
                    std::mem::replace(&mut self.test_servers[cell.server].under_test.options, through);
                let mut failed = None;
                let wanted = Wanted { number: NUMBERS_FROM + turn, with_row_hash: false };
                let ran = self.measure(&cell, wanted, &mut |moment, admin| {
                    if let Err(why) = watch.at(moment, admin) {
                        failed = Some(why);
                    }
                });
                self.test_servers[cell.server].under_test.options = direct;
                match (ran?, failed) {
                    (Ran::Block(block), None) => watch.count(block.operations),
                    (Ran::Refused(why), _) | (Ran::Block(_), Some(why)) => {
                        self.warn(format!("no phases of {name}: {why}"));
                        return Ok(());
                    }
                }
            }
        }
        let mut seen = Vec::new();
        for (watch, arm) in watches.into_iter().zip(arms) {
            match watch.finish() {
                Ok(found) => seen.push(found),
                Err(why) => {
                    let name = self.run.arms[arm].name.clone();
                    self.warn(format!("no phases of {name}: {why}"));
                    return Ok(());
                }
            }
        }
        for (phases, path) in seen {
            self.run.phases.extend(phases);
            self.run.paths.push(path);
        }
        Ok(())
    }
}
