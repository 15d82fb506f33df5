//! Many threads at once over a pool smaller than the data: money is neither made nor lost, the index agrees with the rows.

use env::random::Rng;
use env::simulated::SimWorld;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use store::wal::LogOptions;
use store::{
    Direction, LockMode, LockWait, Locked, Options, Reader, ScanRange, Store, StoreError, Transaction, Tree,
    TreeId, WriteError,
};

const ACCOUNTS: u64 = 3000;
const START: u64 = 1000;
const WAIT: LockWait = LockWait::Timeout(Duration::from_secs(100));

fn options() -> Options {
    let log = LogOptions { segment_bytes: 1 << 20, ..LogOptions::default() };
    Options {
        background_threads: false,
        buffer_pool_bytes: 1 << 20,
        log,
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    }
}

struct Bank {
    store: Store,
    rows: Tree,
    index: Tree,
}

fn key(account: u64) -> [u8; 8] {
    account.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn value(balance: u64, filler: usize) -> Vec<u8> {
    [&balance.to_be_bytes()[..], &vec![balance as u8; 100 + filler]].concat()
}

fn balance(value: &[u8]) -> u64 {
    let balance = u64::from_be_bytes(value[..8].try_into().unwrap());
    assert!(value[8..].iter().all(|&byte| byte == balance as u8));
    balance
}

fn index_key(balance: u64, key: &[u8]) -> Vec<u8> {
    [&balance.to_be_bytes()[..], key].concat()
}

impl Bank {
    fn open(world: &SimWorld) -> Bank {
        let store = Store::open(world.env(), Path::new("/data"), options()).unwrap();
        let rows = store.tree(TreeId(2)).unwrap();
        let index = store.tree(TreeId(3)).unwrap();
        Bank { store, rows, index }
    }

    fn fill(&self) {
        let mut txn = self.store.begin();
        for account in 0..ACCOUNTS {
            txn.insert(&self.rows, &key(account), &value(START, 0), WAIT).unwrap();
            txn.insert(&self.index, &index_key(START, &key(account)), b"", WAIT).unwrap();
        }
        let position = txn.commit().unwrap().unwrap();
        self.store.sync_to(position).unwrap();
    }

    fn change(
        &self,
        txn: &mut Transaction,
        account: u64,
        by: i64,
        random: &mut Rng,
    ) -> Result<bool, WriteError> {
        let key = key(account);
        let found = txn.lock_current(&self.rows, &key, LockMode::Exclusive, WAIT, balance)?;
        let Locked::Row(old) = found else { return Ok(false) };
        let Some(new) = old.checked_add_signed(by) else { return Ok(false) };
        assert!(txn.update(&self.rows, &key, &value(new, random.below(80) as usize), WAIT)?);
        assert!(txn.delete(&self.index, &index_key(old, &key), WAIT)?);
        txn.insert(&self.index, &index_key(new, &key), b"", WAIT)?;
        Ok(true)
    }

    /// Moves money; sometimes closes an account into another, or opens it again.
    fn transfer(&self, random: &mut Rng) -> Result<(), WriteError> {
        let mut txn = self.store.begin();
        // Every other transfer is between a few hot accounts, so that writers meet.
        let end = if random.below(2) == 0 { 12 } else { ACCOUNTS };
        let (from, to) = (random.below(end), random.below(end));
        let amount = random.below(50) as i64;
        if random.below(10) == 0 {
            // A detour that is rolled back.
            let savepoint = txn.savepoint();
            self.change(&mut txn, to, 77, random)?;
            txn.rollback_to(&savepoint)?;
        }
        let moved =
            self.change(&mut txn, from, -amount, random)? && self.change(&mut txn, to, amount, random)?;
        if !moved || random.below(8) == 0 {
            txn.rollback()?;
            return Ok(());
        }
        let position = txn.commit()?.unwrap();
        if random.below(4) == 0 {
            self.store.sync_to(position)?;
        }
        Ok(())
    }

    fn check(&self, reader: Reader<'_>, direction: Direction) -> Result<(), StoreError> {
        let range = ScanRange { direction, ..ScanRange::all() };
        let mut balances = BTreeMap::new();
        self.store.scan(&self.rows, &range).for_each(reader, |key, value| {
            assert!(balances.insert(key.to_vec(), balance(value)).is_none());
            ControlFlow::Continue(())
        })?;
        assert_eq!(balances.len() as u64, ACCOUNTS);
        assert_eq!(balances.values().sum::<u64>(), ACCOUNTS * START);
        let mut entries = 0;
        self.store.scan(&self.index, &range).for_each(reader, |entry, _| {
            let (balance, key) = entry.split_at(8);
            assert_eq!(balances[key].to_be_bytes(), balance);
            entries += 1;
            ControlFlow::Continue(())
        })?;
        assert_eq!(entries, ACCOUNTS);
        Ok(())
    }
}

#[test]
fn money_stays_under_threads_checkpoints_purge_and_eviction() {
    let world = SimWorld::new(11);
    let bank = Bank::open(&world);
    bank.fill();
    let ended = AtomicBool::new(false);
    let (transfers, deadlocks) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (bank, ended, transfers, deadlocks) = (&bank, &ended, &transfers, &deadlocks);
        let writers: Vec<_> = (1..=4u64)
            .map(|seed| {
                scope.spawn(move || {
                    let mut random = Rng::new(seed * 0x1234_5678_9ABC);
                    for _ in 0..2500 {
                        match bank.transfer(&mut random) {
                            Ok(()) => transfers.fetch_add(1, Ordering::Relaxed),
                            Err(WriteError::Deadlock { .. }) => deadlocks.fetch_add(1, Ordering::Relaxed),
                            Err(error) => panic!("{error}"),
                        };
                    }
                })
            })
            .collect();
        for direction in [Direction::Forward, Direction::Backward] {
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    let view = bank.store.read_view();
                    for _ in 0..3 {
                        bank.check(view.reader(), direction).unwrap();
                    }
                }
            });
        }
        scope.spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                bank.store.purge_tick().unwrap();
                bank.store.checkpoint_now().unwrap();
                std::thread::yield_now();
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert!(transfers.load(Ordering::Relaxed) > 5000, "{deadlocks:?} deadlocks");
    while bank.store.purge_tick().unwrap() {}
    bank.store.check().unwrap();
    assert_eq!(bank.rows.record_count(), ACCOUNTS);
    assert_eq!(bank.index.record_count(), ACCOUNTS);
    let status = bank.store.status();
    assert!(status.pages_evicted > 0 && status.checkpoints > 3, "{status:?}");
    assert_eq!(status.unpurged_transactions, 0);
    bank.store.sync_to(bank.store.newest_position()).unwrap();
    let before = bank.store.newest_position();
    drop(bank);
    let bank = Bank::open(&world.crash());
    assert_eq!(bank.store.newest_position(), before);
    bank.check(bank.store.read_view().reader(), Direction::Forward).unwrap();
    assert_eq!(bank.index.record_count(), ACCOUNTS);
    bank.store.check().unwrap();
}

