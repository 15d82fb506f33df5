//! Runs stories of the crash simulation: `sim --seeds N [--start S] [--threads T] [--skip-syncs PER_THOUSAND] [--trace 1]`.
//!
//! `--locks 1` tells the stories of `sim::locks` instead, `--forget-ranges 1` with a bug that they have to catch.
//!
//! Prints each seed that fails with what went wrong, and at the end what was gone through. Exit code 1 if any failed.

use sim::crash::{Plot, Tally, run};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const USAGE: &str = "usage: sim [--seeds N] [--start S] [--threads T] [--rounds R] [--steps N] [--skip-syncs PER_THOUSAND] [--trace 1] [--locks 1 [--forget-ranges 1]]";
/// So many failures are told; then the rest is only counted.
const TOLD_MAX: usize = 20;

fn main() -> ExitCode {
    let (mut seeds, mut start, mut threads) = (10_000_u64, 0_u64, 0_usize);
    let mut plot = Plot::default();
    let (mut locks, mut forget_ranges) = (false, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let Some(number) = arguments.next().and_then(|text| text.parse::<u64>().ok()) else {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        };
        match name.as_str() {
            "--seeds" => seeds = number,
            "--start" => start = number,
            "--threads" => threads = usize::try_from(number).unwrap_or(1),
            "--rounds" => plot.rounds = u32::try_from(number).unwrap_or(u32::MAX),
            "--steps" => plot.steps_max = u32::try_from(number).unwrap_or(u32::MAX),
            "--locks" => locks = number > 0,
            "--forget-ranges" => forget_ranges = number > 0,
            "--trace" => plot.trace = number > 0,
            "--skip-syncs" => plot.skipped_syncs_per_thousand = number,
            _ => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    if threads == 0 {
        threads = std::thread::available_parallelism().map_or(1, usize::from);
    }
    if locks {
        return tell_of_locks(start..start + seeds, forget_ranges);
    }
    let began = Instant::now();
    let next = AtomicU64::new(start);
    let total = Mutex::new((Tally::default(), Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= start + seeds {
                        return;
                    }
                    let outcome = std::panic::catch_unwind(|| run(seed, plot));
                    let mut total = total.lock().expect("stories do not panic while they are counted");
                    match outcome {
                        Ok(Ok(tally)) => total.0.add(&tally),
                        Ok(Err(what)) => total.1.push(what),
                        Err(_) => total.1.push(format!("seed {seed}: panicked")),
                    }
                }
            });
        }
    });
    let (tally, mut failed) = total.into_inner().expect("stories do not panic while they are counted");
    failed.sort();
    for what in failed.iter().take(TOLD_MAX) {
        println!("{what}");
    }
    println!(
        "{} stories from seed {start} in {:.1} s: {} failed\n{} crashes, {} clean ends, {} commits, {} acknowledged rounds, \
         {} rollbacks, {} lock conflicts, {} checkpoints, {} reads compared, {:.1} states possible per crash\n\
         undo went to its file in {} stories: {} segments, {} blocks read back, {} statements refused, {} versions merged, {} parts of transactions",
        seeds,
        began.elapsed().as_secs_f64(),
        failed.len(),
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
        tally.refused,
        tally.versions_merged,
        tally.log_parts,
    );
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Stories of locks: they are short, one thread is enough.
fn tell_of_locks(seeds: std::ops::Range<u64>, forget_ranges: bool) -> ExitCode {
    let (began, first, count) = (Instant::now(), seeds.start, seeds.end - seeds.start);
    let (mut commits, mut reads, mut refused, mut failed) = (0, 0, 0, 0_usize);
    for seed in seeds {
        match sim::locks::run(seed, forget_ranges) {
            Ok(tally) => {
                commits += tally.commits;
                reads += tally.reads;
                refused += tally.refused;
            }
            Err(what) => {
                failed += 1;
                if failed <= TOLD_MAX {
                    println!("{what}");
                }
            }
        }
    }
    println!(
        "{count} stories of locks from seed {first} in {:.1} s: {failed} failed\n{commits} commits, {reads} acts repeated, \
         {refused} refused locks",
        began.elapsed().as_secs_f64(),
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
