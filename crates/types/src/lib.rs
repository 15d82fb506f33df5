//! MySQL's values: numbers, decimal, temporal, JSON, character sets, collations, coercion. Pure: no I/O, no
//! clock; what depends on a session (time zone, sql_mode, now) is an argument.
//!
//! - [`data_type`]: what a column or expression is, and how its values lie in memory ([`Physical`]).
//! - [`vector`]: rows as columns; [`value`]: one value at a boundary.
//! - [`number`], [`decimal`], [`temporal`]: the numbers and dates themselves, as text and back.
//! - [`charset`], [`collation`]: text.
//! - [`planted`]: bugs that exist only in tests.
//!
//! ```
//! use types::{CollationId, Decimal, Value};
//!
//! let price = Decimal::parse(b"19.90").value;
//! assert_eq!(price.to_string(), "19.90", "a decimal keeps its digits");
//!
//! let ignores_case = CollationId::UTF8MB4_0900_AI_CI;
//! assert!(ignores_case.compare(b"Order", "ORD\u{c9}R".as_bytes()).is_eq(), "and accents");
//! assert_ne!(Value::string(b"Order", ignores_case), Value::Null);
//! ```

pub mod base64;
pub mod charset;
pub mod collation;
pub mod convert;
pub mod data_type;
pub mod decimal;
pub mod json;
pub mod locale;
pub mod number;
pub mod planted;
mod table_file;
pub mod temporal;
pub mod value;
pub mod vector;

pub use collation::CollationId;
pub use data_type::{DataType, Members, Physical, TypeKind};
pub use decimal::Decimal;
pub use value::{Value, ValueRef};
pub use vector::{Batch, Cell, Column, ColumnData};
