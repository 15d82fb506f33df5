//! Why a table's row could not be read or written.

use std::fmt;
use std::sync::Arc;

use access::{DuplicateKey, ForeignKeyViolation};
use store::StoreError;

/// Why a row could not be written or locked.
#[derive(Clone, Debug)]
pub enum WriteError {
    /// Another row has this key. Undo the statement. Client sees 1062 (23000).
    DuplicateKey(Box<DuplicateKey>),
    /// Chosen to break a deadlock; the whole transaction is undone, retry it. 1213 (40001).
    Deadlock,
    /// No row lock in time; only this statement is undone. 1205 (HY000).
    LockWaitTimeout,
    /// NOWAIT and the row is locked. 3572 (HY000).
    Locked,
    /// The statement was killed while waiting. 1317 (70100).
    Interrupted,
    /// The locks of all transactions take all the memory they may. 1206 (HY000).
    TooManyLocks,
    /// Too many wait already: no thread is left to wait for a lock. 1135.
    NoThread,
    /// `innodb_snapshot_isolation`: the row was changed after the transaction's snapshot. 1020 (HY000).
    ChangedSinceSnapshot,
    /// The keys of index `index` are longer than the store takes. 1071 (42000).
    KeyTooLong {
        /// Ordinal of the index.
        index: usize,
    },
    /// A foreign key does not allow the change.
    ForeignKey(Box<ForeignKeyViolation>),
    /// The AUTO_INCREMENT counter is at its end. 1467 (HY000).
    AutoIncrementExhausted,
    /// A long value could not be read on its way into the table: why.
    LongValue(Arc<std::io::Error>),
    /// The store failed.
    Store(StoreError),
}

impl fmt::Display for WriteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateKey(key) => {
                write!(formatter, "Duplicate entry '{}' for key '{}'", key.value, key.key)
            }
            Self::Deadlock => {
                formatter.write_str("Deadlock found when trying to get lock; try restarting transaction")
            }
            Self::LockWaitTimeout => {
                formatter.write_str("Lock wait timeout exceeded; try restarting transaction")
            }
            Self::Locked => formatter.write_str(
                "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.",
            ),
            Self::Interrupted => formatter.write_str("Query execution was interrupted"),
            Self::TooManyLocks => {
                formatter.write_str("The total number of locks exceeds the lock table size")
            }
            Self::NoThread => formatter.write_str("No thread to wait for a lock"),
            Self::ChangedSinceSnapshot => formatter.write_str("Record has changed since last read"),
            Self::KeyTooLong { .. } => {
                write!(
                    formatter,
                    "Specified key was too long; max key length is {} bytes",
                    store::KEY_BYTES_MAX
                )
            }
            Self::ForeignKey(violation) => violation.fmt(formatter),
            Self::AutoIncrementExhausted => {
                formatter.write_str("Failed to read auto-increment value from storage engine")
            }
            Self::LongValue(error) => write!(formatter, "a long value cannot be read: {error}"),
            Self::Store(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Turns the store's error of a write in `index` into ours; a duplicate is the caller's to describe.
#[cold]
pub(crate) fn from_store(error: store::WriteError, index: usize) -> WriteError {
    match error {
        store::WriteError::DuplicateKey => unreachable!("duplicates are handled where the key is known"),
        store::WriteError::Deadlock { .. } => WriteError::Deadlock,
        store::WriteError::LockWaitTimeout { .. } => WriteError::LockWaitTimeout,
        store::WriteError::Locked { .. } => WriteError::Locked,
        store::WriteError::Interrupted => WriteError::Interrupted,
        store::WriteError::TooManyLocks => WriteError::TooManyLocks,
        store::WriteError::NoThread => WriteError::NoThread,
        store::WriteError::ChangedSinceSnapshot => WriteError::ChangedSinceSnapshot,
        store::WriteError::TooLarge { .. } => WriteError::KeyTooLong { index },
        store::WriteError::Store(error) => WriteError::Store(error),
    }
}

/// The store's error as those who read and write through [`access`] know it. A tree that is gone was dropped or rebuilt after
/// the statement found its table.
#[cold]
#[must_use]
pub fn access_error(error: &StoreError) -> access::Error {
    use access::Error;
    match error {
        StoreError::TreeGone(_) => Error::DefinitionChanged,
        StoreError::DiskFull { what: StoreError::LOG } => Error::LogFull { what: StoreError::LOG },
        StoreError::DiskFull { what } => Error::DiskFull { what },
        StoreError::TransactionTooLong { .. } => Error::TransactionTooLong,
        StoreError::Corrupt { place: Some(place), .. } if place.names.len() >= 2 => match &*place.names {
            [_, _, index, ..] => Error::DamagedIndex { index: Arc::clone(index) },
            names => Error::DamagedTable { schema: Arc::clone(&names[0]), table: Arc::clone(&names[1]) },
        },
        error => Error::Storage(error.to_string().into()),
    }
}
