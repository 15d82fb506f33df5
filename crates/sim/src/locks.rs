//! Runs of locks: transactions that read only what they lock must be as if they ran one after the other.
//!
//! Several transactions take turns on one thread and never wait: a refused lock rolls back. They scan ranges with
//! shared and exclusive locks, forwards, backwards and with a limit, look keys up, write, and roll back to savepoints.
//! Every lock is held to the end (strict two-phase locking), so the order of their commits must explain all that was
//! read: at its commit each transaction is repeated on a model that holds the commits before it, and every read must
//! return what it returned then. A phantom, a row that changed between two reads, or a lost update is a read that the
//! model does not repeat.

use env::random::Rng;
use env::simulated::SimWorld;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use store::{
    LockMode, LockWait, Locked, Options, Savepoint, ScanRange, Store, Transaction, Tree, TreeId, WriteError,
};

const KEYS: usize = 24;
const STEPS: u32 = 250;
const SESSIONS: usize = 4;
const NOWAIT: LockWait = LockWait::Nowait;

pub(crate) type Model = BTreeMap<u8, u32>;
type Rows = Vec<(u8, u32)>;

/// What runs of locks went through.
#[derive(Clone, Copy, Debug, Default)]
pub struct LockStatistics {
    /// Commits, each repeated on the model.
    pub commits: u64,
    /// Reads compared with what the model repeats.
    pub reads: u64,
    /// Refused locks.
    pub refused: u64,
}

/// What a transaction did, to be done again.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Scan { lower: u8, upper: u8, backward: bool, limit: usize, found: Rows },
    Look { key: u8, found: Option<u32> },
    Put { key: u8, value: u32 },
    Insert { key: u8, value: u32, done: bool },
    Delete { key: u8, done: bool },
}

pub(crate) struct Session {
    pub(crate) txn: Transaction,
    pub(crate) acts: Vec<Act>,
    savepoint: Option<(Savepoint, usize)>,
    wait: LockWait,
}

impl Session {
    fn new(store: &Store, forget_ranges: bool) -> Session {
        let mut session = Session::of(store.begin(), NOWAIT);
        session.txn.set_range_locks(!forget_ranges);
        session
    }

    /// A transaction that has done nothing yet.
    pub(crate) fn of(mut txn: Transaction, wait: LockWait) -> Session {
        txn.set_range_locks(true);
        Session { txn, acts: Vec::new(), savepoint: None, wait }
    }
}

/// Makes the run of a seed. With `forget_ranges` scans lock rows alone, as if range locks were forgotten: to see it
/// caught.
///
/// # Errors
/// What no order of the transactions explains, with the seed.
pub fn run(seed: u64, forget_ranges: bool) -> Result<LockStatistics, String> {
    let failed = |what: String| format!("seed {seed}: {what}");
    let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(29));
    let world = SimWorld::new(seed);
    let options = Options { background_threads: false, buffer_pool_bytes: 2 << 20, ..Options::default() };
    let store =
        Store::open(world.env(), Path::new("/data"), options).map_err(|error| failed(error.to_string()))?;
    let tree = store.tree(TreeId::DICTIONARY).map_err(|error| failed(error.to_string()))?;
    let mut model = Model::new();
    let mut statistics = LockStatistics::default();
    let mut sessions: Vec<Session> = (0..SESSIONS).map(|_| Session::new(&store, forget_ranges)).collect();
    for step in 0..STEPS {
        let session = &mut sessions[rng.index(SESSIONS)];
        let ends = rng.index(6) == 0;
        if !ends {
            match act(session, &tree, &mut rng, step) {
                Ok(()) => continue,
                Err(WriteError::Locked { .. }) => statistics.refused += 1,
                Err(error) => return Err(failed(error.to_string())),
            }
        }
        let done = std::mem::replace(session, Session::new(&store, forget_ranges));
        if !ends || rng.index(4) == 0 {
            done.txn.rollback().map_err(|error| failed(error.to_string()))?;
            continue;
        }
        done.txn.commit().map_err(|error| failed(error.to_string()))?;
        statistics.commits += 1;
        for act in &done.acts {
            statistics.reads += 1;
            if let Some(wrong) = repeat(act, &mut model) {
                return Err(failed(format!("step {step}: {act:?}, but in the order of commits {wrong}")));
            }
        }
    }
    Ok(statistics)
}

