//! Runs of sessions that wait for each other's locks: bank transfers, lists at each isolation level, ranges read and
//! written.
//!
//! Each session runs on a thread of its own and takes turns with the others ([`crate::scheduler`]). A session that
//! meets a lock waits until the lock is granted, it is chosen as the victim of a deadlock, its timeout on the simulated
//! clock expires, or another session kills it. The statement or the transaction is then rolled back, as a server would
//! do, and the session continues.
//!
//! | kind | what | checked |
//! | --- | --- | --- |
//! | bank | a table with an index over balances; transfers under row locks, sums under snapshots and under shared locks of all rows | the sum, in every read; what was acknowledged survives a power cut, nothing is half; rows against the index |
//! | append | lists that grow, at each level ([`crate::append`]) | the cycles each level forbids; what was acknowledged survives |
//! | locks | scans and lookups that lock ([`crate::locks`]) | reads repeat in the order of the commits |
//!
//! Of the waits themselves, in each kind: no session waits unless another is in its way; not all wait; a timeout comes
//! when its time has passed and not before; only a killed session is interrupted; a deadlock is a cycle, and its victim
//! changed the least of the transactions in it; at the end no lock and no waiter is left.

use crate::append;
use crate::locks;
use crate::scheduler::{Describe, Scheduler, Session, SessionHandle};
use catalog::{IndexKind, TableDefinition, TreeNumber};
use env::random::Rng;
use env::simulated::{Faults, SimWorld};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::wal::LogOptions;
use store::{
    Interrupt, LockMode, LockWait, LockWaiter, Locked, Options, PAGE_BYTES, Store, Transaction, TreeId,
    TxnId, WriteError,
};
use table::{CheckDepth, Error, KeyBytesRange, ScanRequest, Table, Utc, WriteContext};
use types::vector::Batch;
use types::{Cell, DataType};

const SESSIONS_MIN: usize = 3;
const SESSIONS_MAX: usize = 6;
const ACCOUNTS: i64 = 8;
const FIRST_BALANCE: i64 = 1_000;

/// What runs of waiting sessions went through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// Runs.
    pub runs: u64,
    /// Power cuts with a recovery and a comparison.
    pub crashes: u64,
    /// Times a session waited for a lock.
    pub waits: u64,
    /// Waits that ended by a deadlock.
    pub deadlocks: u64,
    /// By the end of their time.
    pub timeouts: u64,
    /// By KILL.
    pub kills: u64,
    /// Commits.
    pub commits: u64,
    /// Reads checked.
    pub reads: u64,
    /// Cycles of dependencies that the levels allow.
    pub allowed: u64,
}

impl Statistics {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Statistics) {
        self.runs += other.runs;
        self.crashes += other.crashes;
        self.waits += other.waits;
        self.deadlocks += other.deadlocks;
        self.timeouts += other.timeouts;
        self.kills += other.kills;
        self.commits += other.commits;
        self.reads += other.reads;
        self.allowed += other.allowed;
    }
}

/// Makes the run of a seed.
///
/// # Errors
/// What went wrong, with the seed.
pub fn run(seed: u64) -> Result<Statistics, String> {
    let mut rng = Rng::new(seed.wrapping_mul(0x2545_f491).wrapping_add(777));
    let (kind, told) = match rng.index(3) {
        0 => ("bank", bank(seed, &mut rng)),
        1 => ("append", lists(seed, &mut rng)),
        _ => ("locks", ranges(seed, &mut rng)),
    };
    let mut statistics = told.map_err(|what| format!("waits seed {seed} ({kind}): {what}"))?;
    statistics.runs = 1;
    Ok(statistics)
}

/// What sessions share beside the store.
struct Common {
    world: SimWorld,
    store: Store,
    /// How long anybody waits.
    lock_timeout: Duration,
    interrupts: Vec<Arc<Interrupt>>,
    statistics: Mutex<Statistics>,
}

