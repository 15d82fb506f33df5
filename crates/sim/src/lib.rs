//! A simulated world for the store: crashes, torn writes, failed syncs, and a model that knows better.
//!
//! One seed makes one simulation: a disk that loses what was not synced ([`env::simulated`]), a store on it, several
//! transactions interleaved on one thread, and a crash at a random change of the disk; then the store is opened on what
//! survived and compared with a model, and the run continues for a few rounds.
//!
//! What is promised and checked after each crash ([`crash`]):
//! 1. Every commit that was acknowledged as durable is there.
//! 2. What is there is the state after some prefix of the commits: nothing half, nothing out of order, nothing
//!    invented.
//! 3. Pages, trees and their counts are sound (`Store::check`), and an index tree agrees with its table's tree.
//!
//! While the store runs, each read is compared with the model: snapshots with the state they were taken at, current
//! reads and duplicate checks with the newest commit, own writes with what was written, lock conflicts with the transaction that holds
//! what.
//!
//! Other workloads: [`append`] looks for the cycles that an isolation level forbids, [`bank`] does all of the above
//! with tables, their indexes, large values and definitions, [`flips`] flips bits in the files, in [`waits`] sessions
//! wait for each other's locks, in [`full`] recovery runs on a full disk, and in [`commits`] transactions commit over several servers. Bugs planted on purpose (feature
//! `planted-bugs`) show that each is caught: README.md.
//!
//! [`lost_sync`] is a disk that skips some syncs and says yes; a test shows that the checks above notice.
//! [`locks`] makes runs of another kind, without crashes: reads that lock must be explained by the order of the
//! commits.
//!
//! [`inputs`] holds the entry points by which bytes come in from outside, for fuzzing and for the mutation tests.
//!
//! `cargo run --release -p sim -- --seeds 10000 --start 0` makes one run for each seed; a run that fails prints its
//! seed, which repeats it. Without `--release` the same runs are made with debug assertions.

pub mod append;
pub mod bank;
pub mod commits;
pub mod crash;
pub mod flips;
pub mod full;
pub mod inputs;
pub mod locks;
pub mod lost_sync;
pub mod model;
#[cfg(feature = "planted-bugs")]
pub mod plants;
pub mod scheduler;
pub mod waits;
