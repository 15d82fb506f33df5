//! Real drivers as load generators: a shim in the driver's own language runs the operation, the lab says which and how long.
//!
//! ```text
//! Shims (for a run) -> Process (a driver's, kept warm from block to block) -> RealFleet (a block's connections in it)
//! ```
//!
//! The protocol is described in `lab/shims/README.md`. Parameters are those our own client would send, made before the first block: a
//! connection goes through as many operations as fit into [`POOL_BYTES`] and then begins again, `serial` ones excepted.
//!
//! A virtual machine that compiles while it runs is slow at first: a new process is warmed before its first block, and lives
//! as long as the run.
//!
//! Read next: [`known`] (which there are), `process` (lines in and out).

mod process;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use client::Options;
use client::{Address, Tls};

use crate::data::fill::{FillKind, Source, Value};
use crate::data::random::Random;
use crate::drivers::{Protocol, Real};
use crate::evidence::Block;
use crate::host::cores;
use crate::host::process::Sample;
use crate::load::driver::Seen;
use crate::load::schedule::Schedule;
use crate::load::shim::process::Process;
use crate::load::{LoadError, Moment, SILENCE_MAX, Spec};
use crate::scenario::{Mode, Op};

/// Parameters made for one block, of all connections together.
const POOL_BYTES: usize = 16 << 20;
/// Operations a connection has parameters for, at most.
const POOL_OPERATIONS: usize = 1_000;
/// A new process runs this long, or this many operations, before its first block: what compiles while it runs is slow at first.
const COLD_MS: u64 = 2_000;
const COLD_OPERATIONS: u64 = 2_000;
/// Stream of an open loop's schedule, as our own client draws it.
const SCHEDULE_STREAM: u64 = 0x0be7;

/// The real drivers' processes of a run.
#[derive(Debug, Default)]
pub struct Shims(Mutex<BTreeMap<String, Process>>);

impl Shims {
    /// None yet.
    #[must_use]
    pub fn new() -> Shims {
        Shims::default()
    }

    /// Takes the process of `real`, starting it if need be.
    fn take(&self, real: &Real) -> Result<(String, Process), String> {
        let (key, command) = real.command()?;
        let kept = self.0.lock().map_err(|_| "a thread panicked".to_owned())?.remove(&key);
        let process = match kept {
            Some(process) => process,
            None => Process::start(command)?,
        };
        Ok((key, process))
    }

    fn give_back(&self, key: String, process: Process) {
        if let Ok(mut all) = self.0.lock() {
            all.insert(key, process);
        }
    }

    /// Driver and version of `real`, as it says itself.
    ///
    /// # Errors
    /// It cannot be started, and why.
    pub fn version(&self, real: &Real) -> Result<String, String> {
        let (key, process) = self.take(real)?;
        let driver = process.driver.clone();
        self.give_back(key, process);
        Ok(driver)
    }
}

/// Connections of a real driver, opened for one block.
#[derive(Debug)]
pub(crate) struct RealFleet<'a> {
    shims: &'a Shims,
    key: String,
    process: Process,
    real: &'static Real,
}

