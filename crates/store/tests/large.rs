//! Transactions that change more than memory holds: what they take of it, and what is left of them.

use env::simulated::{Faults, SimWorld};
use std::ops::ControlFlow;
use std::path::Path;
use store::wal::{LogOptions, PART_BYTES_MAX};
use store::{LockWait, Options, ScanRange, Store, StoreError, Tree, TreeId, WriteError};

const NOWAIT: LockWait = LockWait::Nowait;
const POOL_BYTES: u64 = 8 << 20;
const LOG_MEMORY_BYTES: usize = 1 << 20;
const VALUE_BYTES: usize = 4_000;

fn open(world: &SimWorld, log: LogOptions) -> (Store, Tree) {
    let options = Options {
        background_threads: false,
        buffer_pool_bytes: POOL_BYTES,
        txn_log_memory_bytes: LOG_MEMORY_BYTES,
        log,
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    };
    let store = Store::open(world.env(), Path::new("/data"), options).unwrap();
    let tree = store.tree(TreeId(2)).unwrap();
    (store, tree)
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Differs from that of another round in all of it, so that a change of it is logged and kept whole.
fn value(number: u64, round: u64) -> Vec<u8> {
    let mut value = vec![(number * 31 + round * 77 + 1) as u8; VALUE_BYTES];
    value[..8].copy_from_slice(&(number ^ round << 32).to_be_bytes());
    value
}

/// How far a transaction may go back in [`short_log`].
const SHORT_SPAN_BYTES: u64 = 4 << 20;

fn short_log() -> LogOptions {
    LogOptions {
        segment_bytes: 1 << 20,
        transaction_span_bytes_max: SHORT_SPAN_BYTES,
        ..LogOptions::default()
    }
}

/// A transaction of one row, durable.
fn put(store: &Store, tree: &Tree, number: u64, round: u64) {
    let mut txn = store.begin();
    txn.put(tree, &key(number), &value(number, round), NOWAIT).unwrap();
    store.sync_to(txn.commit().unwrap().unwrap()).unwrap();
}

/// Looks whether the tree holds exactly the rows 0..`count`, each of the round that `round_of` says.
fn assert_holds(store: &Store, tree: &Tree, count: u64, round_of: impl Fn(u64) -> u64) {
    let view = store.read_view();
    let mut scan = store.scan(tree, &ScanRange::all());
    let mut next = 0;
    scan.for_each(view.reader(), |found, bytes| {
        assert_eq!(found, key(next));
        assert!(bytes == value(next, round_of(next)), "row {next}");
        next += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(next, count);
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    Commit,
    Rollback,
    Crash,
}

#[test]
fn one_transaction_changes_more_than_memory_holds() {
    // 200 MB once; the other ends with less, but far more than the pool.
    for (end, count) in [(End::Commit, 50_000), (End::Rollback, 12_000), (End::Crash, 12_000)] {
        let world = SimWorld::new(1);
        let (store, tree) = open(&world, LogOptions::default());
        let before = 1_000;
        let mut txn = store.begin();
        for number in 0..before {
            txn.put(&tree, &key(number), &value(number, 0), NOWAIT).unwrap();
        }
        store.sync_to(txn.commit().unwrap().unwrap()).unwrap();

        let mut txn = store.begin();
        for number in 0..count {
            txn.put(&tree, &key(number), &value(number, 1), NOWAIT).unwrap();
            if number == count / 2 {
                // A statement that fails after most of it went to the log.
                let savepoint = txn.savepoint();
                for number in 0..2_000 {
                    txn.put(&tree, &key(number), &value(number, 2), NOWAIT).unwrap();
                }
                txn.rollback_to(&savepoint).unwrap();
            }
        }
        let status = store.status();
        let held = usize::try_from(status.txn_log_memory_peak).unwrap();
        assert!((LOG_MEMORY_BYTES..LOG_MEMORY_BYTES + 3 * PART_BYTES_MAX).contains(&held), "{held}");
        assert!(status.undo_bytes_in_memory <= POOL_BYTES / 4, "{status:?}");
        // Each checkpoint leaves most of the undo where the one before saved it.
        assert!(status.checkpoints > 3 && status.undo_bytes_kept > 0, "{status:?}");
        assert!(status.frame_count * store::PAGE_BYTES as u64 <= POOL_BYTES, "{status:?}");
        assert!(txn.log_bytes() as usize > count as usize * VALUE_BYTES, "{}", txn.log_bytes());
        assert!(status.log_parts as usize * PART_BYTES_MAX > (count as usize - 1_000) * VALUE_BYTES);
        match end {
            End::Commit => store.sync_to(txn.commit().unwrap().unwrap()).unwrap(),
            End::Rollback => txn.rollback().unwrap(),
            End::Crash => {
                store.sync_to(store.newest_position()).unwrap();
                std::mem::forget(txn);
            }
        }
        let check = |store: &Store, tree: &Tree| match end {
            End::Commit => assert_holds(store, tree, count, |_| 1),
            _ => assert_holds(store, tree, before, |_| 0),
        };
        if end != End::Crash {
            check(&store, &tree);
        }
        let world = world.crash();
        let (store, tree) = open(&world, LogOptions::default());
        check(&store, &tree);
        store.check().unwrap();
    }
}

/// Recovery rolls back what one transaction changed, though that does not fit the pool and power fails again and again
/// meanwhile.
#[test]
fn a_rollback_need_not_fit_the_pool_either() {
    let mut world = SimWorld::new(4);
    let (store, tree) = open(&world, LogOptions::default());
    let count = 3_500;
    let mut txn = store.begin();
    for number in 0..count {
        txn.put(&tree, &key(number), &value(number, 0), NOWAIT).unwrap();
    }
    store.sync_to(txn.commit().unwrap().unwrap()).unwrap();
    let mut txn = store.begin();
    for number in 0..2 * count {
        // Not in their order, so that rolling back does not stay with a page either.
        let number = number * 1_009 % (2 * count);
        txn.put(&tree, &key(number), &value(number, 1), NOWAIT).unwrap();
    }
    txn.create_tree().unwrap();
    store.checkpoint_now().unwrap();
    std::mem::forget(txn);
    drop((store, tree));
    let mut failures = 0;
    for after in [0, 300, 700, 900, 1_300, 500, 3_000] {
        world = world.crash();
        let crash_at_change = Some(world.disk().counts().changes + 1 + after);
        world.disk().plan(Faults { crash_at_change, ..Faults::default() });
        let options = Options {
            background_threads: false,
            buffer_pool_bytes: POOL_BYTES / 4,
            checkpoint_piece_bytes: 64 << 10,
            ..Options::default()
        };
        failures += u32::from(Store::open(world.env(), Path::new("/data"), options).is_err());
    }
    assert!(failures >= 4, "{failures}");
    let world = world.crash();
    let (store, tree) = open(&world, LogOptions::default());
    assert_holds(&store, &tree, count, |_| 0);
    store.check().unwrap();
}

/// What was found by simulation (seed 481) when parts were rolled back by later changes: B's commit was undone by
/// recovery.
#[test]
fn what_a_savepoint_takes_back_is_not_repeated_over_anothers_commit() {
    let world = SimWorld::new(2);
    let (store, tree) = open(&world, LogOptions::default());
    for number in 0..1_000 {
        let mut txn = store.begin();
        txn.put(&tree, &key(number), &value(number, 0), NOWAIT).unwrap();
        txn.commit().unwrap();
    }
    let mut one = store.begin();
    one.put(&tree, &key(999), &value(999, 3), NOWAIT).unwrap();
    let savepoint = one.savepoint();
    for number in 0..900 {
        one.put(&tree, &key(number), &value(number, 1), NOWAIT).unwrap();
    }
    assert!(store.status().log_parts > 3);
    one.rollback_to(&savepoint).unwrap();
    let mut other = store.begin();
    for number in 0..900 {
        other.put(&tree, &key(number), &value(number, 2), NOWAIT).unwrap();
    }
    other.commit().unwrap();
    for number in 900..950 {
        one.put(&tree, &key(number), &value(number, 3), NOWAIT).unwrap();
    }
    store.sync_to(one.commit().unwrap().unwrap()).unwrap();
    let round_of = |number| match number {
        0..900 => 2,
        900..950 | 999 => 3,
        _ => 0,
    };
    assert_holds(&store, &tree, 1_000, round_of);
    drop((store, tree));
    let world = world.crash();
    let (store, tree) = open(&world, LogOptions::default());
    assert_holds(&store, &tree, 1_000, round_of);
}

#[test]
fn a_transaction_that_goes_back_too_far_is_rolled_back_and_nothing_is_lost() {
    let span_bytes_max = SHORT_SPAN_BYTES;
    let log = short_log;
    let world = SimWorld::new(3);
    let (store, tree) = open(&world, log());
    let put = |number, round| put(&store, &tree, number, round);
    (0..1_000).for_each(|number| put(number, 0));
    let log_bytes = |world: &SimWorld| {
        let folder = world.env().disk.folder(Path::new("/data"), false).unwrap();
        folder.list().unwrap().iter().filter(|name| name.starts_with("log.0")).count() as u64 * (1 << 20)
    };
    // One by its own length: the statement is undone, and what came before it can be committed.
    let mut long = store.begin();
    long.put(&tree, &key(0), &value(0, 1), NOWAIT).unwrap();
    let savepoint = long.savepoint();
    let refused = (0..1_000_000)
        .map(|number| long.put(&tree, &key(2_000 + number), &value(number, 1), NOWAIT))
        .find_map(Result::err);
    let is_refused = |error: &StoreError| matches!(error, StoreError::TransactionTooLong { span_bytes_max: found } if *found == span_bytes_max);
    assert!(matches!(&refused, Some(WriteError::Store(error)) if is_refused(error)), "{refused:?}");
    long.rollback_to(&savepoint).unwrap();
    long.commit().unwrap();
    assert_holds(&store, &tree, 1_000, |number| u64::from(number == 0));

    // One by its age, beside others that go on.
    let mut old = store.begin();
    for number in 500..900 {
        old.put(&tree, &key(number), &value(number, 4), NOWAIT).unwrap();
    }
    let parts = store.status().log_parts;
    for round in 0..8 {
        (1..400).for_each(|number| put(number, round));
        store.checkpoint_now().unwrap();
        assert!(log_bytes(&world) <= span_bytes_max + (4 << 20), "round {round}");
    }
    assert_eq!(store.status().log_parts, parts);
    old.put(&tree, &key(901), b"still", NOWAIT).unwrap();
    assert!(is_refused(&old.commit().unwrap_err()));
    let round_of = |number| match number {
        0 => 1,
        1..400 => 7,
        _ => 0,
    };
    assert_holds(&store, &tree, 1_000, round_of);
    assert!(store.stopped().is_none());
    // Its rows are free again.
    put(500, 0);
    drop((store, tree));
    let world = world.crash();
    let (store, tree) = open(&world, log());
    assert_holds(&store, &tree, 1_000, round_of);
}

#[test]
fn a_transaction_that_gives_up_its_parts_holds_no_log_and_commits_its_rows_all_the_same() {
    let log = short_log;
    let world = SimWorld::new(7);
    let (store, tree) = open(&world, log());
    let put = |number, round| put(&store, &tree, number, round);
    (0..1_000).for_each(|number| put(number, 0));
    let mut old = store.begin();
    for round in 1..=2 {
        for number in 500..1_000 {
            old.put(&tree, &key(number), &value(number, round), NOWAIT).unwrap();
        }
    }
    // One that it has made and deleted, and one that was there.
    old.put(&tree, &key(1_000), b"short", NOWAIT).unwrap();
    old.put(&tree, &key(2_000), b"new", NOWAIT).unwrap();
    assert!(old.delete(&tree, &key(1_000), NOWAIT).unwrap());
    assert!(old.delete(&tree, &key(999), NOWAIT).unwrap());
    assert!(store.status().log_parts > 0);
    old.give_up_log_parts().unwrap();
    let savepoint = old.savepoint();
    old.put(&tree, &key(499), &value(499, 5), NOWAIT).unwrap();
    old.rollback_to(&savepoint).unwrap();
    old.put(&tree, &key(998), &value(998, 3), NOWAIT).unwrap();
    let mut seen = Vec::new();
    old.each_own_row(|of, key, value| {
        assert_eq!(of, tree.id());
        seen.push((u64::from_be_bytes(key.try_into().unwrap()), value.map(<[u8]>::to_vec)));
        Ok::<(), StoreError>(())
    })
    .unwrap();
    seen.sort_unstable();
    let mut expected: Vec<_> = (500..999).map(|number| (number, Some(value(number, 2)))).collect();
    expected[498].1 = Some(value(998, 3));
    expected.extend([(999, None), (1_000, None), (2_000, Some(b"new".to_vec()))]);
    assert!(seen == expected);
    assert!(old.delete(&tree, &key(2_000), NOWAIT).unwrap());
    // Others write more than a transaction may go back in the log.
    for round in 0..8 {
        (1..400).for_each(|number| put(number, round));
        store.checkpoint_now().unwrap();
    }
    store.sync_to(old.commit().unwrap().unwrap()).unwrap();
    let round_of = |number| match number {
        1..400 => 7,
        500..998 => 2,
        998 => 3,
        _ => 0,
    };
    assert_holds(&store, &tree, 999, round_of);
    drop((store, tree));
    let world = world.crash();
    let (store, tree) = open(&world, log());
    assert_holds(&store, &tree, 999, round_of);
}