/// How a session goes on after something failed.
#[derive(Debug, PartialEq)]
enum Failed {
    /// The statement is to be undone.
    Statement,
    /// The transaction is to be rolled back.
    Transaction,
    /// The power has failed.
    Simulation,
}

impl Common {
    fn new(world: &SimWorld, store: &Store, sessions: usize, rng: &mut Rng) -> Common {
        Common {
            world: world.clone(),
            store: store.clone(),
            lock_timeout: Duration::from_secs([1, 5, 50][rng.index(3)]),
            interrupts: (0..sessions).map(|_| Interrupt::new()).collect(),
            statistics: Mutex::default(),
        }
    }

    fn wait(&self) -> LockWait {
        LockWait::Timeout(self.lock_timeout)
    }

    fn begin(&self, session_handle: &SessionHandle) -> Transaction {
        let mut txn = self.store.begin();
        let interrupt = &self.interrupts[session_handle.number()];
        interrupt.reset();
        txn.set_interrupt(Some(Arc::clone(interrupt)));
        txn
    }

    /// Between two steps: others may go on, time passes, somebody is killed, the waits are looked at.
    fn pause(&self, session_handle: &SessionHandle, rng: &mut Rng) -> Result<(), String> {
        match rng.below(60) {
            0 => self.interrupts[rng.index(self.interrupts.len())].raise(),
            1 | 2 => self.world.clock().advance(self.lock_timeout / (1 + rng.below(4) as u32)),
            3..=9 => {
                for waiter in self.store.lock_waiters() {
                    if waiter.blockers.is_empty() && !waiter.for_range {
                        return Err(format!("{waiter:?} waits for nobody"));
                    }
                    if waiter.blockers.contains(&waiter.txn) {
                        return Err(format!("{waiter:?} waits for itself"));
                    }
                }
            }
            _ => {}
        }
        session_handle.yield_now();
        Ok(())
    }

    /// Judges a failure; `began` is when the step did, in nanoseconds.
    fn judge(
        &self,
        session_handle: &SessionHandle,
        txn: TxnId,
        began: u64,
        error: &WriteError,
    ) -> Result<Failed, String> {
        let mut statistics = self.statistics.lock();
        match error {
            WriteError::Deadlock { .. } => {
                statistics.deadlocks += 1;
                let Some(last) = self.store.last_deadlock() else {
                    return Err("a deadlock that is not told".to_owned());
                };
                let waiters: Vec<&LockWaiter> = last.cycle.iter().map(|member| &member.waiter).collect();
                // Its end lets the transaction before it in the cycle continue.
                let helps = |(place, waiter): &(usize, &&LockWaiter)| {
                    let behind = waiters[(place + waiters.len() - 1) % waiters.len()];
                    let is_same_queue = (behind.tree, &behind.key) == (waiter.tree, &waiter.key)
                        && !behind.for_range
                        && !waiter.for_range
                        && !waiter.has_lock;
                    !is_same_queue || (behind.mode, waiter.mode) == (LockMode::Shared, LockMode::Exclusive)
                };
                let able = waiters.iter().enumerate().filter(helps);
                let least = able.clone().map(|(_, waiter)| waiter.change_count).min();
                let victim = able.map(|(_, waiter)| waiter).find(|waiter| waiter.txn == last.victim);
                if waiters.len() < 2 || victim.map(|waiter| waiter.change_count) != least {
                    return Err(format!("a deadlock with a wrong victim: {last:?}"));
                }
                let members: BTreeSet<TxnId> = last.cycle.iter().map(|member| member.waiter.txn).collect();
                if members.len() != last.cycle.len() {
                    return Err(format!("a deadlock that is no cycle: {last:?}"));
                }
                Ok(Failed::Transaction)
            }
            WriteError::LockWaitTimeout { .. } if session_handle.is_over() => Ok(Failed::Simulation),
            WriteError::LockWaitTimeout { waited_ms } => {
                statistics.timeouts += 1;
                let passed = self.now() - began;
                if u128::from(passed) < self.lock_timeout.as_nanos()
                    || u128::from(*waited_ms) < self.lock_timeout.as_millis()
                {
                    return Err(format!("{txn} is timed out after {passed} ns: {error}"));
                }
                Ok(Failed::Statement)
            }
            WriteError::Interrupted => {
                statistics.kills += 1;
                if !self.interrupts[session_handle.number()].is_raised() {
                    return Err(format!("{txn} is interrupted, and nobody did it"));
                }
                Ok(Failed::Transaction)
            }
            WriteError::ChangedSinceSnapshot => Ok(Failed::Transaction),
            _ if self.world.disk().is_crashed() => {
                session_handle.end();
                Ok(Failed::Simulation)
            }
            other => Err(format!("fails without a cause: {other}")),
        }
    }

