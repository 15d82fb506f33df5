//! A store's files are checked; a flipped bit anywhere is found and named, and hurts nobody but who needs its page.

use env::simulated::SimWorld;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use store::wal::LogOptions;
use store::{
    FileReport, LockWait, Options, PAGE_BYTES, ScanRange, Store, StoreError, TreeId, WriteError, check_files,
};

const FOLDER: &str = "/data";

fn open(world: &SimWorld) -> Store {
    let log = LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() };
    let options =
        Options { background_threads: false, buffer_pool_bytes: 2 << 20, log, ..Options::default() };
    Store::open(world.env(), Path::new(FOLDER), options).unwrap()
}

fn fill(store: &Store, tree: TreeId, count: u32) {
    let tree = store.tree(tree).unwrap();
    let mut txn = store.begin();
    for number in 0..count {
        txn.put(&tree, &number.to_be_bytes(), &[7; 900], LockWait::Nowait).unwrap();
    }
    txn.commit().unwrap();
}

fn check(world: &SimWorld) -> FileReport {
    check_files(world.env(), Path::new(FOLDER)).unwrap()
}

fn read_all(store: &Store, tree: TreeId) -> Result<usize, StoreError> {
    let mut count = 0;
    let view = store.read_view();
    store.scan(&store.tree(tree)?, &ScanRange::all()).for_each(view.reader(), |_, _| {
        count += 1;
        ControlFlow::Continue(())
    })?;
    Ok(count)
}

/// Trees of two levels, one dropped, one that a running transaction changed at the checkpoint.
fn world() -> SimWorld {
    let world = SimWorld::new(4);
    let store = open(&world);
    for tree in 1..6 {
        fill(&store, TreeId(tree), 60);
    }
    let mut txn = store.begin();
    let made = txn.create_tree().unwrap();
    txn.commit().unwrap();
    fill(&store, made, 40);
    store.checkpoint_now().unwrap();
    let mut txn = store.begin();
    txn.drop_tree(made, LockWait::Nowait).unwrap();
    txn.commit().unwrap();
    while store.purge_tick().unwrap() {}
    let mut running = store.begin();
    let five = store.tree(TreeId(5)).unwrap();
    running.put(&five, b"uncommitted", b"1", LockWait::Nowait).unwrap();
    store.checkpoint_now().unwrap();
    fill(&store, TreeId(3), 3);
    store.sync_to(store.newest_position()).unwrap();
    drop(running);
    drop(store);
    world
}

#[test]
fn sound_files_are_found_sound_and_counted() {
    let world = world();
    let report = check(&world);
    assert_eq!(report.damages, []);
    assert_eq!((report.lost_pages, report.commits), (0, 1));
    assert!(report.pages > 20 && report.records > 300 && report.trees == 16, "{report:?}");
    assert!(report.used_blocks <= report.blocks, "{report:?}");
}

#[test]
fn a_flipped_bit_is_found_in_every_block_in_use_and_nowhere_else() {
    let world = world();
    let sound = check(&world);
    let (mut found, mut of_pages) = (0, 0);
    for block in 0..sound.blocks {
        // A superblock is short; elsewhere the checksum covers all.
        let inside = if block < 2 { 60 } else { (block * 7_919 % PAGE_BYTES as u64) as usize };
        let offset = block as usize * PAGE_BYTES + inside;
        assert!(world.disk().flip_bit(Path::new(FOLDER), "data", offset, (block % 8) as u8));
        let report = check(&world);
        // One flip is one damage, named by its block.
        for damage in &report.damages {
            assert_eq!((damage.file.as_str(), damage.block), ("data", Some(block as u32)), "{damage:?}");
        }
        // With the newest superblock gone the older one leads to pages that were written over since, or to none.
        if block >= 2 {
            found += report.damage_count;
            assert!(report.damage_count <= 1, "{report:?}");
            of_pages += u64::from(report.damages.first().is_some_and(|damage| damage.tree.is_some()));
        }
        assert!(world.disk().flip_bit(Path::new(FOLDER), "data", offset, (block % 8) as u8));
    }
    assert_eq!(found, sound.used_blocks - 2, "each block in use, and no free one");
    assert_eq!(of_pages, sound.pages);
}

#[test]
fn a_flipped_bit_in_the_log_is_found() {
    let world = SimWorld::new(4);
    let store = open(&world);
    for _ in 0..4 {
        fill(&store, TreeId(1), 2);
        store.sync_to(store.newest_position()).unwrap();
    }
    drop(store);
    assert_eq!(check(&world).damages, []);
    assert!(world.disk().flip_bit(Path::new(FOLDER), "log.00000001", 4096 + 300, 1));
    let report = check(&world);
    assert_eq!(report.damage_count, 1, "{report:?}");
    assert_eq!(report.damages[0].file, "log.00000001");
}

