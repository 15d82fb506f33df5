//! Making sessions and tables alike on servers of different age and maker.
//!
//! Every version has other defaults: the character set (latin1, then utf8mb4), the row format (COMPACT, then DYNAMIC), the
//! SQL mode. A comparison that takes them as they come measures the defaults. Here is what every session says after login
//! and what every table of the lab is made with; values are chosen so that all versions from 5.6 on take them.

use client::{Connection, Error, Options, Tls};

use super::describe::UnderTest;
use crate::evidence::Flavour;

/// Variables that [`session_statements`] makes alike.
pub(crate) const SESSION_VARIABLES: &[&str] =
    &["sql_mode", "character_set_client", "time_zone", "transaction_isolation", "autocommit"];

/// The collation of all: the newest that 5.6, 5.7, 8 and later and MariaDB share.
pub const COLLATION: &str = "utf8mb4_general_ci";

/// The number of [`COLLATION`], for the login.
const COLLATION_NUMBER: u8 = 45;

/// How to connect so that sessions are alike from their first byte: no TLS (a client that may would choose it by itself, even
/// over a Unix socket), no compression, one collation.
///
/// `keep_tls` leaves the user's own choice: where a server demands TLS all arms should have it.
pub(crate) fn connection_options(options: &mut Options, keep_tls: bool) {
    options.collation = COLLATION_NUMBER;
    options.compress = false;
    if !keep_tls {
        options.tls = Tls::Off;
    }
}

/// What each session says after login.
#[must_use]
pub(crate) fn session_statements(server: &UnderTest) -> Vec<String> {
    // Over names that are in all versions; NO_ENGINE_SUBSTITUTION so that no other engine is taken without a word.
    let mut statements = vec![
        format!("SET NAMES utf8mb4 COLLATE {COLLATION}"),
        "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'".to_owned(),
        "SET SESSION time_zone = '+00:00'".to_owned(),
        "SET SESSION autocommit = 1".to_owned(),
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ".to_owned(),
    ];
    if matches!(server.flavour, Flavour::Mysql | Flavour::Percona) && server.version_numbers() < (8, 0, 0) {
        // An answer from the query cache never ran. Refused where the cache is off for good, which is as well.
        statements.push("SET SESSION query_cache_type = 0".to_owned());
    }
    statements
}

/// Runs [`session_statements`]. Returns those the server refused, each with its words.
///
/// # Errors
/// The connection's only.
pub fn prepare_session(
    server: &UnderTest,
    connection: &mut Connection,
) -> Result<Vec<(String, String)>, Error> {
    let mut refused = Vec::new();
    for statement in session_statements(server) {
        match connection.run(statement.as_bytes()) {
            Ok(_) => {}
            Err(Error::Server(error)) => refused.push((statement, error.to_string())),
            Err(error) => return Err(error),
        }
    }
    Ok(refused)
}

/// Global variables without which [`table_clause`] does not mean the same here: name, value, why.
#[must_use]
pub(crate) fn needs_global(server: &UnderTest) -> Vec<(&'static str, &'static str, &'static str)> {
    match server.variables.get("innodb_file_format") {
        Some(format) if !format.eq_ignore_ascii_case("barracuda") => vec![(
            "innodb_file_format",
            "Barracuda",
            "Antelope makes COMPACT of ROW_FORMAT=DYNAMIC: 768 bytes of each long value stay in the row",
        )],
        _ => Vec::new(),
    }
}
