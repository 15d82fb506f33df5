//! Who waits for the disk says so first, and holds nothing that others wait for: at each such moment a checkpoint can be made.

use env::blocking::{self, BlockingHook};
use env::simulated::SimWorld;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use store::wal::LogOptions;
use store::{LockWait, Options, ScanRange, Store, TreeId};

const NOWAIT: LockWait = LockWait::Nowait;
const ROWS: u32 = 6_000;

/// Makes a checkpoint whenever the thread is about to wait: it takes the checkpoint latch exclusively, takes the latch
/// of every changed page, and would never end if the thread were inside.
struct Checkpoints {
    store: Store,
    count: Cell<u64>,
    busy: Cell<bool>,
}

impl BlockingHook for Checkpoints {
    fn enter(&self) {
        self.count.set(self.count.get() + 1);
        if !self.busy.replace(true) {
            self.store.checkpoint_now().unwrap();
            self.busy.set(false);
        }
    }

    fn leave(&self) {}
}

fn key(number: u32) -> [u8; 4] {
    number.wrapping_mul(2_654_435_761).to_be_bytes()
}

#[test]
fn reads_from_the_disk_hold_neither_gate_nor_latch() {
    let world = SimWorld::new(1);
    // 128 frames; the rows need four times as many.
    let options = Options { background_threads: false, buffer_pool_bytes: 2 << 20, ..Options::default() };
    let store = Store::open(world.env(), Path::new("/data"), options).unwrap();
    let tree = store.tree(TreeId(2)).unwrap();
    let hook = Rc::new(Checkpoints { store: store.clone(), count: Cell::new(0), busy: Cell::new(false) });
    assert!(blocking::install(Some(Rc::clone(&hook) as Rc<dyn BlockingHook>)).is_none());
    for first in (0..ROWS).step_by(50) {
        let mut txn = store.begin();
        for number in first..first + 50 {
            txn.insert(&tree, &key(number), &[number as u8; 1_000], NOWAIT).unwrap();
        }
        txn.commit().unwrap();
    }
    let (told, read) = (hook.count.get(), store.status().pages_read);
    assert!(told > 3_000 && told >= read, "{told} waits for {read} pages");
    for number in (0..ROWS).step_by(7) {
        let mut txn = store.begin();
        txn.update(&tree, &key(number), &[!(number as u8); 900], NOWAIT).unwrap();
        if number % 3 == 0 {
            assert!(txn.delete(&tree, &key(number + 1), NOWAIT).unwrap(), "{number}");
        }
        if number % 2 == 0 {
            txn.rollback().unwrap();
        } else {
            txn.commit().unwrap();
        }
    }
    while store.purge_tick().unwrap() {}
    let view = store.read_view();
    let mut rows = 0;
    let mut scan = store.scan(&tree, &ScanRange::all());
    scan.for_each(view.reader(), |_, _| {
        rows += 1;
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    let deleted = (0..ROWS).step_by(7).filter(|number| number % 6 == 3).count();
    assert_eq!(rows, ROWS as usize - deleted);
    assert_eq!(store.check_tree(&tree).unwrap().1, rows as u64);
    let status = store.status();
    assert!(hook.count.get() * 10 > status.pages_read * 9, "{} of {}", hook.count.get(), status.pages_read);
    blocking::install(None);
}

#[test]
fn a_commit_waits_for_the_log_outside_the_gate() {
    let world = SimWorld::new(1);
    let log = LogOptions { segment_bytes: 32 << 10, buffer_bytes_max: 4 << 10, ..LogOptions::default() };
    let options =
        Options { background_threads: false, buffer_pool_bytes: 8 << 20, log, ..Options::default() };
    let store = Store::open(world.env(), Path::new("/data"), options).unwrap();
    let tree = store.tree(TreeId(2)).unwrap();
    let hook = Rc::new(Checkpoints { store: store.clone(), count: Cell::new(0), busy: Cell::new(false) });
    blocking::install(Some(Rc::clone(&hook) as Rc<dyn BlockingHook>));
    let mut last = None;
    for number in 0..300 {
        let mut txn = store.begin();
        txn.insert(&tree, &key(number), &[number as u8; 1_000], NOWAIT).unwrap();
        last = txn.commit().unwrap();
    }
    assert!(
        hook.count.get() > 50,
        "{}: the log's buffer and its segments were full now and then",
        hook.count.get()
    );
    store.sync_to(last.unwrap()).unwrap();
    blocking::install(None);
    assert_eq!(store.check_tree(&tree).unwrap().1, 300);
}
