//! Runs with flipped bits: every bit that flips in a file is found and named, or does no harm.
//!
//! The store works in a few trees, with long transactions and snapshots, so that pages are evicted and read again, undo
//! is spilled to its file, and checkpoints save what still runs. Now and then a bit flips in a file (data, log, undo;
//! at a rate drawn for each simulation), while the store is open or after its end. Every read returns the flipped bit
//! until its byte is written again.
//!
//! What is demanded:
//! 1. A read gives what the model says, or fails; a write is done or fails. Nothing is ever wrong in silence, nobody
//!    panics.
//! 2. A failure names a flipped bit's place: its block of the data file, the log, or the file of old versions; and of a
//!    page the tree in which it was met. Reads and writes that need none of these places go on.
//! 3. `check_files` names flipped bits only. If the store does not open, it has named one; if a tree cannot be read, it
//!    has named that tree.
//! 4. When all bits are turned back the store opens, and holds exactly what was committed, whatever was done meanwhile.
//!
//! One kind of flip cannot be distinguished from another failure. Nothing says yet that the last flush of the log before a crash
//! was durable, so a bit that flips there looks like a torn write, and the log ends before it. If the newest superblock
//! is damaged as well, the same is true of the log up to its checkpoint. [`Statistics::lost_tails`] counts that.

use crate::crash::{Halt, Step, wrong};
use crate::model::{Changes, History, Rows, State, TreeNumber, stored_rows};
use env::random::Rng;
use env::simulated::{Faults, SimWorld};
use std::path::Path;
use std::rc::Rc;
use store::wal::LogOptions;
use store::{
    FileReport, LockWait, OpenError, Options, PAGE_BYTES, ReadView, Store, StoreError, Transaction, TreeId,
    WriteError, check_files,
};

const FOLDER: &str = "/data";
const ROUNDS: u32 = 4;
const STEPS: u32 = 70;
const TREES: std::ops::RangeInclusive<TreeNumber> = 1..=4;
const NOWAIT: LockWait = LockWait::Nowait;
/// Keys of one owner in a tree: with values of 1 KB on average some 30 pages a tree.
const KEYS: u64 = 120;
/// Transactions that stay open for a while have keys of their own, as no transaction may wait here.
const LONG_MAX: usize = 2;

/// What runs with flipped bits went through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// Runs.
    pub runs: u64,
    /// Crashes and clean ends, each followed by an opening and a comparison.
    pub crashes: u64,
    /// Bits flipped.
    pub flips: u64,
    /// Bits that were still wrong when everything was turned back; the others had been written over.
    pub mended: u64,
    /// Failures of single reads and writes, each of which named its flip.
    pub failures: u64,
    /// Times the store stopped because it could not go on without what was damaged.
    pub stops: u64,
    /// Openings that were refused.
    pub refused: u64,
    /// Damages that `check_files` named.
    pub named: u64,
    /// Trees that could not be read after an opening, beside others that could.
    pub unreadable: u64,
    /// Openings with flipped bits that had no effect.
    pub unhurt: u64,
    /// Ends of the log that were taken for torn.
    pub lost_tails: u64,
    /// Trees read whole and compared.
    pub reads: u64,
    /// Commits.
    pub commits: u64,
}

impl Statistics {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Statistics) {
        self.runs += other.runs;
        self.crashes += other.crashes;
        self.flips += other.flips;
        self.mended += other.mended;
        self.failures += other.failures;
        self.stops += other.stops;
        self.refused += other.refused;
        self.named += other.named;
        self.unreadable += other.unreadable;
        self.unhurt += other.unhurt;
        self.lost_tails += other.lost_tails;
        self.reads += other.reads;
        self.commits += other.commits;
    }
}

#[derive(Clone, Debug)]
struct Flip {
    file: String,
    offset: usize,
    bit: u8,
}

impl Flip {
    fn block(&self) -> u32 {
        (self.offset / PAGE_BYTES) as u32
    }
}

/// A transaction that stays open.
struct Long {
    txn: Transaction,
    changes: Changes,
    owner: u8,
}

type View = (ReadView, Rc<State>);

struct Simulation {
    world: SimWorld,
    options: Options,
    rng: Rng,
    history: History,
    /// Positions that were durable: the newest, and the one before it.
    durable: (u64, u64),
    /// Flipped since everything was last turned back; some may be written over by now.
    flips: Vec<Flip>,
    flips_per_thousand: u64,
    statistics: Statistics,
    trace: bool,
}

