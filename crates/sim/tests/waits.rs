//! Sessions wait for each other's locks, deterministically. `sim --workload waits` runs many more.

use sim::waits::{Statistics, run};

#[test]
fn sessions_that_wait_see_what_their_level_promises_and_all_get_on() {
    let mut statistics = Statistics::default();
    for seed in 0..300 {
        statistics.add(&run(seed).unwrap_or_else(|what| panic!("{what}")));
    }
    // The runs prove something only if they go through all of this.
    assert!(
        statistics.waits > 3_000
            && statistics.deadlocks > 300
            && statistics.timeouts > 30
            && statistics.kills > 30,
        "{statistics:?}"
    );
    assert!(
        statistics.crashes > 100
            && statistics.commits > 3_000
            && statistics.reads > 1_000
            && statistics.allowed > 0,
        "{statistics:?}"
    );
}

#[test]
fn a_story_is_repeated_by_its_seed() {
    for seed in 0..20 {
        assert_eq!(format!("{:?}", run(seed)), format!("{:?}", run(seed)), "seed {seed}");
    }
}
