//! Recovery on a full disk. `sim --workload full` makes many more runs.

use sim::full::{Statistics, run};

#[test]
fn a_store_opens_on_a_full_disk_with_all_that_was_committed() {
    let mut statistics = Statistics::default();
    for seed in 0..100 {
        statistics.add(&run(seed).unwrap_or_else(|what| panic!("{what}")));
    }
    // The runs prove something only if they go through all of this.
    assert!(
        statistics.crashes > 400
            && statistics.amid_recovery > 10
            && statistics.large > 200
            && statistics.checkpointed > 100
            && statistics.refused > 500,
        "{statistics:?}"
    );
}
