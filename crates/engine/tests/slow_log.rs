//! What the slow log says of a statement's locks and rows.

mod answers;
mod root;

use answers::{CAPABILITIES, ask};
use engine::engine::{Engine, StartOptions};
use env::Env;

/// `Lock_time` in microseconds and `Rows_examined` of the last entry.
fn last_entry(path: &std::path::Path) -> (u64, u64) {
    let text = std::fs::read_to_string(path).expect("the slow log is there");
    let line = text.lines().rfind(|line| line.starts_with("# Query_time:")).expect("an entry");
    let number = |name: &str| {
        let (_, after) = line.split_once(name).expect("its name stands there");
        after.split_whitespace().next().expect("a number").replace('.', "").parse().expect("a number")
    };
    (number("Lock_time:"), number("Rows_examined:"))
}

#[test]
fn lock_time_is_the_time_waited_for_row_locks() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&Env::real(), &options).expect("the folder opens");
    let mut holder = root::connect_as(&engine, CAPABILITIES, 1);
    let mut waiter = root::connect_as(&engine, CAPABILITIES, 2);
    let log = folder.path().join("slow.log");
    for sql in [
        "CREATE DATABASE s",
        "USE s",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 10), (2, 20)",
        &format!("SET GLOBAL slow_query_log_file = '{}'", log.display()),
        "SET GLOBAL slow_query_log = ON",
        "BEGIN",
        "UPDATE t SET v = 11 WHERE id = 1",
    ] {
        ask(&mut *holder, sql).expect("it runs");
    }
    for sql in ["USE s", "SET long_query_time = 0", "SET innodb_lock_wait_timeout = 1"] {
        ask(&mut *waiter, sql).expect("it runs");
    }
    let failed = ask(&mut *waiter, "UPDATE t SET v = 12 WHERE id = 1").expect_err("it waits too long");
    assert!(failed.starts_with("1205"), "{failed}");
    let (lock_micros, _) = last_entry(&log);
    assert!(lock_micros >= 1_000_000, "{lock_micros}");
    ask(&mut *holder, "COMMIT").expect("it runs");

    ask(&mut *waiter, "SELECT COUNT(v) FROM t").expect("it runs");
    assert_eq!(last_entry(&log), (0, 2));
    // Neither is left to a statement without a table.
    ask(&mut *waiter, "UPDATE t SET v = 13 WHERE id = 1").expect("it runs");
    ask(&mut *waiter, "SHOW DATABASES").expect("it runs");
    assert_eq!(last_entry(&log).0, 0);
    ask(&mut *waiter, "SET @a = 1").expect("it runs");
    assert_eq!(last_entry(&log), (0, 0));

    // What a statement waited while the log was off is not left to the one that turns it on.
    for sql in ["SET GLOBAL slow_query_log = OFF", "BEGIN", "UPDATE t SET v = 14 WHERE id = 1"] {
        ask(&mut *holder, sql).expect("it runs");
    }
    ask(&mut *waiter, "UPDATE t SET v = 15 WHERE id = 1").expect_err("it waits too long");
    ask(&mut *waiter, "SET GLOBAL slow_query_log = ON").expect("it runs");
    assert_eq!(last_entry(&log), (0, 0));
}
