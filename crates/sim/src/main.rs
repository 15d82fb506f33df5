//! Runs stories of the simulation.
//!
//! ```text
//! sim [--workload crash|append|bank|locks|flips|waits|full|all] [--seeds N] [--start S] [--threads T] [--rounds R] [--steps N]
//!     [--skip-syncs PER_THOUSAND] [--forget-ranges 1] [--trace 1]
//! sim --locks 1                              the same as --workload locks
//! sim --plant NAME|all [--seeds N]          with the feature planted-bugs: at which seed each planted bug is caught
//! ```
//! Prints each seed that fails, what went wrong and the command that repeats it, and at the end what was gone through. Exit
//! code 1 if any failed, or if a planted bug was not caught; 3 if a story does not end.

use sim::crash::{Plot, Tally};
use sim::locks::LockTally;
use sim::{append, bank, crash, flips, full, locks, waits};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

const USAGE: &str = "usage: sim [--workload crash|append|bank|locks|flips|waits|full|all] [--seeds N] [--start S] [--threads T] [--rounds R] [--steps N] \
                     [--skip-syncs PER_THOUSAND] [--locks 1] [--forget-ranges 1] [--trace 1] [--plant NAME|all]";
/// So many failures are told; then the rest is only counted.
const TOLD_MAX: usize = 20;
/// A story that takes longer does not end: each takes some milliseconds.
const STORY_MAX: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Workload {
    Crash,
    Append,
    Bank,
    Locks,
    Flips,
    Waits,
    Full,
}

impl Workload {
    const ALL: [Workload; 7] = [
        Workload::Crash,
        Workload::Append,
        Workload::Bank,
        Workload::Locks,
        Workload::Flips,
        Workload::Waits,
        Workload::Full,
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
        }
    }
}

/// What was gone through, of each workload.
#[derive(Default)]
struct Totals {
    crash: Tally,
    append: append::Tally,
    bank: bank::Tally,
    locks: LockTally,
    flips: flips::Tally,
    waits: waits::Tally,
    full: full::Tally,
    failed: Vec<String>,
}

struct Arguments {
    workloads: Vec<Workload>,
    seeds: u64,
    start: u64,
    threads: usize,
    plot: Plot,
    /// Transactions take no range locks: a bug that the stories of locks have to catch.
    forget_ranges: bool,
    plant: Option<String>,
}

