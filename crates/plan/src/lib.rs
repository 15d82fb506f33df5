//! From a parsed statement to what runs: names resolved, types known, less work, and a tree of operators.
//!
//! ```text
//! syntax::Statement --bind--> Bound (logical tree) --passes--> Bound --physical--> PhysicalPlan --> exec
//! ```
//!
//! [`bind`](crate::bind::bind) resolves every name against one catalog snapshot and gives every expression its MySQL
//! type. The logical passes of [`passes`] change the tree without changing its rows. [`build`](mod@build) chooses indexes,
//! join order and algorithms from table statistics. A [`PhysicalPlan`] is immutable, owns all it needs and holds no
//! parameter's value, so that it is kept in an `Arc` and run by many sessions.
//!
//! Invariants:
//! 1. After binding, [`expr::ExprKind::Column`] names a column by its [`expr::ColumnId`], unique in the statement.
//! 2. In a physical plan every column reference is [`expr::ExprKind::Input`]: a position in the operator's input
//!    batch; a subquery's reference to an outer row is [`expr::ExprKind::Outer`]; no subquery is left inside an
//!    expression (an `Apply` operator below computes it into a column).
//! 3. A plan depends on the catalog version it was bound with, on `sql_mode` and on the types of its parameters.
//!
//! ```
//! # use std::sync::Arc;
//! # use catalog::{Catalog, Schema, SchemaId};
//! let mut item = fixture::parse_table("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20))");
//! item.schema = "shop".into();
//! let mut shop = Schema::new(SchemaId(1), "shop", fixture::COLLATION, false);
//! shop.insert(fixture::planned(item, 1_000));
//! let mut catalog = Catalog::new();
//! catalog.insert_schema(Arc::new(shop));
//!
//! let text = b"SELECT name FROM item WHERE id = 7";
//! let arena = bumpalo::Bump::new();
//! let parsed = syntax::parse(text, &arena, syntax::SqlMode::default()).unwrap();
//! let bound = plan::bind::bind(&parsed.statement, text, &catalog, &fixture::Binding("shop")).unwrap();
//! let plan = plan::optimize(bound, &plan::Options::new(&catalog));
//! let shown = plan::explain::tree(&plan, None, &[]);
//! assert!(shown.contains("item"), "{shown}");
//! ```

pub mod bind;
pub mod build;
pub mod constants;
mod cost;
mod document;
mod error;
pub mod explain;
pub mod feedback;
pub mod function;
mod function_table;
pub mod logical;
mod needs;
pub mod passes;
pub mod physical;
pub mod progress;
pub mod rewrite;
mod row_accesses;
mod safe_updates;
pub mod stored_function;
mod text;
pub mod trace;
mod triggers;

pub use build::{Options, optimize, optimize_for};
pub use error::{PlanError, PlanResult};
pub use feedback::Feedback;
pub use function::FunctionId;
pub use logical::expr::{self, ColumnId, Expr, ExprKind};
pub use physical::PhysicalPlan;
pub use stored_function::{StoredCall, StoredFunction};
