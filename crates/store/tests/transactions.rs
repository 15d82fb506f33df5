//! Transactions over the simulated disk: what is seen, who waits, what a crash leaves.

use env::simulated::SimWorld;
use std::ops::ControlFlow;
use std::path::Path;
use store::wal::LogOptions;
use store::{
    LockMode, LockWait, Locked, Options, ReadView, ScanRange, Store, Transaction, Tree, TreeId, WriteError,
};

const NOWAIT: LockWait = LockWait::Nowait;

fn options() -> Options {
    let log = LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() };
    Options {
        background_threads: false,
        buffer_pool_bytes: 8 << 20,
        log,
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    }
}

fn open(world: &SimWorld) -> Store {
    Store::open(world.env(), Path::new("/data"), options()).unwrap()
}

fn fresh() -> (Store, Tree) {
    let store = open(&SimWorld::new(1));
    let tree = store.tree(TreeId::DICTIONARY).unwrap();
    (store, tree)
}

fn get(store: &Store, tree: &Tree, view: &ReadView, key: &str) -> Option<String> {
    store
        .get(tree, key.as_bytes(), view.reader(), |value| String::from_utf8(value.to_vec()).unwrap())
        .unwrap()
}

fn all(store: &Store, tree: &Tree, view: &ReadView) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut rows = Vec::new();
    let mut scan = store.scan(tree, &ScanRange::all());
    scan.for_each(view.reader(), |key, value| {
        rows.push((text(key), text(value)));
        ControlFlow::Continue(())
    })
    .unwrap();
    rows
}

fn put(txn: &mut Transaction, tree: &Tree, key: &str, value: &str) {
    txn.put(tree, key.as_bytes(), value.as_bytes(), NOWAIT).unwrap();
}

#[test]
fn each_view_sees_its_moment() {
    let (store, tree) = fresh();
    let empty = store.read_view();
    let mut views = Vec::new();
    for round in 0..50 {
        let mut txn = store.begin();
        put(&mut txn, &tree, "counter", &format!("{round:0>width$}", width = round % 7 + 1));
        if round % 3 == 0 {
            txn.delete(&tree, b"flag", NOWAIT).unwrap();
        } else {
            put(&mut txn, &tree, "flag", "up");
        }
        // Others do not see it yet, this transaction does.
        let now = store.read_view();
        let own = store.get(&tree, b"counter", txn.reader(&now), <[u8]>::len).unwrap();
        assert_eq!(own, Some(format!("{round:0>width$}", width = round % 7 + 1).len()));
        drop(now);
        txn.commit().unwrap();
        views.push((round, store.read_view()));
        store.purge_tick().unwrap();
    }
    for (round, view) in &views {
        let counter = get(&store, &tree, view, "counter").unwrap();
        assert_eq!(counter.parse::<usize>().unwrap(), *round);
        assert_eq!(get(&store, &tree, view, "flag").is_some(), round % 3 != 0, "round {round}");
    }
    assert_eq!(all(&store, &tree, &empty), []);
    drop((views, empty));
    while store.purge_tick().unwrap() {}
    let status = store.status();
    assert_eq!((status.unpurged_transactions, status.undo_bytes_in_memory > 0), (0, true));
    store.check().unwrap();
}

#[test]
fn rolling_back_leaves_no_trace() {
    let (store, tree) = fresh();
    let mut txn = store.begin();
    for key in ["a", "b", "c"] {
        put(&mut txn, &tree, key, "first");
    }
    txn.commit().unwrap();
    let before = all(&store, &tree, &store.read_view());

    let mut txn = store.begin();
    put(&mut txn, &tree, "a", "a much longer second value");
    put(&mut txn, &tree, "d", "new");
    let savepoint = txn.savepoint();
    txn.delete(&tree, b"a", NOWAIT).unwrap();
    txn.delete(&tree, b"b", NOWAIT).unwrap();
    put(&mut txn, &tree, "a", "again");
    put(&mut txn, &tree, "e", "e");
    txn.rollback_to(&savepoint).unwrap();
    let view = store.read_view();
    let own = |key: &[u8]| store.get(&tree, key, txn.reader(&view), <[u8]>::to_vec).unwrap();
    assert_eq!(own(b"a").unwrap(), b"a much longer second value");
    assert_eq!((own(b"b").unwrap(), own(b"e")), (b"first".to_vec(), None));
    txn.rollback().unwrap();
    assert_eq!(all(&store, &tree, &store.read_view()), before);
    assert_eq!(tree.record_count(), 3);
}

