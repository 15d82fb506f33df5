//! JSON documents: text, a binary form that is read without unpacking, paths, and the changes MySQL's functions make.
//!
//! A stored document is the binary form ([`View`] reads it in place); changes go through [`Json`], a tree. Members of
//! an object are kept sorted by key length, then bytes, so a key is found by binary search and prints where MySQL
//! prints it; of equal keys the last one written wins.
//!
//! ```text
//! value   := tag:u8 body
//! null, false, true   no body            int, uint, double, time, date, datetime   8 bytes, little-endian
//! decimal  length:u8 text                string   length:u32 bytes                 opaque  type:u8 length:u32 bytes
//! array    bytes:u32 count:u32 (offset:u32)*                            values      offsets from the tag
//! object   bytes:u32 count:u32 (key:u32 key_length:u32 value:u32)* keys values      offsets from the tag
//! ```
//!
//! Reading never panics on damaged bytes: a part that does not fit is JSON null. Source: MySQL manual, "The JSON Data
//! Type", and RFC 8259.

mod change;
mod path;
mod print;
mod search;
mod text;
mod value;

pub use change::{
    ArrayInsertError, Change, array_insert, change, contains, depth, merge_patch, merge_preserve, overlaps,
};
pub use path::{Leg, Path, PathError, Stopped};
pub use print::{print, print_pretty, write_quoted};
pub use search::Search;
pub use text::{DEPTH_MAX, ParseError, ParseErrorKind, parse, parse_tree};
pub use value::{
    Json, Kind, View, compare, is_boolean, is_number, scalar_text, sort_key, string, to_datetime, to_double,
    to_integer, to_time, unquote,
};

#[cfg(test)]
mod tests;
