//! What no well-behaved client sends: packets that lie, handshakes that stop, statements without end. The server gives a
//! clear MySQL error or closes the connection, goes on serving others, and its memory stays within a named bound.

mod harness;

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use client::{Capabilities, Connection, Error, Param};
use harness::{ANSWER_TIME_MAX, Server, framed};
use wire::handshake::{Greeting, HandshakeResponse};

/// Memory of a server that was only attacked with small packets, bytes.
const MEMORY_BYTES_MAX_SMALL: usize = 200 << 20;
/// Memory of a server at the height of one statement of 64 MB, bytes: the packet, its literal, the row and the answer, and
/// each once more while its vector grows.
const MEMORY_BYTES_MAX_LARGE: usize = 900 << 20;
/// Memory of a server at the height of one statement of a few MB that is all structure, bytes.
const MEMORY_BYTES_MAX_STRUCTURE: usize = 1200 << 20;
/// The default of `max_allowed_packet`, bytes.
const MAX_ALLOWED_PACKET: usize = 64 << 20;

fn server() -> Server {
    Server::start(&["--skip-ssl"])
}

fn is_alive(server: &Server) {
    let mut root = server.root();
    let mut answer = root.query(b"SELECT 40 + 2").expect("the server listens");
    assert!(answer.next_result().expect("the server answers"));
    assert_eq!(answer.next_row().expect("a row").expect("a row").cell(0).as_i64(), Some(42));
}

fn assert_memory(server: &Server, bytes_max: usize) {
    let bytes = server.memory_bytes_max();
    assert!(bytes <= bytes_max, "the server used {} MB, {} MB are allowed", bytes >> 20, bytes_max >> 20);
}

/// A connection and the greeting's challenge.
fn greeted(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("the server listens");
    stream.set_read_timeout(Some(ANSWER_TIME_MAX)).expect("a timeout");
    let mut header = [0; 4];
    stream.read_exact(&mut header).expect("a greeting");
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload).expect("a greeting");
    if payload[0] != 0xff {
        Greeting::decode(&payload).expect("a greeting");
    }
    stream
}

/// Sends bytes and no more, and reads what comes until the end; the end must come.
fn all_that_comes(mut stream: TcpStream, bytes: &[u8]) -> Vec<u8> {
    let _ = stream.write_all(bytes); // The server may have closed already.
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the connection was not closed: {error}"),
    }
    answer
}

const CAPABILITIES: Capabilities = Capabilities(
    Capabilities::PROTOCOL_41.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::DEPRECATE_EOF.0
        | Capabilities::TRANSACTIONS.0,
);

fn response() -> Vec<u8> {
    let mut payload = Vec::new();
    HandshakeResponse {
        capabilities: CAPABILITIES,
        packet_bytes_max: 1 << 24,
        collation: 255,
        user: b"root",
        auth_response: b"",
        database: Some(b"information_schema"),
        auth_plugin: Some(b"caching_sha2_password"),
        attributes: vec![(b"_client_name", b"bad"), (b"program", b"input")],
    }
    .encode(&mut payload);
    payload
}

#[test]
fn handshakes_cut_or_changed_at_any_byte_are_refused() {
    let server = server();
    let whole = framed(&response(), 1);
    for end in 0..whole.len() {
        all_that_comes(greeted(&server), &whole[..end]);
    }
    let answer = all_that_comes(greeted(&server), &whole);
    assert_eq!(answer.get(4), Some(&0), "the whole of it is let in: {answer:?}");
    for at in 0..whole.len() {
        for byte in [0, 0xfb, 0xfe, 0xff, whole[at] ^ 0x80] {
            let mut changed = whole.clone();
            changed[at] = byte;
            all_that_comes(greeted(&server), &changed);
        }
    }
    // The payload cut, its length right.
    for end in 0..whole.len() - 4 {
        all_that_comes(greeted(&server), &framed(&whole[4..4 + end], 1));
    }
    // Greeted and then told something else entirely.
    for bytes in [
        &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
        b"\xff\xff\xff\x01",
        b"\0\0\0\x01",
        b"\x01\0\0\x01\x03",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        all_that_comes(greeted(&server), bytes);
    }
    is_alive(&server);
    assert_memory(&server, MEMORY_BYTES_MAX_SMALL);
    server.stop();
}