#[test]
fn a_crash_in_the_middle_of_everything_keeps_the_sum() {
    for seed in 0..8 {
        let mut world = SimWorld::new(seed);
        let bank = Bank::open(&world);
        bank.fill();
        drop(bank);
        for round in 0..3 {
            let bank = Bank::open(&world);
            std::thread::scope(|scope| {
                for thread in 1..=3u64 {
                    let bank = &bank;
                    scope.spawn(move || {
                        let mut random = Rng::new((seed + 1) * 7919 + round * 31 + thread);
                        for step in 0..150 {
                            match bank.transfer(&mut random) {
                                Ok(()) | Err(WriteError::Deadlock { .. }) => {}
                                Err(error) => panic!("{error}"),
                            }
                            if step % 50 == thread * 10 {
                                bank.store.checkpoint_now().unwrap();
                            }
                        }
                    });
                }
            });
            // What was not synced may be lost; what is left is whole.
            world = world.crash();
            let bank = Bank::open(&world);
            bank.check(bank.store.read_view().reader(), Direction::Backward).unwrap();
            bank.store.check().unwrap();
        }
    }
}

#[test]
fn waiters_get_a_hot_row_one_after_the_other() {
    let store = Store::open(SimWorld::new(4).env(), Path::new("/data"), options()).unwrap();
    let tree = store.tree(TreeId(2)).unwrap();
    let mut txn = store.begin();
    txn.put(&tree, b"hot", &0u64.to_be_bytes(), WAIT).unwrap();
    txn.commit().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (store, tree) = (&store, &tree);
            scope.spawn(move || {
                for _ in 0..300 {
                    let mut txn = store.begin();
                    let mode = if thread == 0 { LockMode::Shared } else { LockMode::Exclusive };
                    let locked = txn.lock_current(tree, b"hot", mode, WAIT, |value| {
                        u64::from_be_bytes(value.try_into().unwrap())
                    });
                    let Locked::Row(count) = locked.unwrap() else { panic!("the row is there") };
                    if mode == LockMode::Exclusive {
                        txn.update(tree, b"hot", &(count + 1).to_be_bytes(), WAIT).unwrap();
                    }
                    txn.commit().unwrap();
                }
            });
        }
    });
    let view = store.read_view();
    let count =
        store.get(&tree, b"hot", view.reader(), |value| u64::from_be_bytes(value.try_into().unwrap()));
    assert_eq!(count.unwrap(), Some(1500));
}

