//! Recovery on a full disk. `sim --workload full` runs many more stories.

use sim::full::{Tally, run};

#[test]
fn a_store_opens_on_a_full_disk_with_all_that_was_committed() {
    let mut tally = Tally::default();
    for seed in 0..100 {
        tally.add(&run(seed).unwrap_or_else(|what| panic!("{what}")));
    }
    // The stories are worth telling only if they come through all of this.
    assert!(
        tally.crashes > 400
            && tally.amid_recovery > 10
            && tally.large > 200
            && tally.checkpointed > 100
            && tally.refused > 500,
        "{tally:?}"
    );
}
