//! A session at an engine of its own, for tests that count what is read of large values.

use engine::engine::{Engine, StartOptions};
use service::Session;

use crate::answers::{CAPABILITIES, ask};
use crate::root;

/// The rows of an answer, cells joined by bars.
pub(crate) fn query(session: &mut dyn Session, sql: &str) -> Vec<String> {
    let shown = sql.get(..200).unwrap_or(sql);
    ask(session, sql).unwrap_or_else(|error| panic!("{shown}: {error}"))
}

/// A status counter.
pub(crate) fn count(session: &mut dyn Session, counter: &str) -> u64 {
    let line = query(session, &format!("SHOW GLOBAL STATUS LIKE '{counter}'")).remove(0);
    line.rsplit('|').next().expect("two cells").parse().expect("a count")
}

/// Large values read so far.
pub(crate) fn reads(session: &mut dyn Session) -> u64 {
    count(session, "Large_values_read")
}

/// The counters are the process's: one test at a time.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Runs a test in a database of its own.
pub(crate) fn alone(test: impl FnOnce(&mut dyn Session)) {
    alone_after("DO 0", test);
}

/// The same in a session that begins after another has run `first`.
pub(crate) fn alone_after(first: &str, test: impl FnOnce(&mut dyn Session)) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder for the test");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&env::Env::real(), &options).expect("a new folder opens");
    let mut session = root::connect(&engine, CAPABILITIES);
    query(session.as_mut(), first);
    query(session.as_mut(), "CREATE DATABASE d");
    session = root::connect(&engine, CAPABILITIES);
    query(session.as_mut(), "USE d");
    test(session.as_mut());
    drop(session);
    engine.close().expect("the store closes");
}
