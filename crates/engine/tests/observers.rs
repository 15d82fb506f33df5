//! Observers of rows and of commits, over whole sessions.
//!
//! Triggers fire as those of MySQL 9.7 do: `observers/triggers.expected` has its answers and what its triggers saw
//! (`observers/refresh.py`). Observers of stored rows see cascades, too, and may refuse.

mod root;

use std::collections::HashMap;
use std::sync::Arc;

use access::{Error, NewRowCells, RowCells, RowChange, RowObserver, RowTrigger, ServerError};
use catalog::Catalog;
use engine::engine::{Engine, StartOptions};
use parking_lot::Mutex;
use service::{Capabilities, Discard, Reply, RowFormat, Session};
use table::{Observers, Table};
use types::{Cell, Value};
use wire::client::{Event, ResultReader, text_row};
use wire::packet::{Incoming, PacketBuffer, next_packet};

const CAPABILITIES: Capabilities =
    Capabilities::PROTOCOL_41.with(Capabilities::TRANSACTIONS).with(Capabilities::DEPRECATE_EOF);

/// What observers saw, one line for each call.
type Seen = Arc<Mutex<String>>;

fn shown(row: &dyn RowCells, columns: usize) -> String {
    let cells = (0..columns).map(|ordinal| match row.cell(ordinal) {
        Cell::Null => "NULL".to_owned(),
        Cell::Int(value) => value.to_string(),
        Cell::Bytes(bytes) => format!("{} bytes", bytes.len()),
        other => panic!("{other:?} is in none of these tables"),
    });
    format!("({})", cells.collect::<Vec<_>>().join(","))
}

fn refused() -> Error {
    Error::Server(Box::new(ServerError { number: 1644, message: "refused".to_owned() }))
}

/// Does what the triggers of `refresh.py` do.
#[derive(Debug)]
struct TestTrigger {
    table: String,
    columns: usize,
    /// The column whose values make it refuse rows and change them.
    steered_by: Option<usize>,
    seen: Seen,
}

impl TestTrigger {
    fn saw(&self, time: &str, old: Option<&dyn RowCells>, new: Option<&dyn RowCells>) {
        let event = match (old, new) {
            (None, _) => "insert",
            (_, None) => "delete",
            _ => "update",
        };
        let rows: Vec<String> =
            [old, new].into_iter().flatten().map(|row| shown(row, self.columns)).collect();
        *self.seen.lock() += &format!("{time} {event} {} {}\n", self.table, rows.join(" "));
    }
}

impl RowTrigger for TestTrigger {
    fn before(&self, old: Option<&dyn RowCells>, new: Option<&mut dyn NewRowCells>) -> Result<(), Error> {
        let Some(new) = new else {
            self.saw("before", old, None);
            let is_refused = self.steered_by.zip(old).is_some_and(|(at, old)| old.cell(at) == Cell::Int(66));
            return if is_refused { Err(refused()) } else { Ok(()) };
        };
        self.saw("before", old, Some(&*new));
        let Some(at) = self.steered_by else { return Ok(()) };
        match new.cell(at) {
            Cell::Int(66) => Err(refused()),
            Cell::Int(77) => {
                new.set(at, &Value::Int(78))?;
                new.set(at + 1, &Value::Int(1))
            }
            Cell::Int(88) => new.set(at, &Value::Null),
            Cell::Int(99) => new.set(at, &Value::string("1001", types::CollationId::UTF8MB4_0900_AI_CI)),
            _ => Ok(()),
        }
    }

    fn after(&self, old: Option<&dyn RowCells>, new: Option<&dyn RowCells>) -> Result<(), Error> {
        self.saw("after", old, new);
        let is_refused =
            self.steered_by.zip(new.or(old)).is_some_and(|(at, row)| row.cell(at) == Cell::Int(67));
        if is_refused { Err(refused()) } else { Ok(()) }
    }
}

/// Records changes of stored rows, and refuses those that leave 500 in a column.
#[derive(Debug)]
struct TestObserver {
    table: String,
    columns: usize,
    steered_by: Option<usize>,
    seen: Seen,
}

impl RowObserver for TestObserver {
    fn reads_before(&self, _ordinal: usize) -> bool {
        true
    }

