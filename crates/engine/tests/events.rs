//! Events by a clock that the test turns: when they run, what their end leaves, and over a restart.

mod answers;
mod root;

use std::sync::Arc;
use std::time::Duration;

use answers::{CAPABILITIES, ask};
use engine::engine::{Engine, StartOptions};
use env::simulated::SimWorld;
use env::threads::{RealThreads, Thread, Threads};
use service::Session;

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
        let mut client = Client(root::connect(engine, CAPABILITIES));
        client.run("CREATE DATABASE IF NOT EXISTS d");
        client.run("USE d");
        client
    }

    /// The rows of an answer.
    fn run(&mut self, sql: &str) -> Vec<String> {
        ask(&mut *self.0, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
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
    let left = ["daily|ENABLED|1", "hourly|ENABLED|0", "kept|DISABLED|0"];
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
        ["daily|1", "hourly|4"]
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

#[test]
fn a_schedule_that_ends_before_its_second_time_runs_once() {
    let world = SimWorld::new(4);
    let engine = open(&world);
    let mut client = Client::connect(&engine);
    assert_eq!(engine.run_due_events(), 0);
    client.run("CREATE TABLE t (v INT)");
    client.run(
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY ENDS NOW() + INTERVAL 1 HOUR ON COMPLETION PRESERVE DO INSERT INTO t VALUES (1)",
    );
    assert_eq!(engine.run_due_events(), 1);
    assert_eq!(
        client.run("SELECT status, last_executed IS NULL FROM information_schema.EVENTS"),
        ["DISABLED|0"]
    );
    drop(client);
    engine.close().unwrap();
}

#[test]
fn a_one_time_event_that_has_run_does_not_run_again() {
    let world = SimWorld::new(5);
    let engine = open(&world);
    let mut client = Client::connect(&engine);
    client.run("CREATE TABLE t (v INT)");
    client.run("CREATE EVENT e ON SCHEDULE AT NOW() ON COMPLETION PRESERVE DO INSERT INTO t VALUES (1)");
    assert_eq!(engine.run_due_events(), 1);
    client.run("ALTER EVENT e ENABLE");
    world.clock().advance(Duration::from_secs(60));
    assert_eq!(engine.run_due_events(), 0);
    assert_eq!(client.run("SELECT COUNT(*) FROM t"), ["1"]);
    drop(client);
    engine.close().unwrap();
}

#[test]
fn no_event_begins_under_a_lock_of_the_server() {
    let world = SimWorld::new(6);
    let engine = open(&world);
    let mut client = Client::connect(&engine);
    client.run("CREATE TABLE t (v INT)");
    for (lock, unlock) in
        [("LOCK INSTANCE FOR BACKUP", "UNLOCK INSTANCE"), ("FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES")]
    {
        client.run("CREATE EVENT e ON SCHEDULE AT NOW() DO INSERT INTO t VALUES (1)");
        client.run(lock);
        assert_eq!(engine.run_due_events(), 0, "{lock}");
        assert_eq!(client.run("SELECT status FROM information_schema.EVENTS"), ["ENABLED"]);
        client.run(unlock);
        assert_eq!(engine.run_due_events(), 1, "{unlock}");
    }
    assert_eq!(client.run("SELECT COUNT(*) FROM t"), ["2"]);
    drop(client);
    engine.close().unwrap();
}
