//! What a client sees of an error from below: the one translation of the store's and the tables' errors.
//!
//! Above this crate nobody looks into a [`StoreError`] or a [`WriteError`] to choose a number.

use std::borrow::Borrow;

use service::error::{
    Code, ER_AUTOINC_READ_FAILED, ER_CHECKREAD, ER_DISK_FULL, ER_DUP_ENTRY, ER_DUP_ENTRY_WITH_KEY_NAME,
    ER_ERROR_ON_READ, ER_FK_DEPTH_EXCEEDED, ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO, ER_GET_ERRNO,
    ER_INDEX_CORRUPT, ER_INTERNAL_ERROR, ER_LOCK_DEADLOCK, ER_LOCK_NOWAIT, ER_LOCK_TABLE_FULL,
    ER_LOCK_WAIT_TIMEOUT, ER_NO_REFERENCED_ROW_2, ER_QUERY_INTERRUPTED, ER_RECORD_FILE_FULL,
    ER_ROW_IS_REFERENCED_2, ER_TABLE_CORRUPT, ER_TABLE_DEF_CHANGED, ER_TOO_LONG_KEY, ER_TRANS_CACHE_FULL,
    ER_UNKNOWN_ERROR, SqlError,
};
use store::StoreError;
use table::{DuplicateKey, ForeignKeyViolation, Table, WriteError};

/// MySQL's number for an error of a storage engine that has no better one (HA_ERR_GENERIC).
const ENGINE_ERROR_GENERIC: u32 = 168;
/// The system's number for a full disk (ENOSPC).
const NO_SPACE: u32 = 28;

/// The store failed. A tree that is gone was dropped or rebuilt after the statement found its table: 1412, to be tried
/// again. No room on the disk is 1114, for the log 1021. A transaction that the log does not keep any longer is 1197, MySQL's
/// number where the binary log holds no more of one. A damaged page of a table is 1877, of a
/// secondary index 1712; the error log has the page. All else is 1030 with the store's reason; after a failed write it writes
/// nothing more until it is opened again.
#[cold]
pub fn store_error(error: impl Borrow<StoreError>) -> Box<SqlError> {
    match error.borrow() {
        StoreError::TreeGone(_) => ER_TABLE_DEF_CHANGED.bare(),
        StoreError::DiskFull { what: StoreError::LOG } => {
            ER_DISK_FULL.with(&[&StoreError::LOG, &NO_SPACE, &"No space left on device"])
        }
        StoreError::TransactionTooLong { .. } => ER_TRANS_CACHE_FULL.bare(),
        StoreError::DiskFull { what } => ER_RECORD_FILE_FULL.with(&[what]),
        StoreError::Corrupt { place: Some(place), .. } if place.names.len() >= 2 => match &*place.names {
            [_, _, index, ..] => ER_INDEX_CORRUPT.with(&[index]),
            names => ER_TABLE_CORRUPT.with(&[&names[0], &names[1]]),
        },
        error => ER_GET_ERRNO.with(&[&ENGINE_ERROR_GENERIC, error]),
    }
}

/// A row could not be written or locked.
#[cold]
pub fn write_error(error: impl Borrow<WriteError>) -> Box<SqlError> {
    match error.borrow() {
        WriteError::DuplicateKey(duplicate) => ER_DUP_ENTRY.saying(duplicate_text(duplicate)),
        WriteError::Deadlock => ER_LOCK_DEADLOCK.bare(),
        WriteError::LockWaitTimeout => ER_LOCK_WAIT_TIMEOUT.bare(),
        WriteError::Locked => ER_LOCK_NOWAIT.bare(),
        WriteError::Interrupted => ER_QUERY_INTERRUPTED.bare(),
        WriteError::TooManyLocks => ER_LOCK_TABLE_FULL.bare(),
        WriteError::NoThread => SqlError::refused_wait(),
        WriteError::ChangedSinceSnapshot => ER_CHECKREAD.with(&[&""]),
        WriteError::KeyTooLong { .. } => ER_TOO_LONG_KEY.with(&[&store::KEY_BYTES_MAX]),
        WriteError::ForeignKey(violation) => {
            let code = match **violation {
                ForeignKeyViolation::NoParent { .. } => ER_NO_REFERENCED_ROW_2,
                ForeignKeyViolation::HasChildren { .. } => ER_ROW_IS_REFERENCED_2,
                ForeignKeyViolation::DuplicateInChild { .. } => ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO,
                ForeignKeyViolation::TooDeep => ER_FK_DEPTH_EXCEEDED,
            };
            code.saying(violation.to_string())
        }
        WriteError::AutoIncrementExhausted => ER_AUTOINC_READ_FAILED.bare(),
        WriteError::LongValue(error) => {
            ER_ERROR_ON_READ.with(&[&"long data", &error.raw_os_error().unwrap_or(5), error])
        }
        WriteError::Store(error) => store_error(error),
    }
}

/// A row of this table could not be written or locked.
#[cold]
pub(crate) fn row_error(table: &Table, error: &WriteError) -> Box<SqlError> {
    match error {
        WriteError::ChangedSinceSnapshot => ER_CHECKREAD.with(&[&table.definition().name]),
        WriteError::Store(StoreError::DiskFull { .. }) => {
            ER_RECORD_FILE_FULL.with(&[&table.definition().name])
        }
        error => write_error(error),
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
        write_error(WriteError::DuplicateKey(Box::new(key))).message
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
        let error = store_error(StoreError::TreeGone(store::TreeId(7)));
        assert_eq!((error.number, &error.state), (1412, b"HY000"));
        let error = store_error(StoreError::PoolExhausted);
        assert_eq!(error.number, 1030);
        assert!(error.message.starts_with("Got error 168 - 'no free page frame"), "{}", error.message);
    }
}