/// Logs in, sends `bytes` and reads to the end.
fn after_login(server: &Server, bytes: &[u8]) -> Vec<u8> {
    let mut stream = greeted(server);
    stream.write_all(&framed(&response(), 1)).expect("the server reads");
    all_that_comes(stream, bytes)
}

#[test]
fn commands_that_lie_are_answered_or_end_the_connection() {
    let server = server();
    // Every command byte with nothing, little and much behind it. COM_SHUTDOWN is one of them and no longer shuts down.
    for command in 0..=255u8 {
        for rest in [&b""[..], b"\0", b"x", &[0xff; 9], &[0xfe; 40], &[0; 300]] {
            let mut payload = vec![command];
            payload.extend_from_slice(rest);
            after_login(&server, &framed(&payload, 0));
        }
    }
    // A packet's number, and a length that is never filled.
    for frames in [
        &b"\x01\0\0\x07\x0e"[..],
        b"\xff\xff\xff\0\x03SELECT 1",
        b"\xfe\xff\xff\0\x03",
        b"\0\0\0\0",
        b"\0\0\0\0\0\0\0\x01",
        b"\x09\0\0\0\x03SELECT 1\x09\0\0\0\x03SELECT 1\x09\0",
    ] {
        after_login(&server, frames);
    }
    is_alive(&server);
    assert_memory(&server, MEMORY_BYTES_MAX_SMALL);
    server.stop();
}

#[test]
fn executions_that_lie_are_errors() {
    let server = server();
    let values = [
        Param::Int(-5),
        Param::Null,
        Param::Bytes(b"text"),
        Param::Decimal(b"1.5"),
        Param::Double(2.5),
        Param::DateTime(wire::row::DateTimeFields {
            year: 2024,
            month: 2,
            day: 3,
            micros: 4,
            ..Default::default()
        }),
        Param::Time(wire::row::TimeFields { hours: 30, ..Default::default() }),
        Param::UInt(u64::MAX),
    ];
    let mut parameters = Vec::new();
    wire::parameter::put_parameters(&mut parameters, &values, false);
    let mut connection = server.root();
    let mut bad = 0;
    let mut good = 0;
    let mut attempt = |parameters: &[u8]| {
        if connection.is_broken() {
            connection = server.root();
        }
        let statement = connection.prepare(b"SELECT ?, ?, ?, ?, ?, ?, ?, ?").expect("prepared");
        let mut payload = vec![wire::command::byte::STMT_EXECUTE];
        payload.extend_from_slice(&statement.id().to_le_bytes());
        payload.extend_from_slice(&[0, 1, 0, 0, 0]);
        payload.extend_from_slice(parameters);
        let answered = connection.raw_command(&payload).and_then(|answer| answer.finish().map(|_| ()));
        match answered {
            Ok(()) => good += 1,
            Err(Error::Server(_) | Error::Closed) => bad += 1,
            Err(error) => panic!("{error}"),
        }
        if !connection.is_broken() {
            connection.close(statement).expect("closed");
        }
    };
    attempt(&parameters);
    for end in 0..parameters.len() {
        attempt(&parameters[..end]);
    }
    for at in 0..parameters.len() {
        for byte in [0, 1, 0x0b, 0xfb, 0xfc, 0xfd, 0xfe, 0xff] {
            let mut changed = parameters.clone();
            changed[at] = byte;
            attempt(&changed);
        }
    }
    assert!(good > 0 && bad > parameters.len() / 2, "{good} good, {bad} bad");
    // Statements that are not there, rows without a cursor, long data for nobody: MySQL's numbers.
    let mut connection = server.root();
    let number = |connection: &mut Connection, payload: &[u8]| {
        connection.raw_command(payload).and_then(|answer| answer.finish().map(|_| ())).unwrap_err().number()
    };
    assert_eq!(number(&mut connection, b"\x17\x63\0\0\0\0\x01\0\0\0"), Some(1243));
    assert_eq!(number(&mut connection, b"\x1c\x63\0\0\0\x01\0\0\0"), Some(1243));
    assert_eq!(number(&mut connection, b"\x1a\x63\0\0\0"), Some(1243));
    let statement = connection.prepare(b"SELECT ?").expect("prepared");
    connection.send_long_data(&statement, 7, b"no such parameter").expect("sent");
    let mut statement = statement;
    let error = connection.execute(&mut statement, &[Param::Int(1)]).and_then(client::Answer::finish);
    assert!(matches!(&error, Ok(_) | Err(Error::Server(_))), "{error:?}");
    is_alive(&server);
    assert_memory(&server, MEMORY_BYTES_MAX_SMALL);
    server.stop();
}

