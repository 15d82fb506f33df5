//! How a log line is built: one pass, straight into the buffer that is written.

use std::io::Write;

use crate::log_file::write_timestamp;

/// Text of a statement that can write itself, parameters filled in.
pub trait StatementText {
    /// Does what is costly of [`StatementText::write_to`] before a log's mutex is held.
    fn prepare(&self, bytes_max: usize);

    /// Appends the text, at most `bytes_max` bytes of it and one value's end. If that is not all, answers how long the
    /// statement is as it was sent.
    fn write_to(&self, bytes_max: usize, line: &mut Vec<u8>) -> Option<usize>;
}

impl StatementText for [u8] {
    fn prepare(&self, _bytes_max: usize) {}

    fn write_to(&self, bytes_max: usize, line: &mut Vec<u8>) -> Option<usize> {
        let beginning = beginning(self, bytes_max);
        line.extend_from_slice(beginning);
        (beginning.len() < self.len()).then_some(self.len())
    }
}

impl StatementText for &[u8] {
    fn prepare(&self, _bytes_max: usize) {}

    fn write_to(&self, bytes_max: usize, line: &mut Vec<u8>) -> Option<usize> {
        (**self).write_to(bytes_max, line)
    }
}

/// The beginning of a text, cut between characters of UTF-8.
pub(crate) fn beginning(text: &[u8], bytes_max: usize) -> &[u8] {
    if text.len() <= bytes_max {
        return text;
    }
    let mut end = bytes_max;
    while end > 0 && bytes_max - end < 3 && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    &text[..end]
}

fn write_bounded(text: &dyn StatementText, bytes_max: usize, line: &mut Vec<u8>) {
    let start = line.len();
    if let Some(whole) = text.write_to(bytes_max, line) {
        let shown = line.len() - start;
        print(line, format_args!("... /* {shown} bytes of a statement of {whole} */"));
    }
}

/// Appends formatted text. A vector takes everything.
fn print(line: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = line.write_fmt(text);
}

/// A line of the general log.
#[derive(Clone, Copy, Debug)]
pub struct GeneralEvent<'a> {
    /// Microseconds since 1970, UTC.
    pub wall_micros: i64,
    /// The connection.
    pub connection_id: u64,
    /// `Query`, `Execute`, `Connect` ...
    pub command: &'a str,
}

impl GeneralEvent<'_> {
    /// `2026-01-02T03:04:05.000006Z<tab>   12 Query<tab>SELECT 1`
    pub(crate) fn write_to(&self, text: &dyn StatementText, bytes_max: usize, line: &mut Vec<u8>) {
        write_timestamp(self.wall_micros, line);
        print(line, format_args!("\t{:5} {}\t", self.connection_id, self.command));
        write_bounded(text, bytes_max, line);
        line.push(b'\n');
    }
}

/// An entry of the slow query log.
#[derive(Clone, Copy, Debug)]
pub struct SlowEvent<'a> {
    /// When the statement ended, microseconds since 1970, UTC.
    pub wall_micros: i64,
    /// When it began, seconds since 1970.
    pub started_seconds: i64,
    /// The connection.
    pub connection_id: u64,
    /// The account's user name.
    pub user: &'a str,
    /// The client's host name, empty if names are not resolved.
    pub host: &'a str,
    /// The client's address.
    pub address: &'a str,
    /// How long it took.
    pub query_micros: u64,
    /// How long it waited for locks.
    pub lock_micros: u64,
    /// Rows sent to the client.
    pub rows_sent: u64,
    /// Rows read.
    pub rows_examined: u64,
    /// By which factor the worst estimate of its plan was wrong; 0: none was by much.
    pub misestimated_by: f64,
    /// The database to name in a `use`, if it differs from the entry before of the same connection.
    pub database: Option<&'a [u8]>,
}

impl SlowEvent<'_> {
    /// The five comment and command lines and the statement, as pt-query-digest and mysqldumpslow read them.
    pub(crate) fn write_to(&self, text: &dyn StatementText, bytes_max: usize, line: &mut Vec<u8>) {
        line.extend_from_slice(b"# Time: ");
        write_timestamp(self.wall_micros, line);
        print(
            line,
            format_args!(
                "\n# User@Host: {}[{}] @ {} [{}]  Id: {:5}\n# Query_time: {}.{:06}  Lock_time: {}.{:06} Rows_sent: {}  Rows_examined: {}",
                self.user,
                self.user,
                self.host,
                self.address,
                self.connection_id,
                self.query_micros / 1_000_000,
                self.query_micros % 1_000_000,
                self.lock_micros / 1_000_000,
                self.lock_micros % 1_000_000,
                self.rows_sent,
                self.rows_examined
            ),
        );
        if self.misestimated_by > 0.0 {
            print(line, format_args!("  Misestimated_by: {:.0}", self.misestimated_by));
        }
        line.push(b'\n');
        if let Some(database) = self.database {
            line.extend_from_slice(b"use ");
            line.extend_from_slice(database);
            line.extend_from_slice(b";\n");
        }
        print(line, format_args!("SET timestamp={};\n", self.started_seconds));
        write_bounded(text, bytes_max, line);
        line.extend_from_slice(b";\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_look_as_tools_expect_them() {
        let mut line = Vec::new();
        let event = GeneralEvent { wall_micros: 1_795_229_008_713_562, connection_id: 71, command: "Query" };
        event.write_to(&&b"select 1"[..], 100, &mut line);
        assert_eq!(String::from_utf8(line).unwrap(), "2026-11-21T02:43:28.713562Z\t   71 Query\tselect 1\n");

        let mut line = Vec::new();
        let event = SlowEvent {
            wall_micros: 1_795_229_009_028_404,
            started_seconds: 1_795_229_009,
            connection_id: 72,
            user: "peer",
            host: "",
            address: "127.0.0.1",
            query_micros: 126,
            lock_micros: 0,
            rows_sent: 0,
            rows_examined: 0,
            misestimated_by: 0.0,
            database: Some(b"sbtest"),
        };
        event.write_to(&&b"SET NAMES utf8mb4"[..], 100, &mut line);
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "# Time: 2026-11-21T02:43:29.028404Z\n# User@Host: peer[peer] @  [127.0.0.1]  Id:    72\n\
             # Query_time: 0.000126  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\nuse sbtest;\n\
             SET timestamp=1795229009;\nSET NAMES utf8mb4;\n"
        );
    }

    #[test]
    fn a_long_statement_is_cut_between_characters_and_its_length_told() {
        let event = GeneralEvent { wall_micros: 0, connection_id: 1, command: "Query" };
        let shown = |bytes_max| {
            let mut line = Vec::new();
            event.write_to(&"SELECT 'é'".as_bytes(), bytes_max, &mut line);
            String::from_utf8(line).unwrap().split_off("1970-01-01T00:00:00.000000Z\t    1 Query\t".len())
        };
        assert_eq!(shown(11), "SELECT 'é'\n");
        assert_eq!(shown(10), "SELECT 'é... /* 10 bytes of a statement of 11 */\n");
        assert_eq!(shown(9), "SELECT '... /* 8 bytes of a statement of 11 */\n");
        assert_eq!(shown(1), "S... /* 1 bytes of a statement of 11 */\n");
    }
}
