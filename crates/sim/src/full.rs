//! Recovery on a full disk: what was committed comes back, and statements that remove rows have space at once.
//!
//! The disk is filled to its last byte. Large transactions change rows there, with checkpoints before, during and after
//! them. The power fails, also during the recovery that follows. The disk stays full all the time. The store has to
//! open every time with every commit that was synced, and then rows are deleted without any space from outside.

use env::random::Rng;
use env::simulated::{Faults, SimWorld};
use std::path::Path;
use store::wal::LogOptions;
use store::{LockWait, Options, Store, StoreError, Transaction, Tree, TreeId, WriteError};

use crate::model::{Rows, stored_rows};

/// What a run went through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// Crashes, each followed by a recovery and a comparison.
    pub crashes: u64,
    /// Of those, crashes in the middle of a recovery.
    pub amid_recovery: u64,
    /// Commits.
    pub commits: u64,
    /// Of those, of 128 changes or more.
    pub large: u64,
    /// Large transactions that were committed and had a checkpoint in their middle.
    pub checkpointed: u64,
    /// Statements, commits and checkpoints refused because of a lack of space.
    pub refused: u64,
}

impl Statistics {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Statistics) {
        self.crashes += other.crashes;
        self.amid_recovery += other.amid_recovery;
        self.commits += other.commits;
        self.large += other.large;
        self.checkpointed += other.checkpointed;
        self.refused += other.refused;
    }
}

const TREE: TreeId = TreeId(TreeId::DICTIONARY.0 + 1);
const LIVES: u32 = 4;
/// Minimum number of changes of a transaction for which no checkpoint is made on a full disk.
const LARGE: usize = 128;

fn path() -> &'static Path {
    Path::new("/data")
}

fn key(number: u64) -> Vec<u8> {
    let mut key = vec![b'k'; 20];
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// A whole file of the log: one in the making has another name.
fn is_log(name: &str) -> bool {
    name.starts_with("log") && !name.ends_with("half")
}

fn is_full(error: &StoreError) -> bool {
    matches!(error, StoreError::DiskFull { .. } | StoreError::UndoFile { .. })
}

struct Life<'a> {
    store: &'a Store,
    world: &'a SimWorld,
    rng: &'a mut Rng,
    statistics: &'a mut Statistics,
    /// What survives a crash for sure, and each state after a later commit.
    states: &'a mut Vec<Rows>,
    rows_max: u64,
}

