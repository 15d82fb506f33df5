//! What a client that is silent costs: memory for its state, no buffer, no processor time.
//!
//! The tests look at the whole process, so each waits for the one before. Memory is counted by an allocator that knows on
//! whose behalf a block was taken, time by the kernel for each thread: neither depends on how busy the machine is.

mod echo;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use client::{Address, Connection, Options, Param, Tls};

/// Bytes in blocks that were taken by threads of the server and not yet given back.
static SERVER_BYTES: AtomicI64 = AtomicI64::new(0);
/// The least room in front of a block, whose last byte says who took it.
const PREFIX_BYTES_MIN: usize = 16;
const BY_SERVER: u8 = 1;
const BY_CLIENT: u8 = 2;

thread_local! {
    /// Whether this thread is a client's, whose memory is not counted.
    static IS_CLIENT: Cell<bool> = const { Cell::new(false) };
}

/// Counts what the server holds, whichever thread gives it back.
struct Counting;

/// The layout with the prefix, and how long that is.
fn with_prefix(layout: Layout) -> Option<(Layout, usize)> {
    let prefix = layout.align().max(PREFIX_BYTES_MIN);
    let whole = Layout::from_size_align(layout.size().checked_add(prefix)?, layout.align()).ok()?;
    Some((whole, prefix))
}

#[allow(unsafe_code, reason = "an allocator is unsafe by definition")]
// SAFETY: a block is the system's block behind a prefix as long as a multiple of the alignment, so it is as aligned and as
// long as asked for. `realloc` is the trait's own, made of `alloc` and `dealloc`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((whole, prefix)) = with_prefix(layout) else { return std::ptr::null_mut() };
        // SAFETY: `whole` is at least as long as the prefix, so not empty.
        let start = unsafe { System.alloc(whole) };
        if start.is_null() {
            return start;
        }
        let owner = if IS_CLIENT.get() { BY_CLIENT } else { BY_SERVER };
        if owner == BY_SERVER {
            SERVER_BYTES.fetch_add(layout.size() as i64, Ordering::Relaxed);
        }
        // SAFETY: the block is `prefix` bytes and `layout.size()` more.
        unsafe {
            let place = start.add(prefix);
            place.sub(1).write(owner);
            place
        }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        let Some((whole, prefix)) = with_prefix(layout) else { return };
        // SAFETY: `place` came from `alloc` with the same layout: the prefix lies in front of it and its last byte is set.
        unsafe {
            if place.sub(1).read() == BY_SERVER {
                SERVER_BYTES.fetch_sub(layout.size() as i64, Ordering::Relaxed);
            }
            System.dealloc(place.sub(prefix), whole);
        }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The tests here take turns.
static TURN: Mutex<()> = Mutex::new(());

