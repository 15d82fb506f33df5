//! The load driver: many connections a thread on our own protocol code, in a closed loop for throughput and cost or in an open
//! loop for latency.
//!
//! In an open loop the schedule is made before the first operation ([`schedule`]). Latency is counted from the *intended*
//! start, so a server that stalls is charged for all operations that had to wait (G. Tene, "How NOT to Measure Latency"); service time
//! is counted from sending. Arrivals beyond `max_in_flight` are skipped and counted.
//!
//! The client watches itself: the CPU of its threads and how late it noticed an arrival. A client that could not keep up
//! makes a block invalid ([`judge`]), never a server slow.
//!
//! Read next: [`crate::drivers`] (what drivers send), [`shim`] (real drivers), [`fidelity`] (whether the first are like the
//! second), `plan` (an operation as commands), `connection` (one connection), `driver` (one thread).

mod carrier;
mod connection;
mod driver;
pub mod fidelity;
#[cfg(test)]
mod golden;
pub mod histogram;
mod plan;
pub mod schedule;
pub mod shim;

use std::fmt;
use std::sync::Barrier;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use client::{Connection, Error, Options};

use crate::data::fill::Source;
use crate::drivers::profile::{Batches, Prepare};
use crate::drivers::{Protocol, Sender};
use crate::evidence::Block;
use crate::host::cores;
use crate::load::connection::{LoadConnection, OperationCounts, RowHash};
use crate::load::driver::{Driver, Seen, Task};
use crate::load::plan::Plan;
use crate::load::shim::{RealFleet, Shims};
use crate::scenario::{Mode, Work};

/// A server that sends nothing for so long while an answer is due is taken for dead.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(120);
/// A client thread that was on a core for this share of the time could not have sent more.
const CLIENT_BUSY_MAX: f64 = 0.9;
/// Arrivals skipped, of all: more and the load was not the one asked for.
const SKIPPED_SHARE_MAX: f64 = 0.001;
/// An arrival noticed later than this is late: a scheduler's time slice.
const LAG_NS_MAX: u64 = 5_000_000;
/// Or later than this share of what an operation takes.
const LAG_SHARE_MAX: f64 = 0.2;
/// Operations whose rows are compared between arms.
const HASHED_OPERATIONS: u32 = 32;

/// Why a load could not be run to its end.
#[derive(Debug)]
pub enum LoadError {
    /// A connection could not be made.
    Connect(Error),
    /// SQL that had to succeed did not.
    Statement {
        /// Its beginning.
        sql: String,
        /// Why.
        error: Error,
    },
    /// The server went away.
    Lost(String),
    /// The server is there and says nothing.
    Silent,
    /// This machine refused something.
    Local(String),
    /// A real driver cannot do this, or its toolchain is missing.
    Driver {
        /// Its name.
        driver: &'static str,
        /// In words.
        why: String,
    },
}

impl LoadError {
    #[cold]
    pub(crate) fn lost(why: &str) -> LoadError {
        LoadError::Lost(why.to_owned())
    }

    #[cold]
    pub(crate) fn statement(sql: &[u8], error: Error) -> LoadError {
        /// Of a statement that failed this much is shown.
        const SHOWN_BYTES: usize = 80;
        let sql = String::from_utf8_lossy(&sql[..sql.len().min(SHOWN_BYTES)]).into_owned();
        LoadError::Statement { sql, error }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Connect(error) => write!(f, "cannot connect: {error}"),
            LoadError::Statement { sql, error } => write!(f, "{error} (in: {sql})"),
            LoadError::Lost(why) => write!(f, "the connection was lost while measuring: {why}"),
            LoadError::Silent => {
                write!(f, "the server did not answer within {} s", SILENCE_MAX.as_secs())
            }
            LoadError::Local(why) => f.write_str(why),
            LoadError::Driver { driver, why } => write!(f, "driver {driver}: {why}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// A moment of a block that others measure by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Moment {
    /// All is connected and warm; nothing is in flight.
    Begins,
    /// The last operation is done.
    Ended,
}

/// What one block does.
#[derive(Debug)]
pub struct Spec<'a> {
    /// Where; the database too.
    pub options: &'a Options,
    /// What.
    pub work: &'a Work,
    /// As which driver, or by which.
    pub sender: Sender,
    /// Real drivers' processes.
    pub shims: &'a Shims,
    /// More SQL on every connection, such as the arm's session variables.
    pub session: &'a [String],
    /// Seed of the parameters.
    pub seed: u64,
    /// Which block: the same number gives the same parameters.
    pub block: u64,
    /// Numbers for `serial` parameters, kept for a data set as long as it lives.
    pub serial: &'a AtomicU64,
    /// Hash the rows of the first operations.
    pub with_row_hash: bool,
    /// The core that the client keeps to, if it is to leave the others to the server.
    pub client_core: Option<usize>,
}

/// Connections opened for one block.
#[derive(Debug)]
pub struct Fleet<'a> {
    spec: Spec<'a>,
    hands: Hands<'a>,
    idle: Vec<Connection>,
}

