//! Connections to a scripted server: all its bytes are written before the client says a word.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use wire::handshake::{Greeting, encode_auth_more, encode_auth_switch};
use wire::message::{OkPacket, encode_eof, encode_error};
use wire::packet::PacketBuffer;
use wire::row::{self, DateTimeFields, TimeFields};
use wire::{ColumnDefinition, EncodedColumns, auth};

use crate::{
    Address, Capabilities, Cell, ColumnFlags, ColumnType, Connection, Error, Options, Param, StatusFlags,
    Stream,
};

const SERVER: Capabilities = Capabilities(
    Capabilities::PROTOCOL_41.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::MULTI_RESULTS.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::LOCAL_FILES.0
        | Capabilities::DEPRECATE_EOF.0
        | Capabilities::CONNECT_WITH_DB.0,
);

/// What a server says.
struct Script {
    packets: PacketBuffer,
    capabilities: Capabilities,
}

impl Script {
    fn new(capabilities: Capabilities, plugin: &[u8]) -> Script {
        let mut packets = PacketBuffer::new();
        Greeting {
            server_version: b"9.7.0-script",
            connection_id: 7,
            challenge: [b'c'; 20],
            capabilities,
            collation: 255,
            status: StatusFlags::AUTOCOMMIT,
            auth_plugin: plugin,
        }
        .encode(packets.begin());
        packets.end();
        packets.set_sequence(2);
        Script { packets, capabilities }
    }

    /// Greeting and OK.
    fn logged_in(capabilities: Capabilities) -> Script {
        let mut script = Script::new(capabilities, b"caching_sha2_password");
        script.ok(0, StatusFlags::AUTOCOMMIT);
        script
    }

    fn answer(&mut self) -> &mut Script {
        self.packets.set_sequence(1);
        self
    }

    fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Script {
        write(self.packets.begin());
        self.packets.end();
        self
    }

    fn ok(&mut self, affected_rows: u64, status: StatusFlags) -> &mut Script {
        let capabilities = self.capabilities;
        let ok = OkPacket { affected_rows, status, info: b"info", ..OkPacket::default() };
        self.put(|out| ok.encode(0, capabilities, out))
    }

    fn error(&mut self, number: u16, message: &str) -> &mut Script {
        self.put(|out| encode_error(number, Some(b"42000"), message.as_bytes(), out))
    }

    fn end(&mut self, status: StatusFlags) -> &mut Script {
        let capabilities = self.capabilities;
        if capabilities.has(Capabilities::DEPRECATE_EOF) {
            let ok = OkPacket { status, warnings: 3, ..OkPacket::default() };
            self.put(|out| ok.encode(0xfe, capabilities, out))
        } else {
            self.put(|out| encode_eof(3, status, out))
        }
    }

    fn columns(&mut self, types: &[ColumnType]) -> &mut Script {
        EncodedColumns::new(types.iter().map(|&column_type| definition(column_type)))
            .put_with_count(&mut self.packets);
        if !self.capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.put(|out| encode_eof(0, StatusFlags::NONE, out));
        }
        self
    }

    fn text_row(&mut self, cells: &[Option<&str>]) -> &mut Script {
        self.put(|out| {
            for cell in cells {
                match cell {
                    Some(text) => row::put_text_bytes(out, text.as_bytes()),
                    None => row::put_text_null(out),
                }
            }
        })
    }

    fn bytes(&self) -> &[u8] {
        self.packets.frames()
    }
}

fn definition(column_type: ColumnType) -> ColumnDefinition<'static> {
    ColumnDefinition {
        schema: b"db",
        table: b"t",
        org_table: b"table",
        name: b"c",
        org_name: b"column",
        collation: 255,
        length: 44,
        column_type,
        flags: ColumnFlags::NOT_NULL,
        decimals: 6,
    }
}

fn options() -> Options {
    let mut options = Options::new(Address::Unix("/nowhere".into()), "root");
    options.password = b"secret".to_vec();
    options.local_files = true;
    options.connect_timeout = Some(Duration::from_secs(10));
    options.read_timeout = Some(Duration::from_secs(10));
    options
}

