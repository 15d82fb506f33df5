//! Bugs planted on purpose are caught: `cargo test -p sim --features planted-bugs --test planted`.
#![cfg(feature = "planted-bugs")]

/// Of the store the kinds that matter most, and one for each checker; of the coordinator all. `sim --plant all` goes through all.
const PLANTS: [&str; 18] = [
    "skip-sync",
    "see-too-many",
    "see-too-few",
    "forget-undo",
    "lose-entry",
    "skip-checksum",
    "forget-hand-over",
    "miss-deadlock",
    "select-absence",
    "trust-unknown-branch",
    "delete-early",
    "delete-of-others",
    "ignore-fence",
    "decide-early",
    "take-lost-for-abort",
    "trust-old-rows",
    "release-locks-early",
    "answer-early",
];

/// One after the other: a planted bug is everywhere in the process.
#[test]
fn planted_bugs_are_caught_within_a_hundred_thousand_seeds() {
    for name in PLANTS {
        match sim::plants::first_seed(name, 100_000) {
            Some(Ok(caught)) => println!("{name}: {} seed {}: {}", caught.workload, caught.seed, caught.what),
            other => panic!("{name}: {other:?}"),
        }
    }
}
