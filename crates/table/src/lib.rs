//! Rows over bytes: codecs, index upkeep, large values, statistics, and the dictionary of definitions.
//!
//! Read [`codec`] first: how a value, a row and a key look as bytes.

pub mod codec;
mod zone;

pub use zone::{TimestampZone, Utc};
