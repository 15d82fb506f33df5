//! Puts load on a server of `examples/echo` and prints queries per second and the server's CPU time per query:
//! `cargo run --release -p server --example load -- PID ADDRESS CONNECTIONS SECONDS [STATEMENT]`.
//! One blocking thread per connection, user `root` without password.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use wire::flags::Capabilities;
use wire::handshake::{Greeting, HandshakeResponse};
use wire::packet::{Incoming, PacketBuffer, next_packet};

/// User and system time of a process, seconds, its ended threads included.
fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn packet(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Vec<u8>> {
    loop {
        if let Incoming::Packet { payload, consumed, .. } = next_packet(buffer) {
            let payload = payload.to_vec();
            buffer.drain(..consumed);
            return Ok(payload);
        }
        let mut piece = [0; 4096];
        let bytes = stream.read(&mut piece)?;
        if bytes == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        buffer.extend_from_slice(&piece[..bytes]);
    }
}

fn connect(address: &str) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    let greeting = packet(&mut stream, &mut buffer)?;
    Greeting::decode(&greeting).map_err(std::io::Error::other)?;
    let mut packets = PacketBuffer::new();
    packets.set_sequence(1);
    HandshakeResponse {
        capabilities: Capabilities::PROTOCOL_41
            | Capabilities::PLUGIN_AUTH
            | Capabilities::SECURE_CONNECTION
            | Capabilities::DEPRECATE_EOF,
        packet_bytes_max: 1 << 24,
        collation: 255,
        user: b"root",
        auth_plugin: Some(b"caching_sha2_password"),
        ..HandshakeResponse::default()
    }
    .encode(packets.begin());
    packets.end();
    stream.write_all(packets.frames())?;
    let answer = packet(&mut stream, &mut buffer)?;
    if answer.first() == Some(&0) { Ok(stream) } else { Err(std::io::Error::other("refused")) }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pid, address, connections, seconds, ..] = &arguments[..] else {
        return Err("PID ADDRESS CONNECTIONS SECONDS [STATEMENT]".into());
    };
    let (pid, connections): (u32, usize) = (pid.parse()?, connections.parse()?);
    let seconds: f64 = seconds.parse()?;
    let statement = arguments.get(4).map_or("SELECT 1", String::as_str);
    let mut packets = PacketBuffer::new();
    let payload = packets.begin();
    payload.push(wire::command::byte::QUERY);
    payload.extend_from_slice(statement.as_bytes());
    packets.end();
    let query = Arc::new(packets.frames().to_vec());
    let stop = Arc::new(AtomicBool::new(false));
    let queries = Arc::new(AtomicU64::new(0));
    let mut threads = Vec::new();
    for _ in 0..connections {
        let mut stream = connect(address)?;
        let (query, stop, queries) = (Arc::clone(&query), Arc::clone(&stop), Arc::clone(&queries));
        threads.push(std::thread::spawn(move || {
            let mut answer = [0; 65_536];
            while !stop.load(Ordering::Relaxed) {
                // The whole answer comes by one send, so one read gets it.
                if stream.write_all(&query).is_err() || stream.read(&mut answer).unwrap_or(0) == 0 {
                    return;
                }
                queries.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    std::thread::sleep(Duration::from_millis(300));
    let (cpu, count, start) = (cpu_seconds(pid), queries.load(Ordering::Relaxed), Instant::now());
    std::thread::sleep(Duration::from_secs_f64(seconds));
    let (cpu, count, time) =
        (cpu_seconds(pid) - cpu, queries.load(Ordering::Relaxed) - count, start.elapsed().as_secs_f64());
    stop.store(true, Ordering::Relaxed);
    println!(
        "{connections} connections, {statement}: {:.0} queries/s, server CPU {:.2} us per query",
        count as f64 / time,
        cpu * 1e6 / count as f64
    );
    for thread in threads {
        let _ = thread.join();
    }
    Ok(())
}
