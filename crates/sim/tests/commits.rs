//! Transactions commit over several servers amid every fault. `sim --workload commits` runs many more.

use sim::commits::{Statistics, run};

#[test]
fn a_transfer_is_done_on_all_servers_or_on_none() {
    let mut statistics = Statistics::default();
    for seed in 0..20_000 {
        statistics.add(&run(seed).unwrap_or_else(|what| panic!("{what}")));
    }
    // The runs prove something only if they go through all of this.
    let Statistics {
        committed,
        rolled_back,
        unknown,
        server_crashes,
        door_crashes,
        restores,
        recovery_steps,
        ..
    } = statistics;
    assert!(committed > 20_000 && rolled_back > 10_000 && unknown > 200, "{statistics:?}");
    assert!(server_crashes > 5_000 && door_crashes > 5_000 && restores > 500, "{statistics:?}");
    assert!(recovery_steps > 3_000, "{statistics:?}");
}

#[test]
fn a_run_is_repeated_by_its_seed() {
    for seed in 0..100 {
        assert_eq!(format!("{:?}", run(seed)), format!("{:?}", run(seed)), "seed {seed}");
    }
}
