//! The matrix: every arm in every round, in an order drawn anew, on servers made alike.
//!
//! ```text
//! describe servers -> equalise -> load data -> rounds { shuffle arms; block of each } -> take data away -> analyse
//! ```
//!
//! A block opens its own connections, warms up, and is measured between two readings of the server's process and counters;
//! it leaves nothing open, so that idle connections of one arm are never there in another. Rounds go on until every
//! interval is narrow enough or the time is spent.
//!
//! Invariants:
//! 1. All arms of a round run with the same parameters in the same order.
//! 2. What was measured before a failure is in the run that is returned; [`Run::incomplete`] says why it ended.
//! 3. Data lies in schemas of the lab's own (`place`); global variables are changed only if the request allows it, through the
//!    journal.
//!
//! Read next: [`cell`] (which arms), `design` (fractions of all combinations), `place` (where the data is).

pub mod cell;
mod design;
mod place;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use client::{Connection, Error, Options};

use crate::data::random::Random;
use crate::evidence::{Block, Machine, Metric, Run, ScenarioRecord, Setting};
use crate::load::shim::Shims;
use crate::load::{Fleet, LoadError, Moment, Sender, Spec, faith};
use crate::matrix::cell::{Cell, Choice};
use crate::matrix::place::PlaceError;
use crate::scenario::{Scenario, Table, Work};
use crate::server::describe::UnderTest;
use crate::server::journal::{GlobalChanges, Value, default_folder};
use crate::server::status::{Footprint, Snapshot};
use crate::server::{describe, equalise, variables};
use crate::stats::ratio::{self, TwoArms};
use crate::stats::stop::{SequentialRule, Stop};
use crate::{analysis, data, host, interrupt, knowledge, report, verdict};

/// Bootstrap draws for the question whether to go on; the report draws more.
const RESAMPLES_TO_STOP: usize = 500;
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
    /// Time for the rounds.
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
    /// Rows of how many are loaded.
    Rows(u64, u64),
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
    let mut cells = cell::cells(&request.scenario, &names, &request.choice, request.allow_global)
        .map_err(MatrixError::Use)?;
    if !place::is_name(&request.schema) {
        return Err(MatrixError::Use(format!("'{}' is no name for a schema", request.schema)));
    }
    if !request.allow_global && !request.scenario.axes.global.is_empty() {
        let list: Vec<&str> = request.scenario.axes.global.keys().map(String::as_str).collect();
        run.warnings.push(format!("not varied without --allow-global: {}", list.join(", ")));
    }
    run.warnings.extend(
        cell::limits_of_design(&request.scenario, &request.choice, request.allow_global)
            .map_err(MatrixError::Use)?,
    );
    hear(&Progress::Stage("asking the servers what they are"));
    let mut subjects = Vec::new();
    for (name, options) in &request.servers {
        subjects.push(Subject::open(name, options, request.allow_global)?);
    }
    for subject in &mut subjects {
        run.warnings.append(&mut subject.warnings);
        run.servers.push(subject.under_test.record());
    }
    run.equalised = settings(&subjects, &request.scenario);
    if request.with_twin
        && let Some(first) = cells.first()
    {
        let mut twin = cell::cells(&request.scenario, &names, &request.choice, request.allow_global)
            .map_err(MatrixError::Use)?
            .swap_remove(0);
        twin.arm.same_as = Some(first.arm.name.clone());
        twin.arm.name = format!("{} (again)", first.arm.name);
        cells.push(twin);
    }
    run.arms = cells.iter().map(|cell| cell.arm.clone()).collect();
    let mut stage = Rounds {
        request,
        run,
        subjects,
        cells,
        started,
        dropped: Vec::new(),
        data: Vec::new(),
        shims: Shims::new(),
    };
    stage.dropped = vec![false; stage.cells.len()];
    let loaded = stage.load_data(hear);
    let nothing_loaded = loaded.is_err();
    if let Err(error) = loaded.and_then(|()| stage.rounds(hear)) {
        if stage.run.blocks.is_empty() && nothing_loaded {
            stage.clean_up();
            return Err(error);
        }
        stage.run.incomplete = Some(error.to_string());
    }
    stage.clean_up();
    let mut run = stage.run;
    run.duration_s = started.elapsed().as_secs_f64();
    analysis::analyse(&mut run, request.scenario.seed);
    let complaints: Vec<String> = faith::compare(&run).iter().filter_map(faith::Faith::complaint).collect();
    run.warnings.extend(complaints);
    match knowledge::entries() {
        Ok(entries) => verdict::conclude(&mut run, &entries, request.scenario.seed),
        Err(why) => run.warnings.push(format!("no verdict: {why}")),
    }
    Ok(run)
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

