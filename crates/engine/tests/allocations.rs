//! What a statement may allocate once its plan is known: a point SELECT nothing, in whichever way it comes.
//!
//! A counting allocator is the whole test: time depends on the machine, the number of allocations does not.

mod root;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use engine::engine::{Engine, StartOptions};
use service::{Capabilities, Discard, ExecuteRequest, Outcome, Reply, RowFormat, Session};
use wire::packet::PacketBuffer;

/// Counts what the thread that asks allocates; threads of the store do as they please.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes taken less bytes given back.
    static HELD_BYTES: Cell<i64> = const { Cell::new(0) };
}

#[allow(unsafe_code, reason = "an allocator is unsafe by definition")]
// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        HELD_BYTES.set(HELD_BYTES.get() + layout.size() as i64);
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD_BYTES.set(HELD_BYTES.get() - layout.size() as i64);
        // SAFETY: `place` came from `alloc` or `realloc`, which is the system's.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        HELD_BYTES.set(HELD_BYTES.get() + bytes as i64 - layout.size() as i64);
        // SAFETY: `place` came from `alloc` or `realloc`, which is the system's.
        unsafe { System.realloc(place, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A conversation whose answers are looked at and dropped.
struct Client {
    session: Box<dyn Session>,
    packets: PacketBuffer,
}

impl Client {
    fn connect(engine: &Engine) -> Client {
        Client { session: root::connect(engine, CAPABILITIES), packets: PacketBuffer::new() }
    }

    /// Lets the session answer; gives the allocations it took.
    fn count(
        &mut self,
        format: RowFormat,
        work: impl FnOnce(&mut dyn Session, &mut Reply<'_>) -> Outcome,
    ) -> u64 {
        self.packets.clear_frames();
        self.packets.set_sequence(1);
        let mut link = Discard;
        let mut reply = Reply::new(&mut self.packets, &mut link, CAPABILITIES, format);
        let before = ALLOCATIONS.get();
        let outcome = work(self.session.as_mut(), &mut reply);
        let taken = ALLOCATIONS.get() - before;
        outcome.expect("the statement is right");
        assert_eq!(reply.finished_count(), 1);
        taken
    }

    fn query(&mut self, sql: &str) -> u64 {
        self.count(RowFormat::Text, |session, reply| session.query(sql.as_bytes(), reply).without_requeue())
    }

    fn prepare(&mut self, sql: &str) {
        self.count(RowFormat::Text, |session, reply| session.prepare(sql.as_bytes(), reply));
    }

    fn execute(&mut self, statement_id: u32, parameters: &[u8]) -> u64 {
        let request = ExecuteRequest {
            statement_id,
            flags: 0,
            iteration_count: 1,
            parameters,
            query_attributes: false,
        };
        self.count(RowFormat::Binary, |session, reply| session.execute(request, reply).without_requeue())
    }

    fn answer_has(&self, text: &str) -> bool {
        self.packets.frames().windows(text.len()).any(|part| part == text.as_bytes())
    }
}

const CAPABILITIES: Capabilities =
    Capabilities(Capabilities::PROTOCOL_41.0 | Capabilities::DEPRECATE_EOF.0 | Capabilities::TRANSACTIONS.0);

/// One BIGINT: no NULL, its type, its value.
fn integer(value: i64) -> Vec<u8> {
    let mut body = vec![0, 1, 8, 0];
    body.extend_from_slice(&value.to_le_bytes());
    body
}

/// One VARCHAR.
fn text(value: &str) -> Vec<u8> {
    let mut body = vec![0, 1, 0xfd, 0, u8::try_from(value.len()).expect("a short text")];
    body.extend_from_slice(value.as_bytes());
    body
}

/// A server with `t (id, name, c)` of 200 rows, and a client.
fn with_table(test: impl FnOnce(&mut Client)) {
    with_engine(|_, client| test(client));
}

fn with_engine(test: impl FnOnce(&Engine, &mut Client)) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&env::Env::real(), &options).expect("a new folder opens");
    let mut client = Client::connect(&engine);
    client.query("CREATE DATABASE d");
    client.query("USE d");
    client.query(
        "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR(40) NOT NULL, c CHAR(120), UNIQUE (name))",
    );
    for id in 0..200 {
        client.query(&format!("INSERT INTO t VALUES ({id}, 'name {id:03}', 'text {id:03}')"));
    }
    test(&engine, &mut client);
    drop(client);
    engine.close().expect("the store closes");
}

/// Runs a statement often enough for its plan and its memory to be there, then once more for each of `count` runs.
fn settled(count: i64, mut run: impl FnMut(i64) -> u64) -> u64 {
    for round in 0..4 {
        run(round);
    }
    (4..4 + count).map(run).sum()
}

#[test]
fn a_prepared_point_select_allocates_nothing() {
    with_table(|client| {
        client.prepare("SELECT c FROM t WHERE id = ?");
        assert_eq!(settled(100, |id| client.execute(1, &integer(id))), 0);
        assert!(client.answer_has("text 103"));
        // A row that is not there, and other statements between.
        client.prepare("SELECT name, c FROM t WHERE id = ?");
        let taken =
            settled(100, |id| client.execute(1, &integer(id - 1000)) + client.execute(2, &integer(id)));
        assert_eq!(taken, 0);
        client.query("BEGIN");
        assert_eq!(settled(100, |id| client.execute(1, &integer(id)) + client.execute(2, &integer(id))), 0);
    });
}

#[test]
fn a_prepared_point_select_by_text_allocates_nothing_but_its_locator() {
    with_table(|client| {
        client.prepare("SELECT c FROM t WHERE name = ?");
        let taken = settled(100, |id| client.execute(1, &text(&format!("name {id:03}"))));
        assert!(client.answer_has("text 103"));
        assert!(taken <= 100, "{taken} allocations in 100 statements");
    });
}

#[test]
fn a_point_select_as_text_allocates_nothing() {
    with_table(|client| {
        let texts: Vec<String> = (0..110).map(|id| format!("SELECT c FROM t WHERE id = {id:03}")).collect();
        let taken = settled(100, |id| client.query(&texts[usize::try_from(id).expect("small")]));
        assert!(client.answer_has("text 103"));
        assert_eq!(taken, 0);
    });
}

/// Not nothing, but bounded: operators are made again for each run.
#[test]
fn a_range_select_allocates_little() {
    with_table(|client| {
        for (number, (sql, most)) in [
            ("SELECT c FROM t WHERE id BETWEEN ? AND ?", 60),
            ("SELECT SUM(id) FROM t WHERE id BETWEEN ? AND ?", 60),
            ("SELECT c FROM t WHERE id BETWEEN ? AND ? ORDER BY c", 120),
            ("SELECT DISTINCT c FROM t WHERE id BETWEEN ? AND ? ORDER BY c", 245),
        ]
        .into_iter()
        .enumerate()
        {
            client.prepare(sql);
            let statement = u32::try_from(number).expect("few") + 1;
            let taken = settled(20, |id| {
                let mut body = vec![0, 1, 8, 0, 8, 0];
                body.extend_from_slice(&id.to_le_bytes());
                body.extend_from_slice(&(id + 99).to_le_bytes());
                client.execute(statement, &body)
            }) / 20;
            println!("{taken} allocations: {sql}");
            assert!(taken <= most, "{taken} allocations: {sql}");
        }
    });
}

/// Reading a row that was written before 64 instant changes takes what it took before them.
#[test]
fn instant_changes_cost_a_reader_nothing() {
    with_table(|client| {
        client.prepare("SELECT name, c FROM t WHERE id = ?");
        client.prepare("SELECT COUNT(c), MIN(name) FROM t WHERE id BETWEEN 10 AND ?");
        let scan = settled(20, |id| client.execute(2, &integer(id + 100)));
        for number in 0..16 {
            client
                .query(&format!("ALTER TABLE t ADD COLUMN n{number} INT DEFAULT 7 FIRST, ALGORITHM=INSTANT"));
            client.query(&format!("ALTER TABLE t ADD COLUMN m{number} TEXT AFTER name, ALGORITHM=INSTANT"));
            client.query(&format!("ALTER TABLE t DROP COLUMN m{number}, ALGORITHM=INSTANT"));
            client.query(&format!("ALTER TABLE t MODIFY n{number} BIGINT AFTER c, ALGORITHM=INSTANT"));
        }
        assert_eq!(settled(100, |id| client.execute(1, &integer(id))), 0);
        assert!(client.answer_has("text 103"));
        assert_eq!(settled(20, |id| client.execute(2, &integer(id + 100))), scan);
    });
}

/// BEGIN, COMMIT and ROLLBACK are parsed once: their trees stay with the prepared statement.
#[test]
fn a_prepared_transaction_allocates_nothing() {
    with_table(|client| {
        // BEGIN cannot be prepared: COMMIT AND CHAIN begins the next transaction.
        for sql in ["COMMIT AND CHAIN", "ROLLBACK AND CHAIN", "COMMIT", "ROLLBACK AND NO CHAIN"] {
            client.prepare(sql);
        }
        for (begin, end) in [(1, 3), (2, 4)] {
            let taken = settled(100, |_| client.execute(begin, &[]) + client.execute(end, &[]));
            assert_eq!(taken, 0);
        }
    });
}

/// What a session may keep of statements that were large.
const KEPT_BYTES_MAX: i64 = 64 * 1024;

/// What was large about a statement goes when the statement does: its text, its tree, its values, its rows.
#[test]
fn an_idle_session_holds_little() {
    let long = "x".repeat(1_000_000);
    let many: Vec<String> = (0..4_000).map(|number| format!("{number} + 1 AS c{number}")).collect();
    let in_list: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
    let texts = [
        format!("SELECT LENGTH('{long}')"),
        format!("SELECT /* {long} */ 1"),
        format!("SELECT id FROM t WHERE name = '{long}'"),
        format!("SELECT {}", many.join(", ")),
        format!("SELECT COUNT(*) FROM t WHERE id IN ({})", in_list.join(", ")),
        format!("SET @n = LENGTH('{long}')"),
        format!("SHOW TABLES WHERE Tables_in_d = '{long}'"),
        "SELECT REPEAT('x', 1000000)".to_owned(),
        "SELECT COUNT(*) FROM (SELECT a.id, b.id j, REPEAT('y', 500) y FROM t a, t b WHERE b.id < 20 ORDER BY y, j) q"
            .to_owned(),
    ];
    let mut value = vec![0, 1, 0xfd, 0, 0xfd];
    value.extend_from_slice(&1_000_000u32.to_le_bytes()[..3]);
    value.extend_from_slice(long.as_bytes());
    let prepared = ["SELECT LENGTH(?)", "SET @n = LENGTH(?)", "SHOW TABLES WHERE Tables_in_d = ?"];
    with_engine(|engine, _| {
        let mut grown = Vec::new();
        let mut measure = |name: &str, work: &dyn Fn(&mut Client)| {
            let mut kept = 0;
            // The first time what belongs to the server grows, such as the buffer of a log.
            for _ in 0..2 {
                let mut client = Client::connect(engine);
                client.query("USE d");
                client.query("SELECT 1");
                let before = HELD_BYTES.get();
                work(&mut client);
                client.query("SELECT 1");
                client.packets = PacketBuffer::new();
                kept = HELD_BYTES.get() - before;
            }
            let name = &name[..name.len().min(60)];
            println!("{kept} bytes kept of: {name}");
            if kept > KEPT_BYTES_MAX {
                grown.push(format!("{kept} bytes of {name}"));
            }
        };
        for sql in &texts {
            measure(sql, &|client| {
                client.query(sql);
            });
        }
        for sql in prepared {
            measure(sql, &|client| {
                client.prepare(sql);
                for _ in 0..2 {
                    client.execute(1, &value);
                }
            });
        }
        assert!(grown.is_empty(), "{grown:#?}");
    });
}
