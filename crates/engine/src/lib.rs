//! Sessions over local tables: definitions, transactions and locks in the local store, and the server that answers by them.
//!
//! [`local::LocalBackend`] is what a [`session::Session`] asks for its tables; the server sees both through `service::Service`, which
//! [`Engine`] implements.
//!
//! Read next: [`local`], [`ddl`], [`engine`].

mod backup_lock;
mod check;
pub mod ddl;
pub mod engine;
pub mod local;
mod lock_schemas;
pub mod metadata;
mod store_error;

pub use check::{FolderReport, check_folder};
use store_error::store_error;

pub use engine::{Engine, StartError, StartOptions};
