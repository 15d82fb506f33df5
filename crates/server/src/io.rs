//! One socket with what may lie on it: TLS, zlib frames, bytes that did not go out yet.
//!
//! Invariants:
//! 1. The socket never blocks by itself; who must wait polls it and says so to `env::blocking`.
//! 2. Bytes go out in the order they were given: nothing is written while older bytes are unsent.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use rustix::net::{RecvFlags, SendFlags};
use rustls::ServerConnection;
use service::{ConnectionControl, Kill, Transport};
use wire::compress::{Compressor, Decompressor, Inflater};

/// Bytes read from a socket by one call.
pub const READ_BYTES: usize = 64 * 1024;
/// How often a thread that waits for a socket looks whether its connection was killed.
const KILL_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(crate) fn source(&mut self) -> &mut dyn Source {
        match self {
            Stream::Tcp(stream) => stream,
            Stream::Unix(stream) => stream,
        }
    }

    /// The system call itself: the C library's wrappers are points of cancellation, which costs two atomic operations a call.
    #[inline]
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (bytes, _) = rustix::net::recv(self.fd(), buffer, RecvFlags::empty())?;
        Ok(bytes)
    }

    /// As `receive`. A client that is gone is an error and no signal.
    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.fd(), bytes, SendFlags::NOSIGNAL)?)
    }

    #[inline]
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }

    fn raw_fd(&self) -> RawFd {
        self.fd().as_raw_fd()
    }
}

/// A socket that has nothing to read.
struct NothingThere;

impl Read for NothingThere {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(ErrorKind::WouldBlock.into())
    }
}

/// rustls writes through this.
struct SocketWrite<'a>(&'a Stream);

impl Write for SocketWrite<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection's zlib frames.
#[derive(Debug, Default)]
struct Zlib {
    decompressor: Decompressor,
    /// What came and is not unpacked yet: a few KB may hold many MB, of which [`READ_BYTES`] are unpacked at a time.
    packed: Vec<u8>,
    /// There may be more to unpack without any further bytes.
    has_more: bool,
}

/// What zlib works with, some 350 KB: a thread's, lent to whichever connection it drives. Only a frame that has come in part
/// keeps the part of it that inflates.
#[derive(Debug, Default)]
struct ZlibMemory {
    compressor: Compressor,
    inflater: Option<Inflater>,
    packed: Vec<u8>,
}

thread_local! {
    static ZLIB: RefCell<ZlibMemory> = RefCell::default();
}

/// What a try to read brought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Received {
    /// This many plain bytes lie at the front of the scratch buffer; `drained` if the socket has no more.
    InScratch {
        /// How many.
        bytes: usize,
        /// The socket was read empty.
        drained: bool,
    },
    /// Bytes were added to [`Io::input`], perhaps none; `drained` if the socket has no more.
    InInput {
        /// The socket was read empty.
        drained: bool,
    },
    /// Nothing there.
    Nothing,
    /// The client closed.
    Closed,
}

/// The socket and everything on it.
#[derive(Debug)]
pub struct Io {
    pub(crate) stream: Stream,
    tls: Option<Box<ServerConnection>>,
    /// The client has closed TLS: whatever it sends now is nothing (RFC 8446, 6.1).
    is_tls_closed: bool,
    /// zlib frames both ways; one counter numbers them.
    zlib: Option<Box<Zlib>>,
    /// Plain bytes received and not yet used. Empty, and without memory, while the connection is idle.
    pub(crate) input: Vec<u8>,
    /// Bytes for the socket that did not go out yet, from `unsent_at`.
    unsent: Vec<u8>,
    unsent_at: usize,
    /// The poller tells when the socket takes more.
    pub(crate) watches_room: bool,
    /// Counted since they were last taken.
    received_bytes: u64,
    sent_bytes: u64,
}

impl Io {
    /// Of a socket to a server, to be read and written without waiting.
    ///
    /// # Errors
    /// The system's.
    pub fn of_tcp(stream: std::net::TcpStream) -> io::Result<Io> {
        stream.set_nonblocking(true)?;
        Ok(Io::new(Stream::Tcp(TcpStream::from_std(stream))))
    }

    /// As [`of_tcp`](Self::of_tcp), of a Unix socket.
    ///
    /// # Errors
    /// The system's.
    pub fn of_unix(stream: std::os::unix::net::UnixStream) -> io::Result<Io> {
        stream.set_nonblocking(true)?;
        Ok(Io::new(Stream::Unix(UnixStream::from_std(stream))))
    }

