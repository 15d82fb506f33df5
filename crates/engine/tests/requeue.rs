//! Statements whose waits are refused: what leaves no trace is requeued and runs again as the same statement, what leaves one fails.

mod answers;
mod root;

use std::rc::Rc;

use answers::{CAPABILITIES, ask};
use engine::engine::{Engine, StartOptions};
use env::Env;
use env::blocking::{BlockingHook, Refused, WaitForOthers};
use service::{CommandOutcome, Discard, ExecuteRequest, Reply, RowFormat, Session};
use wire::packet::PacketBuffer;

/// A thread that must not wait for others.
struct NoRoom;

impl BlockingHook for NoRoom {
    fn enter(&self) {}
    fn leave(&self) {}
    fn try_enter(&self, _wait: WaitForOthers) -> Result<(), Refused> {
        Err(Refused::NoThread)
    }
}

/// Gives a statement to a session whose thread must not wait.
fn give(session: &mut dyn Session, sql: &str, is_requeued: bool) -> CommandOutcome {
    let mut buffer = PacketBuffer::new();
    let mut link = Discard;
    let mut reply =
        Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text).of_requeued(is_requeued);
    let before = env::blocking::install(Some(Rc::new(NoRoom)));
    let outcome = session.query(sql.as_bytes(), &mut reply);
    env::blocking::install(before);
    outcome
}

fn com_update(session: &mut dyn Session) -> u64 {
    let shown = ask(session, "SHOW SESSION STATUS LIKE 'Com_update'").expect("a status variable");
    shown[0].rsplit('|').next().and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn a_statement_without_a_trace_is_requeued_and_counted_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&Env::real(), &options).expect("the folder opens");
    let mut holder = root::connect_as(&engine, CAPABILITIES, 1);
    let mut waiter = root::connect_as(&engine, CAPABILITIES, 2);
    for sql in ["CREATE DATABASE s", "USE s", "CREATE TABLE t (id INT PRIMARY KEY, v INT)"] {
        ask(&mut *holder, sql).expect("it runs");
    }
    ask(&mut *holder, "INSERT INTO t VALUES (1, 10), (2, 20)").expect("it runs");
    ask(&mut *holder, "BEGIN").expect("it runs");
    ask(&mut *holder, "UPDATE t SET v = 21 WHERE id = 2").expect("it runs");
    ask(&mut *waiter, "USE s").expect("it runs");

    let update = "UPDATE t SET v = v + 1 WHERE id = 2";
    let updates = com_update(&mut *waiter);
    assert!(
        matches!(give(&mut *waiter, update, false), CommandOutcome::Requeue(within) if !within.is_zero())
    );
    assert!(matches!(give(&mut *waiter, update, true), CommandOutcome::Requeue(_)), "as often as need be");
    // What leaves a trace before it waits fails, also if nothing of its answer has left.
    for sql in [
        "INSERT INTO t VALUES (@v := 3, 0), (2, 0)",
        "SELECT v INTO @v FROM t WHERE id = 2 FOR UPDATE",
        "SET @v = (SELECT v FROM t WHERE id = 2 FOR UPDATE)",
    ] {
        match give(&mut *waiter, sql, false) {
            CommandOutcome::Failed(error) => assert!(error.is_refused_wait(), "{sql}: {error}"),
            other => panic!("{sql}: {other:?}"),
        }
    }
    ask(&mut *holder, "COMMIT").expect("it runs");
    assert!(matches!(give(&mut *waiter, update, true), CommandOutcome::Done(())));
    assert_eq!(ask(&mut *waiter, "SELECT v FROM t ORDER BY id").expect("it runs"), ["10", "22"]);
    assert_eq!(com_update(&mut *waiter), updates + 1, "however often it came");
}

#[test]
fn the_time_of_a_select_goes_on_while_it_is_queued() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&Env::real(), &options).expect("the folder opens");
    let mut holder = root::connect_as(&engine, CAPABILITIES, 1);
    let mut waiter = root::connect_as(&engine, CAPABILITIES, 2);
    for sql in
        ["CREATE DATABASE s", "USE s", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"]
    {
        ask(&mut *holder, sql).expect("it runs");
    }
    for sql in ["USE s", "SET max_execution_time = 1000"] {
        ask(&mut *waiter, sql).expect("it runs");
    }
    let select = "SELECT id FROM t WHERE id = 1 FOR UPDATE";
    // Planned by the statement itself, and with its plan at hand.
    for _ in 0..2 {
        ask(&mut *holder, "BEGIN").expect("it runs");
        ask(&mut *holder, select).expect("it runs");
        let mut outcome = give(&mut *waiter, select, false);
        let began = std::time::Instant::now();
        while matches!(outcome, CommandOutcome::Requeue(_)) {
            assert!(began.elapsed().as_secs() < 60, "its time begins again whenever it is requeued");
            std::thread::sleep(std::time::Duration::from_millis(10));
            outcome = give(&mut *waiter, select, true);
        }
        assert!(matches!(outcome, CommandOutcome::Failed(error) if error.number == 3024));
        ask(&mut *holder, "COMMIT").expect("it runs");
        // The next statement has its own time.
        assert_eq!(ask(&mut *waiter, select).expect("it runs"), ["1"]);
    }
}

/// One parameter of type BLOB, whose value came before.
const LONG_PARAMETER: &[u8] = &[0, 1, 0xFC, 0];

#[test]
fn a_requeued_execution_has_its_long_data() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&Env::real(), &options).expect("the folder opens");
    let mut holder = root::connect_as(&engine, CAPABILITIES, 1);
    let mut waiter = root::connect_as(&engine, CAPABILITIES, 2);
    for sql in [
        "CREATE DATABASE s",
        "USE s",
        "CREATE TABLE t (id INT PRIMARY KEY, c TEXT)",
        "INSERT INTO t VALUES (1, '')",
        "BEGIN",
        "UPDATE t SET c = 'x' WHERE id = 1",
    ] {
        ask(&mut *holder, sql).expect("it runs");
    }
    ask(&mut *waiter, "USE s").expect("it runs");
    let mut buffer = PacketBuffer::new();
    let mut link = Discard;
    let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text);
    waiter.prepare(b"UPDATE t SET c = ? WHERE id = 1", &mut reply).expect("it is prepared");
    waiter.send_long_data(1, 0, b"sent ");
    waiter.send_long_data(1, 0, b"before");
    let mut execute = |is_requeued| {
        let request = ExecuteRequest {
            statement_id: 1,
            flags: 0,
            iteration_count: 1,
            parameters: LONG_PARAMETER,
            query_attributes: false,
        };
        let mut buffer = PacketBuffer::new();
        let mut reply =
            Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Binary).of_requeued(is_requeued);
        let before = env::blocking::install(Some(Rc::new(NoRoom)));
        let outcome = waiter.execute(request, &mut reply);
        env::blocking::install(before);
        outcome
    };
    assert!(matches!(execute(false), CommandOutcome::Requeue(_)));
    assert!(matches!(execute(true), CommandOutcome::Requeue(_)));
    ask(&mut *holder, "COMMIT").expect("it runs");
    assert!(matches!(execute(true), CommandOutcome::Done(())));
    assert_eq!(ask(&mut *waiter, "SELECT c FROM t").expect("it runs"), ["sent before"]);
}
