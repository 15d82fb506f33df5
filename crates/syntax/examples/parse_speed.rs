//! CPU time per statement of parsing and of computing digests, for the shapes that matter: a point select, 400 aliased columns,
//! a big multi-row INSERT. `cargo run --release -p syntax --example parse_speed`

use bumpalo::Bump;
use syntax::{DigestScratch, SqlMode, digest, parse};

/// CPU time of this thread in ns (Linux): wall time says little on a busy machine.
fn cpu_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0.0)
}

fn main() {
    let point = b"SELECT c FROM sbtest1 WHERE id=4711".to_vec();
    let mut wide = b"select ".to_vec();
    for i in 0..400 {
        if i > 0 {
            wide.extend_from_slice(b", ");
        }
        wide.extend_from_slice(format!("this_.customer_column_{i:03} as customer{i}_0_{i}_").as_bytes());
    }
    wide.extend_from_slice(b" from customer this_ where this_.id = 12345");
    let mut insert = b"INSERT INTO t (id, k, c, pad) VALUES ".to_vec();
    let mut row = 0u64;
    while insert.len() < 1 << 20 {
        if row > 0 {
            insert.push(b',');
        }
        let text = "68487932199-96439406143-93774651418-41631865787-96406072701";
        insert.extend_from_slice(
            format!("({row},{},'{text}','{}')", row * 7919 % 1_000_000, &text[..40]).as_bytes(),
        );
        row += 1;
    }
    let mut numbers = b"INSERT INTO t VALUES ".to_vec();
    while numbers.len() < 1 << 20 {
        numbers.extend_from_slice(b"(123456, -42, NULL, 'abc', 1.5),");
    }
    numbers.pop();
    for (name, sql, times) in [
        ("point select", &point, 2_000_000u32),
        ("400 columns", &wide, 20_000),
        ("insert 1 MB", &insert, 200),
        ("insert of small values", &numbers, 200),
    ] {
        let mut arena = Bump::new();
        let mut scratch = DigestScratch::default();
        for round in 0..2 {
            let begin = cpu_ns();
            for _ in 0..times {
                arena.reset();
                let parsed = parse(std::hint::black_box(sql), &arena, SqlMode::default());
                std::hint::black_box(&parsed.is_ok());
            }
            let parse_ns = (cpu_ns() - begin) / f64::from(times);
            let begin = cpu_ns();
            for _ in 0..times {
                let digested = digest(std::hint::black_box(sql), SqlMode::default(), &mut scratch);
                std::hint::black_box(digested.map(|d| d.hash));
            }
            let digest_ns = (cpu_ns() - begin) / f64::from(times);
            if round == 1 {
                println!(
                    "{name}: {} bytes; parse {parse_ns:.0} ns ({:.0} MB/s); digest {digest_ns:.0} ns ({:.0} MB/s)",
                    sql.len(),
                    sql.len() as f64 * 1e3 / parse_ns,
                    sql.len() as f64 * 1e3 / digest_ns
                );
            }
        }
    }
}