/// A client of the script, and the other end. Nothing follows the script, and its end can be seen.
fn start(bytes: &[u8], options: &Options) -> (Result<Connection, Error>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let mut writer = theirs.try_clone().expect("a second handle");
    writer.write_all(bytes).expect("the script fits the socket's buffer");
    writer.shutdown(std::net::Shutdown::Write).expect("no more words");
    (Connection::over(Stream::Unix(ours), options), theirs)
}

fn connected(script: &Script) -> (Connection, UnixStream) {
    let (connection, theirs) = start(script.bytes(), &options());
    (connection.expect("let in"), theirs)
}

/// All a client said before it left.
fn said(connection: Connection, mut theirs: UnixStream) -> Vec<u8> {
    drop(connection);
    let mut bytes = Vec::new();
    theirs.read_to_end(&mut bytes).expect("readable");
    bytes
}

#[test]
fn a_result_is_read_with_and_without_eof_packets() {
    for capabilities in [SERVER, SERVER.without(Capabilities::DEPRECATE_EOF)] {
        let mut script = Script::logged_in(capabilities);
        script.answer().columns(&[ColumnType::Long, ColumnType::VarString]);
        script.text_row(&[Some("1"), Some("one")]).text_row(&[Some("-2"), None]);
        script.end(StatusFlags::MORE_RESULTS_EXISTS).ok(5, StatusFlags::AUTOCOMMIT);
        script.answer().ok(9, StatusFlags::NONE);
        let (mut connection, _theirs) = connected(&script);
        assert_eq!((connection.server_version(), connection.connection_id()), ("9.7.0-script", 7));
        let mut answer = connection.query(b"x").unwrap();
        assert!(answer.next_result().unwrap());
        assert!(answer.has_rows());
        let columns: Vec<_> = answer.columns().iter().map(|column| column.name.to_vec()).collect();
        assert_eq!(columns, [b"c", b"c"]);
        let row = answer.next_row().unwrap().expect("a row");
        assert_eq!((row.len(), row.cell(0).as_i64(), row.cell(1).as_str()), (2, Some(1), Some("one")));
        assert_eq!(row.columns().get(1).org_table, b"table");
        let row = answer.next_row().unwrap().expect("a row");
        assert_eq!(
            (row.cell(0).as_u64(), row.cell(0).as_f64(), row.cell(1).is_null()),
            (None, Some(-2.0), true)
        );
        assert!(answer.next_row().unwrap().is_none());
        assert_eq!(answer.summary().warnings, 3);
        assert!(answer.next_row().unwrap().is_none());
        assert!(answer.next_result().unwrap());
        assert!(!answer.has_rows() && answer.columns().is_empty());
        assert_eq!((answer.summary().affected_rows, answer.info()), (5, &b"info"[..]));
        assert!(!answer.next_result().unwrap());
        assert_eq!(connection.ping().unwrap().affected_rows, 9);
        assert!(matches!(connection.ping(), Err(Error::Closed)));
        assert!(matches!(connection.ping(), Err(Error::Broken)));
    }
}

#[test]
fn an_answer_that_is_left_is_read_by_the_next_command() {
    let mut script = Script::logged_in(SERVER);
    script.answer().columns(&[ColumnType::Long]);
    for _ in 0..100 {
        script.text_row(&[Some("7")]);
    }
    script.end(StatusFlags::MORE_RESULTS_EXISTS).error(1146, "no table");
    script.answer().error(1064, "near ''");
    script.answer().ok(1, StatusFlags::NONE);
    let (mut connection, _theirs) = connected(&script);
    let mut answer = connection.query(b"x").unwrap();
    assert!(answer.next_result().unwrap());
    assert!(answer.next_row().unwrap().is_some());
    let error = connection.run(b"y").unwrap_err();
    assert_eq!(error.number(), Some(1064));
    assert_eq!(error.to_string(), "ERROR 1064 (42000): near ''");
    assert_eq!(connection.run(b"z").unwrap().affected_rows, 1);
}

