//! Operators, expressions, functions, sort, aggregate, join, spill.
//!
//! A [`Prepared`] is a physical plan with its expressions compiled: immutable, shared in a plan cache. An execution
//! builds the operators over it; they pull batches of at most 1,024 rows from each other and the topmost gives them to
//! a [`RowSink`] (usually [`output::ReplySink`], which encodes rows straight into the connection's buffer).
//!
//! ```text
//! plan::PhysicalPlan -> Prepared -> run_query(prepared, context, sink)
//!                                -> run_change(prepared, context) -> Changed
//! ```
//!
//! Invariants:
//! 1. A batch handed to a parent belongs to the parent until its next call: operators share no row buffers.
//! 2. Between two batches an operator holds no latch and no borrowed page.
//! 3. Every operator that keeps rows counts their bytes against a limit of the session ([`MemoryLimits`]) and goes to disk
//!    above it; what it gives is the same, its order may differ.
//!
//! Read next: [`prepare`], `run` (the operators), `change` (INSERT, UPDATE, DELETE), [`expr`], [`output`].
//!
//! ```
//! use exec::expr::{EvalContext, EvalSettings, NoSession, Warnings};
//! # use std::sync::Arc;
//!
//! let (text, arena) = (b"SELECT 6 * 7", bumpalo::Bump::new());
//! let parsed = syntax::parse(text, &arena, syntax::SqlMode::default()).unwrap();
//! let catalog = Arc::new(catalog::Catalog::new());
//! let bound = plan::bind::bind(&parsed.statement, text, &catalog, &fixture::Binding("shop")).unwrap();
//! let plan = plan::optimize(bound, &plan::Options::new(&catalog));
//! let prepared = exec::Prepared::new(Arc::new(plan)).unwrap();
//!
//! let (settings, mut session, mut warnings) = (EvalSettings::default(), NoSession, Warnings::new(0));
//! let eval = EvalContext {
//!     settings: &settings,
//!     params: &[],
//!     outer: Vec::new(),
//!     session: &mut session,
//!     warnings: &mut warnings,
//!     snapshot: None,
//!     transaction: None,
//! };
//! let counts = exec::StatusCounts::default();
//! let mut context = exec::ExecContext::new(eval, &catalog, &(), &counts);
//! let types = prepared.plan().output.iter().map(|column| column.data_type.clone()).collect();
//! let mut sink = exec::output::CollectSink::new(types, usize::MAX);
//! exec::run_query(&prepared, &mut context, &mut sink).unwrap();
//! assert_eq!(sink.rows, [[types::Value::Int(42)]]);
//! ```

mod change;
mod context;
mod error;
mod execute;
pub mod expr;
mod key;
mod long_data;
pub mod output;
mod planned;
pub mod prepare;
mod programs;
mod row_buffer;
mod run;
mod spill;
mod status_counts;
mod stored_table;

pub use change::{Changed, RowChecks, RowDefaults, bind_stored_expression};
pub use context::{ChangeSettings, ExecContext, FileLine, MemoryLimits, NodeCounter, SpillCounts};
pub use error::{access_error, stack_overrun};
pub use execute::{run_change, run_query, run_source};
pub use long_data::{LongData, LongParameter};
pub use output::{ReplySink, RowSink};
pub use planned::PlannedConstants;
pub use prepare::{Prepared, ValueMemory};
pub use run::{evaluate, warning_of, warnings_of};
pub use spill::remove_left_over;
pub use status_counts::{StatusCounts, StatusKind};