#[test]
fn inserts_of_one_key_wait_for_the_outcome() {
    let store = Store::open(SimWorld::new(4).env(), Path::new("/data"), options()).unwrap();
    let tree = store.tree(TreeId(2)).unwrap();
    let (inserted, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (store, tree, inserted, refused) = (&store, &tree, &inserted, &refused);
            scope.spawn(move || {
                for key in 0..400u64 {
                    let mut txn = store.begin();
                    match txn.insert(tree, &key.to_be_bytes(), b"x", WAIT) {
                        Ok(()) if (key + thread) % 4 == 0 => txn.rollback().unwrap(),
                        Ok(()) => {
                            txn.commit().unwrap();
                            inserted.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(WriteError::DuplicateKey) => {
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(inserted.into_inner(), 400);
    assert_eq!(tree.record_count(), 400);
}

#[test]
fn a_check_beside_writers_finds_no_damage() {
    // In 64 frames three writers can take every frame that a checkpoint makes clean before the check gets one, as often as it
    // tries.
    let options = Options { buffer_pool_bytes: 4 << 20, ..options() };
    let store = Store::open(SimWorld::new(5).env(), Path::new("/data"), options).unwrap();
    let tree = store.tree(TreeId(2)).unwrap();
    let (writing, checks) = (AtomicU64::new(3), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (store, tree, writing, checks) = (&store, &tree, &writing, &checks);
        for thread in 1..=3u64 {
            scope.spawn(move || {
                let mut random = Rng::new(thread * 0x9E37_79B9);
                for _ in 0..2500 {
                    let mut txn = store.begin();
                    for _ in 0..4 {
                        let key = random.below(6000).to_be_bytes();
                        // Long values: few records to a leaf, so that it splits and merges often.
                        let done = match random.below(3) {
                            0 => txn.delete(tree, &key, WAIT).map(drop),
                            _ => txn.put(tree, &key, &[7; 900], WAIT).map(drop),
                        };
                        match done {
                            Ok(()) => {}
                            Err(WriteError::Deadlock { .. }) => break,
                            Err(error) => panic!("{error}"),
                        }
                    }
                    txn.commit().unwrap();
                }
                writing.fetch_sub(1, Ordering::Relaxed);
            });
        }
        scope.spawn(move || {
            while writing.load(Ordering::Relaxed) > 0 {
                store.check_tree(tree).unwrap();
                checks.fetch_add(1, Ordering::Relaxed);
                store.purge_tick().unwrap();
            }
        });
    });
    assert!(checks.into_inner() > 0);
    assert!(store.status().page_count > 200, "the tree grew and split");
}
