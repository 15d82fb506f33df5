//! Operators, expressions, functions, sort, aggregate, join, spill.

pub mod expr;
