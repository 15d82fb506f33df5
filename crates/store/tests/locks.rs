//! Locks: what lists of them tell, and what many of them cost.

use env::simulated::SimWorld;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::{LockMode, LockTarget, LockWait, Locked, Options, Store, Transaction, Tree, TreeId, WriteError};

const NOWAIT: LockWait = LockWait::Nowait;

fn fresh() -> (Store, Tree) {
    let options = Options { background_threads: false, buffer_pool_bytes: 32 << 20, ..Options::default() };
    let store = Store::open(SimWorld::new(1).env(), Path::new("/data"), options).unwrap();
    let tree = store.tree(TreeId::DICTIONARY).unwrap();
    (store, tree)
}

fn fill(store: &Store, tree: &Tree, keys: impl Iterator<Item = Vec<u8>>) {
    let mut txn = store.begin();
    for key in keys {
        txn.put(tree, &key, b"value", NOWAIT).unwrap();
    }
    txn.commit().unwrap();
}

fn lock(txn: &mut Transaction, tree: &Tree, key: &[u8], mode: LockMode) -> Result<(), WriteError> {
    txn.lock_current(tree, key, mode, NOWAIT, |_| ()).map(|found| assert_eq!(found, Locked::Row(())))
}

/// The records and key ranges listed: mode and target.
fn held(store: &Store) -> Vec<(LockMode, LockTarget)> {
    let mut told = Vec::new();
    store
        .for_each_held_lock(&mut |lock| {
            if lock.target != LockTarget::Tree {
                told.push((lock.mode, lock.target.clone()));
            }
        })
        .unwrap();
    told
}

#[test]
fn a_list_tells_what_is_held() {
    let (store, tree) = fresh();
    fill(&store, &tree, (b'a'..b'h').map(|letter| vec![letter]));
    let mut txn = store.begin();
    txn.set_owner(7);
    txn.set_range_locks(true);
    let record = |key: &[u8]| LockTarget::Record(key.to_vec());
    lock(&mut txn, &tree, b"a", LockMode::Exclusive).unwrap();
    lock(&mut txn, &tree, b"b", LockMode::Shared).unwrap();
    lock(&mut txn, &tree, b"c", LockMode::Exclusive).unwrap();
    txn.update(&tree, b"c", b"new", NOWAIT).unwrap();
    txn.lock_range(&tree, b"x", None).unwrap();
    let key_range = LockTarget::Keys { lower: b"x".to_vec(), upper: None, covers_rows: false };
    let expected = [
        (LockMode::Shared, record(b"b")),
        (LockMode::Exclusive, key_range),
        (LockMode::Exclusive, record(b"c")),
        (LockMode::Exclusive, record(b"a")),
    ];
    assert_eq!(held(&store), expected);

    // What was rolled back, or released, is not listed.
    let savepoint = txn.savepoint();
    lock(&mut txn, &tree, b"d", LockMode::Exclusive).unwrap();
    txn.rollback_to(&savepoint).unwrap();
    let mark = txn.lock_mark();
    for key in [b"e", b"f"] {
        lock(&mut txn, &tree, key, LockMode::Exclusive).unwrap();
    }
    txn.unlock_since(&tree, b"e", mark).unwrap();
    txn.unlock_since(&tree, b"f", mark).unwrap();
    assert_eq!(held(&store), expected);

    let running = store.running_transactions().unwrap();
    assert_eq!((running.len(), running[0].txn, running[0].owner), (1, txn.id(), 7));
    assert_eq!((running[0].changes, running[0].noted_locks), (1, 2));
    txn.rollback().unwrap();
    assert_eq!((held(&store), store.running_transactions().unwrap()), (vec![], vec![]));
}

