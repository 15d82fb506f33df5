//! Short programs of few threads in orders drawn from a seed (`crate::sync`): latches, the hand-over of locks, commits.
//!
//! ```text
//! cargo test -p store --features interleave --lib interleaved_tests       INTERLEAVINGS=100000: this many orders of each
//! ```
//!
//! What is seen is checked at every end: no update is lost, no reader sees half of a change, nobody waits for ever (a run that
//! does not end within [`STEPS_MAX`] switches fails), and what was acknowledged is there after a power cut at any moment. A
//! failure prints its schedule, which `shuttle::replay` repeats.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use env::simulated::SimWorld;
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, MaxSteps, Runner, thread};

use crate::pager::frame::Arena;
use crate::{LockMode, LockWait, Locked, Options, ScanRange, Store, Transaction, Tree, TreeId, WriteError};

/// Orders tried of each program unless `INTERLEAVINGS` says otherwise.
const ORDERS: usize = 100;
/// Switches after which a run counts as one that does not end.
const STEPS_MAX: usize = 2_000_000;
const STACK_BYTES: usize = 1 << 20;
/// A wait that no thread ends is ended by a timeout; no program here needs one.
const WAIT: LockWait = LockWait::Timeout(Duration::from_secs(3600));

fn explore(program: impl Fn() + Send + Sync + 'static) {
    let orders = std::env::var("INTERLEAVINGS").ok().and_then(|text| text.parse().ok()).unwrap_or(ORDERS);
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
    Runner::new(RandomScheduler::new(orders), config).run(program);
}

fn opened(world: &SimWorld) -> Store {
    let options = Options { background_threads: false, buffer_pool_bytes: 1 << 20, ..Options::default() };
    Store::open(world.env(), Path::new("/data"), options).unwrap()
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

fn value_of(store: &Store, tree: &Tree, key: &[u8]) -> Option<u64> {
    let view = store.read_view();
    store.get(tree, key, view.reader(), number).unwrap()
}

/// A store with these keys at 0.
fn with_rows(world: &SimWorld, keys: &[&[u8]]) -> (Store, Tree) {
    let store = opened(world);
    let tree = store.tree(TreeId::DICTIONARY).unwrap();
    let mut txn = store.begin();
    for key in keys {
        txn.insert(&tree, key, &0_u64.to_le_bytes(), WAIT).unwrap();
    }
    if let Some(position) = txn.commit().unwrap() {
        store.sync_to(position).unwrap();
    }
    (store, tree)
}

fn add_one(txn: &mut Transaction, tree: &Tree, key: &[u8]) -> Result<(), WriteError> {
    let Locked::Row(value) = txn.lock_current(tree, key, LockMode::Exclusive, WAIT, number)? else {
        panic!("the row is there")
    };
    assert!(txn.update(tree, key, &(value + 1).to_le_bytes(), WAIT)?);
    Ok(())
}

#[test]
fn latches_exclude_and_optimistic_readers_see_whole_changes() {
    explore(|| {
        let arena = Arc::new(Arena::new(1).unwrap());
        let whole = |body: &[u8]| (number(&body[64..72]), number(&body[128..136]));
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let arena = Arc::clone(&arena);
                thread::spawn(move || {
                    for _ in 0..3 {
                        let mut guard = match writer {
                            0 => arena.exclusive(0),
                            _ => loop {
                                let version = arena.optimistic(0);
                                if let Some(guard) = arena.upgrade(0, version) {
                                    break guard;
                                }
                            },
                        };
                        let (one, other) = whole(guard.body());
                        assert_eq!(one, other, "an exclusive holder found half of a change");
                        guard.body_mut()[64..72].copy_from_slice(&(one + 1).to_le_bytes());
                        guard.body_mut()[128..136].copy_from_slice(&(one + 1).to_le_bytes());
                    }
                })
            })
            .collect();
        let readers: Vec<_> = (0..2)
            .map(|reader| {
                let arena = Arc::clone(&arena);
                thread::spawn(move || {
                    for _ in 0..3 {
                        if reader == 0 {
                            let guard = arena.shared(0);
                            let (one, other) = whole(guard.body());
                            assert_eq!(one, other, "a shared holder saw half of a change");
                            continue;
                        }
                        let version = arena.optimistic(0);
                        let racy = arena.racy(0);
                        let (one, other) = (racy.load_u64(64), racy.load_u64(128));
                        if arena.validate(0, version) {
                            assert_eq!(one, other, "what was validated is half of a change");
                        }
                    }
                })
            })
            .collect();
        for thread in writers.into_iter().chain(readers) {
            thread.join().unwrap();
        }
        assert_eq!(whole(arena.shared(0).body()), (6, 6), "a change was lost");
    });
}

