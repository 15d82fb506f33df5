//! Scans of what is larger than the buffer pool: they leave to others what they use, and ask the disk ahead.

use env::simulated::SimWorld;
use std::ops::ControlFlow;
use std::path::Path;
use store::{Direction, LockWait, Options, ScanRange, Store, Tree, TreeId};

const NOWAIT: LockWait = LockWait::Nowait;
/// 128 frames.
const POOL_BYTES: u64 = 2 << 20;
const FRAMES: u64 = 128;
/// 30 leaves.
const HOT_ROWS: u32 = 400;
/// More than 512.
const COLD_ROWS: u32 = 8_000;

fn options() -> Options {
    Options { background_threads: false, buffer_pool_bytes: POOL_BYTES, ..Options::default() }
}

/// Two trees with rows of 1,000 bytes, opened with nothing in memory.
fn fresh(world: &SimWorld) -> (Store, Tree, Tree) {
    let store = Store::open(world.env(), Path::new("/data"), options()).unwrap();
    let (hot, cold) = (store.tree(TreeId(2)).unwrap(), store.tree(TreeId(3)).unwrap());
    for (tree, rows) in [(&hot, HOT_ROWS), (&cold, COLD_ROWS)] {
        for first in (0..rows).step_by(100) {
            let mut txn = store.begin();
            for number in first..first + 100 {
                txn.insert(tree, &number.to_be_bytes(), &[number as u8; 1_000], NOWAIT).unwrap();
            }
            txn.commit().unwrap();
        }
    }
    store.close().unwrap();
    drop((hot, cold, store));
    let store = Store::open(world.env(), Path::new("/data"), options()).unwrap();
    let (hot, cold) = (store.tree(TreeId(2)).unwrap(), store.tree(TreeId(3)).unwrap());
    assert!(store.tree_pages(&cold).unwrap() > 4 * FRAMES);
    (store, hot, cold)
}

fn look_up_all(store: &Store, tree: &Tree, rows: u32) {
    let view = store.read_view();
    for number in 0..rows {
        let found = store.get(tree, &number.to_be_bytes(), view.reader(), |value| value[0]).unwrap();
        assert_eq!(found, Some(number as u8));
    }
}