#[test]
fn statements_of_64_mb_and_longer_ones() {
    let server = server();
    let mut connection = server.root();
    // The longest packet that is allowed holds the command byte too.
    let mut sql = b"SELECT LENGTH('".to_vec();
    sql.resize(MAX_ALLOWED_PACKET - 1 - 2, b'x');
    sql.extend_from_slice(b"')");
    let wanted = MAX_ALLOWED_PACKET - 1 - 2 - 15;
    let mut answer = connection.query(&sql).expect("sent");
    assert!(answer.next_result().expect("it runs"));
    assert_eq!(answer.next_row().expect("a row").expect("a row").cell(0).as_u64(), Some(wanted as u64));
    // One byte more is refused, and the connection closed.
    sql.insert(0, b' ');
    let error = connection.run(&sql).unwrap_err();
    assert!(matches!(error, Error::Closed) || error.number() == Some(1153), "{error}");
    // As a parameter sent in pieces.
    let mut connection = server.root();
    let mut statement = connection.prepare(b"SELECT LENGTH(?), MD5(LEFT(?, 1))").expect("prepared");
    let piece = vec![b'p'; 1 << 20];
    for _ in 0..63 {
        connection.send_long_data(&statement, 0, &piece).expect("sent");
    }
    let mut answer =
        connection.execute(&mut statement, &[Param::LongData, Param::Bytes(b"p")]).expect("sent");
    assert!(answer.next_result().expect("it runs"));
    assert_eq!(answer.next_row().expect("a row").expect("a row").cell(0).as_u64(), Some(63 << 20));
    // Longer than max_allowed_packet in all: refused at the execution, the connection goes on.
    connection.reset(&mut statement).expect("reset");
    for _ in 0..70 {
        connection.send_long_data(&statement, 0, &piece).expect("sent");
    }
    let error = connection
        .execute(&mut statement, &[Param::LongData, Param::Bytes(b"p")])
        .and_then(client::Answer::finish)
        .expect_err("too long");
    assert_eq!(error.number(), Some(1105), "{error}");
    // Values that would be longer than max_allowed_packet become NULL.
    let mut answer = connection
        .query(b"SELECT REPEAT('x', 100000000), SPACE(1000000000), LPAD('x', 100000000, 'y')")
        .expect("sent");
    assert!(answer.next_result().expect("it runs"));
    assert!(answer.next_row().expect("a row").expect("a row").cells().all(client::Cell::is_null));
    drop(sql);
    is_alive(&server);
    assert_memory(&server, MEMORY_BYTES_MAX_LARGE);
    server.stop();
}

/// Runs a statement that may be too much; says how it ended.
fn outcome(connection: &mut Connection, server: &Server, sql: &str) -> String {
    if connection.is_broken() {
        *connection = server.root();
    }
    let mut run = || -> Result<u64, Error> {
        let mut answer = connection.query(sql.as_bytes())?;
        let mut rows = 0;
        while answer.next_result()? {
            while answer.next_row()?.is_some() {
                rows += 1;
            }
        }
        Ok(rows)
    };
    match run() {
        Ok(rows) => format!("{rows} rows"),
        Err(Error::Server(error)) => format!("{}", error.number),
        Err(error) => format!("{error}"),
    }
}

