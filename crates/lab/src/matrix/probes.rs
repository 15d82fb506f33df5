//! The probes pass: how often the servers call the functions that the scenario names, and those that known causes which may
//! still fit would show in.
//!
//! Both arms of a finding are counted at every size they ran at, so that it can be seen what a count depends on. A probe costs the
//! server microseconds a hit: a block is a few operations, and ends being counted at a cap.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::cell::Cell;
use super::runner::{Ran, Runner, Wanted};
use super::{MatrixError, Progress};
use crate::analysis::{self, group_of};
use crate::evidence::{CountRelation, Metric};
use crate::format;
use crate::host::elf::Elf;
use crate::host::probes::{Caps, Counting, Counts, Ended, NotCounted, Target, resolve, timed_floor_ns};
use crate::host::tool::Tools;
use crate::knowledge;
use crate::knowledge::entry::Evidence;
use crate::knowledge::signature::{Pair, hold};
use crate::load::Moment;

/// Functions counted at once.
const PATTERNS_MAX: usize = 16;
/// How long a block should take if nothing were counted, nanoseconds.
const BLOCK_NS: f64 = 0.3e9;
/// Operations of a block, at most.
const OPERATIONS_MAX: u64 = 50;
/// Where calls are timed, what is timed often runs beside the operations (purge): a block that long, milliseconds.
const TIMED_BLOCK_MS: u64 = 1_500;
/// Of the first try; where it was too few, one operation is counted with the default caps.
const CAPS_FIRST: Caps = Caps { hits: 500_000, seconds: 20 };
/// Parameters of these blocks: away from those of the rounds.
const NUMBERS_FROM: u64 = 2 << 32;
/// Behind a function's name: the median time of a call in nanoseconds.
pub(super) const TIME_SUFFIX: &str = "_ns";

/// A server's functions, resolved once.
struct Resolved {
    pid: u32,
    binary: std::path::PathBuf,
    targets: Vec<Target>,
}

