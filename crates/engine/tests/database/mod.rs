//! Root's session in a new database, and the rows of what it asks.

use engine::engine::{Engine, StartOptions};
use service::Session;

use crate::answers::{CAPABILITIES, ask};
use crate::root;

/// The rows of an answer, cells joined by bars.
pub(crate) fn query(session: &mut dyn Session, sql: &str) -> Vec<String> {
    ask(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Runs a test in a database of its own, on an engine that starts with these variables.
#[allow(dead_code, reason = "who opens a folder several times does it itself")]
pub(crate) fn alone_with(variables: &[(&str, &str)], test: impl FnOnce(&mut dyn Session)) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let variables = variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let options =
        StartOptions { data_folder: folder.path().join("data"), variables, ..StartOptions::default() };
    let engine = Engine::open(&env::Env::real(), &options).expect("a new folder opens");
    let mut session = root::connect(&engine, CAPABILITIES);
    query(session.as_mut(), "CREATE DATABASE d");
    query(session.as_mut(), "USE d");
    test(session.as_mut());
    drop(session);
    engine.close().expect("the store closes");
}
