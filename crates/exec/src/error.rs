//! What a client sees of an error of those who keep tables: the one translation of [`access::Error`].
//!
//! Above this crate nobody looks into such an error to choose a number.

use access::{DuplicateKey, Error, ForeignKeyViolation};
use catalog::TableDefinition;
use service::error::{
    Code, ER_AUTOINC_READ_FAILED, ER_CHECKREAD, ER_DISK_FULL, ER_DUP_ENTRY, ER_DUP_ENTRY_WITH_KEY_NAME,
    ER_ERROR_ON_READ, ER_FK_DEPTH_EXCEEDED, ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO, ER_GET_ERRNO,
    ER_INDEX_CORRUPT, ER_INTERNAL_ERROR, ER_LOCK_DEADLOCK, ER_LOCK_NOWAIT, ER_LOCK_TABLE_FULL,
    ER_LOCK_WAIT_TIMEOUT, ER_NO_REFERENCED_ROW_2, ER_QUERY_INTERRUPTED, ER_RECORD_FILE_FULL,
    ER_ROW_IS_REFERENCED_2, ER_TABLE_CORRUPT, ER_TABLE_DEF_CHANGED, ER_TOO_LONG_KEY, ER_TRANS_CACHE_FULL,
    ER_UNKNOWN_ERROR, SqlError,
};

/// MySQL's number for an error of a storage engine that has no better one (HA_ERR_GENERIC).
const ENGINE_ERROR_GENERIC: u32 = 168;
/// The system's number for a full disk (ENOSPC).
const NO_SPACE: u32 = 28;

/// A row could not be read, locked or written. After a failed write (1030, MySQL's error of a storage engine) the store writes
/// nothing more until it is opened again; of a damaged page the error log has the place.
#[cold]
pub fn access_error(error: impl Into<Error>) -> Box<SqlError> {
    sql_error(&error.into())
}

/// As [`access_error`].
#[cold]
fn sql_error(error: &Error) -> Box<SqlError> {
    match error {
        Error::DuplicateKey(duplicate) => ER_DUP_ENTRY.saying(duplicate_text(duplicate)),
        Error::ForeignKey(violation) => foreign_key_error(violation),
        Error::Deadlock => ER_LOCK_DEADLOCK.bare(),
        Error::LockWaitTimeout => ER_LOCK_WAIT_TIMEOUT.bare(),
        Error::Locked => ER_LOCK_NOWAIT.bare(),
        Error::Interrupted => ER_QUERY_INTERRUPTED.bare(),
        Error::TooManyLocks => ER_LOCK_TABLE_FULL.bare(),
        Error::NoThread => SqlError::refused_wait(),
        Error::ChangedSinceSnapshot => ER_CHECKREAD.with(&[&""]),
        Error::KeyTooLong { bytes_max } => ER_TOO_LONG_KEY.with(&[bytes_max]),
        Error::NumbersExhausted => ER_AUTOINC_READ_FAILED.bare(),
        Error::LongValue(error) => {
            ER_ERROR_ON_READ.with(&[&"long data", &error.raw_os_error().unwrap_or(5), error])
        }
        Error::DefinitionChanged => ER_TABLE_DEF_CHANGED.bare(),
        Error::LogFull { what } => ER_DISK_FULL.with(&[what, &NO_SPACE, &"No space left on device"]),
        Error::DiskFull { what } => ER_RECORD_FILE_FULL.with(&[what]),
        Error::TransactionTooLong => ER_TRANS_CACHE_FULL.bare(),
        Error::DamagedTable { schema, table } => ER_TABLE_CORRUPT.with(&[schema, table]),
        Error::DamagedIndex { index } => ER_INDEX_CORRUPT.with(&[index]),
        Error::Storage(why) => ER_GET_ERRNO.with(&[&ENGINE_ERROR_GENERIC, why]),
        Error::Server(error) => coded(error.number, &error.message),
    }
}

/// A foreign key is violated, with all names.
#[cold]
pub(crate) fn foreign_key_error(violation: &ForeignKeyViolation) -> Box<SqlError> {
    let code = match violation {
        ForeignKeyViolation::NoParent { .. } => ER_NO_REFERENCED_ROW_2,
        ForeignKeyViolation::HasChildren { .. } => ER_ROW_IS_REFERENCED_2,
        ForeignKeyViolation::DuplicateInChild { .. } => ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO,
        ForeignKeyViolation::TooDeep { .. } => ER_FK_DEPTH_EXCEEDED,
    };
    code.saying(violation.to_string())
}

/// A row of this table could not be read, locked or written.
#[cold]
pub(crate) fn row_error(table: &TableDefinition, error: &Error) -> Box<SqlError> {
    match error {
        Error::ChangedSinceSnapshot => ER_CHECKREAD.with(&[&table.name]),
        Error::DiskFull { .. } | Error::LogFull { .. } => ER_RECORD_FILE_FULL.with(&[&table.name]),
        error => sql_error(error),
    }
}

/// 1062's text. MySQL cuts the value to 64 bytes, wherever they end.
pub(crate) fn duplicate_text(duplicate: &DuplicateKey) -> String {
    ER_DUP_ENTRY_WITH_KEY_NAME.message(&[&duplicate.value, &duplicate.key])
}

/// A broken expectation of the executor's own: fails the statement.
#[cold]
pub(crate) fn internal(what: &str) -> Box<SqlError> {
    ER_INTERNAL_ERROR.with(&[&what])
}

/// An error by number with its own text.
#[cold]
pub(crate) fn coded(number: u16, message: &str) -> Box<SqlError> {
    match Code::by_number(number) {
        Some(code) => code.saying(message),
        None => ER_UNKNOWN_ERROR.saying(message),
    }
}

/// 1436: a plan of more operators one above the other than the thread's stack has room for.
#[cold]
#[must_use]
pub fn stack_overrun() -> Box<SqlError> {
    service::error::ER_STACK_OVERRUN_NEED_MORE.saying(
        "Thread stack overrun:  the plan has too many operations one above the other.  Use fewer subqueries, joins or \
         derived tables in one statement.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duplicate(value: &str) -> String {
        let key = DuplicateKey {
            index: 0,
            entry: Vec::new(),
            locator: Vec::new(),
            value: value.into(),
            key: "t.k".into(),
        };
        access_error(Error::DuplicateKey(Box::new(key))).message
    }

    #[test]
    fn the_value_of_a_duplicate_is_cut_to_64_bytes() {
        assert_eq!(duplicate("5-x"), "Duplicate entry '5-x' for key 't.k'");
        let cut = |text: &str| format!("Duplicate entry '{text}' for key 't.k'");
        assert_eq!(duplicate(&"x".repeat(100)), cut(&"x".repeat(64)));
        assert_eq!(duplicate(&"é".repeat(100)), cut(&"é".repeat(32)));
        // MySQL sends the first half of the last character as well; a message here is whole text.
        assert_eq!(duplicate(&format!("x{}", "é".repeat(100))), cut(&format!("x{}", "é".repeat(31))));
    }

    #[test]
    fn a_tree_that_is_gone_is_a_definition_that_changed() {
        let error = access_error(Error::DefinitionChanged);
        assert_eq!((error.number, &error.state), (1412, b"HY000"));
        let error = access_error(Error::Storage("no free page frame: the buffer pool is too small".into()));
        assert_eq!(error.number, 1030);
        assert!(error.message.starts_with("Got error 168 - 'no free page frame"), "{}", error.message);
    }
}
