//! Old versions beyond the memory for them: spilled, read back, merged, freed; and what a broken disk does to them.

use env::blocking::{self, BlockingHook};
use env::simulated::{Faults, SimWorld};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use store::{LockWait, Options, ReadView, ScanRange, Store, StoreError, Tree, TreeId, WriteError};

const NOWAIT: LockWait = LockWait::Nowait;
type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// A store that keeps `undo_memory_bytes` of undo in memory, in segments of 4 KiB.
fn fresh(world: &SimWorld, undo_memory_bytes: u64) -> (Store, Tree) {
    let options = Options {
        background_threads: false,
        buffer_pool_bytes: 8 << 20,
        undo_memory_bytes,
        undo_segment_bytes: 4 << 10,
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    };
    let store = Store::open(world.env(), Path::new("/data"), options).unwrap();
    let tree = store.tree(TreeId(2)).unwrap();
    (store, tree)
}

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn put(store: &Store, tree: &Tree, number: u32, value: &[u8]) {
    let mut txn = store.begin();
    txn.put(tree, &key(number), value, NOWAIT).unwrap();
    txn.commit().unwrap();
}

fn all(store: &Store, tree: &Tree, view: &ReadView) -> Result<Rows, StoreError> {
    let mut rows = Rows::new();
    let mut scan = store.scan(tree, &ScanRange::all());
    scan.for_each(view.reader(), |key, value| {
        rows.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

/// Rows of about 150 bytes that differ in each round.
fn value(number: u32, round: u32) -> Vec<u8> {
    [
        &number.to_be_bytes()[..],
        &round.to_be_bytes(),
        &vec![round as u8; 100 + (number as usize * 7 + round as usize) % 90],
    ]
    .concat()
}

/// Changes all rows; after the first round every `nth` of them is deleted instead, another each time.
fn change_all(store: &Store, tree: &Tree, rows: u32, round: u32, nth: u32) {
    for number in 0..rows {
        if round > 0 && (number + round).is_multiple_of(nth) {
            let mut txn = store.begin();
            txn.delete(tree, &key(number), NOWAIT).unwrap();
            txn.commit().unwrap();
        } else {
            put(store, tree, number, &value(number, round));
        }
    }
}

#[test]
fn a_snapshot_reads_what_was_filed() {
    let world = SimWorld::new(1);
    let (store, tree) = fresh(&world, 8 << 10);
    let mut views = Vec::new();
    for round in 0..6 {
        change_all(&store, &tree, 300, round, 11);
        let view = store.read_view();
        let rows = all(&store, &tree, &view).unwrap();
        views.push((view, rows));
        store.purge_tick().unwrap();
    }
    let status = store.status();
    assert!(status.undo_bytes_in_memory <= 24 << 10 && status.undo_bytes_in_file > 200 << 10, "{status:?}");
    for (round, (view, rows)) in views.iter().enumerate() {
        assert_eq!(all(&store, &tree, view).unwrap(), *rows, "round {round}");
        assert_eq!(
            rows.get(&key(5)[..]),
            Some(&value(5, round as u32)).filter(|_| (5 + round) % 11 != 0 || round == 0)
        );
    }
    assert!(store.status().undo_blocks_read > 50, "{:?}", store.status());
    store.checkpoint_now().unwrap();
    drop(views);
    while store.purge_tick().unwrap() {}
    let status = store.status();
    assert_eq!((status.undo_bytes_in_file, status.unpurged_transactions), (0, 0));
    assert!(world.disk().content(Path::new("/data"), "undo.tmp").is_none());
    store.check().unwrap();
}

#[test]
fn one_hot_row_under_an_old_snapshot_takes_no_room() {
    let world = SimWorld::new(2);
    let (store, tree) = fresh(&world, 64 << 10);
    put(&store, &tree, 1, b"old");
    put(&store, &tree, 2, b"other");
    let old = store.read_view();
    let mut middle = None;
    for round in 0..5_000u32 {
        // As an UPDATE does it: lock, then change.
        let mut txn = store.begin();
        txn.lock_current(&tree, &key(1), store::LockMode::Exclusive, NOWAIT, |_| ()).unwrap();
        txn.update(&tree, &key(1), &value(1, round), NOWAIT).unwrap();
        if round % 50 == 7 {
            txn.rollback().unwrap();
        } else {
            txn.commit().unwrap();
        }
        if round == 2_000 {
            middle = Some(store.read_view());
        }
    }
    while store.purge_tick().unwrap() {}
    let status = store.status();
    assert!(status.versions_merged > 4_000, "{status:?}");
    assert!(status.undo_bytes_in_file == 0 && status.undo_bytes_in_memory < 64 << 10, "{status:?}");
    let read = |view: &ReadView| store.get(&tree, &key(1), view.reader(), <[u8]>::to_vec).unwrap();
    assert_eq!(read(&old).unwrap(), b"old");
    assert_eq!(read(&middle.unwrap()).unwrap(), value(1, 2_000));
    assert_eq!(read(&store.read_view()).unwrap(), value(1, 4_999));
}

#[test]
fn a_transaction_larger_than_memory_is_rolled_back() {
    let world = SimWorld::new(3);
    let (store, tree) = fresh(&world, 16 << 10);
    for number in 0..100 {
        put(&store, &tree, number, &value(number, 0));
    }
    let before = all(&store, &tree, &store.read_view()).unwrap();
    let mut txn = store.begin();
    for number in 0..1_000 {
        txn.put(&tree, &key(number), &value(number, 1), NOWAIT).unwrap();
    }
    let savepoint = txn.savepoint();
    let view = store.read_view();
    let read = |txn: &store::Transaction, number| {
        store.get(&tree, &key(number), txn.reader(&view), <[u8]>::to_vec).unwrap()
    };
    for number in (0..1_000).step_by(3) {
        txn.delete(&tree, &key(number), NOWAIT).unwrap();
    }
    store.checkpoint_now().unwrap();
    assert!(store.status().undo_bytes_in_file > 64 << 10);
    txn.rollback_to(&savepoint).unwrap();
    assert_eq!(read(&txn, 999), Some(value(999, 1)));
    assert_eq!(all(&store, &tree, &view).unwrap(), before);
    // Recovery takes it back too, from what the checkpoint saved.
    let recovered = world.crash();
    let (after, tree_after) = fresh(&recovered, 16 << 10);
    assert_eq!(all(&after, &tree_after, &after.read_view()).unwrap(), before);
    after.check().unwrap();
    drop(after);
    assert!(txn.rollback().is_err() || store.stopped().is_none(), "the old world has no power");
}

#[test]
fn a_full_disk_fails_the_statement_and_loses_nothing() {
    let world = SimWorld::new(4);
    let (store, tree) = fresh(&world, 8 << 10);
    for number in 0..200 {
        put(&store, &tree, number, &value(number, 0));
    }
    let view = store.read_view();
    let rows = all(&store, &tree, &view).unwrap();
    store.checkpoint_now().unwrap();
    world.disk().plan(Faults { space_bytes_max: Some(1), ..Faults::default() });
    let mut txn = store.begin();
    let mut written = 0;
    let error = loop {
        let savepoint = txn.savepoint();
        match txn.put(&tree, &key(written), &value(written, 1), NOWAIT) {
            Ok(()) => written += 1,
            Err(error) => {
                txn.rollback_to(&savepoint).unwrap();
                break error;
            }
        }
    };
    assert!(matches!(error, WriteError::Store(StoreError::DiskFull { .. })), "{error}");
    assert!(written > 20 && written < 200, "{written}");
    assert_eq!(all(&store, &tree, &view).unwrap(), rows);
    // Space is back: the same transaction goes on.
    world.disk().plan(Faults::default());
    txn.put(&tree, &key(written), &value(written, 1), NOWAIT).unwrap();
    for number in 0..200 {
        txn.put(&tree, &key(number), &value(number, 2), NOWAIT).unwrap();
    }
    txn.commit().unwrap();
    assert_eq!(all(&store, &tree, &view).unwrap(), rows);
    assert!(store.stopped().is_none() && store.status().undo_bytes_in_file > 0);
}

#[test]
fn a_snapshot_that_cannot_read_fails_and_gives_no_wrong_row() {
    let world = SimWorld::new(5);
    let (store, tree) = fresh(&world, 8 << 10);
    for number in 0..2_000 {
        put(&store, &tree, number, &value(number, 0));
    }
    let view = store.read_view();
    let rows = all(&store, &tree, &view).unwrap();
    for number in 0..2_000 {
        put(&store, &tree, number, &value(number, 1));
    }
    for offset in (0..20).map(|place| place * 8192 + 700) {
        world.disk().flip_bit(Path::new("/data"), "undo.tmp", offset, 2);
    }
    let damaged = all(&store, &tree, &view);
    assert!(matches!(damaged, Err(StoreError::UndoFile { .. })), "{damaged:?}");
    let (mut right, mut failed) = (0, 0);
    for (key, value) in &rows {
        match store.get(&tree, key, view.reader(), <[u8]>::to_vec) {
            Ok(found) => {
                assert_eq!(found.as_ref(), Some(value));
                right += 1;
            }
            Err(StoreError::UndoFile { .. }) => failed += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(right > 1_000 && failed > 100, "{right} {failed}");
    world.disk().plan(Faults { fail_reads_per_million: 1_000_000, ..Faults::default() });
    assert!(all(&store, &tree, &view).is_err());
    // Others neither notice nor suffer.
    assert_eq!(all(&store, &tree, &store.read_view()).unwrap().len(), 2_000);
    put(&store, &tree, 5, b"on");
}

/// A store whose transactions keep 1 KB of their log record in memory.
fn parting(world: &SimWorld) -> (Store, Tree) {
    let options = Options {
        background_threads: false,
        buffer_pool_bytes: 2 << 20,
        undo_memory_bytes: 16 << 10,
        undo_segment_bytes: 4 << 10,
        txn_log_memory_bytes: 1 << 10,
        log: store::wal::LogOptions { segment_bytes: 64 << 10, ..Default::default() },
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    };
    let store = Store::open(world.env(), Path::new("/data"), options).unwrap();
    let tree = store.tree(TreeId(2)).unwrap();
    (store, tree)
}

#[test]
fn a_transaction_in_parts_is_there_whole_or_not_at_all() {
    for (seed, commits, checkpoints) in
        [(1, true, true), (2, true, false), (3, false, true), (4, false, false)]
    {
        let world = SimWorld::new(seed);
        let (store, tree) = parting(&world);
        for number in 0..50 {
            put(&store, &tree, number, &value(number, 0));
        }
        let before = all(&store, &tree, &store.read_view()).unwrap();
        let mut txn = store.begin();
        for number in 0..1_500 {
            txn.put(&tree, &key(number), &value(number, 1), NOWAIT).unwrap();
        }
        if checkpoints {
            store.checkpoint_now().unwrap();
        }
        // Others commit between its parts.
        put(&store, &tree, 9_999, b"other");
        let savepoint = txn.savepoint();
        let doomed = txn.create_tree().unwrap();
        let doomed_tree = store.tree(doomed).unwrap();
        for number in 1_000..2_000 {
            match number % 3 {
                0 => txn.put(&tree, &key(number), b"no", NOWAIT).unwrap(),
                1 => drop(txn.delete(&tree, &key(number), NOWAIT).unwrap()),
                _ => txn.put(&doomed_tree, &key(number), b"no", NOWAIT).unwrap(),
            }
        }
        txn.drop_tree(doomed, NOWAIT).unwrap();
        let inner = txn.savepoint();
        for number in 0..500 {
            txn.delete(&tree, &key(number), NOWAIT).unwrap();
        }
        txn.rollback_to(&inner).unwrap();
        txn.rollback_to(&savepoint).unwrap();
        let kept = txn.create_tree().unwrap();
        for number in 1_400..1_600 {
            txn.put(&tree, &key(number), &value(number, 2), NOWAIT).unwrap();
        }
        assert!(store.status().log_parts > 200, "{:?}", store.status());
        let mut expected = before;
        if commits {
            let position = txn.commit().unwrap().unwrap();
            store.sync_to(position).unwrap();
            for number in 0..1_600 {
                let round = if number < 1_400 { 1 } else { 2 };
                expected.insert(key(number).to_vec(), value(number, round));
            }
        } else {
            store.sync_to(store.newest_position()).unwrap();
            std::mem::forget(txn);
        }
        expected.insert(key(9_999).to_vec(), b"other".to_vec());
        let mut world = world.crash();
        for _ in 0..2 {
            let (store, tree) = parting(&world);
            while store.purge_tick().unwrap() {}
            assert_eq!(all(&store, &tree, &store.read_view()).unwrap(), expected, "seed {seed}");
            assert!(store.tree(doomed).is_err());
            assert_eq!(store.tree(kept).is_ok(), commits);
            store.check().unwrap();
            put(&store, &tree, 9_999, b"other");
            store.sync_to(store.newest_position()).unwrap();
            drop(store);
            world = world.crash();
        }
    }
}

#[test]
fn rolled_back_parts_hold_no_log() {
    let world = SimWorld::new(9);
    let (store, tree) = parting(&world);
    for _ in 0..5 {
        let mut txn = store.begin();
        for number in 0..1_000 {
            txn.put(&tree, &key(number), &value(number, 1), NOWAIT).unwrap();
        }
        txn.rollback().unwrap();
        put(&store, &tree, 1, b"x");
        store.checkpoint_now().unwrap();
    }
    let folder = world.env().disk.folder(Path::new("/data"), false).unwrap();
    let segments = folder.list().unwrap().iter().filter(|name| name.starts_with("log.0")).count();
    assert!(segments <= 2, "{:?}", folder.list());
}

/// A large value is a row of chunks, and so is what its deletion leaves behind.
#[test]
fn a_large_deletion_is_purged_a_piece_at_a_time() {
    let world = SimWorld::new(11);
    let (store, tree) = fresh(&world, 1 << 20);
    const ROWS: u32 = 20_000;
    for half in 0..2 {
        let mut txn = store.begin();
        for number in 0..ROWS {
            txn.put(&tree, &key(number), &value(number, half), NOWAIT).unwrap();
        }
        txn.commit().unwrap();
    }
    let mut txn = store.begin();
    for number in 0..ROWS {
        assert!(txn.delete(&tree, &key(number), NOWAIT).unwrap());
    }
    txn.commit().unwrap();
    let mut before = store.status().tombstones_purged;
    loop {
        let more = store.purge_tick().unwrap();
        let purged = store.status().tombstones_purged;
        assert!(purged - before <= 4096, "{} in one piece", purged - before);
        before = purged;
        put(&store, &tree, ROWS + 1, b"beside it");
        if !more {
            break;
        }
    }
    assert!(before >= u64::from(ROWS), "{before}");
    assert_eq!(store.check_tree(&tree).unwrap().1, 1);
}

const ROWS: u32 = 200;

/// What runs on the core of a thread that waits: writes to the leaves that the thread was reading.
struct Writer {
    store: Store,
    tree: Tree,
    waits: Cell<u32>,
    is_writing: Cell<bool>,
    only_counts: Cell<bool>,
}

impl BlockingHook for Writer {
    fn enter(&self) {
        if self.is_writing.get() {
            return; // Its own wait.
        }
        let wait = self.waits.get();
        self.waits.set(wait + 1);
        if self.only_counts.get() || !wait.is_multiple_of(3) {
            return;
        }
        self.is_writing.set(true);
        let mut txn = self.store.begin();
        for number in [wait % ROWS, (wait * 7) % ROWS] {
            txn.put(&self.tree, &key(number), &value(number, 90 + wait % 5), NOWAIT).unwrap();
        }
        // Most of it is rolled back, so that the leaves become what they were.
        match wait % 12 {
            0 => drop(txn.commit().unwrap()),
            _ => txn.rollback().unwrap(),
        }
        if wait.is_multiple_of(16) {
            self.store.purge_tick().unwrap();
        }
        self.is_writing.set(false);
    }

    fn leave(&self) {}
}

#[test]
fn what_was_filed_is_read_without_a_latch_while_others_write() {
    let world = SimWorld::new(12);
    let (store, tree) = fresh(&world, 4 << 10);
    let mut views = Vec::new();
    for round in 0..4 {
        change_all(&store, &tree, ROWS, round, 9);
        let view = store.read_view();
        let rows = all(&store, &tree, &view).unwrap();
        views.push((view, rows));
    }
    let writer = Rc::new(Writer {
        store: store.clone(),
        tree: tree.clone(),
        waits: Cell::new(0),
        is_writing: Cell::new(false),
        only_counts: Cell::new(false),
    });
    assert!(blocking::install(Some(Rc::clone(&writer) as Rc<dyn BlockingHook>)).is_none());
    let mut waits = Vec::new();
    for (view, rows) in &views[..3] {
        assert_eq!(all(&store, &tree, view).unwrap(), *rows);
        let mut found = Vec::new();
        let mut scan = store.scan(&tree, &ScanRange::all().backward());
        let pair = |key: &[u8], value: &[u8]| (key.to_vec(), value.to_vec());
        scan.for_each(view.reader(), |key, value| {
            found.push(pair(key, value));
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(found, rows.iter().rev().map(|(key, value)| pair(key, value)).collect::<Vec<_>>());
        let keys: Vec<[u8; 4]> = (0..ROWS).map(key).collect();
        let all_keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        store
            .get_many(&tree, &all_keys, view.reader(), |index, value| {
                assert_eq!(value, rows.get(&keys[index][..]).map(Vec::as_slice), "{index}");
            })
            .unwrap();
        for key in &keys {
            let found = store.get(&tree, key, view.reader(), <[u8]>::to_vec).unwrap();
            assert_eq!(found.as_ref(), rows.get(&key[..]));
        }
        waits.push(writer.waits.replace(0));
    }
    // How much of each lies in the file depends on what purge has taken meanwhile.
    assert!(waits.iter().sum::<u32>() > 0, "{waits:?}");
    // The first updater wins: what only locked the rows lies in the file, too.
    blocking::install(None);
    let snapshot = store.read_view();
    for number in 0..ROWS {
        let mut txn = store.begin();
        txn.lock_current(&tree, &key(number), store::LockMode::Exclusive, NOWAIT, |_| ()).unwrap();
        if number % 2 == 0 {
            txn.put(&tree, &key(number), b"newer", NOWAIT).unwrap();
        }
        txn.commit().unwrap();
    }
    for number in 300..600 {
        put(&store, &tree, number, &value(number, 1));
    }
    blocking::install(Some(Rc::clone(&writer) as Rc<dyn BlockingHook>));
    writer.only_counts.set(true);
    let mut txn = store.begin();
    txn.set_first_updater_wins(Some(snapshot.csn()));
    let mut newer = 0;
    for number in (0..ROWS).step_by(3) {
        for mode in [store::LockMode::Shared, store::LockMode::Exclusive] {
            match txn.lock_current(&tree, &key(number), mode, NOWAIT, |_| ()) {
                Ok(_) => {}
                Err(WriteError::ChangedSinceSnapshot) => newer += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(newer >= 40 && writer.waits.replace(0) > 0, "{newer}");
    txn.rollback().unwrap();
    blocking::install(None);
    store.check().unwrap();
}
