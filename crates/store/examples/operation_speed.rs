//! Nanoseconds per operation of the store, on this machine, now: `cargo run --release -p store --example operation_speed -- FOLDER [ROWS]`.
//!
//! The folder is made and must not hold a store yet. Two figures each: CPU time of the process per operation, which a busy
//! machine disturbs little, and operations per second of wall time, which it disturbs much.

use env::clock::Clock;
use env::random::Rng;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{LockWait, Options, ScanRange, Store, Tree, TreeId};

const VALUE_BYTES: usize = 180;

/// User and system time of this process, background threads included, in nanoseconds; counted in hundredths of a second.
fn cpu_nanos() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = stat.rsplit_once(')').expect("a name").1;
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse::<u64>().expect("ticks"))
        .sum();
    ticks as f64 * 1e7
}

fn measure(clock: &dyn Clock, name: &str, threads: usize, per_thread: u64, work: impl Fn(usize, u64) + Sync) {
    let (began, cpu_began) = (clock.now(), cpu_nanos());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let work = &work;
            scope.spawn(move || work(thread, per_thread));
        }
    });
    let nanos = clock.now().since(began).as_nanos() as f64;
    let count = (per_thread * threads as u64) as f64;
    let cpu = (cpu_nanos() - cpu_began) / count;
    println!("{name:42} {threads:3} threads {cpu:10.0} ns CPU each {:10.0} /s", count * 1e9 / nanos);
}

fn fill(store: &Store, tree: &Tree, rows: u64) {
    let value = [7; VALUE_BYTES];
    for batch in 0..rows.div_ceil(1000) {
        let mut txn = store.begin();
        for row in batch * 1000..((batch + 1) * 1000).min(rows) {
            txn.insert(tree, &row.to_be_bytes(), &value, LockWait::Nowait).expect("insert");
        }
        txn.commit().expect("commit");
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().expect("a folder"));
    let rows: u64 = arguments.next().map_or(1_000_000, |rows| rows.parse().expect("a number of rows"));
    let env = env::Env::real();
    let clock = &*env.clock;
    let options = Options { buffer_pool_bytes: 1 << 30, ..Options::default() };
    let store = Store::open(&env, &folder, options).expect("open");
    let tree = store.tree(TreeId(2)).expect("tree");
    let wait = LockWait::Nowait;

    measure(clock, "insert in order, 1000 a commit, no sync", 1, rows, |_, rows| fill(&store, &tree, rows));
    store.sync_to(store.newest_position()).expect("sync");
    measure(clock, "checkpoint of all that", 1, 1, |_, _| store.checkpoint_now().expect("checkpoint"));

    for threads in [1, 2, 4, 16] {
        measure(clock, "get, own snapshot each", threads, 1_000_000, |thread, count| {
            let mut random = Rng::new(thread as u64 * 7919 + 1);
            let mut view = store.parked_view();
            let mut bytes = 0;
            for _ in 0..count {
                view.refresh();
                let key = random.below(rows).to_be_bytes();
                bytes += store.get(&tree, &key, view.reader(), <[u8]>::len).expect("get").expect("found");
                view.park();
            }
            assert_eq!(bytes, count as usize * VALUE_BYTES);
        });
    }
    measure(clock, "get_many of 64, per key", 1, 1_000_000, |_, count| {
        let mut random = Rng::new(99);
        let view = store.read_view();
        let mut found = 0;
        for _ in 0..count / 64 {
            let keys: Vec<[u8; 8]> = (0..64).map(|_| random.below(rows).to_be_bytes()).collect();
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            store
                .get_many(&tree, &keys, view.reader(), |_, value| found += usize::from(value.is_some()))
                .expect("get");
        }
        assert_eq!(found as u64, count / 64 * 64);
    });
    measure(clock, "scan, per row", 1, rows, |_, rows| {
        let view = store.read_view();
        let (mut count, mut sum) = (0, 0u64);
        let row = |_: &[u8], value: &[u8]| {
            count += 1;
            sum += u64::from(value[100]);
            ControlFlow::Continue(())
        };
        store.scan(&tree, &ScanRange::all()).for_each(view.reader(), row).expect("scan");
        assert_eq!((count, sum), (rows, rows * 7));
    });
    measure(clock, "scan of 100 rows, per scan", 1, 100_000, |_, scans| {
        let mut random = Rng::new(5);
        let view = store.read_view();
        for _ in 0..scans {
            let from = random.below(rows - 100);
            let (from, to) = (from.to_be_bytes(), (from + 100).to_be_bytes());
            let mut count = 0;
            let row = |_: &[u8], _: &[u8]| {
                count += 1;
                ControlFlow::Continue(())
            };
            store.scan(&tree, &ScanRange::between(&from, &to)).for_each(view.reader(), row).expect("scan");
            assert_eq!(count, 100);
        }
    });
    let next = AtomicU64::new(rows);
    for threads in [1, 2, 4] {
        measure(clock, "insert + commit, no sync", threads, 300_000, |_, count| {
            for _ in 0..count {
                let mut txn = store.begin();
                let key = next.fetch_add(1, Ordering::Relaxed).to_be_bytes();
                txn.insert(&tree, &key, &[9; VALUE_BYTES], wait).expect("insert");
                txn.commit().expect("commit");
            }
        });
    }
    let unordered = store.tree(TreeId(3)).expect("tree");
    measure(clock, "insert of a random key + commit, no sync", 1, 300_000, |_, count| {
        let mut random = Rng::new(3);
        for _ in 0..count {
            let mut txn = store.begin();
            txn.put(&unordered, &random.below(u64::MAX).to_be_bytes(), &[9; VALUE_BYTES], wait).expect("put");
            txn.commit().expect("commit");
        }
    });
    for threads in [1, 2, 4] {
        measure(clock, "lock, update, commit, no sync", threads, 200_000, |thread, count| {
            let mut random = Rng::new(thread as u64 * 31 + 17);
            let mut value = [7; VALUE_BYTES];
            for number in 0..count {
                let key = (random.below(rows / 4) * 4 + thread as u64).to_be_bytes();
                let mut txn = store.begin();
                txn.lock_current(&tree, &key, store::LockMode::Exclusive, wait, <[u8]>::len).expect("lock");
                value[50] = number as u8;
                txn.update(&tree, &key, &value, wait).expect("update");
                txn.commit().expect("commit");
            }
        });
    }
    for threads in [1, 4, 16] {
        measure(clock, "insert + durable commit", threads, 20_000 / threads as u64, |_, count| {
            for _ in 0..count {
                let mut txn = store.begin();
                let key = next.fetch_add(1, Ordering::Relaxed).to_be_bytes();
                txn.insert(&tree, &key, &[9; VALUE_BYTES], wait).expect("insert");
                let position = txn.commit().expect("commit").expect("it wrote");
                store.sync_to(position).expect("sync");
            }
        });
    }
    println!("{:#?}", store.status());
    measure(clock, "close", 1, 1, |_, _| store.close().expect("close"));
}
