//! What a session leaves behind when it ends or is reset: nothing.

mod answers;
mod root;

use std::time::{Duration, Instant};

use answers::{CAPABILITIES, ask};
use engine::engine::{Engine, StartOptions};
use env::Env;
use service::{Discard, Reply, RowFormat, Session};
use store::TreeId;

/// Every tree that is there, once purge has freed what nobody can reach.
fn trees_left(engine: &Engine, count: usize) -> Vec<TreeId> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let mut trees = engine.backend().store().tree_ids();
        if trees.len() == count || Instant::now() > deadline {
            trees.sort_unstable();
            return trees;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Makes temporary tables, one of them filled by a transaction that stays open, takes every lock there is, and prepares a statement.
fn take_all(session: &mut dyn Session) {
    for sql in [
        "USE s",
        "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v MEDIUMTEXT, KEY (v(10)))",
        "INSERT INTO t VALUES (1, REPEAT('x', 100000)), (2, 'b')",
        "CREATE TEMPORARY TABLE t2 LIKE t",
        "PREPARE p FROM 'SELECT * FROM t'",
        "DO GET_LOCK('l', 0)",
        "LOCK INSTANCE FOR BACKUP",
        "BEGIN",
        "INSERT INTO t2 SELECT * FROM t",
        "UPDATE t SET id = id + 10",
        "INSERT INTO b VALUES (2)",
    ] {
        ask(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

fn reset(session: &mut dyn Session) {
    let mut buffer = wire::packet::PacketBuffer::new();
    let mut link = Discard;
    let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text);
    session.reset_connection(&mut reply).expect("a session is reset");
}

/// An engine with a table, and a session that watches.
fn started(folder: &tempfile::TempDir) -> (Engine, Box<dyn Session>) {
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&Env::real(), &options).expect("a new folder opens");
    let mut other = root::connect_as(&engine, CAPABILITIES, 2);
    for sql in ["CREATE DATABASE s", "CREATE TABLE s.b (id INT PRIMARY KEY)", "INSERT INTO s.b VALUES (1)"] {
        ask(&mut *other, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    (engine, other)
}

#[test]
fn what_a_session_holds_goes_with_it() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let (engine, mut other) = started(&folder);
    let mut before = engine.backend().store().tree_ids();
    before.sort_unstable();
    let mut session = root::connect_as(&engine, CAPABILITIES, 1);
    for is_reset in [true, false] {
        take_all(&mut *session);
        assert!(engine.backend().store().tree_ids().len() > before.len());
        if is_reset {
            reset(&mut *session);
            assert_eq!(ask(&mut *session, "SELECT * FROM t").unwrap_err(), "1146 Table 's.t' doesn't exist");
        } else {
            drop(session);
            session = root::connect_as(&engine, CAPABILITIES, 3);
        }
        assert_eq!(trees_left(&engine, before.len()), before, "reset: {is_reset}");
        assert_eq!(ask(&mut *other, "SELECT IS_FREE_LOCK('l')").unwrap(), ["1"]);
        let prepared = ask(&mut *other, "SHOW STATUS LIKE 'Prepared_stmt_count'").unwrap();
        assert_eq!(prepared, ["Prepared_stmt_count|0"]);
        // Neither its row, nor its lock on the table, nor that on the instance is in the way.
        ask(&mut *other, "INSERT INTO s.b VALUES (2)").unwrap();
        ask(&mut *other, "DELETE FROM s.b WHERE id = 2").unwrap();
        ask(&mut *other, "ALTER TABLE s.b COMMENT 'free'").unwrap();
    }
}

/// A statement that panicked is over: its transaction is rolled back, its locks are free, and the session goes on.
#[test]
fn a_session_that_broke_is_put_in_order() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let (engine, mut other) = started(&folder);
    let mut session = root::connect_as(&engine, CAPABILITIES, 3);
    take_all(&mut *session);
    session.recover();
    ask(&mut *other, "SET innodb_lock_wait_timeout = 1").expect("set");
    ask(&mut *other, "INSERT INTO s.b VALUES (2)").expect("the row was not committed, and nobody locks it");
    ask(&mut *session, "SELECT * FROM t").expect("temporary tables are the session's as before");
    ask(&mut *session, "EXECUTE p").expect("so are its prepared statements");
    ask(&mut *session, "INSERT INTO b VALUES (3)").expect("the session goes on");
    ask(&mut *other, "DELETE FROM s.b WHERE id = 3").expect("and commits by itself");
}