impl<'a> RealFleet<'a> {
    pub(crate) fn open(spec: &Spec<'a>, real: &'static Real) -> Result<RealFleet<'a>, LoadError> {
        let fail = |why| LoadError::Driver { driver: real.name, why };
        let (key, mut process) = spec.shims.take(real).map_err(fail)?;
        tell_work(&mut process, spec, real).map_err(fail)?;
        let mut fleet = RealFleet { shims: spec.shims, key, process, real };
        fleet.hear_until("opened", SILENCE_MAX, &mut |_| {})?;
        Ok(fleet)
    }

    fn fail(&self, why: impl Into<String>) -> LoadError {
        LoadError::Driver { driver: self.real.name, why: why.into() }
    }

    /// Hands lines to `each` until one begins with `last`.
    fn hear_until(
        &mut self,
        last: &str,
        limit: Duration,
        each: &mut dyn FnMut(&[String]),
    ) -> Result<(), LoadError> {
        loop {
            let fields = self.process.receive(limit).map_err(|why| self.fail(why))?;
            match &fields[..] {
                [word, ..] if word == last => return Ok(()),
                [word, number, text] if word == "failed" => {
                    let code = if number == "0" { String::new() } else { format!("error {number}: ") };
                    return Err(self.fail(format!("{code}{text}")));
                }
                fields => each(fields),
            }
        }
    }

    /// Says a command and hears its whole answer.
    fn stretch(
        &mut self,
        command: &[&str],
        limit: Duration,
        ended: &mut dyn FnMut(),
    ) -> Result<Seen, LoadError> {
        self.process.tell(command).and_then(|()| self.process.flush()).map_err(|why| self.fail(why))?;
        self.hear_until("ended", limit, &mut |_| {})?;
        ended();
        let mut seen = Seen::default();
        let mut serials = 0;
        self.hear_until("done", SILENCE_MAX, &mut |fields| read_line(fields, &mut seen, &mut serials))?;
        seen.serials = serials;
        Ok(seen)
    }

    /// Warms up and runs the block, as [`Fleet::run`](crate::load::Fleet::run).
    pub(crate) fn run(mut self, spec: &Spec<'_>, at: &mut dyn FnMut(Moment)) -> Result<Block, LoadError> {
        let load = &spec.work.load;
        if let Some(core) = spec.client_core {
            cores::keep_process_to(self.process.pid(), core)
                .map_err(|error| self.fail(format!("core {core}: {error}")))?;
        }
        if !self.process.is_warm && load.warmup_operations > 0 {
            let first = spec.serial.load(Ordering::Relaxed).to_string();
            let command = ["run", "closed", &COLD_MS.to_string(), &COLD_OPERATIONS.to_string(), &first];
            let seen = self.stretch(&command, SILENCE_MAX * 2, &mut || {})?;
            spec.serial.fetch_add(seen.serials, Ordering::Relaxed);
            self.process.is_warm = true;
        }
        let warm_up = load.warmup_operations.saturating_mul(u64::from(load.connections));
        if warm_up > 0 {
            let limit = SILENCE_MAX.as_millis().to_string();
            let first = spec.serial.load(Ordering::Relaxed).to_string();
            let seen = self.stretch(
                &["run", "closed", &limit, &warm_up.to_string(), &first],
                SILENCE_MAX * 2,
                &mut || {},
            )?;
            spec.serial.fetch_add(seen.serials, Ordering::Relaxed);
        }
        let first = spec.serial.load(Ordering::Relaxed).to_string();
        let timeout = Duration::from_millis(load.block_ms) + SILENCE_MAX;
        let command: Vec<String> = match load.mode {
            Mode::Closed => {
                let most = load.block_operations.unwrap_or(i64::MAX.unsigned_abs());
                vec!["run".into(), "closed".into(), load.block_ms.to_string(), most.to_string(), first]
            }
            Mode::Paced { interval_ns } => {
                let interval = interval_ns.max(1).to_string();
                self.process.tell(&["pace", &interval]).map_err(|why| self.fail(why))?;
                let most = load.block_operations.unwrap_or(i64::MAX.unsigned_abs());
                vec!["run".into(), "closed".into(), load.block_ms.to_string(), most.to_string(), first]
            }
            Mode::Open { rate_per_s, arrivals, in_flight_max } => {
                let random = Random::new(spec.seed ^ spec.block, SCHEDULE_STREAM);
                let most = usize::try_from(load.block_operations.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
                let due: Vec<String> = Schedule::new(arrivals, rate_per_s, load.block_ms * 1_000_000, random)
                    .take(most)
                    .map(|ns| ns.to_string())
                    .collect();
                let mut line = vec!["arrivals"];
                line.extend(due.iter().map(String::as_str));
                self.process.tell(&line).map_err(|why| self.fail(why))?;
                vec!["run".into(), "open".into(), in_flight_max.to_string(), first]
            }
        };
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let pid = self.process.pid();
        at(Moment::Begins);
        let before = Sample::take(pid);
        let mut after = None;
        let mut seen = self.stretch(&command, timeout, &mut || {
            after = Some(Sample::take(pid));
            at(Moment::Ended);
        })?;
        spec.serial.fetch_add(seen.serials, Ordering::Relaxed);
        if let (Ok(before), Some(Ok(after))) = (before, after)
            && let Ok(usage) = after.since(&before)
        {
            seen.cpu_ns = usage.cpu_ns;
            seen.run_queue_ns = usage.run_queue_ns.unwrap_or_default();
        }
        if !matches!(load.mode, Mode::Open { .. }) {
            seen.latency = seen.service.clone();
        }
        // Where the shim cannot tell its busiest thread, its one thread did all.
        let busiest = if seen.busiest_ns > 0 { seen.busiest_ns } else { seen.cpu_ns };
        let busy = busiest as f64 / seen.wall_ns.max(1) as f64;
        let threads = f64::from(load.connections.max(1));
        let waited = seen.run_queue_ns as f64 / seen.wall_ns.max(1) as f64 / threads;
        self.process.tell(&["close"]).and_then(|()| self.process.flush()).map_err(|why| self.fail(why))?;
        self.hear_until("closed", SILENCE_MAX, &mut |_| {})?;
        self.shims.give_back(self.key, self.process);
        Ok(super::block(&seen, (busy, waited), Vec::new(), &load.mode))
    }
}

