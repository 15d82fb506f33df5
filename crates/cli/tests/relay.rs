//! `invar shard` before a server: who gets which connection, what is made again there, and what clients see when something ends.
//!
//! The backend is `invar serve`; with `INVAR_ORACLE=mysql://...` the same tests run before a MySQL 9.7, but for those that kill it.

mod harness;

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use client::{Connection, Error, Options, Param};
use harness::{Server, framed};

/// Backends to test before: our own, and the other if there is one.
struct Backends {
    own: Server,
    other: Option<Options>,
}

impl Backends {
    fn start() -> Backends {
        let own = Server::start(&["--skip-ssl", "--local-infile=1"]);
        Backends { own, other: harness::oracle("INVAR_ORACLE") }
    }

    fn each(&self, options: &[&str], test: impl Fn(&Server)) {
        static OTHER: Mutex<()> = Mutex::new(());
        for backend in [Some(self.own.options()), self.other.clone()].into_iter().flatten() {
            // One test at a time has its schema there.
            let _turn = OTHER.lock().unwrap_or_else(PoisonError::into_inner);
            let mut direct = Connection::connect(&backend).expect("the backend answers");
            direct.run(b"DROP DATABASE IF EXISTS relayed").expect("the account may");
            direct.run(b"CREATE DATABASE relayed").expect("the account may");
            let relay = Server::relay(&backend, options);
            test(&relay);
            drop(relay);
            direct.run(b"DROP DATABASE relayed").expect("the account may");
        }
    }
}

fn client(relay: &Server) -> Connection {
    let options = Options { database: Some("relayed".to_owned()), ..relay.options() };
    Connection::connect(&options).expect("the relay lets root in")
}