#[test]
fn an_error_among_rows_ends_the_answer_only() {
    let mut script = Script::logged_in(SERVER);
    script.answer().columns(&[ColumnType::Long]).text_row(&[Some("7")]).error(1317, "interrupted");
    script.answer().ok(1, StatusFlags::NONE);
    let (mut connection, _theirs) = connected(&script);
    let mut answer = connection.query(b"x").unwrap();
    assert!(answer.next_result().unwrap());
    assert!(answer.next_row().unwrap().is_some());
    assert_eq!(answer.next_row().unwrap_err().number(), Some(1317));
    assert!(!answer.next_result().unwrap());
    assert!(connection.ping().is_ok());
}

#[test]
fn a_prepared_statement_sends_its_types_once() {
    let types = [ColumnType::LongLong, ColumnType::DateTime, ColumnType::Time, ColumnType::Double];
    let mut script = Script::logged_in(SERVER);
    script.answer().put(|out| out.extend_from_slice(&[0, 5, 0, 0, 0, 4, 0, 2, 0, 0, 0, 0]));
    for column_type in [ColumnType::VarString; 2].into_iter().chain(types) {
        script.put(|out| definition(column_type).encode(out));
    }
    for _ in 0..3 {
        script.answer().columns(&types);
        script.put(|out| {
            let bitmap = row::begin_binary(out, 4);
            row::put_binary_i64(out, -5);
            row::put_binary_datetime(
                out,
                DateTimeFields { year: 2024, month: 2, day: 29, hour: 1, minute: 2, second: 3, micros: 4 },
            );
            row::put_binary_time(
                out,
                TimeFields { negative: true, hours: 100, minute: 1, second: 2, micros: 0 },
            );
            row::set_binary_null(out, bitmap, 3);
        });
        script.end(StatusFlags::NONE);
    }
    let (mut connection, theirs) = connected(&script);
    let mut statement = connection.prepare(b"s").unwrap();
    assert_eq!((statement.id(), statement.parameter_count(), statement.columns().len()), (5, 2, 4));
    assert_eq!(statement.parameters().len(), 2);
    assert!(matches!(
        connection.execute(&mut statement, &[Param::Null]),
        Err(Error::Parameters { wanted: 2, given: 1 })
    ));
    for values in [
        [Param::Int(1), Param::Bytes(b"ab")],
        [Param::Null, Param::Bytes(b"")],
        [Param::UInt(1), Param::Null],
    ] {
        let mut answer = connection.execute(&mut statement, &values).unwrap();
        assert!(answer.next_result().unwrap());
        let row = answer.next_row().unwrap().expect("a row");
        let columns = row.columns();
        let texts: Vec<String> = row
            .cells()
            .enumerate()
            .map(|(index, cell)| {
                let mut text = Vec::new();
                if !cell.write_text(&columns.get(index), &mut text) {
                    return "NULL".to_owned();
                }
                String::from_utf8(text).unwrap()
            })
            .collect();
        assert_eq!(texts, ["-5", "2024-02-29 01:02:03.000004", "-100:01:02.000000", "NULL"]);
        assert!(answer.next_row().unwrap().is_none());
    }
    let said = said(connection, theirs);
    let executions: Vec<&[u8]> = said
        .windows(10)
        .enumerate()
        .filter(|(_, w)| w[..] == [0x17, 5, 0, 0, 0, 0, 1, 0, 0, 0])
        .map(|(at, _)| &said[at + 10..])
        .collect();
    assert_eq!(executions.len(), 3);
    assert_eq!(executions[0][..6], [0, 1, 8, 0, 253, 0]);
    assert_eq!(executions[1][..3], [1, 0, 0]); // First NULL, types as before, an empty string.
    assert_eq!(executions[2][..6], [2, 1, 8, 0x80, 6, 0]);
}

