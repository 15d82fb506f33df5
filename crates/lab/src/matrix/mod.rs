//! The matrix: every arm in every round, in an order drawn anew, on servers made alike; then, where something was found, the
//! passes that say where and why.
//!
//! ```text
//! describe servers -> equalise -> load data -> timing rounds -> second look -> phases -> stacks -> counts -> changes
//!                                                   |
//!                                                   +-> nothing found: no more
//! -> take data away -> analyse -> conclude
//! ```
//!
//! A block opens its own connections, warms up, and is measured between two readings of the server's process and counters;
//! it leaves nothing open, so that idle connections of one arm are never there in another. Rounds go on until every
//! interval is narrow enough or their share of the time is spent. What samples, counts or listens does so in a pass of its own:
//! no block that is timed is looked at by anything else.
//!
//! Invariants:
//! 1. All arms of a round run with the same parameters in the same order.
//! 2. What was measured before a failure is in the run that is returned; [`Run::incomplete`] says why it ended.
//! 3. Data lies in schemas of the lab's own (`place`); global variables are changed only if the request allows it, through the
//!    journal.
//! 4. All passes together keep to the time budget, but for the least that each needs to say anything.
//! 5. A pass that cannot be made (no right, no tool, a server elsewhere) is a warning, and the others are made.
//!
//! Read next: [`cell`] (which arms), `stage` (how a block is measured), `rounds` (timing), `design` (fractions of all
//! combinations), `place` (where the data is).

pub mod cell;
mod design;
mod expect;
mod faith;
mod interventions;
mod phases;
mod place;
mod probes;
mod readings;
mod rounds;
mod stacks;
mod stage;
mod subject;

use std::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use client::Options;

use crate::evidence::{Block, JudgementWord, Machine, Run, ScenarioRecord, Setting};
use crate::knowledge::signature::Pair;
use crate::load::faith as faithful;
use crate::matrix::cell::Choice;
use crate::matrix::stage::Stage;
use crate::matrix::subject::{Subject, Terms, settings};
use crate::scenario::Scenario;
use crate::verdict::finding::{self, Finding, Outcome};
use crate::{analysis, evidence, host, knowledge, report, verdict};

/// Which share of the time budget is spent when a pass has to be over. One that ends early leaves its time to the next.
mod until {
    /// The timing rounds, where later passes have something to look at.
    pub(super) const TIMED: f64 = 0.45;
    /// Timing rounds of a run that has found nothing yet.
    pub(super) const TIMED_LONGER: f64 = 0.75;
    /// The second look.
    pub(super) const CONFIRMED: f64 = 0.6;
    /// Phases of the protocol.
    pub(super) const TAPPED: f64 = 0.66;
    /// Stacks.
    pub(super) const SAMPLED: f64 = 0.74;
    /// Call counts.
    pub(super) const COUNTED: f64 = 0.85;
    /// Changes judged by what an operation costs, where others are judged by the time of a call.
    pub(super) const TRIED: f64 = 0.9;
    /// Everything.
    pub(super) const ALL: f64 = 1.0;
}

/// A block that is measured by time is never made shorter than this.
const BLOCK_MS_MIN: u64 = 100;

/// What is to be run.
#[derive(Debug)]
pub struct Request {
    /// What.
    pub scenario: Scenario,
    /// Against what: names and how to connect. The first is what the others are compared with.
    pub servers: Vec<(String, Options)>,
    /// Which of its arms.
    pub choice: Choice,
    /// Schema for the data; further data sets get `_2`, `_3` ... behind it.
    pub schema: String,
    /// Global variables may be changed, and are put back.
    pub allow_global: bool,
    /// Leave the data on the servers.
    pub keep_data: bool,
    /// Run the first arm twice, to see how much the same differs from itself.
    pub with_twin: bool,
    /// Look no further than timing: no second look, stacks, counts, phases or changes.
    pub only_timing: bool,
    /// Only hold profiles against the drivers they imitate, at one pace.
    pub faith: bool,
    /// Settings that may differ: the verdict is then about the servers as they are set.
    pub accepted: Vec<String>,
    /// All connections inside TLS, for servers that demand it.
    pub with_tls: bool,
    /// While profiles are held against drivers, keep the servers' threads off the core that clients are kept to, and put them back.
    pub allow_pin: bool,
    /// Time for all passes.
    pub time_budget: Duration,
    /// Rounds at least, time permitting, and at most.
    pub rounds: (usize, usize),
    /// The command line, for the record.
    pub command: String,
}