#[test]
fn lists_beside_writers_end_and_read_nothing_that_is_gone() {
    let (store, tree) = fresh();
    fill(&store, &tree, (0..500_u32).map(|number| number.to_be_bytes().to_vec()));
    let stop = AtomicBool::new(false);
    let told = std::thread::scope(|scope| {
        for seed in 1..=3_u32 {
            let (store, tree, stop) = (&store, &tree, &stop);
            scope.spawn(move || {
                let mut state = seed;
                while !stop.load(Ordering::Relaxed) {
                    let mut txn = store.begin();
                    for step in 0..400 {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        let key = ((state >> 8) % 500).to_be_bytes();
                        let (savepoint, mark) = (txn.savepoint(), txn.lock_mark());
                        let done = match step % 4 {
                            0 => txn.delete(tree, &key, NOWAIT).map(|_| ()),
                            1 => txn.put(tree, &key, &key.repeat(step % 90), NOWAIT),
                            2 => txn.lock_current(tree, &key, LockMode::Shared, NOWAIT, |_| ()).map(|_| ()),
                            _ => {
                                txn.lock_current(tree, &key, LockMode::Exclusive, NOWAIT, |_| ()).map(|_| ())
                            }
                        };
                        assert!(matches!(done, Ok(()) | Err(WriteError::Locked { .. })), "{done:?}");
                        if state % 3 == 0 {
                            txn.unlock_since(tree, &key, mark).unwrap();
                        } else if state % 3 == 1 {
                            txn.rollback_to(&savepoint).unwrap();
                        }
                    }
                    if state % 2 == 0 {
                        txn.commit().unwrap();
                    } else {
                        txn.rollback().unwrap();
                    }
                    store.purge_tick().unwrap();
                }
            });
        }
        let mut told = 0;
        for _ in 0..100 {
            told += held(&store).len() + store.running_transactions().unwrap().len();
            std::thread::sleep(Duration::from_micros(300));
        }
        stop.store(true, Ordering::Relaxed);
        told
    });
    assert!(told > 0, "somebody was seen");
    assert_eq!(held(&store), []);
}

/// Long, so that few of them take much memory.
fn long_key(number: u32) -> Vec<u8> {
    [&[b'k'; 1000][..], &number.to_be_bytes()].concat()
}

#[test]
fn many_shared_locks_become_an_interval() {
    let (store, tree) = fresh();
    let count = 9_000;
    fill(&store, &tree, (0..count).map(|number| long_key(2 * number)));
    let mut txn = store.begin();
    let mut most = 0;
    for number in 0..count {
        // Here and there, so that what is locked first is in the middle.
        let key = long_key(2 * (number * 7_919 % count));
        lock(&mut txn, &tree, &key, LockMode::Shared).unwrap();
        most = most.max(store.status().lock_bytes);
    }
    let now = store.status().lock_bytes;
    assert!(most < 18 << 20 && now < 6 << 20, "{now} of {most} bytes");

    let mut other = store.begin();
    for number in (0..count).step_by(100) {
        let key = long_key(2 * number);
        lock(&mut other, &tree, &key, LockMode::Shared).unwrap();
        let refused = other.update(&tree, &key, b"new", NOWAIT);
        assert!(matches!(refused, Err(WriteError::Locked { .. })), "{number}: {refused:?}");
    }
    // Again, and its own changes.
    for number in (0..count).step_by(100) {
        lock(&mut txn, &tree, &long_key(2 * number), LockMode::Shared).unwrap();
    }
    other.rollback().unwrap();
    assert!(txn.update(&tree, &long_key(200), b"mine", NOWAIT).unwrap());
    txn.commit().unwrap();
    assert_eq!(store.status().lock_bytes, 0);
    let mut other = store.begin();
    assert!(other.update(&tree, &long_key(400), b"new", NOWAIT).unwrap());
    other.insert(&tree, &long_key(401), b"new", NOWAIT).unwrap();
}