#[test]
fn a_cursor_is_opened_and_fetched_from() {
    for capabilities in [SERVER, SERVER.without(Capabilities::DEPRECATE_EOF)] {
        let mut script = Script::logged_in(capabilities);
        script.answer().put(|out| out.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
        script.answer();
        EncodedColumns::new([definition(ColumnType::Tiny)].into_iter()).put_with_count(&mut script.packets);
        script.end(StatusFlags::CURSOR_EXISTS);
        for last in [StatusFlags::CURSOR_EXISTS, StatusFlags::LAST_ROW_SENT] {
            script.answer().put(|out| out.extend_from_slice(&[0, 0, 200])).end(last);
        }
        let (mut connection, _theirs) = connected(&script);
        let mut statement = connection.prepare(b"s").unwrap();
        assert!(connection.open_cursor(&mut statement, &[]).unwrap());
        let mut answer = connection.fetch(&statement, 1).unwrap();
        assert_eq!(answer.next_row().unwrap().expect("a row").cell(0), Cell(Param::Int(-56)));
        assert!(answer.next_row().unwrap().is_none());
        let summary = connection.fetch(&statement, 1).unwrap().finish().unwrap();
        assert!(summary.status.has(StatusFlags::LAST_ROW_SENT));
    }
}

#[test]
fn passwords_are_proven_as_the_server_asks() {
    // Remembered by the server.
    let mut script = Script::new(SERVER, b"caching_sha2_password");
    script.put(|out| encode_auth_more(&[auth::SHA2_FAST_AUTH_SUCCESS], out)).ok(0, StatusFlags::NONE);
    let (connection, theirs) = connected(&script);
    let response = auth::sha2_response(b"secret", &[b'c'; 20]);
    assert!(said(connection, theirs).windows(32).any(|window| window == response));
    // Not remembered, over a Unix socket: the password itself.
    let mut script = Script::new(SERVER, b"caching_sha2_password");
    script.put(|out| encode_auth_more(&[auth::SHA2_FULL_AUTH], out));
    script.packets.set_sequence(4);
    script.ok(0, StatusFlags::NONE);
    let (connection, theirs) = connected(&script);
    assert!(said(connection, theirs).ends_with(b"secret\0"));
    // Another plugin, another challenge.
    let mut script = Script::new(SERVER, b"something_new");
    script.put(|out| encode_auth_switch(b"mysql_native_password", &[b'd'; 20], out));
    script.packets.set_sequence(4);
    script.ok(0, StatusFlags::NONE);
    let (connection, theirs) = connected(&script);
    assert!(said(connection, theirs).ends_with(&auth::native_response(b"secret", &[b'd'; 20])));
    // Refused, a plugin nobody knows, and a server that never decides.
    let mut script = Script::new(SERVER, b"caching_sha2_password");
    script.error(1045, "Access denied");
    assert_eq!(start(script.bytes(), &options()).0.unwrap_err().number(), Some(1045));
    let mut script = Script::new(SERVER, b"caching_sha2_password");
    script.put(|out| encode_auth_switch(b"telepathy", &[b'd'; 20], out));
    assert!(matches!(start(script.bytes(), &options()).0, Err(Error::Option(_))));
    let mut script = Script::new(SERVER, b"caching_sha2_password");
    for _ in 0..100 {
        script.put(|out| encode_auth_more(&[auth::SHA2_FAST_AUTH_SUCCESS], out));
    }
    assert!(matches!(start(script.bytes(), &options()).0, Err(Error::Protocol(_))));
    // Full before a word is said.
    let full = b"\x17\0\0\0\xff\x10\x04Too many connections";
    assert_eq!(start(full, &options()).0.unwrap_err().number(), Some(1040));
}

#[test]
fn no_file_is_sent_unless_a_function_opens_it() {
    let mut script = Script::logged_in(SERVER);
    script.answer().put(|out| out.extend_from_slice(b"\xfb/etc/passwd"));
    script.packets.set_sequence(3);
    script.ok(0, StatusFlags::NONE);
    script.answer().put(|out| out.extend_from_slice(b"\xfbrows"));
    script.packets.set_sequence(4);
    script.ok(2, StatusFlags::NONE);
    let (mut connection, theirs) = connected(&script);
    assert!(
        matches!(connection.run(b"LOAD"), Err(Error::LocalFileRefused { name }) if name == "/etc/passwd")
    );
    connection.set_local_file(Some(Box::new(|name| {
        assert_eq!(name, "rows");
        Ok(Box::new(&b"1\n2\n"[..]))
    })));
    assert_eq!(connection.run(b"LOAD").unwrap().affected_rows, 2);
    assert!(said(connection, theirs).ends_with(b"\x04\0\0\x021\n2\n\0\0\0\x03"));
}

#[test]
fn packets_of_several_frames_are_put_together() {
    let text = "e".repeat(wire::packet::FRAME_PAYLOAD_BYTES_MAX + 10);
    let mut script = Script::logged_in(SERVER);
    script.answer().columns(&[ColumnType::VarString]).text_row(&[Some(&text)]).end(StatusFlags::NONE);
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    let writer = std::thread::spawn(move || theirs.write_all(script.bytes()).map(|()| theirs));
    let mut connection = Connection::over(Stream::Unix(ours), &options()).unwrap();
    let mut answer = connection.query(b"x").unwrap();
    assert!(answer.next_result().unwrap());
    assert_eq!(answer.next_row().unwrap().unwrap().cell(0).as_str(), Some(&text[..]));
    assert!(answer.next_row().unwrap().is_none());
    drop(writer.join().unwrap().unwrap());
}

#[test]
fn a_server_that_gives_up_says_why() {
    // Sent before the command it does not answer: numbered 0.
    let mut script = Script::logged_in(SERVER);
    script.packets.set_sequence(0);
    script.error(4031, "disconnected by the server because of inactivity");
    let (mut connection, _theirs) = connected(&script);
    assert_eq!(connection.ping().unwrap_err().number(), Some(4031));
    assert!(matches!(connection.ping(), Err(Error::Broken)));
}

#[test]
fn silence_is_timed_out() {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    theirs.write_all(Script::logged_in(SERVER).bytes()).unwrap();
    let mut options = options();
    options.read_timeout = Some(Duration::from_millis(20));
    let mut connection = Connection::over(Stream::Unix(ours), &options).unwrap();
    assert!(matches!(connection.ping(), Err(Error::TimedOut)));
    assert!(matches!(connection.ping(), Err(Error::Broken)));
}

/// Reads everything as a client would that looks at all there is; what matters is that it ends without a panic.
fn read_all(bytes: &[u8]) {
    let (connection, _theirs) = start(bytes, &options());
    let Ok(mut connection) = connection else { return };
    let look = |connection: &mut Connection, binary: bool| -> Result<(), Error> {
        let mut answer = if binary {
            let mut statement = connection.prepare(b"p")?;
            let values = vec![Param::Null; statement.parameter_count()];
            connection.execute(&mut statement, &values)?
        } else {
            connection.query(b"q")?
        };
        while answer.next_result()? {
            while let Some(row) = answer.next_row()? {
                for (cell, column) in row.cells().zip(row.columns().iter()) {
                    let mut text = Vec::new();
                    cell.write_text(&column, &mut text);
                    let _ = (cell.as_i64(), cell.as_u64(), cell.as_f64(), cell.as_str());
                }
            }
        }
        Ok(())
    };
    let _ = look(&mut connection, false);
    let _ = look(&mut connection, true);
}

#[test]
fn no_byte_and_no_cut_of_a_server_panics() {
    let types = [ColumnType::LongLong, ColumnType::DateTime, ColumnType::Time, ColumnType::VarString];
    let mut script = Script::logged_in(SERVER);
    script.answer().columns(&types[2..]).text_row(&[Some("1"), None]).end(StatusFlags::MORE_RESULTS_EXISTS);
    script.ok(1, StatusFlags::NONE);
    script.answer().put(|out| out.extend_from_slice(&[0, 1, 0, 0, 0, 4, 0, 1, 0, 0, 0, 0]));
    for column_type in [ColumnType::VarString].into_iter().chain(types) {
        script.put(|out| definition(column_type).encode(out));
    }
    script.answer().columns(&types).put(|out| {
        row::begin_binary(out, 4);
        row::put_binary_i64(out, 1);
        row::put_binary_datetime(out, DateTimeFields { year: 1, micros: 1, ..DateTimeFields::default() });
        row::put_binary_time(out, TimeFields { hours: 99, ..TimeFields::default() });
        row::put_binary_bytes(out, b"text");
    });
    script.end(StatusFlags::NONE);
    let whole = script.bytes().to_vec();
    read_all(&whole);
    for end in 0..whole.len() {
        read_all(&whole[..end]);
    }
    for at in 0..whole.len() {
        for byte in [0, 1, 0xfa, 0xfb, 0xfc, 0xfe, 0xff, whole[at].wrapping_add(1)] {
            let mut changed = whole.clone();
            changed[at] = byte;
            read_all(&changed);
        }
    }
}
