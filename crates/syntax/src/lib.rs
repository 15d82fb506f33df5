//! From bytes to statements: lexer, parser, AST with spans, printer, digest.
//!
//! The text is bytes, not `str`: MySQL lexes whatever bytes a client sends. What changes reading (`sql_mode`,
//! the server's version for `/*!80000 ... */`) is an argument, nothing is global. This crate knows no names: whether
//! a table or function exists is decided by who binds the tree.
//!
//! Read next: `ast` (the tree), `lexer`, `parser`, `digest` (recognising a statement without parsing it), `print`.

pub mod ast;
mod error;
mod mode;

pub use error::SyntaxError;
pub use mode::SqlMode;
