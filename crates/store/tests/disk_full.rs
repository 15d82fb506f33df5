//! A disk without space: statements that need some are refused, nothing that was acknowledged is lost, reads go on, and
//! writes go on when there is space again.

use env::simulated::{Faults, SimWorld};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use store::wal::LogOptions;
use store::{
    LockWait, Options, ScanRange, Store, StoreError, Transaction, Tree, TreeId, WriteError, check_files,
};

const FOLDER: &str = "/data";
const NOWAIT: LockWait = LockWait::Nowait;

fn options() -> Options {
    Options {
        background_threads: false,
        buffer_pool_bytes: 2 << 20,
        undo_memory_bytes: 8 << 20,
        log: LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() },
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    }
}

fn open(world: &SimWorld) -> (Store, Tree) {
    let store = Store::open(world.env(), Path::new(FOLDER), options()).unwrap();
    let tree = store.tree(TreeId(2)).unwrap();
    (store, tree)
}

fn leave_room(world: &SimWorld, bytes: u64, cannot_reserve: bool) {
    let max = world.disk().used_bytes(cannot_reserve) + bytes;
    world.disk().plan(Faults { space_bytes_max: Some(max), cannot_reserve, ..Faults::default() });
}

fn key(number: u32) -> [u8; 4] {
    // Spread, so that every commit changes another page.
    number.wrapping_mul(2_654_435_761).to_be_bytes()
}

fn value(number: u32, round: u32) -> Vec<u8> {
    vec![(number ^ round) as u8; 700 + (number % 300) as usize]
}

fn is_full(error: &StoreError) -> bool {
    matches!(error, StoreError::DiskFull { .. })
}

