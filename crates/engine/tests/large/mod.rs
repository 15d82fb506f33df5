//! A session at an engine of its own, for tests that count what is read of large values.

use engine::engine::{Engine, StartOptions};
use service::{Capabilities, Discard, Reply, RowFormat, Session};
use wire::client::{Event, ResultReader, text_row};
use wire::packet::{Incoming, PacketBuffer, next_packet};

use crate::root;

pub(crate) const CAPABILITIES: Capabilities =
    Capabilities::PROTOCOL_41.with(Capabilities::TRANSACTIONS).with(Capabilities::DEPRECATE_EOF);

/// The rows of an answer, cells joined by bars.
pub(crate) fn query(session: &mut dyn Session, sql: &str) -> Vec<String> {
    let mut buffer = PacketBuffer::new();
    let mut link = Discard;
    let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text);
    let shown = sql.get(..200).unwrap_or(sql);
    session.query(sql.as_bytes(), &mut reply).unwrap_or_else(|error| panic!("{shown}: {error:?}"));
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

/// A status counter.
pub(crate) fn count(session: &mut dyn Session, counter: &str) -> u64 {
    let line = query(session, &format!("SHOW GLOBAL STATUS LIKE '{counter}'")).remove(0);
    line.rsplit('|').next().expect("two cells").parse().expect("a count")
}

/// Large values read so far.
pub(crate) fn reads(session: &mut dyn Session) -> u64 {
    count(session, "Large_values_read")
}

/// The counters are the process's: one test at a time.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Runs a test in a database of its own.
pub(crate) fn alone(test: impl FnOnce(&mut dyn Session)) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder for the test");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&env::Env::real(), &options).expect("a new folder opens");
    let mut session = root::connect(&engine, CAPABILITIES);
    query(session.as_mut(), "CREATE DATABASE d");
    query(session.as_mut(), "USE d");
    test(session.as_mut());
    drop(session);
    engine.close().expect("the store closes");
}

/// Numbers with a fixed seed.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
