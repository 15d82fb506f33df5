//! The sockets of a tap: one thread hands the bytes of all connections on, and shows them to their conversations.
//!
//! Bytes that the other side does not take at once, or that are held back to make a link slower, wait in a queue of at most
//! [`QUEUE_BYTES_MAX`]; then the tap reads no more from that side until they are gone. A delayed link therefore carries at most
//! that much for each delay.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use client::Address;
use mio::net::{TcpListener, TcpStream, UnixStream};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

use super::conversation::Conversation;
use super::{Config, Shared};

/// Bytes that may wait for one side of one connection.
pub(crate) const QUEUE_BYTES_MAX: usize = 1 << 20;
/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;
/// Reads from one socket before the others have their turn.
const READS_IN_A_ROW: usize = 16;
/// Connections at once; more have to wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 16_384;
/// Events taken from the kernel at once.
const EVENTS: usize = 256;

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);
const TIMER: Token = Token(usize::MAX - 2);

/// The server's address, looked up once.
#[derive(Debug)]
enum Target {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.read(into),
            Socket::Unix(socket) => socket.read(into),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.write(bytes),
            Socket::Unix(socket) => socket.write(bytes),
        }
    }

    fn shut_write(&mut self) {
        // A peer that is gone already needs no word of farewell.
        let _ = match self {
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Write),
            Socket::Unix(socket) => socket.shutdown(Shutdown::Write),
        };
    }

    fn register(&mut self, poll: &Poll, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        match self {
            Socket::Tcp(socket) => poll.registry().register(socket, token, interest),
            Socket::Unix(socket) => poll.registry().register(socket, token, interest),
        }
    }

    fn error(&self) -> Option<io::Error> {
        match self {
            Socket::Tcp(socket) => socket.take_error(),
            Socket::Unix(socket) => socket.take_error(),
        }
        .unwrap_or_else(Some)
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    Up,
    Down,
}

impl Way {
    fn index(self) -> usize {
        match self {
            Way::Up => 0,
            Way::Down => 1,
        }
    }
}

/// Bytes on their way to one side.
#[derive(Debug, Default)]
struct Queue {
    bytes: VecDeque<u8>,
    /// When how many of them are due, in order. Empty on a link without delay: all are due.
    due: VecDeque<(u64, usize)>,
    last_due_ns: u64,
    /// The due time that an alarm was set for.
    alarm_ns: u64,
    has_ended: bool,
    is_shut: bool,
}

/// Delay and width of the link, as a tap makes it.
#[derive(Clone, Copy, Debug)]
struct Link {
    delay_ns: [u64; 2],
    bytes_per_s: Option<u64>,
}

impl Link {
    fn is_slow(self, way: Way) -> bool {
        self.delay_ns[way.index()] > 0 || self.bytes_per_s.is_some()
    }

    /// When bytes that came now are due on the other side.
    fn due_ns(self, way: Way, now_ns: u64, last_due_ns: u64, bytes: usize) -> u64 {
        let arrives = now_ns + self.delay_ns[way.index()];
        let width = self.bytes_per_s.map_or(0, |rate| {
            u64::try_from(bytes as u128 * 1_000_000_000 / u128::from(rate.max(1))).unwrap_or(u64::MAX)
        });
        arrives.max(last_due_ns).saturating_add(width)
    }
}

/// A connection: the client's socket, the server's, and what is between them.
#[derive(Debug)]
struct Pair {
    client: Socket,
    server: Socket,
    queues: [Queue; 2],
    conversation: Conversation,
    is_connected: bool,
}

/// All connections of a tap, and the thread's own things.
#[derive(Debug)]
pub(super) struct Relay {
    shared: Arc<Shared>,
    target: Target,
    link: Link,
    listener: TcpListener,
    poll: Poll,
    waker: Arc<Waker>,
    timer: OwnedFd,
    pairs: Vec<Option<Pair>>,
    free: Vec<usize>,
    scratch: Vec<u8>,
    /// When held bytes of which connection are due.
    alarms: BinaryHeap<Reverse<(u64, usize)>>,
    /// Connections that have more to read than their turn allowed.
    again: Vec<usize>,
}

