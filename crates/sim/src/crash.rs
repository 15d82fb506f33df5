//! One simulation: interleaved transactions, failures, a crash, what survived; a few rounds of it.

use crate::lost_sync::skipping_syncs;
use crate::model::{Changes, History, Rows, State, TreeNumber, stored_rows};
use env::Env;
use env::random::Rng;
use env::simulated::{Faults, SimWorld};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::rc::Rc;
use store::wal::{FlushPolicy, LogOptions};
use store::{
    Direction, LockMode, LockWait, Locked, Options, ReadView, Savepoint, ScanRange, Store, StoreError,
    Transaction, TreeId, WriteError, check_files,
};

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    /// Lives of the store, each but the last ended by a crash.
    pub rounds: u32,
    /// Steps in a life at most; then the power is cut even if no planned change was reached.
    pub steps_max: u32,
    /// The disk skips this many syncs in a thousand and says yes. Only to see it caught.
    pub skipped_syncs_per_thousand: u64,
    /// Print each step, to see how a failing seed came there.
    pub trace: bool,
}

impl Default for Configuration {
    fn default() -> Configuration {
        Configuration { rounds: 3, steps_max: 120, skipped_syncs_per_thousand: 0, trace: false }
    }
}

/// What a run went through, to show that the seeds reach what they should.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// Runs made.
    pub runs: u64,
    /// Crashes, each followed by a recovery and a comparison.
    pub crashes: u64,
    /// Clean ends.
    pub closes: u64,
    /// Commits that wrote something.
    pub commits: u64,
    /// Of those, acknowledged as durable.
    pub durable: u64,
    /// Rollbacks.
    pub rollbacks: u64,
    /// Lock conflicts.
    pub conflicts: u64,
    /// Checkpoints that finished.
    pub checkpoints: u64,
    /// Failed syncs and writes, full disks.
    pub faults: u64,
    /// Reads compared with the model.
    pub reads: u64,
    /// States that might have survived, at the crashes together.
    pub candidates: u64,
    /// Runs in which undo went to its file.
    pub spilled_runs: u64,
    /// Segments of undo that went there.
    pub segments_spilled: u64,
    /// Blocks of them that were read back.
    pub undo_blocks_read: u64,
    /// Parts of transactions in the log.
    pub log_parts: u64,
    /// Old versions left out of chains.
    pub versions_merged: u64,
    /// Statements and commits refused because the transaction went back too far in the log.
    pub too_long: u64,
    /// Statements and commits refused because the undo file could not be written or read, or the disk was full.
    pub refused: u64,
    /// Times the disk filled up.
    pub fillings: u64,
    /// Checkpoints given up because of a lack of space.
    pub given_up: u64,
    /// Trees that were given hundreds of leaves.
    pub filled: u64,
}

impl Statistics {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Statistics) {
        self.runs += other.runs;
        self.crashes += other.crashes;
        self.closes += other.closes;
        self.commits += other.commits;
        self.durable += other.durable;
        self.rollbacks += other.rollbacks;
        self.conflicts += other.conflicts;
        self.checkpoints += other.checkpoints;
        self.faults += other.faults;
        self.reads += other.reads;
        self.candidates += other.candidates;
        self.spilled_runs += other.spilled_runs;
        self.segments_spilled += other.segments_spilled;
        self.undo_blocks_read += other.undo_blocks_read;
        self.versions_merged += other.versions_merged;
        self.log_parts += other.log_parts;
        self.too_long += other.too_long;
        self.refused += other.refused;
        self.fillings += other.fillings;
        self.given_up += other.given_up;
        self.filled += other.filled;
    }
}

/// Why a step could not go on.
pub(crate) enum Halt {
    /// The store has stopped: power failure, or a planned fault. The run continues with a crash.
    Stopped,
    /// The store did something it must not.
    Wrong(String),
}

pub(crate) type Step<T = ()> = Result<T, Halt>;

pub(crate) fn wrong<T>(what: impl Into<String>) -> Step<T> {
    Err(Halt::Wrong(what.into()))
}