    fn now(&self) -> u64 {
        env::clock::Clock::now(self.world.clock()).nanos
    }

    /// Which session waits for which, for a run in which none continues.
    fn describe(&self) -> Describe {
        let store = self.store.clone();
        Box::new(move || format!("{:?}", store.lock_waiters()))
    }

    /// After the last session: nothing is left behind.
    fn check_left(&self) -> Result<Statistics, String> {
        let (waiters, bytes) = (self.store.lock_waiters(), self.store.status().lock_bytes);
        if !self.world.disk().is_crashed() && (!waiters.is_empty() || bytes != 0) {
            return Err(format!("at the end {bytes} bytes of locks and {waiters:?} are left"));
        }
        Ok(*self.statistics.lock())
    }
}

fn open_store(world: &SimWorld, frames: usize) -> Result<Store, String> {
    let options = Options {
        background_threads: false,
        buffer_pool_bytes: (frames * PAGE_BYTES) as u64,
        log: LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() },
        undo_segment_bytes: 1 << 10,
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    };
    Store::open(world.env(), Path::new("/data"), options).map_err(|error| format!("does not open: {error}"))
}

fn session_count(rng: &mut Rng) -> usize {
    SESSIONS_MIN + rng.index(SESSIONS_MAX - SESSIONS_MIN + 1)
}

/// The power will be cut, in two runs of three.
fn plan_crash(world: &SimWorld, rng: &mut Rng) {
    if rng.index(3) > 0 {
        let soon = world.disk().counts().changes + 1 + rng.below(150);
        world.disk().plan(Faults { crash_at_change: Some(soon), ..Faults::default() });
    }
}

// Scans and lookups that lock.

fn ranges(seed: u64, rng: &mut Rng) -> Result<Statistics, String> {
    const STEPS: u32 = 60;
    let world = SimWorld::new(seed);
    let store = open_store(&world, 64)?;
    let tree = store.tree(TreeId::DICTIONARY).map_err(|error| error.to_string())?;
    let count = session_count(rng);
    let common = Common::new(&world, &store, count, rng);
    let model = Mutex::new(locks::Model::new());
    let session = |mut rng: Rng| {
        let (common, tree, model) = (&common, &tree, &model);
        let session = move |session_handle: &SessionHandle| -> Result<(), String> {
            let mut own = locks::Session::of(common.begin(session_handle), common.wait());
            for step in 0..STEPS {
                common.pause(session_handle, &mut rng)?;
                if session_handle.is_over() {
                    break;
                }
                let ends = rng.index(7) == 0;
                if !ends {
                    let began = common.now();
                    let number = step * SESSIONS_MAX as u32 + session_handle.number() as u32;
                    let Err(error) = locks::act(&mut own, tree, &mut rng, number) else { continue };
                    if common.judge(session_handle, own.txn.id(), began, &error)? == Failed::Statement {
                        continue;
                    }
                }
                let done = std::mem::replace(
                    &mut own,
                    locks::Session::of(common.begin(session_handle), common.wait()),
                );
                if !ends || rng.index(4) == 0 {
                    done.txn.rollback().map_err(|error| error.to_string())?;
                    continue;
                }
                let acts = done.acts;
                done.txn.commit().map_err(|error| error.to_string())?;
                let mut statistics = common.statistics.lock();
                statistics.commits += 1;
                for act in &acts {
                    statistics.reads += 1;
                    if let Some(wrong) = locks::repeat(act, &mut model.lock()) {
                        return Err(format!("step {step}: {act:?}, but in the order of commits {wrong}"));
                    }
                }
            }
            Ok(())
        };
        Box::new(session) as Session<'_>
    };
    let sessions = (0..count).map(|_| session(rng.fork())).collect();
    // A commit is one step: the order of the commits is the order in which the model hears of them.
    let waits = Scheduler::run(&world, rng.fork(), false, common.describe(), sessions)?;
    let statistics = common.check_left()?;
    Ok(Statistics { waits, ..statistics })
}