fn nested(open: &str, middle: &str, close: &str, depth: usize) -> String {
    format!("SELECT {}{middle}{}", open.repeat(depth), close.repeat(depth))
}

fn list(count: usize, separator: &str, mut item: impl FnMut(usize) -> String) -> String {
    let mut text = String::new();
    for index in 0..count {
        if index > 0 {
            text.push_str(separator);
        }
        text.push_str(&item(index));
    }
    text
}

#[test]
fn statements_without_end_are_refused_or_run() {
    let server = server();
    let mut connection = server.root();
    connection.run(b"CREATE DATABASE d").expect("made");
    connection.run(b"USE d").expect("used");
    connection.run(b"CREATE TABLE t (id INT PRIMARY KEY, a INT)").expect("made");
    connection.run(b"INSERT INTO t VALUES (1, 1), (2, 2)").expect("filled");
    let mut report = String::new();
    let mut check = |what: &str, sql: String, allowed: &[&str]| {
        let outcome = outcome(&mut connection, &server, &sql);
        if !connection.is_broken() {
            let _ = connection.run(b"USE d");
        }
        if !allowed.contains(&outcome.as_str()) {
            let _ = writeln!(report, "{what}: {outcome}, not one of {allowed:?}");
        }
    };
    // Too deep is 1064 or 1436 ("Thread stack overrun"), never a stack overflow.
    const DEEP: &[&str] = &["1064", "1436", "1 rows"];
    for depth in [100, 10_000, 1_000_000] {
        check("parentheses", nested("(", "1", ")", depth), DEEP);
        check("open parentheses", nested("(", "1", "", depth), &["1064", "1436"]);
        check("CASE", nested("CASE WHEN 1 THEN ", "1", " END", depth), DEEP);
        check("open CASE", nested("CASE ", "1", "", depth), &["1064", "1436"]);
        check("NOT", nested("NOT ", "1", "", depth), DEEP);
        check("minus", nested("- ", "1", "", depth), DEEP);
        check("bang", nested("!", "1", "", depth), DEEP);
        check("tilde", nested("~", "1", "", depth), DEEP);
        check("functions", nested("ABS(", "1", ")", depth), DEEP);
        check("IF", nested("IF(1, ", "1", ", 0)", depth), DEEP);
        check("INTERVAL", nested("INTERVAL(", "1", ", 1)", depth), DEEP);
        check("casts", nested("CAST(", "1", " AS CHAR)", depth), DEEP);
        check("rows", nested("ROW(", "1", ", 1)", depth), &["1064", "1436", "1241"]);
        check("BINARY", nested("BINARY ", "'1'", "", depth), DEEP);
        check("collate", format!("SELECT 'a'{}", " COLLATE utf8mb4_bin".repeat(depth.min(100_000))), DEEP);
        check("comments", format!("SELECT 1 {}", "/* */".repeat(depth)), &["1 rows"]);
        check("versioned comments", nested("/*! ", "1", " */", depth), &["1064", "1 rows"]);
        check("json", format!("SELECT JSON_VALID('{}')", "[".repeat(depth)), &["1 rows"]);
        check(
            "json made",
            format!("SELECT CAST('{}{}' AS JSON)", "[".repeat(depth), "]".repeat(depth)),
            &["3141", "3157", "1 rows"],
        );
    }
    for depth in [50, 1_000, 100_000] {
        check("subqueries", nested("(SELECT ", "1", ")", depth), DEEP);
        check(
            "derived tables",
            {
                format!(
                    "SELECT * FROM {}SELECT 1{}",
                    "(SELECT * FROM (".repeat(depth),
                    ") x) y".repeat(depth)
                )
            },
            &["1064", "1436", "1 rows", "1060", "1473"],
        );
        check(
            "joined parentheses",
            format!("SELECT COUNT(*) FROM {}t{}", "(".repeat(depth), ")".repeat(depth)),
            DEEP,
        );
        check("EXISTS", nested("EXISTS (SELECT ", "1", ")", depth), DEEP);
        check(
            "IN subqueries",
            format!("SELECT 1 {}{}", "IN (SELECT 1 ".repeat(depth), ")".repeat(depth)),
            &["1064", "1436", "1 rows", "1473"],
        );
        check(
            "unions in parentheses",
            format!("{}SELECT 1{}", "(".repeat(depth), " UNION SELECT 1)".repeat(depth)),
            &["1064", "1436", "1 rows", "1235", "1473"],
        );
        check(
            "common tables",
            format!("WITH {} SELECT 1", list(depth.min(10_000), ", ", |at| format!("c{at} AS (SELECT 1)"))),
            &["1 rows", "1436", "1064"],
        );
    }
    // Long chains, which are not deep for whoever thinks about them.
    check("AND", format!("SELECT {}", list(100_000, " AND ", |_| "1".into())), &["1 rows", "1436"]);
    check(
        "OR of columns",
        format!("SELECT COUNT(*) FROM t WHERE {}", list(50_000, " OR ", |at| format!("a = {at}"))),
        &["1 rows", "1436"],
    );
    check("plus", format!("SELECT {}", list(100_000, " + ", |_| "1".into())), DEEP);
    check(
        "concat",
        format!("SELECT LENGTH(CONCAT({}))", list(100_000, ", ", |_| "'a'".into())),
        &["1 rows", "1436"],
    );
    check("comparisons", format!("SELECT {}", list(100_000, " = ", |_| "1".into())), DEEP);
    check(
        "IN list",
        format!("SELECT COUNT(*) FROM t WHERE id IN ({})", list(1_000_000, ",", |at| at.to_string())),
        &["1 rows"],
    );
    check(
        "IN list of texts",
        format!("SELECT COUNT(*) FROM t WHERE id IN ({})", list(100_000, ",", |at| format!("'{at}'"))),
        &["1 rows"],
    );
    check(
        "CASE branches",
        format!("SELECT CASE a {} END FROM t", list(20_000, " ", |at| format!("WHEN {at} THEN {at}"))),
        &["2 rows", "1436"],
    );
    check("UNION", list(5_000, " UNION ", |at| format!("SELECT {at}")), &["5000 rows", "1436"]);
    check(
        "UNION ALL",
        list(5_000, " UNION ALL ", |at| format!("SELECT {at} FROM t WHERE id = 1")),
        &["5000 rows", "1436"],
    );
    check(
        "VALUES",
        format!("INSERT IGNORE INTO t VALUES {}", list(200_000, ",", |at| format!("({at}, {at})"))),
        &["0 rows"],
    );
    check("columns", format!("SELECT {}", list(4_096, ",", |at| at.to_string())), &["1 rows"]);

    check("far too many columns", format!("SELECT {}", list(100_000, ",", |at| at.to_string())), &["1 rows"]);
    check(
        "table columns",
        format!("CREATE TABLE wide ({})", list(1_017, ",", |at| format!("c{at} INT"))),
        &["0 rows"],
    );
    check(
        "too many table columns",
        format!("CREATE TABLE wider ({})", list(1_018, ",", |at| format!("c{at} INT"))),
        &["1117"],
    );
    check(
        "far too many table columns",
        format!("CREATE TABLE widest ({})", list(5_000, ",", |at| format!("c{at} INT"))),
        &["1117"],
    );
    check(
        "key parts",
        format!(
            "CREATE TABLE parted ({}, KEY ({}))",
            list(17, ",", |at| format!("c{at} INT")),
            list(17, ",", |at| format!("c{at}"))
        ),
        &["1070"],
    );
    check(
        "joins",
        format!("SELECT COUNT(*) FROM {}", list(61, ",", |at| format!("(SELECT 1) t{at}"))),
        &["1 rows"],
    );
    check(
        "too many joins",
        format!("SELECT COUNT(*) FROM {}", list(62, ",", |at| format!("t t{at}"))),
        &["1116", "1436"],
    );
    check(
        "far too many joins",
        format!("SELECT COUNT(*) FROM {}", list(5_000, " JOIN ", |at| format!("t t{at}"))),
        &["1116", "1436"],
    );
    check(
        "ORDER BY",
        format!("SELECT 1 FROM t WHERE id = 1 ORDER BY {}", list(10_000, ",", |_| "a".into())),
        &["1 rows", "1436"],
    );
    check(
        "GROUP BY",
        format!("SELECT 1 FROM t WHERE id = 1 GROUP BY {}", list(10_000, ",", |at| format!("a + {at}"))),
        &["1 rows", "1436"],
    );
    check("statements", format!("{}SELECT 1", "DO 1;".repeat(20_000)), &["1 rows"]);
    check("semicolons", ";".repeat(100_000), &["1064", "1065"]);
    check("SET", format!("SET {}", list(50_000, ",", |at| format!("@v{at} = {at}"))), &["0 rows"]);
    check(
        "enum",
        format!("CREATE TABLE e (a ENUM({}))", list(65_536, ",", |at| format!("'{at}'"))),
        &["3504"],
    );
    check(
        "set type",
        format!("CREATE TABLE s (a SET({}))", list(65, ",", |at| format!("'{at}'"))),
        &["1097"],
    );
    // Names.
    let long = "n".repeat(100_000);
    check("table name", format!("SELECT * FROM {}", &long[..65]), &["1059", "1146"]);
    check("longest table name", format!("SELECT * FROM {}", &long[..64]), &["1146"]);
    check("very long table name", format!("SELECT * FROM {long}"), &["1059", "1146"]);
    check("column name", format!("SELECT {long}"), &["1059", "1054"]);
    check("new column name", format!("CREATE TABLE x ({} INT)", &long[..65]), &["1059"]);
    check("alias", format!("SELECT 1 AS {}", &long[..256]), &["1 rows"]);
    check("long alias", format!("SELECT 1 AS {}", &long[..257]), &["1 rows"]);
    check("very long alias", format!("SELECT 1 AS `{long}`"), &["1 rows"]);
    check("database", format!("CREATE DATABASE {}", &long[..65]), &["1059"]);
    check("USE", format!("USE {long}"), &["1059", "1049", "1102"]);
    check("user variable", format!("SET @{} = 1", &long[..65]), &["3061", "0 rows"]);
    check("system variable", format!("SELECT @@{long}"), &["1193", "1059"]);
    check("function", format!("SELECT {long}()"), &["1059", "1305", "1630"]);
    check("savepoint", format!("SAVEPOINT {long}"), &["1059", "0 rows"]);
    check("user", format!("CREATE USER {}", &long[..33]), &["1470"]);
    check("lock", format!("SELECT GET_LOCK('{long}', 0)"), &["3057", "4163"]);
    check(
        "regexp",
        format!("SELECT 'a' REGEXP '{}'", "(a*)*".repeat(5_000)),
        &["1 rows", "3685", "3688", "3690", "3699", "3692", "3695", "3696", "3698"],
    );
    check(
        "regexp depth",
        format!("SELECT 'a' REGEXP '{}a{}'", "(".repeat(100_000), ")".repeat(100_000)),
        &["1 rows", "3685", "3688", "3690", "3698", "3696"],
    );
    check("LIKE", format!("SELECT '{}' LIKE '{}b'", "a".repeat(300), "%a".repeat(200)), &["1 rows"]);
    check("json path", format!("SELECT JSON_EXTRACT('[]', '$.{}')", "a.".repeat(50_000)), &["3143"]);
    check(
        "json path legs",
        format!("SELECT JSON_EXTRACT('[]', '${}')", "[0]".repeat(50_000)),
        &["1 rows", "3143"],
    );
    check("decimal", format!("SELECT {}", "9".repeat(100_000)), &["1 rows"]);
    check("hex", format!("SELECT LENGTH(0x{})", "41".repeat(100_000)), &["1 rows"]);
    check("recursion", "SET cte_max_recursion_depth = 1000000; WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT COUNT(*) FROM n".into(), &["1 rows"]);
    assert!(report.is_empty(), "\n{report}");
    // Prepared: 65,535 parameters and one more.
    let sql = |count| format!("SELECT COUNT(*) FROM d.t WHERE id IN ({})", list(count, ",", |_| "?".into()));
    let mut connection = server.root();
    let mut statement = connection.prepare(sql(65_535).as_bytes()).expect("prepared");
    let values = vec![Param::Int(1); 65_535];
    assert!(connection.execute(&mut statement, &values).and_then(client::Answer::finish).is_ok());
    let refused = connection.prepare(sql(65_536).as_bytes()).map(|statement| statement.parameter_count());
    assert_eq!(refused.map_err(|error| error.number()), Err(Some(1390)));
    is_alive(&server);
    assert_memory(&server, MEMORY_BYTES_MAX_STRUCTURE);
    server.stop();
}