/// How far a run is.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A line for people: what begins now.
    Stage(&'a str),
    /// A line that should be read before anything is measured, and stay to be read.
    Note(&'a str),
    /// Known before anything is measured: a difference of settings over which no verdict will be drawn.
    Confound(&'a Setting),
    /// Rows of how many are loaded.
    Rows(u64, u64),
    /// A block of a pass that is not timed begins.
    Pass {
        /// What is done.
        what: &'a str,
        /// What is left of the time.
        left: Duration,
    },
    /// A block was measured.
    Block {
        /// Its round.
        round: u32,
        /// Its arm's name.
        arm: &'a str,
        /// It.
        block: &'a Block,
        /// What is left of the time.
        left: Duration,
    },
}

/// Why a run could not begin or did not end.
#[derive(Debug)]
pub enum MatrixError {
    /// What was asked for makes no sense.
    Use(String),
    /// A server cannot be reached or refuses.
    Server {
        /// Its name.
        server: String,
        /// Where it is, without the password.
        url: String,
        /// In words.
        why: String,
    },
}

impl fmt::Display for MatrixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatrixError::Use(why) => f.write_str(why),
            MatrixError::Server { server, url, why } => write!(f, "server {server} ({url}): {why}"),
        }
    }
}

impl std::error::Error for MatrixError {}

/// Runs a request. The run is there whatever happens; what it lacks is in [`Run::incomplete`].
///
/// # Errors
/// Nothing was measured: the request makes no sense or a server did not let it begin.
pub fn run(request: &Request, hear: &mut dyn FnMut(&Progress<'_>)) -> Result<Run, MatrixError> {
    let started = Instant::now();
    let mut run = begin(request);
    let names: Vec<String> = request.servers.iter().map(|(name, _)| name.clone()).collect();
    let mut choice = request.choice.clone();
    if request.faith {
        choice.drivers = faith::drivers(&choice.drivers).map_err(MatrixError::Use)?;
    }
    let mut cells =
        cell::cells(&request.scenario, &names, &choice, request.allow_global).map_err(MatrixError::Use)?;
    if !place::is_name(&request.schema) {
        return Err(MatrixError::Use(format!("'{}' is no name for a schema", request.schema)));
    }
    subject::check_accepted(&request.accepted).map_err(MatrixError::Use)?;
    if request.with_tls && !request.scenario.axes.tls.is_empty() {
        return Err(MatrixError::Use("--tls: the scenario varies TLS itself".to_owned()));
    }
    if !request.allow_global && !request.scenario.axes.global.is_empty() {
        let list: Vec<&str> = request.scenario.axes.global.keys().map(String::as_str).collect();
        run.warnings.push(format!("not varied without --allow-global: {}", list.join(", ")));
    }
    run.warnings.extend(
        cell::limits_of_design(&request.scenario, &choice, request.allow_global).map_err(MatrixError::Use)?,
    );
    hear(&Progress::Stage("asking the servers what they are"));
    let mut subjects = Vec::new();
    for (name, options) in &request.servers {
        subjects.push(Subject::open(name, options, request.allow_global, request.with_tls)?);
    }
    let set = if request.allow_global {
        subject::equalise_globals(&mut subjects, &request.scenario)
    } else {
        Vec::new()
    };
    for subject in &mut subjects {
        run.warnings.append(&mut subject.warnings);
        run.servers.push(subject.under_test.record());
    }
    let only_reads = cells.iter().all(|cell| cell.work.only_reads());
    let terms = Terms {
        set: &set,
        allow_global: request.allow_global,
        only_reads,
        accepted: &request.accepted,
        with_tls: request.with_tls,
    };
    run.equalised = settings(&subjects, &request.scenario, &terms);
    for setting in finding::confounds(&run) {
        hear(&Progress::Confound(setting));
    }
    for said in &run.warnings {
        hear(&Progress::Note(said));
    }
    if request.faith {
        faith::add_twins(&mut cells);
    } else if request.with_twin
        && let Some(first) = cells.first()
    {
        let mut twin = cell::cells(&request.scenario, &names, &choice, request.allow_global)
            .map_err(MatrixError::Use)?
            .swap_remove(0);
        twin.arm.same_as = Some(first.arm.name.clone());
        twin.arm.name = format!("{} (again)", first.arm.name);
        cells.push(twin);
    }
    run.arms = cells.iter().map(|cell| cell.arm.clone()).collect();
    let mut stage = Stage::new(request, run, subjects, cells, started);
    let loaded = stage.load_data(hear);
    let nothing_loaded = loaded.is_err();
    if let Err(error) = loaded.and_then(|()| passes(&mut stage, hear)) {
        if stage.run.blocks.is_empty() && nothing_loaded {
            stage.clean_up();
            return Err(error);
        }
        stage.run.incomplete = Some(error.to_string());
    }
    stage.clean_up();
    let mut run = stage.run;
    run.duration_s = started.elapsed().as_secs_f64();
    run.faith = faithful::compare(&run);
    let complaints: Vec<String> = run.faith.iter().filter_map(evidence::Faith::complaint).collect();
    run.warnings.extend(complaints);
    if request.faith {
        return Ok(run);
    }
    analysis::analyse(&mut run, request.scenario.seed);
    match knowledge::entries() {
        Ok(entries) => verdict::conclude(&mut run, &entries, request.scenario.seed),
        Err(why) => run.warnings.push(format!("no verdict: {why}")),
    }
    run.expected = expect::held(&request.scenario.expect, &run);
    Ok(run)
}

/// All that is measured, in the order of its passes.
fn passes(stage: &mut Stage<'_>, hear: &mut dyn FnMut(&Progress<'_>)) -> Result<(), MatrixError> {
    stage.measuring = Instant::now();
    if stage.request.faith {
        return stage.faith(hear);
    }
    let timed = if stage.request.only_timing { until::ALL } else { until::TIMED };
    stage.fit_blocks(stage.request.time_budget.mul_f64(timed));
    stage.rounds(timed, hear)?;
    if stage.request.only_timing {
        return Ok(());
    }
    analysis::compare_times(&mut stage.run, stage.request.scenario.seed);
    if let Outcome::Unclear { .. } = finding::find(&stage.run)
        && !is_seen_once(&stage.run)
        && !stage.left_until(until::TIMED_LONGER).is_zero()
    {
        stage.rounds(until::TIMED_LONGER, hear)?;
        analysis::compare_times(&mut stage.run, stage.request.scenario.seed);
    }
    if let Outcome::Invalid(_) = finding::find(&stage.run) {
        return Ok(());
    }
    stage.confirm(until::CONFIRMED, hear)?;
    analysis::compare_times(&mut stage.run, stage.request.scenario.seed);
    match finding::find(&stage.run) {
        Outcome::Difference(found) => locate(stage, &found, hear),
        // The scenario's question is how long a call takes: that may grow before an operation costs more.
        _ if !stage.request.scenario.probes.hist.is_empty() => {
            let Some(pair) = largest(&stage.run) else { return Ok(()) };
            stage.probes(pair, until::COUNTED, hear)?;
            analysis::analyse(&mut stage.run, stage.request.scenario.seed);
            stage.call_time_interventions(until::ALL, hear)
        }
        _ => Ok(()),
    }
}

