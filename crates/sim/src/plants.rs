//! Bugs planted on purpose (`store::planted`, `coordinator::planted`), and the first seed that catches each.

use crate::crash::Configuration;
use crate::{append, bank, commits, crash, flips, waits};

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

const RUNS: [(&str, Simulation); 6] = [
    ("crash", |seed| crash::run(seed, Configuration::default()).map(drop)),
    ("bank", |seed| bank::run(seed).map(drop)),
    ("flips", |seed| flips::run(seed, false).map(drop)),
    ("waits", |seed| waits::run(seed).map(drop)),
    ("append", |seed| append::run(seed).map(drop)),
    ("commits", |seed| commits::run(seed).map(drop)),
];

/// A bug of the store or of the coordinator.
#[derive(Clone, Copy, Debug)]
enum Plant {
    Store(store::planted::Plant),
    Coordinator(coordinator::planted::Plant),
}

impl Plant {
    fn find(name: &str) -> Option<Plant> {
        let in_store = store::planted::named(name).map(Plant::Store);
        in_store.or_else(|| coordinator::planted::named(name).map(Plant::Coordinator))
    }

    fn plant(self) {
        match self {
            Plant::Store(bug) => store::planted::plant(Some(bug)),
            Plant::Coordinator(bug) => coordinator::planted::plant(Some(bug)),
        }
    }

    fn remove(self) {
        match self {
            Plant::Store(_) => store::planted::plant(None),
            Plant::Coordinator(_) => coordinator::planted::plant(None),
        }
    }

    /// The workload that executes the code with the bug: the runs of others would not meet it.
    fn workload(self, name: &str) -> &'static str {
        match name {
            _ if matches!(self, Plant::Coordinator(_)) => "commits",
            "lose-entry" => "bank",
            "skip-checksum" | "skip-undo-checksum" => "flips",
            "forget-hand-over" | "miss-deadlock" => "waits",
            _ => "crash",
        }
    }
}

/// The names of all bugs.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let stores = store::planted::ALL.iter().map(|plant| plant.0);
    stores.chain(coordinator::planted::ALL.iter().map(|plant| plant.0)).collect()
}

/// Plants a bug and makes runs from seed 0 on until one fails, at most the given number of the workload that is meant to catch
/// it. Other threads of this process meet the bug as well. None: there is no such bug; an error: the workload that did
/// not catch it.
#[must_use]
pub fn first_seed(name: &'static str, seeds: u64) -> Option<Result<Caught, &'static str>> {
    let plant = Plant::find(name)?;
    let (workload, simulation) = RUNS.into_iter().find(|run| run.0 == plant.workload(name))?;
    plant.plant();
    let caught = (0..seeds).find_map(|seed| {
        // A broken invariant ends the process where pages may be half changed: say first where it was.
        std::panic::set_hook(Box::new(move |panic| {
            eprintln!("{name}: {workload} seed {seed} panics: {panic}");
        }));
        let outcome = std::panic::catch_unwind(|| simulation(seed));
        let _ours = std::panic::take_hook();
        let what = outcome.unwrap_or_else(|_| Err("panicked".to_owned())).err()?;
        Some(Caught { workload, seed, what })
    });
    plant.remove();
    Some(caught.ok_or(workload))
}
