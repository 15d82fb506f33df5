//! Result rows on their way to the client: column definitions, and values in text or binary form.
//!
//! What has to be known of a column is decided once per result ([`CellEncoder::new`]): its protocol type, digits,
//! padding, and whether its text changes character set. A row is then appended to the connection's buffer value by value;
//! nothing is allocated.
//! A large value that nothing but the result needs is read when its row is sent, a piece at a time ([`LargeColumns`]).
//!
//! Invariants:
//! 1. A string leaves in `character_set_results`, unless that is NULL or either side is `binary`.
//! 2. The definitions describe what is sent: the length of a string column counts bytes of the set it is sent in.

mod cells;
mod checksum;
mod columns;
mod file;
mod large_columns;
mod sink;

pub use cells::{CellEncoder, RowEncoder};
pub use checksum::ChecksumSink;
pub use columns::{ResultColumn, encode_columns, encode_columns_with_defaults};
pub use file::{FileShape, FileSink, FileWriter, LineFormat};
pub(crate) use large_columns::LargeTables;
pub use large_columns::{LargeColumns, LargeValue, ResultCell};
pub use sink::{CollectSink, ReplySink, RowSink, value_of};
