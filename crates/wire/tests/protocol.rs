//! The protocol as functions: what is written is read back, known bytes have known meanings, and no bytes at all panic.

use proptest::prelude::*;
use wire::auth;
use wire::client::{Event, ResultReader};
use wire::command::Command;
use wire::compress::{Compressor, Decompressor};
use wire::flags::{Capabilities, ColumnFlags, ColumnType, StatusFlags};
use wire::handshake::{AuthStep, ChangeUser, FirstPacket, Greeting, HandshakeResponse};
use wire::packet::{FRAME_PAYLOAD_BYTES_MAX, PacketBuffer, PacketError, PacketReader};
use wire::parameter::{self, ParameterValue, Parameters};
use wire::row::{DateTimeFields, TimeFields};
use wire::{ColumnDefinition, EncodedColumns};

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex")).collect()
}

/// `authentication_string` of two accounts made on MySQL 9.7, and their passwords.
#[test]
fn stored_passwords_are_those_of_mysql() {
    for (stored, password) in [
        (
            "24412430304124127F7172130947301E1F7B032C3B4D40463217022E6F514762546E5259466F474B7753763156756848547A6D58\
             6A54464762704A59576B51547261736B5839",
            "secret",
        ),
        (
            "244124303041242D3A062A3861362A011B5D6B5C2C0F0D255C297F5A623136766F6B6A624279737778305A6D67322F6E446B7770\
             2E58426574642F724239442E43344B4D3231",
            "a somewhat longer passphrase, over 32 bytes long ÄÖ",
        ),
    ] {
        let stored = hex(stored);
        assert!(auth::sha2_is_stored(&stored));
        assert!(auth::sha2_verify_full(&stored, password.as_bytes()), "{password}");
        assert!(!auth::sha2_verify_full(&stored, b"wrong"));
    }
    // From the manual's example of PASSWORD('password').
    assert_eq!(auth::native_stored(b"password"), "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
}

#[test]
fn a_client_proves_its_password_without_sending_it() {
    let challenge = *b"abcdefghijklmnopqrst";
    let response = auth::native_response(b"pw", &challenge);
    assert!(auth::native_verify(auth::native_stored(b"pw").as_bytes(), &response, &challenge));
    assert!(!auth::native_verify(auth::native_stored(b"px").as_bytes(), &response, &challenge));
    assert!(!auth::native_verify(b"*nonsense", &response, &challenge));
    assert!(auth::native_verify(b"", b"", &challenge) && !auth::native_verify(b"", &response, &challenge));
    let response = auth::sha2_response(b"pw", &challenge);
    assert!(auth::sha2_verify_fast(&auth::sha2_remembered(b"pw"), &response, &challenge));
    assert!(!auth::sha2_verify_fast(&auth::sha2_remembered(b"px"), &response, &challenge));
    assert!(!auth::sha2_verify_fast(&auth::sha2_remembered(b"pw"), &response[1..], &challenge));
    let stored = auth::sha2_stored(b"pw", &[b'$'; 20]);
    assert!(auth::sha2_verify_full(&stored, b"pw") && !auth::sha2_verify_full(&stored, b"pw "));
    assert!(!stored[7..27].contains(&b'$') && stored.len() == 70);
}

#[test]
fn payloads_of_every_length_around_the_frame_limit_come_back() {
    for length in [
        0,
        1,
        250,
        FRAME_PAYLOAD_BYTES_MAX - 1,
        FRAME_PAYLOAD_BYTES_MAX,
        2 * FRAME_PAYLOAD_BYTES_MAX,
        40_000_000,
    ] {
        let payload: Vec<u8> = (0..length).map(|at| ((at * 31) >> 8) as u8).collect();
        let mut packets = PacketBuffer::new();
        packets.set_sequence(254);
        packets.put(b"before");
        packets.put(&payload);
        packets.put(b"after");
        let bytes = packets.frames();
        let mut reader = PacketReader::new(254);
        let mut at = 0;
        for expected in [&b"before"[..], &payload, b"after"] {
            // In pieces, so that headers and frames are cut anywhere.
            loop {
                let end = bytes.len().min(at + 1_000_003);
                let (used, whole) = reader.feed(&bytes[at..end], usize::MAX).expect("in order");
                at += used;
                if whole {
                    break;
                }
            }
            assert!(reader.payload() == expected);
            reader.clear();
        }
        assert_eq!(at, bytes.len());
        assert_eq!(reader.next_sequence(), packets.sequence());
    }
}

/// A payload whose full frames leave while it grows: the other side cannot tell.
#[test]
fn a_payload_sent_while_it_grows_is_the_same() {
    for length in [0, 10, FRAME_PAYLOAD_BYTES_MAX - 1, FRAME_PAYLOAD_BYTES_MAX, 40_000_000] {
        for piece in [100_003, 700_001, FRAME_PAYLOAD_BYTES_MAX, 39_999_999] {
            let payload: Vec<u8> = (0..length).map(|at| ((at * 31) >> 8) as u8).collect();
            let mut whole = PacketBuffer::new();
            whole.set_sequence(255);
            whole.put(b"before");
            whole.put(&payload);
            let mut packets = PacketBuffer::new();
            packets.set_sequence(255);
            packets.put(b"before");
            let mut sent = Vec::new();
            packets.begin();
            for piece in payload.chunks(piece) {
                packets.payload().extend_from_slice(piece);
                if packets.end_full_frames() {
                    sent.extend_from_slice(packets.frames());
                    packets.clear_frames();
                    assert!(packets.len() < FRAME_PAYLOAD_BYTES_MAX + 4, "{length}, {}", piece.len());
                }
            }
            packets.end();
            sent.extend_from_slice(packets.frames());
            assert!(sent == whole.frames(), "{length} bytes in pieces of {piece}");
            assert_eq!(packets.sequence(), whole.sequence());
        }
    }
}

#[test]
fn a_length_that_lies_reserves_nothing_and_one_over_the_limit_is_refused() {
    let mut reader = PacketReader::new(0);
    assert_eq!(reader.feed(&[0xfe, 0xff, 0xff, 0, 1, 2], usize::MAX), Ok((6, false)));
    assert!(reader.take_payload().capacity() < 64);
    let mut reader = PacketReader::new(0);
    assert_eq!(reader.feed(&[1, 4, 0, 0], 1024), Err(PacketError::TooLarge { bytes: 1025, bytes_max: 1024 }));
    let mut reader = PacketReader::new(3);
    assert_eq!(reader.feed(&[1, 0, 0, 4], 9), Err(PacketError::OutOfOrder { expected: 3, found: 4 }));
}

#[test]
fn an_abandoned_packet_leaves_no_trace() {
    let mut packets = PacketBuffer::new();
    packets.put(b"a");
    packets.begin().extend_from_slice(b"half a row");
    assert_eq!(packets.frames(), [1, 0, 0, 0, b'a']);
    packets.clear_frames();
    packets.abandon();
    packets.put(b"b");
    assert_eq!(packets.frames(), [1, 0, 0, 1, b'b']);
}

fn greeting() -> Greeting<'static> {
    Greeting {
        server_version: b"9.7.0-invar",
        connection_id: 77,
        challenge: *b"abcdefghijklmnopqrst",
        capabilities: Capabilities(0xdfff_ffff),
        collation: 255,
        status: StatusFlags::AUTOCOMMIT,
        auth_plugin: b"caching_sha2_password",
    }
}

