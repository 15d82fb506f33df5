//! Lists that only grow, at each isolation level, and a search for the cycles that the level forbids (Adya's phenomena
//! by the method of Elle: Kingsbury and Alvaro, VLDB 2020).
//!
//! A transaction reads lists and appends numbers that no other transaction appends. At the end the lists themselves show in
//! which order the appends of a key happened, and what each read saw tells the rest:
//!
//! | edge | from | to |
//! | --- | --- | --- |
//! | ww | the appender of a number | the appender of the next one |
//! | wr | the appender of the last number that a read saw | the reader |
//! | rw | the reader | the appender of the first number that it did not see |
//!
//! | level | forbidden |
//! | --- | --- |
//! | READ UNCOMMITTED | G0: cycles of ww |
//! | READ COMMITTED | also G1a (aborted reads), G1b (intermediate reads), G1c (cycles of ww and wr) |
//! | REPEATABLE READ | also: a transaction that only reads is in no cycle with one rw of its own (MySQL's snapshots; its writes work on the newest rows, so G-single of writers, lost updates among them, is allowed) |
//! | REPEATABLE READ with `innodb_snapshot_isolation` | also: any cycle with one rw, lost updates among them |
//! | SERIALIZABLE | any cycle |
//!
//! A run ends with a crash; what was acknowledged as durable must be in the lists afterwards.

use env::random::Rng;
use env::simulated::{Faults, SimWorld};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use store::wal::LogOptions;
use store::{
    LockMode, LockWait, Locked, Options, ReadView, Store, StoreError, Transaction, Tree, TreeId, WriteError,
};

pub(crate) const KEYS: u64 = 5;
const OPEN_MAX: usize = 5;
const STEPS: u32 = 160;

/// Isolation levels, as the layers above make them of views and locks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Level {
    /// Reads see what is not committed.
    ReadUncommitted,
    /// Each read has a view of its own.
    ReadCommitted,
    /// One view from the first read on.
    RepeatableRead,
    /// The same, and a write of a row that changed since is refused (`innodb_snapshot_isolation`).
    Snapshot,
    /// Reads lock, and what does not exist is kept from coming.
    Serializable,
}

pub(crate) const LEVELS: [Level; 5] = [
    Level::ReadUncommitted,
    Level::ReadCommitted,
    Level::RepeatableRead,
    Level::Snapshot,
    Level::Serializable,
];

/// What a run went through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// Runs.
    pub runs: u64,
    /// Committed transactions.
    pub commits: u64,
    /// Edges of the graphs.
    pub edges: u64,
    /// Cycles that the levels allow.
    pub allowed: u64,
}

impl Statistics {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Statistics) {
        self.runs += other.runs;
        self.commits += other.commits;
        self.edges += other.edges;
        self.allowed += other.allowed;
    }
}

#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Key, what was seen, how many of the transaction's own numbers were in the list then.
    reads: Vec<(u64, Vec<u32>, usize)>,
    appends: Vec<(u64, u32)>,
    /// Position of the commit; 0: it only read.
    position: u64,
    /// It was acknowledged as durable.
    is_durable: bool,
}

/// A transaction under way.
pub(crate) struct Open {
    pub(crate) txn: Transaction,
    view: Option<ReadView>,
    done: Done,
    wait: LockWait,
}

impl Open {
    pub(crate) fn new(store: &Store, mut txn: Transaction, level: Level, wait: LockWait) -> Open {
        txn.set_range_locks(level == Level::Serializable);
        let view = (level == Level::Snapshot).then(|| store.read_view());
        txn.set_first_updater_wins(view.as_ref().map(ReadView::csn));
        Open { txn, view, done: Done::default(), wait }
    }
}

/// What the transactions have done.
#[derive(Debug, Default)]
pub(crate) struct Past {
    committed: Vec<Done>,
    aborted: BTreeSet<u32>,
}

impl Past {
    /// It was, or will be, rolled back.
    pub(crate) fn aborted(&mut self, one: &Open) {
        self.aborted.extend(one.done.appends.iter().map(|append| append.1));
    }

    pub(crate) fn committed(&mut self, done: Done) {
        self.committed.push(done);
    }
}

/// Commits, and waits for the disk if `sync`; `note` hears of it if it was done.
pub(crate) fn commit(
    store: &Store,
    mut one: Open,
    sync: bool,
    note: impl FnOnce(Done),
) -> Result<(), StoreError> {
    one.view = None;
    let position = one.txn.commit()?;
    one.done.position = position.map_or(0, |position| position.0);
    one.done.is_durable = position.is_some_and(|position| sync && store.sync_to(position).is_ok());
    note(one.done);
    Ok(())
}

