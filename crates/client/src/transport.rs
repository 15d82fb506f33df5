//! Packets over a stream: one buffer out, one in, compression between them and the stream if both sides want it.
//!
//! ```text
//! input   | read before | packet being read | arrived behind it | room |
//!         0           start               ...                 end    len
//! ```
//!
//! A packet of one frame is returned in place, without a copy. One of several frames is put together in `long`.
//!
//! Invariants:
//! 1. `start <= end <= input.len()`; only `input[start..end]` holds bytes not handed out.
//! 2. Room is added only when all room is filled: what a header announces costs nothing.

use std::io::{Read, Write};
use std::ops::Range;

use wire::PacketBuffer;
use wire::compress::{Compressor, Decompressor};
use wire::message::ReceivedError;
use wire::packet::{HEADER_BYTES, Incoming, PacketError, PacketReader, next_packet};

use crate::error::Error;
use crate::stream::Stream;

/// Room for what arrives, to begin with: the answers of most statements, whole.
const INPUT_BYTES: usize = 16 * 1024;
/// The most room added at once.
const INPUT_STEP_BYTES_MAX: usize = 1 << 20;
/// Outgoing bytes that are sent before more are made, by those who send much.
pub(crate) const OUTPUT_BYTES: usize = 1 << 20;
/// Buffers longer than this are given back after use.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Where the packet received last is in the buffer.
#[derive(Clone, Debug)]
pub(crate) enum Packet {
    /// In the input.
    InPlace(Range<usize>),
    /// In the buffer for packets of several frames.
    Long,
}

#[derive(Debug, Default)]
struct Compression {
    compressor: Compressor,
    decompressor: Decompressor,
    sequence: u8,
    packed: Vec<u8>,
}

/// Packets in and out.
#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) stream: Stream,
    pub(crate) output: PacketBuffer,
    input: Vec<u8>,
    start: usize,
    end: usize,
    long: Vec<u8>,
    sequence: u8,
    packet_bytes_max: usize,
    compression: Option<Box<Compression>>,
    /// Scratch of a compressed read.
    packed_input: Vec<u8>,
}

impl Transport {
    pub(crate) fn new(stream: Stream, packet_bytes_max: usize) -> Transport {
        Transport {
            stream,
            output: PacketBuffer::new(),
            input: vec![0; INPUT_BYTES],
            start: 0,
            end: 0,
            long: Vec::new(),
            sequence: 0,
            // Cells are found by offsets of four bytes.
            packet_bytes_max: packet_bytes_max.min(u32::MAX as usize),
            compression: None,
            packed_input: Vec::new(),
        }
    }

    /// From here on both directions are compressed.
    pub(crate) fn compress(&mut self) {
        self.compression = Some(Box::default());
        self.packed_input = vec![0; INPUT_BYTES];
    }

    /// Bytes that arrived and have not been read.
    pub(crate) fn has_unread(&self) -> bool {
        self.start != self.end
    }

    /// The next packet, in or out, is the first of a command.
    pub(crate) fn begin_command(&mut self) {
        self.sequence = 0;
        self.output.set_sequence(0);
        if let Some(compression) = &mut self.compression {
            compression.sequence = 0;
            compression.decompressor.set_sequence(0);
        }
        if self.long.capacity() > KEPT_BYTES_MAX {
            self.long = Vec::new();
        }
        if self.input.len() > KEPT_BYTES_MAX && self.start == self.end {
            self.input = vec![0; INPUT_BYTES];
            (self.start, self.end) = (0, 0);
        }
    }

    /// The next packet out answers the one received last.
    pub(crate) fn begin_reply(&mut self) {
        self.output.set_sequence(self.sequence);
    }

    /// Sends all packets written to `output`.
    ///
    /// # Errors
    /// The stream failed; if the server said why before, what it said.
    pub(crate) fn send(&mut self) -> Result<(), Error> {
        match self.send_all() {
            Err(Error::Closed) => Err(match self.receive() {
                Ok(packet) => out_of_order(self.payload(&packet)),
                Err(error @ Error::Server(_)) => error,
                Err(_) => Error::Closed,
            }),
            done => done,
        }
    }