/// The only cell of an answer, as text.
fn cell(connection: &mut Connection, sql: &str) -> Result<String, Error> {
    let mut answer = connection.query(sql.as_bytes())?;
    answer.next_result()?;
    let mut text = Vec::new();
    if let Some(row) = answer.next_row()?
        && !row.cell(0).write_text(&row.columns().get(0), &mut text)
    {
        text = b"NULL".to_vec();
    }
    answer.finish()?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The only cell of a prepared statement's answer.
fn executed(
    connection: &mut Connection,
    statement: &mut client::Statement,
    values: &[Param<'_>],
) -> Result<String, Error> {
    let mut answer = connection.execute(statement, values)?;
    answer.next_result()?;
    let mut text = Vec::new();
    if let Some(row) = answer.next_row()? {
        row.cell(0).write_text(&row.columns().get(0), &mut text);
    }
    answer.finish()?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A counter of SHOW RELAY STATUS.
fn counter(connection: &mut Connection, name: &str) -> u64 {
    let mut answer = connection.query(b"SHOW RELAY STATUS").expect("the relay answers");
    assert!(answer.next_result().expect("the relay answers"));
    let mut found = None;
    while let Some(row) = answer.next_row().expect("the relay answers") {
        if row.cell(0).as_str() == Some(name) {
            found = row.cell(1).as_str().and_then(|text| text.parse().ok());
        }
    }
    found.unwrap_or_else(|| panic!("no counter {name}"))
}

#[test]
fn what_a_client_leaves_is_not_seen_by_the_next() {
    Backends::start().each(&["--backend-connections=1"], |relay| {
        let mut one = client(relay);
        for sql in [
            "SET @x = 5",
            "CREATE TEMPORARY TABLE t (a INT)",
            "SET SESSION sql_mode = ''",
            "SET timestamp = 5",
            "BEGIN",
        ] {
            one.run(sql.as_bytes()).expect(sql);
        }
        assert_eq!(cell(&mut one, "SELECT @x").unwrap(), "5");
        one.quit();
        let mut two = client(relay);
        assert_eq!(cell(&mut two, "SELECT @x").unwrap(), "NULL");
        assert_eq!(cell(&mut two, "SELECT @@sql_mode = ''").unwrap(), "0");
        assert_eq!(cell(&mut two, "SELECT @@timestamp < 1000").unwrap(), "0");
        assert_eq!(two.run(b"SELECT * FROM t").unwrap_err().number(), Some(1146));
        assert_eq!(counter(&mut two, "Relay_backend_connections_opened"), 1);
    });
}

#[test]
fn settings_follow_their_client() {
    Backends::start().each(&["--backend-connections=1"], |relay| {
        let (mut one, mut two) = (client(relay), client(relay));
        one.run(b"SET SESSION sql_mode = 'ANSI_QUOTES', time_zone = '+03:00'").unwrap();
        one.run(b"SET NAMES latin1").unwrap();
        one.run(b"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").unwrap();
        for _ in 0..3 {
            assert_eq!(cell(&mut one, "SELECT @@time_zone").unwrap(), "+03:00");
            assert_eq!(cell(&mut one, "SELECT @@sql_mode").unwrap(), "ANSI_QUOTES");
            assert_eq!(cell(&mut one, "SELECT @@character_set_client").unwrap(), "latin1");
            assert_eq!(cell(&mut one, "SELECT @@transaction_isolation").unwrap(), "READ-COMMITTED");
            assert_ne!(cell(&mut two, "SELECT @@time_zone").unwrap(), "+03:00");
            assert_eq!(cell(&mut two, "SELECT @@character_set_client").unwrap(), "utf8mb4");
            assert_eq!(cell(&mut two, "SELECT @@transaction_isolation").unwrap(), "REPEATABLE-READ");
            assert_eq!(cell(&mut two, "SELECT DATABASE()").unwrap(), "relayed");
        }
        two.use_database("mysql").unwrap();
        assert_eq!(cell(&mut one, "SELECT DATABASE()").unwrap(), "relayed");
        assert_eq!(cell(&mut two, "SELECT DATABASE()").unwrap(), "mysql");
        two.run(b"USE relayed").unwrap();
        assert_eq!(cell(&mut one, "SELECT 1").unwrap(), "1");
        assert_eq!(cell(&mut two, "SELECT DATABASE()").unwrap(), "relayed");
        // Autocommit off keeps the connection from the first statement to COMMIT.
        one.run(b"CREATE TABLE s (a INT)").unwrap();
        one.run(b"SET autocommit = 0").unwrap();
        one.run(b"INSERT INTO s VALUES (1)").unwrap();
        one.run(b"ROLLBACK").unwrap();
        assert_eq!(cell(&mut two, "SELECT COUNT(*) FROM s").unwrap(), "0");
        let unknown = Options { database: Some("nowhere".to_owned()), ..relay.options() };
        assert_eq!(Connection::connect(&unknown).unwrap_err().number(), Some(1049));
    });
}

#[test]
fn insert_ids_and_warnings_stay_with_their_client() {
    Backends::start().each(&["--backend-connections=1"], |relay| {
        let (mut one, mut two) = (client(relay), client(relay));
        one.run(b"CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT)").unwrap();
        one.run(b"INSERT INTO t (a) VALUES (1), (2), (3)").unwrap();
        assert_eq!(cell(&mut two, "SELECT LAST_INSERT_ID()").unwrap(), "0");
        two.run(b"INSERT INTO t (a) VALUES (4)").unwrap();
        assert_eq!(cell(&mut one, "SELECT LAST_INSERT_ID()").unwrap(), "1");
        assert_eq!(cell(&mut two, "SELECT LAST_INSERT_ID()").unwrap(), "4");
        one.run(b"INSERT INTO t VALUES (100, 5)").unwrap();
        assert_eq!(cell(&mut two, "SELECT 1").unwrap(), "1");
        assert_eq!(cell(&mut one, "SELECT LAST_INSERT_ID()").unwrap(), "1");
        assert_eq!(one.query(b"SELECT 1 + 'x'").unwrap().finish().unwrap().warnings, 1);
        let mut answer = one.query(b"SHOW WARNINGS").unwrap();
        answer.next_result().unwrap();
        assert!(answer.next_row().unwrap().is_some());
        answer.finish().unwrap();
        one.query(b"SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1").unwrap().finish().unwrap();
        assert_eq!(cell(&mut one, "SELECT FOUND_ROWS()").unwrap(), "5");
        // It is never another client's.
        two.query(b"SELECT id FROM t").unwrap().finish().unwrap();
        assert_eq!(cell(&mut one, "SELECT FOUND_ROWS()").unwrap_err().number(), Some(1235));
    });
}

#[test]
fn prepared_statements_are_made_again_where_they_are_missing() {
    Backends::start().each(&["--backend-connections=1"], |relay| {
        let (mut one, mut two) = (client(relay), client(relay));
        let mut a = one.prepare(b"SELECT CONCAT('one', ?, ?)").unwrap();
        let mut b = two.prepare(b"SELECT CONCAT('two', ?)").unwrap();
        let mut same = one.prepare(b"SELECT CONCAT('two', ?)").unwrap();
        for _ in 0..3 {
            assert_eq!(executed(&mut one, &mut a, &[Param::Int(1), Param::Bytes(b"x")]).unwrap(), "one1x");
            // Its connection is reset by what the other client leaves.
            two.run(b"SET @x = 1").unwrap();
            two.reset_session().unwrap();
            b = two.prepare(b"SELECT CONCAT('two', ?)").unwrap();
            assert_eq!(executed(&mut two, &mut b, &[Param::Bytes(b"y")]).unwrap(), "twoy");
            assert_eq!(executed(&mut one, &mut same, &[Param::Int(7)]).unwrap(), "two7");
            assert_eq!(executed(&mut two, &mut b, &[Param::Bytes(b"z")]).unwrap(), "twoz");
        }
        one.close(a).unwrap();
        assert_eq!(executed(&mut one, &mut same, &[Param::Int(8)]).unwrap(), "two8");
        // More statements than a connection keeps.
        let mut many: Vec<_> =
            (0..300).map(|at| one.prepare(format!("SELECT {at} + ?").as_bytes()).unwrap()).collect();
        for (at, statement) in many.iter_mut().enumerate() {
            assert_eq!(executed(&mut one, statement, &[Param::Int(1)]).unwrap(), (at + 1).to_string());
        }
        // Long data and a cursor keep the connection while they last.
        let mut long = one.prepare(b"SELECT LENGTH(?)").unwrap();
        one.send_long_data(&long, 0, &[b'x'; 100]).unwrap();
        one.send_long_data(&long, 0, &[b'x'; 23]).unwrap();
        assert_eq!(executed(&mut one, &mut long, &[Param::LongData]).unwrap(), "123");
        assert_eq!(executed(&mut two, &mut b, &[Param::Bytes(b"q")]).unwrap(), "twoq");
        let mut rows = one.prepare(b"SELECT 1 UNION SELECT 2 UNION SELECT 3").unwrap();
        let mut found = 0;
        assert!(one.open_cursor(&mut rows, &[]).unwrap());
        for _ in 0..3 {
            let mut answer = one.fetch(&rows, 1).unwrap();
            while answer.next_row().unwrap().is_some() {
                found += 1;
            }
        }
        assert_eq!(found, 3);
        one.reset(&mut rows).unwrap();
        assert_eq!(executed(&mut two, &mut b, &[Param::Bytes(b"r")]).unwrap(), "twor");
    });
}

#[test]
fn who_waits_too_long_gets_an_error_and_who_waits_shortly_an_answer() {
    Backends::start().each(&["--backend-connections=1", "--backend-wait=1"], |relay| {
        let (mut one, mut two) = (client(relay), client(relay));
        one.run(b"BEGIN").unwrap();
        let started = Instant::now();
        assert_eq!(cell(&mut two, "SELECT 1").unwrap_err().number(), Some(1040));
        assert!(started.elapsed() < Duration::from_secs(5));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| cell(&mut two, "SELECT 2"));
            std::thread::sleep(Duration::from_millis(300));
            one.run(b"COMMIT").unwrap();
            assert_eq!(waiting.join().unwrap().unwrap(), "2");
        });
        // A client that goes ends its transaction.
        one.run(b"BEGIN").unwrap();
        drop(one);
        assert_eq!(cell(&mut two, "SELECT 3").unwrap(), "3");
        assert!(
            counter(&mut two, "Relay_wait_timeouts") >= 1 && counter(&mut two, "Relay_pins_transaction") >= 2
        );
    });
}