/// The arms of the largest size: of the first server that has one, and of the last.
fn largest(run: &Run) -> Option<Pair> {
    let scale = run.arms.iter().filter_map(|arm| arm.scale).max()?;
    let mut arms = (0..run.arms.len()).filter(|&arm| {
        run.arms[arm].scale == Some(scale)
            && run.arms[arm].same_as.is_none()
            && run.valid_blocks(arm).count() > 0
    });
    let fast = arms.next()?;
    Some(Pair { fast, slow: arms.next_back()? })
}

/// The passes over the two arms of a finding.
fn locate(
    stage: &mut Stage<'_>,
    found: &Finding,
    hear: &mut dyn FnMut(&Progress<'_>),
) -> Result<(), MatrixError> {
    stage.phases(found.pair, until::TAPPED, hear)?;
    stage.stacks(found.pair, until::SAMPLED, hear)?;
    stage.probes(found.pair, until::COUNTED, hear)?;
    analysis::analyse(&mut stage.run, stage.request.scenario.seed);
    let tried = if stage.request.scenario.probes.hist.is_empty() { until::ALL } else { until::TRIED };
    stage.interventions(found, tried, hear)?;
    stage.call_time_interventions(until::ALL, hear)
}

/// Something was seen, and not twice.
fn is_seen_once(run: &Run) -> bool {
    run.comparisons
        .iter()
        .any(|found| finding::MAIN.contains(&found.metric) && found.judgement == JudgementWord::Unconfirmed)
}

fn begin(request: &Request) -> Run {
    let machine = host::machine::Machine::read();
    let load_average = std::fs::read_to_string("/proc/loadavg").ok();
    let mut run = Run::new();
    run.started_unix_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
    run.commands.push(request.command.clone());
    run.machine = Machine {
        key: machine.key(),
        cpu: machine.cpu_model,
        cores: machine.core_count as u32,
        kernel: machine.kernel,
        memory_bytes: machine.memory_bytes,
        virtualisation: Some(machine.virtualisation).filter(|what| what != "none"),
        load_average: load_average.and_then(|text| text.split(' ').next()?.parse().ok()),
    };
    let scenario = &request.scenario;
    run.scenario = ScenarioRecord {
        id: scenario.id.clone(),
        claim: scenario.claim.clone(),
        text: scenario.text.clone(),
        seed: scenario.seed,
        scale_name: scenario.scale.as_ref().map(|scale| scale.name.clone()),
    };
    run
}

/// The exit code of a run: 0 no difference, 1 a regression, 2 the run failed or ended early, 3 inconclusive, 4 the servers'
/// results differ.
#[must_use]
pub fn exit_code(run: &Run) -> u8 {
    if run.incomplete.is_some() { report::EXIT_FAILED } else { report::exit_code(run) }
}