/// Makes the run of a seed.
///
/// # Errors
/// What the store did wrong, with the seed.
pub fn run(seed: u64, configuration: Configuration) -> Result<Statistics, String> {
    let mut statistics = Statistics { runs: 1, ..Statistics::default() };
    let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(17));
    let mut world = SimWorld::new(seed);
    let mut history = History::new();
    // Of its own, so that a seed's other choices stay what they were.
    let mut sizes = Rng::new(seed.wrapping_mul(0x2545_f491).wrapping_add(5));
    let mut drops = Rng::new(seed.wrapping_mul(0x6c62_272e).wrapping_add(3));
    let mut options = Options {
        buffer_pool_bytes: [24, 40, 200][rng.index(3)] * 16 * 1024,
        log: LogOptions {
            segment_bytes: [32 << 10, 128 << 10][rng.index(2)],
            buffer_bytes_max: [4 << 10, 1 << 20][rng.index(2)],
            flush_policy: [
                FlushPolicy::AtCommit,
                FlushPolicy::AtCommit,
                FlushPolicy::AtCommit,
                FlushPolicy::WriteAtCommit,
            ][rng.index(4)],
            transaction_span_bytes_max: [u64::MAX, u64::MAX, u64::MAX, 3 << 10][sizes.index(4)],
        },
        background_threads: false,
        // Mostly so little that it goes to its file all the time.
        undo_memory_bytes: [1, 1, 1, 0][rng.index(4)],
        undo_segment_bytes: [1 << 10, 1 << 10, 4 << 10][rng.index(3)],
        // Often so little that changes go to the log long before their commit.
        txn_log_memory_bytes: [0, 300, 2 << 10, 4 << 20][sizes.index(4)],
        checkpoint_piece_bytes: 64 << 10,
        drop_leaves_max: [1, 4, 64][drops.index(3)],
        // Sometimes so little that a writer has to write a checkpoint first.
        log_capacity_bytes: [1 << 30, 1 << 30, 24 << 10][drops.index(3)],
        ..Options::default()
    };
    let fills_trees = drops.chance(80);
    let is_hot = rng.below(4) == 0;
    let is_bulky = !is_hot && sizes.chance(200);
    let mut is_new = true;
    for round in 0..configuration.rounds {
        let env = match configuration.skipped_syncs_per_thousand {
            0 => world.env().clone(),
            often => skipping_syncs(world.env(), seed, often),
        };
        let faults = plan_faults(&world, &mut rng, is_new, configuration);
        let fills_up = rng.below(8) == 0;
        if sizes.chance(300) {
            // What an earlier life of the store wrote may have to be rolled back in a smaller pool.
            options.buffer_pool_bytes = [24, 40, 200][sizes.index(3)] * 16 * 1024;
        }
        let mut life = Life {
            env,
            world: &world,
            options: options.clone(),
            rng: rng.fork(),
            history: &mut history,
            statistics: &mut statistics,
            trace: configuration.trace,
            next_name: 0,
            is_hot,
            faults,
            fills_up,
            is_bulky,
            in_bulk: false,
            fills_trees,
        };
        let result = life.live(configuration.steps_max, &mut is_new);
        if let Err(Halt::Wrong(what)) = result {
            return Err(format!("seed {seed} round {round}: {what}"));
        }
        if configuration.trace {
            eprintln!("seed {seed}: end of round {round}, crashed {}", world.disk().is_crashed());
        }
        statistics.spilled_runs = statistics.segments_spilled.min(1);
        statistics.crashes += 1;
        statistics.candidates += history.candidate_count() as u64;
        world = world.crash();
    }
    // The last look, on a healthy disk.
    let mut life = Life {
        env: world.env().clone(),
        world: &world,
        options,
        rng,
        history: &mut history,
        statistics: &mut statistics,
        trace: configuration.trace,
        next_name: 0,
        is_hot,
        faults: Faults::default(),
        fills_up: false,
        is_bulky,
        in_bulk: false,
        fills_trees,
    };
    match life.live(0, &mut is_new) {
        Ok(()) => Ok(statistics),
        Err(Halt::Stopped) => Err(format!("seed {seed} at the end: the store stopped on a healthy disk")),
        Err(Halt::Wrong(what)) => Err(format!("seed {seed} at the end: {what}")),
    }
}

fn plan_faults(world: &SimWorld, rng: &mut Rng, is_new: bool, configuration: Configuration) -> Faults {
    let so_far = world.disk().counts().changes;
    // Longer lives get their crash later, else they would not be longer.
    let span = [12, 60, 250, 800][rng.index(4)] * u64::from((configuration.steps_max / 120).max(1));
    let soon = |rng: &mut Rng| Some(so_far + 1 + rng.below(span));
    let mut faults = Faults { crash_at_change: soon(rng), ..Faults::default() };
    match rng.below(20) {
        0 => faults.fail_sync_at_change = soon(rng),
        1 => faults.fail_write_at_change = soon(rng),
        2 if !is_new => faults.space_bytes_max = Some(1 << 20),
        3 if !is_new => faults.fail_reads_per_million = 20_000,
        _ => {}
    }
    world.disk().plan(faults.clone());
    faults
}

/// One life of the store.
struct Life<'a> {
    env: Env,
    world: &'a SimWorld,
    options: Options,
    rng: Rng,
    history: &'a mut History,
    statistics: &'a mut Statistics,
    trace: bool,
    next_name: u32,
    is_hot: bool,
    /// What is planned now.
    faults: Faults,
    /// Some time the disk will be full.
    fills_up: bool,
    /// Transactions now and then change more than the pool holds.
    is_bulky: bool,
    /// One is at it.
    in_bulk: bool,
    /// Trees that it makes get hundreds of leaves.
    fills_trees: bool,
}

macro_rules! trace {
    ($life:expr, $($text:tt)*) => {
        if $life.trace {
            eprintln!($($text)*);
        }
    };
}

/// An open transaction and what the model knows of it.
struct Open {
    /// For traces.
    name: u32,
    txn: Transaction,
    changes: Changes,
    /// Everything it may hold a lock on.
    touched: BTreeSet<(TreeNumber, Vec<u8>)>,
    savepoints: Vec<(Savepoint, Changes)>,
    /// Its snapshot, once it has read.
    view: Option<(ReadView, Rc<State>)>,
    /// It made or dropped a tree: it then does nothing else, as DDL commits by itself.
    is_ddl: bool,
}

