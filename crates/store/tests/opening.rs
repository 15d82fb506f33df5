//! Opening what cannot be opened, and going on after the disk failed: clear answers, nothing touched, nothing guessed.

use env::disk::FileOptions;
use env::simulated::{Faults, SimWorld};
use std::path::Path;
use store::wal::LogOptions;
use store::{LockWait, OpenError, Options, Store, StoreError, TreeId, WriteError};

const FOLDER: &str = "/data";

fn options() -> Options {
    let log = LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() };
    Options {
        background_threads: false,
        buffer_pool_bytes: 2 << 20,
        log,
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    }
}

fn open(world: &SimWorld) -> Result<Store, OpenError> {
    Store::open(world.env(), Path::new(FOLDER), options())
}

fn put(store: &Store, key: &[u8]) -> Result<(), WriteError> {
    let tree = store.tree(TreeId(2))?;
    let mut txn = store.begin();
    txn.put(&tree, key, &[5; 3000], LockWait::Nowait)?;
    if let Some(position) = txn.commit()? {
        store.sync_to(position)?;
    }
    Ok(())
}

fn has(store: &Store, key: &[u8]) -> bool {
    let tree = store.tree(TreeId(2)).unwrap();
    store.get(&tree, key, store.read_view().reader(), |value| assert_eq!(value, [5; 3000])).unwrap().is_some()
}

#[test]
fn a_second_store_on_the_same_folder_is_refused() {
    let world = SimWorld::new(1);
    let first = open(&world).unwrap();
    put(&first, b"a").unwrap();
    assert!(matches!(open(&world), Err(OpenError::InUse { .. })));
    put(&first, b"b").unwrap();
    drop(first);
    assert!(has(&open(&world).unwrap(), b"b"));
}

#[test]
fn a_folder_of_a_newer_program_is_refused_and_left_alone() {
    let world = SimWorld::new(1);
    open(&world).unwrap().close().unwrap();
    let folder = world.env().disk.folder(Path::new(FOLDER), false).unwrap();
    let file = folder.open("data", FileOptions::existing()).unwrap();
    for block in 0..2 {
        for place in [8, 72] {
            file.write_at(block * store::PAGE_BYTES as u64 + place, &7u32.to_le_bytes()).unwrap();
        }
    }
    let before = world.disk().content(Path::new(FOLDER), "data");
    let error = open(&world).unwrap_err();
    assert!(matches!(error, OpenError::NewerFormat { found: 7, supported: 4 }), "{error}");
    assert_eq!(world.disk().content(Path::new(FOLDER), "data"), before);
}

#[test]
fn a_lost_data_file_is_not_made_anew_over_its_log() {
    let world = SimWorld::new(1);
    open(&world).unwrap().close().unwrap();
    world.env().disk.folder(Path::new(FOLDER), false).unwrap().remove("data").unwrap();
    assert!(matches!(open(&world), Err(OpenError::Store(StoreError::Corrupt { .. }))));
}

#[test]
fn a_flipped_bit_is_found_when_its_page_is_read() {
    let mut found = 0;
    for offset in (3..40).map(|part| part * 16 * 1024 + 5000) {
        let world = SimWorld::new(1);
        let store = open(&world).unwrap();
        for key in 0..100u8 {
            put(&store, &[key]).unwrap();
        }
        store.close().unwrap();
        drop(store);
        if !world.disk().flip_bit(Path::new(FOLDER), "data", offset, 3) {
            continue;
        }
        // In a block nobody uses any more it does no harm; anywhere else it is noticed.
        match open(&world)
            .map_err(|error| error.to_string())
            .and_then(|store| store.check().map_err(|error| error.to_string()))
        {
            Ok(records) => assert_eq!(records.1, 115),
            Err(error) => {
                assert!(error.contains("damaged"), "{error}");
                found += 1;
            }
        }
    }
    assert!(found > 5, "{found}");
}

#[test]
fn after_a_failed_write_or_sync_nothing_more_is_written_until_reopened() {
    for change in 1..120 {
        for sync in [false, true] {
            let world = SimWorld::new(change);
            let store = open(&world).unwrap();
            let at = Some(world.disk().counts().changes + change);
            world.disk().plan(if sync {
                Faults { fail_sync_at_change: at, ..Faults::default() }
            } else {
                Faults { fail_write_at_change: at, ..Faults::default() }
            });
            let mut acknowledged = Vec::new();
            let mut stopped = false;
            for key in 0..30u8 {
                let written = put(&store, &[key]);
                if key % 5 == 4 {
                    // It may fail: then every later write must.
                    let _ = store.checkpoint_now();
                }
                match written {
                    Ok(()) => {
                        assert!(!stopped, "change {change}: key {key} was written after a failure");
                        acknowledged.push(key);
                    }
                    Err(WriteError::Store(StoreError::Stopped { .. })) => stopped = true,
                    Err(error) => panic!("{error}"),
                }
                // Reading goes on.
                assert!(acknowledged.iter().all(|&key| has(&store, &[key])));
            }
            assert!(!stopped || store.stopped().is_some());
            drop(store);
            let store = open(&world.crash()).unwrap();
            for key in acknowledged {
                assert!(has(&store, &[key]), "change {change}, sync {sync}: key {key} was acknowledged");
            }
            store.check().unwrap();
        }
    }
}