#[test]
fn handshake_packets_come_back() {
    let mut out = Vec::new();
    greeting().encode(&mut out);
    assert_eq!(Greeting::decode(&out), Ok(greeting()));

    let response = HandshakeResponse {
        capabilities: Capabilities::PROTOCOL_41
            | Capabilities::PLUGIN_AUTH
            | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA
            | Capabilities::CONNECT_WITH_DB
            | Capabilities::CONNECT_ATTRS
            | Capabilities::SECURE_CONNECTION,
        packet_bytes_max: 1 << 24,
        collation: 45,
        user: b"root",
        auth_response: b"12345678901234567890",
        database: Some(b"test"),
        auth_plugin: Some(b"mysql_native_password"),
        attributes: vec![(b"_os", b"Linux"), (b"program_name", b"")],
    };
    let mut out = Vec::new();
    response.encode(&mut out);
    assert_eq!(FirstPacket::decode(&out), Ok(FirstPacket::Response(response.clone())));
    for end in 0..out.len() {
        // Cut anywhere: an error or less of the same, never a panic.
        let _ = FirstPacket::decode(&out[..end]);
    }

    let change = ChangeUser {
        user: b"u",
        auth_response: b"x",
        database: None,
        collation: Some(255),
        auth_plugin: Some(b"caching_sha2_password"),
        attributes: vec![(b"a", b"b")],
    };
    let mut out = Vec::new();
    change.encode(response.capabilities, &mut out);
    assert_eq!(ChangeUser::decode(&out, response.capabilities), Ok(change));

    let mut out = Vec::new();
    wire::handshake::encode_auth_switch(b"mysql_native_password", b"abcdefghijklmnopqrst", &mut out);
    assert_eq!(
        AuthStep::decode(&out),
        Ok(AuthStep::Switch { plugin: b"mysql_native_password", challenge: b"abcdefghijklmnopqrst" })
    );
}