/// Who holds the connections.
#[derive(Debug)]
enum Hands<'a> {
    Native { plan: Plan, connections: Vec<LoadConnection> },
    Real(RealFleet<'a>),
}

impl<'a> Fleet<'a> {
    /// Opens all connections, idle ones first, and prepares what is prepared once.
    ///
    /// # Errors
    /// A connection or one of its first statements failed.
    pub fn open(spec: Spec<'a>) -> Result<Fleet<'a>, LoadError> {
        let load = &spec.work.load;
        raise_descriptor_limit();
        let mut idle = Vec::new();
        for _ in 0..load.idle_connections {
            let mut connection = Connection::connect(spec.options).map_err(LoadError::Connect)?;
            if let Some(sql) = &load.idle_statement {
                run(&mut connection, sql)?;
            }
            idle.push(connection);
        }
        let profile = match spec.sender {
            Sender::Like(profile) => profile,
            Sender::Real(real) => {
                let hands = Hands::Real(RealFleet::open(&spec, real)?);
                return Ok(Fleet { spec, hands, idle });
            }
        };
        if spec.work.op.protocol == Protocol::Prepared && profile.prepare == Prepare::Never {
            let why = "it cannot prepare statements at the server".to_owned();
            return Err(LoadError::Driver { driver: profile.name, why });
        }
        let has_batch = spec.work.op.statements.iter().any(|statement| statement.batch.is_some());
        if has_batch && profile.batches == Batches::Unknown {
            let why = "what it makes of a batch was not recorded".to_owned();
            return Err(LoadError::Driver { driver: profile.name, why });
        }
        let mut plan = Plan::new(&spec.work.op, profile);
        let mut options = spec.options.clone();
        profile.put_login(&mut options);
        let mut connections = Vec::new();
        for index in 0..u64::from(load.connections) {
            let mut connection = Connection::connect(&options).map_err(LoadError::Connect)?;
            if index == 0 {
                plan.fit(connection.server_version());
            }
            for sql in profile.connect(connection.server_version()) {
                run(&mut connection, &sql)?;
            }
            for sql in spec.work.session.iter().chain(spec.session) {
                run(&mut connection, sql)?;
            }
            let source = Source::new(spec.seed, (spec.block << 20) + index);
            connections.push(LoadConnection::new(connection, &plan, source)?);
        }
        if spec.with_row_hash
            && let Some(first) = connections.first_mut()
        {
            first.row_hash = Some(RowHash::new(HASHED_OPERATIONS));
        }
        Ok(Fleet { spec, hands: Hands::Native { plan, connections }, idle })
    }

    /// Warms up, then runs the block; `at` is called right before and right after what is measured.
    ///
    /// # Errors
    /// The server went away or said nothing.
    pub fn run(self, at: &mut dyn FnMut(Moment)) -> Result<Block, LoadError> {
        let load = &self.spec.work.load;
        let (plan, connections) = match self.hands {
            Hands::Native { plan, connections } => (plan, connections),
            Hands::Real(fleet) => return fleet.run(&self.spec, at),
        };
        let threads = match load.mode {
            // Each waits for its own answer and its own time.
            Mode::Paced { .. } => connections.len().max(1),
            _ => usize::try_from(load.threads).unwrap_or(1).clamp(1, connections.len().max(1)),
        };
        let mut shares: Vec<Vec<LoadConnection>> = (0..threads).map(|_| Vec::new()).collect();
        for (index, connection) in connections.into_iter().enumerate() {
            shares[index % threads].push(connection);
        }
        let warm = Barrier::new(threads + 1);
        let begin = Barrier::new(threads + 1);
        let end = Barrier::new(threads + 1);
        let (plan, spec) = (&plan, &self.spec);
        let results: Vec<Result<(Seen, RowHashes), LoadError>> = std::thread::scope(|scope| {
            let handles: Vec<_> = shares
                .into_iter()
                .enumerate()
                .map(|(thread, connections)| {
                    let barriers = (&warm, &begin, &end);
                    let count = connections.len();
                    let driver = Driver { connections, plan, serial: spec.serial };
                    let tasks = (warm_up(load, count), task(load, thread, threads, spec.seed ^ spec.block));
                    let core = spec.client_core;
                    scope.spawn(move || run_thread(driver, tasks, barriers, core))
                })
                .collect();
            warm.wait();
            at(Moment::Begins);
            begin.wait();
            end.wait();
            at(Moment::Ended);
            handles
                .into_iter()
                .map(|handle| {
                    handle.join().unwrap_or_else(|_| Err(LoadError::Local("a client thread panicked".into())))
                })
                .collect()
        });
        drop(self.idle);
        let mut total = Seen::default();
        let mut busiest: f64 = 0.0;
        let mut waited: f64 = 0.0;
        let mut hashes = RowHashes::new();
        for result in results {
            let (seen, row_hashes) = result?;
            let share = |ns: u64| ns as f64 / seen.wall_ns.max(1) as f64;
            busiest = busiest.max(share(seen.cpu_ns));
            waited = waited.max(share(seen.run_queue_ns));
            hashes.extend(row_hashes);
            add(&mut total, seen);
        }
        Ok(block(&total, (busiest, waited), hashes, &load.mode))
    }
}

fn run(connection: &mut Connection, sql: &str) -> Result<(), LoadError> {
    connection.run(sql.as_bytes()).map(|_| ()).map_err(|error| LoadError::statement(sql.as_bytes(), error))
}

/// Numbers of operations, each with the hash over the rows of that number of operations.
type RowHashes = Vec<(u32, u64)>;
type Barriers<'b> = (&'b Barrier, &'b Barrier, &'b Barrier);

