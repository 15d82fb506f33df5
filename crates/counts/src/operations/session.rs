//! Whole statements at a session, from the packet's payload to the answer's bytes; without sockets.

use std::sync::Arc;

use ::store::Store;
use engine::engine::{Engine, StartOptions};
use env::simulated::SimWorld;
use env::threads::RealThreads;
use service::{
    Capabilities, ClientHost, CommandOutcome, ConnectRequest, ConnectionControl, Discard, ExecuteRequest,
    Reply, RowFormat, Service, Session, Transport,
};
use wire::packet::PacketBuffer;

use crate::count::Counter;

const CAPABILITIES: Capabilities =
    Capabilities(Capabilities::PROTOCOL_41.0 | Capabilities::DEPRECATE_EOF.0 | Capabilities::TRANSACTIONS.0);
const ROWS: u32 = 500;
/// Times that statements over wide rows are counted.
const WIDE_TIMES: u32 = 16;

/// A conversation whose answers are looked at and dropped.
struct Client {
    session: Box<dyn Session>,
    packets: PacketBuffer,
    statements: u32,
}

impl Client {
    fn connect(engine: &Engine) -> Client {
        let host = ClientHost { name: "localhost".to_owned(), address: None };
        let account = engine.find_account("root", &host).expect("root is there from the start");
        let request = ConnectRequest {
            control: Arc::new(ConnectionControl::new(1, None)),
            account,
            user: "root".to_owned(),
            host,
            database: None,
            attributes: Vec::new(),
            capabilities: CAPABILITIES,
            collation: 255,
            transport: Transport::Unix,
            tls: None,
        };
        let session = engine.connect(request).expect("root may connect");
        Client { session, packets: PacketBuffer::new(), statements: 0 }
    }