#[test]
fn too_many_locks_are_refused_to_who_has_them_and_given_back_with_the_statement() {
    let (store, tree) = fresh();
    fill(&store, &tree, (0..100).map(|number| long_key(10 * number)));
    let mut txn = store.begin();
    txn.set_range_locks(true);
    let key_range = |txn: &mut Transaction, number: u32| {
        txn.lock_range(&tree, &long_key(10 * number + 1), Some(&long_key(10 * number + 5)))
    };
    let inserts = |number: u32| {
        let mut other = store.begin();
        let inserted = other.insert(&tree, &long_key(10 * number + 2), b"new", NOWAIT);
        other.rollback().unwrap();
        inserted
    };
    for number in 0..50 {
        key_range(&mut txn, number).unwrap();
    }
    lock(&mut txn, &tree, &long_key(0), LockMode::Shared).unwrap();
    let before = store.status().lock_bytes;
    let savepoint = txn.savepoint();
    lock(&mut txn, &tree, &long_key(10), LockMode::Shared).unwrap();
    // One that an older one covers in part.
    txn.lock_range(&tree, &long_key(10 * 49 + 3), Some(&long_key(10 * 49 + 9))).unwrap();
    let refused =
        (50..100_000).find_map(|number| key_range(&mut txn, number).err().map(|error| (number, error)));
    let Some((number, WriteError::TooManyLocks)) = refused else { panic!("{refused:?}") };
    assert!(number > 10_000, "{number}");
    let least = store.status().lock_bytes;
    assert!(inserts(number - 1).is_err() && least < 80 << 20, "{least}");
    // Others are not refused.
    let mut other = store.begin();
    lock(&mut other, &tree, &long_key(20), LockMode::Shared).unwrap();
    other.rollback().unwrap();

    txn.rollback_to(&savepoint).unwrap();
    assert_eq!(store.status().lock_bytes, before);
    inserts(50).unwrap();
    inserts(number - 1).unwrap();
    for number in 0..50 {
        assert!(inserts(number).is_err(), "{number}");
    }
    let mut other = store.begin();
    assert!(other.update(&tree, &long_key(10), b"new", NOWAIT).unwrap());
    assert!(other.update(&tree, &long_key(0), b"new", NOWAIT).is_err());
    other.insert(&tree, &long_key(10 * 49 + 7), b"new", NOWAIT).unwrap();
    other.rollback().unwrap();
    key_range(&mut txn, 60).unwrap();
    txn.rollback().unwrap();
    assert_eq!(store.status().lock_bytes, 0);
}

#[test]
fn locks_given_back_take_no_room() {
    let (store, tree) = fresh();
    fill(&store, &tree, (0..300_u32).map(|number| number.to_be_bytes().to_vec()));
    let mut txn = store.begin();
    lock(&mut txn, &tree, &7_u32.to_be_bytes(), LockMode::Exclusive).unwrap();
    let before = store.status().undo_bytes_in_memory;
    for _ in 0..100 {
        let mark = txn.lock_mark();
        for number in 0..300_u32 {
            lock(&mut txn, &tree, &number.to_be_bytes(), LockMode::Exclusive).unwrap();
        }
        for number in (0..300_u32).rev() {
            txn.unlock_since(&tree, &number.to_be_bytes(), mark).unwrap();
        }
    }
    let after = store.status().undo_bytes_in_memory;
    assert!(after < before + (128 << 10), "{after} after {before} bytes");
    // The lock from before the mark is there.
    let mut other = store.begin();
    assert!(other.update(&tree, &7_u32.to_be_bytes(), b"new", NOWAIT).is_err());
    assert!(other.update(&tree, &8_u32.to_be_bytes(), b"new", NOWAIT).unwrap());
}

/// Key ranges that meet become one segment, whatever their order; each one that is released wakes its waiters.
#[test]
fn who_waits_in_an_interval_hears_of_its_end_though_it_has_grown_to_the_left() {
    let (store, tree) = fresh();
    let mut reader = store.begin();
    reader.set_range_locks(true);
    for (lower, upper) in [(b"f", b"k"), (b"s", b"u"), (b"c", b"f")] {
        reader.lock_range(&tree, lower, Some(upper)).unwrap();
    }
    let writer = std::thread::spawn({
        let (store, tree) = (store.clone(), tree.clone());
        move || {
            let mut txn = store.begin();
            txn.insert(&tree, b"h", b"new", LockWait::Timeout(Duration::from_secs(10)))
        }
    });
    while store.lock_waiters().is_empty() {
        std::thread::yield_now();
    }
    reader.rollback().unwrap();
    writer.join().unwrap().expect("nobody keeps it waiting");
}
