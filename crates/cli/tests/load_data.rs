//! LOAD DATA LOCAL beside definitions that change: the client sends its file once, whatever happens to the table meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};

use client::Connection;

mod harness;

use harness::Server;

/// Loads of each client.
const LOADS: usize = 20;
/// Clients that load.
const CLIENTS: usize = 4;
/// Lines of a file: more than one packet.
const LINES: usize = 1_500;

fn must(connection: &mut Connection, sql: &str) {
    connection.run(sql.as_bytes()).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn session(server: &Server) -> Connection {
    let mut options = server.options();
    options.local_files = true;
    let mut connection = Connection::connect(&options).expect("root is let in");
    must(&mut connection, "CREATE DATABASE IF NOT EXISTS d");
    must(&mut connection, "USE d");
    connection
}

fn number(connection: &mut Connection, sql: &str) -> u64 {
    let mut answer = connection.query(sql.as_bytes()).expect(sql);
    let mut number = None;
    while answer.next_result().expect(sql) {
        while let Some(row) = answer.next_row().expect(sql) {
            number = row.cell(0).as_u64();
        }
    }
    number.expect("a number")
}

#[test]
fn a_file_is_asked_for_once_while_tables_are_altered() {
    let server = Server::start(&["--local-infile=1"]);
    let mut ddl = session(&server);
    must(&mut ddl, "CREATE TABLE parent (id INT PRIMARY KEY)");
    must(&mut ddl, "INSERT INTO parent VALUES (1)");
    must(&mut ddl, "CREATE TABLE t (client INT, line INT, p INT DEFAULT 1, w INT)");
    let file: Vec<u8> = (0..LINES).flat_map(|line| format!("{line}\tx\n").into_bytes()).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let loaders: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let mut connection = session(&server);
                let file = file.clone();
                connection.set_local_file(Some(Box::new(move |_| {
                    Ok(Box::new(std::io::Cursor::new(file.clone())) as Box<dyn std::io::Read>)
                })));
                scope.spawn(move || {
                    for load in 0..LOADS {
                        if load % 3 == 0 {
                            must(&mut connection, "BEGIN");
                        }
                        must(
                            &mut connection,
                            &format!(
                                "LOAD DATA LOCAL INFILE 'f' INTO TABLE t (line, @x) \
                                 SET client = {client}, w = 7"
                            ),
                        );
                        must(&mut connection, "DO 1");
                        must(&mut connection, "COMMIT");
                    }
                })
            })
            .collect();
        let done = &done;
        let ddl = &mut ddl;
        let altering = scope.spawn(move || {
            let statements = [
                "ALTER TABLE t ADD n INT FIRST",
                "ALTER TABLE t ADD KEY k (line)",
                "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (p) REFERENCES parent (id)",
                "ALTER TABLE t DROP FOREIGN KEY f",
                "ALTER TABLE t DROP KEY f",
                "ALTER TABLE t DROP KEY k",
                "ALTER TABLE t DROP n",
            ];
            let mut turn = 0;
            while !done.load(Ordering::SeqCst) {
                must(ddl, statements[turn % statements.len()]);
                turn += 1;
            }
            turn
        });
        let loaded: Vec<_> = loaders.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::SeqCst);
        assert!(altering.join().expect("definitions change") > 0);
        for client in loaded {
            client.expect("no connection is lost");
        }
    });
    let mut reader = session(&server);
    assert_eq!(number(&mut reader, "SELECT COUNT(*) FROM t WHERE w = 7"), (CLIENTS * LOADS * LINES) as u64);
    server.stop();
}