#[test]
fn a_hot_row_is_handed_on_and_no_update_is_lost() {
    explore(|| {
        let world = SimWorld::new(thread_rng().gen_range(0..u64::MAX));
        let (store, tree) = with_rows(&world, &[b"hot"]);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (store, tree) = (store.clone(), tree.clone());
                thread::spawn(move || {
                    for round in 0..2 {
                        let mut txn = store.begin();
                        // One row: there is no cycle to be in.
                        add_one(&mut txn, &tree, b"hot").unwrap();
                        if round == 0 && thread_rng().gen_range(0..4) == 0 {
                            txn.rollback().unwrap();
                            let mut again = store.begin();
                            add_one(&mut again, &tree, b"hot").unwrap();
                            again.commit().unwrap();
                        } else {
                            txn.commit().unwrap();
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(value_of(&store, &tree, b"hot"), Some(6));
        assert_eq!(store.lock_waiters(), [], "nobody waits any more");
    });
}

#[test]
fn of_those_who_insert_a_key_one_does() {
    explore(|| {
        let world = SimWorld::new(thread_rng().gen_range(0..u64::MAX));
        let (store, tree) = with_rows(&world, &[]);
        let threads: Vec<_> = (0..3)
            .map(|number| {
                let (store, tree) = (store.clone(), tree.clone());
                thread::spawn(move || {
                    let mut txn = store.begin();
                    match txn.insert(&tree, b"key", &[number], WAIT) {
                        Ok(()) if number == 0 => txn.rollback().unwrap(),
                        Ok(()) => {
                            txn.commit().unwrap();
                            return true;
                        }
                        Err(WriteError::DuplicateKey) => {}
                        Err(other) => panic!("{other}"),
                    }
                    false
                })
            })
            .collect();
        let inserted =
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|is_in| *is_in).count();
        assert_eq!(inserted, 1, "one inserts it, and the others get the error");
    });
}

#[test]
fn deadlocks_are_broken_and_the_other_transactions_continue() {
    explore(|| {
        let world = SimWorld::new(thread_rng().gen_range(0..u64::MAX));
        let rows: [&[u8]; 3] = [b"a", b"b", b"c"];
        let (store, tree) = with_rows(&world, &rows);
        let done = Arc::new(Mutex::new(0));
        let threads: Vec<_> = (0..3)
            .map(|first| {
                let (store, tree, done) = (store.clone(), tree.clone(), Arc::clone(&done));
                thread::spawn(move || {
                    let mut txn = store.begin();
                    for step in 0..2 {
                        match add_one(&mut txn, &tree, rows[(first + step) % 3]) {
                            Ok(()) => {}
                            Err(WriteError::Deadlock { .. }) => return txn.rollback().unwrap(),
                            Err(other) => panic!("{other}"),
                        }
                    }
                    txn.commit().unwrap();
                    *done.lock().unwrap() += 1;
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let done = *done.lock().unwrap();
        assert!(done >= 2, "one victim is enough: {done} of 3 came through");
        let sum: u64 = rows.iter().filter_map(|row| value_of(&store, &tree, row)).sum();
        assert_eq!(sum, 2 * done, "victims left nothing behind");
    });
}

/// Keys so long that a leaf holds a score of them: splits and merges happen all the time.
fn long_key(writer: u8, number: u8) -> Vec<u8> {
    [&[number, writer][..], &[9; 700]].concat()
}

#[test]
fn a_tree_that_splits_and_merges_loses_nothing() {
    explore(|| {
        const KEYS: u8 = 24;
        let world = SimWorld::new(thread_rng().gen_range(0..u64::MAX));
        let (store, tree) = with_rows(&world, &[]);
        let writers: Vec<_> = (0..2_u8)
            .map(|writer| {
                let (store, tree) = (store.clone(), tree.clone());
                thread::spawn(move || {
                    let change = |numbers: &mut dyn Iterator<Item = u8>, is_insert: bool| {
                        let mut txn = store.begin();
                        for number in numbers {
                            let key = long_key(writer, number);
                            if is_insert {
                                txn.insert(&tree, &key, &u64::from(number).to_le_bytes(), WAIT).unwrap();
                            } else {
                                assert!(txn.delete(&tree, &key, WAIT).unwrap(), "a row is gone");
                            }
                        }
                        txn.commit().unwrap();
                    };
                    change(&mut (0..KEYS), true);
                    change(&mut (0..KEYS).filter(|number| number % 8 != 0), false);
                    change(&mut (0..KEYS / 2).filter(|number| number % 8 != 0), true);
                })
            })
            .collect();
        let purger = {
            let store = store.clone();
            thread::spawn(move || {
                for _ in 0..12 {
                    store.purge_tick().unwrap();
                    thread::yield_now();
                }
            })
        };
        for _ in 0..3 {
            let view = store.read_view();
            let mut keys: Vec<Vec<u8>> = Vec::new();
            let mut scan = store.scan(&tree, &ScanRange::all());
            scan.for_each(view.reader(), |key, value| {
                assert_eq!(number(value), u64::from(key[0]));
                keys.push(key.to_vec());
                ControlFlow::Continue(())
            })
            .unwrap();
            assert!(keys.is_sorted(), "a scan goes up");
            for writer in 0..2 {
                let count = keys.iter().filter(|key| key[1] == writer).count();
                assert!([0, 24, 3, 13].contains(&count), "{count} rows of one writer: part of a transaction");
            }
        }
        for thread in writers.into_iter().chain([purger]) {
            thread.join().unwrap();
        }
        while store.purge_tick().unwrap() {}
        for writer in 0..2 {
            for number in 0..KEYS {
                let is_there = number < KEYS / 2 || number % 8 == 0;
                let found = value_of(&store, &tree, &long_key(writer, number));
                assert_eq!(found, is_there.then_some(u64::from(number)));
            }
        }
        store.check().unwrap();
    });
}

/// Readers of a range, each of which lets the writers go first that came before it, and reads the same twice.
#[test]
fn shared_key_ranges_and_writers_alternate() {
    explore(|| {
        let world = SimWorld::new(thread_rng().gen_range(0..u64::MAX));
        let (store, tree) = with_rows(&world, &[b"a", b"b", b"c"]);
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (store, tree) = (store.clone(), tree.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        let mut txn = store.begin();
                        txn.set_range_locks(true);
                        let read = |txn: &mut Transaction| {
                            let mut scan = txn.lock_scan(&tree, &ScanRange::all(), LockMode::Shared, WAIT);
                            let mut rows = Vec::new();
                            while let Some((key, value)) = scan.next(txn)? {
                                rows.push((key.to_vec(), number(value)));
                            }
                            Ok::<_, WriteError>(rows)
                        };
                        let first = read(&mut txn);
                        thread::yield_now();
                        match (first, read(&mut txn)) {
                            (Ok(first), Ok(second)) => {
                                assert_eq!(first, second, "what a shared interval covers has changed");
                                txn.commit().unwrap();
                            }
                            (first, second) => {
                                let is_deadlock = |rows| matches!(rows, Err(WriteError::Deadlock { .. }));
                                assert!(is_deadlock(first) || is_deadlock(second));
                            }
                        }
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (0..2_u8)
            .map(|writer| {
                let (store, tree) = (store.clone(), tree.clone());
                thread::spawn(move || {
                    let mut txn = store.begin();
                    let insert = txn.insert(&tree, &[b'b', writer], &7_u64.to_le_bytes(), WAIT);
                    let done = insert.and_then(|()| add_one(&mut txn, &tree, b"b"));
                    match done {
                        Ok(()) => drop(txn.commit().unwrap()),
                        Err(WriteError::Deadlock { .. }) => {}
                        Err(other) => panic!("{other}"),
                    }
                })
            })
            .collect();
        for thread in readers.into_iter().chain(writers) {
            thread.join().unwrap();
        }
        assert_eq!((store.lock_waiters(), store.status().lock_bytes), (vec![], 0));
    });
}

#[test]
fn what_was_acknowledged_survives_a_power_cut_at_any_moment() {
    explore(|| {
        let world = SimWorld::new(thread_rng().gen_range(0..u64::MAX));
        let (store, tree) = with_rows(&world, &[b"first"]);
        let acknowledged = Arc::new(Mutex::new(Vec::new()));
        let writers: Vec<_> = (0..3_u8)
            .map(|writer| {
                let (store, tree, acknowledged) = (store.clone(), tree.clone(), Arc::clone(&acknowledged));
                thread::spawn(move || {
                    for round in 0..3_u8 {
                        // After the cut everything fails: what fails was not acknowledged.
                        let mut txn = store.begin();
                        for half in 0..2_u8 {
                            let value = u64::from(round).to_le_bytes();
                            if txn.insert(&tree, &[b'w', writer, round, half], &value, WAIT).is_err() {
                                return;
                            }
                        }
                        let Ok(Some(position)) = txn.commit() else { return };
                        if store.sync_to(position).is_err() {
                            return;
                        }
                        acknowledged.lock().unwrap().push((writer, round));
                    }
                })
            })
            .collect();
        for _ in 0..thread_rng().gen_range(0..400) {
            thread::yield_now();
        }
        if thread_rng().gen_range(0..2) == 0 {
            store.checkpoint_now().unwrap();
        }
        // In this order: what is acknowledged after this look is not asked for.
        let promised = acknowledged.lock().unwrap().clone();
        let world = world.crash();
        for writer in writers {
            writer.join().unwrap();
        }
        let store = opened(&world);
        let tree = store.tree(TreeId::DICTIONARY).unwrap();
        assert_eq!(value_of(&store, &tree, b"first"), Some(0));
        for writer in 0..3_u8 {
            for round in 0..3_u8 {
                let half = |half| value_of(&store, &tree, &[b'w', writer, round, half]);
                assert_eq!(half(0), half(1), "half of a commit came back");
                if promised.contains(&(writer, round)) {
                    assert_eq!(half(0), Some(u64::from(round)), "an acknowledged commit is gone");
                }
            }
        }
        store.check().unwrap();
    });
}