fn tell_work(process: &mut Process, spec: &Spec<'_>, real: &Real) -> Result<(), String> {
    let Options { address, user, password, database, tls, compress, .. } = spec.options;
    let Address::Tcp { host, port } = address else {
        return Err("real drivers connect by TCP; give the server's port and not its socket".to_owned());
    };
    let password = std::str::from_utf8(password).map_err(|_| "a password that is no UTF-8".to_owned())?;
    if spec.work.op.is_mix() {
        return Err("real drivers run all statements of an operation; this scenario's have shares".to_owned());
    }
    let on_off = |is_on| if is_on { "on" } else { "off" };
    let op = &spec.work.op;
    let mode = match op.protocol {
        Protocol::Auto => "auto",
        Protocol::Text => "text",
        Protocol::Prepared => "prepared",
    };
    for (name, value) in [
        ("host", host.as_str()),
        ("port", &port.to_string()),
        ("user", user),
        ("password", password),
        ("database", database.as_deref().unwrap_or_default()),
        ("mode", mode),
        ("tls", on_off(!matches!(tls, Tls::Off))),
        ("compression", on_off(*compress)),
        ("connections", &spec.work.load.connections.to_string()),
        ("transaction", if op.transaction { "1" } else { "0" }),
    ] {
        process.tell(&[name, value])?;
    }
    for (name, value) in real.properties {
        process.tell(&["property", name, value])?;
    }
    for sql in spec.work.session.iter().chain(spec.session) {
        process.tell(&["session", sql])?;
    }
    for statement in &op.statements {
        let parameters = statement.placeholders.len().to_string();
        let repeat = statement.repeat.to_string();
        match &statement.batch {
            None => process.tell(&["statement", &repeat, &parameters, &statement.sql])?,
            // Others' programs have no batches, or make something else of them that was not recorded.
            Some(_) if !real.has_batches() => {
                return Err("its shim cannot do batches".to_owned());
            }
            Some(batch) => {
                let rows = batch.rows.to_string();
                process.tell(&["statement", &repeat, &parameters, &statement.sql, &rows])?;
            }
        }
    }
    let has_parameters = op.statements.iter().any(|statement| !statement.placeholders.is_empty());
    if has_parameters {
        let share = POOL_BYTES / spec.work.load.connections.max(1) as usize;
        for connection in 0..u64::from(spec.work.load.connections) {
            // As our own client: the same block number gives the same parameters.
            let mut source = Source::new(spec.seed, (spec.block << 20) + connection);
            let mut bytes = 0;
            for _ in 0..POOL_OPERATIONS {
                let values = values(op, &mut source);
                bytes += values.iter().map(String::len).sum::<usize>();
                let mut line = vec!["values".to_owned(), connection.to_string()];
                line.extend(values);
                let line: Vec<&str> = line.iter().map(String::as_str).collect();
                process.tell(&line)?;
                if bytes > share {
                    break;
                }
            }
        }
    }
    process.tell(&["open"])?;
    process.flush()
}

/// Parameters of one operation in the protocol's form.
fn values(op: &Op, source: &mut Source) -> Vec<String> {
    let mut values = Vec::new();
    // Numbers after a serial one are sent as their distance from it.
    let mut serial = None;
    for statement in &op.statements {
        let rows = statement.batch.as_ref().map_or(1, |batch| batch.rows);
        for _ in 0..u64::from(statement.repeat) * u64::from(rows) {
            for (_, fill) in statement.placeholders.iter().zip(statement.params.iter().cycle()) {
                let text = match source.next(fill, || 0) {
                    Value::Null => "n".to_owned(),
                    Value::Int(value) => match (&fill.kind, serial) {
                        (FillKind::Serial(_), _) => {
                            serial = Some(value);
                            format!("#{value}")
                        }
                        (FillKind::PreviousPlus(_), Some(start)) => format!("+{}", value.wrapping_sub(start)),
                        (FillKind::PreviousPlus(_), None) => format!("i{value}"),
                        _ => {
                            serial = None;
                            format!("i{value}")
                        }
                    },
                    Value::Bare(text) => format!("d{}", String::from_utf8_lossy(text)),
                    Value::Text(text) => format!("s{}", String::from_utf8_lossy(text)),
                };
                values.push(text);
            }
        }
    }
    values
}

fn read_line(fields: &[String], seen: &mut Seen, serials: &mut u64) {
    let number =
        |place: usize| fields.get(place).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    let value = number(1);
    match fields[0].as_str() {
        "operations" => seen.operations = value,
        "statements" => seen.counts.statements = value,
        "rows" => seen.counts.rows = value,
        "serials" => *serials = value,
        "wall_ns" => seen.wall_ns = value,
        "arrivals" => seen.arrivals = value,
        "skips" => seen.skips = value,
        "busiest_ns" => seen.busiest_ns = value,
        "service" => seen.service.record_many(value, number(2)),
        "latency" => seen.latency.record_many(value, number(2)),
        "lag" => seen.lag.record_many(value, number(2)),
        "error" => {
            let code = u16::try_from(value).unwrap_or(u16::MAX);
            *seen.counts.errors.entry(code).or_default() += number(2);
            let text = fields.get(3).cloned().unwrap_or_default();
            seen.counts.error_texts.entry(code).or_insert(text);
        }
        _ => {}
    }
}