#[test]
fn bytes_that_are_no_utf8_are_taken_everywhere() {
    let server = server();
    let mut connection = server.root();
    connection.run(b"CREATE DATABASE d").expect("made");
    connection.run(b"USE d").expect("used");
    connection
        .run(b"CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20), b VARBINARY(20), j JSON)")
        .expect("made");
    let mut ask = |sql: &[u8]| -> Result<u64, Option<u16>> {
        if connection.is_broken() {
            connection = server.root();
        }
        let _ = connection.run(b"USE d");
        connection.run(sql).map(|summary| summary.affected_rows).map_err(|error| error.number())
    };
    assert_eq!(ask(b"INSERT INTO t (v) VALUES ('\xff')"), Err(Some(1366)));
    assert_eq!(ask(b"INSERT INTO t (v) VALUES ('a\xe2\x82')"), Err(Some(1366)));
    assert_eq!(ask(b"INSERT INTO t (b) VALUES ('\xff\xfe')"), Ok(1));
    assert_eq!(ask(b"INSERT INTO t (b) VALUES (_binary'\xff\xfe')"), Ok(1));
    assert_eq!(ask(b"SELECT 1 -- \xff\xfe"), Ok(0));
    assert_eq!(ask(b"SELECT /* \xff */ 1"), Ok(0));
    // Numbers of what cannot work; what matters is an answer.
    let pieces: [&[u8]; 9] = [
        b"\xff",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\xe2\x82",
        b"\0",
        b"\x80\x80\x80",
        b"\xf4\x90\x80\x80",
        b"\xf0\x9f\x98\x80",
    ];
    let frames: [(&[u8], &[u8]); 30] = [
        (b"SELECT '", b"'"),
        (b"SELECT `", b"`"),
        (b"SELECT ", b""),
        (b"SELECT 1 AS ", b""),
        (b"SELECT 1 AS `", b"`"),
        (b"SELECT * FROM `", b"`"),
        (b"SELECT * FROM t WHERE v = '", b"'"),
        (b"SELECT * FROM t WHERE v LIKE '", b"%'"),
        (b"SELECT 'a' REGEXP '", b"'"),
        (b"SELECT UPPER('", b"'), LOWER('x'), REVERSE('y')"),
        (b"SELECT CHAR_LENGTH('", b"'), SUBSTRING('abc', 1)"),
        (b"SELECT CONVERT('", b"' USING latin1)"),
        (b"SELECT _latin1'", b"'"),
        (b"SELECT _utf8mb4'", b"'"),
        (b"SELECT CAST('", b"' AS JSON)"),
        (b"INSERT INTO t (j) VALUES ('{\"a\":\"", b"\"}')"),
        (b"SELECT JSON_EXTRACT('{}', '$.", b"')"),
        (b"SET @`", b"` = 1"),
        (b"SET NAMES '", b"'"),
        (b"SET sql_mode = '", b"'"),
        (b"CREATE TABLE `", b"` (a INT)"),
        (b"CREATE TABLE x (a INT COMMENT '", b"')"),
        (b"CREATE DATABASE `", b"`"),
        (b"USE `", b"`"),
        (b"CREATE USER '", b"'"),
        (b"KILL '", b"'"),
        (b"SELECT DATE_FORMAT(NOW(), '", b"')"),
        (b"PREPARE p FROM '", b"'"),
        (b"SELECT ", b"(1)"),
        (b"", b""),
    ];
    for (before, after) in frames {
        for piece in pieces {
            let _answered = ask(&[before, piece, after].concat());
        }
    }
    // Prepared: in the text and in a parameter.
    for piece in pieces {
        let _refused = connection.prepare(&[b"SELECT `", piece, b"`"].concat());
        let mut statement = connection.prepare(b"SELECT UPPER(?), CONCAT(?, 'x')").expect("prepared");
        let values = [Param::Bytes(piece), Param::Bytes(piece)];
        let _answered = connection.execute(&mut statement, &values).and_then(client::Answer::finish);
        let mut statement = connection.prepare(b"INSERT INTO d.t (v) VALUES (?)").expect("prepared");
        let error = connection.execute(&mut statement, &values[..1]).and_then(client::Answer::finish);
        let is_text = std::str::from_utf8(piece).is_ok();
        assert_eq!(error.is_ok(), is_text, "{piece:?}: {error:?}");
    }
    // Names at login.
    for piece in pieces {
        let mut options = server.options();
        options.attributes = vec![("x".into(), "y".repeat(3000))];
        let mut payload = Vec::new();
        HandshakeResponse {
            capabilities: CAPABILITIES,
            user: piece,
            database: Some(piece),
            auth_plugin: Some(piece),
            attributes: vec![(piece, piece)],
            ..HandshakeResponse::default()
        }
        .encode(&mut payload);
        all_that_comes(greeted(&server), &framed(&payload, 1));
    }
    is_alive(&server);
    assert_memory(&server, MEMORY_BYTES_MAX_SMALL);
    server.stop();
}

