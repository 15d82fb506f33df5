//! Prepared statements of the binary protocol: cursors, values in statements without a plan, what is parsed how often.

mod root;

use engine::engine::{Engine, StartOptions};
use service::{Capabilities, Discard, ExecuteRequest, Outcome, Reply, RowFormat, Session, StatusFlags};
use wire::client::{Event, ResultReader, text_row};
use wire::packet::{Incoming, PacketBuffer, next_packet};
use wire::parameter::{self, ParameterValue};

const CAPABILITIES: Capabilities = Capabilities::PROTOCOL_41
    .with(Capabilities::MULTI_RESULTS)
    .with(Capabilities::PS_MULTI_RESULTS)
    .with(Capabilities::TRANSACTIONS)
    .with(Capabilities::DEPRECATE_EOF);
/// CURSOR_TYPE_READ_ONLY.
const WITH_CURSOR: u8 = 1;

struct Client {
    session: Box<dyn Session>,
}

impl Client {
    fn connect(engine: &Engine, number: u64) -> Client {
        Client { session: root::connect_as(engine, CAPABILITIES, number) }
    }

    /// Lets the session answer; a line for each thing that comes back.
    fn ask(
        &mut self,
        format: RowFormat,
        mut reader: ResultReader,
        work: impl FnOnce(&mut dyn Session, &mut Reply<'_>) -> Outcome,
    ) -> Vec<String> {
        let mut buffer = PacketBuffer::new();
        let mut link = Discard;
        let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, format);
        if let Err(error) = work(self.session.as_mut(), &mut reply) {
            reply.error(&error);
        }
        let mut frames = buffer.frames();
        let mut lines = Vec::new();
        while let Incoming::Packet { payload, consumed, .. } = next_packet(frames) {
            frames = &frames[consumed..];
            match reader.read(payload).expect("an answer") {
                Event::Ok(_) => lines.push("OK".to_owned()),
                Event::Error(error) => {
                    lines.push(format!("{} {}", error.number, String::from_utf8_lossy(error.message)));
                }
                // One INT: header, NULL bitmap, four bytes.
                Event::Row(&[0, 0, a, b, c, d]) if format == RowFormat::Binary => {
                    lines.push(i32::from_le_bytes([a, b, c, d]).to_string());
                }
                Event::Row(row) => {
                    let mut cells = Vec::new();
                    text_row(row, |cell| {
                        cells.push(String::from_utf8_lossy(cell.unwrap_or(b"NULL")).into_owned());
                    })
                    .expect("a text row");
                    lines.push(cells.join("|"));
                }
                Event::End { status, .. } if status.has(StatusFlags::CURSOR_EXISTS) => {
                    lines.push("more".to_owned());
                }
                Event::End { status, .. } if status.has(StatusFlags::LAST_ROW_SENT) => {
                    lines.push("last".to_owned());
                }
                Event::Prepared { statement_id, .. } => lines.push(statement_id.to_string()),
                _ => {}
            }
        }
        lines
    }

    fn query(&mut self, sql: &str) -> Vec<String> {
        let reader = ResultReader::query(CAPABILITIES);
        self.ask(RowFormat::Text, reader, |session, reply| {
            session.query(sql.as_bytes(), reply).without_requeue()
        })
    }

    fn try_prepare(&mut self, sql: &str) -> String {
        let reader = ResultReader::prepare(CAPABILITIES);
        self.ask(RowFormat::Text, reader, |session, reply| session.prepare(sql.as_bytes(), reply)).remove(0)
    }

    fn prepare(&mut self, sql: &str) -> u32 {
        self.try_prepare(sql).parse().expect("a statement's number")
    }

    fn execute(&mut self, statement_id: u32, flags: u8, values: &[ParameterValue<'_>]) -> Vec<String> {
        let mut parameters = Vec::new();
        if !values.is_empty() {
            parameter::put_parameters(&mut parameters, values, false);
        }
        let request = ExecuteRequest {
            statement_id,
            flags,
            iteration_count: 1,
            parameters: &parameters,
            query_attributes: false,
        };
        let reader = ResultReader::query(CAPABILITIES);
        self.ask(RowFormat::Binary, reader, |session, reply| {
            session.execute(request, reply).without_requeue()
        })
    }

    fn fetch(&mut self, statement_id: u32, row_count: u32) -> Vec<String> {
        let reader = ResultReader::fetch(CAPABILITIES);
        self.ask(RowFormat::Binary, reader, |session, reply| session.fetch(statement_id, row_count, reply))
    }

    /// Statements parsed so far, this one included.
    fn parsed(&mut self) -> u64 {
        let line = self.query("SHOW GLOBAL STATUS LIKE 'Statements_parsed'").remove(0);
        line.rsplit('|').next().expect("two cells").parse().expect("a count")
    }
}

/// A new server with a session.
fn with_engine(test: impl FnOnce(&Engine, &mut Client)) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&env::Env::real(), &options).expect("a new folder opens");
    let mut client = Client::connect(&engine, 1);
    test(&engine, &mut client);
    drop(client);
    engine.close().expect("the store closes");
}