// Lists at each isolation level.

fn lists(seed: u64, rng: &mut Rng) -> Result<Statistics, String> {
    const STEPS: u32 = 50;
    let level = append::LEVELS[rng.index(append::LEVELS.len())];
    let world = SimWorld::new(seed);
    let store = open_store(&world, 64)?;
    let tree = store.tree(TreeId(3)).map_err(|error| error.to_string())?;
    plan_crash(&world, rng);
    let count = session_count(rng);
    let common = Common::new(&world, &store, count, rng);
    let past = Mutex::new(append::Past::default());
    let session = |mut rng: Rng| {
        let (common, tree, past) = (&common, &tree, &past);
        let session = move |session_handle: &SessionHandle| -> Result<(), String> {
            let begin =
                || append::Open::new(&common.store, common.begin(session_handle), level, common.wait());
            let mut own = begin();
            for step in 0..STEPS {
                common.pause(session_handle, &mut rng)?;
                if session_handle.is_over() {
                    break;
                }
                let began = common.now();
                let number = 1 + step * SESSIONS_MAX as u32 + session_handle.number() as u32;
                let key = rng.below(append::KEYS);
                let done = match rng.below(100) {
                    0..=39 => append::read(&common.store, tree, &mut own, level, key).map(drop),
                    40..=74 => {
                        let savepoint = own.txn.savepoint();
                        let done = append::append(tree, &mut own, key, number).map(drop);
                        if done.is_err() && own.txn.rollback_to(&savepoint).is_err() {
                            break;
                        }
                        done
                    }
                    75..=79 => {
                        past.lock().aborted(&own);
                        std::mem::replace(&mut own, begin()).txn.rollback().map_err(WriteError::Store)
                    }
                    80..=94 => {
                        let one = std::mem::replace(&mut own, begin());
                        append::commit(&common.store, one, rng.chance(300), |done| {
                            past.lock().committed(done);
                        })
                        .map_err(WriteError::Store)
                    }
                    95..=97 => common.store.checkpoint_now().map_err(WriteError::Store),
                    _ => common.store.purge_tick().map(drop).map_err(WriteError::Store),
                };
                let Err(error) = done else { continue };
                match common.judge(session_handle, own.txn.id(), began, &error)? {
                    Failed::Statement => {}
                    Failed::Transaction => {
                        past.lock().aborted(&own);
                        let victim = std::mem::replace(&mut own, begin());
                        if victim.txn.rollback().is_err() {
                            break;
                        }
                    }
                    Failed::Simulation => break,
                }
            }
            past.lock().aborted(&own);
            Ok(())
        };
        Box::new(session) as Session<'_>
    };
    let sessions = (0..count).map(|_| session(rng.fork())).collect();
    let waits = Scheduler::run(&world, rng.fork(), rng.chance(500), common.describe(), sessions)?;
    let statistics = common.check_left()?;
    drop(common);
    let judged = append::after(&world, store, level, past.into_inner(), Vec::new())
        .map_err(|what| format!("{level:?}: {what}"))?;
    Ok(Statistics { waits, crashes: 1, commits: judged.commits, allowed: judged.allowed, ..statistics })
}

// A bank.

