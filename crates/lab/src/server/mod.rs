//! A server under test, seen through its protocol: what it is, what it counts, how it is set, and how it is put back.
//!
//! | module | gives |
//! | --- | --- |
//! | `describe` | flavour, version, variables, process: [`UnderTest`] |
//! | `variables` | the variables that matter, each with its reason; what differs between servers |
//! | `equalise` | statements and options that make sessions and tables alike |
//! | `status` | status counters before and after, and the difference per operation |
//! | `journal` | global changes, written down before they are made and put back whatever happens |
//!
//! Nothing here changes a server but [`journal::GlobalChanges`], and that only where the user allowed it.

pub mod describe;
pub mod equalise;
pub mod journal;
pub mod status;
pub mod variables;

pub use describe::UnderTest;

use client::{Connection, Error};

/// All rows of one statement as text; NULL is `None`.
///
/// # Errors
/// The server's or the connection's.
pub fn ask(connection: &mut Connection, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
    let mut answer = connection.query(sql.as_bytes())?;
    let mut rows = Vec::new();
    while answer.next_result()? {
        while let Some(row) = answer.next_row()? {
            let text = |cell: client::Cell<'_>| {
                cell.as_bytes().map(|text| String::from_utf8_lossy(text).into_owned())
            };
            rows.push(row.cells().map(text).collect());
        }
    }
    Ok(rows)
}

/// The first cell of a statement; `None` for NULL and for no row.
///
/// # Errors
/// The server's or the connection's.
pub fn ask_one(connection: &mut Connection, sql: &str) -> Result<Option<String>, Error> {
    Ok(ask(connection, sql)?.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
}

/// As [`ask_one`], where the server's refusal (no such variable, no right) is an answer too: `None`.
///
/// # Errors
/// The connection's only.
pub(crate) fn ask_if_allowed(connection: &mut Connection, sql: &str) -> Result<Option<String>, Error> {
    match ask_one(connection, sql) {
        Err(Error::Server(_)) => Ok(None),
        answer => answer,
    }
}
