//! A statement that computes for long holds up nobody, even where one thread serves all connections: others are answered while it
//! runs, and KILL reaches it.

mod harness;

use client::{Connection, Error};
use harness::Server;

/// One group: whoever keeps the core keeps it from all.
fn server() -> Server {
    Server::start(&["--skip-ssl", "--worker-groups=1"])
}

fn number(connection: &mut Connection, sql: &str) -> i64 {
    let mut answer = connection.query(sql.as_bytes()).expect(sql);
    assert!(answer.next_result().expect(sql));
    answer.next_row().expect(sql).expect("a row").cell(0).as_i64().expect("a number")
}

fn run(connection: &mut Connection, sql: &str) -> Result<(), Error> {
    let mut answer = connection.query(sql.as_bytes())?;
    while answer.next_result()? {
        while answer.next_row()?.is_some() {}
    }
    Ok(())
}

/// Runs it in a session of its own, waits until another session sees it run, and kills it. It would take minutes.
fn is_overtaken_and_killed(server: &Server, long: &str) {
    let mut other = server.root();
    let mut busy = server.root();
    let busy_id = number(&mut busy, "SELECT CONNECTION_ID()");
    run(&mut busy, "USE overtaken").expect("a schema");
    std::thread::scope(|scope| {
        let ended = scope.spawn(move || run(&mut busy, long));
        let running = format!(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {busy_id} AND COMMAND = 'Query' AND INFO IS NOT NULL"
        );
        while number(&mut other, &running) == 0 {
            assert!(!ended.is_finished(), "over before anybody saw it: {long}: {:?}", ended.join());
        }
        run(&mut other, &format!("KILL QUERY {busy_id}")).expect("it is there");
        let error = ended.join().expect("no panic").expect_err(long);
        assert!(matches!(&error, Error::Server(error) if error.number == 1317), "{long}: {error:?}");
    });
}

#[test]
fn long_statements_are_overtaken_and_killed() {
    let server = server();
    let mut root = server.root();
    for sql in [
        "CREATE DATABASE overtaken",
        "USE overtaken",
        "CREATE TABLE n (i INT PRIMARY KEY)",
        "INSERT INTO n WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 1000) SELECT i FROM r",
        "CREATE TABLE filled (i BIGINT)",
        "INSERT INTO filled VALUES (1)",
        "CREATE PROCEDURE spin() BEGIN l: LOOP SET @a = 1; END LOOP; END",
    ] {
        run(&mut root, sql).expect(sql);
    }
    // What may differ each time is computed for each reader, as in MySQL: 2 to the power of 36 times.
    let volatile = (0..36).fold("RAND()".to_owned(), |inner, _| format!("NULLIF({inner}, 5)"));
    for long in [
        &*format!("SELECT {volatile}"),
        "SELECT COUNT(*) FROM n a, n b, n c, n d",
        "SELECT SUM(a.i * b.i) FROM n a, n b, n c, n d WHERE a.i * b.i * c.i * d.i = -1",
        "SELECT a.i FROM n a, n b, n c, n d ORDER BY a.i * b.i * c.i * d.i LIMIT 1",
        "SELECT a.i % 7, COUNT(*) FROM n a, n b, n c, n d GROUP BY a.i % 7",
        "SELECT DISTINCT a.i FROM n a, n b, n c, n d ORDER BY a.i LIMIT 5",
        "SELECT SUM((SELECT COUNT(*) FROM n b, n c, n d WHERE b.i > a.i)) FROM n a",
        "SELECT COUNT(*) FROM n a WHERE EXISTS (SELECT 1 FROM n b, n c, n d WHERE b.i * c.i * d.i = -a.i)",
        "SELECT a.i FROM n a, n b, n c, n d WHERE a.i < 0 + b.i - b.i UNION SELECT a.i FROM n a, n b, n c, n d",
        "INSERT INTO filled SELECT 1 FROM n a, n b, n c, n d WHERE a.i * b.i * c.i * d.i = -1",
        "UPDATE filled SET i = 2 WHERE (SELECT COUNT(*) FROM n b, n c, n d) = 0",
        "WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT r.i + 1 FROM r, n a, n b, n c WHERE r.i < 3) SELECT COUNT(*) FROM r",
        "CALL spin()",
    ] {
        is_overtaken_and_killed(&server, long);
    }
}

/// Forty levels of what reads an operand several times: neither time nor memory doubles with each of them.
#[test]
fn nested_operands_are_computed_once() {
    const LEVELS: usize = 40;
    const MEMORY: &str = "SET SESSION connection_memory_limit = 67108864, max_execution_time = 20000";
    let server = server();
    let mut root = server.root();
    for sql in [
        "CREATE DATABASE nested",
        "USE nested",
        "CREATE TABLE k (i INT)",
        "INSERT INTO k VALUES (1), (2)",
        "SET GLOBAL global_connection_memory_tracking = 1",
        MEMORY,
    ] {
        run(&mut root, sql).expect(sql);
    }
    for level in [
        "NULLIF(% + 0, 100)",
        "(% BETWEEN 0 AND 100)",
        "(CASE % WHEN 1 THEN 1 WHEN 2 THEN 3 ELSE 4 END)",
        "((%, 1) < (1, 2))",
        "((%, 1) IN ((1, 2), (1, 1)))",
        "(IF(% > 0.5, 1, 2) + 0.5)",
        "NULLIF(1, NULLIF(%, 100))",
        "(% IN (1, 'x'))",
    ] {
        let nested = (0..LEVELS).fold("i".to_owned(), |inner, _| level.replace('%', &inner));
        let sql = format!("SELECT {nested} FROM k");
        run(&mut root, &sql).unwrap_or_else(|error| panic!("{level}: {error:?}"));
    }
}