    fn send_all(&mut self) -> Result<(), Error> {
        match &mut self.compression {
            None => self.stream.write_all(self.output.frames())?,
            Some(compression) => {
                compression.packed.clear();
                let Compression { compressor, sequence, packed, .. } = &mut **compression;
                compressor.pack(self.output.frames(), sequence, packed);
                self.stream.write_all(packed)?;
                if packed.capacity() > KEPT_BYTES_MAX {
                    *packed = Vec::new();
                }
            }
        }
        self.stream.flush()?;
        self.output.clear_frames();
        self.sequence = self.output.sequence();
        if self.output.capacity() > KEPT_BYTES_MAX {
            drop(self.output.take());
        }
        Ok(())
    }

    /// Reads at least one byte more behind `end`.
    fn fill(&mut self) -> Result<(), Error> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.input.len() && self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if let Some(compression) = &mut self.compression {
            // Decompressed bytes are appended, so the room is cut off first.
            self.input.truncate(self.end);
            while self.input.len() == self.end {
                let bytes = read(&mut self.stream, &mut self.packed_input)?;
                compression
                    .decompressor
                    .unpack(&self.packed_input[..bytes], &mut self.input)
                    .map_err(|_| Error::Protocol("compressed packet"))?;
            }
            compression.sequence = compression.decompressor.sequence();
            self.end = self.input.len();
            return Ok(());
        }
        if self.end == self.input.len() {
            let more = self.input.len().clamp(INPUT_BYTES, INPUT_STEP_BYTES_MAX);
            self.input.resize(self.end + more, 0);
        }
        self.end += read(&mut self.stream, &mut self.input[self.end..])?;
        Ok(())
    }

    /// Waits for the next packet.
    #[inline]
    pub(crate) fn receive(&mut self) -> Result<Packet, Error> {
        loop {
            match next_packet(&self.input[self.start..self.end]) {
                Incoming::Packet { payload, sequence, consumed } => {
                    if sequence != self.sequence {
                        return Err(out_of_order(payload));
                    }
                    if payload.len() > self.packet_bytes_max {
                        return Err(Error::Protocol("packet too long"));
                    }
                    self.sequence = sequence.wrapping_add(1);
                    let from = self.start + HEADER_BYTES;
                    self.start += consumed;
                    return Ok(Packet::InPlace(from..self.start));
                }
                Incoming::Partial { .. } => self.fill()?,
                Incoming::Continued => return self.receive_long(),
            }
        }
    }

    #[cold]
    fn receive_long(&mut self) -> Result<Packet, Error> {
        let mut reader = PacketReader::new(self.sequence);
        loop {
            let (used, whole) =
                reader.feed(&self.input[self.start..self.end], self.packet_bytes_max).map_err(|error| {
                    Error::Protocol(match error {
                        PacketError::TooLarge { .. } => "packet too long",
                        PacketError::OutOfOrder { .. } => "packets out of order",
                    })
                })?;
            self.start += used;
            if whole {
                self.sequence = reader.next_sequence();
                self.long = reader.take_payload();
                return Ok(Packet::Long);
            }
            self.fill()?;
        }
    }

    /// The bytes of the packet received last.
    #[inline]
    pub(crate) fn payload(&self, packet: &Packet) -> &[u8] {
        match packet {
            Packet::InPlace(range) => &self.input[range.clone()],
            Packet::Long => &self.long,
        }
    }
}

/// A server that closes a connection may send an error packet that answers no command.
#[cold]
fn out_of_order(payload: &[u8]) -> Error {
    match ReceivedError::decode(payload) {
        Ok(error) => error.into(),
        Err(_) => Error::Protocol("packets out of order"),
    }
}

/// Reads at least one byte.
fn read(stream: &mut Stream, buffer: &mut [u8]) -> Result<usize, Error> {
    loop {
        match stream.read(buffer) {
            Ok(0) => return Err(Error::Closed),
            Ok(bytes) => return Ok(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}