impl Life<'_> {
    /// True if the power is on, false if not; an error unless the failure was that the disk had no space.
    fn allow(&mut self, error: &StoreError) -> Result<bool, String> {
        if self.world.disk().is_crashed() {
            return Ok(false);
        }
        if !is_full(error) {
            return Err(format!("fails without a cause: {error}"));
        }
        self.statistics.refused += 1;
        Ok(true)
    }

    fn newest(&self) -> Rows {
        self.states.last().cloned().unwrap_or_default()
    }

    /// A checkpoint, or what purge has to do. False: the power failed.
    fn background_work(&mut self) -> Result<bool, String> {
        let done = match self.rng.below(2) {
            0 => self.store.checkpoint_now(),
            _ => self.store.purge_tick().map(drop),
        };
        done.map_or_else(|error| self.allow(&error), |()| Ok(true))
    }

    /// Runs a transaction with `changes` changes. False: the power failed.
    fn change(&mut self, tree: &Tree, changes: usize, deletes_per_thousand: u64) -> Result<bool, String> {
        let mut rows = self.newest();
        let mut txn = self.store.begin();
        let checkpoint_at = if self.rng.chance(600) { self.rng.index(changes) } else { usize::MAX };
        let mut is_amid = false;
        for at in 0..changes {
            if at == checkpoint_at {
                match self.store.checkpoint_now() {
                    Ok(()) => is_amid = true,
                    Err(error) => {
                        if !self.allow(&error)? {
                            return Ok(false);
                        }
                    }
                }
            }
            if let Err(error) = self.change_row(&mut txn, tree, &mut rows, deletes_per_thousand) {
                let WriteError::Store(error) = error else { return Err(format!("a change: {error}")) };
                if !self.allow(&error)? {
                    return Ok(false);
                }
                // What it did so far is committed, or nothing.
                if self.rng.chance(500) {
                    return match txn.rollback() {
                        Ok(()) => Ok(true),
                        Err(error) => self.allow(&error),
                    };
                }
                break;
            }
        }
        let count = txn.change_count();
        match txn.commit() {
            Ok(Some(position)) => {
                self.states.push(rows);
                self.statistics.commits += 1;
                self.statistics.large += u64::from(count >= LARGE as u64);
                self.statistics.checkpointed += u64::from(count >= LARGE as u64 && is_amid);
                match self.store.sync_to(position) {
                    Ok(()) => {
                        self.states.drain(..self.states.len() - 1);
                        Ok(true)
                    }
                    Err(error) => self.allow(&error),
                }
            }
            Ok(None) => Ok(true),
            Err(error) => {
                let is_on = self.allow(&error)?;
                if !is_on {
                    self.states.push(rows); // The outcome was not reported.
                }
                Ok(is_on)
            }
        }
    }

    fn change_row(
        &mut self,
        txn: &mut Transaction,
        tree: &Tree,
        rows: &mut Rows,
        deletes_per_thousand: u64,
    ) -> Result<(), WriteError> {
        let key = key(self.rng.below(self.rows_max));
        if self.rng.chance(deletes_per_thousand) {
            txn.delete(tree, &key, LockWait::Nowait)?;
            rows.remove(&key);
        } else {
            let value = vec![self.rng.below(256) as u8; 1 + self.rng.index(3_000)];
            txn.put(tree, &key, &value, LockWait::Nowait)?;
            rows.insert(key, value);
        }
        Ok(())
    }
}

/// All rows of the tree.
fn read_all(store: &Store) -> Result<Rows, StoreError> {
    stored_rows(store, &store.tree(TREE)?, &store.read_view())
}

/// Makes the run of a seed.
///
/// # Errors
/// What the store did wrong, with the seed.
pub fn run(seed: u64) -> Result<Statistics, String> {
    let mut statistics = Statistics::default();
    simulation(seed, &mut statistics).map_err(|what| format!("seed {seed}: {what}"))?;
    Ok(statistics)
}

