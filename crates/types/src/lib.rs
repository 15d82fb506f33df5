//! MySQL's values: numbers, decimal, temporal, JSON, character sets, collations, coercion. Pure.

pub mod charset;
pub mod collation;
