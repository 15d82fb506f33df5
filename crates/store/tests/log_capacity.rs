//! How long the log gets when writers outrun checkpoints: by bytes of its files.

use env::simulated::SimWorld;
use std::path::Path;
use store::wal::LogOptions;
use store::{LockWait, Options, Store, TreeId};

const FOLDER: &str = "/data";
const NOWAIT: LockWait = LockWait::Nowait;
const SEGMENT: u64 = 64 << 10;

fn open(world: &SimWorld, capacity: u64) -> Store {
    let options = Options {
        background_threads: false,
        buffer_pool_bytes: 8 << 20,
        log: LogOptions { segment_bytes: SEGMENT, ..LogOptions::default() },
        log_capacity_bytes: capacity,
        txn_log_memory_bytes: 32 << 10,
        ..Options::default()
    };
    Store::open(world.env(), Path::new(FOLDER), options).unwrap()
}

/// Bytes of the log's files, spare segments not counted.
fn log_bytes(world: &SimWorld) -> u64 {
    let folder = world.env().disk.folder(Path::new(FOLDER), false).unwrap();
    let names = folder.list().unwrap();
    let segments = names.iter().filter(|name| name.starts_with("log.0"));
    segments.map(|name| world.disk().content(Path::new(FOLDER), name).unwrap().len() as u64).sum()
}

fn write(store: &Store, from: u32, rows: u32) {
    let tree = store.tree(TreeId(2)).unwrap();
    let mut txn = store.begin();
    for number in from..from + rows {
        txn.put(&tree, &(number % 5_000).to_be_bytes(), &[number as u8; 300], NOWAIT).unwrap();
    }
    let position = txn.commit().unwrap().unwrap();
    store.sync_to(position).unwrap();
}

#[test]
fn the_log_stays_within_its_capacity() {
    let world = SimWorld::new(1);
    let capacity = 1 << 20;
    let store = open(&world, capacity);
    let mut longest = 0;
    for round in 0..2_000 {
        write(&store, round * 20, 20);
        let bytes = log_bytes(&world);
        // One segment is begun, one is not yet released.
        assert!(bytes <= capacity + 3 * SEGMENT, "{bytes} bytes after {round} commits");
        longest = longest.max(bytes);
    }
    let status = store.status();
    assert!(longest > capacity / 2 && (8..40).contains(&status.checkpoints), "{longest} {status:?}");
    assert_eq!(status.log_capacity_bytes, capacity);
    assert!(status.log_end - status.log_checkpoint_position <= capacity + SEGMENT);
    assert!(
        status.log_file_bytes >= log_bytes(&world) && status.log_file_bytes <= 2 * capacity + 20 * SEGMENT
    );
    // Larger from now on, then smaller.
    store.set_log_capacity(4 << 20);
    (0..300).for_each(|round| write(&store, round * 20, 20));
    assert!(log_bytes(&world) > 3 << 19, "{}", log_bytes(&world));
    store.set_log_capacity(capacity);
    (0..300).for_each(|round| write(&store, round * 20, 20));
    assert!(log_bytes(&world) <= capacity + 3 * SEGMENT, "{}", log_bytes(&world));
}

#[test]
fn a_large_transaction_keeps_the_log_and_nothing_after_it_does() {
    let world = SimWorld::new(2);
    let capacity = 512 << 10;
    let store = open(&world, capacity);
    // It goes to the log in parts, and waits at the wall before each: checkpoints come in between.
    write(&store, 0, 10_000);
    let status = store.status();
    assert!(status.log_parts > 50 && status.checkpoints > 3, "{status:?}");
    assert!(log_bytes(&world) > 2 << 20);
    (0..200).for_each(|round| write(&store, round * 20, 20));
    assert!(log_bytes(&world) <= capacity + 3 * SEGMENT, "{}", log_bytes(&world));
}
