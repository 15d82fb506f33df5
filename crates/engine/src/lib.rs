//! Answers from local tables: sessions, transactions, DDL, accounts, system schemas.
//!
//! A client's conversation is a [`session::Session`]; what sessions share is one [`core::Core`]; the server sees
//! both through `service::Service`, which [`Engine`] implements.
//!
//! Read next: [`session`], [`core`], [`ddl`], [`variables`], [`system_schemas`].

pub mod backend;
pub mod backup_lock;
mod check;
mod column_type;
pub mod core;
pub mod ddl;
pub mod deadlines;
pub mod engine;
pub mod error_log;
mod errors;
pub mod facts;
pub mod failed_logins;
mod limits;
pub mod local;
mod lock_schemas;
pub mod log;
pub mod log_file;
pub mod metadata;
pub mod panics;
pub(crate) mod plans;
pub mod privilege;
pub mod processes;
pub mod read_lock;
mod references;
mod routine;
mod schema_names;
pub mod session;
pub mod session_counts;
pub mod status;
mod store_error;
pub mod system_schemas;
pub mod temporary;
pub mod user_locks;
pub mod variables;

pub use check::{FolderReport, check_folder};
use store_error::store_error;

pub use engine::{Engine, SERVER_VERSION, StartError, StartOptions};