#[test]
fn commands_come_back() {
    for command in [
        Command::Quit,
        Command::Query(b"SELECT 1"),
        Command::FieldList { table: b"t", wildcard: b"%" },
        Command::Execute { statement_id: 5, flags: 1, iteration_count: 1, parameters: b"\0\x01" },
        Command::SendLongData { statement_id: 5, parameter: 2, data: b"abc" },
        Command::Fetch { statement_id: 1, row_count: 100 },
        Command::SetOption { option: 1 },
        Command::ProcessKill { connection_id: 9 },
        Command::Other { command: 0x1d, payload: b"x" },
    ] {
        let mut out = Vec::new();
        command.encode(&mut out);
        assert_eq!(Command::decode(&out), Ok(command));
    }
    assert!(Command::decode(b"").is_err() && Command::decode(b"\x17\0\0").is_err());
}

#[test]
fn parameters_of_every_type_come_back() {
    let date = DateTimeFields { year: 2024, month: 2, day: 29, ..DateTimeFields::default() };
    let values = [
        ParameterValue::Null,
        ParameterValue::Int(-5),
        ParameterValue::UInt(u64::MAX),
        ParameterValue::Float(1.5),
        ParameterValue::Double(-0.25),
        ParameterValue::Decimal(b"12.30"),
        ParameterValue::Bytes(b"\xff\0text"),
        ParameterValue::Date(date),
        ParameterValue::DateTime(DateTimeFields { hour: 23, micros: 7, ..date }),
        ParameterValue::DateTime(DateTimeFields::default()),
        ParameterValue::Time(TimeFields { negative: true, hours: 838, minute: 59, second: 59, micros: 1 }),
    ];
    for names in [false, true] {
        let mut body = Vec::new();
        parameter::put_parameters(&mut body, &values, names);
        let flags = if names { parameter::PARAMETER_COUNT_AVAILABLE } else { 0 };
        let mut types = Vec::new();
        let mut read = Parameters::read(&body, flags, names, values.len(), &mut types).expect("well formed");
        for value in values {
            assert_eq!(read.next_value(false), Ok(value));
        }
        assert!(read.next_value(false).is_err());
        for end in 0..body.len() {
            let mut types = Vec::new();
            if let Ok(mut read) = Parameters::read(&body[..end], flags, names, values.len(), &mut types) {
                while read.next_value(false).is_ok() {}
            }
        }
    }
}