fn arguments() -> Option<Arguments> {
    let mut given = Arguments {
        workloads: vec![Workload::Crash],
        seeds: 10_000,
        start: 0,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        plot: Plot::default(),
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
            "--rounds" => given.plot.rounds = value.parse().ok()?,
            "--steps" => given.plot.steps_max = value.parse().ok()?,
            "--trace" => given.plot.trace = value.parse::<u64>().ok()? > 0,
            "--skip-syncs" => given.plot.skipped_syncs_per_thousand = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(given)
}

/// One story; what it went through is added to the totals.
fn story(
    workload: Workload,
    seed: u64,
    plot: Plot,
    forget_ranges: bool,
    totals: &Mutex<Totals>,
) -> Result<(), String> {
    let locked = || totals.lock().expect("stories do not panic while they are counted");
    let outcome = std::panic::catch_unwind(|| match workload {
        Workload::Crash => crash::run(seed, plot).map(|tally| locked().crash.add(&tally)),
        Workload::Append => append::run(seed).map(|tally| locked().append.add(&tally)),
        Workload::Bank => bank::run(seed).map(|tally| locked().bank.add(&tally)),
        Workload::Flips => flips::run(seed, plot.trace).map(|tally| locked().flips.add(&tally)),
        Workload::Waits => waits::run(seed).map(|tally| locked().waits.add(&tally)),
        Workload::Full => full::run(seed).map(|tally| locked().full.add(&tally)),
        Workload::Locks => locks::run(seed, forget_ranges).map(|tally| {
            let totals = &mut locked().locks;
            totals.commits += tally.commits;
            totals.reads += tally.reads;
            totals.refused += tally.refused;
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

const NO_PANIC: &str = "stories do not panic while they are counted";

/// Ends the process if a story does not end, and says which.
fn watch(
    workload: Workload,
    telling: &[Mutex<Option<(u64, Instant)>>],
    (left, ended): &(Mutex<usize>, Condvar),
) {
    let mut left = left.lock().expect(NO_PANIC);
    while *left > 0 {
        left = ended.wait_timeout(left, STORY_MAX / 10).expect(NO_PANIC).0;
        for told in telling {
            let Some((seed, since)) = *told.lock().expect(NO_PANIC) else { continue };
            if since.elapsed() > STORY_MAX {
                println!("{} seed {seed}: does not end", workload.name());
                std::process::exit(3);
            }
        }
    }
}

/// True if no story failed.
fn run(workload: Workload, given: &Arguments) -> bool {
    let began = Instant::now();
    let next = AtomicU64::new(given.start);
    let totals = Mutex::new(Totals::default());
    // What each thread tells just now, and since when.
    let telling: Vec<Mutex<Option<(u64, Instant)>>> = (0..given.threads).map(|_| Mutex::default()).collect();
    let left = (Mutex::new(given.threads), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| watch(workload, &telling, &left));
        for told in &telling {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let is_last = seed >= given.start + given.seeds;
                    *told.lock().expect(NO_PANIC) = (!is_last).then(|| (seed, Instant::now()));
                    if is_last {
                        *left.0.lock().expect(NO_PANIC) -= 1;
                        left.1.notify_one();
                        return;
                    }
                    if let Err(what) = story(workload, seed, given.plot, given.forget_ranges, &totals) {
                        let again = format!("sim --workload {} --start {seed} --seeds 1", workload.name());
                        let mut totals = totals.lock().expect("stories do not panic while they are counted");
                        totals.failed.push(format!("{what}\n    again: {again}"));
                    }
                }
            });
        }
    });
    let mut totals = totals.into_inner().expect("stories do not panic while they are counted");
    totals.failed.sort();
    for what in totals.failed.iter().take(TOLD_MAX) {
        println!("{what}");
    }
    println!(
        "{}: {} stories from seed {} in {:.1} s: {} failed",
        workload.name(),
        given.seeds,
        given.start,
        began.elapsed().as_secs_f64(),
        totals.failed.len(),
    );
    match workload {
        Workload::Crash => {
            let tally = totals.crash;
            println!(
                "{} crashes, {} clean ends, {} commits, {} acknowledged rounds, {} rollbacks, {} lock conflicts, \
                 {} checkpoints, {} reads compared, {:.1} states possible per crash\n\
                 undo went to its file in {} stories: {} segments, {} blocks read back, {} versions merged, {} parts of transactions, \
                 {} refused for going back too far\n\
                 the disk was full {} times: {} statements refused, {} checkpoints given up; {} large trees made",
                tally.crashes,
                tally.closes,
                tally.commits,
                tally.durable,
                tally.rollbacks,
                tally.conflicts,
                tally.checkpoints,
                tally.reads,
                tally.candidates as f64 / tally.crashes.max(1) as f64,
                tally.filed_stories,
                tally.segments_filed,
                tally.undo_blocks_read,
                tally.versions_merged,
                tally.log_parts,
                tally.too_long,
                tally.fillings,
                tally.refused,
                tally.given_up,
                tally.filled,
            );
        }
        Workload::Append => {
            let tally = totals.append;
            println!(
                "{} commits, {} edges, {} circles that the levels allow",
                tally.commits, tally.edges, tally.allowed
            );
        }
        Workload::Flips => {
            let tally = totals.flips;
            println!(
                "{} crashes and ends, {} commits, {} trees compared, {} bits flipped, of which {} stayed until they were turned back\n\
                 {} reads and writes failed, {} stops, {} openings refused, {} damages named by the check of the files, {} trees \
                 unreadable beside others, {} openings unhurt, {} last flushes of the log taken for torn",
                tally.crashes,
                tally.commits,
                tally.reads,
                tally.flips,
                tally.mended,
                tally.failures,
                tally.stops,
                tally.refused,
                tally.named,
                tally.unreadable,
                tally.unhurt,
                tally.lost_tails,
            );
        }
        Workload::Full => {
            let tally = totals.full;
            println!(
                "{} crashes, of which {} amid recovery, {} commits, {} of them large, {} large ones with a checkpoint amid; \
                 {} refused for want of room",
                tally.crashes,
                tally.amid_recovery,
                tally.commits,
                tally.large,
                tally.checkpointed,
                tally.refused
            );
        }
        Workload::Waits => {
            let tally = totals.waits;
            println!(
                "{} crashes, {} commits, {} reads checked, {} waits: {} ended as victims of deadlocks, {} out of patience, {} killed; \
                 {} circles that the levels allow",
                tally.crashes,
                tally.commits,
                tally.reads,
                tally.waits,
                tally.deadlocks,
                tally.timeouts,
                tally.kills,
                tally.allowed,
            );
        }
        Workload::Locks => {
            let tally = totals.locks;
            println!(
                "{} commits, {} reads repeated, {} locks refused",
                tally.commits, tally.reads, tally.refused
            );
        }
        Workload::Bank => {
            let tally = totals.bank;
            println!(
                "{} crashes, {} commits, {} changes of definitions, {} snapshots compared",
                tally.crashes, tally.commits, tally.definitions, tally.snapshots
            );
        }
    }
    totals.failed.is_empty()
}

#[cfg(feature = "planted-bugs")]
mod plants {
    use std::process::{Command, ExitCode};
    use std::time::Instant;
    use store::planted;

    /// Plants bugs and says at which seed each was caught. Of several each has a process of its own: a broken invariant ends it
    /// where pages may be half changed.
    pub(super) fn find(name: &str, seeds: u64) -> ExitCode {
        if name == "all" {
            let Ok(program) = std::env::current_exe() else { return ExitCode::from(2) };
            let mut missed = false;
            for (name, _) in planted::ALL {
                let status =
                    Command::new(&program).args(["--plant", name, "--seeds", &seeds.to_string()]).status();
                match status.map(|status| status.code()) {
                    Ok(Some(code)) => missed |= code != 0,
                    Ok(None) => println!("{name:18} ended the process: see above"),
                    Err(error) => {
                        eprintln!("{name}: {error}");
                        missed = true;
                    }
                }
            }
            return if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
        let began = Instant::now();
        match sim::plants::first_seed(name, seeds) {
            Some(Ok(caught)) => {
                let seconds = began.elapsed().as_secs_f64();
                let sim::plants::Caught { workload, seed, what } = caught;
                println!("{name:18} caught by {workload:6} at seed {seed:5} after {seconds:6.1} s: {what}");
                ExitCode::SUCCESS
            }
            Some(Err(workloads)) => {
                println!("{name:18} not caught by {workloads} in {seeds} seeds each");
                ExitCode::FAILURE
            }
            None => {
                let names: Vec<_> = planted::ALL.iter().map(|plant| plant.0).collect();
                eprintln!("no plant '{name}'; there are {}", names.join(", "));
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