#[test]
fn writers_meet_each_others_locks() {
    let (store, tree) = fresh();
    let mut first = store.begin();
    put(&mut first, &tree, "row", "1");
    let mut second = store.begin();
    assert!(
        matches!(second.insert(&tree, b"row", b"2", NOWAIT), Err(WriteError::Locked { holder }) if holder == first.id())
    );
    first.commit().unwrap();
    assert!(matches!(second.insert(&tree, b"row", b"2", NOWAIT), Err(WriteError::DuplicateKey)));
    assert!(second.update(&tree, b"row", b"2", NOWAIT).unwrap());
    let mut third = store.begin();
    let locked = third.lock_current(&tree, b"row", LockMode::Shared, LockWait::Skip, |_| ()).unwrap();
    assert_eq!(locked, Locked::Skipped);
    second.rollback().unwrap();
    let value = third.lock_current(&tree, b"row", LockMode::Shared, NOWAIT, <[u8]>::to_vec).unwrap();
    assert_eq!(value, Locked::Row(b"1".to_vec()));
    // Shared locks go together, a writer has to wait for both.
    let mut fourth = store.begin();
    fourth.lock_current(&tree, b"row", LockMode::Shared, NOWAIT, |_| ()).unwrap();
    assert!(matches!(third.delete(&tree, b"row", NOWAIT), Err(WriteError::Locked { .. })));
    fourth.commit().unwrap();
    assert!(third.delete(&tree, b"row", NOWAIT).unwrap());
    third.commit().unwrap();
    assert_eq!(all(&store, &tree, &store.read_view()), []);
}

#[test]
fn locking_a_newer_row_does_not_show_it_to_the_snapshot() {
    let (store, tree) = fresh();
    let write = |value: &str| {
        let mut txn = store.begin();
        put(&mut txn, &tree, "row", value);
        txn.commit().unwrap();
    };
    write("old");
    let view = store.read_view();
    write("new");
    let mut txn = store.begin();
    let current = txn.lock_current(&tree, b"row", LockMode::Exclusive, NOWAIT, <[u8]>::to_vec).unwrap();
    assert_eq!(current, Locked::Row(b"new".to_vec()));
    let seen =
        |txn: &Transaction| store.get(&tree, b"row", txn.reader(&view), <[u8]>::to_vec).unwrap().unwrap();
    assert_eq!(seen(&txn), b"old");
    let savepoint = txn.savepoint();
    put(&mut txn, &tree, "row", "own");
    assert_eq!(seen(&txn), b"own");
    txn.rollback_to(&savepoint).unwrap();
    assert_eq!(seen(&txn), b"old");
    txn.commit().unwrap();
    assert_eq!(get(&store, &tree, &view, "row").unwrap(), "old");
    assert_eq!(get(&store, &tree, &store.read_view(), "row").unwrap(), "new");
}

#[test]
fn a_crash_keeps_what_was_durable_and_nothing_half() {
    for seed in 0..40 {
        let mut world = SimWorld::new(seed);
        let mut expected = Vec::new();
        for round in 0..6 {
            let store = open(&world);
            let tree = store.tree(TreeId::DICTIONARY).unwrap();
            assert_eq!(all(&store, &tree, &store.read_view()), expected, "seed {seed} round {round}");
            let mut running = store.begin();
            put(&mut running, &tree, "running", "never committed");
            running.delete(&tree, b"key 0", NOWAIT).unwrap();
            for step in 0..20 {
                let mut txn = store.begin();
                put(&mut txn, &tree, &format!("key {}", round * 20 + step + 1), &"v".repeat(step * 150));
                put(&mut txn, &tree, "last", &format!("{round} {step}"));
                let position = txn.commit().unwrap().unwrap();
                if step % 7 == 3 {
                    store.checkpoint_now().unwrap();
                }
                if step % 7 == 5 {
                    // A checkpoint while this one runs must not keep it.
                    put(&mut running, &tree, "running", "still not");
                }
                store.sync_to(position).unwrap();
            }
            expected = all(&store, &tree, &store.read_view());
            std::mem::forget(running);
            world = world.crash();
        }
        let store = open(&world);
        store.check().unwrap();
        let tree = store.tree(TreeId::DICTIONARY).unwrap();
        assert_eq!(tree.record_count(), expected.len() as u64);
    }
}

#[test]
fn trees_come_and_go_with_their_transactions() {
    let mut world = SimWorld::new(3);
    let store = open(&world);
    let mut txn = store.begin();
    let kept = txn.create_tree().unwrap();
    let tree = store.tree(kept).unwrap();
    for number in 0..2000 {
        put(&mut txn, &tree, &format!("{number:05}"), &"x".repeat(100));
    }
    let dropped_at_once = txn.create_tree().unwrap();
    txn.drop_tree(dropped_at_once, NOWAIT).unwrap();
    txn.commit().unwrap();
    while store.purge_tick().unwrap() {}
    let pages = store.status().page_count;

    let mut txn = store.begin();
    let rolled_back = txn.create_tree().unwrap();
    let other = store.tree(rolled_back).unwrap();
    for number in 0..2000 {
        put(&mut txn, &other, &format!("{number:05}"), &"x".repeat(100));
    }
    store.checkpoint_now().unwrap();
    txn.rollback().unwrap();
    assert!(store.tree(rolled_back).is_err());
    while store.purge_tick().unwrap() {}
    assert_eq!(store.status().page_count, pages);

    let view = store.read_view();
    let mut txn = store.begin();
    txn.drop_tree(kept, NOWAIT).unwrap();
    assert!(matches!(txn.drop_tree(kept, NOWAIT), Err(WriteError::Store(_))));
    let position = txn.commit().unwrap().unwrap();
    store.purge_tick().unwrap();
    assert_eq!(all(&store, &tree, &view).len(), 2000);
    drop(view);
    store.sync_to(position).unwrap();
    store.checkpoint_now().unwrap();
    world = world.crash();
    let store = open(&world);
    assert!(store.tree(kept).is_err());
    store.check().unwrap();
    assert!(store.status().page_count <= 17, "{} pages", store.status().page_count);
}

