//! A client's conversation, over whoever keeps the tables.
//!
//! [`Session`] is one client's conversation, from login to its end. It depends on neither `store` nor `table`: what it asks of whoever keeps
//! the tables are the traits of [`backend`], over which it is generic. What the sessions of a server share is a [`Server`]: one [`core::Core`],
//! the backend, and the plans of texts.
//!
//! ```
//! use service::{ConnectRequest, Reply, Session as _, SqlError};
//! use session::backend::Backend;
//! use session::{Server, Session};
//!
//! /// Runs one statement for a client that has proved who it is, over whatever keeps the tables.
//! fn run_once<B: Backend>(
//!     server: Server<B>,
//!     client: ConnectRequest,
//!     sql: &[u8],
//!     reply: &mut Reply<'_>,
//! ) -> Result<(), Box<SqlError>> {
//!     let mut session = Session::start(server, client)?;
//!     session.query(sql, reply).without_requeue()
//!     // Dropping the session rolls back what is open and releases what it holds.
//! }
//! ```
//!
//! `engine` has one that runs, over the local store.
//!
//! Invariants:
//! 1. A session names no backend: everything here is compiled again for each, and behaves the same over it.
//! 2. What has nothing to do with tables ([`core::Core`] and below) has no type parameter.
//!
//! Read next: [`conversation`], [`backend`], [`core`], [`variables`], [`system_schemas`].

pub mod backend;
pub mod column_type;
pub mod conversation;
pub mod core;
pub mod deadlines;
pub mod error_log;
mod errors;
pub mod event_scheduler;
pub mod failed_logins;
pub mod limits;
pub mod log;
pub mod log_file;
pub mod panics;
pub mod plans;
pub mod privilege;
pub mod processes;
pub mod read_lock;
pub mod references;
mod routine;
pub mod schema_names;
mod server_files;
pub mod session_context;
pub mod session_counts;
pub mod status;
pub mod system_schemas;
pub mod temporary;
pub mod traces;
pub mod user_locks;
pub mod variables;

pub use conversation::event_run::run_event;
pub use conversation::{Server, Session};
