//! Packets of the protocol, of clients and of servers.

use wire::client::{self, ResultReader};
use wire::codec::{Reader, put_lenenc_bytes};
use wire::command::Command;
use wire::compress::{Compressor, Decompressor};
use wire::handshake::{AuthStep, ChangeUser, FirstPacket, Greeting, HandshakeResponse};
use wire::message::{self, ReceivedError, ReceivedOk};
use wire::packet::{Incoming, PacketReader, next_packet};
use wire::parameter::{Parameters, read_query_attributes};
use wire::{Capabilities, ColumnDefinition, ColumnFlags, ColumnType};

/// The most a packet reader is allowed to gather here.
const PAYLOAD_BYTES_MAX: usize = 1 << 20;
/// A deflated byte may become this many, and a frame adds a little: what unpacking may produce per byte of input.
const INFLATED_PER_BYTE_MAX: usize = 1100;

/// Every reader of the protocol on the same bytes: the first four are the capabilities, the fifth says how the rest is cut
/// into pieces. What could be read is written again and read again, and must be the same.
pub fn packets(input: &[u8]) {
    let Some((head, payload)) = input.split_first_chunk::<5>() else { return };
    let capabilities = Capabilities(u32::from_le_bytes([head[0], head[1], head[2], head[3]]));
    let piece = usize::from(head[4]).max(1);
    handshakes(payload, capabilities);
    commands(payload, capabilities, head[4]);
    answers(payload, capabilities, piece);
    frames(payload, piece);
}

fn handshakes(payload: &[u8], capabilities: Capabilities) {
    let mut out = Vec::new();
    if let Ok(greeting) = Greeting::decode(payload) {
        greeting.encode(&mut out);
        assert!(Greeting::decode(&out).is_ok(), "a greeting that was read can be written and read");
    }
    if let Ok(FirstPacket::Response(response)) = FirstPacket::decode(payload) {
        // Encoding writes the forms of today only, so compare what they share.
        if response.auth_response.len() < 256 && response.capabilities.has(Capabilities::SECURE_CONNECTION) {
            out.clear();
            response.encode(&mut out);
            let again = HandshakeResponse::decode(&out)
                .map(|again| (again.user.to_vec(), again.auth_response.to_vec()));
            assert_eq!(again.ok(), Some((response.user.to_vec(), response.auth_response.to_vec())));
        }
    }
    if let Ok(request) = ChangeUser::decode(payload, capabilities) {
        out.clear();
        if request.auth_response.len() < 256 {
            request.encode(capabilities, &mut out);
        }
    }
    let _step = AuthStep::decode(payload).is_ok();
}

fn commands(payload: &[u8], capabilities: Capabilities, flags: u8) {
    if let Ok(command) = Command::decode(payload) {
        let mut out = Vec::new();
        command.encode(&mut out);
        assert_eq!(Command::decode(&out), Ok(command), "a command that was read can be written and read");
    }
    let mut reader = Reader::new(payload);
    if let Ok(attributes) = read_query_attributes(&mut reader) {
        assert!(attributes.len() <= payload.len().max(1) * 8);
    }
    for count in [0, 1, 3, 9, 300] {
        let mut types = Vec::new();
        let with_attributes = capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        if let Ok(mut parameters) = Parameters::read(payload, flags, with_attributes, count, &mut types) {
            for index in 0..=count {
                if parameters.next_value(index % 5 == 4).is_err() {
                    break;
                }
            }
        }
    }
}

fn answers(payload: &[u8], capabilities: Capabilities, piece: usize) {
    for mut reader in [
        ResultReader::query(capabilities),
        ResultReader::prepare(capabilities),
        ResultReader::fetch(capabilities),
    ] {
        for packet in payload.chunks(piece) {
            if reader.is_done() || reader.read(packet).is_err() {
                break;
            }
        }
    }
    let _ok = ReceivedOk::decode(payload, capabilities).is_ok();
    let _error = ReceivedError::decode(payload).is_ok();
    let _eof = message::decode_eof(payload).is_ok();
    if let Ok(column) = ColumnDefinition::decode(payload) {
        let mut out = Vec::new();
        column.encode(&mut out);
        assert_eq!(ColumnDefinition::decode(&out).ok().as_ref(), Some(&column));
    }
    let _row = client::text_row(payload, |_| ()).is_ok();
    let types: Vec<(ColumnType, ColumnFlags)> = payload
        .iter()
        .take(piece)
        .filter_map(|byte| Some((ColumnType::from_byte(*byte)?, ColumnFlags(u16::from(*byte)))))
        .collect();
    let _row = client::binary_row(payload, &types, |_| ()).is_ok();
}

