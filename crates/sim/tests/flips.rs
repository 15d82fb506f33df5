//! Flipped bits are found and named, or harm nobody. `sim --workload flips` runs many more.

use sim::flips::{Tally, run};

#[test]
fn a_flipped_bit_is_found_and_named_or_harms_nobody() {
    let mut tally = Tally::default();
    for seed in 0..300 {
        tally.add(&run(seed, false).unwrap_or_else(|what| panic!("{what}")));
    }
    // The stories are worth telling only if they come through all of this.
    assert!(
        tally.flips > 1_500 && tally.failures > 100 && tally.refused > 30 && tally.unreadable > 30,
        "{tally:?}"
    );
    assert!(tally.named > 300 && tally.unhurt > 100 && tally.commits > 3_000, "{tally:?}");
}
