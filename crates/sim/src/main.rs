//! Runs stories of the simulation.
//!
//! ```text
//! sim [--workload crash|append|bank|locks|all] [--seeds N] [--start S] [--threads T] [--rounds R] [--steps N]
//!     [--skip-syncs PER_THOUSAND] [--forget-ranges 1] [--trace 1]
//! sim --locks 1                              the same as --workload locks
//! sim --plant NAME|all [--seeds N]          with the feature planted-bugs: at which seed each planted bug is caught
//! ```
//! Prints each seed that fails, what went wrong and the command that repeats it, and at the end what was gone through. Exit
//! code 1 if any failed, or if a planted bug was not caught.

use sim::crash::{Plot, Tally};
use sim::locks::LockTally;
use sim::{append, bank, crash, locks};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const USAGE: &str = "usage: sim [--workload crash|append|bank|locks|all] [--seeds N] [--start S] [--threads T] [--rounds R] [--steps N] \
                     [--skip-syncs PER_THOUSAND] [--locks 1] [--forget-ranges 1] [--trace 1] [--plant NAME|all]";
/// So many failures are told; then the rest is only counted.
const TOLD_MAX: usize = 20;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Workload {
    Crash,
    Append,
    Bank,
    Locks,
}

impl Workload {
    const ALL: [Workload; 4] = [Workload::Crash, Workload::Append, Workload::Bank, Workload::Locks];

    fn name(self) -> &'static str {
        match self {
            Workload::Crash => "crash",
            Workload::Append => "append",
            Workload::Bank => "bank",
            Workload::Locks => "locks",
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
        return plants::find(plant, given.seeds, given.plot);
    }
    let mut failed = false;
    for &workload in &given.workloads {
        failed |= !run(workload, &given);
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// True if no story failed.
fn run(workload: Workload, given: &Arguments) -> bool {
    let began = Instant::now();
    let next = AtomicU64::new(given.start);
    let totals = Mutex::new(Totals::default());
    std::thread::scope(|scope| {
        for _ in 0..given.threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= given.start + given.seeds {
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
                 the disk was full {} times: {} statements refused, {} checkpoints given up",
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
            );
        }
        Workload::Append => {
            let tally = totals.append;
            println!(
                "{} commits, {} edges, {} circles that the levels allow",
                tally.commits, tally.edges, tally.allowed
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
    use super::{Plot, Totals, Workload, story};
    use std::process::ExitCode;
    use std::sync::Mutex;
    use std::time::Instant;
    use store::planted;

    /// Plants bugs, one after the other, and says at which seed each was caught.
    pub(super) fn find(name: &str, seeds: u64, plot: Plot) -> ExitCode {
        let chosen: Vec<_> =
            planted::ALL.into_iter().filter(|plant| name == "all" || plant.0 == name).collect();
        if chosen.is_empty() {
            let names: Vec<_> = planted::ALL.iter().map(|plant| plant.0).collect();
            eprintln!("no plant '{name}'; there are {}", names.join(", "));
            return ExitCode::from(2);
        }
        let mut missed = false;
        for (name, plant) in chosen {
            planted::plant(Some(plant));
            let caught = Workload::ALL.into_iter().any(|workload| until_caught(name, workload, seeds, plot));
            missed |= !caught;
        }
        planted::plant(None);
        if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    fn until_caught(name: &'static str, workload: Workload, seeds: u64, plot: Plot) -> bool {
        let totals = Mutex::new(Totals::default());
        let began = Instant::now();
        for seed in 0..seeds {
            // A broken invariant ends the process where pages may be half changed: say first where it was.
            std::panic::set_hook(Box::new(move |panic| {
                eprintln!("{name}: {} seed {seed} panics: {panic}", workload.name());
            }));
            let outcome = story(workload, seed, plot, false, &totals);
            let _ours = std::panic::take_hook();
            if let Err(what) = outcome {
                let seconds = began.elapsed().as_secs_f64();
                println!(
                    "{name:18} caught by {:6} at seed {seed:5} after {seconds:6.1} s: {what}",
                    workload.name()
                );
                return true;
            }
        }
        println!("{name:18} not caught by {} in {seeds} seeds", workload.name());
        false
    }
}

#[cfg(not(feature = "planted-bugs"))]
mod plants {
    use super::Plot;
    use std::process::ExitCode;

    pub(super) fn find(_name: &str, _seeds: u64, _plot: Plot) -> ExitCode {
        eprintln!("built without planted bugs: cargo run -p sim --features planted-bugs -- --plant all");
        ExitCode::from(2)
    }
}
