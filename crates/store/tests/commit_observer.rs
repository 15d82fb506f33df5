//! An observer sees each commit before it is durable, in the order of the positions, and nothing that did not commit.

use std::path::Path;
use std::sync::{Arc, Mutex};

use env::simulated::SimWorld;
use store::wal::{LogError, LogListener, Lsn};
use store::{CommitObserver, CommitPosition, LockWait, Options, Store, TreeId, TxnId};

#[derive(Default)]
struct Seen {
    commits: Mutex<Vec<(TxnId, CommitPosition)>>,
    acknowledged: Mutex<Vec<u64>>,
    rolled_back: Mutex<Vec<(TxnId, u64)>>,
}

impl CommitObserver for Seen {
    fn committed(&self, transaction: TxnId, position: CommitPosition) {
        self.commits.lock().expect("no test panicked").push((transaction, position));
    }

    fn rolled_back(&self, transaction: TxnId, kept: u64) {
        self.rolled_back.lock().expect("no test panicked").push((transaction, kept));
    }
}

impl LogListener for Seen {
    fn acknowledged(&self, position: Lsn) {
        self.acknowledged.lock().expect("no test panicked").push(position.0);
    }

    fn stopped(&self, why: &LogError) {
        panic!("{why}");
    }
}

#[test]
fn commits_are_seen_in_their_order_before_they_are_durable() {
    let world = SimWorld::new(1);
    let options = Options { background_threads: false, ..Options::default() };
    let store = Store::open(world.env(), Path::new("/data"), options).expect("a new store");
    let tree = store.tree(TreeId::DICTIONARY).expect("the first tree");
    let seen = Arc::new(Seen::default());
    assert!(store.on_commit(Arc::<Seen>::clone(&seen)));
    assert!(!store.on_commit(Arc::<Seen>::clone(&seen)), "one observer");
    store.on_durable(Arc::<Seen>::clone(&seen));

    let put = |key: &[u8]| {
        let mut txn = store.begin();
        txn.insert(&tree, key, b"value", LockWait::Nowait).expect("a new record");
        txn
    };
    let (first, second, undone, savepoint) = (put(b"1"), put(b"2"), put(b"3"), put(b"4"));
    let numbers = [second.id(), savepoint.id(), first.id()];
    let of_undone = undone.id();
    undone.rollback().expect("it is rolled back");
    assert_eq!(*seen.rolled_back.lock().expect("no test panicked"), [(of_undone, 0)]);
    store.begin().commit().expect("a transaction without changes");
    let positions = [second, savepoint, first].map(|txn| txn.commit().expect("a commit").expect("it wrote"));
    let expected: Vec<_> = numbers.into_iter().zip(positions).collect();
    assert_eq!(*seen.commits.lock().expect("no test panicked"), expected, "in the order of the commits");
    assert!(positions.is_sorted());
    assert!(store.durable_position() < positions[0], "seen before it is durable");
    assert!(seen.acknowledged.lock().expect("no test panicked").is_empty());
    store.sync_to(positions[2]).expect("the log is synced");
    assert_eq!(seen.acknowledged.lock().expect("no test panicked").last(), Some(&positions[2].0));
}

#[test]
fn what_a_rollback_leaves_of_a_transaction_is_told() {
    let world = SimWorld::new(1);
    let options = Options { background_threads: false, ..Options::default() };
    let store = Store::open(world.env(), Path::new("/data"), options).expect("a new store");
    let tree = store.tree(TreeId::DICTIONARY).expect("the first tree");
    let seen = Arc::new(Seen::default());
    assert!(store.on_commit(Arc::<Seen>::clone(&seen)));
    let told = || std::mem::take(&mut *seen.rolled_back.lock().expect("no test panicked"));

    let mut txn = store.begin();
    let put = |txn: &mut store::Transaction, key: &[u8]| {
        txn.insert(&tree, key, b"value", LockWait::Nowait).expect("a new record");
    };
    let first = txn.savepoint();
    put(&mut txn, b"1");
    let second = txn.savepoint();
    txn.rollback_to(&second).expect("nothing is to be undone");
    assert_eq!(told(), [], "nothing was");
    put(&mut txn, b"2");
    put(&mut txn, b"3");
    let id = txn.id();
    txn.rollback_to(&second).expect("it is rolled back");
    assert_eq!((told(), txn.change_count()), (vec![(id, 1)], 1));
    put(&mut txn, b"2");
    txn.rollback_to(&first).expect("it is rolled back");
    assert_eq!(told(), [(id, 0)]);
    txn.rollback().expect("it is rolled back");
    assert_eq!(told(), [], "there was nothing any more");

    let mut txn = store.begin();
    put(&mut txn, b"1");
    let id = txn.id();
    drop(txn);
    assert_eq!(told(), [(id, 0)], "dropped");
}
