//! Where the lab keeps its data on a server: schemas of its own, which it makes, marks, and takes away.
//!
//! Invariants:
//! 1. A schema without the lab's mark is never touched.
//! 2. Two runs never use one schema at once: a user lock named after it is held for the run.

use client::{Connection, Error};

use crate::server::{ask, ask_if_allowed};

/// The table that marks a schema as the lab's.
const MARK: &str = "invar_lab_mark";

/// Why the schema cannot be used.
#[derive(Debug)]
pub(crate) enum SchemaError {
    /// It was not made by the lab, or the name is invalid.
    Refused(String),
    /// The server's or the connection's.
    Server(Error),
}

impl From<Error> for SchemaError {
    fn from(error: Error) -> SchemaError {
        SchemaError::Server(error)
    }
}

/// Whether a name needs no quoting tricks.
pub(crate) fn is_name(name: &str) -> bool {
    /// The longest name of a schema, less what the lab adds.
    const CHARACTERS_MAX: usize = 56;
    !name.is_empty()
        && name.len() <= CHARACTERS_MAX
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Creates `schema` again and uses it.
pub(crate) fn make(connection: &mut Connection, schema: &str) -> Result<(), SchemaError> {
    let lock = ask_if_allowed(connection, &format!("SELECT GET_LOCK('invar_lab.{schema}', 0)"))?;
    if lock.as_deref() == Some("0") {
        return Err(SchemaError::Refused(format!(
            "another run of the lab uses schema {schema} on this server; wait for it or give --schema NAME"
        )));
    }
    remove(connection, schema)?;
    connection.run(
        format!("CREATE DATABASE `{schema}` DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
            .as_bytes(),
    )?;
    connection.run(format!("USE `{schema}`").as_bytes())?;
    connection.run(format!("CREATE TABLE `{MARK}` (made_by VARCHAR(20) PRIMARY KEY)").as_bytes())?;
    Ok(())
}

/// Schemas of the lab on a server, each with whether a run uses it now: those that none uses were left behind.
///
/// # Errors
/// The server's or the connection's.
pub fn marked(connection: &mut Connection) -> Result<Vec<(String, bool)>, Error> {
    let sql = format!("SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = '{MARK}'");
    let names: Vec<String> = ask(connection, &sql)?.into_iter().flatten().flatten().collect();
    let mut found = Vec::new();
    for name in names.into_iter().filter(|name| is_name(name)) {
        let holder = ask_if_allowed(connection, &format!("SELECT IS_USED_LOCK('invar_lab.{name}')"))?;
        found.push((name, holder.is_some()));
    }
    Ok(found)
}

/// Takes `schema` away if it is there and the lab's.
pub(crate) fn remove(connection: &mut Connection, schema: &str) -> Result<(), SchemaError> {
    if ask(connection, &format!("SHOW DATABASES LIKE '{}'", schema.replace('_', "\\_")))?.is_empty() {
        return Ok(());
    }
    let tables = ask(connection, &format!("SHOW TABLES FROM `{schema}`"))?;
    let is_marked = tables.iter().flatten().flatten().any(|name| name == MARK);
    if !is_marked && !tables.is_empty() {
        return Err(SchemaError::Refused(format!(
            "schema {schema} exists and is not the lab's; give another by --schema NAME"
        )));
    }
    connection.run(format!("DROP DATABASE `{schema}`").as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_mean_more_are_none() {
        assert!(is_name("invar_lab") && is_name("Lab2"));
        for name in ["", "a`b", "a b", "a.b", "a'b", &"a".repeat(57)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