/// A thread must pass every barrier whatever happens, or the others wait for ever.
fn run_thread(
    mut driver: Driver<'_>,
    (warm_up, measured): (Task, Task),
    (warm, begin, end): Barriers<'_>,
    core: Option<usize>,
) -> Result<(Seen, RowHashes), LoadError> {
    let kept = core.map_or(Ok(()), |core| {
        cores::keep_this_thread_to(core).map_err(|error| LoadError::Local(format!("core {core}: {error}")))
    });
    let warmed = if warm_up.operations_max > 0 { driver.run(warm_up).map(|_| ()) } else { Ok(()) };
    let warmed = kept.and(warmed);
    warm.wait();
    begin.wait();
    let seen = warmed.and_then(|()| driver.run(measured));
    end.wait();
    let hash = driver.connections.first().and_then(|first| first.row_hash.as_ref());
    Ok((seen?, hash.map_or_else(RowHashes::new, |hash| hash.by_operations().to_vec())))
}

fn warm_up(load: &crate::scenario::Load, connections: usize) -> Task {
    Task {
        mode: Mode::Closed,
        duration: SILENCE_MAX,
        operations_max: load.warmup_operations.saturating_mul(connections as u64),
        seed: 0,
    }
}

/// What thread number `thread` of `threads` does of the block.
fn task(load: &crate::scenario::Load, thread: usize, threads: usize, seed: u64) -> Task {
    let (thread, threads) = (thread as u64, threads as u64);
    let mode = match load.mode {
        mode @ (Mode::Closed | Mode::Paced { .. }) => mode,
        Mode::Open { rate_per_s, arrivals, in_flight_max } => Mode::Open {
            rate_per_s: rate_per_s / threads as f64,
            arrivals,
            in_flight_max: (in_flight_max / threads as u32).max(1),
        },
    };
    let operations_max =
        load.block_operations.map_or(u64::MAX, |count| count / threads + u64::from(thread < count % threads));
    Task {
        mode,
        duration: Duration::from_millis(load.block_ms),
        operations_max,
        seed: seed.wrapping_mul(31).wrapping_add(thread),
    }
}

