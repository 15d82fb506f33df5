//! Bent inputs at every door, the same ones in every run; the fuzz targets go on from the same samples.

use env::random::Rng;
use sim::inputs::{
    log, log_samples, mutate, packet_samples, packets, row_samples, rows, statement_samples, statements,
};

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

#[test]
fn statements_of_any_bytes() {
    bend(&statement_samples(), 100_000, statements);
}

#[test]
fn statements_that_are_long_or_deep() {
    let deep = |open: &str, close: &str, count: usize| {
        let mut text = b"\0SELECT ".to_vec();
        text.extend(open.as_bytes().repeat(count));
        text.push(b'1');
        text.extend(close.as_bytes().repeat(count));
        text
    };
    for count in [100, 10_000, 200_000] {
        for (open, close) in [
            ("(", ")"),
            ("-", ""),
            ("NOT ", ""),
            ("(SELECT ", ")"),
            ("f(", ")"),
            ("1+", ""),
            ("CASE WHEN ", ""),
            ("a AND ", ""),
            ("! ", ""),
            ("* FROM (SELECT ", ") x"),
            ("/* ", ""),
            ("/*!80000 ", "*/"),
            ("1 UNION SELECT ", ""),
            ("EXISTS(SELECT ", ")"),
            ("INTERVAL ", ""),
            ("x'", "'"),
            ("'", ""),
            ("\\", ""),
            ("@", ""),
        ] {
            // Half of a worker thread's stack, so that too deep a recursion shows before it hurts.
            let text = deep(open, close, count);
            let worker =
                std::thread::Builder::new().stack_size(4 << 20).spawn(move || statements(&text)).unwrap();
            assert!(worker.join().is_ok(), "{count} times {open:?}");
        }
    }
}