/// A session of a server with `t (id)` of 1 to 5.
fn with_table(test: impl FnOnce(&mut Client)) {
    with_engine(|_, client| {
        for sql in [
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (id INT PRIMARY KEY)",
            "INSERT INTO t VALUES (1), (2), (3), (4), (5)",
        ] {
            assert_eq!(client.query(sql), ["OK"], "{sql}");
        }
        test(client);
    });
}

#[test]
fn a_cursor_is_opened_by_the_first_execution_and_by_the_next() {
    with_table(|client| {
        // By a plan and by the point program; planned at the first execution, found by the next.
        for (sql, values, rows) in [
            ("SELECT id FROM t WHERE id > ? ORDER BY id", [ParameterValue::Int(1)], vec!["2", "3", "4", "5"]),
            ("SELECT id FROM t WHERE id = ?", [ParameterValue::Int(3)], vec!["3"]),
        ] {
            let statement = client.prepare(sql);
            for execution in 1..=3 {
                assert_eq!(client.execute(statement, WITH_CURSOR, &values), ["more"], "{sql} {execution}");
                let mut fetched = Vec::new();
                while fetched.last().is_none_or(|line| line != "last") {
                    fetched.retain(|line| line != "more");
                    fetched.extend(client.fetch(statement, 2));
                    assert!(fetched.len() <= rows.len() + 1, "{fetched:?}");
                }
                fetched.pop();
                assert_eq!(fetched, rows, "{sql} {execution}");
            }
            // Without one, the rows come at once, and there is nothing to fetch.
            assert_eq!(client.execute(statement, 0, &values), rows);
            assert!(client.fetch(statement, 2)[0].starts_with("1421 "));
        }
    });
}

#[test]
fn a_prepared_set_computes_from_its_own_text_and_values() {
    with_table(|client| {
        let set = client.prepare("SET @a = 20 + 1, @b = CONCAT('te', 'xt'), @c = (SELECT MAX(id) FROM t)");
        let with_values =
            client.prepare("SET @a = ? + 1, @b = ?, @c = (SELECT COUNT(*) FROM t WHERE id > ?)");
        let variable = client.prepare("SET SESSION sort_buffer_size = ?");
        for _ in 0..3 {
            // Another text in between: expressions point into the text that runs.
            client.query("SELECT 'something long enough to point into, and more of it, and more of it' + 1");
            assert_eq!(client.execute(set, 0, &[]), ["OK"]);
            assert_eq!(client.query("SELECT @a, @b, @c"), ["21|text|5"]);
            let values = [ParameterValue::Int(4), ParameterValue::Bytes(b"value"), ParameterValue::Int(3)];
            assert_eq!(client.execute(with_values, 0, &values), ["OK"]);
            assert_eq!(client.query("SELECT @a, @b, @c"), ["5|value|2"]);
            assert_eq!(client.execute(variable, 0, &[ParameterValue::Int(65_536)]), ["OK"]);
            assert_eq!(client.query("SELECT @@sort_buffer_size"), ["65536"]);
        }
    });
}

#[test]
fn other_statements_without_a_plan_take_values_too() {
    with_table(|client| {
        let show = client.prepare("SHOW TABLES WHERE Tables_in_d = ?");
        let create = client.prepare("CREATE TABLE made AS SELECT id FROM t WHERE id > ?");
        assert_eq!(client.execute(create, 0, &[ParameterValue::Int(3)]), ["OK"]);
        assert_eq!(client.query("SELECT id FROM made"), ["4", "5"]);
        for (name, count) in [("made", 1), ("nosuch", 0)] {
            let shown = client.execute(show, 0, &[ParameterValue::Bytes(name.as_bytes())]);
            assert_eq!(shown.len(), count, "{name}: {shown:?}");
        }
    });
}

#[test]
fn a_prepared_kill_computes_whom_it_means() {
    with_table(|client| {
        for (sql, named) in [
            ("KILL 4000000000 + 1", 4_000_000_001u32),
            ("KILL QUERY 4000000000", 4_000_000_000),
            ("KILL (SELECT MAX(id) + 4000000000 FROM t)", 4_000_000_005),
            // As 9.7 makes an integer of it.
            ("KILL '4000000007 and more'", 4_000_000_007),
            ("KILL 1.5", 2),
            ("KILL -1", u32::MAX),
            ("KILL NULL", 0),
        ] {
            let kill = client.prepare(sql);
            for _ in 0..2 {
                client.query("SELECT 'something else to point into'");
                assert_eq!(
                    client.execute(kill, 0, &[]),
                    [format!("1094 Unknown thread id: {named}")],
                    "{sql}"
                );
            }
        }
        assert_eq!(
            client.try_prepare("KILL ?"),
            "6413 Dynamic parameters can only be used in DML statements."
        );
        let own = client.prepare("KILL CONNECTION_ID()");
        assert!(client.execute(own, 0, &[])[0].starts_with("1317 "));
    });
}