impl Relay {
    pub(super) fn open(config: &Config, shared: Arc<Shared>) -> io::Result<Relay> {
        let target = match &config.target {
            Address::Unix(path) => Target::Unix(path.clone()),
            Address::Tcp { host, port } => {
                let mut found = (host.as_str(), *port).to_socket_addrs()?;
                let first = found.next();
                Target::Tcp(first.ok_or_else(|| io::Error::other(format!("no address of {host}")))?)
            }
        };
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(config.listen)?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let timer = rustix::time::timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        poll.registry().register(&mut SourceFd(&timer.as_raw_fd()), TIMER, Interest::READABLE)?;
        let ns = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Ok(Relay {
            shared,
            target,
            link: Link {
                delay_ns: [ns(config.delay_up), ns(config.delay_down)],
                bytes_per_s: config.bytes_per_s,
            },
            listener,
            poll,
            waker,
            timer,
            pairs: Vec::new(),
            free: Vec::new(),
            scratch: vec![0; READ_BYTES],
            alarms: BinaryHeap::new(),
            again: Vec::new(),
        })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    pub(super) fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    /// Until the tap is dropped.
    pub(super) fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        loop {
            let at_once = (!self.again.is_empty()).then_some(std::time::Duration::ZERO);
            match self.poll.poll(&mut events, at_once) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            if self.shared.is_ending.load(Ordering::Acquire) {
                return Ok(());
            }
            for index in std::mem::take(&mut self.again) {
                self.turn(index);
            }
            for event in &events {
                match event.token() {
                    LISTENER => self.accept(),
                    WAKER | TIMER => {}
                    Token(number) => {
                        let index = number / 2;
                        if let Some(pair) = self.pairs.get_mut(index).and_then(Option::as_mut)
                            && number % 2 == 1
                            && !pair.is_connected
                            && (event.is_writable() || event.is_error())
                        {
                            match pair.server.error() {
                                None => pair.is_connected = true,
                                Some(why) => {
                                    self.refuse(index, &why);
                                    continue;
                                }
                            }
                        }
                        self.turn(index);
                    }
                }
            }
            self.ring();
        }
    }

    /// Hands on what is due by now, and sets the timer to what is due next.
    fn ring(&mut self) {
        if self.alarms.is_empty() {
            return;
        }
        let now_ns = self.shared.now_ns();
        while let Some(&Reverse((due_ns, index))) = self.alarms.peek()
            && due_ns <= now_ns
        {
            self.alarms.pop();
            self.turn(index);
        }
        if let Some(&Reverse((due_ns, _))) = self.alarms.peek() {
            // At least 1 ns: zero would stop the timer.
            let wait_ns = due_ns.saturating_sub(self.shared.now_ns()).max(1);
            let never = Timespec { tv_sec: 0, tv_nsec: 0 };
            let value = Timespec {
                tv_sec: i64::try_from(wait_ns / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: (wait_ns % 1_000_000_000) as i64,
            };
            let spec = Itimerspec { it_interval: never, it_value: value };
            if rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec).is_err() {
                // The kernel took the timer before; should it refuse now, poll at once instead of losing bytes.
                self.again.push(self.alarms.peek().map_or(0, |alarm| alarm.0.1));
            }
        }
    }

    fn accept(&mut self) {
        loop {
            let live = self.pairs.len() - self.free.len();
            if live >= CONNECTIONS_MAX {
                return;
            }
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The client gave up already, or this process has no descriptors left: the next event tries again.
                Err(_) => return,
            };
            if let Err(why) = self.join(socket) {
                let mut phases = self.shared.phases();
                phases.refused.0 += 1;
                phases.refused.1 = Some(why.to_string());
            }
        }
    }

    /// Makes the server's side of a client's connection.
    fn join(&mut self, client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let (mut server, is_connected) = match &self.target {
            Target::Tcp(address) => {
                let socket = TcpStream::connect(*address)?;
                socket.set_nodelay(true)?;
                (Socket::Tcp(socket), false)
            }
            Target::Unix(path) => (Socket::Unix(UnixStream::connect(path)?), true),
        };
        let mut client = Socket::Tcp(client);
        let index = self.free.last().copied().unwrap_or(self.pairs.len());
        client.register(&self.poll, Token(index * 2))?;
        server.register(&self.poll, Token(index * 2 + 1))?;
        let conversation = Conversation::new(self.shared.now_ns());
        let pair = Pair { client, server, queues: Default::default(), conversation, is_connected };
        if self.free.pop().is_some() {
            self.pairs[index] = Some(pair);
        } else {
            self.pairs.push(Some(pair));
        }
        self.shared.phases().connections += 1;
        Ok(())
    }

    #[cold]
    fn refuse(&mut self, index: usize, why: &io::Error) {
        {
            let mut phases = self.shared.phases();
            phases.refused.0 += 1;
            phases.refused.1 = Some(why.to_string());
        }
        self.remove(index);
    }

    fn remove(&mut self, index: usize) {
        if let Some(mut pair) = self.pairs.get_mut(index).and_then(Option::take) {
            pair.conversation.end(&mut self.shared.phases());
            self.free.push(index);
            // A place is free again for a client that waits in the kernel's queue.
            if self.pairs.len() - self.free.len() == CONNECTIONS_MAX - 1 {
                self.accept();
            }
        }
    }

    /// Moves what can be moved on one connection, both ways.
    fn turn(&mut self, index: usize) {
        let Relay { shared, link, pairs, scratch, alarms, again, .. } = self;
        let Some(pair) = pairs.get_mut(index).and_then(Option::as_mut) else { return };
        if !pair.is_connected {
            return;
        }
        for way in [Way::Up, Way::Down] {
            let moved = pair.move_bytes(way, *link, shared, scratch);
            match moved {
                Ok(Moved::All) => {}
                Ok(Moved::HasMore) => {
                    if !again.contains(&index) {
                        again.push(index);
                    }
                }
                Ok(Moved::DueAt(due_ns)) => {
                    let queue = &mut pair.queues[way.index()];
                    if queue.alarm_ns != due_ns {
                        queue.alarm_ns = due_ns;
                        alarms.push(Reverse((due_ns, index)));
                    }
                }
                Err(_) => return self.remove(index),
            }
        }
        if pair.queues.iter().all(|queue| queue.is_shut) {
            self.remove(index);
        }
    }
}

