//! Attacks below the packets: frames of zlib that expand, TLS that stops half-way or was closed. What a few bytes grow to is bounded before a
//! packet's length is known to be allowed, and none of it keeps a thread computing.

mod harness;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use client::Capabilities;
use harness::{CONNECTION_MEMORY_LIMITS, Server, framed};
use wire::compress::{Compressor, Decompressor};

/// What the attacks may add to the server's memory: output and input buffers of a few connections.
const GROWTH_BYTES_MAX: usize = 48 << 20;

/// A client that has compression, made of the codec alone so that it can lie.
struct Packed {
    stream: TcpStream,
    decompressor: Decompressor,
    arrived: Vec<u8>,
}

fn receive(stream: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).expect("a packet");
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload).expect("a packet");
    payload
}

fn greeted(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("the server listens");
    stream.set_read_timeout(Some(harness::ANSWER_TIME_MAX)).expect("a timeout");
    receive(&mut stream);
    stream
}

/// `plain` as frames of zlib.
fn pack(plain: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    Compressor::default().pack(plain, &mut 0, &mut packed);
    packed
}

impl Packed {
    fn log_in(server: &Server, user: &str) -> Packed {
        let mut stream = greeted(server);
        let mut payload = Vec::new();
        wire::handshake::HandshakeResponse {
            capabilities: Capabilities(
                Capabilities::PROTOCOL_41.0
                    | Capabilities::SECURE_CONNECTION.0
                    | Capabilities::PLUGIN_AUTH.0
                    | Capabilities::TRANSACTIONS.0
                    | Capabilities::COMPRESS.0,
            ),
            packet_bytes_max: 1 << 24,
            collation: 255,
            user: user.as_bytes(),
            auth_plugin: Some(b"caching_sha2_password"),
            ..Default::default()
        }
        .encode(&mut payload);
        stream.write_all(&framed(&payload, 1)).expect("sent");
        while receive(&mut stream)[0] != 0 {}
        Packed { stream, decompressor: Decompressor::default(), arrived: Vec::new() }
    }

    /// The next packet; `None` if the server closed.
    fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            if let wire::packet::Incoming::Packet { payload, consumed, .. } =
                wire::packet::next_packet(&self.arrived)
            {
                let payload = payload.to_vec();
                self.arrived.drain(..consumed);
                return Some(payload);
            }
            let mut bytes = vec![0; 65536];
            let count = self.stream.read(&mut bytes).ok().filter(|count| *count > 0)?;
            self.decompressor.unpack(&bytes[..count], &mut self.arrived).expect("frames");
        }
    }
}

/// The number of an error packet.
fn error_number(packet: &[u8]) -> Option<u16> {
    (packet[0] == 0xff).then(|| u16::from_le_bytes([packet[1], packet[2]]))
}

/// 16 KB of zlib hold a frame of 16 MB; here they are one packet that is too long, and millions of small ones.
#[test]
fn frames_that_expand_grow_no_further_than_what_is_executed() {
    let server = Server::start(&["--skip-ssl", "--max-allowed-packet=1M", "--innodb-buffer-pool-size=16M"]);
    server.root().run(b"DO 1").expect("warm");
    let base = server.memory_bytes();
    for announced in [0xff_fffe_u32, 0xff_ffff] {
        let mut client = Packed::log_in(&server, "root");
        let mut plain = announced.to_le_bytes().to_vec();
        plain.resize(16_000_000, b' ');
        let _ = client.stream.write_all(&pack(&plain).repeat(4)); // The server may have closed already.
        let answer = client.receive().expect("it says why");
        assert_eq!(error_number(&answer), Some(1153));
    }
    let clients: Vec<Packed> = [&b"\x0e"[..], b"\x03COMMIT", b"\x03DO 1"]
        .map(|command| {
            let mut client = Packed::log_in(&server, "root");
            let packet = framed(command, 0);
            let plain = packet.repeat(16_000_000 / packet.len());
            // Answers are not read: the server may stop reading.
            client.stream.set_write_timeout(Some(Duration::from_secs(1))).expect("a timeout");
            let _ = client.stream.write_all(&pack(&plain).repeat(4));
            client
        })
        .into();
    std::thread::sleep(Duration::from_secs(1));
    server.root().run(b"DO 1").expect("others are served");
    let grown = server.memory_bytes_max().saturating_sub(base);
    assert!(grown < GROWTH_BYTES_MAX, "{} MB", grown >> 20);
    drop(clients);
    server.stop();
}

/// Packets count towards the limits of their connection, in parts as they come, and close it.
#[test]
fn packets_count_towards_their_connection() {
    let server = Server::start(&["--skip-ssl", "--innodb-buffer-pool-size=16M"]);
    let mut root = server.root();
    root.run(b"CREATE USER u").expect("an account");
    for (settings, number) in CONNECTION_MEMORY_LIMITS {
        for setting in settings {
            root.run(format!("SET GLOBAL {setting}").as_bytes()).expect("set");
        }
        let base = server.memory_bytes();
        for user in ["u", "root"] {
            let mut client = Packed::log_in(&server, user);
            // 45 MB: the beginning of a statement that does not end.
            let mut plain = framed(&[&b"\x03DO 1"[..], &vec![b' '; 45_000_000]].concat(), 0);
            plain.pop();
            for piece in plain.chunks(1 << 20) {
                let _ = client.stream.write_all(&pack(piece)); // The server may have closed already.
            }
            if user == "root" {
                let _ = client.stream.write_all(&pack(b" "));
                assert_eq!(client.receive().expect("an answer")[0], 0, "an administrator has no such limit");
            } else {
                let answer = client.receive().expect("it says why");
                assert_eq!(error_number(&answer), Some(number), "{}", String::from_utf8_lossy(&answer));
                assert!(client.receive().is_none(), "the connection is closed");
                let grown = server.memory_bytes().saturating_sub(base);
                assert!(grown < GROWTH_BYTES_MAX, "{} MB", grown >> 20);
            }
        }
    }
    server.stop();
}

/// What comes behind the end of TLS is nothing, and asks for no thread.
#[test]
fn bytes_behind_the_end_of_tls_end_the_connection() {
    let server = Server::start(&["--innodb-buffer-pool-size=16M"]);
    for junk in [&b"x"[..], &[0x17, 3, 3, 0, 32], &[0xff; 20_000]] {
        let mut stream = greeted(&server);
        let mut request = Vec::new();
        let capabilities = Capabilities(Capabilities::PROTOCOL_41.0 | Capabilities::SSL.0);
        request.extend_from_slice(&capabilities.0.to_le_bytes()[..4]);
        request.extend_from_slice(&(1u32 << 24).to_le_bytes());
        request.push(255);
        request.resize(32, 0);
        stream.write_all(&framed(&request, 1)).expect("sent");
        let name = "localhost".try_into().expect("a name");
        let mut tls = rustls::ClientConnection::new(client::unverified_tls(), name).expect("TLS");
        while tls.is_handshaking() {
            tls.complete_io(&mut stream).expect("a handshake");
        }
        tls.send_close_notify();
        let mut bytes = Vec::new();
        tls.write_tls(&mut bytes).expect("into memory");
        bytes.extend_from_slice(junk);
        stream.write_all(&bytes).expect("sent");
        stream.set_read_timeout(Some(harness::ANSWER_TIME_MAX / 2)).expect("a timeout");
        let end = stream.read_to_end(&mut Vec::new()).map_err(|error| error.kind()); // It may be reset as well.
        let stays = matches!(end, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut));
        assert!(!stays, "the connection stays");
    }
    server.root().run(b"DO 1").expect("others are served");
    server.stop();
}
