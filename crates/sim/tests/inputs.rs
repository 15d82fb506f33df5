//! Bent inputs at every door, the same ones in every run; the fuzz targets go on from the same samples.

use env::random::Rng;
use sim::inputs::{log, log_samples, mutate, packet_samples, packets, row_samples, rows};

fn bend(samples: &[Vec<u8>], count: u64, door: impl Fn(&[u8])) {
    for sample in samples {
        door(sample);
    }
    for seed in 0..count {
        let input = mutate(samples, &mut Rng::new(seed));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| door(&input)));
        assert!(
            outcome.is_ok(),
            "seed {seed}: {} bytes {:02x?}",
            input.len(),
            &input[..input.len().min(300)]
        );
    }
}

#[test]
fn packets_of_any_bytes() {
    bend(&packet_samples(), 200_000, packets);
}

#[test]
fn rows_of_any_bytes() {
    bend(&row_samples(), 100_000, rows);
}

#[test]
fn logs_of_any_bytes() {
    bend(&log_samples(), 2_000, log);
}