    /// Whether nothing has come from the other side, not even its end: a look that takes nothing.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let seen = rustix::net::recv(self.stream.fd(), &mut [0; 1][..], RecvFlags::PEEK);
        matches!(seen, Err(rustix::io::Errno::WOULDBLOCK))
    }

    pub(crate) fn new(stream: Stream) -> Io {
        Io {
            stream,
            tls: None,
            is_tls_closed: false,
            zlib: None,
            input: Vec::new(),
            unsent: Vec::new(),
            unsent_at: 0,
            watches_room: false,
            received_bytes: 0,
            sent_bytes: 0,
        }
    }

    /// Adds the socket to a poller, which then says when it can be read, and when it takes bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn register(&mut self, registry: &mio::Registry, token: mio::Token) -> io::Result<()> {
        self.stream.source().register(registry, token, mio::Interest::READABLE | mio::Interest::WRITABLE)
    }

    /// Takes the socket out of its poller.
    ///
    /// # Errors
    /// The system's.
    pub fn deregister(&mut self, registry: &mio::Registry) -> io::Result<()> {
        self.stream.source().deregister(registry)
    }

    /// Takes the plain bytes that were received and not used.
    #[must_use]
    pub fn take_input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.input)
    }

    /// Bytes received and sent since the call before.
    pub(crate) fn take_traffic(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.received_bytes), std::mem::take(&mut self.sent_bytes))
    }

    pub(crate) fn transport(&self) -> Transport {
        match (&self.stream, &self.tls) {
            (Stream::Tcp(_), None) => Transport::Tcp,
            (Stream::Tcp(_), Some(_)) => Transport::Tls,
            (Stream::Unix(_), None) => Transport::Unix,
            (Stream::Unix(_), Some(_)) => Transport::UnixTls,
        }
    }

    /// Speaks TLS from now on; `early` came behind the request for it and belongs to it.
    pub(crate) fn start_tls(&mut self, mut tls: ServerConnection, early: &[u8]) -> io::Result<()> {
        tls.set_buffer_limit(None);
        self.tls = Some(Box::new(tls));
        self.feed_tls(early)?;
        self.flush().map(|_| ())
    }

    pub(crate) fn tls(&self) -> Option<&ServerConnection> {
        self.tls.as_deref()
    }

    /// Speaks zlib frames from now on.
    pub fn start_zlib(&mut self) {
        self.zlib = Some(Box::default());
    }

    /// Whether bytes lie before the command reader without having come from the socket just now.
    pub fn is_plain(&self) -> bool {
        self.tls.is_none() && self.zlib.is_none()
    }

    /// Whether a frame of zlib has begun and is not all there.
    pub(crate) fn is_amid_frame(&self) -> bool {
        self.zlib.as_ref().is_some_and(|zlib| !zlib.decompressor.is_between_frames())
    }

    /// Tries to read once, or unpacks more of what was read.
    pub fn receive(&mut self, scratch: &mut [u8]) -> io::Result<Received> {
        if self.zlib.as_ref().is_some_and(|zlib| zlib.has_more) {
            self.unpack()?;
            return Ok(Received::InInput { drained: false });
        }
        if self.is_tls_closed {
            return Ok(Received::Closed);
        }
        let bytes = loop {
            match self.stream.receive(scratch) {
                Ok(0) => return Ok(Received::Closed),
                Ok(bytes) => break bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Received::Nothing),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        self.received_bytes += bytes as u64;
        let drained = bytes < scratch.len();
        if self.is_plain() {
            return Ok(Received::InScratch { bytes, drained });
        }
        if self.tls.is_some() {
            self.feed_tls(&scratch[..bytes])?;
            if self.tls.as_ref().is_some_and(|tls| tls.wants_write()) {
                self.flush()?;
            }
        } else {
            self.take_plain(&scratch[..bytes])?;
        }
        let is_all = !self.is_tls_closed && self.zlib.as_ref().is_none_or(|zlib| !zlib.has_more);
        Ok(Received::InInput { drained: drained && is_all })
    }

    fn feed_tls(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let Some(mut tls) = self.tls.take() else { return Ok(()) };
        let mut plain = Vec::new();
        let fed = (|| {
            while !bytes.is_empty() && !self.is_tls_closed {
                tls.read_tls(&mut bytes)?;
                let state = tls
                    .process_new_packets()
                    .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
                let at = plain.len();
                plain.resize(at + state.plaintext_bytes_to_read(), 0);
                tls.reader().read_exact(&mut plain[at..])?;
                // From then on it takes no byte, which would be asked for ever.
                self.is_tls_closed = state.peer_has_closed();
            }
            // rustls gives the memory of a long record back when it next wants to read, which may be in an hour.
            let _nothing_there = tls.read_tls(&mut NothingThere);
            Ok(())
        })();
        self.tls = Some(tls);
        self.take_plain(&plain)?;
        fed
    }

    fn take_plain(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.zlib {
            None => {
                self.input.extend_from_slice(bytes);
                Ok(())
            }
            Some(zlib) => {
                zlib.packed.extend_from_slice(bytes);
                self.unpack()
            }
        }
    }

    /// Unpacks some more of the zlib frames that came.
    fn unpack(&mut self) -> io::Result<()> {
        let Some(zlib) = &mut self.zlib else { return Ok(()) };
        let before = self.input.len();
        let used = ZLIB.with_borrow_mut(|memory| {
            zlib.decompressor.borrow_from(&mut memory.inflater);
            let used = zlib.decompressor.unpack_part(&zlib.packed, &mut self.input, READ_BYTES);
            zlib.decompressor.give_back(&mut memory.inflater);
            used.map_err(|error| io::Error::new(ErrorKind::InvalidData, format!("{error:?}")))
        })?;
        zlib.has_more = self.input.len() - before >= READ_BYTES;
        if used == zlib.packed.len() {
            zlib.packed = Vec::new(); // An idle connection holds no buffer.
        } else {
            zlib.packed.drain(..used);
        }
        Ok(())
    }

    /// Sends `plain` after all that is unsent, as far as the socket takes it without waiting; `false` if something is left.
    pub fn send(&mut self, plain: &[u8]) -> io::Result<bool> {
        if let Some(Zlib { decompressor, .. }) = self.zlib.as_deref_mut() {
            let packed = ZLIB.with_borrow_mut(|zlib| {
                let mut packed = std::mem::take(&mut zlib.packed);
                packed.clear();
                let mut sequence = decompressor.sequence();
                zlib.compressor.pack(plain, &mut sequence, &mut packed);
                decompressor.set_sequence(sequence);
                packed
            });
            let sent = self.send_below_zlib(&packed);
            if packed.capacity() <= READ_BYTES {
                ZLIB.with_borrow_mut(|zlib| zlib.packed = packed);
            }
            return sent;
        }
        self.send_below_zlib(plain)
    }

    #[inline]
    fn send_below_zlib(&mut self, bytes: &[u8]) -> io::Result<bool> {
        if let Some(tls) = &mut self.tls {
            tls.writer().write_all(bytes)?;
            return self.flush();
        }
        if self.unsent_at < self.unsent.len() {
            self.unsent.extend_from_slice(bytes);
            return self.flush();
        }
        let mut at = 0;
        while at < bytes.len() {
            match self.stream.send(&bytes[at..]) {
                Ok(sent) => at += sent,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unsent.extend_from_slice(&bytes[at..]);
                    self.sent_bytes += at as u64;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        self.sent_bytes += at as u64;
        Ok(true)
    }

    /// Whether bytes wait for the socket to take them.
    pub fn has_unsent(&self) -> bool {
        self.unsent_at < self.unsent.len() || self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Sends what is unsent as far as the socket takes it; `false` if something is left.
    pub fn flush(&mut self) -> io::Result<bool> {
        if let Some(tls) = &mut self.tls {
            while tls.wants_write() {
                match tls.write_tls(&mut SocketWrite(&self.stream)) {
                    Ok(sent) => self.sent_bytes += sent as u64,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                    Err(error) => return Err(error),
                }
            }
            return Ok(true);
        }
        while self.unsent_at < self.unsent.len() {
            match self.stream.send(&self.unsent[self.unsent_at..]) {
                Ok(sent) => {
                    self.unsent_at += sent;
                    self.sent_bytes += sent as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.unsent = Vec::new(); // An idle connection holds no buffer.
        self.unsent_at = 0;
        Ok(true)
    }

    /// Says to TLS and to the other side that nothing more comes.
    pub fn close(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            let _ = self.flush(); // The client may be gone; the socket is closed either way.
        }
    }

    /// Waits until the socket is readable (or writable), the connection is killed, or `timeout` is over.
    pub(crate) fn wait(&self, write: bool, timeout: Duration, control: &ConnectionControl) -> io::Result<()> {
        let _waiting = env::blocking::enter();
        let end = Instant::now() + timeout;
        loop {
            if control.kill_state() == Kill::Connection {
                return Err(io::Error::new(ErrorKind::ConnectionAborted, "killed"));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::new(ErrorKind::TimedOut, "the client is too slow"));
            }
            if poll_socket(self.stream.raw_fd(), write, left.min(KILL_CHECK_INTERVAL))? {
                return Ok(());
            }
        }
    }
}

/// Waits for one socket; whether it became ready.
fn poll_socket(fd: RawFd, write: bool, timeout: Duration) -> io::Result<bool> {
    let mut entry = libc::pollfd { fd, events: if write { libc::POLLOUT } else { libc::POLLIN }, revents: 0 };
    let millis = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX).max(1);
    #[allow(unsafe_code, reason = "poll(2) has no safe wrapper among the crates in use")]
    // SAFETY: one valid pollfd for the length of the call, and its count.
    let ready = unsafe { libc::poll(&raw mut entry, 1, millis) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == ErrorKind::Interrupted { Ok(false) } else { Err(error) };
    }
    Ok(ready > 0)
}