#[test]
fn kill_reaches_the_statement_and_nobody_else() {
    Backends::start().each(&["--backend-connections=3"], |relay| {
        let (mut one, mut two) = (client(relay), client(relay));
        for round in 0..10 {
            let id = u64::from(one.connection_id());
            std::thread::scope(|scope| {
                let sleeping = scope.spawn(|| cell(&mut one, "SELECT SLEEP(20)"));
                std::thread::sleep(Duration::from_millis(100));
                two.run(format!("KILL QUERY {id}").as_bytes()).unwrap();
                let ended = sleeping.join().unwrap();
                assert!(
                    matches!(&ended, Ok(text) if text == "1")
                        || ended.is_err_and(|e| e.number() == Some(1317))
                );
            });
            for _ in 0..5 {
                assert_eq!(cell(&mut one, &format!("SELECT {round}")).unwrap(), round.to_string());
            }
        }
        let id = u64::from(one.connection_id());
        two.run(format!("KILL {id}").as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        assert!(one.run(b"SELECT 1").is_err());
        assert_eq!(two.run(b"KILL 999").unwrap_err().number(), Some(1094));
        // By the number that the session itself sees.
        let mut three = client(relay);
        let id = cell(&mut three, "SELECT CONNECTION_ID()").unwrap();
        std::thread::scope(|scope| {
            let sleeping = scope.spawn(|| cell(&mut three, "SELECT SLEEP(20)"));
            std::thread::sleep(Duration::from_millis(100));
            two.run(format!("KILL QUERY {id}").as_bytes()).unwrap();
            let started = Instant::now();
            let _ = sleeping.join().unwrap();
            assert!(started.elapsed() < Duration::from_secs(5));
        });
        // A client that goes while its statement runs ends it.
        let mut four = client(relay);
        four.send_raw(&framed(b"\x03SELECT SLEEP(20), 'left'", 0)).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        drop(four);
        let until = Instant::now() + Duration::from_secs(5);
        let left =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(20), ''left%'";
        while cell(&mut two, left).unwrap() != "0" {
            assert!(Instant::now() < until, "it still runs");
            std::thread::sleep(Duration::from_millis(50));
        }
    });
}

#[test]
fn large_and_odd_commands_pass() {
    Backends::start().each(&["--backend-connections=2", "--max-allowed-packet=64M"], |relay| {
        let mut one = client(relay);
        let limit = cell(&mut one, "SELECT @@max_allowed_packet").unwrap().parse::<usize>().unwrap();
        let frame = 0xff_ffff;
        for length in [
            100,
            255 << 10,
            (256 << 10) + 7,
            1 << 20,
            frame - 20,
            frame - 19,
            frame - 18,
            frame - 17,
            frame,
            frame + 9,
        ] {
            if length + 100 > limit {
                continue;
            }
            // `SELECT LENGTH('...')` with its byte: 18 bytes around.
            let sql = format!("SELECT LENGTH('{}')", "x".repeat(length));
            assert_eq!(cell(&mut one, &sql).unwrap(), length.to_string());
            let got = cell(&mut one, &format!("SELECT REPEAT('y', {length})")).unwrap();
            assert!(got.len() == length && got.bytes().all(|byte| byte == b'y'), "{length}");
        }
        // A statement of 400 columns, 17 KB.
        let columns: Vec<String> =
            (0..400).map(|at| format!("{at} AS a_long_name_of_a_column_{at:06}")).collect();
        let sql = format!("SELECT {}", columns.join(", "));
        assert!(sql.len() > 15_000);
        let mut answer = one.query(sql.as_bytes()).unwrap();
        answer.next_result().unwrap();
        assert_eq!(answer.columns().iter().count(), 400);
        let row = answer.next_row().unwrap().unwrap();
        assert_eq!((row.cell(0).as_i64(), row.cell(399).as_i64()), (Some(0), Some(399)));
        answer.finish().unwrap();
        // An INSERT of 12,000 parameters.
        one.run(b"CREATE TABLE wide (a INT, b VARCHAR(30), c INT)").unwrap();
        let rows = vec!["(?, ?, ?)"; 4000].join(", ");
        let mut insert = one.prepare(format!("INSERT INTO wide VALUES {rows}").as_bytes()).unwrap();
        let texts: Vec<String> = (0..4000).map(|at| format!("text {at}")).collect();
        let values: Vec<Param<'_>> = (0..4000)
            .flat_map(|at| [Param::Int(at), Param::Bytes(texts[at as usize].as_bytes()), Param::Int(-at)])
            .collect();
        for _ in 0..2 {
            assert_eq!(one.execute(&mut insert, &values).unwrap().finish().unwrap().affected_rows, 4000);
        }
        assert_eq!(cell(&mut one, "SELECT SUM(a + c) FROM wide").unwrap(), "0");
        assert_eq!(cell(&mut one, "SELECT COUNT(*) FROM wide WHERE b = CONCAT('text ', a)").unwrap(), "8000");
        // Several statements, an error in the middle, a local file.
        let several = Options {
            multi_statements: true,
            local_files: true,
            database: Some("relayed".into()),
            ..relay.options()
        };
        let mut many = Connection::connect(&several).unwrap();
        let mut answer = many.query(b"SELECT 1; SELECT 2; SELECT * FROM nowhere; SELECT 3").unwrap();
        assert!(answer.next_result().unwrap() && answer.next_result().unwrap());
        assert_eq!(answer.next_result().unwrap_err().number(), Some(1146));
        assert_eq!(cell(&mut many, "SELECT 4").unwrap(), "4");
        many.set_local_file(Some(Box::new(|_| {
            Ok(Box::new(std::io::Cursor::new("1\ta\t2\n".repeat(50_000))) as Box<dyn std::io::Read>)
        })));
        match many.run(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE wide") {
            Ok(summary) => assert_eq!(summary.affected_rows, 50_000),
            Err(error) => assert_eq!(error.number(), Some(3948), "local_infile is off there"),
        }
        assert_eq!(cell(&mut many, "SELECT 5").unwrap(), "5");
        assert_eq!(many.run(b"SELECT SLEEP(0), (SELECT 1 UNION SELECT 2)").unwrap_err().number(), Some(1242));
        let single = Options { multi_statements: false, ..several };
        let mut single = Connection::connect(&single).unwrap();
        assert_eq!(single.run(b"SELECT 1; SELECT 2").unwrap_err().number(), Some(1064));
    });
}

#[test]
fn bytes_may_come_one_by_one_and_commands_all_at_once() {
    Backends::start().each(&["--backend-connections=1"], |relay| {
        let mut one = client(relay);
        let command = framed(b"\x03SELECT 'in pieces'", 0);
        for at in 1..command.len() {
            one.send_raw(&command[..at]).unwrap();
            std::thread::sleep(Duration::from_millis(2));
            one.send_raw(&command[at..command.len() - 1]).unwrap();
            let stream = one.into_stream().unwrap();
            let client::Stream::Tcp(mut stream) = stream else { panic!("TCP") };
            stream.write_all(&command[command.len() - 1..]).unwrap();
            let mut answer = [0; 512];
            let mut got = 0;
            while !answer[..got].windows(9).any(|bytes| bytes == b"in pieces") || got < 60 {
                let count = std::io::Read::read(&mut stream, &mut answer[got..]).unwrap();
                assert!(count > 0, "closed at {at}");
                got += count;
            }
            drop(stream);
            one = client(relay);
        }
        // Three commands in one write: each answer in its turn.
        let commands =
            [framed(b"\x03SELECT 11", 0), framed(b"\x0e", 0), framed(b"\x03SELECT 22", 0)].concat();
        let client::Stream::Tcp(mut stream) = one.into_stream().unwrap() else { panic!("TCP") };
        stream.write_all(&commands).unwrap();
        let mut all = Vec::new();
        while !all.windows(3).any(|bytes| bytes == b"\x0222") {
            let mut piece = [0; 512];
            let count = std::io::Read::read(&mut stream, &mut piece).unwrap();
            assert!(count > 0);
            all.extend_from_slice(&piece[..count]);
        }
        assert!(all.windows(3).any(|bytes| bytes == b"\x0211"));
    });
}

#[test]
fn a_slow_reader_holds_up_nobody_and_costs_no_memory() {
    let backends = Backends::start();
    backends.each(&["--backend-connections=3"], |relay| {
        let mut slow = client(relay);
        let mut quick = client(relay);
        assert_eq!(cell(&mut quick, "SELECT 1").unwrap(), "1");
        let before = relay.memory_bytes();
        let sql = b"\x03WITH RECURSIVE n AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM n WHERE a < 1000) \
                    SELECT REPEAT('z', 100000) FROM n";
        slow.send_raw(&framed(sql, 0)).unwrap();
        for at in 0..20 {
            assert_eq!(cell(&mut quick, &format!("SELECT {at}")).unwrap(), at.to_string());
            std::thread::sleep(Duration::from_millis(20));
        }
        let grown = relay.memory_bytes().saturating_sub(before);
        assert!(grown < 8 << 20, "{grown} bytes for an answer that nobody reads");
        let client::Stream::Tcp(mut stream) = slow.into_stream().unwrap() else { panic!("TCP") };
        let (mut left, mut piece) = (100_000_000_usize, vec![0; 1 << 20]);
        while left > 0 {
            let count = std::io::Read::read(&mut stream, &mut piece).unwrap();
            assert!(count > 0, "closed with {left} to come");
            left = left.saturating_sub(count);
        }
    });
}

#[test]
fn who_stops_reading_gives_its_connection_up() {
    let backend = Server::start(&["--skip-ssl"]);
    let options = ["--backend-connections=1", "--net-write-timeout=1", "--backend-wait=20"];
    let relay = Server::relay(&backend.options(), &options);
    let mut slow = Connection::connect(&relay.options()).expect("the relay lets root in");
    let sql = b"\x03WITH RECURSIVE n AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM n WHERE a < 1000) \
                SELECT REPEAT('z', 100000) FROM n";
    slow.send_raw(&framed(sql, 0)).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let mut quick = Connection::connect(&relay.options()).expect("the relay lets root in");
    let started = Instant::now();
    assert_eq!(cell(&mut quick, "SELECT 1").unwrap(), "1");
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[test]
fn clients_never_mix() {
    Backends::start().each(&["--backend-connections=20", "--max-connections=3000", "--backend-wait=100"], |relay| {
        let mut setup = client(relay);
        setup.run(b"CREATE TABLE c (id INT PRIMARY KEY, n INT)").unwrap();
        setup.run(b"INSERT INTO c WITH RECURSIVE s AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM s WHERE a < 1000) SELECT a, 0 FROM s").unwrap();
        setup.run(b"INSERT INTO c SELECT id + 1000, 0 FROM c").unwrap();
        const THREADS: usize = 16;
        const EACH: usize = 2000 / THREADS;
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let done = &done;
                scope.spawn(move || {
                    let mut clients: Vec<_> = (0..EACH)
                        .map(|at| {
                            let mut connection = client(relay);
                            let statement = connection.prepare(b"SELECT ? * 10").unwrap();
                            (thread * EACH + at + 1, connection, statement)
                        })
                        .collect();
                    for round in 0..4 {
                        for (id, connection, statement) in &mut clients {
                            assert_eq!(cell(connection, &format!("SELECT {id} + {round}")).unwrap(), (*id + round).to_string());
                            let tens = executed(connection, statement, &[Param::Int(*id as i64)]).unwrap();
                            assert_eq!(tens, (*id * 10).to_string());
                            connection.run(b"BEGIN").unwrap();
                            connection.run(format!("UPDATE c SET n = n + 1 WHERE id = {id}").as_bytes()).unwrap();
                            let counted = cell(connection, &format!("SELECT n FROM c WHERE id = {id}")).unwrap();
                            assert_eq!(counted, (round + 1).to_string());
                            connection.run(if round % 2 == 0 { b"COMMIT" } else { b"COMMIT " }).unwrap();
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), 8000);
        assert_eq!(cell(&mut setup, "SELECT SUM(n) FROM c").unwrap(), "8000");
        assert!(counter(&mut setup, "Relay_backend_connections") <= 20);
    });
}

#[test]
fn a_backend_that_is_killed_gives_errors_and_no_wrong_answers() {
    let first = Server::start(&["--skip-ssl"]);
    let (port, folder) = (first.port(), first.folder());
    let port = format!("--port={port}");
    first.root().run(b"CREATE DATABASE relayed").unwrap();
    let relay = Server::relay(&first.options(), &["--backend-connections=6", "--backend-wait=5"]);
    let mut backend = Some(first);
    let stop = AtomicBool::new(false);
    let (right, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..8_usize {
            let (relay, stop, right, failed) = (&relay, &stop, &right, &failed);
            scope.spawn(move || {
                let mut at = thread * 1_000_000;
                while !stop.load(Ordering::Relaxed) {
                    let options = Options { database: Some("relayed".into()), ..relay.options() };
                    let Ok(mut connection) = Connection::connect(&options) else {
                        failed.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(5));
                        continue;
                    };
                    loop {
                        at += 1;
                        let begun = at % 3 == 0 && connection.run(b"BEGIN").is_ok();
                        let answer = cell(&mut connection, &format!("SELECT {at}"));
                        let committed = !begun || connection.run(b"COMMIT").is_ok();
                        match answer {
                            Ok(text) => {
                                assert_eq!(text, at.to_string());
                                right.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(Error::Server(error)) => {
                                assert!([1040, 1053, 1429, 1430].contains(&error.number), "{error:?}");
                                failed.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(_) => {
                                failed.fetch_add(1, Ordering::Relaxed);
                                break;
                            }
                        }
                        if !committed || stop.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                }
            });
        }
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(300));
            drop(backend.take()); // Killed.
            std::thread::sleep(Duration::from_millis(100));
            backend = Some(Server::start_in(Arc::clone(&folder), &["--skip-ssl", &port]));
        }
        std::thread::sleep(Duration::from_millis(500));
        stop.store(true, Ordering::Relaxed);
    });
    assert!(right.load(Ordering::Relaxed) > 50 && failed.load(Ordering::Relaxed) > 0);
    let mut one = client(&relay);
    assert_eq!(cell(&mut one, "SELECT 1").unwrap(), "1");
    // A transaction that is lost is said, and its client ends; one without goes on.
    let mut two = client(&relay);
    one.run(b"BEGIN").unwrap();
    assert_eq!(cell(&mut two, "SELECT 1").unwrap(), "1");
    drop(backend);
    std::thread::sleep(Duration::from_millis(100));
    let error = one.run(b"SELECT 2").unwrap_err();
    assert!(error.number() == Some(1430) && error.to_string().contains("127.0.0.1"), "{error}");
    assert!(one.run(b"SELECT 2").is_err_and(|error| error.number().is_none()));
    let error = two.run(b"SELECT 2").unwrap_err();
    let open = counter(&mut two, "Relay_backend_connections");
    assert!(
        error.number() == Some(1429) && error.to_string().contains("127.0.0.1"),
        "{error}; {open} connections are open"
    );
    let backend = Server::start_in(folder, &["--skip-ssl", &port]);
    assert_eq!(cell(&mut two, "SELECT 3").unwrap(), "3");
    drop(backend);
}

#[test]
fn accounts_tls_and_compression_end_at_the_front_door() {
    let backend = Server::start(&["--skip-ssl"]);
    let url = format!("--backend=mysql://root@127.0.0.1:{}", backend.port());
    let relay = Server::relay(&backend.options(), &["--ssl", &url]);
    let mut admin = Options::new(client::Address::Unix(relay.socket()), "root");
    admin.read_timeout = Some(harness::ANSWER_TIME_MAX);
    let mut admin = Connection::connect(&admin).expect("the administrator's socket");
    admin.run(b"CREATE USER app@localhost IDENTIFIED BY 'secret'").unwrap();
    let app = Options { user: "app".into(), password: b"secret".to_vec(), ..relay.options() };
    for (compress, tls) in [(false, false), (true, false), (false, true), (true, true)] {
        let tls = if tls { client::Tls::Required(client::unverified_tls()) } else { client::Tls::Off };
        let options = Options { compress, tls, get_server_public_key: true, ..app.clone() };
        let mut one = Connection::connect(&options).expect("the account is known here");
        assert_eq!(cell(&mut one, "SELECT CURRENT_USER()").unwrap().split('@').next(), Some("root"));
        for length in [10, 1 << 20, 20 << 20] {
            assert_eq!(cell(&mut one, &format!("SELECT REPEAT('x', {length})")).unwrap().len(), length);
        }
        let text = "x".repeat(2 << 20);
        assert_eq!(cell(&mut one, &format!("SELECT LENGTH('{text}')")).unwrap(), text.len().to_string());
    }
    let wrong = Options { password: b"wrong".to_vec(), get_server_public_key: true, ..app };
    assert_eq!(Connection::connect(&wrong).unwrap_err().number(), Some(1045));
    // A backend that does not let us in is named.
    let unknown = Options { user: "nobody".into(), ..backend.options() };
    let relay = Server::relay(&unknown, &[]);
    let mut one = Connection::connect(&relay.options()).expect("the relay lets root in");
    let error = one.run(b"SELECT 1").unwrap_err();
    assert!(error.number() == Some(1429) && error.to_string().contains("127.0.0.1"), "{error}");
}
