//! Statements over tables that another Invar server keeps: a second backend of `access`, without a change in `plan` or `exec`.
//!
//! The scripts are those of `crates/exec/tests`, with what MySQL 9.7 answers; the server is `invar serve` in a child process.

mod harness;
mod remote;
#[path = "../../exec/tests/world/mod.rs"]
mod world;

use harness::Server;
use std::cell::RefCell;
use std::sync::Arc;

use access::{Snapshot, Transaction};
use catalog::{TableDefinition, TableEntry};
use client::Connection;
use remote::{RemoteSnapshot, RemoteTable, RemoteTransaction};
use world::{Backend, World};

/// A database on another server.
struct Remote {
    connection: RefCell<Connection>,
}

impl Remote {
    /// Over a connection whose default database is empty.
    fn new(mut connection: Connection) -> Box<Remote> {
        remote::set_up(&mut connection).expect("the server takes the settings");
        Box::new(Remote { connection: RefCell::new(connection) })
    }
}

impl Backend for Remote {
    fn create(&mut self, definition: TableDefinition, sql: &str) -> Arc<TableEntry> {
        self.connection.get_mut().run(sql.as_bytes()).expect("the table is made");
        let definition = Arc::new(definition);
        Arc::new(TableEntry {
            definition: Arc::clone(&definition),
            source: Arc::new(RemoteTable::new(definition, 1)),
        })
    }

    fn drop_tables(&mut self, sql: &str) {
        self.connection.get_mut().run(sql.as_bytes()).expect("the tables are dropped");
    }

    fn transact(&mut self, run: &mut dyn FnMut(&dyn Snapshot, &mut dyn Transaction) -> bool) {
        let connection = self.connection.get_mut();
        // A connection that is lost says so again when it is used.
        let is_open = connection.run(b"START TRANSACTION WITH CONSISTENT SNAPSHOT").is_ok();
        let is_kept = run(&RemoteSnapshot, &mut RemoteTransaction::new(&mut *connection, &mut false));
        let end: &[u8] = if is_kept { b"COMMIT" } else { b"ROLLBACK" };
        if is_open {
            connection.run(end).expect("the transaction ends");
        }
    }
}

fn world(server: &Server, database: &'static str, found_rows: bool) -> World {
    let mut options = server.options();
    // An update answers whether there is the row.
    options.found_rows = true;
    let mut connection = Connection::connect(&options).expect("root is let in");
    for sql in [format!("DROP DATABASE IF EXISTS {database}"), format!("CREATE DATABASE {database}")] {
        connection.run(sql.as_bytes()).expect("an empty database");
    }
    connection.use_database(database).expect("the database is there");
    World::new(Remote::new(connection), database, found_rows)
}

#[test]
fn queries_over_a_connection_answer_as_mysql_does() {
    let server = Server::start(&[]);
    for script in ["select", "change", "errors"] {
        let mut world = world(&server, "plan_x", false);
        for sql in include_str!("../../exec/tests/queries/schema.sql").lines() {
            world.answer(sql.trim_end_matches(';'), false);
        }
        world::compare("queries", script, |statement| world.answer(statement, false));
    }
}

#[test]
fn changes_over_a_connection_answer_as_mysql_does() {
    let server = Server::start(&[]);
    for script in ["values", "numbers", "duplicates", "rows", "found_rows"] {
        let mut world = world(&server, "change_x", script == "found_rows");
        world::compare("changes", script, |statement| world.answer(statement, true));
    }
}

/// Locks, foreign keys and a lost connection: what the other server says arrives as MySQL's errors.
#[test]
fn errors_of_the_other_server_are_mysqls() {
    let server = Server::start(&["--innodb-lock-wait-timeout=1"]);
    let mut world = world(&server, "errors_x", false);
    for sql in [
        "CREATE TABLE parent (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, KEY p (p))",
        "INSERT INTO parent VALUES (1, 10), (2, 20), (3, 30)",
        "INSERT INTO child VALUES (1, 1)",
    ] {
        assert!(world.answer(sql, false).starts_with("OK"), "{sql}");
    }
    let mut other = server.root();
    for sql in [
        "ALTER TABLE errors_x.child ADD FOREIGN KEY (p) REFERENCES errors_x.parent (id)",
        "START TRANSACTION",
        "UPDATE errors_x.parent SET v = 21 WHERE id = 2",
    ] {
        other.run(sql.as_bytes()).expect("the other session goes on");
    }
    let number = |answer: String| -> u16 {
        let number = answer.strip_prefix("ERROR ").and_then(|rest| rest.split(':').next()?.parse().ok());
        number.unwrap_or_else(|| panic!("an error was expected: {answer}"))
    };
    for (sql, expected) in [
        ("UPDATE parent SET v = v + 1 WHERE v < 30", 1205),
        ("SELECT v FROM parent WHERE id = 2 FOR UPDATE NOWAIT", 3572),
        ("INSERT INTO child VALUES (2, 9)", 1452),
        ("DELETE FROM parent WHERE id = 1", 1451),
        ("INSERT INTO parent VALUES (4, 40), (1, 11)", 1062),
    ] {
        assert_eq!(number(world.answer(sql, false)), expected, "{sql}");
    }
    // What a statement that failed did before is undone, and a snapshot is what it was.
    assert_eq!(world.answer("SELECT id, v FROM parent ORDER BY id", false), "1\t10\n2\t20\n3\t30\n");
    assert_eq!(
        world.answer("SELECT id FROM parent WHERE v > 5 ORDER BY id FOR UPDATE SKIP LOCKED", false),
        "1\n3\n"
    );
    let ignored = world.answer("INSERT IGNORE INTO child VALUES (2, 9), (3, 3)", true);
    assert!(ignored.starts_with("OK 1 0 Records: 1  Duplicates: 0  Warnings: 1\nWarning 1452:"), "{ignored}");
    other.run(b"ROLLBACK").expect("the other session goes on");
    drop(server);
    assert_eq!(number(world.answer("SELECT id FROM parent", false)), 1030);
}
