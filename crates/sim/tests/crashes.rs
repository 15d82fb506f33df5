//! A hundred thousand crashes in every test run; and that a disk which lies is noticed.

use sim::crash::{Configuration, Statistics, run};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn runs(start: u64, count: u64, configuration: Configuration) -> (Statistics, Vec<String>) {
    let next = AtomicU64::new(start);
    let total = Mutex::new((Statistics::default(), Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= start + count {
                        return;
                    }
                    let outcome = std::panic::catch_unwind(|| run(seed, configuration));
                    let mut total = total.lock().unwrap();
                    match outcome {
                        Ok(Ok(statistics)) => total.0.add(&statistics),
                        Ok(Err(what)) => total.1.push(what),
                        Err(_) => total.1.push(format!("seed {seed}: panicked")),
                    }
                }
            });
        }
    });
    total.into_inner().unwrap()
}

/// Each has three crashes, each with its recovery and comparison: 100,002 crash runs.
const RUNS: u64 = 33_334;

/// `SIM_START` and `SIM_SEEDS` choose others; `cargo run --release -p sim` runs many faster.
#[test]
fn no_crash_loses_or_halves_a_commit() {
    let (start, count) = (number("SIM_START", 0), number("SIM_SEEDS", RUNS));
    let (statistics, failed) = runs(start, count, Configuration::default());
    assert!(
        failed.is_empty(),
        "{} of {count} runs failed: {:#?}",
        failed.len(),
        &failed[..failed.len().min(5)]
    );
    if count >= 1000 {
        // The runs prove something only if they go through all of this.
        assert!(
            statistics.crashes == 3 * count && statistics.commits > count && statistics.durable > count / 4,
            "{statistics:?}"
        );
        assert!(
            statistics.conflicts > 0
                && statistics.checkpoints > 0
                && statistics.closes > 0
                && statistics.rollbacks > 0,
            "{statistics:?}"
        );
        assert!(statistics.spilled_runs > count / 2 && statistics.undo_blocks_read > count, "{statistics:?}");
        assert!(statistics.log_parts > 10 * count && statistics.too_long > count / 20, "{statistics:?}");
    }
}

#[test]
fn a_skipped_sync_is_noticed() {
    let configuration = Configuration { skipped_syncs_per_thousand: 100, ..Configuration::default() };
    let (_, failed) = runs(0, 300, configuration);
    assert!(
        failed.len() >= 10,
        "a disk that skips one sync in ten was caught by {} of 300 runs",
        failed.len()
    );
}

/// Fewer: each run is longer. `sim --workload append` and `sim --workload bank` make many.
#[test]
fn no_level_shows_what_it_forbids() {
    let mut statistics = sim::append::Statistics::default();
    for seed in 0..number("SIM_SEEDS", 10_000) / 20 {
        statistics.add(&sim::append::run(seed).unwrap());
    }
    assert!(statistics.commits > statistics.runs && statistics.allowed > 0, "{statistics:?}");
}

#[test]
fn tables_agree_with_their_indexes_after_each_crash() {
    let mut statistics = sim::bank::Statistics::default();
    for seed in 0..number("SIM_SEEDS", 10_000) / 100 {
        statistics.add(&sim::bank::run(seed).unwrap());
    }
    assert!(statistics.definitions > statistics.runs && statistics.snapshots > 0, "{statistics:?}");
}