    fn answer(
        &mut self,
        format: RowFormat,
        work: impl FnOnce(&mut dyn Session, &mut Reply<'_>) -> CommandOutcome,
    ) -> usize {
        self.packets.clear_frames();
        self.packets.set_sequence(1);
        let mut link = Discard;
        let mut reply = Reply::new(&mut self.packets, &mut link, CAPABILITIES, format);
        let outcome = work(self.session.as_mut(), &mut reply);
        assert!(matches!(outcome, CommandOutcome::Done(())), "the statement is right: {outcome:?}");
        assert_eq!(reply.finished_count(), 1);
        self.packets.len()
    }

    fn query(&mut self, sql: &str) -> usize {
        self.answer(RowFormat::Text, |session, reply| session.query(sql.as_bytes(), reply))
    }

    /// The number of the statement.
    fn prepare(&mut self, sql: &str) -> u32 {
        self.answer(RowFormat::Text, |session, reply| session.prepare(sql.as_bytes(), reply).into());
        self.statements += 1;
        self.statements
    }

    fn execute(&mut self, statement_id: u32, parameters: &[u8]) -> usize {
        let request = ExecuteRequest {
            statement_id,
            flags: 0,
            iteration_count: 1,
            parameters,
            query_attributes: false,
        };
        self.answer(RowFormat::Binary, |session, reply| session.execute(request, reply))
    }
}

/// BIGINTs: none NULL, their types, their values.
fn integers<const N: usize>(values: [u32; N]) -> Vec<u8> {
    let mut body = vec![0, 1];
    body.extend([[8, 0]; N].concat());
    for value in values {
        body.extend_from_slice(&i64::from(value).to_le_bytes());
    }
    body
}

pub(crate) fn count(counter: &mut Counter) {
    // The store wants its threads; they are not counted. Valgrind hides what the real clock reads, and this one stands still.
    let mut env = SimWorld::new(4).env().clone();
    env.threads = Arc::new(RealThreads);
    let options = StartOptions { data_folder: "/data".into(), ..StartOptions::default() };
    let store =
        Store::open(&env, &options.data_folder, ::store::Options::default()).expect("a new folder opens");
    super::leave_free_blocks(&store);
    store.close().expect("the store closes");
    drop(store);
    let engine = Engine::open(&env, &options).expect("a new folder opens");
    let mut client = Client::connect(&engine);
    client.query("CREATE DATABASE d");
    client.query("USE d");
    client.query("CREATE TABLE t (id BIGINT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, KEY k (k))");
    client
        .query("CREATE TABLE grows (id BIGINT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, KEY k (k))");
    for id in 0..ROWS {
        client.query(&format!("INSERT INTO t VALUES ({id}, {}, 'text {id:03}')", id * 7919 % 997));
    }
    prepared(counter, &mut client);
    texts(counter, &mut client);
    wide(counter, &mut client);
    programs(counter, &mut client);
    drop(client);
    engine.close().expect("the store closes");
}

fn prepared(counter: &mut Counter, client: &mut Client) {
    let point = client.prepare("SELECT c FROM t WHERE id = ?");
    counter.count("session.prepared_point_select", 256, |number| {
        client.execute(point, &integers([number % ROWS]))
    });
    let range = client.prepare("SELECT c FROM t WHERE id BETWEEN ? AND ?");
    counter.count("session.prepared_range_of_100", 16, |number| {
        client.execute(range, &integers([number, number + 99]))
    });
    let insert = client.prepare("INSERT INTO grows VALUES (?, ?, 'some text')");
    counter.count("session.prepared_insert", 128, |number| {
        client.execute(insert, &integers([number, number % 7]))
    });
    let update = client.prepare("UPDATE t SET k = ? WHERE id = ?");
    counter.count("session.prepared_update_index", 128, |number| {
        client.execute(update, &integers([number + 5000, number % ROWS]))
    });
    let (chain, commit) = (client.prepare("COMMIT AND CHAIN"), client.prepare("COMMIT"));
    counter.count("session.prepared_commit_and_chain", 64, |_| {
        client.execute(chain, &[]) + client.execute(commit, &[])
    });
}

fn texts(counter: &mut Counter, client: &mut Client) {
    counter.count("session.text_point_select", 128, |number| {
        client.query(&format!("SELECT c FROM t WHERE id = {:03}", number % ROWS))
    });
    counter.count("session.text_insert", 64, |number| {
        client.query(&format!("INSERT INTO grows VALUES ({}, 3, 'some text')", 1000 + number))
    });
    counter.count("session.prepare_point_select", 32, |_| client.prepare("SELECT k, c FROM t WHERE id = ?"));
}

/// Stored programs: functions called for each row, loops, statements in them, triggers.
fn programs(counter: &mut Counter, client: &mut Client) {
    client.query("CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x + 1");
    counter.count("session.function_500_calls", 4, |_| client.query("SELECT SUM(f(k)) FROM t"));
    client.query(
        "CREATE PROCEDURE looping(n INT) BEGIN DECLARE i, s INT DEFAULT 0; WHILE i < n DO \
         SET i = i + 1; IF i % 2 = 0 THEN SET s = s + i; END IF; END WHILE; END",
    );
    counter.count("session.loop_of_500", 4, |_| client.query("CALL looping(500)"));
    client.query(
        "CREATE PROCEDURE texts(n INT) BEGIN DECLARE i INT DEFAULT 0; DECLARE s VARCHAR(100); WHILE i < n DO \
         SET i = i + 1, s = CONCAT('text ', i); END WHILE; END",
    );
    counter.count("session.loop_of_100_texts", 4, |_| client.query("CALL texts(100)"));
    client.query(
        "CREATE PROCEDURE points(n INT) BEGIN DECLARE i, v INT DEFAULT 0; WHILE i < n DO \
         SELECT k INTO v FROM t WHERE id = i; SET i = i + 1; END WHILE; END",
    );
    counter.count("session.loop_of_100_points", 4, |_| client.query("CALL points(100)"));
    client
        .query("CREATE TABLE fires (id BIGINT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, KEY k (k))");
    client.query("CREATE TRIGGER bi BEFORE INSERT ON fires FOR EACH ROW SET NEW.k = NEW.k + 1");
    let insert = client.prepare("INSERT INTO fires VALUES (?, ?, 'some text')");
    counter.count("session.prepared_insert_with_trigger", 128, |number| {
        client.execute(insert, &integers([number, number % 7]))
    });
}

/// What an ORM sends for an object of many columns: a long text, an alias for each column.
fn wide(counter: &mut Counter, client: &mut Client) {
    for columns in [100, 400] {
        let list = |each: &dyn Fn(u32) -> String| (0..columns).map(each).collect::<Vec<_>>().join(", ");
        let table = format!("wide{columns}");
        client.query(&format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, {})",
            list(&|n| format!("column_number_{n} INT"))
        ));
        client.query(&format!("INSERT INTO {table} VALUES (1, {})", list(&|n| n.to_string())));
        let aliases = list(&|n| format!("{table}_0_.column_number_{n} AS entity_column_number_{n}_0_"));
        let select =
            |number| format!("SELECT {aliases} FROM {table} {table}_0_ WHERE id = {:03}", number % 2);
        let insert = |number: u32| {
            format!("INSERT INTO {table} VALUES ({}, {})", 10 + number, list(&|n| (n + number).to_string()))
        };
        let update = |number: u32| {
            let sets = list(&|n| format!("column_number_{n} = {}", n + number));
            format!("UPDATE {table} SET {sets} WHERE id = {}", 10 + number)
        };
        let mut each = |kind: &str, text: &dyn Fn(u32) -> String| {
            let texts: Vec<String> = (0..2 * WIDE_TIMES).map(text).collect();
            counter.count(&format!("session.text_{kind}_{columns}_columns"), WIDE_TIMES, |number| {
                client.query(&texts[number as usize])
            });
        };
        each("select", &select);
        each("insert", &insert);
        each("update", &update);
    }
}
