//! Transactional ordered bytes: trees of records, each a key and a value, read through snapshots and changed by
//! transactions.
//!
//! The store knows neither tables nor types. It guarantees:
//! - A commit is atomic, also across a crash at any moment. It is durable once its position is durable
//!   ([`Store::durable_position`]).
//! - A [`ReadView`] sees exactly the commits up to one position, however long it lives, and never waits for a writer.
//! - A write works on the newest version of a record under its row lock and waits for the transaction that holds that
//!   lock. Deadlocks are detected as soon as they arise.
//! - After a failed write or sync nothing more is written until the store is opened again.
//!
//! ```text
//! txn          begin, insert, update, delete, lock, savepoints, commit, rollback      read        get, scan, estimate
//! lock         lock table, key ranges, wait-for graph     mvcc        version visibility: transaction ids, snapshots, undo
//! btree        ordered records in pages                   store       checkpoint, purge, space, throttling; recovery
//! pager        buffer pool and data file                  wal         redo log: append, flush, replay
//! ```
//!
//! The life of a page: a record is changed in a frame of the buffer pool (`pager`) under its leaf's latch (`btree`).
//! Its old version goes to the undo (`mvcc`), the change to the transaction's log buffer (`txn`). The commit appends
//! that buffer to the log (`wal`). Later a checkpoint writes the page to a free block of the data file (`store`).
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
mod checkpoint_latch;
mod commit_observer;
mod error;
#[cfg(test)]
mod formats;
mod ids;
#[cfg(all(test, feature = "interleave"))]
mod interleaved_tests;
mod lock;
mod lock_list;
mod mvcc;
mod oplog;
mod pager;
#[cfg(not(feature = "planted-bugs"))]
mod planted;
#[cfg(feature = "planted-bugs")]
pub mod planted;
mod read;
mod recovery;
mod sample;
mod store;
mod sync;
mod thread_number;
mod trees;
mod txn;
pub mod wal;

pub use btree::node::{KEY_BYTES_MAX, RECORD_BYTES_MAX};
pub use commit_observer::CommitObserver;
pub use error::{OpenError, StoreError, TreePlace, WriteError};
pub use ids::{CommitPosition, Csn, PageId, TreeId, TxnId};
pub use lock::{Deadlock, DeadlockMember, Interrupt, LockMode, LockWait, LockWaiter};
pub use lock_list::{HeldLock, LockTarget, RunningTransaction};
pub use mvcc::Reader;
pub use pager::frame::PAGE_BYTES;
pub use read::{Direction, Scan, ScanRange};
pub use recovery::check::{Damage, FileReport, check_files};
pub use sample::LeafDraw;
pub use store::{DamageListener, LOG_CAPACITY_BYTES, Options, ReadView, Status, Store};
pub use thread_number::number_thread;
pub use trees::Tree;
pub use txn::{LockMark, LockScan, Locked, Savepoint, Transaction};
