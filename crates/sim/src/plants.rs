//! Bugs planted on purpose (`store::planted`), and the first seed that catches each.

use crate::crash::Configuration;
use crate::{append, bank, crash, flips, waits};
use store::planted;

/// How a planted bug was caught.
#[derive(Clone, Debug)]
pub struct Caught {
    /// By which workload.
    pub workload: &'static str,
    /// By which seed, from 0.
    pub seed: u64,
    /// What was wrong.
    pub what: String,
}

type Simulation = fn(u64) -> Result<(), String>;

const RUNS: [(&str, Simulation); 5] = [
    ("crash", |seed| crash::run(seed, Configuration::default()).map(drop)),
    ("bank", |seed| bank::run(seed).map(drop)),
    ("flips", |seed| flips::run(seed, false).map(drop)),
    ("waits", |seed| waits::run(seed).map(drop)),
    ("append", |seed| append::run(seed).map(drop)),
];

/// The workload that executes the code with the bug: the runs of others would not meet it.
fn meant_for(name: &str) -> &'static str {
    match name {
        "lose-entry" => "bank",
        "skip-checksum" | "skip-undo-checksum" => "flips",
        "forget-hand-over" | "miss-deadlock" => "waits",
        _ => "crash",
    }
}

/// Plants a bug and makes runs from seed 0 on until one fails, at most the given number of the workload that is meant to catch
/// it. Other threads of this process meet the bug as well. None: there is no such bug; an error: the workload that did
/// not catch it.
#[must_use]
pub fn first_seed(name: &str, seeds: u64) -> Option<Result<Caught, &'static str>> {
    let (name, plant) = planted::ALL.into_iter().find(|plant| plant.0 == name)?;
    let (workload, simulation) = RUNS.into_iter().find(|run| run.0 == meant_for(name))?;
    planted::plant(Some(plant));
    let caught = (0..seeds).find_map(|seed| {
        // A broken invariant ends the process where pages may be half changed: say first where it was.
        std::panic::set_hook(Box::new(move |panic| {
            eprintln!("{name}: {workload} seed {seed} panics: {panic}")
        }));
        let outcome = std::panic::catch_unwind(|| simulation(seed));
        let _ours = std::panic::take_hook();
        let what = outcome.unwrap_or_else(|_| Err("panicked".to_owned())).err()?;
        Some(Caught { workload, seed, what })
    });
    planted::plant(None);
    Some(caught.ok_or(workload))
}
