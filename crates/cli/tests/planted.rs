//! What random queries find without another server: bugs planted in types, plans and operators, and rows that depend on the size of
//! batches. `cargo test -p cli --features planted-bugs --test planted -- --nocapture` says after how many statements.
#![cfg(feature = "planted-bugs")]

mod harness;

use std::sync::Arc;

use differential::alone;
use harness::Server;

/// Seed of the first round for each bug.
const SEED: u64 = 1;
const QUERIES: usize = 25;
/// Statements after which a planted bug counts as not found.
const STATEMENTS_MAX: u64 = 100_000;
/// Rounds whose rows are compared between servers with batches of different sizes.
const ROUNDS: u64 = 16;

/// Bugs that show only where rows come in several batches.
const OF_BATCHES: [&str; 2] = ["forget-partner", "forget-seen"];

fn start(variables: &[(&str, &str)]) -> Server {
    Server::start_with(Arc::new(tempfile::tempdir().expect("a folder")), &[], variables)
}

#[test]
fn planted_bugs_are_found() {
    let mut missed = Vec::new();
    for (name, _) in types::planted::ALL {
        let rows = if OF_BATCHES.contains(&name) { "1" } else { "1024" };
        let server = start(&[("INVAR_PLANTED_BUG", name), ("INVAR_BATCH_ROWS", rows)]);
        let (statements, found) =
            alone::first_finding(&server.options(), "planted", SEED, QUERIES, STATEMENTS_MAX)
                .expect("the server answers");
        match found {
            Some(finding) => {
                println!(
                    "{name:18} found after {statements:6} statements by `{}`, seed {}",
                    finding.check, finding.seed
                );
            }
            None => missed.push(name),
        }
    }
    assert!(missed.is_empty(), "not found by {STATEMENTS_MAX} statements each: {missed:?}");
}

#[test]
fn rows_do_not_depend_on_the_size_of_batches() {
    let server = start(&[]);
    let smaller: Vec<(String, Server)> = ["1", "2", "3"]
        .into_iter()
        .map(|rows| (format!("batches of {rows}"), start(&[("INVAR_BATCH_ROWS", rows)])))
        .collect();
    let peers: Vec<_> = smaller.iter().map(|(name, server)| (name.clone(), server.options())).collect();
    let (tally, findings) = alone::run_with_peers(&server.options(), &peers, "batches", 0..ROUNDS, QUERIES)
        .expect("the servers answer");
    println!("{tally:?}");
    findings.iter().take(10).for_each(|finding| println!("{finding}"));
    assert!(findings.is_empty(), "{} queries have other rows in other batches", findings.len());
}