/// Makes the run of a seed.
///
/// # Errors
/// What went wrong, with the seed, the rate and the bits.
pub fn run(seed: u64, trace: bool) -> Result<Statistics, String> {
    let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(61));
    let options = Options {
        buffer_pool_bytes: [24, 32, 64][rng.index(3)] * PAGE_BYTES as u64,
        log: LogOptions {
            segment_bytes: [32 << 10, 128 << 10][rng.index(2)],
            buffer_bytes_max: [4 << 10, 1 << 20][rng.index(2)],
            ..LogOptions::default()
        },
        background_threads: false,
        undo_memory_bytes: 1,
        undo_segment_bytes: 1 << 10,
        txn_log_memory_bytes: [300, 2 << 10, 4 << 20][rng.index(3)],
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    };
    let mut simulation = Simulation {
        world: SimWorld::new(seed),
        options,
        flips_per_thousand: [4, 15, 40, 120][rng.index(4)],
        rng,
        history: History::new(),
        durable: (0, 0),
        flips: Vec::new(),
        statistics: Statistics { runs: 1, ..Statistics::default() },
        trace,
    };
    let trees = Changes { created: TREES.collect(), ..Changes::default() };
    simulation.history.commit(0, &trees);
    simulation.history.durable(0);
    for round in 0..=ROUNDS {
        match simulation.round(round) {
            Ok(()) | Err(Halt::Stopped) => {}
            Err(Halt::Wrong(what)) => {
                let (rate, flips) = (simulation.flips_per_thousand, &simulation.flips);
                return Err(format!(
                    "flips seed {seed} round {round} ({rate} flips in 1000 steps): {what}; flipped: {flips:?}"
                ));
            }
        }
    }
    Ok(simulation.statistics)
}

impl Simulation {
    /// One life of the store, its end, and the bits that flip before the next one.
    fn round(&mut self, round: u32) -> Step {
        match self.life(round == ROUNDS) {
            Ok(()) | Err(Halt::Stopped) => {}
            wrong => return wrong,
        }
        self.world = self.world.crash();
        self.statistics.crashes += 1;
        for _ in 0..self.rng.index(3) {
            self.flip();
        }
        Ok(())
    }

    fn life(&mut self, is_last: bool) -> Step {
        let store = self.open()?;
        if is_last {
            return Ok(());
        }
        let span = [60, 250, 800][self.rng.index(3)];
        let soon = self.world.disk().counts().changes + 1 + self.rng.below(span);
        self.world.disk().plan(Faults { crash_at_change: Some(soon), ..Faults::default() });
        self.live(&store)?;
        if self.rng.chance(300) {
            let closed = store.close();
            if self.met(None, closed)?.is_some() {
                self.history.durable(u64::MAX);
                self.durable = (u64::MAX, u64::MAX);
            }
        }
        Ok(())
    }

    fn live(&mut self, store: &Store) -> Step {
        let mut long: Vec<Long> = Vec::new();
        let mut views: Vec<View> = Vec::new();
        for _ in 0..STEPS {
            if self.rng.chance(self.flips_per_thousand) {
                self.flip();
            }
            self.step(store, &mut long, &mut views)?;
            let durable = store.durable_position().0;
            if durable > self.durable.0 {
                // One flush back: the newest may be lost to a flipped bit.
                self.history.durable(self.durable.0);
                self.durable = (durable, self.durable.0);
            }
        }
        Ok(())
    }

    /// Flips a bit, in one of the files that matter.
    fn flip(&mut self) {
        let files = self.world.disk().lengths(Path::new(FOLDER));
        let kind = self.rng.index(10);
        let files: Vec<_> = files
            .into_iter()
            .filter(|(name, len)| {
                let wanted = match kind {
                    0..=5 => name == "data",
                    6 | 7 => name == "undo.tmp",
                    _ => name.starts_with("log."),
                };
                wanted && *len > 0
            })
            .collect();
        let Some((file, len)) = files.get(self.rng.index(files.len().max(1))).cloned() else { return };
        let offset = match self.rng.index(8) {
            // Superblocks and headers are short: now and then one of them.
            0 if file != "undo.tmp" => {
                self.rng.index(2) * PAGE_BYTES * usize::from(file == "data") + self.rng.index(80)
            }
            _ => self.rng.index(len),
        };
        let flip = Flip { file, offset, bit: self.rng.below(8) as u8 };
        if self.flips.iter().any(|other| (&other.file, other.offset) == (&flip.file, flip.offset)) {
            return; // It would be turned back.
        }
        if self.world.disk().flip_bit(Path::new(FOLDER), &flip.file, flip.offset, flip.bit) {
            self.trace(|| format!("{flip:?}, block {}", flip.block()));
            self.flips.push(flip);
            self.statistics.flips += 1;
        }
    }

