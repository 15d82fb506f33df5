//! Sessions wait for each other's locks, deterministically. `sim --workload waits` runs many more.

use sim::waits::{Tally, run};

#[test]
fn sessions_that_wait_see_what_their_level_promises_and_all_get_on() {
    let mut tally = Tally::default();
    for seed in 0..300 {
        tally.add(&run(seed).unwrap_or_else(|what| panic!("{what}")));
    }
    // The stories are worth telling only if they come through all of this.
    assert!(
        tally.waits > 3_000 && tally.deadlocks > 300 && tally.timeouts > 30 && tally.kills > 30,
        "{tally:?}"
    );
    assert!(
        tally.crashes > 100 && tally.commits > 3_000 && tally.reads > 1_000 && tally.allowed > 0,
        "{tally:?}"
    );
}

#[test]
fn a_story_is_repeated_by_its_seed() {
    for seed in 0..20 {
        assert_eq!(format!("{:?}", run(seed)), format!("{:?}", run(seed)), "seed {seed}");
    }
}
