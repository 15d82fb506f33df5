//! Rows over bytes: codecs, index maintenance, large values, statistics, and the dictionary of definitions.
//!
//! Read [`codec`] first: how a value, a row and a key look as bytes; then [`Table`], which keeps a table's trees in
//! step, [`ChangeLog`], by which online DDL works on all rows beside writers, [`IndexBuild`], `row_change`, where each change of a row ends, and [`foreign_key`], which keeps tables in step with each other; then [`dictionary`], which keeps the definitions.
//!
//! ```
//! use table::Utc;
//! use table::codec::key::KeyCodec;
//! use types::Cell;
//!
//! let item = fixture::parse_table("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20))");
//! let keys = KeyCodec::new(&item, &item.indexes[0].parts);
//! let key_of = |id| {
//!     let mut key = Vec::new();
//!     keys.write(|_| Cell::Int(id), &Utc, &mut key);
//!     key
//! };
//! assert!(key_of(-5) < key_of(3) && key_of(3) < key_of(20), "keys sort as bytes as their values do");
//! ```

mod auto_increment;
mod buckets;
mod change_log;
mod check;
mod chunks;
pub mod codec;
mod collected;
mod column_sample;
mod describe;
pub mod dictionary;
mod encoding;
mod entry;
mod error;
pub mod foreign_key;
mod gather;
mod histogram;
mod index;
mod index_build;
mod index_sample;
mod large;
mod local;
mod materialized;
mod metadata_deadlock;
mod metadata_lock;
mod new_indexes;
mod print;
mod read;
mod row_change;
mod sample;
mod source;
mod statistics;
mod table;
mod view;
mod within;
mod write;

use std::time::Duration;

pub use access::{
    Columns, DuplicateKey, Error, ForeignKeyViolation, KeyBytesRange, LARGE_VALUES_READ, LongValue,
    MaybeLarge, Part, PartKind, TimestampZone, Updated, Utc, rezoned,
};
pub use auto_increment::{AutoIncrement, auto_increment_limit};
pub use change_log::{ChangeLog, ChangeLogFull, ChangedRow, LoggedChange, TakenChanges};
pub use check::{CheckDepth, CheckEnd, check_dictionary, tree_owners};
pub use collected::Gathered;
pub use entry::COVERED_BYTES_MAX;
pub use error::{WriteError, access_error};
pub use foreign_key::ForeignKeys;
pub use histogram::{
    DataError, HistogramEnd, HistogramSpec, NoHistogram, keep_histograms, may_have_histogram, read_data,
};
pub use index_build::IndexBuild;
pub use large::{LARGE_VALUE_BYTES_READ, LARGE_VALUE_BYTES_STREAMED, OWN_STREAM_BYTES, WHOLE_BYTES_MAX};
pub use local::{LocalSnapshot, LocalTransaction};
pub use metadata_lock::{MetadataLock, MetadataLockError, Others};
pub use new_indexes::{ColumnOrigin, NewIndexes};
pub use print::print_cell;
pub use read::{ScanRequest, TableScan};
pub use table::{Observers, Table, may_need_large_values};
pub use view::ViewSource;
pub use write::{RowScratch, WriteContext};

/// How long to wait for records that nobody else should hold long: counters, large values, the dictionary.
pub(crate) const WAIT_INTERNAL: store::LockWait = store::LockWait::Timeout(Duration::from_secs(50));
