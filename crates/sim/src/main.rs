//! Makes runs of the simulation.
//!
//! ```text
//! sim [--workload crash|append|bank|locks|flips|waits|full|commits|all] [--seeds N] [--start S] [--threads T] [--rounds R] [--steps N]
//!     [--skip-syncs PER_THOUSAND] [--forget-ranges 1] [--trace 1]
//! sim --locks 1                              the same as --workload locks
//! sim --plant NAME|all [--seeds N]          with the feature planted-bugs: at which seed each planted bug is caught
//! ```
//! Prints each seed that fails, what went wrong and the command that repeats it, and at the end what was gone through.
//! Exit code 1 if any failed, or if a planted bug was not caught; 3 if a run does not end.

use sim::crash::{Configuration, Statistics};
use sim::locks::LockStatistics;
use sim::{append, bank, commits, crash, flips, full, locks, waits};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

const USAGE: &str = "usage: sim [--workload crash|append|bank|locks|flips|waits|full|commits|all] [--seeds N] [--start S] [--threads T] [--rounds R] [--steps N] \
                     [--skip-syncs PER_THOUSAND] [--locks 1] [--forget-ranges 1] [--trace 1] [--plant NAME|all]";
/// Failures that are printed; further ones are only counted.
const REPORTED_MAX: usize = 20;
/// A run that takes longer does not end: each takes some milliseconds.
const RUN_TIME_MAX: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Workload {
    Crash,
    Append,
    Bank,
    Locks,
    Flips,
    Waits,
    Full,
    Commits,
}

impl Workload {
    const ALL: [Workload; 8] = [
        Workload::Crash,
        Workload::Append,
        Workload::Bank,
        Workload::Locks,
        Workload::Flips,
        Workload::Waits,
        Workload::Full,
        Workload::Commits,
    ];

    fn name(self) -> &'static str {
        match self {
            Workload::Crash => "crash",
            Workload::Append => "append",
            Workload::Bank => "bank",
            Workload::Locks => "locks",
            Workload::Flips => "flips",
            Workload::Waits => "waits",
            Workload::Full => "full",
            Workload::Commits => "commits",
        }
    }
}

/// What was gone through, of each workload.
#[derive(Default)]
struct Totals {
    crash: Statistics,
    append: append::Statistics,
    bank: bank::Statistics,
    locks: LockStatistics,
    flips: flips::Statistics,
    waits: waits::Statistics,
    full: full::Statistics,
    commits: commits::Statistics,
    failed: Vec<String>,
}

struct Arguments {
    workloads: Vec<Workload>,
    seeds: u64,
    start: u64,
    threads: usize,
    configuration: Configuration,
    /// Transactions take no range locks: a bug that the runs of locks have to catch.
    forget_ranges: bool,
    plant: Option<String>,
}

