//! The matrix: every arm in every round, in an order drawn again each time, on servers made alike; then, where
//! something was found, the passes that say where and why.
//!
//! ```text
//! describe servers -> equalise -> load data -> timing rounds -> second look -> schemas and plans -> phases -> stacks
//!                                                                                  -> counts -> changes
//!                                                   |
//!                                                   +-> nothing found: no more
//! -> take data away -> analyse -> conclude
//! ```
//!
//! A block opens its own connections, warms up, and is measured between two readings of the server's process and
//! counters; it leaves nothing open, so that idle connections of one arm are never there in another. Rounds go on until
//! every interval is narrow enough or their share of the time is spent. What samples, counts or listens does so in a
//! pass of its own: no block that is timed is looked at by anything else.
//!
//! Invariants:
//! 1. All arms of a round run with the same parameters in the same order.
//! 2. What was measured before a failure is in the run that is returned; [`Run::incomplete`] says why it ended.
//! 3. Data lies in schemas of the lab's own ([`lab_schema`]); global variables are changed only if the request allows
//!    it, through the journal.
//! 4. All passes together keep to the time budget, but for the least that each needs to say anything.
//! 5. A pass that cannot be made (no right, no tool, a server elsewhere) is a warning, and the others are made.
//!
//! Read next: [`cell`] (which arms), `runner` (how a block is measured), `rounds` (timing), `design` (fractions of all
//! combinations), `lab_schema` (where the data is).

pub mod cell;
mod design;
mod expect;
mod fidelity;
mod interventions;
pub mod lab_schema;
mod phases;
mod probes;
mod readings;
mod rounds;
mod runner;
mod schemas;
mod stacks;
mod test_server;

use std::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use client::Options;

