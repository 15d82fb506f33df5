//! A hundred thousand crashes in every test run; and that a disk which lies is noticed.

use sim::crash::{Plot, Tally, run};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn stories(start: u64, count: u64, plot: Plot) -> (Tally, Vec<String>) {
    let next = AtomicU64::new(start);
    let total = Mutex::new((Tally::default(), Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= start + count {
                        return;
                    }
                    let outcome = std::panic::catch_unwind(|| run(seed, plot));
                    let mut total = total.lock().unwrap();
                    match outcome {
                        Ok(Ok(tally)) => total.0.add(&tally),
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
const STORIES: u64 = 33_334;

/// `SIM_START` and `SIM_SEEDS` choose others; `cargo run --release -p sim` runs many faster.
#[test]
fn no_crash_loses_or_halves_a_commit() {
    let (start, count) = (number("SIM_START", 0), number("SIM_SEEDS", STORIES));
    let (tally, failed) = stories(start, count, Plot::default());
    assert!(
        failed.is_empty(),
        "{} of {count} stories failed: {:#?}",
        failed.len(),
        &failed[..failed.len().min(5)]
    );
    if count >= 1000 {
        // The stories are worth telling only if they come through all of this.
        assert!(
            tally.crashes == 3 * count && tally.commits > count && tally.durable > count / 4,
            "{tally:?}"
        );
        assert!(
            tally.conflicts > 0 && tally.checkpoints > 0 && tally.closes > 0 && tally.rollbacks > 0,
            "{tally:?}"
        );
        assert!(tally.filed_stories > count / 2 && tally.undo_blocks_read > count, "{tally:?}");
        assert!(tally.log_parts > 10 * count && tally.too_long > count / 20, "{tally:?}");
    }
}

#[test]
fn a_skipped_sync_is_noticed() {
    let plot = Plot { skipped_syncs_per_thousand: 100, ..Plot::default() };
    let (_, failed) = stories(0, 300, plot);
    assert!(
        failed.len() >= 10,
        "a disk that skips one sync in ten was caught by {} of 300 stories",
        failed.len()
    );
}

/// Fewer: each story is longer. `sim --workload append` and `sim --workload bank` run many.
#[test]
fn no_level_shows_what_it_forbids() {
    let mut tally = sim::append::Tally::default();
    for seed in 0..number("SIM_SEEDS", 10_000) / 20 {
        tally.add(&sim::append::run(seed).unwrap());
    }
    assert!(tally.commits > tally.stories && tally.allowed > 0, "{tally:?}");
}

#[test]
fn tables_agree_with_their_indexes_after_each_crash() {
    let mut tally = sim::bank::Tally::default();
    for seed in 0..number("SIM_SEEDS", 10_000) / 100 {
        tally.add(&sim::bank::run(seed).unwrap());
    }
    assert!(tally.definitions > tally.stories && tally.snapshots > 0, "{tally:?}");
}