fn accounts_table() -> TableDefinition {
    let columns = vec![
        fixture::column("id", DataType::BIGINT, false),
        fixture::column("balance", DataType::BIGINT, false),
        fixture::column("changes", DataType::BIGINT, false),
    ];
    let indexes = vec![
        fixture::index("PRIMARY", IndexKind::Primary, &[0]),
        fixture::index("balance", IndexKind::Plain, &[1]),
    ];
    let mut table = fixture::definition(columns, indexes);
    let mut trees = (3..).map(TreeNumber);
    table.rows_tree = trees.next().expect("there are enough");
    table.large_values_tree = trees.next().expect("there are enough");
    table.indexes[0].tree = table.rows_tree;
    table.indexes[1].tree = trees.next().expect("there are enough");
    table
}

/// A transfer: from, to, amount. Row `ACCOUNTS + number` of the ledger says that it was done.
type Transfer = (i64, i64, i64);

#[derive(Default)]
struct Ledger {
    /// Sent to COMMIT: it is there whole or not at all.
    sent: BTreeMap<i64, Transfer>,
    /// Durable: it is there.
    kept: BTreeSet<i64>,
}

struct Bank<'s> {
    common: &'s Common,
    table: &'s Arc<Table>,
    ledger: &'s Mutex<Ledger>,
}

fn account_key(table: &Table, id: i64) -> Vec<u8> {
    let mut key = Vec::new();
    table.key_codec(0).write_part(0, Cell::Int(id), &Utc, &mut key);
    key
}

/// Rows of the table as a snapshot has them: account or transfer, balance, changes.
fn account_rows(store: &Store, table: &Arc<Table>) -> Result<BTreeMap<i64, (i64, i64)>, String> {
    let view = store.read_view();
    let columns = vec![0, 1, 2];
    let mut batch =
        Batch::new(columns.iter().map(|&at: &usize| table.definition().columns[at].data_type.physical()));
    let ranges = vec![KeyBytesRange::ALL];
    let mut scan =
        table.scan(ScanRequest { index: None, ranges, reverse: false, columns, parts: Vec::new() });
    let mut rows = BTreeMap::new();
    while scan.next_batch(view.reader(), &Utc, &mut batch, None).map_err(|error| error.to_string())? {
        for at in 0..batch.row_count {
            let int = |column: usize| match batch.columns[column].cell(at) {
                Cell::Int(value) => value,
                _ => i64::MIN,
            };
            rows.insert(int(0), (int(1), int(2)));
        }
    }
    Ok(rows)
}

fn check_sum(rows: &BTreeMap<i64, (i64, i64)>) -> Result<(), String> {
    let accounts = rows.range(..ACCOUNTS);
    let sum: i64 = accounts.map(|(_, (balance, _))| balance).sum();
    if sum != ACCOUNTS * FIRST_BALANCE {
        return Err(format!("the sum of the accounts is {sum}"));
    }
    Ok(())
}

