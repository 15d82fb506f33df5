//! Tables as statements find them, and scans of them.

use std::any::Any;
use std::fmt::Debug;

use types::Value;

use crate::error::Error;
use crate::key::{KeyBytes, KeyBytesRange, KeyForm, KeyRanges};
use crate::part::Part;

/// A table whose rows somebody keeps: the handle by which a [`crate::Transaction`] knows it.
pub trait Table: Any + Debug + Send + Sync {
    /// How index `index` takes its keys.
    fn key_form(&self, index: usize) -> KeyForm<'_>;

    /// How [`ColumnRanges`] of a column are written: as part 0. None: scans of this table make no use of them.
    fn column_keys(&self, column: usize) -> Option<Box<dyn KeyBytes>> {
        let _ = column;
        None
    }

    /// What a scan makes use of beyond columns and ranges.
    fn pushdown(&self) -> Pushdown {
        Pushdown::default()
    }

    /// Hands out `count` AUTO_INCREMENT numbers of the series `offset`, `offset + increment`, `offset + 2 * increment`, ...; answers
    /// the first, the others follow it in the series. An offset beyond the increment counts as none. When the column's type has
    /// no further number, its largest is answered again: the row is then a duplicate, as in MySQL. Numbers that
    /// end up unused are lost.
    ///
    /// # Errors
    /// `NumbersExhausted` when the type has not as many numbers left, or its largest is that of 64 bits; the backend's.
    fn reserve_numbers(&self, count: u64, increment: u64, offset: u64) -> Result<u64, Error>;

    /// A row holds this AUTO_INCREMENT number: numbers handed out from now on are larger.
    ///
    /// # Errors
    /// The backend's.
    fn observe_number(&self, number: u64) -> Result<(), Error>;
}

/// What a scan makes use of beyond columns and ranges.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Pushdown {
    /// [`ScanRequest::equal`].
    pub equal: bool,
}

/// Which rows and columns a scan reads, in which order.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// The index whose order the rows are in; `None`: the rows in their own order.
    pub index: Option<usize>,
    /// Ranges of its keys.
    pub ranges: KeyRanges,
    /// From the last key to the first.
    pub reverse: bool,
    /// Ordinals of the columns to fill, in the order of the batch's columns; behind the table's columns those of `parts`.
    pub columns: Vec<usize>,
    /// Parts of columns that may be asked for.
    pub parts: Vec<Part>,
    /// Conditions `column = value` that the query checks anyway, by ordinal: a table may leave out rows that do not meet them. Empty
    /// where [`Pushdown::equal`] says that the table does not care.
    pub equal: Vec<(usize, Value)>,
    /// What the query asks of rows anyway: a table may leave out those outside. Only of tables that write such ranges
    /// ([`Table::column_keys`]), and not for a scan that locks.
    pub within: Vec<ColumnRanges>,
    /// Of rows with the same values in this many first parts of the index, all of which are among `columns`, only the first is wanted:
    /// a table may leave out others. 0: all are wanted.
    pub first_of: usize,
}

/// Ranges that hold the values of a column, as the bytes of an index over it alone.
#[derive(Clone, Debug)]
pub struct ColumnRanges {
    /// Ordinal of the column.
    pub column: usize,
    /// Ascending and not overlapping.
    pub ranges: Vec<KeyBytesRange>,
}

/// A scan under way. It holds no lock on pages between calls.
pub trait Scan: Any + Debug {
    /// Ends batches after this number of rows: for a LIMIT, so that no more is read (or locked) than is wanted.
    fn set_batch_rows(&mut self, rows_max: usize);

    /// Rows that were left out since this was last asked, because [`ScanRequest::within`] says that nobody wants them. A batch may end
    /// because they are many, even without a row.
    fn take_left_out(&mut self) -> u64 {
        0
    }

    /// Begins again, with these ranges.
    ///
    /// # Errors
    /// A form of keys that is not this backend's.
    fn restart(&mut self, ranges: KeyRanges) -> Result<(), Error>;
}

/// The foreign keys that one statement's changes may touch, resolved by the backend that keeps the tables.
pub trait ForeignKeys: Any + Debug + Send + Sync {
    /// Whether other rows may refer to rows of the table at `node`.
    fn has_children(&self, node: usize) -> bool;
}
