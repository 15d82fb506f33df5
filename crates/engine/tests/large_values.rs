//! What lies apart from its row is read for the rows that need it, and for no others.

mod root;

use engine::engine::{Engine, StartOptions};
use service::{Capabilities, Discard, Reply, RowFormat, Session};
use wire::client::{Event, ResultReader, text_row};
use wire::packet::{Incoming, PacketBuffer, next_packet};

const CAPABILITIES: Capabilities =
    Capabilities::PROTOCOL_41.with(Capabilities::TRANSACTIONS).with(Capabilities::DEPRECATE_EOF);
const ROWS: u64 = 300;

fn query(session: &mut dyn Session, sql: &str) -> Vec<String> {
    let mut buffer = PacketBuffer::new();
    let mut link = Discard;
    let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text);
    session.query(sql.as_bytes(), &mut reply).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let mut reader = ResultReader::query(CAPABILITIES);
    let mut frames = buffer.frames();
    let mut rows = Vec::new();
    while let Incoming::Packet { payload, consumed, .. } = next_packet(frames) {
        frames = &frames[consumed..];
        if let Event::Row(row) = reader.read(payload).expect("an answer") {
            let mut cells = Vec::new();
            text_row(row, |cell| cells.push(String::from_utf8_lossy(cell.unwrap_or(b"NULL")).into_owned()))
                .expect("a text row");
            rows.push(cells.join("|"));
        }
    }
    rows
}

fn reads(session: &mut dyn Session) -> u64 {
    let line = query(session, "SHOW GLOBAL STATUS LIKE 'Large_values_read'").remove(0);
    line.rsplit('|').next().expect("two cells").parse().expect("a count")
}

#[test]
fn only_rows_that_are_returned_cost_reads() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&env::Env::real(), &options).expect("a new folder opens");
    let mut session = root::connect(&engine, CAPABILITIES);
    let session = session.as_mut();
    query(session, "CREATE DATABASE d");
    query(session, "USE d");
    query(
        session,
        "CREATE TABLE payment (id INT PRIMARY KEY, paytime INT, name CHAR(255), detail VARCHAR(8192) NULL)",
    );
    for id in 0..ROWS {
        // Seven has no detail; of all others the first eight letters differ but for ten that share them.
        let detail = match id {
            7 => "NULL".to_owned(),
            100..110 => format!("CONCAT('aaaaaaaa', REPEAT('x', 8000), {id})"),
            _ => format!("CONCAT('{:08}', REPEAT('y', 8184))", 10_000_000 + id),
        };
        query(
            session,
            &format!("INSERT INTO payment VALUES ({id}, {}, 'n{id}', {detail})", (id * 37) % ROWS),
        );
    }
    for (sql, rows, expected) in [
        ("SELECT * FROM payment ORDER BY paytime LIMIT 1", 1, 1),
        ("SELECT * FROM payment ORDER BY paytime DESC LIMIT 3", 3, 3),
        ("SELECT id, paytime FROM payment ORDER BY name", ROWS as usize, 0),
        ("SELECT detail FROM payment WHERE paytime < 5 ORDER BY name", 5, 5),
        ("SELECT a.detail FROM payment a JOIN payment b ON a.id = b.paytime WHERE b.id = 9", 1, 1),
        ("SELECT paytime % 7, COUNT(*) FROM payment GROUP BY 1", 7, 0),
        ("SELECT COUNT(*) FROM payment WHERE name > 'n2'", 1, 0),
    ] {
        let before = reads(session);
        assert_eq!(query(session, sql).len(), rows, "{sql}");
        assert_eq!(reads(session) - before, expected, "{sql}");
    }
    engine.close().expect("the store closes");
}
