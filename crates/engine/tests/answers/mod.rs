//! Asks a session and reads the rows of its answer.

use service::{Capabilities, Discard, Reply, RowFormat, Session};
use wire::client::{Event, ResultReader, text_row};
use wire::packet::{Incoming, PacketBuffer, next_packet};

pub(crate) const CAPABILITIES: Capabilities =
    Capabilities::PROTOCOL_41.with(Capabilities::TRANSACTIONS).with(Capabilities::DEPRECATE_EOF);

/// The rows of an answer, cells joined by bars; an error as its number and message.
pub(crate) fn ask(session: &mut dyn Session, sql: &str) -> Result<Vec<String>, String> {
    let mut buffer = PacketBuffer::new();
    let mut link = Discard;
    let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text);
    session
        .query(sql.as_bytes(), &mut reply)
        .without_requeue()
        .map_err(|error| format!("{} {}", error.number, error.message))?;
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
    Ok(rows)
}
