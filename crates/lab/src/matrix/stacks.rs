//! The stacks pass: where the two arms of a finding spend the server's CPU.
//!
//! perf samples the base and the slow arm in turns. Samples give shares; the nanoseconds come from the pass that was timed.

use super::runner::{Ran, Runner, Wanted};
use super::{MatrixError, Progress};
use crate::analysis;
use crate::evidence::{Metric, StackProfile};
use crate::host::stacks::folded::Profile as Folded;
use crate::host::stacks::record::{Recording, Unwind};
use crate::host::tool::Tools;
use crate::knowledge::signature::Pair;
use crate::load::Moment;

/// Samples a second of CPU, unless the scenario says otherwise.
const HERTZ: u32 = 499;
/// How often each arm is sampled.
const TURNS: u64 = 2;
/// Length of one recording, milliseconds, at least and at most.
const RECORDING_MS: (u64, u64) = (700, 6_000);
/// What attaching and naming take, milliseconds: not left for recording.
const OVERHEAD_MS: u64 = 2_000;
/// Different stacks kept of one arm; the rarest beyond are put together under [`RARE`].
const STACKS_KEPT: usize = 3_000;
/// Where rare stacks are put together.
pub(super) const RARE: &str = "[rare stacks]";
/// Parameters of these blocks: away from those of the rounds.
const NUMBERS_FROM: u64 = 1 << 32;

/// `cpu-clock:499` as a rate.
fn hertz(said: Option<&str>) -> Result<u32, String> {
    let Some(said) = said else { return Ok(HERTZ) };
    let rate = said.strip_prefix("cpu-clock:").and_then(|rate| rate.parse().ok());
    rate.filter(|rate| (1..=4_999).contains(rate))
        .ok_or_else(|| format!("[probes] profile = \"{said}\": expected cpu-clock: and 1 to 4999 a second"))
}

/// What is kept of a profile: its most frequent stacks, and how many samples the others had.
fn kept(profile: &Folded) -> Vec<(String, u64)> {
    let mut lines = profile.lines();
    lines.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let rare: u64 = lines.iter().skip(STACKS_KEPT).map(|(_, count)| count).sum();
    lines.truncate(STACKS_KEPT);
    if rare > 0 {
        lines.push((RARE.to_owned(), rare));
    }
    lines
}

impl Runner<'_> {
    /// Samples both arms of a pair in turns, until `share` of the time is spent.
    pub(super) fn stacks(
        &mut self,
        pair: Pair,
        share: f64,
        on_progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), MatrixError> {
        let hertz = match hertz(self.request.scenario.probes.profile.as_deref()) {
            Ok(hertz) => hertz,
            Err(why) => {
                self.warn(why);
                return Ok(());
            }
        };
        let arms = [pair.fast, pair.slow];
        if let Some(arm) = arms.into_iter().find(|&arm| self.pid_of(arm).is_none()) {
            let server = self.run.arms[arm].server.clone();
            self.warn(format!("no stacks: the process of server {server} cannot be looked into from here"));
            return Ok(());
        }
        let tools = Tools::default();
        let each = (self.left_until(share).as_millis() as u64 / (2 * TURNS)).saturating_sub(OVERHEAD_MS);
        let mut found = [(Folded::default(), 0u64), (Folded::default(), 0u64)];
        for turn in 0..TURNS {
            for (side, arm) in arms.into_iter().enumerate() {
                let name = self.run.arms[arm].name.clone();
                on_progress(&Progress::Pass {
                    what: &format!("sampling {name}"),
                    left: self.left_until(1.0),
                });
                let mut cell = self.cells[arm].clone();
                cell.work.load.block_operations = None;
                cell.work.load.block_ms = each.clamp(RECORDING_MS.0, RECORDING_MS.1);
                let Some(pid) = self.pid_of(arm) else { continue };
                let mut recording = None;
                let mut profile = None;
                let wanted = Wanted { number: NUMBERS_FROM + turn, with_row_hash: false };
                let ran = self.measure(&cell, wanted, &mut |moment, _| match moment {
                    Moment::Begins => {
                        recording = Some(Recording::start(&tools, pid, hertz, Unwind::FramePointers));
                    }
                    Moment::Ended => {
                        profile = recording.take().map(|recording| recording.and_then(Recording::finish));
                    }
                })?;
                match (ran, profile) {
                    (Ran::Block(block), Some(Ok(profile))) => {
                        let (all, operations) = &mut found[side];
                        profile.iter().for_each(|(frames, count)| all.add(frames.to_vec(), count));
                        all.lost += profile.lost;
                        *operations += block.operations;
                    }
                    (Ran::Refused(why), _) => {
                        self.warn(format!("no stacks of {name}: {why}"));
                        return Ok(());
                    }
                    (_, Some(Err(why))) => {
                        self.warn(format!("no stacks of {name}: {why}"));
                        return Ok(());
                    }
                    (Ran::Block(_), None) => {}
                }
            }
        }
        for ((profile, operations), arm) in found.iter().zip(arms) {
            if profile.lost > profile.samples() / 20 {
                let name = self.run.arms[arm].name.clone();
                self.warn(format!(
                    "{} of {} samples of {name} were lost",
                    profile.lost,
                    profile.samples() + profile.lost
                ));
            }
            if profile.samples() == 0 || *operations == 0 {
                let name = self.run.arms[arm].name.clone();
                self.warn(format!("no stacks of {name}: it was never seen on a core"));
                continue;
            }
            self.run.stacks.push(StackProfile {
                arm,
                source: format!("perf cpu-clock, {hertz} a second"),
                samples: profile.samples(),
                operations: *operations,
                cpu_ns_per_op: analysis::middle(&self.run, arm, Metric::ServerCpu),
                folded: kept(profile),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_read_and_rare_stacks_are_counted() {
        assert_eq!((hertz(None), hertz(Some("cpu-clock:99"))), (Ok(HERTZ), Ok(99)));
        assert!(hertz(Some("cycles:99")).is_err() && hertz(Some("cpu-clock:0")).is_err());
        let mut profile = Folded::default();
        for stack in 0..STACKS_KEPT + 5 {
            profile.add(vec!["main".to_owned(), format!("f{stack}")], 1);
        }
        profile.add(vec!["main".to_owned(), "hot".to_owned()], 90);
        let kept = kept(&profile);
        assert_eq!(kept[0], ("main;hot".to_owned(), 90));
        assert_eq!(kept.last(), Some(&(RARE.to_owned(), 6)));
        assert_eq!(kept.iter().map(|(_, count)| count).sum::<u64>(), profile.samples());
    }
}