/// A server under test with the session that watches it.
struct Subject {
    under_test: UnderTest,
    admin: Connection,
    footprint: Footprint,
    session: Vec<String>,
    changes: Option<GlobalChanges>,
    /// Global variables as this run set them.
    global: BTreeMap<String, String>,
    warnings: Vec<String>,
}

impl Subject {
    fn open(name: &str, options: &Options, allow_global: bool) -> Result<Subject, MatrixError> {
        let mut options = options.clone();
        options.database = None;
        equalise::connection_options(&mut options, false);
        let fail = |why: String| MatrixError::Server {
            server: name.to_owned(),
            url: describe::url_without_password(&options),
            why,
        };
        let words = |error: Error| fail(error.to_string());
        let mut admin =
            Connection::connect(&options).map_err(|error| fail(format!("cannot connect: {error}")))?;
        let under_test = UnderTest::describe(name, &options, &mut admin).map_err(words)?;
        let mut warnings = Vec::new();
        let refused = equalise::prepare_session(&under_test, &mut admin).map_err(words)?;
        let mut session = equalise::session_statements(&under_test);
        for (statement, why) in refused {
            session.retain(|one| *one != statement);
            // A server without a query cache has nothing to switch off.
            if !statement.contains("query_cache") {
                warnings.push(format!("server {name} refused {statement}: {why}"));
            }
        }
        if let Err(why) = &under_test.process {
            warnings.push(format!("no CPU or run-queue time of server {name}: {why}"));
        }
        let footprint = Footprint::measure(&mut admin).map_err(words)?;
        let changes = if allow_global {
            let (changes, recovered) = GlobalChanges::open(&default_folder(), &under_test)
                .map_err(|error| fail(error.to_string()))?;
            for (change, outcome) in recovered {
                warnings.push(format!("left by an earlier run on server {name}: {change:?}: {outcome:?}"));
            }
            Some(changes)
        } else {
            None
        };
        Ok(Subject { under_test, admin, footprint, session, changes, global: BTreeMap::new(), warnings })
    }

    fn fail(&self, why: impl fmt::Display) -> MatrixError {
        MatrixError::Server {
            server: self.under_test.name.clone(),
            url: describe::url_without_password(&self.under_test.options),
            why: why.to_string(),
        }
    }
}

/// What must be alike and whether it is.
fn settings(subjects: &[Subject], scenario: &Scenario) -> Vec<Setting> {
    let of: Vec<(&str, &BTreeMap<String, String>)> = subjects
        .iter()
        .map(|subject| (subject.under_test.name.as_str(), &subject.under_test.variables))
        .collect();
    let varied: Vec<&str> = scenario.axes.global.keys().map(String::as_str).collect();
    let mut settings = variables::compare(&of, &varied);
    for (name, value) in
        [("tls", "off"), ("compression", "off"), ("row_format", "DYNAMIC"), ("charset", equalise::COLLATION)]
    {
        let is_varied = match name {
            "tls" => !scenario.axes.tls.is_empty(),
            "compression" => !scenario.axes.compression.is_empty(),
            _ => false,
        };
        if is_varied {
            continue;
        }
        settings.push(Setting {
            name: name.to_owned(),
            values: subjects
                .iter()
                .map(|subject| (subject.under_test.name.clone(), value.to_owned()))
                .collect(),
            is_equal: true,
            was_set: true,
            reason: None,
            is_confound: false,
        });
    }
    settings
}

