//! The outside world behind small traits: disk, clock, randomness, threads; real and simulated.
//!
//! Everything that thinks (store, tables, engine) reaches files, time, chance and threads only through an [`Env`]. That
//! is what lets a simulation run the same code over a disk that loses, reorders and tears what was not synced, on a
//! clock that it turns by hand, and repeat any run from one number.
//!
//! | part | trait | real | simulated |
//! | --- | --- | --- | --- |
//! | files | [`disk::Disk`], [`disk::Folder`], [`disk::File`] | [`disk::RealDisk`]: pread, pwrite, fdatasync, flock | [`simulated::SimDisk`] |
//! | time | [`clock::Clock`] | [`clock::RealClock`] | [`simulated::SimClock`]: moves when it is advanced |
//! | chance | [`random::Random`] | [`random::RealRandom`]: the kernel's | [`random::SeededRandom`] |
//! | threads | [`threads::Threads`] | [`threads::RealThreads`] | [`threads::NoThreads`]: refuses, so nothing can race unseen |
//!
//! [`blocking`] is the fifth entry point: code says "I am about to wait" and the owner of the thread may act on it.
//! [`memory`] counts what statements allocate, [`mimalloc`] allocates it.
//!
//! Invariants:
//! 1. Nothing outside this crate and the server's socket edge calls `std::fs`, `Instant::now`, `SystemTime::now` or
//!    `thread::spawn`.
//! 2. With the simulated parts, the same seed and the same calls give the same answers, always.
//!
//! Example: a world that can be crashed.
//! ```
//! use env::{disk::{Disk, FileOptions}, simulated::SimWorld};
//! use std::path::Path;
//! let world = SimWorld::new(7);
//! let folder = world.env().disk.folder(Path::new("/data"), true).unwrap();
//! let file = folder.open("a", FileOptions::create_new()).unwrap();
//! file.write_at(0, b"promised").unwrap();
//! file.sync().unwrap();
//! folder.sync().unwrap(); // The name, too, must be made durable.
//! file.write_at(0, b"hoped for").unwrap();
//! let after = world.crash(); // A new world with what survived.
//! let file = after.env().disk.folder(Path::new("/data"), false).unwrap().open("a", FileOptions::existing()).unwrap();
//! let mut bytes = [0; 8];
//! file.read_at(0, &mut bytes).unwrap();
//! assert!(&bytes == b"promised" || &bytes == b"hoped fo");
//! ```

pub mod blocking;
pub mod clock;
pub mod disk;
pub mod memory;
pub mod mimalloc;
mod monotonic;
pub mod overlay;
pub mod random;
pub mod simulated;
pub mod stack;
mod sys;
pub mod threads;

use std::sync::Arc;

/// A world to run in: cheap to clone, handed down from the edge to whoever needs a part of it.
#[derive(Clone, Debug)]
pub struct Env {
    /// Where files live.
    pub disk: Arc<dyn disk::Disk>,
    /// What time it is.
    pub clock: Arc<dyn clock::Clock>,
    /// Where unpredictable bytes come from.
    pub random: Arc<dyn random::Random>,
    /// Who runs background work.
    pub threads: Arc<dyn threads::Threads>,
}

impl Env {
    /// The operating system's disk, clock, randomness and threads.
    #[must_use]
    pub fn real() -> Env {
        Env {
            disk: Arc::new(disk::RealDisk),
            clock: Arc::new(clock::RealClock::new()),
            random: Arc::new(random::RealRandom),
            threads: Arc::new(threads::RealThreads),
        }
    }
}