impl Runner<'_> {
    /// The functions to count and those to time, without doubles.
    fn patterns(&self, pair: Pair) -> (Vec<String>, Vec<String>) {
        let probes = &self.request.scenario.probes;
        let (mut count, timed) = (probes.count.clone(), probes.hist.clone());
        for entry in knowledge::entries().unwrap_or_default() {
            if !hold(&entry, &self.run, pair).refused.is_empty() {
                continue;
            }
            for evidence in &entry.evidence {
                if let Evidence::Count { names, .. } = evidence {
                    count.extend(names.iter().filter(|name| !name.ends_with(TIME_SUFFIX)).cloned());
                }
            }
        }
        let mut seen = timed.clone();
        count.retain(|name| {
            let is_new = !seen.contains(name);
            seen.push(name.clone());
            is_new
        });
        count.truncate(PATTERNS_MAX.saturating_sub(timed.len()));
        (count, timed)
    }

    fn resolved(&self, server: usize, count: &[String], timed: &[String]) -> Result<Resolved, String> {
        let process = self.test_servers[server].under_test.process.as_ref().map_err(Clone::clone)?;
        let binary = process.binary.clone();
        let elf = Elf::open(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
        let names: Vec<&str> = count.iter().chain(timed).map(String::as_str).collect();
        let mut targets = resolve(&elf, &names);
        for target in &mut targets[count.len()..] {
            target.is_timed = true;
        }
        Ok(Resolved { pid: process.pid, binary, targets })
    }

    /// Counts for both arms of a pair at every size, until `share` of the time is spent.
    pub(super) fn probes(
        &mut self,
        pair: Pair,
        share: f64,
        on_progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), MatrixError> {
        let (count, timed) = self.patterns(pair);
        if count.is_empty() && timed.is_empty() {
            return Ok(());
        }
        let mut arms = vec![pair.slow, pair.fast];
        for arm in [pair.slow, pair.fast] {
            let group = group_of(&self.run, arm);
            let mut sizes: Vec<usize> = (0..self.run.arms.len())
                .filter(|&other| {
                    other != arm
                        && self.run.arms[other].same_as.is_none()
                        && self.run.arms[other].scale.is_some()
                        && !self.dropped[other]
                        && group_of(&self.run, other) == group
                })
                .collect();
            sizes.sort_by_key(|&other| self.run.arms[other].scale);
            arms.extend(sizes.into_iter().filter(|other| *other != pair.slow && *other != pair.fast));
        }
        arms.dedup();
        let mut servers: BTreeMap<usize, Result<Resolved, String>> = BTreeMap::new();
        for (index, &arm) in arms.iter().enumerate() {
            // The pair itself is counted whatever it takes.
            if index >= 2 && self.left_until(share).is_zero() {
                self.warn(format!(
                    "calls were counted in {index} of {} arms: the time was spent",
                    arms.len()
                ));
                break;
            }
            let server = self.cells[arm].server;
            let resolved = match servers.entry(server) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let resolved = self.resolved(server, &count, &timed);
                    let name = self.test_servers[server].under_test.name.clone();
                    match &resolved {
                        Err(why) => self.warn(format!("no calls counted on server {name}: {why}")),
                        Ok(resolved) => {
                            let none = resolved.targets.iter().filter(|target| target.symbols.is_empty());
                            let none: Vec<&str> = none.map(|target| target.pattern.as_str()).collect();
                            if !none.is_empty() {
                                let none = none.join(", ");
                                self.warn(format!("the build of server {name} has no function {none}"));
                            }
                        }
                    }
                    place.insert(resolved)
                }
            };
            let Ok(resolved) = resolved else { continue };
            if resolved.targets.iter().all(|target| target.symbols.is_empty()) {
                continue;
            }
            let name = self.run.arms[arm].name.clone();
            let what = format!("counting calls of {name}");
            on_progress(&Progress::Pass { what: &what, left: self.left_until(1.0) });
            let cell = self.cells[arm].clone();
            let each_ns = analysis::middle(&self.run, arm, Metric::TimePerOperation).unwrap_or(BLOCK_NS);
            match self.count_calls(&cell, each_ns, resolved)? {
                Ok((counts, operations)) => self.note_counts(arm, &counts, operations),
                Err(why) => self.warn(format!("no calls counted of {name}: {why}")),
            }
        }
        Ok(())
    }

    /// Counts in one block of a cell, whose operations take so long each: counts and operations.
    fn count_calls(
        &mut self,
        cell: &Cell,
        each_ns: f64,
        resolved: &Resolved,
    ) -> Result<Result<(Counts, u64), NotCounted>, MatrixError> {
        let tools = Tools::default();
        let few = (BLOCK_NS / each_ns.max(1.0)).clamp(1.0, OPERATIONS_MAX as f64) as u64;
        let is_timed = resolved.targets.iter().any(|target| target.is_timed && !target.symbols.is_empty());
        let mut last = Err(NotCounted("no block was run".to_owned()));
        for (operations, caps) in [(few, CAPS_FIRST), (1, Caps::default())] {
            let mut cell = cell.clone();
            let connections = u64::from(cell.work.load.connections.max(1));
            if is_timed {
                cell.work.load.block_operations = None;
                cell.work.load.block_ms = TIMED_BLOCK_MS;
            } else {
                cell.work.load.block_operations = Some(operations.max(connections));
            }
            let mut counting = None;
            let mut counts = None;
            let wanted = Wanted { number: NUMBERS_FROM, with_row_hash: false };
            let ran = self.measure(&cell, wanted, &mut |moment, _| match moment {
                Moment::Begins => {
                    let (pid, binary) = (resolved.pid, &resolved.binary);
                    counting = Some(Counting::start(&tools, pid, binary, &resolved.targets, caps));
                }
                Moment::Ended => {
                    counts = counting.take().map(|counting| counting.and_then(Counting::finish));
                }
            })?;
            let block = match ran {
                Ran::Block(block) => block,
                Ran::Refused(why) => return Ok(Err(NotCounted(why))),
            };
            match counts {
                Some(Ok(mut counts)) if counts.ended == Ended::ByCaller => {
                    if is_timed {
                        self.take_floor(&tools, &mut counts);
                    }
                    return Ok(Ok((counts, block.operations)));
                }
                Some(Ok(counts)) => {
                    let calls: u64 = counts.calls.iter().filter_map(|(_, calls)| *calls).sum();
                    last = Err(NotCounted(format!(
                        "{calls} calls in {operations} operations were more than are counted"
                    )));
                }
                Some(Err(why)) => return Ok(Err(why)),
                None => {}
            }
            if is_timed || operations == 1 {
                break;
            }
        }
        Ok(last)
    }

    /// Takes from call times what the probe itself takes, and says so.
    fn take_floor(&mut self, tools: &Tools, counts: &mut Counts) {
        match timed_floor_ns(tools) {
            Some(floor) => {
                counts.take_floor(floor);
                let took = format::nanoseconds(floor);
                self.warn(format!(
                    "times of calls are without the {took} that timing takes, as seen on a function that does nothing"
                ));
            }
            None => {
                self.warn("times of calls contain what timing takes, which could not be measured".to_owned());
            }
        }
    }

    /// The median time of one function's calls in a block of a cell; the inner error is why it is not known.
    pub(super) fn call_time(
        &mut self,
        cell: &Cell,
        function: &str,
    ) -> Result<Result<f64, String>, MatrixError> {
        let resolved = match self.resolved(cell.server, &[], &[function.to_owned()]) {
            Ok(resolved) => resolved,
            Err(why) => return Ok(Err(why)),
        };
        Ok(match self.count_calls(cell, BLOCK_NS, &resolved)? {
            Ok((counts, _)) => match counts.ns.first() {
                Some(Some(ns)) => Ok(*ns),
                _ => Err(format!("{function} was not called")),
            },
            Err(why) => Err(why.to_string()),
        })
    }

    fn note_counts(&mut self, arm: usize, counts: &Counts, operations: u64) {
        let operations = operations.max(1) as f64;
        for (index, (name, calls)) in counts.calls.iter().enumerate() {
            let Some(calls) = calls else { continue };
            let relation = |name: String, per_op: f64| CountRelation {
                name,
                source: "uprobe".to_owned(),
                arm,
                per_op,
                ..CountRelation::default()
            };
            self.run.counts.push(relation(name.clone(), *calls as f64 / operations));
            if let Some(Some(ns)) = counts.ns.get(index) {
                self.run.counts.push(relation(format!("{name}{TIME_SUFFIX}"), *ns));
            }
        }
    }
}