/// Tables of one content on one server.
struct DataSet {
    server: usize,
    schema: String,
    tables: Vec<Table>,
    setup: Vec<String>,
    serial: AtomicU64,
}

struct Rounds<'a> {
    request: &'a Request,
    run: Run,
    subjects: Vec<Subject>,
    cells: Vec<Cell>,
    started: Instant,
    /// Arms that cannot run: why is in the warnings.
    dropped: Vec<bool>,
    data: Vec<DataSet>,
    shims: Shims,
}

impl Rounds<'_> {
    /// The data set of an arm.
    fn data_of(&self, server: usize, work: &Work) -> Option<usize> {
        self.data
            .iter()
            .position(|data| data.server == server && data.tables == work.tables && data.setup == work.setup)
    }

    fn load_data(&mut self, hear: &mut dyn FnMut(&Progress<'_>)) -> Result<(), MatrixError> {
        for index in 0..self.cells.len() {
            let (server, work) = (self.cells[index].server, &self.cells[index].work);
            if self.data_of(server, work).is_some() {
                continue;
            }
            // A server that has two names here keeps a schema for each.
            let identity = |server: usize| &self.subjects[server].under_test.identity;
            let count = self.data.iter().filter(|data| identity(data.server) == identity(server)).count();
            let schema = match count {
                0 => self.request.schema.clone(),
                more => format!("{}_{}", self.request.schema, more + 1),
            };
            let subject = &mut self.subjects[server];
            hear(&Progress::Stage(&format!("loading data into {schema} on {}", subject.under_test.name)));
            if let Err(error) = place::make(&mut subject.admin, &schema) {
                return Err(match error {
                    PlaceError::Refused(why) => subject.fail(why),
                    PlaceError::Server(error) => subject.fail(format!("schema {schema}: {error}")),
                });
            }
            self.data.push(DataSet {
                server,
                schema: schema.clone(),
                tables: work.tables.clone(),
                setup: work.setup.clone(),
                serial: AtomicU64::new(0),
            });
            let seed = self.request.scenario.seed;
            data::load::load(&mut subject.admin, work, seed, &mut |done, all| {
                hear(&Progress::Rows(done, all));
            })
            .map_err(|(sql, error)| subject.fail(format!("loading data: {error} (in: {sql})")))?;
        }
        Ok(())
    }

    fn rounds(&mut self, hear: &mut dyn FnMut(&Progress<'_>)) -> Result<(), MatrixError> {
        self.fit_blocks();
        let rule = SequentialRule {
            rounds_least: self.request.rounds.0,
            rounds_most: self.request.rounds.1,
            seconds_most: self.request.time_budget.as_secs_f64(),
            ..SequentialRule::default()
        };
        let began = Instant::now();
        let mut random = Random::new(self.request.scenario.seed, 0x04de4);
        for round in 0u32.. {
            let mut order: Vec<usize> = (0..self.cells.len()).filter(|&arm| !self.dropped[arm]).collect();
            if order.is_empty() {
                return Err(MatrixError::Use("no arm can run; see the warnings".to_owned()));
            }
            random.shuffle(&mut order);
            for (position, arm) in order.into_iter().enumerate() {
                if interrupt::requested() {
                    return Err(MatrixError::Use("interrupted".to_owned()));
                }
                // The first rounds are finished whatever they take: without two there is nothing to compare.
                if round >= 2 && began.elapsed() >= self.request.time_budget {
                    return Ok(());
                }
                if let Some(mut block) = self.block(arm, round)? {
                    (block.round, block.position) = (round, position as u32);
                    let left = self.request.time_budget.saturating_sub(began.elapsed());
                    hear(&Progress::Block { round, arm: &self.cells[arm].arm.name, block: &block, left });
                    self.run.blocks.push(block);
                }
            }
            let so_far = self.so_far();
            // With nothing to compare there is nothing to wait for but the least.
            if so_far.is_empty() && round as usize + 1 >= self.request.rounds.0 {
                break;
            }
            match rule.look(&so_far, began.elapsed().as_secs_f64()) {
                Stop::No => {}
                Stop::NarrowEnough | Stop::Spent => break,
            }
        }
        Ok(())
    }

    /// Makes blocks that are measured by time short enough for the rounds wanted.
    fn fit_blocks(&mut self) {
        let arms = self.cells.len().max(1) as u64;
        let rounds = self.request.rounds.0.max(1) as u64;
        // Connecting and warming up take time too: two thirds of it are for what is measured.
        let fair = (self.request.time_budget.as_millis() as u64) * 2 / 3 / (arms * rounds);
        for cell in &mut self.cells {
            if cell.work.load.block_operations.is_none() {
                cell.work.load.block_ms = cell.work.load.block_ms.min(fair).max(BLOCK_MS_MIN);
            }
        }
    }

    /// One block of one arm; `None` if the arm cannot run, which is then among the warnings.
    fn block(&mut self, arm: usize, round: u32) -> Result<Option<Block>, MatrixError> {
        let cell = &self.cells[arm];
        let Some(data) = self.data_of(cell.server, &cell.work).map(|index| &self.data[index]) else {
            return Ok(None);
        };
        let subject = &mut self.subjects[cell.server];
        let server = subject.under_test.name.clone();
        let url = describe::url_without_password(&subject.under_test.options);
        let fail = |why: String| MatrixError::Server { server: server.clone(), url: url.clone(), why };
        for (name, value) in &cell.global {
            if subject.global.get(name) == Some(value) {
                continue;
            }
            if let Some(changes) = &mut subject.changes {
                changes
                    .set(name, &Value::from(value.as_str()))
                    .map_err(|error| fail(format!("SET GLOBAL {name} = {value}: {error}")))?;
                subject.global.insert(name.clone(), value.clone());
            }
        }
        let Subject { under_test, admin, footprint, session, .. } = subject;
        admin.run(format!("USE `{}`", data.schema).as_bytes()).map_err(|error| fail(error.to_string()))?;
        for sql in &cell.work.between {
            admin.run(sql.as_bytes()).map_err(|error| fail(format!("{error} (in: {sql})")))?;
        }
        let mut options = under_test.options.clone();
        options.database = Some(data.schema.clone());
        cell.wrap(&mut options);
        let statements: Vec<String> = session.iter().chain(&cell.session).cloned().collect();
        let spec = Spec {
            options: &options,
            work: &cell.work,
            sender: cell.sender,
            shims: &self.shims,
            session: &statements,
            seed: self.request.scenario.seed,
            block: u64::from(round),
            serial: &data.serial,
            // Rows of the first round are enough. Other drivers may ask for the other form of rows.
            with_row_hash: self.request.scenario.compare_results
                && round == 0
                && cell.sender.name() == Sender::native().name(),
        };
        let mut readings = Readings { pid: under_test.pid(), ..Readings::default() };
        let started_ns = self.started.elapsed().as_nanos() as u64;
        let measured =
            Fleet::open(spec).and_then(|fleet| fleet.run(&mut |moment| readings.read(moment, admin)));
        let mut block = match measured {
            Ok(block) => block,
            // The server is well and refuses this arm: others may run.
            Err(
                error @ (LoadError::Connect(Error::Server(_))
                | LoadError::Statement { error: Error::Server(_), .. }
                | LoadError::Driver { .. }),
            ) => {
                self.dropped[arm] = true;
                self.run.warnings.push(format!("arm {} left out: {error}", cell.arm.name));
                return Ok(None);
            }
            Err(error) => return Err(fail(error.to_string())),
        };
        block.arm = arm;
        block.started_ns = started_ns;
        readings.fill(&mut block, footprint).map_err(fail)?;
        if let Sender::Real(_) = cell.sender {
            faith::fill_bytes(&mut block);
        }
        Ok(Some(block))
    }

    /// The comparisons that decide whether to go on: each arm with its base, by the best metric both have.
    fn so_far(&self) -> Vec<Option<ratio::Comparison>> {
        let values = |arm: usize, metric: Metric| -> Vec<ratio::Block> {
            let of = |block: &Block| ratio::Block::new(&[block.value(metric, None)?]);
            self.run.valid_blocks(arm).filter_map(of).collect()
        };
        let mut found = Vec::new();
        for arm in 0..self.cells.len() {
            let Some(base) = analysis::base_of(&self.run, arm).filter(|_| !self.dropped[arm]) else {
                continue;
            };
            let compared = [Metric::ServerCpu, Metric::TimePerOperation].into_iter().find_map(|metric| {
                let (base, other) = (values(base, metric), values(arm, metric));
                ratio::compare(TwoArms { base: &base, other: &other }, RESAMPLES_TO_STOP, 1)
            });
            found.push(compared);
        }
        found
    }

    /// Puts variables back and takes data away, as far as the servers are there.
    fn clean_up(&mut self) {
        for subject in &mut self.subjects {
            if let Some(changes) = &mut subject.changes
                && let Err(error) = changes.put_back()
            {
                let name = &subject.under_test.name;
                self.run
                    .warnings
                    .push(format!("global variables of server {name} are not back yet: {error}"));
            }
        }
        for data in &self.data {
            if self.request.keep_data {
                continue;
            }
            let subject = &mut self.subjects[data.server];
            let removed = if subject.admin.is_broken() {
                Connection::connect(&subject.under_test.options)
                    .map_err(PlaceError::Server)
                    .and_then(|mut fresh| place::remove(&mut fresh, &data.schema))
            } else {
                place::remove(&mut subject.admin, &data.schema)
            };
            if let Err(error) = removed {
                let why = match error {
                    PlaceError::Refused(why) => why,
                    PlaceError::Server(error) => error.to_string(),
                };
                let name = &subject.under_test.name;
                self.run.warnings.push(format!("schema {} stays on server {name}: {why}", data.schema));
            }
        }
    }
}

/// What the server showed at the ends of a block.
#[derive(Default)]
struct Readings {
    pid: Option<u32>,
    status: Vec<Result<Snapshot, Error>>,
    process: Vec<std::io::Result<host::process::Sample>>,
}

impl Readings {
    /// The process is read innermost, so that reading the counters is not in its CPU.
    fn read(&mut self, moment: Moment, admin: &mut Connection) {
        match moment {
            Moment::Begins => {
                self.status.push(Snapshot::take(admin));
                self.process.extend(self.pid.map(host::process::Sample::take));
            }
            Moment::Ended => {
                self.process.extend(self.pid.map(host::process::Sample::take));
                self.status.push(Snapshot::take(admin));
            }
        }
    }

    fn fill(mut self, block: &mut Block, footprint: &Footprint) -> Result<(), String> {
        let operations = block.operations.max(1);
        if let (Some(after), Some(before)) = (self.process.pop(), self.process.pop()) {
            let (after, before) =
                (after.map_err(|error| error.to_string())?, before.map_err(|error| error.to_string())?);
            let usage = after.since(&before).map_err(|error| error.to_string())?;
            block.server_cpu_ns_per_op = Some(usage.cpu_ns as f64 / operations as f64);
            block.server_run_queue_ns_per_op = usage.run_queue_ns.map(|ns| ns as f64 / operations as f64);
        }
        if let (Some(after), Some(before)) = (self.status.pop(), self.status.pop()) {
            let (after, before) =
                (after.map_err(|error| error.to_string())?, before.map_err(|error| error.to_string())?);
            let delta = after.since(&before).map_err(|error| error.to_string())?;
            block.status_per_op = delta.per_operation(operations, footprint);
        }
        Ok(())
    }
}

/// The exit code of a run: 0 no difference, 1 a regression, 2 the run failed or ended early, 3 inconclusive, 4 the servers'
/// results differ.
#[must_use]
pub fn exit_code(run: &Run) -> u8 {
    if run.incomplete.is_some() { report::EXIT_FAILED } else { report::exit_code(run) }
}
