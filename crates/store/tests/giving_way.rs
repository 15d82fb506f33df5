//! Who reads records with shared locks waits behind the writers that wait to change them, and lets those go first that wait to add
//! records in between and have been overtaken often enough.

use env::simulated::SimWorld;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;
use store::{
    LockMode, LockWait, Locked, Options, ScanRange, Store, Transaction, Tree, TreeId, TxnId, WriteError,
};

const NOWAIT: LockWait = LockWait::Nowait;
/// Longer than any wait here that somebody ends.
const WAIT: LockWait = LockWait::Timeout(Duration::from_secs(3600));

/// A store with the rows a to f, each with its key as value.
fn fresh_world() -> (SimWorld, Store, Tree) {
    let options = Options { background_threads: false, buffer_pool_bytes: 2 << 20, ..Options::default() };
    let world = SimWorld::new(1);
    let store = Store::open(world.env(), Path::new("/data"), options).unwrap();
    let tree = store.tree(TreeId::DICTIONARY).unwrap();
    let mut txn = store.begin();
    for key in b'a'..=b'f' {
        txn.insert(&tree, &[key], &[key], NOWAIT).unwrap();
    }
    txn.commit().unwrap();
    (world, store, tree)
}

fn fresh() -> (Store, Tree) {
    let (_, store, tree) = fresh_world();
    (store, tree)
}

fn begin(store: &Store) -> Transaction {
    let mut txn = store.begin();
    txn.set_range_locks(true);
    txn
}

/// The values of the rows from `lower` up to `upper`, locked shared.
fn read(
    txn: &mut Transaction,
    tree: &Tree,
    (lower, upper): (&[u8], &[u8]),
    wait: LockWait,
) -> Result<Vec<u8>, WriteError> {
    let mut scan = txn.lock_scan(tree, &ScanRange::between(lower, upper), LockMode::Shared, wait);
    let mut values = Vec::new();
    while let Some((_, value)) = scan.next(txn)? {
        values.extend_from_slice(value);
    }
    Ok(values)
}

/// Returns when this many wait: who, and for whom.
fn waiters(store: &Store, count: usize) -> Vec<(TxnId, Vec<TxnId>)> {
    loop {
        let mut waiters: Vec<_> =
            store.lock_waiters().into_iter().map(|waiter| (waiter.txn, waiter.blockers)).collect();
        if waiters.len() == count {
            waiters.sort_unstable();
            return waiters;
        }
        std::thread::yield_now();
    }
}

/// So many come later and go first (`OVERTAKEN_MAX` in `lock/range.rs`).
fn overtake(store: &Store, tree: &Tree) {
    for _ in 0..4 {
        assert_eq!(read(&mut begin(store), tree, (b"a", b"f"), WAIT).unwrap(), b"abcde");
    }
}

/// A thread that makes one change and says that it is done before it commits.
fn write<'s, 'e>(
    scope: &'s Scope<'s, 'e>,
    store: &'e Store,
    done: Sender<&'static str>,
    change: impl FnOnce(&mut Transaction) -> Result<bool, WriteError> + Send + 's,
) -> ScopedJoinHandle<'s, ()> {
    scope.spawn(move || {
        let mut txn = begin(store);
        assert!(change(&mut txn).unwrap());
        done.send("written").unwrap();
        txn.commit().unwrap();
    })
}

