//! Events by a clock that the test turns: when they run, what their end leaves, and over a restart.

use std::sync::Arc;
use std::time::Duration;

use engine::engine::{Engine, StartOptions};
use env::simulated::SimWorld;
use env::threads::{RealThreads, Thread, Threads};
use service::{
    Account, AuthPlugin, Capabilities, ClientHost, CommandOutcome, ConnectRequest, ConnectionControl,
    Discard, Reply, RowFormat, Service, Session, Transport,
};
use wire::client::{Event, ResultReader, text_row};
use wire::packet::{Incoming, PacketBuffer, next_packet};

const CAPABILITIES: Capabilities =
    Capabilities::PROTOCOL_41.with(Capabilities::TRANSACTIONS).with(Capabilities::DEPRECATE_EOF);

/// The store's threads and no others.
#[derive(Debug)]
struct StoreThreads;

impl Threads for StoreThreads {
    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> std::io::Result<Thread> {
        if name.starts_with("event") {
            return Err(std::io::ErrorKind::Unsupported.into());
        }
        RealThreads.spawn(name, work)
    }

    fn core_count(&self) -> usize {
        1
    }
}

fn open(world: &SimWorld) -> Engine {
    let mut env = world.env().clone();
    env.threads = Arc::new(StoreThreads);
    Engine::open(&env, &StartOptions { data_folder: "/data".into(), ..StartOptions::default() }).unwrap()
}

struct Client(Box<dyn Session>);

impl Client {
    fn connect(engine: &Engine) -> Client {
        let account = Account {
            user: "root".into(),
            host: "localhost".into(),
            plugin: AuthPlugin::CachingSha2,
            stored: Vec::new(),
            require_tls: false,
            locked: false,
            connection_admin: true,
        };
        let request = ConnectRequest {
            control: Arc::new(ConnectionControl::new(1, None)),
            account,
            user: "root".into(),
            host: ClientHost { name: "localhost".into(), address: None },
            database: None,
            attributes: Vec::new(),
            capabilities: CAPABILITIES,
            collation: 255,
            transport: Transport::Unix,
            tls: None,
        };
        let mut client = Client(engine.connect(request).unwrap());
        client.run("CREATE DATABASE IF NOT EXISTS d");
        client.run("USE d");
        client
    }

    /// The rows of an answer, their values with commas between.
    fn run(&mut self, sql: &str) -> Vec<String> {
        let mut buffer = PacketBuffer::new();
        let mut link = Discard;
        let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text);
        match self.0.query(sql.as_bytes(), &mut reply) {
            CommandOutcome::Done(()) => {}
            other => panic!("{sql}: {other:?}"),
        }
        let mut frames = buffer.frames();
        let mut reader = ResultReader::query(CAPABILITIES);
        let mut rows = Vec::new();
        while let Incoming::Packet { payload, consumed, .. } = next_packet(frames) {
            if let Event::Row(row) = reader.read(payload).unwrap() {
                let mut cells = Vec::new();
                text_row(row, |cell| {
                    cells.push(cell.map_or("NULL".into(), |cell| String::from_utf8_lossy(cell).into_owned()));
                })
                .unwrap();
                rows.push(cells.join(","));
            }
            frames = &frames[consumed..];
        }
        rows
    }
}

