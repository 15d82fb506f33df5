//! Packets: payloads of any length cut into frames of at most 16 MB - 1, numbered by a byte that wraps.
//!
//! ```text
//! frame    length u24 | sequence u8 | length bytes
//! payload  all frames up to and with the first one shorter than 0xffffff
//! ```
//!
//! Invariants:
//! 1. [`PacketBuffer`] holds whole frames, and at its end at most one open packet, whose header is patched when it ends. The
//!    full frames of a long one can end, and be sent, before the rest of it is there.
//! 2. A payload whose length divides by 0xffffff ends with an empty frame.
//! 3. [`PacketReader`] never holds or reserves more than what arrived, until that fills a frame: a length field alone costs
//!    nothing.

use crate::codec::{Malformed, malformed};

/// Bytes of a frame's header.
pub const HEADER_BYTES: usize = 4;
/// The most one frame carries; a frame of this length is continued by the next.
pub const FRAME_PAYLOAD_BYTES_MAX: usize = 0xff_ffff;

/// Outgoing packets in one growing buffer.
#[derive(Debug, Default)]
pub struct PacketBuffer {
    bytes: Vec<u8>,
    open: Option<usize>,
    sequence: u8,
}

impl PacketBuffer {
    /// Empty, first packet numbered 0.
    #[must_use]
    pub fn new() -> PacketBuffer {
        PacketBuffer::default()
    }

    /// The number the next packet gets.
    #[must_use]
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Sets the number of the next packet: one more than the packet it answers.
    pub fn set_sequence(&mut self, sequence: u8) {
        assert!(self.open.is_none());
        self.sequence = sequence;
    }

    /// Starts a packet; its payload is appended to the vector returned. Only append.
    #[inline]
    pub fn begin(&mut self) -> &mut Vec<u8> {
        debug_assert!(self.open.is_none(), "a packet is open");
        self.open = Some(self.bytes.len());
        self.bytes.extend_from_slice(&[0; HEADER_BYTES]);
        &mut self.bytes
    }

    /// The payload of the open packet, to append to.
    ///
    /// # Panics
    /// If no packet is open.
    #[inline]
    pub fn payload(&mut self) -> &mut Vec<u8> {
        assert!(self.open.is_some(), "no packet is open");
        &mut self.bytes
    }

    /// Ends the open packet.
    ///
    /// # Panics
    /// If no packet is open.
    #[inline]
    pub fn end(&mut self) {
        let start = self.open.take().expect("a packet is open");
        let length = self.bytes.len() - start - HEADER_BYTES;
        if length < FRAME_PAYLOAD_BYTES_MAX {
            let header = (length as u32) | u32::from(self.sequence) << 24;
            self.bytes[start..start + HEADER_BYTES].copy_from_slice(&header.to_le_bytes());
            self.sequence = self.sequence.wrapping_add(1);
        } else {
            self.end_long(start, length);
        }
    }

    /// Between the pieces of a long payload: makes its bytes so far whole frames, as many as they fill, so that these can be
    /// sent. The packet stays open. Says whether there are any.
    #[inline]
    pub fn end_full_frames(&mut self) -> bool {
        let is_long = |start: usize| self.bytes.len() - start - HEADER_BYTES >= FRAME_PAYLOAD_BYTES_MAX;
        self.open.is_some_and(is_long) && self.cut_full_frames()
    }

    #[cold]
    fn cut_full_frames(&mut self) -> bool {
        while let Some(start) = self.open
            && let next = start + HEADER_BYTES + FRAME_PAYLOAD_BYTES_MAX
            && next <= self.bytes.len()
        {
            let header = FRAME_PAYLOAD_BYTES_MAX as u32 | u32::from(self.sequence) << 24;
            self.bytes[start..start + HEADER_BYTES].copy_from_slice(&header.to_le_bytes());
            self.sequence = self.sequence.wrapping_add(1);
            // Where the next frame begins: what is there already moves by a header.
            self.bytes.splice(next..next, [0; HEADER_BYTES]);
            self.open = Some(next);
        }
        true
    }