#[test]
fn a_reader_comes_after_the_writer_that_waits_already() {
    for inserts in [false, true] {
        let (store, tree) = fresh();
        let mut first = begin(&store);
        assert_eq!(read(&mut first, &tree, (b"b", b"e"), WAIT).unwrap(), b"bcd");
        let (done, order) = channel();
        std::thread::scope(|scope| {
            let writer = write(scope, &store, done.clone(), |txn| match inserts {
                true => txn.insert(&tree, b"cc", b"C", WAIT).map(|()| true),
                false => txn.update(&tree, b"c", b"C", WAIT),
            });
            let writer_waits = waiters(&store, 1);
            if inserts {
                overtake(&store, &tree);
            }
            let second = scope.spawn(|| {
                let mut second = begin(&store);
                let values = read(&mut second, &tree, (b"a", b"f"), WAIT).unwrap();
                done.send("read").unwrap();
                values
            });
            let both = waiters(&store, 2);
            assert_eq!(both.iter().filter(|waits| waits.1 == [writer_waits[0].0]).count(), 1, "{both:?}");
            // Who has what the writer waits for goes on: it would wait for itself.
            assert_eq!(read(&mut first, &tree, (b"a", b"f"), WAIT).unwrap(), b"abcde");
            // Who does not wait overtakes one that adds a record; who wants something else goes on.
            let mut third = begin(&store);
            let third_reads = read(&mut third, &tree, (b"a", b"f"), NOWAIT);
            if inserts {
                assert_eq!(third_reads.unwrap(), b"abcde");
            } else {
                assert!(
                    matches!(third_reads, Err(WriteError::Locked { holder }) if holder == writer_waits[0].0)
                );
                let locked = third.lock_current(&tree, b"c", LockMode::Shared, NOWAIT, |_| ());
                assert!(matches!(locked, Err(WriteError::Locked { .. })), "{locked:?}");
                let skipped = third.lock_current(&tree, b"b", LockMode::Shared, NOWAIT, |_| ());
                assert_eq!(skipped.unwrap(), Locked::Row(()));
            }
            third.rollback().unwrap();
            assert_eq!(read(&mut begin(&store), &tree, (b"d", b"f"), WAIT).unwrap(), b"de");
            first.commit().unwrap();
            writer.join().unwrap();
            let expected: &[u8] = if inserts { b"abcCde" } else { b"abCde" };
            assert_eq!(second.join().unwrap(), expected);
        });
        drop(done);
        assert_eq!(order.iter().collect::<Vec<_>>(), ["written", "read"]);
        assert_eq!((store.lock_waiters(), store.status().lock_bytes), (vec![], 0));
    }
}

#[test]
fn a_writer_that_gives_up_lets_readers_go_on() {
    let (store, tree) = fresh();
    let mut first = begin(&store);
    read(&mut first, &tree, (b"b", b"e"), WAIT).unwrap();
    let interrupt = store::Interrupt::new();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut txn = begin(&store);
            txn.set_interrupt(Some(std::sync::Arc::clone(&interrupt)));
            txn.update(&tree, b"c", b"C", WAIT)
        });
        waiters(&store, 1);
        let second = scope.spawn(|| read(&mut begin(&store), &tree, (b"a", b"f"), WAIT));
        waiters(&store, 2);
        interrupt.raise();
        assert!(matches!(writer.join().unwrap(), Err(WriteError::Interrupted)));
        assert_eq!(second.join().unwrap().unwrap(), b"abcde");
    });
    first.commit().unwrap();
    assert_eq!((store.lock_waiters(), store.status().lock_bytes), (vec![], 0));
}

#[test]
fn a_reader_that_has_waited_long_enough_overtakes_only_who_adds_a_record() {
    for inserts in [false, true] {
        let (world, store, tree) = fresh_world();
        let mut first = begin(&store);
        read(&mut first, &tree, (b"b", b"e"), WAIT).unwrap();
        let (done, order) = channel();
        std::thread::scope(|scope| {
            let writer = write(scope, &store, done, |txn| match inserts {
                true => txn.insert(&tree, b"cc", b"C", WAIT).map(|()| true),
                false => txn.update(&tree, b"c", b"C", WAIT),
            });
            waiters(&store, 1);
            if inserts {
                overtake(&store, &tree);
            }
            const LIMIT: LockWait = LockWait::Timeout(Duration::from_millis(5));
            let second = scope.spawn(|| read(&mut begin(&store), &tree, (b"a", b"f"), LIMIT));
            waiters(&store, 2);
            world.clock().advance(Duration::from_secs(1));
            let second = second.join().unwrap();
            if inserts {
                assert_eq!(second.unwrap(), b"abcde");
            } else {
                assert!(matches!(second, Err(WriteError::LockWaitTimeout { .. })), "{second:?}");
            }
            first.commit().unwrap();
            writer.join().unwrap();
        });
        assert_eq!(order.iter().collect::<Vec<_>>(), ["written"]);
        assert_eq!((store.lock_waiters(), store.status().lock_bytes), (vec![], 0));
    }
}

