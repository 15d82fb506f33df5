//! Conversations over real sockets: what clients do, what they do wrong, and what others may do to them.

mod echo;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use service::ConnectionEvent;
use wire::auth;
use wire::client::{Event, ResultReader};
use wire::command::Command;
use wire::flags::{Capabilities, StatusFlags};
use wire::handshake::{AuthStep, ChangeUser, Greeting, HandshakeResponse};
use wire::packet::{PacketBuffer, PacketReader};
use wire::parameter::{self, ParameterValue};

const CAPABILITIES: Capabilities = Capabilities(
    Capabilities::PROTOCOL_41.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::MULTI_RESULTS.0
        | Capabilities::LOCAL_FILES.0
        | Capabilities::TRANSACTIONS.0,
);

struct World {
    echo: Arc<echo::Echo>,
    server: server::Server,
    folder: tempfile::TempDir,
}

fn world_with(sync_time: Duration) -> World {
    world_of(sync_time, 2, 0)
}

fn world_of(sync_time: Duration, worker_groups: usize, worker_waiters: usize) -> World {
    let folder = tempfile::tempdir().expect("a folder");
    let echo = echo::Echo::new(sync_time);
    let config = server::Config {
        worker_groups,
        worker_waiters,
        tls: Some(server::make_tls_files(folder.path()).expect("certificates")),
        ..server::Config::default()
    };
    let socket = Some(folder.path().join("sock"));
    let listeners = server::Listeners::bind(&[([127, 0, 0, 1], 0).into()], socket).expect("sockets");
    let handle = Arc::new(echo::Handle(Arc::clone(&echo)));
    let server = server::Server::start(listeners, config, handle).expect("a server");
    World { echo, server, folder }
}

fn world() -> World {
    world_with(Duration::ZERO)
}

impl World {
    fn address(&self) -> SocketAddr {
        self.server.tcp_addresses()[0]
    }