#[test]
fn events_run_when_they_are_due() {
    let world = SimWorld::new(1);
    let engine = open(&world);
    let mut client = Client::connect(&engine);
    client.run("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(60))");
    client.run("CREATE EVENT hourly ON SCHEDULE EVERY 1 HOUR DO INSERT INTO t (v) VALUES ('hourly')");
    client.run("CREATE EVENT daily ON SCHEDULE EVERY 1 DAY STARTS '2020-01-01' DO INSERT INTO t (v) VALUES ('daily')");
    client.run(
        "CREATE EVENT once ON SCHEDULE AT NOW() + INTERVAL 90 MINUTE DO \
         INSERT INTO t (v) SELECT CONCAT('once ', status) FROM information_schema.EVENTS WHERE event_name = 'once'",
    );
    client.run(
        "CREATE EVENT kept ON SCHEDULE AT NOW() + INTERVAL 95 MINUTE ON COMPLETION PRESERVE DO \
         INSERT INTO t (v) VALUES (CONCAT(USER(), ' ', CURRENT_USER(), ' ', DATABASE(), ' ', @@time_zone))",
    );
    assert_eq!(
        engine.run_due_events(),
        1,
        "what starts now runs now, but what started once waits for its next time"
    );
    assert_eq!(engine.run_due_events(), 0);
    world.clock().advance(Duration::from_secs(3600));
    assert_eq!(engine.run_due_events(), 1);
    // However often it was due meanwhile, it runs once.
    world.clock().advance(Duration::from_secs(3 * 3600));
    assert_eq!(engine.run_due_events(), 3);
    assert_eq!(engine.run_due_events(), 0);
    assert_eq!(
        client.run("SELECT v FROM t ORDER BY v"),
        ["event_scheduler@localhost root@localhost d SYSTEM", "hourly", "hourly", "hourly", "once DISABLED"]
    );
    let events = "SELECT event_name, status, last_executed IS NULL FROM information_schema.EVENTS ORDER BY 1";
    let left = ["daily,ENABLED,1", "hourly,ENABLED,0", "kept,DISABLED,0"];
    assert_eq!(client.run(events), left);

    drop(client);
    engine.close().unwrap();
    drop(engine);
    let engine = open(&world);
    let mut client = Client::connect(&engine);
    assert_eq!(client.run(events), left);
    assert_eq!(engine.run_due_events(), 0);
    world.clock().advance(Duration::from_secs(24 * 3600));
    assert_eq!(engine.run_due_events(), 2);
    assert_eq!(
        client.run("SELECT v, COUNT(*) FROM t WHERE v IN ('hourly', 'daily') GROUP BY v ORDER BY v"),
        ["daily,1", "hourly,4"]
    );
    client.run("SET GLOBAL event_scheduler = OFF");
    world.clock().advance(Duration::from_secs(3600));
    assert_eq!(engine.run_due_events(), 0);
    client.run("SET GLOBAL event_scheduler = ON");
    client.run("DROP DATABASE d");
    world.clock().advance(Duration::from_secs(3600));
    assert_eq!(engine.run_due_events(), 0, "events go with their schema");
    drop(client);
    engine.close().unwrap();
}

#[test]
fn an_open_transaction_ends_with_the_event() {
    let world = SimWorld::new(2);
    let engine = open(&world);
    let mut client = Client::connect(&engine);
    client.run("CREATE TABLE t (v INT)");
    let body = |value: u32| format!("BEGIN START TRANSACTION; INSERT INTO t VALUES ({value}); END");
    client.run(&format!("CREATE EVENT kept ON SCHEDULE EVERY 1 DAY DO {}", body(1)));
    client.run(&format!("CREATE EVENT dropped ON SCHEDULE AT NOW() DO {}", body(2)));
    assert_eq!(engine.run_due_events(), 2);
    assert_eq!(client.run("SELECT v FROM t"), ["2"]);
    drop(client);
    engine.close().unwrap();
}

#[test]
fn no_more_events_run_at_once_than_may() {
    let world = SimWorld::new(3);
    let engine = open(&world);
    let mut client = Client::connect(&engine);
    assert_eq!(engine.run_due_events(), 0);
    client.run("CREATE TABLE t (v INT)");
    for number in 0..70 {
        client.run(&format!(
            "CREATE EVENT e{number} ON SCHEDULE EVERY 1 DAY DO INSERT INTO t VALUES ({number})"
        ));
    }
    world.clock().advance(Duration::from_secs(1));
    assert_eq!(engine.run_due_events(), 64);
    assert_eq!(engine.run_due_events(), 6);
    assert_eq!(client.run("SELECT COUNT(DISTINCT v) FROM t"), ["70"]);
    drop(client);
    engine.close().unwrap();
}
