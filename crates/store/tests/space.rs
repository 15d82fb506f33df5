//! How much of the disk the data file takes, by counts: beside the pages that are alive, under churn, and after data went.

use env::simulated::SimWorld;
use std::path::Path;
use store::wal::LogOptions;
use store::{LockWait, Options, PAGE_BYTES, Store, Tree, TreeId, check_files};

const FOLDER: &str = "/data";
const NOWAIT: LockWait = LockWait::Nowait;
/// What a file of any length may have free, here.
const SPARE_PAGES: u64 = 32;

fn open(world: &SimWorld) -> (Store, Tree) {
    let options = Options {
        background_threads: false,
        buffer_pool_bytes: 32 << 20,
        log: LogOptions { segment_bytes: 1 << 20, ..LogOptions::default() },
        checkpoint_dirty_bytes: SPARE_PAGES * PAGE_BYTES as u64,
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    };
    let store = Store::open(world.env(), Path::new(FOLDER), options).unwrap();
    let tree = store.tree(TreeId(2)).unwrap();
    (store, tree)
}

fn file_pages(world: &SimWorld) -> u64 {
    world.disk().content(Path::new(FOLDER), "data").unwrap().len() as u64 / PAGE_BYTES as u64
}

fn bound(store: &Store) -> u64 {
    store.status().page_count * 3 / 2 + SPARE_PAGES + 16
}

fn key(number: u32, random: bool) -> [u8; 4] {
    if random { number.wrapping_mul(2_654_435_761).to_be_bytes() } else { number.to_be_bytes() }
}

/// What the background threads would do now.
fn background_work(store: &Store) {
    while store.purge_tick().unwrap() {}
    if store.checkpoint_is_due() {
        store.checkpoint_now().unwrap();
    }
}

#[test]
fn churn_keeps_the_file_within_half_as_much_again() {
    for random in [false, true] {
        let world = SimWorld::new(1);
        let (store, tree) = open(&world);
        let rows = 20_000;
        let value = [7; 100];
        let mut largest = 0.0f64;
        let mut dense = 0;
        // So few that no single transaction changes all pages.
        let batch = if random { 20 } else { 500 };
        for first in (0..rows * 3).step_by(batch as usize) {
            let mut txn = store.begin();
            for number in first..first + batch {
                txn.insert(&tree, &key(number, random), &value, NOWAIT).unwrap();
                if number >= rows {
                    assert!(txn.delete(&tree, &key(number - rows, random), NOWAIT).unwrap());
                }
            }
            txn.commit().unwrap();
            background_work(&store);
            if first + batch == rows {
                dense = store.status().page_count;
            }
            if first >= rows {
                let (file, pages) = (file_pages(&world), store.status().page_count);
                assert!(file <= bound(&store), "random {random}: {file} pages in the file, {pages} alive");
                assert!(pages <= dense * 5 / 4, "random {random}: {pages} pages alive, {dense} at first");
                largest = largest.max((file - SPARE_PAGES) as f64 / pages as f64);
            }
        }
        assert!(largest > 1.1, "the bound is not worth its name: {largest}");
        assert!(store.status().checkpoints > 5, "{:?}", store.status());
        assert_eq!(check_files(world.env(), Path::new(FOLDER)).unwrap().damages, []);
    }
}

#[test]
fn what_goes_is_given_back_to_the_disk() {
    let world = SimWorld::new(2);
    let (store, tree) = open(&world);
    let mut txn = store.begin();
    let other = txn.create_tree().unwrap();
    txn.commit().unwrap();
    let other = store.tree(other).unwrap();
    for first in (0..60_000).step_by(500) {
        let mut txn = store.begin();
        for number in first..first + 500 {
            // In turns, so that what stays lies everywhere in the file.
            let tree = if number % 10 == 0 { &tree } else { &other };
            txn.insert(tree, &key(number, true), &[1; 150], NOWAIT).unwrap();
        }
        txn.commit().unwrap();
        background_work(&store);
    }
    store.checkpoint_now().unwrap();
    let before = file_pages(&world);
    let mut txn = store.begin();
    txn.drop_tree(other.id(), NOWAIT).unwrap();
    txn.commit().unwrap();
    for _ in 0..6 {
        while store.purge_tick().unwrap() {}
        store.checkpoint_now().unwrap();
    }
    let after = file_pages(&world);
    assert!(after <= bound(&store) && after * 3 < before, "{after} of {before} pages are left");
    assert!(store.status().moved_blocks > 0);
    assert_eq!(check_files(world.env(), Path::new(FOLDER)).unwrap().damages, []);
    assert_eq!(store.check_tree(&tree).unwrap().1, 6_000);
    drop((store, tree, other));
    let (store, tree) = open(&world.crash());
    assert_eq!(store.check_tree(&tree).unwrap().1, 6_000);
}