#[test]
fn a_result_is_read_from_the_other_side() {
    let columns = EncodedColumns::new(
        [ColumnDefinition {
            schema: b"",
            table: b"",
            org_table: b"",
            name: b"1",
            org_name: b"",
            collation: 63,
            length: 2,
            column_type: ColumnType::LongLong,
            flags: ColumnFlags::NOT_NULL | ColumnFlags::BINARY,
            decimals: 0,
        }]
        .into_iter(),
    );
    for first in [1, 9] {
        let mut packets = PacketBuffer::new();
        packets.set_sequence(first);
        columns.put_with_count(&mut packets);
        wire::row::put_text_i64(packets.begin(), 1);
        packets.end();
        wire::message::encode_eof(3, StatusFlags::AUTOCOMMIT, packets.begin());
        packets.end();
        let mut bytes = packets.frames();
        let mut reader = ResultReader::query(Capabilities::DEPRECATE_EOF);
        let mut seen = Vec::new();
        let mut expected = first;
        while !bytes.is_empty() {
            let (payload, sequence, consumed) = wire::packet::one_packet(bytes).expect("whole");
            assert_eq!(sequence, expected);
            expected = expected.wrapping_add(1);
            bytes = &bytes[consumed..];
            match reader.read(payload) {
                Ok(Event::Columns(count)) => seen.push(format!("{count} column")),
                Ok(Event::Column(column)) => seen.push(format!("{:?}", column.column_type)),
                Ok(Event::Row(row)) => seen.push(format!("{row:?}")),
                // The EOF of an old server is no OK packet: five bytes are too few.
                Err(_) => seen.push("malformed".into()),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(seen, ["1 column", "LongLong", "[1, 49]", "malformed"]);
    }
}

#[test]
fn compressed_frames_come_back_and_lies_are_found() {
    let mut plain: Vec<u8> = (0..200_000u32).map(|at| (at / 100) as u8).collect();
    plain.extend((0..5000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8));
    let mut packed = Vec::new();
    let mut sequence = 250;
    let mut compressor = Compressor::default();
    compressor.pack(&plain, &mut sequence, &mut packed);
    compressor.pack(b"short", &mut sequence, &mut packed);
    assert!(packed.len() < plain.len() / 4);
    let mut unpacked = Vec::new();
    let mut decompressor = Decompressor::default();
    decompressor.set_sequence(250);
    for piece in packed.chunks(7) {
        decompressor.unpack(piece, &mut unpacked).expect("valid");
    }
    assert!(unpacked.starts_with(&plain) && unpacked.ends_with(b"short"));
    assert!(decompressor.is_between_frames());

    for lie in [1, 60_000, 0xff_ffff] {
        let mut packed = packed.clone();
        let [d, e, f, _] = u32::to_le_bytes(lie);
        packed[4..7].copy_from_slice(&[d, e, f]);
        let mut decompressor = Decompressor::default();
        decompressor.set_sequence(250);
        assert!(decompressor.unpack(&packed, &mut Vec::new()).is_err(), "{lie}");
    }
}

#[test]
fn temporal_values_have_their_text() {
    let mut out = Vec::new();
    let value =
        DateTimeFields { year: 2024, month: 2, day: 3, hour: 4, minute: 5, second: 6, micros: 120_000 };
    wire::row::put_text_date(&mut out, value);
    wire::row::put_text_datetime(&mut out, value, 0);
    wire::row::put_text_datetime(&mut out, value, 3);
    wire::row::put_text_time(
        &mut out,
        TimeFields { negative: true, hours: 838, minute: 9, second: 0, micros: 7 },
        6,
    );
    wire::row::put_text_f64(&mut out, 0.5);
    wire::row::put_text_null(&mut out);
    assert_eq!(
        out,
        b"\x0a2024-02-03\x132024-02-03 04:05:06\x172024-02-03 04:05:06.120\x11-838:09:00.000007\x030.5\xfb"
    );
}

/// Any bytes, and any well-formed packet with bytes changed or cut: an error or a value, in bounded memory.
fn read_everything(bytes: &[u8]) {
    let _ = FirstPacket::decode(bytes);
    let _ = Greeting::decode(bytes);
    let _ = AuthStep::decode(bytes);
    for capabilities in [Capabilities::NONE, Capabilities(u32::MAX)] {
        let _ = ChangeUser::decode(bytes, capabilities);
        for mut reader in [
            ResultReader::query(capabilities),
            ResultReader::prepare(capabilities),
            ResultReader::fetch(capabilities),
        ] {
            let mut rest = bytes;
            while let Ok((payload, _, consumed)) = wire::packet::one_packet(rest) {
                rest = &rest[consumed..];
                if reader.read(payload).is_err() || reader.is_done() {
                    break;
                }
            }
            let _ = reader.read(bytes);
        }
    }
    let _ = Command::decode(bytes);
    let mut reader = wire::codec::Reader::new(bytes);
    let _ = parameter::read_query_attributes(&mut reader);
    for (flags, names, count) in [(0, false, 3), (8, true, 3), (8, true, 0), (0, false, 60_000)] {
        let mut types = Vec::new();
        if let Ok(mut read) = Parameters::read(bytes, flags, names, count, &mut types) {
            while read.next_value(false).is_ok() {}
        }
    }
    let _ = wire::client::text_row(bytes, |_| ());
    let _ = wire::client::binary_row(bytes, &[(ColumnType::DateTime, ColumnFlags::NONE); 9], |_| ());
    let _ = auth::sha2_is_stored(bytes);
    let mut plain = Vec::new();
    let _ = Decompressor::default().unpack(bytes, &mut plain);
    let mut reader = PacketReader::new(0);
    let _ = reader.feed(bytes, 1 << 20);
    assert!(reader.take_payload().capacity() <= 2 * bytes.len() + 64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read_everything(&bytes);
    }

    #[test]
    fn no_changed_packet_panics(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let mut samples: Vec<Vec<u8>> = vec![Vec::new(); 3];
        greeting().encode(&mut samples[0]);
        HandshakeResponse { capabilities: Capabilities(u32::MAX), user: b"u", attributes: vec![(b"a", b"b")], ..HandshakeResponse::default() }
            .encode(&mut samples[1]);
        parameter::put_parameters(&mut samples[2], &[ParameterValue::Int(1), ParameterValue::Bytes(b"abc"), ParameterValue::Null], true);
        for mut sample in samples {
            let length = sample.len();
            sample[at.index(length)] = byte;
            sample.truncate(cut.index(length) + 1);
            read_everything(&sample);
        }
    }

    #[test]
    fn doubles_read_back_as_they_were(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        let mut out = Vec::new();
        wire::float_text::write_f64(&mut out, value);
        let text = String::from_utf8(out).expect("ASCII");
        prop_assert_eq!(text.parse::<f64>().expect("a number").to_bits(), bits);
    }
}