    fn trace(&self, what: impl FnOnce() -> String) {
        if self.trace {
            eprintln!("{}", what());
        }
    }

    /// Whether a message names the page or offset of a flipped bit.
    fn is_named(&self, text: &str) -> bool {
        self.flips.iter().any(|flip| match flip.file.as_str() {
            "data" => {
                let number = flip.block().to_string();
                let names = ["block ", "Undo ", "Map ", "Directory "];
                let named = |name: &&str| {
                    let behind = text.split(*name).skip(1);
                    behind.map(leading_number).any(|found| found == number)
                };
                names.iter().any(named) || (flip.block() < 2 && text.contains("superblock"))
            }
            "undo.tmp" => text.contains("the file for old versions"),
            log => text.contains(log) || text.contains("log is damaged"),
        })
    }

    /// A result of the store's: none if a flipped bit stood in the way, and the store said so.
    fn met<T>(&mut self, tree: Option<TreeNumber>, result: Result<T, StoreError>) -> Step<Option<T>> {
        let error = match result {
            Ok(value) => return Ok(Some(value)),
            Err(_) if self.world.disk().is_crashed() => return Err(Halt::Stopped),
            Err(error) => error,
        };
        self.trace(|| format!("tree {tree:?}: {error}"));
        if !self.is_named(&error.to_string()) {
            return wrong(format!("fails without a cause: {error}"));
        }
        if let (Some(tree), StoreError::Corrupt { place: Some(place), .. }) = (tree, &error)
            && place.tree.0 != tree
        {
            return wrong(format!("tree {tree} fails by a page of tree {}: {error}", place.tree));
        }
        if matches!(error, StoreError::Stopped { .. }) {
            self.statistics.stops += 1;
            return Err(Halt::Stopped);
        }
        self.statistics.failures += 1;
        Ok(None)
    }

    /// Looks at the files, opens the store, compares it.
    fn open(&mut self) -> Step<Store> {
        let path = Path::new(FOLDER);
        let is_new = !self.world.disk().lengths(path).iter().any(|(name, _)| name == "data");
        let report = if is_new { FileReport::default() } else { self.check_files()? };
        let opened = Store::open(self.world.env(), path, self.options.clone());
        let store = match opened {
            Ok(store) => store,
            Err(error) => {
                self.trace(|| format!("does not open: {error}"));
                if !self.is_named(&error.to_string()) {
                    return wrong(format!("does not open: {error}"));
                }
                if report.damage_count == 0 {
                    return wrong(format!(
                        "does not open, and the check of the files found nothing: {error}"
                    ));
                }
                self.statistics.refused += 1;
                self.turn_back();
                let opened = Store::open(self.world.env(), path, self.options.clone());
                opened.or_else(|error| wrong(format!("does not open again: {error}")))?
            }
        };
        self.compare(&store, &report)?;
        Ok(store)
    }

    fn turn_back(&mut self) {
        self.statistics.mended += self.world.disk().mend() as u64;
        self.flips.clear();
        self.trace(|| "all bits are turned back".to_owned());
    }

    /// Every damage that is named is a flipped bit.
    fn check_files(&mut self) -> Step<FileReport> {
        let report = match check_files(self.world.env(), Path::new(FOLDER)) {
            Ok(report) => report,
            Err(OpenError::NewerFormat { found, .. }) => {
                return wrong(format!("says that it has format {found}"));
            }
            Err(error) => return wrong(format!("the files are not checked: {error}")),
        };
        // An older superblock leads to what was written over since.
        let is_doubtful = self.flips.iter().any(|flip| flip.file == "data" && flip.block() < 2);
        for damage in &report.damages {
            let is_flipped = self.flips.iter().any(|flip| match damage.block {
                Some(block) => flip.file == "data" && flip.block() == block,
                None if damage.file == "log" => flip.file.starts_with("log."),
                None => flip.file == damage.file,
            });
            if !is_flipped && !is_doubtful {
                return wrong(format!("the check of the files names what is not flipped: {damage:?}"));
            }
        }
        self.statistics.named += report.damage_count;
        Ok(report)
    }

