//! A real server whose files may not grow any more: statements fail, nothing is lost, and it goes on when they may.

use std::process::Command;
use std::time::Duration;

use client::{Connection, Error};

mod harness;

use harness::Server;

/// Longer than a segment of the log.
const FILE_BYTES_MAX: &str = "33554432";
const ROWS: u32 = 100;

fn limit_files(server: &Server, bytes: &str) {
    let done = Command::new("prlimit")
        .args(["--pid", &server.pid().to_string(), &format!("--fsize={bytes}:unlimited")])
        .status()
        .expect("prlimit is part of util-linux");
    assert!(done.success());
}

fn run(connection: &mut Connection, sql: &str) -> Result<u64, Error> {
    connection.run(sql.as_bytes()).map(|summary| summary.affected_rows)
}

/// Adds rows `first ..`, of a kilobyte each.
fn insert(connection: &mut Connection, first: u32) -> Result<u64, Error> {
    let rows: Vec<String> =
        (first..first + ROWS).map(|id| format!("({id}, REPEAT('{}', 1000))", id % 10)).collect();
    run(connection, &format!("INSERT INTO d.t VALUES {}", rows.join(",")))
}

fn count(connection: &mut Connection) -> u32 {
    let mut answer = connection.query(b"SELECT COUNT(*) FROM d.t WHERE LENGTH(s) = 1000").unwrap();
    assert!(answer.next_result().unwrap());
    let row = answer.next_row().unwrap().expect("one row");
    let mut text = Vec::new();
    let columns = row.columns();
    row.cells().next().expect("one column").write_text(&columns.get(0), &mut text);
    let count = String::from_utf8(text).unwrap().parse().unwrap();
    assert!(answer.next_row().unwrap().is_none());
    count
}

#[test]
fn statements_fail_while_the_files_cannot_grow_and_nothing_is_lost() {
    let options = ["--skip-ssl", "--innodb-buffer-pool-size=16M"];
    let server = Server::start(&options);
    let folder = server.folder();
    let mut root = server.root();
    run(&mut root, "CREATE DATABASE d").unwrap();
    run(&mut root, "CREATE TABLE d.t (id INT PRIMARY KEY, s VARBINARY(1000))").unwrap();
    run(&mut root, "CREATE TABLE d.small (id INT)").unwrap();
    limit_files(&server, FILE_BYTES_MAX);

    let mut acknowledged = 0;
    let refused = loop {
        match insert(&mut root, acknowledged) {
            Ok(_) => acknowledged += ROWS,
            Err(error) => break error,
        }
        assert!(acknowledged < 200_000, "nothing is ever refused");
    };
    assert_eq!(refused.number(), Some(1114), "{refused}");
    assert!(refused.to_string().contains("The table 't' is full"), "{refused}");
    assert_eq!(count(&mut root), acknowledged);
    run(&mut root, "BEGIN").unwrap();
    assert!(insert(&mut root, acknowledged).is_err());
    run(&mut root, "ROLLBACK").unwrap();
    assert_eq!(count(&mut server.root()), acknowledged);

    // What goes makes room for others, also while nothing can grow.
    run(&mut root, "DROP TABLE d.small").unwrap();
    acknowledged -= ROWS;
    assert_eq!(
        run(&mut root, &format!("DELETE FROM d.t WHERE id >= {acknowledged}")).unwrap(),
        u64::from(ROWS)
    );
    let fits = (0..100).any(|_| {
        let inserted = insert(&mut root, acknowledged).is_ok();
        if !inserted {
            std::thread::sleep(Duration::from_millis(100)); // Until purge and a checkpoint have been.
        }
        inserted
    });
    assert!(fits, "{acknowledged} rows");
    acknowledged += ROWS;
    assert_eq!(count(&mut root), acknowledged);

    limit_files(&server, "unlimited");
    for _ in 0..300 {
        if insert(&mut root, acknowledged).is_ok() {
            acknowledged += ROWS;
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    for _ in 0..20 {
        insert(&mut root, acknowledged).unwrap();
        acknowledged += ROWS;
    }
    assert_eq!(count(&mut root), acknowledged);
    drop(server);
    let server = Server::start_in(folder, &options);
    assert_eq!(count(&mut server.root()), acknowledged);
    server.stop();
}