/// Makes the run of a seed.
///
/// # Errors
/// What the store did that the level forbids, or lost.
pub fn run(seed: u64) -> Result<Statistics, String> {
    let mut rng = Rng::new(seed.wrapping_mul(0x2545_f491).wrapping_add(99));
    let level = LEVELS[rng.index(LEVELS.len())];
    simulation(seed, level, &mut rng).map_err(|what| format!("append seed {seed} ({level:?}): {what}"))
}

fn open_store(world: &SimWorld) -> Result<Store, String> {
    let log = LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() };
    let options = Options {
        background_threads: false,
        buffer_pool_bytes: 64 * 16 * 1024,
        log,
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    };
    Store::open(world.env(), Path::new("/data"), options).map_err(|error| format!("does not open: {error}"))
}

fn simulation(seed: u64, level: Level, rng: &mut Rng) -> Result<Statistics, String> {
    let world = SimWorld::new(seed);
    let store = open_store(&world)?;
    let tree = store.tree(TreeId(3)).map_err(|error| error.to_string())?;
    let mut next_number = 1;
    let mut open: Vec<Open> = Vec::new();
    let mut past = Past::default();
    let soon = world.disk().counts().changes + 1 + rng.below(200);
    world.disk().plan(Faults { crash_at_change: Some(soon), ..Faults::default() });
    for _ in 0..STEPS {
        if open.len() < OPEN_MAX && (open.is_empty() || rng.chance(150)) {
            open.push(Open::new(&store, store.begin(), level, LockWait::Nowait));
            continue;
        }
        let at = rng.index(open.len());
        let key = rng.below(KEYS);
        let result = match rng.below(100) {
            0..=39 => read(&store, &tree, &mut open[at], level, key),
            40..=74 => {
                next_number += 1;
                append(&tree, &mut open[at], key, next_number)
            }
            75..=79 => {
                let one = open.swap_remove(at);
                past.aborted(&one);
                one.txn.rollback().map_err(WriteError::Store).map(|()| true)
            }
            80..=94 => {
                let one = open.swap_remove(at);
                let sync = rng.chance(300);
                let done = commit(&store, one, sync, |done| past.committed(done));
                done.map(|()| true).map_err(WriteError::Store)
            }
            95..=97 => store.checkpoint_now().map(|()| true).map_err(WriteError::Store),
            _ => store.purge_tick().map_err(WriteError::Store),
        };
        match result {
            Ok(true | false) => {}
            Err(WriteError::Locked { .. } | WriteError::ChangedSinceSnapshot) => {
                // As after a deadlock.
                let one = open.swap_remove(at);
                past.aborted(&one);
                if one.txn.rollback().is_err() {
                    break;
                }
            }
            Err(_) if world.disk().is_crashed() => break,
            Err(error) => return Err(format!("fails without a cause: {error}")),
        }
    }
    for one in &open {
        past.aborted(one);
    }
    after(&world, store, level, past, open)
}

/// Ends a simulation: the power is cut, what survived is looked at, and what the transactions saw is judged. `open` are
/// rolled back or cut off.
pub(crate) fn after(
    world: &SimWorld,
    store: Store,
    level: Level,
    past: Past,
    open: Vec<Open>,
) -> Result<Statistics, String> {
    let Past { mut committed, aborted } = past;
    let tree = store.tree(TreeId(3)).map_err(|error| error.to_string())?;
    // What the last commits wrote may be lost with the power, so the order is read before: memory still has it.
    let lists = if world.disk().is_crashed() { None } else { Some(final_lists(&store, &tree)?) };
    drop(open);
    drop((tree, store));
    let after = world.crash();
    let store = open_store(&after)?;
    let tree = store.tree(TreeId(3)).map_err(|error| error.to_string())?;
    let survived = final_lists(&store, &tree)?;
    let durable =
        committed.iter().filter(|done| done.is_durable).map(|done| done.position).max().unwrap_or(0);
    let kept = committed.iter().filter(|done| done.position != 0);
    for done in kept.filter(|done| done.position <= durable) {
        if let Some((key, number)) = done
            .appends
            .iter()
            .find(|(key, number)| !survived.get(key).is_some_and(|list| list.contains(number)))
        {
            return Err(format!("{number} was acknowledged and is lost from list {key}"));
        }
    }
    // Without the lists before the crash only what survived can be judged.
    let lists = match lists {
        Some(lists) => {
            for (key, list) in &survived {
                if !lists.get(key).is_some_and(|before| before.starts_with(list)) {
                    return Err(format!("list {key} is {list:?} after the crash, was {:?}", lists.get(key)));
                }
            }
            lists
        }
        None => {
            let survivors = |done: &Done| {
                let there =
                    |(key, number): &(u64, u32)| survived.get(key).is_some_and(|list| list.contains(number));
                done.appends.iter().all(there) && (!done.appends.is_empty() || done.position == 0)
            };
            let half = committed.iter().find(|done| {
                let count = |done: &Done| {
                    let there = |append: &&(u64, u32)| {
                        survived.get(&append.0).is_some_and(|list| list.contains(&append.1))
                    };
                    done.appends.iter().filter(there).count()
                };
                count(done) != 0 && count(done) != done.appends.len()
            });
            if let Some(half) = half {
                return Err(format!("half of a commit survived: {half:?}"));
            }
            let all: BTreeSet<u32> = survived.values().flatten().copied().collect();
            committed.retain(|done| {
                survivors(done)
                    && done.reads.iter().all(|(_, seen, _)| seen.iter().all(|number| all.contains(number)))
            });
            survived
        }
    };
    let mut statistics = judge(level, &lists, &committed, &aborted)?;
    statistics.runs = 1;
    Ok(statistics)
}