    /// The content is one of the possible states, as far as it can be read; and all of it once the bits are turned back.
    fn compare(&mut self, store: &Store, report: &FileReport) -> Step {
        loop {
            let more = store.purge_tick();
            if self.met(None, more)? != Some(true) {
                break;
            }
        }
        let log_is_flipped = self.flips.iter().any(|flip| flip.file.starts_with("log."));
        let is_doubtful = self.flips.iter().any(|flip| flip.file == "data" && flip.block() < 2);
        let mut found = State::default();
        let mut unreadable = Vec::new();
        for tree in TREES {
            match self.read_newest(store, tree)? {
                Some(rows) => drop(found.trees.insert(tree, Rc::new(rows))),
                None => unreadable.push(tree),
            }
        }
        if !unreadable.is_empty() {
            for tree in &unreadable {
                if !report.damages.iter().any(|damage| damage.tree == Some(TreeId(*tree))) {
                    return wrong(format!(
                        "tree {tree} cannot be read, and the check of the files did not say so"
                    ));
                }
            }
            if !self.history.may_be(&found) {
                return wrong(format!("beside {unreadable:?} the other trees hold something else"));
            }
            self.statistics.unreadable += unreadable.len() as u64;
            self.use_others(store, &found)?;
            self.turn_back();
            for tree in unreadable {
                let Some(rows) = self.read_newest(store, tree)? else { return wrong("still damaged") };
                found.trees.insert(tree, Rc::new(rows));
            }
        } else if !self.flips.is_empty() {
            self.statistics.unhurt += 1;
        }
        let promised = self.history.newest_at(self.durable.0);
        let position = match self.history.survived(&found) {
            Ok(position) => position,
            Err(_) if log_is_flipped && is_doubtful => {
                // Which commit the state belongs to is not known any more: the run starts again with it.
                self.history = History::of(found);
                0
            }
            Err(what) => return wrong(what),
        };
        if position < promised {
            if !log_is_flipped {
                return wrong(format!("commits behind {position} are lost, that at {promised} was durable"));
            }
            self.statistics.lost_tails += 1;
        }
        self.durable = (position, position);
        let checked = store.check();
        self.met(None, checked).map(drop)
    }

    /// Trees that can be read can be written, too, and commits go through.
    fn use_others(&mut self, store: &Store, found: &State) -> Step {
        const KEY: &[u8] = b"another";
        for (&number, rows) in &found.trees {
            for put in [true, false] {
                let tree = store.tree(TreeId(number));
                let Some(tree) = self.met(Some(number), tree)? else { return wrong("a sound tree is gone") };
                let mut txn = store.begin();
                let done = match put {
                    true => txn.put(&tree, KEY, b"value", NOWAIT).map(|()| true),
                    false => txn.delete(&tree, KEY, NOWAIT),
                };
                if !matches!(done, Ok(true)) {
                    return wrong(format!("tree {number} can be read but not written: {done:?}"));
                }
                let committed = txn.commit();
                let position = self.met(None, committed)?;
                let Some(Some(position)) = position else { return wrong("a commit beside damage fails") };
                let synced = store.sync_to(position);
                self.met(None, synced)?;
                let count = rows.len() + usize::from(put);
                let read = self.read_newest(store, number)?;
                if read.as_ref().is_none_or(|rows| rows.len() != count) {
                    return wrong(format!("tree {number} has lost the row just written"));
                }
            }
        }
        Ok(())
    }

    fn read_newest(&mut self, store: &Store, number: TreeNumber) -> Step<Option<Rows>> {
        let view = store.read_view();
        self.read_all(store, number, &view)
    }

    fn read_all(&mut self, store: &Store, number: TreeNumber, view: &ReadView) -> Step<Option<Rows>> {
        self.statistics.reads += 1;
        let tree = store.tree(TreeId(number));
        let Some(tree) = self.met(Some(number), tree)? else { return Ok(None) };
        self.met(Some(number), stored_rows(store, &tree, view))
    }