    /// Cuts a payload that needs several frames: makes room for the headers in one pass from the back.
    #[cold]
    fn end_long(&mut self, start: usize, length: usize) {
        let frames = length / FRAME_PAYLOAD_BYTES_MAX + 1;
        let added = (frames - 1) * HEADER_BYTES;
        self.bytes.resize(self.bytes.len() + added, 0);
        let stride = FRAME_PAYLOAD_BYTES_MAX + HEADER_BYTES;
        for frame in (0..frames).rev() {
            let from = start + HEADER_BYTES + frame * FRAME_PAYLOAD_BYTES_MAX;
            let frame_length = FRAME_PAYLOAD_BYTES_MAX.min(length - frame * FRAME_PAYLOAD_BYTES_MAX);
            let to = start + frame * stride;
            self.bytes.copy_within(from..from + frame_length, to + HEADER_BYTES);
            let sequence = self.sequence.wrapping_add(frame as u8);
            let header = (frame_length as u32) | u32::from(sequence) << 24;
            self.bytes[to..to + HEADER_BYTES].copy_from_slice(&header.to_le_bytes());
        }
        self.sequence = self.sequence.wrapping_add(frames as u8);
    }

    /// Appends a whole packet.
    pub fn put(&mut self, payload: &[u8]) {
        self.begin().extend_from_slice(payload);
        self.end();
    }

    /// Appends frames that were made before and start at sequence number `first`, as they are or renumbered. Each must be
    /// shorter than the longest frame.
    #[inline]
    pub(crate) fn put_framed(&mut self, frames: &[u8], frame_count: usize, first: u8) {
        debug_assert!(self.open.is_none(), "a packet is open");
        let start = self.bytes.len();
        self.bytes.extend_from_slice(frames);
        if self.sequence != first {
            let mut at = start;
            let mut sequence = self.sequence;
            while at + HEADER_BYTES <= self.bytes.len() {
                let [a, b, c, _] = self.bytes[at..at + HEADER_BYTES] else { unreachable!("four bytes") };
                self.bytes[at + 3] = sequence;
                sequence = sequence.wrapping_add(1);
                at += HEADER_BYTES + u32::from_le_bytes([a, b, c, 0]) as usize;
            }
        }
        self.sequence = self.sequence.wrapping_add(frame_count as u8);
    }

    /// Forgets the open packet, if there is one: its statement failed.
    pub fn abandon(&mut self) {
        if let Some(start) = self.open.take() {
            self.bytes.truncate(start);
        }
    }

    /// Whether a packet is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Bytes held, with those of an open packet.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// The whole frames, to be sent.
    #[must_use]
    pub fn frames(&self) -> &[u8] {
        &self.bytes[..self.open.unwrap_or(self.bytes.len())]
    }

    /// Forgets the whole frames after they were sent; an open packet stays, its number too.
    pub fn clear_frames(&mut self) {
        match self.open {
            None => self.bytes.clear(),
            Some(start) => {
                self.bytes.drain(..start);
                self.open = Some(0);
            }
        }
    }

    /// Takes the vector out, to be reused or dropped; what was held is lost.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        self.open = None;
        std::mem::take(&mut self.bytes)
    }

    /// Gives a vector to write to, emptied.
    pub fn give(&mut self, mut bytes: Vec<u8>) {
        debug_assert!(self.bytes.is_empty() && self.open.is_none());
        bytes.clear();
        self.bytes = bytes;
    }
}

/// What [`next_packet`] found at the front of the bytes received.
#[derive(Debug, Eq, PartialEq)]
pub enum Incoming<'a> {
    /// More bytes are needed; `bytes_wanted` in all for what is known so far.
    Partial {
        /// How many bytes the input must hold before asking again can help.
        bytes_wanted: usize,
    },
    /// One packet in one frame: the usual case, read in place.
    Packet {
        /// Its payload.
        payload: &'a [u8],
        /// Its number.
        sequence: u8,
        /// Bytes of input it took.
        consumed: usize,
    },
    /// A frame that is continued by the next one; use a [`PacketReader`].
    Continued,
}

/// Looks at the front of `input`: the fast way for packets that fit one frame.
#[inline]
#[must_use]
pub fn next_packet(input: &[u8]) -> Incoming<'_> {
    let Some((&[a, b, c, sequence], rest)) = input.split_first_chunk::<HEADER_BYTES>() else {
        return Incoming::Partial { bytes_wanted: HEADER_BYTES };
    };
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    if length == FRAME_PAYLOAD_BYTES_MAX {
        return Incoming::Continued;
    }
    match rest.get(..length) {
        Some(payload) => Incoming::Packet { payload, sequence, consumed: HEADER_BYTES + length },
        None => Incoming::Partial { bytes_wanted: HEADER_BYTES + length },
    }
}