#[test]
fn storms_of_connections_and_wrong_passwords_pass() {
    let server = server();
    server.root().run(b"CREATE USER storm IDENTIFIED BY 'right'").expect("made");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for round in 0..30 {
                    let mut options = server.options();
                    options.user = if round % 3 == 0 { "nobody".into() } else { "storm".into() };
                    options.password = b"wrong".to_vec();
                    let error = harness::connect(&options).expect_err("wrong");
                    assert_eq!(error.number(), Some(1045), "{error}");
                }
                for _ in 0..150 {
                    drop(TcpStream::connect(("127.0.0.1", server.port())).expect("the server listens"));
                }
                for _ in 0..20 {
                    let mut options = server.options();
                    options.user = "storm".into();
                    options.password = b"right".to_vec();
                    let mut connection = harness::connect(&options).expect("let in");
                    connection.run(b"SELECT 1").expect("served");
                }
            });
        }
    });
    // All that fit, and one that does not.
    let mut held = Vec::new();
    let refused = loop {
        match Connection::connect(&server.options()) {
            Ok(connection) => held.push(connection),
            Err(error) => break error,
        }
        assert!(held.len() < 1000, "max_connections is 151");
    };
    assert_eq!(refused.number(), Some(1040), "{refused}");
    assert!(held.len() >= 100, "{} connections", held.len());
    drop(held);
    harness::connect(&server.options()).expect("there is room again");
    // Half a packet each, and silence.
    let mut silent: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = greeted(&server);
            stream.write_all(b"\xfe\xff\xff\x01").expect("sent");
            stream
        })
        .collect();
    for stream in &mut silent {
        let _ = stream.write_all(&[0; 1024]); // One that was refused is closed.
    }
    std::thread::sleep(Duration::from_millis(50));
    assert_memory(&server, MEMORY_BYTES_MAX_SMALL);
    drop(silent);
    harness::connect(&server.options()).expect("there is room again");
    server.stop();
}

/// What is asked for and cannot be had is said at the start, not left out.
#[test]
fn an_error_log_that_cannot_be_written_keeps_the_server_from_starting() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("missing/error.log");
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_invar"))
        .args(["serve", "--port=0", "--skip-networking", "--data-dir"])
        .arg(folder.path().join("data"))
        .arg(format!("--log-error={}", log.display()))
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success(), "{said}");
    assert!(said.contains("Could not open file") && said.contains("missing/error.log"), "{said}");
}
