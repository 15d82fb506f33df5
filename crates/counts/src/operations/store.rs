//! Trees, versions and the log, on the simulated disk and without threads.

use std::ops::ControlFlow;

use env::simulated::SimWorld;
use store::{LockMode, LockWait, ScanRange, Store, Tree};

use crate::count::{Counter, Sequence};

const ROWS: u64 = 20_000;
const VALUE: [u8; 180] = [7; 180];

fn fill(store: &Store) -> Tree {
    let mut txn = store.begin();
    let id = txn.create_tree().expect("a tree");
    txn.commit().expect("commit");
    let tree = store.tree(id).expect("it is there");
    for batch in 0..ROWS / 1000 {
        let mut txn = store.begin();
        for row in batch * 1000..(batch + 1) * 1000 {
            txn.insert(&tree, &(row * 2).to_be_bytes(), &VALUE, LockWait::Nowait).expect("insert");
        }
        txn.commit().expect("commit");
    }
    tree
}

pub(crate) fn count(counter: &mut Counter) {
    let world = SimWorld::new(1);
    let store = fixture::open_store(&world);
    super::leave_free_blocks(&store);
    let tree = fill(&store);
    reads(counter, &store, &tree);
    writes(counter, &store, &tree);
}

fn reads(counter: &mut Counter, store: &Store, tree: &Tree) {
    let mut random = Sequence(1);
    let mut view = store.parked_view();
    counter.count("store.snapshot", 512, |_| {
        view.refresh();
        view.park();
    });
    view.refresh();
    counter.count("store.get", 1024, |_| {
        let key = (random.below(ROWS) * 2).to_be_bytes();
        store.get(tree, &key, view.reader(), <[u8]>::len).expect("get").expect("found")
    });
    counter.count("store.get_absent", 1024, |_| {
        let key = (random.below(ROWS) * 2 + 1).to_be_bytes();
        store.get(tree, &key, view.reader(), <[u8]>::len).expect("get").is_none()
    });
    counter.count("store.get_many_64", 32, |_| {
        let keys: Vec<[u8; 8]> = (0..64).map(|_| (random.below(ROWS) * 2).to_be_bytes()).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut bytes = 0;
        store
            .get_many(tree, &keys, view.reader(), |_, value| bytes += value.map_or(0, <[u8]>::len))
            .expect("get");
        bytes
    });
    for (name, rows, times) in [("store.scan_10", 10, 256), ("store.scan_1000", 1000, 16)] {
        counter.count(name, times, |_| {
            let from = random.below(ROWS - rows) * 2;
            let (from, to) = (from.to_be_bytes(), (from + rows * 2).to_be_bytes());
            let mut sum = 0;
            let row = |_: &[u8], value: &[u8]| {
                sum += u64::from(value[100]);
                ControlFlow::Continue(())
            };
            store.scan(tree, &ScanRange::between(&from, &to)).for_each(view.reader(), row).expect("scan");
            assert_eq!(sum, rows * 7);
        });
    }
    counter.count("store.scan_10_backward", 256, |_| {
        let from = random.below(ROWS - 10) * 2;
        let (from, to) = (from.to_be_bytes(), (from + 20).to_be_bytes());
        let mut rows = 0;
        let row = |_: &[u8], _: &[u8]| {
            rows += 1;
            ControlFlow::Continue(())
        };
        store
            .scan(tree, &ScanRange::between(&from, &to).backward())
            .for_each(view.reader(), row)
            .expect("scan");
        assert_eq!(rows, 10);
    });
    counter.count("store.estimate_rows", 256, |_| {
        let from = random.below(ROWS / 2);
        store.estimate_rows(tree, &ScanRange::between(&from.to_be_bytes(), &(from + 500).to_be_bytes()))
    });
}

fn writes(counter: &mut Counter, store: &Store, tree: &Tree) {
    let mut random = Sequence(2);
    let wait = LockWait::Nowait;
    let some_row = |random: &mut Sequence| (random.below(ROWS) * 2).to_be_bytes();
    counter.count("store.insert_in_order_commit", 512, |number| {
        let mut txn = store.begin();
        txn.insert(tree, &(ROWS * 2 + u64::from(number)).to_be_bytes(), &VALUE, wait).expect("insert");
        txn.commit().expect("commit")
    });
    counter.count("store.insert_anywhere_commit", 512, |_| {
        let mut txn = store.begin();
        let key = [some_row(&mut random), random.below(u64::MAX).to_be_bytes()].concat();
        txn.insert(tree, &key, &VALUE, wait).expect("insert");
        txn.commit().expect("commit")
    });
    counter.count("store.update_commit", 512, |number| {
        let mut txn = store.begin();
        txn.update(tree, &some_row(&mut random), &[number as u8; 180], wait).expect("update");
        txn.commit().expect("commit")
    });
    counter.count("store.lock_update_commit", 512, |number| {
        let mut txn = store.begin();
        let key = some_row(&mut random);
        txn.lock_current(tree, &key, LockMode::Exclusive, wait, <[u8]>::len).expect("lock");
        txn.update(tree, &key, &[number as u8; 180], wait).expect("update");
        txn.commit().expect("commit")
    });
    counter.count("store.update_rollback", 512, |number| {
        let mut txn = store.begin();
        txn.update(tree, &some_row(&mut random), &[number as u8; 180], wait).expect("update");
        txn.rollback().expect("rollback");
    });
    counter.count("store.100_updates_commit", 16, |number| {
        let mut txn = store.begin();
        for _ in 0..100 {
            txn.update(tree, &some_row(&mut random), &[number as u8; 180], wait).expect("update");
        }
        txn.commit().expect("commit")
    });
    counter.count("store.delete_insert_commit", 512, |_| {
        let mut txn = store.begin();
        let key = some_row(&mut random);
        txn.delete(tree, &key, wait).expect("delete");
        txn.insert(tree, &key, &VALUE, wait).expect("insert");
        txn.commit().expect("commit")
    });
}