    fn step(&mut self, store: &Store, long: &mut Vec<Long>, views: &mut Vec<View>) -> Step {
        match self.rng.below(100) {
            0..=44 => self.transaction(store),
            45..=49 if long.len() < LONG_MAX => {
                let owner = (1..).find(|owner| long.iter().all(|long| long.owner != *owner)).unwrap_or(1);
                long.push(Long { txn: store.begin(), changes: Changes::default(), owner });
                Ok(())
            }
            45..=58 if !long.is_empty() => {
                let at = self.rng.index(long.len());
                let one = &mut long[at];
                for _ in 0..6 {
                    self.write(store, &mut one.txn, &mut one.changes, one.owner)?;
                }
                Ok(())
            }
            59..=63 if !long.is_empty() => {
                let one = long.swap_remove(self.rng.index(long.len()));
                self.end(store, one.txn, &one.changes)
            }
            64..=69 if views.len() < 3 => {
                views.push((store.read_view(), self.history.newest()));
                Ok(())
            }
            64..=79 if !views.is_empty() => {
                let at = self.rng.index(views.len());
                let (view, state) = &views[at];
                let number = 1 + self.rng.below(*TREES.end());
                if let Some(found) = self.read_all(store, number, view)?
                    && state.trees.get(&number).is_none_or(|rows| **rows != found)
                {
                    return wrong(format!("a snapshot of tree {number} shows other rows"));
                }
                if self.rng.chance(300) {
                    views.swap_remove(at);
                }
                Ok(())
            }
            80..=84 => {
                let number = 1 + self.rng.below(*TREES.end());
                if let Some(found) = self.read_newest(store, number)?
                    && self.history.newest().trees.get(&number).is_none_or(|rows| **rows != found)
                {
                    return wrong(format!("tree {number} shows other rows"));
                }
                Ok(())
            }
            85..=88 => {
                let done = store.checkpoint_now();
                self.met(None, done).map(drop)
            }
            89..=93 => {
                let done = store.purge_tick();
                self.met(None, done).map(drop)
            }
            _ => {
                let done = store.sync_to(store.newest_position());
                self.met(None, done).map(drop)
            }
        }
    }

    /// A short one, from its beginning to its end.
    fn transaction(&mut self, store: &Store) -> Step {
        let mut txn = store.begin();
        let mut changes = Changes::default();
        for _ in 0..1 + self.rng.index(5) {
            self.write(store, &mut txn, &mut changes, 0)?;
        }
        self.end(store, txn, &changes)
    }

    /// A row written, or, where a flipped bit stands in the way, a statement undone.
    fn write(&mut self, store: &Store, txn: &mut Transaction, changes: &mut Changes, owner: u8) -> Step {
        let number = 1 + self.rng.below(*TREES.end());
        let key = [&[owner][..], &self.rng.below(KEYS).to_be_bytes()].concat();
        let tree = store.tree(TreeId(number));
        let Some(tree) = self.met(Some(number), tree)? else { return Ok(()) };
        let value = self.rng.chance(800).then(|| {
            let mut value = vec![0; self.rng.index(2_000)];
            self.rng.fill(&mut value);
            value
        });
        let was_there = changes.get(&self.history.newest(), number, &key).is_some();
        let savepoint = txn.savepoint();
        let done = match &value {
            Some(value) => txn.put(&tree, &key, value, NOWAIT).map(|()| true),
            None => txn.delete(&tree, &key, NOWAIT),
        };
        let done = match done {
            Ok(done) => done,
            Err(WriteError::Store(error)) => {
                self.met::<()>(Some(number), Err(error))?;
                let undone = txn.rollback_to(&savepoint);
                self.met(None, undone)?;
                return Ok(());
            }
            Err(error) => return wrong(format!("a write that nothing stands against: {error}")),
        };
        if value.is_none() && done != was_there {
            return wrong(format!("a delete in tree {number} says {done}"));
        }
        if value.is_some() || done {
            changes.rows.insert((number, key), value);
        }
        Ok(())
    }

    fn end(&mut self, store: &Store, txn: Transaction, changes: &Changes) -> Step {
        if self.rng.chance(200) {
            let done = txn.rollback();
            return self.met(None, done).map(drop);
        }
        let committed = txn.commit();
        if committed.is_err() && (self.world.disk().is_crashed() || store.stopped().is_some()) {
            // The outcome was not reported; if it was committed, then as a whole.
            self.history.commit(u64::MAX, changes);
        }
        // A commit that fails otherwise has rolled back everything.
        if let Some(Some(position)) = self.met(None, committed)? {
            self.history.commit(position.0, changes);
            self.statistics.commits += 1;
            if self.rng.chance(400) {
                let synced = store.sync_to(position);
                self.met(None, synced)?;
            }
        }
        Ok(())
    }
}

fn leading_number(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}
