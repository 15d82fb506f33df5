//! Random statements, generated from a seed, whose answers are compared between two servers.
//!
//! ```text
//! seed -> generate (tables, queries, changes) -> ast -> round: both servers answer -> compare
//!                   a difference -> explained? -> does the oracle contradict itself, does it depend on the plan? -> minimise
//! ```
//!
//! Invariants:
//! 1. A seed gives the same statements on every machine as long as the servers answer alike.
//! 2. What is generated has one right answer; see [`generate`].
//! 3. A difference is reported unless `explained.txt` names its pattern with the reason, [`oracle`] finds that the right server
//!    contradicts itself, [`plan_errors`] that an error depends on the plan alone, on which expressions are evaluated or on which error
//!    is found first, or [`temporary`] that a description tells only of the right server's temporary table; all are counted.
//!
//! Without another server: [`alone`] compares a server with itself under other plans, and with a naive [`interpreter`].
//!
//! [`bad_values`]: short cases of changes with values that fit their columns badly, under every `sql_mode`. [`sessions`]: short
//! cases of transactions over several connections.
//!
//! Read next: [`ast`], [`generate`], [`round`], [`minimise`].

pub mod alone;
pub mod ast;
pub mod bad_values;
pub mod cases;
pub mod collation;
pub mod compare;
pub mod explained;
pub mod forms;
pub mod generate;
pub mod hints;
pub mod interpreter;
pub mod minimise;
pub mod oracle;
pub mod plain;
pub mod plan_errors;
pub mod probes;
pub mod random;
pub mod round;
pub mod schema;
pub mod server;
pub mod sessions;
pub mod temporary;
pub mod value;
pub mod walk;
