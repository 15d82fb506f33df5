//! A MySQL client over the wire codec: one blocking connection, its statements and their answers.
//!
//! ```no_run
//! use client::{Connection, Options, Param};
//! # fn main() -> Result<(), client::Error> {
//! let mut connection = Connection::connect(&Options::from_url("mysql://root@127.0.0.1:3306/shop")?)?;
//! let mut answer = connection.query(b"SELECT id, name FROM item; SELECT 1")?;
//! while answer.next_result()? {
//!     while let Some(row) = answer.next_row()? {
//!         println!("{:?} {:?}", row.cell(0).as_i64(), row.cell(1).as_bytes());
//!     }
//! }
//! let mut statement = connection.prepare(b"SELECT name FROM item WHERE id = ?")?;
//! for id in 1..=3 {
//!     connection.execute(&mut statement, &[Param::Int(id)])?.finish()?;
//! }
//! # Ok(()) }
//! ```
//!
//! An answer is read as it arrives, row by row, from the connection's one buffer. What is left of it when the next
//! command is given is read and dropped, so a caller may stop at any row.
//!
//! Invariants:
//! 1. A row, a result without rows and an execution allocate nothing once the buffers have their size.
//! 2. Memory grows with what arrived, never with what a length announced.
//! 3. No byte of a server panics: what does not fit the protocol is [`Error::Protocol`].
//! 4. After an error other than [`Error::Server`], [`Error::LocalFileRefused`] and [`Error::Parameters`] the connection is
//!    broken and answers nothing but [`Error::Broken`]: the meaning of the next byte is unknown.
//! 5. No file is sent unless the caller gave a function that opens it.
//!
//! Read next: [`Connection`], [`Answer`], `transport` (packets over a stream), `login` (authentication).

mod connection;
mod error;
mod login;
mod options;
mod row;
mod statement;
mod stream;
mod transport;

pub use connection::{Answer, Connection, LocalFile, Summary};
pub use error::{Error, ServerError};
pub use options::{Address, Options, Tls};
pub use row::{Cell, Column, Columns, Row};
pub use statement::Statement;
pub use stream::{Stream, unverified_tls};
/// A parameter of a prepared statement.
pub use wire::parameter::ParameterValue as Param;
pub use wire::{Capabilities, ColumnFlags, ColumnType, StatusFlags};

#[cfg(test)]
mod tests;
