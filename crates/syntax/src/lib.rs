//! From bytes to statements: lexer, parser, AST with spans, printer, digest.
//!
//! The text is bytes, not `str`: MySQL lexes whatever bytes a client sends. What changes reading (`sql_mode`,
//! the server's version for `/*!80000 ... */`) is an argument, nothing is global. This crate resolves no names: whether
//! a table or function exists is decided by the binder (`plan`).
//!
//! Read next: `ast` (the tree), `lexer`, `parser`, `digest` (identifying a statement without parsing it), `print`.
//!
//! ```
//! let arena = bumpalo::Bump::new();
//! let parsed = syntax::parse(b"SELECT 1 + 1; DO 0", &arena, syntax::SqlMode::default()).unwrap();
//! assert!(parsed.more, "a second statement follows");
//! let error = syntax::parse(b"SELEC 1", &arena, syntax::SqlMode::default()).unwrap_err();
//! assert_eq!(error.number, 1064);
//! ```

pub mod ast;
mod digest;
mod error;
pub mod hints;
mod keywords;
mod lexer;
mod mode;
mod parser;
mod print;

pub use digest::{DigestScratch, Digested, DigestedRows, digest, normalized};
pub use error::{SyntaxError, syntax_error_at};
pub use lexer::unescape;
pub use mode::SqlMode;
pub use parser::{NESTING_MAX, Parsed, parse, parse_expr};
pub use print::{
    QueryNames, ResolvedColumn, ShownItem, ViewPrint, print_expr, print_query, print_view_query,
};

/// Longest chain of `UNION`, `EXCEPT` and `INTERSECT` at one level. The tree of a chain leans to the left: walk it with
/// a loop, not by recursion.
pub(crate) const UNION_CHAIN_MAX: u32 = 20_000;