#[test]
fn a_damaged_page_is_named_once_and_other_trees_stay_usable() {
    let world = SimWorld::new(9);
    let store = open(&world);
    let mut txn = store.begin();
    let doomed = txn.create_tree().unwrap();
    txn.commit().unwrap();
    for tree in [TreeId(1), doomed, TreeId(3)] {
        fill(&store, tree, 200);
    }
    store.close().unwrap();
    drop(store);
    // Every leaf of one tree.
    let sound = check(&world);
    let flip = |block: usize| world.disk().flip_bit(Path::new(FOLDER), "data", block * PAGE_BYTES + 9_000, 0);
    let leaves: Vec<usize> = (2..sound.blocks as usize)
        .filter(|&block| {
            flip(block);
            let report = check(&world);
            flip(block);
            report.pages == sound.pages - 1 && report.damages.iter().any(|damage| damage.tree == Some(doomed))
        })
        .collect();
    assert!(leaves.len() > 10);
    for leaf in leaves {
        flip(leaf);
    }

    let store = open(&world);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    store.on_damage(Box::new(move |error| hears.lock().unwrap().push(error.to_string())));
    store.tree(doomed).unwrap().set_names(&["shop", "orders"]);
    for _ in 0..2 {
        match read_all(&store, doomed) {
            Err(StoreError::Corrupt { place: Some(place), .. }) => {
                assert_eq!(place.tree, doomed);
                assert_eq!(place.names.iter().map(|name| &**name).collect::<Vec<_>>(), ["shop", "orders"]);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(heard.lock().unwrap().len(), 1, "told once");
    let mut txn = store.begin();
    let damaged = store.tree(doomed).unwrap();
    let failed = txn.put(&damaged, &150u32.to_be_bytes(), b"x", LockWait::Nowait);
    assert!(matches!(failed, Err(WriteError::Store(StoreError::Corrupt { .. }))), "{failed:?}");
    txn.rollback().unwrap();
    for tree in [1, 3] {
        assert_eq!(read_all(&store, TreeId(tree)).unwrap(), 200);
        fill(&store, TreeId(tree), 210);
    }
    store.checkpoint_now().unwrap();
    // Dropping the damaged tree gives back what can be found of it.
    let mut txn = store.begin();
    txn.drop_tree(doomed, LockWait::Nowait).unwrap();
    txn.commit().unwrap();
    while store.purge_tick().unwrap() {}
    assert_eq!(store.stopped(), None);
    store.close().unwrap();
    drop(store);
    assert_eq!(check(&world).damages, []);
    assert_eq!(read_all(&open(&world), TreeId(3)).unwrap(), 210);
}

/// A tree whose root cannot be read is dropped like any other: while the store runs, and when the drop is replayed.
#[test]
fn a_tree_with_a_damaged_root_can_be_dropped() {
    let world = SimWorld::new(11);
    let store = open(&world);
    let mut doomed = Vec::new();
    for records in [3, 200] {
        let mut txn = store.begin();
        doomed.push(txn.create_tree().unwrap());
        txn.commit().unwrap();
        fill(&store, *doomed.last().unwrap(), records);
    }
    fill(&store, TreeId(3), 50);
    store.close().unwrap();
    drop(store);
    // Every page of both, roots among them.
    let sound = check(&world);
    let flip = |block: usize| world.disk().flip_bit(Path::new(FOLDER), "data", block * PAGE_BYTES + 9_000, 0);
    let mut flipped = 0;
    for block in 2..sound.blocks as usize {
        flip(block);
        let is_of_doomed = check(&world).damages.iter().any(|damage| {
            damage.block == Some(block as u32) && damage.tree.is_some_and(|tree| doomed.contains(&tree))
        });
        if is_of_doomed {
            flipped += 1;
        } else {
            flip(block);
        }
    }
    assert!(flipped >= 2, "{flipped}");

    let store = open(&world);
    for tree in doomed {
        let mut txn = store.begin();
        txn.drop_tree(tree, LockWait::Nowait).unwrap();
        txn.commit().unwrap();
    }
    while store.purge_tick().unwrap() {}
    assert_eq!(store.stopped(), None);
    fill(&store, TreeId(3), 60);
    store.sync_to(store.newest_position()).unwrap();
    // The power fails: all of it is replayed.
    drop(store);
    let world = world.crash();
    let store = open(&world);
    while store.purge_tick().unwrap() {}
    assert_eq!(store.stopped(), None);
    assert_eq!(read_all(&store, TreeId(3)).unwrap(), 60);
    store.close().unwrap();
    drop(store);
    assert_eq!(check(&world).damages, []);
    assert_eq!(read_all(&open(&world), TreeId(3)).unwrap(), 60);
}

/// The walk over a tree makes space as it goes: the pool need not hold the tree.
#[test]
fn a_tree_larger_than_the_pool_can_be_checked() {
    let world = SimWorld::new(12);
    let store = open(&world);
    let tree = store.tree(TreeId(3)).unwrap();
    for start in 0..40u32 {
        let mut txn = store.begin();
        for number in 0..500 {
            txn.put(&tree, &(start * 500 + number).to_be_bytes(), &[7; 900], LockWait::Nowait).unwrap();
        }
        txn.commit().unwrap();
    }
    let pages = store.status().page_count;
    assert!(pages > 4 * store.status().frame_count, "{pages}");
    store.checkpoint_now().unwrap();
    assert_eq!(store.check_tree(&tree).unwrap().1, 20_000);
}