fn add(total: &mut Seen, seen: Seen) {
    let Seen {
        operations,
        latency,
        by_second,
        service,
        lag,
        arrivals,
        skips,
        counts,
        cpu_ns,
        run_queue_ns,
        wall_ns,
        ..
    } = seen;
    total.operations += operations;
    total.latency.add(&latency);
    total.by_second.add(&by_second);
    total.service.add(&service);
    total.lag.add(&lag);
    total.arrivals += arrivals;
    total.skips += skips;
    total.counts.add(counts);
    total.cpu_ns += cpu_ns;
    total.run_queue_ns += run_queue_ns;
    total.wall_ns = total.wall_ns.max(wall_ns);
}

fn block(total: &Seen, (busiest, waited): (f64, f64), hashes: RowHashes, mode: &Mode) -> Block {
    let OperationCounts { statements, rows, bytes_up, bytes_down, errors, error_texts } =
        total.counts.clone();
    let per_op = |amount: u64| amount as f64 / total.operations.max(1) as f64;
    let service = total.service.summary();
    let lag_p99_ns = total.lag.quantile_ns(0.99);
    let failed: u64 = errors.values().sum();
    let mut invalid = judge(&Client {
        busy: busiest,
        waited,
        lag_p99_ns,
        service_p50_ns: service.p50_ns,
        arrivals: total.arrivals,
        skips: total.skips,
        is_open: matches!(mode, Mode::Open { .. }),
    });
    if total.operations == 0 {
        invalid = Some(match error_texts.values().next() {
            Some(text) => format!("no operation succeeded: {text}"),
            None => "no operation ended within the block".to_owned(),
        });
    } else if failed > total.operations {
        invalid = Some(format!("{failed} operations failed and only {} succeeded", total.operations));
    }
    Block {
        duration_ns: total.wall_ns,
        operations: total.operations,
        statements,
        qps: total.operations as f64 * 1e9 / total.wall_ns.max(1) as f64,
        latency: total.latency.summary(),
        latency_p99_by_second_ns: total.by_second.p99_ns(),
        service,
        client_cpu_ns_per_op: per_op(total.cpu_ns),
        client_busy: busiest,
        lag_p99_ns,
        skips: total.skips,
        interval_ns: if let Mode::Paced { interval_ns } = mode { *interval_ns } else { 0 },
        bytes_up_per_op: per_op(bytes_up),
        bytes_down_per_op: per_op(bytes_down),
        rows_per_op: per_op(rows),
        errors,
        error_texts,
        invalid,
        result_hashes: hashes
            .into_iter()
            .map(|(operations, hash)| (u64::from(operations), format!("{hash:016x}")))
            .collect(),
        ..Block::default()
    }
}

/// How the client itself fared.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// CPU of its busiest thread over wall time.
    pub busy: f64,
    /// Of wall time, how long a thread was ready to run and had no core.
    pub waited: f64,
    /// How late arrivals were noticed, 99th percentile.
    pub lag_p99_ns: u64,
    /// What an operation took, median.
    pub service_p50_ns: u64,
    /// Arrivals of an open loop.
    pub arrivals: u64,
    /// Of these given up.
    pub skips: u64,
    /// An open loop.
    pub is_open: bool,
}

