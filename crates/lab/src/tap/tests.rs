//! The tap on recorded, made and senseless conversations, and over real sockets.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use proptest::prelude::*;

use super::conversation::{Conversation, NOT_UNDERSTOOD, TLS};
use super::phases::LOGIN;
use super::*;

/// What a MySQL 9.7 and a client sent each other: PyMySQL's text protocol, with a refused statement and three results of one
/// query; sysbench's (MariaDB Connector/C) prepared statements, without DEPRECATE_EOF both.
const TEXT: &str = include_str!("../../tests/tap/text.txt");
const PREPARED: &str = include_str!("../../tests/tap/prepared.txt");

/// Whether it came from the client, and the bytes.
fn recorded(text: &str) -> Vec<(bool, Vec<u8>)> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    text.lines()
        .map(|line| (line.starts_with('>'), line.as_bytes()[1..].chunks(2).map(byte).collect()))
        .collect()
}

/// Plays a recording; each chunk takes 10 ns, and is cut into pieces of `piece` bytes.
fn play(text: &str, piece: usize) -> Phases {
    let mut phases = Phases::default();
    let mut conversation = Conversation::new(0);
    for (at, (is_client, bytes)) in recorded(text).iter().enumerate() {
        for part in bytes.chunks(piece) {
            let now_ns = 10 * at as u64 + 10;
            match is_client {
                true => conversation.client_bytes(part, now_ns, &mut phases),
                false => conversation.server_bytes(part, now_ns, &mut phases),
            }
        }
    }
    conversation.end(&mut phases);
    phases
}

fn counts(phases: &Phases) -> BTreeMap<&'static str, u64> {
    phases.commands.iter().map(|(kind, totals)| (*kind, totals.count)).collect()
}

#[test]
fn recorded_conversations_are_read_in_pieces_of_any_size() {
    for piece in [1, 3, 7, 1 << 20] {
        let text = play(TEXT, piece);
        let expected = [
            (LOGIN, 1),
            ("COM_PING", 1),
            ("COM_QUERY", 3),
            ("COM_QUERY SET", 3),
            ("COM_QUERY SHOW", 1),
            ("COM_QUERY transaction", 1),
            ("COM_QUIT", 1),
        ];
        assert_eq!(counts(&text), BTreeMap::from(expected), "pieces of {piece}");
        let query = text.commands["COM_QUERY"];
        assert_eq!((query.think_ns, query.server_ns, query.download_ns), (30, 30, 0));
        let prepared = play(PREPARED, piece);
        let expected = [
            (LOGIN, 1),
            // It tries to prepare BEGIN and COMMIT, and falls back to text where it is refused.
            ("COM_QUERY transaction", 1),
            ("COM_STMT_CLOSE", prepared.commands["COM_STMT_CLOSE"].count),
            ("COM_STMT_EXECUTE", 19),
            ("COM_STMT_PREPARE", 11),
            ("COM_QUIT", 1),
        ];
        assert_eq!(counts(&prepared), BTreeMap::from(expected), "pieces of {piece}");
    }
    let bytes: usize = recorded(TEXT).iter().filter(|(up, _)| *up).map(|(_, bytes)| bytes.len()).sum();
    let seen: u64 = play(TEXT, 5).commands.values().map(|totals| totals.bytes_up).sum();
    assert_eq!(seen, bytes as u64, "every byte belongs to a command");
}

fn framed(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&length[..3], &[sequence], payload].concat()
}

/// A conversation after a login with these flags.
fn logged_in(flags: u32, phases: &mut Phases) -> Conversation {
    let mut conversation = Conversation::new(0);
    let mut greeting = b"\x0a9.7.4\0\x01\0\0\0saltsalt\0\xff\xff\x2d\0\0\xff\xff".to_vec();
    greeting.extend([21; 14]);
    conversation.server_bytes(&framed(0, &greeting), 1, phases);
    let login = [&flags.to_le_bytes()[..], &[0; 28], b"root\0"].concat();
    conversation.client_bytes(&framed(1, &login), 2, phases);
    conversation.server_bytes(&framed(2, b"\0\0\0\x02\0\0\0"), 3, phases);
    conversation
}

const PROTOCOL_41: u32 = 1 << 9;
const DEPRECATE_EOF: u32 = 1 << 24;

