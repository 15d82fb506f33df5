//! Runs of locks hold, and notice a forgotten range lock.

use sim::locks::run;

#[test]
fn what_was_read_under_locks_is_explained_by_the_order_of_commits() {
    let mut commits = 0;
    for seed in 0..30 {
        let statistics = run(seed, false).unwrap_or_else(|what| panic!("{what}"));
        commits += statistics.commits;
    }
    assert!(commits > 300, "only {commits} commits");
}

#[test]
fn forgotten_range_locks_are_noticed() {
    let caught: Vec<u64> = (0..8).filter(|&seed| run(seed, true).is_err()).collect();
    assert!(!caught.is_empty(), "8 runs without range locks, and none was wrong");
}
