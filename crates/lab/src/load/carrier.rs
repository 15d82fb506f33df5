//! The bytes under a connection under load: plain, in TLS, compressed, or both.
//!
//! Writing takes all it is given at once where it has to wrap it, and [`Carrier::flush`] says whether any of it still waits.
//! Reading gives what is there: only [`WouldBlock`](std::io::ErrorKind::WouldBlock) says that the socket is empty, except for a plain stream.

use std::io::{ErrorKind, Read, Result, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use client::Stream;
use wire::compress::{Compressor, Decompressor};

/// Compressed bytes read at once.
const PACKED_BYTES: usize = 16 * 1024;

/// A stream and what it is wrapped in.
#[derive(Debug)]
pub(crate) struct Carrier {
    stream: Stream,
    compression: Option<Box<Compression>>,
}

#[derive(Debug)]
struct Compression {
    compressor: Compressor,
    decompressor: Decompressor,
    /// Frames to be sent, and how much of them was.
    packed: Vec<u8>,
    sent: usize,
    /// Scratch of a read.
    arrived: Vec<u8>,
    /// What was in the frames, and how much of it was handed out.
    plain: Vec<u8>,
    taken: usize,
}

impl Carrier {
    pub(crate) fn new(stream: Stream, is_compressed: bool) -> Carrier {
        let compression = is_compressed.then(|| {
            Box::new(Compression {
                compressor: Compressor::default(),
                decompressor: Decompressor::default(),
                packed: Vec::new(),
                sent: 0,
                arrived: vec![0; PACKED_BYTES],
                plain: Vec::new(),
                taken: 0,
            })
        });
        Carrier { stream, compression }
    }

    /// Whether a read that leaves room has emptied the socket.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.compression.is_none() && matches!(self.stream, Stream::Tcp(_) | Stream::Unix(_))
    }

    /// Whether something that was given to it waits for room in the socket.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.compression.as_ref().is_some_and(|compression| !compression.packed.is_empty())
            || matches!(&self.stream, Stream::Tls(stream) if stream.conn.wants_write())
    }

    pub(crate) fn fd(&self) -> Option<RawFd> {
        fn of(stream: &Stream) -> Option<RawFd> {
            match stream {
                Stream::Tcp(stream) => Some(stream.as_raw_fd()),
                Stream::Unix(stream) => Some(stream.as_raw_fd()),
                Stream::Tls(stream) => of(&stream.sock),
                Stream::None => None,
            }
        }
        of(&self.stream)
    }

    /// Whether reads and writes wait, `timeout` at most, or not at all.
    pub(crate) fn set_blocking(&mut self, timeout: Option<Duration>) -> Result<()> {
        fn of(stream: &Stream, timeout: Option<Duration>) -> Result<()> {
            match stream {
                Stream::Tcp(stream) => {
                    stream.set_nonblocking(timeout.is_none())?;
                    stream.set_read_timeout(timeout)?;
                    stream.set_write_timeout(timeout)
                }
                Stream::Unix(stream) => {
                    stream.set_nonblocking(timeout.is_none())?;
                    stream.set_read_timeout(timeout)?;
                    stream.set_write_timeout(timeout)
                }
                Stream::Tls(stream) => of(&stream.sock, timeout),
                Stream::None => Ok(()),
            }
        }
        of(&self.stream, timeout)
    }
}

impl Read for Carrier {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match &mut self.compression {
            None => self.stream.read(buffer),
            Some(compression) => compression.read(&mut self.stream, buffer),
        }
    }
}

impl Write for Carrier {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let Some(compression) = &mut self.compression else { return self.stream.write(bytes) };
        // What is given at once is one command, or ends with one: its frames are counted from 0.
        compression.compressor.pack(bytes, &mut 0, &mut compression.packed);
        Ok(bytes.len())
    }

    #[inline]
    fn flush(&mut self) -> Result<()> {
        if let Some(compression) = &mut self.compression {
            compression.send(&mut self.stream)?;
        }
        match &mut self.stream {
            Stream::Tls(stream) => stream.flush(),
            Stream::Tcp(_) | Stream::Unix(_) | Stream::None => Ok(()),
        }
    }
}

impl Compression {
    fn send(&mut self, stream: &mut Stream) -> Result<()> {
        while self.sent < self.packed.len() {
            match stream.write(&self.packed[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.packed.clear();
        self.sent = 0;
        Ok(())
    }

    fn read(&mut self, stream: &mut Stream, buffer: &mut [u8]) -> Result<usize> {
        while self.taken == self.plain.len() {
            self.plain.clear();
            self.taken = 0;
            let bytes = stream.read(&mut self.arrived)?;
            if bytes == 0 {
                return Ok(0);
            }
            self.decompressor
                .unpack(&self.arrived[..bytes], &mut self.plain)
                .map_err(|_| std::io::Error::new(ErrorKind::InvalidData, "a compressed packet is broken"))?;
        }
        let bytes = buffer.len().min(self.plain.len() - self.taken);
        buffer[..bytes].copy_from_slice(&self.plain[self.taken..self.taken + bytes]);
        self.taken += bytes;
        Ok(bytes)
    }
}