#[test]
fn commands_sent_ahead_get_their_own_answers() {
    let mut phases = Phases::default();
    let mut conversation = logged_in(PROTOCOL_41 | DEPRECATE_EOF | 1, &mut phases);
    let prepare = framed(0, b"\x16SELECT ?");
    let execute = framed(0, b"\x17\x01\0\0\0\0\x01\0\0\0");
    conversation.client_bytes(&[&prepare[..], &execute].concat(), 100, &mut phases);
    // A parameter and a column, no end packets; then a result of one column and one row, and its end.
    let prepared =
        [framed(1, b"\0\x01\0\0\0\x01\0\x01\0\0\0\0"), framed(2, b"parameter"), framed(3, b"column")]
            .concat();
    conversation.server_bytes(&prepared, 200, &mut phases);
    assert_eq!(phases.commands["COM_STMT_PREPARE"].server_ns, 100);
    assert!(!phases.commands.contains_key("COM_STMT_EXECUTE"));
    conversation.server_bytes(&framed(1, b"\x01"), 300, &mut phases);
    conversation.server_bytes(&framed(2, b"column"), 300, &mut phases);
    conversation.server_bytes(&framed(3, b"\0\0row"), 310, &mut phases);
    conversation.server_bytes(&framed(4, b"\xfe\0\0\x02\0\0\0"), 340, &mut phases);
    let execute = phases.commands["COM_STMT_EXECUTE"];
    assert_eq!((execute.think_ns, execute.server_ns, execute.download_ns), (0, 200, 40));
    // What needs no answer is done at once, and the next command's thinking begins there.
    conversation.client_bytes(&framed(0, b"\x19\x01\0\0\0"), 400, &mut phases);
    conversation.client_bytes(&framed(0, b"\x03SELECT @@x"), 450, &mut phases);
    conversation.server_bytes(&framed(1, b"\xff\x48\x04#HY000no"), 460, &mut phases);
    let close = phases.commands["COM_STMT_CLOSE"];
    assert_eq!((close.think_ns, phases.commands["COM_QUERY SELECT @@"].think_ns), (60, 50));
}

#[test]
fn inside_tls_bursts_are_timed_under_its_name() {
    let mut phases = Phases::default();
    let mut conversation = Conversation::new(0);
    let mut greeting = b"\x0a9.7.4\0\x01\0\0\0saltsalt\0\xff\xff\x2d\0\0\xff\xff".to_vec();
    greeting.extend([21; 14]);
    conversation.server_bytes(&framed(0, &greeting), 1, &mut phases);
    conversation.client_bytes(&framed(1, &[0, 0x0a, 0, 0]), 2, &mut phases);
    for at in [10, 20] {
        conversation.client_bytes(b"\x16\x03\x01", at, &mut phases);
        conversation.server_bytes(b"\x16\x03\x03", at + 4, &mut phases);
    }
    conversation.end(&mut phases);
    let seen = phases.commands[TLS];
    assert_eq!((seen.count, seen.server_ns, seen.think_ns), (2, 8, 16));
    assert!(!phases.commands.contains_key(NOT_UNDERSTOOD));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn bytes_of_any_kind_neither_panic_nor_grow_it(
        start in 0_usize..3,
        changed in prop::collection::vec((0_usize..4000, any::<u8>()), 0..20),
        noise in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..60)), 0..60),
        flags in any::<u32>(),
    ) {
        let mut phases = Phases::default();
        let mut chunks = Vec::new();
        let mut conversation = if start == 0 { logged_in(flags, &mut phases) } else { Conversation::new(0) };
        if start > 0 {
            chunks = recorded(if start == 1 { TEXT } else { PREPARED });
            // A real conversation with some bytes changed gets further in than noise does.
            for (at, byte) in changed {
                let (chunk, place) = (at % chunks.len(), at / chunks.len());
                if let Some(place) = chunks[chunk].1.get_mut(place) {
                    *place = byte;
                }
            }
        }
        chunks.extend(noise);
        for (now_ns, (is_client, bytes)) in chunks.iter().enumerate() {
            match is_client {
                true => conversation.client_bytes(bytes, now_ns as u64, &mut phases),
                false => conversation.server_bytes(bytes, now_ns as u64, &mut phases),
            }
        }
        conversation.end(&mut phases);
        prop_assert!(phases.commands.len() < 40);
    }
}

