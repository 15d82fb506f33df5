//! Operators, expressions, functions, sort, aggregate, join, spill.