fn arguments() -> Option<Arguments> {
    let mut given = Arguments {
        workloads: vec![Workload::Crash],
        seeds: 10_000,
        start: 0,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        configuration: Configuration::default(),
        forget_ranges: false,
        plant: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let value = words.next()?;
        match name.as_str() {
            "--workload" if value == "all" => given.workloads = Workload::ALL.to_vec(),
            "--workload" => {
                given.workloads = vec![Workload::ALL.into_iter().find(|workload| workload.name() == value)?];
            }
            "--locks" => given.workloads = vec![Workload::Locks],
            "--forget-ranges" => given.forget_ranges = value.parse::<u64>().ok()? > 0,
            "--plant" => given.plant = Some(value),
            "--seeds" => given.seeds = value.parse().ok()?,
            "--start" => given.start = value.parse().ok()?,
            "--threads" => given.threads = value.parse::<usize>().ok()?.max(1),
            "--rounds" => given.configuration.rounds = value.parse().ok()?,
            "--steps" => given.configuration.steps_max = value.parse().ok()?,
            "--trace" => given.configuration.trace = value.parse::<u64>().ok()? > 0,
            "--skip-syncs" => given.configuration.skipped_syncs_per_thousand = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(given)
}

/// One simulation; what it went through is added to the totals.
fn simulation(
    workload: Workload,
    seed: u64,
    configuration: Configuration,
    forget_ranges: bool,
    totals: &Mutex<Totals>,
) -> Result<(), String> {
    let locked = || totals.lock().expect("runs do not panic while they are counted");
    let outcome = std::panic::catch_unwind(|| match workload {
        Workload::Crash => crash::run(seed, configuration).map(|statistics| locked().crash.add(&statistics)),
        Workload::Append => append::run(seed).map(|statistics| locked().append.add(&statistics)),
        Workload::Bank => bank::run(seed).map(|statistics| locked().bank.add(&statistics)),
        Workload::Flips => {
            flips::run(seed, configuration.trace).map(|statistics| locked().flips.add(&statistics))
        }
        Workload::Waits => waits::run(seed).map(|statistics| locked().waits.add(&statistics)),
        Workload::Full => full::run(seed).map(|statistics| locked().full.add(&statistics)),
        Workload::Commits => commits::run(seed).map(|statistics| locked().commits.add(&statistics)),
        Workload::Locks => locks::run(seed, forget_ranges).map(|statistics| {
            let totals = &mut locked().locks;
            totals.commits += statistics.commits;
            totals.reads += statistics.reads;
            totals.refused += statistics.refused;
        }),
    });
    outcome.unwrap_or_else(|_| Err(format!("seed {seed}: panicked")))
}

fn main() -> ExitCode {
    let Some(given) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if let Some(plant) = &given.plant {
        return plants::find(plant, given.seeds);
    }
    let mut failed = false;
    for &workload in &given.workloads {
        failed |= !run(workload, &given);
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

const NO_PANIC: &str = "runs do not panic while they are counted";

/// Ends the process if a run does not end, and says which.
fn watch(
    workload: Workload,
    all_running: &[Mutex<Option<(u64, Instant)>>],
    (left, ended): &(Mutex<usize>, Condvar),
) {
    let mut left = left.lock().expect(NO_PANIC);
    while *left > 0 {
        left = ended.wait_timeout(left, RUN_TIME_MAX / 10).expect(NO_PANIC).0;
        for running in all_running {
            let Some((seed, since)) = *running.lock().expect(NO_PANIC) else { continue };
            if since.elapsed() > RUN_TIME_MAX {
                println!("{} seed {seed}: does not end", workload.name());
                std::process::exit(3);
            }
        }
    }
}

/// True if no run failed.
fn run(workload: Workload, given: &Arguments) -> bool {
    let began = Instant::now();
    let next = AtomicU64::new(given.start);
    let totals = Mutex::new(Totals::default());
    // The seed that each thread runs now, and since when.
    let all_running: Vec<Mutex<Option<(u64, Instant)>>> =
        (0..given.threads).map(|_| Mutex::default()).collect();
    let left = (Mutex::new(given.threads), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| watch(workload, &all_running, &left));
        for running in &all_running {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let is_last = seed >= given.start + given.seeds;
                    *running.lock().expect(NO_PANIC) = (!is_last).then(|| (seed, Instant::now()));
                    if is_last {
                        *left.0.lock().expect(NO_PANIC) -= 1;
                        left.1.notify_one();
                        return;
                    }
                    if let Err(what) =
                        simulation(workload, seed, given.configuration, given.forget_ranges, &totals)
                    {
                        let again = format!("sim --workload {} --start {seed} --seeds 1", workload.name());
                        let mut totals = totals.lock().expect("runs do not panic while they are counted");
                        totals.failed.push(format!("{what}\n    again: {again}"));
                    }
                }
            });
        }
    });
    let mut totals = totals.into_inner().expect("runs do not panic while they are counted");
    totals.failed.sort();
    for what in totals.failed.iter().take(REPORTED_MAX) {
        println!("{what}");
    }
    println!(
        "{}: {} runs from seed {} in {:.1} s: {} failed",
        workload.name(),
        given.seeds,
        given.start,
        began.elapsed().as_secs_f64(),
        totals.failed.len(),
    );
    match workload {
        Workload::Crash => {
            let statistics = totals.crash;
            println!(
                "{} crashes, {} clean ends, {} commits, {} acknowledged rounds, {} rollbacks, {} lock conflicts, \
                 {} checkpoints, {} reads compared, {:.1} states possible per crash\n\
                 undo went to its file in {} runs: {} segments, {} blocks read back, {} versions merged, {} parts of transactions, \
                 {} refused for going back too far\n\
                 the disk was full {} times: {} statements refused, {} checkpoints given up; {} large trees made",
                statistics.crashes,
                statistics.closes,
                statistics.commits,
                statistics.durable,
                statistics.rollbacks,
                statistics.conflicts,
                statistics.checkpoints,
                statistics.reads,
                statistics.candidates as f64 / statistics.crashes.max(1) as f64,
                statistics.spilled_runs,
                statistics.segments_spilled,
                statistics.undo_blocks_read,
                statistics.versions_merged,
                statistics.log_parts,
                statistics.too_long,
                statistics.fillings,
                statistics.refused,
                statistics.given_up,
                statistics.filled,
            );
        }
        Workload::Append => {
            let statistics = totals.append;
            println!(
                "{} commits, {} edges, {} cycles that the levels allow",
                statistics.commits, statistics.edges, statistics.allowed
            );
        }
        Workload::Flips => {
            let statistics = totals.flips;
            println!(
                "{} crashes and ends, {} commits, {} trees compared, {} bits flipped, of which {} stayed until they were turned back\n\
                 {} reads and writes failed, {} stops, {} openings refused, {} damages named by the check of the files, {} trees \
                 unreadable beside others, {} openings unhurt, {} last flushes of the log taken for torn",
                statistics.crashes,
                statistics.commits,
                statistics.reads,
                statistics.flips,
                statistics.mended,
                statistics.failures,
                statistics.stops,
                statistics.refused,
                statistics.named,
                statistics.unreadable,
                statistics.unhurt,
                statistics.lost_tails,
            );
        }
        Workload::Full => {
            let statistics = totals.full;
            println!(
                "{} crashes, of which {} amid recovery, {} commits, {} of them large, {} large ones with a checkpoint amid; \
                 {} refused for want of space",
                statistics.crashes,
                statistics.amid_recovery,
                statistics.commits,
                statistics.large,
                statistics.checkpointed,
                statistics.refused
            );
        }
        Workload::Commits => {
            let statistics = totals.commits;
            println!(
                "{} transfers: {} answered as committed, {} as rolled back, {} as unknown; {} crashes of servers, {} of front doors, \
                 {} servers set back, {} steps of recovery\n\
                 answers: fenced {}, branch not known {}, decision to commit found {}, to abort {}",
                statistics.transfers,
                statistics.committed,
                statistics.rolled_back,
                statistics.unknown,
                statistics.server_crashes,
                statistics.door_crashes,
                statistics.restores,
                statistics.recovery_steps,
                statistics.fenced,
                statistics.unknown_branches,
                statistics.found[0],
                statistics.found[1],
            );
        }
        Workload::Waits => {
            let statistics = totals.waits;
            println!(
                "{} crashes, {} commits, {} reads checked, {} waits: {} ended as victims of deadlocks, {} timed out, {} killed; \
                 {} cycles that the levels allow",
                statistics.crashes,
                statistics.commits,
                statistics.reads,
                statistics.waits,
                statistics.deadlocks,
                statistics.timeouts,
                statistics.kills,
                statistics.allowed,
            );
        }
        Workload::Locks => {
            let statistics = totals.locks;
            println!(
                "{} commits, {} reads repeated, {} locks refused",
                statistics.commits, statistics.reads, statistics.refused
            );
        }
        Workload::Bank => {
            let statistics = totals.bank;
            println!(
                "{} crashes, {} commits, {} changes of definitions, {} snapshots compared",
                statistics.crashes, statistics.commits, statistics.definitions, statistics.snapshots
            );
        }
    }
    totals.failed.is_empty()
}