impl Open {
    fn new(name: u32, txn: Transaction) -> Open {
        Open {
            name,
            txn,
            changes: Changes::default(),
            touched: BTreeSet::new(),
            savepoints: Vec::new(),
            view: None,
            is_ddl: false,
        }
    }
}

const OPEN_MAX: usize = 4;
/// Three quarters of them change a row, some 250 KB in all, beside a pool of perhaps 24 pages of 16 KiB.
const BULK_WRITES: usize = 120;
const TREES_MAX: usize = 5;
/// A tree that is filled gets this many rows: some 250 leaves in three levels.
const FILL_ROWS: u32 = 800;
const FILL_ROWS_PER_COMMIT: u32 = 100;
/// An index tree's key is this and the first bytes of the value, then the key; its table's tree is the one before it.
const INDEXED_BYTES: usize = 2;

impl Life<'_> {
    fn live(&mut self, steps_max: u32, is_new: &mut bool) -> Step {
        if self.fills_trees && !*is_new && self.faults.fail_reads_per_million == 0 {
            // Also what is half freed names only pages that there are.
            match check_files(&self.env, Path::new("/data")) {
                Ok(report) if report.damages.is_empty() => {}
                Ok(report) => return wrong(format!("the files are damaged: {:?}", report.damages)),
                Err(_) if self.excused() => return Err(Halt::Stopped),
                Err(error) => return wrong(format!("the files cannot be checked: {error}")),
            }
        }
        let store = match Store::open(&self.env, Path::new("/data"), self.options.clone()) {
            Ok(store) => store,
            Err(error) => {
                if self.excused() {
                    return Err(Halt::Stopped);
                }
                return wrong(format!("does not open: {error}"));
            }
        };
        self.compare(&store, *is_new)?;
        *is_new = false;
        let mut open: Vec<Open> = Vec::new();
        let mut views: Vec<(ReadView, Rc<State>)> = Vec::new();
        for _ in 0..steps_max {
            let outcome = self.step(&store, &mut open, &mut views);
            if outcome.is_err() {
                self.note_undo(&store);
            }
            outcome?;
            if self.rng.below(u64::from(steps_max) * 2) == 0 {
                // A clean end instead: nothing may be missing afterwards, not even commits that were not waited for.
                open.clear();
                views.clear();
                let closed = store.close();
                if !closed.as_ref().is_err_and(|error| self.is_for_want_of_space(error)) {
                    self.excuse(closed)?;
                }
                self.note_undo(&store);
                drop(store);
                self.history.durable(u64::MAX);
                self.statistics.closes += 1;
                return self.live(steps_max / 2, is_new);
            }
        }
        self.note_undo(&store);
        Ok(())
    }

    fn note_undo(&mut self, store: &Store) {
        let status = store.status();
        self.statistics.segments_spilled += status.undo_segments_spilled;
        self.statistics.undo_blocks_read += status.undo_blocks_read;
        self.statistics.versions_merged += status.versions_merged;
        self.statistics.log_parts += status.log_parts;
    }

    /// Whether a failure is the simulation's own doing.
    fn excused(&self) -> bool {
        self.world.disk().is_crashed() || self.world.disk().has_failed()
    }

    /// A failure of the store is fine if it was planned.
    fn excuse<T>(&self, result: Result<T, StoreError>) -> Step<T> {
        match result {
            Ok(value) => Ok(value),
            Err(_) if self.excused() => Err(Halt::Stopped),
            Err(error) => wrong(format!("fails without a cause: {error}")),
        }
    }

    /// Whether the disk is full just now, and that is why something was refused. The store goes on.
    fn is_for_want_of_space(&self, error: &StoreError) -> bool {
        matches!(error, StoreError::DiskFull { .. })
            && self.faults.space_bytes_max.is_some()
            && !self.world.disk().is_crashed()
    }

    /// A write that failed. Without a file for undo or space on the disk, or in a transaction that goes back too far in
    /// the log, the statement is undone and the run goes on.
    fn refused(&mut self, error: StoreError) -> Step<bool> {
        if self.is_too_long(&error) {
            return Ok(false);
        }
        let only_undo = matches!(error, StoreError::UndoFile { .. })
            && self.world.disk().has_failed()
            && !self.world.disk().is_crashed();
        if only_undo || self.is_for_want_of_space(&error) {
            self.statistics.refused += 1;
            return Ok(false);
        }
        self.excuse(Err(error))
    }

    /// The disk fills up, or space is freed.
    fn change_space(&mut self) {
        if self.fills_up && self.rng.below(20) == 0 {
            self.fills_up = false;
            let cannot_reserve = self.rng.below(3) == 0;
            let most = [1, 40 << 10, 300 << 10, 1 << 20][self.rng.index(4)];
            let space = self.rng.below(most);
            self.faults.cannot_reserve = cannot_reserve;
            self.faults.space_bytes_max = Some(self.world.disk().used_bytes(cannot_reserve) + space);
            self.statistics.fillings += 1;
        } else if self.faults.space_bytes_max.is_some() && self.rng.below(50) == 0 {
            self.faults.space_bytes_max = None;
        } else {
            return;
        }
        trace!(self, "space: {:?}", self.faults);
        self.world.disk().plan(self.faults.clone());
    }

    /// Whether a transaction was refused for going back too far in a log that keeps little.
    fn is_too_long(&mut self, error: &StoreError) -> bool {
        let is = matches!(error, StoreError::TransactionTooLong { .. })
            && self.options.log.transaction_span_bytes_max < u64::MAX;
        self.statistics.too_long += u64::from(is);
        is
    }

    fn excuse_write<T>(&self, result: Result<T, WriteError>) -> Step<T> {
        match result {
            Ok(value) => Ok(value),
            Err(WriteError::Store(error)) => self.excuse(Err(error)),
            Err(error) => wrong(format!("a write that nothing stands against: {error}")),
        }
    }

    /// After opening: the whole content is one of the possible states, and sound.
    fn compare(&mut self, store: &Store, is_new: bool) -> Step {
        // Trees whose drop has committed are freed when purge reaches them; nothing delays it here.
        loop {
            let more = store.purge_tick();
            if !self.excuse(more)? {
                break;
            }
        }
        let mut found = State::default();
        for id in store.tree_ids() {
            let rows = self.read_all(store, id)?;
            found.trees.insert(id.0, Rc::new(rows));
        }
        if is_new {
            // The trees that always exist.
            if found.trees.values().any(|rows| !rows.is_empty()) {
                return wrong("a new store is not empty");
            }
            let changes = Changes { created: found.trees.keys().copied().collect(), ..Changes::default() };
            if self.history.newest().trees.is_empty() {
                self.history.commit(0, &changes);
                self.history.durable(0);
            }
        }
        trace!(self, "opened, {} candidates, trees {:?}", self.history.candidate_count(), found.trees.keys());
        let _position = self.history.survived(&found).map_err(Halt::Wrong)?;
        let checked = store.check();
        if let Err(error) = checked {
            return match self.excused() {
                true => Err(Halt::Stopped),
                false => wrong(format!("is not sound: {error}")),
            };
        }
        check_indexes(&found)
    }

    fn read_all(&self, store: &Store, id: TreeId) -> Step<Rows> {
        let tree = self.excuse(store.tree(id))?;
        self.excuse(stored_rows(store, &tree, &store.read_view()))
    }

    fn step(&mut self, store: &Store, open: &mut Vec<Open>, views: &mut Vec<(ReadView, Rc<State>)>) -> Step {
        self.change_space();
        let roll = self.rng.below(100);
        if roll < 6 || open.is_empty() {
            if open.len() < OPEN_MAX {
                self.next_name += 1;
                open.push(Open::new(self.next_name, store.begin()));
            }
            return Ok(());
        }
        let index = self.rng.index(open.len());
        match roll {
            6..=51 if self.is_bulky && self.rng.below(24) == 0 => {
                self.in_bulk = true;
                let done = (0..BULK_WRITES).try_for_each(|_| self.write(store, open, index));
                self.in_bulk = false;
                done
            }
            6..=51 => self.write(store, open, index),
            52..=58 => self.read_own(store, &mut open[index]),
            59..=63 => self.lock(store, open, index),
            64..=67 => {
                let one = &mut open[index];
                if self.rng.chance(500) || one.savepoints.is_empty() {
                    one.savepoints.push((one.txn.savepoint(), one.changes.clone()));
                } else {
                    let at = self.rng.index(one.savepoints.len());
                    one.savepoints.truncate(at + 1);
                    let (savepoint, changes) = &one.savepoints[at];
                    one.changes = changes.clone();
                    let result = one.txn.rollback_to(savepoint);
                    trace!(self, "{} rollback to: {result:?}", one.name);
                    self.excuse(result)?;
                }
                Ok(())
            }
            68..=70 => {
                // A snapshot that stays for a while.
                if views.len() < 3 {
                    views.push((store.read_view(), self.history.newest()));
                    trace!(self, "view {:?}", views.last().map(|(view, _)| view.csn()));
                } else {
                    let at = self.rng.index(views.len());
                    let (view, state) = views.swap_remove(at);
                    self.read_snapshot(store, &view, &state, &Changes::default(), None)?;
                }
                Ok(())
            }
            71..=84 => self.commit(store, open, index),
            85..=88 => {
                let one = open.swap_remove(index);
                self.statistics.rollbacks += 1;
                let result = one.txn.rollback();
                trace!(self, "{} rollback: {result:?}", one.name);
                self.excuse(result)
            }
            89..=91 => self.change_trees(store, open, views, index),
            92..=93 => {
                let result = store.checkpoint_now();
                trace!(self, "checkpoint: {result:?}");
                if result.as_ref().is_err_and(|error| self.is_for_want_of_space(error)) {
                    self.statistics.given_up += 1;
                    return Ok(());
                }
                self.excuse(result)?;
                self.statistics.checkpoints += 1;
                Ok(())
            }
            94..=96 => {
                let result = store.purge_tick();
                trace!(self, "purge: {result:?}");
                if result.as_ref().is_err_and(|error| self.is_for_want_of_space(error)) {
                    return Ok(());
                }
                self.excuse(result).map(drop)
            }
            _ => {
                let position = store.newest_position();
                let result = store.sync_to(position);
                self.excuse(result)?;
                self.note_durable(store)
            }
        }
    }

    fn note_durable(&mut self, store: &Store) -> Step {
        // Under the other policies an acknowledged commit may be lost with the machine.
        if self.options.log.flush_policy == FlushPolicy::AtCommit {
            self.history.durable(store.durable_position().0);
            self.statistics.durable += 1;
        }
        Ok(())
    }

    /// A tree that has data, and the one that is its index, if it has one.
    fn pick_tree(&mut self) -> Option<TreeNumber> {
        let state = self.history.newest();
        let trees: Vec<TreeNumber> = state.trees.keys().copied().filter(|&tree| !is_index(tree)).collect();
        let first = self.rng.index(trees.len().clamp(1, 2));
        let any = self.rng.index(trees.len().max(1));
        // Mostly few trees, so that transactions meet.
        trees.get(if self.rng.chance(700) { first } else { any }).copied()
    }

    fn key(&mut self) -> Vec<u8> {
        let number = match self.is_hot {
            // Few rows, changed again and again.
            true => self.rng.below(4),
            false if self.in_bulk => self.rng.below(400),
            false => self.rng.below([20, 60, 400][self.rng.clone().index(3)]),
        };
        let mut key = format!("k{number:04}").into_bytes();
        if number % 17 == 3 {
            key.resize(40 + (number as usize * 7) % 600, b'x');
        }
        key
    }

    fn value(&mut self) -> Vec<u8> {
        let len = match self.rng.below(10) {
            _ if self.in_bulk => 2_500 + self.rng.index(700),
            0 => 0,
            1..=5 => self.rng.index(40),
            6..=8 => self.rng.index(500),
            _ => 1500 + self.rng.index(1700),
        };
        let mut value = vec![0; len];
        self.rng.fill(&mut value);
        value
    }

    /// One row written, and its index entry with it: one statement, undone whole if a part fails.
    fn write(&mut self, store: &Store, open: &mut [Open], index: usize) -> Step {
        if open[index].is_ddl {
            return Ok(());
        }
        let Some(number) = self.pick_tree() else { return Ok(()) };
        let newest = self.history.newest();
        let index_tree =
            newest.trees.contains_key(&(number + 1)).then_some(number + 1).filter(|&tree| is_index(tree));
        let (key, value) = (self.key(), self.value());
        let before = open[index].changes.clone();
        let savepoint = open[index].txn.savepoint();
        let done = self.write_row(store, open, index, number, index_tree, &key, value);
        match done {
            Ok(true) => Ok(()),
            Ok(false) => {
                // A conflict: the statement is undone.
                self.statistics.conflicts += 1;
                open[index].changes = before;
                let result = open[index].txn.rollback_to(&savepoint);
                self.excuse(result)
            }
            Err(halt) => Err(halt),
        }
    }

    /// False after a lock conflict.
    #[allow(clippy::too_many_lines, reason = "one case per kind of write, each short")]
    fn write_row(
        &mut self,
        store: &Store,
        open: &mut [Open],
        index: usize,
        number: TreeNumber,
        index_tree: Option<TreeNumber>,
        key: &[u8],
        value: Vec<u8>,
    ) -> Step<bool> {
        let newest = self.history.newest();
        let tree = self.excuse(store.tree(TreeId(number)))?;
        let current = open[index].changes.get(&newest, number, key).cloned();
        let kind = self.rng.below(4);
        let others = others_hold(open, index, number, key);
        let one = &mut open[index];
        one.touched.insert((number, key.to_vec()));
        let result = match kind {
            0 => one.txn.insert(&tree, key, &value, LockWait::Nowait).map(|()| true),
            1 => one.txn.update(&tree, key, &value, LockWait::Nowait),
            2 => one.txn.delete(&tree, key, LockWait::Nowait),
            _ => one.txn.put(&tree, key, &value, LockWait::Nowait).map(|()| true),
        };
        trace!(
            self,
            "{} write {kind} tree {number} key {:?}: {result:?}",
            one.name,
            String::from_utf8_lossy(key)
        );
        match result {
            Ok(_) if others == Others::Changed => {
                wrong(format!("writes over another's uncommitted record, tree {number}"))
            }
            Ok(changed) => {
                let expected = match kind {
                    0 => current.is_none(),
                    1 | 2 => current.is_some(),
                    _ => true,
                };
                if kind == 0 && !expected {
                    return wrong(format!("inserts a duplicate in tree {number}"));
                }
                if changed != expected {
                    return wrong(format!("write kind {kind} in tree {number} says {changed}"));
                }
                if !changed {
                    return Ok(true);
                }
                let after = (kind != 2).then_some(value);
                one.changes.rows.insert((number, key.to_vec()), after.clone());
                let Some(index_number) = index_tree else { return Ok(true) };
                self.write_index(store, open, index, index_number, key, current.as_deref(), after.as_deref())
            }
            Err(WriteError::DuplicateKey) if kind == 0 && current.is_some() && others != Others::Changed => {
                Ok(true)
            }
            Err(WriteError::Locked { .. }) if others != Others::Free => Ok(false),
            Err(WriteError::Store(error)) => self.refused(error),
            Err(error) => wrong(format!("write kind {kind} in tree {number} ({others:?}): {error}")),
        }
    }

    /// Keeps the index of a row: an entry per row, its key made of the value's first bytes and the row's key.
    fn write_index(
        &mut self,
        store: &Store,
        open: &mut [Open],
        index: usize,
        number: TreeNumber,
        key: &[u8],
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Step<bool> {
        let tree = self.excuse(store.tree(TreeId(number)))?;
        let (old, new) =
            (before.map(|value| index_key(key, value)), after.map(|value| index_key(key, value)));
        if old == new {
            return Ok(true);
        }
        for (entry, is_insert) in [(old, false), (new, true)] {
            let Some(entry) = entry else { continue };
            let others = others_hold(open, index, number, &entry);
            let one = &mut open[index];
            one.touched.insert((number, entry.clone()));
            let result = if is_insert {
                one.txn.insert(&tree, &entry, &[], LockWait::Nowait).map(|()| true)
            } else {
                one.txn.delete(&tree, &entry, LockWait::Nowait)
            };
            match result {
                Ok(true) => {
                    one.changes.rows.insert((number, entry), is_insert.then(Vec::new));
                }
                Ok(false) => return wrong("an index entry is missing"),
                Err(WriteError::Locked { .. }) if others != Others::Free => return Ok(false),
                Err(WriteError::Store(error)) => return self.refused(error),
                Err(error) => return wrong(format!("index entry ({others:?}): {error}")),
            }
        }
        Ok(true)
    }

    fn lock(&mut self, store: &Store, open: &mut [Open], index: usize) -> Step {
        if open[index].is_ddl {
            return Ok(());
        }
        let Some(number) = self.pick_tree() else { return Ok(()) };
        let key = self.key();
        let tree = self.excuse(store.tree(TreeId(number)))?;
        let newest = self.history.newest();
        let expected = open[index].changes.get(&newest, number, &key).cloned();
        let others = others_hold(open, index, number, &key);
        let mode = if self.rng.chance(500) { LockMode::Shared } else { LockMode::Exclusive };
        let skip = self.rng.chance(300);
        let wait = if skip { LockWait::Skip } else { LockWait::Nowait };
        let one = &mut open[index];
        one.touched.insert((number, key.clone()));
        self.statistics.reads += 1;
        match one.txn.lock_current(&tree, &key, mode, wait, <[u8]>::to_vec) {
            Ok(Locked::Skipped) if skip && others != Others::Free => Ok(()),
            Err(WriteError::Locked { .. }) if !skip && others != Others::Free => Ok(()),
            Ok(Locked::Row(found)) if others != Others::Changed && expected.as_ref() == Some(&found) => {
                Ok(())
            }
            Ok(Locked::Absent) if others != Others::Changed && expected.is_none() => Ok(()),
            Err(WriteError::Store(error)) => self.refused(error).map(drop),
            Ok(_) => wrong(format!("a locking read in tree {number} ({others:?}) gives something else")),
            Err(error) => wrong(format!("a locking read in tree {number} ({others:?}): {error}")),
        }
    }

    /// A repeatable read: the snapshot of the transaction's first read, and its own changes.
    fn read_own(&mut self, store: &Store, one: &mut Open) -> Step {
        if one.view.is_none() {
            one.view = Some((store.read_view(), self.history.newest()));
            trace!(self, "{} view {:?}", one.name, one.view.as_ref().map(|(view, _)| view.csn()));
        }
        let Some((view, state)) = one.view.take() else { return Ok(()) };
        let result = self.read_snapshot(store, &view, &state, &one.changes, Some(&one.txn));
        one.view = Some((view, state));
        result
    }

    fn read_snapshot(
        &mut self,
        store: &Store,
        view: &ReadView,
        state: &State,
        own: &Changes,
        txn: Option<&Transaction>,
    ) -> Step {
        self.statistics.reads += 1;
        let Some(number) = self.pick_tree() else { return Ok(()) };
        if !state.trees.contains_key(&number) {
            return Ok(()); // Made after the snapshot; the dictionary would not show it.
        }
        let tree = match store.tree(TreeId(number)) {
            Err(StoreError::TreeGone(_)) if !self.history.newest().trees.contains_key(&number) => {
                return Ok(());
            }
            other => self.excuse(other)?,
        };
        let reader = || txn.map_or_else(|| view.reader(), |txn| txn.reader(view));
        if self.rng.chance(500) {
            let key = self.key();
            let result = store.get(&tree, &key, reader(), <[u8]>::to_vec);
            let found = self.excuse(result)?;
            if found.as_ref() != own.get(state, number, &key) {
                return wrong(format!("a snapshot of tree {number} reads another value"));
            }
            return Ok(());
        }
        let (low, high) = {
            let (one, other) = (self.key(), self.key());
            if one <= other { (one, other) } else { (other, one) }
        };
        let bounds = match self.rng.below(4) {
            0 => (Bound::Unbounded, Bound::Unbounded),
            1 => (Bound::Excluded(low), Bound::Unbounded),
            2 => (Bound::Unbounded, Bound::Included(high)),
            _ => (Bound::Included(low), Bound::Excluded(high)),
        };
        let backward = self.rng.chance(500);
        let stop_after = if self.rng.chance(300) { 1 + self.rng.index(5) } else { usize::MAX };
        let range = ScanRange {
            lower: bounds.0.as_ref().map(Vec::as_slice),
            upper: bounds.1.as_ref().map(Vec::as_slice),
            direction: if backward { Direction::Backward } else { Direction::Forward },
        };
        let rows = own.rows_over(state, number);
        let empty =
            matches!((&bounds.0, &bounds.1), (Bound::Included(low), Bound::Excluded(high)) if low >= high);
        let mut expected: Vec<(Vec<u8>, Vec<u8>)> = if empty {
            Vec::new()
        } else {
            rows.range(bounds.clone()).map(|(k, v)| (k.clone(), v.clone())).collect()
        };
        if backward {
            expected.reverse();
        }
        let mut found = Vec::new();
        let mut scan = store.scan(&tree, &range);
        loop {
            let mut in_batch = 0;
            let more = scan.next_batch(reader(), |key, value| {
                found.push((key.to_vec(), value.to_vec()));
                in_batch += 1;
                if in_batch >= stop_after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if !self.excuse(more)? {
                break;
            }
        }
        if found != expected {
            trace!(self, "range {range:?} view {:?} own {:?}", view.csn(), txn.map(Transaction::id));
            for (key, _) in &found {
                trace!(self, "found    {:?}", String::from_utf8_lossy(key));
            }
            for (key, _) in &expected {
                trace!(self, "expected {:?}", String::from_utf8_lossy(key));
            }
            return wrong(format!(
                "a scan of tree {number} gives {} records, not {} (backward {backward})",
                found.len(),
                expected.len()
            ));
        }
        Ok(())
    }

    fn commit(&mut self, store: &Store, open: &mut Vec<Open>, index: usize) -> Step {
        let one = open.swap_remove(index);
        let was_empty = one.changes.is_empty();
        let outcome = one.txn.commit();
        trace!(
            self,
            "{} commit: {outcome:?}, trees +{:?} -{:?}", one.name, one.changes.created, one.changes.dropped
        );
        match outcome {
            Ok(None) if was_empty => Ok(()),
            Ok(None) => wrong("a commit with changes has no position"),
            Ok(Some(position)) => {
                // Changes undone by a savepoint may leave a commit with nothing in it.
                self.history.commit(position.0, &one.changes);
                self.statistics.commits += 1;
                if self.rng.chance(400) {
                    trace!(self, "sync to {position:?}");
                    let result = store.sync_to(position);
                    self.excuse(result)?;
                    self.note_durable(store)?;
                }
                Ok(())
            }
            Err(error) if self.is_for_want_of_space(&error) => {
                // Nothing of it happened.
                self.statistics.refused += 1;
                Ok(())
            }
            // It is rolled back, and nothing of it may ever be seen.
            Err(error) if self.is_too_long(&error) => Ok(()),
            Err(error) => {
                // The outcome was not reported; if it was committed, then as a whole.
                self.history.commit(u64::MAX, &one.changes);
                self.excuse(Err(error))
            }
        }
    }

    /// Gives a tree enough rows for hundreds of leaves.
    fn fill(&mut self, store: &Store, number: TreeNumber) -> Step {
        let tree = self.excuse(store.tree(TreeId(number)))?;
        // No power cut before it is there: it takes more changes of the disk than a life has.
        let crash_at_change = self.faults.crash_at_change.take();
        self.world.disk().plan(self.faults.clone());
        for first in (0..FILL_ROWS).step_by(FILL_ROWS_PER_COMMIT as usize) {
            let mut one = Open::new(0, store.begin());
            for row in first..first + FILL_ROWS_PER_COMMIT {
                let key = fill_key(row * 7_919 % FILL_ROWS);
                let value = vec![row as u8; 3_000];
                match one.txn.insert(&tree, &key, &value, LockWait::Nowait) {
                    Ok(()) => drop(one.changes.rows.insert((number, key), Some(value))),
                    Err(WriteError::Store(error)) => {
                        self.refused(error)?;
                        let result = one.txn.rollback();
                        return self.excuse(result);
                    }
                    Err(error) => return wrong(format!("a row of a new tree: {error}")),
                }
            }
            self.commit(store, &mut vec![one], 0)?;
        }
        self.statistics.filled += 1;
        if crash_at_change.is_some() {
            let so_far = self.world.disk().counts().changes;
            self.faults.crash_at_change = Some(so_far + 1 + self.rng.below(400));
            self.world.disk().plan(self.faults.clone());
        }
        if self.rng.chance(700) { self.drop_filled(store, number) } else { Ok(()) }
    }

    /// Drops a tree that only the newest snapshots know; purge begins with it, with a checkpoint in between or not.
    fn drop_filled(&mut self, store: &Store, number: TreeNumber) -> Step {
        let mut one = Open::new(0, store.begin());
        let result = one.txn.drop_tree(TreeId(number), LockWait::Nowait);
        if self.lacks_space(&result) {
            return self.give_up(&mut vec![one], 0);
        }
        self.excuse_write(result)?;
        one.changes.dropped.push(number);
        self.commit(store, &mut vec![one], 0)?;
        let result = store.sync_to(store.newest_position());
        self.excuse(result)?;
        self.note_durable(store)?;
        for _ in 0..self.rng.below(4) {
            let done = match self.rng.below(3) {
                0 => store.checkpoint_now(),
                _ => store.purge_tick().map(drop),
            };
            if !done.as_ref().is_err_and(|error| self.is_for_want_of_space(error)) {
                self.excuse(done)?;
            }
        }
        Ok(())
    }

    fn lacks_space<T>(&self, result: &Result<T, WriteError>) -> bool {
        matches!(result, Err(WriteError::Store(error)) if self.is_for_want_of_space(error))
    }

    /// Rolls back a transaction that found no space.
    fn give_up(&mut self, open: &mut Vec<Open>, index: usize) -> Step {
        self.statistics.refused += 1;
        let result = open.swap_remove(index).txn.rollback();
        self.excuse(result)
    }

    /// Makes or drops a tree, in a transaction of its own.
    fn change_trees(
        &mut self,
        store: &Store,
        open: &mut Vec<Open>,
        views: &[(ReadView, Rc<State>)],
        index: usize,
    ) -> Step {
        let state = self.history.newest();
        if !open[index].touched.is_empty() || open[index].is_ddl || open[index].view.is_some() {
            return Ok(());
        }
        let made: Vec<TreeNumber> =
            state.trees.keys().copied().filter(|tree| *tree >= TreeId::FIRST_FREE.0).collect();
        // A tree is dropped under a metadata lock: no other transaction uses it.
        let used: BTreeSet<TreeNumber> =
            open.iter().flat_map(|one| one.touched.iter().map(|(tree, _)| *tree)).collect();
        let droppable: Vec<TreeNumber> = made.iter().copied().filter(|tree| !used.contains(tree)).collect();
        let being_dropped: BTreeSet<TreeNumber> =
            open.iter().flat_map(|one| one.changes.dropped.iter().copied()).collect();
        let one = &mut open[index];
        if made.len() < TREES_MAX && (droppable.is_empty() || self.rng.chance(600)) {
            let result = one.txn.create_tree();
            if self.lacks_space(&result) {
                return self.give_up(open, index);
            }
            let tree = self.excuse_write(result)?;
            one.changes.created.push(tree.0);
        } else {
            let Some(&tree) = droppable.get(self.rng.index(droppable.len().max(1))) else { return Ok(()) };
            if being_dropped.contains(&tree) || views.iter().any(|(_, state)| state.trees.contains_key(&tree))
            {
                return Ok(());
            }
            let result = one.txn.drop_tree(TreeId(tree), LockWait::Nowait);
            if self.lacks_space(&result) {
                return self.give_up(open, index);
            }
            self.excuse_write(result)?;
            one.changes.dropped.push(tree);
        }
        one.is_ddl = true;
        let made = one.changes.created.first().copied();
        if self.rng.chance(800) {
            self.commit(store, open, index)?;
            return match made {
                Some(tree) if self.fills_trees && self.history.newest().trees.contains_key(&tree) => {
                    self.fill(store, tree)
                }
                _ => Ok(()),
            };
        }
        let one = open.swap_remove(index);
        self.statistics.rollbacks += 1;
        let result = one.txn.rollback();
        trace!(
            self,
            "{} trees +{:?} -{:?}: rollback {result:?}", one.name, one.changes.created, one.changes.dropped
        );
        self.excuse(result)
    }
}

/// What other open transactions may have to do with a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Others {
    /// Nothing: it must not be locked.
    Free,
    /// Somebody touched it, and may hold a lock or not.
    Touched,
    /// Somebody has changed it: it must be locked.
    Changed,
}

fn others_hold(open: &[Open], index: usize, tree: TreeNumber, key: &[u8]) -> Others {
    let place = (tree, key.to_vec());
    let mut others = Others::Free;
    for (at, other) in open.iter().enumerate() {
        if at == index {
            continue;
        }
        if other.changes.rows.contains_key(&place) {
            return Others::Changed;
        }
        if other.touched.contains(&place) {
            others = Others::Touched;
        }
    }
    others
}

/// Of the trees that always exist, those with even numbers are indexes of the one before them.
fn is_index(tree: TreeNumber) -> bool {
    tree < TreeId::FIRST_FREE.0 && tree.is_multiple_of(2)
}

/// Long, and unlike most neighbours only at the end: few of them fit a node above the leaves.
fn fill_key(row: u32) -> Vec<u8> {
    let mut key = vec![b'f' + (row / 40) as u8; 700];
    key.extend_from_slice(&row.to_be_bytes());
    key
}

fn index_key(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut entry = value[..value.len().min(INDEXED_BYTES)].to_vec();
    entry.resize(INDEXED_BYTES, 0);
    entry.extend_from_slice(key);
    entry
}

/// Every row of a table's tree has its entry in the index tree, and no entry is without its row.
fn check_indexes(state: &State) -> Step {
    let empty = Rc::new(Rows::new());
    for (number, entries) in &state.trees {
        if !is_index(*number) {
            continue;
        }
        let rows = state.trees.get(&(number - 1)).unwrap_or(&empty);
        let expected: BTreeMap<Vec<u8>, ()> =
            rows.iter().map(|(key, value)| (index_key(key, value), ())).collect();
        if !entries.keys().eq(expected.keys()) {
            return wrong(format!(
                "index tree {number} has {} entries for {} rows",
                entries.len(),
                rows.len()
            ));
        }
    }
    Ok(())
}