struct World {
    server: server::Server,
    folder: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl World {
    fn new() -> World {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        IS_CLIENT.set(true);
        let folder = tempfile::tempdir().expect("a folder");
        let config = server::Config {
            worker_groups: 2,
            worker_waiters: 0,
            tls: Some(server::make_tls_files(folder.path()).expect("certificates")),
            ..server::Config::default()
        };
        let listeners =
            server::Listeners::bind(&[([127, 0, 0, 1], 0).into()], Some(folder.path().join("sock")))
                .expect("sockets");
        let echo = echo::Echo::new(Duration::ZERO);
        echo.limits.lock().expect("not poisoned").max_connections = 2 * CONNECTIONS as u32;
        let server =
            server::Server::start(listeners, config, Arc::new(echo::Handle(echo))).expect("a server");
        World { server, folder, _turn: turn }
    }

    fn options(&self) -> Options {
        Options::new(Address::Unix(self.folder.path().join("sock")), "root")
    }

    fn connect(&self, options: &Options) -> Connection {
        Connection::connect(options).expect("let in")
    }

    fn stop(self) {
        assert!(self.server.stop(Duration::from_secs(5)));
    }
}

/// Connections that are idle at the same time; fewer where each costs the processor more.
const CONNECTIONS: usize = 200;
const COSTLY_CONNECTIONS: usize = 50;
/// Those that come before, so that threads have their buffers and tables their size.
const FIRST_CONNECTIONS: usize = 20;
/// Bytes of the statements and the answers that go before the idleness: more than any bound below allows.
const PACKET_BYTES: usize = 100_000;
/// What an idle connection may hold beside its session: the connection itself, its control block, its host's name.
const IDLE_BYTES_MAX: i64 = 4 * 1024;
/// What rustls holds for one: its state, the session's tickets, a 4 KB piece of buffer.
const IDLE_TLS_BYTES_MAX: i64 = 12 * 1024;

/// Large packets in and out, text and binary; what comes last is as large, or small.
fn work(connection: &mut Connection, text: &str, ends_small: bool) {
    let rows = |connection: &mut Connection, sql: &str| {
        let mut answer = connection.query(sql.as_bytes()).expect("an answer");
        assert!(answer.next_result().expect("a result"));
        let mut bytes = 0;
        while let Some(row) = answer.next_row().expect("a row") {
            bytes += row.cell(0).as_bytes().expect("a text").len();
        }
        bytes
    };
    assert_eq!(rows(connection, &format!("ECHO {text}")), text.len());
    assert_eq!(rows(connection, "ROWS 50 2000"), 100_000);
    let mut statement = connection.prepare(b"x ?").expect("prepared");
    connection
        .execute(&mut statement, &[Param::Bytes(text.as_bytes())])
        .expect("executed")
        .finish()
        .expect("ended");
    connection.close(statement).expect("closed");
    assert_eq!(rows(connection, &format!("ECHO {text}")), text.len());
    if ends_small {
        assert_eq!(rows(connection, "SELECT 1"), 1);
    }
}

/// The bytes that the server holds for each of many idle connections.
fn idle_bytes(options: &Options, count: usize, world: &World, bytes_max: i64) -> i64 {
    let text = "e".repeat(PACKET_BYTES);
    let mut first: Vec<Connection> = (0..FIRST_CONNECTIONS).map(|_| world.connect(options)).collect();
    for connection in &mut first {
        work(connection, &text, true);
    }
    drop(first);
    let start = Instant::now();
    while world.server.connection_count() > 0 && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let before = SERVER_BYTES.load(Ordering::SeqCst);
    let mut idle: Vec<Connection> = (0..count).map(|_| world.connect(options)).collect();
    for (number, connection) in idle.iter_mut().enumerate() {
        work(connection, &text, number % 2 == 0);
    }
    // An answer may be here before its thread has put everything away.
    let start = Instant::now();
    loop {
        let each = (SERVER_BYTES.load(Ordering::SeqCst) - before) / count as i64;
        if each <= bytes_max || start.elapsed() > Duration::from_secs(5) {
            return each;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_idle_connection_holds_no_buffer() {
    let world = World::new();
    let plain = world.options();
    let tls = Options { tls: Tls::Required(client::unverified_tls()), ..world.options() };
    let zlib = Options { compress: true, ..world.options() };
    for (name, options, count, bytes_max) in [
        ("plain", plain, CONNECTIONS, IDLE_BYTES_MAX),
        ("zlib", zlib, COSTLY_CONNECTIONS, IDLE_BYTES_MAX),
        ("TLS", tls, COSTLY_CONNECTIONS, IDLE_TLS_BYTES_MAX),
    ] {
        let each = idle_bytes(&options, count, &world, bytes_max);
        println!("{name}: {each} bytes for each idle connection");
        assert!(each <= bytes_max, "{name}: {each} bytes for each idle connection");
    }
    world.stop();
}

/// Time that the worker threads of the server have had a processor so far.
fn worker_time() -> Duration {
    let mut nanos = 0;
    for thread in std::fs::read_dir("/proc/self/task").expect("the kernel lists threads") {
        let folder = thread.expect("a thread").path();
        // A thread may have ended since it was listed.
        let Ok(name) = std::fs::read_to_string(folder.join("comm")) else { continue };
        let Ok(times) = std::fs::read_to_string(folder.join("schedstat")) else { continue };
        if name.starts_with("worker-") {
            nanos += times.split(' ').next().and_then(|time| time.parse::<u64>().ok()).expect("nanoseconds");
        }
    }
    Duration::from_nanos(nanos)
}

/// How long the workers are watched.
const WATCH_TIME: Duration = Duration::from_millis(500);
/// Processor time that all workers together may take meanwhile. One that spins would take the whole of [`WATCH_TIME`], and
/// on a busy machine still its share of it.
const WATCHED_TIME_MAX: Duration = Duration::from_millis(20);

#[test]
fn half_a_packet_costs_no_processor_time() {
    let world = World::new();
    let whole = b"\x09\0\0\0\x03SELECT 1";
    let halves: [&[u8]; 5] = [
        b"\x09\0\0",                                // Of a header.
        &whole[..4],                                // The header alone.
        &whole[..9],                                // And the half of what it announces.
        b"\xff\xff\xff\0\x03SELECT 1",              // A frame that another will follow.
        &[&whole[..], whole, &whole[..7]].concat(), // Behind whole ones that are answered.
    ];
    let zlib = Options { compress: true, ..world.options() };
    let tls = Options { tls: Tls::Required(client::unverified_tls()), ..world.options() };
    let mut clients = Vec::new();
    for options in [world.options(), tls, zlib] {
        for half in halves {
            // Inside a zlib frame that is not deflated, and the half of a frame more.
            let [a, b, c, _] = u32::to_le_bytes(half.len() as u32);
            let frame = [&[a, b, c, 0, 0, 0, 0], half, &[7, 0, 0, 1]].concat();
            let mut connection = world.connect(&options);
            connection.send_raw(if options.compress { &frame } else { half }).expect("sent");
            clients.push(connection);
        }
    }
    // And one that has not said who it is.
    let mut stranger = std::net::TcpStream::connect(world.server.tcp_addresses()[0]).expect("listening");
    std::io::Write::write_all(&mut stranger, b"\x20\0\0\x01half").expect("sent");
    std::thread::sleep(WATCH_TIME / 5);
    let before = worker_time();
    std::thread::sleep(WATCH_TIME);
    let taken = worker_time() - before;
    assert!(taken <= WATCHED_TIME_MAX, "{taken:?} of processor time in {WATCH_TIME:?}");
    assert_eq!(world.server.connection_count(), clients.len() + 1, "they are still waited for");
    drop((clients, stranger));
    world.stop();
}
