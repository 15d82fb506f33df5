//! Random and half bytes from clients before a login. Each connection is answered or closed, others are
//! served meanwhile, and the server's memory stays within a bound. What lies on purpose is in `bad_input.rs`.

mod harness;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use env::random::Rng;
use harness::{ANSWER_TIME_MAX, Server, framed};

/// Bytes: more than a server needs for small packets.
const MEMORY_BYTES_MAX: usize = 200 << 20;
/// Connections of each kind.
const ROUNDS: u64 = 300;

fn bytes(random: &mut Rng, len_max: u64) -> Vec<u8> {
    let len = random.below(len_max);
    (0..len).map(|_| random.next_u64() as u8).collect()
}

fn connected(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).expect("the server listens");
    stream.set_read_timeout(Some(ANSWER_TIME_MAX)).expect("a timeout");
    stream
}

/// Sends bytes and no more, and reads until the end, which must come.
fn send_to_the_end(mut stream: TcpStream, bytes: &[u8]) {
    let _closed_already = stream.write_all(bytes);
    let _closed_already = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_eq!(
            error.kind(),
            std::io::ErrorKind::ConnectionReset,
            "the connection was not closed: {error}"
        );
    }
}

fn assert_serves(server: &Server) {
    let mut root = server.root();
    root.run(b"DO 1").expect("the server serves others");
    let bytes = server.memory_bytes_max();
    assert!(bytes <= MEMORY_BYTES_MAX, "the server used {} MB", bytes >> 20);
}

#[test]
fn random_bytes_before_a_login_end_the_connection() {
    let server = Server::start(&["--skip-ssl"]);
    let mut random = Rng::new(11);
    for round in 0..ROUNDS {
        let payload = bytes(&mut random, 600);
        let bytes = if round % 2 == 0 { payload } else { framed(&payload, 1) };
        send_to_the_end(connected(&server), &bytes);
    }
    // Packets announced as long as they can be, of which little comes: nothing is reserved for the rest.
    let half: Vec<TcpStream> = (0..60)
        .map(|_| {
            let mut stream = connected(&server);
            let _closed_already = stream.write_all(b"\xff\xff\xff\x01half a login");
            stream
        })
        .collect();
    assert_serves(&server);
    drop(half);
    assert_serves(&server);
    server.stop();
}
