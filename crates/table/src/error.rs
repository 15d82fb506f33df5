//! Why a table's row could not be read or written.

use std::fmt;
use std::sync::Arc;

use access::Error;
use store::StoreError;

/// Why a row could not be written or locked: [`access::Error`], or an error of the store, which keeps its details.
#[derive(Clone, Debug)]
pub enum WriteError {
    /// The row cannot be written or locked; nothing is wrong with the store.
    Access(Error),
    /// The store failed.
    Store(StoreError),
}

impl fmt::Display for WriteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Access(error) => error.fmt(formatter),
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

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        Self::Access(error)
    }
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Access(error) => error,
            WriteError::Store(error) => access_error(&error),
        }
    }
}

/// Turns the store's error of a write into ours; a duplicate is the caller's to describe.
#[cold]
pub(crate) fn from_store(error: store::WriteError) -> WriteError {
    WriteError::Access(match error {
        store::WriteError::DuplicateKey => unreachable!("duplicates are handled where the key is known"),
        store::WriteError::Deadlock { .. } => Error::Deadlock,
        store::WriteError::LockWaitTimeout { .. } => Error::LockWaitTimeout,
        store::WriteError::Locked { .. } => Error::Locked,
        store::WriteError::Interrupted => Error::Interrupted,
        store::WriteError::TooManyLocks => Error::TooManyLocks,
        store::WriteError::NoThread => Error::NoThread,
        store::WriteError::ChangedSinceSnapshot => Error::ChangedSinceSnapshot,
        store::WriteError::TooLarge { .. } => Error::KeyTooLong { bytes_max: store::KEY_BYTES_MAX },
        store::WriteError::Store(error) => return WriteError::Store(error),
    })
}

/// The store's error as those who read and write through [`access`] know it. A tree that is gone was dropped or rebuilt after
/// the statement found its table.
#[cold]
#[must_use]
pub fn access_error(error: &StoreError) -> Error {
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