use crate::evidence::{Block, JudgementWord, Machine, Run, ScenarioRecord, Setting};
use crate::knowledge::signature::Pair;
use crate::load::fidelity as driver_fidelity;
use crate::matrix::cell::Choice;
use crate::matrix::runner::Runner;
use crate::matrix::test_server::{Terms, TestServer, settings};
use crate::scenario::{Scenario, Work};
use crate::server::variables::{self, Demand};
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
    pub fidelity: bool,
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
    Step(&'a str),
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
pub fn run(request: &Request, on_progress: &mut dyn FnMut(&Progress<'_>)) -> Result<Run, MatrixError> {
    let started = Instant::now();
    let mut run = begin(request);
    let names: Vec<String> = request.servers.iter().map(|(name, _)| name.clone()).collect();
    let mut choice = request.choice.clone();
    if request.fidelity {
        choice.drivers = fidelity::drivers(&choice.drivers).map_err(MatrixError::Use)?;
    }
    let mut cells =
        cell::cells(&request.scenario, &names, &choice, request.allow_global).map_err(MatrixError::Use)?;
    if !lab_schema::is_name(&request.schema) {
        return Err(MatrixError::Use(format!("'{}' is no name for a schema", request.schema)));
    }
    test_server::check_accepted(&request.accepted).map_err(MatrixError::Use)?;
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
    on_progress(&Progress::Step("asking the servers what they are"));
    let mut test_servers = Vec::new();
    for (name, options) in &request.servers {
        test_servers.push(TestServer::open(name, options, request.allow_global, request.with_tls)?);
    }
    let set = if request.allow_global {
        test_server::equalise_globals(&mut test_servers, &request.scenario)
    } else {
        Vec::new()
    };
    for test_server in &mut test_servers {
        run.warnings.append(&mut test_server.warnings);
        run.servers.push(test_server.under_test.record());
    }
    let demand = demand_of(&cells);
    let terms = Terms {
        set: &set,
        allow_global: request.allow_global,
        demand,
        accepted: &request.accepted,
        with_tls: request.with_tls,
    };
    run.equalised = settings(&test_servers, &request.scenario, &terms);
    for setting in finding::confounds(&run) {
        on_progress(&Progress::Confound(setting));
    }
    for said in &run.warnings {
        on_progress(&Progress::Note(said));
    }
    if request.fidelity {
        fidelity::add_twins(&mut cells);
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
    let mut runner = Runner::new(request, run, test_servers, cells, started);
    let loaded = runner.load_data(on_progress);
    let nothing_loaded = loaded.is_err();
    if let Err(error) = loaded.and_then(|()| passes(&mut runner, on_progress)) {
        if runner.run.blocks.is_empty() && nothing_loaded {
            runner.clean_up();
            return Err(error);
        }
        runner.run.incomplete = Some(error.to_string());
    }
    runner.run.measured_s = runner.measuring.elapsed().as_secs_f64();
    runner.clean_up();
    let mut run = runner.run;
    weigh_again(&mut run, demand);
    run.duration_s = started.elapsed().as_secs_f64();
    run.fidelity = driver_fidelity::compare(&run);
    let complaints: Vec<String> = run.fidelity.iter().filter_map(evidence::Fidelity::complaint).collect();
    run.warnings.extend(complaints);
    if request.fidelity {
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

/// What the arms do, as far as it decides which settings matter.
fn demand_of(cells: &[cell::Cell]) -> Demand {
    let mut data: Vec<&Work> = Vec::new();
    for cell in cells {
        if !data.iter().any(|other| other.tables == cell.work.tables && other.setup == cell.work.setup) {
            data.push(&cell.work);
        }
    }
    Demand {
        only_reads: cells.iter().all(|cell| cell.work.only_reads()),
        data_bytes: data.iter().map(|work| work.data_bytes()).sum(),
        redo_bytes: 0,
    }
}

/// Settings that matter only where much is written, after it is known how much that was.
fn weigh_again(run: &mut Run, mut demand: Demand) {
    if demand.only_reads {
        return;
    }
    /// Bytes of redo, and of rows and indexes, for a byte that a client sends, at most.
    const REDO_OF_A_BYTE: f64 = 3.0;
    let of_server = |run: &Run, server: &str, of: &dyn Fn(&Block) -> f64| -> f64 {
        let is_own = |block: &&Block| run.arms.get(block.arm).is_some_and(|arm| arm.server == server);
        run.blocks.iter().filter(is_own).map(|block| of(block) * block.operations as f64).sum()
    };
    let (mut redo, mut sent) = (0.0_f64, 0.0_f64);
    for server in &run.servers {
        let bytes = of_server(run, &server.name, &|block| block.bytes_up_per_op);
        let counted = of_server(run, &server.name, &|block| {
            block.status_per_op.get("Innodb_os_log_written").copied().unwrap_or(0.0)
        });
        sent = sent.max(bytes);
        redo = redo.max(if counted > 0.0 { counted } else { bytes * REDO_OF_A_BYTE });
    }
    demand.redo_bytes = redo as u64;
    demand.data_bytes += (sent * REDO_OF_A_BYTE) as u64;
    let servers: Vec<(String, std::collections::BTreeMap<String, String>)> =
        run.servers.iter().map(|server| (server.name.clone(), server.variables.clone())).collect();
    let servers: Vec<(&str, &std::collections::BTreeMap<String, String>)> =
        servers.iter().map(|(name, all)| (name.as_str(), all)).collect();
    for name in variables::weigh_again(&mut run.equalised, &servers, demand) {
        run.warnings.push(format!("{name} differs, and so much was written that it matters"));
    }
}

/// All that is measured, in the order of its passes.
fn passes(runner: &mut Runner<'_>, on_progress: &mut dyn FnMut(&Progress<'_>)) -> Result<(), MatrixError> {
    runner.measuring = Instant::now();
    if runner.request.fidelity {
        return runner.fidelity(on_progress);
    }
    let timed = if runner.request.only_timing { until::ALL } else { until::TIMED };
    runner.fit_blocks(runner.request.time_budget.mul_f64(timed));
    runner.rounds(timed, on_progress)?;
    if runner.request.only_timing {
        return Ok(());
    }
    analysis::compare_times(&mut runner.run, runner.request.scenario.seed);
    if let Outcome::Unclear { .. } = finding::find(&runner.run)
        && !is_seen_once(&runner.run)
        && !runner.left_until(until::TIMED_LONGER).is_zero()
    {
        runner.rounds(until::TIMED_LONGER, on_progress)?;
        analysis::compare_times(&mut runner.run, runner.request.scenario.seed);
    }
    if let Outcome::Invalid(_) = finding::find(&runner.run) {
        return Ok(());
    }
    runner.confirm(until::CONFIRMED, on_progress)?;
    analysis::compare_times(&mut runner.run, runner.request.scenario.seed);
    // What is open still has nothing better to do with the time that is left.
    if let Outcome::Unclear { .. } = finding::find(&runner.run)
        && !runner.left_until(until::ALL).is_zero()
    {
        if is_seen_once(&runner.run) {
            runner.confirm(until::ALL, on_progress)?;
        } else {
            runner.rounds(until::ALL, on_progress)?;
        }
        analysis::compare_times(&mut runner.run, runner.request.scenario.seed);
    }
    let outcome = finding::find(&runner.run);
    let compared = match &outcome {
        Outcome::Difference(found) => Some(found.pair),
        _ => largest(&runner.run).or_else(|| across(&runner.run)),
    };
    if let Some(pair) = compared {
        runner.schemas(pair)?;
    }
    match outcome {
        Outcome::Difference(found) => locate(runner, &found, on_progress),
        // The scenario's question is how long a call takes: that may grow before an operation costs more.
        _ if !runner.request.scenario.probes.hist.is_empty() => {
            let Some(pair) = largest(&runner.run) else { return Ok(()) };
            runner.probes(pair, until::COUNTED, on_progress)?;
            analysis::analyse(&mut runner.run, runner.request.scenario.seed);
            runner.call_time_interventions(until::ALL, on_progress)
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

/// An arm and what it is compared with on another server.
fn across(run: &Run) -> Option<Pair> {
    (0..run.arms.len()).find_map(|slow| {
        let fast = analysis::base_of(run, slow)?;
        (run.arms[fast].server != run.arms[slow].server).then_some(Pair { fast, slow })
    })
}

/// The passes over the two arms of a finding.
fn locate(
    runner: &mut Runner<'_>,
    found: &Finding,
    on_progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<(), MatrixError> {
    runner.phases(found.pair, until::TAPPED, on_progress)?;
    runner.stacks(found.pair, until::SAMPLED, on_progress)?;
    runner.probes(found.pair, until::COUNTED, on_progress)?;
    analysis::analyse(&mut runner.run, runner.request.scenario.seed);
    let tried = if runner.request.scenario.probes.hist.is_empty() { until::ALL } else { until::TRIED };
    runner.interventions(found, tried, on_progress)?;
    runner.call_time_interventions(until::ALL, on_progress)
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
    run.time_budget_s = request.time_budget.as_secs_f64();
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