#[test]
fn a_prepared_statement_is_parsed_and_planned_once() {
    with_table(|client| {
        let transaction =
            ["COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "ROLLBACK"].map(|sql| client.prepare(sql));
        let select = client.prepare("SELECT id FROM t WHERE id = 1");
        let run = |client: &mut Client| {
            for statement in transaction {
                assert_eq!(client.execute(statement, 0, &[]), ["OK"]);
                assert_eq!(client.execute(select, 0, &[]), ["1"]);
            }
        };
        run(client); // The first execution keeps what the next ones need.
        let before = client.parsed();
        for _ in 0..10 {
            run(client);
        }
        assert_eq!(client.parsed() - before, 1, "only the question itself was parsed");
    });
}

/// What one session has planned another runs at once.
#[test]
fn sessions_share_plans() {
    with_engine(|engine, first| {
        first.query("CREATE DATABASE d");
        first.query("CREATE TABLE d.t (id INT PRIMARY KEY, n INT)");
        let work = |client: &mut Client, number: u64| {
            client.query("USE d");
            let before = client.parsed();
            client.query(&format!("SELECT id FROM t WHERE id = {number}"));
            client.query(&format!("UPDATE t SET n = n + 1 WHERE id = {number}"));
            // Once to prepare it, and once for the parameter that came.
            let select = client.prepare("SELECT n FROM t WHERE id = ?");
            client.execute(select, 0, &[ParameterValue::Int(number as i64)]);
            client.parsed() - before
        };
        assert_eq!(work(first, 1), 5, "all of them, and the question itself");
        assert_eq!(work(first, 2), 2, "what is prepared is parsed");
        for number in 3..9 {
            assert_eq!(work(&mut Client::connect(engine, number), number), 2, "another session");
        }
        first.query("ALTER TABLE d.t ADD m INT");
        assert_eq!(work(&mut Client::connect(engine, 9), 1), 5, "the table is another");
        assert_eq!(work(first, 1), 2);
    });
}

/// A plan that was made while the table was empty is not the plan of a table with rows.
#[test]
fn plans_are_made_anew_when_a_table_grows() {
    with_engine(|_, client| {
        for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, k INT, KEY (k))"] {
            assert_eq!(client.query(sql), ["OK"], "{sql}");
        }
        let select = client.prepare("SELECT id FROM t WHERE k = ?");
        let run = |client: &mut Client, rows: usize| {
            let before = client.parsed();
            assert_eq!(client.query("SELECT id FROM t WHERE k = 5").len(), rows);
            assert_eq!(client.execute(select, 0, &[ParameterValue::Int(5)]).len(), rows);
            client.parsed() - before - 1
        };
        assert_eq!(run(client, 0), 2);
        assert_eq!(run(client, 0), 0);
        let insert = |client: &mut Client, ids: std::ops::Range<u32>| {
            for id in ids {
                client.query(&format!("INSERT INTO t VALUES ({id}, {})", id % 100));
            }
        };
        insert(client, 0..10);
        assert_eq!(run(client, 1), 0, "still small");
        insert(client, 10..100);
        assert_eq!(run(client, 1), 2, "no longer");
        assert_eq!(run(client, 1), 0);
        insert(client, 100..200);
        assert_eq!(run(client, 2), 0, "twice as many");
        client.query("ANALYZE TABLE t");
        assert_eq!(run(client, 2), 2, "read again");
        assert_eq!(run(client, 2), 0);
        client.query("DELETE FROM t");
        assert_eq!(run(client, 0), 2, "empty");
        // A row by its key is found as ever, and an INSERT does not care.
        let point = |client: &mut Client| client.query("SELECT k FROM t WHERE id = 1").len();
        insert(client, 0..1);
        point(client);
        insert(client, 1..50);
        point(client);
        let before = client.parsed();
        insert(client, 50..500);
        assert_eq!(point(client), 1);
        assert_eq!(client.parsed() - before, 1);
    });
}

#[test]
fn a_text_in_limit_is_a_number_of_the_binary_protocol_only() {
    with_table(|client| {
        let sql = "SELECT id FROM t ORDER BY id LIMIT ?";
        let select = client.prepare(sql);
        client.query("SET @two = '2', @less = -1");
        client.query(&format!("PREPARE s FROM '{sql}'"));
        for _ in 0..2 {
            assert_eq!(client.execute(select, 0, &[ParameterValue::Bytes(b"2")]), ["1", "2"]);
            assert_eq!(client.query("EXECUTE s USING @two"), ["1210 Incorrect arguments to EXECUTE"]);
            assert_eq!(client.execute(select, 0, &[ParameterValue::Int(1)]), ["1"]);
            let refused = ["1690 unsigned integer value is out of range in 'EXECUTE'"];
            assert_eq!(client.query("EXECUTE s USING @less"), refused);
        }
    });
}