fn frames(payload: &[u8], piece: usize) {
    if let Incoming::Packet { payload: inner, consumed, .. } = next_packet(payload) {
        assert!(consumed <= payload.len() && inner.len() < consumed);
    }
    let mut reader = PacketReader::new(0);
    'packets: for part in payload.chunks(piece) {
        let mut rest = part;
        while !rest.is_empty() {
            match reader.feed(rest, PAYLOAD_BYTES_MAX) {
                Ok((used, whole)) => {
                    assert!(used > 0 && used <= rest.len());
                    rest = &rest[used..];
                    if whole {
                        assert!(reader.take_payload().len() <= PAYLOAD_BYTES_MAX);
                    }
                }
                Err(_) => break 'packets,
            }
        }
    }
    let mut plain = Vec::new();
    let mut decompressor = Decompressor::default();
    for part in payload.chunks(piece) {
        if decompressor.unpack(part, &mut plain).is_err() {
            break;
        }
    }
    assert!(
        plain.len() <= (payload.len() + 1) * INFLATED_PER_BYTE_MAX,
        "{} bytes from {}",
        plain.len(),
        payload.len()
    );
    let (mut packed, mut sequence) = (Vec::new(), 0);
    Compressor::default().pack(payload, &mut sequence, &mut packed);
    plain.clear();
    assert!(Decompressor::default().unpack(&packed, &mut plain).is_ok());
    assert_eq!(plain, payload);
}

/// Well-formed inputs for [`packets`], one of each kind.
#[must_use]
pub fn packet_samples() -> Vec<Vec<u8>> {
    let modern = Capabilities(u32::MAX);
    let old = Capabilities(
        Capabilities::PROTOCOL_41.0 | Capabilities::SECURE_CONNECTION.0 | Capabilities::CONNECT_WITH_DB.0,
    );
    let mut samples = Vec::new();
    let mut add = |capabilities: Capabilities, extra: u8, payload: &[u8]| {
        let mut sample = capabilities.0.to_le_bytes().to_vec();
        sample.push(extra);
        sample.extend_from_slice(payload);
        samples.push(sample);
    };
    for capabilities in [modern, old] {
        let mut out = Vec::new();
        let attributes = vec![(&b"_client_name"[..], &b"libmysql"[..]), (b"_pid", b"4711")];
        HandshakeResponse {
            capabilities,
            packet_bytes_max: 1 << 24,
            collation: 255,
            user: b"root",
            auth_response: &[7; 20],
            database: Some(b"test"),
            auth_plugin: Some(b"caching_sha2_password"),
            attributes: attributes.clone(),
        }
        .encode(&mut out);
        add(capabilities, 9, &out);
        out.clear();
        ChangeUser {
            user: b"root",
            auth_response: &[1; 32],
            database: Some(b"test"),
            collation: Some(255),
            auth_plugin: Some(b"mysql_native_password"),
            attributes,
        }
        .encode(capabilities, &mut out);
        add(capabilities, 200, &out);
    }
    for command in [
        Command::Query(b"SELECT 1"),
        Command::Ping,
        Command::InitDb(b"test"),
        Command::FieldList { table: b"t", wildcard: b"%" },
        Command::Fetch { statement_id: 3, row_count: 10 },
        Command::SendLongData { statement_id: 1, parameter: 2, data: b"long" },
    ] {
        let mut out = Vec::new();
        command.encode(&mut out);
        add(modern, 255, &out);
    }
    // An execution's parameters: three, with types: BIGINT, VAR_STRING, DATETIME(6), none NULL.
    let mut execute = vec![3, 0, 1, 8, 0, 0, 253, 0, 0, 12, 0, 0];
    execute.extend_from_slice(&42_u64.to_le_bytes());
    put_lenenc_bytes(&mut execute, b"text");
    execute.extend_from_slice(&[11, 0xea, 7, 11, 21, 3, 4, 5, 1, 2, 0, 0]);
    add(modern, 8, &execute);
    add(old, 0, &[0, 1, 8, 0, 42, 0, 0, 0, 0, 0, 0, 0]);
    // Query attributes: one string named "k", then the text.
    add(modern, 40, b"\x01\x01\x00\x01\xfd\x00\x01k\x05valueSELECT 1");
    // Answers: OK, error, EOF, a text row, a binary row.
    add(modern, 255, &[0, 1, 2, 2, 0, 0, 0]);
    add(modern, 255, b"\xff\x28\x04#42000You have an error");
    add(old, 255, &[0xfe, 0, 0, 2, 0]);
    add(modern, 255, b"\x011\xfb\x05hello");
    add(modern, 12, &[0, 0, 3, 8, 253, 42, 0, 0, 0, 0, 0, 0, 0, 1, b'x']);
    // Frames, plain and compressed.
    add(modern, 3, b"\x05\x00\x00\x00hello\x02\x00\x00\x01ok");
    let (mut packed, mut sequence) = (Vec::new(), 0);
    Compressor::default().pack(&b"a line that repeats, ".repeat(40), &mut sequence, &mut packed);
    add(modern, 17, &packed);
    samples
}
