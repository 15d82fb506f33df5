//! More clients wait for one row than the server has threads for: others are served, whoever ends a wait gets through, and all go on.

mod harness;

use std::time::{Duration, Instant};

use client::{Connection, Error};
use harness::Server;

fn run(connection: &mut Connection, sql: &str) -> Result<u64, Error> {
    connection.run(sql.as_bytes()).map(|summary| summary.affected_rows)
}

fn must(connection: &mut Connection, sql: &str) {
    run(connection, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn number_of(result: Result<u64, Error>) -> u16 {
    match result {
        Err(Error::Server(error)) => error.number,
        other => panic!("{other:?}"),
    }
}

/// The last column of the only row.
fn one(connection: &mut Connection, sql: &str) -> String {
    let mut answer = connection.query(sql.as_bytes()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert!(answer.next_result().unwrap(), "{sql}");
    let row = answer.next_row().unwrap().expect("a row");
    let columns = row.columns();
    let (number, cell) = row.cells().enumerate().last().expect("a column");
    let mut text = Vec::new();
    cell.write_text(&columns.get(number), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn status(connection: &mut Connection, name: &str) -> u64 {
    one(connection, &format!("SHOW GLOBAL STATUS LIKE '{name}'")).parse().expect("a number")
}

#[track_caller]
fn wait_for(connection: &mut Connection, name: &str, least: u64) {
    let start = Instant::now();
    while status(connection, name) < least {
        assert!(start.elapsed() < Duration::from_secs(60), "{name} stays below {least}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn session(server: &Server) -> Connection {
    let mut connection = server.root();
    must(&mut connection, "USE hot");
    connection
}

/// One group with two rows.
fn server(options: &[&str]) -> (Server, Connection) {
    let server = Server::start(&[&["--skip-ssl", "--worker-groups=1"], options].concat());
    let mut root = server.root();
    must(&mut root, "CREATE DATABASE hot");
    must(&mut root, "USE hot");
    must(&mut root, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)");
    must(&mut root, "INSERT INTO t VALUES (1, 0), (2, 0)");
    must(&mut root, &format!("CREATE PROCEDURE add_one() {ADD}"));
    (server, root)
}

const ADD: &str = "UPDATE t SET n = n + 1 WHERE id = 1";

#[test]
fn more_wait_for_a_row_than_there_are_threads_for() {
    let (server, mut other) = server(&["--worker-waiters=3"]);
    let mut holder = session(&server);
    must(&mut holder, "BEGIN");
    must(&mut holder, ADD);
    let questions = status(&mut other, "Questions");
    let updates = status(&mut other, "Com_update");
    std::thread::scope(|scope| {
        let server = &server;
        let plain: Vec<_> = (0..12).map(|_| scope.spawn(|| run(&mut session(server), ADD))).collect();
        let in_transactions: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut own = session(server);
                    must(&mut own, "BEGIN");
                    must(&mut own, "INSERT INTO t VALUES (CONNECTION_ID() + 100, 1)");
                    let mut statement = own.prepare(ADD.as_bytes()).unwrap();
                    assert_eq!(own.execute(&mut statement, &[]).unwrap().finish().unwrap().affected_rows, 1);
                    run(&mut own, "COMMIT")
                })
            })
            .collect();
        wait_for(&mut other, "Statements_requeued", 13);
        assert_eq!(status(&mut other, "Innodb_row_lock_current_waits"), 3);
        // Others are served, and those who wait without a thread are heard and seen.
        must(&mut other, "UPDATE t SET n = n + 1 WHERE id = 2");
        let shown = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND IN ('Query', 'Execute') AND INFO LIKE 'UPDATE t SET n = n + 1 WHERE id = 1'";
        assert_eq!(one(&mut other, shown), "16");
        let mut late = session(server);
        must(&mut late, "SET innodb_lock_wait_timeout = 1");
        assert_eq!(number_of(run(&mut late, ADD)), 1205);
        let mut killed = session(server);
        let id = killed.connection_id();
        let requeued = status(&mut other, "Statements_requeued");
        let killed = scope.spawn(move || (number_of(run(&mut killed, ADD)), one(&mut killed, "SELECT 7")));
        wait_for(&mut other, "Statements_requeued", requeued + 1);
        must(&mut other, &format!("KILL QUERY {id}"));
        assert_eq!(killed.join().unwrap(), (1317, "7".to_owned()));
        // What cannot be given again is refused.
        must(&mut late, "SET innodb_lock_wait_timeout = 50");
        assert_eq!(number_of(run(&mut late, "CALL add_one()")), 1135);
        must(&mut holder, "COMMIT");
        for thread in plain {
            assert_eq!(thread.join().unwrap().unwrap(), 1);
        }
        for thread in in_transactions {
            thread.join().unwrap().unwrap();
        }
    });
    assert_eq!(one(&mut other, "SELECT n FROM t WHERE id = 1"), "17");
    assert_eq!(one(&mut other, "SELECT COUNT(*) FROM t WHERE id > 2"), "4");
    // Each counted once: 16, those of `other` at the row beside, too late, killed, refused.
    assert_eq!(status(&mut other, "Com_update") - updates, 16 + 4);
    assert!(status(&mut other, "Questions") > questions);
    assert_eq!(status(&mut other, "Innodb_row_lock_current_waits"), 0);
    drop((holder, other));
    server.stop();
}

/// A hot row: few of the statements that hold nothing have a thread, in their order; one that holds something, or
/// cannot be requeued, always has one.
#[test]
fn a_crowd_at_one_row_leaves_the_threads_to_others() {
    const WAITS: &str = "Innodb_row_lock_current_waits";
    let (server, mut other) = server(&[]);
    let mut holder = session(&server);
    must(&mut holder, "BEGIN");
    must(&mut holder, ADD);
    must(&mut holder, "INSERT INTO t VALUES (3, 0), (4, 0), (5, 0)");
    std::thread::scope(|scope| {
        let server = &server;
        let crowd: Vec<_> = (0..40).map(|_| scope.spawn(|| run(&mut session(server), ADD))).collect();
        wait_for(&mut other, "Statements_requeued", 24);
        assert_eq!(status(&mut other, WAITS), 16);
        // A deadlock with a transaction that holds a row lock is detected, however many wait for the other row.
        let in_deadlock = scope.spawn(|| {
            let mut own = session(server);
            must(&mut own, "BEGIN");
            must(&mut own, "UPDATE t SET n = n + 1 WHERE id = 2");
            number_of(run(&mut own, ADD))
        });
        wait_for(&mut other, WAITS, 17);
        must(&mut holder, "UPDATE t SET n = n + 1 WHERE id = 2");
        assert_eq!(in_deadlock.join().unwrap(), 1213);
        let call = scope.spawn(|| run(&mut session(server), "CALL add_one()"));
        wait_for(&mut other, WAITS, 17);
        // The next lock has a wait queue of its own.
        let neighbours: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| run(&mut session(server), "UPDATE t SET n = n + 1 WHERE id = 2")))
            .collect();
        wait_for(&mut other, WAITS, 20);
        assert_eq!(status(&mut other, "Statements_requeued"), 24);
        must(&mut holder, "COMMIT");
        for thread in crowd.into_iter().chain(neighbours) {
            assert_eq!(thread.join().unwrap().unwrap(), 1);
        }
        call.join().unwrap().unwrap();
    });
    assert_eq!(one(&mut other, "SELECT n FROM t WHERE id = 1"), "42");
    assert_eq!(one(&mut other, "SELECT n FROM t WHERE id = 2"), "4");
    assert_eq!(status(&mut other, WAITS), 0);
    drop((holder, other));
    server.stop();
}

/// A definition that waits for a transaction, and everybody behind it.
#[test]
fn more_wait_for_a_table_than_there_are_threads_for() {
    let (server, mut other) = server(&["--worker-waiters=3"]);
    let mut holder = session(&server);
    must(&mut holder, "BEGIN");
    must(&mut holder, "SELECT * FROM t WHERE id = 2 FOR UPDATE");
    std::thread::scope(|scope| {
        let server = &server;
        let definer = scope.spawn(|| run(&mut session(server), "ALTER TABLE t ADD COLUMN m INT"));
        // It keeps newcomers out as soon as it waits.
        let start = Instant::now();
        must(&mut other, "SET lock_wait_timeout = 1");
        while run(&mut other, "DO (SELECT COUNT(*) FROM t)").is_ok() {
            assert!(start.elapsed() < Duration::from_secs(60));
        }
        let users: Vec<_> = (0..10).map(|_| scope.spawn(|| run(&mut session(server), ADD))).collect();
        wait_for(&mut other, "Statements_requeued", 7);
        must(&mut holder, "COMMIT");
        definer.join().unwrap().unwrap();
        for user in users {
            assert_eq!(user.join().unwrap().unwrap(), 1);
        }
    });
    assert_eq!(one(&mut other, "SELECT n FROM t WHERE id = 1"), "10");
    drop((holder, other));
    server.stop();
}

/// One turn for each group: long computations take turns, and short statements wait for none of them.
#[test]
fn long_computations_take_turns() {
    let server = Server::start(&["--skip-ssl", "--worker-groups=1", "--innodb-thread-concurrency=1"]);
    let mut other = server.root();
    std::thread::sleep(Duration::from_millis(1_200)); // The number is taken over once a second.
    let long = "WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 60000) SELECT COUNT(*) FROM r a WHERE i > 0";
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut own = server.root();
                    must(&mut own, "SET cte_max_recursion_depth = 100000");
                    one(&mut own, long)
                })
            })
            .collect();
        wait_for(&mut other, "Statements_queued", 1);
        for thread in threads {
            assert_eq!(thread.join().unwrap(), "60000");
        }
    });
    assert_eq!(one(&mut other, "SELECT @@innodb_thread_concurrency"), "1");
    server.stop();
}