impl Bank<'_> {
    fn run(&self, session_handle: &SessionHandle, rng: &mut Rng) -> Result<(), String> {
        const TRANSACTIONS: u32 = 14;
        for number in 0..TRANSACTIONS {
            self.common.pause(session_handle, rng)?;
            if session_handle.is_over() {
                break;
            }
            match rng.index(8) {
                0 => match self.rows() {
                    Ok(rows) => check_sum(&rows)?,
                    Err(error) => self.broken(session_handle, error)?,
                },
                1 | 2 => self.sum_under_locks(session_handle, rng)?,
                3 if rng.chance(300) => {
                    if let Err(error) = self.common.store.checkpoint_now() {
                        self.broken(session_handle, error.to_string())?;
                    }
                }
                _ => {
                    let id =
                        ACCOUNTS + i64::from(number) * SESSIONS_MAX as i64 + session_handle.number() as i64;
                    self.transfer(session_handle, rng, id)?;
                }
            }
        }
        Ok(())
    }

    fn rows(&self) -> Result<BTreeMap<i64, (i64, i64)>, String> {
        self.common.statistics.lock().reads += 1;
        account_rows(&self.common.store, self.table)
    }

    /// Something that only a power cut may do.
    fn broken(&self, session_handle: &SessionHandle, what: String) -> Result<(), String> {
        if self.common.world.disk().is_crashed() {
            session_handle.end();
            return Ok(());
        }
        Err(what)
    }

    /// All accounts read under shared locks, one after the other: they add up, though others are in between.
    fn sum_under_locks(&self, session_handle: &SessionHandle, rng: &mut Rng) -> Result<(), String> {
        let mut txn = self.common.begin(session_handle);
        let mut sum = 0;
        for id in 0..ACCOUNTS {
            match self.lock(session_handle, &mut txn, id, LockMode::Shared)? {
                Ok((balance, _)) => sum += balance,
                Err(_) => return self.roll_back(session_handle, txn),
            }
            if rng.chance(300) {
                self.common.pause(session_handle, rng)?;
            }
        }
        self.common.statistics.lock().reads += 1;
        if sum != ACCOUNTS * FIRST_BALANCE {
            return Err(format!("under shared locks the sum is {sum}"));
        }
        self.roll_back(session_handle, txn)
    }

    fn roll_back(&self, session_handle: &SessionHandle, txn: Transaction) -> Result<(), String> {
        txn.rollback().or_else(|error| self.broken(session_handle, error.to_string()))
    }

    /// Balance and changes of a locked account.
    fn lock(
        &self,
        session_handle: &SessionHandle,
        txn: &mut Transaction,
        id: i64,
        mode: LockMode,
    ) -> Result<Result<(i64, i64), Failed>, String> {
        let (began, key) = (self.common.now(), account_key(self.table, id));
        let locked = self
            .table
            .lock_row(txn, &key, mode, self.common.wait(), |row| (row.int(1, &Utc), row.int(2, &Utc)));
        match locked {
            Ok(Locked::Row(row)) => Ok(Ok(row)),
            Ok(other) => Err(format!("account {id} is {other:?}")),
            Err(error) => self.failed(session_handle, txn, began, &error).map(Err),
        }
    }

    fn failed(
        &self,
        session_handle: &SessionHandle,
        txn: &Transaction,
        began: u64,
        error: &table::WriteError,
    ) -> Result<Failed, String> {
        let error = match error {
            table::WriteError::Access(Error::Deadlock) => WriteError::Deadlock { waiting_for: txn.id() },
            table::WriteError::Access(Error::LockWaitTimeout) => {
                WriteError::LockWaitTimeout { waited_ms: self.common.lock_timeout.as_millis() as u64 }
            }
            table::WriteError::Access(Error::Interrupted) => WriteError::Interrupted,
            table::WriteError::Store(error) => WriteError::Store(error.clone()),
            other => return Err(format!("fails without a cause: {other}")),
        };
        self.common.judge(session_handle, txn.id(), began, &error)
    }

    fn transfer(&self, session_handle: &SessionHandle, rng: &mut Rng, id: i64) -> Result<(), String> {
        let (from, to) = (rng.below(ACCOUNTS as u64) as i64, rng.below(ACCOUNTS as u64) as i64);
        if from == to {
            return Ok(());
        }
        let amount = 1 + rng.below(100) as i64;
        let context = WriteContext { zone: &Utc, wait: self.common.wait(), reader: None };
        let mut txn = self.common.begin(session_handle);
        for (account, difference) in [(from, -amount), (to, amount)] {
            let locked = self.lock(session_handle, &mut txn, account, LockMode::Exclusive)?;
            let Ok((balance, changes)) = locked else { return self.roll_back(session_handle, txn) };
            if rng.chance(400) {
                self.common.pause(session_handle, rng)?;
            }
            let began = self.common.now();
            let changed = [(1, Cell::Int(balance + difference)), (2, Cell::Int(changes + 1))];
            let key = account_key(self.table, account);
            if let Err(error) = self.table.update(&mut txn, &key, &changed, context) {
                let _how = self.failed(session_handle, &txn, began, &error)?;
                return self.roll_back(session_handle, txn);
            }
        }
        let began = self.common.now();
        let row = [Cell::Int(id), Cell::Int(amount), Cell::Int(from * ACCOUNTS + to)];
        if let Err(error) = self.table.insert(&mut txn, &row, context) {
            let _how = self.failed(session_handle, &txn, began, &error)?;
            return self.roll_back(session_handle, txn);
        }
        self.ledger.lock().sent.insert(id, (from, to, amount));
        if rng.chance(100) {
            self.ledger.lock().sent.remove(&id);
            return self.roll_back(session_handle, txn);
        }
        match txn.commit() {
            Ok(Some(position)) => {
                self.common.statistics.lock().commits += 1;
                if rng.chance(500) {
                    if let Err(error) = self.common.store.sync_to(position) {
                        return self.broken(session_handle, error.to_string());
                    }
                    self.ledger.lock().kept.insert(id);
                }
                Ok(())
            }
            Ok(None) => Err("a transfer has no position".to_owned()),
            Err(error) => self.broken(session_handle, error.to_string()),
        }
    }
}

