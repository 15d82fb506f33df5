//! Transactional ordered bytes: pages, trees, versions, locks, log, checkpoint, recovery.

mod btree;
mod error;
mod ids;
mod lock;
mod mvcc;
mod pager;
mod trees;
pub mod wal;

pub use btree::node::{KEY_BYTES_MAX, RECORD_BYTES_MAX};
pub use error::{OpenError, StoreError, WriteError};
pub use ids::*;
pub use lock::{Interrupt, LockMode, LockWait};
pub use mvcc::Reader;
pub use trees::Tree;