    /// Waits until the server has noticed who left.
    fn wait_for_connections(&self, count: usize) {
        let start = Instant::now();
        while self.server.connection_count() != count {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "{} connections",
                self.server.connection_count()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn stop(self) {
        assert!(self.server.stop(Duration::from_secs(1)));
        assert_eq!(self.server.connection_count(), 0);
    }
}

struct Client {
    stream: TcpStream,
    capabilities: Capabilities,
    sequence: u8,
    connection_id: u32,
    challenge: [u8; 20],
    input: Vec<u8>,
}

impl Client {
    /// Reads the greeting only.
    fn greeted(address: SocketAddr, capabilities: Capabilities) -> Client {
        let stream = TcpStream::connect(address).expect("listening");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        let mut client = Client {
            stream,
            capabilities,
            sequence: 0,
            connection_id: 0,
            challenge: [0; 20],
            input: Vec::new(),
        };
        let payload = client.receive().expect("a greeting");
        let greeting = Greeting::decode(&payload).expect("a greeting");
        assert!(
            greeting
                .capabilities
                .has(Capabilities::SSL | Capabilities::COMPRESS | Capabilities::DEPRECATE_EOF)
        );
        client.connection_id = greeting.connection_id;
        client.challenge = greeting.challenge;
        client
    }

    fn login(
        address: SocketAddr,
        capabilities: Capabilities,
        user: &str,
        password: &str,
    ) -> Result<Client, u16> {
        let mut client = Client::greeted(address, capabilities);
        let response = auth::sha2_response(password.as_bytes(), &client.challenge);
        let mut payload = Vec::new();
        HandshakeResponse {
            capabilities,
            packet_bytes_max: 1 << 24,
            collation: 255,
            user: user.as_bytes(),
            auth_response: &response,
            auth_plugin: Some(b"caching_sha2_password"),
            ..HandshakeResponse::default()
        }
        .encode(&mut payload);
        client.send(&payload);
        client.prove(password).map(|()| client)
    }

    /// Answers the server until it says OK or an error.
    fn prove(&mut self, password: &str) -> Result<(), u16> {
        loop {
            let payload = self.receive().ok_or(0u16)?;
            match AuthStep::decode(&payload).expect("a step") {
                AuthStep::Switch { plugin, challenge } => {
                    let challenge: [u8; 20] = challenge.try_into().expect("20 bytes");
                    let response = match plugin {
                        b"mysql_native_password" => auth::native_response(password.as_bytes(), &challenge),
                        _ => auth::sha2_response(password.as_bytes(), &challenge),
                    };
                    self.send(&response);
                }
                AuthStep::More([auth::SHA2_FAST_AUTH_SUCCESS]) => {}
                AuthStep::More([auth::SHA2_FULL_AUTH]) => self.send(&[auth::SHA2_REQUEST_PUBLIC_KEY]),
                AuthStep::More(pem) => {
                    use rsa::pkcs8::DecodePublicKey;
                    let pem = std::str::from_utf8(pem).expect("PEM");
                    let key = rsa::RsaPublicKey::from_public_key_pem(pem).expect("a key");
                    let mut hidden = password.as_bytes().to_vec();
                    hidden.push(0);
                    auth::xor_with_challenge(&mut hidden, &self.challenge);
                    let padding = rsa::Oaep::new::<sha1::Sha1>();
                    let encrypted = key.encrypt(&mut Random, padding, &hidden).expect("encrypted");
                    self.send(&encrypted);
                }
                AuthStep::End(packet) => {
                    return match packet[0] {
                        0 => Ok(()),
                        _ => Err(wire::message::ReceivedError::decode(packet).expect("an error").number),
                    };
                }
            }
        }
    }

    fn send(&mut self, payload: &[u8]) {
        let mut packets = PacketBuffer::new();
        packets.set_sequence(self.sequence);
        packets.put(payload);
        self.sequence = packets.sequence();
        self.raw(packets.frames());
    }

    fn raw(&mut self, bytes: &[u8]) {
        // The server may have closed already; the next receive shows it.
        let _ = self.stream.write_all(bytes);
    }

    fn receive(&mut self) -> Option<Vec<u8>> {
        let mut reader = PacketReader::new(self.sequence);
        loop {
            let (used, whole) = reader.feed(&self.input, usize::MAX).expect("in order");
            self.input.drain(..used);
            if whole {
                self.sequence = reader.next_sequence();
                return Some(reader.take_payload());
            }
            let mut piece = [0; 65_536];
            match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Ok(bytes) => self.input.extend_from_slice(&piece[..bytes]),
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn command(&mut self, command: Command<'_>) -> Vec<String> {
        let mut payload = Vec::new();
        command.encode(&mut payload);
        self.sequence = 0;
        self.send(&payload);
        let reader = match command {
            Command::Prepare(_) => ResultReader::prepare(self.capabilities),
            Command::Fetch { .. } => ResultReader::fetch(self.capabilities),
            _ => ResultReader::query(self.capabilities),
        };
        self.answer(reader)
    }

    /// What came back, a line for each thing.
    fn answer(&mut self, mut reader: ResultReader) -> Vec<String> {
        let mut lines = Vec::new();
        while !reader.is_done() {
            let Some(payload) = self.receive() else {
                lines.push("closed".into());
                break;
            };
            match reader.read(&payload).expect("an answer") {
                Event::Ok(ok) => lines.push(format!("OK {}", ok.affected_rows)),
                Event::Error(error) => lines.push(format!("ERROR {}", error.number)),
                Event::Row(row) if row.len() > 100 => lines.push(format!("row of {}", row.len())),
                Event::Row(row) => lines.push(String::from_utf8_lossy(row).trim_matches(['\0', '\t']).into()),
                Event::End { status, .. } if status.has(StatusFlags::CURSOR_EXISTS) => {
                    lines.push("cursor".into());
                }
                Event::End { .. } => lines.push("end".into()),
                Event::Prepared { statement_id, parameter_count, .. } => {
                    lines.push(format!("prepared {statement_id} with {parameter_count}"));
                }
                Event::LocalFile(name) => {
                    lines.push(format!("wants {}", String::from_utf8_lossy(name)));
                    self.send(&[b'x'; 1000]);
                    self.send(&[b'y'; 234]);
                    self.send(b"");
                }
                Event::Columns(_) | Event::Column(_) | Event::ColumnsEnd => {}
            }
        }
        lines
    }

    fn query(&mut self, sql: &str) -> Vec<String> {
        self.command(Command::Query(sql.as_bytes()))
    }

    fn is_closed(&mut self) -> bool {
        self.receive().is_none()
    }
}

/// The kernel's randomness for the client's side of the RSA exchange.
struct Random;

impl rsa::rand_core::RngCore for Random {
    fn next_u32(&mut self) -> u32 {
        rsa::rand_core::impls::next_u32_via_fill(self)
    }
    fn next_u64(&mut self) -> u64 {
        rsa::rand_core::impls::next_u64_via_fill(self)
    }
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("random bytes");
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rsa::rand_core::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl rsa::rand_core::CryptoRng for Random {}

fn root(world: &World) -> Client {
    Client::login(world.address(), CAPABILITIES, "root", "").expect("let in")
}

#[test]
fn every_command_is_answered_with_and_without_eof_packets() {
    let world = world();
    for capabilities in
        [CAPABILITIES, CAPABILITIES | Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK]
    {
        let mut client = Client::login(world.address(), capabilities, "root", "").expect("let in");
        assert_eq!(client.query("SELECT 1"), ["\u{1}1", "end"]);
        assert_eq!(client.query("SELECT 1; ERROR; SELECT 2"), ["\u{1}1", "end", "ERROR 1146"]);
        assert_eq!(client.query("SELECT 1;SET x;SELECT 2"), ["\u{1}1", "end", "OK 0", "\u{1}2", "end"]);
        assert_eq!(client.query("LOAD f.csv"), ["wants f.csv", "OK 1234"]);
        assert_eq!(client.query("PANIC"), ["ERROR 1815"]);
        assert_eq!(client.command(Command::Ping), ["OK 0"]);
        assert_eq!(client.command(Command::InitDb(b"d")), ["OK 0"]);
        assert_eq!(client.command(Command::ResetConnection), ["OK 0"]);
        assert_eq!(client.command(Command::SetOption { option: 9 }), ["ERROR 1047"]);
        assert_eq!(client.command(Command::Other { command: 0xf0, payload: b"" }), ["ERROR 1047"]);
        assert_eq!(client.command(Command::Prepare(b"x ? ?")), ["prepared 1 with 2"]);
        let mut parameters = Vec::new();
        parameter::put_parameters(
            &mut parameters,
            &[ParameterValue::Int(-7), ParameterValue::Bytes(b"z")],
            false,
        );
        let execute =
            Command::Execute { statement_id: 1, flags: 0, iteration_count: 1, parameters: &parameters };
        assert_eq!(client.command(execute), ["\nInt(-7)|z|", "end"]);
        let mut payload = Vec::new();
        Command::SendLongData { statement_id: 1, parameter: 1, data: b"long" }.encode(&mut payload);
        client.sequence = 0;
        client.send(&payload); // Never answered.
        assert_eq!(client.command(execute), ["\rInt(-7)|long|", "end"]);
        let cursor =
            Command::Execute { statement_id: 1, flags: 1, iteration_count: 1, parameters: &parameters };
        let opened = if capabilities.has(Capabilities::DEPRECATE_EOF) {
            // The columns are followed by the end at once.
            vec!["cursor"]
        } else {
            vec!["cursor"]
        };
        assert_eq!(client.command(cursor), opened);
        let fetch = Command::Fetch { statement_id: 1, row_count: 3 };
        assert_eq!(client.command(fetch).len(), 4);
        assert_eq!(client.command(fetch).len(), 3);
        assert_eq!(
            client.command(Command::Execute {
                statement_id: 9,
                flags: 0,
                iteration_count: 1,
                parameters: b""
            }),
            ["ERROR 1243"]
        );
        client.sequence = 0;
        client.send(b"\x17\x01"); // A COM_STMT_EXECUTE cut short.
        assert_eq!(client.answer(ResultReader::query(capabilities)), ["ERROR 1835"]);
        client.sequence = 0;
        client.send(b"");
        assert_eq!(client.answer(ResultReader::query(capabilities)), ["ERROR 1047"]);
        client.sequence = 0;
        client.send(&[wire::command::byte::QUIT]);
        assert!(client.is_closed());
    }
    world.stop();
}

#[test]
fn passwords_are_proven_in_every_way_and_wrong_ones_refused() {
    let world = world();
    let login = |user, password| Client::login(world.address(), CAPABILITIES, user, password).map(|_| ());
    assert_eq!(login("sha", "wrong"), Err(1045)); // RSA exchange, refused.
    assert_eq!(login("sha", "secret"), Ok(())); // RSA exchange.
    assert_eq!(login("sha", "secret"), Ok(())); // Remembered.
    assert_eq!(login("sha", "wrong"), Err(1045));
    assert_eq!(login("sha", ""), Err(1045));
    assert_eq!(login("native", "secret"), Ok(())); // Auth switch.
    assert_eq!(login("native", "wrong"), Err(1045));
    assert_eq!(login("nobody", "secret"), Err(1045));
    assert_eq!(login("nobody", ""), Err(1045));
    assert_eq!(login("root", "not empty"), Err(1045));
    assert_eq!(login("locked", "secret"), Err(3118));
    assert_eq!(login("tls", "secret"), Err(1045)); // Needs TLS.

    let mut client = root(&world);
    assert_eq!(client.query("SELECT user()"), ["\u{4}root", "end"]);
    for (user, password, expected) in
        [("native", "secret", Ok(())), ("sha", "secret", Ok(())), ("sha", "wrong", Err(1045))]
    {
        let response = auth::sha2_response(password.as_bytes(), &client.challenge);
        let mut payload = vec![wire::command::byte::CHANGE_USER];
        ChangeUser {
            user: user.as_bytes(),
            auth_response: &response,
            auth_plugin: Some(b"caching_sha2_password"),
            ..ChangeUser::default()
        }
        .encode(CAPABILITIES, &mut payload);
        client.sequence = 0;
        client.send(&payload);
        assert_eq!(client.prove(password), expected, "{user}");
        if expected.is_ok() {
            assert!(client.query("SELECT user()")[0].ends_with(user));
        }
    }
    assert!(client.is_closed());
    world.stop();
}

#[test]
fn nonsense_gets_an_error_or_a_closed_connection_and_harms_nobody() {
    let world = world();
    let mut witness = root(&world);
    // Handshakes cut or malformed.
    for bytes in [
        &b"\x05\0\0\x01hello"[..],
        b"\x05\0\0\x03hello",
        b"\xff\xff\xff\x01",
        b"\x20\0\0\x01",
        b"GET / HTTP/1.1\r\n\r\n",
        b"",
    ] {
        let mut client = Client::greeted(world.address(), CAPABILITIES);
        client.raw(bytes);
        client.stream.shutdown(std::net::Shutdown::Write).expect("half closed");
        let mut rest = Vec::new();
        let _ = client.stream.read_to_end(&mut rest); // An error packet, a reset, or nothing; then the end.
    }
    // TLS asked for, nonsense sent.
    let mut client = Client::greeted(world.address(), CAPABILITIES | Capabilities::SSL);
    let mut payload = Vec::new();
    wire::handshake::encode_ssl_request(CAPABILITIES | Capabilities::SSL, 1 << 24, 255, &mut payload);
    client.send(&payload);
    client.raw(b"this is no ClientHello, and never will be");
    let mut rest = Vec::new();
    let _ = client.stream.read_to_end(&mut rest);
    // Commands out of order, and over the limit.
    let mut client = root(&world);
    client.raw(b"\x01\0\0\x05\x0e");
    client.sequence = 0;
    assert_eq!(client.answer(ResultReader::query(CAPABILITIES)), ["ERROR 1156"]);
    assert!(client.is_closed());
    echo_limits(&world, |limits| limits.max_allowed_packet = 100_000);
    for announced in [&b"\xff\xff\xff\0"[..], b"\xa1\x86\x01\0"] {
        let mut client = root(&world);
        client.raw(announced);
        client.sequence = 1;
        assert_eq!(client.answer(ResultReader::query(CAPABILITIES)), ["ERROR 1153"]);
        assert!(client.is_closed());
    }
    echo_limits(&world, |limits| limits.max_allowed_packet = 64 << 20);
    // Announced and never sent: costs nothing, hinders nobody.
    let mut silent: Vec<Client> = (0..20).map(|_| root(&world)).collect();
    for client in &mut silent {
        client.raw(b"\xff\xff\xff\0\x03");
    }
    assert_eq!(witness.query("SELECT 1"), ["\u{1}1", "end"]);
    drop(silent);
    // Gone behind its last words: one event tells of both.
    for _ in 0..50 {
        let mut client = root(&world);
        client.raw(b"\x09\0\0\0\x03SELECT 1\x20\0\0\0\x03SEL");
    }
    world.wait_for_connections(1);
    assert_eq!(witness.query("SELECT 2"), ["\u{1}2", "end"]);
    drop(witness);
    world.stop();
}

fn echo_limits(world: &World, change: impl FnOnce(&mut service::Limits)) {
    change(&mut world.echo.limits.lock().expect("not poisoned"));
}

#[test]
fn large_packets_go_both_ways() {
    let world = world();
    let mut client = root(&world);
    let text = "e".repeat(20 << 20);
    assert_eq!(client.query(&format!("ECHO {text}")), [format!("row of {}", text.len() + 9), "end".into()]);
    // Exactly one frame, and one byte less; the command and its space take six bytes.
    for length in [0xff_ffff - 6, 0xff_ffff - 7, 0xff_ffff - 5] {
        let lines = client.query(&format!("ECHO {}", &text[..length]));
        assert_eq!(lines, [format!("row of {}", length + 4), "end".into()]);
    }
    assert_eq!(client.query("ROWS 1000 200").len(), 1001);
    drop(client);
    world.stop();
}

#[test]
fn a_slow_client_blocks_only_itself() {
    let world = world();
    let mut slow = root(&world);
    let mut payload = Vec::new();
    Command::Query(b"ROWS 200000 500").encode(&mut payload);
    slow.sequence = 0;
    slow.send(&payload);
    std::thread::sleep(Duration::from_millis(100));
    let mut others: Vec<Client> = (0..8).map(|_| root(&world)).collect();
    for other in &mut others {
        assert_eq!(other.query("SELECT 1"), ["\u{1}1", "end"]);
    }
    assert_eq!(slow.answer(ResultReader::query(CAPABILITIES)).len(), 200_001);
    // One that never reads is disconnected when its statement is killed.
    slow.sequence = 0;
    slow.send(&payload);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(others[0].query(&format!("KILL {}", slow.connection_id)), ["OK 0"]);
    drop(others);
    world.stop();
}

#[test]
fn waiting_and_computing_statements_do_not_stop_others() {
    let world = world();
    let mut clients: Vec<Client> = (0..6).map(|_| root(&world)).collect();
    for statement in ["SLEEP 3000", "SPIN 3000"] {
        for client in &mut clients[..4] {
            let mut payload = Vec::new();
            Command::Query(statement.as_bytes()).encode(&mut payload);
            client.sequence = 0;
            client.send(&payload);
        }
        let start = Instant::now();
        for client in &mut clients[4..] {
            assert_eq!(client.query("SELECT 1"), ["\u{1}1", "end"]);
        }
        assert!(start.elapsed() < Duration::from_secs(3), "answered only after the others");
        for client in &mut clients[..4] {
            assert_eq!(client.answer(ResultReader::query(CAPABILITIES)), ["OK 0"]);
        }
    }
    drop(clients);
    world.stop();
}

/// What does not say that it takes long loses its place to others all the same: a KILL comes through.
#[test]
fn computations_that_never_pause_do_not_stop_others() {
    let world = world();
    let mut clients: Vec<Client> = (0..6).map(|_| root(&world)).collect();
    for round in 0..3 {
        if round == 2 {
            std::thread::sleep(Duration::from_millis(2500)); // The watchdog rests.
        }
        for client in &mut clients[..4] {
            begin(client, "COMPUTE 60000");
        }
        let ids: Vec<u32> = clients[..4].iter().map(|client| client.connection_id).collect();
        for client in &mut clients[4..] {
            assert_eq!(client.query("SELECT 1"), ["\u{1}1", "end"]);
        }
        for id in ids {
            assert_eq!(clients[4].query(&format!("KILL {id}")), ["OK 0"]);
        }
        for client in &mut clients[..4] {
            assert_eq!(client.answer(ResultReader::query(CAPABILITIES)), ["ERROR 1317"]);
            *client = root(&world);
        }
    }
    drop(clients);
    world.stop();
}

fn begin(client: &mut Client, statement: &str) {
    let mut payload = Vec::new();
    Command::Query(statement.as_bytes()).encode(&mut payload);
    client.sequence = 0;
    client.send(&payload);
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// One group that lets two wait: more wait for one lock, and whoever ends their wait gets through.
#[test]
fn those_beyond_the_waiters_wait_without_a_thread_and_hold_up_nobody() {
    let world = world_of(Duration::ZERO, 1, 2);
    let (mut holder, mut other) = (root(&world), root(&world));
    assert_eq!(holder.query("HOLD"), ["OK 0"]);
    let mut passers: Vec<Client> = (0..20).map(|_| root(&world)).collect();
    for client in &mut passers {
        begin(client, "PASS");
    }
    let requeued = || world.echo.count(ConnectionEvent::StatementRequeued);
    wait_until("too few were requeued", || requeued() >= 18);
    assert_eq!(other.query("SELECT 1"), ["\u{1}1", "end"]);
    assert!(world.echo.held_waiters.load(Ordering::SeqCst) <= 2);
    // Killed where it waits without a thread, by both kinds of KILL.
    let mut killed = passers.pop().expect("there are some");
    assert_eq!(other.query(&format!("KILL {}", killed.connection_id)), ["OK 0"]);
    // One of the two that wait with a thread gets its error before.
    assert!(killed.is_closed() || killed.is_closed());
    assert_eq!(holder.query("RELEASE"), ["OK 0"]);
    for client in &mut passers {
        assert_eq!(client.answer(ResultReader::query(CAPABILITIES)), ["OK 0"]);
        assert_eq!(client.query("SELECT 2"), ["\u{1}2", "end"]);
    }
    drop((holder, other, passers, killed));
    world.stop();
}

#[test]
fn who_waits_without_a_thread_for_too_long_is_told_so() {
    let world = world_of(Duration::ZERO, 1, 1);
    world.echo.requeue_ms.store(1, Ordering::SeqCst);
    let mut clients: Vec<Client> = (0..4).map(|_| root(&world)).collect();
    assert_eq!(clients[0].query("HOLD"), ["OK 0"]);
    begin(&mut clients[1], "PASS");
    wait_until("it does not wait", || world.echo.held_waiters.load(Ordering::SeqCst) == 1);
    for client in &mut clients[2..] {
        begin(client, "PASS");
    }
    for client in &mut clients[2..] {
        assert_eq!(client.answer(ResultReader::query(CAPABILITIES)), ["ERROR 1205"]);
        assert_eq!(client.query("SELECT 1"), ["\u{1}1", "end"]);
    }
    assert_eq!(clients[0].query("RELEASE"), ["OK 0"]);
    assert_eq!(clients[1].answer(ResultReader::query(CAPABILITIES)), ["OK 0"]);
    drop(clients);
    world.stop();
}

#[test]
fn kill_reaches_idle_and_waiting_connections() {
    let world = world();
    let mut killer = root(&world);
    let mut idle = root(&world);
    assert_eq!(killer.query(&format!("KILL {}", idle.connection_id)), ["OK 0"]);
    assert!(idle.is_closed());
    let mut waiting = root(&world);
    let mut payload = Vec::new();
    Command::Query(b"SLEEP 60000").encode(&mut payload);
    waiting.sequence = 0;
    waiting.send(&payload);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(killer.command(Command::ProcessKill { connection_id: waiting.connection_id }), ["OK 0"]);
    assert_eq!(waiting.answer(ResultReader::query(CAPABILITIES)), ["ERROR 1317"]);
    assert!(waiting.is_closed());
    assert_eq!(killer.query("KILL 4000000000"), ["ERROR 1094"]);
    drop(killer);
    world.stop();
}

#[test]
fn a_kill_reaches_who_waits_for_the_log() {
    let world = world_with(Duration::from_millis(300));
    let mut killer = root(&world);
    let mut waiting = root(&world);
    // From now on flushes are known to be slow, and left to the log's thread: there are others in each group.
    let _others = [root(&world), root(&world)];
    assert_eq!(waiting.query("COMMIT"), ["OK 0"]);
    let mut payload = Vec::new();
    Command::Query(b"COMMIT").encode(&mut payload);
    waiting.sequence = 0;
    waiting.send(&payload);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(killer.query(&format!("KILL {}", waiting.connection_id)), ["OK 0"]);
    assert_eq!(waiting.answer(ResultReader::query(CAPABILITIES)), ["OK 0"], "it was committed");
    assert!(waiting.is_closed());
    drop(killer);
    world.stop();
}

#[test]
fn limits_on_connections_and_time_hold() {
    let world = world();
    echo_limits(&world, |limits| {
        limits.max_connections = 3;
        limits.connect_timeout_s = 2;
    });
    let _first = root(&world);
    let mut clients: Vec<Client> = (0..2)
        .map(|_| Client::login(world.address(), CAPABILITIES, "native", "secret").expect("let in"))
        .collect();
    // One more is for administrators.
    assert_eq!(Client::login(world.address(), CAPABILITIES, "native", "secret").map(|_| ()), Err(1040));
    world.wait_for_connections(3);
    let _administrator = root(&world);
    let mut refused = TcpStream::connect(world.address()).expect("listening");
    let mut bytes = Vec::new();
    refused.read_to_end(&mut bytes).expect("an error");
    assert_eq!(bytes, b"\x17\0\0\0\xff\x10\x04Too many connections");
    drop(clients.pop());
    world.wait_for_connections(3);
    // A handshake that takes too long.
    let mut silent = Client::greeted(world.address(), CAPABILITIES);
    assert!(silent.is_closed());
    assert!(world.echo.count(ConnectionEvent::AbortedConnect) >= 1);
    // An idle connection: one that logs in under the limit, so that however late this thread runs the error waits for it.
    world.echo.idle_timeout_s.store(1, Ordering::SeqCst);
    let mut idle = root(&world);
    idle.sequence = 0;
    assert_eq!(idle.answer(ResultReader::query(CAPABILITIES)), ["ERROR 4031"]);
    assert!(idle.is_closed());
    world.stop();
}

#[test]
fn commits_share_flushes_whether_the_log_is_quick_or_slow() {
    for sync_time in [Duration::from_micros(50), Duration::from_millis(5)] {
        let world = world_with(sync_time);
        let address = world.address();
        let threads: Vec<_> = (0..12)
            .map(|_| {
                std::thread::spawn(move || {
                    let mut client = Client::login(address, CAPABILITIES, "root", "").expect("let in");
                    for _ in 0..50 {
                        assert_eq!(client.query("COMMIT; SELECT 1"), ["OK 0", "\u{1}1", "end"]);
                    }
                })
            })
            .collect();
        let mut idle = root(&world);
        for thread in threads {
            thread.join().expect("every commit answered");
        }
        let syncs = world.echo.syncs.load(Ordering::SeqCst);
        assert!(syncs < 600, "{syncs} flushes for 600 commits");
        assert_eq!(idle.query("SELECT 1"), ["\u{1}1", "end"]);
        drop(idle);
        world.stop();
    }
}

#[test]
fn a_command_sent_while_the_log_is_waited_for_is_answered_too() {
    let world = world_with(Duration::from_millis(300));
    let mut client = root(&world);
    let send = |client: &mut Client, sql: &[u8]| {
        let mut payload = Vec::new();
        Command::Query(sql).encode(&mut payload);
        client.sequence = 0;
        client.send(&payload);
    };
    // With others in its group that do not wait, and after one slow flush, the log's own thread flushes.
    let _idle = [root(&world), root(&world), root(&world)];
    for _ in 0..3 {
        send(&mut client, b"COMMIT");
        std::thread::sleep(Duration::from_millis(100));
        send(&mut client, b"SELECT 1");
        client.sequence = 1;
        assert_eq!(client.answer(ResultReader::query(CAPABILITIES)), ["OK 0"]);
        client.sequence = 1;
        assert_eq!(client.answer(ResultReader::query(CAPABILITIES)), ["\u{1}1", "end"]);
    }
    world.stop();
}

#[test]
fn those_who_do_little_but_commit_gather_in_one_group_and_can_be_killed_there() {
    let world = world_with(Duration::from_micros(50));
    let mut committers: Vec<Client> = (0..6).map(|_| root(&world)).collect();
    let mut readers: Vec<Client> = (0..2).map(|_| root(&world)).collect();
    assert_eq!(world.server.connections_per_group(), [4, 4]);
    for round in 0..40 {
        for client in &mut committers {
            assert_eq!(client.query("COMMIT"), ["OK 0"]);
        }
        for client in &mut readers {
            // A commit now and then is not enough to move.
            let sql = if round % 5 == 0 { "COMMIT" } else { "SELECT 1" };
            client.query(sql);
        }
    }
    assert_eq!(world.server.connections_per_group(), [7, 1]);
    // Input that was sent while the connection moved is not lost, nor is a kill.
    let mut killer = readers.pop().expect("two of them");
    for client in &mut committers {
        assert_eq!(client.query("SELECT 1; SELECT 2"), ["\u{1}1", "end", "\u{1}2", "end"]);
        assert_eq!(killer.query(&format!("KILL {}", client.connection_id)), ["OK 0"]);
        assert!(client.is_closed());
    }
    world.wait_for_connections(2);
    assert_eq!(world.server.connections_per_group(), [1, 1]);
    world.stop();
}

#[test]
fn stopping_lets_a_statement_end_and_kills_one_that_does_not() {
    let world = world();
    let mut ends = root(&world);
    let mut never = root(&world);
    let mut idle = root(&world);
    for (client, sql) in [(&mut ends, "SLEEP 300"), (&mut never, "SLEEP 600000")] {
        let mut payload = Vec::new();
        Command::Query(sql.as_bytes()).encode(&mut payload);
        client.sequence = 0;
        client.send(&payload);
    }
    std::thread::sleep(Duration::from_millis(100));
    let socket = world.folder.path().join("sock");
    assert!(socket.exists());
    world.stop();
    assert_eq!(ends.answer(ResultReader::query(CAPABILITIES)), ["OK 0"]);
    assert_eq!(never.answer(ResultReader::query(CAPABILITIES)), ["ERROR 1317"]);
    assert!(idle.is_closed());
    assert!(!socket.exists());
}

#[test]
fn a_taken_address_or_socket_is_refused() {
    let world = world();
    let error = server::Listeners::bind(&[world.address()], None).unwrap_err();
    assert!(matches!(error, server::StartError::Bind { .. }), "{error}");
    let error = server::Listeners::bind(&[], Some(world.folder.path().join("sock"))).unwrap_err();
    assert!(matches!(error, server::StartError::SocketTaken { .. }), "{error}");
    world.stop();
}