fn bank(seed: u64, rng: &mut Rng) -> Result<Statistics, String> {
    let world = SimWorld::new(seed);
    let store = open_store(&world, [48, 96][rng.index(2)])?;
    let open_table =
        |store: &Store| Table::open(store, Arc::new(accounts_table())).map_err(|error| error.to_string());
    let table = open_table(&store)?;
    let mut txn = store.begin();
    for id in 0..ACCOUNTS {
        let row = [Cell::Int(id), Cell::Int(FIRST_BALANCE), Cell::Int(0)];
        let context = WriteContext { zone: &Utc, wait: LockWait::Nowait, reader: None };
        table.insert(&mut txn, &row, context).map_err(|error| error.to_string())?;
    }
    let first = txn.commit().map_err(|error| error.to_string())?;
    if let Some(position) = first {
        store.sync_to(position).map_err(|error| error.to_string())?;
    }
    plan_crash(&world, rng);
    let count = session_count(rng);
    let common = Common::new(&world, &store, count, rng);
    let ledger = Mutex::new(Ledger::default());
    let session = |mut rng: Rng| {
        let bank = Bank { common: &common, table: &table, ledger: &ledger };
        Box::new(move |session_handle: &SessionHandle| bank.run(session_handle, &mut rng)) as Session<'_>
    };
    let sessions = (0..count).map(|_| session(rng.fork())).collect();
    let waits = Scheduler::run(&world, rng.fork(), rng.chance(500), common.describe(), sessions)?;
    let statistics = common.check_left()?;
    drop((common, table, store));
    let after = world.crash();
    let store = open_store(&after, 96)?;
    let table = open_table(&store)?;
    let problems = table.check(CheckDepth::Entries, || Ok::<(), ()>(()));
    if !matches!(&problems, Ok(problems) if problems.is_empty()) {
        return Err(format!("after the crash: {problems:?}"));
    }
    let rows = account_rows(&store, &table)?;
    check_sum(&rows)?;
    let ledger = ledger.into_inner();
    let mut expected: BTreeMap<i64, (i64, i64)> = (0..ACCOUNTS).map(|id| (id, (FIRST_BALANCE, 0))).collect();
    for (id, _) in rows.range(ACCOUNTS..) {
        let Some(&(from, to, amount)) = ledger.sent.get(id) else {
            return Err(format!("transfer {id} was never committed"));
        };
        for (account, difference) in [(from, -amount), (to, amount)] {
            let row = expected.get_mut(&account).ok_or("an account that is none")?;
            *row = (row.0 + difference, row.1 + 1);
        }
        expected.insert(*id, (amount, from * ACCOUNTS + to));
    }
    if let Some(lost) = ledger.kept.iter().find(|id| !rows.contains_key(id)) {
        return Err(format!("transfer {lost} was acknowledged and is lost"));
    }
    if rows != expected {
        return Err(format!("the accounts are {rows:?}, their transfers make {expected:?}"));
    }
    Ok(Statistics { waits, crashes: 1, ..statistics })
}