/// What a turn left behind.
enum Moved {
    /// Nothing, or what a socket will tell of.
    All,
    /// There is more to read.
    HasMore,
    /// Bytes that are held back until then.
    DueAt(u64),
}

impl Pair {
    fn move_bytes(&mut self, way: Way, link: Link, shared: &Shared, scratch: &mut [u8]) -> io::Result<Moved> {
        for _ in 0..READS_IN_A_ROW {
            let held_until = self.flush(way, shared)?;
            let queue = &mut self.queues[way.index()];
            if queue.bytes.len() >= QUEUE_BYTES_MAX || queue.has_ended {
                if queue.has_ended && queue.bytes.is_empty() && !queue.is_shut {
                    queue.is_shut = true;
                    self.to(way).shut_write();
                }
                return Ok(held_until.map_or(Moved::All, Moved::DueAt));
            }
            let room = scratch.len().min(QUEUE_BYTES_MAX - queue.bytes.len());
            let bytes = match self.from(way).read(&mut scratch[..room]) {
                Ok(0) => {
                    self.queues[way.index()].has_ended = true;
                    continue;
                }
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(held_until.map_or(Moved::All, Moved::DueAt));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let now_ns = shared.now_ns();
            if way == Way::Up {
                self.conversation.client_bytes(&scratch[..bytes], now_ns, &mut shared.phases());
            }
            let mut sent = 0;
            if !link.is_slow(way) && self.queues[way.index()].bytes.is_empty() {
                sent = self.send(way, &scratch[..bytes], shared)?;
            }
            let queue = &mut self.queues[way.index()];
            queue.bytes.extend(&scratch[sent..bytes]);
            if link.is_slow(way) {
                let due_ns = link.due_ns(way, now_ns, queue.last_due_ns, bytes);
                queue.last_due_ns = due_ns;
                queue.due.push_back((due_ns, bytes));
            }
        }
        Ok(Moved::HasMore)
    }

    /// Writes what is due; when the next held bytes are, if some are held.
    fn flush(&mut self, way: Way, shared: &Shared) -> io::Result<Option<u64>> {
        loop {
            let queue = &mut self.queues[way.index()];
            let mut due = queue.bytes.len();
            if let Some(&(due_ns, bytes)) = queue.due.front() {
                if due_ns > shared.now_ns() {
                    return Ok(Some(due_ns));
                }
                due = bytes;
            }
            if due == 0 {
                return Ok(None);
            }
            let mut bytes = std::mem::take(&mut queue.bytes);
            let front = bytes.as_slices().0;
            let sent = self.send(way, &front[..front.len().min(due)], shared);
            if let Ok(sent) = sent {
                bytes.drain(..sent);
            }
            let queue = &mut self.queues[way.index()];
            queue.bytes = bytes;
            let sent = sent?;
            if let Some((_, left)) = queue.due.front_mut() {
                *left -= sent;
                if *left == 0 {
                    queue.due.pop_front();
                }
            }
            if sent == 0 {
                return Ok(None);
            }
            // A burst of long ago need not keep its room.
            if queue.bytes.is_empty() && queue.bytes.capacity() > READ_BYTES {
                queue.bytes = VecDeque::new();
            }
        }
    }

    /// Writes what the socket takes, and shows the conversation what went to the client.
    fn send(&mut self, way: Way, bytes: &[u8], shared: &Shared) -> io::Result<usize> {
        // Before they are written: whom they wake may take this core at once.
        let now_ns = shared.now_ns();
        let mut sent = 0;
        while sent < bytes.len() {
            match self.to(way).write(&bytes[sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if way == Way::Down && sent > 0 {
            self.conversation.server_bytes(&bytes[..sent], now_ns, &mut shared.phases());
        }
        Ok(sent)
    }

    fn from(&mut self, way: Way) -> &mut Socket {
        match way {
            Way::Up => &mut self.client,
            Way::Down => &mut self.server,
        }
    }

    fn to(&mut self, way: Way) -> &mut Socket {
        match way {
            Way::Up => &mut self.server,
            Way::Down => &mut self.client,
        }
    }
}