#[cfg(feature = "planted-bugs")]
mod plants {
    use std::process::{Command, ExitCode};
    use std::time::Instant;

    /// Plants bugs and says at which seed each was caught. Of several each has a process of its own: a broken invariant ends it
    /// where pages may be half changed.
    pub(super) fn find(name: &str, seeds: u64) -> ExitCode {
        if name == "all" {
            let Ok(program) = std::env::current_exe() else { return ExitCode::from(2) };
            let mut missed = false;
            for name in sim::plants::names() {
                let status =
                    Command::new(&program).args(["--plant", name, "--seeds", &seeds.to_string()]).status();
                match status.map(|status| status.code()) {
                    Ok(Some(code)) => missed |= code != 0,
                    Ok(None) => println!("{name:20} ended the process: see above"),
                    Err(error) => {
                        eprintln!("{name}: {error}");
                        missed = true;
                    }
                }
            }
            return if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
        let names = sim::plants::names();
        let Some(name) = names.iter().copied().find(|known| *known == name) else {
            eprintln!("no plant '{name}'; there are {}", names.join(", "));
            return ExitCode::from(2);
        };
        let began = Instant::now();
        match sim::plants::first_seed(name, seeds) {
            Some(Ok(caught)) => {
                let seconds = began.elapsed().as_secs_f64();
                let sim::plants::Caught { workload, seed, what } = caught;
                println!("{name:20} caught by {workload:7} at seed {seed:5} after {seconds:6.1} s: {what}");
                ExitCode::SUCCESS
            }
            Some(Err(workloads)) => {
                println!("{name:20} not caught by {workloads} in {seeds} seeds each");
                ExitCode::FAILURE
            }
            None => {
                eprintln!("no workload is meant to catch '{name}'");
                ExitCode::from(2)
            }
        }
    }
}

#[cfg(not(feature = "planted-bugs"))]
mod plants {
    use std::process::ExitCode;

    pub(super) fn find(_name: &str, _seeds: u64) -> ExitCode {
        eprintln!("built without planted bugs: cargo run -p sim --features planted-bugs -- --plant all");
        ExitCode::from(2)
    }
}