fn decode(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}

fn list_key(key: u64) -> [u8; 8] {
    key.to_be_bytes()
}

fn final_lists(store: &Store, tree: &Tree) -> Result<BTreeMap<u64, Vec<u32>>, String> {
    let view = store.read_view();
    let mut lists = BTreeMap::new();
    for key in 0..KEYS {
        let list = store
            .get(tree, &list_key(key), view.reader(), decode)
            .map_err(|error| format!("the last read: {error}"))?;
        lists.insert(key, list.unwrap_or_default());
    }
    Ok(lists)
}

pub(crate) fn read(
    store: &Store,
    tree: &Tree,
    one: &mut Open,
    level: Level,
    key: u64,
) -> Result<bool, WriteError> {
    let (bytes, wait) = (list_key(key), one.wait);
    let seen = match level {
        Level::ReadUncommitted => {
            store.get(tree, &bytes, store.read_view().reader_uncommitted(), decode)?.unwrap_or_default()
        }
        Level::ReadCommitted => {
            let view = store.read_view();
            store.get(tree, &bytes, one.txn.reader(&view), decode)?.unwrap_or_default()
        }
        Level::RepeatableRead | Level::Snapshot => {
            let view = one.view.get_or_insert_with(|| store.read_view());
            store.get(tree, &bytes, one.txn.reader(view), decode)?.unwrap_or_default()
        }
        Level::Serializable => {
            let lock = |txn: &mut Transaction| txn.lock_current(tree, &bytes, LockMode::Shared, wait, decode);
            match lock(&mut one.txn)? {
                Locked::Row(list) => list,
                _ => {
                    // As a lookup by a unique key does: its place is locked, then looked at again.
                    one.txn.lock_range(tree, &bytes, Some(&list_key(key + 1)))?;
                    match lock(&mut one.txn)? {
                        Locked::Row(list) => list,
                        _ => Vec::new(),
                    }
                }
            }
        }
    };
    let own = one.done.appends.iter().filter(|append| append.0 == key).count();
    one.done.reads.push((key, seen, own));
    Ok(true)
}