    fn reads_after(&self, _ordinal: usize) -> bool {
        true
    }

    fn row_changed(&self, change: &RowChange<'_>) -> Result<(), Error> {
        let side =
            |row: Option<access::StoredRow<'_>>| row.map_or("-".into(), |row| shown(row.cells, self.columns));
        *self.seen.lock() += &format!("{} {} {}\n", self.table, side(change.before), side(change.after));
        let steers = |at: usize| change.after.is_some_and(|after| after.cells.cell(at) == Cell::Int(500));
        if self.steered_by.is_some_and(steers) { Err(refused()) } else { Ok(()) }
    }
}

/// A session at an engine of its own.
struct World {
    session: Box<dyn Session>,
    engine: Engine,
    folder: tempfile::TempDir,
}

impl World {
    fn new(tables: &[&str]) -> World {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let options = StartOptions {
            data_folder: folder.path().join("data"),
            variables: vec![("secure_file_priv".into(), String::new())],
            ..StartOptions::default()
        };
        let engine = Engine::open(&env::Env::real(), &options).expect("a new folder opens");
        let mut world = World { session: root::connect(&engine, CAPABILITIES), engine, folder };
        for sql in ["CREATE DATABASE s", "USE s"].iter().chain(tables) {
            assert!(world.answer(sql).starts_with("OK"), "{sql}");
        }
        world
    }

    /// What a statement answers: rows, `OK` with the affected rows, or the error.
    fn answer(&mut self, sql: &str) -> String {
        let mut buffer = PacketBuffer::new();
        let mut link = Discard;
        let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text);
        if let Err(error) = self.session.query(sql.as_bytes(), &mut reply).without_requeue() {
            return format!("ERROR {}: {}\n", error.number, error.message);
        }
        let mut reader = ResultReader::query(CAPABILITIES);
        let mut frames = buffer.frames();
        let mut out = String::new();
        while let Incoming::Packet { payload, consumed, .. } = next_packet(frames) {
            frames = &frames[consumed..];
            match reader.read(payload).expect("an answer") {
                Event::Ok(ok) => out += &format!("OK {}\n", ok.affected_rows),
                Event::Row(row) => {
                    let mut cells = Vec::new();
                    let mut put = |cell: Option<&[u8]>| {
                        cells.push(String::from_utf8_lossy(cell.unwrap_or(b"NULL")).into_owned());
                    };
                    text_row(row, &mut put).expect("a text row");
                    out += &format!("{}\n", cells.join(","));
                }
                _ => {}
            }
        }
        out
    }

    /// Lets observers see the changes of a table.
    fn observe(&self, name: &str, observers: impl FnOnce(usize) -> Observers) {
        let catalog = self.engine.core().catalog();
        let mut changed = Catalog::clone(&catalog.load());
        let entry = Arc::clone(changed.table("s", name).expect("the table"));
        let earlier = Table::of(&entry.source).expect("a table of the store");
        let definition = Arc::new((*entry.definition).clone());
        let observers = observers(definition.columns.len());
        let table = Table::open_observed(earlier.store(), Arc::clone(&definition), &earlier, observers);
        let source = table.expect("the table opens again");
        let schema = changed.schema_mut("s").expect("the schema");
        schema.insert(Arc::new(catalog::TableEntry { definition, source }));
        changed.version += 1;
        catalog.publish(changed);
    }

    fn put_trigger(&self, table: &str, steered_by: Option<usize>, seen: &Seen) {
        let (table, seen) = (table.to_owned(), Arc::clone(seen));
        self.observe(&table.clone(), |columns| Observers {
            trigger: Some(Arc::new(TestTrigger { table, columns, steered_by, seen })),
            rows: Vec::new(),
        });
    }

    fn put_observer(&self, table: &str, steered_by: Option<usize>, seen: &Seen) {
        let (table, seen) = (table.to_owned(), Arc::clone(seen));
        self.observe(&table.clone(), |columns| Observers {
            trigger: None,
            rows: vec![Arc::new(TestObserver { table, columns, steered_by, seen })],
        });
    }
}

const TABLES: [&str; 5] = [
    "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, u INT UNIQUE, v INT NOT NULL CHECK (v < 1000), w INT)",
    "CREATE TABLE o (id INT PRIMARY KEY, tid INT)",
    "CREATE TABLE p (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE c (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES p(id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE r (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES p(id))",
];