#[test]
fn a_client_that_never_waits_does_not_grow_it() {
    let mut phases = Phases::default();
    let mut conversation = logged_in(PROTOCOL_41, &mut phases);
    let many = framed(0, b"\x0e").repeat(1000);
    for _ in 0..200 {
        conversation.client_bytes(&many, 5, &mut phases);
    }
    assert!(conversation.held_bytes() < 1 << 20, "{}", conversation.held_bytes());
}

/// A server of one connection that greets, lets everybody in, and answers each PING by OK.
fn ping_server() -> (Address, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let greeting = [b"\x0a9\0\x01\0\0\0saltsalt\0\xff\xff\x2d\0\0\xff\xff".as_slice(), &[0; 14]].concat();
        socket.write_all(&framed(0, &greeting)).unwrap();
        let mut header = [0; 4];
        let mut sequence = 2;
        while socket.read_exact(&mut header).is_ok() {
            let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
            socket.read_exact(&mut payload).unwrap();
            socket.write_all(&framed(sequence, b"\0\0\0\x02\0\0\0")).unwrap();
            sequence = 1;
        }
    });
    (Address::Tcp { host: "127.0.0.1".to_owned(), port }, thread)
}

#[test]
fn bytes_pass_unchanged_and_a_delay_is_the_servers_part() {
    let (address, server) = ping_server();
    let mut config = Config::new(address);
    (config.delay_up, config.delay_down) = (Duration::from_millis(4), Duration::from_millis(3));
    config.bytes_per_s = Some(10_000_000);
    let tap = Tap::start(&config).unwrap();
    let mut socket = TcpStream::connect(tap.address()).unwrap();
    let mut greeting = [0; 4 + 60];
    socket.read_exact(&mut greeting[..4]).unwrap();
    let bytes = usize::from(greeting[0]);
    socket.read_exact(&mut greeting[4..4 + bytes]).unwrap();
    let login = [&PROTOCOL_41.to_le_bytes()[..], &[0; 28], b"root\0"].concat();
    socket.write_all(&framed(1, &login)).unwrap();
    let mut ok = [0; 11];
    socket.read_exact(&mut ok).unwrap();
    assert_eq!(ok[..], framed(2, b"\0\0\0\x02\0\0\0"));
    // The tap counts after it has written: it may still be at it.
    let mut before = Phases::default();
    while before.commands.is_empty() {
        before.merge(&tap.take());
    }
    assert_eq!((before.connections, counts(&before)), (1, BTreeMap::from([(LOGIN, 1)])));
    for _ in 0..3 {
        socket.write_all(&framed(0, b"\x0e")).unwrap();
        socket.read_exact(&mut ok).unwrap();
    }
    let mut seen = Phases::default();
    while seen.command_count() < 3 {
        seen.merge(&tap.take());
    }
    let ping = seen.commands["COM_PING"];
    assert_eq!((ping.count, ping.bytes_up, ping.bytes_down), (3, 15, 33));
    assert!(ping.server_ns >= 3 * 7_000_000, "{ping:?}");
    drop(socket);
    server.join().unwrap();
}

#[test]
fn more_than_a_queue_passes_whole_to_a_slow_reader() {
    const BYTES: usize = 3 * QUEUE_BYTES_MAX;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let bytes: Vec<u8> = (0..BYTES).map(|at| (at * 7) as u8).collect();
        socket.write_all(&bytes).unwrap();
    });
    let tap = Tap::start(&Config::new(Address::Tcp { host: "127.0.0.1".to_owned(), port })).unwrap();
    let mut socket = TcpStream::connect(tap.address()).unwrap();
    // The tap's queue and the kernel's buffers fill up meanwhile.
    std::thread::sleep(Duration::from_millis(100));
    let mut all = Vec::new();
    socket.read_to_end(&mut all).unwrap();
    server.join().unwrap();
    assert_eq!(all.len(), BYTES);
    assert!(all.iter().enumerate().all(|(at, &byte)| byte == (at * 7) as u8));
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = Config::new(Address::Tcp { host: "127.0.0.1".to_owned(), port: gone });
    let tap = Tap::start(&config).unwrap();
    let mut socket = TcpStream::connect(tap.address()).unwrap();
    let mut nothing = Vec::new();
    let _ = socket.read_to_end(&mut nothing);
    let mut seen = Phases::default();
    while seen.refused.0 == 0 {
        seen.merge(&tap.take());
    }
    assert!(seen.refused.1.unwrap().contains("refused"));
    assert!(tap.is_alive());
}