pub(crate) fn append(tree: &Tree, one: &mut Open, key: u64, number: u32) -> Result<bool, WriteError> {
    let (bytes, wait) = (list_key(key), one.wait);
    loop {
        let old = one.txn.lock_current(tree, &bytes, LockMode::Exclusive, wait, <[u8]>::to_vec)?;
        if let Locked::Row(mut list) = old {
            list.extend_from_slice(&number.to_le_bytes());
            one.txn.put(tree, &bytes, &list, wait)?;
            break;
        }
        // Others may have it by the time that this has waited for them.
        match one.txn.insert(tree, &bytes, &number.to_le_bytes(), wait) {
            Ok(()) => break,
            Err(WriteError::DuplicateKey) => {}
            Err(error) => return Err(error),
        }
    }
    one.done.appends.push((key, number));
    Ok(true)
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Edge {
    Ww,
    Wr,
    Rw,
}

fn judge(
    level: Level,
    lists: &BTreeMap<u64, Vec<u32>>,
    committed: &[Done],
    aborted: &BTreeSet<u32>,
) -> Result<Statistics, String> {
    let mut writer: BTreeMap<u32, usize> = BTreeMap::new();
    for (at, done) in committed.iter().enumerate() {
        for (key, number) in &done.appends {
            writer.insert(*number, at);
            if !lists[key].contains(number) {
                return Err(format!("{number} was committed and is not in list {key}"));
            }
        }
    }
    let mut graph: Vec<Vec<(usize, Edge)>> = vec![Vec::new(); committed.len()];
    let mut statistics = Statistics { commits: committed.len() as u64, ..Statistics::default() };
    let mut edge = |graph: &mut Vec<Vec<(usize, Edge)>>, from: usize, to: usize, kind: Edge| {
        if from != to && !graph[from].contains(&(to, kind)) {
            graph[from].push((to, kind));
            statistics.edges += 1;
        }
    };
    for (key, list) in lists {
        if let Some(number) = list.iter().find(|number| aborted.contains(number)) {
            return Err(format!("{number} was rolled back and is in list {key}"));
        }
        for pair in list.windows(2) {
            if let (Some(&from), Some(&to)) = (writer.get(&pair[0]), writer.get(&pair[1])) {
                edge(&mut graph, from, to, Edge::Ww);
            }
        }
    }
    for (at, done) in committed.iter().enumerate() {
        for (key, seen, own) in &done.reads {
            let mine: Vec<u32> =
                done.appends.iter().filter(|append| append.0 == *key).map(|append| append.1).collect();
            let others: Vec<u32> = seen.iter().copied().filter(|number| !mine.contains(number)).collect();
            if level == Level::ReadUncommitted {
                continue; // What such a read sees is not guaranteed.
            }
            if seen.iter().filter(|number| mine.contains(number)).count() != *own {
                return Err(format!(
                    "a read of list {key} does not see the transaction's own appends: {seen:?}"
                ));
            }
            if let Some(number) = others.iter().find(|number| aborted.contains(number)) {
                return Err(format!("G1a: a read of list {key} saw {number}, which was rolled back"));
            }
            let list = &lists[key];
            // With own appends in it the list read is a version that no other transaction sees; the others' part decides.
            let prefix = list.iter().copied().filter(|number| !mine.contains(number)).collect::<Vec<_>>();
            if !prefix.starts_with(&others) {
                return Err(format!("a read of list {key} saw {seen:?}, which is no beginning of {list:?}"));
            }
            let last = others.last().copied();
            if let Some(last) = last {
                let Some(&from) = writer.get(&last) else {
                    return Err(format!("a read of list {key} saw {last}, which nobody committed"));
                };
                // The last number that its writer put into this list: else a version in between was seen.
                let of_writer = committed[from].appends.iter().rfind(|append| append.0 == *key);
                if from != at && of_writer.is_some_and(|append| append.1 != last) {
                    return Err(format!("G1b: a read of list {key} saw {last} but not what came with it"));
                }
                edge(&mut graph, from, at, Edge::Wr);
            }
            if let Some(&to) = prefix.get(others.len()).and_then(|next| writer.get(next)) {
                edge(&mut graph, at, to, Edge::Rw);
            }
        }
    }
    let ww = |kind: Edge| kind == Edge::Ww;
    let dependencies = |kind: Edge| kind != Edge::Rw;
    if let Some(cycle) = cycle(&graph, ww) {
        return Err(format!("G0: {}", describe_cycle(&cycle, committed)));
    }
    if level == Level::ReadUncommitted {
        return Ok(statistics);
    }
    if let Some(cycle) = cycle(&graph, dependencies) {
        return Err(format!("G1c: {}", describe_cycle(&cycle, committed)));
    }
    for (from, edges) in graph.iter().enumerate() {
        for &(to, kind) in edges {
            if kind != Edge::Rw || !reaches(&graph, to, from, dependencies) {
                continue;
            }
            let only_reads = committed[from].appends.is_empty();
            let forbidden = match level {
                Level::RepeatableRead => only_reads,
                Level::Snapshot | Level::Serializable => true,
                Level::ReadCommitted | Level::ReadUncommitted => false,
            };
            if forbidden {
                return Err(format!("G-single: {}", describe_cycle(&[from, to], committed)));
            }
            statistics.allowed += 1;
        }
    }
    if let Some(cycle) = cycle(&graph, |_| true) {
        if level == Level::Serializable {
            return Err(format!("G2: {}", describe_cycle(&cycle, committed)));
        }
        statistics.allowed += 1;
    }
    Ok(statistics)
}

fn describe_cycle(cycle: &[usize], committed: &[Done]) -> String {
    let all: Vec<String> = cycle.iter().map(|&at| format!("{:?}", committed[at])).collect();
    all.join(" -> ")
}

fn reaches(graph: &[Vec<(usize, Edge)>], from: usize, to: usize, follow: impl Fn(Edge) -> bool) -> bool {
    let mut seen = vec![false; graph.len()];
    let mut stack = vec![from];
    while let Some(at) = stack.pop() {
        if at == to {
            return true;
        }
        if !std::mem::replace(&mut seen[at], true) {
            stack.extend(graph[at].iter().filter(|edge| follow(edge.1)).map(|edge| edge.0));
        }
    }
    false
}

/// A cycle along the edges that `follow` takes, if there is one: two of its nodes at least.
fn cycle(graph: &[Vec<(usize, Edge)>], follow: impl Fn(Edge) -> bool) -> Option<Vec<usize>> {
    (0..graph.len()).find_map(|from| {
        let back = graph[from].iter().filter(|edge| follow(edge.1)).map(|edge| edge.0);
        back.into_iter().find(|&to| reaches(graph, to, from, &follow)).map(|to| vec![from, to])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(reads: &[(u64, &[u32])], appends: &[(u64, u32)]) -> Done {
        let reads = reads.iter().map(|(key, seen)| (*key, seen.to_vec(), 0)).collect();
        Done { reads, appends: appends.to_vec(), position: 1, is_durable: false }
    }

    fn judged(level: Level, lists: &[(u64, &[u32])], committed: &[Done]) -> Result<Statistics, String> {
        let lists = lists.iter().map(|(key, list)| (*key, list.to_vec())).collect();
        judge(level, &lists, committed, &BTreeSet::from([666]))
    }

    #[test]
    fn each_phenomenon_is_told_at_the_level_that_forbids_it() {
        use Level::{ReadCommitted, ReadUncommitted, RepeatableRead, Serializable, Snapshot};
        // Two transactions whose appends stand in opposite orders.
        let g0 = [done(&[], &[(0, 1), (1, 2)]), done(&[], &[(0, 3), (1, 4)])];
        let lists: [(u64, &[u32]); 2] = [(0, &[1, 3]), (1, &[4, 2])];
        assert!(judged(ReadUncommitted, &lists, &g0).unwrap_err().starts_with("G0"));
        // Reads of what was rolled back, of a version in between, in a cycle.
        let lists: [(u64, &[u32]); 2] = [(0, &[1, 3]), (1, &[2])];
        let g1a = [done(&[(0, &[666])], &[])];
        assert!(judged(ReadUncommitted, &[(0, &[])], &g1a).is_ok());
        assert!(judged(ReadCommitted, &[(0, &[])], &g1a).unwrap_err().starts_with("G1a"));
        let g1b = [done(&[], &[(0, 1), (0, 3)]), done(&[(0, &[1])], &[])];
        assert!(judged(ReadCommitted, &[(0, &[1, 3])], &g1b).unwrap_err().starts_with("G1b"));
        let g1c = [done(&[(1, &[2])], &[(0, 1)]), done(&[(0, &[1])], &[(1, 2)])];
        assert!(judged(ReadCommitted, &lists[..1], &g1c[..0]).is_ok());
        assert!(judged(ReadCommitted, &[(0, &[1]), (1, &[2])], &g1c).unwrap_err().starts_with("G1c"));
        // A reader that sees one of two appends of a transaction; a lost update; a write skew.
        let skewed = [done(&[], &[(0, 1), (1, 2)]), done(&[(0, &[1]), (1, &[])], &[])];
        let lists: [(u64, &[u32]); 2] = [(0, &[1]), (1, &[2])];
        assert_eq!(judged(ReadCommitted, &lists, &skewed).unwrap().allowed, 2);
        assert!(judged(RepeatableRead, &lists, &skewed).unwrap_err().starts_with("G-single"));
        let lost = [done(&[(0, &[])], &[(0, 1)]), done(&[(0, &[])], &[(0, 2)])];
        assert!(judged(RepeatableRead, &[(0, &[1, 2])], &lost).is_ok());
        assert!(judged(Snapshot, &[(0, &[1, 2])], &lost).unwrap_err().starts_with("G-single"));
        assert!(judged(Serializable, &[(0, &[1, 2])], &lost).is_err());
        let skew = [done(&[(0, &[])], &[(1, 2)]), done(&[(1, &[])], &[(0, 1)])];
        assert!(judged(RepeatableRead, &lists, &skew).is_ok());
        assert!(judged(Snapshot, &lists, &skew).is_ok());
        assert!(judged(Serializable, &lists, &skew).unwrap_err().starts_with("G2"));
    }
}