/// Why a block says more about the client than about the server, if it does.
#[must_use]
pub fn judge(client: &Client) -> Option<String> {
    if client.busy > CLIENT_BUSY_MAX {
        return Some(format!(
            "the client was saturated: its busiest thread used {:.0} % of a core; use more threads or less load",
            client.busy * 100.0
        ));
    }
    if !client.is_open {
        return None;
    }
    // Latency is what an open loop is for; CPU of the server, which a closed loop is for, does not mind a client that waits.
    if client.busy + client.waited > CLIENT_BUSY_MAX {
        return Some(format!(
            "the client was saturated: its busiest thread used {:.0} % of a core and waited {:.0} % of the time for one",
            client.busy * 100.0,
            client.waited * 100.0
        ));
    }
    if client.skips as f64 > client.arrivals as f64 * SKIPPED_SHARE_MAX {
        return Some(format!(
            "{} of {} arrivals were skipped because too many were in flight; lower the rate or raise max_in_flight",
            client.skips, client.arrivals
        ));
    }
    let lag_max = LAG_NS_MAX.max((client.service_p50_ns as f64 * LAG_SHARE_MAX) as u64);
    (client.lag_p99_ns > lag_max).then(|| {
        format!(
            "the client was late: 1 % of arrivals were noticed {:.1} ms after their time or later",
            client.lag_p99_ns as f64 / 1e6
        )
    })
}

/// Lets this process open as many files as it may: each connection is one.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        // If it is refused, connecting fails with a message of its own when the limit is reached.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Arrivals, Load};

    #[test]
    fn a_saturated_or_late_client_makes_a_block_invalid() {
        let good = Client {
            busy: 0.5,
            waited: 0.2,
            lag_p99_ns: 1_000_000,
            service_p50_ns: 100_000,
            arrivals: 10_000,
            skips: 10,
            is_open: true,
        };
        assert_eq!(judge(&good), None);
        assert!(judge(&Client { busy: 0.95, ..good }).unwrap().contains("saturated"));
        assert!(judge(&Client { waited: 0.45, ..good }).unwrap().contains("waited 45 %"));
        assert_eq!(judge(&Client { waited: 0.45, is_open: false, ..good }), None);
        assert!(judge(&Client { skips: 11, ..good }).unwrap().contains("11 of 10000"));
        assert!(judge(&Client { lag_p99_ns: 5_000_001, ..good }).unwrap().contains("late"));
        // What is late for a short operation is not for a long one.
        assert_eq!(judge(&Client { lag_p99_ns: 5_000_001, service_p50_ns: 100_000_000, ..good }), None);
        // A closed loop has no arrivals to be late for.
        assert_eq!(judge(&Client { is_open: false, skips: 99, lag_p99_ns: u64::MAX, ..good }), None);
    }

    #[test]
    fn threads_share_the_work_and_lose_none() {
        let load = Load {
            mode: Mode::Open { rate_per_s: 300.0, arrivals: Arrivals::Constant, in_flight_max: 64 },
            connections: 7,
            threads: 3,
            idle_connections: 0,
            idle_statement: None,
            block_ms: 10,
            block_operations: Some(8),
            warmup_operations: 1,
        };
        let tasks: Vec<Task> = (0..3).map(|thread| task(&load, thread, 3, 1)).collect();
        assert_eq!(tasks.iter().map(|task| task.operations_max).sum::<u64>(), 8);
        assert!(tasks.iter().all(|task| {
            matches!(task.mode, Mode::Open { rate_per_s, in_flight_max: 21, .. } if rate_per_s == 100.0)
        }));
        assert_ne!(tasks[0].seed, tasks[1].seed);
    }

    #[test]
    fn a_block_without_success_is_invalid_and_says_why() {
        let mut seen = Seen::default();
        seen.counts.error(1146, "Table 'x.t' doesn't exist");
        let found = block(&seen, (0.1, 0.0), RowHashes::new(), &Mode::Closed);
        assert!(found.invalid.unwrap().contains("doesn't exist"));
        seen.operations = 1;
        assert_eq!(block(&seen, (0.1, 0.0), RowHashes::new(), &Mode::Closed).invalid, None);
        seen.counts.error(1146, "");
        assert!(
            block(&seen, (0.1, 0.0), RowHashes::new(), &Mode::Closed)
                .invalid
                .unwrap()
                .contains("2 operations failed")
        );
    }
}
