//! Expressions at work: a bound expression compiled into kernels over column batches.
//!
//! [`Program::compile`] decides everything that depends on types once: in which class two values are compared
//! (integer, double, decimal, text under a collation, time), where a conversion stands, which kernel runs. Evaluation
//! then goes node by node over a whole batch; no value carries a tag. What is constant for an execution is computed
//! on its first use and kept in the [`Scratch`].
//!
//! Invariants:
//! 1. A node is evaluated for the rows that need it and for no other, wherever evaluating it could be seen: arms of
//!    CASE and IF, later operands of AND and OR (errors, warnings, user variables).
//! 2. The result of a node has one row for each row asked for, or is a constant of one row.
//! 3. A program is immutable and shared; all state of an execution is in its scratch and its context.
//!
//! Read next: `program` (nodes and how they run), `compile` (from bound expressions), `convert` (between classes),
//! `arith`, `compare`, `shared` (operands that are read several times), `single` (without columns), then the function kernels `text`, `number`,
//! `temporal`, `json`, `misc`.

mod arith;
mod compare;
mod compile;
mod context;
mod convert;
mod fold;
mod kernels;
mod program;
mod shared;
mod single;
mod vector;

pub use context::{
    EvalContext, EvalSettings, FiredRow, Firing, FunctionCall, NoSession, SessionState, SqlResult,
    StatementGround, Warnings, sql_mode,
};
pub(crate) use convert::json_document;
pub use fold::fold;
pub(crate) use program::no_input;
pub use program::{Program, Scratch};
