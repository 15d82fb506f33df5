//! Flipped bits are found and named, or harm nobody. `sim --workload flips` runs many more.

use sim::flips::{Statistics, run};

#[test]
fn a_flipped_bit_is_found_and_named_or_harms_nobody() {
    let mut statistics = Statistics::default();
    for seed in 0..300 {
        statistics.add(&run(seed, false).unwrap_or_else(|what| panic!("{what}")));
    }
    // The runs prove something only if they go through all of this.
    assert!(
        statistics.flips > 1_500
            && statistics.failures > 100
            && statistics.refused > 30
            && statistics.unreadable > 30,
        "{statistics:?}"
    );
    assert!(
        statistics.named > 300 && statistics.unhurt > 100 && statistics.commits > 3_000,
        "{statistics:?}"
    );
}
