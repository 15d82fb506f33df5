//! How statements reach the rows of tables, whoever keeps them.
//!
//! `exec` runs statements and knows tables only through the traits here. A backend implements them: `table` over the local
//! store; a test keeps its tables on another server, behind a connection.
//!
//! ```text
//! plan   ── statistics ──────────────> TableStatistics      estimates, never fail
//! exec   ── keys, pushdown, numbers ─> Table                one table; shared by all sessions
//!        ── scan, look up, lock,
//!           insert, update, delete ──> Transaction          one statement's view of the session's transaction
//!        ── large values in pieces ──> Snapshot             what consistent reads of the statement see
//! ```
//!
//! [`Table`], [`Scan`] and [`ForeignKeys`] are handles: they say what they can do, and are given back to the [`Transaction`],
//! which does it. A backend finds its own type behind a handle by itself; a transaction over several backends gives each
//! call to the backend that made the handle. Calls are made per statement, per batch of rows read, or per row written, never per row
//! read.
//!
//! Invariants, for every backend:
//! 1. A consistent read sees the statement's snapshot and the transaction's own changes; a locking read sees the newest
//!    committed version of each row, and locks it before it is given.
//! 2. A call that fails leaves the rows as they were before the call. What earlier calls of the statement did is undone by
//!    whoever runs the statement.
//! 3. What a table may do beyond what it was asked ([`Pushdown`]) leaves rows out that the statement would leave out itself.
//! 4. Errors are data ([`Error`]); what a client sees of them is decided above.
//!
//! How a statement asks for a part of an index, in the bytes that the table's keys have:
//!
//! ```
//! use access::{KeyBytesRange, next_prefix};
//!
//! let range = KeyBytesRange::prefix(b"ab".to_vec());
//! assert!(range.is_prefix() && !range.is_empty());
//!
//! let mut end = b"ab\xff".to_vec();
//! assert!(next_prefix(&mut end));
//! assert_eq!(end, b"ac", "the first key behind all that begin with ab and 0xff");
//! ```

mod collected;
mod error;
mod key;
mod large;
mod metadata;
mod number;
mod observer;
mod part;
mod snapshot;
mod statistics;
mod table;
mod transaction;
mod value;
mod zone;

pub use collected::{Bucket, CollectedStatistics, ColumnStatistics, Histogram, IndexStatistics};
pub use error::{DuplicateKey, Error, ForeignKeyViolation, OtherTable, ServerError};
pub use key::{KeyBound, KeyBytes, KeyBytesRange, KeyForm, KeyRange, KeyRanges, PointKeys, next_prefix};
pub use large::{
    LARGE_VALUES_READ, LargeReference, LongValue, PREFIX_BYTES, REFERENCE_BYTES, REFERENCED_BYTES_MIN,
};
pub use metadata::{MetadataMode, MetadataWait};
pub use number::{first_of_series, take_of_series};
pub use observer::{NewRowCells, RowCells, RowChange, RowObserver, RowTrigger, StoredRow};
pub use part::{Columns, MaybeLarge, OutOfLine, Part, PartKind, Predicate, PredicateResult};
pub use snapshot::{LargeReader, LargeSource, Snapshot, Version};
pub use statistics::TableStatistics;
pub use table::{ColumnRanges, ForeignKeys, Pushdown, Scan, ScanRequest, Table};
pub use transaction::{
    LockMode, LockWait, NewRow, Reading, RowLock, Transaction, Updated, WriteTarget, Writing,
};
pub use value::with_cell;
pub use zone::{TimestampZone, Utc, rezoned};
