//! Transactional ordered bytes: trees of records, each a key and a value, read in snapshots and changed in transactions.
//!
//! The store knows neither tables nor types. It promises:
//! - A commit is there whole or not at all, also after a crash at any moment; it is there for certain once its position is
//!   durable ([`Store::durable_position`]).
//! - A [`ReadView`] sees exactly the commits up to one position, however long it lives, and never waits for a writer.
//! - A write works on the newest version of a record under its row lock, waiting for whoever has it; circles of waiters are
//!   found at once.
//! - After a failed write or sync nothing more is written until the store is opened again.
//!
//! ```text
//! txn          begin, insert, update, delete, lock, savepoints, commit, rollback      read   get, scan, estimate
//! lock         who waits for whom                mvcc      which version a reader sees: stamps, snapshots, undo
//! btree        ordered records in pages          upkeep    purge, checkpoint, recovery
//! pager        pages in memory and in the file   wal       the log: append, flush, replay
//! ```
//!
//! One page's way: a record is changed in a frame of the pool (`pager`), under its leaf's latch (`btree`), its old version
//! goes to the undo (`mvcc`), the change to the transaction's buffer (`txn`); the commit appends that buffer to the log
//! (`wal`); some time later a checkpoint writes the page to a block nothing else uses (`upkeep`).
//!
//! # Example
//! ```
//! use store::{LockWait, Options, ScanRange, Store, TreeId};
//! use std::ops::ControlFlow;
//! use std::path::Path;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let world = env::simulated::SimWorld::new(1);
//! let options = Options { background_threads: false, ..Options::default() };
//! let store = Store::open(world.env(), Path::new("/data"), options)?;
//! let tree = store.tree(TreeId::DICTIONARY)?;
//! let mut txn = store.begin();
//! txn.insert(&tree, b"one", b"1", LockWait::Nowait)?;
//! txn.insert(&tree, b"two", b"2", LockWait::Nowait)?;
//! let position = txn.commit()?.expect("it wrote something");
//! store.sync_to(position)?;
//!
//! let view = store.read_view();
//! assert_eq!(store.get(&tree, b"two", view.reader(), |value| value.to_vec())?, Some(b"2".to_vec()));
//! let mut keys = Vec::new();
//! let mut scan = store.scan(&tree, &ScanRange::all());
//! scan.for_each(view.reader(), |key, _| {
//!     keys.push(key.to_vec());
//!     ControlFlow::Continue(())
//! })?;
//! assert_eq!(keys, [b"one", b"two"]);
//! # Ok(())
//! # }
//! ```

mod btree;
mod error;
#[cfg(test)]
mod formats;
mod gate;
mod ids;
#[cfg(all(test, feature = "interleave"))]
mod interleaved_tests;
mod lock;
mod mvcc;
mod oplog;
mod pager;
#[cfg(not(feature = "planted-bugs"))]
mod planted;
#[cfg(feature = "planted-bugs")]
pub mod planted;
mod read;
mod store;
mod sync;
mod trees;
mod txn;
mod upkeep;
pub mod wal;

pub use btree::node::{KEY_BYTES_MAX, RECORD_BYTES_MAX};
pub use error::{OpenError, StoreError, TreePlace, WriteError};
pub use ids::{CommitPosition, Csn, PageId, TreeId, TxnId};
pub use lock::{
    Deadlock, DeadlockMember, HeldLock, Interrupt, LockMode, LockTarget, LockWait, LockWaiter,
    RunningTransaction,
};
pub use mvcc::Reader;
pub use mvcc::snapshots::number_thread;
pub use pager::frame::PAGE_BYTES;
pub use read::{Direction, Scan, ScanRange};
pub use store::{DamageListener, LOG_CAPACITY_BYTES, Options, ReadView, Status, Store};
pub use trees::Tree;
pub use txn::{LockMark, LockScan, Locked, Savepoint, Transaction};
pub use upkeep::check::{DAMAGES_TOLD_MAX, Damage, FileReport, check_files};
