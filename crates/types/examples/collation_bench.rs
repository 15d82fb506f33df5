//! Time of each collation's work on some texts: nanoseconds an operation and megabytes a second.
//!
//!     cargo run --release -p types --example collation_bench [part of a collation's name]

use std::hint::black_box;
use std::time::{Duration, Instant};

use types::collation::{CollationId, LikePattern};

const ROUND: Duration = Duration::from_micros(500);
const ROUNDS: usize = 40;

/// The best of a few rounds, in nanoseconds an operation.
fn nanoseconds(mut operation: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (start, mut count) = (Instant::now(), 0_u64);
        while start.elapsed() < ROUND {
            for _ in 0..50 {
                operation();
            }
            count += 50;
        }
        best = best.min(start.elapsed().as_nanos() as f64 / count as f64);
    }
    best
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let texts = [
        ("ascii 16", "customer00001234".to_string()),
        ("ascii 120", "c1a5b9d3".repeat(15)),
        ("english 135", "The quick brown fox jumps over the lazy dog. ".repeat(3)),
        ("french 100", "Été à l'œuvre: garçon, naïveté. ".repeat(3)),
        ("chinese 90", "数据库的速度不应该改变。".repeat(3)),
    ];
    println!("{:<24} {:<12} {:>7}", "collation", "text", "bytes");
    let collations = [
        CollationId::UTF8MB4_0900_AI_CI,
        CollationId::UTF8MB4_0900_AS_CS,
        CollationId::UTF8MB4_GENERAL_CI,
        CollationId::UTF8MB4_UNICODE_CI,
        CollationId::UTF8MB4_BIN,
        CollationId::LATIN1_SWEDISH_CI,
        CollationId::BINARY,
    ];
    for collation in collations.into_iter().filter(|collation| collation.name().contains(&wanted)) {
        for (name, text) in &texts {
            let same = text.clone();
            let other_case = text.to_ascii_uppercase();
            let (a, b, c) = (text.as_bytes(), same.as_bytes(), other_case.as_bytes());
            let last = [a, b"x"].concat();
            let pattern = [b"%", &a[a.len() - 6..], b"%"].concat();
            let like = LikePattern::new(collation, &pattern, Some(92));
            let mut out = Vec::with_capacity(4 * text.len() + 16);
            println!("{:<24} {name:<12} {:>7}", collation.name(), text.len());
            let show = |what: &str, nanoseconds: f64| {
                println!(
                    "    {what:<20} {nanoseconds:>8.1} ns {:>8.0} MB/s",
                    text.len() as f64 * 1000.0 / nanoseconds
                );
            };
            show(
                "compare same",
                nanoseconds(|| _ = black_box(collation.compare(black_box(a), black_box(b)))),
            );
            show(
                "compare other case",
                nanoseconds(|| _ = black_box(collation.compare(black_box(a), black_box(c)))),
            );
            show(
                "compare longer",
                nanoseconds(|| _ = black_box(collation.compare(black_box(a), black_box(&last)))),
            );
            show("hash", nanoseconds(|| _ = black_box(collation.hash(black_box(a), 1))));
            show(
                "sort_key",
                nanoseconds(|| {
                    out.clear();
                    collation.sort_key(black_box(a), &mut out);
                }),
            );
            show("LIKE '%x%' prepared", nanoseconds(|| _ = black_box(like.matches(black_box(a)))));
            show(
                "LIKE '%x%'",
                nanoseconds(|| _ = black_box(collation.like(black_box(a), black_box(&pattern), Some(92)))),
            );
            show(
                "UPPER",
                nanoseconds(|| {
                    out.clear();
                    collation.upper(black_box(a), &mut out);
                }),
            );
        }
    }
}