/// The triggers of a table see, refuse and change the rows that MySQL's see, refuse and change, in its order.
#[test]
fn triggers_fire_as_those_of_mysql() {
    let mut world = World::new(&TABLES);
    let lines = world.folder.path().join("lines");
    std::fs::write(&lines, "50\t1\n51\t77\n").expect("a file");
    let load = format!("LOAD DATA INFILE '{}' INTO TABLE t (u, v)", lines.display());
    let seen = Seen::default();
    for (table, steered_by) in [("t", Some(2)), ("p", None), ("c", None), ("r", None)] {
        world.put_trigger(table, steered_by, &seen);
    }
    let expected = include_str!("observers/triggers.expected");
    let mut wrong = String::new();
    for (number, case) in format!("\n{expected}").split("\n> ").skip(1).enumerate() {
        let (sql, expected) = case.split_once('\n').unwrap_or((case, ""));
        assert_eq!(Some(sql), include_str!("observers/triggers.sql").lines().nth(number), "run refresh.py");
        let sent = if sql == "LOAD DATA" { &load } else { sql };
        seen.lock().clear();
        let got = world.answer(sent) + &seen.lock();
        if got.trim_end() != expected.trim_end() {
            wrong += &format!("> {sql}\n--- MySQL\n{}\n--- ours\n{}\n", expected.trim_end(), got.trim_end());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Observers of stored rows see what cascades change, a child before its parent, and may refuse all of it.
#[test]
fn observers_of_stored_rows_see_cascades_and_may_refuse() {
    let mut world = World::new(&TABLES);
    let seen = Seen::default();
    for (table, steered_by) in [("t", Some(2)), ("p", Some(0)), ("c", Some(1))] {
        world.put_observer(table, steered_by, &seen);
    }
    for (sql, expected) in [
        ("INSERT INTO p VALUES (1, 1), (2, 2)", "OK 2\np - (1,1)\np - (2,2)\n"),
        ("INSERT INTO c VALUES (10, 1), (11, 1)", "OK 2\nc - (10,1)\nc - (11,1)\n"),
        ("INSERT INTO c VALUES (12, 500)", "ERROR 1452: "),
        ("UPDATE p SET id = 7 WHERE id = 1", "OK 1\nc (10,1) (10,7)\nc (11,1) (11,7)\np (1,1) (7,1)\n"),
        // What the cascade has changed is undone with the row that is refused.
        ("UPDATE p SET id = 500 WHERE id = 7", "ERROR 1644: refused\nc (10,7) (10,500)\n"),
        ("SELECT id, pid FROM c ORDER BY id", "10,7\n11,7\n"),
        ("DELETE FROM p WHERE id = 7", "OK 1\nc (10,7) -\nc (11,7) -\np (7,1) -\n"),
        ("INSERT INTO p VALUES (500, 1)", "ERROR 1644: refused\np - (500,1)\n"),
        // The first row of the statement is undone, too.
        (
            "INSERT INTO t VALUES (1, 1, 1, 1), (2, 2, 500, 2)",
            "ERROR 1644: refused\nt - (1,1,1,1)\nt - (2,2,500,2)\n",
        ),
        ("SELECT COUNT(*) FROM t", "0\n"),
        ("SELECT COUNT(*) FROM p", "1\n"),
        ("INSERT INTO t VALUES (1, 1, 1, 1)", "OK 1\nt - (1,1,1,1)\n"),
        ("REPLACE INTO t VALUES (1, 2, 3, 4)", "OK 2\nt (1,1,1,1) -\nt - (1,2,3,4)\n"),
        ("REPLACE INTO t VALUES (9, 2, 3, 5)", "OK 2\nt (1,2,3,4) (9,2,3,5)\n"),
        ("INSERT INTO t VALUES (8, 2, 3, 5) ON DUPLICATE KEY UPDATE w = 6", "OK 2\nt (9,2,3,5) (9,2,3,6)\n"),
        ("UPDATE t SET w = 6", "OK 0\n"),
        ("UPDATE t SET v = 500", "ERROR 1644: refused\nt (9,2,3,6) (9,2,500,6)\n"),
        ("UPDATE IGNORE t SET v = 500", "ERROR 1644: refused\nt (9,2,3,6) (9,2,500,6)\n"),
        ("SELECT id, u, v, w FROM t", "9,2,3,6\n"),
        ("SELECT v FROM t WHERE u = 2", "3\n"),
    ] {
        seen.lock().clear();
        let got = world.answer(sql) + &seen.lock();
        let is_start = sql == "INSERT INTO c VALUES (12, 500)";
        assert!(if is_start { got.starts_with(expected) } else { got == expected }, "{sql}\n{got}");
    }
}

/// A large value is whole in both images, also where it was never in memory whole.
#[test]
fn observers_of_stored_rows_read_large_values_whole() {
    let mut world = World::new(&[
        "CREATE TABLE a (id INT PRIMARY KEY, x LONGTEXT)",
        "CREATE TABLE b (id INT PRIMARY KEY, x LONGTEXT)",
    ]);
    let seen = Seen::default();
    world.put_observer("b", None, &seen);
    assert_eq!(world.answer("INSERT INTO a VALUES (1, REPEAT('x', 300000))"), "OK 1\n");
    for (sql, expected) in [
        ("INSERT INTO b SELECT id, x FROM a", "b - (1,300000 bytes)\n"),
        ("UPDATE b SET id = 2", "b (1,300000 bytes) (2,300000 bytes)\n"),
        ("DELETE FROM b", "b (2,300000 bytes) -\n"),
    ] {
        seen.lock().clear();
        assert_eq!(world.answer(sql), "OK 1\n");
        assert_eq!(*seen.lock(), expected, "{sql}");
    }
}

/// What a row's column held before and after a change.
type Values = (i64, i64);

/// What a transaction changed, and which session it was of.
#[derive(Debug, Default)]
struct Changes {
    session: i64,
    /// By the number of the change.
    rows: Vec<(u64, Values)>,
}

/// Puts the rows that a transaction changed out at its commit.
#[derive(Debug, Default)]
struct ChangeStream {
    running: Mutex<HashMap<u64, Changes>>,
    /// By position.
    committed: Mutex<Vec<(u64, Changes)>>,
}

impl ChangeStream {
    /// How many transactions of a session it has.
    fn count_of(&self, session: i64) -> usize {
        self.committed.lock().iter().filter(|(_, changes)| changes.session == session).count()
    }
}

impl RowObserver for ChangeStream {
    fn reads_before(&self, ordinal: usize) -> bool {
        ordinal == 1
    }

    fn reads_after(&self, ordinal: usize) -> bool {
        ordinal >= 1
    }

    fn row_changed(&self, change: &RowChange<'_>) -> Result<(), Error> {
        let value = |row: Option<access::StoredRow<'_>>, ordinal| match row.map(|row| row.cells.cell(ordinal))
        {
            Some(Cell::Int(value)) => value,
            _ => 0,
        };
        let mut running = self.running.lock();
        let changes = running.entry(change.transaction).or_default();
        changes.session = value(change.after, 2);
        changes.rows.push((change.number, (value(change.before, 1), value(change.after, 1))));
        Ok(())
    }
}

impl store::CommitObserver for ChangeStream {
    fn committed(&self, transaction: store::TxnId, position: store::CommitPosition) {
        if let Some(changes) = self.running.lock().remove(&transaction.0) {
            self.committed.lock().push((position.0, changes));
        }
    }

    fn rolled_back(&self, transaction: store::TxnId, kept: u64) {
        let mut running = self.running.lock();
        if kept == 0 {
            running.remove(&transaction.0);
        } else if let Some(changes) = running.get_mut(&transaction.0) {
            changes.rows.retain(|(number, _)| *number <= kept);
        }
    }
}

/// Sessions add to one row at the same time: the stream has every transaction whole, in the order in which they committed, before
/// its session has the answer, and none that was rolled back.
#[test]
fn a_change_stream_has_concurrent_transactions_in_commit_order() {
    const SESSIONS: i64 = 4;
    const COMMITS: usize = 25;
    let mut world = World::new(&["CREATE TABLE n (id INT PRIMARY KEY, v INT, session INT)"]);
    assert_eq!(world.answer("INSERT INTO n VALUES (1, 0, 0)"), "OK 1\n");
    let stream = Arc::new(ChangeStream::default());
    world.observe("n", |_| Observers { trigger: None, rows: vec![Arc::<ChangeStream>::clone(&stream)] });
    assert!(world.engine.backend().store().on_commit(Arc::<ChangeStream>::clone(&stream)));
    std::thread::scope(|scope| {
        for number in 0..SESSIONS {
            let (engine, stream) = (&world.engine, &stream);
            scope.spawn(move || {
                let mut session = root::connect_as(engine, CAPABILITIES, number as u64 + 2);
                let update = format!("UPDATE s.n SET v = v + 1, session = {number}");
                let mut run = |sql: &str| {
                    let mut buffer = PacketBuffer::new();
                    let mut link = Discard;
                    let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text);
                    session.query(sql.as_bytes(), &mut reply).without_requeue().expect("it runs");
                };
                for round in 0..COMMITS {
                    for sql in ["BEGIN", &update, &update] {
                        run(sql);
                    }
                    run(if round % 5 == 4 { "ROLLBACK" } else { "COMMIT" });
                    let own = (round + 1) - (round + 1) / 5;
                    assert_eq!(stream.count_of(number), own, "seen before the answer");
                }
            });
        }
    });
    let committed = stream.committed.lock();
    let expected = SESSIONS as usize * (COMMITS - COMMITS / 5);
    assert_eq!(committed.len(), expected);
    assert!(committed.is_sorted_by(|one, next| one.0 < next.0), "by position");
    for (number, (_, changes)) in committed.iter().enumerate() {
        let before = 2 * number as i64;
        let rows: Vec<Values> = changes.rows.iter().map(|(_, values)| *values).collect();
        assert_eq!(rows, [(before, before + 1), (before + 1, before + 2)], "transaction {number}");
    }
    assert_eq!(world.answer("SELECT v FROM s.n"), format!("{}\n", 2 * expected));
}

/// What a failed statement, a rollback to a savepoint and a rollback undo is no part of the stream.
#[test]
fn a_change_stream_leaves_out_what_is_rolled_back() {
    let mut world = World::new(&["CREATE TABLE n (id INT PRIMARY KEY, v INT, session INT)"]);
    assert_eq!(world.answer("INSERT INTO n VALUES (1, 0, 0), (2, 0, 0)"), "OK 2\n");
    let stream = Arc::new(ChangeStream::default());
    world.observe("n", |_| Observers { trigger: None, rows: vec![Arc::<ChangeStream>::clone(&stream)] });
    assert!(world.engine.backend().store().on_commit(Arc::<ChangeStream>::clone(&stream)));
    let expected = [
        ("BEGIN", ""),
        ("UPDATE n SET v = 1 WHERE id = 1", "0>1"),
        ("INSERT INTO n VALUES (3, 30, 0), (1, 40, 0)", "0>1"),
        ("SAVEPOINT a", "0>1"),
        ("UPDATE n SET v = v + 1", "0>1 1>2 0>1"),
        ("SAVEPOINT b", "0>1 1>2 0>1"),
        ("DELETE FROM n WHERE id = 2", "0>1 1>2 0>1 1>0"),
        ("ROLLBACK TO b", "0>1 1>2 0>1"),
        ("ROLLBACK TO a", "0>1"),
        ("UPDATE n SET v = 7 WHERE id = 2", "0>1 0>7"),
    ];
    for (sql, rows) in expected {
        world.answer(sql);
        let running = stream.running.lock();
        let shown: Vec<String> = running
            .values()
            .flat_map(|changes| &changes.rows)
            .map(|(_, (before, after))| format!("{before}>{after}"))
            .collect();
        assert_eq!(shown.join(" "), rows, "after {sql}");
    }
    world.answer("COMMIT");
    for sql in ["BEGIN", "UPDATE n SET v = 9", "ROLLBACK"] {
        world.answer(sql);
    }
    assert!(stream.running.lock().is_empty(), "nothing is kept of what has ended");
    let committed = stream.committed.lock();
    assert_eq!(committed.len(), 1);
    let rows: Vec<Values> = committed[0].1.rows.iter().map(|(_, values)| *values).collect();
    assert_eq!(rows, [(0, 1), (0, 7)]);
}