#[test]
fn data_larger_than_the_pool_works() {
    let world = SimWorld::new(5);
    let small = Options { buffer_pool_bytes: 1 << 20, ..options() };
    let store = Store::open(world.env(), Path::new("/data"), small.clone()).unwrap();
    let tree = store.tree(TreeId::DICTIONARY).unwrap();
    let key = |number: u32| number.wrapping_mul(2_654_435_761).to_be_bytes();
    for batch in 0..40u32 {
        let mut txn = store.begin();
        for number in batch * 250..(batch + 1) * 250 {
            txn.insert(&tree, &key(number), &[number as u8; 400], NOWAIT).unwrap();
        }
        let position = txn.commit().unwrap().unwrap();
        store.sync_to(position).unwrap();
    }
    let check = |store: &Store| {
        let tree = store.tree(TreeId::DICTIONARY).unwrap();
        let view = store.read_view();
        for number in 0..10_000u32 {
            let found = store.get(&tree, &key(number), view.reader(), |value| value == [number as u8; 400]);
            assert_eq!(found.unwrap(), Some(true));
        }
        assert_eq!(store.check().unwrap().1, 10_000 + 15);
    };
    check(&store);
    assert!(store.status().pages_evicted > 100);
    drop(store);
    let world = world.crash();
    let store = Store::open(world.env(), Path::new("/data"), small).unwrap();
    check(&store);
    store.close().unwrap();
}

/// A lock in `mode`, or who has the row.
fn lock(txn: &mut Transaction, tree: &Tree, key: &str, mode: LockMode) -> Result<(), WriteError> {
    txn.lock_current(tree, key.as_bytes(), mode, NOWAIT, |_| ()).map(|_| ())
}

#[test]
fn a_duplicate_is_told_whoever_reads_the_row() {
    let (store, tree) = fresh();
    let mut txn = store.begin();
    put(&mut txn, &tree, "row", "value");
    txn.commit().unwrap();
    let mut reader = store.begin();
    lock(&mut reader, &tree, "row", LockMode::Shared).unwrap();
    let mut writer = store.begin();
    assert!(matches!(writer.insert(&tree, b"row", b"other", NOWAIT), Err(WriteError::DuplicateKey)));
    assert!(matches!(writer.delete(&tree, b"row", NOWAIT), Err(WriteError::Locked { .. })));
}

#[test]
fn the_first_updater_wins_and_whoever_only_locked_is_none() {
    let (store, tree) = fresh();
    let mut txn = store.begin();
    put(&mut txn, &tree, "row", "old");
    put(&mut txn, &tree, "other", "old");
    txn.commit().unwrap();
    let view = store.read_view();
    // The lock's number is the newest commit's, which is later than the snapshot.
    let mut txn = store.begin();
    put(&mut txn, &tree, "other", "new");
    txn.commit().unwrap();
    for _ in 0..3 {
        let mut locker = store.begin();
        lock(&mut locker, &tree, "row", LockMode::Exclusive).unwrap();
        locker.commit().unwrap();
    }
    let mut txn = store.begin();
    txn.set_first_updater_wins(Some(view.csn()));
    lock(&mut txn, &tree, "row", LockMode::Shared).unwrap();
    assert!(txn.update(&tree, b"row", b"own", NOWAIT).unwrap());
    let refused = txn.update(&tree, b"other", b"own", NOWAIT);
    assert!(matches!(refused, Err(WriteError::ChangedSinceSnapshot)), "{refused:?}");
}

#[test]
fn skipped_rows_stay_free() {
    let (store, tree) = fresh();
    let mut txn = store.begin();
    put(&mut txn, &tree, "a", "1");
    put(&mut txn, &tree, "b", "1");
    txn.commit().unwrap();
    let mut writer = store.begin();
    put(&mut writer, &tree, "a", "2");
    let mut reader = store.begin();
    reader.set_range_locks(true);
    let mut scan = reader.lock_scan(&tree, &ScanRange::all(), LockMode::Shared, LockWait::Skip);
    let mut found = Vec::new();
    loop {
        match scan.next(&mut reader) {
            Ok(None) => break,
            Ok(Some((key, _))) => found.push(key.to_vec()),
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!(found, [b"b"]);
    writer.commit().unwrap();
    let mut writer = store.begin();
    put(&mut writer, &tree, "a", "3");
    let refused = writer.put(&tree, b"b", b"3", NOWAIT);
    assert!(matches!(refused, Err(WriteError::Locked { .. })), "{refused:?}");
}
