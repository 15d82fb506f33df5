//! Random queries whose rows must not depend on the plan: compared with a naive interpreter, with other settings, index
//! hints and join orders, with the prepared statement, and with themselves cut in parts (`differential::alone`).
//!
//! `INVAR_SEED=N` runs one round, `INVAR_ROUNDS=N` that many of them.

mod harness;

use differential::alone;
use harness::Server;

const ROUNDS: u64 = 40;
const QUERIES: usize = 25;

#[test]
fn rows_do_not_depend_on_the_plan() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match (number("INVAR_SEED"), number("INVAR_ROUNDS")) {
        (Some(seed), rounds) => seed..seed + rounds.unwrap_or(1),
        (None, rounds) => 0..rounds.unwrap_or(ROUNDS),
    };
    let server = Server::start(&[]);
    let mut findings = Vec::new();
    let tally = alone::run(&server.options(), "self_check", seeds.clone(), QUERIES, &mut findings)
        .expect("the server answers");
    eprintln!("seeds {seeds:?}: {tally:?}");
    findings.iter().take(10).for_each(|finding| eprintln!("{finding}"));
    assert!(findings.is_empty(), "{} queries have other rows under another plan", findings.len());
    let queries = (seeds.end - seeds.start) * QUERIES as u64;
    assert!(
        tally.interpreted * 2 > queries,
        "few queries were interpreted: {} of {queries}",
        tally.interpreted
    );
}