/// Counts the rows from `from` on.
fn scan(store: &Store, tree: &Tree, from: u32, direction: Direction) -> u64 {
    let view = store.read_view();
    let from = from.to_be_bytes();
    let lower = std::ops::Bound::Included(&from[..]);
    let mut count = 0;
    let mut scan = store.scan(tree, &ScanRange { lower, direction, ..ScanRange::all() });
    scan.for_each(view.reader(), |_, _| {
        count += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    count
}

#[test]
fn a_scan_of_four_times_the_pool_leaves_what_others_use() {
    for direction in [Direction::Forward, Direction::Backward] {
        let world = SimWorld::new(1);
        let (store, hot, cold) = fresh(&world);
        look_up_all(&store, &hot, HOT_ROWS);
        let warm = store.status().pages_read;
        look_up_all(&store, &hot, HOT_ROWS);
        assert_eq!(store.status().pages_read, warm, "it fits");
        assert_eq!(scan(&store, &cold, 0, direction), u64::from(COLD_ROWS));
        let scanned = store.status().pages_read;
        assert!(scanned - warm > 4 * FRAMES, "{}", scanned - warm);
        look_up_all(&store, &hot, HOT_ROWS);
        assert_eq!(store.status().pages_read - scanned, 0, "all of it is still there");
    }
}

/// What is scanned again and again stays when it fits, also where the pool is full of what nobody uses any more.
#[test]
fn what_is_scanned_repeatedly_comes_to_stay() {
    let world = SimWorld::new(1);
    let (store, _, cold) = fresh(&world);
    look_up_all(&store, &cold, COLD_ROWS / 2);
    // Half of the pool.
    let from = COLD_ROWS - COLD_ROWS / 9;
    let mut reads = Vec::new();
    for _ in 0..60 {
        let before = store.status().pages_read;
        assert_eq!(scan(&store, &cold, from, Direction::Forward), u64::from(COLD_ROWS - from));
        reads.push(store.status().pages_read - before);
    }
    assert!(reads[0] > FRAMES / 3, "{reads:?}");
    assert_eq!(reads[59], 0, "{reads:?}");
}

#[test]
fn scans_ask_ahead_and_lookups_do_not() {
    let world = SimWorld::new(1);
    let (store, hot, cold) = fresh(&world);
    look_up_all(&store, &hot, HOT_ROWS);
    assert_eq!(scan(&store, &cold, COLD_ROWS - 30, Direction::Forward), 30);
    assert_eq!(store.status().pages_read_ahead, 0, "short ranges neither");
    for direction in [Direction::Forward, Direction::Backward] {
        let before = store.status();
        scan(&store, &cold, 0, direction);
        let after = store.status();
        let (asked, read) =
            (after.pages_read_ahead - before.pages_read_ahead, after.pages_read - before.pages_read);
        assert!(asked > read * 9 / 10 && asked <= read, "{direction:?}: {asked} of {read}");
    }

    scan(&store, &hot, 0, Direction::Forward);
    scan(&store, &hot, 0, Direction::Forward);
    let again = store.status().pages_read_ahead;
    scan(&store, &hot, 0, Direction::Forward);
    assert_eq!(store.status().pages_read_ahead, again, "what is in memory is not asked for");
}

/// Keys in any order, near each other or far, and ranges one after the other that begin where the one before ended, or elsewhere; in a pool
/// that holds a part of them, while leaves are split and emptied.
#[test]
fn many_keys_and_ranges_are_found_wherever_they_are() {
    let world = SimWorld::new(7);
    let (store, _, cold) = fresh(&world);
    let mut scan: Option<store::Scan> = None;
    for round in 0..6u32 {
        let mut txn = store.begin();
        for number in (round..COLD_ROWS).step_by(6) {
            match (number / 512 + round) % 3 {
                0 => {
                    txn.delete(&cold, &number.to_be_bytes(), NOWAIT).unwrap();
                }
                1 => txn.put(&cold, &[&number.to_be_bytes()[..], b"x"].concat(), b"new", NOWAIT).unwrap(),
                _ => {}
            }
        }
        txn.commit().unwrap();
        let view = store.read_view();
        for step in [1, 7, 1_009, COLD_ROWS - 1] {
            let keys: Vec<[u8; 4]> =
                (0..500u32).map(|at| ((at * step + round) % (COLD_ROWS + 50)).to_be_bytes()).collect();
            let slices: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let mut seen = vec![false; keys.len()];
            store
                .get_many(&cold, &slices, view.reader(), |index, value| {
                    assert!(!std::mem::replace(&mut seen[index], true));
                    let alone = store.get(&cold, &keys[index], view.reader(), <[u8]>::to_vec).unwrap();
                    assert_eq!(alone.as_deref(), value, "{:?}", keys[index]);
                })
                .unwrap();
            assert!(seen.iter().all(|seen| *seen));
            for key in &keys[..100] {
                let end = (u32::from_be_bytes(*key) + 3).to_be_bytes();
                let range = ScanRange::between(key, &end);
                let collect = |scan: &mut store::Scan| {
                    let mut found = Vec::new();
                    scan.for_each(view.reader(), |key, value| {
                        found.push((key.to_vec(), value.len()));
                        ControlFlow::Continue(())
                    })
                    .unwrap();
                    found
                };
                let expected = collect(&mut store.scan(&cold, &range));
                let again = match &mut scan {
                    Some(scan) => {
                        scan.restart(&range);
                        collect(scan)
                    }
                    None => collect(scan.insert(store.scan(&cold, &range))),
                };
                assert_eq!(again, expected);
            }
        }
    }
}
