//! The least a client can do for a prepared point select: bytes made once, one send and one receive each, nothing looked at.
//! What it costs is what the kernel takes; no client that waits for each answer can be cheaper on this machine.
//!
//!     rustc -O floor.rs && ./floor tcp:127.0.0.1:3306|unix:/path CONNECTIONS SECONDS
//!
//! Needs root without a password and sbtest.sbtest1. With several connections it sends on all, then receives on all: no event
//! queue, and only the first receive of a pass sleeps. Prints operations, and CPU of the process in nanoseconds each.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

trait Both: Read + Write {}
impl<T: Read + Write> Both for T {}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend_from_slice(payload);
    bytes
}

fn receive(stream: &mut dyn Both) -> Vec<u8> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).expect("a packet");
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload).expect("its payload");
    assert_ne!(payload[0], 0xff, "{}", String::from_utf8_lossy(&payload));
    payload
}

/// Logs in, prepares, and executes once; the connection, the command and the length of its answer.
fn open(address: &str) -> (Box<dyn Both>, Vec<u8>, usize) {
    let mut stream: Box<dyn Both> = match address.split_once(':') {
        Some(("tcp", place)) => {
            let stream = TcpStream::connect(place).expect("the server is there");
            stream.set_nodelay(true).expect("no delay");
            Box::new(stream)
        }
        Some(("unix", path)) => Box::new(UnixStream::connect(path).expect("the server is there")),
        _ => panic!("tcp:HOST:PORT or unix:PATH"),
    };
    receive(&mut *stream);
    // 4.1 protocol, transactions, secure connection, plugin auth, deprecate EOF; no database yet.
    let mut login = 0x0108_a200u32.to_le_bytes().to_vec();
    login.extend_from_slice(&(1u32 << 24).to_le_bytes());
    login.push(45);
    login.extend_from_slice(&[0; 23]);
    login.extend_from_slice(b"root\0\0mysql_native_password\0");
    stream.write_all(&packet(1, &login)).expect("it is sent");
    let mut sequence = 3;
    while receive(&mut *stream)[0] != 0 {
        // Another plugin is asked for: without a password the answer is empty everywhere.
        stream.write_all(&packet(sequence, b"")).expect("it is sent");
        sequence += 2;
    }
    stream.write_all(&packet(0, b"\x16SELECT c FROM sbtest.sbtest1 WHERE id = ?")).expect("it is sent");
    let prepared = receive(&mut *stream);
    let id = &prepared[1..5];
    for _ in 0..prepared[5] + prepared[7] {
        receive(&mut *stream);
    }
    let mut execute = b"\x17".to_vec();
    execute.extend_from_slice(id);
    execute.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1, 8, 0]);
    execute.extend_from_slice(&5_000u64.to_le_bytes());
    let execute = packet(0, &execute);
    stream.write_all(&execute).expect("it is sent");
    // Number of columns, the column, the row, OK.
    let length = (0..4).map(|_| receive(&mut *stream).len() + 4).sum();
    (stream, execute, length)
}

/// User and system time of this process, nanoseconds: the kernel's account of its one thread.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("schedstat");
    text.split(' ').next().and_then(|word| word.parse().ok()).expect("a number")
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, address, connections, seconds] = &words[..] else { panic!("floor ADDRESS CONNECTIONS SECONDS") };
    let connections: usize = connections.parse().expect("a number");
    let time = Duration::from_secs_f64(seconds.parse().expect("a number"));
    let mut all: Vec<_> = (0..connections).map(|_| open(address)).collect();
    let mut answer = [0; 16384];
    let mut run = |time: Duration| {
        let (began, cpu, mut operations) = (Instant::now(), cpu_ns(), 0u64);
        while began.elapsed() < time {
            for (stream, execute, _) in &mut all {
                stream.write_all(execute).expect("it is sent");
            }
            for (stream, _, length) in &mut all {
                let mut left = *length;
                while left > 0 {
                    left -= stream.read(&mut answer[..]).expect("it answers").min(left);
                }
            }
            operations += connections as u64;
        }
        (operations, cpu_ns() - cpu)
    };
    run(Duration::from_millis(200));
    let (operations, cpu) = run(time);
    println!("{operations} {}", cpu / operations.max(1));
}
