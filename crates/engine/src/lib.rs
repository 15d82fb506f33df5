//! Sessions over local tables: definitions, transactions and locks in the local store, and the server that answers by them.
//!
//! [`local::LocalBackend`] is what a [`session::Session`] asks for its tables; the server sees both through `service::Service`, which
//! [`Engine`] implements.
//!
//! ```
//! # use std::sync::Arc;
//! use engine::{Engine, StartOptions};
//! use service::{Capabilities, ClientHost, ConnectRequest, ConnectionControl, Discard, Reply, RowFormat, Service, Transport};
//!
//! let folder = tempfile::tempdir()?;
//! let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
//! let engine = Engine::open(&env::Env::real(), &options).expect("an empty folder becomes a data folder");
//!
//! // What the server does once a client has proved who it is.
//! let host = ClientHost { name: "localhost".to_owned(), address: None };
//! let request = ConnectRequest {
//!     control: Arc::new(ConnectionControl::new(1, None)),
//!     account: engine.find_account("root", &host).expect("root is there from the start"),
//!     user: "root".to_owned(),
//!     host,
//!     database: None,
//!     attributes: Vec::new(),
//!     capabilities: Capabilities::PROTOCOL_41,
//!     collation: 255,
//!     transport: Transport::Unix,
//!     tls: None,
//! };
//! let mut session = engine.connect(request).expect("root may connect");
//! let (mut buffer, mut link) = (wire::packet::PacketBuffer::new(), Discard);
//! for sql in ["CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY)", "INSERT INTO shop.item VALUES (1)"] {
//!     let mut reply = Reply::new(&mut buffer, &mut link, Capabilities::PROTOCOL_41, RowFormat::Text);
//!     session.query(sql.as_bytes(), &mut reply).without_requeue().expect(sql);
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Read next: [`local`], [`ddl`], [`engine`].

mod backup_lock;
mod check;
pub mod ddl;
pub mod engine;
mod events;
pub mod local;
mod lock_schemas;
pub mod metadata;
mod recalculation;
mod store_error;

pub use check::{FolderReport, check_folder};
use store_error::store_error;

pub use engine::{Engine, StartError, StartOptions};
