//! Temporary tables dropped by the transaction that changed them: the transaction can end either way, whatever purge and crashes do.

mod answers;
mod root;

use std::path::Path;
use std::time::{Duration, Instant};

use answers::{CAPABILITIES, ask};
use engine::engine::{Engine, StartOptions};
use env::Env;
use service::{Discard, Reply, RowFormat, Session};

fn open(folder: &Path) -> Engine {
    let options = StartOptions { data_folder: folder.join("data"), ..StartOptions::default() };
    Engine::open(&Env::real(), &options).expect("the folder opens")
}

fn run_all(session: &mut dyn Session, statements: &[&str]) {
    for sql in statements {
        ask(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// Frees whatever nobody can reach.
fn purge(engine: &Engine) {
    for _ in 0..3 {
        while engine.backend().store().purge_tick().expect("purge goes on") {}
    }
}

fn tree_count(engine: &Engine) -> usize {
    engine.backend().store().tree_ids().len()
}

/// A server that opens what a crash of this one would leave now.
fn crashed(folder: &Path) -> (tempfile::TempDir, Engine) {
    let copy = tempfile::tempdir().expect("a folder for the copy");
    std::fs::create_dir(copy.path().join("data")).expect("a folder in it");
    for entry in std::fs::read_dir(folder.join("data")).expect("the data folder") {
        let entry = entry.expect("a file of it");
        if entry.file_type().expect("its type").is_file() {
            std::fs::copy(entry.path(), copy.path().join("data").join(entry.file_name()))
                .expect("it is copied");
        }
    }
    let engine = open(copy.path());
    (copy, engine)
}

fn rows(engine: &Engine) -> Vec<String> {
    let mut session = root::connect_as(engine, CAPABILITIES, 90);
    ask(&mut *session, "SELECT id FROM s.b ORDER BY id").expect("the table is there")
}

const PREPARE: [&str; 4] =
    ["CREATE DATABASE s", "USE s", "CREATE TABLE b (id INT PRIMARY KEY)", "INSERT INTO b VALUES (1)"];

/// Leaves a transaction open that has changed temporary tables, and dropped them.
const DROP_INSIDE: [&str; 9] = [
    "USE s",
    "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v MEDIUMTEXT, KEY (v(10)))",
    "BEGIN",
    "INSERT INTO b VALUES (2)",
    "SAVEPOINT p",
    "INSERT INTO t VALUES (1, REPEAT('x', 100000)), (2, 'b')",
    "CREATE TEMPORARY TABLE t2 SELECT * FROM t",
    "INSERT INTO b VALUES (3)",
    "DROP TEMPORARY TABLE t, t2",
];

#[test]
fn a_transaction_ends_any_way_after_it_dropped_what_it_changed() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let engine = open(folder.path());
    run_all(&mut *root::connect_as(&engine, CAPABILITIES, 1), &PREPARE);
    let before = tree_count(&engine);
    for (number, (end, left)) in [
        ("ROLLBACK", vec!["1"]),
        ("ROLLBACK TO p", vec!["1"]),
        ("disconnect", vec!["1"]),
        ("reset", vec!["1"]),
        ("COMMIT", vec!["1", "2", "3"]),
    ]
    .into_iter()
    .enumerate()
    {
        let mut session = root::connect_as(&engine, CAPABILITIES, 2 + number as u64);
        run_all(&mut *session, &DROP_INSIDE);
        purge(&engine);
        assert_eq!(ask(&mut *session, "SELECT * FROM t").unwrap_err(), "1146 Table 's.t' doesn't exist");
        match end {
            "disconnect" => {}
            "reset" => {
                let mut buffer = wire::packet::PacketBuffer::new();
                let mut link = Discard;
                let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text);
                session.reset_connection(&mut reply).expect("a session is reset");
            }
            sql => run_all(&mut *session, &[sql]),
        }
        if end == "ROLLBACK TO p" {
            purge(&engine);
            assert_eq!(ask(&mut *session, "SELECT id FROM b").unwrap(), ["1", "2"], "{end}");
            run_all(&mut *session, &["ROLLBACK"]);
        }
        // The session goes on, and others with it.
        if end != "disconnect" {
            assert_eq!(ask(&mut *session, "SELECT id FROM s.b").unwrap(), left, "{end}");
        }
        drop(session);
        assert_eq!(rows(&engine), left, "{end}");
        let deadline = Instant::now() + Duration::from_secs(60);
        while tree_count(&engine) != before {
            assert!(Instant::now() < deadline, "{end}: {} trees instead of {before}", tree_count(&engine));
            purge(&engine);
        }
    }
    engine.backend().store().checkpoint_now().expect("the store runs");
}

#[test]
fn a_crash_at_any_moment_recovers() {
    for (end, left) in [("ROLLBACK", vec!["1"]), ("COMMIT", vec!["1", "2", "3"])] {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let engine = open(folder.path());
        let store = engine.backend().store().clone();
        run_all(&mut *root::connect_as(&engine, CAPABILITIES, 1), &PREPARE);
        let before = tree_count(&engine);
        let mut session = root::connect_as(&engine, CAPABILITIES, 2);
        run_all(&mut *session, &DROP_INSIDE);
        purge(&engine);
        let check = |what: &str, left: &[&str]| {
            store.sync_to(store.newest_position()).expect("the log is written");
            let (_copy, engine) = crashed(folder.path());
            assert_eq!(rows(&engine), left, "{what}");
            purge(&engine);
            assert_eq!(tree_count(&engine), before, "{what}");
        };
        check("before a checkpoint", &["1"]);
        store.checkpoint_now().expect("the store runs");
        check("after a checkpoint", &["1"]);
        run_all(&mut *session, &[end]);
        check(end, &left);
        purge(&engine);
        store.checkpoint_now().expect("the store runs");
        check(end, &left);
    }
}