/// Makes room for `bytes` more in a vector that receives a long value. Once it has grown to a frame, there is room for the
/// longest value allowed: growing by copying would need it twice, and memory that is never written is never there.
#[inline]
pub fn make_room(value: &mut Vec<u8>, bytes: usize, bytes_max: usize) {
    let length = value.len() + bytes;
    if length > value.capacity() && length > FRAME_PAYLOAD_BYTES_MAX && length <= bytes_max {
        // Without so much address space it grows as any vector does.
        let _ = value.try_reserve_exact(bytes_max.min(ROOM_BYTES_MAX).saturating_sub(value.len()));
    }
}

/// Most room that is made at once: what `max_allowed_packet` may be.
const ROOM_BYTES_MAX: usize = 1 << 30;

/// Why a [`PacketReader`] stops.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PacketError {
    /// The payload is longer than allowed. The client sees 1153.
    TooLarge {
        /// Bytes announced so far.
        bytes: usize,
        /// The most that was allowed.
        bytes_max: usize,
    },
    /// A frame does not carry the number that is due. The client sees 1156.
    OutOfOrder {
        /// The number due.
        expected: u8,
        /// The number found.
        found: u8,
    },
}

/// Puts together payloads from bytes as they arrive, frames of any number and length.
#[derive(Debug, Default)]
pub struct PacketReader {
    payload: Vec<u8>,
    frame_bytes_left: usize,
    last_frame: bool,
    in_frame: bool,
    header: [u8; HEADER_BYTES],
    header_bytes: usize,
    expected: u8,
}

impl PacketReader {
    /// Waits for a packet numbered `expected`.
    #[must_use]
    pub fn new(expected: u8) -> PacketReader {
        PacketReader { expected, ..PacketReader::default() }
    }

    /// Takes bytes from the front of `input` and says how many; `true` when the payload is whole.
    ///
    /// # Errors
    /// A payload over `bytes_max`, as soon as a header says so, or a frame out of order.
    pub fn feed(&mut self, input: &[u8], bytes_max: usize) -> Result<(usize, bool), PacketError> {
        let mut used = 0;
        loop {
            if !self.in_frame {
                let take = (HEADER_BYTES - self.header_bytes).min(input.len() - used);
                self.header[self.header_bytes..self.header_bytes + take]
                    .copy_from_slice(&input[used..used + take]);
                self.header_bytes += take;
                used += take;
                if self.header_bytes < HEADER_BYTES {
                    return Ok((used, false));
                }
                let [a, b, c, sequence] = self.header;
                let length = u32::from_le_bytes([a, b, c, 0]) as usize;
                if sequence != self.expected {
                    return Err(PacketError::OutOfOrder { expected: self.expected, found: sequence });
                }
                let bytes = self.payload.len() + length;
                if bytes > bytes_max {
                    return Err(PacketError::TooLarge { bytes, bytes_max });
                }
                self.expected = self.expected.wrapping_add(1);
                self.header_bytes = 0;
                self.in_frame = true;
                self.last_frame = length < FRAME_PAYLOAD_BYTES_MAX;
                self.frame_bytes_left = length;
            }
            let take = self.frame_bytes_left.min(input.len() - used);
            make_room(&mut self.payload, take, bytes_max);
            self.payload.extend_from_slice(&input[used..used + take]);
            used += take;
            self.frame_bytes_left -= take;
            if self.frame_bytes_left > 0 {
                return Ok((used, false));
            }
            self.in_frame = false;
            if self.last_frame {
                return Ok((used, true));
            }
        }
    }

    /// The number the next frame must carry; after a whole packet, the number of the answer.
    #[must_use]
    pub fn next_sequence(&self) -> u8 {
        self.expected
    }

    /// The payload, once [`feed`](Self::feed) said that it is whole.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Takes the payload out; the reader then waits for the next packet in order.
    #[must_use]
    pub fn take_payload(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.payload)
    }

    /// Drops the payload but keeps its memory, and waits for the next packet in order.
    pub fn clear(&mut self) {
        self.payload.clear();
    }
}

/// Reads one whole framed packet from `input`, for callers that hold all of it.
///
/// # Errors
/// If `input` does not start with a whole packet of one frame.
pub fn one_packet(input: &[u8]) -> Result<(&[u8], u8, usize), Malformed> {
    match next_packet(input) {
        Incoming::Packet { payload, sequence, consumed } => Ok((payload, sequence, consumed)),
        Incoming::Partial { .. } | Incoming::Continued => malformed("not one whole packet"),
    }
}