fn simulation(seed: u64, statistics: &mut Statistics) -> Result<(), String> {
    let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(29));
    let mut world = SimWorld::new(seed);
    let options = Options {
        buffer_pool_bytes: [40, 80, 400][rng.index(3)] * 16 * 1024,
        log: LogOptions {
            segment_bytes: [128 << 10, 1 << 20][rng.index(2)],
            buffer_bytes_max: 64 << 10,
            ..LogOptions::default()
        },
        background_threads: false,
        undo_memory_bytes: [64 << 10, 1 << 20][rng.index(2)],
        undo_segment_bytes: 4 << 10,
        txn_log_memory_bytes: [2 << 10, 4 << 20][rng.index(2)],
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    };
    let mut states = vec![Rows::new()];
    let rows_max = [200, 600, 1_500][rng.index(3)];
    let mut space_bytes_max = None;
    let mut life = 0;
    while life <= LIVES {
        let crash_at_change = |rng: &mut Rng, world: &SimWorld| {
            let span = [20, 100, 600, 3_000][rng.index(4)];
            Some(world.disk().counts().changes + 1 + rng.below(span))
        };
        // The power fails in the middle of every other recovery of a full disk.
        let fails_soon = space_bytes_max.is_some() && life < LIVES && rng.chance(500);
        let crash = if fails_soon { crash_at_change(&mut rng, &world) } else { None };
        world.disk().plan(Faults { space_bytes_max, crash_at_change: crash, ..Faults::default() });
        let opened = Store::open(world.env(), path(), options.clone());
        let store = match opened {
            Ok(store) => store,
            Err(_) if world.disk().is_crashed() => {
                statistics.crashes += 1;
                statistics.amid_recovery += 1;
                world = world.crash();
                life += 1;
                continue;
            }
            Err(error) => {
                let files = world.disk().lengths(path());
                return Err(format!("life {life}: it does not open: {error}; {files:?}"));
            }
        };
        let found = read_all(&store);
        let checked = store.check();
        if world.disk().is_crashed() {
            drop(store);
            statistics.crashes += 1;
            world = world.crash();
            life += 1;
            continue;
        }
        let found = found.map_err(|error| error.to_string())?;
        if !states.contains(&found) {
            return Err(format!(
                "life {life}: {} rows are there, which is none of {} states",
                found.len(),
                states.len()
            ));
        }
        checked.map_err(|error| format!("life {life}: it is not sound: {error}"))?;
        states = vec![found];
        let mut alive =
            Life { store: &store, world: &world, rng: &mut rng, statistics, states: &mut states, rows_max };
        let tree = store.tree(TREE).map_err(|error| error.to_string())?;
        let faults = |space_bytes_max, crash_at_change| Faults {
            space_bytes_max,
            crash_at_change,
            ..Faults::default()
        };
        if space_bytes_max.is_none() {
            for _ in 0..1 + alive.rng.below(4) {
                let changes = 1 + alive.rng.index(400);
                alive.change(&tree, changes, 100)?;
            }
            if alive.rng.chance(800) {
                store.checkpoint_now().map_err(|error| format!("a checkpoint beside space: {error}"))?;
            }
            // A log of two files has one for what comes after a crash.
            let logs = world.disk().lengths(path()).iter().filter(|(name, _)| is_log(name)).count();
            if logs > 1 {
                let space = [0, 16 << 10, 200 << 10, 1 << 20][alive.rng.index(4)];
                space_bytes_max = Some(world.disk().used_bytes(false) + space);
                world.disk().plan(faults(space_bytes_max, None));
            }
        } else if !states_are_empty(alive.states) {
            // Rows are removed at once, with no power failure and no other space.
            world.disk().plan(faults(space_bytes_max, None));
            let first = alive.states[0].keys().next().cloned().unwrap_or_default();
            // What the background threads do at once: deletions that were repeated keep their undo until they are
            // purged.
            while store.purge_tick().map_err(|error| format!("life {life}: purge: {error}"))? {}
            let mut txn = store.begin();
            txn.delete(&tree, &first, LockWait::Nowait)
                .map_err(|error| format!("life {life}: a row cannot be deleted: {error}"))?;
            let position =
                txn.commit().map_err(|error| format!("life {life}: a deletion does not commit: {error}"))?;
            if let Some(position) = position {
                store.sync_to(position).map_err(|error| error.to_string())?;
            }
            alive.states[0].remove(&first);
        }
        let crash = crash_at_change(alive.rng, &world);
        world.disk().plan(faults(space_bytes_max, crash));
        for _ in 0..12 {
            let roll = alive.rng.below(10);
            let is_on = match roll {
                0..=4 => {
                    let changes = LARGE + alive.rng.index(500);
                    let deletes = [0, 100, 900][alive.rng.index(3)];
                    alive.change(&tree, changes, deletes)?
                }
                5..=7 => {
                    let changes = 1 + alive.rng.index(20);
                    alive.change(&tree, changes, 200)?
                }
                _ => alive.background_work()?,
            };
            if !is_on {
                break;
            }
        }
        drop(tree);
        drop(store);
        statistics.crashes += 1;
        world = world.crash();
        life += 1;
    }
    Ok(())
}

fn states_are_empty(states: &[Rows]) -> bool {
    states.first().is_none_or(Rows::is_empty)
}