fn record(value: &[u8]) -> u32 {
    value.try_into().map_or(0, u32::from_be_bytes)
}

/// One thing a transaction does; `step` is what it writes. If it fails nothing is noted, and at most more is locked.
pub(crate) fn act(session: &mut Session, tree: &Tree, rng: &mut Rng, step: u32) -> Result<(), WriteError> {
    let Session { txn, acts, savepoint, wait } = session;
    let wait = *wait;
    let key = rng.index(KEYS) as u8;
    let mode = if rng.index(2) == 0 { LockMode::Shared } else { LockMode::Exclusive };
    match rng.index(12) {
        0..=3 => {
            let upper = key + 1 + rng.index(8) as u8;
            let backward = rng.index(3) == 0;
            let limit = if rng.index(3) == 0 { 1 + rng.index(3) } else { usize::MAX };
            let (low, high) = ([key], [upper]);
            let range = ScanRange { lower: Bound::Included(&low), ..ScanRange::between(&low, &high) };
            let range = if backward { range.backward() } else { range };
            let mut scan = txn.lock_scan(tree, &range, mode, wait);
            scan.set_wanted(limit);
            let mut found = Rows::new();
            while found.len() < limit {
                let Some((key, value)) = scan.next(txn)? else { break };
                found.push((key[0], record(value)));
            }
            acts.push(Act::Scan { lower: key, upper, backward, limit, found });
        }
        4 | 5 => {
            let found = match txn.lock_current(tree, &[key], mode, wait, record)? {
                Locked::Row(value) => Some(value),
                Locked::Absent => {
                    // As a lookup by a unique key does: its place is locked, then looked at again.
                    txn.lock_range(tree, &[key], Some(&[key + 1]))?;
                    match txn.lock_current(tree, &[key], mode, wait, record)? {
                        Locked::Row(value) => Some(value),
                        _ => None,
                    }
                }
                Locked::Skipped => return Ok(()),
            };
            acts.push(Act::Look { key, found });
        }
        6 | 7 => {
            txn.put(tree, &[key], &step.to_be_bytes(), wait)?;
            acts.push(Act::Put { key, value: step });
        }
        8 => {
            let done = match txn.insert(tree, &[key], &step.to_be_bytes(), wait) {
                Ok(()) => true,
                // What was there is not locked: it may be gone again by the commit.
                Err(WriteError::DuplicateKey) => return Ok(()),
                Err(error) => return Err(error),
            };
            acts.push(Act::Insert { key, value: step, done });
        }
        9 => {
            let done = txn.delete(tree, &[key], wait)?;
            if done {
                acts.push(Act::Delete { key, done });
            }
        }
        10 => *savepoint = Some((txn.savepoint(), acts.len())),
        _ => {
            if let Some((savepoint, kept)) = savepoint.take() {
                txn.rollback_to(&savepoint)?;
                // Reads since then may no longer be locked.
                acts.truncate(kept);
            }
        }
    }
    Ok(())
}

/// Does it again; says what came out if that is something else.
pub(crate) fn repeat(act: &Act, model: &mut Model) -> Option<String> {
    match act {
        Act::Scan { lower, upper, backward, limit, found } => {
            let inside = model.range(lower..upper).map(|(&key, &value)| (key, value));
            let rows: Rows =
                if *backward { inside.rev().take(*limit).collect() } else { inside.take(*limit).collect() };
            (rows != *found).then(|| format!("the rows are {rows:?}"))
        }
        Act::Look { key, found } => {
            let value = model.get(key).copied();
            (value != *found).then(|| format!("the value is {value:?}"))
        }
        Act::Put { key, value } => {
            model.insert(*key, *value);
            None
        }
        Act::Insert { key, value, done } => {
            let was = model.insert(*key, *value);
            (was.is_none() != *done).then(|| format!("the key was there: {was:?}"))
        }
        Act::Delete { key, done } => {
            let was = model.remove(key);
            (was.is_some() != *done).then(|| format!("the row was {was:?}"))
        }
    }
}
