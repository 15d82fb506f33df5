//! Values, rows and keys as bytes.

pub mod field;
pub mod key;
pub mod row;