#[test]
fn a_scan_locks_what_lies_before_the_writer_it_waits_for() {
    // The second reader waits behind the writer and has locked the records before, one of which the first reader wants to change: a
    // deadlock, and the writer, who holds nothing, gives up.
    for backward in [false, true] {
        let (store, tree) = fresh();
        let mut first = begin(&store);
        read(&mut first, &tree, (b"a", b"g"), WAIT).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| begin(&store).update(&tree, b"c", b"C", WAIT));
            waiters(&store, 1);
            let second = scope.spawn(|| {
                let mut second = begin(&store);
                let mut range = ScanRange::between(b"a", b"g");
                range.direction =
                    if backward { store::Direction::Backward } else { store::Direction::Forward };
                let mut scan = second.lock_scan(&tree, &range, LockMode::Shared, WAIT);
                let mut values = Vec::new();
                while let Some((_, value)) = scan.next(&mut second).unwrap() {
                    values.extend_from_slice(value);
                }
                values
            });
            waiters(&store, 2);
            let change = if backward { b"e" } else { b"a" };
            assert!(first.update(&tree, change, b"X", WAIT).unwrap());
            assert!(matches!(writer.join().unwrap(), Err(WriteError::Deadlock { .. })));
            // It waited for the second reader, who ended without the writer.
            let expected: &[u8] = if backward { b"fedcba" } else { b"abcdef" };
            assert_eq!(second.join().unwrap(), expected);
            first.commit().unwrap();
        });
        assert_eq!((store.lock_waiters(), store.status().lock_bytes), (vec![], 0));
        assert_eq!(store.status().deadlocks, 1);
    }
}

#[test]
fn giving_way_to_who_adds_a_record_makes_no_deadlock() {
    // The second reader has row f locked, which the first one asks for while the second lets the writer go first.
    for first_asks_early in [false, true] {
        let (store, tree) = &fresh();
        let (done, order) = channel();
        let mut first = begin(store);
        let mut second = begin(store);
        let found = second.lock_current(tree, b"f", LockMode::Exclusive, NOWAIT, |_| ()).unwrap();
        assert_eq!(found, Locked::Row(()));
        read(&mut first, tree, (b"b", b"e"), WAIT).unwrap();
        std::thread::scope(|scope| {
            let writer =
                write(scope, store, done.clone(), |txn| txn.insert(tree, b"cc", b"C", WAIT).map(|()| true));
            waiters(store, 1);
            overtake(store, tree);
            let (ask, asks) = channel::<()>();
            let first = scope.spawn(move || {
                asks.recv().unwrap();
                let found = first.lock_current(tree, b"f", LockMode::Exclusive, WAIT, |_| ()).map(|_| ());
                first.commit().unwrap();
                found
            });
            if first_asks_early {
                ask.send(()).unwrap();
                waiters(store, 2);
            }
            let second = scope.spawn(move || {
                let values = read(&mut second, tree, (b"a", b"e"), WAIT);
                second.commit().unwrap();
                values
            });
            if !first_asks_early {
                waiters(store, 2);
                ask.send(()).unwrap();
            }
            assert_eq!(second.join().unwrap().unwrap(), b"abcd");
            first.join().unwrap().unwrap();
            writer.join().unwrap();
        });
        drop(done);
        assert_eq!(order.iter().collect::<Vec<_>>(), ["written"]);
        assert_eq!((store.last_deadlock(), store.status().deadlocks), (None, 0));
        assert_eq!((store.lock_waiters(), store.status().lock_bytes), (vec![], 0));
    }
}

#[test]
fn readers_without_end_do_not_keep_a_writer_waiting() {
    let (store, tree) = fresh();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = || {
            while !stop.load(Ordering::Relaxed) {
                let mut txn = begin(&store);
                read(&mut txn, &tree, (b"a", b"f"), WAIT).unwrap();
                // So that another one comes before it goes.
                std::thread::sleep(Duration::from_millis(1));
                txn.commit().unwrap();
            }
        };
        let readers = [(); 4].map(|()| scope.spawn(reader));
        for round in 0..20 {
            let mut txn = begin(&store);
            assert!(txn.update(&tree, b"c", &[round], WAIT).unwrap());
            txn.insert(&tree, &[b'd', round], b"new", WAIT).unwrap();
            txn.commit().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
    });
    assert_eq!((store.lock_waiters(), store.status().lock_bytes), (vec![], 0));
}
