//! What can go wrong, one enum per boundary: opening, any operation, a write.

use crate::ids::{TreeId, TxnId};
use std::sync::Arc;

/// A tree, and what the layer above calls it ([`crate::Tree::set_names`]).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TreePlace {
    /// The tree.
    pub tree: TreeId,
    /// Its names, from the outermost; empty if nobody gave it any.
    pub names: Arc<[Arc<str>]>,
}

/// Why an operation could not be done. The transaction should be rolled back.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// A write or sync failed earlier: memory and disk may disagree, so nothing more is written until the store is opened
    /// again.
    #[error("the store stopped: {why}")]
    Stopped {
        /// What failed first.
        why: Arc<str>,
    },
    /// Reading the file failed.
    #[error("reading {what} failed: {why}")]
    Read {
        /// Which part.
        what: Arc<str>,
        /// What the system said.
        why: Arc<str>,
    },
    /// What was read is not what was written: a checksum, a number or a structure is wrong.
    #[error("{what} is damaged: {why}")]
    Corrupt {
        /// Which part.
        what: Arc<str>,
        /// What is wrong with it.
        why: Arc<str>,
        /// The tree it was met in, if by a page of one.
        place: Option<Arc<TreePlace>>,
    },
    /// A file that only serves while the store is open could not be used. Nothing is lost, and the store goes on.
    #[error("{doing} the file for old versions failed: {why}")]
    UndoFile {
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        why: Arc<str>,
    },
    /// The disk has no space. Nothing is lost, reads continue, and so do writes when there is space again.
    #[error("no space left on the disk for {what}")]
    DiskFull {
        /// Which file: `data`, `undo.tmp`, or [`StoreError::LOG`].
        what: &'static str,
    },
    /// The transaction's changes go back further in the log than it keeps for one ([`crate::wal::LogOptions`]'s
    /// `transaction_span_bytes_max`). It can only be rolled back; the store goes on. Client sees 1197.
    #[error(
        "the log has grown by more than {span_bytes_max} bytes since the transaction's first changes went there"
    )]
    TransactionTooLong {
        /// The limit.
        span_bytes_max: u64,
    },
    /// The tree was never made or was dropped.
    #[error("tree {0} does not exist")]
    TreeGone(TreeId),
    /// One of the limits of `docs/limits.md` was reached.
    #[error("limit reached: {0}")]
    Limit(&'static str),
    /// The pool's pages are all in use and cannot be written out.
    #[error("no free page frame: the buffer pool is too small for what runs at once")]
    PoolExhausted,
}

impl StoreError {
    /// What the log is called in [`StoreError::DiskFull`].
    pub const LOG: &'static str = "log";

    #[cold]
    pub(crate) fn corrupt(what: impl AsRef<str>, why: impl AsRef<str>) -> StoreError {
        StoreError::Corrupt { what: what.as_ref().into(), why: why.as_ref().into(), place: None }
    }

    #[cold]
    pub(crate) fn read(what: impl AsRef<str>, error: &std::io::Error) -> StoreError {
        StoreError::Read { what: what.as_ref().into(), why: error.to_string().into() }
    }
}

/// Why a row could not be written or locked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    /// A live row has this key. Undo the statement. Client sees 1062.
    #[error("duplicate key")]
    DuplicateKey,
    /// Waiting would never end: a cycle of transactions waits for each other. Roll the whole transaction back. 1213.
    #[error("deadlock while waiting for transaction {waiting_for}")]
    Deadlock {
        /// Who holds the lock.
        waiting_for: TxnId,
    },
    /// The lock was not given in time. Undo the statement. 1205.
    #[error("lock wait timeout after {waited_ms} ms")]
    LockWaitTimeout {
        /// How long it waited.
        waited_ms: u64,
    },
    /// Another transaction holds the lock and the caller did not want to wait. 3572.
    #[error("locked by transaction {holder}")]
    Locked {
        /// Its holder.
        holder: TxnId,
    },
    /// The wait was broken off through [`crate::Interrupt`]. 1317.
    #[error("interrupted")]
    Interrupted,
    /// Key or record longer than [`crate::KEY_BYTES_MAX`], [`crate::RECORD_BYTES_MAX`].
    #[error("record too large: key {key_bytes}, value {value_bytes} bytes")]
    TooLarge {
        /// The key's length.
        key_bytes: usize,
        /// The value's length.
        value_bytes: usize,
    },
    /// The locks of all transactions take all the memory they may (`LOCK_BYTES_MAX`). 1206.
    #[error("too many locks")]
    TooManyLocks,
    /// Too many wait already for the server's threads: the lock was not waited for (`env::blocking::try_enter`). 1135.
    #[error("no thread to wait for a lock")]
    NoThread,
    /// The row was changed after the transaction's snapshot, and it asked for that not to be overwritten. 1020.
    #[error("changed since the snapshot")]
    ChangedSinceSnapshot,
    /// Not about this row.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a store could not be opened. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process (or another store in this one) uses the folder.
    #[error("the data folder {folder} is in use by another server")]
    InUse {
        /// Where.
        folder: String,
    },
    /// Written by a newer version of this program.
    #[error("the data folder has format {found}, this program reads up to {supported}")]
    NewerFormat {
        /// What the folder says.
        found: u32,
        /// What this program can read.
        supported: u32,
    },
    /// The system refused.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The content makes no sense.
    #[error(transparent)]
    Store(#[from] StoreError),
}