/// Changes one row; false if there is no space.
fn put(store: &Store, tree: &Tree, number: u32, round: u32) -> bool {
    let mut txn = store.begin();
    match txn.put(tree, &key(number), &value(number, round), NOWAIT) {
        Ok(()) => {}
        Err(WriteError::Store(error)) if is_full(&error) => return false,
        Err(error) => panic!("{error}"),
    }
    match txn.commit() {
        Ok(position) => store.sync_to(position.unwrap()).unwrap(),
        Err(error) if is_full(&error) => return false,
        Err(error) => panic!("{error}"),
    }
    true
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn all(store: &Store, tree: &Tree) -> Rows {
    let view = store.read_view();
    let mut rows = Rows::new();
    let mut scan = store.scan(tree, &ScanRange::all());
    scan.for_each(view.reader(), |key, value| {
        rows.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    })
    .unwrap();
    rows
}

/// Rows that are there before the disk is full.
const OLD: u32 = 1_000;

/// Writes new rows until many in a row were refused. Answers how many were written.
fn fill(store: &Store, tree: &Tree, rows: &mut Rows, round: u32) -> u32 {
    let (mut written, mut refused) = (0, 0);
    for number in OLD..100_000 {
        if put(store, tree, number, round) {
            rows.insert(key(number).to_vec(), value(number, round));
            (written, refused) = (written + 1, 0);
        } else {
            refused += 1;
            if refused > 50 {
                return written;
            }
        }
    }
    panic!("the disk is never full")
}

/// Deletes one row; false if there is no space.
fn delete(store: &Store, tree: &Tree, number: u32) -> bool {
    let mut txn = store.begin();
    match txn.delete(tree, &key(number), NOWAIT) {
        Ok(_) => {}
        Err(WriteError::Store(error)) if is_full(&error) => return false,
        Err(error) => panic!("{error}"),
    }
    txn.commit().map(|position| store.sync_to(position.unwrap()).unwrap()).is_ok()
}

#[test]
fn without_room_for_the_log_or_the_data_file_the_rest_goes_on() {
    // The first leaves no space for the log, the last enough for the log, and none for the pages.
    for room in [0, 20 << 10, 100 << 10, 400 << 10, 1_300 << 10] {
        let mut world = SimWorld::new(room);
        let (store, tree) = open(&world);
        let mut rows = Rows::new();
        for number in 0..OLD {
            assert!(put(&store, &tree, number, 0));
            rows.insert(key(number).to_vec(), value(number, 0));
        }
        store.checkpoint_now().unwrap();
        for round in 1..4 {
            leave_room(&world, room, false);
            let written = fill(&store, &tree, &mut rows, round * 10);
            // Rows that are there can be changed: their pages' old blocks are freed.
            let changed =
                (0..OLD).filter(|&number| put(&store, &tree, number, round * 10 + 1)).collect::<Vec<_>>();
            rows.extend(changed.iter().map(|&number| (key(number).to_vec(), value(number, round * 10 + 1))));
            assert_eq!(
                store.status().is_full,
                1,
                "room {room} round {round}, {written} rows, {} changed",
                changed.len()
            );
            assert!(store.stopped().is_none(), "{:?}", store.stopped());
            assert_eq!(all(&store, &tree), rows, "room {room} round {round}");
            if round == 2 {
                // The power fails in the middle of it. Opening needs space for a segment of the log.
                drop((store, tree));
                world = world.crash();
                let report = check_files(world.env(), Path::new(FOLDER)).unwrap();
                assert_eq!(report.damages, [], "room {room}");
                let (store, tree) = open(&world);
                assert_eq!(all(&store, &tree), rows, "room {room} after a crash");
                for number in 0..1_500 {
                    assert!(put(&store, &tree, number, 77));
                    rows.insert(key(number).to_vec(), value(number, 77));
                }
                assert_eq!(all(&store, &tree), rows);
                break;
            }
            // Space was freed: everything continues by itself.
            world.disk().plan(Faults::default());
            for number in 0..1_500 {
                assert!(put(&store, &tree, number, round), "room {room} round {round}");
                rows.insert(key(number).to_vec(), value(number, round));
            }
            store.checkpoint_now().unwrap();
            assert_eq!(all(&store, &tree), rows);
        }
    }
}

#[test]
fn a_transaction_that_finds_no_room_can_be_rolled_back() {
    let world = SimWorld::new(3);
    let (store, tree) = open(&world);
    let mut rows = Rows::new();
    for number in 0..OLD {
        assert!(put(&store, &tree, number, 0));
        rows.insert(key(number).to_vec(), value(number, 0));
    }
    store.checkpoint_now().unwrap();
    leave_room(&world, 0, false);
    let mut large = store.begin();
    let savepoint = large.savepoint();
    let mut changed = 0;
    let refused = loop {
        match large.put(&tree, &key(changed), &value(changed, 9), NOWAIT) {
            Ok(()) => changed += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(&refused, WriteError::Store(error) if is_full(error)), "{refused}");
    assert!(changed > 50, "{changed}");
    // Reads continue, the statement can be rolled back, and so can the transaction.
    assert_eq!(all(&store, &tree), rows);
    assert_eq!(store.status().is_full, 1);
    large.rollback_to(&savepoint).unwrap();
    large.rollback().unwrap();
    assert_eq!(all(&store, &tree), rows);
    // All changed pages have their blocks, again and again.
    let blocks = store.status().file_blocks;
    for round in 0..20 {
        store.checkpoint_now().unwrap();
        assert!(put(&store, &tree, round, 7), "{round}");
        rows.insert(key(round).to_vec(), value(round, 7));
    }
    assert_eq!(store.status().file_blocks, blocks);
    world.disk().plan(Faults::default());
    assert!(put(&store, &tree, 5, 1));
    rows.insert(key(5).to_vec(), value(5, 1));
    assert_eq!(store.status().is_full, 0);
    drop((store, tree));
    let (store, tree) = open(&world.crash());
    assert_eq!(all(&store, &tree), rows);
}

#[test]
fn a_checkpoint_that_is_given_up_anywhere_loses_nothing() {
    // As a file system that cannot reserve: the space ends at a later block each time.
    let mut given_up = 0;
    for blocks in (0..120).step_by(3) {
        let world = SimWorld::new(blocks);
        let (store, tree) = open(&world);
        let mut rows = Rows::new();
        for number in 0..600 {
            assert!(put(&store, &tree, number, 0));
        }
        store.checkpoint_now().unwrap();
        for number in 0..900 {
            assert!(put(&store, &tree, number, 1));
            rows.insert(key(number).to_vec(), value(number, 1));
        }
        leave_room(&world, blocks * 16 * 1024, true);
        given_up += u32::from(store.checkpoint_now().is_err());
        assert!(store.stopped().is_none(), "{blocks}: {:?}", store.stopped());
        for number in 300..1_200 {
            if put(&store, &tree, number, 2) {
                rows.insert(key(number).to_vec(), value(number, 2));
            }
        }
        assert_eq!(all(&store, &tree), rows, "{blocks}");
        if blocks % 2 == 0 {
            world.disk().plan(Faults::default());
            store.checkpoint_now().unwrap();
        }
        drop((store, tree));
        let world = world.crash();
        assert_eq!(check_files(world.env(), Path::new(FOLDER)).unwrap().damages, [], "{blocks}");
        let (store, tree) = open(&world);
        assert_eq!(all(&store, &tree), rows, "{blocks}");
        store.check().unwrap();
    }
    assert!(given_up > 15, "{given_up}");
}

#[test]
fn deletions_and_drops_make_room_on_a_disk_that_is_full() {
    for room in [0, 30 << 10, 50 << 10, 700 << 10] {
        let world = SimWorld::new(room);
        let (store, tree) = open(&world);
        let mut txn = store.begin();
        let other = txn.create_tree().unwrap();
        txn.commit().unwrap();
        let other = store.tree(other).unwrap();
        let mut rows = Rows::new();
        for number in 0..OLD {
            assert!(put(&store, &tree, number, 0) && put(&store, &other, number, 0));
            rows.insert(key(number).to_vec(), value(number, 0));
        }
        leave_room(&world, room, false);
        fill(&store, &tree, &mut rows, 1);
        let full = rows.len();
        // One by one, and all of them.
        for number in 0..OLD {
            assert!(delete(&store, &tree, number), "room {room}: {number}");
            rows.remove(&key(number)[..]);
        }
        assert_eq!(all(&store, &tree), rows);
        let written = fill(&store, &tree, &mut rows, 2);
        assert!(rows.len() + 100 > full, "room {room}: {} of {full} rows, {written}", rows.len());
        // A tree at once, and what takes its place.
        let mut txn = store.begin();
        txn.set_removes(true);
        txn.drop_tree(other.id(), NOWAIT).unwrap();
        txn.create_tree().unwrap();
        txn.commit().unwrap();
        while store.purge_tick().unwrap() {}
        store.checkpoint_now().unwrap();
        let end = OLD + u32::try_from(full).unwrap();
        let more = (end..end + OLD / 2).filter(|&number| put(&store, &tree, number, 3)).count();
        assert_eq!(more, OLD as usize / 2, "room {room}");
        rows.extend((end..end + OLD / 2).map(|number| (key(number).to_vec(), value(number, 3))));
        fill(&store, &tree, &mut rows, 4);
        let was = world.disk().used_bytes(false);
        drop((store, tree, other));
        let world = world.crash();
        world.disk().plan(Faults {
            space_bytes_max: Some(was.max(world.disk().used_bytes(false))),
            ..Faults::default()
        });
        assert_eq!(check_files(world.env(), Path::new(FOLDER)).unwrap().damages, [], "room {room}");
        let (store, tree) = open(&world);
        assert_eq!(all(&store, &tree), rows, "room {room}");
        store.check().unwrap();
    }
}

/// The power fails, and the disk has no more space afterwards than before.
fn crash_when_full(world: &SimWorld, store: Store) -> SimWorld {
    let used = world.disk().used_bytes(false);
    drop(store);
    let world = world.crash();
    let space_bytes_max = Some(used.max(world.disk().used_bytes(false)));
    world.disk().plan(Faults { space_bytes_max, ..Faults::default() });
    world
}

/// Who removes is not refused, from the first statement on.
fn assert_removes(store: &Store, tree: &Tree, other: TreeId, rows: &mut Rows, what: &str) {
    for number in 0..OLD / 4 {
        assert!(delete(store, tree, number), "{what}: {number}, {:?}", store.status());
        rows.remove(&key(number)[..]);
    }
    let mut txn = store.begin();
    txn.set_removes(true);
    txn.drop_tree(other, NOWAIT).unwrap_or_else(|error| panic!("{what}: {error}"));
    txn.create_tree().unwrap_or_else(|error| panic!("{what}: {error}"));
    txn.commit().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(all(store, tree), *rows, "{what}");
    store.checkpoint_now().unwrap_or_else(|error| panic!("{what}: {error}"));
    store.check().unwrap();
}

/// A store with a tree that can be dropped.
fn filled(world: &SimWorld, rows: &mut Rows) -> (Store, Tree, TreeId) {
    let (store, tree) = open(world);
    let mut txn = store.begin();
    let other = txn.create_tree().unwrap();
    txn.commit().unwrap();
    for number in 0..OLD {
        assert!(put(&store, &tree, number, 0) && put(&store, &store.tree(other).unwrap(), number, 0));
        rows.insert(key(number).to_vec(), value(number, 0));
    }
    (store, tree, other)
}

#[test]
fn a_restart_on_a_full_disk_takes_back_what_ran_and_has_room_for_deletions() {
    for count in [10, 20, 60, 120, 400] {
        let what = format!("{count} rows");
        let world = SimWorld::new(count.into());
        let mut rows = Rows::new();
        let (store, tree, other) = filled(&world, &mut rows);
        leave_room(&world, 1 << 20, false);
        let mut open_txn = store.begin();
        for number in 0..count {
            open_txn.put(&tree, &key(number), &value(number, 5), NOWAIT).unwrap();
        }
        store.checkpoint_now().unwrap();
        fill(&store, &tree, &mut rows, 1);
        std::mem::forget(open_txn);
        let world = crash_when_full(&world, store);
        let (store, tree) = open(&world);
        assert_removes(&store, &tree, other, &mut rows, &what);
    }
}

#[test]
fn a_restart_on_a_full_disk_repeats_the_log_and_has_room_for_deletions() {
    for count in [10, 50, 100, 140] {
        for before in [0, 60] {
            let what = format!("{count} rows after {before}");
            let world = SimWorld::new(count.into());
            let mut rows = Rows::new();
            let (store, tree, other) = filled(&world, &mut rows);
            leave_room(&world, 100 << 10, false);
            fill(&store, &tree, &mut rows, 1);
            // What the checkpoint has behind it, commits of one row, then one of many; each as far as the disk goes.
            let _either_way = store.checkpoint_now();
            for number in 0..before {
                if put(&store, &tree, number, 6) {
                    rows.insert(key(number).to_vec(), value(number, 6));
                }
            }
            let mut txn = store.begin();
            let numbers: Vec<u32> = (300..300 + count)
                .take_while(|&number| txn.put(&tree, &key(number), &value(number, 7), NOWAIT).is_ok())
                .collect();
            if let Ok(position) = txn.commit() {
                rows.extend(numbers.iter().map(|&number| (key(number).to_vec(), value(number, 7))));
                position.into_iter().for_each(|position| store.sync_to(position).unwrap());
            }
            let world = crash_when_full(&world, store);
            let (store, tree) = open(&world);
            assert_removes(&store, &tree, other, &mut rows, &what);
        }
    }
}

/// A commit that stays where it fails: wherever the room ends, the next attempt commits all of it.
#[test]
fn a_transaction_that_stays_when_its_commit_finds_no_room_loses_nothing() {
    const CHANGED: u32 = 900;
    let (mut refused, mut committed) = (0, 0);
    for room_kb in (0_u64..1600).step_by(50) {
        let world = SimWorld::new(room_kb);
        let small = Options { txn_log_memory_bytes: 128 << 10, ..options() };
        let store = Store::open(world.env(), Path::new(FOLDER), small).unwrap();
        let tree = store.tree(TreeId(2)).unwrap();
        let mut rows = Rows::new();
        for number in 0..OLD {
            assert!(put(&store, &tree, number, 0));
        }
        let mut large = store.begin();
        for number in 0..CHANGED {
            large.put(&tree, &key(number), &value(number, 9), NOWAIT).unwrap();
        }
        large.give_up_log_parts().unwrap();
        (0..OLD).for_each(|number| {
            rows.insert(key(number).to_vec(), value(number, if number <= CHANGED { 9 } else { 0 }));
        });
        let before = large.savepoint();
        leave_room(&world, room_kb << 10, false);
        // As XA COMMIT does: one more change, then the commit; both or neither.
        let attempt = |large: &mut Transaction| -> Result<(), StoreError> {
            match large.put(&tree, &key(CHANGED), &value(CHANGED, 9), NOWAIT) {
                Ok(()) => {}
                Err(WriteError::Store(error)) => return Err(error),
                Err(error) => panic!("{error}"),
            }
            let position = large.commit_or_stay()?;
            store.sync_to(position.unwrap()).unwrap();
            Ok(())
        };
        match attempt(&mut large) {
            Ok(()) => committed += 1,
            Err(error) => {
                assert!(is_full(&error), "{error}");
                assert_ne!(large.id().0, 0, "it stays");
                refused += 1;
                large.rollback_to(&before).unwrap();
                world.disk().plan(Faults::default());
                attempt(&mut large).unwrap();
            }
        }
        world.disk().plan(Faults::default());
        assert!(all(&store, &tree) == rows, "{room_kb}");
        drop((large, store, tree));
        let (store, tree) = open(&world.crash());
        assert!(all(&store, &tree) == rows, "{room_kb} after a crash");
    }
    assert!(refused > 3 && committed > 3, "{refused}, {committed}");
}
