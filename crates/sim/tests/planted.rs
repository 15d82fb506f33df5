//! Bugs planted on purpose are caught: `cargo test -p sim --features planted-bugs --test planted`.
#![cfg(feature = "planted-bugs")]

/// The kinds that matter most, and one for each checker; `sim --plant all` goes through all.
const PLANTS: [&str; 8] = [
    "skip-sync",
    "see-too-many",
    "see-too-few",
    "forget-undo",
    "lose-entry",
    "skip-checksum",
    "forget-hand-over",
    "miss-deadlock",
];

/// One after the other: a planted bug is everywhere in the process.
#[test]
fn planted_bugs_are_caught_within_ten_thousand_seeds() {
    for name in PLANTS {
        match sim::plants::first_seed(name, 10_000) {
            Some(Ok(caught)) => println!("{name}: {} seed {}: {}", caught.workload, caught.seed, caught.what),
            other => panic!("{name}: {other:?}"),
        }
    }
}
