//! Why a row could not be read, locked or written: as data, for whoever decides what the client sees.

use std::fmt;
use std::io;
use std::sync::Arc;

/// Why a row could not be read, locked or written.
#[derive(Clone, Debug)]
pub enum Error {
    /// Another row has this key. Undo the statement. Client sees 1062 (23000).
    DuplicateKey(Box<DuplicateKey>),
    /// A foreign key does not allow the change.
    ForeignKey(Box<ForeignKeyViolation>),
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
    /// A key is longer than the backend takes. 1071 (42000).
    KeyTooLong {
        /// Bytes of the longest.
        bytes_max: usize,
    },
    /// The AUTO_INCREMENT counter is at its end. 1467 (HY000).
    NumbersExhausted,
    /// A long value could not be read on its way into the table: why.
    LongValue(Arc<io::Error>),
    /// The table was dropped or rebuilt after the statement found it. 1412 (HY000), to be tried again.
    DefinitionChanged,
    /// The disk has no room for the log. 1021 (HY000).
    LogFull {
        /// What the log is called.
        what: &'static str,
    },
    /// The disk has no room. Nothing is lost. 1114 (HY000).
    DiskFull {
        /// Which file.
        what: &'static str,
    },
    /// The log keeps no more of one transaction's changes: it can only be rolled back. 1197 (HY000).
    TransactionTooLong,
    /// A page of a table is damaged. 1877 (HY000).
    DamagedTable {
        /// Its schema.
        schema: Arc<str>,
        /// Its name.
        table: Arc<str>,
    },
    /// A page of a secondary index is damaged. 1712 (HY000).
    DamagedIndex {
        /// The index's name.
        index: Arc<str>,
    },
    /// Whoever keeps the table failed in another way: why. 1030 (HY000).
    Storage(Box<str>),
    /// The server that keeps the table, or a trigger, refused, with MySQL's number.
    Server(Box<ServerError>),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateKey(key) => {
                write!(formatter, "Duplicate entry '{}' for key '{}'", key.value, key.key)
            }
            Self::ForeignKey(violation) => violation.fmt(formatter),
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
            Self::KeyTooLong { bytes_max } => {
                write!(formatter, "Specified key was too long; max key length is {bytes_max} bytes")
            }
            Self::NumbersExhausted => {
                formatter.write_str("Failed to read auto-increment value from storage engine")
            }
            Self::LongValue(error) => write!(formatter, "a long value cannot be read: {error}"),
            Self::DefinitionChanged => {
                formatter.write_str("Table definition has changed, please retry transaction")
            }
            Self::LogFull { what } | Self::DiskFull { what } => {
                write!(formatter, "no space left on the disk for {what}")
            }
            Self::TransactionTooLong => formatter.write_str("the transaction is too long for the log"),
            Self::DamagedTable { schema, table } => {
                write!(formatter, "a page of table {schema}.{table} is damaged")
            }
            Self::DamagedIndex { index } => write!(formatter, "a page of index {index} is damaged"),
            Self::Storage(why) => formatter.write_str(why),
            Self::Server(error) => formatter.write_str(&error.message),
        }
    }
}

impl std::error::Error for Error {}

impl From<ForeignKeyViolation> for Error {
    fn from(violation: ForeignKeyViolation) -> Self {
        Self::ForeignKey(Box::new(violation))
    }
}

/// What a server that keeps tables, or a trigger, answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerError {
    /// MySQL's number.
    pub number: u16,
    /// Its text.
    pub message: String,
}

/// Which key was there already.
#[derive(Clone, Debug)]
pub struct DuplicateKey {
    /// Ordinal of the index in the table.
    pub index: usize,
    /// The key in that index, as the backend knows it.
    pub entry: Vec<u8>,
    /// Locator of the row that had the key. Nothing is locked: see [`crate::Transaction::lock_duplicate`],
    /// [`crate::Transaction::keep_duplicate`].
    pub locator: Vec<u8>,
    /// The key's values as 1062 prints them, joined by `-`; not yet cut to 64 bytes.
    pub value: String,
    /// `table.index` as 1062 prints it.
    pub key: String,
}

/// Schema and name of the table at the other end of a violated foreign key: who may nothing on it is not told of the constraint.
pub type OtherTable = (String, String);

/// How a foreign key was violated. `constraint` is what MySQL prints between parentheses:
/// `` `schema`.`child`, CONSTRAINT `name` FOREIGN KEY (`x`) REFERENCES `parent` (`id`) ON DELETE CASCADE``.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ForeignKeyViolation {
    /// The row names a parent that is not there. 1452 (23000).
    NoParent {
        /// The constraint.
        constraint: String,
        /// The parent, if the backend knows it.
        parent: Option<OtherTable>,
    },
    /// Rows of a child stand in the way of a change of their parent. 1451 (23000).
    HasChildren {
        /// The constraint.
        constraint: String,
        /// The child, if the backend knows it.
        child: Option<OtherTable>,
    },
    /// ON UPDATE CASCADE or SET NULL would give a child's row a key that another one has. 1761 (23000).
    DuplicateInChild {
        /// Name of the parent.
        parent: String,
        /// The key's values.
        record: String,
        /// Name of the child.
        child: String,
        /// Name of its index.
        key: String,
    },
    /// A cascade of more levels than may be. 3008 (HY000).
    TooDeep {
        /// How many.
        levels_max: usize,
    },
}

impl ForeignKeyViolation {
    /// The table at the other end of the key.
    #[must_use]
    pub fn other_table(&self) -> Option<&OtherTable> {
        match self {
            Self::NoParent { parent: other, .. } | Self::HasChildren { child: other, .. } => other.as_ref(),
            Self::DuplicateInChild { .. } | Self::TooDeep { .. } => None,
        }
    }
}

impl fmt::Display for ForeignKeyViolation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoParent { constraint, .. } => write!(
                formatter,
                "Cannot add or update a child row: a foreign key constraint fails ({constraint})"
            ),
            Self::HasChildren { constraint, .. } => write!(
                formatter,
                "Cannot delete or update a parent row: a foreign key constraint fails ({constraint})"
            ),
            Self::DuplicateInChild { parent, record, child, key } => write!(
                formatter,
                "Foreign key constraint for table '{parent}', record '{record}' would lead to a duplicate entry in \
                 table '{child}', key '{key}'"
            ),
            Self::TooDeep { levels_max } => {
                write!(formatter, "Foreign key cascade delete/update exceeds max depth of {levels_max}.")
            }
        }
    }
}
